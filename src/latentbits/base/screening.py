"""Several starts of a large table: all of them run for a while, and only the better half goes on.

Most families run on a sample of the rows.  A start that has settled there is nearly where it would be after many passes
over the table, so that it needs few more; and of starts that end far apart the sample tells the better ones.  Rows of the
sample have the weight of those that they stand for.  Families whose first stages say enough
(``Model.screened_passes``) make these passes over the table itself, and nothing of them is lost; over a sample if the table
is much larger, and the better starts begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block
from ..data.source import Source
from ..engine.em import EMOptions, Point, State, Step, em
from ..engine.protocols import Model, Params, Rows, StreamedRows, Sweep
from ..engine.restarts import Starts, init_rows
from ..engine.sweep import LocalSweep
from ..maths.row_sample import sample_rows

# Rows of the sample: a quarter of the table, at least and at most so many; smaller tables are not screened.
SHARE, LEAST_ROWS, MOST_ROWS = 4, 2000, 8192
# Passes over the sample, and how much sooner than on the table starts are taken to have settled.
MOST_PASSES, LOOSER = 100, 10.0
# Blocks of the sample, for threads.
N_BLOCKS = 4


class SampleSource:
    """The rows of a sample as a table of its own."""

    def __init__(self, block: Block, labels: Any) -> None:
        self.shape, self.labels = (block.n_rows, block.n_columns), labels
        self.starts = (np.arange(N_BLOCKS + 1) * block.n_rows // N_BLOCKS).astype(np.int64)
        self.blocks = [
            replace(block.take(np.arange(low, high)), start=int(low))
            for low, high in zip(self.starts[:-1], self.starts[1:])
        ]
        self.n_blocks = N_BLOCKS

    def block(self, b: int) -> Block:
        """Block number ``b``."""
        return self.blocks[b]


class Screened(NamedTuple):
    """How far a start came."""

    number: int
    value: float
    params: Params
    complete: bool
    n_iter: int
    error: str = ""
    state: State | None = None  # where it goes on, if that is no sample
    history: tuple[float, ...] = ()  # of the table, up to there


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

    def __call__(self, place: int) -> Point | State:
        """Where the start at a place of the ranking goes on."""
        start = self.starts[place]
        model, nothing = self.model, [None] * self.sweep.n_blocks
        if start.state is not None:
            return start.state
        if model.screened_passes:
            return self.anew(start.number)
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
    """Run all starts for a while; None if the table does not allow for that, or none could be completed."""
    model = starts.model
    found: list[Screened] = []
    on_table = model.screened_passes and starts.sweep.source.shape[0] <= SHARE * MOST_ROWS
    run = (_run_on_table if on_table else _run_on_sample)(starts, options, is_over)
    if run is None:
        return None
    for number in range(n_init):
        if found and is_over():
            break
        try:
            found.append(run(number))
        except (ArithmeticError, np.linalg.LinAlgError) as failure:
            found.append(Screened(number, -np.inf, None, False, 0, f"{type(failure).__name__}: {failure}"))
        found = _with_states(found, max(1, n_init // 2))
    if all(start.error for start in found):
        return None  # the table itself may do better
    return Screening(model, starts.sweep, starts, sorted(found, key=_rank))


def _rank(start: Screened) -> tuple[bool, bool, float, int]:
    """The better starts first."""
    return bool(start.error), not start.complete, -start.value, start.number


def _with_states(found: list[Screened], n_kept: int) -> list[Screened]:
    """The starts, with row state of the better ones alone: those that may go on."""
    kept = {start.number for start in sorted(found, key=_rank)[:n_kept]}
    return [start if start.number in kept else start._replace(state=None, params=None) for start in found]


def _run_on_sample(starts: Starts, options: EMOptions, is_over: Callable[[], bool]) -> Callable[[int], Screened] | None:
    """Runs a start on a sample; None if the table has too few distinct rows for that."""
    model, sweep, seed = starts.model, starts.sweep, starts.seed
    source: Source = sweep.source
    sample = sample_rows(sweep, sample_size(source.shape[0]))
    if sample.share > 1.0 / 2.0:
        return None
    block = sample._replace(weights=sample.weights * (sample.total / sample.weights.sum())).block(source.shape[1])
    small: Any = LocalSweep(SampleSource(block, source.labels), getattr(sweep, "n_jobs", 1))
    most = min(options.max_iter, model.screened_passes or MOST_PASSES)
    quick = replace(options, tol=LOOSER * options.tol, max_iter=most)

    def run(number: int) -> Screened:
        params = starts.init(small, seed, number)
        begin = Point(params, init_rows(model, small, params, seed, number))
        step, value = _last_step(em(model, small, State(begin), quick), is_over)
        params = (step.state.accepted or step.state.point).params
        return Screened(number, value, params, step.last, step.state.iteration)

    return run


def _run_on_table(starts: Starts, options: EMOptions, is_over: Callable[[], bool]) -> Callable[[int], Screened] | None:
    """Runs the first passes of a start over the table; None if there are no more passes to make."""
    model = starts.model
    if model.screened_passes >= options.max_iter:
        return None

    def run(number: int) -> Screened:
        history: list[float] = []
        for step in em(model, starts.sweep, State(starts(number)), options):
            if step.kind != "rejected":
                history.append(step.objective)
            if step.state.iteration >= model.screened_passes or is_over():
                break
        state = step.state
        return Screened(number, history[-1], None, True, state.iteration, "", state, tuple(history))

    return run
