# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Sums over the ones of a row, components by the dozen in named variables.

The compiler keeps the variables in vector registers, several of them at work at a time: a sum that waits for the one before
it costs four cycles, so one register alone would run at a quarter of its speed.  Compared with a loop over components this
is 1.5 to 3 times the speed, in float64 as in float32.  The order of no sum depends on it.

Matrices are flattened (D * W,), W being the number of components padded to a multiple of eight.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel

# Places are unsigned, which spares checks for negative ones; so are the numbers added to them.
L1, L2, L3, L4, L5, L6, L7, L8 = (
    np.uint64(1),
    np.uint64(2),
    np.uint64(3),
    np.uint64(4),
    np.uint64(5),
    np.uint64(6),
    np.uint64(7),
    np.uint64(8),
)
L9, L10, L11, L12, L13, L14, L15, L16 = (
    np.uint64(9),
    np.uint64(10),
    np.uint64(11),
    np.uint64(12),
    np.uint64(13),
    np.uint64(14),
    np.uint64(15),
    np.uint64(16),
)
L17, L18, L19, L20, L21, L22, L23, L24 = (
    np.uint64(17),
    np.uint64(18),
    np.uint64(19),
    np.uint64(20),
    np.uint64(21),
    np.uint64(22),
    np.uint64(23),
    np.uint64(24),
)
L25, L26, L27, L28, L29, L30, L31 = (
    np.uint64(25),
    np.uint64(26),
    np.uint64(27),
    np.uint64(28),
    np.uint64(29),
    np.uint64(30),
    np.uint64(31),
)
L32 = np.uint64(32)
# Factors of at most 2 whose product stays below 2^1000.
LINKS = np.uint64(960)


@inner_kernel
def score_8(indices, low, high, base, slope, width, k, scores):
    """Fill 8 of ``scores`` from place ``k`` on."""
    a0, a1, a2, a3, a4, a5, a6, a7 = (
        base[k],
        base[k + L1],
        base[k + L2],
        base[k + L3],
        base[k + L4],
        base[k + L5],
        base[k + L6],
        base[k + L7],
    )
    for p in range(low, high):
        at = np.uint64(indices[p]) * width + k
        a0 += slope[at]
        a1 += slope[at + L1]
        a2 += slope[at + L2]
        a3 += slope[at + L3]
        a4 += slope[at + L4]
        a5 += slope[at + L5]
        a6 += slope[at + L6]
        a7 += slope[at + L7]
    scores[k], scores[k + L1], scores[k + L2], scores[k + L3] = a0, a1, a2, a3
    scores[k + L4], scores[k + L5], scores[k + L6], scores[k + L7] = a4, a5, a6, a7


@inner_kernel
def score_16(indices, low, high, base, slope, width, k, scores):
    """Fill 16 of ``scores`` from place ``k`` on."""
    a0, a1, a2, a3, a4, a5, a6, a7 = (
        base[k],
        base[k + L1],
        base[k + L2],
        base[k + L3],
        base[k + L4],
        base[k + L5],
        base[k + L6],
        base[k + L7],
    )
    a8, a9, a10, a11, a12, a13, a14, a15 = (
        base[k + L8],
        base[k + L9],
        base[k + L10],
        base[k + L11],
        base[k + L12],
        base[k + L13],
        base[k + L14],
        base[k + L15],
    )
    for p in range(low, high):
        at = np.uint64(indices[p]) * width + k
        a0 += slope[at]
        a1 += slope[at + L1]
        a2 += slope[at + L2]
        a3 += slope[at + L3]
        a4 += slope[at + L4]
        a5 += slope[at + L5]
        a6 += slope[at + L6]
        a7 += slope[at + L7]
        a8 += slope[at + L8]
        a9 += slope[at + L9]
        a10 += slope[at + L10]
        a11 += slope[at + L11]
        a12 += slope[at + L12]
        a13 += slope[at + L13]
        a14 += slope[at + L14]
        a15 += slope[at + L15]
    scores[k], scores[k + L1], scores[k + L2], scores[k + L3] = a0, a1, a2, a3
    scores[k + L4], scores[k + L5], scores[k + L6], scores[k + L7] = a4, a5, a6, a7
    scores[k + L8], scores[k + L9], scores[k + L10], scores[k + L11] = a8, a9, a10, a11
    scores[k + L12], scores[k + L13], scores[k + L14], scores[k + L15] = a12, a13, a14, a15


@inner_kernel
def score_32(indices, low, high, base, slope, width, k, scores):
    """Fill 32 of ``scores`` from place ``k`` on."""
    a0, a1, a2, a3, a4, a5, a6, a7 = (
        base[k],
        base[k + L1],
        base[k + L2],
        base[k + L3],
        base[k + L4],
        base[k + L5],
        base[k + L6],
        base[k + L7],
    )
    a8, a9, a10, a11, a12, a13, a14, a15 = (
        base[k + L8],
        base[k + L9],
        base[k + L10],
        base[k + L11],
        base[k + L12],
        base[k + L13],
        base[k + L14],
        base[k + L15],
    )
    a16, a17, a18, a19, a20, a21, a22, a23 = (
        base[k + L16],
        base[k + L17],
        base[k + L18],
        base[k + L19],
        base[k + L20],
        base[k + L21],
        base[k + L22],
        base[k + L23],
    )
    a24, a25, a26, a27, a28, a29, a30, a31 = (
        base[k + L24],
        base[k + L25],
        base[k + L26],
        base[k + L27],
        base[k + L28],
        base[k + L29],
        base[k + L30],
        base[k + L31],
    )
    for p in range(low, high):
        at = np.uint64(indices[p]) * width + k
        a0 += slope[at]
        a1 += slope[at + L1]
        a2 += slope[at + L2]
        a3 += slope[at + L3]
        a4 += slope[at + L4]
        a5 += slope[at + L5]
        a6 += slope[at + L6]
        a7 += slope[at + L7]
        a8 += slope[at + L8]
        a9 += slope[at + L9]
        a10 += slope[at + L10]
        a11 += slope[at + L11]
        a12 += slope[at + L12]
        a13 += slope[at + L13]
        a14 += slope[at + L14]
        a15 += slope[at + L15]
        a16 += slope[at + L16]
        a17 += slope[at + L17]
        a18 += slope[at + L18]
        a19 += slope[at + L19]
        a20 += slope[at + L20]
        a21 += slope[at + L21]
        a22 += slope[at + L22]
        a23 += slope[at + L23]
        a24 += slope[at + L24]
        a25 += slope[at + L25]
        a26 += slope[at + L26]
        a27 += slope[at + L27]
        a28 += slope[at + L28]
        a29 += slope[at + L29]
        a30 += slope[at + L30]
        a31 += slope[at + L31]
    scores[k], scores[k + L1], scores[k + L2], scores[k + L3] = a0, a1, a2, a3
    scores[k + L4], scores[k + L5], scores[k + L6], scores[k + L7] = a4, a5, a6, a7
    scores[k + L8], scores[k + L9], scores[k + L10], scores[k + L11] = a8, a9, a10, a11
    scores[k + L12], scores[k + L13], scores[k + L14], scores[k + L15] = a12, a13, a14, a15
    scores[k + L16], scores[k + L17], scores[k + L18], scores[k + L19] = a16, a17, a18, a19
    scores[k + L20], scores[k + L21], scores[k + L22], scores[k + L23] = a20, a21, a22, a23
    scores[k + L24], scores[k + L25], scores[k + L26], scores[k + L27] = a24, a25, a26, a27
    scores[k + L28], scores[k + L29], scores[k + L30], scores[k + L31] = a28, a29, a30, a31


@inner_kernel
def spread_8(indices, low, high, shares, width, k, on):
    """Add 8 of ``shares`` from place ``k`` on."""
    a0, a1, a2, a3, a4, a5, a6, a7 = (
        shares[k],
        shares[k + L1],
        shares[k + L2],
        shares[k + L3],
        shares[k + L4],
        shares[k + L5],
        shares[k + L6],
        shares[k + L7],
    )
    for p in range(low, high):
        at = np.uint64(indices[p]) * width + k
        on[at] += a0
        on[at + L1] += a1
        on[at + L2] += a2
        on[at + L3] += a3
        on[at + L4] += a4
        on[at + L5] += a5
        on[at + L6] += a6
        on[at + L7] += a7


@inner_kernel
def spread_16(indices, low, high, shares, width, k, on):
    """Add 16 of ``shares`` from place ``k`` on."""
    a0, a1, a2, a3, a4, a5, a6, a7 = (
        shares[k],
        shares[k + L1],
        shares[k + L2],
        shares[k + L3],
        shares[k + L4],
        shares[k + L5],
        shares[k + L6],
        shares[k + L7],
    )
    a8, a9, a10, a11, a12, a13, a14, a15 = (
        shares[k + L8],
        shares[k + L9],
        shares[k + L10],
        shares[k + L11],
        shares[k + L12],
        shares[k + L13],
        shares[k + L14],
        shares[k + L15],
    )
    for p in range(low, high):
        at = np.uint64(indices[p]) * width + k
        on[at] += a0
        on[at + L1] += a1
        on[at + L2] += a2
        on[at + L3] += a3
        on[at + L4] += a4
        on[at + L5] += a5
        on[at + L6] += a6
        on[at + L7] += a7
        on[at + L8] += a8
        on[at + L9] += a9
        on[at + L10] += a10
        on[at + L11] += a11
        on[at + L12] += a12
        on[at + L13] += a13
        on[at + L14] += a14
        on[at + L15] += a15


@inner_kernel
def score_row(indices, low, high, base, slope, width, count, scores):
    """Fill the first ``count`` of ``scores`` (W,): ``base`` plus the rows of ``slope`` (D * W,) at ``indices[low:high]``.

    ``width`` is W; ``count`` too is a multiple of eight.
    """
    k = np.uint64(0)
    while k + L32 <= count:
        score_32(indices, low, high, base, slope, width, k, scores)
        k += L32
    if k + L16 <= count:
        score_16(indices, low, high, base, slope, width, k, scores)
        k += L16
    if k < count:
        score_8(indices, low, high, base, slope, width, k, scores)


@inner_kernel
def dot_at(a, i, b, j, width):
    """Sum of ``a[i + k] * b[j + k]`` for k < width, a multiple of eight, in eight chains."""
    zero = a.dtype.type(0.0)
    s0, s1, s2, s3, s4, s5, s6, s7 = zero, zero, zero, zero, zero, zero, zero, zero
    k = np.uint64(0)
    while k < width:
        x, y = i + k, j + k
        s0 += a[x] * b[y]
        s1 += a[x + L1] * b[y + L1]
        s2 += a[x + L2] * b[y + L2]
        s3 += a[x + L3] * b[y + L3]
        s4 += a[x + L4] * b[y + L4]
        s5 += a[x + L5] * b[y + L5]
        s6 += a[x + L6] * b[y + L6]
        s7 += a[x + L7] * b[y + L7]
        k += L8
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))


@inner_kernel
def any_of_8(values, k):
    """Whether one of eight ``values``, none of them below zero, is above it."""
    low = max(max(values[k], values[k + L1]), max(values[k + L2], values[k + L3]))
    high = max(max(values[k + L4], values[k + L5]), max(values[k + L6], values[k + L7]))
    return max(low, high) > 0.0


@inner_kernel
def spread_row(indices, low, high, shares, width, on):
    """Add ``shares`` (W,), none below zero, to the rows of ``on`` (D * W,) at the columns ``indices[low:high]``."""
    k = np.uint64(0)
    while k < width:
        if not any_of_8(shares, k):  # nothing would change
            k += L8
        elif k + L16 <= width and any_of_8(shares, k + L8):
            spread_16(indices, low, high, shares, width, k, on)
            k += L16
        else:
            spread_8(indices, low, high, shares, width, k, on)
            k += L8


@inner_kernel
def total_of(values, first, last):
    """The sum of ``values[first:last]``, in eight chains."""
    zero = values.dtype.type(0.0)
    a, b, c, d, e, f, g, h = zero, zero, zero, zero, zero, zero, zero, zero
    j = first
    while j + L8 <= last:
        a += values[j]
        b += values[j + L1]
        c += values[j + L2]
        d += values[j + L3]
        e += values[j + L4]
        f += values[j + L5]
        g += values[j + L6]
        h += values[j + L7]
        j += L8
    while j < last:
        a += values[j]
        j += L1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@inner_kernel
def log_growth(values):
    """Σ log(1 + value) of ``values``, all from 0 to 1: products in eight chains, few logarithms."""
    total = 0.0
    j, end = np.uint64(0), np.uint64(values.shape[0])
    while j < end:
        last = min(j + LINKS, end)
        a, b, c, d, e, f, g, h = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
        while j + L8 <= last:
            a *= 1.0 + values[j]
            b *= 1.0 + values[j + L1]
            c *= 1.0 + values[j + L2]
            d *= 1.0 + values[j + L3]
            e *= 1.0 + values[j + L4]
            f *= 1.0 + values[j + L5]
            g *= 1.0 + values[j + L6]
            h *= 1.0 + values[j + L7]
            j += L8
        while j < last:
            a *= 1.0 + values[j]
            j += L1
        total += math.log(((a * b) * (c * d)) * ((e * f) * (g * h)))
    return total


@inner_kernel
def dot_rows(a, b, n):
    """Sum of a[i] * b[i] for i < n, in eight chains."""
    x0, x1, x2, x3, x4, x5, x6, x7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 8 <= n:
        x0 += a[i] * b[i]
        x1 += a[i + 1] * b[i + 1]
        x2 += a[i + 2] * b[i + 2]
        x3 += a[i + 3] * b[i + 3]
        x4 += a[i + 4] * b[i + 4]
        x5 += a[i + 5] * b[i + 5]
        x6 += a[i + 6] * b[i + 6]
        x7 += a[i + 7] * b[i + 7]
        i += 8
    while i < n:
        x0 += a[i] * b[i]
        i += 1
    return ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7))
