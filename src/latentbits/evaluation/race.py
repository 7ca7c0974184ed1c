"""The race of families: each searches its settings (``search.py``), step by step, until the time is over.

The clock decides only who makes the next step, and how many are made.  The family that has had the least time is next, so
that cheap ones end early and leave their time to the others; those that may still win have several times the time of those
whose last steps gained little.  Those that are too far behind to catch up stop, and go on only if all others have ended and
time is left.  Those whose next step no longer fits the time end while they are still getting better.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..families import TableSize
from .candidates import Candidate
from .plan import BEHIND, FAILED, SETTLED, TIME, Plan
from .search import Path, Point, Tried, most_components, search_path

# A family stops if it is further behind the best than what so many more doublings would gain if they went on like its last
# ones, and than this part of its loss, which is more than regularisers and averaged starts have gained anywhere (see the
# guide).  Gains that grow go on to grow, up to twofold: with 40 sources most is gained when there is one for each.
DOUBLINGS, MOST_RATIO, PART = 5, 2.0, 0.12
FEWEST_SIZES = 3  # before a family may be stopped
FEWEST_FAMILIES = 4  # that are fitted, whatever they cost
STANDARD_ERRORS = 3.0
MOST_RESERVED = 0.5  # of the budget, for the comparison after the search
# Rivals that are dearer than this part of the budget have what is left.
RIVALS_PART = 0.2
# Families that may still win have this many times the time of those whose last steps gained too little for that.
PROMISE = 4.0


class Clock:
    """Seconds since the beginning, those of an interrupted run included, beside a budget."""

    def __init__(self, budget: float) -> None:
        self.budget, self._begin, self.before = budget, time.perf_counter(), 0.0

    def elapsed(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._begin + self.before


@dataclass
class Runner:
    """A family in the race."""

    one: Candidate
    path: Path
    first: Point = Point(None)  # noqa: RUF009
    pending: Point | None = None
    best: Tried | None = None
    fits: list[Tried] = field(default_factory=list)
    ended: str = ""
    paces: list[float] = field(default_factory=list)  # measured by nominal seconds
    is_busy: bool = False  # with the pending settings
    is_behind: bool = False  # too far to catch up

    def begin(self) -> None:
        """The first settings; rivals that have no others are compared with them, and not searched."""
        self.first = self.pending = next(self.path)
        if self.one.is_rival and not self.one.has_choice:
            self.stop(SETTLED)

    def take(self, tried: Tried) -> None:
        """Hear how the pending settings did, and go on to the next."""
        self.is_busy = False
        self.fits.append(tried)
        if self.best is None or tried.loss < self.best.loss:
            self.best = tried
        try:
            self.pending = self.path.send(tried)
        except StopIteration:
            self.pending, self.ended = None, SETTLED
        if tried.losses is None and len(self.fits) == 1 and not self.one.named:
            self.pending, self.ended = None, FAILED

    def stop(self, how: str) -> None:
        """End before the search has settled."""
        self.pending, self.ended = None, how

    def spent(self) -> float:
        """Seconds that it has had."""
        return sum(fit.seconds for fit in self.fits)

    def hope(self) -> float:
        """What more doublings would gain if they went on like the last two."""
        older, latest = (self.gain(n) for n in (len(self.fits) - 2, len(self.fits) - 1))
        ratio = MOST_RATIO if older == 0.0 else min(max(latest / older, 1.0), MOST_RATIO)
        return max(older, latest) * sum(ratio**n for n in range(1, DOUBLINGS + 1))

    def gain(self, n: int) -> float:
        """What fit number ``n`` gained over all before it."""
        before = min((fit.loss for fit in self.fits[: max(0, n)]), default=math.inf)
        return 0.0 if math.isinf(before) else max(0.0, before - self.fits[n].loss)


@dataclass
class Race:
    """Families and what they have tried.

    Parameters
    ----------
    candidates : list of Candidate
    start : function
        Begins the fit of a candidate at a point.
    finish : function
        Waits for one of those; the name of its candidate, and what it gave.
    table : TableSize
        Of the rows that are fitted.
    rows : array
        The row of every hidden cell.
    clock : Clock
    n_draws : int
        Of the comparison that follows, for which time is kept.
    width : int
        Fits at a time.
    repeat : Plan, optional
        Make the steps of an earlier race instead of looking at the clock.
    """

    candidates: list[Candidate]
    start: Callable[[Candidate, Point], None]
    finish: Callable[[], tuple[str, Tried]]
    table: TableSize
    rows: Any
    clock: Clock
    n_draws: int
    width: int = 1
    repeat: Plan | None = None
    runners: dict[str, Runner] = field(default_factory=dict)
    left_out: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """Step after step, ``width`` at a time."""
        for one in self.candidates:
            most = most_components(one, self.table.n_rows, self.table.n_columns)
            runner = Runner(one, search_path(one, most, self.rows))
            runner.begin()
            self.runners[one.name] = runner
        while self.started():
            name, tried = self.finish()
            runner = self.runners[name]
            runner.paces.append(tried.seconds / max(1e-9, self.nominal(runner.one, tried.point)))
            runner.take(tried)
            self.hold_those_behind()

    def started(self) -> bool:
        """Start what there is room for, first the families that have had the least time; whether anything is being done."""
        waiting = [runner for runner in self.runners.values() if runner.pending is not None and not runner.is_busy]
        waiting.sort(key=lambda runner: (runner.is_behind, self.had(runner), self.nominal(runner.one, runner.pending)))
        n_busy = sum(runner.is_busy for runner in self.runners.values())
        for runner in waiting:
            if n_busy < self.width and self.may_go_on(runner):
                runner.is_busy, n_busy = True, n_busy + 1
                assert runner.pending is not None
                self.start(runner.one, runner.pending)
        return n_busy > 0

    def had(self, runner: Runner) -> float:
        """Seconds that a family has had, beside its share of the time."""
        return runner.spent() / (PROMISE if self.is_promising(runner) else 1.0)

    def is_promising(self, runner: Runner) -> bool:
        """Whether more steps like its last ones would make a family the best, or too few were made to tell."""
        if len(runner.fits) < FEWEST_SIZES or runner.best is None:
            return runner.one.is_family
        return runner.best.loss - runner.hope() <= self.least_loss()

    def least_loss(self) -> float:
        """The loss of the best family."""
        found = [r.best.loss for r in self.runners.values() if r.one.is_family and r.best is not None]
        return min(found, default=float("inf"))

    def is_far(self, name: str) -> bool:
        """Whether a family is so far behind in the search that shorter fits are enough to tell."""
        runner, least = self.runners[name], self.least_loss()
        if not runner.one.is_family or runner.one.named or runner.best is None or runner.best.losses is None:
            return False
        leader = min(
            (r.best for r in self.runners.values() if r.one.is_family and r.best is not None),
            key=lambda best: best.loss,
        )
        gap, se = leader.gain_over(runner.best, self.rows)
        return runner.best.loss > (1.0 + PART) * least and gap > STANDARD_ERRORS * se

    def nominal(self, one: Candidate, point: Point | None) -> float:
        """Seconds of a fit of the search on an ordinary machine."""
        assert point is not None
        return one.seconds(point.size, {**one.trial, **dict(point.options)}, self.table)

    def seconds(self, runner: Runner, point: Point) -> float:
        """Seconds of a fit, by what others of the family, or of all families, took here."""
        every = [pace for other in self.runners.values() for pace in other.paces]
        paces = runner.paces[-3:] or every or [1.0]
        return self.nominal(runner.one, point) * statistics.median(paces)

    def best_loss(self, name: str) -> float:
        """The loss of the best settings of a family."""
        best = self.runners[name].best
        return float("inf") if best is None else best.loss

    def seconds_in_full(self, runner: Runner) -> float:
        """Seconds of a fit with the best settings and the options of the comparison, by what it took in the search."""
        best, one = runner.best, runner.one
        if best is None:
            return self.seconds(runner, runner.first) if runner.ended == SETTLED else 0.0
        trial, full = ({**options, **dict(best.point.options)} for options in (one.trial, one.full))
        if best.settled and "max_iter" in full:  # longer fits end as soon
            return float(best.seconds * full.get("n_init", 1) / trial.get("n_init", 1))
        return float(best.seconds * one.passes(full) / one.passes(trial))

    def seconds_in_short(self, runner: Runner) -> float:
        """Seconds of a fit with the best settings and the options of the search."""
        return self.seconds_in_full(runner) if runner.best is None else runner.best.seconds

    def may_go_on(self, runner: Runner) -> bool:
        """Whether the next step is made; if not, the runner ends."""
        one = runner.one
        if self.repeat is not None:
            goes_on = len(runner.fits) < self.repeat.steps.get(one.name, 0)
            if not goes_on:
                self.end_as_before(runner)
            return goes_on
        assert runner.pending is not None
        wanted = self.seconds(runner, runner.pending)
        if self.clock.elapsed() + wanted + self.reserved() <= self.clock.budget:
            return True
        if not runner.fits and not one.is_rival:
            if one.asked or one.is_baseline or self.n_fitted() < FEWEST_FAMILIES:
                return True
        if not runner.fits:
            self.left_out[one.name] = wanted
        runner.stop(BEHIND if runner.is_behind else TIME)
        return False

    def end_as_before(self, runner: Runner) -> None:
        """End a runner as an earlier race did."""
        assert self.repeat is not None
        name = runner.one.name
        if name in self.repeat.left_out:
            self.left_out[name] = self.repeat.left_out[name]
        runner.stop(self.repeat.ended.get(name, TIME))

    def n_fitted(self) -> int:
        """Families that have a fit."""
        return sum(runner.one.is_family and bool(runner.fits) for runner in self.runners.values())

    def reserved(self) -> float:
        """Seconds that the comparison after the search will take: one draw of all, the others of those in front."""
        total = 0.0
        for runner in self.runners.values():
            in_front = runner.one.is_family and not runner.is_behind
            is_far = self.is_far(runner.one.name)
            n_draws = self.n_draws if (in_front and not is_far) or runner.one.is_baseline else 1
            wanted = self.seconds_in_short(runner) if is_far else self.seconds_in_full(runner)
            if not runner.one.is_rival or wanted <= RIVALS_PART * self.clock.budget:
                total += n_draws * wanted
        return min(total / self.width, MOST_RESERVED * self.clock.budget)

    def remaining(self) -> float:
        """About how many seconds the search will still take: a few more steps of everybody, each dearer than the last."""
        waiting = [runner for runner in self.runners.values() if runner.pending is not None]
        steps = sum(6.0 * self.seconds(runner, runner.pending) for runner in waiting if runner.pending is not None)
        left = self.clock.budget - self.clock.elapsed() - self.reserved()
        return max(0.0, min(steps / self.width, left))

    def hold_those_behind(self) -> None:
        """Families that cannot catch up wait until all others have ended."""
        found = [runner for runner in self.runners.values() if runner.one.is_family and runner.best is not None]
        if self.repeat is not None or not found:
            return
        leader = min(found, key=lambda runner: runner.best.loss)  # type: ignore[union-attr]
        for runner in found:
            searched = not runner.one.named and runner.one.first is not None and len(runner.fits) >= FEWEST_SIZES
            runner.is_behind = runner is not leader and searched and self.cannot_catch_up(runner, leader)

    def cannot_catch_up(self, runner: Runner, leader: Runner) -> bool:
        """Whether a family is further behind than more steps could bring it."""
        assert runner.best is not None and leader.best is not None
        gap, se = leader.best.gain_over(runner.best, self.rows)
        return gap - STANDARD_ERRORS * se > max(runner.hope(), PART * runner.best.loss)
