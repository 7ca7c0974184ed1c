"""The latent trait model: bound, steps, answers."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import LatentTrait
from latentbits.data.source import open_source
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.logistic import trait_kernels
from latentbits.logistic.trait_answers import TraitParams
from latentbits.logistic.trait_gaussian import NODES, GaussianTraitModel
from latentbits.logistic.trait_model import TraitModel

from ..reference import trait as twin


def simulated(n=200, d=12, k=2, unknown=0.1, seed=0, size=1.5):
    rng = np.random.default_rng(seed)
    loadings, offset = size * rng.standard_normal((k, d)), 0.7 * rng.standard_normal(d)
    scores = rng.standard_normal((n, k))
    X = (rng.random((n, d)) < twin.sigmoid(scores @ loadings + offset)).astype(float)
    X[rng.random((n, d)) < unknown] = np.nan
    return X, scores, loadings, offset


def quiet_fit(X, k=2, weights=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return LatentTrait(k, **{"random_state": 0, "n_init": 1, **options}).fit(X, sample_weight=weights)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n_rounds", [1, 2])
def test_a_pass_is_the_equations(k, n_rounds):
    X, _, loadings, offset = simulated(25, 6, k)
    weights = np.random.default_rng(0).integers(1, 4, 25).astype(float)
    model = TraitModel(k, np.ones(6, bool), np.zeros(6), ridge=0.01, n_rounds=n_rounds)
    params = TraitParams(loadings, offset)
    for table in (X, sp.csr_array(X)):
        block = open_source(table, sample_weight=weights).block(0)
        precomputed = model.precompute(params)
        state = model.init_rows(block, params, 0, 0)
        for _ in range(2):  # from no posterior, and from one
            means, covariances, spreads, values = [], [], [], []
            for i, row in enumerate(X):
                mean, covariance = state[i, :k], state[i, k:].reshape(k, k)
                for _ in range(n_rounds):
                    mean, covariance, value, spread = twin.round_of(row, loadings, offset, mean, covariance)
                means.append(mean)
                covariances.append(covariance)
                spreads.append(spread)
                values.append(value)
            stats, state = model.e_step(block, state, precomputed)
            np.testing.assert_allclose(state[:, :k], means, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(state[:, k:].reshape(-1, k, k), covariances, rtol=1e-9, atol=1e-11)
            assert stats.bound == pytest.approx(weights @ values, rel=1e-11)
            new = model.m_step(params, stats, None)
            wanted = twin.m_step(X, weights, np.array(means), np.array(covariances), np.array(spreads), 0.01)
            np.testing.assert_allclose(new.loadings, wanted[0], rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(new.offset, wanted[1], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_pass_of_the_gaussian_bound_is_the_equations(k):
    X, _, loadings, offset = simulated(25, 6, k)
    weights = np.random.default_rng(0).integers(1, 4, 25).astype(float)
    model = GaussianTraitModel(k, np.ones(6, bool), np.zeros(6), ridge=0.01, n_rounds=1)
    params = TraitParams(0.5 * loadings, offset)
    for table in (X, sp.csr_array(X)):
        block = open_source(table, sample_weight=weights).block(0)
        precomputed = model.precompute(params)
        state = model.init_rows(block, params, 0, 0)
        for _ in range(2):
            means, covariances = state[:, :k], state[:, k:].reshape(-1, k, k)
            rounds = [twin.gaussian_round(row, *params, m, c) for row, m, c in zip(X, means, covariances)]
            stats, state = model.e_step(block, state, precomputed)
            means, covariances = state[:, :k], state[:, k:].reshape(-1, k, k)
            np.testing.assert_allclose(means, [mean for mean, _ in rounds], rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(covariances, [c for _, c in rounds], rtol=1e-9, atol=1e-11)
            values = [twin.gaussian_bound(row, *params, m, c) for row, m, c in zip(X, means, covariances)]
            assert stats.bound == pytest.approx(weights @ values, rel=1e-11)
            newton, careful = twin.gaussian_m_step(X, weights, *params, means, covariances, 0.01)
            never_lost = model.m_step(params, stats, lambda fn, new, block=block, state=state: fn(block, state, new))
            np.testing.assert_allclose(np.vstack(never_lost), newton, rtol=1e-8, atol=1e-9)
            always_lost = model.m_step(params, stats, lambda fn, new: np.full(6, np.inf))
            np.testing.assert_allclose(np.vstack(always_lost), careful, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(
                model._cells_of(block, state, precomputed), stats.cells, rtol=1e-12, err_msg="the same sums twice"
            )


def test_means_of_cells():
    middles, variances = (grid.ravel() for grid in np.meshgrid(np.linspace(-30, 30, 61), np.linspace(0.0, 2.0, 11)))
    logs, slopes, bends = np.empty(len(middles)), middles.copy(), variances.copy()
    trait_kernels.expect_cells(*NODES, slopes, bends, logs)
    fine = np.array([twin.cell_means(m, s, 150) for m, s in zip(middles, variances)])
    np.testing.assert_allclose(np.column_stack((logs, slopes, bends)), fine, atol=1e-5)
    alone = middles.copy()
    trait_kernels.expect_logs(*NODES, alone, variances)
    np.testing.assert_allclose(alone, logs, rtol=1e-13)


def test_steps_that_are_too_long_are_halved():
    """From far away a Newton step of the scores would go beyond; no round may lose."""
    X, _, loadings, offset = simulated(40, 60, 2, size=4.0)
    model = GaussianTraitModel(2, np.ones(60, bool), np.zeros(60))
    block, params = open_source(X).block(0), TraitParams(loadings, offset)
    precomputed = model.precompute(params)
    state = model.init_rows(block, params, 0, 0)
    state[:, :2] = 6.0 * np.random.default_rng(0).standard_normal((40, 2))
    path = []
    for _ in range(12):
        stats, state = model.e_step(block, state, precomputed)
        path.append(stats.bound)
    assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()
    assert path[-1] == pytest.approx(model.posterior(block, precomputed)[2].sum(), rel=1e-4)


def test_the_gaussian_bound_does_not_shrink_loadings():
    """Traits about which no row tells much: the parabola's price is higher than what they are worth."""
    X, _, singular, _ = simulated(2000, 14, 3, unknown=0.0, seed=5, size=0.7)
    singular = np.linalg.svd(singular)[1]
    paper, best = quiet_fit(X, 3, bound="jaakkola"), quiet_fit(X, 3)
    lengths = [np.linalg.norm(model.components_, axis=1) for model in (paper, best)]
    assert (lengths[0] < 0.85 * singular).all()
    np.testing.assert_allclose(lengths[1], singular, rtol=0.1)
    assert best.score(X) > paper.score(X) + 0.02
    assert best.bound_samples(X).mean() > paper.bound_samples(X).mean() + 0.05


@pytest.mark.parametrize("bound", ["gaussian", "jaakkola"])
def test_the_bound_never_falls(monkeypatch, bound):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    for unknown in (0.0, 0.2):
        X = simulated(unknown=unknown)[0]
        model = quiet_fit(X, max_iter=60, tol=0.0, bound=bound)
        path = np.array(model.history_[0])
        assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()


def test_small_spreads_have_their_limit():
    """λ(ξ) near 0 is -1/8: a column without loading and offset."""
    model = TraitModel(1, np.ones(2, bool), np.zeros(2))
    block = open_source(np.array([[1.0, 0.0]])).block(0)
    precomputed = model.precompute(TraitParams(np.zeros((1, 2)), np.zeros(2)))
    stats, state = model.e_step(block, np.zeros((1, 2)), precomputed)
    assert stats.bound == pytest.approx(2 * np.log(0.5)) and state[0].tolist() == pytest.approx([0.0, 1.0])


def test_likelihoods():
    X, _, _, _ = simulated(120, 8, 1)
    model = quiet_fit(X, 1, max_iter=50)
    exact = np.array([twin.on_a_grid(row, model.components_, model.offset_)[0] for row in X[:30]])
    np.testing.assert_allclose(model.score_samples(X[:30]), exact, atol=1e-5)
    assert (model.bound_samples(X) <= model.score_samples(X) + 1e-6).all()
    assert model.score_kind_ == "estimate"
    two = quiet_fit(X, 2, max_iter=20)
    every = np.array(np.meshgrid(*[[0.0, 1.0]] * 8)).reshape(8, -1).T
    assert np.exp(two.score_samples(every)).sum() == pytest.approx(1.0, abs=1e-6)
    for k in (3, 4):
        more = quiet_fit(X, k, max_iter=10)
        assert np.exp(more.score_samples(every)).sum() == pytest.approx(1.0, abs=0.01)
        assert (more.bound_samples(X) <= more.score_samples(X) + 0.02).all()


@pytest.mark.parametrize(("n_columns", "k", "size"), [(200, 1, 1.5), (240, 2, 2.0)])
def test_likelihoods_of_sharp_posteriors(n_columns, k, size):
    """With many columns points on the prior would miss the rows; these follow them."""
    X, _, loadings, offset = simulated(40, n_columns, k, size=size)
    model = quiet_fit(X, k, max_iter=2)
    loadings = np.where(model._model.active, loadings, 0.0)
    model._params = TraitParams(loadings, offset)
    found, bound = model.score_samples(X), model.bound_samples(X)
    assert (found >= bound - 1e-6).all()
    if k == 1:
        exact = [twin.on_a_grid(row, loadings, offset, 8001)[0] for row in X]
        np.testing.assert_allclose(found, exact, atol=1e-4)
    else:
        fine = copy.copy(model)
        fine._model = copy.copy(model._model)
        points, weights = np.polynomial.hermite_e.hermegauss(40)
        grids = np.meshgrid(points, points, indexing="ij")
        logs = np.log(weights / weights.sum())
        fine._model.__dict__["rule"] = (
            np.stack([grid.ravel() for grid in grids], axis=1),
            (logs[:, None] + logs).ravel(),
        )
        np.testing.assert_allclose(found, fine.score_samples(X), atol=5e-3)


def test_filled_cells_are_near_the_exact_ones():
    X, _, _, _ = simulated(200, 10, 1)
    model = quiet_fit(X, 1)
    wanted = np.array([twin.on_a_grid(row, model.components_, model.offset_)[1] for row in X[:40]])
    found = model.reconstruct(X[:40])
    unknown = np.isnan(X[:40])
    assert np.abs(found - wanted)[unknown].max() < 0.06 and np.abs(found - wanted)[unknown].mean() < 0.02
    rows, columns = np.nonzero(unknown)
    np.testing.assert_allclose(model.reconstruct(X[:40], (rows, columns)), found[unknown], rtol=1e-10)
    told = model.explain(X[:40], ([3, int(rows[0])], [2, int(columns[0])]))
    without = X[3:4].copy()
    without[0, 2] = np.nan
    assert told.probability[0] == pytest.approx(model.reconstruct(without)[0, 2], abs=1e-9)
    assert told.probability[1] == pytest.approx(found[rows[0], columns[0]])
    assert told.evidence[0, 0] == pytest.approx(model.transform(X[:40])[3, 0] * model.components_[0, 2])


def test_drawn_cells_have_the_filled_probabilities():
    X, _, _, _ = simulated(60, 6, 2, unknown=0.3)
    model = quiet_fit(X)
    unknown = np.isnan(X)
    draws = np.mean([model.impute(X, how="sample", random_state=s)[unknown] for s in range(400)], axis=0)
    assert np.abs(draws - model.reconstruct(X)[unknown]).max() < 0.12
    assert np.abs(draws - model.reconstruct(X)[unknown]).mean() < 0.025


def test_rows_without_known_cells():
    X = simulated()[0]
    model = quiet_fit(X)
    blank = np.full((1, 12), np.nan)
    np.testing.assert_allclose(model.transform(blank), 0.0)
    assert model.score_samples(blank)[0] == pytest.approx(0.0, abs=1e-9)
    far = model.inverse_transform(np.zeros((1, 2)))
    np.testing.assert_allclose(far[0], twin.sigmoid(model.offset_), rtol=1e-9)


@pytest.mark.parametrize(("bound", "cosine"), [("gaussian", 0.99), ("jaakkola", 0.93)])
def test_gauge_and_recovery(bound, cosine):
    X, scores, loadings, offset = simulated(3000, 20, 2, unknown=0.05, seed=3)
    model = quiet_fit(X, bound=bound)
    gram = model.components_ @ model.components_.T
    assert abs(gram[0, 1]) < 1e-9 * gram[0, 0] and gram[0, 0] >= gram[1, 1]
    assert (model.components_[np.arange(2), np.abs(model.components_).argmax(axis=1)] > 0).all()
    # Up to rotation the planes of the loadings agree, but for what the paper's bound draws large and small loadings
    # together: it is higher where the fit ends than at the truth, though the likelihood is lower.
    angles = np.linalg.svd(np.linalg.qr(model.components_.T)[0].T @ np.linalg.qr(loadings.T)[0])[1]
    assert angles.min() > cosine
    truth = copy.copy(model)
    truth._params = TraitParams(loadings, offset)
    assert model.bound_samples(X).mean() > truth.bound_samples(X).mean()
    gained = model.score(X) - truth.score(X)
    assert 0.0 < gained < 0.03 if bound == "gaussian" else -0.1 < gained < 0.0
    fit = np.linalg.lstsq(model.transform(X), scores, rcond=None)[0]
    assert np.corrcoef((model.transform(X) @ fit).ravel(), scores.ravel())[0, 1] > 0.8
    rows = model.components_table(top=3)
    assert len(rows) == 6 and rows[0]["rank"] == 1


def test_constant_columns_are_left_out():
    X = simulated(100, 6)[0]
    X = np.column_stack((X, np.zeros(100), np.ones(100)))
    with pytest.warns(LatentBitsWarning, match="2 columns with only one value"):
        model = LatentTrait(2, n_init=1, tol=1e-4, random_state=0).fit(X)
    assert (model.components_[:, 6:] == 0).all()
    assert (model.reconstruct(X)[:, 6] < 0.05).all() and (model.reconstruct(X)[:, 7] > 0.95).all()
    assert model.n_free_ == 6 * 3 - 1


def test_samples(monkeypatch):
    X = simulated(400, 8)[0]
    model = quiet_fit(X)
    cells, scores = model.sample(20_000, random_state=0, return_causes=True)
    assert scores.shape == (20_000, 2) and abs(scores.std() - 1) < 0.02
    assert np.abs(cells.mean(axis=0) - np.nanmean(X, axis=0)).max() < 0.08


@pytest.mark.parametrize(
    ("options", "words"),
    [({"n_inner": 0}, "1 or more"), ({"ridge": 0.0}, "above 0"), ({"n_components": 0}, "1 or more")],
)
def test_bad_options(options, words):
    with pytest.raises(InputError, match=words):
        LatentTrait(**options).fit(simulated()[0])


def test_bad_scores():
    model = quiet_fit(simulated()[0], max_iter=2)
    with pytest.raises(InputError, match="one row of 2 numbers"):
        model.inverse_transform([[1.0, 2.0, 3.0]])
