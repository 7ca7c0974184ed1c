"""New rows on the page: JavaScript answers as the fitted model does, to the last digits that matter."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from latentbits import (
    AspectBernoulli,
    BayesianBernoulliMixture,
    BernoulliMixture,
    BinaryGTM,
    ChowLiuTree,
    DPBernoulliMixture,
    HiddenTree,
    LatentTrait,
    LogisticPCA,
    MixtureOfUnigrams,
    NoisyOrComponentAnalysis,
    RestrictedBoltzmann,
    TreeMixture,
    VariationalBernoulliMixture,
)
from latentbits.datasets import make_mixture, make_noisy_or
from latentbits.errors import LatentBitsWarning
from latentbits.exploring.row_parameters import row_parameters

RUNNER = Path(__file__).parents[1] / "js" / "answer.mjs"
OLDEST = (20, 19)  # reads modules from files called .js
CLOSE = 1e-6


@cache
def node():
    """A Node that reads modules: the one that is named, that of Playwright, or one on the path; else why there is none."""
    places = [os.environ.get("LATENTBITS_NODE")]
    try:
        import playwright

        places.append(str(Path(playwright.__file__).parent / "driver" / "node"))
    except ImportError:
        pass
    told = "needs Node (name it in LATENTBITS_NODE, or install the package playwright)"
    for place in filter(None, map(shutil.which, filter(None, [*places, "node"]))):
        found = subprocess.run([place, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if tuple(map(int, re.findall(r"\d+", found)[:2])) >= OLDEST:
            return place, None
        told = f"needs Node 20.19 or later; {place} is {found}"
    return None, told


def asked(parameters, rows, cells):
    """What the JavaScript answers about rows, and about single cells of them."""
    place, missing = node()
    if missing:
        pytest.skip(missing)
    codes = np.where(np.isnan(rows), -1, rows).astype(int).tolist()
    question = json.dumps({"parameters": parameters, "rows": codes, "cells": cells}, allow_nan=False)
    run = subprocess.run([place, str(RUNNER)], input=question, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    numbers = [
        {name: np.array(value, np.float64) for name, value in one.items()}
        for one in found["answers"] + found["reasons"]
    ]
    return numbers[: len(rows)], numbers[len(rows) :], found["milliseconds"]


def classes(n_columns=12):
    """Rows of three classes, a few cells unknown."""
    return make_mixture(120, n_columns, 3, spread=2.5, unknown=0.08, random_state=3).data.astype(float)


def varied():
    """The same with a column that does not vary, and some rows without a one or without a known cell."""
    X = classes(13)
    X[:, 5] = np.where(np.isnan(X[:, 5]), np.nan, 0.0)
    X[7], X[8] = 0.0, np.nan
    return X


def lossy():
    """Two contents whose ones got lost at different rates, so that one cause explains zeros only."""
    rng = np.random.default_rng(1)
    contents = np.array([[0.95] * 6 + [0.05] * 6, [0.05] * 6 + [0.95] * 6])[np.arange(300) % 2]
    X = (rng.random((300, 12)) < contents * rng.uniform(0.2, 1.0, (300, 1))).astype(float)
    X[rng.random(X.shape) < 0.03] = np.nan
    return X


def causes():
    """Rows with overlapping sources, a few cells unknown."""
    X = make_noisy_or(200, 14, 3, random_state=2).data.astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X


def rare():
    """Many columns that are rarely one: their zeros are summed by polynomials."""
    rng = np.random.default_rng(4)
    chances = np.where(rng.random((3, 150)) < 0.1, 0.3, 0.01)
    X = (rng.random((400, 150)) < rng.dirichlet(np.full(3, 0.3), 400) @ chances).astype(float)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X


SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 20}
MODELS = {
    "mixture": (BernoulliMixture(3), classes),
    "mixture, likelihood": (BernoulliMixture(4, smoothing=0.0), varied),
    "mixture, mean of starts": (BernoulliMixture(3, average_restarts=True, n_init=3), classes),
    "mixture, joint starts": (BernoulliMixture(3, average_restarts=True, average="joint", n_init=3), varied),
    "variational": (VariationalBernoulliMixture(4), classes),
    "variational, sticks": (VariationalBernoulliMixture(4, weight_prior="sticks", average_restarts=True), varied),
    "Bayesian": (BayesianBernoulliMixture(4, **SHORT), classes),
    "Bayesian, joint": (
        BayesianBernoulliMixture(4, average="joint", rule="plugin", include_new=False, **SHORT),
        varied,
    ),
    "Dirichlet process": (DPBernoulliMixture(**SHORT), classes),
    "map": (BinaryGTM((4, 4)), classes),
    "map of products": (BinaryGTM((9, 9), basis_shape=(2, 2)), varied),
    "map, identity": (BinaryGTM((2, 3), basis="identity"), classes),
    "trees": (TreeMixture(2, n_init=2), classes),
    "trees, mean of starts": (TreeMixture(3, average_restarts=True, n_init=3), varied),
    "trees, joint starts": (TreeMixture(2, average_restarts=True, average="joint", n_init=3), classes),
    "one tree": (ChowLiuTree(), classes),
    "aspects": (AspectBernoulli(3), varied),
    "aspects, likelihood": (AspectBernoulli(4, smoothing=0.0), classes),
    "aspects, prior": (AspectBernoulli(3, weight_concentration=1.5), varied),
    "aspects, phantom": (AspectBernoulli(3, n_phantom=1), lossy),
    "aspects, posterior": (AspectBernoulli(3, n_phantom=1, fill_in="posterior"), lossy),
    "aspects, posterior, likelihood": (AspectBernoulli(3, smoothing=0.0, fill_in="posterior"), varied),
    "aspects, rare columns": (AspectBernoulli(3, max_iter=40), rare),
    "noisy-or": (NoisyOrComponentAnalysis(3), causes),
    "noisy-or, many sources": (NoisyOrComponentAnalysis(7, leak_prior=(1.01, 2), max_iter=40), causes),
    "noisy-or, exact": (NoisyOrComponentAnalysis(3, solver="exact"), causes),
    "logistic": (LogisticPCA(2), varied),
    "logistic, small ridge": (LogisticPCA(3, ridge=0.01, max_iter=60), classes),
    "logistic, posterior": (LogisticPCA(2, fill_in="posterior", score_clip=1e-3), varied),
    "trait": (LatentTrait(2), varied),
    "trait, four": (LatentTrait(4, max_iter=60), classes),
    "trait, parabola": (LatentTrait(2, bound="jaakkola"), varied),
}


def fitted(model, table):
    """A clone of a model fitted to a frame, and its columns."""
    pd = pytest.importorskip("pandas")
    X = table()
    frame = pd.DataFrame(X, columns=[f"question {j}" for j in range(X.shape[1])])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = type(model)(**model.get_params())
        return model.set_params(**({} if isinstance(model, BinaryGTM) else {"random_state": 0})).fit(frame), X


def framed(model, rows):
    """Rows under the names of the columns."""
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(rows, columns=model.feature_names_in_)


def rows_of(X):
    """Rows of the table, new ones, with half of the cells unknown, with few known, with none, empty and full."""
    rng, n = np.random.default_rng(9), X.shape[1]
    new = (rng.random((3, n)) < 0.4).astype(float)
    half, few = np.where(rng.random((3, n)) < 0.5, np.nan, new), np.where(rng.random((2, n)) < 0.85, np.nan, new[:2])
    plain = [np.full(n, np.nan), np.zeros(n), np.ones(n)]
    return np.vstack((X[:4], X[7:9], new, half, few, plain))


@pytest.mark.parametrize("name", MODELS)
def test_rows_are_answered_as_by_the_model(name):
    model, X = fitted(*MODELS[name])
    rows = rows_of(X)
    frame = framed(model, rows)
    parameters = json.loads(json.dumps(row_parameters(model), allow_nan=False))
    cells = [[i, j] for i in range(len(rows)) for j in range(0, X.shape[1], 1 + X.shape[1] // 40)]
    answers, reasons, _ = asked(parameters, rows, cells)
    parts, filled = (np.array([one[part] for one in answers]) for part in ("parts", "filled"))
    is_map = isinstance(model, BinaryGTM)
    np.testing.assert_allclose(parts, model.predict_proba(frame) if is_map else model.transform(frame), atol=CLOSE)
    np.testing.assert_allclose(filled, np.asarray(model.reconstruct(frame)), atol=CLOSE)
    if is_map:
        np.testing.assert_allclose([one["place"] for one in answers], model.transform(frame), atol=CLOSE)
    told = model.explain(frame, cells=tuple(np.array(cells).T))
    np.testing.assert_allclose([one["probability"] for one in reasons], told.probability, atol=CLOSE)
    np.testing.assert_allclose([one["shares"] for one in reasons], told.share, atol=CLOSE)
    for part in ("leak", "missing"):
        wanted = getattr(told, part)
        assert all((part in one) == (wanted is not None) for one in reasons)
        if wanted is not None:
            np.testing.assert_allclose([one[part] for one in reasons], wanted, atol=CLOSE)
    surprising = np.array([answers[i]["surprising"][j] for i, j in cells])
    np.testing.assert_allclose(np.exp(-surprising), np.exp(-told.surprise), atol=CLOSE)


def test_the_cases_are_what_they_say():
    model, _ = fitted(*MODELS["aspects, rare columns"])
    assert row_parameters(model)["cold"]["shape"][0] > 50
    model, _ = fitted(*MODELS["aspects, phantom"])
    assert row_parameters(model)["phantoms"] and row_parameters(model)["fill_in"] == "best"
    model, _ = fitted(*MODELS["map of products"])
    assert "features" in row_parameters(model)
    model, X = fitted(*MODELS["logistic, posterior"])
    found = row_parameters(model)
    patterns = np.unique(np.nan_to_num(X, nan=-1.0), axis=0)
    assert found["fill_in"] == "posterior" and found["sample_keys"]["shape"] == [len(patterns) - 1, 2]  # one is blank


def test_arrays_are_in_full_precision():
    model, _ = fitted(*MODELS["mixture"])
    found = row_parameters(model)["probs"]
    assert (
        np.frombuffer(base64.b64decode(found["data"]), "<f8").reshape(found["shape"]).tolist()
        == model.components_.tolist()
    )


@pytest.mark.parametrize("model", [RestrictedBoltzmann(3, n_epochs=3), HiddenTree(max_iter=3), MixtureOfUnigrams(2)])
def test_other_families_have_no_parameters(model):
    X = np.nan_to_num(classes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        assert row_parameters(model.set_params(random_state=0).fit(X)) is None
    assert row_parameters(object()) is None


def test_too_many_numbers_are_not_given():
    model, _ = fitted(*MODELS["mixture"])
    n_numbers = 3 + 3 * 12
    assert row_parameters(model, most=n_numbers) is not None
    assert row_parameters(model, most=n_numbers - 1) is None


def test_wrong_rows_are_refused():
    model, X = fitted(*MODELS["mixture"])
    for row in (X[:1, :5], np.full((1, 12), 2.0)):
        with pytest.raises(AssertionError, match=r"RangeError"):
            asked(row_parameters(model), row, [])
