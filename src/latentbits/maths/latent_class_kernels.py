# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""The E-step over index lists in one walk: scores, shares and their sums while a row is at hand.

The number of classes is padded to a multiple of eight, so that sums run in vector registers (:mod:`.lanes_kernels`);
exponentials are taken for sixteen rows at a time.  In float32 twice as many classes fit into a register and half as many
bytes are moved.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import inner_kernel, kernel
from .kernels import GROUP, exp_shares, exp_shares_single
from .lanes_kernels import score_row, spread_row

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
# Ones per column after which sums in float32 are added to those in float64.
RUN = 64


@inner_kernel
def largest(values, width):
    """The largest of ``values`` (K,), in four chains, as each comparison waits for the one before it."""
    a, b, c, d = values[0], values[1], values[2], values[3]
    k = FOUR
    while k < width:
        a = values[k] if values[k] > a else a
        b = values[k + ONE] if values[k + ONE] > b else b
        c = values[k + TWO] if values[k + TWO] > c else c
        d = values[k + THREE] if values[k + THREE] > d else d
        k += FOUR
    return max(max(a, b), max(c, d))


@inner_kernel
def total_from(values, first, width):
    """The sum of the K values from place ``first``, in four chains."""
    a, b, c, d = values[first], values[first + ONE], values[first + TWO], values[first + THREE]
    k, end = first + FOUR, first + width
    while k < end:
        a += values[k]
        b += values[k + ONE]
        c += values[k + TWO]
        d += values[k + THREE]
        k += FOUR
    return (a + b) + (c + d)


@inner_kernel
def score_group(indptr, indices, start, n_group, base, slope, row, shares, tops):
    """Fill ``shares`` (GROUP * K,) with the scores of a group of rows below the largest of each, which ``tops`` get."""
    width = np.uint64(base.shape[0])
    for g in range(n_group):
        low, high = np.uint64(indptr[start + g]), np.uint64(indptr[start + g + 1])
        score_row(indices, low, high, base, slope, width, width, row)
        top = largest(row, width)
        tops[g] = top
        first = np.uint64(g) * width
        for k in range(width):
            shares[first + k] = row[k] - top


@inner_kernel
def sum_group(indptr, indices, weights, start, n_group, tops, shares, row, mass, on):
    """Add what a group of rows brings: ``shares`` of the classes times the weight of the row; returns the log-likelihood."""
    width = np.uint64(row.shape[0])
    log_likelihood = 0.0
    for g in range(n_group):
        first, weight = np.uint64(g) * width, weights[start + g]
        total = total_from(shares, first, width)
        log_likelihood += weight * (tops[g] + math.log(total))
        factor = shares.dtype.type(weight / total)
        for k in range(width):
            row[k] = shares[first + k] * factor
        for k in range(width):
            mass[k] += row[k]
        low, high = np.uint64(indptr[start + g]), np.uint64(indptr[start + g + 1])
        spread_row(indices, low, high, row, width, on)
    return log_likelihood


@kernel
def e_step_lists(indptr, indices, weights, base, slope, mass, on):
    """Add the sums of a block to ``mass`` (K,) and ``on`` (D * K,); returns the log-likelihood.

    K is a multiple of eight; classes that only pad have ``base`` = -inf.  ``slope`` (D * K,) is flattened like ``on``.
    """
    n_components, n_rows = base.shape[0], indptr.shape[0] - 1
    row, tops = np.empty(n_components), np.empty(GROUP)
    shares, whole = np.empty(GROUP * n_components), np.empty(GROUP * n_components)
    shares_bits, whole_bits = shares.view(np.int64), whole.view(np.int64)
    log_likelihood = 0.0
    for start in range(0, n_rows, GROUP):
        n_group = min(GROUP, n_rows - start)
        score_group(indptr, indices, start, n_group, base, slope, row, shares, tops)
        exp_shares(shares, n_group * n_components, whole, shares_bits, whole_bits)
        log_likelihood += sum_group(indptr, indices, weights, start, n_group, tops, shares, row, mass, on)
    return log_likelihood


@kernel
def e_step_lists_single(indptr, indices, weights, base, slope, work, mass, on):
    """The same with ``base`` and ``slope`` in float32.

    Sums over short runs of rows are taken in float32, in ``work`` (D * K,), which comes in and leaves as zeros; those over
    all rows, ``mass`` and ``on``, in float64.
    """
    n_components, n_rows = base.shape[0], indptr.shape[0] - 1
    row, tops = np.empty(n_components, np.float32), np.empty(GROUP, np.float32)
    shares, whole = np.empty(GROUP * n_components, np.float32), np.empty(GROUP * n_components, np.float32)
    shares_bits, whole_bits = shares.view(np.int32), whole.view(np.int32)
    run = RUN * (work.shape[0] // n_components)
    log_likelihood, added = 0.0, 0
    for start in range(0, n_rows, GROUP):
        n_group = min(GROUP, n_rows - start)
        score_group(indptr, indices, start, n_group, base, slope, row, shares, tops)
        exp_shares_single(shares, n_group * n_components, whole, shares_bits, whole_bits)
        log_likelihood += sum_group(indptr, indices, weights, start, n_group, tops, shares, row, mass, work)
        if start + n_group == n_rows or indptr[start + n_group] - added >= run:
            added = indptr[start + n_group]
            for k in range(work.shape[0]):
                on[k] += work[k]
                work[k] = np.float32(0.0)
    return log_likelihood


@kernel
def e_step_scores_single(scores, weights, mass):
    """Turn ``scores`` (n, K), float32, into shares times the weight of the row, and add them to ``mass`` (K,).

    Returns the log-likelihood.  K is a multiple of eight.
    """
    n_rows, n_components = scores.shape
    width, flat = np.uint64(n_components), scores.reshape(n_rows * n_components)
    whole, tops = np.empty(GROUP * n_components, np.float32), np.empty(GROUP, np.float32)
    whole_bits = whole.view(np.int32)
    log_likelihood = 0.0
    for start in range(0, n_rows, GROUP):
        n_group = min(GROUP, n_rows - start)
        shares = flat[start * n_components : (start + n_group) * n_components]
        for g in range(n_group):
            row = scores[start + g]
            tops[g] = largest(row, width)
            for k in range(width):
                row[k] -= tops[g]
        exp_shares_single(shares, n_group * n_components, whole, shares.view(np.int32), whole_bits)
        for g in range(n_group):
            row, weight = scores[start + g], weights[start + g]
            total = total_from(row, np.uint64(0), width)
            log_likelihood += weight * (tops[g] + math.log(total))
            factor = np.float32(weight / total)
            for k in range(width):
                row[k] *= factor
            for k in range(width):
                mass[k] += row[k]
    return log_likelihood
