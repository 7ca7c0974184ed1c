"""What is tried of every family: settings, the race within a budget, rivals without hidden structure."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import NMF

import latentbits
from latentbits.data.holdout import HiddenRows
from latentbits.data.source import open_source
from latentbits.datasets import make_mixture
from latentbits.errors import InputError
from latentbits.evaluation import Adapted, candidates_for
from latentbits.evaluation.candidates import Candidate, measure
from latentbits.evaluation.compare_families import _Job
from latentbits.evaluation.hidden_cells import predict_hidden
from latentbits.evaluation.plan import TIME, Plan, default_budget, rows_within
from latentbits.evaluation.race import Clock, Race
from latentbits.evaluation.search import Point, Tried, larger, most_components, search_path
from latentbits.families import TableSize, Tuning


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
        3,
        100,
        10,
        {"mixture": 4},
        {"mixture": 3},
        {"mixture": "settled"},
        {"dp": 7.5},
        {"mixture": 2},
        ("dp", "trait"),
        60.0,
        ("trait",),
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


def test_who_leads_is_not_behind():
    """A family that was too far behind and overtakes the leader with the time that was left is in front again."""
    losses = {"good": lambda k: 0.4, "late": lambda k: 0.6 - 0.001 * np.log2(k) if k < 32 else 0.3 - 1 / k}
    race, _ = raced(losses, 1000)
    assert race.runners["late"].best.loss < race.runners["good"].best.loss
    assert not race.runners["late"].is_behind


def test_who_gains_more_and_more_is_not_stopped():
    """Losses of noisy-or on a table of 40 sources: most is gained once there is a source for each."""
    sources = {2: 0.5526, 4: 0.5401, 8: 0.5066, 16: 0.4680, 32: 0.4377, 64: 0.2556, 128: 0.2553}
    losses = {
        "ahead": lambda k: 0.2829,
        "sources": lambda k: sources.get(k, 0.26),
        "flat": lambda k: 0.5 - 0.004 * k / 8,
    }
    race, asked = raced(losses, 1000)
    assert ("sources", 64) in asked and race.runners["sources"].best.loss == 0.2553
    stopped = asked.index(("sources", 64))
    assert ("flat", 16) not in asked[:stopped]  # its gains are too small, even if they doubled five times


def test_families_that_may_win_have_most_of_the_time():
    """Of two that are not too far behind to go on, the one whose steps could bring it to the front is asked more often."""
    losses = {"still": lambda k: 0.5 - 1e-4 * np.log2(k), "winner": lambda k: 0.48 - 0.01 * np.log2(k)}
    race, asked = raced(losses, 13)
    names = [name for name, _ in asked]
    assert names[:6].count("still") == names[:6].count("winner") == 3  # too few to tell
    assert names.count("winner") >= 7 > 4 >= names.count("still")
    assert race.is_promising(race.runners["winner"]) and not race.is_promising(race.runners["still"])


def test_families_far_behind_are_compared_by_short_fits(monkeypatch):
    losses = {"good": lambda k: 0.4, "near": lambda k: 0.43, "far": lambda k: 0.6}
    race, _ = raced(losses, 1000)
    assert [race.is_far(name) for name in losses] == [False, False, True]
    far = race.runners["far"]
    assert race.seconds_in_short(far) == far.best.seconds <= race.seconds_in_full(far)
    monkeypatch.setattr("latentbits.evaluation.race.PART", 0.01)
    X = make_mixture(400, 20, 6, spread=3.0, random_state=0).data
    found = latentbits.compare(X, ["mixture", "noisy-or"], folds=1, rows=0, budget=6)
    short, long = found.row("noisy-or"), found.row("mixture")
    assert short["shortened"] and short["options"]["max_iter"] == found.candidate("noisy-or").trial["max_iter"]
    assert not long["shortened"] and "max_iter" not in long["options"] and short["standing"] != "clearly worse"
    assert found.estimator("noisy-or").max_iter == short["options"]["max_iter"]
    assert "max_iter" not in dict(found.readable("noisy-or").options)


def test_families_without_time_for_a_full_fit_are_compared_by_short_ones():
    """Best first; a full fit while there is time for it, a short one if that fits, and what fits neither is left out."""
    cost = {
        "best": (30.0, 3.0),
        "dear": (50.0, 20.0),
        "too dear": (80.0, 75.0),
        "cheap": (1.5, 1.0),
        "far": (1.5, 1.0),
        "far, dear": (40.0, 8.0),
    }
    ones = [SimpleNamespace(name=name, asked=False, is_baseline=False, is_family=False) for name in cost]
    race = SimpleNamespace(
        runners={name: name for name in cost},
        left_out={},
        best_loss=list(cost).index,
        is_far=lambda name: name.startswith("far"),
        seconds_in_full=lambda name: cost[name][0],
        seconds_in_short=lambda name: cost[name][1],
    )
    clock = SimpleNamespace(budget=100.0, elapsed=lambda: 50.0)
    job = SimpleNamespace(repeat=None, short=set(), clock=clock, hand=lambda: SimpleNamespace(width=1))
    kept = [one.name for one in _Job.affordable(job, race, ones)]
    assert kept == ["best", "dear", "cheap", "far", "far, dear"] and job.short == {"dear", "far, dear"}
    assert race.left_out == {"too dear": 80.0}
    job.repeat, job.short = Plan(1, 100, 0, left_out={"dear": 50.0}, short=("cheap",)), set()
    assert "dear" not in [one.name for one in _Job.affordable(job, race, ones)] and job.short == {"cheap"}


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
