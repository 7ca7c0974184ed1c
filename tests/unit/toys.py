"""Two toy models for the drivers.

``Coin``: a mixture of two coins thrown D times per row, parameters only.  ``Effort``: a model with row state, a model of
its own stop measure, and an M-step that asks for another pass.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from latentbits import declared as of
from latentbits.engine.protocols import Model, StagedModel


class CoinParams(NamedTuple):
    heads: np.ndarray  # (2,)


class CoinStats(NamedTuple):
    on: np.ndarray
    seen: np.ndarray
    log_likelihood: float


class Coin(Model):
    """Equal weights, one probability per class for all columns."""

    def e_step(self, block, rows, params):
        ones = block.ones.row_counts()[:, None]
        zeros = block.n_columns - ones
        log = ones * np.log(params.heads) + zeros * np.log1p(-params.heads) + np.log(0.5)
        top = log.max(axis=1, keepdims=True)
        shares = np.exp(log - top)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        stats = CoinStats(
            (shares * ones).sum(axis=0),
            (shares * block.n_columns).sum(axis=0),
            float((top + np.log(total)).sum()),
        )
        return stats, None

    def objective(self, params, stats):
        return stats.log_likelihood

    def m_step(self, params, stats, again):
        return CoinParams(np.clip(stats.on / stats.seen, 1e-6, 1 - 1e-6))

    def to_vector(self, params):
        return np.log(params.heads) - np.log1p(-params.heads)

    def from_vector(self, vector, like):
        return CoinParams(np.clip(1 / (1 + np.exp(-vector)), 1e-6, 1 - 1e-6))


class EffortParams(NamedTuple):
    level: np.ndarray  # (D,)


class EffortStats(NamedTuple):
    numerator: np.ndarray
    denominator: np.ndarray
    loss: float


class Effort(Model):
    """Least squares x[i, j] = row[i] * level[j], by alternating updates: every row has its own unknown."""

    has_row_state = True
    row_kind = Annotated[np.ndarray, of.reals("n")]

    def init_rows(self, block, params, seed, restart):
        return np.ones(block.n_rows)

    def e_step(self, block, rows, params):
        x = block.ones.dense().astype(float)
        loss = float(((x - np.outer(rows, params.level)) ** 2).sum())
        new = (x @ params.level) / (params.level @ params.level + 1e-9)
        return EffortStats(new @ x, np.array([new @ new]), loss), new

    def objective(self, params, stats):
        return -stats.loss

    def m_step(self, params, stats, again):
        return EffortParams(stats.numerator / stats.denominator)

    def to_vector(self, params):
        return params.level

    def from_vector(self, vector, like):
        return EffortParams(vector)

    def rows_to_vector(self, rows):
        return rows

    def rows_from_vector(self, vector, like):
        return vector


class Asking(Coin):
    """Needs a second pass in its M-step, and stops by a measure of its own."""

    monotone = False

    def m_step(self, params, stats, again):
        count = again(lambda block, rows, factor: factor * block.n_rows, 2)
        assert count == 2 * self.n_rows
        return super().m_step(params, stats, again)

    def stop_measure(self, old, new):
        return float(np.abs(old.heads - new.heads).max())

    n_rows = 40


class Falling(Coin):
    """Lies about its objective."""

    def objective(self, params, stats):
        self.falls = getattr(self, "falls", 0) + 1
        return -float(self.falls)


class Staged(Coin, StagedModel):
    """Three stages: two passes with both coins held at the start, one pass that begins with other coins, then to the end."""

    limits = (2, 1, None)

    def __init__(self, stage=0):
        self.stage = stage

    @property
    def passes(self):
        return self.limits[self.stage]

    def is_last_stage(self, params):
        return self.stage == 2

    def next_stage(self):
        return Staged(self.stage + 1)

    def answer_model(self):
        return Staged(2)

    def begin_stage(self, point, sweep):
        return point._replace(params=CoinParams(np.array([0.1, 0.2]))) if self.stage == 1 else point

    def m_step(self, params, stats, again):
        return params if self.stage == 0 else super().m_step(params, stats, again)
