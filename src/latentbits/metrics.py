"""Scores of partitions and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from .errors import InputError


def clustering_accuracy(truth: Any, found: Any) -> float:
    """Share of rows that agree under the best matching of clusters to classes (Kuhn-Munkres).

    Parameters
    ----------
    truth, found : (n,) array-like
        Labels of any kind.

    Returns
    -------
    float

    Examples
    --------
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    truth, found = np.asarray(truth), np.asarray(found)
    if truth.shape != found.shape or truth.ndim != 1 or not len(truth):
        raise InputError("clustering_accuracy: two label arrays of the same length are needed.")
    _, rows = np.unique(truth, return_inverse=True)
    _, columns = np.unique(found, return_inverse=True)
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    matched = linear_sum_assignment(-table)
    return float(table[matched].sum() / len(truth))


def cell_log_loss(values: Any, probabilities: Any, clip: float = 1e-6) -> float:
    """Mean negative log probability of cells in nats.

    Parameters
    ----------
    values : (m,) array-like of 0 and 1
    probabilities : (m,) array-like
        Predicted P(cell = 1).
    clip : float
        Predictions are kept this far from 0 and 1.

    Examples
    --------
    >>> round(cell_log_loss([1, 0], [0.5, 0.5]), 4)
    0.6931
    """
    values = np.asarray(values)
    on = np.clip(np.asarray(probabilities, float), clip, 1 - clip)
    return float(-np.log(np.where(values == 1, on, 1 - on)).mean())
