"""Zeros at the cost of the ones: which columns are worked out cell by cell, and polynomials for the others.

A zero cell enters the E-step through 1/(1-p).  In column t the probability p = sum_k s_k a_kt lies between the least and
the largest a_kt, because s lies on the simplex.  Where that interval is short, 1/(1-p) is replaced by the polynomial that
interpolates it at the Chebyshev points x_0, ..., x_r of the interval.  The divided differences of 1/(1-p) are products of
1/(1-x_i), so the polynomial and its error are known in closed form:

    1/(1-p) - polynomial(p) = prod_i (p - x_i) / ((1-p) prod_i (1 - x_i)),   |prod_i (p - x_i)| <= 2 (h/2)^(r+1),

h being half the length of the interval.  Sums of powers of p over all cells of such *cold* columns need sums of products
of memberships only, so they cost nothing per cell.  The other columns are *hot*: all their cells are worked out.  The
logarithm of 1-p is replaced by the integral of minus the polynomial from the middle of the interval, whose error is at
most h times that of the polynomial.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float

# Work per row in multiplications: of a hot column (three products, and a pass over the cells), of a one in a cold column
# (a walk through memory), of a product of three memberships.  Measured, roughly, with 10 to 80 causes; they decide how the
# work is split, never what comes out of it.
HOT_FIXED, HOT_PER_CAUSE = 64.0, 6.0
ONE_FIXED, ONE_PER_CAUSE = 60.0, 12.0
PER_TRIPLE = 6.0
# Numbers that are worked out at a time.
TILE_NUMBERS = 2**16
# Splits that save less than this part of the work are not worth their trouble.
WORTH = 0.001


class Split(NamedTuple):
    """Columns split into hot and cold for given probabilities."""

    hot: np.ndarray  # (H,) columns worked out cell by cell
    place: np.ndarray  # (D,) int32: position among the hot columns, -1 for cold ones, -2 for columns left out
    inverse: Float  # (D, 3) coefficients of the polynomial for 1/(1-p), zero for hot columns
    logarithm: Float  # (D, 4) the same for log(1-p)
    degree: int  # largest power of p that occurs in ``inverse``; -1 if no column is cold
    error: float  # bound on the error of a row's log-likelihood


def _differences(low: Float, high: Float, degree: int) -> tuple[Float, Float]:
    """Nodes (D, r + 1) and the divided differences of 1/(1-p) at them (D, r + 1)."""
    angles = (2 * np.arange(degree + 1) + 1) * np.pi / (2 * degree + 2)
    nodes = 0.5 * ((low + high)[:, None] + (high - low)[:, None] * np.cos(angles))
    return nodes, np.asarray(1.0 / np.cumprod(1.0 - nodes, axis=1), dtype=np.float64)


def error_bound(low: Float, high: Float, degree: int) -> Float:
    """Largest error (D,) of the polynomial for log(1-p) on [low, high]."""
    half = 0.5 * (high - low)
    highest = _differences(low, high, degree)[1][:, -1]
    bound: Float = 2 * (half / 2) ** (degree + 1) * highest / (1.0 - high) * half
    return bound


def interpolate(low: Float, high: Float, degree: int) -> tuple[Float, Float]:
    """Coefficients for 1/(1-p) (D, 3) and log(1-p) (D, 4) on [low, high]."""
    middle = 0.5 * (low + high)
    nodes, differences = _differences(low, high, degree)
    inverse = np.zeros((len(low), 3))
    inverse[:, 0] = differences[:, 0]
    if degree >= 1:
        inverse[:, 0] -= differences[:, 1] * nodes[:, 0]
        inverse[:, 1] = differences[:, 1]
    if degree >= 2:
        inverse[:, 0] += differences[:, 2] * nodes[:, 0] * nodes[:, 1]
        inverse[:, 1] -= differences[:, 2] * (nodes[:, 0] + nodes[:, 1])
        inverse[:, 2] = differences[:, 2]
    logarithm = np.zeros((len(low), 4))
    logarithm[:, 1:] = -inverse / np.array([1.0, 2.0, 3.0])
    powers = middle[:, None] ** np.arange(1, 4)
    logarithm[:, 0] = np.log1p(-middle) - (logarithm[:, 1:] * powers).sum(axis=1)
    return inverse, logarithm


def split_columns(probs: Float, active: np.ndarray, rate: Float, allowed: float) -> Split:
    """The cheapest split whose error per row stays within ``allowed``.

    ``probs`` (K, D); ``active`` (D,) says which columns count; ``rate`` (D,) is the share of stored cells per column.
    """
    n_components, n_columns = probs.shape
    place = np.where(active, 0, -2).astype(np.int32)
    columns = np.flatnonzero(active)
    hot_cost = HOT_FIXED + HOT_PER_CAUSE * n_components
    inverse, logarithm, degree, error = np.zeros((n_columns, 3)), np.zeros((n_columns, 4)), -1, 0.0
    cold = columns[:0]
    if allowed > 0:
        least = WORTH * len(columns) * hot_cost
        low, high = probs.min(axis=0), probs.max(axis=0)
        # A column whose own error is above the allowance at degree 2, or with large probabilities, is never cold.
        able = columns[((high - low)[columns] ** 4 <= 64 * allowed) & (high[columns] < 0.5)]
        if len(able) * hot_cost > least:
            walk = rate[able] * (ONE_FIXED + ONE_PER_CAUSE * n_components)
            for power in (0, 1, 2):
                bound = error_bound(low[able], high[able], power)
                order = np.argsort(bound, kind="stable")
                summed = np.cumsum(bound[order])
                n_cold = int(np.searchsorted(summed, allowed, side="right"))
                saved = n_cold * hot_cost - walk[order[:n_cold]].sum() - _moments_cost(n_components, power)
                if saved > least:
                    least, degree, cold, error = saved, power, able[order[:n_cold]], float(summed[n_cold - 1])
    if degree >= 0:
        place[cold] = -1
        inverse[cold], logarithm[cold] = interpolate(low[cold], high[cold], degree)
    hot = np.flatnonzero(place == 0)
    place[hot] = np.arange(len(hot), dtype=np.int32)
    return Split(hot, place, inverse, logarithm, degree, error)


def _moments_cost(n_components: int, degree: int) -> float:
    """Multiplications per row for the sums over cold columns: products of one, two and three memberships."""
    k = float(n_components)
    return (2 * k, 2 * k + 2 * k * k, 2 * k + 2 * k * k + PER_TRIPLE * k * k * (k + 1) / 2)[degree]


def pairs_of(n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (l, m), l <= m, of the products of two memberships."""
    return np.triu_indices(n_components)


def orders_of(n_components: int) -> Float:
    """In how many orders each product of two memberships occurs (P, 1)."""
    first, second = pairs_of(n_components)
    return np.where(first == second, 1.0, 2.0)[:, None]


class Moments(NamedTuple):
    """Polynomials summed over cold columns: the gradient sum_t (1 - a_kt) polynomial(p_t) of every row."""

    constant: Float  # (K,)
    powers: Float  # (0, K), (K, K) or (K + P, K) by degree: rows l and then (l, m) are the weights of s_l and s_l s_m


def moments_of(probs: Float, split: Split, kind: Any = np.float64) -> Moments:
    """Sums over the cold columns, in a precision."""
    if split.degree < 0:
        return Moments(np.zeros(len(probs), kind), np.zeros((0, len(probs)), kind))
    cold = np.flatnonzero(split.place == -1)
    on, inverse = np.ascontiguousarray(probs[:, cold].T, kind), split.inverse[cold].astype(kind)
    off = 1 - on
    powers = [on.T @ (off * inverse[:, 1:2])] * (split.degree >= 1)
    if split.degree >= 2:
        powers.append(orders_of(len(probs)) * power_sums(on, off * inverse[:, 2:3])[len(probs) :])
    stacked = np.vstack(powers) if powers else np.zeros((0, len(probs)))
    return Moments(off.T @ inverse[:, 0], stacked.astype(kind))


def power_sums(rows: Float, weighted: Float) -> Float:
    """Sums over the rows of ``rows`` (n, K) of their entries and products of two entries, times ``weighted`` (K + P, K)."""
    from .kernels import take_powers

    n_components = rows.shape[1]
    n_powers = n_components + n_components * (n_components + 1) // 2
    sums, nothing = np.zeros((n_powers, n_components)), np.empty((0, n_components), rows.dtype)
    take_powers(rows, weighted, nothing, tile_height(n_powers), nothing, sums)
    return sums


def power_products(rows: Float, tables: Float) -> Float:
    """Entries and products of two entries of the rows of ``rows`` (n, K), times ``tables`` (K + P, K)."""
    from .kernels import take_powers

    out, nothing = np.zeros(rows.shape, rows.dtype), np.empty((0, rows.shape[1]))
    take_powers(rows, rows, tables, tile_height(len(tables)), out, nothing)
    return out


def tile_height(n_powers: int) -> int:
    """Rows whose powers are worked out at a time: they stay in a core's cache."""
    return max(32, TILE_NUMBERS // max(1, n_powers))


class LogMoments(NamedTuple):
    """The polynomials for log(1-p), summed over cold columns."""

    constant: float
    linear: Float  # (K,)
    square: Float  # (K, K)
    cube: Float  # (P, K), of degree 2 only


def log_moments_of(probs: Float, split: Split) -> LogMoments:
    """Sums over the cold columns for the log-likelihood of a row."""
    cold = np.flatnonzero(split.place == -1)
    on, logs = np.ascontiguousarray(probs[:, cold].T), split.logarithm[cold]
    cube = np.zeros((0, len(probs)))
    if split.degree >= 2:
        cube = orders_of(len(probs)) * power_sums(on, on * logs[:, 3:4])[len(probs) :]
    return LogMoments(float(logs[:, 0].sum()), logs[:, 1] @ on, on.T @ (on * logs[:, 2:3]), cube)


class RowSums(NamedTuple):
    """Weighted sums over rows of products of memberships."""

    first: Annotated[Float, of.amounts("K")]
    second: Annotated[Float, of.amounts("K", "K")] | None
    third: Annotated[Float, of.amounts("P", "K")] | None  # P products of two memberships


def zeros_in_cold(probs: Float, split: Split, sums: RowSums, weight: float, kind: Any) -> tuple[Float, float]:
    """Sums over rows of s_k polynomial(p) (D, K), zero but for the cold columns, and of the polynomial for log(1-p)."""
    out = np.zeros((probs.shape[1], len(probs)))
    cold = np.flatnonzero(split.place == -1)
    on, inverse, logs = np.ascontiguousarray(probs[:, cold].T), split.inverse[cold], split.logarithm[cold]
    # Sums over rows of s_k p^r for r = 0, 1, 2; those of p^r follow, as p is the sum of the s_k a_k.
    value = inverse[:, :1] * sums.first
    log_sum = weight * float(logs[:, 0].sum()) + float(logs[:, 1] @ (on @ sums.first))
    if sums.second is not None:
        linear = on @ sums.second
        value += inverse[:, 1:2] * linear
        log_sum += float(logs[:, 2] @ (on * linear).sum(axis=1))
    if sums.third is not None:
        tables = np.vstack((np.zeros((len(probs), len(probs))), orders_of(len(probs)) * sums.third)).astype(kind)
        square = power_products(on.astype(kind), tables)
        value += inverse[:, 2:3] * square
        log_sum += float(logs[:, 3] @ (on * square).sum(axis=1))
    out[cold] = value
    return out, log_sum
