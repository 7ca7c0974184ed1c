"""Aspect Bernoulli as users meet it: phantoms, expansions, streams, warm starts, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BernoulliMixture
from latentbits.aspect.params import AspectParams
from latentbits.errors import InputError, LatentBitsWarning, NoPhantomWarning, TableWarning

from ..reference import aspect as twin
from .test_aspect import model_of, quiet_fit, simulated


def corroded(n=400, d=40, seed=0):
    """Classes with a loss of ones that differs by row."""
    rng = np.random.default_rng(seed)
    whole = (rng.random((n, d)) < rng.beta(0.3, 0.3, (3, d))[rng.integers(0, 3, n)]).astype(float)
    levels = rng.uniform(0, 0.5, n)
    lost = (whole == 1) & (rng.random((n, d)) < levels[:, None])
    return np.where(lost, 0.0, whole), levels, lost


def test_phantom_is_found_and_ranks_losses():
    from sklearn.metrics import roc_auc_score

    X, levels, lost = corroded()
    model = AspectBernoulli(5, random_state=0, max_iter=300, tol=1e-6).fit(X)
    assert model.phantoms_ == [4] and model.component_kinds_[:4] == ["content"] * 4
    assert "4 content + 1 phantom" in model.summary()
    assert np.corrcoef(model.loss_level(X), levels)[0, 1] > 0.7
    zeros = model.missing_vs_off(X)
    assert len(zeros.row) == (X == 0).sum()
    np.testing.assert_allclose(zeros.lost, zeros.phantom * zeros.content)
    is_lost = lost[zeros.row, zeros.column]
    assert roc_auc_score(is_lost, zeros.content) > 0.8
    assert set(zeros.label[zeros.lost >= 0.5]) == {"missing"}
    named = model.attribution(X, lost)
    assert named.sum() == pytest.approx(1) and named[4] > model.attribution(X, (X == 0) & ~lost)[4]
    explained = model.explain(X, cells=(zeros.row[:5], zeros.column[:5]))
    np.testing.assert_allclose(explained.missing, zeros.lost[:5], atol=1e-9)
    posterior = model.cause_posterior(X, rows=[3, 5])
    np.testing.assert_allclose(posterior.sum(axis=2), 1)
    np.testing.assert_allclose(
        posterior[0], twin.posterior(X[3:4], model.transform(X[3:4]), model.components_)[0], atol=1e-6
    )


def test_equal_loss_makes_no_phantom():
    """A rate that is the same in all rows is absorbed by the probabilities."""
    rng = np.random.default_rng(1)
    whole = (rng.random((400, 40)) < rng.beta(0.3, 0.3, (3, 40))[rng.integers(0, 3, 400)]).astype(float)
    X = np.where(rng.random(whole.shape) < 0.25, 0.0, whole)
    model = quiet_fit(X, n_components=5, n_init=3, max_iter=300, tol=1e-6)
    assert model.phantoms_ == []
    with pytest.warns(NoPhantomWarning, match="n_phantom=1"):
        model.missing_vs_off(X, rows=[0])
    with pytest.warns(NoPhantomWarning):
        found = model.expand(X, rows=[0], top=3)
    assert [r["probability"] for r in found] == sorted((r["probability"] for r in found), reverse=True)


def test_pinned_phantoms():
    X, levels, _ = corroded()
    model = quiet_fit(X, n_components=5, n_phantom=1, n_on_phantom=1, max_iter=150)
    assert model.component_kinds_[3:] == ["phantom", "on-phantom"]
    assert (model.components_[3] == 1e-6).all() and (model.components_[4] == 1 - 1e-6).all()
    assert np.corrcoef(model.loss_level(X), levels)[0, 1] > 0.6


def test_expand():
    pd = pytest.importorskip("pandas")
    X, _, _ = corroded(d=20)
    X[11] = 0.0
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(20)])
    model = quiet_fit(frame, n_components=4, n_phantom=1, max_iter=150)
    found = model.expand(frame, rows=[2, 11], top=5)
    assert [record["row"] for record in found] == [2] * 5 + [11] * 5
    absent = {f"word{j}" for j in np.flatnonzero(X[2] == 0)}
    assert {record["feature"] for record in found[:5]} <= absent
    assert [r["phantom"] for r in found[:5]] == sorted((r["phantom"] for r in found[:5]), reverse=True)
    assert found[0]["note"] == "" and "whole table" in found[5]["note"]
    assert len(model.expand_frame(frame, top=2)) == 2 * len(X)
    assert len(model.cause_frame(3)) == 4 and len(model.row_frame(frame)) == len(X)


def test_constant_columns_do_not_slow_the_fit():
    X, _, _ = simulated(120, 15, 3, seed=7)
    padded = np.hstack((X, np.zeros((120, 60)), np.ones((120, 5))))
    with pytest.warns(TableWarning, match="65 columns with only one value"):
        wide = AspectBernoulli(3, random_state=0, n_init=1, tol=1e-5, smoothing=0.0).fit(padded)
    assert (wide.components_[:, 15:75] == 0).all() and (wide.components_[:, 75:] == 1).all()
    assert wide.history_[0][-1] > twin.log_likelihood(
        X, np.full((120, 1), 1.0), X.mean(axis=0, keepdims=True).clip(1e-9, 1 - 1e-9)
    )
    with_prior = quiet_fit(padded, n_components=3, max_iter=30)
    assert (with_prior.components_[:, 15:75] > 0).all() and (with_prior.components_[:, 15:75] < 0.01).all()
    assert np.isfinite(with_prior.score_samples(1 - padded)).all()


def test_blank_rows_and_columns():
    X, _, _ = simulated(40, 10, 3, 0.2)
    X[4], X[:, 6] = np.nan, np.nan
    with pytest.warns(TableWarning):
        model = AspectBernoulli(3, random_state=0, n_init=1, tol=1e-5).fit(X)
    assert model.unobserved_features_.tolist() == [6]
    np.testing.assert_allclose(model.transform(X)[4], 1 / 3)
    assert not np.isnan(model.impute(X)).any()


def test_empty_components_are_named():
    """A cause that nothing needs loses its last memberships and keeps its probabilities."""
    params = AspectParams(np.array([[0.2, 0.7], [0.5, 0.5]]))
    model = model_of(np.zeros((3, 2)), 2)
    from latentbits.aspect.params import AspectStats
    from latentbits.aspect.series import RowSums

    stats = AspectStats(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 0.0]]), 0.0, 0.0, 3.0,
                        RowSums(np.array([3.0, 0.0]), None, None))  # fmt: skip
    probs = model.m_step(params, stats, None).probs
    np.testing.assert_allclose(probs, [[1 / 3, 2 / 3], [0.5, 0.5]])


def test_empirical_bayes_score_is_the_formula():
    X, _, _ = simulated(50, 9, 3, 0.1)
    model = quiet_fit(X, n_components=3, smoothing=0.0, max_iter=60)
    sample = model._params.latent
    on = np.clip(sample.values @ model.components_, 1e-3, 1 - 1e-3)
    known = ~np.isnan(X)
    cells = np.where((X == 1)[:, None], np.log(on)[None], np.log1p(-on)[None]) * known[:, None]
    joint = cells.sum(axis=2) + np.log(sample.weights / sample.weights.sum())
    wanted = np.log(np.exp(joint - joint.max(axis=1, keepdims=True)).sum(axis=1)) + joint.max(axis=1)
    np.testing.assert_allclose(model.score_samples(X), wanted, rtol=1e-10)
    assert model.score_kind_ == "estimate"


def test_sampling_and_streams():
    X, _, _ = simulated(600, 12, 3)
    model = quiet_fit(X, n_components=3, max_iter=80)
    drawn, causes = model.sample(4000, random_state=1, return_causes=True)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.08)
    assert causes.shape == drawn.shape and set(np.unique(causes)) <= {0, 1, 2}
    assert model.sample(5, random_state=1, memberships="prior").shape == (5, 12)
    stream = AspectBernoulli(3, random_state=0)
    for low in range(0, 600, 100):
        stream.partial_fit(X[low : low + 100])
    assert len(stream.component_kinds_) == 3 and stream.score(X) > -12 * np.log(2)
    before = model.score(X)
    for _ in range(3):
        model.partial_fit(X[:200])
    assert model.score(X) > before - 0.5
    assert stream.transform(X[:4]).shape == (4, 3)


def test_warm_start_goes_on():
    X, _, _ = simulated(80, 12, 3)
    model = quiet_fit(X, n_components=3, max_iter=5, warm_start=True)
    before = model.objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.set_params(max_iter=50).fit(X)
    assert model.objective_ >= before


def test_stability_matches_causes():
    X, _, _ = simulated(200, 20, 2, seed=3)
    model = quiet_fit(X, n_components=2, n_init=3)
    assert model.stability_.shape == (2,) and (model.stability_ < 0.2).all()
    assert np.isnan(quiet_fit(X, n_components=2).stability_).all()


def test_select_by_hidden_cells():
    """The default criterion, because every row brings memberships of its own."""
    import latentbits

    X, _, _ = simulated(300, 30, 3, seed=1)
    chosen = latentbits.select(AspectBernoulli(random_state=0, n_init=2, tol=1e-5), X, (1, 2, 3, 4), folds=1)
    assert chosen.criterion == "cells" and chosen.best_ in (2, 3, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number, 1 or more"),
        ({"n_components": 2, "n_phantom": 2}, "at least one must be left for the content"),
        ({"weight_concentration": 0.9}, "weight_concentration must be a number, 1 or more"),
        ({"beta_prior": (0.5, 1.0)}, "has no mode inside"),
        ({"beta_prior": (1.0, 0.9)}, "both numbers must be 1 or more"),
        ({"beta_prior": 3}, "must be a pair of numbers"),
        ({"smoothing": -1}, "smoothing must be a number, 0 or more"),
        ({"init": "svd"}, "init must be 'random'"),
        ({"init": np.full((2, 5), 0.5)}, r"shape \(2, 12\); got shape \(2, 5\)"),
        ({"init": np.full((2, 12), 1.5)}, "with values from 1.5 to 1.5"),
        ({"init": (np.full((40, 2), 0.4), np.full((2, 12), 0.5))}, "sum to one in every row"),
        ({"init": (np.full((40, 3), 1 / 3), np.full((2, 12), 0.5))}, "must have 2 columns"),
        ({"init": (np.full((39, 2), 0.5), np.full((2, 12), 0.5))}, "memberships for 39 rows, the table has 40"),
    ],
)
def test_bad_options(options, message):
    X = simulated(40, 12, 2)[0]
    with pytest.raises(InputError, match=message):
        AspectBernoulli(**options).fit(np.vstack((X[:-2], np.zeros(12), np.ones(12))))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X * 3, r"is 3.0; expected 0, 1 or unknown"),
        (lambda X: X * 2 - 1, r"is -1.0; expected 0, 1 or unknown"),
        (lambda X: np.where(X == 1, np.inf, X), "inf"),
        (lambda X: X[0], "1D"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X[:, :0], "0 feature"),
        (lambda X: np.full(X.shape, np.nan), "every cell of the table is unknown"),
        (lambda X: np.where(X == 1, "yes", "no"), "Recode|expected 0, 1"),
    ],
)
def test_bad_tables(change, message):
    X = simulated(40, 12, 2)[0]
    with pytest.raises(ValueError, match=message):
        AspectBernoulli(2).fit(change(X))


def test_warnings_and_refused_questions():
    X = np.vstack((simulated(38, 12, 2)[0], np.zeros(12), np.ones(12)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        AspectBernoulli(13, n_init=1, random_state=0, tol=1e-4).fit(X)
    assert any("cannot be told apart" in str(warning.message) for warning in told)
    model = quiet_fit(X, n_components=2)
    for call, message in (
        (lambda: model.expand(X, top=0), "top must be"),
        (lambda: model.expand(X, by="rank"), "by must be one of"),
        (lambda: model.expand(X, rows=[40]), "rows must be whole numbers from 0 to 39"),
        (lambda: model.missing_vs_off(X, threshold=2), "threshold must be a number from 0 to 1"),
        (lambda: model.sample(3, memberships="none"), "memberships must be"),
        (lambda: model.attribution(X, np.ones((3, 3), bool)), "mask must be"),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoPhantomWarning)
            with pytest.raises(InputError, match=message):
                call()


# What a review found.


def test_checkpoint_of_another_start_is_refused(tmp_path):
    X = simulated(60, 12, 3)[0]
    rng = np.random.default_rng(0)
    starts = [(rng.dirichlet(np.ones(3), 60), rng.random((3, 12))) for _ in range(2)]
    path = tmp_path / "fit.checkpoint"
    quiet_fit(X, n_components=3, init=starts[0], max_iter=5, checkpoint=path)
    with pytest.raises(InputError, match="belongs to another fit"):
        quiet_fit(X, n_components=3, init=starts[1], max_iter=5, checkpoint=path)


def test_given_starts_travel_and_run_once(tmp_path):
    import latentbits

    X = simulated(60, 12, 3)[0]
    start = (np.full((60, 3), 1 / 3), np.random.default_rng(0).random((3, 12)))
    model = quiet_fit(X, n_components=3, n_init=5, init=start, max_iter=10)
    assert len(model.restarts_) == 1
    model.save(tmp_path / "m.latentbits")
    loaded = latentbits.load(tmp_path / "m.latentbits")
    np.testing.assert_array_equal(loaded.init[1], start[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        assert loaded.fit(X).objective_ == model.objective_
        mixture = BernoulliMixture(3, random_state=0).fit(X)
    quiet_fit(X, n_components=3, init=mixture, max_iter=3).save(tmp_path / "m.latentbits")
    assert latentbits.load(tmp_path / "m.latentbits").init is None  # a fitted model does not travel; random then
    with pytest.raises(InputError, match="BernoulliMixture that is not fitted"):
        AspectBernoulli(3, init=BernoulliMixture(3)).fit(X)


def test_zeros_do_not_freeze_when_columns_begin_to_vary():
    X = simulated(200, 12, 2, seed=5)[0]
    first = X.copy()
    first[:, 0] = 0.0
    model = quiet_fit(first, n_components=2, smoothing=0.0, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.fit(X)
    assert abs(model.reconstruct(X)[:, 0].mean() - X[:, 0].mean()) < 0.05
    stream = AspectBernoulli(2, smoothing=0.0, random_state=0)
    for _ in range(4):
        stream.partial_fit(first)
    for _ in range(6):
        stream.partial_fit(X)
    assert stream.components_[:, 0].max() > 0.05


def test_streams_do_not_forget_rows_of_rare_columns():
    rng = np.random.default_rng(0)
    X = simulated(300, 10, 2)[0]
    first, last = X.copy(), X.copy()
    first[:, 0], last[:, 0] = 0.0, rng.random(300) < 0.5
    stream = AspectBernoulli(2, random_state=0)
    for _ in range(10):
        stream.partial_fit(first)
    stream.partial_fit(last)
    assert stream.components_[:, 0].max() < 0.3


def test_blank_rows_stand_in_the_middle_and_are_not_remembered():
    table = (sp.random(600, 300, density=0.01, random_state=1, format="csr") != 0).astype(float).tolil()
    table[400:] = np.nan
    for series in (True, False):
        model = quiet_fit(table.tocsr(), n_components=3, max_iter=30, tol=1e-6, series=series)
        assert model._params.latent.weights.sum() == 400
        np.testing.assert_allclose(model.transform(table.tocsr())[400:], 1 / 3)


def test_warm_start_with_a_phantom_holds_it():
    X = simulated(100, 12, 3)[0]
    model = quiet_fit(X, n_components=3, warm_start=True, max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.set_params(n_phantom=1).fit(X)
    assert (model.components_[2][model._model.active] == 1e-6).all() and model.component_kinds_[2] == "phantom"
    with pytest.raises(InputError, match="another n_phantom"):
        model.set_params(n_phantom=0).partial_fit(X)


def test_criteria_count_what_they_pay_for():
    """BIC and AIC price the memberships, so they look at the likelihood that has them."""
    X, _, _ = simulated(300, 40, 3, seed=2)
    values = [quiet_fit(X, n_components=k, tol=1e-5, smoothing=0.0).aic(X) for k in (1, 2, 3, 6)]
    assert min(values[1:3]) < values[0] and min(values[1:3]) < values[3]


def test_suspicious_cells_of_both_kinds():
    X, _, _ = corroded(200, 20)
    model = quiet_fit(X, n_components=5, n_phantom=1, n_on_phantom=1, tol=1e-5)
    found = model.suspicious(X, top=400)
    assert {cell["value"] for cell in found} == {0, 1}
    assert [cell["wrong"] for cell in found] == sorted((cell["wrong"] for cell in found), reverse=True)
    zeros = model.missing_vs_off(X)
    assert max(cell["wrong"] for cell in found if cell["value"] == 0) == pytest.approx(zeros.lost.max())


def test_small_refusals():
    X = simulated(40, 12, 2)[0]
    X[0], X[1] = 0.0, 1.0
    with pytest.raises(InputError, match=r"score_clip must be below 0.5"):
        AspectBernoulli(2, score_clip=0.9).fit(X)
    model = quiet_fit(X, n_components=2)
    with pytest.raises(InputError, match="one row of 2 numbers per row"):
        model.inverse_transform(np.ones((3, 5)))
    with pytest.raises(InputError, match=r"shape of the table, \(40, 12\); got \(41, 12\)"):
        model.attribution(X, np.ones((41, 12), bool))
    twins = np.repeat(X[:2], 20, axis=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        AspectBernoulli(5, n_init=1, random_state=0, tol=1e-4).fit(twins)
    assert any("5 causes for 2 distinct rows" in str(warning.message) for warning in told)
    flat = quiet_fit(np.ones((5, 4)), n_components=2)
    assert flat.weights_.sum() == pytest.approx(1)
