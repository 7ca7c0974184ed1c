"""Trees of columns: exact by enumeration, the best trees, planted truths, wide tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import adjusted_rand_score

import latentbits
from latentbits import BernoulliMixture, ChowLiuTree, TreeMixture
from latentbits.data import open_source
from latentbits.datasets import make_choices, make_mixture, make_trees
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.trees import forest_kernels, kernels, pair_kernels, pairs
from latentbits.trees.counting import PairSums
from latentbits.trees.forest import depths, downward, marginals_of, rooted
from latentbits.trees.model import TreeModel
from latentbits.trees.pairs import PairSpace
from latentbits.trees.params import TreeParams

from ..reference import trees as reference


def drawn_params(rng, n_columns, n_components):
    """Random forests with random tables."""
    parents = []
    for _ in range(n_components):
        order, first, second = rng.permutation(n_columns), [], []
        for place in range(1, n_columns):
            if rng.random() < 0.85:
                first.append(order[place])
                second.append(order[rng.integers(place)])
        parents.append(rooted(n_columns, np.array(first, int), np.array(second, int)))
    on_given = rng.beta(0.6, 0.6, (n_components, n_columns, 2)).clip(1e-4, 1 - 1e-4)
    is_root = np.array(parents) == np.arange(n_columns)
    on_given[..., 1] = np.where(is_root, on_given[..., 0], on_given[..., 1])
    return TreeParams(rng.dirichlet(np.full(n_components, 2.0)), np.array(parents), on_given)


def drawn_case(seed):
    rng = np.random.default_rng(seed)
    n_columns, n_components = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    X = (rng.random((8, n_columns)) < rng.choice([0.1, 0.5])).astype(float)
    X[rng.random(X.shape) < rng.choice([0.0, 0.3, 0.8])] = np.nan
    return rng, X, drawn_params(rng, n_columns, n_components)


def check_case(seed):
    """Likelihood, memberships, expected counts, filled and replicated cells of a random model against enumeration."""
    rng, X, params = drawn_case(seed)
    n_columns, n_components = X.shape[1], len(params.weights)
    logs, shares, cells, both, on, mass = reference.expectations(X, params)
    block, model = open_source(X).block(0), TreeModel(n_components, np.full(n_columns, 0.3))
    precomputed = model.precompute(params)
    close = {"rtol": 0, "atol": 1e-10}
    np.testing.assert_allclose(model.log_prob(block, precomputed), logs, **close)
    np.testing.assert_allclose(model.memberships(block, precomputed), shares, **close)
    stats, _ = model.e_step(block, None, precomputed)
    np.testing.assert_allclose(stats.on, on, **close)
    np.testing.assert_allclose(stats.mass, mass, **close)
    first, second = np.triu_indices(n_columns, 1)
    found = PairSums(model, PairSpace(n_columns), range(n_components))(block, None, precomputed)
    np.testing.assert_allclose(found[:, first, second], both[:, first, second], **close)
    kept = np.flatnonzero(rng.random(len(first)) < 0.5)
    space = PairSpace(n_columns, first[kept].astype(np.int64), second[kept].astype(np.int64))
    found = PairSums(model, space, range(n_components))(block, None, precomputed)
    np.testing.assert_allclose(found, both[:, first[kept], second[kept]], **close)
    replicated, blank = reference.replicated(X, params), np.isnan(X)
    filled = model.predict_cells(block, precomputed)
    np.testing.assert_allclose(filled, replicated, **close)
    np.testing.assert_allclose(filled[blank], cells[blank], **close)
    for rows, columns in (np.nonzero(blank), np.nonzero(np.ones_like(X))):
        at = model.predict_cells_at(block, precomputed, rows, columns)
        np.testing.assert_allclose(at, replicated[rows, columns], **close)


def test_answers_and_expected_counts_are_exact():
    for seed in range(200):
        check_case(seed)


def test_kernels_as_python(monkeypatch):
    for module in (kernels, pair_kernels, forest_kernels):
        for name, kernel in list(vars(module).items()):
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)
    for seed in range(6):
        check_case(seed)
    X = make_trees(60, 6, 2, unknown=0.1, random_state=0).data
    model = TreeMixture(2, n_init=1, max_iter=12, random_state=0)
    with pytest.warns(LatentBitsWarning):
        fitted = model.fit(X)
    monkeypatch.undo()
    with pytest.warns(LatentBitsWarning):
        np.testing.assert_allclose(fitted.on_given_, model.fit(X).on_given_, rtol=1e-10)


def test_causes_leave_the_cell_out():
    X, params = drawn_case(4)[1:]
    assert X.shape[1] > 3 and len(params.weights) > 1 and np.isnan(X).any()
    block, model = open_source(X).block(0), TreeModel(len(params.weights))
    rows, columns = np.nonzero(np.ones_like(X))
    causes = model.causes(block, model.precompute(params), rows, columns)
    for m, (i, j) in enumerate(zip(rows, columns)):
        hidden = X[i].copy()
        hidden[j] = np.nan
        table, every = reference.joint(hidden, params)
        rest = table.sum(axis=0) / table.sum()
        on = table[every[:, j] == 1].sum(axis=0) / table.sum(axis=0)
        assert causes.probability[m] == pytest.approx(rest @ on, abs=1e-10)
        value = np.ones_like(on) if np.isnan(X[i, j]) else on if X[i, j] else 1 - on
        np.testing.assert_allclose(causes.share[m], rest * value / (rest * value).sum(), atol=1e-10)
        np.testing.assert_allclose(causes.share[m].sum(), 1.0)


def test_draws_have_the_frequencies_of_the_model():
    params = drawn_params(np.random.default_rng(5), 4, 2)
    model, rng, n = TreeModel(2), np.random.default_rng(0), 40_000
    every = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    chances = reference.joint(np.full(4, np.nan), params)[0].sum(axis=1)
    drawn, classes = model.sample_rows(params, n, rng)
    found = np.bincount(drawn @ [8, 4, 2, 1], minlength=16) / n
    assert np.abs(found - chances).max() < 4.5 * np.sqrt(0.25 / n)
    assert np.abs(np.bincount(classes) / n - params.weights).max() < 4.5 * np.sqrt(0.25 / n)
    row = np.array([1.0, np.nan, np.nan, np.nan])
    block = open_source(np.tile(row, (n, 1)), merge=False).block(0)
    for asked in ([1, 2, 3], [1, 3]):  # cells that nobody asks for are drawn along
        rows, columns = np.repeat(np.arange(n), len(asked)), np.tile(asked, n)
        cells = model.sample_cells(
            block, model.precompute(params), rows, columns, rng.random(n), rng.random(len(rows))
        ).reshape(n, -1)
        fits = every[:, 0] == 1
        for values in itertools.product((0, 1), repeat=len(asked)):
            wanted = chances[fits & (every[:, asked] == values).all(axis=1)].sum() / chances[fits].sum()
            assert (cells == values).all(axis=1).mean() == pytest.approx(wanted, abs=4.5 * np.sqrt(0.25 / n))


def test_trees_of_counts_skip_nothing_that_matters():
    """The bound by chi squared leaves the tree as it is: rare, common, constant and equal columns, pseudo-rows."""
    rng = np.random.default_rng(0)
    for case in range(60):
        n_columns, n_rows = int(rng.integers(2, 40)), int(rng.choice([0, 5, 300]))
        X = (rng.random((n_rows, n_columns)) < rng.choice([0.01, 0.2, 0.97], n_columns)).astype(float)
        X[:, : n_columns // 4] = X[:, :1]
        X[:, -1] = case % 2
        both, on, space = X.T @ X, X.sum(axis=0), PairSpace(n_columns)
        chances = on / n_rows if case % 3 and n_rows else np.full(n_columns, 0.7)
        others = np.outer(chances, chances) if case % 3 else np.full((n_columns, n_columns), 0.5)
        for caution, share in ((0.0, 0.0), (3.0, 0.0), (0.0, 10.0)):
            more = on + share * chances
            wanted = space.tree(space.information(both + share * others, more, n_rows + share, caution))
            found = space.tree_of(both, more, n_rows + share, caution, others, share)
            assert (found == wanted).all(), (case, caution, share)


def test_the_tree_is_the_spanning_tree_of_the_most_information():
    X = make_trees(400, 9, 1, strength=0.5, random_state=3).data
    tree = ChowLiuTree(0.0).fit(X)
    n = len(X)
    p = np.stack([((X[:, :, None] == a) & (X[:, None, :] == b)).sum(0) / n for a in (0, 1) for b in (0, 1)])
    one = X.mean(axis=0)
    alone = np.stack([np.multiply.outer(u, v) for u in (1 - one, one) for v in (1 - one, one)])
    information = np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / alone), 0).sum(axis=0)
    wanted = -minimum_spanning_tree(sp.csr_array(-(information + 1) * (1 - np.eye(9)))).sum() - 8
    found = sum(information[d, up] for d, up in enumerate(tree.parents_[0]) if d != up)
    assert found == pytest.approx(wanted, abs=1e-12)
    for d, up in enumerate(tree.parents_[0]):
        for value in (0, 1):
            rows = X[:, up] == value if up != d else np.ones(n, bool)
            assert tree.on_given_[0, d, value] == pytest.approx(X[rows, d].mean(), abs=1e-9)
    assert depths(tree.parents_[0]).max() <= 5  # rooted at a centre
    assert tree.converged_ and tree.n_iter_ <= 3


def test_one_class_is_the_tree():
    X = make_mixture(150, 8, 2, unknown=0.1, random_state=0).data
    tree, one = ChowLiuTree(2.0).fit(X), TreeMixture(1, smoothing=2.0).fit(X)
    assert (tree.parents_ == one.parents_).all() and (tree.on_given_ == one.on_given_).all()


def test_trees_without_edges_are_a_mixture():
    X = make_mixture(80, 7, 3, unknown=0.2, random_state=1).data
    plain = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
    parents = np.tile(np.arange(7, dtype=np.int32), (3, 1))
    params = TreeParams(plain.weights_, parents, np.repeat(plain.components_[:, :, None], 2, axis=2))
    block, model = open_source(X).block(0), TreeModel(3)
    precomputed = model.precompute(params)
    np.testing.assert_allclose(model.log_prob(block, precomputed), plain.score_samples(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict_cells(block, precomputed), plain.reconstruct(X), atol=1e-12)
    rows, columns = np.nonzero(np.ones_like(X))
    causes, told = model.causes(block, precomputed, rows, columns), plain.explain(X, cells=(rows, columns))
    np.testing.assert_allclose(causes.evidence, told.evidence, atol=1e-9)
    np.testing.assert_allclose(causes.probability, told.probability, atol=1e-12)
    assert (causes.partner == -1).all() and (causes.partner_evidence == 0).all()


@pytest.mark.parametrize("shared", [False, True])
def test_classes_in_several_portions_come_out_the_same(shared, monkeypatch):
    X = make_trees(150, 9, 3, unknown=0.1, random_state=2).data
    model = TreeMixture(3, shared_tree=shared, n_init=1, max_iter=20, random_state=0)
    with pytest.warns(LatentBitsWarning):
        whole = model.fit(X).on_given_
    monkeypatch.setattr("latentbits.trees.model.MOST_NUMBERS", 81)
    with pytest.warns(LatentBitsWarning):
        assert (model.fit(X).on_given_ == whole).all()
    if shared:
        assert (model.parents_ == model.parents_[0]).all()


@pytest.mark.parametrize("dense", [False, True])
def test_lists_and_tiles_count_alike(dense):
    X = (np.random.default_rng(0).random((90, 12)) < (0.5 if dense else 0.1)).astype(float)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    params, block = drawn_params(np.random.default_rng(2), 12, 2), open_source(X).block(0)
    model = TreeModel(2, np.full(12, 0.3))
    precomputed = model.precompute(params)
    whole = PairSums(model, PairSpace(12), range(2))(block, None, precomputed)
    first, second = np.triu_indices(12, 1)
    edges = PairSpace(12, first.astype(np.int64), second.astype(np.int64))
    some = PairSums(model, edges, range(2))(block, None, precomputed)
    np.testing.assert_allclose(whole[:, first, second], some, atol=1e-12)


def test_planted_trees_are_found():
    """Classes and edges of three trees of 30 columns, from 5,000 rows."""
    made = make_trees(5000, 30, 3, strength=0.7, random_state=0)
    model = TreeMixture(3, n_init=3, max_iter=60, tol=1e-5, random_state=0, screen_starts=False).fit(made.data)
    found = model.predict(made.data)
    assert adjusted_rand_score(made.causes, found) >= 0.95
    hits = 0
    for k in range(3):
        here = np.bincount(made.causes[found == k]).argmax()
        true, ours = (
            {frozenset((d, int(up))) for d, up in enumerate(tree) if d != up}
            for tree in (made.parents[here], model.parents_[k])
        )
        hits += len(true & ours)
    assert hits / (3 * 29) >= 0.95  # as many edges on both sides, so that this is the F1 score


def test_tied_groups_are_filled_better_than_by_classes():
    made = make_choices(1500, 8, 4, 3, random_state=0)
    hidden = np.random.default_rng(0).random(made.data.shape) < 0.1
    X, rows, columns = np.where(hidden, np.nan, made.data), *np.nonzero(hidden)
    losses = {}
    for model in (BernoulliMixture(8, random_state=0), TreeMixture(3, n_init=3, max_iter=60, tol=1e-5, random_state=0)):
        chances = np.clip(model.fit(X).impute(X)[rows, columns], 1e-6, 1 - 1e-6)
        value = made.data[rows, columns]
        losses[type(model)] = -np.mean(np.where(value == 1, np.log(chances), np.log1p(-chances)))
    assert losses[TreeMixture] <= 0.8 * losses[BernoulliMixture]


def test_the_neighbour_that_argues_is_named():
    rng = np.random.default_rng(0)
    first = rng.random(300) < 0.4
    copy = np.where(rng.random(300) < 0.95, first, ~first)
    X = np.column_stack([rng.random(300) < 0.5, first, copy, rng.random(300) < 0.3]).astype(float)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "q6", "q7", "b"])
    tree = ChowLiuTree().fit(frame)
    row = int(np.flatnonzero(first & copy)[0])
    told = tree.explain(frame, cells=([row], ["q7"])).to_records()[0]
    assert told["partner"] == "q6" and told["partner_evidence"] > 0.5
    strange = int(np.flatnonzero(first & ~copy)[0])  # q6 argues against it
    told = tree.explain(frame, cells=([strange], ["q7"])).to_records()[0]
    assert told["partner"] != "q6" and told["surprise"] > 2
    edges = tree.edges_table(1)
    assert {edges[0]["feature"], edges[0]["parent"]} == {"q6", "q7"} and edges[0]["information"] > 0.3


def test_averaged_starts_are_the_mean_likelihood():
    X = make_mixture(80, 8, 4, spread=1.0, unknown=0.1, random_state=0).data
    model = TreeMixture(2, n_init=3, average_restarts=True, tol=1e-5, random_state=0).fit(X)
    held = model._model.held
    each = []
    for start in range(3):
        mine = held.owner == start
        params = TreeParams(*(part[mine] for part in held.flat()))
        block, one = open_source(X).block(0), TreeModel(2)
        each.append(one.log_prob(block, one.precompute(params)))
    np.testing.assert_allclose(model.score_samples(X), np.log(np.exp(each).mean(axis=0)), atol=1e-10)
    blank = np.isnan(X)
    filled = {rule: model.set_params(average=rule).impute(X)[blank] for rule in ("mean", "joint")}
    assert np.abs(filled["mean"] - filled["joint"]).max() > 1e-4
    assert not hasattr(model, "bic") and model.edges_table(2)[0]["component"] == "class 1"


def test_odd_tables():
    one = ChowLiuTree().fit([[0.0], [1.0], [1.0]])
    assert one.parents_.tolist() == [[0]] and one.components_[0, 0] == pytest.approx(one.impute([[np.nan]])[0, 0])
    X = make_mixture(60, 5, 2, random_state=0).data
    X[:, 2] = 0.0
    for model in (ChowLiuTree(), TreeMixture(2, random_state=0)):
        fitted = model.fit(X)
        assert np.isfinite(fitted.score_samples(1 - X)).all() and 0 < fitted.components_[0, 2] < 0.1
    with pytest.raises(InputError, match="n_components"):
        TreeMixture(10**6).fit(X)
    circle = TreeParams(np.ones(1), np.array([[1, 2, 0]], np.int32), np.full((1, 3, 2), 0.5))
    assert "circle" in TreeModel(1).misfit(circle)


def test_forests():
    assert rooted(1, np.empty(0, int), np.empty(0, int)).tolist() == [0]
    parents = rooted(6, np.array([0, 1, 2, 4]), np.array([1, 2, 3, 5]))
    assert depths(parents).max() == 2 and (parents == np.arange(6)).sum() == 2
    order = downward(parents).tolist()
    assert all(order.index(up) <= order.index(d) for d, up in enumerate(parents))
    with pytest.raises(ValueError, match="circle"):
        depths(np.array([1, 0, 2]))
    on_given = np.random.default_rng(0).random((6, 2))
    on_given[parents == np.arange(6), 1] = on_given[parents == np.arange(6), 0]
    drawn = TreeModel(1).sample_rows(
        TreeParams(np.ones(1), parents[None], on_given[None]), 40_000, np.random.default_rng(1)
    )[0]
    np.testing.assert_allclose(drawn.mean(axis=0), marginals_of(parents, on_given), atol=0.012)


def test_candidates_of_few_columns_are_all_pairs(monkeypatch):
    """With as many partners as columns the trees of candidates are those of all pairs."""
    X = make_trees(300, 10, 2, unknown=0.15, random_state=5).data
    model = TreeMixture(2, n_init=1, max_iter=30, random_state=0, tol=1e-6)
    whole = model.fit(X).on_given_
    space = pairs.pair_space
    monkeypatch.setattr("latentbits.trees.estimator.pair_space", lambda sweep, sums: space(sweep, sums, most=5))
    np.testing.assert_allclose(model.fit(X).on_given_, whole, atol=1e-8)


def test_pooled_pairs_of_known_cells():
    """Of rows in which both are known the odds ratio; marginals of the table; none is outside of what they allow."""
    X = make_mixture(400, 6, 2, unknown=0.3, random_state=0).data
    sweep = LocalSweep(open_source(X))
    from latentbits.base.passes import table_sums

    sums = table_sums(sweep)[0]
    found = pairs.pooled_pairs(PairSpace(6), sweep, sums)
    share = sums.marginals
    for d, e in itertools.combinations(range(6), 2):
        known = ~np.isnan(X[:, d]) & ~np.isnan(X[:, e])
        n = np.array([[((X[known, d] == a) & (X[known, e] == b)).sum() for b in (0, 1)] for a in (0, 1)]) + 0.5
        wanted = float(pairs.with_odds_ratio(share[d], share[e], n[1, 1] * n[0, 0] / (n[0, 1] * n[1, 0])))
        rare = min(min(sums.ones[j], sums.observed[j] - sums.ones[j]) for j in (d, e))
        assert found[d, e] == pytest.approx((rare * wanted + share[d] * share[e]) / (rare + 1), rel=1e-9)


@pytest.mark.slow
def test_twenty_thousand_columns():
    """Candidates: every column with its copy finds it."""
    rng = np.random.default_rng(0)
    half = rng.random((300, 10_000)) < 0.05
    X = np.concatenate([half, np.where(rng.random(half.shape) < 0.98, half, ~half)], axis=1)
    tree = ChowLiuTree().fit(sp.csr_array(X.astype(float)))
    parents = tree.parents_[0]
    joined = {frozenset((d, int(up))) for d, up in enumerate(parents) if d != up}
    assert np.mean([frozenset((d, d + 10_000)) in joined for d in range(10_000)]) > 0.95
    assert np.isfinite(tree.score(sp.csr_array(X.astype(float))))


def test_more_columns_than_pairs_are_looked_at(monkeypatch):
    rng = np.random.default_rng(0)
    half = rng.random((400, 60)) < 0.2
    X = np.concatenate([half, np.where(rng.random(half.shape) < 0.95, half, ~half)], axis=1).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    space = pairs.pair_space
    monkeypatch.setattr("latentbits.trees.estimator.pair_space", lambda sweep, sums: space(sweep, sums, most=50))
    tree = latentbits.ChowLiuTree().fit(X)
    joined = {frozenset((d, int(up))) for d, up in enumerate(tree.parents_[0]) if d != up}
    assert all(frozenset((d, d + 60)) in joined for d in range(60))
    assert np.isfinite(tree.score_samples(X)).all()


def test_no_candidates_are_not_all_pairs():
    """Classes without any edge and rows with several blanks: nothing may be written into counts that have no room."""
    params, X = drawn_params(np.random.default_rng(1), 6, 2), np.full((5, 6), np.nan)
    model, empty = TreeModel(2, np.full(6, 0.3)), np.empty(0, np.int64)
    counts = PairSums(model, PairSpace(6, empty, empty), range(2))(
        open_source(X).block(0), None, model.precompute(params)
    )
    assert counts.shape == (2, 0)
    grown = TreeMixture(2, shared_tree=True, n_init=1, max_iter=12, random_state=0, tol=1e-3)
    assert np.isfinite(grown.fit(make_trees(80, 6, 2, unknown=0.4, random_state=0).data).objective_)


def test_the_picture_of_a_tree():
    pytest.importorskip("matplotlib")
    import matplotlib

    matplotlib.use("Agg")
    model = ChowLiuTree().fit(make_trees(300, 9, 1, random_state=0).data)
    ax = latentbits.plots.tree(model)
    assert len(ax.lines) == 8 and len(ax.texts) == 9
    strengths = sorted(row["information"] for row in model.edges_table())
    ax = latentbits.plots.tree(model, component="tree 1", least=strengths[4])
    assert len(ax.lines) == 4
    ax = latentbits.plots.tree(model, least=9.0)  # nothing so strong: columns alone
    assert len(ax.lines) == 0
    matplotlib.pyplot.close("all")
