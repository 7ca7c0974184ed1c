"""All restarts of a mixture of trees answering together.

The trees of all starts are laid out flat, as one mixture in which each weighs its share of its start.  With
``average="joint"`` that mixture answers itself; with ``"mean"`` every start has the same say about a row.  The
likelihood of a row is the mean of the starts' likelihoods under both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..base.averaging import AveragingMixin
from ..data.block import Block, Float
from ..maths.latent_class import chosen_classes
from ..maths.members import ToldByTheBest, chances_of, logits_of, member_shares, owners_misfit, starts_of
from .messages import drawn_cells, weighed_cells, weighed_predictions
from .model import TreeModel
from .params import TreeParams, TreePrecomputed, precomputed_trees


class TreeMembers(NamedTuple):
    """Trees of all starts: weights (B,) that sum to one within a start, their trees with the logits of their tables, and the
    start of each, ascending."""

    weights: Annotated[Float, of.shares("B")]
    parents: Annotated[Any, of.places("B", "D", below="D", dtype="int32")]
    logits: Annotated[Any, of.logits("B", "D", "2")]
    owner: Annotated[Any, of.places("B", below="B")]

    def contradiction(self) -> str | None:
        """What is wrong with the members as a whole."""
        return owners_misfit(self.owner) or TreeModel(len(self.owner)).misfit(self.flat())

    def flat(self) -> TreeParams:
        """All trees as one mixture, in which every start has a weight of one."""
        return TreeParams(self.weights, self.parents, chances_of(self.logits))


def unpack_members(kept: list[Float], n_components: int) -> TreeMembers:
    """The trees of all starts from what the driver kept of each."""
    n_columns = (len(kept[0]) - n_components) // (3 * n_components)
    ends = n_components, n_components * (1 + n_columns)
    weights, parents, on_given = (np.concatenate(part) for part in zip(*(np.split(vector, ends) for vector in kept)))
    return TreeMembers(
        weights,
        parents.reshape(-1, n_columns).astype(np.int32),
        logits_of(on_given.reshape(-1, n_columns, 2)),
        np.repeat(np.arange(len(kept)), n_components),
    )


class AveragedPrecomputed(NamedTuple):
    """The best start, and all trees as one mixture; ``starts`` are the first trees of the starts."""

    best: TreePrecomputed
    flat: TreePrecomputed
    starts: Any


@dataclass(frozen=True)
class AveragedTrees(ToldByTheBest):
    """The best start (``best``) with all starts (``held``) beside it; parameters are those of the best."""

    n_components: of.Size
    average: Annotated[str, of.words("mean", "joint")] = "mean"
    best: Annotated[Any, TreeModel] = None
    held: TreeMembers = field(
        default_factory=lambda: TreeMembers(
            np.empty(0), np.empty((0, 0), np.int32), np.empty((0, 0, 2), np.float32), np.empty(0, np.int64)
        )
    )

    def precompute(self, params: TreeParams) -> AveragedPrecomputed:
        """Logarithms, once per question."""
        starts = starts_of(self.held.owner)
        flat = self.held.flat()
        flat = flat._replace(weights=flat.weights / len(starts))
        return AveragedPrecomputed(self.best.precompute(params), precomputed_trees(flat), starts)

    @property
    def _flat(self) -> TreeModel:
        """The maths of all trees."""
        return TreeModel(len(self.held.weights))

    def _shares(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """What every tree weighs in the answer about a row (n, B)."""
        scores = self._flat.log_joint(block, precomputed.flat)
        shares: Float = member_shares(scores, precomputed.starts, self.average)
        return shares

    def log_prob(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """log of the starts' mean likelihood (n,)."""
        return self._flat.log_prob(block, precomputed.flat)

    def predict_cells(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        return weighed_predictions(block, precomputed.flat, self._shares(block, precomputed))

    def predict_cells_at(self, block: Block, precomputed: AveragedPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        return weighed_cells(block, precomputed.flat, lambda part, _: self._shares(part, precomputed), rows, columns)

    def sample_cells(
        self, block: Block, precomputed: AveragedPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: a tree for every row, then its cells."""
        chosen = chosen_classes(self._shares(block, precomputed), by_row)
        return drawn_cells(block, precomputed.flat, chosen, rows, columns, by_row, by_cell)

    def sample_rows(self, params: TreeParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) of random starts, and the start of each."""
        flat = self.held.flat()
        cells, trees = self._flat.sample_rows(flat._replace(weights=flat.weights / flat.weights.sum()), n, rng)
        return cells, self.held.owner[trees]


class AveragingTreesMixin(AveragingMixin):
    """The option ``average_restarts`` of mixtures of trees."""

    def _averaged(self, model: Any, kept: list[Float]) -> AveragedTrees:
        members = unpack_members(kept, model.n_components)
        return AveragedTrees(model.n_components, self.average, model.answer_model(), members)
