"""Several models that predict together: convex weights, found on cells that none of them saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .hidden_cells import CLIP, log_losses
from .scores import Questions

N_PARTS = 5  # of the rows; weights are judged on rows that they were not found on
PASSES = 300
LEAST = 0.01  # weights below it are left out


@dataclass(frozen=True)
class Stack:
    """Weights of models, and how well they predict together.

    Attributes
    ----------
    weights : dict
        By name, the largest first; they sum to one.
    log_loss : float
        Of the hidden cells, each predicted with weights that were found on other rows.

    Parameters
    ----------
    weights : dict
        Of every member, by its name in the table; they sum to one.
    log_loss : float
        Of hidden cells, each predicted by weights that other rows chose.

    Examples
    --------
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
    >>> found.stack().log_loss < 0.5
    True
    """

    weights: dict[str, float]
    log_loss: float


def stacked(answers: Mapping[str, Any], asked: Questions) -> Stack:
    """The weights with which models predict hidden cells best together.

    Parameters
    ----------
    answers : dict of (m,) arrays
        P(cell = 1) by every model.
    asked : Questions
        The cells.

    Examples
    --------
    >>> asked = Questions(np.arange(6), np.zeros(6, int), np.array([0, 1, 0, 1, 1, 0]))
    >>> good, bad = np.where(asked.values == 1, 0.9, 0.1), np.full(6, 0.5)
    >>> found = stacked({"good": good, "bad": bad}, asked)
    >>> found.weights, round(found.log_loss, 4)
    ({'good': 1.0}, 0.1054)
    """
    names = list(answers)
    right = np.stack([_of_value(asked.values, answers[name]) for name in names], axis=1)
    part = np.unique(asked.rows, return_inverse=True)[1] * 7919 % N_PARTS
    on = np.empty(len(right))
    for p in range(N_PARTS):
        here = part == p
        found = convex_weights(right[~here] if (~here).any() else right)
        on[here] = right[here] @ found
    weights = convex_weights(right)
    kept = np.where(weights < LEAST, 0.0, weights)
    kept /= kept.sum()
    order = np.argsort(-kept, kind="stable")
    told = {names[i]: float(kept[i]) for i in order if kept[i] > 0}
    return Stack(told, float(log_losses(np.ones(len(on), np.uint8), on).mean()))


def _of_value(values: Any, probabilities: Any) -> Any:
    """The probability that a model gave to the value of every cell."""
    on = np.clip(probabilities, CLIP, 1 - CLIP)
    return np.where(values == 1, on, 1 - on)


def convex_weights(right: Any) -> Any:
    """Weights (F,) under which what models gave to the values of cells (m, F) is most probable, by EM.

    Examples
    --------
    >>> convex_weights(np.array([[0.9, 0.5], [0.8, 0.5]])).round(3).tolist()
    [1.0, 0.0]
    """
    weights = np.full(right.shape[1], 1.0 / right.shape[1])
    for _ in range(PASSES):
        shares = right * weights
        shares /= shares.sum(axis=1, keepdims=True)
        new = shares.mean(axis=0)
        if np.abs(new - weights).max() < 1e-7:
            break
        weights = new
    return weights / weights.sum()
