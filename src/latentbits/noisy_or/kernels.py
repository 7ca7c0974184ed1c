"""Loops of the noisy-or E-step, row by row over the ones.

Tables over columns and sources are flattened (D * W,), sources contiguous, their number W padded to a multiple of four by
sources that nothing can switch on.  ``theta`` are link strengths -log(1 - p), ``prob`` the p, ``lift`` and ``slope`` the
d and φ of the module text of :mod:`.model` at q = 1; ``theta0`` (D,) the leak, ``e0`` its expm1, ``top`` -log(1 - exp(-θ0)).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Sources below this posterior get no weight in the bound of a row.
CUT = 1e-9
# Links below this strength explain nothing.
WEAK = 1e-9
# log odds below this are those of a source that is off for certain.
OFF = -37.0
# exp of minus this is nothing beside one.
FAR = 50.0
# Beyond this θ/q the slope of a weight is level, and Newton steps have nothing to go by.
FLAT = 15.0
# Steps after which weights are looked for by their level.
NEWTON_STEPS = 12
# The largest expm1 of a sum of strengths.
HUGE = 1e100


@njit(cache=True, nogil=True)
def log_on(u):
    """log(1 - exp(-u)), the log probability of a one."""
    if u < 0.6931471805599453:
        return math.log(-math.expm1(-u))
    return math.log1p(-math.exp(-u))


@njit(cache=True, nogil=True)
def softplus(a):
    """log(1 + exp(a))."""
    if a > 0.0:
        return a + math.log1p(math.exp(-a))
    return math.log1p(math.exp(a)) if a > OFF else 0.0


@njit(cache=True, nogil=True)
def sigmoid(a):
    """1 / (1 + exp(-a)), zero where it is below 1e-16."""
    if a > 0.0:
        return 1.0 / (1.0 + math.exp(-a))
    if a <= OFF:
        return 0.0
    e = math.exp(a)
    return e / (1.0 + e)


@njit(cache=True, nogil=True)
def add_columns(indices, low, high, table, width, out):
    """Add the rows of ``table`` (D * W,) at the columns ``indices[low:high]`` to ``out`` (W,)."""
    for p in range(np.uint64(low), np.uint64(high)):
        at = np.uint64(indices[p]) * width
        for k in range(width):
            out[k] += table[at + k]


@njit(cache=True, nogil=True)
def flip_gains(indices, low, high, base, prob, grown, floor, width, chunk, on, gains, factors):
    """Fill ``gains`` (W,): what every source adds to log P(x, s) if it is on, the others being as they are.

    ``grown`` are expm1(u) at the ones, ``floor`` expm1(θ0) of all columns.  Factors 1 + p / expm1(u) are multiplied and
    their logarithm is taken once per ``chunk`` ones, as many as cannot overflow.
    """
    for k in range(width):
        gains[k], factors[k] = base[k], 1.0
    count = 0
    for p in range(np.uint64(low), np.uint64(high)):
        inverse = 1.0 / grown[p - np.uint64(low)]
        at = np.uint64(indices[p]) * width
        for k in range(width):
            factors[k] *= 1.0 + prob[at + k] * inverse
        count += 1
        if count == chunk:
            count = 0
            for k in range(width):
                gains[k] += math.log(factors[k])
                factors[k] = 1.0
    for k in range(width):
        gains[k] += math.log(factors[k])
    for k in range(width):
        if on[k]:
            gains[k] = base[k]
            product = 1.0
            for p in range(np.uint64(low), np.uint64(high)):
                j = np.uint64(indices[p])
                link = prob[j * width + np.uint64(k)]
                without = max(grown[p - np.uint64(low)] * (1.0 - link) - link, floor[j])
                product *= 1.0 + link / without
                if product > 1e200:
                    gains[k] += math.log(product)
                    product = 1.0
            gains[k] += math.log(product)


@njit(cache=True, nogil=True)
def greedy(indices, low, high, base, theta, prob, lift, e0, width, chunk, on, gains, grown, factors):
    """Climb log P(x, s) from s = 0 by the best single flip; fills ``on`` (W,), and ``gains`` (W,) at the end.

    ``base`` (W,) are the log odds of the sources without any credit for the ones.  Returns what was gained.
    """
    total = 0.0
    for k in range(width):
        on[k] = 0
        gains[k] = base[k]
    add_columns(indices, low, high, lift, np.uint64(width), gains)
    for p in range(low, high):
        grown[p - low] = e0[indices[p]]
    for _ in range(4 * width):
        best, most = -1, 1e-9
        for k in range(width):
            gain = -gains[k] if on[k] else gains[k]
            if gain > most:
                best, most = k, gain
        if best < 0:
            break
        total += most
        for p in range(low, high):
            j = np.int64(indices[p])
            strength, here = theta[j * width + best], grown[p - low]
            if on[best]:
                link = prob[j * width + best]
                grown[p - low] = max(here * math.exp(-strength) - link, e0[j])
            elif strength > 0.0:
                grown[p - low] = min((here + 1.0) * math.exp(strength) - 1.0, HUGE)
        on[best] = 1 - on[best]
        flip_gains(indices, low, high, base, prob, grown, e0, np.uint64(width), chunk, on, gains, factors)
    return total


@njit(cache=True, nogil=True)
def gain_of(indices, low, high, base, prob, e0, width, m):
    """log P(x, s) less that of s = 0, s being the sources with posteriors above one half."""
    total, product, any_on = 0.0, 1.0, False
    for k in range(width):
        if m[k] > 0.5:
            total += base[k]
            any_on = True
    if not any_on:
        return 0.0
    for p in range(low, high):
        j = np.int64(indices[p])
        kept = 1.0
        for k in range(width):
            if m[k] > 0.5:
                kept *= 1.0 - prob[j * width + k]
        # (1 - exp(-θ0) kept) / (1 - exp(-θ0))
        product *= 1.0 + (1.0 - kept) / e0[j]
        if product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def share_cell(at, theta0, top, start, n_sources, m, theta, sources, q, credit, rest, tol, work):
    """Best weights ``q`` of the sources that contend for a one, by Newton steps.

    The sources stand in ``sources`` from place ``start`` on, and so do their numbers.  Maximises the concave sum of
    m q d(θ/q) on the simplex; stops when the gap that bounds what is left to gain is below ``tol``.  ``credit`` gets q d,
    ``rest`` 1 / expm1(θ0 + θ/q).  ``work`` (3 or more, W) is scratch: slopes, bends, and the weights before.
    """
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def contend(at, top, candidates, n_candidates, m, theta, slope, start, contenders):
    """Which sources have weight at a one: fills ``contenders`` from place ``start``, the best first; returns their number.

    A source takes all if no other could do better with a little than it does with all.
    """
    best, most = -1, 0.0
    for c in range(n_candidates):
        k = np.int64(candidates[c])
        gain = m[k] * slope[at + k]
        if gain > most:
            best, most = k, gain
    if best < 0:
        return 0
    contenders[start] = best
    limit, n_sources = most / top, 1
    for c in range(n_candidates):
        k = np.int64(candidates[c])
        if m[k] > limit and k != best and theta[at + k] > WEAK:
            contenders[start + n_sources] = k
            n_sources += 1
    return n_sources


@njit(cache=True, nogil=True)
def first_weights(at, start, n_sources, m, theta, sources, q):
    """Weights in proportion to m θ, from which the best ones are looked for."""
    total = 0.0
    for c in range(start, start + n_sources):
        q[c] = max(m[sources[c]] * theta[at + sources[c]], 1e-300)
        total += q[c]
    for c in range(start, start + n_sources):
        q[c] = max(q[c] / total, 1e-12)


@njit(cache=True, nogil=True)
def weigh_ones(
    indices, low, n_ones, candidates, n_candidates, theta, lift, slope, theta0, top, width, cell_tol,
    m, odds, winner, first, contenders, q, credit, rest, work,
):  # fmt: skip
    """Find the weights of all ones of a row for posteriors ``m``; their credit is added to ``odds`` (W,)."""
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
            share_cell(at, theta0[j], top[j], place, n_sources, m, theta, contenders, q, credit, rest, cell_tol, work)
            for c in range(n_sources):
                odds[contenders[place + c]] += credit[place + c]
            place += n_sources
    first[n_ones] = place


@njit(cache=True, nogil=True)
def settle(
    indices, low, high, base, theta, lift, slope, theta0, top, width, rounds, tol, cell_tol,
    m, odds, winner, first, contenders, q, credit, rest, work,
):  # fmt: skip
    """Alternate the weights q of the ones and the posteriors ``m`` (W,) of a row until they settle.

    At first q is solved for the given m, so the bound never falls from there.  ``odds`` (W,) end as the log odds behind m.
    ``winner[p]`` is the source that has all the weight of a one, -1 if several share it, -2 if there is none; those that
    share stand in ``contenders`` from place ``first[p]`` to ``first[p + 1]``, with their q, q d and 1 / expm1(θ0 + θ/q).
    """
    candidates = work[3]
    n_ones = high - low
    for _ in range(rounds):
        n_candidates = 0
        for k in range(width):
            odds[k] = base[k]
            if m[k] > CUT:
                candidates[n_candidates] = k
                n_candidates += 1
        weigh_ones(
            indices, low, n_ones, candidates, n_candidates, theta, lift, slope, theta0, top, width, cell_tol,
            m, odds, winner, first, contenders, q, credit, rest, work,
        )  # fmt: skip
        change = 0.0
        for k in range(width):
            new = sigmoid(odds[k])
            change = max(change, abs(new - m[k]))
            m[k] = new
        if change <= tol:
            break


@njit(cache=True, nogil=True)
def bound_of(odds, width):
    """Sum of log(1 + exp(odds)): the part of the bound that depends on the sources."""
    value = 0.0
    for k in range(width):
        value += softplus(odds[k])
    return value


@njit(cache=True, nogil=True)
def add_sums(indices, low, n_ones, weight, m, theta, theta0, e0, width, winner, first, contenders, q, rest, on, leak):
    """Add the sums of a row to ``on`` (D * 2 W,): Σ m, then Σ m / expm1(θ0 + θ/q), and ``leak`` (D,): what q m adds to it."""
    for p in range(n_ones):
        j = np.uint64(indices[low + p])
        at, to = j * np.uint64(width), np.uint64(2) * j * np.uint64(width)
        for k in range(np.uint64(width)):
            on[to + k] += weight * m[k]
        to += np.uint64(width)
        if winner[p] >= 0:
            k = np.uint64(winner[p])
            if m[k] > 0.0:
                left = 1.0 / math.expm1(theta0[j] + theta[at + k])
                on[to + k] += weight * m[k] * left
                leak[j] += weight * m[k] * (left - 1.0 / e0[j])
        elif winner[p] == -1:
            for c in range(first[p], first[p + 1]):
                k = np.uint64(contenders[c])
                on[to + k] += weight * m[k] * rest[c]
                leak[j] += weight * q[c] * m[k] * (rest[c] - 1.0 / e0[j])


@njit(cache=True, nogil=True)
def infer_rows(
    indptr, indices, unknown_indptr, unknown_indices, weights, bias, theta, prob, lift, slope, theta0, e0, top,
    options, shares, values, odds_out, on, leak,
):  # fmt: skip
    """Posteriors of the sources of every row: ``shares`` (n, W) are filled, ``values`` (n,) the source part of the bound.

    ``options`` = (warm, cold, rounds, tol, cell tol, chunk): start from the given shares, from the greedy search, or take
    the better of both.  ``odds_out`` (n, W) gets the log odds, and ``on`` (D * 2 W,) and ``leak`` (D,) the sums of
    :func:`add_sums`, each unless it is empty.
    """
    n_rows, width = indptr.shape[0] - 1, bias.shape[0]
    warm, cold, rounds = options[0] > 0, options[1] > 0, int(options[2])
    tol, cell_tol, chunk = options[3], options[4], int(options[5])
    longest = 0
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    base, gains, factors, odds, other = (
        np.empty(width),
        np.empty(width),
        np.empty(width),
        np.empty(width),
        np.empty(width),
    )
    on_now, m, trial = np.empty(width, np.uint8), np.empty(width), np.empty(width)
    grown, work = np.empty(longest), np.empty((4, width))
    winner, first = np.empty(longest, np.int64), np.zeros(longest + 1, np.int64)
    contenders = np.empty(longest * width, np.int64)
    q, credit, rest = np.empty(longest * width), np.empty(longest * width), np.empty(longest * width)
    for i in range(n_rows):
        low, high = indptr[i], indptr[i + 1]
        n_ones = high - low
        for k in range(width):
            base[k] = bias[k]
        add_columns(indices, low, high, theta, np.uint64(width), base)
        add_columns(unknown_indices, unknown_indptr[i], unknown_indptr[i + 1], theta, np.uint64(width), base)
        first[0] = 0
        value = -np.inf
        if n_ones == 0:
            for k in range(width):
                odds[k] = base[k]
                m[k] = sigmoid(base[k])
            value = bound_of(odds, width)
        else:
            found, cold_row = 0.0, cold
            if cold:
                found = greedy(
                    indices, low, high, base, theta, prob, lift, e0, width, chunk, on_now, gains, grown, factors
                )  # fmt: skip
                for k in range(width):
                    trial[k] = sigmoid(gains[k])
            if warm:
                for k in range(width):
                    m[k] = shares[i, k]
                # The greedy search is of use only if it found a better state than the one at hand.
                if cold and found <= gain_of(indices, low, high, base, prob, e0, width, m) + 1e-9:
                    cold_row = False
                settle(
                    indices, low, high, base, theta, lift, slope, theta0, top, width, rounds, tol, cell_tol,
                    m, odds, winner, first, contenders, q, credit, rest, work,
                )  # fmt: skip
                value = bound_of(odds, width)
            if cold_row:
                settle(
                    indices, low, high, base, theta, lift, slope, theta0, top, width, rounds, tol, cell_tol,
                    trial, other, winner, first, contenders, q, credit, rest, work,
                )  # fmt: skip
                second = bound_of(other, width)
                if second > value:
                    value = second
                    for k in range(width):
                        m[k], odds[k] = trial[k], other[k]
                else:  # the weights of the ones must be those of the posteriors that are kept
                    for k in range(width):
                        m[k] = shares[i, k]
                    settle(
                        indices, low, high, base, theta, lift, slope, theta0, top, width, rounds, tol, cell_tol,
                        m, odds, winner, first, contenders, q, credit, rest, work,
                    )  # fmt: skip
        for k in range(width):
            shares[i, k] = m[k]
        values[i] = value
        if odds_out.shape[0] > 0:
            for k in range(width):
                odds_out[i, k] = odds[k]
        if leak.shape[0] > 0 and weights[i] > 0.0 and n_ones > 0:
            add_sums(
                indices, low, n_ones, weights[i], m, theta, theta0, e0, width, winner, first, contenders, q, rest, on,
                leak,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def probe_rows(
    indptr,
    indices,
    weights,
    shares,
    theta,
    lift,
    slope,
    theta0,
    top,
    cell_tol,
    trial,
    trial0,
    on,
    bend,
    leak,
    leak_bend,
):
    """Sums for M-steps that look for a root: weights q are those of the old strengths, derivatives at the trial ones.

    ``shares`` (n, W).  Added to ``on`` (D * W,): Σ m (1 / (1 - exp(-u)) - 1) and ``bend``: Σ m f''(u) / q with
    u = θ0 + θ/q; to ``leak`` (D,): Σ q m (1 / (1 - exp(-u)) - 1 / (1 - exp(-θ0))), and ``leak_bend``: the same of f''.
    """
    n_rows, width = indptr.shape[0] - 1, shares.shape[1]
    longest = 0
    for i in range(n_rows):
        longest = max(longest, indptr[i + 1] - indptr[i])
    work, odds = np.empty((4, width)), np.zeros(width)
    winner, first = np.empty(longest, np.int64), np.zeros(longest + 1, np.int64)
    contenders = np.empty(longest * width, np.int64)
    q, credit, rest = np.empty(longest * width), np.empty(longest * width), np.empty(longest * width)
    candidates = work[3]
    for i in range(n_rows):
        low, n_ones = indptr[i], indptr[i + 1] - indptr[i]
        m = shares[i]
        n_candidates = 0
        for k in range(width):
            if m[k] > CUT:
                candidates[n_candidates] = k
                n_candidates += 1
        weigh_ones(
            indices, low, n_ones, candidates, n_candidates, theta, lift, slope, theta0, top, width, cell_tol,
            m, odds, winner, first, contenders, q, credit, rest, work,
        )  # fmt: skip
        for p in range(n_ones):
            if winner[p] == -2:
                continue
            j = np.int64(indices[low + p])
            alone = winner[p] >= 0
            e0 = math.expm1(trial0[j])
            bend0 = -(1.0 + e0) / (e0 * e0)
            for c in range(first[p], first[p] + 1 if alone else first[p + 1]):
                k = winner[p] if alone else contenders[c]
                weight = 1.0 if alone else q[c]
                if weight == 0.0:
                    continue
                at, own = j * width + k, weights[i] * m[k]
                u = trial0[j] + trial[at] / weight
                one = -math.expm1(-u)
                left = math.exp(-u) / one
                on[at] += own * left
                bend[at] -= own * left / one / weight
                leak[j] += own * weight * (left - 1.0 / e0)
                leak_bend[j] += own * weight * (-left / one - bend0)


@njit(cache=True, nogil=True)
def credit_of_ones(theta, theta0, top, slope, lift, m, cell_tol, out):
    """What single ones add to the log odds of the sources; ``theta``, ``slope``, ``lift``, ``m`` and ``out`` are (n, K)."""
    n_cells, n_sources = m.shape
    work = np.empty((4, n_sources))
    candidates, contenders = work[3], np.empty(n_sources, np.int64)
    q, credit, rest = np.empty(n_sources), np.empty(n_sources), np.empty(n_sources)
    for i in range(n_cells):
        n_candidates = 0
        for k in range(n_sources):
            if m[i, k] > CUT:
                candidates[n_candidates] = k
                n_candidates += 1
        n = contend(0, top[i], candidates, n_candidates, m[i], theta[i], slope[i], 0, contenders)
        if n == 1:
            out[i, contenders[0]] = lift[i, contenders[0]]
        elif n > 1:
            first_weights(0, 0, n, m[i], theta[i], contenders, q)
            share_cell(0, theta0[i], top[i], 0, n, m[i], theta[i], contenders, q, credit, rest, cell_tol, work)
            for c in range(n):
                out[i, contenders[c]] = credit[c]
