"""Speed of the collapsed Gibbs sampler beside NumPy and beside tomotopy's HDP, and how its cost grows.

    python -m benchmarks.gibbs          prints and writes benchmarks/results/gibbs.json

tomotopy (extra ``bench``) samples another model, a hierarchical Dirichlet process over words, in C++; what is
compared is a pass over the ones of the same table at about the same number of components.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import best_of, slope
from latentbits import BayesianBernoulliMixture
from latentbits.base.passes import table_sums
from latentbits.data.source import open_source
from latentbits.datasets import fetch, load_debd
from latentbits.engine.sweep import LocalSweep
from latentbits.mixture.gibbs import CollapsedChain, CollapsedGibbs, row_lists
from latentbits.mixture.hyper import Learning, PriorNumbers
from latentbits.mixture.partition_priors import FinitePrior, PartitionPrior

# Ratios, an exponent that still counts as linear, megabytes above the input.
GOALS = {"numpy": 200.0, "tomotopy": 5.0, "exponent": 1.15, "megabytes": 300.0}


class NumpyGibbs:
    """The straightforward sampler: for every row the whole conditional over K × D, vectorised."""

    def __init__(self, X: np.ndarray, labels: np.ndarray, k: int, alpha: float, beta: float, gamma: float) -> None:
        self.X, self.labels, self.k = X.astype(float), labels.copy(), k
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        members = np.eye(k)[labels]
        self.sizes, self.ones = members.sum(axis=0), members.T @ self.X
        self.rng = np.random.default_rng(0)

    def conditional(self, x: np.ndarray) -> np.ndarray:
        """p(z | the other rows) up to a constant, in logs."""
        on = np.log(self.beta + self.ones)
        off = np.log(self.gamma + self.sizes[:, None] - self.ones)
        cells = on @ x + off @ (1 - x) - len(x) * np.log(self.beta + self.gamma + self.sizes)
        return np.log(self.sizes + self.alpha / self.k) + cells

    def sweep(self) -> None:
        """Draw every row's label anew."""
        for n, x in enumerate(self.X):
            self.sizes[self.labels[n]] -= 1
            self.ones[self.labels[n]] -= x
            logs = self.conditional(x)
            weights = np.exp(logs - logs.max())
            self.labels[n] = np.searchsorted(np.cumsum(weights), self.rng.random() * weights.sum(), side="right")
            self.sizes[self.labels[n]] += 1
            self.ones[self.labels[n]] += x


def chain_of(
    X: Any,
    prior: PartitionPrior,
    blocks: int,
    sweeps: int,
    beta: float = 0.5,
    gamma: float = 0.5,
    init: Any = "random",
    split_merge: int = 0,
) -> CollapsedChain:
    """A chain some sweeps after its start."""
    sweep = LocalSweep(open_source(X))
    sums = table_sums(sweep)[0]
    numbers = PriorNumbers(prior.alpha, np.array([beta]), np.array([gamma]))
    process = CollapsedGibbs(row_lists(sweep, sums), prior, numbers, Learning(), init, blocks, split_merge, 0)
    chain = process.open(0, process.start(0))
    for number in range(sweeps):
        chain.step(number)
    return chain


class Steps:
    """Some more sweeps of a chain, each with its trace, as a fit makes them."""

    def __init__(self, chain: CollapsedChain, n: int) -> None:
        self.chain, self.n, self.number = chain, n, 10_000

    def __call__(self) -> None:
        for _ in range(self.n):
            self.chain.step(self.number)
            self.chain.trace()
            self.number += 1


def numpy_peer(n_sweeps: int = 10, rounds: int = 5) -> dict:
    """USPS digit 2, 1000 × 256, K = 50, from the same state."""
    with np.load(fetch("usps")) as parts:
        mine = (parts["X"][parts["y"] == 2] > 127).astype(np.uint8)
    X = mine[np.random.default_rng(0).permutation(1100)[:1000]]
    ours = chain_of(X, FinitePrior(50.0, 50), 50, 10)
    moving = chain_of(X, FinitePrior(50.0, 50), 50, 10, split_merge=5)
    other = NumpyGibbs(X, ours.labels, 50, 50.0, 0.5, 0.5)
    calls = {"latentbits": Steps(ours, n_sweeps), "with split-merge": Steps(moving, n_sweeps), "numpy": other.sweep}
    seconds = best_of(calls, rounds)
    seconds["latentbits"] /= n_sweeps
    seconds["with split-merge"] /= n_sweeps
    ratio = seconds["numpy"] / seconds["latentbits"]
    print(f"with 5 split-merge proposals a sweep (the default): {1000 * seconds['with split-merge']:.2f} ms")
    print(
        f"USPS digit 2: {1000 * seconds['latentbits']:.2f} ms a sweep, NumPy {1000 * seconds['numpy']:.0f} ms: {ratio:.0f} x"
    )
    return {"seconds": seconds, "ratio": ratio, "blocks": int((ours.work.sizes > 0).sum())}


def tomotopy_peer(sweeps: int = 20, rounds: int = 3) -> dict:
    """c20ng: a pass over the ones, at about the same number of components."""
    import tomotopy

    X = sp.csr_array(load_debd("c20ng")["train"].astype(float))
    model = tomotopy.HDPModel(initial_k=50, alpha=0.1, gamma=1.0, seed=1)
    for row in range(X.shape[0]):
        model.add_doc([f"w{j}" for j in X.indices[X.indptr[row] : X.indptr[row + 1]]] or ["none"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.train(sweeps, workers=1)
    live = int(model.live_k)
    # As many blocks as tomotopy has topics; a small share of ones a priori, as words are.
    ours = chain_of(X, FinitePrior(float(live), live), live, sweeps, 0.05, 0.95)
    blocks = int((ours.work.sizes > 0).sum())
    seconds = best_of({"latentbits": Steps(ours, 1), "tomotopy": lambda: model.train(1, workers=1)}, rounds)
    ratio = seconds["tomotopy"] / seconds["latentbits"]
    print(
        f"c20ng ({X.nnz} ones): {1000 * seconds['latentbits']:.0f} ms a sweep with {blocks} blocks, tomotopy's HDP "
        f"{1000 * seconds['tomotopy']:.0f} ms with {int(model.live_k)} topics: {ratio:.1f} x"
    )
    return {"seconds": seconds, "ratio": ratio, "blocks": blocks, "topics": int(model.live_k), "ones": int(X.nnz)}


def made(n_rows: int, n_columns: int, density: float, n_blocks: int, seed: int = 0) -> sp.csr_array:
    """A sparse table of well separated blocks; row i is in block i modulo ``n_blocks``."""
    rng = np.random.default_rng(seed)
    profiles = rng.gamma(0.5, size=(n_blocks, n_columns))
    profiles *= density / profiles.mean(axis=1, keepdims=True)
    labels, parts = np.arange(n_rows) % n_blocks, []
    for low in range(0, n_rows, 5000):
        chunk = labels[low : low + 5000]
        parts.append(sp.csr_array((rng.random((len(chunk), n_columns)) < profiles[chunk]).astype(np.float64)))
    return sp.vstack(parts, format="csr")


def growth(rounds: int = 3) -> dict:
    """Seconds a sweep against ones, and against blocks, at the blocks that made the table, where few rows move."""
    table = made(20_000, 1000, 0.02, 64)
    by_ones, by_blocks = [], []
    for n in (2500, 5000, 10_000, 20_000):
        chain = chain_of(table[:n], FinitePrior(64.0, 64), 64, 3, 0.05, 0.95, np.arange(n) % 64)
        by_ones.append((int(table[:n].nnz), best_of({"s": Steps(chain, 1)}, rounds)["s"]))
    for k in (16, 32, 64, 128):
        table = made(10_000, 1000, 0.02, k)
        chain = chain_of(table, FinitePrior(float(k), k), k, 3, 0.05, 0.95, np.arange(10_000) % k)
        by_blocks.append((int((chain.work.sizes > 0).sum()), best_of({"s": Steps(chain, 1)}, rounds)["s"]))
    found = {
        "by_ones": by_ones,
        "by_blocks": by_blocks,
        "exponent_in_ones": slope(*map(list, zip(*by_ones))),
        "exponent_in_blocks": slope(*map(list, zip(*by_blocks))),
    }
    print(f"cost of a sweep ~ ones^{found['exponent_in_ones']:.2f}, blocks^{found['exponent_in_blocks']:.2f}")
    return found


MEMORY = """
import resource, sys, time, warnings
import scipy.sparse as sp
from benchmarks.gibbs import made
from latentbits import BayesianBernoulliMixture
warnings.simplefilter("ignore")
small = made(500, 1000, 0.02, 50)
options = dict(n_chains=1, alpha=50.0, beta=0.05, gamma=0.95, split_merge=0, thin=1, start_blocks=50, random_state=0)
BayesianBernoulliMixture(50, n_warmup=2, n_draws=1, **options).fit(small)  # what is compiled and imported does not count
X = sp.load_npz(sys.argv[1])
before = int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
began = time.perf_counter()
model = BayesianBernoulliMixture(50, n_warmup=90, n_draws=10, **options).fit(X)
print(len(model.weights_), time.perf_counter() - began, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def memory(n_rows: int = 100_000) -> dict:
    """Peak memory above the input while 100 sweeps run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        sp.save_npz(path, made(n_rows, 1000, 0.02, 50))
        command = [sys.executable, "-c", MEMORY, str(path)]
        blocks, seconds, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    print(
        f"{n_rows} x 1000, density 0.02: 100 sweeps in {float(seconds):.0f} s, {float(megabytes):.0f} MB above the input"
    )
    return {"rows": n_rows, "blocks": int(blocks), "seconds": float(seconds), "megabytes_above_input": float(megabytes)}


def missed(found: dict) -> list[str]:
    """Goals that were not met."""
    out = [name for name in ("numpy", "tomotopy") if found[name]["ratio"] < GOALS[name]]
    out += [
        f"not linear in {what}"
        for what in ("ones", "blocks")
        if found["growth"][f"exponent_in_{what}"] > GOALS["exponent"]
    ]
    if found["memory"]["megabytes_above_input"] > GOALS["megabytes"]:
        out.append("memory")
    return out


def chains_in_threads() -> dict:
    """Two chains one after the other, and side by side."""
    X = made(3000, 500, 0.05, 20)
    options = {"n_chains": 2, "n_warmup": 60, "n_draws": 1, "random_state": 0}
    seconds = {}
    for n_jobs in (1, 1, 2):  # the first compiles
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            BayesianBernoulliMixture(20, n_jobs=n_jobs, **options).fit(X)
            seconds[f"{n_jobs} at a time"] = time.perf_counter() - began
    print(f"two chains: {seconds['1 at a time']:.1f} s one by one, {seconds['2 at a time']:.1f} s side by side")
    return seconds


def main() -> int:
    """Measure everything and write it down."""
    found = {
        "numpy": numpy_peer(),
        "tomotopy": tomotopy_peer(),
        "growth": growth(),
        "memory": memory(),
        "chains": chains_in_threads(),
    }
    (Path(__file__).parent / "results" / "gibbs.json").write_text(json.dumps(found, indent=1) + "\n")
    out = missed(found)
    print(f"goals not met: {', '.join(out)}" if out else "all goals met")
    return 1 if out else 0


if __name__ == "__main__":
    sys.exit(main())
