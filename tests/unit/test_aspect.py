"""Aspect Bernoulli: matrix form, series and fold-in against the paper's equations; phantoms; bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BernoulliMixture
from latentbits.aspect.model import AspectModel, AspectParams
from latentbits.aspect.series import interpolate, split_columns
from latentbits.data.source import open_source
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import InputError, LatentBitsWarning, NoPhantomWarning, TableWarning

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


def quiet_fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return AspectBernoulli(**{"random_state": 0, "n_init": 1, **options}).fit(X)


@pytest.mark.parametrize("options", [{}, {"smoothing": 0.0}, {"membership_concentration": 1.5}, {"beta_prior": (2, 3)}])
@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_objective_never_falls(options, unknown):
    X, _, _ = simulated(70, 15, 3, unknown)
    model = quiet_fit(X, n_components=4, max_iter=120, **options)
    history = np.array(model.history_[0])
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all() and len(history) > 10
    assert model.objective_ == pytest.approx(history[-1], rel=1e-9)


def test_one_alternating_update_is_that_of_nbmf_mm():
    """Probabilities first, then memberships with the new probabilities, as the public package does."""
    solver = pytest.importorskip("nbmf_mm._solver")
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
    """AB started at the classes of a mixture: log-likelihood at least the mixture's (spec 16), on 50 problems."""
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
    model = quiet_fit(X, n_components=3, membership_concentration=2.0)
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
    shares, logs, gaps = exact.folded(block, exact.ready(params))
    ready = wide._answering(wide.ready(params))
    assert 0 < (ready.split.place == -1).sum()
    others, other_logs, other_gaps = wide.folded(block, ready)
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
    from latentbits.engine.latent import SPREAD

    keys = row_hashes(open_source(X).block(0)) * SPREAD
    mine = shares[np.searchsorted(first._params.latent.keys, keys)]
    value = twin.log_likelihood(X, mine, first.components_)
    assert first.conditional_log_likelihood_ == pytest.approx(value, rel=1e-10)


def corroded(n=400, d=40, seed=0):
    """Classes with a loss of ones that differs by row."""
    rng = np.random.default_rng(seed)
    whole = (rng.random((n, d)) < rng.beta(0.3, 0.3, (3, d))[rng.integers(0, 3, n)]).astype(float)
    levels = rng.uniform(0, 0.5, n)
    lost = (whole == 1) & (rng.random((n, d)) < levels[:, None])
    return np.where(lost, 0.0, whole), levels, lost


def test_phantom_is_found_and_ranks_losses():
    from sklearn.metrics import roc_auc_score

    X, levels, lost = corroded()
    model = AspectBernoulli(5, random_state=0, max_iter=300, tol=1e-6).fit(X)
    assert model.phantoms_ == [4] and model.kinds_[:4] == ["content"] * 4
    assert "4 content + 1 phantom" in model.summary()
    assert np.corrcoef(model.loss_level(X), levels)[0, 1] > 0.7
    zeros = model.missing_vs_off(X)
    assert len(zeros.row) == (X == 0).sum()
    np.testing.assert_allclose(zeros.lost, zeros.phantom * zeros.content)
    is_lost = lost[zeros.row, zeros.column]
    assert roc_auc_score(is_lost, zeros.content) > 0.8
    assert set(zeros.label[zeros.lost >= 0.5]) == {"missing"}
    named = model.attribution(X, lost)
    assert named.sum() == pytest.approx(1) and named[4] > model.attribution(X, (X == 0) & ~lost)[4]
    explained = model.explain(X, cells=(zeros.row[:5], zeros.column[:5]))
    np.testing.assert_allclose(explained.missing, zeros.lost[:5], atol=1e-9)
    posterior = model.cause_posterior(X, rows=[3, 5])
    np.testing.assert_allclose(posterior.sum(axis=2), 1)
    np.testing.assert_allclose(
        posterior[0], twin.posterior(X[3:4], model.transform(X[3:4]), model.components_)[0], atol=1e-6
    )


def test_equal_loss_makes_no_phantom():
    """A rate that is the same in all rows is absorbed by the probabilities (spec 11, limit 1)."""
    rng = np.random.default_rng(1)
    whole = (rng.random((400, 40)) < rng.beta(0.3, 0.3, (3, 40))[rng.integers(0, 3, 400)]).astype(float)
    X = np.where(rng.random(whole.shape) < 0.25, 0.0, whole)
    model = quiet_fit(X, n_components=5, n_init=3, max_iter=300, tol=1e-6)
    assert model.phantoms_ == []
    with pytest.warns(NoPhantomWarning, match="n_phantom=1"):
        model.missing_vs_off(X, rows=[0])
    with pytest.warns(NoPhantomWarning):
        found = model.expand(X, rows=[0], top=3)
    assert [r["probability"] for r in found] == sorted((r["probability"] for r in found), reverse=True)


def test_pinned_phantoms():
    X, levels, _ = corroded()
    model = quiet_fit(X, n_components=5, n_phantom=1, n_on_phantom=1, max_iter=150)
    assert model.kinds_[3:] == ["phantom", "on-phantom"]
    assert (model.components_[3] == 1e-6).all() and (model.components_[4] == 1 - 1e-6).all()
    assert np.corrcoef(model.loss_level(X), levels)[0, 1] > 0.6


def test_expand():
    pd = pytest.importorskip("pandas")
    X, _, _ = corroded(d=20)
    X[11] = 0.0
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(20)])
    model = quiet_fit(frame, n_components=4, n_phantom=1, max_iter=150)
    found = model.expand(frame, rows=[2, 11], top=5)
    assert [record["row"] for record in found] == [2] * 5 + [11] * 5
    absent = {f"word{j}" for j in np.flatnonzero(X[2] == 0)}
    assert {record["feature"] for record in found[:5]} <= absent
    assert [r["phantom"] for r in found[:5]] == sorted((r["phantom"] for r in found[:5]), reverse=True)
    assert found[0]["note"] == "" and "whole table" in found[5]["note"]
    assert len(model.expand_frame(frame, top=2)) == 2 * len(X)
    assert len(model.cause_frame(3)) == 4 and len(model.row_frame(frame)) == len(X)


def test_constant_columns_do_not_slow_the_fit():
    X, _, _ = simulated(120, 15, 3, seed=7)
    padded = np.hstack((X, np.zeros((120, 60)), np.ones((120, 5))))
    with pytest.warns(TableWarning, match="65 columns with only one value"):
        wide = AspectBernoulli(3, random_state=0, n_init=1, tol=1e-5, smoothing=0.0).fit(padded)
    assert (wide.components_[:, 15:75] == 0).all() and (wide.components_[:, 75:] == 1).all()
    assert wide.history_[0][-1] > twin.log_likelihood(
        X, np.full((120, 1), 1.0), X.mean(axis=0, keepdims=True).clip(1e-9, 1 - 1e-9)
    )
    with_prior = quiet_fit(padded, n_components=3, max_iter=30)
    assert (with_prior.components_[:, 15:75] > 0).all() and (with_prior.components_[:, 15:75] < 0.01).all()
    assert np.isfinite(with_prior.score_samples(1 - padded)).all()


def test_blank_rows_and_columns():
    X, _, _ = simulated(40, 10, 3, 0.2)
    X[4], X[:, 6] = np.nan, np.nan
    with pytest.warns(TableWarning):
        model = AspectBernoulli(3, random_state=0, n_init=1, tol=1e-5).fit(X)
    assert model.unobserved_features_.tolist() == [6]
    np.testing.assert_allclose(model.transform(X)[4], 1 / 3)
    assert not np.isnan(model.impute(X)).any()


def test_dead_causes_are_named():
    """A cause that nothing needs loses its last memberships and keeps its probabilities."""
    params = AspectParams(np.array([[0.2, 0.7], [0.5, 0.5]]))
    model = model_of(np.zeros((3, 2)), 2)
    from latentbits.aspect.model import AspectStats
    from latentbits.aspect.series import RowSums

    stats = AspectStats(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 0.0]]), 0.0, 0.0, 3.0,
                        RowSums(np.array([3.0, 0.0]), None, None))  # fmt: skip
    probs = model.m_step(params, stats, None).probs
    np.testing.assert_allclose(probs, [[1 / 3, 2 / 3], [0.5, 0.5]])


def test_empirical_bayes_score_is_the_formula():
    X, _, _ = simulated(50, 9, 3, 0.1)
    model = quiet_fit(X, n_components=3, smoothing=0.0, max_iter=60)
    sample = model._params.latent
    on = np.clip(sample.values @ model.components_, 1e-3, 1 - 1e-3)
    known = ~np.isnan(X)
    cells = np.where((X == 1)[:, None], np.log(on)[None], np.log1p(-on)[None]) * known[:, None]
    joint = cells.sum(axis=2) + np.log(sample.weights / sample.weights.sum())
    wanted = np.log(np.exp(joint - joint.max(axis=1, keepdims=True)).sum(axis=1)) + joint.max(axis=1)
    np.testing.assert_allclose(model.score_samples(X), wanted, rtol=1e-10)
    assert model.score_kind_ == "estimate"


def test_sampling_and_streams():
    X, _, _ = simulated(600, 12, 3)
    model = quiet_fit(X, n_components=3, max_iter=80)
    drawn, causes = model.sample(4000, random_state=1, return_causes=True)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.08)
    assert causes.shape == drawn.shape and set(np.unique(causes)) <= {0, 1, 2}
    assert model.sample(5, random_state=1, memberships="prior").shape == (5, 12)
    stream = AspectBernoulli(3, random_state=0)
    for low in range(0, 600, 100):
        stream.partial_fit(X[low : low + 100])
    assert len(stream.kinds_) == 3 and stream.score(X) > -12 * np.log(2)
    before = model.score(X)
    for _ in range(3):
        model.partial_fit(X[:200])
    assert model.score(X) > before - 0.5
    assert stream.transform(X[:4]).shape == (4, 3)


def test_warm_start_goes_on():
    X, _, _ = simulated(80, 12, 3)
    model = quiet_fit(X, n_components=3, max_iter=5, warm_start=True)
    before = model.objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.set_params(max_iter=50).fit(X)
    assert model.objective_ >= before


def test_stability_matches_causes():
    X, _, _ = simulated(200, 20, 2, seed=3)
    model = quiet_fit(X, n_components=2, n_init=3)
    assert model.stability_.shape == (2,) and (model.stability_ < 0.2).all()
    assert np.isnan(quiet_fit(X, n_components=2).stability_).all()


def test_select_by_hidden_cells():
    """The default criterion, because every row brings memberships of its own (spec 14)."""
    import latentbits

    X, _, _ = simulated(300, 30, 3, seed=1)
    chosen = latentbits.select(AspectBernoulli(random_state=0, n_init=2, tol=1e-5), X, (1, 2, 3, 4), folds=1)
    assert chosen.criterion == "cells" and chosen.best_ in (2, 3, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number, 1 or more"),
        ({"n_components": 2, "n_phantom": 2}, "at least one must be left for the content"),
        ({"membership_concentration": 0.9}, "membership_concentration must be a number, 1 or more"),
        ({"beta_prior": (0.5, 1.0)}, "has no mode inside"),
        ({"beta_prior": (1.0, 0.9)}, "both numbers must be 1 or more"),
        ({"beta_prior": 3}, "must be a pair of numbers"),
        ({"smoothing": -1}, "smoothing must be a number, 0 or more"),
        ({"init": "svd"}, "init must be 'random'"),
        ({"init": np.full((2, 5), 0.5)}, r"shape \(2, 12\); got shape \(2, 5\)"),
        ({"init": np.full((2, 12), 1.5)}, "with values from 1.5 to 1.5"),
        ({"init": (np.full((40, 2), 0.4), np.full((2, 12), 0.5))}, "sum to one in every row"),
        ({"init": (np.full((40, 3), 1 / 3), np.full((2, 12), 0.5))}, "must have 2 columns"),
        ({"init": (np.full((39, 2), 0.5), np.full((2, 12), 0.5))}, "memberships for 39 rows, the table has 40"),
    ],
)
def test_bad_options(options, message):
    X = simulated(40, 12, 2)[0]
    with pytest.raises(InputError, match=message):
        AspectBernoulli(**options).fit(np.vstack((X[:-2], np.zeros(12), np.ones(12))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X * 3, r"is 3.0; expected 0, 1 or unknown"),
        (lambda X: X * 2 - 1, r"is -1.0; expected 0, 1 or unknown"),
        (lambda X: np.where(X == 1, np.inf, X), "inf"),
        (lambda X: X[0], "1D"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X[:, :0], "0 feature"),
        (lambda X: np.full(X.shape, np.nan), "every cell of the table is unknown"),
        (lambda X: np.where(X == 1, "yes", "no"), "Recode|expected 0, 1"),
    ],
)
def test_bad_tables(change, message):
    X = simulated(40, 12, 2)[0]
    with pytest.raises(ValueError, match=message):
        AspectBernoulli(2).fit(change(X))


def test_warnings_and_refused_questions():
    X = np.vstack((simulated(38, 12, 2)[0], np.zeros(12), np.ones(12)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        AspectBernoulli(13, n_init=1, random_state=0, tol=1e-4).fit(X)
    assert any("more than that cannot be told apart" in str(warning.message) for warning in told)
    model = quiet_fit(X, n_components=2)
    for call, message in (
        (lambda: model.expand(X, top=0), "top must be"),
        (lambda: model.expand(X, by="rank"), "by must be one of"),
        (lambda: model.expand(X, rows=[40]), "rows must be whole numbers from 0 to 39"),
        (lambda: model.missing_vs_off(X, threshold=2), "threshold must lie"),
        (lambda: model.sample(3, memberships="none"), "memberships must be"),
        (lambda: model.attribution(X, np.ones((3, 3), bool)), "mask must be"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoPhantomWarning)
            with pytest.raises(InputError, match=message):
                call()


# What a review found.


def test_checkpoint_of_another_start_is_refused(tmp_path):
    X = simulated(60, 12, 3)[0]
    rng = np.random.default_rng(0)
    starts = [(rng.dirichlet(np.ones(3), 60), rng.random((3, 12))) for _ in range(2)]
    path = tmp_path / "fit.checkpoint"
    quiet_fit(X, n_components=3, init=starts[0], max_iter=5, checkpoint=path)
    with pytest.raises(InputError, match="belongs to another fit"):
        quiet_fit(X, n_components=3, init=starts[1], max_iter=5, checkpoint=path)


def test_given_starts_travel_and_run_once(tmp_path):
    import latentbits

    X = simulated(60, 12, 3)[0]
    start = (np.full((60, 3), 1 / 3), np.random.default_rng(0).random((3, 12)))
    model = quiet_fit(X, n_components=3, n_init=5, init=start, max_iter=10)
    assert len(model.restarts_) == 1
    model.save(tmp_path / "m.latentbits")
    loaded = latentbits.load(tmp_path / "m.latentbits")
    np.testing.assert_array_equal(loaded.init[1], start[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        assert loaded.fit(X).objective_ == model.objective_
        mixture = BernoulliMixture(3, random_state=0).fit(X)
    quiet_fit(X, n_components=3, init=mixture, max_iter=3).save(tmp_path / "m.latentbits")
    assert latentbits.load(tmp_path / "m.latentbits").init is None  # a fitted model does not travel; random then
    with pytest.raises(InputError, match="BernoulliMixture that is not fitted"):
        AspectBernoulli(3, init=BernoulliMixture(3)).fit(X)


def test_zeros_do_not_freeze_when_columns_begin_to_vary():
    X = simulated(200, 12, 2, seed=5)[0]
    first = X.copy()
    first[:, 0] = 0.0
    model = quiet_fit(first, n_components=2, smoothing=0.0, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.fit(X)
    assert abs(model.reconstruct(X)[:, 0].mean() - X[:, 0].mean()) < 0.05
    stream = AspectBernoulli(2, smoothing=0.0, random_state=0)
    for _ in range(4):
        stream.partial_fit(first)
    for _ in range(6):
        stream.partial_fit(X)
    assert stream.components_[:, 0].max() > 0.05


def test_streams_do_not_forget_rows_of_rare_columns():
    rng = np.random.default_rng(0)
    X = simulated(300, 10, 2)[0]
    first, last = X.copy(), X.copy()
    first[:, 0], last[:, 0] = 0.0, rng.random(300) < 0.5
    stream = AspectBernoulli(2, random_state=0)
    for _ in range(10):
        stream.partial_fit(first)
    stream.partial_fit(last)
    assert stream.components_[:, 0].max() < 0.3


def test_blank_rows_stand_in_the_middle_and_are_not_remembered():
    table = (sp.random(600, 300, density=0.01, random_state=1, format="csr") != 0).astype(float).tolil()
    table[400:] = np.nan
    for series in (True, False):
        model = quiet_fit(table.tocsr(), n_components=3, max_iter=30, tol=1e-6, series=series)
        assert model._params.latent.weights.sum() == 400
        np.testing.assert_allclose(model.transform(table.tocsr())[400:], 1 / 3)


def test_warm_start_with_a_phantom_holds_it():
    X = simulated(100, 12, 3)[0]
    model = quiet_fit(X, n_components=3, warm_start=True, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.set_params(n_phantom=1).fit(X)
    assert (model.components_[2][model._model.active] == 1e-6).all() and model.kinds_[2] == "phantom"
    with pytest.raises(InputError, match="another n_phantom"):
        model.set_params(n_phantom=0).partial_fit(X)


def test_criteria_count_what_they_pay_for():
    """BIC and AIC price the memberships, so they look at the likelihood that has them."""
    X, _, _ = simulated(300, 40, 3, seed=2)
    values = [quiet_fit(X, n_components=k, tol=1e-5, smoothing=0.0).aic(X) for k in (1, 2, 3, 6)]
    assert min(values[1:3]) < values[0] and min(values[1:3]) < values[3]


def test_suspicious_cells_of_both_kinds():
    X, _, _ = corroded(200, 20)
    model = quiet_fit(X, n_components=5, n_phantom=1, n_on_phantom=1, tol=1e-5)
    found = model.suspicious(X, top=400)
    assert {cell["value"] for cell in found} == {0, 1}
    assert [cell["wrong"] for cell in found] == sorted((cell["wrong"] for cell in found), reverse=True)
    zeros = model.missing_vs_off(X)
    assert max(cell["wrong"] for cell in found if cell["value"] == 0) == pytest.approx(zeros.lost.max())


def test_small_refusals():
    X = simulated(40, 12, 2)[0]
    X[0], X[1] = 0.0, 1.0
    with pytest.raises(InputError, match=r"score_clip must be below 0.5"):
        AspectBernoulli(2, score_clip=0.9).fit(X)
    model = quiet_fit(X, n_components=2)
    with pytest.raises(InputError, match="one row of 2 numbers per row"):
        model.inverse_transform(np.ones((3, 5)))
    with pytest.raises(InputError, match=r"shape of the table, \(40, 12\); got \(41, 12\)"):
        model.attribution(X, np.ones((41, 12), bool))
    twins = np.repeat(X[:2], 20, axis=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        AspectBernoulli(5, n_init=1, random_state=0, tol=1e-4).fit(twins)
    assert any("5 causes for 2 distinct rows" in str(warning.message) for warning in told)
    flat = quiet_fit(np.ones((5, 4)), n_components=2)
    assert flat.weights_.sum() == pytest.approx(1)
