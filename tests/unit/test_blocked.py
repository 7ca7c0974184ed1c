"""Blocked Gibbs: the same bits however rows are cut, and the right distribution."""

from __future__ import annotations

import numpy as np
import pytest

from latentbits.data.rng import row_uniforms, stream
from latentbits.errors import FitError
from latentbits.mixture.hyper import Learning
from latentbits.mixture.partition_priors import FinitePrior, PartitionPrior, PitmanYorPrior

from ..reference import bayesian as slow
from .gibbs_tools import PRIORS, blocked, collapsed, visited


@pytest.mark.parametrize(
    "prior", [PartitionPrior(2.0), FinitePrior(2.0, 5), PitmanYorPrior(1.0, 0.3)], ids=lambda p: type(p).__name__
)
def test_any_number_of_chunks(prior):
    """A4: 1, 3 and 7 chunks, dense and sparse layouts, unknown cells, learnt numbers."""
    rng = np.random.default_rng(0)
    X = (rng.random((70, 9)) < np.linspace(0.05, 0.9, 9)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    learning = Learning(alpha=(1.0, 1.0), cells="shared")
    traces = []
    for block_rows in (70, 24, 10):
        process = blocked(X, prior, block_rows=block_rows, learning=learning, start_blocks=4)
        run = process.open(1, process.start(1))
        steps = []
        for number in range(25):
            run.step(number)
            steps.append(run.trace())
            if number == 10:  # resumed from its state
                run = process.open(1, run.state())
        traces.append((np.array(steps).tobytes(), process.labels_of(run.rows).tobytes()))
    assert traces[0] == traces[1] == traces[2]


@pytest.mark.parametrize("name", ["dirichlet process", "finite", "pitman-yor"])
def test_short_runs_come_near_the_posterior(name):
    prior, formula = PRIORS[name]
    truth = slow.posterior(slow.G_BLANK, lambda sizes: formula(list(sizes)), 0.5, 0.7)[1]
    assert slow.total_variation(visited(blocked(slow.G_BLANK, prior), 3000), truth) < 0.09


def test_rows_and_atoms_have_numbers_of_their_own():
    """With shared random numbers two rows and one column are together in 0.383 of the sweeps instead of 0.349."""
    X = np.array([[1.0], [0.0]])
    truth = slow.posterior(X, lambda s: slow.log_prior_dp(s, 0.7), 0.3, 0.3)[1]
    counts = visited(blocked(X, PartitionPrior(0.7), 0.3, 0.3), 6000)
    assert abs(counts[0, 0] / 6000 - truth[0, 0]) < 0.022
    process = blocked(X, PartitionPrior(0.7), 0.3, 0.3)
    atoms = stream(process.seed, "atoms", 0, 5).random(4)
    rows = row_uniforms(process.seed, "sweep", 0, 2, 2, 0, 5).ravel()
    assert not np.isin(atoms, rows).any()


def test_many_sticks_are_refused_not_cut():
    rng = np.random.default_rng(0)
    X = (rng.random((50, 4)) < 0.5).astype(float)
    process = blocked(X, PitmanYorPrior(1.0, 0.97), start_blocks=5)
    with pytest.raises(FitError, match="solver='collapsed' or a smaller discount"):
        run = process.open(0, process.start(0))
        for number in range(20):
            run.step(number)


def test_small_prior_counts_give_extreme_atoms():
    """Beta(0.001, 0.001) has next to nothing in the middle; draws that round to 0 must not end there."""
    from latentbits.mixture.blocked import _log_gamma

    rng = np.random.default_rng(0)
    on, off = (_log_gamma(np.full(4000, 1e-3), rng) for _ in range(2))
    share = 1 / (1 + np.exp(np.clip(off - on, -700, 700)))
    assert ((share > 0.01) & (share < 0.99)).mean() < 0.02


def test_counts_and_joint_are_those_of_the_collapsed_sampler():
    rng = np.random.default_rng(1)
    X = (rng.random((40, 6)) < 0.3).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    ours, theirs = blocked(X, PartitionPrior(1.5), block_rows=7), collapsed(X, PartitionPrior(1.5))
    run = ours.open(0, ours.start(0))
    for number in range(5):
        run.step(number)
    state = run.state()
    np.testing.assert_allclose(run.trace(), theirs.open(0, state).trace(), rtol=1e-10)
    labels = ours.record(state).labels
    for a, b in zip(ours.counts(labels), theirs.counts(labels)):
        np.testing.assert_array_equal(a, b)
