"""Parameters of a mixture of trees, and the form in which blocks need them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from .forest import marginals_of


class TreeParams(NamedTuple):
    """Class weights, trees, and P(1 | parent is 0, 1); that of roots twice the same."""

    weights: Annotated[Float, of.weights("K")]
    parents: Annotated[Any, of.places("K", "D", below="D", dtype="int32")]
    on_given: Annotated[Float, of.chances("K", "D", "2")]


class TreePrecomputed(NamedTuple):
    """Parameters in the form that blocks need; see ``kernels.py``."""

    base: Float  # (K,) log weight plus the log probability of a row of zeros
    slope: Float  # (K, D)
    bond: Float  # (K, D)
    parents: Any  # (K, D)
    wide: tuple[Float, Float, Any]  # slope, bond, parents as (D * K,)
    probs: Float  # (K, D) P(1 | class)
    is_flat: bool  # no tree has an edge
    params: TreeParams


def precomputed_trees(params: TreeParams) -> TreePrecomputed:
    """Trees in the form that blocks need."""
    parents, columns = params.parents, np.arange(params.parents.shape[1])
    log_on, log_off = np.log(params.on_given), np.log1p(-params.on_given)
    is_root = parents == columns
    slope = log_on[:, :, 0] - log_off[:, :, 0]
    bond = np.where(is_root, 0.0, log_on[:, :, 1] - log_off[:, :, 1] - slope)
    lost = np.where(is_root, 0.0, log_off[:, :, 1] - log_off[:, :, 0])  # by a zero whose parent becomes one
    slope = slope + np.array([np.bincount(up, weights=loss, minlength=len(columns)) for up, loss in zip(parents, lost)])
    base = np.log(params.weights) + log_off[:, :, 0].sum(axis=1)
    probs = np.array([marginals_of(up, given) for up, given in zip(parents, params.on_given)])
    slope, bond, parents = (np.ascontiguousarray(part) for part in (slope, bond, parents.astype(np.int32)))
    wide = tuple(np.ascontiguousarray(part.T).ravel() for part in (slope, bond, parents))
    return TreePrecomputed(base, slope, bond, parents, wide, probs, bool(is_root.all()), params)  # type: ignore[arg-type]
