"""Ratings: reading, scaling, recommending, evaluating."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

import latentbits
from latentbits import BernoulliGaussRecommender, GaussianPLSA
from latentbits.base.recommending import all_but_one, errors_of
from latentbits.data.ratings import read_ratings, user_scale
from latentbits.errors import InputError


def made(n_users=120, n_items=15, seed=0, k=2):
    """Users of two tastes rate about half of the items from 1 to 5."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(k, size=n_users)
    means = rng.uniform(1.5, 4.5, (k, n_items))
    table = np.clip(np.round(means[taste] + 0.6 * rng.standard_normal((n_users, n_items))), 1, 5)
    known = rng.random(table.shape) < 0.5
    known[:, 0] |= ~known.any(axis=1)
    rows, columns = np.nonzero(known)
    return (rows, columns, table[rows, columns]), table, known, taste


def test_ways_to_write_ratings():
    (rows, columns, values), table, known, _ = made()
    frame = pd.DataFrame({"user": rows, "item": columns, "rating": values})
    dense = np.where(known, table, np.nan)
    sparse = sp.coo_array((values, (rows, columns)), shape=table.shape)
    straight = read_ratings((rows, columns, values), "x")
    for other in (frame, dense, sparse, sparse.tocsr(), sparse.tocsc(), frame.sample(frac=1, random_state=0)):
        found = read_ratings(other, "x")
        for ours, theirs in zip(found[:3], straight[:3]):
            np.testing.assert_array_equal(ours, theirs)
    zeros = sp.csr_array((np.array([0.0, 3.0]), np.array([1, 2]), np.array([0, 2])), shape=(1, 4))
    assert read_ratings(zeros, "x").values.tolist() == [0.0, 3.0]  # a stored zero is a rating
    names = read_ratings((["b", "a"], ["y", "x"], [1, 2]), "x")
    assert names.users.tolist() == ["a", "b"] and names.values.tolist() == [2.0, 1.0]


def test_duplicates_and_bad_ratings():
    twice = ([0, 0, 1], ["a", "a", "b"], [1.0, 4.0, 2.0])
    with pytest.raises(InputError, match=r"user 0 rates item 'a' twice \(1 and 4\)"):
        read_ratings(twice, "x")
    assert read_ratings(twice, "x", "last").values.tolist() == [4.0, 2.0]
    assert read_ratings(twice, "x", "mean").values.tolist() == [2.5, 2.0]
    with pytest.raises(InputError, match="rating of user 1 for item 'b' is nan"):
        read_ratings(([0, 1], ["a", "b"], [1.0, np.nan]), "x")
    with pytest.raises(InputError, match="equally long"):
        read_ratings(([0, 1], ["a"], [1.0]), "x")
    with pytest.raises(InputError, match="must hold numbers"):
        read_ratings(([0], ["a"], ["good"]), "x")
    with pytest.raises(InputError, match="no ratings"):
        read_ratings(np.full((2, 2), np.nan), "x")


def test_scale_of_users():
    ratings = read_ratings(([0, 0, 1], ["a", "b", "a"], [1.0, 5.0, 4.0]), "x")
    scaled = user_scale(ratings, "zscore", (3.0, 2.0))
    assert scaled.means.tolist() == pytest.approx([(6 + 15) / 7, (4 + 15) / 6])
    away = (1 - 3) ** 2 + (5 - 3) ** 2
    assert scaled.spreads[0] == pytest.approx(np.sqrt((away + 5 * 2.0) / 7))
    plain = user_scale(ratings, "none", (3.0, 2.0))
    assert plain.means.tolist() == [0, 0] and plain.spreads.tolist() == [1, 1]


@pytest.fixture(scope="module")
def fitted():
    triples, table, known, taste = made()
    return BernoulliGaussRecommender(2, random_state=0).fit(triples), triples, table, known, taste


def by_hand(model, row, column, known, table):
    """Taste posterior of a user without one rating, and the unscaled Gaussians of the item."""
    items = [j for j in np.flatnonzero(known[row]) if j != column]
    values = table[row, items]
    mean = (values.sum() + 5 * model.overall_[0]) / (len(items) + 5)
    sd = np.sqrt((((values - mean) ** 2).sum() + 5 * model.overall_[1]) / (len(items) + 5))
    z = (values - mean) / sd
    c, v = model.means_[:, items], model.variances_[:, items]
    logs = np.log(model.weights_) + (-0.5 * (np.log(2 * np.pi * v) + (z - c) ** 2 / v)).sum(axis=1)
    share = np.exp(logs - logs.max())
    share /= share.sum()
    return share, mean + sd * model.means_[:, column], sd**2 * model.variances_[:, column]


def test_predictions_are_the_equations(fitted):
    model, _, table, known, _ = fitted
    steps = model.scale_
    assert steps.tolist() == [1, 2, 3, 4, 5]
    for row, column in ((0, 3), (5, 0), (17, 9)):
        share, c, v = by_hand(model, row, column, known, table)
        density = np.exp(-0.5 * (steps - c[:, None]) ** 2 / v[:, None])
        ways = {
            "normalised": share @ (density / density.sum(axis=1, keepdims=True)),
            "density": share @ (density / np.sqrt(v)[:, None]),
            "cell": share
            @ np.diff(ndtr((np.array([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf]) - c[:, None]) / np.sqrt(v)[:, None])),
        }
        for kind, chances in ways.items():
            chances = chances / chances.sum()
            found = model.predict_distribution([row], [column], kind)[0]
            np.testing.assert_allclose(found, chances, rtol=1e-8)
            assert model.predict(row, column, kind=kind)[0] == pytest.approx(chances @ steps)
            assert model.predict(row, column, "mode", kind)[0] == steps[chances.argmax()]
            assert model.predict(row, column, "median", kind)[0] == steps[(np.cumsum(chances) < 0.5).sum()]


def test_missingness_may_be_modelled():
    triples, table, known, _ = made()
    model = BernoulliGaussRecommender(2, missingness="modelled", user_scale="none", scale=None, random_state=0).fit(
        triples
    )
    row, column = 4, 7
    items = [j for j in np.flatnonzero(known[row]) if j != column]
    others = [j for j in range(15) if j not in items]
    p = model.components_
    gaussians = -0.5 * (np.log(2 * np.pi * model.variances_) + (table[row] - model.means_) ** 2 / model.variances_)
    logs = np.log(model.weights_) + (np.log(p) + gaussians)[:, items].sum(axis=1) + np.log(1 - p)[:, others].sum(axis=1)
    share = np.exp(logs - logs.max()) * p[:, column]
    share /= share.sum()
    assert model.predict(row, column)[0] == pytest.approx(share @ model.means_[:, column])


def test_recommendations(fitted):
    model, (_, columns, _), _, known, _ = fitted
    told = model.recommend(3, 5)
    seen = set(np.flatnonzero(known[3]))
    assert not seen & {row["item"] for row in told} and [row["rank"] for row in told] == [1, 2, 3, 4, 5][: len(told)]
    ratings = [row["rating"] for row in told]
    assert ratings == sorted(ratings, reverse=True)
    for row in told:
        assert row["rating"] == pytest.approx(model.predict(3, row["item"])[0]) and row["sd"] > 0
        assert row["support"] == (columns == row["item"]).sum()
    lower = model.recommend(3, 5, by="lower")
    values = [row["rating"] - row["sd"] for row in lower]
    assert values == sorted(values, reverse=True)
    assert len(model.recommend(3, 50, exclude_seen=False)) == 15 and model.recommend(3, min_ratings=10_000) == []
    assert len(model.recommend_frame(3, 2)) == 2
    new = model.recommend(ratings={0: 5, 1: 1}, n=3)
    assert len(new) == 3 and not {0, 1} & {row["item"] for row in new}
    assert len(model.components_frame(top=2)) == 4


def test_strangers(fitted):
    model, triples, table, known, taste = fitted
    with pytest.raises(InputError, match="user 999 was not fitted"):
        model.predict(999, 0)
    with pytest.raises(InputError, match="item 'z' was not fitted"):
        model.predict(0, "z")
    open_ = BernoulliGaussRecommender(2, unknown="prior", random_state=0).fit(triples)
    cold = open_.predict(999, np.arange(15))
    assert np.corrcoef(cold, [np.mean(table[known[:, j], j]) for j in range(15)])[0, 1] > 0.9
    unseen = open_.predict([0, 1], ["z", "z"])
    assert (np.abs(unseen - open_.overall_[0]) < 1.5).all()
    np.testing.assert_allclose(open_.fold_in({}), open_.weights_, rtol=1e-9)
    row = int(np.flatnonzero(known.sum(axis=1) > 6)[0])
    given = {int(j): float(table[row, j]) for j in np.flatnonzero(known[row])}
    np.testing.assert_allclose(open_.fold_in(given), open_.transform(triples)[row], rtol=1e-8)
    agreed = (open_.transform(triples).argmax(axis=1) == taste).mean()
    assert max(agreed, 1 - agreed) > 0.8


def test_names_weights_and_refused_refits(tmp_path):
    (rows, columns, values), _, _, _ = made(60)
    users, items = np.array([f"u{i}" for i in rows]), np.array([f"film {j}" for j in columns])
    model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, values))
    model.save(tmp_path / "m.latentbits")
    again = latentbits.load(tmp_path / "m.latentbits")
    assert again.recommend("u3", 2) == model.recommend("u3", 2) and again.predict("u3", "film 1") == model.predict(
        "u3", "film 1"
    )
    with pytest.raises(InputError, match="as many users"):
        model.fit((["x"], ["film 1"], [3.0]))
    assert model.predict("u3", "film 1") == again.predict("u3", "film 1")  # what was fitted is still there
    # A user of weight zero is no user; whole weights are repeats.
    weights = np.ones(60)
    weights[7] = 0
    odd = np.where(rows == 7, 50.0, values)
    without = BernoulliGaussRecommender(2, random_state=0).fit((rows, columns, odd), sample_weight=weights)
    plain = BernoulliGaussRecommender(2, random_state=0).fit((rows[rows != 7], columns[rows != 7], values[rows != 7]))
    assert without.scale_.tolist() == plain.scale_.tolist() and without.overall_ == pytest.approx(plain.overall_)
    np.testing.assert_allclose(without.predict(3, np.arange(15)), plain.predict(3, np.arange(15)), rtol=1e-8)
    modelled = BernoulliGaussRecommender(2, missingness="modelled", random_state=0).fit((rows, columns, values))
    for row in modelled.recommend(3, 5):
        assert row["rating"] == pytest.approx(modelled.predict(3, row["item"])[0])
    raw = GaussianPLSA(2, user_scale="none", unknown="prior", tol=1e-3, random_state=0).fit((rows, columns, values))
    assert abs(raw.predict(3, 999)[0] - raw.overall_[0]) < 0.5
    frame = pd.DataFrame([[5.0, np.nan], [1.0, 2.0], [4.0, 4.0]], columns=[10, 20])
    assert read_ratings(frame, "x").items.tolist() == [10, 20]
    for bad, words in (
        ("hello", "three columns"),
        (np.arange(4.0), "three columns"),
        (([1, "a"], [1, 2], [1.0, 2.0]), "one kind|three"),
    ):
        with pytest.raises(InputError, match=words):
            read_ratings(bad if not isinstance(bad, tuple) else tuple(np.array(part, object) for part in bad), "x")
    for ratings in ({0: np.nan}, {0: "five"}, {0: 500}):
        with pytest.raises(InputError, match="ratings"):
            modelled.fold_in(ratings)
    for options in ({"folds": 1}, {"repeats": 0}):
        with pytest.raises(InputError, match="or more"):
            modelled.evaluate_all_but_one((rows, columns, values), **options)


def test_saved_recommenders_come_back(fitted, tmp_path):
    model = fitted[0]
    model.save(tmp_path / "model.latentbits")
    again = latentbits.load(tmp_path / "model.latentbits")
    np.testing.assert_array_equal(again.predict([1, 2], [3, 4]), model.predict([1, 2], [3, 4]))
    assert again.recommend(2, 3) == model.recommend(2, 3)
    assert not hasattr(model, "sample") and not hasattr(model, "impute") and not hasattr(model, "bic")


def test_pictures_of_ratings(fitted):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model = fitted[0]
    ax = latentbits.plots.rating_distributions(model, 3, [1, 2, 4])
    np.testing.assert_allclose(ax.images[0].get_array(), model.predict_distribution([3, 3, 3], [1, 2, 4]))
    assert len(ax.texts) == 15 and [text.get_text() for text in ax.get_yticklabels()] == ["1", "2", "4"]
    plt.close("all")
    with pytest.raises(InputError, match="no distributions"):
        latentbits.plots.rating_distributions(GaussianPLSA(), 0, [1])


def test_evaluation():
    triples, _, known, _ = made(60)
    table = read_ratings(triples, "x")
    tested = []
    for train, test, hidden in all_but_one(table, 4, 2, 0):
        assert not set(train) & set(test) and len(hidden) == 2
        mine = table.take(test)
        for places in hidden:
            assert ((places >= mine.indptr[:-1]) & (places < mine.indptr[1:])).all()
        tested += test.tolist()
    assert sorted(tested) == np.flatnonzero(known.sum(axis=1) > 1).tolist()
    told = errors_of(np.array([1.0, -1.0, 2.0]))
    assert told.mae == pytest.approx(4 / 3) and told.rmse == pytest.approx(np.sqrt(2)) and "3 ratings" in repr(told)
    ours = BernoulliGaussRecommender(2, random_state=0).evaluate_all_but_one(triples, folds=4, repeats=2)
    mean = np.nanmean(np.where(known, made(60)[1], np.nan))
    assert ours.mae < np.abs(triples[2] - mean).mean() and len(ours.errors) == 2 * len(tested)
    same = BernoulliGaussRecommender(2, random_state=0).evaluate_all_but_one(triples, folds=4, repeats=2, point="mode")
    assert len(same.errors) == len(ours.errors)


def test_gaussian_plsa(monkeypatch, tmp_path):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    triples, _table, _known, _ = made(200)
    model = GaussianPLSA(2, random_state=0, tol=1e-4).fit(triples)
    path = np.array(model.history_[0])
    assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()
    # One step by hand.
    maths, precomputed = model._model, model._model.precompute(model._params)
    block = model._open(triples, reset=False).block(0)
    theta = np.random.default_rng(0).dirichlet(np.ones(2), block.n_rows)
    stats, new = maths.e_step(block, theta, precomputed)
    owner = np.repeat(np.arange(block.n_rows), block.row_counts())
    c, v = model.means_.T[block.indices], model.variances_.T[block.indices]
    joint = theta[owner] * np.exp(-0.5 * (block.values[:, None] - c) ** 2 / v) / np.sqrt(2 * np.pi * v)
    share = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(stats.log_likelihood, np.log(joint.sum(axis=1)).sum(), rtol=1e-10)
    wanted = np.stack([np.bincount(owner, share[:, z]) for z in range(2)], axis=1) / block.row_counts()[:, None]
    np.testing.assert_allclose(new, wanted, rtol=1e-9)
    count = np.stack([np.bincount(block.indices, share[:, z], 15) for z in range(2)])
    first = np.stack([np.bincount(block.indices, share[:, z] * block.values, 15) for z in range(2)])
    np.testing.assert_allclose(maths.m_step(model._params, stats, None).means, first / (count + 5), rtol=1e-9)
    told = GaussianPLSA(2, tol=1e-3, random_state=0).evaluate_all_but_one(triples, folds=3, repeats=1)
    assert told.mae < 1.0
    model.save(tmp_path / "m.latentbits")
    np.testing.assert_array_equal(
        latentbits.load(tmp_path / "m.latentbits").predict(3, [1, 2]), model.predict(3, [1, 2])
    )


def test_messages(fitted):
    model, triples = fitted[:2]
    for options, words in (
        ({"missingness": "no"}, "missingness must be"), ({"user_scale": "l2"}, "user_scale must be"),
        ({"scale": [1, 2, 3]}, "not on the scale"), ({"scale": "five"}, "scale must be"),
        ({"n_components": 500}, "120 rows × 15"), ({"variance_floor": 0.0}, "above 0"), ({"init": "pca"}, "init must be"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            BernoulliGaussRecommender(**{"random_state": 0, **options}).fit(triples)
    with pytest.raises(InputError, match="8 tastes need as many users; there are 2"):
        BernoulliGaussRecommender(8).fit(([0, 1, 1], [0, 0, 1], [3.0, 4.0, 5.0]))
    for ask, words in (
        (lambda: model.predict([0, 1, 2], [0, 1]), "equally many"),
        (lambda: model.predict(0, 0, point="best"), "point must be"), (lambda: model.predict(0, 0, kind="x"), "kind must be"),
        (lambda: model.recommend(), "name a user"),
        (lambda: model.recommend(0, by="luck"), "by must be"), (lambda: model.fold_in([1, 2]), "dict of item to rating"),
        (lambda: GaussianPLSA(temperature=2.0).fit(triples), "up to 1"),
        (lambda: BernoulliGaussRecommender(2, scale=None).fit(triples).predict_distribution(0, 0), "no scale"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            ask()
