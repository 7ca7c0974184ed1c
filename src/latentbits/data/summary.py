"""What a table looks like: the sums that every family and every message needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .block import Block, Float


class Totals(NamedTuple):
    """Additive sums over rows, weighted where weights were given."""

    weight: float  # total weight of the rows
    ones: Float  # (D,) weight of the ones of every column
    observed: Float  # (D,) weight of the observed cells of every column
    n_rows: int  # rows of the table
    n_ones: int  # ones of the table
    n_unknown: int  # unknown cells of the table
    n_blank_rows: int  # rows without any observed cell
    n_empty_rows: int = 0  # rows without any one, all cells known

    @property
    def marginals(self) -> Float:
        """(D,) share of ones among observed cells, drawn half a count toward 1/2 so that it is never 0 or 1."""
        return (self.ones + 0.5) / (self.observed + 1.0)

    @property
    def n_cells(self) -> float:
        """Weight of all observed cells."""
        return float(self.observed.sum())


def totals(block: Block) -> Totals:
    """Sums of one block."""
    weights = block.row_weights()
    repeats = (
        np.ones(block.n_rows, np.int64) if block.origin is None else np.bincount(block.origin, minlength=block.n_rows)
    )
    observed = np.full(block.n_columns, weights.sum())
    n_unknown = n_blank = 0
    n_hidden = np.zeros(block.n_rows, np.int64)
    if block.unknown is not None:
        # Counted apart, because a difference of sums of weights need not come out at exactly zero.
        positive = (weights > 0).astype(np.float64)
        never = block.unknown.t_dot(positive[:, None])[:, 0] == positive.sum()
        observed = np.where(never, 0.0, observed - block.unknown.t_dot(weights[:, None])[:, 0])
        n_hidden = block.unknown.row_counts()
        n_unknown = int((n_hidden * repeats).sum())
        n_blank = int(repeats[n_hidden == block.n_columns].sum())
    return Totals(
        weight=float(weights.sum()),
        ones=block.ones.t_dot(weights[:, None])[:, 0],
        observed=np.maximum(observed, 0.0),
        n_rows=block.n_source_rows,
        n_ones=int((block.ones.row_counts() * repeats).sum()),
        n_unknown=n_unknown,
        n_blank_rows=n_blank,
        n_empty_rows=int(repeats[(block.ones.row_counts() == 0) & (n_hidden == 0)].sum()),
    )
