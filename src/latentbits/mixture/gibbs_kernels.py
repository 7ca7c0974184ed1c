"""Collapsed Gibbs sweeps over index lists.

The labels are the only truth.  Counts, and the logarithms made from them, are work space that is built from the labels; a
block that changes is worked out anew in a fixed order, never by adding differences, so there is no drift and a chain that
is resumed has the same bits.  Slots are block numbers; an empty slot holds the numbers of an empty block, and the lowest
of them stands for "a new block".

With c ones, z zeros and n = c + z known cells of a column in a block, and LB[c] = log(β + c), LG[z] = log(γ + z),
LT[n] = log(β + γ + n), a row's score for a block is

    base + sum over its ones of (LB[c] - LG[z]) - sum over its unknown cells of (LG[z] - LT[n]),
    base = sum over columns of (LG[z] - LT[n]),

and for the block that it is in, the same with all counts less by the row itself: every index is one smaller, which needs
no removal (section 3 of the sampler's derivation in the guide).  Where most cells are unknown the lists hold the known
zeros instead, and the score is the sum of LB[c] - LT[n] over ones and of LG[z] - LT[n] over zeros.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from .kernels import largest, score_row

# Candidates this far below the best one are not looked at: exp(-45) is lost in a sum with 1.
FAR = -45.0
# 2^64 divided by the golden ratio, and the multipliers of the SplitMix64 finaliser (Steele, Lea & Flood 2014).
STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Lists(NamedTuple):
    """Rows as index lists: their ones, and their unknown cells (or their known zeros, if those are fewer)."""

    indptr: np.ndarray  # (N + 1,) int64
    indices: np.ndarray  # int32
    other_indptr: np.ndarray
    other_indices: np.ndarray


class Tables(NamedTuple):
    """Logarithms by whole number, as far as the tables reach; ``which`` (D,) names the pair β, γ of a column."""

    log_one: np.ndarray  # (T, L): LB
    log_zero: np.ndarray  # (T, L): LG
    log_seen: np.ndarray  # (T, L): LT
    beta: np.ndarray  # (T,)
    gamma: np.ndarray  # (T,)
    which: np.ndarray  # (D,) int64
    log_old: np.ndarray  # (N + 1,)
    log_new: np.ndarray  # (S + 1,)
    grown_one: np.ndarray  # (T, L): log Γ(β + c) - log Γ(β)
    grown_zero: np.ndarray  # (T, L): log Γ(γ + z) - log Γ(γ)
    grown_seen: np.ndarray  # (T, L): log Γ(β + γ + n) - log Γ(β + γ)
    grown_old: np.ndarray  # (N + 1,): log old(1) + ... + log old(size - 1)
    opened: np.ndarray  # (S + 2,): log new(0) + ... + log new(t - 1)


class Work(NamedTuple):
    """What is built from the labels."""

    sizes: np.ndarray  # (S,) int64 rows of every slot
    ones: np.ndarray  # (D, S) int32
    others: np.ndarray  # (D, S) int32: unknown cells, or known zeros
    base: np.ndarray  # (S,)
    own_base: np.ndarray  # (S,) the same with indices one smaller
    delta: np.ndarray  # (D * S,) what a one adds
    other: np.ndarray  # (D * S,) what an unknown cell (a known zero) adds; empty if there are none
    own_delta: np.ndarray  # (S, D) what a one adds for a row of the block itself, which does not count
    own_other: np.ndarray  # (S, D) and what an unknown cell (a known zero) adds
    log_weight: np.ndarray  # (S,) log old(size); log new(t) at the lowest empty slot; else minus infinity


@njit(cache=True, nogil=True)
def one_at(tables, t, m):
    """log(β + m)."""
    return tables.log_one[t, m] if m < tables.log_one.shape[1] else math.log(tables.beta[t] + m)


@njit(cache=True, nogil=True)
def zero_at(tables, t, m):
    """log(γ + m)."""
    return tables.log_zero[t, m] if m < tables.log_zero.shape[1] else math.log(tables.gamma[t] + m)


@njit(cache=True, nogil=True)
def seen_at(tables, t, m):
    """log(β + γ + m)."""
    return tables.log_seen[t, m] if m < tables.log_seen.shape[1] else math.log(tables.beta[t] + tables.gamma[t] + m)


@njit(cache=True, nogil=True)
def grown_at(table, prior, t, m):
    """log Γ(prior + m) - log Γ(prior)."""
    return table[t, m] if m < table.shape[1] else math.lgamma(prior + m) - math.lgamma(prior)


@njit(cache=True, nogil=True)
def count_rows(lists, labels, sizes, ones, others):
    """Add the rows that have a label to ``sizes`` (S,), ``ones`` and ``others`` (D, S)."""
    for i in range(labels.shape[0]):
        k = np.int64(labels[i])
        if k < 0:
            continue
        sizes[k] += 1
        for p in range(lists.indptr[i], lists.indptr[i + 1]):
            ones[lists.indices[p], k] += 1
        for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
            others[lists.other_indices[p], k] += 1


@njit(cache=True, nogil=True)
def seen_and_zeros(size, one, other, zeros_listed):
    """Known cells and zeros of a column in a block."""
    if zeros_listed:
        return one + other, other
    return size - other, size - other - one


@njit(cache=True, nogil=True)
def refresh_plain(tables, work, k):
    """:func:`refresh` where every cell is known and all columns share one pair β, γ: a third of the time."""
    n_slots, size = work.sizes.shape[0], work.sizes[k]
    log_one, log_zero, ones = tables.log_one[0], tables.log_zero[0], work.ones
    log_seen = tables.log_seen[0, size]
    own_seen = tables.log_seen[0, size - 1] if size > 0 else 0.0
    base = own_base = 0.0
    for d in range(ones.shape[0]):
        one = ones[d, k]
        zeros = size - one
        of_zero = log_zero[zeros]
        own_zero = log_zero[zeros - 1] if zeros > 0 else 0.0
        work.delta[d * n_slots + k] = log_one[one] - of_zero
        work.own_delta[k, d] = (log_one[one - 1] if one > 0 else 0.0) - own_zero
        base += of_zero - log_seen
        own_base += own_zero - own_seen
    work.base[k], work.own_base[k] = base, own_base


@njit(cache=True, nogil=True)
def refresh(tables, work, zeros_listed, k):
    """Work out everything about slot ``k`` from its counts."""
    n_slots, size = work.sizes.shape[0], work.sizes[k]
    base = own_base = 0.0
    others = work.other.shape[0] > 0
    if not others and tables.beta.shape[0] == 1 and size < tables.log_seen.shape[1]:
        refresh_plain(tables, work, k)
        return
    for d in range(work.ones.shape[0]):
        t, one = tables.which[d], np.int64(work.ones[d, k])
        seen, zeros = seen_and_zeros(size, one, np.int64(work.others[d, k]) if others else np.int64(0), zeros_listed)
        log_one, log_zero, log_seen = one_at(tables, t, one), zero_at(tables, t, zeros), seen_at(tables, t, seen)
        own_one = one_at(tables, t, one - 1) if one > 0 else 0.0
        own_zero = zero_at(tables, t, zeros - 1) if zeros > 0 else 0.0
        own_seen = seen_at(tables, t, seen - 1) if seen > 0 else 0.0
        at = d * n_slots + k
        if zeros_listed:
            work.delta[at], work.own_delta[k, d] = log_one - log_seen, own_one - own_seen
            work.other[at], work.own_other[k, d] = log_zero - log_seen, own_zero - own_seen
        else:
            work.delta[at], work.own_delta[k, d] = log_one - log_zero, own_one - own_zero
            if others:
                work.other[at], work.own_other[k, d] = log_seen - log_zero, own_seen - own_zero
            base += log_zero - log_seen
            own_base += own_zero - own_seen
    work.base[k], work.own_base[k] = base, own_base


@njit(cache=True, nogil=True)
def refresh_weights(tables, sizes, log_weight):
    """Fill ``log_weight`` (S,); returns the lowest empty slot (S if there is none), the number of blocks and one more
    than the highest slot that can be drawn."""
    n_slots = sizes.shape[0]
    free, alive, end = n_slots, 0, 0
    for k in range(n_slots):
        log_weight[k] = -np.inf
        if sizes[k] > 0:
            log_weight[k] = tables.log_old[sizes[k]]
            alive, end = alive + 1, k + 1
        elif free == n_slots:
            free = k
    if free < n_slots:
        log_weight[free] = tables.log_new[alive]
    return free, alive, max(end, min(free + 1, n_slots))


@njit(cache=True, nogil=True)
def own_score(lists, work, i, k):
    """Score of row ``i`` for its own block ``k`` of two or more rows, without itself."""
    score = work.own_base[k]
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        score += work.own_delta[k, lists.indices[p]]
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        score += work.own_other[k, lists.other_indices[p]]
    return score


@njit(cache=True, nogil=True)
def pick(scores, count, uniform, places):
    """The place that ``uniform`` falls on when places weigh exp(score).

    ``count`` is a multiple of four; ``scores`` and ``places`` (both at least that long) are overwritten.
    """
    top = largest(scores, np.uint64(count))
    total, n = 0.0, 0
    for k in range(count):
        below = scores[k] - top
        if below > FAR:
            weight = math.exp(below)
            total += weight
            scores[n], places[n] = total, k
            n += 1
    target = uniform * total
    for m in range(n):
        if scores[m] > target:
            return places[m]
    return places[n - 1]


@njit(cache=True, nogil=True)
def weigh(tables, work, temperature, free, alive, own, own_value, count, scores):
    """Turn the first ``count`` likelihood scores into those of the conditional, for a row whose block is ``own``
    (-1: none).
    """
    empty = scores[free]
    for k in range(count):
        scores[k] = temperature * scores[k] + work.log_weight[k]
    if own >= 0 and work.sizes[own] == 1:  # alone: its block would vanish, and "new" takes its place
        scores[own] = temperature * empty + tables.log_new[alive - 1]
        scores[free] = -np.inf
    elif own >= 0:
        scores[own] = temperature * own_value + tables.log_old[work.sizes[own] - 1]


@njit(cache=True, nogil=True)
def sweep_rows(lists, labels, order, uniforms, tables, work, zeros_listed, temperature, first):
    """Draw the labels of the rows ``order[first:]`` anew, one after the other; returns where it stopped.

    It stops early when a block was opened in the last empty slot.  A label of -1 is a row that has no block yet.
    """
    n_slots = work.sizes.shape[0]
    width, scores, places = np.uint64(n_slots), np.empty(n_slots), np.empty(n_slots, np.int64)
    free, alive, end = refresh_weights(tables, work.sizes, work.log_weight)
    for at in range(first, order.shape[0]):
        i = order[at]
        own = np.int64(labels[i])
        count = (end + 3) // 4 * 4
        low, high = np.uint64(lists.indptr[i]), np.uint64(lists.indptr[i + 1])
        score_row(lists.indices, low, high, work.base, work.delta, width, np.uint64(count), scores)
        low, high = np.uint64(lists.other_indptr[i]), np.uint64(lists.other_indptr[i + 1])
        if high > low:
            score_row(lists.other_indices, low, high, scores, work.other, width, np.uint64(count), scores)
        value = 0.0
        if own >= 0 and work.sizes[own] > 1:
            value = own_score(lists, work, i, own)
        weigh(tables, work, temperature, free, alive, own, value, count, scores)
        new = pick(scores, count, uniforms[i], places)
        if new == own:
            continue
        labels[i] = new
        move_row(lists, work, i, own, new)
        if own >= 0:
            refresh(tables, work, zeros_listed, own)
        refresh(tables, work, zeros_listed, new)
        free, alive, end = refresh_weights(tables, work.sizes, work.log_weight)
        if free == n_slots:
            return at + 1
    return order.shape[0]


@njit(cache=True, nogil=True)
def move_row(lists, work, i, own, new):
    """Take row ``i`` out of slot ``own`` (-1: it is in none) and put it into ``new``."""
    if own >= 0:
        work.sizes[own] -= 1
    work.sizes[new] += 1
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        d = lists.indices[p]
        if own >= 0:
            work.ones[d, own] -= 1
        work.ones[d, new] += 1
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        d = lists.other_indices[p]
        if own >= 0:
            work.others[d, own] -= 1
        work.others[d, new] += 1


@njit(cache=True, nogil=True)
def assign_rows(lists, base, delta, other, weights, levels, uniforms, labels):
    """Fill ``labels``: a block for every row, all rows independent given the blocks' weights and probabilities.

    ``base`` and ``weights`` (S,), ``delta`` and ``other`` (D * S,) hold S blocks, a multiple of four, of which those
    with weight 0 do not count.  With ``levels`` (n,) blocks whose weight is above a row's level are alike a priori
    (a slice); without any (0,) they weigh what they weigh.
    """
    n_slots = weights.shape[0]
    width, scores, places = np.uint64(n_slots), np.empty(n_slots), np.empty(n_slots, np.int64)
    sliced = levels.shape[0] > 0
    for i in range(labels.shape[0]):
        low, high = np.uint64(lists.indptr[i]), np.uint64(lists.indptr[i + 1])
        score_row(lists.indices, low, high, base, delta, width, width, scores)
        low, high = np.uint64(lists.other_indptr[i]), np.uint64(lists.other_indptr[i + 1])
        if high > low:
            score_row(lists.other_indices, low, high, scores, other, width, width, scores)
        for k in range(n_slots):
            if weights[k] <= 0.0 or (sliced and weights[k] <= levels[i]):
                scores[k] = -np.inf
            elif not sliced:
                scores[k] += math.log(weights[k])
        labels[i] = pick(scores, n_slots, uniforms[i], places)


# Wide tables: most columns of a row are zero and a move must not touch them all.  The sums over columns come from
# histograms of c + u and of u (u: unknown cells), as z = size - (c + u) and n = size - u.


@njit(cache=True, nogil=True)
def histograms(work, by_zeros, by_unknown):
    """Fill ``by_zeros`` and ``by_unknown`` (S, N + 1): columns of every slot by c + u and by u."""
    n_columns, n_slots = work.ones.shape
    for d in range(n_columns):
        for k in range(n_slots):
            by_zeros[k, work.ones[d, k] + work.others[d, k]] += 1
            by_unknown[k, work.others[d, k]] += 1


@njit(cache=True, nogil=True)
def refresh_wide(tables, work, by_zeros, by_unknown, k):
    """The sums over columns of slot ``k``, with and without a row of its own."""
    size = work.sizes[k]
    base = own_base = 0.0
    for m in range(size + 1):
        if by_zeros[k, m] > 0:
            base += by_zeros[k, m] * zero_at(tables, 0, size - m)
            if size > m:
                own_base += by_zeros[k, m] * zero_at(tables, 0, size - m - 1)
        if by_unknown[k, m] > 0:
            base -= by_unknown[k, m] * seen_at(tables, 0, size - m)
            if size > m:
                own_base -= by_unknown[k, m] * seen_at(tables, 0, size - m - 1)
    work.base[k], work.own_base[k] = base, own_base


@njit(cache=True, nogil=True)
def shift(work, by_zeros, by_unknown, d, k, ones, others):
    """Change the counts of column ``d`` in slot ``k``, and the histograms with them."""
    by_zeros[k, work.ones[d, k] + work.others[d, k]] -= 1
    by_unknown[k, work.others[d, k]] -= 1
    work.ones[d, k] += ones
    work.others[d, k] += others
    by_zeros[k, work.ones[d, k] + work.others[d, k]] += 1
    by_unknown[k, work.others[d, k]] += 1


@njit(cache=True, nogil=True)
def move_wide(lists, work, by_zeros, by_unknown, i, k, step):
    """Add row ``i`` to slot ``k`` (``step`` 1) or take it out (-1)."""
    work.sizes[k] += step
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        shift(work, by_zeros, by_unknown, lists.indices[p], k, step, 0)
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        shift(work, by_zeros, by_unknown, lists.other_indices[p], k, 0, step)


@njit(cache=True, nogil=True)
def score_wide(lists, tables, work, i, count, scores):
    """Likelihood scores of row ``i`` for the first ``count`` slots, by looking counts up."""
    for k in range(count):
        scores[k] = work.base[k]
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        d = lists.indices[p]
        for k in range(count):
            one = np.int64(work.ones[d, k])
            zeros = work.sizes[k] - one - work.others[d, k]
            scores[k] += one_at(tables, 0, one) - zero_at(tables, 0, zeros)
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        d = lists.other_indices[p]
        for k in range(count):
            seen = work.sizes[k] - work.others[d, k]
            scores[k] += seen_at(tables, 0, seen) - zero_at(tables, 0, seen - work.ones[d, k])


@njit(cache=True, nogil=True)
def own_score_wide(lists, tables, work, i, k):
    """Score of row ``i`` for its own block ``k`` of two or more rows, without itself, by looking counts up."""
    size, score = work.sizes[k], work.own_base[k]
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        d = lists.indices[p]
        one = np.int64(work.ones[d, k])
        zeros = size - one - work.others[d, k]
        score += one_at(tables, 0, one - 1)
        if zeros > 0:
            score -= zero_at(tables, 0, zeros - 1)
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        d = lists.other_indices[p]
        seen = size - work.others[d, k]
        zeros = seen - work.ones[d, k]
        if zeros > 0:
            score -= zero_at(tables, 0, zeros - 1)
        if seen > 0:
            score += seen_at(tables, 0, seen - 1)
    return score


@njit(cache=True, nogil=True)
def sweep_rows_wide(lists, labels, order, uniforms, tables, work, by_zeros, by_unknown, temperature, first):
    """:func:`sweep_rows` for wide tables with one pair β, γ for all columns."""
    n_slots = work.sizes.shape[0]
    scores, places = np.empty(n_slots), np.empty(n_slots, np.int64)
    free, alive, end = refresh_weights(tables, work.sizes, work.log_weight)
    for at in range(first, order.shape[0]):
        i = order[at]
        own = np.int64(labels[i])
        count = (end + 3) // 4 * 4
        score_wide(lists, tables, work, i, count, scores)
        value = 0.0
        if own >= 0 and work.sizes[own] > 1:
            value = own_score_wide(lists, tables, work, i, own)
        weigh(tables, work, temperature, free, alive, own, value, count, scores)
        new = pick(scores, count, uniforms[i], places)
        if new == own:
            continue
        labels[i] = new
        if own >= 0:
            move_wide(lists, work, by_zeros, by_unknown, i, own, -1)
            refresh_wide(tables, work, by_zeros, by_unknown, own)
        move_wide(lists, work, by_zeros, by_unknown, i, new, 1)
        refresh_wide(tables, work, by_zeros, by_unknown, new)
        free, alive, end = refresh_weights(tables, work.sizes, work.log_weight)
        if free == n_slots:
            return at + 1
    return order.shape[0]


@njit(cache=True, nogil=True)
def log_marginal(tables, sizes, ones, others, zeros_listed):
    """log p(X | partition): over blocks and columns, log B(β + c, γ + z) - log B(β, γ)."""
    total = 0.0
    for d in range(ones.shape[0]):
        t = tables.which[d]
        beta, gamma = tables.beta[t], tables.gamma[t]
        for k in range(sizes.shape[0]):
            if sizes[k] > 0:
                one, other = np.int64(ones[d, k]), np.int64(others[d, k])
                seen, zeros = seen_and_zeros(sizes[k], one, other, zeros_listed)
                total += grown_at(tables.grown_one, beta, t, one) + grown_at(tables.grown_zero, gamma, t, zeros)
                total -= grown_at(tables.grown_seen, beta + gamma, t, seen)
    return total


@njit(cache=True, nogil=True)
def uniform_at(key, place):
    """A uniform with an address: the SplitMix64 finaliser of a key and a place."""
    x = key + np.uint64(place + 1) * STEP
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def members_of(labels, a, b, i, j, key, out):
    """Fill ``out`` with the rows of slots ``a`` and ``b`` other than ``i`` and ``j``, in random order; returns how many."""
    count = 0
    for n in range(labels.shape[0]):
        if (labels[n] == a or labels[n] == b) and n != i and n != j:
            out[count] = n
            count += 1
    for last in range(count - 1, 0, -1):
        other = int(uniform_at(key, last) * (last + 1))
        out[last], out[other] = out[other], out[last]
    return count


@njit(cache=True, nogil=True)
def join(lists, i, side, sizes, ones, others):
    """Add row ``i`` to a side of a proposal."""
    sizes[side] += 1
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        ones[lists.indices[p], side] += 1
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        others[lists.other_indices[p], side] += 1


@njit(cache=True, nogil=True)
def side_score(lists, tables, zeros_listed, i, side, sizes, ones, others):
    """log p(row i | the rows of a side), worked out from its counts."""
    size, score = sizes[side], 0.0
    if not zeros_listed:
        for d in range(ones.shape[0]):
            t = tables.which[d]
            seen = size - others[d, side]
            score += zero_at(tables, t, seen - ones[d, side]) - seen_at(tables, t, seen)
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        d = lists.indices[p]
        t, one = tables.which[d], np.int64(ones[d, side])
        seen, zeros = seen_and_zeros(size, one, np.int64(others[d, side]), zeros_listed)
        score += one_at(tables, t, one) - (seen_at(tables, t, seen) if zeros_listed else zero_at(tables, t, zeros))
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        d = lists.other_indices[p]
        t = tables.which[d]
        seen, zeros = seen_and_zeros(size, np.int64(ones[d, side]), np.int64(others[d, side]), zeros_listed)
        score += (zero_at(tables, t, zeros) - seen_at(tables, t, seen)) * (1.0 if zeros_listed else -1.0)
    return score


@njit(cache=True, nogil=True)
def split_merge(lists, labels, sizes, keys, tables, temperature, zeros_listed, first, tally):
    """Propose to split or to merge blocks, once per key from ``keys[first:]``; returns where it stopped.

    Sequentially allocated proposals (Dahl 2005).  Changes ``labels`` and ``sizes`` (S,); ``tally`` counts splits proposed,
    accepted, merges proposed, accepted.
    """
    n_rows, n_slots, n_columns = labels.shape[0], sizes.shape[0], tables.which.shape[0]
    members, sides = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    for at in range(first, keys.shape[0]):
        key = keys[at]
        i = int(uniform_at(key, n_rows) * n_rows)
        j = int(uniform_at(key, n_rows + 1) * (n_rows - 1))
        j += 1 if j >= i else 0
        a, b = np.int64(labels[i]), np.int64(labels[j])
        splits = a == b
        free, alive = n_slots, 0
        for k in range(n_slots - 1, -1, -1):
            if sizes[k] > 0:
                alive += 1
            else:
                free = k
        tally[0 if splits else 2] += 1
        # 1. Put the rows on two sides, drawn (split) or as they are (merge); log_q: how probable that was.
        count = members_of(labels, a, b, i, j, key, members)
        part_sizes = np.zeros(2, np.int64)
        ones, others = np.zeros((n_columns, 2), np.int32), np.zeros((n_columns, 2), np.int32)
        join(lists, i, 0, part_sizes, ones, others)
        join(lists, j, 1, part_sizes, ones, others)
        log_q = 0.0
        for m in range(count):
            n = members[m]
            left = tables.log_old[part_sizes[0]] + temperature * side_score(
                lists, tables, zeros_listed, n, 0, part_sizes, ones, others
            )
            right = tables.log_old[part_sizes[1]] + temperature * side_score(
                lists, tables, zeros_listed, n, 1, part_sizes, ones, others
            )
            total = max(left, right) + math.log1p(math.exp(-abs(left - right)))
            if splits:
                sides[m] = 0 if uniform_at(key, n_rows + 4 + m) < math.exp(left - total) else 1
            else:
                sides[m] = 0 if labels[n] == a else 1
            log_q += (left if sides[m] == 0 else right) - total
            join(lists, n, sides[m], part_sizes, ones, others)
        # 2. How much more probable two blocks are than one.
        whole_sizes = np.array([part_sizes[0] + part_sizes[1]])
        whole_ones, whole_others = np.empty((n_columns, 1), np.int32), np.empty((n_columns, 1), np.int32)
        for d in range(n_columns):
            whole_ones[d, 0], whole_others[d, 0] = ones[d, 0] + ones[d, 1], others[d, 0] + others[d, 1]
        log_r = temperature * (
            log_marginal(tables, part_sizes, ones, others, zeros_listed)
            - log_marginal(tables, whole_sizes, whole_ones, whole_others, zeros_listed)
        )
        blocks = alive if splits else alive - 1  # when the rows are in one block
        log_r += tables.opened[blocks + 1] - tables.opened[blocks]
        log_r += tables.grown_old[part_sizes[0]] + tables.grown_old[part_sizes[1]] - tables.grown_old[whole_sizes[0]]
        # 3. Accept or not.
        log_u = math.log(max(uniform_at(key, n_rows + 2), 1e-300))
        if splits and log_u < log_r - log_q:
            tally[1] += 1
            labels[j] = free
            for m in range(count):
                if sides[m] == 1:
                    labels[members[m]] = free
            sizes[a], sizes[free] = part_sizes[0], part_sizes[1]
            if alive + 1 == n_slots:
                return at + 1
        elif not splits and log_u < log_q - log_r:
            tally[3] += 1
            labels[j] = a
            for m in range(count):
                labels[members[m]] = a
            sizes[a], sizes[b] = whole_sizes[0], 0
    return keys.shape[0]
