"""All restarts of a fit answering together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ..base.fitting import FittingMixin
from ..base.options import Check, Flag, OneOf
from ..data.block import Float
from ..data.summary import Totals
from ..engine.restarts import Result
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


class AveragingMixin(FittingMixin):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`: the option ``average_restarts``."""

    average_restarts: bool
    average: str

    option_checks: ClassVar[Mapping[str, Check]] = {
        "average": OneOf(("mean", "joint")),
        "average_restarts": Flag(),
    }

    def _has(self, method: str) -> bool:
        """BIC and AIC are about one set of parameters."""
        return super()._has(method) and not (self.average_restarts and method in ("bic", "aic"))

    @property
    def criterion(self) -> str:
        """By which the number of components is chosen if nothing else is asked for."""
        return "cells" if self.average_restarts else "bic"

    def set_params(self, **params: Any) -> Any:
        """Set options; the rule of averaging also of a fitted estimator."""
        super().set_params(**params)
        if isinstance(getattr(self, "_model", None), AveragedModel):
            self._check_some("average")
            self._model = replace(self._model, average=self.average)
        return self

    def _store_result(self, model: Any, sweep: Any, result: Result, sums: Totals) -> None:
        super()._store_result(model, sweep, result, sums)
        if self.average_restarts:
            kept = [vector for vector in result.summaries if vector is not None]
            members = unpack_members(kept, model.n_components)
            self._model = AveragedModel(model.n_components, self.average, model.answer_model(), members)
