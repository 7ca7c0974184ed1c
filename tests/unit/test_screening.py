"""Starts of large tables: all run for a while, the better half goes on, and all are told of."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from latentbits import AspectBernoulli, BernoulliMixture, LatentTrait, NoisyOrComponentAnalysis
from latentbits.base.screening import sample_size
from latentbits.datasets import make_mixture
from latentbits.errors import LatentBitsWarning

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


@pytest.mark.parametrize("family", [BernoulliMixture, AspectBernoulli, LatentTrait, NoisyOrComponentAnalysis])
def test_the_better_half_goes_on_and_all_are_told_of(table, family):
    k = 2 if family is LatentTrait else 4
    few = {"max_iter": 10, "surplus": 0} if family is NoisyOrComponentAnalysis else {}
    model = quiet(family(k, **{**OPTIONS, **few}), table)
    rows = model.restarts_
    assert [row["start"] for row in rows] == [0, 1, 2, 3] and sum(row["went_on"] for row in rows) == 2
    early = sorted((row["screening_objective"] for row in rows), reverse=True)
    assert {row["screening_objective"] for row in rows if row["went_on"]} == set(early[:2])
    assert all((row["objective"] is None) != row["went_on"] for row in rows)
    assert all(row["screening_n_iter"] >= 1 for row in rows) and len(model.history_) == 2
    assert "2 starts" in model.summary() and "better ones of 4 starts" in model.summary()
    plain = quiet(family(k, screen_starts=False, **{**OPTIONS, **few}), table)
    assert "went_on" not in plain.restarts_[0] and len(plain.history_) == 4
    # The better half is no worse than the worst of all.
    assert model.objective_ >= min(row["objective"] for row in plain.restarts_) - 1e-3 * len(table)


def test_noisy_or_is_screened_on_the_table_and_goes_on_where_it_stands(table):
    """A start that goes on is bit for bit the start that was never stopped."""
    options = {**OPTIONS, "max_iter": 24, "n_init": 2}
    model = quiet(NoisyOrComponentAnalysis(4, **options), table)
    plain = quiet(NoisyOrComponentAnalysis(4, screen_starts=False, **options), table)
    assert {row["screening_n_iter"] for row in model.restarts_} == {20}
    went_on = [row["start"] for row in model.restarts_ if row["went_on"]]
    assert model.history_ == [plain.history_[number] for number in went_on]
    for row in model.restarts_:
        assert row["screening_objective"] in plain.history_[row["start"]][:20]


def test_noisy_or_of_much_larger_tables_is_screened_on_a_sample_and_begins_anew(table, monkeypatch):
    from latentbits.base import screening

    monkeypatch.setattr(screening, "MOST_ROWS", 2000)
    options = {**OPTIONS, "max_iter": 22, "n_init": 2}
    model = quiet(NoisyOrComponentAnalysis(4, **options), table)
    plain = quiet(NoisyOrComponentAnalysis(4, screen_starts=False, **options), table)
    assert {row["screening_n_iter"] for row in model.restarts_} == {20}
    assert all(np.isfinite(row["screening_objective"]) for row in model.restarts_)
    went_on = [row["start"] for row in model.restarts_ if row["went_on"]]
    assert model.history_ == [plain.history_[number] for number in went_on]


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
