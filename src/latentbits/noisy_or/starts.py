"""Where the fit starts: sources seeded at columns, or pairs of columns, and what goes with them, at rows, or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.block import UNKNOWN, Block, Float, at_columns
from ..data.rng import stream
from ..data.summary import Totals
from ..engine.em import EMOptions, Point, State, em
from ..engine.protocols import Sweep
from ..engine.restarts import InitParams, init_rows
from ..maths.kmeanspp import kmeanspp_rows
from ..maths.row_sample import sample_rows, sampled_table
from .params import NoisyOrParams

# Columns among which seeds are looked for.
POOL = 128
# Pairs of columns that lead to sources: so many partners of a column at most, so many standard errors beyond chance.
PARTNERS, BEYOND = 8, 3.0
# Part of the mean variance of the columns that steadies the inverse of their moments.
RIDGE = 0.1
# Steps by which what pairs lead to is sharpened, and the cosine above which the results are the same source.
SHARPENED = (2, 0.9), (4, 0.8)
# Part of the bound by which the start from pairs must be ahead to be preferred; smaller leads do not last.
CLEARLY = 0.005
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
    if not sums.ones.any():
        return random_start(n_sources, sums.marginals, sweep, seed, restart)
    return _with_columns(n_sources, sums, sweep, _pool(n_sources, sums, rng), np.empty((0, len(sums.ones))), rng)


def pairs_start(n_sources: int, sums: Totals, sweep: Sweep, seed: int, restart: int) -> NoisyOrParams | None:
    """Links of the sources that pairs of columns lead to; if they are too few, of seed columns in addition.

    A column with several sources has the company of all of them, a pair mostly that of one.  None: no pair goes together, or
    there are more sources than are asked for.
    """
    rng = stream(seed, "start", restart, 1)
    pool = _pool(n_sources, sums, rng)
    sample = sample_rows(sweep, LEAST_ROWS)
    if len(pool) < 3 or not len(sample.weights):
        return None
    block = sample.block(len(sums.ones))
    table = _centred(block, pool)
    first, second = _pairs(table, max(2, min(PARTNERS, -(-8 * n_sources // len(pool)))))
    if restart:  # other starts see other pairs
        seen = rng.random(len(first)) < 0.5
        first, second = first[seen], second[seen]
    if not len(first):
        return None
    found = _skewed(table, _company_of_pairs(table, first, second))
    if len(found) > n_sources:  # sources have to be merged, and single ones leave no room for that
        return None
    return _with_columns(n_sources, sums, sweep, pool, _links_of(found, block, sums.marginals), rng)


def better_start(model: Any, inits: Sequence[Any], sweep: Sweep, seed: int, restart: int) -> NoisyOrParams:
    """The first start unless the bound of another is clearly higher after some passes over a sample of the rows."""
    starts = [init(sweep, seed, restart) for init in inits]
    small, _ = sampled_table(sweep, first_rows(len(starts[0].prior)))
    best, most = starts[0], -np.inf
    for begin in starts:
        if begin is None:
            continue
        value = _led(model, begin, small, seed, restart, sum(stage[1] for stage in model.plan[:2]) - 1)[1]
        if most == -np.inf or value > most + CLEARLY * abs(most):
            best, most = begin, value
    return best


class Centred(NamedTuple):
    """A sample of rows: some columns less their means, unknown cells 0, rows scaled by their weights."""

    cells: Float  # (n, P), each row times the root of its share of the weight
    shares: Float  # (n,) of the rows, in sum 1
    known: Float  # (P, P) weight of rows in which both columns are known
    moments: Float  # (P, P) of the cells
    filters: Float  # inverse of the moments, a tenth of the mean variance added


def _centred(block: Block, pool: Any) -> Centred:
    """The columns of the pool in a sample of rows."""
    weights = block.row_weights()
    ones = at_columns(block.ones, pool).astype(np.float64)
    seen = np.ones_like(ones) if block.unknown is None else 1.0 - at_columns(block.unknown, pool)
    mean = (weights @ ones) / np.maximum(weights @ seen, 1e-300)
    shares = weights / weights.sum()
    cells = (ones - mean) * seen * np.sqrt(shares)[:, None]
    moments = cells.T @ cells
    ridge = RIDGE * max(float(np.trace(moments)) / len(pool), 1e-12)
    filters = np.linalg.inv(moments + ridge * np.eye(len(pool)))
    return Centred(cells, shares, (seen * weights[:, None]).T @ seen, moments, filters)


def _pairs(table: Centred, n_partners: int) -> tuple[Any, Any]:
    """Pairs of columns that go together beyond chance: of every column those with its best partners."""
    spread = np.sqrt(np.maximum(np.diag(table.moments), 1e-300))
    beyond = table.moments / np.outer(spread, spread) * np.sqrt(table.known)
    np.fill_diagonal(beyond, -np.inf)
    partners = np.argsort(-beyond, axis=1, kind="stable")[:, :n_partners]
    pairs = {(min(j, k), max(j, k)) for j, row in enumerate(partners.tolist()) for k in row if beyond[j, k] > BEYOND}
    listed = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return listed[:, 0], listed[:, 1]


def _company_of_pairs(table: Centred, first: Any, second: Any) -> Float:
    """Third moments of pairs with all columns (pairs, P), zero where those are not above chance."""
    scale = 1.0 / np.sqrt(np.maximum(table.shares, 1e-300))
    both = table.cells[:, first] * table.cells[:, second] * scale[:, None]
    company = np.maximum(both.T @ table.cells, 0.0)
    place = np.arange(len(first))
    company[place, first] = company[place, second] = 0.0
    most = np.sort(company, axis=1)[:, -3:].mean(axis=1)
    company[place, first] = company[place, second] = most
    return company


def _skewed(table: Centred, company: Float) -> Float:
    """Scores of the rows (sources, n) by the filters that single sources out, each source once, the plainest first.

    A filter is the company times the inverse of the moments, which takes out the share of the other sources; the company
    of the rows with large squared scores is then that of one source (the fixed point of the skewest direction, as in
    independent component analysis).
    """
    roots = np.sqrt(table.shares)
    for size, alike in SHARPENED:
        for _ in range(size):
            filters = company @ table.filters
            spread = np.sqrt(np.maximum(((filters @ table.moments) * filters).sum(axis=1), 1e-300))
            scores = (filters / spread[:, None]) @ table.cells.T  # times the roots of the shares
            company = np.maximum((scores * scores / np.maximum(roots, 1e-150)) @ table.cells, 0.0)
        plain = (scores**3 @ (1.0 / np.maximum(roots, 1e-150))) * np.sqrt((company**2).sum(axis=1))
        keep = _unlike(company, plain, alike)
        company, scores = company[keep], scores[keep]
    return scores / np.maximum(roots, 1e-150)


def _unlike(company: Float, value: Float, alike: float) -> list[int]:
    """Rows of ``company`` whose cosine with every better one is no more than ``alike``, the best first."""
    unit = company / np.maximum(np.sqrt((company**2).sum(axis=1)), 1e-300)[:, None]
    cosine = unit @ unit.T
    keep: list[int] = []
    for i in np.argsort(-value, kind="stable").tolist():
        if value[i] > 0 and not (cosine[i, keep] > alike).any():
            keep.append(i)
    return keep


def _links_of(scores: Float, block: Block, marginals: Float) -> Float:
    """Link probabilities (sources, D) of sources with these scores in the rows of the block, the strongest about one."""
    weights = (scores**2).T * block.row_weights()[:, None]
    known = np.broadcast_to(weights.sum(axis=0), (len(marginals), len(scores)))
    if block.unknown is not None:
        known = known - block.unknown.t_dot(weights)
    more = np.maximum(block.ones.t_dot(weights).T - marginals * known.T, 0.0) / np.maximum(1.0 - marginals, 1e-3)
    top = np.sort(more, axis=1)[:, -3:].mean(axis=1) if len(more) else np.empty(0)
    return np.minimum(more / np.maximum(top, 1e-300)[:, None], 1.0)


def _pool(n_sources: int, sums: Totals, rng: Any) -> Any:
    """Columns among which seeds are looked for, of many the frequent ones."""
    usable, size = np.flatnonzero(sums.ones > 0), max(POOL, 3 * n_sources)
    if len(usable) <= size:
        return usable
    weight = sums.ones[usable]
    return np.sort(rng.choice(usable, size=size, replace=False, p=weight / weight.sum()))


def _with_columns(n_sources: int, sums: Totals, sweep: Sweep, pool: Any, found: Float, rng: Any) -> NoisyOrParams:
    """Sources at the links that were found (sources, D), the others at seed columns."""
    marginals = sums.marginals
    both, alone = sweep.map(_Together(pool), [None] * sweep.n_blocks, keep_rows=False)[0]
    company = np.clip((both.T / np.maximum(alone.T, 1e-300) - marginals) / (1.0 - marginals), 0.0, 1.0)
    company[alone.T <= 0] = 0.0
    length = np.sqrt((company**2).sum(axis=1))
    frequency = marginals[pool] * (length > 0)
    frequency = marginals[pool] if not frequency.any() else frequency
    near = (company @ found.T) / np.maximum(np.outer(length, np.sqrt((found**2).sum(axis=1))), 1e-300)
    nearest, seeds = near.max(axis=1, initial=0.0), []
    for _ in range(n_sources - len(found)):
        chance = frequency * (1.0 - np.minimum(nearest, 1.0)) ** 2
        chance = frequency if chance.sum() <= 1e-12 * frequency.sum() else chance
        seeds.append(int(rng.choice(len(pool), p=chance / chance.sum())))
        cosine = company @ company[seeds[-1]] / np.maximum(length * length[seeds[-1]], 1e-300)
        nearest = np.maximum(nearest, cosine)
    links = np.concatenate((found, company[seeds])) if len(found) else company[seeds]
    links = 0.9 * links + np.minimum(0.01, 0.1 * marginals)
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
    return _led(model, begin, small, seed, restart, model.passes)[0]


def _led(
    model: Any, begin: NoisyOrParams, small: Sweep, seed: int, restart: int, n_passes: int
) -> tuple[NoisyOrParams, float]:
    """Where so many passes lead a start, and the last bound that was accepted."""
    options = EMOptions(max_iter=n_passes, tol=0.0)
    state = State(Point(begin, init_rows(model, small, begin, seed, restart)))
    for step in em(model, small, state, options):
        state = step.state
    return state.point.params, state.objective


class _Together:
    """How often columns are on together with those of the pool (D, pool), and known where those are on."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def __call__(self, block: Block, rows: Any) -> tuple[tuple[Float, Float], None]:
        on = at_columns(block.ones, self.pool).astype(np.float64)
        if block.weights is not None:
            on *= block.weights[:, None]
        both, alone = block.ones.t_dot(on), np.broadcast_to(on.sum(axis=0), (block.n_columns, len(self.pool)))
        return (both, alone if block.unknown is None else alone - block.unknown.t_dot(on)), None
