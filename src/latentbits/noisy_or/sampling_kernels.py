# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops that judge a row beyond the bound: importance sampling, Gibbs sweeps, inclusion and exclusion, mean field.

Random numbers come from a SplitMix64 counter (Steele, Lea & Flood 2014) that starts
from a key of the row, so they depend neither on the blocks nor on the order of rows.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from .kernels import add_columns, gain_of, log_on, sigmoid

STEP = np.uint64(0x9E3779B97F4A7C15)
# Posteriors below this are taken for zero in expectations, which only lowers them.
NOTHING = 1e-9
# Up to so many uncertain sources expectations go through all states, beyond by a series.
MOST_STATES = 8


@inner_kernel
def uniform(state):
    """A number in [0, 1) from a counter."""
    x = state
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return float(x >> np.uint64(11)) * 2.0**-53


@inner_kernel
def row_base(lists, i, tables, base):
    """Fill ``base`` (W,): log odds of the sources of row i without any credit for its ones."""
    indptr, indices, unknown_indptr, unknown_indices = lists
    bias, theta = tables.bias, tables.theta
    width = np.uint64(bias.shape[0])
    for k in range(bias.shape[0]):
        base[k] = bias[k]
    add_columns(indices, indptr[i], indptr[i + 1], theta, width, base)
    add_columns(unknown_indices, unknown_indptr[i], unknown_indptr[i + 1], theta, width, base)


@kernel
def importance_rows(lists, tables, prior, shares, keys, n_draws, values, errors, sizes):
    """log of the mean weight P(x, s) / R(s) of draws s ~ R, less log P(x, 0): ``values``, ``errors``, ``sizes`` (n,).

    R is nine tenths the posterior ``shares`` (n, K) kept away from 0 and 1, one tenth the ``prior`` (K,).
    """
    indptr, indices = lists.indptr, lists.indices
    n_rows, n_sources = shares.shape
    width = tables.bias.shape[0]
    base, on = np.empty(width), np.zeros(width)
    first, second, logs = np.empty(n_sources), np.empty(n_sources), np.empty(n_draws)
    for i in range(n_rows):
        row_base(lists, i, tables, base)
        for k in range(n_sources):
            first[k] = min(max(shares[i, k], 0.02), 0.98)
            second[k] = min(max(prior[k], 0.02), 0.98)
        state = keys[i]
        top = -np.inf
        for s in range(n_draws):
            state += STEP
            from_first = uniform(state) < 0.9
            one, two = 0.0, 0.0
            for k in range(n_sources):
                state += STEP
                on[k] = 1.0 if uniform(state) < (first[k] if from_first else second[k]) else 0.0
                one += math.log(first[k] if on[k] > 0.5 else 1.0 - first[k])
                two += math.log(second[k] if on[k] > 0.5 else 1.0 - second[k])
            most = max(one, two)
            density = most + math.log(0.9 * math.exp(one - most) + 0.1 * math.exp(two - most))
            logs[s] = gain_of(tables, indices, indptr[i], indptr[i + 1], base, on) - density
            top = max(top, logs[s])
        total, squares = 0.0, 0.0
        for s in range(n_draws):
            weight = math.exp(logs[s] - top)
            total += weight
            squares += weight * weight
        values[i] = top + math.log(total / n_draws)
        sizes[i] = total * total / squares
        errors[i] = math.sqrt(max(squares * n_draws / (total * total) - 1.0, 0.0) / n_draws)


@kernel
def gibbs_rows(lists, tables, keys, n_sweeps, n_burn, on, means):
    """Gibbs sweeps over the sources of every row from the states ``on`` (n, K); ``means`` (n, K) are filled.

    The mean is that of the conditional probabilities after ``n_burn`` sweeps; ``on`` ends as the last state.
    """
    indptr, indices = lists.indptr, lists.indices
    theta, prob, theta0 = tables.theta, tables.prob, tables.theta0
    n_rows, n_sources = on.shape
    width = tables.bias.shape[0]
    base = np.empty(width)
    longest = 0
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    strength = np.empty(longest)
    for i in range(n_rows):
        low, n_ones = indptr[i], indptr[i + 1] - indptr[i]
        row_base(lists, i, tables, base)
        state = keys[i]
        for k in range(n_sources):
            means[i, k] = 0.0
        for sweep in range(n_sweeps + n_burn):
            for p in range(n_ones):  # summed anew, so that rounding does not pile up
                j = np.int64(indices[low + p])
                strength[p] = theta0[j]
                for k in range(n_sources):
                    if on[i, k]:
                        strength[p] += theta[j * width + k]
            for k in range(n_sources):
                odds, product = base[k], 1.0
                for p in range(n_ones):
                    j = np.int64(indices[low + p])
                    link = theta[j * width + k]
                    if link > 0.0:
                        without = max(strength[p] - link if on[i, k] else strength[p], theta0[j])
                        product *= 1.0 + prob[j * width + k] / math.expm1(min(without, 700.0))
                        if product > 1e200:
                            odds += math.log(product)
                            product = 1.0
                chance = sigmoid(odds + math.log(product))
                state += STEP
                new = 1 if uniform(state) < chance else 0
                if new != on[i, k]:
                    for p in range(n_ones):
                        link = theta[np.int64(indices[low + p]) * width + k]
                        strength[p] += link if new else -link
                    on[i, k] = new
                if sweep >= n_burn:
                    means[i, k] += chance / n_sweeps


@kernel
def quickscore_rows(lists, tables, total, prior, most, values, errors, shares):
    """log P(x) by inclusion and exclusion over the ones of every row, less -Σ θ0 over its zeros: ``values`` (n,).

    ``total`` (K,) are the strengths of the sources summed over all columns, ``errors`` (n,) the relative error from
    cancellation.  ``shares`` (n, K), unless empty, get the posteriors of the sources.  Rows with more than ``most`` ones are
    left at NaN, as the cost is K 2^ones.
    """
    indptr, indices, unknown_indptr, unknown_indices = lists
    theta, theta0 = tables.theta, tables.theta0
    n_rows, n_sources, width = indptr.shape[0] - 1, prior.shape[0], tables.bias.shape[0]
    kept = np.empty((most + 1, n_sources))
    leak = np.empty(most + 1)
    parts = np.empty(n_sources)
    for i in range(n_rows):
        n_ones, low = indptr[i + 1] - indptr[i], indptr[i]
        if n_ones > most:
            values[i], errors[i] = np.nan, np.inf
            continue
        # 1. Nothing of the ones is asked to be zero: each source keeps the zeros off with its own probability.
        for k in range(n_sources):
            strength = total[k]
            for p in range(indptr[i], indptr[i + 1]):
                strength -= theta[np.int64(indices[p]) * width + k]
            for p in range(unknown_indptr[i], unknown_indptr[i + 1]):
                strength -= theta[np.int64(unknown_indices[p]) * width + k]
            kept[n_ones, k] = math.exp(-max(strength, 0.0))
            parts[k] = 0.0
        leak[n_ones] = 1.0
        # 2. Subsets in counting order; level l holds the products after the bits above and at l are decided.
        value, largest = 0.0, 0.0
        for subset in range(1 << n_ones):
            changed = 0
            while changed < n_ones and subset > 0 and not (subset >> changed) & 1:
                changed += 1
            level = n_ones - 1 if subset == 0 else changed
            while level >= 0:
                j = np.int64(indices[low + level])
                if (subset >> level) & 1:
                    leak[level] = leak[level + 1] * math.exp(-theta0[j])
                    for k in range(n_sources):
                        kept[level, k] = kept[level + 1, k] * math.exp(-theta[j * width + k])
                else:
                    leak[level] = leak[level + 1]
                    for k in range(n_sources):
                        kept[level, k] = kept[level + 1, k]
                level -= 1
            term = leak[0]
            for k in range(n_sources):
                term *= 1.0 - prior[k] + prior[k] * kept[0, k]
            n_in, rest = 0, subset
            while rest:
                n_in += rest & 1
                rest >>= 1
            sign = -1.0 if n_in & 1 else 1.0
            value += sign * term
            largest = max(largest, term)
            if shares.shape[0] > 0:
                for k in range(n_sources):
                    parts[k] += sign * term * prior[k] * kept[0, k] / (1.0 - prior[k] + prior[k] * kept[0, k])
        # 3. Terms of size ``largest`` were added and taken away again.
        if value > 0.0:
            values[i], errors[i] = math.log(value), 2.3e-16 * largest / value * math.sqrt(float(1 << n_ones))
            if shares.shape[0] > 0:
                for k in range(n_sources):
                    shares[i, k] = min(max(parts[k] / value, 0.0), 1.0)
        else:
            values[i], errors[i] = np.nan, np.inf


@kernel
def expected_log_on(theta0, m, strengths, n, most_states):
    """E log(1 - exp(-u)), u = θ0 + Σ s θ with independent s ~ Bernoulli(m): through all states, or by a series."""
    if n <= most_states:
        value = 0.0
        for state in range(1 << n):
            u, weight = theta0, 1.0
            for c in range(n):
                if (state >> c) & 1:
                    u += strengths[c]
                    weight *= m[c]
                else:
                    weight *= 1.0 - m[c]
            if weight > 0.0:
                value += weight * log_on(u)
        return value
    # log(1 - z) = -Σ z^k / k; the part with all sources off has a closed form.
    off, least = 1.0, np.inf
    powers = np.ones(n)
    for c in range(n):
        off *= 1.0 - m[c]
        least = min(least, strengths[c])
    value = off * log_on(theta0)
    ratio = math.exp(-(theta0 + least))
    leak, one_leak = 1.0, math.exp(-theta0)
    for k in range(1, 1_000_000):
        leak *= one_leak
        product = 1.0
        for c in range(n):
            powers[c] *= math.exp(-strengths[c])
            product *= 1.0 - m[c] + m[c] * powers[c]
        term = leak / k * (product - off)
        value -= term
        tail = term * ratio / (1.0 - ratio)
        if tail < 1e-12:
            return value - tail
    return value - tail


@kernel
def mean_field_rows(lists, tables, n_sweeps, tol, shares, values):
    """Coordinate ascent on the factorised posteriors themselves: ``shares`` (n, K) go on, ``values`` (n,) get the bound.

    The value is the expectation of log P(x, s) plus the entropy, less log P(x, 0).
    """
    indptr, indices = lists.indptr, lists.indices
    theta, theta0, top = tables.theta, tables.theta0, tables.top
    n_rows, n_sources = shares.shape
    width = tables.bias.shape[0]
    base, m, strengths = np.empty(width), np.empty(n_sources), np.empty(n_sources)
    for i in range(n_rows):
        low, n_ones = indptr[i], indptr[i + 1] - indptr[i]
        row_base(lists, i, tables, base)
        for _ in range(n_sweeps):
            change = 0.0
            for k in range(n_sources):
                odds = base[k]
                for p in range(n_ones):
                    j = np.int64(indices[low + p])
                    link = theta[j * width + k]
                    if link > 0.0:
                        n = np.int64(0)  # a literal would be a type of its own to the compiler
                        for other in range(n_sources):
                            if other != k and shares[i, other] > NOTHING and theta[j * width + other] > 0.0:
                                m[n], strengths[n] = shares[i, other], theta[j * width + other]
                                n += 1
                        odds += expected_log_on(theta0[j] + link, m, strengths, n, MOST_STATES)
                        odds -= expected_log_on(theta0[j], m, strengths, n, MOST_STATES)
                new = sigmoid(odds)
                change = max(change, abs(new - shares[i, k]))
                shares[i, k] = new
            if change <= tol:
                break
        value = 0.0
        for k in range(n_sources):
            on = shares[i, k]
            value += on * base[k]
            if 0.0 < on < 1.0:
                value -= on * math.log(on) + (1.0 - on) * math.log1p(-on)
        for p in range(n_ones):
            j = np.int64(indices[low + p])
            n = np.int64(0)
            for k in range(n_sources):
                if shares[i, k] > NOTHING and theta[j * width + k] > 0.0:
                    m[n], strengths[n] = shares[i, k], theta[j * width + k]
                    n += 1
            value += expected_log_on(theta0[j], m, strengths, n, MOST_STATES) + top[j]
        values[i] = value
