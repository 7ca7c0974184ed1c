# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the latent trait model: the Gaussian posterior of every row under the bound, and what the loadings need of it."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import exp_shares, uniform_at

# Factors 1 + exp(-ξ) multiplied before a logarithm is taken; each is at most 2.
LINKS = 512


@inner_kernel
def inverse_of(matrix, size, factor, inverse):
    """Fill ``inverse`` (L, L) of a positive definite ``matrix``; returns half the log determinant of the matrix."""
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
def spread_of(loadings, offset, mean, covariance, spread):
    """Fill ``spread`` (D,): ξ_j = √E a_j², the best place of the bound for a ~ N(v'mean + b, v' covariance v)."""
    n_columns, size = loadings.shape
    for j in range(n_columns):
        middle, variance = offset[j], 0.0
        for k in range(size):
            middle += loadings[j, k] * mean[k]
            for m in range(size):
                variance += loadings[j, k] * covariance[k, m] * loadings[j, m]
        spread[j] = math.sqrt(max(variance, 0.0) + middle * middle)


@kernel
def posterior_rows(codes, loadings, offset, weights, most, tol, state, logs, sums):
    """Update the posteriors of rows under the bound; ``state`` (n, L + L²) holds means and covariances and is filled.

    Every row takes up to ``most`` rounds (new ξ, then new posterior) until its bound ``logs`` (n,) gains less than ``tol``.
    If ``sums`` (D, L + 1, L + 2) is not empty it gets the weighted normal equations of every column for (loadings, offset):
    matrix, and right-hand side in the last column.
    """
    n_rows, n_columns = codes.shape
    size = loadings.shape[1]
    spread, bend = np.empty(n_columns), np.empty(n_columns)
    work, whole = np.empty(n_columns), np.empty(n_columns)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    mean, covariance = np.empty(size), np.empty((size, size))
    matrix, factor, right = np.empty((size, size)), np.zeros((size, size)), np.empty(size)
    long = np.empty(size + 1)
    for i in range(n_rows):
        for k in range(size):
            mean[k] = state[i, k]
            for m in range(size):
                covariance[k, m] = state[i, size + k * size + m]
        before = -np.inf
        for _ in range(most):
            # 1. Where the bound touches, and its curvature -2 λ(ξ) there.
            spread_of(loadings, offset, mean, covariance, spread)
            for j in range(n_columns):
                work[j] = -spread[j]
            exp_shares(work, n_columns, whole, work_bits, whole_bits)
            value, product = 0.0, 1.0
            for k in range(size):
                right[k] = 0.0
                for m in range(size):
                    matrix[k, m] = 1.0 if k == m else 0.0
            for j in range(n_columns):
                if codes[i, j] < 2:
                    if spread[j] > 1e-4:
                        bend[j] = 0.5 * (1.0 - work[j]) / ((1.0 + work[j]) * spread[j])
                    else:
                        bend[j] = 0.25 - spread[j] * spread[j] / 48.0
                    half = 0.5 if codes[i, j] == 1 else -0.5
                    value += (
                        half * offset[j]
                        - 0.5 * spread[j]
                        + 0.5 * bend[j] * (spread[j] * spread[j] - offset[j] * offset[j])
                    )
                    product *= 1.0 + work[j]
                    pull = half - bend[j] * offset[j]
                    for k in range(size):
                        right[k] += pull * loadings[j, k]
                        factor_k = bend[j] * loadings[j, k]
                        for m in range(k + 1):
                            matrix[k, m] += factor_k * loadings[j, m]
                if j % LINKS == LINKS - 1:
                    value -= math.log(product)
                    product = 1.0
            value -= math.log(product)
            # 2. The posterior there.
            value -= inverse_of(matrix, size, factor, covariance)
            for k in range(size):
                mean[k] = 0.0
                for m in range(size):
                    mean[k] += covariance[k, m] * right[m]
            for k in range(size):
                value += 0.5 * right[k] * mean[k]
            logs[i] = value
            if value - before < tol:
                break
            before = value
        for k in range(size):
            state[i, k] = mean[k]
            for m in range(size):
                state[i, size + k * size + m] = covariance[k, m]
        # 3. Sums for the loadings.
        if sums.shape[0] > 0:
            for k in range(size):
                long[k] = mean[k]
            long[size] = 1.0
            for j in range(n_columns):
                if codes[i, j] < 2:
                    half = weights[i] * (0.5 if codes[i, j] == 1 else -0.5)
                    bent = weights[i] * bend[j]
                    for k in range(size + 1):
                        for m in range(size + 1):
                            moment = long[k] * long[m]
                            if k < size and m < size:
                                moment += covariance[k, m]
                            sums[j, k, m] += bent * moment
                        sums[j, k, size + 1] += half * long[k]


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
