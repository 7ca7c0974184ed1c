"""Where EM starts: parameters drawn around the marginals, or profiles seeded at rows far from each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import UNKNOWN, Block, Float
from ..data.rng import row_uniforms, stream
from ..engine.protocols import Sweep
from ..engine.stats import Lowest
from .model import EDGE, MixtureModel, MixtureParams, seeded_profile

# Spread of the logits around the marginals.
SPREAD = 1.0


def random_start(model: MixtureModel, seed: int, restart: int) -> MixtureParams:
    """Logits normal around those of the marginals, equal weights.

    Parameters are drawn, not responsibilities: the start does not depend on the order or the multiplicity of rows.
    """
    logits = np.log(model.target) - np.log1p(-model.target)
    noise = stream(seed, "start", restart).standard_normal((model.n_components, len(logits)))
    probs = 1.0 / (1.0 + np.exp(-(logits + SPREAD * noise)))
    return MixtureParams(_equal(model), np.clip(probs, EDGE, 1 - EDGE))


def spread_start(model: MixtureModel, sweep: Sweep, seed: int, restart: int) -> MixtureParams:
    """Profiles seeded at rows, each drawn with probability in proportion to its Hamming distance from those before.

    This is k-means++ (Arthur & Vassilvitskii 2007) with the L1 distance on observed cells.  The draw is a race of
    exponential clocks, one per row, so that it needs one pass per class and no list of all distances.
    """
    seeds: list[Any] = []
    nearest: list[Any] = [None] * sweep.n_blocks
    for k in range(model.n_components):
        last = seeds[-1] if seeds else None
        winner, nearest = sweep.map(_Race(seed, restart, k), nearest, last)
        seeds.append(winner.payload)
    probs = np.array([seeded_profile(row, model.target) for row in seeds])
    return MixtureParams(_equal(model), probs)


def _equal(model: MixtureModel) -> Float:
    """Equal weights."""
    return np.full(model.n_components, 1.0 / model.n_components)


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
    return np.maximum(own + theirs - 2.0 * shared, 0.0)
