"""Cells in order: the most surprising of a table, and the ones that a row probably lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..answers import Explanation
from ..data.block import ONE, UNKNOWN, Block, Codes, Float
from ..data.source import Source
from ..engine.protocols import Places
from ..errors import InputError
from ..families import family_of
from .answers import AnswersMixin
from .common import frame_of
from .options import Whole
from .sklearn_api import available_if

TILE = 1_000_000  # numbers held at once
# Cells times components of which P(cell | its other cells) is worked out, and if rows are fitted again for it.
MOST_WALKED, MOST_REFITTED = 100_000_000, 1_000_000
# Beyond that, and of rows, cells are first ranked given their whole row, themselves included, which is quick.  Of this many
# times the cells that are asked for the probability given the other cells is worked out, and they are ranked by it.
CANDIDATES = 20
LEAST_CANDIDATES = 200  # of a row
LEAST_EXPLAINED = 400_000  # of a table: cells times components


class RankingMixin(AnswersMixin):
    """The part of the shell that ranks cells."""

    @available_if(lambda self: self._has("explain"))
    def surprising(self, X: Any, n: int = 20) -> Any:
        """The most surprising known cells, explained.

        Tables of any size, block by block.  Of very large ones (a hundred million cell-component pairs; a million in
        families that fit a row again without the cell) only the cells with the least probability given their whole row
        are looked at.

        Parameters
        ----------
        X : table
        n : int
            How many.

        Returns
        -------
        Explanation
            The most surprising cell first.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.surprising(X, 2).to_frame()[["row", "column", "value", "probability"]].round(3)
           row   column  value  probability
        0   63  toothed      0        0.966
        1   63     eggs      1        0.038
        """
        self._check("n", n, Whole(1))
        asked = self._ask(X)
        n_rows, n_columns = asked.sweep.source.shape
        exact = _is_walked(asked.model, n_rows * n_columns)
        n_kept = int(n) if exact else max(CANDIDATES * n, LEAST_EXPLAINED // asked.model.n_components)
        found = asked.by_block(_LeastProbable(asked.model, n_kept, exact))
        chances, rows, columns = (np.concatenate(part) for part in zip(*found))
        kept = np.argsort(chances, kind="stable")[:n_kept]
        rows, columns = rows[kept], columns[kept]
        explanation: Explanation = self._explanation(asked, rows, columns)
        surprise = np.where(explanation.value == UNKNOWN, -1.0, explanation.surprise)
        order = np.argsort(-surprise, kind="stable")[:n]
        return explanation.take(order[surprise[order] >= 0])

    @available_if(lambda self: self._has("explain"))
    def recommend(self, X: Any, rows: Any = None, n: int = 10) -> list[dict[str, Any]]:
        """What rows lack and probably should have: their zeros and unknown cells with the greatest P(one).

        The probability is that given the other cells of the row.  Where there are very many cells to rank (as in
        :meth:`surprising`), only the most probable ones given the whole row are looked at.

        Parameters
        ----------
        X : table
        rows : array-like of int, optional
            Numbers of the rows; without it all.
        n : int
            Cells per row.

        Returns
        -------
        list of dict
            With row, rank, feature, value (0, or None if unknown), probability, marginal (share of ones of the column),
            because (the component that would explain most of the one, or "leak" for causes outside the components) and
            share (how much of it).

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> found = model.recommend(X, rows=[0], n=1)[0]
        >>> found["feature"], round(found["probability"], 2)
        ('tail', 0.85)
        """
        self._check("n", n, Whole(1))
        asked = self._ask(X)
        numbers = self._row_numbers(rows, asked.sweep.source)
        signed = family_of(type(self)).structure == "scores"
        n_candidates = min(self.n_features_in_, max(CANDIDATES * n, LEAST_CANDIDATES))
        if _is_walked(asked.model, len(numbers) * self.n_features_in_):
            n_candidates = self.n_features_in_
        found: _Ranked = asked.by_chosen_rows(_Lacking(asked.model, int(n), n_candidates, signed), numbers)
        names, features = [*self._component_names(), "leak", ""], self._feature_names()
        return [
            {
                "row": int(numbers[found.row[i]]),
                "rank": int(found.rank[i]),
                "feature": features[found.column[i]],
                "value": None if found.value[i] == UNKNOWN else 0,
                "probability": float(found.probability[i]),
                "marginal": float(self.marginals_[found.column[i]]),
                "because": names[found.component[i]],
                "share": float(found.share[i]),
            }
            for i in range(len(found.row))
        ]

    @available_if(lambda self: self._has("explain"))
    def recommend_frame(self, X: Any, rows: Any = None, n: int = 10) -> Any:
        """:meth:`recommend` as a pandas frame.

        Parameters
        ----------
        X : table
        rows : sequence of int, optional
            By default all.
        n : int
            Recommendations per row.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.recommend_frame(X, rows=[0], n=2)[["feature", "probability", "because"]].round(2)
            feature  probability  because
        0      tail         0.85  class 1
        1  domestic         0.19  class 1
        """
        return frame_of(self.recommend(X, rows, n))

    def _row_numbers(self, rows: Any, source: Source) -> Places:
        """Numbers of rows, which must be there."""
        if rows is None:
            return np.arange(source.shape[0])
        numbers = np.atleast_1d(np.asarray(rows))
        if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise InputError(f"{self._name}: rows must be row numbers; got {rows!r:.60}.")
        outside = numbers[(numbers < 0) | (numbers >= source.shape[0])]
        if len(outside):
            raise InputError(
                f"{self._name}: row {outside[0]} is asked for, but the rows are numbered 0 to {source.shape[0] - 1}."
            )
        return numbers.astype(np.int64)


class _LeastProbable:
    """The ``n`` known cells of a block with the least probability: that, row and column.

    It is the probability given the other cells of the row if ``exact``, else given all of them.
    """

    def __init__(self, model: Any, n: int, exact: bool) -> None:
        self.model, self.n, self.exact = model, n, exact

    def __call__(self, block: Block, precomputed: Any) -> tuple[Float, Places, Places]:
        chances, rows, columns = np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
        width = block.n_columns * (self.model.n_components if self.exact else 1)
        for part in pieces(block.n_rows, width):
            some = block.take(part)
            codes, on = some.codes(), self._on(some, precomputed)
            least = np.where(codes == ONE, on, np.where(codes == UNKNOWN, np.inf, 1.0 - on)).ravel()
            best = np.flatnonzero(least < (chances[-1] if len(chances) == self.n else np.inf))
            if len(best) > self.n:
                best = best[np.argpartition(least[best], self.n - 1)[: self.n]]
            chances = np.concatenate((chances, least[best]))
            rows = np.concatenate((rows, part[best // block.n_columns]))
            columns = np.concatenate((columns, best % block.n_columns))
            kept = np.argsort(chances, kind="stable")[: self.n]
            chances, rows, columns = chances[kept], rows[kept], columns[kept]
        return chances, rows + block.start, columns

    def _on(self, block: Block, precomputed: Any) -> Float:
        """P(cell = 1) of all cells (n, D)."""
        if not self.exact:
            chances: Float = self.model.predict_cells(block, precomputed)
            return chances
        shape = (block.n_rows, block.n_columns)
        rows, columns = (part.ravel() for part in np.indices(shape))
        alone: Float = self.model.causes(block, precomputed, rows, columns).probability.reshape(shape)
        return alone


class _Ranked(NamedTuple):
    """Cells of rows, best first."""

    row: Places  # within what was asked for
    rank: Places
    column: Places
    value: Codes
    probability: Float
    component: Places  # K is the leak, K + 1 nothing
    share: Float


class _Lacking:
    """The ``n`` cells of rows of a block that are not one and have the greatest probability given the others."""

    def __init__(self, model: Any, n: int, n_candidates: int, signed: bool) -> None:
        self.model, self.n, self.n_candidates, self.signed = model, n, n_candidates, signed

    def __call__(self, block: Block, precomputed: Any, rows: Places) -> _Ranked:
        width = max(block.n_columns, self.n_candidates * self.model.n_components)
        parts = [self._of(block.take(rows[part]), precomputed, part) for part in pieces(len(rows), width)]
        return _Ranked(*(np.concatenate(field) for field in zip(*parts)))

    def _candidates(self, block: Block, precomputed: Any) -> tuple[Places, Places]:
        """Cells that are not one: all of them, or those with the greatest probability given the whole row."""
        owned = block.ones.dense().view(np.bool_)
        if self.n_candidates == block.n_columns:
            rows, columns = np.nonzero(~owned)
            return rows, columns
        chances = np.where(owned, -1.0, self.model.predict_cells(block, precomputed))
        columns = np.argpartition(-chances, self.n_candidates - 1, axis=1)[:, : self.n_candidates].ravel()
        rows = np.repeat(np.arange(block.n_rows), self.n_candidates)
        lacking = ~owned[rows, columns]
        return rows[lacking], columns[lacking]

    def _of(self, block: Block, precomputed: Any, numbers: Places) -> _Ranked:
        """Of all rows of a small block, which are called so."""
        rows, columns = self._candidates(block, precomputed)
        probability = self.model.causes(block, precomputed, rows, columns).probability
        order = np.lexsort((columns, -probability, rows))
        rank = np.arange(len(rows)) - np.searchsorted(rows[order], rows[order])
        best = order[rank < self.n]
        rows, columns, probability = rows[best], columns[best], probability[best]
        component, share = self._reasons(block, precomputed, rows, columns)
        value = block.at(rows, columns)
        return _Ranked(numbers[rows], rank[rank < self.n] + 1, columns, value, probability, component, share)

    def _reasons(self, block: Block, precomputed: Any, rows: Places, columns: Places) -> tuple[Places, Float]:
        """The component that would explain most of every cell if it were one, and how much."""
        component, share = np.empty(len(rows), np.int64), np.empty(len(rows))
        n_components = self.model.n_components
        for part in pieces(len(rows), max(block.n_columns, n_components)):
            cells = np.arange(len(part))
            held = block.take(rows[part]).with_ones(cells, columns[part])
            causes = self.model.causes(held, precomputed, cells, columns[part])
            leak = np.zeros(len(part)) if causes.leak is None else causes.leak
            shares = np.column_stack((causes.share, leak))
            if self.signed:  # what speaks against the one is no reason for it
                shares[:, :n_components][causes.evidence <= 0] = 0.0
            component[part], share[part] = shares.argmax(axis=1), shares.max(axis=1)
            component[part[share[part] == 0]] = n_components + 1
        return component, share


def _is_walked(model: Any, n_cells: int) -> bool:
    """Whether P(cell | its other cells) can be worked out for so many cells."""
    most = MOST_REFITTED if getattr(model, "refits_rows", False) else MOST_WALKED
    return bool(n_cells * model.n_components <= most)


def pieces(n_rows: int, width: int) -> Iterator[Places]:
    """Rows in pieces of which a matrix of this width is not too large; at least one piece."""
    step = max(1, TILE // width)
    for low in range(0, max(n_rows, 1), step):
        yield np.arange(low, min(low + step, n_rows))
