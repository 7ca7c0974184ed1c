"""Whether fits that begin in float32 end as well as those in float64: ten tables, five seeds, every family that has them.

    python -m benchmarks.precision     prints and writes benchmarks/results/precision.json

Differences are in nats per row, mixed less double; a start is lost if it fails, or does not settle where double does.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from latentbits import PLSA, AspectBernoulli, BernoulliGaussMixture, BernoulliMixture, BinaryGTM, LatentTrait
from latentbits.base import fitting
from latentbits.datasets import load_debd

TABLES = ("nltcs", "plants", "baudio", "jester", "bnetflix", "tretail", "kosarek", "dna", "tmovie", "c20ng")
ROWS, SEEDS = 2000, 5
FAMILIES: dict[str, Callable[..., Any]] = {
    "mixture": lambda **more: BernoulliMixture(10, **more),
    "Aspect Bernoulli": lambda **more: AspectBernoulli(6, max_iter=300, **more),
    "map": lambda **more: BinaryGTM((6, 6), init="random", **more),
    "latent trait": lambda **more: LatentTrait(2, bound="jaakkola", max_iter=100, **more),
    "PLSA": lambda **more: PLSA(6, max_iter=200, **more),
    "Bernoulli-Gauss": lambda **more: BernoulliGaussMixture(4, max_iter=100, **more),
}
GOAL = 1e-4


def compare(make: Callable[..., Any], X: np.ndarray, seed: int) -> dict:
    """One start in both precisions."""
    told: dict[str, Any] = {}
    for precision in ("double", "mixed"):
        began = time.perf_counter()
        model = make(n_init=1, random_state=seed, precision=precision, n_jobs=2).fit(X)
        told[precision] = (model.objective_, bool(model.converged_), time.perf_counter() - began)
    return {
        "difference": (told["mixed"][0] - told["double"][0]) / len(X),
        "lost": told["double"][1] and not told["mixed"][1],
        "seconds": {name: value[2] for name, value in told.items()},
    }


def main(tables: tuple[str, ...] = TABLES, seeds: int = SEEDS) -> int:
    """Run everything and write it down; 1 if mixed precision loses."""
    warnings.simplefilter("ignore")
    fitting.MIXED_FROM = 0  # small tables, too
    out: dict[str, Any] = {"rows": ROWS, "seeds": seeds}
    worst = 0.0
    for family, make in FAMILIES.items():
        found = []
        for name in tables:
            X = load_debd(name)["train"][:ROWS].astype(float)
            found += [{"set": name, "seed": seed, **compare(make, X, seed)} for seed in range(seeds)]
        differences = np.array([one["difference"] for one in found])
        error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
        lost = sum(one["lost"] for one in found)
        seconds = {side: sum(one["seconds"][side] for one in found) for side in ("double", "mixed")}
        out[family] = {
            "mean_difference": float(differences.mean()),
            "standard_error": error,
            "median_difference": float(np.median(differences)),
            "better": int((differences > 1e-6).sum()),
            "worse": int((differences < -1e-6).sum()),
            "lost": lost,
            "seconds": seconds,
            "fits": found,
        }
        print(
            f"{family}: mixed less double {differences.mean():+.2e} nats per row (standard error {error:.1e}, median "
            f"{np.median(differences):+.1e}, better {out[family]['better']}, worse {out[family]['worse']} of {len(found)}), "
            f"{lost} starts lost, {seconds['double']:.1f} s in double, {seconds['mixed']:.1f} s mixed",
            flush=True,
        )
        worst = max(worst, -float(differences.mean()), float(lost))
    (Path(__file__).parent / "results" / "precision.json").write_text(json.dumps(out, indent=1) + "\n")
    return int(worst >= GOAL)


if __name__ == "__main__":
    sys.exit(main())
