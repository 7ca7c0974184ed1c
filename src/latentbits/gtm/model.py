"""Binary GTM: a mixture whose classes are the nodes of a map.

Story: a row takes one node x_k of a regular grid with probability ``prior[k]``; its cells are then independent, cell i being
1 with probability σ(η_ki), and neighbouring nodes are alike because η is a sum of few smooth functions of the place.

=====================  =========================================  =========================================
symbol in the paper    name here                                  where
=====================  =========================================  =========================================
x_k                    ``points`` (K, L)                          regular grid, eq 1-2
P(x_k)                 ``prior`` (K,)                             learned ("non-uniform categorical priors")
φ_m(x_k)               ``features`` (K, M)                        fixed basis; the constant comes last
w_mi                   ``weights`` (D, M)                         one row per feature
R_nk                   responsibilities                           E-step, ``engine/classes.py``
(R'T)_ki, Σ_n R_nk     ``on`` (D, K), ``mass`` (K,)               the sums that eq 5-8 need
=====================  =========================================  =========================================

The fit maximises log p(X) + log p(W) + (α - 1) Σ_k log π_k.  Priors of the weights: ``ridge``, centred at the log odds of the
column marginals; ``beta``, pseudo-counts at every node; ``girolami``, the paper's exp(-β |w| Σ w), which has no maximum.
M. Girolami, *A Generative Model for Sparse Discrete Binary Data with Non-Uniform Categorical Priors* (ESANN 2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block, Float
from ..engine.protocols import ExtraPass
from ..engine.sweep import one_blas_thread
from ..maths.latent_class import (
    ClassModel,
    ClassPrecomputed,
    ClassStats,
    class_precomputed,
    draw_classes,
    floored_weights,
)
from .grid import Basis, grid_points
from .m_steps import INNER_STEPS, M_STEPS, Problem

# With the identity basis probabilities are free, and kept this far from 0 and 1 as in a mixture.
EDGE = 1e-9


class GtmParams(NamedTuple):
    """Weights of the basis and prior of the nodes; what the last pass showed stands beside."""

    weights: Annotated[Float, of.reals("D", "M")]
    prior: Annotated[Float, of.weights("K")]
    log_likelihood: of.AnyNumber = -np.inf  # of the point before; of this one when the fit is over
    gradient: of.AnyNumber = np.nan  # largest slope of the objective by a weight, per row, when the fit is over
    earlier_weights: Annotated[Float, of.reals("D", "M")] | None = (
        None  # of the point before, if the fit may have to go back to it
    )
    earlier_prior: Annotated[Float, of.weights("K")] | None = None


def logistic(odds: Float) -> tuple[Float, Float]:
    """P(1) and log P(0) at log odds."""
    small = np.exp(-np.abs(odds))
    inverse = 1.0 / (1.0 + small)
    return np.where(odds >= 0, inverse, small * inverse), -(np.maximum(odds, 0.0) + np.log1p(small))


@dataclass(frozen=True)
class GtmModel(ClassModel):
    """The maths; ``base`` (D,) are the log odds of the column marginals."""

    params_type: ClassVar[Any] = GtmParams

    latent_shape: tuple[Annotated[int, of.Whole(1)], ...]
    base: Annotated[Float, of.reals("D")] = field(default_factory=lambda: np.empty(0))
    basis_shape: tuple[
        Annotated[int, of.Whole(2)], ...
    ] = ()  # empty: the identity, every node with log odds of its own
    basis_width: of.Positive = 1.0
    linear: bool = False
    learned_prior: bool = True
    concentration: of.Amount = 1.0
    weight_prior: Annotated[str, of.words("ridge", "beta", "girolami")] = "ridge"
    ridge: of.Amount = 0.1
    ridge_bias: of.Amount = 0.001
    smoothing: of.Positive = 2.0
    skew: of.Positive = 1.0
    limit: Annotated[float, of.Number(0.0, inf=True)] = np.inf
    step: Annotated[str, of.words(*M_STEPS)] = "newton"
    n_inner: of.Count = 0  # 0: as many as the step needs
    total_weight: of.Amount = 1.0

    def contradiction(self) -> str | None:
        """What is wrong with the map as a whole."""
        if math.prod(self.latent_shape) != self.n_components or not 1 <= len(self.latent_shape) <= 3:
            return f"must have a latent_shape of {self.n_components} nodes; it has {self.latent_shape}"
        if len(self.basis_shape) not in (0, len(self.latent_shape)) or self.n_functions > self.n_components:
            return f"must have a basis_shape that fits into the map; it has {self.basis_shape}"
        return None

    def misfit(self, params: GtmParams) -> str | None:
        """What is wrong with parameters from a file."""
        held = params.weights.shape[1]
        return (
            None
            if held == self.n_functions
            else f"must hold the weights of {self.n_functions} functions; it holds {held}"
        )

    @property
    def n_functions(self) -> int:
        """M, told without working them out."""
        if self.is_identity:
            return self.n_components
        return math.prod(self.basis_shape) + len(self.latent_shape) * self.linear + 1

    @cached_property
    def points(self) -> Float:
        """Nodes (K, L)."""
        return grid_points(tuple(self.latent_shape))

    @cached_property
    def basis(self) -> Basis:
        """Functions over the map."""
        return Basis(tuple(self.basis_shape), self.basis_width, self.linear)

    @property
    def is_identity(self) -> bool:
        """Whether nodes are not tied to each other."""
        return len(self.basis_shape) == 0

    @cached_property
    def features(self) -> Float:
        """Φ (K, M)."""
        return np.eye(self.n_components) if self.is_identity else self.basis.features(self.points)

    @cached_property
    def ridges(self) -> Float:
        """Ridge of every weight of a feature (M,)."""
        if self.weight_prior != "ridge":
            return np.zeros(self.features.shape[1])
        return np.append(np.full(self.features.shape[1] - 1, self.ridge), self.ridge_bias)

    def empty_weights(self) -> Float:
        """Weights (D, M) of the map that is the same everywhere: the log odds of the marginals."""
        weights = np.zeros((len(self.base), self.features.shape[1]))
        if self.is_identity:
            weights[:] = self.base[:, None]
        else:
            weights[:, -1] = self.base
        return weights

    def odds(self, weights: Float) -> Float:
        """Log odds (D, K)."""
        if self.is_identity:
            return np.ascontiguousarray(weights)
        with one_blas_thread():
            return weights @ self.features.T

    def precompute(self, params: GtmParams) -> ClassPrecomputed:
        """Logarithms, once per pass."""
        odds = self.odds(params.weights)
        chances, log_off = logistic(odds)
        return class_precomputed(np.log(params.prior), odds, log_off, chances.T, params)

    def log_prior(self, precomputed: ClassPrecomputed) -> float:
        """log p(W) + log p(π), up to a constant."""
        value = 0.0
        if self.weight_prior == "beta":
            on, off = self.pseudo_counts()
            value += float(((on + off) @ precomputed.log_off).sum() + (on @ precomputed.slope).sum())
        else:
            value += float(self.problem(None).log_prior(precomputed.params.weights).sum())
        if self.learned_prior and self.concentration > 1:
            value += (self.concentration - 1) * float(precomputed.log_weights.sum())
        return value

    def pseudo_counts(self) -> tuple[Float, Float]:
        """Ones and zeros (D,) that the Beta prior adds at every node."""
        chances = logistic(self.base)[0]
        return self.smoothing * chances, self.smoothing * (1.0 - chances)

    def objective(self, precomputed: ClassPrecomputed, stats: ClassStats) -> float:
        """Log-likelihood plus log prior."""
        return stats.log_likelihood + self.log_prior(precomputed)

    def problem(self, stats: ClassStats | None) -> Problem:
        """What the M-step climbs, with the sums of a pass."""
        if stats is None:
            nothing = np.empty((0, 0))
            on, seen, mass = nothing, nothing, np.empty(0)
        else:
            on, mass = stats.on, stats.mass
            seen = mass[None, :] if stats.unseen is None else np.maximum(mass - stats.unseen, 0.0)
            if self.weight_prior == "beta":
                on, seen, mass = on + self.pseudo_counts()[0][:, None], seen + self.smoothing, mass + self.smoothing
        skewed = self.weight_prior == "girolami"
        return Problem(
            self.features,
            on,
            seen,
            mass,
            self.ridges,
            self.base,
            self.skew if skewed else 0.0,
            self.limit if skewed else np.inf,
        )

    def m_step(self, params: GtmParams, stats: ClassStats, extra_pass: ExtraPass | None) -> GtmParams:
        """Better weights, and the nodes' shares of the rows."""
        prior = params.prior
        if self.learned_prior:
            prior = floored_weights(stats.mass + (self.concentration - 1))
        new = GtmParams(self.better_weights(params.weights, stats), prior, stats.log_likelihood)
        if self.weight_prior != "girolami":
            return new
        return new._replace(earlier_weights=params.weights, earlier_prior=params.prior)

    def better_weights(self, weights: Float, stats: ClassStats, n_inner: int = 0) -> Float:
        """Weights at which the expected objective is no lower."""
        problem = self.problem(stats)
        if self.is_identity:
            chances = np.clip(problem.on / problem.seen, EDGE, 1 - EDGE)
            return np.log(chances) - np.log1p(-chances)
        with one_blas_thread():
            return M_STEPS[self.step](problem, weights, n_inner or self.n_inner or INNER_STEPS[self.step])

    def stop_measure(self, old: GtmParams, new: GtmParams) -> float | None:
        """With the paper's prior a fit is over when the likelihood falls: from there the prior only empties the map."""
        fell = self.weight_prior == "girolami" and new.log_likelihood < old.log_likelihood
        return 0.0 if fell else None

    def finalize(self, point: Any, sweep: Any, complete: bool) -> tuple[GtmParams, float]:
        """The likelihood and the slope of the objective where the fit ended, or just before the likelihood fell."""
        params = point.params
        stats, value = self._looked(params, sweep)
        if params.earlier_weights is not None and stats.log_likelihood < params.log_likelihood:
            params = GtmParams(params.earlier_weights, params.earlier_prior)
            stats, value = self._looked(params, sweep)
        slope = self.largest_slope(params, stats)
        return GtmParams(params.weights, params.prior, stats.log_likelihood, slope), value

    def _looked(self, params: GtmParams, sweep: Any) -> tuple[ClassStats, float]:
        """Sums and objective at a point."""
        precomputed = self.precompute(params)
        stats: ClassStats = sweep.map(self.e_step, [None] * sweep.n_blocks, precomputed, keep_rows=False)[0]
        return stats, self.objective(precomputed, stats)

    def largest_slope(self, params: GtmParams, stats: ClassStats) -> float:
        """Largest slope of the objective by a weight, per row (Fisher's identity: that of the expected objective)."""
        problem = self.problem(stats)
        with one_blas_thread():
            residual = problem.look(params.weights, False, self.odds(params.weights))[0]
            slope = residual if self.is_identity else problem.slope(params.weights, residual)
        return float(np.abs(slope).max() / max(self.total_weight, 1e-300))

    def expected_stats(self, params: GtmParams) -> ClassStats:
        """The sums per unit of weight of a table that these parameters fit."""
        chances = logistic(self.odds(params.weights))[0]
        return ClassStats(params.prior, params.prior * chances, None, 0.0)

    def to_vector(self, params: GtmParams) -> Float | None:
        """Weights, and log prior if it is learned; the paper's prior, which has no maximum, is not accelerated."""
        if self.weight_prior == "girolami":
            return None
        logs = np.log(params.prior) if self.learned_prior else np.empty(0)
        return np.concatenate((logs, params.weights.ravel()))

    def from_vector(self, vector: Float, like: GtmParams) -> GtmParams:
        """The inverse."""
        prior, logs = like.prior, vector[: len(vector) - like.weights.size]
        if len(logs):
            prior = floored_weights(np.exp(logs - logs.max()))
        weights = vector[len(logs) :].reshape(like.weights.shape)
        return like._replace(weights=weights, prior=prior)

    # Answers beside those of every family with one class per row.

    def represent(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """Posterior means on the map (n, L)."""
        return self.memberships(block, precomputed) @ self.points

    def modes(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        """The most probable node of every row (n, L)."""
        return self.points[self.log_joint(block, precomputed).argmax(axis=1)]

    def at_points(self, params: GtmParams, points: Float) -> Float:
        """P(cell = 1) (n, D) at any places of the map."""
        return logistic(self.basis.features(points) @ params.weights.T)[0]

    def metric(self, params: GtmParams, points: Float) -> Float:
        """Fisher metric (n, L, L): KL(x | x + dx) ≈ dx' g dx / 2."""
        chances = self.at_points(params, points)
        tangents = self.basis.slopes(points) @ params.weights.T  # (n, L, D)
        out: Float = (tangents * (chances * (1.0 - chances))[:, None, :]) @ tangents.transpose(0, 2, 1)
        return out

    def sample_rows(self, params: GtmParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their nodes (n,)."""
        return draw_classes(params.prior, logistic(self.odds(params.weights))[0].T, n, rng)

    def n_free(self, params: GtmParams) -> int:
        """Free parameters: weights of the basis, and the prior if it is learned."""
        return params.weights.size + (self.n_components - 1) * self.learned_prior
