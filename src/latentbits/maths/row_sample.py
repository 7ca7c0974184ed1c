"""A sample of whole rows, chosen by what they hold, for questions that one pass cannot answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..data.block import Block, Float, Lists, block_of_lists, row_hashes
from ..engine.protocols import Sweep
from ..engine.sweep import LocalSweep
from .empirical_bayes import SPREAD, distinct

# Blocks of a sample that is a table of its own, for threads.
N_BLOCKS = 4


class RowSample(NamedTuple):
    """Distinct rows with the smallest keys: keys (m,), total weights (m,), columns of ones and of unknown cells."""

    keys: NDArray[np.uint64]
    weights: Float
    ones: list[Any]
    unknown: list[Any]
    size: int
    total: float  # weight of all rows that count

    @property
    def share(self) -> float:
        """About the share of all distinct rows that is in the sample, told by how far its keys reach."""
        if len(self.keys) < self.size or not len(self.keys):
            return 1.0
        return min(1.0, float(self.keys[-1]) / 2.0**64 * len(self.keys) / max(len(self.keys) - 1, 1))

    def merge(self, other: RowSample) -> RowSample:
        """The smallest keys of both; equal rows of both add their weights."""
        keys, weights, first = distinct(
            np.concatenate((self.keys, other.keys)), np.concatenate((self.weights, other.weights))
        )
        ones, unknown = self.ones + other.ones, self.unknown + other.unknown
        first = first[: self.size]
        return RowSample(
            keys[: self.size],
            weights[: self.size],
            [ones[i] for i in first],
            [unknown[i] for i in first],
            self.size,
            self.total + other.total,
        )

    def block(self, n_columns: int) -> Block:
        """The rows as a block that weighs like the whole table."""
        scale = self.total / self.weights.sum() if len(self.weights) else 1.0
        parts: list[Any] = []
        for lists in (self.ones, self.unknown):
            counts = np.array([len(row) for row in lists], np.int64)
            parts.append(np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
            parts.append(np.concatenate(lists).astype(np.int32) if lists else np.empty(0, np.int32))
        ones, unknown = (parts[0], parts[1]), (parts[2], parts[3])
        return block_of_lists(0, Lists(*ones, *unknown, n_columns), scale * self.weights)


class _Take:
    """The sample of one block."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, block: Block, rows: Any) -> tuple[RowSample, None]:
        weights = block.row_weights()
        known = np.ones(block.n_rows, np.bool_)
        if block.unknown is not None:
            known = block.unknown.row_counts() < block.n_columns
        counted = np.flatnonzero((weights > 0) & known)
        keys, totals, first = distinct((row_hashes(block) * SPREAD)[counted], weights[counted])
        taken = block.take(counted[first[: self.size]])
        lists = []
        for marks in (taken.ones, taken.unknown):
            if marks is None:
                lists.append([np.empty(0, np.int32)] * taken.n_rows)
            else:
                indptr, indices = marks.lists()
                lists.append(np.split(indices, indptr[1:-1]) if taken.n_rows else [])
        total = float(weights[counted].sum())
        return RowSample(keys[: self.size], totals[: self.size], lists[0], lists[1], self.size, total), None


class SampleSource:
    """The rows of a sample as a table of its own."""

    def __init__(self, block: Block, labels: Any) -> None:
        self.shape, self.labels = (block.n_rows, block.n_columns), labels
        self.starts = (np.arange(N_BLOCKS + 1) * block.n_rows // N_BLOCKS).astype(np.int64)
        self.blocks = [
            replace(block.take(np.arange(low, high)), start=int(low))
            for low, high in zip(self.starts[:-1], self.starts[1:])
        ]
        self.n_blocks = N_BLOCKS

    def block(self, b: int) -> Block:
        """Block number ``b``."""
        return self.blocks[b]


def sampled_table(sweep: Sweep, size: int) -> tuple[Sweep, float]:
    """A sweep over at most ``size`` distinct rows, weighted like the whole table, and their share of all distinct rows."""
    sample, source = sample_rows(sweep, size), sweep.source
    block = sample.block(source.shape[1])
    small: Any = LocalSweep(SampleSource(block, source.labels), getattr(sweep, "n_jobs", 1))
    return small, sample.share


# Samples of sweeps that are in use, by size: a fit asks for the same one time and again.
_samples: WeakKeyDictionary[Any, dict[int, RowSample]] = WeakKeyDictionary()


def sample_rows(sweep: Sweep, size: int) -> RowSample:
    """At most ``size`` distinct rows of the table; neither their order nor the blocks matter."""
    known = _samples.setdefault(sweep, {})
    if size not in known:
        known[size] = sweep.map(_Take(size), [None] * sweep.n_blocks, keep_rows=False)[0]
    return known[size]
