# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of logistic PCA: the scores of every row given the loadings, and what the loadings need of them.

Loadings come as (D, W), W being the number of components padded to a multiple of four with zeros.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import cholesky_solve, exp_shares

# A Newton step of a row with a smaller squared decrement is taken unseen: what it gains drowns in rounding.
SURE = 1e-9
# Factors 1 + exp(-|θ|) multiplied before a logarithm is taken; each is at most 2.
LINKS = 512


@inner_kernel
def log_odds(loadings, offset, scores, odds):
    """Fill ``odds`` (D,): offset plus loadings times scores."""
    n_columns, width = loadings.shape
    for j in range(n_columns):
        a, b, c, d = offset[j], 0.0, 0.0, 0.0
        for k in range(0, width, 4):
            a += loadings[j, k] * scores[k]
            b += loadings[j, k + 1] * scores[k + 1]
            c += loadings[j, k + 2] * scores[k + 2]
            d += loadings[j, k + 3] * scores[k + 3]
        odds[j] = (a + b) + (c + d)


@inner_kernel
def row_terms(codes, odds, work, whole, work_bits, whole_bits, residual, curvature):
    """Log-likelihood of a row; ``residual`` (D,) gets x - σ and ``curvature`` σ (1 - σ), 0 at unknown cells."""
    n_columns = codes.shape[0]
    for j in range(n_columns):
        work[j] = -abs(odds[j])
    exp_shares(work, n_columns, whole, work_bits, whole_bits)
    value, product = 0.0, 1.0
    for j in range(n_columns):
        known = 1.0 if codes[j] < 2 else 0.0
        x = 1.0 if codes[j] == 1 else 0.0
        inverse = 1.0 / (1.0 + work[j])
        on = inverse if odds[j] >= 0.0 else work[j] * inverse
        residual[j] = known * (x - on)
        curvature[j] = known * work[j] * inverse * inverse
        # x θ - log(1 + exp θ) = (x - [θ > 0]) θ - log(1 + exp(-|θ|))
        value += known * (x * odds[j] - max(odds[j], 0.0))
        work[j] = 1.0 + known * work[j]
    for j in range(n_columns):
        product *= work[j]
        if j % LINKS == LINKS - 1:
            value -= math.log(product)
            product = 1.0
    return value - math.log(product)


@inner_kernel
def normal_equations(loadings, residual, curvature, scores, ridge, gradient, hessian):
    """Fill ``gradient`` (W,) and ``hessian`` (W, W) of a row's penalised log-likelihood by its scores."""
    n_columns, width = loadings.shape
    for k in range(width):
        gradient[k] = -ridge * scores[k]
        for m in range(width):
            hessian[k, m] = 0.0
        hessian[k, k] = ridge
    for j in range(n_columns):
        e, c = residual[j], curvature[j]
        for k in range(width):
            gradient[k] += e * loadings[j, k]
        if c > 1e-14:
            for k in range(width):
                factor = c * loadings[j, k]
                for m in range(width):
                    hessian[k, m] += factor * loadings[j, m]


@kernel
def fit_rows(codes, loadings, offset, ridge, tol, scores, residuals, logs):
    """Best scores of every row given the loadings, by damped Newton steps from ``scores`` (n, W), which is filled.

    ``residuals`` (n, D) get x - σ there, ``logs`` (n,) the log-likelihood without the penalty.  Rows stop when the squared
    Newton decrement is below ``tol``.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[1]
    odds, residual, curvature = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    work, whole = np.empty(n_columns), np.empty(n_columns)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    gradient, hessian, trial = np.empty(width), np.empty((width, width)), np.empty(width)
    for i in range(n_rows):
        for k in range(width):
            trial[k] = scores[i, k]
        value, length, decrement = -np.inf, 1.0, np.inf
        for step in range(200):
            # 1. Look at the trial; shorten the step until it does not lose.
            log_odds(loadings, offset, trial, odds)
            plain = row_terms(codes[i], odds, work, whole, work_bits, whole_bits, residual, curvature)
            size = 0.0
            for k in range(width):
                size += trial[k] * trial[k]
            new = plain - 0.5 * ridge * size
            if step > 0 and new < value and decrement > SURE and length > 1e-12:
                length *= 0.5
                for k in range(width):
                    trial[k] = scores[i, k] + length * gradient[k]
                continue
            # 2. Take it, and find the next Newton step unless this is the place.
            value = new
            logs[i] = plain
            for k in range(width):
                scores[i, k] = trial[k]
            for j in range(n_columns):
                residuals[i, j] = residual[j]
            if decrement < tol:
                break
            normal_equations(loadings, residual, curvature, trial, ridge, gradient, hessian)
            decrement = 0.0
            for k in range(width):
                trial[k] = gradient[k]
            cholesky_solve(hessian, width, gradient)  # positive definite: the ridge is on its diagonal
            for k in range(width):
                decrement += trial[k] * gradient[k]
            length = 1.0
            for k in range(width):
                trial[k] = scores[i, k] + gradient[k]


@kernel
def curve_rows(codes, loadings, offset, ridge, weights, scores, turn, sums):
    """Add to ``sums`` (D, W + 1) how the slope by (loadings, offset) changes along ``turn`` (D, W + 1), rows at their best.

    The scores (n, W) move along: A du = dV r - V c (dV u + dμ) with A = V c V' + ρ, r the residual, c the curvature.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[1]
    odds, residual, curvature = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    work, whole = np.empty(n_columns), np.empty(n_columns)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    gradient, hessian, vector = np.empty(width), np.empty((width, width)), np.empty(width)
    for i in range(n_rows):
        log_odds(loadings, offset, scores[i], odds)
        row_terms(codes[i], odds, work, whole, work_bits, whole_bits, residual, curvature)
        normal_equations(loadings, residual, curvature, scores[i], ridge, gradient, hessian)
        for k in range(width):
            vector[k] = 0.0
        for j in range(n_columns):
            move = turn[j, width]
            for k in range(width):
                move += turn[j, k] * scores[i, k]
            work[j] = move
            for k in range(width):
                vector[k] += residual[j] * turn[j, k] - curvature[j] * move * loadings[j, k]
        cholesky_solve(hessian, width, vector)
        for j in range(n_columns):
            move = work[j]
            for k in range(width):
                move += loadings[j, k] * vector[k]
            change = -weights[i] * curvature[j] * move
            for k in range(width):
                sums[j, k] += weights[i] * residual[j] * vector[k] + change * scores[i, k]
            sums[j, width] += change


@kernel
def bound_rows(codes, loadings, offset, ridge, weights, scores, sums, logs):
    """One round of the bound of Schein, Saul & Ungar: new ``scores`` (n, W), and the sums for the loadings.

    ``logs`` (n,) get the log-likelihood at the scores that came in.  ``sums`` (D, W + 1, W + 2) get the weighted normal
    equations of every column for (loadings, offset): matrix, and right-hand side in the last column.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[1]
    odds, residual, curvature = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    work, whole = np.empty(n_columns), np.empty(n_columns)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    vector, matrix, long = np.empty(width), np.empty((width, width)), np.empty(width + 1)
    for i in range(n_rows):
        # 1. Scores from the bound at the old log odds.
        log_odds(loadings, offset, scores[i], odds)
        logs[i] = row_terms(codes[i], odds, work, whole, work_bits, whole_bits, residual, curvature)
        for k in range(width):
            vector[k] = 0.0
            for m in range(width):
                matrix[k, m] = ridge if k == m else 0.0
        for j in range(n_columns):
            if codes[i, j] < 2:
                w = bound_weight(odds[j])
                target = (0.5 if codes[i, j] == 1 else -0.5) - w * offset[j]
                for k in range(width):
                    vector[k] += target * loadings[j, k]
                    factor = w * loadings[j, k]
                    for m in range(width):
                        matrix[k, m] += factor * loadings[j, m]
        cholesky_solve(matrix, width, vector)
        for k in range(width):
            scores[i, k] = vector[k]
            long[k] = vector[k]
        long[width] = 1.0
        # 2. The bound anew at the new log odds, for the columns.
        log_odds(loadings, offset, scores[i], odds)
        for j in range(n_columns):
            if codes[i, j] < 2:
                w = weights[i] * bound_weight(odds[j])
                target = weights[i] * (0.5 if codes[i, j] == 1 else -0.5)
                for k in range(width + 1):
                    sums[j, k, width + 1] += target * long[k]
                    factor = w * long[k]
                    for m in range(width + 1):
                        sums[j, k, m] += factor * long[m]


@inner_kernel
def bound_weight(odds):
    """tanh(θ/2) / (2 θ), 1/4 at 0: the curvature of the quadratic bound of log σ that touches at θ."""
    size = abs(odds)
    return 0.25 - size * size / 48.0 if size < 1e-3 else math.tanh(0.5 * size) / (2.0 * size)
