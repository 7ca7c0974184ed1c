"""Tables larger than memory: fits from files beside the same fits from memory.

    python -m benchmarks.scale            prints and writes benchmarks/results/scale.json

Every fit runs in a process of its own, after kernels have been compiled on a small table; peak memory counts from the open
libraries on, with all that warming up had used given back.  What the libraries take to read any file of so many columns is
measured beside it, on a file of a thousand rows.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

GOALS = {"parquet": 1.3, "spilled": 2.0, "peak by budget": 1.0}
SHAPE, PER_ROW = (200_000, 500), 10
PASSES = 50
TALLER = 10  # times as many rows, with a tenth of their size as the budget


def drawn(low: int, high: int, n_columns: int = SHAPE[1], per_row: float = PER_ROW) -> sp.csr_array:
    """Rows of a mixture of eight classes; the same whatever rows are asked for beside them, in steps of 10,000."""
    parts = []
    profiles = np.random.default_rng(0).gamma(0.3, size=(8, n_columns))
    profiles *= per_row / profiles.sum(axis=1, keepdims=True)
    for start in range(low, high, 10_000):
        rng = np.random.default_rng([1, start])
        classes = rng.integers(0, 8, min(10_000, high - start))
        parts.append(
            sp.csr_array((rng.random((len(classes), n_columns)) < np.minimum(profiles, 0.9)[classes]).astype(np.int8))
        )
    return sp.vstack(parts, format="csr")


def write_parquet(path: Path, shape: tuple[int, int] = SHAPE) -> None:
    """The table as a Parquet file of small integers, written some rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(f"c{j}", pa.int8()) for j in range(shape[1])])
    with pq.ParquetWriter(path, schema) as writer:
        for low in range(0, shape[0], 50_000):
            rows = drawn(low, min(low + 50_000, shape[0]), shape[1]).toarray()
            writer.write_table(pa.table({f"c{j}": rows[:, j] for j in range(shape[1])}, schema=schema))


def peak() -> int:
    """Most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def give_back() -> None:
    """Memory that warming up has used and freed goes back to the machine, so that it is counted when it is used again."""
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


def fit(kind: str, path: str) -> dict[str, Any]:
    """A fit of a given number of passes; seconds, peak memory above the start, and what came out."""
    from latentbits import BernoulliMixture

    warnings.simplefilter("ignore")
    model = BernoulliMixture(12, n_init=1, max_iter=PASSES, tol=0.0, accelerate=False, random_state=0, n_jobs=2)
    model.set_params(max_iter=3).fit(drawn(0, 2000))
    model.set_params(max_iter=3).fit(path)  # its kernels, too
    model.set_params(max_iter=PASSES)
    table: Any = drawn(0, SHAPE[0]) if kind == "memory" else path
    give_back()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, began = peak(), time.perf_counter()
    if kind == "decode":
        import pyarrow.parquet as pq

        pq.read_table(path)
        return {"seconds": time.perf_counter() - began}
    model.fit(table)
    return {"seconds": time.perf_counter() - began, "bytes": peak() - before, "objective": model.objective_}


def run(kind: str, path: Path, memory: str | None = None) -> dict[str, Any]:
    """One fit in a process of its own."""
    env = dict(os.environ) if memory is None else {**os.environ, "LATENTBITS_MEMORY": memory}
    command = [sys.executable, "-m", "benchmarks.scale", kind, str(path)]
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    return json.loads(told.splitlines()[-1])


def parquet_fits(folder: Path, rounds: int = 3) -> dict[str, Any]:
    """The fit from a file, in memory and with hardly any, beside that from CSR and one decoding by pyarrow."""
    path, small = folder / "table.parquet", folder / "small.parquet"
    write_parquet(path)
    write_parquet(small, (1000, SHAPE[1]))
    budget = SHAPE[0] * SHAPE[1] // 10  # a tenth of the cells as bytes
    kinds = {"memory": (path, None), "decode": (path, None), "file": (path, None)}
    kinds |= {"spilled": (path, str(budget)), "small": (small, str(budget))}  # type: ignore[dict-item]
    fits: dict[str, list[Any]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind, (table, memory) in kinds.items():
            fits[kind].append(run(kind if kind in ("memory", "decode") else "file", table, memory))
    seconds = {kind: min(told["seconds"] for told in runs) for kind, runs in fits.items()}
    peaks = {kind: max(told.get("bytes", 0) for told in runs) for kind, runs in fits.items()}
    ratios = {
        "parquet": seconds["file"] / (seconds["memory"] + seconds["decode"]),
        "spilled": seconds["spilled"] / seconds["file"],
        "peak by budget": peaks["spilled"] / budget,
    }
    for name, ratio in ratios.items():
        print(
            f"{name}: {ratio:.2f} (goal <= {GOALS[name]:g}) {'met' if ratio <= GOALS[name] else 'NOT met'}", flush=True
        )
    print(seconds, peaks, flush=True)
    told = {"shape": SHAPE, "file_bytes": path.stat().st_size, "passes": PASSES, "budget": budget}
    return {**told, "fits": fits, "ratios": ratios, "peak_of_a_small_file_by_budget": peaks["small"] / budget}


def taller(folder: Path) -> dict[str, Any]:
    """A longer table with a tenth of its size as the budget: peak memory beside the budget."""
    shape = (SHAPE[0] * TALLER, SHAPE[1])
    path, budget = folder / "taller.parquet", shape[0] * shape[1] // 10
    write_parquet(path, shape)
    told = run("file", path, str(budget))
    told = {"shape": shape, "budget": budget, **told, "peak by budget": told["bytes"] / budget}
    print(told, flush=True)
    return told


def main() -> int:
    """Run everything, write the results, and fail if a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        results = {"goals": GOALS, "parquet": parquet_fits(Path(folder)), "taller": taller(Path(folder))}
    target = Path(__file__).parent / "results" / "scale.json"
    target.write_text(json.dumps(results, indent=1) + "\n")
    print(f"wrote {target}")
    return int(any(results["parquet"]["ratios"][name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(fit(sys.argv[1], sys.argv[2])))
        sys.exit(0)
    sys.exit(main())
