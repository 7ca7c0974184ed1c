# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops that several families share.  Imported when a fit first needs them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..jit import inner_kernel, kernel

# exp(-37) is below half a unit in the last place of the largest term of a sum.
NEGLIGIBLE = -37.0
SMALLEST = 8.6e-17  # a little above exp(NEGLIGIBLE)
# 1.5 * 2^52: added to a number below 2^51 it leaves the nearest whole number in the last bits.
ROUNDER = 6755399441055744.0
LOG2_E = 1.4426950408889634
LN_2_HIGH, LN_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
C2, C3, C4, C5, C6, C7, C8 = (1.0 / math.factorial(n) for n in range(2, 9))
# The same in float32: exp(-17.4) is below half a unit in the last place; 1.5 * 2^23.
NEGLIGIBLE_SINGLE, SMALLEST_SINGLE, ROUNDER_SINGLE = np.float32(-17.4), np.float32(2.8e-8), np.float32(12582912.0)
LOG2_E_SINGLE, LN_2_HIGH_SINGLE, LN_2_LOW_SINGLE = (
    np.float32(LOG2_E),
    np.float32(0.693359375),
    np.float32(-2.12194440e-4),
)
S1, S2, S3, S4, S5, S6 = (np.float32(1.0 / math.factorial(n)) for n in range(1, 7))
C9, C10, C11, C12, C13 = (1.0 / math.factorial(n) for n in range(9, 14))
A3, A5, A7, A9, A11, A13, A15, A17, A19 = (1.0 / n for n in range(3, 20, 2))
# Parts of the bits of a number, and the number 2^52 + m whose last bits are the whole number m, exponents counting from 1023.
FRACTION_BITS, BITS_OF_ONE, EXPONENT_AS_NUMBER = 0xFFFFFFFFFFFFF, 0x3FF0000000000000, 0x4330000000000000
ROOT_2, EXPONENT_ONE, EXPONENT_ZERO = 1.4142135623730951, 2.0**52 + 1023.0, 2.0**52 + 1022.0
ROOT_2_LESS_1, LN_ROOT_2 = 0.41421356237309503, 0.34657359027997264
GROUP = 16  # rows whose exponentials are taken together
# 2^64 divided by the golden ratio, and the multipliers of the SplitMix64 finaliser (Steele, Lea & Flood 2014).
STEP = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner_kernel
def exp_shares(values, n, whole, values_bits, whole_bits):
    """Turn the first ``n`` of ``values`` (all <= 0) into their exponentials, those below exp(-37) into 0.

    Every step is the same arithmetic for each number on its own, so the loops vectorise (a third of the time of ``exp``
    called one by one) and the result does not depend on how wide the machine's vectors are.  x = m ln 2 + r with
    |r| <= ln 2 / 2, exp(r) by its series to r^13 (error below two units in the last place), times 2^m by adding m to the
    exponent bits.  ``whole`` is work space; ``values_bits`` and ``whole_bits`` are the integer views of the two.
    """
    for k in range(n):
        x = values[k] if values[k] > NEGLIGIBLE else NEGLIGIBLE
        shifted = x * LOG2_E + ROUNDER
        m = shifted - ROUNDER
        r = (x - m * LN_2_HIGH) - m * LN_2_LOW
        s = r * r
        even = ((((C12 * s + C10) * s + C8) * s + C6) * s + C4) * s + C2
        odd = ((((C13 * s + C11) * s + C9) * s + C7) * s + C5) * s + C3
        whole[k] = shifted
        values[k] = (1.0 + r) + s * (even + r * odd)
    for k in range(n):
        values_bits[k] += whole_bits[k] << 52
    for k in range(n):
        values[k] = values[k] if values[k] > SMALLEST else 0.0


@inner_kernel
def exp_shares_single(values, n, whole, values_bits, whole_bits):
    """The same in float32, those below exp(-17.4) into 0; the series goes to r^6 (three units in the last place)."""
    for k in range(n):
        x = values[k] if values[k] > NEGLIGIBLE_SINGLE else NEGLIGIBLE_SINGLE
        shifted = x * LOG2_E_SINGLE + ROUNDER_SINGLE
        m = shifted - ROUNDER_SINGLE
        r = (x - m * LN_2_HIGH_SINGLE) - m * LN_2_LOW_SINGLE
        s = r * r
        whole[k] = shifted
        values[k] = (S1 + r) + s * ((S2 + r * S3) + s * ((S4 + r * S5) + s * S6))
    for k in range(n):
        values_bits[k] += whole_bits[k] << np.int32(23)
    for k in range(n):
        values[k] = values[k] if values[k] > SMALLEST_SINGLE else np.float32(0.0)


@inner_kernel
def log1p_shares(values, n, out):
    """Fill the first ``n`` of ``out`` with log(1 + x) of ``values``, all from 0 to 1.

    2 atanh(s) with s = x / (2 + x), from half way on taken from the root of two; |s| <= 0.172, and the series goes to s^19
    (error below two units in the last place).  The same arithmetic for each number, so the loop vectorises.
    """
    for k in range(n):
        x = values[k]
        shift = ROOT_2_LESS_1 if x > ROOT_2_LESS_1 else 0.0
        s = (x - shift) / (x + 2.0 + shift)
        t = s * s
        tail = ((((A19 * t + A17) * t + A15) * t + A13) * t + A11) * t + A9
        tail = (((tail * t + A7) * t + A5) * t + A3) * t
        out[k] = (LN_ROOT_2 if shift > 0.0 else 0.0) + 2.0 * (s + s * tail)


@inner_kernel
def log_from_one(values, n, whole, values_bits, whole_bits):
    """Turn the first ``n`` of ``values``, all of them 1 or more, into their logarithms; arguments as in :func:`exp_shares`.

    m ln 2 + log(f) with f between the roots of 1/2 and of 2, the second as in :func:`log1p_shares`.
    """
    for k in range(n):
        whole_bits[k] = (values_bits[k] >> 52) | EXPONENT_AS_NUMBER
    for k in range(n):
        values_bits[k] = (values_bits[k] & FRACTION_BITS) | BITS_OF_ONE
    for k in range(n):
        large = values[k] > ROOT_2
        f = 0.5 * values[k] if large else values[k]
        m = whole[k] - (EXPONENT_ZERO if large else EXPONENT_ONE)
        s = (f - 1.0) / (f + 1.0)
        t = s * s
        tail = ((((A19 * t + A17) * t + A15) * t + A13) * t + A11) * t + A9
        tail = (((tail * t + A7) * t + A5) * t + A3) * t
        values[k] = m * LN_2_HIGH + (m * LN_2_LOW + 2.0 * (s + s * tail))


@inner_kernel
def uniform_at(key, place):
    """A uniform with an address: the SplitMix64 finaliser of a key and a place."""
    x = key + np.uint64(place + 1) * STEP
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    x ^= x >> np.uint64(31)
    return np.float64(x >> np.uint64(11)) * 2.0**-53


@kernel
def softmax_rows(log_joint, log_sums):
    """Turn every row of ``log_joint`` (n, K) into shares that sum to one; ``log_sums`` (n,) gets log sum exp."""
    n_rows, n_components = log_joint.shape
    shares, whole = np.empty(GROUP * n_components), np.empty(GROUP * n_components)
    shares_bits, whole_bits = shares.view(np.int64), whole.view(np.int64)
    tops = np.empty(GROUP)
    for start in range(0, n_rows, GROUP):
        n_group = min(GROUP, n_rows - start)
        for g in range(n_group):
            top = log_joint[start + g, 0]
            for k in range(1, n_components):
                top = max(top, log_joint[start + g, k])
            tops[g] = top
            for k in range(n_components):
                shares[g * n_components + k] = log_joint[start + g, k] - top
        exp_shares(shares, n_group * n_components, whole, shares_bits, whole_bits)
        for g in range(n_group):
            total = 0.0
            for k in range(n_components):
                total += shares[g * n_components + k]
            inverse = 1.0 / total
            for k in range(n_components):
                log_joint[start + g, k] = shares[g * n_components + k] * inverse
            log_sums[start + g] = tops[g] + math.log(total)


@inner_kernel
def cholesky_solve(matrix, n, vector):
    """Replace ``vector`` (n,) by the solution of matrix x = vector; the lower half of ``matrix`` is overwritten.

    Returns False, with ``vector`` as it was, if the matrix is not positive definite.
    """
    for i in range(n):
        for j in range(i + 1):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not value > 0.0:
                    return False
                matrix[i, i] = math.sqrt(value)
            else:
                matrix[i, j] = value / matrix[j, j]
    for i in range(n):
        value = vector[i]
        for k in range(i):
            value -= matrix[i, k] * vector[k]
        vector[i] = value / matrix[i, i]
    for i in range(n - 1, -1, -1):
        value = vector[i]
        for k in range(i + 1, n):
            value -= matrix[k, i] * vector[k]
        vector[i] = value / matrix[i, i]
    return True


def responsibilities(log_joint: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares (n, K) and log sums (n,) of ``log_joint``, whose memory is used for the shares."""
    log_sums = np.empty(len(log_joint))
    softmax_rows(log_joint, log_sums)
    return log_joint, log_sums
