"""Where EM starts: profiles drawn around the marginals, or seeded at rows far from each other; equal weights."""

from __future__ import annotations

import numpy as np

from ..data.block import Float
from ..engine.protocols import Sweep
from ..maths.profiles import kmeanspp_profiles, random_profiles
from .model import MixtureModel, MixtureParams


def random_start(model: MixtureModel, sweep: Sweep | None, seed: int, restart: int) -> MixtureParams:
    """Logits normal around those of the marginals."""
    return _equal(random_profiles(model.target, model.n_components, seed, restart))


def kmeanspp_start(model: MixtureModel, sweep: Sweep, seed: int, restart: int) -> MixtureParams:
    """Profiles seeded at rows far from each other."""
    return _equal(kmeanspp_profiles(model.target, model.n_components, sweep, seed, restart))


def _equal(probs: Float) -> MixtureParams:
    """Classes of equal weights."""
    return MixtureParams(np.full(len(probs), 1.0 / len(probs)), probs)
