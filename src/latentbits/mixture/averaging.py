"""All restarts of a fit answering together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from ..base import averaging as base
from ..data.block import Float
from ..maths.latent_class import ClassStats
from .ensemble import EnsembleModel, Members
from .model import MixtureModel


def unpack_members(kept: list[Float], n_components: int) -> Members:
    """The mixtures of all starts."""
    weights = np.concatenate([vector[:n_components] for vector in kept])
    probs = np.concatenate([vector[n_components:].reshape(n_components, -1) for vector in kept])
    return Members(weights, probs, np.repeat(np.arange(len(kept)), n_components))


@dataclass(frozen=True)
class AveragedModel(EnsembleModel):
    """The best start (``best``) with all starts (``held``) beside it; parameters are those of the best."""

    best: Annotated[Any, MixtureModel] = None
    held: Members = field(default_factory=lambda: Members(np.empty(0), np.empty((0, 0)), np.empty(0, np.int64)))

    @property
    def single(self) -> MixtureModel:
        """The maths of the best start."""
        found: MixtureModel = self.best
        return found

    def members(self, params: Any) -> Members:
        """All components."""
        return self.held

    def point(self, params: Any) -> Any:
        """The best start's parameters."""
        return params

    def expected_stats(self, params: Any) -> ClassStats:
        """Sums that the best start stands for."""
        return self.single.expected_stats(params)


class AveragingMixin(base.AveragingMixin):
    """The option ``average_restarts`` of mixtures."""

    def _averaged(self, model: Any, kept: list[Float]) -> AveragedModel:
        members = unpack_members(kept, model.n_components)
        return AveragedModel(model.n_components, self.average, model.answer_model(), members)
