"""The migration page: our code beside that of the tool which readers know, run as it stands there, gives the same."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentbits import metrics

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "coming_from.md"


def ran(heading, needs, names=("theirs", "ours")):
    """All Python of a section of the page, run in one namespace."""
    if not PAGE.exists():
        pytest.skip("the page is not here")
    for package in needs:
        pytest.importorskip(package)
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)[1]
    space: dict = {}
    for text in re.findall(r"^```python\n(.*?)^```", section, re.M | re.S):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, heading, "exec"), space)
    return (*(space[name] for name in names), space)


def paired(theirs, ours):
    """The rows of ours in the order in which they fit theirs best."""
    gap = np.abs(theirs[:, None] - ours[None]).max(axis=2)
    order = gap.argmin(axis=1)
    assert sorted(order) == list(range(len(ours)))
    return ours[order]


@pytest.mark.data
def test_polca(tmp_path, monkeypatch):
    """Likelihood and BIC that poLCA's own manual prints (D. Linzer, J. Lewis, Journal of Statistical Software 42, 2011)."""
    folder = os.environ.get("LATENTBITS_DATA")
    if not folder or not (Path(folder) / "small" / "carcinoma.csv").exists():
        pytest.skip("LATENTBITS_DATA names no folder with small/carcinoma.csv")
    rows = np.loadtxt(Path(folder) / "small" / "carcinoma.csv", delimiter=",", skiprows=1)
    low = rows.min()
    text = "\n".join(",".join(str(int(v - low + 1)) for v in row) for row in rows)
    (tmp_path / "carcinoma.csv").write_text("A,B,C,D,E,F,G\n" + text + "\n")
    monkeypatch.chdir(tmp_path)
    _, ours, space = ran("poLCA", ["pandas"], ("X", "ours"))
    assert ours.score(space["X"]) * len(rows) == pytest.approx(-293.705, abs=2e-3)
    assert ours.bic(space["X"]) == pytest.approx(697.1357, abs=4e-3)


@pytest.mark.peers
def test_stepmix():
    theirs, ours, space = ran("StepMix", ["stepmix", "pandas"])
    votes = space["votes"]
    assert ours.score(votes) == pytest.approx(theirs.score(votes), abs=1e-5)
    profiles = np.asarray(theirs.get_parameters()["measurement"]["pis"])
    profiles = profiles.T if profiles.shape[0] == 16 else profiles
    order = paired(profiles, ours.components_)
    np.testing.assert_allclose(order, profiles, atol=2e-3)
    assert ours.bic(votes) == pytest.approx(theirs.bic(votes), abs=0.02)


@pytest.mark.peers
def test_girth():
    theirs, ours, space = ran("mirt, ltm, girth", ["girth"])
    slopes = ours.components_[0]
    slopes = slopes * np.sign(slopes.sum())
    discrimination = np.asarray(theirs["Discrimination"])
    strong = discrimination > 0.3  # girth keeps slopes positive and above a quarter
    assert strong.sum() >= 5
    np.testing.assert_allclose(slopes[strong], discrimination[strong], rtol=0.12, atol=0.05)
    np.testing.assert_allclose(space["difficulty"][strong], np.asarray(theirs["Difficulty"])[strong], atol=0.15)


@pytest.mark.peers
def test_corextopic():
    theirs, ours, _ = ran("corextopic", ["corextopic"], ("their_topics", "our_topics"))
    found = [max(range(3), key=lambda k: len(topic & ours[k])) for topic in theirs]
    assert sorted(found) == [0, 1, 2]
    assert all(len(topic & ours[k]) >= 6 for topic, k in zip(theirs, found))


@pytest.mark.peers
def test_bertopic():
    theirs, ours, space = ran("BERTopic", ["bertopic"])
    assert metrics.clustering_accuracy(space["truth"], ours) == 1
    kept = np.asarray(theirs) >= 0  # others are outliers to BERTopic
    assert kept.mean() > 0.8 and adjusted_rand_score(np.asarray(theirs)[kept], np.asarray(ours)[kept]) > 0.95


def test_scikit_learn():
    theirs, ours, _ = ran("scikit-learn", ["pandas"])
    assert adjusted_rand_score(theirs, ours) > 0.7
