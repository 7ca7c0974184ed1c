"""``VariationalBernoulliMixture``: a Bayesian mixture by variational inference, on the EM driver.

q(π) q(a) Π_n q(z_n): with N_k, c_kd and n_kd the sums of responsibilities over rows, ones and known cells,

    E log a_kd = ψ(β + c) - ψ(β + γ + n),   E log(1 - a_kd) = ψ(γ + n - c) - ψ(β + γ + n),
    finite:  E log π_k = ψ(α/K + N_k) - ψ(α + N),
    sticks:  v_k ~ Beta(1 + N_k, α + N_k+1 + ...), E log π_k = E log v_k + Σ_j<k E log(1 - v_j), v_K = 1,

and r_nk ∝ exp(E log π_k + Σ over known cells of x E log a + (1 - x) E log(1 - a)).  A pass is the E-step of the EM mixture
with expected logarithms in place of logarithms; the objective is the evidence lower bound at the q(π), q(a) of the pass,
Σ_n log Σ_k exp(...) - KL(q(π) | prior) - KL(q(a) | prior), which never falls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from .. import declared as of
from ..base import LatentBitsEstimator, MembershipsMixin, records
from ..base.options import BitOptions, Check, OneOf, OptimiserOptions, Positive, option_fields
from ..data.block import Float
from ..data.summary import Totals
from ..engine.protocols import ExtraPass, Sweep
from ..engine.restarts import InitParams
from ..engine.stepwise_em import StreamState
from ..families import family_of
from ..maths.latent_class import ClassStats, class_precomputed
from ..maths.profiles import EDGE
from .averaging import AveragedModel, AveragingMixin
from .ensemble import Members
from .model import MixtureModel, MixtureParams, pack_member
from .starts import kmeanspp_start, random_start


class VariationalParams(NamedTuple):
    """Sums of responsibilities behind q: N_k, c_kd and n_kd - c_kd."""

    mass: Annotated[Float, of.amounts("K")]
    on: Annotated[Float, of.amounts("K", "D")]
    off: Annotated[Float, of.amounts("K", "D")]


@dataclass(frozen=True)
class VariationalModel(MixtureModel):
    """The maths; ``weights`` is "dirichlet" or "sticks".  ``alpha``, ``beta`` and ``gamma`` as in the samplers."""

    params_type: ClassVar[Any] = VariationalParams

    alpha: of.Positive = 1.0
    beta: of.Positive = 0.5
    gamma: of.Positive = 0.5
    weights: Annotated[str, of.words("dirichlet", "sticks")] = "dirichlet"

    reorder: bool = True  # sticks by decreasing mass; not in streams, whose averages keep their places
    answering: bool = False  # rows are answered by posterior means, fitted by expected logarithms

    def precompute(self, params: Any) -> Any:
        """Expected logarithms, once per pass."""
        means = self.means(params)
        if self.answering:
            return super().precompute(means)
        total = psi(self.beta + self.gamma + params.on + params.off)
        log_on = (psi(self.beta + params.on) - total).T
        log_off = np.ascontiguousarray((psi(self.gamma + params.off) - total).T)
        slope = np.ascontiguousarray(log_on - log_off)
        return class_precomputed(self.expected_log_weights(params.mass), slope, log_off, means.probs, params)

    def answer_model(self) -> VariationalModel:
        """The model that answers."""
        return replace(self, answering=True)

    def _sticks(self, mass: Float) -> tuple[Float, Float]:
        """Beta parameters of all sticks but the last."""
        beyond = np.cumsum(mass[::-1])[::-1]
        return 1.0 + mass[:-1], self.alpha + beyond[1:]

    def expected_log_weights(self, mass: Float) -> Float:
        """E log π_k (K,)."""
        if self.weights == "dirichlet":
            return np.asarray(psi(self.alpha / self.n_components + mass) - psi(self.alpha + mass.sum()))
        first, second = self._sticks(mass)
        total = psi(first + second)
        left = np.concatenate(([0.0], np.cumsum(psi(second) - total)))
        return np.append(psi(first) - total, 0.0) + left

    def expected_weights(self, mass: Float) -> Float:
        """E π_k (K,)."""
        if self.weights == "dirichlet":
            weights = self.alpha / self.n_components + mass
            return weights / weights.sum()
        first, second = self._sticks(mass)
        left = np.concatenate(([1.0], np.cumprod(second / (first + second))))
        return np.append(first / (first + second), 1.0) * left

    def means(self, params: VariationalParams) -> MixtureParams:
        """Posterior means of weights and probabilities, by which rows are answered."""
        probs = (self.beta + params.on) / (self.beta + self.gamma + params.on + params.off)
        weights = np.maximum(self.expected_weights(params.mass), 1e-300)
        return MixtureParams(weights / weights.sum(), np.clip(probs, EDGE**2, 1 - EDGE))

    def objective(self, precomputed: Any, stats: ClassStats) -> float:
        """The evidence lower bound at the q(π), q(a) of this pass."""
        return float(stats.log_likelihood - self.divergence(precomputed.params))

    def divergence(self, params: VariationalParams) -> float:
        """KL(q(π) q(a) | prior)."""
        if self.weights == "dirichlet":
            prior = np.full(self.n_components, self.alpha / self.n_components)
            value = _dirichlet_divergence(prior + params.mass, prior)
        else:
            value = float(_beta_divergence(*self._sticks(params.mass), 1.0, self.alpha).sum())
        on, off = self.beta + params.on, self.gamma + params.off
        return value + float(_beta_divergence(on, off, self.beta, self.gamma).sum())

    def m_step(self, params: Any, stats: ClassStats, extra_pass: ExtraPass | None) -> Any:
        """New sums; sticks are put into the order that the bound is highest in."""
        seen = stats.mass[:, None] - (0.0 if stats.unseen is None else stats.unseen.T)
        on = np.ascontiguousarray(stats.on.T)
        new = VariationalParams(stats.mass, on, np.maximum(seen - on, 0.0))
        return _ordered(new, self._best_order(new.mass)) if self.weights == "sticks" and self.reorder else new

    def _best_order(self, mass: Float) -> Any:
        """Sticks by decreasing mass, but for the last one, which has no stick of its own: the best of all is taken there.

        Two neighbours that both have sticks are better off with the larger one first (Kurihara, Welling & Teh 2007).
         The last component gets what is left; for α > 1 it pays to put a large one there.
        """
        order = np.argsort(-mass, kind="stable")
        if self.n_components == 1:
            return order
        candidates = [np.append(np.delete(order, j), order[j]) for j in range(len(order))]
        return max(candidates, key=lambda candidate: self._stick_bound(mass[candidate]))

    def _stick_bound(self, mass: Float) -> float:
        """What the bound has from the sticks, at their best: Σ log B(1 + N_k, α + N_>k)."""
        first, second = self._sticks(mass)
        return float((gammaln(first) + gammaln(second) - gammaln(first + second)).sum())

    def reseed_empty(self, params: Any, stats: ClassStats, extra_pass: ExtraPass) -> Any:
        """Nothing: an empty component is what a Bayesian mixture with too many of them is meant to end with."""
        return None

    def expected_stats(self, params: Any) -> ClassStats:
        """The sums per unit of weight."""
        weight = max(float(params.mass.sum()), 1e-300)
        unseen = params.mass[:, None] - params.on - params.off
        return ClassStats(params.mass / weight, params.on.T / weight, np.maximum(unseen, 0.0).T / weight, 0.0)

    def sort_components(self, params: Any) -> Any:
        """Components by decreasing mass; sticks have an order of their own."""
        return params if self.weights == "sticks" else _ordered(params, np.argsort(-params.mass, kind="stable"))

    def restart_summary(self, params: Any) -> Float | None:
        """Posterior means of every start, if they are to be averaged."""
        return pack_member(self.means(params)) if self.keep_all else None

    def to_vector(self, params: Any) -> Any:
        """Not accelerated."""
        return None

    def sample_rows(self, params: Any, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their classes (n,)."""
        return super().sample_rows(self.means(params), n, rng)

    def n_free(self, params: Any) -> int:
        """Free parameters: K - 1 weights and K × D probabilities."""
        return self.n_components - 1 + params.on.size


def _ordered(params: VariationalParams, order: Any) -> VariationalParams:
    """Components in the given order."""
    return VariationalParams(params.mass[order], params.on[order], params.off[order])


def _beta_divergence(a: Any, b: Any, prior_a: float, prior_b: float) -> Any:
    """KL(Beta(a, b) | Beta(prior_a, prior_b))."""
    total = psi(a + b)
    value = (
        gammaln(a + b) - gammaln(a) - gammaln(b) + (a - prior_a) * (psi(a) - total) + (b - prior_b) * (psi(b) - total)
    )
    return value - (gammaln(prior_a + prior_b) - gammaln(prior_a) - gammaln(prior_b))


def _dirichlet_divergence(parameters: Float, prior: Float) -> float:
    """KL(Dirichlet(parameters) | Dirichlet(prior))."""
    expected = psi(parameters) - psi(parameters.sum())
    value = gammaln(parameters.sum()) - gammaln(parameters).sum() - gammaln(prior.sum()) + gammaln(prior).sum()
    return float(value + ((parameters - prior) * expected).sum())


def _start(profiles: Any, model: VariationalModel, sweep: Sweep, seed: int, restart: int) -> VariationalParams:
    """Sums that starting profiles of the EM mixture stand for."""
    start = profiles(model, sweep, seed, restart)
    mass = start.weights * model.total_weight
    on = mass[:, None] * start.probs
    return VariationalParams(mass, on, mass[:, None] - on)


@option_fields
class VariationalBernoulliMixture(MembershipsMixin, AveragingMixin, OptimiserOptions, BitOptions, LatentBitsEstimator):  # type: ignore[override]
    """Bayesian mixture of Bernoulli products by variational inference: a fast bound instead of chains.

    It fits like EM (blocks, Dask, streams), uses only as many components as it needs, and gives a lower bound on log
    p(table). It underestimates uncertainty: for that use :class:`BayesianBernoulliMixture`.

    Parameters
    ----------
    n_components : int
        K, the largest number of classes (the truncation of the sticks).
    weight_prior : {"dirichlet", "sticks"}
        Class weights: Dirichlet(α/K, ..., α/K), or the first K sticks of a Dirichlet process.
    weight_concentration : float
        Concentration of the class weights.
    beta, gamma : float
        Prior of a cell: Beta(beta, gamma); beta weighs ones, gamma zeros.
    init : {"random", "k-means++"}
        Starting profiles: drawn around the column marginals, or seeded at rows far from each other.
    average_restarts : bool
        Keep all starts and average their predictions (likelihood, filled cells, samples); memberships and explanations come
        from the best.
    average : {"mean", "joint"}
        How they are averaged: every start with the same say, or weighted by how well it explains the row.

    Attributes
    ----------
    weights_, components_
        Posterior means of class weights (decreasing; sticks have an order of their own) and of P(cell = 1 | class).
    objective_ : float
        Lower bound on log p(table).
    expected_rows_ : (n_components,) array
        Rows in every class.
    marginals_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`BernoulliMixture`.

    References
    ----------
    D. M. Blei, M. I. Jordan, *Variational inference for Dirichlet process mixtures*, Bayesian Analysis 1 (2006);
    K. Kurihara, M. Welling, Y. W. Teh, *Collapsed variational Dirichlet process mixture models* (2007), the order of sticks.

    Examples
    --------
    >>> from latentbits import VariationalBernoulliMixture
    >>> X = [[1, 1, 0, 0, 0], [1, 1, 0, 0, None], [0, 0, 1, 1, 1], [0, None, 1, 1, 1]] * 5
    >>> model = VariationalBernoulliMixture(2, random_state=0).fit(X)
    >>> model.predict(X)[:4].tolist()
    [0, 0, 1, 1]
    """

    record_types: ClassVar[dict[str, Any]] = records(
        AveragedModel, Members, VariationalModel, VariationalParams, ClassStats, StreamState, Totals
    )
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": VariationalParams,
        "_model": VariationalModel | AveragedModel,
        "weights_": Annotated[Any, of.weights("K")],
        "expected_rows_": Annotated[Any, of.amounts("K")],
    }
    option_checks: ClassVar[Mapping[str, Check]] = {
        "weight_prior": OneOf(("dirichlet", "sticks")),
        "weight_concentration": Positive(),
        "beta": Positive(),
        "gamma": Positive(),
        "init": OneOf(("random", "k-means++")),
    }

    n_components: int = field(default=10, kw_only=False)
    weight_prior: str = "dirichlet"
    weight_concentration: float = 1.0
    beta: float = 0.5
    gamma: float = 0.5
    init: str = "random"
    average_restarts: bool = False
    average: str = "mean"

    accelerate = False  # the expected logarithms are not extrapolated

    def _build_model(self, sums: Totals) -> VariationalModel:
        return VariationalModel(
            n_components=int(self.n_components),
            target=sums.marginals,
            total_weight=sums.weight,
            alpha=float(self.weight_concentration),
            beta=float(self.beta),
            gamma=float(self.gamma),
            weights=self.weight_prior,
            keep_all=bool(self.average_restarts),
        )

    def _stream_model(self, model: VariationalModel) -> VariationalModel:
        return replace(model, reorder=False)

    def _initializer(self, model: VariationalModel) -> InitParams:
        return partial(_start, kmeanspp_start if self.init == "k-means++" else random_start, model)

    def _set_fitted_attributes(self) -> None:
        means = self._single_model.means(self._params)
        self.weights_, self.components_ = means.weights, means.probs
        self.expected_rows_ = self._params.mass

    def summary(self) -> str:
        """A few lines on the fit: bound, starts, components in use.

        Examples
        --------
        >>> from latentbits import VariationalBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> print(VariationalBernoulliMixture(6, n_init=1, random_state=0).fit(X).summary().splitlines()[0])
        VariationalBernoulliMixture with 6 classes on 15 features
        """
        self._check_fitted()
        used = int((self.expected_rows_ >= 1).sum())
        told = f"{family_of(type(self)).counted(used)} hold{'s' * (used == 1)} a row or more"
        return f"{super().summary()}\nthe objective is a lower bound on log p(table); {told}"
