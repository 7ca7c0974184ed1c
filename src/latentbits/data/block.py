"""Block: consecutive rows in the one layout that all model code knows.

A cell is 0, 1 or *unknown*.  A block keeps where its cells are 1 and where they are unknown, each as a
:class:`Marks` object in one of two layouts: index lists (few marks) or a dense tile of bytes (many marks, for
BLAS).  The layout follows the share of marked cells and nothing else, so a block does not depend on the
container it was read from.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import local
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Real = NDArray[np.float64] | NDArray[np.float32]
Codes = NDArray[np.uint8]
Index = NDArray[np.int32]
Pointer = NDArray[np.int64]

ZERO, ONE, UNKNOWN = 0, 1, 2

# Above this share of marked cells a BLAS product over all cells is cheaper than walking the marks
# (benchmarks/layout.py measures the crossing: 0.28 to 0.34 for K from 2 to 100).
DENSE_FROM = 0.3
# Bytes of one float64 tile handed to BLAS.
TILE_BYTES = 16 * 2**20
# Merging equal rows pays when this share of the rows, or less, is distinct.
MERGE_BELOW = 0.7


class Marks(Protocol):
    """Where a table of ``n_rows`` × ``n_columns`` is marked; a 0/1 matrix with linear algebra."""

    n_rows: int
    n_columns: int

    @property
    def n_marked(self) -> int:
        """Number of marked cells."""

    def dot(self, matrix: Real) -> Any:
        """Marks (n, D) times ``matrix`` (D, K), in its precision."""

    def t_dot(self, matrix: Real) -> Float:
        """Marks transposed (D, n) times ``matrix`` (n, K); sums over rows are float64."""

    def lists(self) -> tuple[Pointer, Index]:
        """``indptr`` and ``indices`` of the marked columns, row by row, ascending."""

    def dense(self, low: int = 0, high: int | None = None) -> Codes:
        """The marks of the rows from ``low`` to ``high``, of all by default, as an array of bytes (n, D)."""

    def row_counts(self) -> NDArray[np.int64]:
        """Marked cells of every row."""

    def take(self, rows: NDArray[np.int64]) -> Marks:
        """The same layout with the given rows only."""


class ListMarks:
    """Marks as index lists."""

    def __init__(self, indptr: Pointer, indices: Index, n_columns: int) -> None:
        self.indptr, self.indices = indptr, indices
        self.n_rows, self.n_columns = len(indptr) - 1, n_columns

    @property
    def n_marked(self) -> int:
        """Number of marked cells."""
        return len(self.indices)

    def dot(self, matrix: Real) -> Any:
        """Marks times ``matrix``."""
        from .kernels import add_dot

        assert len(matrix) == self.n_columns  # kernels do not check places
        out = np.zeros((self.n_rows, matrix.shape[1]), matrix.dtype)
        add_dot(self.indptr, self.indices, np.ascontiguousarray(matrix).ravel(), matrix.shape[1], out.ravel())
        return out

    def t_dot(self, matrix: Real) -> Float:
        """Marks transposed times ``matrix``."""
        from .kernels import add_t_dot

        assert len(matrix) == self.n_rows
        out = np.zeros((self.n_columns, matrix.shape[1]))
        add_t_dot(self.indptr, self.indices, np.ascontiguousarray(matrix).ravel(), matrix.shape[1], out.ravel())
        return out

    def lists(self) -> tuple[Pointer, Index]:
        """Index lists."""
        return self.indptr, self.indices

    def dense(self, low: int = 0, high: int | None = None) -> Codes:
        """Bytes."""
        from .kernels import put_marks

        indptr = self.indptr[low : (self.n_rows if high is None else high) + 1]
        out = np.zeros((len(indptr) - 1, self.n_columns), np.uint8)
        put_marks(indptr, self.indices, ONE, out)
        return out

    def row_counts(self) -> NDArray[np.int64]:
        """Marked cells of every row."""
        return np.diff(self.indptr)

    def take(self, rows: NDArray[np.int64]) -> ListMarks:
        """The given rows only."""
        counts = self.row_counts()[rows]
        indptr = np.concatenate(([0], np.cumsum(counts)))
        within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], counts)
        return ListMarks(indptr, self.indices[np.repeat(self.indptr[:-1][rows], counts) + within], self.n_columns)


class TileMarks:
    """Marks as a dense tile of bytes, widened to float64 a piece at a time for BLAS."""

    def __init__(self, cells: Codes) -> None:
        # Row by row: products of the other order differ in their last bits on some processors.
        self.cells: Codes = np.ascontiguousarray(cells)
        self.n_rows, self.n_columns = cells.shape

    @property
    def n_marked(self) -> int:
        """Number of marked cells."""
        return int(np.count_nonzero(self.cells))

    def _pieces(self) -> list[slice]:
        step = max(1, TILE_BYTES // (8 * self.n_columns))
        return [slice(lo, min(lo + step, self.n_rows)) for lo in range(0, self.n_rows, step)]

    def dot(self, matrix: Real) -> Any:
        """Marks times ``matrix``."""
        out = np.empty((self.n_rows, matrix.shape[1]), matrix.dtype)
        for piece in self._pieces():
            np.matmul(_widened_tile(self.cells[piece], matrix.dtype), matrix, out=out[piece])
        return out

    def t_dot(self, matrix: Real) -> Float:
        """Marks transposed times ``matrix``."""
        out = np.zeros((self.n_columns, matrix.shape[1]))
        for piece in self._pieces():
            out += _widened_tile(self.cells[piece], matrix.dtype).T @ matrix[piece]
        return out

    def lists(self) -> tuple[Pointer, Index]:
        """Index lists."""
        rows, columns = np.nonzero(self.cells)
        return _pointer(np.bincount(rows, minlength=self.n_rows)), columns.astype(np.int32)

    def dense(self, low: int = 0, high: int | None = None) -> Codes:
        """Bytes."""
        return self.cells[low:high]

    def row_counts(self) -> NDArray[np.int64]:
        """Marked cells of every row."""
        counts: NDArray[np.int64] = np.count_nonzero(self.cells, axis=1).astype(np.int64)
        return counts

    def take(self, rows: NDArray[np.int64]) -> TileMarks:
        """The given rows only."""
        return TileMarks(self.cells[rows])


def at_columns(marks: Marks, columns: Any) -> Codes:
    """The marks in some different columns only, as bytes (n, len(columns)); of index lists in the memory of these."""
    if isinstance(marks, TileMarks):
        return marks.cells[:, columns]
    indptr, indices = marks.lists()
    out = np.zeros((len(indptr) - 1, len(columns)), np.uint8)
    if len(columns):
        order = np.argsort(columns, kind="stable")
        place = order[np.minimum(np.searchsorted(columns, indices, sorter=order), len(columns) - 1)]
        found = np.asarray(columns)[place] == indices
        out[np.repeat(np.arange(len(out)), np.diff(indptr))[found], place[found]] = ONE
    return out


_ROOM = local()  # of a thread: memory for a tile, which is not given back and asked for again at every product


def _widened_tile(cells: Codes, dtype: Any) -> Any:
    """Cells as numbers for BLAS, in memory that the next tile of this thread will use again."""
    room = getattr(_ROOM, "held", None)
    if room is None or room.nbytes < cells.size * dtype.itemsize:
        room = _ROOM.held = np.empty(cells.size * dtype.itemsize, np.uint8)
    tile = room[: cells.size * dtype.itemsize].view(dtype).reshape(cells.shape)
    tile[...] = cells
    return tile


def _pointer(counts: NDArray[np.int64]) -> Pointer:
    """Row pointer of index lists with these lengths."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _marks_of_codes(codes: Codes, code: int) -> Marks | None:
    """Where ``codes`` equal ``code``, in the layout that the density of these cells asks for; None: nowhere."""
    cells = codes == code
    n_marked = np.count_nonzero(cells)
    if n_marked == 0:
        return None
    if n_marked > DENSE_FROM * cells.size:
        return TileMarks(cells.view(np.uint8))
    from .kernels import list_marks

    indptr = np.empty(len(codes) + 1, np.int64)
    return ListMarks(indptr, list_marks(np.ascontiguousarray(codes), code, indptr), codes.shape[1])


def _marks_of_lists(indptr: Pointer, indices: Index, n_columns: int) -> Marks:
    """Marks of index lists in the layout that their density asks for."""
    lists = ListMarks(indptr, indices, n_columns)
    if lists.n_marked > DENSE_FROM * lists.n_rows * n_columns:
        return TileMarks(lists.dense())
    return lists


class Lists(NamedTuple):
    """Rows as index lists of their ones and their unknown cells; ``indices`` ascend within a row."""

    indptr: Pointer
    indices: Index
    unknown_indptr: Pointer
    unknown_indices: Index
    n_columns: int


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a table.

    Parameters
    ----------
    start : int
        Number of the first row in the table.
    ones, unknown : Marks
        Where the cells are 1, and where they are unknown (None when all are known).
    weights : (n_rows,) float64 or None
        Row weights; merged rows carry the sum of theirs.  None means 1 each.
    origin : (n_source_rows,) or None
        For merged blocks the stored row of every row of the table.
    counts : (n_rows,) or None
        Where equal rows of a whole table were counted, how many of them every stored row stands for.
    """

    start: int
    ones: Marks
    unknown: Marks | None
    weights: Float | None = None
    origin: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Stored rows."""
        return self.ones.n_rows

    @property
    def n_columns(self) -> int:
        """Columns."""
        return self.ones.n_columns

    @property
    def n_marked(self) -> int:
        """Cells that are 1."""
        return self.ones.n_marked

    @property
    def n_bytes(self) -> int:
        """Memory that the block takes."""
        arrays: list[Any] = [self.weights, self.origin, self.counts]
        for marks in (self.ones, self.unknown):
            if isinstance(marks, TileMarks):
                arrays.append(marks.cells)
            elif marks is not None:
                arrays.extend(marks.lists())
        return sum(array.nbytes for array in arrays if array is not None)

    @property
    def n_source_rows(self) -> int:
        """Rows of the table that the stored rows stand for."""
        return self.n_rows if self.origin is None else len(self.origin)

    @property
    def repeats(self) -> NDArray[np.int64]:
        """How many rows of the table every stored row stands for."""
        if self.counts is not None:
            return self.counts
        return (
            np.ones(self.n_rows, np.int64) if self.origin is None else np.bincount(self.origin, minlength=self.n_rows)
        )

    def row_weights(self) -> Float:
        """Weights of the stored rows, ones where none were given."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def unknown_lists(self) -> tuple[Pointer, Index]:
        """``indptr`` and ``indices`` of the unknown columns, empty where all are known."""
        if self.unknown is not None:
            return self.unknown.lists()
        return np.zeros(self.n_rows + 1, np.int64), np.empty(0, np.int32)

    def codes(self, low: int = 0, high: int | None = None) -> Codes:
        """The cells (n, D) of the rows from ``low`` to ``high``, of all by default, as 0, 1 and 2 for unknown."""
        out = self.ones.dense(low, high)
        if isinstance(self.ones, TileMarks):
            out = out.copy()  # it is the block's own
        if self.unknown is not None:
            out[self.unknown.dense(low, high).view(np.bool_)] = UNKNOWN
        return out

    def take(self, rows: NDArray[np.int64]) -> Block:
        """The given stored rows, without merging."""
        return Block(
            self.start,
            self.ones.take(rows),
            None if self.unknown is None else self.unknown.take(rows),
            None if self.weights is None else self.weights[rows],
        )

    def hide(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Block:
        """A copy in which the given cells are unknown."""
        hidden = np.unique(rows * self.n_columns + columns)
        ones = np.setdiff1d(_keys(self.ones), hidden, assume_unique=True)
        if self.unknown is not None:
            hidden = np.union1d(_keys(self.unknown), hidden)
        shape = (self.n_rows, self.n_columns)
        lists = Lists(*_lists_of_keys(ones, *shape), *_lists_of_keys(hidden, *shape), self.n_columns)
        return block_of_lists(self.start, lists, self.weights)

    def with_ones(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Block:
        """A copy in which the given cells are 1."""
        added = np.unique(rows * self.n_columns + columns)
        ones = np.union1d(_keys(self.ones), added)
        nothing = np.empty(0, np.int64)
        unknown = nothing if self.unknown is None else np.setdiff1d(_keys(self.unknown), added, assume_unique=True)
        shape = (self.n_rows, self.n_columns)
        lists = Lists(*_lists_of_keys(ones, *shape), *_lists_of_keys(unknown, *shape), self.n_columns)
        return block_of_lists(self.start, lists, self.weights)

    def at(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Codes:
        """Codes of single cells."""
        out = _contains(self.ones, rows, columns).astype(np.uint8)
        if self.unknown is not None:
            out[_contains(self.unknown, rows, columns)] = UNKNOWN
        return out


def _keys(marks: Marks) -> NDArray[np.int64]:
    """Marked cells as ascending numbers ``row * n_columns + column``."""
    indptr, indices = marks.lists()
    return np.repeat(np.arange(marks.n_rows), np.diff(indptr)) * marks.n_columns + indices


def _lists_of_keys(keys: NDArray[np.int64], n_rows: int, n_columns: int) -> tuple[Pointer, Index]:
    """Index lists of cell numbers."""
    counts = np.bincount(keys // n_columns, minlength=n_rows)
    return _pointer(counts), (keys % n_columns).astype(np.int32)


def _contains(marks: Marks, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether single cells are marked."""
    if isinstance(marks, TileMarks):
        return marks.cells[rows, columns].astype(np.bool_)
    keys = _keys(marks)
    wanted = rows * marks.n_columns + columns
    place = np.searchsorted(keys, wanted)
    found = np.zeros(len(wanted), np.bool_)
    inside = place < len(keys)
    found[inside] = keys[place[inside]] == wanted[inside]
    return found


def block_of_codes(start: int, codes: Codes, weights: Float | None = None, merge: bool = False) -> Block:
    """Block of cells given as 0, 1 and 2 for unknown."""
    ones = _marks_of_codes(codes, ONE)
    if ones is None:
        ones = ListMarks(np.zeros(len(codes) + 1, np.int64), np.empty(0, np.int32), codes.shape[1])
    block = Block(start, ones, _marks_of_codes(codes, UNKNOWN), weights)
    return merged(block) if merge else block


def block_of_lists(start: int, lists: Lists, weights: Float | None = None, merge: bool = False) -> Block:
    """Block of cells given as index lists."""
    block = Block(
        start,
        _marks_of_lists(lists.indptr, lists.indices, lists.n_columns),
        _marks_of_lists(lists.unknown_indptr, lists.unknown_indices, lists.n_columns)
        if len(lists.unknown_indices)
        else None,
        weights,
    )
    return merged(block) if merge else block


def merged(block: Block) -> Block:
    """The block with equal rows merged into weights, if that pays; else the block itself."""
    probe = block.take(np.arange(min(block.n_rows, 512)))
    if probe.n_rows < 2 or len(np.unique(row_hashes(probe))) > 0.95 * probe.n_rows:
        return block
    _, first, origin = np.unique(row_hashes(block), return_index=True, return_inverse=True)
    if len(first) > MERGE_BELOW * block.n_rows or not _same_rows(block, first[origin]):
        return block
    # Distinct rows in the order in which they first occur.
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    origin = rank[origin]
    kept = block.take(first[order])
    weights: Float = np.bincount(origin, weights=block.row_weights(), minlength=len(first)).astype(np.float64)
    return Block(block.start, kept.ones, kept.unknown, weights, origin)


def row_hashes(block: Block) -> NDArray[np.uint64]:
    """A number per row that is equal for equal rows, whatever block they stand in."""
    from .kernels import hash_lists

    hashes = np.zeros(block.n_rows, np.uint64)
    nothing = ListMarks(np.zeros(block.n_rows + 1, np.int64), np.empty(0, np.int32), block.n_columns)
    for salt, marks in enumerate((block.ones, block.unknown or nothing)):
        hash_lists(*marks.lists(), salt + 1, hashes)
    return hashes


def _same_rows(block: Block, other: NDArray[np.int64]) -> bool:
    """Whether every row is equal to the given other one; hashes alone could collide."""
    from .kernels import same_lists

    return all(bool(same_lists(*marks.lists(), other)) for marks in (block.ones, block.unknown) if marks is not None)
