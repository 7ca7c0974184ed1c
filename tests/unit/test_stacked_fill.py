"""Models that fill cells together: weights, fits, answers, files; and the transformer around them."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import latentbits
from latentbits import Imputer, StackedFill
from latentbits.data.rng import stream
from latentbits.datasets import make_mixture
from latentbits.errors import FileError, InputError
from latentbits.evaluation.scores import Questions
from latentbits.evaluation.stacking import convex_weights, stacked

FEW = {"models": ["mixture", "trait"], "time_limit": 4.0, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    return make_mixture(240, 10, 3, spread=3.0, unknown=0.1, random_state=1).data


@pytest.fixture(scope="module")
def stack(table):
    return StackedFill(**FEW).fit(table)


@pytest.fixture(scope="module")
def imputer(table):
    return Imputer(["mixture", "trait"], time_limit=6.0, n_imputations=3, add_indicator=True, random_state=0).fit(table)


# Weights.


def test_weights_are_those_of_a_grid():
    """The EM ends where the likelihood of a mixture of three is largest on a fine grid of weights."""
    rng = np.random.default_rng(0)
    right = np.clip(rng.beta(5, 2, (300, 3)) * [1.0, 0.97, 0.9], 1e-4, 1)
    steps = np.linspace(0, 1, 101)
    grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-12]).clip(0)
    best = np.log(right @ grid.T).sum(axis=0).max()
    found = convex_weights(right)
    assert found.sum() == pytest.approx(1.0) and (found >= 0).all()
    assert np.log(right @ found).sum() >= best - 1e-3


def test_losses_of_a_stack_are_cross_fitted():
    """Pure noise: weights that look good on the cells they were found on do not gain on others."""
    rng = np.random.default_rng(1)
    asked = Questions(np.repeat(np.arange(50), 4), np.zeros(200, int), (rng.random(200) < 0.5).astype(np.uint8))
    noise = {f"n{i}": rng.uniform(0.3, 0.7, 200) for i in range(12)}
    found = stacked({"half": np.full(200, 0.5), **noise}, asked)
    on = np.stack([np.where(asked.values == 1, p, 1 - p) for p in (np.full(200, 0.5), *noise.values())], axis=1)
    assert found.log_loss > -np.log(on @ convex_weights(on)).mean()
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert list(found.weights.values()) == sorted(found.weights.values(), reverse=True)


def test_a_stack_predicts_about_as_well_as_the_best(table):
    found = latentbits.compare(table, ["mixture", "trait", "aspect"], n_components=[2, 3], folds=1, budget=5, rows=0.0)
    best = min(row["log_loss"] for row in found.table if "log_loss" in row)
    assert found.plan.n_held == 0 and found.stack().log_loss < best + 0.01
    assert set(found.stack(outside=True).weights) <= {"mixture", "trait", "aspect", "tree", "regressions", "boosting"}


# The estimator.


def test_answers_are_weighted_means(table, stack):
    parts = [w * one.reconstruct(table) for w, one in zip(stack.weights_, stack.members_)]
    assert np.abs(stack.reconstruct(table) - np.sum(parts, axis=0)).max() < 1e-12
    rows, columns = np.nonzero(np.isnan(table))
    at = stack.reconstruct(table, cells=(rows, columns))
    filled = stack.impute(table)
    assert np.abs(filled[rows, columns] - at).max() < 1e-12
    known = ~np.isnan(table)
    assert (filled[known] == table[known]).all() and not np.isnan(filled).any()
    assert (stack.impute(table, "mode")[rows, columns] == (at >= 0.5)).all()


def test_draws_follow_the_probabilities(table, stack):
    rows, columns = np.nonzero(np.isnan(table))
    at = stack.reconstruct(table, cells=(rows, columns))
    draws = np.mean([stack.impute(table, "sample", seed)[rows, columns] for seed in range(300)], axis=0)
    assert np.abs(draws - at).max() < 5 * 0.5 / np.sqrt(300) and np.abs(draws - at).mean() < 0.03


def test_kinds_of_tables(table, stack):
    frame = pd.DataFrame(table, columns=[f"q{j}" for j in range(10)], index=np.arange(240) + 7)
    of_frame = StackedFill(**FEW).fit(frame)
    filled = of_frame.impute(frame)
    assert list(filled.columns) == list(frame.columns) and (filled.index == frame.index).all()
    assert sp.issparse(stack.impute(sp.csr_array(table)))
    with pytest.raises(InputError, match="expecting 10 features"):
        stack.impute(table[:, :4])


def test_stacks_travel(table, stack, tmp_path):
    stack.save(tmp_path / "s.latentbits")
    again = latentbits.load(tmp_path / "s.latentbits")
    assert isinstance(again, StackedFill) and again.member_names_ == stack.member_names_
    assert (again.impute(table) == stack.impute(table)).all() and again.log_loss_ == stack.log_loss_
    (tmp_path / "s.latentbits").write_bytes((tmp_path / "s.latentbits").read_bytes()[:-9])
    with pytest.raises(FileError):
        latentbits.load(tmp_path / "s.latentbits")
    outside = StackedFill(["mixture"], outside=True, time_limit=2.0, random_state=0).fit(table)
    if {"regressions", "boosting"} & set(outside.member_names_):
        with pytest.raises(InputError, match="outside=False"):
            outside.save(tmp_path / "o.latentbits")


def test_commands_with_a_stack(tmp_path, capsys):
    """`impute` fills by it; commands about components say why they cannot."""
    from tests.unit.test_cli import run

    votes = latentbits.data.read_table(latentbits.datasets.embedded.path_of("votes"), label_columns=["party"])
    path = tmp_path / "stack.latentbits"
    StackedFill(["mixture"], time_limit=2.0, random_state=0).fit(votes.reader).save(path)
    assert len(run(capsys, "impute", path, "votes")[0].splitlines()) == 436
    for command, told in (("predict", "fill blanks together; use impute"), ("transform", "has no transform")):
        assert told in run(capsys, command, path, "votes", code=2)[1]


def test_tables_too_small_to_compare_are_filled_by_columns():
    X = np.array([[1, 0], [1, 1], [np.nan, 1], [1, np.nan]])
    model = StackedFill(time_limit=1).fit(X)
    assert np.isnan(model.log_loss_) and model.impute(X)[2, 0] > 0.5
    constant = np.vstack([np.ones((40, 3)), [[np.nan, 1, 1]]])
    assert StackedFill(time_limit=1).fit(constant).impute(constant)[-1, 0] > 0.9


def test_options_are_checked(table):
    for options, message in (
        ({"time_limit": 0}, "time_limit"),
        ({"outside": 3}, "outside"),
        ({"models": "nope"}, "nope"),
    ):
        with pytest.raises(InputError, match=message):
            StackedFill(**options).fit(table)
    with pytest.raises(InputError, match="n_imputations"):
        Imputer(n_imputations=0).fit(table)
    with pytest.raises(InputError, match="time_limit"):
        Imputer(time_limit=-1).fit(table)


def test_rivals_take_part_in_draws_and_pickles(table):
    """Models that claim no structure fill and draw, too; what was fitted travels through pickle and clone."""
    filler = Imputer(time_limit=2.0, random_state=0).fit(table)
    blank = np.isnan(table)
    outside = StackedFill(["mixture"], outside=True, time_limit=2.0, random_state=0).fit(table)
    drawn = np.mean([outside.impute(table, "sample", seed)[blank] for seed in range(200)], axis=0)
    assert np.abs(drawn - outside.impute(table)[blank]).mean() < 0.05
    (one,) = filler.transform_multiple(table)
    assert (one[~blank] == table[~blank]).all() and set(np.unique(one)) == {0.0, 1.0}
    again = pickle.loads(pickle.dumps(filler))
    assert (again.transform_proba(table) == filler.transform_proba(table)).all()
    assert clone(outside).outside is True


def test_members_that_fail_are_left_out(table, monkeypatch):
    """A fit to the whole table that fails costs its member, not the stack."""
    found = latentbits.compare(table, ["mixture", "trait"], n_components=[2, 3], folds=1, budget=5, rows=0.0)
    names = list(found.stack().weights)
    assert {"mixture", "trait"} & set(names)
    failing = latentbits.LatentTrait if "trait" in names else latentbits.BernoulliMixture

    def fit(self, X, y=None, sample_weight=None):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(failing, "fit", fit)
    model = StackedFill(random_state=0).adopt(found, table, 60.0)
    assert model.member_names_ and not any(isinstance(one, failing) for one in model.members_)
    assert model.log_loss_ == pytest.approx(found.stack_of(model.member_names_).log_loss)
    monkeypatch.undo()
    same = StackedFill(random_state=0).adopt(found, table, 0.0, names=model.member_names_)
    assert (same.impute(table) == model.impute(table)).all()  # as a plan repeats it


def test_long_tables_are_fitted_to_some_rows(table):
    found = latentbits.compare(table, ["mixture"], n_components=[3], folds=1, budget=5, rows=0.0)
    long = np.vstack([table] * 40)
    began = time.perf_counter()
    model = StackedFill(random_state=0).adopt(found, long, 1e-6)
    assert time.perf_counter() - began < 20 and len(model.members_) == 1
    assert not np.isnan(model.impute(long)).any()


def test_tables_with_few_known_cells_are_filled(table):
    few = np.where(np.random.default_rng(1).random((60, 2)) < 0.9, np.nan, 1.0)
    few[:3, 0], few[3:6, 1] = 0.0, 0.0
    assert not np.isnan(StackedFill(time_limit=1, random_state=1).fit(few).impute(few)).any()


def test_sparse_tables_stay_sparse(table):
    sparse = sp.csr_array(table)
    model = Imputer(["mixture"], time_limit=2.0, add_indicator=True, random_state=0).fit(sparse)
    out, blank = model.transform(sparse), np.isnan(table)
    assert sp.issparse(out) and (out.toarray()[:, 10:] == blank[:, model.features_with_blanks_]).all()
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["a"])


# The transformer.


def test_blanks_are_filled_and_told_of(table, imputer):
    filled, blank = imputer.transform(table), np.isnan(table)
    shown = imputer.features_with_blanks_
    assert filled.shape == (240, 10 + len(shown)) and set(np.unique(filled)) == {0.0, 1.0}
    assert (filled[:, 10:] == blank[:, shown]).all() and (filled[:, :10][~blank] == table[~blank]).all()
    back = imputer.inverse_transform(filled)
    assert (np.isnan(back) == blank).all() and (back[~blank] == table[~blank]).all()
    names = imputer.get_feature_names_out()
    assert names[0] == "x0" and names[-1] == f"missingindicator_x{shown[-1]}" and len(names) == filled.shape[1]
    chances = imputer.transform_proba(table)[:, :10]
    assert ((chances[blank] >= 0.5) == (filled[:, :10][blank] == 1)).all()


def test_several_tables_differ_in_their_blanks_only(table, imputer):
    several, blank = imputer.transform_multiple(table), np.isnan(table)
    assert len(several) == 3
    assert all((one[:, :10][~blank] == table[~blank]).all() and not np.isnan(one).any() for one in several)
    assert any((several[0] != one).any() for one in several[1:])
    assert all((one == two).all() for one, two in zip(several, imputer.transform_multiple(table)))


@pytest.mark.slow
def test_multiple_imputation_covers():
    """Rubin's intervals of a mean with a fifth of its cells blank, where other columns tell: 90 % of them hold the truth."""
    hits, n_tables = 0, 20
    for seed in range(n_tables):
        whole = make_mixture(150, 6, 2, spread=3.0, random_state=seed).data.astype(float)
        table = whole.copy()
        table[stream(seed, "cells", 0).random(150) < 0.3, 0] = np.nan
        drawn = Imputer(["mixture"], time_limit=1.0, n_imputations=5, random_state=seed).fit(table)
        means = np.array([one[:, 0].mean() for one in drawn.transform_multiple(table)])
        within = np.mean([m * (1 - m) / 150 for m in means])
        se = np.sqrt(within + 1.2 * means.var(ddof=1))
        hits += abs(means.mean() - whole[:, 0].mean()) <= 1.96 * se
    assert hits >= 17


def test_in_a_pipeline(table):
    y = (np.nan_to_num(table[:, 0], nan=0.5) + np.nan_to_num(table[:, 1], nan=0.5) > 1).astype(int)
    model = make_pipeline(Imputer(["mixture"], time_limit=2.0, random_state=0), LogisticRegression())
    assert model.fit(table, y).score(table, y) > 0.8
    frame = pd.DataFrame(table, columns=[f"q{j}" for j in range(10)])
    out = (
        Imputer(["mixture"], time_limit=2.0, random_state=0).set_output(transform="pandas").fit(frame).transform(frame)
    )
    assert list(out.columns) == list(frame.columns)
    assert clone(Imputer(["mixture"], n_imputations=4)).get_params()["n_imputations"] == 4


def test_capacity_curves(table):
    import matplotlib.pyplot as plt

    found = latentbits.compare(table, ["mixture", "trait"], folds=1, budget=5)
    points = found.capacity("mixture")
    assert len(points) > 1 and [p["size"] for p in points] == sorted({p["size"] for p in points})
    least = min(fit["log_loss"] for fit in found.searches if fit["model"] == "mixture")
    assert min(p["log_loss"] for p in points) == pytest.approx(least)
    ax = found.plot_sizes()
    assert len([line for line in ax.get_lines() if len(line.get_xdata()) > 1]) >= 1
    with pytest.raises(InputError, match="no model 'nope'"):
        latentbits.plots.capacity(found, ["nope"])
    plt.close("all")
