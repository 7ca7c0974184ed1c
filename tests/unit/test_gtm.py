"""Binary GTM: sums, steps, starts, answers of maps."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits import BernoulliMixture, BinaryGTM
from latentbits.data.source import open_source
from latentbits.datasets import make_map
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import ImproperPriorWarning, InputError, LatentBitsWarning, TableWarning
from latentbits.gtm import suggested_shape
from latentbits.gtm.grid import Basis, grid_points, neighbours
from latentbits.gtm.m_steps import M_STEPS, Problem, skewed_curvature, skewed_slope
from latentbits.gtm.model import GtmModel, GtmParams
from latentbits.maths.block_pca import block_pca

from ..reference import gtm as twin
from .gtm_tools import fitted_map, known_map, quiet_fit


@pytest.fixture(scope="module")
def made():
    return known_map()


@pytest.fixture(scope="module")
def fitted():
    return fitted_map()


def problem_of(seed, masked, prior="ridge", n_columns=6):
    """A small M-step."""
    rng = np.random.default_rng(seed)
    points = grid_points((4, 4))
    features = Basis((2, 2)).features(points)
    mass = rng.gamma(2.0, 5.0, 16)
    seen = mass * rng.uniform(0.5, 1.0, (n_columns, 16)) if masked else mass[None, :]
    on = seen * rng.uniform(0.05, 0.95, (n_columns, 16))
    ridges = np.append(np.full(4, 0.1), 0.001) if prior == "ridge" else np.zeros(5)
    skew = 0.3 if prior == "girolami" else 0.0
    return Problem(features, on, seen, mass, ridges, rng.normal(-1, 1, n_columns), skew)


# Grid and basis


def test_grid_and_basis():
    assert grid_points((2, 3)).tolist() == [[-1, -1], [-1, 0], [-1, 1], [1, -1], [1, 0], [1, 1]]
    assert len(neighbours((3, 4))) == 2 * 4 + 3 * 3 and len(neighbours((2, 2, 2))) == 12
    basis, points = Basis((3, 2), 0.8, linear=True), np.random.default_rng(0).uniform(-1, 1, (5, 2))
    features = basis.features(points)
    assert features.shape == (5, basis.n_functions) == (5, 9)
    plain = Basis((3, 2), 0.8)
    np.testing.assert_allclose(plain.features(points), twin.bumps(points, plain.centers, plain.scale), rtol=1e-12)
    assert plain.scale.tolist() == pytest.approx([0.8 * 1.0, 0.8 * 2.0])  # one spacing is 1 along x and 2 along y
    np.testing.assert_array_equal(features[:, -1], 1.0)
    slopes, step = basis.slopes(points), 1e-6
    for axis in range(2):
        shift = np.zeros(2)
        shift[axis] = step
        wanted = (basis.features(points + shift) - basis.features(points - shift)) / (2 * step)
        np.testing.assert_allclose(slopes[:, axis], wanted, atol=1e-8)


def test_suggested_shapes():
    assert suggested_shape(10) == (6, 6) and suggested_shape(10**9) == (20, 20) and suggested_shape(50, 1) == (20,)
    made = make_map(150, 10, random_state=0)
    model = quiet_fit(made.data, "auto", max_iter=3)
    assert model.latent_shape_ == (8, 8) and len(model.latent_points_) == 64


# E-step and objective against the slow twin


@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("sparse", [False, True])
def test_sums_are_the_equations(unknown, sparse):
    rng = np.random.default_rng(3)
    X = (rng.random((40, 7)) < 0.15).astype(float)
    X[rng.random(X.shape) < unknown] = np.nan
    row_weights = rng.integers(1, 4, 40).astype(float)
    base = rng.normal(-1, 0.5, 7)
    model = GtmModel(12, (4, 3), base, basis_shape=(2, 2), ridge=0.4, ridge_bias=0.02, concentration=2.0)
    prior = rng.dirichlet(np.ones(12))
    params = GtmParams(rng.standard_normal((7, 5)), prior)
    precomputed = model.precompute(params)
    block = open_source(sp.csr_array(X) if sparse else X, sample_weight=row_weights).block(0)
    stats, _ = model.e_step(block, None, precomputed)
    features = twin.bumps(grid_points((4, 3)), Basis((2, 2)).centers, Basis((2, 2)).scale)
    chances = twin.sigmoid(features @ params.weights.T)
    on, seen, mass, value = twin.e_step(X, row_weights, chances, prior)
    np.testing.assert_allclose(stats.on.T, on, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(stats.mass, mass, rtol=1e-10)
    if unknown:
        np.testing.assert_allclose((stats.mass - stats.unseen).T, seen, rtol=1e-9, atol=1e-11)
    wanted = value + twin.ridge(params.weights.T, base, 0.4, 0.02) + np.log(prior).sum()
    assert model.objective(precomputed, stats) == pytest.approx(wanted, rel=1e-12)
    problem = model.problem(stats)
    q = twin.expected(features, params.weights.T, on, seen) + twin.ridge(params.weights.T, base, 0.4, 0.02)
    assert problem.value(params.weights).sum() == pytest.approx(q, rel=1e-10)


@pytest.mark.parametrize("prior", ["ridge", "beta", "girolami"])
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_slope_of_the_objective_by_finite_differences(prior, unknown):
    """Fisher's identity: the slope of the M-step's target is that of the objective itself."""
    rng = np.random.default_rng(0)
    X = (rng.random((30, 6)) < 0.3).astype(float)
    X[rng.random(X.shape) < unknown] = np.nan
    model = GtmModel(9, (3, 3), rng.normal(-1, 0.5, 6), (2, 2), weight_prior=prior, skew=0.7)
    weights, nodes = rng.standard_normal((6, 5)), np.full(9, 1 / 9)
    block = open_source(X).block(0)

    def value(weights):
        precomputed = model.precompute(GtmParams(weights, nodes))
        stats, _ = model.e_step(block, None, precomputed)
        return model.objective(precomputed, stats), stats

    stats = value(weights)[1]
    problem = model.problem(stats)
    slope = problem.slope(weights, problem.look(weights)[0])
    for j, m in [(0, 0), (3, 2), (5, 4)]:
        step = np.zeros_like(weights)
        step[j, m] = 1e-5
        change = (value(weights + step)[0] - value(weights - step)[0]) / 2e-5
        assert change == pytest.approx(slope[j, m], rel=1e-6, abs=1e-6)
    largest = model.largest_slope(GtmParams(weights, nodes), stats)
    assert largest == pytest.approx(np.abs(slope).max(), rel=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_curvature_by_finite_differences(masked):
    problem, rng = problem_of(0, masked), np.random.default_rng(1)
    weights = rng.standard_normal((6, 5))
    curvature = problem.look(weights)[1]
    for j in (0, 4):
        hessian = (problem.features.T * curvature[j]) @ problem.features + np.diag(problem.ridges)
        for m in range(5):
            step = np.zeros_like(weights)
            step[j, m] = 1e-5
            high = problem.slope(weights + step, problem.look(weights + step)[0])[j]
            low = problem.slope(weights - step, problem.look(weights - step)[0])[j]
            np.testing.assert_allclose(-(high - low) / 2e-5, hessian[m], rtol=1e-6, atol=1e-6)


def test_the_papers_prior_and_its_erratum():
    """Corrected gradient and Hessian by finite differences; the printed term is |w| times the gradient, and none itself."""
    rng = np.random.default_rng(5)
    weights = rng.standard_normal((3, 4))
    slope = skewed_slope(weights)
    for j in range(3):
        for m in range(4):
            step = np.zeros(4)
            step[m] = 1e-6
            high, low = (twin.skewed((weights[j] + s)[:, None], 1.0) for s in (step, -step))
            assert -(high - low) / 2e-6 == pytest.approx(slope[j, m], rel=1e-6)
            bent = (skewed_slope((weights[j] + step)[None])[0] - skewed_slope((weights[j] - step)[None])[0]) / 2e-6
            np.testing.assert_allclose(bent, skewed_curvature(weights[j])[m], rtol=1e-5, atol=1e-7)
        printed = twin.printed_prior_term(weights[j])
        np.testing.assert_allclose(printed, -np.sqrt(weights[j] @ weights[j]) * slope[j], rtol=1e-12)

    def jacobian(w):
        return np.array(
            [(twin.printed_prior_term(w + s) - twin.printed_prior_term(w - s)) / 2e-6 for s in 1e-6 * np.eye(4)]
        )

    assert np.abs(jacobian(weights[0]) - jacobian(weights[0]).T).max() > 0.1
    # Along w = -c 1 the log prior grows like c².
    values = [twin.skewed(np.full((4, 1), -c), 1.0) for c in (1.0, 2.0, 4.0)]
    assert values == pytest.approx([8.0, 32.0, 128.0])


# M-steps


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("prior", ["ridge", "beta"])
def test_all_steps_reach_the_same_optimum(masked, prior):
    problem = problem_of(2, masked, prior)
    begin = np.random.default_rng(0).standard_normal((6, 5))
    newton = M_STEPS["newton"](problem, begin, 50)
    assert np.abs(problem.slope(newton, problem.look(newton)[0])).max() < 1e-7
    for name, n_inner in (("bound", 20_000), ("gradient", 60_000)):
        found = M_STEPS[name](problem, begin, n_inner)
        assert problem.value(found).sum() == pytest.approx(problem.value(newton).sum(), abs=1e-6), name


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("name", "prior"), [*((name, "ridge") for name in M_STEPS), ("gradient", "girolami")])
def test_no_step_lowers_any_feature(name, prior, masked):
    problem = problem_of(4, masked, prior)
    weights = 4.0 * np.random.default_rng(1).standard_normal((6, 5))  # plain Newton overshoots from here
    for _ in range(10):
        new = M_STEPS[name](problem, weights, 1)
        assert (problem.value(new) >= problem.value(weights) - 1e-10 * np.abs(problem.value(weights))).all()
        weights = new


def test_newton_in_pieces(monkeypatch):
    problem, begin = problem_of(6, True, n_columns=7), np.zeros((7, 5))
    whole = M_STEPS["newton"](problem, begin, 3)
    monkeypatch.setattr("latentbits.gtm.m_steps.HESSIAN_BYTES", 15 * 8 * 3)  # three features at a time
    np.testing.assert_allclose(M_STEPS["newton"](problem, begin, 3), whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("unknown", [0.0, 0.15])
@pytest.mark.parametrize("options", [
    {"solver": "newton"}, {"solver": "bound"}, {"solver": "gradient"}, {"basis_prior": "beta"},
    {"basis": "identity"}, {"weight_prior": "uniform"}, {"weight_concentration": 3.0}, {"linear": True},
    {"basis_prior": "girolami", "skew": 0.05}, {"init": "pca-rank"}, {"accelerate": False},
], ids=str)  # fmt: skip
def test_the_objective_never_falls(options, unknown, monkeypatch):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    X = make_map(150, 10, latent_shape=(5, 5), basis_shape=(3, 3), unknown=unknown, random_state=4).data
    model = quiet_fit(X, (5, 5), max_iter=25, tol=0.0, **options)
    path = np.array(model.history_[0])
    assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all() and path[-1] > path[0]
    assert np.isfinite(model.basis_weights_).all()


def test_identity_is_the_mixture_step_by_step():
    X = make_map(120, 9, unknown=0.1, random_state=2).data
    begin = BinaryGTM((3, 2), basis="identity", init="random", smoothing=1.0, max_iter=1, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        first = begin.fit(X)
        logits = first._initializer(first._model)(None, 3, 0).weights.T
        for n in (1, 2, 5, 20):
            ours = BinaryGTM(
                (3, 2), basis="identity", init=logits, smoothing=1.0, max_iter=n, tol=0.0, accelerate=False
            ).fit(X)
            theirs = BernoulliMixture(
                6, init=twin.sigmoid(logits), smoothing=1.0, max_iter=n, tol=0.0, accelerate=False
            ).fit(X)
            order = np.argsort(-ours.weights_, kind="stable")
            np.testing.assert_allclose(ours.components_[order], theirs.components_, atol=1e-10)
            np.testing.assert_allclose(ours.weights_[order], theirs.weights_, atol=1e-10)
            np.testing.assert_allclose(ours.history_[0], theirs.history_[0], rtol=1e-10)
            np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-10)


def test_steps_do_not_read_the_table(monkeypatch):
    """Per pass every block is read once, however many inner steps there are."""
    X = make_map(90, 8, random_state=0).data
    reads = []
    cls = type(open_source(X, block_rows=30))
    plain = cls.block
    monkeypatch.setattr(cls, "block", lambda self, b: (reads.append(b), plain(self, b))[1])
    start = np.random.default_rng(0).standard_normal((5, 8))
    counts = {}
    for step, n_inner in itertools.product(M_STEPS, (1, 30)):
        reads.clear()
        quiet_fit(
            X,
            (4, 4),
            block_rows=30,
            basis_shape=2 * (2,),
            init=start,
            solver=step,
            n_inner=n_inner,
            max_iter=4,
            tol=0.0,
        )
        counts[step, n_inner] = len(reads)
    # Sums of the table, four passes, and the likelihood at the end, of three blocks each.
    assert set(counts.values()) == {3 * (1 + 4 + 1)}


def test_the_papers_prior_empties_the_map_and_is_stopped():
    X = make_map(200, 12, latent_shape=(5, 5), basis_shape=(3, 3), random_state=4).data
    with pytest.warns(ImproperPriorWarning, match="ridge"):
        model = BinaryGTM((5, 5), basis_prior="girolami", max_iter=400, tol=0.0).fit(X)
    assert model.converged_ and model.n_iter_ < 400 and np.abs(model.basis_weights_).max() <= 30
    assert (model.components_.max(axis=0) > 0.02).mean() > 0.5  # most features are alive: it was stopped in time
    # What is kept is the point before the likelihood fell, the highest on the way.
    path = []
    for n in range(1, model.n_iter_):
        path.append(quiet_fit(X, (5, 5), basis_prior="girolami", max_iter=n, tol=0.0).log_likelihood_)
    assert model.log_likelihood_ == pytest.approx(max(path), rel=1e-9)
    assert not hasattr(BinaryGTM(basis_prior="girolami"), "partial_fit")
    with pytest.raises(InputError, match="gradient"):
        BinaryGTM(basis_prior="girolami", solver="newton").fit(X)


# Starts


@pytest.mark.parametrize("kind", ["dense", "sparse", "unknown", "weights", "narrow"])
def test_principal_axes(kind):
    rng = np.random.default_rng(8)
    n_columns = 3 if kind == "narrow" else 30
    X = (
        rng.random((200, n_columns)) < twin.sigmoid(rng.standard_normal((200, 3)) @ rng.standard_normal((3, n_columns)))
    ) * 1.0
    weights = rng.integers(1, 4, 200).astype(float) if kind == "weights" else np.ones(200)
    if kind == "unknown":
        X[rng.random(X.shape) < 0.2] = np.nan
    table = sp.csr_array(X) if kind == "sparse" else X
    source = open_source(table, block_rows=64, sample_weight=weights)
    found = block_pca(LocalSweep(source), 2)
    means = np.nansum(X * weights[:, None], axis=0) / (~np.isnan(X) * weights[:, None]).sum(axis=0)
    centred = np.where(np.isnan(X), 0.0, X - means) * np.sqrt(weights / weights.sum())[:, None]
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(found.deviations, sizes[:2], rtol=1e-9)
    np.testing.assert_allclose(np.abs((found.axes * axes[:2]).sum(axis=1)), 1.0, atol=1e-8)
    assert (found.axes[np.arange(2), np.abs(found.axes).argmax(axis=1)] > 0).all()


def test_starts(made):
    """The pca start does not depend on the seed; random ones do; too few directions fall back to a random one."""
    a, b = (quiet_fit(made.data, max_iter=1, random_state=seed) for seed in (0, 1))
    np.testing.assert_array_equal(a.basis_weights_, b.basis_weights_)
    a, b = (quiet_fit(made.data, max_iter=1, random_state=seed, init="random") for seed in (0, 1))
    assert np.abs(a.basis_weights_ - b.basis_weights_).max() > 0.1
    flat = np.tile([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], (5, 1))
    with pytest.warns(TableWarning, match="fewer directions"):
        BinaryGTM((3, 3), tol=1e-2, random_state=0).fit(flat)


def test_complementary_columns_do_not_flip_the_map():
    """Yes/no pairs have loadings of one size; the sign must not be told by rounding."""
    half = make_map(400, 8, random_state=5).data
    X = np.hstack((half, 1 - half))
    places = [quiet_fit(X, (6, 6), block_rows=rows, max_iter=3).transform(X) for rows in (None, 200, 77, 50, 33)]
    for other in places[1:]:
        np.testing.assert_allclose(other, places[0], atol=1e-8)


def test_axes_of_wide_tables_hold_few_vectors():
    X = sp.coo_array((np.random.default_rng(0).random((300, 2000)) < 0.02).astype(float))
    found = block_pca(LocalSweep(open_source(X)), 2)
    sizes = np.linalg.svd((X.toarray() - X.toarray().mean(axis=0)) / np.sqrt(300), compute_uv=False)
    np.testing.assert_allclose(found.deviations, sizes[:2], rtol=1e-8)


def test_automatic_sizes(tmp_path):
    """By weight, not by rows; kept by fits that go on, and only by those."""
    X = make_map(100, 8, random_state=0).data
    weighted = quiet_fit(X, "auto", np.full(100, 9.0), max_iter=2)
    assert weighted.latent_shape_ == quiet_fit(np.tile(X, (9, 1)), "auto", max_iter=2).latent_shape_ == (12, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = BinaryGTM("auto", max_iter=2).partial_fit(X[:30])
        model.save(tmp_path / "map.latentbits")
        assert latentbits.load(tmp_path / "map.latentbits").partial_fit(X).latent_shape_ == (6, 6)
        assert model.partial_fit(np.tile(X, (9, 1))).latent_shape_ == (6, 6)
        assert model.fit(np.tile(X, (9, 1))).latent_shape_ == (12, 12)
        assert model.set_params(warm_start=True).fit(X).latent_shape_ == (12, 12)
        with pytest.raises(InputError, match="at least 2 columns"):
            BinaryGTM("auto").partial_fit(X[:1])


@pytest.mark.parametrize("shape", [[5, 4], (np.int64(5), np.int64(4)), np.array([5, 4])], ids=str)
def test_shapes_of_any_kind(shape, made, tmp_path):
    model = quiet_fit(made.data, shape, max_iter=2)
    assert model.latent_shape_ == (5, 4)
    model.save(tmp_path / "map.latentbits")
    again = latentbits.load(tmp_path / "map.latentbits")
    assert again.latent_shape_ == (5, 4) and again.u_matrix().shape == (5, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        np.testing.assert_array_equal(again.fit(made.data).basis_weights_, model.basis_weights_)


def test_axes_with_one_node(made):
    for shape in (1, (1, 1), (5, 1)):
        model = quiet_fit(made.data, shape, basis="identity", max_iter=5)
        assert np.isfinite(model.score(made.data)) and model.regions(1).shape == model.latent_shape_


def test_going_on_with_another_prior(made):
    model = quiet_fit(made.data, warm_start=True, max_iter=5).set_params(weight_prior="uniform")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        assert (model.fit(made.data).weights_ == 1 / 20).all()


def test_answers_where_probabilities_are_certain():
    """Without a ridge log odds run away; explanations must not."""
    X = make_map(150, 10, random_state=0).data
    model = quiet_fit(X, (5, 5), ridge=0.0, tol=0.0, max_iter=150)
    assert np.abs(model.logits_).max() > 50
    told = model.explain(X)
    assert np.isfinite(told.share).all() and np.isfinite(told.probability).all()
    assert all(np.isfinite(row["lift"]) for row in model.top_features())
    assert np.isfinite(model.u_matrix()).all() and np.isfinite(model.magnification()).all()


def test_restarts_only_where_they_differ(made):
    assert len(quiet_fit(made.data, n_init=3, max_iter=3).restarts_) == 1
    model = quiet_fit(made.data, n_init=3, max_iter=3, init="random")
    assert len(model.restarts_) == 3 and model.objective_ == max(row["objective"] for row in model.restarts_)


def test_going_on_from_given_weights(made, fitted):
    again = quiet_fit(made.data, init=fitted.basis_weights_, max_iter=5)
    assert again.objective_ > fitted.objective_ - 60  # the prior of the nodes begins anew


# Exactness of the answers


def test_enumeration():
    X = make_map(60, 5, random_state=3).data
    model = quiet_fit(X, (3, 3), max_iter=15)
    every = np.array(list(itertools.product((0.0, 1.0), repeat=5)))
    chances = np.exp(model.score_samples(every))
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    row = np.array([[1.0, np.nan, 0.0, np.nan, np.nan]])
    fits = (every[:, 0] == 1) & (every[:, 2] == 0)
    assert np.exp(model.score_samples(row))[0] == pytest.approx(chances[fits].sum(), rel=1e-12)
    wanted = (chances[fits] @ every[fits]) / chances[fits].sum()
    np.testing.assert_allclose(model.reconstruct(row)[0, [1, 3, 4]], wanted[[1, 3, 4]], rtol=1e-10)
    told = model.explain(row, ([0, 0], [0, 1]))
    others = (every[:, 2] == 0) & (every[:, 0] == 1)
    without = chances[others].sum() / chances[every[:, 2] == 0].sum()
    assert told.probability[0] == pytest.approx(without, rel=1e-10)
    np.testing.assert_allclose(told.share.sum(axis=1), 1.0)
    assert told.component_names[8] == "node 9"
    np.testing.assert_allclose(model.transform(np.full((1, 5), np.nan))[0], model.weights_ @ model.latent_points_)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 5), np.nan))[0], model.weights_, rtol=1e-9)


def test_samples_have_the_models_marginals(fitted):
    cells, nodes = fitted.sample(20_000, random_state=1, return_causes=True)
    wanted = fitted.weights_ @ fitted.components_
    assert np.abs(cells.mean(axis=0) - wanted).max() < 0.02
    assert np.abs(np.bincount(nodes, minlength=20) / 20_000 - fitted.weights_).max() < 0.02


def test_criteria_count_the_weights(made, fitted):
    # 3 × 2 bumps and the constant for 14 features, and 19 free shares of the nodes.
    assert fitted.n_free_ == 7 * 14 + 19 and quiet_fit(made.data, weight_prior="uniform", max_iter=2).n_free_ == 7 * 14
    n, total = len(made.data), fitted.score_samples(made.data).sum()
    assert fitted.bic(made.data) == pytest.approx(-2 * total + fitted.n_free_ * np.log(n))
    assert fitted.log_likelihood_ == pytest.approx(total, rel=1e-10)


def test_gradient_norm_falls_to_zero(made):
    rough, fine = (quiet_fit(made.data, max_iter=n, tol=0.0) for n in (3, 400))
    assert fine.gradient_norm_ < 0.01 * rough.gradient_norm_
