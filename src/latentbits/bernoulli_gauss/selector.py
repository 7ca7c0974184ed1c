"""``BernoulliGaussSelector``: features that are keywords of some topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin

from .. import declared as of
from ..base.common import tags_of_numbers
from ..base.notebook import NotebookMixin, shape_told
from ..base.options import Check, Flag, Number, Share, Whole, option_fields
from ..base.saving import SavesMixin
from ..base.sklearn_api import check_is_fitted, clone
from ..base.tables import keep_columns
from ..data.giving_back import is_dask
from ..data.matching import reordered
from ..data.source import open_source
from ..data.values import REALS
from ..errors import InputError, InputTypeError, brief
from .estimator import BernoulliGaussMixture


@option_fields
class BernoulliGaussSelector(SelectorMixin, MetaEstimatorMixin, NotebookMixin, SavesMixin):
    """Keep the features that are keywords of some topic often enough.

    Put it before a classifier or a clustering, and scale rows to unit length again after it.

    Parameters
    ----------
    estimator : BernoulliGaussMixture, optional
        How topics are found; by default one with two topics and 20 keywords per row.
    threshold : float
        A feature is kept if its (unsmoothed) keyword probability reaches this in some topic.
    max_features : int, optional
        Instead: as many features with the highest such probability.
    quantile : float, optional
        Instead: this share of the features, by the same order.
    min_topic_rows : float
        Topics with fewer rows have no say: in a topic of one row all its keywords have probability 1.
    min_rows : int
        Features that are keywords in fewer rows are left out.
    prefit : bool
        Whether ``estimator`` is fitted already.

    Attributes
    ----------
    estimator_ : BernoulliGaussMixture
        Fitted.
    scores_ : (n_features,) array
        Highest keyword probability over topics.

    References
    ----------
    A. Shashua, G. Pragier, *The Latent Bernoulli-Gauss Model for Data Analysis*, section on filtering.

    Examples
    --------
    >>> from latentbits import BernoulliGaussMixture, BernoulliGaussSelector
    >>> X = [[3, 2, 0, 0.1], [2, 3, 0, 0], [0, 0, 4, 0], [0.1, 0, 3, 0]] * 5
    >>> topics = BernoulliGaussMixture(2, n_keywords=2, random_state=0)
    >>> BernoulliGaussSelector(topics, threshold=0.5, min_topic_rows=5).fit(X).get_support().tolist()
    [True, True, True, False]
    """

    fitted_types: ClassVar[Mapping[str, Any]] = {
        "estimator_": BernoulliGaussMixture,
        "scores_": Annotated[Any, of.amounts("D")],
        "support_mask_": Annotated[Any, of.flags("D")],
    }
    option_checks: ClassVar[Mapping[str, Check]] = {
        "threshold": Share(),
        "quantile": Share(others=(None,)),
        "max_features": Whole(1, others=(None,)),
        "min_topic_rows": Number(),
        "min_rows": Number(),
        "prefit": Flag(),
    }

    estimator: Any = field(default=None, kw_only=False)
    threshold: float = 0.02
    max_features: int | None = None
    quantile: float | None = None
    min_topic_rows: float = 10.0
    min_rows: int = 2
    prefit: bool = False

    def __sklearn_tags__(self) -> Any:
        return tags_of_numbers(super().__sklearn_tags__())

    def _check_together(self) -> None:
        if self.max_features is not None and self.quantile is not None:
            raise InputError(f"{self._name}: max_features and quantile exclude each other; give one of them.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find topics and their keywords.

        Parameters
        ----------
        X : table of numbers, 0 or more
        y : ignored
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussSelector
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> int(BernoulliGaussSelector(max_features=4).fit(X).get_support().sum())
        4
        """
        self._check_options()
        if self.prefit:
            if self.estimator is None:
                raise InputError(f"{self._name}: prefit=True needs an estimator that is fitted.")
            if not isinstance(self.estimator, BernoulliGaussMixture):
                raise InputTypeError(
                    f"{self._name}: estimator must be a BernoulliGaussMixture; got {brief(self.estimator)}."
                )
            check_is_fitted(self.estimator, "_params")
            self.estimator_ = self.estimator
        else:
            topics = (
                BernoulliGaussMixture(2, n_keywords=20, random_state=0) if self.estimator is None else self.estimator
            )
            if not isinstance(topics, BernoulliGaussMixture):
                raise InputTypeError(f"{self._name}: estimator must be a BernoulliGaussMixture; got {brief(topics)}.")
            self.estimator_ = clone(topics).fit(X, sample_weight=sample_weight)
        found = self.estimator_
        keep_columns(found, self)
        counts = found.keyword_prob_raw_ * found.expected_rows_[:, None]
        large = found.expected_rows_ >= self.min_topic_rows
        if not large.any():
            large = found.expected_rows_ >= found.expected_rows_.max()
        self.scores_ = np.where(counts.sum(axis=0) >= self.min_rows, found.keyword_prob_raw_[large].max(axis=0), 0.0)
        self.support_mask_ = self._kept()
        if not self.support_mask_.any():
            raise InputError(
                f"{self._name}: no feature is kept: the highest keyword probability is {self.scores_.max():.3g}, "
                f"below threshold={self.threshold:g}. Lower the threshold."
            )
        return self

    def _kept(self) -> Any:
        """Which features are kept."""
        most = self.max_features
        if self.quantile is not None:
            most = max(1, int(np.ceil(self.quantile * len(self.scores_))))
        if most is None:
            return (self.scores_ >= self.threshold) & (self.scores_ > 0)
        support = np.zeros(len(self.scores_), np.bool_)
        support[np.argsort(-self.scores_, kind="stable")[:most]] = True
        return support & (self.scores_ > 0)

    def transform(self, X: Any) -> Any:
        """The features that are kept.

        Parameters
        ----------
        X : table of numbers, 0 or more

        Returns
        -------
        (n_rows, n_kept) table, a lazy one of Dask for one of Dask's

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussSelector
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> BernoulliGaussSelector(max_features=4).fit(X).transform(X).shape
        (12, 4)
        """
        if is_dask(X):
            return self._kept_lazily(X)
        return self._asked(super().transform, reordered(X, getattr(self, "feature_names_in_", None)))

    def _kept_lazily(self, X: Any) -> Any:
        """The columns of a Dask table that are kept."""
        check_is_fitted(self, "scores_")
        X, kept = reordered(X, getattr(self, "feature_names_in_", None)), np.flatnonzero(self.support_mask_)
        if X.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {X.shape[1]} features, but {self._name} is expecting {self.n_features_in_} features as input."
            )
        return X[[X.columns[j] for j in kept]] if hasattr(X, "columns") else X[:, kept]

    def inverse_transform(self, X: Any) -> Any:
        """A table with all features, those that are not kept 0.

        Parameters
        ----------
        X : (n_rows, n_kept) table of numbers, 0 or more

        Returns
        -------
        (n_rows, n_features) table

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussSelector
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> selector = BernoulliGaussSelector(max_features=4).fit(X)
        >>> selector.inverse_transform(selector.transform(X)).shape
        (12, 6)
        """
        return self._asked(super().inverse_transform, X)

    def _asked(self, answer: Callable[[Any], Any], X: Any) -> Any:
        """An answer of scikit-learn's about a table that was looked at; what it complains about is told in our words."""
        check_is_fitted(self, "scores_")
        if hasattr(type(X), "collect") and type(X).__module__.startswith("polars"):
            X = X.collect()
        open_source(X, owner=self._name, binarize=REALS)
        try:
            return answer(X)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{self._name}: {error}") from None

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if self.estimator_.n_features_in_ != self.n_features_in_ or not self.support_mask_.any():
            raise of.MisfitError(f"support_mask_ must keep some of the {self.n_features_in_} columns of estimator_")

    def _get_support_mask(self) -> Any:
        check_is_fitted(self, "scores_")
        return self.support_mask_

    def _facts(self) -> list[str]:
        """What is kept, and the table, as notebooks show them."""
        kept = f"{int(self.support_mask_.sum()):,} of {self.n_features_in_:,} features kept"
        return [kept, shape_told(self.estimator_._sums.n_rows, self.n_features_in_)]

    def _doubts_told(self) -> list[str]:
        """Those of the topics."""
        return list(self.estimator_._doubts_told())

    def _bars_are(self) -> str:
        return "keyword probabilities"

    def _gist_table(self, top: int) -> list[dict[str, Any]]:
        """The features that are kept with the highest scores."""
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        best = np.argsort(-self.scores_, kind="stable")
        return [
            {"component": "kept", "weight": np.nan, "feature": names[j], "probability": float(self.scores_[j])}
            for j in best[self.support_mask_[best]][:top]
        ]
