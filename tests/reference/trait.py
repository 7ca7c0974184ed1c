"""Tipping's latent trait model straight from its equations, one row at a time, and exact sums on a fine grid."""

from __future__ import annotations

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def curve(xi):
    """λ(ξ) = (1/2 - σ(ξ)) / (2 ξ)."""
    return -0.125 if xi == 0 else (0.5 - sigmoid(xi)) / (2 * xi)


def round_of(row, loadings, offset, mean, covariance):
    """New ξ at the old posterior, then the new posterior and the bound of the row; loadings are (K, D)."""
    k = len(loadings)
    precision, right, value = np.eye(k), np.zeros(k), 0.0
    spread = np.full(len(row), np.nan)
    for j, t in enumerate(row):
        if np.isnan(t):
            continue
        v, b = loadings[:, j], offset[j]
        xi = np.sqrt(v @ (covariance + np.outer(mean, mean)) @ v + 2 * b * (v @ mean) + b**2)
        lam = curve(xi)
        spread[j] = xi
        precision -= 2 * lam * np.outer(v, v)
        right += (t - 0.5 + 2 * lam * b) * v
        value += np.log(sigmoid(xi)) - xi / 2 - lam * xi**2 + (t - 0.5) * b + lam * b**2
    new = np.linalg.inv(precision)
    middle = new @ right
    value += 0.5 * np.linalg.slogdet(new)[1] + 0.5 * middle @ precision @ middle
    return middle, new, value, spread


def m_step(table, weights, means, covariances, spreads, ridge):
    """(loadings, offset) by weighted least squares."""
    k, n_columns = means.shape[1], table.shape[1]
    loadings, offset = np.zeros((k, n_columns)), np.zeros(n_columns)
    for j in range(n_columns):
        matrix, right = ridge * np.eye(k + 1), np.zeros(k + 1)
        for i, row in enumerate(table):
            if np.isnan(row[j]):
                continue
            long = np.append(means[i], 1.0)
            moment = np.outer(long, long)
            moment[:k, :k] += covariances[i]
            matrix -= 2 * weights[i] * curve(spreads[i, j]) * moment
            right += weights[i] * (row[j] - 0.5) * long
        solved = np.linalg.solve(matrix, right)
        loadings[:, j], offset[j] = solved[:k], solved[k]
    return loadings, offset


def on_a_grid(row, loadings, offset, n=401, reach=8.0):
    """log p(row) and P(cell = 1 | known cells) of a one-trait model by a fine sum."""
    x = np.linspace(-reach, reach, n)
    chances = sigmoid(np.outer(x, loadings[0]) + offset)
    logs = -0.5 * x**2 - 0.5 * np.log(2 * np.pi) + np.log(x[1] - x[0])
    for j, t in enumerate(row):
        if not np.isnan(t):
            logs = logs + np.log(chances[:, j] if t == 1 else 1 - chances[:, j])
    top = logs.max()
    shares = np.exp(logs - top)
    return top + np.log(shares.sum()), shares @ chances / shares.sum()
