"""The mixture against its equations, exact sums and known answers."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from latentbits import BernoulliMixture
from latentbits.data.source import open_source
from latentbits.data.summary import totals
from latentbits.datasets import make_mixture
from latentbits.errors import (
    DuplicateComponentWarning,
    EmptyComponentWarning,
    InputError,
    LatentBitsWarning,
    NotConvergedWarning,
    TableWarning,
)
from latentbits.maths.kmeanspp import hamming
from latentbits.mixture.model import MixtureModel, MixtureParams
from latentbits.mixture.starts import random_start

from ..reference.mixture import em_step, explain_cell, log_joint


def problem(seed, n=25, d=6, k=3, unknown=0.2, density=0.4):
    rng = np.random.default_rng(seed)
    table = (rng.random((n, d)) < density).astype(float)
    table[rng.random((n, d)) < unknown] = np.nan
    params = MixtureParams(rng.dirichlet(np.ones(k)), rng.uniform(0.05, 0.95, (k, d)))
    return table, params


@pytest.mark.parametrize("density", [0.1, 0.6])
@pytest.mark.parametrize("smoothing", [0.0, 1.5])
def test_em_step_equals_its_twin(density, smoothing):
    table, params = problem(1, density=density)
    weights = np.random.default_rng(2).integers(0, 4, len(table)).astype(float)
    source = open_source(table, sample_weight=weights, merge=True)
    model = MixtureModel(3, totals(source.block(0)).marginals, smoothing, 1.3, float(weights.sum()))
    precomputed = model.precompute(params)
    stats, _ = model.e_step(source.block(0), None, precomputed)
    new = model.m_step(params, stats, None)
    wanted, objective = em_step(table, weights, params, model.target, smoothing, 1.3)
    np.testing.assert_allclose(new.weights, wanted.weights, rtol=1e-12)
    np.testing.assert_allclose(new.probs, np.clip(wanted.probs, 1e-9, 1 - 1e-9), rtol=1e-10)
    assert model.objective(precomputed, stats) == pytest.approx(objective, rel=1e-12)


def test_probabilities_of_all_rows_sum_to_one():
    _, params = problem(3, d=5)
    model = MixtureModel(3, np.full(5, 0.5))
    rows = np.array(list(itertools.product([0, 1], repeat=5)), float)
    scores = model.log_prob(open_source(rows).block(0), model.precompute(params))
    assert np.exp(scores).sum() == pytest.approx(1, abs=1e-12)


def test_answers_equal_enumeration():
    """Fill-in, shares and leave-one-out probabilities from the joint over all completions of a row."""
    table, params = problem(4, n=12, d=4)
    model = MixtureModel(3, np.full(4, 0.5))
    block, precomputed = open_source(table).block(0), model.precompute(params)
    filled, shares = model.predict_cells(block, precomputed), model.represent(block, precomputed)
    completions = np.array(list(itertools.product([0, 1], repeat=4)), float)
    joint = np.exp([[log_joint(x, params, k) for k in range(3)] for x in completions])
    for i, row in enumerate(table):
        fits = np.array([all(r != r or r == x for r, x in zip(row, c)) for c in completions])
        posterior = joint[fits].sum(axis=0) / joint[fits].sum()
        np.testing.assert_allclose(shares[i], posterior, atol=1e-12)
        for j in range(4):
            if np.isnan(row[j]):
                wanted = joint[fits & (completions[:, j] == 1)].sum() / joint[fits].sum()
                assert filled[i, j] == pytest.approx(wanted, abs=1e-12)
    rows, columns = (part.ravel() for part in np.indices(table.shape))
    causes = model.causes(block, precomputed, rows, columns)
    for m, (i, j) in enumerate(zip(rows, columns)):
        share, evidence, probability = explain_cell(table[i], j, params)
        np.testing.assert_allclose(causes.share[m], share, atol=1e-12)
        np.testing.assert_allclose(causes.evidence[m], evidence, atol=1e-9)
        assert causes.probability[m] == pytest.approx(probability, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 8),
    st.integers(1, 5),
    st.floats(0, 1),
    st.floats(0, 0.6),
    st.sampled_from([0.0, 0.1, 1.0, 10.0]),
    st.sampled_from([1.0, 1.5]),
    st.booleans(),
    st.sampled_from(["random", "k-means++"]),
    st.integers(0, 2**20),
)
def test_objective_rises_at_every_step(n, d, k, density, unknown, smoothing, alpha, accelerate, init, seed):
    """Strict mode raises at the first fall; see conftest."""
    rng = np.random.default_rng(seed)
    table = (rng.random((n, d)) < density).astype(float)
    table[rng.random((n, d)) < unknown] = np.nan
    table[0, 0] = 1.0
    model = BernoulliMixture(
        k,
        n_init=1,
        max_iter=60,
        smoothing=smoothing,
        weight_concentration=alpha,
        accelerate=accelerate,
        init=init,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.fit(table)
    history = np.array(model.history_[0])
    assert (np.diff(history) >= -1e-9 * np.maximum(1, np.abs(history[1:]))).all(), history
    assert np.isfinite(model.components_).all() and ((model.components_ > 0) & (model.components_ < 1)).all()
    assert model.weights_.sum() == pytest.approx(1)


@pytest.mark.data
@pytest.mark.parametrize(
    ("k", "log_likelihood", "bic"), [(2, -317.2568, 706.074), (3, -293.7050, 697.136), (4, -289.2858, 726.463)]
)
def test_carcinoma(prepared, k, log_likelihood, bic):
    path = prepared("carcinoma")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyComponentWarning)
        model = BernoulliMixture(k, n_init=20, smoothing=0.0, tol=1e-11, max_iter=20000, random_state=0).fit(path)
    assert model.score_samples(path).sum() == pytest.approx(log_likelihood, abs=5e-5)
    assert model.bic(path) == pytest.approx(bic, abs=5e-4)
    assert "of 20 starts" in model.summary()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "independent", "tree"),
    [("nltcs", -9.234, -6.759), ("plants", -31.266, -16.524), ("ad", -63.817, -16.754)],
)
def test_baselines(prepared, name, independent, tree):
    from latentbits import ChowLiuTree
    from latentbits.datasets import load_debd
    from latentbits.evaluation import IndependentColumns

    prepared(f"debd/{name}")
    splits = load_debd(name)
    assert IndependentColumns(1.0).fit(splits["train"]).score(splits["test"]) == pytest.approx(independent, abs=5e-4)
    assert ChowLiuTree(1.0).fit(splits["train"]).score(splits["test"]) == pytest.approx(tree, abs=5e-4)


def test_starved_classes_are_seeded_anew():
    """A class started where no row is gets a second life if that pays."""
    rng = np.random.default_rng(0)
    table = np.concatenate(
        [rng.random((60, 10)) < p for p in (np.r_[[0.9] * 5, [0.1] * 5], np.r_[[0.1] * 5, [0.9] * 5])]
    )
    start = np.vstack([table.mean(axis=0), np.tile([1e-6, 1 - 1e-6], 5)])
    fit = BernoulliMixture(2, init=start, n_init=1, smoothing=0.5).fit(table.astype(float))
    assert fit.weights_.min() > 0.3 and fit.empty_components_ == []


@pytest.mark.parametrize(("empty", "words"), [([1], "class 2 holds almost"), ([0, 2], "class 1, class 3 hold almost")])
def test_empty_components_are_named(empty, words):
    fit = BernoulliMixture(3, n_init=1, random_state=0).fit(make_mixture(100, 8, 3, random_state=0).data)
    with pytest.warns(EmptyComponentWarning, match=words):
        fit._warn_components(empty, [])


def test_doubts_are_told():
    table = np.tile([[1, 0, 1]], (20, 1)).astype(float)
    with pytest.warns(LatentBitsWarning) as caught:
        BernoulliMixture(3, random_state=0).fit(table)
    assert any(isinstance(w.message, (DuplicateComponentWarning, EmptyComponentWarning)) for w in caught)
    mixed = make_mixture(100, 8, 3, random_state=0).data
    with pytest.warns(NotConvergedWarning, match="max_iter=2"):
        BernoulliMixture(3, max_iter=2, random_state=0).fit(mixed)
    blank = mixed.copy()
    blank[:, 2] = np.nan
    blank[5] = np.nan
    with pytest.warns(TableWarning) as caught:
        model = BernoulliMixture(2, random_state=0).fit(blank)
    texts = " ".join(str(w.message) for w in caught)
    assert "1 column without any known cell" in texts and "1 row without any known cell" in texts
    assert model.unobserved_features_.tolist() == [2]
    np.testing.assert_allclose(model.transform(blank)[5], model.weights_)
    np.testing.assert_allclose(model.components_[:, 2], 0.5)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"n_components": True}, "n_components"),
        ({"max_iter": 0}, "max_iter"),
        ({"n_init": 0}, "n_init"),
        ({"tol": -1}, "tol"),
        ({"tol": np.nan}, "tol"),
        ({"smoothing": -0.1}, "smoothing"),
        ({"weight_concentration": 0.5}, "weight_concentration"),
        ({"init": "best"}, "init"),
        ({"init": [[0.5, 2.0]]}, "init"),
        ({"init": [[0.5, 0.2]]}, "init"),
        ({"time_limit": -1}, "time_limit"),
        ({"random_state": -1}, "random_state"),
        ({"block_rows": 0}, "block_rows"),
        ({"binarize": "x"}, "binarize"),
    ],
)
def test_bad_options(options, word):
    with pytest.raises(InputError, match=word):
        BernoulliMixture(**options).fit([[0, 1, 0], [1, 0, 1]])


def test_hamming_and_starts():
    table, _ = problem(5)
    block = open_source(table).block(0)
    row = block.codes()[3]
    known = ~np.isnan(table) & (row != 2)
    wanted = ((table != row) & known).sum(axis=1)
    assert hamming(block, row).tolist() == wanted.tolist()
    model = MixtureModel(4, np.full(6, 0.3))
    a, b = random_start(model, None, 1, 0), random_start(model, None, 1, 1)
    assert a.probs.shape == (4, 6) and not np.array_equal(a.probs, b.probs)


def test_criteria_and_entropy():
    table = make_mixture(300, 10, 2, spread=3, random_state=0).data
    model = BernoulliMixture(2, random_state=0).fit(table)
    total, n, p = model.score_samples(table).sum(), 300, 2 * 10 + 1
    assert model.n_free_ == p
    assert model.aic(table) == pytest.approx(-2 * total + 2 * p)
    assert model.bic(table) == pytest.approx(-2 * total + p * np.log(n))
    assert model.caic(table) == pytest.approx(model.bic(table) + p)
    assert model.sabic(table) == pytest.approx(-2 * total + p * np.log((n + 2) / 24))
    shares = model.predict_proba(table)
    entropy = -(shares * np.log(np.maximum(shares, 1e-300))).sum() / (300 * np.log(2))
    assert model.relative_entropy(table) == pytest.approx(1 - entropy)
    assert BernoulliMixture(1).fit(table).relative_entropy(table) == 1.0


def test_profiles_count_known_cells():
    table = make_mixture(200, 6, 2, unknown=0.3, random_state=0).data
    model = BernoulliMixture(2, random_state=0, smoothing=0).fit(table)
    rows = model.profile_table(table)
    assert len(rows) == 12
    for j in range(6):
        mine = [row for row in rows if row["feature"] == j]
        assert sum(row["ones"] for row in mine) == pytest.approx(np.nansum(table[:, j]))
        assert sum(row["rows"] for row in mine) == pytest.approx((~np.isnan(table[:, j])).sum())
        for row in mine:
            assert row["ones"] / row["rows"] == pytest.approx(row["probability"], abs=1e-3)


def test_warm_start_goes_on():
    table = make_mixture(200, 8, 3, random_state=0).data
    model = BernoulliMixture(3, max_iter=5, n_init=2, random_state=0, warm_start=True)
    with pytest.warns(NotConvergedWarning):
        model.fit(table)
    before = model.objective_
    with pytest.warns(NotConvergedWarning):
        model.fit(table)
    assert model.objective_ > before and len(model.restarts_) == 1
    with pytest.raises(InputError, match="warm_start"):
        model.set_params(n_components=4).fit(table)


def test_partial_fit_learns_from_a_stream():
    made = make_mixture(6000, 15, 3, spread=3, unknown=0.1, random_state=1)
    model = BernoulliMixture(3, random_state=3)
    for low in range(0, 6000, 200):
        model.partial_fit(made.data[low : low + 200])
    whole = BernoulliMixture(3, random_state=0).fit(made.data)
    assert model.score(made.data) > whole.score(made.data) - 0.05
    assert model.weight_seen_ == 6000 and model.n_iter_ == 30
    with pytest.raises(InputError, match="features"):
        model.partial_fit(made.data[:5, :4])


def test_partial_fit_after_fit():
    made = make_mixture(1000, 10, 2, spread=3, random_state=1)
    model = BernoulliMixture(2, random_state=0).fit(made.data[:500])
    before = model.score(made.data)
    for low in range(500, 1000, 50):
        model.partial_fit(made.data[low : low + 50])
    assert model.score(made.data) > before - 0.05 and model.weight_seen_ == 1000


def test_sample_and_impute_draws_follow_the_model():
    made = make_mixture(2000, 6, 2, spread=3, random_state=0)
    model = BernoulliMixture(2, random_state=0).fit(made.data)
    cells, causes = model.sample(20000, random_state=1, return_causes=True)
    for k in range(2):
        assert (causes == k).mean() == pytest.approx(model.weights_[k], abs=0.02)
        np.testing.assert_allclose(cells[causes == k].mean(axis=0), model.components_[k], atol=0.03)
    row = np.tile([[1, 0, np.nan, np.nan, np.nan, 1]], (20000, 1))
    draws = model.impute(row, how="sample", random_state=0)
    np.testing.assert_allclose(
        draws.mean(axis=0), model.reconstruct(row[:1])[0] * [0, 0, 1, 1, 1, 0] + [1, 0, 0, 0, 0, 1], atol=0.02
    )
    pair = (draws[:, 2] * draws[:, 3]).mean()
    shares = model.transform(row[:1])[0]
    assert pair == pytest.approx((shares * model.components_[:, 2] * model.components_[:, 3]).sum(), abs=0.02)


def test_impute_keeps_sparse_tables_sparse():
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    table = (rng.random((50, 40)) < 0.1).astype(float)
    table[rng.random((50, 40)) < 0.02] = np.nan
    rows, columns = np.nonzero(table)
    sparse = sp.csr_array((table[rows, columns], (rows, columns)), shape=table.shape)
    model = BernoulliMixture(2, random_state=0).fit(sparse)
    out = model.impute(sparse)
    assert sp.issparse(out) and out.nnz == sparse.nnz
    np.testing.assert_allclose(out.toarray(), model.impute(table))


def test_messages_of_cells():
    model = BernoulliMixture(2, random_state=0).fit(make_mixture(40, 4, 2, random_state=0).data)
    X = np.zeros((3, 4))
    for cells, word in (
        ((5, 0), "row 5"),
        ((0, 9), "column 9"),
        ((0, "age"), "'age'"),
        (([0, 1], [1, 2, 3]), "pair"),
        (7, "pair"),
        ((0.5, 1), "whole"),
    ):
        with pytest.raises(InputError, match=word):
            model.explain(X, cells=cells)
    with pytest.raises(InputError, match="too much at once"):
        model.explain(np.zeros((600_000, 4)))
    with pytest.raises(InputError, match="how must be"):
        model.impute(X, how="guess")
    with pytest.raises(InputError, match="n must be"):
        model.sample(0)


def test_names_are_those_of_one_fit():
    """A stream goes on with the components that were named; a fit finds others; a copy without a fit has none."""
    table = make_mixture(60, 5, 2, random_state=0).data
    model = BernoulliMixture(2, n_init=1, random_state=0).fit(table).name_components({1: "a"})
    assert model.partial_fit(table).component_names_ == ["a", "class 2"]
    assert model.name_components({"a": "b", 2: "a"}).component_names_ == ["b", "a"]
    assert model.fit(table).component_names_ == ["class 1", "class 2"]
    assert not hasattr(clone(model), "component_names_")


def test_doubts_call_components_by_name():
    table = np.tile([[0.0, 1.0], [1.0, 0.0]], (10, 1))
    with pytest.warns(DuplicateComponentWarning, match="class 1 and class 2 are the same"):
        BernoulliMixture(2, init=np.full((2, 2), 0.5), max_iter=2, tol=1.0).fit(table)
