"""Mixture of Bernoulli products by EM.

Story: every row has one hidden class z, drawn with probability ``weights[k]``; given the class, its cells are
independent, cell j being 1 with probability ``probs[k, j]``.  Unknown cells drop out.

=====================  ====================================  ==========================================
symbol in the papers   name here                             where
=====================  ====================================  ==========================================
π_k                    ``weights`` (K,)                      van der Maaten, eq 1-5
a_kd, B_kt             ``probs`` (K, D)                      van der Maaten; Kabán et al. (MB model)
r_nk                   responsibilities (n, K)               E-step
N_k, c_kd, n_kd        ``mass``, ``on``, ``mass - unseen``   sums of responsibilities
α                      ``concentration``                     Dirichlet(α, ..., α) on the weights, α ≥ 1
c, m_d                 ``smoothing``, ``target``             Beta(1 + c m, 1 + c (1 - m)) on every prob
=====================  ====================================  ==========================================

The fit maximises ``log p(X) + log prior``; with ``smoothing=0`` and ``concentration=1`` that is maximum likelihood.
In the log domain, with ``slope = log B - log(1 - B)`` and ``base_k = log π_k + sum_d log(1 - B_kd)``,

    log p(x, z=k) = base_k + sum over ones of slope_kd - sum over unknown cells of log(1 - B_kd),

so a pass touches the ones and the unknown cells only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..data.block import ONE, UNKNOWN, Block, Float, ListMarks
from ..engine.protocols import Again, Model
from ..engine.stats import Lowest

# Probabilities are kept this far from 0 and 1, so that one unseen value does not rule a class out for good.  The M-step
# is concave in every probability, so clipping is the exact maximum on the clipped range and EM stays monotone.
EDGE = 1e-9
# Weights stay above this share of 1/K; below it a class is empty for every purpose.
WEIGHT_EDGE = 1e-12
# A class with less than this part of an equal share of the rows is starved.
STARVED = 0.01


class MixtureParams(NamedTuple):
    """Class weights (K,) and cell probabilities (K, D)."""

    weights: Float
    probs: Float


class MixtureStats(NamedTuple):
    """Sums over rows."""

    mass: Float  # (K,) responsibility of every class
    on: Float  # (D, K) responsibility at ones
    unseen: Float | None  # (D, K) responsibility at unknown cells
    log_likelihood: float


class Ready(NamedTuple):
    """Parameters in the form that blocks need."""

    base: Float  # (K,) log weight plus the log probability of an empty row
    slope: Float  # (D, K) log odds of a one
    log_off: Float  # (D, K) log probability of a zero
    log_weights: Float  # (K,)
    padded_base: Float  # (K',) and
    padded_slope: Float  # (D * K',): the same with K' a multiple of four, for the kernel
    probs: Float  # (K, D)


class Causes(NamedTuple):
    """Why single cells are as they are."""

    share: Float  # (m, K) probability that class k produced the cell
    evidence: Float  # (m, K) what the cell adds to the log odds of class k against the others
    probability: Float  # (m,) P(cell = 1 | the other cells of the row)


@dataclass(frozen=True)
class MixtureModel(Model):
    """The maths of the mixture; ``target`` (D,) are the marginals that ``smoothing`` pulls toward."""

    params_type: ClassVar[Any] = MixtureParams

    n_components: int
    target: Float
    smoothing: float = 1.0
    concentration: float = 1.0
    total_weight: float = 1.0  # of all rows; shares of it, not counts, so that weights equal repeated rows
    keep_all: bool = False  # every start is kept, to be averaged

    def ready(self, params: MixtureParams) -> Ready:
        """Logarithms, once per pass."""
        plain = self.unpadded(params)
        base, slope = padded(plain.base, plain.slope)
        return plain._replace(padded_base=base, padded_slope=slope)

    def unpadded(self, params: MixtureParams) -> Ready:
        """Logarithms without what only the E-step's kernel needs."""
        probs = np.ascontiguousarray(params.probs.T)
        log_off = np.log1p(-probs)
        slope = np.log(probs) - log_off
        log_weights = np.log(params.weights)
        nothing = np.empty(0)
        return Ready(log_weights + log_off.sum(axis=0), slope, log_off, log_weights, nothing, nothing, params.probs)

    def log_joint(self, block: Block, ready: Ready) -> Float:
        """log p(row, class) (n, K)."""
        out = block.ones.dot(ready.slope)
        out += ready.base
        if block.unknown is not None:
            out -= block.unknown.dot(ready.log_off)
        return out

    def e_step(self, block: Block, rows: None, ready: Ready) -> tuple[MixtureStats, None]:
        """Responsibilities of a block and their sums."""
        if block.unknown is None and isinstance(block.ones, ListMarks):
            return self._e_step_lists(block, ready), None
        from ..engine.kernels import responsibilities

        shares, log_sums = responsibilities(self.log_joint(block, ready))
        if block.weights is not None:
            shares *= block.weights[:, None]
            log_sums *= block.weights
        stats = MixtureStats(
            mass=shares.sum(axis=0),
            on=block.ones.t_dot(shares),
            unseen=None if block.unknown is None else block.unknown.t_dot(shares),
            log_likelihood=float(log_sums.sum()),
        )
        return stats, None

    def _e_step_lists(self, block: Block, ready: Ready) -> MixtureStats:
        """The same for index lists without unknown cells, in one walk."""
        from .kernels import e_step_lists

        assert len(ready.slope) == block.n_columns  # kernels do not check places
        indptr, indices = block.ones.lists()
        mass, on = np.zeros_like(ready.padded_base), aligned_zeros(len(ready.padded_slope))
        value = e_step_lists(indptr, indices, block.row_weights(), ready.padded_base, ready.padded_slope, mass, on)
        k = self.n_components
        return MixtureStats(mass[:k], np.ascontiguousarray(on.reshape(block.n_columns, -1)[:, :k]), None, value)

    def objective(self, ready: Ready, stats: MixtureStats) -> float:
        """Log-likelihood plus log prior (up to a constant); log B = slope + log_off."""
        value = stats.log_likelihood
        if self.smoothing > 0:
            value += self.smoothing * float((self.target @ ready.slope).sum() + ready.log_off.sum())
        if self.concentration > 1:
            value += (self.concentration - 1) * float(ready.log_weights.sum())
        return value

    def m_step(self, params: MixtureParams, stats: MixtureStats, again: Again | None) -> MixtureParams:
        """Weighted shares of ones, drawn toward the column marginals."""
        weights = stats.mass + (self.concentration - 1)
        weights = np.maximum(weights / weights.sum(), WEIGHT_EDGE / self.n_components)
        seen = stats.mass[:, None]
        if stats.unseen is not None:
            seen = np.maximum(seen - stats.unseen.T, 0.0)
        on, total = stats.on.T + self.smoothing * self.target, seen + self.smoothing
        # A class that has seen (almost) nothing of a column takes the marginal.
        known = total > 1e-14 * self.total_weight
        probs = on / total if known.all() else np.where(known, on / np.where(known, total, 1.0), self.target)
        return MixtureParams(weights / weights.sum(), np.clip(probs, EDGE, 1 - EDGE))

    def rescue(self, params: MixtureParams, stats: MixtureStats, again: Again) -> MixtureParams | None:
        """Seed a starved class at the worst explained row."""
        starved, least = int(np.argmin(stats.mass)), STARVED / self.n_components
        if stats.mass[starved] >= least * self.total_weight or self.n_components == 1:
            return None
        worst = again(_WorstRow(self), self.ready(params))
        probs = params.probs.copy()
        probs[starved] = seeded_profile(worst.payload, self.target)
        weights = params.weights.copy()
        weights[starved] = least
        return MixtureParams(weights / weights.sum(), probs)

    def as_stats(self, params: MixtureParams) -> MixtureStats:
        """The sums per unit of weight of a table that these parameters fit."""
        return MixtureStats(params.weights, (params.weights[:, None] * params.probs).T, None, 0.0)

    def arrange(self, params: MixtureParams) -> MixtureParams:
        """Classes by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        return MixtureParams(params.weights[order], params.probs[order])

    def kept(self, params: MixtureParams) -> Float | None:
        """Every start as one vector, if they are to be averaged."""
        return pack_member(params) if self.keep_all else None

    def to_vector(self, params: MixtureParams) -> Float:
        """Log weights and logits."""
        logits = np.log(params.probs) - np.log1p(-params.probs)
        return np.concatenate((np.log(params.weights), logits.ravel()))

    def from_vector(self, vector: Float, like: MixtureParams) -> MixtureParams:
        """Weights and probabilities of log weights and logits."""
        log_weights, logits = vector[: self.n_components], vector[self.n_components :]
        weights = np.exp(log_weights - log_weights.max())
        weights = np.maximum(weights / weights.sum(), WEIGHT_EDGE / self.n_components)
        probs = 1.0 / (1.0 + np.exp(-np.clip(logits, -700, 700)))
        return MixtureParams(weights / weights.sum(), np.clip(probs.reshape(like.probs.shape), EDGE, 1 - EDGE))

    # Answers: the same questions for every family.

    def log_prob(self, block: Block, ready: Ready) -> Float:
        """log p(row) (n,)."""
        from ..engine.kernels import responsibilities

        return responsibilities(self.log_joint(block, ready))[1]

    def represent(self, block: Block, ready: Ready) -> Float:
        """Class memberships (n, K)."""
        from ..engine.kernels import responsibilities

        return responsibilities(self.log_joint(block, ready))[0]

    def fill(self, block: Block, ready: Ready) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        return self.represent(block, ready) @ ready.probs

    def fill_at(self, block: Block, ready: Ready, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        return np.einsum("mk,mk->m", self.represent(block, ready)[rows], ready.probs.T[columns])

    def fill_draw(self, block: Block, ready: Ready, rows: Any, columns: Any, by_row: Float, by_cell: Float) -> Any:
        """A joint draw of single cells: a class for every row, then the cells given the class."""
        reached = np.cumsum(self.represent(block, ready), axis=1)
        classes = np.minimum((by_row[:, None] * reached[:, -1:] >= reached).sum(axis=1), self.n_components - 1)
        return by_cell < ready.probs[classes[rows], columns]

    def causes(self, block: Block, ready: Ready, rows: Any, columns: Any) -> Causes:
        """Shares, evidence and leave-one-out probability of single cells.

        The evidence of a cell for class k is the change of log odds(z = k) that it brings:
        ``log p_k(x) - log p_not_k(x)``, the second averaged over the other classes as the rest of the row weighs them.
        """
        log_joint = self.log_joint(block, ready)[rows]
        codes = block.at(rows, columns)
        on = ready.probs.T[columns]
        cell = np.where((codes == ONE)[:, None], on, 1.0 - on)
        cell[codes == UNKNOWN] = 1.0
        rest = log_joint - np.log(cell)
        rest = np.exp(rest - rest.max(axis=1, keepdims=True))
        rest /= rest.sum(axis=1, keepdims=True)
        joint = rest * cell
        total = joint.sum(axis=1, keepdims=True)
        others_weight = 1.0 - rest
        with np.errstate(divide="ignore", invalid="ignore"):
            others = np.where(others_weight > 1e-12, (total - joint) / others_weight, cell)
            evidence = np.log(cell) - np.log(np.maximum(others, np.finfo(float).tiny))
        return Causes(joint / total, evidence, np.einsum("mk,mk->m", rest, on))

    def draw(self, params: MixtureParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their classes (n,)."""
        classes = rng.choice(self.n_components, size=n, p=params.weights)
        cells = (rng.random((n, params.probs.shape[1])) < params.probs[classes]).astype(np.uint8)
        return cells, classes

    def n_free(self, params: MixtureParams) -> int:
        """Free parameters: K - 1 weights and K × D probabilities."""
        return self.n_components - 1 + params.probs.size


def pack_member(params: MixtureParams) -> Float:
    """A mixture as one vector, as the driver keeps it of every start."""
    return np.concatenate((params.weights, params.probs.ravel()))


def padded(base: Float, slope: Float) -> tuple[Float, Float]:
    """``base`` (K,) and ``slope`` (D, K) with classes added that nothing can belong to, up to a multiple of four."""
    n_columns, n_components = slope.shape
    width = -(-n_components // 4) * 4
    wide_base, wide_slope = np.full(width, -np.inf), aligned_zeros(n_columns * width)
    wide_base[:n_components] = base
    wide_slope.reshape(n_columns, width)[:, :n_components] = slope
    return wide_base, wide_slope


def aligned_zeros(size: int) -> Float:
    """Zeros that begin with a cache line: vectors that lie across two lines cost a fifth of the kernel's time."""
    whole = np.zeros(size + 8)
    first = (-whole.ctypes.data % 64) // 8
    return whole[first : first + size]


class _WorstRow:
    """Finds the row of a block that the model explains worst."""

    def __init__(self, model: MixtureModel) -> None:
        self.model = model

    def __call__(self, block: Block, rows: None, ready: Ready) -> Lowest:
        scores = np.where(block.row_weights() > 0, self.model.log_prob(block, ready), np.inf)
        i = int(np.argmin(scores))
        return Lowest(float(scores[i]), block.start + i, block.take(np.array([i])).codes()[0])


def seeded_profile(row: Any, target: Float) -> Float:
    """A class profile half way between a row and the marginals; unknown cells stay at the marginals."""
    values = np.where(row == UNKNOWN, target, row)
    return np.clip(0.5 * values + 0.5 * target, EDGE, 1 - EDGE)
