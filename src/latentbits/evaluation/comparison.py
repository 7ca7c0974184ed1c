"""What a comparison found: a table, a verdict in words, and everything the report shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import frame_of
from ..errors import FitError
from ..families import BY_NAME, SEVERAL_CAUSES
from ..html import Html, box, dot, line, table, tag, text
from .candidates import Candidate, measure, size_text
from .hidden_cells import log_losses
from .plan import TIME, Plan
from .scores import (
    Answers,
    Paired,
    Questions,
    auc,
    calibration_curve,
    calibration_error,
    fit_variance,
    paired,
    wide_calibration_error,
)
from .search import Point, larger, most_components, options_told
from .stacking import Stack, stacked
from .verdict import APART, SOMETHING, Words


class Fitted(NamedTuple):
    """How one fit of the comparison went."""

    point: Point
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
        with ``row_se`` (exact and estimated ones are ranked apart, bounds not at all); ``size`` and ``options``, as the
        search chose them, in ``n_tried`` fits; ``ended``, how it ended, and ``at_edge``, whether the chosen size is the
        largest that was tried; ``standing`` to the best family in a word; ``n_draws`` in which it was scored; ``note``.
    best_ : str
        The family with the smallest log-loss.
    chosen_ : str
        The family that is easiest to read among those within one standard error of the best.
    multi_cause_ : str or None
        The best family in which a row has several causes, of those whose causes can be read if there are any (not the
        switches of a Boltzmann machine).
    rival_ : str or None
        The model without hidden structure that predicts better than every family, by two standard errors or more.
    finding_ : {"nothing", "pairs", "structure"}
        Whether hidden structure predicts better than independent columns and the Chow-Liu tree.
    headline, verdict : str
        The same in a sentence, and with all that belongs to it.
    searches : list of dict
        Every fit of the search: model, step, size, options, log_loss of the cells that are hidden for the search, how far it
        is ``behind`` the best fit of the family with the paired standard error ``se`` of that, seconds.
    curves : dict
        Calibration curve of every model.
    plan : Plan
        What was done.
    candidates : list of Candidate
    questions, answers
        The hidden cells, and what every model said about them (NaN: not asked).

    Examples
    --------
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
    >>> found.row("mixture")["log_loss"] < found.row("independent")["log_loss"]
    True
    """

    table: list[dict[str, Any]]
    best_: str
    chosen_: str
    multi_cause_: str | None
    rival_: str | None
    finding_: str
    headline: str
    verdict: str
    searches: list[dict[str, Any]]
    curves: dict[str, list[dict[str, float]]]
    plan: Plan
    candidates: list[Candidate]
    seconds: dict[str, float]
    questions: Questions
    answers: dict[str, Any]

    @staticmethod
    def of(
        candidates: list[Candidate],
        asked: Questions,
        said: dict[str, Answers],
        held: Any,
        about: dict[str, list[Fitted]],
        searches: list[dict[str, Any]],
        plan: Plan,
        is_whole: bool = True,
    ) -> Comparison:
        """Score the answers of all models; ``is_whole`` says whether they were fitted to all rows that were not held out."""
        losses = {name: log_losses(asked.values, answers.probabilities) for name, answers in said.items()}
        families = [one.name for one in candidates if one.is_family and one.name in said]
        if not families or not {"independent", "tree"} <= set(said):
            why = "; ".join(f"{name}: {fits[0].note}" for name, fits in about.items() if name not in said and fits)
            raise FitError(f"compare: no family could be fitted ({why}).")
        best = _best_of(families, losses)
        excess = _excess(families, best, losses, asked)
        against = {name: _apart(losses[name], losses[best], asked, excess) for name in said}
        rows_best = _best_rows(said)
        table = []
        for one in candidates:
            row: dict[str, Any] = {"model": one.name, "title": one.title, "structure": one.structure}
            row.update(_settings_of(one, about[one.name], [s for s in searches if s["model"] == one.name], plan))
            if one.structure == "paired classes" and row["size"] == 1:
                row["structure"] = "pairs"  # one class is one tree
            if one.name in said:
                row.update(_cell_scores(float(losses[best].mean()), against[one.name], asked, said[one.name]))
                row.update(_row_scores(one.name, rows_best, said, held))
            table.append(row)
        table.sort(key=lambda row: row.get("log_loss", np.inf))
        others = ["tree", *(one.name for one in candidates if one.is_rival and one.name in said)]
        over = {name: _apart(losses["independent"], losses[name], asked, excess).z for name in (best, *others)}
        finding = _finding(best, against, max(over.values()))
        several = _several(table)
        winning = [one.name for one in candidates if one.is_rival and _wins(against.get(one.name))]
        rival = min(winning, key=lambda name: against[name].difference, default=None)
        if rival is not None and over[rival] < SOMETHING:
            rival = None  # it does not find anything either
        chosen = _easiest(table, best, candidates, searches)
        by_name = {one.name: one for one in candidates}
        words = Words(table, by_name, best, finding, rival, against, asked, plan, is_whole)
        for row in table:
            row["standing"] = words.standing(row)
        headline = words.headline()
        return Comparison(
            table,
            best,
            chosen,
            several,
            rival,
            finding,
            headline,
            f"{headline} {words.verdict(chosen)}",
            searches,
            {name: _curve(asked, answers) for name, answers in said.items()},
            plan,
            candidates,
            {name: sum(fit.seconds for fit in fits) for name, fits in about.items()},
            asked,
            {name: answers.probabilities for name, answers in said.items()},
        )

    def candidate(self, name: str) -> Candidate:
        """A candidate by its name.

        Parameters
        ----------
        name : str
            As in the table.

        Returns
        -------
        Candidate

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> found.candidate("mixture").is_family
        True
        """
        return next(one for one in self.candidates if one.name == name)

    def row(self, name: str) -> dict[str, Any]:
        """The row of the table that tells of a model.

        Parameters
        ----------
        name : str
            As in the table.

        Returns
        -------
        dict

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> found.row("mixture")["structure"]
        'class'
        """
        return next(row for row in self.table if row["model"] == name)

    def estimator(self, name: str | None = None, random_state: int = 0, n_jobs: int | None = None) -> Any:
        """The named model (by default the best), unfitted, with the size and the options with which it was compared.

        Parameters
        ----------
        name : str, optional
            As in the table; by default the best.
        random_state : int
        n_jobs : int, optional

        Returns
        -------
        an unfitted estimator with the size and the options that were compared

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> type(found.estimator("mixture")).__name__
        'BernoulliMixture'
        """
        name = self.best_ if name is None else name
        one, row = self.candidate(name), self.row(name)
        return one.estimator(row["size"], {**one.full, **row["options"]}, random_state, n_jobs)

    def readable(self, name: str) -> Point:
        """The settings to read a family with: the smallest size within one standard error of its best, and one start alone.

        What predicts best may be twenty classes of which five say nearly the same.

        Parameters
        ----------
        name : str
            As in the table.

        Returns
        -------
        Point

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> type(found.readable("mixture")).__name__
        'Point'
        """
        return _readable(self.candidate(name), self.row(name), self.searches)

    def fit_seconds(self, name: str) -> float:
        """What a fit of the named model took, on average.

        Parameters
        ----------
        name : str
            As in the table.

        Returns
        -------
        float

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> found.fit_seconds("mixture") > 0
        True
        """
        n_fits: int = max(1, self.row(name)["n_draws"])
        return self.seconds[name] / n_fits

    def to_frame(self) -> Any:
        """The table as a pandas frame.

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> "log_loss" in found.to_frame().columns
        True
        """
        return frame_of(self.table)

    def capacity(self, name: str) -> list[dict[str, float]]:
        """Log-loss of a family against its size, as the search saw it: of every size the best settings.

        Parameters
        ----------
        name : str
            As in the table.

        Returns
        -------
        list of dict: sizes and their losses

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> len(found.capacity("mixture")) >= 1
        True
        """
        best: dict[float, dict[str, float]] = {}
        for fit in self.searches:
            if fit["model"] != name or fit["size"] is None or not np.isfinite(fit["log_loss"]):
                continue
            size = measure(fit["size"])
            if size not in best or fit["log_loss"] < best[size]["log_loss"]:
                best[size] = {"size": size, "log_loss": float(fit["log_loss"])}
        return [best[size] for size in sorted(best)]

    def plot(self, ax: Any = None) -> Any:
        """Log-loss of every model with its paired standard error; returns the Axes.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> ax = found.plot()
        """
        from importlib import import_module

        return import_module("latentbits.plots").comparison(self, ax=ax)

    def plot_sizes(self, ax: Any = None) -> Any:
        """Capacity curves: log-loss of every family against its size, as the search saw it; returns the Axes.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> ax = found.plot_sizes()
        """
        from importlib import import_module

        return import_module("latentbits.plots").capacity(self, ax=ax)

    def stack(self, outside: bool = False) -> Stack:
        """Weights with which the families predict best together.

        Parameters
        ----------
        outside : bool
            Whether models without hidden structure take part, too.

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> round(sum(found.stack().weights.values()), 6)
        1.0
        """
        names = [
            one.name for one in self.candidates if one.is_family or one.name == "tree" or (outside and one.is_rival)
        ]
        return self.stack_of([name for name in names if name in self.answers])

    def stack_of(self, names: list[str]) -> Stack:
        """The same of models that are named, on the cells that all of them were asked about.

        The log-loss is that of the best family in the table, more or less by the difference on these cells.

        Parameters
        ----------
        names : sequence of str
            Members.

        Returns
        -------
        Stack

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> list(found.stack_of(["mixture"]).weights)
        ['mixture']
        """
        names = [one.name for one in self.candidates if one.name in names]  # in one order, whoever asks
        asked = np.isfinite([self.answers[name] for name in (*names, self.best_)]).all(axis=0)
        rows, columns, values = (part[asked] for part in self.questions[:3])
        found = stacked({name: self.answers[name][asked] for name in names}, Questions(rows, columns, values))
        here = float(log_losses(values, self.answers[self.best_][asked]).mean())
        return Stack(found.weights, self.row(self.best_)["log_loss"] + found.log_loss - here)

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        """Headline, table and verdict, for notebooks."""
        scored = [row for row in self.table if "log_loss" in row]
        # Models that are no families may be far behind; the line ends with the families.
        ends = [row for row in scored if self.candidate(row["model"]).is_family]
        low = min(0.0, *(row["above_best"] - row["se"] for row in scored))
        high = max(row["above_best"] + row["se"] for row in ends)
        rows = [_row_drawn(row, low - 0.05 * (high - low), high + 0.05 * (high - low)) for row in self.table]
        head = ("family", "size", "log-loss", "above best ± se", "", "")
        told = line(self.verdict.removeprefix(self.headline).strip())
        return box(self.headline, table(head, rows, right=[2, 3]), told)


def _several(table: list[dict[str, Any]]) -> str | None:
    """The best family with several causes per row: shares or sources before switches, which hardly can be read."""
    scored = [row for row in table if row["structure"] in SEVERAL_CAUSES and "log_loss" in row]  # best first
    return min(scored, key=lambda row: row["structure"] == SEVERAL_CAUSES[-1], default={"model": None})["model"]


def _row_drawn(row: dict[str, Any], low: float, high: float) -> list[str | Html]:
    """A model as a row of a table in HTML, its difference from the best on a line from ``low`` to ``high``."""
    title = tag("b", row["title"]) if row["standing"] == "best" else text(row["title"])
    if "log_loss" not in row:
        return [title, row["size_text"], "", "", "", f"{row['standing']} {row['note']}".strip()]
    apart = f"{row['above_best']:.4f} ± {row['se']:.4f}"
    point = dot(row["above_best"], row["se"], low, high, apart)
    return [title, row["size_text"], f"{row['log_loss']:.4f}", apart.replace("-", "−"), point, row["standing"]]


def _readable(one: Candidate, row: dict[str, Any], searches: list[dict[str, Any]]) -> Point:
    """The smallest size of a family within one standard error of its best, without several starts that answer together."""
    left_out = {*one.averaged, *one.trial}
    alone = {option: value for option, value in row["options"].items() if option not in left_out}
    mine = [fit for fit in searches if fit["model"] == one.name and not set(one.averaged) & set(fit["options"])]
    alone_best = min(
        (fit["log_loss"] for fit in mine), default=np.inf
    )  # starts that answer together are beyond all these
    near = [fit for fit in mine if fit["size"] is not None and fit["log_loss"] - alone_best <= fit["se"]]
    smallest = min(near, key=lambda fit: (measure(fit["size"]), fit["log_loss"]), default=None)
    if smallest is None or measure(smallest["size"]) >= measure(row["size"]):
        return Point(row["size"]).with_options(**alone)
    return Point(smallest["size"]).with_options(**smallest["options"])


def _easiest(
    table: list[dict[str, Any]], best: str, candidates: list[Candidate], searches: list[dict[str, Any]]
) -> str:
    """The family that comes first in the order of reading among those that may as well be the best.

    One scale alone, which orders the rows, is easier than anything else.
    """
    by_name = {one.name: one for one in candidates if one.is_family and one.name in BY_NAME}

    def rank(row: dict[str, Any]) -> int:
        one = by_name[row["model"]]
        size = row["size"] if one.named else _readable(one, row, searches).size  # that will be read
        is_one_scale = row["structure"] == "scores" and size == 1
        return -1 if is_one_scale else BY_NAME[row["model"]].reading

    near = [row for row in table if row["model"] in by_name and "log_loss" in row and row["above_best"] <= row["se"]]
    return str(min(near, key=rank)["model"]) if near else best


def _best_of(families: list[str], losses: dict[str, Any]) -> str:
    """The family with the smallest loss, of those that were in all draws; the others were far behind in the first."""
    n_asked = {name: int(np.isfinite(losses[name]).sum()) for name in families}
    most = max(n_asked.values())
    return min((name for name in families if n_asked[name] == most), key=lambda name: float(losses[name].mean()))


def _apart(first: Any, second: Any, asked: Questions, excess: float = 0.0) -> Paired:
    """How much worse the first is, over the cells that both were asked about."""
    both = np.isfinite(first) & np.isfinite(second)
    draws = None if asked.draws is None else asked.draws[both]
    return paired(first[both], second[both], asked.rows[both], draws, excess)


def _excess(families: list[str], best: str, losses: dict[str, Any], asked: Questions) -> float:
    """Variance of a draw's mean difference that its cells do not explain: that of fits, over all families together."""
    if asked.draws is None:
        return 0.0
    found = []
    for name in families:
        both = np.isfinite(losses[name]) & np.isfinite(losses[best])
        if name != best:
            found.append(fit_variance(losses[name][both] - losses[best][both], asked.rows[both], asked.draws[both]))
    known = [value for value in found if value is not None]
    return max(0.0, float(np.median(known))) if known else 0.0


def _wins(against: Paired | None) -> bool:
    """Whether a model is better than the best family, by more than chance."""
    return against is not None and against.z < -APART


def _curve(asked: Questions, answers: Answers) -> list[dict[str, float]]:
    """The calibration curve of a model."""
    known = np.isfinite(answers.probabilities)
    return calibration_curve(asked.values[known], answers.probabilities[known])


def _settings_of(one: Candidate, fits: list[Fitted], search: list[dict[str, Any]], plan: Plan) -> dict[str, Any]:
    """Size and options of a model, how it was searched, and what went wrong."""
    point = fits[0].point if fits else Point(None)
    notes = [fit.note for fit in fits if fit.note]
    unsettled = sum(not fit.settled for fit in fits)
    if not notes and unsettled:
        notes = [f"not settled in {unsettled} of {len(fits)} fits"]
    ended, sizes = plan.ended.get(one.name, ""), [measure(fit["size"]) for fit in search if fit["size"] is not None]
    largest = point.size is not None and bool(sizes) and measure(point.size) >= max(sizes)
    # The time was over, the user named no larger one, or the rows bear none.
    ends = not one.within_columns and larger(point.size, most_components(one, plan.n_rows, 0)) is None
    cut = ended == TIME or (len(set(sizes)) > 1 and (bool(one.named) or ends))
    return {
        "size": point.size,
        "size_text": size_text(point.size, one.limit),
        "options": dict(point.options),
        "options_text": options_told(dict(point.options)),
        "n_tried": len(search),
        "shortened": bool((set(one.trial) - set(one.averaged)) & set(dict(point.options))),
        "ended": ended,
        "at_edge": bool(largest and cut and not (one.limit and ended != TIME)),
        "n_draws": 0 if one.name in plan.left_out else len(fits),
        "note": notes[0] if notes else "",
    }


def _cell_scores(best_loss: float, against: Paired, asked: Questions, said: Answers) -> dict[str, Any]:
    """Scores of hidden cells; of models with fewer draws the loss is that of the best, more by the difference there."""
    known = np.isfinite(said.probabilities)
    values, on = asked.values[known], said.probabilities[known]
    return {
        "log_loss": best_loss + against.difference,
        "above_best": against.difference,
        "se": against.se,
        "auc": auc(values, on),
        "brier": float(((on - values) ** 2).mean()),
        "calibration_error": calibration_error(values, on),
        "wide_calibration_error": wide_calibration_error(values, on),
        "n_cells": len(values),
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


def _row_scores(name: str, best_of: dict[str, str], said: dict[str, Answers], held: Any) -> dict[str, Any]:
    """Scores of held-out rows, the same in every draw, beside the best of the same kind, over the draws of both."""
    scores, kind = said[name].row_scores, said[name].row_kind
    if scores is None:
        return {"row_log_likelihood": None, "row_kind": "none"}
    out = {"row_log_likelihood": float(scores.mean()), "row_kind": kind, "n_held": len(scores)}
    if kind in best_of:
        other = said[best_of[kind]].row_scores
        n_both, n_held = min(len(scores), len(other)), len(np.unique(held))
        draws = np.arange(n_both) // max(1, n_held)
        against = paired(other[:n_both], scores[:n_both], held[:n_both], draws)
        out.update(row_below_best=against.difference, row_se=against.se)
    return out


def _finding(best: str, against: dict[str, Paired], most: float) -> str:
    """Whether anything is hidden in the table; ``most`` is the z of the best of all models over independent columns."""
    if most < SOMETHING:
        return "nothing"
    if against["tree"].difference <= 0 or against["independent"].z < SOMETHING:
        return "pairs" if against["tree"].difference < against["independent"].difference else "nothing"
    return "structure"
