"""Tables 1 and 2, Figures 12 to 14: communities of cited authors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import gammaln, psi
from sklearn.decomposition import NMF, LatentDirichletAllocation

from latentbits import BernoulliMixture, LogisticPCA, NoisyOrComponentAnalysis
from latentbits.datasets import fetch
from latentbits.metrics import community_recovery, document_cross_entropy, weighted_cosine_matching
from papers.common import Outcome, quietly

ALPHAS = np.geomspace(0.01, 1.0, 20)  # scikit-learn stops at 1; the paper goes on to 10


@cache
def citations():
    """Documents × cited authors, names, communities."""
    with np.load(fetch("citations")) as parts:
        return parts["X"].astype(float), parts["author_names"].tolist(), parts["gold"].astype(int)


def noca(k: int, seed: int, **options) -> NoisyOrComponentAnalysis:
    """One start of the default fit."""
    return NoisyOrComponentAnalysis(k, random_state=seed, **{"n_init": 1, **options})


def lda(k: int, alpha: float, seed: int) -> LatentDirichletAllocation:
    """Batch variational LDA."""
    return LatentDirichletAllocation(k, doc_topic_prior=alpha, learning_method="batch", max_iter=30, random_state=seed)


def plsa(k: int, seed: int) -> NMF:
    """PLSA as NMF with the Kullback-Leibler loss (Gaussier & Goutte 2005: the same fixed points)."""
    return NMF(k, beta_loss="kullback-leibler", solver="mu", init="random", max_iter=200, tol=1e-5, random_state=seed)


def components(kind: str, k: int, seed: int, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Component vectors, their weights, and what the fit maximised."""
    if kind == "NOCA":
        model = quietly(noca(k, seed), X)
        return model.components_, model.source_prior_, model.objective_
    if kind == "LDA":
        other = lda(k, ALPHAS[seed % len(ALPHAS)], seed)
        mix = other.fit_transform(X)
        return other.components_ / other.components_.sum(axis=1, keepdims=True), mix.mean(axis=0), other.score(X)
    if kind == "PLSA":
        other = plsa(k, seed)
        mix = other.fit_transform(X) * other.components_.sum(axis=1)
        rows = other.components_ / np.maximum(other.components_.sum(axis=1, keepdims=True), 1e-300)
        return rows, mix.sum(axis=0), -other.reconstruction_err_
    model = quietly(LogisticPCA(k, ridge=1e-2, n_init=1, max_iter=40, random_state=seed), X)
    return model.components_, np.ones(k), model.objective_


KINDS = ("LogPCA", "PLSA", "LDA", "NOCA")


@cache
def runs(kind: str, k: int, n_runs: int) -> list:
    """Components of many starts."""
    X, _, _ = citations()
    return [components(kind, k, seed, X) for seed in range(n_runs)]


def communities(full: bool, folder: Path) -> Outcome:
    """Table 1: communities recovered; Figure 13: the authors of every source."""
    n_runs = 20 if full else 4
    _, names, gold = citations()
    scores = {}
    for k in (5, 10):
        for kind in KINDS:
            found = [community_recovery(parts, gold) for parts, _, _ in runs(kind, k, n_runs)]
            scores[kind, k] = 100 * np.mean([list(one["points"].values()) for one in found], axis=0)
    out = Outcome(
        "noisy-or-communities",
        "Table 1 and Figure 13: communities of cited authors",
        f"8153 documents × 40 authors, {n_runs} runs of one start (LDA: alpha from 0.01 to 1); judge: purity of the top 7",
        numbers={"percent_by_community": {f"{kind}, K={k}": value for (kind, k), value in scores.items()}},
    )
    best = max(runs("NOCA", 5, n_runs)[:5], key=lambda run: run[2])
    points = list(community_recovery(best[0], gold)["points"].values())
    out.claim(
        "K=5, best of 5 by objective: communities with score 1",
        ">= 4 of 5",
        f"{points.count(1.0)} of 5",
        points.count(1.0) >= 4,
    )
    mean = {key: float(value.mean()) for key, value in scores.items()}
    out.claim("K=10: mean score of single runs, %", ">= 90", mean["NOCA", 10], mean["NOCA", 10] >= 90)
    worst = all(mean["LogPCA", k] < min(mean[kind, k] for kind in KINDS[1:]) for k in (5, 10))
    text = "; ".join(f"K={k}: " + ", ".join(f"{kind} {mean[kind, k]:.0f}" for kind in KINDS) for k in (5, 10))
    out.claim("logistic PCA is worst", "K=5 and 10", text, worst, "yes")
    above = all(mean["NOCA", k] > mean["PLSA", k] for k in (5, 10))
    out.claim("NOCA above PLSA", "K=5 and 10", text, above, "85/15/92.5/82.5/75 against 67.5/57.5/50/32.5/75")
    parts, prior, _ = best
    table = []
    for k in np.argsort(-prior):
        order = np.argsort(-parts[k])[:7]
        table.append({"prior": float(prior[k]), "authors": [f"{names[j]} {parts[k, j]:.2f}" for j in order]})
    out.numbers["figure_13"] = table
    _loadings(folder / "noisy-or-communities.png", parts, prior, names)
    return out


def _loadings(path: Path, links: np.ndarray, prior: np.ndarray, names: list) -> None:
    """Figure 12: links scaled by the prior of their source."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    scaled = links * prior[:, None]
    figure, ax = plt.subplots(figsize=(9, 1.2 + 0.3 * len(links)), layout="constrained")
    ax.imshow(scaled / scaled.max(), cmap="gray", aspect="auto", vmin=0, vmax=1)
    ax.set_xticks(np.arange(len(names)), [name.split(",")[0] for name in names], rotation=90, fontsize=7)
    ax.set_yticks(np.arange(len(links)), [f"{k}: {p:.3f}" for k, p in enumerate(prior)], fontsize=7)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def shut_off(full: bool, folder: Path) -> Outcome:
    """Figure 12: sources that a random start leaves without links."""
    X, names, _ = citations()
    n_runs = 6 if full else 2
    counts, best = [], None
    for seed in range(n_runs):
        model = quietly(noca(10, seed, init="random"), X)
        counts.append(int((~model.active_).sum()))
        if best is None or model.objective_ > best.objective_:
            best = model
    default = quietly(noca(10, 0), X)
    out = Outcome(
        "noisy-or-shut-off",
        "Figure 12: sources shut off",
        f"K=10, init='random', {n_runs} single starts; disconnected: no link above 0.1 or fewer than 5 rows",
        numbers={"disconnected": counts, "disconnected_default_start": int((~default.active_).sum())},
    )
    text = ", ".join(map(str, counts))
    out.claim("disconnected sources of 10 (median)", ">= 3", text, np.median(counts) >= 3, "4 of 10")
    _loadings(folder / "noisy-or-shut-off.png", best.components_, best.source_prior_, names)
    return out


def matching(full: bool, folder: Path) -> Outcome:
    """Figure 14: weighted cosine of the best L matches with the communities."""
    n_runs = 20 if full else 4
    _, _, gold = citations()
    truth = np.eye(5)[gold].T
    curves = {}
    plain = {}
    for k in (5, 10):
        for kind in KINDS[1:]:
            found = [
                [weighted_cosine_matching(parts, truth, weights, n)["value"] for n in range(1, 6)]
                for parts, weights, _ in runs(kind, k, n_runs)
            ]
            curves[kind, k] = np.mean(found, axis=0)
            plain[f"{kind}, K={k}"] = float(
                np.mean([weighted_cosine_matching(parts, truth)["cosine"] for parts, _, _ in runs(kind, k, n_runs)])
            )
    out = Outcome(
        "noisy-or-matching",
        "Figure 14: weighted cosine with the communities",
        f"{n_runs} runs of one start; LDA averaged over alpha; sum of weights one over all components",
        numbers={"wcos": {f"{kind}, K={k}": value for (kind, k), value in curves.items()}, "mean_cosine": plain},
    )
    for k, lines in ((5, (0, 1)), (10, range(5))):
        ahead = all(curves["NOCA", k][i] > max(curves["LDA", k][i], curves["PLSA", k][i]) for i in lines)
        text = "; ".join(f"{kind} " + " ".join(f"{v:.2f}" for v in curves[kind, k]) for kind in KINDS[1:])
        wanted = "NOCA first at L <= 2" if k == 5 else "NOCA above LDA and PLSA at every L"
        out.claim(f"K={k}", wanted, text, ahead, "leads first" if k == 5 else "improves")
    _lines(folder / "noisy-or-matching.png", curves)
    return out


def _lines(path: Path, curves: dict) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    for (kind, k), values in curves.items():
        axes[k // 10].plot(range(1, 6), values, marker="o", label=kind)
        axes[k // 10].set(title=f"{k} components", xlabel="matches L", ylabel="weighted cosine")
    axes[0].legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def lda_bound(model: LatentDirichletAllocation, X: np.ndarray) -> np.ndarray:
    """Lower bound of log P(tokens of the document) under LDA."""
    gamma = model._unnormalized_transform(X)
    alpha = model.doc_topic_prior_
    logs = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    beta = model.components_ / model.components_.sum(axis=1, keepdims=True)
    value = (X * np.log(np.maximum(np.exp(logs) @ beta, 1e-300))).sum(axis=1)
    k = gamma.shape[1]
    value += gammaln(k * alpha) - k * gammaln(alpha) + ((alpha - 1) * logs).sum(axis=1)
    value -= gammaln(gamma.sum(axis=1)) - gammaln(gamma).sum(axis=1) + ((gamma - 1) * logs).sum(axis=1)
    return value


def plsa_fold_in(model: NMF, X: np.ndarray) -> np.ndarray:
    """log P(tokens) of documents whose mixture is fitted to them: refits on test data."""
    beta = model.components_ / np.maximum(model.components_.sum(axis=1, keepdims=True), 1e-300)
    mix = np.full((len(X), len(beta)), 1.0 / len(beta))
    for _ in range(200):
        mix *= (X / np.maximum(mix @ beta, 1e-300)) @ beta.T
        mix /= mix.sum(axis=1, keepdims=True)
    return (X * np.log(np.maximum(mix @ beta, 1e-300))).sum(axis=1)


def cross_entropy(full: bool, folder: Path) -> Outcome:
    """Table 2: cross-entropy of held-out documents."""
    X, _, _ = citations()
    splits = 3 if full else 2
    rows: dict[str, list[float]] = {}
    spread: dict[str, float] = {}

    def note(name: str, logs: np.ndarray) -> None:
        found = document_cross_entropy(logs)
        rows.setdefault(name, []).append(found["nats"])
        spread[name] = found["sd"]

    for split in range(splits):
        held = np.random.default_rng(split).random(len(X)) < 0.2
        train, test = X[~held], X[held]
        note("independent columns", _independent(train, test))
        for k in (5, 10):
            model = quietly(noca(k, split, n_init=3), train)
            note(f"NOCA bound, K={k}", model.score_samples(test))
            note(f"NOCA exact, K={k}", model.score_samples(test, "exact"))
            if split < 3:
                cut = quietly(noca(k, split, zero_truncated=True), train)
                note(f"NOCA zero-truncated bound, K={k}", cut.score_samples(test))
            note(f"LDA bound, K={k}", lda_bound(lda(k, 0.1, split).fit(train), test))
            note(f"PLSA fold-in, K={k}", plsa_fold_in(plsa(k, split).fit(train), test))
            mixture = quietly(BernoulliMixture(k, n_init=3, random_state=split), train)
            note(f"Bernoulli mixture, K={k}", mixture.score_samples(test))
    mean = {name: float(np.mean(values)) for name, values in rows.items()}
    out = Outcome(
        "noisy-or-cross-entropy",
        "Table 2: cross-entropy of held-out documents, nats",
        f"{splits} random splits 80/20; NOCA best of 3 starts; LDA alpha 0.1; values of bag models are of token sequences",
        numbers={
            "nats": mean,
            "sd_over_documents": spread,
            "sd_over_splits": {name: float(np.std(values)) for name, values in rows.items()},
        },
    )
    for k, limit in ((5, 0.05), (10, 0.1)):
        bound, other, floor = mean[f"NOCA bound, K={k}"], mean[f"LDA bound, K={k}"], mean["independent columns"]
        out.claim(
            f"K={k}: NOCA bound below LDA bound",
            ">= 0.8 nats",
            other - bound,
            other - bound >= 0.8,
            "6.5 against 9.0, 8.4",
        )
        out.claim(f"K={k}: NOCA bound below independent columns", ">= 0.8 nats", floor - bound, floor - bound >= 0.8)
        lowest = mean[f"PLSA fold-in, K={k}"] == min(v for name, v in mean.items() if name.endswith(f"K={k}"))
        out.claim(f"K={k}: PLSA fold-in is lowest", "yes", mean[f"PLSA fold-in, K={k}"], lowest, "6.1, 4.9")
        loose = bound - mean[f"NOCA exact, K={k}"]
        out.claim(f"K={k}: bound less exact", f"<= {limit}", loose, loose <= limit)
    return out


def _independent(train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """log P(row) with independent columns."""
    on = (train.sum(axis=0) + 0.5) / (len(train) + 1)
    return test @ np.log(on) + (1 - test) @ np.log1p(-on)
