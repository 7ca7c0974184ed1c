"""The shell of every estimator: scikit-learn's manners around a family's answers.

A family supplies a model (maths), starts, and a class that lists its options.  Opening data, running the driver, telling
of restarts, all shared methods, saving and loading are here, once.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import persist
from .answers import Explanation
from .data.block import Block
from .data.rng import cell_uniforms, row_uniforms, stream
from .data.source import Source, named, open_source
from .data.summary import Totals, totals
from .engine import events
from .engine.checkpoint import read_sealed
from .engine.em import EMOptions, Point
from .engine.online import Online, online_step
from .engine.restarts import Bookmark, Restart, Result, fit_restarts
from .engine.stats import add, flatten
from .engine.sweep import sweep_of
from .errors import (
    DuplicateComponentWarning,
    EmptyComponentWarning,
    InputError,
    NotConvergedWarning,
    RestartWarning,
    TableWarning,
    need,
)

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Older scikit-learn has no callbacks."""

    def callback_management_context(estimator: Any) -> Any:
        """Older scikit-learn has no callbacks."""
        return nullcontext()


class _Totals:
    """Column sums as a pass that also tells tables apart."""

    def __call__(self, block: Block, rows: Any) -> tuple[tuple[Totals, int], None]:
        return (totals(block), block_digest(block)), None


def block_digest(block: Block) -> int:
    """A number that changes when the cells, their place or their weights do; adds over blocks."""
    digest = hashlib.blake2b(f"{block.start}".encode(), digest_size=8)
    for marks in (block.ones, block.unknown):
        if marks is not None:
            indptr, indices = marks.lists()
            digest.update(indptr.tobytes())
            digest.update(indices.tobytes())
    if block.weights is not None:
        digest.update(block.weights.tobytes())
    return int.from_bytes(digest.digest(), "little")


class LatentBitsEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Shared parameters and methods of all families.

    Subclasses define ``__init__``, :meth:`_build`, :meth:`_start` and the attributes that scikit-learn's users expect in
    :meth:`_adopt`.
    """

    record_types: ClassVar[dict[str, type]] = {}
    n_features_in_: int
    score_kind = "exact"  # or "lower bound", "estimate"

    # --- What a family supplies -----------------------------------------------------------------------------------

    def _build(self, sums: Totals) -> Any:
        """The model for a table with these sums."""
        raise NotImplementedError

    def _start(self, model: Any, sweep: Any, seed: int, restart: int) -> Any:
        """Starting parameters of a restart."""
        raise NotImplementedError

    def _adopt(self) -> None:
        """Set the fitted attributes that belong to the family from ``_params``."""
        raise NotImplementedError

    def _check_options(self) -> None:
        """Refuse options that make no sense; families add their own and call this."""
        self._whole("n_components", 1)
        self._whole("max_iter", 1)
        self._whole("n_init", 1)
        self._number("tol", 0.0)
        if self.time_limit is not None:
            self._number("time_limit", 0.0)

    def _whole(self, name: str, least: int) -> None:
        """Refuse an option that is not a whole number of at least ``least``."""
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{self._name}: {name} must be a whole number, {least} or more; got {value!r}.")

    def _number(self, name: str, least: float) -> None:
        """Refuse an option that is not a finite number of at least ``least``."""
        value = getattr(self, name)
        good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not good or not np.isfinite(value) or value < least:
            raise InputError(f"{self._name}: {name} must be a number, {least:g} or more; got {value!r}.")

    # --- Fitting --------------------------------------------------------------------------------------------------

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
        )
        self._check_columns(X, source, reset)
        return source

    def _check_columns(self, X: Any, source: Source, reset: bool) -> None:
        """Number and names of the columns, in scikit-learn's words."""
        n_columns = source.shape[1]
        if not reset and n_columns != self.n_features_in_:
            transposed = source.shape[0] == self.n_features_in_
            raise InputError(
                f"X has {n_columns} features, but {self._name} is expecting {self.n_features_in_} features as input. "
                + ("Did you pass the transpose? Rows are samples, columns are features." if transposed else "")
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
        (sums, digest), _ = sweep.map(_Totals(), [None] * sweep.n_blocks, keep_rows=False)
        self._check_table(sums)
        model = self._build(sums)
        seed = self._fit_seed()
        warm = bool(self.warm_start) and getattr(self, "_params", None) is not None
        if warm:
            self._check_going_on(len(sums.ones), "warm_start")

        def start(restart: int) -> Point:
            params = self._params if warm else self._start(model, sweep, seed, restart)
            return Point(params, _start_rows(model, sweep, params, seed))

        options = EMOptions(
            max_iter=self.max_iter,
            tol=self.tol,
            scale=max(1.0, sums.n_cells),
            accelerate=self.accelerate,
            strict=os.environ.get("LATENTBITS_STRICT", "") == "1",
        )
        n_init = 1 if warm else self.n_init
        result = fit_restarts(
            model,
            sweep,
            start,
            n_init,
            options,
            self._listeners(n_init, X),
            f"{self._name} (K={self.n_components})",
            self._bookmark(sums, digest, seed, warm),
            model.params_type,
        )
        self._take(model, result, sums)

    def _fit_seed(self) -> int:
        """The seed of this fit; one without a seed of its own goes on with that of its checkpoint."""
        if self.random_state is None and self.checkpoint is not None and os.path.exists(self.checkpoint):
            return int(read_sealed(self.checkpoint, "checkpoint")[0]["identity"]["seed"])
        return _seed(self.random_state)

    def _check_going_on(self, n_columns: int, what: str) -> None:
        """Refuse to go on from parameters of another shape."""
        before = (self._model.n_components, len(self.marginals_))
        if before != (self.n_components, n_columns):
            raise InputError(
                f"{self._name}: {what} cannot go on with another shape ({before[0]} components and {before[1]} columns "
                f"before, {self.n_components} and {n_columns} now). Make a new estimator."
            )

    def _take(self, model: Any, result: Result, sums: Totals) -> None:
        """Keep the outcome of a fit."""
        self._model, self._params = model, model.arrange(result.point.params)
        self._online: Online | None = None
        self._online_sums: Totals | None = None
        self.n_iter_ = result.best.n_iter
        self.converged_ = result.best.converged
        self.objective_ = result.best.objective
        self.history_ = [restart.history for restart in result.restarts]
        self.restarts_ = [_restart_row(restart, result) for restart in result.restarts]
        self.n_reached_ = result.n_reached
        self.score_kind_ = self.score_kind
        self.marginals_ = sums.marginals
        self.weight_seen_ = sums.weight
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
            why = "its limit" if result.stopped else f"max_iter={self.max_iter}"
            warnings.warn(
                f"{self._name}: the best start was stopped by {why} before it settled (last gain above tol={self.tol:g} "
                "nats per cell). Raise max_iter or tol.",
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
        unknown = np.flatnonzero(sums.observed == 0)
        self.unobserved_features_ = unknown
        if len(unknown):
            names = getattr(self, "feature_names_in_", np.arange(len(sums.ones)))
            warnings.warn(
                f"{self._name}: {len(unknown)} column{'s' * (len(unknown) > 1)} without any known cell (first: "
                f"{names[unknown[0]]}); their probabilities stay at 1/2.",
                TableWarning,
                stacklevel=5,
            )
        if sums.n_blank_rows:
            warnings.warn(
                f"{self._name}: {sums.n_blank_rows} row{'s' * (sums.n_blank_rows > 1)} without any known cell; they say "
                "nothing about the components and are answered from the overall shares.",
                TableWarning,
                stacklevel=5,
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
            listeners.append(_SklearnCallbacks(self, n_init, X))
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
            "table": f"{sums.n_rows} x {len(sums.ones)}, {digest % 2**64:016x}",
            "going on from": _digest_of(self._params) if warm else "",
        }
        every = float(os.environ.get("LATENTBITS_CHECKPOINT_SECONDS", "10"))
        return Bookmark(self.checkpoint, identity, every)

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
        self._model = self._build(sums)
        self._params = self._start(self._model, sweep, _seed(self.random_state), 0)
        self._online, self._online_sums = None, sums
        self.n_iter_, self.weight_seen_ = 0, 0.0
        self.score_kind_, self.converged_, self.history_ = self.score_kind, False, []

    def _go_on_streaming(self, sums: Totals) -> None:
        """Count the next rows in; after a fit its parameters stand for the rows that it saw."""
        if self._online_sums is None:
            seen = self.weight_seen_
            self._online_sums = Totals(seen, self.marginals_ * seen, np.full(len(sums.ones), seen), 0, 0, 0, 0, 0)
            blocks = max(1, round(seen / max(sums.weight, 1e-12)))
            self._online = Online(self._model.as_stats(self._params), seen, blocks)
            for told in ("objective_", "restarts_", "n_reached_"):  # of the fit, no longer of these parameters
                self.__dict__.pop(told, None)
            self.converged_ = False
        self._online_sums = add(self._online_sums, sums)
        self._model = self._build(self._online_sums)

    # --- Answers --------------------------------------------------------------------------------------------------

    def _asked(self, X: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Open a table for an answer: its sweep, and the parameters made ready."""
        check_is_fitted(self, "_params")
        source = self._open(X, reset=False, sample_weight=sample_weight)
        return sweep_of(source, effective_n_jobs(self.n_jobs)), self._model.ready(self._params)

    def _per_row(self, X: Any, question: Any) -> Any:
        """An answer with one row per row of the table."""
        sweep, ready = self._asked(X)
        return np.concatenate(sweep.collect(question, ready))

    def transform(self, X: Any) -> Any:
        """Represent every row by the components.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array
        """
        check_is_fitted(self, "_params")
        return self._per_row(X, self._model.represent)

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
        """Mean log-likelihood per row in nats.

        Parameters
        ----------
        X : table
        y : ignored
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        float
        """
        sweep, ready = self._asked(X, sample_weight)
        total, weight = sweep.map(_Scored(self._model), [None] * sweep.n_blocks, ready, keep_rows=False)[0]
        return float(total / weight)

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
            return type(parts[0])(*[np.concatenate(field)[back] for field in zip(*parts)])
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
        seed = _seed(random_state)
        parts = sweep.collect(_Filled(self._model, how, seed, dense=not sp.issparse(X)), ready)
        if sp.issparse(X):
            return sp.vstack(parts, format="csr")
        out = np.concatenate(parts)
        if type(X).__module__.partition(".")[0] == "pandas":
            import pandas as pd

            return pd.DataFrame(out, index=X.index, columns=X.columns)
        return out

    def explain(self, X: Any, cells: Any = None) -> Any:
        """Which component explains each cell.

        Parameters
        ----------
        X : table
        cells : (rows, columns) pair of arrays, optional
            The cells to explain; columns by number or name.  Without it all cells of the table (for tables of up to
            a million cell-component pairs).

        Returns
        -------
        Explanation
            With one entry per cell; ``to_frame()`` gives a pandas frame.
        """
        check_is_fitted(self, "_params")
        source = self._open(X, reset=False)
        if cells is None:
            n_rows, n_columns = source.shape
            if n_rows * n_columns * self.n_components > 1_000_000:
                raise InputError(
                    f"{self._name}: explaining all {n_rows} × {n_columns} cells for {self.n_components} components is "
                    "too much at once. Name cells=(rows, columns), or pass fewer rows."
                )
            rows, columns = (part.ravel() for part in np.indices((n_rows, n_columns)))
        else:
            rows, columns = self._cells(cells, source)
        values = self._at_cells(source, rows, columns, lambda block, ready, r, c: block.at(r, c))
        causes = self._at_cells(source, rows, columns, self._model.causes)
        names = self.feature_names_in_ if hasattr(self, "feature_names_in_") else None
        return Explanation(rows, columns, values, names, list(self.get_feature_names_out()), **causes._asdict())

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
        check_is_fitted(self, "_params")
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"{self._name}: n must be a whole number, 1 or more; got {n!r}.")
        seed = _seed(self.random_state if random_state is None else random_state)
        cells, causes = self._model.draw(self._params, int(n), stream(seed, "sample"))
        return (cells, causes) if return_causes else cells

    @property
    def n_free_(self) -> int:
        """Number of free parameters."""
        check_is_fitted(self, "_params")
        return int(self._model.n_free(self._params))

    def _log_likelihood(self, X: Any) -> tuple[float, int]:
        """Total log-likelihood and number of rows."""
        scores = self.score_samples(X)
        return float(scores.sum()), len(scores)

    def bic(self, X: Any) -> float:
        """Bayesian information criterion, smaller is better: -2 log L + p log n."""
        value, n = self._log_likelihood(X)
        return -2 * value + self.n_free_ * np.log(n)

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
            standing = probabilities * np.log(probabilities / self.marginals_)
            for rank, j in enumerate(np.argsort(-standing, kind="stable")[:top]):
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
        lines = [f"{self._name} with {self.n_components} components on {self.n_features_in_} features"]
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_params", None) is not None


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A pandas frame of rows, or the error that names the extra."""
    try:
        import pandas as pd
    except ImportError:
        raise need("pandas", "pandas", "A table as a frame") from None
    return pd.DataFrame(rows)


def _seed(random_state: Any) -> int:
    """A whole number from what scikit-learn accepts as a random state."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state must not be negative; got {random_state}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(check_random_state(random_state).randint(2**31 - 1))


def _digest_of(params: Any) -> str:
    """A checksum of parameters."""
    digest = hashlib.sha256()
    for name, array in sorted(flatten(params).items()):
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def _start_rows(model: Any, sweep: Any, params: Any, seed: int) -> list[Any]:
    """Row state at the start, where the blocks are."""
    nothing: list[Any] = [None] * sweep.n_blocks
    if not model.has_rows:
        return nothing
    return sweep.map(_StartRows(model, seed), nothing, params)[1]


class _StartRows:
    """Row state of a block at the start."""

    def __init__(self, model: Any, seed: int) -> None:
        self.model, self.seed = model, seed

    def __call__(self, block: Block, rows: Any, params: Any) -> tuple[None, Any]:
        return None, self.model.start_rows(block, params, self.seed)


class _Scored:
    """Weighted sum of the row scores of a block, and the weight."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, rows: Any, ready: Any) -> tuple[tuple[float, float], None]:
        weights = block.row_weights()
        return (float(self.model.log_prob(block, ready) @ weights), float(weights.sum())), None


class _Filled:
    """A block with its unknown cells filled; sparse blocks stay sparse."""

    def __init__(self, model: Any, how: str, seed: int, dense: bool) -> None:
        self.model, self.how, self.seed, self.dense = model, how, seed, dense

    def __call__(self, block: Block, ready: Any) -> Any:
        if block.unknown is None:
            rows = columns = np.empty(0, np.int64)
            values = np.empty(0)
        else:
            indptr, indices = block.unknown.lists()
            rows, columns = np.repeat(np.arange(block.n_rows), np.diff(indptr)), indices.astype(np.int64)
            values = self._values(block, ready, rows, columns)
        if self.dense:
            out = block.codes().astype(np.float64)
            out[rows, columns] = values
            return out
        indptr, indices = block.ones.lists()
        all_rows = np.concatenate((np.repeat(np.arange(block.n_rows), np.diff(indptr)), rows))
        all_columns = np.concatenate((indices, columns))
        data = np.concatenate((np.ones(len(indices)), values))
        return sp.csr_array((data, (all_rows, all_columns)), shape=(block.n_rows, block.n_columns))

    def _values(self, block: Block, ready: Any, rows: Any, columns: Any) -> Any:
        """What the unknown cells become."""
        if self.how == "sample":
            by_row = row_uniforms(self.seed, "fill", block.start, block.n_rows)[:, 0]
            by_cell = cell_uniforms(self.seed, "fill", block.start, np.bincount(rows, minlength=block.n_rows))
            return self.model.fill_draw(block, ready, rows, columns, by_row, by_cell).astype(np.float64)
        values = self.model.fill_at(block, ready, rows, columns)
        return values if self.how == "probability" else (values >= 0.5).astype(np.float64)


def _restart_row(restart: Restart, result: Result) -> dict[str, Any]:
    """A start as a row of the restarts table."""
    return {
        "start": restart.number,
        "objective": restart.objective,
        "below_best": result.best.objective - restart.objective,
        "n_iter": restart.n_iter,
        "converged": restart.converged,
        "jumps_rejected": restart.n_rejected,
        "error": restart.error,
    }


class _SklearnCallbacks(events.Listener):
    """Feeds scikit-learn's callbacks: a fit has starts, a start has iterations."""

    def __init__(self, estimator: Any, n_init: int, X: Any) -> None:
        self.estimator, self.n_init, self.X = estimator, n_init, X
        self.restart = -1

    def begin(self, event: events.Begin) -> None:
        """The root task begins."""
        self.max_iter = event.max_iter
        self.root = self.estimator._init_callback_context(max_subtasks=self.n_init)
        self.root.call_on_fit_task_begin(estimator=self.estimator, X=self.X)

    def step(self, event: events.Progress) -> bool:
        """An iteration is done; a new start begins when its number changes."""
        stop = False
        if event.restart != self.restart:
            self._end_start()
            self.restart = event.restart
            self.start = self.root.subcontext(task_name="start", max_subtasks=self.max_iter)
            self.start.call_on_fit_task_begin(estimator=self.estimator)
        iteration = self.start.subcontext(task_name="iteration")
        iteration.call_on_fit_task_begin(estimator=self.estimator)
        stop = bool(iteration.call_on_fit_task_end(estimator=self.estimator, X=self.X))
        return stop

    def _end_start(self) -> None:
        if self.restart >= 0:
            self.start.call_on_fit_task_end(estimator=self.estimator)

    def end(self, event: events.End) -> None:
        """The root task ends."""
        self._end_start()
        self.root.call_on_fit_task_end(estimator=self.estimator, X=self.X)


@contextmanager
def quiet(*kinds: type[Warning]) -> Iterator[None]:
    """Without warnings of these kinds, for refits whose doubts are told elsewhere."""
    with warnings.catch_warnings():
        for kind in kinds:
            warnings.simplefilter("ignore", kind)
        yield


__all__ = ["LatentBitsEstimator", "frame_of", "quiet"]
