"""Numbers of keywords that are learned: the paper's rule, its unreduced form, and the h-index.

Alternate: E-step, M-step, new numbers q_s of the topics, new keywords of the rows (top g_j, g_j = Σ_s μ_js q_s).  Nothing
guarantees that this ends (for frozen p the rule falls in q, so it oscillates), so it is watched for cycles; on one, the
number that agrees with itself (an h-index) is taken.  Then keywords are frozen and EM runs to its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..data.values import ValueBlock
from ..maths.topics import tempered_shares
from .model import LbgModel, LbgParams, LbgPrecomputed, LbgStats, Words

MOST_ALTERNATIONS = 30


@dataclass(frozen=True)
class PrefixModel(LbgModel):
    """The hard model whose rows keep their numbers of keywords as row state; new rows go by ``topic_keywords`` (K,)."""

    has_row_state = True

    topic_keywords: Annotated[Float, of.amounts("K")] = field(default_factory=lambda: np.empty(0))

    def e_step(self, block: Any, rows: Any, precomputed: LbgPrecomputed) -> tuple[LbgStats, Any]:
        """Shares of the topics and their sums, with the keywords that the rows have."""
        weights = block.row_weights()
        shares, logs = tempered_shares(self.scores(block, precomputed, rows), 1.0, weights)
        return self.summed(block, shares, rows)._replace(log_likelihood=float(logs @ weights)), rows

    def e_step_single(self, block: Any, rows: Any, precomputed: LbgPrecomputed) -> tuple[LbgStats, Any]:
        """The same in float32."""
        return self._step_single(block, rows, precomputed), rows

    def prefixes(self, block: ValueBlock, wanted: Any) -> Any:
        """Numbers of keywords of the rows when so many (n,) are wanted."""
        from .kernels import keyword_lengths

        out = np.empty(block.n_rows, np.int64)
        keyword_lengths(block.indptr, block.values, np.asarray(wanted, np.int64), self.all_ties, out)
        return out

    def new_lengths(self, block: ValueBlock, precomputed: LbgPrecomputed) -> Any:
        """For new rows: topics are compared by their own keywords against the cross-Gaussians, then g follows."""
        numbers = self.topic_keywords
        logs = np.empty((block.n_rows, self.n_components))
        for s in range(self.n_components):
            lengths = self.prefixes(block, np.full(block.n_rows, numbers[s]))
            logs[:, s] = self.scores(block, precomputed, lengths)[:, s] - self._cross(block, lengths)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return self.prefixes(block, np.floor(shares @ numbers + 0.5))

    def _cross(self, block: ValueBlock, lengths: Any) -> Float:
        """log density (n,) of the keywords under the cross-Gaussians."""
        first = block.leading(lengths)
        columns, values = block.indices[first], block.values[first]
        variances = self.words.cross_variances[columns]
        logs = -0.5 * (np.log(2 * np.pi * variances) + (values - self.words.cross_means[columns]) ** 2 / variances)
        rows = np.repeat(np.arange(block.n_rows), block.row_counts())[first]
        out: Float = np.bincount(rows, weights=logs, minlength=block.n_rows).astype(np.float64)
        return out

    def memberships(self, block: ValueBlock, precomputed: LbgPrecomputed) -> Float:
        """Topic probabilities (n, K)."""
        return tempered_shares(self.scores(block, precomputed, self.new_lengths(block, precomputed)))[0]

    def log_prob(self, block: ValueBlock, precomputed: LbgPrecomputed) -> Float:
        """log Pr(row) (n,)."""
        return self.log_density(block, precomputed, self.new_lengths(block, precomputed))


class Alternated(NamedTuple):
    """Where the alternation ended."""

    model: PrefixModel
    params: LbgParams
    rows: list[Any]
    status: str  # "fixed_point", "cycle(period)" or "max_iter"
    history: list[dict[str, Any]]


def paper_rule(probs: Float, numbers: Float, mass: Float, wanted: Float) -> Float:
    """q_s <- #{i: p_si >= q_s / n} (eq 9)."""
    return np.asarray((probs >= (numbers / probs.shape[1])[:, None]).sum(axis=1), dtype=float)


def full_rule(probs: Float, numbers: Float, mass: Float, wanted: Float) -> Float:
    """The same with the mean number of keywords of the topic's rows in place of q_s."""
    level = wanted / np.maximum(mass, 1e-300) / probs.shape[1]
    return np.asarray((probs >= level[:, None]).sum(axis=1), dtype=float)


def h_index(probs: Float, numbers: Float, mass: Float, wanted: Float) -> Float:
    """The largest h with h words of n p_si >= h: the number that agrees with itself."""
    falling = -np.sort(-probs * probs.shape[1], axis=1)
    return np.asarray((falling >= np.arange(1, probs.shape[1] + 1)).sum(axis=1), dtype=float)


RULES: dict[str, Callable[[Float, Float, Float, Float], Float]] = {
    "paper": paper_rule,
    "full": full_rule,
    "hindex": h_index,
}


class _Shares:
    """Sums with the old keywords, what the topics want, and the shares of the rows as new row state."""

    def __init__(self, model: PrefixModel) -> None:
        self.model = model

    def __call__(self, block: ValueBlock, rows: Any, precomputed: LbgPrecomputed) -> tuple[Any, Any]:
        weights = block.row_weights()
        shares, logs = tempered_shares(self.model.scores(block, precomputed, rows), 1.0, weights)
        stats = self.model.summed(block, shares, rows)._replace(log_likelihood=float(logs @ weights))
        return (stats, shares.T @ rows.astype(float)), (rows, shares)


class _Keywords:
    """New keywords of the rows, how many changed, and a digest of them."""

    def __init__(self, model: PrefixModel, numbers: Float) -> None:
        self.model, self.numbers = model, numbers

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[Any, Any]:
        before, shares = rows
        mass = np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        lengths = self.model.prefixes(block, np.floor((shares / mass) @ self.numbers + 0.5))
        digest = hashlib.blake2b(lengths.tobytes() + str(block.start).encode(), digest_size=8).digest()
        return (int(np.abs(lengths - before).sum()), int.from_bytes(digest, "little")), lengths


class _Begin:
    """Keywords of the rows with the number that all topics begin with."""

    def __init__(self, model: LbgModel) -> None:
        self.model = model

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[None, Any]:
        return None, LbgModel.lengths(self.model, block)


def alternate(
    model: LbgModel, params: LbgParams, sweep: Any, rule: str, words_of: Callable[[Any, list[Any]], Words]
) -> Alternated:
    """Learn the numbers of keywords after a fit with a constant one; ``words_of(model, rows)`` tells of the words."""
    n_columns = params.probs.shape[1]
    held = PrefixModel(**vars(model), topic_keywords=np.full(model.n_components, model.n_keywords))
    _, rows = sweep.map(_Begin(model), [None] * sweep.n_blocks)
    numbers, history = held.topic_keywords, []
    seen: dict[tuple[int, bytes], int] = {}
    status = "max_iter"
    for number in range(MOST_ALTERNATIONS):
        (stats, wanted), state = sweep.map(_Shares(held), rows, held.precompute(params))
        value = held.objective(held.precompute(params), stats)
        params = held.m_step(params, stats, None)
        raw = stats.sums[:, 0].T / np.maximum(stats.mass, 1e-300)[:, None]
        criterion = float(((numbers - raw.sum(axis=1)) ** 2).sum())
        new = np.clip(RULES[rule](raw, numbers, stats.mass, wanted), 1, n_columns)
        (flips, digest), rows = sweep.map(_Keywords(held, new), state)
        history.append(
            {
                "stage": 2,
                "iteration": number,
                "penalised": value,
                "q": new.tolist(),
                "flips": flips,
                "criterion": criterion,
            }
        )
        key = (digest % 2**64, new.tobytes())
        fixed = flips == 0 and np.array_equal(new, numbers)
        numbers = new
        held = replace(held, topic_keywords=numbers, words=words_of(held, rows))
        if fixed or key in seen:
            status = "fixed_point" if fixed else f"cycle({number - seen[key]})"
            break
        seen[key] = number
    if status.startswith("cycle"):
        (stats, wanted), state = sweep.map(_Shares(held), rows, held.precompute(params))
        raw = stats.sums[:, 0].T / np.maximum(stats.mass, 1e-300)[:, None]
        numbers = np.clip(h_index(raw, numbers, stats.mass, wanted), 1, n_columns)
        _, rows = sweep.map(_Keywords(held, numbers), state)
        held = replace(held, topic_keywords=numbers, words=words_of(held, rows))
    return Alternated(held, params, rows, status, history)
