"""Figures 5 to 10: eight patterns in 8 × 8 images."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.timing import slope
from latentbits import LogisticPCA, NoisyOrComponentAnalysis
from latentbits.datasets import make_images
from latentbits.metrics import weighted_cosine_matching
from papers.common import Outcome, quietly

NEAR_ML = {"link_prior": (1.0, 1.0), "leak_prior": (1.01, 2.0)}
SIZES = (50, 100, 200, 500, 1000, 2000, 5000)


def noca(k: int, seed: int, **options) -> NoisyOrComponentAnalysis:
    """The default fit, or with other options."""
    return NoisyOrComponentAnalysis(k, random_state=seed, **{"n_init": 3, **options})


@cache
def test_rows():
    """2000 images that no fit has seen."""
    return make_images(2000, random_state=10_000)


def matched(model, links) -> np.ndarray:
    """Cosines of the true patterns with the sources matched to them."""
    return np.array([cosine for _, _, cosine in weighted_cosine_matching(model.components_, links)["pairs"]])


def true_scores(rows) -> np.ndarray:
    """Exact log-likelihood of images under the model that made them."""
    made = test_rows()
    truth = quietly(noca(8, 0, n_init=1, max_iter=1), made.data[:200])
    prior = np.asarray(made.prior, float)
    links = np.clip(made.links, 0.0, 1 - 1e-12)
    truth._params = truth._params._replace(theta=-np.log1p(-links), theta0=-np.log1p(-made.leak), prior=prior)
    return truth.score_samples(rows, "exact")


def recovery(full: bool, folder: Path) -> Outcome:
    """Figure 5: patterns found from 50 to 1000 images."""
    n_sets = 10 if full else 3
    out = Outcome(
        "noisy-or-recovery",
        "Figure 5: recovery of the eight patterns",
        f"{n_sets} tables per size, default options (3 starts); matched by cosine",
    )
    found = {}
    shown = {}
    for n in (50, 100, 200, 1000):
        found[n] = []
        for s in range(n_sets):
            made = make_images(n, random_state=s)
            model = quietly(noca(8, s), made.data)
            found[n].append(np.sort(matched(model, made.links)))
            shown.setdefault(n, model)
    need = int(np.ceil(0.9 * n_sets))
    whole = sum((cosines >= 0.99).all() for cosines in found[1000])
    out.claim(
        "N=1000: all 8 at cosine >= 0.99",
        f">= {need} of {n_sets}",
        f"{whole} of {n_sets}",
        whole >= need,
        "almost all sources",
    )
    for n in (100, 200):
        whole = sum((cosines >= 0.9).all() for cosines in found[n])
        out.claim(f"N={n}: all 8 at cosine >= 0.9", f">= {need} of {n_sets}", f"{whole} of {n_sets}", whole >= need)
    mean = float(np.mean([(cosines >= 0.9).sum() for cosines in found[50]]))
    out.claim("N=50: mean number at cosine >= 0.9", ">= 7", mean, mean >= 7, "some patterns, noise")
    out.numbers = {"cosines": found}
    _pictures(folder / "noisy-or-recovery.png", shown)
    return out


def _pictures(path: Path, models: dict) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(models) + 1, 9, figsize=(9, 1.15 * (len(models) + 1)), layout="constrained")
    made = test_rows()
    rows = [("truth", made.links, made.leak)]
    for n, model in models.items():
        order = np.argsort([g for _, g, _ in weighted_cosine_matching(model.components_, made.links)["pairs"]])
        pairs = weighted_cosine_matching(model.components_, made.links)["pairs"]
        rows.append((f"N={n}", model.components_[[pairs[i][0] for i in order]], model.leak_))
    for line, (name, links, leak) in zip(axes, rows):
        for ax, image in zip(line, [*links, leak]):
            ax.imshow(np.reshape(image, (8, 8)), cmap="gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=8)
    axes[0, 8].set_title("leak", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def likelihood(full: bool, folder: Path) -> Outcome:
    """Figure 6: likelihood of new images over the size of the training set."""
    trials = 5 if full else 2
    sizes = SIZES if full else SIZES[:5]
    made = test_rows()
    truth = float(true_scores(made.data).mean())
    exact, bound = np.zeros((trials, len(sizes))), np.zeros((trials, len(sizes)))
    for s in range(trials):
        for i, n in enumerate(sizes):
            model = quietly(noca(8, s), make_images(n, random_state=100 + s).data)
            exact[s, i], bound[s, i] = model.score_samples(made.data, "exact").mean(), model.score(made.data)
    mean = exact.mean(axis=0)
    error = exact.std(axis=0, ddof=1) / np.sqrt(trials)
    out = Outcome(
        "noisy-or-likelihood",
        "Figure 6: likelihood of 2000 new images",
        f"{trials} training sets per size, K=8, default options; exact by enumeration",
        numbers={"sizes": sizes, "truth": truth, "exact": exact, "bound": bound},
    )
    steps = np.diff(mean)
    slack = np.sqrt(error[1:] ** 2 + error[:-1] ** 2)
    text = ", ".join(f"{v:.2f}" for v in mean)
    out.claim("rises with N within error", "every step", text, (steps > -2 * slack).all(), "rises with N")
    gap = dict(zip(sizes, truth - mean))
    out.claim("below the truth at N=1000, nats per row", "<= 0.35", gap[1000], gap[1000] <= 0.35)
    if 5000 in gap:
        out.claim("below the truth at N=5000, nats per row", "<= 0.1", gap[5000], gap[5000] <= 0.1)
    loose = (exact - bound).mean(axis=0)[1:].max()
    out.claim("exact less bound for N >= 100, worst mean", "<= 0.05", loose, loose <= 0.05)
    _curve(
        folder / "noisy-or-likelihood.png", sizes, mean, exact.std(axis=0), "training rows", "nats per new row", truth
    )
    return out


def _curve(path, x, y, spread, xlabel, ylabel, line=None, log=True) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
    ax.errorbar(x, y, yerr=spread, marker="o", capsize=3)
    if line is not None:
        ax.axhline(line, linestyle=":", color="black")
    if log:
        ax.set_xscale("log")
    ax.set(xlabel=xlabel, ylabel=ylabel)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def selection(full: bool, folder: Path) -> Outcome:
    """Figure 7: BIC and bound over the number of sources."""
    trials = 10 if full else 2
    numbers = (2, 4, 6, 7, 8, 9, 10, 12, 15) if full else (6, 7, 8, 9)
    bic, bound, supported = (np.full((trials, len(numbers)), np.nan) for _ in range(3))
    for s in range(trials):
        X = make_images(2000, random_state=200 + s).data
        for i, k in enumerate(numbers):
            if s >= 3 and k not in (7, 8, 9, 12):  # the whole curve for three tables
                continue
            model = quietly(noca(k, s, n_init=2 if 7 <= k <= 9 else 1), X)
            total = float(model.score_samples(X).sum())
            bound[s, i], bic[s, i] = total / len(X), -total + 0.5 * model.n_free_ * np.log(len(X))
            supported[s, i] = model.supported_.sum()
    out = Outcome(
        "noisy-or-selection",
        "Figure 7: BIC and likelihood over the number of sources",
        f"2000 images, {trials} tables (K other than 7, 8, 9, 12: three), K in {numbers}; 2 starts for K = 7, 8, 9, else 1; "
        "BIC = -bound + psi/2 log N as printed",
        numbers={"n_components": numbers, "bic": bic, "bound_per_row": bound, "supported": supported},
    )
    best = np.array(numbers)[np.nanargmin(bic, axis=1)]
    need = int(np.ceil(0.9 * trials))
    hits = int((best == 8).sum())
    out.claim("BIC is smallest at 8 sources", f">= {need} of {trials}", f"{hits} of {trials}", hits >= need, "at 8")
    at = {k: i for i, k in enumerate(numbers)}
    for k in (7, 9):
        ahead = np.mean(bic[:, at[k]] - bic[:, at[8]])
        out.claim(f"mean BIC of {k} less that of 8", ">= 150", float(ahead), ahead >= 150)
    if full:
        beyond = [at[k] for k in numbers if k >= 9]
        worst = float(np.abs(np.nanmean(bound[:, beyond] - bound[:, [at[8]]], axis=0)).max())
        out.claim("bound per row of 9 to 15 sources less that of 8, largest", "< 0.5", worst, worst < 0.5, "levels off")
        counts = supported[:, [at[12], at[15]]]
        counts = counts[~np.isnan(counts)]
        text = f"{counts.min():.0f} to {counts.max():.0f}, mean {counts.mean():.1f}"
        out.claim(
            "supported sources at K=12 and 15", "7 to 9", text, ((counts >= 7) & (counts <= 9)).all(), "7-8 active"
        )
    _curve(
        folder / "noisy-or-selection.png",
        numbers,
        np.nanmean(bic, axis=0),
        np.nanstd(bic, axis=0),
        "sources",
        "BIC",
        log=False,
    )
    return out


def run_time(full: bool, folder: Path) -> Outcome:
    """Figure 8: seconds per pass over rows and sources."""
    sizes = (500, 1000, 2000, 4000, 8000) if full else (500, 1000, 2000)
    numbers = (2, 4, 8, 16, 32) if full else (2, 4, 8)
    passes = 40

    def seconds(n: int, k: int) -> float:
        X = make_images(n, random_state=0).data
        times = []
        for _ in range(3):
            began = time.perf_counter()
            quietly(noca(k, 0, n_init=1, max_iter=passes, tol=0.0, surplus=0, accelerate=False), X)
            times.append(time.perf_counter() - began)
        return min(times) / passes

    seconds(200, 2)
    by_n = [seconds(n, 8) for n in sizes]
    by_k = [seconds(2000, k) for k in numbers]
    out = Outcome(
        "noisy-or-run-time",
        "Figure 8: run time",
        f"{passes} passes of one start without surplus sources, best of 3; K=8 over N, N=2000 over K",
        numbers={"rows": sizes, "seconds_by_rows": by_n, "sources": numbers, "seconds_by_sources": by_k},
    )
    in_n, in_k = slope(sizes, by_n), slope(numbers, by_k)
    out.claim("log-log slope in N", "0.9 to 1.1", in_n, 0.9 <= in_n <= 1.1, "near linear")
    out.claim("log-log slope in K", "<= 1.15", in_k, in_k <= 1.15, "roughly linear")
    _curve(folder / "noisy-or-run-time.png", sizes, by_n, None, "rows", "seconds per pass")
    return out


def compression(full: bool, folder: Path) -> Outcome:
    """Figures 9 and 10: images rebuilt from eight bits, and from eight numbers."""
    sizes = (50, 100, 200, 1000)
    trials = dict(zip(sizes, (40, 40, 40, 10) if full else (4, 4, 4, 2)))  # errors of small tables scatter
    made = test_rows()
    errors: dict[str, list] = {"train": [], "test": [], "rounded_train": [], "rounded_test": []}
    for n in sizes:
        found = []
        for s in range(trials[n]):
            X = make_images(n, random_state=300 + s).data
            model = quietly(noca(8, s, **NEAR_ML), X)
            found.append(
                [
                    model.reconstruction_error(rows, how, random_state=s)
                    for how in ("sample", "mode")
                    for rows in (X, made.data)
                ]
            )
        for name, values in zip(("train", "test", "rounded_train", "rounded_test"), np.transpose(found)):
            errors[name].append(values)
    out = Outcome(
        "noisy-or-compression",
        "Figures 9 and 10: reconstruction error",
        f"{list(trials.values())} training sets of {list(sizes)} images, near-ML priors, posterior rounded, cells sampled; "
        "2000 new images",
        numbers={"sizes": sizes, **errors},
    )
    a, b = (np.array([values.mean() for values in errors[name]]) for name in ("train", "test"))
    out.claim("train error rises with N", "yes", ", ".join(f"{v:.4f}" for v in a), (np.diff(a) > 0).all(), "rises")
    out.claim("test error falls with N", "yes", ", ".join(f"{v:.4f}" for v in b), (np.diff(b) < 0).all(), "falls")
    meet = max(abs(a[-1] - 0.150), abs(b[-1] - 0.150))
    out.claim("both at N=1000", "0.150 +- 0.004", f"{a[-1]:.4f}, {b[-1]:.4f}", meet <= 0.004)
    numbers = (2, 4, 6, 8, 10, 12)
    by_k = []
    X = make_images(2000, random_state=400).data
    for k in numbers:
        model = quietly(noca(k, 0, n_init=3 if full else 1, **NEAR_ML), X)
        by_k.append(model.reconstruction_error(made.data, "sample", random_state=0))
    out.numbers.update(n_components=numbers, by_sources=by_k)
    flat = max(by_k[3:]) - min(by_k[3:])
    out.claim("range of the error for K >= 8", "<= 0.003", flat, flat <= 0.003, "flat after 8")
    X = make_images(1000, random_state=300).data
    ours = quietly(noca(8, 0, **NEAR_ML), X)
    other = quietly(LogisticPCA(8, ridge=1e-2, n_init=1, max_iter=300, random_state=0), X)
    beside = {}
    for name, rows in (("train", X), ("test", made.data)):
        theirs = float(((other.reconstruct(rows) > 0.5) != rows).mean())
        beside[name] = (theirs, ours.reconstruction_error(rows, "mode"))
        text = f"{theirs:.4f} against {beside[name][1]:.4f}"
        out.claim(f"logistic PCA below NOCA (rounded), {name}", "yes", text, theirs < beside[name][1], "lower")
    out.numbers["logistic_pca_and_noca"] = beside
    spread = [values.std() for values in errors["test"]]
    _curve(folder / "noisy-or-compression.png", sizes, b, spread, "training rows", "test error")
    return out
