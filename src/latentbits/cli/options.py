"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CellError, InputError

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="csv, tsv (also gz), parquet file or folder, npz, npy, mtx, transactions, triples (row,column); - is stdin.",
    ),
]
MaybeTablePath = Annotated[str | None, typer.Argument(metavar="TABLE", help="As elsewhere, or a data set by its name.")]
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
One = Annotated[list[str] | None, typer.Option("--one", help="Word that stands for 1 in csv and tsv. May be repeated.")]
Zero = Annotated[
    list[str] | None, typer.Option("--zero", help="Word that stands for 0 in csv and tsv. May be repeated.")
]
Blank = Annotated[
    list[str] | None, typer.Option("--blank", help="Word that stands for no answer in csv and tsv. May be repeated.")
]
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
    "one": (One, None),
    "zero": (Zero, None),
    "blank": (Blank, None),
}


_PLAIN = ("format", "id_column", "delimiter", "header")


class TableFile:
    """A table that the command line names; :meth:`open` reads it."""

    def __init__(self, path: str, binarize: float | None, label: list[str] | None, encoding: str, **how: Any) -> None:
        self.path, self.binarize = path, binarize
        self.called: str | None = None
        self.command = "explore"
        self.how = {
            **how,
            "one": how.get("one") or (),
            "zero": how.get("zero") or (),
            "blank": how.get("blank") or (),
            "label_columns": label or (),
            "encoding": "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding,
        }

    @property
    def name(self) -> str:
        """What results about the table are called."""
        return self.called or ("stdin" if self.path == "-" else Path(self.path).name.split(".")[0] or "table")

    @property
    def is_text(self) -> bool:
        """Whether it is a file of delimited text, which can be looked at again."""
        kind = self.how["format"] or (
            "" if self.path == "-" else Path(self.path).name.removesuffix(".gz").rpartition(".")[2]
        )
        return self.path != "-" and kind in ("csv", "tsv", "txt") and Path(self.path).is_file()

    def given(self) -> list[str]:
        """The options that say how it is written, as they are typed."""
        out = [] if self.how["encoding"] == "utf-8-sig" else ["--encoding", self.how["encoding"]]
        for option, name in (("--format", "format"), ("--delimiter", "delimiter"), ("--id", "id_column")):
            out += [] if self.how[name] is None else [option, self.how[name]]
        if self.how["header"] is not None:
            out.append("--header" if self.how["header"] else "--no-header")
        for option, name in (("--label", "label_columns"), ("--one", "one"), ("--zero", "zero"), ("--blank", "blank")):
            for word in self.how[name]:
                out += [option, word]
        return out

    def settings(self) -> dict[str, Any]:
        """How to find and read it again, for ``run.toml``."""
        path = self.path if self.path == "-" else str(Path(self.path).absolute())
        found = {"path": path, "binarize": self.binarize, **self.how}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items() if value != ()}

    @staticmethod
    def of_settings(found: dict[str, Any]) -> TableFile:
        """The table that settings name."""
        plain = {name: found.get(name) for name in _PLAIN}
        table = TableFile(found["path"], found.get("binarize"), found.get("label_columns"), "utf-8", **plain)
        table.how.update(encoding=found.get("encoding", "utf-8-sig"))
        table.how.update({name: tuple(found.get(name, ())) for name in ("one", "zero", "blank")})
        return table

    def known_set(self) -> TableFile:
        """This table, or the embedded or prepared data set that is called so."""
        from ..datasets import PREPARED, fetch
        from ..datasets.embedded import FILES, aside_of, path_of

        if self.path == "-" or Path(self.path).exists() or (self.path not in FILES and self.path not in PREPARED):
            return self
        if self.path in PREPARED:
            return self._at(str(fetch(self.path)))
        found = self._at(str(path_of(self.path)))
        taken = {self.how["id_column"], *self.how["label_columns"]}
        further = [column for column in aside_of(self.path) if column not in taken]
        found.how.update(header=True, label_columns=[*self.how["label_columns"], *further])
        return found

    def _at(self, path: str) -> TableFile:
        """The same table, found elsewhere; it keeps its name."""
        found = TableFile(path, self.binarize, None, "utf-8")
        found.how, found.called, found.command = dict(self.how), self.name, self.command
        return found

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
            return self._checked(read_table(self.path, binarize=REALS if values else self.binarize, **self.how))
        binarize = estimator.binarize if self.binarize is None else self.binarize
        columns = getattr(estimator, "feature_names_in_", None)
        opened = self._checked(read_table(self.path, binarize=binarize, columns=columns, **self.how))
        if columns is not None and opened.columns is not None:
            self._check_columns([str(name) for name in columns], opened.columns)
        return opened

    def _checked(self, opened: Any) -> Any:
        """The table, if its cells are cells; a text table of another kind is told of column by column."""
        from ..data.triage import advice, examine

        found = getattr(opened.reader, "found", None)
        if found is None or not found.count or found.reals or not self.is_text:
            return opened
        how = {name: self.how[name] for name in ("delimiter", "header", "encoding")}
        aside = [self.how["id_column"], *self.how["label_columns"]]
        own = (*self.how["one"], *self.how["zero"], *self.how["blank"])
        columns = examine(self.path, aside=[name for name in aside if name is not None], own=own, **how)
        told = advice(self.path, columns, self.command, self.given())
        if told is not None:
            raise CellError(told)
        return opened

    def _check_columns(self, wanted: list[str], there: list[str]) -> None:
        """Say which columns are missing or too many, before the shapes do not match."""
        missing = [name for name in wanted if name not in there]
        further = [name for name in there if name not in wanted]
        if missing or further:
            parts = [f"has no column {', '.join(map(repr, missing[:3]))}" if missing else ""]
            parts += [
                f"has columns that the model does not know: {', '.join(map(repr, further[:3]))}" if further else ""
            ]
            raise InputError(
                f"{self.path} {' and '.join(part for part in parts if part)} ({len(missing)} missing, {len(further)} too "
                "many). Set columns that are not cells aside with --id and --label, as when the model was fitted."
            )


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how its table is written; it receives the table as a :class:`TableFile`."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(table: str | None = None, **given: Any) -> None:
        how = {name: given.pop(name) for name in _HOW_WRITTEN}
        opened = None if table is None else TableFile(table, **how)
        if opened is not None:
            opened.command = command.__name__.replace("_", "-")
        command(table=opened, **given)

    own = [
        p.replace(annotation=TablePath if p.default is p.empty else MaybeTablePath) if p.name == "table" else p
        for p in signature.parameters.values()
    ]
    shared = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
        for name, (annotation, default) in _HOW_WRITTEN.items()
    ]
    parameters = [*own, *shared]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run
