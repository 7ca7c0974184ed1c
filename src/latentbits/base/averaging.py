"""All restarts of a fit answering together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ..data.block import Float
from ..data.summary import Totals
from ..engine.restarts import Result
from .fitting import FittingMixin
from .options import Check, Flag, OneOf


class AveragingMixin(FittingMixin):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`: the option ``average_restarts``.

    Families supply ``_averaged``.  A model of all starts has them in ``held``, the best one in ``best``, and the rule by
    which they are averaged in ``average``.
    """

    average_restarts: bool
    average: str

    option_checks: ClassVar[Mapping[str, Check]] = {
        "average": OneOf(("mean", "joint")),
        "average_restarts": Flag(),
    }

    def _averaged(self, model: Any, kept: list[Float]) -> Any:
        """The model of all starts, from what ``restart_summary`` kept of each."""
        raise NotImplementedError

    def _has(self, method: str) -> bool:
        """BIC and AIC are about one set of parameters."""
        return super()._has(method) and not (self.average_restarts and method in ("bic", "aic"))

    @property
    def criterion(self) -> str:
        """By which the number of components is chosen if nothing else is asked for.

        Examples
        --------
        >>> from latentbits import BernoulliMixture
        >>> BernoulliMixture().criterion
        'bic'
        """
        return "cells" if self.average_restarts else "bic"

    @property
    def _single_model(self) -> Any:
        """The model of the best start alone."""
        return getattr(self._model, "best", self._model)

    def set_params(self, **params: Any) -> Any:
        """Set options; the rule of averaging also of a fitted estimator.

        Parameters
        ----------
        **params : options by name

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from latentbits import BernoulliMixture
        >>> BernoulliMixture(2).set_params(n_components=3).n_components
        3
        """
        super().set_params(**params)
        if hasattr(getattr(self, "_model", None), "held"):
            self._check_some("average")
            self._model = replace(self._model, average=self.average)
        return self

    def _store_result(self, model: Any, sweep: Any, result: Result, sums: Totals) -> None:
        super()._store_result(model, sweep, result, sums)
        if self.average_restarts:
            kept = [vector for vector in result.summaries if vector is not None]
            self._model = self._averaged(model, kept)
