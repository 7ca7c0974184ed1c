"""The data of the experiments: binary digits with and without corrosion, newsgroup posts."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from latentbits.datasets import fetch

IMAGE = (16, 15)
GROUPS = ("sci.crypt", "sci.med", "sci.space", "soc.religion.christian")


@cache
def digits(threshold: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Classes 0-4 of the multiple-features digits, 200 each, pixels at or above the threshold on; and the classes."""
    with np.load(fetch("mfeat_pix")) as parts:
        keep = parts["y"] < 5
        return (parts["X"][keep] >= threshold).astype(float), parts["y"][keep].astype(int)


def corroded(X: np.ndarray, seed: int = 42) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ones turned off with a probability that differs by image, U(0, 1/2): table, levels, and what was removed."""
    rng = np.random.default_rng(seed)
    levels = rng.uniform(0, 0.5, len(X))
    removed = (X == 1) & (rng.random(X.shape) < levels[:, None])
    return np.where(removed, 0.0, X), levels, removed


@cache
def _posts() -> tuple[list[str], np.ndarray]:
    """Cleaned texts of the four groups, and their groups."""
    import pyarrow.parquet as pq

    rows = pq.read_table(fetch("newsgroups"), columns=["group", "text_clean"]).to_pylist()
    rows = [row for row in rows if row["group"] in GROUPS]
    return [row["text_clean"] for row in rows], np.array([GROUPS.index(row["group"]) for row in rows])


def posts(seed: int, n_words: int = 300, per_group: int = 100) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Presence of the words with most information on the group, in ``per_group`` posts of each of four groups."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    texts, groups = _posts()
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(np.flatnonzero(groups == g), per_group, replace=False) for g in range(4)])
    cleaned = [" ".join(re.findall(r"[a-z]+", texts[i].lower())) for i in chosen]
    counter = CountVectorizer(binary=True, min_df=3, stop_words=sorted(ENGLISH_STOP_WORDS), token_pattern=r"[a-z]{3,}")
    counts = counter.fit_transform(cleaned).toarray()
    best = np.argsort(-information_gain(counts, groups[chosen]), kind="stable")[:n_words]
    names = counter.get_feature_names_out()[best]
    return counts[:, best].astype(float), groups[chosen], [str(name) for name in names]


def information_gain(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Mutual information of each column and the group, in nats."""
    gain = np.zeros(X.shape[1])
    on = X.mean(axis=0)
    for g in np.unique(groups):
        share, inside = (groups == g).mean(), X[groups == g].mean(axis=0)
        for joint, alone in ((inside * share, on), ((1 - inside) * share, 1 - on)):
            positive = joint > 0
            gain[positive] += joint[positive] * np.log(joint[positive] / (alone[positive] * share))
    return gain
