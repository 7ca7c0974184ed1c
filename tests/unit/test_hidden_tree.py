"""Trees of hidden states: exact by enumeration, special cases, starts, planted local causes."""

from __future__ import annotations

import numpy as np
import pytest

import latentbits
from latentbits import BernoulliMixture, ChowLiuTree, HiddenTree
from latentbits.data import open_source
from latentbits.datasets import make_choices, make_mixture, make_trees
from latentbits.errors import InputError
from latentbits.maths.profiles import EDGE
from latentbits.trees.forest import rooted
from latentbits.trees.hidden import kernels, messages
from latentbits.trees.hidden.model import HiddenTreeModel
from latentbits.trees.hidden.modules import modules_of
from latentbits.trees.hidden.params import HiddenParams, implied_tree, main_root, profiles_of, state_shares

from ..reference import hidden_trees as reference

CLOSE = {"rtol": 0, "atol": 1e-10}


def drawn_params(rng, n_columns, m, joined=0.85):
    """A random forest with random tables."""
    order, first, second = rng.permutation(n_columns), [], []
    for place in range(1, n_columns):
        if rng.random() < joined:
            first.append(order[place])
            second.append(order[rng.integers(place)])
    parents = rooted(n_columns, np.array(first, int), np.array(second, int))
    moves = rng.dirichlet(np.full(m, 0.7), (n_columns, m)).clip(EDGE)
    moves[parents == np.arange(n_columns)] = moves[parents == np.arange(n_columns), :1]
    return HiddenParams(
        parents, moves / moves.sum(axis=2, keepdims=True), rng.beta(0.6, 0.6, (n_columns, m)).clip(1e-4, 1 - 1e-4)
    )


def drawn_case(seed):
    rng = np.random.default_rng(seed)
    n_columns, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    X = (rng.random((7, n_columns)) < rng.choice([0.1, 0.5])).astype(float)
    X[rng.random(X.shape) < rng.choice([0.0, 0.3, 0.8])] = np.nan
    return rng, X, drawn_params(rng, n_columns, m)


def check_case(seed):
    """Likelihood, states, expected counts, filled cells and explanations of a random model against enumeration."""
    rng, X, params = drawn_case(seed)
    n_columns, m, root = X.shape[1], params.probs.shape[1], main_root(params.parents)
    logs, beliefs, moves = reference.expectations(X, params)
    block, model = open_source(X).block(0), HiddenTreeModel(m, np.full(n_columns, 0.3))
    precomputed = model.precompute(params)
    np.testing.assert_allclose(model.log_prob(block, precomputed), logs, **CLOSE)
    np.testing.assert_allclose(model.memberships(block, precomputed), beliefs[:, root], **CLOSE)
    stats = model.finalize_stats(precomputed, model.e_step(block, None, precomputed)[0])
    assert stats.log_likelihood == pytest.approx(logs.sum(), abs=1e-10)
    roots = params.parents == np.arange(n_columns)
    np.testing.assert_allclose(stats.moves[~roots], moves[~roots], **CLOSE)
    np.testing.assert_allclose(stats.moves[roots, 0], moves[roots, 0], **CLOSE)
    np.testing.assert_allclose(stats.total, beliefs.sum(axis=0), **CLOSE)
    np.testing.assert_allclose(stats.on, np.einsum("id,idm->dm", X == 1, beliefs), **CLOSE)
    np.testing.assert_allclose(stats.unknown, np.einsum("id,idm->dm", np.isnan(X), beliefs), **CLOSE)
    cells = (beliefs * params.probs).sum(axis=2)
    np.testing.assert_allclose(model.predict_cells(block, precomputed), cells, **CLOSE)
    asked = np.nonzero(rng.random(X.shape) < 0.5)
    for rows, columns in (asked, np.nonzero(np.ones_like(X))):
        np.testing.assert_allclose(
            model.predict_cells_at(block, precomputed, rows, columns), cells[rows, columns], **CLOSE
        )
        np.testing.assert_allclose(
            messages.states_at(block, precomputed, rows, columns), beliefs[rows, columns], **CLOSE
        )
    check_causes(X, params, model, beliefs, root)
    single = model.precompute_single(params)
    rough = model.finalize_stats(single, model.e_step(block, None, single)[0])
    np.testing.assert_allclose(rough.moves, stats.moves, atol=2e-4)
    assert rough.log_likelihood == pytest.approx(stats.log_likelihood, rel=1e-4, abs=1e-3)


def check_causes(X, params, model, beliefs, root):
    """Explanations are by the row without the cell."""
    rows, columns = np.nonzero(np.ones_like(X))
    found = model.causes(open_source(X).block(0), model.precompute(params), rows, columns)
    np.testing.assert_allclose(found.share, beliefs[rows, root], rtol=0, atol=1e-8)
    for place, (i, d) in enumerate(zip(rows, columns)):
        rest = X[i].copy()
        rest[d] = np.nan
        alone = reference.expectations(rest[None], params)[1][0]
        assert found.probability[place] == pytest.approx(alone[d] @ params.probs[d], abs=1e-10)
        before, after = alone[root], beliefs[i, root]
        if len(before) > 1 and min(before.min(), after.min()) > 1e-3:
            change = np.log(after / (1 - after)) - np.log(before / (1 - before))
            np.testing.assert_allclose(found.evidence[place], change, atol=1e-6)


def test_answers_and_expected_counts_are_exact():
    for seed in range(200):
        check_case(seed)


def test_kernels_as_python(monkeypatch):
    for name, kernel in list(vars(kernels).items()):
        if hasattr(kernel, "py_func"):
            monkeypatch.setattr(kernels, name, kernel.py_func)
    for seed in range(6):
        check_case(seed)


def test_rows_some_at_a_time(monkeypatch):
    """How many rows are looked at together changes nothing."""
    rng = np.random.default_rng(0)
    params, X = drawn_params(rng, 9, 3), (rng.random((90, 9)) < 0.3).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    block, model = open_source(X).block(0), HiddenTreeModel(3, np.full(9, 0.3))
    precomputed, (rows, columns) = model.precompute(params), np.nonzero(rng.random(X.shape) < 0.3)

    def answers():
        stats = model.e_step(block, None, precomputed)[0]
        return [
            stats.moves,
            model.log_prob(block, precomputed),
            model.predict_cells(block, precomputed),
            model.predict_cells_at(block, precomputed, rows, columns),
        ]

    whole = answers()
    monkeypatch.setattr(messages, "MOST_BYTES", 1)
    for a, b in zip(whole, answers()):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_hub_with_thousands_of_columns(dtype):
    """Products of thousands of messages leave the range of floating-point numbers; nothing is lost."""
    n_columns, rng = 4001, np.random.default_rng(0)
    parents = np.zeros(n_columns, np.int32)
    moves = np.tile(0.999 * np.eye(2) + 0.0005, (n_columns, 1, 1))
    moves[0] = [0.9, 0.1]
    probs = np.tile([0.001, 0.4], (n_columns, 1))
    X = np.zeros((4, n_columns))
    X[1] = rng.random(n_columns) < 0.4
    X[2] = rng.random(n_columns) < 0.001
    X[3, rng.random(n_columns) < 0.5] = np.nan
    params, model = HiddenParams(parents, moves, probs), HiddenTreeModel(2, np.full(n_columns, 0.1))
    precomputed = model.precompute(params) if dtype == np.float64 else model.precompute_single(params)
    found = model.log_prob(open_source(X).block(0), precomputed)
    chance = np.where(np.isnan(X)[:, :, None], 1.0, np.where((X == 1)[:, :, None], probs, 1 - probs))
    sent = np.log(np.einsum("dij,ndj->ndi", moves, chance))
    logs = np.log([0.9, 0.1]) + np.log(chance[:, 0]) + sent[:, 1:].sum(axis=1)
    np.testing.assert_allclose(found, np.logaddexp.reduce(logs, axis=1), rtol=1e-12 if dtype == np.float64 else 1e-4)
    shares = model.memberships(open_source(X).block(0), precomputed)
    assert shares[:, 1].round(6).tolist() == [0, 1, 0, 0]
    stats = model.finalize_stats(precomputed, model.e_step(open_source(X).block(0), None, precomputed)[0])
    assert np.isfinite(stats.moves).all() and stats.total[0].sum() == pytest.approx(4.0)


def test_draws_are_joint():
    """Cells are filled as often as enumeration tells, pair by pair; rows are drawn as often."""
    rng = np.random.default_rng(3)
    params, model = drawn_params(rng, 4, 3, joined=1.0), HiddenTreeModel(3, np.full(4, 0.3))
    row = np.array([1.0, np.nan, np.nan, 0.0])
    chances, states = reference.joint(row, params)
    on = params.probs[[1, 2], states[:, 1:3]]
    shares = chances / chances.sum()
    wanted = [
        shares @ ((on[:, 0] if a else 1 - on[:, 0]) * (on[:, 1] if b else 1 - on[:, 1])) for a in (0, 1) for b in (0, 1)
    ]
    n = 40_000
    block = open_source(np.tile(row, (n, 1))).block(0)
    rows, columns = np.nonzero(np.isnan(np.tile(row, (n, 1))))
    drawn = model.sample_cells(
        block, model.precompute(params), rows, columns, rng.random(n), rng.random(2 * n)
    ).reshape(n, 2)
    counts = np.bincount(2 * drawn[:, 0] + drawn[:, 1], minlength=4) / n
    assert np.abs(counts - wanted).max() < 5 * 0.5 / np.sqrt(n)
    cells, roots = model.sample_rows(params, n, rng)
    shares = state_shares(params)
    assert np.abs(cells.mean(axis=0) - (shares * params.probs).sum(axis=1)).max() < 5 * 0.5 / np.sqrt(n)
    root = main_root(params.parents)
    assert np.abs(np.bincount(roots, minlength=3) / n - shares[root]).max() < 5 * 0.5 / np.sqrt(n)
    given = profiles_of(params)[0]
    assert np.abs(cells[roots == 0].mean(axis=0) - given).max() < 5 * 0.5 / np.sqrt((roots == 0).sum())
    pairs = implied_tree(params)
    for d, up in enumerate(params.parents):
        if d != up and (cells[:, up] == 1).sum() > 500:
            mine = cells[cells[:, up] == 1, d]
            assert abs(mine.mean() - pairs.on_given[0, d, 1]) < 5 * 0.5 / np.sqrt(len(mine))


def test_the_objective_rises_and_states_are_sorted():
    X = make_trees(300, 8, 3, unknown=0.1, random_state=0).data
    for smoothing in (0.0, 0.5):
        model = HiddenTree(4, smoothing=smoothing, n_init=1, accelerate=False, tol=1e-5, random_state=0).fit(X)
        gains = np.diff(model.history_[0])
        assert len(gains) > 10 and gains.min() > -1e-9 * abs(model.objective_)
    assert (np.diff(model.weights_) <= 0).all()
    others = np.delete(model.state_probs_, model.root_, axis=0)
    assert (np.diff(others, axis=1) >= 0).all()
    np.testing.assert_allclose(model.moves_.sum(axis=2), 1.0)
    refit = model._model.precompute(model._params)
    block = model._open(X, reset=False).block(0)
    assert model._model.log_prob(block, refit).sum() == pytest.approx(model.score(X) * len(X))


def test_special_cases():
    """One state: independent columns.  States that never change: a mixture.  One column, one row, constant columns."""
    X = make_mixture(200, 6, 2, random_state=0).data
    one = HiddenTree(1, smoothing=1.0).fit(X)
    smoothed = (X.sum(axis=0) + one.marginals_) / (len(X) + 1)
    np.testing.assert_allclose(one.components_[0], smoothed, atol=1e-9)
    mixture = BernoulliMixture(3, random_state=0).fit(X)
    parents = rooted(6, np.arange(1, 6), np.arange(5))
    moves = np.tile(np.eye(3), (6, 1, 1))
    moves[parents == np.arange(6)] = mixture.weights_
    params = HiddenParams(parents, np.maximum(moves, 1e-300), mixture.components_.T.copy())
    model = HiddenTreeModel(3, X.mean(axis=0))
    block, precomputed = open_source(X).block(0), model.precompute(params)
    np.testing.assert_allclose(model.log_prob(block, precomputed), mixture.score_samples(X), atol=1e-9)
    np.testing.assert_allclose(model.memberships(block, precomputed), mixture.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(model.predict_cells(block, precomputed), mixture.reconstruct(X), atol=1e-9)
    column = HiddenTree(2, n_init=1, random_state=0).fit(X[:, :1])
    assert column.score(X[:, :1]) == pytest.approx(_entropy(X[:, 0]), abs=0.01)
    constant = np.column_stack((X, np.ones(200), np.zeros(200)))
    assert np.isfinite(HiddenTree(2, n_init=1, random_state=0).fit(constant).score(constant))


def _entropy(x):
    p = x.mean()
    return p * np.log(p) + (1 - p) * np.log(1 - p)


def test_local_causes_are_found():
    """Groups of columns with a cause of their own each: modules are the groups, and hidden cells beat a mixture's."""
    rng = np.random.default_rng(0)
    causes = rng.random((3000, 4)) < 0.5
    X = np.repeat(causes, 5, axis=1) ^ (rng.random((3000, 20)) < 0.1)
    table = X[:2000].astype(float)
    model = HiddenTree(4, n_init=1, random_state=0).fit(table)
    found = sorted(sorted(int(name) for name in one["features"]) for one in model.modules_table(4))
    assert found == [list(range(low, low + 5)) for low in range(0, 20, 5)]
    assert all(one["cut"] < 0.1 * one["information"] for one in model.modules_table(4)[1:])
    test = X[2000:].astype(float)
    hidden = rng.random(test.shape) < 0.2
    seen = np.where(hidden, np.nan, test)

    def loss(estimator):
        on = estimator.reconstruct(seen)[hidden]
        return -np.log(np.where(test[hidden] == 1, on, 1 - on)).mean()

    assert loss(model) < 0.9 * loss(BernoulliMixture(4, n_init=5, random_state=0).fit(table))
    assert loss(model) < 0.9 * loss(ChowLiuTree().fit(table))
    two = HiddenTree(2, n_init=1, random_state=0).fit(table)
    agree = (two.states(test, 7)[:, 1] > 0.5) == causes[2000:, 1]
    assert agree.mean() > 0.96  # the cell alone: 0.9


def test_averaged_starts_and_files(tmp_path):
    X = make_choices(250, 3, 4, random_state=0).data
    model = HiddenTree(3, n_init=3, average_restarts=True, tol=1e-3, screen_starts=False, random_state=0).fit(X)
    scores = [
        model._model.best.log_prob(model._open(X, reset=False).block(0), model._model.best.precompute(one))
        for one in model._model.held.each()
    ]
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(scores, axis=0) - np.log(3))
    assert len(model._model.held.moves) == 3
    seen = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    means = model.reconstruct(seen)
    each = []
    for params in model._model.held.each():
        block = model._open(seen, reset=False).block(0)
        each.append(model._model.best.predict_cells(block, model._model.best.precompute(params)))
    np.testing.assert_allclose(means, np.mean(each, axis=0), atol=1e-12)
    model.set_params(average="joint")
    assert np.abs(model.reconstruct(seen) - means).max() > 1e-6
    model.save(tmp_path / "m.latentbits")
    again = latentbits.load(tmp_path / "m.latentbits")
    assert (again.reconstruct(seen) == model.reconstruct(seen)).all()
    assert (again.states(X, 1) == model.states(X, 1)).all()


def test_modules():
    parents, strength = np.array([0, 0, 1, 2, 4]), np.array([0.0, 0.5, 0.01, 0.4, 0.0])
    assert [one.columns for one in modules_of(parents, strength, 1000)] == [[0, 1], [2, 3], [4]]
    assert [one.columns for one in modules_of(parents, strength, 1000, 2)] == [[0, 1, 2, 3], [4]]
    assert [len(one.columns) for one in modules_of(parents, strength, 1000, 5)] == [1] * 5
    assert [len(one.columns) for one in modules_of(parents, strength, 4)] == [1] * 5  # four rows tell nothing
    model = HiddenTree(2, n_init=1, random_state=0).fit(make_trees(80, 5, 1, random_state=0).data)
    for bad in (0, 6, 2.5):
        with pytest.raises(InputError, match="n_modules must be a whole number"):
            model.modules_table(bad)
    with pytest.raises(InputError, match="there is no column"):
        model.states(np.zeros((1, 5)), 9)


def test_chance_makes_no_modules():
    """Two groups with causes of their own among columns that have nothing to do with any other."""
    rng = np.random.default_rng(0)
    causes = rng.random((1500, 2)) < 0.5
    X = np.hstack((np.repeat(causes, 5, axis=1) ^ (rng.random((1500, 10)) < 0.1), rng.random((1500, 20)) < 0.5))
    model = HiddenTree(2, n_init=1, tol=1e-5, random_state=0).fit(X.astype(float))
    found = [sorted(map(int, one["features"])) for one in model.modules_table() if len(one["features"]) > 1]
    assert sorted(found) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    alone = HiddenTree(2, n_init=1, tol=1e-5, random_state=0).fit(X[:, 10:].astype(float))
    assert all(len(one["features"]) == 1 for one in alone.modules_table())


def test_heavy_rows_weigh_in_every_step():
    """A table of mostly empty rows: the start is already better than independent columns."""
    rng = np.random.default_rng(0)
    X = ((rng.random((20_000, 1)) < 0.1) & (rng.random((20_000, 16)) < 0.5)).astype(float)
    start = HiddenTree(4, n_init=1, max_iter=1, random_state=0)
    with pytest.warns(latentbits.errors.NotConvergedWarning):
        start.fit(X)
    p = X.mean(axis=0)
    independent = (X * np.log(p) + (1 - X) * np.log(1 - p)).sum(axis=1).mean()
    assert start.score(X) > 0.7 * independent


def test_starts_have_the_same_bits_for_all_threads_of_blas():
    from threadpoolctl import threadpool_limits

    X = make_mixture(3000, 30, 4, random_state=0).data
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(HiddenTree(8, n_init=1, tol=1e-3, random_state=0).fit(X).moves_.tobytes())
    assert found[0] == found[1]


def test_files_without_hope_are_refused():
    """Moves of zero would let messages of zeros vanish."""
    parents, probs = np.array([0, 0], np.int32), np.full((2, 2), 0.5)
    model = HiddenTreeModel(2)
    assert (
        model.misfit(HiddenParams(parents, np.tile(np.eye(2), (2, 1, 1)), probs)) == "must hold shares of 1e-09 or more"
    )
    assert model.misfit(HiddenParams(parents, np.full((2, 2, 2), 0.4), probs)) == "must hold shares that sum to one"
    assert model.misfit(HiddenParams(np.array([1, 0], np.int32), np.full((2, 2, 2), 0.5), probs)).startswith(
        "must hold a tree"
    )


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = make_trees(120, 12, 1, random_state=0).data
    model = HiddenTree(2, n_init=1, tol=1e-4, random_state=0).fit(X)
    ax = latentbits.plots.modules(model, n_modules=3)
    several = sum(len(one["features"]) > 1 for one in model.modules_table(3))
    assert ax.get_title().startswith(f"{several} modules") and len(ax.lines) == 11 and len(ax.texts) == 12
    assert len(latentbits.plots.tree(model).lines) == 11
    with pytest.raises(InputError, match="a fitted HiddenTree"):
        latentbits.plots.modules(ChowLiuTree().fit(X))
    matplotlib.pyplot.close("all")


def test_expected_statistics_are_those_of_many_rows():
    """Those of rows drawn from the parameters, and a fixed point of the M-step without smoothing."""
    _, _, params = drawn_case(3)
    n_columns, m = params.probs.shape
    model = HiddenTreeModel(m, np.full(n_columns, 0.3), 0.0)
    stats = model.expected_stats(params)
    again = model.m_step(params, stats, None)
    np.testing.assert_allclose(again.moves, params.moves, atol=1e-8)
    np.testing.assert_allclose(again.probs, params.probs, atol=1e-8)
    block = open_source(model.sample_rows(params, 60_000, np.random.default_rng(0))[0]).block(0)
    precomputed = model.precompute(params)
    seen = model.finalize_stats(precomputed, model.e_step(block, None, precomputed)[0])
    for name in ("moves", "on", "total"):
        np.testing.assert_allclose(getattr(seen, name) / block.n_rows, getattr(stats, name), atol=0.01)


def test_rows_that_come_one_after_the_other(tmp_path):
    """A stream comes near the fit to all rows, goes on from files and from fits, and keeps the tree of its first rows."""
    X = make_choices(6000, 5, 4, random_state=1).data
    stream = HiddenTree(4, random_state=0).partial_fit(X[:500])
    tree, first = stream.parents_.copy(), stream.score(X[5000:])
    for low in range(500, 5000, 500):
        stream.partial_fit(X[low : low + 500])
    assert np.array_equal(stream.parents_, tree) and stream.weight_seen_ == 5000
    whole = HiddenTree(4, n_init=1, random_state=0).fit(X[:5000])
    best = whole.score(X[5000:])
    assert first < stream.score(X[5000:]) and best - stream.score(X[5000:]) < 0.5 * (best - first)
    stream.save(tmp_path / "stream.latentbits")
    loaded = latentbits.load(tmp_path / "stream.latentbits").partial_fit(X[5000:5500])
    np.testing.assert_array_equal(loaded.moves_, stream.partial_fit(X[5000:5500]).moves_)
    tree = whole.parents_.copy()
    assert np.array_equal(whole.partial_fit(X[5000:5500]).parents_, tree) and whole.weight_seen_ == 5500
