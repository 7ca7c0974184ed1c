"""Diagnostics of draws from several chains, and leave-one-out from draws.

Rank-normalised split R-hat and effective sample sizes as in A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C.
Bürkner, *Bayesian Analysis* 16 (2021); Pareto-smoothed importance sampling as in A. Vehtari, D. Simpson, A. Gelman, Y. Yao,
J. Gabry, *JMLR* 25 (2024), with the tail fitted after J. Zhang, M. Stephens, *Technometrics* 51 (2009).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import rankdata

from ..data.block import Float

# Weights with a tail heavier than this have no trustworthy average; of few draws even less (Vehtari et al. 2024, section 3).
TAIL_LIMIT = 0.7
# Fewer draws of a chain than this say nothing about it.
FEW = 8


def split(draws: Float) -> Float:
    """Chains (C, S) cut in halves (2 C, S // 2); of an odd number the middle draw is left out."""
    half = draws.shape[1] // 2
    return np.concatenate((draws[:, :half], draws[:, draws.shape[1] - half :]))


def rank_normal(draws: Float) -> Float:
    """Draws replaced by normal quantiles of their ranks."""
    ranks = rankdata(draws, method="average").reshape(draws.shape)
    return np.asarray(ndtri((ranks - 0.375) / (draws.size + 0.25)))


def _rhat(chains: Float) -> float:
    """Potential scale reduction of chains (C, S)."""
    n = chains.shape[1]
    if (np.ptp(chains, axis=1) == 0).all():  # no chain moves
        return np.inf if np.ptp(chains) > 0 else np.nan
    within = chains.var(axis=1, ddof=1).mean()
    between = n * chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt((between / within + n - 1) / n))


def rhat(draws: Float) -> float:
    """Rank-normalised split R-hat of draws (C, S): the larger of bulk and folded.

    Infinite if chains do not move but differ; NaN if nothing differs at all (a constant) or there are too few draws.

    Examples
    --------
    >>> calm = np.random.default_rng(0).normal(size=(4, 500))
    >>> bool(rhat(calm) < 1.02), bool(rhat(calm + np.arange(4)[:, None]) > 1.5), rhat(np.ones((2, 10)))
    (True, True, nan)
    """
    if draws.shape[1] < 4:
        return np.nan
    chains = split(np.asarray(draws, np.float64))
    if (chains == chains.flat[0]).all():
        return np.nan
    folded = np.abs(chains - np.median(chains))
    values = [_rhat(rank_normal(chains)), _rhat(rank_normal(folded)) if np.ptp(folded) > 0 else np.nan]
    return float(np.nanmax(values)) if not np.isnan(values).all() else np.nan


def _autocovariances(chain: Float) -> Float:
    """Autocovariances of a chain at all lags, by the Fourier transform."""
    n = len(chain)
    centred = chain - chain.mean()
    power = np.abs(np.fft.rfft(centred, 2 ** int(np.ceil(np.log2(2 * n))))) ** 2
    return np.fft.irfft(power)[:n] / n


def _ess(chains: Float) -> float:
    """Effective sample size of chains (C, S) by Geyer's initial monotone sequence."""
    n_chains, n = chains.shape
    if n < 4 or np.isnan(chains).any():
        return np.nan
    if np.ptp(chains) < np.finfo(float).resolution:
        return float(chains.size)
    covariances = np.array([_autocovariances(chain) for chain in chains])
    within = covariances[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + (chains.mean(axis=1).var(ddof=1) if n_chains > 1 else 0.0)
    rho = 1.0 - (within - covariances.mean(axis=0)) / total
    rho[0] = 1.0
    # Pairs of neighbouring lags, as long as their sums are positive; the sums must not rise.
    m, last = 0, rho[0] + rho[1]
    while 2 * m < n - 4 and last > 0:
        m += 1
        last = rho[2 * m] + rho[2 * m + 1]
    sums = np.minimum.accumulate(rho[0 : 2 * m : 2] + rho[1 : 2 * m : 2])
    beyond = rho[2 * m] if last >= 0 or rho[2 * m] > 0 else 0.0
    tau = max(-1.0 + 2.0 * float(sums.sum()) + float(beyond), 1.0 / np.log10(chains.size))
    return float(chains.size / tau)


def ess_bulk(draws: Float) -> float:
    """Effective sample size for the middle of the distribution, of draws (C, S)."""
    return _ess(rank_normal(split(np.asarray(draws, np.float64)))) if draws.shape[1] >= 4 else np.nan


def ess_tail(draws: Float) -> float:
    """The smaller of the effective sample sizes for the 5 % and 95 % quantiles, of draws (C, S)."""
    if draws.shape[1] < 4:
        return np.nan
    return min(_ess(split((draws <= np.quantile(draws, q)).astype(np.float64))) for q in (0.05, 0.95))


def diagnose(name: str, draws: Float) -> dict[str, Any]:
    """A scalar of draws (C, S) as a row of the table of diagnostics."""
    few, constant = draws.shape[1] < FEW, bool(np.ptp(draws) == 0)
    value = rhat(draws)
    state = "too few draws" if few else "constant" if constant else "mixed" if value <= 1.05 else "unmixed"
    return {
        "quantity": name,
        "mean": float(draws.mean()),
        "sd": float(draws.std(ddof=1)) if draws.size > 1 else 0.0,
        "q05": float(np.quantile(draws, 0.05)),
        "q95": float(np.quantile(draws, 0.95)),
        "rhat": value,
        "ess_bulk": np.nan if constant else ess_bulk(draws),
        "ess_tail": np.nan if constant else ess_tail(draws),
        "state": state,
    }


def _pareto_fit(excesses: Float) -> tuple[float, float]:
    """Shape and scale of a generalised Pareto distribution fitted to ascending ``excesses`` over a threshold."""
    n = len(excesses)
    m = 30 + int(np.sqrt(n))
    b = 1.0 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = b / (3.0 * excesses[int(n / 4 + 0.5) - 1]) + 1.0 / excesses[-1]
    k = np.log1p(-b[:, None] * excesses).mean(axis=1)
    profile = n * (np.log(-b / k) - k - 1.0)
    weights = 1.0 / np.exp(profile - profile[:, None]).sum(axis=1)
    weights = np.where(weights >= 10 * np.finfo(float).eps, weights, 0.0)
    b_mean = float((b * weights / weights.sum()).sum())
    shape = float(np.log1p(-b_mean * excesses).mean())
    scale = -shape / b_mean
    return (n * shape + 5.0) / (n + 10.0), scale  # drawn a little toward 1/2


def smoothed_weights(log_ratios: Float) -> tuple[Float, float]:
    """Pareto-smoothed log weights (S,), summing to one, and the shape k of their tail."""
    log_weights = log_ratios - log_ratios.max()
    n = len(log_weights)
    tail = int(min(np.ceil(0.2 * n), np.ceil(3 * np.sqrt(n))))
    k = np.inf
    if tail > 4:
        order = np.argsort(log_weights, kind="stable")
        in_tail = order[n - tail :]
        cut = max(log_weights[order[n - tail - 1]], np.log(np.finfo(float).tiny))
        excesses = np.exp(log_weights[in_tail]) - np.exp(cut)
        if np.ptp(excesses) > np.finfo(float).eps / 100 and excesses[0] > 0:
            k, scale = _pareto_fit(excesses)
            if np.isfinite(k):
                p = (np.arange(tail) + 0.5) / tail
                quantiles = -scale * np.log1p(-p) if k == 0 else scale * np.expm1(-k * np.log1p(-p)) / k
                log_weights[in_tail] = np.minimum(np.log(quantiles + np.exp(cut)), 0.0)
    return log_weights - logsumexp(log_weights), k


class PredictiveFit(NamedTuple):
    """Expected log density of a new row, with its doubts.

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
    >>> fit = model.waic(X)
    >>> len(fit.pointwise), fit.elpd < 0
    (101, True)
    """

    elpd: float  # sum over rows, nats
    standard_error: float
    p_effective: float
    pointwise: Float  # (N,)
    pareto_k: Float | None  # (N,); above the limit a row is too influential to be left out by weighting
    n_doubtful: int

    def __repr__(self) -> str:
        n = len(self.pointwise)
        return (
            f"PredictiveFit(elpd {self.elpd:.1f} ± {self.standard_error:.1f} nats of {n} rows, effective parameters "
            f"{self.p_effective:.1f}, {self.n_doubtful} rows doubtful)"
        )

    @property
    def per_row(self) -> float:
        """Nats per row.

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> fit = model.waic(X)
        >>> abs(fit.per_row - fit.elpd / 101) < 1e-9
        True
        """
        return self.elpd / len(self.pointwise)


def loo(log_likelihood: Float) -> PredictiveFit:
    """Leave-one-out by Pareto-smoothed importance sampling, from log p(row | draw) (S, N)."""
    rows = [smoothed_weights(-column) for column in log_likelihood.T]
    pointwise = np.array([logsumexp(w + column) for (w, _), column in zip(rows, log_likelihood.T)])
    k = np.array([shape for _, shape in rows])
    in_sample = float((logsumexp(log_likelihood, axis=0) - np.log(len(log_likelihood))).sum())
    error = float(np.sqrt(len(pointwise) * pointwise.var()))
    total = float(pointwise.sum())
    limit = min(1.0 - 1.0 / np.log10(max(len(log_likelihood), 2)), TAIL_LIMIT)
    return PredictiveFit(total, error, in_sample - total, pointwise, k, int((k > limit).sum()))


def waic(log_likelihood: Float) -> PredictiveFit:
    """The widely applicable criterion (Watanabe 2010), from log p(row | draw) (S, N); rows whose variance exceeds 0.4 are
    doubtful."""
    variances = log_likelihood.var(axis=0)
    pointwise = logsumexp(log_likelihood, axis=0) - np.log(len(log_likelihood)) - variances
    error = float(np.sqrt(len(pointwise) * pointwise.var()))
    doubtful = int((variances > 0.4).sum())
    return PredictiveFit(float(pointwise.sum()), error, float(variances.sum()), pointwise, None, doubtful)
