"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CellError
from .output import SAFE_CSV, told
from .typed import again, words


def _threshold(text: str) -> float:
    """The number that an option gives."""
    from ..data.numbers import check_threshold, number_of_word

    try:
        number = number_of_word(text)
        check_threshold(number)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None
    return number


TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="csv, tsv (also gz), parquet file or folder, npz, npy, mtx, transactions, triples (row,column); - is stdin; "
        "or a data set by its name (latentbits data list).",
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
Binarize = Annotated[
    float | None,
    typer.Option("--binarize", parser=_threshold, metavar="FLOAT", help="Cells above this are 1, others 0."),
]
One = Annotated[list[str] | None, typer.Option("--one", help="Word that stands for 1 in csv and tsv. May be repeated.")]
Zero = Annotated[
    list[str] | None, typer.Option("--zero", help="Word that stands for 0 in csv and tsv. May be repeated.")
]
Blank = Annotated[
    list[str] | None, typer.Option("--blank", help="Word that stands for no answer in csv and tsv. May be repeated.")
]
Ones = Annotated[
    list[str] | None,
    typer.Option("--ones", help="COLUMNS=VALUES that are 1 there, all others 0, e.g. 'q1..q9=4,5'. May be repeated."),
]
Above = Annotated[
    list[str] | None,
    typer.Option("--above", help="COLUMNS=NUMBER: what is above it is 1 there, e.g. 'q*=3'. May be repeated."),
]
Ticked = Annotated[
    list[str] | None,
    typer.Option("--ticked", help="COLUMNS where anything is 1 and nothing is 0, e.g. 'media_*'. May be repeated."),
]
Indicators = Annotated[
    list[str] | None,
    typer.Option(
        "--indicators",
        help="COLUMNS to open into one column per value; 'COLUMN=;' if cells hold several, separated so. May be repeated.",
    ),
]
Fields = Annotated[
    str | None,
    typer.Option("--fields", help="Of triples: the fields that are row, column and value, e.g. user,item or 1,3."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else on standard output.")]
Sheet = Annotated[str | None, typer.Option("--sheet", help="Of workbooks: the sheet; default: the first.")]
Layer = Annotated[str | None, typer.Option("--layer", help="Of h5ad files: the layer; default: X.")]
Out = Annotated[str | None, typer.Option("--out", "-o", help="Output file (.csv, .csv.gz, .parquet); default: stdout.")]
SafeCsv = Annotated[
    bool,
    typer.Option("--safe-csv", help="In CSV and TSV, put ' before text that a spreadsheet would take for a formula."),
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Threads; the result does not depend on it.")]
Fits = Annotated[int, typer.Option("--jobs", help="Fits at a time; the result does not depend on it.")]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", help="What a table may take in memory, e.g. 2GB; the rest goes to disk. Default: a quarter."
    ),
]


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
    "ones": (Ones, None),
    "above": (Above, None),
    "ticked": (Ticked, None),
    "indicators": (Indicators, None),
    "fields": (Fields, None),
    "sheet": (Sheet, None),
    "layer": (Layer, None),
}


_PLAIN = ("format", "id_column", "delimiter", "header", "fields", "sheet", "layer")
WORDS = ("one", "zero", "blank", "ones", "above", "ticked", "indicators")


class TableFile:
    """A table that the command line names; :meth:`open` reads it."""

    def __init__(self, path: str, binarize: float | None, label: list[str] | None, encoding: str, **how: Any) -> None:
        self.path, self.binarize = path, binarize
        self.called: str | None = None
        self.how: dict[str, Any] = {
            **{name: how.get(name) for name in _PLAIN},
            **{name: tuple(how.get(name) or ()) for name in WORDS},
            "label_columns": tuple(label or ()),
            "encoding": None if encoding.lower() in ("utf-8", "utf8", "utf-8-sig") else encoding,
        }
        self.table: Any = None  # as it was opened last

    @property
    def name(self) -> str:
        """What results about the table are called."""
        return self.called or ("stdin" if self.path == "-" else Path(self.path).name.split(".")[0] or "table")

    def given(self) -> list[str]:
        """The options that say how it is written, as they are typed."""
        out: list[str] = []
        for name in ("encoding", "format", "delimiter", "id_column", "fields", "sheet", "layer"):
            out += [] if self.how[name] is None else [f"--{name.removesuffix('_column')}", self.how[name]]
        if self.how["header"] is not None:
            out.append("--header" if self.how["header"] else "--no-header")
        for name in ("label_columns", *WORDS):
            for word in self.how[name]:
                out += [f"--{name.removesuffix('_columns')}", word]
        return out

    def settings(self) -> dict[str, Any]:
        """How to find and read it again, for ``run.toml``."""
        path = self.path if self.path == "-" else str(Path(self.path).absolute())
        found = {"path": path, "binarize": self.binarize, **self.how}
        told = {key: list(value) if isinstance(value, (tuple, list)) else value for key, value in found.items()}
        return {key: value for key, value in told.items() if value != []}

    @staticmethod
    def of_settings(found: dict[str, Any]) -> TableFile:
        """The table that settings name."""
        how = {name: found.get(name) for name in (*_PLAIN, *WORDS)}
        encoding = found.get("encoding") or "utf-8"
        return TableFile(found["path"], found.get("binarize"), found.get("label_columns"), encoding, **how)

    def known_set(self) -> TableFile:
        """This table, or the embedded or prepared data set that is called so."""
        from ..datasets import PREPARED, fetch
        from ..datasets.embedded import FILES, aside_of, path_of

        if self.path == "-" or os.path.exists(self.path) or (self.path not in FILES and self.path not in PREPARED):
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
        found.how, found.called = dict(self.how), self.name
        return found

    def like(self, path: str, label: str) -> TableFile:
        """Another table, written like this one; it may have the label column or not."""
        how = {name: self.how[name] for name in (*_PLAIN, *WORDS)}
        other = TableFile(path, self.binarize, None, self.how["encoding"] or "utf-8", **how)
        names = other.open(values=True).columns or ()
        other.how["label_columns"] = (label,) if label in names else ()
        return other

    def open(self, estimator: Any = None, values: bool = False) -> Any:
        """The table; for a fitted estimator with its columns, and as its own table was read unless the options say otherwise.

        With ``values`` the numbers themselves are kept.
        """
        from ..data import read_table
        from ..data.reading import Reading
        from ..data.values import REALS

        how: dict[str, Any] = {
            name: self.how[name]
            for name in ("format", "id_column", "delimiter", "header", "encoding", "sheet", "layer")
        }
        how.update({name: self.how[name] for name in ("label_columns", "one", "zero", "blank")}, rules=self._rules())
        how["fields"] = None if self.how["fields"] is None else self.how["fields"].split(",")
        if estimator is None:
            return self._checked(read_table(self.path, binarize=REALS if values else self.binarize, **how))
        if hasattr(estimator, "reading_"):
            how["reading"] = Reading.of_record(estimator.reading_)
        names = getattr(estimator, "feature_names_in_", None)
        columns = None if names is None else [str(name) for name in names]
        binarize = estimator.binarize if self.binarize is None else self.binarize
        return self._checked(read_table(self.path, binarize=binarize, columns=columns, **how))

    def _checked(self, opened: Any) -> Any:
        """The table; cells that are known to be none are told of before rows are looked for."""
        self.table, found = opened, getattr(opened.reader, "found", None)
        if found is not None and not found.reals:
            found.raise_if_any(self.path, opened.reader.labels)
        return opened

    def _rules(self) -> list[Any]:
        """The rules for columns, of what was typed."""
        from ..data.rules import rule_of_text

        return [
            rule_of_text(kind, text) for kind in ("ones", "above", "ticked", "indicators") for text in self.how[kind]
        ]

    def may_be_cut(self, value: Any) -> bool:
        """Whether a threshold would make a cell of a value."""
        counts = isinstance(value, (int, float)) and 0 < value < float("inf")
        return counts and self.binarize is None and self.table is not None and not self.table.holds_numbers

    def diagnosis(self) -> str | None:
        """What the columns are that do not hold cells, and which options mend it."""
        from ..data.triage import advice, columns_of

        if self.table is None or self.table.reader.labels.columns is None or self.table.holds_numbers:
            return None
        columns = columns_of(self.table.reader, None if self.path == "-" else self.path)
        return None if columns is None else advice(self.path, columns, words())


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how its table is written; it receives the table as a :class:`TableFile`."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(table: str | None = None, memory: str | None = None, **given: Any) -> None:
        if memory is None:
            read(table, **given)
            return
        from ..data.store import memory_limit

        with memory_limit(memory):
            read(table, **given)

    def read(table: str | None = None, **given: Any) -> None:
        how = {name: given.pop(name) for name in _HOW_WRITTEN}
        opened = None if table is None else TableFile(table, **how).known_set()
        try:
            with told():
                command(table=opened, **given)
        except CellError as error:
            advice = None if opened is None else opened.diagnosis()
            if advice is None and opened is not None and opened.may_be_cut(error.value):
                advice = f"{error}\nFor example: {again('--binarize', '0')}"
            if advice is None:
                raise
            raise CellError(advice) from None

    own = [
        p.replace(annotation=TablePath if p.default is p.empty else MaybeTablePath) if p.name == "table" else p
        for p in signature.parameters.values()
    ]
    shared = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
        for name, (annotation, default) in _HOW_WRITTEN.items()
    ]
    memory = inspect.Parameter("memory", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Memory)
    parameters = [*own, *shared, memory]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def writes_csv(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--safe-csv``, which :func:`~latentbits.cli.output.write_rows` heeds."""
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def run(*args: Any, safe_csv: bool = False, **given: Any) -> None:
        before = SAFE_CSV.set(safe_csv)
        try:
            command(*args, **given)
        finally:
            SAFE_CSV.reset(before)

    option = inspect.Parameter("safe_csv", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=SafeCsv)
    parameters = [*signature.parameters.values(), option]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def has_output(command: Callable[..., None]) -> bool:
    """Whether a command writes a table where ``--out`` says."""
    return any(p.annotation == Out for p in inspect.signature(command, eval_str=True).parameters.values())
