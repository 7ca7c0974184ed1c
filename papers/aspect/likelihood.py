"""Figure 1: likelihood of three models over the number of components, in sample and held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.special import logsumexp

from latentbits import AspectBernoulli, BernoulliMixture, LogisticPCA
from papers.aspect.data import digits
from papers.common import Outcome, quietly

NUMBERS = (2, 5, 10, 20, 40)
AT_MOST = {"AB": (128.5, 96.5, 82.5, 71.5, 61.5), "MB": (134, 106, 94, 87, 79)}
HELD_OUT = {"LPCA": range(2, 13), "AB": (5, 10, 20, 30, 40, 50, 60, 80), "MB": (5, 10, 15, 20, 30, 40, 60)}
CLIP = 1e-3


def aspect(k: int, n_init: int, seed: int = 0) -> AspectBernoulli:
    """The paper's fit: maximum likelihood."""
    return AspectBernoulli(k, smoothing=0.0, n_init=n_init, max_iter=450, random_state=seed, score_clip=CLIP)


def logistic(k: int, n_init: int, seed: int = 0, max_iter: int = 150) -> LogisticPCA:
    """Near maximum likelihood: the ridge that keeps it finite."""
    return LogisticPCA(k, ridge=1e-3, n_init=n_init, max_iter=max_iter, random_state=seed, score_clip=CLIP)


def mixture(k: int, n_init: int, seed: int = 0) -> BernoulliMixture:
    """Maximum likelihood."""
    return BernoulliMixture(k, smoothing=0.0, n_init=n_init, init="k-means++", max_iter=450, random_state=seed)


def in_sample(full: bool, folder: Path) -> Outcome:
    """E1: negative log-likelihood per image at the fitted hidden values."""
    X, _ = digits()
    starts = 15 if full else 3
    found: dict[str, list[float]] = {"LPCA": [], "AB": [], "MB": []}
    for k in NUMBERS:
        found["LPCA"].append(-float(quietly(logistic(k, 3 if k < 20 else 1), X).fold_in_scores(X).mean()))
        found["AB"].append(-quietly(aspect(k, starts), X).conditional_log_likelihood_ / len(X))
        found["MB"].append(-float(quietly(mixture(k, starts), X).score(X)))
    out = Outcome(
        "aspect-likelihood",
        "E1, Figure 1 left: in-sample likelihood",
        f"1000 digits (classes 0-4, value >= 4), ML, best of {starts} starts (logistic PCA: 3, ridge 1e-3)",
        numbers={"n_components": NUMBERS, "nll_per_row": found},
    )
    for i, k in enumerate(NUMBERS):
        lpca, ab, mb = (found[name][i] for name in ("LPCA", "AB", "MB"))
        out.claim(
            f"K={k}: order", "LPCA < AB < MB", f"{lpca:.1f} < {ab:.1f} < {mb:.1f}", lpca < ab < mb, "LPCA < AB < MB"
        )
        for name, bound in AT_MOST.items():
            out.claim(f"K={k}: {name} per row", f"<= {bound[i]:g}", found[name][i], found[name][i] <= bound[i])
    _curves(folder / "aspect-likelihood.png", {name: (NUMBERS, values) for name, values in found.items()}, "in sample")
    return out


def halves(seed: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two halves with as many of every class."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([rng.permutation(np.flatnonzero(y == c))[: (y == c).sum() // 2] for c in np.unique(y)])
    inside = np.zeros(len(y), bool)
    inside[first] = True
    return inside, ~inside


def clipped_score(model: BernoulliMixture, X: np.ndarray) -> float:
    """Mean log-likelihood per row of a mixture whose probabilities are kept off 0 and 1."""
    B = np.clip(model.components_, CLIP, 1 - CLIP)
    joint = np.log(model.weights_) + X @ (np.log(B) - np.log1p(-B)).T + np.log1p(-B).sum(axis=1)
    return float(logsumexp(joint, axis=1).mean())


def held_out(full: bool, folder: Path) -> Outcome:
    """E2: negative log-likelihood of held-out images, hidden values being distributed as in the training images."""
    X, y = digits()
    starts, splits = (5, 3) if full else (2, 1)
    out = Outcome(
        "aspect-held-out",
        "E2, Figure 1 right: held-out likelihood",
        f"{splits} stratified splits 500/500, ML, best of {starts} starts (logistic PCA: 1), empirical-Bayes likelihood, "
        f"probabilities clipped at {CLIP:g}",
    )
    curves: dict[str, list[list[float]]] = {name: [] for name in HELD_OUT}
    for split in range(splits):
        train, test = halves(split, y)
        values: dict[str, list[float]] = {}
        values["LPCA"] = [-float(quietly(logistic(k, 1), X[train]).score(X[test])) for k in HELD_OUT["LPCA"]]
        values["AB"] = [-float(quietly(aspect(k, starts), X[train]).score(X[test])) for k in HELD_OUT["AB"]]
        values["MB"] = [-clipped_score(quietly(mixture(k, starts), X[train]), X[test]) for k in HELD_OUT["MB"]]
        best = {name: HELD_OUT[name][int(np.argmin(v))] for name, v in values.items()}
        least = {name: min(v) for name, v in values.items()}
        for name, v in values.items():
            curves[name].append(v)
        where = f"split {split}"
        out.claim(f"{where}: best K of LPCA", "5..8", str(best["LPCA"]), 5 <= best["LPCA"] <= 8, "7")
        out.claim(f"{where}: best K of AB", "30..60", str(best["AB"]), 30 <= best["AB"] <= 60, "40")
        gap = least["LPCA"] - least["AB"]
        out.claim(f"{where}: AB better than LPCA by", ">= 3", gap, gap >= 3, "AB better")
        gap = least["MB"] - least["LPCA"]
        out.claim(f"{where}: LPCA better than MB by", ">= 1", gap, gap >= 1, "LPCA better")
    out.numbers = {"n_components": {name: list(ks) for name, ks in HELD_OUT.items()}, "nll_per_row": curves}
    means = {name: (list(HELD_OUT[name]), np.mean(v, axis=0)) for name, v in curves.items()}
    _curves(folder / "aspect-held-out.png", means, "held out")
    return out


def _curves(path: Path, curves: dict, title: str) -> None:
    """Negative log-likelihood over the number of components."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
    for (name, (numbers, values)), marker in zip(curves.items(), "osv"):
        ax.plot(numbers, values, marker=marker, label=name)
    ax.set(xlabel="number of components", ylabel="negative log-likelihood per image", title=title, xscale="log")
    ax.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)
