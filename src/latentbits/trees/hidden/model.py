"""Tree of hidden states by EM.

Story: every column has a hidden state of its own, and the states hang together as a tree: the state of a column is drawn
given the state of its parent, and its cell given its state.  So causes are local: a column shares most with its neighbours
in the tree.  The tree is that of Chow and Liu, of the pairs of the whole table.  Unknown cells are summed out.

===================  ================================================  ==========================================
symbol               name here                                         where
===================  ================================================  ==========================================
M                    ``n_components``, states of a column
pa(d)                ``parents`` (D,), roots their own                 Liu & Van den Broeck, section 5
A_d                  ``moves`` (D, M, M), P(z_d | z_pa(d))             spec, section 3
p_d                  ``probs`` (D, M), P(x_d = 1 | z_d)                spec, section 3
ξ_d                  ``HiddenStats.moves``, expected pairs of states   spec, section 3
c                    ``smoothing``                                     spec, section 3
===================  ================================================  ==========================================

The fit maximises log p(X) + log prior: every line of ``moves`` has a Dirichlet(1 + c/M) prior, every P(1 | state) a Beta
prior of c rows' worth of data at the column's marginal.  A. Liu, G. Van den Broeck, *Tractable Regularization of
Probabilistic Circuits*, NeurIPS 2021.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ... import declared as of
from ...data.block import ONE, UNKNOWN, Block, Float
from ...engine.protocols import Causes, ExtraPass, Model
from ...maths.latent_class import shares_and_evidence
from ...maths.profiles import EDGE
from ..forest import depths, downward
from ..messages import arguing_neighbours
from ..params import precomputed_trees
from .messages import all_chances, chances_at, drawn_at, heard, root_states
from .params import HiddenParams, HiddenPrecomputed, implied_tree, main_root, precomputed_states, state_shares


class HiddenStats(NamedTuple):
    """Sums over rows.  Of single blocks without what columns above zeros add, see ``finalize_stats``."""

    moves: Annotated[Float, of.amounts("D", "K", "K")]  # states of a parent and a column; roots in their first line
    on: Annotated[Float, of.amounts("D", "K")]  # states at ones
    unknown: Annotated[Float, of.amounts("D", "K")]  # states at unknown cells
    total: Annotated[Float, of.amounts("D", "K")]  # states in all rows
    weight: of.Amount
    log_likelihood: float


@dataclass(frozen=True)
class HiddenTreeModel(Model):
    """The maths; ``target`` (D,) are the marginals."""

    params_type: ClassVar[Any] = HiddenParams

    n_components: of.Size
    target: Annotated[Float, of.chances("D")] = field(default_factory=lambda: np.empty(0))
    smoothing: of.Amount = 1.0
    total_weight: of.Amount = 1.0
    keep_all: bool = False  # every start is kept, to be averaged

    def precompute(self, params: HiddenParams) -> HiddenPrecomputed:
        """Messages of zeros, once per pass."""
        return precomputed_states(params)

    def precompute_single(self, params: HiddenParams) -> HiddenPrecomputed:
        """The same for messages in float32."""
        return precomputed_states(params, np.float32)

    # Fitting.

    def e_step(self, block: Block, rows: None, precomputed: HiddenPrecomputed) -> tuple[HiddenStats, None]:
        """Expected states of a block, where columns are not above zeros only."""
        from .kernels import send_down, sum_cells

        weights, shape = block.row_weights(), precomputed.moves.shape
        moves, on, unknown = np.zeros(shape), np.zeros(shape[:2]), np.zeros(shape[:2])
        log_likelihood = 0.0
        for part in heard(block, precomputed):
            mine = weights[part.rows]
            log_likelihood += float(part.scores @ mine)
            down = precomputed.order, precomputed.moves, mine.astype(precomputed.moves.dtype)
            send_down(part.stops, *down, part.upward, part.message, part.spare, moves)
            sum_cells(part.stops, mine, part.spare, on, unknown)
        return HiddenStats(moves, on, unknown, np.zeros(shape[:2]), float(weights.sum()), log_likelihood), None

    e_step_single = e_step

    def finalize_stats(self, precomputed: HiddenPrecomputed, stats: HiddenStats) -> HiddenStats:
        """The statistics with the states above zeros, which are the same function of the state above in all rows."""
        from .kernels import add_zeros

        moves, total = stats.moves.copy(), np.zeros(stats.total.shape)
        total[precomputed.roots, 0] = stats.weight
        tables = np.asarray(precomputed.moves, np.float64)
        add_zeros(precomputed.order, precomputed.parents, tables, precomputed.conditional, total, moves)
        return stats._replace(moves=moves, total=total)

    def objective(self, precomputed: HiddenPrecomputed, stats: HiddenStats) -> float:
        """Log-likelihood plus log prior (up to a constant)."""
        _, moves, probs = precomputed.params
        share = self.smoothing / self.n_components
        lines = np.log(moves).sum(axis=2)
        lines[precomputed.roots, 1:] = 0.0  # all lines of a root are one
        prior = self.target[:, None] * np.log(probs) + (1.0 - self.target)[:, None] * np.log1p(-probs)
        return float(stats.log_likelihood + share * lines.sum() + self.smoothing * prior.sum())

    def m_step(self, params: HiddenParams, stats: HiddenStats, extra_pass: ExtraPass) -> HiddenParams:
        """New tables of states and of cells."""
        roots = np.flatnonzero(params.parents == np.arange(len(params.parents)))
        moves = stats.moves + self.smoothing / self.n_components
        moves[roots] = moves[roots, :1]
        known = np.maximum(stats.total - stats.unknown, 0.0) + self.smoothing
        ones = stats.on + self.smoothing * self.target[:, None]
        seen = known > 1e-14 * max(stats.weight, 1.0)  # a state that has seen (almost) nothing takes the marginal
        probs = np.where(seen, ones / np.where(seen, known, 1.0), self.target[:, None])
        return HiddenParams(params.parents, lines_of(moves), np.clip(probs, EDGE, 1 - EDGE))

    def expected_stats(self, params: HiddenParams) -> HiddenStats:
        """The sums per unit of weight of a table that these parameters fit."""
        shares, at_root = state_shares(params), params.parents == np.arange(len(params.parents))
        moves = shares[params.parents][:, :, None] * params.moves
        moves[at_root, 0], moves[at_root, 1:] = shares[at_root], 0.0
        return HiddenStats(moves, shares * params.probs, np.zeros(shares.shape), shares, 1.0, 0.0)

    def sort_components(self, params: HiddenParams) -> HiddenParams:
        """States of the main root by decreasing weight, those of other columns by increasing P(1)."""
        parents, moves, probs = params
        order = np.argsort(probs, axis=1, kind="stable")
        root = main_root(parents)
        order[root] = np.argsort(-moves[root, 0], kind="stable")
        columns = np.arange(len(parents))
        above = np.where((parents == columns)[:, None], np.arange(self.n_components), order[parents])
        sorted_moves = moves[columns[:, None, None], above[:, :, None], order[:, None, :]]
        return HiddenParams(parents, sorted_moves, np.take_along_axis(probs, order, axis=1))

    def to_vector(self, params: HiddenParams) -> Float:
        """Logs of moves, logits of chances."""
        logits = np.log(params.probs) - np.log1p(-params.probs)
        return np.concatenate((np.log(params.moves).ravel(), logits.ravel()))

    def from_vector(self, vector: Float, like: HiddenParams) -> HiddenParams:
        """Tables of logs and logits."""
        logs, logits = np.split(vector, [like.moves.size])
        logs = logs.reshape(like.moves.shape)
        probs = 1.0 / (1.0 + np.exp(-np.clip(logits.reshape(like.probs.shape), -700, 700)))
        moves = lines_of(np.exp(logs - logs.max(axis=2, keepdims=True)))
        return HiddenParams(like.parents, moves, np.clip(probs, EDGE, 1 - EDGE))

    def restart_summary(self, params: HiddenParams) -> Float | None:
        """Every start as one vector, if they are to be averaged."""
        return np.concatenate((params.moves.ravel(), params.probs.ravel())) if self.keep_all else None

    def misfit(self, params: HiddenParams) -> str | None:
        """What is wrong with trees from a file."""
        try:
            depths(params.parents)
        except ValueError:
            return "must hold a tree; it goes in a circle"
        if np.abs(params.moves.sum(axis=2) - 1.0).max(initial=0.0) > 1e-6:
            return "must hold shares that sum to one"
        return None if params.moves.min(initial=1.0) > 0.5 * EDGE else f"must hold shares of {EDGE:g} or more"

    # Answers.

    def log_prob(self, block: Block, precomputed: HiddenPrecomputed) -> Float:
        """log p(known cells of the row) (n,)."""
        return np.concatenate([np.empty(0), *(part.scores for part in heard(block, precomputed))])

    def memberships(self, block: Block, precomputed: HiddenPrecomputed) -> Float:
        """P(state of the root | row) (n, M)."""
        return root_states(block, precomputed, main_root(precomputed.parents))

    def represent(self, block: Block, precomputed: HiddenPrecomputed) -> Float:
        """Rows as users see them: the states of the root (n, M)."""
        return self.memberships(block, precomputed)

    def predict_cells(self, block: Block, precomputed: HiddenPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D); known cells as they would be drawn anew from the same states."""
        return all_chances(block, precomputed)

    def predict_cells_at(self, block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        return chances_at(block, precomputed, rows, columns)

    def sample_cells(
        self, block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: hidden states from the root down, then the cells."""
        return drawn_at(block, precomputed, rows, columns, by_row, by_cell)

    def causes(self, block: Block, precomputed: HiddenPrecomputed, rows: Any, columns: Any) -> Causes:
        """Shares of the root's states, evidence, leave-one-out probability, and the neighbour that argues most."""
        codes, places = block.at(rows, columns), np.arange(len(rows))
        with_cell = block.take(rows)
        alone = with_cell.hide(places, columns)
        rest, both = self.memberships(alone, precomputed), self.memberships(with_cell, precomputed)
        chance = chances_at(alone, precomputed, places, columns)
        # P(cell | state of the root, rest), by what the cell changes.
        cell = both / np.maximum(rest, np.finfo(float).tiny) * np.where(codes == ONE, chance, 1.0 - chance)[:, None]
        cell = np.clip(cell, np.finfo(float).tiny, 1.0)
        cell[codes == UNKNOWN] = 1.0
        share, evidence = shares_and_evidence(rest, cell, np.log(cell))
        pairs = precomputed_trees(implied_tree(precomputed.params))
        partner, argued = arguing_neighbours(alone, pairs, np.zeros(len(rows), np.int64), columns, codes, chance)
        return Causes(share, evidence, chance, partner=partner, partner_evidence=argued)

    def sample_rows(self, params: HiddenParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and the states of the root (n,)."""
        parents, moves, probs = params
        cells, states = np.empty((n, len(parents)), np.uint8), np.zeros((n, len(parents)), np.int32)
        for d in downward(parents):
            above = np.zeros(n, np.int32) if parents[d] == d else states[:, parents[d]]
            ends = moves[d].cumsum(axis=1)[above]
            states[:, d] = np.minimum((rng.random(n)[:, None] >= ends).sum(axis=1), self.n_components - 1)
            cells[:, d] = rng.random(n) < probs[d, states[:, d]]
        return cells, states[:, main_root(parents)]

    def n_free(self, params: HiddenParams) -> int:
        """Free parameters: of every column M chances, of roots M - 1 weights, of others M (M - 1)."""
        n_columns, m = params.probs.shape
        n_roots = int((params.parents == np.arange(n_columns)).sum())
        return n_columns * m + (n_columns - n_roots) * m * (m - 1) + n_roots * (m - 1)


def lines_of(moves: Float) -> Float:
    """Lines (..., M) of weights as probabilities, none below 1e-9."""
    total = moves.sum(axis=-1, keepdims=True)
    shares = np.where(total > 0, moves / np.where(total > 0, total, 1.0), 1.0 / moves.shape[-1])
    shares = np.maximum(shares, EDGE)
    return shares / shares.sum(axis=-1, keepdims=True)
