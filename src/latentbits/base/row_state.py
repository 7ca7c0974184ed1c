"""What families answer whose rows each have unknowns of their own: memberships, scores."""

from __future__ import annotations

from typing import Any

from .answers import AnswersMixin
from .passes import Scored


class RowStateMixin(AnswersMixin):
    """Likelihoods at row unknowns fitted to the rows; the model supplies ``fold_in``."""

    keeps_rows = True

    def fold_in_scores(self, X: Any) -> Any:
        """Log-likelihood of every row at unknowns fitted to it: not predictive, but what ``transform`` maximises.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of nats at the best unknowns

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_zoo().frame
        >>> AspectBernoulli(3, n_init=1, random_state=0).fit(X).fold_in_scores(X).shape
        (101,)
        """
        return self._by_rows(X, "fold_in")

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Log-likelihood at the best unknowns, which is what the parameters of the rows buy in BIC and AIC."""
        return self._summed_scores(X, "fold_in")

    def _training_log_likelihood(self, source: Any) -> float:
        """The same, weighted, for the training table."""
        asked = self._ask(source)
        return float(asked.total(Scored(asked.model.fold_in))[0])
