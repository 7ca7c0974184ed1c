"""Cells filled by the mean over row unknowns: against sums over the remembered rows written out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from latentbits import AspectBernoulli, LogisticPCA
from latentbits.data.rng import row_uniforms
from latentbits.data.source import open_source
from latentbits.datasets import make_aspect
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.maths.empirical_bayes import LatentSample, keys_of, posterior_draw, posterior_mean


def written_out(model, X, cells_of, trained=None):
    """P(cell = 1 | known cells) (n, D), one remembered row after the other, the row itself left out."""
    sample = model._params.latent
    own = keys_of(open_source(X if trained is None else trained, owner="test").block(0))
    out = np.zeros(X.shape)
    for i, row in enumerate(X):
        total = 0.0
        for key, weight, values in zip(sample.keys, sample.weights, sample.values):
            weight = weight - 1 if key == own[i] else weight
            on = cells_of(values)
            known = ~np.isnan(row)
            chance = weight * np.prod(np.where(row[known] == 1, on[known], 1 - on[known]))
            out[i] += chance * on
            total += chance
        out[i] /= total
    return out


@pytest.fixture(scope="module")
def table():
    return make_aspect(60, 8, 2, concentration=1.0, unknown=0.2, random_state=3).data


def models(table):
    aspect = AspectBernoulli(2, n_init=1, fill_in="posterior", random_state=0).fit(table)
    logistic = LogisticPCA(2, n_init=1, ridge=0.3, fill_in="posterior", random_state=0).fit(table)
    sigmoid = lambda odds: 1 / (1 + np.exp(-odds))  # noqa: E731
    return [
        (aspect, lambda shares: shares @ aspect.components_),
        (logistic, lambda scores: sigmoid(scores @ logistic.components_ + logistic.offset_)),
    ]


def test_means_are_those_written_out(table):
    for model, cells_of in models(table):
        truth = written_out(model, table, cells_of)
        assert model.reconstruct(table) == pytest.approx(truth, abs=1e-9)
        rows, columns = np.nonzero(np.isnan(table))
        assert model.reconstruct(table, (rows, columns)) == pytest.approx(truth[rows, columns], abs=1e-9)
        best = type(model)(**{**model.get_params(), "fill_in": "best"}).fit(table)
        assert np.abs(best.reconstruct(table) - truth).max() > 0.01  # another answer
        assert best.components_ == pytest.approx(model.components_)  # of the same fit


def test_explanations_leave_the_cell_out(table):
    for model, cells_of in models(table):
        told = model.explain(table, cells=([3, 4], [1, 2]))
        for place, (i, j) in enumerate([(3, 1), (4, 2)]):
            held = table[i : i + 1].copy()
            held[0, j] = np.nan
            assert told.probability[place] == pytest.approx(
                written_out(model, held, cells_of, table[i : i + 1])[0, j], abs=1e-9
            )


def test_explanations_do_not_know_their_cell():
    """On coin flips nothing predicts a cell; what was fitted to it would seem to."""
    X = (np.random.default_rng(0).random((200, 12)) < 0.5).astype(float)
    model = LogisticPCA(4, n_init=1, ridge=0.3, fill_in="posterior", max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        told = model.fit(X).explain(X)
    assert told.surprise.mean() > 0.69


def test_draws_are_joint():
    """Two cells that the unknowns tie together are drawn together, each with its probability."""
    sample = LatentSample(np.arange(2, dtype=np.uint64), np.array([3.0, 1.0]), np.array([[0.0], [1.0]]))

    def logs(values):
        on = np.where(values == 1, 0.9, 0.2) * np.ones((1, 2))
        return np.log(on) - np.log1p(-on), np.log1p(-on)

    blank = open_source(np.full((4000, 2), np.nan), owner="test").block(0)
    drawn = posterior_draw(blank, sample, logs, row_uniforms(0, "fill", 0, 4000)[:, 0])
    assert drawn.mean() == pytest.approx(0.25, abs=0.03)
    assert posterior_mean(blank, sample, logs) == pytest.approx(np.full((4000, 1), 0.25))
    ones = open_source(np.ones((4000, 2)), owner="test").block(0)
    chance = 0.81 / (0.81 + 3 * 0.04)
    assert posterior_mean(ones, sample, logs)[0, 0] == pytest.approx(chance)
    drawn = posterior_draw(ones, sample, logs, row_uniforms(1, "fill", 0, 4000)[:, 0])
    assert drawn.mean() == pytest.approx(chance, abs=0.03)


def test_imputed_draws(table):
    for model, _ in models(table):
        holes = np.isnan(table)
        draws = np.mean([model.impute(table, how="sample", random_state=s)[holes] for s in range(400)], axis=0)
        assert np.abs(draws - model.reconstruct(table)[holes]).max() < 0.12


def test_unknown_way():
    with pytest.raises(InputError, match="fill_in"):
        AspectBernoulli(fill_in="mean").fit([[0, 1], [1, 0]])
