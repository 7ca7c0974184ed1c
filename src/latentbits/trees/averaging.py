"""All restarts of a mixture of trees answering together.

The trees of all starts are laid out flat, as one mixture in which each weighs its share of its start.  With
``average="joint"`` that mixture answers itself; with ``"mean"`` every start has the same say about a row.  The
likelihood of a row is the mean of the starts' likelihoods under both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..base.fitting import FittingMixin
from ..base.options import Check, Flag, OneOf
from ..data.block import Block, Float
from ..data.summary import Totals
from ..engine.protocols import Causes, Model
from ..engine.restarts import Result
from .model import (
    TreeModel,
    TreeParams,
    TreePrecomputed,
    drawn_cells,
    precomputed_trees,
    weighed_cells,
    weighed_predictions,
)


class TreeMembers(NamedTuple):
    """Trees of all starts: weights (B,) that sum to one within a start, their trees, and the start of each, ascending."""

    weights: Annotated[Float, of.shares("B")]
    parents: Annotated[Any, of.places("B", "D", below="D", dtype="int32")]
    on_given: Annotated[Float, of.chances("B", "D", "2")]
    owner: Annotated[Any, of.places("B", below="B")]

    def contradiction(self) -> str | None:
        """What is wrong with the members as a whole."""
        owner = self.owner
        good = len(owner) > 0 and owner[0] == 0 and np.isin(np.diff(owner), (0, 1)).all()
        if not good:
            return "must hold the trees of one start after the other"
        return TreeModel(len(owner)).misfit(TreeParams(self.weights, self.parents, self.on_given))


def unpack_members(kept: list[Float], n_components: int) -> TreeMembers:
    """The trees of all starts from what the driver kept of each."""
    n_columns = (len(kept[0]) - n_components) // (3 * n_components)
    ends = n_components, n_components * (1 + n_columns)
    weights, parents, on_given = (np.concatenate(part) for part in zip(*(np.split(vector, ends) for vector in kept)))
    return TreeMembers(
        weights,
        parents.reshape(-1, n_columns).astype(np.int32),
        on_given.reshape(-1, n_columns, 2),
        np.repeat(np.arange(len(kept)), n_components),
    )


class AveragedPrecomputed(NamedTuple):
    """The best start, and all trees as one mixture; ``starts`` are the first trees of the starts."""

    best: TreePrecomputed
    flat: TreePrecomputed
    starts: Any


@dataclass(frozen=True)
class AveragedTrees(Model):
    """The best start (``best``) with all starts (``held``) beside it; parameters are those of the best."""

    n_components: of.Size
    average: Annotated[str, of.words("mean", "joint")] = "mean"
    best: Annotated[Any, TreeModel] = None
    held: TreeMembers = field(
        default_factory=lambda: TreeMembers(
            np.empty(0), np.empty((0, 0), np.int32), np.empty((0, 0, 2)), np.empty(0, np.int64)
        )
    )

    def precompute(self, params: TreeParams) -> AveragedPrecomputed:
        """Logarithms, once per question."""
        starts = np.flatnonzero(np.diff(self.held.owner, prepend=-1))
        flat = TreeParams(self.held.weights / len(starts), self.held.parents, self.held.on_given)
        return AveragedPrecomputed(self.best.precompute(params), precomputed_trees(flat), starts)

    @property
    def _flat(self) -> TreeModel:
        """The maths of all trees."""
        return TreeModel(len(self.held.weights))

    def _shares(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """What every tree weighs in the answer about a row (n, B)."""
        if self.average == "joint":
            return self._flat.memberships(block, precomputed.flat)
        scores = self._flat.log_joint(block, precomputed.flat)
        counts = np.diff(precomputed.starts, append=scores.shape[1])
        shares = np.exp(scores - np.repeat(np.maximum.reduceat(scores, precomputed.starts, axis=1), counts, axis=1))
        sums = np.add.reduceat(shares, precomputed.starts, axis=1) * len(precomputed.starts)
        return shares / np.repeat(sums, counts, axis=1)

    def log_prob(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """log of the starts' mean likelihood (n,)."""
        return self._flat.log_prob(block, precomputed.flat)

    def memberships(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """Class probabilities (n, K) in the classes of the best start."""
        found: Float = self.best.memberships(block, precomputed.best)
        return found

    def represent(self, block: Block, precomputed: AveragedPrecomputed) -> Float:
        """Rows as users see them: their memberships."""
        return self.memberships(block, precomputed)

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
        reached = np.cumsum(self._shares(block, precomputed), axis=1)
        chosen = np.minimum((by_row[:, None] * reached[:, -1:] >= reached).sum(axis=1), reached.shape[1] - 1)
        return drawn_cells(block, precomputed.flat, chosen, rows, columns, by_row, by_cell)

    def causes(self, block: Block, precomputed: AveragedPrecomputed, rows: Any, columns: Any) -> Causes:
        """Why single cells are as they are, told by the best start."""
        found: Causes = self.best.causes(block, precomputed.best, rows, columns)
        return found

    def sample_rows(self, params: TreeParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) of random starts, and the start of each."""
        weights = self.held.weights / self.held.weights.sum()
        cells, trees = self._flat.sample_rows(TreeParams(weights, self.held.parents, self.held.on_given), n, rng)
        return cells, self.held.owner[trees]

    def n_free(self, params: TreeParams) -> int:
        """Free parameters of the best start."""
        return int(self.best.n_free(params))


class AveragingTreesMixin(FittingMixin):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`: the option ``average_restarts``."""

    average_restarts: bool
    average: str

    option_checks: ClassVar[Mapping[str, Check]] = {
        "average": OneOf(("mean", "joint")),
        "average_restarts": Flag(),
    }

    def _has(self, method: str) -> bool:
        """BIC and AIC are about one set of parameters."""
        return super()._has(method) and not (self.average_restarts and method in ("bic", "aic"))

    @property
    def criterion(self) -> str:
        """By which the number of components is chosen if nothing else is asked for."""
        return "cells" if self.average_restarts else "bic"

    def set_params(self, **params: Any) -> Any:
        """Set options; the rule of averaging also of a fitted estimator."""
        super().set_params(**params)
        if isinstance(getattr(self, "_model", None), AveragedTrees):
            self._check_some("average")
            self._model = replace(self._model, average=self.average)
        return self

    def _store_result(self, model: Any, sweep: Any, result: Result, sums: Totals) -> None:
        super()._store_result(model, sweep, result, sums)
        kept = [vector for vector in result.summaries if vector is not None]
        if self.average_restarts and kept:
            members = unpack_members(kept, model.n_components)
            self._model = AveragedTrees(model.n_components, self.average, model.answer_model(), members)
