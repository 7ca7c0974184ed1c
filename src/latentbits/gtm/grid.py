"""The latent space: a regular grid of nodes in [-1, 1]^L, and smooth functions over it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.block import Float

Shape = tuple[int, ...]


def suggested_shape(n_rows: int, n_dimensions: int = 2) -> Shape:
    """A grid of about 5 √n nodes for a table of ``n_rows`` rows (n/10 nodes in one dimension).

    Parameters
    ----------
    n_rows : int
    n_dimensions : {1, 2, 3}

    Returns
    -------
    tuple of int
        Nodes per axis.

    Examples
    --------
    >>> suggested_shape(2000), suggested_shape(2000, 1), suggested_shape(100), suggested_shape(2000, 3)
    ((15, 15), (200,), (7, 7), (6, 6, 6))
    """
    if n_dimensions == 1:
        return (int(np.clip(round(n_rows / 10), 20, 200)),)
    nodes = 5.0 * np.sqrt(n_rows)
    side = int(np.clip(round(nodes ** (1 / n_dimensions)), *((6, 20) if n_dimensions == 2 else (4, 8))))
    return (side,) * n_dimensions


def grid_points(shape: Shape) -> Float:
    """Nodes (K, L) of a regular grid over [-1, 1]^L; the last axis runs fastest."""
    axes = [np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1) for n in shape]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def spacings(shape: Shape) -> Float:
    """Distance of neighbours along every axis (L,)."""
    return np.array([2.0 / (n - 1) if n > 1 else 2.0 for n in shape])


@dataclass(frozen=True)
class Basis:
    """M functions over the latent space: Gaussian bumps on a grid of centres, raw coordinates if ``linear``, a constant.

    ``width`` is a standard deviation in units of the centres' spacing, per axis.
    """

    shape: Shape
    width: float = 1.0
    linear: bool = False

    @cached_property
    def centers(self) -> Float:
        """(C, L)."""
        return grid_points(self.shape)

    @property
    def scale(self) -> Float:
        """Standard deviation of the bumps along every axis (L,)."""
        return self.width * spacings(self.shape)

    @property
    def n_functions(self) -> int:
        """M."""
        return len(self.centers) + len(self.shape) * self.linear + 1

    def features(self, points: Float) -> Float:
        """Values (n, M) at points (n, L); the constant comes last."""
        away = (points[:, None, :] - self.centers) / self.scale
        bumps = np.exp(-0.5 * (away**2).sum(axis=2))
        raw = [points] if self.linear else []
        return np.hstack([bumps, *raw, np.ones((len(points), 1))])

    def slopes(self, points: Float) -> Float:
        """Derivatives (n, L, M) by the coordinates."""
        n_centers = len(self.centers)
        away = (points[:, None, :] - self.centers) / self.scale
        bumps = np.exp(-0.5 * (away**2).sum(axis=2))
        out = np.zeros((len(points), len(self.shape), self.n_functions))
        out[:, :, :n_centers] = (-away / self.scale * bumps[:, :, None]).transpose(0, 2, 1)
        if self.linear:
            for axis in range(len(self.shape)):
                out[:, axis, n_centers + axis] = 1.0
        return out


def neighbours(shape: Shape) -> Any:
    """Pairs (E, 2) of nodes that are next to each other along an axis."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        first = np.take(numbers, range(shape[axis] - 1), axis=axis)
        second = np.take(numbers, range(1, shape[axis]), axis=axis)
        pairs.append(np.stack((first.ravel(), second.ravel()), axis=1))
    return np.concatenate(pairs)
