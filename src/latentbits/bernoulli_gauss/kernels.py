# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops of the latent Bernoulli-Gauss model.  Only the keywords of a row, its first entries, are walked.

Tables are (D, 3, K): for every word and topic what a keyword adds at its mean, the mean, and half the precision; sums are
(D, 3, K) likewise: shares, shares times and shares times the square of the distance from the word's centre.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel


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
