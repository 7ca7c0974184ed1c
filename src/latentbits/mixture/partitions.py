"""What many partitions say: how often rows are together, and one partition that stands for all."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float

# Rows × pairs of partitions that are compared at most.
MOST_WORK = 3e8
# Above this many blocks, pairs of blocks are not laid out.
MOST_BLOCKS = 2000
# Above this many rows the co-clustering matrix is not made whole.
MOST_ROWS = 5000


class PointPartition(NamedTuple):
    """One partition for many.

    Parameters
    ----------
    labels : (n_rows,) array
        The block of every row.
    draw : int
        Number of the draw that it is.
    loss : float
        Expected loss against the other draws.
    radius : float
        Distance that holds 95 % of the draws.
    kind : str
        How it was chosen: by a loss, or as the draw of highest joint probability.

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
    >>> model.point_partition_.kind, len(model.point_partition_.labels)
    ('binder', 101)
    """

    labels: Annotated[Any, of.places("N", below="K")]  # blocks by decreasing size
    draw: of.Count  # which of the draws it is
    loss: float  # expected distance from the draws
    radius: float  # 95 % of the draws are within this distance
    kind: Annotated[str, of.words("best", "binder", "vi")]

    def __repr__(self) -> str:
        unit = "nats" if self.kind == "vi" else "pairs of rows"
        return (
            f"PointPartition({self.labels.max() + 1} blocks of {len(self.labels)} rows by {self.kind!r}, expected loss "
            f"{self.loss:.4g} {unit}, 95 % of the draws within {self.radius:.4g})"
        )


def distances(first: Any, second: Any) -> tuple[Float, Float]:
    """Binder's loss and the variation of information (A, B) between partitions (A, N) and (B, N).

    Examples
    --------
    >>> binder, information = distances(np.array([[0, 0, 1, 1]]), np.array([[0, 0, 1, 2], [0, 0, 1, 1]]))
    >>> binder.tolist(), information.round(4).tolist()
    ([[1.0, 0.0]], [[0.3466, 0.0]])
    """
    from .partition_kernels import pair_losses

    first, second = (np.ascontiguousarray(labels, np.int64) for labels in (first, second))
    n_blocks = int(max(first.max(initial=0), second.max(initial=0))) + 1
    binder, information = np.empty((len(first), len(second))), np.empty((len(first), len(second)))
    if n_blocks > MOST_BLOCKS:  # a table of all pairs of blocks would be too large
        for a, b in np.ndindex(binder.shape):
            binder[a, b], information[a, b] = _distance(first[a], second[b])
        return binder, information
    pair_losses(first, second, n_blocks, binder, information)
    return binder, information


def _distance(first: Any, second: Any) -> tuple[float, float]:
    """The two distances of one pair, from the pairs of blocks that occur."""
    n = len(first)
    left, right = np.bincount(first), np.bincount(second)
    both = np.unique(first * (second.max() + 1) + second, return_counts=True)[1]
    pairs = [float((counts * (counts - 1) // 2).sum()) for counts in (left, right, both)]
    logs = [float((counts[counts > 0] * np.log(counts[counts > 0])).sum()) for counts in (left, right, both)]
    return pairs[0] + pairs[1] - 2 * pairs[2], max((logs[0] + logs[1] - 2 * logs[2]) / n, 0.0)


def point_partition(labels: Any, log_joint: Float, kind: str = "binder") -> PointPartition:
    """The draw that stands for all draws (S, N): of highest log joint, or nearest to the others.

    Of very many draws an even sample is compared.
    """
    best = int(np.argmax(log_joint))
    most = max(4, int(np.sqrt(MOST_WORK / labels.shape[1])))
    sample = np.unique(np.linspace(0, len(labels) - 1, min(len(labels), most)).round().astype(np.int64))
    candidates = np.array([best]) if kind == "best" else sample
    losses = distances(labels[candidates], labels[sample])[1 if kind == "vi" else 0]
    place = int(np.argmin(losses.mean(axis=1)))
    chosen = int(candidates[place])
    radius = float(np.quantile(losses[place], 0.95))
    return PointPartition(by_size(labels[chosen]), chosen, float(losses[place].mean()), radius, kind)


def by_size(labels: Any) -> Any:
    """Labels renamed 0, 1, ... by decreasing size, equal sizes in the order of first appearance."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -counts))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse]


def together(labels: Any) -> Float:
    """Share of the partitions (S, n) in which two rows are in one block, (n, n)."""
    from .partition_kernels import add_together

    counts = np.zeros((labels.shape[1], labels.shape[1]), np.int64)
    add_together(np.ascontiguousarray(labels, np.int64), counts)
    return counts / max(1, len(labels))


def disagreement(by_chain: Any) -> float:
    """Mean absolute difference of the co-clustering of two chains, over all pairs of chains (C, S, n)."""
    matrices = [together(labels) for labels in by_chain]
    pairs = [(a, b) for a in range(len(matrices)) for b in range(a)]
    if not pairs:
        return float("nan")
    return float(np.mean([np.abs(matrices[a] - matrices[b]).mean() for a, b in pairs]))
