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
from ..data.block import ONE, UNKNOWN, Block, Float, TileMarks
from ..data.rng import content_uniforms
from ..engine.protocols import Causes, ExtraPass, StagedModel
from ..maths.latent_class import chosen_classes, floored_weights, shares_and_evidence
from ..maths.profiles import EDGE, STARVED, WorstRow, seeded_profile
from .forest import depths, downward, marginals_of
from .pairs import Joined, PairSpace, joined, marked_ones

# Numbers that pair counts of several classes may take at a time, and cells of rows for which all cells are predicted at
# a time.
MOST_NUMBERS, MOST_CELLS = 2**23, 2**20


class TreeParams(NamedTuple):
    """Class weights, trees, and P(1 | parent is 0, 1); that of roots twice the same."""

    weights: Annotated[Float, of.weights("K")]
    parents: Annotated[Any, of.places("K", "D", below="D", dtype="int32")]
    on_given: Annotated[Float, of.chances("K", "D", "2")]


class TreeStats(NamedTuple):
    """Sums over rows."""

    mass: Float  # (K,) responsibility of every class
    on: Float  # (K, D) responsibility at ones, unknown cells by their chance
    log_likelihood: float


class TreePrecomputed(NamedTuple):
    """Parameters in the form that blocks need; see ``kernels.py``."""

    base: Float  # (K,) log weight plus the log probability of a row of zeros
    slope: Float  # (K, D)
    bond: Float  # (K, D)
    parents: Any  # (K, D)
    wide: tuple[Float, Float, Any]  # slope, bond, parents as (D * K,)
    probs: Float  # (K, D) P(1 | class)
    params: TreeParams


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
        if block.unknown is not None:
            tables = precomputed.slope, precomputed.bond, precomputed.parents
            add_piece_scores(*ones, *block.unknown.lists(), *tables, out)
        return out

    def e_step(self, block: Block, rows: None, precomputed: TreePrecomputed) -> tuple[TreeStats, None]:
        """Responsibilities of a block and their sums."""
        shares, log_sums = self.shares(block, precomputed)
        weights = block.row_weights()
        shares *= weights[:, None]
        on = np.ascontiguousarray(block.ones.t_dot(shares).T)
        if block.unknown is not None:
            indptr, indices = block.unknown.lists()
            by_cell = np.repeat(np.arange(block.n_rows), np.diff(indptr))
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
                parents[k], tables[k] = self._better(
                    [self.space.tree(self._information(both, on, total)), parents[k]], both, on, total
                )
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
            edges = _edges_of(tree)
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


def precomputed_trees(params: TreeParams) -> TreePrecomputed:
    """Trees in the form that blocks need."""
    parents, columns = params.parents, np.arange(params.parents.shape[1])
    log_on, log_off = np.log(params.on_given), np.log1p(-params.on_given)
    is_root = parents == columns
    slope = log_on[:, :, 0] - log_off[:, :, 0]
    bond = np.where(is_root, 0.0, log_on[:, :, 1] - log_off[:, :, 1] - slope)
    lost = np.where(is_root, 0.0, log_off[:, :, 1] - log_off[:, :, 0])  # by a zero whose parent becomes one
    slope = slope + np.array([np.bincount(up, weights=loss, minlength=len(columns)) for up, loss in zip(parents, lost)])
    base = np.log(params.weights) + log_off[:, :, 0].sum(axis=1)
    probs = np.array([marginals_of(up, given) for up, given in zip(parents, params.on_given)])
    slope, bond, parents = (np.ascontiguousarray(part) for part in (slope, bond, parents.astype(np.int32)))
    wide = tuple(np.ascontiguousarray(part.T).ravel() for part in (slope, bond, parents))
    return TreePrecomputed(base, slope, bond, parents, wide, probs, params)  # type: ignore[arg-type]


def _edges_of(tree: Any) -> PairSpace:
    """The edges of a tree as candidates."""
    n_columns, columns = len(tree), np.arange(len(tree))
    low, high = np.minimum(columns, tree).astype(np.int64), np.maximum(columns, tree).astype(np.int64)
    keys = np.unique((low * n_columns + high)[low != high])
    return PairSpace(n_columns, keys // n_columns, keys % n_columns)


def unknown_chances(block: Block, precomputed: TreePrecomputed, k: int, shares: Float | None = None) -> Float:
    """P(1 | known cells of the row, class) of the unknown cells of a block, one after the other; 0 in rows without a
    share."""
    from .kernels import expect_unknown

    unknown = block.unknown_lists()
    out = np.empty(len(unknown[1]))
    tables = precomputed.slope[k], precomputed.bond[k], precomputed.parents[k]
    shares = np.ones(block.n_rows) if shares is None else np.ascontiguousarray(shares)
    expect_unknown(*block.ones.lists(), *unknown, *tables, shares, out)
    return out


class PairSums:
    """Expected weight (classes, pairs) of rows of a block in which both columns of a pair are one."""

    def __init__(self, model: TreeModel, space: PairSpace, classes: range) -> None:
        # Only what blocks need: the pooled pairs stay where they are.
        self.model, self.space, self.classes = model.answer_model(), space, classes

    def __call__(self, block: Block, rows: None, precomputed: TreePrecomputed) -> Float:
        shares = self.model.shares(block, precomputed)[0] * block.row_weights()[:, None]
        out = np.zeros((len(self.classes), *self.space.shape))
        held = None if block.unknown is None else joined(block)
        for k, counts in zip(self.classes, out):
            self._add(block, held, precomputed, k, np.ascontiguousarray(shares[:, k]), counts)
        return out

    def _add(self, block: Block, held: Joined | None, precomputed: Any, k: int, shares: Float, out: Float) -> None:
        """Add the pairs of one class to ``out``."""
        if held is None:
            chances = np.empty(0)
        else:
            chances = unknown_chances(block, precomputed, k, shares)
            held.marks.values[held.unknown] = chances
        if self.space.is_whole and isinstance(block.ones, TileMarks):
            add_dense_pairs(block, chances, shares, out)
        else:
            self.space.add_counts(marked_ones(block) if held is None else held.marks, shares, out)
        if held is not None:
            add_piece_counts(self.space, block, precomputed, k, shares, out)


def add_dense_pairs(block: Block, chances: Float, shares: Float, out: Float) -> None:
    """Add to ``out`` (D, D) the products of all cells of every row times its share."""
    rows = np.flatnonzero(shares > 1e-14)
    step = max(1, MOST_CELLS // block.n_columns)
    by_cell = None if block.unknown is None else np.repeat(np.arange(block.n_rows), block.unknown.row_counts())
    for low in range(0, len(rows), step):
        some = rows[low : low + step]
        cells = block.ones.take(some).dense().astype(np.float64)
        if block.unknown is not None:
            place = np.full(block.n_rows, -1)
            place[some] = np.arange(len(some))
            asked = np.flatnonzero(place[by_cell] >= 0)
            cells[place[by_cell[asked]], block.unknown.lists()[1][asked]] = chances[asked]  # type: ignore[index]
        out += (cells * shares[some, None]).T @ cells


def add_piece_counts(space: PairSpace, block: Block, precomputed: Any, k: int, shares: Float, out: Float) -> None:
    """Add the covariances of unknown cells, times the shares of their rows, to ``out``."""
    from .kernels import add_piece_pairs

    assert block.unknown is not None
    if out.size == 0:  # no candidates: to the kernel no keys mean all pairs
        return
    keys = np.empty(0, np.int64) if space.is_whole else space.first * space.n_columns + space.second
    tables = precomputed.slope[k], precomputed.bond[k], precomputed.parents[k]
    add_piece_pairs(*block.ones.lists(), *block.unknown.lists(), *tables, shares, keys, out.reshape(-1))


# Answers of several trees, weighed by row.


def weighed_predictions(block: Block, precomputed: TreePrecomputed, shares: Float) -> Float:
    """P(cell = 1) (n, D) by all classes, each weighing its share (n, K) of the row."""
    from .kernels import add_predictions

    out, lists = np.zeros((block.n_rows, block.n_columns)), (*block.ones.lists(), *block.unknown_lists())
    for k in range(shares.shape[1]):
        tables = precomputed.slope[k], precomputed.bond[k], precomputed.parents[k]
        add_predictions(*lists, *tables, np.ascontiguousarray(shares[:, k]), out)
    return np.clip(out, 0.0, 1.0)


def weighed_cells(block: Block, precomputed: TreePrecomputed, shares_of: Any, rows: Any, columns: Any) -> Float:
    """The same for single cells (m,); ``shares_of(block, precomputed)`` tells what classes weigh."""
    out = np.empty(len(rows))
    asked, inverse = np.unique(rows, return_inverse=True)
    step = max(1, MOST_CELLS // max(1, block.n_columns))
    order = np.argsort(inverse, kind="stable")
    bounds = np.searchsorted(inverse[order], np.arange(0, len(asked) + step, step))
    for place, low in enumerate(range(0, len(asked), step)):
        part = block.take(asked[low : low + step])
        cells = order[bounds[place] : bounds[place + 1]]
        shares, within = shares_of(part, precomputed), inverse[cells] - low
        if part.unknown is not None and (part.at(within, columns[cells]) == UNKNOWN).all():
            out[cells] = _unknown_at(part, precomputed, shares, within, columns[cells])
        else:
            out[cells] = weighed_predictions(part, precomputed, shares)[within, columns[cells]]
    return out


def _unknown_at(block: Block, precomputed: TreePrecomputed, shares: Float, rows: Any, columns: Any) -> Float:
    """P(1) of cells that are unknown (m,)."""
    assert block.unknown is not None
    places, by_cell = _places_of_unknown(block, rows, columns)
    out = np.zeros(len(rows))
    for k in range(shares.shape[1]):
        out += unknown_chances(block, precomputed, k, shares[:, k])[places] * shares[by_cell[places], k]
    return np.clip(out, 0.0, 1.0)


def _places_of_unknown(block: Block, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Where cells (m,) stand in the list of unknown cells of a block, and the row of each of that list."""
    indptr, indices = block.unknown_lists()
    by_cell = np.repeat(np.arange(block.n_rows), np.diff(indptr))
    return np.searchsorted(by_cell * block.n_columns + indices, rows * block.n_columns + columns), by_cell


def chances_of_hidden(block: Block, precomputed: TreePrecomputed, columns: Any) -> Float:
    """P(1 | rest of the row, class) (n, K) of one unknown cell of every row."""
    places, _ = _places_of_unknown(block, np.arange(block.n_rows), columns)
    return np.stack([unknown_chances(block, precomputed, k)[places] for k in range(len(precomputed.base))], axis=1)


def drawn_cells(
    block: Block, precomputed: TreePrecomputed, classes: Any, rows: Any, columns: Any, by_row: Float, by_cell: Float
) -> Any:
    """A joint draw of single cells (m,), each row in its class; unknown cells that nobody asks for are drawn along."""
    from .kernels import draw_unknown

    out, is_blank = np.empty(len(rows), np.bool_), block.at(rows, columns) == UNKNOWN
    if is_blank.any():
        assert block.unknown is not None
        indptr, indices = block.unknown.lists()
        places, all_rows = _places_of_unknown(block, rows[is_blank], columns[is_blank])
        if len(np.unique(places)) == len(indices):  # nobody is left to be drawn along
            uniforms = np.empty(len(indices))
        else:
            uniforms = content_uniforms((by_row * 2.0**53).astype(np.uint64), block.n_columns, 0, "fill")[
                all_rows, indices
            ]
        uniforms[places] = by_cell[is_blank]
        drawn = np.empty(len(indices), np.bool_)
        tables = precomputed.slope, precomputed.bond, precomputed.parents
        draw_unknown(*block.ones.lists(), indptr, indices, *tables, classes.astype(np.int64), uniforms, drawn)
        out[is_blank] = drawn[places]
    known = ~is_blank
    if known.any():
        certain = np.zeros((block.n_rows, len(precomputed.base)))
        certain[np.arange(block.n_rows), classes] = 1.0
        chances = weighed_predictions(block, precomputed, certain)[rows[known], columns[known]]
        out[known] = by_cell[known] < chances
    return out


def arguing_neighbours(
    block: Block, precomputed: TreePrecomputed, classes: Any, columns: Any, codes: Any, chance: Float
) -> tuple[Any, Float]:
    """Of cells (m,), hidden in rows of their own, the tree neighbour that argues most for their value, and how much.

    Unknown cells are taken for what they probably are.
    """
    from .kernels import strongest_neighbours

    values = np.where(codes == UNKNOWN, chance >= 0.5, codes == ONE).astype(np.int64)
    partner, argued = np.empty(len(columns), np.int64), np.empty(len(columns))
    on_given = np.array(precomputed.params.on_given, order="C")  # those of files cannot be written: a kind of their own
    tables = (precomputed.parents, *children_of(precomputed.parents), on_given, precomputed.probs)
    places = classes.astype(np.int64), np.array(columns, np.int64), values
    strongest_neighbours(*places, *block.ones.lists(), *block.unknown_lists(), tables, partner, argued)
    return partner, argued


def children_of(parents: Any) -> tuple[Any, Any]:
    """Where the children of every column begin (K, D + 1), and the children (K, D); roots are no children."""
    n_columns = parents.shape[1]
    starts, children = np.zeros((len(parents), n_columns + 1), np.int64), np.zeros(parents.shape, np.int64)
    for k, above in enumerate(parents):
        below = np.flatnonzero(above != np.arange(n_columns))
        order = below[np.argsort(above[below], kind="stable")]
        starts[k, 1:] = np.cumsum(np.bincount(above[below], minlength=n_columns))
        children[k, : len(order)] = order
    return starts, children
