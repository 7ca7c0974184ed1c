# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Weights of the sources at a one: which contend for it, and the best weights by Newton steps or by their level.

Symbols are those of the module text of :mod:`.model`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import kernel

# Sources below this posterior get no weight in the bound of a row.
CUT = 1e-9
# Links below this strength explain nothing.
WEAK = 1e-9
# exp of minus this is nothing beside one.
FAR = 50.0
# Beyond this θ/q the slope of a weight is level, and Newton steps have nothing to go by.
FLAT = 15.0
# Steps after which weights are looked for by their level.
NEWTON_STEPS = 12


class Tables(NamedTuple):
    """Links and leaks in the form that rows need; sources are contiguous, W of them with those that only pad."""

    bias: np.ndarray  # (W,) log odds of the sources in an empty row
    theta: np.ndarray  # (D * W,) strengths of links, -log(1 - p)
    prob: np.ndarray  # (D * W,) p
    lift: np.ndarray  # (D * W,) d at q = 1
    slope: np.ndarray  # (D * W,) φ at q = 1
    theta0: np.ndarray  # (D,) strengths of leaks
    e0: np.ndarray  # (D,) expm1(θ0)
    top: np.ndarray  # (D,) -log(1 - exp(-θ0))


class Weights(NamedTuple):
    """Weights q at the ones of a row, L at most: work space that :func:`make_weights` makes and :func:`weigh_ones` fills.

    Sources that share a one p stand in ``contenders`` from place ``first[p]`` to ``first[p + 1]``, with their numbers.
    """

    winner: np.ndarray  # (L,) int64: the source that has all the weight of a one, -1 if several share it, -2 if none
    first: np.ndarray  # (L + 1,) int64
    contenders: np.ndarray  # (L * W,) int64
    q: np.ndarray  # (L * W,)
    credit: np.ndarray  # (L * W,) q d
    rest: np.ndarray  # (L * W,) 1 / expm1(θ0 + θ/q)
    candidates: np.ndarray  # (W,) int64: the sources that may have weight in this row
    work: np.ndarray  # (2, W) slopes and bends


@kernel
def make_weights(n_ones, width):
    """Room for the weights of a row with at most ``n_ones`` ones."""
    size = n_ones * width
    return Weights(
        np.empty(n_ones, np.int64),
        np.zeros(n_ones + 1, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(width, np.int64),
        np.empty((2, width)),
    )


@kernel
def lift_of(t, theta0, top):
    """d, φ and 1 / expm1(θ0 + t) at a strength t: see the module text of :mod:`.model`."""
    if t > FAR:
        return top, top, 0.0
    e = math.exp(-(theta0 + t))
    one = 1.0 - e if e < 0.9 else -math.expm1(-(theta0 + t))
    left = e / one
    d = math.log(one) + top if t > 0.1 * theta0 else math.log1p(-math.expm1(-t) / math.expm1(theta0))
    if t < 1e-5 * min(theta0, 1.0):
        half = math.sinh(0.5 * theta0)
        return d, (0.5 * t * t - t * t * t / (3.0 * math.tanh(0.5 * theta0))) / (4.0 * half * half), left
    return d, d - t * left, left


@kernel
def share_cell(at, theta0, top, start, n_sources, m, theta, tol, weights):
    """Best ``weights`` of the sources that contend for a one, by Newton steps.

    The sources stand among the contenders from place ``start`` on, and so do their numbers.  Maximises the concave sum of
    m q d(θ/q) on the simplex; stops when the gap that bounds what is left to gain is below ``tol``.
    """
    sources, q, credit, rest, work = weights.contenders, weights.q, weights.credit, weights.rest, weights.work
    end = start + n_sources
    value = -1.0
    for step in range(NEWTON_STEPS + 1):
        # 1. Value, slopes and bends at q.
        new, largest, mean, pull, give = 0.0, 0.0, 0.0, 0.0, 0.0
        for c in range(start, end):
            own, t = m[sources[c]], theta[at + sources[c]] / q[c]
            d, phi, left = lift_of(t, theta0, top)
            credit[c], rest[c] = q[c] * d, left
            gain = own * phi
            bend = own * t * t * left * (1.0 + left) / q[c] if t < FLAT else 0.0
            work[0, c - start], work[1, c - start] = gain, bend
            new += own * credit[c]
            largest = max(largest, gain)
            mean += q[c] * gain
            if bend > 0.0:
                pull += gain / bend
                give += 1.0 / bend
        if largest - mean <= tol:
            return
        if new < value or step == NEWTON_STEPS or give == 0.0:
            break
        value = new
        # 2. Newton step, no weight changing more than five-fold; those too small to bend anything go up or down by that.
        level, total = pull / give, 0.0
        for c in range(start, end):
            change = work[0, c - start] - level
            if work[1, c - start] > 0.0:
                q[c] = min(max(q[c] + change / work[1, c - start], 0.2 * q[c]), 5.0 * q[c])
            else:
                q[c] = max(q[c] * (5.0 if change > 0.0 else 0.2), 1e-300)
            total += q[c]
        for c in range(start, end):
            q[c] /= total
    # 3. Newton steps in q did not do; the level of the slopes is looked for instead, which always works.
    fill_up(at, theta0, top, start, n_sources, m, theta, sources, q)
    for c in range(start, end):
        d, _, rest[c] = lift_of(theta[at + sources[c]] / max(q[c], 1e-300), theta0, top)
        credit[c] = q[c] * d


@kernel
def strength_at(wanted, least, theta0, top):
    """The t ≥ ``least`` at which φ(t) is ``wanted``, which is below ``top``: Newton steps inside a bracket."""
    low, high = least, FAR
    t = min(max(least, 1.0), 0.5 * FAR)
    for _ in range(100):
        _, phi, left = lift_of(t, theta0, top)
        if phi < wanted:
            low = t
        else:
            high = t
        bend = t * left * (1.0 + left)
        # Where φ is close to its top the logarithm of what is left to it is nearly straight, elsewhere that of φ itself.
        if wanted > 0.5 * top:
            new = t + (math.log(max(top - phi, 1e-300)) - math.log(top - wanted)) * (top - phi) / max(bend, 1e-300)
        else:
            new = t * math.exp(min(max(math.log(wanted / max(phi, 1e-300)) * phi / max(t * bend, 1e-300), -5.0), 5.0))
        if not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - t) <= 1e-14 * t:
            return new
        t = new
    return t


@kernel
def fill_up(at, theta0, top, start, n_sources, m, theta, sources, q):
    """Best weights by their level: all with weight have the same slope m φ(θ/q), and the weights sum to one."""
    end = start + n_sources
    low, high = 0.0, 0.0
    for c in range(start, end):
        own = m[sources[c]]
        low = max(low, own * lift_of(theta[at + sources[c]], theta0, top)[1])
        high = max(high, own * top)
    level = 0.5 * (low + high)
    for _ in range(100):
        total, change = weights_at(level, at, theta0, top, start, n_sources, m, theta, sources, q)
        if total > 1.0:
            low = level
        else:
            high = level
        if abs(total - 1.0) <= 1e-13 or high - low <= 1e-15 * high:
            break
        new = level - (total - 1.0) / change if change < 0.0 else low
        level = new if low < new < high else 0.5 * (low + high)
    if abs(total - 1.0) > 1e-13:
        # A source whose slope is level however small its weight: the others have theirs, and it takes what they leave.
        total, _ = weights_at(high, at, theta0, top, start, n_sources, m, theta, sources, q)
        best, most = start, -1.0
        for c in range(start, end):
            if q[c] == 0.0 and m[sources[c]] > most:
                best, most = c, m[sources[c]]
        if most > 0.0 and total < 1.0:
            q[best], total = 1.0 - total, 1.0
    for c in range(start, end):
        q[c] /= total


@kernel
def weights_at(level, at, theta0, top, start, n_sources, m, theta, sources, q):
    """Fill ``q`` with the weights at which slopes are ``level``; returns their sum and its derivative."""
    total, change = 0.0, 0.0
    for c in range(start, start + n_sources):
        own, strength = m[sources[c]], theta[at + sources[c]]
        q[c] = 0.0
        if own * top > level:
            t = strength_at(level / own, strength, theta0, top)
            q[c] = strength / t
            left = lift_of(t, theta0, top)[2]
            change -= q[c] / (own * max(t * t * left * (1.0 + left), 1e-300))
        total += q[c]
    return total, change


@kernel
def list_candidates(m, candidates):
    """Fill ``candidates`` (W,) with the sources whose posteriors ``m`` (W,) are not next to nothing; returns their number."""
    n_candidates = 0
    for k in range(m.shape[0]):
        if m[k] > CUT:
            candidates[n_candidates] = k
            n_candidates += 1
    return n_candidates


@kernel
def contend(at, top, candidates, n_candidates, m, theta, slope, start, contenders):
    """Which sources have weight at a one: fills ``contenders`` from place ``start``, the best first; returns their number.

    A source takes all if no other could do better with a little than it does with all.
    """
    best, most = -1, 0.0
    for c in range(n_candidates):
        k = candidates[c]
        gain = m[k] * slope[at + k]
        if gain > most:
            best, most = k, gain
    if best < 0:
        return 0
    contenders[start] = best
    limit, n_sources = most / top, 1
    for c in range(n_candidates):
        k = candidates[c]
        if m[k] > limit and k != best and theta[at + k] > WEAK:
            contenders[start + n_sources] = k
            n_sources += 1
    return n_sources


@kernel
def first_weights(at, start, n_sources, m, theta, sources, q):
    """Weights in proportion to m θ, from which the best ones are looked for."""
    total = 0.0
    for c in range(start, start + n_sources):
        q[c] = max(m[sources[c]] * theta[at + sources[c]], 1e-300)
        total += q[c]
    for c in range(start, start + n_sources):
        q[c] = max(q[c] / total, 1e-12)


@kernel
def weigh_ones(tables, indices, low, n_ones, cell_tol, m, odds, weights):
    """Find the ``weights`` of the ones of a row for its posteriors ``m`` (W,); their credit is added to ``odds`` (W,)."""
    theta, lift, slope, theta0, top = tables.theta, tables.lift, tables.slope, tables.theta0, tables.top
    winner, first, contenders, q, credit = weights.winner, weights.first, weights.contenders, weights.q, weights.credit
    candidates = weights.candidates
    n_candidates = list_candidates(m, candidates)
    width = m.shape[0]
    place = 0
    for p in range(n_ones):
        j = np.int64(indices[low + p])
        at = j * width
        first[p] = place
        n_sources = contend(at, top[j], candidates, n_candidates, m, theta, slope, place, contenders)
        if n_sources == 0:
            winner[p] = -2
        elif n_sources == 1:
            winner[p] = contenders[place]
            odds[winner[p]] += lift[at + winner[p]]
        else:
            winner[p] = -1
            first_weights(at, place, n_sources, m, theta, contenders, q)
            share_cell(at, theta0[j], top[j], place, n_sources, m, theta, cell_tol, weights)
            for c in range(n_sources):
                odds[contenders[place + c]] += credit[place + c]
            place += n_sources
    first[n_ones] = place


@kernel
def credit_of_ones(theta, theta0, top, slope, lift, m, cell_tol, out):
    """What single ones add to the log odds of the sources; ``theta``, ``slope``, ``lift``, ``m`` and ``out`` are (n, K)."""
    n_cells, n_sources = m.shape
    weights = make_weights(1, n_sources)
    contenders = weights.contenders
    for i in range(n_cells):
        n_candidates = list_candidates(m[i], weights.candidates)
        n = contend(0, top[i], weights.candidates, n_candidates, m[i], theta[i], slope[i], 0, contenders)
        if n == 1:
            out[i, contenders[0]] = lift[i, contenders[0]]
        elif n > 1:
            first_weights(0, 0, n, m[i], theta[i], contenders, weights.q)
            share_cell(0, theta0[i], top[i], 0, n, m[i], theta[i], cell_tol, weights)
            for c in range(n):
                out[i, contenders[c]] = weights.credit[c]
