# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""The fold-in of the Aspect Bernoulli model: memberships of a row at given probabilities, with a certificate."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import cholesky_solve
from ..maths.lanes_kernels import dot_rows
from .kernels import EDGE

# EM steps before the first Newton step of a fold-in.
FIRST_EM = 3


class Stored(NamedTuple):
    """Ones and unknown cells of all columns, row by row."""

    indptr: np.ndarray  # (n + 1,) int64
    indices: np.ndarray  # int32
    is_one: np.ndarray  # uint8


class Cold(NamedTuple):
    """Cold columns in the form that a fold-in needs; ``gains`` and ``logs`` are sums over them, empty if there are none."""

    coefficients: np.ndarray  # (D * 8,) see :func:`.kernels.cold_marks`
    probs: np.ndarray  # (D * W,)
    gains: np.ndarray  # (.., W) for the gains: constant, linear, and the squares (pairs of memberships)
    logs: np.ndarray  # (.., W + 1) the same for the log-likelihood, and at the end the curvature


class FoldOptions(NamedTuple):
    """How memberships of rows are looked for."""

    n_components: int
    prior: float  # the concentration less one: every membership counts as so many cells of its own
    tol: float  # gap to the best log-likelihood
    max_iter: int


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
