# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Moves that split or merge whole blocks."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import uniform_at
from .gibbs_kernels import log_marginal, one_at, seen_and_zeros, seen_at, zero_at

# The two sides of a move; plain 0 and 1 would be two types of their own to the compiler.
LEFT, RIGHT = np.int64(0), np.int64(1)


@inner_kernel
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


@inner_kernel
def join(lists, i, side, sizes, ones, others):
    """Add row ``i`` to a side of a proposal."""
    sizes[side] += 1
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        ones[lists.indices[p], side] += 1
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        others[lists.other_indices[p], side] += 1


@inner_kernel
def join_counted(lists, i, side, sizes, ones, others, by_zeros, by_unknown):
    """:func:`join` for wide tables, with histograms (2, N + 1) of the sides' columns by c + u and by u."""
    sizes[side] += 1
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        d = lists.indices[p]
        at = ones[d, side] + others[d, side]
        by_zeros[side, at] -= 1
        by_zeros[side, at + 1] += 1
        ones[d, side] += 1
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        d = lists.other_indices[p]
        at = ones[d, side] + others[d, side]
        by_zeros[side, at] -= 1
        by_zeros[side, at + 1] += 1
        by_unknown[side, others[d, side]] -= 1
        by_unknown[side, others[d, side] + 1] += 1
        others[d, side] += 1


@inner_kernel
def side_base(tables, side, sizes, ones, others):
    """Sum over all columns of log(γ + zeros) - log(β + γ + known cells) of a side."""
    base = 0.0
    for d in range(ones.shape[0]):
        t = tables.which[d]
        seen = sizes[side] - others[d, side]
        base += zero_at(tables, t, seen - ones[d, side]) - seen_at(tables, t, seen)
    return base


@inner_kernel
def side_base_counted(tables, side, sizes, by_zeros, by_unknown):
    """The same from the histograms, for one pair β, γ."""
    base, size = 0.0, sizes[side]
    for m in range(size + 1):
        if by_zeros[side, m] > 0:
            base += by_zeros[side, m] * zero_at(tables, 0, size - m)
        if by_unknown[side, m] > 0:
            base -= by_unknown[side, m] * seen_at(tables, 0, size - m)
    return base


@inner_kernel
def side_score(lists, tables, zeros_listed, i, side, sizes, ones, others, base):
    """log p(row i | the rows of a side), from its counts and their ``base`` (0 where zeros are listed)."""
    size, score = sizes[side], base
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


@inner_kernel
def side_scores(lists, tables, i, sizes, ones, others, bases, scores):
    """Fill ``scores`` (2,): :func:`side_score` of both sides at once, for one pair β, γ whose tables reach all counts."""
    log_one, log_zero, log_seen = tables.log_one[0], tables.log_zero[0], tables.log_seen[0]
    left, right, left_size, right_size = bases[0], bases[1], sizes[0], sizes[1]
    for p in range(lists.indptr[i], lists.indptr[i + 1]):
        d = lists.indices[p]
        on = ones[d, 0]
        left += log_one[on] - log_zero[left_size - others[d, 0] - on]
        on = ones[d, 1]
        right += log_one[on] - log_zero[right_size - others[d, 1] - on]
    for p in range(lists.other_indptr[i], lists.other_indptr[i + 1]):
        d = lists.other_indices[p]
        seen = left_size - others[d, 0]
        left += log_seen[seen] - log_zero[seen - ones[d, 0]]
        seen = right_size - others[d, 1]
        right += log_seen[seen] - log_zero[seen - ones[d, 1]]
    scores[0], scores[1] = left, right


@kernel
def split_merge(lists, labels, sizes, keys, tables, temperature, zeros_listed, counted, first, tally):
    """Propose to split or to merge blocks, once per key from ``keys[first:]``; returns where it stopped.

    Sequentially allocated proposals (Dahl 2005); with ``counted`` (one pair β, γ) a row costs its marks and the size of
    the block, not all columns.  Changes ``labels`` and ``sizes`` (S,); ``tally`` counts splits proposed,
    accepted, merges proposed, accepted.
    """
    n_rows, n_slots, n_columns = labels.shape[0], sizes.shape[0], tables.which.shape[0]
    members, sides = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    by_zeros = np.zeros((2, n_rows + 1 if counted else 0), np.int64)
    by_unknown = np.zeros((2, n_rows + 1 if counted else 0), np.int64)
    bases, scores = np.zeros(2), np.zeros(2)
    reached = tables.log_seen.shape[1] > n_rows
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
        if counted:
            by_zeros[:], by_unknown[:] = 0, 0
            by_zeros[:, 0], by_unknown[:, 0] = n_columns, n_columns
            join_counted(lists, i, LEFT, part_sizes, ones, others, by_zeros, by_unknown)
            join_counted(lists, j, RIGHT, part_sizes, ones, others, by_zeros, by_unknown)
        else:
            join(lists, i, LEFT, part_sizes, ones, others)
            join(lists, j, RIGHT, part_sizes, ones, others)
        log_q = 0.0
        for m in range(count):
            n = members[m]
            for side in range(2):
                if counted:
                    bases[side] = side_base_counted(tables, side, part_sizes, by_zeros, by_unknown)
                elif not zeros_listed:
                    bases[side] = side_base(tables, side, part_sizes, ones, others)
            if counted and reached:
                side_scores(lists, tables, n, part_sizes, ones, others, bases, scores)
            else:
                scores[0] = side_score(lists, tables, zeros_listed, n, LEFT, part_sizes, ones, others, bases[0])
                scores[1] = side_score(lists, tables, zeros_listed, n, RIGHT, part_sizes, ones, others, bases[1])
            left = tables.log_old[part_sizes[0]] + temperature * scores[0]
            right = tables.log_old[part_sizes[1]] + temperature * scores[1]
            total = max(left, right) + math.log1p(math.exp(-abs(left - right)))
            if splits:
                sides[m] = 0 if uniform_at(key, n_rows + 4 + m) < math.exp(left - total) else 1
            else:
                sides[m] = 0 if labels[n] == a else 1
            log_q += (left if sides[m] == 0 else right) - total
            if counted:
                join_counted(lists, n, sides[m], part_sizes, ones, others, by_zeros, by_unknown)
            else:
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
