"""Priors over partitions of N rows, all in one form.

A row joins a block of m others with weight ``old(m)`` and opens a block of its own, when t exist, with weight ``new(t)``;
then log p(partition) = sum over t of log new(t) + sum over blocks of log old(1) ... old(size - 1) + constant(N).

==============================  ==========  ==========================  =====================================
prior                           ``old(m)``  ``new(t)``                  reference
==============================  ==========  ==========================  =====================================
finite K, Dirichlet(α/K, ...)   m + α/K     (K - t) α/K                 van der Maaten, eq 8, 9
Dirichlet process               m           α                           van der Maaten, eq 23
Pitman-Yor, discount σ          m - σ       α + σ t                     Pitman & Yor (1997)
mixture of finite mixtures      m + g       g V_N(t + 1) / V_N(t)       Miller & Harrison (2018), g = α
==============================  ==========  ==========================  =====================================

V_N(t) = sum over k ≥ t of k!/(k - t)! Γ(g k) / Γ(g k + N) p(K = k), with K - 1 ~ Poisson(``rate``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from .. import declared as of
from ..data.block import Float

# Terms of V_N(t) beyond the largest one that are summed; they fall like those of the Poisson law.
TERMS = 400


@dataclass(frozen=True)
class PartitionPrior:
    """The Dirichlet process with concentration ``alpha``; the other rows of the table are its subclasses."""

    alpha: of.Positive

    def log_old(self, n: int) -> Float:
        """log old(m) for m = 0 ... n (m = 0 is never asked for)."""
        sizes = np.arange(n + 1, dtype=np.float64)
        sizes[0] = 1.0
        return np.log(sizes)

    def log_new(self, count: int, n: int) -> Float:
        """log new(t) for t = 0 ... count - 1 when ``n`` rows are divided."""
        return np.full(count, np.log(self.alpha))

    def log_opened(self, t: int, n: int) -> float:
        """log new(0) + ... + log new(t - 1)."""
        return float(self.log_new(t, n).sum())

    def log_constant(self, n: int) -> float:
        """What depends on the number of rows alone."""
        return float(gammaln(self.alpha) - gammaln(self.alpha + n))

    def most_blocks(self, n: int) -> int:
        """How many blocks there can be."""
        return n

    def with_alpha(self, alpha: float) -> PartitionPrior:
        """The same prior with another concentration."""
        return replace(self, alpha=float(alpha))

    def log_partition(self, sizes: Float) -> float:
        """log p(partition) of blocks with these sizes."""
        n, t = int(sizes.sum()), len(sizes)
        grown = np.concatenate(([0.0], np.cumsum(self.log_old(n)[1:])))
        return float(self.log_opened(t, n) + grown[sizes.astype(np.int64) - 1].sum() + self.log_constant(n))

    def weights(self, sizes: Float) -> tuple[Float, float]:
        """Probabilities with which one more row joins the blocks, and with which it opens a block."""
        n, t = int(np.sum(sizes)), len(sizes)
        sizes = np.asarray(sizes, np.int64)
        old, new = np.exp(self.log_old(n)[sizes.astype(np.int64)]), float(np.exp(self.log_new(t + 1, n + 1)[t]))
        total = old.sum() + new
        return old / total, new / total

    def concentrations(self, sizes: Float, rng: np.random.Generator) -> Float:
        """Dirichlet parameters of the blocks' weights given the partition, the last that of all other blocks together."""
        sizes = np.asarray(sizes, np.int64)
        n, t = int(sizes.sum()), len(sizes)
        return np.append(np.exp(self.log_old(n)[sizes]), np.exp(self.log_new(t + 1, n + 1)[t]))


@dataclass(frozen=True)
class FinitePrior(PartitionPrior):
    """At most ``n_components`` blocks, weights Dirichlet(α/K, ..., α/K)."""

    n_components: Annotated[int, of.Whole(1)]

    def log_old(self, n: int) -> Float:
        """log(m + α/K)."""
        return np.log(np.arange(n + 1) + self.alpha / self.n_components)

    def log_new(self, count: int, n: int) -> Float:
        """log((K - t) α/K), minus infinity when all K are taken."""
        left = np.maximum(self.n_components - np.arange(count), 0.0)
        with np.errstate(divide="ignore"):
            return np.log(left * (self.alpha / self.n_components))

    def most_blocks(self, n: int) -> int:
        """K, or the number of rows."""
        return min(n, self.n_components)


@dataclass(frozen=True)
class PitmanYorPrior(PartitionPrior):
    """Block sizes with a heavy tail; ``discount`` in [0, 1), 0 is the Dirichlet process."""

    discount: of.Share

    def log_old(self, n: int) -> Float:
        """log(m - σ)."""
        sizes = np.arange(n + 1) - self.discount
        sizes[0] = 1.0
        return np.log(sizes)

    def log_new(self, count: int, n: int) -> Float:
        """log(α + σ t)."""
        return np.log(self.alpha + self.discount * np.arange(count))


@dataclass(frozen=True)
class FiniteMixturesPrior(PartitionPrior):
    """An unknown number K of components, K - 1 ~ Poisson(``rate``), weights Dirichlet(α, ..., α) given K."""

    rate: of.Amount

    def _terms(self, blocks: Any, n: int) -> tuple[Any, Float]:
        """K = k (t, ...) and the terms of V_n(t), in logs, for every t in ``blocks``."""
        t = np.asarray(blocks)[:, None]
        k = np.maximum(t, 1) + np.arange(int(TERMS + 2 * self.rate))
        log_prior = xlogy(k - 1, self.rate) - self.rate - gammaln(k)
        falling = gammaln(k + 1) - gammaln(k - t + 1)
        return k, falling + gammaln(self.alpha * k) - gammaln(self.alpha * k + n) + log_prior

    def log_v(self, blocks: Any, n: int) -> Float:
        """log V_n(t) for every t in ``blocks``."""
        return np.asarray(logsumexp(self._terms(blocks, n)[1], axis=1))

    def concentrations(self, sizes: Float, rng: np.random.Generator) -> Float:
        """The number of components is drawn first; those beyond the blocks may be none."""
        sizes = np.asarray(sizes, np.int64)
        k, logs = self._terms([len(sizes)], int(sizes.sum()))
        shares = np.exp(logs[0] - logsumexp(logs[0]))
        n_components = int(rng.choice(k[0], p=shares / shares.sum()))
        return np.append(sizes + self.alpha, (n_components - len(sizes)) * self.alpha)

    def log_old(self, n: int) -> Float:
        """log(m + g)."""
        return np.log(np.arange(n + 1) + self.alpha)

    def log_new(self, count: int, n: int) -> Float:
        """log(g V(t + 1) / V(t))."""
        return np.log(self.alpha) + np.diff(self.log_v(np.arange(count + 1), n))

    def log_opened(self, t: int, n: int) -> float:
        """t log g + log V(t) - log V(0)."""
        first, last = self.log_v([0, t], n)
        return float(t * np.log(self.alpha) + last - first)

    def log_constant(self, n: int) -> float:
        """log V_n(0)."""
        return float(self.log_v([0], n)[0])
