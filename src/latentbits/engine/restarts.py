"""Several starts of an EM fit: the best is kept, all are told of, and the whole can be interrupted and resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block
from ..errors import FitError
from .bookmarks import Bookmark, Paused, Restart, Run, best_of, merit, read_run, write_run
from .em import EMOptions, Point, State, Step, em, seen_in_double
from .events import Begin, End, Listener, Progress
from .protocols import HasRowState, Model, Params, Rows, SummarisesRestarts, Sweep
from .sweep import one_blas_thread
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
        """Starting parameters; their bits do not depend on how many threads BLAS has."""
        with one_blas_thread():
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
    run = Run(0, None, [], [], None, [])
    if n_init < 1 or options.max_iter < 1:
        raise FitError("at least one start and one pass are needed.")
    if bookmark is not None and bookmark.resume and os.path.exists(bookmark.path):
        run = read_run(bookmark, model, params_type, sweep)
    listener.begin(Begin(name, n_init, options.max_iter))
    stopped = False
    try:
        if together is not None:
            run, stopped = _side_by_side(together, run, n_init, options, listener, pause)
        while run.number < n_init and not stopped:
            run, stopped = _one_start(model, sweep, start, options, listener, run, bookmark, pause)
            if not stopped:  # a start that was stopped has written where it stands
                run = _left_behind(run, max(1, n_init // 2))
                write_run(bookmark, run, sweep)
        while run.paused and not stopped:
            run, stopped = _one_start(model, sweep, start, options, listener, _going_on(run), bookmark)
            if not stopped:
                write_run(bookmark, run, sweep)
        run = _as_they_stand(run)
    finally:
        best = best_of(run.ended)
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


def alone(shared: Alone, number: int, waited: Paused | None) -> tuple[Run, bool]:
    """Carry one start to its end, or to where it waits; ``waited`` is where it did."""
    run = Run(number, None, [], [], None, [], () if waited is None else (waited,))
    run = run if waited is None else _going_on(run)
    pause = shared.pause if waited is None else 0
    listener = Listener() if shared.listener is None else shared.listener
    return _one_start(shared.model, shared.sweep, shared.start, shared.options, listener, run, None, pause)


def _side_by_side(
    together: Together, run: Run, n_init: int, options: EMOptions, listener: Listener, pause: int
) -> tuple[Run, bool]:
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
) -> tuple[list[Run], bool]:
    """The runs of starts, in their order, and whether one was stopped; ``tells`` the listener of each as it comes."""
    found: dict[int, Run] = {}
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


def _with_other(run: Run, other: Run) -> Run:
    """With what a start that ran alone has come to."""
    run = run._replace(paused=(*run.paused, *other.paused))
    for ended, summary in zip(other.ended, other.summaries):
        run = _with_end(run, ended, other.best, summary)
    return run


def _left_behind(run: Run, n_going_on: int) -> Run:
    """Without what nothing comes of: starts that wait, but are not among the better ones, end where they stand."""
    ranked = sorted(run.paused, key=lambda paused: (-paused.objective, paused.number))
    better = sorted(ranked[:n_going_on], key=lambda paused: paused.number)
    ended = [_restart_at(paused, went_on=False) for paused in ranked[n_going_on:]]
    return run._replace(
        paused=tuple(better), ended=[*run.ended, *ended], summaries=[*run.summaries, *[None] * len(ended)]
    )


def _going_on(run: Run) -> Run:
    """With the first of the starts that wait as the present one, unless it is that already."""
    first = run.paused[0]
    return run if run.state is not None else run._replace(state=first.state, history=first.history)


def _as_they_stand(run: Run) -> Run:
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


def _with_end(run: Run, ended: Restart, point: Point | None, summary: Any) -> Run:
    """With a start that has ended at a point, which may be the best of all."""
    previous = best_of(run.ended)
    better = not ended.error and (previous is None or merit(ended) > merit(previous))
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
    run: Run,
    bookmark: Bookmark | None,
    pause: int = 0,
) -> tuple[Run, bool]:
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
                write_run(bookmark, run, sweep)
            if listener.step(Progress(number, step, options.scale, paused)) and not settled:
                stopped = True
                write_run(bookmark, run, sweep)
                break
            if paused:
                break
        if stopped and state.single:
            step = seen_in_double(model, sweep, state, options)
            state, complete, in_double = step.state, step.last, [step.objective]
    except KeyboardInterrupt:
        if not settled:
            write_run(bookmark, run, sweep)
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
