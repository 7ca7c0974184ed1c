"""How a pass of every family grows with the ones, the rows, the columns and the components, everything else held.

    python -m benchmarks.slopes      prints exponents: 1 is linear; and the ratio of a pass to the least that it must do

Passes are those with which a large fit begins: in float32 where the family has them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.aspect import synthetic
from benchmarks.stream import stream
from benchmarks.timing import best_of, slope
from latentbits import AspectBernoulli, BernoulliMixture, BinaryGTM, LatentTrait, LogisticPCA, NoisyOrComponentAnalysis
from latentbits.data.source import open_source
from latentbits.engine.em import EMOptions, Point, State, em
from latentbits.engine.restarts import Starts, init_rows
from latentbits.engine.sweep import LocalSweep

# Exponents that still count as linear.
LIMITS = {"ones": 1.15, "rows": 1.15, "columns": 1.15, "components": 1.2}
SIZES = (1, 2, 4)
FAMILIES: dict[str, Callable[[int], Any]] = {
    "mixture": lambda k: BernoulliMixture(k, random_state=0),
    "Aspect Bernoulli": lambda k: AspectBernoulli(k, random_state=0),
    "noisy-or": lambda k: NoisyOrComponentAnalysis(k, random_state=0, surplus=0),
    "map": lambda k: BinaryGTM((k, 10), random_state=0, solver="bound", init="random"),
    "latent trait": lambda k: LatentTrait(k, random_state=0),
    "logistic PCA": lambda k: LogisticPCA(k, ridge=1e-3, random_state=0),
}
# Components of the middle size: what a user of the family would ask for.
COMPONENTS = {"latent trait": 2, "logistic PCA": 2, "map": 5}


class Passes:
    """A pass of a fit that has gone some way, again and again from the same point.

    With ``like`` the parameters are those of another table with the same columns, and rows settle to them in a few passes:
    what a row costs may depend on the parameters, and they are no part of what is varied.
    """

    def __init__(self, estimator: Any, X: sp.csr_array, settle: int = 10, like: Passes | None = None) -> None:
        self.sweep = LocalSweep(open_source(X, merge=True, work=estimator.work), 1)
        sums, _ = estimator._table_sums(self.sweep)
        self.model = estimator._build_model(sums)
        starts = Starts(self.model, self.sweep, estimator._initializer(self.model), 0)
        self.options = EMOptions(max_iter=10_000, tol=0.0, accelerate=False, mixed=True)
        if like is not None:
            point = like.state.point
            self.state = like.state._replace(
                point=Point(point.params, init_rows(self.model, self.sweep, point.params, 0, 0)), objective=-np.inf
            )
            for _ in range(3):
                rows = next(em(self.model, self.sweep, self.state, self.options)).state.point.rows
                self.state = self.state._replace(point=Point(point.params, rows))
            return
        self.state = State(starts(0))
        for step in em(self.model, self.sweep, self.state, self.options):
            self.state = step.state
            if step.state.iteration >= settle:
                break

    def __call__(self) -> None:
        next(em(self.model, self.sweep, self.state, self.options))


def tables(k: int) -> dict[str, list[tuple[sp.csr_array, int]]]:
    """Tables and components that grow in one respect each."""
    return {
        "ones": [(synthetic(10_000, 2000, 8.0 * s), k) for s in SIZES],
        "rows": [(synthetic(5000 * s, 2000, 8.0), k) for s in SIZES],
        "columns": [(synthetic(10_000, 1000 * s, 8.0), k) for s in SIZES],
        "components": [(synthetic(10_000, 2000, 8.0), k * s) for s in SIZES],
    }


def slopes() -> dict[str, dict[str, tuple[float, float, list[float]]]]:
    """By family and respect: exponent, limit, seconds."""
    out: dict[str, dict[str, tuple[float, float, list[float]]]] = {}
    for name, make in FAMILIES.items():
        out[name] = {}
        for what, cases in tables(COMPONENTS.get(name, 10)).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                first = Passes(make(cases[0][1]), cases[0][0])
                like = first if what == "rows" else None
                calls = {str(i): Passes(make(k), X, like=like) for i, (X, k) in enumerate(cases)}
                seconds = list(best_of(calls, 3).values())
            out[name][what] = (slope(list(SIZES), seconds), LIMITS[what], seconds)
    return out


def least_work(X: sp.csr_array, k: int, dense: bool) -> Callable[[], Any]:
    """The least that a pass must do: two products with the dense table, or two walks over the ones with K numbers each."""
    rng = np.random.default_rng(0)
    if dense:
        table, left, right = X.toarray(), rng.random((X.shape[0], k)), rng.random((k, X.shape[1]))
        out = np.empty(table.shape)
        return lambda: (np.matmul(left, right, out=out), table.T @ left)
    indptr, indices = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    matrix, out = rng.random(X.shape[1] * k), np.zeros(k)
    return lambda: [stream(indptr, indices, matrix, k, out) for _ in range(2)]


def bounds() -> dict[str, tuple[float, float]]:
    """By family: seconds of a pass, and of the least that it must do, on one thread."""
    out: dict[str, tuple[float, float]] = {}
    for name, make in FAMILIES.items():
        k = COMPONENTS.get(name, 10)
        X = synthetic(10_000, 2000, 8.0)
        wide = 10 * k if name == "map" else k
        least = least_work(X, wide, name in ("latent trait", "logistic PCA"))
        least()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            seconds = best_of({"pass": Passes(make(k), X), "least": least}, 5)
        out[name] = (seconds["pass"], seconds["least"])
    return out


if __name__ == "__main__":
    for family, (ours, least) in bounds().items():
        print(f"{family}: a pass takes {ours / least:.1f} x the least work", flush=True)
    for family, told in slopes().items():
        print(family, {what: round(exponent, 2) for what, (exponent, _, _) in told.items()}, flush=True)
