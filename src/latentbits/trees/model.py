"""Mixture of trees of columns by EM.

Story: every row has one hidden class z, drawn with probability ``weights[k]``; within a class the columns hang together
as a tree: a column is drawn given the value of one other column, its parent.  One class is the tree of Chow and Liu.
Unknown cells are summed out.

=====================  ==========================================  ==========================================
symbol in the papers   name here                                   where
=====================  ==========================================  ==========================================
λ_k                    ``weights`` (K,)                            Meilă & Jordan, eq 3
T^k, pa(v)             ``parents`` (K, D), roots their own         eq 2
T_{v|pa(v)}            ``on_given`` (K, D, 2), P(1 | parent)       eq 2
γ_k(i)                 responsibilities                            eq 5
P^k_uv                 ``both`` / ``mass``, pair by pair           eq 7, with those of unknown cells expected
I_uv                   :meth:`PairSpace.information`               eq 8; the maximum spanning tree is the M-step
=====================  ==========================================  ==========================================

The fit maximises log p(X) + log prior.  Several classes are each given ``smoothing`` pseudo-rows with the pairs of the
whole table; the tree of the most information among data and pseudo-rows is then the exact M-step.  One class has no
table to be drawn toward: every P(1 | parent) has a Beta prior of ``smoothing`` rows' worth of data at the column's
marginal, and pairs in which a value is rare are drawn toward independence when the tree is chosen, because among
thousands of pairs of rare columns some meet by chance. M. Meilă, M. I. Jordan, *Learning with Mixtures of Trees*, JMLR 1
(2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import ONE, UNKNOWN, Block, Float
from ..engine.protocols import Causes, ExtraPass, StagedModel
from ..maths.latent_class import chosen_classes, floored_weights, shares_and_evidence
from ..maths.profiles import EDGE, STARVED, WorstRow, seeded_profile
from .counting import PairSums
from .forest import depths, downward
from .messages import (
    arguing_neighbours,
    chances_of_hidden,
    drawn_cells,
    unknown_chances,
    weighed_cells,
    weighed_predictions,
)
from .pairs import edges_of, rows_of
from .params import TreeParams, TreePrecomputed, precomputed_trees

# Numbers that pair counts of several classes may take at a time.
MOST_NUMBERS = 2**23


class TreeStats(NamedTuple):
    """Sums over rows."""

    mass: Float  # (K,) responsibility of every class
    on: Float  # (K, D) responsibility at ones, unknown cells by their chance
    log_likelihood: float


@dataclass(frozen=True)
class TreeModel(StagedModel):
    """The maths; ``target`` (D,) are the marginals, ``pooled`` P(both one) of every pair of ``space``, empty for
    independence."""

    params_type: ClassVar[Any] = TreeParams

    n_components: of.Size
    target: Annotated[Float, of.chances("D")] = field(default_factory=lambda: np.empty(0))
    smoothing: of.Amount = 1.0
    shared_tree: bool = False
    total_weight: of.Amount = 1.0
    keep_all: bool = False  # every start is kept, to be averaged
    space: Annotated[Any, NoneType] = None  # of files: nothing, as of pooled
    pooled: Annotated[Any, NoneType] = None
    grows: bool = True  # else columns stay independent, as in the first passes
    passes: int | None = None

    def precompute(self, params: TreeParams) -> TreePrecomputed:
        """Logarithms, once per pass."""
        return precomputed_trees(params)

    # Fitting.

    def is_last_stage(self, params: TreeParams) -> bool:
        """Trees grow in the last stage."""
        return self.grows

    def next_stage(self) -> TreeModel:
        """The same with trees."""
        return replace(self, grows=True, passes=None)

    def answer_model(self) -> TreeModel:
        """The same without what only fits need."""
        return replace(self, grows=True, passes=None, space=None, pooled=None)

    def shares(self, block: Block, precomputed: TreePrecomputed) -> tuple[Float, Float]:
        """Responsibilities (n, K) and log p(row) (n,)."""
        from ..maths.kernels import responsibilities

        found: tuple[Float, Float] = responsibilities(self.log_joint(block, precomputed))
        return found

    def log_joint(self, block: Block, precomputed: TreePrecomputed) -> Float:
        """log p(row, class) (n, K)."""
        from .kernels import add_piece_scores, add_row_scores

        assert precomputed.slope.shape[1] == block.n_columns  # kernels do not check places
        out = np.tile(precomputed.base, (block.n_rows, 1))
        ones = block.ones.lists()
        add_row_scores(*ones, *precomputed.wide, len(precomputed.base), out)
        if block.unknown is not None and precomputed.is_flat:
            out -= block.unknown.dot(np.ascontiguousarray(np.log1p(-precomputed.probs).T))
        elif block.unknown is not None:
            tables = precomputed.slope, precomputed.bond, precomputed.parents
            add_piece_scores(*ones, *block.unknown.lists(), *tables, out)
        return out

    def e_step(self, block: Block, rows: None, precomputed: TreePrecomputed) -> tuple[TreeStats, None]:
        """Responsibilities of a block and their sums."""
        shares, log_sums = self.shares(block, precomputed)
        weights = block.row_weights()
        shares *= weights[:, None]
        on = np.ascontiguousarray(block.ones.t_dot(shares).T)
        if block.unknown is not None and precomputed.is_flat:
            on += block.unknown.t_dot(shares).T * precomputed.probs
        elif block.unknown is not None:
            indptr, indices = block.unknown.lists()
            by_cell = rows_of(indptr)
            for k in range(self.n_components):
                chances = unknown_chances(block, precomputed, k, shares[:, k]) * shares[by_cell, k]
                on[k] += np.bincount(indices, weights=chances, minlength=block.n_columns)
        return TreeStats(shares.sum(axis=0), on, float(log_sums @ weights)), None

    def objective(self, precomputed: TreePrecomputed, stats: TreeStats) -> float:
        """Log-likelihood plus log prior (up to a constant)."""
        if self.smoothing == 0:
            return stats.log_likelihood
        nothing = np.zeros(precomputed.slope.shape)
        parents, on_given = precomputed.params.parents, precomputed.params.on_given
        return stats.log_likelihood + sum(
            self._score(parents[k], on_given[k], nothing[k], nothing[k], 0.0) for k in range(self.n_components)
        )

    def _priors(self, parents: Any) -> tuple[Float, Float]:
        """P(1 | parent is 0) and P(1 | parent is 1) (D,) that the tables of a tree are drawn toward."""
        own, above = self.target, self.target[parents]
        both = own * above if self.pooled is None else self.space.at(self.pooled, parents)
        is_root = parents == np.arange(len(parents))
        zero, one = np.where(is_root, own, (own - both) / (1.0 - above)), np.where(is_root, own, both / above)
        return np.clip(zero, EDGE, 1 - EDGE), np.clip(one, EDGE, 1 - EDGE)

    def _counts(self, parents: Any, both: Float, on: Float, total: float) -> tuple[Any, Any]:
        """Weights of ones and of rows (2, D) behind the tables of a tree, for a parent of 0 and of 1, with the prior.

        Roots have all rows in both, halved.
        """
        is_root = parents == np.arange(len(parents))
        above = on[parents]
        ones = np.where(is_root, 0.5 * on, np.stack((on - both, both)))
        rows = np.where(is_root, 0.5 * total, np.stack((total - above, above)))
        prior = np.stack(self._priors(parents))
        strength = np.full(rows.shape, self.smoothing)
        if self.pooled is not None:  # pseudo-rows have ones above as often as the table
            chance = self.target[parents]
            strength *= np.where(is_root, 0.5, np.stack((1.0 - chance, chance)))
        return np.maximum(ones, 0.0) + strength * prior, np.maximum(rows, 0.0) + strength

    def _score(self, parents: Any, on_given: Float, both: Float, on: Float, total: float) -> float:
        """Expected log-likelihood of a class under a tree, plus the log prior."""
        ones, rows = self._counts(parents, both, on, total)
        return float((ones * np.log(on_given.T) + (rows - ones) * np.log1p(-on_given.T)).sum())

    def tables(self, parents: Any, both: Float, on: Float, total: float) -> Float:
        """P(1 | parent) (D, 2) of a tree, from the weight of rows in which a column and its parent are one, each is one,
        of all."""
        ones, rows = self._counts(parents, both, on, total)
        is_root = parents == np.arange(len(parents))
        ones, rows = np.where(is_root, ones.sum(axis=0), ones), np.where(is_root, rows.sum(axis=0), rows)
        # A class that has seen (almost) nothing takes the marginals.
        known = rows > 1e-14 * self.total_weight
        tables = np.where(known, ones / np.where(known, rows, 1.0), self.target)
        return np.ascontiguousarray(np.clip(tables.T, EDGE, 1 - EDGE))

    def m_step(self, params: TreeParams, stats: TreeStats, extra_pass: ExtraPass) -> TreeParams:
        """New weights, trees and tables."""
        weights = floored_weights(stats.mass)
        n_columns = stats.on.shape[1]
        if not self.grows or n_columns == 1:
            roots, nothing = np.arange(n_columns, dtype=np.int32), np.zeros(n_columns)
            tables = [self.tables(roots, nothing, on, total) for on, total in zip(stats.on, stats.mass)]
            return TreeParams(weights, np.tile(roots, (self.n_components, 1)), np.array(tables))
        precomputed = self.precompute(params)
        grown = self._shared_trees if self.shared_tree else self._own_trees
        return TreeParams(weights, *grown(precomputed, stats, extra_pass))

    def _own_trees(self, precomputed: Any, stats: TreeStats, extra_pass: ExtraPass) -> tuple[Any, Float]:
        """For every class its tree (K, D), and the tables (K, D, 2)."""
        parents, tables = precomputed.params.parents.copy(), np.empty_like(precomputed.params.on_given)
        for classes in self._some_classes():
            counts = extra_pass(PairSums(self, self.space, classes), precomputed)
            for k, both in zip(classes, counts):
                on, total = stats.on[k], float(stats.mass[k])
                parents[k], tables[k] = self._better([self._tree(both, on, total), parents[k]], both, on, total)
        return parents, tables

    def _better(self, trees: list[Any], both: Float, on: Float, total: float) -> tuple[Any, Float]:
        """Of several trees the one under which a class is most probable, and its tables.

        The tree of the pass before stands beside the new one: the prior of a single class depends on the direction of
        edges, so that the tree of the most information need not be the better one, and the objective could fall.
        """
        found = []
        for parents in trees:
            edges = self.space.at(both, parents)
            tables = self.tables(parents, edges, on, total)
            found.append((self._score(parents, tables, edges, on, total), parents, tables))
        best = max(found, key=lambda one: one[0])
        return best[1], best[2]

    def _tree(self, both: Float, on: Float, total: float) -> Any:
        """The tree of the most information, see ``_information``."""
        if self.pooled is None:
            return self.space.tree_of(both, on, total, self.smoothing)
        c = self.smoothing
        return self.space.tree_of(both, on + c * self.target, total + c, others=self.pooled, share=c)

    def _information(self, both: Float, on: Float, total: float) -> Float:
        """Mutual information of all pairs of a class, with its pseudo-rows; of one class drawn toward none where a value
        is rare."""
        if self.pooled is None:
            return self.space.information(both, on, total, self.smoothing)
        c = self.smoothing
        return self.space.information(both + c * self.pooled, on + c * self.target, total + c)

    def _shared_trees(self, precomputed: Any, stats: TreeStats, extra_pass: ExtraPass) -> tuple[Any, Float]:
        """The same with one tree for all classes, of the most information in sum."""
        information, before = self.space.zeros(), precomputed.params.parents[0]
        for classes in self._some_classes():
            counts = extra_pass(PairSums(self, self.space, classes), precomputed)
            for k, both in zip(classes, counts):
                information += self._information(both, stats.on[k], float(stats.mass[k]))
        found = []
        for tree in (self.space.tree(information), before):
            edges = edges_of(tree)
            counts = extra_pass(PairSums(self, edges, range(self.n_components)), precomputed)
            value, tables = 0.0, []
            for both, on, total in zip(counts, stats.on, stats.mass):
                pairs = edges.at(both, tree)
                tables.append(self.tables(tree, pairs, on, total))
                value += self._score(tree, tables[-1], pairs, on, total)
            found.append((value, tree, tables))
        _, tree, tables = max(found, key=lambda one: one[0])
        return np.tile(tree, (self.n_components, 1)), np.array(tables)

    def _some_classes(self) -> list[range]:
        """Classes whose pair counts are held at a time."""
        step = max(1, MOST_NUMBERS // math.prod(self.space.shape))
        return [range(k, min(k + step, self.n_components)) for k in range(0, self.n_components, step)]

    def reseed_empty(self, params: TreeParams, stats: TreeStats, extra_pass: ExtraPass) -> TreeParams | None:
        """Seed a starved class at the worst explained row, without a tree."""
        starved, least = int(np.argmin(stats.mass)), STARVED / self.n_components
        if stats.mass[starved] >= least * self.total_weight or self.n_components == 1 or self.shared_tree:
            return None
        worst = extra_pass(WorstRow(self.answer_model()), self.precompute(params))
        profile = seeded_profile(worst.payload, self.target)
        weights, parents, on_given = (part.copy() for part in params)
        parents[starved] = np.arange(parents.shape[1])
        on_given[starved], weights[starved] = profile[:, None], least
        return TreeParams(weights / weights.sum(), parents, on_given)

    def sort_components(self, params: TreeParams) -> TreeParams:
        """Classes by decreasing weight."""
        order = np.argsort(-params.weights, kind="stable")
        return TreeParams(*(part[order] for part in params))

    def restart_summary(self, params: TreeParams) -> Float | None:
        """Every start as one vector, if they are to be averaged."""
        if not self.keep_all:
            return None
        return np.concatenate((params.weights, params.parents.ravel(), params.on_given.ravel()))

    def misfit(self, params: TreeParams) -> str | None:
        """What is wrong with trees from a file."""
        try:
            for parents in params.parents:
                depths(parents)
        except ValueError:
            return "must hold trees; one of them goes in a circle"
        return None

    # Answers.

    def log_prob(self, block: Block, precomputed: TreePrecomputed) -> Float:
        """log p(known cells of the row) (n,)."""
        return self.shares(block, precomputed)[1]

    def memberships(self, block: Block, precomputed: TreePrecomputed) -> Float:
        """Class probabilities (n, K)."""
        return self.shares(block, precomputed)[0]

    def represent(self, block: Block, precomputed: TreePrecomputed) -> Float:
        """Rows as users see them: their class memberships (n, K)."""
        return self.memberships(block, precomputed)

    def predict_cells(self, block: Block, precomputed: TreePrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D); of a known cell given the others, in the classes of the row."""
        return weighed_predictions(block, precomputed, self.memberships(block, precomputed))

    def predict_cells_at(self, block: Block, precomputed: TreePrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        return weighed_cells(block, precomputed, self.memberships, rows, columns)

    def sample_cells(
        self, block: Block, precomputed: TreePrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: a class for every row, then its cells from the tops of the tree down."""
        classes = chosen_classes(self.memberships(block, precomputed), by_row)
        return drawn_cells(block, precomputed, classes, rows, columns, by_row, by_cell)

    def causes(self, block: Block, precomputed: TreePrecomputed, rows: Any, columns: Any) -> Causes:
        """Shares, evidence, leave-one-out probability, and the neighbour that argues most for the value of the cell."""
        codes = block.at(rows, columns)
        alone = block.take(rows).hide(np.arange(len(rows)), columns)
        rest = self.shares(alone, precomputed)[0]
        on = chances_of_hidden(alone, precomputed, columns)
        cell = np.where((codes == ONE)[:, None], on, 1.0 - on)
        cell[codes == UNKNOWN] = 1.0
        share, evidence = shares_and_evidence(rest, cell, np.log(cell))
        chance = np.einsum("mk,mk->m", rest, on)
        partner, argued = arguing_neighbours(alone, precomputed, share.argmax(axis=1), columns, codes, chance)
        return Causes(share, evidence, chance, partner=partner, partner_evidence=argued)

    def sample_rows(self, params: TreeParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their classes (n,)."""
        classes = rng.choice(len(params.weights), size=n, p=params.weights)
        uniforms = rng.random((n, params.parents.shape[1]))
        cells = np.empty(uniforms.shape, np.uint8)
        for k in range(len(params.weights)):
            mine, parents = np.flatnonzero(classes == k), params.parents[k]
            drawn = np.zeros((len(mine), len(parents)), np.uint8)
            for d in downward(parents):
                drawn[:, d] = uniforms[mine, d] < params.on_given[k, d][drawn[:, parents[d]]]
            cells[mine] = drawn
        return cells, classes

    def n_free(self, params: TreeParams) -> int:
        """Free parameters: K - 1 weights, one number for every root, two for every other column."""
        n_roots = int((params.parents == np.arange(params.parents.shape[1])).sum())
        return self.n_components - 1 + 2 * params.parents.size - n_roots
