"""Scores of hidden cells and held-out rows, and what sampling leaves open about their differences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

ENOUGH_DRAWS = 3  # to tell how much fits differ
N_BINS = 20


class Answers(NamedTuple):
    """What one model said, over all folds."""

    probabilities: Any  # (m,) of the hidden cells
    row_scores: Any  # (h,) log-likelihoods of the held-out rows, or None
    row_kind: str  # "exact", "estimate", "lower bound" or ""


class Questions(NamedTuple):
    """What all models were asked, over all folds."""

    rows: Any  # (m,) row of the table of every hidden cell
    columns: Any  # (m,)
    values: Any  # (m,) 0 or 1
    draws: Any = None  # (m,) the draw of hidden cells, each with fits of its own


@dataclass(frozen=True)
class Paired:
    """A difference of means with its standard error."""

    difference: float
    se: float

    @property
    def z(self) -> float:
        """Difference in standard errors."""
        if self.se == 0:
            return 0.0 if self.difference == 0 else math.copysign(math.inf, self.difference)
        return self.difference / self.se


def paired(first: Any, second: Any, groups: Any, draws: Any = None, excess: float = 0.0) -> Paired:
    """Mean of ``first - second`` over cells; cells of one group (row) are not independent of each other.

    With three or more ``draws`` of cells, of which each was predicted by a fit of its own, the standard error is at least
    that of the mean over draws: fits differ, too.  ``excess`` is the variance that fits add to the mean of a draw, where it
    is known from many models.

    Examples
    --------
    >>> paired(np.array([1.0, 2.0, 3.0]), np.zeros(3), np.array([0, 0, 1])).difference
    2.0
    """
    difference = np.asarray(first) - np.asarray(second)
    if not difference.any():
        return Paired(0.0, 0.0)
    n_draws = 1 if draws is None else len(np.unique(draws))
    within = _by_groups(difference, groups) ** 2 + excess / n_draws
    return Paired(float(difference.mean()), max(float(np.sqrt(within)), _between(difference, draws)))


def _by_groups(difference: Any, groups: Any) -> float:
    """Standard error of a mean whose terms are alike within groups; infinite for a single group."""
    _, place = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(place, weights=difference), np.bincount(place)
    n = len(counts)
    if n < 2:
        return float("inf")
    spread = ((sums - difference.mean() * counts) ** 2).sum() * n / (n - 1)
    return float(np.sqrt(spread) / len(difference))


def _between(difference: Any, draws: Any) -> float:
    """Standard error of the mean over draws; 0 if there are too few to tell."""
    if draws is None or len(found := np.unique(draws)) < ENOUGH_DRAWS:
        return 0.0
    means = np.array([difference[draws == draw].mean() for draw in found])
    return float(means.std(ddof=1) / np.sqrt(len(means)))


def fit_variance(difference: Any, groups: Any, draws: Any) -> float | None:
    """Variance of the means of draws beyond what their cells explain, an estimate that may be negative; None of few draws."""
    found = np.unique(draws)
    if len(found) < ENOUGH_DRAWS:
        return None
    within = np.mean([_by_groups(difference[draws == draw], groups[draws == draw]) ** 2 for draw in found])
    return float(len(found) * _between(difference, draws) ** 2 - within)


def auc(values: Any, probabilities: Any) -> float:
    """How often a one got a higher probability than a zero; NaN if all cells are alike."""
    from sklearn.metrics import roc_auc_score

    if values.min() == values.max():
        return float("nan")
    return float(roc_auc_score(values, probabilities))


def calibration_curve(values: Any, probabilities: Any, n_bins: int = N_BINS) -> list[dict[str, float]]:
    """Mean prediction and share of ones in bins with equally many cells; equal predictions stay together.

    Examples
    --------
    >>> curve = calibration_curve(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.8, 0.9]), n_bins=2)
    >>> [(round(b["predicted"], 2), b["observed"]) for b in curve]
    [(0.15, 0.0), (0.85, 1.0)]
    """
    order = np.argsort(probabilities, kind="stable")
    sorted_p, sorted_v = probabilities[order], values[order].astype(np.float64)
    edges = np.linspace(0, len(order), n_bins + 1).astype(int)[1:-1]
    cuts = np.unique(np.searchsorted(sorted_p, sorted_p[edges], side="left")) if len(order) else edges
    out = []
    for p, v in zip(np.split(sorted_p, cuts), np.split(sorted_v, cuts)):
        if len(p):
            out.append({"predicted": float(p.mean()), "observed": float(v.mean()), "n": len(p)})
    return out


def wide_calibration_error(values: Any, probabilities: Any, n_bins: int = N_BINS) -> float:
    """The same over bins of equal width, as it is usually defined; in sparse tables nearly all cells fall into the first."""
    place = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(place, minlength=n_bins)
    gaps = np.bincount(place, weights=probabilities - values, minlength=n_bins)
    return float(np.abs(gaps).sum() / counts.sum())


def calibration_error(values: Any, probabilities: Any, n_bins: int = N_BINS) -> float:
    """Expected calibration error: mean distance of prediction and share of ones, over bins with equally many cells."""
    curve = calibration_curve(values, probabilities, n_bins)
    total = sum(b["n"] for b in curve)
    return float(sum(b["n"] * abs(b["predicted"] - b["observed"]) for b in curve) / total)
