"""Choosing K, the bootstrap test, baselines, scores."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import latentbits
from latentbits import BernoulliMixture, ChowLiuTree
from latentbits.data.holdout import HiddenSource
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.evaluation import IndependentColumns
from latentbits.evaluation.select_size import hidden_losses


@pytest.fixture(scope="module")
def table():
    return make_mixture(600, 14, 3, spread=2.5, unknown=0.05, random_state=2).data


@pytest.mark.parametrize("criterion", ["bic", "aic", "cells", "rows"])
def test_select_finds_three(table, criterion):
    chosen = latentbits.select(BernoulliMixture(random_state=0, n_init=3), table, range(1, 6), criterion, folds=2)
    assert chosen.best_ in ((3,) if criterion == "bic" else (3, 4, 5)) and chosen.simplest_ <= chosen.best_
    assert chosen.estimator_.n_components == chosen.best_
    values = [row[criterion] for row in chosen.table]
    assert values[2] < values[1] < values[0] and min(values) == values[chosen.best_ - 1]
    if criterion == "bic":
        np.testing.assert_allclose(values[2], chosen.estimator_.bic(table), rtol=1e-9)


def test_function_and_package_keep_their_names():
    import latentbits.evaluation

    assert callable(latentbits.select) and callable(latentbits.bootstrap_lrt)


def test_hidden_losses_equal_refits_by_hand(table):
    source = open_source(table, block_rows=100)
    hidden = HiddenSource(source, 0.2, seed=3)
    fitted = BernoulliMixture(2, random_state=0).fit(hidden)
    losses = hidden_losses(fitted, hidden)
    masked = table.copy()
    wanted = []
    for b in range(hidden.n_blocks):
        cells = hidden.hidden(b)
        masked[cells.rows + source.starts[b], cells.columns] = np.nan
    filled = fitted.reconstruct(masked)
    for b in range(hidden.n_blocks):
        cells = hidden.hidden(b)
        on = filled[cells.rows + source.starts[b], cells.columns]
        wanted.append(-np.log(np.where(cells.values == 1, on, 1 - on)))
    np.testing.assert_allclose(losses, np.concatenate(wanted), rtol=1e-9)


def test_select_messages(table):
    for options, word in (
        ({"n_components": []}, "n_components"),
        ({"n_components": [0]}, "n_components"),
        ({"n_components": [2, 2.5]}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"n_components": range(1, 10**12)}, "more than 1,000 sizes"),
        (
            {"n_components": [2, 5000]},
            "n_components=5000 is more than the 600 rows of the table .600 rows × 14 columns",
        ),
        ({"folds": 10**9}, "1 to 1,000"),
        ({"criterion": "magic"}, "criterion"),
        ({"criterion": "cells", "cells": 1.5}, "cells"),
    ):
        with pytest.raises(InputError, match=word):
            latentbits.select(BernoulliMixture(), table, **{"n_components": [1, 2], **options})
    with pytest.raises(InputError, match="all rows or none"):
        latentbits.select(BernoulliMixture(), [[0, 1], [1, 0]], [1], "rows", rows=0.001)


def test_select_reports_progress(table):
    seen = []
    latentbits.select(BernoulliMixture(n_init=1), table, [1, 2], progress=lambda *event: seen.append(event))
    assert seen == [(0, 2, "K=1"), (1, 2, "K=2")]


def test_bootstrap_tells_two_from_three(table):
    model = BernoulliMixture(random_state=0, n_init=3)
    needed = latentbits.bootstrap_lrt(model, table, 3, n_bootstrap=9)
    assert needed.p_value == pytest.approx(0.1) and needed.statistic > needed.draws.max()
    enough = latentbits.bootstrap_lrt(model, make_mixture(300, 10, 2, random_state=0).data, 3, n_bootstrap=9)
    assert enough.p_value > 0.1
    with pytest.raises(InputError, match="2 or more"):
        latentbits.bootstrap_lrt(model, table, 1)
    for number in (0, 100_001, 10**12):
        with pytest.raises(InputError, match="n_bootstrap must be from 1 to 100,000; got"):
            latentbits.bootstrap_lrt(None, table, 3, n_bootstrap=number)  # before anything is opened or fitted


def test_baselines_are_distributions():
    rng = np.random.default_rng(0)
    first = rng.random(200) < 0.4
    X = np.column_stack([first, first ^ (rng.random(200) < 0.1), rng.random(200) < 0.7, rng.random(200) < 0.2]).astype(
        float
    )
    every = np.array(list(itertools.product([0, 1], repeat=4)), float)
    for model in (IndependentColumns(), ChowLiuTree()):
        model.fit(X)
        assert np.exp(model.score_samples(every)).sum() == pytest.approx(1, abs=1e-12)
    tree = ChowLiuTree().fit(X)
    assert (
        1 in (tree.parents_[0][0], 1 - tree.parents_[0][1])
        and tree.score(X) > IndependentColumns().fit(X).score(X) + 0.2
    )
    assert tree.score_samples([[np.nan] * 4]) == pytest.approx(0, abs=1e-12)


def test_metrics():
    assert latentbits.metrics.clustering_accuracy([0, 0, 1, 1, 2], ["b", "b", "a", "a", "a"]) == 0.8
    with pytest.raises(InputError):
        latentbits.metrics.clustering_accuracy([0, 1], [0])
    assert latentbits.metrics.cell_log_loss([1], [0.0]) == pytest.approx(-np.log(1e-6))


def test_samplers_are_chosen_by_hidden_cells():
    X = make_mixture(120, 10, 2, spread=3.0, random_state=0).data
    short = latentbits.BayesianBernoulliMixture(n_chains=1, n_warmup=10, n_draws=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        chosen = latentbits.select(short, X, [1, 3])
    assert chosen.criterion == "cells" and chosen.best_ == 3
    for criterion, words in (("bic", "has no BIC"), ("rows", "has no row weights")):
        with pytest.raises(InputError, match=words):
            latentbits.select(short, X, [1, 3], criterion=criterion)
