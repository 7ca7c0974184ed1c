"""Rows far from each other, from which starts of several families are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import UNKNOWN, Block, Float
from ..data.rng import row_uniforms
from ..engine.protocols import Sweep
from ..engine.stats import Lowest


def kmeanspp_rows(sweep: Sweep, n: int, seed: int, restart: int) -> list[Any]:
    """Codes of ``n`` rows, each drawn with probability in proportion to its Hamming distance from those before.

    This is k-means++ (Arthur & Vassilvitskii 2007) with the L1 distance on observed cells.  The draw is a race of
    exponential clocks, one per row, so that it needs one pass per row and no list of all distances.
    """
    seeds: list[Any] = []
    nearest: list[Any] = [None] * sweep.n_blocks
    for k in range(n):
        last = seeds[-1] if seeds else None
        winner, nearest = sweep.map(_Race(seed, restart, k), nearest, last)
        seeds.append(winner.payload)
    return seeds


class _Race:
    """One draw of a seed row: the row whose clock rings first."""

    def __init__(self, seed: int, restart: int, k: int) -> None:
        self.seed, self.restart, self.k = seed, restart, k

    def __call__(self, block: Block, nearest: Any, last: Any) -> tuple[Lowest, Any]:
        if last is not None:
            distance = hamming(block, last)
            nearest = distance if nearest is None else np.minimum(nearest, distance)
        rate = block.row_weights() * (1.0 if nearest is None else nearest)
        uniforms = row_uniforms(self.seed, "seeds", block.start, block.n_source_rows, 1, self.restart, self.k)[:, 0]
        clocks = -np.log1p(-uniforms)
        if block.origin is not None:  # the first of the clocks of equal rows, as if they were not merged
            first = np.full(block.n_rows, np.inf)
            np.minimum.at(first, block.origin, clocks)
            clocks = first * np.bincount(block.origin, minlength=block.n_rows)
        with np.errstate(divide="ignore"):
            times = clocks / rate
        # If every row equals a seed, any row that counts will do.
        times = np.where(np.isfinite(times), times, np.where(block.row_weights() > 0, 1e300, np.inf))
        i = int(np.argmin(times))
        return Lowest(float(times[i]), block.start + i, block.take(np.array([i])).codes()[0]), nearest


def hamming(block: Block, row: Any) -> Float:
    """Hamming distance (n,) of every row to one row, over the cells known in both."""
    ones = (row == 1).astype(float)[:, None]
    known = (row != UNKNOWN).astype(float)[:, None]
    shared = block.ones.dot(ones)[:, 0]
    own = block.ones.dot(known)[:, 0]
    theirs = np.full(block.n_rows, ones.sum())
    if block.unknown is not None:
        theirs = theirs - block.unknown.dot(ones)[:, 0]
    apart: Float = np.maximum(own + theirs - 2.0 * shared, 0.0)
    return apart
