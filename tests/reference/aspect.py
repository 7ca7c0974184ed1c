"""Aspect Bernoulli straight from the paper's equations, with the whole posterior in memory."""

from __future__ import annotations

import numpy as np


def posterior(X, shares, probs):
    """Eq 2.2: (n, D, K) probability of every cause for every cell; NaN cells get zeros."""
    cells = np.where((X == 1)[:, :, None], probs.T[None], 1 - probs.T[None])
    joint = shares[:, None, :] * cells
    q = joint / joint.sum(axis=2, keepdims=True)
    q[np.isnan(X)] = 0.0
    return q


def log_likelihood(X, shares, probs, weights=None):
    """Eq 2.1, unknown cells left out."""
    on = shares @ probs
    cells = np.where(X == 1, np.log(on), np.log(1 - on))
    cells[np.isnan(X)] = 0.0
    return float((cells.sum(axis=1) * (1 if weights is None else weights)).sum())


def em_step(X, shares, probs, weights=None, prior_on=0.0, prior_off=0.0, concentration=1.0):
    """Eq 2.3 and 2.4 with priors; both from the old values."""
    weights = np.ones(len(X)) if weights is None else weights
    q = posterior(X, shares, probs)
    new_shares = q.sum(axis=1) + concentration - 1
    blank = new_shares.sum(axis=1) == 0
    new_shares[blank] = 1.0
    new_shares /= new_shares.sum(axis=1, keepdims=True)
    weighted = q * weights[:, None, None]
    on = (weighted * (X == 1)[:, :, None]).sum(axis=0).T + prior_on
    off = (weighted * (X == 0)[:, :, None]).sum(axis=0).T + prior_off
    return new_shares, on / (on + off)


def fold_in(x, probs, n_steps=200_000):
    """Best memberships of one row by very many EM steps."""
    known = ~np.isnan(x)
    cells = np.where((x[known] == 1), probs[:, known], 1 - probs[:, known])
    shares = np.full(len(probs), 1.0 / len(probs))
    for _ in range(n_steps):
        gains = cells @ (1 / (shares @ cells))
        if gains.max() - known.sum() < 1e-9:
            break
        shares = shares * gains / known.sum()
    return shares, float(np.log(shares @ cells).sum())
