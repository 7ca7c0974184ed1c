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
# Unknown cells that hang together and whose covariances are all worked out; more there are only in wide tables.
MOST_TIED = 2048


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


@inner_kernel
def sort_pieces(n_unknown, state, parent, queue, place, piece, order, bounds):
    """Unknown cells of a row piece by piece: ``order``, from the top of each down, and its ``bounds``.  Returns the
    number of pieces.

    ``place`` (D,) and ``piece`` are work space.
    """
    n_pieces = 0
    for q in range(n_unknown):
        d = queue[n_unknown - 1 - q]
        up = parent[d]
        place[d] = q
        if up != d and state[up] == 2:
            piece[q] = piece[place[up]]
        else:
            piece[q] = n_pieces
            bounds[n_pieces] = 0
            n_pieces += 1
        bounds[piece[q]] += 1
    total = 0
    for c in range(n_pieces):
        size = bounds[c]
        bounds[c] = total
        total += size
    for q in range(n_unknown):
        order[bounds[piece[q]]] = queue[n_unknown - 1 - q]
        bounds[piece[q]] += 1
    for c in range(n_pieces, 0, -1):
        bounds[c] = bounds[c - 1]
    bounds[0] = 0
    return n_pieces


@inner_kernel
def add_covariance(d, e, value, n_columns, keys, out):
    """Add to the number of a pair: of all pairs, or of the candidates that ``keys`` names."""
    key = min(d, e) * n_columns + max(d, e)
    if keys.shape[0] == 0:
        out[key] += value
        return
    at = np.searchsorted(keys, key)
    if at < keys.shape[0] and keys[at] == key:
        out[at] += value


@kernel
def add_piece_pairs(indptr, indices, unknown_indptr, unknown_indices, slope, bond, parent, shares, keys, out):
    """Add to ``out`` the covariances of the unknown cells of every row, times its share.

    ``out`` is (D * D,), used above the diagonal, if ``keys`` is empty, else of candidates (E,), ``keys`` being ``first *
    D + second``, ascending.  Cells of different pieces are independent; down a piece, cov(d, e) = tilt_d cov(parent of
    d, e) for all e that were met before d.  Of a piece of more than ``MOST_TIED`` cells only neighbours are looked at.
    """
    n_columns = slope.shape[0]
    state, count = np.zeros(n_columns, np.uint8), np.empty(n_columns, np.int64)
    pull, queue = np.empty(n_columns), np.empty(n_columns, np.int64)
    belief, tilt = np.empty(n_columns), np.empty(n_columns)
    most = np.diff(unknown_indptr).max()
    place, piece, order = np.empty(n_columns, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    bounds, cov = np.empty(most + 1, np.int64), np.empty((min(most, MOST_TIED), min(most, MOST_TIED)))
    for i in range(indptr.shape[0] - 1):
        unknown = unknown_indices[unknown_indptr[i] : unknown_indptr[i + 1]]
        if unknown.shape[0] < 2 or shares[i] < NOTHING:
            continue
        ones = indices[indptr[i] : indptr[i + 1]]
        set_state(ones, unknown, state, 1, 2)
        collect_pieces(ones, unknown, state, slope, bond, parent, pull, count, queue)
        distribute_pieces(unknown.shape[0], state, bond, parent, pull, queue, belief, tilt)
        for c in range(sort_pieces(unknown.shape[0], state, parent, queue, place, piece, order, bounds)):
            low, high = bounds[c], bounds[c + 1]
            for a in range(low, high):
                d = order[a]
                up = parent[d]
                place[d] = a - low
                if high - low > MOST_TIED:
                    if a > low:
                        value = shares[i] * tilt[d] * belief[up] * (1.0 - belief[up])
                        add_covariance(d, up, value, n_columns, keys, out)
                    continue
                cov[a - low, a - low] = belief[d] * (1.0 - belief[d])
                for b in range(low, a):
                    value = tilt[d] * cov[place[up], b - low]
                    cov[a - low, b - low] = value
                    cov[b - low, a - low] = value
                    add_covariance(d, order[b], shares[i] * value, n_columns, keys, out)
        set_state(ones, unknown, state, 0, 0)


@kernel
def add_pairs(indptr, indices, values, shares, out):
    """Add to ``out`` (D, D), above the diagonal, the products of the marked cells of every row times its share.

    Marks ascend within a row; ``values`` are their values.
    """
    for i in range(indptr.shape[0] - 1):
        share = shares[i]
        if share < NOTHING:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            target, value = out[indices[p]], share * values[p]
            for q in range(p + 1, indptr[i + 1]):
                target[indices[q]] += value * values[q]


@kernel
def add_edge_pairs(indptr, indices, values, shares, partner_indptr, partners, out):
    """The same for candidate edges alone, ``out`` (E,): of column d those to ``partners`` after it, from
    ``partner_indptr[d]`` on."""
    held = np.zeros(partner_indptr.shape[0] - 1)
    for i in range(indptr.shape[0] - 1):
        share = shares[i]
        if share < NOTHING:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            held[indices[p]] = values[p]
        for p in range(indptr[i], indptr[i + 1]):
            value = share * values[p]
            for q in range(partner_indptr[indices[p]], partner_indptr[indices[p] + 1]):
                if held[partners[q]] > 0.0:
                    out[q] += value * held[partners[q]]
        for p in range(indptr[i], indptr[i + 1]):
            held[indices[p]] = 0.0


@kernel
def add_crossings(indptr, indices, other_indptr, other_indices, weights, out):
    """Add to ``out`` (D, D) the weights of rows in which the first column is marked in one list, the second in the other."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            target = out[indices[p]]
            for q in range(other_indptr[i], other_indptr[i + 1]):
                target[other_indices[q]] += weights[i]


@kernel
def add_edge_crossings(indptr, indices, other_indptr, other_indices, weights, partner_indptr, partners, out):
    """The same for candidate edges (E,), from the first column to the second."""
    held = np.zeros(partner_indptr.shape[0] - 1, np.bool_)
    for i in range(indptr.shape[0] - 1):
        for q in range(other_indptr[i], other_indptr[i + 1]):
            held[other_indices[q]] = True
        for p in range(indptr[i], indptr[i + 1]):
            for q in range(partner_indptr[indices[p]], partner_indptr[indices[p] + 1]):
                if held[partners[q]]:
                    out[q] += weights[i]
        for q in range(other_indptr[i], other_indptr[i + 1]):
            held[other_indices[q]] = False


@inner_kernel
def x_log_x(x):
    """x log x, 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@inner_kernel
def pair_information(both, first, second, total):
    """Mutual information of two columns times the rows, from the counts of ones of both, the first, the second, and of
    all rows."""
    either = x_log_x(both) + x_log_x(first - both) + x_log_x(second - both) + x_log_x(total - first - second + both)
    alone = x_log_x(first) + x_log_x(total - first) + x_log_x(second) + x_log_x(total - second)
    return either - alone + x_log_x(total)


@inner_kernel
def drawn_apart(both, first, second, total, caution):
    """Weight of rows with both ones, drawn toward independence by the say that ``caution`` rows of the rarest value have."""
    rare = min(first, second, total - first, total - second)
    part = caution / (caution + rare) if caution + rare > 0.0 else 0.0
    return (1.0 - part) * both + part * first * second / total


@kernel
def information_table(both, on, total, caution, out):
    """Fill ``out`` (D, D) with the mutual information of all pairs, from weights (D, D) above the diagonal, ``on`` (D,)
    and ``total``."""
    n_columns = on.shape[0]
    alone = np.empty(n_columns)
    for d in range(n_columns):
        alone[d] = x_log_x(on[d]) + x_log_x(total - on[d])
    whole = x_log_x(total)
    for d in range(n_columns):
        out[d, d] = 0.0
        for e in range(d + 1, n_columns):
            first, second, pair = on[d], on[e], both[d, e]
            if caution > 0.0 and total > 0.0:
                pair = drawn_apart(pair, first, second, total, caution)
            value = (
                x_log_x(pair) + x_log_x(first - pair) + x_log_x(second - pair) + x_log_x(total - first - second + pair)
            )
            value += whole - alone[d] - alone[e]
            out[d, e] = value
            out[e, d] = value


@kernel
def edge_information(first, second, both, on, total, caution, out):
    """The same for edges (E,)."""
    for e in range(first.shape[0]):
        a, b, pair = on[first[e]], on[second[e]], both[e]
        if caution > 0.0 and total > 0.0:
            pair = drawn_apart(pair, a, b, total, caution)
        out[e] = pair_information(pair, a, b, total)


@kernel
def grow_tree(information, link):
    """Prim's spanning tree of the most information: fill ``link`` (D,) with the neighbour through which each column came.

    Begins at column 0, its own neighbour.  Of equal ones the first column is taken, through the first neighbour.
    """
    n_columns = information.shape[0]
    outside, best = np.ones(n_columns, np.bool_), np.full(n_columns, -np.inf)
    last = 0
    link[0] = 0
    outside[0] = False
    for _ in range(n_columns - 1):
        chosen, most = -1, -np.inf
        for e in range(n_columns):
            if not outside[e]:
                continue
            value = information[last, e]
            if value > best[e] or (value == best[e] and last < link[e]):
                best[e] = value
                link[e] = last
            if chosen < 0 or best[e] > most:
                chosen, most = e, best[e]
        last = chosen
        outside[last] = False


@kernel
def root_at_centres(first, second, parents):
    """Fill ``parents`` (D,) of a forest with edges (E,): leaves are taken off, layer by layer, and hang on what is left.

    What is left last of a tree is a centre of it.  A leaf finds its only neighbour in the exclusive or of all that it
    still has.
    """
    n_columns = parents.shape[0]
    degree, mixed = np.zeros(n_columns, np.int64), np.zeros(n_columns, np.int64)
    for e in range(first.shape[0]):
        degree[first[e]] += 1
        degree[second[e]] += 1
        mixed[first[e]] ^= second[e]
        mixed[second[e]] ^= first[e]
    queue = np.empty(n_columns, np.int64)
    last = 0
    for d in range(n_columns):
        if degree[d] <= 1:
            queue[last] = d
            last += 1
    place = 0
    while place < last:
        d = queue[place]
        place += 1
        if degree[d] == 0:
            parents[d] = d
            continue
        up = mixed[d]
        parents[d] = up
        mixed[up] ^= d
        degree[up] -= 1
        if degree[up] == 1:
            queue[last] = up
            last += 1


@kernel
def join_edges(first, second, order, kept):
    """Kruskal's forest: of edges (E,) in the given order those that join two trees; ``kept`` (E,) is filled.

    Trees are kept as pointers to their first columns, shortened on the way.
    """
    n_columns = 0
    for e in range(first.shape[0]):
        n_columns = max(n_columns, first[e] + 1, second[e] + 1)
    above = np.arange(n_columns)
    for place in range(order.shape[0]):
        e = order[place]
        a, b = first[e], second[e]
        while above[a] != a:
            above[a] = above[above[a]]
            a = above[a]
        while above[b] != b:
            above[b] = above[above[b]]
            b = above[b]
        kept[e] = a != b
        if a != b:
            above[max(a, b)] = min(a, b)


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
