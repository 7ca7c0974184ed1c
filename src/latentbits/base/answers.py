"""Answers: the same questions for every family."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..answers import Explanation
from ..data.block import Block
from ..data.giving_back import is_dask
from ..data.numbers import real_numbers
from ..data.rng import stream
from ..data.source import Source, named
from ..engine.ask import Asked, ByPattern
from ..engine.protocols import Causes, Places
from ..errors import InputError
from ..families import family_of
from .common import seed_of
from .components import ComponentsMixin
from .filling import FillingMixin
from .limits import check_memory, shape_text
from .options import Flag, Whole
from .passes import Scored
from .sklearn_api import ClassNamePrefixFeaturesOutMixin, NotFittedError, available_if

MOST_EXPLAINED = 4_000_000  # cells times components explained at once


class AnswersMixin(ClassNamePrefixFeaturesOutMixin, FillingMixin, ComponentsMixin):
    """The half of the shell that answers from ``_model`` and ``_params``."""

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of every row in nats (``score_kind_`` says whether it is exact).

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of nats, a lazy one of Dask for a table of Dask

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.score_samples(X)[:2].round(2)
        array([-4.39, -2.79])
        """
        return self._by_rows(X, "log_prob")

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

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> round(model.score(X), 2), model.score_kind_
        (-5.68, 'exact')
        """
        asked = self._ask(X, sample_weight)
        total, weight = asked.total(Scored(asked.model.log_prob))
        return float(total / weight)

    def _by_rows(self, X: Any, question: str | Callable[[Any], Callable[..., Any]]) -> Any:
        """An answer about every row: the model's of this name, or ``question(model)``; of Dask tables only the recipe.

        Dask tables give a Dask array with their chunks, of which there is one length unknown per partition of a frame.
        """
        self._check_fitted()
        asked = ByPattern(getattr(self._model, question)) if isinstance(question, str) else question(self._model)
        return self._rows_in_parts(X, asked) if is_dask(X) else self._ask(X).by_rows(asked)

    def _rows_in_parts(self, X: Any, question: Callable[..., Any]) -> Any:
        """The answer about every row of a Dask table, whose partitions are answered when they are computed."""
        from ..data.dask import by_partition_rows
        from ..engine.sweep_dask import RowsAnswer

        _, answer = self._part_answer(RowsAnswer, X, question)
        return by_partition_rows(X, answer, answer.example())

    @available_if(lambda self: self._has("explain"))
    def explain(self, X: Any, cells: Any = None) -> Explanation:
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

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_votes().frame.dropna(how="all")
        >>> model = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
        >>> model.explain(X, cells=([0], ["crime"])).to_frame()[["value", "probability", "surprise"]].round(2)
           value  probability  surprise
        0      1         0.97      0.03
        """
        asked = self._ask(X)
        source = asked.sweep.source
        rows, columns = self._all_cells(source) if cells is None else self._cells(cells, source)
        return self._explanation(asked, rows, columns)

    @available_if(lambda self: self._has("explain"))
    def report(
        self,
        X: Any,
        path: Any,
        *,
        name: str | None = None,
        labels: dict[str, Any] | None = None,
        ids: Any = None,
        names: Any = None,
        random_state: int = 0,
    ) -> Path:
        """Write what the model says about a table as a page: the report of :func:`latentbits.explore` without a comparison.

        Parameters
        ----------
        X : table
        path : path
            The HTML file to write; one file that asks for nothing from the network.
        name : str, optional
            What the table is called; by default as the file.
        labels : dict of sequences, optional
            Columns that are shown beside the rows; by default those of a table that was read with label columns.
        ids : sequence, optional
            Names of the rows; by default those of a table that was read with an id column.
        names : dict or path, optional
            What components are called on the page, as in :meth:`name_components`; the model keeps its own names.
        random_state : int
            Which rows are shown, of many.

        Returns
        -------
        pathlib.Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.make_mixture(200, 8, 2, spread=3.0, random_state=0).data
        >>> model = BernoulliMixture(2, random_state=0).fit(X)
        >>> page = model.report(X, Path(tempfile.mkdtemp()) / "habits.html", names={"class 2": "late risers"})
        >>> page.name, "late risers" in page.read_text(encoding="utf-8"), model.component_names_
        ('habits.html', True, ['class 1', 'class 2'])
        """
        # A job of a room above this one, which is imported by its name, as families are, when it is asked for.
        write = import_module("latentbits.exploring.job").write_report
        given = {"name": name, "labels": labels, "ids": ids, "names": names, "random_state": random_state}
        written: Path = write(self, X, path, **given)
        return written

    def _explanation(self, asked: Asked, rows: Places, columns: Places) -> Explanation:
        """Why single cells are as they are."""
        values, causes = asked.by_cells(_Explained(asked.model), rows, columns)
        names = self.feature_names_in_ if hasattr(self, "feature_names_in_") else None
        kind = family_of(type(self)).kind
        return Explanation(rows, columns, values, names, self._component_names(), **causes._asdict(), kind=kind)

    def _all_cells(self, source: Source) -> tuple[Places, Places]:
        """Rows and columns of all cells, if they are not too many to be explained at once."""
        n_rows, n_columns = source.shape
        n_components = self._model.n_components
        if n_rows * n_columns * n_components > MOST_EXPLAINED:
            raise InputError(
                f"{self._name}: explaining all {n_rows} × {n_columns} cells for {n_components} components is "
                "too much at once. Name cells=(rows, columns), or pass fewer rows."
            )
        rows, columns = (part.ravel() for part in np.indices((n_rows, n_columns)))
        return rows, columns

    @available_if(lambda self: self._has("sample"))
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

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.sample(2, random_state=0).shape
        (2, 15)
        """
        self._check("return_causes", return_causes, Flag())
        rng = self._drawing(n, random_state)
        cells, causes = self._model.sample_rows(self._params, int(n), rng)
        return (cells, causes) if return_causes else cells

    def _drawing(self, n: Any, random_state: Any) -> np.random.Generator:
        """Random numbers for ``n`` rows, which must be a number of rows."""
        self._check_fitted()
        self._check("n", n, Whole(1))
        check_memory(self._name, f"drawing {shape_text((int(n), self.n_features_in_))}", int(n) * self.n_features_in_)
        return stream(seed_of(self.random_state if random_state is None else random_state), "sample")

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Total log-likelihood and number of rows."""
        return self._summed_scores(X, "log_prob")

    def _summed_scores(self, X: Any, question: str) -> tuple[float, int]:
        """Sum of the model's answer of this name over the rows, and their number."""
        asked = self._ask(X)
        total, n_rows = asked.total(Scored(getattr(asked.model, question)))
        return float(total), int(n_rows)

    def _training_log_likelihood(self, source: Any) -> float:
        """Log-likelihood of the training table for criteria."""
        asked = self._ask(source)
        return float(asked.total(Scored(asked.model.log_prob))[0])

    @available_if(lambda self: self._has("bic"))
    def bic(self, X: Any) -> float:
        """Bayesian information criterion, smaller is better: -2 log L + p log n.

        p is ``n_free_``.  In families whose rows have parameters of their own (``criterion`` is "cells") p grows with
        the number of rows, and neither BIC nor AIC has a theory: choose by hidden cells.

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
        >>> round(model.bic(X))
        1364
        """
        value, n = self._log_likelihood(X)
        return float(-2 * value + self.n_free_ * np.log(n))

    @available_if(lambda self: self._has("aic"))
    def aic(self, X: Any) -> float:
        """Akaike information criterion, smaller is better: -2 log L + 2 p.

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
        >>> round(model.aic(X))
        1241
        """
        return -2 * self._log_likelihood(X)[0] + 2 * self.n_free_

    def _given_unknowns(self, values: Any) -> Any:
        """Row unknowns (memberships, scores) given by the user, as a matrix."""
        self._check_fitted()
        with named(self._name):
            values = real_numbers(values)
        if values.ndim != 2 or values.shape[1] != self.n_components:
            raise InputError(
                f"{self._name}: one row of {self.n_components} numbers per row is needed; got shape {values.shape}."
            )
        if not np.isfinite(values).all():
            raise InputError(f"{self._name}: row {int(np.argmin(np.isfinite(values).all(axis=1)))} is not finite.")
        return values

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of ``transform``: those of the components.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the columns that were fitted, and not used otherwise.

        Returns
        -------
        array of str

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.get_feature_names_out().tolist()
        ['class 1', 'class 2', 'class 3']
        """
        try:
            super().get_feature_names_out(input_features)  # scikit-learn's checks
        except (TypeError, ValueError) as error:
            if isinstance(error, NotFittedError):
                raise
            raise InputError(f"{self._name}: {error}") from None
        return np.array(self._names_out(), dtype=object)

    def _names_out(self) -> list[str]:
        """What the columns of ``transform`` are called."""
        return self.component_names_


class _Explained:
    """Values and causes of single cells of a block."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any, rows: Places, columns: Places) -> tuple[Any, Causes]:
        return block.at(rows, columns), self.model.causes(block, precomputed, rows, columns)
