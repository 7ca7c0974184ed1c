"""Tables for people (terminal) and for programs (files); files appear whole or not at all."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
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


def check_target(out: str | None) -> None:
    """Refuse an output that could not be written, before the work is done."""
    if out is None:
        return
    from ..data.writing import SUFFIXES

    if not out.endswith(SUFFIXES):
        raise InputError(f"{out}: the output must be one of {', '.join(SUFFIXES)}.")
    if Path(out).is_dir():
        raise InputError(f"{out} is a folder; name a file.")
    if Path(out).is_symlink():
        from ..engine.checkpoint import followed

        followed(Path(out))


# Whether text that a spreadsheet would take for a formula is guarded; set by --safe-csv.
SAFE_CSV: ContextVar[bool] = ContextVar("safe_csv", default=False)


def write_rows(rows: list[dict[str, Any]], columns: list[str], out: str | None) -> None:
    """Write rows to a file, or as CSV to standard output."""
    from ..data.writing import delimited, table_bytes

    if out is None:
        sys.stdout.write(delimited(rows, columns, ",", SAFE_CSV.get()))
        return
    from ..engine.checkpoint import write_atomically

    write_atomically(Path(out), table_bytes(rows, columns, out, SAFE_CSV.get()))
    print(f"wrote {len(rows)} rows to {out}", file=sys.stderr)


def matrix_rows(matrix: Any, names: list[str], table: Any) -> tuple[list[dict[str, Any]], list[str]]:
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
    return rows, [*front, *names]


def _free(name: str, taken: set[str]) -> str:
    """The name, with underscores behind it until it is not taken."""
    while name in taken:
        name += "_"
    return name


def show_components(estimator: Any, top: int = 8) -> None:
    """The components as a readable table on standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..families import family_of

    is_map = hasattr(estimator, "regions_table")  # too many nodes to list
    rows = estimator.regions_table(top=top) if is_map else estimator.components_table(top)
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
    Console(width=None if sys.stdout.isatty() else 120).print(table)
