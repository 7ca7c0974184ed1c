"""The latent Bernoulli-Gauss model straight from its equations, on dense rows."""

from __future__ import annotations

import numpy as np


def keywords(table, q, all_ties=False):
    """0/1 matrix: the q largest entries of every row, lower columns first among equals; zeros never."""
    out = np.zeros(table.shape)
    for i, row in enumerate(table):
        order = sorted((j for j in range(len(row)) if row[j] > 0), key=lambda j: (-row[j], j))
        n = min(max(q, 1), len(order))
        taken = order[:n]
        if all_ties and taken:
            taken = [j for j in order if row[j] >= row[taken[-1]]]
        out[i, taken] = 1.0
    return out


def log_normal(m, c, v):
    """log N(m; c, v)."""
    return -0.5 * (np.log(2 * np.pi * v) + (m - c) ** 2 / v)


def words(table, marks, weights, floor):
    """Prior centres and cross-Gaussians of every word."""
    total = weights.sum()
    mean = (weights @ table) / total
    variance = weights @ (table - mean) ** 2 / total
    varying = variance > 0
    floors = np.maximum(floor * np.where(varying, variance, variance[varying].mean()), 1e-12)
    w = weights[:, None] * marks
    count = w.sum(axis=0)
    overall = (w * table).sum() / count.sum()
    spread = (w * (table - overall) ** 2).sum() / count.sum()
    centers = ((w * table).sum(axis=0) + overall) / (count + 1)
    own = (w * table).sum(axis=0) / np.maximum(count, 1e-300)
    spreads = np.maximum(((w * (table - own) ** 2).sum(axis=0) + spread) / (count + 1), floors)
    rest = weights[:, None] * (1 - marks)
    others = rest.sum(axis=0)
    cross = np.where(others > 0, (rest * table).sum(axis=0) / np.maximum(others, 1e-300), mean)
    cross_v = np.where(others > 0, (rest * (table - cross) ** 2).sum(axis=0) / np.maximum(others, 1e-300), 0.0)
    return (count + 0.5) / (total + 1), centers, spreads, floors, cross, np.maximum(cross_v, floors)


def log_rows(table, marks, lam, p, c, v, cross, cross_v):
    """log p(topic, row) (n, K) of eq 1, cross-Gaussians included."""
    out = np.empty((len(table), len(lam)))
    for s in range(len(lam)):
        on = np.log(p[s]) + log_normal(table, c[s], v[s])
        off = np.log(1 - p[s]) + log_normal(table, cross, cross_v)
        out[:, s] = np.log(lam[s]) + np.where(marks == 1, on, off).sum(axis=1)
    return out


def m_step(table, marks, weights, shares, prior, alpha, kappa, beta):
    """Penalised closed forms, and the penalty at them."""
    pbar, cbar, vbar, floors = prior[:4]
    mu = shares * weights[:, None]
    mass = mu.sum(axis=0)
    lam = (mass + beta) / (mass.sum() + beta * len(mass))
    seen, first = mu.T @ marks, mu.T @ (marks * table)
    p = (seen + alpha * pbar) / (mass + alpha)[:, None]
    c = (first + kappa * cbar) / (seen + kappa)
    v = np.empty_like(c)
    for s in range(len(mass)):
        around = (mu[:, s, None] * marks * (table - c[s]) ** 2).sum(axis=0)
        v[s] = (around + kappa * ((c[s] - cbar) ** 2 + vbar)) / (seen[s] + kappa)
    return lam, p, c, np.maximum(v, floors)


def penalty(lam, p, c, v, prior, alpha, kappa, beta):
    """What is added to the log-likelihood."""
    pbar, cbar, vbar = prior[:3]
    value = beta * np.log(lam).sum() + alpha * (pbar * np.log(p) + (1 - pbar) * np.log(1 - p)).sum()
    return value - 0.5 * kappa * (np.log(v) + (vbar + (c - cbar) ** 2) / v).sum()
