"""Where a map begins."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..data.block import Block, Float
from ..data.rng import stream
from ..errors import TableWarning
from ..maths.block_pca import PrincipalAxes, block_pca, centred_scores
from ..maths.latent_class import ClassStats, floored_weights
from ..maths.row_sample import sample_rows
from .grid import spacings
from .model import GtmModel, GtmParams

# Log odds of a start stay this near to those of the marginals.
REACH = 6.0
# Distinct rows from which ranks are told.
RANKED_ROWS = 5000
RANK_STEPS = 20


def uniform_prior(model: GtmModel) -> Float:
    """All nodes alike."""
    return np.full(model.n_components, 1.0 / model.n_components)


def random_start(model: GtmModel, sweep: Any, seed: int, restart: int) -> GtmParams:
    """Normal weights on all functions but the constant, which stays at the marginals."""
    weights = model.empty_weights()
    noise = stream(seed, "start", restart).standard_normal(weights.shape)
    if not model.is_identity:
        noise[:, -1] = 0.0
    return GtmParams(weights + noise, uniform_prior(model))


def axes_of(model: GtmModel, sweep: Any) -> PrincipalAxes | None:
    """Principal axes for the map; None if the rows do not vary in as many directions as the map has."""
    axes = block_pca(sweep, model.points.shape[1])
    return axes if (axes.deviations > 0).all() else None


def pca_start(model: GtmModel, axes: PrincipalAxes) -> GtmParams:
    """The plane of the principal axes through the linearised link, a standard deviation of rows to one of nodes."""
    spread = model.points / np.where(np.array(model.latent_shape) > 1, model.points.std(axis=0), 1.0)  # (K, L)
    chances = 1.0 / (1.0 + np.exp(-model.base))
    tilt = axes.deviations[:, None] * axes.axes / (chances * (1.0 - chances))  # (L, D)
    odds = model.base[:, None] + np.clip(tilt.T @ spread.T, -REACH, REACH)  # (D, K)
    if model.is_identity:
        return GtmParams(odds, uniform_prior(model))
    features = model.features
    gram = features.T @ features + 1e-3 * np.eye(features.shape[1])
    weights: Float = np.ascontiguousarray(np.linalg.solve(gram, features.T @ odds.T).T, dtype=np.float64)
    return GtmParams(weights, uniform_prior(model))


def rank_start(model: GtmModel, sweep: Any, axes: PrincipalAxes) -> GtmParams:
    """Rows spread evenly over the map by their ranks along the principal axes, then one M-step."""
    rows = sample_rows(sweep, RANKED_ROWS)
    block = rows.block(len(model.base))
    scores = centred_scores(block, axes.means, axes.axes.T)
    tables = []
    for along in scores.T:
        order = np.argsort(along, kind="stable")
        reached = np.cumsum(rows.weights[order])
        tables.append((along[order], (2.0 * reached - rows.weights[order]) / reached[-1] - 1.0))
    nothing: list[Any] = [None] * sweep.n_blocks
    stats = sweep.map(_Spread(model, axes, tables), nothing, keep_rows=False)[0]
    weights = model.better_weights(model.empty_weights(), stats, RANK_STEPS)
    prior = floored_weights(stats.mass) if model.learned_prior else uniform_prior(model)
    return GtmParams(weights, prior)


class _Spread:
    """Sums of a block whose rows belong to the nodes near their ranks."""

    def __init__(self, model: GtmModel, axes: PrincipalAxes, tables: list[Any]) -> None:
        self.points, self.spacings = model.points, spacings(tuple(model.latent_shape))
        self.axes, self.tables = axes, tables

    def __call__(self, block: Block, rows: Any) -> tuple[ClassStats, None]:
        scores = centred_scores(block, self.axes.means, self.axes.axes.T)
        places = np.stack([np.interp(along, *table) for along, table in zip(scores.T, self.tables)], axis=1)
        away = (places[:, None, :] - self.points) / self.spacings
        shares = np.exp(-0.5 * (away**2).sum(axis=2))
        shares *= (block.row_weights() / shares.sum(axis=1))[:, None]
        unseen = None if block.unknown is None else block.unknown.t_dot(shares)
        return ClassStats(shares.sum(axis=0), block.ones.t_dot(shares), unseen, 0.0), None


class AxesStart:
    """Starts along the principal axes: their plane ("pca"), or rows spread over the map by ranks ("pca-rank")."""

    def __init__(self, kind: str, owner: str) -> None:
        self.kind, self.owner = kind, owner

    def __call__(self, model: GtmModel, sweep: Any, seed: int, restart: int) -> GtmParams:
        axes = axes_of(model, sweep)
        if axes is None:
            warnings.warn(
                f"{self.owner}: the rows vary in fewer directions than the map has; the start is random instead of "
                f"{self.kind!r}.",
                TableWarning,
                stacklevel=8,  # leads to the user's call of fit
            )
            return random_start(model, sweep, seed, restart)
        return pca_start(model, axes) if self.kind == "pca" else rank_start(model, sweep, axes)
