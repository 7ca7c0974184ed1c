"""Fits that begin in float32: the same ends as in float64, and nothing of float32 in what is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import (
    PLSA,
    AspectBernoulli,
    BernoulliGaussMixture,
    BernoulliMixture,
    BinaryGTM,
    LatentTrait,
    VariationalBernoulliMixture,
)
from latentbits.base import fitting
from latentbits.data.source import open_source
from latentbits.data.values import REALS
from latentbits.datasets import make_mixture
from latentbits.engine.em import EMOptions, Point, State, em
from latentbits.engine.protocols import SinglePrecision
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import LatentBitsWarning

# Without jumps, whose path a last digit can turn another way.
BITS = {
    "mixture": lambda **more: BernoulliMixture(3, accelerate=False, **more),
    "aspect": lambda **more: AspectBernoulli(3, accelerate=False, **more),
    "map": lambda **more: BinaryGTM((4, 3), accelerate=False, **more),
    "trait": lambda **more: LatentTrait(2, bound="jaakkola", **more),
}
NUMBERS = {
    "plsa": lambda **more: PLSA(3, **more),
    "gauss": lambda **more: BernoulliGaussMixture(3, n_keywords=3, init="random", **more),
}
FAMILIES = BITS | NUMBERS


@pytest.fixture(autouse=True)
def small_tables_too(monkeypatch):
    monkeypatch.setattr(fitting, "MIXED_FROM", 0)
    monkeypatch.setenv("LATENTBITS_STRICT", "1")


def table_for(name, density=0.5):
    if name in NUMBERS:
        counts = np.random.default_rng(0).poisson(1.5, (90, 12)).astype(float)
        counts[:45, :6] += 3.0
        return counts
    return make_mixture(240, 14, 3, unknown=0.1 if density == 0.5 else 0.0, density=density, random_state=1).data


def fitted(name, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return FAMILIES[name](**{"n_init": 1, "random_state": 0, **options}).fit(X)


def singles(model):
    """Arrays of float32 among the parameters."""
    flat = [model._params]
    found = []
    while flat:
        value = flat.pop()
        if isinstance(value, tuple):
            flat += value
        elif isinstance(value, np.ndarray) and value.dtype == np.float32:
            found.append(value)
    return found


@pytest.mark.parametrize("density", [0.1, 0.5])
@pytest.mark.parametrize("name", FAMILIES)
def test_mixed_ends_where_double_ends(name, density):
    X = table_for(name, density)
    mixed, double = (fitted(name, X, precision=precision, tol=1e-8, max_iter=5000) for precision in ("mixed", "double"))
    assert mixed.objective_ == pytest.approx(double.objective_, abs=1e-4 * len(X))
    assert mixed.converged_ and mixed.objective_.__class__ is float and not singles(mixed)
    assert (
        len(mixed.history_[0]) != len(double.history_[0]) or mixed.history_ != double.history_
    )  # it took another path
    np.testing.assert_allclose(mixed.score_samples(X).mean(), double.score_samples(X).mean(), atol=0.05)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_pass_in_float32_is_near_one_in_float64(name, weighted):
    X = table_for(name)
    model = fitted(name, X, max_iter=5, precision="double")
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float) if weighted else None
    more = {"binarize": REALS} if name in NUMBERS else {}
    block = open_source(X, block_rows=len(X), sample_weight=weights, **more).block(0)
    maths, params = model._model, model._params
    if name == "aspect":
        params = params._replace(tally=None, latent=None)
    assert isinstance(maths, SinglePrecision)
    rows = maths.init_rows(block, params, 0, 0) if maths.has_row_state else None
    double, single = maths.precompute(params), maths.precompute_single(params)
    wanted, _ = maths.e_step(block, rows, double)
    found, _ = maths.e_step_single(block, rows, single)
    wanted, found = maths.finalize_stats(double, wanted), maths.finalize_stats(single, found)
    assert maths.objective(single, found) == pytest.approx(maths.objective(double, wanted), rel=1e-5)
    for mine, theirs in zip(found, wanted):
        if isinstance(theirs, np.ndarray):
            assert mine.dtype == np.float64 and mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", BITS)
def test_the_same_bits_whatever_the_container_and_the_threads(name, tmp_path):
    X = table_for(name, 0.1)
    whole = fitted(name, X, block_rows=50)
    for other, options in ((sp.csr_array(X), {}), (X.tolist(), {}), (X, {"n_jobs": 2})):
        again = fitted(name, other, block_rows=50, **options)
        assert again.history_ == whole.history_ and again.objective_ == whole.objective_


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("stop_after", [2, 5])
def test_a_fit_that_is_stopped_in_float32_tells_float64(name, stop_after):
    X = table_for(name)
    passes = []

    def stop(event):
        passes.append(event.step.state.single)
        return len(passes) >= stop_after

    model = fitted(name, X, callbacks=[stop], tol=0.0)
    assert all(passes) and not model.converged_ and not singles(model)
    again = fitted(name, X, max_iter=stop_after + 2, tol=0.0)  # the last passes are float64 in any case
    assert again.history_[0][:stop_after] == model.history_[0][:stop_after]


@pytest.mark.parametrize("name", ["mixture", "aspect", "trait", "plsa"])
def test_resumed_in_float32_is_straight(name, tmp_path):
    X, options = table_for(name), {"max_iter": 12, "tol": 0.0, "block_rows": 40}
    straight = fitted(name, X, **options)
    for stop_after in (1, 3, 9, 11):
        path, seen = tmp_path / f"{stop_after}.checkpoint", []

        def interrupt(event, seen=seen, stop_after=stop_after):
            seen.append(event.step.state.single)
            if len(seen) == stop_after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fitted(name, X, checkpoint=path, callbacks=[interrupt], **options)
        resumed = fitted(name, X, checkpoint=path, **options)
        assert resumed.history_ == straight.history_ and resumed.objective_ == straight.objective_


def test_the_driver_leaves_float32_in_time():
    X = table_for("mixture")
    model = fitted("mixture", X, max_iter=1)
    sweep = LocalSweep(open_source(X), 1)
    begin = State(Point(model._params, [None] * sweep.n_blocks))
    steps = list(em(model._model, sweep, begin, EMOptions(max_iter=9, tol=0.0, mixed=True, accelerate=False)))
    single = [step.state.single for step in steps]
    assert len(steps) == 9 and single == [True] * 6 + [False] * 3  # after pass 7 of 9 two are left
    assert not steps[-1].state.single and steps[-1].last
    settled = list(em(model._model, sweep, begin, EMOptions(max_iter=500, tol=1e-3, scale=3000.0, mixed=True)))
    assert settled[-1].settled and settled[-1].last and not settled[-1].state.single
    plain = list(em(model._model, sweep, begin, EMOptions(max_iter=3, tol=0.0)))
    assert not any(step.state.single for step in plain)


def test_variational_mixtures_begin_in_float32_too():
    X = table_for("mixture")
    options = {"n_init": 1, "random_state": 0, "tol": 1e-9}
    mixed, double = (VariationalBernoulliMixture(3, precision=p, **options).fit(X) for p in ("mixed", "double"))
    assert mixed.objective_ == pytest.approx(double.objective_, abs=1e-3)
