"""Whole fits as a user would run them, each in a process of its own, with the quality that they reach.

    python -m benchmarks.whole_fits NAME    prints seconds and quality as JSON

Only public names are used, so that the same jobs run with the source of an earlier commit: see :mod:`benchmarks.table`.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from latentbits import BinaryGTM, LatentTrait, LogisticPCA, NoisyOrComponentAnalysis, RestrictedBoltzmann
from latentbits.datasets import fetch, load_debd

JOBS = os.cpu_count()


def sparse(name: str) -> sp.csr_array:
    """A prepared sparse table."""
    with np.load(fetch(name)) as parts:
        return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))


def news() -> np.ndarray:
    """Newsgroup posts × words."""
    return load_debd("c20ng")["train"].astype(float)


def timed(estimator: Any, X: Any) -> float:
    """Seconds of a fit."""
    began = time.perf_counter()
    estimator.fit(X)
    return time.perf_counter() - began


def noisy_or(X: Any, k: int, target: float) -> dict:
    """All starts as the defaults have them; the bound, and when a start first was at that of the commit before."""
    NoisyOrComponentAnalysis(2, n_init=1, max_iter=8, random_state=0, n_jobs=JOBS).fit(X[:200])  # compiled before
    reached: list[float] = []

    def look(event: Any) -> None:
        if event.step.last and event.step.objective >= target:  # bounds of earlier stages are those of more sources
            reached.append(time.perf_counter())

    model = NoisyOrComponentAnalysis(k, random_state=0, n_jobs=JOBS, callbacks=[look])
    began = time.perf_counter()
    seconds = timed(model, X)
    return {"seconds": seconds, "quality": model.objective_, "reached": reached[0] - began if reached else None}


def boltzmann() -> dict:
    """A machine of 50 hidden units and its fill-in of a tenth of the cells; minus the loss of a hidden cell."""
    X = sparse("newsgroups_w100").toarray().astype(float)
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    seen = np.where(hidden, np.nan, X)
    RestrictedBoltzmann(50, n_epochs=1, random_state=0).fit(seen[:200]).impute(seen[:20])
    model = RestrictedBoltzmann(50, random_state=0, n_jobs=JOBS)
    seconds = timed(model, seen)
    began = time.perf_counter()
    chances = np.asarray(model.impute(seen))[hidden]
    seconds += time.perf_counter() - began
    return {"seconds": seconds, "quality": float(np.log(np.where(X[hidden] > 0, chances, 1 - chances)).mean())}


def trait() -> dict:
    """All starts to their end; the bound."""
    X = sparse("debtags")
    LatentTrait(2, n_init=1, max_iter=3, random_state=0, n_jobs=JOBS).fit(X)
    model = LatentTrait(2, random_state=0, n_jobs=JOBS)
    return {"seconds": timed(model, X), "quality": model.objective_}


def logistic_pca(target: float = -249_871.0) -> dict:
    """One start, near maximum likelihood, until it reaches an objective: to the end it would take a quarter of an hour."""
    X = sparse("debtags")
    LogisticPCA(2, ridge=1e-3, n_init=1, max_iter=42, random_state=0, n_jobs=JOBS).fit(X[:300])
    model = LogisticPCA(
        2, ridge=1e-3, n_init=1, random_state=0, n_jobs=JOBS, callbacks=[lambda event: event.step.objective >= target]
    )
    # What comes after the last pass, the same in all versions, is no part of the climb.
    began = time.perf_counter()
    reached: list[tuple[float, float]] = []
    model.callbacks.append(lambda event: reached.append((time.perf_counter() - began, event.step.objective)))
    model.callbacks.reverse()
    model.fit(X)
    return {"seconds": reached[-1][0], "quality": reached[-1][1]}


def gtm(target: float = -83.30) -> dict:
    """A map of digits with the default step, until other digits are as likely as those of the fit before."""
    with np.load(fetch("mfeat_pix")) as parts:
        X = (parts["X"] > 3).astype(float)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = X[order[:1600]], X[order[1600:]]
    BinaryGTM(max_iter=4, random_state=0, n_jobs=JOBS).fit(train)
    seconds, quality, n_iter = 0.0, -np.inf, 0
    for n_iter in (*range(10, 60, 5), *range(60, 201, 10)):
        model = BinaryGTM(max_iter=n_iter, random_state=0, n_jobs=JOBS)
        seconds = timed(model, train)
        quality = float(model.score(test))
        if quality >= target or model.converged_:
            break
    return {"seconds": seconds, "quality": quality, "passes": n_iter}


FITS: dict[str, Callable[[], dict]] = {
    "noisy-or c20ng K=10": lambda: noisy_or(news(), 10, -1_555_918.0),
    "noisy-or citations_wide K=10": lambda: noisy_or(sparse("citations_wide"), 10, -570_182.0),
    "noisy-or retail K=50": lambda: noisy_or(sparse("retail"), 50, -5_617_950.0),
    "Boltzmann newsgroups_w100 K=50": boltzmann,
    "trait debtags K=2": trait,
    "logistic PCA debtags K=2": logistic_pca,
    "map digits 15 x 15": gtm,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(FITS[sys.argv[1]]()))
