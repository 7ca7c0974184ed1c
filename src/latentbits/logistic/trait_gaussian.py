"""Latent trait model with Gaussian scores, by the best bound that a Gaussian posterior gives.

log p(row) >= E log p(row | x) - KL(q | N(0, I)) with x ~ q = N(μ_n, C_n).  The log odds a of a cell are then Gaussian too,
with mean m = v_j'μ_n + b_j and variance s² = v_j'C_n v_j, and what a cell adds is

    E log σ(±a) = ± m / 2 - g(m, s²),    g(m, s²) = E log 2 cosh(a / 2)

which is taken by Gauss-Hermite quadrature (Challis & Barber 2013; Khan, Mohamed & Murphy 2010 give the same for factor
models).  The paper's parabola lies below it: here traits survive about which single rows tell little.

===================  ==============================  ==========================================================
symbol               name here                       where
===================  ==============================  ==========================================================
m, s²                ``middles``, ``variances``      (n, A), log odds of the cells of the A columns that vary
g                    ``logs``                        (n, A)
∂g/∂m                ``slopes``                      E σ(a) - 1/2
2 ∂g/∂s²             ``bends``                       E σ(a) (1 - σ(a))
===================  ==============================  ==========================================================

A round moves the posterior of a row to where slopes and bends put it: C = (I + Σ_j bend_j v_j v_j')⁻¹, a Newton step for μ.
That is a way up, so that half of it, or half of that, raises the bound where the whole does not.  The M-step is a Newton
step for every column; a column that would lose by it takes the step of the uniform curvature 1/4, which cannot lose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block, Float
from ..engine.protocols import ExtraPass
from .trait_answers import Tile, TraitAnswers, TraitParams, TraitPrecomputed

# Nodes of the quadrature: errors of 1e-9 at s = 1, 1e-5 at s = 2.
CELL_NODES = 15
_points, _weights = np.polynomial.hermite_e.hermegauss(CELL_NODES)
NODES = (_points, _weights / _weights.sum())
# Halvings of a row's step.
HALVINGS = 8
# A loss below this part of the value is rounding.
UNSEEN = 1e-12


class GaussianStats(NamedTuple):
    """Sums over rows."""

    bound: float
    equations: Float  # (D, K + 1, K + 2) of the Newton step
    right: Float  # (D, K + 1) weighted scores times cell less 1/2
    cells: Float  # (D,) of g
    moments: Float  # (K + 1, K + 1) second moments of the scores and 1


class Cells(NamedTuple):
    """Rows of a tile at a posterior."""

    values: Float  # (n,) bounds
    logs: Float  # (n, A)
    slopes: Float
    bends: Float

    def put(self, rows: Any, other: Cells) -> None:
        """Replace some rows, in place, by all of ``other``."""
        for mine, new in zip(self, other):
            mine[rows] = new

    def at(self, rows: Any) -> Cells:
        """The given rows."""
        return Cells(*(mine[rows] for mine in self))


@dataclass(frozen=True)
class GaussianTraitModel(TraitAnswers):
    """The bound of the best Gaussian."""

    def init_rows(self, block: Block, params: TraitParams, seed: int, restart: int) -> Float:
        """The prior."""
        k = self.n_components
        return np.tile(np.concatenate((np.zeros(k), np.eye(k).ravel())), (block.n_rows, 1))

    def e_step(self, block: Block, rows: Float, precomputed: TraitPrecomputed) -> tuple[GaussianStats, Float]:
        """Posteriors of the rows, the bound, and what the Newton steps of the columns need."""
        k, weights, varying = self.n_components, block.row_weights(), precomputed.varying
        first, second = self.pairs
        state, logs, sums = np.empty(rows.shape), np.empty(block.n_rows), np.zeros((len(varying), self._n_moments))
        changes, cells, totals = np.zeros((len(varying), k + 1)), np.zeros(block.n_columns), np.zeros(self._n_moments)
        for part, tile in self.tiles_of(block, precomputed):
            state[part], now = self._climbed(tile, precomputed, rows[part], self.n_rounds, 0.0)
            logs[part] = now.values
            mine = weights[part, None] * self.moments_of(state[part])
            sums += now.bends.T @ mine
            middles = self._middles(precomputed, state[part])
            changes += (now.bends * middles - now.slopes).T @ mine[:, -k - 1 :]
            cells[varying] += weights[part] @ now.logs
            totals += mine.sum(axis=0)
        right = self.signed_sums(block, self.long_scores(block, state))
        equations = self.equations_of(sums, right[varying] + changes, varying, block.n_columns)
        moments = np.zeros((k + 1, k + 1))
        moments[first, second] = moments[second, first] = totals[: len(first)]
        moments[k] = moments[:, k] = totals[-k - 1 :]
        return GaussianStats(float(logs @ weights), equations, right, cells, moments), state

    @property
    def _n_moments(self) -> int:
        """Second moments, once per pair, means and 1."""
        k = self.n_components
        return k * (k + 1) // 2 + k + 1

    def _middles(self, precomputed: TraitPrecomputed, state: Float) -> Float:
        """Means (n, A) of the log odds."""
        varying = precomputed.varying
        return np.asarray(state[:, : self.n_components] @ precomputed.loadings[varying].T + precomputed.offset[varying])

    def _variances(self, precomputed: TraitPrecomputed, state: Float) -> Float:
        """Variances (n, A) of the log odds."""
        k, (first, second) = self.n_components, self.pairs
        covariances = state[:, k:].reshape(-1, k, k)[:, first, second]
        return np.asarray(covariances @ precomputed.squares[: len(first)])

    def _cells(self, tile: Tile, precomputed: TraitPrecomputed, state: Float) -> Cells:
        """Rows at the given posteriors."""
        from .trait_kernels import add_divergences, expect_cells

        k = self.n_components
        slopes, bends = self._middles(precomputed, state), self._variances(precomputed, state)
        logs = np.empty(slopes.shape)
        expect_cells(*NODES, slopes.ravel(), bends.ravel(), logs.ravel())
        if tile.unknown is not None:
            indptr, indices = tile.unknown
            rows = np.repeat(np.arange(len(state)), np.diff(indptr))
            logs[rows, indices] = slopes[rows, indices] = bends[rows, indices] = 0.0
        means, covariances = np.ascontiguousarray(state[:, :k]), np.ascontiguousarray(state[:, k:])
        values = (tile.added[:, :k] * means).sum(axis=1) + tile.added[:, k] - logs.sum(axis=1)
        add_divergences(means, covariances.reshape(-1, k, k), values)
        return Cells(values, logs, slopes, bends)

    def _ahead(self, tile: Tile, precomputed: TraitPrecomputed, state: Float, now: Cells) -> Float:
        """The posteriors that slopes and bends ask for, in the layout of the row state."""
        from .trait_kernels import invert_rows

        k, (first, second) = self.n_components, self.pairs
        sums = now.bends @ precomputed.bends[:, : len(first)]
        matrices = np.empty((len(state), k, k))
        matrices[:, first, second] = matrices[:, second, first] = sums
        matrices[:, range(k), range(k)] += 1.0
        gradients = tile.added[:, :k] - now.slopes @ precomputed.loadings[precomputed.varying] - state[:, :k]
        moves, covariances = np.empty((len(state), k)), np.empty((len(state), k, k))
        invert_rows(matrices, gradients, moves, covariances, np.empty(len(state)))
        return np.hstack((state[:, :k] + moves, covariances.reshape(len(state), -1)))

    def _climbed(
        self, tile: Tile, precomputed: TraitPrecomputed, rows: Float, most: int, tol: float
    ) -> tuple[Float, Cells]:
        """New row states, and the cells there, after up to ``most`` rounds; rows that gain less than ``tol`` stop."""
        state = rows.astype(np.float64)
        cells = self._cells(tile, precomputed, state)
        going = np.arange(len(state))
        for _ in range(most):
            mine = tile if len(going) == len(state) else tile.take(going)
            before = cells.values[going]
            self._raise(mine, precomputed, going, state, cells)
            if tol > 0.0:
                going = going[cells.values[going] - before >= tol]
                if not len(going):
                    break
        return state, cells

    def _raise(self, tile: Tile, precomputed: TraitPrecomputed, rows: Any, state: Float, cells: Cells) -> None:
        """One round of the rows of a tile; replaces their part of ``state`` and ``cells``, in place."""
        here, now = state[rows], cells.at(rows) if len(rows) < len(state) else cells
        way = self._ahead(tile, precomputed, here, now) - here
        left, floor = np.arange(len(rows)), now.values - UNSEEN * (1.0 + np.abs(now.values))
        for halving in range(HALVINGS):
            mine = tile if halving == 0 else tile.take(left)
            trial = here[left] + 0.5**halving * way[left]
            found = self._cells(mine, precomputed, trial)
            good = found.values >= floor[left]
            if good.all():
                state[rows[left]] = trial
                cells.put(rows[left], found)
                return
            state[rows[left[good]]] = trial[good]
            cells.put(rows[left[good]], found.at(good))
            left = left[~good]

    def settled(
        self, tile: Tile, precomputed: TraitPrecomputed, rows: Float, most: int, tol: float
    ) -> tuple[Float, Float]:
        """New row states and bounds of the rows of a tile."""
        state, cells = self._climbed(tile, precomputed, rows, most, tol)
        return state, cells.values

    def objective(self, precomputed: TraitPrecomputed, stats: GaussianStats) -> float:
        """The bound on the log-likelihood, less the ridge."""
        return stats.bound - 0.5 * self.ridge * self.size_of(precomputed.params)

    def m_step(self, params: TraitParams, stats: GaussianStats, extra_pass: ExtraPass) -> TraitParams:
        """The Newton step of every column, or where that loses the step of the uniform curvature."""
        new = self.solved(stats.equations, params)
        cells = extra_pass(self._cells_of, self.precompute(new))
        before = self._column_values(params, stats.right, stats.cells)
        lost = ~(self._column_values(new, stats.right, cells) >= before - UNSEEN * np.abs(before)) & self.active
        if not lost.any():
            return new
        careful = self._careful(params, stats)
        return TraitParams(np.where(lost, careful.loadings, new.loadings), np.where(lost, careful.offset, new.offset))

    def _column_values(self, params: TraitParams, right: Float, cells: Float) -> Float:
        """What every column adds to the objective (D,), the posteriors held."""
        both = np.column_stack((params.loadings.T, params.offset))
        return np.asarray((right * both).sum(axis=1) - cells - 0.5 * self.ridge * (both**2).sum(axis=1))

    def _careful(self, params: TraitParams, stats: GaussianStats) -> TraitParams:
        """The step of all columns by the curvature 1/4, above which that of no cell goes."""
        k, both = self.n_components, np.column_stack((params.loadings.T, params.offset))
        bent = np.einsum("dij,dj->di", stats.equations[:, :, :-1], both)
        gradient = stats.equations[:, :, -1] - bent - self.ridge * both
        curvature = 0.25 * stats.moments + self.ridge * np.eye(k + 1)
        moved = both + np.linalg.solve(curvature, gradient.T).T
        return TraitParams(
            np.where(self.active, moved[:, :k].T, 0.0), np.where(self.active, moved[:, k], params.offset)
        )

    def _cells_of(self, block: Block, rows: Float, precomputed: TraitPrecomputed) -> Float:
        """Sums (D,) of g over the known cells of every column, at other parameters."""
        from .trait_kernels import expect_logs

        out, weights = np.zeros(block.n_columns), block.row_weights()
        for part, tile in self.tiles_of(block, precomputed):
            logs, variances = self._middles(precomputed, rows[part]), self._variances(precomputed, rows[part])
            expect_logs(*NODES, logs.ravel(), variances.ravel())
            if tile.unknown is not None:
                indptr, indices = tile.unknown
                logs[np.repeat(np.arange(len(logs)), np.diff(indptr)), indices] = 0.0
            out[precomputed.varying] += weights[part] @ logs
        return out
