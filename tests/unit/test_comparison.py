"""The comparison of families: what is hidden, what is asked, how it is scored and told."""

from __future__ import annotations

import importlib.util

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
from latentbits.evaluation import Adapted, candidates_for, compare
from latentbits.evaluation.candidates import Candidate, measure
from latentbits.evaluation.comparison import Comparison, Fitted
from latentbits.evaluation.hidden_cells import predict_hidden
from latentbits.evaluation.plan import TIME, Plan, default_budget, rows_within
from latentbits.evaluation.race import Clock, Race
from latentbits.evaluation.scores import (
    Answers,
    Questions,
    auc,
    calibration_curve,
    calibration_error,
    paired,
    wide_calibration_error,
)
from latentbits.evaluation.search import Point, Tried, larger, most_components, search_path
from latentbits.families import FAMILIES, TableSize, Tuning

QUICK = {"folds": 1, "n_components": [2, 3], "budget": 5}


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


# What is searched.


def searched(one, loss, n_rows=1000, noise=0.0):
    """Points that a family tries if settings have these losses, and the best of them."""
    rng = np.random.default_rng(0)
    path, points = search_path(one, most_components(one, n_rows, 50), np.arange(200)), []
    point = next(path)
    while True:
        points.append(point)
        value = loss(point.size, dict(point.options))
        cells = np.full(200, value) + noise * rng.standard_normal(200)
        try:
            point = path.send(Tried(point, float(cells.mean()), cells, 0.1))
        except StopIteration as stop:
            return points, stop.value


def family(first=2, **options):
    return Candidate(name="m", title="m", structure="class", make=lambda size: None, first=first, **options)


def test_sizes_double_until_the_loss_stops_falling_and_are_refined():
    points, best = searched(family(), lambda size, options: abs(np.log2(size / 44)))
    assert [point.size for point in points] == [2, 4, 8, 16, 32, 64, 23, 45] and best.point.size == 45
    points, best = searched(family(), lambda size, options: 1.0 / size, n_rows=500)
    assert max(point.size for point in points) == 64 * 2 - 37 == 91 and best.point.size == 91  # as many as rows bear
    points, best = searched(family((5, 5)), lambda size, options: abs(size[0] - 14))
    assert [point.size[0] for point in points] == [5, 7, 10, 14, 20]
    points, _ = searched(family(), lambda size, options: 0.3, noise=0.01)  # noise: not for ever
    assert len({point.size for point in points}) <= 6
    assert larger(200, 150) is None and larger((60, 60), 10) is None
    points, _ = searched(family(1, within_columns=True), lambda size, options: 1.0 / size)  # of 50 columns
    assert max(point.size for point in points) <= 50


def test_regularisers_are_searched_and_sizes_again_with_them():
    one = family(
        tuned=(Tuning("smoothing", (1.0, 3.0, 10.0, 30.0), 0),), averaged={"average_restarts": True, "n_init": 5}
    )

    def loss(size, options):
        right = 16 if options["smoothing"] == 10.0 else 8
        return abs(np.log2(size / right)) + abs(options["smoothing"] - 10.0) - 0.1 * ("average_restarts" in options)

    points, best = searched(one, loss)
    told = [(point.size, dict(point.options)["smoothing"]) for point in points]
    assert told[:4] == [(2, 1.0), (4, 1.0), (8, 1.0), (16, 1.0)] and (8, 30.0) in told and (16, 10.0) in told
    assert best.point == Point(16).with_options(smoothing=10.0, average_restarts=True, n_init=5)
    limits = {1.0: 8, 3.0: 8, 10.0: 32, 30.0: 128}

    def turning(size, options):
        """Larger sizes ask for a stronger regulariser, and that for larger sizes again."""
        strength = options["smoothing"]
        over = max(0.0, np.log2(size / limits[strength]))
        early = 0.5 * (strength == 30.0 and size < 32)
        return 10 - np.log2(min(size, limits[strength])) + 0.3 * over - 0.01 * np.log(strength) + early

    points, best = searched(family(tuned=one.tuned), turning)
    assert best.point == Point(128).with_options(smoothing=30.0) and len(set(points)) == len(points)
    down, _ = searched(family(None, tuned=(Tuning("ridge", (0.1, 1.0, 10.0), 1),)), lambda s, o: o["ridge"])
    assert [dict(point.options)["ridge"] for point in down] == [1.0, 10.0, 0.1]
    named, _ = searched(family(named=(3, 5)), lambda size, options: size)
    assert [point.size for point in named] == [3, 5]


class Ticks(Clock):
    """A clock that goes on by what fits are said to take."""

    def __init__(self, budget):
        super().__init__(budget)
        self.now = 0.0

    def elapsed(self):
        return self.now


def raced(losses, budget, repeat=None, width=1):
    """A race of families that have these losses by size; every fit takes a second, on the clock and nominally."""
    from latentbits.families import Cost

    clock, asked, hand = Ticks(budget), [], []

    def start(one, point):
        asked.append((one.name, point.size))
        hand.append((one.name, point))

    def finish():
        clock.now += 1.0 / width
        name, point = hand.pop(0)
        value = losses[name](point.size)
        return name, Tried(point, value, np.full(50, value) + 0.001 * np.arange(50) / 50, 1.0)

    models = [
        Candidate(
            name=name, title=name, structure="class", make=lambda size: None, first=2, asked=False, cost=Cost(0.25)
        )
        for name in losses
    ]
    race = Race(models, start, finish, TableSize(4000, 10, 9000), np.arange(50), clock, 1, width, repeat)
    race.run()
    return race, asked


def test_families_race_and_longer_budgets_do_more_of_the_same():
    losses = {"good": lambda k: 0.3 + 1 / k, "slow": lambda k: 0.31 + 4 / k, "bad": lambda k: 0.8 + 0.1 / k}
    known = []
    for budget in (14, 24, 200):
        race, asked = raced(losses, budget)
        for earlier in known:
            assert asked[: len(earlier)] == earlier or len(asked) > len(earlier)
            for name in losses:  # every family begins as it did
                mine, before = ([size for n, size in part if n == name] for part in (asked, earlier))
                assert mine[: len(before)] == before
        known.append(asked)
    # Those too far behind wait until the others have ended.
    assert {runner.ended for runner in race.runners.values()} == {"settled"} and asked[-1][0] == "bad"
    last = max(i for i, (name, _) in enumerate(asked) if name != "bad")
    assert sum(name == "bad" for name, _ in asked[:last]) == 3
    short = raced(losses, 24)[0]
    assert short.runners["bad"].ended == "behind"
    assert short.runners["good"].ended == TIME
    plan = Plan(
        1, 100, 0, {n: len(r.fits) for n, r in short.runners.items()}, {}, {"good": TIME, "slow": TIME, "bad": "behind"}
    )
    again, asked = raced(losses, 1e-9, repeat=plan)  # whatever the clock says
    assert sorted(asked) == sorted(known[1]) and {n: r.ended for n, r in again.runners.items()} == dict(plan.ended)


def test_rows_follow_the_budget():
    table, models = TableSize(200_000, 500, 10_000_000), candidates_for("all")
    rows = [rows_within(table, 2000, models, budget, 0.1) for budget in (3, 30, 300, 3000, 1e6)]
    assert rows == sorted(rows) and rows[0] == 500 and rows[-1] == 198_000
    assert default_budget(435 * 16) < 65 and default_budget(10_000_000) == 600
    found = Plan(
        3, 100, 10, {"mixture": 4}, {"mixture": 3}, {"mixture": "settled"}, {"dp": 7.5}, {"mixture": 2}, ("dp", "trait")
    )
    import tomllib

    from latentbits.exploring.settings import to_toml

    assert Plan.of_sections(tomllib.loads(to_toml(found.sections()))["plan"]) == found
    with pytest.raises(InputError, match="damaged"):
        Plan.of_sections({"rows": 3})


def test_candidates():
    names = [one.name for one in candidates_for()]
    assert names[:4] == ["independent", "tree", "regressions", "boosting"] and len(names) == 16
    mine = candidates_for([latentbits.LatentTrait(2), ("two", Adapted(NMF(2)))])[4:]
    assert [(one.name, one.structure) for one in mine] == [("LatentTrait", "scores"), ("two", "other")]
    sized = candidates_for(["mixture", "gtm", "dp"], [2, 5])[4:]
    assert [one.named for one in sized] == [(2, 5), (), ()] and measure(sized[1].first) == 25
    assert candidates_for(["gtm"], {"gtm": [(4, 4)]})[4].named == ((4, 4),)
    for models, sizes, message in (
        (["nope"], None, "no family 'nope'"),
        ([], None, "no model is left"),
        ([NMF(2)], None, "Adapted"),
        (["mixture", "mixture"], None, "two models are called"),
        (["mixture"], {"aspect": [2]}, "does not take part"),
        (["mixture"], [0], "1 or more"),
    ):
        with pytest.raises(InputError, match=message):
            candidates_for(models, sizes)


# Rivals.


def test_columns_are_predicted_from_the_others():
    """Copies and negations: rivals find them, unknown cells or not; single cells as whole tables."""
    from latentbits.evaluation.rivals import ColumnBoosting, ColumnLightGBM, ColumnRegressions

    rng = np.random.default_rng(0)
    first = rng.random(300) < 0.4
    X = np.column_stack([first, first, ~first, rng.random(300) < 0.5, np.zeros(300)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    whole = np.column_stack([first, first, ~first])
    models = [ColumnRegressions(1.0), ColumnBoosting()]
    if importlib.util.find_spec("lightgbm") is not None:
        models.append(ColumnLightGBM())
    for model in models:
        filled = model.fit(X).reconstruct(X)
        blank = np.isnan(X[:, :3]) & (np.isnan(X[:, :3]).sum(axis=1) == 1)[:, None]
        assert ((filled[:, :3] > 0.5) == whole)[blank].mean() > 0.97
        assert (filled[:, 4] < 0.02).all() and np.abs(filled[:, 3] - 0.5).mean() < 0.2
        hidden = HiddenRows(open_source(X, owner="test"), np.arange(300), 0.2, 0, 0)
        at = predict_hidden(model, hidden)
        places = [(b, hidden.hidden(b)) for b in range(hidden.n_blocks)]
        full = np.concatenate([model._model.predict_cells(hidden.block(b), None)[a.rows, a.columns] for b, a in places])
        assert np.abs(at - full).max() < 1e-12


def test_wide_tables_have_the_most_correlated_predictors():
    from latentbits.evaluation.rivals import ColumnRegressions
    from latentbits.families import MOST_PREDICTORS

    rng = np.random.default_rng(1)
    X = (rng.random((60, 300)) < 0.3).astype(float)
    X[:, 1] = X[:, 299]
    model = ColumnRegressions(0.1).fit(X)
    assert all(len(chosen) == MOST_PREDICTORS and d not in chosen for d, chosen in enumerate(model.predictors_))
    assert 299 in model.predictors_[1] and 1 in model.predictors_[299]


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
    for seed, (n_rows, n_columns, share) in enumerate([(60, 300, 0.01), (300, 200, 0.004), (1500, 100, 0.002)]):
        X = (np.random.default_rng(seed).random((n_rows, n_columns)) < share).astype(float)
        found = compare(X, ["mixture", "gtm"], folds=1, n_components={"mixture": [2], "gtm": [(3, 3)]}, budget=4)
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
    plain = compare(table, ["mixture", "trait"], **QUICK)
    fits = []
    whole = latentbits.BernoulliMixture.fit
    monkeypatch.setattr(
        latentbits.BernoulliMixture, "fit", lambda self, *a, **k: fits.append(1) or whole(self, *a, **k)
    )

    def stop(done, total, note):
        if "latent trait" in note and "predicting" in note:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(table, ["mixture", "trait"], checkpoint=tmp_path, progress=stop, **QUICK)
    before = len(fits)
    resumed = compare(table, ["mixture", "trait"], checkpoint=tmp_path, **QUICK)
    assert before > 0 and len(fits) == before and resumed.table == plain.table and resumed.verdict == plain.verdict
    for file in tmp_path.iterdir():  # damaged parts are done again
        file.write_bytes(file.read_bytes()[:-7])
    assert (
        compare(table, ["mixture", "trait"], checkpoint=tmp_path, **QUICK).table == plain.table and len(fits) > before
    )
    other = table.copy()
    other[0, 0] = 1 - np.nan_to_num(other[0, 0])
    assert (
        compare(other, ["mixture", "trait"], checkpoint=tmp_path, **QUICK).table != plain.table
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


# What is said about it.


def told(losses, n=4000, noise=0.02, structures=None, n_draws=3, sizes=(2, 3, 4), shaken=None, ended=None):
    """A comparison in which models have these mean losses; those of ``shaken`` differ by so much from draw to draw."""
    rng = np.random.default_rng(0)
    structures, ended = structures or {}, ended or {}
    values = (rng.random(n) < 0.5).astype(np.uint8)
    draws = np.arange(n) * n_draws // n
    asked = Questions(np.repeat(np.arange(n // 4), 4), np.zeros(n, int), values, draws)
    said, candidates = {}, []
    for name, loss in losses.items():
        moved = (draws - (n_draws - 1) / 2) * (shaken or {}).get(name, 0.0)
        on = np.exp(-(loss + moved + noise * rng.standard_normal(n)))
        said[name] = Answers(np.where(values == 1, on, 1 - on), None, "")
        known = {"independent": "none", "tree": "pairs", "regressions": "outside"}
        structure = structures.get(name, known.get(name, "class"))
        candidates.append(
            Candidate(
                name=name,
                title=f"the {name}",
                structure=structure,
                make=lambda size: None,
                is_baseline=structure in ("none", "pairs"),
                is_rival=structure == "outside",
            )
        )
    about = {name: [Fitted(Point(3), 1.0, 5, True, "")] * n_draws for name in losses}
    searches = [
        {"model": name, "step": i, "size": size, "options": {}, "log_loss": 0.3, "seconds": 1.0, "note": ""}
        for name in losses
        for i, size in enumerate(sizes)
    ]
    plan = Plan(n_draws, 900, 0, ended={name: ended.get(name, "settled") for name in losses})
    return Comparison.of(candidates, asked, said, np.arange(0), about, searches, plan)


def test_verdicts():
    clear = told({"independent": 0.6, "tree": 0.5, "mixture": 0.3, "aspect": 0.3001, "trait": 0.45})
    assert clear.finding_ == "structure" and clear.best_ == "mixture" and clear.verdict.startswith("Every row belongs")
    assert "The aspect (K=3) is indistinguishable" in clear.verdict
    assert "Clearly worse: the trait (K=3)" in clear.verdict and "50% below independent columns" in clear.verdict
    pairs = told({"independent": 0.6, "tree": 0.3, "mixture": 0.4})
    assert pairs.finding_ == "pairs" and "predicts them better still" in pairs.verdict
    assert pairs.headline.startswith("Columns depend on each other in pairs: no family with hidden causes")
    nothing = told({"independent": 0.6, "tree": 0.61, "mixture": 0.6001})
    assert nothing.finding_ == "nothing" and "Nothing to find" in nothing.verdict
    easier = told(
        {"independent": 0.6, "tree": 0.5, "boltzmann": 0.2998, "mixture": 0.3}, structures={"boltzmann": "switches"}
    )
    assert easier.chosen_ == "mixture" and (
        easier.best_ == "mixture" or "the mixture (K=3) is the easiest" in easier.verdict
    )
    both = told({"independent": 0.6, "tree": 0.5, "mixture": 0.3, "aspect": 0.3}, structures={"aspect": "shares"})
    assert "the data cannot tell which" in both.verdict and both.multi_cause_ == "aspect"


def test_verdicts_say_no_more_than_was_tried():
    """Few draws, sizes at the end of the search, fits that differ, a single family: words are weaker."""
    losses = {"independent": 0.6, "tree": 0.5, "mixture": 0.3, "aspect": 0.3, "trait": 0.45}
    few = told(losses, n_draws=2, structures={"aspect": "shares"})
    assert "learly" not in few.verdict and "Worse in these fits: the trait (K=3)." in few.verdict
    assert "these fits cannot tell which" in few.headline
    edge = told(losses, sizes=(2, 3), ended=dict.fromkeys(losses, "time"))
    assert "The mixture (K=3) predicts hidden cells best" in edge.verdict and edge.row("mixture")["at_edge"]
    assert "It was still improving at K=3, the largest size that was tried." in edge.verdict
    assert "Worse so far, but still improving at the largest size that was tried: the trait (K=3)." in edge.verdict
    assert "Clearly worse" not in edge.verdict
    both = {"sizes": (2, 3), "structures": {"aspect": "shares"}, "ended": {"aspect": "time"}}
    assert "these fits cannot tell" in told(losses, **both).headline
    once = told(losses, sizes=(3,), ended={"trait": "time"})
    assert "Worse in the one fit that there was time for: the trait (K=3)." in once.verdict
    assert once.row("trait")["standing"] == "hardly searched" and "learly worse" not in once.verdict
    apart = {**losses, "aspect": 0.4}
    assert told(apart, structures={"aspect": "shares"}).headline == "Every row belongs to one hidden class."
    other = told(apart, structures={"aspect": "shares"}, sizes=(2, 3), ended={"aspect": "time"})
    assert other.headline == "As far as was tried, every row belongs to one hidden class."
    behind = told(losses, ended={"trait": "behind"})
    assert "Stopped, too far behind to catch up: the trait (K=3), 0.150 behind." in behind.verdict
    outside = told({**losses, "regressions": 0.25})
    assert outside.rival_ == "regressions" and outside.headline.startswith("The regressions, which claims no hidden")
    assert "predicts better by 0.0" in outside.verdict and outside.best_ in ("mixture", "aspect")
    assert "which claims no hidden structure, predicts as well" in told({**losses, "regressions": 0.3}).verdict
    nothing = told({"independent": 0.6, "tree": 0.2, "mixture": 0.6})
    assert nothing.finding_ == "pairs" and "columns depend on each other in pairs" in nothing.headline.lower()
    rival = told({"independent": 0.6, "tree": 0.6, "mixture": 0.6, "regressions": 0.3})
    assert "chance" not in rival.verdict and rival.headline.startswith("No family predicts hidden cells better than")
    two = told({**losses, "regressions": 0.27, "boosting": 0.25}, structures={"boosting": "outside"})
    assert two.rival_ == "boosting"
    losses["trait"] = 0.4
    assert "Clearly worse: the trait" in told(losses).verdict
    moving = told(losses, shaken={"trait": 0.2})
    assert "and the trait (K=3) are indistinguishable" in moving.verdict
    pairs = told({"independent": 0.6, "tree": 0.3005, "mixture": 0.3, "aspect": 0.45}, noise=0.05)
    assert "columns depend on each other in pairs" in pairs.headline and "cannot tell which" in pairs.headline
    alone = told({"independent": 0.6, "tree": 0.5, "mixture": 0.3})
    assert alone.headline == "One family was tried, the mixture: every row belongs to one hidden class."


def test_kinds_of_row_scores_are_ranked_apart():
    values = np.array([0, 1] * 50)
    on = np.where(values == 1, 0.7, 0.3)
    said = {
        "independent": Answers(np.full(100, 0.5), np.full(20, -9.0), "exact"),
        "tree": Answers(on, np.full(20, -8.0), "exact"),
        "mixture": Answers(on, np.full(20, -5.0), "estimate"),
    }
    taking_part = [one for one in candidates_for(["mixture"]) if not one.is_rival]
    about = {name: [Fitted(Point(None), 1.0, 5, True, "")] for name in said}
    asked = Questions(np.arange(100), np.zeros(100, int), values)
    found = Comparison.of(taking_part, asked, said, np.arange(20), about, [], Plan(1, 100, 20))
    assert found.row("tree")["row_below_best"] == found.row("mixture")["row_below_best"] == 0.0
    assert found.row("independent")["row_below_best"] == pytest.approx(1.0)  # to the tree, not to the estimate


def test_bounds_are_not_ranked():
    values = np.array([0, 1] * 50)
    asked = Questions(np.arange(100), np.zeros(100, int), values)
    on = np.where(values == 1, 0.7, 0.3)
    said = {
        "independent": Answers(np.full(100, 0.5), np.full(20, -9.0), "exact"),
        "tree": Answers(on, np.full(20, -8.0), "exact"),
        "bounded": Answers(on, np.full(20, -5.0), "lower bound"),
    }
    taking_part = [
        *candidates_for(["mixture"])[:2],
        Candidate(name="bounded", title="bounded", structure="causes", make=lambda size: None),
    ]
    about = {name: [Fitted(Point(None), 1.0, 1, True, "")] for name in said}
    found = Comparison.of(taking_part, asked, said, np.arange(20), about, [], Plan(1, 100, 20))
    assert "row_below_best" not in found.row("bounded") and found.row("bounded")["row_kind"] == "lower bound"
    assert found.row("independent")["row_below_best"] == pytest.approx(1.0)  # to the tree, not to the bound


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
    assert all(note.startswith("left out: about ") for note in missing.values())
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


def test_more_rows_bear_larger_sizes():
    """A size that few rows chose is doubled on more rows as long as hidden cells gain; the same steps again are the same."""
    from latentbits.evaluation.growing import grown

    X = make_mixture(4000, 30, 12, spread=2.0, random_state=0).data
    source, one = open_source(X, owner="test"), candidates_for(["mixture"])[-1]
    begin = Point(3).with_options(smoothing=1.0)
    found = grown(source, np.arange(4000), one, begin, 60.0, 0)
    assert found.settled and 8 <= found.point.size <= 24 and found.tried[0].point == begin
    again = grown(source, np.arange(4000), one, begin, 0.0, 0, steps=2)
    assert [fit.loss for fit in again.tried] == [fit.loss for fit in found.tried[:2]] and not again.settled
    assert grown(source, np.arange(4000), one, begin, 1e-9, 0, steps=0).point == begin
