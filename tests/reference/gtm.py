"""The binary GTM straight from its equations, one row and one node at a time."""

from __future__ import annotations

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def bumps(points, centers, scale):
    """φ (n, M): Gaussian bumps and the constant."""
    out = np.ones((len(points), len(centers) + 1))
    for i, point in enumerate(points):
        for m, center in enumerate(centers):
            out[i, m] = np.exp(-sum(((x - c) / s) ** 2 for x, c, s in zip(point, center, scale)) / 2)
    return out


def log_joint(row, chances, prior):
    """log p(row, node) (K,), eq 2; unknown cells drop out."""
    out = np.log(prior)
    for k in range(len(prior)):
        for j, x in enumerate(row):
            if not np.isnan(x):
                out[k] += np.log(chances[k, j]) if x == 1 else np.log(1 - chances[k, j])
    return out


def e_step(table, row_weights, chances, prior):
    """A (K, D), G (K, D), N_k (K,) and the log-likelihood."""
    n_nodes, n_columns = chances.shape
    on, seen, mass, total = np.zeros((n_nodes, n_columns)), np.zeros((n_nodes, n_columns)), np.zeros(n_nodes), 0.0
    for row, weight in zip(table, row_weights):
        logs = log_joint(row, chances, prior)
        top = logs.max()
        value = top + np.log(np.exp(logs - top).sum())
        share = weight * np.exp(logs - value)
        total += weight * value
        mass += share
        for j, x in enumerate(row):
            if not np.isnan(x):
                seen[:, j] += share
                if x == 1:
                    on[:, j] += share
    return on, seen, mass, total


def ridge(weights, base, ridge, ridge_bias):
    """log p(W) of weights (M, D)."""
    lam = np.append(np.full(len(weights) - 1, ridge), ridge_bias)
    center = np.zeros_like(weights)
    center[-1] = base
    return -0.5 * (lam[:, None] * (weights - center) ** 2).sum()


def skewed(weights, beta):
    """log p(W) of the paper, without log β."""
    return -beta * sum(np.sqrt(w @ w) * w.sum() for w in weights.T)


def expected(features, weights, on, seen):
    """Σ_ki A η - G log(1 + exp η)."""
    odds = features @ weights
    return (on * odds - seen * np.log1p(np.exp(odds))).sum()


def printed_prior_term(w):
    """What the paper prints as the gradient of its log prior, β = 1: -|w|² - w_m Σ w."""
    return -(w @ w) - w * w.sum()
