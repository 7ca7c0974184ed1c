"""What all halves of the shell know of an estimator: its options, its fitted state, how it opens a table."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..data.source import Source, open_source
from ..data.summary import Totals
from ..engine.ask import Asked
from ..engine.stepwise_em import StreamState
from ..engine.sweep import sweep_of
from ..errors import InputError
from ..families import family_of
from .options import RunOptions
from .saving import SavesMixin
from .sklearn_api import check_is_fitted, effective_n_jobs, validate_data


class Shell(SavesMixin, RunOptions):
    """Attributes that every estimator has, and tables opened for it.

    Class attributes
    ----------------
    score_kind : {"exact", "lower bound", "estimate"}
        What ``score_samples`` gives.
    work : int
        Work per cell, relative to a mixture: blocks are cut smaller accordingly.
    """

    score_kind: ClassVar[str] = "exact"
    work: ClassVar[int] = 1

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
        return int(self.n_components)

    def _has(self, method: str) -> bool:
        """Whether the estimator, with its options, has a method that only some families have."""
        return method in family_of(type(self)).answers

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_params", None) is not None

    def _check_fitted(self) -> None:
        """Raise scikit-learn's error if there is nothing to answer from."""
        check_is_fitted(self, "_params")

    def _open(self, X: Any, *, reset: bool, sample_weight: Any = None, merge: bool = False) -> Source:
        """Open a table and check it against what was fitted."""
        source = open_source(
            X,
            owner=self._name,
            binarize=self.binarize,
            block_rows=self.block_rows,
            sample_weight=sample_weight,
            merge=merge,
            work=self.work,
        )
        self._check_columns(X, source, reset)
        return source

    def _ask(self, X: Any, sample_weight: Any = None) -> Asked:
        """The fitted model and a table, for any question."""
        self._check_fitted()
        source = self._open(X, reset=False, sample_weight=sample_weight)
        return Asked(self._model, self._params, sweep_of(source, effective_n_jobs(self.n_jobs)))

    def _check_columns(self, X: Any, source: Source, reset: bool) -> None:
        """Number and names of the columns, in scikit-learn's words."""
        n_columns = source.shape[1]
        if not reset and n_columns != self.n_features_in_:
            transposed = source.shape[0] == self.n_features_in_
            raise InputError(
                f"X has {n_columns} features, but {self._name} is expecting {self.n_features_in_} features as input."
                + (" Did you pass the transpose? Rows are samples, columns are features." if transposed else "")
            )
        if hasattr(X, "columns") and type(X).__module__.partition(".")[0] in ("pandas", "polars"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return
        names = source.labels.columns
        if reset:
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = n_columns
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            return
        ours = getattr(self, "feature_names_in_", None)
        if names is not None and ours is not None and list(names) != list(ours):
            odd = [name for name in names if name not in set(ours)] or list(names)
            raise InputError(
                f"{self._name}: the columns are named otherwise, or ordered otherwise, than when it was fitted "
                f"(for instance {odd[0]!r}). Bring them into the order of feature_names_in_."
            )

    def _feature_names(self) -> list[str]:
        """What the columns are called, in words."""
        return [str(name) for name in getattr(self, "feature_names_in_", range(self.n_features_in_))]
