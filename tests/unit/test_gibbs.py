"""The collapsed sampler against enumeration and against a sampler written from the equations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp

from latentbits.data.rng import stream
from latentbits.mixture import gibbs
from latentbits.mixture.evidence import log_evidence, log_joints
from latentbits.mixture.gibbs_starts import KINDS
from latentbits.mixture.partition_priors import FinitePrior, PartitionPrior

from ..reference import bayesian as slow
from .gibbs_tools import PRIORS, at, collapsed, visited

GOLDEN = {
    "dirichlet process": {
        "prior": PartitionPrior(1.3),
        "evidence": (-15.3941091946, -13.6207135336),
        "blocks": 2.89228058,
        "together": (0.14356103, 0.52934349),
        "conditional": (0.28038051, 0.37829116, 0.34132833),
        "joint": -21.21058042,
    },
    "finite": {
        "prior": FinitePrior(2.0, 3),
        "evidence": (-15.5925320021, -13.8258870238),
        "blocks": 2.27440947,
        "together": (0.21591945, 0.70703586),
        "conditional": (0.35493369, 0.47887879, 0.16618752),
        "joint": -21.56439133,
    },
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values(name):
    """Section 14 of the specification, to 1e-8."""
    wanted = GOLDEN[name]
    process = collapsed(slow.G, wanted["prior"])
    found, values = log_joints(process)
    evidence = logsumexp(values)
    shares = np.exp(values - evidence)
    labels = np.array(found)
    np.testing.assert_allclose(evidence, wanted["evidence"][0], atol=1e-9)
    blank = log_joints(collapsed(slow.G_BLANK, wanted["prior"]))[1]
    np.testing.assert_allclose(logsumexp(blank), wanted["evidence"][1], atol=1e-9)
    np.testing.assert_allclose(shares @ (labels.max(axis=1) + 1), wanted["blocks"], atol=1e-8)
    np.testing.assert_allclose(shares @ (labels[:, 0] == labels[:, 1]), wanted["together"][0], atol=1e-8)
    np.testing.assert_allclose(shares @ (labels[:, 3] == labels[:, 4]), wanted["together"][1], atol=1e-8)
    np.testing.assert_allclose(at(process, (0, 0, 1, 2, 1)).log_joint(), wanted["joint"], atol=1e-8)
    np.testing.assert_allclose(_conditional(process, (0, 0, 1, 2, 1), 3)[1], wanted["conditional"], atol=1e-8)


def _conditional(process, labels, i):
    """p(label of row i | others) as the kernel draws it: how long the interval of uniforms is that leads to every label.

    The ends of the intervals are found by halving.
    """
    found, edges = [], [0.0]

    def drawn(uniform):
        chain = at(process, labels)
        chain.sweep(np.full(process.table.n_rows, uniform), order=np.array([i]))
        return int(chain.labels[i])

    while edges[-1] < 1.0 - 1e-13:
        now = drawn(min(edges[-1] + 1e-13, 1 - 1e-13))
        low, high = edges[-1], 1.0
        if drawn(1 - 1e-13) == now:
            low = 1.0
        while high - low > 1e-15:
            middle = (low + high) / 2
            low, high = (middle, high) if drawn(middle) == now else (low, middle)
        found.append(now)
        edges.append(low if low < 1 - 1e-12 else 1.0)
    return found, np.diff(edges)


@pytest.mark.parametrize("name", PRIORS)
def test_priors_are_probabilities(name):
    prior, formula = PRIORS[name]
    for n in (1, 4, 6):
        sizes = [np.bincount(labels) for labels in slow.partitions(n) if max(labels) < prior.most_blocks(n)]
        np.testing.assert_allclose(sum(np.exp(prior.log_partition(s)) for s in sizes), 1.0, atol=1e-12)
        for s in sizes:
            np.testing.assert_allclose(prior.log_partition(s), formula(list(s)), atol=1e-10)
            old, new = prior.weights(s)  # one more row: ratios of priors
            bigger = [[*s[:k], s[k] + 1, *s[k + 1 :]] for k in range(len(s))] + [[*s, 1]]
            ratios = np.exp([formula(list(b)) - formula(list(s)) for b in bigger])
            np.testing.assert_allclose(np.append(old, new), ratios / ratios.sum(), atol=1e-10)


def test_finite_tends_to_the_process():
    """Evidences differ by 4e-6 at K = 200,000."""
    values = [
        log_evidence(collapsed(slow.G, p), "exact", 1, 1, "") for p in (PartitionPrior(1.3), FinitePrior(1.3, 200_000))
    ]
    assert abs(values[0].value - values[1].value) < 1e-5


def _tables(seeds):
    """Tables of all kinds: sparse, dense, blank in places, mostly blank, with rows and columns of nothing."""
    for s in seeds:
        rng = np.random.default_rng(s)
        n, d = rng.integers(3, 25), rng.integers(1, 12)
        X = (rng.random((n, d)) < rng.random(d)).astype(float)
        X[rng.random(X.shape) < (0.0, 0.2, 0.7)[s % 3]] = np.nan
        if s % 7 == 3:
            X[0], X[:, 0] = np.nan, np.nan
        if not np.isnan(X).all():
            yield s, X


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("seeds", [range(21), pytest.param(range(21, 50), marks=pytest.mark.slow)], ids=["few", "more"])
def test_conditionals_are_ratios_of_joints(name, seeds):
    """A3 and A1: the kernels draw what a sampler from the equations draws with the same uniforms, in every layout."""
    prior, formula = PRIORS[name]
    for s, X in _tables(seeds):
        if s % 3 and name in ("pitman-yor", "finite mixtures"):
            continue
        beta = (0.5, 0.5, np.linspace(0.3, 2.0, X.shape[1]))[s % 3]
        gamma = (0.7, 0.5, np.linspace(1.0, 0.2, X.shape[1]))[s % 3]
        kinds = [collapsed(X, prior, beta, gamma, turn) for turn in (True, False)]
        if s % 3 < 2:
            kinds.append(collapsed(X, prior, beta, gamma, turn=False, kernel="wide"))
        start = stream(s, "start").integers(0, min(3, prior.most_blocks(len(X))), len(X))
        runs = [gibbs.CollapsedChain(k, 0, at(k, start).state(), capacity) for k, capacity in zip(kinds, (0, 64, 40))]
        if len(kinds) == 3 and not kinds[2].table.zeros_listed:
            assert runs[2].wide
        labels = tuple(start.tolist())
        for number in range(2):
            uniforms = stream(s, "sweep", number).random(len(X))
            for run in runs:
                run.sweep(uniforms)
            labels = _slow_sweep(labels, uniforms, partial(_log_joint, X, formula, beta, gamma))
            for run in runs:
                assert gibbs.canonical(run.labels).tolist() == gibbs.canonical(np.array(labels)).tolist(), (s, number)
                wanted = _log_joint(X, formula, beta, gamma, labels)
                np.testing.assert_allclose(run.log_joint(), wanted, rtol=1e-11, atol=1e-9)


def _log_joint(X, formula, beta, gamma, labels):
    """log p(X, partition) from the equations."""
    sizes = np.bincount(gibbs.canonical(np.array(labels)))
    return formula(list(sizes)) + slow.log_cells(X, labels, beta, gamma)


def _slow_sweep(labels, uniforms, log_joint):
    """One sweep from ratios of joints; candidates in the order of slots, the lowest free one for a new block."""
    labels = list(labels)
    for i, uniform in enumerate(uniforms):
        others = set(labels[:i] + labels[i + 1 :])
        free = min(set(range(len(labels) + 1)) - others - ({labels[i]} if labels.count(labels[i]) == 1 else set()))
        new = labels[i] if labels.count(labels[i]) == 1 else free
        candidates = sorted(others | {new})
        logs = np.array([log_joint((*labels[:i], k, *labels[i + 1 :])) for k in candidates])
        shares = np.exp(logs - logs.max())
        labels[i] = candidates[int(np.searchsorted(np.cumsum(shares), uniform * shares.sum(), side="right"))]
    return tuple(labels)


def test_wide_tables_take_the_wide_kernel():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 5000), density=0.004, random_state=rng, data_sampler=lambda size: np.ones(size))
    auto, narrow = (collapsed(sp.csr_array(X), PartitionPrior(2.0), 0.01, 1.0, kernel=k) for k in ("auto", "narrow"))
    runs = [process.open(0, process.start(0)) for process in (auto, narrow)]
    assert runs[0].wide and not runs[1].wide
    for number in range(5):
        for run in runs:
            run.step(number)
        assert (runs[0].labels == runs[1].labels).all()
        np.testing.assert_allclose(runs[0].log_joint(), runs[1].log_joint(), rtol=1e-12)


def test_tables_that_end_early(monkeypatch):
    """Logarithms beyond the tables are worked out; the draws are the same."""
    rng = np.random.default_rng(0)
    X = (rng.random((40, 9)) < 0.4).astype(float)
    whole = collapsed(X, PartitionPrior(1.0), np.linspace(0.2, 1, 9), 0.5)
    runs = [whole.open(0, whole.start(0))]
    monkeypatch.setattr(gibbs, "TABLE_BYTES", 48 * 9 * 3)
    runs.append(whole.open(0, whole.start(0)))
    assert runs[1].tables.log_one.shape[1] == 3
    for number in range(20):
        for run in runs:
            run.step(number)
        assert (runs[0].labels == runs[1].labels).all()
        np.testing.assert_allclose(runs[0].log_joint(), runs[1].log_joint(), rtol=1e-12)


def test_no_drift_and_room_for_more():
    """After many sweeps with growth the caches are those of a fresh start, to the bit."""
    rng = np.random.default_rng(1)
    X = (rng.random((120, 8)) < 0.5).astype(float)
    process = collapsed(X, PartitionPrior(60.0), init="one", split_merge=3)
    run = process.open(0, process.start(0))
    began = run.n_slots
    for number in range(30):
        run.step(number)
    assert run.n_slots > began
    fresh = gibbs.CollapsedChain(process, 0, run.state(), run.n_slots)
    alive = run.work.sizes > 0
    for name in ("sizes", "base", "own_base"):
        assert (getattr(run.work, name)[alive] == getattr(fresh.work, name)[alive]).all(), name
    small = process.open(0, run.state())  # another capacity
    for number in range(30, 40):
        run.step(number)
        small.step(number)
        assert (run.labels == small.labels).all()


@pytest.mark.parametrize("kind", KINDS)
def test_starts(kind):
    rng = np.random.default_rng(2)
    classes = rng.integers(0, 2, 60)
    X = (rng.random((60, 10)) < np.array([[0.95], [0.05]])[classes]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    process = collapsed(X, PartitionPrior(1.0), init=kind, start_blocks=4)
    for chain in range(4):
        labels = process.start(chain).labels
        assert labels.dtype == np.int32 and labels.min() >= 0
        assert (labels == process.start(chain).labels).all()
    n_blocks = len(np.unique(process.start(0).labels))
    least, most = {"one": (1, 1), "singletons": (60, 60), "sequential": (1, 20), "annealed": (1, 20)}.get(kind, (2, 4))
    assert least <= n_blocks <= most
    if kind == "kmeans":  # finds the two blocks that were planted, perhaps cut in two
        labels = process.start(0).labels
        assert all(len(np.unique(classes[labels == k])) == 1 for k in np.unique(labels))


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("moves", [{}, {"split_merge": 2}, {"split_merge": 3, "gibbs": False}])
def test_short_runs_come_near_the_posterior(name, moves):
    """3,000 sweeps; the long runs are among the slow tests."""
    prior, formula = PRIORS[name]
    truth = slow.posterior(slow.G_BLANK, lambda sizes: formula(list(sizes)), 0.5, 0.7)[1]
    assert slow.total_variation(visited(collapsed(slow.G_BLANK, prior, **moves), 3000), truth) < 0.07


@pytest.mark.parametrize("name", PRIORS)
def test_evidence(name):
    """Exact, sequential and annealed agree, also where annealing is so quick that all depends on its start."""
    process = collapsed(slow.G_BLANK, PRIORS[name][0])
    exact = log_evidence(process, "exact", 1, 1, "")
    for method, runs, steps in (("sequential", 150, 1), ("annealed", 60, 40), ("annealed", 1000, 1)):
        found = log_evidence(process, method, runs, steps, "")
        assert abs(found.value - exact.value) < 4 * found.standard_error < 0.5, (method, found)


def test_evidence_of_odd_tables():
    """Wide tables, and tables of which nothing is known: log p = 0."""
    rng = np.random.default_rng(0)
    X = sp.random_array((4, 5000), density=0.004, random_state=rng, data_sampler=lambda size: np.ones(size))
    process = collapsed(sp.csr_array(X), PartitionPrior(2.0), 0.01, 1.0)
    exact = log_evidence(process, "exact", 1, 1, "")
    found = log_evidence(process, "sequential", 60, 1, "")
    assert abs(found.value - exact.value) < 4 * found.standard_error
    blank = np.full((4, 3), np.nan)
    for beta in (0.5, np.array([0.3, 0.5, 2.0])):
        nothing = collapsed(blank, PartitionPrior(1.0), beta, 0.7)
        for method in ("exact", "sequential", "annealed"):
            np.testing.assert_allclose(log_evidence(nothing, method, 3, 5, "").value, 0.0, atol=1e-12)


def test_split_merge_of_wide_tables():
    """The proposals from histograms are those from all columns."""
    rng = np.random.default_rng(2)
    X = (rng.random((60, 30)) < rng.random((3, 30))[rng.integers(0, 3, 60)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    runs = []
    for kernel in ("narrow", "wide"):
        process = collapsed(X, PartitionPrior(2.0), turn=False, kernel=kernel, split_merge=20, init="one")
        run = process.open(0, process.start(0))
        for number in range(5):
            run.step(number)
        runs.append((run.labels.tolist(), run.tally.tolist(), run.wide))
    assert runs[0][:2] == runs[1][:2] and [run[2] for run in runs] == [False, True] and runs[0][1][1] > 0
