"""One contract for answers: families, baselines and adapted models keep it, and are asked in one way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.decomposition import NMF

from latentbits import ChowLiuTree
from latentbits.data.holdout import HiddenSource
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.engine.ask import Asked, values_at
from latentbits.engine.protocols import CellAnswers, PredictsCells, Streamed, TableAnswers
from latentbits.engine.sweep import LocalSweep
from latentbits.evaluation import Adapted, IndependentColumns
from latentbits.evaluation.hidden_cells import predict_hidden

from .families import FAMILIES

TABLE = make_mixture(60, 5, 2, unknown=0.2, random_state=0).data
BASELINES = [IndependentColumns(), IndependentColumns(pooled=True), ChowLiuTree()]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_keep_the_contract(family):
    estimator = family.make()
    if not hasattr(estimator, "score_samples"):
        pytest.skip("it has no likelihoods of rows")
    wanted = CellAnswers if hasattr(estimator, "impute") else TableAnswers
    fitted = family.fit(family.table(), max_iter=3) if hasattr(estimator, "max_iter") else family.fit(family.table())
    if not hasattr(fitted, "_model"):
        pytest.skip("it is made of other estimators, which keep the contract")
    missing = [name for name in dir(wanted) if not name.startswith("_") and not hasattr(fitted._model, name)]
    assert isinstance(fitted._model, wanted), missing
    if hasattr(fitted, "partial_fit"):
        assert isinstance(fitted._model, Streamed)


@pytest.mark.parametrize("model", BASELINES, ids=repr)
def test_baselines_keep_the_contract(model):
    """All answers of a baseline follow from its likelihood, by enumeration."""
    model.fit(TABLE)
    answers, params = model._model, model._params
    assert isinstance(answers, CellAnswers)
    every = np.array(list(itertools.product((0.0, 1.0), repeat=5)))
    chances = np.exp(model.score_samples(every))
    np.testing.assert_allclose(chances.sum(), 1.0)
    block = open_source(TABLE).block(0)
    precomputed = answers.precompute(params)
    filled, n_trees = answers.predict_cells(block, precomputed), answers.n_components
    rows, columns = (part.ravel() for part in np.indices((60, 5)))
    np.testing.assert_allclose(answers.predict_cells_at(block, precomputed, rows, columns), filled.ravel())
    causes = answers.causes(block, precomputed, rows, columns)
    assert causes.share.shape == (300, n_trees) and answers.represent(block, precomputed).shape == (60, n_trees)
    for i, row in enumerate(TABLE[:20]):
        fits = np.nan_to_num(np.abs(every - row)).sum(axis=1) == 0
        for j in np.flatnonzero(np.isnan(row)):
            wanted = chances[fits & (every[:, j] == 1)].sum() / chances[fits].sum()
            np.testing.assert_allclose(filled[i, j], wanted)
        for j in range(5):  # a cell left out of its row
            others = np.delete(np.arange(5), j)
            fits = np.nan_to_num(np.abs(every - row))[:, others].sum(axis=1) == 0
            wanted = chances[fits & (every[:, j] == 1)].sum() / chances[fits].sum()
            np.testing.assert_allclose(causes.probability[5 * i + j], wanted)
    assert answers.n_free(params) == (5 if isinstance(model, IndependentColumns) else 9)


@pytest.mark.parametrize("model", [IndependentColumns(), ChowLiuTree()], ids=repr)
def test_draws_of_baselines(model):
    """Joint draws of unknown cells, and new rows, have the frequencies of the likelihood."""
    model.fit(TABLE)
    every = np.array(list(itertools.product((0, 1), repeat=5)))
    chances = np.exp(model.score_samples(every.astype(float)))
    rng, n = np.random.default_rng(0), 20_000
    drawn = model._model.sample_rows(model._params, n, rng)[0]
    found = np.bincount(drawn @ 2 ** np.arange(4, -1, -1), minlength=32) / n
    assert np.abs(found - chances).max() < 4.5 * np.sqrt(chances.max() / n)
    row = np.array([1.0, np.nan, 0.0, np.nan, np.nan])
    block = open_source(np.tile(row, (n, 1))).block(0)
    rows, columns = np.repeat(np.arange(n), 3), np.tile([1, 3, 4], n)
    cells = model._model.sample_cells(
        block, model._model.precompute(model._params), rows, columns, rng.random(n), rng.random(3 * n)
    )
    found = np.bincount(cells.reshape(n, 3) @ [4, 2, 1], minlength=8) / n
    fits = (every[:, 0] == 1) & (every[:, 2] == 0)
    wanted = chances[fits] / chances[fits].sum()
    assert np.abs(found - wanted).max() < 4.5 * np.sqrt(wanted.max() / n)


def test_adapted_models_predict_cells():
    model = Adapted(NMF(2, random_state=0)).fit(TABLE)
    assert isinstance(model._model, PredictsCells)
    hidden = HiddenSource(open_source(TABLE, block_rows=13), 0.2, 0)
    on = predict_hidden(model, hidden)
    assert len(on) == sum(len(hidden.hidden(b).rows) for b in range(hidden.n_blocks)) and ((on > 0) & (on < 1)).all()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_cells_come_back_in_the_order_asked(n_jobs):
    """Only blocks that hold a cell are read, the first for its shapes."""
    source = open_source(TABLE, block_rows=7)
    reads = []
    real = source.block
    source.block = lambda b: reads.append(b) or real(b)
    model = IndependentColumns().fit(TABLE)
    asked = Asked(model._model, model._params, LocalSweep(source, n_jobs))
    rows, columns = np.array([50, 3, 51, 3]), np.array([4, 0, 1, 0])
    np.testing.assert_array_equal(
        asked.by_cells(values_at, rows, columns), np.nan_to_num(TABLE[rows, columns], nan=2.0)
    )
    assert sorted(reads) == [0, 7]
    np.testing.assert_allclose(asked.by_cells(model._model.predict_cells_at, rows, columns), model.probs_[columns])
    assert asked.by_cells(values_at, np.empty(0, int), np.empty(0, int)).shape == (0,)
