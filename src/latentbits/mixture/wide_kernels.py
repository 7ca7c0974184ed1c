# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Collapsed Gibbs sweeps over wide tables.

Most columns of a row are zero there, and a move must not touch them all.  The sums over columns come from histograms
of c + u and of u (u: unknown cells), as z = size - (c + u) and n = size - u; the rest is looked up for the row's marks.
"""

from __future__ import annotations

import numpy as np

from ..jit import inner_kernel, kernel
from .gibbs_kernels import one_at, pick, refresh_weights, seen_at, weigh, zero_at


@kernel
def histograms(work, by_zeros, by_unknown):
    """Fill ``by_zeros`` and ``by_unknown`` (S, N + 1): columns of every slot by c + u and by u."""
    n_columns, n_slots = work.ones.shape
    for d in range(n_columns):
        for k in range(n_slots):
            by_zeros[k, work.ones[d, k] + work.others[d, k]] += 1
            by_unknown[k, work.others[d, k]] += 1


@inner_kernel
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


@inner_kernel
def shift(work, by_zeros, by_unknown, d, k, ones, others):
    """Change the counts of column ``d`` in slot ``k``, and the histograms with them."""
    by_zeros[k, work.ones[d, k] + work.others[d, k]] -= 1
    by_unknown[k, work.others[d, k]] -= 1
    work.ones[d, k] += ones
    work.others[d, k] += others
    by_zeros[k, work.ones[d, k] + work.others[d, k]] += 1
    by_unknown[k, work.others[d, k]] += 1


@inner_kernel
def move_wide(lists, work, by_zeros, by_unknown, i, k, step):
    """Add row ``i`` to slot ``k`` (``step`` 1) or take it out (-1)."""
    work.sizes[k] += step
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        shift(work, by_zeros, by_unknown, lists.indices[p], k, step, 0)
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        shift(work, by_zeros, by_unknown, lists.other_indices[p], k, 0, step)


@inner_kernel
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


@inner_kernel
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


@kernel
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
