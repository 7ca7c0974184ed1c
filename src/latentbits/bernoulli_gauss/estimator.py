"""``BernoulliGaussMixture``: topics of rows of weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, MembershipsMixin, records
from ..base.common import digest_of
from ..base.memberships import MostProbable
from ..base.options import Check, Number, OneOf, OptimiserOptions, Positive, WordOr, is_whole, option_fields
from ..data.block import Float
from ..data.summary import ValueTotals
from ..data.values import REALS, ValueBlock
from ..engine.em import EMOptions, Point, State, em
from ..engine.restarts import InitParams
from ..errors import InputError, NotConvergedWarning, TableWarning
from ..maths.topics import n_starts, topic_initializer
from .alternating import PrefixModel, alternate
from .model import LbgModel, LbgParams, Words, round_half_up
from .soft import SoftModel, SoftParams

# No variance is below this.
LEAST_VARIANCE = 1e-12
# A topic with less than this many rows is dead.
DEAD = 1e-8


@dataclass(frozen=True)
class Keywords:
    """A number of keywords: whole, a share of the entries, or "auto"."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        share = isinstance(value, (float, np.floating)) and 0 < value <= 1
        if (is_whole(value) and value >= 1) or share or (isinstance(value, str) and value == "auto"):
            return None
        return f"must be a whole number, 1 or more, a share above 0 and up to 1, or 'auto'; got {value!r:.60}."


class GivenFloors(MembershipsMixin):
    """Smallest variances (D,) that a classifier gives to the mixtures of all its classes; None: those of the table."""

    _floors: Any = None


@option_fields
class BernoulliGaussMixture(GivenFloors, OptimiserOptions, LatentBitsEstimator):  # type: ignore[override]
    """Latent Bernoulli-Gauss mixture: topics of rows of non-negative weights (tf-idf, frequencies), told by their keywords.

    The largest entries of a row are its keywords.  A topic says how probable every word is as a keyword, and how large it
    then is.  Rows are not normalised here: put ``TfidfTransformer`` (rows of unit length) before it, which decides the
    outcome.

    Parameters
    ----------
    n_components : int
        Number of topics K.
    n_keywords : int, float or "auto"
        Keywords per row: a number, a share (0, 1] of the row's own entries, or half of the median number of entries.
    ties : {"auto", "all", "first"}
        Whether all entries that equal the last keyword are keywords too, or the first columns only; "auto" takes all in
        tables of whole numbers.
    keyword_update : {"none", "paper", "full", "hindex"}
        Whether every topic learns a number of keywords of its own after the fit with ``n_keywords``: by the paper's rule (9),
        its unreduced form, or the number that agrees with itself.  The rules mostly run in cycles, and selection fades: for
        comparison with the paper only.  ``stop_reason_`` and ``alternation_`` tell what happened.
    indicators : {"hard", "soft"}
        Whether keywords are the largest entries of a row, or are told by probabilities, which suits small dense tables; then
        there is no number of keywords, and ``score`` is a proper density.
    smoothing : float
        α ≥ 0: rows' worth of the word's own share of keywords in every topic.
    value_smoothing : float
        κ ≥ 0: keywords' worth of the word's own Gaussian in every topic.
    weight_concentration : float
        β ≥ 0: rows added to every topic's weight.
    variance_floor : float or "auto"
        Least variance of a keyword, as a share of its column's variance; "auto" is 0.01, with soft indicators 0.1.
    init : {"portfolio", "k-means", "anneal", "random"}, (n_rows, n_components) array or (n_rows,) array
        Starts: k-means and three annealed random ones; one kind only; or given shares or labels of the rows.
    n_init : int
        How often the starts are repeated.

    Attributes
    ----------
    weights_ : (n_components,) array
        Topic weights, decreasing.
    keyword_prob_, means_, variances_ : (n_components, n_features) array
        Of every word as a keyword.  ``components_`` is ``keyword_prob_``.
    keyword_prob_raw_ : (n_components, n_features) array
        The same without smoothing.
    cross_means_, cross_variances_ : (n_features,) array
        Of words that are not keywords.
    n_keywords_ : float
        Keywords per row, or share of a row's entries.
    labels_, empty_components_, stop_reason_
        Topic of every training row; topics without rows; how the fit ended.
    objective_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`~latentbits.BernoulliMixture`.

    Notes
    -----
    ``score`` is the mean log density of rows with the keywords that they have.  Keywords are a function of the row, so it is
    no proper density: it compares topics, starts and numbers of topics with the same ``n_keywords``, nothing else.

    References
    ----------
    A. Shashua, G. Pragier, *The Latent Bernoulli-Gauss Model for Data Analysis*.

    Examples
    --------
    >>> from latentbits import BernoulliGaussMixture
    >>> X = [[3, 2, 0, 0], [2, 3, 0, 1], [0, 0, 4, 2], [0, 1, 3, 3]]
    >>> model = BernoulliGaussMixture(2, n_keywords=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
    True
    """

    record_types: ClassVar[dict[str, Any]] = records(
        LbgModel, LbgParams, PrefixModel, SoftModel, SoftParams, Words, ValueTotals
    )
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": LbgParams | SoftParams,
        "_model": LbgModel | SoftModel,
        "weights_": Annotated[Any, of.weights("K")],
        "keyword_prob_": Annotated[Any, of.shares("K", "D")],
        "keyword_prob_raw_": Annotated[Any, of.amounts("K", "D")],
        "means_": Annotated[Any, of.reals("K", "D")],
        "variances_": Annotated[Any, of.positives("K", "D")],
        "cross_means_": Annotated[Any, of.reals("D")],
        "cross_variances_": Annotated[Any, of.amounts("D")],
        "n_keywords_": Annotated[Any, of.amounts("K")] | of.AnyNumber,
        "expected_rows_": Annotated[Any, of.amounts("K")],
        "labels_": Annotated[Any, of.places("N", below="K")],
        "stop_reason_": str,
        "alternation_": of.Maybe(list[dict[str, of.Plain]]),
    }
    criterion = "rows"  # BIC counts three numbers for every word and topic, most of which the prior sets
    binarize = REALS
    accelerate = False
    work = 4
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "value_smoothing": Number(0.0),
        "weight_concentration": Number(1.0),
        "indicators": OneOf(("hard", "soft")),
        "keyword_update": OneOf(("none", "paper", "full", "hindex")),
        "variance_floor": Positive(others=("auto",)),
        "ties": OneOf(("auto", "all", "first")),
        "n_keywords": Keywords(),
        "init": WordOr(("portfolio", "k-means", "anneal", "random"), "an array of shares or labels"),
    }

    n_components: int = field(default=2, kw_only=False)
    n_keywords: Any = "auto"
    ties: str = "auto"
    keyword_update: str = "none"
    indicators: str = "hard"
    smoothing: float = 1.0
    value_smoothing: float = 10.0
    weight_concentration: float = 1.0
    variance_floor: Any = "auto"
    init: Any = "portfolio"
    n_init: int = 1
    max_iter: int = 500

    def _check_together(self) -> None:
        if self.keyword_update != "none" and (self.indicators == "soft" or isinstance(self.n_keywords, float)):
            raise InputError(f"{self._name}: keyword_update is for hard indicators and a number of keywords.")

    def _check_table(self, sums: ValueTotals) -> None:  # type: ignore[override]
        if sums.n_ones == 0:
            raise InputError(f"{self._name}: every cell of the table is 0; nothing can be learnt from it.")
        if sums.n_rows < self.n_components:
            raise InputError(
                f"{self._name}: {self.n_components} topics need as many rows; the table has {sums.n_rows} sample(s)."
            )
        if sums.n_empty_rows:
            n = sums.n_empty_rows
            warnings.warn(
                f"{self._name}: {n} row{'s' * (n > 1)} without any entry; they have no keywords, and go where rows without "
                "keywords go.",
                TableWarning,
                stacklevel=5,
            )
        if sums.n_others == 0:
            warnings.warn(
                f"{self._name}: every entry of the table is 1; BernoulliMixture is the direct tool for such tables.",
                TableWarning,
                stacklevel=5,
            )
        self.unobserved_features_ = np.empty(0, np.int64)

    def _table_sums(self, sweep: Any) -> tuple[Any, int]:
        """Sums of the table, and what its keywords look like."""
        sums, digest = super()._table_sums(sweep)
        soft = self.indicators == "soft"
        rule: dict[str, Any] = {"n_keywords": 1.0, "by_share": True} if soft else self._keyword_rule(sums)
        bare = LbgModel(int(self.n_components), **rule)
        centers = sums.sums / np.maximum(sums.ones, 1e-300)
        floor = (0.1 if soft else 0.01) if self.variance_floor == "auto" else float(self.variance_floor)
        self._words = _words(sums, sweep, bare, centers, floor, self._floors)
        return sums, digest

    def _keyword_rule(self, sums: ValueTotals) -> dict[str, Any]:
        """How many keywords a row has."""
        value = self.n_keywords
        by_share = isinstance(value, (float, np.floating))
        if isinstance(value, str):
            value = max(1, round_half_up(0.5 * sums.median_length))
        all_ties = sums.n_fractions == 0 if self.ties == "auto" else self.ties == "all"
        limit = 1.0 if by_share else float(len(sums.ones))
        return {"n_keywords": min(float(value), limit), "by_share": by_share, "all_ties": all_ties}

    def _build_model(self, sums: ValueTotals) -> Any:  # type: ignore[override]
        strengths: dict[str, Any] = {
            "smoothing": float(self.smoothing),
            "value_smoothing": float(self.value_smoothing),
            "concentration": float(self.weight_concentration),
            "total_weight": sums.weight,
        }
        if self.indicators == "soft":
            return SoftModel(int(self.n_components), self._words, **strengths)
        return LbgModel(int(self.n_components), self._words, **self._keyword_rule(sums), **strengths)

    def _n_starts(self) -> int:
        return n_starts(self.init, int(self.n_init)) if isinstance(self.init, str) else 1

    def _initializer(self, model: Any) -> InitParams:
        return topic_initializer(model, self.init, self._name)

    def _warm_start_params(self, model: Any, fresh: Callable[[], Any]) -> Any:
        if not isinstance(self._params, model.params_type):
            raise InputError(f"{self._name}: warm_start cannot go on with other indicators. Make a new estimator.")
        return self._params

    def _start_digest(self) -> str:
        return "" if isinstance(self.init, str) else digest_of((np.asarray(self.init, dtype=float),))

    def _store_result(self, model: Any, sweep: Any, result: Any, sums: Any) -> None:
        super()._store_result(model, sweep, result, sums)
        rows: list[Any] = [None] * sweep.n_blocks
        self.__dict__.pop("alternation_", None)
        self.stop_reason_ = "converged" if self.converged_ else "max_iter"
        if self.keyword_update != "none":
            model, rows = self._learn_keywords(model, sweep, sums)
        self.marginals_ = model.words.shares
        precomputed = model.precompute(self._params)
        stats = model.finalize_stats(precomputed, sweep.map(model.e_step, rows, precomputed, keep_rows=False)[0])
        mass = stats.mass[:, None]
        self.keyword_prob_raw_ = np.where(mass > 0, stats.sums[:, 0].T / np.maximum(mass, 1e-300), 0.0)
        self.expected_rows_ = stats.mass
        self.labels_ = np.concatenate(sweep.collect(MostProbable(model), precomputed))
        self.empty_components_ = [int(k) for k in np.flatnonzero(stats.mass < DEAD)]
        if self.empty_components_:
            empty = [self.component_names_[k] for k in self.empty_components_]
            warnings.warn(
                f"{self._name}: {', '.join(empty)} hold{'s' * (len(empty) == 1)} no rows. Use fewer components.",
                TableWarning,
                stacklevel=5,
            )

    def _learn_keywords(self, model: LbgModel, sweep: Any, sums: Any) -> tuple[Any, list[Any]]:
        """Stages 2 and 3: the topics' own numbers of keywords, then EM with frozen keywords."""
        centers = sums.sums / np.maximum(sums.ones, 1e-300)

        def words_of(held: Any, rows: list[Any]) -> Words:
            return _words(sums, sweep, held, centers, 0.0, model.words.floors, rows)

        told = alternate(model, self._params, sweep, self.keyword_update, words_of)
        options = EMOptions(self.max_iter, self.tol, max(1.0, sums.n_cells), accelerate=False)
        point, path, settled = Point(told.params, told.rows), [], False
        for step in em(told.model, sweep, State(point), options):
            point, settled = step.point, step.settled
            path.append(step.objective)
        self.stop_reason_, self.alternation_ = told.status, told.history
        self.history_.append(path)
        self.n_iter_, self.converged_, self.objective_ = len(path), settled, path[-1]
        if told.status == "max_iter":
            warnings.warn(
                f"{self._name}: the numbers of keywords were still changing after {len(told.history)} alternations.",
                NotConvergedWarning,
                stacklevel=6,
            )
        self._params, self._model = told.model.sort_components(point.params), told.model
        order = np.argsort(-point.params.weights, kind="stable")
        self._model = replace(told.model, topic_keywords=told.model.topic_keywords[order])
        self._set_fitted_attributes()
        return self._model, told.rows

    def _set_fitted_attributes(self) -> None:
        params, words = self._params, self._model.words
        self.weights_, self.keyword_prob_, self.components_ = params.weights, params.probs, params.probs
        self.means_, self.variances_ = params.means, params.variances
        learned = params if isinstance(params, SoftParams) else words
        self.cross_means_, self.cross_variances_ = learned.cross_means, learned.cross_variances
        self.n_keywords_ = getattr(self._model, "topic_keywords", self._model.n_keywords)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not isinstance(self._params, self._model.params_type):
            raise of.MisfitError(f"_params must be {self._model.params_type.__name__}, as the model needs them")

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the topic probabilities of every row.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussMixture
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> model = BernoulliGaussMixture(2, n_keywords=3, n_init=1, random_state=0).fit(X)
        >>> model.predict_log_proba(X).shape
        (12, 2)
        """
        return np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny))

    def keyword_mask(self, X: Any) -> Any:
        """Which entries of rows are keywords.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_features) sparse array of bool

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussMixture
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> model = BernoulliGaussMixture(2, n_keywords=3, n_init=1, random_state=0).fit(X)
        >>> model.keyword_mask(X).shape
        (12, 6)
        """
        import scipy.sparse as sp

        self._check_fitted()
        if self.indicators == "soft":
            raise InputError(f"{self._name}: with soft indicators no entry is a keyword for sure.")
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        return sp.vstack(sweep.collect(_Mask(self._model), precomputed), format="csr")

    def top_keywords(self, component: Any, n: int = 10) -> list[dict[str, Any]]:
        """Words that stand out as keywords of a topic, by p log(p / share of rows with the keyword).

        Parameters
        ----------
        component : int or str
            Its place in ``components_``, from 0, or its name.
        n : int
            How many.

        Returns
        -------
        list of dict
            With rank, feature, probability, marginal, mean and sd (of its value as a keyword).

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussMixture
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> model = BernoulliGaussMixture(2, n_keywords=3, n_init=1, random_state=0).fit(X)
        >>> [row["feature"] for row in model.top_keywords(0, 3)]
        ['0', '1', '2']
        """
        self._check_fitted()
        component = self._component_index(component)
        names, probs = self._feature_names(), self.keyword_prob_[component]
        order = np.argsort(-self._standing(probs), kind="stable")[:n]
        return [
            {
                "rank": r + 1,
                "feature": names[j],
                "probability": float(probs[j]),
                "marginal": float(self.marginals_[j]),
                "mean": float(self.means_[component, j]),
                "sd": float(np.sqrt(self.variances_[component, j])),
            }
            for r, j in enumerate(order)
        ]


class _Keywords:
    """Sums of keywords: counts, distances from the column's mean, and their squares, (3, D)."""

    def __init__(self, model: LbgModel, centers: Float) -> None:
        self.model, self.centers = model, centers

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[Float, None]:
        first = block.leading(self.model.lengths(block) if rows is None else rows)
        columns, weights = block.indices[first], np.repeat(block.row_weights(), block.row_counts())[first]
        away = block.values[first] - self.centers[columns]
        parts = [np.bincount(columns, weights * away**power, minlength=block.n_columns) for power in range(3)]
        return np.stack(parts), None


def variance_floors(sums: ValueTotals, share: float) -> Float:
    """Least variances (D,): a share of the column's own; columns that never vary borrow the mean of the others."""
    variances, means = sums.variances, sums.sums / max(sums.weight, 1e-300)
    varying = variances > 1e-10 * means**2 + 1e-300  # a difference of sums is never quite zero
    usual = float(variances[varying].mean()) if varying.any() else 1.0
    return np.maximum(share * np.where(varying, variances, usual), LEAST_VARIANCE)


def _words(
    sums: ValueTotals,
    sweep: Any,
    model: LbgModel,
    centers: Float,
    floor: float,
    floors: Float | None = None,
    rows: list[Any] | None = None,
) -> Words:
    """What is known of every word before the topics."""
    floors = variance_floors(sums, floor) if floors is None else floors
    held = [None] * sweep.n_blocks if rows is None else rows
    count, away, square = sweep.map(_Keywords(model, centers), held, keep_rows=False)[0]
    total = max(float(count.sum()), 1e-300)
    # The Gaussian of all keywords, and of every word as a keyword, drawn one keyword toward it.
    values = away + count * centers
    mean = float(values.sum() / total)
    spread = float((square + 2 * away * (centers - mean) + count * (centers - mean) ** 2).sum() / total)
    own_mean = centers + away / np.maximum(count, 1e-300)
    within = np.maximum(square - away**2 / np.maximum(count, 1e-300), 0.0)
    word_centers = (np.where(count > 0, count * own_mean, 0.0) + mean) / (count + 1.0)
    spreads = np.maximum((within + spread) / (count + 1.0), floors)
    # What is left for the cross-Gaussians.
    others = np.maximum(sums.weight - count, 0.0)
    left, left_squares = sums.sums - values, sums.squares - (square + 2 * away * centers + count * centers**2)
    known = others > 1e-9 * max(sums.weight, 1e-300)
    # Where every row has the keyword, what is no keyword is a zero of a row to come.
    cross = np.maximum(np.where(known, left / np.where(known, others, 1.0), 0.0), 0.0)
    cross_variances = np.where(known, left_squares / np.where(known, others, 1.0) - cross**2, 0.0)
    shares = (count + 0.5) / (sums.weight + 1.0)
    return Words(shares, word_centers, spreads, floors, cross, np.maximum(cross_variances, floors))


class _Mask:
    """Keywords of a block's rows."""

    def __init__(self, model: LbgModel) -> None:
        self.model = model

    def __call__(self, block: ValueBlock, precomputed: Any) -> Any:
        own = getattr(self.model, "new_lengths", None)
        table = block.csr()
        table.data = block.leading(self.model.lengths(block) if own is None else own(block, precomputed))
        table.eliminate_zeros()
        table.sort_indices()
        return table
