"""Pairs of columns that a model leaves unexplained: those that were planted, and none that are noise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latentbits
from latentbits.data.source import open_source
from latentbits.datasets import (
    make_aspect,
    make_boltzmann,
    make_map,
    make_mixture,
    make_noisy_or,
    make_trait,
    make_trees,
)
from latentbits.errors import LatentBitsWarning
from latentbits.exploring.leftovers import Leftovers, groups_of, leftovers


def left(model, X, seed=0) -> Leftovers:
    """What a model leaves unexplained of the table to which it is fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return leftovers(model.fit(X), open_source(X, owner="test"), seed)


def tied(X, columns, rng, share=0.9):
    """Columns that are one coin, but for some rows (the table is changed here)."""
    coin = rng.random(len(X)) < 0.5
    for j in columns:
        X[:, j] = np.where(rng.random(len(X)) < share, coin, ~coin)
    return X


def rare_items(seed, n=600, d=40):
    """Independent columns, most of them rare."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, d)) < 0.005 + 0.25 * rng.random(d) ** 3).astype(float)


def test_planted_pairs_are_found_with_their_counts():
    rng = np.random.default_rng(0)
    X = tied(make_mixture(600, 20, 2, spread=3.0, random_state=3).data, (0, 8), rng)
    X = tied(X, (2, 9), rng)
    X[:, 9] = 1 - X[:, 9]  # one instead of the other
    X[rng.random(X.shape) < 0.05] = np.nan
    found = left(latentbits.BernoulliMixture(2, random_state=0), X)
    pairs = {(pair["first"], pair["second"]): pair for pair in found.pairs}
    assert set(pairs) == {(0, 8), (2, 9)} and found.n_sure == 2 and found.n_looked_at == 190
    known = ~np.isnan(X[:, 0]) & ~np.isnan(X[:, 8])
    both = (X[:, 0] == 1) & (X[:, 8] == 1)
    first = pairs[0, 8]
    assert first["n"] == known.sum() and first["together"] == both.sum() and first["q3"] > 0.3 and first["p"] < 1e-6
    independent = known.sum() * np.nanmean(X[:, 0]) * np.nanmean(X[:, 8])
    assert first["expected"] == pytest.approx(independent, rel=0.1) and independent < 0.7 * both.sum()
    assert pairs[2, 9]["q3"] < -0.3 and pairs[2, 9]["together"] < pairs[2, 9]["expected"]
    assert found.groups == [[0, 8]]  # what excludes each other is no group
    strengths = [abs(pair["q3"]) for pair in found.pairs]
    assert strengths == sorted(strengths, reverse=True)


def test_planted_groups_are_found():
    rng = np.random.default_rng(0)
    X = tied(make_mixture(800, 24, 2, spread=3.0, random_state=1).data, (0, 3, 7, 11), rng)
    tied(X, (5, 6), rng)
    found = left(latentbits.BernoulliMixture(2, random_state=0), X)
    assert found.groups == [[0, 3, 7, 11], [5, 6]] and found.n_sure == 7
    assert left(latentbits.BernoulliMixture(2, random_state=0), X) == found


def test_rare_pairs_that_come_together_are_found():
    """Two columns with a one in forty rows of a thousand, half of them the same."""
    X = rare_items(0, n=1000)
    X[:, 3] = X[:, 4] = 0
    X[:40, 3] = X[20:60, 4] = 1
    found = left(latentbits.BernoulliMixture(1, random_state=0), X)
    assert [(pair["first"], pair["second"], pair["together"]) for pair in found.pairs] == [(3, 4, 20)]
    assert found.pairs[0]["expected"] == pytest.approx(1.6, abs=1.5)


@pytest.mark.parametrize("n_classes", [1, 2])
def test_rare_items_that_are_independent_are_not_listed(n_classes):
    """At most 1 of 20 tables has any pair, and one row in which rare ones meet is none."""
    any_pair = 0
    for seed in range(20):
        X = rare_items(seed)
        X[0, :8] = 1  # one odd row
        any_pair += left(latentbits.BernoulliMixture(n_classes, random_state=0), X, seed).n_sure > 0
    assert any_pair <= 1


TRUE = {
    "mixture": (make_mixture, 12, 3, latentbits.BernoulliMixture(3)),
    "aspect": (make_aspect, 15, 3, latentbits.AspectBernoulli(3)),
    "noisy-or": (make_noisy_or, 15, 3, latentbits.NoisyOrComponentAnalysis(3)),
    "one short scale": (make_trait, 8, 1, latentbits.LatentTrait(1)),
    "scales": (make_trait, 20, 2, latentbits.LatentTrait(2)),
    "logistic": (make_trait, 20, 2, latentbits.LogisticPCA(2)),
    "tree": (make_trees, 15, 1, latentbits.TreeMixture(1)),
    "boltzmann": (make_boltzmann, 12, 3, latentbits.RestrictedBoltzmann(3)),
}


@pytest.mark.parametrize("kind", TRUE)
def test_models_that_are_right_leave_nothing(kind):
    """Residuals are correlated under the model that made the table, too: cells have a say in what they are expected to be."""
    make, d, k, model = TRUE[kind]
    any_pair = [
        left(model.set_params(random_state=s), make(600, d, k, unknown=0.05, random_state=s).data).n_sure
        for s in range(4)
    ]
    assert any_pair == [0] * 4


def test_a_map_that_is_right_leaves_nothing():
    assert left(latentbits.BinaryGTM((8, 8), random_state=0), make_map(500, 30, random_state=0).data).n_sure <= 1


def test_what_never_varies_is_not_listed():
    """Columns that are always 0, always 1, or never seen, or have one value wherever another is known."""
    rng = np.random.default_rng(0)
    X = tied(make_mixture(400, 16, 2, spread=3.0, random_state=0).data, (0, 1), rng)
    X[:, 5], X[:, 6], X[:, 7], X[:, 8] = 0.0, 1.0, np.nan, np.nan
    X[:200, 9], X[200:, 10] = np.nan, np.nan  # never known together
    found = left(latentbits.BernoulliMixture(2, random_state=0), X)
    listed = {pair[end] for pair in found.pairs for end in ("first", "second")}
    assert (0, 1) in {(pair["first"], pair["second"]) for pair in found.pairs}
    assert not listed & {5, 6, 7, 8} and not any({pair["first"], pair["second"]} == {9, 10} for pair in found.pairs)
    assert found.n_looked_at == 12 * 11 // 2 - 1
    assert all(np.isfinite([pair["q3"], pair["p"], pair["expected"]]).all() for pair in found.pairs)


def test_nothing_to_look_at():
    """One column, and columns of which none varies."""
    for X in (np.array([[0.0], [1.0]] * 20), np.tile([0.0, 1.0, np.nan], (30, 1)) + 0.0):
        X = np.column_stack((X, np.arange(len(X)) % 2))
        found = left(latentbits.BernoulliMixture(1, random_state=0), X[:, : 2 if X.shape[1] > 2 else 1])
        assert found == Leftovers([], [], 0, 0)


def test_groups():
    assert groups_of([]) == [] and groups_of([(3, 1)]) == [[1, 3]]
    assert groups_of([(0, 9), (2, 3), (3, 4), (9, 5), (5, 0)]) == [[0, 5, 9], [2, 3, 4]]
    assert groups_of([(i, i + 1) for i in range(2000)]) == [list(range(2001))]
