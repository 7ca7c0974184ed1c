"""What a table looks like before anything is fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.passes import table_sums
from ..data.block import Block, row_hashes
from ..data.source import Source
from ..engine.sweep import sweep_of

SHOWN = 10


@dataclass(frozen=True)
class Facts:
    """Counts of a table.

    Attributes
    ----------
    n_rows, n_columns, n_ones, n_unknown : int
    n_blank_rows, n_empty_rows, n_repeated_rows : int
        Rows without a known cell; rows whose cells are all 0; rows that stand elsewhere in the table as well.
    constant, duplicates, opposites : list
        Columns with one value only; groups of columns that are equal; pairs of which one is 1 where the other is 0.
    blanks : list of (name, share)
        Columns with the most unknown cells.
    names : list of str
    marginals : (n_columns,) array
        Share of ones among known cells.

    Examples
    --------
    >>> from latentbits.data import open_source
    >>> facts = facts_of(open_source([[0, 1, 1], [1, 0, 0], [1, 0, None]]))
    >>> facts.n_unknown
    1
    """

    n_rows: int
    n_columns: int
    n_ones: int
    n_unknown: int
    n_blank_rows: int
    n_empty_rows: int
    n_repeated_rows: int
    constant: list[str]
    duplicates: list[list[str]]
    opposites: list[list[str]]
    blanks: list[tuple[str, float]]
    names: list[str]
    marginals: np.ndarray

    @property
    def n_cells(self) -> int:
        """All cells."""
        return self.n_rows * self.n_columns

    def lines(self) -> list[str]:
        """The facts in words, those to doubt included.

        Examples
        --------
        >>> from latentbits.data.source import open_source
        >>> facts_of(open_source([[0, 1, 1], [1, 0, 0], [1, 0, None]])).lines()[0]
        '3 rows × 3 columns; 4 ones (50.0% of the known cells), 1 blanks (11.1%)'
        """
        known = max(1, self.n_cells - self.n_unknown)
        out = [
            f"{self.n_rows:,} rows × {self.n_columns:,} columns; {self.n_ones:,} ones ({self.n_ones / known:.1%} of the "
            f"known cells), {self.n_unknown:,} blanks ({self.n_unknown / self.n_cells:.1%})"
        ]
        if self.n_repeated_rows:
            out.append(f"rows whose cells are all as in some other row: {self.n_repeated_rows:,}")
        if self.n_blank_rows:
            out.append(f"rows without any known cell, which are kept and say nothing: {self.n_blank_rows:,}")
        if self.n_empty_rows:
            out.append(f"rows without a single one: {self.n_empty_rows:,}")
        if self.constant:
            out.append(f"columns that never vary and tell nothing: {len(self.constant)} ({_some(self.constant)})")
        for group in self.duplicates[:SHOWN]:
            out.append(f"columns with the same cells throughout: {_some(group)}; any one of them predicts the others")
        for group in self.opposites[:SHOWN]:
            out.append(f"columns that are opposites throughout: {_some(group)}")
        if self.blanks and self.blanks[0][1] > 0.5:
            most = [f"{name} ({share:.0%})" for name, share in self.blanks if share > 0.5]
            out.append(f"columns that are mostly blank: {_some(most)}")
        if self.n_ones / known > 0.9:
            out.append("more than nine in ten known cells are 1: is the coding the right way round?")
        return out


def _some(names: list[str]) -> str:
    """Some names."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def facts_of(source: Source) -> Facts:
    """Describe a table.

    Examples
    --------
    >>> from latentbits.data.source import open_source
    >>> facts = facts_of(open_source([[0, 1, 1], [1, 0, 0], [1, 0, None]]))
    >>> facts.opposites, facts.duplicates, facts.n_unknown
    ([['0', '1']], [], 1)
    """
    sweep = sweep_of(source, 1)
    sums, _ = table_sums(sweep)
    parts = sweep.collect(_prints)
    prints: Any = np.sum(
        [part[0] for part in parts], axis=0, dtype=np.uint64
    )  # of ones, zeros and blanks of every column
    names = [str(name) for name in source.labels.columns or range(source.shape[1])]
    varying = (sums.ones > 0) & (sums.ones < sums.observed)
    blank_share = 1.0 - sums.observed / max(1, source.shape[0])
    order = [j for j in np.argsort(-blank_share, kind="stable")[: 2 * SHOWN] if blank_share[j] > 0]
    _, repeats = np.unique(np.concatenate([part[1] for part in parts]), return_counts=True)
    return Facts(
        *source.shape,
        n_ones=sums.n_ones,
        n_unknown=sums.n_unknown,
        n_blank_rows=sums.n_blank_rows,
        n_empty_rows=sums.n_empty_rows,
        n_repeated_rows=int(repeats[repeats > 1].sum()),
        constant=[names[j] for j in np.flatnonzero(~varying)],
        duplicates=_groups([tuple(column) for column in prints.T.tolist()], varying, names),
        opposites=_opposites(prints, varying, names),
        blanks=[(names[j], float(blank_share[j])) for j in order],
        names=names,
        marginals=sums.marginals,
    )


def _prints(block: Block) -> tuple[Any, Any]:
    """Prints of the columns (3, D) and of the rows (n,) of a block."""
    return _column_prints(block), row_hashes(block)


def _column_prints(block: Block) -> Any:
    """Sums (3, D), modulo 2^64, of a number drawn for every row, over the rows in which a column is 1, 0, blank."""
    rows = np.arange(block.start, block.start + block.n_rows, dtype=np.uint64)
    number = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    number ^= number >> np.uint64(32)
    out = np.zeros((3, block.n_columns), np.uint64)
    for place, (indptr, indices) in ((0, block.ones.lists()), (2, block.unknown_lists())):
        np.add.at(out[place], indices, np.repeat(number, np.diff(indptr)))
    out[1] = number.sum(dtype=np.uint64) - out[0] - out[2]
    return out


def _groups(keys: list[Any], varying: Any, names: list[str]) -> list[list[str]]:
    """Names of columns with equal keys."""
    found: dict[Any, list[str]] = {}
    for j in np.flatnonzero(varying):
        found.setdefault(keys[j], []).append(names[j])
    return [group for group in found.values() if len(group) > 1]


def _opposites(prints: Any, varying: Any, names: list[str]) -> list[list[str]]:
    """Pairs of columns with the same blanks and ones and zeros exchanged."""
    places = {tuple(prints[:, j].tolist()): j for j in np.flatnonzero(varying)}
    out = []
    for j in np.flatnonzero(varying):
        ones, zeros, blanks = prints[:, j].tolist()
        other = places.get((zeros, ones, blanks))
        if other is not None and j < other:
            out.append([names[j], names[other]])
    return out
