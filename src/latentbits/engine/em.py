"""The EM driver: a generator that yields a step after every pass.

A *point* is parameters and row state.  A pass takes the E-step at a point, which gives the objective there, and the
M-step gives the next point.  Bold moves (an accelerated jump, a component seeded anew) are *trials*: the next pass
shows their objective, and a trial that is worse than the point before it is thrown away for the plain EM update.  So
the objective of accepted points never falls, and no evaluation is spent on the check.

With ``mixed`` precision the first stage of a fit runs its passes in float32, until a step gains no more than float32 can
show or the fit would end.  Parameters are float64 throughout, and so is everything of the last passes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import MonotonicityError, ObjectiveFellWarning
from .accelerate import extrapolate
from .protocols import (
    Accelerated,
    ExtraPass,
    HasStopMeasure,
    Model,
    Params,
    ProposesSteps,
    ReseedsEmpty,
    Rows,
    SinglePrecision,
    StagedModel,
    Sweep,
)
from .stats import widened
from .sweep import one_blas_thread

# A fall beyond rounding; the sums of a pass carry about this relative error.
ROUNDING = 1e-9
# The same of a pass in float32; a gain below half of it says nothing.
SINGLE_ROUNDING = 2.0**-21
# Passes that are kept for float64 when the number of passes runs out.
LAST_PASSES = 2


@dataclass(frozen=True)
class EMOptions:
    """How long, how exact, how bold.

    Parameters
    ----------
    tol : float
        A plain EM step that gains less than ``tol * scale`` ends the fit.
    scale : float
        Usually the number of observed cells, so that ``tol`` is in nats per cell.
    accelerate : bool
        Use SQUAREM jumps where the model offers a vector.
    max_rescues : int
        Bold changes offered by the model that are tried per start.
    strict : bool
        Raise if the objective falls; otherwise warn.
    mixed : bool
        Run the first passes in float32 where the model can.
    """

    max_iter: int = 1000
    tol: float = 1e-7
    scale: float = 1.0
    accelerate: bool = True
    max_reseeds: int = 10
    strict: bool = False
    mixed: bool = False


class Point(NamedTuple):
    """Parameters and row state."""

    params: Params
    rows: Rows


class State(NamedTuple):
    """Everything needed to go on."""

    point: Point  # where the next E-step is taken
    iteration: int = 0
    accepted: Point | None = None  # the last point that was evaluated and kept
    objective: float = -np.inf  # there
    fallback: Point | None = None  # set while ``point`` is a trial
    trail: tuple[Point, ...] = ()  # accepted points since the last jump, for the next one
    n_reseeds: int = 0
    n_rejected: int = 0
    stage: int = 0  # how many stages are over
    quiet: int = 0  # small gains in a row
    passes: int = 0  # of this stage
    complete: bool = True  # the last pass belonged to the last stage
    single: bool = False  # passes are in float32


class Step(NamedTuple):
    """What a pass showed."""

    kind: str  # "em", "jump" (a trial that was accepted) or "rejected"
    point: Point  # the point that was evaluated
    objective: float
    gain: float
    settled: bool
    state: State  # where to go on from
    last: bool = True  # the pass belongs to the last stage of the fit


def em(model: Model, sweep: Sweep, state: State, options: EMOptions) -> Iterator[Step]:
    """Yield steps until the objective settles or ``max_iter`` passes are done."""
    for _ in range(state.stage):
        assert isinstance(model, StagedModel)
        model = model.next_stage()
    can = _Abilities.of(model)
    if state.iteration == 0:
        state = state._replace(single=options.mixed and can.single is not None and options.max_iter > LAST_PASSES)
    while state.iteration < options.max_iter:
        with one_blas_thread():  # what is done between sweeps, too: threads would have to be woken for every product
            step = _pass(model, can, sweep, state, options)
        if state.single and _single_is_over(step, options):
            step = _begin_double(model, sweep, step)
        elif can.stages is not None and _stage_is_over(can.stages, step):
            model = can.stages.next_stage()
            can = can if model is can.stages else _Abilities.of(model)
            step = _begin_stage(model, sweep, step)
        step = step._replace(state=step.state._replace(complete=step.last))
        yield step
        if step.settled:
            return
        state = step.state


def seen_in_double(model: Model, sweep: Sweep, state: State, options: EMOptions) -> Step:
    """One more pass for a fit that was stopped in float32: its last accepted point, looked at in float64."""
    point = _in_double(model, sweep, state.accepted or state.point)
    plain = State(point, state.iteration, stage=state.stage, n_rejected=state.n_rejected)
    return next(em(model, sweep, plain, replace(options, max_iter=state.iteration + 1)))


class _Abilities(NamedTuple):
    """The model as what it is beside a :class:`Model`, found out once per stage; None: it is not."""

    single: SinglePrecision | None
    stages: StagedModel | None
    stops: HasStopMeasure | None
    reseeds: ReseedsEmpty | None
    proposes: ProposesSteps | None
    jumps: Accelerated | None

    @classmethod
    def of(cls, model: Model) -> _Abilities:
        """What the model can."""
        return cls(
            model if isinstance(model, SinglePrecision) else None,
            model if isinstance(model, StagedModel) else None,
            model if isinstance(model, HasStopMeasure) else None,
            model if isinstance(model, ReseedsEmpty) else None,
            model if isinstance(model, ProposesSteps) else None,
            model if isinstance(model, Accelerated) else None,
        )


def _single_is_over(step: Step, options: EMOptions) -> bool:
    """Whether float32 has done its part: a plain step gains next to nothing, or the last passes have come."""
    unseen = max(options.tol * options.scale, 0.5 * SINGLE_ROUNDING * abs(step.objective))
    small = step.kind == "em" and step.gain <= unseen
    return step.settled or small or step.state.iteration >= options.max_iter - LAST_PASSES


def _begin_double(model: Model, sweep: Sweep, step: Step) -> Step:
    """Go on in float64 from where float32 ended: values of the two are not to be compared."""
    point = _in_double(model, sweep, step.state.fallback or step.state.point)
    state = step.state._replace(point=point, objective=-np.inf, fallback=None, trail=(), quiet=0, single=False)
    return step._replace(settled=False, state=state, last=False)


def _in_double(model: Model, sweep: Sweep, point: Point) -> Point:
    """A point with its row state in float64."""
    return Point(point.params, sweep.zip_rows(_widened, point.rows)[1]) if model.has_row_state else point


def _widened(rows: Any) -> tuple[None, Any]:
    """Row state of a block in float64."""
    return None, widened(rows)


def _stage_is_over(model: StagedModel, step: Step) -> bool:
    """Whether a stage that is not the last has settled or done its passes."""
    over = step.settled or (model.passes is not None and step.state.passes >= model.passes)
    return over and not model.is_last_stage(step.point.params)


def _begin_stage(model: StagedModel, sweep: Sweep, step: Step) -> Step:
    """Go on from the end of a stage with the model of the next: values of the two are not to be compared."""
    state = step.state
    state = state._replace(
        point=model.begin_stage(state.fallback or state.point, sweep),
        objective=-np.inf,
        fallback=None,
        trail=(),
        stage=state.stage + 1,
        quiet=0,
        passes=0,
    )
    return step._replace(settled=False, state=state, last=False)


def _pass(model: Model, can: _Abilities, sweep: Sweep, state: State, options: EMOptions) -> Step:
    """One pass: evaluate the point, judge it, and find the next."""
    point = state.point
    if state.single and can.single is not None:
        precomputed, e_step = can.single.precompute_single(point.params), can.single.e_step_single
    else:
        precomputed, e_step = model.precompute(point.params), model.e_step
    stats, rows = sweep.map(e_step, point.rows, precomputed, keep_rows=model.has_row_state)
    stats = model.finalize_stats(precomputed, stats)
    objective = float(model.objective(precomputed, stats))
    gain = objective - state.objective
    iteration = state.iteration + 1
    last = not state.single and (can.stages is None or can.stages.is_last_stage(point.params))

    # 1. A trial that did not pay is dropped for the EM update that it was to replace.
    if state.fallback is not None and not gain >= 0:
        back = state._replace(
            point=state.fallback,
            iteration=iteration,
            fallback=None,
            trail=(),
            n_rejected=state.n_rejected + 1,
            passes=state.passes + 1,
        )
        return Step("rejected", point, objective, gain, False, back, last)
    _watch(model, state, objective, options)

    # 2. The plain EM update.
    extra_pass = extra_pass_over(sweep, rows)
    updated = Point(model.m_step(point.params, stats, extra_pass), rows)
    plain = state.fallback is None
    measure = None if can.stops is None else can.stops.stop_measure(point.params, updated.params)
    enough = options.tol * options.scale
    small = (plain or model.patience > 1) and (0.0 if model.monotone else -enough) <= gain <= enough
    quiet = state.quiet + 1 if small else 0
    settled = measure <= options.tol if measure is not None else quiet >= model.patience
    settled = bool(settled) and state.iteration > 0
    after = state._replace(
        point=updated,
        iteration=iteration,
        accepted=point,
        objective=objective,
        fallback=None,
        trail=(*state.trail, point) if plain else (),
        quiet=quiet,
        passes=state.passes + 1,
    )

    # 3. Bold moves, to be judged by the next pass.
    if not settled:
        after = _bold(model, can, sweep, after, stats, extra_pass, options)
    return Step("em" if plain else "jump", point, objective, gain, settled, after, last)


def _bold(
    model: Model, can: _Abilities, sweep: Sweep, after: State, stats: Any, extra_pass: ExtraPass, options: EMOptions
) -> State:
    """Replace the next point by a trial if there is one worth trying."""
    updated = after.point
    if after.n_reseeds < options.max_reseeds and can.reseeds is not None:
        reseeded = can.reseeds.reseed_empty(updated.params, stats, extra_pass)
        if reseeded is not None:
            trial = Point(reseeded, updated.rows)
            return after._replace(point=trial, fallback=updated, trail=(), n_reseeds=after.n_reseeds + 1)
    if not options.accelerate:
        return after._replace(trail=())
    proposed = None
    if after.accepted is not None and can.proposes is not None:
        proposed = can.proposes.propose(after.accepted.params, updated.params)
    if proposed is not None:
        return after._replace(point=Point(proposed, updated.rows), fallback=updated, trail=())
    if can.jumps is None:
        return after._replace(trail=())
    if len(after.trail) < 2:
        return after
    jump = extrapolate(model, can.jumps, sweep, (after.trail[-2], after.trail[-1], updated))
    if jump is None:
        return after._replace(trail=())
    return after._replace(point=Point(*jump), fallback=updated, trail=())


def extra_pass_over(sweep: Sweep, rows: Rows) -> ExtraPass:
    """Extra passes over the table at the same row state."""

    def extra_pass(fn: Any, *args: Any) -> Any:
        return sweep.map(_StatsOnly(fn), rows, *args, keep_rows=False)[0]

    return extra_pass


class _StatsOnly:
    """A function of a block that returns statistics alone, in the shape that sweeps expect."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, block: Any, rows: Any, *args: Any) -> tuple[Any, None]:
        return self.fn(block, rows, *args), None


def _watch(model: Model, state: State, objective: float, options: EMOptions) -> None:
    """Raise or warn if the objective is not a number or fell though it must not."""
    if np.isnan(objective):
        raise FloatingPointError(f"the objective is not a number at iteration {state.iteration + 1}")
    fall = state.objective - objective
    rounding = SINGLE_ROUNDING if state.single else ROUNDING
    if not model.monotone or not fall > rounding * max(1.0, abs(objective)) + model.slack:
        return
    text = (
        f"the objective fell from {state.objective!r} to {objective!r} at iteration {state.iteration + 1} of "
        f"{type(model).__name__}"
    )
    if options.strict:
        raise MonotonicityError(text)
    warnings.warn(f"{text}; please report this with the data shape and options", ObjectiveFellWarning, stacklevel=2)
