"""Sweeps in process: one thread or several, the same bits either way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from ..data.source import Source
from .protocols import BlockFunction, Rows
from .stats import TreeSum


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: its sums must not depend on the machine, and threads belong to blocks here."""
    with _libraries().limit(limits=1):
        yield


class LocalSweep:
    """Runs functions over the blocks of a source in this process.

    Parameters
    ----------
    source : Source
        The table.
    n_jobs : int
        Threads; each holds one block at a time.
    """

    def __init__(self, source: Source, n_jobs: int = 1) -> None:
        self.source, self.n_jobs = source, max(1, n_jobs)
        self.n_blocks = source.n_blocks
        self.pool: ThreadPoolExecutor | None = None

    def _results(self, call: Callable[[int], Any]) -> Iterator[tuple[int, Any]]:
        """``call(b)`` for every block number, in any order."""
        with one_blas_thread():
            if self.n_jobs == 1 or self.n_blocks == 1:
                for b in range(self.n_blocks):
                    yield b, call(b)
                return
            if self.pool is None:  # kept for all passes; its threads end with the sweep
                self.pool = ThreadPoolExecutor(min(self.n_jobs, self.n_blocks), "latentbits")
            yield from _unordered(self.pool, call, self.n_blocks, 2 * self.n_jobs)

    def map(self, fn: BlockFunction, rows: Rows, *args: Any, keep_rows: bool = True) -> tuple[Any, Rows]:
        """Sum of the statistics, and the new row states."""
        tree = TreeSum(self.n_blocks)
        new_rows: Rows = [None] * self.n_blocks
        for b, (stats, state) in self._results(lambda b: fn(self.source.block(b), rows[b], *args)):
            tree.put(b, stats)
            new_rows[b] = state
        return tree.total(), new_rows if keep_rows else rows

    def fold(self, fn: BlockFunction, rows: Rows, carry: Any, *args: Any) -> tuple[Any, Rows]:
        """Strictly in block order."""
        new_rows: Rows = []
        with one_blas_thread():
            for b in range(self.n_blocks):
                carry, state = fn(self.source.block(b), rows[b], carry, *args)
                new_rows.append(state)
        return carry, new_rows

    def zip_rows(self, fn: Callable[..., tuple[Any, Any]], *rows: Rows) -> tuple[Any, Rows]:
        """Row states alone."""
        tree = TreeSum(self.n_blocks)
        new_rows: Rows = [None] * self.n_blocks
        for b, (stats, state) in self._results(lambda b: fn(*[r[b] for r in rows])):
            tree.put(b, stats)
            new_rows[b] = state
        return tree.total(), new_rows

    def collect(self, fn: Callable[..., Any], *args: Any) -> list[Any]:
        """``fn(block, *args)`` of every block, in order."""
        out: list[Any] = [None] * self.n_blocks
        for b, value in self._results(lambda b: fn(self.source.block(b), *args)):
            out[b] = value
        return out

    def fetch_rows(self, rows: Rows) -> Rows:
        """Row states are here already."""
        return rows

    def place_rows(self, rows: Rows) -> Rows:
        """Row states are here already."""
        return rows


def _unordered(pool: ThreadPoolExecutor, call: Callable[[int], Any], n: int, window: int) -> Iterator[tuple[int, Any]]:
    """Results as they come, with at most ``window`` calls under way, so that blocks do not pile up."""
    numbers = iter(range(n))
    under_way: dict[Future[Any], int] = {}
    try:
        while True:
            for b in numbers:
                under_way[pool.submit(call, b)] = b
                if len(under_way) >= window:
                    break
            if not under_way:
                return
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield under_way.pop(future), future.result()
    finally:
        for future in under_way:
            future.cancel()


def sweep_of(source: Source, n_jobs: int = 1) -> Any:
    """The sweep for a source: on the Dask workers if the table is theirs and a client is at hand, else here."""
    if hasattr(source, "delayed"):
        from .sweep_dask import DaskSweep, active_client

        client = active_client()
        if client is not None:
            return DaskSweep(source, client)
    return LocalSweep(source, n_jobs)
