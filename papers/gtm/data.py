"""The data of the experiments: newsgroup posts with two vocabularies, binary digits."""

from __future__ import annotations

from functools import cache

import numpy as np

from latentbits.datasets import fetch
from papers.aspect.data import information_gain

GROUPS = ("comp.graphics", "alt.atheism", "talk.politics.guns")
IMAGE = (16, 15)
# What is left of contractions and of quoting lines.
STUBS = (
    "don",
    "doesn",
    "didn",
    "isn",
    "wasn",
    "aren",
    "weren",
    "won",
    "wouldn",
    "couldn",
    "shouldn",
    "hasn",
    "haven",
    "hadn",
    "ain",
)
QUOTES = ("article", "writes", "wrote", "com", "edu")
MOST_WORDS = 100


@cache
def _counted() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Presence of every word with document frequency 5 or more, group of every post, and the words."""
    import pyarrow.parquet as pq
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    rows = pq.read_table(fetch("newsgroups"), columns=["group", "text"]).to_pylist()
    rows = [row for row in rows if row["group"] in GROUPS]
    texts = [row["text"].lower() for row in rows]
    groups = np.array([GROUPS.index(row["group"]) for row in rows])
    stops = sorted({*ENGLISH_STOP_WORDS, *STUBS, *QUOTES})
    counter = CountVectorizer(binary=True, min_df=5, stop_words=stops, token_pattern=r"\b[a-z]{3,}\b")
    counts = counter.fit_transform(texts).toarray()
    return counts, groups, [str(word) for word in counter.get_feature_names_out()]


def posts(vocabulary: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """3000 posts × 100 words: those with most information on the group ("IG"), or the most frequent ones ("DF")."""
    counts, groups, words = _counted()
    worth = information_gain(counts, groups) if vocabulary == "IG" else counts.mean(axis=0)
    best = np.argsort(-worth, kind="stable")[:MOST_WORDS]
    return counts[:, best].astype(float), groups, [words[j] for j in best]


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """2000 digits, pixels above 3 on, and their classes."""
    with np.load(fetch("mfeat_pix")) as parts:
        return (parts["X"] > 3).astype(float), parts["y"].astype(int)


def splits(n_rows: int, n_train: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """A random split of the rows."""
    order = np.random.default_rng(number).permutation(n_rows)
    return order[:n_train], order[n_train:]
