"""Where EM starts: classes with independent columns, or the tree of the pairs that are known."""

from __future__ import annotations

import numpy as np

from ..data.block import UNKNOWN, Float
from ..data.rng import stream
from ..engine.protocols import Sweep
from ..maths.kmeanspp import kmeanspp_rows
from .model import EDGE, TreeModel, TreeParams

# Spread of the logits around the marginals.
SPREAD = 1.0


def kmeanspp_start(model: TreeModel, sweep: Sweep, seed: int, restart: int) -> TreeParams:
    """Profiles half way between the marginals and rows far from each other."""
    rows = np.array(kmeanspp_rows(sweep, model.n_components, seed, restart))
    return independent(0.5 * np.where(rows == UNKNOWN, model.target, rows) + 0.5 * model.target)


def random_start(model: TreeModel, sweep: Sweep | None, seed: int, restart: int) -> TreeParams:
    """Logits normal around those of the marginals."""
    logits = np.log(model.target) - np.log1p(-model.target)
    noise = stream(seed, "start", restart).standard_normal((model.n_components, len(logits)))
    return independent(1.0 / (1.0 + np.exp(-(logits + SPREAD * noise))))


def independent(probs: Float) -> TreeParams:
    """Classes (K, D) of equal weights without any edge."""
    probs = np.clip(probs, EDGE, 1 - EDGE)
    parents = np.tile(np.arange(probs.shape[1], dtype=np.int32), (len(probs), 1))
    return TreeParams(np.full(len(probs), 1.0 / len(probs)), parents, np.repeat(probs[:, :, None], 2, axis=2))


def one_tree_start(known: Float, model: TreeModel, sweep: Sweep, seed: int, restart: int) -> TreeParams:
    """The tree of the pairs that are known: ``known`` is P(both one) of every pair."""
    space, on, total = model.space, model.total_weight * model.target, model.total_weight
    if len(on) == 1:
        return independent(model.target[None, :])
    both = total * known
    parents = space.tree(space.information(both, on, total))
    tables = model.tables(parents, space.at(both, parents), on, total)
    return TreeParams(np.ones(1), parents[None, :], tables[None, :])
