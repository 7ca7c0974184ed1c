"""Sweeps on Dask workers.

Blocks are built on the workers and stay there, and so does the row state.  Sums follow the same tree as in
process, so the bits are the same.  Every future has a recipe: when a worker is lost, the scheduler computes again
what it held.  Row states depend on earlier ones, so every ``ANCHOR`` passes they are written into the graph anew,
which bounds what a loss can cost.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.convert import Binarize
from ..data.dask import assemble, on_cluster
from ..data.giving_back import like, stacked, stays_sparse
from ..data.reading import Reading
from ..data.source import block_of_rows, cut
from ..data.values import Reals
from .protocols import BlockFunction, Rows
from .stats import add
from .sweep import one_blas_thread

ANCHOR = 20


def aligned(value: Any) -> Any:
    """A value with its arrays at whole addresses, as they are in process.

    Arrays arrive over the network wherever their bytes begin; NumPy sums those in another order, in the last bit.
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if isinstance(value, tuple):
        parts = [aligned(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):  # a block
        arrays = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        moved = {name: aligned(a) for name, a in arrays.items() if isinstance(a, np.ndarray) and not a.flags.aligned}
        return dataclasses.replace(value, **moved) if moved else value
    return [aligned(part) for part in value] if isinstance(value, list) else value


def _call(fn: Callable[..., Any], *args: Any) -> Any:
    """Run a block function on a worker."""
    with one_blas_thread():
        return fn(*[aligned(arg) for arg in args])


def _add(a: Any, b: Any) -> Any:
    """Sum of two statistics on a worker."""
    return add(aligned(a), aligned(b))


def _first(fn: Callable[..., Any], *args: Any) -> Any:
    """Run a block function on a worker and keep its statistics only."""
    return _call(fn, *args)[0]


def _item(pair: tuple[Any, Any], which: int) -> Any:
    """One half of a result."""
    return pair[which]


def _same(value: Any) -> Any:
    """The value itself: puts it into the graph, with a recipe."""
    return value


def _asks(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with the loss of the cluster told as such."""

    @functools.wraps(method)
    def ask(self: DaskSweep, *args: Any, **options: Any) -> Any:
        with on_cluster(self.client):
            return method(self, *args, **options)

    return ask


class DaskSweep:
    """Runs functions over the blocks of a Dask source on the workers of a client."""

    def __init__(self, source: Any, client: Any) -> None:
        self.source, self.client = source, client
        self.n_blocks = source.n_blocks
        with on_cluster(client):
            self.blocks: list[Any] = client.compute([source.delayed(b) for b in range(self.n_blocks)])
        self.passes = 0

    def alone(self) -> DaskSweep:
        """Itself: the blocks are with the workers, who take what comes from several jobs as it comes."""
        return self

    def _submit(self, fn: Callable[..., Any], *args: Any) -> Any:
        return self.client.submit(fn, *args, pure=False)

    def _sum(self, parts: list[Any]) -> Any:
        """Sum of futures by the tree of :class:`~latentbits.engine.stats.TreeSum`."""
        while len(parts) > 1:
            paired = [self._submit(_add, a, b) for a, b in zip(parts[::2], parts[1::2])]
            parts = paired + parts[len(parts) - len(parts) % 2 :]
        return aligned(parts[0].result())

    def _placed(self, args: tuple[Any, ...]) -> list[Any]:
        """Arguments as futures, sent once for all blocks."""
        return [self._submit(_same, arg) for arg in args]

    def _halves(self, pairs: list[Any]) -> tuple[Any, Rows]:
        """Sum of the statistics and futures of the row states."""
        new_rows = [self._submit(_item, pair, 1) for pair in pairs]
        total = self._sum([self._submit(_item, pair, 0) for pair in pairs])
        self.passes += 1
        if self.passes % ANCHOR == 0:
            new_rows = self.place_rows(self.fetch_rows(new_rows))
        return total, new_rows

    @_asks
    def map(self, fn: BlockFunction, rows: Rows, *args: Any, keep_rows: bool = True) -> tuple[Any, Rows]:
        """Sum of the statistics, and the new row states (they stay on the workers)."""
        shared = self._placed((fn, *args))
        run = _call if keep_rows else _first
        results = [self._submit(run, shared[0], block, state, *shared[1:]) for block, state in zip(self.blocks, rows)]
        return self._halves(results) if keep_rows else (self._sum(results), rows)

    @_asks
    def zip_rows(self, fn: Callable[..., tuple[Any, Any]], *rows: Rows) -> tuple[Any, Rows]:
        """Row states alone."""
        placed = self._submit(_same, fn)
        pairs = [self._submit(_call, placed, *[r[b] for r in rows]) for b in range(self.n_blocks)]
        return self._halves(pairs)

    @_asks
    def collect(self, fn: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """``fn(block, *args)`` of every block, in order; with ``each`` ``fn(block, each[b], *args)``, or None."""
        shared = self._placed((fn, *args))
        futures: dict[int, Any] = {}
        for b, block in enumerate(self.blocks):
            if each is None:
                futures[b] = self._submit(_call, shared[0], block, *shared[1:])
            elif each[b] is not None:
                futures[b] = self._submit(_call, shared[0], block, self._submit(_same, each[b]), *shared[1:])
        found = dict(zip(futures, aligned(self.client.gather(list(futures.values())))))
        return [found.get(b) for b in range(self.n_blocks)]

    @_asks
    def fetch_rows(self, rows: Rows) -> Rows:
        """Row states as plain values in this process."""
        out: Rows = aligned(self.client.gather(rows))
        return out

    @_asks
    def place_rows(self, rows: Rows) -> Rows:
        """Row states given as plain values, put into the graph."""
        return [None if state is None else self._submit(_same, state) for state in rows]


@dataclasses.dataclass(frozen=True)
class PartAnswer:
    """A question about a partition of a table, with all that a worker needs to answer it when it is asked."""

    question: Callable[..., Any]
    precomputed: Any
    owner: str
    binarize: Binarize
    block_rows: int | None
    work: int
    n_columns: int
    names: list[str] | None
    reading: Reading | None

    def __call__(self, piece: Any, start: int) -> Any:
        """The answer, as the kind of table that the partition is; ``start`` is its first row in the whole table."""
        parts = self.parts(piece, start)
        if not parts:
            shape = (0, self.n_columns)
            return like(piece, sp.csr_array(shape) if stays_sparse(piece) else np.empty(shape), self.names)
        return like(piece, stacked(parts), self.names)

    def parts(self, piece: Any, start: int) -> list[Any]:
        """Answers about some rows at a time."""
        n_rows = int(piece.shape[0])
        if n_rows == 0:
            return []
        starts = cut(n_rows, self.block_rows, (n_rows, self.n_columns), self.work).tolist()
        return [self._of_rows(piece, low, high, start) for low, high in pairwise(starts)]

    def _of_rows(self, piece: Any, low: int, high: int, start: int) -> Any:
        """The answer about some rows."""
        place = (start + low, None, self.binarize, False, self.owner, self.names, self.reading)
        block = assemble([piece], [(low, high)], *place, self.names if hasattr(piece, "columns") else None)
        return _call(self.question, block, self.precomputed)


class RowsAnswer(PartAnswer):
    """A question with one answer, a number or several, per row."""

    def __call__(self, piece: Any, start: int) -> Any:
        """The answers (n,) or (n, m) about the rows of a partition."""
        parts = self.parts(piece, start)
        return np.concatenate(parts) if parts else self.example()[:0]

    def example(self) -> Any:
        """The answer about a row of zeros: its shape and type are those of all."""
        nothing: Any = np.zeros((1, self.n_columns), np.float64 if isinstance(self.binarize, Reals) else np.uint8)
        return _call(self.question, block_of_rows(0, nothing, None, False), self.precomputed)
