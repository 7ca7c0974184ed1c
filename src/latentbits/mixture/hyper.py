"""Draws of the prior's own numbers: the concentration α, and β, γ of the cells, shared or per column."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from .. import declared as of
from ..data.block import Float
from .partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior

# Stepping out ends after this many steps to a side (Neal 2003).
STEPS = 50


class BlockCounts(NamedTuple):
    """Blocks in the caller's orientation: rows (K,), ones and zeros (K, D)."""

    sizes: Annotated[Any, of.counts("K")]
    ones: Annotated[Any, of.counts("K", "D")]
    zeros: Annotated[Any, of.counts("K", "D")]

    def contradiction(self) -> str | None:
        """What is wrong with the counts as a whole."""
        return counts_misfit(self.sizes, self.ones, self.zeros)


def counts_misfit(sizes: Any, ones: Any, zeros: Any) -> str | None:
    """What is wrong with counts of blocks: no block has more known cells in a column than rows."""
    known = ones.astype(np.int64) + zeros
    return None if (known <= sizes[:, None]).all() else "must not count more cells than its blocks have rows"


class PriorNumbers(NamedTuple):
    """α, and β, γ as (1,) arrays (shared) or (D,)."""

    alpha: float
    beta: Float
    gamma: Float


@dataclass(frozen=True)
class Learning:
    """What is drawn along with the partition, and under which prior.

    Parameters
    ----------
    alpha : (shape, rate) or None
        Gamma prior of the concentration; None keeps it fixed.
    cells : {None, "shared", "feature"}
        Draw β and γ, one pair for all columns, or a mean per column and one strength β + γ.
    cell_prior : (shape, rate)
        Gamma prior of β and of γ ("shared"), or of the strength ("feature"; means are uniform).
    every : int
        Sweeps between two draws.
    """

    alpha: tuple[float, float] | None = None
    cells: str | None = None
    cell_prior: tuple[float, float] = (1.0, 1.0)
    every: int = 1


def slice_draw(log_density: Callable[[float], float], x: float, rng: np.random.Generator, width: float = 1.0) -> float:
    """One slice sampling step (Neal 2003): stepping out, then shrinkage.

    Examples
    --------
    >>> rng, x, xs = np.random.default_rng(0), 0.0, []
    >>> for _ in range(4000):
    ...     x = slice_draw(lambda v: -0.5 * (v - 3) ** 2, x, rng)
    ...     xs.append(x)
    >>> bool(abs(np.mean(xs) - 3) < 0.1)
    True
    """
    level = log_density(x) + math.log(max(rng.random(), 1e-300))
    left = x - width * rng.random()
    right = left + width
    steps = int(STEPS * rng.random())
    for _ in range(steps):
        if log_density(left) <= level:
            break
        left -= width
    for _ in range(STEPS - 1 - steps):
        if log_density(right) <= level:
            break
        right += width
    while True:
        y = left + (right - left) * rng.random()
        if log_density(y) >= level or right - left < 1e-12:
            return y
        left, right = (y, right) if y < x else (left, y)


def _log_gamma_prior(log_value: float, prior: tuple[float, float]) -> float:
    """Log density of log(value) when the value is Gamma(shape, rate), up to a constant."""
    return prior[0] * log_value - prior[1] * math.exp(min(log_value, 700.0))


def draw_alpha(
    partition: PartitionPrior, sizes: Any, alpha: float, prior: tuple[float, float], rng: np.random.Generator
) -> float:
    """The concentration given the partition: Escobar & West (1995) for the Dirichlet process, else a slice on log α."""
    if not isinstance(partition, (FinitePrior, FiniteMixturesPrior, PitmanYorPrior)):
        return _escobar_west(len(sizes), int(sizes.sum()), alpha, prior, rng)
    values, counts = np.unique(sizes, return_counts=True)

    def log_density(log_alpha: float) -> float:
        if abs(log_alpha) > 50:
            return -np.inf
        given = partition.with_alpha(math.exp(log_alpha))
        return _log_gamma_prior(log_alpha, prior) + _log_partition(given, values, counts)

    return math.exp(slice_draw(log_density, math.log(alpha), rng))


def _log_partition(prior: PartitionPrior, values: Any, counts: Any) -> float:
    """log p(partition) from the distinct sizes; long sums of log old(m) are log Γ differences."""
    n, t = int(values @ counts), int(counts.sum())
    start = float(np.exp(prior.log_old(1)[1])) - 1.0  # old(m) = m + start in every prior
    grown = gammaln(values + start) - gammaln(1.0 + start)
    return float(counts @ grown + prior.log_opened(t, n) + prior.log_constant(n))


def _escobar_west(t: int, n: int, alpha: float, prior: tuple[float, float], rng: np.random.Generator) -> float:
    """Auxiliary-variable draw of α for ``t`` blocks of ``n`` rows."""
    shape, rate = prior
    rate = rate - math.log(max(rng.beta(alpha + 1.0, n), 1e-300))
    odds = (shape + t - 1) / (n * rate)
    more = rng.random() * (1.0 + odds) < odds
    return float(max(rng.gamma(shape + t - (0 if more else 1)) / rate, 1e-300))


class CountHistogram(NamedTuple):
    """How often ones, zeros and known cells of a block's column exceed i = 0, 1, ...: A, B, C."""

    ones: Float
    zeros: Float
    seen: Float

    def log_likelihood(self, beta: float, gamma: float) -> float:
        """log p(X | partition, β, γ) = Σ A_i log(β + i) + B_i log(γ + i) - C_i log(β + γ + i)."""
        total = float(self.ones @ np.log(beta + np.arange(len(self.ones))))
        total += float(self.zeros @ np.log(gamma + np.arange(len(self.zeros))))
        return total - float(self.seen @ np.log(beta + gamma + np.arange(len(self.seen))))


def _exceeding(counts: Any) -> Float:
    """How many counts exceed i, for i = 0 ... max - 1."""
    found = np.bincount(counts.ravel())
    return (counts.size - np.cumsum(found))[:-1].astype(np.float64)


def histogram(counts: BlockCounts) -> CountHistogram:
    """The histogram of a partition; one pass over blocks × columns, then every likelihood costs O(N)."""
    return CountHistogram(_exceeding(counts.ones), _exceeding(counts.zeros), _exceeding(counts.ones + counts.zeros))


def draw_shared(
    counts: BlockCounts, beta: float, gamma: float, prior: tuple[float, float], rng: np.random.Generator
) -> tuple[float, float]:
    """β, then γ, given the partition, by slices on their logarithms."""
    found = histogram(counts)

    def of_beta(log_beta: float) -> float:
        if abs(log_beta) > 50:
            return -np.inf
        return _log_gamma_prior(log_beta, prior) + found.log_likelihood(math.exp(log_beta), gamma)

    def of_gamma(log_gamma: float) -> float:
        if abs(log_gamma) > 50:
            return -np.inf
        return _log_gamma_prior(log_gamma, prior) + found.log_likelihood(beta, math.exp(log_gamma))

    beta = math.exp(slice_draw(of_beta, math.log(beta), rng))
    gamma = math.exp(slice_draw(of_gamma, math.log(gamma), rng))
    return beta, gamma


def draw_features(
    counts: BlockCounts, beta: Float, gamma: Float, prior: tuple[float, float], rng: np.random.Generator
) -> tuple[Float, Float]:
    """A mean per column given the strength, then the strength given the means."""
    from .hyper_kernels import slice_means

    strength = float(beta[0] + gamma[0])
    means = beta / (beta + gamma)
    ones, zeros = np.ascontiguousarray(counts.ones, np.int64), np.ascontiguousarray(counts.zeros, np.int64)
    slice_means(ones, zeros, strength, rng.integers(0, 2**63, len(means)).astype(np.uint64), means)

    def log_density(log_strength: float) -> float:
        if abs(log_strength) > 50:
            return -np.inf
        value = math.exp(log_strength)
        return _log_gamma_prior(log_strength, prior) + log_given_cells(counts, means * value, (1 - means) * value)

    strength = math.exp(slice_draw(log_density, math.log(strength), rng))
    return means * strength, (1 - means) * strength


def log_given_cells(counts: BlockCounts, beta: Float, gamma: Float) -> float:
    """log p(X | partition, β, γ) by log Γ, for any β, γ."""
    value = gammaln(beta + counts.ones) - gammaln(beta) + gammaln(gamma + counts.zeros) - gammaln(gamma)
    value -= gammaln(beta + gamma + counts.ones + counts.zeros) - gammaln(beta + gamma)
    return float(value.sum())


def draw_numbers(
    learning: Learning, partition: PartitionPrior, counts: BlockCounts, now: PriorNumbers, rng: np.random.Generator
) -> PriorNumbers:
    """All numbers that are learnt, given the partition."""
    alpha, beta, gamma = now
    if learning.alpha is not None:
        alpha = draw_alpha(partition.with_alpha(alpha), counts.sizes, alpha, learning.alpha, rng)
    if learning.cells == "shared":
        shared = draw_shared(counts, float(beta[0]), float(gamma[0]), learning.cell_prior, rng)
        beta, gamma = np.array([shared[0]]), np.array([shared[1]])
    elif learning.cells == "feature":
        beta, gamma = draw_features(counts, beta, gamma, learning.cell_prior, rng)
    return PriorNumbers(alpha, beta, gamma)
