"""Samplers on small tables, for tests."""

from __future__ import annotations

import numpy as np

from latentbits.base.passes import table_sums
from latentbits.data.source import open_source
from latentbits.engine.sweep import sweep_of
from latentbits.mixture.blocked import blocked_gibbs
from latentbits.mixture.gibbs import ChainState, CollapsedGibbs, canonical, row_lists
from latentbits.mixture.hyper import Learning, PriorNumbers
from latentbits.mixture.partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior

from ..reference import bayesian as slow

# Prior of the package, and the same from its formula.
PRIORS = {
    "dirichlet process": (PartitionPrior(1.3), lambda sizes: slow.log_prior_dp(sizes, 1.3)),
    "finite": (FinitePrior(2.0, 3), lambda sizes: slow.log_prior_finite(sizes, 2.0, 3)),
    "pitman-yor": (PitmanYorPrior(1.3, 0.3), lambda sizes: slow.log_prior_pitman_yor(sizes, 1.3, 0.3)),
    "finite mixtures": (FiniteMixturesPrior(0.8, 1.5), lambda sizes: slow.log_prior_mfm(sizes, 0.8, 1.5)),
}


def opened(X, block_rows=None):
    """A sweep over a table, and its sums."""
    sweep = sweep_of(open_source(X, block_rows=block_rows))
    return sweep, table_sums(sweep)[0]


def numbers(prior, beta=0.5, gamma=0.7):
    return PriorNumbers(prior.alpha, np.atleast_1d(np.asarray(beta, float)), np.atleast_1d(np.asarray(gamma, float)))


def collapsed(X, prior, beta=0.5, gamma=0.7, turn=True, **options):
    """A collapsed sampler."""
    sweep, sums = opened(X)
    given = {"learning": Learning(), "init": "random", "start_blocks": 2, "split_merge": 0, "seed": 0, **options}
    return CollapsedGibbs(row_lists(sweep, sums, turn), prior, numbers(prior, beta, gamma), **given)


def blocked(X, prior, beta=0.5, gamma=0.7, block_rows=None, **options):
    """A blocked sampler."""
    sweep, sums = opened(X, block_rows)
    given = {"learning": Learning(), "init": "random", "start_blocks": 2, "seed": 0, **options}
    return blocked_gibbs(sweep, len(sums.ones), "test", prior=prior, numbers=numbers(prior, beta, gamma), **given)


def at(process, labels):
    """A chain in the given state."""
    return process.open(0, ChainState(np.array(labels, np.int32), *process.numbers, np.zeros(4, np.int64)))


def visited(process, n_sweeps, chain=0):
    """How often a chain is in every partition."""
    run = process.open(chain, process.start(chain))
    counts = {}
    for number in range(n_sweeps):
        run.step(number)
        labels = run.labels if hasattr(run, "labels") else process.labels_of(run.rows)
        key = tuple(canonical(labels).tolist())
        counts[key] = counts.get(key, 0) + 1
    return counts
