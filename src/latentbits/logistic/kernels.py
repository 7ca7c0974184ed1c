# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of logistic PCA: the scores of every row given the loadings, and what the loadings need of them.

Loadings come as (K, D): columns of the table lie together, so that loops over them run in vector registers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import cholesky_solve, exp_shares
from ..maths.lanes_kernels import dot_rows, log_growth, total_of

# A Newton step of a row with a smaller squared decrement is taken unseen: what it gains drowns in rounding.
SURE = 1e-9


class Cells(NamedTuple):
    """What is worked out of every cell of a row (D,), and work space."""

    small: np.ndarray  # exp(-|θ|)
    terms: np.ndarray
    small_bits: np.ndarray  # int64: the same bits
    terms_bits: np.ndarray
    residual: np.ndarray  # x - σ
    curvature: np.ndarray  # σ (1 - σ)
    scaled: np.ndarray


@inner_kernel
def log_odds(loadings, offset, scores, odds):
    """Fill ``odds`` (D,): offset plus loadings times scores."""
    for j in range(odds.shape[0]):
        odds[j] = offset[j]
    for k in range(loadings.shape[0]):
        add_row(loadings[k], scores[k], odds)


@inner_kernel
def add_row(row, factor, out):
    """Add ``factor`` times ``row`` (D,) to ``out`` (D,)."""
    for j in range(out.shape[0]):
        out[j] += factor * row[j]


@inner_kernel
def row_terms(codes, odds, cells):
    """Log-likelihood of a row; fills the residual x - σ and the curvature σ (1 - σ) of ``cells``, 0 at unknown ones."""
    n_columns, small, terms, residual, curvature = (
        codes.shape[0],
        cells.small,
        cells.terms,
        cells.residual,
        cells.curvature,
    )
    for j in range(n_columns):
        small[j] = -abs(odds[j])
    exp_shares(small, n_columns, terms, cells.small_bits, cells.terms_bits)
    for j in range(n_columns):
        inverse = 1.0 / (1.0 + small[j])
        on = inverse if odds[j] >= 0.0 else small[j] * inverse
        residual[j] = (1.0 if codes[j] == 1 else 0.0) - on
        curvature[j] = small[j] * inverse * inverse
    # x θ - log(1 + exp θ) = (x - [θ > 0]) θ - log(1 + exp(-|θ|))
    for j in range(n_columns):
        terms[j] = (1.0 if codes[j] == 1 else 0.0) * odds[j] - max(odds[j], 0.0)
    for j in range(n_columns):
        known = 1.0 if codes[j] < 2 else 0.0
        small[j] *= known
        terms[j] *= known
        residual[j] *= known
        curvature[j] *= known
    return total_of(terms, np.uint64(0), np.uint64(n_columns)) - log_growth(small)


@inner_kernel
def normal_equations(loadings, cells, scores, ridge, gradient, hessian):
    """Fill ``gradient`` (K,) and ``hessian`` (K, K) of a row's penalised log-likelihood by its scores."""
    n_components, n_columns, scaled = loadings.shape[0], loadings.shape[1], cells.scaled
    for k in range(n_components):
        gradient[k] = dot_rows(cells.residual, loadings[k], n_columns) - ridge * scores[k]
        for j in range(n_columns):
            scaled[j] = cells.curvature[j] * loadings[k, j]
        for m in range(k + 1):
            hessian[k, m] = dot_rows(scaled, loadings[m], n_columns)
            hessian[m, k] = hessian[k, m]
        hessian[k, k] += ridge


@kernel
def make_cells(n_columns):
    """Room for what is worked out of every cell of a row."""
    small, terms = np.empty(n_columns), np.empty(n_columns)
    return Cells(
        small,
        terms,
        small.view(np.int64),
        terms.view(np.int64),
        np.empty(n_columns),
        np.empty(n_columns),
        np.empty(n_columns),
    )


@kernel
def fit_rows(codes, loadings, offset, ridge, tol, most, scores, residuals, logs):
    """Best scores of every row given the loadings, by damped Newton steps from ``scores`` (n, K), which is filled.

    ``residuals`` (n, D) get x - σ there, ``logs`` (n,) the log-likelihood without the penalty.  Rows stop when the squared
    Newton decrement is below ``tol``, or after ``most`` looks at trials.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[0]
    odds, cells = np.empty(n_columns), make_cells(n_columns)
    gradient, hessian, trial = np.empty(width), np.empty((width, width)), np.empty(width)
    for i in range(n_rows):
        for k in range(width):
            trial[k] = scores[i, k]
        value, length, decrement, elsewhere = -np.inf, 1.0, np.inf, False
        for step in range(most):
            # 1. Look at the trial; shorten the step until it does not lose.
            log_odds(loadings, offset, trial, odds)
            plain = row_terms(codes[i], odds, cells)
            size = 0.0
            for k in range(width):
                size += trial[k] * trial[k]
            new = plain - 0.5 * ridge * size
            if step > 0 and new < value and decrement > SURE and length > 1e-12:
                length *= 0.5
                for k in range(width):
                    trial[k] = scores[i, k] + length * gradient[k]
                elsewhere = True
                continue
            # 2. Take it, and find the next Newton step unless this is the place.
            value, elsewhere = new, False
            logs[i] = plain
            for k in range(width):
                scores[i, k] = trial[k]
            if decrement < tol:
                break
            normal_equations(loadings, cells, trial, ridge, gradient, hessian)
            decrement = 0.0
            for k in range(width):
                trial[k] = gradient[k]
            cholesky_solve(hessian, width, gradient)  # positive definite: the ridge is on its diagonal
            for k in range(width):
                decrement += trial[k] * gradient[k]
            length = 1.0
            for k in range(width):
                trial[k] = scores[i, k] + gradient[k]
        if elsewhere:  # the last look was at a trial that was not taken
            log_odds(loadings, offset, scores[i], odds)
            row_terms(codes[i], odds, cells)
        for j in range(n_columns):
            residuals[i, j] = cells.residual[j]


@kernel
def column_curvature(codes, loadings, offset, weights, scores, sums):
    """Add to ``sums`` ((K + 1)(K + 2) / 2, D) the curvature of every column by its loadings and offset, scores (n, K) held.

    Lines are the lower half of the matrix, row by row.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[0]
    odds, cells, long = np.empty(n_columns), make_cells(n_columns), np.ones(width + 1)
    for i in range(n_rows):
        log_odds(loadings, offset, scores[i], odds)
        row_terms(codes[i], odds, cells)
        for k in range(width):
            long[k] = scores[i, k]
        line = 0
        for k in range(width + 1):
            for m in range(k + 1):
                add_row(cells.curvature, weights[i] * long[k] * long[m], sums[line])
                line += 1


@kernel
def curve_rows(codes, loadings, offset, ridge, weights, scores, turn, sums):
    """Add to ``sums`` (K + 1, D) how the slope by (loadings, offset) changes along ``turn`` (K + 1, D), rows at their best.

    The scores (n, K) move along: A du = dV r - V c (dV u + dμ) with A = V c V' + ρ, r the residual, c the curvature.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[0]
    odds, move, cells = np.empty(n_columns), np.empty(n_columns), make_cells(n_columns)
    gradient, hessian, vector = np.empty(width), np.empty((width, width)), np.empty(width)
    for i in range(n_rows):
        log_odds(loadings, offset, scores[i], odds)
        row_terms(codes[i], odds, cells)
        normal_equations(loadings, cells, scores[i], ridge, gradient, hessian)
        log_odds(turn[:width], turn[width], scores[i], move)
        for j in range(n_columns):
            odds[j] = cells.curvature[j] * move[j]
        for k in range(width):
            vector[k] = dot_rows(cells.residual, turn[k], n_columns) - dot_rows(odds, loadings[k], n_columns)
        cholesky_solve(hessian, width, vector)
        for k in range(width):
            add_row(loadings[k], vector[k], move)
        for j in range(n_columns):
            move[j] *= cells.curvature[j]
        for k in range(width):
            add_row(cells.residual, weights[i] * vector[k], sums[k])
            add_row(move, -weights[i] * scores[i, k], sums[k])
        add_row(move, -weights[i], sums[width])


@kernel
def bound_rows(codes, loadings, offset, ridge, weights, scores, sums, logs):
    """One round of the bound of Schein, Saul & Ungar: new ``scores`` (n, K), and the sums for the loadings.

    ``logs`` (n,) get the log-likelihood at the scores that came in.  ``sums`` (D, K + 1, K + 2) get the weighted normal
    equations of every column for (loadings, offset): matrix, and right-hand side in the last column.
    """
    n_rows, n_columns = codes.shape
    width = loadings.shape[0]
    odds, cells = np.empty(n_columns), make_cells(n_columns)
    vector, matrix, long = np.empty(width), np.empty((width, width)), np.empty(width + 1)
    for i in range(n_rows):
        # 1. Scores from the bound at the old log odds.
        log_odds(loadings, offset, scores[i], odds)
        logs[i] = row_terms(codes[i], odds, cells)
        for k in range(width):
            vector[k] = 0.0
            for m in range(width):
                matrix[k, m] = ridge if k == m else 0.0
        for j in range(n_columns):
            if codes[i, j] < 2:
                w = bound_weight(odds[j])
                target = (0.5 if codes[i, j] == 1 else -0.5) - w * offset[j]
                for k in range(width):
                    vector[k] += target * loadings[k, j]
                    factor = w * loadings[k, j]
                    for m in range(width):
                        matrix[k, m] += factor * loadings[m, j]
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
