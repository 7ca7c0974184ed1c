"""Answers of the Bayesian mixtures: exact where enumeration can tell, and words for everything a user should doubt."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

import latentbits
from latentbits import BayesianBernoulliMixture, DPBernoulliMixture
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.errors import (
    BlocksWarning,
    CellError,
    InputError,
    LatentBitsWarning,
    NotConvergedWarning,
    UnmixedChainsWarning,
)
from latentbits.mixture.evidence import log_joints
from latentbits.mixture.gibbs import Draw
from latentbits.mixture.partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior
from latentbits.mixture.partitions import by_size, distances, point_partition
from latentbits.mixture.posterior import PosteriorModel, posterior_params

from ..reference import bayesian as slow
from .gibbs_tools import collapsed

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 30, "thin": 1, "random_state": 0}


def quiet_fit(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return model.fit(X)


def enumerated(prior, X=slow.G):
    """All partitions as equally many "draws", weighted by their posterior through repetition of weights."""
    process = collapsed(X, prior)
    found, values = log_joints(process)
    draws = [Draw(np.array(labels), prior.alpha, np.array([0.5]), np.array([0.7])) for labels in found]
    counts = process.counts(np.array(found[0]))
    params = posterior_params(draws, process.counts, prior, (counts, np.array([0.5]), np.array([0.7])))
    return params, np.exp(values - logsumexp(values))


@pytest.mark.parametrize(
    ("prior", "log_query", "filled", "plain"),
    [
        (PartitionPrior(1.3), -1.30453494, (0.32180675, 0.52775849), 0.32427),
        (FinitePrior(2.0, 3), -1.26183747, (0.29478776, 0.54604026), None),
    ],
)
def test_fill_in_over_the_enumerated_posterior(prior, log_query, filled, plain):
    """A2 and the golden fill-ins: Σ_s w_s p(x_q | z_s) P_s / Σ_s w_s p(x_q | z_s), to 1e-8."""
    params, shares = enumerated(prior)
    query = np.array([[1, np.nan, 0, np.nan]])
    block = open_source(query).block(0)
    joint = PosteriorModel(1, "joint")
    precomputed = joint.precompute(params)
    n_draws = len(shares)
    # Draws that are not equally probable: their posterior is an extra weight on the flat mixture.
    extra = np.log(shares * n_draws)[params.owner]
    weighted = precomputed._replace(flat=precomputed.flat._replace(base=precomputed.flat.base + extra))
    np.testing.assert_allclose(joint.log_prob(block, weighted), log_query, atol=1e-8)
    np.testing.assert_allclose(joint.predict_cells(block, weighted)[0, [1, 3]], filled, atol=1e-8)
    if plain is not None:  # the report's plain mean
        one_by_one = [
            PosteriorModel(1, "joint").predict_cells(block, joint.precompute(_only(params, s)))[0, 1]
            for s in range(n_draws)
        ]
        np.testing.assert_allclose(shares @ one_by_one, plain, atol=5e-6)
        blind = PosteriorModel(1, "joint", include_new=False)
        unseen = [blind.predict_cells(block, blind.precompute(_only(params, s)))[0, 1] for s in range(n_draws)]
        query_shares = [np.exp(joint.log_prob(block, joint.precompute(_only(params, s))))[0] for s in range(n_draws)]
        assert (
            abs(np.average(unseen, weights=shares * query_shares) - filled[0]) > 0.005
        )  # leaving the new class out is wrong


def _only(params, s):
    """The parameters with one draw alone."""
    mine = params.owner == s
    parts = {name: getattr(params, name)[mine] for name in ("weights", "sizes", "ones", "zeros")}
    numbers = {name: getattr(params, name)[[s]] for name in ("alpha", "beta", "gamma")}
    return params._replace(owner=np.zeros(mine.sum(), np.int64), **parts, **numbers)


@pytest.mark.parametrize("average", ["mean", "joint"])
@pytest.mark.parametrize("options", [{}, {"rule": "plugin"}, {"include_new": False}])
def test_predictive_sums_to_one(average, options):
    X = make_mixture(40, 6, 2, unknown=0.1, random_state=0).data
    model = quiet_fit(DPBernoulliMixture(average=average, **SHORT, **options), X)
    every = np.array(list(itertools.product((0.0, 1.0), repeat=6)))
    np.testing.assert_allclose(np.exp(model.score_samples(every)).sum(), 1.0, atol=1e-12)


def test_blank_cells_and_full_rows():
    """A2: a masked and a NaN cell are the same; filling a row without blanks gives the row."""
    X = make_mixture(40, 6, 2, unknown=0.2, random_state=1).data
    model = quiet_fit(BayesianBernoulliMixture(3, **SHORT), X)
    blank = np.isnan(X)
    masked = np.ma.MaskedArray(np.where(blank, 7, X), mask=blank)
    assert model.reconstruct(X).tobytes() == model.reconstruct(masked).tobytes()
    full = np.where(blank, 0.0, X)
    np.testing.assert_array_equal(model.impute(full), full)


def test_averages_of_draws_by_hand():
    """The mean rule is the mean of the draws' own answers, the likelihood the mean of theirs."""
    X = make_mixture(60, 7, 3, unknown=0.2, random_state=2).data
    model = quiet_fit(DPBernoulliMixture(2.0, **SHORT, answer_draws=6), X)
    params, single = model._params, PosteriorModel(1, "mean")
    block = open_source(X).block(0)
    alone = [single.precompute(_only(params, s)) for s in range(6)]
    np.testing.assert_allclose(
        model.reconstruct(X), np.mean([single.predict_cells(block, r) for r in alone], axis=0), atol=1e-12
    )
    logs = np.array([single.log_prob(block, r) for r in alone])
    np.testing.assert_allclose(model.score_samples(X), logsumexp(logs, axis=0) - np.log(6), atol=1e-10)
    weights = np.exp(logs - logsumexp(logs, axis=0))
    wanted = sum(w[:, None] * single.predict_cells(block, r) for w, r in zip(weights, alone))
    model.set_params(average="joint")
    np.testing.assert_allclose(model.reconstruct(X), wanted, atol=1e-12)
    novelty = model.set_params(average="mean").novelty(X)
    assert novelty.shape == (60,) and (novelty > 0).all() and (novelty < 1).all()
    # Draws of blanks have the probabilities that are told.
    drawn = np.mean([model.impute(X, how="sample", random_state=s) for s in range(300)], axis=0)
    assert np.abs(drawn - model.impute(X))[np.isnan(X)].max() < 5 * 0.5 / np.sqrt(300)


def test_large_ensembles_are_answered_in_pieces(monkeypatch):
    from latentbits.mixture import ensemble

    X = make_mixture(50, 6, 2, unknown=0.2, random_state=3).data
    model = quiet_fit(DPBernoulliMixture(**SHORT), X)
    cells = (np.array([40, 3, 3, 12]), np.array([1, 5, 0, 2]))
    whole = model.reconstruct(X), model.score_samples(X), model.impute(X, "sample", 1), model.reconstruct(X, cells)
    monkeypatch.setattr(ensemble, "TILE", 700)
    pieces = model.reconstruct(X), model.score_samples(X), model.impute(X, "sample", 1), model.reconstruct(X, cells)
    for a, b in zip(whole, pieces):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_point_partitions():
    """Distances from their definitions, and the draw nearest to the others."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, (12, 30))
    binder, information = distances(labels, labels)
    for a, b in itertools.combinations(range(12), 2):
        together = [(x[:, None] == x)[np.triu_indices(30, 1)] for x in (labels[a], labels[b])]
        assert binder[a, b] == (together[0] != together[1]).sum()
        both = np.histogram2d(labels[a], labels[b], bins=4)[0] / 30
        entropies = [-(p[p > 0] * np.log(p[p > 0])).sum() for p in (both, both.sum(0), both.sum(1))]
        np.testing.assert_allclose(information[a, b], 2 * entropies[0] - entropies[1] - entropies[2], atol=1e-12)
    chosen = point_partition(labels, rng.random(12), "binder")
    assert chosen.draw == binder.mean(axis=1).argmin() and chosen.loss == binder.mean(axis=1).min()
    assert point_partition(labels, np.arange(12.0), "best").draw == 11
    assert point_partition(labels, rng.random(12), "vi").draw == information.mean(axis=1).argmin()
    assert by_size(np.array([3, 7, 7, 1, 7, 1])).tolist() == [2, 0, 0, 1, 0, 1]


def test_weights_of_finite_mixtures_given_a_partition():
    """With K components there may be no other block at all: the weight of "none of them" is 0 in many draws."""
    prior, sizes, rng = FiniteMixturesPrior(1.0, 0.5), np.array([20, 10]), np.random.default_rng(0)
    rest = []
    for _ in range(5000):
        found = prior.concentrations(sizes, rng)
        gammas = rng.standard_gamma(np.maximum(found, 1e-300))
        rest.append(gammas[-1] / gammas.sum())
    old, new = prior.weights(sizes)
    np.testing.assert_allclose(np.mean(rest), new, rtol=0.15)  # the same mean as the predictive rule
    assert np.mean(np.array(rest) < 1e-12) > 0.8 and len(old) == 2


def test_many_blocks_are_compared_one_by_one(monkeypatch):
    from latentbits.mixture import partitions

    labels = np.random.default_rng(0).integers(0, 5, (3, 20))
    whole = distances(labels, labels)
    monkeypatch.setattr(partitions, "MOST_BLOCKS", 2)
    for a, b in zip(whole, distances(labels, labels)):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_what_a_fit_tells():
    X = make_mixture(80, 8, 2, spread=3.0, random_state=4).data
    model = quiet_fit(DPBernoulliMixture(learn_weight_concentration=True, learn_cells="shared", **SHORT), X)
    matrix = model.coclustering()
    labels = model.draws_.labels.reshape(-1, 80)
    np.testing.assert_allclose(matrix[3, 9], (labels[:, 3] == labels[:, 9]).mean())
    second = model.draws_.labels[1]
    np.testing.assert_allclose(model.coclustering(rows=[3, 9], chain=1)[0, 1], (second[:, 3] == second[:, 9]).mean())
    lower, upper = model.credible_intervals(0.9)
    assert ((lower < model.components_) & (model.components_ < upper)).mean() > 0.99
    assert (np.diff(model.weights_) <= 0).all() and np.bincount(model.labels_).tolist() == (
        model.weights_ * 80
    ).round().tolist()
    names = [row["quantity"] for row in model.diagnostics_]
    assert names == ["log_joint", "n_blocks", "largest", "entropy", "alpha", "beta", "gamma"]
    assert len(model.trace_frame()) == 2 * 50 and len(model.diagnostics_frame()) == 7
    assert (model.trace_[:, -1, 0] == model.draws_.log_joint[:, -1]).all()
    fit, other = model.loo(X), model.waic(X)
    assert abs(fit.elpd - other.elpd) < 0.05 * abs(fit.elpd) and fit.pointwise.shape == (80,)
    assert fit.elpd < model.score_samples(X).sum()
    cells, member = model.sample(500, random_state=0, return_causes=True)
    assert np.abs(cells.mean(axis=0) - X.mean(axis=0)).max() < 0.15 and set(member) <= set(range(40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        evidence = DPBernoulliMixture(**SHORT).log_evidence(X[:30], n_runs=5, n_steps=300)
    sequential = DPBernoulliMixture(**SHORT).log_evidence(X[:30], method="sequential", n_runs=200)
    assert abs(evidence.value - sequential.value) < 6
    assert len(repr(fit)) < 150 and len(repr(evidence)) < 100 and "pairs of rows" in repr(model.point_partition_)
    with pytest.warns(NotConvergedWarning, match="has nearly all the weight.*Raise n_steps"):
        hasty = DPBernoulliMixture(**SHORT).log_evidence(X, n_runs=4, n_steps=2)
    assert hasty.standard_error == np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        assert (DPBernoulliMixture(**SHORT).fit_predict(X) == DPBernoulliMixture(**SHORT).fit(X).labels_).all()


def test_words_about_mixing():
    """Unmixed chains are told of in words, with what to do; mixed ones too."""
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 200))  # a continuum, which blocks can cut in many ways
    hard = (rng.random((200, 200)) < 1 / (1 + np.exp(-2 * slopes))).astype(float)
    model = DPBernoulliMixture(
        50.0, n_chains=3, n_warmup=20, n_draws=20, thin=1, split_merge=0, init="mixed", random_state=0
    )
    with pytest.warns(
        UnmixedChainsWarning, match="ensemble of good solutions.*split_merge=20, more n_warmup;.*more n_chains"
    ):
        model.fit(hard)
    assert not model.converged_
    text = model.summary()
    assert "THEY HAVE NOT MIXED" in text and "What to do" in text and "1.05 or less" in text
    easy = (rng.random((60, 30)) < np.array([[0.95], [0.05]])[rng.integers(0, 2, 60)]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnmixedChainsWarning)
        model = DPBernoulliMixture(0.01, n_chains=2, n_warmup=50, n_draws=50, random_state=0).fit(easy)
    assert "they agree" in model.summary() and model.converged_
    model = quiet_fit(DPBernoulliMixture(n_chains=2, n_warmup=2, n_draws=1, random_state=0), easy)
    assert "too few draws" in model.summary()


@pytest.mark.filterwarnings("ignore::latentbits.errors.UnmixedChainsWarning")
def test_words_about_blocks():
    rng = np.random.default_rng(1)
    X = (rng.random((200, 20)) < rng.random((6, 20))[rng.integers(0, 6, 200)]).astype(float)
    with pytest.warns(BlocksWarning, match="all 2 components are in use.*Raise n_components"):
        BayesianBernoulliMixture(2, **SHORT).fit(X)
    noise = (rng.random((50, 5)) < 0.5).astype(float)
    with pytest.warns(BlocksWarning, match=r"one block in every draw.*learn_cells='feature'"):
        DPBernoulliMixture(1e-9, init="one", split_merge=0, **SHORT).fit(noise)


@pytest.mark.parametrize("cls", [BayesianBernoulliMixture, DPBernoulliMixture])
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("weight_concentration", 0.0, "weight_concentration must be a number above 0"),
        ("weight_concentration", np.nan, "weight_concentration must be a number above 0"),
        ("weight_concentration", "many", "weight_concentration must be a number above 0"),
        ("beta", -1.0, "beta must be a number above 0, or one per column"),
        ("gamma", np.nan, "gamma must be a number above 0"),
        ("beta", [0.5, 0.5], r"one per column \(6\)"),
        ("gamma", "x", "gamma must be a number above 0"),
        ("n_chains", 0, "n_chains must be a whole number, 1 or more"),
        ("n_warmup", -1, "n_warmup must be a whole number, 0 or more"),
        ("n_draws", 0, "n_draws must be"),
        ("thin", 0, "thin must be"),
        ("split_merge", -1, "split_merge must be"),
        ("init", "best", "init must be 'random'"),
        ("init", [0, 1], r"one block number \(0, 1, ...\) per row \(40 rows\)"),
        ("solver", "hmc", "solver must be one of 'collapsed', 'blocked'"),
        ("learn_cells", True, "learn_cells must be one of None, 'shared', 'feature'"),
        ("weight_concentration_prior", (1.0, 0.0), "weight_concentration_prior must be a pair"),
        ("cell_prior", 3, "cell_prior must be a pair"),
        ("point", "mean", "point must be one of"),
        ("average", "sum", "average must be one of"),
        ("rule", "map", "rule must be one of"),
        ("answer_draws", 0, "answer_draws must be"),
        ("start_blocks", 0, "start_blocks must be"),
        ("learn_weight_concentration", "no", "learn_weight_concentration must be True or False"),
    ],
)
def test_bad_options(cls, option, value, words):
    X = make_mixture(40, 6, 2, random_state=0).data
    with pytest.raises(InputError, match=words):
        cls(**{**SHORT, option: value}).fit(X)


def test_other_bad_options():
    X = make_mixture(40, 6, 2, random_state=0).data
    for model, words in (
        (BayesianBernoulliMixture(0, **SHORT), "n_components must be a whole number, 1 or more"),
        (BayesianBernoulliMixture(3, init="singletons", **SHORT), "needs as many blocks as rows"),
        (BayesianBernoulliMixture(3, init=np.arange(40), **SHORT), "init has 40 blocks, but there can be 3"),
        (DPBernoulliMixture(weight_prior="crp", **SHORT), "weight_prior must be"),
        (DPBernoulliMixture(weight_prior="pitman-yor", discount=1.0, **SHORT), "discount must be below 1"),
        (DPBernoulliMixture(weight_prior="finite-mixtures", rate=0, **SHORT), "rate must be a number above 0"),
        (DPBernoulliMixture(weight_prior="finite-mixtures", solver="blocked", **SHORT), "needs solver='collapsed'"),
        (DPBernoulliMixture(init="kmeans", solver="blocked", **SHORT), "init='kmeans' needs solver='collapsed'"),
        (DPBernoulliMixture(beta=np.ones(6), learn_cells="shared", **SHORT), "one pair beta, gamma for all columns"),
    ):
        with pytest.raises(InputError, match=words):
            model.fit(X)
    with pytest.raises(InputError, match="up to 9 rows"):
        DPBernoulliMixture(**SHORT).log_evidence(X, method="exact")
    with pytest.raises(InputError, match="method must be"):
        DPBernoulliMixture(**SHORT).log_evidence(X, method="harmonic")
    fitted = quiet_fit(DPBernoulliMixture(**SHORT), X)
    for ask, words in (
        (lambda: fitted.credible_intervals(95), "between 0 and 1"),
        (lambda: fitted.coclustering(chain=9), "from 0 to 1"),
        (lambda: fitted.coclustering(rows=["a"]), "must be row numbers"),
        (lambda: fitted.coclustering(rows=[40]), "from 0 to 39"),
        (lambda: fitted.loo(X[::-1]), "or its rows are in another order"),
        (
            lambda: DPBernoulliMixture(learn_weight_concentration=True).log_evidence(X),
            "fixed weight_concentration, beta and gamma",
        ),
        (lambda: fitted.log_evidence(X, n_runs=0), "n_runs must be"),
        (lambda: fitted.log_evidence(X, n_steps=0), "n_steps must be"),
        (lambda: fitted.loo(X[:10]), "Pass the table that was fitted"),
        (lambda: fitted.set_params(average="sum").reconstruct(X), "average must be one of"),
        (lambda: latentbits.select(DPBernoulliMixture(), X), "has no number of components to choose"),
    ):
        with pytest.raises(InputError, match=words):
            ask()
    assert not hasattr(fitted, "bic") and fitted.score_kind_ == "estimate"
    with pytest.raises(InputError, match="include_new=True"):
        quiet_fit(DPBernoulliMixture(include_new=False, **SHORT), X).novelty(X)


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_tables_of_every_kind(sampler):
    """Section 12: what is accepted, and what is refused by row and column."""
    fit = lambda X, **more: quiet_fit(DPBernoulliMixture(solver=sampler, **{**SHORT, **more}), X)  # noqa: E731
    pd = pytest.importorskip("pandas")
    table = make_mixture(30, 5, 2, random_state=0).data
    first = fit(table)
    frame = pd.DataFrame(table).astype("boolean")
    for X in (table.astype(bool), table.astype(np.uint8), sp.csr_array(table), sp.csc_matrix(table), frame):
        assert (fit(X).draws_.labels == first.draws_.labels).all()
    fit([[1, 0, 1]])  # one row
    quiet_fit(BayesianBernoulliMixture(9, solver=sampler, **SHORT), table[:4])  # K above N
    assert len(quiet_fit(BayesianBernoulliMixture(1, solver=sampler, **SHORT), table).weights_) == 1
    fit(np.ones((12, 3)))
    fit(np.tile(table[:2], (8, 1)))
    fit(np.column_stack((table, np.zeros(30), np.ones(30))))
    holes = table.copy()
    holes[3], holes[:, 2] = np.nan, np.nan
    model = fit(holes)
    assert np.isfinite(model.reconstruct(holes)).all()
    twice = sp.coo_array((np.ones(3), ([0, 0, 1], [1, 1, 0])), shape=(3, 2))
    with pytest.raises(CellError, match=r"row 0.*column 1.*2"):
        fit(twice)
    bad = table.copy()
    bad[7, 2] = 3
    with pytest.raises(CellError, match="row 7, column 2"):
        fit(bad)
    bad[7, 2] = np.inf
    with pytest.raises(CellError, match="row 7, column 2"):
        fit(bad)
    for empty in (np.empty((0, 4)), np.empty((4, 0))):
        with pytest.raises(InputError):
            fit(empty)
    with pytest.raises(InputError, match="features"):
        model.predict(table[:, :3])


def test_constant_columns_count():
    """Each block pays for a column of zeros: E[K₊] falls from 2.892 to 2.067 (never drop them silently)."""
    X = np.column_stack((slow.G, np.zeros((5, 3))))
    shares = slow.posterior(X, lambda s: slow.log_prior_dp(s, 1.3), 0.5, 0.7)[1]
    assert abs(sum((max(p) + 1) * w for p, w in shares.items()) - 2.067) < 1e-3
    found, values = log_joints(collapsed(X, PartitionPrior(1.3)))
    ours = np.exp(values - logsumexp(values)) @ (np.array(found).max(axis=1) + 1)
    assert abs(ours - 2.067) < 1e-3
