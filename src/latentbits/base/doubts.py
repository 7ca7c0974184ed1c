"""Warnings: what the user should doubt about a table or a fit."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from ..data.summary import Totals, ones_and_blanks
from ..engine.restarts import Result
from ..errors import (
    DuplicateComponentWarning,
    EmptyComponentWarning,
    InputError,
    NotConvergedWarning,
    RestartWarning,
    TableWarning,
)
from .components import ComponentsMixin


class DoubtsMixin(ComponentsMixin):
    """The part of the shell that warns.  Stack levels lead to the user's call of ``fit``."""

    needs_variation: ClassVar[bool] = False  # whether constant columns are left out of the fit
    max_iter: int
    tol: float
    empty_components_: list[int]
    duplicate_components_: list[list[int]]
    unobserved_features_: Any

    def _warn_doubts(self, result: Result) -> None:
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

    def _doubts_told(self) -> list[str]:
        """What is left of all this in a fitted estimator, for notebooks."""
        names, told = self.component_names_, self._doubts_of_end()
        if failed := sum(bool(start.get("error")) for start in getattr(self, "restarts_", None) or []):
            told.append(f"{failed} of {len(self.restarts_)} starts failed and were left out.")
        if empty := getattr(self, "empty_components_", None):
            more = f" and {len(empty) - 5} more" if len(empty) > 5 else ""
            are = "is" if len(empty) == 1 else "are"
            told.append(f"{', '.join(names[k] for k in empty[:5])}{more} {are} next to empty. Use fewer components.")
        for a, b in (getattr(self, "duplicate_components_", None) or [])[:3]:
            told.append(f"{names[a]} and {names[b]} are alike. Use fewer components.")
        if n := len(getattr(self, "unobserved_features_", ())):
            told.append(f"{n} column{'s' * (n > 1)} without any known cell; the prior alone speaks there.")
        return told

    def _doubts_of_end(self) -> list[str]:
        """Whether the fit ended before it should have."""
        streamed = getattr(self, "_stream", None) is not None  # which ends where the rows end
        passes = f"{self.n_iter_} pass{'es' * (self.n_iter_ != 1)}"
        told = f"Stopped before it settled, after {passes}. Raise max_iter or tol."
        return [] if self.converged_ or streamed else [told]

    def _warn_components(self, empty: list[int], twins: list[tuple[int, int]]) -> None:
        """Name empty and duplicate components."""
        self.empty_components_, self.duplicate_components_ = empty, [list(pair) for pair in twins]
        names = self.component_names_
        if empty:
            warnings.warn(
                f"{self._name}: {', '.join(names[k] for k in empty)} hold{'s' * (len(empty) == 1)} almost no rows. "
                "Use fewer components or more starts.",
                EmptyComponentWarning,
                stacklevel=6,
            )
        if twins:
            shown = ", ".join(f"{names[a]} and {names[b]}" for a, b in twins[:5])
            warnings.warn(
                f"{self._name}: {shown} are the same to three digits. Use fewer components.",
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
        elif len(ticked := ones_and_blanks(sums)):
            names = getattr(self, "feature_names_in_", np.arange(len(sums.ones)))
            warnings.warn(
                f"{self._name}: {len(ticked)} column{'s' * (len(ticked) > 1)} with ones and blanks only (first: "
                f"{names[ticked[0]]}). If a blank means no there, read them as ticked: --ticked on the command line, "
                "latentbits.data.encode(frame, {...: 'ticked'}) in Python.",
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
