"""Samplers against exact posteriors, a joint distribution test and calibration by simulation.  Slow; ``make test-slow``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from latentbits.data.rng import stream
from latentbits.mixture.evidence import _prior_labels
from latentbits.mixture.gibbs import ChainState, canonical
from latentbits.mixture.hyper import Learning
from latentbits.mixture.partition_priors import FinitePrior, PartitionPrior

from ..reference import bayesian as slow
from ..unit.gibbs_tools import PRIORS, blocked, collapsed, visited

pytestmark = pytest.mark.slow
SWEEPS = 200_000


@pytest.mark.parametrize("blank", [False, True], ids=["complete", "blank"])
@pytest.mark.parametrize("name", ["dirichlet process", "finite"])
@pytest.mark.parametrize(
    ("make", "moves", "near"),
    [
        (collapsed, {}, 0.01),
        (collapsed, {"split_merge": 2}, 0.01),
        (collapsed, {"split_merge": 3, "gibbs": False}, 0.03),
        (collapsed, {"kernel": "wide", "turn": False}, 0.01),
        (blocked, {}, 0.01),
    ],
    ids=["gibbs", "split-merge", "split-merge alone", "wide", "blocked"],
)
def test_long_runs_reach_the_posterior(make, moves, near, name, blank):
    """A1: total variation from the enumerated posterior of the 5-row table."""
    prior, formula = PRIORS[name]
    X = slow.G_BLANK if blank else slow.G
    truth = slow.posterior(X, lambda sizes: formula(list(sizes)), 0.5, 0.7)[1]
    assert slow.total_variation(visited(make(X, prior, **moves), SWEEPS), truth) < near


def _over_alpha(X, formula):
    """Posterior of partitions with α ~ Gamma(2, 1) summed over a grid of log α."""
    grid = np.linspace(-6, 3.5, 160)
    weights = np.exp(2 * grid - np.exp(grid))
    shares = {}
    for labels in slow.partitions(len(X)):
        sizes = list(np.bincount(labels))
        prior = sum(w * np.exp(formula(sizes, np.exp(x))) for w, x in zip(weights, grid))
        shares[labels] = prior * np.exp(slow.log_cells(X, labels, 0.5, 0.7))
    total = sum(shares.values())
    return {labels: share / total for labels, share in shares.items()}


@pytest.mark.parametrize("make", [collapsed, blocked], ids=["collapsed", "blocked"])
@pytest.mark.parametrize("name", ["dirichlet process", "finite"])
def test_learning_alpha_against_a_grid(make, name):
    formulas = {
        "dirichlet process": slow.log_prior_dp,
        "finite": lambda sizes, alpha: slow.log_prior_finite(sizes, alpha, 3),
    }
    learning = Learning(alpha=(2.0, 1.0))
    counts = visited(make(slow.G, PRIORS[name][0], learning=learning), SWEEPS)
    assert slow.total_variation(counts, _over_alpha(slow.G, formulas[name])) < 0.01


@pytest.mark.parametrize("make", [collapsed, blocked], ids=["collapsed", "blocked"])
@pytest.mark.parametrize("name", ["dirichlet process", "finite"])
def test_learning_beta_and_gamma_against_a_grid(make, name):
    """β, γ ~ Gamma(1, 1), summed over a grid of their logarithms."""
    prior, formula = PRIORS[name]
    grid = np.linspace(-7, 2.5, 70)
    weights = np.exp(grid - np.exp(grid))
    shares = {}
    for labels in slow.partitions(5):
        cells = sum(
            wb * wg * np.exp(slow.log_cells(slow.G_BLANK, labels, np.exp(b), np.exp(g)))
            for wb, b in zip(weights, grid)
            for wg, g in zip(weights, grid)
        )
        shares[labels] = cells * np.exp(formula(list(np.bincount(labels))))
    total = sum(shares.values())
    truth = {labels: share / total for labels, share in shares.items()}
    counts = visited(make(slow.G_BLANK, prior, learning=Learning(cells="shared")), SWEEPS)
    assert slow.total_variation(counts, truth) < 0.01


def _cells_given(labels, beta, gamma, n_columns, blank, rng):
    """A table drawn given a partition."""
    probs = rng.beta(beta, gamma, (labels.max() + 1, n_columns))
    X = (rng.random((len(labels), n_columns)) < probs[labels]).astype(float)
    X[blank] = np.nan
    return X


def _from_the_prior(prior, n_rows, n_columns, blank, rng):
    """α, partition and table from the model; β = 0.6, γ = 0.9."""
    alpha = rng.gamma(2.0)
    labels = _prior_labels(prior.with_alpha(alpha), n_rows, rng)
    return alpha, labels, _cells_given(labels, 0.6, 0.9, n_columns, blank, rng)


def _statistics(alpha, labels, X):
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 0]
    return [np.log(alpha), len(sizes), sizes.max(), np.nansum(X), np.nansum(X[0] == X[1]), labels[0] == labels[1]]


@pytest.mark.parametrize("make", [collapsed, blocked], ids=["collapsed", "blocked"])
@pytest.mark.parametrize("prior", [PartitionPrior(1.0), FinitePrior(1.0, 3)], ids=["process", "finite"])
def test_joint_distribution(make, prior):
    """Geweke (2004): drawing parameters given the table and the table given parameters in turn leaves the model's own joint.

    Means of six statistics against draws from the prior, with the error from batches of the chain.
    """
    rng = np.random.default_rng(1)
    n_rows, n_columns = 6, 3
    blank = np.zeros((n_rows, n_columns), bool)
    blank[2, 1] = True
    direct = np.array([_statistics(*_from_the_prior(prior, n_rows, n_columns, blank, rng)) for _ in range(40_000)])
    alpha, labels, X = _from_the_prior(prior, n_rows, n_columns, blank, rng)
    moves = {"split_merge": 1} if make is collapsed else {}
    found = []
    for number in range(20_000):
        process = make(X, prior.with_alpha(alpha), 0.6, 0.9, learning=Learning(alpha=(2.0, 1.0)), **moves)
        state = ChainState(labels.astype(np.int32), alpha, np.array([0.6]), np.array([0.9]), np.zeros(4, np.int64))
        run = process.open(0, state)
        run.step(number)
        state = run.state()
        alpha, labels = float(state.alpha), canonical(state.labels).astype(np.int64)
        X = _cells_given(labels, 0.6, 0.9, n_columns, blank, rng)
        found.append(_statistics(alpha, labels, X))
    batches = np.array(found).reshape(100, 200, -1).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 100 + direct.var(axis=0) / len(direct))
    z = (batches.mean(axis=0) - direct.mean(axis=0)) / error
    assert np.abs(z).max() < 4, z


@pytest.mark.parametrize("prior", [PartitionPrior(1.0), FinitePrior(1.0, 4)], ids=["process", "finite"])
def test_calibration(prior):
    """Simulation-based calibration (Talts et al. 2018): ranks of the truth among thinned draws are uniform."""
    n_sets, n_draws, n_rows, n_columns = 400, 19, 12, 6
    blank = np.zeros((n_rows, n_columns), bool)
    blank[::3, 1] = True
    ranks = []
    for s in range(n_sets):
        rng = np.random.default_rng(1000 + s)
        alpha, labels, X = _from_the_prior(prior, n_rows, n_columns, blank, rng)
        process = collapsed(X, prior, 0.6, 0.9, learning=Learning(alpha=(2.0, 1.0)), split_merge=2, seed=s)
        truth = _statistics(alpha, labels, X)
        run = process.open(0, process.start(0))
        drawn = []
        for number in range(100 + 20 * n_draws):
            run.step(number)
            if number >= 100 and (number - 99) % 20 == 0:
                drawn.append(_statistics(run.numbers.alpha, canonical(run.labels).astype(np.int64), X))
        noise = stream(s, "sample").random((2, 6))  # ties are broken at random
        below = (np.array(drawn) < truth).sum(axis=0)
        equal = (np.array(drawn) == truth).sum(axis=0)
        ranks.append(below + np.floor(noise[0] * (equal + 1)))
    ranks = np.array(ranks)
    for column in (0, 1, 2):  # log α, number of blocks, largest block
        counts = np.bincount((ranks[:, column] // 4).astype(int), minlength=5)
        assert chisquare(counts).pvalue > 0.001, (column, counts)
