"""Pairs of columns: which of them are looked at, their counts, and the tree of the most information.

Of up to :data:`MOST_PAIRED` columns all pairs are looked at.  Of more, every column keeps the partners with which it
is correlated most, and trees are made of these candidates; what is not joined by them stays apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.block import ONE, UNKNOWN, Block, Float, Marks
from ..data.summary import Totals
from ..engine.protocols import Sweep
from ..engine.sweep import one_blas_thread
from ..families import MOST_PAIRED
from ..maths.row_sample import sampled_table
from .forest import Parents, rooted

# Partners that every column of a wide table keeps.
PARTNERS = 24
# Columns of a wide table that are paired with all others at a time, cells that are looked at for it, and rows at least.
TILE, LOOKED_AT, LEAST_ROWS = 512, 2**23, 256


@dataclass(frozen=True)
class PairSpace:
    """All pairs of ``n_columns`` columns, or candidates: edges from ``first`` to ``second`` (E,), ascending, first below
    second."""

    n_columns: int
    first: Any = None
    second: Any = None

    @property
    def is_whole(self) -> bool:
        """Whether all pairs are looked at."""
        return self.first is None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an array with a number per pair: (D, D), used above its diagonal, or (E,)."""
        return (self.n_columns, self.n_columns) if self.is_whole else (len(self.first),)

    def zeros(self) -> Float:
        """Room for a number per pair."""
        return np.zeros(self.shape)

    def products(self, values: Float) -> Float:
        """Products of a number per column (D,), for every pair."""
        return np.outer(values, values) if self.is_whole else values[self.first] * values[self.second]

    def least(self, values: Float) -> Float:
        """The smaller of the numbers of both columns, for every pair."""
        return (
            np.minimum.outer(values, values) if self.is_whole else np.minimum(values[self.first], values[self.second])
        )

    def sums(self, values: Float) -> Float:
        """Sums of a number per column, for every pair."""
        return np.add.outer(values, values) if self.is_whole else values[self.first] + values[self.second]

    def ends(self, values: Float) -> tuple[Float, Float]:
        """The number of the first column, and that of the second, for every pair."""
        if self.is_whole:
            shape = (self.n_columns, self.n_columns)
            return np.broadcast_to(values[:, None], shape), np.broadcast_to(values[None, :], shape)
        return values[self.first], values[self.second]

    def add_crossings(self, marks: Marked, others: Marked, weights: Float, out: Float) -> None:
        """Add to ``out`` the weights of rows in which the first column is among ``marks``, the second among ``others``."""
        from .pair_kernels import add_crossings, add_edge_crossings

        lists = *marks[:2], *others[:2], weights
        if self.is_whole:
            add_crossings(*lists, out)
        else:
            add_edge_crossings(*lists, self._starts(), self.second, out)

    def _starts(self) -> Any:
        """Where the candidates of every column begin (D + 1,)."""
        return np.searchsorted(self.first, np.arange(self.n_columns + 1))

    def add_counts(self, marks: Marked, shares: Float, out: Float) -> None:
        """Add to ``out`` the products of the marked cells of every row, times its share (n,)."""
        from .pair_kernels import add_edge_pairs, add_pairs

        if self.is_whole:
            add_pairs(*marks, shares, out)
        else:
            add_edge_pairs(*marks, shares, self._starts(), self.second, out)

    def information(self, both: Float, on: Float, total: float, caution: float = 0.0) -> Float:
        """Mutual information of every pair, from weights of rows: both columns one, each one (D,), all.

        Pairs are drawn toward independence by as many rows with their rarest value as ``caution``.
        """
        from .forest_kernels import edge_information, information_table

        out = self.zeros()
        if self.is_whole:
            information_table(both, on, total, caution, out)
        else:
            edge_information(self.first, self.second, both, on, total, caution, out)
        return out

    def tree(self, information: Float) -> Parents:
        """The spanning tree of the most information, rooted at its centre; of equal pairs the first columns."""
        from .forest_kernels import grow_tree, join_edges

        if self.is_whole:
            link = np.zeros(self.n_columns, np.int64)
            grow_tree(information, link)
            return rooted(self.n_columns, np.arange(1, self.n_columns), link[1:])
        kept = np.zeros(len(self.first), np.bool_)
        order = np.lexsort((self.second, self.first, -information))
        join_edges(self.first, self.second, order, kept)
        return rooted(self.n_columns, self.first[kept], self.second[kept])

    def tree_of(
        self,
        both: Float,
        on: Float,
        total: float,
        caution: float = 0.0,
        others: Float | None = None,
        share: float = 0.0,
    ) -> Parents:
        """The same of weights of rows, ``share`` times those of ``others`` added to ``both``.

        Of all pairs, those of ``both`` are copied below the diagonal, where ``others`` has them, too.
        """
        from .forest_kernels import grow_tree_of_counts, mirror

        if not self.is_whole:
            added = both if others is None else both + share * others
            return self.tree(self.information(added, on, total, caution))
        link = np.zeros(self.n_columns, np.int64)
        mirror(both)
        grow_tree_of_counts(both, both if others is None else others, share, on, total, caution, link)
        return rooted(self.n_columns, np.arange(1, self.n_columns), link[1:])

    def at(self, numbers: Float, parents: Any) -> Float:
        """Of a number per pair those of the edges to the parents (D,); 0 for roots."""
        columns = np.arange(self.n_columns)
        low, high = np.minimum(columns, parents), np.maximum(columns, parents)
        if self.is_whole:
            return np.where(low == high, 0.0, numbers[low, high])
        if len(self.first) == 0:
            return np.zeros(self.n_columns)
        keys = self.first.astype(np.int64) * self.n_columns + self.second
        place = np.minimum(np.searchsorted(keys, low * self.n_columns + high), len(keys) - 1)
        return np.where(low == high, 0.0, numbers[place])


def edges_of(tree: Any) -> PairSpace:
    """The edges of a tree as candidates."""
    n_columns, columns = len(tree), np.arange(len(tree))
    low, high = np.minimum(columns, tree).astype(np.int64), np.maximum(columns, tree).astype(np.int64)
    keys = np.unique((low * n_columns + high)[low != high])
    return PairSpace(n_columns, keys // n_columns, keys % n_columns)


class Marked(NamedTuple):
    """Cells that are not zero, row by row with ascending columns, and their values."""

    indptr: Any
    indices: Any
    values: Float


def marked(marks: Marks) -> Marked:
    """Marks of a block, each with the value 1."""
    indptr, indices = marks.lists()
    return Marked(indptr, indices, np.ones(len(indices)))


class Joined(NamedTuple):
    """Ones and unknown cells of a block in one list, with the places of the unknown cells in it."""

    marks: Marked
    unknown: Any


def joined(block: Block) -> Joined:
    """Ones and unknown cells of a block; values of unknown cells are to be filled."""
    assert block.unknown is not None
    indptr, indices = block.ones.lists()
    unknown_indptr, unknown_indices = block.unknown.lists()
    counts = np.diff(indptr) + np.diff(unknown_indptr)
    rows = np.concatenate((rows_of(indptr), rows_of(unknown_indptr)))
    columns = np.concatenate((indices, unknown_indices))
    order = np.lexsort((columns, rows))
    values = np.ones(len(order))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    whole = np.concatenate(([0], np.cumsum(counts)))
    return Joined(Marked(whole, columns[order], values), places[len(indices) :])


def rows_of(indptr: Any) -> Any:
    """The row of every mark."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


class KnownCounts(NamedTuple):
    """Weight of rows, for every pair, in which ..."""

    both: Float  # both columns are one
    blank: Float  # both are unknown
    first: Float  # the first is one and the second unknown
    second: Float  # the second is one and the first unknown


class KnownPairs:
    """Counts of the pairs of a block."""

    def __init__(self, space: PairSpace) -> None:
        self.space = space

    def __call__(self, block: Block, rows: None) -> tuple[KnownCounts, None]:
        space, weights, ones = self.space, block.row_weights(), marked(block.ones)
        both, blank, first, second = (space.zeros() for _ in range(4))
        space.add_counts(ones, weights, both)
        if block.unknown is not None:
            unknown = marked(block.unknown)
            space.add_counts(unknown, weights, blank)
            space.add_crossings(ones, unknown, weights, first)
            space.add_crossings(unknown, ones, weights, second)
        return KnownCounts(both, blank, first, second), None


def pooled_pairs(space: PairSpace, sweep: Sweep, sums: Totals) -> Float:
    """P(both one) of every pair in the whole table, drawn toward independence by one row's worth of data with the rarest
    value; of all pairs on both sides of the diagonal.

    Rows count in which both are known.  Where not all are, the marginals are those of the table and the odds ratio that
    of these rows (R. L. Plackett, *A Class of Bivariate Distributions*, JASA 60 (1965)).
    """
    counts = sweep.map(KnownPairs(space), [None] * sweep.n_blocks, keep_rows=False)[0]
    share, apart = sums.marginals, space.products(sums.marginals)
    rare = space.least(np.minimum(sums.ones, sums.observed - sums.ones))
    if sums.n_unknown == 0:
        found = (rare * counts.both / max(sums.weight, 1e-300) + apart) / (rare + 1.0)
        return _mirrored(space, inside(space, share, found))
    unseen = np.broadcast_to(sums.weight - sums.observed, share.shape)
    known = np.maximum(sums.weight - space.sums(unseen) + counts.blank, 0.0)
    first, second = space.ends(sums.ones)
    first, second = np.maximum(first - counts.first, 0.0), np.maximum(second - counts.second, 0.0)
    of_first, of_second = space.ends(share)
    cells = (  # half a row each keeps odds finite
        counts.both + 0.5,
        np.maximum(first - counts.both, 0.0) + 0.5,
        np.maximum(second - counts.both, 0.0) + 0.5,
        np.maximum(known - first - second + counts.both, 0.0) + 0.5,
    )
    found = with_odds_ratio(of_first, of_second, cells[0] * cells[3] / (cells[1] * cells[2]))
    return _mirrored(space, inside(space, share, (rare * found + apart) / (rare + 1.0)))


def _mirrored(space: PairSpace, numbers: Float) -> Float:
    """Numbers of all pairs, copied below the diagonal."""
    from .forest_kernels import mirror

    if space.is_whole:
        mirror(numbers)
    return numbers


def with_odds_ratio(first: Any, second: Any, ratio: Any) -> Any:
    """P(both one) of pairs with these marginals and this odds ratio.

    Examples
    --------
    >>> float(with_odds_ratio(0.5, 0.5, 1.0)), round(float(with_odds_ratio(0.5, 0.5, 9.0)), 4)
    (0.25, 0.375)
    """
    total = 1.0 + (ratio - 1.0) * (first + second)
    root = np.sqrt(np.maximum(total**2 - 4.0 * ratio * (ratio - 1.0) * first * second, 0.0))
    return 2.0 * ratio * first * second / (total + root)


def inside(space: PairSpace, share: Float, both: Float) -> Float:
    """P(both one) kept inside what the marginals allow, by a small part of the way to independence."""
    apart, least = space.products(share), np.maximum(space.sums(share) - 1.0, 0.0)
    edge = 1e-6
    return np.clip(both, least + edge * (apart - least), apart + (1 - edge) * (space.least(share) - apart))


def pair_space(sweep: Sweep, sums: Totals, most: int = MOST_PAIRED) -> PairSpace:
    """All pairs of a table's columns, or candidates if there are too many."""
    n_columns = len(sums.ones)
    return PairSpace(n_columns) if n_columns <= most else candidates(sweep, sums)


def candidates(sweep: Sweep, sums: Totals, n_partners: int = PARTNERS) -> PairSpace:
    """For every column the partners with which it is correlated most, in a sample of the rows if they are many."""
    n_columns = len(sums.ones)
    n_rows = max(LEAST_ROWS, LOOKED_AT // n_columns)
    small = sweep if sweep.source.shape[0] <= n_rows else sampled_table(sweep, n_rows)[0]
    cells = np.concatenate(small.collect(_Standardised(), sums.marginals))
    keys = []
    for low in range(0, n_columns, TILE):
        high = min(low + TILE, n_columns)
        with one_blas_thread():  # the same bits on every machine
            strength = -np.abs(cells[:, low:high].T @ cells)
        strength[np.arange(high - low), np.arange(low, high)] = 0.0
        best = np.argpartition(strength, min(n_partners, n_columns - 1), axis=1)[:, :n_partners]
        first, second = np.repeat(np.arange(low, high), best.shape[1]), best.ravel()
        apart = first != second
        keys.append((np.minimum(first, second) * n_columns + np.maximum(first, second))[apart])
    edges = np.unique(np.concatenate(keys))
    return PairSpace(n_columns, (edges // n_columns).astype(np.int64), (edges % n_columns).astype(np.int64))


class _Standardised:
    """Cells (n, D) of a block less their column's mean, in standard deviations; 0 where unknown; rows by their weights."""

    def __call__(self, block: Block, share: Float) -> Any:
        codes = block.codes()
        out = (codes == ONE).astype(np.float32)
        out -= share.astype(np.float32)
        out /= np.sqrt(share * (1.0 - share)).astype(np.float32)
        out[codes == UNKNOWN] = 0.0
        out *= np.sqrt(block.row_weights()).astype(np.float32)[:, None]
        return out
