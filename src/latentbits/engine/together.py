"""Independent pieces of one job, side by side: in joblib's threads or processes, or on the workers of a Dask client.

:class:`Together` runs calls that are all known; :class:`InHand` calls that follow from what others gave.

What a piece gives does not depend on where it runs, or on what runs beside it.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed

from ..data.dask import on_cluster
from ..errors import ClusterError

LONGEST_QUEUE = 5.0  # seconds that a call may wait for a place in the queue of the processes


def active_client() -> Any:
    """The distributed client of this process, or None; none either inside a task, which would wait for its own workers."""
    if "distributed" not in sys.modules:  # whose clients, if there were one, would have brought it
        return None
    from distributed import get_client, get_worker

    try:
        get_worker()
        return None
    except ValueError:
        pass
    try:
        return get_client()
    except ValueError:
        return None


class Together:
    """Runs ``function(shared, *call)`` for several calls.

    Parameters
    ----------
    shared : object
        What all calls need; sent once to every worker.
    n_jobs : int
        Threads or processes here.
    client : distributed.Client, optional
        Whose workers run the calls instead.
    kind : {"threads", "processes", "here"}
        What is used without a client, unless the user has chosen a backend of joblib's (``joblib.parallel_config``); "here":
        threads, whatever was chosen.
    """

    def __init__(self, shared: Any, n_jobs: int = 1, client: Any = None, kind: str = "threads") -> None:
        self.shared, self.n_jobs, self.client = shared, n_jobs, client
        self.where = {"require": "sharedmem"} if kind == "here" else {"prefer": kind}
        self._hand = InHand(client=client)  # holds what was sent to the workers from one run to the next

    @property
    def width(self) -> int:
        """Calls that run at a time."""
        return self.n_jobs if self.client is None else max(1, n_threads(self.client))

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Pairs of the place of a call and its result, as they come."""
        if self.client is not None:
            with self._hand as hand:
                for place, call in enumerate(calls):
                    hand.start(place, function, self.shared, call)
                for _ in calls:
                    yield hand.finish()
        elif len(calls) == 1 or self.n_jobs == 1:
            for place, call in enumerate(calls):
                yield place, function(self.shared, *call)
        else:
            jobs = (delayed(_numbered)(place, function, self.shared, call) for place, call in enumerate(calls))
            yield from Parallel(n_jobs=self.n_jobs, return_as="generator_unordered", max_nbytes=None, **self.where)(
                jobs
            )

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """All results, in the order of the calls."""
        found = dict(self.run(function, calls))
        return [found[place] for place in range(len(calls))]


MOST_LOST = 20  # calls that are begun again because workers were lost


class InHand:
    """Calls that are started one by one, and whose results are taken as they come.

    Parameters
    ----------
    n_jobs : int
        Processes here; with one, calls are run where their results are asked for, in the order in which they were started.
    client : distributed.Client, optional
        Whose workers run the calls instead.

    Used as a context: what is still running when it is left by an error is ended.
    """

    def __init__(self, n_jobs: int = 1, client: Any = None) -> None:
        self.n_jobs, self.client = n_jobs, client
        self.waiting: dict[Any, Any] = {}  # by future, the key of a call; here by key, the call
        self.calls: dict[Any, tuple[Any, ...]] = {}  # on the workers of a client, which may lose what they need
        self.n_lost = 0
        self._placed: tuple[Any, Any] = (None, None)
        self._processes: Any = None

    @property
    def width(self) -> int:
        """Calls that run at a time."""
        return self.n_jobs if self.client is None else max(1, n_threads(self.client))

    def __enter__(self) -> InHand:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if self._processes is not None and self.waiting:
            # A call that is not yet in a queue when all is ended is looked for in vain by loky's own thread.
            end = time.monotonic() + LONGEST_QUEUE
            while time.monotonic() < end and not all(future.running() or future.done() for future in self.waiting):
                time.sleep(0.01)
            self._processes.shutdown(wait=True, kill_workers=True)
        self.waiting.clear()  # Dask lets go of futures that nobody holds
        self.calls.clear()

    def start(self, key: Any, function: Callable[..., Any], shared: Any, call: tuple[Any, ...]) -> None:
        """Begin ``function(shared, *call)``.

        To the workers of a client ``shared`` is sent once for calls one after the other, to a process with every call.
        """
        if self.client is not None:
            self.calls[key] = (function, shared, call)
            self.waiting[self._on_workers(function, shared, call)] = key
        elif self.n_jobs == 1:
            self.waiting[key] = (function, shared, call)
        else:
            from joblib.executor import get_memmapping_executor

            # A process whose memory has grown ends after a call, and another one begins: nothing is lost.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
            # That of joblib, which would stumble over another one; arrays are sent whole.
            self._processes = get_memmapping_executor(self.n_jobs, max_nbytes=None)
            self.waiting[self._processes.submit(function, shared, *call)] = key

    def _on_workers(self, function: Callable[..., Any], shared: Any, call: tuple[Any, ...]) -> Any:
        """A future of Dask's; a worker that is lost costs what it had in hand, which another one takes over."""
        with on_cluster(self.client):
            if self._placed[0] is not shared:
                self._placed = shared, self.client.scatter([shared], broadcast=True, hash=False)[0]
            return self.client.submit(function, self._placed[1], *call, pure=False)

    def finish(self) -> tuple[Any, Any]:
        """Wait for one of the calls; its key and its result."""
        if self.client is not None:
            return self._finished_on_workers()
        if self.n_jobs == 1:
            key = next(iter(self.waiting))
            function, shared, call = self.waiting.pop(key)
            return key, function(shared, *call)
        from concurrent import futures

        from joblib.externals.loky.process_executor import TerminatedWorkerError

        done = next(iter(futures.wait(list(self.waiting), return_when=futures.FIRST_COMPLETED).done))
        try:
            result = done.result()
        except TerminatedWorkerError:
            raise ClusterError(
                "a process that was fitting has been ended from outside, most likely because memory ran out; use fewer jobs."
            ) from None
        return self.waiting.pop(done), result

    def _finished_on_workers(self) -> tuple[Any, Any]:
        """The same on the workers; what a lost worker alone had been sent is sent again."""
        from concurrent.futures import CancelledError

        from distributed import wait

        while True:
            with on_cluster(self.client):
                try:
                    done = next(iter(wait(list(self.waiting), return_when="FIRST_COMPLETED").done))
                    result = done.result()
                except CancelledError:
                    lost = [future for future in self.waiting if future.status in ("cancelled", "lost")]
                    self.n_lost += len(lost)
                    if not lost or self.n_lost > MOST_LOST:
                        raise
                else:
                    key = self.waiting.pop(done)
                    del self.calls[key]
                    return key, result
            self._placed = (None, None)
            for future in lost:
                key = self.waiting.pop(future)
                self.start(key, *self.calls[key])


def keeping_memory() -> Any:
    """Inside, workers that Dask starts keep freed memory for the next array instead of giving it back to the machine.

    Dask has its workers give it back at once (``MALLOC_TRIM_THRESHOLD_``), so that the arrays of every pass are asked
    for anew: fits of mixtures took 1.5 to 2.7 times as long there.
    """
    import dask

    name = "distributed.nanny.pre-spawn-environ"
    kept = {"MALLOC_TRIM_THRESHOLD_": str(2**29), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
    return dask.config.set({name: {**dask.config.get(name, {}), **kept}})


def n_threads(client: Any) -> int:
    """Threads that the workers of a client have just now."""
    return int(sum(client.nthreads().values()))


def _numbered(place: int, function: Callable[..., Any], shared: Any, call: tuple[Any, ...]) -> tuple[int, Any]:
    """A call and its place."""
    return place, function(shared, *call)
