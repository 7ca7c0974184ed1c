"""What a fitted noisy-or model answers: closed forms, scores, codes, explanations; bad questions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latentbits
from latentbits import NoisyOrComponentAnalysis, plots
from latentbits.datasets import make_noisy_or
from latentbits.errors import (
    InputError,
    LatentBitsWarning,
)
from latentbits.noisy_or.params import NoisyOrParams

from ..reference import noisy_or as twin


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


def triple(fitted):
    return fitted._params[:3]


def test_closed_forms_against_states(fitted):
    """Empty sets, marginals and pairs through all states, and from draws within four standard errors."""
    theta, theta0, prior = triple(fitted)
    states = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T
    weight = np.where(states == 1, prior, 1 - prior).prod(axis=1)
    off = np.exp(-(theta0 + states @ theta))
    assert abs(fitted.zero_probability() - weight @ off.prod(axis=1)) < 1e-12
    assert abs(fitted.zero_probability([2, 5, 5]) - weight @ (off[:, 2] * off[:, 5])) < 1e-12
    np.testing.assert_allclose(fitted.marginal_probabilities(), weight @ (1 - off), atol=1e-12)
    pairs = np.einsum("s,sj,sk->jk", weight, 1 - off, 1 - off)
    np.fill_diagonal(pairs, weight @ (1 - off))
    np.testing.assert_allclose(fitted.pair_probabilities(), pairs, atol=1e-12)
    np.testing.assert_allclose(fitted.pair_probabilities([4, 1]), pairs[np.ix_([4, 1], [4, 1])], atol=1e-12)
    cells, sources = fitted.sample(20_000, random_state=0, return_causes=True)
    for found, wanted in ((cells.mean(axis=0), weight @ (1 - off)), (sources.mean(axis=0), prior)):
        assert (np.abs(found - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 20_000)).all()
    both = cells.T.astype(float) @ cells / 20_000
    assert (np.abs(both - pairs) < 4.5 * np.sqrt(pairs * (1 - pairs) / 20_000)).all()
    assert abs((cells.sum(axis=1) == 0).mean() - fitted.zero_probability()) < 4 * np.sqrt(0.25 / 20_000)


def test_exact_scores_and_quickscore(made, fitted):
    exact = fitted.score_samples(made.data, "exact")
    for i in range(5):
        value, posterior = twin.enumerate_row(made.data[i], *triple(fitted))
        assert abs(exact[i] - value) < 1e-10
        quick = fitted.quickscore(made.data[i : i + 1])
        assert abs(quick.value[0] - value) < 1e-7
        np.testing.assert_allclose(quick.posterior[0], posterior, atol=1e-6)
    assert (fitted.score_samples(made.data) <= exact + 1e-10).all()
    assert fitted.score_kind_ == "lower bound"
    assert fitted.bic(made.data, "exact") < fitted.bic(made.data)
    assert abs(fitted.bic(made.data) - fitted.bic_bound_) < 0.01 * abs(fitted.bic_bound_)


def test_quickscore_for_many_sources_and_its_refusal():
    """Beyond 12 sources the exact score is by inclusion and exclusion; rows with many ones are refused by name."""
    rng = np.random.default_rng(0)
    k, d = 14, 30
    theta = rng.exponential(1.0, (k, d)) * (rng.random((k, d)) < 0.1)
    model = quietly(NoisyOrComponentAnalysis(k, n_init=1, max_iter=1, random_state=0), np.eye(d))
    model._params = NoisyOrParams(theta, np.full(d, 0.05), np.full(k, 0.1))
    X = np.zeros((3, d))
    X[0, :4], X[1, 3:9] = 1, 1
    exact = model.score_samples(X, "exact")
    for i in range(3):
        assert abs(exact[i] - twin.enumerate_row(X[i], *triple(model))[0]) < 1e-7
    X[2, :25] = 1
    with pytest.raises(InputError, match=r"row 2, 25 ones .*importance"):
        model.score_samples(X, "exact")
    with pytest.raises(InputError, match=r"refused with 14 sources"):
        model.quickscore(X)
    assert np.isnan(model.quickscore(X, refused="nan").value).tolist() == [False, False, True]
    # Cancellation: tiny leaks and many ones that nothing explains.
    model._params = NoisyOrParams(theta, np.full(d, 1e-4), np.full(k, 0.1))
    X[2] = 0
    X[2, theta.max(axis=0) < 0.2] = 1
    with pytest.raises(InputError, match="cancellation"):
        model.quickscore(X[2:])


def test_importance_sampling_agrees_within_its_error(made, fitted):
    exact = fitted.score_samples(made.data, "exact")
    found = fitted.importance_scores(made.data, 400, random_state=1)
    z = (found.value - exact) / np.maximum(found.standard_error, 1e-12)
    assert np.abs(z).mean() < 1.2 and np.quantile(np.abs(z), 0.99) < 5
    assert abs((found.value - exact).mean()) < 0.02
    assert (found.effective_draws > 10).all() and (found.effective_draws <= 400).all()
    order = np.random.default_rng(0).permutation(len(made.data))
    again = fitted.set_params(block_rows=7).importance_scores(made.data[order], 400, random_state=1)
    fitted.set_params(block_rows=None)
    np.testing.assert_allclose(again.value, found.value[order], atol=1e-9)
    np.testing.assert_allclose(fitted.score_samples(made.data, "importance", 400, 1), found.value)


def test_gibbs_posteriors(made, fitted):
    exact = fitted.quickscore(made.data[:60]).posterior
    assert np.abs(fitted.gibbs_posteriors(made.data[:60], 3000) - exact).max() < 0.04


def test_codes(made, fitted):
    codes = fitted.encode(made.data)
    assert codes.shape == (300, 1) and codes.dtype == np.uint8
    rounded = fitted.predict_sources(made.data)
    mean = fitted.decode(codes)
    np.testing.assert_allclose(mean, 1 - np.exp(-(fitted._params.theta0 + rounded @ fitted._params.theta)), atol=1e-9)
    assert (fitted.decode(codes, "mode") == (mean > 0.5)).all()
    drawn = fitted.decode(codes, "sample", random_state=0)
    assert abs(drawn.mean() - mean.mean()) < 0.02
    known = ~np.isnan(made.data)
    wrong = (fitted.decode(codes, "mode") != made.data)[known].mean()
    assert abs(fitted.reconstruction_error(made.data, "mode") - wrong) < 1e-12
    assert fitted.reconstruction_error(made.data, "sample", random_state=0) > wrong
    np.testing.assert_allclose(fitted.inverse_transform(rounded), mean)
    np.testing.assert_allclose(fitted.reconstruct(made.data), fitted.inverse_transform(fitted.transform(made.data)))


def test_explanations_of_single_cells(made, fitted):
    """Against the exact posterior of the row without the cell, and the exact shares."""
    theta, theta0, prior = triple(fitted)
    X = made.data[:25]
    found = fitted.explain(X)
    states = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T
    apart, leave, evidence = [], [], []
    for place, (i, j) in enumerate(zip(found.row, found.column)):
        rest = X[i].copy()
        rest[j] = np.nan
        logs = np.array([twin.log_joint(rest, s, theta, theta0, prior) for s in states])
        weight = np.exp(logs - logs.max())
        weight /= weight.sum()
        u = theta0[j] + states @ theta[:, j]
        leave.append(abs(found.probability[place] - weight @ -np.expm1(-u)))
        if found.value[place] == 1:
            posterior = weight * -np.expm1(-u)
            posterior /= posterior.sum()
            shares = (posterior[:, None] * states * theta[:, j] / u[:, None]).sum(axis=0)
            apart.append(np.abs(found.share[place] - shares).sum())
        if found.value[place] == 0:
            evidence.append(np.abs(found.evidence[place] + theta[:, j]).max())
        if found.value[place] == 2:
            assert (found.evidence[place] == 0).all()
    assert np.mean(apart) < 0.03 and np.mean(leave) < 0.03 and max(evidence) < 1e-12
    record = found.to_records()[0]
    assert (
        "leak" in record and abs(sum(v for k, v in record.items() if k.startswith("share")) + record["leak"] - 1) < 1e-9
    )
    assert found.take(np.array([3])).leak.shape == (1,)


def test_checks_against_the_table(made, fitted):
    table = fitted.marginal_table(made.data)
    assert len(table) == 12 and max(abs(row["z"]) for row in table) < 3
    np.testing.assert_allclose([row["data"] for row in table], np.nanmean(made.data, axis=0))
    pairs = fitted.pair_table(made.data, top=5)
    assert len(pairs) == 5 and abs(pairs[0]["z"]) >= abs(pairs[4]["z"])
    a, b = int(pairs[0]["first"]), int(pairs[0]["second"])
    both = made.data[:, a] * made.data[:, b]
    assert abs(pairs[0]["data"] - np.nanmean(both)) < 1e-12
    assert len(fitted.pair_frame(made.data, columns=[0, 1, 2])) == 3


def test_bad_questions(made, fitted):
    for call, message in (
        (lambda: fitted.score_samples(made.data, "guess"), "method must be one of"),
        (lambda: fitted.importance_scores(made.data, 0), "n_draws"),
        (lambda: fitted.decode(np.zeros((3, 2), np.uint8)), r"shape \(rows, 1\)"),
        (lambda: fitted.decode(fitted.encode(made.data), "guess"), "how must be"),
        (lambda: fitted.reconstruction_error(made.data, "guess"), "how must be"),
        (lambda: fitted.inverse_transform([[2.0, 0.0, 0.0]]), "probabilities"),
        (lambda: fitted.zero_probability(["nobody"]), "no column 'nobody'"),
        (lambda: fitted.zero_probability([99]), "no column 99"),
        (lambda: fitted.quickscore(made.data, "maybe"), "refused must be"),
        (lambda: NoisyOrComponentAnalysis(2).fit([[0, 2], [1, 0]]), "row 0, column 1"),
        (lambda: plots.loadings(latentbits.BernoulliMixture(2)), "needs a NoisyOr"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_pictures(fitted):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    for scaled in (True, False):
        ax = plots.loadings(fitted, scaled=scaled)
        assert len(ax.get_yticks()) == 3 and ax.images[0].get_array().shape == (3, 12)
    ax = plots.communities(fitted, top=3)
    members = fitted.communities_table(3, 0.1)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [row["strength"] for row in members])
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(row["member"]) for row in members]
    plt.close("all")


def test_questions_before_a_fit():
    from sklearn.exceptions import NotFittedError

    model = NoisyOrComponentAnalysis(2)
    for question in (
        "predict_sources", "encode", "documents_table", "overlap_table", "importance_scores", "gibbs_posteriors",
        "reconstruction_error", "quickscore", "marginal_table", "pair_table", "score_samples", "transform", "prune", "bic",
    ):  # fmt: skip
        with pytest.raises(NotFittedError):
            getattr(model, question)(np.eye(3))


def test_exact_answers_are_exact():
    """With ``solver="exact"`` fill-in and explanations go through all states."""
    made = make_noisy_or(200, 8, 3, unknown=0.2, random_state=5)
    model = quietly(NoisyOrComponentAnalysis(3, n_init=1, solver="exact", random_state=0), made.data)
    theta, theta0, prior = triple(model)
    X = made.data[:15]
    states = np.array(np.meshgrid(*[[0.0, 1.0]] * 3)).reshape(3, -1).T
    u = theta0 + states @ theta
    filled, found = model.reconstruct(X), model.explain(X)
    for i in range(len(X)):
        logs = np.array([twin.log_joint(X[i], s, theta, theta0, prior) for s in states])
        weight = np.exp(logs - logs.max())
        weight /= weight.sum()
        np.testing.assert_allclose(filled[i], weight @ -np.expm1(-u), atol=1e-9)
        for j in range(8):
            place = i * 8 + j
            rest = X[i].copy()
            rest[j] = np.nan
            logs = np.array([twin.log_joint(rest, s, theta, theta0, prior) for s in states])
            other = np.exp(logs - logs.max())
            other /= other.sum()
            assert abs(found.probability[place] - other @ -np.expm1(-u[:, j])) < 1e-8
            if X[i, j] == 1:
                shares = ((weight / u[:, j])[:, None] * states * theta[:, j]).sum(axis=0)
                np.testing.assert_allclose(found.share[place], shares, atol=1e-9)
    cells = (np.array([3, 0]), np.array([1, 7]))
    np.testing.assert_allclose(model.reconstruct(X, cells), filled[cells], atol=1e-12)


def test_truncation_and_rows_without_a_known_one():
    """A blank row is certain; a row whose known cells are zero must hold a one elsewhere; an empty row cannot be."""
    X = make_noisy_or(400, 6, 2, random_state=0).data
    X = X[X.sum(axis=1) > 0]
    model = quietly(NoisyOrComponentAnalysis(2, n_init=1, solver="exact", zero_truncated=True, random_state=0), X)
    asked = np.array([[np.nan] * 6, [0, 0, 0, np.nan, 0, 0], [0.0] * 6])
    scores = model.score_samples(asked)
    empty = model.zero_probability()
    wanted = (model.zero_probability([0, 1, 2, 4, 5]) - empty) / (1 - empty)
    assert abs(scores[0]) < 1e-9 and abs(np.exp(scores[1]) - wanted) < 1e-9 and scores[2] == -np.inf
    fine = np.vstack((X, [[np.nan] * 6, [0, 0, 0, np.nan, 0, 0]]))
    quietly(NoisyOrComponentAnalysis(2, n_init=1, zero_truncated=True, random_state=0), fine)
    with pytest.raises(InputError, match="no one"):
        NoisyOrComponentAnalysis(2, zero_truncated=True).partial_fit(np.zeros((5, 6)))


def test_draws_of_many_sources_do_not_run_out(made):
    """Blanks of a row are drawn given one state of all its sources, however many."""
    k = 80
    model = quietly(NoisyOrComponentAnalysis(k, n_init=1, max_iter=1, random_state=0), np.eye(100))
    model._params = NoisyOrParams(np.eye(k, 100) * 20.0, np.full(100, 1e-6), np.full(k, 0.5))
    drawn = model.impute(np.full((400, 100), np.nan), how="sample", random_state=0)
    assert (np.abs(drawn[:, :k].mean(axis=0) - 0.5) < 0.12).all() and drawn[:, k:].sum() == 0
    for b in (None, 7):
        model.block_rows = b
        np.testing.assert_array_equal(drawn, model.impute(np.full((400, 100), np.nan), how="sample", random_state=0))


def test_sampled_error_does_not_depend_on_blocks(made, fitted):
    errors = [fitted.set_params(block_rows=b).reconstruction_error(made.data, "sample", 1) for b in (None, 100, 7)]
    fitted.set_params(block_rows=None)
    assert len(set(errors)) == 1
