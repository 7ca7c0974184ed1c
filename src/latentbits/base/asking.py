"""Answers: the same questions for every family."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import persist
from ..answers import Explanation
from ..data.rng import stream
from ..data.source import Source, named
from ..engine.sweep import sweep_of
from ..errors import InputError
from .common import frame_of, seed_of
from .passes import Filled, Scored


class Asking(BaseEstimator):
    """The half of the shell that answers; families supply ``_model`` and ``_params``."""

    samples: bool = True  # whether new rows can be drawn
    fills: bool = True  # whether cells can be unknown, and are filled and explained
    has_criteria: Any = True  # whether the likelihood is that of one set of parameters, which BIC and AIC count

    def _asked(self, X: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Open a table for an answer: its sweep, and the parameters made ready."""
        check_is_fitted(self, "_params")
        source = self._open(X, reset=False, sample_weight=sample_weight)
        return sweep_of(source, effective_n_jobs(self.n_jobs)), self._model.ready(self._params)

    def _per_row(self, X: Any, question: Any) -> Any:
        """An answer with one row per row of the table."""
        sweep, ready = self._asked(X)
        return np.concatenate(sweep.collect(question, ready))

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of every row in nats (``score_kind_`` says whether it is exact).

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array
        """
        check_is_fitted(self, "_params")
        return self._per_row(X, self._model.log_prob)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-likelihood per row in nats (``score_kind_`` says whether it is exact).

        Parameters
        ----------
        X : table
        y : ignored
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        float
        """
        check_is_fitted(self, "_params")
        total, weight = self._weighted_sum(X, self._model.log_prob, sample_weight)
        return total / weight

    def _weighted_sum(self, X: Any, question: Any, sample_weight: Any = None) -> tuple[float, float]:
        """Weighted sum of a value per row, and the weight."""
        sweep, ready = self._asked(X, sample_weight)
        total, weight = sweep.map(Scored(question), [None] * sweep.n_blocks, ready, keep_rows=False)[0]
        return float(total), float(weight)

    @available_if(lambda self: self.fills)
    def reconstruct(self, X: Any, cells: Any = None) -> Any:
        """P(cell = 1 given the observed cells of its row).

        Parameters
        ----------
        X : table
        cells : (rows, columns) pair of arrays, optional
            Single cells; without it the answer is the whole table, dense.

        Returns
        -------
        (n_rows, n_features) array, or (n_cells,) array if ``cells`` is given
        """
        check_is_fitted(self, "_params")
        if cells is None:
            return self._per_row(X, self._model.fill)
        source = self._open(X, reset=False)
        return self._at_cells(source, *self._cells(cells, source), self._model.fill_at)

    def _at_cells(self, source: Source, rows: Any, columns: Any, question: Any) -> Any:
        """An answer about single cells, given in any order."""
        ready = self._model.ready(self._params)
        order = np.argsort(rows, kind="stable")
        bounds = np.searchsorted(rows[order], source.starts)
        parts = []
        for b in range(source.n_blocks):
            which = order[bounds[b] : bounds[b + 1]]
            if len(which) or b == 0:  # the first block answers even if asked nothing: it gives the shapes
                parts.append(question(source.block(b), ready, rows[which] - source.starts[b], columns[which]))
        back = np.argsort(order, kind="stable")
        if isinstance(parts[0], tuple):
            fields: list[Any] = [None if field[0] is None else np.concatenate(field)[back] for field in zip(*parts)]
            return type(parts[0])(*fields)
        return np.concatenate(parts)[back]

    def _cells(self, cells: Any, source: Source) -> tuple[Any, Any]:
        """Row and column numbers of cells given by number or column name."""
        try:
            rows, columns = cells
            rows = np.atleast_1d(np.asarray(rows))
            columns = np.atleast_1d(np.asarray(columns))
            rows, columns = (part.ravel() for part in np.broadcast_arrays(rows, columns))
        except (TypeError, ValueError):
            raise InputError(
                f"{self._name}: cells must be a pair (rows, columns) of equally long arrays; got {cells!r:.80}."
            ) from None
        if columns.dtype.kind in "UO":
            place = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", ()))}
            unknown = [name for name in columns.tolist() if name not in place]
            if unknown:
                raise InputError(f"{self._name}: there is no column named {unknown[0]!r}.")
            columns = np.array([place[name] for name in columns.tolist()], np.int64)
        for what, values, limit in (("row", rows, source.shape[0]), ("column", columns, source.shape[1])):
            if values.dtype.kind not in "iu" and len(values):
                raise InputError(f"{self._name}: {what} numbers of cells must be whole numbers.")
            outside = values[(values < 0) | (values >= limit)] if len(values) else values
            if len(outside):
                raise InputError(
                    f"{self._name}: a cell names {what} {outside[0]}, but the {what}s are numbered 0 to {limit - 1}."
                )
        return rows.astype(np.int64), columns.astype(np.int64)

    @available_if(lambda self: self.fills)
    def impute(self, X: Any, how: str = "probability", random_state: Any = None) -> Any:
        """The table with its unknown cells filled.

        Parameters
        ----------
        X : table
        how : {"probability", "mode", "sample"}
            P(cell = 1), the more probable value, or one joint draw of every row's unknown cells.
        random_state : int, RandomState or None
            For ``how="sample"``.

        Returns
        -------
        (n_rows, n_features) array, sparse if X is sparse, a pandas frame if X is one
        """
        if how not in ("probability", "mode", "sample"):
            raise InputError(f"{self._name}: how must be 'probability', 'mode' or 'sample'; got {how!r}.")
        sweep, ready = self._asked(X)
        seed = seed_of(random_state)
        parts = sweep.collect(Filled(self._model, how, seed, dense=not sp.issparse(X)), ready)
        if sp.issparse(X):
            return sp.vstack(parts, format="csr")
        out = np.concatenate(parts)
        if type(X).__module__.partition(".")[0] == "pandas":
            import pandas as pd

            return pd.DataFrame(out, index=X.index, columns=X.columns)
        return out

    @available_if(lambda self: self.fills)
    def explain(self, X: Any, cells: Any = None) -> Any:
        """Which component explains each cell.

        Parameters
        ----------
        X : table
        cells : (rows, columns) pair of arrays, optional
            The cells to explain; columns by number or name.  Without it all cells of the table (for tables of up to
            four million cell-component pairs).

        Returns
        -------
        Explanation
            With one entry per cell; ``to_frame()`` gives a pandas frame.
        """
        check_is_fitted(self, "_params")
        source = self._open(X, reset=False)
        if cells is None:
            n_rows, n_columns = source.shape
            n_components = self._model.n_components
            if n_rows * n_columns * n_components > 4_000_000:
                raise InputError(
                    f"{self._name}: explaining all {n_rows} × {n_columns} cells for {n_components} components is "
                    "too much at once. Name cells=(rows, columns), or pass fewer rows."
                )
            rows, columns = (part.ravel() for part in np.indices((n_rows, n_columns)))
        else:
            rows, columns = self._cells(cells, source)
        values = self._at_cells(source, rows, columns, lambda block, ready, r, c: block.at(r, c))
        causes = self._at_cells(source, rows, columns, self._model.causes)
        names = self.feature_names_in_ if hasattr(self, "feature_names_in_") else None
        return Explanation(rows, columns, values, names, self._component_names(), **causes._asdict())

    @available_if(lambda self: self.samples)
    def sample(self, n: int = 1, random_state: Any = None, return_causes: bool = False) -> Any:
        """Draw new rows from the fitted model.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState or None
            By default the estimator's own.
        return_causes : bool
            Also return the hidden causes of the rows.

        Returns
        -------
        (n, n_features) array of 0 and 1, and the causes if asked for
        """
        rng = self._drawing(n, random_state)
        cells, causes = self._model.draw(self._params, int(n), rng)
        return (cells, causes) if return_causes else cells

    def _drawing(self, n: Any, random_state: Any) -> np.random.Generator:
        """Random numbers for ``n`` rows, which must be a number of rows."""
        check_is_fitted(self, "_params")
        self._check_whole("n", n, 1)
        return stream(seed_of(self.random_state if random_state is None else random_state), "sample")

    @property
    def n_free_(self) -> int:
        """Number of free parameters."""
        check_is_fitted(self, "_params")
        return int(self._model.n_free(self._params))

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Total log-likelihood and number of rows."""
        scores = self.score_samples(X)
        return float(scores.sum()), len(scores)

    def _training_log_likelihood(self, source: Any) -> float:
        """Log-likelihood of the training table for criteria."""
        return self._weighted_sum(source, self._model.log_prob)[0]

    @available_if(lambda self: self.has_criteria)
    def bic(self, X: Any) -> float:
        """Bayesian information criterion, smaller is better: -2 log L + p log n.

        p is ``n_free_``.  In families whose rows have parameters of their own (``criterion`` is "cells") p grows with
        the number of rows, and neither BIC nor AIC has a theory: choose by hidden cells.
        """
        value, n = self._log_likelihood(X)
        return -2 * value + self.n_free_ * np.log(n)

    @available_if(lambda self: self.has_criteria)
    def aic(self, X: Any) -> float:
        """Akaike information criterion, smaller is better: -2 log L + 2 p."""
        return -2 * self._log_likelihood(X)[0] + 2 * self.n_free_

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The components as rows of a table: the ``top`` features of each that stand out most from the marginals.

        Parameters
        ----------
        top : int
            Features per component.

        Returns
        -------
        list of dict
            With component, weight, rank, feature, probability, marginal and lift.
        """
        check_is_fitted(self, "_params")
        names = getattr(self, "feature_names_in_", None)
        names = np.arange(self.n_features_in_) if names is None else names
        out = []
        for k, probabilities in enumerate(self.components_):
            for rank, j in enumerate(np.argsort(-self._standing(probabilities), kind="stable")[:top]):
                out.append(
                    {
                        "component": k,
                        "weight": float(self.weights_[k]) if hasattr(self, "weights_") else np.nan,
                        "rank": rank + 1,
                        "feature": names[j] if isinstance(names[j], str) else int(names[j]),
                        "probability": float(probabilities[j]),
                        "marginal": float(self.marginals_[j]),
                        "lift": float(probabilities[j] / self.marginals_[j]),
                    }
                )
        return out

    def _given_unknowns(self, values: Any) -> Any:
        """Row unknowns (memberships, scores) given by the user, as a matrix."""
        check_is_fitted(self, "_params")
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != self.n_components:
            raise InputError(
                f"{self._name}: one row of {self.n_components} numbers per row is needed; got shape {values.shape}."
            )
        return values

    def _component_names(self) -> list[str]:
        """What the components are called."""
        return [str(name) for name in self.get_feature_names_out()]

    def _feature_names(self) -> list[str]:
        """What the columns are called, in words."""
        return [str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))]

    def _standing(self, probabilities: Any) -> Any:
        """How much every feature of a component stands out from the marginals."""
        return probabilities * np.log(np.maximum(probabilities, 1e-300) / self.marginals_)

    def components_frame(self, top: int = 10) -> Any:
        """The components as readable feature lists with probabilities, as a pandas frame.

        Parameters
        ----------
        top : int
            Features per component.

        Returns
        -------
        pandas.DataFrame
        """
        return frame_of(self.components_table(top))

    def restarts_frame(self) -> Any:
        """How every start ended, as a pandas frame."""
        check_is_fitted(self, "_params")
        return frame_of(getattr(self, "restarts_", []))

    def summary(self) -> str:
        """A few lines on the fit: value, starts, convergence.

        Returns
        -------
        str
        """
        check_is_fitted(self, "_params")
        lines = [f"{self._name} with {self._size} components on {self.n_features_in_} features"]
        if getattr(self, "restarts_", None):
            n = len(self.restarts_)
            lines.append(f"objective {self.objective_:.4f}, best value reached in {self.n_reached_} of {n} starts")
        state = "settled" if self.converged_ else "not settled"
        lines.append(f"{state} after {self.n_iter_} passes; {self.n_free_} free parameters")
        return "\n".join(lines)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file; :func:`latentbits.load` reads it.

        Parameters
        ----------
        path : path
        """
        check_is_fitted(self, "_params")
        persist.check_path(path)
        with named(self._name):
            persist.save(self, path)
