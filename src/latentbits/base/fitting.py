"""Fitting: open the data, build the model, run the driver, keep and tell what came out."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from .. import persist
from ..data.source import Source, open_source
from ..data.summary import Totals, totals
from ..engine import events
from ..engine.checkpoint import read_sealed
from ..engine.em import EMOptions, Point
from ..engine.online import Online, online_step
from ..engine.restarts import Bookmark, Restart, Result, fit_restarts
from ..engine.stats import add
from ..engine.sweep import sweep_of
from ..errors import (
    DuplicateComponentWarning,
    EmptyComponentWarning,
    InputError,
    NotConvergedWarning,
    RestartWarning,
    TableWarning,
)
from .callbacks import SklearnCallbacks, callback_management_context
from .common import digest_of, seed_of
from .passes import StartRows, fingerprint, table_sums

# Attributes that tell of a fit as a whole; they go when more rows are taken in.
TOLD_OF_A_FIT = ("objective_", "restarts_", "n_reached_", "conditional_log_likelihood_", "stability_", "bic_bound_")


class Fitting(BaseEstimator):
    """The half of the shell that fits."""

    n_features_in_: int
    score_kind = "exact"  # or "lower bound", "estimate"
    needs_variation = False  # whether constant columns are left out of the fit
    work = 1  # per cell, relative to a mixture: blocks are cut smaller accordingly
    streams = True  # whether rows can be taken in block by block
    criterion = "bic"  # by which the number of components is chosen if nothing else is asked for

    def _table_sums(self, sweep: Any) -> tuple[Any, int]:
        """Sums of the table that the model needs, and its digest."""
        return table_sums(sweep)

    def _build(self, sums: Totals) -> Any:
        """The model for a table with these sums."""
        raise NotImplementedError

    def _start(self, model: Any, sweep: Any, seed: int, restart: int) -> Any:
        """Starting parameters of a restart."""
        raise NotImplementedError

    def _going_on(self, model: Any, fresh: Any) -> Any:
        """Parameters from which a warm start goes on; ``fresh`` are those of a new start."""
        return self._params

    def _n_starts(self) -> int:
        """How many starts there are; one that is given whole need not be repeated."""
        return int(self.n_init)

    def _start_digest(self) -> str:
        """What a checkpoint must agree in beside the options that can be written down."""
        return ""

    def _streaming(self, model: Any) -> Any:
        """The model for rows that come one after the other."""
        return model

    def _start_rows(self, model: Any, sweep: Any, params: Any, seed: int, restart: int, X: Any) -> list[Any]:
        """Row state at the start, where the blocks are."""
        nothing: list[Any] = [None] * sweep.n_blocks
        if not model.has_rows:
            return nothing
        rows: list[Any] = sweep.map(StartRows(model, seed, restart), nothing, params)[1]
        return rows

    def _adopt(self) -> None:
        """Set the fitted attributes that belong to the family from ``_params``."""
        raise NotImplementedError

    def _check_options(self) -> None:
        """Refuse options that make no sense; families add their own and call this."""
        if "n_components" in self.get_params(deep=False):
            self._whole("n_components", 1)
        self._whole("max_iter", 1)
        self._whole("n_init", 1)
        self._number("tol", 0.0)
        self._check_running()

    def _check_running(self) -> None:
        """Refuse limits, callbacks and numbers of threads that are none."""
        if self.callbacks is not None and not isinstance(self.callbacks, (list, tuple)):
            kind = type(self.callbacks).__name__
            raise InputError(f"{self._name}: callbacks must be a list of functions; got {kind!r}.")
        jobs = self.n_jobs
        if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, (int, np.integer)) or jobs == 0):
            raise InputError(f"{self._name}: n_jobs must be None or a whole number other than 0; got {jobs!r:.60}.")
        if self.time_limit is not None:
            self._number("time_limit", 0.0)

    def _whole(self, name: str, least: int) -> None:
        """Refuse an option that is not a whole number of at least ``least``."""
        self._check_whole(name, getattr(self, name), least)

    def _check_whole(self, name: str, value: Any, least: int) -> None:
        """Refuse a number that is not whole and at least ``least``."""
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{self._name}: {name} must be a whole number, {least} or more; got {value!r}.")

    def _number(self, name: str, least: float) -> None:
        """Refuse an option that is not a finite number of at least ``least``."""
        value = getattr(self, name)
        good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not good or not np.isfinite(value) or value < least:
            raise InputError(f"{self._name}: {name} must be a number, {least:g} or more; got {value!r}.")

    def _positive(self, name: str) -> None:
        """Refuse an option that is not a finite number above 0."""
        value = getattr(self, name)
        good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not good or not np.isfinite(value) or value <= 0:
            raise InputError(f"{self._name}: {name} must be a number above 0; got {value!r:.60}.")

    def _flag(self, name: str) -> None:
        """Refuse an option that is neither true nor false."""
        value = getattr(self, name)
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{self._name}: {name} must be True or False; got {value!r:.60}.")

    def _one_of(self, name: str, allowed: tuple[Any, ...]) -> None:
        """Refuse an option that is not among those allowed."""
        value = getattr(self, name)
        if not (value is None or isinstance(value, str)) or value not in allowed:
            raise InputError(f"{self._name}: {name} must be one of {', '.join(map(repr, allowed))}; got {value!r:.60}.")

    def _beta(self, name: str) -> tuple[float, float]:
        """An option that is a Beta prior; refused without a mode inside [0, 1]."""
        given = getattr(self, name)
        try:
            on, off = (float(value) for value in given)
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: {name} must be a pair of numbers (a, b); got {given!r:.60}.") from None
        if not (1 <= on < np.inf and 1 <= off < np.inf):
            raise InputError(
                f"{self._name}: {name} ({on:g}, {off:g}) has no mode inside (0, 1); both numbers must be 1 or more."
            )
        return on, off

    @property
    def _size(self) -> int:
        """Number of components that the options ask for."""
        return int(self.n_components)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def _n_features_out(self) -> int:
        """Number of columns that ``transform`` returns; scikit-learn names them by it."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("not fitted yet")
        return int(self._model.n_components)

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : table of 0, 1 and unknown cells
            Array, list, SciPy sparse matrix or array, pandas, polars or pyarrow table, memory map, path to a file,
            Dask array or frame.  Unknown cells are NaN, None, pd.NA or masked; in sparse tables a stored NaN.
        y : ignored
            Present for scikit-learn's pipelines.
        sample_weight : (n_rows,) array-like, optional
            Weight of every row; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
        """
        self._check_options()
        with callback_management_context(self):
            source = self._open(X, reset=True, sample_weight=sample_weight, merge=True)
            sweep = sweep_of(source, effective_n_jobs(self.n_jobs))
            self._fit_sweep(sweep, X)
        return self

    def _fit_sweep(self, sweep: Any, X: Any = None) -> None:
        """Fit on blocks that are already open."""
        sums, digest = self._table_sums(sweep)
        self._check_table(sums)
        model = self._build(sums)
        seed = self._fit_seed()
        warm = bool(self.warm_start) and getattr(self, "_params", None) is not None
        if warm:
            self._check_going_on(len(sums.ones), "warm_start")

        def start(restart: int) -> Point:
            params = self._start(model, sweep, seed, restart)
            params = self._going_on(model, params) if warm else params
            return Point(params, self._start_rows(model, sweep, params, seed, restart, X))

        options = EMOptions(
            max_iter=self.max_iter,
            tol=self.tol,
            scale=max(1.0, sums.n_cells),
            accelerate=self.accelerate,
            strict=os.environ.get("LATENTBITS_STRICT", "") == "1",
        )
        n_init = 1 if warm else self._n_starts()
        result = fit_restarts(
            model,
            sweep,
            start,
            n_init,
            options,
            self._listeners(n_init, X),
            f"{self._name} (K={self._size})",
            self._bookmark(sums, digest, seed, warm),
            model.params_type,
        )
        self._take(model, sweep, result, sums)

    def _fit_seed(self) -> int:
        """The seed of this fit; one without a seed of its own goes on with that of its checkpoint."""
        if self.random_state is None and self.checkpoint is not None and os.path.exists(self.checkpoint):
            return int(read_sealed(self.checkpoint, "checkpoint")[0]["identity"]["seed"])
        return seed_of(self.random_state)

    def _check_going_on(self, n_columns: int, what: str) -> None:
        """Refuse to go on from parameters of another shape."""
        before = (self._model.n_components, len(self.marginals_))
        if before != (self._size, n_columns):
            raise InputError(
                f"{self._name}: {what} cannot go on with another shape ({before[0]} components and {before[1]} columns "
                f"before, {self._size} and {n_columns} now). Make a new estimator."
            )

    def _take(self, model: Any, sweep: Any, result: Result, sums: Totals) -> None:
        """Keep the outcome of a fit."""
        self._params, objective = model.conclude(result.point, sweep, result.best.complete)
        self._model = model.final()
        self._online: Online | None = None
        self._online_sums: Totals | None = None
        self.n_iter_ = result.best.n_iter
        self.converged_ = result.best.converged
        self.objective_ = result.best.objective if objective is None else objective
        self.history_ = [restart.history for restart in result.restarts]
        self.restarts_ = [_restart_row(restart, result, self.objective_) for restart in result.restarts]
        self.n_reached_ = result.n_reached
        self.score_kind_ = self.score_kind
        self.marginals_ = sums.marginals
        self.weight_seen_, self._sums = sums.weight, sums
        self._adopt()
        self._tell(result)

    def _tell(self, result: Result) -> None:
        """Warn of what the user should doubt."""
        failed = [restart for restart in result.restarts if restart.error]
        if failed:
            warnings.warn(
                f"{self._name}: {len(failed)} of {len(result.restarts)} starts failed and were left out (first: "
                f"{failed[0].error}).",
                RestartWarning,
                stacklevel=5,
            )
        if not self.converged_:
            why, remedy = f"max_iter={self.max_iter}", "max_iter"
            if result.stopped:
                limit = self.time_limit
                why, remedy = ("a callback", "its limit") if limit is None else (f"time_limit={limit:g}", "time_limit")
            warnings.warn(
                f"{self._name}: the best start was stopped by {why} before it settled (last gain above tol={self.tol:g} "
                f"nats per cell). Raise {remedy} or tol.",
                NotConvergedWarning,
                stacklevel=5,
            )

    def _warn_components(self, empty: list[int], twins: list[tuple[int, int]]) -> None:
        """Name empty and duplicate components."""
        self.empty_components_, self.duplicate_components_ = empty, [list(pair) for pair in twins]
        if empty:
            warnings.warn(
                f"{self._name}: component{'s' * (len(empty) > 1)} {', '.join(map(str, empty))} hold almost no rows. "
                "Use fewer components or more starts.",
                EmptyComponentWarning,
                stacklevel=6,
            )
        if twins:
            shown = ", ".join(f"{a} and {b}" for a, b in twins[:5])
            warnings.warn(
                f"{self._name}: components {shown} are the same to three digits. Use fewer components.",
                DuplicateComponentWarning,
                stacklevel=6,
            )

    def _check_table(self, sums: Totals) -> None:
        """Refuse tables without cells, and tell of rows and columns that say nothing."""
        if sums.n_cells == 0:
            raise InputError(f"{self._name}: every cell of the table is unknown; nothing can be learnt from it.")
        if sums.n_unknown and np.array_equal(sums.ones, sums.observed):
            warnings.warn(
                f"{self._name}: every known cell of the table is 1. If a blank means no, write 0 instead of leaving it out.",
                TableWarning,
                stacklevel=5,
            )
        if self.needs_variation:
            self._warn_of_variation(sums)
        unknown = np.flatnonzero(sums.observed == 0)
        self.unobserved_features_ = unknown
        if len(unknown):
            names = getattr(self, "feature_names_in_", np.arange(len(sums.ones)))
            warnings.warn(
                f"{self._name}: {len(unknown)} column{'s' * (len(unknown) > 1)} without any known cell (first: "
                f"{names[unknown[0]]}); their probabilities come from the prior alone.",
                TableWarning,
                stacklevel=5,
            )
        if sums.n_blank_rows:
            warnings.warn(
                f"{self._name}: {sums.n_blank_rows} row{'s' * (sums.n_blank_rows > 1)} without any known cell; they say "
                "nothing about the components and are answered as if nothing were known of them.",
                TableWarning,
                stacklevel=5,
            )

    def _warn_of_variation(self, sums: Totals) -> None:
        """Tell of columns with one value only, and of too many components."""
        fixed = int(((sums.ones == 0) | (sums.ones == sums.observed))[sums.observed > 0].sum())
        if fixed:
            warnings.warn(
                f"{self._name}: {fixed} column{'s' * (fixed > 1)} with only one value; they say nothing about the "
                "components and are left out of the fit.",
                TableWarning,
                stacklevel=6,
            )
        varying = int((sums.observed > 0).sum()) - fixed
        if self.n_components > max(1, min(sums.n_rows, varying)):
            warnings.warn(
                f"{self._name}: {self.n_components} components for {sums.n_rows} rows and {varying} columns that vary; "
                f"more than {max(1, min(sums.n_rows, varying))} cannot be told apart. Use fewer components.",
                TableWarning,
                stacklevel=6,
            )

    def _listeners(self, n_init: int, X: Any) -> events.Listener:
        """Everything that listens to this fit."""
        listeners: list[events.Listener] = []
        if self.verbose:
            listeners.append(events.LogLines(1 if self.verbose > 1 else 10))
        if self.time_limit is not None:
            listeners.append(events.TimeLimit(self.time_limit))
        for callback in self.callbacks or ():
            listeners.append(callback if isinstance(callback, events.Listener) else events.Call(callback))
        if getattr(self, "_skl_callbacks", None):
            listeners.append(SklearnCallbacks(self, n_init, X))
        return events.Several(listeners)

    def _bookmark(self, sums: Totals, digest: int, seed: int, warm: bool) -> Bookmark | None:
        """Where and as what this fit checkpoints."""
        if self.checkpoint is None:
            return None
        options = {
            name: persist._option(value)
            for name, value in self.get_params(deep=False).items()
            if name not in ("checkpoint", "callbacks", "n_jobs", "verbose", "time_limit", "random_state")
        }
        identity = {
            "family": self._name,
            "options": json.loads(json.dumps(options)),
            "seed": seed,
            "table": f"{sums.n_rows} x {len(sums.ones)}, {fingerprint(digest)}",
            "going on from": digest_of(self._params) if warm else self._start_digest(),
        }
        every = float(os.environ.get("LATENTBITS_CHECKPOINT_SECONDS", "10"))
        return Bookmark(self.checkpoint, identity, every)

    @available_if(lambda self: self.streams)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Take in more rows, without looking at earlier ones again (stepwise EM).

        The first call draws one random start; later calls go on from there.  Each block of rows is used once.

        Parameters
        ----------
        X : table
            The next rows.
        y : ignored
        sample_weight : (n_rows,) array-like, optional
            Row weights.

        Returns
        -------
        self
        """
        self._check_options()
        first = getattr(self, "_params", None) is None
        source = self._open(X, reset=first, sample_weight=sample_weight, merge=True)
        if not first:
            self._check_going_on(source.shape[1], "partial_fit")
        for b in range(source.n_blocks):
            block = source.block(b)
            sums = totals(block)
            if first:
                self._begin_stream(sweep_of(source, 1), sums)
                first = False
            else:
                self._go_on_streaming(sums)
            self._params, self._online = online_step(self._model, self._params, self._online, block)
            self.n_iter_ += 1
            self.weight_seen_ += sums.weight
            assert self._online_sums is not None
            self.marginals_ = self._online_sums.marginals
            self.unobserved_features_ = np.flatnonzero(self._online_sums.observed == 0)
        self._model = self._model.final()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyComponentWarning)  # a stream may fill them yet
            warnings.simplefilter("ignore", DuplicateComponentWarning)
            self._adopt()
        return self

    def _begin_stream(self, sweep: Any, sums: Totals) -> None:
        """One random start on the first rows of a stream."""
        if sums.n_cells == 0:
            raise InputError(
                f"{self._name}: the first rows of the stream have no known cell of positive weight; start with others."
            )
        self._model = self._streaming(self._build(sums))
        self._params = self._stream_start(sweep, sums, seed_of(self.random_state))
        self._online, self._online_sums = None, sums
        self.n_iter_, self.weight_seen_ = 0, 0.0
        self.score_kind_, self.converged_, self.history_ = self.score_kind, False, []

    def _stream_start(self, sweep: Any, sums: Totals, seed: int) -> Any:
        """Parameters with which a stream begins."""
        return self._start(self._model, sweep, seed, 0)

    def _go_on_streaming(self, sums: Totals) -> None:
        """Count the next rows in; after a fit its parameters stand for the rows that it saw."""
        if self._online_sums is None:
            seen = self.weight_seen_
            guess = Totals(seen, self.marginals_ * seen, np.full(len(sums.ones), seen), 0, 0, 0, 0)
            self._online_sums = getattr(self, "_sums", None) or guess  # older files do not hold the sums
            blocks = max(1, round(seen / max(sums.weight, 1e-12)))
            self._online = Online(self._model.as_stats(self._params), seen, blocks)
            for told in TOLD_OF_A_FIT:  # of the fit, no longer of these parameters
                self.__dict__.pop(told, None)
            self.converged_ = False
        self._online_sums = add(self._online_sums, sums)
        self._model = self._streaming(self._build(self._online_sums))
        self._params = self._going_on(self._model, self._params)


def _restart_row(restart: Restart, result: Result, objective: float) -> dict[str, Any]:
    """A start as a row of the restarts table; ``objective`` is the last word on the best one."""
    value = objective if restart.number == result.best.number else restart.objective
    return {
        "start": restart.number,
        "objective": value,
        "below_best": objective - value,
        "n_iter": restart.n_iter,
        "converged": restart.converged,
        "jumps_rejected": restart.n_rejected,
        "error": restart.error,
    }
