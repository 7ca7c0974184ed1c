"""Restricted Boltzmann machine: energies, conditionals, and how cells are filled.

Story: D visible and H hidden units, all 0 or 1, with p(v, h) ∝ exp(b·v + c·h + v·W h).

===================  =============================  ===========================================
symbol               name here                      where
===================  =============================  ===========================================
W_ij                 ``weights`` (D, H)             Salakhutdinov, Mnih & Hinton (2007)
b_i, c_j             ``visible``, ``hidden``        biases
s_j                  ``inputs`` (n, H)              c_j + Σ over the row's ones of W_ij
===================  =============================  ===========================================

Unknown cells are filled in one of four ways.

* ``"gibbs"``: hidden units and unknown cells are drawn in turn with the known cells held; the mean after a burn-in
  of P(cell | all other cells), in which hidden units are summed over.  Exact in the limit, and close to it in 20 sweeps.
* ``"exact"``: all 2^H hidden states are summed over; for up to twelve hidden units.
* ``"mean-field"``: probabilities instead of draws.
* ``"factorised"``: σ(b_i + Σ_j log(1 + σ(s_j)(e^W_ij - 1))), the rule of the report.  It is the exact conditional
  with *every other unknown
  cell off*: a machine that was trained on whole rows cannot tell absent from off, so it is biased.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from .. import declared as of
from ..data.block import ONE, UNKNOWN, Block, Float, row_hashes
from ..data.rng import stream
from ..engine.protocols import Causes

# Hidden units whose states can be summed over.
MOST_EXACT = 12
# Sweeps between two looks at known cells, which are of no use to the sweeps.
LOOK_EVERY = 2
# Weights are taken to be at most this large where cells are filled by sweeps: eight factors e^W have a float64 as product.
LARGEST = 80.0
# Row × column (× hidden) numbers that are held at a time.
TILE = 4_000_000
FILLS = ("gibbs", "exact", "mean-field", "factorised")


class BoltzmannParams(NamedTuple):
    """W, b and c."""

    weights: Annotated[Float, of.reals("D", "K")]
    visible: Annotated[Float, of.reals("D")]
    hidden: Annotated[Float, of.reals("K")]


class BoltzmannPrecomputed(NamedTuple):
    """Parameters, and for small machines all hidden states."""

    params: BoltzmannParams
    logits: Float | None  # (D, 2^H) input of every visible unit in every hidden state
    log_z: float


class GibbsMeans(NamedTuple):
    """What clamped sweeps have shown."""

    filled: Float  # (U,) P(cell = 1) of the unknown cells, row by row
    cells: Float  # (n, D) of all cells, or empty
    hidden: Float  # (n, H) P(hidden = 1)
    drawn: Float  # (n, H) the last hidden draw


def softplus(x: Any) -> Any:
    """log(1 + e^x)."""
    return np.logaddexp(0.0, x)


def hidden_states(n_hidden: int) -> Float:
    """All states (2^H, H)."""
    return ((np.arange(2**n_hidden)[:, None] >> np.arange(n_hidden)) & 1).astype(np.float64)


@dataclass(frozen=True)
class BoltzmannModel:
    """Answers of a machine."""

    n_components: int
    fill_in: str = "gibbs"
    n_sweeps: int = 50
    seed: int = 0

    params_type = BoltzmannParams
    has_row_state = False

    def precompute(self, params: BoltzmannParams) -> BoltzmannPrecomputed:
        """Sums over hidden states, if there are few."""
        if self.n_components > MOST_EXACT:
            return BoltzmannPrecomputed(params, None, np.nan)
        states = hidden_states(self.n_components)
        logits = params.weights @ states.T + params.visible[:, None]
        offsets = states @ params.hidden
        return BoltzmannPrecomputed(params, logits, float(logsumexp(offsets + softplus(logits).sum(axis=0))))

    def _tiles(self, block: Block, width: int) -> Iterator[tuple[slice, Block]]:
        """Some rows after the other, with ``width`` numbers held per row."""
        step = max(1, TILE // width)
        for low in range(0, block.n_rows, step):
            rows = slice(low, min(low + step, block.n_rows))
            yield rows, block if step >= block.n_rows else block.take(np.arange(rows.start, rows.stop))

    def inputs(self, block: Block, precomputed: BoltzmannPrecomputed) -> Float:
        """Input (n, H) of the hidden units from the known cells."""
        return block.ones.dot(precomputed.params.weights) + precomputed.params.hidden

    def _state_shares(self, block: Block, precomputed: BoltzmannPrecomputed) -> tuple[Float, Float]:
        """Posterior (n, 2^H) of the hidden states, and log p(known cells) (n,)."""
        assert precomputed.logits is not None
        joint = np.empty((block.n_rows, 2**self.n_components))
        joint[:, 0] = block.ones.dot(precomputed.params.visible[:, None])[:, 0]
        for j, inputs in enumerate(self.inputs(block, precomputed).T):  # states with unit j on, from those without it
            np.add(joint[:, : 2**j], inputs[:, None], out=joint[:, 2**j : 2 ** (j + 1)])
        if block.unknown is not None:
            joint += block.unknown.dot(softplus(precomputed.logits))
        total = logsumexp(joint, axis=1)
        return np.exp(joint - total[:, None]), total - precomputed.log_z

    def log_prob(self, block: Block, precomputed: BoltzmannPrecomputed) -> Float:
        """log p(row) (n,); small machines only."""
        out = np.empty(block.n_rows)
        for rows, part in self._tiles(block, 2**self.n_components):
            out[rows] = self._state_shares(part, precomputed)[1]
        return out

    def free_energy(self, block: Block, precomputed: BoltzmannPrecomputed) -> Float:
        """-log Σ_h exp(-E(v, h)) (n,) of complete rows."""
        return -(
            block.ones.dot(precomputed.params.visible[:, None])[:, 0]
            + softplus(self.inputs(block, precomputed)).sum(axis=1)
        )

    def _filled(self, block: Block, precomputed: BoltzmannPrecomputed) -> tuple[Float, Float]:
        """P(cell = 1 | known cells) (n, D) and P(hidden = 1 | known cells) (n, H), by the chosen way."""
        if self.fill_in == "exact":
            shares, _ = self._state_shares(block, precomputed)
            assert precomputed.logits is not None
            return shares @ expit(precomputed.logits).T, shares @ hidden_states(self.n_components)
        if self.fill_in == "factorised":
            inputs = self.inputs(block, precomputed)
            return self._factorised(inputs, precomputed), expit(inputs)
        if self.fill_in == "mean-field":
            return self._mean_field(block, precomputed)
        means = self._gibbs(block, precomputed, whole=True)
        return means.cells, means.hidden

    def _factorised(self, inputs: Float, precomputed: BoltzmannPrecomputed) -> Float:
        """The report's rule (n, D)."""
        weights, visible, _ = precomputed.params
        on, grown = expit(inputs), np.expm1(weights)
        out = np.empty((len(inputs), len(visible)))
        for i in range(len(inputs)):
            out[i] = expit(visible + np.log1p(on[i] * grown).sum(axis=1))
        return out

    def _mean_field(self, block: Block, precomputed: BoltzmannPrecomputed) -> tuple[Float, Float]:
        """Probabilities in place of draws, until they stand still."""
        weights, visible, _ = precomputed.params
        known = self.inputs(block, precomputed)
        unknown = self._unknown(block)
        cells = np.broadcast_to(expit(visible), unknown.shape).copy()
        for _ in range(self.n_sweeps):
            hidden = expit(known + (cells * unknown) @ weights)
            new = expit(hidden @ weights.T + visible)
            moved = np.abs(new - cells).max(initial=0.0)
            cells = new
            if moved < 1e-9:
                break
        return cells, expit(known + (cells * unknown) @ weights)

    def _unknown(self, block: Block) -> Float:
        """Unknown cells (n, D) as numbers."""
        shape = (block.n_rows, block.n_columns)
        return np.zeros(shape) if block.unknown is None else block.unknown.dense().astype(np.float64)

    def _gibbs(self, block: Block, precomputed: BoltzmannPrecomputed, whole: bool) -> GibbsMeans:
        """Clamped Gibbs: means after a fifth of the sweeps, those of known cells, if ``whole``, from every second sweep.

        Random numbers are addressed by what a row holds, so equal rows are filled alike wherever they stand.
        """
        from .kernels import clamped_sweeps

        weights, visible, _ = precomputed.params
        n_hidden, width = self.n_components, -(-self.n_components // 8) * 8
        known = np.full((block.n_rows, width), -np.inf, np.float32)
        known[:, :n_hidden] = self.inputs(block, precomputed)
        padded = np.zeros((block.n_columns, width), np.float32)
        padded[:, :n_hidden] = weights
        indptr, indices = block.unknown_lists()
        burn_in = self.n_sweeps // 5
        filled, hidden = np.zeros(len(indices)), np.zeros((block.n_rows, width))
        drawn = np.empty((block.n_rows, width), np.float32)
        cells = np.zeros((block.n_rows, block.n_columns) if whole else (0, 0))
        salts = stream(self.seed, "fill").integers(2**64 - 1, size=self.n_sweeps, dtype=np.uint64)
        padded = np.clip(padded.ravel(), -LARGEST, LARGEST)
        links = 8 * int(LARGEST // np.abs(padded).max(initial=1.0))  # factors whose product a float64 holds
        tables = (padded, np.expm1(padded), np.expm1(-padded), visible.astype(np.float32))
        plan = (burn_in, LOOK_EVERY, links)
        unknown, keys = (indptr, indices), row_hashes(block)
        clamped_sweeps(unknown, known, tables, keys, salts, plan, filled, hidden, drawn, cells)
        n_kept = self.n_sweeps - burn_in
        if whole:
            cells /= -(-n_kept // LOOK_EVERY)
            cells[np.repeat(np.arange(block.n_rows), np.diff(indptr)), indices] = filled / n_kept
        return GibbsMeans(filled / n_kept, cells, hidden[:, :n_hidden] / n_kept, drawn[:, :n_hidden].astype(np.float64))

    def represent(self, block: Block, precomputed: BoltzmannPrecomputed) -> Float:
        """P(hidden = 1 | known cells) (n, H)."""
        if block.unknown is None:
            return np.asarray(expit(self.inputs(block, precomputed)))
        out = np.empty((block.n_rows, self.n_components))
        for rows, part in self._tiles(block, self._width(block)):
            out[rows] = self._filled(part, precomputed)[1]
        return out

    def _width(self, block: Block) -> int:
        """Numbers held per row while cells are filled."""
        return 3 * block.n_columns + (2**self.n_components if self.fill_in == "exact" else self.n_components)

    def predict_cells(self, block: Block, precomputed: BoltzmannPrecomputed) -> Float:
        """P(cell = 1 | known cells of the row) (n, D)."""
        out = np.empty((block.n_rows, block.n_columns))
        for rows, part in self._tiles(block, self._width(block)):
            out[rows] = self._filled(part, precomputed)[0]
        return np.clip(out, 1e-15, 1 - 1e-15)

    def predict_cells_at(self, block: Block, precomputed: BoltzmannPrecomputed, rows: Any, columns: Any) -> Float:
        """The same for single cells (m,)."""
        asked, inverse = np.unique(rows, return_inverse=True)
        part = block.take(asked)
        if self.fill_in == "gibbs" and (part.at(inverse, columns) == UNKNOWN).all():
            indptr, indices = part.unknown_lists()
            places = np.repeat(np.arange(part.n_rows), np.diff(indptr)) * block.n_columns + indices
            filled = self._gibbs(part, precomputed, whole=False).filled
            return np.clip(filled[np.searchsorted(places, inverse * block.n_columns + columns)], 1e-15, 1 - 1e-15)
        out: Float = self.predict_cells(part, precomputed)[inverse, columns]
        return out

    def sample_cells(
        self, block: Block, precomputed: BoltzmannPrecomputed, rows: Any, columns: Any, by_row: Float, by_cell: Float
    ) -> Any:
        """A joint draw of single cells: the hidden units after the last sweep, then the cells given them."""
        weights, visible, _ = precomputed.params
        drawn = np.empty((block.n_rows, self.n_components))
        for part_rows, part in self._tiles(block, self._width(block)):
            drawn[part_rows] = self._gibbs(part, precomputed, whole=False).drawn
        return by_cell < expit(np.einsum("mh,mh->m", drawn[rows], weights[columns]) + visible[columns])

    def causes(self, block: Block, precomputed: BoltzmannPrecomputed, rows: Any, columns: Any) -> Causes:
        """What speaks for the value of single cells: hidden units, inferred from the other cells, and the bias."""
        weights, visible, _ = precomputed.params
        codes = block.at(rows, columns)
        chances = self.represent(block, precomputed)[rows]
        rest = np.log(np.maximum(chances, 1e-300)) - np.log(np.maximum(1 - chances, 1e-300))
        rest = rest - np.where(codes == ONE, 1.0, 0.0)[:, None] * weights[columns]
        without = expit(rest)  # hidden units without the cell itself
        gains = np.log1p(without * np.expm1(weights[columns]))
        logit = visible[columns] + gains.sum(axis=1)
        sign = np.where(codes == UNKNOWN, np.sign(logit), np.where(codes == ONE, 1.0, -1.0))
        speaks = np.maximum(sign[:, None] * gains, 0.0)
        bias = np.maximum(sign * visible[columns], 0.0)
        total = speaks.sum(axis=1) + bias
        safe = np.where(total > 0, total, 1.0)
        leak = np.where(total > 0, bias / safe, 1.0)
        probability = np.clip(expit(logit), 1e-15, 1 - 1e-15)
        unknown = codes == UNKNOWN  # these are filled as everywhere else
        if unknown.any():
            probability[unknown] = self.predict_cells_at(block, precomputed, rows[unknown], columns[unknown])
        return Causes(speaks / safe[:, None], sign[:, None] * gains, probability, None, leak)

    def sample_rows(self, params: BoltzmannParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows (n, D) after 1,000 sweeps from independent cells, and their hidden units."""
        weights, visible, hidden = params
        cells = (rng.random((n, len(visible))) < expit(visible)).astype(np.float64)
        units = np.zeros((n, len(hidden)))
        for _ in range(1000):
            units = (rng.random(units.shape) < expit(cells @ weights + hidden)).astype(np.float64)
            cells = (rng.random(cells.shape) < expit(units @ weights.T + visible)).astype(np.float64)
        return cells.astype(np.uint8), units.astype(np.uint8)

    def n_free(self, params: BoltzmannParams) -> int:
        """Free parameters: W, b and c."""
        return sum(array.size for array in params)
