# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the binary GTM's M-step.  Features are rows here: everything about one lies together."""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel
from ..maths.kernels import cholesky_solve, exp_shares

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
            value = 0.0
            for k in range(n_nodes):
                value += on[j, k] * odds[j, k] - seen[row, k] * (max(odds[j, k], 0.0) + math.log1p(work[k]))
            values[j] = value


@kernel
def solve_packed(packed, ridges, steps):
    """Replace every row of ``steps`` (D, M) by the solution of its own system.

    ``packed`` (D, M (M + 1) / 2) holds the lower halves of the matrices row by row, ``ridges`` (M,) is added to their
    diagonals.  A system that is not positive definite gets more and more on its diagonal.
    """
    n_systems, size = steps.shape
    matrix = np.empty((size, size))
    for i in range(n_systems):
        extra = 0.0
        for _ in range(MOST_TRIES):
            place, most = 0, 0.0
            for a in range(size):
                for b in range(a + 1):
                    matrix[a, b] = packed[i, place]
                    place += 1
                matrix[a, a] += ridges[a]
                most = max(most, matrix[a, a])
                matrix[a, a] += extra
            if cholesky_solve(matrix, size, steps[i]):
                break
            extra = max(10.0 * extra, 1e-12 * most, 1e-300)
        else:  # numbers that are none
            for a in range(size):
                steps[i, a] = 0.0
