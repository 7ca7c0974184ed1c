"""Several starts of a large table: all of them run on a sample of its rows, and only the better half goes on.

A start that has settled on the sample is nearly where it would be after many passes over the table, so that it needs few
more; and of starts that end far apart the sample tells the better ones.  Rows of the sample have the weight of those that
they stand for.  Where the sample leads starts to worse places than their own (``Model.led_by_sample``) it only ranks them,
and those that go on begin anew on the table.  Families whose starts are led by the table itself
(``Model.screened_passes``) are compared in :mod:`latentbits.engine.restarts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block
from ..engine.em import EMOptions, Point, State, Step, em
from ..engine.protocols import Model, Params, Rows, StreamedRows, Sweep
from ..engine.restarts import Starts, init_rows
from ..maths.row_sample import sampled_table

# Rows of the sample: a quarter of the table, at least and at most so many; smaller tables are not screened.
SHARE, LEAST_ROWS, MOST_ROWS = 4, 2000, 8192
# Passes over the sample, fewer for starts that are only to be ranked by it, and how much sooner than on the table starts are
# taken to have settled.
MOST_PASSES, RANKING_PASSES, LOOSER = 100, 30, 10.0


class Screened(NamedTuple):
    """How far a start came on the sample."""

    number: int
    value: float
    params: Params
    complete: bool
    n_iter: int
    error: str = ""


@dataclass(frozen=True)
class Screening:
    """All starts, the better ones first, and how many of them go on."""

    model: Model
    sweep: Sweep
    anew: Starts
    starts: list[Screened]

    @property
    def n_going_on(self) -> int:
        """The better half of those that did not fail."""
        return max(1, sum(not start.error for start in self.starts) // 2)

    def on(self, sweep: Sweep) -> Screening:
        """The same by another sweep over the table."""
        return replace(self, sweep=sweep, anew=self.anew.on(sweep))

    def __call__(self, place: int) -> Point:
        """Where the start at a place of the ranking goes on."""
        start = self.starts[place]
        if not self.model.led_by_sample:
            return self.anew(start.number)
        model, nothing = self.model, [None] * self.sweep.n_blocks
        if model.has_row_state and isinstance(model, StreamedRows):
            rows: Rows = self.sweep.map(_FoldIn(model), nothing, start.params)[1]
        else:
            rows = init_rows(model, self.sweep, start.params, self.anew.seed, start.number)
        return Point(start.params, rows)


class _FoldIn:
    """Row state of a block at given parameters."""

    def __init__(self, model: StreamedRows) -> None:
        self.model = model

    def __call__(self, block: Block, rows: None, params: Params) -> tuple[None, Any]:
        return None, self.model.stream_rows(block, params)


def sample_size(n_rows: int) -> int:
    """Rows of the sample of a table with so many rows; 0 if it is too small to be screened."""
    wanted = min(n_rows // SHARE, MOST_ROWS)
    return wanted if wanted >= LEAST_ROWS else 0


def _last_step(steps: Iterator[Step], is_over: Callable[[], bool]) -> tuple[Step, float]:
    """The last step that there is time for, and the objective of the last one that was kept."""
    value = -np.inf
    for step in steps:
        value = value if step.kind == "rejected" else step.objective
        if is_over():
            break
    return step, value


def screen_starts(starts: Starts, n_init: int, options: EMOptions, is_over: Callable[[], bool]) -> Screening | None:
    """Run all starts on a sample; None if the table has too few distinct rows for one, or none could be completed."""
    model, seed = starts.model, starts.seed
    small, share = sampled_table(starts.sweep, sample_size(starts.sweep.source.shape[0]))
    if share > 1.0 / 2.0:
        return None
    most = MOST_PASSES if model.led_by_sample else RANKING_PASSES
    quick = replace(options, tol=LOOSER * options.tol, max_iter=min(options.max_iter, most))
    found: list[Screened] = []
    for number in range(n_init):
        if found and is_over():
            break
        try:
            params = starts.init(small, seed, number)
            begin = Point(params, init_rows(model, small, params, seed, number))
            step, value = _last_step(em(model, small, State(begin), quick), is_over)
            params = (step.state.accepted or step.state.point).params
            found.append(Screened(number, value, params, step.last, step.state.iteration))
        except (ArithmeticError, np.linalg.LinAlgError) as failure:
            found.append(Screened(number, -np.inf, None, False, 0, f"{type(failure).__name__}: {failure}"))
    if all(start.error for start in found):
        return None  # the table itself may do better
    return Screening(model, starts.sweep, starts, sorted(found, key=_rank))


def _rank(start: Screened) -> tuple[bool, bool, float, int]:
    """The better starts first."""
    return bool(start.error), not start.complete, -start.value, start.number
