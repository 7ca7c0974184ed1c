"""Timing that a noisy machine cannot fool much: the two sides take turns, and the best of several runs counts."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(calls: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Seconds of every call: the least of ``rounds``, taken in turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def slope(sizes: list[float], seconds: list[float]) -> float:
    """Exponent of the power law through the points: 1 is linear."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
