"""How strongly two things about the rows go together, with an interval or a p-value: one measure for every pair of kinds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats

# Tables that are drawn, and how many where fewer than so many of the first are as far from independence as the observed one.
N_PERMUTATIONS, MORE_PERMUTATIONS, FEWEST_BEYOND = 999, 19_999, 10
# Cochran's rule: with expected counts all above the first, and this share of them above the second, tails are smooth.
FEWEST_EXPECTED, ENOUGH_EXPECTED, SHARE_ENOUGH = 1.0, 5.0, 0.8
LEVEL = 0.95  # of intervals


class Measured(NamedTuple):
    """A measure of association.

    Attributes
    ----------
    measure : {"rho", "AUC", "V", "epsilon2", "R"}
        Spearman's rank correlation; the chance that a row with the label is higher than one without; Cramér's V; the share
        of the ranks' variance between groups (Kruskal-Wallis); the multiple correlation with a place in the plane.
    value, low, high : float
        The measure and its 95 % interval; NaN where there is none.
    p : float
        Of no association at all.
    n : int
        Rows of which both are known.
    """

    measure: str
    value: float
    low: float
    high: float
    p: float
    n: int

    @property
    def strength(self) -> float:
        """From 0 to 1, comparable between measures as a correlation is."""
        if self.measure == "AUC":
            return abs(2 * self.value - 1)
        return math.sqrt(self.value) if self.measure == "epsilon2" else abs(self.value)


NOTHING = Measured("", math.nan, math.nan, math.nan, 1.0, 0)


def rank_correlation(first: Any, second: Any) -> Measured:
    """Spearman's rho of two numbers a row, with the interval of Bonett and Wright (2000).

    Examples
    --------
    >>> found = rank_correlation(np.arange(20.0), np.arange(20.0) ** 2)
    >>> found.value, found.n
    (1.0, 20)
    """
    n = len(first)
    if n < 4 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return NOTHING
    rho = float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])
    rho = max(-1.0, min(1.0, round(rho, 12)))
    if abs(rho) == 1.0:  # one arrangement of all that differ, and the reverse
        ties = np.unique(first, return_counts=True)[1]
        log_arrangements = math.lgamma(n + 1) - sum(math.lgamma(count + 1) for count in ties.tolist())
        return Measured("rho", rho, rho, rho, min(1.0, 2 * math.exp(-log_arrangements)), n)
    half = stats.norm.ppf(0.5 + LEVEL / 2) * math.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)
    t = rho * math.sqrt((n - 2) / (1 - rho**2))
    return Measured("rho", rho, low, high, float(2 * stats.t.sf(abs(t), n - 2)), n)


def area_under(on: Any, values: Any) -> Measured:
    """AUC of a number a row for a label that is on or off, with a score interval (Newcombe 2006, method 5).

    Examples
    --------
    >>> area_under(np.array([0, 0, 0, 1, 1, 1]), np.array([1.0, 2, 3, 4, 5, 6])).value
    1.0
    """
    on = np.asarray(on, bool)
    n, n_on = len(on), int(on.sum())
    n_off = n - n_on
    if min(n_on, n_off) < 2 or np.ptp(values) == 0:
        return NOTHING
    ranks = stats.rankdata(values)
    area = float((ranks[on].sum() - n_on * (n_on + 1) / 2) / (n_on * n_off))
    _, counts = np.unique(values, return_counts=True)
    ties = float((counts.astype(float) ** 3 - counts).sum()) / (n * (n - 1))
    z = (area - 0.5) / math.sqrt((n + 1 - ties) / (12 * n_on * n_off))
    return Measured("AUC", area, *_score_interval(area, n_on, n_off), float(2 * stats.norm.sf(abs(z))), n)


def _score_interval(area: float, n_on: int, n_off: int) -> tuple[float, float]:
    """Areas from which the one that was seen is not too far, by the variance that each of them would have."""
    within = stats.norm.ppf(0.5 + LEVEL / 2) ** 2 / (n_on * n_off)
    others = (n_on + n_off) / 2 - 1

    def beyond(truth: float) -> float:
        variance = truth * (1 - truth) * (1 + others * ((1 - truth) / (2 - truth) + truth / (1 + truth)))
        return (area - truth) ** 2 - within * variance

    low = 0.0 if area == 0 else float(optimize.brentq(beyond, 0.0, min(area, 1 - 1e-9)))
    high = 1.0 if area == 1 else float(optimize.brentq(beyond, max(area, 1e-9), 1.0))
    return low, high


def between_groups(groups: Any, values: Any) -> Measured:
    """How much numbers differ between groups: the share of the variance of their ranks (Kruskal-Wallis epsilon squared).

    Examples
    --------
    >>> round(between_groups(np.array([0, 0, 1, 1]), np.array([1.0, 2, 3, 4])).value, 2)
    0.8
    """
    n, n_groups = len(values), len(np.unique(groups))
    if n_groups < 2 or n <= n_groups or np.ptp(values) == 0:
        return NOTHING
    ranks = stats.rankdata(values)
    _, place = np.unique(groups, return_inverse=True)
    counts = np.bincount(place)
    means = np.bincount(place, weights=ranks) / counts
    share = float((counts * (means - ranks.mean()) ** 2).sum() / ((ranks - ranks.mean()) ** 2).sum())
    return Measured("epsilon2", share, math.nan, math.nan, float(stats.chi2.sf((n - 1) * share, n_groups - 1)), n)


def on_plane(places: Any, values: Any) -> tuple[Measured, Any]:
    """How well a place in the plane tells the rank of a number (multiple correlation), and where it rises."""
    n = len(values)
    if n < 6 or np.ptp(values) == 0:
        return NOTHING, np.zeros(2)
    ranks = stats.rankdata(values) - (n + 1) / 2
    centred = places - places.mean(axis=0)
    slope, *_ = np.linalg.lstsq(centred, ranks, rcond=None)
    share = float(min(1.0, max(0.0, 1 - ((ranks - centred @ slope) ** 2).sum() / (ranks**2).sum())))
    freedom = n - centred.shape[1] - 1
    p = float(stats.f.sf(share / max(1e-300, 1 - share) * freedom / centred.shape[1], centred.shape[1], freedom))
    length = float(np.linalg.norm(slope))
    return Measured("R", math.sqrt(share), math.nan, math.nan, p, n), slope / length if length else slope


def cross_table(first: Any, second: Any, n_first: int, n_second: int) -> Any:
    """Counts (n_first, n_second) of two codes a row."""
    return np.bincount(first * n_second + second, minlength=n_first * n_second).reshape(n_first, n_second)


def contingency(counts: Any, seed: int = 0) -> Measured:
    """Cramér's V of a table of counts with a permutation p-value.

    Tables with the same margins are drawn, more of them where few are as far from independence as the observed one.  Where
    none is, and expected counts are not small, the tail is that of the gamma law with the mean and variance of those that
    were drawn; with small expected counts tails are heavier than that, and the p-value is no smaller than draws can tell.

    Examples
    --------
    >>> round(contingency(np.array([[20, 0], [0, 20]])).value, 2)
    1.0
    """
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n = int(counts.sum())
    if min(counts.shape) < 2 or n < 3:
        return NOTHING
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    expected = np.outer(rows, columns) / n

    def chi_squared(tables: Any) -> Any:
        return ((tables - expected) ** 2 / expected).sum(axis=(-2, -1))

    seen = float(chi_squared(counts))
    rng = np.random.default_rng(seed)
    for n_draws in (N_PERMUTATIONS, MORE_PERMUTATIONS):
        drawn = chi_squared(stats.random_table(rows, columns, seed=rng).rvs(n_draws))
        beyond = int((drawn >= seen * (1 - 1e-12)).sum())
        if beyond >= FEWEST_BEYOND:
            break
    p = (1 + beyond) / (1 + n_draws)
    is_smooth = expected.min() >= FEWEST_EXPECTED and (expected >= ENOUGH_EXPECTED).mean() >= SHARE_ENOUGH
    if beyond == 0 and is_smooth:
        mean, variance = float(drawn.mean()), float(drawn.var())
        p = min(p, max(float(stats.gamma.sf(seen, mean**2 / variance, scale=variance / mean)), 1e-300))
    return Measured("V", math.sqrt(seen / (n * (min(counts.shape) - 1))), math.nan, math.nan, p, n)


def adjusted_residuals(counts: Any) -> Any:
    """How far every count of a table is from independence, in standard deviations (Haberman 1973).

    Examples
    --------
    >>> adjusted_residuals(np.array([[10, 0], [0, 10]])).round(1).tolist()
    [[4.5, -4.5], [-4.5, 4.5]]
    """
    n = max(1, counts.sum())
    rows, columns = counts.sum(axis=1, keepdims=True) / n, counts.sum(axis=0, keepdims=True) / n
    expected = n * rows * columns
    spread = np.sqrt(expected * (1 - rows) * (1 - columns))
    return np.divide(counts - expected, spread, out=np.zeros(counts.shape), where=spread > 0)


def corrected(p_values: list[float]) -> list[float]:
    """p-values allowing for their number (Holm 1979).

    Examples
    --------
    >>> corrected([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p_values, kind="stable")
    out, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        out[place] = highest
    return out
