"""What listens to a fit: progress, log lines, limits.  Each listener is a few lines on the same three events."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
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


class End(NamedTuple):
    """The fit is over."""

    n_iter: int
    objective: float


class Listener:
    """Hears every event; returning True from :meth:`step` asks the fit to stop after this pass.

    Chains are told of about once a second, unless somebody wants to hear of ``every_step``.
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


class LogLines(Listener):
    """A log line per restart and every ``every`` passes."""

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


class TimeLimit(Listener):
    """Stops the fit after a number of seconds."""

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

    every_step = True

    def __init__(self, function: Callable[[Progress], Any]) -> None:
        self.function = function

    def step(self, event: Progress) -> bool:
        """Ask the function."""
        return bool(self.function(event))


class ProgressBar(Listener):
    """A bar on the terminal with an estimate of the time left."""

    def __init__(self, console: Any = None) -> None:
        self.console = console
        self.bar: Any = None

    def begin(self, event: Begin) -> None:
        """Show the bar."""
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.max_iter = event.max_iter
        self.n_restarts, self.words = event.n_restarts, event.words
        self.done: dict[int, float] = {}
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
        """Move the bar: a start counts by its passes, and as done when it settles."""
        done = 1.0 if event.step.settled else event.step.state.iteration / self.max_iter
        self.done[event.restart] = done
        # Chains go on side by side, starts one after the other.
        completed = sum(self.done.values()) if event.step.kind == "sweep" else event.restart + done
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
