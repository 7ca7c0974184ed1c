"""What a comparison found: a table, a verdict in words, and everything the report shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import frame_of
from ..errors import FitError
from ..families import BY_NAME, SEVERAL_CAUSES, STORIES
from .candidates import Candidate, measure, size_text
from .hidden_cells import log_losses
from .plan import Plan
from .scores import (
    ENOUGH_DRAWS,
    Answers,
    Paired,
    Questions,
    auc,
    calibration_curve,
    calibration_error,
    paired,
    wide_calibration_error,
)

# In paired standard errors.  The best of ten families is the luckiest of ten, so that finding anything at all takes more.
APART = 2.0
CLEARLY = 4.0
SOMETHING = 2.5
BASELINES = ("independent", "tree")


class Fitted(NamedTuple):
    """How one fit of the comparison went."""

    size: Any
    seconds: float
    n_iter: int
    settled: bool
    note: str


@dataclass(frozen=True)
class Comparison:
    """The outcome of :func:`latentbits.compare`.

    Attributes
    ----------
    table : list of dict
        One row per model, best first: ``log_loss`` of hidden cells with ``above_best`` and its paired standard error ``se``;
        ``auc``, ``brier``, ``calibration_error``; ``row_log_likelihood`` of held-out rows, its kind, and ``row_below_best``
        with ``row_se`` (exact and estimated ones are ranked apart, bounds not at all); ``size`` and ``at_edge``, whether that
        is the largest that was tried; ``note``.
    best_ : str
        The family with the smallest log-loss.
    chosen_ : str
        The family that is easiest to read among those within one standard error of the best.
    multi_cause_ : str or None
        The best family in which a row has several causes.
    finding_ : {"nothing", "pairs", "structure"}
        Whether hidden structure predicts better than independent columns and the Chow-Liu tree.
    headline, verdict : str
        The same in a sentence, and with all that belongs to it.
    choices : list of dict
        Losses by which sizes were chosen.
    curves : dict
        Calibration curve of every model.
    plan : Plan
        What was done.
    candidates : list of Candidate
    """

    table: list[dict[str, Any]]
    best_: str
    chosen_: str
    multi_cause_: str | None
    finding_: str
    headline: str
    verdict: str
    choices: list[dict[str, Any]]
    curves: dict[str, list[dict[str, float]]]
    plan: Plan
    candidates: list[Candidate]
    seconds: dict[str, float]

    @staticmethod
    def of(
        candidates: list[Candidate],
        asked: Questions,
        said: dict[str, Answers],
        held: Any,
        about: dict[str, list[Fitted]],
        choices: list[dict[str, Any]],
        plan: Plan,
    ) -> Comparison:
        """Score the answers of all models."""
        losses = {name: log_losses(asked.values, answers.probabilities) for name, answers in said.items()}
        families = [one.name for one in candidates if not one.is_baseline and one.name in said]
        if not families or not {"independent", "tree"} <= set(said):
            why = "; ".join(f"{name}: {fits[0].note}" for name, fits in about.items() if name not in said)
            raise FitError(f"compare: no family could be fitted ({why}).")
        best = min(families, key=lambda name: float(losses[name].mean()))
        rows_best = _best_rows(said)
        table = []
        for one in candidates:
            row: dict[str, Any] = {"model": one.name, "title": one.title, "structure": one.structure}
            row.update(_size_of(about[one.name]))
            if one.structure == "paired classes" and row["size"] == 1:
                row["structure"] = "pairs"  # one class is one tree
            row["size_text"] = size_text(row["size"], one.limit)
            row["at_edge"] = not one.limit and _at_edge(row["size"], plan.sizes.get(one.name, ()))
            if one.name in said:
                row.update(_cell_scores(one.name, best, asked, said, losses))
                row.update(_row_scores(one.name, rows_best, said, held, plan.n_folds))
            table.append(row)
        table.sort(key=lambda row: row.get("log_loss", np.inf))
        against = {name: paired(losses[name], losses[best], asked.rows, asked.draws) for name in said}
        finding = _finding(best, against)
        several = next(
            (row["model"] for row in table if row["structure"] in SEVERAL_CAUSES and "log_loss" in row), None
        )
        chosen = _easiest(table, best)
        tried = [row for row in table if row["model"] not in plan.left_out]
        headline = _headline(tried, best, finding, against, plan.n_folds)
        verdict = f"{headline} {_verdict(tried, best, chosen, finding, against, asked, plan.n_folds)}"
        if plan.left_out:
            untried = [one.title for one in candidates if one.name in plan.left_out]
            verdict += f" Not tried, to keep to the budget: {', '.join(untried)}."
        return Comparison(
            table,
            best,
            chosen,
            several,
            finding,
            headline,
            verdict,
            choices,
            {name: calibration_curve(asked.values, answers.probabilities) for name, answers in said.items()},
            plan,
            candidates,
            {name: sum(fit.seconds for fit in fits) for name, fits in about.items()},
        )

    def candidate(self, name: str) -> Candidate:
        """A candidate by its name."""
        return next(one for one in self.candidates if one.name == name)

    def row(self, name: str) -> dict[str, Any]:
        """The row of the table that tells of a model."""
        return next(row for row in self.table if row["model"] == name)

    def estimator(self, name: str | None = None, random_state: int = 0, n_jobs: int | None = None) -> Any:
        """The named model (by default the best), unfitted, with the size and the options with which it was compared."""
        name = self.best_ if name is None else name
        one = self.candidate(name)
        return one.estimator(self.row(name)["size"], one.full, random_state, n_jobs)

    def to_frame(self) -> Any:
        """The table as a pandas frame."""
        return frame_of(self.table)

    def plot(self, ax: Any = None) -> Any:
        """Log-loss of every model with its paired standard error; returns the Axes."""
        from importlib import import_module

        return import_module("latentbits.plots").comparison(self, ax=ax)

    def __repr__(self) -> str:
        return self.verdict


def _easiest(table: list[dict[str, Any]], best: str) -> str:
    """The family that comes first in the order of reading among those that may as well be the best."""
    near = [row["model"] for row in table if "log_loss" in row and row["above_best"] <= row["se"]]
    return min((name for name in near if name in BY_NAME), key=lambda name: BY_NAME[name].reading, default=best)


def _size_of(fits: list[Fitted]) -> dict[str, Any]:
    """The size of a model, and what went wrong."""
    notes = [fit.note for fit in fits if fit.note]
    unsettled = sum(not fit.settled for fit in fits)
    if not notes and unsettled:
        notes = [f"not settled in {unsettled} of {len(fits)} fits"]
    return {"size": _hashable(fits[0].size), "note": notes[0] if notes else ""}


def _hashable(size: Any) -> Any:
    """Sizes of maps come back from files as lists."""
    return tuple(size) if isinstance(size, list) else size


def _cell_scores(
    name: str, best: str, asked: Questions, said: dict[str, Answers], losses: dict[str, Any]
) -> dict[str, Any]:
    """Scores of hidden cells."""
    on = said[name].probabilities
    against = paired(losses[name], losses[best], asked.rows, asked.draws)
    return {
        "log_loss": float(losses[name].mean()),
        "above_best": against.difference,
        "se": against.se,
        "auc": auc(asked.values, on),
        "brier": float(((on - asked.values) ** 2).mean()),
        "calibration_error": calibration_error(asked.values, on),
        "wide_calibration_error": wide_calibration_error(asked.values, on),
        "n_cells": len(asked.values),
    }


def _best_rows(said: dict[str, Answers]) -> dict[str, str]:
    """By kind, exact or estimated, the model with the largest log-likelihood of held-out rows; bounds do not compete."""
    out: dict[str, str] = {}
    for name, one in said.items():
        if one.row_scores is None or one.row_kind == "lower bound":
            continue
        before = out.get(one.row_kind)
        if before is None or one.row_scores.mean() > said[before].row_scores.mean():
            out[one.row_kind] = name
    return out


def _row_scores(
    name: str, best_of: dict[str, str], said: dict[str, Answers], held: Any, n_draws: int
) -> dict[str, Any]:
    """Scores of held-out rows, the same in every draw, beside the best of the same kind."""
    scores, kind = said[name].row_scores, said[name].row_kind
    if scores is None:
        return {"row_log_likelihood": None, "row_kind": "none"}
    out = {"row_log_likelihood": float(scores.mean()), "row_kind": kind, "n_held": len(scores)}
    if kind in best_of:
        draws = np.arange(len(scores)) * n_draws // max(1, len(scores))
        against = paired(said[best_of[kind]].row_scores, scores, held, draws)
        out.update(row_below_best=against.difference, row_se=against.se)
    return out


def _finding(best: str, against: dict[str, Paired]) -> str:
    """Whether anything is hidden in the table."""
    if best == "independent" or against["independent"].z < SOMETHING:
        return "nothing"
    return "pairs" if against["tree"].difference <= 0 else "structure"


def _joined(words: list[str]) -> str:
    """Words with commas and an 'and'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _named(row: dict[str, Any]) -> str:
    """A model in words."""
    return f"{row['title']} ({row['size_text']})" if row["size_text"] else str(row["title"])


def _verdict(
    table: list[dict[str, Any]],
    best: str,
    chosen: str,
    finding: str,
    against: dict[str, Paired],
    asked: Questions,
    n_draws: int,
) -> str:
    """The result in sentences."""
    scored = [row for row in table if "log_loss" in row]
    top = next(row for row in scored if row["model"] == best)
    alone = next(row["log_loss"] for row in scored if row["model"] == "independent")
    if finding == "nothing":
        gain = against["independent"]
        return (
            f"The best of them, {_named(top)}, {'gains' if gain.difference > 0 else 'loses'} {abs(gain.difference):.4f} nats "
            f"per cell (standard error {gain.se:.4f}, {len(asked.values):,} hidden cells). What looks like structure here is "
            "chance, or takes more rows to be seen."
        )
    lines = []
    share = 1 - top["log_loss"] / alone
    opening = (
        f"{_named(top)} predicts hidden cells best: log-loss {top['log_loss']:.4f} nats per cell, {share:.0%} below "
        f"independent columns ({alone:.4f})"
    )
    tree, several = against["tree"], n_draws >= ENOUGH_DRAWS
    if finding == "pairs":
        verb = "predicts them better still" if tree.z < -APART else "does as well"
        lines.append(f"{opening}. But a tree of column pairs (Chow-Liu) {verb}: pairs explain what hidden causes do.")
    else:
        how = "clearly" if tree.z > CLEARLY and several else "" if tree.z > APART else "not surely"
        lines.append(f"{opening}, and {how + ' ' if how else ''}better than a tree of column pairs (Chow-Liu).")
    if top["at_edge"]:
        lines.append("That is its largest size that was tried; larger ones may predict better still.")
    rivals = [row for row in scored if row["model"] not in (best, *BASELINES)]
    groups: dict[str, list[str]] = {"near": [], "worse": [], "clearly": [], "edge": []}
    for row in rivals:
        z = against[row["model"]].z
        far = "edge" if row["at_edge"] else "clearly" if z > CLEARLY and several else "worse"
        groups["near" if z <= APART else far].append(_named(row))
    if groups["near"]:
        one = "is" if len(groups["near"]) == 1 else "are"
        lines.append(
            f"{_joined(groups['near'])} {one} indistinguishable from it (within {APART:g} paired standard errors)."
        )
    if groups["worse"]:
        lines.append(f"Worse{'' if several else ' in these fits'}: {_joined(groups['worse'])}.")
    if groups["edge"]:
        lines.append(f"Worse, at the largest size that was tried: {_joined(groups['edge'])}.")
    if groups["clearly"]:
        lines.append(f"Clearly worse: {_joined(groups['clearly'])}.")
    if chosen != best:
        shown = next(row for row in scored if row["model"] == chosen)
        lines.append(f"Of those within one standard error of the best, {_named(shown)} is the easiest to read.")
    failed = [row["title"] for row in table if "log_loss" not in row]
    if failed:
        lines.append(f"Could not be fitted: {_joined(failed)} (see the notes).")
    return " ".join(lines)


def _at_edge(size: Any, tried: tuple[Any, ...]) -> bool:
    """Whether a size is the largest of those that were tried."""
    return size is not None and len(tried) > 0 and measure(size) >= max(measure(one) for one in tried)


def _headline(table: list[dict[str, Any]], best: str, finding: str, against: dict[str, Paired], n_draws: int) -> str:
    """What the best families say about rows."""
    if finding == "nothing":
        return "Nothing to find: no family predicts hidden cells better than independent columns do."
    scored = {row["model"]: row["structure"] for row in table if "log_loss" in row}
    near = [scored[name] for name in scored if name != best and against[name].z <= APART]
    stories = [s for s in dict.fromkeys([scored[best], *near]) if s not in ("other", "none")]
    if scored[best] == "other" or not stories:
        return "A model that was brought along predicts best; what it says about rows is its own."
    if finding == "pairs":
        return (
            "Columns depend on each other in pairs: no family with hidden causes predicts better than a tree of pairs."
        )
    families = [row for row in table if row["model"] not in BASELINES]
    if len(families) == 1 and len(stories) == 1:
        return f"One family was tried, {families[0]['title']}: {STORIES[stories[0]]}."
    if len(stories) == 1:
        story = STORIES[stories[0]]
        return f"{story[0].upper()}{story[1:]}."
    who = "the data" if n_draws >= ENOUGH_DRAWS else "these fits"
    return f"One of these, and {who} cannot tell which: {'; or '.join(STORIES[s] for s in stories)}."
