"""Bayesian mixtures straight from the equations: slow, for tables of a few rows."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

G = np.array([[1, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1]], float)
G_BLANK = G.copy()
G_BLANK[0, 1] = G_BLANK[4, 2] = np.nan


def log_prior_dp(sizes, alpha):
    n = sum(sizes)
    return len(sizes) * np.log(alpha) + gammaln(alpha) - gammaln(alpha + n) + sum(gammaln(size) for size in sizes)


def log_prior_finite(sizes, alpha, k):
    n, t = sum(sizes), len(sizes)
    if t > k:
        return -np.inf
    value = gammaln(k + 1) - gammaln(k - t + 1) + gammaln(alpha) - gammaln(alpha + n)
    return value + sum(gammaln(size + alpha / k) - gammaln(alpha / k) for size in sizes)


def log_prior_pitman_yor(sizes, alpha, discount):
    n, t = sum(sizes), len(sizes)
    value = sum(np.log(alpha + discount * i) for i in range(t)) - (gammaln(alpha + n) - gammaln(alpha))
    return value + sum(gammaln(size - discount) - gammaln(1 - discount) for size in sizes)


def log_prior_mfm(sizes, g, rate, most=2000):
    n, t = sum(sizes), len(sizes)
    k = np.arange(t, most)
    log_p = (k - 1) * np.log(rate) - rate - gammaln(k)
    falling = gammaln(k + 1) - gammaln(k - t + 1)
    log_v = logsumexp(falling + gammaln(g * k) - gammaln(g * k + n) + log_p)
    return log_v + sum(gammaln(size + g) - gammaln(g) for size in sizes)


def log_cells(X, labels, beta, gamma):
    """log p(X | partition), β and γ scalars or per column."""
    value = 0.0
    beta, gamma = np.broadcast_to(beta, X.shape[1]), np.broadcast_to(gamma, X.shape[1])
    for k in set(labels):
        rows = X[np.asarray(labels) == k]
        ones, zeros = np.nansum(rows == 1, axis=0), np.nansum(rows == 0, axis=0)
        value += (betaln(beta + ones, gamma + zeros) - betaln(beta, gamma)).sum()
    return value


def partitions(n):
    if n == 0:
        yield ()
        return
    for rest in partitions(n - 1):
        for k in range(max(rest, default=-1) + 2):
            yield (*rest, k)


def posterior(X, log_prior, beta, gamma):
    """Log evidence, and the probability of every partition."""
    logs = {p: log_prior(np.bincount(p)) + log_cells(X, p, beta, gamma) for p in partitions(len(X))}
    evidence = logsumexp(list(logs.values()))
    return evidence, {p: np.exp(value - evidence) for p, value in logs.items()}


def conditional(X, labels, i, log_joint):
    """p(label of row i | the others): every block of the others, then a new one; from ratios of joints."""
    others = sorted(set(labels[:i]) | set(labels[i + 1 :]))
    candidates = [*others, max(others, default=-1) + 1]
    logs = np.array([log_joint((*labels[:i], k, *labels[i + 1 :])) for k in candidates])
    return candidates, np.exp(logs - logsumexp(logs))


def total_variation(counts, truth):
    n = sum(counts.values())
    return 0.5 * sum(abs(counts.get(p, 0) / n - w) for p, w in truth.items())
