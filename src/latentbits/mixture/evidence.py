"""log p(table) with all partitions summed over: exactly, row by row, or by cooling."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..data.rng import stream
from ..errors import InputError, NotConvergedWarning
from .gibbs import ChainState, CollapsedGibbs
from .partition_priors import PartitionPrior

# Nine rows have 21,147 partitions.
MOST_EXACT = 9


class Evidence(NamedTuple):
    """log p(table) in nats; the standard error is that of the log, from the spread of the runs.

    It is infinite when one run has nearly all the weight: then the value is rather a lower bound.

    Parameters
    ----------
    value : float
        log p(table).
    standard_error : float
        Of the value.
    method : str
        How it was worked out.
    runs : (n,) array
        The estimate of every run.

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
    >>> model.log_evidence(X, n_runs=2, n_steps=5, random_state=0).method
    'annealed'
    """

    value: float
    standard_error: float
    method: str
    runs: Any  # (n_runs,) log weights

    def __repr__(self) -> str:
        return f"Evidence({self.value:.4f} ± {self.standard_error:.2g} nats, {self.method}, {len(self.runs)} runs)"


def partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of ``n`` rows, as labels in the order of first appearance.

    Examples
    --------
    >>> len(list(partitions(5)))
    52
    """
    if n == 0:
        yield ()
        return
    for rest in partitions(n - 1):
        for k in range(max(rest, default=-1) + 2):
            yield (*rest, k)


def log_joints(process: CollapsedGibbs) -> tuple[list[tuple[int, ...]], Any]:
    """All partitions of the rows that the prior allows, and log p(table, partition) of each."""
    n_rows = process.table.n_rows
    most = process.prior.most_blocks(n_rows)
    found = [labels for labels in partitions(n_rows) if max(labels) < most]
    tally = np.zeros(4, np.int64)
    values = [
        process.open(0, ChainState(np.array(labels, np.int32), *process.numbers, tally)).log_joint() for labels in found
    ]
    return found, np.array(values)


def _prior_labels(prior: PartitionPrior, n_rows: int, rng: np.random.Generator) -> Any:
    """Labels of a partition drawn from the prior, row by row."""
    labels = np.empty(n_rows, np.int32)
    sizes: list[int] = []
    log_old = prior.log_old(n_rows)
    for i, uniform in enumerate(rng.random(n_rows)):
        t = len(sizes)
        weights = np.exp(np.append(log_old[sizes], prior.log_new(t + 1, i + 1)[t]))
        k = int(np.searchsorted(np.cumsum(weights), uniform * weights.sum(), side="right"))
        labels[i] = k
        if k == len(sizes):
            sizes.append(0)
        sizes[k] += 1
    return labels


def _annealed(process: CollapsedGibbs, run: int, n_steps: int) -> float:
    """One run of annealed importance sampling (Neal 2001) from the prior to the posterior."""
    rng = stream(process.seed, "weigh", run)
    n_rows = process.table.n_rows
    labels = _prior_labels(process.prior, n_rows, rng)
    chain = process.open(0, ChainState(labels, *process.numbers, np.zeros(4, np.int64)))
    temperatures = np.linspace(0.0, 1.0, n_steps + 1) ** 3  # most change is near the prior
    total = 0.0
    for before, after in pairwise(temperatures):
        total += (after - before) * chain.log_likelihood()
        chain.sweep(rng.random(n_rows), float(after))
    return total


def _sequential(process: CollapsedGibbs, run: int) -> float:
    """One run of sequential importance sampling: Π_n p(x_n | x_<n, z_<n), rows in random order."""
    rng = stream(process.seed, "weigh", run)
    n_rows = process.table.n_rows
    chain = process.open(0, ChainState(np.full(n_rows, -1, np.int32), *process.numbers, np.zeros(4, np.int64)))
    total = 0.0
    for i in rng.permutation(n_rows):
        sizes = chain.work.sizes
        alive = np.flatnonzero(sizes > 0)
        free = int(np.flatnonzero(sizes == 0)[0])
        old, new = process.prior.weights(sizes[alive])
        places = np.append(alive, free)
        with np.errstate(divide="ignore"):
            scores = _row_scores(chain, int(i))[places] + np.log(np.append(old, new))
        total += float(logsumexp(scores))
        weights = np.exp(scores - scores.max())
        chosen = places[int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))]
        chain.labels[i] = chosen
        state = chain.state()
        chain = process.open(0, state)
    return total


def _row_scores(chain: Any, i: int) -> Any:
    """log p(row | rows of a slot) for every slot."""
    work, table = chain.work, chain.process.table
    ones = table.indices[table.indptr[i] : table.indptr[i + 1]]
    others = table.other_indices[table.other_indptr[i] : table.other_indptr[i + 1]]
    scores = work.base + work.delta.reshape(table.n_columns, -1)[ones].sum(axis=0)
    return scores + work.other.reshape(table.n_columns, -1)[others].sum(axis=0) if len(others) else scores


def log_evidence(process: CollapsedGibbs, method: str, n_runs: int, n_steps: int, owner: str) -> Evidence:
    """log p(table) by one of the methods."""
    process = replace(process, kernel="narrow")  # its scores are laid out, which the sequential method needs
    n_rows = process.table.n_rows
    if method == "exact":
        if n_rows > MOST_EXACT:
            raise InputError(
                f"{owner}: method='exact' sums over all partitions, of up to {MOST_EXACT} rows; the table has {n_rows}. Use "
                "'annealed'."
            )
        value = float(logsumexp(log_joints(process)[1]))
        return Evidence(value, 0.0, method, np.array([value]))
    if method not in ("annealed", "sequential"):
        raise InputError(f"{owner}: method must be 'annealed', 'sequential' or 'exact'; got {method!r}.")
    annealed = method == "annealed"
    runs = np.array([_annealed(process, r, n_steps) if annealed else _sequential(process, r) for r in range(n_runs)])
    value = float(logsumexp(runs) - np.log(n_runs))
    shares = np.exp(runs - value)
    error = float(shares.std(ddof=1) / np.sqrt(n_runs)) if n_runs > 1 else np.nan
    effective = float(shares.sum() ** 2 / (shares**2).sum())
    if n_runs > 1 and effective < 2:
        error = np.inf
        warnings.warn(
            f"{owner}: one of the {n_runs} runs has nearly all the weight (the runs lie {np.ptp(runs):.0f} nats apart), so "
            "this estimate of the evidence cannot be trusted; it is rather a lower bound. Raise n_steps and n_runs.",
            NotConvergedWarning,
            stacklevel=3,
        )
    return Evidence(value, error, method, runs)
