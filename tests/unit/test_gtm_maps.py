"""Binary GTM: places of rows, reading a map, streams, messages."""

from __future__ import annotations

import copy
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.manifold import trustworthiness
from sklearn.model_selection import GridSearchCV

import latentbits
from latentbits import BinaryGTM
from latentbits.base.passes import table_sums
from latentbits.data.source import open_source
from latentbits.datasets import load_zoo, make_map
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import FileError, InputError, LatentBitsWarning, TableWarning
from latentbits.maths.latent_class import ClassStats

from .gtm_tools import fitted_map, known_map, quiet_fit


@pytest.fixture(scope="module")
def made():
    return known_map()


@pytest.fixture(scope="module")
def fitted():
    return fitted_map()


# Places


def test_places(made, fitted):
    X = made.data
    shares = fitted.predict_proba(X)
    np.testing.assert_allclose(fitted.transform(X), shares @ fitted.latent_points_, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), shares.argmax(axis=1))
    np.testing.assert_array_equal(fitted.transform(X, kind="mode"), fitted.latent_points_[shares.argmax(axis=1)])
    told = fitted.posterior_summary(X)
    np.testing.assert_allclose(told.mean, fitted.transform(X), atol=1e-12)
    i = 7
    spread = sum(s * np.outer(p - told.mean[i], p - told.mean[i]) for s, p in zip(shares[i], fitted.latent_points_))
    np.testing.assert_allclose(told.covariance[i], spread, atol=1e-12)
    assert told.entropy[i] == pytest.approx(-(shares[i] * np.log(np.maximum(shares[i], 1e-300))).sum())
    assert told.n_modes.min() >= 1 and len(told.to_frame()) == 300
    even = quiet_fit(X, (3, 3), weight_prior="uniform", max_iter=2)
    assert even.posterior_summary(np.full((1, 14), np.nan)).n_modes[0] == 1  # a plateau is one place
    assert list(fitted.get_feature_names_out()) == ["x", "y"]


def test_refined_places_are_the_best(made, fitted):
    X = made.data[:40]
    places = fitted.transform(X, kind="refined")
    assert np.abs(places).max() <= 1.0

    def value(points):
        chances = fitted.inverse_transform(points)
        known = ~np.isnan(X)
        return np.where(known, np.where(X == 1, np.log(chances), np.log1p(-chances)), 0.0).sum(axis=1)

    best = value(places)
    assert (best >= value(fitted.transform(X, kind="mode")) - 1e-9).all()
    for shift in itertools.product((-1e-3, 0, 1e-3), repeat=2):
        assert (value(np.clip(places + shift, -1, 1)) <= best + 1e-7).all()
    assert len(np.unique(np.round(places, 6), axis=0)) > len(np.unique(fitted.transform(X, kind="mode"), axis=0))
    sparse = sp.csr_array(np.nan_to_num(made.data))
    np.testing.assert_allclose(
        fitted.transform(sparse, kind="refined"), fitted.transform(sparse.toarray(), kind="refined"), atol=1e-9
    )


def test_inverse_transform_and_metric(fitted):
    np.testing.assert_allclose(fitted.inverse_transform(fitted.latent_points_), fitted.components_, rtol=1e-10)
    np.testing.assert_allclose(fitted.logits_, np.log(fitted.components_ / (1 - fitted.components_)), atol=1e-9)
    point = np.array([[0.2, -0.4]])
    metric = fitted._model.metric(fitted._params, point)[0]

    def divergence(shift):
        p, q = fitted.inverse_transform(point)[0], fitted.inverse_transform(point + shift)[0]
        return (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).sum()

    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        step = 1e-3 * np.array(direction)
        both = divergence(step) + divergence(-step)
        assert both == pytest.approx(step @ metric @ step, rel=1e-4)
    wanted = [np.sqrt(np.linalg.det(g)) for g in fitted._model.metric(fitted._params, fitted.latent_points_)]
    np.testing.assert_allclose(fitted.magnification().ravel(), wanted, rtol=1e-9)
    np.testing.assert_allclose(fitted.magnification(log=True), np.log(fitted.magnification()))


def test_one_and_three_dimensions(made):
    for shape in (12, (3, 3, 3)):
        model = quiet_fit(made.data, shape, basis_shape=2 if shape == 12 else (2, 2, 2), max_iter=5)
        n_axes = 1 if shape == 12 else 3
        assert model.transform(made.data, kind="refined").shape == (300, n_axes)
        for values in (model.magnification(), model.u_matrix(), model.prior_landscape(), model.regions(3)):
            assert values.shape == model.latent_shape_
        assert model.posterior_summary(made.data).n_modes.min() >= 1


# Reading a map


def test_planes_borders_and_regions(made, fitted):
    planes = fitted.component_planes([3, 0])
    np.testing.assert_array_equal(planes[0].ravel(), fitted.components_[:, 3])
    assert fitted.component_planes().shape == (14, 5, 4)
    p, q = fitted.components_[0], fitted.components_[1]
    r = fitted.components_[4]

    def apart(p, q):
        return -np.log(np.sqrt(p * q) + np.sqrt((1 - p) * (1 - q))).sum()

    assert fitted.u_matrix()[0, 0] == pytest.approx((apart(p, q) + apart(p, r)) / 2)
    regions = fitted.regions(4)
    from scipy.ndimage import label

    assert sorted(np.unique(regions)) == [0, 1, 2, 3]
    assert all(label(regions == g)[1] == 1 for g in range(4))
    with pytest.raises(InputError, match="only 20 nodes"):
        fitted.regions(21)


def test_class_map(made, fitted):
    classes = np.where(made.places[:, 0] > 0, "right", "left").astype(object)
    told = fitted.class_map(made.data, classes)
    shares = fitted.predict_proba(made.data)
    np.testing.assert_allclose(told.mass[:, 0], shares[classes == "left"].sum(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(told.share.sum(axis=1), 1.0)
    assert told.labels.shape == (5, 4) and (told.predict(made.data) == classes).mean() > 0.8
    # Nodes that hold nothing take after their neighbours.
    far = fitted.class_map(made.data[:1], classes[:1])
    assert (far.share > 0.99).all() and far.mass.sum() == pytest.approx(1.0)
    classes[:100] = None
    classes[5], classes[6] = np.nan, pd.NA
    fewer = fitted.class_map(made.data, classes)
    assert fewer.mass.sum() == pytest.approx(200) and list(fewer.classes) == ["left", "right"]
    with pytest.raises(InputError, match="one class per row"):
        fitted.class_map(made.data, classes[:5])
    with pytest.raises(InputError, match="None or NaN"):
        fitted.class_map(made.data, [None] * 300)


def test_top_features():
    zoo = load_zoo()
    model = quiet_fit(zoo.frame, (4, 4), max_iter=10)
    rows = model.top_features([5], top=3)
    overall = model.weights_ @ model.components_
    standing = model.components_[5] * np.log(model.components_[5] / overall)
    names = list(zoo.frame.columns)
    assert [row["feature"] for row in rows] == [names[j] for j in np.argsort(-standing)[:3]]
    assert [row["rank"] for row in rows] == [1, 2, 3] and rows[0]["component"] == "node 6" and "z" not in rows[0]
    by_chance = model.top_features([5], top=1, rank="probability")
    assert by_chance[0]["probability"] == pytest.approx(model.components_[5].max())
    assert len(model.components_frame(top=1)) == 16 and len(model.top_features_frame(top=1)) == 16
    mask = np.zeros((4, 4), bool)
    mask[0, 1] = True
    assert {row["component"] for row in model.top_features(mask)} == {"node 2"}
    for rank in ("luck", np.full(3, np.nan)):
        with pytest.raises(InputError, match="rank must be one of"):
            model.top_features(rank=rank)
    for bad in ([16], [-1], [0.5], []):
        with pytest.raises(InputError, match="nodes must be"):
            model.top_features(bad)
    with pytest.raises(InputError, match="no column 'wings'"):
        model.component_planes("wings")


def test_regions_in_words(fitted):
    labels = fitted.regions(4).ravel()
    rows = fitted.regions_table(4, top=1)
    assert [row["component"] for row in rows] == ["region 1", "region 2", "region 3", "region 4"]
    assert len(fitted.regions_frame(4, 1)) == 4
    weights = [fitted.weights_[labels == g].sum() for g in range(4)]  # numbered alike, the largest first
    assert [row["weight"] for row in rows] == pytest.approx(weights) and weights == sorted(weights, reverse=True)
    largest = 0
    own = np.where(labels == largest, fitted.weights_, 0.0)
    assert all(row["lift"] > 1 for row in fitted.top_features(top=14) if row["rank"] > 1)
    chances = own @ fitted.components_ / own.sum()
    assert rows[0]["probability"] == pytest.approx(chances[rows[0]["feature"]])
    where = np.flatnonzero((fitted.latent_points_ == [rows[0]["x"], rows[0]["y"]]).all(axis=1))
    assert labels[where[0]] == largest


def test_child_maps(made, fitted):
    regions = fitted.regions(2)
    child = fitted.child(made.data, regions == 0, latent_shape=(4, 3), tol=1e-2)
    held = fitted.predict_proba(made.data)[:, (regions == 0).ravel()].sum()
    assert child.weight_seen_ == pytest.approx(held) and child.latent_shape_ == (4, 3)
    assert fitted.latent_shape == (5, 4)
    double = fitted.child(made.data, regions == 0, np.full(300, 2.0), latent_shape=(4, 3), tol=1e-2)
    assert double.weight_seen_ == pytest.approx(2 * held)
    sparse_node = int(fitted.weights_.argmin())
    if fitted.weights_[sparse_node] * 300 < 0.5:
        with pytest.raises(InputError, match="less than one row"):
            fitted.child(made.data, [sparse_node, sparse_node])
    with pytest.raises(InputError, match="one of them or more"):
        fitted.child(made.data, regions == 9)


def test_streams(made):
    whole = quiet_fit(made.data, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        stream = BinaryGTM((5, 4), block_rows=60, random_state=0)
        for _ in range(4):
            stream.partial_fit(made.data)
    assert stream.score(made.data) > whole.score(made.data) - 0.3
    more = whole.partial_fit(made.data[:100])
    assert np.isfinite(more.score(made.data)) and not hasattr(more, "objective_")


def test_grid_search(made):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        search = GridSearchCV(
            BinaryGTM((5, 5), max_iter=5), {"ridge": [0.1, 1000.0], "basis_shape": [2 * (2,), 2 * (3,)]}, cv=2
        )
        search.fit(made.data)
    assert search.best_params_["ridge"] == 0.1


def test_constant_and_unknown_columns():
    X = make_map(80, 6, random_state=0).data
    X[:, 0], X[:, 1], X[:, 2] = 0.0, 1.0, np.nan
    with pytest.warns(TableWarning) as caught:
        model = BinaryGTM((4, 4), tol=1e-3).fit(X)
    told = " ".join(str(w.message) for w in caught)
    assert "2 columns with only one value" in told and "without any known cell" in told
    assert np.isfinite(model.basis_weights_).all() and np.isfinite(model.score(X))
    assert model.components_[:, 0].max() < 0.1 and model.components_[:, 1].min() > 0.9


def test_the_summary_tells_of_the_map(fitted):
    text = fitted.summary()
    assert "5 × 4 nodes and 7 functions on 14 features" in text and "of 20 nodes" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"latent_shape": (2, 2)}, "too few nodes for a smooth map"),
        ({"latent_shape": (5, 1)}, "too few nodes"),
        ({"latent_shape": (2000, 2000)}, r"more than 100,000 nodes, for a table of \d+ rows × 14 columns"),
        ({"latent_shape": (2, 2, 2, 2)}, "up to three"),
        ({"latent_shape": "big"}, "whole number"),
        ({"latent_shape": (5.0, 4)}, "whole number"),
        ({"latent_shape": True}, "whole number"),
        ({"basis_shape": (1, 4)}, "2 centres or more"),
        ({"basis_shape": (3,)}, "one number per axis"),
        ({"basis_shape": 9}, "more than the 20 nodes"),
        ({"callbacks": print}, "list of functions"),
        ({"n_jobs": 0}, "other than 0"),
        ({"basis": "spline"}, "basis must be one of"),
        ({"basis_width": 0.0}, "above 0"),
        ({"linear": "yes"}, "True or False"),
        ({"weight_prior": "flat"}, "weight_prior must be one of"),
        ({"weight_concentration": 0.5}, "1 or more"),
        ({"basis_prior": "laplace"}, "basis_prior must be one of"),
        ({"basis": "identity", "basis_prior": "ridge"}, "Beta prior only"),
        ({"ridge": -1.0}, "0 or more"),
        ({"smoothing": 0.0}, "above 0"),
        ({"solver": "sgd"}, "solver must be one of"),
        ({"n_inner": 0}, "1 or more"),
        ({"init": "kmeans"}, "'pca', 'pca-rank', 'random'"),
        ({"init": np.zeros((3, 3))}, r"shape \(7, 14\)"),
        ({"init": [["a"]]}, "cannot be read"),
        ({"max_iter": 0}, "1 or more"),
    ],
)
def test_bad_options(made, options, words):
    with pytest.raises(InputError, match=words):
        BinaryGTM(**{"latent_shape": (5, 4), **options}).fit(made.data)


def test_bad_tables_and_questions(made, fitted):
    with pytest.raises(InputError, match="at least 2 columns and 3 rows"):
        BinaryGTM((3, 3)).fit(np.array([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(InputError, match="fewer axes"):
        BinaryGTM((3, 3)).fit(np.array([[0.0], [1.0], [1.0]]))
    with pytest.raises(InputError, match="kind must be"):
        fitted.transform(made.data, kind="median")
    for points in ([[0.0]], [0.0, 1.0], [["a", "b"]], [[0.0], [0.0, 1.0]]):
        with pytest.raises(InputError, match="rows of 2 finite coordinates"):
            fitted.inverse_transform(points)
    for points in ([[np.nan, 0.0]], [[5.0, 0.0]]):
        with pytest.raises(InputError, match="from -1 to 1"):
            fitted.inverse_transform(points)
    flat = quiet_fit(made.data, (3, 3), basis="identity", max_iter=3)
    for ask in (
        flat.magnification,
        lambda: flat.transform(made.data, kind="refined"),
        lambda: flat.inverse_transform([[0, 0]]),
    ):
        with pytest.raises(InputError, match="basis='rbf'"):
            ask()
    for change, words in (({"latent_shape": (4, 4)}, "another shape"), ({"basis_shape": (3, 2)}, "another basis")):
        held = quiet_fit(made.data, warm_start=True, max_iter=2, basis_shape=(2, 2)).set_params(**change)
        with pytest.raises(InputError, match=words):
            held.fit(made.data)


def test_known_map_is_found():
    made = make_map(1500, 60, random_state=0)
    model = quiet_fit(made.data[:1000], (12, 12), basis_shape=(4, 4), max_iter=60)
    assert trustworthiness(made.places[1000:], model.transform(made.data[1000:]), n_neighbors=10) > 0.94


def test_sums_of_a_table_and_class_statistics():
    """What the M-step sees of a fit stands for the table it came from."""
    X = make_map(100, 6, random_state=0).data
    model = quiet_fit(X, (4, 4), max_iter=30)
    stats = model._model.expected_stats(model._params)
    assert isinstance(stats, ClassStats) and stats.mass.sum() == pytest.approx(1.0)
    sums, _ = table_sums(LocalSweep(open_source(X)))
    np.testing.assert_allclose(stats.on.sum(axis=1), sums.ones / 100, atol=0.02)


def test_a_file_of_a_map_with_too_many_nodes_is_refused(fitted, tmp_path):
    model = copy.deepcopy(fitted).set_params(latent_shape=(2000, 2000))
    model.save(tmp_path / "map")
    with pytest.raises(FileError, match="more than 100,000 nodes"):
        latentbits.load(tmp_path / "map")
