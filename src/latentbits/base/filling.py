"""Filled cells, as the kind of table that was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.checks import Labels
from ..data.giving_back import is_dask, like, stacked, stays_sparse
from ..data.source import Source, named
from ..errors import InputError
from .common import seed_of
from .options import OneOf
from .passes import Filled
from .sklearn_api import available_if
from .tables import TablesMixin

FILLS = ("probability", "mode", "sample")


class FillingMixin(TablesMixin):
    """The part of the shell that answers about cells, from ``_model`` and ``_params``."""

    @available_if(lambda self: self._has("reconstruct"))
    def reconstruct(self, X: Any, cells: Any = None) -> Any:
        """P(cell = 1 given the observed cells of its row).

        Parameters
        ----------
        X : table
        cells : (rows, columns) pair of arrays, optional
            Single cells; without it the answer is the whole table, dense.

        Returns
        -------
        (n_rows, n_features) table of the kind of X, or (n_cells,) array if ``cells`` is given
            A frame for a frame, a lazy Dask table for one of Dask's, else an array.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_votes().frame.dropna(how="all")
        >>> model = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
        >>> model.reconstruct(X).shape
        (434, 16)
        >>> model.reconstruct(X, cells=([0], ["crime"])).round(2)
        array([0.97])
        """
        self._check_fitted()
        if cells is None:
            return self._in_kind(X, self._model.predict_cells)
        asked = self._ask(X)
        return asked.by_cells(asked.model.predict_cells_at, *self._cells(cells, asked.sweep.source))

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
            columns = self._column_numbers(columns.tolist())
        for what, values, limit in (("row", rows, source.shape[0]), ("column", columns, source.shape[1])):
            if values.dtype.kind not in "iu" and len(values):
                raise InputError(f"{self._name}: {what} numbers of cells must be whole numbers.")
            outside = values[(values < 0) | (values >= limit)] if len(values) else values
            if len(outside):
                raise InputError(
                    f"{self._name}: a cell names {what} {outside[0]}, but the {what}s are numbered 0 to {limit - 1}."
                )
        return rows.astype(np.int64), columns.astype(np.int64)

    @available_if(lambda self: self._has("impute"))
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
        (n_rows, n_features) table of the kind of X
            A pandas, polars or pyarrow frame for one of these, sparse (CSR) for a sparse table, a lazy Dask table for one of
            Dask's, else an array.  Cells are floats, with ``how="mode"`` and "sample", too.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_votes().frame.dropna(how="all")
        >>> model = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
        >>> model.impute(X.iloc[:1]).iloc[0, :3].round(2).tolist()
        [0.0, 1.0, 0.0]
        >>> model.impute(X.iloc[:1], how="mode").iloc[0, :3].tolist()
        [0.0, 1.0, 0.0]
        """
        self._check_fitted()
        self._check("how", how, OneOf(FILLS))
        return self._in_kind(X, Filled(self._model, how, seed_of(random_state), dense=not stays_sparse(X)))

    def _in_kind(self, X: Any, question: Callable[..., Any]) -> Any:
        """``question(block, precomputed)`` of all blocks as the kind of table that X is; of Dask tables only the recipe."""
        if is_dask(X):
            return self._in_parts(X, question)
        asked = self._ask(X)
        return like(X, stacked(asked.by_block(question)), self._column_names(asked.sweep.source.labels))

    def _in_parts(self, X: Any, question: Callable[..., Any]) -> Any:
        """The same of a Dask table, whose partitions are answered when they are computed."""
        from ..data.dask import by_partition
        from ..engine.sweep_dask import PartAnswer

        names, answer = self._part_answer(PartAnswer, X, question)
        return by_partition(X, answer, names)

    def _part_answer(self, kind: Any, X: Any, question: Callable[..., Any]) -> tuple[list[str] | None, Any]:
        """Names of the columns of a Dask table, and a question about its partitions, of a kind, with all that it needs."""
        from ..data.dask import outline

        with named(self._name):
            seen = outline(X, self._reading(), self._known_columns())
        self._check_columns(seen)
        names = self._column_names(seen.labels)
        run = (self._name, self.binarize, self.block_rows, self.work, self.n_features_in_, names, self._reading())
        return names, kind(question, self._model.precompute(self._params), *run)

    def _column_names(self, labels: Labels) -> list[str] | None:
        """What the columns of an answer are called: as in the fitted table, else as in the one that was given."""
        names = getattr(self, "feature_names_in_", labels.columns)
        return None if names is None else [str(name) for name in names]
