"""Values of any container to codes: 0, 1 and 2 for unknown.

The functions here look at values only.  Which rows are read when is the business of the sources.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError, InputTypeError
from .block import UNKNOWN, Codes, Lists
from .checks import BadCells
from .numbers import LARGEST, float_of, is_real, is_unknown
from .sparse import checked_csr
from .values import Reals, ValueLists

Binarize = float | None | Reals


def codes_of_array(
    values: NDArray[Any],
    start: int,
    bad: BadCells,
    binarize: Binarize = None,
    mask: NDArray[np.bool_] | None = None,
) -> Codes:
    """Codes of a two-dimensional array whose first row is row ``start`` of the table.

    Cells under ``mask`` are unknown whatever they hold.  Cells that cannot be read are noted in ``bad``.  Where real numbers
    are wanted the answer is these.
    """
    if isinstance(binarize, Reals):
        reals: Codes = _reals_of_array(values, start, bad, mask)
        return reals
    if values.dtype == np.bool_:
        codes = np.ascontiguousarray(values).view(np.uint8)
        return codes if mask is None else np.where(mask, np.uint8(UNKNOWN), codes)
    if values.dtype == np.float64 and binarize is None and mask is None and values.size > 4096:
        return _codes_of_floats(values, start, bad)
    if values.dtype.kind in "iuf":
        numbers = values
    elif values.dtype.kind == "c":
        raise InputTypeError("Complex data not supported: cells must be 0, 1 or unknown.")
    else:
        numbers = _numbers_of_objects(values, start, bad, mask)
    return _codes_of_numbers(numbers, start, bad, binarize, mask)


def _reals_of_array(values: NDArray[Any], start: int, bad: BadCells, mask: NDArray[np.bool_] | None) -> Any:
    """Real numbers of an array; what is negative, not finite or unknown is noted as bad."""
    bad.reals = True
    if values.dtype.kind == "c":
        raise InputTypeError("Complex data not supported: cells must be numbers, 0 or more.")
    numbers = (
        values.astype(np.float64) if values.dtype.kind in "biuf" else _numbers_of_objects(values, start, bad, mask)
    )
    wrong = ~((numbers >= 0) & (numbers <= LARGEST))
    if values.dtype.kind not in "biuf":  # text was noted as it was read
        wrong &= ~np.array([[isinstance(value, (str, bytes)) for value in row] for row in values], bool).reshape(
            wrong.shape
        )
    if mask is not None:
        wrong |= mask
    if wrong.any():
        rows, columns = np.nonzero(wrong)
        bad.note(
            rows + start,
            columns,
            values[rows, columns] if mask is None else np.where(mask, np.nan, numbers)[rows, columns],
        )
    return numbers


def _codes_of_floats(values: NDArray[np.float64], start: int, bad: BadCells) -> Codes:
    """The common case in one walk over the cells; the slow way only if there is something to complain about."""
    from .kernels import codes_of_floats

    codes = np.empty(values.shape, np.uint8)
    if codes_of_floats(np.ascontiguousarray(values), codes):
        return _codes_of_numbers(values, start, bad, None, None)
    return codes


def _codes_of_numbers(
    numbers: NDArray[Any],
    start: int,
    bad: BadCells,
    binarize: Binarize,
    mask: NDArray[np.bool_] | None,
) -> Codes:
    """Codes of a numeric array, NaN unknown."""
    on = numbers == 1 if binarize is None else numbers > binarize
    codes = on.view(np.uint8)
    floating = numbers.dtype.kind == "f"
    if floating:
        codes[np.isnan(numbers)] = UNKNOWN
    if mask is not None:
        codes[mask] = UNKNOWN
    if binarize is None:
        wrong = (codes == 0) & (numbers != 0)
    elif floating:
        wrong = np.isinf(numbers) & (codes != UNKNOWN)
    else:
        return codes
    if wrong.any():
        rows, columns = np.nonzero(wrong)
        bad.note(rows + start, columns, numbers[rows, columns])
    return codes


def _numbers_of_objects(
    values: NDArray[Any], start: int, bad: BadCells, mask: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    """Numbers of an array of Python objects, unknown ones NaN; what is no number is noted as bad."""
    out = np.full(values.shape, np.nan)
    for place, value in np.ndenumerate(values):
        if (mask is not None and mask[place]) or is_unknown(value):
            continue
        if is_real(value):
            out[place] = float_of(value)
        elif isinstance(value, (complex, np.complexfloating)):
            raise InputTypeError("Complex data not supported: cells must be 0, 1 or unknown.")
        elif isinstance(value, (str, bytes)):
            bad.note(np.array([place[0] + start]), np.array([place[1]]), [value])
        else:
            refuse_object(value)
    return out


def refuse_object(value: Any) -> NoReturn:
    """Refuse a cell that holds something which is no cell at all."""
    if isinstance(value, (complex, np.complexfloating)):
        raise InputTypeError("Complex data not supported: cells must be 0, 1 or unknown.")
    raise InputTypeError(
        f"argument must be a string or a number, not {type(value).__name__!r}: a cell holds an object "
        "that is neither 0, 1 nor unknown."
    )


def codes_of_columns(
    columns: list[tuple[NDArray[Any], NDArray[np.bool_] | None]],
    start: int,
    n_rows: int,
    bad: BadCells,
    binarize: Binarize,
) -> Codes:
    """Codes of a frame given column by column as values and, optionally, where they are null."""
    codes = np.empty((n_rows, len(columns)), np.float64 if isinstance(binarize, Reals) else np.uint8)
    for j, (values, null) in enumerate(columns):
        here = BadCells()
        mask = None if null is None or not null.any() else null[:, None]
        codes[:, j] = codes_of_array(values[:, None], start, here, binarize, mask)[:, 0]
        if here.count:
            wrong = np.array([here.row])
            bad.note(wrong, np.array([j]), [here.value])
            bad.count += here.count - 1
        bad.reals = bad.reals or here.reals
    return codes


def canonical_csr(matrix: Any, bad: BadCells, binarize: Binarize) -> Any:
    """CSR copy with sorted, unique entries 1 (on) and NaN (unknown), nothing else stored; or of the values themselves."""
    if isinstance(binarize, (int, float)) and binarize < 0:
        raise InputError(
            f"binarize={binarize} would turn every absent cell of a sparse table into 1. "
            "Use a threshold of 0 or more, or pass the table dense."
        )
    csr = checked_csr(matrix)
    data = csr.data
    if isinstance(binarize, Reals):
        numbers = _reals_of_array(data[None, :], 0, found := BadCells(), None)[0]
        bad.reals = True
        if found.count:
            wrong = np.flatnonzero(~((numbers >= 0) & (numbers <= LARGEST)))
            bad.note(
                (np.searchsorted(csr.indptr, wrong, side="right") - 1).astype(np.int64), csr.indices[wrong], data[wrong]
            )
        out = sp.csr_array((numbers, csr.indices, csr.indptr), shape=csr.shape)
        out.eliminate_zeros()
        return out
    codes = codes_of_array(data[None, :], 0, found := BadCells(), binarize)[0]
    if found.count:
        _note_sparse(csr, data, codes, bad, binarize)
    values = np.where(codes == UNKNOWN, np.nan, codes.astype(np.float32)).astype(np.float32)
    out = sp.csr_array((values, csr.indices, csr.indptr), shape=csr.shape)
    out.eliminate_zeros()
    return out


def _note_sparse(csr: Any, data: NDArray[Any], codes: Codes, bad: BadCells, binarize: Binarize) -> None:
    """Note the bad entries of a sparse table at their rows and columns."""
    if binarize is None:
        wrong = np.flatnonzero((codes == 0) & (data != 0))
    else:
        wrong = np.flatnonzero(np.isinf(data))
    rows = np.searchsorted(csr.indptr, wrong, side="right") - 1
    bad.note(rows.astype(np.int64), csr.indices[wrong].astype(np.int64), data[wrong])


def values_of_csr(csr: Any, low: int, high: int) -> ValueLists:
    """Rows ``low`` to ``high`` of a canonical CSR table of real numbers."""
    first, last = int(csr.indptr[low]), int(csr.indptr[high])
    indptr = (csr.indptr[low : high + 1] - first).astype(np.int64)
    return ValueLists(indptr, csr.indices[first:last].astype(np.int32), csr.data[first:last], csr.shape[1])


def lists_of_csr(csr: Any, low: int, high: int) -> Lists:
    """Index lists of rows ``low`` to ``high`` of a canonical CSR table."""
    first, last = int(csr.indptr[low]), int(csr.indptr[high])
    indices = csr.indices[first:last].astype(np.int32)
    lengths = np.diff(csr.indptr[low : high + 1]).astype(np.int64)
    unknown = np.isnan(csr.data[first:last])
    none = np.zeros(high - low + 1, np.int64)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    if not unknown.any():
        return Lists(indptr, indices, none, np.empty(0, np.int32), csr.shape[1])
    before = np.concatenate(([0], np.cumsum(unknown)))[indptr]
    return Lists(indptr - before, indices[~unknown], before, indices[unknown], csr.shape[1])
