"""The comparison itself: draw what is hidden, choose sizes by successive halving, fit, ask all the same questions."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
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
from ..engine.together import Together, active_client
from ..errors import FitError, InputError, LatentBitsError, LatentBitsWarning
from ..families import TableSize
from .candidates import Candidate, candidates_for, check_sizes, size_text
from .comparison import Comparison, Fitted
from .hidden_cells import log_losses, predict_hidden
from .part_store import Store, digest_of_table
from .plan import MOST_FOLDS, Plan, default_budget, n_left, planned
from .scores import Answers, Questions

CHOICE = 1000  # number of the draw of cells by which sizes are chosen
WORTH_PROCESSES = 30.0  # nominal seconds from which on fits have processes of their own
MOST_CELLS = 1_000_000  # hidden cells per fold: more would not change a verdict


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
) -> Comparison:
    """Which kind of hidden structure predicts the cells of a table best.

    The same cells are hidden from every family, and the same rows held out.  Each family chooses its size once, on cells that
    are hidden for this choice and never scored; then it is fitted again, and scored on other cells and on the rows.
    Sizes are chosen by successive halving: all are fitted briefly to some rows, the better half again to more.  Differences
    come with standard errors that allow for cells of one row being alike.

    Parameters
    ----------
    X : table
        The data.
    models : "all" or list
        Names of families ("mixture", "variational", "bayesian", "dp", "aspect", "noisy-or", "logistic", "trait", "gtm",
        "boltzmann", "trees", "hidden-tree"), estimators, models of scikit-learn as
        :class:`~latentbits.evaluation.Adapted`, or (name, model) pairs.  Independent columns and the Chow-Liu tree always
        stand beside.
    cells : float
        Share of cells to hide for the comparison, and again for the choice of sizes (at most a million each).
    rows : float
        Share of rows to hold out (at most 2,000; none if that would be fewer than ten).
    folds : int, optional
        Independent draws of hidden cells and rows; by default as many as the budget allows, up to 8.
    n_components : iterable of int or dict, optional
        Sizes to choose from, for all families or by name.
    budget : float, optional
        About how many seconds it may take on an ordinary core; by default 45 seconds for small tables to five minutes for
        large ones.  What is done depends on this number and on the table, not on the clock.
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

    Returns
    -------
    Comparison
        With ``table``, ``best_``, ``verdict`` and ``plot()``.

    Examples
    --------
    >>> import latentbits
    >>> from latentbits.datasets import make_mixture
    >>> X = make_mixture(n_rows=300, n_columns=10, n_components=3, spread=3.0, random_state=0).data
    >>> found = latentbits.compare(X, ["mixture", "trait"], n_components=[1, 2, 3, 4], folds=1)
    >>> found.best_
    'mixture'
    """
    for name, share in (("cells", cells), ("rows", rows)):
        if not 0 < share <= 0.5:
            raise InputError(f"compare: {name} must be a share above 0 and up to 0.5; got {share!r}.")
    complaint = None if folds is None else Whole(1, most=MOST_FOLDS)(folds)
    if complaint is not None:
        raise InputError(f"compare: folds {complaint}")
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise InputError(f"compare: random_state must be a whole number, 0 or more; got {random_state!r}.")
    candidates = candidates_for(models, n_components)
    source = open_source(X, owner="compare", binarize=binarize)
    check_sizes(candidates, source)
    sums, _ = table_sums(sweep_of(source, 1))
    varying = (sums.ones > 0) & (sums.ones < sums.observed)
    _check_comparable(source, int(varying.sum()))
    n_rows, n_columns = source.shape
    table = TableSize(n_rows, n_columns, sums.n_ones + sums.n_unknown)
    budget = default_budget(n_rows * n_columns) if budget is None else float(budget)
    plan = planned(table, candidates, budget, folds, rows, cells)
    candidates = [one.thorough() for one in candidates] if plan.thorough else candidates
    cells = min(cells, MOST_CELLS / (plan.n_rows * n_columns))
    models_in_full = [(one.name, repr(one.make(one.sizes[0])), str(one.light), str(one.full)) for one in candidates]
    options = {"models": models_in_full, "plan": repr(plan), "cells": cells, "seed": int(random_state)}
    run = hashlib.sha256(json.dumps([__version__, options, digest_of_table(source)], sort_keys=True).encode())
    job = _Job(
        source,
        table,
        plan,
        np.flatnonzero(varying),
        cells,
        int(random_state),
        n_jobs,
        active_client() if client is None else client,
        Store(checkpoint, run.hexdigest()),
        progress or _silent,
    )
    with quiet(LatentBitsWarning):
        return job.run(candidates)


def _silent(done: float, total: float, note: str) -> None:
    """No progress is shown."""


def _check_comparable(source: Source, n_varying: int) -> None:
    """Too small a table cannot be compared on."""
    n_rows, n_columns = source.shape
    if n_rows < 20 or n_columns < 2 or n_rows * n_columns < 100:
        raise InputError(
            f"compare: the table has {n_rows} rows and {n_columns} columns; hiding cells needs at least 20 rows, 2 columns "
            "and 100 cells. Fit a small model to it instead."
        )
    if n_varying < 2:
        raise InputError(
            f"compare: {n_varying} of the {n_columns} columns vary (the others have one value, or none, throughout); there "
            "is nothing to compare. Is the coding right (--one, --zero, --binarize)?"
        )


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


class _Task(NamedTuple):
    """A fit that depends on no other."""

    key: str  # under which its outcome is kept
    one: Candidate
    size: Any
    options: Any
    n_rows: int
    function: Callable[..., Any]  # what is done with the fitted model
    what: str  # in words
    seed: int


def size_loss(hidden: HiddenRows, one: Candidate, size: Any, options: Any, seed: int, n_jobs: int | None) -> Any:
    """Mean log-loss of the cells that are hidden for the choice, as it is kept."""
    loss, note = float("inf"), ""
    with quiet(LatentBitsWarning):
        try:
            fitted = one.estimator(size, options, seed, n_jobs).fit(hidden)
            loss = float(log_losses(_questions(hidden).values, predict_hidden(fitted, hidden, n_jobs)).mean())
        except _failures(one) as error:
            note = str(error)
    return {"loss": loss, "note": note}, {}


def answers_of(
    asked: tuple[HiddenRows, RowsSource | None], one: Candidate, size: Any, options: Any, seed: int, n_jobs: int | None
) -> Any:
    """The answers of a new fit about hidden cells and held-out rows, as they are kept."""
    hidden, held = asked
    begin, arrays, kind, note, fitted = time.perf_counter(), {}, "", "", None
    with quiet(LatentBitsWarning):
        try:
            fitted = one.estimator(size, options, seed, n_jobs).fit(hidden)
            filled = predict_hidden(fitted, hidden, n_jobs)
            if not np.isfinite(filled).all():
                raise FitError("it gave probabilities that are no numbers.")
            arrays["probabilities"] = filled
            scores, kind = _row_scores(fitted, held)
            if scores is not None:
                arrays["row_scores"] = scores
        except _failures(one) as error:
            note = str(error)
    content = {
        "seconds": time.perf_counter() - begin,
        "n_iter": int(getattr(fitted, "n_iter_", 0)),
        "settled": bool(getattr(fitted, "converged_", True)),
        "row_kind": kind,
        "note": note,
    }
    return content, arrays


@dataclass
class _Job:
    """A comparison in progress."""

    source: Source
    table: TableSize
    plan: Plan
    varying: Any  # columns whose cells are hidden; others are no question
    cells: float
    seed: int
    n_jobs: int | None
    client: Any
    store: Store
    tell: Callable[[float, float, str], None]
    done: float = 0.0
    choices: list[dict[str, Any]] = field(default_factory=list)

    @property
    def side_jobs(self) -> int:
        """Fits at a time in processes of their own, where there is enough to do for these to pay."""
        return effective_n_jobs(self.n_jobs) if self.plan.seconds >= WORTH_PROCESSES else 1

    @property
    def fit_jobs(self) -> int | None:
        """Threads of every fit."""
        return self.n_jobs if self.client is None and self.side_jobs == 1 else 1

    def run(self, candidates: list[Candidate]) -> Comparison:
        """All folds, then the result."""
        questions: list[Questions] = []
        everyone = candidates
        answers: dict[str, list[_Asked]] = {one.name: [] for one in everyone}
        for name, seconds in self.plan.left_out.items():
            note = f"left out: about {seconds:.0f} s would not fit the budget; raise it, or name the model"
            answers[name] = [_Asked(None, None, "", Fitted(None, 0.0, 0, True, note))] * self.plan.n_folds
        candidates = [one for one in everyone if one.name not in self.plan.left_out]
        self.successive_halving(candidates)
        chosen = {one.name: self.chosen_size(one) for one in candidates}
        for fold in range(self.plan.n_folds):
            drawn = self.drawn(fold)
            rows = np.sort(drawn.order[: self.plan.n_rows])
            hidden = HiddenRows(
                self.source, rows, self.cells, self.seed, fold, left_out=(CHOICE,), columns=self.varying
            )
            held = RowsSource(self.source, drawn.held) if len(drawn.held) else None
            questions.append(_questions(hidden))
            for name, asked in self.asked(candidates, chosen, fold, hidden, held).items():
                answers[name].append(asked)
        self.tell(self.plan.seconds, self.plan.seconds, "families compared")
        return self.result(everyone, questions, answers)

    def drawn(self, fold: int) -> _Fold:
        """Rows held out, of which no draw sees anything, and the order in which the others are taken."""
        first = stream(self.seed, "rows", 0).permutation(self.table.n_rows)
        held, others = np.sort(first[: self.plan.n_held]), first[self.plan.n_held :]
        return _Fold(others if fold == 0 else stream(self.seed, "rows", fold).permutation(others), held)

    def gathered(self, shared: Any, tasks: list[_Task]) -> list[Any]:
        """What was kept of tasks, or is done now, side by side if there is somebody to do it; in the order of the tasks."""
        found = {i: kept for i, task in enumerate(tasks) if (kept := self.store.get(task.key)) is not None}
        left = [i for i in range(len(tasks)) if i not in found]
        for i in found:
            self.spent(tasks[i])
        calls = [(tasks[i].one, tasks[i].size, tasks[i].options, tasks[i].seed, self.fit_jobs) for i in left]
        together = Together(shared, self.side_jobs, self.client, "processes")
        one_by_one = together.width == 1
        if left and one_by_one:
            self.note(tasks[left[0]])
        for n_done, (place, kept) in enumerate(together.run(tasks[left[0]].function, calls) if left else (), 1):
            i = left[place]
            self.store.put(tasks[i].key, *kept)
            found[i] = kept
            self.spent(tasks[i])
            if not one_by_one:
                self.note(tasks[i])
            elif n_done < len(left):
                self.note(tasks[left[n_done]])
        return [found[i] for i in range(len(tasks))]

    # 1. sizes

    def successive_halving(self, candidates: list[Candidate]) -> None:
        """Fit all sizes briefly, stage after stage, and remember their losses; what the first draw asks is hidden too."""
        drawn = self.drawn(0)
        left = {one.name: list(self.plan.sizes[one.name]) for one in candidates}
        for stage, n_rows in enumerate(self.plan.rungs):
            if all(len(sizes) == 1 for sizes in left.values()):
                break
            rows = np.sort(drawn.order[:n_rows])
            hidden = HiddenRows(self.source, rows, self.cells, self.seed, CHOICE, hidden=(0,), columns=self.varying)
            tasks = [
                _Task(
                    f"halving {stage} {one.name} {size}",
                    one,
                    size,
                    one.light,
                    len(rows),
                    size_loss,
                    "choosing its size",
                    self.seed,
                )
                for one in candidates
                for size in left[one.name]
                if len(left[one.name]) > 1
            ]
            for task, (content, _) in zip(tasks, self.gathered(hidden, tasks)):
                told = {"model": task.one.name, "stage": stage, "size": task.size, "n_rows": len(rows)}
                self.choices.append({**told, "log_loss": content["loss"], "note": content["note"]})
            for one in candidates:
                sizes = left[one.name]
                losses = [c["log_loss"] for c in self.choices if (c["model"], c["stage"]) == (one.name, stage)]
                if losses:
                    order = np.argsort(losses, kind="stable")
                    left[one.name] = [sizes[i] for i in sorted(order[: n_left(len(sizes))])]

    def chosen_size(self, one: Candidate) -> Any:
        """The best size of the last stage that this family was in."""
        mine = [c for c in self.choices if c["model"] == one.name]
        if not mine:
            return self.plan.sizes[one.name][0]
        last = max(c["stage"] for c in mine)
        return min((c for c in mine if c["stage"] == last), key=lambda c: c["log_loss"])["size"]

    # 2. comparison

    def asked(
        self, candidates: list[Candidate], chosen: dict[str, Any], fold: int, hidden: HiddenRows, held: Any
    ) -> dict[str, _Asked]:
        """Fit all, and ask about hidden cells and held-out rows."""
        of = f" (draw {fold + 1} of {self.plan.n_folds})" if self.plan.n_folds > 1 else ""
        # Every draw has starts of its own, so that the differences between draws tell of fits, too.
        seed = self.seed if fold == 0 else int(stream(self.seed, "seeds", fold).integers(2**31))
        tasks = []
        for one in candidates:
            size = chosen[one.name]
            key, n_rows = f"compare {fold} {one.name} {size}", hidden.shape[0]
            tasks.append(_Task(key, one, size, one.full, n_rows, answers_of, f"predicting{of}", seed))
        out = {}
        for task, (content, arrays) in zip(tasks, self.gathered((hidden, held), tasks)):
            about = Fitted(task.size, content["seconds"], content["n_iter"], content["settled"], content["note"])
            out[task.one.name] = _Asked(
                arrays.get("probabilities"), arrays.get("row_scores"), content["row_kind"], about
            )
        return out

    def note(self, task: _Task) -> None:
        """Say what is being done, or, of several at a time, what was done last."""
        sized = "" if task.size is None else f" {size_text(task.size)}"
        self.tell(min(self.done, self.plan.seconds), self.plan.seconds, f"{task.one.title}{sized}: {task.what}")

    def spent(self, task: _Task) -> None:
        """Count what was done."""
        self.done += task.one.seconds(task.size, task.options, self.table.part(task.n_rows, self.cells))

    def result(
        self, candidates: list[Candidate], questions: list[Questions], answers: dict[str, list[_Asked]]
    ) -> Comparison:
        """Put the folds together; a model that failed in one of them is left out."""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*(one[:3] for one in questions)))
        draws = np.repeat(np.arange(len(questions)), [len(one.values) for one in questions])
        asked = Questions(rows, columns, values, draws)
        said: dict[str, Answers] = {}
        for name, parts in answers.items():
            if any(part.probabilities is None for part in parts):
                continue
            every = [part.row_scores for part in parts]
            scores = None if any(score is None for score in every) else np.concatenate(every)
            said[name] = Answers(np.concatenate([part.probabilities for part in parts]), scores, parts[0].row_kind)
        held = np.concatenate([self.drawn(fold).held for fold in range(self.plan.n_folds)])
        about = {name: [part.about for part in parts] for name, parts in answers.items()}
        return Comparison.of(candidates, asked, said, held, about, self.choices, self.plan)


def _failures(one: Candidate) -> tuple[type[Exception], ...]:
    """Errors that leave one model out, and are told of: ours in our families, any in models that were brought along."""
    ours = (LatentBitsError, ArithmeticError, np.linalg.LinAlgError, MemoryError)
    return (Exception,) if one.structure == "other" else ours


def _questions(hidden: HiddenRows) -> Questions:
    """The hidden cells of a table, with the rows they have in the whole table."""
    parts = []
    for b in range(hidden.n_blocks):
        asked = hidden.hidden(b)
        parts.append((hidden.rows[asked.rows + hidden.starts[b]], asked.columns, asked.values))
    joined = Questions(*(np.concatenate(part) for part in zip(*parts)))
    if not len(joined.values):
        raise InputError("compare: no known cell was hidden; the table is too small or too empty to compare on.")
    return joined


def _row_scores(fitted: Any, held: RowsSource | None) -> tuple[Any, str]:
    """Log-likelihood of held-out rows, and its kind; a bound gives way to an estimate where the family has one."""
    if held is None or not hasattr(fitted, "score_samples"):
        return None, ""
    kind = getattr(fitted, "score_kind_", "exact")
    if kind == "lower bound" and hasattr(fitted, "importance_scores"):
        return fitted.importance_scores(held).value, "estimate"
    return fitted.score_samples(held), kind
