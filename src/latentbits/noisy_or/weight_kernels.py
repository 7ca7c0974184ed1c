# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Weights of the sources at a one: which contend for it, and the best weights by Newton steps or by their level.

Symbols are those of the module text of :mod:`.model`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..jit import inner_kernel, kernel
from ..maths.kernels import exp_shares, log_from_one

# Sources below this posterior get no weight in the bound of a row.
CUT = 1e-9
# Sources above the first part of the largest posterior are looked at first, those below the second last.
LIKELY, UNLIKELY = 0.05, 1e-4
# Links below this strength explain nothing.
WEAK = 1e-9
# exp of minus this is nothing beside one.
FAR = 50.0
# Beyond this θ/q the slope of a weight is level, and Newton steps have nothing to go by.
FLAT = 15.0
# Steps after which weights are looked for by their level.
NEWTON_STEPS = 12
# Relative error of weights found by their level; what they reach is off by its square.
CLOSE = 1e-9
# Leaks and links (beside the leak) below which exponentials must be taken with care.
SMALL_LEAK, SMALL_LINK = 1e-7, 1e-5
# How far the search for the weights of a one has come.
GOING, BEST, HARD, SMALL = 0, 1, 2, 3
# When fewer than one in so many contenders of a row are on their way, the ones that are left are taken singly.
FEW = 12


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
    rest: np.ndarray  # (D * W,) 1 / expm1(θ0 + θ)


class Weights(NamedTuple):
    """Weights q at the ones of a row, L at most: work space that :func:`make_weights` makes and :func:`weigh_ones` fills.

    Sources that share a one p stand in ``contenders`` from place ``first[p]`` to ``first[p + 1]``, with their numbers.
    """

    winner: np.ndarray  # (L,) int64: the source that has all the weight of a one, -1 if several share it, -2 if none
    first: np.ndarray  # (L + 1,) int64
    contenders: np.ndarray  # (L * W + 1,) int64
    q: np.ndarray  # (L * W,)
    credit: np.ndarray  # (L * W,) q d
    rest: np.ndarray  # (L * W,) 1 / expm1(θ0 + θ/q)
    candidates: np.ndarray  # (W + 1,) int64: the sources that may have weight in this row
    chances: np.ndarray  # (W,) their posteriors, 0 for the others
    work: np.ndarray  # (2, W) slopes and bends
    shared: np.ndarray  # (L,) int64: the ones that several sources share
    state: np.ndarray  # (L,) int64: how far the search for their weights has come
    values: np.ndarray  # (L,) what their weights have reached
    pairs: np.ndarray  # (7, L * W) numbers of every contender: see :func:`share_cells`
    logs: np.ndarray  # (L * W,) and
    whole: np.ndarray  # (L * W,) work space of exponentials and logarithms,
    logs_bits: np.ndarray  # (L * W,) int64: the same bits
    whole_bits: np.ndarray


@kernel
def make_weights(n_ones, width):
    """Room for the weights of a row with at most ``n_ones`` ones."""
    size = n_ones * width
    logs, whole = np.empty(size), np.empty(size)
    return Weights(
        np.empty(n_ones, np.int64),
        np.zeros(n_ones + 1, np.int64),
        np.empty(size + 1, np.int64),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(width + 1, np.int64),
        np.empty(width),
        np.empty((2, width)),
        np.empty(n_ones, np.int64),
        np.empty(n_ones, np.int64),
        np.empty(n_ones),
        np.empty((7, size)),
        logs,
        whole,
        logs.view(np.int64),
        whole.view(np.int64),
    )


@inner_kernel
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


@inner_kernel
def share_cell(at, theta0, top, start, n_sources, m, theta, steps, tol, weights):
    """Best ``weights`` of the sources that contend for a one, by ``steps`` Newton steps at most, then by their level.

    The sources stand among the contenders from place ``start`` on, and so do their numbers.  Maximises the concave sum of
    m q d(θ/q) on the simplex; stops when the gap that bounds what is left to gain is below ``tol``.
    """
    sources, q, credit, rest, work = weights.contenders, weights.q, weights.credit, weights.rest, weights.work
    end = start + n_sources
    value = -1.0
    for step in range(steps + 1):
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
        if new < value or step == steps or give == 0.0:
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
    fill_up(at, theta0, top, start, n_sources, m, theta, weights)
    for c in range(start, end):
        d, _, rest[c] = lift_of(theta[at + sources[c]] / max(q[c], 1e-300), theta0, top)
        credit[c] = q[c] * d


@inner_kernel
def strength_at(wanted, least, theta0, top, guess):
    """The t ≥ ``least`` at which φ(t) is ``wanted``, which is below ``top``: Newton steps inside a bracket."""
    low, high = least, FAR
    t = min(max(least, guess), FAR)
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
        if abs(new - t) <= CLOSE * t:
            return new
        t = new
    return t


@inner_kernel
def fill_up(at, theta0, top, start, n_sources, m, theta, weights):
    """Best weights by their level: all with weight have the same slope m φ(θ/q), and the weights sum to one.

    Strengths θ/q stand where the credit will, from one level to the next.
    """
    sources, q, strengths = weights.contenders, weights.q, weights.credit
    end = start + n_sources
    low, high = 0.0, 0.0
    for c in range(start, end):
        own = m[sources[c]]
        low = max(low, own * lift_of(theta[at + sources[c]], theta0, top)[1])
        high = max(high, own * top)
        strengths[c] = 1.0
    level, total = 0.5 * (low + high), 0.0
    for _ in range(100):
        total, change = weights_at(level, at, theta0, top, start, n_sources, m, theta, weights)
        if total > 1.0:
            low = level
        else:
            high = level
        if abs(total - 1.0) <= CLOSE or high - low <= 1e-15 * high:
            break
        new = level - (total - 1.0) / change if change < 0.0 else low
        level = new if low < new < high else 0.5 * (low + high)
    if abs(total - 1.0) > CLOSE:
        # A source whose slope is level however small its weight: the others have theirs, and it takes what they leave.
        total, _ = weights_at(high, at, theta0, top, start, n_sources, m, theta, weights)
        best, most = start, -1.0
        for c in range(start, end):
            if q[c] == 0.0 and m[sources[c]] > most:
                best, most = c, m[sources[c]]
        if most > 0.0 and total < 1.0:
            q[best], total = 1.0 - total, 1.0
    for c in range(start, end):
        q[c] /= total


@inner_kernel
def weights_at(level, at, theta0, top, start, n_sources, m, theta, weights):
    """Fill the weights q at which slopes are ``level``; returns their sum and its derivative."""
    sources, q, strengths = weights.contenders, weights.q, weights.credit
    total, change = 0.0, 0.0
    for c in range(start, start + n_sources):
        own, strength = m[sources[c]], theta[at + sources[c]]
        q[c] = 0.0
        if own * top > level:
            t = strength_at(level / own, strength, theta0, top, strengths[c])
            strengths[c] = t
            q[c] = strength / t
            left = lift_of(t, theta0, top)[2]
            change -= q[c] / (own * max(t * t * left * (1.0 + left), 1e-300))
        total += q[c]
    return total, change


@inner_kernel
def list_candidates(m, candidates, chances):
    """Fill ``candidates`` (W + 1,) with the sources whose posteriors ``m`` (W,) count, likely ones first.

    ``chances`` (W,) are the posteriors, 0 where they do not count.  Returns how many sources are likely, how many are not
    quite, how many there are, and the largest posterior of those that are not likely and of those that are not even quite.
    """
    most = 0.0
    for k in range(m.shape[0]):
        most = m[k] if m[k] > most else most
        chances[k] = m[k] if m[k] > CUT else 0.0
    likely, unlikely = max(LIKELY * most, CUT), max(UNLIKELY * most, CUT)
    n_likely, less, least = 0, 0.0, 0.0
    for k in range(m.shape[0]):
        candidates[n_likely] = k
        n_likely += m[k] > likely
    n_more = n_likely
    for k in range(m.shape[0]):
        candidates[n_more] = k
        n_more += (m[k] > unlikely) & (m[k] <= likely)
    n_all = n_more
    for k in range(m.shape[0]):
        candidates[n_all] = k
        n_all += (m[k] > CUT) & (m[k] <= unlikely)
    for c in range(n_likely, n_more):
        less = max(less, m[candidates[c]])
    for c in range(n_more, n_all):
        least = max(least, m[candidates[c]])
    return n_likely, n_more, n_all, max(less, least), least


@inner_kernel
def largest_gain(at, chances, slope):
    """The largest of m φ over the sources, their number a multiple of four: in four lanes, which go through vectors."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    place = np.uint64(at)
    for k in range(np.uint64(0), np.uint64(chances.shape[0]), np.uint64(4)):
        e, f = chances[k] * slope[place + k], chances[k + np.uint64(1)] * slope[place + k + np.uint64(1)]
        g, h = (
            chances[k + np.uint64(2)] * slope[place + k + np.uint64(2)],
            chances[k + np.uint64(3)] * slope[place + k + np.uint64(3)],
        )
        a = e if e > a else a
        b = f if f > b else b
        c = g if g > c else c
        d = h if h > d else d
    return max(max(a, b), max(c, d))


@inner_kernel
def contend(at, top, candidates, counts, most, m, theta, start, contenders):
    """Which sources have weight at a one: fills ``contenders`` from place ``start`` on; returns their number.

    ``counts`` are those of :func:`list_candidates`, ``most`` that of :func:`largest_gain`.  A source takes all if no other
    could do better with a little than it does with all; so unlikely ones are looked at only where no likely source does
    much.  One place more than that of the last contender may be written to: a branch would cost more.
    """
    if most == 0.0:
        return 0
    n_likely, n_more, n_all, less, least = counts
    limit, n_sources = most / top, 0
    n_candidates = n_all if least > limit else n_more if less > limit else n_likely
    for c in range(np.uint64(n_candidates)):
        k = np.uint64(candidates[c])
        contenders[start + n_sources] = k
        n_sources += (m[k] > limit) & (theta[np.uint64(at) + k] > WEAK)
    return n_sources


@inner_kernel
def first_weights(at, start, n_sources, m, theta, sources, q):
    """Weights in proportion to m θ, from which the best ones are looked for."""
    total = 0.0
    low, high = np.uint64(start), np.uint64(start + n_sources)
    for c in range(low, high):
        k = np.uint64(sources[c])
        q[c] = max(m[k] * theta[np.uint64(at) + k], 1e-300)
        total += q[c]
    inverse = 1.0 / total
    for c in range(low, high):
        q[c] = max(q[c] * inverse, 1e-12)


@inner_kernel
def look_at_pairs(weights, n):
    """Value, slope and bend of all contenders at their weights, in vectors."""
    own, strength, leaking, fading, gain, bend, t = weights.pairs
    q, credit, rest, work, whole = weights.q, weights.credit, weights.rest, weights.logs, weights.whole
    for c in range(n):
        t[c] = strength[c] / q[c]
        work[c] = -t[c]
    exp_shares(work, n, whole, weights.logs_bits, weights.whole_bits)
    for c in range(n):
        faded = fading[c] * work[c]
        rest[c] = faded / (1.0 - faded)
    for c in range(n):  # d = log(1 + (1 - exp(-t)) / expm1(θ0))
        work[c] = 1.0 + (1.0 - work[c]) * leaking[c]
    log_from_one(work, n, whole, weights.logs_bits, weights.whole_bits)
    for c in range(n):
        credit[c] = q[c] * work[c]
    for c in range(n):
        work[c] -= t[c] * rest[c]
    for c in range(n):
        gain[c] = own[c] * work[c]
    for c in range(n):
        work[c] = t[c] * t[c] * rest[c] * (1.0 + rest[c])
    for c in range(n):
        work[c] = work[c] if t[c] < FLAT else 0.0
    for c in range(n):  # the inverse of the bend, 0 where there is none
        work[c] = own[c] * work[c]
    for c in range(n):
        bend[c] = q[c] / work[c] if work[c] > 0.0 else 0.0


@inner_kernel
def newton_cell(start, end, step, tol, value, q, credit, pairs):
    """One Newton step of the weights of a one; returns whether they are best (1), to be looked for otherwise (2), or on
    their way (0), and their value."""
    own, gain, give = pairs[0], pairs[4], pairs[5]
    new, largest, mean, pull, gives = 0.0, 0.0, 0.0, 0.0, 0.0
    low, high = np.uint64(start), np.uint64(end)
    for c in range(low, high):
        new += own[c] * credit[c]
        largest = gain[c] if gain[c] > largest else largest
        mean += q[c] * gain[c]
        pull += gain[c] * give[c]
        gives += give[c]
    if largest - mean <= tol:
        return BEST, new
    if new < value or step == NEWTON_STEPS or gives == 0.0:
        return HARD, new
    # No weight changes more than five-fold; those too small to bend anything go up or down by that.
    level, total = pull / gives, 0.0
    for c in range(low, high):
        change = gain[c] - level
        if give[c] > 0.0:
            q[c] = min(max(q[c] + change * give[c], 0.2 * q[c]), 5.0 * q[c])
        else:
            q[c] = max(q[c] * (5.0 if change > 0.0 else 0.2), 1e-300)
        total += q[c]
    inverse = 1.0 / total
    for c in range(low, high):
        q[c] *= inverse
    return GOING, new


@inner_kernel
def share_cells(tables, indices, low, n_shared, tol, m, weights):
    """Best ``weights`` of all ones that several sources share, by Newton steps, all of them at a time.

    They stand in ``weights.shared``, their contenders one after the other.  Exponentials and logarithms are taken in
    vectors; ones with strengths too small for that, the last few, and those for which Newton steps do not do, are left
    to :func:`share_cell`.
    """
    theta, theta0, e0, top = tables.theta, tables.theta0, tables.e0, tables.top
    first, contenders, q, credit = weights.first, weights.contenders, weights.q, weights.credit
    shared, state, values, pairs = weights.shared, weights.state, weights.values, weights.pairs
    own, strengths, leakings, fadings = pairs[0], pairs[1], pairs[2], pairs[3]
    width, n_pairs = np.int64(m.shape[0]), np.int64(0)
    for s in range(n_shared):
        p = shared[s]
        j = np.int64(indices[low + p])
        leaking, fading = 1.0 / e0[j], 1.0 / (1.0 + e0[j])
        least, small = SMALL_LINK * min(theta0[j], 1.0), theta0[j] <= SMALL_LEAK
        at = j * width
        for c in range(np.uint64(first[p]), np.uint64(first[p + 1])):
            k = np.uint64(contenders[c])
            strength = theta[np.uint64(at) + k]
            own[c], strengths[c], leakings[c], fadings[c] = m[k], strength, leaking, fading
            small |= strength < least
        state[s], values[s] = SMALL if small else GOING, -1.0
        n_pairs = first[p + 1]
    for step in range(NEWTON_STEPS + 1):
        look_at_pairs(weights, n_pairs)
        going = 0
        for s in range(n_shared):
            if state[s] == GOING:
                p = shared[s]
                state[s], values[s] = newton_cell(first[p], first[p + 1], step, tol, values[s], q, credit, pairs)
                going += (state[s] == GOING) * (first[p + 1] - first[p])
        if FEW * going < n_pairs:
            break
    for s in range(n_shared):
        if state[s] != BEST:
            p = shared[s]
            j, n = np.int64(indices[low + p]), first[p + 1] - first[p]
            if state[s] == SMALL:
                first_weights(j * width, first[p], n, m, theta, contenders, q)
            steps = 0 if state[s] == HARD else NEWTON_STEPS
            share_cell(j * width, theta0[j], top[j], first[p], n, m, theta, steps, tol, weights)


@inner_kernel
def weigh_ones(tables, indices, low, n_ones, cell_tol, m, odds, weights):
    """Find the ``weights`` of the ones of a row for its posteriors ``m`` (W,); their credit is added to ``odds`` (W,)."""
    theta, lift, slope, top = tables.theta, tables.lift, tables.slope, tables.top
    winner, first, contenders, q, credit = weights.winner, weights.first, weights.contenders, weights.q, weights.credit
    candidates, chances = weights.candidates, weights.chances
    counts = list_candidates(m, candidates, chances)
    width = m.shape[0]
    place, n_shared = np.int64(0), np.int64(0)  # literals would be types of their own to the compiler
    for p in range(n_ones):
        j = np.int64(indices[low + p])
        at = j * width
        first[p] = place
        most = largest_gain(at, chances, slope)
        n_sources = contend(at, top[j], candidates, counts, most, m, theta, place, contenders)
        if n_sources == 0:
            winner[p] = -2
        elif n_sources == 1:
            winner[p] = contenders[place]
            odds[winner[p]] += lift[at + winner[p]]
        else:
            winner[p] = -1
            first_weights(at, place, n_sources, m, theta, contenders, q)
            weights.shared[n_shared] = p
            n_shared += 1
            place += n_sources
    first[n_ones] = place
    if n_shared > 0:
        share_cells(tables, indices, low, n_shared, cell_tol, m, weights)
        for c in range(place):
            odds[contenders[c]] += credit[c]


@kernel
def credit_of_ones(theta, theta0, top, slope, lift, m, cell_tol, out):
    """What single ones add to the log odds of the sources; ``theta``, ``slope``, ``lift``, ``m`` and ``out`` are (n, K)."""
    n_cells, n_sources = m.shape
    weights, start = make_weights(np.int64(1), n_sources), np.int64(0)
    contenders = weights.contenders
    for i in range(n_cells):
        counts = list_candidates(m[i], weights.candidates, weights.chances)
        most = 0.0
        for k in range(n_sources):
            most = max(most, weights.chances[k] * slope[i, k])
        n = contend(start, top[i], weights.candidates, counts, most, m[i], theta[i], start, contenders)
        if n == 1:
            out[i, contenders[0]] = lift[i, contenders[0]]
        elif n > 1:
            first_weights(start, start, n, m[i], theta[i], contenders, weights.q)
            share_cell(start, theta0[i], top[i], start, n, m[i], theta[i], np.int64(NEWTON_STEPS), cell_tol, weights)
            for c in range(n):
                out[i, contenders[c]] = weights.credit[c]
