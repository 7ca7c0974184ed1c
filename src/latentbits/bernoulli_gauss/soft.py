"""Soft indicators: whether an entry is a keyword is summed out instead of told by its rank.

Pr(row | s) = Π_i [p_si N(m_i; c_si, v_si) + (1 - p_si) N(m_i; c0_i, v0_i)]: a proper density, plain EM, no number of
keywords.  Zeros are alike in all rows, so their part is worked out once per word and topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..engine.protocols import ExtraPass
from ..maths.topics import TopicModel, tempered_shares
from .model import EDGE, LOG_TWO_PI, Words, nothing


class SoftParams(NamedTuple):
    """As those of the hard model, and the cross-Gaussians (D,), which are learned too."""

    weights: Annotated[Float, of.weights("K")]
    probs: Annotated[Float, of.chances("K", "D")]
    means: Annotated[Float, of.reals("K", "D")]
    variances: Annotated[Float, of.positives("K", "D")]
    cross_means: Annotated[Float, of.reals("D")]
    cross_variances: Annotated[Float, of.positives("D")]
    temperature: of.Positive = 1.0
    warming: of.Positive = 1.0


class SoftStats(NamedTuple):
    """Sums over rows, zeros included."""

    mass: Float  # (K,)
    sums: Float  # (D, 3, K) keyword shares, times the distance from the word's centre, times its square
    others: Float  # (D, 3)
    seen: Float  # (D, K) shares of the rows that have an entry
    log_likelihood: float


class SoftPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    base: Float  # (K,) log weight plus what an empty row adds
    tables: Float  # (D, 4, K)
    cross: Float  # (D, 3)
    at_zero: Float  # (D, K)
    zero_share: Float  # (D, K) probability that a zero is a keyword
    params: SoftParams


@dataclass(frozen=True)
class SoftModel(TopicModel):
    """The maths of soft indicators."""

    params_type: ClassVar[Any] = SoftParams

    words: Words = field(default_factory=nothing)
    n_keywords: of.AnyNumber = np.nan
    smoothing: of.Amount = 1.0
    value_smoothing: of.Amount = 10.0
    concentration: of.Amount = 1.0
    total_weight: of.Amount = 1.0

    def precompute(self, params: SoftParams) -> SoftPrecomputed:
        """Logarithms, once per pass."""
        tables = np.empty((params.probs.shape[1], 4, self.n_components))
        tables[:, 0] = (np.log(params.probs) - 0.5 * (LOG_TWO_PI + np.log(params.variances))).T
        tables[:, 1], tables[:, 2] = params.means.T, (0.5 / params.variances).T
        tables[:, 3] = np.log1p(-params.probs).T
        halves = 0.5 / params.cross_variances
        sizes = -0.5 * (LOG_TWO_PI + np.log(params.cross_variances))
        cross = np.stack((sizes, params.cross_means, halves), axis=1)
        on = tables[:, 0] - tables[:, 1] ** 2 * tables[:, 2]
        off = tables[:, 3] + (sizes - params.cross_means**2 * halves)[:, None]
        at_zero = np.logaddexp(on, off)
        base = np.log(params.weights) + at_zero.sum(axis=0)
        return SoftPrecomputed(base, tables, cross, at_zero, np.exp(on - at_zero), params)

    def scores(self, block: Any, precomputed: SoftPrecomputed) -> Float:
        """log p(row, topic) (n, K)."""
        from .kernels import soft_rows

        out = np.empty((block.n_rows, self.n_components))
        lists = (block.indptr, block.indices, block.values)
        soft_rows(*lists, precomputed.base, precomputed.tables, precomputed.cross, precomputed.at_zero, out)
        return out

    def e_step(self, block: Any, rows: None, precomputed: SoftPrecomputed) -> tuple[SoftStats, None]:
        """Shares of the topics and of the keywords, and their sums."""
        weights = block.row_weights()
        shares, logs = tempered_shares(self.scores(block, precomputed), precomputed.params.temperature, weights)
        return self._added(block, shares, precomputed)._replace(log_likelihood=float(logs @ weights)), None

    def _added(self, block: Any, shares: Float, precomputed: SoftPrecomputed) -> SoftStats:
        """Sums of the entries of a block."""
        from .kernels import soft_sums

        d, k = block.n_columns, shares.shape[1]
        sums, others, seen = np.zeros((d, 3, k)), np.zeros((d, 3)), np.zeros((d, k))
        lists = (block.indptr, block.indices, block.values)
        soft_sums(*lists, self.words.centers, precomputed.tables, precomputed.cross, shares, sums, others, seen)
        return SoftStats(shares.sum(axis=0), sums, others, seen, 0.0)

    def finalize_stats(self, precomputed: SoftPrecomputed, stats: SoftStats) -> SoftStats:
        """With the zeros, which are alike in all rows."""
        left, centers = np.maximum(stats.mass - stats.seen, 0.0), self.words.centers
        sums, others = stats.sums.copy(), stats.others.copy()
        mine, rest = left * precomputed.zero_share, (left * (1.0 - precomputed.zero_share)).sum(axis=1)
        for power in range(3):
            sums[:, power] += mine * ((-centers) ** power)[:, None]
            others[:, power] += rest * (-centers) ** power
        return stats._replace(sums=sums, others=others)

    def summed(self, block: Any, shares: Float) -> SoftStats:
        """Sums of a start, whose keywords are told by the words alone."""
        return self._added(block, shares, self._alone(shares.shape[1]))

    def _alone(self, k: int) -> SoftPrecomputed:
        """Every topic like the words themselves."""
        words = self.words
        probs, means, variances = (np.tile(part, (k, 1)) for part in (words.shares, words.centers, words.spreads))
        probs = np.clip(probs, EDGE, 1 - EDGE)
        return self.precompute(
            SoftParams(np.full(k, 1.0 / k), probs, means, variances, words.cross_means, words.cross_variances)
        )

    def objective(self, precomputed: SoftPrecomputed, stats: SoftStats) -> float:
        """Log-likelihood plus the penalties."""
        params, words = precomputed.params, self.words
        value = stats.log_likelihood
        if self.concentration > 1:
            value += (self.concentration - 1) * float(np.log(params.weights).sum())
        chances = words.shares * np.log(params.probs) + (1.0 - words.shares) * np.log1p(-params.probs)
        value += self.smoothing * float(chances.sum())
        away = words.spreads + (params.means - words.centers) ** 2
        return value - 0.5 * self.value_smoothing * float((np.log(params.variances) + away / params.variances).sum())

    def m_step(self, params: SoftParams | None, stats: SoftStats, extra_pass: ExtraPass | None) -> SoftParams:
        """Closed forms, as those of the hard model with shares of keywords."""
        words, mass, kappa = self.words, stats.mass, self.value_smoothing
        if params is None:
            stats = self.finalize_stats(self._alone(len(mass)), stats)
        weights = mass + (self.concentration - 1)
        weights = np.maximum(weights / weights.sum(), 1e-300)
        seen, first, second = (np.ascontiguousarray(stats.sums[:, i].T) for i in range(3))
        probs = (seen + self.smoothing * words.shares) / np.maximum(mass + self.smoothing, 1e-300)[:, None]
        total = np.maximum(seen + kappa, 1e-300)
        shift = first / total
        means, spread = words.centers + shift, (second + kappa * words.spreads) / total - shift**2
        count = np.maximum(stats.others[:, 0], 1e-300)
        off = stats.others[:, 1] / count
        cross, cross_variances = words.centers + off, np.maximum(stats.others[:, 2] / count - off**2, words.floors)
        temperature, warming = (1.0, 1.0) if params is None else (params.temperature, params.warming)
        return SoftParams(
            weights, np.clip(probs, EDGE, 1 - EDGE), means, np.maximum(spread, words.floors), cross, cross_variances,
            min(1.0, temperature * warming), warming,
        )  # fmt: skip

    def sort_components(self, params: SoftParams) -> SoftParams:
        """Topics by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        first = (params.weights[order], params.probs[order], params.means[order], params.variances[order])
        return SoftParams(*first, params.cross_means, params.cross_variances)

    def sample_rows(self, params: SoftParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D), not below 0, and their topics (n,)."""
        topics = rng.choice(self.n_components, size=n, p=params.weights / params.weights.sum())
        keyword = rng.random((n, params.probs.shape[1])) < params.probs[topics]
        means = np.where(keyword, params.means[topics], params.cross_means)
        variances = np.where(keyword, params.variances[topics], params.cross_variances)
        return np.maximum(means + np.sqrt(variances) * rng.standard_normal(keyword.shape), 0.0), topics

    def n_free(self, params: SoftParams) -> int:
        """Free parameters: weights, three numbers for every topic and word, and the cross-Gaussians."""
        return self.n_components - 1 + 3 * params.probs.size + 2 * len(params.cross_means)
