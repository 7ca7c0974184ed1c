"""Row unknowns that a fitted model remembers, for families whose rows each have some.

The likelihood of a new row needs a distribution of the row unknowns.  The empirical one (Kabán, Bingham & Hirsimäki 2004,
section 3.1) puts the weight of every training row on its fitted unknowns; of large tables a uniform sample of the
distinct rows is kept, chosen by what the rows hold, so that it depends neither on their order nor on the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import declared as of
from ..data.block import Block, Float, row_hashes

MOST_ROWS = 2000
# Remembered rows whose cell probabilities are laid out at a time.
CHUNK = 128
# Spreads the hashes of rows over all numbers, so that the smallest of them are a uniform sample.
SPREAD = np.uint64(0xD1342543DE82EF95)


def distinct(keys: NDArray[np.uint64], weights: Float) -> tuple[NDArray[np.uint64], Float, NDArray[np.int64]]:
    """Every key once, in ascending order, with its total weight and the place where it first stands."""
    once, first, origin = np.unique(keys, return_index=True, return_inverse=True)
    total: Float = np.bincount(origin, weights=weights, minlength=len(once)).astype(np.float64)
    return once, total, first


class LatentSample(NamedTuple):
    """Distinct rows with the smallest keys: keys, total weights and unknowns of R rows."""

    keys: Annotated[NDArray[np.uint64], of.Array(("R",), "uint64")]
    weights: Annotated[Float, of.amounts("R")]
    values: Annotated[Float, of.reals("R", "K")]

    def merge(self, other: LatentSample) -> LatentSample:
        """The smallest keys of both; equal rows of both add their weights."""
        keys, weights, first = distinct(
            np.concatenate((self.keys, other.keys)), np.concatenate((self.weights, other.weights))
        )
        values = np.concatenate((self.values, other.values))[first]
        return LatentSample(keys[:MOST_ROWS], weights[:MOST_ROWS], values[:MOST_ROWS])


def blank_rows(block: Block, active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows (n,) in which none of the active columns is known: they say nothing of their unknowns.

    Without active columns all rows are alike, and none is called blank.
    """
    if block.unknown is None or not active.any():
        return np.zeros(block.n_rows, np.bool_)
    hidden = block.unknown.dot(active.astype(np.float64)[:, None])[:, 0]
    blank: NDArray[np.bool_] = hidden == active.sum()
    return blank


def latent_sample(block: Block, values: Float, blank: NDArray[np.bool_] | None = None) -> LatentSample:
    """The sample of one block with row unknowns ``values`` (n, K); blank rows and those of weight zero do not count."""
    weights = block.row_weights()
    if blank is not None:
        weights = np.where(blank, 0.0, weights)
    keys = keys_of(block)
    counted = np.flatnonzero(weights > 0)
    empty = LatentSample(np.empty(0, np.uint64), np.empty(0), np.empty((0, values.shape[1])))
    return empty.merge(LatentSample(keys[counted], weights[counted], values[counted]))


def _joints(
    block: Block,
    sample: LatentSample,
    logs: Callable[[Float], tuple[Float, Float]],
    own: NDArray[np.uint64] | None = None,
) -> Iterator[tuple[Float, Float]]:
    """Some remembered unknowns (c, K) after the other, and their log probability together with that of the rows (n, c).

    ``logs(values)`` gives the log odds of a one and the log probability of a zero, each (c, D), for c rows of unknowns.
    ``own`` (n,) are keys of rows (see :func:`keys_of`) that do not count for the row of the block in their place: what was
    fitted to a cell must not predict it.
    """
    log_weights = np.log(sample.weights) - np.log(sample.weights.sum())
    for low in range(0, len(sample.weights), CHUNK):
        values = sample.values[low : low + CHUNK]
        slope, log_off = logs(values)
        joint = block.ones.dot(np.ascontiguousarray(slope.T))
        joint += log_off.sum(axis=1) + log_weights[low : low + CHUNK]
        if block.unknown is not None:
            joint -= block.unknown.dot(np.ascontiguousarray(log_off.T))
        if own is not None:
            rows, at = np.nonzero(own[:, None] == sample.keys[None, low : low + CHUNK])
            weights = sample.weights[low + at]
            with np.errstate(divide="ignore"):
                joint[rows, at] += np.log(np.maximum(weights - 1.0, 0.0)) - np.log(weights)
        yield values, joint


def keys_of(block: Block) -> NDArray[np.uint64]:
    """Keys (n,) by which rows are remembered."""
    keys: NDArray[np.uint64] = row_hashes(block) * SPREAD
    return keys


def empirical_bayes(
    block: Block,
    sample: LatentSample,
    logs: Callable[[Float], tuple[Float, Float]],
    own: NDArray[np.uint64] | None = None,
) -> Float:
    """log p(row) (n,) with the row unknowns distributed as in the sample; ``logs`` and ``own`` as in :func:`_joints`."""
    total = np.full(block.n_rows, -np.inf)
    for _, joint in _joints(block, sample, logs, own):
        top = np.maximum(joint.max(axis=1), -1e300)
        with np.errstate(divide="ignore"):
            total = np.logaddexp(total, top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))
    return total


def posterior_mean(
    block: Block,
    sample: LatentSample,
    logs: Callable[[Float], tuple[Float, Float]],
    answer: Callable[[Float], Float] | None = None,
    own: NDArray[np.uint64] | None = None,
    by_row: bool = False,
) -> Float:
    """Mean (n, V) of ``answer(values)`` (c, V), by default of the unknowns themselves, given the known cells of a row.

    With ``by_row`` the answers are (c, n), one for every row, and the mean is (n, 1).  ``own`` as in :func:`_joints`.
    """
    top, total, mean = np.full(block.n_rows, -1e300), np.zeros(block.n_rows), None
    for values, joint in _joints(block, sample, logs, own):
        higher = np.maximum(top, joint.max(axis=1))
        scale, top = np.exp(top - higher), higher
        weights = np.exp(joint - top[:, None])
        total = total * scale + weights.sum(axis=1)
        answers = values if answer is None else answer(values)
        part = (weights * answers.T).sum(axis=1, keepdims=True) if by_row else weights @ answers
        mean = part if mean is None else mean * scale[:, None] + part
    assert mean is not None
    alone = total == 0  # nothing else is remembered: the answer is that of all
    if alone.any() and own is not None:
        mean[alone] = posterior_mean(block, sample, logs, answer, None, by_row)[alone]
        total[alone] = 1.0
    out: Float = mean / total[:, None]
    return out


def posterior_draw(
    block: Block,
    sample: LatentSample,
    logs: Callable[[Float], tuple[Float, Float]],
    by_row: Float,
    own: NDArray[np.uint64] | None = None,
) -> Float:
    """Unknowns (n, K) of rows, drawn given their known cells with one uniform each."""
    log_total = empirical_bayes(block, sample, logs, own)
    if own is not None and np.isneginf(log_total).any():  # nothing else is remembered
        own = np.where(np.isneginf(log_total), np.uint64(0), own)
        log_total = empirical_bayes(block, sample, logs, own)
    reached = np.zeros(block.n_rows)
    out = np.repeat(sample.values[-1:], block.n_rows, axis=0)  # where rounding leaves the last one short of one
    waiting = np.ones(block.n_rows, np.bool_)
    for values, joint in _joints(block, sample, logs, own):
        steps = reached[:, None] + np.cumsum(np.exp(joint - log_total[:, None]), axis=1)
        ends = waiting & (steps[:, -1] > by_row)
        out[ends] = values[(steps[ends] > by_row[ends, None]).argmax(axis=1)]
        waiting &= ~ends
        reached = steps[:, -1]
    return out


def draw_rows(sample: LatentSample, n: int, rng: np.random.Generator) -> Float:
    """Row unknowns (n, K) drawn from the sample."""
    return sample.values[rng.choice(len(sample.weights), size=n, p=sample.weights / sample.weights.sum())]


def padded(matrix: Float) -> Float:
    """A matrix (n, K) with columns of zeros added up to a multiple of four, as kernels take it."""
    n, k = matrix.shape
    out = np.zeros((n, -(-k // 4) * 4), matrix.dtype)
    out[:, :k] = matrix
    return out
