"""Expected counts of pairs within classes: sums over the rows of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import Block, Float, TileMarks
from .messages import unknown_chances
from .pairs import Joined, PairSpace, joined, marked
from .params import TreePrecomputed

MOST_CELLS = 2**20  # of rows that are widened for BLAS at a time


class PairSums:
    """Expected weight (classes, pairs) of rows of a block in which both columns of a pair are one."""

    def __init__(self, model: Any, space: PairSpace, classes: range) -> None:
        # Only what blocks need: the pooled pairs stay where they are.
        self.model, self.space, self.classes = model.answer_model(), space, classes

    def __call__(self, block: Block, rows: None, precomputed: TreePrecomputed) -> Float:
        shares = self.model.shares(block, precomputed)[0] * block.row_weights()[:, None]
        out = np.zeros((len(self.classes), *self.space.shape))
        held = None if block.unknown is None else joined(block)
        for k, counts in zip(self.classes, out):
            self._add(block, held, precomputed, k, np.ascontiguousarray(shares[:, k]), counts)
        return out

    def _add(self, block: Block, held: Joined | None, precomputed: Any, k: int, shares: Float, out: Float) -> None:
        """Add the pairs of one class to ``out``."""
        if held is None:
            chances = np.empty(0)
        else:
            chances = unknown_chances(block, precomputed, k, shares)
            held.marks.values[held.unknown] = chances
        if self.space.is_whole and isinstance(block.ones, TileMarks):
            add_dense_pairs(block, chances, shares, out)
        else:
            self.space.add_counts(marked(block.ones) if held is None else held.marks, shares, out)
        if held is not None:
            add_piece_counts(self.space, block, precomputed, k, shares, out)


def add_dense_pairs(block: Block, chances: Float, shares: Float, out: Float) -> None:
    """Add to ``out`` (D, D) the products of all cells of every row times its share."""
    rows = np.flatnonzero(shares > 1e-14)
    step = max(1, MOST_CELLS // block.n_columns)
    by_cell = None if block.unknown is None else np.repeat(np.arange(block.n_rows), block.unknown.row_counts())
    for low in range(0, len(rows), step):
        some = rows[low : low + step]
        cells = block.ones.take(some).dense().astype(np.float64)
        if block.unknown is not None:
            place = np.full(block.n_rows, -1)
            place[some] = np.arange(len(some))
            asked = np.flatnonzero(place[by_cell] >= 0)
            cells[place[by_cell[asked]], block.unknown.lists()[1][asked]] = chances[asked]  # type: ignore[index]
        out += (cells * shares[some, None]).T @ cells


def add_piece_counts(space: PairSpace, block: Block, precomputed: Any, k: int, shares: Float, out: Float) -> None:
    """Add the covariances of unknown cells, times the shares of their rows, to ``out``."""
    from .pair_kernels import add_piece_pairs

    assert block.unknown is not None
    if out.size == 0:  # no candidates: to the kernel no keys mean all pairs
        return
    keys = np.empty(0, np.int64) if space.is_whole else space.first * space.n_columns + space.second
    tables = precomputed.slope[k], precomputed.bond[k], precomputed.parents[k]
    add_piece_pairs(*block.ones.lists(), *block.unknown.lists(), *tables, shares, keys, out.reshape(-1))
