"""Logistic PCA: gradient, bound, solvers, fold-in and gauge."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import LogisticPCA
from latentbits.data.source import open_source
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.logistic.model import LogisticModel, LogisticParams

from ..reference import logistic as twin


def simulated(n=60, d=14, k=2, unknown=0.1, seed=0):
    rng = np.random.default_rng(seed)
    odds = rng.standard_normal((n, k)) @ (1.5 * rng.standard_normal((k, d))) + rng.standard_normal(d)
    X = (rng.random((n, d)) < 1 / (1 + np.exp(-odds))).astype(float)
    X[rng.random((n, d)) < unknown] = np.nan
    X[0], X[1] = 0.0, 1.0
    return X


def quiet_fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return LogisticPCA(**{"random_state": 0, "n_init": 1, "ridge": 0.1, **options}).fit(X)


def model_of(X, k, **options):
    return LogisticModel(k, np.ones(X.shape[1], bool), np.zeros(X.shape[1]), ridge=0.3, **options)


@pytest.mark.parametrize("k", [1, 3, 4])
def test_slope_by_finite_differences(k):
    """The slope by loadings and offset, with the scores at their best: the envelope theorem holds."""
    X = simulated()
    rng = np.random.default_rng(k)
    loadings, offset = rng.standard_normal((k, 14)), rng.standard_normal(14)
    model = model_of(X, k)
    weights = rng.integers(0, 3, len(X)).astype(float)
    block = open_source(X, sample_weight=weights).block(0)

    def value(loadings, offset):
        precomputed = model.precompute(LogisticParams(loadings, offset))
        stats, scores = model.e_step(block, np.zeros((len(X), k)), precomputed)
        assert model.objective(precomputed, stats) == pytest.approx(
            twin.objective(X, scores, loadings, offset, 0.3, weights), rel=1e-12
        )
        return model.objective(precomputed, stats), stats

    _, stats = value(loadings, offset)
    slope = stats.slope.copy()
    slope[:k] -= 0.3 * loadings
    step = 1e-5
    for row, column in [(0, 3), (k - 1, 7), (k, 2), (k, 13)]:
        change = np.zeros((k + 1, 14))
        change[row, column] = step
        high = value(loadings + change[:k], offset + change[k])[0]
        low = value(loadings - change[:k], offset - change[k])[0]
        assert (high - low) / (2 * step) == pytest.approx(slope[row, column], rel=1e-5, abs=1e-6)


def test_bound_round_is_the_paper():
    X = simulated()
    rng = np.random.default_rng(0)
    loadings, offset, scores = rng.standard_normal((3, 14)), rng.standard_normal(14), rng.standard_normal((60, 3))
    model = model_of(X, 3, solver="mm")
    params = LogisticParams(loadings, offset)
    for table in (X, sp.csr_array(X)):
        block = open_source(table).block(0)
        precomputed = model.precompute(params)
        stats, new_scores = model.e_step(block, scores, precomputed)
        assert model.objective(precomputed, stats) == pytest.approx(twin.objective(X, scores, loadings, offset, 0.3))
        new = model.m_step(params, stats, None)
        wanted = twin.bound_round(X, scores, loadings, offset, 0.3)
        np.testing.assert_allclose(new_scores, wanted[0], atol=1e-9)
        np.testing.assert_allclose(new.loadings, wanted[1], atol=1e-7)
        np.testing.assert_allclose(new.offset, wanted[2], atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"accelerate": False}, {"solver": "mm"}, {"offset": False}])
def test_objective_never_falls(options):
    model = quiet_fit(simulated(), n_components=2, max_iter=80, **options)
    history = np.array(model.history_[0])
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all() and len(history) > 8


def test_solvers_find_the_same_optimum():
    X = simulated(150, 12, 1, 0.0, seed=3)
    values = [
        quiet_fit(X, n_components=1, ridge=1.0, tol=1e-12, max_iter=3000, **options).objective_
        for options in ({}, {"accelerate": False}, {"solver": "mm"})
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


def test_rows_are_at_their_best():
    X = simulated()
    model = quiet_fit(X, n_components=2)
    scores = model.transform(X)
    value = twin.objective(X, scores, model.components_, model.offset_, 0.1)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert (
            twin.objective(X, scores + 0.01 * rng.standard_normal(scores.shape), model.components_, model.offset_, 0.1)
            < value
        )
    separable = np.vstack((np.ones(14), np.zeros(14), np.full(14, np.nan)))
    assert np.isfinite(model.transform(separable)).all()
    np.testing.assert_allclose(model.transform(separable)[2], 0)


def test_gauge():
    X = simulated(200, 14, 2, 0.05)
    model = quiet_fit(X, n_components=2, tol=1e-9)
    product = model.components_ @ model.components_.T
    assert abs(product[0, 1]) < 1e-6 * product[0, 0] and product[0, 0] >= product[1, 1]
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[[0, 1], largest] > 0).all()
    scores = model.transform(X)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-2)


def test_inverse_transform_and_table():
    X = simulated()
    model = quiet_fit(X, n_components=2)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), model.reconstruct(X), atol=1e-9)
    rows = model.components_table(3)
    assert len(rows) == 6 and abs(rows[0]["loading"]) >= abs(rows[1]["loading"])
    assert not hasattr(model, "partial_fit")
    assert np.isfinite(model.fold_in_scores(X)).all() and model.score(X) < 0


def test_constant_columns():
    X = np.column_stack((simulated(), np.zeros(60), np.ones(60)))
    model = quiet_fit(X, n_components=2)
    assert (model.components_[:, 14:] == 0).all()
    assert model.reconstruct(X)[:, 14].max() < 0.02 and model.reconstruct(X)[:, 15].min() > 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ridge": 0.0}, "ridge must be above 0"),
        ({"ridge": -1}, "ridge must be a number"),
        ({"solver": "newton"}, "solver must be one of 'lbfgs', 'mm'"),
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"score_clip": "x"}, "score_clip must be a number"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        LogisticPCA(**options).fit(simulated())


def test_one_pass_keeps_its_loadings():
    """The gauge is taken with the scores that belong to the loadings, also after a single pass."""
    model = quiet_fit(simulated(), n_components=2, max_iter=1)
    assert np.abs(model.components_).max() > 0.01
    assert model.objective_ >= model.history_[0][-1] - 1e-6
    assert model.restarts_[0]["objective"] == model.objective_


def test_small_gains_end_the_fit():
    """Accepted quasi-Newton steps count, several in a row."""
    model = quiet_fit(simulated(200, 20, 2), n_components=2, tol=1e-4, max_iter=500)
    history = np.array(model.history_[0])
    limit = 1e-4 * (~np.isnan(simulated(200, 20, 2))).sum()
    small = np.diff(history) <= limit
    assert model.converged_ and small[-3:].all() and not any(small[i : i + 3].all() for i in range(len(small) - 3))
