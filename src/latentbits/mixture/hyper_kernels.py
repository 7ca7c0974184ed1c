# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Draws of one prior mean per column."""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import uniform_at

# Stepping out ends after this many steps to a side (Neal 2003), which keeps the draw exact for any density.
STEPS = 20


@inner_kernel
def column_density(logit, strength, ones, zeros, d):
    """log p(column d | blocks, mean, strength) for a mean with this logit, uniform a priori, up to a constant.

    ``ones`` and ``zeros`` (K, D) are the counts of the blocks; with a = mean × strength and b = strength - a the sum over
    blocks is log B(a + ones, b + zeros) - log B(a, b).  The last two terms turn the density of a mean into that of its logit.
    """
    mean = 1.0 / (1.0 + math.exp(-logit))
    other = 1.0 / (1.0 + math.exp(logit))
    a, b = mean * strength, other * strength
    if not (a > 0.0 and b > 0.0):
        return -np.inf
    value = math.log(mean) + math.log(other)
    start_a, start_b = math.lgamma(a), math.lgamma(b)
    for k in range(ones.shape[0]):
        if ones[k, d] > 0:
            value += math.lgamma(a + ones[k, d]) - start_a
        if zeros[k, d] > 0:
            value += math.lgamma(b + zeros[k, d]) - start_b
    return value


@kernel
def slice_means(ones, zeros, strength, keys, means):
    """Draw every column's mean in place by slice sampling on its logit (width 1, stepping out, shrinkage)."""
    for d in range(means.shape[0]):
        key, used = keys[d], 2
        x = math.log(means[d]) - math.log1p(-means[d])
        level = column_density(x, strength, ones, zeros, d) + math.log(max(uniform_at(key, 0), 1e-300))
        left = x - uniform_at(key, 1)
        right = left + 1.0
        steps_left = int(STEPS * uniform_at(key, 2))
        steps_right = STEPS - 1 - steps_left
        while steps_left > 0 and column_density(left, strength, ones, zeros, d) > level:
            left, steps_left = left - 1.0, steps_left - 1
        while steps_right > 0 and column_density(right, strength, ones, zeros, d) > level:
            right, steps_right = right + 1.0, steps_right - 1
        while True:
            used += 1
            y = left + (right - left) * uniform_at(key, used)
            if column_density(y, strength, ones, zeros, d) >= level or right - left < 1e-12:
                break
            if y < x:
                left = y
            else:
                right = y
        means[d] = min(max(1.0 / (1.0 + math.exp(-y)), 1e-12), 1.0 - 1e-12)
