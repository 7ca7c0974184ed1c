"""Modules of columns: subtrees, cut at weak edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtri

from ..forest import downward

# The default cut: edges that chance makes in this share of trees of independent columns, and those weaker than this part of
# the middle one of the others.
CHANCE, WEAK = 0.05, 0.25


class Module(NamedTuple):
    """Columns that hang together, from the top down."""

    columns: list[int]
    information: float  # mean over its edges
    cut: float  # of the edge above it


def modules_of(parents: Any, strength: Any, weight: float, n_modules: int | None = None) -> list[Module]:
    """Modules of a tree with edges to the parents of some strength (D,), told by so many rows, the largest first.

    Examples
    --------
    >>> parents, strength = np.array([0, 0, 1, 2]), np.array([0.0, 0.5, 0.01, 0.4])
    >>> [one.columns for one in modules_of(parents, strength, 1000)]
    [[0, 1], [2, 3]]
    """
    columns = np.arange(len(parents))
    edges = np.flatnonzero(parents != columns)
    if n_modules is None:
        # Twice the information of independent columns is about chi squared; the largest of many is taken for chance.
        kept = strength[edges] > chdtri(1, CHANCE / max(1, len(edges))) / (2.0 * max(weight, 1.0))
        least = WEAK * np.median(strength[edges][kept]) if kept.any() else np.inf
        is_cut = np.ones(len(parents), np.bool_)
        is_cut[edges] = ~kept | (strength[edges] < least)
    else:
        n_cuts = n_modules - int((parents == columns).sum())
        is_cut = np.isin(columns, edges[np.argsort(strength[edges], kind="stable")][: max(n_cuts, 0)])
    found: dict[int, list[int]] = {}
    top = columns.copy()
    for d in downward(parents).tolist():
        if parents[d] != d and not is_cut[d]:
            top[d] = top[parents[d]]
        found.setdefault(int(top[d]), []).append(d)
    out = []
    for first, mine in found.items():
        inner = strength[mine[1:]]
        out.append(Module(mine, float(inner.mean()) if len(inner) else 0.0, float(strength[first])))
    return sorted(out, key=lambda one: (-len(one.columns), one.columns[0]))
