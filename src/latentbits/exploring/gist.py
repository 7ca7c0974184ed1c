"""What was found, in few plain words: a line for every reading, and at most three sentences for all of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation import Comparison
from ..evaluation.candidates import size_text
from ..evaluation.scores import ENOUGH_DRAWS
from ..families import KINDS
from .fitted import FittedFamily
from .labels import TOTAL, Association
from .readings import Reading
from .wording import column_told, listed, share_told, signed_told

TOLD = 3  # components, and columns of each
SMALL = 0.02  # weight below which a component is not worth a word
LOADED = 0.1  # least loading of a column that is named as an end of a scale
FAINT = 0.02  # nats that a column has to tell of a component
ONE_SIDED = 0.9  # share of the squared loadings of one sign, from which a scale has no other end
MOST_STATED = 3  # associations with labels
# What a table is read as, by the kind of structure.
WAYS = {
    "classes": "classes",
    "shares": "blends",
    "causes": "overlapping causes",
    "scales": "scales",
    "map": "a map",
    "switches": "hidden switches",
    "tree": "pairs of columns",
}


def telling(fitted: FittedFamily, names: list[str], k: int, most: int = TOLD) -> tuple[list[str], list[str]]:
    """Columns that a component has more often than others, and less often; of a scale those at its high end and at its low.

    Columns are ranked by what they tell (the Kullback-Leibler divergence from the marginal), not by how frequent they are.
    """
    profile = fitted.profiles()[k]
    if fitted.kind == "scales":
        strongest = np.argsort(-np.abs(profile), kind="stable")
        large = [j for j in strongest if abs(profile[j]) >= max(LOADED, 0.3 * abs(profile[strongest[0]]))]
        ends: tuple[list[str], list[str]] = ([], [])
        for j in large:
            ends[int(profile[j] < 0)].append(names[j])
        return ends[0][:most], ends[1][:most]
    p, m = (np.clip(values, 1e-9, 1 - 1e-9) for values in (profile, fitted.model.marginals_))
    gain = p * np.log(p / m) + (1 - p) * np.log((1 - p) / (1 - m))
    order = [j for j in np.argsort(-gain, kind="stable")[: 4 * most] if gain[j] >= FAINT]
    more, less = [names[j] for j in order if p[j] > m[j]], [names[j] for j in order if p[j] < m[j]]
    return more[:most], less[:most]


def component_told(fitted: FittedFamily, names: list[str], k: int, total: float = 0.0) -> str:
    """A component by the columns that tell most."""
    more, less = telling(fitted, names, k)
    if fitted.kind == "scales":
        return _scale_told(fitted, k, more, less, total)
    if more:
        return listed(more) + (f", hardly {less[0]}" if len(more) < TOLD and less else "")
    return f"little of {listed(less)}" if less else "nothing that sets it apart"


def _scale_told(fitted: FittedFamily, k: int, high: list[str], low: list[str], total: float) -> str:
    """What lies at the ends of a scale."""
    loadings = fitted.profiles()[k]
    upward = float((loadings[loadings > 0] ** 2).sum() / max(1e-300, (loadings**2).sum()))
    if not high and not low:
        return "nothing that sets rows apart"
    if abs(total) >= TOTAL:
        end, other, against = ("high", "low", low) if total > 0 else ("low", "high", high)
        if min(upward, 1 - upward) <= 1 - ONE_SIDED or not against:
            return f"the row total (ρ = {abs(total):.2f}), more ones of every kind at its {end} end"
        return (
            f"nearly the row total (ρ = {abs(total):.2f}), more ones at its {end} end, but more of {listed(against)} at its "
            f"{other} end"
        )
    if not low or (high and upward >= ONE_SIDED):
        return f"more of {listed(high)} at its high end"
    if not high or upward <= 1 - ONE_SIDED:
        return f"more of {listed(low)} at its low end"
    return f"{listed(low)} at its low end, {listed(high)} at its high end"


def gist_of(fitted: FittedFamily, names: list[str], totals: list[float]) -> str:
    """A reading in a line.

    Parameters
    ----------
    fitted : FittedFamily
    names : list of str
        Of the columns.
    totals : list of float
        Of scales their rank correlations with the row total.
    """
    if fitted.kind == "tree":
        told = fitted.model.pairs_table(TOLD) if hasattr(fitted.model, "pairs_table") else []
        pairs = [f"{column_told(pair['first'])} with {column_told(pair['second'])}" for pair in told]
        return f"Columns go in pairs: {listed(pairs)}." if pairs else "Columns go in pairs."
    called, weights, n = fitted.part_names(), fitted.weights(), len(fitted.part_names())
    if n == 1 and fitted.kind in ("classes", "shares"):
        return "All rows are alike."
    order = list(range(n))
    if is_switches(fitted):
        order = np.argsort(-_telling_of(fitted), kind="stable").tolist()
    elif fitted.kind != "scales":
        order = [k for k in np.argsort(-weights, kind="stable").tolist() if not weights[k] < SMALL] or order
    words = [component_told(fitted, names, k, totals[k] if totals else 0.0) for k in order[:TOLD]]
    if n == 1 and fitted.kind == "scales":
        return f"One scale orders the rows: {words[0]}."
    if fitted.kind == "scales":
        parts = [f"{called[k]} {'is' if 'the row total' in told else 'has'} {told}" for k, told in zip(order, words)]
    else:
        parts = [called[k] + _amount(fitted, weights[k]) + " with " + told for k, told in zip(order, words)]
    more = f"; and {n - len(parts)} more" if n > len(parts) else ""
    return f"{_opening(fitted, n)}: {'; '.join(parts)}{more}."


def is_switches(fitted: FittedFamily) -> bool:
    """Whether its components are those of a Boltzmann machine, which push and do not bring about."""
    return fitted.family.structure == "switches"


def _telling_of(fitted: FittedFamily) -> Any:
    """How far every component is from the marginals."""
    return np.abs(fitted.profiles() - fitted.model.marginals_).sum(axis=1)


def _amount(fitted: FittedFamily, weight: float) -> str:
    """How much of the table a component has."""
    if not np.isfinite(weight):
        return ""
    return f" (on in {share_told(weight)} of the rows)" if fitted.kind == "causes" else f" ({share_told(weight)})"


def _opening(fitted: FittedFamily, n: int) -> str:
    """What rows are to components."""
    counted = fitted.family.counted(n)
    return {
        "classes": f"The rows fall into {counted}",
        "shares": f"Every row is a blend of {counted}",
        "causes": f"Rows have any of {counted}" if n > 1 else f"Rows have one {fitted.family.noun} or not",
        "scales": f"{n} scales order the rows",
        "map": f"Rows have places on a map with {counted}",
    }[fitted.kind]


def standing_of(found: Comparison, fitted: FittedFamily) -> str:
    """How the family of a reading predicts beside the best one, and with which size, if that is not the one that is read."""
    if found.finding_ == "nothing":
        return "predicts hidden cells no better than each column alone"
    row = found.row(fitted.candidate.name)
    told = _standing_of_family(found, row)
    if row["size"] is None or row["size"] == fitted.size:
        return told
    shown = size_text(fitted.size, fitted.candidate.limit)
    return f"{told} (with {row['size_text']}; shown with {shown})"


def _standing_of_family(found: Comparison, row: dict[str, Any]) -> str:
    """How a family predicts beside the best one."""
    if row["model"] == found.best_:
        others = " of the families" if found.rival_ is not None or _is_beaten_by_pairs(found) else ""
        return f"predicts hidden cells best{others}"
    gap = f"{signed_told(row['above_best'], 4)} ± {row['se']:.4f} nats per cell behind the best"
    return f"predicts as well as the best ({gap})" if row["standing"] == "near" else f"predicts worse ({gap})"


def overview(readings: list[Reading], found: Comparison | None) -> list[str]:
    """At most three sentences: what the rows are made of, what goes with it, how sure that is.

    Parameters
    ----------
    readings : list of Reading
        The leading one first.
    found : Comparison or None
    """
    if found is not None and found.finding_ == "nothing":
        return [found.headline]
    leading = readings[0]
    sentences = [leading.gist if found is None else _careful(leading, found)]
    if told := [_as_read(i, readings[i], one) for i, one in strongest(readings)]:
        sentences.append(_sentence("; ".join(told)))
    if found is not None:
        sentences.append(sureness(found, readings))
    return sentences


def _sentence(text: str) -> str:
    """A text with a capital at its beginning and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def _careful(leading: Reading, found: Comparison) -> str:
    """A gist that claims no structure where pairs of columns explain as much."""
    if found.finding_ == "pairs" and leading.fitted.kind != "tree":
        return (
            "Columns depend on each other in pairs, and hidden causes predict no better; read as "
            f"{WAYS[way_of(leading.fitted)]}, {leading.gist[:1].lower()}{leading.gist[1:]}"
        )
    return leading.gist


def strongest(readings: list[Reading]) -> list[tuple[int, Association]]:
    """The strongest associations that are sure, one for every label, and whose they are; the leading reading goes first."""
    best: dict[str, tuple[int, Association]] = {}
    for i, reading in enumerate(readings):
        for one in reading.associations:
            if one.is_stated and one.sentence:
                best.setdefault(one.label, (i, one))
    return sorted(best.values(), key=lambda found: -found[1].measured.strength)[:MOST_STATED]


def _as_read(i: int, reading: Reading, one: Association) -> str:
    """An association in words; of a reading that is not the leading one with how that reads the table."""
    return one.sentence if i == 0 else f"read as {WAYS[way_of(reading.fitted)]}, {one.sentence}"


def sureness(found: Comparison, readings: list[Reading]) -> str:
    """How well the best family predicts, on what that rests, and who does as well or better."""
    top, alone = found.row(found.best_), found.row("independent")["log_loss"]
    gain, plan = 1 - top["log_loss"] / alone, found.plan
    draws = "one draw" if plan.n_folds == 1 else f"{plan.n_folds} draws"
    basis = f"{len(found.questions.values):,} hidden cells in {draws}, {plan.n_rows:,} rows"
    better = f"{share_told(gain)} better" if gain >= 0.0005 else "hardly better"
    told = [f"Hidden cells are predicted {better} than by each column alone ({basis})"]
    if found.rival_ is not None:
        told.append(f"{found.row(found.rival_)['title']}, which claims no hidden structure, predicts better still")
    elif _is_beaten_by_pairs(found):
        told.append("a tree of pairs of columns predicts better still")
    if others := ways_as_good(found, readings[0]):
        shown = {way_of(reading.fitted) for reading in readings}
        named = [WAYS[way] + ("" if way in shown else " (not shown)") for way in others]
        who = "the data do" if _is_searched(found) else "these fits do"
        told.append(f"read as {listed(named, 'or')}, the table is predicted as well, and {who} not tell which is right")
    elif len(told) == 1:
        return f"{told[0]}, {_better_than(found, readings[0])}."
    return f"{'; '.join(told)}."


def _better_than(found: Comparison, leading: Reading) -> str:
    """What the leading kind of structure is better than."""
    tried = {_way(row) for row in found.table if found.candidate(row["model"]).is_family and "log_loss" in row}
    if not tried - {way_of(leading.fitted)}:
        return "and better than by pairs of columns; no other kind of structure was tried"
    so_far = "as far as was tried" if not _is_searched(found) else "that was tried"
    return f"better than by any other kind of structure {so_far}"


def _is_searched(found: Comparison) -> bool:
    """Whether every family had the time that it needed, and fits enough to tell how much they differ."""
    families = [row["standing"] for row in found.table if found.candidate(row["model"]).is_family]
    return found.plan.n_folds >= ENOUGH_DRAWS and not {"improving", "hardly searched", "left out"} & set(families)


def _is_beaten_by_pairs(found: Comparison) -> bool:
    """Whether the tree of pairs of columns predicts better than every family."""
    return bool(found.row("tree")["standing"] == "better")


def way_of(fitted: FittedFamily) -> str:
    """How a fitted model is read: its kind; the causes of a Boltzmann machine are switches."""
    return "switches" if is_switches(fitted) else fitted.kind


def _way(row: dict[str, Any]) -> str:
    """The same of a family in a comparison; empty where it has no story of its own."""
    return "switches" if row["structure"] == "switches" else KINDS.get(row["structure"], "")


def ways_as_good(found: Comparison, leading: Reading) -> list[str]:
    """How else the table can be read, by what predicts as well as the best.

    That is told of families by their own stories: where the switches of a Boltzmann machine predict as well, and noisy-or
    causes do not, causes are not said to.
    """
    near = [_way(row) for row in found.table if _is_as_good(found, row) and row["model"] != leading.name]
    if found.row("tree")["standing"] == "near":
        near.append("tree")
    return [way for way in dict.fromkeys(near) if way not in (way_of(leading.fitted), "")]


def _is_as_good(found: Comparison, row: dict[str, Any]) -> bool:
    """Whether a family is the best, or may as well be."""
    return row.get("standing") in ("best", "near") and found.candidate(row["model"]).is_family
