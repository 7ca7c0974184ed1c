"""Parameters of a tree of hidden states, and the form in which blocks need them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from ... import declared as of
from ...data.block import Float
from ...maths.profiles import EDGE
from ..forest import downward
from ..params import TreeParams


class HiddenParams(NamedTuple):
    """The tree, P(state | state of the parent), of roots the same line for every state, and P(1 | state)."""

    parents: Annotated[Any, of.places("D", below="D", dtype="int32")]
    moves: Annotated[Float, of.shares("D", "K", "K")]
    probs: Annotated[Float, of.chances("D", "K")]


class Zeros(NamedTuple):
    """What columns send up where all at and below them are zero; see ``kernels.py``."""

    base: Any  # (D, 3, M)
    shifts: Any  # (D, M)
    inverse: Any  # (D, M) of the messages
    scale: Float  # (D,)
    is_hub: Any  # (D,) whether anything is shifted


class HiddenPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    order: Any  # (D,) columns, parents first
    parents: Any  # (D,)
    moves: Any  # (D, M, M)
    zeros: Zeros
    conditional: Float  # (D, M, M) P(state | state of the parent, zeros at and below)
    params: HiddenParams

    @property
    def roots(self) -> Any:
        """Columns without a parent."""
        return np.flatnonzero(self.parents == np.arange(len(self.parents)))


def precomputed_states(params: HiddenParams, dtype: Any = np.float64) -> HiddenPrecomputed:
    """Parameters in the form that blocks need, messages in ``dtype``."""
    from .kernels import send_zeros

    parents = np.array(params.parents, np.int32)  # those of files cannot be written: a kind of their own
    moves, probs = np.array(params.moves, np.float64, order="C"), np.array(params.probs, np.float64, order="C")
    order, shape = downward(parents), probs.shape
    base, shifts = np.empty((shape[0], 3, shape[1])), np.zeros(shape, np.int32)
    zero, message, scale = np.empty(shape), np.empty(shape), np.empty(shape[0])
    send_zeros(order, parents, moves, probs, np.ones(shape), base, shifts, zero, message, scale)
    zeros = Zeros(base.astype(dtype), shifts, (1.0 / message).astype(dtype), scale, shifts.any(axis=1))
    conditional = moves * zero[:, None, :] / message[:, :, None]
    return HiddenPrecomputed(order, parents, moves.astype(dtype), zeros, conditional, params)


def main_root(parents: Any) -> int:
    """The root of the tree with the most columns; the first of several."""
    above = np.asarray(parents, np.int64)
    for _ in range(len(above).bit_length() + 1):
        above = above[above]
    return int(np.bincount(above, minlength=len(above)).argmax())


def state_shares(params: HiddenParams) -> Float:
    """P(state) (D, M) of every column."""
    out = params.moves[:, 0].copy()
    for d in downward(params.parents):
        if params.parents[d] != d:
            out[d] = out[params.parents[d]] @ params.moves[d]
    return out


def profiles_of(params: HiddenParams) -> Float:
    """P(1 | state of the main root) (M, D); columns of other trees have their own chance in all."""
    parents, moves, probs = params
    root, given = main_root(parents), np.empty((len(parents), probs.shape[1], probs.shape[1]))
    for d in downward(parents):
        if parents[d] == d:
            given[d] = np.eye(probs.shape[1]) if d == root else moves[d]
        else:
            given[d] = given[parents[d]] @ moves[d]
    return np.ascontiguousarray(np.einsum("dkm,dm->kd", given, probs))


def implied_tree(params: HiddenParams) -> TreeParams:
    """The tree with the same pairs of neighbouring cells: a column given its parent, hidden states summed out."""
    parents, moves, probs = params
    shares = state_shares(params)
    chances, on_above = (shares * probs).sum(axis=1), probs[parents]
    joint = np.einsum("di,dij,dj->di", shares[parents], moves, probs)  # state above and a one
    both = (joint * on_above).sum(axis=1)
    above = chances[parents]
    given = np.stack(((chances - both) / (1.0 - above), both / above), axis=1)
    given[parents == np.arange(len(parents))] = chances[parents == np.arange(len(parents)), None]
    return TreeParams(np.ones(1), np.array(parents, np.int32)[None, :], np.clip(given, EDGE, 1 - EDGE)[None, :])
