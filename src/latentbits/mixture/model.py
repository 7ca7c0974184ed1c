"""Mixture of Bernoulli products by EM.

Story: every row has one hidden class z, drawn with probability ``weights[k]``; given the class, its cells are
independent, cell j being 1 with probability ``probs[k, j]``.  Unknown cells drop out.

=====================  ====================================  ==========================================
symbol in the papers   name here                             where
=====================  ====================================  ==========================================
π_k                    ``weights`` (K,)                      van der Maaten, eq 1-5
a_kd, B_kt             ``probs`` (K, D)                      van der Maaten; Kabán et al. (MB model)
r_nk                   responsibilities (n, K)               E-step
N_k, c_kd, n_kd        ``mass``, ``on``, ``mass - unseen``   sums of responsibilities
α                      ``concentration``                     Dirichlet(α, ..., α) on the weights, α ≥ 1
c, m_d                 ``smoothing``, ``target``             Beta(1 + c m, 1 + c (1 - m)) on every prob
=====================  ====================================  ==========================================

The fit maximises ``log p(X) + log prior``; with ``smoothing=0`` and ``concentration=1`` that is maximum likelihood.
E-step and answers are those of every family with one class per row (``engine/classes.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..engine.protocols import ExtraPass
from ..maths.latent_class import (
    ClassModel,
    ClassPrecomputed,
    ClassStats,
    class_precomputed,
    draw_classes,
    floored_weights,
)
from ..maths.profiles import EDGE, STARVED, WorstRow, seeded_profile


class MixtureParams(NamedTuple):
    """Class weights and cell probabilities."""

    weights: Annotated[Float, of.weights("K")]
    probs: Annotated[Float, of.chances("K", "D")]


@dataclass(frozen=True)
class MixtureModel(ClassModel):
    """The maths of the mixture; ``target`` (D,) are the marginals that ``smoothing`` pulls toward."""

    params_type: ClassVar[Any] = MixtureParams
    # Classes that have settled on a sample stay where it put them: with 20 classes and default starts c20ng then ends 0.12 to
    # 0.17 nats a row lower than from its own starts (two runs, four and five seeds), bnetflix 0.008 higher.
    led_by_sample = False

    target: Annotated[Float, of.chances("D")] = field(default_factory=lambda: np.empty(0))
    smoothing: of.Amount = 1.0
    concentration: of.Amount = 1.0
    total_weight: of.Amount = 1.0  # of all rows; shares of it, not counts, so that weights equal repeated rows
    keep_all: bool = False  # every start is kept, to be averaged

    def precompute(self, params: MixtureParams) -> ClassPrecomputed:
        """Logarithms, once per pass."""
        return mixture_precomputed(params)

    def objective(self, precomputed: ClassPrecomputed, stats: ClassStats) -> float:
        """Log-likelihood plus log prior (up to a constant); log B = slope + log_off."""
        value = stats.log_likelihood
        if self.smoothing > 0:
            value += self.smoothing * float((self.target @ precomputed.slope).sum() + precomputed.log_off.sum())
        if self.concentration > 1:
            value += (self.concentration - 1) * float(precomputed.log_weights.sum())
        return value

    def m_step(self, params: MixtureParams, stats: ClassStats, extra_pass: ExtraPass | None) -> MixtureParams:
        """Weighted shares of ones, drawn toward the column marginals."""
        weights = floored_weights(stats.mass + (self.concentration - 1))
        seen = stats.mass[:, None]
        if stats.unseen is not None:
            seen = np.maximum(seen - stats.unseen.T, 0.0)
        on, total = stats.on.T + self.smoothing * self.target, seen + self.smoothing
        # A class that has seen (almost) nothing of a column takes the marginal.
        known = total > 1e-14 * self.total_weight
        probs = on / total if known.all() else np.where(known, on / np.where(known, total, 1.0), self.target)
        # Concave in every probability, so clipping is the exact maximum on the clipped range and EM stays monotone.
        return MixtureParams(weights, np.clip(probs, EDGE, 1 - EDGE))

    def reseed_empty(self, params: MixtureParams, stats: ClassStats, extra_pass: ExtraPass) -> MixtureParams | None:
        """Seed a starved class at the worst explained row."""
        starved, least = int(np.argmin(stats.mass)), STARVED / self.n_components
        if stats.mass[starved] >= least * self.total_weight or self.n_components == 1:
            return None
        worst = extra_pass(WorstRow(self), self.precompute(params))
        probs = params.probs.copy()
        probs[starved] = seeded_profile(worst.payload, self.target)
        weights = params.weights.copy()
        weights[starved] = least
        return MixtureParams(weights / weights.sum(), probs)

    def expected_stats(self, params: MixtureParams) -> ClassStats:
        """The sums per unit of weight of a table that these parameters fit."""
        return ClassStats(params.weights, (params.weights[:, None] * params.probs).T, None, 0.0)

    def sort_components(self, params: MixtureParams) -> MixtureParams:
        """Classes by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        return MixtureParams(params.weights[order], params.probs[order])

    def restart_summary(self, params: MixtureParams) -> Float | None:
        """Every start as one vector, if they are to be averaged."""
        return pack_member(params) if self.keep_all else None

    def to_vector(self, params: MixtureParams) -> Float:
        """Log weights and logits."""
        logits = np.log(params.probs) - np.log1p(-params.probs)
        return np.concatenate((np.log(params.weights), logits.ravel()))

    def from_vector(self, vector: Float, like: MixtureParams) -> MixtureParams:
        """Weights and probabilities of log weights and logits."""
        log_weights, logits = vector[: self.n_components], vector[self.n_components :]
        weights = floored_weights(np.exp(log_weights - log_weights.max()))
        probs = 1.0 / (1.0 + np.exp(-np.clip(logits, -700, 700)))
        return MixtureParams(weights, np.clip(probs.reshape(like.probs.shape), EDGE, 1 - EDGE))

    def sample_rows(self, params: MixtureParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their classes (n,)."""
        return draw_classes(params.weights, params.probs, n, rng)

    def n_free(self, params: MixtureParams) -> int:
        """Free parameters: K - 1 weights and K × D probabilities."""
        return self.n_components - 1 + params.probs.size


def mixture_precomputed(params: MixtureParams, pad: bool = True) -> ClassPrecomputed:
    """Logarithms of a mixture, in the form that blocks need."""
    probs = np.ascontiguousarray(params.probs.T)
    log_off = np.log1p(-probs)
    return class_precomputed(np.log(params.weights), np.log(probs) - log_off, log_off, params.probs, params, pad)


def pack_member(params: MixtureParams) -> Float:
    """A mixture as one vector, as the driver keeps it of every start."""
    return np.concatenate((params.weights, params.probs.ravel()))
