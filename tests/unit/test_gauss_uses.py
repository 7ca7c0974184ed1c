"""Classifier and selector on the latent Bernoulli-Gauss model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from latentbits import BernoulliGaussClassifier, BernoulliGaussMixture, BernoulliGaussSelector, select
from latentbits.data.source import open_source
from latentbits.data.values import REALS
from latentbits.errors import InputError, LatentBitsWarning, TableWarning

from .test_bernoulli_gauss import topics


def test_classes_are_compared_by_their_densities():
    X, y = topics(300, 24, 3)
    names = np.array(["c", "a", "b"])[y]
    model = BernoulliGaussClassifier(2, class_prior=[0.5, 0.25, 0.25], random_state=0).fit(X, names)
    assert model.score(X, names) > 0.9 and list(model.classes_) == ["a", "b", "c"]
    scores = np.stack([e.score_samples(X) for e in model.estimators_], axis=1) + np.log([0.5, 0.25, 0.25])
    np.testing.assert_allclose(model.joint_log_scores(X), scores)
    np.testing.assert_allclose(model.decision_function(X), scores)
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), chances / chances.sum(axis=1, keepdims=True), atol=1e-12)
    # Floors are shared, told by all rows.
    floors = [e._model.words.floors for e in model.estimators_]
    np.testing.assert_array_equal(floors[0], floors[1])
    variances = X.var(axis=0)
    np.testing.assert_allclose(floors[0], 0.01 * variances, rtol=1e-9)
    sparse = BernoulliGaussClassifier(2, class_prior=[0.5, 0.25, 0.25], random_state=0).fit(sp.csc_array(X), names)
    np.testing.assert_allclose(sparse.joint_log_scores(sp.csr_array(X)), scores, rtol=1e-9)


def test_weights_and_priors_of_classes():
    X, y = topics(120, 12, 2)
    weights = np.random.default_rng(0).integers(0, 3, 120)
    weighted = BernoulliGaussClassifier(1, class_prior="empirical", random_state=0).fit(X, y, weights)
    repeated = BernoulliGaussClassifier(1, class_prior="empirical", random_state=0).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    np.testing.assert_allclose(weighted.joint_log_scores(X), repeated.joint_log_scores(X), rtol=1e-8)
    by_class = BernoulliGaussClassifier({0: 2, 1: 3}, random_state=0).fit(X, y)
    assert [e.n_components for e in by_class.estimators_] == [2, 3]


def test_numbers_of_topics_by_cross_validation():
    X, y = topics(240, 16, 4)
    y = y % 2  # two topics in every class
    model = BernoulliGaussClassifier("cv", init="k-means", random_state=0).fit(X, y)
    assert list(model.cv_errors_) == [1, 2, 5, 10]
    best = min(model.cv_errors_, key=lambda k: (model.cv_errors_[k], k))
    assert [e.n_components for e in model.estimators_] == [best, best] and model.cv_errors_[2] < model.cv_errors_[1]
    same = BernoulliGaussClassifier(best, init="k-means", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.joint_log_scores(X), same.joint_log_scores(X))
    with pytest.raises(InputError, match="a dict or 'cv'"):
        BernoulliGaussClassifier("many").fit(X, y)


def test_choosing_the_number_of_topics():
    X, _ = topics(300, 30, 3)
    chosen = select(BernoulliGaussMixture(n_keywords=4, init="k-means", random_state=0), X, range(1, 6))
    assert chosen.criterion == "rows" and chosen.simplest_ == 3
    with pytest.raises(InputError, match="Use criterion='rows'"):
        select(BernoulliGaussMixture(), X, criterion="cells")


def test_thresholds():
    X, y = topics(400, 20, 2, seed=3)
    noise = np.random.default_rng(0).random(X.shape) < 0.3
    X = np.where(noise, np.random.default_rng(1).gamma(2.0, 1.0, X.shape), X)
    model = BernoulliGaussClassifier(1, random_state=0).fit(X[:200], y[:200])
    for share in (0.0, 0.02, 0.1):
        model.tune_threshold(X[200:], y[200:], share)
        wrong = ((model.predict(X[200:]) == 1) & (y[200:] == 0)).mean()
        assert wrong <= share
        assert wrong > share - 2 / 200
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1] > 0.5, model.decision_function(X) > 0)
    with pytest.raises(InputError, match="for two classes"):
        BernoulliGaussClassifier(1, random_state=0).fit(X, np.arange(400) % 3).tune_threshold(X, y)


def test_columns_that_one_class_always_has():
    """A zero there is no more than the class's keyword probability says: cross-Gaussians cancel between the classes."""
    rng = np.random.default_rng(0)
    X = rng.gamma(2.0, 1.0, (80, 4))
    y = np.repeat([0, 1], 40)
    X[:, 0] = np.where(y == 0, 5.5, X[:, 0] * (rng.random(80) < 0.5))
    X[y == 1, 1] = 0.0
    model = BernoulliGaussClassifier(1, random_state=0).fit(X, y)
    scores = model.joint_log_scores(np.array([[0.0, 1.0, 1.0, 1.0]]))[0]
    assert abs(scores[0] - scores[1]) < 30


def test_what_a_keyword_is_is_settled_on_all_rows():
    X, y = topics(100, 16, 2)
    X[y == 1] *= np.random.default_rng(0).random((int((y == 1).sum()), 16)) < 0.4
    X[:, 0] += 0.1
    for number in ("auto", 3):
        model = BernoulliGaussClassifier(1, n_keywords=number, random_state=0).fit(X, y)
        rules = {(e._model.n_keywords, e._model.all_ties) for e in model.estimators_}
        assert len(rules) == 1
    whole = BernoulliGaussClassifier(1, n_keywords=2, random_state=0).fit(np.ceil(X), y)
    assert whole.estimators_[0]._model.all_ties


def test_constant_columns_borrow_a_floor():
    for n in (7, 33, 100):
        X = np.column_stack((np.full(n, 0.1), np.random.default_rng(0).random((n, 2))))
        model = BernoulliGaussMixture(1, random_state=0).fit(X)
        assert model._model.words.floors[0] > 1e-6


def test_open_tables_are_not_touched():
    X, y = topics(60, 10, 2)
    source = open_source(X, binarize=REALS)
    model = BernoulliGaussMixture(2, n_keywords=3, random_state=0).fit(X)
    before = model.predict_proba(source)
    model.keyword_mask(source)
    BernoulliGaussClassifier(1, random_state=0).fit(source, y)
    np.testing.assert_array_equal(model.predict_proba(source), before)


def test_messages_of_the_classifier():
    X, y = topics(40, 8, 2)
    for options, words in (
        ({"class_prior": "flat"}, "class_prior must be"),
        ({"class_prior": [0.5, 0.6]}, "sum to 1"),
        ({"n_components": 0}, "1 or more"),
    ):
        with pytest.raises(InputError, match=words):
            BernoulliGaussClassifier(**options).fit(X, y)
    model = BernoulliGaussClassifier(1, variance_floor="auto", random_state=0).fit(X, y)
    for ask in (lambda: model.tune_threshold(X, np.ones(40)), lambda: model.tune_threshold(X, y[:3])):
        with pytest.raises(InputError, match="one class per row"):
            ask()
    with pytest.raises(InputError, match="from 0 to 1"):
        model.tune_threshold(X, y, -0.1)
    with pytest.raises(InputError, match="no number for class"):
        BernoulliGaussClassifier({"x": 2}).fit(X, y)
    with pytest.raises(InputError, match="every cell of class"):
        BernoulliGaussClassifier(1).fit(np.where(y[:, None] == 1, 0.0, X), y)
    with pytest.raises(InputError, match="2 classes or more"):
        BernoulliGaussClassifier().fit(X, np.zeros(40))
    with pytest.raises(InputError, match="inconsistent"):
        BernoulliGaussClassifier().fit(X, y[:7])
    with pytest.warns(TableWarning, match="has 2 rows for 5 components"):
        BernoulliGaussClassifier(5, random_state=0).fit(X, [1, 1, *[0] * 38])
    with pytest.raises(InputError, match="BernoulliGaussClassifier is expecting 8"):
        BernoulliGaussClassifier(1, random_state=0).fit(X, y).predict(X[:, :5])


def test_selected_features_are_the_keywords_of_topics():
    X, y = topics(300, 30, 3)
    X = np.hstack((X, 0.001 * (np.random.default_rng(0).random((300, 10)) < 0.5)))  # never among the largest
    topics_of = BernoulliGaussMixture(3, n_keywords=4, random_state=0)
    selector = BernoulliGaussSelector(topics_of, threshold=0.05).fit(X)
    assert selector.get_support()[:30].mean() > 0.9 and not selector.get_support()[30:].any()
    raw = selector.estimator_.keyword_prob_raw_
    np.testing.assert_allclose(selector.scores_[:30], raw.max(axis=0)[:30])
    np.testing.assert_array_equal(selector.transform(X), X[:, selector.get_support()])
    assert BernoulliGaussSelector(topics_of, max_features=7).fit(X).get_support().sum() == 7
    assert BernoulliGaussSelector(topics_of, quantile=0.25).fit(X).get_support().sum() == 10
    again = BernoulliGaussSelector(selector.estimator_, threshold=0.05, prefit=True).fit(X)
    np.testing.assert_array_equal(again.get_support(), selector.get_support())
    pipeline = make_pipeline(BernoulliGaussSelector(topics_of), Normalizer(), LogisticRegression())
    assert pipeline.fit(sp.csr_array(X), y).score(sp.csr_array(X), y) > 0.9


def test_small_topics_have_no_say():
    X, _ = topics(60, 12, 2)
    X[0] = 0.0
    X[0, 11] = 9.0
    shares = np.zeros((60, 2))
    shares[1:, 0] = shares[0, 1] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        alone = BernoulliGaussMixture(2, n_keywords=2, init=shares, max_iter=1).fit(X)
    assert alone.expected_rows_.min() < 10
    selector = BernoulliGaussSelector(alone, prefit=True).fit(X)
    large = alone.expected_rows_ >= 10
    often = (alone.keyword_prob_raw_ * alone.expected_rows_[:, None]).sum(axis=0) >= 2
    np.testing.assert_allclose(selector.scores_, np.where(often, alone.keyword_prob_raw_[large].max(axis=0), 0.0))


def test_messages_of_the_selector():
    X, _ = topics(60, 12, 2)
    for options, words in (
        ({"threshold": 2.0}, "from 0 to 1"), ({"max_features": 0}, "1 or more"), ({"quantile": -1}, "from 0 to 1"),
        ({"quantile": 0.5, "max_features": 3}, "exclude each other"), ({"prefit": True}, "needs an estimator"),
        ({"threshold": 1.0, "estimator": BernoulliGaussMixture(2, n_keywords=1, random_state=0)}, "no feature is kept"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            BernoulliGaussSelector(**options).fit(X)


CLASSES = np.array(["a", "b"] * 12)
WEIGHTS = np.where(CLASSES[:, None] == "a", [4.0, 3.0, 0.0, 1.0], [0.0, 1.0, 4.0, 3.0]) + np.random.default_rng(
    5
).random((24, 4))


def test_a_classifier_goes_on_from_its_checkpoints(tmp_path):
    """Also without a seed, and where the number of topics is chosen: fits of the choice keep none."""
    for n_components in (2, "cv"):
        for seed in (0, None):
            path = tmp_path / f"{n_components}-{seed}"
            options = {"n_components": n_components, "random_state": seed, "checkpoint": path, "max_iter": 8}
            first = quiet(BernoulliGaussClassifier(**options), WEIGHTS, CLASSES)
            assert sorted(file.name for file in tmp_path.glob(f"{path.name}-*")) == [f"{path.name}-{c}" for c in (0, 1)]
            again = quiet(BernoulliGaussClassifier(**options), WEIGHTS, CLASSES)
            if n_components == 2 or seed == 0:  # without a seed another number may be chosen
                assert again.joint_log_scores(WEIGHTS).tobytes() == first.joint_log_scores(WEIGHTS).tobytes()


def test_a_classifier_starts_warm_where_it_may():
    """The same classes go on, with the floors of the new table; others begin anew."""
    options = {"n_components": 2, "random_state": 0, "max_iter": 3, "warm_start": True}
    model = quiet(BernoulliGaussClassifier(**options), WEIGHTS, CLASSES)
    before = [estimator.objective_ for estimator in model.estimators_]
    quiet(model, WEIGHTS, CLASSES)
    assert all(estimator.objective_ >= value - 1e-9 for estimator, value in zip(model.estimators_, before))
    quiet(model, 10 * WEIGHTS, CLASSES)
    fresh = quiet(BernoulliGaussClassifier(**options), 10 * WEIGHTS, CLASSES)
    for ours, theirs in zip(model.estimators_, fresh.estimators_):
        np.testing.assert_array_equal(ours._model.words.floors, theirs._model.words.floors)
    model = quiet(BernoulliGaussClassifier(**options), WEIGHTS, CLASSES)
    second = model.estimators_[1].objective_
    renamed = np.where(CLASSES == "a", "c", "b")  # the class that was second comes first, and "c" is new
    quiet(model, WEIGHTS, renamed)
    fresh = quiet(BernoulliGaussClassifier(**options), WEIGHTS, renamed)
    assert model.estimators_[0].objective_ >= second - 1e-9
    assert model.estimators_[1].objective_ == fresh.estimators_[1].objective_


def quiet(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return model.fit(X, y)
