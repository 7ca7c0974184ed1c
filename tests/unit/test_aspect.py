"""Aspect Bernoulli: matrix form, series and fold-in against the paper's equations; phantoms; bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BernoulliMixture
from latentbits.aspect.model import AspectModel
from latentbits.aspect.params import AspectParams
from latentbits.aspect.series import error_bound, interpolate, split_columns
from latentbits.data.source import open_source
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import LatentBitsWarning

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
        known=np.ones(d),
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
    precomputed = model.precompute(params)
    parts = [shares[a:b] for a, b in zip(source.starts[:-1], source.starts[1:])]
    rows = [(part, source.block(b).weights) for b, part in enumerate(parts)]
    stats, new_rows = sweep.map(model.e_step, rows, precomputed)
    stats = model.finalize_stats(precomputed, stats)
    return (
        model.objective(precomputed, stats),
        np.concatenate([r[0] for r in new_rows]),
        model.m_step(params, stats, None).probs,
        precomputed,
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
    """Expected counts are the number of observed cells; the step is a scaled gradient step."""
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
    """Exchanging 0 and 1 in a column exchanges them in its probabilities."""
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
    (inverse, logarithm), bound = interpolate(low, high, degree), error_bound(low, high, degree)
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
    value, new_shares, new_probs, precomputed, _ = one_step(
        model_of(X, k, row_error=allowed), sp.csr_array(X), shares, probs, weights
    )
    assert precomputed.split.degree >= 0 and len(precomputed.split.hot) < d
    assert precomputed.split.error <= allowed
    assert abs(value - exact) <= precomputed.split.error * weights.sum() + 1e-12 * abs(exact)
    np.testing.assert_allclose(new_shares, exact_shares, atol=max(allowed, 1e-11))
    np.testing.assert_allclose(new_probs, exact_probs, atol=max(allowed, 1e-11))


def test_split_takes_the_cheapest():
    probs = np.full((3, 1000), 1e-4)
    probs[:, :5] = 0.7
    split = split_columns(probs, np.ones(1000, bool), np.full(1000, 1e-3), 1e-6)
    assert split.hot.tolist() == [0, 1, 2, 3, 4] and split.degree == 0  # nothing varies: a constant is exact
    assert split_columns(probs, np.ones(1000, bool), np.full(1000, 1e-3), 0.0).degree == -1


def quiet_fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return AspectBernoulli(**{"random_state": 0, "n_init": 1, **options}).fit(X)


@pytest.mark.parametrize("options", [{}, {"smoothing": 0.0}, {"weight_concentration": 1.5}, {"beta_prior": (2, 3)}])
@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_objective_never_falls(options, unknown):
    X, _, _ = simulated(70, 15, 3, unknown)
    model = quiet_fit(X, n_components=4, max_iter=120, **options)
    history = np.array(model.history_[0])
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all() and len(history) > 10
    assert model.objective_ == pytest.approx(history[-1], rel=1e-9)


def test_one_alternating_update_is_that_of_nbmf_mm():
    """Probabilities first, then memberships with the new probabilities, as the public package does."""
    solver = pytest.importorskip("nbmf_mm._solver", reason="compares with the package nbmf-mm of the extra bench")
    for seed in range(10):
        for unknown, prior in ((0.0, 0.0), (0.2, 0.0), (0.2, 0.4)):
            rng = np.random.default_rng(seed)
            X, shares, _ = simulated(30, 12, 3, unknown, seed=seed)
            X[0], X[1] = 0.0, 1.0  # in constant columns the package would divide zero by zero
            probs = rng.uniform(0.05, 0.95, (3, 12))
            mask = None if unknown == 0 else (~np.isnan(X)).astype(float)
            theirs = solver.nbmf_mm_update_beta_dir(
                np.nan_to_num(X), shares.T, probs, mask, 1 + prior, 1 + 2 * prior, eps=0.0
            )
            model = model_of(X, 3, smoothing=prior)
            ours = one_step(model, X, shares, probs)[2]
            np.testing.assert_allclose(ours, theirs[1], atol=1e-12)
            np.testing.assert_allclose(one_step(model, X, shares, ours)[1], theirs[0].T, atol=1e-12)


def test_from_a_mixture_it_is_at_least_as_likely():
    """AB started at the classes of a mixture: log-likelihood at least the mixture's, on 50 problems."""
    by_membership = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, d, k = int(rng.integers(25, 70)), int(rng.integers(4, 14)), int(rng.integers(2, 5))
        X = (rng.random((n, d)) < rng.beta(0.5, 0.5, (k, d))[rng.integers(0, k, n)]).astype(float)
        X[0], X[1] = 0.0, 1.0  # no column is constant
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            mixture = BernoulliMixture(k, smoothing=0.0, n_init=1, random_state=seed).fit(X)
        # Not arg max of the memberships: log sum π p <= log max p needs the likeliest class, whatever its weight.
        likeliest = mixture.predict_proba(X) / mixture.weights_
        by_membership.append(
            twin.log_likelihood(X, np.eye(k)[mixture.predict(X)], np.clip(mixture.components_, 1e-12, 1 - 1e-12))
            - mixture.score_samples(X).sum()
        )
        shares = np.eye(k)[likeliest.argmax(axis=1)]
        value = mixture.score_samples(X).sum()
        start = twin.log_likelihood(X, shares, np.clip(mixture.components_, 1e-12, 1 - 1e-12))
        assert start >= value - 1e-6
        model = quiet_fit(X, n_components=k, smoothing=0.0, init=(shares, mixture.components_), max_iter=25)
        assert model.history_[0][0] >= value - 1e-4 and model.conditional_log_likelihood_ >= model.history_[0][0] - 1e-6
    assert min(by_membership) < -0.1  # as the specification has it, the theorem does not hold


def test_start_from_a_fitted_mixture():
    X = simulated(80, 12, 3)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        mixture = BernoulliMixture(3, random_state=0).fit(X)
    model = quiet_fit(X, n_components=3, init=mixture, smoothing=0.0)
    assert model.conditional_log_likelihood_ >= mixture.score(X) * len(X)


@pytest.mark.parametrize("tol", [0.3, 1e-3, 1e-8])
def test_certificate_bounds_the_true_gap(tol):
    """Whatever the solver did, the best log-likelihood is at most the gap above what was found."""
    rng = np.random.default_rng(1)
    X, _, _ = simulated(25, 30, 4, 0.1, seed=4)
    model = quiet_fit(X, n_components=5, max_iter=60, fold_tol=tol)
    table = model.row_table(X)
    for i in rng.choice(len(X), 8, replace=False):
        best = twin.fold_in(np.where(model._model.active, X[i], np.nan), model.components_)[1]
        gap = best - table[i]["log_likelihood"]
        assert -1e-7 <= gap <= table[i]["gap"] + 1e-8
        assert table[i]["gap"] <= max(tol, 1e-6) or tol < 1e-6
    assert max(row["gap"] for row in table) <= tol + 1e-9


def test_fold_in_with_a_prior_on_memberships():
    X, _, _ = simulated(30, 20, 3)
    model = quiet_fit(X, n_components=3, weight_concentration=2.0)
    shares = model.transform(X)
    assert shares.min() > 1e-6
    cells = np.where((X[0] == 1), model.components_, 1 - model.components_)

    def value(s):
        return np.log(s @ cells).sum() + np.log(s).sum()

    best = value(shares[0])
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = np.abs(shares[0] + 0.02 * rng.standard_normal(3))
        assert value(other / other.sum()) <= best + 1e-6


def test_fold_in_of_training_rows_is_no_worse_than_the_fit():
    X, _, _ = simulated(90, 25, 3, 0.1)
    model = quiet_fit(X, n_components=3, smoothing=0.0)
    assert model.fold_in_scores(X).sum() >= model.conditional_log_likelihood_ - 1e-5 * len(X)
    np.testing.assert_allclose(model.transform(X), model.fit_transform(X))


def test_fold_in_over_cold_columns():
    """Wide tables use the polynomials in answers too; the rows come out as without them."""
    rng = np.random.default_rng(5)
    n, d, k = 60, 3000, 4
    probs = rng.beta(0.3, 15, (k, d)).clip(1e-6, 0.6)
    X = (rng.random((n, d)) < rng.dirichlet(np.full(k, 0.5), n) @ probs).astype(float)
    X[rng.random((n, d)) < 0.005] = np.nan
    X[7] = np.nan
    X[8] = 0.0
    wide = model_of(X, k, row_error=1e-12)
    block = open_source(sp.csr_array(X)).block(0)
    params = AspectParams(probs)
    exact = model_of(X, k)
    shares, logs, gaps = exact.folded(block, exact.precompute(params))
    precomputed = wide._answering(wide.precompute(params))
    assert 0 < (precomputed.split.place == -1).sum()
    others, other_logs, other_gaps = wide.folded(block, precomputed)
    np.testing.assert_allclose(others, shares, atol=1e-4)
    np.testing.assert_allclose(other_logs, logs, atol=2e-6)
    assert gaps.max() < 1e-5 and other_gaps.max() < 1e-5
    np.testing.assert_allclose(others[7], 1 / k)


def test_series_fit_ends_exact():
    """A fit with polynomials goes on without them once it has settled; what it reports is exact."""
    rng = np.random.default_rng(2)
    n, d, k = 300, 1500, 3
    probs = rng.beta(0.3, 20, (k, d)).clip(1e-6, 0.6)
    X = (rng.random((n, d)) < rng.dirichlet(np.full(k, 0.3), n) @ probs).astype(float)
    first, second = (quiet_fit(X, n_components=3, series=series, tol=1e-6) for series in (True, False))
    assert first._model.row_error <= 1e-12
    shares, weights = first._params.latent.values, first._params.latent.weights
    assert weights.sum() == n and len(shares) == n  # all rows are remembered, in another order
    assert first.objective_ == pytest.approx(second.objective_, rel=2e-3)
    assert first.converged_
    # The reported likelihood is the sum over every cell at the fitted memberships.
    from latentbits.data.block import row_hashes
    from latentbits.maths.empirical_bayes import SPREAD

    keys = row_hashes(open_source(X).block(0)) * SPREAD
    mine = shares[np.searchsorted(first._params.latent.keys, keys)]
    value = twin.log_likelihood(X, mine, first.components_)
    assert first.conditional_log_likelihood_ == pytest.approx(value, rel=1e-10)
