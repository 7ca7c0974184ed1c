"""One fit of a comparison: to a table with hidden cells, and what it says about these, as plain arrays that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import quiet
from ..data.holdout import HiddenRows, RowsSource
from ..engine.compiling import Stopwatch
from ..errors import FitError, InputError, LatentBitsError, LatentBitsWarning
from .candidates import Candidate
from .hidden_cells import log_losses, predict_hidden
from .scores import Questions
from .search import Point, Tried

CHOICE = 1000  # number of the draw of cells by which settings are chosen
MOST_CELLS = 400_000  # hidden cells per draw: more would not change a verdict


def search_loss(
    hidden: HiddenRows, one: Candidate, point: Point, options: Any, seed: int, n_jobs: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Log-losses of the cells that are hidden for the search, as they are kept."""
    note, arrays, fitted = "", {}, None
    with quiet(LatentBitsWarning), Stopwatch() as watch:
        try:
            fitted = one.estimator(point.size, options, seed, n_jobs).fit(hidden)
            losses = log_losses(hidden_questions(hidden).values, predict_hidden(fitted, hidden, n_jobs))
            if np.isfinite(losses).all():
                arrays["losses"] = losses.astype(np.float32)
            else:
                note = "it gave probabilities that are no numbers."
        except _failures(one) as error:
            note = str(error)
    settled = bool(getattr(fitted, "converged_", False))
    return {"seconds": watch.seconds, "compiling": watch.compiling, "note": note, "settled": settled}, arrays


def answers_of(
    asked: tuple[HiddenRows, RowsSource | None], one: Candidate, point: Point, options: Any, seed: int, n_jobs: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The answers of a new fit about hidden cells and held-out rows, as they are kept."""
    hidden, held = asked
    arrays, kind, note, fitted = {}, "", "", None
    with quiet(LatentBitsWarning), Stopwatch() as watch:
        try:
            fitted = one.estimator(point.size, options, seed, n_jobs).fit(hidden)
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
        "seconds": watch.seconds,
        "compiling": watch.compiling,
        "n_iter": int(getattr(fitted, "n_iter_", 0)),
        "settled": bool(getattr(fitted, "converged_", True)),
        "row_kind": kind,
        "note": note,
    }
    return content, arrays


def tried_of(point: Point, content: dict[str, Any], arrays: dict[str, Any]) -> Tried:
    """A fit of the search from what is kept of it."""
    losses = arrays.get("losses")
    loss = float("inf") if losses is None else float(np.mean(losses, dtype=np.float64))
    return Tried(point, loss, losses, float(content["seconds"]), str(content["note"]), bool(content["settled"]))


def _failures(one: Candidate) -> tuple[type[Exception], ...]:
    """Errors that leave one model out, and are told of: ours in our families, any in models that were brought along."""
    ours = (LatentBitsError, ArithmeticError, np.linalg.LinAlgError, MemoryError)
    return (Exception,) if one.structure in ("other", "outside") else ours


def hidden_questions(hidden: HiddenRows) -> Questions:
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
