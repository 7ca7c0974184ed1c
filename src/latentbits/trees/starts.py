"""Where EM starts: classes with independent columns, or the tree of the pairs that are known."""

from __future__ import annotations

import numpy as np

from ..data.block import Float
from ..engine.protocols import Sweep
from ..maths.profiles import kmeanspp_profiles, random_profiles
from .model import TreeModel
from .params import TreeParams


def kmeanspp_start(model: TreeModel, sweep: Sweep, seed: int, restart: int) -> TreeParams:
    """Profiles seeded at rows far from each other."""
    return independent(kmeanspp_profiles(model.target, model.n_components, sweep, seed, restart))


def random_start(model: TreeModel, sweep: Sweep | None, seed: int, restart: int) -> TreeParams:
    """Logits normal around those of the marginals."""
    return independent(random_profiles(model.target, model.n_components, seed, restart))


def independent(probs: Float) -> TreeParams:
    """Classes (K, D) of equal weights without any edge."""
    parents = np.tile(np.arange(probs.shape[1], dtype=np.int32), (len(probs), 1))
    return TreeParams(np.full(len(probs), 1.0 / len(probs)), parents, np.repeat(probs[:, :, None], 2, axis=2))


def one_tree_start(known: Float, model: TreeModel, sweep: Sweep, seed: int, restart: int) -> TreeParams:
    """The tree of the pairs that are known: ``known`` is P(both one) of every pair."""
    space, on, total = model.space, model.total_weight * model.target, model.total_weight
    if len(on) == 1:
        return independent(model.target[None, :])
    both = total * known
    parents = space.tree_of(both, on, total)
    tables = model.tables(parents, space.at(both, parents), on, total)
    return TreeParams(np.ones(1), parents[None, :], tables[None, :])
