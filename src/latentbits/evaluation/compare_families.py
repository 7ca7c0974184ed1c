"""The comparison itself: search every family's settings, then hide other cells, fit again, ask all the same questions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..base import quiet
from ..base.options import Whole
from ..base.passes import table_sums
from ..base.sklearn_api import effective_n_jobs
from ..data.holdout import HiddenRows, RowsSource
from ..data.rng import stream
from ..data.source import Source, open_source
from ..engine.sweep import sweep_of
from ..engine.together import InHand, active_client
from ..errors import InputError, LatentBitsWarning
from ..families import TableSize
from .candidates import Candidate, candidates_for, check_sizes, size_text
from .comparison import Comparison, Fitted
from .fits import CHOICE, MOST_CELLS, answers_of, hidden_questions, search_loss, tried_of
from .hidden_cells import log_losses
from .part_store import Store, digest_of_table
from .plan import (
    BEHIND,
    DRAWS,
    DRAWS_IF_FEW,
    FEW_CELLS,
    MOST_FOLDS,
    Plan,
    check_plan,
    checked_budget,
    held_rows,
    rows_within,
)
from .race import FEWEST_FAMILIES, Clock, Race
from .scores import Answers, Questions, paired
from .search import Point, Tried, options_told

WORTH_PROCESSES = 30.0  # seconds of a budget from which on fits have processes of their own
FEWEST_CELLS = 100  # known ones, of columns that vary
# Paired standard errors from the best within which families have more draws, if time is short, and shorter; draws may take
# this much more than the budget, because verdicts hang on them.
CONTENDING, OVER = (4.0, 2.0), 1.2
# Part of the budget that a fit may take to be compared in any case.
LITTLE = 0.02


def compare(
    X: Any,
    models: Any = "all",
    *,
    cells: float = 0.1,
    rows: float = 0.1,
    folds: int | None = None,
    n_components: Any = None,
    budget: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    binarize: float | None = None,
    progress: Callable[[float, float, str], None] | None = None,
    checkpoint: Any = None,
    client: Any = None,
    plan: Plan | None = None,
) -> Comparison:
    """Which kind of hidden structure predicts the cells of a table best.

    The same cells are hidden from every family, and the same rows held out.  Each family searches its size and its
    regulariser on cells that are hidden for this choice and never scored: sizes double as long as the loss falls, and no list
    ends them.  Families race: those too far behind to catch up stop.  Then each is fitted again, with other seeds and other
    cells hidden, several times, and scored on these cells and on the rows.  Differences come with standard errors that allow
    for cells of one row being alike and for fits that differ.

    Parameters
    ----------
    X : table
        The data.
    models : "all" or list
        Names of families ("mixture", "variational", "bayesian", "dp", "aspect", "noisy-or", "logistic", "trait", "gtm",
        "boltzmann", "trees", "hidden-tree"), estimators, models of scikit-learn as
        :class:`~latentbits.evaluation.Adapted`, or (name, model) pairs.  Independent columns and the Chow-Liu tree always
        stand beside, and, as time allows, models that claim no hidden structure: logistic regression and gradient boosting
        of every column.
    cells : float
        Share of cells to hide for the comparison, and again for the search (at most 400,000 each).
    rows : float
        Share of rows to hold out (at most 2,000; none if that would be fewer than ten).
    folds : int, optional
        Independent draws of hidden cells; by default three, of small tables five, fewer if the time is over.
    n_components : iterable of int or dict, optional
        Sizes to choose from, for all families or by name; by default the search is open-ended.
    budget : float, optional
        About how many seconds it may take here; by default a minute for small tables to ten minutes for large ones, and
        compiling kernels at their first use on a machine.  On the same rows the search of every family begins with what it
        does within a smaller budget.
    random_state : int
        Which cells and rows, and the seeds of the fits.
    n_jobs : int, optional
        Fits at a time, in processes of their own; of a small comparison the threads of every fit.
    binarize : float, optional
        Cells above it are 1, others 0.
    progress : function, optional
        Called with (done, total, note) in nominal seconds.
    checkpoint : path, optional
        Folder for finished parts; a later call with the same table and options goes on from there.
    client : distributed.Client, optional
        Whose workers do the fits, as many at a time as they have threads; by default the active client, if there is one.
    plan : Plan, optional
        Of an earlier comparison of the same table and models (``found.plan``): do exactly what it did, however long that
        takes.  Without it the clock decides how far every search comes, so that a busier machine may try less.

    Returns
    -------
    Comparison
        With ``table``, ``best_``, ``verdict``, ``plot()``, ``plot_sizes()`` and ``stack()``.

    Examples
    --------
    >>> import latentbits
    >>> from latentbits.datasets import make_mixture
    >>> X = make_mixture(n_rows=300, n_columns=10, n_components=3, spread=3.0, random_state=0).data
    >>> found = latentbits.compare(X, ["mixture", "trait"], n_components=[1, 2, 3, 4], folds=1)
    >>> found.best_
    'mixture'
    """
    if not 0 < cells <= 0.5:
        raise InputError(f"compare: cells must be a share above 0 and up to 0.5; got {cells!r}.")
    if not 0 <= rows <= 0.5:
        raise InputError(f"compare: rows must be a share from 0 to 0.5; got {rows!r}.")
    complaint = None if folds is None else Whole(1, most=MOST_FOLDS)(folds)
    if complaint is not None:
        raise InputError(f"compare: folds {complaint}")
    complaint = Whole(0)(random_state)
    if complaint is not None:
        raise InputError(f"compare: random_state {complaint}")
    candidates = candidates_for(models, n_components)
    source = open_source(X, owner="compare", binarize=binarize)
    check_sizes(candidates, source)
    budget = checked_budget(budget, source.shape[0] * source.shape[1])
    if (complaint := too_small(source)) is not None:
        raise InputError(f"compare: {complaint}")
    sums, _ = table_sums(sweep_of(source, 1))
    n_rows, n_columns = source.shape
    table = TableSize(n_rows, n_columns, sums.n_ones + sums.n_unknown)
    n_held = held_rows(n_rows, rows)
    n_fitted = rows_within(table, n_held, candidates, budget, cells) if plan is None else plan.n_rows
    if plan is not None:
        candidates = check_plan(plan, candidates, n_rows, n_held)
    cells = min(cells, MOST_CELLS / (n_fitted * n_columns))
    n_draws = folds or (DRAWS if n_fitted * n_columns >= FEW_CELLS else DRAWS_IF_FEW)
    who = [
        (
            one.name,
            repr(one.make(one.named[0] if one.named else one.first)),
            str([one.named, one.tuned, one.averaged, one.trial, one.full]),
        )
        for one in candidates
    ]
    options = {"models": who, "rows": n_fitted, "cells": cells, "seed": int(random_state)}
    told = json.dumps([__version__, options, digest_of_table(source)], sort_keys=True)
    job = _Job(
        source,
        table,
        Plan(
            n_draws if plan is None else plan.n_folds, n_fitted, n_held, budget=budget if plan is None else plan.budget
        ),
        np.flatnonzero(varying(source)),
        cells,
        int(random_state),
        n_jobs,
        active_client() if client is None else client,
        Store(checkpoint, hashlib.sha256(told.encode()).hexdigest()),
        progress or _silent,
        Clock(budget),
        folds is not None,
        plan,
    )
    with quiet(LatentBitsWarning):
        return job.run(candidates)


def _silent(done: float, total: float, note: str) -> None:
    """No progress is shown."""


def too_small(source: Source) -> str | None:
    """Why a table cannot be compared on, if so."""
    n_rows, n_columns = source.shape
    if n_rows < 20 or n_columns < 2 or n_rows * n_columns < 100:
        return (
            f"the table has {n_rows} rows and {n_columns} columns; hiding cells needs at least 20 rows, 2 columns "
            "and 100 cells. Fit a small model to it instead."
        )
    known, n_varying = _known_of_varying(source), int(varying(source).sum())
    if n_varying < 2:
        return (
            f"{n_varying} of the {n_columns} columns vary (the others have one value, or none, throughout); there "
            "is nothing to compare. Is the coding right (--one, --zero, --binarize)?"
        )
    if known < FEWEST_CELLS:
        return f"only {known:,.0f} cells of columns that vary are known; hiding a tenth of them leaves nothing to compare on."
    return None


def _known_of_varying(source: Source) -> float:
    """Known cells of columns that vary."""
    sums, _ = table_sums(sweep_of(source, 1))
    return float(sums.observed[varying(source)].sum())


def varying(source: Source) -> Any:
    """Which columns have ones and zeros (D,)."""
    sums, _ = table_sums(sweep_of(source, 1))
    return (sums.ones > 0) & (sums.ones < sums.observed)


class _Fold(NamedTuple):
    """One draw of what is hidden."""

    order: Any  # rows in the order in which they are taken for training
    held: Any  # rows held out, ascending


class _Asked(NamedTuple):
    """A fitted model's answers about one fold."""

    probabilities: Any
    row_scores: Any
    row_kind: str
    about: Fitted


@dataclass(frozen=True, eq=False)
class _Task:
    """A fit that depends on no other that is being done."""

    key: str  # under which its outcome is kept
    one: Candidate
    point: Point
    options: Mapping[str, Any]
    function: Callable[..., Any]  # what is done with the fitted model
    what: str  # in words
    seed: int


@dataclass
class _Job:
    """A comparison in progress."""

    source: Source
    table: TableSize
    plan: Plan  # as far as it is known
    varying: Any  # columns whose cells are hidden; others are no question
    cells: float
    seed: int
    n_jobs: int | None
    client: Any
    store: Store
    tell: Callable[[float, float, str], None]
    clock: Clock
    all_draws: bool  # the user named their number
    repeat: Plan | None
    told_total: float = 0.0
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of the fits of the comparison, by name
    known: list[tuple[_Task, Any]] = field(default_factory=list)  # that an interrupted run has done already
    short: set[str] = field(default_factory=set)  # who is compared by fits as short as those of the search

    @property
    def side_jobs(self) -> int:
        """Fits at a time in processes of their own, where there is enough to do for these to pay."""
        return effective_n_jobs(self.n_jobs) if self.clock.budget >= WORTH_PROCESSES else 1

    @property
    def fit_jobs(self) -> int | None:
        """Threads of every fit."""
        return self.n_jobs if self.client is None and self.side_jobs == 1 else 1

    def run(self, candidates: list[Candidate]) -> Comparison:
        """The search, all draws, then the result."""
        race = self.raced(candidates)
        fitted = self.affordable(race, [one for one in candidates if one.name not in race.left_out])
        runners = {one.name: race.runners[one.name] for one in fitted}
        chosen = {name: runner.first if runner.best is None else runner.best.point for name, runner in runners.items()}
        for one in fitted:
            if one.name in self.short:
                point = chosen[one.name]
                chosen[one.name] = point.with_options(**{**one.trial, **dict(point.options)})
        ended = {name: runner.ended for name, runner in race.runners.items()}
        questions: list[Questions] = []
        answers: dict[str, list[_Asked]] = {one.name: [] for one in candidates}
        for fold in range(self.plan.n_folds):
            who = self.drawing(fitted, fold, questions, answers, ended)
            if not who:
                break
            drawn = self.drawn(fold)
            rows = np.sort(drawn.order[: self.plan.n_rows])
            hidden = HiddenRows(
                self.source, rows, self.cells, self.seed, fold, left_out=(CHOICE,), columns=self.varying
            )
            held = RowsSource(self.source, drawn.held) if len(drawn.held) else None
            questions.append(hidden_questions(hidden))
            for name, asked in self.asked(who, chosen, fold, hidden, held).items():
                answers[name].append(asked)
        self.tell(self.told_total, self.told_total, "families compared")
        self.plan = replace(
            self.plan,
            n_folds=len(questions),
            steps={name: len(runner.fits) for name, runner in race.runners.items()},
            draws={name: len(parts) for name, parts in answers.items()},
            ended=ended,
            left_out=race.left_out,
            short=tuple(sorted(self.short)),
        )
        return self.result(candidates, race, questions, answers)

    def drawn(self, fold: int) -> _Fold:
        """Rows held out, of which no draw sees anything, and the order in which the others are taken."""
        first = stream(self.seed, "rows", 0).permutation(self.table.n_rows)
        held, others = np.sort(first[: self.plan.n_held]), first[self.plan.n_held :]
        return _Fold(others if fold == 0 else stream(self.seed, "rows", fold).permutation(others), held)

    def hand(self) -> InHand:
        """Who does the fits: workers of a client, processes where there is enough to do for these to pay, or nobody else."""
        return InHand(self.side_jobs, self.client)

    def begin(self, hand: InHand, shared: Any, task: _Task) -> None:
        """Begin a fit, unless its outcome was kept by an interrupted run."""
        kept = self.store.get(task.key)
        if kept is None:
            self.note(task)
            call = (task.one, task.point, task.options, task.seed, self.fit_jobs)
            hand.start(task, task.function, shared, call)
        else:
            self.clock.before += kept[0]["seconds"] / hand.width
            self.known.append((task, kept))

    def end(self, hand: InHand) -> tuple[_Task, Any]:
        """The outcome of one of the fits that have begun."""
        if self.known:
            return self.known.pop(0)
        task, kept = hand.finish()
        self.store.put(task.key, *kept)
        self.clock.before -= kept[0]["compiling"] / hand.width  # which is done once, and not again
        return task, kept

    # 1. settings

    def raced(self, candidates: list[Candidate]) -> Race:
        """The search of all families."""
        rows = np.sort(self.drawn(0).order[: self.plan.n_rows])
        hidden = HiddenRows(self.source, rows, self.cells, self.seed, CHOICE, columns=self.varying)
        part = self.table.part(self.plan.n_rows, self.cells)
        groups = hidden_questions(hidden).rows
        with self.hand() as hand:

            def start(one: Candidate, point: Point) -> None:
                self.told_total = race.clock.elapsed() + race.remaining() + race.reserved()
                self.begin(hand, hidden, self.search_task(one, point))

            def finish() -> tuple[str, Tried]:
                task, kept = self.end(hand)
                return task.one.name, tried_of(task.point, *kept)

            race = Race(candidates, start, finish, part, groups, self.clock, self.plan.n_folds, hand.width, self.repeat)
            race.run()
        return race

    def search_task(self, one: Candidate, point: Point) -> _Task:
        """A fit of the search."""
        options = {**one.trial, **dict(point.options)}
        return _Task(f"search {one.name} {point}", one, point, options, search_loss, "searching", self.seed)

    # 2. comparison

    def drawing(
        self, fitted: list[Candidate], fold: int, questions: list[Questions], answers: Any, ended: Mapping[str, str]
    ) -> list[Candidate]:
        """Who is fitted in a draw: all in the first, in others those in front, as far as there is time."""
        if self.repeat is not None:
            return [one for one in fitted if fold < self.repeat.draws.get(one.name, 0)]
        if fold == 0:
            return fitted
        failed = {name for name, parts in answers.items() if any(part.probabilities is None for part in parts)}
        sound = [one for one in fitted if answers[one.name] and one.name not in failed]
        front = [one for one in sound if ended[one.name] != BEHIND and len(answers[one.name]) == fold]
        if self.all_draws:
            return front
        losses = {one.name: log_losses(questions[0].values, answers[one.name][0].probabilities) for one in front}
        families = [one.name for one in front if one.is_family]
        if not families:
            return []
        best = min(families, key=lambda name: float(losses[name].mean()))
        apart = {name: paired(losses[name], losses[best], questions[0].rows).z for name in losses}
        # Nothing hangs on how much worse a rival is.
        front = [one for one in front if not one.is_rival or apart[one.name] <= CONTENDING[0]]
        if self.fits_in(front):
            return front
        for most in CONTENDING:
            contending = [one for one in front if one.is_baseline or apart[one.name] <= most]
            if self.fits_in(contending):
                return contending
        return []

    def affordable(self, race: Race, searched: list[Candidate]) -> list[Candidate]:
        """Who is compared: all, unless that would take much longer than the budget; then those that the search found best.

        Families that are far behind, or for whose full fits there is no time, have fits as short as those of the search.
        """
        if self.repeat is not None:
            race.left_out.update(self.repeat.left_out)
            self.short.update(self.repeat.short)
            return [one for one in searched if one.name not in self.repeat.left_out]
        order = sorted(searched, key=lambda one: (not (one.asked or one.is_baseline), race.best_loss(one.name)))
        width, little = self.hand().width, LITTLE * self.clock.budget
        end, kept, n_families = self.clock.elapsed(), set(), 0
        for one in order:
            runner = race.runners[one.name]
            full, short = race.seconds_in_full(runner) / width, race.seconds_in_short(runner) / width
            needed = one.asked or one.is_baseline or (one.is_family and n_families < FEWEST_FAMILIES)
            ways = [short] if race.is_far(one.name) and full > little else [full, short]
            # What costs little is told of, too.
            wanted = next((s for s in ways if needed or s <= little or end + s <= OVER * self.clock.budget), None)
            if wanted is None:
                race.left_out[one.name] = full
                continue
            end += wanted
            kept.add(one.name)
            n_families += one.is_family
            if wanted < full:
                self.short.add(one.name)
        return [one for one in searched if one.name in kept]

    def fits_in(self, models: list[Candidate]) -> bool:
        """Whether there is time for one more fit of each."""
        wanted = sum(float(np.mean(self.seconds[one.name])) for one in models) / self.hand().width
        return self.clock.elapsed() + wanted <= OVER * self.clock.budget

    def asked(
        self, candidates: list[Candidate], chosen: dict[str, Point], fold: int, hidden: HiddenRows, held: Any
    ) -> dict[str, _Asked]:
        """Fit all, and ask about hidden cells and held-out rows."""
        of = f" (draw {fold + 1} of {self.plan.n_folds})" if self.plan.n_folds > 1 else ""
        # Every draw has starts of its own, so that the differences between draws tell of fits, too.
        seed = self.seed if fold == 0 else int(stream(self.seed, "seeds", fold).integers(2**31))
        tasks = []
        for one in candidates:
            point = chosen[one.name]
            key, options = f"compare {fold} {one.name} {point}", {**one.full, **dict(point.options)}
            tasks.append(_Task(key, one, point, options, answers_of, f"predicting{of}", seed))
        shared = (hidden, held)
        ended: dict[_Task, Any] = {}
        waiting = list(tasks)
        with self.hand() as hand:
            while len(ended) < len(tasks):
                while waiting and len(hand.waiting) < hand.width:
                    self.begin(hand, shared, waiting.pop(0))
                task, kept = self.end(hand)
                ended[task] = kept
        out = {}
        for task in tasks:
            content, arrays = ended[task]
            self.seconds.setdefault(task.one.name, []).append(content["seconds"])
            about = Fitted(task.point, content["seconds"], content["n_iter"], content["settled"], content["note"])
            out[task.one.name] = _Asked(
                arrays.get("probabilities"), arrays.get("row_scores"), content["row_kind"], about
            )
        return out

    def note(self, task: _Task) -> None:
        """Say what is begun."""
        sized = "" if task.point.size is None else f" {size_text(task.point.size)}"
        options = options_told(dict(task.point.options)) if task.function is search_loss else ""
        told = f"{task.one.title}{sized}{', ' + options if options else ''}: {task.what}"
        done = self.clock.elapsed()
        self.told_total = max(self.told_total, done)
        self.tell(done, self.told_total, told)

    def result(
        self, candidates: list[Candidate], race: Race, questions: list[Questions], answers: dict[str, list[_Asked]]
    ) -> Comparison:
        """Put the draws together; a model that failed in one of them is left out."""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*(one[:3] for one in questions)))
        counts = [len(one.values) for one in questions]
        asked = Questions(rows, columns, values, np.repeat(np.arange(len(questions)), counts))
        said: dict[str, Answers] = {}
        for name, parts in answers.items():
            if not parts or any(part.probabilities is None for part in parts):
                continue
            every = [part.row_scores for part in parts]
            scores = None if any(score is None for score in every) else np.concatenate(every)
            not_asked = np.full(sum(counts[len(parts) :]), np.nan)
            on = np.concatenate([*(part.probabilities for part in parts), not_asked])
            said[name] = Answers(on, scores, parts[0].row_kind)
        held = np.tile(self.drawn(0).held, len(questions))
        about = {name: [part.about for part in parts] for name, parts in answers.items()}
        for name, seconds in race.left_out.items():
            note = f"left out: a fit of about {seconds:.0f} s would not fit the budget; raise it, or name the model"
            about[name] = [Fitted(Point(None), 0.0, 0, True, note)]
        searches = [
            fit.row(name, step, runner.best, race.rows)
            for name, runner in race.runners.items()
            for step, fit in enumerate(runner.fits, 1)
        ]
        is_whole = self.plan.n_rows + self.plan.n_held == self.table.n_rows
        return Comparison.of(candidates, asked, said, held, about, searches, self.plan, is_whole)
