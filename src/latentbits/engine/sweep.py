"""Sweeps in process: one thread or several, the same bits either way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from ..data.source import Source
from .protocols import BlockFunction, Rows
from .stats import TreeSum


@cache
def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


class _OneThread:
    """How many sweeps want BLAS on one thread just now, and how many threads it had before the first of them."""

    lock = Lock()
    n_sweeps = 0
    before: tuple[int, ...] = ()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: its sums must not depend on the machine, and threads belong to blocks here.

    The setting is one for the whole process: the first of several sweeps at a time makes it and the last takes it back.
    """
    libraries = _libraries()
    with _OneThread.lock:
        if _OneThread.n_sweeps == 0:
            _OneThread.before = tuple(library.get_num_threads() for library in libraries)
            for library in libraries:
                _set_threads(library, 1)
        _OneThread.n_sweeps += 1
    try:
        yield
    finally:
        with _OneThread.lock:
            _OneThread.n_sweeps -= 1
            if _OneThread.n_sweeps == 0:
                for library, n_threads in zip(libraries, _OneThread.before):
                    _set_threads(library, n_threads)


def _set_threads(library: Any, n_threads: int) -> None:
    """Give a library so many threads, from whichever thread it is asked.

    Since release 3.8 threadpoolctl lets one thread of a process decide, the first that did, and does nothing for others.
    """
    release = getattr(library, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    library.set_num_threads(n_threads)
    if release is not None:
        release()


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
        # Out of order more partial sums wait for their neighbours, which few blocks can afford.
        by_work = getattr(source, "by_work", None) if 1 < self.n_blocks <= 8 * self.n_jobs else None
        self.order: Sequence[int] = range(self.n_blocks) if by_work is None else by_work()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "pool": None}

    def alone(self) -> LocalSweep:
        """The same on one thread, for one of several jobs that run side by side."""
        return LocalSweep(self.source, 1)

    def _each(self, call: Callable[[int], Any], take: Callable[[int, Any], None]) -> None:
        """``take(b, call(b))`` for every block number, in any order, one ``take`` at a time."""
        with one_blas_thread():
            helpers = min(self.n_jobs, self.n_blocks) - 1
            numbers = iter(self.order)
            if helpers == 0:
                for b in numbers:
                    take(b, call(b))
                return
            if self.pool is None:  # kept for all passes; its threads end with the sweep
                self.pool = ThreadPoolExecutor(helpers, "latentbits")
            work = _Work(numbers, call, take)
            others = [self.pool.submit(work.run) for _ in range(helpers)]
            work.run()
            for other in others:
                other.result()
            if work.failure is not None:
                raise work.failure

    def _halves(self, call: Callable[[int], tuple[Any, Any]]) -> tuple[Any, Rows]:
        """Sum of the first halves of the results, and the list of the second."""
        tree = TreeSum(self.n_blocks)
        rows: Rows = [None] * self.n_blocks

        def take(b: int, result: tuple[Any, Any]) -> None:
            tree.put(b, result[0])
            rows[b] = result[1]

        self._each(call, take)
        return tree.total(), rows

    def map(self, fn: BlockFunction, rows: Rows, *args: Any, keep_rows: bool = True) -> tuple[Any, Rows]:
        """Sum of the statistics, and the new row states."""
        total, new_rows = self._halves(lambda b: fn(self.source.block(b), rows[b], *args))
        return total, new_rows if keep_rows else rows

    def zip_rows(self, fn: Callable[..., tuple[Any, Any]], *rows: Rows) -> tuple[Any, Rows]:
        """Row states alone."""
        return self._halves(lambda b: fn(*[r[b] for r in rows]))

    def collect(self, fn: Callable[..., Any], *args: Any, each: Sequence[Any] | None = None) -> list[Any]:
        """``fn(block, *args)`` of every block, in order; with ``each`` ``fn(block, each[b], *args)``, or None."""
        out: list[Any] = [None] * self.n_blocks

        def call(b: int) -> Any:
            if each is None:
                return fn(self.source.block(b), *args)
            return None if each[b] is None else fn(self.source.block(b), each[b], *args)

        self._each(call, out.__setitem__)
        return out

    def fetch_rows(self, rows: Rows) -> Rows:
        """Row states are here already."""
        return rows

    def place_rows(self, rows: Rows) -> Rows:
        """Row states are here already."""
        return rows


class _Work:
    """Block numbers shared by threads; each thread takes the next until none is left or one has failed."""

    def __init__(self, numbers: Iterator[int], call: Callable[[int], Any], take: Callable[[int, Any], None]) -> None:
        self.numbers, self.call, self.take = numbers, call, take
        self.lock = Lock()
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Work until there is nothing left."""
        while self.failure is None:
            with self.lock:
                b = next(self.numbers, None)
            if b is None:
                return
            try:
                value = self.call(b)
                with self.lock:
                    self.take(b, value)
            except BaseException as error:
                self.failure = error


def sweep_of(source: Source, n_jobs: int = 1) -> Any:
    """The sweep for a source: on the Dask workers if the table is theirs and a client is at hand, else here."""
    if hasattr(source, "delayed"):
        from .sweep_dask import DaskSweep
        from .together import active_client

        client = active_client()
        if client is not None:
            return DaskSweep(source, client)
    return LocalSweep(source, n_jobs)
