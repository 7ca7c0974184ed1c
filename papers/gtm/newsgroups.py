"""Figure 1, Table 1 and the comparisons: three newsgroups on a map."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.neighbors import KNeighborsClassifier

from latentbits import BernoulliMixture, BinaryGTM, LatentTrait
from papers.common import Outcome, quietly
from papers.gtm.data import GROUPS, posts, splits

N_TRAIN = 2000
# Words of Table 1 by which a node is recognised.
THEMES = {
    "graphics": (0, ("graphics", "image", "images", "program", "computer", "file", "files")),
    "atheism, belief": (1, ("god", "religion", "atheism", "atheists")),
    "atheism, morals": (1, ("moral", "morality", "objective")),
    "guns": (2, ("gun", "guns", "weapons", "firearms")),
}


def ref(**options: Any) -> BinaryGTM:
    """The reference configuration: 10 × 10 nodes, 5 × 5 bumps, 20 passes of five damped Newton steps."""
    fixed = {"basis_shape": (5, 5), "ridge": 0.3, "ridge_bias": 0.003, "solver": "newton", "n_inner": 5}
    return BinaryGTM(**{"latent_shape": (10, 10), **fixed, "max_iter": 20, "tol": 0.0, "accelerate": False, **options})


def line(**options: Any) -> BinaryGTM:
    """The same with 100 nodes on a line and 20 bumps."""
    return ref(latent_shape=100, basis_shape=20, **options)


def purity(model: BinaryGTM, X: np.ndarray, groups: np.ndarray) -> float:
    """Share of rows that belong to the largest group of their node."""
    counts = np.zeros((len(model.weights_), len(GROUPS)))
    np.add.at(counts, (model.predict(X), groups), 1)
    return float(counts.max(axis=1).sum() / len(X))


def neighbours(train: np.ndarray, y: np.ndarray, test: np.ndarray, z: np.ndarray, k: int = 15) -> float:
    """Accuracy of the k nearest neighbours."""
    return float(KNeighborsClassifier(k).fit(train, y).score(test, z))


def _told(values: list[float]) -> dict[str, float]:
    """Mean and standard deviation."""
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}


def grouping(full: bool, folder: Path) -> Outcome:
    """X1 and X2: groups of posts on the map, and how sure places are."""
    n_parts, n_splits, n_seeds = (10, 10, 10) if full else (2, 1, 2)
    out = Outcome(
        "gtm-grouping",
        "Figure 1: three newsgroups on a map of 100 nodes",
        f"3000 posts of {', '.join(GROUPS)}, 100 words by information gain (IG) or frequency (DF); 10 x 10 nodes, "
        f"5 x 5 bumps, ridge 0.3, 20 passes; {n_parts} subsamples of 90 %, {n_splits} splits 2000 / 1000, "
        f"{n_seeds} random starts",
    )
    for vocabulary, least, near in (("IG", 0.90, 0.90), ("DF", 0.76, 0.73)):
        X, groups, words = posts(vocabulary)
        whole = quietly(ref(), X)
        parts = []
        for number in range(n_parts):
            keep = splits(len(X), 9 * len(X) // 10, 100 + number)[0]
            parts.append(purity(quietly(ref(), X[keep]), X[keep], groups[keep]))
        labels, places = [], []
        for number in range(n_splits):
            train, test = splits(len(X), N_TRAIN, number)
            model = quietly(ref(), X[train])
            labels.append(float((model.class_map(X[train], groups[train]).predict(X[test]) == groups[test]).mean()))
            places.append(neighbours(model.transform(X[train]), groups[train], model.transform(X[test]), groups[test]))
        found = {
            "purity": purity(whole, X, groups),
            "purity, subsamples": _told(parts),
            "node labels, held out": _told(labels),
            "15-NN on the map": _told(places),
            "empty rows": int((X.sum(axis=1) == 0).sum()),
            "density": float(X.mean()),
        }
        out.claim(
            f"{vocabulary}: purity of the modes", f">= {least}", found["purity"], found["purity"] >= least, "seen"
        )
        mean = found["15-NN on the map"]["mean"]
        out.claim(f"{vocabulary}: 15 nearest neighbours on the map, held out", f">= {near}", mean, mean >= near)
        if vocabulary == "IG":
            mean = found["node labels, held out"]["mean"]
            out.claim("IG: node labels, held out", ">= 0.90", mean, mean >= 0.90)
            seeds = [purity(quietly(ref(init="random", random_state=s), X), X, groups) for s in range(n_seeds)]
            found["purity, random starts"] = _told(seeds)
            out.claim("IG: purity, random starts, mean", ">= 0.88", float(np.mean(seeds)), np.mean(seeds) >= 0.88)
            found["purity, line"] = purity(quietly(line(), X), X, groups)
            out.claim("IG: purity on a line", ">= 0.88", found["purity, line"], found["purity, line"] >= 0.88)
            found.update(_sureness(out, whole, X))
            _figure(folder / "gtm-grouping.png", whole, X, groups, words)
        out.numbers[vocabulary] = found
    return out


def _sureness(out: Outcome, model: BinaryGTM, X: np.ndarray) -> dict[str, float]:
    """X2: how far the posterior of a row concentrates."""
    told = model.posterior_summary(X)
    points, prior = model.latent_points_, model.weights_
    spread = float((prior @ points**2 - (prior @ points) ** 2).sum())
    ratio = float(np.trace(told.covariance, axis1=1, axis2=2).mean() / spread)
    shares = -np.sort(-model.predict_proba(X), axis=1)
    nodes = float(((np.cumsum(shares, axis=1) < 0.9).sum(axis=1) + 1).mean())
    largest = float(told.largest.mean())
    out.claim("IG: posterior / prior variance on the map", "<= 0.15", ratio, ratio <= 0.15, "concentrated")
    out.claim("IG: mean of the largest responsibility", ">= 0.40", largest, largest >= 0.40)
    out.claim("IG: nodes that hold 90 % of a row", "<= 10", nodes, nodes <= 10)
    several = float((told.n_modes > 1).mean())
    return {"variance ratio": ratio, "largest responsibility": largest, "nodes for 90 %": nodes, "two places": several}


def _figure(path: Path, model: BinaryGTM, X: np.ndarray, groups: np.ndarray, words: list[str]) -> None:
    """The map with its regions' words, and the three groups' shares of the nodes (Figure 1)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from latentbits.plots import latent_map

    model.feature_names_in_ = np.array(words, dtype=object)
    figure, axes = plt.subplots(2, 2, figsize=(12, 10), layout="constrained")
    latent_map(model, X, [GROUPS[g] for g in groups], words=10, ax=axes[0, 0])
    shares = model.class_map(X, groups)
    for g, ax in enumerate(axes.ravel()[1:]):
        mean = (shares.mass[:, g] / (groups == g).sum()).reshape(model.latent_shape_)
        image = ax.imshow(mean.T, origin="lower", cmap="viridis")
        ax.set(title=f"mean responsibility, {GROUPS[g]}", xticks=[], yticks=[])
        figure.colorbar(image, ax=ax, shrink=0.7)
    figure.savefig(path, dpi=80)
    plt.close(figure)
    del model.feature_names_in_


def themes(model: BinaryGTM, X: np.ndarray, groups: np.ndarray, words: list[str], rank: str) -> dict[str, list[int]]:
    """Nodes of Table 1: with most of their rows from the group, and two of the theme's words among the first five."""
    shares = model.class_map(X, groups)
    out: dict[str, list[int]] = {}
    for name, (group, known) in THEMES.items():
        nodes = np.flatnonzero((shares.share[:, group] > 0.6) & (shares.mass.sum(axis=1) >= 20))
        out[name] = []
        for k in nodes:
            top = [words[row["feature"]] for row in model.top_features([k], 5, rank)]
            if len(set(top) & set(known)) >= 2:
                out[name].append(int(k))
    return out


def holds(found: dict[str, list[int]]) -> bool:
    """Whether every theme has its node, and the two of atheism different ones."""
    belief, morals = set(found["atheism, belief"]), set(found["atheism, morals"])
    return all(found.values()) and len(belief | morals) > 1


def words(full: bool, folder: Path) -> Outcome:
    """X3: Table 1."""
    n_parts, n_seeds = (10, 10) if full else (2, 2)
    out = Outcome(
        "gtm-words",
        "Table 1: words of the nodes, two modes of alt.atheism",
        f"IG words, reference map; all posts, {n_parts} subsamples of 90 %, {n_seeds} random starts; five words by lift",
    )
    X, groups, names = posts("IG")
    runs, by_probability = [], []
    for number in range(n_parts + 1):
        keep = np.arange(len(X)) if number == 0 else splits(len(X), 9 * len(X) // 10, 100 + number - 1)[0]
        model = quietly(ref(), X[keep])
        runs.append(holds(themes(model, X[keep], groups[keep], names, "lift")))
        by_probability.append(holds(themes(model, X[keep], groups[keep], names, "probability")))
        if number == 0:
            table = {
                name: {f"node {k}": [names[row["feature"]] for row in model.top_features([k], 5)] for k in nodes}
                for name, nodes in themes(model, X, groups, names, "lift").items()
            }
    seeds = [
        holds(themes(quietly(ref(init="random", random_state=s), X), X, groups, names, "lift")) for s in range(n_seeds)
    ]
    told = f"{sum(runs)} of {len(runs)}"
    out.claim("pca starts: all four themes have their node", "all", told, all(runs), "four columns")
    out.claim("random starts: the same", "all", f"{sum(seeds)} of {len(seeds)}", all(seeds))
    out.numbers = {"by probability": f"{sum(by_probability)} of {len(by_probability)}", "words": table}
    return out


def _plane(name: str, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Two coordinates of the rows by another method."""
    if name == "GTM":
        model = quietly(ref(), train)
    elif name == "Tipping":
        model = quietly(LatentTrait(2, bound="jaakkola", n_inner=2, random_state=0), train)
    else:
        model = TruncatedSVD(2, random_state=0) if name == "LSA" else PCA(2, random_state=0)
        model.fit(train)
    return model.transform(train), model.transform(test), model


def others(full: bool, folder: Path) -> Outcome:
    """X4: latent semantic analysis and Tipping's model beside the map."""
    n_splits = 5 if full else 1
    out = Outcome(
        "gtm-others",
        "LSA, principal components and the latent trait model beside the map",
        f"15 nearest neighbours in two dimensions; {n_splits} splits 2000 / 1000",
    )
    pictures = {}
    for vocabulary in ("IG", "DF"):
        X, groups, _ = posts(vocabulary)
        accuracy: dict[str, list[float]] = {}
        for number in range(n_splits):
            train, test = splits(len(X), N_TRAIN, number)
            for name in ("GTM", "LSA", "PCA", "Tipping"):
                a, b, model = _plane(name, X[train], X[test])
                accuracy.setdefault(name, []).append(neighbours(a, groups[train], b, groups[test]))
                if number == 0:
                    pictures[vocabulary, name] = (b, groups[test])
                if name == "LSA":
                    first = a
                if name == "Tipping" and number == 0:
                    pair = CCA(2).fit(first, a).transform(first, a)
                    alike = [abs(float(np.corrcoef(pair[0][:, i], pair[1][:, i])[0, 1])) for i in range(2)]
                    path = np.array(model.history_[int(np.argmax([r["objective"] for r in model.restarts_]))])
                    falls = float(np.diff(path).min(initial=0.0) / abs(path[-1]))
        mean = {name: float(np.mean(values)) for name, values in accuracy.items()}
        out.numbers[vocabulary] = {
            "15-NN": {name: _told(values) for name, values in accuracy.items()},
            "canonical correlations of LSA and Tipping": alike,
        }
        if vocabulary == "IG":
            gain = mean["GTM"] - mean["LSA"]
            out.claim("IG: map above LSA by", ">= 0.08", gain, gain >= 0.08, "LSA fails")
        else:
            gain = mean["GTM"] - mean["Tipping"]
            out.claim("DF: map above Tipping's model by", ">= 0.12", gain, gain >= 0.12, "Tipping's model fails")
        out.claim(f"{vocabulary}: Tipping's bound never falls (relative)", ">= -1e-9", falls, falls >= -1e-9)
    _planes(folder / "gtm-others.png", pictures)
    return out


def _planes(path: Path, pictures: dict[tuple[str, str], Any]) -> None:
    """Held-out posts in the planes of all methods."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(14, 7), layout="constrained")
    for ax, ((vocabulary, name), (places, groups)) in zip(axes.ravel(), pictures.items()):
        for g, (colour, shape) in enumerate((("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"))):
            mine = groups == g
            ax.scatter(*places[mine].T, s=7, color=colour, marker=shape, alpha=0.6, linewidths=0, label=GROUPS[g])
        ax.set(title=f"{name}, {vocabulary}", xticks=[], yticks=[])
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=80)
    plt.close(figure)


class _Streamed:
    """The reference map met as a stream: blocks of 200 rows, five times over."""

    def fit(self, X: np.ndarray) -> BinaryGTM:
        model = ref(block_rows=200, n_inner=1)
        for _ in range(5):
            model.partial_fit(X)
        return model


def density(full: bool, folder: Path) -> Outcome:
    """X5: held-out likelihood beside other models."""
    n_splits = 5 if full else 1
    out = Outcome(
        "gtm-density",
        "Held-out log-likelihood per post, nats",
        f"{n_splits} splits 2000 / 1000; mixtures with the default smoothing, best of 3; Tipping's model with 2 traits by "
        "quadrature",
    )
    models: dict[str, Any] = {
        "GTM": lambda: ref(),
        "GTM, uniform prior": lambda: ref(prior="uniform"),
        "GTM, bound": lambda: ref(solver="bound"),
        "GTM, gradient": lambda: ref(solver="gradient"),
        "GTM, stream": _Streamed,
        "Tipping": lambda: LatentTrait(2, bound="jaakkola", n_inner=2, random_state=0),
        **{f"mixture {k}": lambda k=k: BernoulliMixture(k, n_init=3, random_state=0) for k in (3, 10, 100)},
        "independent": lambda: BernoulliMixture(1, n_init=1),
    }
    for vocabulary in ("IG", "DF"):
        X, _, _ = posts(vocabulary)
        scores: dict[str, list[float]] = {name: [] for name in models}
        for number in range(n_splits):
            train, test = splits(len(X), N_TRAIN, number)
            for name, make in models.items():
                scores[name].append(quietly(make(), X[train]).score(X[test]))
        mean = {name: float(np.mean(values)) for name, values in scores.items()}
        out.numbers[vocabulary] = {name: _told(values) for name, values in scores.items()}
        if vocabulary == "IG":
            out.claim("IG: held-out log-likelihood", ">= -16.5", mean["GTM"], mean["GTM"] >= -16.5)
            gain = mean["GTM"] - mean["Tipping"]
            out.claim("IG: above Tipping's model by", ">= 1.2", gain, gain >= 1.2)
            for name, most in (("GTM, bound", 0.1), ("GTM, stream", 0.15)):
                loss = mean["GTM"] - mean[name]
                out.claim(f"IG: {name} below by", f"<= {most}", loss, loss <= most)
        for name in ("GTM, uniform prior", "mixture 3", "mixture 10", "mixture 100"):
            gain = mean["GTM"] - mean[name]
            out.claim(f"{vocabulary}: above {name} by", "> 0", gain, gain > 0)
    return out
