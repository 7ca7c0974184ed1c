"""The E-step over index lists in one walk: scores, shares and their sums while a row is at hand."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# exp(-37) is below half a unit in the last place of the largest share.
NEGLIGIBLE = -37.0


@njit(cache=True, nogil=True)
def e_step_lists(indptr, indices, weights, base, slope, mass, on):
    """Add the sums of a block to ``mass`` (K,) and ``on`` (D * K,); returns the log-likelihood.

    ``slope`` (D * K,) is flattened like ``on``, and places are unsigned: see ``data/kernels.py``.
    """
    n_components = base.shape[0]
    width = np.uint64(n_components)
    shares = np.empty(n_components)
    active = np.empty(n_components, np.uint64)
    log_likelihood = 0.0
    for i in range(indptr.shape[0] - 1):
        low, high = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        # 1. Scores: four ones at a time, so that the running sum is read and written once for the four.
        for k in range(width):
            shares[k] = base[k]
        p = low
        while p + np.uint64(4) <= high:
            a = np.uint64(indices[p]) * width
            b = np.uint64(indices[p + np.uint64(1)]) * width
            c = np.uint64(indices[p + np.uint64(2)]) * width
            d = np.uint64(indices[p + np.uint64(3)]) * width
            for k in range(width):
                shares[k] += (slope[a + k] + slope[b + k]) + (slope[c + k] + slope[d + k])
            p += np.uint64(4)
        while p < high:
            a = np.uint64(indices[p]) * width
            for k in range(width):
                shares[k] += slope[a + k]
            p += np.uint64(1)
        # 2. Shares: softmax of the scores, times the weight of the row.
        top = shares[0]
        for k in range(width):
            top = max(top, shares[k])
        total = 0.0
        n_active = 0
        for k in range(width):
            below = shares[k] - top
            if below > NEGLIGIBLE:
                shares[k] = math.exp(below)
                total += shares[k]
                active[n_active] = k
                n_active += 1
            else:
                shares[k] = 0.0
        weight = weights[i]
        log_likelihood += weight * (top + math.log(total))
        factor = weight / total
        for k in range(width):
            shares[k] *= factor
            mass[k] += shares[k]
        # 3. Sums at the ones: all classes in one stride, or only the few that are not zero, which changes no sum.
        if 4 * n_active <= n_components:
            for p in range(low, high):
                target = np.uint64(indices[p]) * width
                for q in range(n_active):
                    k = active[q]
                    on[target + k] += shares[k]
        else:
            for p in range(low, high):
                target = np.uint64(indices[p]) * width
                for k in range(width):
                    on[target + k] += shares[k]
    return log_likelihood
