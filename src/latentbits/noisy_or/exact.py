"""Closed forms of the noisy-or model that cost nothing: empty sets, marginals, pairs; and checks against a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import LatentBitsEstimator, frame_of
from ..base.options import OneOf, Whole
from ..data.block import Block, Float
from ..errors import InputError
from .scoring import WORST_ERROR, Quickscore, RowScores, refusal


class ClosedForms(LatentBitsEstimator):
    """Probabilities under the fitted model without any approximation."""

    def zero_probability(self, columns: Any = None) -> float:
        """P(all the given cells of a row are 0), also counting the rows that ``zero_truncated`` says were left out.

        Parameters
        ----------
        columns : sequence of int or str, optional
            Column numbers or names; by default all, which gives the probability of an empty row.

        Returns
        -------
        float

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> 0 < model.zero_probability([0, 1]) < 1
        True
        """
        self._check_fitted()
        chosen = np.arange(self.n_features_in_) if columns is None else np.unique(self._column_numbers(columns))
        params = self._params
        kept = np.log1p(params.prior * np.expm1(-params.theta[:, chosen].sum(axis=1)))
        return float(np.exp(kept.sum() - params.theta0[chosen].sum()))

    def marginal_probabilities(self) -> Any:
        """P(cell = 1) of every column (n_features,); with ``zero_truncated`` among rows that are not empty.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.marginal_probabilities().shape
        (8,)
        """
        self._check_fitted()
        return (1.0 - np.exp(self._log_zero())) / self._visible()

    def _visible(self) -> float:
        """Share of the rows that can be seen."""
        return float(-np.expm1(self._model.log_empty(self._params))) if self._model.truncated else 1.0

    def _log_zero(self) -> Float:
        """log P(cell = 0) of every column."""
        params = self._params
        out: Float = np.log1p(params.prior[:, None] * np.expm1(-params.theta)).sum(axis=0) - params.theta0
        return out

    def pair_probabilities(self, columns: Any = None) -> Any:
        """P(two cells of a row are both 1).

        Parameters
        ----------
        columns : sequence of int or str, optional
            The columns of the square table; by default all.

        Returns
        -------
        (m, m) array
            In the order of ``columns``, with the marginals on the diagonal.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.pair_probabilities([0, 1]).shape
        (2, 2)
        """
        self._check_fitted()
        chosen = np.arange(self.n_features_in_) if columns is None else self._column_numbers(columns)
        if len(np.unique(chosen)) < len(chosen):
            raise InputError(f"{self._name}: a column is named twice.")
        params, zero = self._params, np.exp(self._log_zero()[chosen])
        both = -(params.theta0[chosen][:, None] + params.theta0[chosen])
        for prior, theta in zip(params.prior, params.theta[:, chosen]):
            both += np.log1p(prior * np.expm1(-(theta[:, None] + theta)))
        out = np.maximum(1.0 - zero[:, None] - zero + np.exp(both), 0.0)
        np.fill_diagonal(out, 1.0 - zero)
        return out / self._visible()

    def quickscore(self, X: Any, refused: str = "raise") -> Quickscore:
        """Exact log-likelihood of every row by inclusion and exclusion over its ones, for any number of sources.

        The cost is K 2^ones.  Rows with more than 20 ones, or in which cancellation leaves less than six digits, are refused.

        Parameters
        ----------
        X : table
        refused : {"raise", "nan"}
            What becomes of such rows.

        Returns
        -------
        Quickscore
            With ``value`` (n,), ``error`` (n,) and ``posterior`` (n, K) of the sources.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> found = model.quickscore(X)
        >>> found.value.shape
        (150,)
        """
        self._check("refused", refused, OneOf(("raise", "nan")))
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        parts = sweep.collect(_Quick(RowScores(self._model), refused), precomputed)
        return Quickscore(*[np.concatenate(field) for field in zip(*parts)])

    # Checks against a table.

    def marginal_table(self, X: Any) -> list[dict[str, Any]]:
        """Marginals of the model beside those of a table.

        Parameters
        ----------
        X : table

        Returns
        -------
        list of dict
            With feature, data, model and z (their difference in standard errors of the data).

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.marginal_table(X))
        8
        """
        ones, known, _, _ = self._counts(X, None)
        names = self._feature_names()
        model = self.marginal_probabilities()
        data = ones / np.maximum(known, 1e-300)
        error = np.sqrt(model * (1.0 - model) / np.maximum(known, 1e-300))
        return [
            {
                "feature": names[j],
                "data": float(data[j]),
                "model": float(model[j]),
                "z": float((data[j] - model[j]) / max(error[j], 1e-300)),
            }
            for j in range(len(model))
        ]

    def marginal_frame(self, X: Any) -> Any:
        """:meth:`marginal_table` as a pandas frame.

        Parameters
        ----------
        X : table

        Returns
        -------
        pandas.DataFrame: the share of ones of every column beside that of the model

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.marginal_frame(X))
        8
        """
        return frame_of(self.marginal_table(X))

    def pair_table(self, X: Any, top: int = 20, columns: Any = None) -> list[dict[str, Any]]:
        """Pairs of columns that occur together more, or less, often than the model says.

        Parameters
        ----------
        X : table
        top : int
            Pairs to list, those with the largest ``|z|`` first.
        columns : sequence of int or str, optional
            Among these; by default the 200 most frequent.

        Returns
        -------
        list of dict
            With first, second, data and model (share of rows in which both are 1), lift_data and lift_model (over
            independence), and z (difference in standard errors of the data).

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.pair_table(X, top=2))
        2
        """
        self._check("top", top, Whole(0))
        self._check_fitted()
        frequent = np.sort(np.argsort(-self.marginals_, kind="stable")[:200])
        chosen = frequent if columns is None else np.unique(self._column_numbers(columns))
        ones, known, both, pairs = self._counts(X, chosen)
        model = self.pair_probabilities(chosen)
        alone = self.marginal_probabilities()[chosen]
        share = (ones / np.maximum(known, 1e-300))[chosen]
        names = self._feature_names()
        first, second = np.triu_indices(len(chosen), 1)
        seen = pairs[first, second] > 0
        first, second = first[seen], second[seen]
        n = pairs[first, second]
        data, expected = both[first, second] / n, model[first, second]
        z = (data - expected) / np.sqrt(np.maximum(expected * (1.0 - expected) / n, 1e-300))
        order = np.argsort(-np.abs(z), kind="stable")[:top]
        return [
            {
                "first": names[chosen[first[i]]],
                "second": names[chosen[second[i]]],
                "data": float(data[i]),
                "model": float(expected[i]),
                "lift_data": float(data[i] / max(share[first[i]] * share[second[i]], 1e-300)),
                "lift_model": float(expected[i] / max(alone[first[i]] * alone[second[i]], 1e-300)),
                "z": float(z[i]),
            }
            for i in order
        ]

    def pair_frame(self, X: Any, top: int = 20, columns: Any = None) -> Any:
        """:meth:`pair_table` as a pandas frame.

        Parameters
        ----------
        X : table
        top : int
            Pairs to list.
        columns : sequence, optional
            Columns to look at.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> len(model.pair_frame(X, top=3))
        3
        """
        return frame_of(self.pair_table(X, top, columns))

    def _counts(self, X: Any, chosen: Any) -> Any:
        """Weights of ones and known cells of all columns, and of pairs of the chosen ones."""
        sweep = self._ask(X).sweep
        return sweep.map(_Counts(chosen), [None] * sweep.n_blocks, keep_rows=False)[0]


class _Counts:
    """How often columns and pairs of columns are on, and known."""

    def __init__(self, chosen: Any) -> None:
        self.chosen = chosen

    def __call__(self, block: Block, rows: Any) -> tuple[Any, None]:
        weights = block.row_weights()
        ones = block.ones.t_dot(weights[:, None])[:, 0]
        known = np.full(block.n_columns, weights.sum())
        if block.unknown is not None:
            known = known - block.unknown.t_dot(weights[:, None])[:, 0]
        if self.chosen is None:
            return (ones, known, 0.0, 0.0), None
        codes = block.codes()[:, self.chosen]
        on, seen = (codes == 1).astype(np.float64), (codes != 2).astype(np.float64)
        return (ones, known, on.T @ (on * weights[:, None]), seen.T @ (seen * weights[:, None])), None


class _Quick:
    """Quickscore of a block, with its refusal."""

    def __init__(self, scores_of: RowScores, refused: str) -> None:
        self.scores_of, self.refused = scores_of, refused

    def __call__(self, block: Block, precomputed: Any) -> Quickscore:
        scored = self.scores_of.quickscore(block, precomputed)
        bad = np.flatnonzero(~(scored.error <= WORST_ERROR))
        if len(bad) and self.refused == "raise":
            raise InputError(refusal(block, bad, scored.error, len(precomputed.params.prior)))
        scored.value[bad], scored.posterior[bad] = np.nan, np.nan
        return scored
