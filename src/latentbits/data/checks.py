"""Checks of cells, shapes and weights, and the wording of what is wrong."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CellError, InputError, TableWarning, brief
from .block import Float
from .numbers import LARGEST, real_numbers

REMEDY = (
    "Give 0/1 (or booleans) and mark unknown cells as NaN, None or masked; for counts or measurements set "
    "binarize=<threshold> (--binarize), or recode the column first."
)


def warn_of_repeated_ids(ids: Sequence[str] | None, column: str) -> None:
    """Tell of rows that are called alike, at once."""
    if ids is None or len(set(ids)) == len(ids):
        return
    repeated = [name for name, number in Counter(ids).items() if number > 1]
    warnings.warn(
        f"column {column!r}: {len(repeated)} id{'s' * (len(repeated) > 1)} occur{'s' * (len(repeated) == 1)} more than once "
        f"(first: {repeated[0]!r}); these rows are kept, but cannot be asked for by their id.",
        TableWarning,
        stacklevel=5,
    )


@dataclass(frozen=True)
class Labels:
    """What the rows and columns are called in messages and results."""

    columns: Sequence[str] | None = None
    rows: Sequence[Any] | None = None

    def column(self, j: int) -> str:
        """Name of column ``j`` as a message shows it."""
        return f"column {self.columns[j]!r}" if self.columns is not None else f"column {j}"

    def row(self, i: int) -> str:
        """Name of row ``i`` as a message shows it."""
        if self.rows is None or self.rows[i] == i:
            return f"row {i}"
        label = self.rows[i]
        return f"row {label.item() if isinstance(label, np.generic) else label!r}"


@dataclass
class BadCells:
    """Collects cells that are neither 0, 1 nor unknown: the first one and how many."""

    count: int = 0
    row: int = -1
    column: int = -1
    value: Any = None
    columns: set[int] = field(default_factory=set)
    reals: bool = False  # numbers of any size were expected, not bits

    def note(self, rows: NDArray[np.int64], columns: NDArray[np.int64], values: Sequence[Any] | NDArray[Any]) -> None:
        """Take in bad cells; ``rows`` are numbers in the whole table."""
        if len(rows) == 0:
            return
        first = np.lexsort((columns, rows))[0]
        place = (int(rows[first]), int(columns[first]))
        if self.count == 0 or place < (self.row, self.column):
            (self.row, self.column), self.value = place, values[first]
        self.count += len(rows)
        self.columns.update(np.unique(columns).tolist())

    def raise_if_any(self, owner: str, labels: Labels) -> None:
        """Raise the error that names the first bad cell."""
        if self.count == 0:
            return
        value = self.value.item() if isinstance(self.value, np.generic) else self.value
        shown = brief(value)
        others = (
            ""
            if self.count == 1
            else f" ({self.count} such cells in {len(self.columns)} column{'s' * (len(self.columns) > 1)})"
        )
        place = f"{owner}: cell ({labels.row(self.row)}, {labels.column(self.column)}) is {shown}"
        if self.reals:
            raise CellError(f"{place}; expected a number, 0 or more{others}. {_real_remedy(value)}")
        error = CellError(f"{place}; expected 0, 1 or unknown{others}. {_remedy(value)}")
        error.value = value
        raise error


def _real_remedy(value: Any) -> str:
    """What to do about a value like this one in a table of numbers."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return "Counts, weights and ratings are numbers; leave columns of words out of the table."
    if isinstance(value, (int, float)) and value < 0:
        return "Negative values in data cannot be counts, weights or ratings; leave such columns out or shift them."
    if isinstance(value, (int, float)):
        if LARGEST < value < np.inf:
            return f"Numbers above {LARGEST:g} cannot be squared; write them in another unit."
        return "NaN and infinity have no meaning here; write 0 where there is nothing."
    return "Counts, weights and ratings are numbers; leave columns of words out of the table."


def _remedy(value: Any) -> str:
    """What to do about a value like this one."""
    if isinstance(value, str):
        try:
            return _remedy(float(value))
        except ValueError:
            return (
                "Recode text to 0/1 first (latentbits.data.encode reads frames by rules); "
                "if the column is a name or a class, leave it out of the table (in files: "
                "id_column= and label_columns= of read_table, --id and --label on the command line)."
            )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value == -1:
            return "For tables coded -1/1 set binarize=0, or map -1 to 0 first."
        if value == 2:
            return (
                "For tables coded 1/2 recode first (which of the two is yes?), or, if 2 means yes, set binarize=1.5; for "
                "counts set binarize=0 (--binarize on the command line)."
            )
        if not np.isfinite(value):
            return "Infinite cells have no meaning here; mark unknown cells as NaN."
    return REMEDY


def check_shape(shape: tuple[int, int], owner: str) -> None:
    """Refuse tables without rows or columns."""
    n_rows, n_columns = shape
    # The words "sample(s)" and "feature(s)" are the ones that scikit-learn's users search for.
    if n_rows == 0:
        raise InputError(
            f"{owner}: found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required. "
            "The table has no rows."
        )
    if n_columns == 0:
        raise InputError(
            f"{owner}: found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required. "
            "The table has no columns."
        )
    if n_columns > np.iinfo(np.int32).max:
        raise InputError(f"{owner}: {n_columns} columns are more than the 2^31 - 1 that are supported.")


def check_weights(weights: Any, n_rows: int, owner: str) -> Float | None:
    """Row weights as float64, or None; refuses negative, unknown, infinite and misshapen ones."""
    if weights is None:
        return None
    try:
        out = real_numbers(weights)
    except InputError as error:
        raise InputError(f"{owner}: sample_weight cannot be read as numbers: {error}") from None
    if out.ndim == 0:
        out = np.full(n_rows, float(out))
    if out.ndim > 1:
        raise InputError(f"{owner}: sample weights must be 1D array or scalar; got shape {out.shape}.")
    if out.shape != (n_rows,):
        raise InputError(
            f"{owner}: sample_weight.shape == {out.shape}, expected {(n_rows,)}: one weight per row of the table."
        )
    bad = ~np.isfinite(out) | (out < 0)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"{owner}: sample_weight[{i}] is {out[i]}; weights must be finite and not negative "
            f"({int(bad.sum())} such weights). Use 0 to leave a row out."
        )
    if not out.any():
        raise InputError(f"{owner}: all sample weights are zero; no row is left to fit.")
    return out
