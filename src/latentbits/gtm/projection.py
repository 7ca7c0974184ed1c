"""Places of rows between the nodes: the most probable point of the map for every row.

Posterior means pile up on nodes when a row has many cells.  From its best node every row climbs log p(row | x) by Fisher
scoring in the box [-1, 1]^L; steps are halved until nothing is lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block, Float
from ..maths.latent_class import ClassPrecomputed
from .model import GtmModel, logistic

TILE_CELLS = 1 << 20
MOST_STEPS = 500
HALVINGS = 20
# A gain below this many nats, or a step below this part of the map, ends a row's climb.
SMALL_GAIN, SMALL_STEP = 1e-10, 1e-7


class _Look(NamedTuple):
    """What is seen from places of the map."""

    value: Float  # (n,) log p(row | place)
    slope: Float  # (n, L)
    metric: Float  # (n, L, L)


def refined(model: GtmModel, block: Block, precomputed: ClassPrecomputed) -> Float:
    """The best places (n, L) of the rows of a block."""
    weights = precomputed.params.weights
    pull = block.ones.dot(weights)  # (n, M): what the ones of a row add up to
    places = model.modes(block, precomputed)
    step = max(1, TILE_CELLS // block.n_columns)
    for low in range(0, block.n_rows, step):
        rows = np.arange(low, min(low + step, block.n_rows))
        hidden = None if block.unknown is None else block.unknown.take(rows).dense().view(np.bool_)
        places[rows] = _climbed(model, weights, pull[rows], hidden, places[rows])
    return places


def _climbed(model: GtmModel, weights: Float, pull: Float, hidden: Any, places: Float) -> Float:
    """Rows of a tile at their best places."""
    places = places.copy()
    moving = np.arange(len(places))
    look = _look(model, weights, pull, hidden, places)
    for _ in range(MOST_STEPS):
        step = _within(places[moving], look)
        own_pull, own_hidden = pull[moving], None if hidden is None else hidden[moving]
        length = np.ones(len(moving))
        new = np.clip(places[moving] + step, -1.0, 1.0)
        seen = _look(model, weights, own_pull, own_hidden, new)
        for _ in range(HALVINGS):
            worse = np.flatnonzero(seen.value < look.value)
            if not len(worse):
                break
            length[worse] *= 0.5
            new[worse] = np.clip(places[moving[worse]] + length[worse, None] * step[worse], -1.0, 1.0)
            again = _look(
                model, weights, own_pull[worse], None if own_hidden is None else own_hidden[worse], new[worse]
            )
            for field, part in zip(seen, again):
                field[worse] = part
        better = seen.value >= look.value
        moved = np.where(better, np.abs(new - places[moving]).max(axis=1), 0.0)
        places[moving[better]] = new[better]
        going = better & (moved > SMALL_STEP) & (seen.value - look.value > SMALL_GAIN)
        if not going.any():
            break
        moving, look = moving[going], _Look(*[field[going] for field in seen])
    return places


def _look(model: GtmModel, weights: Float, pull: Float, hidden: Any, places: Float) -> _Look:
    """Likelihood of the rows, its slope and the Fisher metric at the places (n, L)."""
    features, slopes = model.basis.features(places), model.basis.slopes(places)
    chances, log_off = logistic(features @ weights.T)
    variances = chances * (1.0 - chances)
    if hidden is not None:
        for field in (chances, log_off, variances):
            field[hidden] = 0.0
    tangents = slopes @ weights.T  # (n, L, D)
    return _Look(
        (features * pull).sum(axis=1) + log_off.sum(axis=1),
        np.einsum("nlm,nm->nl", slopes, pull - chances @ weights),
        (tangents * variances[:, None, :]) @ tangents.transpose(0, 2, 1),
    )


def _within(places: Float, look: _Look) -> Float:
    """Fisher-scoring steps (n, L); coordinates that push against the edge of the map stay."""
    stuck = ((places <= -1.0) & (look.slope < 0)) | ((places >= 1.0) & (look.slope > 0))
    slope = np.where(stuck, 0.0, look.slope)
    metric = look.metric.copy()
    metric[stuck[:, :, None] | stuck[:, None, :]] = 0.0
    size = np.trace(look.metric, axis1=1, axis2=2)
    axis = np.arange(places.shape[1])
    metric[:, axis, axis] += np.where(stuck, 1.0, 0.0) + (1e-9 * size + 1e-12)[:, None]
    step: Float = np.linalg.solve(metric, slope[:, :, None])[:, :, 0].astype(np.float64, copy=False)
    return step
