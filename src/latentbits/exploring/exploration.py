"""What an exploration found, for the files and the page to read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.source import Source
from ..evaluation import Comparison, StackedFill
from ..html import box, joined, line, tag
from .analysis import Blanks
from .facts import Facts
from .fitted import FittedFamily
from .labels import Label
from .leftovers import Leftovers
from .readings import MOST_READINGS, Reading
from .wording import listed, share_told

TABLES = ("csv", "parquet")
OUTPUTS = (
    *("report.html", "summary.md", "model.latentbits", "stack.latentbits", "run.toml"),
    *(f"reading-{i}.latentbits" for i in range(2, MOST_READINGS + 1)),
    *(
        f"{name}.{kind}"
        for name in (
            "comparison",
            "components",
            "edges",
            "modules",
            "rows",
            "labels",
            "pairs",
            "cells",
            "blanks",
            "filled",
        )
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
    readings : list of Reading
        Models fitted to the whole table with what they say of its rows: the one that leads, then those of other kinds of
        structure that predict as well, and the best with several causes per row.
    map : estimator or None
        A map of the rows.
    rows : Rows
        The table with the names and labels of its rows.
    labels : list of Label
        What is known of the rows besides.
    look : list of dict
        Cells worth a look.
    blanks : Blanks
        The unknown cells with the probability of a one, by the winner.
    stack : StackedFill or None
        The models that fill blanks together; None if there are no blanks, or the table is too long.
    stacked : array or None
        Their probabilities of the blanks.
    leftovers : Leftovers
        Pairs of columns that the winner leaves unexplained.
    overview : list of str
        At most three sentences.
    notes : list of str
        What to doubt.
    settings : dict
        What ``run.toml`` holds.
    tables : {"csv", "parquet"}
    safe_csv : bool
        Whether text that a spreadsheet would take for a formula is guarded in CSV tables.
    seconds : dict
        Time of the steps.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> place = Path(tempfile.mkdtemp()) / "zoo"
    >>> found = latentbits.explore(X, place, models=["mixture"], folds=1, budget=0.1)
    >>> found.winner.title.split(" (")[0], found.report.name, found.row_name(0)
    ('Bernoulli mixture', 'report.html', 0)
    """

    folder: Path
    name: str
    facts: Facts
    comparison: Comparison | None
    readings: list[Reading]
    map: Any
    rows: Rows
    labels: list[Label]
    look: list[dict[str, Any]]
    blanks: Blanks
    leftovers: Leftovers
    overview: list[str]
    notes: list[str]
    settings: dict[str, dict[str, Any]]
    stack: StackedFill | None = None
    stacked: Any = None
    tables: str = "csv"
    safe_csv: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def winner(self) -> FittedFamily:
        """The family that leads: the best one, or the easiest to read of those within one standard error of it."""
        return self.readings[0].fitted

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
        return listed([f"{title} ({share_told(w)})" for title, w in zip(titles, self.stack.weights_)])

    @property
    def report(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    def row_name(self, i: int) -> Any:
        """The id of a row, else its number."""
        return self.rows.ids[i] if self.rows.ids is not None else int(i)

    def _repr_html_(self) -> str:
        """Headline, the components of the winner and the files, for notebooks."""
        model = self.winner.title[:1].upper() + self.winner.title[1:]
        files = [file for file in OUTPUTS if (self.folder / file).is_file()]
        return box(
            self.name,
            *(line(sentence) for sentence in self.overview),
            line(f"{model}: {self.winner.family.story}."),
            self.winner.model._drawn_components(),
            line("Report: ", tag("code", self.report.name), " in ", tag("code", self.folder, most=200)),
            line("Files: ", joined(files, ", ")),
        )

    def __repr__(self) -> str:
        return "\n".join([*self.overview, f"report: {self.report}"])
