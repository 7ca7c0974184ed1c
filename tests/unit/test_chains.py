"""The chains driver and the diagnostics of draws."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import t as student

from latentbits import BayesianBernoulliMixture, DPBernoulliMixture
from latentbits.datasets import make_mixture
from latentbits.engine.chains import Plan
from latentbits.errors import FileError, LatentBitsWarning, NotConvergedWarning
from latentbits.maths import mcmc_diagnostics as diagnostics
from latentbits.testing.contracts import assert_same_bits

pytestmark = pytest.mark.filterwarnings("ignore::latentbits.errors.LatentBitsWarning")

SHORT = {"n_chains": 4, "n_warmup": 10, "n_draws": 15, "thin": 2, "random_state": 3}


@pytest.fixture(scope="module")
def table():
    return make_mixture(150, 12, 3, unknown=0.1, random_state=0).data


def same_draws(a, b):
    assert_same_bits(a, b)
    for ours, theirs in zip(a.draws_, b.draws_):
        assert ours.tobytes() == theirs.tobytes()
    assert a.trace_.tobytes() == b.trace_.tobytes()


def test_plan():
    plan = Plan(5, 3, 2)
    assert plan.n_steps == 11 and [n for n in range(1, 12) if plan.keeps(n)] == [7, 9, 11]


@pytest.mark.parametrize("learn", [{}, {"learn_weight_concentration": True, "learn_cells": "feature"}])
def test_threads_and_processes_do_not_matter(table, learn):
    serial = DPBernoulliMixture(**SHORT, **learn).fit(table)
    same_draws(serial, DPBernoulliMixture(**SHORT, **learn, n_jobs=2).fit(table))
    with parallel_config(backend="loky", n_jobs=2):
        same_draws(serial, DPBernoulliMixture(**SHORT, **learn, n_jobs=2).fit(table))


def test_chains_are_independent_of_each_other(table):
    """The first chains of many are the chains of few."""
    many, few = (BayesianBernoulliMixture(4, **{**SHORT, "n_chains": n}).fit(table) for n in (4, 2))
    assert (many.draws_.labels[:2] == few.draws_.labels).all()
    assert not (many.draws_.labels[0] == many.draws_.labels[1]).all()


def test_longer_runs_go_on_where_shorter_ones_end(table):
    short, long = (DPBernoulliMixture(**{**SHORT, "n_draws": n}).fit(table) for n in (5, 15))
    assert (long.draws_.labels[:, :5] == short.draws_.labels).all()


SCRIPT = """
import sys
from tests.unit.test_chains import run
run(*sys.argv[1:])
"""


def run(folder, out):
    """Run chains on the table of a folder, with a checkpoint, say every sweep, and save the model."""
    folder = Path(folder)
    model = DPBernoulliMixture(n_chains=2, n_warmup=40, n_draws=40, thin=1, random_state=5)
    model.set_params(learn_weight_concentration=True, learn_cells="shared")
    model.set_params(checkpoint=folder / "fit.checkpoint", callbacks=[lambda event: print("sweep", flush=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.load(folder / "table.npy")).set_params(checkpoint=None, callbacks=None).save(out)


def ended(folder, after, sign):
    """Run the chains in a process of its own, and end it when that many sweeps were heard of; its exit code."""
    environment = {**os.environ, "LATENTBITS_CHECKPOINT_SECONDS": "0"}
    command = [sys.executable, "-c", SCRIPT, folder, folder / "resumed"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=root
    ) as process:
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(sign)
        process.communicate()
        return process.returncode


@pytest.fixture(scope="module")
def straight(table, tmp_path_factory):
    """What chains that were not disturbed give."""
    folder = tmp_path_factory.mktemp("straight")
    np.save(folder / "table.npy", table)
    run(folder, folder / "straight")
    return (folder / "straight").read_bytes()


@pytest.mark.parametrize("seed", [pytest.param(s, marks=pytest.mark.slow) if s else s for s in range(8)])
def test_killed_at_random_moments(table, straight, tmp_path, seed):
    """Three kills a time, at twenty random moments and more in all; the draws are the same to the bit."""
    np.save(tmp_path / "table.npy", table)
    rng = np.random.default_rng(seed)
    for _ in range(3 if seed else 1):
        assert ended(tmp_path, int(rng.integers(1, 50)), signal.SIGKILL) == -signal.SIGKILL
    run(tmp_path, tmp_path / "resumed")
    assert straight == (tmp_path / "resumed").read_bytes()


def test_asked_to_end(table, straight, tmp_path):
    """SIGTERM writes the state first, then ends the process."""
    np.save(tmp_path / "table.npy", table)
    assert ended(tmp_path, 20, signal.SIGTERM) != 0
    assert (tmp_path / "fit.checkpoint").exists() and not (tmp_path / "resumed").exists()
    run(tmp_path, tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == straight


def test_foreign_checkpoints(table, tmp_path):
    path = tmp_path / "chains.checkpoint"
    DPBernoulliMixture(**SHORT, checkpoint=path).fit(table)
    with pytest.raises(FileError, match=r"another fit \(it differs in: options"):
        DPBernoulliMixture(2.0, **SHORT, checkpoint=path).fit(table)
    with pytest.raises(FileError, match="table"):
        DPBernoulliMixture(**SHORT, checkpoint=path).fit(1 - table)


def test_time_limit(table):
    model = BayesianBernoulliMixture(3, n_chains=2, n_warmup=10**6, n_draws=5, time_limit=0.2, random_state=0)
    with pytest.warns(NotConvergedWarning, match="of 1000010 sweeps per chain"):
        model.fit(table)
    assert model.draws_.labels.shape[:2] == (2, 1) and np.isfinite(model.reconstruct(table)).all()
    assert (model.draws_.log_joint[:, 0] == [path[-1] for path in model.history_]).all()  # of the state that is kept


def test_rhat_and_ess_are_those_of_arviz():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    for kind in range(6):
        x = rng.normal(size=(4, 120))
        if kind == 1:
            x = np.cumsum(x, axis=1)
        elif kind == 2:
            x += np.arange(4)[:, None]
        elif kind == 3:
            x = np.round(x)
        elif kind == 4:
            x = rng.standard_cauchy((3, 201))
        elif kind == 5:
            x = x[:1]
        if kind < 5:  # of one chain ArviZ gives none
            np.testing.assert_allclose(diagnostics.rhat(x), float(arviz.rhat(x, method="rank")), rtol=1e-6)
        np.testing.assert_allclose(diagnostics.ess_bulk(x), float(arviz.ess(x, method="bulk")), rtol=1e-6)
        np.testing.assert_allclose(
            diagnostics.ess_tail(x), float(arviz.ess(x, method="tail", prob=(0.05, 0.95))), rtol=1e-6
        )


def test_rhat_at_the_edges():
    assert np.isnan(diagnostics.rhat(np.ones((3, 50)))) and np.isnan(diagnostics.rhat(np.ones((3, 2))))
    for levels in ([1.0, 2.0], [16.0, 17.0, 17.0], [16.0, 17.0, 17.0, 18.0]):
        stuck = np.repeat(np.array(levels)[:, None], 50, axis=1)
        assert diagnostics.rhat(stuck) == np.inf
    row = diagnostics.diagnose("x", np.ones((3, 50)))
    assert row["state"] == "constant" and np.isnan(row["rhat"])
    assert diagnostics.diagnose("x", stuck)["state"] == "unmixed"
    assert diagnostics.diagnose("x", np.arange(7.0)[None])["state"] == "too few draws"


def heavy_tailed(arviz):
    """Log likelihoods (400 draws, 30 cells), and the same as ArviZ takes them."""
    rng = np.random.default_rng(1)
    log_likelihood = 0.3 * student.logpdf(rng.standard_t(4, (400, 30)), 4) + rng.normal(size=30)
    groups = {"log_likelihood": {"x": log_likelihood[None]}, "posterior": {"x": log_likelihood[None, :, 0]}}
    is_new = int(arviz.__version__.partition(".")[0]) >= 1
    return log_likelihood, arviz.from_dict(groups) if is_new else arviz.from_dict(**groups)


def test_loo_is_that_of_arviz():
    arviz = pytest.importorskip("arviz")
    log_likelihood, data = heavy_tailed(arviz)
    found = diagnostics.loo(log_likelihood)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # tails that are too heavy
        theirs = arviz.loo(data, pointwise=True, reff=1.0)
    np.testing.assert_allclose(found.pareto_k, theirs.pareto_k, rtol=1e-6)
    np.testing.assert_allclose(found.pointwise, theirs.elpd_i if hasattr(theirs, "elpd_i") else theirs.loo_i, rtol=1e-6)


def test_waic_is_that_of_arviz():
    arviz = pytest.importorskip("arviz")
    if not hasattr(arviz, "waic"):
        pytest.skip("ArviZ has no WAIC since release 1.0")
    log_likelihood, data = heavy_tailed(arviz)
    with np.errstate(all="ignore"):
        theirs = arviz.waic(data)
    np.testing.assert_allclose(diagnostics.waic(log_likelihood).elpd, float(theirs.elpd_waic), rtol=1e-9)


def test_to_arviz(table, monkeypatch):
    arviz = pytest.importorskip("arviz")
    model = DPBernoulliMixture(**SHORT, answer_draws=4).fit(table)
    data = model.to_arviz(table)
    assert data.posterior["n_blocks"].shape == (4, 15) and data.sample_stats["lp"].shape == (4, 15)
    assert data.log_likelihood["rows"].shape == (4, 15, 150)
    np.testing.assert_allclose(
        float(arviz.rhat(data.posterior["entropy"].values)), model.diagnostics_[3]["rhat"], rtol=1e-6
    )
    new = types.SimpleNamespace(__version__="1.0.1", from_dict=lambda groups: groups)
    monkeypatch.setitem(sys.modules, "arviz", new)
    assert set(model.to_arviz()) == {"posterior", "sample_stats"}
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"latentbits\[bayes\]"):
        model.to_arviz()


def test_warnings_are_typed():
    from latentbits.errors import BlocksWarning, UnmixedChainsWarning

    assert issubclass(UnmixedChainsWarning, LatentBitsWarning) and issubclass(BlocksWarning, LatentBitsWarning)
