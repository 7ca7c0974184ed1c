"""Restricted Boltzmann machines against sums over all states."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from latentbits import RestrictedBoltzmann
from latentbits.data.block import Lists
from latentbits.data.source import open_source
from latentbits.datasets import generators, make_boltzmann, make_mixture
from latentbits.errors import InputError, NotConvergedWarning
from latentbits.rbm.kernels import log_growth_at
from latentbits.rbm.model import BoltzmannModel, BoltzmannParams
from latentbits.rbm.training import Contrastive, TrainState, centred
from tests.reference import boltzmann as slow


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
    gibbs = BoltzmannModel(3, "gibbs", 8_000)
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

    weights, hidden = np.array([[0.3], [0.1]]), np.array([0.2])
    start = process.start(0)._replace(weights=weights, weights_mean=weights, hidden=hidden, hidden_mean=hidden)
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


def in_training(X, **options):
    """A process that trains a machine of three hidden units on a complete table."""
    lists = Lists(np.concatenate(([0], np.cumsum(X.sum(axis=1)))), np.nonzero(X)[1].astype(np.int32),
                  np.zeros(len(X) + 1, np.int64), np.empty(0, np.int32), X.shape[1])  # fmt: skip
    return Contrastive(lists, X.mean(axis=0), 3, 8, (1, 3), 0.3, 0.001, 25, 0, **options)


def complete(n=100, d=8):
    """A small table without unknown cells."""
    return make_mixture(n, d, 2, spread=3.0, random_state=0).data.astype(int)


def test_steps_shrink_to_nothing_at_the_end():
    for share in (0.0, 0.25, 0.5, 0.99):
        process = Contrastive(None, None, 1, 10, (1, 1), 0.3, 0.0, 1, 0, rate_decay=share)
        for epoch, part in itertools.product(range(10), (0.0, 0.5)):
            np.testing.assert_allclose(
                process.rate_at(epoch, part), slow.rate(epoch + part, 10, 0.3, share) if share else 0.3
            )
    assert process.rate_at(9, 0.999) < 1e-4


@pytest.mark.parametrize("batch", [25, 100])
def test_the_answer_is_the_mean_of_the_last_iterates(batch):
    X, seen = complete(), []
    process = dataclasses.replace(in_training(X, averaging=0.5, rate_decay=0.5, centered=True), batch=batch)
    training = process.open(0, process.start(0))
    follow = training._follow

    def watched(towards, number, rate):
        follow(towards, number, rate)
        seen.append([array.copy() for array in training.params])

    training._follow = watched
    for epoch in range(8):
        training.step(epoch)
        counted = seen[4 * (100 // batch) :] if epoch >= 4 else seen[-1:]
        for found, iterates in zip(training.state().params, zip(*counted)):
            np.testing.assert_allclose(found, np.mean(iterates, axis=0), atol=1e-12)


def test_without_averaging_the_last_iterate_is_the_answer():
    process = in_training(complete())
    training = process.open(0, process.start(0))
    for epoch in range(8):
        training.step(epoch)
    for found, last in zip(training.state().params, training.params):
        np.testing.assert_array_equal(found, last)


def test_centred_direction():
    rng = np.random.default_rng(0)
    cells, fantasy = rng.integers(0, 2, (2, 20, 5)).astype(float)
    given, free = rng.random((2, 20, 3))
    mu, lam, pull = rng.random(5), rng.random(3), rng.normal(size=(5, 3))
    plain = (cells.T @ given - fantasy.T @ free) / 20, (cells - fantasy).mean(axis=0), (given - free).mean(axis=0)
    wanted = slow.centred_direction(cells, given, fantasy, free, mu, lam, pull)
    for found, value in zip(centred(*plain, mu, lam, pull), wanted):
        np.testing.assert_allclose(found, value, atol=1e-12)


def test_an_interrupted_training_goes_on_with_the_same_bits():
    process = in_training(complete(), averaging=0.5, rate_decay=0.5, centered=True)
    straight = process.open(0, process.start(0))
    for epoch in range(8):
        straight.step(epoch)
    state = process.start(0)
    for epoch in range(8):
        training = process.open(0, state)
        training.step(epoch)
        state = training.state()
    for found, wanted in zip(state, straight.state()):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("n_hidden", "scale"), [(3, 1.5), (20, 0.5), (9, 5.0)])
def test_unknown_cells_are_filled_given_all_others(n_hidden, scale):
    """With one unknown cell in a row nothing is left to chance but the hidden units, and these are summed over."""
    params = small_machine(5, 6, n_hidden, scale)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (30, 6)).astype(float)
    at = rng.integers(0, 6, 30)
    wanted = [slow.given_others(*params, row, j) for row, j in zip(X, at)]
    X[np.arange(30), at] = np.nan
    model = BoltzmannModel(n_hidden, "gibbs", 5)
    found = model.predict_cells_at(open_source(X).block(0), model.precompute(params), np.arange(30), at)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_growth_over_many_units():
    """Logarithms of products are taken before a product is no number any more."""
    rng = np.random.default_rng(0)
    on = rng.random(96, dtype=np.float32)
    for largest, links in ((1.0, 640), (20.0, 32), (80.0, 8)):
        grown = np.expm1(rng.uniform(-largest, largest, 96)).astype(np.float32)
        wanted = np.log1p(on.astype(float) * grown).sum()
        for take in (log_growth_at, getattr(log_growth_at, "py_func", log_growth_at)):
            found = take(on, grown, np.uint64(0), np.uint64(96), np.uint64(links))
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def hidden_loss(machine, X, mask):
    seen = np.where(mask, np.nan, X)
    filled = machine.fit(seen).impute(seen)
    return -np.log(np.where(X == 1, filled, 1 - filled)[mask]).mean()


def test_more_epochs_are_not_much_worse():
    X = make_mixture(600, 15, 4, spread=3.0, random_state=1).data.astype(float)
    mask = np.random.default_rng(0).random(X.shape) < 0.1
    losses = [hidden_loss(RestrictedBoltzmann(8, n_epochs=n, random_state=0), X, mask) for n in (30, 60, 120, 240)]
    for fewer, more in itertools.combinations(losses, 2):
        assert more < fewer + 0.01


def test_rates_far_apart_learn_the_same():
    X = make_mixture(600, 15, 4, spread=3.0, random_state=1).data.astype(float)
    mask = np.random.default_rng(0).random(X.shape) < 0.1
    losses = [hidden_loss(RestrictedBoltzmann(8, learning_rate=r, random_state=0), X, mask) for r in (0.1, 0.3, 1.0)]
    assert np.ptp(losses) < 0.02


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
        machine = RestrictedBoltzmann(
            4, learning_rate=50.0, rate_decay=0.0, averaging=0.0, centered=False, random_state=0
        ).fit(X)
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
        ({"rate_decay": 1.5}, "rate_decay must be below 1"),
        ({"averaging": -0.1}, "averaging must be"),
        ({"centered": 1}, "centered must be True or False"),
        ({"fill_in": "best"}, "fill_in must be one of"),
        ({"n_components": 20, "fill_in": "exact"}, "up to 12 hidden units"),
        ({"n_sweeps": 2}, "n_sweeps must be"),
    ):
        with pytest.raises(InputError, match=words):
            RestrictedBoltzmann(**{"n_components": 2, **options}).fit(X)


def test_chains_draw_what_weighing_all_hidden_states_draws(monkeypatch):
    exact = make_boltzmann(8_000, 8, 5, random_state=3)
    monkeypatch.setattr(generators, "MOST_WEIGHED", 0)
    chains = make_boltzmann(8_000, 8, 5, random_state=3)
    pairs, pairs_of_chains = (made.data.T @ made.data / len(made.data) for made in (exact, chains))
    np.testing.assert_array_equal(exact.couplings, chains.couplings)
    assert np.abs(pairs - pairs_of_chains).max() < 4 * np.sqrt(0.5 / 8_000)  # four standard errors
    assert np.abs(exact.hidden.mean(axis=0) - chains.hidden.mean(axis=0)).max() < 4 * np.sqrt(0.5 / 8_000)
    large = make_boltzmann(50, 30, 40, spread=0.5, random_state=0)
    assert large.hidden.shape == (50, 40) and len(np.unique(large.data, axis=0)) == 50
    with pytest.raises(InputError, match="n_components must be 1 or more; got 0"):
        make_boltzmann(10, 4, 0)
