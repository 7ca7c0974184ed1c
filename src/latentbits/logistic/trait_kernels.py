# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the latent trait model: the Gaussian posterior of every row under the bound, and what the loadings need of it."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import exp_shares, exp_shares_single, log1p_shares, uniform_at
from ..maths.lanes_kernels import log_growth, total_of

# Factors 1 + exp(-ξ) multiplied before a logarithm is taken; each is at most 2.
LINKS = 512
# Cells whose means are taken at a time.
LANE = 512


@inner_kernel
def factor_of(matrix, size, factor):
    """Fill ``factor`` (L, L), lower, of a positive definite ``matrix``; returns half the log determinant of the matrix."""
    half = 0.0
    for i in range(size):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(value)
                half += math.log(factor[i, i])
            else:
                factor[i, j] = value / factor[j, j]
    return half


@inner_kernel
def inverse_of(matrix, size, factor, inverse):
    """Fill ``inverse`` (L, L) of a positive definite ``matrix``; returns half the log determinant of the matrix."""
    half = factor_of(matrix, size, factor)
    for c in range(size):
        for i in range(size):
            value = 1.0 if i == c else 0.0
            for k in range(i):
                value -= factor[i, k] * inverse[k, c]
            inverse[i, c] = value / factor[i, i]
        for i in range(size - 1, -1, -1):
            value = inverse[i, c]
            for k in range(i + 1, size):
                value -= factor[k, i] * inverse[k, c]
            inverse[i, c] = value / factor[i, i]
    return half


@inner_kernel
def bend_row(spread, small, offset, near, row):
    """Fill ``row`` (D,) with the curvature -2 λ(ξ) of the bound at ``spread`` = ξ (D,), and the value of its cells.

    ``small`` is exp(-ξ) and becomes what a zero with its own log odds left out adds to the bound; below ``near`` the
    curvature is taken by its series.
    """
    one, half = row.dtype.type(1.0), row.dtype.type(0.5)
    quarter, second, fourth = row.dtype.type(0.25), row.dtype.type(1.0 / 48.0), row.dtype.type(1.0 / 480.0)
    for j in range(row.shape[0]):
        square = spread[j] * spread[j]
        far = half * (one - small[j]) / ((one + small[j]) * max(spread[j], near))
        row[j] = far if spread[j] > near else quarter - square * (second - square * fourth)
    for j in range(row.shape[0]):
        square = spread[j] * spread[j]
        spread[j] = half * (row[j] * (square - offset[j] * offset[j]) - spread[j])


@kernel
def bend_rows(squares, offset, values):
    """Turn ``squares`` (n, D) of ξ into the curvatures of the bound; ``values`` (n,) get Σ_j of its constant parts.

    These are -ξ/2 + bend (ξ² - b²) / 2 - log(1 + exp(-ξ)), b being the ``offset`` (D,).
    """
    n_rows, n_columns = squares.shape
    spread, small, whole = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    small_bits, whole_bits = small.view(np.int64), whole.view(np.int64)
    for i in range(n_rows):
        for j in range(n_columns):
            spread[j] = math.sqrt(max(squares[i, j], 0.0))
        for j in range(n_columns):
            small[j] = -spread[j]
        exp_shares(small, n_columns, whole, small_bits, whole_bits)
        bend_row(spread, small, offset, 1e-2, squares[i])
        values[i] = total_of(spread, np.uint64(0), np.uint64(n_columns)) - log_growth(small)


@kernel
def bend_rows_single(squares, offset, values):
    """The same in float32."""
    n_rows, n_columns = squares.shape
    spread, small = np.empty(n_columns, np.float32), np.empty(n_columns, np.float32)
    whole = np.empty(n_columns, np.float32)
    small_bits, whole_bits = small.view(np.int32), whole.view(np.int32)
    zero, near = np.float32(0.0), np.float32(5e-2)
    for i in range(n_rows):
        for j in range(n_columns):
            spread[j] = np.float32(math.sqrt(max(squares[i, j], zero)))
        for j in range(n_columns):
            small[j] = -spread[j]
        exp_shares_single(small, n_columns, whole, small_bits, whole_bits)
        bend_row(spread, small, offset, near, squares[i])
        values[i] = total_of(spread, np.uint64(0), np.uint64(n_columns)) - log_growth(small)


@kernel
def leave_out(indptr, indices, offset, squares, bends, values):
    """Take the unknown cells, listed row by row, out of ``bends`` (n, D) and ``values`` (n,); ``squares`` (n, D) are ξ²."""
    for i in range(values.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            square = max(np.float64(squares[i, j]), 0.0)
            spread = math.sqrt(square)
            values[i] -= 0.5 * (bends[i, j] * (square - offset[j] * offset[j]) - spread) - math.log1p(math.exp(-spread))
            bends[i, j] = 0.0


@kernel
def invert_rows(matrices, rights, means, covariances, values):
    """Posteriors of rows: ``covariances`` (n, L, L) of the precisions ``matrices``, ``means`` (n, L) of the ``rights``.

    ``values`` (n,) get what the Gaussian integral adds to the bound.
    """
    n_rows, size = rights.shape
    factor, inverse = np.zeros((size, size)), np.empty((size, size))
    for i in range(n_rows):
        values[i] -= inverse_of(matrices[i], size, factor, inverse)
        for k in range(size):
            means[i, k] = 0.0
            for m in range(size):
                covariances[i, k, m] = inverse[k, m]
                means[i, k] += inverse[k, m] * rights[i, m]
        for k in range(size):
            values[i] += 0.5 * rights[i, k] * means[i, k]


@kernel
def expect_cells(points, weights, slopes, bends, logs):
    """Means over log odds a = m + s z, z on ``points`` with ``weights`` (Q,): fill ``logs`` with those of log 2 cosh(a/2).

    ``slopes`` hold m and become those of σ(a) - 1/2, ``bends`` hold s² and become those of σ(a) (1 - σ(a)); all (n,).
    """
    odds, small, whole, grown = np.empty(LANE), np.empty(LANE), np.empty(LANE), np.empty(LANE)
    middle, spread = np.empty(LANE), np.empty(LANE)
    small_bits, whole_bits = small.view(np.int64), whole.view(np.int64)
    for low in range(0, logs.shape[0], LANE):
        n = min(LANE, logs.shape[0] - low)
        log, slope, bend = logs[low : low + n], slopes[low : low + n], bends[low : low + n]
        for c in range(n):
            middle[c], spread[c] = slope[c], math.sqrt(max(bend[c], 0.0))
            log[c], slope[c], bend[c] = 0.0, 0.0, 0.0
        for q in range(points.shape[0]):
            point, weight = points[q], weights[q]
            for c in range(n):
                odds[c] = middle[c] + point * spread[c]
                small[c] = -abs(odds[c])
            exp_shares(small, n, whole, small_bits, whole_bits)
            log1p_shares(small, n, grown)
            for c in range(n):
                size = abs(odds[c])
                share = 1.0 / (1.0 + small[c])
                half = 0.5 * share * (1.0 - small[c])
                log[c] += weight * (0.5 * size + grown[c])
                slope[c] += weight * (half if odds[c] >= 0.0 else -half)
                bend[c] += weight * share * share * small[c]


@kernel
def expect_logs(points, weights, logs, variances):
    """The first of these alone: ``logs`` (n,) hold m and become means of log 2 cosh(a/2); ``variances`` (n,) are s²."""
    size, small, whole, grown = np.empty(LANE), np.empty(LANE), np.empty(LANE), np.empty(LANE)
    middle, spread = np.empty(LANE), np.empty(LANE)
    small_bits, whole_bits = small.view(np.int64), whole.view(np.int64)
    for low in range(0, logs.shape[0], LANE):
        n = min(LANE, logs.shape[0] - low)
        log, variance = logs[low : low + n], variances[low : low + n]
        for c in range(n):
            middle[c], spread[c], log[c] = log[c], math.sqrt(max(variance[c], 0.0)), 0.0
        for q in range(points.shape[0]):
            point, weight = points[q], weights[q]
            for c in range(n):
                size[c] = abs(middle[c] + point * spread[c])
                small[c] = -size[c]
            exp_shares(small, n, whole, small_bits, whole_bits)
            log1p_shares(small, n, grown)
            for c in range(n):
                log[c] += weight * (0.5 * size[c] + grown[c])


@kernel
def add_divergences(means, covariances, values):
    """Add to ``values`` (n,) minus the divergence of N(mean, covariance) from N(0, I): log |C| / 2 + (K - tr C - μ'μ) / 2."""
    n_rows, size = means.shape
    factor = np.zeros((size, size))
    for i in range(n_rows):
        value = 0.5 * size + factor_of(covariances[i], size, factor)
        for k in range(size):
            value -= 0.5 * (covariances[i, k, k] + means[i, k] * means[i, k])
        values[i] += value


@kernel
def integrate_rows(codes, loadings, offset, means, roots, points, log_weights, logs):
    """Fill ``logs`` (n,): log ∫ p(row | x) N(x; 0, I) dx, by points laid out around the posterior of every row.

    With x = mean + root z the integral is |root| ∫ p(row | x) N(x; 0, I) / N(z; 0, I) N(z; 0, I) dz; ``points`` (Q, L) and
    ``log_weights`` (Q,) are a rule for the last factor.  ``roots`` (n, L, L) are lower triangular.
    """
    n_rows, n_columns = codes.shape
    n_points, size = points.shape
    work, whole = np.empty(n_columns), np.empty(n_columns)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    place, terms = np.empty(size), np.empty(n_points)
    for i in range(n_rows):
        half = 0.0
        for k in range(size):
            half += math.log(roots[i, k, k])
        top = -np.inf
        for q in range(n_points):
            value = log_weights[q] + half
            for k in range(size):
                place[k] = means[i, k]
                for m in range(k + 1):
                    place[k] += roots[i, k, m] * points[q, m]
                value += 0.5 * (points[q, k] * points[q, k] - place[k] * place[k])
            for j in range(n_columns):
                odds = offset[j]
                for k in range(size):
                    odds += loadings[j, k] * place[k]
                if codes[i, j] == 1:
                    value += min(odds, 0.0)
                elif codes[i, j] == 0:
                    value -= max(odds, 0.0)
                work[j] = -abs(odds)
            exp_shares(work, n_columns, whole, work_bits, whole_bits)
            product = 1.0
            for j in range(n_columns):
                product *= 1.0 + work[j] if codes[i, j] < 2 else 1.0
                if j % LINKS == LINKS - 1:
                    value -= math.log(product)
                    product = 1.0
            terms[q] = value - math.log(product)
            top = max(top, terms[q])
        total = 0.0
        for q in range(n_points):
            total += math.exp(terms[q] - top)
        logs[i] = top + math.log(total)


@kernel
def spread_uniforms(uniforms, out):
    """Fill ``out`` (n, L) with uniforms, L for each of ``uniforms`` (n,)."""
    keys = uniforms.view(np.uint64)
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[i, k] = uniform_at(keys[i], k)
