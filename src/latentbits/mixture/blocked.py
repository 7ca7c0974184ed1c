"""Blocked Gibbs sampling: exact, and every row on its own, so that blocks of rows may lie anywhere.

Given the partition, draw weights and probabilities; given those, draw the block of every row, all independent.  One pass over
the table per sweep; what comes back are whole numbers (N_k, c_kd, n_kd), and a row's random numbers are addressed by
(seed, chain, sweep, row), so the draws are the same bits for any number of blocks, threads and workers.

Dirichlet process and Pitman-Yor without truncation, by slices (Walker 2007; Kalli, Griffin & Walker 2011): given the
partition, the weights of its blocks and of the rest are Dirichlet(N_1 - σ, ..., N_K - σ, α + σ K); the rest is
broken into sticks until what is left is below every row's level u_n ~ U(0, weight of its block), and blocks with a
weight above u_n are alike for row n. It mixes more slowly than the collapsed sampler: probabilities that were drawn
hold rows back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block, Float
from ..data.rng import row_uniforms, stream
from ..engine.protocols import Sweep
from ..engine.stats import Lowest
from ..errors import FitError, InputError
from ..maths.latent_class import aligned_zeros
from .gibbs import ChainState, Draw, canonical, most_slots, trace_of
from .hyper import BlockCounts, Learning, PriorNumbers, draw_numbers, log_given_cells
from .partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior

# Sticks broken off at most in one sweep; their expected number is about α log(N), but far more with a large discount.
MOST_STICKS = 1_000_000
TINY = 1e-290


class RowStateMixin(NamedTuple):
    """Labels of a block's rows, and where the block begins."""

    start: int
    labels: Any  # (n,) int32


class Counts(NamedTuple):
    """Whole numbers of slots: rows (S,), ones and unknown cells (D, S)."""

    sizes: Any
    ones: Any
    unknown: Any


class Atoms(NamedTuple):
    """Weights and probabilities in the form that blocks need, padded to a multiple of eight."""

    weights: Float  # (S,)
    base: Float  # (S,)
    delta: Float  # (D * S,)
    other: Float  # (D * S,)


def _lists(block: Block) -> Any:
    from .gibbs_kernels import Lists

    return Lists(*block.ones.lists(), *block.unknown_lists())


def _counted(block: Block, labels: Any, n_slots: int) -> Counts:
    """Counts of a block's rows."""
    from .gibbs_kernels import count_rows

    sizes = np.zeros(n_slots, np.int64)
    ones, unknown = (np.zeros((block.n_columns, n_slots), np.int32) for _ in range(2))
    count_rows(_lists(block), labels, sizes, ones, unknown)
    return Counts(sizes, ones, unknown)


class _Start:
    """First labels of a block."""

    def __init__(self, seed: int, chain: int, n_blocks: int, labels: Any) -> None:
        self.seed, self.chain, self.n_blocks, self.labels = seed, chain, n_blocks, labels

    def __call__(self, block: Block, rows: Any) -> tuple[None, RowStateMixin]:
        if self.labels is not None:
            return None, RowStateMixin(block.start, self.labels[block.start : block.start + block.n_rows])
        uniforms = row_uniforms(self.seed, "start", block.start, block.n_rows, 1, self.chain)[:, 0]
        return None, RowStateMixin(block.start, (uniforms * self.n_blocks).astype(np.int32))


class _Count:
    """Counts of a block as its rows are labelled."""

    def __call__(self, block: Block, rows: RowStateMixin, n_slots: int) -> tuple[Counts, RowStateMixin]:
        return _counted(block, rows.labels, n_slots), rows


class _Levels:
    """The lowest level of a block's rows; ``places`` are the present numbers of the slots."""

    def __init__(self, seed: int, chain: int, number: int) -> None:
        self.address = (seed, chain, number)

    def levels(self, rows: RowStateMixin, weights: Float, places: Any) -> Float:
        """u_n (n,)."""
        seed, chain, number = self.address
        uniforms = row_uniforms(seed, "sweep", rows.start, len(rows.labels), 2, chain, number)
        out: Float = uniforms[:, 0] * weights[places[rows.labels]]
        return out

    def __call__(self, rows: RowStateMixin, weights: Float, places: Any) -> tuple[Lowest, RowStateMixin]:
        return Lowest(float(self.levels(rows, weights, places).min(initial=np.inf)), rows.start, None), rows


class _LowestLevel:
    """:class:`_Levels` with its arguments, as a function of row states alone."""

    def __init__(self, levels: _Levels, weights: Float, places: Any) -> None:
        self.levels, self.weights, self.places = levels, weights, places

    def __call__(self, rows: RowStateMixin) -> tuple[Lowest, RowStateMixin]:
        return self.levels(rows, self.weights, self.places)


class _Assign:
    """New labels of a block, and its counts."""

    def __init__(self, levels: _Levels, sliced: bool) -> None:
        self.levels, self.sliced = levels, sliced

    def __call__(self, block: Block, rows: RowStateMixin, atoms: Atoms, places: Any) -> tuple[Counts, RowStateMixin]:
        from .gibbs_kernels import assign_rows

        seed, chain, number = self.levels.address
        uniforms = row_uniforms(seed, "sweep", rows.start, block.n_rows, 2, chain, number)[:, 1].copy()
        levels = self.levels.levels(rows, atoms.weights, places) if self.sliced else np.empty(0)
        labels = np.empty(block.n_rows, np.int32)
        assign_rows(_lists(block), atoms.base, atoms.delta, atoms.other, atoms.weights, levels, uniforms, labels)
        return _counted(block, labels, len(atoms.weights)), RowStateMixin(rows.start, labels)


@dataclass(frozen=True)
class BlockedGibbs:
    """The sampler as chains of :mod:`latentbits.engine.chains`; the table stays where it is."""

    sweep: Sweep
    n_columns: int
    prior: PartitionPrior
    numbers: PriorNumbers
    learning: Learning
    init: Any
    start_blocks: int
    seed: int

    state_type = ChainState
    together = False  # a chain uses all threads or workers by itself

    @property
    def sizes(self) -> of.Sizes:
        """Rows, columns, and the slots that there are."""
        n_rows = int(self.sweep.source.shape[0])
        slots = self.prior.n_components if isinstance(self.prior, FinitePrior) else most_slots(n_rows)
        return {"N": n_rows, "D": self.n_columns, "slots": slots}

    def start(self, chain: int) -> ChainState:
        """The partition that a chain starts from."""
        labels = None if isinstance(self.init, str) else np.asarray(self.init, np.int32)
        n_blocks = 1 if isinstance(self.init, str) and self.init == "one" else self.start_blocks
        rows = self.sweep.map(_Start(self.seed, chain, n_blocks, labels), [None] * self.sweep.n_blocks)[1]
        return ChainState(self.labels_of(rows), *self.numbers, np.zeros(4, np.int64))

    def labels_of(self, rows: Any) -> Any:
        """All labels in this process."""
        return np.concatenate([state.labels for state in self.sweep.fetch_rows(rows)])

    def placed(self, labels: Any) -> Any:
        """Labels as row states, where the blocks are."""
        return placed_labels(self.sweep, labels)

    def open(self, chain: int, state: ChainState) -> BlockedChain:
        """A chain at work."""
        return BlockedChain(self, chain, state)

    def counts(self, labels: Any) -> BlockCounts:
        """Counts of a partition."""
        return partition_counts(self.sweep, labels)

    def record(self, state: ChainState) -> Draw:
        """What is kept of a draw."""
        return Draw(canonical(state.labels), state.alpha, state.beta, state.gamma)


def placed_labels(sweep: Sweep, labels: Any) -> Any:
    """Labels as row states, where the blocks are."""
    return sweep.map(_Start(0, 0, 1, labels.astype(np.int32)), [None] * sweep.n_blocks)[1]


def partition_counts(sweep: Sweep, labels: Any) -> BlockCounts:
    """Counts of a partition of the rows of a sweep."""
    n_slots = int(labels.max()) + 1
    return whole_counts(sweep.map(_Count(), placed_labels(sweep, labels), n_slots, keep_rows=False)[0])


def whole_counts(counts: Counts) -> BlockCounts:
    """Counts (D, S) as ones and zeros (S, D)."""
    ones = counts.ones.T.astype(np.int64)
    return BlockCounts(counts.sizes, ones, counts.sizes[:, None] - ones - counts.unknown.T)


class BlockedChain:
    """A chain: its row states on the workers, its counts here."""

    def __init__(self, process: BlockedGibbs, chain: int, state: ChainState) -> None:
        self.process, self.chain = process, chain
        self.numbers = PriorNumbers(state.alpha, state.beta, state.gamma)
        self.rows = process.placed(state.labels)
        finite = process.prior
        n_slots = finite.n_components if isinstance(finite, FinitePrior) else int(state.labels.max()) + 1
        total, self.rows = process.sweep.map(_Count(), self.rows, n_slots)
        self._hold(total)

    def _hold(self, counts: Counts) -> None:
        """Counts of all slots, empty ones included; those of a partition without names are taken without them."""
        self.all_counts = whole_counts(counts)
        self.slots = np.flatnonzero(counts.sizes > 0)

    @property
    def counts(self) -> BlockCounts:
        """Counts of the blocks."""
        return BlockCounts(*[values[self.slots] for values in self.all_counts])

    @property
    def prior(self) -> PartitionPrior:
        """The prior with the present concentration."""
        return self.process.prior.with_alpha(self.numbers.alpha)

    def step(self, number: int) -> None:
        """Weights and probabilities, then every row, then the prior's numbers when it is their turn."""
        process = self.process
        rng = stream(process.seed, "atoms", self.chain, number)  # rows have "sweep" for theirs
        levels = _Levels(process.seed, self.chain, number)
        sliced = not isinstance(process.prior, FinitePrior)
        weights, held, places = self._sliced(rng, levels) if sliced else self._finite(rng)
        total, self.rows = process.sweep.map(
            _Assign(levels, sliced), self.rows, self._atoms(rng, weights, held), places
        )
        self._hold(total)
        learning = process.learning
        if (learning.alpha is not None or learning.cells is not None) and (number + 1) % learning.every == 0:
            self.numbers = draw_numbers(
                learning, process.prior, self.counts, self.numbers, stream(process.seed, "hyper", self.chain, number)
            )

    def _finite(self, rng: np.random.Generator) -> tuple[Float, BlockCounts, Any]:
        """Weights of all K components."""
        held = self.all_counts
        n_components = self.prior.n_components  # type: ignore[attr-defined]
        held = BlockCounts(*[values[:n_components] for values in held])  # the rest only pads
        gammas = rng.standard_gamma(self.numbers.alpha / n_components + held.sizes)
        return gammas / gammas.sum(), held, np.arange(n_components)

    def _sliced(self, rng: np.random.Generator, levels: _Levels) -> tuple[Float, BlockCounts, Any]:
        """Weights of the blocks, and of as many new ones as a row could join; ``places`` maps slots to them."""
        discount = self.prior.discount if isinstance(self.prior, PitmanYorPrior) else 0.0
        held, n_blocks = self.counts, len(self.slots)
        rest = self.numbers.alpha + discount * n_blocks
        gammas = rng.standard_gamma(np.append(held.sizes - discount, rest))
        weights, left = list(np.maximum(gammas[:-1] / gammas.sum(), TINY)), float(gammas[-1] / gammas.sum())
        places = np.zeros(int(self.slots.max()) + 1, np.int64)
        places[self.slots] = np.arange(n_blocks)
        lowest, self.rows = self.process.sweep.zip_rows(_LowestLevel(levels, np.array(weights), places), self.rows)
        level, j = max(lowest.score, TINY), 0
        while left > level:
            j += 1
            share = rng.beta(1.0 - discount, self.numbers.alpha + discount * (n_blocks + j))
            if left * share > level:  # no row could join a smaller one
                weights.append(left * share)
            left *= 1.0 - share
            if j == MOST_STICKS:
                raise FitError(
                    f"the blocked sampler would need more than {MOST_STICKS} new blocks in one sweep (discount {discount:g}, "
                    f"alpha {self.numbers.alpha:g}). Use solver='collapsed' or a smaller discount."
                )
        return np.array(weights), held, places

    def _atoms(self, rng: np.random.Generator, weights: Float, held: BlockCounts) -> Atoms:
        """Probabilities given the counts, those of new blocks from the prior."""
        n_columns, n_new = self.process.n_columns, len(weights) - len(held.sizes)
        ones, zeros = (np.concatenate((counts, np.zeros((n_new, n_columns), np.int64))) for counts in held[1:])
        # Two Gamma draws give both logarithms without rounding to 0 or 1.
        on, off = _log_gamma(self.numbers.beta + ones, rng), _log_gamma(self.numbers.gamma + zeros, rng)
        log_off = off - np.logaddexp(on, off)
        n_slots = -(-len(weights) // 8) * 8
        wide_weights, base = np.zeros(n_slots), np.zeros(n_slots)
        delta, other = aligned_zeros(n_columns * n_slots), aligned_zeros(n_columns * n_slots)
        wide_weights[: len(weights)], base[: len(weights)] = weights, log_off.sum(axis=1)
        delta.reshape(n_columns, n_slots)[:, : len(weights)] = (on - off).T
        other.reshape(n_columns, n_slots)[:, : len(weights)] = -log_off.T
        return Atoms(wide_weights, base, delta, other)

    def state(self) -> ChainState:
        """All that is needed to go on."""
        return ChainState(self.process.labels_of(self.rows), *self.numbers, np.zeros(4, np.int64))

    def trace(self) -> Float:
        """Numbers that do not depend on how blocks are called."""
        counts = self.counts
        log_joint = self.prior.log_partition(counts.sizes) + log_given_cells(
            counts, self.numbers.beta, self.numbers.gamma
        )
        return trace_of(counts.sizes, self.numbers, log_joint)


def _log_gamma(shape: Any, rng: np.random.Generator) -> Float:
    """Logarithm of Gamma draws, also where the draw itself would be rounded to 0: Γ(a) = Γ(a + 1) U^(1/a)."""
    return np.log(rng.standard_gamma(shape + 1.0)) + np.log1p(-rng.random(np.shape(shape))) / shape


def blocked_gibbs(sweep: Any, n_columns: int, owner: str, **common: Any) -> BlockedGibbs:
    """The sampler, or why not."""
    if isinstance(common["prior"], FiniteMixturesPrior):
        raise InputError(f"{owner}: weight_prior='finite-mixtures' needs solver='collapsed'.")
    init = common["init"]
    if isinstance(init, str) and init not in ("random", "one"):
        raise InputError(
            f"{owner}: solver='blocked' starts from init='random', 'one' or labels; init={init!r} needs solver='collapsed'."
        )
    prior = common["prior"]
    if isinstance(prior, FinitePrior):
        common["start_blocks"] = min(common["start_blocks"], prior.n_components)
    return BlockedGibbs(sweep, n_columns, **common)
