"""Tables for people (terminal) and for programs (files); files appear whole or not at all."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ..errors import InputError, LatentBitsWarning


class _Teller:
    """Shows our warnings as one line each on standard error, none twice."""

    def __init__(self) -> None:
        self.others, self.seen = warnings.showwarning, set[str]()

    def __call__(self, message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, LatentBitsWarning):
            self.others(message, category, *place, **more)
        elif str(message) not in self.seen:
            self.seen.add(str(message))
            print(f"warning: {message}", file=sys.stderr)


@contextmanager
def told() -> Iterator[None]:
    """Warnings as one line each on standard error, as soon as they are raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LatentBitsWarning)
        if not isinstance(warnings.showwarning, _Teller):
            warnings.showwarning = _Teller()
        yield


MOST_ROWS = 40  # on a terminal
WIDEST = 30  # characters of a cell there


def on_terminal() -> bool:
    """Whether somebody reads standard output, not a program."""
    return sys.stdout.isatty()


def check_target(out: str | None, as_json: bool = False) -> None:
    """Refuse an output that could not be written, before the work is done."""
    if out is None:
        return
    from ..data.writing import SUFFIXES

    if as_json:
        raise InputError(f"--json prints to standard output; leave out --out {out}, or send the output there with >.")
    if not out.endswith(SUFFIXES):
        raise InputError(f"{out}: the output must be one of {', '.join(SUFFIXES)}.")
    if Path(out).is_dir():
        raise InputError(f"{out} is a folder; name a file.")
    if Path(out).is_symlink():
        from ..data.replacing import followed

        followed(Path(out))


# Whether text that a spreadsheet would take for a formula is guarded; set by --safe-csv.
SAFE_CSV: ContextVar[bool] = ContextVar("safe_csv", default=False)


def write_rows(
    rows: list[dict[str, Any]],
    columns: list[str],
    out: str | None,
    as_json: bool = False,
    about: dict[str, Any] | None = None,
) -> None:
    """Write rows to a file; without one as a table on a terminal, as CSV in a pipe, or as JSON.

    The JSON document is a list of the rows; with ``about`` it is that, and the rows are its "table".
    """
    from ..data.writing import delimited, table_bytes

    if as_json:
        listed = [{column: row.get(column) for column in columns} for row in rows]
        write_json(listed if about is None else {**about, "table": listed})
        return
    if out is None and on_terminal():
        show_rows(rows, columns)
        return
    if out is None:
        sys.stdout.write(delimited(rows, columns, ",", SAFE_CSV.get()))
        return
    from ..data.replacing import write_atomically

    write_atomically(Path(out), table_bytes(rows, columns, out, SAFE_CSV.get()))
    print(f"wrote {len(rows)} rows to {out}", file=sys.stderr)


def write_json(document: Any) -> None:
    """A JSON document on standard output; numbers that are none become null."""
    json.dump(_plain(document), sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    """A value in JSON's own kinds."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def show_rows(rows: list[dict[str, Any]], columns: list[str]) -> None:
    """The first rows, and the columns that fit, as a table on the terminal; a last line says what is left out."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    first = rows[:MOST_ROWS]
    cells = {column: [_shown(row.get(column)) for row in first] for column in columns}
    fitting = _fitting(cells, columns, getattr(columns, "labels", ()), console.width)
    table = Table()
    for column in fitting:
        is_number = all(isinstance(row.get(column), (int, float, type(None))) for row in first)
        table.add_column(Text(column), justify="right" if is_number else "left", overflow="ellipsis", no_wrap=True)
    for i in range(len(first)):
        table.add_row(*(Text(cells[column][i]) for column in fitting))
    console.print(table)
    n_rows, n_columns = len(rows) - len(first), len(columns) - len(fitting)
    left = [f"{n} more {what}{'' if n == 1 else 's'}" for n, what in ((n_rows, "row"), (n_columns, "column")) if n]
    if left:
        console.print(Text(f"and {' and '.join(left)}; > table.csv or --json gives all"), soft_wrap=True)


def _shown(value: Any) -> str:
    """A value as a terminal shows it: four digits are enough, and unknown is empty."""
    if value is None or value != value:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _fitting(cells: dict[str, list[str]], columns: list[str], labels: Collection[str], width: int) -> list[str]:
    """The columns that fit beside each other, at least two: the first, then what is no label, then the labels."""
    first, others = columns[:1], columns[1:]
    wanted = [*first, *(c for c in others if c not in labels), *(c for c in others if c in labels)]
    used = 1
    fitting: set[str] = set()
    for column in wanted:
        used += 3 + max(map(len, [column, *cells[column]]))
        if used > width and len(fitting) >= 2:
            break
        fitting.add(column)
    return [column for column in columns if column in fitting]


class Columns(list[str]):
    """Names of columns; the ``labels`` among them are carried along, and are left out first where not all fit."""

    labels: Collection[str] = ()


def matrix_rows(matrix: Any, names: list[str], table: Any) -> tuple[list[dict[str, Any]], Columns]:
    """Rows of a matrix with the id and label columns of its table in front."""
    front: dict[str, list[str]] = dict(table.labels) if table is not None else {}
    if table is not None and table.ids is not None:
        front = {_free(table.id_name, set(front)): table.ids, **front}
    taken, names = set(front), list(names)
    for j, name in enumerate(names):
        names[j] = _free(name, taken)
        taken.add(names[j])
    rows = []
    for i, values in enumerate(matrix.tolist()):
        row: dict[str, Any] = {name: column[i] for name, column in front.items()}
        row.update(zip(names, values))
        rows.append(row)
    columns = Columns([*front, *names])
    columns.labels = set() if table is None else set(table.labels)
    return rows, columns


def _free(name: str, taken: set[str]) -> str:
    """The name, with underscores behind it until it is not taken."""
    while name in taken:
        name += "_"
    return name


def components_of(estimator: Any, top: int = 8) -> list[dict[str, Any]]:
    """The components as rows; of maps the regions, there being too many nodes to list."""
    rows: list[dict[str, Any]] = (
        estimator.regions_table(top=top) if hasattr(estimator, "regions_table") else estimator.components_table(top)
    )
    return rows


def show_components(estimator: Any, top: int = 8) -> None:
    """The components as a readable table on standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..families import family_of

    is_map = hasattr(estimator, "regions_table")
    rows = components_of(estimator, top)
    family, names = family_of(type(estimator)), list(dict.fromkeys(row["component"] for row in rows))
    shown = names if is_map else estimator._described_names()
    table = Table(title=family.counted(len(names)) + " of the map" * is_map, title_justify="left")
    table.add_column(family.noun)
    table.add_column("share", justify="right")
    what = "probability here" if "probability" in rows[0] else "loading"
    table.add_column(f"features that stand out ({what} / share of ones overall)")
    for name, described in zip(names, shown):
        mine = [row for row in rows if row["component"] == name]
        if hasattr(estimator, "leak_"):  # features without a link say nothing here
            mine = [row for row in mine if row["probability"] >= 0.01] or mine[:1]
        value = "probability" if "probability" in mine[0] else "loading"
        text = ", ".join(f"{row['feature']} {row[value]:.2f}/{row['marginal']:.2f}" for row in mine)
        weight = mine[0]["weight"]
        share = "" if weight != weight else f"{weight:.1%}"  # hidden units have none
        table.add_row(Text(described), share, Text(text))
    Console(width=None if on_terminal() else 120).print(table)
