"""What a fitted noisy-or model answers: closed forms, scores, codes, explanations, communities, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits import NoisyOrComponentAnalysis, plots
from latentbits.datasets import make_images, make_noisy_or
from latentbits.errors import (
    DuplicateComponentWarning,
    EmptyComponentWarning,
    InputError,
    LatentBitsWarning,
    TableWarning,
)
from latentbits.noisy_or.model import NoisyOrParams

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


def test_recovers_sources(made, fitted):
    matched = latentbits.metrics.weighted_cosine_matching(fitted.components_, made.links)
    assert matched["cosine"] > 0.97
    order = [g for _, g, _ in sorted(matched["pairs"])]
    assert (fitted.predict_sources(made.data) == made.sources[:, order]).mean() > 0.93
    assert np.abs(fitted.source_prior_ - 0.25).max() < 0.1
    assert (np.diff(fitted.source_prior_) <= 0).all()
    assert fitted.status_ == ["supported"] * 3 and fitted.active_.all() and fitted.supported_.all()


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
    assert (fitted.decode(codes, "round") == (mean > 0.5)).all()
    drawn = fitted.decode(codes, "sample", random_state=0)
    assert abs(drawn.mean() - mean.mean()) < 0.02
    known = ~np.isnan(made.data)
    wrong = (fitted.decode(codes, "round") != made.data)[known].mean()
    assert abs(fitted.reconstruction_error(made.data, "round") - wrong) < 1e-12
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


def test_communities(made, fitted):
    import networkx as nx

    members = fitted.communities_table(top=None)
    assert {row["community"] for row in members} == {0, 1, 2} and all(row["strength"] >= 0.1 for row in members)
    assert all(0 <= row["explained"] <= 1 for row in members)
    assert len(fitted.communities_frame(top=2)) == 6
    documents = fitted.documents_table(made.data, top=4)
    posteriors = fitted.transform(made.data)
    assert all(abs(posteriors[row["row"], row["community"]] - row["posterior"]) < 1e-12 for row in documents)
    overlap = fitted.overlap_table(made.data)
    both = posteriors.T @ posteriors
    assert len(overlap) == 3 and abs(overlap[0]["rows"] - both[0, 1]) < 1e-9
    assert len(fitted.overlap_frame(made.data)) == 3
    graph = fitted.to_graph(made.data, row_names=[f"doc{i}" for i in range(300)])
    kinds = nx.get_node_attributes(graph, "kind")
    assert sum(kind == "community" for kind in kinds.values()) == 3
    assert sum(kind == "row" for kind in kinds.values()) == int((posteriors > 0.5).any(axis=1).sum())
    assert fitted.to_graph().number_of_edges() == len(members)
    assert len(fitted.sources_frame()) == 3


def test_surplus_sources_are_named_and_pruned():
    X = make_images(400, random_state=0).data
    model = quietly(NoisyOrComponentAnalysis(11, n_init=1, random_state=0), X)
    supported = model.status_.count("supported")
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
        model._adopt()
    assert model.status_ == ["supported", "duplicate of 0", "always on", "disconnected"]
    assert {warning.category for warning in told} == {DuplicateComponentWarning, EmptyComponentWarning}
    pruned = quietly_prune(model, X)
    assert pruned.n_components == 1
    model._params = model._params._replace(loss=np.zeros(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model._adopt()
    assert model.status_[0] == "weak" and model.status_[1] == "duplicate of 0"
    assert quietly_prune(model, X).n_components == 1  # the first of the twins stays
    model._params = model._params._replace(
        theta=model._params.theta[[0, 2, 3]], prior=np.array([0.3, 0.999, 0.2]), loss=np.zeros(3)
    )
    model.n_components = 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model._adopt()
    with pytest.raises(InputError, match="no source is supported"):
        model.prune(X)


def test_exact_inference_says_so(made):
    model = NoisyOrComponentAnalysis(3, n_init=2, inference="exact", random_state=0).fit(made.data)
    assert model.score_kind_ == "exact"
    np.testing.assert_allclose(model.score_samples(made.data), model.score_samples(made.data, "exact"), atol=1e-9)
    bound = NoisyOrComponentAnalysis(3, n_init=2, random_state=0).fit(made.data)
    assert model.score(made.data) >= bound.score_samples(made.data, "exact").mean() - 0.01


def test_zero_truncated(made):
    X = make_noisy_or(1500, 12, 2, prior=0.15, random_state=1)
    rows = X.data[X.data.sum(axis=1) > 0]
    plain = NoisyOrComponentAnalysis(2, n_init=2, inference="exact", random_state=0).fit(rows)
    cut = NoisyOrComponentAnalysis(2, n_init=2, inference="exact", zero_truncated=True, random_state=0).fit(rows)
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
    sparse = quietly(NoisyOrComponentAnalysis(2, n_init=1, random_state=0), sp.random(50, 30, 0.1, rng=0).ceil())
    assert sparse.transform(sp.csr_array((4, 30))).shape == (4, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"m_step": "em"}, "m_step must be one of 'mm', 'newton', 'bisection'"),
        ({"inference": "gibbs"}, "inference must be one of"),
        ({"e_step": "hot"}, "e_step must be one of"),
        ({"init": "spectral"}, "init must be"),
        ({"init": np.ones((2, 3))}, r"shape \(2, 5\)"),
        ({"link_prior": (0.5, 1)}, "both numbers must be 1 or more"),
        ({"leak_prior": 3}, "pair of numbers"),
        ({"surplus": -1}, "surplus must be a whole number"),
        ({"n_components": 13, "inference": "exact"}, "stops at K = 12"),
        ({"inference": "exact", "m_step": "newton"}, "closed-form m_step"),
        ({"e_iter": 0}, "e_iter must be"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        NoisyOrComponentAnalysis(**{"n_components": 2, **options}).fit(np.eye(5))


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
    assert len(ax.tables[0].get_celld()) == 16
    plt.close("all")


def test_importing_needs_no_networkx(fitted, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="latentbits\\[links\\]"):
        fitted.to_graph()


def test_metrics():
    metrics = latentbits.metrics
    gold = np.eye(3)
    found = metrics.weighted_cosine_matching(np.array([[0, 1, 0], [1, 0, 0.0], [1, 1, 1]]), gold, [0.2, 0.5, 0.3], 2)
    assert found["pairs"] == [(0, 1, 1.0), (1, 0, 1.0)] and abs(found["value"] - 0.7) < 1e-12
    assert abs(found["renormalised"] - 1) < 1e-12
    # The assignment is the best of all, by brute force.
    from itertools import permutations

    rng = np.random.default_rng(0)
    parts, truth, weights = rng.random((5, 6)), rng.random((3, 6)), rng.random(5)
    cosine = (parts / np.linalg.norm(parts, axis=1)[:, None]) @ (truth / np.linalg.norm(truth, axis=1)[:, None]).T
    for n in (1, 2, 3):
        best = max(
            sum(weights[i] * cosine[i, g] for i, g in zip(chosen, goal)) / weights.sum()
            for chosen in permutations(range(5), n)
            for goal in permutations(range(3), n)
        )
        assert abs(metrics.weighted_cosine_matching(parts, truth, weights, n)["value"] - best) < 1e-12
    judged = metrics.community_recovery([[0.9, 0.8, 0.1, 0.2], [0.1, 0.7, 0.9, 0.0]], [0, 0, 1, 1])
    assert judged["points"] == {0: 1.0, 1: 0.5} and judged["component"] == {0: 0, 1: 1}
    assert metrics.community_recovery([[0.9, 0.8, 0.1, 0.2]], [0, 0, 1, 1])["component"][1] is None
    scores = metrics.document_cross_entropy(np.log([0.5, 0.125]))
    assert abs(scores["bits"] - 2) < 1e-12 and abs(scores["perplexity"] - 4) < 1e-12 and scores["se"] > 0
    for call in (
        lambda: metrics.weighted_cosine_matching([[1, 2]], [[1, 2, 3]]),
        lambda: metrics.weighted_cosine_matching(gold, gold, [1, -1, 1]),
        lambda: metrics.weighted_cosine_matching(gold, gold, None, 4),
        lambda: metrics.community_recovery(gold, [1]),
        lambda: metrics.document_cross_entropy([]),
    ):
        with pytest.raises(InputError):
            call()


def test_links_command(tmp_path):
    from typer.testing import CliRunner

    from latentbits.cli.main import app

    made = make_noisy_or(300, 12, 2, random_state=0)
    edges = tmp_path / "edges.triples"
    lines = [f"doc{i},author{j}" for i, j in zip(*np.nonzero(made.data))]
    edges.write_text("\n".join(lines) + "\n")
    run = CliRunner().invoke
    files = {name: tmp_path / name for name in ("m.csv", "d.csv", "o.csv", "g.graphml", "g.gexf", "model.latentbits")}
    asked = ["links", str(edges), "-k", "2", "--members", files["m.csv"], "--documents", files["d.csv"]]
    asked += [
        "--overlap",
        files["o.csv"],
        "--graph",
        files["g.graphml"],
        "--graph-rows",
        "--save",
        files["model.latentbits"],
    ]
    done = run(app, list(map(str, asked)))
    assert done.exit_code == 0, done.output
    assert "community 0: about" in done.stdout and "author" in done.stdout and "for instance: doc" in done.stdout
    assert files["m.csv"].read_text().startswith("community,rows,rank,member,strength")
    assert "community_1" in files["d.csv"].read_text().splitlines()[0]
    assert files["g.graphml"].stat().st_size > 1000
    again = run(app, ["links", str(edges), "--fitted", str(files["model.latentbits"]), "--graph", str(files["g.gexf"])])
    assert again.exit_code == 0 and b"<gexf" in files["g.gexf"].read_bytes()
    # Another list of edges, with other documents, authors that are missing and one that is new.
    other = tmp_path / "new.edges"
    other.write_text("document,author\nnew1,author0\nnew1,author5\nnew2,author5\nnew2,somebody\n")
    fresh = run(app, ["links", str(other), "--fitted", str(files["model.latentbits"])])
    assert fresh.exit_code == 0 and "of 2 rows" in fresh.stdout
    assert "1 column that the model does not know left out (first: 'somebody')" in fresh.stderr
    moved = run(app, ["transform", str(files["model.latentbits"]), str(other)])
    assert moved.exit_code == 0 and moved.stdout.splitlines()[1].startswith("new1,")
    plain = tmp_path / "edges.csv"
    plain.write_text(edges.read_text())
    hinted = run(app, ["links", str(plain)])
    assert hinted.exit_code != 0 and "--format triples" in str(hinted.exception)
    pair = run(app, ["links", str(edges), "-k", "2", "--set", "link_prior=1,1", "--starts", "1"])
    assert pair.exit_code == 0, pair.output
    fit = ["fit", str(edges), "-m", "noisy-or", "-k", "2", "-o", str(tmp_path / "again.latentbits"), "--starts", "1"]
    shown = run(app, fit)
    assert shown.exit_code == 0 and "components" in shown.stdout
    for wrong, message in (
        (["--graph", "x.png"], "graphml"),
        (["--top", "0"], "--top"),
        (["--least", "2"], "--least"),
        (["--fitted", "m.latentbits", "-k", "3"], "leave it out"),
        (["--fitted", "m.latentbits", "--starts", "3"], "leave them out"),
        (["--graph-rows"], "--graph"),
    ):
        refused = run(app, ["links", str(edges), *wrong])
        assert refused.exit_code != 0 and message in str(refused.exception)


def test_questions_before_a_fit():
    from sklearn.exceptions import NotFittedError

    model = NoisyOrComponentAnalysis(2)
    for question in (
        "predict_sources", "encode", "documents_table", "overlap_table", "importance_scores", "gibbs_posteriors",
        "reconstruction_error", "quickscore", "marginal_table", "pair_table", "score_samples", "transform", "prune", "bic",
    ):  # fmt: skip
        with pytest.raises(NotFittedError):
            getattr(model, question)(np.eye(3))


def test_typical_rows_are_the_clearest(made, fitted):
    odds = fitted._per_row(made.data, fitted._model.log_odds)
    for row in fitted.documents_table(made.data, top=3):
        assert (odds[:, row["community"]] > odds[row["row"], row["community"]]).sum() < row["rank"]
    assert len(fitted.documents_frame(made.data, 2)) == 6 and len(fitted.marginal_frame(made.data)) == 12


def test_lists_take_the_columns_of_a_model(tmp_path):
    path = tmp_path / "more.basket"
    path.write_text("a;c\nb\n")
    table = latentbits.data.read_table(path, columns=["c", "z", "a", "b"])
    assert table.columns == ["c", "z", "a", "b"]
    block = latentbits.data.open_source(table.reader).block(0)
    assert block.codes().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]
    with pytest.raises(InputError, match="none of its columns"):
        latentbits.data.read_table(path, columns=["x"])
    named = tmp_path / "named.triples"
    named.write_text("thing,stuff,amount\nr,c,1\n")
    with pytest.raises(InputError, match="--header"):
        latentbits.data.read_table(named)
    assert latentbits.data.read_table(named, header=True).shape == (1, 1)
    assert latentbits.data.read_table(path, format="baskets").shape == (2, 3)


def test_deletion_losses_are_those_of_the_table():
    """The sample of distinct rows gives the loss of all rows, also where rows repeat or hold nothing."""
    from latentbits.engine.sweep import LocalSweep
    from latentbits.noisy_or.model import _without

    X = make_noisy_or(4000, 24, 3, leak=0.01, random_state=0).data
    for table in (X, np.vstack((X, np.zeros((4000, 24)))), np.vstack((X, np.full((2000, 24), np.nan)))):
        model = quietly(NoisyOrComponentAnalysis(3, n_init=1, random_state=0), table)
        source = latentbits.data.open_source(table)
        sampled, weight = model._model.losses(model._params, LocalSweep(source), 600)
        assert weight == (~np.isnan(table).all(axis=1)).sum() == model._params.weight
        whole = float(model.score_samples(table).sum())
        for k in range(3):
            rest = quietly(NoisyOrComponentAnalysis(2, n_init=1, max_iter=1, random_state=0), table)
            rest._params = _without(model._params, np.delete(np.arange(3), k))
            rest._model = rest._streaming(rest._model)
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


def test_exact_answers_are_exact():
    """With ``inference="exact"`` fill-in and explanations go through all states."""
    made = make_noisy_or(200, 8, 3, unknown=0.2, random_state=5)
    model = quietly(NoisyOrComponentAnalysis(3, n_init=1, inference="exact", random_state=0), made.data)
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


def test_pruning_forgets_given_starts_and_checkpoints(tmp_path):
    made = make_noisy_or(300, 12, 2, random_state=1)
    links = np.vstack((made.links, np.full((2, 12), 0.02)))
    model = quietly(NoisyOrComponentAnalysis(4, init=links, checkpoint=tmp_path / "c.checkpoint"), made.data)
    assert len(model.restarts_) == 1
    pruned = quietly_prune(model, made.data)
    assert pruned.n_components == model.status_.count("supported") and pruned.checkpoint == tmp_path / "c.checkpoint"


def test_streams_measure_no_losses(made):
    model = quietly(NoisyOrComponentAnalysis(3, n_init=1, m_step="newton", random_state=0), made.data)
    model.partial_fit(made.data)
    assert not hasattr(model, "bic_bound_") and set(model.status_) <= {"active", "disconnected", "always on"}
    with pytest.raises(InputError, match="stream"):
        model.prune(made.data)


def test_truncation_and_rows_without_a_known_one():
    """A blank row is certain; a row whose known cells are zero must hold a one elsewhere; an empty row cannot be."""
    X = make_noisy_or(400, 6, 2, random_state=0).data
    X = X[X.sum(axis=1) > 0]
    model = quietly(NoisyOrComponentAnalysis(2, n_init=1, inference="exact", zero_truncated=True, random_state=0), X)
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
