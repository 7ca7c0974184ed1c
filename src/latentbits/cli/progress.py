"""Progress of long work: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FIRST = 2.0  # seconds before the first line
EVERY = 5.0  # seconds between lines
TICK = 1.0  # seconds between looks at the clock
# Shares: more is done only when that is told, and from which on the pace is known.
MOST_GUESSED, KNOWN_FROM = 0.99, 0.02

Tell = Callable[[float, float, str], None]


def listeners() -> list[Any]:
    """What shows the progress of one fit."""
    from ..engine.events import ProgressBar, ProgressLines

    if not sys.stderr.isatty():
        return [ProgressLines(EVERY, FIRST, summary=False)]
    from rich.console import Console

    return [ProgressBar(Console(stderr=True))]


@contextmanager
def progress_shown(what: str) -> Iterator[Tell]:
    """A function to call with (done, total, note); between calls what is shown goes on with the clock."""
    if not sys.stderr.isatty():
        lines = Lines()
        with _ticking(lines.refresh, max(TICK, lines.every)):
            yield lines
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    pace = Pace()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0, left="")

        def refresh() -> None:
            bar.update(task, completed=pace.share(), left=pace.left())

        def tell(done: float, total: float, note: str) -> None:
            pace.take(done, total)
            bar.update(task, completed=pace.share(), left=pace.left(), description=escape(note))

        with _ticking(refresh, TICK):
            yield tell


@contextmanager
def _ticking(call: Callable[[], None], every: float) -> Iterator[None]:
    """Call a function every so many seconds meanwhile."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(every):
            call()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Pace:
    """How much of something long is done, by what was told last and the clock since then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self.told, self.at = 0.0, self.began

    def take(self, done: float, total: float) -> None:
        """Hear how much is done."""
        if total > 0:
            self.told, self.at = min(1.0, max(0.0, done / total)), self.clock()

    def share(self) -> float:
        """How much is done by now, at the pace so far."""
        if self.told <= 0:
            return 0.0
        pace = self.told / max(self.at - self.began, 1e-9)
        return max(self.told, min(MOST_GUESSED, self.told + pace * (self.clock() - self.at)))

    def left(self) -> str:
        """The time left, in words; nothing where it is not known yet."""
        share = self.share()
        if share <= KNOWN_FROM:
            return ""
        from ..engine.events import in_words

        return f"about {in_words((self.clock() - self.began) * (1 - share) / share)} left"


class Lines:
    """A line every some seconds, with what is left at the present pace."""

    def __init__(self, every: float = EVERY, first: float = FIRST, clock: Callable[[], float] = time.monotonic) -> None:
        self.every, self.clock = every, clock
        self.pace, self.note = Pace(clock), ""
        self.due = self.pace.began + first

    def __call__(self, done: float, total: float, note: str) -> None:
        self.pace.take(done, total)
        self.note = note
        self.refresh()

    def refresh(self) -> None:
        """The line, if it is due."""
        now = self.clock()
        if now < self.due or not self.note:
            return
        self.due = now + self.every
        left = self.pace.left()
        print(f"{self.pace.share():4.0%}{', ' + left if left else ''}: {self.note}", file=sys.stderr, flush=True)


class SeveralFits:
    """Progress over several fits, each of which tells of its passes."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.place: tuple[float, float, str] = (0.0, 1.0, "")

    def __deepcopy__(self, memo: Any) -> SeveralFits:
        """Itself, so that copied estimators tell the same listener."""
        return self

    def __call__(self, done: float, total: float, note: str) -> None:
        self.place = (done, total, note)
        self.tell(done, total, note)

    def listeners(self) -> list[Any]:
        """What the fits are given as callbacks."""
        from ..engine.events import Call

        return [Call(self.passed, every_step=False)]

    def passed(self, event: Any) -> None:
        """A pass of the present fit is done."""
        done, total, note = self.place
        self.tell(done, total, f"{note}, start {event.restart + 1}, pass {event.step.state.iteration}".lstrip(", "))
