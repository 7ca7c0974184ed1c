"""Where the columns of a tree are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np


def strongest_edges(parents: Any, strength: Any, most: int | None = None, least: float = 0.0) -> list[int]:
    """Columns whose edges to their parents are drawn: the strongest, at most so many, in the order of columns."""
    below = [d for d in range(len(parents)) if parents[d] != d and strength[d] >= least]
    return sorted(sorted(below, key=lambda d: (-strength[d], d))[:most])


def shown_columns(parents: Any, drawn: list[int]) -> list[int]:
    """Columns at either end of the edges that are drawn; all if there are none."""
    return sorted({*drawn, *(int(parents[d]) for d in drawn)}) or list(range(len(parents)))


def places_of(parents: Any, drawn: list[int], shown: list[int]) -> dict[int, tuple[float, float]]:
    """Columns around the roots of their trees: the angle by the leaves below, the radius by the depth; trees side by side.

    Examples
    --------
    >>> {d: (round(x), round(y)) for d, (x, y) in places_of([0, 0, 0], [1, 2], [0, 1, 2]).items()}
    {0: (1, 0), 1: (1, 1), 2: (1, -1)}
    """
    below: dict[int, list[int]] = {d: [] for d in shown}
    hanging = set(drawn)
    for d in sorted(drawn):
        below[int(parents[d])].append(d)
    out: dict[int, tuple[float, float]] = {}
    shift = 0.0
    for root in (d for d in shown if d not in hanging):
        order, depth = [root], {root: 0}
        for d in order:
            for child in below[d]:
                depth[child] = depth[d] + 1
                order.append(child)
        leaves = {d: 1 for d in order if not below[d]}
        for d in reversed(order):
            leaves[d] = leaves.get(d, 0) or sum(leaves[child] for child in below[d])
        begin = {root: 0.0}
        radius = max(depth.values())
        for d in order:
            at = begin[d]
            for child in below[d]:
                begin[child] = at
                at += leaves[child]
            angle = 2 * np.pi * (begin[d] + 0.5 * leaves[d]) / leaves[root]
            out[d] = shift + radius + depth[d] * float(np.cos(angle)), depth[d] * float(np.sin(angle))
        shift += 2.0 * radius + 1.0
    return out
