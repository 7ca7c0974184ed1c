# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops over rows and trees.  Imported when a fit first needs them.

A class is a tree of columns.  With ``base`` the log probability of a row of zeros, ``slope[d]`` what a one at column d
adds to it while all others are zero, and ``bond[d]`` what it adds beyond that if the parent of d is one, too,

    log T(x) = base + sum over ones of slope + sum over edges with both ends one of bond,

and the unknown cells of a row are a field of spins on the pieces of the tree that known cells leave: pulled by ``slope``
and by the bonds to ones, tied to each other by the bonds between them.  A piece is summed out from its leaves to its top.

Columns that have no parent are their own, with a bond of zero.  Arrays called ``wide`` are (D * K,), others of one class
(D,).
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel

# Responsibilities below this leave no trace in sums of float64.
NOTHING = 1e-14


@kernel
def add_row_scores(indptr, indices, slope_wide, bond_wide, parent_wide, n_classes, out):
    """Add to ``out`` (n, K) the slopes of the ones of every row, and the bonds between them."""
    width, n_columns = np.uint64(n_classes), slope_wide.shape[0] // n_classes
    one = np.zeros(n_columns)
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            one[indices[p]] = 1.0
        scores = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            at = np.uint64(indices[p]) * width
            for k in range(width):
                scores[k] += slope_wide[at + k] + bond_wide[at + k] * one[parent_wide[at + k]]
        for p in range(indptr[i], indptr[i + 1]):
            one[indices[p]] = 0.0


@inner_kernel
def soft_plus(x):
    """log(1 + exp(x))."""
    return x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x))


@inner_kernel
def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


@inner_kernel
def collect_pieces(ones, unknown, state, slope, bond, parent, pull, count, queue):
    """Sum out the unknown cells of a row, children before parents.

    ``state`` (D,) is 1 at ones, 2 at unknown cells.  ``pull`` (D,) is filled at unknown cells with the log odds of a one
    if the parent is zero, given all that is below; ``queue`` with the unknown cells in the order in which they were
    summed out. Returns the log of the sum over their values, relative to all of them being zero.
    """
    for p in range(unknown.shape[0]):
        pull[unknown[p]] = slope[unknown[p]]
        count[unknown[p]] = 0
    for p in range(unknown.shape[0]):
        d = unknown[p]
        up = parent[d]
        if up != d and state[up] == 1:
            pull[d] += bond[d]
        elif up != d and state[up] == 2:
            count[up] += 1
    for p in range(ones.shape[0]):
        up = parent[ones[p]]
        if up != ones[p] and state[up] == 2:
            pull[up] += bond[ones[p]]
    last = 0
    for p in range(unknown.shape[0]):
        if count[unknown[p]] == 0:
            queue[last] = unknown[p]
            last += 1
    total, first = 0.0, 0
    while first < last:
        d = queue[first]
        first += 1
        off = soft_plus(pull[d])
        total += off
        up = parent[d]
        if up != d and state[up] == 2:
            pull[up] += soft_plus(pull[d] + bond[d]) - off
            count[up] -= 1
            if count[up] == 0:
                queue[last] = up
                last += 1
    return total


@inner_kernel
def distribute_pieces(n_unknown, state, bond, parent, pull, queue, belief, tilt):
    """From the tops of the pieces down: ``belief`` (D,), P(1 | known cells), and ``tilt``, by how much a one above
    raises it."""
    for q in range(n_unknown - 1, -1, -1):
        d = queue[q]
        up = parent[d]
        low = logistic(pull[d])
        if up != d and state[up] == 2:
            tilt[d] = logistic(pull[d] + bond[d]) - low
            belief[d] = low + belief[up] * tilt[d]
        else:
            tilt[d] = 0.0
            belief[d] = low


@inner_kernel
def set_state(ones, unknown, state, of_ones, of_unknown):
    """Write the states of the cells of a row."""
    for p in range(ones.shape[0]):
        state[ones[p]] = of_ones
    for p in range(unknown.shape[0]):
        state[unknown[p]] = of_unknown


@kernel
def add_piece_scores(indptr, indices, unknown_indptr, unknown_indices, slope, bond, parent, out):
    """Add to ``out`` (n, K) what the unknown cells of every row sum out to; ``slope``, ``bond``, ``parent`` are (K, D)."""
    n_classes, n_columns = slope.shape
    state, count = np.zeros(n_columns, np.uint8), np.empty(n_columns, np.int64)
    pull, queue = np.empty(n_columns), np.empty(n_columns, np.int64)
    for i in range(indptr.shape[0] - 1):
        unknown = unknown_indices[unknown_indptr[i] : unknown_indptr[i + 1]]
        if unknown.shape[0] == 0:
            continue
        ones = indices[indptr[i] : indptr[i + 1]]
        set_state(ones, unknown, state, 1, 2)
        for k in range(n_classes):
            out[i, k] += collect_pieces(ones, unknown, state, slope[k], bond[k], parent[k], pull, count, queue)
        set_state(ones, unknown, state, 0, 0)


@kernel
def expect_unknown(indptr, indices, unknown_indptr, unknown_indices, slope, bond, parent, shares, out):
    """Fill ``out`` (unknown cells,) with P(1 | known cells of the row, class), 0 in rows without a share in the class.

    ``slope``, ``bond``, ``parent`` are (D,), ``shares`` (n,).
    """
    n_columns = slope.shape[0]
    state, count = np.zeros(n_columns, np.uint8), np.empty(n_columns, np.int64)
    pull, queue = np.empty(n_columns), np.empty(n_columns, np.int64)
    belief, tilt = np.empty(n_columns), np.empty(n_columns)
    for i in range(indptr.shape[0] - 1):
        low, high = unknown_indptr[i], unknown_indptr[i + 1]
        if low == high:
            continue
        if shares[i] < NOTHING:
            out[low:high] = 0.0
            continue
        ones, unknown = indices[indptr[i] : indptr[i + 1]], unknown_indices[low:high]
        set_state(ones, unknown, state, 1, 2)
        collect_pieces(ones, unknown, state, slope, bond, parent, pull, count, queue)
        distribute_pieces(high - low, state, bond, parent, pull, queue, belief, tilt)
        for p in range(low, high):
            out[p] = belief[unknown_indices[p]]
        set_state(ones, unknown, state, 0, 0)


@kernel
def add_predictions(indptr, indices, unknown_indptr, unknown_indices, slope, bond, parent, shares, out):
    """Add to ``out`` (n, D) P(1 | the other cells of the row, class) times the share of the row; arrays of one class (D,).

    The odds of a cell are those with all neighbours zero, times exp(bond) for a neighbour that is one, and times the
    mean of it for one that is unknown, given that the cell is zero.
    """
    n_columns = slope.shape[0]
    state, count = np.zeros(n_columns, np.uint8), np.empty(n_columns, np.int64)
    pull, queue = np.empty(n_columns), np.empty(n_columns, np.int64)
    belief, tilt, field = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    for i in range(indptr.shape[0] - 1):
        if shares[i] < NOTHING:
            continue
        ones, unknown = indices[indptr[i] : indptr[i + 1]], unknown_indices[unknown_indptr[i] : unknown_indptr[i + 1]]
        set_state(ones, unknown, state, 1, 2)
        collect_pieces(ones, unknown, state, slope, bond, parent, pull, count, queue)
        distribute_pieces(unknown.shape[0], state, bond, parent, pull, queue, belief, tilt)
        for d in range(n_columns):
            field[d] = slope[d]
        for d in range(n_columns):
            up = parent[d]
            if up == d:
                continue
            if state[d] != 2:
                field[d] += neighbour_field(bond[d], state[up], belief[up], state[d])
            if state[up] != 2:
                field[up] += neighbour_field(bond[d], state[d], belief[d], state[up])
        for d in range(n_columns):
            out[i, d] += shares[i] * (belief[d] if state[d] == 2 else logistic(field[d]))
        set_state(ones, unknown, state, 0, 0)


@inner_kernel
def neighbour_field(bond, state, belief, own):
    """What a neighbour in ``state``, with a ``belief`` if that is unknown, adds to the log odds of a known cell of value
    ``own``."""
    if state == 0:
        return 0.0
    if state == 1:
        return bond
    # The belief holds for the cell as it is; with the cell at zero its odds lack the bond.
    on = belief * math.exp(-bond) if own == 1 else belief
    chance = on / (on + 1.0 - belief)
    return math.log1p(chance * math.expm1(bond))


@kernel
def draw_unknown(indptr, indices, unknown_indptr, unknown_indices, slope, bond, parent, classes, uniforms, out):
    """Fill ``out`` (unknown cells,) with a joint draw for every row given its class; one uniform per cell; tables (K, D)."""
    n_columns = slope.shape[1]
    state, count = np.zeros(n_columns, np.uint8), np.empty(n_columns, np.int64)
    pull, queue = np.empty(n_columns), np.empty(n_columns, np.int64)
    drawn, place = np.zeros(n_columns), np.empty(n_columns, np.int64)
    for i in range(indptr.shape[0] - 1):
        low, high = unknown_indptr[i], unknown_indptr[i + 1]
        if low == high:
            continue
        ones, unknown, k = indices[indptr[i] : indptr[i + 1]], unknown_indices[low:high], classes[i]
        for p in range(low, high):
            place[unknown_indices[p]] = p
        set_state(ones, unknown, state, 1, 2)
        collect_pieces(ones, unknown, state, slope[k], bond[k], parent[k], pull, count, queue)
        for q in range(high - low - 1, -1, -1):
            d = queue[q]
            up = parent[k, d]
            tied = bond[k, d] * drawn[up] if up != d and state[up] == 2 else 0.0
            drawn[d] = 1.0 if uniforms[place[d]] < logistic(pull[d] + tied) else 0.0
            out[place[d]] = drawn[d] > 0.0
        set_state(ones, unknown, state, 0, 0)


@kernel
def strongest_neighbours(
    classes, columns, codes, states_indptr, states_indices, blank_indptr, blank_indices, tables, partner, argued
):
    """Of cells (m,), each in a row of its own: the tree neighbour that argues most for the value that the cell has.

    ``tables`` are ``(parent (K, D), child_indptr (K, D + 1), children (K, D), on_given (K, D, 2), chances (K, D))``.
    ``partner`` (m,) is filled with its column, -1 if none argues, ``argued`` (m,) with log P(value | neighbour, class) -
    log P(value | class).
    """
    parent, child_indptr, children, on_given, chances = tables
    n_columns = parent.shape[1]
    state = np.zeros(n_columns, np.uint8)
    for i in range(classes.shape[0]):
        k, d, value = classes[i], columns[i], codes[i]
        ones = states_indices[states_indptr[i] : states_indptr[i + 1]]
        unknown = blank_indices[blank_indptr[i] : blank_indptr[i + 1]]
        set_state(ones, unknown, state, 1, 2)
        partner[i], argued[i] = -1, 0.0
        alone = chances[k, d] if value == 1 else 1.0 - chances[k, d]
        up = parent[k, d]
        if up != d and state[up] != 2:
            on = on_given[k, d, state[up]]
            gain = math.log((on if value == 1 else 1.0 - on) / alone)
            if gain > argued[i]:
                partner[i], argued[i] = up, gain
        for p in range(child_indptr[k, d], child_indptr[k, d + 1]):
            child = children[k, p]
            if state[child] == 2:
                continue
            given, chance = on_given[k, child, value], chances[k, child]
            if state[child] != 1:
                given, chance = 1.0 - given, 1.0 - chance
            gain = math.log(given / chance)
            if gain > argued[i]:
                partner[i], argued[i] = child, gain
        set_state(ones, unknown, state, 0, 0)
