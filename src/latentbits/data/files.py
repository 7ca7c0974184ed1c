"""Tables in files: which reader a path gets."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, InputError, TableWarning
from .convert import Binarize
from .readers import ArrayReader, Reader, SparseReader
from .text import read_delimited, read_transactions, read_triples
from .values import REALS

FORMATS = ("csv", "tsv", "parquet", "npz", "npy", "mtx", "transactions", "triples")
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


FOREIGN = {
    ".xlsx": "Excel",
    ".xls": "Excel",
    ".ods": "spreadsheet",
    ".sav": "SPSS",
    ".dta": "Stata",
    ".sas7bdat": "SAS",
}


@dataclass(frozen=True)
class Table:
    """A table from a file: its reader, and the id and label columns that were set aside."""

    reader: Reader
    ids: list[str] | None = None
    id_name: str = "id"
    labels: dict[str, list[str]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return self.reader.shape

    @property
    def columns(self) -> list[str] | None:
        """Names of the cell columns."""
        names = self.reader.labels.columns
        return None if names is None else list(names)


def format_of(path: Path) -> str:
    """The format that a path's name stands for."""
    if path.is_dir():
        return "parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in FOREIGN:
        raise InputError(f"{path}: {FOREIGN[suffixes[-1]]} files are not read; save the table as CSV.")
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
    encoding: str = "utf-8-sig",
    binarize: Binarize = None,
    columns: Sequence[str] | None = None,
    one: Sequence[str] = (),
    zero: Sequence[str] = (),
    blank: Sequence[str] = (),
) -> Table:
    """Open a table in a file.

    Parameters
    ----------
    path : str or path
        CSV/TSV (also ``.gz``), Parquet file or folder, ``.npz`` (dense or sparse), ``.npy`` (memory-mapped),
        ``.mtx``, a transaction list, long triples; ``"-"`` reads delimited text from standard input.
    format : str, optional
        One of csv, tsv, parquet, npz, npy, mtx, transactions, triples; by default told by the name.
    id_column, label_columns : str, list of str
        Columns that are not cells; they are carried along.
    delimiter, header, encoding
        How delimited text is written; by default found out (the encoding is UTF-8).
    binarize : float, optional
        Cells above it are 1, others 0.
    columns : sequence of str, optional
        Of transaction lists and triples, whose columns are only those that occur: the columns that the table is to have.
        Those that do not occur are 0; others are left out with a warning.
    one, zero, blank : sequence of str
        Of CSV and TSV: further words that stand for 1, 0 and unknown, e.g. ``one=["ja"], zero=["nein"]``; they come before
        the usual ones, so that a table coded 1/2 can be read with ``one=["1"], zero=["2"]``.

    Returns
    -------
    Table
        With ``shape``, ``columns``, ``ids``, ``labels`` and a ``reader`` that any estimator accepts as X.
    """
    place = Path(path)
    standard_input = str(path) == "-"
    if not standard_input and not place.exists():
        raise FileError(f"there is no file {place}.")
    kind = format or ("csv" if standard_input else format_of(place))
    kind = ALIASES.get(kind, kind)
    if kind not in FORMATS:
        raise InputError(f"format {kind!r} is not known; use one of {', '.join(FORMATS)}.")
    if place.is_dir() and kind != "parquet":
        raise FileError(f"{place} is a folder; only Parquet tables may be folders.")
    if kind not in ("csv", "tsv", "parquet", "npz") and (id_column is not None or label_columns):
        raise InputError(f"{kind} tables have no id or label columns to set aside.")
    if (one or zero or blank) and kind not in ("csv", "tsv"):
        raise InputError(f"words for cells (--one, --zero, --blank) are for csv and tsv tables, not for {kind}.")
    if kind in ("csv", "tsv"):
        text = read_delimited(
            path,
            delimiter=delimiter or ("\t" if kind == "tsv" else None),
            header=header,
            id_column=id_column,
            label_columns=label_columns,
            binarize=binarize,
            encoding=encoding,
            one=one,
            zero=zero,
            blank=blank,
        )
        return Table(text.reader, text.ids, id_column or "id", text.labels)
    if kind == "transactions":
        return Table(
            _with_columns(read_transactions(place, delimiter=delimiter, encoding=encoding).reader, columns, place)
        )
    if kind == "triples":
        text = read_triples(place, delimiter=delimiter, header=header, binarize=binarize, encoding=encoding)
        return Table(_with_columns(text.reader, columns, place), text.ids)
    if kind == "parquet":
        from .parquet import ParquetReader

        parquet = ParquetReader(place, binarize, id_column, label_columns)
        return Table(parquet, parquet.ids, id_column or "id", parquet.label_values)
    reader = _read_arrays(place, kind, binarize)
    if id_column is None and not label_columns:
        return Table(reader)
    beside = _arrays_beside(place, reader.shape[0], [*([id_column] if id_column is not None else []), *label_columns])
    ids = None if id_column is None else beside[id_column]
    return Table(reader, ids, id_column or "id", {name: beside[name] for name in label_columns})


def _arrays_beside(path: Path, n_rows: int, names: Sequence[str]) -> dict[str, list[str]]:
    """Arrays of an ``.npz`` with one entry per row, as text."""
    with np.load(path, allow_pickle=False) as parts:
        fitting = [name for name in parts.files if parts[name].shape == (n_rows,)]
        for name in names:
            if name not in fitting:
                shown = ", ".join(fitting) or "none"
                raise InputError(f"{path} has no array {name!r} with one entry per row; those it has: {shown}.")
        return {name: [str(value) for value in parts[name].tolist()] for name in names}


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
    return SparseReader(matrix, REALS if reader.reals else None, list(number), reader.labels.rows)


def _read_arrays(path: Path, kind: str, binarize: Binarize) -> Reader:
    """Reader of an array file."""
    try:
        if kind == "npy":
            with open(path, "rb") as file:
                if file.read(6) != b"\x93NUMPY":
                    raise FileError(f"{path} is not a .npy file.")
            return _two_dimensional(path, np.load(path, mmap_mode="r", allow_pickle=False), binarize)
        if kind == "mtx":
            from scipy.io import mmread

            # Newer releases of SciPy want to know which class; older ones have no choice.
            options = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
            matrix = mmread(path, **options)
            return SparseReader(matrix, binarize) if sp.issparse(matrix) else ArrayReader(matrix, binarize)
        return _read_npz(path, binarize)
    except InputError:
        raise
    except (ValueError, OSError, EOFError, KeyError, OverflowError, zipfile.BadZipFile) as error:
        raise FileError(f"{path} is not a readable .{kind} table ({error}).") from None


def _two_dimensional(path: Path, values: Any, binarize: Binarize, names: Any = None) -> ArrayReader:
    """Reader of a dense array from a file."""
    if values.ndim != 2:
        raise FileError(f"{path} holds an array of {values.ndim} dimensions; a table has 2.")
    return ArrayReader(values, binarize, names)


def _read_npz(path: Path, binarize: Binarize) -> Reader:
    """Reader of an ``.npz``: a sparse table in its usual parts, or one dense array."""
    if not zipfile.is_zipfile(path):
        raise FileError(f"{path} is not an .npz archive.")
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as parts:
        names = set(parts.files)
        if {"data", "indices", "indptr", "shape"} <= names:
            shape = (int(parts["shape"][0]), int(parts["shape"][1]))
            columns = _column_names(parts, shape[1])
            if "format" in names:
                return SparseReader(sp.load_npz(path), binarize, columns)
            matrix = sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
            return SparseReader(matrix, binarize, columns)
        if "format" in names:
            return SparseReader(sp.load_npz(path), binarize)
        if {"n_vars", "train"} <= names:  # splits of a benchmark, eight cells to a byte
            splits = [parts[split] for split in ("train", "valid", "test") if split in names]
            return ArrayReader(np.unpackbits(np.concatenate(splits), axis=1, count=int(parts["n_vars"])), binarize)
        tables = [name for name in parts.files if parts[name].ndim == 2]
        chosen = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
        if chosen is None:
            raise FileError(
                f"{path} holds the arrays {', '.join(sorted(names)) or '(none)'}; expected a sparse table "
                "(data, indices, indptr, shape), an array X, or one two-dimensional array."
            )
        values = parts[chosen]
        return _two_dimensional(path, values, binarize, _column_names(parts, values.shape[1]))


def _column_names(parts: Any, n_columns: int) -> list[str] | None:
    """Column names stored beside the table, if there are any of the right number."""
    for key in ("feature_names", "columns", "words", "author_names", "tag", "dependency"):
        if key in parts.files and parts[key].shape == (n_columns,):
            return [str(name) for name in parts[key]]
    return None
