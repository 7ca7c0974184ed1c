"""What the shell itself asks of every block: sums, scores, filled cells."""

from __future__ import annotations

import hashlib
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from ..data.block import Block
from ..data.rng import cell_uniforms, row_uniforms
from ..data.summary import totals, value_totals
from ..data.values import ValueBlock
from ..engine.protocols import Sweep


class TableSums:
    """Column sums as a pass that also tells tables apart."""

    def __call__(self, block: Any, rows: Any) -> tuple[tuple[Any, int], None]:
        sums = value_totals(block) if isinstance(block, ValueBlock) else totals(block)
        return (sums, block_digest(block)), None


_KNOWN: WeakKeyDictionary[Any, tuple[Any, int]] = WeakKeyDictionary()  # by source: a table is summed once


def table_sums(sweep: Sweep) -> tuple[Any, int]:
    """Column sums of a table, and the sum of its blocks' digests; worked out once for every open source."""
    if sweep.source not in _KNOWN:
        _KNOWN[sweep.source] = sweep.map(TableSums(), [None] * sweep.n_blocks, keep_rows=False)[0]
    return _KNOWN[sweep.source]


def block_digest(block: Any) -> int:
    """A number that changes when the cells, their place or their weights do; adds over blocks."""
    digest = hashlib.blake2b(f"{block.start}".encode(), digest_size=8)
    if isinstance(block, ValueBlock):
        for part in (block.indptr, block.indices, block.values):
            digest.update(part.tobytes())
    for marks in () if isinstance(block, ValueBlock) else (block.ones, block.unknown):
        if marks is not None:
            indptr, indices = marks.lists()
            digest.update(indptr.tobytes())
            digest.update(indices.tobytes())
    if block.weights is not None:
        digest.update(block.weights.tobytes())
    return int.from_bytes(digest.digest(), "little")


def fingerprint(digest: int) -> str:
    """The sum of the blocks' digests in writing: equal tables, cut alike, have equal ones."""
    return f"{digest % 2**64:016x}"


class Scored:
    """Weighted sum of a value per row of a block, and the weight; ``question(block, precomputed)`` gives the values."""

    def __init__(self, question: Any) -> None:
        self.question = question

    def __call__(self, block: Block, precomputed: Any) -> tuple[float, float]:
        weights = block.row_weights()
        return float(self.question(block, precomputed) @ weights), float(weights.sum())


class Filled:
    """A block with its unknown cells filled; sparse blocks stay sparse."""

    def __init__(self, model: Any, how: str, seed: int, dense: bool) -> None:
        self.model, self.how, self.seed, self.dense = model, how, seed, dense

    def __call__(self, block: Block, precomputed: Any) -> Any:
        if block.unknown is None:
            rows = columns = np.empty(0, np.int64)
            values = np.empty(0)
        else:
            indptr, indices = block.unknown.lists()
            rows, columns = np.repeat(np.arange(block.n_rows), np.diff(indptr)), indices.astype(np.int64)
            values = self._values(block, precomputed, rows, columns)
        if self.dense:
            out = block.codes().astype(np.float64)
            out[rows, columns] = values
            return out
        indptr, indices = block.ones.lists()
        all_rows = np.concatenate((np.repeat(np.arange(block.n_rows), np.diff(indptr)), rows))
        all_columns = np.concatenate((indices, columns))
        data = np.concatenate((np.ones(len(indices)), values))
        return sp.csr_array((data, (all_rows, all_columns)), shape=(block.n_rows, block.n_columns))

    def _values(self, block: Block, precomputed: Any, rows: Any, columns: Any) -> Any:
        """What the unknown cells become."""
        if self.how == "sample":
            by_row = row_uniforms(self.seed, "fill", block.start, block.n_rows)[:, 0]
            by_cell = cell_uniforms(self.seed, "fill", block.start, np.bincount(rows, minlength=block.n_rows))
            return self.model.sample_cells(block, precomputed, rows, columns, by_row, by_cell).astype(np.float64)
        values = self.model.predict_cells_at(block, precomputed, rows, columns)
        return values if self.how == "probability" else (values >= 0.5).astype(np.float64)
