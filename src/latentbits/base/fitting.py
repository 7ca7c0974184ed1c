"""Fitting: open the data, build the model, run the driver, keep and tell what came out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from .. import persist
from ..data.summary import Totals
from ..engine import events
from ..engine.bookmarks import Bookmark, Restart, checkpoint_seed
from ..engine.em import EMOptions
from ..engine.protocols import Rows, Sweep
from ..engine.restarts import Alone, Given, InitParams, Result, Starts, fit_restarts
from ..engine.sweep import LocalSweep, sweep_of
from ..engine.together import Together, active_client, n_threads
from ..errors import InputError
from .callbacks import SklearnCallbacks
from .common import digest_of, seed_of
from .doubts import DoubtsMixin
from .passes import fingerprint, table_sums
from .screening import Screening, sample_size, screen_starts
from .sklearn_api import callback_management_context, effective_n_jobs

# Work of a pass from which passes in float32 pay for the one that judges their end.
MIXED_FROM = 500_000


class FittingMixin(DoubtsMixin):
    """The half of the shell that fits.

    Families supply ``_build_model``, ``_initializer`` and ``_set_fitted_attributes``.
    """

    # By which the number of components is chosen if nothing else is asked for.
    criterion: Any = "bic"
    n_init: int
    accelerate: bool
    precision: str
    screen_starts: bool
    objective_: float
    n_reached_: int

    def _table_sums(self, sweep: Sweep) -> tuple[Any, int]:
        """Sums of the table that the model needs, and its digest."""
        return table_sums(sweep)

    def _build_model(self, sums: Totals) -> Any:
        """The model for a table with these sums."""
        raise NotImplementedError

    def _initializer(self, model: Any) -> InitParams:
        """How starting parameters are found: a function of the family's maths."""
        raise NotImplementedError

    def _warm_start_params(self, model: Any, fresh: Callable[[], Any]) -> Any:
        """Parameters from which a warm start goes on; ``fresh`` gives those of a new start."""
        return self._params

    def _n_starts(self) -> int:
        """How many starts there are; one that is given whole need not be repeated."""
        return int(self.n_init)

    def _start_digest(self) -> str:
        """What a checkpoint must agree in beside the options that can be written down."""
        return ""

    def _given_rows(self, model: Any, sweep: Sweep, X: Any) -> Rows | None:
        """Row state at the start, if the user gave it."""
        return None

    def _forgets_rows(self) -> bool:
        """Whether a fit needs no row of its own: equal rows of the whole table are then counted once."""
        return True

    def _set_fitted_attributes(self) -> None:
        """Set the fitted attributes that belong to the family from ``_params``."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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

        Examples
        --------
        >>> from latentbits import BernoulliMixture
        >>> X = [[1, 1, 0], [1, None, 0], [0, 0, 1]]
        >>> BernoulliMixture(2, random_state=0).fit(X, sample_weight=[2, 1, 1]).n_features_in_
        3
        """
        self._check_options()
        with callback_management_context(self):
            source = self._open(X, reset=True, sample_weight=sample_weight, merge=True, patterns=self._forgets_rows())
            self._check_size(source)
            self._forget_names()
            sweep = sweep_of(source, effective_n_jobs(self.n_jobs))
            self._fit_sweep(sweep, X)
        return self

    def _fit_sweep(self, sweep: Sweep, X: Any = None) -> None:
        """Fit on blocks that are already open."""
        sums, digest = self._table_sums(sweep)
        self._check_table(sums)
        model = self._build_model(sums)
        seed = self._fit_seed()
        warm = self._is_warm
        start = Starts(
            model, sweep, self._initializer(model), seed, None if warm else self._given_rows(model, sweep, X)
        )
        if warm:
            self._check_warm_start(len(sums.ones), "warm_start")
            start = replace(start, init=Given(self._warm_start_params(model, partial(start.params, 0))))
        options = EMOptions(
            max_iter=self.max_iter,
            tol=self.tol,
            scale=max(1.0, sums.n_cells),
            accelerate=self.accelerate,
            strict=os.environ.get("LATENTBITS_STRICT", "") == "1",
            mixed=self.precision == "mixed" and self._pass_work(sums) >= MIXED_FROM,
        )
        n_init = 1 if warm else self._n_starts()
        screening, began = None, time.monotonic()
        screens = n_init > 1 and start.rows is None and self._screens(model, sums)
        if screens and not model.screened_passes:
            screening = screen_starts(start, n_init, options, self._time_is_over(began))
        begins = start if screening is None else screening
        n_starts = n_init if screening is None else screening.n_going_on
        pause = model.screened_passes if screens else 0
        listener = self._listeners(n_init, X, time.monotonic() - began)
        result = fit_restarts(
            model,
            sweep,
            begins,
            n_starts,
            options,
            listener,
            f"{self._name} (K={self._size})",
            self._bookmark(sums, digest, seed, warm),
            model.params_type,
            pause,
            self._together(Alone(model, begins, sweep, options, pause, listener), n_starts),
        )
        self._store_result(model, sweep, result, sums)
        if screening is not None:
            self.restarts_ = _screened_rows(screening, self.restarts_)
            numbers = [start.number for start in screening.starts[: len(self.history_)]]
            self.history_ = [self.history_[place] for place in np.argsort(numbers)]

    def _together(self, whole: Alone, n_starts: int) -> Together | None:
        """How starts run side by side; None: one after the other, as checkpoints and callbacks want them.

        On the workers of an active Dask client, if the table is in memory; else in threads, where blocks do not keep those
        busy.
        """
        if n_starts < 2 or self.checkpoint is not None or self.callbacks or getattr(self, "_skl_callbacks", None):
            return None
        client, sweep = active_client(), whole.sweep.alone()
        here = isinstance(sweep, LocalSweep)
        in_memory = here and getattr(sweep.source, "in_memory", True)
        there = in_memory and client is not None and self.time_limit is None
        listener = None if there or whole.listener is None else events.InTurn(whole.listener)
        shared = whole._replace(start=whole.start.on(sweep), sweep=sweep, listener=listener)
        if there:
            return Together(shared, client=client)
        n_jobs = effective_n_jobs(self.n_jobs) if here else n_threads(client)
        if n_jobs < 2 or (here and sweep.n_blocks >= 2 * n_jobs):
            return None
        return Together(shared, min(n_jobs, n_starts), kind="here")

    def _pass_work(self, sums: Totals) -> float:
        """About how many multiplications a pass takes."""
        return float(sums.ones.sum()) * self._size

    def _screens(self, model: Any, sums: Any) -> bool:
        """Whether the starts of this fit are compared before they end: not where all of them are wanted."""
        bits = isinstance(sums, Totals) and not getattr(model, "keep_all", False)
        return bits and self.screen_starts and sample_size(sums.n_rows) > 0

    def _time_is_over(self, began: float) -> Callable[[], bool]:
        """Tells whether the time limit of a fit that has begun at that time has passed."""
        end = np.inf if self.time_limit is None else began + float(self.time_limit)
        return lambda: time.monotonic() >= end

    def _fit_seed(self) -> int:
        """The seed of this fit; one without a seed of its own goes on with that of its checkpoint."""
        if self.random_state is None and self.checkpoint is not None and os.path.exists(self.checkpoint):
            return checkpoint_seed(self.checkpoint)
        return seed_of(self.random_state)

    def _check_warm_start(self, n_columns: int, what: str) -> None:
        """Refuse to go on from parameters of another shape."""
        before = (self._model.n_components, len(self.marginals_))
        if before != (self._size, n_columns):
            raise InputError(
                f"{self._name}: {what} cannot go on with another shape ({before[0]} components and {before[1]} columns "
                f"before, {self._size} and {n_columns} now). Make a new estimator."
            )

    def _store_result(self, model: Any, sweep: Sweep, result: Result, sums: Totals) -> None:
        """Keep the outcome of a fit."""
        self._params, objective = model.finalize(result.point, sweep, result.best.complete)
        self._model = model.answer_model()
        self._stream, self._stream_sums = None, None
        self.n_iter_ = result.best.n_iter
        self.converged_ = result.best.converged
        self.objective_ = result.best.objective if objective is None else objective
        self.history_ = [restart.history for restart in result.restarts if restart.went_on]
        self.restarts_ = [_restart_row(restart, result, self.objective_) for restart in result.restarts]
        self.n_reached_ = result.n_reached
        self.score_kind_ = self.score_kind
        self.marginals_ = sums.marginals
        self.weight_seen_, self._sums = sums.weight, sums
        self._set_fitted_attributes()
        self._warn_doubts(result)

    def _listeners(self, n_init: int, X: Any, spent: float = 0.0) -> events.Listener:
        """Everything that listens to this fit, for which so many seconds were spent already."""
        listeners: list[events.Listener] = []
        if self.verbose:
            listeners.append(events.ProgressLines(0.0 if self.verbose > 1 else 2.0))
        if self.time_limit is not None:
            listeners.append(events.TimeLimit(self.time_limit - spent))
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


def _screened_rows(screening: Screening, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the restarts table of all starts, by number, with what they had reached when they were compared."""
    nothing = {"objective": None, "below_best": None, "n_iter": 0, "converged": False, "jumps_rejected": 0}
    out = []
    for place, start in enumerate(screening.starts):
        row = rows[place] if place < len(rows) else {**nothing, "error": start.error}
        value = start.value if np.isfinite(start.value) else None
        told = {"start": start.number, "went_on": place < screening.n_going_on}
        out.append({**row, **told, "screening_objective": value, "screening_n_iter": start.n_iter})
    return sorted(out, key=lambda row: row["start"])


def _restart_row(restart: Restart, result: Result, objective: float) -> dict[str, Any]:
    """A start as a row of the restarts table; ``objective`` is the last word on the best one."""
    value = objective if restart.number == result.best.number else restart.objective
    row = {
        "start": restart.number,
        "objective": value,
        "below_best": objective - value,
        "n_iter": restart.n_iter,
        "converged": restart.converged,
        "jumps_rejected": restart.n_rejected,
        "error": restart.error,
    }
    if not any(other.compared_at for other in result.restarts):
        return row
    if not restart.went_on:
        row |= {"objective": None, "below_best": None}
    compared = restart.compared if restart.compared_at else None
    return {
        **row,
        "went_on": restart.went_on,
        "screening_objective": compared,
        "screening_n_iter": restart.compared_at,
    }
