"""What a fitted model says about single cells: those worth a look, and those that are unknown."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data.block import ONE, ZERO, Block
from ..data.holdout import RowsSource, some_rows
from ..data.source import Source
from ..engine.ask import joined
from ..engine.protocols import PredictsCells
from .fitted import FittedFamily

MOST_CELLS = 20_000_000  # cells looked through for surprises
ALL_CELLS = 300_000  # cells times components up to which every cell is explained
CANDIDATES = 600  # cells of each kind that are explained
KEPT = 100  # cells of each kind that are listed
PROBABLY = 0.5
SURPRISING = 0.1  # cells whose row gives their value less than this are worth a look
MAP_ROWS = 5000


def widest(marginals: Any, most: int) -> Any:
    """All columns, or of very many those that vary most, in the order of the table."""
    if len(marginals) <= most:
        return np.arange(len(marginals))
    return np.sort(np.argsort(-marginals * (1 - marginals), kind="stable")[:most])


def worth_a_look(fitted: FittedFamily, source: Source, seed: int) -> list[dict[str, Any]]:
    """Surprising ones and zeros, and zeros that were probably lost, the most surprising of each first.

    Every cell is explained from the other cells of its row; of larger tables those that their rows, the cell included, expect
    least (of very large ones in a sample of rows).
    """
    n_rows = max(1, min(source.shape[0], MOST_CELLS // source.shape[1]))
    chosen = some_rows(source, n_rows, seed)
    part = source if len(chosen) == source.shape[0] else RowsSource(source, chosen)
    if part.shape[0] * part.shape[1] * len(fitted.model.components_) <= ALL_CELLS:
        rows, columns = (places.ravel() for places in np.indices(part.shape))
    else:
        rows, columns = _least_expected(fitted.model, part)
    if not len(rows):
        return []
    explained = fitted.model.explain(part, cells=(rows, columns))
    names, signed = fitted.names(), _signed(fitted, part)
    out = []
    for kind, code in (("surprising one", ONE), ("surprising zero", ZERO)):
        which = np.flatnonzero((explained.value == code) & (explained.surprise > -np.log(SURPRISING)))
        for i in which[np.argsort(-explained.surprise[which], kind="stable")][:KEPT]:
            lost = explained.missing is not None and code == ZERO and explained.missing[i] >= PROBABLY
            best = int(explained.share[i].argmax())
            out.append(
                {
                    "kind": "probably missing" if lost else kind,
                    "row": int(chosen[rows[i]]),
                    "column": int(columns[i]),
                    "value": int(code == ONE),
                    "probability": float(explained.probability[i]),
                    "surprise": float(explained.surprise[i]),
                    "missing": None if explained.missing is None else float(explained.missing[i]),
                    "cause": names[best],
                    "cause_share": float(explained.share[i, best]),
                    "argues": _argues(signed, rows[i], columns[i], best, code == ONE),
                    "partner": None if explained.partner is None else explained.called(int(explained.partner[i])),
                }
            )
    return out


def _signed(fitted: FittedFamily, part: Source) -> Any:
    """Scores and loadings of scales, whose contributions to a cell have a sign; None for other kinds."""
    if fitted.kind != "scales":
        return None
    return fitted.model.transform(part), fitted.profiles()


def _argues(signed: Any, row: int, column: int, k: int, is_one: bool) -> str:
    """Whether a scale argues for the value of a cell or against it; empty for other kinds."""
    if signed is None:
        return ""
    scores, loadings = signed
    return "for" if (scores[row, k] * loadings[k, column] > 0) == is_one else "against"


class _Odd(NamedTuple):
    """Cells of one kind that their rows make least probable: how improbable, and where (m, 2)."""

    score: Any
    places: Any

    def merge(self, other: _Odd) -> _Odd:
        """The oddest of both, equals by their places."""
        score = np.concatenate((self.score, other.score))
        places = np.concatenate((self.places, other.places))
        order = np.lexsort((places[:, 1], places[:, 0], -score))[:CANDIDATES]
        return _Odd(score[order], places[order])


class _LeastExpected:
    """The oddest ones and the oddest zeros of a block."""

    def __init__(self, model: PredictsCells) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> tuple[_Odd, _Odd]:
        none = _Odd(np.empty(0), np.empty((0, 2), np.int64))
        best = {ONE: none, ZERO: none}
        step = max(1, 2**20 // block.n_columns)
        for low in range(0, block.n_rows, step):
            part = block.take(np.arange(low, min(low + step, block.n_rows)))
            codes, on = part.codes(), self.model.predict_cells(part, precomputed)
            for code in (ONE, ZERO):
                odd = on if code == ZERO else 1.0 - on
                at = np.flatnonzero((codes == code) & (odd > 0.02))
                score = odd.ravel()[at]
                if len(at) > CANDIDATES:
                    keep = np.argpartition(-score, CANDIDATES - 1)[:CANDIDATES]
                    at, score = at[keep], score[keep]
                places = np.column_stack((at // block.n_columns + low + block.start, at % block.n_columns))
                best[code] = best[code].merge(_Odd(score, places))
        return best[ONE], best[ZERO]


def _least_expected(model: Any, source: Source) -> tuple[Any, Any]:
    """Places of the ones and zeros that their rows make least probable."""
    asked = model._ask(source)
    places = np.concatenate([odd.places for odd in asked.total(_LeastExpected(asked.model))])
    return places[:, 0], places[:, 1]


class _Counts:
    """Ones and known cells of every row of a block (n, 2)."""

    def __call__(self, block: Block, precomputed: Any) -> Any:
        unknown = 0 if block.unknown is None else block.unknown.row_counts()
        return np.column_stack((block.ones.row_counts(), np.broadcast_to(block.n_columns - unknown, block.n_rows)))


def share_of_ones(source: Source) -> Any:
    """Of every row, the share of ones among its known cells; a half where none is known."""
    counts = np.concatenate([_Counts()(source.block(b), None) for b in range(source.n_blocks)]).astype(float)
    return np.where(counts[:, 1] > 0, counts[:, 0] / np.maximum(counts[:, 1], 1), 0.5)


class Blanks(NamedTuple):
    """The unknown cells of a table: row, column and probability of a one."""

    row: Any
    column: Any
    probability: Any


class _FilledBlanks:
    """The unknown cells of a block."""

    def __init__(self, model: PredictsCells) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> Blanks:
        indptr, indices = block.unknown_lists()
        rows, columns = np.repeat(np.arange(block.n_rows), np.diff(indptr)), indices.astype(np.int64)
        on = self.model.predict_cells_at(block, precomputed, rows, columns) if len(rows) else np.empty(0)
        return Blanks(rows + block.start, columns, on)


def filled_blanks(model: Any, source: Source) -> Blanks:
    """Row, column and probability of every unknown cell."""
    asked = model._ask(source)
    blanks: Blanks = joined(asked.by_block(_FilledBlanks(asked.model)))
    return blanks
