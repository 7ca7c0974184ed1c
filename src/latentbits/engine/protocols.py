"""The contract between families and the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.block import Block

Params = Any  # NamedTuple of arrays
Stats = Any  # NamedTuple of arrays; adds
Rows = list[Any]  # row state, one entry per block (or a handle to it on a worker)
BlockFunction = Callable[..., tuple[Any, Any]]  # (block, row state, *args) -> (statistics, new row state)


class Again(Protocol):
    """One more pass over the table, for M-steps that need it: ``again(fn, *args) -> sum of fn(block, rows, *args)``.

    The row states are those that the E-step gave.
    """

    def __call__(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Run the pass."""


class Sweep(Protocol):
    """Runs functions over the blocks of a source."""

    n_blocks: int

    def map(self, fn: BlockFunction, rows: Rows, *args: Any, keep_rows: bool = True) -> tuple[Any, Rows]:
        """Any order: the sum of the statistics, and the new row states (the old ones unless ``keep_rows``)."""

    def fold(self, fn: BlockFunction, rows: Rows, carry: Any, *args: Any) -> tuple[Any, Rows]:
        """In block order: ``fn(block, row state, carry, *args) -> (carry, row state)``."""

    def zip_rows(self, fn: Callable[..., tuple[Any, Any]], *rows: Rows) -> tuple[Any, Rows]:
        """Row states alone: the sum of the statistics and the new row states of ``fn(state, state, ...)``."""

    def collect(self, fn: Callable[..., Any], *args: Any) -> list[Any]:
        """``fn(block, *args)`` of every block, in order."""

    def fetch_rows(self, rows: Rows) -> Rows:
        """Row states as plain values in this process."""

    def place_rows(self, rows: Rows) -> Rows:
        """Row states given as plain values, put where the blocks are."""


class Model:
    """A family's maths.  Subclasses are small frozen objects; these are the defaults of the optional parts.

    Required: ``e_step``, ``objective``, ``m_step`` and the answers that the estimator shell asks for.
    """

    monotone: bool = True  # the objective never falls
    params_type: ClassVar[Any] = None  # the NamedTuple of the parameters
    has_rows: bool = False  # every row has unknowns of its own, kept from pass to pass
    patience: int = 1  # small gains in a row that end a fit; above 1 those of accepted bold moves count too
    slack: float = 0.0  # how far the objective may be off, for families that approximate it on the way
    passes: int | None = None  # passes of this stage of the fit; None: until it settles

    def start_rows(self, block: Block, params: Params, seed: int, restart: int) -> Any:
        """Row state of a block at the start; families with ``has_rows`` define it."""
        raise NotImplementedError

    def ready(self, params: Params) -> Any:
        """What the blocks need of the parameters, worked out once per pass: logarithms, sums over columns."""
        return params

    def e_step(self, block: Block, rows: Any, ready: Any) -> tuple[Stats, Any]:
        """Statistics of a block and its new row state.  Pure."""
        raise NotImplementedError

    def gather(self, ready: Any, stats: Stats) -> Stats:
        """The statistics of the whole table, with what need not be worked out block by block."""
        return stats

    def objective(self, ready: Any, stats: Stats) -> float:
        """What the fit maximises, at the parameters that the E-step was given."""
        raise NotImplementedError

    def m_step(self, params: Params, stats: Stats, again: Again) -> Params:
        """New parameters."""
        raise NotImplementedError

    def stop(self, old: Params, new: Params) -> float | None:
        """A stop measure of the family's own, compared with ``tol``; None: the gain of the objective is used."""
        return None

    def rescue(self, params: Params, stats: Stats, again: Again) -> Params | None:
        """A bold change (a starved component seeded anew), kept only if the objective agrees; None: nothing to do."""
        return None

    def propose(self, params: Params, updated: Params) -> Params | None:
        """A bold next point of the family's own making (a quasi-Newton step), kept only if the objective agrees.

        ``params`` is the point that was evaluated, ``updated`` what the M-step made of it.
        """
        return None

    def is_last(self, params: Params) -> bool:
        """Whether this is the last stage of the fit; if not, a stage that is over gives way to :meth:`next_stage`."""
        return True

    def next_stage(self) -> Model:
        """The model of the next stage; its objective is not compared with that of the one before."""
        return self.final()

    def enter(self, point: Any, sweep: Sweep) -> Any:
        """The point at which this stage begins, from where the one before ended (a source left out)."""
        return point

    def final(self) -> Model:
        """The model of the last stage, which answers."""
        return self

    def conclude(self, point: Any, sweep: Sweep, complete: bool) -> tuple[Params, float | None]:
        """The last word on a fit: parameters as users see them, and the objective if it was not exact before.

        ``complete`` says whether the fit came to its last stage.
        """
        return self.arrange(point.params), None

    def stream_rows(self, block: Block, params: Params) -> Any:
        """Row state of a block met once, for streams; families with ``has_rows`` define it."""
        return None

    def absorb(self, before: Params, params: Params, block: Block, rows: Any) -> Params:
        """Parameters after a block of a stream, with what is remembered of its rows and of ``before``."""
        return params

    def kept(self, params: Params) -> NDArray[np.float64] | None:
        """What is kept of every start, to tell how alike they ended; None: nothing."""
        return None

    def as_stats(self, params: Params) -> Stats:
        """Statistics per unit of weight that these parameters stand for; families with ``partial_fit`` define it."""
        raise NotImplementedError

    def arrange(self, params: Params) -> Params:
        """Parameters in the order in which users see the components."""
        return params

    def to_vector(self, params: Params) -> NDArray[np.float64] | None:
        """Parameters as an unconstrained vector for acceleration; None: the family is not accelerated."""
        return None

    def from_vector(self, vector: NDArray[np.float64], like: Params) -> Params:
        """Parameters of an unconstrained vector."""
        raise NotImplementedError

    def rows_to_vector(self, rows: Any) -> NDArray[np.float64]:
        """Row state as an unconstrained vector; families with row unknowns that are accelerated define it."""
        raise NotImplementedError

    def rows_from_vector(self, vector: NDArray[np.float64], like: Any) -> Any:
        """Row state of an unconstrained vector."""
        raise NotImplementedError
