"""Loops that several families share.  Imported when a fit first needs them."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# exp(-37) is below half a unit in the last place of the largest term of a sum.
NEGLIGIBLE = -37.0


@njit(cache=True, nogil=True)
def softmax_rows(log_joint, log_sums):
    """Turn every row of ``log_joint`` (n, K) into shares that sum to one; ``log_sums`` (n,) gets log sum exp."""
    n_components = log_joint.shape[1]
    for i in range(log_joint.shape[0]):
        top = log_joint[i, 0]
        for k in range(1, n_components):
            top = max(top, log_joint[i, k])
        total = 0.0
        for k in range(n_components):
            below = log_joint[i, k] - top
            share = math.exp(below) if below > NEGLIGIBLE else 0.0
            log_joint[i, k] = share
            total += share
        inverse = 1.0 / total
        for k in range(n_components):
            log_joint[i, k] *= inverse
        log_sums[i] = top + math.log(total)


def responsibilities(log_joint):
    """Shares (n, K) and log sums (n,) of ``log_joint``, whose memory is used for the shares."""
    log_sums = np.empty(len(log_joint))
    softmax_rows(log_joint, log_sums)
    return log_joint, log_sums
