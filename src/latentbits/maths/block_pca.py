"""Principal axes of a table: its blocks are read, never laid out whole.

A block Krylov space with Rayleigh-Ritz (Golub & Underwood 1977): every pass multiplies a few vectors by the covariance, and
the axes are taken from all products so far; when they become many, the best are kept and the space grows anew from them.
Unknown cells stand at the mean of their column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block, Float
from ..data.rng import stream
from ..data.summary import totals
from ..engine.protocols import Sweep
from ..engine.sweep import one_blas_thread

# Vectors beside those asked for, and passes at most.
SPARE = 6
MOST_PASSES = 60
# Blocks of vectors that are held at most.
MOST_HELD = 4
PRECISE = 1e-10


class PrincipalAxes(NamedTuple):
    """Column means (D,), axes (L, D) of unit length and standard deviations (L,) along them."""

    means: Float
    axes: Float
    deviations: Float


class _Means:
    """Weighted sums of a block."""

    def __call__(self, block: Block, rows: Any) -> tuple[Any, None]:
        sums = totals(block)
        return (sums.ones, sums.observed, sums.weight), None


class _Times:
    """Covariance of a block, times its weight, times vectors."""

    def __call__(self, block: Block, rows: Any, means: Float, vectors: Float) -> tuple[Float, None]:
        scores = centred_scores(block, means, vectors) * block.row_weights()[:, None]
        out = block.ones.t_dot(scores) - np.outer(means, scores.sum(axis=0))
        if block.unknown is not None:
            out += means[:, None] * block.unknown.t_dot(scores)
        return out, None


def centred_scores(block: Block, means: Float, vectors: Float) -> Float:
    """Rows less the column means, times vectors (D, b); unknown cells stand at the means."""
    out: Float = block.ones.dot(vectors) - means @ vectors
    if block.unknown is not None:
        out += block.unknown.dot(means[:, None] * vectors)
    return out


def block_pca(sweep: Sweep, n_axes: int) -> PrincipalAxes:
    """The ``n_axes`` directions in which the rows vary most; those in which they do not vary have deviation 0.

    The largest loading of every axis is positive (the first of equal ones).
    """
    nothing: list[Any] = [None] * sweep.n_blocks
    (ones, observed, weight), _ = sweep.map(_Means(), nothing, keep_rows=False)
    means = ones / np.maximum(observed, 1e-300)
    n_columns = len(means)
    width = min(n_axes + SPARE, n_columns)
    fresh = np.linalg.qr(stream(0, "start").standard_normal((n_columns, width)))[0]
    basis, images = np.empty((n_columns, 0)), np.empty((n_columns, 0))
    values, vectors = np.zeros(0), np.empty((n_columns, 0))
    for _ in range(MOST_PASSES):
        image = sweep.map(_Times(), nothing, means, fresh, keep_rows=False)[0] / weight
        with one_blas_thread():
            basis, images = np.hstack((basis, fresh)), np.hstack((images, image))
            inner = basis.T @ images
            found, turn = np.linalg.eigh(0.5 * (inner + inner.T))
            best = np.argsort(-found, kind="stable")[:n_axes]
            values, vectors = found[best], basis @ turn[:, best]
            off = np.linalg.norm(images @ turn[:, best] - vectors * values, axis=0).max(initial=0.0)
            if off <= PRECISE * max(float(values[0]), 1e-300) or basis.shape[1] >= n_columns:
                break
            fresh = _new_directions(basis, image)
            if basis.shape[1] >= MOST_HELD * width:
                kept = turn[:, np.argsort(-found, kind="stable")[:width]]
                basis, images = basis @ kept, images @ kept
        if not fresh.shape[1]:
            break
    variances = np.zeros(n_axes)
    axes = np.zeros((n_axes, n_columns))
    variances[: len(values)] = np.where(values > 1e-12 * max(float(values[0]), 1e-300), values, 0.0)
    axes[: len(values)] = vectors.T
    return PrincipalAxes(means, np.array([_sign(axis) for axis in axes])[:, None] * axes, np.sqrt(variances))


def _sign(axis: Float) -> float:
    """The sign of the first of the largest loadings; those of complementary columns are equal but for rounding."""
    sizes = np.abs(axis)
    return -1.0 if axis[int(np.argmax(sizes >= (1 - 1e-6) * sizes.max()))] < 0 else 1.0


def _new_directions(basis: Float, image: Float) -> Float:
    """Orthonormal vectors that span what ``image`` adds to the basis."""
    scale = np.linalg.norm(image, axis=0).max(initial=0.0)
    for _ in range(2):  # once more for what rounding left
        image = image - basis @ (basis.T @ image)
    directions, sizes = np.linalg.qr(image)
    kept: Float = directions[:, np.abs(sizes.diagonal()) > 1e-13 * scale]
    kept = kept - basis @ (basis.T @ kept)
    return np.linalg.qr(kept)[0] if kept.shape[1] else kept
