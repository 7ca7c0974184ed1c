"""Whole fits with the defaults of both sides, beside what a user would run instead, and what each is worth.

    python -m benchmarks.rivals [NAME ...]    prints seconds and quality of both sides

Qualities are measured alike on both sides, larger is better; see the line of each.  Peers come from scikit-learn and the
extra ``bench``.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.whole_fits import sparse
from latentbits import (
    PLSA,
    AspectBernoulli,
    BernoulliGaussRecommender,
    BernoulliMixture,
    BinaryGTM,
    DPBernoulliMixture,
    LogisticPCA,
    NoisyOrComponentAnalysis,
)
from latentbits.datasets import fetch, load_debd
from latentbits.evaluation.adapter import Adapted

JOBS = os.cpu_count()


class Side(NamedTuple):
    """One side of a comparison."""

    seconds: float
    quality: float


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and what it returned."""
    began = time.perf_counter()
    value = call()
    return time.perf_counter() - began, value


def mixture_step_mix() -> dict[str, Side]:
    """Twenty classes of plants; mean log-likelihood of rows that were not fitted."""
    from stepmix.stepmix import StepMix

    splits = load_debd("plants")
    train, test = splits["train"].astype(float), splits["test"].astype(float)
    BernoulliMixture(2, n_init=1, max_iter=3, random_state=0).fit(train[:200])
    ours, model = timed(lambda: BernoulliMixture(20, random_state=0, n_jobs=JOBS).fit(train))
    peer = StepMix(20, measurement="binary", random_state=0, progress_bar=0)
    theirs, _ = timed(lambda: peer.fit(train))
    return {"ours": Side(ours, float(model.score(test))), "theirs": Side(theirs, float(peer.score(test)))}


def hidden_cells(X: np.ndarray, ours: Any, theirs: Any) -> dict[str, Side]:
    """Fits of a table with a tenth of its cells hidden; mean log-probability of what they hold."""
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    seen, out = np.where(hidden, np.nan, X), {}
    ours.fit(seen[:200])  # compiled before
    for side, model in (("ours", ours), ("theirs", theirs)):
        seconds, chances = timed(lambda model=model: np.asarray(model.fit(seen).reconstruct(seen))[hidden])
        chances = np.clip(chances, 1e-3, 1 - 1e-3)
        out[side] = Side(seconds, float(np.log(np.where(X[hidden] > 0, chances, 1 - chances)).mean()))
    return out


def news_words() -> np.ndarray:
    """Newsgroup posts × 100 words."""
    return sparse("newsgroups_w100").toarray().astype(float)


def mixture_gaussian() -> dict[str, Side]:
    """Twenty classes of newsgroup posts; hidden cells."""
    from sklearn.mixture import GaussianMixture

    peer = GaussianMixture(20, covariance_type="diag", random_state=0)
    rebuilt = Adapted(peer, rebuild=lambda fitted, table: fitted.predict_proba(table) @ fitted.means_)
    return hidden_cells(news_words(), BernoulliMixture(20, random_state=0, n_jobs=JOBS), rebuilt)


def aspect_nmf() -> dict[str, Side]:
    """Ten causes of newsgroup posts; hidden cells."""
    from sklearn.decomposition import NMF

    ours = AspectBernoulli(10, random_state=0, n_jobs=JOBS)
    return hidden_cells(news_words(), ours, Adapted(NMF(10, random_state=0)))


def logistic_pca_peer() -> dict[str, Side]:
    """Two scales of the disabilities of old people; hidden cells, which the peer takes for the more frequent value."""
    from logisticpca import LogisticPCA as Peer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Binarizer

    peer = make_pipeline(Binarizer(threshold=0.5), Peer(2, random_state=0))
    rebuilt = Adapted(peer, rebuild=lambda fitted, table: fitted[-1].predict_proba(fitted[0].transform(table)))
    X = load_debd("nltcs")["train"].astype(float)
    return hidden_cells(X, LogisticPCA(2, random_state=0, n_jobs=JOBS), rebuilt)


def map_ugtm() -> dict[str, Side]:
    """A map of digits; how many of the neighbours on the map are neighbours in the table (trustworthiness)."""
    from sklearn.manifold import trustworthiness
    from ugtm import eGTM

    with np.load(fetch("mfeat_pix")) as parts:
        X = (parts["X"] > 3).astype(float)
    BinaryGTM(max_iter=3, random_state=0).fit(X[:200])
    ours, places = timed(lambda: np.asarray(BinaryGTM(random_state=0, n_jobs=JOBS).fit_transform(X)))
    theirs, others = timed(lambda: np.asarray(eGTM(random_state=0).fit_transform(X)))
    quality = {side: float(trustworthiness(X, where)) for side, where in (("ours", places), ("theirs", others))}
    return {"ours": Side(ours, quality["ours"]), "theirs": Side(theirs, quality["theirs"])}


def sampler_tomotopy() -> dict[str, Side]:
    """Newsgroup posts, as many components as the data ask for; what the strongest tells of the group of a post (NMI)."""
    import tomotopy
    from sklearn.metrics import normalized_mutual_info_score

    table = sparse("newsgroups_w100")
    rows = np.random.default_rng(0).permutation(np.flatnonzero(np.diff(table.indptr) > 0))[:4000]
    X, groups = table[rows].astype(float), np.load(fetch("newsgroups_w100"))["y"][rows]
    DPBernoulliMixture(n_warmup=2, n_draws=2, n_chains=1, random_state=0).fit(X[:200])
    ours, model = timed(lambda: DPBernoulliMixture(random_state=0, n_jobs=JOBS).fit(X))
    peer = tomotopy.HDPModel(seed=1)
    for i in range(X.shape[0]):
        peer.add_doc([f"w{j}" for j in X.indices[X.indptr[i] : X.indptr[i + 1]]])
    theirs, _ = timed(lambda: peer.train(1000, workers=JOBS))
    told = {"ours": np.asarray(model.predict(X)), "theirs": [int(np.argmax(doc.get_topic_dist())) for doc in peer.docs]}
    quality = {side: float(normalized_mutual_info_score(groups, found)) for side, found in told.items()}
    return {"ours": Side(ours, quality["ours"]), "theirs": Side(theirs, quality["theirs"])}


def noisy_or_corex() -> dict[str, Side]:
    """Ten sources of citations; how well the strongest source of every author tells the communities (adjusted Rand)."""
    from corextopic import corextopic
    from sklearn.metrics import adjusted_rand_score

    with np.load(fetch("citations")) as parts:
        X, gold = parts["X"].astype(float), parts["gold"]
    NoisyOrComponentAnalysis(2, n_init=1, max_iter=8, random_state=0).fit(X[:200])
    ours, model = timed(lambda: NoisyOrComponentAnalysis(10, random_state=0, n_jobs=JOBS).fit(X))
    theirs, peer = timed(lambda: corextopic.Corex(n_hidden=10, seed=0).fit(X))
    strongest = {"ours": model.components_.argmax(axis=0), "theirs": (peer.alpha * peer.mis).argmax(axis=0)}
    quality = {side: float(adjusted_rand_score(gold, groups)) for side, groups in strongest.items()}
    return {"ours": Side(ours, quality["ours"]), "theirs": Side(theirs, quality["theirs"])}


def plsa_nmf() -> dict[str, Side]:
    """Twenty topics of posts; mean log-probability of a word of a post."""
    from sklearn.decomposition import NMF

    from benchmarks.bernoulli_gauss import posts

    counts = posts(4000, 4000)[0]
    counts = counts[np.flatnonzero(counts.sum(axis=1) > 0)]
    PLSA(2, n_init=1, max_iter=3, random_state=0).fit(counts[:200])
    ours, model = timed(lambda: PLSA(20, random_state=0, n_jobs=JOBS).fit(counts))
    peer = NMF(20, beta_loss="kullback-leibler", solver="mu", init="random", random_state=0)
    theirs, shares = timed(lambda: peer.fit_transform(counts))
    whole, out = counts.tocoo(), {}
    for side, seconds, left, right in (
        ("ours", ours, np.asarray(model.transform(counts)), model.components_),
        ("theirs", theirs, shares, peer.components_),
    ):
        table = left @ right
        table /= table.sum(axis=1, keepdims=True)
        logs = np.log(np.maximum(table[whole.row, whole.col], 1e-12))
        out[side] = Side(seconds, float(whole.data @ logs / whole.data.sum()))
    return out


def recommender_surprise() -> dict[str, Side]:
    """Ratings of films, a tenth of them left out; minus the root of the mean squared error."""
    import pandas as pd
    from surprise import SVD, Dataset, Reader

    with np.load(fetch("movielens100k")) as parts:
        users, items, ratings = (parts[name].ravel() for name in ("user", "item", "rating"))
    left_out = np.random.default_rng(0).random(len(users)) < 0.1
    known = np.isin(users, users[~left_out]) & np.isin(items, items[~left_out])
    test, train = left_out & known, ~left_out
    frame = pd.DataFrame({"user": users[train], "item": items[train], "rating": ratings[train].astype(float)})
    BernoulliGaussRecommender(2, n_init=1, max_iter=3, random_state=0).fit(frame[:2000])
    ours, model = timed(lambda: BernoulliGaussRecommender(random_state=0, n_jobs=JOBS).fit(frame))
    data = Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset()
    theirs, peer = timed(lambda: SVD(random_state=0).fit(data))
    told = {
        "ours": np.asarray(model.predict(users[test], items[test])),
        "theirs": np.array([peer.predict(u, i).est for u, i in zip(users[test], items[test])]),
    }
    error = {side: float(np.sqrt(np.mean((values - ratings[test]) ** 2))) for side, values in told.items()}
    return {"ours": Side(ours, -error["ours"]), "theirs": Side(theirs, -error["theirs"])}


RIVALS: dict[str, Callable[[], dict[str, Side]]] = {
    "mixture / StepMix, plants K=20": mixture_step_mix,
    "mixture / GaussianMixture, newsgroups_w100 K=20": mixture_gaussian,
    "Aspect / NMF, newsgroups_w100 K=10": aspect_nmf,
    "map / ugtm, digits": map_ugtm,
    "noisy-or / corextopic, citations K=10": noisy_or_corex,
    "DP mixture / tomotopy's HDP, newsgroups_w100 (4,000 rows)": sampler_tomotopy,
    "logistic PCA / logisticpca, nltcs K=2": logistic_pca_peer,
    "PLSA / NMF-KL, posts K=20": plsa_nmf,
    "recommender / surprise SVD, movielens100k": recommender_surprise,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or RIVALS:
        print(name, RIVALS[name](), flush=True)
