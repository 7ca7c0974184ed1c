"""Tables 1 and 2: topics and a phantom in newsgroup posts, and the words that posts leave out."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

from latentbits.errors import NoPhantomWarning
from papers.aspect.data import GROUPS, posts
from papers.aspect.likelihood import aspect
from papers.common import Outcome, quietly

K = 5
# The paper's topics in their words; a star stands for any ending.
TOPICS = (
    "god christian* jesus believ* christ bible faith church sin",
    "key encrypt* clipper chip secur* public govern* escrow",
    "space orbit earth moon mission nasa launch",
    "medic* doctor disease patient treat*",
)


def hits(words: list[str], topic: str) -> int:
    """How many words belong to a topic."""
    patterns = [re.compile("^" + word.replace("*", ".*") + "$") for word in topic.split()]
    return sum(any(pattern.match(word) for pattern in patterns) for word in words)


def one_draw(seed: int) -> dict:
    """Best of five fits to one draw of posts."""
    X, groups, words = posts(seed)
    model = quietly(aspect(K, 5, seed), X)
    causes = model.cause_table()
    phantoms = [k for k, row in enumerate(causes) if row["lift"] < 0.1]
    record = {
        "seed": seed,
        "lifts": sorted(row["lift"] for row in causes),
        "n_phantoms": len(phantoms),
        "model": model,
        "X": X,
        "groups": groups,
        "words": words,
    }
    content = [k for k in range(K) if k not in phantoms]
    if len(content) != 4:
        return record
    S, A = model.transform(X), model.components_
    inside = np.array([[S[groups == g][:, k].sum() for k in content] for g in range(4)])
    rows, columns = linear_sum_assignment(-inside)
    best = S[:, content].argmax(axis=1)
    named = (X.sum(axis=1) > 0) & (S[:, content].sum(axis=1) > 0)
    top = [[words[j] for j in np.argsort(-A[k], kind="stable")[:10]] for k in content]
    covered = sum(max(hits(words_of, topic) for words_of in top) >= 3 for topic in TOPICS)
    record.update(
        largest=float(A[phantoms[0]].max()),
        one_to_one=bool(
            (inside.argmax(axis=1) == columns[np.argsort(rows)]).all() and len(set(inside.argmax(axis=1))) == 4
        ),
        agreement=float((columns[groups[named]] == best[named]).mean()),
        shared_words=int(((A[content] >= 0.5).sum(axis=0) >= 2).sum()),
        covered=covered,
        top=top,
        phantom=phantoms[0],
    )
    return record


def topics(full: bool, folder: Path) -> Outcome:
    """E5: four topics and one phantom."""
    draws = [one_draw(seed) for seed in range(4 if full else 2)]
    out = Outcome(
        "aspect-topics",
        "E5, Table 1: topics of newsgroup posts",
        f"{', '.join(GROUPS)}, 100 posts each, 300 words by information gain, K={K}, ML, best of 5; {len(draws)} draws of "
        "posts, no stems",
    )
    for draw in draws:
        where = f"draw {draw['seed']}"
        n, least = draw["n_phantoms"], draw["lifts"][0]
        out.claim(f"{where}: causes of lift < 0.1", "one", f"{n}, least lift {least:.3f}", n == 1, "one phantom")
        if "covered" not in draw:
            continue
        out.claim(f"{where}: largest a of the phantom", "<= 0.25", draw["largest"], draw["largest"] <= 0.25, "0.01")
        out.claim(
            f"{where}: content causes map one-to-one to groups", "yes", str(draw["one_to_one"]), draw["one_to_one"]
        )
        out.claim(f"{where}: arg-max content cause = group", ">= 85%", draw["agreement"], draw["agreement"] >= 0.85)
        out.claim(
            f"{where}: words with a >= 0.5 in two causes", ">= 1", str(draw["shared_words"]), draw["shared_words"] >= 1,
            "polysemy",
        )  # fmt: skip
        out.claim(f"{where}: topics covered by a top-10 list", ">= 3 of 4", str(draw["covered"]), draw["covered"] >= 3)
    hide = ("model", "X", "groups", "words")
    out.numbers = {"draws": [{key: value for key, value in draw.items() if key not in hide} for draw in draws]}
    _lists(folder / "aspect-topics.png", draws[0])
    return out


def owners(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The group in which each word is most frequent."""
    return np.array([X[groups == g].mean(axis=0) for g in range(4)]).argmax(axis=0)


def expansion(full: bool, folder: Path) -> Outcome:
    """E6: absent words that the phantom hides belong to the topic of the post; deleted words are found again."""
    n_draws = 4 if full else 1
    out = Outcome(
        "aspect-expansion",
        "E6, Table 2: words that posts leave out",
        f"fits of E5 ({n_draws} draws); posts with 3 words or more; deletion: one word less in every post with 5 or more, "
        "fit anew",
    )
    records = []
    for seed in range(n_draws):
        draw = one_draw(seed)
        if "covered" not in draw:
            out.claim(f"draw {seed}: one phantom", "yes", "no", False)
            continue
        record = {"seed": seed, **_precision(draw), **_deletion(draw, seed)}
        records.append(record)
        where = f"draw {seed}"
        out.claim(
            f"{where}: top-5 words of the post's group", ">= 65%", record["precision"], record["precision"] >= 0.65
        )
        out.claim(f"{where}: median shared of top 8 by u and by P", ">= 5", record["shared"], record["shared"] >= 5)
        out.claim(f"{where}: within-row AUC of u, deleted words", ">= 0.80", record["auc_u"], record["auc_u"] >= 0.80)
        ahead = record["auc_u"] - record["auc_frequency"]
        out.claim(f"{where}: AUC above that of frequency by", ">= 0.10", ahead, ahead >= 0.10)
    out.numbers = {"draws": records}
    _example(folder / "aspect-expansion.png", one_draw(0))
    return out


def _precision(draw: dict) -> dict:
    """Share of the top absent words that belong to the group of the post, and agreement of two rankings."""
    model, X, groups = draw["model"], draw["X"], draw["groups"]
    rows = np.flatnonzero(X.sum(axis=1) >= 3)
    owner = owners(X, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoPhantomWarning)
        lists = {by: model.expand(X, rows, top=8, by=by) for by in ("phantom", "probability")}
    by_u, by_p = (_by_row(records) for records in lists.values())
    right = [owner[j] == groups[i] for i in rows for j in by_u[i][:5]]
    shared = [len(set(by_u[i]) & set(by_p[i])) for i in rows]
    return {"precision": float(np.mean(right)), "shared": float(np.median(shared)), "n_rows": len(rows)}


def _by_row(records: list[dict]) -> dict[int, list[int]]:
    """Columns listed for every row, in order."""
    out: dict[int, list[int]] = {}
    for record in records:
        out.setdefault(record["row"], []).append(record["feature"])
    return out


def _deletion(draw: dict, seed: int) -> dict:
    """Delete one word of every longer post, fit anew, and see how high it ranks among the absent words."""
    X = draw["X"].copy()
    rng = np.random.default_rng(100 + seed)
    rows = np.flatnonzero(X.sum(axis=1) >= 5)
    gone = np.array([rng.choice(np.flatnonzero(X[i])) for i in rows])
    X[rows, gone] = 0.0
    model = quietly(aspect(K, 5, seed), X)
    if not model._model.phantoms:
        return {"n_deleted": len(rows), "auc_u": np.nan, "auc_frequency": np.nan}
    with warnings.catch_warnings():  # posts of few words make the phantom look like a profile of empty rows
        warnings.simplefilter("ignore", NoPhantomWarning)
        zeros, P = model.missing_vs_off(X, rows), model.reconstruct(X)
    frequency = X.mean(axis=0)
    values: dict[str, list[float]] = {
        "auc_u": [],
        "auc_p": [],
        "auc_frequency": [],
        "recall_u": [],
        "recall_frequency": [],
    }
    for i, j in zip(rows, gone):
        mine = zeros.row == i
        columns = zeros.column[mine]
        target = columns == j
        for name, score in (("u", zeros.phantom[mine]), ("p", P[i, columns]), ("frequency", frequency[columns])):
            values[f"auc_{name}"].append(roc_auc_score(target, score))
            if name != "p":
                rank = (score > score[target][0]).sum()
                values[f"recall_{name}"].append(float(rank < 10))
    return {"n_deleted": len(rows), **{name: float(np.mean(v)) for name, v in values.items()}}


def _lists(path: Path, draw: dict) -> None:
    """The causes as word lists."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, K, figsize=(2.2 * K, 3), layout="constrained")
    names = draw["model"].component_names_
    for k, ax in enumerate(axes):
        best = np.argsort(-draw["model"].components_[k], kind="stable")[:10][::-1]
        ax.barh([draw["words"][j] for j in best], draw["model"].components_[k][best], color="0.6")
        ax.set(xlim=(0, 1), title=f"{names[k]} ({draw['model'].component_kinds_[k]})")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _example(path: Path, draw: dict) -> None:
    """Present words and top absent words of three posts."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    X, words, model = draw["X"], draw["words"], draw["model"]
    rows = [int(np.flatnonzero((X.sum(axis=1) >= 4) & (draw["groups"] == g))[0]) for g in range(4)]
    figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
    for ax, i in zip(axes, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoPhantomWarning)
            found = model.expand(X, [i], top=8)[::-1]
        ax.barh([words[r["feature"]] for r in found], [r["phantom"] for r in found], color="0.6")
        present = ", ".join(words[j] for j in np.flatnonzero(X[i])[:6])
        ax.set(xlim=(0, 1), xlabel="u", title=f"{GROUPS[draw['groups'][i]]}\nhas: {present}")
        ax.title.set_fontsize(8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
