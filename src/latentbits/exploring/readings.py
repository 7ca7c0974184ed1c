"""Which models are read: the easiest of the best, and of every other kind of structure that predicts as well one more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..evaluation import Comparison
from ..families import BY_NAME, KINDS
from .fitted import FittedFamily
from .labels import Association

MOST_READINGS = 4


@dataclass(frozen=True)
class Reading:
    """A fitted model beside the rows of the table.

    Attributes
    ----------
    fitted : FittedFamily
    values : (n_rows, K) array
        How much of every component is in every row: chances of classes, shares, chances that a cause is on, scores.
    places : (n_rows, 1 or 2) array or None
        On a map, if the model is one.
    gist : str
        In a line.
    standing : str
        How it predicts beside the best family; empty without a comparison.
    associations : list of Association
        With labels, the strongest first.
    totals : list of float
        Of scales, their rank correlations with the row total.
    """

    fitted: FittedFamily
    values: Any
    places: Any = None
    gist: str = ""
    standing: str = ""
    associations: list[Association] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of the family, for programs."""
        return self.fitted.candidate.name


def families_to_read(found: Comparison) -> list[str]:
    """Names of the families whose models are shown, the leading one first.

    The easiest to read of those within one standard error of the best leads.  Of every other kind of structure that predicts
    as well the easiest family follows, then the best one with several causes per row, as good or not.  The switches of a
    Boltzmann machine are read only where nothing else predicts as well, or nothing else with several causes was compared.
    """
    names, kinds = [found.chosen_], {_kind(found, found.chosen_)}
    near = [row["model"] for row in found.table if row["standing"] in ("best", "near") and row["model"] in BY_NAME]
    near = [name for name in near if found.candidate(name).is_family and found.row(name)["structure"] != "switches"]
    for name in sorted(near, key=lambda name: BY_NAME[name].reading):
        if _kind(found, name) not in kinds and len(names) < MOST_READINGS:
            names.append(name)
            kinds.add(_kind(found, name))
    several = found.multi_cause_
    if several is not None and _kind(found, several) not in kinds:
        names[MOST_READINGS - 1 :] = [several]
    return names


def _kind(found: Comparison, name: str) -> str:
    """How the structure of a family is read; switches are like nothing else."""
    structure = found.row(name)["structure"]
    return structure if structure == "switches" else KINDS.get(structure, "")
