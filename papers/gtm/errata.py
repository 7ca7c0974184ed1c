"""What the printed formulas do: the prior's gradient, the prior itself, and Newton steps without damping."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from latentbits.base.passes import table_sums
from latentbits.data.source import open_source
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import ImproperPriorWarning
from latentbits.gtm.model import logistic
from papers.common import Outcome, quietly
from papers.gtm.data import posts
from papers.gtm.newsgroups import ref

DEAD = 1e-4


class Printed:
    """EM as printed, on the reference map without a ridge: steps with the printed prior term, or plain Newton steps."""

    def __init__(self, X: np.ndarray, seed: int | None, **options: Any) -> None:
        estimator = ref(init="pca" if seed is None else "random", ridge=0.0, ridge_bias=0.0, **options)
        self.sweep = LocalSweep(open_source(X))
        self.model = estimator._build_model(table_sums(self.sweep)[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImproperPriorWarning)
            self.params = estimator._initializer(self.model)(self.sweep, 0 if seed is None else seed, 0)

    def sums(self):
        """Statistics of a pass, and the log-likelihood."""
        precomputed = self.model.precompute(self.params)
        stats = self.sweep.map(self.model.e_step, [None] * self.sweep.n_blocks, precomputed, keep_rows=False)[0]
        return stats, stats.log_likelihood

    def gradient_pass(self, n_inner: int = 5) -> float:
        """Five steps of eq. 7 with the printed prior term, -|w|² - w Σ w."""
        stats, value = self.sums()
        problem, weights, features = self.model.problem(stats), self.params.weights, self.model.features
        length = 1.0 / (0.25 * np.linalg.eigvalsh((features.T * stats.mass) @ features)[-1])
        for _ in range(n_inner):
            term = -(weights**2).sum(axis=1, keepdims=True) - weights * weights.sum(axis=1, keepdims=True)
            weights = weights + length * (problem.look(weights, False)[0] @ features + term)
        self._take(weights, stats)
        return value

    def newton_pass(self, n_inner: int = 5) -> float:
        """Five steps of eq. 8, undamped."""
        stats, value = self.sums()
        problem, weights, features = self.model.problem(stats), self.params.weights, self.model.features
        for _ in range(n_inner):
            residual, curvature, _ = problem.look(weights, False)
            hessians = np.einsum("ik,km,kn->imn", curvature, features, features, optimize=True)
            weights = weights + np.linalg.solve(hessians, (residual @ features)[:, :, None])[:, :, 0]
        self._take(weights, stats)
        return value

    def package_pass(self) -> float:
        """A pass of the package's own steps, and the objective before it."""
        stats, _ = self.sums()
        value = self.model.objective(self.model.precompute(self.params), stats)
        self.params = self.model.m_step(self.params, stats, None)
        return value

    def _take(self, weights: np.ndarray, stats) -> None:
        self.params = self.params._replace(weights=weights, prior=np.maximum(stats.mass / stats.mass.sum(), 1e-300))


def _run(X: np.ndarray, seed: int | None, step: str, n_passes: int) -> dict:
    """Passes until the numbers leave the machine's range or the likelihood is lost."""
    run, best = Printed(X, seed), -np.inf
    with np.errstate(all="ignore"):
        for number in range(1, n_passes + 1):
            try:
                value = getattr(run, step)()
            except np.linalg.LinAlgError:
                return {"start": seed, "passes": number, "end": "singular Hessian"}
            size = float(np.abs(run.params.weights).max())
            best = max(best, value)
            if not np.isfinite(size) or not np.isfinite(value):
                return {"start": seed, "passes": number, "end": "overflow"}
            if value < best - 0.5 * abs(best):
                return {"start": seed, "passes": number, "end": "likelihood lost", "largest weight": size}
    return {"start": seed, "passes": n_passes, "end": "still there", "largest weight": size}


def errata(full: bool, folder: Path) -> Outcome:
    """E1 to E3."""
    n_passes = 200 if full else 60
    out = Outcome(
        "gtm-errata",
        "What the printed formulas do",
        f"IG words, reference map without ridge; printed prior term and undamped Newton from the pca and three random "
        f"starts, 20 passes; corrected prior (beta 1), {n_passes} passes, not stopped early",
    )
    X, _, _ = posts("IG")
    starts = (None, 0, 1, 2)
    printed = [_run(X, seed, "gradient_pass", 20) for seed in starts]
    newton = [_run(X, seed, "newton_pass", 20) for seed in starts]
    lost = sum(run["end"] != "still there" or run.get("largest weight", 0.0) > 1e3 for run in printed)
    out.claim(
        "E2: printed prior term, starts that overflow or end with |w| above 1000", "all", f"{lost} of 4", lost == 4
    )
    lost = sum(run["end"] != "still there" for run in newton)
    out.claim("E3: undamped Newton steps, starts that diverge", "all", f"{lost} of 4", lost == 4)

    corrected = Printed(X, None, basis_prior="girolami", solver="gradient", basis_limit=1e6)
    path = [corrected.package_pass() for _ in range(n_passes)]
    rises = float(np.diff(path).min())
    chances = logistic(corrected.model.odds(corrected.params.weights))[0]
    dead = int((chances.max(axis=1) < DEAD).sum())
    out.claim("E2: corrected prior without early stop, objective rises", ">= 0", rises, rises >= 0)
    if full:
        out.claim("E2: corrected prior without early stop, dead features of 100", ">= 50", str(dead), dead >= 50)
    stopped = quietly(ref(basis_prior="girolami", solver="gradient", max_iter=n_passes), X)
    alive = int((stopped.components_.max(axis=0) >= 0.01).sum())
    out.claim("corrected prior with the stop of the package, living features", ">= 90", str(alive), alive >= 90)
    out.numbers = {
        "printed prior term": printed,
        "undamped Newton": newton,
        "corrected prior": {"passes": n_passes, "dead": dead, "log-likelihood per row": corrected.sums()[1] / len(X)},
        "stopped": {"passes": stopped.n_iter_, "log-likelihood per row": stopped.log_likelihood_ / len(X)},
        "ridge": quietly(ref(), X).log_likelihood_ / len(X),
    }
    return out
