"""What a noisy-or model answers: the same questions as every family, from the bound or through all states of the sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.block import ONE, UNKNOWN, Block, Float
from ..data.rng import content_uniforms
from ..engine.ask import joined
from ..engine.protocols import Causes, StagedModel
from .params import ANSWER_EDGE, CELL_TOL, NoisyOrParams, NoisyOrPrecomputed, expected_cells, logit


class NoisyOrAnswers(StagedModel):
    """The half of the model that answers; the other half (:class:`~.model.NoisyOrModel`) finds posteriors and sums."""

    exact: Any  # whether all states of the sources are gone through
    truncated: bool
    infer: Any
    rest_of_bound: Any
    log_joint: Any

    def log_empty(self, params: NoisyOrParams) -> float:
        """log P(no cell of a row is 1)."""
        kept = np.log1p(params.prior * np.expm1(-params.theta.sum(axis=1)))
        return float(kept.sum() - params.theta0.sum())

    def seen_prior(self, params: NoisyOrParams) -> Float:
        """P(source is on) (K,) among rows that can be seen: all of them, or those that are not empty."""
        if not self.truncated:
            return params.prior
        empty = np.exp(self.log_empty(params))
        in_empty = 1.0 / (1.0 + np.exp(np.clip(params.theta.sum(axis=1) - logit(params.prior), -700, 700)))
        return (params.prior - empty * in_empty) / (1.0 - empty)

    def log_odds(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """Log odds of the sources (n, K)."""
        if not self.exact:
            return self.infer(block, precomputed)[2]
        return logit(np.clip(self.represent(block, precomputed), 1e-300, 1.0 - 1e-16))

    def posterior(self, block: Block, precomputed: NoisyOrPrecomputed) -> tuple[Float, Float]:
        """Posteriors of the sources (n, K) and the log-likelihood, or its bound (n,)."""
        if self.exact:
            from ..maths.kernels import responsibilities

            states, values = responsibilities(self.log_joint(block, precomputed))
            assert precomputed.states is not None
            shares = states @ precomputed.states
        else:
            shares, values, _ = self.infer(block, precomputed)
            values = values + self.rest_of_bound(block, precomputed)
        return shares, self.given_seen(block, precomputed.params, values)

    def given_seen(self, block: Block, params: NoisyOrParams, values: Float) -> Float:
        """Log probabilities of rows (n,) given that they can be seen: with truncation, that they are not empty."""
        if not self.truncated:
            return values
        log_empty = self.log_empty(params)
        out: Float = np.array(values)
        no_one = block.ones.row_counts() == 0
        with np.errstate(divide="ignore"):  # of a row without a known one the rest must hold one
            out[no_one] += np.log(np.maximum(-np.expm1(log_empty - values[no_one]), 0.0))
        known = no_one if block.unknown is None else no_one & (block.unknown.row_counts() == 0)
        out[known] = -np.inf
        return out - float(np.log(-np.expm1(log_empty)))

    def represent(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """Posteriors of the sources (n, K)."""
        return self.posterior(block, precomputed)[0]

    def log_prob(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """Lower bound of log p(row) (n,); the log-likelihood itself if inference is exact."""
        return self.posterior(block, precomputed)[1]

    def predict_cells(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """P(cell = 1 | observed cells of the row) (n, D)."""
        if self.exact:
            assert precomputed.sums is not None
            return np.clip(
                self._state_posterior(block, precomputed) @ -np.expm1(-precomputed.sums), ANSWER_EDGE, 1 - ANSWER_EDGE
            )
        return expected_cells(self.represent(block, precomputed), precomputed.params)

    def _state_posterior(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """P(state of the sources | row) (n, 2^K)."""
        from ..maths.kernels import responsibilities

        return responsibilities(self.log_joint(block, precomputed))[0]

    def predict_cells_at(self, block: Block, precomputed: NoisyOrPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        if self.exact:
            assert precomputed.sums is not None
            states, on = self._state_posterior(block, precomputed), np.empty(len(rows))
            for part in _pieces(len(rows)):
                on[part] = np.einsum("ms,sm->m", states[rows[part]], -np.expm1(-precomputed.sums[:, columns[part]]))
            return np.clip(on, ANSWER_EDGE, 1 - ANSWER_EDGE)
        kept = self._kept(self.represent(block, precomputed)[rows], precomputed, columns)
        return np.clip(1.0 - np.exp(-precomputed.theta0[columns]) * kept.prod(axis=1), ANSWER_EDGE, 1 - ANSWER_EDGE)

    def _kept(self, shares: Float, precomputed: NoisyOrPrecomputed, columns: Any) -> Float:
        """P(source k does not switch the cell on) (m, K)."""
        links = precomputed.prob.reshape(len(precomputed.theta0), -1)[columns, : shares.shape[1]]
        return 1.0 - shares * links

    def sample_cells(
        self, block: Block, precomputed: NoisyOrPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: the sources of every row, then the cells given the sources."""
        if self.exact:
            assert precomputed.states is not None
            reached = np.cumsum(self._state_posterior(block, precomputed), axis=1)
            on = precomputed.states[np.minimum((by_row[:, None] >= reached).sum(axis=1), len(precomputed.states) - 1)]
        else:
            keys = (by_row * 2.0**53).astype(np.uint64)
            on = (
                content_uniforms(keys, len(precomputed.params.prior), 0, "fill") < self.represent(block, precomputed)
            ).astype(float)
        kept = self._kept(on[rows], precomputed, columns)
        return by_cell < 1.0 - np.exp(-precomputed.theta0[columns]) * kept.prod(axis=1)

    def causes(self, block: Block, precomputed: NoisyOrPrecomputed, rows: Any, columns: Any) -> Causes:
        """Shares, evidence and leave-one-out probability of single cells.

        Of a one the share of a source is its part in the expected strength at the cell; of a zero its part in the surprise
        that the cell stayed off.
        """
        from .weight_kernels import credit_of_ones

        if self.exact:
            parts = [
                self._exact_causes(block, precomputed, rows[part], columns[part]) for part in _pieces(max(len(rows), 1))
            ]
            return joined(parts)
        k = len(precomputed.params.prior)
        shares, _, odds = self.infer(block, precomputed)
        codes = block.at(rows, columns)
        theta = precomputed.theta.reshape(len(precomputed.theta0), -1)[columns, :k]
        theta0 = precomputed.theta0[columns]
        own = shares[rows]
        # 1. Log odds of the sources without the cell.
        credit = np.zeros((len(rows), k))
        ones = np.flatnonzero(codes == ONE)
        at = columns[ones]
        slope, lift = (
            table.reshape(len(precomputed.theta0), -1)[at, :k] for table in (precomputed.slope, precomputed.lift)
        )
        part = np.zeros((len(ones), k))
        credit_of_ones(theta[ones], theta0[ones], precomputed.top[at], slope, lift, own[ones], CELL_TOL, part)
        credit[ones] = part
        change = np.where((codes == ONE)[:, None], credit, np.where((codes == UNKNOWN)[:, None], 0.0, -theta))
        without = 1.0 / (1.0 + np.exp(-np.clip(odds[rows] - change, -700, 700)))
        # 2. What follows for the cell.
        off = -np.log1p(-np.minimum(without * -np.expm1(-theta), 1 - 1e-15))
        surprise = theta0 + off.sum(axis=1)
        probability = np.clip(-np.expm1(-surprise), ANSWER_EDGE, 1 - ANSWER_EDGE)
        # 3. Parts of the sources: in the strength behind a one, in the surprise of a zero.
        strength = np.where(
            (codes == ONE)[:, None], own * theta, np.where((codes == UNKNOWN)[:, None], without * theta, off)
        )
        total = np.maximum(theta0 + strength.sum(axis=1), 1e-300)
        # 4. Evidence: the other sources averaged as the rest of the row weighs them.
        others = np.exp(-(surprise[:, None] - off))
        with np.errstate(divide="ignore"):
            of_one = np.log(np.maximum(-np.expm1(-theta - (surprise[:, None] - off)), 1e-300)) - np.log(
                np.maximum(1.0 - others, 1e-300)
            )
        evidence = np.where((codes == ONE)[:, None], of_one, np.where((codes == UNKNOWN)[:, None], 0.0, -theta))
        return Causes(strength / total[:, None], evidence, probability, leak=theta0 / total)

    def _exact_causes(self, block: Block, precomputed: NoisyOrPrecomputed, rows: Any, columns: Any) -> Causes:
        """The same through all states of the sources."""
        assert precomputed.states is not None and precomputed.sums is not None
        states, codes = precomputed.states, block.at(rows, columns)
        theta, theta0 = precomputed.params.theta.T[columns], precomputed.theta0[columns]
        u = precomputed.sums[:, columns].T  # (m, 2^K)
        cell = np.where((codes == ONE)[:, None], -np.expm1(-u), np.exp(-u))
        cell[codes == UNKNOWN] = 1.0
        whole = self._state_posterior(block, precomputed)[rows]
        rest = whole / np.maximum(cell, 1e-300)
        rest /= rest.sum(axis=1, keepdims=True)
        with_cell, without = whole @ states, rest @ states
        probability = np.einsum("ms,ms->m", rest, -np.expm1(-u))
        # Expected part of every source in the strength behind a one; for others, in the strength to be expected.
        of_one = np.einsum("ms,sk->mk", whole / u, states) * theta
        of_other = without * theta / (theta0 + (without * theta).sum(axis=1))[:, None]
        share = np.where((codes == ONE)[:, None], of_one, of_other)
        evidence = logit(np.clip(with_cell, 1e-300, 1 - 1e-16)) - logit(np.clip(without, 1e-300, 1 - 1e-16))
        evidence[codes == UNKNOWN] = 0.0
        leak = np.maximum(1.0 - share.sum(axis=1), 0.0)
        return Causes(share, evidence, np.clip(probability, ANSWER_EDGE, 1 - ANSWER_EDGE), leak=leak)

    def sample_rows(self, params: NoisyOrParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) and their sources (n, K)."""
        sources = (rng.random((n, len(params.prior))) < params.prior).astype(np.uint8)
        cells = self.draw_cells(params, sources, rng)
        while self.truncated and (empty := np.flatnonzero(cells.sum(axis=1) == 0)).size:  # such rows are never seen
            sources[empty] = rng.random((len(empty), len(params.prior))) < params.prior
            cells[empty] = self.draw_cells(params, sources[empty], rng)
        return cells, sources

    def draw_cells(self, params: NoisyOrParams, sources: Any, rng: np.random.Generator) -> Any:
        """Cells of rows with given sources."""
        off = np.exp(-(params.theta0 + sources @ params.theta))
        return (rng.random(off.shape) >= off).astype(np.uint8)

    def n_free(self, params: NoisyOrParams) -> int:
        """Free parameters: K D links, K priors, D leaks."""
        return params.theta.size + params.prior.size + params.theta0.size


def _pieces(n: int, size: int = 2048) -> list[slice]:
    """Slices of at most ``size`` out of ``n``."""
    return [slice(low, min(low + size, n)) for low in range(0, n, size)]
