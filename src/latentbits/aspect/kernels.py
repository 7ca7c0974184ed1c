# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the Aspect Bernoulli model: cells of hot columns, stored cells of cold columns, and the fold-in of rows.

Matrices are flattened and causes padded to a multiple of four, as in the mixture's kernels, so that sums over causes run
in eight (then four) named variables, which the compiler keeps in vector registers; that changes speed, never a result.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import cholesky_solve
from ..maths.lanes_kernels import dot_rows, total_of

# Probabilities are kept this far from 0 and 1 where they are divided by, and only there.
EDGE = 1e-12
# Cells of a chain that are multiplied before a logarithm is taken; their product stays above EDGE ** LINKS = 1e-288.
LINKS = np.uint64(24)
# Products above SAFE are multiplied with each other until they fall below TINY.
SAFE, TINY = 1e-100, 1e-200
# EM steps before the first Newton step of a fold-in.
FIRST_EM = 3

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
FIVE, SIX, SEVEN, EIGHT = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)


class Stored(NamedTuple):
    """Ones and unknown cells of all columns, row by row."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # int32
    is_one: np.ndarray  # uint8


class Marked(NamedTuple):
    """Ones and unknown cells of a block as index lists, and where hot columns stand: in a window from ``first`` on."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # int32
    unknown_indptr: np.ndarray  # (n + 1,) int64
    unknown_indices: np.ndarray  # int32
    place: np.ndarray  # (D,) int32: position among the hot columns, below 0 for others
    first: int


class Cold(NamedTuple):
    """Cold columns in the form that a fold-in needs; ``gains`` and ``logs`` are sums over them, empty if there are none."""

    coefficients: np.ndarray  # (D * 8,) see :func:`cold_marks`
    probs: np.ndarray  # (D * W,)
    gains: np.ndarray  # (.., W) for the gains: constant, linear, and the squares (pairs of memberships)
    logs: np.ndarray  # (.., W + 1) the same for the log-likelihood, and at the end the curvature


class FoldOptions(NamedTuple):
    """How memberships of rows are looked for."""

    n_components: int
    prior: float  # the concentration less one: every membership counts as so many cells of its own
    tol: float  # gap to the best log-likelihood
    max_iter: int


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


@inner_kernel
def row_value(cells, stored, n_stored, cold, extra, shares, n_components, inverse, gains):
    """Log-likelihood of a row at memberships ``shares`` (W,); ``gains`` (W,) are filled.

    ``cells`` (K, n) hold what every membership gives to the likelihood of a cell; ``inverse`` (n,) is filled with one over
    the likelihoods.  For the rest see :func:`cold_value`.
    """
    n_cells = cells.shape[1]
    for c in range(n_cells):
        inverse[c] = 0.0
    for k in range(n_components):
        share, mine = shares[k], cells[k]
        if share > 0.0:
            for c in range(n_cells):
                inverse[c] += share * mine[c]
    value, product = 0.0, 1.0
    for c in range(n_cells):
        inverse[c] = max(inverse[c], EDGE)
    for c in range(n_cells):
        product *= inverse[c]
        if product < 1e-200:
            value += math.log(product)
            product = 1.0
    value += math.log(product)
    for c in range(n_cells):
        inverse[c] = 1.0 / inverse[c]
    for k in range(n_components):
        gains[k] = dot_rows(cells[k], inverse, n_cells)
    if n_stored >= 0:
        value += cold_value(stored, n_stored, cold, extra, shares, gains)
    return value


@inner_kernel
def curvature(cells, stored, n_stored, extra, shares, inverse, free, n_free, scaled, hessian):
    """Fill ``hessian`` (n_free, n_free), its lower half: minus the second derivatives by the free memberships."""
    n_cells, width = cells.shape[1], shares.shape[0]
    for a in range(n_free):
        mine = cells[free[a]]
        for c in range(n_cells):
            scaled[a, c] = mine[c] * inverse[c]
        for b in range(a + 1):
            hessian[a, b] = dot_rows(scaled[a], scaled[b], n_cells)
    if n_stored >= 0:
        low = extra.shape[0] - width
        for a in range(n_free):
            for b in range(a + 1):
                hessian[a, b] += extra[low + free[a], free[b]]
        for c in range(n_stored):
            if stored[c, width + 8] == 1.0:
                p = 0.0
                for k in range(width):
                    p += stored[c, k] * shares[k]
                p = max(p, EDGE)
                for a in range(n_free):
                    for b in range(a + 1):
                        hessian[a, b] += (stored[c, free[a]] / p) * (stored[c, free[b]] / p)


@inner_kernel
def cold_value(stored, n_stored, cold, extra, shares, gains):
    """Log-likelihood of the cells of cold columns; what they add to ``gains`` (W,) is added.

    ``stored`` (m, W + 9) are the stored cells of cold columns: their probabilities, coefficients, and 1 for ones.
    ``cold`` and ``extra`` are the gains and logs of :class:`Cold`.
    """
    width = shares.shape[0]
    # 1. All cells of cold columns, as if they were zero.
    value = extra[0, width]
    for k in range(width):
        gains[k] += cold[0, k]
        value += extra[1, k] * shares[k]
    for m in range(width):
        here = 0.0
        for k in range(width):
            gains[k] += cold[1 + m, k] * shares[m]
            here += extra[2 + m, k] * shares[k]
        value += here * shares[m]
    at, low = 1 + width, 2 + width
    if cold.shape[0] > at:
        for a in range(width):
            for b in range(a, width):
                both = shares[a] * shares[b]
                if both != 0.0:
                    here = 0.0
                    for k in range(width):
                        gains[k] += cold[at, k] * both
                        here += extra[low, k] * shares[k]
                    value += here * both
                at += 1
                low += 1
    # 2. The stored cells among them.
    for c in range(n_stored):
        p = 0.0
        for k in range(width):
            p += stored[c, k] * shares[k]
        minus = stored[c, width] + p * (stored[c, width + 1] + p * stored[c, width + 2])
        value -= stored[c, width + 3] + p * (
            stored[c, width + 4] + p * (stored[c, width + 5] + p * stored[c, width + 6])
        )
        inverse = 0.0
        if stored[c, width + 8] == 1.0:
            p = max(p, EDGE)
            value += math.log(p)
            inverse = 1.0 / p
        for k in range(width):
            gains[k] += stored[c, k] * (inverse + minus) - minus
    return value


@kernel
def newton_step(shares, gains, total, prior, n_free, free, hessian, step):
    """Fill ``step`` (W,): the projected Newton step for min -f/T + sum s, s >= 0.  Returns the slope of f along it."""
    for k in range(step.shape[0]):
        step[k] = 0.0
    largest = 0.0
    for a in range(n_free):
        if prior > 0.0:
            inverse = 1.0 / max(shares[free[a]], 1e-300)
            hessian[a, a] += prior * inverse * inverse
        largest = max(largest, hessian[a, a])
    reduced, vector = np.empty((n_free, n_free)), np.empty(n_free)
    ridge = 1e-12
    while True:
        for a in range(n_free):
            vector[a] = (gains[free[a]] - total) / total
            for b in range(a + 1):
                reduced[a, b] = hessian[a, b] / total
            reduced[a, a] += ridge * (1.0 + largest / total)
        if cholesky_solve(reduced, n_free, vector) or ridge > 1.0:
            break
        ridge *= 100.0
    slope = 0.0
    for a in range(n_free):
        step[free[a]] = vector[a]
        slope += vector[a] * (gains[free[a]] - total)
    return slope


@kernel
def fold_row(cells, stored, n_stored, cold, extra, options, shares):
    """Find the memberships of a row; ``shares`` (W,) is the start and is filled.  Returns value and gap.

    A few EM steps bring the start near; then come Newton steps on the memberships that are free to move, kept on the
    simplex by scaling (the log-likelihood is homogeneous up to a constant, so that scaling to sum one is always the best).
    If rounding stops the line search early, EM steps, which never do harm, end the work.
    """
    n_components, prior, tol, max_iter = options
    width, n_cells = shares.shape[0], cells.shape[1]
    gains, inverse, hessian = np.zeros(width), np.empty(n_cells), np.empty((n_components, n_components))
    scaled = np.empty((n_components, n_cells))
    trial, step, free = shares.copy(), np.zeros(width), np.empty(width, np.int64)
    value, gap, slope, length = -np.inf, np.inf, 0.0, 0.0
    least = 1e-14 if prior > 0.0 else 0.0
    em_steps, n_steps = FIRST_EM, 0
    while n_steps < max_iter:
        new = row_value(cells, stored, n_stored, cold, extra, trial, n_components, inverse, gains)
        new += prior_value(trial, n_components, prior)
        total = add_prior(trial, n_components, prior, gains)
        new_gap = gap_of(gains, n_components, total)
        # Near the top the gain drowns in rounding; the certificate still tells which point is better.
        level = new >= value - 1e-12 * (1.0 + abs(value)) and new_gap < gap
        if length > 0.0 and not level and new < value + 1e-4 * length * slope and (length > 1e-3 or new < value):
            length *= 0.5
            if length <= 1e-10:  # back to the last good point, by EM from here on
                em_steps, length = max_iter, 0.0
            for k in range(n_components):
                trial[k] = max(shares[k] + length * step[k], least if length > 0.0 else 1e-10)
            normalise(trial, n_components)
            continue
        n_steps += 1
        for k in range(n_components):
            shares[k] = trial[k]
        value, gap = new, new_gap
        if gap <= tol:
            break
        if em_steps > 0:
            em_steps -= 1
            length = 0.0
            for k in range(n_components):
                trial[k] = shares[k] * gains[k]
        else:
            n_free = np.int64(0)  # a literal would be a type of its own to the compiler
            for k in range(n_components):
                if shares[k] > 1e-12 or gains[k] > total:
                    free[n_free] = k
                    n_free += 1
            curvature(cells, stored, n_stored, extra, shares, inverse, free, n_free, scaled, hessian)
            slope = newton_step(shares, gains, total, prior, n_free, free, hessian, step)
            length = 1.0
            for k in range(n_components):
                trial[k] = max(shares[k] + step[k], least)
        normalise(trial, n_components)
    return value, gap


@inner_kernel
def normalise(shares, n_components):
    """Divide by the sum, in place."""
    total = 0.0
    for k in range(n_components):
        total += shares[k]
    for k in range(n_components):
        shares[k] /= total


@inner_kernel
def gap_of(gains, n_components, total):
    """Largest gain less the mean: the log-likelihood cannot rise by more."""
    largest = gains[0]
    for k in range(1, n_components):
        largest = max(largest, gains[k])
    return max(largest - total, 0.0)


@inner_kernel
def prior_value(shares, n_components, prior):
    """Log prior of memberships."""
    value = 0.0
    if prior > 0.0:
        for k in range(n_components):
            value += prior * math.log(max(shares[k], 1e-300))
    return value


@inner_kernel
def add_prior(shares, n_components, prior, gains):
    """Add the prior to the gains in place; returns their mean, which is the number of cells."""
    total = 0.0
    for k in range(n_components):
        if prior > 0.0:
            gains[k] += prior / max(shares[k], 1e-300)
        total += gains[k] * shares[k]
    return total


@kernel
def fold_rows(codes, on, marks, cold, options, starts, shares, logs, gaps):
    """Memberships of every row of a block; ``shares`` (n, W), ``logs`` (n,) and ``gaps`` (n,) are filled.

    ``codes`` (n, H) are the cells of hot columns and ``on`` (K, H) their probabilities.  Of the stored cells ``marks``
    those in cold columns are taken.  ``starts`` (n, W) or one row for all.
    """
    indptr, indices, is_one = marks
    coefficients, probs, cold_gains, cold_logs = cold
    n_components, prior = options.n_components, options.prior
    n_rows, n_hot = codes.shape
    width = shares.shape[1]
    cells = np.empty((n_components, n_hot))
    stored = np.zeros((64, width + 9))
    for i in range(n_rows):
        # Unknown cells are as likely under every cause, which changes neither the best memberships nor the proof.
        for k in range(n_components):
            for h in range(n_hot):
                p = on[k, h]
                cells[k, h] = p if codes[i, h] == 1 else (1.0 - p if codes[i, h] == 0 else 1.0)
        n_stored = -1
        if cold_gains.shape[0] > 0:
            n_stored = 0
            if indptr[i + 1] - indptr[i] > stored.shape[0]:
                stored = np.zeros((2 * (indptr[i + 1] - indptr[i]), width + 9))
            for at in range(indptr[i], indptr[i + 1]):
                j = indices[at]
                if coefficients[8 * j + 7] != 0.0:
                    for k in range(n_components):
                        stored[n_stored, k] = probs[j * width + k]
                    for c in range(8):
                        stored[n_stored, width + c] = coefficients[8 * j + c]
                    stored[n_stored, width + 8] = is_one[at]
                    n_stored += 1
        start = starts[i if starts.shape[0] > 1 else 0]
        for k in range(width):
            shares[i, k] = start[k]
        value, gap = fold_row(cells, stored, n_stored, cold_gains, cold_logs, options, shares[i])
        logs[i], gaps[i] = value - prior_value(shares[i], n_components, prior), gap
