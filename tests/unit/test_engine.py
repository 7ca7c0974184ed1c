"""Drivers, sweeps, sums, events, checkpoints: on toy models."""

from __future__ import annotations

import itertools
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latentbits
from latentbits.data.source import open_source
from latentbits.engine import events, restarts
from latentbits.engine.checkpoint import read_sealed, write_sealed
from latentbits.engine.em import EMOptions, Point, State, em
from latentbits.engine.restarts import Bookmark, fit_restarts
from latentbits.engine.stats import Lowest, TreeSum, add, flatten, scale, shape_of, unflatten
from latentbits.engine.sweep import LocalSweep
from latentbits.errors import FileError, FitError, MonotonicityError, NotConvergedWarning, ObjectiveFellWarning

from .toys import Asking, Coin, CoinParams, Effort, EffortParams, Falling, Staged


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    heads = np.where(rng.random(40) < 0.5, 0.2, 0.7)
    return (rng.random((40, 12)) < heads[:, None]).astype(float)


def sweep_of(table, block_rows=7, n_jobs=1):
    return LocalSweep(open_source(table, block_rows=block_rows), n_jobs)


def start(sweep, heads=(0.3, 0.6)):
    return Point(CoinParams(np.array(heads)), [None] * sweep.n_blocks)


# --- sums -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.randoms())
def test_tree_sum_does_not_depend_on_arrival(values, random):
    trees = []
    for _ in range(2):
        order = list(range(len(values)))
        random.shuffle(order)
        tree = TreeSum(len(values))
        for i in order:
            tree.put(i, np.array([values[i]]))
        trees.append(tree.total())
    assert trees[0].tobytes() == trees[1].tobytes()
    assert trees[0][0] == pytest.approx(sum(values), rel=1e-9, abs=1e-3)


def test_tree_sum_holds_few_partial_sums():
    tree = TreeSum(1000)
    most = 0
    for i in range(1000):
        tree.put(i, 1.0)
        most = max(most, len(tree.waiting))
    assert tree.total() == 1000 and most <= 11


def test_add_scale_and_lowest():
    a, b = CoinParams(np.array([1.0, 2.0])), CoinParams(np.array([0.5, 0.5]))
    assert add(a, b).heads.tolist() == [1.5, 2.5]
    assert add(None, b) is b and add(a, None) is a
    assert scale(a, 2.0).heads.tolist() == [2.0, 4.0]
    low, high = Lowest(1.0, 5, "x"), Lowest(1.0, 3, "y")
    assert add(low, high).payload == "y" and add(high, low).payload == "y"


def test_flatten_and_back():
    value = (CoinParams(np.arange(3.0)), None, 2.5, (np.ones((2, 2)), 1))
    back = unflatten(shape_of(value), flatten(value, "v"), name="v")
    assert back[0][0].tolist() == [0, 1, 2] and back[1] is None and back[2] == 2.5
    assert back[3][0].shape == (2, 2) and back[3][1] == 1


# --- sweeps -----------------------------------------------------------------------------------------------------------


def test_map_and_collect(table):
    for n_jobs in (1, 3):
        sweep = sweep_of(table, 7, n_jobs)
        nothing = [None] * sweep.n_blocks
        total, rows = sweep.map(lambda block, state, k: (k * block.n_rows, block.start), nothing, 2)
        assert total == 80 and rows == [0, 7, 14, 21, 28, 35]
        assert sweep.collect(lambda block: block.n_rows) == [7, 7, 7, 7, 7, 5]
        asked = [None, 1, None, 2, 3, None]
        assert sweep.collect(lambda block, mine, k: mine * k + block.start, 10, each=asked) == [
            None,
            17,
            None,
            41,
            58,
            None,
        ]
        assert sweep.zip_rows(lambda a, b: (a - b, None), rows, rows)[0] == 0


def test_threads_pass_errors_on(table):
    def fail(block, state):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sweep_of(table, 2, 2).map(fail, [None] * 20)


# --- EM ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("accelerate", [False, True])
def test_em_climbs_to_the_same_top(table, accelerate):
    sweep = sweep_of(table)
    steps = list(em(Coin(), sweep, State(start(sweep)), EMOptions(tol=1e-10, accelerate=accelerate, strict=True)))
    assert steps[-1].settled
    accepted = [step.objective for step in steps if step.kind != "rejected"]
    assert all(b >= a for a, b in itertools.pairwise(accepted))
    assert steps[-1].point.params.heads == pytest.approx([0.2, 0.7], abs=0.1)
    assert {step.kind for step in steps} == ({"em", "jump"} if accelerate else {"em"})


def test_acceleration_saves_passes(table):
    counts = {}
    for accelerate in (False, True):
        sweep = sweep_of(table)
        options = EMOptions(tol=1e-12, accelerate=accelerate, max_iter=5000)
        counts[accelerate] = len(list(em(Coin(), sweep, State(start(sweep, (0.44, 0.46))), options)))
    assert counts[True] < counts[False]


@pytest.mark.parametrize("accelerate", [False, True])
def test_row_state_takes_part(accelerate):
    rng = np.random.default_rng(3)
    table = (rng.random((30, 6)) < 0.5).astype(float)
    sweep = sweep_of(table, 11)
    model = Effort()
    point = Point(EffortParams(np.full(6, 0.5)), [np.ones(11), np.ones(11), np.ones(8)])
    steps = list(em(model, sweep, State(point), EMOptions(tol=1e-13, accelerate=accelerate, strict=True)))
    best = np.linalg.svd(table)[1][0] ** 2
    assert -steps[-1].objective == pytest.approx((table**2).sum() - best, rel=1e-6)


def test_extra_passes_and_own_stop(table):
    sweep = sweep_of(table)
    steps = list(em(Asking(), sweep, State(start(sweep)), EMOptions(tol=1e-4, accelerate=False)))
    assert steps[-1].settled
    assert np.abs(steps[-1].state.point.params.heads - steps[-1].point.params.heads).max() <= 1e-4


def test_rejected_trials_fall_back(table):
    class Rash(Coin):
        """Offers a terrible rescue every time."""

        def reseed_empty(self, params, stats, again):
            return CoinParams(np.array([0.999, 0.999]))

    sweep = sweep_of(table)
    options = EMOptions(tol=1e-10, accelerate=False, max_reseeds=3, strict=True)
    steps = list(em(Rash(), sweep, State(start(sweep)), options))
    plain = list(em(Coin(), sweep, State(start(sweep)), EMOptions(tol=1e-10, accelerate=False)))
    assert [step.kind for step in steps].count("rejected") == 3
    assert steps[-1].point.params.heads.tolist() == plain[-1].point.params.heads.tolist()
    assert steps[-1].state.n_rejected == 3


def test_falling_objective_is_noticed(table):
    sweep = sweep_of(table)
    with pytest.raises(MonotonicityError, match="fell from"):
        list(em(Falling(), sweep, State(start(sweep)), EMOptions(max_iter=3, accelerate=False, strict=True)))
    with pytest.warns(ObjectiveFellWarning, match="please report"):
        list(em(Falling(), sweep, State(start(sweep)), EMOptions(max_iter=3, accelerate=False)))


# --- restarts, events, checkpoints ------------------------------------------------------------------------------------


def run(sweep, listener=None, bookmark=None, n_init=3, model=None, **options):
    starts = [(0.3, 0.6), (0.49, 0.5), (0.1, 0.9)]
    options = EMOptions(**{"tol": 1e-9, **options})
    return fit_restarts(
        model or Coin(),
        sweep,
        lambda r: start(sweep, starts[r]),
        n_init,
        options,
        listener or events.Listener(),
        "toy",
        bookmark,
    )


def test_best_start_is_kept(table):
    result = run(sweep_of(table))
    assert result.best.objective == max(restart.objective for restart in result.restarts)
    assert len(result.restarts) == 3 and result.n_reached >= 1
    assert all(restart.history[-1] == restart.objective for restart in result.restarts)


def test_a_failed_start_does_not_kill_the_fit(table):
    class Fragile(Coin):
        def e_step(self, block, rows, params):
            if params.heads[0] == 0.49:
                raise FloatingPointError("overflow")
            return super().e_step(block, rows, params)

    result = run(sweep_of(table), model=Fragile())
    assert [bool(restart.error) for restart in result.restarts] == [False, True, False]

    class Hopeless(Coin):
        def objective(self, params, stats):
            return np.nan

    with pytest.raises(FitError, match="not a number"):
        run(sweep_of(table), model=Hopeless())


def test_time_limit_early_stop_and_log(table, caplog):
    ticks = iter(range(1000))
    limited = run(sweep_of(table), events.TimeLimit(5, clock=lambda: float(next(ticks))), tol=0.0)
    assert limited.stopped and sum(restart.n_iter for restart in limited.restarts) == 5
    stopped = run(sweep_of(table), events.Call(lambda event: event.step.state.iteration == 4), tol=0.0)
    assert stopped.stopped and stopped.best.n_iter == 4
    with caplog.at_level("INFO", logger="latentbits.fit"):
        run(sweep_of(table), events.Several([events.LogLines(2)]))
    assert "3 starts" in caplog.text and "settled" in caplog.text and "done: objective" in caplog.text


class Clock:
    """Every look at it takes ``step`` seconds."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_progress_lines(table, capsys):
    """Short fits end in one line; long ones tell about every two seconds where they are, and what is left."""
    run(sweep_of(table), events.ProgressLines(clock=Clock(1e-4)))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("toy: done in 0.0 s, objective ")
    run(sweep_of(table), events.ProgressLines(clock=Clock(1e-4), summary=False))
    assert capsys.readouterr().err == ""
    ticks = Clock(0.5)
    run(sweep_of(table), events.ProgressLines(clock=ticks), tol=0.0, max_iter=20)
    lines = capsys.readouterr().err.splitlines()
    assert ticks.now / 2 - 3 <= len(lines) - 1 <= ticks.now / 2
    assert lines[0].startswith("toy: start 1 of 3, pass 4, objective ") and "left" not in lines[0]
    assert "start 3 of 3" in lines[-2] and "about " in lines[-2] and lines[-2].endswith(" s left")
    run(sweep_of(table), events.ProgressLines(0.0, clock=Clock(0.5)), tol=0.0, max_iter=5)
    assert len(capsys.readouterr().err.splitlines()) == 3 * 5 + 1


def test_verbose_prints(capsys):
    """Without any setting of the logging module."""
    X = np.random.default_rng(0).integers(0, 2, (30, 4))
    latentbits.BernoulliMixture(2, n_init=2, random_state=0, verbose=1).fit(X)
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[-1].startswith("BernoulliMixture (K=2): done in ")
    latentbits.BernoulliMixture(2, n_init=2, random_state=0, verbose=2).fit(X)
    assert "start 2 of 2, pass 3, objective -" in capsys.readouterr().err
    with pytest.warns(latentbits.errors.LatentBitsWarning):  # so short that there are doubts
        latentbits.BayesianBernoulliMixture(2, n_warmup=2, n_draws=2, n_chains=2, random_state=0, verbose=2).fit(X)
    assert "chain 2 of 2, sweep 3, objective -" in capsys.readouterr().err


def test_progress_bar_shows_time_left(table):
    import io

    from rich.console import Console

    stream = io.StringIO()
    run(sweep_of(table), events.ProgressBar(Console(file=stream, force_terminal=True, width=120)))
    assert "start 3/3" in stream.getvalue()


def test_stages_follow_each_other(table):
    """A stage ends after its passes, the next begins where ``enter`` says, and falls between stages are no falls."""
    sweep = sweep_of(table)
    steps = list(em(Staged(), sweep, State(start(sweep)), EMOptions(tol=1e-12, strict=True, accelerate=False)))
    assert [step.last for step in steps[:4]] == [False, False, False, True]
    assert steps[0].objective == steps[1].objective > steps[2].objective  # held; then begun anew from worse coins
    assert steps[2].point.params.heads.tolist() == [0.1, 0.2]
    assert [step.state.stage for step in steps[:4]] == [0, 1, 2, 2] and steps[-1].settled
    gains = np.diff([step.objective for step in steps[3:]])
    assert (gains >= -1e-9).all()
    # Resumed in any stage it goes on in that stage.
    for k in (0, 1, 2, 3):
        again = list(em(Staged(), sweep, steps[k].state, EMOptions(tol=1e-12, strict=True, accelerate=False)))
        assert [step.objective for step in again] == [step.objective for step in steps[k + 1 :]]


def test_a_start_cut_short_in_an_early_stage_is_not_preferred(table):
    """Its objective belongs to another stage: it counts only if no start came further."""
    listener = events.Call(lambda event: event.restart == 1 and event.step.state.iteration == 2)
    result = run(sweep_of(table), listener, model=Staged(), tol=1e-9)
    assert [restart.complete for restart in result.restarts] == [True, False]
    assert result.best.number == 0 and result.stopped and result.n_reached == 1
    short = run(sweep_of(table), events.Call(lambda event: True), model=Staged(), tol=1e-9)
    assert not short.best.complete


def test_resume_at_the_last_pass_of_an_early_stage(table, tmp_path):
    """A start that had no pass left when it was interrupted is as incomplete as it was."""
    path = tmp_path / "toy.checkpoint"

    def fit(bookmark=None, listener=None):
        sweep = sweep_of(table)
        starts = [(0.3, 0.6), (0.49, 0.51)]
        return fit_restarts(
            Staged(), sweep, lambda r: start(sweep, starts[r]), 2, EMOptions(tol=1e-9, max_iter=2, accelerate=False),
            listener or events.Listener(), "toy", bookmark, CoinParams,
        )  # fmt: skip

    straight = fit()
    count = iter(range(1, 100))

    def interrupt(event):
        if next(count) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Bookmark(path, {}, every=1e9), events.Call(interrupt))
    resumed = fit(Bookmark(path, {}))
    assert [r.complete for r in straight.restarts] == [r.complete for r in resumed.restarts] == [False, False]
    assert resumed.best.number == straight.best.number


@pytest.mark.parametrize("stop_after", [1, 2, 3, 5, 8, 13, 21])
def test_resume_is_bit_identical(table, tmp_path, stop_after):
    rng = np.random.default_rng(3)
    table = (rng.random((30, 6)) < 0.5).astype(float)
    path = tmp_path / "toy.checkpoint"

    def effort(bookmark=None, listener=None):
        sweep = sweep_of(table, 11)
        levels = np.random.default_rng(0).random((3, 6))
        return fit_restarts(
            Effort(),
            sweep,
            lambda r: Point(EffortParams(levels[r]), [np.ones(11), np.ones(11), np.ones(8)]),
            3,
            EMOptions(tol=1e-10, max_iter=12),
            listener or events.Listener(),
            "toy",
            bookmark,
            EffortParams,
        )

    straight = effort()
    count = iter(range(1, 1000))

    def interrupt(event):
        if next(count) == stop_after:
            raise KeyboardInterrupt

    identity = {"who": "toy"}
    with pytest.raises(KeyboardInterrupt):
        effort(Bookmark(path, identity, every=1e9), events.Call(interrupt))
    resumed = effort(Bookmark(path, identity))
    assert resumed.point.params.level.tobytes() == straight.point.params.level.tobytes()
    assert [r.tobytes() for r in resumed.point.rows] == [r.tobytes() for r in straight.point.rows]
    assert resumed.restarts == straight.restarts


class InterruptedAt:
    """A trace that raises KeyboardInterrupt before a line of a function runs for the n-th time, as Ctrl-C may."""

    def __init__(self, function, line, count):
        self.code, self.line, self.count = function.__code__, line, count

    def __call__(self, frame, event, arg):
        return self.local if frame.f_code is self.code else None

    def local(self, frame, event, arg):
        if event == "line" and frame.f_lineno == self.line:
            self.count -= 1
            if self.count == 0:
                raise KeyboardInterrupt
        return self.local

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)

    def __exit__(self, *args):
        sys.settrace(self.before)


def test_an_interrupt_at_any_line_loses_and_repeats_nothing(table, tmp_path):
    """Where a start stands and its history are one: an interrupt between them wrote the value of a pass twice."""
    lines = sorted({line for *_, line in restarts._one_start.__code__.co_lines() if line})
    starts = [(0.3, 0.6), (0.49, 0.51)]

    def fit(bookmark=None):
        sweep = sweep_of(table)
        options = EMOptions(tol=1e-9, max_iter=6)
        begin = lambda r: start(sweep, starts[r])  # noqa: E731
        return fit_restarts(Coin(), sweep, begin, 2, options, events.Listener(), "toy", bookmark, CoinParams)

    straight, n_interrupts = fit(), 0
    for line in lines[1:]:
        path = tmp_path / f"{line}.checkpoint"
        try:
            with InterruptedAt(restarts._one_start, line, 3):
                fit(Bookmark(path, {}, every=1e9))
        except KeyboardInterrupt:
            n_interrupts += 1
            assert fit(Bookmark(path, {})).restarts == straight.restarts, line
    assert n_interrupts >= 5  # the lines of the loop


def test_sealed_files(tmp_path):
    path = tmp_path / "deep" / "file"
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3, np.int32)}
    write_sealed(path, "model", {"x": [1, None]}, arrays)
    header, back = read_sealed(path, "model")
    assert header["x"] == [1, None] and back["a"].tolist() == arrays["a"].tolist() and back["b"] == 3
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    with pytest.raises(FileError, match="checkpoint file is needed"):
        read_sealed(path, "checkpoint")
    with pytest.raises(FileError, match="no file"):
        read_sealed(tmp_path / "nothing", "model")


def test_unwritable_places(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(FileError, match="cannot be written"):
        write_sealed(tmp_path / "taken" / "model", "model", {}, {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        write_sealed(tmp_path / "folder", "model", {}, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "taken"]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3))
def test_any_cut_gives_the_same_fit(block_rows, n_jobs):
    rng = np.random.default_rng(0)
    table = (rng.random((40, 12)) < 0.4).astype(float)
    sweep, whole = sweep_of(table, block_rows, n_jobs), sweep_of(table, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a, b = run(sweep, n_init=1, max_iter=20), run(whole, n_init=1, max_iter=20)
    np.testing.assert_allclose(a.point.params.heads, b.point.params.heads, atol=1e-12)


def test_blas_has_one_thread_while_any_sweep_runs():
    """The first of several sweeps at a time makes the setting and the last takes it back, in whatever order they end."""
    from latentbits.engine.sweep import _libraries, one_blas_thread

    def threads():
        return [library.get_num_threads() for library in _libraries()]

    before = threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == [1] * len(before)
    second.__exit__(None, None, None)
    assert threads() == before
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert threads() == before


def test_blas_keeps_to_one_thread_whichever_thread_asks():
    """Releases of threadpoolctl from 3.8 on let the first thread of a process decide, and do nothing for others."""
    from threading import Thread

    from latentbits.engine.sweep import _libraries, one_blas_thread

    def told():
        with one_blas_thread():
            seen.append([library.get_num_threads() for library in _libraries()])

    before = [library.get_num_threads() for library in _libraries()]
    seen: list[list[int]] = []
    told()
    for _ in range(2):
        thread = Thread(target=told)
        thread.start()
        thread.join()
    assert seen == [[1] * len(before)] * 3
    assert [library.get_num_threads() for library in _libraries()] == before


class TestStartsSideBySide:
    def fit(self, n_jobs, **options):
        from latentbits import BernoulliMixture
        from latentbits.datasets import make_mixture

        X = make_mixture(400, 20, 3, spread=2.0, random_state=0).data
        return BernoulliMixture(3, n_init=5, random_state=0, n_jobs=n_jobs, **options).fit(X)

    def test_they_end_as_one_after_the_other(self):
        one, two = self.fit(1), self.fit(2)
        assert np.array_equal(one.components_, two.components_)
        assert one.restarts_ == two.restarts_ and one.history_ == two.history_

    def test_those_that_wait_are_compared_as_one_after_the_other(self):
        from latentbits import NoisyOrComponentAnalysis
        from latentbits.base import screening
        from latentbits.datasets import make_mixture

        X = make_mixture(9000, 8, 3, spread=2.0, random_state=0).data
        assert screening.sample_size(len(X)) > 0
        ends = []
        with pytest.warns(NotConvergedWarning):
            for n_jobs in (1, 4):
                model = NoisyOrComponentAnalysis(2, n_init=4, max_iter=30, random_state=0, n_jobs=n_jobs)
                ends.append(model.fit(X))
        assert {row["went_on"] for row in ends[0].restarts_} == {True, False}
        assert ends[0].restarts_ == ends[1].restarts_
        assert np.array_equal(ends[0].components_, ends[1].components_)

    def test_a_time_limit_stops_them_all(self):
        with pytest.warns(NotConvergedWarning, match="time_limit"):
            model = self.fit(2, time_limit=1e-9, tol=0.0)
        assert all(row["n_iter"] <= 2 for row in model.restarts_)

    def test_callbacks_hear_one_start_after_the_other(self):
        heard = []
        self.fit(2, callbacks=[lambda event: heard.append(event.restart)])
        assert heard == sorted(heard)
