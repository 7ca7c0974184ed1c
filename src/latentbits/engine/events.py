"""What listens to a fit: progress, log lines, limits.  Each listener is a few lines on the same three events."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

from .em import Step

log = logging.getLogger("latentbits.fit")


class Begin(NamedTuple):
    """A fit begins."""

    name: str
    n_restarts: int
    max_iter: int
    words: tuple[str, str] = ("start", "pass")  # what runs several times, and of what it consists


class Progress(NamedTuple):
    """A pass of a restart is done."""

    restart: int
    step: Step
    scale: float  # observed cells: objective / scale is nats per cell
    waits: bool = False  # the start is compared with the others before it goes on


class End(NamedTuple):
    """The fit is over."""

    n_iter: int
    objective: float


class Listener:
    """Hears every event; returning True from :meth:`step` asks the fit to stop after this pass.

    Chains are told of about once a second, unless somebody wants to hear of ``every_step``.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> class Counted(Listener):
    ...     n = 0
    ...     def step(self, event):
    ...         self.n += 1
    >>> counted = Counted()
    >>> model = BernoulliMixture(2, n_init=1, random_state=0, callbacks=[counted]).fit([[1, 0], [0, 1], [1, 1]])
    >>> counted.n > 0
    True
    """

    every_step = False

    def begin(self, event: Begin) -> None:
        """The fit begins."""

    def step(self, event: Progress) -> bool:
        """A pass is done."""
        return False

    def end(self, event: End) -> None:
        """The fit is over, also after an error."""


class Several(Listener):
    """Passes events on to several listeners."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self.listeners = list(listeners)
        self.every_step = any(listener.every_step for listener in self.listeners)

    def begin(self, event: Begin) -> None:
        """Pass on."""
        for listener in self.listeners:
            listener.begin(event)

    def step(self, event: Progress) -> bool:
        """Pass on; any of them may ask to stop."""
        return any([listener.step(event) for listener in self.listeners])

    def end(self, event: End) -> None:
        """Pass on."""
        for listener in self.listeners:
            listener.end(event)


class InTurn(Listener):
    """Passes events of several threads on to one listener, one at a time; when it asks one to stop, all stop."""

    def __init__(self, listener: Listener) -> None:
        self.listener, self.every_step = listener, listener.every_step
        self.lock, self.stopped = Lock(), False

    def step(self, event: Progress) -> bool:
        """Pass on."""
        with self.lock:
            self.stopped = self.listener.step(event) or self.stopped
            return self.stopped


class LogLines(Listener):
    """A log line per restart and every ``every`` passes.

    Parameters
    ----------
    every : int
        Passes between two lines.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> BernoulliMixture(2, random_state=0, callbacks=[LogLines()]).fit([[1, 0], [0, 1]]).n_components
    2
    """

    def __init__(self, every: int = 10) -> None:
        self.every = every
        self.every_step = every == 1
        self.words = ("start", "pass")
        self.told: dict[int, int] = {}  # of every start, the last pass that was told of

    @property
    def _many(self) -> str:
        """Passes, sweeps, epochs."""
        return self.words[1] + ("es" if self.words[1].endswith("s") else "s")

    def begin(self, event: Begin) -> None:
        """Say what begins."""
        self.words, self.told = event.words, {}
        one = event.words[0]
        log.info("%s: %d %ss, at most %d %s each", event.name, event.n_restarts, one, event.max_iter, self._many)

    def step(self, event: Progress) -> bool:
        """Say how it goes."""
        iteration = event.step.state.iteration
        before = self.told.get(event.restart, 0)
        if iteration // self.every > before // self.every or event.step.settled:
            self.told[event.restart] = iteration
            step = event.step
            # The first pass of a stage has nothing to compare with; a trial that did not pay is taken back.
            told = math.isfinite(step.gain) and step.kind not in ("rejected", "sweep")
            gain = f" (gain {step.gain:.3g})" if told else ""
            state = (
                ", done" * step.settled
                if step.kind == "sweep"
                else ", settled"
                if step.settled
                else ", not kept"
                if step.kind == "rejected"
                else ""
            )
            place = f"{self.words[0]} {event.restart + 1}, {self.words[1]} {iteration}"
            log.info("%s: objective %.6f%s%s", place, step.objective, gain, state)
        return False

    def end(self, event: End) -> None:
        """Say how it ended."""
        if event.n_iter:  # else it was interrupted before there was anything
            log.info("done: objective %.6f after %d %s", event.objective, event.n_iter, self._many)


class ProgressLines(Listener):
    """Plain lines on standard error: the first after ``first`` seconds, then one every ``every`` seconds.

    Parameters
    ----------
    every : float
        Seconds between two lines; 0 tells of every pass.
    first : float or None
        Seconds before the first line; None: as ``every``.
    summary : bool
        Whether to say how the fit ended, however short it was.
    clock : function
        The time in seconds.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> BernoulliMixture(2, random_state=0, callbacks=[ProgressLines(first=60)]).fit([[1, 0], [0, 1]]).n_components
    2
    """

    def __init__(
        self,
        every: float = 2.0,
        first: float | None = None,
        summary: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.every, self.first = every, every if first is None else first
        self.summary, self.clock = summary, clock
        self.every_step = every == 0

    def __deepcopy__(self, memo: Any) -> ProgressLines:
        """Itself, so that fits of copied estimators share one pace."""
        return self

    def begin(self, event: Begin) -> None:
        """Start the clock."""
        self.event = event
        self.began = self.start_began = self.clock()
        self.due = self.began + self.first
        self.done: dict[int, float] = {}  # of every start, the share that is done

    def step(self, event: Progress) -> bool:
        """Say how it goes, if it is time."""
        now, iteration = self.clock(), event.step.state.iteration
        if self.done and event.restart not in self.done:
            self.start_began = now
        self.went_back = bool(self.done) and event.restart < max(self.done)  # one that has waited goes on
        self.done[event.restart] = 1.0 if event.step.settled else iteration / self.event.max_iter
        if now >= self.due:
            self.due = now + self.every
            one, part = self.event.words
            place = f"{one} {event.restart + 1} of {self.event.n_restarts}, {part} {iteration}"
            left = self._left(now, event.step.kind == "sweep")
            told = "" if left is None else f", about {in_words(left)} left"
            self._tell(f"{place}, objective {event.step.objective:.6g}{told}")
        return False

    def _left(self, now: float, side_by_side: bool) -> float | None:
        """Seconds left: of chains by the sweeps that are done, of starts by how long the ones before took."""
        if side_by_side:
            share = sum(self.done.values()) / self.event.n_restarts
            return (now - self.began) * (1.0 - share) / share if share > 0.02 else None
        ended = len(self.done) - 1
        if ended == 0 or self.went_back:
            return None  # nobody knows how many passes a start needs
        each = (self.start_began - self.began) / ended
        return max(each * (self.event.n_restarts - max(self.done)) - (now - self.start_began), 0.0)

    def end(self, event: End) -> None:
        """Say how it ended."""
        if self.summary and event.n_iter:
            took = in_words(self.clock() - self.began)
            self._tell(f"done in {took}, objective {event.objective:.6g}")

    def _tell(self, text: str) -> None:
        print(f"{self.event.name}: {text}", file=sys.stderr, flush=True)


def in_words(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> in_words(0.31), in_words(42.4), in_words(200)
    ('0.3 s', '42 s', '3 min')
    """
    if seconds < 90:
        return f"{seconds:.1f} s" if 0 < seconds < 2 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


class TimeLimit(Listener):
    """Stops the fit after a number of seconds.

    Parameters
    ----------
    seconds : float
        From the first start on.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> BernoulliMixture(2, random_state=0, callbacks=[TimeLimit(60)]).fit([[1, 0], [0, 1]]).n_components
    2
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self.clock = seconds, clock
        self.reached = False
        self.began = clock()

    def begin(self, event: Begin) -> None:
        """Start the clock."""
        self.began = self.clock()

    def step(self, event: Progress) -> bool:
        """Whether the time is up."""
        self.reached = self.clock() - self.began >= self.seconds
        return self.reached


class Call(Listener):
    """Calls a function with every :class:`Progress`; a true answer stops the fit."""

    def __init__(self, function: Callable[[Progress], Any], every_step: bool = True) -> None:
        self.function, self.every_step = function, every_step

    def step(self, event: Progress) -> bool:
        """Ask the function."""
        return bool(self.function(event))


class ProgressBar(Listener):
    """A bar on the terminal with an estimate of the time left.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where it is drawn; standard error by default.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from latentbits import BernoulliMixture
    >>> bar = ProgressBar(Console(file=io.StringIO()))
    >>> BernoulliMixture(2, random_state=0, callbacks=[bar]).fit([[1, 0], [0, 1]]).n_components
    2
    """

    def __init__(self, console: Any = None) -> None:
        self.console = console
        self.bar: Any = None

    def __deepcopy__(self, memo: Any) -> ProgressBar:
        """Itself: there is one terminal."""
        return self

    def begin(self, event: Begin) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.max_iter = event.max_iter
        self.n_restarts, self.words = event.n_restarts, event.words
        self.done: dict[int, float] = {}
        self.passes: dict[int, int] = {}
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task(event.name, total=float(event.n_restarts), note="")
        self.bar.start()

    def step(self, event: Progress) -> bool:
        """Move the bar: a start counts by its passes, as compared with those before it, and as done when it settles."""
        iteration, side_by_side = event.step.state.iteration, event.step.kind == "sweep"
        self.passes[event.restart] = iteration
        before = [n for restart, n in self.passes.items() if restart != event.restart]
        expected = self.max_iter if side_by_side else sum(before) / len(before) if before else math.inf
        self.done[event.restart] = 1.0 if event.step.settled else min(iteration / expected, 0.99)
        # Chains go on side by side, starts one after the other.
        completed = sum(self.done.values()) if side_by_side else event.restart + self.done[event.restart]
        if not side_by_side and event.restart < max(self.passes):  # one that has waited goes on
            completed = self.n_restarts - 1 + self.done[event.restart]
        self.bar.update(
            self.task,
            completed=completed,
            note=f"{self.words[0]} {event.restart + 1}/{self.n_restarts}, {self.words[1]} {event.step.state.iteration}, "
            f"{event.step.objective / event.scale:.5f} nats per cell",
        )
        return False

    def end(self, event: End) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
