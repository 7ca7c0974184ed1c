"""What families answer whose rows each have unknowns of their own: memberships, scores."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


class RowUnknowns(BaseEstimator):
    """Likelihoods at row unknowns fitted to the rows; the model supplies ``fold_in``."""

    def fold_in_scores(self, X: Any) -> Any:
        """Log-likelihood of every row at unknowns fitted to it: not predictive, but what ``transform`` maximises.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array
        """
        check_is_fitted(self, "_params")
        return self._per_row(X, self._model.fold_in)

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Log-likelihood at the best unknowns, which is what the parameters of the rows buy in BIC and AIC."""
        scores = self.fold_in_scores(X)
        return float(scores.sum()), len(scores)

    def _training_log_likelihood(self, source: Any) -> float:
        """The same, weighted, for the training table."""
        return float(self._weighted_sum(source, self._model.fold_in)[0])
