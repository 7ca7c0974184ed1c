"""What an Aspect Bernoulli model answers: memberships of rows folded in, and the same questions as every family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.block import ONE, UNKNOWN, ZERO, Block, Float
from ..engine.protocols import Causes, StagedModel
from ..maths.empirical_bayes import (
    blank_rows,
    draw_rows,
    empirical_bayes,
    keys_of,
    padded,
    posterior_draw,
    posterior_mean,
)
from .params import AspectParams, AspectPrecomputed, LossChances, floored
from .series import log_moments_of

# Error per row allowed in answers; far below the tolerance of the fold-in.
ANSWER_ERROR = 1e-7
# Probabilities never leave this range in answers.
ANSWER_EDGE = 1e-9
EDGE_OF_SCORE = 1e-12
_NOTHING = (np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint8))


class AspectAnswers(StagedModel):
    """The half of the model that answers; the other half (:class:`~.model.AspectModel`) is what a fit needs."""

    refits_rows = True
    n_components: int
    active: np.ndarray
    constant: Float
    concentration: float
    n_pinned: int
    total_weight: float
    fold_tol: float
    clip: float
    phantoms: tuple[int, ...]
    posterior: bool
    _codes: Any

    def folded(
        self, block: Block, precomputed: AspectPrecomputed, starts: Float | None = None
    ) -> tuple[Float, Float, Float]:
        """Memberships (n, K), log-likelihood (n,) of the columns that vary, and how far at most it is from its best.

        The log-likelihood is concave in the memberships; the last number is a proof, whatever the solver did.
        """
        from .fold_kernels import FoldOptions, Stored, fold_rows

        cold = packed_cold(precomputed)
        stored = stored_of(block) if len(cold.gains) else Stored(*_NOTHING)
        width = -(-self.n_components // 4) * 4
        shares, logs, gaps = np.zeros((block.n_rows, width)), np.empty(block.n_rows), np.empty(block.n_rows)
        if starts is None:
            starts = np.full((1, self.n_components), 1.0 / self.n_components)
        fold_rows(
            self._codes(block, precomputed.split),
            precomputed.hot,
            stored,
            cold,
            FoldOptions(self.n_components, self.concentration - 1.0, self.fold_tol, 100),
            padded(starts),
            shares,
            logs,
            gaps,
        )
        shares = shares[:, : self.n_components]
        blank = blank_rows(block, self.active)
        shares[blank], logs[blank], gaps[blank] = 1.0 / self.n_components, 0.0, 0.0
        return shares, logs, gaps + precomputed.split.error

    def fold_in(self, block: Block, precomputed: AspectPrecomputed) -> Float:
        """Log-likelihood (n,) of rows at their best memberships, constant columns included."""
        logs = self.folded(block, self._answering(precomputed))[1]
        fixed = np.where(self.active, 0.5, np.clip(precomputed.probs[0], EDGE_OF_SCORE, 1 - EDGE_OF_SCORE))
        log_off = np.where(self.active, 0.0, np.log1p(-fixed))
        slope = np.where(self.active, 0.0, np.log(fixed) - np.log1p(-fixed))
        logs = logs + block.ones.dot(slope[:, None])[:, 0] + log_off.sum()
        return logs if block.unknown is None else logs - block.unknown.dot(log_off[:, None])[:, 0]

    def left_out(self, ones: Float, observed: Float) -> float:
        """Log-likelihood of the constant columns of a table with these column sums."""
        left = ~self.active & (observed > 0)
        fixed = np.clip(self.constant[left], EDGE_OF_SCORE, 1 - EDGE_OF_SCORE)
        return float(ones[left] @ np.log(fixed) + (observed[left] - ones[left]) @ np.log1p(-fixed))

    def represent(self, block: Block, precomputed: AspectPrecomputed) -> Float:
        """Memberships (n, K): the best ones for the observed cells of the row."""
        return self.folded(block, self._answering(precomputed))[0]

    def _answering(self, precomputed: AspectPrecomputed) -> AspectPrecomputed:
        """The same parameters with the error that answers may carry; already there for all but wide tables."""
        if len(precomputed.split.hot) < 4 * self.n_components**2:
            return precomputed
        fitted: Any = self
        return replace(fitted, row_error=ANSWER_ERROR).precompute(precomputed.params)

    def log_prob(self, block: Block, precomputed: AspectPrecomputed) -> Float:
        """log p(row) (n,), memberships being distributed as in the training rows."""
        sample = precomputed.params.latent
        assert sample is not None
        return empirical_bayes(block, sample, self._row_logs(precomputed))

    def _row_logs(self, precomputed: AspectPrecomputed) -> Callable[[Float], tuple[Float, Float]]:
        """Logs of cells as a function of memberships."""
        return lambda shares: self._logs(shares @ precomputed.probs)

    def _weighing(
        self, block: Block, precomputed: AspectPrecomputed, starts: Float | None = None, own: Any = None
    ) -> Float:
        """Memberships (n, K) that cells are filled with: the best ones, or their mean given the known cells.

        The mean is over other training rows: those with the keys ``own``, by default of the rows themselves, do not count.
        """
        if self.posterior:
            assert precomputed.params.latent is not None
            own = keys_of(block) if own is None else own
            return posterior_mean(block, precomputed.params.latent, self._row_logs(precomputed), own=own)
        return self.folded(block, self._answering(precomputed), starts)[0]

    def _logs(self, cells: Float) -> tuple[Float, Float]:
        """Log odds of ones and log probability of zeros, with the clip of the score."""
        edge = max(self.clip, EDGE_OF_SCORE)
        cells = np.clip(cells, edge, 1.0 - edge)
        log_off = np.log1p(-cells)
        return np.log(cells) - log_off, log_off

    def predict_cells(self, block: Block, precomputed: AspectPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        return np.clip(self._weighing(block, precomputed) @ precomputed.probs, ANSWER_EDGE, 1 - ANSWER_EDGE)

    def predict_cells_at(self, block: Block, precomputed: AspectPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        on = np.einsum("mk,mk->m", self._weighing(block, precomputed)[rows], precomputed.probs.T[columns])
        return np.clip(on, ANSWER_EDGE, 1 - ANSWER_EDGE)

    def sample_cells(
        self, block: Block, precomputed: AspectPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A draw of single cells; given the memberships of the row they are independent."""
        if not self.posterior:
            return by_cell < self.predict_cells_at(block, precomputed, rows, columns)
        assert precomputed.params.latent is not None
        shares = posterior_draw(block, precomputed.params.latent, self._row_logs(precomputed), by_row, keys_of(block))
        return by_cell < np.einsum("mk,mk->m", shares[rows], precomputed.probs.T[columns])

    def causes(self, block: Block, precomputed: AspectPrecomputed, rows: Any, columns: Any) -> Causes:
        """Cause posterior (eq 2.2), evidence, leave-one-out probability and chance of a loss of single cells."""
        precomputed = self._answering(precomputed)
        shares = self._weighing(block, precomputed)
        codes, on, own = block.at(rows, columns), precomputed.probs.T[columns], shares[rows]
        cell = np.where((codes == ONE)[:, None], on, 1.0 - on)
        cell[codes == UNKNOWN] = 1.0
        cell = np.maximum(cell, np.finfo(float).tiny)
        joint = own * cell
        total = np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        rest = 1.0 - own
        others = np.where(rest > 1e-12, (total - joint) / np.where(rest > 1e-12, rest, 1.0), cell)
        evidence = np.log(cell) - np.log(np.maximum(others, np.finfo(float).tiny))
        missing = None
        if self.phantoms:
            chances = self.loss_chances(own, on)
            missing = np.where(codes == ZERO, chances.lost, np.nan)
        return Causes(joint / total, evidence, self._without(block, precomputed, shares, rows, columns, codes), missing)

    def _without(
        self, block: Block, precomputed: AspectPrecomputed, shares: Float, rows: Any, columns: Any, codes: Any
    ) -> Float:
        """P(cell = 1 | the other cells of its row): the row is folded in without the cell, from where it was."""
        on = precomputed.probs.T[columns]
        own, keys = shares[rows].copy(), keys_of(block)
        known = np.flatnonzero((codes != UNKNOWN) & self.active[columns])
        for low in range(0, len(known), 4096):
            which = known[low : low + 4096]
            held = block.take(rows[which]).hide(np.arange(len(which)), columns[which])
            own[which] = self._weighing(held, precomputed, floored(shares[rows[which]]), keys[rows[which]])
        return np.clip(np.einsum("mk,mk->m", own, on), ANSWER_EDGE, 1 - ANSWER_EDGE)

    def loss_chances(self, own: Float, on: Float, causes: Any = None) -> LossChances:
        """For cells with memberships ``own`` (m, K) and probabilities ``on`` (m, K), seen as zeros.

        ``causes`` stand for losses, by default the phantoms.  For ones and causes of false presences exchange on and off.
        """
        own = floored(own)  # a row without the phantom still ranks its zeros, by what a little of it would explain
        phantom = np.zeros(self.n_components, np.bool_)
        phantom[list(self.phantoms if causes is None else causes)] = True
        off = np.maximum(1.0 - np.einsum("mk,mk->m", own, on), np.finfo(float).tiny)
        content = own[:, ~phantom].sum(axis=1)
        explained = np.einsum("mk,mk->m", own[:, phantom], 1.0 - on[:, phantom]) / off
        if_kept = np.einsum("mk,mk->m", own[:, ~phantom], on[:, ~phantom])
        if_kept = np.where(content > 0, if_kept / np.where(content > 0, content, 1.0), 0.0)
        return LossChances(explained, if_kept, explained * if_kept)

    def sample_rows(self, params: AspectParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and the causes of their cells (n, D); memberships as in the training rows."""
        assert params.latent is not None
        return self.draw_cells(params, draw_rows(params.latent, n, rng), rng)

    def draw_cells(self, params: AspectParams, shares: Float, rng: np.random.Generator) -> tuple[Any, Any]:
        """Cells of rows with given memberships: first the cause of every cell, then its value."""
        reached = np.cumsum(shares, axis=1)
        uniforms = rng.random((len(shares), params.probs.shape[1]))
        causes = np.zeros(uniforms.shape, np.int64)
        for k in range(self.n_components - 1):
            causes += uniforms * reached[:, -1:] >= reached[:, k : k + 1]
        on = np.take_along_axis(params.probs, causes, axis=0)
        return (rng.random(causes.shape) < on).astype(np.uint8), causes

    def n_free(self, params: AspectParams) -> int:
        """Free parameters: K - 1 memberships of every row, and the probabilities of causes that are not pinned."""
        free = (self.n_components - self.n_pinned) * int(self.active.sum())
        return round(self.total_weight) * (self.n_components - 1) + free


def stored_of(block: Block) -> Any:
    """Index lists of the ones and the unknown cells of every row together, and which are ones."""
    from .fold_kernels import Stored

    indptr, indices = block.ones.lists()
    if block.unknown is None:
        return Stored(indptr, indices, np.ones(len(indices), np.uint8))
    other_indptr, other_indices = block.unknown.lists()
    rows = np.concatenate([np.repeat(np.arange(block.n_rows), np.diff(pointer)) for pointer in (indptr, other_indptr)])
    order = np.argsort(rows, kind="stable")
    is_one = np.concatenate((np.ones(len(indices), np.uint8), np.zeros(len(other_indices), np.uint8)))
    return Stored(indptr + other_indptr, np.concatenate((indices, other_indices))[order], is_one[order])


def packed_cold(precomputed: AspectPrecomputed) -> Any:
    """The cold columns as the fold-in kernel takes them."""
    from .fold_kernels import Cold

    k = len(precomputed.probs)
    width = -(-k // 4) * 4
    if precomputed.split.degree < 0:
        return Cold(precomputed.coefficients, precomputed.padded, np.empty((0, width)), np.empty((0, width + 1)))
    split, moments = precomputed.split, precomputed.moments
    log_moments = log_moments_of(precomputed.probs, split)
    cold = np.flatnonzero(split.place == -1)
    off = 1.0 - precomputed.probs[:, cold]
    curvature = np.zeros((width, width))
    curvature[:k, :k] = (off * split.inverse[cold, 0] ** 2) @ off.T
    n_pairs = width * (width + 1) // 2 if split.degree >= 2 else 0
    gains, logs = np.zeros((1 + width + n_pairs, width)), np.zeros((2 + width + n_pairs + width, width + 1))
    gains[0, :k], gains[1 : 1 + len(moments.powers[:k]), :k] = moments.constant, moments.powers[:k]
    logs[0, width], logs[1, :k], logs[2 : 2 + k, :k] = log_moments.constant, log_moments.linear, log_moments.square
    if n_pairs:
        first, second = np.triu_indices(width)
        inside = (first < k) & (second < k)
        gains[1 + width :][inside, :k] = moments.powers[k:]
        logs[2 + width : 2 + width + n_pairs][inside, :k] = log_moments.cube
    logs[2 + width + n_pairs :, :width] = curvature
    return Cold(precomputed.coefficients, precomputed.padded, gains, logs)
