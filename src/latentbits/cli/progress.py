"""Progress of long work: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FIRST = 2.0  # seconds before the first line
EVERY = 10.0  # seconds between lines

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
    """A function to call with (done, total, note)."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total, note: bar.update(task, completed=done, total=total, description=escape(note))


class Lines:
    """A line every some seconds, with what is left at the present pace."""

    def __init__(self, every: float = EVERY, first: float = FIRST, clock: Callable[[], float] = time.monotonic) -> None:
        self.every, self.clock = every, clock
        self.began = clock()
        self.due = self.began + first

    def __call__(self, done: float, total: float, note: str) -> None:
        from ..engine.events import in_words

        now = self.clock()
        if now < self.due or total <= 0:
            return
        self.due = now + self.every
        share = min(1.0, done / total)
        left = f", about {in_words((now - self.began) * (1 - share) / share)} left" if share > 0.02 else ""
        print(f"{share:4.0%}{left}: {note}", file=sys.stderr, flush=True)


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
