"""Speed of the binary GTM beside ugtm's continuous one, how its cost grows, and its memory.

    python -m benchmarks.gtm            prints and writes benchmarks/results/gtm.json

ugtm (extra ``bench``) fits another model, Gaussian noise around the map; what is compared is an EM iteration over the same
rows, columns, nodes and bumps, each on one thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.gibbs import made
from benchmarks.timing import best_of, slope
from latentbits import BinaryGTM
from latentbits.base.passes import table_sums
from latentbits.data.source import open_source
from latentbits.datasets import fetch
from latentbits.engine.em import EMOptions, Point, State, em
from latentbits.engine.sweep import LocalSweep

# Ratio, an exponent that still counts as linear, megabytes above the input.
GOALS = {"ugtm": 3.0, "exponent": 1.15, "megabytes": 1000.0}


class Passes:
    """Some EM iterations on an open table, from the start of a fit."""

    def __init__(self, X: Any, n: int, **options: Any) -> None:
        estimator = BinaryGTM(**{"init": "random", "random_state": 0, **options})
        source = open_source(X, work=BinaryGTM.work)
        self.sweep, self.n = LocalSweep(source), n
        sums, _ = table_sums(self.sweep)
        self.model = estimator._build_model(sums)
        self.params = estimator._initializer(self.model)(self.sweep, 0, 0)

    def __call__(self) -> float:
        state = State(Point(self.params, [None] * self.sweep.n_blocks))
        steps = em(self.model, self.sweep, state, EMOptions(max_iter=self.n, tol=0.0, accelerate=False, mixed=True))
        return [step.objective for step in islice(steps, self.n)][-1]

    def e_step(self) -> None:
        """The part that reads the table."""
        precomputed = self.model.precompute(self.params)
        self.sweep.map(self.model.e_step, [None] * self.sweep.n_blocks, precomputed, keep_rows=False)


def ugtm_peer(n: int = 10, rounds: int = 5) -> dict:
    """2000 digits of 240 pixels, 15 × 15 nodes, 8 × 8 bumps."""
    from ugtm import ugtm_gtm

    with np.load(fetch("mfeat_pix")) as parts:
        X = (parts["X"] > 3).astype(float)
    calls: dict[str, Any] = {
        m_step: Passes(X, n, latent_shape=(15, 15), init="pca", solver=m_step) for m_step in ("bound", "newton")
    }
    start = ugtm_gtm.initialize(X, 15, 8, 1.0)
    calls["ugtm"] = lambda: ugtm_gtm.optimize(X, start, 0.1, n, verbose=False)
    with threadpool_limits(1):
        seconds = {name: value / n for name, value in best_of(calls, rounds).items()}
    ratios = {name: seconds["ugtm"] / seconds[name] for name in ("bound", "newton")}
    told = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in seconds.items())
    print(
        f"digits, per iteration: {told}: {ratios['bound']:.1f} x ugtm with bound, {ratios['newton']:.1f} x with newton"
    )
    return {"seconds": seconds, "ratios": ratios}


def growth(name: str, rounds: int = 3) -> dict:
    """Seconds of the part of an iteration that reads the table, against its ones; the M-step does not read it."""
    with np.load(fetch(name)) as parts:
        X = sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    rows = np.random.default_rng(0).permutation(X.shape[0])
    sizes, seconds = [], []
    for share in (0.25, 0.5, 1.0):
        part = X[rows[: int(share * len(rows))]]
        passes = Passes(part.astype(float), 1, latent_shape=(15, 15))
        sizes.append(float(part.nnz))
        seconds.append(best_of({"pass": passes.e_step}, rounds)["pass"])
    whole = best_of({"iteration": Passes(X.astype(float), 1, latent_shape=(15, 15), solver="bound")}, 1)["iteration"]
    exponent = slope(sizes, seconds)
    print(
        f"{name} ({X.shape[0]} x {X.shape[1]}, {X.nnz} ones): reading it takes {seconds[-1]:.2f} s, a whole iteration "
        f"{whole:.2f} s; cost of reading ~ ones^{exponent:.2f}"
    )
    return {"ones": sizes, "seconds": seconds, "iteration": whole, "exponent": exponent}


def by_density(rounds: int = 3) -> dict:
    """The same for tables of one shape that hold more and more ones: cells that are zero must cost nothing."""
    sizes, seconds = [], []
    for density in (0.01, 0.02, 0.04, 0.08):
        table = made(10_000, 1000, density, 50)
        passes = Passes(table, 1, latent_shape=(15, 15))
        sizes.append(float(table.nnz))
        seconds.append(best_of({"pass": passes.e_step}, rounds)["pass"])
    exponent = slope(sizes, seconds)
    print(f"10000 x 1000, density 0.01 to 0.08: cost of reading ~ ones^{exponent:.2f}")
    return {"ones": sizes, "seconds": seconds, "exponent": exponent}


MEMORY = """
import resource, sys, time, warnings
import scipy.sparse as sp
from benchmarks.gibbs import made
from latentbits import BinaryGTM
warnings.simplefilter("ignore")
BinaryGTM((15, 15), max_iter=2).fit(made(500, 1000, 0.01, 50))  # what is compiled and imported does not count
X = sp.load_npz(sys.argv[1])
before = int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
began = time.perf_counter()
model = BinaryGTM((15, 15), max_iter=50, tol=0.0).fit(X)
print(model.n_iter_, time.perf_counter() - began, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def memory(n_rows: int = 100_000) -> dict:
    """Peak memory above the input while 50 iterations run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        sp.save_npz(path, made(n_rows, 1000, 0.01, 50))
        command = [sys.executable, "-c", MEMORY, str(path)]
        n_iter, seconds, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    print(
        f"{n_rows} x 1000, density 0.01, 15 x 15: {n_iter} iterations in {float(seconds):.0f} s, {float(megabytes):.0f} MB "
        "above the input"
    )
    return {"rows": n_rows, "n_iter": int(n_iter), "seconds": float(seconds), "megabytes_above_input": float(megabytes)}


def missed(found: dict) -> list[str]:
    """Goals that were not met."""
    out = ["ugtm"] if found["ugtm"]["ratios"]["bound"] < GOALS["ugtm"] else []
    out += [f"{name} not linear" for name, told in found["growth"].items() if told["exponent"] > GOALS["exponent"]]
    if found["memory"]["megabytes_above_input"] > GOALS["megabytes"] or found["memory"]["n_iter"] != 50:
        out.append("memory")
    return out


def main() -> int:
    """Measure everything and write it down."""
    found = {
        "ugtm": ugtm_peer(),
        "growth": {**{name: growth(name) for name in ("debtags", "retail")}, "density": by_density()},
        "memory": memory(),
    }
    (Path(__file__).parent / "results" / "gtm.json").write_text(json.dumps(found, indent=1) + "\n")
    out = missed(found)
    print(f"goals not met: {', '.join(out)}" if out else "all goals met")
    return 1 if out else 0


if __name__ == "__main__":
    sys.exit(main())
