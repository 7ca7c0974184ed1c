# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Messages along a tree of hidden states, for some rows at a time.  Imported when a fit first needs them.

Every column d has a hidden state z_d of M values that follows the tree, ``tables[d, i, j]`` = P(z_d = j | z_parent = i).
A column below which a row holds zeros only sends the message of zeros up, the same for all such rows.  So a row is a set
of *stops*: columns that are not zero, and all above them.  Stops stand column by column, within a column by row:

    begin (D + 1,)   where the stops of every column begin
    row (S,)         the row of a stop
    up (S,)          the stop at the parent, in the same row; itself at roots
    value (S,)       the cell there: 0, 1, 2 unknown

Arrays over stops are (S, M).  Products are by BLAS, one column after the other: (stops x M)(M x M).
"""

from __future__ import annotations

import math

import numpy as np

from ...jit import inner_kernel, kernel
from ...maths.kernels import uniform_at

# Products of messages are kept within these; how often one was scaled, ``TIMES`` 2^60, is counted beside.
SMALL, LARGE, TIMES = 2.0**-60, 2.0**60, 60


@inner_kernel
def within_reach(values, shifts):
    """Scale numbers back into reach, one by one, and count in ``shifts`` how often."""
    for m in range(values.shape[0]):
        while LARGE < values[m] < np.inf:
            values[m] *= SMALL
            shifts[m] += 1
        while 0.0 < values[m] < SMALL:
            values[m] *= LARGE
            shifts[m] -= 1


@inner_kernel
def aligned(values, shifts, others):
    """Scale numbers so that the largest is 1 and none is shifted; returns the log of what it was."""
    most = shifts[0] + others[0]
    for m in range(1, values.shape[0]):
        most = max(most, shifts[m] + others[m])
    largest = values[0] * 0.0
    for m in range(values.shape[0]):
        less = shifts[m] + others[m] - most
        values[m] *= 2.0 ** max(TIMES * less, -1000)
        largest = max(largest, values[m])
    by = 1.0 / largest
    for m in range(values.shape[0]):
        values[m] *= by
    return math.log(largest) + most * TIMES * math.log(2.0)


@kernel
def send_zeros(order, parents, tables, probs, product, base, shifts, zero, message, scale):
    """What every column sends up if its cells and all below are zero.

    Filled are ``base`` (D, 3, M), with ``shifts`` (D, M): the product of the children's messages times P(cell | z) for 0, 1
    and unknown; ``zero`` (D, M): that for 0, largest 1, and ``scale`` (D,) the log of what it was; ``message`` (D, M).
    ``product`` (D, M) is 1 and ``shifts`` are 0 before.  ``scale`` adds up to log p(zeros).
    """
    width = probs.shape[1]
    nothing = np.zeros(width, shifts.dtype)
    for place in range(order.shape[0] - 1, -1, -1):
        d = order[place]
        for m in range(width):
            base[d, 0, m] = product[d, m] * (1.0 - probs[d, m])
            base[d, 1, m] = product[d, m] * probs[d, m]
            base[d, 2, m] = product[d, m]
            zero[d, m] = base[d, 0, m]
        scale[d] = aligned(zero[d], shifts[d], nothing)
        for i in range(width):
            value = 0.0
            for j in range(width):
                value += tables[d, i, j] * zero[d, j]
            message[d, i] = value
        up = parents[d]
        if up == d:
            scale[d] += math.log(message[d, 0])
            continue
        for m in range(width):
            product[up, m] *= message[d, m]
        within_reach(product[up], shifts[up])


@kernel
def count_stops(lists, rows, parents, seen, begin, by_row):
    """Fill ``begin`` (D + 1,) with where the stops of every column begin, ``by_row`` (n,) with the stops of every row.

    ``seen`` (D,) are -1 before and after.
    """
    begin[:] = 0
    by_row[:] = 0
    for r in range(rows.shape[0]):
        for indptr, indices in lists:
            for p in range(indptr[rows[r]], indptr[rows[r] + 1]):
                d = indices[p]
                while seen[d] != r:
                    seen[d] = r
                    begin[d + 1] += 1
                    by_row[r] += 1
                    d = parents[d]
    for d in range(parents.shape[0]):
        begin[d + 1] += begin[d]
        seen[d] = -1


@kernel
def list_stops(lists, rows, parents, seen, place, begin, row, up, value):
    """Fill ``row``, ``up`` and ``value`` (S,); ``lists`` are index lists of ones, of unknown cells, and of other stops."""
    (one_indptr, one_indices), (unknown_indptr, unknown_indices), _ = lists
    place[:] = begin[:-1]
    value[:] = 0
    for r in range(rows.shape[0]):
        i = rows[r]
        for indptr, indices in lists:
            for p in range(indptr[i], indptr[i + 1]):
                d = indices[p]
                while seen[d] != r:
                    seen[d] = r
                    row[place[d]] = r
                    place[d] += 1
                    d = parents[d]
        for indptr, indices in lists:
            for p in range(indptr[i], indptr[i + 1]):
                d = indices[p]
                while seen[d] == r:
                    seen[d] = -1
                    up[place[d] - 1] = place[parents[d]] - 1
                    d = parents[d]
        for p in range(one_indptr[i], one_indptr[i + 1]):
            value[place[one_indices[p]] - 1] = 1
        for p in range(unknown_indptr[i], unknown_indptr[i + 1]):
            value[place[unknown_indices[p]] - 1] = 2


@inner_kernel
def largest_of(values, s):
    """The largest of line ``s``, by four at a time."""
    width = values.shape[1]
    a = b = c = d = values[s, 0]
    whole = width // 4 * 4
    for m in range(0, whole, 4):
        a = max(a, values[s, m])
        b = max(b, values[s, m + 1])
        c = max(c, values[s, m + 2])
        d = max(d, values[s, m + 3])
    for m in range(whole, width):
        a = max(a, values[s, m])
    return max(max(a, b), max(c, d))


@inner_kernel
def smallest_of(values, s):
    """The smallest of line ``s``, by four at a time."""
    width = values.shape[1]
    a = b = c = d = values[s, 0]
    whole = width // 4 * 4
    for m in range(0, whole, 4):
        a = min(a, values[s, m])
        b = min(b, values[s, m + 1])
        c = min(c, values[s, m + 2])
        d = min(d, values[s, m + 3])
    for m in range(whole, width):
        a = min(a, values[s, m])
    return min(min(a, b), min(c, d))


@inner_kernel
def finish_stops(d, stops, zeros, upward, shifts, far, product, scores):
    """Multiply the messages of the children by P(cell | z) at the stops of a column, and scale the largest to 1."""
    begin, row, _, value = stops
    base, base_shifts, _, scale, is_hub = zeros
    width = base.shape[2]
    for s in range(begin[d], begin[d + 1]):
        kind, i = value[s], row[s]
        for m in range(width):
            upward[s, m] *= base[d, kind, m]
        scores[i] -= scale[d]
        if is_hub[d] or far[s]:
            scores[i] += aligned(upward[s], shifts[s], base_shifts[d])
            continue
        most = largest_of(upward, s)
        by = 1.0 / most
        for m in range(width):
            upward[s, m] *= by
        product[i] *= most
        if not SMALL < product[i] < LARGE:
            scores[i] += math.log(product[i])
            product[i] = 1.0


@inner_kernel
def pass_on(d, stops, zeros, upward, message, shifts, far):
    """Multiply what the parents' stops have heard by the messages of a column, relative to those of zeros."""
    begin, _, up, _ = stops
    inverse = zeros[2]
    width = inverse.shape[1]
    for s in range(begin[d], begin[d + 1]):
        above = up[s]
        for m in range(width):
            upward[above, m] *= message[s, m] * inverse[d, m]
        if smallest_of(upward, above) < SMALL or largest_of(upward, above) > LARGE:
            far[above] = 1
            within_reach(upward[above], shifts[above])


@kernel
def send_up(stops, order, tables, zeros, upward, message, shifts, far, scores):
    """Fill ``upward`` with P(cells at and below | z), largest 1, and ``message`` with P(... | z of the parent).

    ``order`` (D,) are the columns, parents first; ``zeros`` what :func:`send_zeros` found, with the inverse of the messages.
    ``upward`` is 1 and ``shifts`` (S, M) and ``far`` (S,) are 0 before.  ``scores`` (n,) get log p(row) - log p(zeros).
    """
    begin, row, up, _ = stops
    product = np.ones(scores.shape[0])
    for place in range(order.shape[0] - 1, -1, -1):
        d = order[place]
        low, high = begin[d], begin[d + 1]
        if low == high:
            continue
        finish_stops(d, stops, zeros, upward, shifts, far, product, scores)
        np.dot(upward[low:high], tables[d].T, message[low:high])
        if up[low] == low:
            for s in range(low, high):
                scores[row[s]] += math.log(message[s, 0])
        else:
            pass_on(d, stops, zeros, upward, message, shifts, far)
    for i in range(scores.shape[0]):
        scores[i] += math.log(product[i])


@kernel
def send_down(stops, order, tables, weights, upward, message, beliefs, moves):
    """Fill ``beliefs`` with P(z | row); ``message`` becomes that of the parent without this column, times row weights.

    ``moves`` (D, M, M) get the sums over stops of P(z_parent = i, z_d = j | row), but for
    their factor ``tables``; those of roots, in their first line, of beliefs; nobody asks for them if they are empty.
    """
    begin, row, up, _ = stops
    width = tables.shape[1]
    sums = np.empty((width, width), tables.dtype)
    for place in range(order.shape[0]):
        d = order[place]
        low, high = begin[d], begin[d + 1]
        if low == high:
            continue
        if up[low] == low:
            for s in range(low, high):
                weight, by = weights[row[s]], 1.0 / message[s, 0]
                for m in range(width):
                    beliefs[s, m] = tables[d, 0, m] * upward[s, m] * by
                if moves.shape[0] > 0:
                    for m in range(width):
                        moves[d, 0, m] += weight * beliefs[s, m]
            continue
        for s in range(low, high):
            above = up[s]
            for m in range(width):
                message[s, m] = beliefs[above, m] / message[s, m]
        np.dot(message[low:high], tables[d], beliefs[low:high])
        for s in range(low, high):
            weight = weights[row[s]]
            for m in range(width):
                beliefs[s, m] *= upward[s, m]
                message[s, m] *= weight
        if moves.shape[0] > 0:
            np.dot(message[low:high].T, upward[low:high], sums)
            for i in range(width):
                for j in range(width):
                    moves[d, i, j] += sums[i, j]


@kernel
def sum_cells(stops, weights, beliefs, on, unknown):
    """Add to ``on`` and ``unknown`` (D, M) the weights of states at ones and at unknown cells."""
    begin, row, _, value = stops
    for d in range(on.shape[0]):
        for s in range(begin[d], begin[d + 1]):
            if value[s] == 1:
                for m in range(on.shape[1]):
                    on[d, m] += weights[row[s]] * beliefs[s, m]
            elif value[s] == 2:
                for m in range(on.shape[1]):
                    unknown[d, m] += weights[row[s]] * beliefs[s, m]


@kernel
def add_zeros(order, parents, tables, conditional, totals, moves):
    """Complete ``moves`` (D, M, M) by the rows that have only zeros below a column; ``totals`` (D, M) get P(z_d) in sum.

    ``conditional`` (D, M, M) is P(z_d = j | z_parent = i, zeros at and below d), of roots in their first line; ``totals``
    of roots hold, in their first place, the weight of all rows.
    """
    width = tables.shape[1]
    for d in order:
        up = parents[d]
        if up == d:
            left = totals[d, 0]
            for m in range(width):
                left -= moves[d, 0, m]
            left = max(left, 0.0)
            for m in range(width):
                moves[d, 0, m] += left * conditional[d, 0, m]
                totals[d, m] = moves[d, 0, m]
            continue
        for m in range(width):
            totals[d, m] = 0.0
        for i in range(width):
            left = totals[up, i]
            for j in range(width):
                moves[d, i, j] *= tables[d, i, j]
                left -= moves[d, i, j]
            left = max(left, 0.0)
            for j in range(width):
                moves[d, i, j] += left * conditional[d, i, j]
                totals[d, j] += moves[d, i, j]


@kernel
def cell_chances(stops, beliefs, probs, chances):
    """Fill ``chances`` (S,) with P(cell = 1 | states of the column), weighed as the row tells."""
    begin, _, _, _ = stops
    for d in range(probs.shape[0]):
        for s in range(begin[d], begin[d + 1]):
            on = 0.0
            for m in range(probs.shape[1]):
                on += beliefs[s, m] * probs[d, m]
            chances[s] = min(on, 1.0)


@kernel
def draw_states(stops, order, tables, keys, upward, message, states):
    """Fill ``states`` (S,) with a draw of the hidden states of rows, parents first; ``keys`` (n,) are the rows' own."""
    begin, row, up, _ = stops
    width = tables.shape[1]
    for d in order:
        for s in range(begin[d], begin[d + 1]):
            above = 0 if up[s] == s else states[up[s]]
            left = uniform_at(keys[row[s]], d) * message[s, above]
            chosen = width - 1
            for m in range(width):
                left -= tables[d, above, m] * upward[s, m]
                if left < 0.0:
                    chosen = m
                    break
            states[s] = chosen
