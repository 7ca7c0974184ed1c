"""Logistic PCA: gradient, bound, solvers, fold-in and gauge."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import LogisticPCA
from latentbits.data.source import open_source
from latentbits.datasets import load_diabetes_symptoms, load_votes, load_zoo
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.logistic import model as logistic_model
from latentbits.logistic.model import FIRST_PASSES, Climb, LogisticModel, LogisticParams
from latentbits.logistic.newton import Metric, newton_step

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
        ({"solver": "lbfgs"}, "solver must be one of 'newton', 'mm'"),
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


def test_the_fit_ends_where_nothing_is_left_to_gain():
    """A loose tolerance ends early, a strict one where Newton's step gains nothing; the bound alone stops at small gains."""
    X = simulated(200, 20, 2)
    loose, strict = (quiet_fit(X, n_components=2, tol=tol) for tol in (1e-2, 1e-9))
    assert loose.converged_ and strict.converged_ and loose.n_iter_ < strict.n_iter_ < 100
    assert 0 <= strict.objective_ - loose.objective_ < 1e-4 * (~np.isnan(X)).sum()
    alone = quiet_fit(X, n_components=2, tol=1e-4, accelerate=False)
    gains, limit = np.diff(alone.history_[0]), 1e-4 * (~np.isnan(X)).sum()
    assert alone.converged_ and gains[-1] <= limit < gains[:-1].min()


@pytest.mark.parametrize("k", [1, 3])
def test_change_of_slope_by_finite_differences(k):
    """The product with the curvature, the scores following the loadings."""
    X, step = simulated(), 1e-5
    rng = np.random.default_rng(k)
    here, turn = rng.standard_normal((k + 1, 14)), rng.standard_normal((k + 1, 14))
    model = model_of(X, k)
    block = open_source(X, sample_weight=rng.integers(0, 3, len(X)).astype(float)).block(0)

    def at(place):
        precomputed = model.precompute(LogisticParams(place[:k], place[k]))
        stats, scores = model.e_step(block, np.zeros((len(X), k)), precomputed)
        return stats.slope, scores, precomputed

    _, scores, precomputed = at(here)
    wanted = (at(here + step * turn)[0] - at(here - step * turn)[0]) / (2 * step)
    np.testing.assert_allclose(model._slope_change(block, scores, precomputed, turn), wanted, rtol=1e-5, atol=1e-5)
    still = twin.column_curvature(X, scores, here[:k], here[k], block.row_weights())
    np.testing.assert_allclose(model._column_curvature(block, scores, precomputed), still, rtol=1e-9)


def test_newton_steps_inside_and_at_the_edge():
    """Inside the step solves the equations; at the edge, and where the ground bends up, it is as long as allowed."""
    rng = np.random.default_rng(0)
    root = rng.standard_normal((6, 6))
    bend, gradient = root @ root.T + 0.1 * np.eye(6), 1e-9 * rng.standard_normal((2, 3))
    metric = Metric(np.stack([np.diag(rng.uniform(1, 2, 2)) for _ in range(3)]))

    def curve(step):
        return (bend @ step.ravel()).reshape(2, 3)

    free = newton_step(gradient, curve, metric, 1.0)
    np.testing.assert_allclose(free.move.ravel(), np.linalg.solve(bend, gradient.ravel()), rtol=1e-6)
    assert free.inside and free.gain == pytest.approx(0.5 * (free.move * gradient).sum())
    for bent in (curve, lambda step: -step):
        held = newton_step(gradient, bent, metric, 0.1 * free.length)
        assert not held.inside and metric.dot(held.move, held.move) == pytest.approx((0.1 * free.length) ** 2)
        assert held.gain == pytest.approx((held.move * (gradient - 0.5 * bent(held.move))).sum())


@pytest.mark.parametrize(
    "options", [{}, {"ridge": 1e-3}, {"ridge": 1e-3, "offset": False}, {"ridge": 1e-3, "n_components": 3}]
)
def test_rows_blocks_and_weights_do_not_move_the_optimum(options):
    """The order of rows, blocks, and weights in place of repeats, also where the ridge leaves little to hold on to."""
    X, rng = simulated(90, 7), np.random.default_rng(0)
    order, weights = rng.permutation(len(X)), rng.integers(0, 4, len(X))

    def fitted(X, weights=None, **more):
        return LogisticPCA(n_init=1, random_state=0, **options, **more).fit(X, sample_weight=weights)

    pairs = [
        (fitted(X), fitted(X[order], block_rows=7)),
        (fitted(X, weights), fitted(np.repeat(X, weights, axis=0))),
    ]
    for first, second in pairs:
        assert first.converged_ and second.objective_ == pytest.approx(first.objective_, rel=1e-10)
        np.testing.assert_allclose(second.transform(X), first.transform(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("load", [load_votes, load_zoo, load_diabetes_symptoms])
def test_the_default_ridge_predicts_better_and_sooner_than_a_small_one(load):
    """Hidden cells of the embedded tables, and passes until a fit has settled."""
    X = np.array(load().data, float)
    hidden = (np.random.default_rng(0).random(X.shape) < 0.1) & ~np.isnan(X)
    seen, losses, passes = np.where(hidden, np.nan, X), [], []
    for options in ({}, {"ridge": 1e-3}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)  # a row of the votes has no cell left
            model = LogisticPCA(2, n_init=1, random_state=0, **options).fit(seen)
        chances = np.clip(model.reconstruct(seen)[hidden], 1e-3, 1 - 1e-3)
        losses.append(-np.log(np.where(X[hidden] > 0, chances, 1 - chances)).mean())
        passes.append(model.n_iter_)
    assert losses[0] < 0.9 * losses[1] and passes[0] < 0.8 * passes[1]


def test_residuals_belong_to_the_scores_however_soon_rows_end():
    """Also where the looks run out after a trial that was not taken."""
    from latentbits.logistic.kernels import fit_rows

    for most in range(1, 14):
        rng = np.random.default_rng(most)
        codes = rng.choice(np.array([0, 1, 2], np.uint8), (8, 12))
        loadings, offset = 8 * rng.standard_normal((2, 12)), rng.standard_normal(12)
        scores, residuals, logs = rng.standard_normal((8, 2)), np.zeros((8, 12)), np.zeros(8)
        fit_rows(codes, loadings, offset, 1e-3, 1e-10, most, scores, residuals, logs)
        odds = offset + scores @ loadings
        wanted = np.where(codes < 2, codes - 0.5 * (1 + np.tanh(0.5 * odds)), 0.0)
        np.testing.assert_allclose(residuals, wanted, atol=1e-12)
        terms = np.where(codes < 2, codes * odds - np.logaddexp(0, odds), 0.0)
        np.testing.assert_allclose(logs, terms.sum(axis=1), rtol=1e-10, atol=1e-10)


def test_only_trials_of_loadings_end_their_rows_early(monkeypatch):
    """With one look at most rows of a trial stay where they were; those of other passes do not."""
    monkeypatch.setattr(logistic_model, "TRIAL_STEPS", 1)
    X, rows = simulated(60, 12), np.zeros((60, 2))
    model = quiet_fit(X, n_components=2, max_iter=45)
    maths, block = model._model, open_source(X).block(0)
    found = [
        maths.e_step(block, rows, maths.precompute(model._params._replace(climb=Climb(FIRST_PASSES, taken=taken))))[1]
        for taken in (True, False)
    ]
    assert (found[0] == rows).all() and (found[1] != rows).any()
