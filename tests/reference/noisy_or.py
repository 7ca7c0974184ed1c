"""Noisy-or component analysis straight from the equations, slowly."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import brentq


def log_on(u):
    """f(u) = log(1 - exp(-u))."""
    return np.log(-np.expm1(-u))


def log_joint(x, s, theta, theta0, prior):
    """log P(x, s) of one row; NaN cells drop out."""
    u = theta0 + s @ theta
    known = ~np.isnan(x)
    cells = np.where(x == 1, log_on(u), -u)[known].sum()
    return cells + np.log(np.where(s == 1, prior, 1 - prior)).sum()


def enumerate_row(x, theta, theta0, prior):
    """log P(x) and the exact posterior of every source, through all states."""
    states = np.array(list(product((0, 1), repeat=len(prior))))
    logs = np.array([log_joint(x, s, theta, theta0, prior) for s in states])
    top = logs.max()
    weights = np.exp(logs - top)
    return top + np.log(weights.sum()), weights @ states / weights.sum()


def lift(t, theta0):
    """d(t) = f(θ0 + t) - f(θ0)."""
    return log_on(theta0 + t) - log_on(theta0)


def slope(t, theta0):
    """φ(t) = d - t / expm1(θ0 + t)."""
    return lift(t, theta0) - t / np.expm1(np.minimum(theta0 + t, 700.0))


def best_weights(m, theta, theta0):
    """Water filling: the λ at which the weights with m φ(θ/q) = λ sum to one."""

    def weight(level, own, strength):
        if own * -log_on(theta0) <= level or strength <= 0:
            return 0.0
        if own * slope(1e6, theta0) <= level:
            return strength / 1e6
        # φ rises with t from 0, so the root is bracketed.
        return strength / brentq(lambda t: own * slope(t, theta0) - level, 1e-14, 1e6, xtol=1e-15, rtol=1e-14)

    def total(level):
        return sum(weight(level, a, b) for a, b in zip(m, theta)) - 1

    top = (m * -log_on(theta0)).max()
    level = brentq(total, top * 1e-12, top * (1 - 1e-13), xtol=1e-16, rtol=1e-14)
    q = np.array([weight(level, a, b) for a, b in zip(m, theta)])
    return q / q.sum()


def bound(x, m, q, theta, theta0, prior):
    """F of one row (eq 7, corrected) at posteriors m and weights q (D, K)."""
    value = (m * np.log(prior) + (1 - m) * np.log(1 - prior)).sum()
    for j in np.flatnonzero(x == 0):
        value -= theta0[j] + m @ theta[:, j]
    for j in np.flatnonzero(x == 1):
        for i in np.flatnonzero(q[j] > 0):
            value += q[j, i] * (m[i] * log_on(theta0[j] + theta[i, j] / q[j, i]) + (1 - m[i]) * log_on(theta0[j]))
        value += (1 - q[j].sum()) * log_on(theta0[j])
    inside = (m > 0) & (m < 1)
    h = m[inside]
    return value - (h * np.log(h) + (1 - h) * np.log(1 - h)).sum()


def mean_field(x, m, theta, theta0, prior):
    """E_Q log P(x, s) + entropy for Q = Π Bernoulli(m), through all states."""
    states = np.array(list(product((0, 1), repeat=len(prior))))
    weights = np.where(states == 1, m, 1 - m).prod(axis=1)
    value = sum(w * log_joint(x, s, theta, theta0, prior) for w, s in zip(weights, states) if w > 0)
    return value - sum(w * np.log(w) for w in weights if w > 0)


def mm_step(X, m, q, theta, theta0, link_prior=(1.0, 1.0), leak_prior=(1.0, 1.0)):
    """The closed-form update of section 4, from posteriors (n, K) and weights (n, D, K)."""
    d = X.shape[1]
    new, new0 = np.zeros_like(theta), np.zeros_like(theta0)
    for j in range(d):
        known, ones = ~np.isnan(X[:, j]), X[:, j] == 1
        leaked = 0.0
        for i in range(len(theta)):
            counts = 0.0
            for row in np.flatnonzero(ones):
                strength = theta[i, j] / q[row, j, i] if q[row, j, i] > 0 else 700.0 * (theta[i, j] > 0)
                inverse = 1 / -np.expm1(-theta0[j] - strength)
                counts += theta[i, j] * m[row, i] * inverse
                leaked += theta0[j] * q[row, j, i] * (m[row, i] * inverse + (1 - m[row, i]) / -np.expm1(-theta0[j]))
            a, b = link_prior
            extra = (a - 1) * (theta[i, j] / -np.expm1(-theta[i, j]) if theta[i, j] > 0 else 1.0)
            new[i, j] = (counts + extra) / (m[known, i].sum() + a + b - 2)
        for row in np.flatnonzero(ones):
            leaked += theta0[j] * (1 - q[row, j].sum()) / -np.expm1(-theta0[j])
        a, b = leak_prior
        extra = (a - 1) * theta0[j] / -np.expm1(-theta0[j]) if a > 1 else 0.0
        new0[j] = (leaked + extra) / (known.sum() + a + b - 2)
    return new, new0


def exact_em_step(X, theta, theta0, prior):
    """One step of exact EM through all states, maximum likelihood."""
    states = np.array(list(product((0, 1), repeat=len(prior))))
    u = theta0 + states @ theta
    logs = np.array([[log_joint(x, s, theta, theta0, prior) for s in states] for x in X])
    logs -= logs.max(axis=1, keepdims=True)
    r = np.exp(logs)
    r /= r.sum(axis=1, keepdims=True)
    m = r @ states
    on, known = (X == 1).astype(float), (~np.isnan(X)).astype(float)
    counts = (r.T @ on) / -np.expm1(-u)
    return theta * (states.T @ counts) / (m.T @ known), theta0 * counts.sum(axis=0) / known.sum(axis=0), m.mean(axis=0)
