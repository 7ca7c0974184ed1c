"""What all halves of the shell know of an estimator: its options, its fitted state, how it opens a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import declared as of
from ..data.reading import Reading
from ..data.source import Source, open_source
from ..data.summary import Totals, ValueTotals
from ..engine.ask import Asked
from ..engine.stepwise_em import StreamState
from ..engine.sweep import sweep_of
from ..errors import InputError, InputTypeError, brief
from ..families import family_of
from .limits import COPIES, PER_START, check_memory, check_supported, shape_text, sizes_text
from .options import RunOptions, is_whole
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


class Shell(SavesMixin, RunOptions):
    """Attributes that every estimator has, and tables opened for it.

    Class attributes
    ----------------
    score_kind : {"exact", "lower bound", "estimate"}
        What ``score_samples`` gives.
    work : int
        Work per cell, relative to a mixture: blocks are cut smaller accordingly.
    keeps_rows : bool
        Whether a fit keeps a number for every row and component.
    counted_by_rows : tuple of str
        Options that are numbers of components, of which there cannot be more than rows.
    """

    score_kind: ClassVar[str] = "exact"
    work: ClassVar[int] = 1
    keeps_rows: ClassVar[bool] = False
    counted_by_rows: ClassVar[tuple[str, ...]] = ("n_components",)
    size_option: ClassVar[str] = "n_components"  # what the number of components is called
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "components_": Annotated[Any, of.reals("K", "D")],
        "_params": Any,
        "_model": Any,
        "_sums": of.Maybe(Totals | ValueTotals | None),
        "_stream": of.Maybe(StreamState | None),
        "_stream_sums": of.Maybe(Totals | None),
        "marginals_": Annotated[Any, of.chances("D")],
        "weight_seen_": of.Maybe(of.Amount),
        "n_iter_": of.Count,
        "converged_": bool,
        "objective_": of.Maybe(of.AnyNumber),
        "n_reached_": of.Maybe(of.Count),
        "history_": list[list[of.AnyNumber]],
        "restarts_": of.Maybe(list[dict[str, of.Plain]]),
        "score_kind_": of.Maybe(Annotated[str, of.words("exact", "lower bound", "estimate")]),
        "empty_components_": of.Maybe(list[of.Component]),
        "duplicate_components_": of.Maybe(list[list[of.Component]]),
        "unobserved_features_": of.Maybe(Annotated[Any, of.places("*", below="D")]),
    }

    # Options that most estimators have; see options.py.
    n_components: Any
    warm_start: bool = False
    binarize: Any

    # What a fit leaves behind.
    _params: Any
    _model: Any
    _sums: Totals
    _stream: StreamState | None
    _stream_sums: Totals | None
    n_features_in_: int
    feature_names_in_: Any
    reading_: dict[str, Any]
    components_: Any
    weights_: Any
    marginals_: Any
    weight_seen_: float
    n_iter_: int
    converged_: bool
    history_: list[list[float]]
    restarts_: list[dict[str, Any]]
    score_kind_: str

    @property
    def _size(self) -> int:
        """Number of components that the options ask for."""
        return int(getattr(self, self.size_option))

    def _has(self, method: str) -> bool:
        """Whether the estimator, with its options, has a method that only some families have."""
        return method in family_of(type(self)).answers

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

    def _check_size(self, source: Source, stream: bool = False) -> None:
        """Refuse a size that a table of this shape cannot support, or that memory cannot hold.

        More rows of a stream may come.
        """
        options, n_columns = self.get_params(deep=False), source.shape[1]
        shape = getattr(source, "n_table_rows", source.shape[0]), n_columns
        for name in () if stream else self.counted_by_rows:
            if is_whole(options.get(name)):
                check_supported(self._name, name, int(options[name]), shape)
        # On Dask the rows stay with the workers.
        kept = self._numbers_kept(0 if hasattr(source, "delayed") else source.shape[0], n_columns)
        check_memory(self._name, f"a fit to {shape_text(shape)}{sizes_text(options)}", kept)

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        """About how many numbers a fit to a table of this shape keeps in memory."""
        per_component = COPIES * n_columns + (n_rows if self.keeps_rows else 0)
        return int(getattr(self, self.size_option, 0)) * per_component + PER_START * int(getattr(self, "n_init", 0))

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
