"""Streams: rows that are taken in block by block, each once (stepwise EM)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..data.summary import Totals, totals
from ..engine.protocols import Sweep
from ..engine.stats import add
from ..engine.stepwise_em import StreamState, stepwise_em_step
from ..engine.sweep import sweep_of
from ..errors import DuplicateComponentWarning, EmptyComponentWarning, InputError
from .common import quiet, seed_of
from .fitting import FittingMixin
from .sklearn_api import available_if

# Attributes that tell of a fit as a whole; they go when more rows are taken in.
TOLD_OF_A_FIT = ("objective_", "restarts_", "n_reached_", "conditional_log_likelihood_", "stability_", "bic_bound_")


class StreamingMixin(FittingMixin):
    """``partial_fit``, for families that can answer it."""

    def _stream_model(self, model: Any) -> Any:
        """The model for rows that come one after the other."""
        return model

    @available_if(lambda self: self._has("partial_fit"))
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> stream = BernoulliMixture(2, random_state=0)
        >>> stream.partial_fit(X[:50]).partial_fit(X[50:]).weight_seen_
        101.0
        """
        self._check_options()
        first = getattr(self, "_params", None) is None
        source = self._open(X, reset=first, sample_weight=sample_weight, merge=True)
        if first:
            self._check_size(source, stream=True)
        else:
            self._check_warm_start(source.shape[1], "partial_fit")
        for b in range(source.n_blocks):
            block = source.block(b)
            sums = totals(block)
            if first:
                self._begin_stream(sweep_of(source, 1), sums)
                first = False
            else:
                self._continue_stream(sums)
            self._params, self._stream = stepwise_em_step(self._model, self._params, self._stream, block)
            self.n_iter_ += 1
            self.weight_seen_ += sums.weight
            assert self._stream_sums is not None
            self.marginals_ = self._stream_sums.marginals
            self.unobserved_features_ = np.flatnonzero(self._stream_sums.observed == 0)
        self._model = self._model.answer_model()
        with quiet(EmptyComponentWarning, DuplicateComponentWarning):  # a stream may fill them yet
            self._set_fitted_attributes()
        return self

    def _begin_stream(self, sweep: Sweep, sums: Totals) -> None:
        """One random start on the first rows of a stream."""
        if sums.n_cells == 0:
            raise InputError(
                f"{self._name}: the first rows of the stream have no known cell of positive weight; start with others."
            )
        self._model = self._stream_model(self._build_model(sums))
        self._params = self._init_stream_params(sweep, sums, seed_of(self.random_state))
        self._stream, self._stream_sums = None, sums
        self.n_iter_, self.weight_seen_ = 0, 0.0
        self.score_kind_, self.converged_, self.history_ = self.score_kind, False, []

    def _init_stream_params(self, sweep: Sweep, sums: Totals, seed: int) -> Any:
        """Parameters with which a stream begins."""
        return self._initializer(self._model)(sweep, seed, 0)

    def _continue_stream(self, sums: Totals) -> None:
        """Count the next rows in; after a fit its parameters stand for the rows that it saw."""
        if getattr(self, "_stream_sums", None) is None:
            seen = self.weight_seen_
            guess = Totals(seen, self.marginals_ * seen, np.full(len(sums.ones), seen), 0, 0, 0, 0)
            self._stream_sums = getattr(self, "_sums", None) or guess  # older files do not hold the sums
            blocks = max(1, round(seen / max(sums.weight, 1e-12)))
            self._stream = StreamState(self._model.expected_stats(self._params), seen, blocks)
            for told in TOLD_OF_A_FIT:  # of the fit, no longer of these parameters
                self.__dict__.pop(told, None)
            self.converged_ = False
        self._stream_sums = add(self._stream_sums, sums)
        self._model = self._stream_model(self._build_model(self._stream_sums))
        self._params = self._warm_start_params(self._model, lambda: self._params)
