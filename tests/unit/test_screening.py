"""Starts of large tables: all run for a while, the better half goes on, and all are told of."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BernoulliMixture, LatentTrait, NoisyOrComponentAnalysis
from latentbits.base.screening import sample_size
from latentbits.datasets import make_mixture
from latentbits.engine.checkpoint import read_sealed, write_sealed
from latentbits.errors import FileError, LatentBitsWarning

NOISY = {"n_init": 3, "random_state": 0, "max_iter": 60, "tol": 1e-6, "surplus": 2}
OPTIONS = {"n_init": 4, "random_state": 0, "max_iter": 150, "tol": 1e-5}


@pytest.fixture(scope="module")
def table():
    return make_mixture(8200, 24, 4, spread=1.5, density=0.3, random_state=0).data


def quiet(estimator, X, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return estimator.fit(X, **more)


def test_sizes_of_samples():
    assert sample_size(7999) == 0 and sample_size(8000) == 2000 and sample_size(10**6) == 8192


@pytest.mark.parametrize("family", [BernoulliMixture, AspectBernoulli, LatentTrait])
def test_the_better_half_goes_on_and_all_are_told_of(table, family):
    k = 2 if family is LatentTrait else 4
    model = quiet(family(k, **OPTIONS), table)
    rows = model.restarts_
    assert [row["start"] for row in rows] == [0, 1, 2, 3] and sum(row["went_on"] for row in rows) == 2
    early = sorted((row["screening_objective"] for row in rows), reverse=True)
    assert {row["screening_objective"] for row in rows if row["went_on"]} == set(early[:2])
    assert all((row["objective"] is None) != row["went_on"] for row in rows)
    assert all(row["screening_n_iter"] >= 1 for row in rows) and len(model.history_) == 2
    assert "2 starts" in model.summary() and "better ones of 4 starts" in model.summary()
    plain = quiet(family(k, screen_starts=False, **OPTIONS), table)
    assert "went_on" not in plain.restarts_[0] and len(plain.history_) == 4
    if family is BernoulliMixture:  # the sample only ranks: starts that go on end where they would without it
        gone_on = [row for row in rows if row["went_on"]]
        assert model.history_ == [plain.history_[row["start"]] for row in gone_on]
        assert all(row["objective"] == plain.restarts_[row["start"]]["objective"] for row in gone_on)
    # The better half is no worse than the worst of all.
    assert model.objective_ >= min(row["objective"] for row in plain.restarts_) - 1e-3 * len(table)


@pytest.fixture(scope="module")
def narrow(table):
    """Few distinct rows, so that passes are short."""
    return table[:, :10]


@pytest.fixture(scope="module")
def noisy(narrow):
    """A fit whose starts are compared, and one that carries all of them to the end."""
    return [quiet(NoisyOrComponentAnalysis(3, screen_starts=s, **NOISY), narrow) for s in (True, False)]


def test_noisy_or_starts_wait_in_their_last_stage_and_the_better_ones_go_on(noisy):
    """A start that goes on is bit for bit the start that did not wait."""
    model, plain = noisy
    rows = model.restarts_
    assert [row["start"] for row in rows] == [0, 1, 2] and sum(row["went_on"] for row in rows) == 1
    [went_on] = [row for row in rows if row["went_on"]]
    assert went_on["screening_objective"] == max(row["screening_objective"] for row in rows)
    assert all((row["objective"] is None) != row["went_on"] for row in rows)
    assert model.history_ == [plain.history_[went_on["start"]]] and "best value reached in 1 of 1" in model.summary()
    for row, history in zip(rows, plain.history_):
        assert row["screening_objective"] in history and row["screening_n_iter"] < len(history) + 3
    assert model.objective_ == plain.restarts_[went_on["start"]]["objective"]


@pytest.mark.parametrize("stop_after", [3, 30, 75])
def test_noisy_or_that_was_interrupted_goes_on_where_it_was(narrow, noisy, tmp_path, stop_after):
    """In a start, while others wait, and when one of them goes on: nothing is done twice."""
    path, seen = tmp_path / "c", []

    def interrupt(event):
        seen.append(event.restart)
        if len(seen) == stop_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet(NoisyOrComponentAnalysis(3, checkpoint=path, callbacks=[interrupt], **NOISY), narrow)
    after = []
    resumed = quiet(NoisyOrComponentAnalysis(3, checkpoint=path, callbacks=[after.append], **NOISY), narrow)
    straight = noisy[0]
    assert resumed.restarts_ == straight.restarts_ and resumed.history_ == straight.history_
    passes = sum(row["screening_n_iter"] for row in straight.restarts_)
    [went_on] = [row for row in straight.restarts_ if row["went_on"]]
    assert len(seen) + len(after) == passes + went_on["n_iter"] - went_on["screening_n_iter"]


def test_noisy_or_that_is_stopped_keeps_the_best_of_the_starts_that_wait(narrow, noisy):
    """A start in its first passes is no match for those that have come to their last stage."""
    passes = noisy[0].restarts_[0]["screening_n_iter"]
    seen = []
    model = quiet(
        NoisyOrComponentAnalysis(3, callbacks=[lambda e: seen.append(e) or len(seen) == passes + 2], **NOISY), narrow
    )
    assert [row["start"] for row in model.restarts_] == [0, 1] and not model.converged_
    assert model.objective_ == pytest.approx(noisy[0].restarts_[0]["screening_objective"], abs=1e-6)


def test_callbacks_of_scikit_learn_hear_of_every_start_once(narrow, noisy):
    """A start that waits is no start that has ended, and one that goes on is no new one."""
    pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    ended = []

    class Watch:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context):
            ended.append(context.task_name)

    quiet(NoisyOrComponentAnalysis(3, **NOISY).set_callbacks(Watch()), narrow)
    rows = noisy[0].restarts_
    passes = sum(row["n_iter"] for row in rows)
    assert [ended.count(name) for name in ("fit", "start", "iteration")] == [1, 3, passes]


def test_a_damaged_checkpoint_of_starts_that_wait_is_refused(narrow, tmp_path):
    path, seen = tmp_path / "c", []

    def interrupt(event):
        seen.append(event.waits)
        if sum(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet(NoisyOrComponentAnalysis(3, checkpoint=path, callbacks=[interrupt], **NOISY), narrow)
    header, arrays = read_sealed(path, "checkpoint")
    for damage in (
        lambda h: h.pop("paused"),
        lambda h: h["paused"][0].__setitem__(0, 7),
        lambda h: h["paused"][0].__setitem__(1, [1, 2]),
        lambda h: h["paused"][0].__setitem__(2, []),
        lambda h: h["shapes"].pop("paused0.point"),
    ):
        damaged = json.loads(json.dumps(header))
        damage(damaged)
        write_sealed(path, "checkpoint", damaged, arrays)
        with pytest.raises(FileError, match="no checkpoint of a fit"):
            quiet(NoisyOrComponentAnalysis(3, checkpoint=path, **NOISY), narrow)


def test_the_same_bits_whatever_the_container_the_threads_and_the_checkpoint(table, tmp_path):
    whole = quiet(BernoulliMixture(3, **OPTIONS), table)
    for other, options in ((sp.csr_array(table), {}), (table, {"n_jobs": 2}), (table, {"checkpoint": tmp_path / "c"})):
        again = quiet(BernoulliMixture(3, **{**OPTIONS, **options}), other)
        assert again.objective_ == whole.objective_ and again.restarts_ == whole.restarts_


def test_what_is_not_screened(table):
    kept = quiet(BernoulliMixture(3, average_restarts=True, **OPTIONS), table)
    assert len(kept.history_) == 4
    single = quiet(BernoulliMixture(3, **{**OPTIONS, "n_init": 1}), table)
    assert "went_on" not in single.restarts_[0]
    few = np.repeat(table[:50], 200, axis=0)  # many rows, few of them distinct
    assert "went_on" not in quiet(BernoulliMixture(3, **OPTIONS), few).restarts_[0]


def test_a_start_that_fails_on_the_sample_is_told_of(table, monkeypatch):
    from latentbits.base import screening

    plain, calls = screening.em, []

    def failing(*args):
        calls.append(1)
        if len(calls) == 2:
            raise FloatingPointError("no number")
        return plain(*args)

    monkeypatch.setattr(screening, "em", failing)
    model = quiet(BernoulliMixture(3, **OPTIONS), table)
    failed = model.restarts_[1]
    assert (
        failed["error"] == "FloatingPointError: no number"
        and not failed["went_on"]
        and failed["screening_objective"] is None
    )
    assert sum(row["went_on"] for row in model.restarts_) == 1
    monkeypatch.setattr(screening, "em", lambda *args: (_ for _ in ()).throw(FloatingPointError("no number")))
    assert "went_on" not in quiet(BernoulliMixture(3, **OPTIONS), table).restarts_[0]  # the table itself is tried


def test_pictures_of_starts_name_those_that_went_on(table):
    import matplotlib.pyplot as plt

    from latentbits import plots

    model = quiet(BernoulliMixture(3, **OPTIONS), table)
    went_on = [f"start {row['start']}" for row in model.restarts_ if row["went_on"]]
    ax = plots.restarts(model)
    assert [line.get_label() for line in ax.get_lines()] == went_on
    ends = {row["start"]: row["objective"] for row in model.restarts_ if row["went_on"]}
    assert [line.get_ydata()[-1] for line in ax.get_lines()] == pytest.approx(list(ends.values()), rel=1e-9)
    plt.close(ax.figure)


def test_a_time_limit_holds_while_starts_are_screened(table):
    model = quiet(BernoulliMixture(3, time_limit=1e-6, **OPTIONS), table)
    assert not model.converged_ and np.isfinite(model.objective_)
    assert [row["start"] for row in model.restarts_] == [0]
