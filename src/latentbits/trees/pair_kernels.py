# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Sums over rows for pairs of columns: all pairs above a diagonal, or candidate edges.  Words as in ``kernels.py``."""

from __future__ import annotations

import numpy as np

from ..jit import inner_kernel, kernel
from .kernels import NOTHING, collect_pieces, distribute_pieces, set_state

# Unknown cells that hang together and whose covariances are all worked out; more there are only in wide tables.
MOST_TIED = 2048


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
                        add_covariance(d, np.int64(up), value, n_columns, keys, out)
                    continue
                cov[a - low, a - low] = belief[d] * (1.0 - belief[d])
                for b in range(low, a):
                    value = tilt[d] * cov[place[up], b - low]
                    cov[a - low, b - low] = value
                    cov[b - low, a - low] = value
                    add_covariance(d, order[b], shares[i] * value, n_columns, keys, out)
        set_state(ones, unknown, state, 0, 0)
