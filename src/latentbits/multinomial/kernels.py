# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops over counts."""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel
from ..maths.lanes_kernels import dot_at


@kernel
def score_counts(indptr, indices, values, base, logs, scores):
    """Fill ``scores`` (n, K): ``base`` (K,) plus counts times ``logs`` (D, K)."""
    n_topics = base.shape[0]
    for i in range(scores.shape[0]):
        for k in range(n_topics):
            scores[i, k] = base[k]
        for p in range(indptr[i], indptr[i + 1]):
            j, count = indices[p], values[p]
            for k in range(n_topics):
                scores[i, k] += count * logs[j, k]


@kernel
def sum_counts(indptr, indices, values, shares, sums):
    """Add to ``sums`` (D, K) the counts of the rows times their ``shares`` (n, K)."""
    n_topics = shares.shape[1]
    for i in range(shares.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            j, count = indices[p], values[p]
            for k in range(n_topics):
                sums[j, k] += count * shares[i, k]


@kernel
def aspect_rows(indptr, indices, values, weights, words, temperature, theta, sums, logs):
    """One EM step of the rows of PLSA: ``theta`` (n, K) is replaced, ``sums`` (D, K) get the weighted shares of the counts.

    ``words`` (D, K) are P(word | topic), raised to ``temperature`` if it is not 1, as ``theta`` is here; ``logs`` (n,) get
    the log-likelihood at the shares that came in (at temperature 1 that of the model).  ``sums`` may be empty.
    """
    n_rows, n_topics = theta.shape
    part, fresh, own = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    summing = sums.shape[0] > 0
    for i in range(n_rows):
        total = 0.0
        for k in range(n_topics):
            fresh[k] = 0.0
            own[k] = theta[i, k] if temperature == 1.0 else theta[i, k] ** temperature
        value = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j, count = indices[p], values[p]
            chance = 0.0
            for k in range(n_topics):
                part[k] = own[k] * words[j, k]
                chance += part[k]
            if chance > 0.0:
                value += count * math.log(chance)
                factor = count / chance
                total += count
                for k in range(n_topics):
                    part[k] *= factor
                    fresh[k] += part[k]
                if summing:
                    for k in range(n_topics):
                        sums[j, k] += weights[i] * part[k]
            else:
                value = -np.inf
        logs[i] = value
        if total > 0.0:
            for k in range(n_topics):
                theta[i, k] = fresh[k] / total


@kernel
def aspect_rows_single(lists, weights, words, own, sums, fresh, logs):
    """One EM step of the rows of PLSA in float32, components padded to a multiple of eight.

    ``words`` (D * W,) and ``own`` (n * W,) are tempered where they should be.  ``fresh`` (n * W,) is filled with the new
    shares, ``logs`` (n,) with the log-likelihood; ``sums`` (D * W,) get the weighted shares of the counts, still to be
    multiplied by the words.
    """
    indptr, indices, values = lists
    n_rows = logs.shape[0]
    width = np.uint64(own.shape[0] // max(n_rows, 1))
    for i in range(n_rows):
        row = np.uint64(i) * width
        weight, total, value, product = weights[i], 0.0, 0.0, 1.0
        for k in range(width):
            fresh[row + k] = np.float32(0.0)
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            at, count = np.uint64(indices[p]) * width, values[p]
            chance = dot_at(own, row, words, at, width)
            if chance > 0.0:
                if count == 1.0:
                    product *= chance
                    if product < 1e-200:
                        value += math.log(product)
                        product = 1.0
                else:
                    value += count * math.log(chance)
                total += count
                factor = np.float32(count / chance)
                for k in range(width):
                    fresh[row + k] += factor * words[at + k]
                factor *= np.float32(weight)
                for k in range(width):
                    sums[at + k] += factor * own[row + k]
            else:
                value = -np.inf
        logs[i] = value + math.log(product)
        scale = np.float32(1.0 / total) if total > 0.0 else np.float32(0.0)
        for k in range(width):
            fresh[row + k] *= scale * own[row + k]


@kernel
def fold_rows(indptr, indices, values, words, temperature, most, tol, theta, logs):
    """Fold rows in: steps on ``theta`` (n, K) alone until no share moves by more than ``tol``; ``words`` as above."""
    n_rows, n_topics = theta.shape
    fresh, own, part = np.empty(n_topics), np.empty(n_topics), np.empty(n_topics)
    for i in range(n_rows):
        for _ in range(most):
            total, moved, value = 0.0, 0.0, 0.0
            for k in range(n_topics):
                fresh[k] = 0.0
                own[k] = theta[i, k] if temperature == 1.0 else theta[i, k] ** temperature
            for p in range(indptr[i], indptr[i + 1]):
                j, count = indices[p], values[p]
                chance = 0.0
                for k in range(n_topics):
                    part[k] = own[k] * words[j, k]
                    chance += part[k]
                if chance > 0.0:
                    value += count * math.log(chance)
                    factor = count / chance
                    total += count
                    for k in range(n_topics):
                        fresh[k] += factor * part[k]
                else:
                    value = -np.inf
            logs[i] = value
            if total > 0.0:
                for k in range(n_topics):
                    share = fresh[k] / total
                    moved = max(moved, abs(share - theta[i, k]))
                    theta[i, k] = share
            if moved <= tol:
                break


@kernel
def rating_rows(indptr, indices, values, weights, tables, temperature, n_steps, theta, sums, logs):
    """EM steps of the users of a Gaussian PLSA: ``theta`` (n, K) is replaced ``n_steps`` times.

    ``tables`` (D, 3, K) hold log sizes, means and half precisions; ``sums`` (D, 3, K) get the shares of the last step, times
    the rating and its square, unless they are empty; ``logs`` (n,) get the log-likelihood at the shares before that step.
    """
    n_rows, n_causes = theta.shape
    part, fresh = np.empty(n_causes), np.empty(n_causes)
    summing = sums.shape[0] > 0
    for i in range(n_rows):
        count = indptr[i + 1] - indptr[i]
        logs[i] = 0.0
        for step in range(n_steps):
            value = 0.0
            for k in range(n_causes):
                fresh[k] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                j, v = indices[p], values[p]
                top = -np.inf
                for k in range(n_causes):
                    away = v - tables[j, 1, k]
                    part[k] = tables[j, 0, k] - away * away * tables[j, 2, k] + math.log(max(theta[i, k], 1e-300))
                    top = max(top, part[k])
                plain, total = 0.0, 0.0
                for k in range(n_causes):
                    plain += math.exp(part[k] - top)
                    part[k] = math.exp(temperature * (part[k] - top))
                    total += part[k]
                value += top + math.log(plain)
                for k in range(n_causes):
                    part[k] /= total
                    fresh[k] += part[k]
                if summing and step == n_steps - 1:
                    for k in range(n_causes):
                        share = weights[i] * part[k]
                        sums[j, 0, k] += share
                        sums[j, 1, k] += share * v
                        sums[j, 2, k] += share * v * v
            logs[i] = value
            if count > 0:
                for k in range(n_causes):
                    theta[i, k] = fresh[k] / count
