"""Where the fit starts: sources seeded at columns and what goes with them, at rows, or drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import UNKNOWN, Block, Float
from ..data.rng import stream
from ..data.summary import Totals
from ..engine.em import EMOptions, Point, State, em
from ..engine.protocols import Sweep
from ..engine.restarts import InitParams, init_rows
from ..maths.kmeanspp import kmeanspp_rows
from ..maths.row_sample import sampled_table
from .params import NoisyOrParams

# Columns among which seeds are looked for.
POOL = 128
# Rows of the sample on which a start of a larger table is led: at least so many, and so many for every source.
LEAST_ROWS, ROWS_PER_SOURCE = 4096, 128


def start_params(links: Float, marginals: Float, n_sources: int) -> NoisyOrParams:
    """Strengths of link probabilities, half of the marginals as leak, sources on once in K rows (at most half)."""
    leak = np.clip(0.5 * marginals, 1e-6, 0.9)
    prior = np.full(n_sources, min(0.5, 1.0 / n_sources))
    return NoisyOrParams(-np.log1p(-np.clip(links, 1e-9, 0.95)), -np.log1p(-leak), prior)


def random_start(n_sources: int, marginals: Float, sweep: Sweep | None, seed: int, restart: int) -> NoisyOrParams:
    """Links drawn uniformly, in rare columns below four times the marginal."""
    uniforms = stream(seed, "start", restart).random((n_sources, len(marginals)))
    return start_params(uniforms * np.minimum(1.0, 4.0 * marginals), marginals, n_sources)


def rows_start(n_sources: int, marginals: Float, sweep: Sweep, seed: int, restart: int) -> NoisyOrParams:
    """Links at the ones of rows far from each other."""
    rows = np.array(kmeanspp_rows(sweep, n_sources, seed, restart))
    values = np.where(rows == UNKNOWN, marginals, rows)
    return start_params(0.6 * values + 0.05 * marginals, marginals, n_sources)


def cooccurrence_start(n_sources: int, sums: Totals, sweep: Sweep, seed: int, restart: int) -> NoisyOrParams:
    """Links from a seed column to the columns that are on more often where it is on than elsewhere.

    Seeds are drawn one by one, frequent columns first, those whose company is like that of an earlier seed last.
    """
    rng = stream(seed, "start", restart)
    marginals = sums.marginals
    usable = np.flatnonzero(sums.ones > 0)
    if len(usable) == 0:
        return random_start(n_sources, marginals, sweep, seed, restart)
    pool = usable
    size = max(POOL, 3 * n_sources)
    if len(pool) > size:
        weight = sums.ones[usable]
        pool = np.sort(rng.choice(usable, size=size, replace=False, p=weight / weight.sum()))
    both, alone = sweep.map(_Together(pool), [None] * sweep.n_blocks, keep_rows=False)[0]
    company = np.clip((both.T / np.maximum(alone.T, 1e-300) - marginals) / (1.0 - marginals), 0.0, 1.0)
    company[alone.T <= 0] = 0.0
    length = np.sqrt((company**2).sum(axis=1))
    frequency = marginals[pool] * (length > 0)
    frequency = marginals[pool] if not frequency.any() else frequency
    nearest, seeds = np.zeros(len(pool)), []
    for _ in range(n_sources):
        chance = frequency * (1.0 - np.minimum(nearest, 1.0)) ** 2
        chance = frequency if chance.sum() <= 1e-12 * frequency.sum() else chance
        seeds.append(int(rng.choice(len(pool), p=chance / chance.sum())))
        cosine = company @ company[seeds[-1]] / np.maximum(length * length[seeds[-1]], 1e-300)
        nearest = np.maximum(nearest, cosine)
    links = 0.9 * company[seeds] + np.minimum(0.01, 0.1 * marginals)
    if len(set(seeds)) < len(seeds):  # equal sources would stay equal
        links = links * rng.uniform(0.5, 1.0, links.shape)
    return start_params(links, marginals, n_sources)


def first_rows(n_sources: int) -> int:
    """Rows that are enough for the passes with even weights, in which nothing settles."""
    return max(LEAST_ROWS, ROWS_PER_SOURCE * n_sources)


def led_start(model: Any, init: InitParams, sweep: Sweep, seed: int, restart: int) -> NoisyOrParams:
    """Where the passes with even weights lead a start, on a sample of the rows; ``model`` is in that stage."""
    begin = init(sweep, seed, restart)
    small, _ = sampled_table(sweep, first_rows(len(begin.prior)))
    options = EMOptions(max_iter=model.passes, tol=0.0)
    state = State(Point(begin, init_rows(model, small, begin, seed, restart)))
    for step in em(model, small, state, options):
        state = step.state
    return state.point.params


class _Together:
    """How often columns are on together with those of the pool (D, pool), and known where those are on."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def __call__(self, block: Block, rows: Any) -> tuple[tuple[Float, Float], None]:
        indptr, indices = block.ones.lists()
        place = np.full(block.n_columns, -1)
        place[self.pool] = np.arange(len(self.pool))
        inside = place[indices] >= 0
        on = np.zeros((block.n_rows, len(self.pool)))
        on[np.repeat(np.arange(block.n_rows), np.diff(indptr))[inside], place[indices[inside]]] = 1.0
        if block.weights is not None:
            on *= block.weights[:, None]
        both, alone = block.ones.t_dot(on), np.broadcast_to(on.sum(axis=0), (block.n_columns, len(self.pool)))
        return (both, alone if block.unknown is None else alone - block.unknown.t_dot(on)), None
