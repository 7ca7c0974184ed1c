"""SciPy's sparse tables, whose parts must fit together before compiled code walks through them.

SciPy trusts the arrays of a table: an index outside it makes a conversion read and write outside of memory.  So every format
is looked at here part by part, with NumPy alone, and put together anew from copies that were found good.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError


def _damaged(what: str) -> InputError:
    """The error for a table whose parts do not fit together."""
    return InputError(f"the sparse table is damaged: {what}.")


def checked_coo(matrix: Any) -> Any:
    """COO copy of a sparse table of any format, entries of one cell side by side as they were stored.

    Raises
    ------
    InputError
        If the parts of the table do not fit together, or hold no real numbers.
    """
    coo = _rebuilt(matrix).tocoo(copy=False)
    _check_places(coo.row, coo.col, coo.shape)
    return coo


def checked_csr(matrix: Any) -> Any:
    """CSR copy of a sparse table of any format, columns ascending, entries of one cell summed without wrapping.

    Raises
    ------
    InputError
        If the parts of the table do not fit together, or hold no real numbers.
    """
    table = _rebuilt(matrix)
    bits = table.dtype == np.bool_
    table.data = _wide(table.data)
    try:
        csr = table.tocsr()
    except MemoryError:
        raise InputError(f"a sparse table of {table.shape[0]} × {table.shape[1]} does not fit into memory.") from None
    csr.sum_duplicates()
    csr.sort_indices()
    _check_lists(csr.indptr, csr.indices, csr.shape)
    return csr.astype(np.bool_) if bits else csr


def _wide(data: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in a type in which their sums do not wrap."""
    if data.dtype.kind == "f":
        both = (data == np.inf).any() and (data == -np.inf).any()
        return np.where(np.isinf(data), np.inf, data) if both else data  # they would sum to unknown
    if data.dtype.kind == "b" or not len(data):
        return data.astype(np.int64)
    largest = max(abs(int(data.min())), abs(int(data.max())))
    return data.astype(np.int64 if largest * len(data) < 2**63 else np.float64)


def _rebuilt(matrix: Any) -> Any:
    """The table from copies of its parts, as CSR, CSC or COO."""
    shape = _shape(matrix)
    if matrix.format not in _PARTS:
        raise InputTypeError(f"sparse tables of the format {matrix.format!r} are not read; pass X.tocsr().")
    try:
        return _PARTS[matrix.format](matrix, shape)
    except AttributeError as error:
        raise _damaged(str(error)) from None


def _shape(matrix: Any) -> tuple[int, int]:
    """Rows and columns."""
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise InputError(
            f"Expected 2D array, got a {len(shape)}-dimensional sparse array; stack it into two dimensions."
        )
    if not all(isinstance(n, (int, np.integer)) and 0 <= n < 2**62 for n in shape):
        raise _damaged(f"its shape is {shape!r:.60}")
    return int(shape[0]), int(shape[1])


def _from_csr(matrix: Any, shape: tuple[int, int]) -> Any:
    return sp.csr_array(_compressed(matrix, shape), shape=shape)


def _from_csc(matrix: Any, shape: tuple[int, int]) -> Any:
    return sp.csc_array(_compressed(matrix, shape[::-1]), shape=shape)


def _compressed(matrix: Any, shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Data, indices and indptr of a table of ``shape`` lists × places, without what lies behind the last list."""
    indptr, indices = _whole("indptr", matrix.indptr, np.int64), _whole("indices", matrix.indices)
    data = _numbers(matrix.data, 1)
    if len(indices) != len(data):
        raise _damaged(f"it has {len(indices)} indices and {len(data)} values")
    _check_lists(indptr, indices, shape)
    return data[: indptr[-1]], indices[: indptr[-1]], indptr


def _from_bsr(matrix: Any, shape: tuple[int, int]) -> Any:
    """Blocks are lists of places of blocks."""
    indptr, indices = _whole("indptr", matrix.indptr, np.int64), _whole("indices", matrix.indices)
    data = _numbers(matrix.data, 3)
    high, wide = data.shape[1:]
    if min(high, wide) < 1 or shape[0] % high or shape[1] % wide:
        raise _damaged(f"blocks of {high} × {wide} cells do not fill a table of {shape[0]} × {shape[1]}")
    if len(indices) != len(data):
        raise _damaged(f"it has {len(indices)} indices and {len(data)} blocks")
    _check_lists(indptr, indices, (shape[0] // high, shape[1] // wide))
    indices, data = indices[: indptr[-1]], data[: indptr[-1]]
    first = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    rows = np.broadcast_to(first[:, None, None] * high + np.arange(high)[:, None], data.shape)
    columns = np.broadcast_to(indices.astype(np.int64)[:, None, None] * wide + np.arange(wide), data.shape)
    return sp.coo_array((data.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


def _from_coo(matrix: Any, shape: tuple[int, int]) -> Any:
    rows, columns, data = _whole("row", matrix.row), _whole("col", matrix.col), _numbers(matrix.data, 1)
    if not len(rows) == len(columns) == len(data):
        raise _damaged(f"it has {len(rows)} rows, {len(columns)} columns and {len(data)} values")
    _check_places(rows, columns, shape)
    return sp.coo_array((data, (rows, columns)), shape=shape)


def _from_lil(matrix: Any, shape: tuple[int, int]) -> Any:
    """Lists of columns and of values, one of each per row."""
    try:
        counts = [[len(part) for part in parts] for parts in (matrix.rows, matrix.data)]
    except TypeError:
        raise _damaged("a row is no list") from None
    if counts[0] != counts[1] or len(counts[0]) != shape[0]:
        raise _damaged("the rows and the lists of columns and values are not equally many")
    indptr = np.concatenate(([0], np.cumsum(counts[0], dtype=np.int64)))
    indices = _whole("rows", _flat(chain.from_iterable(matrix.rows), np.int64))
    _check_lists(indptr, indices, shape)
    data = _numbers(_flat(chain.from_iterable(matrix.data), matrix.dtype), 1)
    return sp.csr_array((data, indices, indptr), shape=shape)


def _from_dok(matrix: Any, shape: tuple[int, int]) -> Any:
    """Pairs of numbers to values."""
    keys = list(matrix.keys())
    if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
        raise _damaged("a place is no pair of row and column")
    rows, columns = (_whole("keys", _flat((key[axis] for key in keys), np.int64)) for axis in (0, 1))
    _check_places(rows, columns, shape)
    data = _numbers(_flat(matrix.values(), matrix.dtype), 1)
    return sp.coo_array((data, (rows, columns)), shape=shape)


def _from_dia(matrix: Any, shape: tuple[int, int]) -> Any:
    """Diagonals, each as long as the table is wide or shorter; zeros on them are not stored."""
    offsets, data = _whole("offsets", matrix.offsets, np.int64), _numbers(matrix.data, 2)
    if len(offsets) != len(data) or len(np.unique(offsets)) != len(offsets):
        raise _damaged(f"it has {len(data)} diagonals and {len(np.unique(offsets))} places for them")
    inside = (offsets > -shape[0]) & (offsets < shape[1])
    offsets, data = offsets[inside], data[inside, : shape[1]]
    rows = np.arange(data.shape[1]) - offsets[:, None]
    at, columns = np.nonzero((rows >= 0) & (rows < shape[0]) & (data != 0))
    return sp.coo_array((data[at, columns], (rows[at, columns], columns)), shape=shape)


_PARTS = {
    "csr": _from_csr,
    "csc": _from_csc,
    "bsr": _from_bsr,
    "coo": _from_coo,
    "lil": _from_lil,
    "dok": _from_dok,
    "dia": _from_dia,
}


def _flat(values: Any, empty: Any) -> NDArray[Any]:
    """An array of the kind that the values themselves are of; ``empty`` is the kind of none."""
    items = list(values)
    try:
        return np.array(items) if items else np.empty(0, empty)
    except (TypeError, ValueError):
        raise _damaged("its entries are not of one kind") from None


def _whole(name: str, part: Any, kind: Any = None) -> NDArray[Any]:
    """A copy of places as whole numbers, of 32 bits where they are."""
    places = np.asarray(part)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise _damaged(f"its {name} are no list of whole numbers")
    if places.dtype == np.uint64 and len(places) and places.max() > np.iinfo(np.int64).max:
        raise _damaged(f"its {name} hold {places.max()}")
    return np.array(places, kind or (np.int32 if places.dtype == np.int32 else np.int64))


def _numbers(part: Any, ndim: int) -> NDArray[Any]:
    """A copy of values that are real numbers."""
    values = np.asarray(part)
    if values.dtype.kind == "c":
        raise InputTypeError("Complex data not supported: cells must be real numbers.")
    if values.dtype.kind not in "biuf":
        raise InputTypeError(f"sparse tables must hold numbers or booleans, not {values.dtype}.")
    if values.ndim != ndim:
        raise _damaged(f"its values have {values.ndim} dimensions instead of {ndim}")
    return np.array(values, np.float32 if values.dtype == np.float16 else values.dtype.newbyteorder("="))


def _check_lists(indptr: NDArray[Any], indices: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse lists that do not follow each other, or places outside the table."""
    if len(indptr) != shape[0] + 1:
        raise _damaged(f"it has {len(indptr)} ends of lists where {shape[0] + 1} are expected")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > len(indices):
        raise _damaged(f"its lists do not run from 0 up to at most {len(indices)}")
    _check_range(indices[: indptr[-1]], shape[1])


def _check_places(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse places outside the table."""
    _check_range(rows, shape[0])
    _check_range(columns, shape[1])


def _check_range(places: NDArray[Any], limit: int) -> None:
    """Refuse places outside 0 to ``limit`` - 1."""
    if len(places) and (places.min() < 0 or places.max() >= limit):
        raise _damaged(f"an index lies outside 0..{limit - 1}")
