"""Maps of handwritten digits, unknown pixels, and a map that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from latentbits import BernoulliMixture, BinaryGTM, LatentTrait
from latentbits.datasets import make_map
from papers.common import Outcome, quietly
from papers.gtm.data import IMAGE, digits, splits
from papers.gtm.newsgroups import neighbours

N_TRAIN = 1500


def digit_map(**options: Any) -> BinaryGTM:
    """15 × 15 nodes, 8 × 8 bumps, 60 passes of two Newton steps."""
    fixed = {"latent_shape": (15, 15), "basis_shape": (8, 8), "ridge": 0.1, "solver": "newton", "n_inner": 2}
    return BinaryGTM(**{**fixed, "max_iter": 60, "tol": 0.0, "accelerate": False, **options})


def maps(full: bool, folder: Path) -> Outcome:
    """X6: the digit map."""
    n_splits = 5 if full else 1
    out = Outcome(
        "gtm-digits",
        "A map of handwritten digits",
        f"2000 digits of 16 x 15 pixels above 3; {n_splits} splits 1500 / 500; 15 x 15 nodes, 8 x 8 bumps, 60 passes of 2 "
        "Newton steps; neighbours and trustworthiness on posterior means",
    )
    X, y = digits()
    found: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        found.setdefault(name, []).append(float(value))

    for number in range(n_splits):
        train, test = splits(len(X), N_TRAIN, number)
        model = quietly(digit_map(), X[train])
        for kind in ("mean", "refined"):
            a, b = model.transform(X[train], kind=kind), model.transform(X[test], kind=kind)
            note(f"5-NN, {kind}", neighbours(a, y[train], b, y[test], 5))
            note(f"trustworthiness, {kind}, training rows", trustworthiness(X[train], a, n_neighbors=10))
            note(f"trustworthiness, {kind}, held-out rows", trustworthiness(X[test], b, n_neighbors=10))
            note(f"distinct places, {kind}", len(np.unique(np.round(a, 2), axis=0)))
        note("log-likelihood", model.score(X[test]))
        note("bound M-step: log-likelihood", quietly(digit_map(solver="bound", n_inner=5), X[train]).score(X[test]))
        for k in (10, 60):
            mixture = quietly(BernoulliMixture(k, n_init=3, random_state=0), X[train])
            note(f"mixture {k}: log-likelihood", mixture.score(X[test]))
        trait = quietly(LatentTrait(2, bound="jaakkola", n_inner=2, random_state=0), X[train])
        note("Tipping: log-likelihood", trait.score(X[test]))
        note("Tipping: 5-NN", neighbours(trait.transform(X[train]), y[train], trait.transform(X[test]), y[test], 5))
        plane = PCA(2).fit(X[train])
        note("PCA: 5-NN", neighbours(plane.transform(X[train]), y[train], plane.transform(X[test]), y[test], 5))
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    out.claim("5 nearest neighbours on the map, held out", ">= 0.90", mean["5-NN, mean"], mean["5-NN, mean"] >= 0.90)
    out.claim("held-out log-likelihood", ">= -86", mean["log-likelihood"], mean["log-likelihood"] >= -86)
    trust = mean["trustworthiness, mean, training rows"]
    out.claim("trustworthiness, 10 neighbours", ">= 0.97", trust, trust >= 0.97)
    gain = mean["distinct places, refined"] / mean["distinct places, mean"]
    out.claim("distinct places (two decimals), refined against means (ratio)", "> 1.5", gain, gain > 1.5)
    gain = mean["5-NN, refined"] - mean["5-NN, mean"]
    out.claim("5 nearest neighbours, refined above means by", ">= 0", gain, gain >= 0)
    out.numbers = {"mean": mean, "sd": {name: float(np.std(values)) for name, values in found.items()}}
    _picture(folder / "gtm-digits.png", quietly(digit_map(), X), X, y)
    return out


def _picture(path: Path, model: BinaryGTM, X: np.ndarray, y: np.ndarray) -> None:
    """Nodes as images beside the digits on the map."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from latentbits.plots import latent_map, node_images

    figure, axes = plt.subplots(1, 2, figsize=(15, 7.6), layout="constrained")
    node_images(model, IMAGE, ax=axes[0])
    latent_map(model, X, y, ax=axes[1])
    figure.savefig(path, dpi=75)
    plt.close(figure)


def hidden(full: bool, folder: Path) -> Outcome:
    """X7: unknown pixels."""
    out = Outcome(
        "gtm-hidden",
        "Digits with hidden pixels",
        "2000 digits, 12 x 12 nodes, 6 x 6 bumps, 25 passes; log-loss of the hidden pixels in nats",
    )
    X, _ = digits()
    for share in (0.2, 0.5):
        rng = np.random.default_rng(int(100 * share))
        unknown = rng.random(X.shape) < share
        table = np.where(unknown, np.nan, X)
        model = quietly(digit_map(latent_shape=(12, 12), basis_shape=(6, 6), max_iter=25), table)
        chances = np.clip(model.reconstruct(table)[unknown], 1e-12, 1 - 1e-12)
        loss = float(-np.where(X[unknown] == 1, np.log(chances), np.log1p(-chances)).mean())
        marginals = np.broadcast_to(model.marginals_, X.shape)[unknown]
        base = float(-np.where(X[unknown] == 1, np.log(marginals), np.log1p(-marginals)).mean())
        masked = quietly(
            digit_map(latent_shape=(12, 12), basis_shape=(6, 6), max_iter=25), np.ma.array(X, mask=unknown)
        )
        same = bool(np.array_equal(masked.basis_weights_, model.basis_weights_))
        fall = float(np.diff(model.history_[0]).min() / abs(model.objective_))
        out.claim(f"{share:.0%} hidden: log-loss of hidden pixels", "<= 0.40", loss, loss <= 0.40)
        out.claim(f"{share:.0%} hidden: objective never falls (relative)", ">= -1e-9", fall, fall >= -1e-9)
        out.claim(f"{share:.0%} hidden: mask and NaN give the same weights", "yes", str(same), same)
        out.numbers[f"{share:.0%}"] = {"log-loss": loss, "marginals": base}
    return out


def _true_score(probs: np.ndarray, X: np.ndarray) -> float:
    """Mean log-likelihood under the nodes that made the rows, all of the same weight."""
    logs = X @ np.log(probs).T + (1 - X) @ np.log1p(-probs).T
    return float((logsumexp(logs, axis=1) - np.log(len(probs))).mean())


def known(full: bool, folder: Path) -> Outcome:
    """X8: maps that are known."""
    n_maps = 5 if full else 2
    out = Outcome(
        "gtm-known",
        "Maps found again",
        f"{n_maps} tables of 2000 + 1000 rows x 100 columns from 15 x 15 nodes and 4 x 4 bumps, weights N(0, 4), "
        "constant -2; default map with 4 x 4 bumps",
    )
    trusts, gaps = [], []
    for seed in range(n_maps):
        made = make_map(3000, 100, random_state=seed)
        train, test = made.data[:2000], made.data[2000:]
        model = quietly(BinaryGTM((15, 15), basis_shape=(4, 4)), train)
        trusts.append(trustworthiness(made.places[2000:], model.transform(test), n_neighbors=10))
        gaps.append(_true_score(made.probs, test) - model.score(test))
    trust, gap = float(np.mean(trusts)), float(np.max(gaps))
    out.claim("trustworthiness of held-out means against the true places", ">= 0.96", trust, trust >= 0.96)
    out.claim("held-out log-likelihood below the truth, worst", "<= 0.45", gap, gap <= 0.45)
    out.numbers = {"trustworthiness": trusts, "gaps": gaps}
    return out
