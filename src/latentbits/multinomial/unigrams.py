"""``MixtureOfUnigrams``: every row of counts has one topic.

Story: a row takes topic s with probability ``weights[s]``; each of its tokens is word i with probability ``probs[s, i]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, MembershipsMixin, records
from ..base.common import digest_of
from ..base.options import Check, Number, OptimiserOptions, WordOr, option_fields
from ..data.block import Float
from ..data.summary import ValueTotals
from ..data.values import REALS
from ..engine.protocols import ExtraPass
from ..engine.restarts import InitParams
from ..maths.latent_class import floored_weights
from ..maths.topics import TopicModel, n_starts, tempered_shares, topic_initializer
from .counts import check_counts


class UnigramParams(NamedTuple):
    """Topic weights and word probabilities; on the way the temperature."""

    weights: Annotated[Float, of.weights("K")]
    probs: Annotated[Float, of.shares("K", "D")]
    temperature: of.Positive = 1.0
    warming: of.Positive = 1.0


class UnigramStats(NamedTuple):
    """Sums over rows."""

    mass: Float  # (K,)
    counts: Float  # (D, K)
    log_likelihood: float


class UnigramPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    base: Float
    logs: Float  # (D, K)
    params: UnigramParams


@dataclass(frozen=True)
class UnigramModel(TopicModel):
    """The maths; ``mean_length`` is that of the training rows, for drawing new ones."""

    params_type: ClassVar[Any] = UnigramParams

    smoothing: of.Amount = 1.0
    mean_length: of.Amount = 1.0

    def precompute(self, params: UnigramParams) -> UnigramPrecomputed:
        """Logarithms, once per pass."""
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(params.probs), -1e300)
        return UnigramPrecomputed(np.log(params.weights), np.ascontiguousarray(logs.T), params)

    def scores(self, block: Any, precomputed: UnigramPrecomputed) -> Float:
        """log p(row, topic) (n, K)."""
        from .kernels import score_counts

        out = np.empty((block.n_rows, self.n_components))
        score_counts(block.indptr, block.indices, block.values, precomputed.base, precomputed.logs, out)
        return out

    def e_step(self, block: Any, rows: None, precomputed: UnigramPrecomputed) -> tuple[UnigramStats, None]:
        """Shares of the topics and their sums."""
        weights = block.row_weights()
        shares, logs = tempered_shares(self.scores(block, precomputed), precomputed.params.temperature, weights)
        return self.summed(block, shares)._replace(log_likelihood=float(logs @ weights)), None

    def summed(self, block: Any, shares: Float) -> UnigramStats:
        """Sums of a block whose rows belong to the topics by ``shares`` (n, K), weights included."""
        from .kernels import sum_counts

        counts = np.zeros((block.n_columns, shares.shape[1]))
        sum_counts(block.indptr, block.indices, block.values, shares, counts)
        return UnigramStats(shares.sum(axis=0), counts, 0.0)

    def objective(self, precomputed: UnigramPrecomputed, stats: UnigramStats) -> float:
        """Log-likelihood plus the log prior of the words."""
        return stats.log_likelihood + (self.smoothing * float(precomputed.logs.sum()) if self.smoothing > 0 else 0.0)

    def m_step(self, params: UnigramParams | None, stats: UnigramStats, extra_pass: ExtraPass | None) -> UnigramParams:
        """Shares of rows and of counts."""
        counts = np.ascontiguousarray(stats.counts.T) + self.smoothing
        total = counts.sum(axis=1, keepdims=True)
        probs = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[1])
        temperature, warming = (1.0, 1.0) if params is None else (params.temperature, params.warming)
        return UnigramParams(floored_weights(stats.mass), probs, min(1.0, temperature * warming), warming)

    def sort_components(self, params: UnigramParams) -> UnigramParams:
        """Topics by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        return UnigramParams(params.weights[order], params.probs[order])

    def sample_rows(self, params: UnigramParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) of counts, as long as training rows are on average, and their topics (n,)."""
        topics = rng.choice(self.n_components, size=n, p=params.weights)
        lengths = rng.poisson(self.mean_length, size=n)
        return np.stack([rng.multinomial(m, params.probs[s]) for m, s in zip(lengths, topics)]), topics

    def n_free(self, params: UnigramParams) -> int:
        """Free parameters: weights, and all but one word of every topic."""
        return self.n_components - 1 + params.probs.size - self.n_components


@option_fields
class MixtureOfUnigrams(MembershipsMixin, OptimiserOptions, LatentBitsEstimator):  # type: ignore[override]
    """Mixture of unigrams: every row of counts has one topic, its tokens are drawn from that topic's words.

    With one component per class it is multinomial naive Bayes.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    smoothing : float
        η ≥ 0 tokens of every word added to every topic.
    init : {"portfolio", "k-means", "anneal", "random"}, (n_rows, n_components) array or (n_rows,) array
        Starts: k-means and three annealed random ones; one kind only; or given shares or labels of the rows.
    n_init : int
        How often the starts are repeated.

    Attributes
    ----------
    weights_ : (n_components,) array
        Topic weights, decreasing.
    components_ : (n_components, n_features) array
        P(word | topic).
    objective_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`~latentbits.BernoulliMixture`.

    References
    ----------
    K. Nigam, A. McCallum, S. Thrun, T. Mitchell, *Machine Learning* 39 (2000).

    Examples
    --------
    >>> from latentbits import MixtureOfUnigrams
    >>> X = [[3, 2, 0, 0], [2, 3, 0, 1], [0, 0, 4, 2], [0, 1, 3, 3]]
    >>> labels = MixtureOfUnigrams(2, random_state=0).fit(X).predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    record_types: ClassVar[dict[str, Any]] = records(UnigramModel, UnigramParams, ValueTotals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": UnigramParams,
        "_model": UnigramModel,
        "weights_": Annotated[Any, of.weights("K")],
    }
    binarize = REALS
    accelerate = False
    work = 4
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "init": WordOr(("portfolio", "k-means", "anneal", "random"), "an array of shares or labels"),
    }

    n_components: int = field(default=2, kw_only=False)
    smoothing: float = 1.0
    init: Any = "portfolio"
    n_init: int = 1
    max_iter: int = 500

    def _check_table(self, sums: Any) -> None:
        check_counts(self, sums)

    def _build_model(self, sums: Any) -> UnigramModel:
        return UnigramModel(int(self.n_components), float(self.smoothing), float(sums.sums.sum() / sums.weight))

    def _n_starts(self) -> int:
        return n_starts(self.init, int(self.n_init)) if isinstance(self.init, str) else 1

    def _initializer(self, model: UnigramModel) -> InitParams:
        return topic_initializer(model, self.init, self._name)

    def _start_digest(self) -> str:
        return "" if isinstance(self.init, str) else digest_of((np.asarray(self.init, dtype=float),))

    def _store_result(self, model: Any, sweep: Any, result: Any, sums: Any) -> None:
        super()._store_result(model, sweep, result, sums)
        self.marginals_ = (sums.sums + 0.5) / (sums.sums.sum() + 0.5 * len(sums.sums))

    def _set_fitted_attributes(self) -> None:
        self.weights_, self.components_ = self._params.weights, self._params.probs
