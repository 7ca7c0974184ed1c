"""Sizes that were found on some rows, tried again on more: what so many rows bear, fewer did not."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ..data.holdout import HiddenRows
from ..data.source import Source
from .candidates import Candidate
from .fits import CHOICE, MOST_CELLS, hidden_questions, search_loss, tried_of
from .search import Point, Tried, growth, most_components

# A size twice as large takes about so many times as long.
DEARER = 2.2


class Grown(NamedTuple):
    """Settings for more rows."""

    point: Point
    tried: list[Tried]
    settled: bool  # whether larger sizes no longer predict better; else the time was over


def grown(
    source: Source, rows: np.ndarray, one: Candidate, point: Point, seconds: float, seed: int, steps: int | None = None
) -> Grown:
    """Try larger sizes of a family on more rows, by hidden cells, as long as they predict better.

    Parameters
    ----------
    source : Source
        The table.
    rows : array
        Rows that are fitted.
    one : Candidate
    point : Point
        The settings that fewer rows chose.
    seconds : float
        No fit is begun that would probably end later.
    seed : int
    steps : int, optional
        Make so many fits instead of looking at the clock.
    """
    share = min(0.1, MOST_CELLS / (len(rows) * source.shape[1]))
    hidden = HiddenRows(source, rows, share, seed, CHOICE)
    path = growth(point, most_components(one, *hidden.shape), hidden_questions(hidden).rows)
    tried: list[Tried] = []
    began = time.perf_counter()
    asked = next(path)
    while True:
        expected = DEARER * tried[-1].seconds if tried else 0.0
        over = time.perf_counter() - began + expected > seconds if steps is None else len(tried) >= steps
        if over:
            return Grown(min(tried, key=lambda fit: fit.loss).point if tried else point, tried, False)
        kept = search_loss(hidden, one, asked, {**one.trial, **dict(asked.options)}, seed, None)
        tried.append(tried_of(asked, *kept))
        try:
            asked = path.send(tried[-1])
        except StopIteration as stop:
            best: Tried = stop.value
            return Grown(best.point if np.isfinite(best.loss) else point, tried, True)
