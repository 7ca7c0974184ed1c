"""The noisy-or bound, its E-step and its M-steps against the equations and against enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from latentbits.data.source import open_source
from latentbits.data.summary import totals
from latentbits.engine.em import extra_pass_over
from latentbits.engine.sweep import LocalSweep
from latentbits.noisy_or import kernels, weight_kernels
from latentbits.noisy_or.m_steps import _Probe, solve
from latentbits.noisy_or.model import NoisyOrModel
from latentbits.noisy_or.params import NoisyOrParams, log_on, slope_of
from latentbits.noisy_or.scoring import RowScores

from ..reference import noisy_or as twin

FLAT = {"link_prior": (1.0, 1.0), "leak_prior": (1.0, 1.0)}


def random_model(rng, k, d, strong=True):
    """Parameters of a random model, some links missing."""
    theta = rng.exponential(1.0 if strong else 0.1, (k, d)) * (rng.random((k, d)) < 0.6)
    return NoisyOrParams(theta, rng.uniform(0.01, 0.4, d), rng.uniform(0.05, 0.7, k))


def random_rows(rng, params, n, unknown=0.0):
    """Rows drawn from the model."""
    on = rng.random((n, len(params.prior))) < params.prior
    X = (rng.random((n, len(params.theta0))) >= np.exp(-(params.theta0 + on @ params.theta))).astype(float)
    X[rng.random(X.shape) < unknown] = np.nan
    return X


def model_for(X, k, **options):
    """The maths for a table, in its last stage."""
    block = open_source(X).block(0)
    return NoisyOrModel(k, totals(block), plan=((k, 0, False),), **options), block


def weights_of(block, model, params, m, tol=1e-13):
    """Weights q (n, D, K) that the kernel finds for given posteriors."""
    precomputed = model.precompute(params)
    k, d = params.theta.shape
    q = np.zeros((block.n_rows, d, k))
    codes = block.codes()
    for row, j in zip(*np.nonzero(codes == 1)):
        weights = weight_kernels.make_weights(1, k)
        counts = weight_kernels.list_candidates(m[row], weights.candidates, weights.chances)
        theta, slope = params.theta[:, j].copy(), precomputed.slope.reshape(d, -1)[j, :k].copy()
        most = float((weights.chances * slope).max())
        n = weight_kernels.contend(
            0, precomputed.top[j], weights.candidates, counts, most, m[row], theta, 0, weights.contenders
        )
        if n == 1:
            q[row, j, weights.contenders[0]] = 1.0
        elif n > 1:
            weight_kernels.first_weights(0, 0, n, m[row], theta, weights.contenders, weights.q)
            weight_kernels.share_cell(0, params.theta0[j], precomputed.top[j], 0, n, m[row], theta, 12, tol, weights)
            q[row, j, weights.contenders[:n]] = weights.q[:n]
    return q


@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("strong", [True, False])
def test_bounds_and_likelihood_in_order(unknown, strong):
    """500 random models: bound of the fit <= mean field <= log P(x), and importance sampling in between."""
    rng = np.random.default_rng(0)
    for _ in range(125):
        k, d = int(rng.integers(1, 9)), int(rng.integers(2, 9))
        params = random_model(rng, k, d, strong)
        X = random_rows(rng, params, 4, unknown)
        model, block = model_for(X, k)
        precomputed = model.precompute(params)
        exact = RowScores(model).exact(block, precomputed)
        bound, tighter = model.log_prob(block, precomputed), RowScores(model).mean_field(block, precomputed)
        assert (bound <= exact + 1e-10).all() and (tighter <= exact + 1e-10).all() and (bound <= tighter + 1e-8).all()
        value, posterior = twin.enumerate_row(X[0], *params[:3])
        assert abs(value - exact[0]) < 1e-10
        if k == 1:
            np.testing.assert_allclose(bound, exact, atol=1e-10)
            np.testing.assert_allclose(model.represent(block, precomputed)[0], posterior, atol=1e-10)


def test_bound_is_the_bound():
    """The collapsed value is F of the equations at the posteriors and weights that the kernel found."""
    rng = np.random.default_rng(1)
    params = random_model(rng, 4, 9)
    X = random_rows(rng, params, 20, 0.1)
    model, block = model_for(X, 4, answer_rounds=500, answer_tol=1e-12)
    precomputed = model.precompute(params)
    m, value = model.posterior(block, precomputed)
    q = weights_of(block, model, params, m)
    for i in range(len(X)):
        assert abs(twin.bound(X[i], m[i], q[i], *params[:3]) - value[i]) < 1e-6


@pytest.mark.parametrize("theta0", [1e-6, 0.01, 0.3, 3.0])
def test_weights_are_the_best(theta0):
    """Newton steps against water filling, where one source takes all and where many share."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        k = int(rng.integers(2, 7))
        theta = rng.exponential(rng.choice([0.001, 0.1, 1.0, 5.0]), k)
        m = rng.choice([1e-6, 0.01, 0.3, 0.9, 0.9999], k) * rng.uniform(0.9, 1.0, k)
        params = NoisyOrParams(theta[:, None], np.array([theta0]), np.full(k, 0.5))
        model, block = model_for(np.array([[1.0]]), k)
        found = weights_of(block, model, params, m[None])[0, 0]
        wanted = twin.best_weights(m, theta, theta0)

        def value(q, m=m, theta=theta):
            on = q > 0
            return (m[on] * q[on] * twin.lift(np.minimum(theta[on] / q[on], 500.0), theta0)).sum()

        assert abs(found.sum() - 1) < 1e-12
        assert value(found) >= value(wanted) - 1e-9


def test_every_round_raises_the_bound():
    """E-step: from any posteriors the bound rises round by round."""
    rng = np.random.default_rng(3)
    for strong in (True, False):
        params = random_model(rng, 5, 12, strong)
        X = random_rows(rng, params, 50, 0.1)
        model, block = model_for(X, 5, e_step_start="warm")
        precomputed = model.precompute(params)
        shares = rng.random((50, 5))
        before = np.full(50, -np.inf)
        for _ in range(8):
            one = replace(model, rounds=1)
            shares, values, _ = one.infer(block, precomputed, (np.zeros(12 * 8), np.zeros(12)), shares)
            assert (values - before).min() >= -1e-7
            before = values


def climb(X, k, params, kind, n_steps):
    """Passes with the M-step ``kind``: the path of F, and where it led."""
    model, _ = model_for(X, k, m_step_kind=kind, **FLAT)
    sweep = LocalSweep(open_source(X))
    rows = [model.infer(sweep.source.block(0), model.precompute(params))[0]]
    path = []
    for _ in range(n_steps):
        precomputed = model.precompute(params)
        stats, rows = sweep.map(model.e_step, rows, precomputed)
        path.append(model.objective(precomputed, stats))
        params = model.m_step(params, stats, extra_pass_over(sweep, rows))
    return np.array(path), params


@pytest.mark.parametrize("kind", ["mm", "newton", "bisection"])
def test_every_pass_raises_the_bound(kind):
    rng = np.random.default_rng(4)
    truth = random_model(rng, 3, 10)
    X = random_rows(rng, truth, 150, 0.1)
    path, _ = climb(X, 3, random_model(rng, 3, 10), kind, 12)
    assert (np.diff(path) >= -1e-6).all() and path[-1] > path[0] + 10


def test_all_m_steps_meet():
    """MM, Newton and bisection find the same best strengths for fixed posteriors and weights."""
    rng = np.random.default_rng(5)
    params = random_model(rng, 2, 5)._replace(theta=rng.uniform(0.3, 2.0, (2, 5)))
    X = random_rows(rng, params, 60)
    priors = {"link_prior": (1.2, 2.0), "leak_prior": (1.5, 2.0)}
    sweep = LocalSweep(open_source(X))
    ends = {}
    for kind in ("newton", "bisection"):
        model, block = model_for(X, 2, m_step_kind=kind, e_step_start="warm", **priors)
        rows = [model.infer(block, model.precompute(params))[0]]
        stats, _ = model.e_step(block, rows[0], model.precompute(params))
        stats = stats._replace(mass=rows[0].sum(axis=0))
        ends[kind] = solve(model, params, stats, extra_pass_over(sweep, rows), cycles=60 if kind == "newton" else 25)
    theta, theta0 = params.theta, params.theta0
    precomputed, known = model.precompute(params), np.full(5, 60.0)
    ones = (X == 1).sum(axis=0)
    for _ in range(6000):  # the MM step at weights that stay as they are
        on, _, leak, _, held = _Probe(model)(block, rows[0], precomputed, theta, theta0)
        counts = theta * (on + held).T + 0.2 * theta / -np.expm1(-theta)
        leaked = theta0 * (ones / -np.expm1(-theta0) + leak) + 0.5 * theta0 / -np.expm1(-theta0)
        theta, theta0 = counts / (rows[0].sum(axis=0)[:, None] + 1.2), leaked / (known + 1.5)
    for kind, accuracy in (("newton", 1e-6), ("bisection", 1e-5)):
        np.testing.assert_allclose(ends[kind][0], theta, atol=accuracy)
        np.testing.assert_allclose(ends[kind][1], theta0, atol=accuracy)


def test_mm_step_is_that_of_the_equations():
    rng = np.random.default_rng(6)
    params = random_model(rng, 3, 7)
    X = random_rows(rng, params, 30, 0.15)
    priors = {"link_prior": (1.3, 2.0), "leak_prior": (1.5, 2.5)}
    model, block = model_for(X, 3, rounds=1, e_step_start="warm", **priors)
    # With one round posteriors are those after the weights; take these weights for the twin.
    m_before = model.infer(block, model.precompute(params))[0]
    q = weights_of(block, model, params, m_before, 1e-13)
    stats, m = model.e_step(block, m_before, model.precompute(params))
    theta, theta0 = model.mm(params, stats)
    wanted, wanted0 = twin.mm_step(X, m, q, params.theta, params.theta0, **priors)
    np.testing.assert_allclose(theta, np.minimum(wanted, 30), atol=1e-6)
    np.testing.assert_allclose(theta0, wanted0, atol=1e-6)


def test_gradients_by_finite_differences():
    """The sums of a probe are the derivatives of F in every strength."""
    rng = np.random.default_rng(7)
    params = random_model(rng, 3, 6)
    X = random_rows(rng, params, 25, 0.1)
    model, block = model_for(X, 3)
    m = model.infer(block, model.precompute(params))[0]
    q = weights_of(block, model, params, m, 1e-13)
    on, bend, leak, leak_bend, held = _Probe(model)(block, m, model.precompute(params), params.theta, params.theta0)
    known = ~np.isnan(X)
    ones = (X == 1).sum(axis=0)

    def total(theta, theta0):
        return sum(twin.bound(X[i], m[i], q[i], theta, theta0, params.prior) for i in range(len(X)))

    h, wide = 1e-6, 1e-4
    for i in range(3):
        for j in range(6):
            if params.theta[i, j] < 0.01:
                continue
            up, down = params.theta.copy(), params.theta.copy()
            up[i, j] += h
            down[i, j] -= h
            slope = (total(up, params.theta0) - total(down, params.theta0)) / (2 * h)
            assert abs(slope - (on[j, i] + held[j, i] - m[known[:, j], i].sum())) < 1e-4
            up[i, j], down[i, j] = params.theta[i, j] + wide, params.theta[i, j] - wide
            second = (total(up, params.theta0) - 2 * total(*params[:2]) + total(down, params.theta0)) / wide**2
            assert abs(second - bend[j, i]) < 0.01 * (1 + abs(bend[j, i]))
    for j in range(6):
        up, down = params.theta0.copy(), params.theta0.copy()
        up[j] += h
        down[j] -= h
        slope = (total(params.theta, up) - total(params.theta, down)) / (2 * h)
        wanted = leak[j] + ones[j] / -np.expm1(-params.theta0[j]) - known[:, j].sum()
        assert abs(slope - wanted) < 1e-3
        up[j], down[j] = params.theta0[j] + wide, params.theta0[j] - wide
        second = (total(params.theta, up) - 2 * total(*params[:2]) + total(params.theta, down)) / wide**2
        alone = -ones[j] * np.exp(-params.theta0[j]) / np.expm1(-params.theta0[j]) ** 2
        assert abs(second - (leak_bend[j] + alone)) < 0.01 * (1 + abs(alone))


def test_blocks_add_up():
    rng = np.random.default_rng(8)
    params = random_model(rng, 4, 15)
    X = random_rows(rng, params, 90, 0.1)
    model, block = model_for(X, 4)
    precomputed = model.precompute(params)
    start = rng.random((90, 4))
    whole, _ = model.e_step(block, start, precomputed)
    source = open_source(X, block_rows=17)
    parts = LocalSweep(source)
    rows = [start[source.starts[b] : source.starts[b + 1]] for b in range(source.n_blocks)]
    summed, _ = parts.map(model.e_step, rows, precomputed)
    for a, b in zip(whole, summed):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_exact_em():
    """A step of ``solver="exact"`` is the step of the equations, and the likelihood never falls."""
    rng = np.random.default_rng(9)
    params = random_model(rng, 3, 6)
    X = random_rows(rng, params, 60, 0.2)
    model, block = model_for(X, 3, inference="exact", **FLAT)
    current = random_model(rng, 3, 6)._replace(theta=rng.exponential(0.5, (3, 6)) + 0.01)
    before = -np.inf
    for step in range(6):
        precomputed = model.precompute(current)
        stats, _ = model.e_step(block, None, precomputed)
        value = model.objective(precomputed, stats)
        assert value >= before - 1e-9
        assert abs(stats.value - sum(twin.enumerate_row(x, *current[:3])[0] for x in X)) < 1e-8
        new = model.m_step(current, stats, None)
        if step == 0:
            for found, wanted in zip(new, twin.exact_em_step(X, *current[:3])):
                np.testing.assert_allclose(found, wanted, atol=1e-9)
        current, before = new, value


def test_truncated_likelihood_rises():
    """EM for tables without empty rows: virtual rows make log P(x) - log(1 - P(empty)) rise."""
    rng = np.random.default_rng(10)
    truth = random_model(rng, 2, 5)
    X = random_rows(rng, truth, 400)
    X = X[X.sum(axis=1) > 0]
    model, block = model_for(X, 2, inference="exact", truncated=True, **FLAT)
    current, before = random_model(rng, 2, 5)._replace(theta=rng.exponential(0.5, (2, 5)) + 0.01), -np.inf
    for _ in range(30):
        precomputed = model.precompute(current)
        stats = model.finalize_stats(precomputed, model.e_step(block, None, precomputed)[0])
        value = model.objective(precomputed, stats)
        assert value >= before - 1e-9
        direct = sum(twin.enumerate_row(x, *current[:3])[0] for x in X)
        empty = twin.enumerate_row(np.zeros(5), *current[:3])[0]
        assert abs(value - (direct - len(X) * np.log(-np.expm1(empty)))) < 1e-7
        np.testing.assert_allclose(model.log_prob(block, precomputed).sum(), value, atol=1e-7)
        current, before = model.m_step(current, stats, None), value


def test_greedy_search_finds_the_best_state():
    """From s = 0 by single flips to a state that no flip betters; nearly always the best of all."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(60):
        params = random_model(rng, 5, 14)
        X = random_rows(rng, params, 1)
        model, block = model_for(X, 5)
        precomputed = model.precompute(params)
        _, indices = block.ones.lists()
        width = len(precomputed.bias)
        base = precomputed.bias + precomputed.theta.reshape(14, width)[indices].sum(axis=0)
        climb = kernels.make_climb(20, width)
        on, gains = climb.on, climb.gains
        gained = kernels.greedy(precomputed.tables(), indices, 0, len(indices), base, 16, climb)
        state = on[:5].astype(float)
        here = twin.log_joint(X[0], state, *params[:3])
        zero = twin.log_joint(X[0], np.zeros(5), *params[:3])
        assert abs(here - zero - gained) < 1e-8
        m = np.concatenate((state, np.zeros(width - 5)))
        assert abs(kernels.gain_of(precomputed.tables(), indices, 0, len(indices), base, m) - gained) < 1e-8
        for i in range(5):
            other = state.copy()
            other[i] = 1 - other[i]
            change = twin.log_joint(X[0], other, *params[:3]) - here
            assert change < 1e-8
            assert abs(gains[i] - (change if state[i] == 0 else -change)) < 1e-7
        states = np.array(np.meshgrid(*[[0.0, 1.0]] * 5)).reshape(5, -1).T
        hits += max(twin.log_joint(X[0], s, *params[:3]) for s in states) <= here + 1e-9
    assert hits >= 50


def test_contenders_are_those_of_the_rule():
    """Sources that may have weight, found through the likely ones first, are those that the rule names one by one."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        k = int(rng.integers(1, 12))
        m = 10.0 ** rng.uniform(-11, 0, k)
        theta = np.where(rng.random(k) < 0.3, 0.0, 10.0 ** rng.uniform(-4, 1, k))
        theta0 = np.array(10.0 ** rng.uniform(-4, 0))
        top = -float(log_on(theta0))
        lift, rest = np.log1p(-np.expm1(-theta) / np.expm1(theta0)), 1.0 / np.expm1(theta0 + theta)
        slope = slope_of(theta, lift, rest, theta0)
        gains = np.where(m > weight_kernels.CUT, m * slope, 0.0)
        limit = gains.max() / top
        wanted = {j for j in range(k) if m[j] > max(limit, weight_kernels.CUT) and theta[j] > weight_kernels.WEAK}
        weights = weight_kernels.make_weights(1, k)
        counts = weight_kernels.list_candidates(m, weights.candidates, weights.chances)
        most = float((weights.chances * slope).max())
        room = -(-k // 4) * 4
        lanes = [np.concatenate((part, np.zeros(room - k))) for part in (weights.chances, slope)]
        assert weight_kernels.largest_gain(0, *lanes) == weight_kernels.largest_gain.py_func(0, *lanes) == most
        n = weight_kernels.contend(0, top, weights.candidates, counts, most, m, theta, 0, weights.contenders)
        assert set(weights.contenders[:n]) == (wanted if gains.max() > 0 else set())


def test_angles_and_back():
    """Jumps go along angles: there and back is the same point, and no jump takes a link away."""
    params = random_model(np.random.default_rng(0), 3, 7)
    params.theta[0, 0] = 0.0
    model, _ = model_for(np.ones((4, 7)), 3)
    vector = model.to_vector(params)
    for old, new in zip(params[:3], model.from_vector(vector, params)[:3]):
        np.testing.assert_allclose(new, old, rtol=1e-8)
    far = model.from_vector(vector - 10.0, params)
    np.testing.assert_allclose(far.theta, 0.1 * params.theta, rtol=1e-8)
    assert (far.theta0 > 0).all() and (far.prior > 0).all()
    far = model.from_vector(vector + 10.0, params)
    assert np.isfinite(far.theta).all() and (far.theta[params.theta > 0] > 29).all() and (far.prior < 1).all()
