"""What is known of the rows besides, beside what the models found: every label column against every component.

Labels are words or numbers, which is told by their values; components are groups of rows, amounts or places, which is told by
the kind of their family.  Each pair of kinds has one measure (``statistics.py``); p-values allow for the number of all
associations that were looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..data.encoding import WORDS_UNKNOWN
from .fitted import FittedFamily
from .statistics import (
    NOTHING,
    Measured,
    adjusted_residuals,
    area_under,
    between_groups,
    contingency,
    corrected,
    cross_table,
    on_plane,
    rank_correlation,
)
from .wording import number_told, share_told, signed_told

FEWEST_NUMBERS = 6  # different ones, for a column of numbers to be measured and not counted
MOST_MEASURED = 100_000  # rows: of more, associations are those of a sample
NOT_KNOWN = tuple(word for word in WORDS_UNKNOWN if word != "none")  # which is an answer, of religions for one
MOST_WORDS = 12  # of a label that are told apart; the others are one more
OTHER = "other"
SURE = 0.01  # corrected p-value below which an association is stated
# Strength below which nothing is stated, however sure it is: |rho| 0.2, AUC 0.6.
CONSIDERABLE = 0.2
TOTAL = 0.9  # rank correlation with the share of ones of a row, from which a scale is called that
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FEWEST_ROWS, FEWEST_SHARE = 3, 0.02  # of a group that is named as the highest or the lowest
# Amounts of a component in words: what is high, and that it is higher, highest, lowest.
AMOUNTS = {
    "scales": ("", ("is higher", "is highest", "lowest")),
    "shares": ("the share of ", ("is higher", "is highest", "lowest")),
    "causes": ("", ("is on more often", "is on most often", "least often")),
}
COMPASS = ("right", "top right", "top", "top left", "left", "bottom left", "bottom", "bottom right")


@dataclass(frozen=True)
class Label:
    """A label column.

    Attributes
    ----------
    name : str
    values : list of str
        As they were written; empty ones are not known.
    numbers : array or None
        As numbers, NaN where not known; None: they are words.
    words : list of str
        Of words, by decreasing frequency; more than a dozen are cut to the most frequent, and "other".
    codes : array
        Place in ``words`` of every row, -1 where not known; of numbers all are -1.
    n_words : int
        Different words, before they were cut.
    """

    name: str
    values: list[str]
    numbers: Any
    words: list[str]
    codes: Any
    n_words: int

    @property
    def is_number(self) -> bool:
        """Whether it is measured."""
        return self.numbers is not None

    @property
    def known(self) -> Any:
        """Rows of which it is known."""
        return np.isfinite(self.numbers) if self.is_number else self.codes >= 0

    @property
    def is_telling(self) -> bool:
        """Whether its values come again, so that something may go with them; names of rows do not."""
        if self.is_number:
            return True
        return bool(1 < self.n_words <= self.known.sum() / 2)

    def at(self, rows: Any) -> Label:
        """The same of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return replace(self, values=[self.values[i] for i in rows], numbers=numbers, codes=self.codes[rows])

    @property
    def n_told(self) -> int:
        """Words that are one value each, which the last one is not where words were cut."""
        return len(self.words) - (self.n_words > MOST_WORDS)


def label_of(name: str, values: list[str]) -> Label:
    """A label column, its kind told by its values.

    Examples
    --------
    >>> label_of("age", [str(age) for age in range(20)]).is_number, label_of("party", ["a", "b", "", "b"]).words
    (True, ['b', 'a'])
    """
    numbers = _numbers(values)
    if numbers is not None:
        return Label(name, values, numbers, [], np.full(len(values), -1), 0)
    said = ["" if value.strip().lower() in NOT_KNOWN else value for value in map(str, values)]
    counts = Counter(word for word in said if word)
    kept = sorted(counts, key=lambda word: (-counts[word], word))
    place = {word: i for i, word in enumerate(kept)}
    codes = np.array([place.get(word, -1) for word in said], int)
    n_words = len(kept)
    if n_words > MOST_WORDS:
        other = f"{OTHER} ({n_words - MOST_WORDS + 1} values)"
        codes, kept = np.minimum(codes, MOST_WORDS - 1), [*kept[: MOST_WORDS - 1], other]
    return Label(name, values, None, kept, codes, n_words)


def _numbers(values: list[str]) -> Any:
    """Values as numbers, if all that are known are, and if they are many; unknown are those that are so as cells."""
    try:
        numbers = np.array([np.nan if value.strip().lower() in WORDS_UNKNOWN else float(value) for value in values])
    except ValueError:
        return None
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers if len(np.unique(numbers[np.isfinite(numbers)])) >= FEWEST_NUMBERS else None


@dataclass(frozen=True)
class Association:
    """A label and a component, or all components together.

    Attributes
    ----------
    label : str
    component : str
        Empty: all of the reading, as groups of rows or as places.
    place : int
        Of the component; -1 for all.
    measured : Measured
    p : float
        Corrected for the number of associations of all readings.
    sentence : str
        In words; says more than is known unless :attr:`is_stated`.
    details : dict
        Counts and residuals, or quantiles by group.
    """

    label: str
    component: str
    place: int
    measured: Measured
    p: float
    sentence: str
    details: Mapping[str, Any]

    @property
    def is_stated(self) -> bool:
        """Whether it is sure and strong enough to be said."""
        return self.p < SURE and self.measured.strength >= CONSIDERABLE


def associations(
    readings: list[tuple[FittedFamily, Any, Any]], labels: list[Label], seed: int = 0
) -> list[list[Association]]:
    """Of every reading the associations of labels with its components, the strongest first.

    Parameters
    ----------
    readings : list of (FittedFamily, array, array or None)
        With how much of every component is in every row (n, K), and of maps the places of the rows (n, 2).
    labels : list of Label
    seed : int
        Of permutations.
    """
    telling = [label for label in labels if label.is_telling]
    if telling and len(telling[0].values) > MOST_MEASURED:
        rows = np.sort(np.random.default_rng(seed).choice(len(telling[0].values), MOST_MEASURED, replace=False))
        telling = [label.at(rows) for label in telling]
        readings = [(f, values[rows], None if places is None else places[rows]) for f, values, places in readings]
    found = [
        [one for label in telling for one in _of_label(fitted, values, places, label, seed)]
        for fitted, values, places in readings
    ]
    p_values = iter(corrected([one.measured.p for mine in found for one in mine]))
    told = [[replace(one, p=next(p_values)) for one in mine] for mine in found]
    return [sorted(mine, key=lambda one: (not one.is_stated, -one.measured.strength)) for mine in told]


def _of_label(fitted: FittedFamily, values: Any, places: Any, label: Label, seed: int) -> list[Association]:
    """A label beside the components of a reading."""
    known, names = label.known, fitted.part_names()
    if fitted.kind in ("classes", "map"):
        groups = values.argmax(axis=1)[known]
        out = [_of_groups(fitted, names, groups, label, seed)]
        if places is not None and label.is_number and places.shape[1] == 2:
            out.append(_of_places(places[known], label))
    else:
        out = [_of_amount(fitted, name, k, values[known, k], label) for k, name in enumerate(names)]
    return [one for one in out if one.measured.measure]


def _of_groups(fitted: FittedFamily, names: list[str], groups: Any, label: Label, seed: int) -> Association:
    """A label beside groups of rows."""
    if label.is_number:
        numbers = label.numbers[label.known]
        measured = between_groups(groups, numbers)
        quantiles = _by_group(groups, numbers, len(names))
        sentence = _medians_told(label.name, names, quantiles, _mean_ranks(groups, numbers, len(names)))
        return Association(label.name, "", -1, measured, 1.0, sentence, {"quantiles": quantiles})
    counts = cross_table(groups, label.codes[label.known], len(names), len(label.words))
    residuals = adjusted_residuals(counts)
    measured = contingency(counts, seed)
    sentence = _most_telling(label, names, counts, residuals)
    return Association(
        label.name, "", -1, measured, 1.0, sentence, {"counts": counts.tolist(), "residuals": residuals.tolist()}
    )


def _by_group(groups: Any, numbers: Any, n_groups: int) -> list[list[float] | None]:
    """Quantiles of numbers in every group, then their count."""
    out: list[list[float] | None] = []
    for group in range(n_groups):
        mine = numbers[groups == group]
        out.append([*np.quantile(mine, QUANTILES).tolist(), float(len(mine))] if len(mine) else None)
    return out


def _mean_ranks(groups: Any, numbers: Any, n_groups: int) -> Any:
    """Mean rank of the numbers in every group; NaN where there are too few rows to speak."""
    counts = np.bincount(groups, minlength=n_groups)
    sums = np.bincount(groups, weights=rankdata(numbers), minlength=n_groups) if len(numbers) else counts
    few = counts < max(FEWEST_ROWS, FEWEST_SHARE * len(numbers))
    return np.where(few, np.nan, sums / np.maximum(counts, 1))


def _medians_told(name: str, groups: list[str], quantiles: list[list[float] | None], ranks: Any) -> str:
    """Where the medians are highest and lowest; groups of a few rows do not speak."""
    told = [
        (found[2], rank, group)
        for found, rank, group in zip(quantiles, ranks, groups)
        if found is not None and not np.isnan(rank)
    ]
    if len(told) < 2:
        return ""
    (high, _, top), (low, _, bottom) = max(told), min(told)
    if high == low:
        return f"in {top} {name} is higher than in {bottom}, though both medians are {number_told(high)}"
    return f"in {top} {name} is highest (median {number_told(high)}), in {bottom} lowest ({number_told(low)})"


def _most_telling(label: Label, names: list[str], counts: Any, residuals: Any) -> str:
    """The group and the word that go together most; groups and words of a few rows do not speak."""
    n_words, fewest = label.n_told, max(FEWEST_ROWS, FEWEST_SHARE * counts.sum())
    speaking = (counts.sum(axis=1, keepdims=True) >= fewest) & (counts.sum(axis=0) >= fewest) & (counts > 0)
    told = np.where(speaking, residuals, -np.inf)[:, :n_words]
    if not (told > -np.inf).any():
        return ""
    group, word = np.unravel_index(np.argmax(told), told.shape)
    here = counts[group, word] / max(1, counts[group].sum())
    overall = counts[:, word].sum() / max(1, counts.sum())
    return (
        f"in {names[group]} {label.name} is {_word(label.words[word])} for {share_told(here)} of the rows, "
        f"against {share_told(overall)} of all"
    )


def _of_places(places: Any, label: Label) -> Association:
    """A number beside places on a map."""
    measured, slope = on_plane(places, label.numbers[label.known])
    corner = COMPASS[round(float(np.arctan2(slope[1], slope[0])) / (np.pi / 4)) % 8]
    sentence = f"on the map {label.name} rises toward the {corner} (R = {measured.value:.2f})"
    return Association(label.name, "map", -1, measured, 1.0, sentence, {"direction": slope.tolist()})


def _of_amount(fitted: FittedFamily, name: str, place: int, amount: Any, label: Label) -> Association:
    """A label beside how much of a component is in a row."""
    if label.is_number:
        measured = rank_correlation(amount, label.numbers[label.known])
        return Association(label.name, name, place, measured, 1.0, _slope_told(fitted, name, label, measured), {})
    codes = label.codes[label.known]
    subject, verb = AMOUNTS.get(fitted.kind, AMOUNTS["causes"])
    if len(label.words) == 2:
        measured = area_under(codes == 0, amount)
        word = label.words[0 if measured.value >= 0.5 else 1]
        if measured.value < 0.5:
            measured = area_under(codes == 1, amount)
        sentence = f"{subject}{name} {verb[0]} where {label.name} is {_word(word)} (AUC {measured.value:.2f})"
        return Association(label.name, name, place, measured, 1.0, sentence, {"word": word})
    measured = between_groups(codes, amount) if len(codes) else NOTHING
    quantiles = _by_group(codes, amount, len(label.words))
    ranks, sentence = _mean_ranks(codes, amount, len(label.words))[: label.n_told], ""
    if np.isfinite(ranks).sum() > 1:
        top, bottom = (_word(label.words[at]) for at in (np.nanargmax(ranks), np.nanargmin(ranks)))
        sentence = (
            f"{subject}{name} {verb[1]} where {label.name} is {top} and {verb[2]} where it is {bottom} "
            f"(ε² = {measured.value:.2f})"
        )
    return Association(label.name, name, place, measured, 1.0, sentence, {"quantiles": quantiles})


def _slope_told(fitted: FittedFamily, name: str, label: Label, measured: Measured) -> str:
    """Which way a component goes with a number."""
    down = measured.value < 0
    if fitted.kind == "causes":
        told = f"is on more often where {label.name} is {'low' if down else 'high'}"
    else:
        verbs = ("grows", "shrinks") if fitted.kind == "shares" else ("rises", "falls")
        told = f"{verbs[down]} with {label.name}"
    return f"{name} {told} (ρ = {signed_told(measured.value)})"


def _word(word: str) -> str:
    """A value of a label, shortened."""
    return f"“{word if len(word) <= 40 else word[:39] + '…'}”"


def totals_of(values: Any, share_of_ones: Any) -> list[float]:
    """Of every scale its rank correlation with the share of ones of a row."""
    return [rank_correlation(column, share_of_ones).value for column in values.T]
