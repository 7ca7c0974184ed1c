"""Table 1, Figure 1, Tables 2 and 3: newsgroup posts as weights of words."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from latentbits import PLSA, BernoulliGaussMixture, BernoulliGaussSelector, MixtureOfUnigrams
from latentbits.datasets import fetch
from latentbits.metrics import clustering_accuracy
from papers.common import Outcome, quietly

Q = 20
CLOSE = (
    ("comp.os.ms-windows.misc", "comp.graphics"),
    ("talk.politics.mideast", "talk.politics.misc"),
    ("rec.sport.baseball", "rec.sport.hockey"),
    ("talk.religion.misc", "soc.religion.christian"),
)
UNRELATED = (
    ("comp.os.ms-windows.misc", "rec.autos"),
    ("comp.sys.mac.hardware", "alt.atheism"),
    ("alt.atheism", "rec.motorcycles"),
    ("rec.sport.baseball", "misc.forsale"),
)


@cache
def posts() -> tuple[list[str], np.ndarray]:
    """Bodies of all posts, and their groups."""
    import pyarrow.parquet as pq

    table = pq.read_table(fetch("newsgroups"), columns=["group", "text"])
    return table["text"].to_pylist(), np.array(table["group"].to_pylist())


def topics(full: bool, folder: Path) -> Outcome:
    """Table 1: twenty newsgroups without their labels."""
    n_splits = 5 if full else 1
    out = Outcome(
        "bernoulli-gauss-topics",
        "Table 1: clustering of twenty newsgroups",
        f"{n_splits} splits of 4000 / 4000 posts, 4000 words, tf-idf of unit length, 20 topics, 20 keywords; accuracy on "
        "test posts by the best assignment",
    )
    texts, groups = posts()
    codes = np.unique(groups, return_inverse=True)[1]
    found: dict[str, list[float]] = {}

    def note(name: str, labels: Any, truth: Any) -> None:
        found.setdefault(name, []).append(float(clustering_accuracy(truth, labels)))

    for split in range(n_splits):
        order = np.random.default_rng(split).permutation(len(texts))
        train, test = order[:4000], order[4000:8000]
        counter = CountVectorizer(stop_words="english", max_features=4000)
        A = counter.fit_transform([texts[i] for i in train]).astype(float)
        B = counter.transform([texts[i] for i in test]).astype(float)
        weigh = TfidfTransformer().fit(A)
        X, Y, truth = weigh.transform(A), weigh.transform(B), codes[test]
        for name, q in (("LBG", Q), ("LBG, every word a keyword", 4000)):
            note(name, quietly(BernoulliGaussMixture(20, n_keywords=q, random_state=split), X).predict(Y), truth)
        note("k-means", KMeans(20, n_init=10, random_state=split).fit(X).predict(Y), truth)
        note(
            "unigrams, random start",
            quietly(MixtureOfUnigrams(20, init="random", random_state=split), A).predict(B),
            truth,
        )
        note("unigrams", quietly(MixtureOfUnigrams(20, random_state=split), A).predict(B), truth)
        for b in (1.0, 0.8):
            model = quietly(PLSA(20, temperature=b, n_init=2, max_iter=100, random_state=split), A)
            note(f"PLSA, temperature {b:g}", model.transform(B).argmax(axis=1), truth)
        if split < 2:
            lda = LatentDirichletAllocation(20, max_iter=20, random_state=split).fit(A)
            note("LDA", lda.transform(B).argmax(axis=1), truth)
            literal = BernoulliGaussMixture(20, n_keywords=Q, keyword_update="paper", init="random", smoothing=0.0,
                                            value_smoothing=0.0, random_state=split)  # fmt: skip
            note("LBG, the paper's rules", quietly(literal, X).predict(Y), truth)
    mean = {name: float(np.mean(values)) for name, values in found.items()}
    least = min(found["LBG"])
    out.claim("AC-1: LBG, mean", ">= 0.31", mean["LBG"], mean["LBG"] >= 0.31, "0.28")
    out.claim("AC-1: LBG, worst split", ">= 0.28", least, least >= 0.28)
    gain = mean["LBG"] - mean["LBG, every word a keyword"]
    out.claim("AC-2: 20 keywords above all words by", ">= 0.05", gain, gain >= 0.05)
    gain = mean["unigrams"] - mean["LBG"]
    out.claim(
        "AC-3: smoothed unigrams are on a par or better (paper: 13 points worse)",
        ">= -0.03",
        gain,
        gain >= -0.03,
        "-0.13",
    )
    out.numbers = {"mean": mean, "splits": found}
    return out


def _pair(pair: tuple[str, str], n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Posts of two groups, ``n`` of each."""
    texts, groups = posts()
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.permutation(np.flatnonzero(groups == group))[:n] for group in pair])
    return [texts[i] for i in chosen], np.repeat([0, 1], n)


def filters(full: bool, folder: Path) -> Outcome:
    """Figure 1: a linear classifier behind filters."""
    n_splits, shares = (4, (0.05, 0.1, 0.2, 0.3)) if full else (1, (0.1, 0.3))
    out = Outcome(
        "bernoulli-gauss-filters",
        "Figure 1: support vector machines on filtered words",
        f"1000 + 1000 posts, 4000 words, tf-idf; linear machines on {', '.join(f'{s:.0%}' for s in shares)} of the "
        f"posts, {n_splits} splits; filter: 2 topics, 20 keywords, threshold 0.01, on training rows; LDA: shares "
        "of 20 topics",
    )
    curves: dict[str, Any] = {}
    for name, pair in (("unrelated", UNRELATED[3]), ("close", CLOSE[0])):
        texts, y = _pair(pair, 1000, 0)
        counts = CountVectorizer(stop_words="english", max_features=4000).fit_transform(texts).astype(float)
        by_method: dict[str, list[list[float]]] = {"raw": [], "LBG": [], "LDA": []}
        for share in shares:
            scores: dict[str, list[float]] = {method: [] for method in by_method}
            for split in range(n_splits):
                order = np.random.default_rng(100 + split).permutation(len(y))
                train, test = np.split(order, [int(share * len(y))])
                weigh = TfidfTransformer().fit(counts[train])
                A, B = weigh.transform(counts[train]), weigh.transform(counts[test])
                scores["raw"].append(LinearSVC(C=1.0, random_state=0).fit(A, y[train]).score(B, y[test]))
                keep = quietly(
                    BernoulliGaussSelector(BernoulliGaussMixture(2, n_keywords=Q, random_state=0), threshold=0.01), A
                )
                a, b = normalize(keep.transform(A)), normalize(keep.transform(B))
                scores["LBG"].append(LinearSVC(C=1.0, random_state=0).fit(a, y[train]).score(b, y[test]))
                lda = LatentDirichletAllocation(20, max_iter=10, random_state=0).fit(counts[train])
                machine = LinearSVC(C=1.0, random_state=0).fit(lda.transform(counts[train]), y[train])
                scores["LDA"].append(machine.score(lda.transform(counts[test]), y[test]))
            for method, values in scores.items():
                by_method[method].append(float(np.mean(values)))
        curves[name] = by_method
        worst = float(np.min(np.array(by_method["LBG"]) - by_method["raw"]))
        out.claim(f"AC-4: {name}: filtered minus raw, worst point", ">= -0.03", worst, worst >= -0.03)
        worst = float(np.min(np.array(by_method["LBG"]) - by_method["LDA"]))
        out.claim(f"AC-4: {name}: filtered minus LDA, worst point", "> 0", worst, worst > 0)
    out.numbers = {"shares": shares, **curves}
    _curves(folder / "bernoulli-gauss-filters.png", shares, curves)
    return out


def _curves(path: Path, shares: Any, curves: dict[str, Any]) -> None:
    """Accuracy against the share of training posts."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for ax, (name, by_method) in zip(axes, curves.items()):
        for (method, values), style in zip(by_method.items(), ("o-", "s--", "^:")):
            ax.plot(shares, values, style, label=method)
        ax.set(title=f"{name} groups", xlabel="share of training posts", ylabel="accuracy")
        ax.legend()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def filtered_clusters(full: bool, folder: Path) -> Outcome:
    """Tables 2 and 3: k-means on filtered words."""
    n_draws = 6 if full else 1
    out = Outcome(
        "bernoulli-gauss-clusters",
        "Tables 2 and 3: k-means on filtered words",
        f"400 + 400 posts, 4000 words, tf-idf, {n_draws} draws; filter: 2 topics, 20 keywords, threshold 0.02; rows scaled "
        "again",
    )
    kept, result = [], {}
    for kind, pairs in (("close", CLOSE), ("unrelated", UNRELATED)):
        for pair in pairs:
            by_filter: dict[str, list[float]] = {"LBG": [], "all": []}
            for draw in range(n_draws):
                texts, y = _pair(pair, 400, draw)
                X = TfidfVectorizer(stop_words="english", max_features=4000).fit_transform(texts)
                keep = quietly(BernoulliGaussSelector(BernoulliGaussMixture(2, n_keywords=Q, random_state=draw)), X)
                kept.append(float(keep.get_support().mean()))
                for name, table in (("LBG", normalize(keep.transform(X))), ("all", X)):
                    labels = KMeans(2, n_init=10, random_state=draw).fit_predict(table)
                    by_filter[name].append(float(clustering_accuracy(y, labels)))
            result[" / ".join(pair)] = {
                "kind": kind,
                **{name: float(np.mean(values)) for name, values in by_filter.items()},
            }
    for pair, told in result.items():
        if told["kind"] == "unrelated":
            out.claim(f"AC-5: {pair}", ">= 0.92", told["LBG"], told["LBG"] >= 0.92, "0.93-0.97")
    close = float(np.mean([told["LBG"] for told in result.values() if told["kind"] == "close"]))
    out.claim("AC-5: mean of the close pairs", ">= 0.70", close, close >= 0.70, "0.62")
    most = float(np.mean(kept))
    out.claim("AC-5: share of words kept", "<= 0.10", most, most <= 0.10)
    out.numbers = {"pairs": result, "kept": most}
    return out
