"""Aspect Bernoulli: matrix form, series and fold-in against the paper's equations; phantoms; bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits.aspect.model import AspectModel, AspectParams
from latentbits.aspect.series import interpolate, split_columns
from latentbits.data.source import open_source
from latentbits.engine.sweep import LocalSweep

from ..reference import aspect as twin


def simulated(n=60, d=17, k=3, unknown=0.0, scale=1.0, seed=0):
    """A table drawn from the model, its memberships and probabilities."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(k, 0.5), n)
    probs = rng.beta(0.4, 0.6, (k, d)) * scale
    X = (rng.random((n, d)) < shares @ probs).astype(float)
    X[rng.random((n, d)) < unknown] = np.nan
    return X, shares, probs


def model_of(X, k, row_error=0.0, smoothing=0.0, concentration=1.0, n_pinned=0, total_weight=None):
    """The maths for a table, every column taking part."""
    d = X.shape[1]
    return AspectModel(
        n_components=k,
        prior_on=np.full(d, smoothing),
        prior_off=np.full(d, 2 * smoothing),
        active=np.ones(d, bool),
        constant=np.full(d, 0.5),
        rate=np.full(d, 0.02),
        concentration=concentration,
        n_pinned=n_pinned,
        total_weight=float(len(X)) if total_weight is None else total_weight,
        row_error=row_error,
    )


def one_step(model, X, shares, probs, weights=None, block_rows=None):
    """Objective, new memberships and new probabilities by the engine's way."""
    source = open_source(X, block_rows=block_rows, sample_weight=weights)
    sweep = LocalSweep(source)
    params = AspectParams(probs)
    ready = model.ready(params)
    parts = [shares[a:b] for a, b in zip(source.starts[:-1], source.starts[1:])]
    rows = [(part, source.block(b).weights) for b, part in enumerate(parts)]
    stats, new_rows = sweep.map(model.e_step, rows, ready)
    stats = model.gather(ready, stats)
    return (
        model.objective(ready, stats),
        np.concatenate([r[0] for r in new_rows]),
        model.m_step(params, stats, None).probs,
        ready,
        stats,
    )


@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("density", [0.5, 0.05])
def test_matrix_form_is_the_paper(k, unknown, density):
    """Explicit posterior = tiles = tiles of index lists, with weights, priors and unknown cells."""
    rng = np.random.default_rng(k)
    X, _, _ = simulated(45, 23, 3, unknown, 2 * density, seed=k)
    shares, probs = rng.dirichlet(np.ones(k), 45), rng.uniform(0.01, 0.99, (k, 23))
    weights = rng.integers(0, 3, 45).astype(float)
    wanted_shares, wanted_probs = twin.em_step(X, shares, probs, weights, 0.3, 0.6, 1.5)
    model = model_of(X, k, smoothing=0.3, concentration=1.5)
    prior = 0.3 * np.log(probs).sum() + 0.6 * np.log(1 - probs).sum() + 0.5 * (weights @ np.log(shares).sum(axis=1))
    for table in (X, sp.csr_array(X)):
        for block_rows in (None, 1, 7):
            value, new_shares, new_probs, _, _ = one_step(model, table, shares, probs, weights, block_rows)
            np.testing.assert_allclose(value, twin.log_likelihood(X, shares, probs, weights) + prior, rtol=1e-12)
            np.testing.assert_allclose(new_shares, wanted_shares, atol=1e-12)
            np.testing.assert_allclose(new_probs, wanted_probs, atol=1e-12)


def test_sums_add_up():
    """Expected counts are the number of observed cells; the step is a scaled gradient step (spec 2)."""
    X, shares, probs = simulated(50, 12, 3, 0.1)
    probs = np.clip(probs, 0.05, 0.95)
    _, new_shares, new_probs, _, stats = one_step(model_of(X, 3), X, shares, probs)
    np.testing.assert_allclose(stats.on.sum() + stats.off.sum(), (~np.isnan(X)).sum())
    on = shares @ probs
    with np.errstate(invalid="ignore"):
        slope = shares.T @ np.nan_to_num((X - on) / (on * (1 - on)))
    np.testing.assert_allclose(new_probs - probs, probs * (1 - probs) / (stats.on + stats.off).T * slope, atol=1e-12)
    np.testing.assert_allclose(new_shares.sum(axis=1), 1, atol=1e-14)


def test_complement_of_a_column():
    """Exchanging 0 and 1 in a column exchanges them in its probabilities (spec 1)."""
    X, shares, probs = simulated(40, 9, 3)
    probs = np.clip(probs, 0.05, 0.95)
    flipped, other = X.copy(), probs.copy()
    flipped[:, 4], other[:, 4] = 1 - X[:, 4], 1 - probs[:, 4]
    first, second = one_step(model_of(X, 3), X, shares, probs), one_step(model_of(X, 3), flipped, shares, other)
    np.testing.assert_allclose(first[0], second[0])
    np.testing.assert_allclose(first[1], second[1], atol=1e-13)
    np.testing.assert_allclose(first[2][:, 4], 1 - second[2][:, 4], atol=1e-13)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_polynomials_keep_their_bound(degree):
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 0.2, 300)
    high = low + rng.uniform(0, 0.25, 300)
    inverse, logarithm, bound = interpolate(low, high, degree)
    p = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 101)
    powers = p[:, :, None] ** np.arange(4)
    error = np.abs(np.einsum("dpj,dj->dp", powers, logarithm) - np.log1p(-p)).max(axis=1)
    assert (error <= bound + 1e-15).all()
    assert (error >= 1e-3 * bound - 1e-14).mean() > 0.9  # the bound is not idle
    half = (high - low) / 2
    of_inverse = np.abs(np.einsum("dpj,dj->dp", powers[:, :, :3], inverse) - 1 / (1 - p)).max(axis=1)
    assert (of_inverse <= bound / half + 1e-14).all()


@pytest.mark.parametrize("unknown", [0.0, 0.01])
@pytest.mark.parametrize("allowed", [1e-12, 1e-9, 1e-6, 1e-3])
def test_series_within_its_bound(allowed, unknown):
    """Cold columns by polynomials: the objective is within the stated bound, at any allowance."""
    rng = np.random.default_rng(3)
    n, d, k = 80, 2500, 6
    probs = rng.beta(0.3, 20, (k, d)).clip(1e-6, 0.6)
    shares = rng.dirichlet(np.full(k, 0.4), n)
    X = (rng.random((n, d)) < shares @ probs).astype(float)
    X[rng.random((n, d)) < unknown] = np.nan
    weights = rng.integers(1, 4, n).astype(float)
    exact, exact_shares, exact_probs, whole, _ = one_step(model_of(X, k), sp.csr_array(X), shares, probs, weights)
    assert whole.split.degree == -1
    value, new_shares, new_probs, ready, _ = one_step(
        model_of(X, k, row_error=allowed), sp.csr_array(X), shares, probs, weights
    )
    assert ready.split.degree >= 0 and len(ready.split.hot) < d
    assert ready.split.error <= allowed
    assert abs(value - exact) <= ready.split.error * weights.sum() + 1e-12 * abs(exact)
    np.testing.assert_allclose(new_shares, exact_shares, atol=max(allowed, 1e-11))
    np.testing.assert_allclose(new_probs, exact_probs, atol=max(allowed, 1e-11))


def test_split_takes_the_cheapest():
    probs = np.full((3, 1000), 1e-4)
    probs[:, :5] = 0.7
    split = split_columns(probs, np.ones(1000, bool), np.full(1000, 1e-3), 1e-6)
    assert split.hot.tolist() == [0, 1, 2, 3, 4] and split.degree == 0  # nothing varies: a constant is exact
    assert split_columns(probs, np.ones(1000, bool), np.full(1000, 1e-3), 0.0).degree == -1
