"""Loops of the Aspect Bernoulli model: cells of hot columns, stored cells of cold columns, and the fold-in of rows.

Matrices are flattened and causes padded to a multiple of four, as in the mixture's kernels, so that sums over causes run
in eight (then four) named variables, which the compiler keeps in vector registers; that changes speed, never a result.
"""

from __future__ import annotations

import math

import numpy as np
from numba import config, njit

config.SLP_VECTORIZE = 1  # type: ignore[attr-defined]

# Probabilities are kept this far from 0 and 1 where they are divided by, and only there.
EDGE = 1e-12
# Cells are multiplied in this many chains before a logarithm is taken; a chain holds at most LINKS cells, whose
# product stays above EDGE ** LINKS = 1e-288.
CHAINS, LINKS = 16, 24

FOUR = np.uint64(4)


@njit(cache=True, nogil=True)
def hot_cells(codes, signed, both, off_sums, logs):
    """Work out the cells of a tile (n, H) from their probabilities in ``signed``.

    ``both`` (n, 2 H) gets x/p and beside it (1-x)/(1-p), ``signed`` becomes their difference; unknown cells (code 2) get
    0.  ``off_sums`` and ``logs`` (n,) get the sums over the row of (1-x)/(1-p) and of the log-likelihood added to them.
    """
    n_rows, n_columns = codes.shape
    cells, product = np.empty(n_columns), np.empty(CHAINS)
    for i in range(n_rows):
        # 1. Likelihood of every cell and its inverse; arithmetic instead of branches, so that the loop vectorises.
        for j in range(n_columns):
            p = signed[i, j]
            is_on = 1.0 if codes[i, j] == 1 else 0.0
            is_off = 1.0 if codes[i, j] == 0 else 0.0
            cell = max(is_on * p + is_off * (1.0 - p) + (1.0 - is_on - is_off), EDGE)
            inverse = 1.0 / cell
            cells[j] = cell
            signed[i, j] = (is_on - is_off) * inverse
        for j in range(n_columns):
            both[i, j] = max(signed[i, j], 0.0)
        for j in range(n_columns):
            both[i, n_columns + j] = max(-signed[i, j], 0.0)
        # 2. Logarithms of products of many cells.
        log_sum = 0.0
        first = 0
        while first < n_columns:
            last = min(first + CHAINS * LINKS, n_columns)
            for c in range(CHAINS):
                product[c] = 1.0
            j = first
            while j + CHAINS <= last:
                for c in range(CHAINS):
                    product[c] *= cells[j + c]
                j += CHAINS
            for c in range(last - j):
                product[c] *= cells[j + c]
            for c in range(min(CHAINS, last - first)):
                log_sum += math.log(product[c])
            first = last
        # 3. The sum of the zeros, in four chains.
        x, y, z, u = 0.0, 0.0, 0.0, 0.0
        j = n_columns
        while j + 4 <= 2 * n_columns:
            x += both[i, j]
            y += both[i, j + 1]
            z += both[i, j + 2]
            u += both[i, j + 3]
            j += 4
        while j < 2 * n_columns:
            x += both[i, j]
            j += 1
        off_sums[i] += (x + y) + (z + u)
        logs[i] += log_sum


@njit(cache=True, nogil=True)
def dot_at(a, i, b, j, width):
    """Sum of ``a[i + k] * b[j + k]`` for k < width, a multiple of four, in four chains."""
    x, y, z, u = 0.0, 0.0, 0.0, 0.0
    k = np.uint64(0)
    while k < width:
        x += a[i + k] * b[j + k]
        y += a[i + k + np.uint64(1)] * b[j + k + np.uint64(1)]
        z += a[i + k + np.uint64(2)] * b[j + k + np.uint64(2)]
        u += a[i + k + np.uint64(3)] * b[j + k + np.uint64(3)]
        k += FOUR
    return (x + y) + (z + u)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def cholesky_solve(matrix, n, vector):
    """Replace ``vector`` (n,) by the solution of matrix x = vector; the lower half of ``matrix`` is overwritten."""
    for i in range(n):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not value > 0.0:
                    return False
                matrix[i, i] = math.sqrt(value)
            else:
                matrix[i, j] = value / matrix[j, j]
    for i in range(n):
        value = vector[i]
        for k in range(i):
            value -= matrix[i, k] * vector[k]
        vector[i] = value / matrix[i, i]
    for i in range(n - 1, -1, -1):
        value = vector[i]
        for k in range(i + 1, n):
            value -= matrix[k, i] * vector[k]
        vector[i] = value / matrix[i, i]
    return True


@njit(cache=True, nogil=True)
def row_value(cells, n_cells, stored, n_stored, cold, shares, extra, gains, hessian, with_hessian):
    """Log-likelihood of a row at memberships ``shares`` (W,); ``gains`` (W,) and ``hessian`` (W, W) are filled.

    ``cells`` (n, W) hold what every membership gives to the likelihood of a cell.  ``stored`` (m, W + 9) are the stored
    cells of cold columns: their probabilities, coefficients, and 1 for ones.  ``cold`` (W + 2, W) are the sums over cold
    columns (constant, then linear; the last row is the curvature along the diagonal) with their squares in ``extra``:
    see :func:`fold_rows`.
    """
    width = shares.shape[0]
    value, product = 0.0, 1.0
    for k in range(width):
        gains[k] = 0.0
    if with_hessian:
        for k in range(width):
            for m in range(width):
                hessian[k, m] = 0.0
    scaled = np.empty(width)
    for c in range(n_cells):
        total = 0.0
        for k in range(width):
            total += cells[c, k] * shares[k]
        total = total if total > EDGE else EDGE
        product *= total
        if product < 1e-200:
            value += math.log(product)
            product = 1.0
        inverse = 1.0 / total
        for k in range(width):
            scaled[k] = cells[c, k] * inverse
            gains[k] += scaled[k]
        if with_hessian:
            for k in range(width):
                factor = scaled[k]
                for m in range(width):
                    hessian[k, m] += factor * scaled[m]
    value += math.log(product)
    if n_stored >= 0:
        value += cold_value(stored, n_stored, cold, extra, shares, gains, hessian, with_hessian)
    return value


@njit(cache=True, nogil=True)
def cold_value(stored, n_stored, cold, extra, shares, gains, hessian, with_hessian):
    """What cold columns add to :func:`row_value`."""
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
    if with_hessian:
        for k in range(width):
            for m in range(width):
                hessian[k, m] += extra[low + k, m]
    # 2. The stored cells among them.
    scaled = np.empty(width)
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
            p = p if p > EDGE else EDGE
            value += math.log(p)
            inverse = 1.0 / p
        for k in range(width):
            gains[k] += stored[c, k] * (inverse + minus) - minus
            scaled[k] = stored[c, k] * inverse
        if with_hessian and inverse > 0.0:
            for k in range(width):
                for m in range(width):
                    hessian[k, m] += scaled[k] * scaled[m]
    return value


@njit(cache=True, nogil=True)
def newton_step(shares, gains, hessian, total, n_components, step, free, reduced):
    """Fill ``step`` (W,): the projected Newton step for min -f/T + sum s, s >= 0.  Returns the slope along it."""
    n_free = 0
    for k in range(n_components):
        if shares[k] > 1e-12 or gains[k] > total:
            free[n_free] = k
            n_free += 1
        step[k] = 0.0
    largest = 0.0
    for a in range(n_free):
        largest = max(largest, hessian[free[a], free[a]])
    vector = np.empty(n_free)
    ridge = 1e-12
    while True:
        for a in range(n_free):
            vector[a] = (gains[free[a]] - total) / total
            for b in range(a + 1):
                reduced[a, b] = hessian[free[a], free[b]] / total
            reduced[a, a] += ridge * (1.0 + largest / total)
        if cholesky_solve(reduced, n_free, vector) or ridge > 1.0:
            break
        ridge *= 100.0
    slope = 0.0
    for a in range(n_free):
        step[free[a]] = vector[a]
        slope += vector[a] * (gains[free[a]] - total) / total
    return slope


@njit(cache=True, nogil=True)
def fold_row(cells, n_cells, stored, n_stored, cold, extra, prior, n_components, tol, max_iter, shares):
    """Find the memberships of a row; ``shares`` (W,) is the start and is filled.  Returns value, gap and steps.

    ``prior`` is the concentration less one: every membership counts as so many cells of its own.
    """
    width = shares.shape[0]
    gains, trial_gains = np.empty(width), np.empty(width)
    hessian, trial_hessian = np.empty((width, width)), np.empty((width, width))
    reduced, trial, step = np.empty((width, width)), np.zeros(width), np.zeros(width)
    free = np.empty(width, np.int64)
    value = row_value(cells, n_cells, stored, n_stored, cold, shares, extra, gains, hessian, False)
    total = 0.0
    for k in range(n_components):
        total += gains[k] * shares[k]
    if total <= 0.0:  # nothing is known of the row
        return 0.0, 0.0, 0
    # 1. A few EM steps bring the start near.
    for _ in range(3):
        for k in range(n_components):
            shares[k] = shares[k] * gains[k] + prior
        normalise(shares, n_components)
        value = row_value(cells, n_cells, stored, n_stored, cold, shares, extra, gains, hessian, False)
    value = row_value(cells, n_cells, stored, n_stored, cold, shares, extra, gains, hessian, True)
    total = add_prior(shares, n_components, prior, gains, hessian)
    value += prior_value(shares, n_components, prior)
    # 2. Newton steps on the memberships that are free to move, kept on the simplex by scaling.
    gap = gap_of(gains, n_components, total)
    for iteration in range(max_iter):
        if gap <= tol:
            return value, gap, iteration
        slope = newton_step(shares, gains, hessian, total, n_components, step, free, reduced)
        length, moved = 1.0, False
        for _ in range(40):
            for k in range(n_components):
                trial[k] = max(shares[k] + length * step[k], 1e-14 if prior > 0.0 else 0.0)
            normalise(trial, n_components)
            new = row_value(cells, n_cells, stored, n_stored, cold, trial, extra, trial_gains, trial_hessian, True)
            new += prior_value(trial, n_components, prior)
            if new >= value + 1e-4 * length * slope * total or (new >= value and length < 1e-3):
                moved = True
                break
            length *= 0.5
        if not moved:
            break
        for k in range(n_components):
            shares[k] = trial[k]
        value = new
        gains, trial_gains = trial_gains, gains
        hessian, trial_hessian = trial_hessian, hessian
        total = add_prior(shares, n_components, prior, gains, hessian)
        gap = gap_of(gains, n_components, total)
    # 3. Rounding may stop the line search a little early; EM steps never do harm.
    for _ in range(200):
        if gap <= tol:
            break
        for k in range(n_components):
            shares[k] = max(shares[k], 1e-10) * gains[k]
        normalise(shares, n_components)
        value = row_value(cells, n_cells, stored, n_stored, cold, shares, extra, gains, hessian, False)
        value += prior_value(shares, n_components, prior)
        total = add_prior(shares, n_components, prior, gains, hessian)
        gap = gap_of(gains, n_components, total)
    return value, gap, max_iter


@njit(cache=True, nogil=True)
def normalise(shares, n_components):
    """Divide by the sum, in place."""
    total = 0.0
    for k in range(n_components):
        total += shares[k]
    for k in range(n_components):
        shares[k] /= total


@njit(cache=True, nogil=True)
def gap_of(gains, n_components, total):
    """Largest gain less the mean: the log-likelihood cannot rise by more."""
    largest = gains[0]
    for k in range(1, n_components):
        largest = max(largest, gains[k])
    return max(largest - total, 0.0)


@njit(cache=True, nogil=True)
def prior_value(shares, n_components, prior):
    """Log prior of memberships."""
    value = 0.0
    if prior > 0.0:
        for k in range(n_components):
            value += prior * math.log(max(shares[k], 1e-300))
    return value


@njit(cache=True, nogil=True)
def add_prior(shares, n_components, prior, gains, hessian):
    """Add the prior to gains and curvature in place; returns the mean gain, which is the number of cells."""
    total = 0.0
    for k in range(n_components):
        if prior > 0.0:
            inverse = 1.0 / max(shares[k], 1e-300)
            gains[k] += prior * inverse
            hessian[k, k] += prior * inverse * inverse
        total += gains[k] * shares[k]
    return total


@njit(cache=True, nogil=True)
def fold_rows(
    codes, on, indptr, indices, is_one, coefficients, probs, cold, extra, options, starts, shares, logs, gaps
):
    """Memberships of every row of a block; ``shares`` (n, W), ``logs`` (n,) and ``gaps`` (n,) are filled.

    ``codes`` (n, H) are the cells of hot columns and ``on`` (H, W) their probabilities.  ``indptr``, ``indices`` and
    ``is_one`` are the stored cells of all columns, of which those in cold columns are taken; with ``cold`` empty there
    are none.  ``options`` = (K, concentration - 1, tol, max_iter).  ``starts`` (n, W) or one row for all.
    """
    n_rows, n_hot = codes.shape
    width = shares.shape[1]
    n_components = int(options[0])
    cells = np.zeros((n_hot, width))
    stored = np.zeros((64, width + 9))
    for i in range(n_rows):
        n_cells = 0
        for h in range(n_hot):
            code = codes[i, h]
            if code == 1:
                for k in range(n_components):
                    cells[n_cells, k] = on[h, k]
                n_cells += 1
            elif code == 0:
                for k in range(n_components):
                    cells[n_cells, k] = 1.0 - on[h, k]
                n_cells += 1
        n_stored = -1
        if cold.shape[0] > 0:
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
        value, gap, _ = fold_row(
            cells,
            n_cells,
            stored,
            n_stored,
            cold,
            extra,
            options[1],
            n_components,
            options[2],
            int(options[3]),
            shares[i],
        )
        logs[i], gaps[i] = value - prior_value(shares[i], n_components, options[1]), gap
