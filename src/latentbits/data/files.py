"""Tables in files: which reader a path gets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, InputError, InputTypeError, TableWarning
from .arrays import arrays_beside, read_arrays
from .checks import Labels, warn_of_repeated_ids
from .convert import Binarize
from .encoding import Encoding
from .formats import FIELD_FORMATS, GENE_CSV, SHEETS
from .formats.genes import is_gene_table
from .matching import in_order
from .numbers import check_threshold, number_of
from .raw import RawTable, values_of
from .readers import ArrayReader, ColumnsReader, Reader, SparseReader, reader_of
from .reading import Reading
from .rules import Rule, rules_of, words_given
from .store import stored
from .text import (
    UTF8,
    check_delimiter,
    delimiter_of,
    looks_like_header,
    opened,
    read_delimited,
    read_transactions,
    set_aside,
)
from .triples import read_triples
from .values import REALS, Reals

FIELDS = {suffix.removeprefix("."): field_format for suffix, field_format in FIELD_FORMATS.items()}
FORMATS = ("csv", "tsv", "parquet", "npz", "npy", "mtx", "transactions", "triples", *FIELDS)
FRAMES = ("csv", "tsv", "parquet")
LISTS = ("triples", "edges", "transactions", "baskets")
MAYBE_LISTS = (".csv", ".tsv", ".txt", ".tab", ".parquet", ".pq", "")  # files that may hold them
ALIASES = {"baskets": "transactions", "edges": "triples"}
SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
    ".mtx": "mtx",
    ".dat": "transactions",
    ".basket": "transactions",
    ".baskets": "transactions",
    ".transactions": "transactions",
    ".triples": "triples",
    ".edges": "triples",
}


@dataclass(frozen=True)
class Table:
    """A table from a file: its reader, and the id and label columns that were set aside.

    Parameters
    ----------
    reader : object
        What gives the rows.
    ids : list or None
        Names of the rows.
    id_name : str or None
        Name of the column that they came from.
    labels : dict
        Label columns by name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbits.data import read_table
    >>> place = Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = place.write_text("who,tea,milk\\nann,yes,no\\nbob,no,?\\n")
    >>> table = read_table(place, id_column="who")
    >>> table.shape, table.columns, list(table.ids)
    ((2, 2), ['tea', 'milk'], ['ann', 'bob'])
    """

    reader: Reader
    ids: list[str] | None = None
    id_name: str = "id"
    labels: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        warn_of_repeated_ids(self.ids, self.id_name)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return self.reader.shape

    @property
    def reading(self) -> Reading | None:
        """How the table was read."""
        return getattr(self.reader, "reading", None)

    @property
    def holds_numbers(self) -> bool:
        """Whether numbers stay numbers."""
        return self.reading is not None and isinstance(self.reading.encoding.binarize, Reals)

    @property
    def columns(self) -> list[str] | None:
        """Names of the cell columns."""
        names = self.reader.labels.columns
        return None if names is None else list(names)


def encode(
    frame: Any,
    rules: Mapping[str, Any] | None = None,
    *,
    id_column: str | None = None,
    label_columns: Sequence[str] = (),
    binarize: Binarize = None,
    one: Sequence[str] = (),
    zero: Sequence[str] = (),
    blank: Sequence[str] = (),
) -> Table:
    """Make cells of the values of a frame.

    Parameters
    ----------
    frame : pandas frame, polars frame, pyarrow table, or anything that gives itself away as a stream of Arrow batches
    rules : dict, optional
        By column (a name, a pattern ``"q*"`` or a range ``"q1..q9"``) how it is read: ``{"ones": [4, 5]}``, values that are
        1, all others 0; ``{"above": 3}``, a threshold; ``"ticked"``, anything is 1 and nothing is 0; ``"indicators"``, one
        column per value, named ``column=value``; ``{"indicators": ";"}``, the same of cells that hold several values.
    id_column, label_columns : str, list of str
        Columns that are not cells; they are carried along.
    binarize, one, zero, blank
        As in :func:`read_table`.

    Returns
    -------
    Table
        Any estimator accepts it as X, and a model that is fitted to it reads other frames of the kind by itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbits.data import encode, open_source
    >>> answers = pd.DataFrame({"q1": [5, 2, None], "q2": [1, 4, 3], "radio": ["Radio", None, None]})
    >>> table = encode(answers, {"q*": {"ones": [4, 5]}, "radio": "ticked"})
    >>> open_source(table).block(0).codes().tolist()
    [[1, 0, 1], [0, 1, 0], [2, 0, 0]]
    """
    if not isinstance(binarize, Reals):
        check_threshold(binarize)
    words = {name: words_given(name, given) for name, given in (("one", one), ("zero", zero), ("blank", blank))}
    labels = words_given("label_columns", label_columns)
    id_column = None if id_column is None else str(id_column)
    how = Reading(Encoding(binarize, rules=rules_of({} if rules is None else rules), **words), id_column, labels)
    reader: Any = reader_of(frame, None, how)
    if reader.reading is None:
        raise InputTypeError(f"a frame with named columns is needed, not {type(frame).__name__!r}.")
    beside = {}
    if how.aside:
        set_aside("the frame", reader.all_names, how)
        beside = {name: reader.words(reader.all_names.index(name)) for name in how.aside}
    ids = None if id_column is None else beside[id_column]
    return Table(reader, ids, id_column or "id", {name: beside[name] for name in labels})


def format_of(path: Path) -> str:
    """The format that a path's name stands for."""
    if path.is_dir():
        return "parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in FIELD_FORMATS:
        return suffixes[-1].removeprefix(".")
    if suffixes and suffixes[-1] == ".latentbits":
        raise InputError(f"{path} is a model, not a table.")
    if not suffixes or suffixes[-1] not in SUFFIXES:
        raise InputError(
            f"{path}: the name does not tell the format. Name it with --format (format=...): one of {', '.join(FORMATS)}."
        )
    return SUFFIXES[suffixes[-1]]


def read_table(
    path: Any,
    *,
    format: str | None = None,
    id_column: str | None = None,
    label_columns: Sequence[str] = (),
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    fields: Sequence[str] | None = None,
    sheet: str | None = None,
    layer: str | None = None,
    binarize: Binarize = None,
    columns: Sequence[str] | None = None,
    one: Sequence[str] = (),
    zero: Sequence[str] = (),
    blank: Sequence[str] = (),
    rules: Mapping[str, Any] | Sequence[Rule] = (),
    reading: Reading | None = None,
) -> Table:
    """Open a table in a file.

    Parameters
    ----------
    path : str or path
        CSV/TSV (also ``.gz``), Parquet file or folder, ``.npz`` (dense or sparse), ``.npy`` (memory-mapped),
        ``.mtx``, a transaction list, long triples, and the files of several fields (``.h5ad``, ``.sav``, ``.dta``, ``.xlsx``,
        ``.Rtab``, ``.biom``); ``"-"`` reads delimited text from standard input.
    format : str, optional
        One of csv, tsv, parquet, npz, npy, mtx, transactions, triples, or the suffix of a field's files; by default told by
        the name.
    id_column, label_columns : str, list of str
        Columns that are not cells; they are carried along.
    delimiter, header, encoding
        How delimited text is written; by default found out (the encoding is UTF-8).
    fields : sequence of str, optional
        Of triples: the fields of a line that are row, column and, perhaps, value, by name or by number from 1.
    sheet, layer : str, optional
        Of workbooks the sheet, of ``.h5ad`` files the layer; by default the first sheet, and X.
    binarize : float, optional
        Cells above it are 1, others 0.
    columns : sequence of str, optional
        The columns that the table is to have, in this order; others are left out with a warning.  Of transaction lists and
        triples, whose columns are only those that occur, those that do not occur are 0.
    one, zero, blank : sequence of str
        Further words that stand for 1, 0 and unknown, e.g. ``one=["ja"], zero=["nein"]``; they come before
        the usual ones, so that a table coded 1/2 can be read with ``one=["1"], zero=["2"]``.
    rules : dict
        Columns that are read otherwise; see :func:`latentbits.data.encode`.
    reading : Reading, optional
        How a table of the same kind was read; what is said beside it goes first.

    Returns
    -------
    Table
        With ``shape``, ``columns``, ``ids``, ``labels`` and a ``reader`` that any estimator accepts as X.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> place = Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = place.write_text("who,region,tea,milk\\nann,north,yes,no\\nbob,south,no,?\\n")
    >>> table = read_table(place, id_column="who", label_columns=["region"])
    >>> table.columns, list(table.labels["region"])
    (['tea', 'milk'], ['north', 'south'])
    """
    if not isinstance(binarize, Reals):
        check_threshold(binarize)
    place = Path(path)
    standard_input = str(path) == "-"
    if not standard_input and not os.path.exists(place):  # False for what cannot be a name, too
        raise FileError(f"there is no file {str(place)[:200]}.")
    given: dict[str, Any] = {"format": format, "delimiter": delimiter, "header": header, "encoding": encoding}
    given.update(fields=None if fields is None else list(fields), sheet=sheet, layer=layer)
    how = _reading(place, reading, {name: value for name, value in given.items() if value is not None})
    words: dict[str, Any] = {
        name: words_given(name, word) for name, word in (("one", one), ("zero", zero), ("blank", blank)) if word
    }
    if rules:
        words["rules"] = rules_of(rules) if isinstance(rules, Mapping) else tuple(rules)
    if binarize is not None:
        words["binarize"] = binarize
    how = replace(how, encoding=replace(how.encoding, **words))
    if id_column is not None or label_columns:
        how = replace(
            how, id_column=id_column or how.id_column, label_columns=tuple(label_columns) or how.label_columns
        )
    kind = how.file.get("format") or ("csv" if standard_input else format_of(place))
    kind = ALIASES.get(kind, kind)
    if kind not in FORMATS:
        raise InputError(f"format {kind!r} is not known; use one of {', '.join(FORMATS)}.")
    if place.is_dir() and kind not in ("parquet", "triples"):
        raise FileError(f"{place} is a folder; only Parquet tables may be folders.")
    return _open_kind(path, place, kind, how, columns)


def _reading(place: Path, remembered: Reading | None, given: dict[str, Any]) -> Reading:
    """How the file is written: as said, else as remembered of another of the same kind."""
    if remembered is None:
        return Reading(file=given)
    same = _suffix(place) == remembered.file.get("suffix", _suffix(place))
    kept = ("format", "fields") if remembered.file.get("format") in LISTS and _suffix(place) in MAYBE_LISTS else ()
    known = {name: value for name, value in remembered.file.items() if same or name in ("encoding", *kept)}
    return replace(remembered, file={**known, **given})


def _suffix(place: Path) -> str:
    """How the name of a file ends, packed or not."""
    return Path(place.name.removesuffix(".gz")).suffix.lower()


def _open_kind(path: Any, place: Path, kind: str, how: Reading, columns: Sequence[str] | None) -> Table:
    """The table of a file whose format is known."""
    how = replace(how, file={**how.file, "suffix": _suffix(place)})
    decoded = _decoded(path, place, kind, how)
    if decoded is not None:
        return _of_raw(place, kind, decoded, how, columns)
    if kind not in FRAMES and kind != "npz" and (how.id_column is not None or how.label_columns) and columns is None:
        raise InputError(f"{kind} tables have no id or label columns to set aside.")
    if kind not in FRAMES:
        _check_plain(kind, how, words=kind != "triples" and columns is None)
    if kind in ("csv", "tsv"):
        if kind == "tsv":
            how = replace(how, file={"delimiter": "\t", **how.file})
        text = read_delimited(path, how, columns)
        return Table(text.reader, text.ids, how.id_column or "id", text.labels)
    if kind == "transactions":
        return Table(_with_columns(read_transactions(place, how).reader, columns, place))
    if kind == "triples":
        text = read_triples(path, how, place.is_dir() or place.suffix.lower() in (".parquet", ".pq"))
        return Table(_with_columns(text.reader, columns, place), text.ids)
    if kind == "parquet":
        from .parquet import ParquetReader

        parquet = ParquetReader(place, how, columns)
        return Table(stored(parquet), parquet.ids, how.id_column or "id", parquet.label_values)
    return _of_arrays(place, kind, how, columns)


def _check_plain(kind: str, how: Reading, words: bool) -> None:
    """Refuse rules, and perhaps words, for tables that hold numbers only."""
    if how.encoding.rules or (words and not how.encoding.is_plain):
        raise InputError(
            "words and rules for cells (--one, --zero, --blank, --ones, --above, ...) are for tables of named columns, not "
            f"for {kind}."
        )


def _decoded(path: Any, place: Path, kind: str, how: Reading) -> RawTable | None:
    """The table of a file of a particular field; None if it is none."""
    given = {name: how.file[name] for name in ("sheet", "layer") if name in how.file}
    if kind in FIELDS:
        decode = FIELDS[kind].load()
        odd = [name for name in given if name not in signature(decode).parameters]
        if odd:
            raise InputError(f"{place}: a {odd[0]} cannot be chosen in {kind} files.")
        raw = decode(place, **given)
        return _with_first_row(raw) if FIELDS[kind] in SHEETS and not has_names(raw.names, how) else raw
    if given:
        raise InputError(f"{place}: a {next(iter(given))} cannot be chosen in {kind} files.")
    if kind == "csv" and how.file.get("format") is None and str(path) != "-" and is_gene_table(_header(place, how)):
        return GENE_CSV.load()(place)
    return None


def has_names(names: list[str], how: Reading) -> bool:
    """Whether the first row of a sheet names its columns."""
    told = how.file.get("header")
    return looks_like_header(names) if told is None else bool(told)


def _with_first_row(raw: RawTable) -> RawTable:
    """A sheet without names, whose first row was taken for them."""
    columns = []
    for name, (values, null, _) in zip(raw.names, raw.columns or ()):
        rest = [None if null is not None and null[i] else value for i, value in enumerate(values.tolist())]
        number = number_of(name)
        columns.append(values_of([name if number is None else number, *rest]))
    return RawTable([str(j) for j in range(len(columns))], columns)


def _header(place: Path, how: Reading) -> list[str]:
    """The first line of a text file, if it can be read."""
    with opened(place, how.file.get("encoding", UTF8)) as text:
        first = text.readline()
    separator = check_delimiter(how.file.get("delimiter")) or delimiter_of(first)
    return [word.strip().strip('"') for word in first.split(separator)]


def _of_raw(place: Path, kind: str, raw: RawTable, how: Reading, columns: Sequence[str] | None) -> Table:
    """The table that a decoder found in a file."""
    how = set_aside(place, [*raw.names, *raw.beside], how, columns)
    binarize, aside = how.encoding.binarize, how.aside
    reader: Any
    if raw.columns is not None:
        reader = ColumnsReader(raw.names, raw.columns, raw.n_rows, how, columns)
    else:
        _check_plain(kind, how, words=columns is None)
        made = SparseReader if sp.issparse(raw.matrix) else ArrayReader
        reader = made(raw.matrix, binarize, raw.names, reading=how)
        reader = in_order(reader, columns)
    beside = {name: raw.beside[name] if name in raw.beside else reader.words(raw.names.index(name)) for name in aside}
    ids = raw.ids if how.id_column is None else beside[how.id_column]
    reader.labels = Labels(reader.labels.columns, ids)
    return Table(reader, ids, how.id_column or raw.id_name, {name: beside[name] for name in how.label_columns})


def _of_arrays(place: Path, kind: str, how: Reading, columns: Sequence[str] | None) -> Table:
    """The table of a file of arrays."""
    reader = in_order(read_arrays(place, kind, how), columns)
    names = how.aside
    if not names:
        return Table(reader, None if reader.labels.rows is None else list(reader.labels.rows))
    beside = arrays_beside(place, reader.shape[0], names)
    ids = None if how.id_column is None else beside[how.id_column]
    return Table(reader, ids, how.id_column or "id", {name: beside[name] for name in how.label_columns})


def _with_columns(reader: Any, columns: Sequence[str] | None, place: Path) -> Any:
    """A sparse table with the named columns, whatever columns occur in it."""
    if columns is None or list(columns) == list(reader.labels.columns):
        return reader
    number = {str(name): j for j, name in enumerate(columns)}
    theirs = [number.get(name, -1) for name in reader.labels.columns]
    strange = [name for name, j in zip(reader.labels.columns, theirs) if j < 0]
    if len(strange) == len(theirs):
        raise InputError(f"{place}: none of its columns (first: {strange[0]!r}) is known to the model.")
    if strange:
        warnings.warn(
            f"{place}: {len(strange)} column{'s' * (len(strange) > 1)} that the model does not know left out (first: "
            f"{strange[0]!r}).",
            TableWarning,
            stacklevel=3,
        )
    coo = reader.csr.tocoo()
    to = np.array(theirs)[coo.col]
    kept = to >= 0
    matrix = sp.coo_array((coo.data[kept], (coo.row[kept], to[kept])), shape=(reader.shape[0], len(number)))
    return SparseReader(matrix, REALS if reader.reals else None, list(number), reader.labels.rows, reader.reading)
