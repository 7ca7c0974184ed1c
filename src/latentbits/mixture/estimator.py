"""``BernoulliMixture``: latent classes by EM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, MembershipsMixin, records
from ..base.options import AcceleratedOptions, BitOptions, Check, Number, WordOr, option_fields
from ..base.sklearn_api import available_if
from ..data.numbers import real_numbers
from ..data.summary import Totals
from ..engine.restarts import Given, InitParams
from ..engine.stepwise_em import StreamState
from ..errors import InputError
from ..maths.latent_class import ClassStats
from ..maths.profiles import EDGE, STARVED
from .averaging import AveragedModel, AveragingMixin
from .ensemble import Members
from .model import MixtureModel, MixtureParams
from .starts import kmeanspp_start, random_start


@option_fields
class BernoulliMixture(MembershipsMixin, AveragingMixin, AcceleratedOptions, BitOptions, LatentBitsEstimator):  # type: ignore[override]
    """Mixture of Bernoulli products (latent class analysis) by EM.

    Every row has one hidden class; given the class its cells are independent.  Unknown cells drop out of the
    likelihood.  Sparse tables cost time in proportion to their ones.

    Parameters
    ----------
    n_components : int
        Number of classes K.
    init : {"random", "k-means++"} or (n_components, n_features) array
        Starting profiles: drawn around the column marginals, seeded at rows far from each other, or given.
    smoothing : float
        Strength c ≥ 0 of the Beta prior that draws every probability toward its column's marginal, in rows' worth of
        data.  0 is maximum likelihood (probabilities then stay within [1e-9, 1 - 1e-9]).
    weight_concentration : float
        Dirichlet(α, ..., α) prior on the class weights, α ≥ 1; 1 is none.
    average_restarts : bool
        Keep all starts and average their predictions (likelihood, filled cells, samples); memberships and explanations come
        from the best.  Often worth more than anything a sampler adds.
    average : {"mean", "joint"}
        How they are averaged: every start with the same say, or weighted by how well it explains the row.

    Attributes
    ----------
    weights_ : (n_components,) array
        Class weights, decreasing.
    components_ : (n_components, n_features) array
        P(cell = 1 | class).
    marginals_ : (n_features,) array
        Share of ones per column.
    objective_, n_iter_, converged_, history_, restarts_, n_reached_
        Value reached, passes and state of the best start; the path of every start; the table of starts; how many
        of them reached the best value.
    empty_components_, duplicate_components_, unobserved_features_
        What to doubt.

    References
    ----------
    L. van der Maaten, *Bayesian Mixtures of Bernoulli Distributions*, eq 1-5 and the EM baseline;
    A. Kabán, E. Bingham, T. Hirsimäki, *Learning to Read Between the Lines* (2004), the MB model;
    R. Varadhan, C. Roland, *Scandinavian Journal of Statistics* 35 (2008), SQUAREM.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> X = [[1, 1, 0, 0], [1, 1, 0, None], [0, 0, 1, 1], [0, None, 1, 1], [1, 1, 0, 0]]
    >>> model = BernoulliMixture(n_components=2, random_state=0).fit(X)
    >>> model.predict(X).tolist()
    [0, 0, 1, 1, 0]
    >>> model.impute(X, how="mode")[1].tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    record_types: ClassVar[dict[str, Any]] = records(
        AveragedModel, Members, MixtureModel, MixtureParams, ClassStats, StreamState, Totals
    )
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": MixtureParams,
        "_model": MixtureModel | AveragedModel,
        "weights_": Annotated[Any, of.weights("K")],
    }
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "weight_concentration": Number(1.0),
        "init": WordOr(("random", "k-means++"), "an array of probabilities"),
    }

    n_components: int = field(default=2, kw_only=False)
    init: Any = "random"
    smoothing: float = 1.0
    weight_concentration: float = 1.0
    average_restarts: bool = False
    average: str = "mean"

    def _build_model(self, sums: Totals) -> MixtureModel:
        return MixtureModel(
            n_components=int(self.n_components),
            target=sums.marginals,
            smoothing=float(self.smoothing),
            concentration=float(self.weight_concentration),
            total_weight=sums.weight,
            keep_all=bool(self.average_restarts),
        )

    def _initializer(self, model: MixtureModel) -> InitParams:
        if not isinstance(self.init, str):
            return Given(self._given_start(model))
        return partial(kmeanspp_start if self.init == "k-means++" else random_start, model)

    def _n_starts(self) -> int:
        return int(self.n_init) if isinstance(self.init, str) else 1

    def _given_start(self, model: MixtureModel) -> MixtureParams:
        """Starting profiles from the user."""
        try:
            probs = real_numbers(self.init)
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: init cannot be read as probabilities.") from None
        wanted = (model.n_components, len(model.target))
        if probs.shape != wanted or not ((probs >= 0) & (probs <= 1)).all():
            raise InputError(
                f"{self._name}: init must be an array of probabilities of shape {wanted}; got shape {probs.shape} "
                f"with values from {probs.min(initial=np.inf):g} to {probs.max(initial=-np.inf):g}."
            )
        weights = np.full(model.n_components, 1.0 / model.n_components)
        return MixtureParams(weights, np.clip(probs, EDGE, 1 - EDGE))

    def _set_fitted_attributes(self) -> None:
        self.weights_, self.components_ = self._params.weights, self._params.probs
        empty = [int(k) for k in np.flatnonzero(self.weights_ < STARVED / self.n_components)]
        self._warn_components(empty, _twins(self.components_, skip=set(empty)))

    @available_if(lambda self: self._has("bic"))
    def caic(self, X: Any) -> float:
        """Consistent AIC, smaller is better: -2 log L + p (log n + 1).

        Parameters
        ----------
        X : table

        Returns
        -------
        float

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> bool(model.caic(X) > model.bic(X))
        True
        """
        value, n = self._log_likelihood(X)
        return -2 * value + self.n_free_ * (np.log(n) + 1)

    @available_if(lambda self: self._has("bic"))
    def sabic(self, X: Any) -> float:
        """Sample-size adjusted BIC, smaller is better: -2 log L + p log((n + 2) / 24).

        Parameters
        ----------
        X : table

        Returns
        -------
        float

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> bool(model.sabic(X) < model.bic(X))
        True
        """
        value, n = self._log_likelihood(X)
        return -2 * value + self.n_free_ * np.log((n + 2) / 24)


def _twins(probs: Any, skip: set[int]) -> list[tuple[int, int]]:
    """Pairs of classes whose profiles agree to three digits everywhere."""
    rounded: dict[bytes, int] = {}
    out = []
    for k, row in enumerate(np.round(probs, 3)):
        if k in skip:
            continue
        first = rounded.setdefault(row.tobytes(), k)
        if first != k:
            out.append((first, k))
    return out
