"""The variational mixture: its bound, its updates, and restarts that answer together."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import betaln, gammaln, psi

from latentbits import BernoulliMixture, VariationalBernoulliMixture
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.mixture.variational import VariationalModel, VariationalParams

from ..reference import bayesian as slow


def fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return model.fit(X)


@pytest.mark.parametrize("weights", ["dirichlet", "sticks"])
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_bound_is_the_long_hand_one(weights, unknown):
    """A9: Σ_n E log p(x, z) - E log q(z) - KLs, from the definitions, and the closed form right after the sums."""
    X = make_mixture(60, 7, 3, unknown=unknown, random_state=0).data
    alpha, b, g, k = 1.7, 0.6, 0.9, 4
    model = VariationalModel(k, np.full(7, 0.5), alpha=alpha, beta=b, gamma=g, weights=weights)
    rng = np.random.default_rng(0)
    mass = np.sort(rng.random(k) * 30)[::-1]
    on = mass[:, None] * rng.random((k, 7))
    params = VariationalParams(mass, on, mass[:, None] - on)
    block = open_source(X).block(0)
    precomputed = model.precompute(params)
    stats, _ = model.e_step(block, None, precomputed)
    found = model.objective(precomputed, model.finalize_stats(precomputed, stats))
    # Long hand.
    e_on, e_off = psi(b + params.on) - psi(b + g + mass[:, None]), psi(g + params.off) - psi(b + g + mass[:, None])
    if weights == "dirichlet":
        q = alpha / k + mass
        e_weights = psi(q) - psi(q.sum())
        prior = np.full(k, alpha / k)
        log_prior = gammaln(alpha) - gammaln(prior).sum() + ((prior - 1) * e_weights).sum()
        log_q = gammaln(q.sum()) - gammaln(q).sum() + ((q - 1) * e_weights).sum()
    else:
        first, second = 1 + mass[:-1], alpha + np.array([mass[j + 1 :].sum() for j in range(k - 1)])
        e_v, e_rest = psi(first) - psi(first + second), psi(second) - psi(first + second)
        e_weights = np.array([(e_v[j] if j < k - 1 else 0) + e_rest[:j].sum() for j in range(k)])
        log_prior = ((alpha - 1) * e_rest - betaln(1, alpha)).sum()
        log_q = ((first - 1) * e_v + (second - 1) * e_rest - betaln(first, second)).sum()
    log_prior += ((b - 1) * e_on + (g - 1) * e_off - betaln(b, g)).sum()
    log_q += ((b + params.on - 1) * e_on + (g + params.off - 1) * e_off - betaln(b + params.on, g + params.off)).sum()
    joint = e_weights + np.nan_to_num(X) @ e_on.T + np.where(np.isnan(X), 0, 1 - X) @ e_off.T
    r = np.exp(joint - joint.max(axis=1, keepdims=True))
    r /= r.sum(axis=1, keepdims=True)
    wanted = (r * (joint - np.log(r))).sum() + log_prior - log_q
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    # The closed form at the sums of these responsibilities, the next q.
    new = model.m_step(params, stats, None)
    order = model._best_order(r.sum(axis=0)) if weights == "sticks" else np.arange(k)
    n_k = new.mass
    np.testing.assert_allclose(n_k, r.sum(axis=0)[order], rtol=1e-10)
    closed = (betaln(b + new.on, g + new.off) - betaln(b, g)).sum() - (r * np.log(r)).sum()
    if weights == "dirichlet":
        closed += gammaln(alpha) - gammaln(alpha + 60) + (gammaln(alpha / k + n_k) - gammaln(alpha / k)).sum()
    else:
        later = np.array([n_k[j + 1 :].sum() for j in range(k - 1)])
        closed += (betaln(1 + n_k[:-1], alpha + later) - betaln(1, alpha)).sum()
    assert closed > found
    # Log joint of these responsibilities at the new q, plus its entropy, is the closed form.
    fresh = model.precompute(new)
    back = np.empty_like(r)
    back[:, :] = r[:, order]
    scores = model.log_joint(block, fresh)
    np.testing.assert_allclose(
        (back * scores).sum() - (r * np.log(r)).sum() - model.divergence(fresh.params), closed, rtol=1e-9
    )


@pytest.mark.parametrize("weights", ["dirichlet", "sticks"])
def test_bound_stays_below_the_evidence_and_never_falls(weights, monkeypatch):
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    if weights == "dirichlet":
        evidence = slow.posterior(slow.G, lambda s: slow.log_prior_finite(s, 2.0, 3), 0.5, 0.7)[0]
        model = VariationalBernoulliMixture(3, weight_concentration=2.0, beta=0.5, gamma=0.7, n_init=20, random_state=0)
    else:
        evidence = slow.posterior(slow.G, lambda s: slow.log_prior_dp(s, 1.3), 0.5, 0.7)[0]
        model = VariationalBernoulliMixture(
            40, weight_prior="sticks", weight_concentration=1.3, beta=0.5, gamma=0.7, n_init=20, random_state=0
        )
    fit(model, slow.G)
    assert model.objective_ < evidence and model.objective_ > evidence - 4
    X = make_mixture(300, 15, 4, unknown=0.1, random_state=1).data
    model = fit(VariationalBernoulliMixture(10, weight_prior=weights, n_init=3, random_state=0), X)
    for history in model.history_:
        assert (np.diff(history) > -1e-8 * np.abs(history[:-1])).all()
    assert (np.diff(model.weights_) <= 1e-12).all() or weights == "sticks"
    assert (model.expected_rows_ > 1).sum() <= 8  # those that are not needed are empty


def test_answers_are_posterior_means():
    X = make_mixture(80, 6, 2, unknown=0.1, random_state=2).data
    model = fit(VariationalBernoulliMixture(3, random_state=0), X)
    mass, on, off = model._params
    np.testing.assert_allclose(model.components_, (0.5 + on) / (1.0 + on + off), rtol=1e-12)
    np.testing.assert_allclose(model.weights_, (1 / 3 + mass) / (1 + 80), rtol=1e-10)
    log_on, log_off = np.log(model.components_), np.log1p(-model.components_)
    joint = np.log(model.weights_) + np.nan_to_num(X) @ log_on.T + np.where(np.isnan(X), 0, 1 - X) @ log_off.T
    np.testing.assert_allclose(model.score_samples(X), np.log(np.exp(joint).sum(axis=1)), rtol=1e-9)
    np.testing.assert_allclose(mass.sum(), 80)


@pytest.mark.parametrize("alpha", [0.3, 5.0, 50.0])
def test_sticks_in_the_best_order(alpha, monkeypatch):
    """No order of the sticks has a higher bound, and with large α the bound does not fall either."""
    monkeypatch.setenv("LATENTBITS_STRICT", "1")
    model = VariationalModel(5, np.full(3, 0.5), alpha=alpha, weights="sticks")
    mass = np.array([0.5, 20.0, 3.0, 60.0, 9.0])
    best = max(model._stick_bound(mass[list(order)]) for order in itertools.permutations(range(5)))
    np.testing.assert_allclose(model._stick_bound(mass[model._best_order(mass)]), best, rtol=1e-12)
    X = make_mixture(200, 10, 3, random_state=1).data
    fitted = fit(
        VariationalBernoulliMixture(4, weight_prior="sticks", weight_concentration=alpha, n_init=3, random_state=0), X
    )
    assert fitted.converged_


@pytest.mark.parametrize("weights", ["dirichlet", "sticks"])
def test_streams(weights):
    """Minibatches come near the fit of the whole; a stream goes on after a fit."""
    made = make_mixture(6000, 15, 3, spread=3.0, random_state=3)
    whole = fit(VariationalBernoulliMixture(3, weight_prior=weights, random_state=0), made.data)
    stream = VariationalBernoulliMixture(3, weight_prior=weights, random_state=0)
    for _ in range(3):
        for low in range(0, 6000, 500):
            stream.partial_fit(made.data[low : low + 500])
    assert abs(stream.score(made.data) - whole.score(made.data)) < 0.05
    before = whole.score(made.data)
    whole.partial_fit(made.data[:500])
    assert abs(whole.score(made.data) - before) < 0.05


@pytest.mark.parametrize("cls", [BernoulliMixture, VariationalBernoulliMixture])
def test_restarts_that_answer_together(cls):
    """Predictions are means over the starts, each as if fitted alone; the rest comes from the best."""
    X = make_mixture(200, 20, 6, unknown=0.1, random_state=5).data
    options = {"n_init": 4, "max_iter": 8, "tol": 0.0, "random_state": 1, "n_components": 5}
    best, all_of_them = fit(cls(**options), X), fit(cls(average_restarts=True, **options), X)
    assert all_of_them.transform(X).tobytes() == best.transform(X).tobytes()
    assert (all_of_them.components_ == best.components_).all()
    held = all_of_them._model.held
    assert len(held.weights) == 20
    alone = []
    for s in range(4):
        probs, weights = held.probs[held.owner == s], held.weights[held.owner == s]
        joint = (
            np.log(weights) + np.nan_to_num(X) @ np.log(probs).T + np.where(np.isnan(X), 0, 1 - X) @ np.log1p(-probs).T
        )
        r = np.exp(joint - joint.max(axis=1, keepdims=True))
        alone.append((r / r.sum(axis=1, keepdims=True) @ probs, np.log(np.exp(joint).sum(axis=1))))
    np.testing.assert_allclose(all_of_them.reconstruct(X), np.mean([p for p, _ in alone], axis=0), atol=1e-12)
    mean = np.log(np.mean([np.exp(value) for _, value in alone], axis=0))
    np.testing.assert_allclose(all_of_them.score_samples(X), mean, rtol=1e-10)
    # The best start is among them, to the bit.
    order = np.argsort(-held.weights[held.owner == np.argmax([row["objective"] for row in best.restarts_])])
    chosen = held.probs[held.owner == np.argmax([row["objective"] for row in best.restarts_])][order]
    np.testing.assert_allclose(chosen, best.components_, atol=1e-12)
    assert not hasattr(all_of_them, "bic") and hasattr(best, "bic") and all_of_them.criterion == "cells"
    before = all_of_them.reconstruct(X)
    assert np.abs(all_of_them.set_params(average="joint").reconstruct(X) - before).max() > 1e-6
    all_of_them.partial_fit(X[:50])
    assert not hasattr(all_of_them._model, "held")  # a stream has one set of parameters


def test_bad_options():
    X = make_mixture(30, 4, 2, random_state=0).data
    for options, words in (
        ({"weight_concentration": 0}, "weight_concentration must be a number above 0"),
        ({"beta": np.nan}, "beta must be a number above 0"),
        ({"gamma": "x"}, "gamma must be a number above 0"),
        ({"weight_prior": "stick"}, "weight_prior must be one of 'dirichlet', 'sticks'"),
        ({"init": np.ones((2, 4))}, "init must be one of"),
        ({"average": "all"}, "average must be one of"),
    ):
        with pytest.raises(InputError, match=words):
            VariationalBernoulliMixture(2, **options).fit(X)
