"""Aspect Bernoulli (Kabán, Bingham & Hirsimäki, *Learning to Read Between the Lines*, SDM 2004).

Story: row n has memberships s_n on the simplex.  For every *cell* a cause z ~ s_n is drawn, then the cell is 1 with
probability ``probs[z, t]``.  A mixture draws one cause per row; here one row can have several.

======================  =================================  ===============================================
symbol in the paper     name here                          where
======================  =================================  ===============================================
a_tk                    ``probs`` (K, D)                   eq 2.1; P(cell = 1 | cause)
s_kn                    row state, ``shares`` (n, K)       eq 2.1; memberships, on the simplex
sum_k a_tk s_kn         p                                  eq 2.5; P(cell = 1)
P(k | n, t, x_tn)       never stored                       eq 2.2; ``causes`` works it out for single cells
x/p, (1-x)/(1-p)        ``on``, ``off`` of a tile
α                       ``concentration``                  Dirichlet(α, ..., α) on memberships, α ≥ 1
b1 - 1, b0 - 1          ``prior_on``, ``prior_off`` (D,)   Beta priors on ``probs``
======================  =================================  ===============================================

EM in matrix form (eq 2.3, 2.4): with R1 = x/p and R0 = (1-x)/(1-p),

    G = (R1 - R0) A' + rowsum(R0),   s <- s G, scaled to sum one;
    on = A (S' R1),  off = (1-A) (S' R0),   A <- on / (on + off),

both from the same old values.  Zeros of sparse tables are summed by polynomials (:mod:`.series`).  Columns that are
constant say nothing about the causes and would only slow EM down: they are left out and given the same probability under
all causes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from .. import declared as of
from ..data.block import ONE, UNKNOWN, Block, Float, ListMarks, TileMarks, row_hashes
from ..data.rng import content_uniforms, stream
from ..engine.protocols import ExtraPass
from ..maths.empirical_bayes import (
    blank_rows,
    latent_sample,
    padded,
)
from .answers import AspectAnswers
from .params import FLOOR, AspectParams, AspectPrecomputed, AspectStats, Tally, floored
from .series import RowSums, Split, moments_of, split_columns, tile_height, zeros_in_cold

# Where the probabilities of pinned causes stand.
PINNED = 1e-6
# A cause with less than this share of all memberships is dead: its probabilities are kept as they are.
DEAD = 1e-8
# Cells of a tile, and its columns at most: three arrays of it stay in a core's cache.
TILE_CELLS, TILE_WIDTH = 2**15, 1024
# Error per row of the log-likelihood that counts as exact: that of the sums themselves.
ROUNDING = 1e-12


@dataclass(frozen=True)
class AspectModel(AspectAnswers):
    """The maths of Aspect Bernoulli.

    ``prior_on`` and ``prior_off`` (D,) are the pseudo-counts; ``active`` (D,) the columns that vary; ``constant`` (D,) the
    probabilities of the others; ``rate`` (D,) the share of stored cells and ``known`` (D,) of
    known ones; the last ``n_pinned`` causes
    are held where they are.  ``row_error`` is the error of a row's log-likelihood that polynomials may bring in.
    """

    params_type = AspectParams
    has_row_state = True
    row_kind = tuple[Annotated[Float, of.shares("n", "K")], Annotated[Float, of.amounts("n")] | None]

    n_components: of.Size
    prior_on: Annotated[Float, of.amounts("D")]
    prior_off: Annotated[Float, of.amounts("D")]
    active: Annotated[np.ndarray, of.flags("D")]
    constant: Annotated[Float, of.shares("D")]
    rate: Annotated[Float, of.shares("D")]
    known: Annotated[Float, of.shares("D")]
    concentration: of.Amount = 1.0
    n_pinned: of.Count = 0  # causes held where they are, the last ones
    n_pinned_on: of.Count = 0  # of them, always on
    total_weight: of.Amount = 1.0
    row_error: of.Amount = 0.0
    fold_tol: of.Amount = 1e-6
    clip: of.Share = 0.0  # cell probabilities of the empirical-Bayes score stay this far from 0 and 1
    phantoms: tuple[of.Component, ...] = ()  # causes of a fit that explain zeros beside the content
    posterior: bool = False  # cells are filled by the mean over memberships, not at the best ones

    def contradiction(self) -> str | None:
        """What is wrong with the model as a whole."""
        if self.n_pinned_on <= self.n_pinned <= self.n_components:
            return None
        return f"must hold {self.n_components} causes at most where they are; it has {self.n_pinned}, {self.n_pinned_on} on"

    @property
    def slack(self) -> float:  # type: ignore[override]
        """Twice the error that the objective of a table may carry."""
        return 2 * self.row_error * self.total_weight if self.row_error > ROUNDING else 0.0

    # Starts and passes.

    def init_params(self, sweep: Any, seed: int, restart: int) -> AspectParams:
        """Probabilities around the marginals."""
        noise = stream(seed, "start", restart).random((self.n_components, len(self.constant)))
        # Noise far above the share of ones would only make every column look dense at first.
        return self.held(0.75 * self.constant + 0.25 * noise * np.minimum(1.0, 10.0 * self.constant))

    def held(self, probs: Float) -> AspectParams:
        """Starting probabilities, with pinned causes and columns that do not vary where they are held."""
        probs = np.clip(probs, FLOOR, 1.0 - FLOOR)
        probs[self.n_components - self.n_pinned :] = PINNED
        if self.n_pinned_on:
            probs[-self.n_pinned_on :] = 1.0 - PINNED
        return AspectParams(np.where(self.active, probs, self.constant))

    def init_rows(self, block: Block, params: AspectParams, seed: int, restart: int) -> Any:
        """Memberships drawn uniformly from the simplex, by what the row holds; of a fit that goes on, folded in."""
        if params.latent is not None:
            return self.stream_rows(block, params)
        uniforms = content_uniforms(row_hashes(block), self.n_components, seed, "start", restart)
        return floored(-np.log1p(-uniforms)), block.weights

    def stream_rows(self, block: Block, params: AspectParams) -> Any:
        """Memberships folded in, away from zero."""
        answering = self.answer_model()
        return floored(answering.represent(block, answering.precompute(params))), block.weights

    def precompute(self, params: AspectParams, kind: Any = np.float64) -> AspectPrecomputed:
        """Split the columns, and sum over the cold ones; tables are of a precision."""
        probs = params.probs
        split = split_columns(probs, self.active, self.rate, self.row_error)
        coefficients = np.zeros((probs.shape[1], 8), kind)
        coefficients[:, :3], coefficients[:, 3:7] = split.inverse, split.logarithm
        coefficients[:, 7] = split.place == -1
        hot = probs if len(split.hot) == probs.shape[1] else np.ascontiguousarray(probs[:, split.hot])
        return AspectPrecomputed(
            probs,
            split,
            moments_of(probs, split, kind),
            hot.astype(kind, copy=False),
            padded(probs.T.astype(kind, copy=False)).ravel() if split.degree >= 0 else np.empty(0, kind),
            coefficients.ravel(),
            params,
        )

    def precompute_single(self, params: AspectParams) -> AspectPrecomputed:
        """The same in float32, but for what is done once per pass."""
        return self.precompute(params, np.float32)

    def e_step_single(self, block: Block, rows: Any, precomputed: AspectPrecomputed) -> tuple[AspectStats, Any]:
        """The E-step in the precision of the tables; sums over rows in float64."""
        return self.e_step(block, rows, precomputed)

    def is_last_stage(self, params: AspectParams) -> bool:
        """Whether no column was summed by a polynomial with more error than rounding."""
        if self.row_error <= ROUNDING:
            return True
        return split_columns(params.probs, self.active, self.rate, self.row_error).error <= ROUNDING

    def answer_model(self) -> AspectModel:
        """The model without polynomials, but where they are exact to rounding."""
        return replace(self, row_error=min(self.row_error, ROUNDING))

    def e_step(self, block: Block, rows: Any, precomputed: AspectPrecomputed) -> tuple[AspectStats, Any]:
        """Sums of a block, and the new memberships of its rows."""
        from .kernels import renew_shares

        shares, weights = rows[0].astype(precomputed.hot.dtype, copy=False), rows[1]
        row_weights = block.row_weights()
        logs = np.zeros(block.n_rows)
        gains, on, off, sums = self._cold(block, precomputed, shares, row_weights, logs)
        if len(precomputed.split.hot):
            hot_on, hot_off = self._hot(block, precomputed, shares, row_weights, gains, logs)
            if len(hot_on) == block.n_columns:
                on, off = hot_on, hot_off
            else:
                on[precomputed.split.hot], off[precomputed.split.hot] = hot_on, hot_off
        log_prior = 0.0
        if self.concentration > 1:
            log_prior = (self.concentration - 1) * float(row_weights @ np.log(shares).sum(axis=1))
        new_shares = shares.copy()
        renew_shares(new_shares, gains, self.concentration)
        if block.unknown is not None:
            new_shares[blank_rows(block, self.active)] = 1.0 / self.n_components
        weight = float(row_weights.sum())
        return AspectStats(on, off, float(row_weights @ logs), log_prior, weight, sums), (new_shares, weights)

    def _hot(
        self, block: Block, precomputed: AspectPrecomputed, shares: Float, weights: Float, gains: Float, logs: Float
    ) -> tuple[Float, Float]:
        """Cells of the hot columns, tile by tile: sums of s/p and s/(1-p) (H, K); ``gains`` and ``logs`` are added to."""
        from .kernels import Marked, hot_lists, hot_tiles

        marked: Any = None
        codes: Any = None
        if isinstance(block.ones, ListMarks) and (block.unknown is None or isinstance(block.unknown, ListMarks)):
            marked = Marked(*block.ones.lists(), *block.unknown_lists(), precomputed.split.place, 0)
        else:
            codes = self._codes(block, precomputed.split)
        weighted = shares if block.weights is None else shares * weights[:, None].astype(shares.dtype)
        n_hot = len(precomputed.split.hot)
        height = max(16, min(block.n_rows, TILE_CELLS // min(n_hot, TILE_WIDTH)))
        sums = []
        for first in range(0, n_hot, TILE_WIDTH):
            columns = slice(first, min(first + TILE_WIDTH, n_hot))
            probs = np.ascontiguousarray(precomputed.hot[:, columns])
            sums.append(np.zeros((2, probs.shape[1], self.n_components)))
            tables = (shares, weighted, probs, np.ascontiguousarray(probs.T), height, gains, *sums[-1], logs)
            if marked is not None:
                hot_lists(marked._replace(first=first), *tables)
            else:
                hot_tiles(np.ascontiguousarray(codes[:, columns]), *tables)
        on, off = sums[0] if len(sums) == 1 else np.concatenate(sums, axis=1)
        return on, off

    def _codes(self, block: Block, split: Split) -> Any:
        """The cells of the hot columns (n, H): 0, 1 and 2 for unknown."""
        from .kernels import mark_hot

        n_hot = len(split.hot)
        if n_hot == block.n_columns and block.unknown is None and isinstance(block.ones, TileMarks):
            return block.ones.cells
        codes = np.zeros((block.n_rows, n_hot), np.uint8)
        for marks, code in ((block.ones, ONE), (block.unknown, UNKNOWN)):
            if marks is None:
                continue
            if isinstance(marks, TileMarks):
                codes += np.uint8(code) * (marks.cells if n_hot == block.n_columns else marks.cells[:, split.hot])
                continue
            mark_hot(*marks.lists(), split.place, code, codes)
        return codes

    def _cold(self, block: Block, precomputed: AspectPrecomputed, shares: Float, weights: Float, logs: Float) -> Any:
        """Cold columns: the gradient by the memberships (n, K), sums at stored cells (D, K), sums over rows."""
        from .kernels import cold_marks, take_powers

        n_components = self.n_components
        degree, moments = precomputed.split.degree, precomputed.moments
        shape = (block.n_columns, n_components)
        if degree < 0:
            gains = np.zeros(shares.shape, shares.dtype)
            return gains, np.zeros(shape), np.zeros(shape), RowSums(_mass(shares, weights), None, None)
        gains, wide_shares = padded(np.broadcast_to(moments.constant, shares.shape)), padded(shares)
        width = -(-n_components // 4) * 4
        weighted = shares if block.weights is None else shares * weights[:, None].astype(shares.dtype)
        higher = np.zeros((len(moments.powers), n_components))
        if degree >= 1:
            take_powers(shares, weighted, moments.powers, tile_height(len(higher)), gains, higher)
        second, third = higher[:n_components], higher[n_components:]
        sums = RowSums(_mass(shares, weights), second if degree >= 1 else None, third if degree >= 2 else None)
        at_marks = np.zeros(block.n_columns * 2 * width)
        flat_shares, flat_gains = wide_shares.ravel(), gains.ravel()
        for marks, are_ones in ((block.ones, True), (block.unknown, False)):
            if marks is not None:
                indptr, indices = marks.lists()
                cold_marks(
                    indptr, indices, precomputed.coefficients, precomputed.padded, flat_shares, weights, are_ones, flat_gains,
                    at_marks, logs,
                )  # fmt: skip
        both = at_marks.reshape(block.n_columns, 2, width)[:, :, :n_components]
        return gains[:, :n_components], both[:, 0].copy(), both[:, 1].copy(), sums

    def finalize_stats(self, precomputed: AspectPrecomputed, stats: AspectStats) -> AspectStats:
        """Expected counts of ones and zeros by cause, and the zeros of cold columns."""
        off, value = stats.off, stats.log_likelihood
        if precomputed.split.degree >= 0:
            probs, split, kind = precomputed.probs, precomputed.split, precomputed.moments.powers.dtype
            zeros, logs = zeros_in_cold(probs, split, stats.rows, stats.weight, kind)
            off, value = off + zeros, value + logs
        on, off = precomputed.probs.T * stats.on, (1.0 - precomputed.probs.T) * np.maximum(off, 0.0)
        return stats._replace(on=on, off=off, log_likelihood=value, rows=RowSums(stats.rows.first, None, None))

    def objective(self, precomputed: AspectPrecomputed, stats: AspectStats) -> float:
        """Log-likelihood at these memberships plus log prior (up to a constant), over the columns that vary."""
        free = precomputed.probs[: self.n_components - self.n_pinned]
        value = stats.log_likelihood + stats.log_prior
        for pseudo, probs in ((self.prior_on, free), (self.prior_off, 1.0 - free)):
            weigh = self.active & (pseudo > 0)
            if weigh.any():
                with np.errstate(divide="ignore"):
                    value += float(np.log(probs[:, weigh]).sum(axis=0) @ pseudo[weigh])
        return value

    def m_step(self, params: AspectParams, stats: AspectStats, extra_pass: ExtraPass | None) -> AspectParams:
        """Shares of ones among the cells of every cause; causes that are dead or pinned keep theirs."""
        on, off = stats.on.T + self.prior_on, stats.off.T + self.prior_off
        total = on + off
        seen = (total > 0) & self.active & (stats.rows.first > DEAD * stats.weight)[:, None]
        seen[self.n_components - self.n_pinned :] = False
        return AspectParams(np.where(seen, on / np.where(seen, total, 1.0), params.probs))

    def finalize(self, point: Any, sweep: Any, complete: bool) -> tuple[AspectParams, float]:
        """Put causes in order, put constant columns back, and remember what answers need; all exact."""
        exact = self.answer_model()
        params = AspectParams(point.params.probs)
        precomputed = exact.precompute(params)
        (stats, pure, latent), _ = sweep.map(_Remember(exact), point.rows, precomputed, keep_rows=False)
        stats = exact.finalize_stats(precomputed, stats)
        tally = Tally(stats.on.sum(axis=0), stats.off.sum(axis=0), stats.rows.first, pure, stats.log_likelihood)
        order = self._order(tally)
        probs = np.where(self.active, params.probs, self.constant)[order]
        tally = Tally(tally.on[order], tally.off[order], tally.mass[order], tally.pure[order], tally.log_likelihood)
        params = AspectParams(probs, tally, latent._replace(values=latent.values[:, order]))
        return params, exact.objective(precomputed, stats)

    def _order(self, tally: Tally) -> np.ndarray:
        """Content causes by decreasing share of cells, then those that explain zeros; pinned causes last."""
        from .phantoms import kinds_of

        rank = np.array([kind in ("phantom", "blank", "on-phantom") for kind in kinds_of(tally)], dtype=int)
        rank[self.n_components - self.n_pinned :] = 2
        rank[self.n_components - self.n_pinned_on :] = 3
        return np.lexsort((-(tally.on + tally.off), rank))

    def stream_update(self, before: AspectParams, params: AspectParams, block: Block, rows: Any) -> AspectParams:
        """Parameters of a stream with the memberships of a block remembered."""
        latent = latent_sample(block, rows[0], blank_rows(block, self.active))
        return params._replace(latent=latent if before.latent is None else before.latent.merge(latent))

    def restart_summary(self, params: AspectParams) -> Float:
        """The probabilities."""
        return params.probs

    def expected_stats(self, params: AspectParams) -> AspectStats:
        """The expected counts per unit of weight that these parameters stand for, spread over columns as the data."""
        assert params.tally is not None
        mass = params.tally.mass / params.tally.mass.sum()
        cells = self.known[:, None] * mass
        return AspectStats(
            cells * params.probs.T, cells * (1.0 - params.probs.T), 0.0, 0.0, 1.0, RowSums(mass, None, None)
        )

    def to_vector(self, params: AspectParams) -> Float:
        """The probabilities themselves: the path of EM is straightest there."""
        return params.probs.ravel()

    def from_vector(self, vector: Float, like: AspectParams) -> AspectParams:
        """Probabilities inside (0, 1); pinned causes and columns left out stay as they are."""
        probs = np.clip(vector.reshape(like.probs.shape), FLOOR, 1 - FLOOR)
        kept = np.zeros(probs.shape, np.bool_)
        kept[self.n_components - self.n_pinned :] = True
        kept |= ~self.active
        return AspectParams(np.where(kept, like.probs, probs))

    def rows_to_vector(self, rows: Any) -> Float:
        """Memberships; a row of weight w counts w times, as if it were repeated."""
        shares, weights = rows
        return np.asarray(shares) if weights is None else shares * np.sqrt(weights)[:, None]

    def rows_from_vector(self, vector: Float, like: Any) -> Any:
        """Memberships on the simplex, away from zero; rows of weight zero stay as they are."""
        shares, weights = like
        if weights is None:
            return floored(vector), None
        scale = np.sqrt(weights)[:, None]
        return floored(np.where(scale > 0, vector / np.where(scale > 0, scale, 1.0), shares)), weights


class _Remember:
    """The last pass of a fit: sums, memberships above 0.9, and the remembered rows."""

    def __init__(self, model: AspectModel) -> None:
        self.model = model

    def __call__(self, block: Block, rows: Any, precomputed: AspectPrecomputed) -> tuple[Any, None]:
        shares, weights = rows[0], block.row_weights()
        stats, _ = self.model.e_step(block, rows, precomputed)
        pure = weights @ np.where(shares > 0.9, shares, 0.0)  # blank rows stand at 1/K
        return (stats, pure, latent_sample(block, shares, blank_rows(block, self.model.active))), None


def _mass(shares: Float, weights: Float) -> Float:
    """Weighted sum of memberships."""
    return weights @ shares
