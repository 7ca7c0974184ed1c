# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the latent Bernoulli-Gauss model.  Only the keywords of a row, its first entries, are walked.

Tables are (D, 3, K): for every word and topic what a keyword adds at its mean, the mean, and half the precision; sums are
(D, 3, K) likewise: shares, shares times and shares times the square of the distance from the word's centre.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel
from ..maths.lanes_kernels import L1, L2, L3, L4, L5, L6, L7, L8, any_of_8

# Words that are worked on at a time.
WORDS = 32


@kernel
def keyword_lengths(indptr, values, wanted, all_ties, lengths):
    """Fill ``lengths`` (n,): how many of its first entries are keywords of a row, ``wanted`` (n,) of them being asked for.

    At least one, at most all; with ``all_ties`` also the entries that equal the last one taken.
    """
    for i in range(lengths.shape[0]):
        count = indptr[i + 1] - indptr[i]
        length = min(max(wanted[i], 1), count)
        if all_ties and length > 0:
            last = values[indptr[i] + length - 1]
            while length < count and values[indptr[i] + length] == last:
                length += 1
        lengths[i] = length


@kernel
def score_rows(indptr, lengths, indices, values, base, tables, scores):
    """Fill ``scores`` (n, K): ``base`` (K,) plus what the keywords of the row add for every topic."""
    n_topics = base.shape[0]
    for i in range(lengths.shape[0]):
        for k in range(n_topics):
            scores[i, k] = base[k]
        for p in range(indptr[i], indptr[i] + lengths[i]):
            j, m = indices[p], values[p]
            for k in range(n_topics):
                away = m - tables[j, 1, k]
                scores[i, k] += tables[j, 0, k] - away * away * tables[j, 2, k]


@kernel
def sum_rows(indptr, lengths, indices, values, centers, shares, sums):
    """Add to ``sums`` (D, 3, K) what the keywords of the rows bring with ``shares`` (n, K), weights included."""
    n_topics = shares.shape[1]
    some = np.empty(n_topics, np.int64)
    for i in range(lengths.shape[0]):
        n_some = 0
        for k in range(n_topics):
            if shares[i, k] > 0.0:
                some[n_some] = k
                n_some += 1
        for p in range(indptr[i], indptr[i] + lengths[i]):
            j = indices[p]
            away = values[p] - centers[j]
            square = away * away
            if 2 * n_some > n_topics:
                for k in range(n_topics):
                    share = shares[i, k]
                    sums[j, 0, k] += share
                    sums[j, 1, k] += share * away
                    sums[j, 2, k] += share * square
            else:  # rows are mostly sure of their topic
                for s in range(n_some):
                    k = some[s]
                    share = shares[i, k]
                    sums[j, 0, k] += share
                    sums[j, 1, k] += share * away
                    sums[j, 2, k] += share * square


@kernel
def cross_rows(indptr, lengths, indices, values, at_zero, means, halves, sizes, logs):
    """Fill ``logs`` (n,): what the cross-Gaussians add to the density of every row, beyond that of an empty one.

    ``at_zero`` (D,) is log N(0; c0, v0), which keywords take away; entries that are no keywords bring their own density
    ``sizes`` - (m - ``means``)² ``halves`` instead.
    """
    for i in range(lengths.shape[0]):
        value = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            value -= at_zero[j]
            if p >= indptr[i] + lengths[i]:
                away = values[p] - means[j]
                value += sizes[j] - away * away * halves[j]
        logs[i] = value


@kernel
def soft_rows(indptr, indices, values, base, tables, cross, at_zero, scores):
    """Fill ``scores`` (n, K): ``base`` (K,) plus what the entries of the row change against zeros, keywords summed out.

    ``tables`` (D, 4, K): log p + log size, mean, half precision, log(1 - p); ``cross`` (D, 3): log size, mean, half precision
    of the cross-Gaussian; ``at_zero`` (D, K): what a zero adds.
    """
    n_topics = base.shape[0]
    for i in range(scores.shape[0]):
        for k in range(n_topics):
            scores[i, k] = base[k]
        for p in range(indptr[i], indptr[i + 1]):
            j, m = indices[p], values[p]
            away = m - cross[j, 1]
            other = cross[j, 0] - away * away * cross[j, 2]
            for k in range(n_topics):
                away = m - tables[j, 1, k]
                on, off = tables[j, 0, k] - away * away * tables[j, 2, k], tables[j, 3, k] + other
                top = max(on, off)
                scores[i, k] += top + math.log1p(math.exp(min(on, off) - top)) - at_zero[j, k]


@kernel
def soft_sums(indptr, indices, values, centers, tables, cross, shares, sums, others, seen):
    """Add what the entries bring with ``shares`` (n, K), weights included.

    ``sums`` (D, 3, K): keyword shares, times the distance from ``centers`` (D,), times its square; ``others`` (D, 3) the same
    of what are no keywords; ``seen`` (D, K) the shares of rows that have an entry there.
    """
    n_topics = shares.shape[1]
    for i in range(shares.shape[0]):
        for p in range(indptr[i], indptr[i + 1]):
            j, m = indices[p], values[p]
            off_center = m - centers[j]
            away = m - cross[j, 1]
            other = cross[j, 0] - away * away * cross[j, 2]
            for k in range(n_topics):
                away = m - tables[j, 1, k]
                on, off = tables[j, 0, k] - away * away * tables[j, 2, k], tables[j, 3, k] + other
                rho = 1.0 / (1.0 + math.exp(min(off - on, 700.0)))
                share = shares[i, k]
                seen[j, k] += share
                mine, rest = share * rho, share * (1.0 - rho)
                sums[j, 0, k] += mine
                sums[j, 1, k] += mine * off_center
                sums[j, 2, k] += mine * off_center * off_center
                others[j, 0] += rest
                others[j, 1] += rest * off_center
                others[j, 2] += rest * off_center * off_center


@kernel
def score_rows_single(lists, lengths, base, tables, scores):
    """:func:`score_rows` in float32: ``tables`` (D * 3 * W,) and ``scores`` (n, W), W a multiple of eight."""
    indptr, indices, values = lists
    width = np.uint64(base.shape[0])
    for i in range(lengths.shape[0]):
        row = scores[i]
        low, high = np.uint64(indptr[i]), np.uint64(indptr[i] + lengths[i])
        k = np.uint64(0)
        while k < width:
            s0, s1, s2, s3 = base[k], base[k + L1], base[k + L2], base[k + L3]
            s4, s5, s6, s7 = base[k + L4], base[k + L5], base[k + L6], base[k + L7]
            for p in range(low, high):
                at = np.uint64(indices[p]) * L3 * width + k
                mean, half, m = at + width, at + width + width, np.float32(values[p])
                d0 = m - tables[mean]
                d1 = m - tables[mean + L1]
                d2 = m - tables[mean + L2]
                d3 = m - tables[mean + L3]
                d4 = m - tables[mean + L4]
                d5 = m - tables[mean + L5]
                d6 = m - tables[mean + L6]
                d7 = m - tables[mean + L7]
                s0 += tables[at] - d0 * d0 * tables[half]
                s1 += tables[at + L1] - d1 * d1 * tables[half + L1]
                s2 += tables[at + L2] - d2 * d2 * tables[half + L2]
                s3 += tables[at + L3] - d3 * d3 * tables[half + L3]
                s4 += tables[at + L4] - d4 * d4 * tables[half + L4]
                s5 += tables[at + L5] - d5 * d5 * tables[half + L5]
                s6 += tables[at + L6] - d6 * d6 * tables[half + L6]
                s7 += tables[at + L7] - d7 * d7 * tables[half + L7]
            row[k], row[k + L1], row[k + L2], row[k + L3] = s0, s1, s2, s3
            row[k + L4], row[k + L5], row[k + L6], row[k + L7] = s4, s5, s6, s7
            k += L8


@kernel
def sum_rows_single(lists, lengths, centers, shares, sums):
    """:func:`sum_rows` in float32: ``shares`` (n, W) and ``sums`` (D * 3 * W,), W a multiple of eight."""
    indptr, indices, values = lists
    width = np.uint64(shares.shape[1])
    for i in range(lengths.shape[0]):
        row = shares[i]
        low, high = np.uint64(indptr[i]), np.uint64(indptr[i] + lengths[i])
        k = np.uint64(0)
        while k < width:
            if any_of_8(row, k):
                s0, s1, s2, s3 = row[k], row[k + L1], row[k + L2], row[k + L3]
                s4, s5, s6, s7 = row[k + L4], row[k + L5], row[k + L6], row[k + L7]
                for p in range(low, high):
                    j = indices[p]
                    away = np.float32(values[p]) - centers[j]
                    square = away * away
                    at = np.uint64(j) * L3 * width + k
                    first, second = at + width, at + width + width
                    sums[at] += s0
                    sums[at + L1] += s1
                    sums[at + L2] += s2
                    sums[at + L3] += s3
                    sums[at + L4] += s4
                    sums[at + L5] += s5
                    sums[at + L6] += s6
                    sums[at + L7] += s7
                    sums[first] += s0 * away
                    sums[first + L1] += s1 * away
                    sums[first + L2] += s2 * away
                    sums[first + L3] += s3 * away
                    sums[first + L4] += s4 * away
                    sums[first + L5] += s5 * away
                    sums[first + L6] += s6 * away
                    sums[first + L7] += s7 * away
                    sums[second] += s0 * square
                    sums[second + L1] += s1 * square
                    sums[second + L2] += s2 * square
                    sums[second + L3] += s3 * square
                    sums[second + L4] += s4 * square
                    sums[second + L5] += s5 * square
                    sums[second + L6] += s6 * square
                    sums[second + L7] += s7 * square
            k += L8


@kernel
def update_words(sums, mass, words, strengths, probs, means, variances):
    """The M-step of every word and topic: fills ``probs``, ``means`` and ``variances`` (K, D) from ``sums`` (D, 3, K).

    ``words`` are share, centre, spread and floor of every word (D,); ``strengths`` of the two penalties, and how far
    probabilities stay from 0 and 1.  Topics that have seen nothing keep to the word.
    """
    shares, centers, spreads, floors = words
    smoothing, value_smoothing, edge = strengths
    for first in range(
        0, sums.shape[0], WORDS
    ):  # topic by topic within a few words, so that both sides stay in the cache
        for k in range(mass.shape[0]):
            rows = mass[k] + smoothing
            per_row = 1.0 / rows if rows > 0.0 else 0.0
            for j in range(first, min(first + WORDS, sums.shape[0])):
                seen = sums[j, 0, k]
                prob = (seen + smoothing * shares[j]) * per_row if rows > 0.0 else shares[j]
                shift, spread = 0.0, spreads[j]
                if seen + value_smoothing > 0.0:
                    total = 1.0 / (seen + value_smoothing)
                    shift = sums[j, 1, k] * total
                    spread = (sums[j, 2, k] + value_smoothing * spreads[j]) * total - shift * shift
                probs[k, j] = min(max(prob, edge), 1.0 - edge)
                means[k, j] = centers[j] + shift
                variances[k, j] = max(spread, floors[j])


@kernel
def fill_tables(log_on, log_off, log_variances, means, halves, tables):
    """Fill ``tables`` (D, 3, W) from what is known of every topic and word (K, D), all of it in float32."""
    half, log_two_pi = np.float32(0.5), np.float32(1.8378770664093453)
    n_words = tables.shape[0]
    for first in range(0, n_words, WORDS):
        for k in range(means.shape[0]):
            for j in range(first, min(first + WORDS, n_words)):
                tables[j, 0, k] = log_on[k, j] - log_off[k, j] - half * (log_two_pi + log_variances[k, j])
                tables[j, 1, k] = means[k, j]
                tables[j, 2, k] = halves[k, j]
