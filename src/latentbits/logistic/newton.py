"""A Newton step inside a trust region, by conjugate gradients (Steihaug 1983): curvature is met in products alone.

Points and steps are arrays (K + 1, D), a column for every column of the table, and lengths are taken in a metric of
one matrix per column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..data.block import Float

# The residual of the step, compared with the gradient; near the optimum the gradient itself, so that steps are exact.
LOOSE = 0.1
# Products with the curvature that a step may cost.
MOST_PRODUCTS = 200


class Metric:
    """Lengths of steps by a positive definite matrix for every column (D, K + 1, K + 1)."""

    def __init__(self, matrices: Float) -> None:
        self.factors = np.linalg.cholesky(matrices)

    def solve(self, gradient: Float) -> Float:
        """The step whose image is ``gradient``."""
        halfway = np.linalg.solve(self.factors, gradient.T[:, :, None])
        return np.asarray(np.linalg.solve(self.factors.transpose(0, 2, 1), halfway)[:, :, 0].T)

    def dot(self, first: Float, second: Float) -> float:
        """Inner product of two steps."""
        left, right = (np.einsum("dij,id->dj", self.factors, step) for step in (first, second))
        return float((left * right).sum())


class NewtonStep(NamedTuple):
    """Where to go, what the quadratic model says it gains, how long it is, and whether the edge did not stop it."""

    move: Float
    gain: float
    length: float
    inside: bool


def newton_step(gradient: Float, curve: Callable[[Float], Float], metric: Metric, radius: float | None) -> NewtonStep:
    """The step that raises ``gradient · s - s · curve(s) / 2`` most, up to a length of ``radius``.

    None: the length of the first step tried, the steepest in the metric.
    """
    move, gain, rest = np.zeros_like(gradient), 0.0, gradient
    ahead = metric.solve(rest)
    slope = float((rest * ahead).sum())
    radius = np.sqrt(slope) if radius is None else radius
    enough = slope * min(LOOSE**2, slope)
    for _ in range(min(MOST_PRODUCTS, 2 * gradient.size + 10)):
        if slope <= enough or slope == 0.0:
            break
        bent = curve(ahead)
        curvature, size = float((ahead * bent).sum()), metric.dot(ahead, ahead)
        share = slope / curvature if curvature > 1e-12 * size else np.inf
        edge = _to_edge(metric, move, ahead, size, radius)
        if share >= edge:
            move = move + edge * ahead
            return NewtonStep(move, gain + edge * slope - 0.5 * edge**2 * curvature, radius, False)
        move, gain, rest = move + share * ahead, gain + 0.5 * share * slope, rest - share * bent
        turned = metric.solve(rest)
        before, slope = slope, float((rest * turned).sum())
        ahead = turned + slope / before * ahead
    return NewtonStep(move, gain, float(np.sqrt(metric.dot(move, move))), True)


def _to_edge(metric: Metric, move: Float, ahead: Float, size: float, radius: float) -> float:
    """How far one can go ahead until the step is as long as ``radius``."""
    half, rest = metric.dot(move, ahead), max(radius**2 - metric.dot(move, move), 0.0)
    return float((np.sqrt(half * half + size * rest) - half) / size)
