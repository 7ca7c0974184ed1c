"""What models share whose log odds are linear in the scores of a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from .. import declared as of
from ..data.block import ONE, UNKNOWN, Block, Codes, Float
from ..engine.protocols import Causes, Model
from ..maths.empirical_bayes import blank_rows, keys_of

# Cells that are laid out at a time.
TILE_CELLS = 1 << 18
# Probabilities in answers stay this far from 0 and 1.
ANSWER_EDGE = 1e-9
# Cells whose rows are fitted again without them at a time.
HELD_CELLS = 4096


@dataclass(frozen=True)
class LinearModel(Model):
    """``active`` (D,) are the columns that vary, ``base`` (D,) the log odds of a one in each.

    Subclasses define the answers that raise here.
    """

    has_row_state = True
    refits_rows = True

    n_components: of.Size
    active: Annotated[np.ndarray, of.flags("D")]
    base: Annotated[Float, of.reals("D")]

    def tiles(self, block: Block) -> Iterator[tuple[slice, Codes]]:
        """Rows and their cells, a tile at a time; constant columns are unknown to the fit."""
        step = max(1, TILE_CELLS // max(1, block.n_columns))
        for low in range(0, block.n_rows, step):
            part = slice(low, min(low + step, block.n_rows))
            codes = block.codes(part.start, part.stop)
            codes[:, ~self.active] = UNKNOWN
            yield part, codes

    def blank_rows(self, block: Block) -> np.ndarray:
        """Rows in which no column that varies is known."""
        return blank_rows(block, self.active)

    def fixed_logs(self, block: Block, offset: Float) -> Float:
        """What the constant columns add to the log-likelihood of every row (n,)."""
        fixed = np.where(self.active, 0.0, offset)
        log_off = np.where(self.active, 0.0, -np.logaddexp(0.0, fixed))
        logs = block.ones.dot(fixed[:, None])[:, 0] + log_off.sum()
        return logs if block.unknown is None else logs - block.unknown.dot(log_off[:, None])[:, 0]

    def represent(self, block: Block, precomputed: Any) -> Float:
        """Scores (n, K)."""
        raise NotImplementedError

    def predict_cells_at(self, block: Block, precomputed: Any, rows: Any, columns: Any) -> Float:
        """P(cell = 1 | observed cells of the row) of single cells (m,)."""
        raise NotImplementedError

    def loadings_at(self, precomputed: Any, columns: Any) -> Float:
        """Loadings (m, K) of the columns of single cells."""
        raise NotImplementedError

    def left_out(self, held: Block, precomputed: Any, columns: Any, starts: Float, own: Any = None) -> Float:
        """P(cell = 1) (m,) of the cells in which row i lacks column i, the scores beginning at ``starts``."""
        raise NotImplementedError

    def causes(self, block: Block, precomputed: Any, rows: Any, columns: Any) -> Causes:
        """Contributions of the components to the log odds of single cells."""
        scores = self.represent(block, precomputed)
        parts = scores[rows] * self.loadings_at(precomputed, columns)
        sizes = np.abs(parts)
        total = sizes.sum(axis=1, keepdims=True)
        share = np.where(total > 0, sizes / np.where(total > 0, total, 1.0), 1.0 / self.n_components)
        return Causes(share, parts, self._without(block, precomputed, scores, rows, columns))

    def _without(self, block: Block, precomputed: Any, scores: Float, rows: Any, columns: Any) -> Float:
        """P(cell = 1 | the other cells of its row): rows are fitted without their cell, from where they were."""
        out, keys = np.empty(len(rows)), keys_of(block)
        known = block.at(rows, columns) <= ONE
        unknown = np.flatnonzero(~known)
        if len(unknown):
            out[unknown] = self.predict_cells_at(block, precomputed, rows[unknown], columns[unknown])
        for which in np.array_split(np.flatnonzero(known), max(1, -(-int(known.sum()) // HELD_CELLS))):
            held = block.take(rows[which]).hide(np.arange(len(which)), columns[which])
            out[which] = self.left_out(held, precomputed, columns[which], scores[rows[which]], keys[rows[which]])
        return out


def sigmoid(odds: Float) -> Float:
    """Probabilities of log odds, inside (0, 1)."""
    return np.clip(0.5 * (1.0 + np.tanh(0.5 * odds)), ANSWER_EDGE, 1 - ANSWER_EDGE)
