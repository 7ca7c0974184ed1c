"""What people take who look for no hidden structure: every column predicted from the others, by scikit-learn's models.

Wide tables: a column is predicted from those that it is correlated with most (:data:`~latentbits.families.MOST_PREDICTORS`).
Long ones: models are fitted to at most :data:`MOST_ROWS` rows, and :data:`MOST_DENSE` cells, which are held as numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.sklearn_api import BaseEstimator
from ..data.block import ONE, UNKNOWN, Block, Float
from ..data.holdout import RowsSource, some_rows
from ..data.source import open_source
from ..engine.protocols import Places
from ..engine.sweep import one_blas_thread
from ..families import MOST_PREDICTORS

MOST_ROWS, MOST_DENSE = 20_000, 50_000_000
EDGE = 1e-4  # probabilities stay this far from 0 and 1


def one_openmp_thread() -> Any:
    """Boosting on one thread: on busy machines its threads wait for each other for most of the time."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, "openmp")


class Cells:
    """Cells (n, D) as numbers with NaN where unknown, and what is to be predicted of them."""

    def __init__(self, codes: Any) -> None:
        self.values = np.where(codes == ONE, np.float32(1.0), np.float32(0.0))
        self.unknown = codes == UNKNOWN

    def filled(self, with_what: Any) -> Any:
        """The numbers, unknown ones from elsewhere (n, D) or (D,)."""
        return np.where(self.unknown, with_what, self.values)


class ColumnModel:
    """The part of the contract for answers that such models keep: :class:`~latentbits.engine.protocols.PredictsCells`.

    ``predict(cells, columns)`` gives probabilities (n, D), of the named columns at least.
    """

    def __init__(self, predict: Callable[[Cells, Any], Any]) -> None:
        self.predict = predict

    def precompute(self, params: None) -> None:
        """Nothing."""

    def predict_cells(self, block: Block, precomputed: None) -> Float:
        """P(cell = 1) (n, D)."""
        on: Float = self.predict(Cells(block.codes()), np.arange(block.n_columns))
        return on

    def predict_cells_at(self, block: Block, precomputed: None, rows: Places, columns: Places) -> Float:
        """The same for single cells (m,)."""
        asked, places = np.unique(rows, return_inverse=True)
        on: Float = self.predict(Cells(block.take(asked).codes()), np.unique(columns))[places, columns]
        return on

    def sample_cells(
        self, block: Block, precomputed: None, rows: Places, columns: Places, by_row: Float, by_cell: Float
    ) -> Any:
        """A draw of single cells, each on its own: such models say nothing about several at once."""
        return by_cell < self.predict_cells_at(block, precomputed, rows, columns)


class _ByColumn(BaseEstimator):
    """What both have: the rows that are fitted, and the predictors of every column."""

    random_state: int = 0
    _params = None

    def _begin(self, X: Any) -> Cells:
        """Open a table; marginals and predictors of the columns are kept."""
        source = open_source(X, owner=type(self).__name__)
        rows = some_rows(source, min(MOST_ROWS, MOST_DENSE // source.shape[1]), self.random_state)
        part = RowsSource(source, rows)
        cells = Cells(np.concatenate([part.block(b).codes() for b in range(part.n_blocks)]))
        known = ~cells.unknown
        self.marginals_ = (cells.filled(0.0).sum(axis=0) + 0.5) / (known.sum(axis=0) + 1.0)
        self.predictors_ = _predictors(cells, self.marginals_)
        return cells

    @property
    def _model(self) -> ColumnModel:
        """What answers about cells, as every family does."""
        return ColumnModel(self._predict)

    def _predict(self, cells: Cells, columns: Any) -> Any:
        raise NotImplementedError

    def reconstruct(self, X: Any) -> Any:
        """P(cell = 1) of all cells (n, D)."""
        source = open_source(X, owner=type(self).__name__)
        blocks = map(source.block, range(source.n_blocks))
        return np.concatenate([self._model.predict_cells(block, None) for block in blocks])


def _predictors(cells: Cells, marginals: Any) -> list[Any]:
    """For every column the columns that predict it."""
    n_columns = len(marginals)
    if n_columns <= MOST_PREDICTORS + 1:
        return [np.delete(np.arange(n_columns), d) for d in range(n_columns)]
    table = (cells.filled(marginals) - marginals) / np.sqrt(marginals * (1.0 - marginals))
    table, out = table.astype(np.float32), []
    for low in range(0, n_columns, 512):
        strength = np.abs(table[:, low : low + 512].T @ table)
        for place, row in enumerate(strength):
            row[low + place] = -1.0
            out.append(np.sort(np.argpartition(-row, MOST_PREDICTORS)[:MOST_PREDICTORS]))
    return out


class ColumnRegressions(_ByColumn):
    """Logistic regression of every column on the others, in two rounds.

    Unknown cells are filled with the share of ones of their column in the first round, and with what the first round predicts
    in the second.

    Parameters
    ----------
    strength : float
        Inverse of the ridge penalty (``C`` of scikit-learn's ``LogisticRegression``).
    random_state : int
        Which rows are fitted, of too many.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, None, 1]] * 8
    >>> model = ColumnRegressions(1.0).fit(X)
    >>> bool(model.reconstruct(X)[4, 1] > 0.8)
    True
    """

    def __init__(self, strength: float = 0.1, random_state: int = 0) -> None:
        self.strength, self.random_state = strength, random_state

    def fit(self, X: Any) -> ColumnRegressions:
        """Fit to a table with unknown cells."""
        cells = self._begin(X)
        columns = np.arange(len(self.marginals_))
        self.rounds_: list[dict[int, Any]] = [{}, {}]
        filled = cells.filled(self.marginals_)
        for number, models in enumerate(self.rounds_):
            for d in columns:
                models[int(d)] = self._fitted(filled, cells, int(d))
            if number == 0:
                filled = cells.filled(self._predicted(models, filled, columns))
        return self

    def _fitted(self, filled: Any, cells: Cells, d: int) -> Any:
        """Weights and intercept of one column; None if it does not vary."""
        from sklearn.linear_model import LogisticRegression

        known = ~cells.unknown[:, d]
        target = cells.values[known, d]
        if not len(target) or target.min() == target.max():
            return None
        model = LogisticRegression(C=self.strength, solver="lbfgs", max_iter=200, tol=1e-3)
        with one_blas_thread(), warnings.catch_warnings():  # what has not settled in so many steps predicts as well
            warnings.simplefilter("ignore")
            model.fit(filled[known][:, self.predictors_[d]], target)
        return model.coef_[0], float(model.intercept_[0])

    def _predicted(self, models: dict[int, Any], filled: Any, columns: Any) -> Any:
        """P(1) (n, D) of columns by the models of a round; the share of ones of others."""
        out = np.tile(self.marginals_, (len(filled), 1))
        for d in columns:
            if models[int(d)] is not None:
                weights, intercept = models[int(d)]
                out[:, d] = 1.0 / (1.0 + np.exp(-(filled[:, self.predictors_[d]] @ weights + intercept)))
        return np.clip(out, EDGE, 1 - EDGE)

    def _predict(self, cells: Cells, columns: Any) -> Any:
        filled, needed = cells.filled(self.marginals_), np.flatnonzero(cells.unknown.any(axis=0))
        filled = cells.filled(self._predicted(self.rounds_[0], filled, needed))
        return self._predicted(self.rounds_[1], filled, columns)


class _Boosted(_ByColumn):
    """Boosted trees of every column on the others, unknown cells as they are."""

    def fit(self, X: Any) -> Any:
        """Fit to a table with unknown cells."""
        cells = self._begin(X)
        table, self.models_ = cells.filled(np.nan), {}
        for d, predictors in enumerate(self.predictors_):
            known = ~cells.unknown[:, d]
            target = cells.values[known, d].astype(int)
            fewest = min(int(target.sum()), int(len(target) - target.sum()))
            if fewest:
                with one_openmp_thread():
                    self.models_[d] = self._classifier(fewest).fit(table[known][:, predictors], target)
        return self

    def _classifier(self, fewest: int) -> Any:
        """An unfitted model of a column of whose rarer value there are so many."""
        raise NotImplementedError

    def _predict(self, cells: Cells, columns: Any) -> Any:
        table, out = cells.filled(np.nan), np.tile(self.marginals_, (len(cells.values), 1))
        for d in columns:
            if int(d) in self.models_:
                with one_openmp_thread():
                    out[:, d] = self.models_[int(d)].predict_proba(table[:, self.predictors_[d]])[:, 1]
        return np.clip(out, EDGE, 1 - EDGE)


class ColumnBoosting(_Boosted):
    """Gradient boosted trees of every column on the others (``HistGradientBoostingClassifier``), which take unknown cells.

    Parameters
    ----------
    max_iter : int
        Trees per column, fewer where a tenth of the rows stops getting better.
    random_state : int
        Of the fits.

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, None, 1]] * 20
    >>> model = ColumnBoosting().fit(X)
    >>> bool(model.reconstruct(X)[4, 1] > 0.8)
    True
    """

    def __init__(self, max_iter: int = 100, random_state: int = 0) -> None:
        self.max_iter, self.random_state = max_iter, random_state

    def _classifier(self, fewest: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=self.max_iter,
            max_bins=2,
            max_leaf_nodes=15,
            early_stopping=bool(fewest >= 50),
            n_iter_no_change=5,
            l2_regularization=1.0,
            random_state=self.random_state,
        )


class ColumnLightGBM(_Boosted):
    """LightGBM's boosted trees of every column on the others; takes part where the package ``lightgbm`` is installed.

    Parameters
    ----------
    n_estimators : int
        Trees per column.
    random_state : int
        Of the fits.
    """

    def __init__(self, n_estimators: int = 60, random_state: int = 0) -> None:
        self.n_estimators, self.random_state = n_estimators, random_state

    def _classifier(self, fewest: int) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=self.n_estimators,
            num_leaves=15,
            learning_rate=0.1,
            reg_lambda=1.0,
            n_jobs=1,
            random_state=self.random_state,
            verbose=-1,
        )
