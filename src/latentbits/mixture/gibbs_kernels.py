# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
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
no removal.  Where most cells are unknown the lists hold the known
zeros instead, and the score is the sum of LB[c] - LT[n] over ones and of LG[z] - LT[n] over zeros.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.lanes_kernels import score_row
from ..maths.latent_class_kernels import largest

# Candidates this far below the best one are not looked at: exp(-45) is lost in a sum with 1.
FAR = -45.0


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


@inner_kernel
def one_at(tables, t, m):
    """log(β + m)."""
    return tables.log_one[t, m] if m < tables.log_one.shape[1] else math.log(tables.beta[t] + m)


@inner_kernel
def zero_at(tables, t, m):
    """log(γ + m)."""
    return tables.log_zero[t, m] if m < tables.log_zero.shape[1] else math.log(tables.gamma[t] + m)


@inner_kernel
def seen_at(tables, t, m):
    """log(β + γ + m)."""
    return tables.log_seen[t, m] if m < tables.log_seen.shape[1] else math.log(tables.beta[t] + tables.gamma[t] + m)


@inner_kernel
def grown_at(table, prior, t, m):
    """log Γ(prior + m) - log Γ(prior)."""
    return table[t, m] if m < table.shape[1] else math.lgamma(prior + m) - math.lgamma(prior)


@kernel
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


@inner_kernel
def seen_and_zeros(size, one, other, zeros_listed):
    """Known cells and zeros of a column in a block."""
    if zeros_listed:
        return one + other, other
    return size - other, size - other - one


@inner_kernel
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


@inner_kernel
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


@inner_kernel
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


@inner_kernel
def own_score(lists, work, i, k):
    """Score of row ``i`` for its own block ``k`` of two or more rows, without itself."""
    score = work.own_base[k]
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        score += work.own_delta[k, lists.indices[p]]
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        score += work.own_other[k, lists.other_indices[p]]
    return score


@inner_kernel
def pick(scores, count, uniform, places):
    """The place that ``uniform`` falls on when places weigh exp(score).

    ``count`` is a multiple of eight; ``scores`` and ``places`` (both at least that long) are overwritten.
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


@inner_kernel
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


@kernel
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
        count = (end + 7) // 8 * 8
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


@inner_kernel
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


@kernel
def assign_rows(lists, base, delta, other, weights, levels, uniforms, labels):
    """Fill ``labels``: a block for every row, all rows independent given the blocks' weights and probabilities.

    ``base`` and ``weights`` (S,), ``delta`` and ``other`` (D * S,) hold S blocks, a multiple of eight, of which those
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


@inner_kernel
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
