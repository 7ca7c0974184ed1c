"""The contracts between families and the engine: what a fit needs of a model, and what a fitted model answers.

A family's model is a small frozen object with pure methods.  It derives from :class:`Model` (the contract for fitting) and
keeps :class:`TableAnswers`, or, if cells can be unknown, :class:`CellAnswers`.  What only some families can do is a contract
of its own, which a model has or has not: :class:`StagedModel`, :class:`SinglePrecision`, :class:`HasRowState`, ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..data.block import Block, Float

Params = Any  # NamedTuple of arrays
Stats = Any  # NamedTuple of arrays; adds
Rows = list[Any]  # row state, one entry per block (or a handle to it on a worker)
Places = NDArray[np.int64]  # row or column numbers of single cells
BlockFunction = Callable[..., tuple[Any, Any]]  # (block, row state, *args) -> (statistics, new row state)


class ExtraPass(Protocol):
    """One more pass over the table, for M-steps that need it: ``extra_pass(fn, *args) -> sum of fn(block, rows, *args)``.

    The row states are those that the E-step gave.
    """

    def __call__(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Run the pass."""


class Sweep(Protocol):
    """Runs functions over the blocks of a source."""

    n_blocks: int
    source: Any

    def map(self, fn: BlockFunction, rows: Rows, *args: Any, keep_rows: bool = True) -> tuple[Any, Rows]:
        """Any order: the sum of the statistics, and the new row states (the old ones unless ``keep_rows``)."""

    def zip_rows(self, fn: Callable[..., tuple[Any, Any]], *rows: Rows) -> tuple[Any, Rows]:
        """Row states alone: the sum of the statistics and the new row states of ``fn(state, state, ...)``."""

    def collect(self, fn: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """``fn(block, *args)`` of every block, in order.

        With ``each`` every block gets something of its own, ``fn(block, each[b], *args)``; blocks for which that is None are
        not read, and answer None.
        """

    def fetch_rows(self, rows: Rows) -> Rows:
        """Row states as plain values in this process."""

    def place_rows(self, rows: Rows) -> Rows:
        """Row states given as plain values, put where the blocks are."""


# The contract for fitting.


class Model:
    """What a fit needs of every family: ``precompute``, ``e_step``, ``objective``, ``m_step``.

    The other methods have defaults that fit most families.
    """

    params_type: ClassVar[Any] = None  # the NamedTuple of the parameters
    monotone: bool = True  # the objective never falls
    has_row_state: bool = False  # every row has unknowns of its own, kept from pass to pass: see HasRowState
    row_kind: Any = None  # what the state of n rows holds, as annotations tell it (see latentbits.declared)
    fixed_size: bool = True  # parameters have ``n_components`` components in all stages
    patience: int = 1  # small gains in a row that end a fit; above 1 those of accepted bold moves count too
    screened_passes: int = 0  # of the last stage, after which starts are compared; 0: when settled on a sample of rows
    led_by_sample: bool = True  # starts compared on a sample go on from where it led them; else they begin anew
    refits_rows: bool = False  # a row is fitted again for P(cell | its other cells)
    slack: float = 0.0  # how far the objective may be off, for families that approximate it on the way

    def precompute(self, params: Params) -> Any:
        """What the blocks need of the parameters, worked out once per pass: logarithms, sums over columns."""
        return params

    def e_step(self, block: Block, rows: Any, precomputed: Any) -> tuple[Stats, Any]:
        """Statistics of a block and its new row state.  Pure."""
        raise NotImplementedError

    def finalize_stats(self, precomputed: Any, stats: Stats) -> Stats:
        """The statistics of the whole table, with what need not be worked out block by block."""
        return stats

    def objective(self, precomputed: Any, stats: Stats) -> float:
        """What the fit maximises, at the parameters that the E-step was given."""
        raise NotImplementedError

    def m_step(self, params: Params, stats: Stats, extra_pass: ExtraPass) -> Params:
        """New parameters."""
        raise NotImplementedError

    def sort_components(self, params: Params) -> Params:
        """Parameters in the order in which users see the components."""
        return params

    def finalize(self, point: Any, sweep: Sweep, complete: bool) -> tuple[Params, float | None]:
        """The last word on a fit: parameters as users see them, and the objective if it was not exact before.

        ``complete`` says whether the fit came to its last stage.
        """
        return self.sort_components(point.params), None

    def answer_model(self) -> Any:
        """The model that answers, if that is not the one that was fitted."""
        return self

    def misfit(self, params: Params) -> str | None:
        """What is wrong with parameters from a file, beside what they declare of themselves."""
        return None


class StagedModel(Model):
    """A fit of several stages, each with an objective of its own; a stage that is over gives way to the next."""

    passes: int | None = None  # of this stage; None: until it settles

    def is_last_stage(self, params: Params) -> bool:
        """Whether this is the last stage of the fit."""
        return True

    def next_stage(self) -> StagedModel:
        """The model of the next stage."""
        stage: StagedModel = self.answer_model()
        return stage

    def begin_stage(self, point: Any, sweep: Sweep) -> Any:
        """The point at which this stage begins, from where the one before ended (a source left out)."""
        return point


@runtime_checkable
class SinglePrecision(Protocol):
    """Early passes may run in float32: tables, row state and products; sums over rows come back in float64."""

    def precompute_single(self, params: Params) -> Any:
        """As ``precompute``, with what a pass in float32 needs."""

    def e_step_single(self, block: Block, rows: Any, precomputed: Any) -> tuple[Stats, Any]:
        """As ``e_step``, in float32; row state may come in as float64 and goes out as float32."""


@runtime_checkable
class HasRowState(Protocol):
    """Every row has unknowns of its own; ``has_row_state`` is true while it does."""

    def init_rows(self, block: Block, params: Params, seed: int, restart: int) -> Any:
        """Row state of a block at the start."""


@runtime_checkable
class Accelerated(Protocol):
    """SQUAREM may jump along the path of EM."""

    def to_vector(self, params: Params) -> Float | None:
        """Parameters as an unconstrained vector; None: not with these options."""

    def from_vector(self, vector: Float, like: Params) -> Params:
        """Parameters of an unconstrained vector."""


@runtime_checkable
class AcceleratedRows(Protocol):
    """Row unknowns take part in the jumps."""

    def rows_to_vector(self, rows: Any) -> Float:
        """Row state as an unconstrained vector."""

    def rows_from_vector(self, vector: Float, like: Any) -> Any:
        """Row state of an unconstrained vector."""


@runtime_checkable
class ProposesSteps(Protocol):
    """Bold steps of the family's own making (quasi-Newton), kept only if the objective agrees."""

    def propose(self, params: Params, updated: Params) -> Params | None:
        """A next point; ``params`` was evaluated, ``updated`` is what the M-step made of it."""


@runtime_checkable
class ReseedsEmpty(Protocol):
    """A starved component can be seeded anew; kept only if the objective agrees."""

    def reseed_empty(self, params: Params, stats: Stats, extra_pass: ExtraPass) -> Params | None:
        """Parameters with a component seeded anew; None: nothing to do."""


@runtime_checkable
class HasStopMeasure(Protocol):
    """A stopping measure of the family's own, compared with ``tol`` instead of the gain."""

    def stop_measure(self, old: Params, new: Params) -> float | None:
        """The measure; None: the gain of the objective is used."""


@runtime_checkable
class SummarisesRestarts(Protocol):
    """Something of every start is kept, to tell how alike they ended or to average them."""

    def restart_summary(self, params: Params) -> Float | None:
        """What is kept of a start; None: nothing."""


@runtime_checkable
class Streamed(Protocol):
    """More rows can be taken in after a fit."""

    def expected_stats(self, params: Params) -> Stats:
        """Statistics per unit of weight that these parameters stand for."""


@runtime_checkable
class StreamedRows(Protocol):
    """Rows that are met once, with unknowns of their own."""

    def stream_rows(self, block: Block, params: Params) -> Any:
        """Row state of a block met once."""

    def stream_update(self, before: Params, params: Params, block: Block, rows: Any) -> Params:
        """Parameters after a block of a stream, with what is remembered of its rows and of ``before``."""


# The contract for answers.


class Causes(NamedTuple):
    """Why single cells are as they are."""

    share: Float  # (m, K) probability that component k produced the cell
    evidence: Float  # (m, K) what the cell adds to the log odds of component k for its row
    probability: Float  # (m,) P(cell = 1 | the other cells of the row)
    missing: Float | None = None  # (m,) probability that a zero is a one that was lost, NaN for other cells
    leak: Float | None = None  # (m,) share of causes outside the components
    partner: Places | None = None  # (m,) the column that argues most for the value of the cell, -1: none
    partner_evidence: Float | None = None  # (m,) log P(value | partner, class) - log P(value | class)


@runtime_checkable
class TableAnswers(Protocol):
    """What every fitted model answers."""

    @property
    def n_components(self) -> int:
        """Number of components."""

    def precompute(self, params: Params) -> Any:
        """What the questions need of the parameters, worked out once for all blocks."""

    def log_prob(self, block: Block, precomputed: Any) -> Float:
        """log p(row) (n,), or a bound or estimate of it."""

    def represent(self, block: Block, precomputed: Any) -> Float:
        """Rows as users see them (n, K)."""

    def n_free(self, params: Params) -> int:
        """Number of free parameters."""


@runtime_checkable
class PredictsCells(Protocol):
    """The least that a model must do to be compared: P(cell = 1 | observed cells of the row)."""

    def precompute(self, params: Params) -> Any:
        """What the questions need of the parameters, worked out once for all blocks."""

    def predict_cells(self, block: Block, precomputed: Any) -> Float:
        """Of all cells (n, D)."""

    def predict_cells_at(self, block: Block, precomputed: Any, rows: Places, columns: Places) -> Float:
        """Of single cells (m,)."""


@runtime_checkable
class CellAnswers(TableAnswers, PredictsCells, Protocol):
    """What a fitted model answers where cells can be unknown."""

    def sample_cells(
        self, block: Block, precomputed: Any, rows: Places, columns: Places, by_row: Float, by_cell: Float
    ) -> NDArray[np.bool_]:
        """A joint draw of single cells (m,), from one uniform per row (n,) and one per cell (m,)."""

    def causes(self, block: Block, precomputed: Any, rows: Places, columns: Places) -> Causes:
        """Why single cells are as they are."""

    def sample_rows(self, params: Params, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """New rows (n, D) and their hidden causes."""
