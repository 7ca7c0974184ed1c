"""How a family is searched: which settings it tries, one after the other.

Sizes double as long as the loss of hidden cells falls; then the regulariser is searched at the best size, sizes in between
are tried, and starts that answer together.  What is tried next depends on the results of the family itself and on nothing
else: not on the clock, nor on other families.  So a longer search begins with the shorter one, and the number of its steps is
all that has to be kept to repeat it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..families import Tuning
from .candidates import Candidate, measure
from .scores import paired

MOST_NODES = 4096  # of a map
ROUNDS = 3  # of sizes and regularisers in turn
ROWS_PER_COMPONENT = 4  # of the largest size: fewer rows say nothing about a component


class Point(NamedTuple):
    """Settings of a fit: the size, and what is searched besides."""

    size: Any
    options: tuple[tuple[str, Any], ...] = ()

    def with_options(self, **options: Any) -> Point:
        """The same with other options."""
        return Point(self.size, tuple(sorted({**dict(self.options), **options}.items())))

    def with_size(self, size: Any) -> Point:
        """The same with another size."""
        return Point(size, self.options)


class Tried(NamedTuple):
    """A fit of the search and how well it predicted."""

    point: Point
    loss: float  # mean log-loss of the cells that are hidden for the search; infinite if the fit failed
    losses: Any  # (m,) of every cell, None if the fit failed
    seconds: float
    note: str = ""
    settled: bool = False  # before it was stopped: a longer fit would end at the same place

    def gain_over(self, other: Tried, rows: Any) -> tuple[float, float]:
        """How much smaller the loss is than that of another fit, and the standard error of that."""
        if self.losses is None or other.losses is None:
            return other.loss - self.loss if self.loss != other.loss else 0.0, 0.0
        found = paired(other.losses, self.losses, rows)
        return found.difference, found.se

    def row(self, model: str, step: int, best: Tried | None, rows: Any) -> dict[str, Any]:
        """As a row of a table, beside the best fit of the family."""
        behind, se = (0.0, 0.0) if best is None else best.gain_over(self, rows)
        return {
            "model": model,
            "step": step,
            "size": self.point.size,
            "options": dict(self.point.options),
            "log_loss": self.loss,
            "behind": behind,
            "se": se,
            "seconds": self.seconds,
            "note": self.note,
        }


Path = Generator[Point, Tried, Tried]


def most_components(one: Candidate, n_rows: int, n_columns: int) -> int:
    """The largest size that a table can bear; scales beyond the number of columns say nothing that fewer do not."""
    most = max(2, n_rows // ROWS_PER_COMPONENT)
    return min(most, n_columns) if one.within_columns else most


def search_path(one: Candidate, most: int, rows: Any) -> Path:
    """The settings that a family tries, in turn; each is answered with how it did.

    Parameters
    ----------
    one : Candidate
    most : int
        The largest size that the table can bear.
    rows : (m,) array
        The row of every hidden cell.
    """
    seen: dict[Point, Tried] = {}
    path = _search(one, most, rows)
    point = next(path)
    while True:
        if point not in seen:
            seen[point] = yield point
        try:
            point = path.send(seen[point])
        except StopIteration as stop:
            best: Tried = stop.value
            return best


def _search(one: Candidate, most: int, rows: Any) -> Path:
    """The same, with settings that come up again."""
    options = {tuning.option: tuning.values[tuning.start] for tuning in one.tuned}
    best = yield Point(one.named[0] if one.named else one.first).with_options(**options)
    best = yield from (_named(one, best) if one.named else _grown(best, most, rows))
    for _ in range(ROUNDS):  # what is right for a size need not be for those that it leads to
        size = best.point.size
        for tuning in one.tuned:
            before = best.point
            best = yield from _tuned(tuning, best)
            if best.point != before and not one.named:
                best = yield from _grown(best, most, rows)
        if best.point.size == size:
            break
    if not (one.named or one.limit):
        best = yield from _refined(best)
    if one.averaged and best.point.size != 1:
        together = yield best.point.with_options(**one.averaged)
        if together.loss < best.loss:
            best = together if one.named else (yield from _grown(together, most, rows))
    return best


def growth(point: Point, most: int, rows: Any) -> Path:
    """Larger and larger sizes from known settings on, as for a longer table."""
    found = yield point
    return (yield from _grown(found, most, rows))


def _named(one: Candidate, best: Tried) -> Path:
    """All sizes that the user named."""
    for size in one.named[1:]:
        tried = yield best.point.with_size(size)
        best = min(best, tried, key=lambda fit: fit.loss)
    return best


def _grown(best: Tried, most: int, rows: Any) -> Path:
    """Double sizes until the loss has stopped falling: worse by a standard error, or twice no better by one."""
    size, misses = larger(best.point.size, most), 0
    while size is not None and misses < 2:
        tried = yield best.point.with_size(size)
        gain, se = tried.gain_over(best, rows)
        if gain < -se:
            break
        misses = 0 if gain > se else misses + 1
        best = tried if gain > 0 else best
        size = larger(size, most)
    return best


def _tuned(tuning: Tuning, best: Tried) -> Path:
    """Along the values of an option while they predict better, upward first."""
    for step in (1, -1):
        start, moved = tuning.values.index(dict(best.point.options)[tuning.option]), False
        for place in range(start + step, len(tuning.values) if step > 0 else -1, step):
            tried = yield best.point.with_options(**{tuning.option: tuning.values[place]})
            if tried.loss >= best.loss:
                break
            best, moved = tried, True
        if moved:
            break
    return best


def _refined(best: Tried) -> Path:
    """The sizes half way, on a scale of doublings, to those around the best."""
    size = best.point.size
    if not isinstance(size, int):
        return best
    for other in (size / math.sqrt(2), size * math.sqrt(2)):
        between = round(other)
        if between not in (size // 2, size, 2 * size) and between >= 1:
            tried = yield best.point.with_size(between)
            best = min(best, tried, key=lambda fit: fit.loss)
    return best


def larger(size: Any, most: int) -> Any:
    """The next size: twice as many components, or nodes; None if the table cannot bear it.

    Examples
    --------
    >>> larger(4, 250), larger((5, 5), 250), larger(200, 250), larger(None, 250)
    (8, (7, 7), None, None)
    """
    if size is None:
        return None
    if isinstance(size, tuple):
        sides = tuple(round(side * 2 ** (1 / len(size))) for side in size)
        return sides if measure(sides) <= MOST_NODES else None
    return 2 * size if 2 * size <= most else None


def options_told(options: Mapping[str, Any]) -> str:
    """Options in words.

    Examples
    --------
    >>> options_told({"smoothing": 3.0, "average_restarts": True, "n_init": 5}), options_told({"learn_cells": None})
    ('smoothing 3, 5 starts averaged', '')
    """
    told = []
    for name, value in options.items():
        if name in ("average_restarts", "n_init") or value is None:
            continue
        number = isinstance(value, (int, float, np.number))
        told.append(f"{name.replace('_', ' ')} {value:g}" if number else f"{name.replace('_', ' ')} {value}")
    if options.get("average_restarts"):
        told.append(f"{options.get('n_init')} starts averaged")
    return ", ".join(told)
