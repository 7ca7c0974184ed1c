"""Trees of hidden states by enumeration: every state of every column."""

from __future__ import annotations

from itertools import product

import numpy as np


def joint(row, params):
    """p(known cells, states) of all states (S,), and the states (S, D)."""
    n_columns, m = params.probs.shape
    states = np.array(list(product(range(m), repeat=n_columns)))
    chances = np.ones(len(states))
    for d, up in enumerate(params.parents):
        above = np.zeros(len(states), int) if up == d else states[:, up]
        chances *= params.moves[d][above, states[:, d]]
        if not np.isnan(row[d]):
            on = params.probs[d][states[:, d]]
            chances *= on if row[d] else 1.0 - on
    return chances, states


def expectations(X, params):
    """Log-likelihoods (n,), states of columns (n, D, M), pairs of states (D, M, M); roots in the first line."""
    n_columns, m = params.probs.shape
    logs, beliefs, moves = np.empty(len(X)), np.zeros((len(X), n_columns, m)), np.zeros((n_columns, m, m))
    for i, row in enumerate(X):
        chances, states = joint(row, params)
        logs[i] = np.log(chances.sum())
        shares = chances / chances.sum()
        for d, up in enumerate(params.parents):
            np.add.at(beliefs[i, d], states[:, d], shares)
            above = np.zeros(len(states), int) if up == d else states[:, up]
            np.add.at(moves[d], (above, states[:, d]), shares)
    return logs, beliefs, moves
