"""Collapsed Gibbs sampling of partitions, for all priors of :mod:`.partition_priors`.

Story: a partition of the rows is drawn from the prior; every block has a probability a_kd ~ Beta(β_d, γ_d) per column,
and the cells of its rows are ones with that probability.  The probabilities are integrated out:

    log p(X, partition) = log p(partition) + Σ_kd log B(β_d + c_kd, γ_d + n_kd - c_kd) - log B(β_d, γ_d).

=====================  =============================  =====================================
symbol in the report   name here                      where
=====================  =============================  =====================================
z_n                    ``labels`` (N,), slot numbers  van der Maaten, eq 2
N_k, c_kd              ``sizes``, ``ones``            eq 9, 14
α, β, γ                ``alpha``, ``beta``,           eq 1, 3; β weighs ones, γ zeros
                       ``gamma``
K₊                     number of blocks               eq 23
=====================  =============================  =====================================

Unknown cells drop out of every product.  Columns with more ones than zeros are turned round, with β and γ exchanged, so
that a row's list of ones is short; the likelihood is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import ONE, UNKNOWN, ZERO, Block, Float
from ..data.rng import stream
from ..data.summary import Totals
from ..engine.protocols import Sweep
from ..maths.index_lists import gather_lists, plain_lists
from ..maths.latent_class import aligned_zeros
from .hyper import BlockCounts, Learning, PriorNumbers, draw_numbers
from .partition_priors import PartitionPrior

# Bytes that the tables of logarithms may take.
TABLE_BYTES = 128 * 2**20
# From how many columns, and from how many columns per mark of a row, the wide kernel is worth while.
WIDE_FROM, WIDE_RATIO = 4096, 32
# Entries that the histograms of the wide kernel may have.
MOST_HISTOGRAM = 30_000_000
TRACE = ("log_joint", "n_blocks", "largest", "entropy", "alpha", "beta", "gamma")


class RowLists(NamedTuple):
    """The whole table as index lists, columns turned round where that makes them short."""

    indptr: Any
    indices: Any
    other_indptr: Any
    other_indices: Any
    n_columns: int
    flipped: Any  # (D,) bool
    zeros_listed: bool  # the other lists are known zeros, not unknown cells

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.indptr) - 1

    @property
    def lists(self) -> Any:
        """As kernels take them."""
        from .gibbs_kernels import Lists

        return Lists(self.indptr, self.indices, self.other_indptr, self.other_indices)

    def counts(self, labels: Any) -> BlockCounts:
        """Sizes, ones and zeros of the blocks with labels 0 ... K - 1, in the caller's orientation."""
        from .gibbs_kernels import count_rows

        n_slots = int(labels.max(initial=-1)) + 1
        sizes = np.zeros(n_slots, np.int64)
        ones, others = (np.zeros((self.n_columns, n_slots), np.int32) for _ in range(2))
        count_rows(self.lists, labels, sizes, ones, others)
        return self.turned(sizes, ones, others)

    def turned(self, sizes: Any, ones: Any, others: Any) -> BlockCounts:
        """Counts (D, K) of the kernels as counts (K, D) in the caller's orientation."""
        ones, others = ones.T.astype(np.int64), others.T.astype(np.int64)
        zeros = others if self.zeros_listed else sizes[:, None] - ones - others
        return BlockCounts(sizes, np.where(self.flipped, zeros, ones), np.where(self.flipped, ones, zeros))


class _ListRows:
    """Index lists of a block, turned round."""

    def __init__(self, flipped: Any, zeros_listed: bool) -> None:
        self.flipped, self.zeros_listed = flipped, zeros_listed

    def __call__(self, block: Block) -> tuple[Any, Any, Any, Any]:
        if not self.zeros_listed and not self.flipped.any():
            return plain_lists(block)
        codes = block.codes()
        turn = self.flipped & (codes != UNKNOWN)
        codes = np.where(turn, 1 - codes, codes)
        out: list[Any] = []
        for code in (ONE, ZERO if self.zeros_listed else UNKNOWN):
            rows, columns = np.nonzero(codes == code)
            out += [np.bincount(rows, minlength=len(codes)), columns.astype(np.int32)]
        return out[0], out[1], out[2], out[3]


def row_lists(sweep: Sweep, sums: Totals, turn: bool = True) -> RowLists:
    """Gather the table of a sweep, whose sums are given, as index lists; ``turn`` lets columns be turned round."""
    n_columns = len(sums.ones)
    flipped = (sums.ones > 0.5 * sums.observed) & turn
    zeros_listed = sums.n_unknown > 0.5 * sums.n_rows * n_columns
    return RowLists(*gather_lists(sweep, _ListRows(flipped, zeros_listed)), n_columns, flipped, zeros_listed)


class ChainState(NamedTuple):
    """All that a chain needs to go on; everything else is made from it."""

    labels: Annotated[Any, of.places("N", below="slots", dtype="int32")]  # slot numbers
    alpha: of.Positive
    beta: Annotated[Float, of.positives("1|D")]
    gamma: Annotated[Float, of.positives("1|D")]
    tally: Annotated[Any, of.Array(("4",), "int64", least=0)]  # splits proposed, accepted, merges proposed, accepted


class Draw(NamedTuple):
    """What is kept of a draw."""

    labels: Annotated[Any, of.places("N", below="N", dtype="i u")]  # 0 ... K - 1 in the order of first appearance
    alpha: of.Positive
    beta: Annotated[Float, of.positives("1|D")]
    gamma: Annotated[Float, of.positives("1|D")]


def most_slots(n_rows: int) -> int:
    """More slots than a chain of so many rows has: they double when all are taken."""
    return 4 * n_rows + 64


def canonical(labels: Any) -> Any:
    """Labels renamed 0, 1, ... in the order in which they first appear, in the smallest type that holds them.

    Examples
    --------
    >>> canonical(np.array([5, 2, 5, 9])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse].astype(np.min_scalar_type(max(len(first) - 1, 0)))


@dataclass(frozen=True)
class CollapsedGibbs:
    """The sampler as chains of :mod:`latentbits.engine.chains`.

    ``kernel`` is "auto", "narrow" or "wide"; the draws are the same.
    """

    table: RowLists
    prior: PartitionPrior
    numbers: PriorNumbers
    learning: Learning
    init: Any  # a kind of start, or labels
    start_blocks: int
    split_merge: int
    seed: int
    kernel: str = "auto"
    gibbs: bool = True  # False: split-merge moves alone, for tests

    state_type = ChainState
    together = True

    @property
    def sizes(self) -> of.Sizes:
        """Rows, columns, and more slots than chains ever have."""
        return {"N": self.table.n_rows, "D": self.table.n_columns, "slots": most_slots(self.table.n_rows)}

    def start(self, chain: int) -> ChainState:
        """The partition that a chain starts from."""
        from .gibbs_starts import start_labels

        state = ChainState(np.full(self.table.n_rows, -1, np.int32), *self.numbers, np.zeros(4, np.int64))
        return state._replace(labels=start_labels(self, chain, state))

    def open(self, chain: int, state: ChainState) -> CollapsedChain:
        """A chain at work."""
        return CollapsedChain(self, chain, state)

    def counts(self, labels: Any) -> BlockCounts:
        """Counts of a partition."""
        return self.table.counts(labels.astype(np.int32))

    def record(self, state: ChainState) -> Draw:
        """What is kept of a draw."""
        return Draw(canonical(state.labels), state.alpha, state.beta, state.gamma)


class CollapsedChain:
    """A chain with its counts and caches."""

    def __init__(self, process: CollapsedGibbs, chain: int, state: ChainState, capacity: int = 0) -> None:
        self.process, self.chain = process, chain
        self.labels = state.labels.astype(np.int32, copy=True)
        self.numbers = PriorNumbers(state.alpha, state.beta, state.gamma)
        self.tally = state.tally.copy()
        self.order = np.arange(process.table.n_rows)
        wanted = max(int(self.labels.max(initial=-1)) + 2, capacity)
        self.n_slots = -(-wanted // 8) * 8
        self._make()

    @property
    def prior(self) -> PartitionPrior:
        """The prior with the present concentration."""
        return self.process.prior.with_alpha(self.numbers.alpha)

    def _make(self) -> None:
        """Tables, counts and caches from the labels and the prior's numbers."""
        self.tables = make_tables(self.process.table, self.prior, self.numbers, self.n_slots)
        self._make_work()

    def _make_work(self) -> None:
        """Counts and caches from the labels."""
        from .gibbs_kernels import Work, count_rows, refresh
        from .wide_kernels import histograms, refresh_wide

        table, n_slots = self.process.table, self.n_slots
        self.wide = self._is_wide()
        ones, others = (np.zeros((table.n_columns, n_slots), np.int32) for _ in range(2))
        sizes = np.zeros(n_slots, np.int64)
        count_rows(table.lists, self.labels, sizes, ones, others)
        n_narrow = 0 if self.wide else table.n_columns
        n_other = n_narrow if table.zeros_listed or len(table.other_indices) else 0
        self.work = Work(
            sizes=sizes,
            ones=ones,
            others=others,
            base=np.empty(n_slots),
            own_base=np.empty(n_slots),
            delta=aligned_zeros(n_narrow * n_slots),
            other=aligned_zeros(n_other * n_slots),
            own_delta=np.zeros((n_slots, n_narrow)),
            own_other=np.zeros((n_slots, n_other)),
            log_weight=np.empty(n_slots),
        )
        if self.wide:
            shape = (n_slots, table.n_rows + 1)
            self.by_zeros, self.by_unknown = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
            histograms(self.work, self.by_zeros, self.by_unknown)
        for k in range(n_slots):
            if self.wide:
                refresh_wide(self.tables, self.work, self.by_zeros, self.by_unknown, k)
            else:
                refresh(self.tables, self.work, table.zeros_listed, k)

    def _is_wide(self) -> bool:
        """Whether the wide kernel is to be used."""
        table, asked = self.process.table, self.process.kernel
        possible = len(self.tables.beta) == 1 and not table.zeros_listed
        if asked != "auto":
            return asked == "wide" and possible
        marks = (len(table.indices) + len(table.other_indices)) / max(1, table.n_rows)
        fits = self.n_slots * (table.n_rows + 1) <= MOST_HISTOGRAM
        return possible and fits and table.n_columns >= max(WIDE_FROM, WIDE_RATIO * marks)

    def _counted(self) -> bool:
        """Whether proposals count columns by their counts: a row then costs its marks and rows, not all columns."""
        table, asked = self.process.table, self.process.kernel
        if self.wide or asked == "narrow":
            return self.wide
        return len(self.tables.beta) == 1 and not table.zeros_listed and table.n_columns >= table.n_rows

    def step(self, number: int) -> None:
        """One sweep over the rows, the split-merge proposals, and the prior's numbers when it is their turn."""
        process = self.process
        if process.gibbs:
            self.sweep(stream(process.seed, "sweep", self.chain, number).random(process.table.n_rows))
        if process.split_merge and process.table.n_rows > 1:
            keys = stream(process.seed, "split", self.chain, number).integers(0, 2**63, process.split_merge)
            self.propose(keys.astype(np.uint64))
        learning = process.learning
        if (learning.alpha is not None or learning.cells is not None) and (number + 1) % learning.every == 0:
            rng = stream(process.seed, "hyper", self.chain, number)
            self.numbers = draw_numbers(learning, process.prior, self.counts(), self.numbers, rng)
            self._make()

    def sweep(self, uniforms: Float, temperature: float = 1.0, order: Any = None) -> None:
        """Draw every row's label anew, in the given order."""
        from .gibbs_kernels import sweep_rows
        from .wide_kernels import sweep_rows_wide

        order, table, first = self.order if order is None else order, self.process.table, 0
        while first < len(order):
            if self.wide:
                first = sweep_rows_wide(
                    table.lists, self.labels, order, uniforms, self.tables, self.work, self.by_zeros, self.by_unknown,
                    temperature, first,
                )  # fmt: skip
            else:
                first = sweep_rows(
                    table.lists, self.labels, order, uniforms, self.tables, self.work, table.zeros_listed,
                    temperature, first,
                )  # fmt: skip
            self._grow_if_full()

    def propose(self, keys: Any, temperature: float = 1.0) -> None:
        """Split-merge proposals, one per key."""
        from .split_kernels import split_merge

        table, first, before = self.process.table, 0, self.tally[[1, 3]].sum()
        while first < len(keys):
            first = split_merge(
                table.lists, self.labels, self.work.sizes, keys, self.tables, temperature, table.zeros_listed,
                self._counted(), first, self.tally,
            )  # fmt: skip
            self._grow_if_full()
        if self.tally[[1, 3]].sum() > before:
            self._make_work()

    def _grow_if_full(self) -> None:
        """Make room for more blocks when every slot is taken."""
        if (self.work.sizes > 0).all():
            self.n_slots *= 2
            self._make()

    def counts(self) -> BlockCounts:
        """Counts of the blocks, in the caller's orientation."""
        alive = self.work.sizes > 0
        return self.process.table.turned(self.work.sizes[alive], self.work.ones[:, alive], self.work.others[:, alive])

    def log_likelihood(self) -> float:
        """log p(X | partition)."""
        from .gibbs_kernels import log_marginal

        work = self.work
        value: float = log_marginal(self.tables, work.sizes, work.ones, work.others, self.process.table.zeros_listed)
        return value

    def log_joint(self) -> float:
        """log p(X, partition)."""
        sizes = self.work.sizes[self.work.sizes > 0]
        value = self.tables.opened[len(sizes)] + self.tables.grown_old[sizes].sum()
        return float(value) + self.prior.log_constant(int(sizes.sum())) + self.log_likelihood()

    def state(self) -> ChainState:
        """All that is needed to go on."""
        return ChainState(self.labels.copy(), *self.numbers, self.tally.copy())

    def trace(self) -> Float:
        """Numbers that do not depend on how blocks are called, in the order of ``TRACE``."""
        return trace_of(self.work.sizes, self.numbers, self.log_joint())


def trace_of(sizes: Any, numbers: PriorNumbers, log_joint: float) -> Float:
    """What is written down after a sweep."""
    sizes = sizes[sizes > 0]
    shares = sizes / sizes.sum()
    return np.array(
        [
            log_joint,
            len(sizes),
            sizes.max(),
            -(shares * np.log(shares)).sum(),
            numbers.alpha,
            numbers.beta.mean(),
            numbers.gamma.mean(),
        ]
    )


def make_tables(table: RowLists, prior: PartitionPrior, numbers: PriorNumbers, n_slots: int) -> Any:
    """Logarithms by whole number, as far as the budget reaches."""
    from scipy.special import gammaln

    from .gibbs_kernels import Tables

    n, d = table.n_rows, table.n_columns
    beta, gamma = np.broadcast_to(numbers.beta, d), np.broadcast_to(numbers.gamma, d)
    pairs = np.column_stack((np.where(table.flipped, gamma, beta), np.where(table.flipped, beta, gamma)))
    pairs, which = np.unique(pairs, axis=0, return_inverse=True)
    length = min(n + 1, max(2, TABLE_BYTES // (48 * len(pairs))))
    steps = np.arange(length)
    starts = (pairs[:, :1], pairs[:, 1:], pairs.sum(axis=1, keepdims=True))
    logs = [np.log(start + steps) for start in starts]
    grown = [gammaln(start + steps) - gammaln(start) for start in starts]
    log_old, log_new = prior.log_old(n), prior.log_new(n_slots + 1, n)
    grown_old = np.concatenate(([0.0, 0.0], np.cumsum(log_old[1:])))[: n + 1]
    opened = np.concatenate(([0.0], np.cumsum(log_new)))
    return Tables(  # type: ignore[call-arg]
        *logs, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), which.ravel().astype(np.int64),
        log_old, log_new, *grown, grown_old, opened,
    )  # fmt: skip
