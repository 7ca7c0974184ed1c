# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the binary GTM's M-step.  Features are rows here: everything about one lies together."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import exp_shares, log1p_shares
from ..maths.lanes_kernels import L1, L2, L7, dot_at

MOST_TRIES = 40


@kernel
def link_rows(odds, on, seen, with_value, residual, curvature, values):
    """At log odds ``odds`` (D, K): ``residual`` on - seen σ, ``curvature`` seen σ (1 - σ), and, if asked for, the
    ``values`` (D,) Σ_k on η - seen log(1 + exp η).

    ``seen`` is (D, K), or (1, K) if all features share it.
    """
    n_columns, n_nodes = odds.shape
    work, whole = np.empty(n_nodes), np.empty(n_nodes)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    shared = seen.shape[0] == 1
    for j in range(n_columns):
        row = 0 if shared else j
        for k in range(n_nodes):
            work[k] = -abs(odds[j, k])
        exp_shares(work, n_nodes, whole, work_bits, whole_bits)
        for k in range(n_nodes):
            inverse = 1.0 / (1.0 + work[k])
            chance = inverse if odds[j, k] >= 0.0 else work[k] * inverse
            residual[j, k] = on[j, k] - seen[row, k] * chance
            curvature[j, k] = seen[row, k] * (work[k] * inverse * inverse)
        if with_value:
            log1p_shares(work, n_nodes, whole)
            value = 0.0
            for k in range(n_nodes):
                value += on[j, k] * odds[j, k] - seen[row, k] * (max(odds[j, k], 0.0) + whole[k])
            values[j] = value


@inner_kernel
def factor_one(packed, ridges, extra, width, factor):
    """Fill ``factor`` (M * W,), which comes in as zeros, with the Cholesky factor of a packed lower half, row by row.

    W is M rounded up to a multiple of eight: what has not been filled is zero, so that sums may run over it.  Returns
    whether the matrix, with ``ridges`` (M,) and ``extra`` on its diagonal, is positive definite.
    """
    size = np.uint64(ridges.shape[0])
    # Column by column: what is filled last is not read by the next sum, which need not wait for it.
    for j in range(size):
        top, whole, place = j * width, (j + L7) & ~L7, j * (j + L1) // L2
        pivot = packed[place + j] + ridges[j] + extra - dot_at(factor, top, factor, top, whole)
        if not pivot > 0.0:
            return False
        inverse = 1.0 / math.sqrt(pivot)
        factor[top + j] = pivot * inverse
        for i in range(j + L1, size):
            row, place = i * width, i * (i + L1) // L2
            factor[row + j] = (packed[place + j] - dot_at(factor, row, factor, top, whole)) * inverse
    return True


@kernel
def factor_packed(packed, ridges, factors):
    """Fill ``factors`` (D, M * W) with the Cholesky factors of the lower halves in ``packed`` (D, M (M + 1) / 2).

    ``ridges`` (M,) is added to the diagonals.  A matrix that is not positive definite gets more and more on its diagonal;
    one of numbers that are none gets a factor that solves to zero.
    """
    size = ridges.shape[0]
    width = np.uint64((size + 7) // 8 * 8)
    for i in range(packed.shape[0]):
        factor, extra, most = factors[i], 0.0, 0.0
        for a in range(size):
            most = max(most, packed[i, a * (a + 3) // 2] + ridges[a])
        for _ in range(MOST_TRIES):
            factor[:] = 0.0
            if factor_one(packed[i], ridges, extra, width, factor):
                break
            extra = max(10.0 * extra, 1e-12 * most, 1e-300)
        else:
            factor[:] = np.inf


@kernel
def solve_factored(factors, steps):
    """Replace every row of ``steps`` (D, M) by the solution of its own system, L L' x = step."""
    n_systems, size = steps.shape
    width = (size + 7) // 8 * 8
    for i in range(n_systems):
        factor, step = factors[i], steps[i]
        for a in range(size):
            value = step[a]
            for b in range(a):
                value -= factor[a * width + b] * step[b]
            step[a] = value / factor[a * width + a]
        for a in range(size - 1, -1, -1):
            step[a] /= factor[a * width + a]
            value = step[a]
            for b in range(a):
                step[b] -= factor[a * width + b] * value
        for a in range(size):
            if not math.isfinite(step[a]):
                step[a] = 0.0
