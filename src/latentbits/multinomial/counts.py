"""What families of counts ask of a table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import InputError, TableWarning


def check_counts(estimator: Any, sums: Any) -> None:
    """Refuse tables without counts, and tell of rows without any."""
    name = type(estimator).__name__
    if sums.n_ones == 0:
        raise InputError(f"{name}: every cell of the table is 0; nothing can be learnt from it.")
    if sums.n_rows < estimator.n_components:
        raise InputError(
            f"{name}: {estimator.n_components} topics need as many rows; the table has {sums.n_rows} sample(s)."
        )
    if sums.n_empty_rows:
        n = sums.n_empty_rows
        warnings.warn(
            f"{name}: {n} row{'s' * (n > 1)} without any count; they say nothing about the topics.",
            TableWarning,
            stacklevel=6,
        )
    estimator.unobserved_features_ = np.empty(0, np.int64)
