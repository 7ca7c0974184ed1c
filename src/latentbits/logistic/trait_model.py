"""Latent trait model with Gaussian scores, by Tipping's variational EM (NIPS 1999).

===================  ==============================  ==========================================================
symbol               name here                       where
===================  ==============================  ==========================================================
ξ_nj                 made anew from the row state    where the bound of Jaakkola & Jordan touches
-2 λ(ξ)              ``bend``                        tanh(ξ/2) / (2 ξ), curvature of the bound
===================  ==============================  ==========================================================

log σ(z) >= log σ(ξ) + (z - ξ)/2 + λ(ξ) (z² - ξ²), so the posterior is Gaussian, and ξ, posterior and (v, b) have closed
forms, each raising the bound.  A pass looks at every cell, also of sparse tables: λ(ξ) is not zero at zeros.  ξ² is linear
in the moments of the scores, and so are the sums in λ(ξ), so that a pass is three products with all cells of a tile and
one walk over them; what depends on the data is summed over the ones.

The parabola lies far below log σ where the scores are uncertain, and the bound pays for it with loadings: traits that the
table has, but that its rows tell little about, vanish.  :mod:`.trait_gaussian` keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block, Float
from ..engine.protocols import ExtraPass
from .trait_answers import Tile, TraitAnswers, TraitParams, TraitPrecomputed


class TraitStats(NamedTuple):
    """Sums over rows."""

    bound: float
    equations: Float  # (D, K + 1, K + 2)


@dataclass(frozen=True)
class TraitModel(TraitAnswers):
    """The paper's bound."""

    def init_rows(self, block: Block, params: TraitParams, seed: int, restart: int) -> Float:
        """Scores of zero without spread: ξ then begins at |b|."""
        return np.zeros((block.n_rows, self.n_components * (self.n_components + 1)))

    def precompute_single(self, params: TraitParams) -> TraitPrecomputed:
        """The same with the products in float32."""
        double = self.precompute(params)
        return double._replace(squares=double.squares.astype(np.float32), bends=double.bends.astype(np.float32))

    def e_step_single(self, block: Block, rows: Float, precomputed: TraitPrecomputed) -> tuple[TraitStats, Float]:
        """The E-step with cells in float32; sums over rows in float64."""
        return self.e_step(block, rows, precomputed)

    def e_step(self, block: Block, rows: Float, precomputed: TraitPrecomputed) -> tuple[TraitStats, Float]:
        """Posteriors of the rows, the bound, and the normal equations of every column."""
        weights = block.row_weights()
        state, logs, sums = np.empty(rows.shape), np.empty(block.n_rows), 0.0
        for part, tile in self.tiles_of(block, precomputed):
            state[part], logs[part], bends = self._rounds(tile, precomputed, rows[part], self.n_rounds, 0.0)
            mine = weights[part, None].astype(bends.dtype) * self.moments_of(state[part]).astype(bends.dtype)
            sums = sums + (bends.T @ mine).astype(np.float64)
        return TraitStats(float(logs @ weights), self._equations(block, precomputed, state, sums)), state

    def _equations(self, block: Block, precomputed: TraitPrecomputed, state: Float, sums: Any) -> Float:
        """Normal equations of every column from curvatures times moments, ``sums`` (A, F)."""
        right = self.signed_sums(block, self.long_scores(block, state))
        return self.equations_of(sums, right[precomputed.varying], precomputed.varying, block.n_columns)

    def _rounds(
        self, tile: Tile, precomputed: TraitPrecomputed, rows: Float, most: int, tol: float
    ) -> tuple[Float, Float, Any]:
        """New row states and bounds (n,) of the rows of a tile, and the curvatures (n, A) at the last round.

        Every row takes up to ``most`` rounds (new ξ, then new posterior) until its bound gains less than ``tol``.
        """
        state, logs, kept = rows.copy(), np.full(len(rows), -np.inf), None
        going = np.arange(len(rows))
        for _ in range(most):
            mine = tile if len(going) == len(rows) else tile.take(going)
            new, values, bends = self._round(mine, precomputed, state[going])
            gained = values - logs[going]
            state[going], logs[going] = new, values
            kept = bends
            if tol > 0.0:
                going = going[gained >= tol]
                if not len(going):
                    break
        return state, logs, kept

    def _round(self, tile: Tile, precomputed: TraitPrecomputed, rows: Float) -> tuple[Float, Float, Any]:
        """One round: where the bound touches, and the posterior there."""
        from .trait_kernels import bend_rows, bend_rows_single, invert_rows, leave_out

        k, kind = self.n_components, precomputed.squares.dtype
        first, second = self.pairs
        offset = precomputed.offset[precomputed.varying]
        bends = self.moments_of(rows).astype(kind) @ precomputed.squares
        values = np.empty(len(rows))
        squares = bends.copy() if tile.unknown is not None else bends
        bend = bend_rows if kind == np.float64 else bend_rows_single
        bend(bends, offset.astype(kind), values)
        if tile.unknown is not None:
            leave_out(*tile.unknown, offset, squares, bends, values)
        sums = (bends @ precomputed.bends).astype(np.float64)
        n_pairs = len(first)
        matrices = np.empty((len(rows), k, k))
        matrices[:, first, second] = matrices[:, second, first] = sums[:, :n_pairs]
        matrices[:, range(k), range(k)] += 1.0
        new = np.empty_like(rows)
        rights = tile.added[:, :k] - sums[:, n_pairs:]
        means, covariances = np.empty((len(rows), k)), np.empty((len(rows), k, k))
        values += tile.added[:, k]
        invert_rows(matrices, rights, means, covariances, values)
        new[:, :k], new[:, k:] = means, covariances.reshape(len(rows), -1)
        return new, values, bends

    def settled(
        self, tile: Tile, precomputed: TraitPrecomputed, rows: Float, most: int, tol: float
    ) -> tuple[Float, Float]:
        """New row states and bounds of the rows of a tile."""
        return self._rounds(tile, precomputed, rows, most, tol)[:2]

    def objective(self, precomputed: TraitPrecomputed, stats: TraitStats) -> float:
        """The bound on the log-likelihood, less the ridge."""
        return stats.bound - 0.5 * self.ridge * self.size_of(precomputed.params)

    def m_step(self, params: TraitParams, stats: TraitStats, extra_pass: ExtraPass | None) -> TraitParams:
        """Loadings and offset of every column by weighted least squares."""
        return self.solved(stats.equations, params)
