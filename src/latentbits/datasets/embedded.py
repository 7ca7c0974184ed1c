"""Small sets that come with the package, with their attribution."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data import read_table
from ..data.block import UNKNOWN
from ..data.source import TableSource
from ..errors import InputError


@dataclass(frozen=True)
class Dataset:
    """A table with names.

    Attributes
    ----------
    data : (n_rows, n_columns) float array
        0, 1 and NaN for unknown.
    feature_names : list of str
    target : array or None
        Class of every row, where the set has one.
    description : str
        What it is and whom to cite.

    Examples
    --------
    >>> zoo = load("zoo")
    >>> zoo.data.shape, len(zoo.feature_names), zoo.target[:2].tolist()
    ((101, 15), 15, ['mammal', 'mammal'])
    """

    data: np.ndarray
    feature_names: list[str]
    target: Any
    description: str

    @property
    def frame(self) -> Any:
        """The table as a pandas frame.

        Examples
        --------
        >>> load("zoo").frame.columns[:2].tolist()
        ['hair', 'feathers']
        """
        import pandas as pd

        return pd.DataFrame(self.data, columns=self.feature_names)


class _File(NamedTuple):
    file: str
    target: str | None
    aside: tuple[str, ...]
    description: str


UCI = "UCI Machine Learning Repository (Dua & Graff), licence CC BY 4.0."
FILES = {
    "votes": _File(
        "house_votes_84.csv",
        "party",
        ("party",),
        "U.S. House of Representatives 1984: 435 members, 16 votes (1 = yea, 0 = nay, unknown = neither: abstained, "
        f"absent or undisclosed), target = party. Congressional Voting Records, J. Schlimmer, {UCI}",
    ),
    "zoo": _File(
        "zoo.csv",
        "type",
        ("name", "animal", "legs", "type"),
        f"101 animals, 15 traits, target = type. R. Forsyth, {UCI}",
    ),
    "diabetes": _File(
        "early_diabetes_symptoms.csv",
        "class",
        ("age", "gender", "class"),
        f"520 patients, 14 symptoms, target = class. Early Stage Diabetes Risk Prediction, Islam et al. 2020, {UCI}",
    ),
    "spect": _File(
        "spect_heart.csv",
        "overall_diagnosis",
        ("overall_diagnosis", "split"),
        f"267 cardiac scans, 22 findings, target = diagnosis. SPECT Heart, K. Cios, L. Kurgan, {UCI}",
    ),
    "plants": _File(
        "plants_genera_na.csv",
        "genus",
        ("genus",),
        f"1814 plant genera in 70 regions of North America, target = genus. Plants, USDA database, {UCI}",
    ),
}


def path_of(name: str) -> Path:
    """The file of an embedded set."""
    if name not in FILES:
        raise InputError(f"there is no embedded set {name!r}; there are {', '.join(sorted(FILES))}.")
    return Path(str(resources.files(__package__) / "files" / FILES[name].file))


def aside_of(name: str) -> list[str]:
    """Columns of an embedded set that are not cells, in the order of the file."""
    with open(path_of(name), encoding="utf-8") as text:
        header = text.readline().strip().split(",")
    return [column for column in header if column in FILES[name].aside]


def load(name: str) -> Dataset:
    """Load an embedded set by name: votes, zoo, diabetes, spect, plants.

    Examples
    --------
    >>> load("zoo").data.shape
    (101, 15)
    """
    path = path_of(name)
    file = FILES[name]
    table = read_table(path, label_columns=aside_of(name), header=True)
    source = TableSource(table.reader, name)
    codes = np.concatenate([source.block(b).codes() for b in range(source.n_blocks)])
    data = np.where(codes == UNKNOWN, np.nan, codes.astype(float))
    target = np.array(table.labels[file.target]) if file.target in table.labels else None
    return Dataset(data, list(table.columns or []), target, file.description)


def load_votes() -> Dataset:
    """U.S. House votes of 1984, 435 × 16 with abstentions as unknown cells.

    Examples
    --------
    >>> votes = load_votes()
    >>> votes.data.shape, int(np.isnan(votes.data).sum())
    ((435, 16), 392)
    """
    return load("votes")


def load_zoo() -> Dataset:
    """101 animals × 15 traits.

    Examples
    --------
    >>> zoo = load_zoo()
    >>> zoo.data.shape, zoo.feature_names[:2]
    ((101, 15), ['hair', 'feathers'])
    """
    return load("zoo")


def load_diabetes_symptoms() -> Dataset:
    """520 patients × 14 symptoms.

    Examples
    --------
    >>> load_diabetes_symptoms().data.shape
    (520, 14)
    """
    return load("diabetes")


def load_spect_heart() -> Dataset:
    """267 cardiac scans × 22 findings.

    Examples
    --------
    >>> load_spect_heart().data.shape
    (267, 22)
    """
    return load("spect")


def load_plants() -> Dataset:
    """1814 plant genera × 70 regions of North America.

    Examples
    --------
    >>> load_plants().data.shape
    (1814, 70)
    """
    return load("plants")
