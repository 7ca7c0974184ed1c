"""What an exploration found, for the files and the page to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.source import Source
from ..evaluation import Comparison, StackedFill
from .analysis import Blanks, FittedFamily
from .facts import Facts

TABLES = ("csv", "parquet")
OUTPUTS = (
    *("report.html", "summary.md", "model.latentbits", "several.latentbits", "stack.latentbits", "run.toml"),
    *(
        f"{name}.{kind}"
        for name in ("comparison", "components", "edges", "modules", "rows", "cells", "blanks", "filled")
        for kind in TABLES
    ),
)


@dataclass(frozen=True)
class Rows:
    """The rows of the table, and what stands beside them.

    Attributes
    ----------
    source : Source
        The table.
    ids : list of str or None
        Names of the rows.
    id_name : str
        What these names are called.
    labels : dict of lists
        Columns that are shown beside the rows, never fitted.
    """

    source: Source
    ids: list[str] | None = None
    id_name: str = "row"
    labels: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What an exploration found.

    Attributes
    ----------
    folder : Path
        Where everything was written.
    name : str
        What the table is called.
    facts : Facts
        What the table looks like.
    comparison : Comparison or None
        Which families predict hidden cells, and how well; None in reports on a model.
    winner : FittedFamily
        The best family, or the easiest to read within one standard error of it, fitted to the whole table;
        ``winner.model`` is the estimator.
    several : FittedFamily or None
        The best family with several causes per row, where that is not the winner.
    map : estimator or None
        A map of the rows.
    rows : Rows
        The table with the names and labels of its rows.
    memberships : (n_rows, K) array
        How much of every component of the winner is in every row.
    look : list of dict
        Cells worth a look.
    blanks : Blanks
        The unknown cells with the probability of a one, by the winner.
    stack : StackedFill or None
        The models that fill blanks together; None if there are no blanks, or the table is too long.
    stacked : array or None
        Their probabilities of the blanks.
    pairs : list of dict
        Pairs of columns that the winner leaves unexplained.
    notes : list of str
        What to doubt.
    settings : dict
        What ``run.toml`` holds.
    tables : {"csv", "parquet"}
    safe_csv : bool
        Whether text that a spreadsheet would take for a formula is guarded in CSV tables.
    seconds : dict
        Time of the steps.
    """

    folder: Path
    name: str
    facts: Facts
    comparison: Comparison | None
    winner: FittedFamily
    several: FittedFamily | None
    map: Any
    rows: Rows
    memberships: Any
    look: list[dict[str, Any]]
    blanks: Blanks
    pairs: list[dict[str, Any]]
    notes: list[str]
    settings: dict[str, dict[str, Any]]
    stack: StackedFill | None = None
    stacked: Any = None
    tables: str = "csv"
    safe_csv: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def filled(self) -> Any:
        """Probabilities of the blanks, by all models together where there are several."""
        return self.blanks.probability if self.stacked is None else self.stacked

    @property
    def filled_by(self) -> str:
        """Who gave them, in words."""
        if self.stack is None:
            return self.winner.title
        titles = [self.comparison.row(n)["title"] for n in self.stack.member_names_] if self.comparison else []
        return " and ".join(f"{title} ({w:.0%})" for title, w in zip(titles, self.stack.weights_))

    @property
    def report(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    def row_name(self, i: int) -> Any:
        """The id of a row, else its number."""
        return self.rows.ids[i] if self.rows.ids is not None else int(i)

    def __repr__(self) -> str:
        verdict = "" if self.comparison is None else f"{self.comparison.verdict}\n"
        return f"{verdict}report: {self.report}"
