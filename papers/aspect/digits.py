"""Figures 2-4: phantoms in corroded digits, and what other models make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.decomposition import NMF
from sklearn.metrics import roc_auc_score

from papers.aspect.data import IMAGE, corroded, digits
from papers.aspect.likelihood import aspect, logistic, mixture
from papers.common import Outcome, quietly

K = 10


def lifts(model) -> np.ndarray:
    """Lift of every cause."""
    return np.array([row["lift"] for row in model.cause_table()])


def one_fit(X: np.ndarray, levels: np.ndarray, removed: np.ndarray, seed: int) -> dict:
    """One restart on the corroded digits: is there a phantom, and what does it explain?"""
    model = quietly(aspect(K, 1, seed), X)
    lift = lifts(model)
    found = np.flatnonzero(lift < 0.1)
    record = {"seed": seed, "lifts": np.sort(lift), "n_phantoms": len(found), "objective": model.objective_}
    if len(found) != 1 or model.phantoms_ != found.tolist():
        return record
    k = int(found[0])
    tally = model._params.tally
    content = (X == 0) & ~removed
    missing_share, content_share = (float(model.attribution(X, mask)[k]) for mask in (removed, content))
    q = model.cause_posterior(X).argmax(axis=2) == k
    zeros = model.missing_vs_off(X)
    lost = removed[zeros.row, zeros.column]
    within = [roc_auc_score(lost[zeros.row == i], zeros.phantom[zeros.row == i]) for i in np.unique(zeros.row[lost])]
    record.update(
        share_of_ones=float(tally.on[k] / tally.on.sum()),
        missing_to_phantom=missing_share,
        content_to_content=1.0 - content_share,
        ratio=missing_share / content_share,
        missing_by_arg_max=float(q[removed].mean()),
        content_by_arg_max=float(1 - q[content].mean()),
        missing_by_half=float((zeros.phantom[lost] > 0.5).mean()),
        content_by_half=float((zeros.phantom[~lost] <= 0.5).mean()),
        level_correlation=float(np.corrcoef(model.loss_level(X), levels)[0, 1]),
        auc_content=float(roc_auc_score(lost, zeros.content)),
        auc_lost=float(roc_auc_score(lost, zeros.lost)),
        auc_phantom=float(roc_auc_score(lost, zeros.phantom)),
        auc_phantom_within=float(np.mean(within)),
    )
    return record


BANDS = {
    "share_of_ones": ("phantom's share of ones", "<= 1%", lambda v: v <= 0.01, "phantom-like bases"),
    "missing_to_phantom": ("corroded zeros to the phantom", ">= 45%", lambda v: v >= 0.45, "70%"),
    "content_to_content": ("content zeros to content causes", ">= 70%", lambda v: v >= 0.70, "88%"),
    "ratio": ("phantom share, missing / content", ">= 1.8", lambda v: v >= 1.8, ""),
    "level_correlation": ("correlation of s_phantom and level", ">= 0.75", lambda v: v >= 0.75, ""),
    "auc_content": ("pooled AUC of c", ">= 0.88", lambda v: v >= 0.88, ""),
    "auc_phantom_within": ("mean within-row AUC of u", ">= 0.88", lambda v: v >= 0.88, ""),
}


def phantoms(full: bool, folder: Path) -> Outcome:
    """E3: corrosion that differs by image makes a phantom; none without it."""
    clean, _ = digits()
    X, levels, removed = corroded(clean)
    n_fits = 15 if full else 5
    fits = [one_fit(X, levels, removed, seed) for seed in range(n_fits)]
    good = [fit for fit in fits if "ratio" in fit]
    out = Outcome(
        "aspect-phantoms",
        "E3, Figures 2 and 4: phantoms in corroded digits",
        f"{int(removed.sum())} of {int(clean.sum())} on-pixels removed, level U(0, 0.5) per image; K={K}, {n_fits} fits of "
        "one start, each on its own",
        numbers={"removed": int(removed.sum()), "fits": fits},
    )
    need = int(np.ceil(n_fits * 13 / 15))
    text = f"{len(good)} of {n_fits}"
    out.claim("fits with exactly one cause of lift < 0.1", f">= {need} of {n_fits}", text, len(good) >= need, "two")
    for key, (claim, wanted, holds, paper) in BANDS.items():
        values = np.array([fit[key] for fit in good])
        text = f"{values.min():.3f} to {values.max():.3f}, mean {values.mean():.3f}"
        out.claim(f"{claim} (every fit)", wanted, text, holds(values).all(), paper)
    least_clean = min(lifts(quietly(aspect(K, 1, seed), clean)).min() for seed in range(3))
    out.claim("control, clean digits: smallest lift", ">= 0.5", least_clean, least_clean >= 0.5)
    even = np.where((clean == 1) & (np.random.default_rng(1).random(clean.shape) < 0.25), 0.0, clean)
    least_even = min(lifts(quietly(aspect(K, 1, seed), even)).min() for seed in range(3))
    out.claim("control, 25% off in every image: smallest lift", ">= 0.25", least_even, least_even >= 0.25)
    out.numbers["smallest_lift"] = {"clean": least_clean, "even": least_even}
    _pictures(folder, quietly(aspect(K, 1, 0), X), X)
    return out


def other_models(full: bool, folder: Path) -> Outcome:
    """E4: mixture, logistic PCA and NMF have no component without pixels."""
    X, _, _ = corroded(digits()[0])
    starts = 5 if full else 2
    mb, lpca = quietly(mixture(K, starts), X), quietly(logistic(K, 1), X)
    nmf = NMF(K, init="nndsvda", max_iter=500, tol=1e-4)
    activations = nmf.fit_transform(X)
    scaled = nmf.components_ * np.quantile(activations, 0.99, axis=0)[:, None]
    out = Outcome(
        "aspect-other-models",
        "E4, Figure 3: bases of other models on the corroded digits",
        f"K={K}; mixture ML, best of {starts}; logistic PCA ridge 1e-3; NMF of scikit-learn, components scaled by the 99% "
        "quantile of their activation",
    )
    least = float(mb.components_.mean(axis=1).min() / X.mean())
    out.claim("mixture: least mean of a class / density", ">= 0.5", least, least >= 0.5, "no phantom")
    peak = float(scaled.max(axis=1).min())
    out.claim("NMF: least maximum of a scaled component", ">= 0.5", peak, peak >= 0.5, "no phantom")
    sizes = np.abs(lpca.components_).max(axis=1)
    text = f"largest loadings {sizes.min():.1f} to {sizes.max():.1f}: no component is empty (see the figure)"
    out.claim("logistic PCA: by eye", "no empty component", text, sizes.min() > 0.1 * sizes.max(), "no phantom")
    out.numbers = {"mixture_least": least, "nmf_least_peak": peak, "lpca_largest_loadings": sizes}
    _tiles(
        folder / "aspect-other-models.png", {"mixture": mb.components_, "NMF": scaled, "logistic PCA": lpca.components_}
    )
    return out


def _tiles(path: Path, rows: dict[str, np.ndarray]) -> None:
    """Rows of components as images."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(rows), K, figsize=(K, 1.25 * len(rows)), layout="constrained", squeeze=False)
    for line, (name, components) in zip(axes, rows.items()):
        for ax, component in zip(line, components):
            ax.imshow(component.reshape(IMAGE), cmap="gray_r")
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _pictures(folder: Path, model, X: np.ndarray) -> None:
    """Figure 2: the causes, and which of them explains each pixel of some images."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from latentbits import plots

    rows = [0, 250, 450, 650, 850]
    figure, axes = plt.subplots(1 + len(rows), K + 1, figsize=(K + 1, 7.5), layout="constrained")
    plots.cause_pictures(model, X, rows, IMAGE, axes=axes)
    figure.savefig(folder / "aspect-phantoms.png", dpi=110)
    plt.close(figure)
