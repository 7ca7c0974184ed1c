"""Speed of ``BernoulliMixture`` beside its peers, and how its cost grows.

    python -m benchmarks.mixture            prints and writes benchmarks/results/mixture.json

Peers come from the package index (extra ``bench``).  Every comparison has the same number of classes, the same number of
iterations, the same dense table and all cores; both sides take turns and the best run counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import best_of, slope
from latentbits import BernoulliMixture
from latentbits.data.source import open_source
from latentbits.datasets import fetch, load_debd
from latentbits.engine.sweep import LocalSweep
from latentbits.mixture.model import MixtureModel
from latentbits.mixture.starts import random_start

K = 20
ITERATIONS = 100
GOALS = {("c20ng", "StepMix"): 20, ("kosarek", "StepMix"): 33, ("plants", "StepMix"): 16}
GMM_GOAL = 5


def ours(X, iterations=ITERATIONS, n_components=K, n_jobs=None):
    """A plain EM fit of a given number of iterations."""
    return BernoulliMixture(
        n_components,
        max_iter=iterations,
        tol=0.0,
        n_init=1,
        accelerate=False,
        random_state=0,
        n_jobs=os.cpu_count() if n_jobs is None else n_jobs,
    ).fit(X)


def peers(name: str) -> dict:
    """Seconds of the peers and of ours for whole fits, and the ratios."""
    from sklearn.mixture import GaussianMixture
    from stepmix.stepmix import StepMix

    X = load_debd(name)["train"].astype(float)
    options = {"n_components": K, "max_iter": ITERATIONS, "n_init": 1, "random_state": 0}
    calls = {
        "ours": lambda: ours(X),
        "StepMix": lambda: StepMix(
            measurement="binary", abs_tol=0.0, rel_tol=0.0, progress_bar=0, verbose=0, **options
        ).fit(X),
        "GaussianMixture": lambda: GaussianMixture(
            covariance_type="diag", tol=0.0, reg_covar=1e-3, init_params="random", **options
        ).fit(X),
    }
    calls["ours"]()
    seconds = best_of(calls, rounds=6)
    ratios = {peer: seconds[peer] / seconds["ours"] for peer in ("StepMix", "GaussianMixture")}
    goals = {peer: GOALS.get((name, peer), GMM_GOAL) for peer in ratios}
    for peer, goal in goals.items():
        print(f"{name}: {ratios[peer]:5.1f} x {peer} (goal {goal}) {'met' if ratios[peer] >= goal else 'NOT met'}")
    return {"set": name, "iterations": ITERATIONS, "seconds": seconds, "ratios": ratios, "goals": goals}


def step_mix(name: str, k: int, rounds: int) -> dict[str, float]:
    """Seconds of StepMix and of ours for fits of the same number of iterations."""
    from stepmix.stepmix import StepMix

    X = load_debd(name)["train"].astype(float)
    options = {"n_components": k, "max_iter": ITERATIONS, "n_init": 1, "random_state": 0}
    calls = {
        "ours": lambda: ours(X, n_components=k),
        "StepMix": lambda: StepMix(
            measurement="binary", abs_tol=0.0, rel_tol=0.0, progress_bar=0, verbose=0, **options
        ).fit(X),
    }
    calls["ours"]()
    return best_of(calls, rounds)


def retail() -> sp.csr_array:
    """The supermarket baskets."""
    with np.load(fetch("retail")) as parts:
        return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))


def one_pass(X: sp.csr_array, n_components: int, n_jobs: int = 1):
    """A function that runs one E- and M-step on an opened table."""
    source = open_source(X, merge=False)
    sweep = LocalSweep(source, n_jobs)
    marginals = np.clip(np.asarray(X.mean(axis=0)).ravel(), 1e-6, 0.99)
    model = MixtureModel(n_components, marginals, total_weight=float(X.shape[0]))
    params = random_start(model, None, 0, 0)
    nothing = [None] * sweep.n_blocks

    def run():
        stats, _ = sweep.map(model.e_step, nothing, model.precompute(params), keep_rows=False)
        return model.m_step(params, stats, None)

    run()
    return run


def growth(X: sp.csr_array) -> dict:
    """How a pass grows with the ones (rows repeated) and with K."""
    sizes = (1, 2, 4, 8)
    tables = {size: sp.vstack([X] * size, format="csr") for size in sizes}
    calls = {str(size): one_pass(table, K) for size, table in tables.items()}
    by_ones = best_of(calls, rounds=5)
    numbers = (10, 20, 40, 80)
    by_k = best_of({str(k): one_pass(X, k) for k in numbers}, rounds=5)
    out = {
        "ones": [int(tables[size].nnz) for size in sizes],
        "seconds_by_ones": [by_ones[str(size)] for size in sizes],
        "slope_in_ones": slope([tables[size].nnz for size in sizes], list(by_ones.values())),
        "k": list(numbers),
        "seconds_by_k": [by_k[str(k)] for k in numbers],
        "slope_in_k": slope(list(numbers), list(by_k.values())),
    }
    print(f"retail: cost grows with ones^{out['slope_in_ones']:.2f} and K^{out['slope_in_k']:.2f}")
    return out


def lower_bound(X: sp.csr_array) -> dict:
    """A pass beside a kernel that only streams the ones × K: gather a row of K numbers, multiply, add."""
    from benchmarks.stream import stream

    source = open_source(X, block_rows=X.shape[0])
    indptr, indices = source.block(0).ones.lists()
    matrix, out = np.ones(X.shape[1] * K), np.zeros(K)
    calls = {"pass": one_pass(X, K), "stream": lambda: stream(indptr, indices, matrix, K, out)}
    calls["stream"]()
    seconds = best_of(calls, rounds=7)
    fraction = seconds["stream"] / seconds["pass"]
    print(f"retail: streaming the ones x K takes {fraction:.0%} of the time of a whole pass")
    return {"seconds": seconds, "fraction_of_bound": fraction}


def memory() -> dict:
    """Peak memory of a fit above that with the table loaded, measured in a process of its own."""
    code = (
        "import re, numpy as np\n"
        "from benchmarks.mixture import ours, retail\n"
        "ours(np.eye(40), 2)\n"  # compile before measuring
        "X = retail()\n"
        "status = lambda key: int(re.search(key + r':\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # the peak counts from here
        "before = status('VmRSS')\n"
        "ours(X, 5, n_jobs=2)\n"
        "print(status('VmHWM') - before)\n"
    )
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    megabytes = int(ran.stdout) / 1024
    print(
        f"retail: peak memory above the input {megabytes:.0f} MB (goal 400) {'met' if megabytes < 400 else 'NOT met'}"
    )
    return {"peak_megabytes_above_input": megabytes}


def missed(results: dict) -> list[str]:
    """The goals that the results miss."""
    out = [
        f"{peers['set']} against {peer}"
        for peers in results["peers"]
        for peer, goal in peers["goals"].items()
        if peers["ratios"][peer] < goal
    ]
    return out + ["memory"] * (results["memory"]["peak_megabytes_above_input"] >= 400)


def main() -> int:
    """Run everything, write the results, and fail if a goal is missed."""
    warnings.simplefilter("ignore")
    results = {"peers": [peers(name) for name in ("c20ng", "kosarek", "plants")], "memory": memory()}
    X = retail()
    results["growth"] = growth(X)
    results["lower_bound"] = lower_bound(X)
    target = Path(__file__).parent / "results" / "mixture.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {target}")
    short = missed(results)
    print(f"not met: {', '.join(short)}" if short else "all goals met")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
