"""Modules of columns: subtrees, cut at weak edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..forest import downward

# The default cut: edges weaker than this part of the middle one.
WEAK = 0.25


class Module(NamedTuple):
    """Columns that hang together, from the top down."""

    columns: list[int]
    information: float  # mean over its edges
    cut: float  # of the edge above it


def modules_of(parents: Any, strength: Any, n_modules: int | None = None) -> list[Module]:
    """Modules of a tree with edges to the parents of some strength (D,), the largest first.

    Examples
    --------
    >>> parents, strength = np.array([0, 0, 1, 2]), np.array([0.0, 0.5, 0.01, 0.4])
    >>> [one.columns for one in modules_of(parents, strength)]
    [[0, 1], [2, 3]]
    """
    columns = np.arange(len(parents))
    edges = np.flatnonzero(parents != columns)
    if n_modules is None:
        is_cut = strength < WEAK * (np.median(strength[edges]) if len(edges) else 0.0)
    else:
        n_cuts = n_modules - int((parents == columns).sum())
        is_cut = np.isin(columns, edges[np.argsort(strength[edges], kind="stable")][: max(n_cuts, 0)])
    top = columns.copy()
    for d in downward(parents):
        if parents[d] != d and not is_cut[d]:
            top[d] = top[parents[d]]
    found = []
    for first in np.unique(top):
        mine = [int(d) for d in downward(parents) if top[d] == first]
        inner = [strength[d] for d in mine if d != first]
        found.append(Module(mine, float(np.mean(inner)) if inner else 0.0, float(strength[first])))
    return sorted(found, key=lambda one: (-len(one.columns), one.columns[0]))
