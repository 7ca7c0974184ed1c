"""Several starts of an EM fit: the best is kept, all are told of, and the whole can be interrupted and resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block
from ..errors import FileError, FitError
from .checkpoint import read_sealed, write_sealed
from .em import EMOptions, Point, State, Step, em, seen_in_double
from .events import Begin, End, Listener, Progress
from .protocols import HasRowState, Model, Params, Rows, StagedModel, SummarisesRestarts, Sweep
from .stats import flatten, shape_of, unflatten, widened
from .together import Together

# Two starts that end closer than this (relative) are said to have found the same value.
SAME_VALUE = 1e-5


InitParams = Callable[[Sweep, int, int], Params]  # starting parameters, from (sweep, seed, restart)


class Given:
    """Parameters that are given, the same for every start."""

    def __init__(self, params: Params) -> None:
        self.params = params

    def __call__(self, sweep: Sweep, seed: int, restart: int) -> Params:
        return self.params


@dataclass(frozen=True)
class Starts:
    """Where the starts of a fit begin: parameters by ``init``, and row state, by the model unless it is given."""

    model: Model
    sweep: Sweep
    init: InitParams
    seed: int
    rows: Rows | None = None

    def on(self, sweep: Sweep) -> Starts:
        """The same by another sweep over the table."""
        return replace(self, sweep=sweep)

    def params(self, restart: int) -> Params:
        """Starting parameters."""
        return self.init(self.sweep, self.seed, restart)

    def __call__(self, restart: int) -> Point:
        params = self.params(restart)
        if self.rows is not None:
            return Point(params, self.rows)
        return Point(params, init_rows(self.model, self.sweep, params, self.seed, restart))


def init_rows(model: Model, sweep: Sweep, params: Params, seed: int, restart: int) -> Rows:
    """Row state at the start, where the blocks are."""
    nothing: Rows = [None] * sweep.n_blocks
    if not (model.has_row_state and isinstance(model, HasRowState)):
        return nothing
    return sweep.map(_InitRows(model, seed, restart), nothing, params)[1]


class _InitRows:
    """Row state of a block at the start."""

    def __init__(self, model: HasRowState, seed: int, restart: int) -> None:
        self.model, self.seed, self.restart = model, seed, restart

    def __call__(self, block: Block, rows: None, params: Params) -> tuple[None, Any]:
        return None, self.model.init_rows(block, params, self.seed, self.restart)


class Restart(NamedTuple):
    """How one start ended."""

    number: of.Count
    objective: of.AnyNumber
    n_iter: of.Count
    converged: bool
    n_rejected: of.Count
    error: str  # empty if the start came to an end
    history: list[of.AnyNumber]  # objective after every accepted pass
    complete: bool = True  # it came to its last stage; objectives of earlier ones do not compare
    went_on: bool = True  # it was among the better ones when starts were compared, or they were not
    compared_at: of.Count = 0  # passes until then; 0 if it was not compared
    compared: of.AnyNumber = -np.inf  # its objective there


@dataclass(frozen=True)
class Result:
    """The best start, and the tale of all."""

    point: Point
    best: Restart
    restarts: list[Restart]
    stopped: bool  # a listener asked to stop
    summaries: list[Any]  # what the model keeps of every start, None where nothing

    @property
    def n_reached(self) -> int:
        """How many starts reached the best value."""
        best = self.best.objective
        close = SAME_VALUE * max(1.0, abs(best))
        return sum(
            best - r.objective <= close
            for r in self.restarts
            if not r.error and r.went_on and r.complete == self.best.complete
        )


@dataclass
class Bookmark:
    """Where a fit checkpoints.

    Parameters
    ----------
    path : path
        The file.
    identity : dict
        What must agree for a file to be resumed: family, options, seed, fingerprint of the table.
    every : float
        Seconds between two writes.
    resume : bool
        Go on from the file if it is there.
    """

    path: str | os.PathLike[str]
    identity: dict[str, Any]
    every: float = 10.0
    resume: bool = True
    clock: Callable[[], float] = time.monotonic
    written: float = field(default=-np.inf, init=False)

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.clock() - self.written >= self.every


class Paused(NamedTuple):
    """A start that waits for the others, to be compared with them."""

    number: int
    state: State
    history: list[float]

    @property
    def objective(self) -> float:
        """What it has reached."""
        return self.history[-1]


class _Run(NamedTuple):
    """Everything a checkpoint holds: the current start, those that wait, the ended ones, the best point so far."""

    number: int
    state: State | None
    history: list[float]
    ended: list[Restart]
    best: Point | None
    summaries: list[Any]
    paused: tuple[Paused, ...] = ()  # by number; in the end the first of them goes on


def fit_restarts(
    model: Model,
    sweep: Sweep,
    start: Callable[[int], Point],
    n_init: int,
    options: EMOptions,
    listener: Listener,
    name: str = "fit",
    bookmark: Bookmark | None = None,
    params_type: Any = None,
    pause: int = 0,
    together: Together | None = None,
) -> Result:
    """Run EM from ``start(0)``, ``start(1)``, ... and return the best.

    A start that fails is recorded and left out; the fit fails only if all do.  ``params_type`` is the NamedTuple of the
    parameters, for reading a checkpoint back.  With ``pause`` all starts wait after so many passes of their last stage, and
    the better half of them goes on.  With ``together`` starts run side by side, and there is no bookmark; it shares what
    :func:`alone` needs.
    """
    run = _Run(0, None, [], [], None, [])
    if n_init < 1 or options.max_iter < 1:
        raise FitError("at least one start and one pass are needed.")
    if bookmark is not None and bookmark.resume and os.path.exists(bookmark.path):
        run = _read(bookmark, model, params_type, sweep)
    listener.begin(Begin(name, n_init, options.max_iter))
    stopped = False
    try:
        if together is not None:
            run, stopped = _side_by_side(together, run, n_init, options, listener, pause)
        while run.number < n_init and not stopped:
            run, stopped = _one_start(model, sweep, start, options, listener, run, bookmark, pause)
            if not stopped:  # a start that was stopped has written where it stands
                run = _left_behind(run, max(1, n_init // 2))
                _write(bookmark, run, sweep)
        while run.paused and not stopped:
            run, stopped = _one_start(model, sweep, start, options, listener, _going_on(run), bookmark)
            if not stopped:
                _write(bookmark, run, sweep)
        run = _as_they_stand(run)
    finally:
        best = _best(run.ended)
        listener.end(End(best.n_iter if best else 0, best.objective if best else np.nan))
    if best is None or run.best is None:
        first = next(restart.error for restart in run.ended if restart.error)
        raise FitError(f"none of the {n_init} starts could be completed; the first failed with: {first}")
    order = sorted(range(len(run.ended)), key=lambda i: run.ended[i].number)
    return Result(run.best, best, [run.ended[i] for i in order], stopped, [run.summaries[i] for i in order])


class Alone(NamedTuple):
    """What a start needs to run beside others, wherever it does."""

    model: Model
    start: Any  # from a number to a point; ``on(sweep)`` is the same by another sweep
    sweep: Any
    options: EMOptions
    pause: int
    listener: Listener | None  # None: nobody listens there


def alone(shared: Alone, number: int, waited: Paused | None) -> tuple[_Run, bool]:
    """Carry one start to its end, or to where it waits; ``waited`` is where it did."""
    run = _Run(number, None, [], [], None, [], () if waited is None else (waited,))
    run = run if waited is None else _going_on(run)
    pause = shared.pause if waited is None else 0
    listener = Listener() if shared.listener is None else shared.listener
    return _one_start(shared.model, shared.sweep, shared.start, shared.options, listener, run, None, pause)


def _side_by_side(
    together: Together, run: _Run, n_init: int, options: EMOptions, listener: Listener, pause: int
) -> tuple[_Run, bool]:
    """All starts, and then those that waited and are better, side by side; put together in the order of their numbers."""
    tells = together.shared.listener is None
    found, stopped = _gathered(together, [(number, None) for number in range(n_init)], options, listener, tells)
    for one in found:
        run = _with_other(run, one)
    run = _left_behind(run, max(1, n_init // 2))
    if run.paused and not stopped:
        calls = [(paused.number, paused) for paused in run.paused]
        found, stopped = _gathered(together, calls, options, listener, tells)
        run = run._replace(paused=())
        for one in found:
            run = _with_other(run, one)
    return run._replace(number=n_init), stopped


def _gathered(
    together: Together, calls: Sequence[tuple[int, Paused | None]], options: EMOptions, listener: Listener, tells: bool
) -> tuple[list[_Run], bool]:
    """The runs of starts, in their order, and whether one was stopped; ``tells`` the listener of each as it comes."""
    found: dict[int, _Run] = {}
    stopped = False
    for place, (one, was_stopped) in together.run(alone, calls):
        found[place], stopped = one, stopped or was_stopped
        if tells and one.best is not None and one.ended:
            ended = one.ended[-1]
            state = State(one.best, ended.n_iter)
            listener.step(
                Progress(ended.number, Step("em", one.best, ended.objective, 0.0, True, state), options.scale)
            )
    return [found[place] for place in sorted(found)], stopped


def _with_other(run: _Run, other: _Run) -> _Run:
    """With what a start that ran alone has come to."""
    run = run._replace(paused=(*run.paused, *other.paused))
    for ended, summary in zip(other.ended, other.summaries):
        run = _with_end(run, ended, other.best, summary)
    return run


def _left_behind(run: _Run, n_going_on: int) -> _Run:
    """Without what nothing comes of: starts that wait, but are not among the better ones, end where they stand."""
    ranked = sorted(run.paused, key=lambda paused: (-paused.objective, paused.number))
    better = sorted(ranked[:n_going_on], key=lambda paused: paused.number)
    ended = [_restart_at(paused, went_on=False) for paused in ranked[n_going_on:]]
    return run._replace(
        paused=tuple(better), ended=[*run.ended, *ended], summaries=[*run.summaries, *[None] * len(ended)]
    )


def _going_on(run: _Run) -> _Run:
    """With the first of the starts that wait as the present one, unless it is that already."""
    first = run.paused[0]
    return run if run.state is not None else run._replace(state=first.state, history=first.history)


def _as_they_stand(run: _Run) -> _Run:
    """With the starts that still wait, because the fit was stopped, ended where they stand."""
    for paused in run.paused:
        run = _with_end(run, _restart_at(paused), paused.state.accepted, None)
    return run._replace(paused=())


def _restart_at(paused: Paused, went_on: bool = True) -> Restart:
    """How a start that waits would end where it stands."""
    state, value = paused.state, paused.objective
    return Restart(
        paused.number,
        value,
        state.iteration,
        False,
        state.n_rejected,
        "",
        paused.history,
        True,
        went_on,
        state.iteration,
        value,
    )


def _best(ended: list[Restart]) -> Restart | None:
    """The start with the highest objective, the earliest of equals; one cut short in an early stage only if need be."""
    good = [restart for restart in ended if not restart.error and restart.went_on]
    return max(good, key=_merit) if good else None


def _merit(restart: Restart) -> tuple[bool, float]:
    """By what starts are compared."""
    return restart.complete, restart.objective


def _with_end(run: _Run, ended: Restart, point: Point | None, summary: Any) -> _Run:
    """With a start that has ended at a point, which may be the best of all."""
    previous = _best(run.ended)
    better = not ended.error and (previous is None or _merit(ended) > _merit(previous))
    return run._replace(
        state=None,
        history=[],
        ended=[*run.ended, ended],
        best=point if better else run.best,
        summaries=[*run.summaries, summary],
    )


def _one_start(
    model: Model,
    sweep: Sweep,
    start: Callable[[int], Point],
    options: EMOptions,
    listener: Listener,
    run: _Run,
    bookmark: Bookmark | None,
    pause: int = 0,
) -> tuple[_Run, bool]:
    """Carry one start to its end, or to where it waits; on an interrupt the last whole pass is written down first."""
    waited = None if pause or not run.paused else run.paused[0]
    number = run.number if waited is None else waited.number
    stopped = settled = paused = False
    state, error, in_double = run.state, "", []
    complete = state is None or state.complete
    try:
        state = State(start(number)) if state is None else state
        for step in em(model, sweep, state, options):
            state, settled, complete = step.state, step.settled, step.last
            seen = [] if step.kind == "rejected" else [step.objective]
            # One assignment: an interrupt finds the pass done or not.
            run = run._replace(state=state, history=[*run.history, *seen])
            paused = bool(pause) and _may_wait(step, pause, options)
            if not settled and bookmark is not None and bookmark.due():
                _write(bookmark, run, sweep)
            if listener.step(Progress(number, step, options.scale, paused)) and not settled:
                stopped = True
                _write(bookmark, run, sweep)
                break
            if paused:
                break
        if stopped and state.single:
            step = seen_in_double(model, sweep, state, options)
            state, complete, in_double = step.state, step.last, [step.objective]
    except KeyboardInterrupt:
        if not settled:
            _write(bookmark, run, sweep)
        raise
    except (ArithmeticError, np.linalg.LinAlgError) as failure:
        error = f"{type(failure).__name__}: {failure}"
    if waited is None:
        run = run._replace(number=run.number + 1)
    else:
        run = run._replace(paused=run.paused[1:])
    if paused and not stopped and not error and state is not None:
        return run._replace(state=None, history=[], paused=(*run.paused, Paused(number, state, run.history))), False
    history = [*run.history, *in_double]
    ended = Restart(
        number,
        history[-1] if history else -np.inf,
        state.iteration if state is not None else 0,
        settled,
        state.n_rejected if state is not None else 0,
        error,
        history,
        complete,
    )
    if waited is not None:
        ended = ended._replace(compared_at=waited.state.iteration, compared=waited.objective)
    point = None if error or state is None else state.accepted
    summary = None
    if point is not None and isinstance(model, SummarisesRestarts):
        summary = model.restart_summary(point.params)
    return _with_end(run, ended, point, summary), stopped


def _may_wait(step: Step, pause: int, options: EMOptions) -> bool:
    """Whether a start has come far enough to be compared, and not to its end."""
    state = step.state
    return step.last and not step.settled and state.passes >= pause and state.iteration < options.max_iter


def _write(bookmark: Bookmark | None, run: _Run, sweep: Sweep) -> None:
    """Write a checkpoint."""
    if bookmark is None:
        return
    points: dict[str, Any] = {"best": run.best and _plain(run.best, sweep)}
    scalars = None if run.state is None else _put_state(run.state, "", sweep, points)
    paused = [
        [p.number, _put_state(p.state, f"paused{i}.", sweep, points), p.history] for i, p in enumerate(run.paused)
    ]
    arrays: dict[str, Any] = {f"summary{i}": value for i, value in enumerate(run.summaries) if value is not None}
    for name, value in points.items():
        arrays.update(flatten(value, name))
    header = {
        "identity": bookmark.identity,
        "number": run.number,
        "scalars": scalars,
        "history": run.history,
        "ended": [list(restart) for restart in run.ended],
        "paused": paused,
        "shapes": {name: shape_of(value) for name, value in points.items()},
    }
    write_sealed(bookmark.path, "checkpoint", header, arrays)
    bookmark.written = bookmark.clock()


def _put_state(state: State, name: str, sweep: Sweep, points: dict[str, Any]) -> list[Any]:
    """The numbers of a state; ``points`` gets its points, their names behind ``name``."""
    points[f"{name}point"] = _plain(state.point, sweep)
    points[f"{name}accepted"] = state.accepted and _plain(state.accepted, sweep)
    points[f"{name}fallback"] = state.fallback and _plain(state.fallback, sweep)
    for i, point in enumerate(state.trail):
        points[f"{name}trail{i}"] = _plain(point, sweep)
    counts = [state.n_reseeds, state.n_rejected, state.stage, state.quiet, state.passes]
    return [state.iteration, state.objective, *counts, state.complete, state.single]


def _plain(point: Point, sweep: Sweep) -> Any:
    """A point with its row state in this process."""
    return (point.params, tuple(sweep.fetch_rows(point.rows)))


def read_bookmark(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a checkpoint, which tells whose it is."""
    header, arrays = read_sealed(path, "checkpoint")
    identity = header.get("identity")
    if not isinstance(identity, dict):
        raise foreign(path, "it does not tell whose it is")
    return header, arrays


def checkpoint_seed(path: str | os.PathLike[str]) -> int:
    """The seed of the fit that wrote a checkpoint."""
    seed = read_bookmark(path)[0]["identity"].get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < of.MOST:
        raise foreign(path, "its seed is no whole number")
    return seed


def foreign(path: str | os.PathLike[str], why: Any) -> FileError:
    """The error for a checkpoint that no fit has written."""
    return FileError(f"{path} is no checkpoint of a fit: {why}. Remove it, or name another checkpoint.")


def refuse_foreign(bookmark: Bookmark, theirs: dict[str, Any]) -> None:
    """Raise if a file's identity is not that of this fit."""
    other = [key for key, ours in bookmark.identity.items() if theirs.get(key) != ours]
    if other:
        raise FileError(
            f"{bookmark.path} belongs to another fit (it differs in: {', '.join(other)}). "
            "Remove it, name another checkpoint, or use the same table, options and seed."
        )


def _read(bookmark: Bookmark, model: Model, params_type: Any, sweep: Sweep) -> _Run:
    """Read a checkpoint, refusing one of another fit."""
    header, arrays = read_bookmark(bookmark.path)
    refuse_foreign(bookmark, header["identity"])
    try:
        return _RunReader(header, arrays, model, params_type, sweep).run()
    except (of.MisfitError, RecursionError) as error:
        raise foreign(bookmark.path, error) from None


# Iteration, objective, reseeds, rejected trials, stage, quiet passes, passes of the stage, complete, in float32.
Scalars = tuple[of.Count, of.AnyNumber, of.Count, of.Count, of.Count, of.Count, of.Count, bool, bool]


class _RunReader:
    """A run from the content of a checkpoint, all of it held against what the model declares."""

    def __init__(
        self, header: dict[str, Any], arrays: dict[str, Any], model: Model, params_type: Any, sweep: Sweep
    ) -> None:
        self.header, self.arrays, self.model, self.params_type, self.sweep = header, arrays, model, params_type, sweep
        self.counts: list[int] | None = None

    def run(self) -> _Run:
        """The whole."""
        number, ended = (
            self.part("number", of.Count),
            [_restart(row) for row in self.part("ended", list[list[of.Plain]])],
        )
        history, shapes = self.part("history", list[of.AnyNumber]), self.part("shapes", dict[str, of.Plain])
        paused = self._paused(shapes)
        if sorted([*(restart.number for restart in ended), *(p.number for p in paused)]) != list(range(number)):
            raise of.MisfitError(f"ended and paused must tell of the starts 0 to {number - 1}")
        best = self.point(shapes, "best")
        if (best is None) != (_best(ended) is None):
            raise of.MisfitError("best must be the best of the starts that have ended")
        summaries = [self.arrays.get(f"summary{i}") for i in range(len(ended))]
        self._check_summaries(summaries, best)
        state = None
        if shapes.get("point") is not None:
            state = self._state(shapes, "", self.part("scalars", list[of.Plain]))
        return _Run(number, state, history, ended, best, summaries, paused)

    def _paused(self, shapes: dict[str, Any]) -> tuple[Paused, ...]:
        """The starts that wait."""
        out = []
        for i, row in enumerate(self.part("paused", list[list[of.Plain]])):
            of.check(tuple(row), tuple[of.Count, list[of.Plain], list[of.AnyNumber]], {}, f"paused{i}")
            state = self._state(shapes, f"paused{i}.", row[1])
            if state.accepted is None or not row[2]:
                raise of.MisfitError(f"paused{i} must tell of passes that were made")
            out.append(Paused(row[0], state, row[2]))
        return tuple(out)

    def part(self, name: str, kind: Any) -> Any:
        """A part of the header, of the kind that it must have."""
        if name not in self.header:
            raise of.MisfitError(f"{name} is missing")
        of.check(self.header[name], kind, {}, name)
        return self.header[name]

    def _state(self, shapes: dict[str, Any], name: str, numbers: list[Any]) -> State:
        """Where a start stands, its points having names that begin so."""
        current = self.point(shapes, f"{name}point")
        if current is None:
            raise of.MisfitError(f"{name}point is missing")
        scalars = tuple(numbers)
        of.check(scalars, Scalars, {}, "scalars")
        iteration, objective, *counts = scalars
        if counts[2] > iteration:
            raise of.MisfitError(f"scalars must not tell of more stages ({counts[2]}) than passes ({iteration})")
        stage: Any = self.model
        for _ in range(counts[2]):
            stage = stage.next_stage() if isinstance(stage, StagedModel) else None
            if stage is None or (hasattr(stage, "contradiction") and stage.contradiction() is not None):
                raise of.MisfitError("scalars must tell of a stage that the fit has")
        trail = tuple(p for i in range(2) if (p := self.point(shapes, f"{name}trail{i}")) is not None)
        accepted, fallback = self.point(shapes, f"{name}accepted"), self.point(shapes, f"{name}fallback")
        return State(current, iteration, accepted, objective, fallback, trail, *counts)

    def point(self, shapes: dict[str, Any], name: str) -> Point | None:
        """Parameters and row state."""
        shape = shapes.get(name)
        if shape is None:
            return None
        if not isinstance(shape, list) or len(shape) != 2 or not isinstance(shape[1], list):
            raise of.MisfitError(f"{name} must be parameters and row state")
        if len(shape[1]) != self.sweep.n_blocks:
            raise of.MisfitError(f"{name} must have the state of {self.sweep.n_blocks} blocks; it has {len(shape[1])}")
        params = unflatten(shape[0], self.arrays, self.params_type, f"{name}.0")
        sizes: of.Sizes = {"D": int(self.sweep.source.shape[1])}
        if self.model.fixed_size and hasattr(self.model, "n_components"):
            sizes["K"] = int(self.model.n_components)
        of.check(params, Any if self.params_type is None else self.params_type, sizes, name)
        if (wrong := self.model.misfit(params)) is not None:
            raise of.MisfitError(f"{name} {wrong}")
        rows = [unflatten(s, self.arrays, None, f"{name}.1.{b}") for b, s in enumerate(shape[1])]
        for b, state in enumerate(rows):
            n_rows = 0 if self.model.row_kind is None else self._n_rows()[b]
            of.check(widened(state), self.model.row_kind, {**sizes, "n": n_rows}, f"{name}, block {b}:")
        return Point(params, self.sweep.place_rows(rows))

    def _n_rows(self) -> list[int]:
        """Rows of the blocks, which may be fewer than of the table where equal ones are merged."""
        if self.counts is None:
            self.counts = self.sweep.collect(_RowCount())
        return self.counts

    def _check_summaries(self, summaries: list[Any], best: Point | None) -> None:
        """Refuse summaries that are not such as the best start has."""
        like = None
        if best is not None and isinstance(self.model, SummarisesRestarts):
            like = self.model.restart_summary(best.params)
        for i, summary in enumerate(summaries):
            if summary is None:
                continue
            if (
                like is None
                or (summary.shape, summary.dtype) != (like.shape, like.dtype)
                or not np.isfinite(summary).all()
            ):
                raise of.MisfitError(f"summary{i} is not what is kept of a start")


class _RowCount:
    """How many rows a block has."""

    def __call__(self, block: Block) -> int:
        return block.n_rows


def _restart(row: list[Any]) -> Restart:
    """How a start ended."""
    if len(row) != len(Restart._fields):
        raise of.MisfitError(f"ended must have {len(Restart._fields)} numbers for every start; it has {len(row)}")
    restart = Restart(*row)
    of.check(restart, Restart, {}, "ended")
    return restart
