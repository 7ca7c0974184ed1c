"""``BernoulliGaussClassifier``: one latent Bernoulli-Gauss mixture per class."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from .. import declared as of
from ..base.common import quiet, seed_of, tags_of_numbers
from ..base.limits import check_supported
from ..base.notebook import MOST_SHOWN, NotebookMixin, shape_told
from ..base.options import Check, OptimiserOptions, is_whole, option_fields
from ..base.passes import table_sums
from ..base.saving import SavesMixin
from ..base.sklearn_api import check_is_fitted, clone
from ..base.tables import keep_columns
from ..data.checks import check_weights
from ..data.numbers import real_numbers
from ..data.source import Source, open_source
from ..data.values import REALS, whole_table
from ..engine.sweep import sweep_of
from ..errors import InputError, LatentBitsWarning, TableWarning
from ..families import family_of
from .estimator import BernoulliGaussMixture, variance_floors

# Numbers of topics per class that cross-validation tries.
CV_NUMBERS = (1, 2, 5, 10)
# Options that the mixtures of all classes have in common.
PASSED_ON = ("max_iter", "tol", "n_init", "init", "n_jobs", "block_rows", "verbose", "callbacks", "warm_start")


@dataclass(frozen=True)
class TopicNumbers:
    """A number of topics for all classes, one for each, or "cv"."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if (is_whole(value) and value >= 1) or isinstance(value, dict) or (isinstance(value, str) and value == "cv"):
            return None
        return f"must be a whole number, 1 or more, a dict or 'cv'; got {value!r:.60}."


@option_fields
class BernoulliGaussClassifier(ClassifierMixin, NotebookMixin, SavesMixin, OptimiserOptions):
    """Classify rows by one Bernoulli-Gauss mixture per class.

    Every nonzero entry is a keyword by default, so a class is a mixture of zero-inflated Gaussian naive Bayes models.  The
    least variances are those of the whole table, shared by all classes, so that their densities compare.

    Parameters
    ----------
    n_components : int, dict or "cv"
        Topics per class, or of every class by its name; "cv" takes the number of 1, 2, 5, 10 with the smallest error in
        three-fold cross-validation (``cv_errors_`` has them all).
    n_keywords : int, float or "all"
        As in :class:`BernoulliGaussMixture`; "all" are all entries of a row.
    class_prior : {"uniform", "empirical"} or array
        Class priors; uniform is the paper.
    smoothing, value_smoothing, variance_floor : float
        As in :class:`BernoulliGaussMixture`, for the mixtures of all classes.
    init : str or array
        As in :class:`BernoulliGaussMixture`.
    checkpoint : path or None
        Where the state of the fits is written, one file per class: the path with "-0", "-1", ... behind it.

    Attributes
    ----------
    classes_ : array
    estimators_ : list of BernoulliGaussMixture
    class_log_prior_ : (n_classes,) array
    threshold_ : float
        Log odds above which the second of two classes is predicted; 0 unless :meth:`tune_threshold` was called.

    Notes
    -----
    ``predict_proba`` is overconfident, as cells are taken as independent; wrap it in ``CalibratedClassifierCV`` where
    probabilities matter.

    References
    ----------
    A. Shashua, G. Pragier, *The Latent Bernoulli-Gauss Model for Data Analysis*, section on classification.

    Examples
    --------
    >>> from latentbits import BernoulliGaussClassifier
    >>> X = [[3, 2, 0], [2, 3, 0], [4, 1, 0], [0, 0, 4], [0, 1, 3], [0, 0, 2]]
    >>> BernoulliGaussClassifier(1).fit(X, list("aaabbb")).predict([[1, 1, 0], [0, 0, 1]]).tolist()
    ['a', 'b']
    """

    option_checks: ClassVar[Mapping[str, Check]] = {"n_components": TopicNumbers()}
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "classes_": Annotated[Any, of.names("C")],
        "estimators_": list[BernoulliGaussMixture],
        "class_log_prior_": Annotated[Any, of.Array(("C",), most=0.0, inf=True)],
        "threshold_": float,
        "n_iter_": of.Count,
        "cv_errors_": of.Maybe(dict[of.Count, of.Share]),
    }

    n_components: Any = field(default=5, kw_only=False)
    n_keywords: Any = "all"
    class_prior: Any = "uniform"
    smoothing: float = 1.0
    value_smoothing: float = 1.0
    variance_floor: Any = 0.01
    max_iter: int = 500
    n_init: int = 1
    init: Any = "portfolio"

    def __sklearn_tags__(self) -> Any:
        return tags_of_numbers(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit one mixture per class.

        Parameters
        ----------
        X : table of numbers, 0 or more
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.classes_.tolist()
        ['ham', 'spam']
        """
        self._check_options()
        name = self._name
        if y is None:
            raise InputError(f"{name}: requires y to be passed, but the target y is None.")
        try:
            y = column_or_1d(y, warn=True)
            if y.dtype.kind == "f":
                assert_all_finite(y, input_name="y")
            check_classification_targets(y)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name}: {error}") from None
        if isinstance(self.n_components, str):
            return self._fit_best(X, y, sample_weight)
        before = self._fitted_before() if self.warm_start else {}
        if before:  # whose mixtures know their columns by number
            X = whole_table(_opened(self, X))
        whole = BernoulliGaussMixture(1, variance_floor=self.variance_floor)
        source = whole._open(X, reset=True)
        if len(y) != source.shape[0]:
            raise InputError(
                f"{name}: y has {len(y)} classes for {source.shape[0]} rows; inconsistent numbers of samples."
            )
        self._check_topics(source.shape)
        weights = check_weights(sample_weight, len(y), name)
        if not before:
            keep_columns(whole, self)
        counted = np.ones(len(y), bool) if weights is None else weights > 0
        self.classes_ = np.unique(y[counted])
        if len(self.classes_) < 2:
            raise InputError(f"{name}: the classifier needs 2 classes or more; y has 1 class, {self.classes_[0]!r}.")
        codes = np.where(counted, np.searchsorted(self.classes_, np.where(counted, y, self.classes_[0])), -1)
        mass = np.bincount(codes[counted], weights=None if weights is None else weights[counted])
        self.class_log_prior_ = self._log_priors(mass)
        sums = self._whole_sums(X, weights)
        floor = 0.01 if self.variance_floor == "auto" else self.variance_floor
        floors, rule = variance_floors(sums, float(floor)), self._keyword_rule(sums)
        rows = whole_table(source)
        # Without a seed of its own a mixture goes on with that of its checkpoint.
        seed = None if self.random_state is None else seed_of(self.random_state)
        self.estimators_, began = [], time.monotonic()
        for c, label in enumerate(self.classes_):
            mine = np.flatnonzero(codes == c)
            own = None if weights is None else weights[mine]
            mixture = self._mixture(label, rows[mine], rule)
            mixture.set_params(
                random_state=None if seed is None else seed + c,
                checkpoint=None if self.checkpoint is None else f"{os.fspath(self.checkpoint)}-{c}",
                time_limit=self._time_left(began, len(self.classes_) - c),
            )
            if label in before:
                mixture = before[label].set_params(**mixture.get_params(deep=False))
            mixture._floors = floors
            with quiet(TableWarning):  # empty rows and small classes are what they are
                self.estimators_.append(mixture.fit(rows[mine], sample_weight=own))
        self.threshold_, self.n_iter_ = 0.0, max(estimator.n_iter_ for estimator in self.estimators_)
        return self

    def _check_topics(self, shape: tuple[int, int]) -> None:
        """Refuse more topics for a class than the table has rows."""
        wanted = self.n_components.values() if isinstance(self.n_components, dict) else (self.n_components,)
        for number in filter(is_whole, wanted):
            check_supported(self._name, "n_components", int(number), shape)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if len(self.estimators_) != len(np.unique(self.classes_)) or len(self.classes_) < 2:
            raise of.MisfitError(f"estimators_ must hold one mixture for each of the {len(self.classes_)} classes")
        if any(estimator.n_features_in_ != self.n_features_in_ for estimator in self.estimators_):
            raise of.MisfitError(f"estimators_ must be mixtures of {self.n_features_in_} columns")

    def _fitted_before(self) -> dict[Any, BernoulliGaussMixture]:
        """The mixtures of the last fit by their classes, which a warm start goes on with."""
        return dict(zip(getattr(self, "classes_", ()), getattr(self, "estimators_", ())))

    def _fit_best(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Choose the number of topics per class by cross-validation, then fit with it."""
        source = open_source(X, owner=self._name, binarize=REALS)
        if len(y) != source.shape[0]:
            raise InputError(f"{self._name}: y has {len(y)} classes for {source.shape[0]} rows; inconsistent.")
        rows, weights = whole_table(source), check_weights(sample_weight, len(y), self._name)
        folds = list(StratifiedKFold(3, shuffle=True, random_state=seed_of(self.random_state) % 2**32).split(rows, y))
        share = None if self.time_limit is None else self.time_limit / (len(CV_NUMBERS) * len(folds) + 1)
        self.cv_errors_ = {}
        for k in CV_NUMBERS:
            wrong = []
            for train, test in folds:
                part = clone(self).set_params(n_components=k, checkpoint=None, time_limit=share)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", LatentBitsWarning)
                    part.fit(rows[train], y[train], None if weights is None else weights[train])
                wrong.append(1.0 - part.score(rows[test], y[test], None if weights is None else weights[test]))
            self.cv_errors_[k] = float(np.mean(wrong))
        best = min(CV_NUMBERS, key=lambda k: (self.cv_errors_[k], k))
        chosen = clone(self).set_params(n_components=best, time_limit=share).fit(X, y, sample_weight)
        keep_columns(chosen, self)
        for name, value in vars(chosen).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def _log_priors(self, mass: Any) -> Any:
        """Logarithms of the class priors."""
        if isinstance(self.class_prior, str) and self.class_prior in ("uniform", "empirical"):
            chances = np.full(len(mass), 1.0 / len(mass)) if self.class_prior == "uniform" else mass / mass.sum()
            return np.log(np.maximum(chances, 1e-300))
        try:
            chances = real_numbers(self.class_prior)
        except (TypeError, ValueError):
            chances = np.empty(0)
        if chances.shape != (len(mass),) or not (chances > 0).all() or not np.isclose(chances.sum(), 1.0):
            raise InputError(
                f"{self._name}: class_prior must be 'uniform', 'empirical' or {len(mass)} positive numbers that "
                f"sum to 1; got {self.class_prior!r:.60}."
            )
        return np.log(chances)

    def _whole_sums(self, X: Any, weights: Any) -> Any:
        """Sums of the table of all classes."""
        source = open_source(X, owner=self._name, binarize=REALS, sample_weight=weights)
        return table_sums(sweep_of(source))[0]

    def _keyword_rule(self, sums: Any) -> dict[str, Any]:
        """Options that say what a keyword is, settled on all rows: densities of other rules do not compare."""
        if isinstance(self.n_keywords, str) and self.n_keywords == "all":
            return {"n_keywords": 1.0, "ties": "first"}
        whole = BernoulliGaussMixture(n_keywords=self.n_keywords)
        whole._check_options()
        rule = whole._keyword_rule(sums)
        number = rule["n_keywords"] if rule["by_share"] else int(rule["n_keywords"])
        return {"n_keywords": number, "ties": "all" if rule["all_ties"] else "first"}

    def _time_left(self, began: float, n_left: int) -> float | None:
        """Seconds for the next class: an equal part of what is left."""
        if self.time_limit is None:
            return None
        return max(0.0, self.time_limit - (time.monotonic() - began)) / n_left

    def _mixture(self, label: Any, rows: Any, rule: dict[str, Any]) -> BernoulliGaussMixture:
        """The mixture of one class, not fitted yet."""
        wanted = self.n_components
        if isinstance(wanted, dict):
            if label not in wanted:
                raise InputError(f"{self._name}: n_components has no number for class {label!r}.")
            wanted = wanted[label]
        if rows.nnz == 0:
            raise InputError(f"{self._name}: every cell of class {label!r} is 0; nothing can be learnt of it.")
        n_rows = rows.shape[0]
        if isinstance(wanted, (int, np.integer)) and wanted > n_rows:
            warnings.warn(
                f"{self._name}: class {label!r} has {n_rows} row{'s' * (n_rows > 1)} for {wanted} components; it "
                f"gets {n_rows}.",
                TableWarning,
                stacklevel=3,
            )
            wanted = n_rows
        return BernoulliGaussMixture(
            wanted,
            **rule,
            smoothing=self.smoothing,
            value_smoothing=self.value_smoothing,
            variance_floor=self.variance_floor,
            **{name: getattr(self, name) for name in PASSED_ON},
        )

    def joint_log_scores(self, X: Any) -> Any:
        """log prior + log Pr(row | class) (n_rows, n_classes).

        Parameters
        ----------
        X : table of numbers

        Returns
        -------
        (n_rows, n_classes) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.joint_log_scores(X).shape
        (12, 2)
        """
        check_is_fitted(self, "estimators_")
        rows = whole_table(_opened(self, X))
        scores = [estimator.score_samples(rows) for estimator in self.estimators_]
        return np.stack(scores, axis=1) + self.class_log_prior_

    def decision_function(self, X: Any) -> Any:
        """Log odds of the second class (n_rows,), or joint log scores (n_rows, n_classes) of more than two.

        Parameters
        ----------
        X : table

        Returns
        -------
        array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.decision_function(X).shape
        (12,)
        """
        scores = self.joint_log_scores(X)
        return scores[:, 1] - scores[:, 0] - self.threshold_ if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The class of every row.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of classes

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.predict(X)[[0, 11]].tolist()
        ['ham', 'spam']
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithms of the class probabilities; overconfident.

        Parameters
        ----------
        X : table of numbers

        Returns
        -------
        (n_rows, n_classes) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.predict_log_proba(X).shape
        (12, 2)
        """
        scores = self.joint_log_scores(X)
        if len(self.classes_) == 2:
            scores[:, 1] -= self.threshold_
        return scores - logsumexp(scores, axis=1, keepdims=True)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities; overconfident.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_classes) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.predict_proba(X)[0].round(2).tolist()
        [1.0, 0.0]
        """
        return np.exp(self.predict_log_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted.

        Parameters
        ----------
        X : table
        y : (n_rows,) array-like
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.score(X, y)
        1.0
        """
        predicted = self.predict(X)
        weights = check_weights(sample_weight, len(predicted), self._name)
        try:
            return float(accuracy_score(y, predicted, sample_weight=weights))
        except (TypeError, ValueError) as error:
            raise InputError(f"{self._name}: y must hold one class per row: {error}") from None

    def tune_threshold(self, X: Any, y: Any, false_positives: float = 0.01) -> Any:
        """Choose the log odds above which the second class is predicted, so that few rows of the first are.

        Parameters
        ----------
        X, y
            Rows that were not fitted.
        false_positives : float
            Most rows of the first class that may be called the second, as a share of all rows.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussClassifier
        >>> X = np.kron(np.eye(2), np.ones((6, 3))) + 0.1 * np.arange(6)
        >>> y = np.repeat(["ham", "spam"], 6)
        >>> model = BernoulliGaussClassifier(1, n_keywords=3, random_state=0).fit(X, y)
        >>> model.tune_threshold(X, y, false_positives=0.01).score(X, y)
        1.0
        """
        check_is_fitted(self, "estimators_")
        if len(self.classes_) != 2:
            raise InputError(f"{self._name}: a threshold is for two classes; there are {len(self.classes_)}.")
        self.threshold_ = 0.0
        odds, first = self.decision_function(X), np.asarray(y) == self.classes_[0]
        if first.shape != odds.shape or not first.any():
            raise InputError(f"{self._name}: y must hold one class per row, some of them {self.classes_[0]!r}.")
        if not 0 <= false_positives <= 1:
            raise InputError(f"{self._name}: false_positives must be a share from 0 to 1; got {false_positives!r}.")
        allowed = int(np.floor(false_positives * len(odds)))
        worst = -np.sort(-odds[first])
        self.threshold_ = float(worst[allowed]) if allowed < len(worst) else float(worst[-1] - 1.0)
        return self

    def _facts(self) -> list[str]:
        """Classes with their topics, and the table, as notebooks show them."""
        told = [
            f"{label}: {family_of(type(one)).counted(len(one.weights_))}"
            for label, one in zip(self.classes_, self.estimators_)
        ]
        n_rows = sum(one._sums.n_rows for one in self.estimators_)
        return [f"{len(told)} classes", shape_told(n_rows, self.n_features_in_), *told[:MOST_SHOWN]]

    def _doubts_told(self) -> list[str]:
        """Of the mixtures of all classes."""
        pairs = zip(self.classes_, self.estimators_)
        return [f"{label}: {doubt}" for label, one in pairs for doubt in one._doubts_told()][:MOST_SHOWN]

    def _gist_table(self, top: int) -> list[dict[str, Any]]:
        """The classes for people: what is a keyword more often in each than in all."""
        priors = np.exp(self.class_log_prior_)
        chances = np.array([one.weights_ @ one.components_ for one in self.estimators_])
        overall = np.maximum(priors @ chances, 1e-300)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return [
            {
                "component": str(label),
                "weight": float(prior),
                "feature": names[j],
                "probability": float(own[j]),
                "marginal": float(overall[j]),
                "lift": float(own[j] / overall[j]),
            }
            for label, prior, own in zip(self.classes_, priors, chances)
            for j in np.argsort(-own * np.log(np.maximum(own, 1e-300) / overall), kind="stable")[:top]
        ]


def _opened(estimator: Any, X: Any) -> Source:
    """A table with the columns of a fitted classifier."""
    probe = BernoulliGaussMixture(block_rows=estimator.estimators_[0].block_rows)
    keep_columns(estimator, probe)
    try:
        return probe._open(X, reset=False)
    except InputError as error:
        raise type(error)(str(error).replace("BernoulliGaussMixture", type(estimator).__name__)) from None
