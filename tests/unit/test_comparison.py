"""The comparison of families: what is hidden, what is asked, how it is scored and told."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation

import latentbits
from latentbits.data.holdout import HiddenRows, RowsSource, hidden_places
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.errors import FitError, InputError
from latentbits.evaluation import Adapted, compare
from latentbits.evaluation.scores import (
    auc,
    calibration_curve,
    calibration_error,
    paired,
    wide_calibration_error,
)
from latentbits.families import FAMILIES

QUICK = {"folds": 1, "n_components": [2, 3], "budget": 5}
UNHURRIED = {**QUICK, "budget": 29}  # the clock has no say


@pytest.fixture(scope="module")
def table():
    return make_mixture(240, 10, 3, spread=3.0, unknown=0.05, random_state=1).data


# What is hidden.


def test_hidden_cells_do_not_depend_on_the_rows_taken():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 12)) < 0.4).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    found = []
    for rows, block_rows in ((np.arange(300), 64), (np.sort(rng.permutation(300)[:120]), 300)):
        source = open_source(X, owner="test", block_rows=block_rows)
        # Draws are addressed by the first row of a block of the source, so that all of them are the same.
        hidden = HiddenRows(open_source(X, owner="test"), rows, 0.2, 7, asked=0, hidden=(1,), left_out=(2,))
        cells = {}
        for b in range(hidden.n_blocks):
            asked = hidden.hidden(b)
            for i, j, value in zip(rows[asked.rows + hidden.starts[b]], asked.columns, asked.values):
                cells[int(i), int(j)] = int(value)
            assert (hidden.block(b).at(asked.rows, asked.columns) == 2).all()
        found.append((rows, cells))
        assert source.shape == (300, 12)
    whole, part = found[0][1], found[1][1]
    taken = set(found[1][0].tolist())
    assert part == {cell: value for cell, value in whole.items() if cell[0] in taken}
    assert all(X[cell] == value for cell, value in whole.items())
    for draw in (1, 2):  # neither hidden beside nor left out
        assert not set(zip(*(part.tolist() for part in hidden_places(0, 300, 12, 0.2, 7, draw)))) & set(whole)


def test_rows_of_a_source():
    X = np.arange(40).reshape(10, 4) % 2
    some = RowsSource(open_source(X, owner="test", block_rows=3), np.array([1, 2, 5, 9]))
    assert some.shape == (4, 4) and some.starts.tolist() == [0, 2, 3, 4]
    codes = np.concatenate([some.block(b).codes() for b in range(some.n_blocks)])
    assert (codes == X[[1, 2, 5, 9]]).all()


# How it is scored.


def test_paired_standard_error_allows_for_rows():
    """In simulations with cells of a row alike, the standard error is the spread of the means."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 6)
    means, errors = [], []
    for _ in range(400):
        difference = np.repeat(rng.standard_normal(80), 6) + 0.3 * rng.standard_normal(480)
        found = paired(difference, np.zeros(480), groups)
        means.append(found.difference)
        errors.append(found.se)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.1)
    alone = paired(np.array([1.0, 2.0, 4.0]), np.zeros(3), np.arange(3))
    assert alone.se == pytest.approx(np.std([1, 2, 4], ddof=1) / np.sqrt(3))
    assert paired(np.ones(4), np.zeros(4), np.zeros(4)).se == np.inf  # one row says nothing


def test_calibration():
    rng = np.random.default_rng(1)
    on = rng.random(20000)
    values = (rng.random(20000) < on).astype(int)
    assert calibration_error(values, on) < 0.015 and wide_calibration_error(values, on) < 0.015
    assert calibration_error(values, on**2) > 0.1 and wide_calibration_error(values, on**2) > 0.1
    curve = calibration_curve(values, on)
    assert len(curve) == 20 and sum(b["n"] for b in curve) == 20000
    equal = calibration_curve(np.array([0, 1, 1, 1]), np.full(4, 0.5))
    assert equal == [{"predicted": 0.5, "observed": 0.75, "n": 4}]  # equal predictions stay together
    assert np.isnan(auc(np.ones(3), np.array([0.1, 0.2, 0.3])))


# Whole comparisons.


def test_all_families_answer(table):
    everyone = [family.name for family in FAMILIES if family.search is not None]
    found = compare(table, everyone, budget=1, folds=1, n_components=[2])
    assert len(found.table) == 16 and set(found.plan.left_out) <= {"boosting", "regressions"}
    assert all("log_loss" in row for row in found.table if row["model"] not in found.plan.left_out)
    kinds = {row["model"]: row.get("row_kind") for row in found.table}
    assert kinds["mixture"] == "exact" and kinds["noisy-or"] == "estimate"  # importance sampling, not the bound
    losses = [row["log_loss"] for row in found.table if "log_loss" in row]
    assert losses == sorted(losses)
    assert found.finding_ == "structure" and found.multi_cause_ in ("aspect", "noisy-or", "boltzmann")
    assert found.best_ in found.verdict or found.row(found.best_)["title"].lower() in found.verdict.lower()
    first = compare(table, ["dp", "mixture"], **QUICK)
    assert compare(table, ["dp", "mixture"], plan=first.plan, **QUICK).table == first.table
    with pytest.raises(InputError, match="it has no 'trait'"):
        compare(table, ["dp", "mixture", "trait"], plan=first.plan, **QUICK)
    with pytest.raises(InputError, match="plan is that of another table"):
        compare(table[:100], ["dp", "mixture"], plan=first.plan, **QUICK)


def test_containers_agree(table):
    whole = np.where(np.isnan(table), 0, table)
    dense = compare(whole, ["mixture"], **QUICK)
    assert compare(sp.csc_array(whole), ["mixture"], **QUICK).table == dense.table
    assert compare(whole + 3, ["mixture"], binarize=3.5, **QUICK).table == dense.table


def test_held_out_scores_are_those_of_a_fit_by_hand(table):
    """The baseline's numbers, written out: fitted to the rows not held, without the hidden cells."""
    found = compare(table, ["mixture"], **QUICK)
    row = found.row("independent")
    from latentbits.data.rng import stream

    order = stream(0, "rows", 0).permutation(240)
    held, rows = np.sort(order[: found.plan.n_held]), np.sort(order[found.plan.n_held :])
    hide = set(zip(*(part.tolist() for part in hidden_places(0, 240, 10, 0.1, 0, 0))))
    chosen = set(zip(*(part.tolist() for part in hidden_places(0, 240, 10, 0.1, 0, 1000))))
    seen = table.copy()
    for i, j in hide:
        seen[i, j] = np.nan
    model = latentbits.evaluation.IndependentColumns(pooled=True).fit(seen[rows])
    asked = [(i, j) for i, j in hide - chosen if i in set(rows.tolist()) and not np.isnan(table[i, j])]
    losses = [-np.log(model.probs_[j] if table[i, j] else 1 - model.probs_[j]) for i, j in asked]
    assert row["n_cells"] == len(asked) and row["log_loss"] == pytest.approx(np.mean(losses))
    assert row["row_log_likelihood"] == pytest.approx(model.score_samples(table[held]).mean())


def test_independent_columns_hold_nothing():
    rng = np.random.default_rng(0)
    X = (rng.random((400, 12)) < rng.random(12)).astype(float)
    found = compare(X, ["mixture", "trait"], folds=2, n_components=[2], budget=10)
    assert found.finding_ == "nothing" and found.verdict.startswith("Nothing to find")


def test_rare_ones_are_not_structure():
    """Sparse independent columns: pooling them is not finding anything."""
    for seed, (n_rows, n_columns, share) in enumerate([(60, 200, 0.01), (300, 150, 0.004), (1500, 60, 0.002)]):
        X = (np.random.default_rng(seed).random((n_rows, n_columns)) < share).astype(float)
        found = compare(X, ["mixture", "gtm"], folds=1, n_components={"mixture": [2], "gtm": [(3, 3)]}, budget=1)
        assert found.finding_ == "nothing", found.verdict


def test_constant_columns_are_no_question(table):
    both = np.column_stack([table, np.zeros(240), np.ones(240)])
    found = compare(both, ["mixture"], **QUICK)
    rows = np.arange(240)
    hidden = HiddenRows(open_source(both, owner="test"), rows, 0.3, 0, 0, columns=np.arange(10))
    assert max(hidden.hidden(b).columns.max() for b in range(hidden.n_blocks)) < 10
    assert found.row("independent")["log_loss"] > 0.4  # not watered down by cells that are no question


def test_a_hub_with_very_many_columns():
    """Messages of thousands of columns to one neither vanish nor become NaN."""
    rng = np.random.default_rng(0)
    hub = rng.random(80) < 0.5
    X = np.column_stack([hub, np.where(rng.random((80, 1200)) < 0.9, hub[:, None], ~hub[:, None])]).astype(float)
    X[0, :5] = np.nan
    tree = latentbits.ChowLiuTree().fit(X)
    assert np.isfinite(tree.score_samples(X)).all() and np.isfinite(tree.impute(X)).all()


def test_named_sizes_are_all_tried(table):
    found = compare(table, ["mixture"], n_components=range(2, 7), folds=1)
    tried = {fit["size"] for fit in found.searches if fit["model"] == "mixture"}
    assert tried == set(range(2, 7)) and found.row("mixture")["n_tried"] >= 5


def test_a_tie_is_no_difference(table):
    model = latentbits.BernoulliMixture(3, n_init=1, random_state=0)
    found = compare(table, [("a", model), ("b", model)], folds=1)
    assert found.row("b")["above_best"] == 0 and "indistinguishable" in found.verdict and "worse" not in found.verdict


def test_parts_of_another_model_are_not_used(table, tmp_path):
    losses = []
    for options in ({"max_iter": 1, "n_init": 1}, {"n_init": 4}):
        model = latentbits.BernoulliMixture(4, random_state=0, **options)
        found = compare(table, [("m", model)], folds=1, checkpoint=tmp_path)
        assert found.row("m")["log_loss"] == compare(table, [("m", model)], folds=1).row("m")["log_loss"]
        losses.append(found.row("m")["log_loss"])
    assert losses[0] != losses[1]


def test_no_family_is_left(table, monkeypatch):
    def fit(self, X, y=None, sample_weight=None):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr(latentbits.LatentTrait, "fit", fit)
    assert "log_loss" not in compare(table, ["mixture", "trait"], **QUICK).row("trait")
    with pytest.raises(FitError, match="no family could be fitted"):
        compare(table, ["trait"], **QUICK)


def test_adapted_models_join(table):
    models = [
        "mixture",
        Adapted(NMF(3, init="nndsvda", random_state=0, max_iter=500)),
        Adapted(KMeans(3, random_state=0)),
    ]
    models += [
        Adapted(LatentDirichletAllocation(3, max_iter=3, random_state=0)),
        ("pca", Adapted(PCA(2, random_state=0))),
    ]
    found = compare(table, models, **QUICK)
    losses = {row["model"]: row["log_loss"] for row in found.table if "log_loss" in row}
    assert set(losses) >= {"independent", "tree", "mixture", "NMF", "KMeans", "LatentDirichletAllocation", "pca"}
    assert losses["KMeans"] < losses["independent"] and losses["NMF"] < losses["independent"]
    assert found.row("NMF")["row_kind"] == "none"
    whole = Adapted(NMF(3, init="nndsvda", random_state=0, max_iter=500)).fit(np.nan_to_num(table))
    assert whole.reconstruct(table).shape == table.shape
    with pytest.raises(InputError, match="no way to rebuild"):
        Adapted(Odd()).fit(table)


class Odd(BaseEstimator):
    """Rebuilds nothing."""

    def fit(self, X):
        return self


def test_a_model_that_fails_is_told_of(table):
    class Broken(Adapted):
        def fit(self, X):
            raise ValueError("it broke")

    found = compare(table, ["mixture", ("broken", Broken(NMF(2)))], cells=0.3, **QUICK)
    row = found.row("broken")
    assert "log_loss" not in row and row["note"] == "it broke"
    assert "Could not be fitted: broken" in found.verdict


def test_errors_of_our_own_are_not_hidden(table, monkeypatch):
    """Only errors that a family tells of leave it out; a bug stays a bug."""

    def breaking(error):
        def fit(self, X, y=None, sample_weight=None):
            raise error

        return fit

    monkeypatch.setattr(latentbits.LatentTrait, "fit", breaking(FitError("no start could be completed")))
    row = compare(table, ["mixture", "trait"], **QUICK).row("trait")
    assert "log_loss" not in row and row["note"] == "no start could be completed"
    monkeypatch.setattr(latentbits.LatentTrait, "fit", breaking(TypeError("a bug")))
    with pytest.raises(TypeError, match="a bug"):
        compare(table, ["mixture", "trait"], **QUICK)


def test_finished_parts_are_not_done_again(table, tmp_path, monkeypatch):
    plain = compare(table, ["mixture", "trait"], **UNHURRIED)
    fits = []
    whole = latentbits.BernoulliMixture.fit
    monkeypatch.setattr(
        latentbits.BernoulliMixture, "fit", lambda self, *a, **k: fits.append(1) or whole(self, *a, **k)
    )

    def stop(done, total, note):
        if "latent trait" in note and "predicting" in note:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(table, ["mixture", "trait"], checkpoint=tmp_path, progress=stop, **UNHURRIED)
    before = len(fits)
    resumed = compare(table, ["mixture", "trait"], checkpoint=tmp_path, **UNHURRIED)
    assert before > 0 and len(fits) == before and resumed.table == plain.table and resumed.verdict == plain.verdict
    for file in tmp_path.iterdir():  # damaged parts are done again
        file.write_bytes(file.read_bytes()[:-7])
    assert (
        compare(table, ["mixture", "trait"], checkpoint=tmp_path, **UNHURRIED).table == plain.table
        and len(fits) > before
    )
    other = table.copy()
    other[0, 0] = 1 - np.nan_to_num(other[0, 0])
    assert (
        compare(other, ["mixture", "trait"], checkpoint=tmp_path, **UNHURRIED).table != plain.table
    )  # another table's are not used


def test_bad_requests(table):
    for options, message in (
        ({"cells": 0.9}, "cells"),
        ({"rows": 0.9}, "rows"),
        ({"folds": 0}, "folds"),
        ({"folds": 10**9}, "folds"),
        ({"n_components": [0, 2]}, "whole numbers, 1 or more; got 0"),
        ({"n_components": []}, "whole numbers, 1 or more"),
        ({"n_components": range(1, 10**12)}, "more than 1,000 sizes"),
        ({"n_components": [2, 5000]}, f"5000 is more than the {len(table)} rows"),
        ({"random_state": -1}, "random_state"),
        ({"budget": -3}, "budget"),
    ):
        with pytest.raises(InputError, match=message):
            compare(table, ["mixture"], **options)
    with pytest.raises(InputError, match="at least 20 rows"):
        compare(table[:5], ["mixture"])
    with pytest.raises(InputError, match=r"cell \(row 0, column 0\)"):
        compare(table + 7, ["mixture"])
    for constant in (0.0, 1.0, np.nan):
        with pytest.raises(InputError, match="0 of the 4 columns vary"):
            compare(np.full((50, 4), constant), ["mixture"])


def test_frame_and_estimator(table):
    found = compare(table, ["mixture"], **QUICK)
    assert found.to_frame()["model"].iloc[0] == found.table[0]["model"] and repr(found) == found.verdict
    again = found.estimator("mixture")
    assert again.n_components == found.row("mixture")["size"]
    full = {**found.candidate("mixture").full, **found.row("mixture")["options"]}
    assert full["smoothing"] and {name: getattr(again, name) for name in full} == full  # as it was compared


def test_families_that_do_not_fit_the_budget_are_left_out_and_told_of(table):
    found = compare(table, budget=0.5, folds=1)
    missing = {row["model"]: row["note"] for row in found.table if "log_loss" not in row}
    assert set(missing) == set(found.plan.left_out) and missing
    assert all(note.startswith("left out: a fit of about ") for note in missing.values())
    assert found.verdict.endswith(".") and "Not tried, to keep to the budget: " in found.verdict
    assert "Could not be fitted" not in found.verdict  # they were not tried
    tried = [one for one in found.candidates if one.name not in missing and one.is_family]
    assert len(tried) >= 4


def test_models_that_are_named_are_not_left_out(table):
    found = compare(table, ["dp", "gtm"], budget=0.1, folds=1)
    assert set(found.plan.left_out) <= {"regressions", "boosting"}
    assert {row["model"] for row in found.table if "log_loss" in row} >= {"dp", "gtm"}


def test_fits_in_processes_of_their_own_come_out_the_same(table, monkeypatch):
    monkeypatch.setattr("latentbits.evaluation.compare_families.WORTH_PROCESSES", 0.0)
    tables = []
    for n_jobs in (1, 2):
        found = compare(table, ["mixture", "trait"], n_components=[1, 2], folds=1, n_jobs=n_jobs)
        tables.append([{key: value for key, value in row.items() if key != "seconds"} for row in found.table])
    assert tables[0] == tables[1]
