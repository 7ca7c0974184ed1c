"""Cells that were hidden from a fit: what the fitted model says about them, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.sklearn_api import effective_n_jobs
from ..data.block import Codes, Float
from ..data.holdout import HiddenRows, HiddenSource
from ..engine.ask import Asked
from ..engine.sweep import sweep_of

# Predictions are kept this far from 0 and 1 before a log-loss is taken: a model that is sure and wrong loses nine nats, so
# that no few cells decide between models.
CLIP = 1e-4


def log_losses(values: Codes, probabilities: Float) -> Float:
    """Log-loss of every cell."""
    on = np.clip(probabilities, CLIP, 1 - CLIP)
    losses: Float = -np.log(np.where(values == 1, on, 1 - on))
    return losses


def predict_hidden(fitted: Any, hidden: HiddenSource | HiddenRows, n_jobs: int | None = None) -> Float:
    """P(cell = 1) of every hidden cell, under an estimator, a baseline or an adapted model that was fitted."""
    asked = Asked(fitted._model, fitted._params, sweep_of(hidden, effective_n_jobs(n_jobs)))
    cells = [(part.rows, part.columns) for part in map(hidden.hidden, range(hidden.n_blocks))]
    on: Float = asked.by_block_cells(asked.model.predict_cells_at, cells)
    return on


def hidden_losses(fitted: Any, hidden: HiddenSource | HiddenRows, n_jobs: int | None = None) -> Float:
    """Log-loss of every hidden cell under a fitted model."""
    values = np.concatenate([hidden.hidden(b).values for b in range(hidden.n_blocks)])
    return log_losses(values, predict_hidden(fitted, hidden, n_jobs))
