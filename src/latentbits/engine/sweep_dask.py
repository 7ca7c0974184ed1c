"""Sweeps on Dask workers.

Blocks are built on the workers and stay there, and so does the row state.  Sums follow the same tree as in
process, so the bits are the same.  Every future has a recipe: when a worker is lost, the scheduler computes again
what it held.  Row states depend on earlier ones, so every ``ANCHOR`` passes they are written into the graph anew,
which bounds what a loss can cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .protocols import BlockFunction, Rows
from .stats import add
from .sweep import one_blas_thread

ANCHOR = 20


def active_client() -> Any:
    """The distributed client of this process, or None."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _call(fn: Callable[..., Any], *args: Any) -> Any:
    """Run a block function on a worker."""
    with one_blas_thread():
        return fn(*args)


def _first(fn: Callable[..., Any], *args: Any) -> Any:
    """Run a block function on a worker and keep its statistics only."""
    return _call(fn, *args)[0]


def _item(pair: tuple[Any, Any], which: int) -> Any:
    """One half of a result."""
    return pair[which]


def _same(value: Any) -> Any:
    """The value itself: puts it into the graph, with a recipe."""
    return value


class DaskSweep:
    """Runs functions over the blocks of a Dask source on the workers of a client."""

    def __init__(self, source: Any, client: Any) -> None:
        self.source, self.client = source, client
        self.n_blocks = source.n_blocks
        self.blocks: list[Any] = client.compute([source.delayed(b) for b in range(self.n_blocks)])
        self.passes = 0

    def _submit(self, fn: Callable[..., Any], *args: Any) -> Any:
        return self.client.submit(fn, *args, pure=False)

    def _sum(self, parts: list[Any]) -> Any:
        """Sum of futures by the tree of :class:`~latentbits.engine.stats.TreeSum`."""
        while len(parts) > 1:
            paired = [self._submit(add, a, b) for a, b in zip(parts[::2], parts[1::2])]
            parts = paired + parts[len(parts) - len(parts) % 2 :]
        return parts[0].result()

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

    def map(self, fn: BlockFunction, rows: Rows, *args: Any, keep_rows: bool = True) -> tuple[Any, Rows]:
        """Sum of the statistics, and the new row states (they stay on the workers)."""
        shared = self._placed((fn, *args))
        run = _call if keep_rows else _first
        results = [self._submit(run, shared[0], block, state, *shared[1:]) for block, state in zip(self.blocks, rows)]
        return self._halves(results) if keep_rows else (self._sum(results), rows)

    def fold(self, fn: BlockFunction, rows: Rows, carry: Any, *args: Any) -> tuple[Any, Rows]:
        """Strictly in block order; the carry travels from worker to worker."""
        shared = self._placed((fn, *args))
        carry_future = self._submit(_same, carry)
        new_rows: Rows = []
        for block, state in zip(self.blocks, rows):
            pair = self._submit(_call, shared[0], block, state, carry_future, *shared[1:])
            carry_future = self._submit(_item, pair, 0)
            new_rows.append(self._submit(_item, pair, 1))
        return carry_future.result(), new_rows

    def zip_rows(self, fn: Callable[..., tuple[Any, Any]], *rows: Rows) -> tuple[Any, Rows]:
        """Row states alone."""
        placed = self._submit(_same, fn)
        pairs = [self._submit(_call, placed, *[r[b] for r in rows]) for b in range(self.n_blocks)]
        return self._halves(pairs)

    def collect(self, fn: Callable[..., Any], *args: Any) -> list[Any]:
        """``fn(block, *args)`` of every block, in order."""
        shared = self._placed((fn, *args))
        futures = [self._submit(_call, shared[0], block, *shared[1:]) for block in self.blocks]
        out: list[Any] = self.client.gather(futures)
        return out

    def fetch_rows(self, rows: Rows) -> Rows:
        """Row states as plain values in this process."""
        out: Rows = self.client.gather(rows)
        return out

    def place_rows(self, rows: Rows) -> Rows:
        """Row states given as plain values, put into the graph."""
        return [None if state is None else self._submit(_same, state) for state in rows]
