"""What the two bounds of the latent trait model share: parameters, the cells of a tile, and every answer.

Story: every row has scores x ~ N(0, I); cell j is 1 with probability σ(v_j'x + b_j).

===================  ==============================  ==========================================================
symbol               name here                       where
===================  ==============================  ==========================================================
v_j, b_j             ``loadings`` (K, D), ``offset``
μ_n, C_n             row state (n, K + K²)           Gaussian that stands for the posterior of the scores
===================  ==============================  ==========================================================

The bounds are :mod:`.trait_gaussian`, the best that a Gaussian gives, and :mod:`.trait_model`, the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import Sobol

from .. import declared as of
from ..data.block import Block, Float
from ..data.rng import stream
from .linear import LinearModel, sigmoid

# Points per axis of the quadrature by which likelihoods are taken, for up to three traits; beyond that many points in all.
QUADRATURE = {1: 24, 2: 16, 3: 9}
MANY_POINTS = 512
# SciPy before 1.15 calls the generator of a sequence `seed`; the points are the same.
GENERATOR = "rng" if "rng" in signature(Sobol).parameters else "seed"
# The variational posterior is too narrow; the points are laid out this much wider.
WIDER = 1.25
# Points by which the mean of σ over a Gaussian is taken.
MEAN_POINTS = 20
# A posterior has settled when a round raises its bound by less, in nats.
SETTLED = 1e-10
MOST_ROUNDS = 500
# Cells that a round works on at a time: they stay in a core's cache.
TRAIT_CELLS = 1 << 18
# Loadings whose sizes differ by less than this part are equally large: the first tells the sign.
TIE = 1e-6
# Cells whose means are taken at a time.
CELLS = 1 << 18


class TraitParams(NamedTuple):
    """Loadings and offset."""

    loadings: Annotated[Float, of.reals("K", "D")]
    offset: Annotated[Float, of.reals("D")]


class TraitPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    loadings: Float  # (D, K), zero at constant columns
    offset: Float
    params: TraitParams
    squares: Any  # (F, A) of the A columns that vary: ξ² is a row's moments (F,) times this
    bends: Any  # (A, F) products of loadings and offset that curvatures are summed with
    varying: Any  # (A,) numbers of the columns that vary


class Tile(NamedTuple):
    """Some rows: what their ones add to the posterior and to the bound (n, K + 1), and index lists of unknown cells."""

    added: Float
    unknown: Any

    def take(self, rows: Any) -> Tile:
        """The given rows."""
        if self.unknown is None:
            return Tile(self.added[rows], None)
        indptr, indices = self.unknown
        counts = np.diff(indptr)[rows]
        ends = np.concatenate(([0], np.cumsum(counts)))
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
        return Tile(self.added[rows], (ends, indices[np.repeat(indptr[:-1][rows], counts) + within]))


@dataclass(frozen=True)
class TraitAnswers(LinearModel):
    """The latent trait model without a way to fit it: subclasses bring the bound, in ``settled``, and the passes."""

    params_type: ClassVar[Any] = TraitParams

    ridge: of.Amount = 1e-6
    n_rounds: Annotated[int, of.Whole(1, 10**9)] = 2

    @cached_property
    def pairs(self) -> tuple[Any, Any]:
        """Numbers (k, l), k <= l, of every two traits."""
        return np.triu_indices(self.n_components)

    @property
    def row_kind(self) -> Any:  # type: ignore[override]
        """Means and covariances."""
        return Annotated[Float, of.reals("n", str(self.n_components * (self.n_components + 1)))]

    def init_rows(self, block: Block, params: TraitParams, seed: int, restart: int) -> Float:
        """Posteriors before the first round (n, K + K²)."""
        raise NotImplementedError

    def init_params(self, sweep: Any, seed: int, restart: int) -> TraitParams:
        """Small loadings around the marginals."""
        loadings = 0.1 * stream(seed, "start", restart).standard_normal((self.n_components, len(self.base)))
        return TraitParams(np.where(self.active, loadings, 0.0), self.base)

    def precompute(self, params: TraitParams) -> TraitPrecomputed:
        """Loadings by column, and the products with which moments and curvatures are multiplied."""
        loadings = np.ascontiguousarray(np.where(self.active, params.loadings, 0.0).T)
        first, second = self.pairs
        varying = np.flatnonzero(self.active)
        mine, offset = loadings[varying], params.offset[varying][:, None]
        products = np.hstack((mine[:, first] * mine[:, second], mine * offset))
        twice = np.concatenate((np.where(first == second, 1.0, 2.0), np.full(self.n_components, 2.0), [1.0]))
        squares = np.ascontiguousarray((np.hstack((products, offset**2)) * twice).T)
        return TraitPrecomputed(loadings, params.offset, params, squares, np.ascontiguousarray(products), varying)

    def tiles_of(self, block: Block, precomputed: TraitPrecomputed) -> Iterator[tuple[slice, Tile]]:
        """Rows of a block, some at a time: what their ones add, and where they are unknown."""
        offset, loadings = precomputed.offset * self.active, precomputed.loadings
        all_known = -0.5 * np.append(loadings.sum(axis=0), offset.sum())
        both = np.column_stack((loadings, offset))
        added = block.ones.dot(both) + all_known
        if block.unknown is not None:
            added += 0.5 * block.unknown.dot(both)
            added[self.blank_rows(block)] = 0.0  # exactly
        place = np.full(block.n_columns, -1)
        place[precomputed.varying] = np.arange(len(precomputed.varying))
        step = max(1, TRAIT_CELLS // max(1, len(precomputed.varying)))
        for low in range(0, block.n_rows, step):
            part = slice(low, min(low + step, block.n_rows))
            lists = None
            if block.unknown is not None:
                indptr, indices = block.unknown.take(np.arange(part.start, part.stop)).lists()
                columns = place[indices]
                rows = np.repeat(np.arange(part.stop - part.start), np.diff(indptr))[columns >= 0]
                counts = np.bincount(rows, minlength=part.stop - part.start)
                lists = (np.concatenate(([0], np.cumsum(counts))), columns[columns >= 0])
            yield part, Tile(added[part], lists)

    def moments_of(self, state: Float) -> Float:
        """Second moments of the scores, once per pair, their means, and 1 (n, F)."""
        k = self.n_components
        means, covariances = state[:, :k], state[:, k:].reshape(-1, k, k)
        first, second = self.pairs
        return np.hstack(
            (covariances[:, first, second] + means[:, first] * means[:, second], means, np.ones((len(means), 1)))
        )

    def settled(
        self, tile: Tile, precomputed: TraitPrecomputed, rows: Float, most: int, tol: float
    ) -> tuple[Float, Float]:
        """New row states and bounds (n,) of the rows of a tile.

        Every row takes up to ``most`` rounds until its bound gains less than ``tol``.
        """
        raise NotImplementedError

    def equations_of(self, sums: Any, right: Any, varying: Any, n_columns: int) -> Float:
        """Normal equations (D, K + 1, K + 2) of every column.

        ``sums`` (A, F) are curvatures times moments, ``right`` (A, K + 1) is what they are to meet.
        """
        k = self.n_components
        out = np.zeros((n_columns, k + 1, k + 2))
        first, second = self.pairs
        n_pairs = len(first)
        matrix = np.empty((len(varying), k + 1, k + 1))
        matrix[:, first, second] = matrix[:, second, first] = sums[:, :n_pairs]
        matrix[:, :k, k] = matrix[:, k, :k] = sums[:, n_pairs : n_pairs + k]
        matrix[:, k, k] = sums[:, -1]
        out[varying, :, :-1] = matrix
        out[varying, :, -1] = right
        return out

    def long_scores(self, block: Block, state: Float) -> Float:
        """Means of the scores and 1 (n, K + 1), times the weights of the rows."""
        return np.column_stack((state[:, : self.n_components], np.ones(len(state)))) * block.row_weights()[:, None]

    def signed_sums(self, block: Block, long: Float) -> Float:
        """Sums (D, K + 1) of weighted scores times cell less 1/2, over the known cells."""
        right = block.ones.t_dot(long) - 0.5 * long.sum(axis=0)
        if block.unknown is not None:
            right += 0.5 * block.unknown.t_dot(long)
        return np.asarray(right)

    def solved(self, equations: Float, params: TraitParams) -> TraitParams:
        """Loadings and offset of every column by weighted least squares."""
        k = self.n_components
        matrix, right = equations[:, :, :-1].copy(), equations[:, :, -1]
        matrix[:, range(k + 1), range(k + 1)] += self.ridge
        solved = np.linalg.solve(matrix, right[:, :, None])[:, :, 0].T
        loadings = np.where(self.active, solved[:k], 0.0)
        return TraitParams(loadings, np.where(self.active, solved[k], params.offset))

    def size_of(self, params: TraitParams) -> float:
        """Squared size of what is fitted."""
        return float((params.loadings[:, self.active] ** 2).sum() + (params.offset[self.active] ** 2).sum())

    def sort_components(self, params: TraitParams) -> TraitParams:
        """Traits turned so that loadings are orthogonal, the largest first; the largest loading of each is positive."""
        _, lengths, axes = np.linalg.svd(params.loadings, full_matrices=False)
        loadings = np.zeros_like(params.loadings)
        loadings[: len(lengths)] = lengths[:, None] * axes
        sizes = np.abs(loadings)
        first = (sizes >= (1 - TIE) * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
        largest = loadings[np.arange(len(loadings)), first]
        return TraitParams(np.where(largest < 0, -1.0, 1.0)[:, None] * loadings, params.offset)

    def restart_summary(self, params: TraitParams) -> Float:
        """Loadings."""
        return params.loadings

    # Answers: the same questions for every family.

    def posterior(self, block: Block, precomputed: TraitPrecomputed) -> tuple[Float, Float, Float]:
        """Means (n, K), covariances (n, K, K) and bounds (n,) of the columns that vary."""
        k = self.n_components
        start = self.init_rows(block, precomputed.params, 0, 0)
        state, logs = np.empty(start.shape), np.empty(block.n_rows)
        for part, tile in self.tiles_of(block, precomputed):
            state[part], logs[part] = self.settled(tile, precomputed, start[part], MOST_ROUNDS, SETTLED)
        return state[:, :k], state[:, k:].reshape(-1, k, k), logs

    def represent(self, block: Block, precomputed: TraitPrecomputed) -> Float:
        """Posterior means of the scores (n, K)."""
        return self.posterior(block, precomputed)[0]

    def bound(self, block: Block, precomputed: TraitPrecomputed) -> Float:
        """Lower bound on log p(row) (n,)."""
        return self.posterior(block, precomputed)[2] + self.fixed_logs(block, precomputed.offset)

    @cached_property
    def rule(self) -> tuple[Float, Float]:
        """Points (Q, K) and log weights (Q,) of the standard normal: Gauss-Hermite, or a Sobol sequence for many traits."""
        k = self.n_components
        if k not in QUADRATURE:
            uniforms = Sobol(k, scramble=True, **{GENERATOR: np.random.default_rng(0)}).random(MANY_POINTS)
            return ndtri(np.clip(uniforms, 1e-12, 1 - 1e-12)), np.full(MANY_POINTS, -np.log(MANY_POINTS))
        points, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE[k])
        grids = np.meshgrid(*[points] * k, indexing="ij")
        logs = np.sum(np.meshgrid(*[np.log(weights / weights.sum())] * k, indexing="ij"), axis=0)
        return np.stack([grid.ravel() for grid in grids], axis=1), logs.ravel()

    def log_prob(self, block: Block, precomputed: TraitPrecomputed) -> Float:
        """log p(row) (n,), integrated around the posterior of every row."""
        from .trait_kernels import integrate_rows

        means, covariances, _ = self.posterior(block, precomputed)
        roots = WIDER * np.linalg.cholesky(covariances)
        logs, (points, log_weights) = np.empty(block.n_rows), self.rule
        for part, codes in self.tiles(block):
            integrate_rows(
                codes,
                precomputed.loadings,
                precomputed.offset,
                means[part],
                roots[part],
                points,
                log_weights,
                logs[part],
            )
        return logs + self.fixed_logs(block, precomputed.offset)

    def _chances(self, middle: Float, variance: Float) -> Float:
        """Mean of σ(a) for a ~ N(middle, variance), element by element."""
        points, weights = np.polynomial.hermite_e.hermegauss(MEAN_POINTS)
        spread, out = np.sqrt(variance), np.zeros_like(middle)
        for point, weight in zip(points, weights / weights.sum()):
            out += weight * sigmoid(middle + point * spread)
        return out

    def predict_cells(self, block: Block, precomputed: TraitPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        means, covariances, _ = self.posterior(block, precomputed)
        out = np.empty((block.n_rows, block.n_columns))
        step = max(1, CELLS // block.n_columns)
        for low in range(0, block.n_rows, step):
            part = slice(low, low + step)
            variance = np.einsum(
                "jk,nkm,jm->nj", precomputed.loadings, covariances[part], precomputed.loadings, optimize=True
            )
            middle = means[part] @ precomputed.loadings.T + precomputed.offset
            out[part] = self._chances(middle, np.maximum(variance, 0.0))
        return out

    def predict_cells_at(self, block: Block, precomputed: TraitPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        means, covariances, _ = self.posterior(block, precomputed)
        return self._chances_at(means[rows], covariances[rows], precomputed, columns)

    def _chances_at(self, means: Float, covariances: Float, precomputed: TraitPrecomputed, columns: Any) -> Float:
        """P(cell = 1) of single cells (m,) whose rows have these posteriors."""
        loadings = precomputed.loadings[columns]
        variance = np.einsum("mk,mkl,ml->m", loadings, covariances, loadings)
        middle = np.einsum("mk,mk->m", means, loadings) + precomputed.offset[columns]
        return self._chances(middle, np.maximum(variance, 0.0))

    def sample_cells(
        self, block: Block, precomputed: TraitPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: scores for every row from its posterior, then the cells given the scores."""
        from .trait_kernels import spread_uniforms

        means, covariances, _ = self.posterior(block, precomputed)
        uniforms = np.empty(means.shape)
        spread_uniforms(by_row, uniforms)
        noise = ndtri(np.clip(uniforms, 1e-16, 1 - 1e-16))
        scores = means + np.einsum("nkm,nm->nk", np.linalg.cholesky(covariances), noise)
        odds = np.einsum("mk,mk->m", scores[rows], precomputed.loadings[columns]) + precomputed.offset[columns]
        return by_cell < sigmoid(odds)

    def loadings_at(self, precomputed: TraitPrecomputed, columns: Any) -> Float:
        """Loadings (m, K) of the columns of single cells."""
        return precomputed.loadings[columns]

    def left_out(
        self, held: Block, precomputed: TraitPrecomputed, columns: Any, starts: Float, own: Any = None
    ) -> Float:
        """P(cell = 1) of cells given the posteriors of their rows without them."""
        means, covariances, _ = self.posterior(held, precomputed)
        return self._chances_at(means, covariances, precomputed, columns)

    def sample_rows(self, params: TraitParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their scores (n, K)."""
        scores = rng.standard_normal((n, self.n_components))
        on = sigmoid(scores @ np.where(self.active, params.loadings, 0.0) + params.offset)
        return (rng.random(on.shape) < on).astype(np.uint8), scores

    def n_free(self, params: TraitParams) -> int:
        """Free parameters: loadings and offset, less the rotations that change nothing."""
        d, k = int(self.active.sum()), self.n_components
        k = min(k, d)
        return max(1, d * (k + 1) - k * (k - 1) // 2)
