"""Latent Bernoulli-Gauss: topics of rows of weights, told by their keywords.

Story: a row of non-negative numbers marks some of its entries as keywords, the largest ones.  It has one topic s; entry i is
a keyword with probability ``probs[s, i]``, and then its value is N(``means[s, i]``, ``variances[s, i]``); entries that are no
keywords come from a Gaussian of the word alone (the *cross-Gaussian*).

=====================  =============================================  ==========================================
symbol in the paper    name here                                      where
=====================  =============================================  ==========================================
λ_s                    ``weights`` (K,)                               eq 2
p_si, c_si, v_si       ``probs``, ``means``, ``variances`` (K, D)     eq 2-4
c_i, v_i               ``cross_means``, ``cross_variances`` (D,)      no keywords
q_s                    ``n_keywords``                                 keywords per row; here the same for all topics
μ_js                   shares                                         eq 5
A, B, C                ``sums`` (D, 3, K)                             centred at ``centers``
=====================  =============================================  ==========================================

Fits maximise the likelihood of the keywords plus penalties that draw every topic toward the word's own keyword Gaussian
(strengths 0 are the paper).  Which entries are keywords is fixed before, so EM never loses.
A. Shashua, G. Pragier, *The Latent Bernoulli-Gauss Model for Data Analysis*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..data.values import ValueBlock
from ..engine.protocols import ExtraPass
from ..maths.topics import TopicModel, tempered_shares

# Probabilities of keywords stay this far from 0 and 1.
EDGE = 1e-12
LOG_TWO_PI = float(np.log(2 * np.pi))


class LbgParams(NamedTuple):
    """Topic weights (K,), and of every keyword (K, D): probability, mean, variance; on the way the temperature."""

    weights: Annotated[Float, of.weights("K")]
    probs: Annotated[Float, of.chances("K", "D")]
    means: Annotated[Float, of.reals("K", "D")]
    variances: Annotated[Float, of.positives("K", "D")]
    temperature: of.Positive = 1.0
    warming: of.Positive = 1.0  # by which the temperature rises from pass to pass


class LbgStats(NamedTuple):
    """Sums over rows."""

    mass: Float  # (K,)
    sums: Float  # (D, 3, K)
    log_likelihood: float


class LbgPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    base: Float  # (K,)
    tables: Float  # (D, 3, K)
    params: LbgParams
    penalty: float = 0.0


class Words(NamedTuple):
    """What is known of every word (D,) before the topics: all of it depends on the keywords alone."""

    shares: Annotated[Float, of.shares("D")]  # P(keyword)
    centers: Annotated[Float, of.reals("D")]  # mean of its values as a keyword
    spreads: Annotated[Float, of.amounts("D")]  # variance of them
    floors: Annotated[Float, of.amounts("D")]  # least variance
    cross_means: Annotated[Float, of.reals("D")]
    cross_variances: Annotated[Float, of.amounts("D")]


def nothing() -> Words:
    """Words of no table."""
    return Words(*[np.empty(0)] * 6)


@dataclass(frozen=True)
class LbgModel(TopicModel):
    """The maths; ``n_keywords`` is a number, or with ``by_share`` a share of the row's own entries."""

    params_type: ClassVar[Any] = LbgParams

    words: Words = field(default_factory=nothing)
    n_keywords: of.Amount = 20.0
    by_share: bool = False
    all_ties: bool = False
    smoothing: of.Amount = 1.0  # α: rows' worth of the word's own keyword probability
    value_smoothing: of.Amount = 10.0  # κ: keywords' worth of the word's own Gaussian
    concentration: of.Amount = 1.0  # 1 + β: Dirichlet on the weights
    total_weight: of.Amount = 1.0

    def contradiction(self) -> str | None:
        """What is wrong with the model as a whole."""
        most = 1 if self.by_share else len(self.words.shares)
        return (
            None if self.n_keywords <= most else f"must have n_keywords of {most} or less; it has {self.n_keywords:g}"
        )

    def lengths(self, block: ValueBlock) -> Any:
        """How many of its first entries are keywords of every row."""
        from .kernels import keyword_lengths

        counts = block.row_counts()
        wanted = np.full(block.n_rows, round_half_up(self.n_keywords), np.int64)
        if self.by_share:
            wanted = np.floor(self.n_keywords * counts + 0.5).astype(np.int64)
        out = np.empty(block.n_rows, np.int64)
        keyword_lengths(block.indptr, block.values, wanted, self.all_ties, out)
        return out

    def precompute(self, params: LbgParams) -> LbgPrecomputed:
        """Logarithms, once per pass."""
        log_on, log_off, log_variances = np.log(params.probs), np.log1p(-params.probs), np.log(params.variances)
        halves = 0.5 / params.variances
        tables = np.empty((params.probs.shape[1], 3, self.n_components))
        tables[:, 0] = (log_on - log_off - 0.5 * (LOG_TWO_PI + log_variances)).T
        tables[:, 1], tables[:, 2] = params.means.T, halves.T
        penalty = self._penalty(params, log_on, log_off, log_variances, halves)
        return LbgPrecomputed(np.log(params.weights) + log_off.sum(axis=1), tables, params, penalty)

    def _penalty(self, params: LbgParams, log_on: Any, log_off: Any, log_variances: Any, halves: Any) -> float:
        """What is added to the log-likelihood, from logarithms that are at hand, in their precision."""
        value, kind = 0.0, halves.dtype
        shares, centers, spreads = (part.astype(kind, copy=False) for part in self.words[:3])
        if self.concentration > 1:
            value += (self.concentration - 1) * float(np.log(params.weights).sum())
        if self.smoothing > 0:
            value += self.smoothing * float((log_on @ shares + log_off @ (1 - shares)).sum())
        if self.value_smoothing > 0:
            away = params.means.astype(kind, copy=False) - centers
            away *= away
            away += spreads
            away *= halves
            value -= self.value_smoothing * float(0.5 * log_variances.sum() + away.sum())
        return value

    def scores(self, block: ValueBlock, precomputed: LbgPrecomputed, lengths: Any = None) -> Float:
        """log p(topic, keywords of the row) (n, K)."""
        from .kernels import score_rows

        lengths = self.lengths(block) if lengths is None else lengths
        out = np.empty((block.n_rows, self.n_components))
        score_rows(block.indptr, lengths, block.indices, block.values, precomputed.base, precomputed.tables, out)
        return out

    def e_step(self, block: Any, rows: None, precomputed: LbgPrecomputed) -> tuple[LbgStats, None]:
        """Shares of the topics and their sums."""
        lengths, weights = self.lengths(block), block.row_weights()
        shares, logs = tempered_shares(
            self.scores(block, precomputed, lengths), precomputed.params.temperature, weights
        )
        return self.summed(block, shares, lengths)._replace(log_likelihood=float(logs @ weights)), None

    def precompute_single(self, params: LbgParams) -> LbgPrecomputed:
        """The same in float32, topics padded to a multiple of eight."""
        from .kernels import fill_tables

        parts: list[Any] = [part.astype(np.float32) for part in params[:4]]
        narrow = LbgParams(*parts)
        log_on, log_off, log_variances = np.log(narrow.probs), np.log1p(-narrow.probs), np.log(narrow.variances)
        halves = np.float32(0.5) / narrow.variances
        k, n_columns = narrow.probs.shape
        tables = np.zeros((n_columns, 3, -(-k // 8) * 8), np.float32)
        fill_tables(log_on, log_off, log_variances, narrow.means, halves, tables)
        base = np.full(tables.shape[2], -np.inf)
        base[:k] = np.log(params.weights) + log_off.sum(axis=1, dtype=np.float64)
        penalty = self._penalty(params._replace(means=narrow.means), log_on, log_off, log_variances, halves)
        return LbgPrecomputed(base, tables, params, penalty)

    def e_step_single(self, block: Any, rows: Any, precomputed: LbgPrecomputed) -> tuple[LbgStats, Any]:
        """The E-step in float32; sums over rows in float64."""
        lengths = self.lengths(block)
        return self._step_single(block, lengths, precomputed), None

    def _step_single(self, block: ValueBlock, lengths: Any, precomputed: LbgPrecomputed) -> LbgStats:
        """Sums of a block with given numbers of keywords."""
        from ..maths.topics_kernels import share_rows_single
        from .kernels import score_rows_single, sum_rows_single

        base, tables = precomputed.base, precomputed.tables
        assert len(tables) == block.n_columns  # kernels do not check places
        k, width, top = self.n_components, len(base), float(base.max())
        weights, logs = block.row_weights(), np.empty(block.n_rows)
        lists = (block.indptr, block.indices, block.values)
        shares = np.empty((block.n_rows, width), np.float32)
        score_rows_single(lists, lengths, (base - top).astype(np.float32), tables.ravel(), shares)
        share_rows_single(shares, precomputed.params.temperature, weights, logs)
        sums = np.zeros(tables.size, np.float32)
        sum_rows_single(lists, lengths, self.words.centers.astype(np.float32), shares, sums)
        value = float(logs @ weights) + top * float(weights.sum())
        wide = sums.reshape(tables.shape)[:, :, :k].astype(np.float64)
        return LbgStats(shares[:, :k].sum(axis=0, dtype=np.float64), wide, value)

    def summed(self, block: ValueBlock, shares: Float, lengths: Any = None) -> LbgStats:
        """Sums of a block whose rows belong to the topics by ``shares`` (n, K), weights included."""
        from .kernels import sum_rows

        lengths = self.lengths(block) if lengths is None else lengths
        sums = np.zeros((block.n_columns, 3, shares.shape[1]))
        sum_rows(block.indptr, lengths, block.indices, block.values, self.words.centers, shares, sums)
        return LbgStats(shares.sum(axis=0), sums, 0.0)

    def objective(self, precomputed: LbgPrecomputed, stats: LbgStats) -> float:
        """Log-likelihood of the keywords plus the penalties."""
        return stats.log_likelihood + precomputed.penalty

    def m_step(self, params: LbgParams | None, stats: LbgStats, extra_pass: ExtraPass | None) -> LbgParams:
        """Closed forms; words that a topic has hardly seen as keywords keep to their own Gaussian."""
        from .kernels import update_words

        words, mass = self.words, stats.mass
        weights = mass + (self.concentration - 1)
        weights = np.maximum(weights / weights.sum(), 1e-300)
        probs, means, variances = (np.empty((len(mass), len(stats.sums))) for _ in range(3))
        held = (words.shares, words.centers, words.spreads, words.floors)
        strengths = (float(self.smoothing), float(self.value_smoothing), EDGE)
        update_words(stats.sums, mass, held, strengths, probs, means, variances)
        temperature, warming = (1.0, 1.0) if params is None else (params.temperature, params.warming)
        return LbgParams(weights, probs, means, variances, min(1.0, temperature * warming), warming)

    def sort_components(self, params: LbgParams) -> LbgParams:
        """Topics by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        return LbgParams(params.weights[order], params.probs[order], params.means[order], params.variances[order])

    # Answers.

    def log_prob(self, block: ValueBlock, precomputed: LbgPrecomputed) -> Float:
        """log Pr(row) (n,), with the keywords that the row has."""
        return self.log_density(block, precomputed, self.lengths(block))

    def log_density(self, block: ValueBlock, precomputed: LbgPrecomputed, lengths: Any) -> Float:
        """log Pr(row) (n,) with given numbers of keywords."""
        from .kernels import cross_rows

        logs, cross = tempered_shares(self.scores(block, precomputed, lengths))[1], np.empty(block.n_rows)
        means, variances = self.words.cross_means, self.words.cross_variances
        sizes, halves = -0.5 * (LOG_TWO_PI + np.log(variances)), 0.5 / variances
        at_zero = sizes - means**2 * halves
        cross_rows(block.indptr, lengths, block.indices, block.values, at_zero, means, halves, sizes, cross)
        return logs + cross + at_zero.sum()

    def sample_rows(self, params: LbgParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D), not below 0, and their topics (n,)."""
        topics = rng.choice(self.n_components, size=n, p=params.weights / params.weights.sum())
        keyword = rng.random((n, params.probs.shape[1])) < params.probs[topics]
        noise = rng.standard_normal(keyword.shape)
        means = np.where(keyword, params.means[topics], self.words.cross_means)
        variances = np.where(keyword, params.variances[topics], self.words.cross_variances)
        return np.maximum(means + np.sqrt(variances) * noise, 0.0), topics

    def n_free(self, params: LbgParams) -> int:
        """Free parameters: weights, and three numbers for every topic and word."""
        return self.n_components - 1 + 3 * params.probs.size


def round_half_up(value: float) -> int:
    """The nearest whole number."""
    return int(np.floor(value + 0.5))
