"""Models of scikit-learn's kind beside the families: NMF, LDA, PCA, k-means and what else rebuilds its input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..base.sklearn_api import clone
from ..data.block import UNKNOWN, Block, Float
from ..data.source import Source, open_source
from ..engine.protocols import Places
from ..errors import InputError


class Adapted:
    """A model without unknown cells, made to predict them.

    The unknown cells are filled with the shares of ones of their columns, the model is fitted and rebuilds the table, and the
    unknown cells are filled with what it rebuilt; ``rounds`` times.  What it rebuilds is taken as a probability, kept between
    0.001 and 0.999.

    Parameters
    ----------
    estimator : estimator
        Not changed; clones of it are fitted.
    rebuild : function, optional
        From a fitted estimator and a filled table (n, D) to probabilities (n, D).  Without it: the inverse transform of the
        transform (NMF, PCA), for LDA the chance of at least one count, the nearest centre (k-means).
    rounds : int
        How often unknown cells are filled anew.
    size : str, optional
        Parameter of the estimator that stands for its size; found out for ``n_components`` and ``n_clusters``.

    Examples
    --------
    >>> from sklearn.decomposition import NMF
    >>> X = [[1, 1, 0, 0], [1, 1, 0, None], [0, 0, 1, 1], [0, 0, 1, 1]] * 5
    >>> model = Adapted(NMF(2, random_state=0)).fit(X)
    >>> bool(model.reconstruct(X)[1, 3] < 0.2)
    True
    """

    def __init__(
        self, estimator: Any, rebuild: Callable[[Any, Any], Any] | None = None, rounds: int = 3, size: str | None = None
    ) -> None:
        self.estimator, self.rebuild, self.rounds, self.size = estimator, rebuild, rounds, size

    def __repr__(self) -> str:
        return f"Adapted({self.estimator!r}, rounds={self.rounds})"

    @property
    def size_name(self) -> str | None:
        """Parameter that stands for the size, if there is one."""
        known = self.estimator.get_params(deep=False)
        return self.size or next((name for name in ("n_components", "n_clusters") if name in known), None)

    def with_size(self, size: Any) -> Adapted:
        """The same with another size; None leaves it as it is.

        Parameters
        ----------
        size : int

        Returns
        -------
        Adapted, not fitted

        Examples
        --------
        >>> from sklearn.decomposition import NMF
        >>> Adapted(NMF(1)).with_size(2).estimator.n_components
        2
        """
        estimator = clone(self.estimator)
        if size is not None:
            estimator.set_params(**{str(self.size_name): size})
        return type(self)(estimator, self.rebuild, self.rounds, self.size)

    def fit(self, X: Any) -> Adapted:
        """Fit to a table with unknown cells.

        Parameters
        ----------
        X : table

        Returns
        -------
        Adapted

        Examples
        --------
        >>> from sklearn.decomposition import NMF
        >>> Adapted(NMF(1)).fit([[1, 1, 0], [1, None, 0], [0, 0, 1]]).reconstruct([[1, None, 0]]).shape
        (1, 3)
        """
        source = open_source(X, owner=type(self.estimator).__name__)
        names = source.labels.columns
        self._columns = None if names is None else [str(name) for name in names]
        table, unknown = _table(source)
        observed = table.shape[0] - unknown.sum(axis=0)
        self.marginals_ = (np.where(unknown, 0, table).sum(axis=0) + 0.5) / (observed + 1.0)
        filled = np.where(unknown, self.marginals_, table)
        self.estimator_ = clone(self.estimator).fit(filled)
        for _ in range(self.rounds if unknown.any() else 0):
            filled = np.where(unknown, self._rebuilt(filled), table)
            self.estimator_ = clone(self.estimator).fit(filled)
        return self

    def _rebuilt(self, filled: Any) -> Any:
        """Probabilities (n, D) that the fitted model gives the cells of a filled table."""
        rebuild = self.rebuild or _rule_of(self.estimator_)
        return np.clip(np.asarray(rebuild(self.estimator_, filled), np.float64), 0.001, 0.999)

    def reconstruct(self, X: Any) -> Any:
        """Probabilities of all cells; unknown ones are filled a few times before.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_features) array of P(cell = 1)

        Examples
        --------
        >>> from sklearn.decomposition import NMF
        >>> Adapted(NMF(1)).fit([[1, 1, 0], [1, None, 0], [0, 0, 1]]).reconstruct([[1, None, 0]]).shape
        (1, 3)
        """
        table, unknown = _table(open_source(X, owner=type(self.estimator).__name__, columns=self._columns))
        return self._settled(table, unknown)

    def _settled(self, table: Any, unknown: Any) -> Any:
        """The rebuilt table after its unknown cells were filled ``rounds`` times."""
        filled = np.where(unknown, self.marginals_, table)
        for _ in range(self.rounds):
            filled = np.where(unknown, self._rebuilt(filled), table)
        return self._rebuilt(filled)

    @property
    def _model(self) -> AdaptedModel:
        """What answers about cells, as every family does."""
        return AdaptedModel(self._settled)

    _params = None


class AdaptedModel:
    """The part of the contract for answers that such a model can keep: :class:`~latentbits.engine.protocols.PredictsCells`.

    ``settled(table, unknown)`` gives probabilities of all cells.
    """

    def __init__(self, settled: Callable[[Any, Any], Any]) -> None:
        self.settled = settled

    def precompute(self, params: None) -> None:
        """Nothing."""

    def predict_cells(self, block: Block, precomputed: None) -> Float:
        """P(cell = 1) (n, D)."""
        codes = block.codes()
        on: Float = self.settled(codes.astype(np.float64), codes == UNKNOWN)
        return on

    def predict_cells_at(self, block: Block, precomputed: None, rows: Places, columns: Places) -> Float:
        """The same for single cells (m,)."""
        return self.predict_cells(block, precomputed)[rows, columns]

    def sample_cells(
        self, block: Block, precomputed: None, rows: Places, columns: Places, by_row: Float, by_cell: Float
    ) -> Any:
        """A draw of single cells, each on its own."""
        return by_cell < self.predict_cells_at(block, precomputed, rows, columns)


def _table(source: Source) -> tuple[Any, Any]:
    """The whole table (n, D), and where it is unknown; such models work on dense tables."""
    codes = np.concatenate([source.block(b).codes() for b in range(source.n_blocks)])
    return np.where(codes == 1, 1.0, 0.0), codes == 2


def _rule_of(fitted: Any) -> Callable[[Any, Any], Any]:
    """How a fitted model rebuilds a table."""
    if hasattr(fitted, "bound_") and hasattr(fitted, "topic_word_prior_"):
        return _by_topics
    if hasattr(fitted, "inverse_transform") and hasattr(fitted, "transform"):
        return _by_inverse
    if hasattr(fitted, "cluster_centers_") and hasattr(fitted, "predict"):
        return lambda model, filled: model.cluster_centers_[model.predict(filled)]
    raise InputError(
        f"{type(fitted).__name__} has no way to rebuild its input that is known here; "
        "pass Adapted(estimator, rebuild=function of the fitted estimator and the filled table)."
    )


def _by_topics(model: Any, filled: Any) -> Any:
    """LDA: rows draw as many words as they have ones; a cell is 1 if its word is drawn at least once."""
    topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return -np.expm1(-filled.sum(axis=1, keepdims=True) * (model.transform(filled) @ topics))


def _by_inverse(model: Any, filled: Any) -> Any:
    """What comes back from the representation."""
    back = model.inverse_transform(model.transform(filled))
    return back.toarray() if sp.issparse(back) else back
