"""Class profiles with which fits begin, or begin anew: drawn around the marginals, or seeded at rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import UNKNOWN, Block, Float
from ..data.rng import stream
from ..engine.protocols import Sweep
from ..engine.stats import Lowest
from .kmeanspp import kmeanspp_rows

# Probabilities are kept this far from 0 and 1, so that one unseen value does not rule a class out for good.
EDGE = 1e-9
# A class with less than this part of an equal share of the rows is starved.
STARVED = 0.01
# Spread of the logits around the marginals.
SPREAD = 1.0


def random_profiles(target: Float, n_components: int, seed: int, restart: int) -> Float:
    """Logits (K, D) normal around those of the marginals, as probabilities.

    Parameters are drawn, not responsibilities: the start does not depend on the order or the multiplicity of rows.
    """
    logits = np.log(target) - np.log1p(-target)
    noise = stream(seed, "start", restart).standard_normal((n_components, len(logits)))
    return np.clip(1.0 / (1.0 + np.exp(-(logits + SPREAD * noise))), EDGE, 1 - EDGE)


def kmeanspp_profiles(target: Float, n_components: int, sweep: Sweep, seed: int, restart: int) -> Float:
    """Profiles (K, D) seeded at rows far from each other."""
    return np.array([seeded_profile(row, target) for row in kmeanspp_rows(sweep, n_components, seed, restart)])


def seeded_profile(row: Any, target: Float) -> Float:
    """A class profile half way between a row and the marginals; unknown cells stay at the marginals."""
    values = np.where(row == UNKNOWN, target, row)
    return np.clip(0.5 * values + 0.5 * target, EDGE, 1 - EDGE)


class WorstRow:
    """Finds the row of a block that a model explains worst."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, rows: None, precomputed: Any) -> Lowest:
        scores = np.where(block.row_weights() > 0, self.model.log_prob(block, precomputed), np.inf)
        i = int(np.argmin(scores))
        return Lowest(float(scores[i]), block.start + i, block.take(np.array([i])).codes()[0])
