"""Speed of ``AspectBernoulli`` beside a peer and beside bare products, and how its cost grows.

    python -m benchmarks.aspect            prints and writes benchmarks/results/aspect.json

The peer (nbmf-mm, extra ``bench``) does the same maths in NumPy.  Both sides start from the same point, take turns, and the
best run counts.
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
from threadpoolctl import threadpool_limits

from benchmarks.timing import best_of, slope
from latentbits import AspectBernoulli
from latentbits.aspect.model import AspectParams
from latentbits.base.passes import table_sums
from latentbits.data.source import open_source
from latentbits.datasets import fetch, load_debd
from latentbits.engine.sweep import LocalSweep

GOALS = {"dense": 2.5, "sparse": 15.0, "memory_megabytes": 1500.0, "transform": 20.0}
# Times as fast as the peer, by table and causes.
PEER_GOALS = {("digits", 10): 18.0, ("digits", 40): 10.0, ("c20ng", 20): 45.0}
# Likelihoods of the two sides are the same if they differ by less than this, relative.
SAME = 1e-6


def digits() -> np.ndarray:
    """The 1,000 digits of the paper's experiments."""
    with np.load(fetch("mfeat_pix")) as parts:
        return (parts["X"][parts["y"] < 5] >= 4).astype(float)


def lines() -> sp.csr_array:
    """Lines of newsgroup posts × words."""
    with np.load(fetch("newsgroups_lines")) as parts:
        return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))


def peer(name: str, X: np.ndarray, k: int, rounds: int = 3, most: int = 2000) -> dict:
    """Seconds of whole fits to the log-likelihood at which the peer stops by itself, or after ``most`` steps."""
    from nbmf_mm import NBMFMM

    rng = np.random.default_rng(0)
    shares, probs = rng.dirichlet(np.ones(k), len(X)), 0.75 * X.mean(axis=0) + 0.25 * rng.random((k, X.shape[1]))

    def theirs():
        return NBMFMM(k, alpha=1.0, beta=1.0, max_iter=most, W_init=shares, H_init=probs, random_state=0).fit(X)

    fitted = theirs()
    target = -fitted.loss_ * X.size

    def ours():
        return AspectBernoulli(
            k,
            smoothing=0.0,
            init=(shares, probs),
            n_init=1,
            max_iter=5000,
            tol=0.0,
            n_jobs=os.cpu_count(),
            callbacks=[lambda event: event.step.objective >= target - SAME * abs(target)],
        ).fit(X)

    reached = ours()
    seconds = best_of({"ours": ours, "nbmf-mm": theirs}, rounds)
    ratio, goal = seconds["nbmf-mm"] / seconds["ours"], PEER_GOALS[name, k]
    print(
        f"{name}, K={k}: {ratio:5.1f} x nbmf-mm (goal {goal:g}) {_met(ratio >= goal)}; "
        f"{fitted.n_iter_} steps of theirs, {reached.n_iter_} of ours"
    )
    return {
        "set": name,
        "k": k,
        "seconds": seconds,
        "ratio": ratio,
        "log_likelihood": {"ours": reached.objective_, "nbmf-mm": target},
        "steps": {"ours": reached.n_iter_, "nbmf-mm": fitted.n_iter_},
    }


class OnePass:
    """EM steps on an opened table, one at a time; ``settle`` runs some first, so that columns are split as in a fit."""

    def __init__(self, X, k: int, n_jobs: int = 1, settle: int = 1) -> None:
        self.sweep = LocalSweep(open_source(X, work=AspectBernoulli.work), n_jobs)
        sums, _ = table_sums(self.sweep)
        estimator = AspectBernoulli(k, random_state=0)
        self.model = estimator._build_model(sums)
        self.params: AspectParams = estimator._initializer(self.model)(self.sweep, 0, 0)
        self.rows = [
            self.model.init_rows(self.sweep.source.block(b), self.params, 0, 0) for b in range(self.sweep.n_blocks)
        ]
        for _ in range(settle):
            self.params, self.rows = self()

    def __call__(self):
        precomputed = self.model.precompute(self.params)
        stats, rows = self.sweep.map(self.model.e_step, self.rows, precomputed)
        return self.model.m_step(self.params, self.model.finalize_stats(precomputed, stats), None), rows


def dense(name: str, X: np.ndarray, k: int) -> dict:
    """A step beside its four products, all on one thread."""
    rng = np.random.default_rng(0)
    shares, probs, cells = rng.random((len(X), k)), rng.random((k, X.shape[1])), rng.random(X.shape)
    out = np.empty(X.shape)

    def products():
        np.matmul(shares, probs, out=out)
        return cells @ probs.T, cells.T @ shares, cells.T @ shares

    with threadpool_limits(1):
        seconds = best_of({"step": OnePass(X, k), "products": products}, rounds=40)
    ratio = seconds["step"] / seconds["products"]
    print(
        f"{name}, K={k}: a step costs {ratio:.2f} x its products (goal {GOALS['dense']:g}) {_met(ratio <= GOALS['dense'])}"
    )
    return {"set": name, "k": k, "seconds": seconds, "ratio": ratio}


def _met(good: bool) -> str:
    return "met" if good else "NOT met"


def sparse(X: sp.csr_array, k: int = 20) -> dict:
    """A step on the lines beside a bare CSR-times-dense pass, both on one thread."""
    matrix, floats = np.random.default_rng(0).random((X.shape[1], k)), X.astype(float)
    step = OnePass(X, k, settle=12)
    split = step.model.precompute(step.params).split
    seconds = best_of({"step": step, "csr": lambda: floats @ matrix}, rounds=6)
    ratio = seconds["step"] / seconds["csr"]
    print(
        f"lines, K={k}: a step costs {ratio:.1f} x a CSR pass (goal {GOALS['sparse']:g}) {_met(ratio <= GOALS['sparse'])}; "
        f"{len(split.hot)} hot columns of {X.shape[1]}, degree {split.degree}"
    )
    return {"seconds": seconds, "ratio": ratio, "n_hot": len(split.hot), "degree": split.degree}


def memory() -> dict:
    """Peak memory of a fit above that with the table loaded, measured in a process of its own."""
    code = (
        "import re, numpy as np\n"
        "from benchmarks.aspect import lines\n"
        "from latentbits import AspectBernoulli\n"
        "AspectBernoulli(2, max_iter=2).fit(np.eye(40))\n"  # compile before measuring
        "X = lines()\n"
        "status = lambda key: int(re.search(key + r':\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # the peak counts from here
        "before = status('VmRSS')\n"
        "AspectBernoulli(20, n_init=1, max_iter=8, n_jobs=2, random_state=0).fit(X)\n"
        "print(status('VmHWM') - before)\n"
    )
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    megabytes = int(ran.stdout) / 1024
    print(
        f"lines: peak memory above the input {megabytes:.0f} MB (goal 1500) {_met(megabytes < GOALS['memory_megabytes'])}"
    )
    return {"peak_megabytes_above_input": megabytes}


def synthetic(n_rows: int, n_columns: int, per_row: float, seed: int = 0) -> sp.csr_array:
    """A sparse table with heavy-tailed columns."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(10, n_columns + 10)
    counts = rng.poisson(per_row, n_rows)
    columns = rng.choice(n_columns, counts.sum(), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(n_rows), counts)
    table = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_rows, n_columns))
    table.data[:] = 1.0
    return table


def growth() -> dict:
    """How a step grows with the ones, the rows, the columns and K, everything else held."""
    sizes = (1, 2, 4)
    tables = {
        "ones": {s: (synthetic(20000, 5000, 10.0 * s), 20) for s in sizes},
        "rows": {s: (synthetic(10000 * s, 5000, 10.0), 20) for s in sizes},
        "columns": {s: (synthetic(20000, 5000 * s, 10.0), 20) for s in sizes},
        "k": {s: (synthetic(20000, 5000, 10.0), 10 * s) for s in sizes},
    }
    out = {}
    for what, cases in tables.items():
        seconds = best_of({str(s): OnePass(X, k, settle=5) for s, (X, k) in cases.items()}, rounds=5)
        out[what] = {"seconds": list(seconds.values()), "slope": slope(list(sizes), list(seconds.values()))}
    print("cost grows with " + ", ".join(f"{what}^{value['slope']:.2f}" for what, value in out.items()))
    return out


def em_fold_in(model, X: np.ndarray, tol: float, most: int = 20000) -> np.ndarray:
    """Memberships by EM steps alone, each row until its certificate is below ``tol``."""
    maths, precomputed = model._model, model._model.precompute(model._params)
    shares = np.full((len(X), maths.n_components), 1.0 / maths.n_components)
    left = np.arange(len(X))
    n_cells = int(maths.active.sum())
    block = open_source(X, block_rows=len(X)).block(0)
    part = block
    for step in range(most):
        gains, logs = np.zeros((len(left), maths.n_components)), np.zeros(len(left))
        maths._hot(part, precomputed, shares[left], np.ones(len(left)), gains, logs)
        done = gains.max(axis=1) - n_cells <= tol
        shares[left] *= gains / n_cells
        shares[left] /= shares[left].sum(axis=1, keepdims=True)
        if step % 20 == 19:
            left = left[~done]
            if not len(left):
                break
            part = block.take(left)
    return shares


def transform(n_rows: int = 10000, tol: float = 1e-3) -> dict:
    """Fold-in of rows drawn from a model of the digits beside EM steps to the same certificate, both on one thread."""
    model = AspectBernoulli(10, smoothing=0.1, n_init=1, max_iter=200, tol=1e-6, random_state=0, fold_tol=tol).fit(
        digits()
    )
    X = model.sample(n_rows, random_state=1).astype(float)
    model.transform(X[:10])
    with threadpool_limits(1):
        seconds = best_of({"newton": lambda: model.transform(X), "em": lambda: em_fold_in(model, X, tol)}, rounds=2)
    ratio = seconds["em"] / seconds["newton"]
    gaps = [row["gap"] for row in model.row_table(X[:500])]
    print(
        f"transform: {ratio:.1f} x faster than EM steps (goal {GOALS['transform']:g}) {_met(ratio >= GOALS['transform'])}"
    )
    return {"seconds": seconds, "ratio": ratio, "largest_gap_of_500": max(gaps), "tol": tol}


def missed(results: dict) -> list[str]:
    """The goals that the results miss."""
    out = [
        f"{r['set']} K={r['k']} against nbmf-mm" for r in results["peers"] if r["ratio"] < PEER_GOALS[r["set"], r["k"]]
    ]
    out += [f"dense {r['set']} K={r['k']}" for r in results["dense"] if r["ratio"] > GOALS["dense"]]
    out += ["sparse"] * (results["sparse"]["ratio"] > GOALS["sparse"])
    out += ["memory"] * (results["memory"]["peak_megabytes_above_input"] >= GOALS["memory_megabytes"])
    return out + ["transform"] * (results["transform"]["ratio"] < GOALS["transform"])


def main() -> int:
    """Run everything, write the results, and fail if a goal is missed."""
    warnings.simplefilter("ignore")
    X, news = digits(), load_debd("c20ng")["train"].astype(float)
    results = {
        "goals": GOALS,
        "dense": [
            dense("digits", X, 10),
            dense("digits", X, 40),
            dense("bnetflix", load_debd("bnetflix")["train"], 20),
        ],
        "transform": transform(),
        "peers": [peer("digits", X, 10), peer("digits", X, 40), peer("c20ng", news, 20, rounds=1, most=60)],
        "sparse": sparse(lines()),
        "memory": memory(),
        "growth": growth(),
    }
    target = Path(__file__).parent / "results" / "aspect.json"
    target.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {target}")
    short = missed(results)
    print(f"not met: {', '.join(short)}" if short else "all goals met")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
