"""Source: a table as a sequence of row blocks.

``open_source`` takes anything that can be a table.  Containers in memory are turned into blocks once; memory
maps and Parquet are decoded once into a store (:mod:`latentbits.data.store`), and as many blocks as there is memory for are
kept; Dask collections become blocks on the workers (:mod:`latentbits.data.dask`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .block import Block, Float, Lists, block_of_codes, block_of_lists, merged
from .checks import BadCells, Labels, check_shape, check_weights
from .convert import Binarize
from .giving_back import is_dask
from .matching import in_order
from .numbers import check_threshold
from .readers import Reader, reader_of
from .reading import Reading
from .store import packed_room, stored
from .values import Reals, ValueLists, block_of_values


class Source(Protocol):
    """A table cut into row blocks."""

    shape: tuple[int, int]
    starts: NDArray[np.int64]  # first row of every block, then the number of rows
    labels: Labels

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    def block(self, b: int) -> Block:
        """Block number ``b``."""


def default_block_rows(shape: tuple[int, int], work: int = 1) -> int:
    """Rows per block for a table of this shape; ``work`` times as much is done per cell as in a mixture.

    Long enough that a block's sums (K × columns) cost less than its rows, by far where there are rows enough for several
    threads, and, in narrow tables, that equal rows meet in one block.  It depends on the shape alone, so every container is
    cut alike.
    """
    n_columns = max(1, shape[1])
    wanted = max(2**20 / (n_columns * work), n_columns / 2, min(2 * n_columns, shape[0] / 8))
    return int(min(max(2 ** int(np.ceil(np.log2(wanted))), 2048 // work), 65536))


def cut(n_rows: int, block_rows: Any, shape: tuple[int, int], work: int = 1) -> NDArray[np.int64]:
    """Starts of the blocks: steps of ``block_rows``, or about equal blocks of the default size."""
    if block_rows is not None:
        if isinstance(block_rows, bool) or not isinstance(block_rows, (int, np.integer)) or block_rows < 1:
            raise InputError(f"block_rows must be a positive whole number or None; got {block_rows!r}.")
        return np.append(np.arange(0, n_rows, int(block_rows)), n_rows).astype(np.int64)
    n_blocks = max(1, -(-n_rows // default_block_rows(shape, work)))
    return (np.arange(n_blocks + 1) * n_rows // n_blocks).astype(np.int64)


def block_of_rows(start: int, rows: Any, weights: Float | None, merge: bool) -> Any:
    """Block of what a reader read: codes, lists of ones, or values."""
    if isinstance(rows, Lists):
        return block_of_lists(start, rows, weights, merge)
    if isinstance(rows, ValueLists) or rows.dtype == np.float64:
        return block_of_values(start, rows, weights)
    return block_of_codes(start, rows, weights, merge)


class TableSource:
    """Blocks of a reader: all kept when the reader is not lazy, else as many as there is memory for."""

    def __init__(
        self,
        reader: Reader,
        owner: str = "latentbits",
        block_rows: int | None = None,
        weights: Float | None = None,
        merge: bool = False,
        work: int = 1,
    ) -> None:
        self.shape, self.labels = reader.shape, reader.labels
        self.starts = cut(reader.shape[0], block_rows, reader.shape, work)
        self._reader: Reader | None = reader
        self._owner, self._weights, self._merge = owner, weights, merge
        self._blocks: list[Any] | None = None
        self._kept: dict[int, Block] = {}
        self._distinct: set[int] = set()  # blocks that were looked at, and have no equal rows to merge
        self._room = packed_room() if reader.lazy else 0
        self._lock = Lock()
        if not reader.lazy:
            bad = BadCells()
            self._blocks = [self._build_block(b, bad) for b in range(self.n_blocks)]
            bad.raise_if_any(owner, self.labels)
            if hasattr(reader, "finish"):
                reader.finish()
            self._reader = None
        self.reading: Reading | None = getattr(reader, "reading", None)

    def __getstate__(self) -> dict[str, Any]:
        room = self._room + sum(block.n_bytes for block in self._kept.values())
        return {**self.__dict__, "_kept": {}, "_room": room, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    @property
    def in_memory(self) -> bool:
        """Whether all blocks are here; others are read from a file, which may not be there on another machine."""
        return self._blocks is not None

    def merging(self) -> TableSource:
        """Merge equal rows of every block into weights where that pays."""
        self._merge = True
        if self._blocks is not None:
            self._blocks = [merged(block) if isinstance(block, Block) else block for block in self._blocks]
        self._kept = {b: merged(block) for b, block in self._kept.items()}
        return self

    def by_work(self) -> list[int]:
        """Block numbers, those with the most marks first if the blocks are at hand: threads then end together."""
        if self._blocks is None:
            return list(range(self.n_blocks))
        work = [block.n_rows + block.n_marked for block in self._blocks]
        return sorted(range(self.n_blocks), key=lambda b: -work[b])

    def block(self, b: int) -> Block:
        """Block number ``b``."""
        if self._blocks is not None:
            held: Block = self._blocks[b]
            return held
        kept = self._kept.get(b)
        if kept is not None:
            return kept
        bad = BadCells()
        block = self._build_block(b, bad)
        if bad.count:
            self._complain()
        self._keep(b, block)
        return block

    def _keep(self, b: int, block: Any) -> None:
        """Keep a block of cells if there is room for it."""
        if isinstance(block, Block):
            with self._lock:
                if b not in self._kept and block.n_bytes <= self._room:
                    self._room -= block.n_bytes
                    self._kept[b] = block

    def _build_block(self, b: int, bad: BadCells) -> Block:
        """Read and lay out one block."""
        low, high = int(self.starts[b]), int(self.starts[b + 1])
        assert self._reader is not None
        rows = self._reader.read(low, high, bad)
        weights = None if self._weights is None else self._weights[low:high]
        merges = self._merge and b not in self._distinct
        block: Block = block_of_rows(low, rows, weights, merges)
        if merges and getattr(block, "origin", None) is None:
            self._distinct.add(b)
        return block

    def _complain(self) -> None:
        """Look through the whole table for bad cells, so that the message can count them."""
        bad = BadCells()
        assert self._reader is not None
        for low, high in zip(self.starts[:-1], self.starts[1:]):
            self._reader.read(int(low), int(high), bad)
        bad.raise_if_any(self._owner, self.labels)


class FirstBlock:
    """The first block of a source as a table of its own."""

    n_blocks = 1

    def __init__(self, source: Source) -> None:
        self.first = source.block(0)
        self.shape, self.labels = (self.first.n_source_rows, self.first.n_columns), source.labels
        self.starts = np.array([0, self.first.n_source_rows], np.int64)

    def block(self, b: int) -> Block:
        """The block."""
        return self.first


@contextmanager
def named(owner: str) -> Iterator[None]:
    """Put the name of the estimator before input errors raised inside."""
    try:
        yield
    except InputError as error:
        text = str(error)
        if text.startswith(f"{owner}:"):
            raise
        raise type(error)(f"{owner}: {text}") from None


def _reader_in(X: Any) -> Any:
    """X if it is a reader, its reader if it is a Table, else None.

    Told by the type, because frames have attributes named like their columns.
    """
    if hasattr(type(X), "read") and hasattr(X, "labels") and hasattr(X, "lazy"):
        return X
    return X.reader if type(X).__name__ == "Table" and hasattr(X, "reader") else None


def open_source(
    X: Any,
    *,
    owner: str = "latentbits",
    binarize: Binarize = None,
    block_rows: int | None = None,
    sample_weight: Any = None,
    merge: bool = False,
    work: int = 1,
    reading: Reading | None = None,
    columns: Sequence[str] | None = None,
    patterns: bool = False,
) -> Source:
    """Open anything that can be a table.

    Parameters
    ----------
    X : table
        Array, list, masked array, memory map, SciPy sparse matrix or array, pandas, polars or pyarrow table,
        path to a file, Dask array or frame, or a source that is already open.
    owner : str
        Whose name stands before error messages.
    binarize : float or REALS, optional
        Cells above it are 1, others 0.  Without it only 0, 1 and unknown are accepted; with ``REALS`` (of
        :mod:`latentbits.data.values`) the numbers themselves are kept.
    block_rows : int, optional
        Rows per block; by default chosen from the shape.
    sample_weight : (n_rows,) array-like, optional
        Weight of every row.
    merge : bool
        Merge equal rows of a block into weights where that pays.
    work : int
        How many times as much as in a mixture is done per cell; the default blocks are smaller accordingly.
    reading : Reading, optional
        How values of files and frames become cells, as a fitted model remembers it.
    columns : sequence of str, optional
        Columns of a fitted model: tables with named columns are brought into this order.
    patterns : bool
        Count equal rows of the whole table once where that pays; the source then has patterns for rows.

    Examples
    --------
    >>> source = open_source([[0, 1, None], [1, 1, 0]])
    >>> source.shape, source.block(0).codes().tolist()
    ((2, 3), [[0, 1, 2], [1, 1, 0]])
    """
    with named(owner):
        if not isinstance(binarize, Reals):
            check_threshold(binarize)
        patterns = patterns and not isinstance(binarize, Reals)
        if hasattr(type(X), "n_blocks"):  # a source, open already
            if sample_weight is not None:
                raise InputError("a table that is open already carries its own weights; give them when opening it.")
            return _counted(X, owner, block_rows, work, False) if patterns else X
        if isinstance(X, (str, os.PathLike)):
            from .files import read_table

            reader = read_table(X, binarize=binarize, reading=reading, columns=columns).reader
        elif is_dask(X):
            from .dask import dask_source

            source: Any = dask_source(
                X, owner, binarize, block_rows, sample_weight, merge and not patterns, work, reading, columns
            )
            return _counted(source, owner, block_rows, work, merge) if patterns else source
        elif (opened_before := _reader_in(X)) is not None:
            reader = in_order(opened_before, columns)
        else:
            reader = reader_of(X, binarize, reading, columns)
        check_shape(reader.shape, owner)
        weights = check_weights(sample_weight, reader.shape[0], owner)
        source = TableSource(stored(reader), owner, block_rows, weights, merge and not patterns, work)
        return _counted(source, owner, block_rows, work, merge) if patterns else source


def _counted(source: Any, owner: str, block_rows: int | None, work: int, merge: bool) -> Source:
    """The patterns of an open source where they pay, else the source, with equal rows of blocks merged if asked."""
    from .patterns import patterned

    found = patterned(source, owner, block_rows, work)
    if found is not None:
        return found
    opened: Source = source.merging() if merge else source
    return opened
