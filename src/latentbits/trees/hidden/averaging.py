"""All restarts of a hidden tree answering together: they have the tree in common, and states of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from ... import declared as of
from ...base.averaging import AveragingMixin
from ...data.block import Block, Float
from ...maths.latent_class import chosen_classes
from ...maths.members import ToldByTheBest, chances_of, logits_of, member_shares
from .messages import all_chances, chances_at, drawn_at
from .model import HiddenTreeModel, lines_of
from .params import HiddenParams, HiddenPrecomputed, precomputed_states


class HiddenMembers(NamedTuple):
    """The tables of all starts (B), in float32."""

    parents: Annotated[Any, of.places("D", below="D", dtype="int32")]
    moves: Annotated[Any, of.Array(("B", "D", "K", "K"), "float32", least=0.0, most=1.0)]
    logits: Annotated[Any, of.logits("B", "D", "K")]

    def each(self) -> list[HiddenParams]:
        """The parameters of every start."""
        return [
            HiddenParams(self.parents, lines_of(moves.astype(np.float64)), chances_of(logits))
            for moves, logits in zip(self.moves, self.logits)
        ]

    def contradiction(self) -> str | None:
        """What is wrong with the members as a whole."""
        model = HiddenTreeModel(self.logits.shape[2])
        return next((told for params in self.each() if (told := model.misfit(params)) is not None), None)


class AveragedPrecomputed(NamedTuple):
    """The best start, and all."""

    best: HiddenPrecomputed
    each: list[HiddenPrecomputed]


@dataclass(frozen=True)
class AveragedHiddenTrees(ToldByTheBest):
    """The best start (``best``) with all starts (``held``) beside it; parameters are those of the best."""

    n_components: of.Size
    average: Annotated[str, of.words("mean", "joint")] = "mean"
    best: Annotated[Any, HiddenTreeModel] = None
    held: HiddenMembers = field(
        default_factory=lambda: HiddenMembers(
            np.empty(0, np.int32), np.empty((0, 0, 1, 1), np.float32), np.empty((0, 0, 1), np.float32)
        )
    )

    def precompute(self, params: HiddenParams) -> AveragedPrecomputed:
        """Messages of zeros, once per question."""
        return AveragedPrecomputed(self.best.precompute(params), [precomputed_states(one) for one in self.held.each()])

    def _scores(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """log p(row) of every start (n, B)."""
        return np.stack([self.best.log_prob(block, one) for one in precomputed.each], axis=1)

    def _shares(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """What every start weighs in the answer about a row (n, B)."""
        n_starts = len(precomputed.each)
        if self.average == "mean":
            return np.full((block.n_rows, n_starts), 1.0 / n_starts)
        shares: Float = member_shares(self._scores(block, precomputed), np.arange(n_starts), self.average)
        return shares

    def log_prob(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """log of the starts' mean likelihood (n,)."""
        return np.logaddexp.reduce(self._scores(block, precomputed), axis=1) - np.log(len(precomputed.each))

    def predict_cells(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        shares, out = self._shares(block, precomputed), np.zeros((block.n_rows, block.n_columns))
        for share, one in zip(shares.T, precomputed.each):
            out += share[:, None] * all_chances(block, one)
        return np.minimum(out, 1.0)

    def predict_cells_at(self, block: Block, precomputed: AveragedPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        shares, out = self._shares(block, precomputed), np.zeros(len(rows))
        for share, one in zip(shares.T, precomputed.each):
            out += share[rows] * chances_at(block, one, rows, columns)
        return np.minimum(out, 1.0)

    def sample_cells(
        self, block: Block, precomputed: AveragedPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: a start for every row, then its cells."""
        chosen = chosen_classes(self._shares(block, precomputed), by_row)[rows]
        out = np.empty(len(rows), np.bool_)
        for b, one in enumerate(precomputed.each):
            mine = chosen == b
            out[mine] = drawn_at(block, one, rows[mine], columns[mine], by_row, by_cell[mine])
        return out

    def sample_rows(self, params: HiddenParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) of random starts, and the start of each."""
        each = self.held.each()
        starts = rng.integers(len(each), size=n)
        cells = np.empty((n, len(self.held.parents)), np.uint8)
        for b, one in enumerate(each):
            mine = np.flatnonzero(starts == b)
            cells[mine] = self.best.sample_rows(one, len(mine), rng)[0]
        return cells, starts


class AveragingHiddenMixin(AveragingMixin):
    """The option ``average_restarts`` of hidden trees."""

    _params: Any

    def _averaged(self, model: Any, kept: list[Float]) -> AveragedHiddenTrees:
        n_columns, m = self._params.probs.shape
        vectors = np.stack(kept)
        moves = vectors[:, : n_columns * m * m].reshape(-1, n_columns, m, m)
        probs = vectors[:, n_columns * m * m :].reshape(-1, n_columns, m)
        members = HiddenMembers(self._params.parents, moves.astype(np.float32), logits_of(probs))
        return AveragedHiddenTrees(m, self.average, model.answer_model(), members)
