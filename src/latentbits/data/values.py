"""Tables of real numbers: blocks that keep the values of their cells.

Families of counts, weights and ratings read tables with ``binarize=REALS``: cells are finite and not negative, zeros are not
stored.  Within a row the entries lie by decreasing value (then by column), so that the largest of a row are its first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .block import Float, Index, Pointer


class Reals:
    """Stands where a threshold would: the values themselves are wanted."""

    def __reduce__(self) -> str:
        return "REALS"

    def __repr__(self) -> str:
        return "REALS"


REALS = Reals()


class ValueLists(NamedTuple):
    """Rows as lists of columns and values."""

    indptr: Pointer
    indices: Index
    values: Float
    n_columns: int


@dataclass(frozen=True)
class ValueBlock:
    """Consecutive rows of a table of real numbers.

    Parameters
    ----------
    start : int
        Number of the first row in the table.
    indptr, indices, values
        The entries that are not zero, row by row, each row by decreasing value.
    n_columns : int
    weights : (n_rows,) float64 or None
        Row weights; None means 1 each.
    """

    start: int
    indptr: Pointer
    indices: Index
    values: Float
    n_columns: int
    weights: Float | None = None

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.indptr) - 1

    @property
    def n_source_rows(self) -> int:
        """Rows of the table that the rows stand for."""
        return self.n_rows

    @property
    def n_marked(self) -> int:
        """Entries."""
        return len(self.indices)

    def row_weights(self) -> Float:
        """Weights of the rows, ones where none were given."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def row_counts(self) -> NDArray[np.int64]:
        """Entries of every row."""
        return np.diff(self.indptr)

    def leading(self, lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which entries are among the first ``lengths`` (n,) of their rows."""
        counts = self.row_counts()
        first: NDArray[np.bool_] = np.arange(self.n_marked) < np.repeat(self.indptr[:-1] + lengths, counts)
        return first

    def csr(self) -> Any:
        """The rows as a SciPy table of its own: SciPy reorders what it is given."""
        parts = (self.values.copy(), self.indices.copy(), self.indptr.copy())
        return sp.csr_array(parts, shape=(self.n_rows, self.n_columns))

    def take(self, rows: NDArray[np.int64]) -> ValueBlock:
        """The given rows."""
        counts = self.row_counts()[rows]
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        places = np.repeat(self.indptr[:-1][rows] - indptr[:-1], counts) + np.arange(indptr[-1])
        weights = None if self.weights is None else self.weights[rows]
        return ValueBlock(self.start, indptr, self.indices[places], self.values[places], self.n_columns, weights)

    def keys(self) -> NDArray[np.uint64]:
        """A number per row that is equal for equal rows, whatever block they stand in."""
        from .kernels import hash_values

        hashes = np.zeros(self.n_rows, np.uint64)
        hash_values(self.indptr, self.indices, self.values.view(np.uint64), hashes)
        return hashes


def whole_table(source: Any) -> Any:
    """All rows of a source of numbers as one SciPy table."""
    parts = [source.block(b).csr() for b in range(source.n_blocks)]
    table = sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
    table.sort_indices()
    return table


def block_of_values(start: int, rows: Float | ValueLists, weights: Float | None = None) -> ValueBlock:
    """Block of dense rows, or of lists with ascending columns; zeros are dropped, rows put in order."""
    if isinstance(rows, ValueLists):
        indptr, indices, values, n_columns = rows
        counts = np.diff(indptr)
    else:
        at, columns = np.nonzero(rows)
        indices = columns.astype(np.int32)
        values, n_columns = rows[at, columns], rows.shape[1]
        counts = np.bincount(at, minlength=len(rows))
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    order = np.lexsort((indices, -values, np.repeat(np.arange(len(counts)), counts)))
    values = np.ascontiguousarray(values[order], dtype=np.float64)
    return ValueBlock(start, indptr.astype(np.int64), indices[order].astype(np.int32), values, n_columns, weights)
