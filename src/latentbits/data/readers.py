"""Readers: how each container in memory gives up a range of its rows.

A reader knows its shape and the names of its rows and columns, and reads rows ``low`` to ``high`` as codes or
as index lists.  It does not know blocks, weights or models.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError
from .block import Codes, Lists
from .checks import BadCells, Labels
from .convert import Binarize, canonical_csr, codes_of_array, codes_of_columns, lists_of_csr, values_of_csr
from .values import Reals, ValueLists


class Reader(Protocol):
    """A table that can be read by row ranges."""

    shape: tuple[int, int]
    labels: Labels
    lazy: bool  # True: read anew on every pass; False: read once into blocks

    def read(self, low: int, high: int, bad: BadCells) -> Codes | Lists | ValueLists:
        """Rows ``low`` to ``high``; unreadable cells are noted in ``bad``."""


class ArrayReader:
    """NumPy arrays, masked arrays and memory maps."""

    def __init__(self, values: Any, binarize: Binarize, columns: list[str] | None = None) -> None:
        self.values, self.binarize = values, binarize
        self.shape = (values.shape[0], values.shape[1])
        self.labels = Labels(columns)
        self.lazy = _memory_mapped(values)

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        rows = self.values[low:high]
        mask = None
        if isinstance(rows, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(rows)
            rows = rows.data
        return codes_of_array(np.asarray(rows), low, bad, self.binarize, mask)


def _memory_mapped(values: Any) -> bool:
    """Whether an array, or what it is a view of, lives in a file."""
    while values is not None:
        if isinstance(values, np.memmap):
            return True
        values = getattr(values, "base", None)
    return False


class SparseReader:
    """SciPy sparse matrices and arrays of every format."""

    lazy = False

    def __init__(self, matrix: Any, binarize: Binarize, columns: list[str] | None = None, rows: Any = None) -> None:
        self.found = BadCells()
        self.csr = canonical_csr(matrix, self.found, binarize)
        self.reals = isinstance(binarize, Reals)
        self.shape = (self.csr.shape[0], self.csr.shape[1])
        self.labels = Labels(columns, rows)

    def read(self, low: int, high: int, bad: BadCells) -> Lists | ValueLists:
        """Index lists of the rows."""
        bad.reals = self.reals
        if self.found.count:  # the whole table was looked at when it was opened
            bad.count, bad.row, bad.column = self.found.count, self.found.row, self.found.column
            bad.value, bad.columns = self.found.value, self.found.columns
        return values_of_csr(self.csr, low, high) if self.reals else lists_of_csr(self.csr, low, high)


class PandasReader:
    """pandas frames with any mix of plain, nullable and Arrow-backed columns."""

    lazy = False

    def __init__(self, frame: Any, binarize: Binarize) -> None:
        self.frame, self.binarize = frame, binarize
        self.shape = frame.shape
        self.labels = Labels([str(name) for name in frame.columns], frame.index)

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        piece = self.frame.iloc[low:high]
        columns = [_pandas_column(piece.iloc[:, j]) for j in range(piece.shape[1])]
        return codes_of_columns(columns, low, len(piece), bad, self.binarize)


def _pandas_column(series: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Values of a pandas column and where it is null."""
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy(), None
    null = series.isna().to_numpy()
    kind = getattr(series.dtype, "kind", "O")
    if kind in "biuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan), null
    return np.asarray(series, dtype=object), null


class PolarsReader:
    """polars frames."""

    lazy = False

    def __init__(self, frame: Any, binarize: Binarize) -> None:
        self.frame, self.binarize = frame, binarize
        self.shape = frame.shape
        self.labels = Labels(list(frame.columns))

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        piece = self.frame.slice(low, high - low)
        columns = [_polars_column(column) for column in piece.get_columns()]
        return codes_of_columns(columns, low, high - low, bad, self.binarize)


def _polars_column(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Values of a polars column and where it is null."""
    if column.dtype.is_numeric() or str(column.dtype) == "Boolean":
        if column.null_count() == 0:
            return column.to_numpy(), None
        filled = column.fill_null(False if str(column.dtype) == "Boolean" else 0)
        return filled.to_numpy(), column.is_null().to_numpy()
    return _objects(column.to_list()), None


def _objects(values: list[Any]) -> NDArray[Any]:
    """Values as an array of objects, also if they are sequences themselves."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


class ArrowReader:
    """pyarrow tables and record batches."""

    lazy = False

    def __init__(self, table: Any, binarize: Binarize) -> None:
        self.table, self.binarize = table, binarize
        self.shape = (table.num_rows, table.num_columns)
        self.labels = Labels([str(name) for name in table.schema.names])

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        return arrow_codes(self.table.slice(low, high - low), low, bad, self.binarize)


def arrow_codes(table: Any, start: int, bad: BadCells, binarize: Binarize) -> Codes:
    """Codes of a pyarrow table whose first row is row ``start``."""
    columns = [_arrow_column(table.column(j)) for j in range(table.num_columns)]
    return codes_of_columns(columns, start, table.num_rows, bad, binarize)


def _arrow_column(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Values of an Arrow column and where it is null."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        null = None if column.null_count == 0 else np.asarray(column.is_null())
        if null is not None:
            column = column.fill_null(pa.scalar(0, pa.int8()).cast(kind))
        return np.asarray(column), null
    return _objects(column.to_pylist()), None


def reader_of(X: Any, binarize: Binarize) -> Reader:
    """The reader for a container in memory."""
    module = type(X).__module__.partition(".")[0]
    shape = getattr(X, "shape", ())
    if sp.issparse(X):
        if len(shape) != 2:
            raise InputError(f"Expected 2D array, got a {len(shape)}-dimensional sparse array. {RESHAPE}")
        return SparseReader(X, binarize)
    if module == "pandas" and hasattr(X, "columns"):
        return _pandas_reader(X, binarize)
    if module == "polars" and hasattr(X, "columns"):
        return PolarsReader(X.collect() if hasattr(X, "collect") else X, binarize)
    if module == "pyarrow" and hasattr(X, "num_columns"):
        return ArrowReader(X, binarize)
    return ArrayReader(_as_array(X), binarize)


def _pandas_reader(frame: Any, binarize: Binarize) -> Reader:
    """The reader for a pandas frame, sparse if all of its columns are."""
    import pandas as pd

    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"the column name {twice!r} occurs more than once; rename one.")
    sparse = [isinstance(kind, pd.SparseDtype) and not kind.fill_value for kind in frame.dtypes]
    if sparse and all(sparse):
        return SparseReader(frame.sparse.to_coo(), binarize, [str(name) for name in frame.columns], frame.index)
    return PandasReader(frame, binarize)


RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if it has a single feature "
    "or array.reshape(1, -1) if it contains a single sample."
)


def _as_array(X: Any) -> Any:
    """A two-dimensional array of array-likes and lists, or an error that says what is wrong."""
    if isinstance(X, np.matrix):
        raise InputTypeError("np.matrix is not supported; pass np.asarray(X).")
    if isinstance(X, np.ndarray):
        out = X
    elif isinstance(X, (str, bytes, dict, set)) or X is None:
        raise InputTypeError(f"a table is needed, not {type(X).__name__!r}.")
    else:
        try:
            out = np.asarray(X)
        except ValueError:
            raise InputError("the rows of the list have different lengths (ragged table).") from None
    if out.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {'scalar array' if out.ndim == 0 else f'{out.ndim}D array'} instead. {RESHAPE}"
        )
    if out.dtype.kind == "U":  # a list that mixes numbers and text arrives here as text
        out = np.asarray(X, dtype=object)
    return out
