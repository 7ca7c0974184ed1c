"""The Bernoulli mixture straight from its equations, one row and one class at a time."""

from __future__ import annotations

import numpy as np

from latentbits.mixture.model import MixtureParams


def log_joint(row, params, k):
    """log π_k + Σ over known cells of log Bern(x | a_k)."""
    out = np.log(params.weights[k])
    for j, x in enumerate(row):
        if not np.isnan(x):
            out += np.log(params.probs[k, j] if x == 1 else 1 - params.probs[k, j])
    return out


def posterior(row, params):
    """p(z | known cells)."""
    log = np.array([log_joint(row, params, k) for k in range(len(params.weights))])
    share = np.exp(log - log.max())
    return share / share.sum()


def em_step(table, weights, params, target, smoothing, alpha):
    """New parameters, and the penalised log-likelihood of the old ones."""
    n_components, n_columns = params.probs.shape
    mass = np.zeros(n_components)
    on = np.zeros((n_components, n_columns))
    seen = np.zeros((n_components, n_columns))
    objective = 0.0
    for row, weight in zip(table, weights):
        share = posterior(row, params)
        log = [log_joint(row, params, k) for k in range(n_components)]
        objective += weight * np.logaddexp.reduce(log)
        for k in range(n_components):
            mass[k] += weight * share[k]
            for j, x in enumerate(row):
                if not np.isnan(x):
                    seen[k, j] += weight * share[k]
                    on[k, j] += weight * share[k] * x
    objective += (alpha - 1) * np.log(params.weights).sum()
    objective += smoothing * (target * np.log(params.probs) + (1 - target) * np.log(1 - params.probs)).sum()
    new_weights = (mass + alpha - 1) / (mass + alpha - 1).sum()
    return MixtureParams(new_weights, (on + smoothing * target) / (seen + smoothing)), objective


def explain_cell(row, j, params):
    """Share, evidence and leave-one-out probability of one cell."""
    without = row.copy()
    without[j] = np.nan
    before, after = posterior(without, params), posterior(row, params)
    evidence = np.log(after / (1 - after)) - np.log(before / (1 - before))
    return after, evidence, float(before @ params.probs[:, j])
