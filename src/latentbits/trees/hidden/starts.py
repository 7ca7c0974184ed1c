"""Where EM starts: a mixture of classes, spread over the tree and then led by stepwise EM.

A mixture is a hidden tree whose columns are all in the same state.  States that mostly stay as they are from column to
column begin with what a mixture knows, and find from there what is local; states drawn at random stay far below.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...data.block import Block
from ...data.rng import stream
from ...engine.protocols import Sweep
from ...engine.stepwise_em import Pace, no_pass, stepwise_em_step
from ...maths.row_sample import sample_rows
from ..model import TreeModel
from ..params import TreeParams
from ..starts import kmeanspp_start, random_start
from .model import HiddenTreeModel, lines_of
from .params import HiddenParams

# Distinct rows that starts are made from, at most; passes of the mixture; the chance that a state stays as it is.
MOST_ROWS, CLASS_PASSES, STAYS = 2**15, 20, 0.9
# Stepwise EM: passes, steps per pass, rows of a step at least; a step's share decays by its number to the least.
EPOCHS, STEPS, STEP_ROWS, DECAY, LEAST_SHARE = 10, 40, 16, 0.6, 0.1
HEAVY = 4  # a row with more than this part of the weight of a step is in all of them
# Pull toward independence of pairs with a rare value, when the tree is chosen: as of ``ChowLiuTree``.
PULL = 3.0


def led_start(
    model: HiddenTreeModel, space: Any, pooled: Any, init: str, sweep: Sweep, seed: int, restart: int
) -> HiddenParams:
    """The tree of the whole table's pairs (``pooled``, of ``space``), with states that a sample of rows has shaped."""
    block = sample_rows(sweep, MOST_ROWS).block(len(model.target))
    total = model.total_weight
    alone = len(model.target) == 1
    parents = np.zeros(1, np.int32) if alone else space.tree_of(total * pooled, total * model.target, total, PULL)
    classes = class_start(model, init, sweep, block, seed, restart)
    return stepwise(model, spread(parents, classes), block, seed, restart)


def class_start(model: HiddenTreeModel, init: str, sweep: Sweep, block: Block, seed: int, restart: int) -> TreeParams:
    """A mixture with as many classes as states, after some passes over the block."""
    mixture = TreeModel(model.n_components, model.target, 1.0, total_weight=model.total_weight, grows=False)
    start = kmeanspp_start if init == "k-means++" else random_start
    params = start(mixture, sweep, seed, restart)
    for _ in range(CLASS_PASSES):
        params = mixture.m_step(params, mixture.e_step(block, None, mixture.precompute(params))[0], no_pass)
    return params


def spread(parents: Any, classes: TreeParams) -> HiddenParams:
    """The hidden tree in which states are classes that mostly stay as they are."""
    n_columns, m = classes.parents.shape[1], len(classes.weights)
    moves = np.tile(classes.weights, (n_columns, m, 1))
    below = parents != np.arange(n_columns)
    moves[below] = (1.0 - STAYS) * moves[below] + STAYS * np.eye(m)
    return HiddenParams(
        np.asarray(parents, np.int32), lines_of(moves), np.ascontiguousarray(classes.on_given[:, :, 0].T)
    )


def stepwise(model: HiddenTreeModel, params: HiddenParams, block: Block, seed: int, restart: int) -> HiddenParams:
    """Stepwise EM over the rows of a block: running averages of the sums of some rows at a time."""
    weights = block.row_weights()
    total, n_steps = float(weights.sum()), max(1, min(STEPS, block.n_rows // STEP_ROWS))
    # Rows that weigh as much as a good part of a step are in all steps, with a part of their weight.
    heavy = np.flatnonzero(weights > total / (HEAVY * n_steps)) if n_steps > 1 else np.empty(0, np.int64)
    others = np.setdiff1d(np.arange(block.n_rows), heavy)
    shared = weights.copy()
    shared[heavy] /= n_steps
    block = replace(block, weights=shared)
    pace, state = Pace(DECAY, LEAST_SHARE if n_steps > 1 else 1.0), None
    for epoch in range(EPOCHS):
        order = others[stream(seed, "start", restart, epoch + 1).permutation(len(others))]
        for rows in np.array_split(order, n_steps):
            some = block.take(np.sort(np.concatenate((rows, heavy))))
            params, state = stepwise_em_step(model, params, state, some, pace, total)
    return params
