"""M-steps of the binary GTM: better weights of every feature, given sums over the rows.

With A (D, K) the responsibility of the nodes at ones of a feature, G (D, K) at its known cells (one row if no cell is
unknown) and η = Φ w, every feature on its own climbs

    Q(w) = Σ_k A_k η_k - G_k log(1 + exp η_k) + log p(w).

No step looks at the data again, and none lowers Q of any feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..data.block import Float

# Bytes of the packed Hessians that are held at a time.
HESSIAN_BYTES = 64_000_000
HALVINGS = 12
# Steps with the same Hessian.
SAME_HESSIAN = 2
# The share of the promised gain that a step must bring (Armijo).
ENOUGH = 1e-4
# What rounding may take from Q: without it the last steps would be taken or not by chance.
ROUNDING = 1e-13
# Entries of all Hessians from which float32 is worth its rounding.
MANY_ENTRIES = 2**18
# Relative error of an entry of a Hessian in float32.
SINGLE_ROUNDING = 2.0**-22
# Keeps systems solvable that no ridge supports, relative to their diagonal.
JITTER = 1e-10


@dataclass(frozen=True)
class Problem:
    """Sums, basis and prior of the weights (D, M)."""

    features: Float  # Φ (K, M)
    on: Float  # A (D, K)
    seen: Float  # G (D, K) or (1, K)
    mass: Float  # (K,) responsibility of the nodes at all cells, at least G
    ridges: Float  # (M,)
    center: Float  # (D,) where the ridge of the constant is centred
    skew: float = 0.0  # β of the paper's prior
    limit: float = np.inf  # |w| of any weight stays below it

    @property
    def hessian_precision(self) -> Any:
        """Float32 for many features where its rounding is small beside the ridges.

        Hessians say where to step, not what is reached.
        """
        many = len(self.on) * self.features.shape[1] ** 2 >= MANY_ENTRIES
        return np.float32 if many and SINGLE_ROUNDING * self.mass.sum() < 0.1 * self.ridges[0] else np.float64

    def part(self, columns: Any) -> Problem:
        """The same for some features, named by a slice or their numbers."""
        seen = self.seen if len(self.seen) == 1 else self.seen[columns]
        return replace(self, on=self.on[columns], seen=seen, center=self.center[columns])

    def look(self, weights: Float, with_value: bool = True, odds: Float | None = None) -> tuple[Float, Float, Float]:
        """Residuals (D, K), curvatures (D, K) and, if asked for, Q without the prior (D,)."""
        from .kernels import link_rows

        odds = weights @ self.features.T if odds is None else odds
        residual, curvature = np.empty_like(odds), np.empty_like(odds)
        values = np.empty(len(odds))
        link_rows(odds, self.on, self.seen, with_value, residual, curvature, values)
        return residual, curvature, values

    def log_prior(self, weights: Float) -> Float:
        """log p(w) (D,) up to a constant."""
        value: Float = -0.5 * (self.ridges * self._off_center(weights) ** 2).sum(axis=1)
        if self.skew > 0:
            value = value - self.skew * np.sqrt((weights**2).sum(axis=1)) * weights.sum(axis=1)
        return value

    def slope(self, weights: Float, residual: Float) -> Float:
        """Gradient (D, M) of Q."""
        out: Float = residual @ self.features - self.ridges * self._off_center(weights)
        if self.skew > 0:
            out -= self.skew * skewed_slope(weights)
        return out

    def _off_center(self, weights: Float) -> Float:
        """Weights less where the ridge is centred."""
        off = weights.copy()
        off[:, -1] -= self.center
        return off

    def value(self, weights: Float) -> Float:
        """Q (D,)."""
        return self.look(weights)[2] + self.log_prior(weights)


def skewed_slope(weights: Float) -> Float:
    """Gradient of |w| Σ_m w_m: |w| + w Σ w / |w|.  (The paper's printed term is |w| times this.)"""
    length = np.sqrt((weights**2).sum(axis=1, keepdims=True))
    total = weights.sum(axis=1, keepdims=True)
    return length + weights * total / np.maximum(length, 1e-300)


def skewed_curvature(weights: Float) -> Float:
    """Hessian (M, M) of |w| Σ w for one feature: (w 1' + 1 w')/|w| + S (I/|w| - w w'/|w|³); indefinite."""
    length, total = np.sqrt(weights @ weights), weights.sum()
    ones = np.ones_like(weights)
    mixed = (np.outer(weights, ones) + np.outer(ones, weights)) / length
    bent = np.eye(len(weights)) / length - np.outer(weights, weights) / length**3
    out: Float = mixed + total * bent
    return out


def newton(problem: Problem, weights: Float, n_inner: int) -> Float:
    """Damped Newton steps, every feature with its own length; some features at a time, as Hessians are large.

    Hessians, which cost most, serve two steps: the second is a little longer or shorter than Newton's.
    """
    from .kernels import factor_packed, solve_factored

    n_columns, size = weights.shape
    low, high = np.tril_indices(size)
    products = problem.features[:, low] * problem.features[:, high]  # (K, M (M + 1) / 2)
    products = products.astype(problem.hessian_precision)
    out = np.empty_like(weights)
    for columns in _chunks(n_columns, 24 * products.shape[1]):
        part, own = problem.part(columns), weights[columns].copy()
        factors = np.empty((len(own), size * (-(-size // 8) * 8)))
        for number in range(n_inner):
            odds = own @ part.features.T
            residual, curvature, values = part.look(own, odds=odds)
            values += part.log_prior(own)
            if number % SAME_HESSIAN == 0:
                factor_packed(curvature.astype(products.dtype) @ products, part.ridges, factors)
            slope = part.slope(own, residual)
            step = slope.copy()
            solve_factored(factors, step)
            promised = (slope * step).sum(axis=1)
            own = _damped(part, own, step, values, promised, odds)
        out[columns] = own
    return out


def _chunks(n: int, row_bytes: int) -> Iterator[slice]:
    """Slices of 0..n whose rows of this many bytes stay within bounds."""
    size = max(1, HESSIAN_BYTES // row_bytes)
    for low in range(0, n, size):
        yield slice(low, min(low + size, n))


def _damped(problem: Problem, weights: Float, step: Float, values: Float, promised: Float, odds: Float) -> Float:
    """Weights after the longest of the steps 1, 1/2, 1/4, ... that brings enough; features whose none does stay."""
    out, towards = weights.copy(), step @ problem.features.T
    waiting = np.flatnonzero(promised > 0)
    length = 1.0
    for _ in range(HALVINGS + 1):
        if not len(waiting):
            break
        part = problem if len(waiting) == len(weights) else problem.part(waiting)
        trial = np.clip(weights[waiting] + length * step[waiting], -problem.limit, problem.limit)
        reached = odds[waiting] + length * towards[waiting] if np.isinf(problem.limit) else None
        new = part.look(trial, odds=reached)[2] + part.log_prior(trial)
        enough = values[waiting] + ENOUGH * length * promised[waiting]
        good = new >= enough - ROUNDING * np.abs(values[waiting])
        out[waiting[good]] = trial[good]
        waiting = waiting[~good]
        length *= 0.5
    return out


def bound(problem: Problem, weights: Float, n_inner: int) -> Float:
    """Steps with the largest curvature that Q can have (σ (1 - σ) <= 1/4): one factorisation for all features."""
    curvature = 0.25 * (problem.features.T * problem.mass) @ problem.features + np.diag(problem.ridges)
    curvature[np.diag_indices_from(curvature)] += JITTER * curvature.diagonal().max()
    factor = cho_factor(curvature)
    for _ in range(n_inner):
        slope = problem.slope(weights, problem.look(weights, with_value=False)[0])
        weights = weights + cho_solve(factor, slope.T).T
    return weights


def gradient(problem: Problem, weights: Float, n_inner: int) -> Float:
    """Steps up the gradient, as long as the largest curvature allows (eq. 7; the paper does not say how long).

    The paper's skewed prior is not concave: with it steps are shortened until Q does not fall.
    """
    curvature = 0.25 * (problem.features.T * problem.mass) @ problem.features
    length = 1.0 / (float(np.linalg.eigvalsh(curvature)[-1]) + float(problem.ridges.max()))
    for _ in range(n_inner):
        odds = weights @ problem.features.T
        residual, _, values = problem.look(weights, with_value=problem.skew > 0, odds=odds)
        step = length * problem.slope(weights, residual)
        if problem.skew > 0:
            values = values + problem.log_prior(weights)
            weights = _damped(problem, weights, step, values, np.full(len(step), 1e-300), odds)
        else:
            weights = weights + step
    return weights


M_STEPS: dict[str, Callable[[Problem, Float, int], Float]] = {"newton": newton, "bound": bound, "gradient": gradient}
INNER_STEPS = {"newton": 2, "bound": 5, "gradient": 5}
