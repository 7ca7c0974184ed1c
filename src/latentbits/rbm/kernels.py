# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the restricted Boltzmann machine, in float32: what is drawn is 0 or 1, and noise drowns the rounding.

Random numbers are addressed by a key and a place.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import MIX_1, MIX_2, STEP, exp_shares_single
from ..maths.lanes_kernels import L1, L2, L3, L4, L5, L6, L7, L8, dot_at

ZERO, ONE = np.float32(0.0), np.float32(1.0)
UNIT = np.float32(2.0**-24)
DOUBLE_ONE = np.float64(1.0)


@inner_kernel
def uniform_single(key, place):
    """A uniform of 24 bits with an address: the SplitMix64 finaliser of a key and a place."""
    x = key + (np.uint64(place) + np.uint64(1)) * STEP
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    return np.float32(x >> np.uint64(40)) * UNIT


@kernel
def logistic_rows(inputs, bias, work, whole, out):
    """Fill ``out`` (n, H) with σ(inputs + bias) and add ``bias`` (H,) to ``inputs``; ``work`` (n * H,) gets exp(-|input|)."""
    n_rows, n_units = inputs.shape
    size = n_rows * n_units
    for i in range(n_rows):
        for k in range(n_units):
            inputs[i, k] += bias[k]
            work[i * n_units + k] = -abs(inputs[i, k])
    exp_shares_single(work, size, whole, work.view(np.int32), whole.view(np.int32))
    for i in range(n_rows):
        for k in range(n_units):
            small = work[i * n_units + k]
            inverse = ONE / (ONE + small)
            out[i, k] = inverse if inputs[i, k] >= ZERO else small * inverse


@inner_kernel
def draw_rows(chances, key, out):
    """Fill ``out`` (n, H) with ones that have these ``chances``."""
    n_rows, n_units = chances.shape
    for i in range(n_rows):
        for k in range(n_units):
            out[i, k] = ONE if uniform_single(key, i * n_units + k) < chances[i, k] else ZERO


@kernel
def lay_out(lists, rows, filled, cells):
    """Fill ``cells`` (m, D) with some rows, unknown cells as last drawn."""
    indptr, indices, unknown_indptr, unknown_indices, _ = lists
    cells[:] = ZERO
    for r in range(rows.shape[0]):
        i = rows[r]
        for p in range(indptr[i], indptr[i + 1]):
            cells[r, indices[p]] = ONE
        for p in range(unknown_indptr[i], unknown_indptr[i + 1]):
            cells[r, unknown_indices[p]] = filled[p]


@kernel
def fill_rows(lists, rows, weights, visible, hidden, key, filled, cells):
    """Draw hidden units given ``cells`` (m, D), then the unknown cells, which ``filled`` and ``cells`` get.

    Returns the log probability of the known cells given the hidden units.
    """
    _, _, unknown_indptr, unknown_indices, _ = lists
    (n_rows, n_columns), n_units = cells.shape, hidden.shape[0]
    most = n_rows * max(n_columns, n_units)
    work, whole = np.empty(most, np.float32), np.empty(most, np.float32)
    inputs, units = np.empty((n_rows, n_units), np.float32), np.empty((n_rows, n_units), np.float32)
    logits, chances = np.empty((n_rows, n_columns), np.float32), np.empty((n_rows, n_columns), np.float32)
    np.dot(cells, weights, inputs)
    logistic_rows(inputs, hidden, work, whole, units)
    draw_rows(units, key, units)
    np.dot(units, weights.T, logits)
    logistic_rows(logits, visible, work, whole, chances)
    value = 0.0
    for r in range(n_rows):
        for p in range(unknown_indptr[rows[r]], unknown_indptr[rows[r] + 1]):
            work[r * n_columns + unknown_indices[p]] = ZERO
            logits[r, unknown_indices[p]] = ZERO
        product = 1.0
        for j in range(n_columns):
            signed = logits[r, j] if cells[r, j] > ZERO else -logits[r, j]
            value += min(signed, ZERO)
            product *= ONE + work[r * n_columns + j]
            if product > 1e200:
                value -= math.log(product)
                product = 1.0
        value -= math.log(product)
        for p in range(unknown_indptr[rows[r]], unknown_indptr[rows[r] + 1]):
            j = unknown_indices[p]
            place = n_rows * n_units + r * n_columns + j
            filled[p] = uniform_single(key, place) < chances[r, j]
            cells[r, j] = filled[p]
    return value


@kernel
def contrast(cells, weights, visible, hidden, n_steps, key, given, fantasy, free):
    """Contrastive divergence of a batch: ``given`` (m, H) are P(hidden | ``cells``) and ``free`` P(hidden | ``fantasy``).

    ``fantasy`` (m, D) are the cells after hidden and visible units were drawn in turn, ``n_steps`` times.
    """
    (n_rows, n_columns), n_units = cells.shape, hidden.shape[0]
    most = n_rows * max(n_columns, n_units)
    work, whole = np.empty(most, np.float32), np.empty(most, np.float32)
    inputs, units = np.empty((n_rows, n_units), np.float32), np.empty((n_rows, n_units), np.float32)
    logits = np.empty((n_rows, n_columns), np.float32)
    np.dot(cells, weights, inputs)
    logistic_rows(inputs, hidden, work, whole, given)
    free[:] = given
    for step in range(n_steps):
        draw_rows(free, key + np.uint64(2 * step + 1) * MIX_1, units)
        np.dot(units, weights.T, logits)
        logistic_rows(logits, visible, work, whole, fantasy)
        draw_rows(fantasy, key + np.uint64(2 * step + 2) * MIX_1, fantasy)
        np.dot(fantasy, weights, inputs)
        logistic_rows(inputs, hidden, work, whole, free)


@inner_kernel
def log_growth_at(on, grown, at, width, links):
    """Sum of log(1 + ``on[k]`` * ``grown[at + k]``) for k < width, a multiple of eight, ``links`` of them to a logarithm."""
    total = 0.0
    k = np.uint64(0)
    while k < width:
        last = min(k + links, width)
        a, b, c, d, e, f, g, h = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
        while k < last:
            y = at + k
            a *= DOUBLE_ONE + on[k] * grown[y]
            b *= DOUBLE_ONE + on[k + L1] * grown[y + L1]
            c *= DOUBLE_ONE + on[k + L2] * grown[y + L2]
            d *= DOUBLE_ONE + on[k + L3] * grown[y + L3]
            e *= DOUBLE_ONE + on[k + L4] * grown[y + L4]
            f *= DOUBLE_ONE + on[k + L5] * grown[y + L5]
            g *= DOUBLE_ONE + on[k + L6] * grown[y + L6]
            h *= DOUBLE_ONE + on[k + L7] * grown[y + L7]
            k += L8
        total += math.log(max(((a * b) * (c * d)) * ((e * f) * (g * h)), 1e-300))
    return total


@kernel
def clamped_sweeps(unknown, known, tables, keys, salts, plan, filled, hidden, drawn, cells):
    """Gibbs sweeps over hidden units and unknown cells, row by row, with the known cells held.

    ``unknown`` are the index lists of the unknown cells; ``known`` (n, W) the inputs of the hidden units from known cells, W
    padded to a multiple of eight; ``tables`` the weights W (D * W,), e^W - 1 and e^-W - 1 likewise, and visible biases (D,);
    a sweep has its salt.  ``plan`` are the sweeps before any counts, those between two looks at all cells, and the factors
    1 + e^W whose product is a number.  Filled are sums over the sweeps that count: of P(unknown cell = 1 | all other cells),
    ``filled``, and of P(hidden = 1), ``hidden`` (n, W); ``drawn`` (n, W) gets the last hidden units, and ``cells`` (n, D),
    unless it is empty, sums of P(cell = 1) over the looks.
    """
    indptr, indices = unknown
    weights, more, less, visible = tables
    burn_in, every, links = plan[0], plan[1], np.uint64(plan[2])
    n_rows, n_units = known.shape
    width, n_columns = np.uint64(n_units), visible.shape[0]
    inputs, chances = np.empty((1, n_units), np.float32), np.empty((1, n_units), np.float32)
    work, whole, none = np.empty(n_units, np.float32), np.empty(n_units, np.float32), np.zeros(n_units, np.float32)
    longest = 0
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    state = np.empty(longest, np.float32)
    for i in range(n_rows):
        low, n_unknown = indptr[i], indptr[i + 1] - indptr[i]
        units = drawn[i]
        for u in range(n_unknown):
            state[u] = ONE / (ONE + math.exp(-visible[indices[low + u]]))
        for t in range(salts.shape[0]):
            key = keys[i] ^ salts[t]
            counts = t >= burn_in
            # 1. Hidden units given all cells.
            for k in range(n_units):
                inputs[0, k] = known[i, k]
            for u in range(n_unknown):
                if state[u] > ZERO:
                    at, share = np.uint64(indices[low + u]) * width, state[u]
                    for k in range(width):
                        inputs[0, k] += share * weights[at + k]
            logistic_rows(inputs, none, work, whole, chances)
            for k in range(n_units):
                units[k] = ONE if uniform_single(key, k) < chances[0, k] else ZERO
            # 2. Unknown cells given all other cells: the hidden units are summed over.
            if counts:
                for u in range(n_unknown):
                    j = np.uint64(indices[low + u])
                    if state[u] > ZERO:
                        logit = visible[j] - log_growth_at(chances[0], less, j * width, width, links)
                    else:
                        logit = visible[j] + log_growth_at(chances[0], more, j * width, width, links)
                    filled[low + u] += 1.0 / (1.0 + math.exp(-logit))
            # 3. Unknown cells given the hidden units, drawn.
            for u in range(n_unknown):
                j = np.uint64(indices[low + u])
                logit = visible[j] + dot_at(units, np.uint64(0), weights, j * width, width)
                chance = ONE / (ONE + np.float32(math.exp(-logit)))
                state[u] = ONE if uniform_single(key, n_units + u) < chance else ZERO
            if counts:
                for k in range(n_units):
                    hidden[i, k] += chances[0, k]
                if cells.shape[0] > 0 and (t - burn_in) % every == 0:
                    for j in range(np.uint64(n_columns)):
                        logit = visible[j] + dot_at(units, np.uint64(0), weights, j * width, width)
                        cells[i, j] += ONE / (ONE + np.float32(math.exp(-logit)))
