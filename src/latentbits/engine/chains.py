"""Chains: processes that go on step by step, several of them side by side, each independent of the others.

A sampler's sweeps and a stochastic gradient's epochs run here.  A chain is advanced in legs; a leg may take any number of
steps, because a step is addressed by its number and a state holds all that is needed to go on.  So the result does not
depend on threads, processes, Dask workers, or on where a run was interrupted.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np

from ..data.block import Float
from ..declared import Array, Count, MisfitError, Plain, Sizes, check
from ..errors import ClusterError
from .bookmarks import Bookmark, foreign, read_bookmark, refuse_foreign
from .checkpoint import write_sealed
from .em import Point, State, Step
from .events import Begin, End, Listener, Progress
from .stats import flatten, shape_of, unflatten
from .sweep import one_blas_thread
from .together import Together


class Runner(Protocol):
    """A chain at work: its state together with everything that is made from it."""

    def step(self, number: int) -> None:
        """Go one step on; all random numbers are addressed by ``number``."""

    def state(self) -> Any:
        """All that is needed to go on, a NamedTuple of arrays and numbers."""

    def trace(self) -> Float:
        """What is written down after every step; first the objective."""


class Process(Protocol):
    """How chains begin and go on."""

    state_type: Any
    together: bool  # chains may run at the same time, elsewhere

    @property
    def sizes(self) -> Sizes:
        """Sizes of the table and the model, by the letters with which the state declares its arrays."""

    def start(self, chain: int) -> Any:
        """The state of a chain before its first step."""

    def open(self, chain: int, state: Any) -> Runner:
        """A runner that goes on from a state."""

    def record(self, state: Any) -> Any:
        """What is kept of a draw, a NamedTuple of arrays whose shapes are the same for all draws."""


@dataclass(frozen=True)
class Plan:
    """Steps of every chain: ``n_warmup``, then ``n_draws`` × ``thin``, of which every ``thin``-th is kept."""

    n_warmup: int
    n_draws: int = 0
    thin: int = 1

    @property
    def n_steps(self) -> int:
        """Steps of a chain."""
        return self.n_warmup + self.n_draws * self.thin

    def keeps(self, done: int) -> bool:
        """Whether the draw after ``done`` steps is kept."""
        return done > self.n_warmup and (done - self.n_warmup) % self.thin == 0

    def n_kept(self, done: int) -> int:
        """Draws kept after ``done`` steps."""
        return max(0, done - self.n_warmup) // self.thin


@dataclass(frozen=True)
class Chain:
    """A chain so far."""

    number: int
    state: Any
    done: int = 0
    traces: list[Float] = field(default_factory=list)
    draws: list[Any] = field(default_factory=list)

    @property
    def trace(self) -> Float:
        """(steps, values)."""
        return np.concatenate(self.traces) if self.traces else np.empty((0, 0))


class Leg(NamedTuple):
    """What a leg brought."""

    state: Any
    trace: Float
    draws: list[Any]


def run_leg(process: Process, number: int, state: Any, done: int, plan: Plan, steps: int, seconds: float) -> Leg:
    """Advance a chain by at most ``steps`` steps and about ``seconds`` seconds, but by one at least."""
    began, last = time.monotonic(), min(plan.n_steps, done + steps)
    traces, draws = [], []
    with one_blas_thread():
        runner = process.open(number, state)
        while done < last:
            runner.step(done)
            done += 1
            traces.append(runner.trace())
            if plan.keeps(done):
                draws.append(process.record(runner.state()))
            if time.monotonic() - began >= seconds:
                break
        return Leg(runner.state(), np.array(traces), draws)


def _begin(process: Process, number: int) -> Any:
    """The first state of a chain."""
    with one_blas_thread():
        return process.start(number)


class Pool(Together):
    """Runs calls about one process side by side: joblib's threads (or the user's joblib backend), or Dask futures."""

    def __init__(self, process: Process, n_jobs: int = 1, client: Any = None) -> None:
        super().__init__(process, n_jobs if process.together else 1, client if process.together else None)


def run_chains(
    process: Process,
    n_chains: int,
    plan: Plan,
    listener: Listener,
    name: str = "chains",
    pool: Pool | None = None,
    bookmark: Bookmark | None = None,
    scale: float = 1.0,
    steps_per_leg: int = 10**9,
    seconds_per_leg: float = 1.0,
    words: tuple[str, str] = ("chain", "sweep"),
) -> tuple[list[Chain], bool]:
    """Run all chains to their end, or until a listener asks to stop; the second value tells which.

    After an interrupt everything up to the last leg is in the bookmark's file, and the same call goes on from there.
    """
    pool = Pool(process) if pool is None else pool
    chains = _opened(process, n_chains, plan, bookmark, pool)
    listener.begin(Begin(name, n_chains, plan.n_steps, words))
    stopped = False
    try:
        with _terminable(bookmark is not None):
            while not stopped and any(chain.done < plan.n_steps for chain in chains):
                waiting = [chain for chain in chains if chain.done < plan.n_steps]
                group = sorted(waiting, key=lambda chain: chain.done)[: pool.width]
                calls = [(c.number, c.state, c.done, plan, steps_per_leg, seconds_per_leg) for c in group]
                for chain, leg in zip(group, pool.map(run_leg, calls)):
                    chains[chain.number] = _taken(chain, leg)  # one assignment: an interrupt finds it done or not
                for chain in group:
                    stopped |= listener.step(_progress(chains[chain.number], plan, scale))
                if bookmark is not None and (bookmark.due() or stopped):
                    _write(bookmark, chains)
            if bookmark is not None and not stopped:
                _write(bookmark, chains)
    except (KeyboardInterrupt, ClusterError):
        if bookmark is not None:
            _write(bookmark, chains)
        raise
    finally:
        last = max((chain.done for chain in chains), default=0)
        listener.end(End(last, max((c.trace[-1, 0] for c in chains if c.traces), default=np.nan)))
    return chains, stopped


def _opened(process: Process, n_chains: int, plan: Plan, bookmark: Bookmark | None, pool: Pool) -> list[Chain]:
    """Chains at their beginning, or where the bookmark's file left them."""
    if bookmark is not None and bookmark.resume and os.path.exists(bookmark.path):
        return _read(bookmark, process, n_chains, plan)
    return [Chain(c, state) for c, state in enumerate(pool.map(_begin, [(c,) for c in range(n_chains)]))]


def _taken(chain: Chain, leg: Leg) -> Chain:
    """A chain with a leg behind what it has done."""
    done, traces = chain.done + len(leg.trace), [*chain.traces, leg.trace]
    return Chain(chain.number, leg.state, done, traces, [*chain.draws, *leg.draws])


def _progress(chain: Chain, plan: Plan, scale: float) -> Progress:
    """The event after a leg."""
    trace = chain.traces[-1]
    before = trace[-2, 0] if len(trace) > 1 else np.nan
    point, value = Point(chain.state, []), float(trace[-1, 0])
    step = Step("sweep", point, value, value - float(before), chain.done >= plan.n_steps, State(point, chain.done))
    return Progress(chain.number, step, scale)


@contextmanager
def _terminable(catch: bool) -> Iterator[None]:
    """A polite request to end (SIGTERM) is an interrupt inside, so that the state is written first."""
    if not catch or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write(bookmark: Bookmark, chains: list[Chain]) -> None:
    """Write all chains down."""
    arrays: dict[str, Any] = {}
    told = []
    for chain in chains:
        name = f"chain{chain.number}"
        arrays.update(flatten(chain.state, f"{name}.state"))
        if chain.traces:
            arrays[f"{name}.trace"] = chain.trace
        for draw_field, values in zip(_fields(chain.draws), zip(*chain.draws)):
            arrays[f"{name}.draws.{draw_field}"] = np.stack(values)
        told.append(
            {
                "number": chain.number,
                "done": chain.done,
                "state": shape_of(chain.state),
                "draws": len(chain.draws),
                "fields": list(_fields(chain.draws)),
            }
        )
    write_sealed(bookmark.path, "checkpoint", {"identity": bookmark.identity, "chains": told}, arrays)
    bookmark.written = bookmark.clock()


def _fields(draws: list[Any]) -> tuple[str, ...]:
    """Names of what is kept of a draw."""
    return draws[0]._fields if draws else ()


def _read(bookmark: Bookmark, process: Process, n_chains: int, plan: Plan) -> list[Chain]:
    """Chains of a file, refusing those of another fit."""
    header, arrays = read_bookmark(bookmark.path)
    refuse_foreign(bookmark, header["identity"])
    try:
        told: Any = header.get("chains")
        check(told, list[dict[str, Plain]], {}, "chains")
        if len(told) != n_chains:
            raise MisfitError(f"chains must tell of {n_chains} chains; it tells of {len(told)}")
        return [_chain(number, row, arrays, process, plan) for number, row in enumerate(told)]
    except (MisfitError, RecursionError) as error:
        raise foreign(bookmark.path, error) from None


def _chain(number: int, told: dict[str, Any], arrays: dict[str, Any], process: Process, plan: Plan) -> Chain:
    """A chain of a file, held against what the process declares."""
    name, sizes = f"chain{number}", dict(process.sizes)
    done: Any = told.get("done")
    check(done, Count, {}, f"{name}.done")
    if told.get("number") != number or done > plan.n_steps or told.get("draws") != plan.n_kept(done):
        raise MisfitError(f"{name} must be chain {number} with the draws of {done} of {plan.n_steps} steps")
    state = unflatten(told.get("state"), arrays, process.state_type, f"{name}.state")
    check(state, process.state_type, sizes, f"{name}.state")
    traces = []
    if done:
        check(arrays.get(f"{name}.trace"), Annotated[Any, Array((str(done), "*"), nan=True)], {}, f"{name}.trace")
        traces.append(arrays[f"{name}.trace"])
    return Chain(number, state, done, traces, _draws(name, told["draws"], state, arrays, process, sizes))


def _draws(name: str, n: int, state: Any, arrays: dict[str, Any], process: Process, sizes: Sizes) -> list[Any]:
    """Kept draws of a chain of a file."""
    if not n:
        return []
    record = type(process.record(state))
    columns = [arrays.get(f"{name}.draws.{draw_field}") for draw_field in record._fields]
    if any(column is None or len(column.shape) == 0 or len(column) != n for column in columns):
        raise MisfitError(f"{name}.draws must hold {n} draws of {', '.join(record._fields)}")
    draws = [record(*values) for values in zip(*columns)]
    for draw in draws:
        check(draw, record, sizes, f"{name}.draws")
    return draws
