"""Logistic PCA straight from the equations."""

from __future__ import annotations

import numpy as np


def objective(X, scores, loadings, offset, ridge, weights=None):
    """Penalised log-likelihood, unknown cells left out."""
    weights = np.ones(len(X)) if weights is None else weights
    odds = scores @ loadings + offset
    cells = np.where(np.isnan(X), 0.0, np.nan_to_num(X) * odds - np.logaddexp(0, odds))
    size = weights @ (scores**2).sum(axis=1) + (loadings**2).sum()
    return float(weights @ cells.sum(axis=1) - 0.5 * ridge * size)


def bound_weight(odds):
    """tanh(θ/2) / (2 θ)."""
    return np.where(np.abs(odds) < 1e-6, 0.25, np.tanh(odds / 2) / np.where(odds == 0, 1, 2 * odds))


def bound_round(X, scores, loadings, offset, ridge):
    """Scores by weighted least squares, then loadings and offset together, the bound refreshed before each."""
    known = ~np.isnan(X)
    half = np.where(known, np.nan_to_num(X) - 0.5, 0.0)
    w = bound_weight(scores @ loadings + offset) * known
    k = len(loadings)
    new_scores = np.array(
        [
            np.linalg.solve((loadings * w[i]) @ loadings.T + ridge * np.eye(k), loadings @ (half[i] - w[i] * offset))
            for i in range(len(X))
        ]
    )
    w = bound_weight(new_scores @ loadings + offset) * known
    long = np.column_stack((new_scores, np.ones(len(X))))
    penalty = np.diag([*[ridge] * k, 0.0])
    solved = np.array(
        [np.linalg.solve((long.T * w[:, j]) @ long + penalty, long.T @ half[:, j]) for j in range(X.shape[1])]
    ).T
    return new_scores, solved[:k], solved[k]


def column_curvature(X, scores, loadings, offset, weights):
    """Sums over the known cells of every column of σ (1 - σ) (u, 1)(u, 1)'."""
    on = 1 / (1 + np.exp(-(scores @ loadings + offset)))
    c = np.where(np.isnan(X), 0.0, on * (1 - on)) * weights[:, None]
    long = np.column_stack((scores, np.ones(len(X))))
    return np.array([(long.T * c[:, j]) @ long for j in range(X.shape[1])])
