"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="csv, tsv (also gz), parquet file or folder, npz, npy, mtx, transactions, triples (row,column); - is stdin.",
    ),
]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="A model written by `latentbits fit`.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, parquet, npz, npy, mtx, transactions (baskets) or triples (edges); by default told by the name.",
    ),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with row names.")]
LabelColumns = Annotated[
    list[str] | None, typer.Option("--label", help="Column to carry along, not to fit. May be repeated.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Field separator; by default found out.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first line has names.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Text encoding.")]
Binarize = Annotated[float | None, typer.Option("--binarize", help="Cells above this are 1, others 0.")]
Out = Annotated[str | None, typer.Option("--out", "-o", help="Output file (.csv, .csv.gz, .parquet); default: stdout.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Threads; the result does not depend on it.")]


# How a table file is written: asked by every command that reads one.
_HOW_WRITTEN = {
    "format": (Format, None),
    "id_column": (IdColumn, None),
    "label": (LabelColumns, None),
    "delimiter": (Delimiter, None),
    "header": (Header, None),
    "encoding": (Encoding, "utf-8"),
    "binarize": (Binarize, None),
}


_PLAIN = ("format", "id_column", "delimiter", "header")


class TableFile:
    """A table that the command line names; :meth:`open` reads it."""

    def __init__(self, path: str, binarize: float | None, label: list[str] | None, encoding: str, **how: Any) -> None:
        self.path, self.binarize = path, binarize
        self.how = {
            **how,
            "label_columns": label or (),
            "encoding": "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding,
        }

    def like(self, path: str, label: str) -> TableFile:
        """Another table, written like this one; it may have the label column or not."""
        other = TableFile(path, self.binarize, None, "utf-8", **{k: v for k, v in self.how.items() if k in _PLAIN})
        other.how["encoding"] = self.how["encoding"]
        names = other.open(values=True).columns or ()
        other.how["label_columns"] = (label,) if label in names else ()
        return other

    def open(self, estimator: Any = None, values: bool = False) -> Any:
        """The table; for a fitted estimator with its threshold (unless the command line gives one) and its columns.

        With ``values`` the numbers themselves are kept.
        """
        from ..data import read_table
        from ..data.values import REALS

        if estimator is None:
            return read_table(self.path, binarize=REALS if values else self.binarize, **self.how)
        binarize = estimator.binarize if self.binarize is None else self.binarize
        columns = getattr(estimator, "feature_names_in_", None)
        return read_table(self.path, binarize=binarize, columns=columns, **self.how)


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how its table is written; it receives the table as a :class:`TableFile`."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(table: str, **given: Any) -> None:
        how = {name: given.pop(name) for name in _HOW_WRITTEN}
        command(table=TableFile(table, **how), **given)

    own = [p.replace(annotation=TablePath) if p.name == "table" else p for p in signature.parameters.values()]
    shared = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
        for name, (annotation, default) in _HOW_WRITTEN.items()
    ]
    parameters = [*own, *shared]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
