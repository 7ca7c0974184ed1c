"""Questions about the class of a row, for all mixtures."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


class Memberships(BaseEstimator):
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
        """
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of every row; the same as ``transform``.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array
        """
        check_is_fitted(self, "_params")
        return self._per_row(X, self._model.represent)

    def fit_predict(self, X: Any, y: Any = None, **fit_options: Any) -> Any:
        """Fit, then the most probable class of every row."""
        return self.fit(X, y, **fit_options).predict(X)

    def relative_entropy(self, X: Any) -> float:
        """How clearly rows fall into classes: 1 - mean entropy of the memberships / log K; 1 is certain.

        Parameters
        ----------
        X : table

        Returns
        -------
        float
        """
        shares = self.predict_proba(X)
        n_components = shares.shape[1]
        if n_components == 1:
            return 1.0
        logs = np.log(np.maximum(shares, np.finfo(float).tiny))
        return float(1.0 + (shares * logs).sum() / (len(shares) * np.log(n_components)))
