"""Mixture of unigrams and PLSA: equations, relatives, answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import NMF
from sklearn.naive_bayes import MultinomialNB

from latentbits import PLSA, MixtureOfUnigrams
from latentbits.data.source import open_source
from latentbits.data.values import REALS
from latentbits.errors import InputError, LatentBitsWarning, TableWarning
from latentbits.metrics import clustering_accuracy
from latentbits.multinomial.plsa import PlsaModel, PlsaParams
from latentbits.multinomial.unigrams import UnigramModel, UnigramParams


def counts(n=200, d=20, k=3, seed=0, length=30):
    """Rows of one topic each."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(d, 0.2), size=k)
    labels = rng.integers(k, size=n)
    return np.stack([rng.multinomial(length, words[s]) for s in labels]).astype(float), labels


def quiet(estimator, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return estimator.fit(X, **options)


def test_one_topic_is_naive_bayes():
    X, _ = counts()
    ours = quiet(MixtureOfUnigrams(1), X)
    theirs = MultinomialNB(alpha=1.0).fit(X, np.zeros(len(X)))
    np.testing.assert_allclose(np.log(ours.components_[0]), theirs.feature_log_prob_[0], rtol=1e-12)


def test_a_pass_of_unigrams_is_the_equations():
    X, _ = counts(30, 8)
    rng = np.random.default_rng(0)
    weights, lam, words = (
        rng.integers(1, 4, 30).astype(float),
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(8), size=3),
    )
    model = UnigramModel(3, smoothing=0.5)
    params = UnigramParams(lam, words)
    for table in (X, sp.csc_array(X)):
        block = open_source(table, binarize=REALS, sample_weight=weights).block(0)
        precomputed = model.precompute(params)
        stats, _ = model.e_step(block, None, precomputed)
        logs = np.log(lam) + X @ np.log(words).T
        total = np.log(np.exp(logs - logs.max(axis=1, keepdims=True)).sum(axis=1)) + logs.max(axis=1)
        shares = np.exp(logs - total[:, None]) * weights[:, None]
        assert stats.log_likelihood == pytest.approx(weights @ total, rel=1e-12)
        assert model.objective(precomputed, stats) == pytest.approx(
            weights @ total + 0.5 * np.log(words).sum(), rel=1e-12
        )
        new = model.m_step(params, stats, None)
        np.testing.assert_allclose(new.weights, shares.sum(axis=0) / weights.sum(), rtol=1e-10)
        wanted = shares.T @ X + 0.5
        np.testing.assert_allclose(new.probs, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-10)
        np.testing.assert_allclose(model.log_prob(block, precomputed), total, rtol=1e-12)


def test_unigrams_find_topics_and_never_lose(monkeypatch):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    X, labels = counts()
    model = quiet(MixtureOfUnigrams(3, random_state=0), X)
    assert clustering_accuracy(labels, model.predict(X)) > 0.95 and len(model.restarts_) == 4
    given = quiet(MixtureOfUnigrams(3, init=labels), X)
    assert given.objective_ == pytest.approx(model.objective_, rel=1e-4)
    rows, topics = model.sample(300, random_state=0, return_causes=True)
    assert rows.shape == (300, 20) and abs(rows.sum(axis=1).mean() - 30) < 2 and set(topics) == {0, 1, 2}
    assert model.n_free_ == 2 + 3 * 19


def test_a_pass_of_plsa_is_the_equations():
    X, _ = counts(25, 7)
    rng = np.random.default_rng(1)
    weights, words, theta = (
        rng.integers(1, 4, 25).astype(float),
        rng.dirichlet(np.ones(7), size=3),
        rng.dirichlet(np.ones(3), size=25),
    )
    for b in (1.0, 0.7):
        model = PlsaModel(3, b, 0.2)
        params = PlsaParams(words, np.ones(3) / 3)
        block = open_source(sp.csr_array(X), binarize=REALS, sample_weight=weights).block(0)
        precomputed = model.precompute(params)
        stats, new_theta = model.e_step(block, theta, precomputed)
        joint = (theta[:, :, None] * words[None]) ** b  # (n, K, D)
        share = joint / joint.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(
            new_theta, (X[:, None] * share).sum(axis=2) / X.sum(axis=1, keepdims=True), rtol=1e-10
        )
        wanted = (weights[:, None, None] * X[:, None] * share).sum(axis=0) + 0.2
        np.testing.assert_allclose(
            model.m_step(params, stats, None).probs, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-10
        )
        assert stats.log_likelihood == pytest.approx(weights @ (X * np.log(joint.sum(axis=1))).sum(axis=1), rel=1e-11)


def test_plsa_is_nmf_with_divergence():
    """Same fixed point as multiplicative updates: from NMF's own end PLSA does not move, and the likelihoods agree."""
    X, _ = counts(80, 12, length=40)
    nmf = NMF(3, beta_loss="kullback-leibler", solver="mu", init="random", random_state=0, max_iter=20_000, tol=1e-12)
    W = nmf.fit_transform(X)
    fitted = W @ nmf.components_
    theirs = float((X * np.log(np.maximum(fitted / fitted.sum(axis=1, keepdims=True), 1e-300))).sum())
    theta = W * nmf.components_.sum(axis=1)
    theta /= theta.sum(axis=1, keepdims=True)
    words = nmf.components_ / nmf.components_.sum(axis=1, keepdims=True)
    model = PlsaModel(3)
    params = PlsaParams(np.maximum(words, 1e-300), np.ones(3) / 3)
    block = open_source(X, binarize=REALS).block(0)
    for _ in range(200):
        stats, theta = model.e_step(block, theta, model.precompute(params))
        params = model.m_step(params, stats, None)
    assert stats.log_likelihood == pytest.approx(theirs, rel=1e-6)


def test_plsa_never_loses(monkeypatch):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    X, labels = counts()
    model = quiet(PLSA(3, random_state=0, tol=1e-8), X)
    for path in model.history_:
        assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all()
    assert clustering_accuracy(labels, model.transform(X).argmax(axis=1)) > 0.9
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1.0)
    tempered = quiet(PLSA(3, temperature=0.8, random_state=0), X)
    assert clustering_accuracy(labels, tempered.transform(X).argmax(axis=1)) > 0.9


def test_the_temperature_may_be_chosen():
    X, _ = counts(60, 40, length=12)  # short rows: too many topics fit them one by one
    model = quiet(PLSA(8, temperature="auto", random_state=0), X)
    tried = list(model.perplexities_)
    assert tried[:2] == [1.0, 0.9] and model.temperature_ == min(tried, key=model.perplexities_.get) < 1.0
    same = quiet(PLSA(8, temperature=model.temperature_, random_state=0), X)
    np.testing.assert_array_equal(same.components_, model.components_)
    with pytest.raises(InputError, match="no whole tokens"):
        PLSA(2, temperature="auto").fit(X / 100)


def test_fold_in_and_the_other_parameterisation():
    X, _ = counts()
    model = quiet(PLSA(3, random_state=0, tol=1e-9, max_iter=2000), X)
    theta = model.transform(X)
    chances = theta @ model.components_
    np.testing.assert_allclose(model.score_samples(X), (X * np.log(chances)).sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(model.fold_in_scores(X), model.score_samples(X))
    rows, weights = model.document_weights(X)
    np.testing.assert_allclose(rows.sum(axis=0), 1.0)
    joint = np.einsum("z,dz,zw->dw", weights, rows, model.components_)
    np.testing.assert_allclose(joint, X.sum(axis=1, keepdims=True) / X.sum() * chances, rtol=1e-9)
    np.testing.assert_allclose(weights, model.weights_, atol=1e-4)
    assert not hasattr(model, "bic") and not hasattr(model, "predict")


def test_messages():
    X, _ = counts(20, 6)
    for estimator, words in (
        (MixtureOfUnigrams(smoothing=-1.0), "0 or more"), (MixtureOfUnigrams(init="best"), "init must be"),
        (PLSA(temperature=1.5), "up to 1"), (PLSA(temperature=0.0), "above 0"), (PLSA(30), "30 topics need as many rows"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            estimator.fit(X)
    with pytest.raises(InputError, match="every cell of the table is 0"):
        PLSA().fit(np.zeros((4, 3)))
    X[0] = 0
    with pytest.warns(TableWarning, match="1 row without any count"):
        PLSA(2, n_init=1, tol=1e-3, random_state=0).fit(X)


@pytest.mark.parametrize(
    "estimator", [MixtureOfUnigrams(2, random_state=0), PLSA(2, n_init=1, random_state=0)], ids=repr
)
def test_boolean_columns_of_files_are_numbers(estimator, tmp_path):
    """A Parquet table of true and false is a table of ones and zeros here, too."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = np.random.default_rng(0).random((40, 5)) < 0.4
    pq.write_table(pa.table({f"c{j}": table[:, j] for j in range(5)}), tmp_path / "bits.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        from_file, from_array = (
            clone(estimator).fit(tmp_path / "bits.parquet"),
            clone(estimator).fit(table.astype(float)),
        )
    assert from_file.components_.tobytes() == from_array.components_.tobytes()
