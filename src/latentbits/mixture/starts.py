"""Where EM starts: parameters drawn around the marginals, or profiles seeded at rows far from each other."""

from __future__ import annotations

import numpy as np

from ..data.block import Float
from ..data.rng import stream
from ..engine.protocols import Sweep
from ..maths.kmeanspp import kmeanspp_rows
from .model import EDGE, MixtureModel, MixtureParams, seeded_profile

# Spread of the logits around the marginals.
SPREAD = 1.0


def random_start(model: MixtureModel, sweep: Sweep | None, seed: int, restart: int) -> MixtureParams:
    """Logits normal around those of the marginals, equal weights.

    Parameters are drawn, not responsibilities: the start does not depend on the order or the multiplicity of rows.
    """
    logits = np.log(model.target) - np.log1p(-model.target)
    noise = stream(seed, "start", restart).standard_normal((model.n_components, len(logits)))
    probs = 1.0 / (1.0 + np.exp(-(logits + SPREAD * noise)))
    return MixtureParams(_equal(model), np.clip(probs, EDGE, 1 - EDGE))


def kmeanspp_start(model: MixtureModel, sweep: Sweep, seed: int, restart: int) -> MixtureParams:
    """Profiles seeded at rows far from each other."""
    seeds = kmeanspp_rows(sweep, model.n_components, seed, restart)
    probs = np.array([seeded_profile(row, model.target) for row in seeds])
    return MixtureParams(_equal(model), probs)


def _equal(model: MixtureModel) -> Float:
    """Equal weights."""
    return np.full(model.n_components, 1.0 / model.n_components)
