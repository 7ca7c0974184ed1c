"""The large tables: what they cost from file to fit, a part at a time.

    python -m benchmarks.large narrow       100,000,000 x 20: packed, counted, fitted from five starts
    python -m benchmarks.large tall         10,000,000 x 1,000, 1 % ones: 20 passes of a mixture within 2 GB
    python -m benchmarks.large noisy-or     1,000,000 x 1,000, 1 % ones: two passes of noisy-or
    python -m benchmarks.large cluster      starts side by side on two Dask workers
    python -m benchmarks.large explore      the main job on wide and long tables, within twice its budget

Files are written to the folder that LATENTBITS_LARGE names (default: one that goes), and are used again if they are there.
Results go to benchmarks/results/large.json, part by part.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import peak

RESULT = Path(__file__).parent / "results" / "large.json"
STEP = 500_000  # rows that are drawn and written at a time


def narrow_rows(low: int, high: int, n_columns: int = 20) -> Any:
    """Rows of a mixture of ten classes."""
    profiles = np.random.default_rng(0).random((10, n_columns)) ** 2
    rng = np.random.default_rng([1, low])
    classes = rng.integers(0, 10, high - low)
    return (rng.random((high - low, n_columns), np.float32) < profiles[classes]).astype(np.int8)


def tall_rows(low: int, high: int, n_columns: int = 1000) -> Any:
    """Rows of a mixture of thirty classes with about ten ones each, drawn one by one."""
    weights = np.random.default_rng(0).gamma(0.2, size=(30, n_columns))
    reached = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    rng = np.random.default_rng([2, low])
    out = np.zeros((high - low, n_columns), np.int8)
    classes, counts = rng.integers(0, 30, high - low), 1 + rng.poisson(9.5, high - low)
    for k in range(30):
        mine = np.flatnonzero(classes == k)
        rows = np.repeat(mine, counts[mine])
        columns = np.searchsorted(reached[k], rng.random(len(rows)) * reached[k, -1])
        out[rows, np.minimum(columns, n_columns - 1)] = 1
    return out


def written(name: str, rows: Any, n_rows: int, n_columns: int) -> Path:
    """The table as a Parquet file, written some rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(os.environ["LATENTBITS_LARGE"]) / f"{name}-{n_rows}.parquet"
    if path.exists():
        return path
    began, aside = time.perf_counter(), path.with_suffix(".writing")
    schema = pa.schema([(f"c{j}", pa.int8()) for j in range(n_columns)])
    step = min(STEP, 50_000_000 // n_columns)
    with pq.ParquetWriter(aside, schema) as writer:
        for low in range(0, n_rows, step):
            cells = np.asfortranarray(rows(low, min(low + step, n_rows)))
            writer.write_table(pa.table({f"c{j}": cells[:, j] for j in range(n_columns)}, schema=schema))
    aside.rename(path)
    print(f"{path.name} written in {time.perf_counter() - began:.0f} s, {path.stat().st_size / 1e6:.0f} MB", flush=True)
    return path


def narrow(n_rows: int = 100_000_000) -> dict[str, Any]:
    """Time of every step, the same fit from the patterns themselves, and what a billion rows would take."""
    from latentbits import BernoulliMixture
    from latentbits.data import open_source
    from latentbits.data.patterns import patterned

    BernoulliMixture(10, n_init=1, random_state=0).fit(narrow_rows(0, 200_000))  # kernels are compiled
    out: dict[str, Any] = {}
    for share in (10, 1):
        path = written("narrow", narrow_rows, n_rows // share, 20)
        before, began = peak(), time.perf_counter()
        source = open_source(path)
        opened = time.perf_counter()
        found: Any = patterned(source)
        counted = time.perf_counter()
        blocks = [found.block(b) for b in range(found.n_blocks)]
        cells, weights = np.concatenate([b.codes() for b in blocks]), np.concatenate([b.weights for b in blocks])
        model = BernoulliMixture(10, n_init=5, random_state=0, n_jobs=2)
        begin = time.perf_counter()
        direct = model.fit(cells, sample_weight=weights).components_.copy()
        fitted = time.perf_counter()
        out[str(n_rows // share)] = {
            "open": opened - began,
            "pack_and_count": counted - opened,
            "fit_patterns": fitted - begin,
            "patterns": len(weights),
            "peak_bytes": peak() - before,
        }
        print(n_rows // share, out[str(n_rows // share)], flush=True)
        del source, found, blocks
    begin = time.perf_counter()
    whole = model.fit(path).components_
    out["fit_from_file"], out["same_bits"] = time.perf_counter() - begin, bool(np.array_equal(whole, direct))
    small, large = out[str(n_rows // 10)], out[str(n_rows)]
    slope = (large["pack_and_count"] - small["pack_and_count"]) / (0.9 * n_rows)
    out["seconds_per_row"], out["seconds_of_a_billion_rows"] = slope, slope * 1e9 + large["fit_patterns"]
    return out


def tall(n_rows: int = 10_000_000) -> dict[str, Any]:
    """Rows per second of a mixture, beside the time in which the packed rows can be read from disk."""
    from latentbits import BernoulliMixture
    from latentbits.data import open_source

    path = written("tall", tall_rows, n_rows, 1000)
    model = BernoulliMixture(20, n_init=1, max_iter=2, tol=0.0, accelerate=False, random_state=0, n_jobs=2)
    model.fit(tall_rows(0, 30_000))
    Path("/proc/self/clear_refs").write_text("5")
    before, began = peak(), time.perf_counter()
    source: Any = open_source(path, work=model.work, merge=True)
    for b in range(source.n_blocks):
        source.block(b)
    packed = time.perf_counter()
    store = (source._reader if hasattr(source._reader, "piece_rows") else source._reader.reader).store
    n_bytes = store.in_memory + store.on_disk
    times = []
    for n_passes in (2, 22):
        begin = time.perf_counter()
        model.set_params(max_iter=n_passes).fit(source)
        times.append(time.perf_counter() - begin)
    per_pass = (times[1] - times[0]) / 20
    return {
        "file_bytes": path.stat().st_size,
        "decode_and_pack": packed - began,
        "packed_bytes": n_bytes,
        "on_disk": store.on_disk,
        "per_pass": per_pass,
        "rows_per_second": n_rows / per_pass,
        "start_and_two_passes": times[0],
        "twenty_passes": times[1] - times[0],
        "peak_bytes": peak() - before,
        "stream_seconds": streamed(n_bytes),
    }


def streamed(n_bytes: int) -> float:
    """Seconds in which so many bytes are read from a file of the folder, one after the other."""
    path = Path(os.environ["LATENTBITS_LARGE"]) / "stream"
    chunk = np.random.default_rng(0).integers(0, 256, 2**24, np.uint8).tobytes()
    with open(path, "wb") as file:
        for _ in range(-(-n_bytes // len(chunk))):
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    began = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.read(2**24):
            pass
    seconds = time.perf_counter() - began
    path.unlink()
    return seconds


def noisy_or(n_rows: int = 1_000_000) -> dict[str, Any]:
    """Two passes of noisy-or over a million rows; 218 s at the time of the issue."""
    from latentbits import NoisyOrComponentAnalysis

    path = written("tall", tall_rows, n_rows, 1000)
    model = NoisyOrComponentAnalysis(10, n_init=1, max_iter=2, random_state=0, n_jobs=2)
    model.fit(tall_rows(0, 5000))
    began = time.perf_counter()
    model.fit(path)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "before": 218.0, "times_faster": 218.0 / seconds, "goal": 5.0}


def cluster() -> dict[str, Any]:
    """Starts one after the other here, and side by side on two workers; equal bits."""
    from distributed import Client, LocalCluster

    from latentbits import AspectBernoulli, BernoulliMixture, NoisyOrComponentAnalysis
    from latentbits.datasets import make_mixture
    from latentbits.engine.together import keeping_memory

    X = make_mixture(6000, 100, 8, spread=0.7, random_state=0).data
    models = {
        "mixture": BernoulliMixture(20, n_init=8, max_iter=400, tol=0.0, random_state=0, screen_starts=False),
        "aspect": AspectBernoulli(10, n_init=4, max_iter=300, tol=0.0, random_state=0, screen_starts=False),
        "noisy-or": NoisyOrComponentAnalysis(6, n_init=4, max_iter=25, tol=0.0, random_state=0, screen_starts=False),
    }
    out: dict[str, Any] = {}
    with (
        keeping_memory(),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as workers,
    ):
        for name, model in models.items():
            if os.environ.get("LATENTBITS_ONLY", "") not in name:
                continue
            table = X[:1500] if name == "noisy-or" else X  # its passes take long
            times: dict[str, list[float]] = {"here": [], "there": []}
            ends = []
            for _ in range(3):
                begin = time.perf_counter()
                ends.append(model.fit(table).components_.tobytes())
                times["here"].append(time.perf_counter() - begin)
                with Client(workers):
                    begin = time.perf_counter()
                    ends.append(model.fit(table).components_.tobytes())
                    times["there"].append(time.perf_counter() - begin)
            ratio = min(times["here"]) / min(times["there"])
            out[name] = {**times, "times_faster": ratio, "goal": 1.7, "same_bits": len(set(ends)) == 1}
            print(name, out[name], flush=True)
            kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
            RESULT.write_text(json.dumps({**kept, "cluster": {**kept.get("cluster", {}), **out}}, indent=1) + "\n")
    return out


JOBS = tuple(int(n) for n in os.environ.get("LATENTBITS_JOBS", "1,2").split(","))
EXPLORED = {"wide 200 x 5000": (200, 5000, 0.12), "wide 500 x 20000": (500, 20000, 0.12), "long": (1_000_000, 30, 0.09)}


def explore() -> dict[str, Any]:
    """The main job with its default budget, on one core and on two."""
    from benchmarks.costs import table
    from latentbits.evaluation.plan import default_budget

    out: dict[str, Any] = {}
    for name, shape in EXPLORED.items():
        if os.environ.get("LATENTBITS_ONLY", "") not in name:
            continue
        for jobs in JOBS:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.parquet"
                import pandas as pd

                pd.DataFrame(table(*shape), columns=[f"q{j}" for j in range(shape[1])]).to_parquet(path)
                command = [sys.executable, "-m", "latentbits", "explore", str(path), "-o", f"{folder}/out"]
                began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([*command, "--jobs", str(jobs)], check=True, capture_output=True)
                seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                assert (Path(folder) / "out" / "report.html").exists()
                size = (Path(folder) / "out" / "report.html").stat().st_size
                summary = (Path(folder) / "out" / "summary.md").read_text().splitlines()[2]
            budget = default_budget(shape[0] * shape[1])
            told = {"seconds": seconds, "cpu_seconds": cpu, "budget": budget, "ratio": seconds / budget, "goal": 2.0}
            told["report_bytes"] = size
            out[f"{name}, {jobs} at a time"] = {**told, "verdict": summary}
            kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
            RESULT.write_text(json.dumps({**kept, "explore": {**kept.get("explore", {}), **out}}, indent=1) + "\n")
            print(name, jobs, told, flush=True)
    return out


PARTS = {"narrow": narrow, "tall": tall, "noisy-or": noisy_or, "cluster": cluster, "explore": explore}


def main() -> None:
    """Run the parts that were named, all by default."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("LATENTBITS_LARGE", folder)
        for name in sys.argv[1:] or PARTS:
            if name == "tall":
                os.environ["LATENTBITS_MEMORY"] = "2 GB"
            found = PARTS[name]()
            print(name, json.dumps(found, indent=1), flush=True)
            results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
            found = {**results.get(name, {}), **found}
            RESULT.write_text(json.dumps({**results, name: found}, indent=1) + "\n")
            os.environ.pop("LATENTBITS_MEMORY", None)


if __name__ == "__main__":
    main()
