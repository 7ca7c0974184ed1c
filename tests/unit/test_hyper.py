"""The prior's own numbers: exact likelihoods, and draws against grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from latentbits.data.rng import stream
from latentbits.mixture import hyper, hyper_kernels
from latentbits.mixture.hyper import BlockCounts, Learning, PriorNumbers
from latentbits.mixture.partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior

from ..reference import bayesian as slow


def some_counts(seed=0, k=4, d=6, n=20):
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(n - k, np.full(k, 1 / k)) + 1
    seen = rng.binomial(sizes[:, None], 0.9, (k, d))
    ones = rng.binomial(seen, rng.random((k, d)))
    return BlockCounts(sizes, ones, seen - ones)


def test_histogram_is_the_direct_sum():
    """A11: to 1e-9."""
    counts = some_counts(3, 7, 11, 200)
    for beta, gamma in ((0.5, 0.5), (1e-3, 20.0), (7.0, 0.2)):
        direct = hyper.log_given_cells(counts, np.array([beta]), np.array([gamma]))
        np.testing.assert_allclose(hyper.histogram(counts).log_likelihood(beta, gamma), direct, rtol=1e-12, atol=1e-9)


def _grid_mean(log_density, grid):
    weights = np.exp(np.array([log_density(x) for x in grid]) - max(log_density(x) for x in grid))
    return float((np.exp(grid) * weights).sum() / weights.sum())


@pytest.mark.parametrize(
    ("prior", "formula"),
    [
        (PartitionPrior(1.0), slow.log_prior_dp),
        (FinitePrior(1.0, 5), lambda s, a: slow.log_prior_finite(s, a, 5)),
        (PitmanYorPrior(1.0, 0.4), lambda s, a: slow.log_prior_pitman_yor(s, a, 0.4)),
        pytest.param(
            FiniteMixturesPrior(1.0, 2.0), lambda s, a: slow.log_prior_mfm(s, a, 2.0, 300), marks=pytest.mark.slow
        ),
    ],
    ids=["process", "finite", "pitman-yor", "finite mixtures"],
)
def test_alpha_against_a_grid(prior, formula):
    """A11: the mean within 2 %, here with K₊ = 4, N = 20 and Gamma(2, 1)."""
    sizes, rng = np.array([9, 6, 4, 1]), stream(0, "hyper", 1)
    grid = np.linspace(-5, 4, 400)
    wanted = _grid_mean(lambda x: 2 * x - np.exp(x) + formula(list(sizes), np.exp(x)), grid)
    alpha, draws = 1.0, []
    for _ in range(
        12_000 if type(prior) is PartitionPrior else 5000 if type(prior) is not FiniteMixturesPrior else 2500
    ):
        alpha = hyper.draw_alpha(prior.with_alpha(alpha), sizes, alpha, (2.0, 1.0), rng)
        draws.append(alpha)
    close = 0.02 if type(prior) is PartitionPrior else 0.04
    assert abs(np.mean(draws) / wanted - 1) < close, (np.mean(draws), wanted)
    if type(prior) is PartitionPrior:
        assert abs(wanted - 1.550) < 2e-3  # the specification's number


def test_shared_numbers_against_a_grid():
    """A11: means of β and γ within 2 % of the grid."""
    counts, rng = some_counts(1), stream(0, "hyper", 2)
    grid = np.linspace(-5, 3.5, 120)
    found = hyper.histogram(counts)
    logs = np.array(
        [[x + y - np.exp(x) - np.exp(y) + found.log_likelihood(np.exp(x), np.exp(y)) for y in grid] for x in grid]
    )
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    wanted = (weights.sum(axis=1) @ np.exp(grid), weights.sum(axis=0) @ np.exp(grid))
    beta, gamma, draws = 0.5, 0.5, []
    for _ in range(8000):
        beta, gamma = hyper.draw_shared(counts, beta, gamma, (1.0, 1.0), rng)
        draws.append((beta, gamma))
    np.testing.assert_allclose(np.mean(draws, axis=0), wanted, rtol=0.02)


def test_feature_numbers_against_a_grid():
    """Means given the strength, and the strength given the means."""
    counts, rng = some_counts(2, 4, 3), stream(0, "hyper", 3)
    ones, zeros = counts.ones.astype(np.int64), counts.zeros.astype(np.int64)
    means, draws = np.full(3, 0.5), []
    for i in range(6000):
        hyper_kernels.slice_means(
            ones, zeros, 2.0, stream(1, "hyper", i).integers(0, 2**63, 3).astype(np.uint64), means
        )
        draws.append(means.copy())
    grid = np.linspace(0.0005, 0.9995, 1000)
    for d in range(3):
        column = BlockCounts(counts.sizes, ones[:, [d]], zeros[:, [d]])
        logs = np.array([hyper.log_given_cells(column, np.array([m * 2.0]), np.array([(1 - m) * 2.0])) for m in grid])
        weights = np.exp(logs - logs.max())
        np.testing.assert_allclose(np.mean(draws, axis=0)[d], (grid * weights).sum() / weights.sum(), rtol=0.02)
    both = PriorNumbers(1.0, np.full(3, 1.0), np.full(3, 1.0))
    strengths = []
    for _ in range(3000):
        both = hyper.draw_numbers(Learning(cells="feature"), PartitionPrior(1.0), counts, both, rng)
        strengths.append(both.beta[0] + both.gamma[0])
        np.testing.assert_allclose(both.beta + both.gamma, strengths[-1])
    # The strength with all means integrated out on a grid.
    log_strengths = np.linspace(-4, 3, 60)
    logs = []
    for x in log_strengths:
        s, total = np.exp(x), x - np.exp(x)
        for d in range(3):
            column = BlockCounts(counts.sizes, ones[:, [d]], zeros[:, [d]])
            inner = np.array(
                [hyper.log_given_cells(column, np.array([m * s]), np.array([(1 - m) * s])) for m in grid[::10]]
            )
            total += np.log(np.exp(inner - inner.max()).mean()) + inner.max()
        logs.append(total)
    weights = np.exp(np.array(logs) - max(logs))
    wanted = (weights * np.exp(log_strengths)).sum() / weights.sum()
    assert abs(np.mean(strengths) / wanted - 1) < 0.08, (np.mean(strengths), wanted)


@pytest.mark.parametrize("compiled", [True, False])
def test_column_density(compiled):
    density = hyper_kernels.column_density if compiled else hyper_kernels.column_density.py_func
    ones, zeros = np.array([[2], [0]]), np.array([[1], [3]])
    m, s = 0.3, 2.0
    logit = np.log(m / (1 - m))
    b, g = m * s, (1 - m) * s
    wanted = sum(gammaln(b + o) + gammaln(g + z) - gammaln(b) - gammaln(g) for o, z in ((2, 1), (0, 3)))
    np.testing.assert_allclose(density(logit, s, ones, zeros, 0), wanted + np.log(m * (1 - m)), atol=1e-12)
    assert density(-800.0 if compiled else -700.0, s, ones, zeros, 0) < -300
