"""Progress of long work: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 10.0  # seconds between lines

Tell = Callable[[float, float, str], None]


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

    def __init__(self, every: float = EVERY, clock: Callable[[], float] = time.monotonic) -> None:
        self.every, self.clock = every, clock
        self.began = self.told = clock()

    def __call__(self, done: float, total: float, note: str) -> None:
        now = self.clock()
        if now - self.told < self.every or total <= 0:
            return
        self.told = now
        share = min(1.0, done / total)
        left = f", about {in_words((now - self.began) * (1 - share) / share)} left" if share > 0.02 else ""
        print(f"{share:4.0%}{left}: {note}", file=sys.stderr, flush=True)


def in_words(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> in_words(42.4), in_words(200)
    ('42 s', '3 min')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
