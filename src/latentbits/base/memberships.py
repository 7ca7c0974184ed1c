"""Questions about the class of a row, for families whose rows belong to one class each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import Block
from ..data.values import ValueBlock
from .answers import AnswersMixin
from .common import frame_of
from .fitting import FittingMixin


class MembershipsMixin(FittingMixin, AnswersMixin):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator` in families whose rows belong to one class each."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        # scikit-learn's sparse check reads these of everything with predict_proba, classifier or not.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def predict(self, X: Any) -> Any:
        """The most probable class of every row.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of int
            Places in ``components_``, from 0; ``component_names_`` has the names, in that order.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.predict(X)[:5].tolist()
        [0, 0, 2, 0, 0]
        """
        return self._by_rows(X, MostProbable)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of every row.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array whose rows sum to one

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.predict_proba(X)[0].round(2).tolist()
        [1.0, 0.0, 0.0]
        """
        return self._by_rows(X, "memberships")

    def fit_predict(self, X: Any, y: Any = None, **fit_options: Any) -> Any:
        """Fit, then the most probable class of every row.

        Parameters
        ----------
        X : table
        y : ignored
        **fit_options
            Passed to ``fit``.

        Returns
        -------
        (n_rows,) array of component numbers

        Examples
        --------
        >>> from latentbits import BernoulliMixture
        >>> BernoulliMixture(2, random_state=0).fit_predict([[1, 1, 0], [1, 1, 0], [0, 0, 1]]).tolist()
        [0, 0, 1]
        """
        return self.fit(X, y, **fit_options).predict(X)

    def relative_entropy(self, X: Any) -> float:
        """How clearly rows fall into classes: 1 - mean entropy of the memberships / log K; 1 is certain.

        Parameters
        ----------
        X : table

        Returns
        -------
        float

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> round(model.relative_entropy(X), 2)
        0.98
        """
        asked = self._ask(X)
        total, n_rows = asked.total(_Clarity(asked.model))
        n_components = self._model.n_components
        return 1.0 if n_components == 1 else float(1.0 + total / (n_rows * np.log(n_components)))

    def profile_table(self, X: Any = None) -> list[dict[str, Any]]:
        """Classes × features: probability and the expected counts behind it.

        Parameters
        ----------
        X : table, optional
            The table whose rows are counted.  Without it counts are those expected for the rows of the fit.

        Returns
        -------
        list of dict
            With feature, component (its name), probability, ones (expected ones in the class) and rows (expected
            known cells).

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> row = model.profile_table(X)[0]
        >>> row["feature"], round(row["probability"], 2)
        ('hair', 0.94)
        """
        called, names = self._component_names(), getattr(self, "feature_names_in_", None)
        names = list(range(self.n_features_in_)) if names is None else [str(name) for name in names]
        if X is None:
            rows = np.broadcast_to((self.weights_ * self.weight_seen_)[:, None], self.components_.shape)
            ones = rows * self.components_
        else:
            asked = self._ask(X)
            ones, rows = (part.T for part in asked.total(_Expected(asked.model)))
        return [
            {
                "feature": names[j],
                "component": called[k],
                "probability": float(self.components_[k, j]),
                "ones": float(ones[k, j]),
                "rows": float(rows[k, j]),
            }
            for j in range(self.n_features_in_)
            for k in range(len(called))
        ]

    def profile_frame(self, X: Any = None) -> Any:
        """:meth:`profile_table` as a pandas frame.

        Parameters
        ----------
        X : table, optional
            The rows to count; by default the counts expected for the rows of the fit.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.profile_frame(X).shape
        (45, 5)
        """
        return frame_of(self.profile_table(X))


class MostProbable:
    """The most probable class of every row of a block."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> Any:
        return self.model.memberships(block, precomputed).argmax(axis=1)


class _Clarity:
    """Sum of p log p over the memberships of a block, and its rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> tuple[float, int]:
        shares = self.model.memberships(block, precomputed)
        return float((shares * np.log(np.maximum(shares, np.finfo(float).tiny))).sum()), len(shares)


class _Expected:
    """Expected ones and known cells (D, K) of the classes in a block."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block | ValueBlock, precomputed: Any) -> tuple[Any, Any]:
        shares = self.model.memberships(block, precomputed) * block.row_weights()[:, None]
        known = np.tile(shares.sum(axis=0), (block.n_columns, 1))
        if isinstance(block, ValueBlock):  # of counts, as many as there are
            return block.csr().T @ shares, known
        if block.unknown is not None:
            known -= block.unknown.t_dot(shares)
        return block.ones.t_dot(shares), known
