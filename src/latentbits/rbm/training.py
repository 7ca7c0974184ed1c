"""Contrastive divergence as chains of :mod:`latentbits.engine.chains`: a step is an epoch.

CD-k: from a row v0 draw hidden units and visible ones in turn, k times, and follow v0 σ(c + v0 W) - vk σ(c + vk W) (Hinton
2002).  k grows from epoch to epoch, as in the report.  Unknown cells take part as they were last drawn given the
rest of their row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float, Lists
from ..data.rng import stream
from ..engine.sweep import one_blas_thread
from .model import BoltzmannParams

# Share of the last change that is added to a change, before and after this many epochs (Hinton 2010).
MOMENTUM, LATER_MOMENTUM, LATER = 0.5, 0.9, 5


class TrainState(NamedTuple):
    """Parameters, their last changes, and the unknown cells as last drawn."""

    weights: Annotated[Float, of.reals("D", "K")]
    visible: Annotated[Float, of.reals("D")]
    hidden: Annotated[Float, of.reals("K")]
    weights_change: Annotated[Float, of.reals("D", "K")]
    visible_change: Annotated[Float, of.reals("D")]
    hidden_change: Annotated[Float, of.reals("K")]
    filled: Annotated[Any, of.Array(("U",), "uint8", most=1)]  # of the unknown cells

    @property
    def params(self) -> BoltzmannParams:
        """The parameters."""
        return BoltzmannParams(self.weights, self.visible, self.hidden)


@dataclass(frozen=True)
class Contrastive:
    """How machines are trained."""

    rows: Lists
    marginals: Float
    n_components: int
    n_epochs: int
    steps: tuple[int, int]  # Gibbs steps in the first and in the last epoch
    rate: float
    decay: float
    batch: int
    seed: int

    state_type = TrainState
    together = True

    @property
    def sizes(self) -> of.Sizes:
        """Columns, hidden units and unknown cells."""
        return {"D": len(self.marginals), "K": self.n_components, "U": len(self.rows.unknown_indices)}

    def start(self, chain: int) -> TrainState:
        """Small random weights, biases at the marginals."""
        n_columns = len(self.marginals)
        rng = stream(self.seed, "start", chain)
        weights = 0.01 * rng.standard_normal((n_columns, self.n_components))
        visible, hidden = np.log(self.marginals) - np.log1p(-self.marginals), np.zeros(self.n_components)
        filled = rng.random(len(self.rows.unknown_indices)) < self.marginals[self.rows.unknown_indices]
        changes = [np.zeros_like(array) for array in (weights, visible, hidden)]
        return TrainState(weights, visible, hidden, changes[0], changes[1], changes[2], filled.astype(np.uint8))

    def open(self, chain: int, state: TrainState) -> Training:
        """A machine in training."""
        return Training(self, chain, state)

    def record(self, state: TrainState) -> Any:
        """Nothing but the last state is kept."""
        raise NotImplementedError

    def steps_at(self, epoch: int) -> int:
        """Gibbs steps of an epoch, growing evenly."""
        first, last = self.steps
        return int(first + round((last - first) * epoch / max(1, self.n_epochs - 1)))


class Training:
    """A machine in training."""

    def __init__(self, process: Contrastive, chain: int, state: TrainState) -> None:
        self.process, self.chain = process, chain
        self.params = [array.copy() for array in state[:3]]
        self.changes = [array.copy() for array in state[3:6]]
        self.filled = state.filled.copy()
        self.value = np.nan

    def state(self) -> TrainState:
        """All that is needed to go on."""
        copies = [array.copy() for array in (*self.params, *self.changes, self.filled)]
        return TrainState(*copies)

    def trace(self) -> Float:
        """Log probability of the table given hidden units drawn from it, nats."""
        return np.array([self.value])

    def step(self, number: int) -> None:
        """One epoch: all rows in random order, some at a time."""
        process = self.process
        rng = stream(process.seed, "sweep", self.chain, number)
        order = rng.permutation(len(process.rows.indptr) - 1)
        starts = range(0, len(order), process.batch)
        keys = rng.integers(2**63, size=(len(starts), 2), dtype=np.uint64)
        self.value = 0.0
        with one_blas_thread():
            for low, (fill_key, free_key) in zip(starts, keys):
                self._follow(order[low : low + process.batch], number, fill_key, free_key)

    def _follow(self, rows: Any, number: int, fill_key: Any, free_key: Any) -> None:
        """One step of the parameters, from draws in float32."""
        from .kernels import contrast, fill_rows, lay_out

        process, lists = self.process, self.process.rows
        weights, visible, hidden = (array.astype(np.float32) for array in self.params)
        cells, fantasy = (np.empty((len(rows), len(visible)), np.float32) for _ in range(2))
        given, free = (np.empty((len(rows), len(hidden)), np.float32) for _ in range(2))
        # 1. Draw hidden units, and with them the unknown cells.
        lay_out(lists, rows, self.filled, cells)
        self.value += fill_rows(lists, rows, weights, visible, hidden, fill_key, self.filled, cells)
        # 2. Let the machine run freely for some steps.
        contrast(cells, weights, visible, hidden, process.steps_at(number), free_key, given, fantasy, free)
        # 3. Follow the difference.
        momentum = MOMENTUM if number < LATER else LATER_MOMENTUM
        towards = (
            (cells.T @ given - fantasy.T @ free) / len(rows) - process.decay * self.params[0],
            (cells - fantasy).mean(axis=0),
            (given - free).mean(axis=0),
        )
        for array, change, gradient in zip(self.params, self.changes, towards):
            change *= momentum
            change += process.rate * gradient
            array += change
