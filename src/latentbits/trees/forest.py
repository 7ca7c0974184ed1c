"""Trees of columns as arrays of parents: roots are their own parents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.block import Float

Parents = NDArray[np.int32]  # (D,)


def downward(parents: Any) -> NDArray[np.int64]:
    """Columns (D,), parents before children; those of equal depth by number.

    Examples
    --------
    >>> downward(np.array([1, 1, 0])).tolist()
    [1, 0, 2]
    """
    return np.argsort(depths(parents), kind="stable")


def depths(parents: Any) -> NDArray[np.int64]:
    """Steps (D,) from every column to its root; ValueError if there is a circle."""
    n_columns = len(parents)
    above, steps = np.asarray(parents, np.int64), (np.asarray(parents) != np.arange(n_columns)).astype(np.int64)
    for _ in range(n_columns.bit_length() + 1):  # twice as far each time
        steps, above = steps + steps[above], above[above]
    if (above[above] != above).any() or (np.asarray(parents)[above] != above).any():
        raise ValueError("the columns stand in a circle")
    return steps


def rooted(n_columns: int, first: Any, second: Any) -> Parents:
    """Parents of the columns of a forest with these edges, each of its trees rooted at a centre, where messages are shallow.

    Examples
    --------
    >>> rooted(5, np.array([0, 1, 2]), np.array([1, 2, 3])).tolist()
    [1, 2, 2, 2, 4]
    """
    from .forest_kernels import root_at_centres

    parents: Parents = np.empty(n_columns, np.int32)
    root_at_centres(np.asarray(first, np.int64), np.asarray(second, np.int64), parents)
    return parents


def marginals_of(parents: Any, on_given: Any) -> Float:
    """P(1) (D,) of the columns of a tree, from P(1 | parent) (D, 2)."""
    out = on_given[:, 0].copy()
    depth = depths(parents)
    for level in range(1, int(depth.max(initial=0)) + 1):
        mine = np.flatnonzero(depth == level)
        above = out[parents[mine]]
        out[mine] = on_given[mine, 0] * (1.0 - above) + on_given[mine, 1] * above
    return np.asarray(out, np.float64)


def edge_strengths(parents: Any, on_given: Any, chances: Any) -> Any:
    """Mutual information (D,) of every column and its parent, in nats; 0 for roots."""
    above, own = chances[parents], chances
    joint = np.stack(
        [
            (1 - above) * (1 - on_given[:, 0]),
            (1 - above) * on_given[:, 0],
            above * (1 - on_given[:, 1]),
            above * on_given[:, 1],
        ]
    )
    alone = np.stack([(1 - above) * (1 - own), (1 - above) * own, above * (1 - own), above * own])
    information = np.maximum((joint * np.log(np.maximum(joint, 1e-300) / np.maximum(alone, 1e-300))).sum(axis=0), 0.0)
    return np.where(parents == np.arange(len(parents)), 0.0, information)
