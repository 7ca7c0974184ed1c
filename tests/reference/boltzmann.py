"""Restricted Boltzmann machines, slowly: steps, means, centred directions and conditionals straight from their formulas."""

from __future__ import annotations

import numpy as np


def rate(step, n_steps, longest, share):
    """Step sizes: the longest, and from (1 - share) of the steps on a straight line to 0 at the end."""
    bend = (1 - share) * n_steps
    return longest if step <= bend else longest * (n_steps - step) / (n_steps - bend)


def centred_direction(cells, given, fantasy, free, mu, lam, pull):
    """Melchior, Fischer & Wiskott (2016): ⟨(v - μ)(h - λ)⟩ of the rows, less that of the fantasy, and biases to match."""
    n, d, h = len(cells), cells.shape[1], given.shape[1]
    weights = np.zeros((d, h))
    for i in range(n):
        for j in range(d):
            for k in range(h):
                weights[j, k] += (cells[i, j] - mu[j]) * (given[i, k] - lam[k]) / n
                weights[j, k] -= (fantasy[i, j] - mu[j]) * (free[i, k] - lam[k]) / n
    weights -= pull
    visible = [np.mean(cells[:, j] - fantasy[:, j]) - sum(weights[j, k] * lam[k] for k in range(h)) for j in range(d)]
    hidden = [np.mean(given[:, k] - free[:, k]) - sum(weights[j, k] * mu[j] for j in range(d)) for k in range(h)]
    return weights, np.array(visible), np.array(hidden)


def given_others(weights, visible, hidden, row, j):
    """P(cell j = 1 | all other cells of the row), hidden units summed over."""
    on, off = row.copy(), row.copy()
    on[j], off[j] = 1.0, 0.0
    log_on = on @ visible + np.logaddexp(0.0, on @ weights + hidden).sum()
    log_off = off @ visible + np.logaddexp(0.0, off @ weights + hidden).sum()
    return 1.0 / (1.0 + np.exp(log_off - log_on))
