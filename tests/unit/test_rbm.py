"""Restricted Boltzmann machines against sums over all states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from latentbits import RestrictedBoltzmann
from latentbits.data.block import Lists
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.errors import InputError, NotConvergedWarning
from latentbits.rbm.model import BoltzmannModel, BoltzmannParams
from latentbits.rbm.training import Contrastive, TrainState


def small_machine(seed=0, d=6, h=3, scale=1.5):
    rng = np.random.default_rng(seed)
    return BoltzmannParams(scale * rng.normal(size=(d, h)), rng.normal(size=d), rng.normal(size=h))


def log_all(params):
    """All rows, and log p of each, by summing over rows and hidden states."""
    d, h = params.weights.shape
    rows = np.array(list(itertools.product((0.0, 1.0), repeat=d)))
    states = np.array(list(itertools.product((0.0, 1.0), repeat=h)))
    energy = (rows @ params.visible)[:, None] + states @ params.hidden + rows @ params.weights @ states.T
    return rows, logsumexp(energy, axis=1) - logsumexp(energy)


def exact_fill(params, row):
    """P(cell = 1 | known cells) of the unknown cells, by summation."""
    rows, logs = log_all(params)
    known = ~np.isnan(row)
    fits = (rows[:, known] == row[known]).all(axis=1)
    weights = np.exp(logs[fits] - logsumexp(logs[fits]))
    return weights @ rows[fits], logsumexp(logs[fits])


def test_exact_answers():
    params = small_machine()
    model = BoltzmannModel(3, "exact")
    precomputed = model.precompute(params)
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (20, 6)).astype(float)
    X[rng.random(X.shape) < 0.4] = np.nan
    block = open_source(X).block(0)
    filled, scores = model.predict_cells(block, precomputed), model.log_prob(block, precomputed)
    for row, cells, score in zip(X, filled, scores):
        wanted, log_prob = exact_fill(params, row)
        unknown = np.isnan(row)
        np.testing.assert_allclose(cells[unknown], wanted[unknown], atol=1e-12)
        np.testing.assert_allclose(score, log_prob, atol=1e-12)
    rows, logs = log_all(params)
    every = open_source(rows).block(0)
    np.testing.assert_allclose(model.log_prob(every, precomputed), logs, atol=1e-12)
    np.testing.assert_allclose(-model.free_energy(every, precomputed) - precomputed.log_z, logs, atol=1e-12)


def test_factorised_rule_takes_others_to_be_off():
    """A10: it is the exact conditional with every other unknown cell clamped to 0."""
    params = small_machine(2)
    model = BoltzmannModel(3, "factorised")
    row = np.array([[1, np.nan, 0, np.nan, np.nan, 1]])
    found = model.predict_cells(open_source(row).block(0), model.precompute(params))[0]
    for i in (1, 3, 4):
        clamped = np.nan_to_num(row[0])
        clamped[i] = np.nan
        np.testing.assert_allclose(found[i], exact_fill(params, clamped)[0][i], atol=1e-12)


def test_clamped_gibbs_is_exact_in_the_limit():
    """A10: within 0.01 after 20,000 sweeps; mean field is not far."""
    params = small_machine(3)
    row = np.array([[1, np.nan, 0, np.nan, np.nan, 1]])
    wanted = exact_fill(params, row[0])[0]
    block, unknown = open_source(row).block(0), np.isnan(row[0])
    gibbs = BoltzmannModel(3, "gibbs", 20_000)
    assert np.abs(gibbs.predict_cells(block, gibbs.precompute(params))[0] - wanted)[unknown].max() < 0.01
    field = BoltzmannModel(3, "mean-field", 500)
    assert np.abs(field.predict_cells(block, field.precompute(params))[0] - wanted)[unknown].max() < 0.3
    rows = np.tile(row, (4000, 1))  # joint draws: equal rows are filled alike, so rows must differ
    rows = np.column_stack((rows, np.random.default_rng(0).integers(0, 2, (4000, 12))))
    wide = BoltzmannParams(
        np.vstack((params.weights, np.zeros((12, 3)))), np.append(params.visible, np.zeros(12)), params.hidden
    )
    model = BoltzmannModel(3, "gibbs", 60)
    draws_block = open_source(rows).block(0)
    at_rows, at_columns = np.repeat(np.arange(4000), 3), np.tile([1, 3, 4], 4000)
    rng = np.random.default_rng(1)
    drawn = model.sample_cells(
        draws_block, model.precompute(wide), at_rows, at_columns, rng.random(4000), rng.random(12000)
    )
    assert np.abs(drawn.reshape(4000, 3).mean(axis=0) - wanted[[1, 3, 4]]).max() < 0.06


def test_explanations():
    params = small_machine(4)
    model = BoltzmannModel(3, "exact")
    X = np.array([[1.0, 0, 1, 0, 1, 1], [0, 1, np.nan, 0, 1, 0]])
    block = open_source(X).block(0)
    rows, columns = np.repeat([0, 1], 6), np.tile(np.arange(6), 2)
    causes = model.causes(block, model.precompute(params), rows, columns)
    np.testing.assert_allclose(causes.share.sum(axis=1) + causes.leak, 1.0, atol=1e-12)
    for i in range(6):  # complete row: exact leave-one-out
        rest = X[0].copy()
        rest[i] = np.nan
        np.testing.assert_allclose(causes.probability[i], exact_fill(params, rest)[0][i], atol=1e-12)
    np.testing.assert_allclose(causes.probability[8], exact_fill(params, X[1])[0][2], atol=1e-12)  # the unknown cell


def test_gradient_points_the_right_way():
    """On a 2 × 1 machine the mean step of contrastive divergence raises the likelihood."""
    cells = np.repeat([[1, 1], [0, 0], [1, 0]], (200, 150, 50), axis=0)
    counts = cells.sum(axis=1)
    nothing = np.zeros(401, np.int64), np.empty(0, np.int32)
    lists = Lists(np.concatenate(([0], np.cumsum(counts))), np.nonzero(cells)[1].astype(np.int32), *nothing, 2)
    process = Contrastive(lists, cells.mean(axis=0), 1, 1, (1, 1), 0.05, 0.0, 400, 0)

    def likelihood(params):
        rows, logs = log_all(params)
        return sum(logs[(rows == row).all(axis=1)][0] for row in cells)

    start = process.start(0)._replace(weights=np.array([[0.3], [0.1]]), hidden=np.array([0.2]))
    steps = []
    for chain in range(200):
        training = process.open(chain, start)
        training.step(0)
        steps.append(np.concatenate([(a - b).ravel() for a, b in zip(training.state().params, start.params)]))
    mean = np.mean(steps, axis=0)
    moved = BoltzmannParams(start.weights + mean[:2, None], start.visible + mean[2:4], start.hidden + mean[4:])
    assert likelihood(moved) > likelihood(start.params)
    assert isinstance(training.state(), TrainState)


def test_schedule():
    """CD-1 to CD-9 in 30 epochs."""
    process = Contrastive(None, None, 1, 30, (1, 9), 0.1, 0.0, 1, 0)
    assert [process.steps_at(e) for e in range(30)] == [1 + round(8 * e / 29) for e in range(30)]


def test_fits():
    X = make_mixture(400, 12, 3, spread=3.0, unknown=0.1, random_state=0).data
    machine = RestrictedBoltzmann(4, n_epochs=120, learning_rate=0.1, batch_size=40, n_init=2, random_state=0).fit(X)
    marginals = np.nanmean(X, axis=0)
    independent = np.nansum(np.where(X == 1, np.log(marginals), np.where(X == 0, np.log1p(-marginals), 0.0))) / 400
    assert machine.score(X) > independent + 0.5
    assert len(machine.history_) == 2 and machine.history_[0][-1] > machine.history_[0][0]
    hidden = X.copy()
    rng = np.random.default_rng(0)
    mask = ~np.isnan(X) & (rng.random(X.shape) < 0.1)
    hidden[mask] = np.nan
    filled = machine.impute(hidden)
    loss = -np.log(np.where(X == 1, filled, 1 - filled)[mask]).mean()
    base = -np.log(np.where(X == 1, marginals, 1 - marginals)[mask]).mean()
    assert loss < base - 0.03
    for fill_in in ("exact", "mean-field", "factorised"):
        assert np.abs(machine.set_params(fill_in=fill_in).impute(hidden) - filled).mean() < 0.05
    assert "4 switches" in machine.summary()
    cells, units = machine.sample(300, random_state=0, return_causes=True)
    assert np.abs(cells.mean(axis=0) - marginals).max() < 0.2 and units.shape == (300, 4)


def test_steps_that_are_too_long_are_told_of():
    X = make_mixture(60, 6, 2, random_state=0).data
    with pytest.warns(NotConvergedWarning, match="Lower learning_rate"):
        machine = RestrictedBoltzmann(4, learning_rate=50.0, random_state=0).fit(X)
    assert not machine.converged_


def test_large_machines_have_no_likelihood():
    X = make_mixture(60, 6, 2, random_state=0).data
    machine = RestrictedBoltzmann(13, n_epochs=2, random_state=0).fit(X)
    for name in ("score", "score_samples", "bic", "aic"):
        assert not hasattr(machine, name)
    assert np.isfinite(machine.free_energy(X)).all()
    assert np.isfinite(machine.reconstruct(X)).all()
    X[0, 0] = np.nan
    with pytest.raises(InputError, match="complete rows"):
        machine.free_energy(X)
    assert not hasattr(machine.set_params(n_components=3), "score")  # the fitted machine is as it is
    for fill_in, words in (("exact", "there are 13"), ("best", "fill_in must be one of")):
        with pytest.raises(InputError, match=words):
            machine.set_params(fill_in=fill_in).impute(X)


def test_bad_options():
    X = make_mixture(30, 4, 2, random_state=0).data
    for options, words in (
        ({"n_components": 0}, "n_components must be"),
        ({"n_epochs": 0}, "n_epochs must be"),
        ({"n_steps": 3}, "n_steps must be a pair"),
        ({"n_steps": (0, 3)}, "n_steps must be a pair"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0"),
        ({"weight_decay": -1}, "weight_decay must be"),
        ({"fill_in": "best"}, "fill_in must be one of"),
        ({"n_components": 20, "fill_in": "exact"}, "up to 12 hidden units"),
        ({"n_sweeps": 2}, "n_sweeps must be"),
    ):
        with pytest.raises(InputError, match=words):
            RestrictedBoltzmann(**{"n_components": 2, **options}).fit(X)
