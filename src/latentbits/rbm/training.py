"""Contrastive divergence as chains of :mod:`latentbits.engine.chains`: a step is an epoch.

CD-k: from a row v0 draw hidden units and visible ones in turn, k times, and follow v0 σ(c + v0 W) - vk σ(c + vk W) (Hinton
2002).  k grows from epoch to epoch, as in the report.  Unknown cells take part as they were last drawn given the
rest of their row.

Draws make every step noisy, so that a machine whose steps stay long ends at some distance from where it was going, and more
epochs take it no closer.  Three things see to that:

* steps shrink evenly to 0 over the last part of the epochs;
* the answer is the mean of the parameters after every step of the last epochs (Polyak & Juditsky 1992);
* visible and hidden units enter less their means, (v - μ)(h - λ) in place of v h, which takes from weights what biases can
  do (Melchior, Fischer & Wiskott 2016).  It is another direction for the same machine, with longer steps that are safe.
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
# Share of a batch in the running mean of the hidden units.
NEWS = 0.01


class TrainState(NamedTuple):
    """Parameters, their last changes, their means, the hidden units' means, and the unknown cells as last drawn."""

    weights: Annotated[Float, of.reals("D", "K")]
    visible: Annotated[Float, of.reals("D")]
    hidden: Annotated[Float, of.reals("K")]
    weights_change: Annotated[Float, of.reals("D", "K")]
    visible_change: Annotated[Float, of.reals("D")]
    hidden_change: Annotated[Float, of.reals("K")]
    weights_mean: Annotated[Float, of.reals("D", "K")]  # over the steps so far that count; before any, the last
    visible_mean: Annotated[Float, of.reals("D")]
    hidden_mean: Annotated[Float, of.reals("K")]
    centre: Annotated[Float, of.reals("K")]  # running mean of P(hidden = 1)
    filled: Annotated[Any, of.Array(("U",), "uint8", most=1)]  # of the unknown cells

    @property
    def params(self) -> BoltzmannParams:
        """The parameters: their means over the last steps."""
        return BoltzmannParams(self.weights_mean, self.visible_mean, self.hidden_mean)


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
    rate_decay: float = 0.0  # share of the epochs, at the end, over which steps shrink to 0
    averaging: float = 0.0  # share of the epochs, at the end, whose parameters are averaged
    centered: bool = False

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
        params = BoltzmannParams(weights, visible, hidden)
        changes = BoltzmannParams(*(np.zeros_like(array) for array in params))
        return TrainState(*params, *changes, *params, np.full(self.n_components, 0.5), filled.astype(np.uint8))

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

    def rate_at(self, epoch: int, part: float) -> float:
        """Step size when ``part`` of an epoch is done: constant, then falling evenly to 0."""
        left = 1.0 - (epoch + part) / self.n_epochs
        return self.rate if left >= self.rate_decay else self.rate * left / self.rate_decay

    @property
    def first_averaged(self) -> int:
        """The first epoch whose parameters are averaged."""
        return self.n_epochs - round(self.averaging * self.n_epochs)


class Training:
    """A machine in training."""

    def __init__(self, process: Contrastive, chain: int, state: TrainState) -> None:
        self.process, self.chain = process, chain
        self.params = [array.copy() for array in state[:3]]
        self.changes = [array.copy() for array in state[3:6]]
        self.means = [array.copy() for array in state[6:9]]
        self.centre, self.filled = state.centre.copy(), state.filled.copy()
        self.value = np.nan

    def state(self) -> TrainState:
        """All that is needed to go on."""
        held = (*self.params, *self.changes, *self.means, self.centre, self.filled)
        return TrainState(*(array.copy() for array in held))

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
        averaged = (number - process.first_averaged) * len(starts)  # steps that the means hold
        self.value = 0.0
        with one_blas_thread():
            for place, (low, (fill_key, free_key)) in enumerate(zip(starts, keys)):
                towards = self._contrast(order[low : low + process.batch], number, fill_key, free_key)
                self._follow(towards, number, process.rate_at(number, place / len(starts)))
                if averaged >= 0:
                    averaged += 1
                    for mean, array in zip(self.means, self.params):
                        mean += (array - mean) / averaged
        if averaged < 0:
            self.means = [array.copy() for array in self.params]

    def _contrast(self, rows: Any, number: int, fill_key: Any, free_key: Any) -> tuple[Float, Float, Float]:
        """Where contrastive divergence of some rows points, from draws in float32."""
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
        # 3. Take the difference.
        towards = (
            (cells.T @ given - fantasy.T @ free) / len(rows),
            (cells - fantasy).mean(axis=0, dtype=np.float64),
            (given - free).mean(axis=0, dtype=np.float64),
        )
        if not process.centered:
            return towards[0] - process.decay * self.params[0], towards[1], towards[2]
        self.centre += NEWS * (given.mean(axis=0, dtype=np.float64) - self.centre)
        return centred(*towards, process.marginals, self.centre, process.decay * self.params[0])

    def _follow(self, towards: tuple[Float, Float, Float], number: int, rate: float) -> None:
        """One step of the parameters."""
        momentum = MOMENTUM if number < LATER else LATER_MOMENTUM
        for array, change, gradient in zip(self.params, self.changes, towards):
            change *= momentum
            change += rate * gradient
            array += change


def centred(
    weights: Float, visible: Float, hidden: Float, marginals: Float, centre: Float, pull: Float
) -> tuple[Float, Float, Float]:
    """The direction of units less their means, from that of the units and the ``pull`` of the weights toward 0."""
    weights = weights - np.outer(visible, centre) - np.outer(marginals, hidden) - pull
    return weights, visible - weights @ centre, hidden - marginals @ weights
