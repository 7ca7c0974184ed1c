"""What an estimator knows of the columns that it was fitted to, and how it opens a table."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.reading import Reading
from ..data.source import Source, open_source
from ..engine.ask import Asked
from ..engine.sweep import sweep_of
from ..errors import InputError, InputTypeError, brief
from .options import is_whole
from .saving import SavesMixin
from .sklearn_api import check_is_fitted, effective_n_jobs

# What a fit keeps of the columns of its table.
KEPT = ("n_features_in_", "feature_names_in_", "reading_")


def keep_columns(fitted: Any, estimator: Any) -> None:
    """Let an estimator know the columns that another was fitted to."""
    for name in KEPT:
        vars(estimator).pop(name, None)
        if hasattr(fitted, name):
            setattr(estimator, name, getattr(fitted, name))


class TablesMixin(SavesMixin):
    """The part of the shell that opens tables, for fits and for questions.

    Class attributes
    ----------------
    work : int
        Work per cell, relative to a mixture: blocks are cut smaller accordingly.
    """

    work: ClassVar[int] = 1

    # Options.
    warm_start: bool = False
    binarize: Any
    block_rows: int | None
    n_jobs: int | None

    # What a fit leaves behind.
    _params: Any
    _model: Any
    n_features_in_: int
    feature_names_in_: Any
    reading_: dict[str, Any]

    def _has(self, method: str) -> bool:
        """Whether the estimator, with its options, has a method that only some have."""
        return True

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_params", None) is not None

    @property
    def _is_warm(self) -> bool:
        """Whether a fit goes on from the parameters that are there."""
        return bool(self.warm_start) and getattr(self, "_params", None) is not None

    def _check_fitted(self) -> None:
        """Raise scikit-learn's error if there is nothing to answer from."""
        check_is_fitted(self, "_params")

    def _open(
        self, X: Any, *, reset: bool, sample_weight: Any = None, merge: bool = False, patterns: bool = False
    ) -> Source:
        """Open a table and check it against what was fitted; a fit that goes on wants the columns of the last one, too."""
        known = not reset or self._is_warm
        source = open_source(
            X,
            owner=self._name,
            binarize=self.binarize,
            block_rows=self.block_rows,
            sample_weight=sample_weight,
            merge=merge,
            work=self.work,
            reading=self._reading() if known else None,
            columns=self._known_columns() if known else None,
            patterns=patterns,
        )
        if reset:
            self._keep_columns(X, source)
        else:
            self._check_columns(source)
        return source

    def _known_columns(self) -> list[str] | None:
        """Names of the columns of the fit, if they had some."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _reading(self) -> Reading | None:
        """How the table of the fit was read, if there was anything to remember."""
        return Reading.of_record(self.reading_) if hasattr(self, "reading_") else None

    def _ask(self, X: Any, sample_weight: Any = None) -> Asked:
        """The fitted model and a table, for any question."""
        self._check_fitted()
        source = self._open(X, reset=False, sample_weight=sample_weight)
        return Asked(self._model, self._params, sweep_of(source, effective_n_jobs(self.n_jobs)))

    def _check_columns(self, source: Any) -> None:
        """Number of the columns, in scikit-learn's words; their names were looked at as the table was opened."""
        n_columns = source.shape[1]
        if n_columns != self.n_features_in_:
            transposed = source.shape[0] == self.n_features_in_
            raise InputError(
                f"X has {n_columns} features, but {self._name} is expecting {self.n_features_in_} features as input."
                + (" Did you pass the transpose? Rows are samples, columns are features." if transposed else "")
            )

    def _keep_columns(self, X: Any, source: Source) -> None:
        """Number and names of the columns, and how the table was read."""
        for name in KEPT:
            self.__dict__.pop(name, None)
        self.n_features_in_ = source.shape[1]
        names = source.labels.columns
        if names is not None and _named_by_text(X):
            self.feature_names_in_ = np.array(names, dtype=object)
        record = {} if (reading := getattr(source, "reading", None)) is None else reading.record()
        if record:
            self.reading_ = record

    def _column_numbers(self, columns: Any) -> NDArray[np.int64]:
        """Numbers of columns given by number or name, one or several."""
        place = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", ()))}
        alone = np.ndim(columns) == 0 if isinstance(columns, np.ndarray) else not isinstance(columns, Iterable)
        asked = [columns] if alone or isinstance(columns, str) else list(columns)
        if not asked:
            raise InputError(f"{self._name}: name one column or more.")
        found = [place.get(column, -1) if isinstance(column, str) else column for column in asked]
        for column, j in zip(asked, found):
            if not is_whole(j) or not 0 <= j < self.n_features_in_:
                near = get_close_matches(column, list(place), 1) if isinstance(column, str) else []
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise InputError(f"{self._name}: there is no column {brief(column)}.{hint}")
        return np.array(found, np.int64)

    def _feature_names(self) -> list[str]:
        """What the columns are called, in words."""
        return [str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))]


def _named_by_text(X: Any) -> bool:
    """Whether the columns of a table are called by text; frames may have numbers there, which are no names."""
    if type(X).__module__.partition(".")[0] not in ("pandas", "dask", "dask_expr") or not hasattr(X, "columns"):
        return True
    kinds = {isinstance(name, str) for name in X.columns}
    if kinds == {True, False}:
        raise InputTypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(name).__name__ for name in X.columns})} as feature name / column name types. Rename the columns, "
            "e.g. with X.columns = X.columns.astype(str)."
        )
    return kinds == {True}
