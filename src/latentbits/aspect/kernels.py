# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the Aspect Bernoulli E-step: cells of hot columns, stored cells and powers of memberships for the cold ones.

Matrices are flattened and causes padded to a multiple of four, as in the mixture's kernels, so that sums over causes run
in eight (then four) named variables, which the compiler keeps in vector registers; that changes speed, never a result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.lanes_kernels import total_of

# Probabilities are kept this far from 0 and 1 where they are divided by, and only there.
EDGE = 1e-12
# Cells of a chain that are multiplied before a logarithm is taken; their product stays above EDGE ** LINKS = 1e-288.
LINKS = np.uint64(24)
# Products above SAFE are multiplied with each other until they fall below TINY.
SAFE, TINY = 1e-100, 1e-200

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
FIVE, SIX, SEVEN, EIGHT = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)


class Marked(NamedTuple):
    """Ones and unknown cells of a block as index lists, and where hot columns stand: in a window from ``first`` on."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # int32
    unknown_indptr: np.ndarray  # (n + 1,) int64
    unknown_indices: np.ndarray  # int32
    place: np.ndarray  # (D,) int32: position among the hot columns, below 0 for others
    first: int


@kernel
def mark_hot(indptr, indices, place, code, codes):
    """Put ``code`` into ``codes`` (n, H) at the marked cells of hot columns; ``place`` (D,) is below 0 for the others."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            column = place[indices[p]]
            if column >= 0:
                codes[i, column] = code


@inner_kernel
def log_product(cells):
    """The sum of the logarithms of ``cells``, each at least EDGE: products in eight chains, few logarithms."""
    total, whole = 0.0, 1.0
    j, end = np.uint64(0), np.uint64(cells.shape[0])
    while j < end:
        last = min(j + EIGHT * LINKS, end)
        a, b, c, d, e, f, g, h = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
        while j + EIGHT <= last:
            a *= cells[j]
            b *= cells[j + ONE]
            c *= cells[j + TWO]
            d *= cells[j + THREE]
            e *= cells[j + FOUR]
            f *= cells[j + FIVE]
            g *= cells[j + SIX]
            h *= cells[j + SEVEN]
            j += EIGHT
        for product in (a, b, c, d, e, f, g, h):
            if product < SAFE:
                total += math.log(product)
            else:
                whole *= product
                if whole < TINY:
                    total += math.log(whole)
                    whole = 1.0
        product = 1.0
        while j < last:  # fewer than eight are left
            product *= cells[j]
            j += ONE
        total += math.log(product)
    return total + math.log(whole)


@kernel
def hot_cells(codes, signed, both, off_sums, logs):
    """Work out the cells of a tile (n, H) from their probabilities in ``signed``.

    ``both`` (n, 2 H) gets x/p and beside it (1-x)/(1-p), ``signed`` becomes their difference; unknown cells (code 2) get
    0.  ``off_sums`` and ``logs`` (n,) get the sums over the row of (1-x)/(1-p) and of the log-likelihood added to them.
    ``signed`` and ``both`` are float64 or float32, and so is the arithmetic.
    """
    n_rows, n_columns = codes.shape
    number = signed.dtype.type
    zero, one, edge = number(0.0), number(1.0), number(EDGE)
    cells = np.empty(n_columns, signed.dtype)
    for i in range(n_rows):
        # 1. Likelihood of every cell and its inverse; arithmetic instead of branches, so that the loop vectorises.
        for j in range(n_columns):
            p = signed[i, j]
            is_on = one if codes[i, j] == 1 else zero
            is_off = one if codes[i, j] == 0 else zero
            cell = max(is_on * p + is_off * (one - p) + (one - is_on - is_off), edge)
            inverse = one / cell
            cells[j] = cell
            signed[i, j] = (is_on - is_off) * inverse
        for j in range(n_columns):
            both[i, j] = max(signed[i, j], zero)
        for j in range(n_columns):
            both[i, n_columns + j] = max(-signed[i, j], zero)
        # 2. Logarithms of products of many cells, and the sum of the zeros.
        logs[i] += log_product(cells)
        off_sums[i] += total_of(both[i], np.uint64(n_columns), np.uint64(2 * n_columns))


@kernel
def hot_tiles(codes, shares, weighted, probs, probs_t, height, gains, on_sums, off_sums, logs):
    """Work out all cells of hot columns, ``height`` rows at a time, without coming up for the interpreter.

    ``codes`` (n, H), ``shares`` and ``weighted`` (n, K), ``probs`` (K, H) and ``probs_t`` (H, K).  Added to: ``gains``
    (n, K), ``on_sums`` (H, K) of s/p, ``off_sums`` of s/(1-p), ``logs`` (n,).  ``shares``, ``weighted`` and the
    probabilities are float64 or float32; sums and ``logs`` are float64.
    """
    n_rows, n_columns = codes.shape
    n_components, kind = shares.shape[1], shares.dtype
    tile, wide = np.empty(height * n_columns, kind), np.empty(2 * height * n_columns, kind)
    gain, part = np.empty(height * n_components, kind), np.empty((2 * n_columns, n_components), kind)
    for low in range(0, n_rows, height):
        n = min(height, n_rows - low)
        signed = tile[: n * n_columns].reshape(n, n_columns)
        both = wide[: 2 * n * n_columns].reshape(n, 2 * n_columns)
        here = gain[: n * n_components].reshape(n, n_components)
        np.dot(shares[low : low + n], probs, signed)
        zeros = np.zeros(n, kind)
        hot_cells(codes[low : low + n], signed, both, zeros, logs[low : low + n])
        np.dot(signed, probs_t, here)
        for i in range(n):
            for k in range(n_components):
                gains[low + i, k] += here[i, k] + zeros[i]
        np.dot(both.T, weighted[low : low + n], part)
        for h in range(n_columns):  # an expression of whole arrays would make another one
            for k in range(n_components):
                on_sums[h, k] += part[h, k]
                off_sums[h, k] += part[n_columns + h, k]


@inner_kernel
def zeros_of_row(line, cells):
    """Turn the probabilities of a row's cells, all taken for zeros, into -1/(1-p); ``cells`` (H,) get 1-p.

    Returns the sums of 1/(1-p) and of log(1-p).
    """
    number = line.dtype.type
    one, edge = number(1.0), number(EDGE)
    for j in range(line.shape[0]):
        cells[j] = max(one - line[j], edge)
        line[j] = -one / cells[j]
    return -total_of(line, np.uint64(0), np.uint64(line.shape[0])), log_product(cells)


@inner_kernel
def hot_row(marked, i, line, chances, cells):
    """Turn the probabilities of a row's cells into x/p - (1-x)/(1-p), 0 at unknown ones; its marks are few.

    ``chances`` (L,) is room for the probabilities of the ones.  Returns the sum of (1-x)/(1-p) and the log-likelihood.
    """
    n_columns, first, place = line.shape[0], marked.first, marked.place
    number = line.dtype.type
    zero, one, edge = number(0.0), number(1.0), number(EDGE)
    low, high = marked.indptr[i], marked.indptr[i + 1]
    n_marks = 0
    # 1. Marked cells wait as zeros of probability 0, which add a whole one to the first sum and nothing to the second.
    for at in range(low, high):
        h = place[marked.indices[at]] - first
        if 0 <= h < n_columns:
            chances[at - low] = max(line[h], edge)
            line[h] = zero
            n_marks += 1
    for at in range(marked.unknown_indptr[i], marked.unknown_indptr[i + 1]):
        h = place[marked.unknown_indices[at]] - first
        if 0 <= h < n_columns:
            line[h] = zero
            n_marks += 1
    zeros, log_sum = zeros_of_row(line, cells)
    # 2. Then they get what is theirs.
    product = 1.0
    for at in range(low, high):
        h = place[marked.indices[at]] - first
        if 0 <= h < n_columns:
            line[h] = one / chances[at - low]
            product *= chances[at - low]
            if product < TINY:
                log_sum += math.log(product)
                product = 1.0
    for at in range(marked.unknown_indptr[i], marked.unknown_indptr[i + 1]):
        h = place[marked.unknown_indices[at]] - first
        if 0 <= h < n_columns:
            line[h] = zero
    return zeros - n_marks, log_sum + math.log(product)


@inner_kernel
def take_ones(marked, i, line, weighted, part):
    """Add s/p of the ones of a row to ``part`` (H, K); their cells in ``line`` become 0."""
    n_columns, n_components, first = line.shape[0], weighted.shape[0], marked.first
    for at in range(marked.indptr[i], marked.indptr[i + 1]):
        h = marked.place[marked.indices[at]] - first
        if 0 <= h < n_columns:
            inverse = line[h]
            line[h] = line.dtype.type(0.0)
            for k in range(n_components):
                part[h, k] += inverse * weighted[k]


@kernel
def hot_lists(marked, shares, weighted, probs, probs_t, height, gains, on_sums, off_sums, logs):
    """The same as :func:`hot_tiles` for tables with few marks: three products in place of four, the ones by a walk."""
    n_rows, n_columns = shares.shape[0], probs.shape[1]
    n_components, kind = shares.shape[1], shares.dtype
    longest = 1
    for i in range(n_rows):
        longest = max(longest, marked.indptr[i + 1] - marked.indptr[i])
    chances, cells = np.empty(longest, kind), np.empty(n_columns, kind)
    tile, gain = np.empty(height * n_columns, kind), np.empty(height * n_components, kind)
    on, off = np.empty((n_columns, n_components), kind), np.empty((n_columns, n_components), kind)
    for low in range(0, n_rows, height):
        n = min(height, n_rows - low)
        signed = tile[: n * n_columns].reshape(n, n_columns)
        here = gain[: n * n_components].reshape(n, n_components)
        np.dot(shares[low : low + n], probs, signed)
        zeros = np.empty(n, kind)
        for i in range(n):
            zeros[i], log_sum = hot_row(marked, low + i, signed[i], chances, cells)
            logs[low + i] += log_sum
        np.dot(signed, probs_t, here)
        for i in range(n):
            for k in range(n_components):
                gains[low + i, k] += here[i, k] + zeros[i]
        for h in range(n_columns):
            for k in range(n_components):
                on[h, k] = 0.0
        for i in range(n):
            take_ones(marked, low + i, signed[i], weighted[low + i], on)
        np.dot(signed.T, weighted[low : low + n], off)
        for h in range(n_columns):
            for k in range(n_components):
                on_sums[h, k] += on[h, k]
                off_sums[h, k] -= off[h, k]


@inner_kernel
def dot_at(a, i, b, j, width):
    """Sum of ``a[i + k] * b[j + k]`` for k < width, a multiple of four, in four chains."""
    zero = a.dtype.type(0.0)
    x, y, z, u = zero, zero, zero, zero
    k = np.uint64(0)
    while k < width:
        x += a[i + k] * b[j + k]
        y += a[i + k + ONE] * b[j + k + ONE]
        z += a[i + k + TWO] * b[j + k + TWO]
        u += a[i + k + THREE] * b[j + k + THREE]
        k += FOUR
    return (x + y) + (z + u)


@inner_kernel
def powers_of(row, line):
    """Fill ``line`` with the entries of ``row`` (K,) and, if there is room, with the products of every two of them."""
    n_components = row.shape[0]
    for k in range(n_components):
        line[k] = row[k]
    if line.shape[0] > n_components:
        at = n_components
        for first in range(n_components):
            factor, n = row[first], n_components - first
            for k in range(n):
                line[at + k] = factor * row[first + k]
            at += n


@kernel
def take_powers(rows, weighted, tables, height, out, sums):
    """Add the powers of ``rows`` (n, K) times ``tables`` (R, K) to ``out`` (n, W), and their sums over rows times
    ``weighted`` (n, K) to ``sums`` (R, K), each unless it is empty.

    The R powers are K entries, and with R > K the products of every two of them.  ``sums`` are float64.
    """
    n_rows, n_components = rows.shape
    n_powers, kind = max(tables.shape[0], sums.shape[0]), rows.dtype
    room, gain = np.empty(height * n_powers, kind), np.empty(height * n_components, kind)
    part = np.empty((n_powers if sums.shape[0] > 0 else 0, n_components), kind)
    for low in range(0, n_rows, height):
        n = min(height, n_rows - low)
        powers = room[: n * n_powers].reshape(n, n_powers)
        for i in range(n):
            powers_of(rows[low + i], powers[i])
        if tables.shape[0] > 0:
            here = gain[: n * n_components].reshape(n, n_components)
            np.dot(powers, tables, here)
            for i in range(n):
                for k in range(n_components):
                    out[low + i, k] += here[i, k]
        if sums.shape[0] > 0:
            np.dot(powers.T, weighted[low : low + n], part)
            for r in range(n_powers):
                for k in range(n_components):
                    sums[r, k] += part[r, k]


@kernel
def cold_marks(indptr, indices, coefficients, probs, shares, weights, are_ones, gains, sums, logs):
    """Take in the stored cells of cold columns: add the ones, and take stored cells out of the sums over all cells.

    ``coefficients`` (D * 8,) hold the polynomials for 1/(1-p) (3), for log(1-p) (4) and, last, 1 for cold columns, 0 for
    others, whose marks are passed over.  ``probs`` (D * W,), ``shares`` (n * W,).  Filled: ``gains`` (n * W,) the gradient
    by the memberships, ``sums`` (D * 2 W,) weighted sums of s/p and of -s polynomial(p), ``logs`` (n,).
    """
    n_rows = indptr.shape[0] - 1
    width = np.uint64(shares.shape[0] // max(n_rows, 1))
    for i in range(n_rows):
        row = np.uint64(i) * width
        weight = weights[i]
        product, log_sum, taken = 1.0, 0.0, 0.0
        for at in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            column = np.uint64(indices[at])
            c = column * np.uint64(8)
            if coefficients[c + np.uint64(7)] == 0.0:
                continue
            here = column * width
            p = dot_at(shares, row, probs, here, width)
            minus = coefficients[c] + p * (coefficients[c + np.uint64(1)] + p * coefficients[c + np.uint64(2)])
            log_sum -= coefficients[c + np.uint64(3)] + p * (
                coefficients[c + np.uint64(4)]
                + p * (coefficients[c + np.uint64(5)] + p * coefficients[c + np.uint64(6)])
            )
            inverse = 0.0
            if are_ones:
                p = p if p > EDGE else EDGE
                inverse = 1.0 / p
                product *= p
                if product < 1e-200:
                    log_sum += math.log(product)
                    product = 1.0
            taken += minus
            slope = inverse + minus
            plus, less = weight * inverse, weight * minus
            target = np.uint64(2) * here
            for k in range(width):
                gains[row + k] += slope * probs[here + k]
            for k in range(width):
                sums[target + k] += plus * shares[row + k]
            for k in range(width):
                sums[target + width + k] -= less * shares[row + k]
        for k in range(width):
            gains[row + k] -= taken
        logs[i] += log_sum + math.log(product)


@kernel
def renew_shares(shares, gains, concentration):
    """Turn ``shares`` (n, K) into s * gain + (concentration - 1), each row divided by its sum; empty rows become 1/K."""
    n_rows, n_components = shares.shape
    for i in range(n_rows):
        total = 0.0
        for k in range(n_components):
            shares[i, k] = max(shares[i, k] * gains[i, k], 0.0) + (concentration - 1.0)
            total += shares[i, k]
        if total > 0.0:
            for k in range(n_components):
                shares[i, k] /= total
        else:
            for k in range(n_components):
                shares[i, k] = 1.0 / n_components
