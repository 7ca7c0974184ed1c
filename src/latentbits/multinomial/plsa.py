"""``PLSA``: probabilistic latent semantic analysis, every token with its own topic.

Story: a token of row d has topic z with probability ``theta[d, z]`` and is then word w with probability ``probs[z, w]``.

E-step  P(z | d, w) ∝ (theta_dz probs_zw)^b,   M-step  normalised sums of counts times P(z | d, w); b = 1 is EM, which never
loses; b < 1 (tempering) keeps topics from fitting single rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from .. import declared as of
from ..base import LatentBitsEstimator, RowStateMixin, records
from ..base.common import seed_of
from ..base.options import Check, Number, OptimiserOptions, Positive, option_fields
from ..data.block import Float
from ..data.checks import check_weights
from ..data.rng import stream
from ..data.summary import ValueTotals
from ..data.values import REALS, whole_table
from ..engine.protocols import ExtraPass, Sweep
from ..engine.restarts import InitParams
from ..errors import InputError, LatentBitsWarning
from .counts import check_counts
from .shares import SharesModel

# Fold-in ends when no share of a row moves by more.
SETTLED = 1e-8
MOST_STEPS = 500
# Share of the tokens that is hidden to choose a temperature, and the lowest that is tried.
HIDDEN = 0.1
COLDEST = 0.3


class PlsaParams(NamedTuple):
    """P(word | topic) and, when the fit is over, P(topic)."""

    probs: Annotated[Float, of.shares("K", "D")]
    weights: Annotated[Float, of.weights("K")]


class PlsaStats(NamedTuple):
    """Sums over rows."""

    counts: Float  # (D, K)
    log_likelihood: float


class PlsaPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    words: Any  # (D, K), to the power of the temperature
    params: PlsaParams


@dataclass(frozen=True)
class PlsaModel(SharesModel):
    """The maths; row state is theta (n, K)."""

    params_type: ClassVar[Any] = PlsaParams
    smoothing: of.Amount = 0.0
    mean_length: of.Amount = 1.0

    def init_params(self, sweep: Sweep, seed: int, restart: int) -> PlsaParams:
        """Words of every topic drawn from the simplex."""
        n_columns = sweep.source.shape[1]
        probs = stream(seed, "start", restart).dirichlet(np.ones(n_columns), size=self.n_components)
        return PlsaParams(np.maximum(probs, 1e-12), np.full(self.n_components, 1.0 / self.n_components))

    def precompute(self, params: PlsaParams) -> PlsaPrecomputed:
        """Words by column."""
        words = np.ascontiguousarray(params.probs.T)
        return PlsaPrecomputed(words if self.temperature == 1.0 else words**self.temperature, params)

    def e_step(self, block: Any, rows: Float, precomputed: PlsaPrecomputed) -> tuple[PlsaStats, Float]:
        """Sums of the counts of the topics, and the new shares of the rows."""
        from .kernels import aspect_rows

        theta, logs, weights = rows.copy(), np.empty(block.n_rows), block.row_weights()
        counts = np.zeros((block.n_columns, self.n_components))
        aspect_rows(
            block.indptr, block.indices, block.values, weights, precomputed.words, self.temperature, theta, counts, logs
        )
        counted = weights > 0  # rows that do not count may hold words that no topic has
        return PlsaStats(counts, float(logs[counted] @ weights[counted])), theta

    def precompute_single(self, params: PlsaParams) -> PlsaPrecomputed:
        """Words by column in float32, topics padded to a multiple of eight."""
        words = self.precompute(params).words
        wide = np.zeros((len(words), -(-self.n_components // 8) * 8), np.float32)
        wide[:, : self.n_components] = words
        return PlsaPrecomputed(wide, params)

    def e_step_single(self, block: Any, rows: Any, precomputed: PlsaPrecomputed) -> tuple[PlsaStats, Any]:
        """The same in float32; sums over rows in float64."""
        from .kernels import aspect_rows_single

        words, k, weights = precomputed.words, self.n_components, block.row_weights()
        assert len(words) == block.n_columns  # kernels do not check places
        own = np.zeros((block.n_rows, words.shape[1]), np.float32)
        own[:, :k] = rows if self.temperature == 1.0 else rows**self.temperature
        sums, fresh, logs = np.zeros_like(words), np.empty_like(own), np.empty(block.n_rows)
        lists = (block.indptr, block.indices, block.values)
        aspect_rows_single(lists, weights, words.ravel(), own.ravel(), sums.ravel(), fresh.ravel(), logs)
        counted, empty = weights > 0, fresh.sum(axis=1) == 0  # rows without words keep their shares
        theta = np.where(empty[:, None], rows, fresh[:, :k]).astype(np.float32, copy=False)
        counts = sums[:, :k].astype(np.float64) * words[:, :k]
        return PlsaStats(counts, float(logs[counted] @ weights[counted])), theta

    def objective(self, precomputed: PlsaPrecomputed, stats: PlsaStats) -> float:
        """Log-likelihood of all tokens plus the log prior of the words."""
        if self.smoothing == 0:
            return stats.log_likelihood
        return stats.log_likelihood + self.smoothing * float(np.log(precomputed.params.probs).sum())

    def m_step(self, params: PlsaParams, stats: PlsaStats, extra_pass: ExtraPass | None) -> PlsaParams:
        """Shares of counts."""
        counts = np.ascontiguousarray(stats.counts.T) + self.smoothing
        total = counts.sum(axis=1, keepdims=True)
        probs = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / counts.shape[1])
        mass = stats.counts.sum(axis=0)
        return PlsaParams(probs, mass / max(float(mass.sum()), 1e-300))

    def sort_components(self, params: PlsaParams) -> PlsaParams:
        """Topics by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        return PlsaParams(params.probs[order], params.weights[order])

    def folded(self, block: Any, precomputed: PlsaPrecomputed) -> tuple[Float, Float]:
        """Shares (n, K) of rows at given words, and their log-likelihoods (n,)."""
        from .kernels import aspect_rows, fold_rows

        theta, logs = np.full((block.n_rows, self.n_components), 1.0 / self.n_components), np.empty(block.n_rows)
        lists = (block.indptr, block.indices, block.values)
        fold_rows(*lists, precomputed.words, self.temperature, MOST_STEPS, SETTLED, theta, logs)
        plain = np.ascontiguousarray(precomputed.params.probs.T)
        aspect_rows(*lists, np.ones(block.n_rows), plain, 1.0, theta.copy(), np.empty((0, self.n_components)), logs)
        return theta, logs

    def represent(self, block: Any, precomputed: PlsaPrecomputed) -> Float:
        """P(topic | row) (n, K)."""
        return self.folded(block, precomputed)[0]

    def fold_in(self, block: Any, precomputed: PlsaPrecomputed) -> Float:
        """Log-likelihood (n,) of the tokens at the best shares of their rows."""
        return self.folded(block, precomputed)[1]

    log_prob = fold_in

    def sample_rows(self, params: PlsaParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) of counts with shares drawn around the topic weights, and these shares (n, K)."""
        theta = rng.dirichlet(np.maximum(params.weights, 1e-6) * self.n_components, size=n)
        lengths = rng.poisson(self.mean_length, size=n)
        chances = theta @ params.probs
        return np.stack([rng.multinomial(m, p / p.sum()) for m, p in zip(lengths, chances)]), theta

    def n_free(self, params: PlsaParams) -> int:
        """Free parameters of the topics; every row brings K - 1 more."""
        return params.probs.size - self.n_components


@option_fields
class PLSA(RowStateMixin, OptimiserOptions, LatentBitsEstimator):
    """Probabilistic latent semantic analysis: rows of counts as mixtures of topics.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    temperature : float or "auto"
        b of the tempered E-step, above 0 and up to 1; 1 is EM, 0.8 often generalises better.  "auto" hides a tenth of the
        tokens and lowers b from 1, to nine tenths each time, while that predicts them better.
    smoothing : float
        η ≥ 0 tokens of every word added to every topic; 0 is maximum likelihood.
    n_init : int
        Random starts; the best is kept.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        P(word | topic).
    weights_ : (n_components,) array
        P(topic) over all tokens, decreasing.
    temperature_ : float
        b of the fit; with "auto" ``perplexities_`` has that of the hidden tokens for every b that was tried.
    objective_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`~latentbits.BernoulliMixture`.

    Notes
    -----
    ``transform`` folds rows in: P(topic | row) at the fitted words.  ``score_samples`` is the log-likelihood of the tokens of
    a row at these shares, which were fitted to the row itself: no predictive likelihood.  :meth:`document_weights` gives the
    other parameterisation, P(row | topic).  At temperature 1 it has the fixed points of NMF with the Kullback-Leibler loss.

    References
    ----------
    T. Hofmann, *Unsupervised Learning by Probabilistic Latent Semantic Analysis*, Machine Learning 42 (2001).

    Examples
    --------
    >>> from latentbits import PLSA
    >>> X = [[3, 2, 0, 0], [2, 3, 0, 1], [0, 0, 4, 2], [0, 1, 3, 3]]
    >>> theta = PLSA(2, random_state=0).fit_transform(X)
    >>> theta.shape, bool((theta[0].argmax() == theta[1].argmax()) and (theta[0].argmax() != theta[2].argmax()))
    ((4, 2), True)
    """

    record_types: ClassVar[dict[str, Any]] = records(PlsaModel, PlsaParams, ValueTotals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": PlsaParams,
        "_model": PlsaModel,
        "weights_": Annotated[Any, of.weights("K")],
        "temperature_": of.Positive,
        "perplexities_": of.Maybe(dict[float, of.AnyNumber]),
    }
    binarize = REALS
    score_kind = "estimate"
    criterion = "rows"
    accelerate = False
    work = 4
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "temperature": Positive(most=1.0, others=("auto",)),
    }

    n_components: int = field(default=2, kw_only=False)
    temperature: Any = 1.0
    smoothing: float = 0.01
    n_init: int = 3
    max_iter: int = 500
    tol: float = 1e-06

    def _check_table(self, sums: Any) -> None:
        check_counts(self, sums)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to a table of counts, as in every family; with ``temperature="auto"`` the temperature is chosen first.

        Parameters
        ----------
        X : table of counts
        y : ignored
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        the estimator

        Examples
        --------
        >>> from latentbits import PLSA
        >>> PLSA(2, random_state=0).fit([[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 2], [0, 1, 2, 4]]).components_.shape
        (2, 4)
        """
        self._check_options()
        if isinstance(self.temperature, str):
            self._choose_temperature(X, sample_weight)
        else:
            self.temperature_ = float(self.temperature)
        return super().fit(X, y, sample_weight)

    def _choose_temperature(self, X: Any, sample_weight: Any) -> None:
        """Lower the temperature while hidden tokens are predicted better."""
        table = whole_table(self._open(X, reset=True))
        rng = stream(seed_of(self.random_state), "cells")
        hidden = table.copy()
        whole = np.floor(table.data)
        hidden.data = rng.binomial(whole.astype(np.int64), HIDDEN).astype(np.float64)
        rest = table - hidden
        rest.data = np.maximum(rest.data, 0.0)
        hidden.eliminate_zeros()
        if not hidden.data.sum() > 0:
            raise InputError(f"{self._name}: temperature='auto' needs counts; there are no whole tokens to be hidden.")
        self.perplexities_, b = {}, 1.0
        owner = np.repeat(np.arange(table.shape[0]), np.diff(hidden.indptr))
        weights = check_weights(sample_weight, table.shape[0], self._name)
        tokens = hidden.data if weights is None else hidden.data * weights[owner]
        while True:
            part = clone(self).set_params(temperature=b, checkpoint=None, callbacks=None, n_init=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentBitsWarning)
                theta = np.asarray(part.fit(rest, sample_weight=sample_weight).transform(rest))
            chances = np.einsum("mk,mk->m", theta[owner], part.components_.T[hidden.indices])
            logs = np.log(np.maximum(chances, 1e-300))
            self.perplexities_[b] = float(np.exp(-(tokens @ logs) / tokens.sum()))
            tried = sorted(self.perplexities_, reverse=True)
            if (len(tried) > 1 and self.perplexities_[tried[-1]] >= self.perplexities_[tried[-2]]) or b < COLDEST:
                break
            b = round(0.9 * b, 6)
        self.temperature_ = min(self.perplexities_, key=lambda b: self.perplexities_[b])

    def _build_model(self, sums: Any) -> PlsaModel:
        length = float(sums.sums.sum() / sums.weight)
        return PlsaModel(int(self.n_components), self.temperature_, float(self.smoothing), length)

    def _initializer(self, model: PlsaModel) -> InitParams:
        return model.init_params

    def _store_result(self, model: Any, sweep: Any, result: Any, sums: Any) -> None:
        super()._store_result(model, sweep, result, sums)
        self.marginals_ = (sums.sums + 0.5) / (sums.sums.sum() + 0.5 * len(sums.sums))

    def _set_fitted_attributes(self) -> None:
        self.components_, self.weights_ = self._params.probs, self._params.weights

    def document_weights(self, X: Any) -> Any:
        """The symmetric parameterisation: P(row | topic) and P(topic) of the rows of a table.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array, (n_components,) array
            Each column of the first sums to one.

        Examples
        --------
        >>> from latentbits import PLSA
        >>> X = [[3, 2, 0, 0], [2, 4, 0, 1], [0, 0, 3, 2], [0, 1, 2, 4]]
        >>> type(PLSA(2, random_state=0).fit(X).document_weights(X)).__name__
        'tuple'
        """
        theta = np.asarray(self.transform(X))
        totals = self._ask(X).by_rows(_lengths)
        joint = theta * totals[:, None] / totals.sum()
        weights = joint.sum(axis=0)
        return joint / np.maximum(weights, 1e-300), weights


def _lengths(block: Any, precomputed: Any) -> Float:
    """Counts of every row of a block (n,)."""
    rows = np.repeat(np.arange(block.n_rows), block.row_counts())
    out: Float = np.bincount(rows, weights=block.values, minlength=block.n_rows).astype(np.float64)
    return out
