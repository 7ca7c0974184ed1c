"""Families whose rows belong to one hidden class each: the E-step and the answers, once.

With ``slope = log odds of a one`` (D, K), ``log_off = log probability of a zero`` (D, K) and ``base_k = log weight_k + sum_d
log_off_dk``,

    log p(x, z=k) = base_k + sum over ones of slope_dk - sum over unknown cells of log_off_dk,

so a pass touches the ones and the unknown cells only.  A family says how its parameters become these (``precompute``), and
what its M-step makes of the sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import declared as of
from ..data.block import ONE, UNKNOWN, Block, Float, ListMarks
from ..engine.protocols import Causes, Model

# Class weights stay above this share of 1/K; below it a class is empty for every purpose.
WEIGHT_EDGE = 1e-12


class ClassStats(NamedTuple):
    """Sums over rows."""

    mass: Annotated[Float, of.amounts("K")]  # responsibility of every class
    on: Annotated[Float, of.amounts("D", "K")]  # responsibility at ones
    unseen: Annotated[Float, of.amounts("D", "K")] | None  # responsibility at unknown cells
    log_likelihood: float


class SingleTables(NamedTuple):
    """What a pass in float32 needs; ``base`` is that above its largest value, ``top``, which is taken in float64."""

    top: float
    base: NDArray[np.float32]  # (K',)
    slope: NDArray[np.float32]  # (D * K',)
    log_off: NDArray[np.float32]  # (D, K)


class ClassPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    base: Float  # (K,) log weight plus the log probability of an empty row
    slope: Float  # (D, K) log odds of a one
    log_off: Float  # (D, K) log probability of a zero
    log_weights: Float  # (K,)
    padded_base: Float  # (K',) and
    padded_slope: Float  # (D * K',): the same with K' a multiple of eight, for the kernel
    probs: Float  # (K, D)
    params: Any  # of the family
    single: SingleTables | None = None


def class_precomputed(
    log_weights: Float, slope: Float, log_off: Float, probs: Float, params: Any, pad: bool = True
) -> ClassPrecomputed:
    """Logarithms in the form that blocks need; without ``pad`` what only the E-step's kernel needs is left out."""
    base = log_weights + log_off.sum(axis=0)
    wide_base, wide_slope = padded(base, slope) if pad else (np.empty(0), np.empty(0))
    return ClassPrecomputed(base, slope, log_off, log_weights, wide_base, wide_slope, probs, params)


def padded(base: Float, slope: Float, dtype: Any = np.float64) -> tuple[Any, Any]:
    """``base`` (K,) and ``slope`` (D, K) with classes added that nothing can belong to, up to a multiple of eight."""
    n_columns, n_components = slope.shape
    width = -(-n_components // 8) * 8
    wide_base, wide_slope = np.full(width, -np.inf, dtype), aligned_zeros(n_columns * width, dtype)
    wide_base[:n_components] = base
    wide_slope.reshape(n_columns, width)[:, :n_components] = slope
    return wide_base, wide_slope


def in_single(precomputed: ClassPrecomputed) -> ClassPrecomputed:
    """With the tables of a pass in float32 beside."""
    top = float(precomputed.base.max())
    base, slope = padded(precomputed.base - top, precomputed.slope, np.float32)
    return precomputed._replace(single=SingleTables(top, base, slope, precomputed.log_off.astype(np.float32)))


def aligned_zeros(size: int, dtype: Any = np.float64) -> Any:
    """Zeros that begin with a cache line: vectors that lie across two lines cost a fifth of the kernel's time."""
    whole = np.zeros(size + 16, dtype)
    first = (-whole.ctypes.data % 64) // whole.itemsize
    return whole[first : first + size]


def floored_weights(weights: Float) -> Float:
    """Class weights that sum to one, none of them below the edge."""
    floored: Float = np.maximum(weights / weights.sum(), WEIGHT_EDGE / len(weights))
    floored /= floored.sum()
    return floored


def draw_classes(weights: Float, probs: Float, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows (n, D) of a mixture and their classes (n,)."""
    classes = rng.choice(len(weights), size=n, p=weights)
    cells = (rng.random((n, probs.shape[1])) < probs[classes]).astype(np.uint8)
    return cells, classes


def chosen_classes(shares: Float, by_row: Float) -> Any:
    """A class (n,) for every row, drawn by its shares (n, K) with one uniform (n,)."""
    reached = np.cumsum(shares, axis=1)
    return np.minimum((by_row[:, None] * reached[:, -1:] >= reached).sum(axis=1), shares.shape[1] - 1)


def shares_and_evidence(rest: Float, cell: Float, log_cell: Float) -> tuple[Float, Float]:
    """Shares of the classes in cells (m, K), and what a cell adds to the log odds of every class.

    From the memberships by the rest of the row, and the probability of the cell in every class.  The evidence for class
    k is the change of log odds(z = k): ``log p_k(x) - log p_not_k(x)``, the second averaged over the other classes as
    the rest weighs them.
    """
    joint = rest * cell
    total, others_weight = joint.sum(axis=1, keepdims=True), 1.0 - rest
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(others_weight > 1e-12, (total - joint) / others_weight, cell)
        return joint / total, log_cell - np.log(np.maximum(others, np.finfo(float).tiny))


@dataclass(frozen=True)
class ClassModel(Model):
    """E-step and answers; subclasses define ``precompute``, ``objective``, ``m_step``, ``sample_rows`` and ``n_free``."""

    n_components: of.Size

    def log_joint(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """log p(row, class) (n, K)."""
        out: Float = block.ones.dot(precomputed.slope)
        out += precomputed.base
        if block.unknown is not None:
            out -= block.unknown.dot(precomputed.log_off)
        return out

    def e_step(self, block: Block, rows: None, precomputed: ClassPrecomputed) -> tuple[ClassStats, None]:
        """Responsibilities of a block and their sums."""
        if block.unknown is None and isinstance(block.ones, ListMarks):
            return self._e_step_lists(block, precomputed), None
        from .kernels import responsibilities

        shares, log_sums = responsibilities(self.log_joint(block, precomputed))
        if block.weights is not None:
            shares *= block.weights[:, None]
            log_sums *= block.weights
        stats = ClassStats(
            mass=shares.sum(axis=0),
            on=block.ones.t_dot(shares),
            unseen=None if block.unknown is None else block.unknown.t_dot(shares),
            log_likelihood=float(log_sums.sum()),
        )
        return stats, None

    def _e_step_lists(self, block: Block, precomputed: ClassPrecomputed) -> ClassStats:
        """The same for index lists without unknown cells, in one walk."""
        from .latent_class_kernels import e_step_lists

        assert len(precomputed.slope) == block.n_columns  # kernels do not check places
        indptr, indices = block.ones.lists()
        mass, on = np.zeros_like(precomputed.padded_base), aligned_zeros(len(precomputed.padded_slope))
        value = e_step_lists(
            indptr, indices, block.row_weights(), precomputed.padded_base, precomputed.padded_slope, mass, on
        )
        k = self.n_components
        return ClassStats(mass[:k], np.ascontiguousarray(on.reshape(block.n_columns, -1)[:, :k]), None, value)

    def precompute_single(self, params: Any) -> ClassPrecomputed:
        """Parameters as a pass in float32 needs them."""
        return in_single(self.precompute(params))

    def e_step_single(self, block: Block, rows: None, precomputed: ClassPrecomputed) -> tuple[ClassStats, None]:
        """The E-step in float32; sums over rows in float64."""
        from .latent_class_kernels import e_step_lists_single, e_step_scores_single

        tables = precomputed.single
        assert tables is not None and len(precomputed.slope) == block.n_columns  # kernels do not check places
        k, width, weights = self.n_components, len(tables.base), block.row_weights()
        mass = np.zeros(width)
        if block.unknown is None and isinstance(block.ones, ListMarks):
            work, on = aligned_zeros(len(tables.slope), np.float32), aligned_zeros(len(tables.slope))
            value = e_step_lists_single(*block.ones.lists(), weights, tables.base, tables.slope, work, mass, on)
            sums, unseen = np.ascontiguousarray(on.reshape(block.n_columns, width)[:, :k]), None
        else:
            scores = block.ones.dot(tables.slope.reshape(block.n_columns, width))
            scores += tables.base
            if block.unknown is not None:
                scores[:, :k] -= block.unknown.dot(tables.log_off)
            value = e_step_scores_single(scores, weights, mass)
            shares = np.ascontiguousarray(scores[:, :k])
            sums = block.ones.t_dot(shares)
            unseen = None if block.unknown is None else block.unknown.t_dot(shares)
        value += tables.top * float(weights.sum())
        return ClassStats(mass[:k], sums, unseen, value), None

    # Answers: the same questions for every family.

    def log_prob(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """log p(row) (n,)."""
        from .kernels import responsibilities

        return responsibilities(self.log_joint(block, precomputed))[1]

    def memberships(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """Class probabilities (n, K)."""
        from .kernels import responsibilities

        return responsibilities(self.log_joint(block, precomputed))[0]

    def represent(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """Rows as users see them: their class memberships (n, K)."""
        return self.memberships(block, precomputed)

    def predict_cells(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        return self.memberships(block, precomputed) @ precomputed.probs

    def predict_cells_at(self, block: Block, precomputed: ClassPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        chances: Float = np.einsum("mk,mk->m", self.memberships(block, precomputed)[rows], precomputed.probs.T[columns])
        return chances

    def sample_cells(
        self, block: Block, precomputed: ClassPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: a class for every row, then the cells given the class."""
        classes = chosen_classes(self.memberships(block, precomputed), by_row)
        return by_cell < precomputed.probs[classes[rows], columns]

    def causes(self, block: Block, precomputed: ClassPrecomputed, rows: Any, columns: Any) -> Causes:
        """Shares, evidence and leave-one-out probability of single cells."""
        log_joint = self.log_joint(block, precomputed)[rows]
        codes = block.at(rows, columns)
        on, log_cell = precomputed.probs.T[columns], precomputed.log_off[columns]
        log_cell = np.where((codes == ONE)[:, None], log_cell + precomputed.slope[columns], log_cell)
        log_cell[codes == UNKNOWN] = 0.0
        rest, cell = log_joint - log_cell, np.exp(log_cell)
        rest = np.exp(rest - rest.max(axis=1, keepdims=True))
        rest /= rest.sum(axis=1, keepdims=True)
        return Causes(*shares_and_evidence(rest, cell, log_cell), np.einsum("mk,mk->m", rest, on))
