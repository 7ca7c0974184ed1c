"""Speed of ``NoisyOrComponentAnalysis`` beside the paper's algorithm in NumPy and beside CorEx, and how its cost grows.

    python -m benchmarks.noisy_or          prints and writes benchmarks/results/noisy_or.json
    python -m benchmarks.noisy_or large    also a table of a million rows, out of core and on Dask (some twenty minutes)

CorEx (corextopic, extra ``bench``) also has hidden binary factors and sparse input, but another model.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.timing import best_of, slope
from latentbits import NoisyOrComponentAnalysis
from latentbits.data.source import open_source
from latentbits.datasets import fetch, load_debd, make_images
from latentbits.engine.sweep import LocalSweep

# "linear" is an exponent of at most this; memory is counted in copies of the row state and of K x columns.
GOALS = {"paper": 100.0, "corex": 5.0, "million_megabytes": 2048.0, "exponent": 1.15, "copies": 12.0}
BARE = {"n_init": 1, "surplus": 0, "random_state": 0}


def sparse(name: str) -> sp.csr_array:
    """A prepared sparse table."""
    with np.load(fetch(name)) as parts:
        return sp.csr_array(
            (parts["data"].astype(float), parts["indices"], parts["indptr"]), shape=tuple(parts["shape"])
        )


# The paper's algorithm, vectorised over rows, columns and sources.


def log_on(u: np.ndarray) -> np.ndarray:
    """log(1 - exp(-u))."""
    return np.log(-np.expm1(-u))


class PaperFit:
    """Variational EM as printed: weights and posteriors in turn, strengths by cyclic bisection on [0, 30]."""

    def __init__(self, X: np.ndarray, links: np.ndarray, leak: np.ndarray, prior: np.ndarray) -> None:
        self.X, self.ones = X, X == 1
        self.theta, self.theta0, self.prior = -np.log1p(-links), -np.log1p(-leak), prior.copy()
        k = len(prior)
        self.q = np.full((*X.shape, k), 1.0 / k)
        self.m = np.tile(prior, (len(X), 1))

    def bound(self) -> float:
        """Bound of the table, plus the log prior of the leaks that keeps them from zero."""
        lift = log_on(self.theta0[:, None] + self._strength()) - log_on(self.theta0)[:, None]
        odds = self._base() + ((self.q * lift) * self.ones[:, :, None]).sum(axis=1)
        value = np.log1p(-self.prior).sum() * len(self.X) + np.logaddexp(0, odds).sum()
        value += (self.ones * log_on(self.theta0) - ~self.ones * self.theta0).sum()
        return float(value)

    def _strength(self) -> np.ndarray:
        return self.theta.T / np.maximum(self.q, 1e-300)

    def _base(self) -> np.ndarray:
        return np.log(self.prior) - np.log1p(-self.prior) - (~self.ones) @ self.theta.T

    def e_step(self, rounds: int = 10, tol: float = 1e-3) -> None:
        """Weights, then posteriors, until they settle."""
        base = self._base()
        for _ in range(rounds):
            t = np.minimum(self._strength(), 500.0)
            lift = log_on(self.theta0[:, None] + t) - log_on(self.theta0)[:, None]
            odds = base + ((self.q * lift) * self.ones[:, :, None]).sum(axis=1)
            m = 0.5 * (1 + np.tanh(0.5 * odds))
            change = np.abs(m - self.m).max()
            self.m = m
            raw = self.q * m[:, None, :] * np.maximum(lift - t / np.expm1(self.theta0[:, None] + t), 1e-12) + 1e-200
            self.q = raw / raw.sum(axis=2, keepdims=True)
            if change < tol:
                break

    def m_step(self, probes: int = 10) -> None:
        """Every strength in turn, for all columns at once; the paper speaks of about ten probes."""
        on = self.ones
        for i in range(len(self.prior)):
            low, high = np.zeros(len(self.theta0)), np.full(len(self.theta0), 30.0)
            q, m = np.maximum(self.q[:, :, i], 1e-300), self.m[:, i]
            for _ in range(probes):
                middle = 0.5 * (low + high)
                inverse = 1 / -np.expm1(-np.minimum(self.theta0 + middle / q, 500.0))
                up = m @ (on * inverse) - m.sum() > 0
                low, high = np.where(up, middle, low), np.where(up, high, middle)
            self.theta[i] = 0.5 * (low + high)
        low, high = np.full(len(self.theta0), 1e-6), np.full(len(self.theta0), 30.0)
        t = np.minimum(self._strength(), 500.0)
        for _ in range(probes):
            middle = np.sqrt(low * high)
            inverse = 1 / -np.expm1(-(middle[:, None] + t))
            alone = 1 / -np.expm1(-middle)
            got = (self.q * (self.m[:, None, :] * inverse + (1 - self.m[:, None, :]) * alone[:, None])).sum(axis=2)
            up = (on * got).sum(axis=0) - len(on) > 0
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        self.theta0 = np.sqrt(low * high)
        self.prior = np.clip(self.m.mean(axis=0), 1e-9, 1 - 1e-9)


def paper(n_rows: int = 2000, passes: int = 40) -> dict:
    """Seconds to the bound that the paper's algorithm reaches from the same start."""
    X = make_images(n_rows, random_state=0).data
    rng = np.random.default_rng(0)
    links = np.clip(rng.random((8, 64)), 0.05, 0.95)
    marginals = (X.sum(axis=0) + 0.5) / (n_rows + 1)
    other = PaperFit(X, links, 0.5 * marginals, np.full(8, 1 / 8))
    began = time.perf_counter()
    bounds = []
    for _ in range(passes):
        other.e_step()
        bounds.append(other.bound())
        if len(bounds) > 5 and bounds[-1] - bounds[-2] < 1e-5 * abs(bounds[-1]):
            break
        other.m_step()
    theirs, target = time.perf_counter() - began, max(bounds)

    def ours():
        model = NoisyOrComponentAnalysis(
            8, init=links, n_init=1, link_prior=(1, 1), leak_prior=(1, 1), tol=0.0, n_jobs=os.cpu_count(), max_iter=400,
            callbacks=[lambda event: event.step.objective >= target],
        )  # fmt: skip
        return model.fit(X)

    fitted = ours()
    seconds = best_of({"ours": ours}, 3)["ours"]
    ratio = theirs / seconds
    reached = fitted.objective_ >= target
    print(
        f"images {n_rows} x 64, K=8: {ratio:.0f} x the paper's algorithm in NumPy (goal {GOALS['paper']:g}) "
        f"{_met(ratio >= GOALS['paper'] and reached)}; bound {target:.0f} after {len(bounds)} passes of theirs "
        f"({theirs:.1f} s), {fitted.n_iter_} of ours ({seconds:.2f} s)"
    )
    return {
        "ratio": ratio,
        "reached": bool(reached),
        "seconds": {"ours": seconds, "paper": theirs},
        "passes": {"ours": fitted.n_iter_, "paper": len(bounds)},
        "bound": target,
    }


class OnePass:
    """An E-step and M-step at parameters of a fit that has gone some way."""

    def __init__(self, X, k: int, warm_up: int = 25, n_jobs: int | None = None) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = NoisyOrComponentAnalysis(k, max_iter=warm_up, **BARE).fit(X)
        self.sweep = LocalSweep(open_source(X, merge=True, work=model.work), n_jobs or 1)
        self.model, self.params = model._model, model._params._replace(loss=None)
        precomputed = self.model.precompute(self.params)
        self.rows = [self.model.infer(self.sweep.source.block(b), precomputed)[0] for b in range(self.sweep.n_blocks)]

    def __call__(self):
        precomputed = self.model.precompute(self.params)
        stats, _ = self.sweep.map(self.model.e_step, self.rows, precomputed)
        return self.model.m_step(self.params, self.model.finalize_stats(precomputed, stats), None)


def corex(name: str, X: sp.csr_array, k: int) -> dict:
    """Seconds per pass of ours, and per iteration of CorEx, both on one thread."""
    from corextopic import corextopic

    def theirs(n: int):
        return lambda: corextopic.Corex(n_hidden=k, max_iter=n, eps=-1.0, seed=0).fit(X)

    one = OnePass(X, k)
    seconds = best_of({"ours": one, "few": theirs(5), "many": theirs(25)}, 3)
    per = (seconds["many"] - seconds["few"]) / 20
    ratio = per / seconds["ours"]
    print(
        f"{name}, K={k}: a pass is {ratio:.2f} x as fast as an iteration of CorEx (goal {GOALS['corex']:g}) "
        f"{_met(ratio >= GOALS['corex'])}; {1e3 * seconds['ours']:.0f} ms against {1e3 * per:.0f}"
    )
    return {"set": name, "k": k, "ratio": ratio, "seconds": {"ours": seconds["ours"], "corex": per}}


def growth(name: str) -> dict:
    """Exponents of the cost of a pass in ones (rows taken at random) and in sources."""
    X = sparse(name)
    order = np.random.default_rng(0).permutation(X.shape[0])
    parts = [X[order[: int(share * X.shape[0])]] for share in (0.25, 0.5, 1.0)]
    by_ones = [best_of({"x": OnePass(part, 50)}, 3)["x"] for part in parts]
    numbers = (12, 25, 50)
    by_k = [best_of({"x": OnePass(parts[0], k)}, 3)["x"] for k in numbers]
    found = {
        "set": name,
        "ones": [part.nnz for part in parts],
        "seconds_by_ones": by_ones,
        "exponent_in_ones": slope([part.nnz for part in parts], by_ones),
        "sources": numbers,
        "seconds_by_sources": by_k,
        "exponent_in_sources": slope(list(numbers), by_k),
    }
    print(f"{name}: cost ~ ones^{found['exponent_in_ones']:.2f}, K^{found['exponent_in_sources']:.2f}")
    return found


MEASURE = (
    "import re, numpy as np\n"
    "from latentbits import NoisyOrComponentAnalysis\n"
    "NoisyOrComponentAnalysis(2, max_iter=12, n_init=1).fit(np.eye(40))\n"  # compile before measuring
    "status = lambda key: int(re.search(key + r':\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
)


def memory(name: str, k: int = 50) -> dict:
    """Peak memory of a fit above that with the table loaded, in a process of its own, beside what the law allows."""
    code = MEASURE + (
        "from benchmarks.noisy_or import sparse\n"
        f"X = sparse({name!r})\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # the peak counts from here
        "before = status('VmRSS')\n"
        f"NoisyOrComponentAnalysis({k}, n_init=1, surplus=0, max_iter=10, random_state=0, n_jobs=2).fit(X)\n"
        "print(status('VmHWM') - before)\n"
    )
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    megabytes = int(ran.stdout) / 1024
    n, d = sparse(name).shape
    rows, columns = n * k * 8 / 2**20, d * k * 8 / 2**20
    print(
        f"{name}, K={k}: peak memory above the input {megabytes:.0f} MB; one copy of the row state is {rows:.0f} MB, one "
        f"of K x columns {columns:.0f} MB"
    )
    return {
        "set": name,
        "k": k,
        "peak_megabytes_above_input": megabytes,
        "row_state_megabytes": rows,
        "k_times_columns_megabytes": columns,
    }


def write_million(path: Path, n_rows: int, n_columns: int, k: int = 10, chunk: int = 50_000) -> None:
    """A noisy-or table as Parquet, drawn in chunks with a fixed seed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    links = np.where(rng.random((k, n_columns)) < 0.05, 0.6, 0.0)
    leak, prior = np.full(n_columns, 0.005), np.full(k, 0.2)
    names = [f"c{j}" for j in range(n_columns)]
    writer = None
    for c in range(n_rows // chunk):
        draw = np.random.default_rng([7, c])
        on = draw.random((chunk, k)) < prior
        off = np.exp(on @ np.log1p(-links) + np.log1p(-leak))
        cells = (draw.random((chunk, n_columns)) >= off).astype(np.int8)
        table = pa.table(dict(zip(names, cells.T.copy())))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=chunk)
    writer.close()


MILLION = MEASURE + (
    "import sys, time, hashlib\n"
    "if __name__ == '__main__':\n"
    "    path, how, passes, rows = sys.argv[1:5]\n"
    "    options = dict(n_components=10, n_init=1, surplus=0, tol=0.0, max_iter=int(passes), random_state=0)\n"
    "    options['block_rows'] = int(rows)\n"
    "    began = time.time()\n"
    "    if how == 'dask':\n"
    "        import dask.dataframe as dd\n"
    "        from distributed import Client, LocalCluster\n"
    "        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)\n"
    "        with cluster, Client(cluster):\n"
    "            frame = dd.read_parquet(path, split_row_groups=True)\n"
    "            model = NoisyOrComponentAnalysis(**options).fit(frame)\n"
    "    else:\n"
    "        model = NoisyOrComponentAnalysis(n_jobs=2, **options).fit(path)\n"
    "    seal = hashlib.sha256(b''.join(np.ascontiguousarray(p).tobytes() for p in model._params[:3])).hexdigest()\n"
    "    print(seal, status('VmHWM'), time.time() - began, model.objective_)\n"
)


def million(n_rows: int = 1_000_000, n_columns: int = 1000, passes: int = 2) -> dict:
    """A table larger than we want in memory: peak memory out of core, and the same bits from two Dask processes."""
    with tempfile.TemporaryDirectory() as folder:
        path, script = Path(folder) / "million.parquet", Path(folder) / "fit.py"
        write_million(path, n_rows, n_columns)
        script.write_text(MILLION)
        found = {}
        for how in ("out of core", "dask"):
            command = [sys.executable, "-W", "ignore", str(script), str(path), how, str(passes), "50000"]
            ran = subprocess.run(command, capture_output=True, text=True, check=True)
            seal, peak, seconds, objective = ran.stdout.split()[-4:]
            found[how] = {
                "seal": seal,
                "megabytes": int(peak) / 1024,
                "seconds": float(seconds),
                "objective": float(objective),
            }
            print(f"{n_rows} x {n_columns}, {how}: {float(seconds):.0f} s, peak {int(peak) / 1024:.0f} MB")
    found["same_bits"] = found["out of core"]["seal"] == found["dask"]["seal"]
    print(f"the same bits out of core and on Dask: {_met(found['same_bits'])}")
    return {"rows": n_rows, "columns": n_columns, "passes": passes, **found}


def _met(good: bool) -> str:
    return "met" if good else "NOT met"


def missed(found: dict) -> list[str]:
    """Goals that were not met."""
    out = []
    if not (found["paper"]["ratio"] >= GOALS["paper"] and found["paper"]["reached"]):
        out.append("paper")
    out += [f"corex on {row['set']}" for row in found["corex"] if row["ratio"] < GOALS["corex"]]
    for row in found["growth"]:
        for what in ("ones", "sources"):
            if row[f"exponent_in_{what}"] > GOALS["exponent"]:
                out.append(f"{row['set']}: not linear in {what}")
    for row in found["memory"]:
        if row["peak_megabytes_above_input"] > GOALS["copies"] * (
            row["row_state_megabytes"] + row["k_times_columns_megabytes"]
        ):
            out.append(f"{row['set']}: memory")
    large = found.get("million")
    if large and large["out of core"]["megabytes"] > GOALS["million_megabytes"]:
        out.append("million: memory")
    if large and not large["same_bits"]:
        out.append("million: bits")
    return out


def main(arguments: list[str]) -> int:
    """Measure everything and write it down."""
    path = Path(__file__).parent / "results" / "noisy_or.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    c20ng = sp.csr_array(load_debd("c20ng")["train"].astype(float))
    found = {
        "paper": paper(),
        "corex": [corex("citations_wide", sparse("citations_wide"), 10), corex("c20ng", c20ng, 10)],
        "growth": [growth("debian_depends"), growth("retail")],
        "memory": [memory("debian_depends"), memory("retail")],
    }
    if "large" in arguments:
        found["million"] = million()
    elif "million" in before:
        found["million"] = before["million"]
    path.write_text(json.dumps(found, indent=1) + "\n")
    out = missed(found)
    print(f"goals not met: {', '.join(out)}" if out else "all goals met")
    return 1 if out else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
