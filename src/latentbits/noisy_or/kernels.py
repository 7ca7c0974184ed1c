# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the noisy-or E-step, row by row over the ones.

Tables over columns and sources are flattened (D * W,), sources contiguous, their number W padded to a multiple of four by
sources that nothing can switch on: see :class:`.weight_kernels.Tables`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import exp_shares, log1p_shares, log_from_one
from .weight_kernels import make_weights, weigh_ones

# log odds below this are those of a source that is off for certain.
OFF = -37.0
# How many times the gain of a round the rounds after it may add to a bound.
HOPE = 4.0
# The largest expm1 of a sum of strengths.
HUGE = 1e100


class Lists(NamedTuple):
    """Ones and unknown cells of the rows of a block."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # int32
    unknown_indptr: np.ndarray  # (n + 1,) int64
    unknown_indices: np.ndarray  # int32


class Options(NamedTuple):
    """How posteriors are looked for, and how long."""

    warm: bool  # from those at hand
    rounds: int  # of weights and posteriors
    tol: float  # change of a posterior that ends the rounds
    cell_tol: float  # gap to the best weights of a one
    trial_tol: float  # the same of posteriors that are tried beside those at hand
    chunk: int  # ones whose factors can be multiplied without overflow


class Climb(NamedTuple):
    """Where a greedy search stands, and its work space."""

    on: np.ndarray  # (W,) uint8: the state
    gains: np.ndarray  # (W,) what every source adds to log P(x, s) if it is on
    grown: np.ndarray  # (L,) expm1(u) at the ones
    factors: np.ndarray  # (W,) and
    whole: np.ndarray  # (W,) work space of logarithms,
    factors_bits: np.ndarray  # (W,) int64: the same bits
    whole_bits: np.ndarray


@kernel
def make_climb(longest, width):
    """Room for the greedy search in a row with at most ``longest`` ones."""
    factors, whole = np.empty(width), np.empty(width)
    return Climb(
        np.empty(width, np.uint8),
        np.empty(width),
        np.empty(longest),
        factors,
        whole,
        factors.view(np.int64),
        whole.view(np.int64),
    )


class Sums(NamedTuple):
    """What :func:`infer_rows` adds to, both empty if nothing is summed."""

    on: np.ndarray  # (D * W,)
    leak: np.ndarray  # (D,)


class ProbeSums(NamedTuple):
    """What :func:`probe_rows` adds to."""

    on: np.ndarray  # (D * W,) Σ m (1 / (1 - exp(-u)) - 1)
    bend: np.ndarray  # (D * W,) Σ m f''(u) / q
    leak: np.ndarray  # (D,) Σ q m (1 / (1 - exp(-u)) - 1 / (1 - exp(-θ0)))
    leak_bend: np.ndarray  # (D,) the same of f''


@inner_kernel
def log_on(u):
    """log(1 - exp(-u)), the log probability of a one."""
    if u < 0.6931471805599453:
        return math.log(-math.expm1(-u))
    return math.log1p(-math.exp(-u))


@inner_kernel
def sigmoid(a):
    """1 / (1 + exp(-a)), zero where it is below 1e-16."""
    if a > 0.0:
        return 1.0 / (1.0 + math.exp(-a))
    if a <= OFF:
        return 0.0
    e = math.exp(a)
    return e / (1.0 + e)


@inner_kernel
def add_columns(indices, low, high, table, width, out):
    """Add the rows of ``table`` (D * W,) at the columns ``indices[low:high]`` to ``out`` (W,)."""
    for p in range(np.uint64(low), np.uint64(high)):
        at = np.uint64(indices[p]) * width
        for k in range(width):
            out[k] += table[at + k]


@inner_kernel
def flip_gains(tables, indices, low, high, base, chunk, climb):
    """Fill the gains of ``climb``: what every source adds to log P(x, s) if it is on, the others being as they are.

    Factors 1 + p / expm1(u) are multiplied and their logarithm is taken once per ``chunk`` ones, as many as cannot overflow.
    """
    prob, floor = tables.prob, tables.e0
    on, gains, grown, factors = climb.on, climb.gains, climb.grown, climb.factors
    n_sources = base.shape[0]
    width = np.uint64(n_sources)
    for k in range(width):
        gains[k], factors[k] = base[k], 1.0
    count = 0
    for p in range(np.uint64(low), np.uint64(high)):
        inverse = 1.0 / grown[p - np.uint64(low)]
        at = np.uint64(indices[p]) * width
        for k in range(width):
            factors[k] *= 1.0 + prob[at + k] * inverse
        count += 1
        if count == chunk:
            count = 0
            log_from_one(factors, n_sources, climb.whole, climb.factors_bits, climb.whole_bits)
            for k in range(width):
                gains[k] += factors[k]
                factors[k] = 1.0
    log_from_one(factors, n_sources, climb.whole, climb.factors_bits, climb.whole_bits)
    for k in range(width):
        gains[k] += factors[k]
    for k in range(width):
        if on[k]:
            gains[k] = base[k]
            product = 1.0
            for p in range(np.uint64(low), np.uint64(high)):
                j = np.uint64(indices[p])
                link = prob[j * width + np.uint64(k)]
                without = max(grown[p - np.uint64(low)] * (1.0 - link) - link, floor[j])
                product *= 1.0 + link / without
                if product > 1e200:
                    gains[k] += math.log(product)
                    product = 1.0
            gains[k] += math.log(product)


@inner_kernel
def greedy(tables, indices, low, high, base, chunk, climb):
    """Climb log P(x, s) from s = 0 by the best single flip; fills ``climb``.  Returns what was gained.

    ``base`` (W,) are the log odds of the sources without any credit for the ones.
    """
    prob, e0 = tables.prob, tables.e0
    on, gains, grown = climb.on, climb.gains, climb.grown
    width = base.shape[0]
    total = 0.0
    for k in range(width):
        on[k] = 0
        gains[k] = base[k]
    add_columns(indices, low, high, tables.lift, np.uint64(width), gains)
    for p in range(low, high):
        grown[p - low] = e0[indices[p]]
    for _ in range(4 * width):
        best, most = -1, 1e-9
        for k in range(width):
            gain = -gains[k] if on[k] else gains[k]
            if gain > most:
                best, most = k, gain
        if best < 0:
            break
        total += most
        for p in range(low, high):
            j = np.int64(indices[p])
            link, here = prob[j * width + best], grown[p - low]
            if on[best]:  # exp(θ) = 1 / (1 - p)
                grown[p - low] = max(here * (1.0 - link) - link, e0[j])
            else:
                grown[p - low] = min((here + link) / (1.0 - link), HUGE)
        on[best] = 1 - on[best]
        flip_gains(tables, indices, low, high, base, chunk, climb)
    return total


@inner_kernel
def gain_of(tables, indices, low, high, base, m):
    """log P(x, s) less that of s = 0, s being the sources with posteriors above one half."""
    prob, e0, width = tables.prob, tables.e0, base.shape[0]
    total, product, any_on = 0.0, 1.0, False
    for k in range(width):
        if m[k] > 0.5:
            total += base[k]
            any_on = True
    if not any_on:
        return 0.0
    for p in range(low, high):
        j = np.int64(indices[p])
        kept = 1.0
        for k in range(width):
            if m[k] > 0.5:
                kept *= 1.0 - prob[j * width + k]
        # (1 - exp(-θ0) kept) / (1 - exp(-θ0))
        product *= 1.0 + (1.0 - kept) / e0[j]
        if product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@inner_kernel
def renew(odds, m, weights):
    """Replace the posteriors ``m`` (W,) by those of the log odds ``odds`` (W,), in vectors.

    Returns Σ log(1 + exp(odds)), the part of the bound that depends on the sources, and the largest change.
    """
    width, small, logs = odds.shape[0], weights.logs, weights.whole
    for k in range(width):
        small[k] = -abs(odds[k])
    exp_shares(small, width, logs, weights.logs_bits, weights.whole_bits)
    change = 0.0
    for k in range(width):
        inverse = 1.0 / (1.0 + small[k])
        new = inverse if odds[k] >= 0.0 else small[k] * inverse
        change = max(change, abs(new - m[k]))
        m[k] = new
    log1p_shares(small, width, logs)
    value = 0.0
    for k in range(width):
        value += max(odds[k], 0.0) + logs[k]
    return value, change


@inner_kernel
def settle(tables, indices, low, high, base, options, rival, m, odds, weights):
    """Alternate the ``weights`` of the ones and the posteriors ``m`` (W,) of a row until they settle; returns the bound.

    At first q is solved for the given m, so the bound never falls from there.  ``odds`` (W,) end as the log odds behind m.
    It ends early when the bound falls short of ``rival`` by so much more than it has gained in a round that it would not get
    there.
    """
    width, n_ones, value = base.shape[0], high - low, -np.inf
    for _ in range(options.rounds):
        for k in range(width):
            odds[k] = base[k]
        weigh_ones(tables, indices, low, n_ones, options.cell_tol, m, odds, weights)
        before = value
        value, change = renew(odds, m, weights)
        if change <= options.tol or value + HOPE * (value - before) < rival:
            break
    return value


@inner_kernel
def add_sums(tables, indices, low, n_ones, row_weight, m, weights, on, leak):
    """Add the sums of a row to ``on`` (D * W,), Σ m / (1 - exp(-θ0 - θ/q)), and to ``leak`` (D,) what q m adds to its own."""
    alone, e0 = tables.rest, tables.e0
    winner, first, contenders, q, rest = weights.winner, weights.first, weights.contenders, weights.q, weights.rest
    width = m.shape[0]
    for p in range(n_ones):
        j = np.uint64(indices[low + p])
        at = j * np.uint64(width)
        for k in range(np.uint64(width)):
            on[at + k] += row_weight * m[k]
        if winner[p] >= 0:
            k = np.uint64(winner[p])
            if m[k] > 0.0:
                left = alone[at + k]
                on[at + k] += row_weight * m[k] * left
                leak[j] += row_weight * m[k] * (left - 1.0 / e0[j])
        elif winner[p] == -1:
            for c in range(first[p], first[p + 1]):
                k = np.uint64(contenders[c])
                on[at + k] += row_weight * m[k] * rest[c]
                leak[j] += row_weight * q[c] * m[k] * (rest[c] - 1.0 / e0[j])


@inner_kernel
def base_of(lists, i, tables, base):
    """Fill ``base`` (W,): log odds of the sources of row ``i`` without any credit for the ones."""
    indptr, indices, unknown_indptr, unknown_indices = lists
    width = base.shape[0]
    for k in range(width):
        base[k] = tables.bias[k]
    add_columns(indices, indptr[i], indptr[i + 1], tables.theta, np.uint64(width), base)
    add_columns(unknown_indices, unknown_indptr[i], unknown_indptr[i + 1], tables.theta, np.uint64(width), base)


@inner_kernel
def longest_row(indptr):
    """Ones of the row that has most, at least one."""
    longest = 1
    for i in range(indptr.shape[0] - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@kernel
def search_rows(lists, tables, options, shares, trials, useful):
    """Greedy searches of all rows: ``trials`` (n, W) get the posteriors there, ``useful`` (n,) whether they may be better.

    A search is of use only if it found a better state than that of posteriors ``shares`` (n, W) at hand.
    """
    indptr, indices = lists.indptr, lists.indices
    n_rows, width, longest = indptr.shape[0] - 1, tables.bias.shape[0], longest_row(indptr)
    base, climb, work = np.empty(width), make_climb(longest, width), make_weights(np.int64(1), width)
    for i in range(n_rows):
        low, high = indptr[i], indptr[i + 1]
        if high > low:
            base_of(lists, i, tables, base)
            found = greedy(tables, indices, low, high, base, options.chunk, climb)
            if not options.warm or found > gain_of(tables, indices, low, high, base, shares[i]) + 1e-9:
                renew(climb.gains, trials[i], work)
                useful[i] = True


@kernel
def infer_rows(lists, row_weights, tables, options, trials, useful, shares, values, odds_out, sums):
    """Posteriors of the sources of every row: ``shares`` (n, W) are filled, ``values`` (n,) the source part of the bound.

    ``trials`` (n, W) are posteriors to begin from beside those at hand, in the rows that ``useful`` (n,) names.
    ``odds_out`` (n, W) gets the log odds, and ``sums`` those of :func:`add_sums`, each unless it is empty.
    """
    indptr, indices, _, _ = lists
    on, leak = sums
    n_rows, width, longest = indptr.shape[0] - 1, tables.bias.shape[0], longest_row(indptr)
    base, m, odds, other = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    weights, trial_weights = make_weights(longest, width), make_weights(longest, width)
    tries = Options(options.warm, options.rounds, options.tol, options.trial_tol, options.trial_tol, options.chunk)
    for i in range(n_rows):
        low, high = indptr[i], indptr[i + 1]
        n_ones = high - low
        base_of(lists, i, tables, base)
        value, chosen = -np.inf, False  # whether the posteriors of the search are the better ones
        if n_ones == 0:
            for k in range(width):
                odds[k] = base[k]
            value, _ = renew(odds, m, weights)
        elif options.warm:
            for k in range(width):
                m[k] = shares[i, k]
            value = settle(tables, indices, low, high, base, options, -np.inf, m, odds, weights)
        if useful[i]:
            trial = trials[i]
            second = settle(tables, indices, low, high, base, tries, value, trial, other, trial_weights)
            chosen = second > value
            if chosen:
                value = second
                for k in range(width):
                    m[k], odds[k] = trial[k], other[k]
        for k in range(width):
            shares[i, k] = m[k]
        values[i] = value
        if odds_out.shape[0] > 0:
            for k in range(width):
                odds_out[i, k] = odds[k]
        if leak.shape[0] > 0 and row_weights[i] > 0.0 and n_ones > 0:
            if chosen:
                add_sums(tables, indices, low, n_ones, row_weights[i], m, trial_weights, on, leak)
            else:
                add_sums(tables, indices, low, n_ones, row_weights[i], m, weights, on, leak)


@kernel
def probe_rows(indptr, indices, row_weights, tables, cell_tol, shares, trial, trial0, sums):
    """Sums for M-steps that look for a root: weights q are those of the old strengths, derivatives at the trial ones.

    ``shares`` (n, W), ``trial`` (D * W,) and ``trial0`` (D,) strengths; u = θ0 + θ/q of the trial ones in ``sums``.
    """
    on, bend, leak, leak_bend = sums
    n_rows, width = indptr.shape[0] - 1, shares.shape[1]
    odds, weights = np.zeros(width), make_weights(longest_row(indptr), width)
    winner, first, contenders, q = weights.winner, weights.first, weights.contenders, weights.q
    for i in range(n_rows):
        low, n_ones = indptr[i], indptr[i + 1] - indptr[i]
        m = shares[i]
        weigh_ones(tables, indices, low, n_ones, cell_tol, m, odds, weights)
        for p in range(n_ones):
            if winner[p] == -2:
                continue
            j = np.int64(indices[low + p])
            alone = winner[p] >= 0
            e0 = math.expm1(trial0[j])
            bend0 = -(1.0 + e0) / (e0 * e0)
            for c in range(first[p], first[p] + 1 if alone else first[p + 1]):
                k = winner[p] if alone else contenders[c]
                weight = 1.0 if alone else q[c]
                if weight == 0.0:
                    continue
                at, own = j * width + k, row_weights[i] * m[k]
                u = trial0[j] + trial[at] / weight
                one = -math.expm1(-u)
                left = math.exp(-u) / one
                on[at] += own * left
                bend[at] -= own * left / one / weight
                leak[j] += own * weight * (left - 1.0 / e0)
                leak_bend[j] += own * weight * (-left / one - bend0)
