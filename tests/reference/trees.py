"""Mixtures of trees by enumeration: every value of every unknown cell, every class."""

from __future__ import annotations

from itertools import product

import numpy as np


def log_tree(row, parents, on_given):
    """log T(x) of one whole row, column by column."""
    total = 0.0
    for d, up in enumerate(parents):
        on = on_given[d, 0] if up == d else on_given[d, int(row[up])]
        total += np.log(on if row[d] else 1.0 - on)
    return total


def completions(row):
    """All rows that agree with the known cells of a row."""
    unknown = np.flatnonzero(np.isnan(row))
    for values in product((0.0, 1.0), repeat=len(unknown)):
        whole = row.copy()
        whole[unknown] = values
        yield whole


def joint(row, params):
    """p(completion, class) for all completions (S, K), and the completions (S, D)."""
    rows = np.array(list(completions(row)))
    logs = [
        [
            np.log(weight) + log_tree(whole, parents, on_given)
            for weight, parents, on_given in zip(params.weights, params.parents, params.on_given)
        ]
        for whole in rows
    ]
    return np.exp(np.array(logs)), rows


def expectations(X, params):
    """Log-likelihoods (n,), memberships (n, K), P(1 | known) (n, D), pair sums (K, D, D), ones (K, D), mass (K,)."""
    n, d, k = *X.shape, len(params.weights)
    logs, shares, cells = np.empty(n), np.empty((n, k)), np.empty((n, d))
    pairs = np.zeros((k, d, d))
    for i, row in enumerate(X):
        table, rows = joint(row, params)
        total = table.sum()
        logs[i], shares[i] = np.log(total), table.sum(axis=0) / total
        cells[i] = (table.sum(axis=1) / total) @ rows
        pairs += np.einsum("sk,sd,se->kde", table / total, rows, rows)
    return logs, shares, cells, pairs, np.einsum("kdd->kd", pairs), shares.sum(axis=0)


def replicated(X, params):
    """Sum over classes of P(class | row) P(cell = 1 | other cells, class) (n, D)."""
    out = np.zeros(X.shape)
    for i, row in enumerate(X):
        table, _ = joint(row, params)
        shares = table.sum(axis=0) / table.sum()
        for j in range(len(row)):
            hidden = row.copy()
            hidden[j] = np.nan
            table, rows = joint(hidden, params)
            on = table[rows[:, j] == 1].sum(axis=0) / table.sum(axis=0)
            out[i, j] = shares @ on
    return out
