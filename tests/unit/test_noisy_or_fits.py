"""Noisy-or fits: starts, stages, streams, what sources are worth, odd tables, bad options."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits import NoisyOrComponentAnalysis
from latentbits.datasets import make_images, make_noisy_or
from latentbits.errors import (
    DuplicateComponentWarning,
    EmptyComponentWarning,
    InputError,
    LatentBitsWarning,
    TableWarning,
)
from latentbits.noisy_or.params import NoisyOrParams, without


@pytest.fixture(scope="module")
def made():
    return make_noisy_or(300, 12, 3, unknown=0.1, random_state=3)


@pytest.fixture(scope="module")
def fitted(made):
    return NoisyOrComponentAnalysis(3, n_init=2, random_state=0).fit(made.data)


def quietly(estimator, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return estimator.fit(X, **options)


def test_recovers_sources(made, fitted):
    matched = latentbits.metrics.weighted_cosine_matching(fitted.components_, made.links)
    assert matched["cosine"] > 0.97
    order = [g for _, g, _ in sorted(matched["pairs"])]
    assert (fitted.predict_sources(made.data) == made.sources[:, order]).mean() > 0.93
    assert np.abs(fitted.source_prior_ - 0.25).max() < 0.1
    assert (np.diff(fitted.source_prior_) <= 0).all()
    assert fitted.component_kinds_ == ["supported"] * 3 and fitted.active_.all() and fitted.supported_.all()


def test_no_link_is_lost():
    """Links that faded on the way come back: no pair of columns is left unexplained (communities of authors, four tables)."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        links = np.kron(np.eye(4), np.linspace(0.7, 0.2, 6))
        links[1, 0] = links[2, 23] = 0.4
        on = rng.random((1500, 4)) < 0.15
        X = (rng.random((1500, 24)) > np.exp(np.log1p(-0.01) + on @ np.log1p(-links))).astype(float)
        model = NoisyOrComponentAnalysis(4, n_init=2, random_state=seed).fit(X)
        assert abs(model.pair_table(X, top=1)[0]["z"]) < 4.5
        matched = latentbits.metrics.weighted_cosine_matching(model.components_, links)
        assert min(cosine for _, _, cosine in matched["pairs"]) > 0.98


def test_surplus_sources_are_named_and_pruned():
    X = make_images(400, random_state=0).data
    model = quietly(NoisyOrComponentAnalysis(11, n_init=1, random_state=0), X)
    supported = model.component_kinds_.count("supported")
    assert supported < 11 and (model.deletion_loss_[model.supported_] > 0.5 * 65 * np.log(400)).all()
    pruned = quietly_prune(model, X)
    assert pruned.n_components == supported == len(pruned.components_)
    assert pruned.bic(X) < model.bic(X)
    assert pruned.warm_start is False


def quietly_prune(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return model.prune(X)


def test_statuses_have_their_words():
    X = make_noisy_or(200, 8, 2, random_state=0).data
    model = quietly(NoisyOrComponentAnalysis(4, n_init=1, max_iter=3, random_state=0), X)
    theta = np.zeros((4, 8))
    theta[0, :4] = theta[1, :4] = 1.0
    theta[2, 4:] = 2.0
    model._params = NoisyOrParams(theta, np.full(8, 0.1), np.array([0.3, 0.25, 0.999, 0.2]), np.full(4, 1e4), 200.0)
    model._params.loss[3] = 0.0
    with pytest.warns() as told:
        model._set_fitted_attributes()
    assert model.component_kinds_ == ["supported", "duplicate", "always on", "disconnected"]
    assert model.duplicate_components_ == [[0, 1]]
    assert [row["status"] for row in model.sources_table()][:2] == ["supported", "duplicate of source 1"]
    texts = " ".join(str(warning.message) for warning in told)
    assert "source 1 and source 2" in texts and "source 4 explains next to nothing" in texts
    assert {warning.category for warning in told} == {DuplicateComponentWarning, EmptyComponentWarning}
    pruned = quietly_prune(model, X)
    assert pruned.n_components == 1
    model._params = model._params._replace(loss=np.zeros(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model._set_fitted_attributes()
    assert model.component_kinds_[0] == "weak" and model.component_kinds_[1] == "duplicate"
    assert quietly_prune(model, X).n_components == 1  # the first of the twins stays
    model._params = model._params._replace(
        theta=model._params.theta[[0, 2, 3]], prior=np.array([0.3, 0.999, 0.2]), loss=np.zeros(3)
    )
    model.n_components = 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model._set_fitted_attributes()
    with pytest.raises(InputError, match="no source is supported"):
        model.prune(X)


def test_exact_inference_says_so(made):
    model = NoisyOrComponentAnalysis(3, n_init=2, solver="exact", random_state=0).fit(made.data)
    assert model.score_kind_ == "exact"
    np.testing.assert_allclose(model.score_samples(made.data), model.score_samples(made.data, "exact"), atol=1e-9)
    bound = NoisyOrComponentAnalysis(3, n_init=2, random_state=0).fit(made.data)
    assert model.score(made.data) >= bound.score_samples(made.data, "exact").mean() - 0.01


def test_zero_truncated(made):
    X = make_noisy_or(1500, 12, 2, prior=0.15, random_state=1)
    rows = X.data[X.data.sum(axis=1) > 0]
    plain = NoisyOrComponentAnalysis(2, n_init=2, solver="exact", random_state=0).fit(rows)
    cut = NoisyOrComponentAnalysis(2, n_init=2, solver="exact", zero_truncated=True, random_state=0).fit(rows)
    truth = (X.data.sum(axis=1) == 0).mean()
    assert abs(cut.zero_probability() - truth) < abs(plain.zero_probability() - truth)
    assert cut.score(rows) > plain.score(rows)
    # What it says of rows is said of rows that are not empty.
    drawn, sources = cut.sample(4000, random_state=0, return_causes=True)
    assert (drawn.sum(axis=1) > 0).all()
    assert np.abs(drawn.mean(axis=0) - cut.marginal_probabilities()).max() < 0.04
    assert np.abs(np.diag(cut.pair_probabilities()) - cut.marginal_probabilities()).max() < 1e-12
    expected = np.array([row["rows"] for row in cut.sources_table()])
    np.testing.assert_allclose(expected, cut.transform(rows).sum(axis=0), rtol=0.02)
    assert np.abs(sources.mean(axis=0) * len(rows) - expected).max() < 0.1 * len(rows)
    assert max(abs(row["z"]) for row in cut.marginal_table(rows)) < 3
    with pytest.raises(
        InputError, match=rf"zero_truncated.*{int((X.data.sum(axis=1) == 0).sum())} of the rows .* have no one"
    ):
        NoisyOrComponentAnalysis(2, zero_truncated=True).fit(X.data)


def test_streams_and_warm_starts(made):
    stream = NoisyOrComponentAnalysis(3, random_state=0)
    for part in np.array_split(made.data, 6):
        stream.partial_fit(part)
    assert np.isfinite(stream.score(made.data)) and not hasattr(stream, "supported_")
    model = NoisyOrComponentAnalysis(3, n_init=1, random_state=0, warm_start=True).fit(made.data)
    before = model.objective_
    assert model.fit(made.data).objective_ >= before - 1e-6
    model.partial_fit(made.data)
    given = NoisyOrComponentAnalysis(3, init=made.links, random_state=0).fit(made.data)
    assert given.objective_ > before - 5


@pytest.mark.parametrize("init", ["rows", "random"])
def test_other_starts(made, init):
    assert np.isfinite(quietly(NoisyOrComponentAnalysis(3, init=init, random_state=0), made.data).objective_)


def test_cut_short_it_still_has_its_number_of_sources(made):
    for max_iter in (1, 10, 22):
        model = quietly(NoisyOrComponentAnalysis(3, n_init=2, max_iter=max_iter, random_state=0), made.data)
        assert model.components_.shape == (3, 12) and not model.converged_
        assert np.isfinite(model.objective_) and len(model.restarts_) == 2


def test_odd_tables():
    """Constant and unseen columns, blank rows, empty rows, more sources than rows or columns."""
    X = make_noisy_or(80, 6, 2, random_state=0).data
    X[:, 0], X[:, 1], X[:, 2] = 0, 1, np.nan
    X[3] = np.nan
    X[4] = [0, 1, np.nan, 0, 0, 0]
    model = quietly(NoisyOrComponentAnalysis(2, n_init=1, random_state=0), X)
    assert model.leak_[1] > 0.8 and model.leak_[0] < 0.05
    np.testing.assert_allclose(model.transform(X)[3], model.source_prior_, atol=1e-9)
    new = X.copy()
    new[0, 0] = 1  # a one where none was ever seen
    assert np.isfinite(model.score_samples(new)).all() and model.score_samples(new)[0] > -40
    with pytest.warns() as told:
        NoisyOrComponentAnalysis(5, n_init=1, random_state=0).fit(np.eye(3, 6))
    assert any(w.category is TableWarning and "5 sources for 3 rows" in str(w.message) for w in told)
    empty = quietly(NoisyOrComponentAnalysis(2, n_init=1, random_state=0), np.zeros((20, 4)))
    assert empty.marginal_probabilities().max() < 0.1
    few = sp.coo_matrix(np.random.default_rng(0).random((50, 30)) < 0.1, dtype=float)
    sparse = quietly(NoisyOrComponentAnalysis(2, n_init=1, random_state=0), few)
    assert sparse.transform(sp.csr_array((4, 30))).shape == (4, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "em"}, "solver must be one of 'mm', 'newton', 'bisection', 'exact'"),
        ({"row_init": "hot"}, "row_init must be one of"),
        ({"init": "spectral"}, "init must be"),
        ({"init": np.ones((2, 3))}, r"shape \(2, 5\)"),
        ({"link_prior": (0.5, 1)}, "both numbers must be 1 or more"),
        ({"leak_prior": 3}, "pair of numbers"),
        ({"surplus": -1}, "surplus must be a whole number"),
        ({"n_components": 13, "solver": "exact"}, "stops at K = 12"),
        ({"n_inner": 0}, "n_inner must be"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        NoisyOrComponentAnalysis(**{"n_components": 2, **options}).fit(np.eye(5))


def test_deletion_losses_are_those_of_the_table():
    """The sample of distinct rows gives the loss of all rows, also where rows repeat or hold nothing."""
    from latentbits.engine.sweep import LocalSweep

    X = make_noisy_or(4000, 24, 3, leak=0.01, random_state=0).data
    for table in (X, np.vstack((X, np.zeros((4000, 24)))), np.vstack((X, np.full((2000, 24), np.nan)))):
        model = quietly(NoisyOrComponentAnalysis(3, n_init=1, random_state=0), table)
        source = latentbits.data.open_source(table)
        sampled, weight = model._model.losses(model._params, LocalSweep(source), 600)
        assert weight == (~np.isnan(table).all(axis=1)).sum() == model._params.weight
        whole = float(model.score_samples(table).sum())
        for k in range(3):
            rest = quietly(NoisyOrComponentAnalysis(2, n_init=1, max_iter=1, random_state=0), table)
            rest._params = without(model._params, np.delete(np.arange(3), k))
            rest._model = rest._stream_model(rest._model)
            true = whole - float(rest.score_samples(table).sum())
            assert abs(model.deletion_loss_[k] - true) < 0.12 * true and abs(sampled[k] - true) < 0.25 * true


def test_blank_rows_count_for_nothing():
    X = make_noisy_or(300, 12, 3, random_state=0).data
    both = [
        quietly(NoisyOrComponentAnalysis(3, n_init=1, random_state=0), table)
        for table in (X, np.vstack((X, X * np.nan)))
    ]
    np.testing.assert_allclose(both[0].deletion_loss_, both[1].deletion_loss_, atol=1e-6)
    assert abs(both[0].bic_bound_ - both[1].bic_bound_) < 1e-6
    assert abs(both[0].bic(X) - both[1].bic(np.vstack((X, X * np.nan)))) < 1e-6


def test_pruning_forgets_given_starts_and_checkpoints(tmp_path):
    made = make_noisy_or(300, 12, 2, random_state=1)
    links = np.vstack((made.links, np.full((2, 12), 0.02)))
    model = quietly(NoisyOrComponentAnalysis(4, init=links, checkpoint=tmp_path / "c.checkpoint"), made.data)
    assert len(model.restarts_) == 1
    pruned = quietly_prune(model, made.data)
    assert (
        pruned.n_components == model.component_kinds_.count("supported")
        and pruned.checkpoint == tmp_path / "c.checkpoint"
    )


def test_streams_measure_no_losses(made):
    model = quietly(NoisyOrComponentAnalysis(3, n_init=1, solver="newton", random_state=0), made.data)
    model.partial_fit(made.data)
    assert not hasattr(model, "bic_bound_") and set(model.component_kinds_) <= {"active", "disconnected", "always on"}
    with pytest.raises(InputError, match="stream"):
        model.prune(made.data)


@pytest.mark.parametrize("options", [{"init": "rows", "surplus": 0}, {"surplus": 0}, {"solver": "newton"}, {}])
def test_links_of_chance_are_left_out_once_sources_are_there(options):
    """Whatever the start: strong links stay, those of chance are zero, and little of the bound is lost."""
    made = make_noisy_or(1500, 30, 4, size=0.2, prior=0.2, random_state=0)
    plain, bare = (
        quietly(
            NoisyOrComponentAnalysis(4, n_init=1, random_state=0, max_iter=80, link_threshold=t, **options), made.data
        )
        for t in (0.0, 1.5)
    )
    more = (bare.components_ == 0).sum() - (plain.components_ == 0).sum()
    assert more >= 10 and bare.objective_ > plain.objective_ - 2.0 * more  # a standard error or two each


def test_given_sources_lose_links_of_chance(made, fitted):
    given = NoisyOrComponentAnalysis(
        3, init=np.clip(fitted.components_, 0.001, 0.99), link_threshold=2.0, random_state=0
    )
    assert (quietly(given, made.data).components_ == 0).any()
    with pytest.raises(InputError, match=r"link_threshold=2 sets links to zero, which link_prior=\(2, 2\) rules out"):
        given.set_params(link_prior=(2, 2)).fit(made.data)
