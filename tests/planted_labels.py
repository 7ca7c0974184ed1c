"""Tables with a hidden structure and a label that goes with it, and whether the overview says so.

The fast suite tries two tables of every kind (``tests/unit/test_overview.py``), the slow one twenty
(``tests/statistical/test_planted_labels.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import latentbits
from latentbits.datasets import make_aspect, make_boltzmann, make_map, make_mixture, make_noisy_or, make_trait
from latentbits.exploring.gist import overview
from latentbits.exploring.readings import Reading
from tests.unit.explored_tools import read

WORDS = np.array(["x", "y", "z"])


class Planted(NamedTuple):
    """A table, its label, the model to fit, and whether what is said of the label is right, given the reading."""

    data: np.ndarray
    name: str
    label: np.ndarray
    model: Any
    is_right: Callable[[str, Reading], bool]

    def said_of(self, label: Any, model: Any) -> tuple[list[str], Reading]:
        """The overview with a fitted model and any label, and the reading that it tells of."""
        reading = read(model, self.data, {self.name: label})
        return overview([reading], None), reading


def _part(pattern: str, told: str) -> tuple[int, tuple[str, ...]] | None:
    """The component that a sentence names (its place), and what else the pattern holds."""
    found = re.search(pattern, told)
    return None if found is None else (int(found[1]) - 1, found.groups()[1:])


def _along(reading: Reading, k: int, truth: Any) -> float:
    """Correlation of a component with what was planted."""
    return float(np.corrcoef(reading.values[:, k], truth)[0, 1])


def classes_and_words(seed: int) -> Planted:
    """Three classes, and three words of which a fifth are wrong."""
    made, rng = make_mixture(400, 20, 3, spread=2.0, random_state=seed), np.random.default_rng(seed)
    label = WORDS[np.where(rng.random(400) < 0.2, rng.integers(0, 3, 400), made.causes)]

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Ii]n class (\d+) kind is “(\w)” for", told)
        if found is None:
            return False
        mine = made.causes[reading.values.argmax(axis=1) == found[0]]
        return bool(WORDS[np.bincount(mine).argmax()] == found[1][0])

    return Planted(made.data, "kind", label, latentbits.BernoulliMixture(3, random_state=seed), is_right)


def classes_and_numbers(seed: int) -> Planted:
    """Three classes with different ages."""
    made, rng = make_mixture(400, 20, 3, spread=2.0, random_state=seed), np.random.default_rng(seed)
    label = np.round(30 + 8 * made.causes + 8 * rng.standard_normal(400))

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Ii]n class (\d+) age is highest \(median [\d.]+\), in class (\d+) lowest", told)
        if found is None:
            return False
        groups = reading.values.argmax(axis=1)
        middle = [made.causes[groups == k].mean() for k in (found[0], int(found[1][0]) - 1)]
        return bool(middle[0] > 1.4 and middle[1] < 0.6)

    return Planted(made.data, "age", label, latentbits.BernoulliMixture(3, random_state=seed), is_right)


def shares_and_numbers(seed: int) -> Planted:
    """A number that grows with the share of a cause."""
    made, rng = make_aspect(500, 30, 3, random_state=seed), np.random.default_rng(seed)
    label = np.round(100 * made.memberships[:, 0] + 30 * rng.standard_normal(500))

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Cc]ause (\d+) (grows|shrinks) with time", told)
        along = 0.0 if found is None else _along(reading, found[0], made.memberships[:, 0])
        return found is not None and (along > 0.5 if found[1][0] == "grows" else along < -0.3)

    return Planted(made.data, "time", label, latentbits.AspectBernoulli(3, random_state=seed), is_right)


def shares_and_words(seed: int) -> Planted:
    """Words for the largest cause of a row, of which a fifth are wrong."""
    made, rng = make_aspect(500, 30, 3, random_state=seed), np.random.default_rng(seed)
    label = WORDS[np.where(rng.random(500) < 0.2, rng.integers(0, 3, 500), made.memberships.argmax(axis=1))]

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"share of cause (\d+) is highest where kind is “(\w)”", told)
        along = [_along(reading, found[0], made.memberships[:, k]) for k in range(3)] if found else []
        return found is not None and bool(WORDS[int(np.argmax(along))] == found[1][0])

    return Planted(made.data, "kind", label, latentbits.AspectBernoulli(3, random_state=seed), is_right)


def causes_and_two_words(seed: int) -> Planted:
    """Whether a source is on, of which a tenth are wrong."""
    made, rng = make_noisy_or(600, 30, 3, random_state=seed), np.random.default_rng(seed)
    on = made.sources[:, 0].astype(bool) ^ (rng.random(600) < 0.1)

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Ss]ource (\d+) is on more often where smokes is “(\w+)”", told)
        return found is not None and found[1][0] == "yes" and _along(reading, found[0], made.sources[:, 0]) > 0.6

    label = np.where(on, "yes", "no")
    return Planted(made.data, "smokes", label, latentbits.NoisyOrComponentAnalysis(3, random_state=seed), is_right)


def scales_and_numbers(seed: int) -> Planted:
    """An elevation that falls along a scale."""
    made, rng = make_trait(500, 30, 1, random_state=seed), np.random.default_rng(seed)
    label = np.round(1500 - 300 * made.scores[:, 0] + 200 * rng.standard_normal(500))

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Ss]cale (\d+) (rises|falls) with elevation \(ρ = (−?)0\.\d\d\)", told)
        if found is None or (found[1][0] == "falls") != (found[1][1] == "−"):
            return False
        along = _along(reading, found[0], made.scores[:, 0])
        return along > 0.6 if found[1][0] == "falls" else along < -0.6

    return Planted(made.data, "elevation", label, latentbits.LatentTrait(1, random_state=seed), is_right)


def scales_and_two_words(seed: int) -> Planted:
    """Praise where one of two scales is high, with noise."""
    made, rng = make_trait(600, 30, 2, random_state=seed), np.random.default_rng(seed)
    high = made.scores[:, 0] + 0.7 * rng.standard_normal(600) > 0.3

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Ss]cale (\d+) is higher where review is “(\w+)” \(AUC", told)
        along = 0.0 if found is None else _along(reading, found[0], made.scores[:, 0])
        return found is not None and (along > 0.35 if found[1][0] == "good" else along < -0.35)

    label = np.where(high, "good", "bad")
    return Planted(made.data, "review", label, latentbits.LatentTrait(2, random_state=seed), is_right)


def map_and_numbers(seed: int) -> Planted:
    """An elevation that rises along an axis of a map."""
    made, rng = make_map(600, 80, random_state=seed), np.random.default_rng(seed)
    label = np.round(800 + 300 * made.places[:, 0] + 150 * rng.standard_normal(600))
    compass = {"right": (1, 0), "left": (-1, 0), "top": (0, 1), "bottom": (0, -1)}

    def is_right(told: str, reading: Reading) -> bool:
        groups = reading.values.argmax(axis=1)
        if (found := re.search(r"[Oo]n the map elevation rises toward the ([a-z ]+) \(R", told)) is not None:
            toward = np.sum([compass[word] for word in found[1].split()], axis=0)
            return float(np.corrcoef(reading.places @ toward, made.places[:, 0])[0, 1]) > 0.4
        found = re.search(r"[Ii]n region (\d+) elevation is highest \(median [\d.,]+\), in region (\d+) lowest", told)
        if found is None:
            return False
        high, low = (made.places[groups == int(found[i]) - 1, 0].mean() for i in (1, 2))
        return bool(high > 0.3 and low < -0.3)

    return Planted(made.data, "elevation", label, latentbits.BinaryGTM((8, 8), random_state=seed), is_right)


def switches_and_two_words(seed: int) -> Planted:
    """Whether a switch is on, of which a tenth are wrong."""
    made, rng = make_boltzmann(800, 24, 3, random_state=seed), np.random.default_rng(seed)
    on = made.hidden[:, 0].astype(bool) ^ (rng.random(800) < 0.1)

    def is_right(told: str, reading: Reading) -> bool:
        found = _part(r"[Ss]witch (\d+) is on more often where state is “(\w+)”", told)
        along = 0.0 if found is None else _along(reading, found[0], made.hidden[:, 0])
        return found is not None and (along > 0.35 if found[1][0] == "open" else along < -0.35)

    label = np.where(on, "open", "shut")
    return Planted(made.data, "state", label, latentbits.RestrictedBoltzmann(3, random_state=seed), is_right)


KINDS: dict[str, Callable[[int], Planted]] = {
    "classes, words": classes_and_words,
    "classes, numbers": classes_and_numbers,
    "shares, numbers": shares_and_numbers,
    "shares, words": shares_and_words,
    "causes, two words": causes_and_two_words,
    "scales, numbers": scales_and_numbers,
    "scales, two words": scales_and_two_words,
    "map, numbers": map_and_numbers,
    "switches, two words": switches_and_two_words,
}
