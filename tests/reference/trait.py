"""The latent trait model straight from its equations (Tipping's bound, the best Gaussian's), and exact sums."""

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


def cell_means(middle, variance, n=15):
    """Means of log 2 cosh(a/2), σ(a) - 1/2 and σ(a) (1 - σ(a)) over a ~ N(middle, variance), by ``n`` nodes."""
    z, weights = np.polynomial.hermite_e.hermegauss(n)
    weights = weights / weights.sum()
    a = middle + np.sqrt(variance) * z
    share = sigmoid(a)
    return weights @ (np.logaddexp(0, a) - a / 2), weights @ (share - 0.5), weights @ (share * (1 - share))


def gaussian_bound(row, loadings, offset, mean, covariance):
    """E log p(row | x) - KL(N(mean, covariance) | N(0, I))."""
    k = len(loadings)
    value = 0.5 * (np.linalg.slogdet(covariance)[1] + k - np.trace(covariance) - mean @ mean)
    for j, t in enumerate(row):
        if not np.isnan(t):
            v = loadings[:, j]
            middle = v @ mean + offset[j]
            value += (t - 0.5) * middle - cell_means(middle, v @ covariance @ v)[0]
    return value


def gaussian_round(row, loadings, offset, mean, covariance):
    """Where slopes and curvatures at a posterior put it."""
    precision, gradient = np.eye(len(loadings)), -mean
    for j, t in enumerate(row):
        if not np.isnan(t):
            v = loadings[:, j]
            _, slope, bend = cell_means(v @ mean + offset[j], v @ covariance @ v)
            precision += bend * np.outer(v, v)
            gradient = gradient + (t - 0.5 - slope) * v
    return mean + np.linalg.solve(precision, gradient), np.linalg.inv(precision)


def gaussian_m_step(table, weights, loadings, offset, means, covariances, ridge):
    """(loadings, offset) after a Newton step of every column, and one with the uniform curvature 1/4."""
    k, n_columns = loadings.shape
    both = np.vstack((loadings, offset))
    newton, careful = both.copy(), both.copy()
    every = ridge * np.eye(k + 1)
    for i in range(len(table)):
        every += 0.25 * weights[i] * _moment(means[i], covariances[i])
    for j in range(n_columns):
        matrix, gradient = ridge * np.eye(k + 1), -ridge * both[:, j]
        for i, row in enumerate(table):
            if np.isnan(row[j]):
                continue
            v, long = loadings[:, j], np.append(means[i], 1.0)
            _, slope, bend = cell_means(v @ means[i] + offset[j], v @ covariances[i] @ v)
            matrix += weights[i] * bend * _moment(means[i], covariances[i])
            gradient = gradient + weights[i] * (row[j] - 0.5 - slope) * long
            gradient[:k] -= weights[i] * bend * covariances[i] @ v
        newton[:, j] += np.linalg.solve(matrix, gradient)
        careful[:, j] += np.linalg.solve(every, gradient)
    return newton, careful


def _moment(mean, covariance):
    """Second moments of scores and 1."""
    long = np.append(mean, 1.0)
    moment = np.outer(long, long)
    moment[: len(mean), : len(mean)] += covariance
    return moment


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
