"""What a table looks like: the sums that every family and every message needs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import declared as of
from .block import Block, Float
from .values import ValueBlock

TICKS = 10  # ones, and blanks, that make a column one of ticks


class Totals(NamedTuple):
    """Additive sums over rows, weighted where weights were given."""

    weight: of.Amount  # total weight of the rows
    ones: Annotated[Float, of.amounts("D")]  # weight of the ones of every column
    observed: Annotated[Float, of.amounts("D")]  # weight of the observed cells of every column
    n_rows: of.Count  # rows of the table
    n_ones: of.Count  # ones of the table
    n_unknown: of.Count  # unknown cells of the table
    n_blank_rows: of.Count  # rows without any observed cell
    n_empty_rows: of.Count = 0  # rows without any one, all cells known

    @property
    def marginals(self) -> Float:
        """(D,) share of ones among observed cells, drawn half a count toward 1/2 so that it is never 0 or 1."""
        return (self.ones + 0.5) / (self.observed + 1.0)

    @property
    def n_cells(self) -> float:
        """Weight of all observed cells."""
        return float(self.observed.sum())


class ValueTotals(NamedTuple):
    """The same of tables of real numbers; a cell that is not zero stands where a one does."""

    weight: of.Amount
    ones: Annotated[Float, of.amounts("D")]
    observed: Annotated[Float, of.amounts("D")]
    n_rows: of.Count
    n_ones: of.Count
    n_unknown: of.Count
    n_blank_rows: of.Count
    n_empty_rows: of.Count
    sums: Annotated[Float, of.reals("D")]  # weighted
    squares: Annotated[Float, of.amounts("D")]  # weighted
    lengths: Annotated[Float, of.amounts("D+1")]  # weight of the rows with so many entries
    n_fractions: of.Count  # entries that are not whole numbers
    n_others: of.Count  # entries that are not 1

    @property
    def marginals(self) -> Float:
        """(D,) share of cells that are not zero, drawn half a count toward 1/2."""
        return (self.ones + 0.5) / (self.observed + 1.0)

    @property
    def n_cells(self) -> float:
        """Weight of all cells."""
        return float(self.observed.sum())

    @property
    def variances(self) -> Float:
        """(D,) variance of every column, zeros included."""
        weight = max(self.weight, 1e-300)
        return np.maximum(self.squares / weight - (self.sums / weight) ** 2, 0.0)

    @property
    def median_length(self) -> float:
        """Median number of entries of a row."""
        reached = np.cumsum(self.lengths)
        return float(np.searchsorted(reached, 0.5 * reached[-1]))


def value_totals(block: ValueBlock) -> ValueTotals:
    """Sums of one block of real numbers."""
    weights, counts = block.row_weights(), block.row_counts()
    by_entry = np.repeat(weights, counts)
    counted = block.values[by_entry > 0]  # rows of weight zero decide nothing

    def by_column(values: Float) -> Float:
        out: Float = np.bincount(block.indices, weights=values, minlength=block.n_columns).astype(np.float64)
        return out

    return ValueTotals(
        weight=float(weights.sum()),
        ones=by_column(by_entry),
        observed=np.full(block.n_columns, weights.sum()),
        n_rows=block.n_rows,
        n_ones=len(counted),
        n_unknown=0,
        n_blank_rows=0,
        n_empty_rows=int(((counts == 0) & (weights > 0)).sum()),
        sums=by_column(by_entry * block.values),
        squares=by_column(by_entry * block.values**2),
        lengths=np.bincount(counts, weights=weights, minlength=block.n_columns + 1).astype(np.float64),
        n_fractions=int((counted != np.floor(counted)).sum()),
        n_others=int((counted != 1).sum()),
    )


def ones_and_blanks(sums: Totals) -> NDArray[np.int64]:
    """Columns that hold ones and blanks, ten or more of each, and no zero: in them a blank may well mean no."""
    blank = sums.weight - sums.observed
    return np.flatnonzero((sums.ones == sums.observed) & (sums.ones >= TICKS) & (blank >= TICKS))


def totals(block: Block) -> Totals:
    """Sums of one block."""
    weights, repeats = block.row_weights(), block.repeats
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
        n_rows=int(repeats.sum()),
        n_ones=int((block.ones.row_counts() * repeats).sum()),
        n_unknown=n_unknown,
        n_blank_rows=n_blank,
        n_empty_rows=int(repeats[(block.ones.row_counts() == 0) & (n_hidden == 0)].sum()),
    )
