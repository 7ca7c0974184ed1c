"""Latent Bernoulli-Gauss: keywords, steps, starts, answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import BernoulliGaussMixture, BernoulliMixture
from latentbits.bernoulli_gauss.alternating import RULES
from latentbits.bernoulli_gauss.estimator import _words
from latentbits.bernoulli_gauss.model import LbgModel, LbgParams
from latentbits.data.source import open_source
from latentbits.data.values import REALS
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import CellError, InputError, LatentBitsWarning, TableWarning
from latentbits.metrics import clustering_accuracy

from ..reference import bernoulli_gauss as twin


def topics(n=300, d=30, k=3, seed=0):
    """Rows with words of their own topic, and some of any."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    chances = np.full((k, d), 0.05)
    for s in range(k):
        chances[s, s * d // k : (s + 1) * d // k] = 0.5
    on = rng.random((n, d)) < chances[labels]
    on[np.arange(n), labels * d // k] |= ~on.any(axis=1)  # no row is empty
    return on * rng.gamma(2.0, 1.0, (n, d)), labels


def quiet_fit(X, k=3, weights=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return BernoulliGaussMixture(k, **{"random_state": 0, **options}).fit(X, sample_weight=weights)


def opened(X, weights=None, block_rows=None):
    return LocalSweep(open_source(X, binarize=REALS, sample_weight=weights, block_rows=block_rows))


@pytest.mark.parametrize("all_ties", [False, True])
@pytest.mark.parametrize("q", [1, 3, 50])
def test_keywords(q, all_ties):
    X = np.round(topics(40, 12)[0])  # whole numbers have ties
    X[3] = 0
    model = quiet_fit(X, n_keywords=q, ties="all" if all_ties else "first", max_iter=2)
    np.testing.assert_array_equal(model.keyword_mask(X).toarray(), twin.keywords(X, q, all_ties).astype(bool))
    share = quiet_fit(X, n_keywords=0.5, ties="first", max_iter=2).keyword_mask(X).sum(axis=1)
    counts = (X > 0).sum(axis=1)
    np.testing.assert_array_equal(share, np.where(counts > 0, np.maximum(np.floor(0.5 * counts + 0.5), 1), 0))


def test_automatic_keywords():
    X, _ = topics(101, 20)
    counts = np.sort((X > 0).sum(axis=1))
    model = quiet_fit(X, max_iter=2)
    assert model.n_keywords_ == max(1, np.floor(0.5 * counts[50] + 0.5)) and not model._model.all_ties
    assert quiet_fit(np.round(X), max_iter=2)._model.all_ties


@pytest.mark.parametrize("strengths", [(1.0, 10.0, 0.0), (0.3, 2.0, 0.5)])
def test_a_pass_is_the_equations(strengths):
    alpha, kappa, beta = strengths
    X, _ = topics(40, 9)
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, 40).astype(float)
    marks = twin.keywords(X, 3)
    prior = twin.words(X, marks, weights, 0.01)
    for table, block_rows in ((X, None), (sp.csc_array(X), 7)):
        sweep = opened(table, weights, block_rows)
        fitted = quiet_fit(table, 2, weights, n_keywords=3, max_iter=1, smoothing=alpha, value_smoothing=kappa,
                           weight_concentration=1 + beta)  # fmt: skip
        found = fitted._model.words
        for ours, theirs in zip(found, prior):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        model = LbgModel(2, found, 3.0, smoothing=alpha, value_smoothing=kappa, concentration=1 + beta)
        shares = rng.dirichlet(np.ones(2), 40)
        wanted = twin.m_step(X, marks, weights, shares, prior, alpha, kappa, beta)
        params = LbgParams(*wanted)
        precomputed = model.precompute(params)
        stats = sweep.map(model.e_step, [None] * sweep.n_blocks, precomputed, keep_rows=False)[0]
        logs = twin.log_rows(X, marks, *wanted, *prior[4:])
        cross = np.where(marks == 1, 0.0, twin.log_normal(X, *prior[4:])).sum(axis=1)
        total = np.logaddexp(*logs.T)
        assert stats.log_likelihood == pytest.approx(weights @ (total - cross), rel=1e-10)
        expected = weights @ (total - cross) + twin.penalty(*wanted, prior, alpha, kappa, beta)
        assert model.objective(precomputed, stats) == pytest.approx(expected, rel=1e-10)
        mu = np.exp(logs - total[:, None])
        new = model.m_step(params, stats, None)
        for ours, theirs in zip(new[:4], twin.m_step(X, marks, weights, mu, prior, alpha, kappa, beta)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-11)
        block = open_source(table, binarize=REALS).block(0)
        np.testing.assert_allclose(model.log_prob(block, precomputed), total[: block.n_rows], rtol=1e-9)
        np.testing.assert_allclose(model.memberships(block, precomputed), mu[: block.n_rows], rtol=1e-8, atol=1e-12)


def test_the_m_step_is_the_maximum():
    """The penalised auxiliary function falls in every direction from the closed forms."""
    X, _ = topics(60, 8)
    marks, weights = twin.keywords(X, 3), np.ones(60)
    prior = twin.words(X, marks, weights, 1e-6)
    mu = np.random.default_rng(0).dirichlet(np.ones(2), 60)

    def value(lam, p, c, v):
        logs = np.stack([
            np.log(lam[s]) + np.where(marks == 1, np.log(p[s]) + twin.log_normal(X, c[s], v[s]), np.log(1 - p[s])).sum(axis=1)
            for s in range(2)
        ], axis=1)  # fmt: skip
        return (mu * logs).sum() + twin.penalty(lam, p, c, v, prior, 1.0, 10.0, 0.0)

    best = twin.m_step(X, marks, weights, mu, prior, 1.0, 10.0, 0.0)
    top, rng = value(*best), np.random.default_rng(1)
    for size in (1e-4, 1e-2, 0.1):
        for _ in range(10):
            p = np.clip(best[1] * np.exp(size * rng.standard_normal(best[1].shape)), 1e-9, 1 - 1e-9)
            c = best[2] + size * rng.standard_normal(best[2].shape)
            v = best[3] * np.exp(size * rng.standard_normal(best[3].shape))
            assert value(best[0], p, c, v) < top


def test_the_objective_never_falls_once_warm(monkeypatch):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    X, _ = topics()
    for init in ("k-means", "anneal", "random"):
        model = quiet_fit(X, init=init, tol=0.0, max_iter=60)
        for path in model.history_:
            warm = np.array(path[26:] if init == "anneal" else path)
            assert (np.diff(warm) >= -1e-9 * np.abs(warm[1:])).all()


def test_soft_indicators_are_the_equations(monkeypatch):
    """A pass on dense rows by hand, zeros included; the density integrates to one; EM never loses."""
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    X, _ = topics(50, 7, 2)
    model = quiet_fit(X, 2, indicators="soft", tol=0.0, max_iter=60)
    for path in model.history_:
        warm = np.array(path[26:])
        assert (np.diff(warm) >= -1e-9 * np.abs(warm[1:])).all()
    maths, params = model._model, model._params
    precomputed = maths.precompute(params)
    sweep = opened(X, block_rows=11)
    stats = maths.finalize_stats(
        precomputed, sweep.map(maths.e_step, [None] * sweep.n_blocks, precomputed, keep_rows=False)[0]
    )
    on = np.stack(
        [np.log(params.probs[s]) + twin.log_normal(X, params.means[s], params.variances[s]) for s in range(2)]
    )
    cross = twin.log_normal(X, params.cross_means, params.cross_variances)
    off = np.stack([np.log(1 - params.probs[s]) + cross for s in range(2)])
    both = np.logaddexp(on, off)  # (K, n, D)
    logs = np.log(params.weights) + both.sum(axis=2).T
    total = np.logaddexp(*logs.T)
    assert stats.log_likelihood == pytest.approx(total.sum(), rel=1e-10)
    np.testing.assert_allclose(model.score_samples(X), total, rtol=1e-9)
    mu, rho = np.exp(logs - total[:, None]), np.exp(on - both)
    for power in range(3):
        away = (X - maths.words.centers) ** power
        mine = np.einsum("nk,knd,nd->dk", mu, rho, away)
        np.testing.assert_allclose(stats.sums[:, power], mine, rtol=1e-8, atol=1e-10)
        rest = np.einsum("nk,knd,nd->d", mu, 1 - rho, away)
        np.testing.assert_allclose(stats.others[:, power], rest, rtol=1e-8, atol=1e-10)
    new = maths.m_step(params, stats, None)
    seen = np.einsum("nk,knd->kd", mu, rho)
    np.testing.assert_allclose(new.probs, (seen + maths.words.shares) / (mu.sum(axis=0) + 1)[:, None], rtol=1e-8)
    with pytest.raises(InputError, match="soft indicators"):
        model.keyword_mask(X)
    assert model.n_free_ == 1 + 3 * 2 * 7 + 14


def test_rules_for_numbers_of_keywords():
    p = np.array([[0.9, 0.5, 0.5, 0.1, 0.0], [0.6, 0.6, 0.0, 0.0, 0.0]])
    mass, wanted = np.array([10.0, 4.0]), np.array([20.0, 12.0])
    assert RULES["paper"](p, np.array([2.0, 4.0]), mass, wanted).tolist() == [3, 0]
    assert RULES["full"](p, np.array([9.0, 9.0]), mass, wanted).tolist() == [3, 2]  # levels 0.4 and 0.6
    assert RULES["hindex"](p, mass, mass, wanted).tolist() == [2, 2]  # 4.5 2.5 2.5: two words of at least 2


def test_numbers_of_keywords_may_be_learned(monkeypatch):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    X, labels = topics(200, 24, 2, seed=1)
    for rule in ("paper", "full", "hindex"):
        model = quiet_fit(X, 2, n_keywords=4, keyword_update=rule)
        last = model.alternation_[-1]
        assert (model.stop_reason_ == "fixed_point") == (last["flips"] == 0 and len(model.alternation_) < 30)
        assert len(model.n_keywords_) == 2 and (model.n_keywords_ >= 1).all() and len(model.alternation_) >= 1
        path = np.array(model.history_[-1])  # keywords frozen
        assert (np.diff(path) >= -1e-9 * np.abs(path[1:])).all() and model.objective_ == path[-1]
        assert np.isfinite(model.score(X)) and clustering_accuracy(labels, model.predict(X)) > 0.8
        mask = model.keyword_mask(X)
        assert mask.sum() >= len(X)
    held = quiet_fit(X, 2, warm_start=True, max_iter=2).set_params(indicators="soft")
    with pytest.raises(InputError, match="other indicators"):
        held.fit(X)
    with pytest.raises(InputError, match="hard indicators"):
        quiet_fit(X, keyword_update="paper", indicators="soft")


def test_cycles_are_told():
    """The paper's rule falls in q, so it jumps to and fro: with one topic here between 1 and 14 keywords."""
    rng = np.random.default_rng(4)
    X = (rng.random((40, 20)) < 0.6) * rng.gamma(2.0, 1.0, (40, 20))
    model = quiet_fit(X, 1, n_keywords=3, keyword_update="paper", init="random")
    assert model.stop_reason_ == "cycle(2)"
    assert [step["q"][0] for step in model.alternation_[-3:]] == [14.0, 1.0, 14.0]
    assert 1 <= model.n_keywords_[0] <= 20  # the number that agrees with itself instead


def test_binary_tables_are_bernoulli_mixtures():
    """On 0/1 tables with all ties every one is a keyword, all Gaussians coincide, and posteriors are those of the mixture."""
    X = (topics(200, 15)[0] > 0).astype(float)
    with pytest.warns(TableWarning, match="BernoulliMixture is the direct tool"):
        model = BernoulliGaussMixture(3, random_state=0, ties="all").fit(X)
    same = BernoulliMixture(3, init=model.keyword_prob_, max_iter=1, n_init=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        same.fit(X)
    same._params = same._params._replace(weights=model.weights_, probs=model.keyword_prob_)
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-10)


def test_cross_gaussians_do_not_move_posteriors():
    X, _ = topics()
    model = quiet_fit(X)
    before = model.predict_proba(X)
    words = model._model.words
    changed = words._replace(cross_means=words.cross_means + 1.0, cross_variances=words.cross_variances * 3)
    model._model = type(model._model)(**{**vars(model._model), "words": changed})
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_topics_are_found():
    X, labels = topics()
    model = quiet_fit(X)
    assert clustering_accuracy(labels, model.labels_) > 0.9
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    for s in range(3):
        own = np.bincount(labels[model.labels_ == s]).argmax()
        best = {row["feature"] for row in model.top_keywords(s, 5)}
        assert best <= {str(j) for j in range(10 * own, 10 * own + 10)}
    assert model.stop_reason_ == "converged" and len(model.restarts_) == 4
    raw = model.keyword_prob_raw_
    assert (raw >= 0).all() and (raw <= 1 + 1e-12).all() and (model.variances_ >= model._model.words.floors).all()


def test_columns_may_be_permuted_with_all_ties():
    X = np.round(topics(100, 12)[0])
    order = np.random.default_rng(0).permutation(12)
    first = quiet_fit(X, init=np.arange(100) % 3, ties="all", max_iter=5)
    second = quiet_fit(X[:, order], init=np.arange(100) % 3, ties="all", max_iter=5)
    np.testing.assert_allclose(first.keyword_prob_[:, order], second.keyword_prob_, rtol=1e-9)


def test_one_topic():
    X, _ = topics()
    model = quiet_fit(X, 1)
    assert (model.predict_proba(X) == 1).all() and np.isfinite(model.score(X))


def test_given_starts():
    X, labels = topics()
    by_label = quiet_fit(X, init=labels, max_iter=1)
    by_share = quiet_fit(X, init=np.eye(3)[labels], max_iter=1)
    np.testing.assert_array_equal(by_label.keyword_prob_, by_share.keyword_prob_)
    for bad in (labels[:5], np.full(300, 7), -np.ones((300, 3)), np.zeros((300, 2))):
        with pytest.raises(InputError, match="init must be shares"):
            quiet_fit(X, init=bad)


def test_dead_topics_are_named():
    X, labels = topics(60, 12)
    shares = np.eye(3)[np.minimum(labels, 1)]
    with pytest.warns(TableWarning, match=r"topic \d holds? no rows"):
        model = BernoulliGaussMixture(3, init=shares, smoothing=0.0, value_smoothing=1.0).fit(X)
    assert model.empty_components_ and np.isfinite(model.score(X))


def test_samples_are_rows():
    X, _ = topics()
    model = quiet_fit(X)
    rows, found = model.sample(500, random_state=0, return_causes=True)
    assert rows.shape == (500, 30) and (rows >= 0).all() and set(found) == {0, 1, 2}


def test_messages():
    X, _ = topics(20, 6)
    for options, words in (
        ({"n_keywords": 0}, "n_keywords must be"), ({"n_keywords": 1.5}, "n_keywords must be"),
        ({"n_keywords": "many"}, "n_keywords must be"), ({"ties": "none"}, "ties must be"),
        ({"smoothing": -1.0}, "0 or more"), ({"variance_floor": 0.0}, "above 0"), ({"init": "best"}, "init must be"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            quiet_fit(X, **options)
    for row, column, value, words in ((2, 3, -1.0, "Negative"), (1, 0, np.nan, "NaN"), (4, 2, np.inf, "infinity")):
        bad = X.copy()
        bad[row, column] = value
        for table in (bad, sp.csr_array(bad)):
            with pytest.raises(CellError, match=rf"row {row}, column {column}.*{words}"):
                quiet_fit(table)
    with pytest.raises(InputError, match="every cell of the table is 0"):
        quiet_fit(np.zeros((5, 3)))
    with pytest.raises(InputError, match="7 topics need as many rows"):
        quiet_fit(X[:5], 7)
    with pytest.warns(TableWarning, match="1 row without any entry"):
        BernoulliGaussMixture(2, random_state=0).fit(np.vstack((X, np.zeros(6))))
    model = quiet_fit(X)
    with pytest.raises(InputError, match="component must be a number from 0 to 2"):
        model.top_keywords(9)
    assert not hasattr(model, "impute") and not hasattr(model, "partial_fit")


def test_words_of_a_table_without_keywords_left():
    """Every entry a keyword, and a column of one value only: floors and cross-Gaussians stay finite."""
    X, _ = topics(30, 5)
    X[:, 0] = 2.0
    sweep = opened(X)
    from latentbits.base.passes import table_sums

    sums, _ = table_sums(sweep)
    words = _words(sums, sweep, LbgModel(1, n_keywords=5.0), sums.sums / sums.ones, 0.01)
    assert all(np.isfinite(part).all() for part in words) and (words.floors > 0).all()
