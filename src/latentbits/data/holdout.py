"""Held-out cells and rows, the same for every block size.

Cells are hidden by gaps: every row walks through its columns with steps drawn from its own random numbers, so
the cost is that of the hidden cells, not of all cells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .block import ONE, UNKNOWN, Block, Codes
from .checks import Labels
from .rng import row_uniforms, stream
from .source import Source


class HiddenCells(NamedTuple):
    """Observed cells of one block that were hidden: stored row, column, value (0 or 1)."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Codes


def hidden_places(
    start: int, n_rows: int, n_columns: int, share: float, seed: int, fold: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows (counted from ``start``) and columns of the cells to hide, each cell with probability ``share``."""
    if not 0 < share < 1:
        raise InputError(f"the share of cells to hide must lie between 0 and 1; got {share!r}.")
    rows_out, columns_out = [], []
    at = np.full(n_rows, -1, np.int64)
    alive = np.arange(n_rows)
    width = max(4, int(np.ceil(1.2 * share * n_columns / 4)) * 4)
    for turn in range(n_columns + 1):
        uniforms = row_uniforms(seed, "cells", start, n_rows, width, fold, turn)[alive]
        # Gaps between hidden columns are geometric; 1 - u is never 0.
        gaps = 1 + np.floor(np.log1p(-uniforms) / np.log1p(-share))
        places = at[alive][:, None] + np.cumsum(np.minimum(gaps, n_columns + 1), axis=1).astype(np.int64)
        which, step = np.nonzero(places < n_columns)
        rows_out.append(alive[which])
        columns_out.append(places[which, step])
        at[alive] = places[:, -1]
        alive = alive[places[:, -1] < n_columns]
        if not len(alive):
            break
    rows, columns = np.concatenate(rows_out), np.concatenate(columns_out)
    order = np.lexsort((columns, rows))
    return rows[order], columns[order]


def split_block(block: Block, share: float, seed: int, fold: int = 0) -> tuple[Block, HiddenCells]:
    """A block with cells hidden, and the observed cells that were hidden."""
    rows, columns = hidden_places(block.start, block.n_rows, block.n_columns, share, seed, fold)
    values = block.at(rows, columns)
    known = values != UNKNOWN
    rows, columns, values = rows[known], columns[known], values[known]
    return block.hide(rows, columns), HiddenCells(rows, columns, (values == ONE).astype(np.uint8))


class HiddenSource:
    """A source with cells hidden from every block.

    Parameters
    ----------
    source : Source
        The whole table, opened without merging.
    share : float
        Probability with which every cell is hidden.
    seed, fold : int
        Which cells.
    keep : bool
        Keep the blocks; False hides anew at every pass, for tables larger than memory.
    """

    def __init__(self, source: Source, share: float, seed: int, fold: int = 0, keep: bool = True) -> None:
        self.source, self.share, self.seed, self.fold, self.keep = source, share, seed, fold, keep
        self.shape, self.starts = source.shape, source.starts
        self.labels: Labels = source.labels
        self._kept: dict[int, tuple[Block, HiddenCells]] = {}

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.source.n_blocks

    def _split(self, b: int) -> tuple[Block, HiddenCells]:
        if b in self._kept:
            return self._kept[b]
        split = split_block(self.source.block(b), self.share, self.seed, self.fold)
        if self.keep:
            self._kept[b] = split
        return split

    def block(self, b: int) -> Block:
        """Block with its cells hidden."""
        return self._split(b)[0]

    def hidden(self, b: int) -> HiddenCells:
        """The observed cells hidden from block ``b``."""
        return self._split(b)[1]


class RowsSource:
    """Some rows of a source, held in memory in the order of the table.

    Parameters
    ----------
    source : Source
        The whole table, opened without merging.
    rows : (n,) array of int
        Row numbers, ascending.

    Examples
    --------
    >>> from latentbits.data.source import open_source
    >>> some = RowsSource(open_source([[0, 1], [1, 1], [1, 0]]), np.array([0, 2]))
    >>> some.shape, some.block(0).codes().tolist()
    ((2, 2), [[0, 1], [1, 0]])
    """

    def __init__(self, source: Source, rows: NDArray[np.int64]) -> None:
        self.shape = (len(rows), source.shape[1])
        self.labels: Labels = source.labels
        self._blocks: list[Block] = []
        bounds, start = np.searchsorted(rows, source.starts), 0
        for b in range(source.n_blocks):
            mine = rows[bounds[b] : bounds[b + 1]] - source.starts[b]
            if len(mine):
                self._blocks.append(replace(source.block(b).take(mine), start=start))
                start += len(mine)
        sizes = [block.n_rows for block in self._blocks]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self._blocks)

    def block(self, b: int) -> Block:
        """Block number ``b``."""
        return self._blocks[b]


def some_rows(source: Source, n: int, seed: int) -> NDArray[np.int64]:
    """Up to ``n`` rows of a table drawn at random, ascending.

    Examples
    --------
    >>> from latentbits.data.source import open_source
    >>> some_rows(open_source([[0, 1], [1, 1], [1, 0]]), 5, seed=0).tolist()
    [0, 1, 2]
    """
    if source.shape[0] <= n:
        return np.arange(source.shape[0])
    return np.sort(stream(seed, "rows", 99).permutation(source.shape[0])[:n])


class HiddenRows(RowsSource):
    """Some rows of a source with cells hidden; which cells does not depend on which rows were taken.

    Parameters
    ----------
    source : Source
        The whole table, opened without merging.
    rows : (n,) array of int
        Row numbers, ascending.
    share : float
        Probability with which every draw hides a cell.
    seed : int
        Of the draws.
    asked : int
        The draw of cells that are asked about.
    hidden : tuple of int
        Draws that are hidden as well.
    left_out : tuple of int
        Draws whose cells are not asked about.
    columns : array of int, optional
        Columns in which cells may be hidden; by default all.
    """

    def __init__(
        self,
        source: Source,
        rows: NDArray[np.int64],
        share: float,
        seed: int,
        asked: int,
        hidden: tuple[int, ...] = (),
        left_out: tuple[int, ...] = (),
        columns: NDArray[np.int64] | None = None,
    ) -> None:
        super().__init__(source, rows)
        self.rows = rows
        self._cells: list[HiddenCells] = []
        bounds, n_columns = np.searchsorted(rows, source.starts), source.shape[1]
        place = 0
        for b in range(source.n_blocks):
            mine = rows[bounds[b] : bounds[b + 1]] - source.starts[b]
            if not len(mine):
                continue
            n_rows = int(source.starts[b + 1] - source.starts[b])
            drawn = {
                draw: _keys_within(mine, int(source.starts[b]), n_rows, n_columns, share, seed, draw)
                for draw in {asked, *hidden, *left_out}
            }
            if columns is not None:
                drawn = {draw: keys[np.isin(keys % n_columns, columns)] for draw, keys in drawn.items()}
            block = self._blocks[place]
            at = drawn[asked]
            for draw in (*hidden, *left_out):
                at = np.setdiff1d(at, drawn[draw], assume_unique=True)
            values = block.at(at // n_columns, at % n_columns)
            at, values = at[values != UNKNOWN], values[values != UNKNOWN]
            self._cells.append(HiddenCells(at // n_columns, at % n_columns, (values == ONE).astype(np.uint8)))
            gone = np.unique(np.concatenate([drawn[draw] for draw in (asked, *hidden)]))
            self._blocks[place] = block.hide(gone // n_columns, gone % n_columns)
            place += 1

    def hidden(self, b: int) -> HiddenCells:
        """The cells of block ``b`` that are asked about."""
        return self._cells[b]


def _keys_within(
    mine: NDArray[np.int64], start: int, n_rows: int, n_columns: int, share: float, seed: int, draw: int
) -> NDArray[np.int64]:
    """Cells that a draw hides in some rows of a block, as ascending numbers ``place of the row * n_columns + column``."""
    rows, columns = hidden_places(start, n_rows, n_columns, share, seed, draw)
    place = np.searchsorted(mine, rows)
    found = (place < len(mine)) & (mine[np.minimum(place, len(mine) - 1)] == rows)
    keys: NDArray[np.int64] = place[found] * n_columns + columns[found]
    return keys


def held_out_rows(n_rows: int, share: float, seed: int, fold: int = 0) -> NDArray[np.bool_]:
    """Which rows are held out, each with probability ``share``.

    Examples
    --------
    >>> int(held_out_rows(1000, 0.2, seed=0).sum())
    209
    """
    return row_uniforms(seed, "rows", 0, n_rows, 1, fold)[:, 0] < share
