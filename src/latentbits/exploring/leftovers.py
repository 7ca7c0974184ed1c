"""Pairs of columns that go together more, or less, than a model says, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..data.block import UNKNOWN, Block, at_columns
from ..data.holdout import RowsSource, some_rows
from ..data.source import Source, open_source
from ..engine.protocols import PredictsCells
from ..families import family_of
from .analysis import widest
from .statistics import corrected

WIDEST = 600  # columns whose pairs are looked at
MOST_ROWS, STEP_CELLS = 5000, 1 << 22
# Rows drawn from the model, and how many cells at most.
DRAWN, FEWEST_DRAWN, DRAWN_CELLS, SLOWLY_DRAWN_CELLS = 5000, 200, 10_000_000, 100_000
MOST_PAIRS = 60
SURE = 0.01  # corrected p-value
CONSIDERABLE = 0.1  # of Q3


class _Residuals:
    """Sums over the rows of a block (d, d): of residuals their products and squares, of both columns' variances and third
    moments the products, as the model has them; how often both columns are known, and both are one."""

    def __init__(self, model: PredictsCells, columns: Any) -> None:
        self.model, self.columns = model, columns

    def __call__(self, block: Block, precomputed: Any) -> tuple[Any, ...]:
        step, n = max(1, STEP_CELLS // block.n_columns), block.n_rows
        if n <= step:
            return self._sums(block, precomputed)
        parts = (block.take(np.arange(low, min(low + step, n))) for low in range(0, n, step))
        return tuple(map(sum, zip(*(self._sums(part, precomputed) for part in parts))))

    def _sums(self, block: Block, precomputed: Any) -> tuple[Any, ...]:
        """The same of a few rows: chances are worked out of all columns."""
        ones = at_columns(block.ones, self.columns).astype(np.float64)
        seen = np.ones_like(ones) if block.unknown is None else 1.0 - at_columns(block.unknown, self.columns)
        on = self.model.predict_cells(block, precomputed)[:, self.columns]
        left, variance = (ones - on) * seen, on * (1 - on) * seen
        third = variance * (1 - 2 * on)
        return (left.T @ left, (left**2).T @ seen, variance.T @ variance, third.T @ third, seen.T @ seen, ones.T @ ones)


class _Means(NamedTuple):
    """Means over the rows in which both columns of a pair are known (d, d)."""

    products: Any  # of residuals
    squares: Any  # of the first one's residuals
    variance: Any  # of a product, if columns are independent in a row
    third: Any  # its third moment
    known: Any  # rows
    together: Any  # share of the rows in which both are one

    @staticmethod
    def of(model: Any, source: Source, columns: Any) -> _Means:
        """Of a table."""
        asked = model._ask(source)
        products, squares, variance, third, known, together = asked.total(_Residuals(asked.model, columns))
        n = np.maximum(known, 1)
        return _Means(products / n, squares / n, variance / n, third / n, known, together / n)

    def at(self, first: Any, second: Any) -> _Means:
        """Of some pairs; of the squares the product of those of both columns."""
        both = self.squares[first, second] * self.squares[second, first]
        return _Means(*(one[first, second] for one in self))._replace(squares=both)


@dataclass(frozen=True)
class Leftovers:
    """What a model leaves unexplained.

    Attributes
    ----------
    pairs : list of dict
        The strongest first: ``first``, ``second`` (columns), ``q3`` beyond what the model gives rise to, ``p`` (corrected),
        ``n`` rows, in how many both are one, ``together``, and in how many the model ``expected`` that.
    groups : list of lists
        Columns that hang together by pairs that go together more than the model says.
    n_sure : int
        Pairs that are sure.
    n_looked_at : int
    """

    pairs: list[Mapping[str, Any]]
    groups: list[list[int]]
    n_sure: int
    n_looked_at: int


def leftovers(model: Any, source: Source, seed: int) -> Leftovers:
    """Correlations of residuals (Yen's Q3, 1984) beyond those that the model itself gives rise to, if they are no noise.

    Residuals of a model that is right are correlated, too, because a cell has a say in what its row is expected to be; rows
    drawn from the model, with the same blanks, tell how much.  Columns that never vary have no residuals worth the name and
    are left out.  Sums of products are skewed where columns are rare, and p-values allow for it (a Pearson curve with the
    moments that the model gives them): that two such columns meet in one row is no evidence, that they meet in ten may be.
    """
    part, columns = RowsSource(source, some_rows(source, MOST_ROWS, seed)), widest(model.marginals_, WIDEST)
    seen, right = _Means.of(model, part, columns), _Means.of(model, _drawn(model, part, seed), columns)
    share = np.diag(seen.together)
    varies = (share > 0) & (share < 1)
    first, second = np.triu_indices(len(columns), 1)
    kept = varies[first] & varies[second] & (seen.known[first, second] > 0) & (right.known[first, second] > 0)
    first, second = first[kept], second[kept]
    seen, right = seen.at(first, second), right.at(first, second)
    beyond = seen.products - right.products
    q3 = beyond / np.sqrt(np.maximum(seen.squares, 1e-300))
    p = np.array(corrected(_p_values(beyond, seen, right).tolist()))
    sure = np.flatnonzero((p < SURE) & (np.abs(q3) >= CONSIDERABLE))
    strongest = sure[np.argsort(-np.abs(q3[sure]), kind="stable")]
    pairs: list[Mapping[str, Any]] = [
        {
            "first": int(columns[first[i]]),
            "second": int(columns[second[i]]),
            "q3": float(q3[i]),
            "p": float(p[i]),
            "n": int(seen.known[i]),
            "together": round(float(seen.together[i] * seen.known[i])),
            "expected": float(right.together[i] * seen.known[i]),
        }
        for i in strongest[:MOST_PAIRS]
    ]
    drawn_together = [(int(columns[first[i]]), int(columns[second[i]])) for i in sure if q3[i] > 0]
    return Leftovers(pairs, groups_of(drawn_together), len(sure), len(first))


def _p_values(beyond: Any, seen: _Means, right: _Means) -> Any:
    """Two-sided p-values of mean products, by the first three moments that they have where the model is right."""
    variance = np.maximum(np.maximum(seen.variance, right.variance), 1e-300)
    n_both = 1 / (1 / seen.known + 1 / right.known)
    z = beyond / np.sqrt(variance / n_both)
    skew = np.maximum(seen.third, right.third) / variance**1.5 / np.sqrt(n_both)
    above = np.maximum(stats.pearson3.sf(z, skew), stats.norm.sf(z))
    below = np.maximum(stats.pearson3.cdf(z, skew), stats.norm.cdf(z))  # the curve ends where few ones can do no more
    return np.minimum(1.0, 2 * np.minimum(above, below))


def _drawn(model: Any, source: Source, seed: int) -> Source:
    """Rows drawn from a model, with the blanks of a table."""
    n_rows, n_columns = source.shape
    is_slow = family_of(type(model)).structure == "switches"  # a thousand sweeps for every row
    n = max(FEWEST_DRAWN, min(DRAWN, (SLOWLY_DRAWN_CELLS if is_slow else DRAWN_CELLS) // n_columns))
    cells = np.asarray(model.sample(n, random_state=seed), float)
    for b in range(source.n_blocks):
        block = source.block(b)
        for i in range(block.start, min(block.start + block.n_rows, n)) if block.unknown is not None else ():
            blank = block.codes(i - block.start, i - block.start + 1)[0] == UNKNOWN
            cells[i::n_rows, blank] = np.nan
    return open_source(cells, owner="leftovers")


def groups_of(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """What hangs together by pairs, the largest group first.

    Examples
    --------
    >>> groups_of([(1, 2), (5, 6), (2, 3)])
    [[1, 2, 3], [5, 6]]
    """
    above: dict[int, int] = {}

    def top(one: int) -> int:
        while above.setdefault(one, one) != one:
            one = above[one]
        return one

    for one, other in pairs:
        above[top(one)] = top(other)
    groups: dict[int, list[int]] = {}
    for one in sorted(above):
        groups.setdefault(top(one), []).append(one)
    return sorted(groups.values(), key=lambda group: (-len(group), group))
