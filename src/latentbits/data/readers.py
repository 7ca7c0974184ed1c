"""Readers: how each container in memory gives up a range of its rows.

A reader knows its shape and the names of its rows and columns, and reads rows ``low`` to ``high`` as codes or
as index lists.  It does not know blocks, weights or models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError, need
from .block import Codes, Lists
from .checks import BadCells, Labels
from .convert import Binarize, canonical_csr, codes_of_array, lists_of_csr, values_of_csr
from .encoding import ColumnEncoding, words_of
from .matching import codes_of_plan, heard, in_order, plan_of
from .reading import Reading
from .values import Reals, ValueLists

Wanted = Sequence[str] | None  # columns of a fitted model


class Reader(Protocol):
    """A table that can be read by row ranges."""

    shape: tuple[int, int]
    labels: Labels
    lazy: bool  # True: read anew on every pass; False: read once into blocks

    def read(self, low: int, high: int, bad: BadCells) -> Codes | Lists | ValueLists:
        """Rows ``low`` to ``high``; unreadable cells are noted in ``bad``."""


class ArrayReader:
    """NumPy arrays, masked arrays and memory maps."""

    def __init__(
        self, values: Any, binarize: Binarize, columns: list[str] | None = None, reading: Reading | None = None
    ) -> None:
        self.values, self.binarize, self.reading = values, binarize, reading
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

    def __init__(
        self,
        matrix: Any,
        binarize: Binarize,
        columns: list[str] | None = None,
        rows: Any = None,
        reading: Reading | None = None,
    ) -> None:
        self.found, self.reading = BadCells(), reading
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


class FrameReader:
    """Frames in memory: named columns, read as a plan says; subclasses know how a column is got."""

    lazy = False

    def __init__(self, frame: Any, names: list[str], n_rows: int, reading: Reading, wanted: Wanted = None) -> None:
        self.frame, self.n_rows = frame, n_rows
        self.all_names, self.aside = names, reading.aside
        self.plan, self.fitted = plan_of(names, reading.encoding, self.words, self.aside, wanted), wanted is not None
        self.reading = replace(reading, encoding=self.plan.encoding)
        self.shape = (n_rows, len(self.plan.names))
        self.labels = Labels(self.plan.names)

    def column(self, j: int, low: int, high: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of column ``j`` and where it is null."""
        raise NotImplementedError

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        return codes_of_plan(self.plan, lambda j: self.column(j, low, high), high - low, low, bad)

    def finish(self) -> None:
        """Once all rows have been read: remember the values that were met, and tell of words that were not."""
        self.reading = replace(self.reading, encoding=heard(self.plan, self.fitted))

    def words(self, j: int) -> list[str]:
        """Values of a column as words, blanks empty."""
        return words_of(*self.column(j, 0, self.n_rows))

    def value_counts(self) -> list[tuple[str, dict[str, int]]]:
        """How often every word occurs in each column that is not set aside."""
        return [(name, Counter(self.words(j))) for j, name in enumerate(self.all_names) if name not in self.aside]


class PandasReader(FrameReader):
    """pandas frames with any mix of plain, nullable and Arrow-backed columns."""

    def __init__(self, frame: Any, reading: Reading, wanted: Wanted = None) -> None:
        super().__init__(frame, [str(name) for name in frame.columns], len(frame), reading, wanted)
        self.labels = Labels(self.plan.names, frame.index)

    def column(self, j: int, low: int, high: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a column and where it is null."""
        series = self.frame.iloc[low:high, j]
        if isinstance(series.dtype, np.dtype):
            return series.to_numpy(), None
        null = series.isna().to_numpy()
        if getattr(series.dtype, "kind", "O") in "biuf":
            return series.to_numpy(dtype=np.float64, na_value=np.nan), null
        return np.asarray(series, dtype=object), null


class ArrowReader(FrameReader):
    """pyarrow tables."""

    def __init__(self, table: Any, reading: Reading, wanted: Wanted = None) -> None:
        super().__init__(table, [str(name) for name in table.schema.names], table.num_rows, reading, wanted)

    def column(self, j: int, low: int, high: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a column and where it is null."""
        return arrow_column(self.frame.column(j).slice(low, high - low))


class ColumnsReader(FrameReader):
    """Columns of a file that was read whole: values and where they are null."""

    def __init__(self, names: list[str], columns: Sequence[Any], n_rows: int, reading: Reading, wanted: Wanted) -> None:
        super().__init__(columns, names, n_rows, reading, wanted)
        for j, (place, how) in enumerate(zip(self.plan.places, self.plan.encodings)):
            if columns[place].codes and type(how) is ColumnEncoding:  # labels may be called by their numbers
                self.plan.encodings[j] = ColumnEncoding(how.binarize, how.own, how.rule, columns[place].codes)

    def column(self, j: int, low: int, high: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Values of a column and where it is null."""
        values, null, _ = self.frame[j]
        return values[low:high], None if null is None else null[low:high]


def arrow_column(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Values of an Arrow column and where it is null."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        null = None if column.null_count == 0 else np.asarray(column.is_null())
        if null is not None:
            column = column.fill_null(pa.scalar(0, pa.int8()).cast(kind))
        return np.asarray(column), null
    return _objects(column.to_pylist()), None


def _objects(values: list[Any]) -> NDArray[Any]:
    """Values as an array of objects, also if they are sequences themselves."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out


def _is_arrow(X: Any) -> bool:
    """Whether a table gives itself away as Arrow data; frames of early releases of polars do so in their own way."""
    polars = type(X).__module__.partition(".")[0] == "polars" and hasattr(type(X), "to_arrow")
    return polars or hasattr(type(X), "__arrow_c_stream__") or hasattr(type(X), "__arrow_c_array__")


def _stream_reader(X: Any, reading: Reading, wanted: Wanted) -> Reader:
    """Anything that gives itself away as a stream of Arrow batches; what is lazy comes in batch by batch.

    Cells of a lazy table are kept, its values are not.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise need("pyarrow", "pyarrow", f"A table of the kind {type(X).__name__!r}") from None
    try:
        if type(X).__module__.partition(".")[0] == "polars":
            return ArrowReader(X.to_arrow(), reading, wanted)
        if isinstance(X, pa.Table) or not hasattr(X, "__arrow_c_stream__"):
            return ArrowReader(pa.table(X), reading, wanted)
        with pa.RecordBatchReader.from_stream(X) as batches:
            unknown = any(rule.indicators and rule.levels is None for rule in reading.encoding.rules)
            if unknown or (reading.aside and wanted is None):  # values are needed, not the cells alone
                return ArrowReader(batches.read_all(), reading, wanted)
            return _read_batches(X, batches, reading, wanted)
    except pa.ArrowException as error:
        raise InputTypeError(f"the table cannot be read as Arrow data ({str(error).splitlines()[0]}).") from None


def _read_batches(X: Any, batches: Any, reading: Reading, wanted: Wanted) -> Reader:
    """Cells of a stream."""
    none = ArrowReader(batches.schema.empty_table(), reading, wanted)  # knows the columns
    bad, codes, n_rows = BadCells(), [none.read(0, 0, BadCells())], 0
    for batch in batches:
        columns = [arrow_column(column) for column in batch.columns]
        codes.append(codes_of_plan(none.plan, columns.__getitem__, batch.num_rows, n_rows, bad))
        n_rows += batch.num_rows
    if n_rows == 0 and type(X).__name__ == "RecordBatchReader":
        raise InputError(
            "the stream of batches is at its end; it can be read once. Read it into a table first: X.read_all()."
        )
    none.finish()
    return CodesReader(np.concatenate(codes), none.labels, bad, none.reading)


class CodesReader:
    """A table of codes in memory."""

    lazy = False

    def __init__(self, codes: Codes, labels: Labels, found: BadCells, reading: Reading | None = None) -> None:
        self.codes, self.labels, self.found, self.reading = codes, labels, found, reading
        self.shape = (codes.shape[0], codes.shape[1])

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        bad.reals = self.found.reals
        if low == 0 and self.found.count:
            bad.note(np.array([self.found.row]), np.array([self.found.column]), [self.found.value])
            bad.count, bad.columns = self.found.count, self.found.columns
        return self.codes[low:high]


def reader_of(X: Any, binarize: Binarize, reading: Reading | None = None, wanted: Wanted = None) -> Reader:
    """The reader for a container in memory.

    ``reading`` says how values of frames become cells, ``wanted`` which columns they must have.
    """
    how = Reading() if reading is None else reading
    if binarize is not None:
        how = replace(how, encoding=replace(how.encoding, binarize=binarize))
    module = type(X).__module__.partition(".")[0]
    shape = getattr(X, "shape", ())
    if sp.issparse(X):
        if len(shape) != 2:
            raise InputError(f"Expected 2D array, got a {len(shape)}-dimensional sparse array. {RESHAPE}")
        return SparseReader(X, binarize)
    if module == "pandas" and hasattr(X, "columns"):
        return _pandas_reader(X, how, wanted)
    if module == "polars" and hasattr(X, "collect"):
        X = X.collect()
    if _is_arrow(X) and len(getattr(X, "shape", ())) != 1:
        return _stream_reader(X, how, wanted)
    return ArrayReader(_as_array(X), binarize)


def _pandas_reader(frame: Any, reading: Reading, wanted: Wanted) -> Reader:
    """The reader for a pandas frame, sparse if all of its columns are."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"the column name {twice!r} occurs more than once; rename one.")
    if is_sparse_frame(frame) and reading.encoding.is_plain and not reading.aside:
        names, binarize = [str(name) for name in frame.columns], reading.encoding.binarize
        reader: Reader = in_order(SparseReader(frame.sparse.to_coo(), binarize, names, frame.index, reading), wanted)
        return reader
    return PandasReader(frame, reading, wanted)


def is_sparse_frame(frame: Any) -> bool:
    """Whether all columns of a pandas frame store only what is not 0."""
    import pandas as pd

    sparse = [isinstance(kind, pd.SparseDtype) and not kind.fill_value for kind in frame.dtypes]
    return bool(sparse) and all(sparse)


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
