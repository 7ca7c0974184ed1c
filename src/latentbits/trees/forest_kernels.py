# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Trees of columns: mutual information of pairs, and the spanning trees of the most of it."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel


@inner_kernel
def x_log_x(x):
    """x log x, 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@inner_kernel
def column_part(on, total):
    """What a column by itself has in the information of its pairs, from the weights of its ones and of all rows."""
    return x_log_x(on) + x_log_x(total - on)


@inner_kernel
def pair_information(both, first, second, total, apart):
    """Mutual information of two columns times the rows, from the weights of rows in which both are one, each is, of all.

    ``apart`` is the part of all rows less those of the columns.
    """
    either = x_log_x(both) + x_log_x(first - both) + x_log_x(second - both) + x_log_x(total - first - second + both)
    return either + apart


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
        alone[d] = column_part(on[d], total)
    whole = x_log_x(total)
    for d in range(n_columns):
        out[d, d] = 0.0
        for e in range(d + 1, n_columns):
            first, second, pair = on[d], on[e], both[d, e]
            if caution > 0.0 and total > 0.0:
                pair = drawn_apart(pair, first, second, total, caution)
            value = pair_information(pair, first, second, total, whole - alone[d] - alone[e])
            out[d, e] = value
            out[e, d] = value


@kernel
def edge_information(first, second, both, on, total, caution, out):
    """The same for edges (E,)."""
    for e in range(first.shape[0]):
        a, b, pair = on[first[e]], on[second[e]], both[e]
        if caution > 0.0 and total > 0.0:
            pair = drawn_apart(pair, a, b, total, caution)
        apart = x_log_x(total) - column_part(a, total) - column_part(b, total)
        out[e] = pair_information(pair, a, b, total, apart)


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
def mirror(pairs):
    """Copy what is above the diagonal of ``pairs`` (D, D) below it, square by square."""
    n_columns, side = pairs.shape[0], 32
    for top in range(0, n_columns, side):
        for left in range(top, n_columns, side):
            for d in range(top, min(top + side, n_columns)):
                for e in range(max(left, d + 1), min(left + side, n_columns)):
                    pairs[e, d] = pairs[d, e]


@kernel
def grow_tree_of_counts(both, others, share, on, total, caution, link):
    """The same tree from weights of rows (D, D): of data, ``both``, and ``share`` times ``others``.

    Information is worked out only where it can matter: it is at most chi squared, which takes no logarithms.
    """
    n_columns = on.shape[0]
    outside, best = np.ones(n_columns, np.bool_), np.full(n_columns, -np.inf)
    alone, spread = np.empty(n_columns), np.empty(n_columns)
    for d in range(n_columns):
        alone[d] = column_part(on[d], total)
        product = on[d] * (total - on[d])
        spread[d] = total / product if product > 0.0 else 0.0
    whole = x_log_x(total)
    slack = 1e-12 * (1.0 + abs(whole))
    last = 0
    link[0] = 0
    outside[0] = False
    for _ in range(n_columns - 1):
        chosen, most = -1, -np.inf
        mine, weight = on[last] / total if total > 0.0 else 0.0, total * spread[last]
        for e in range(n_columns):
            if not outside[e]:
                continue
            pair = both[last, e] + share * others[last, e]
            away = pair - mine * on[e]
            if away * away * weight * spread[e] * (1.0 + 1e-9) + slack >= best[e]:
                low, high = min(last, e), max(last, e)
                if caution > 0.0 and total > 0.0:
                    pair = drawn_apart(pair, on[low], on[high], total, caution)
                apart = whole - alone[low] - alone[high]
                value = pair_information(pair, on[low], on[high], total, apart)
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
