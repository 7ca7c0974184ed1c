"""On a cluster of two worker processes: the same bits, also when a worker is killed."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from latentbits.errors import CellError
from latentbits.testing import CONTAINERS
from latentbits.testing.contracts import assert_same_bits

from ..unit.toys import Effort, EffortParams
from .families import FAMILIES

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.dask,
    # Cluster life produces warnings of its own (closed streams after a killed worker, busy ports).
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def client():
    import dask
    from distributed import Client, LocalCluster

    with (
        # Some time after a worker was lost the cluster gives up on its place, if it is empty just then: with several
        # tests that kill one after the other that may be while the next one starts again.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def on_the_cluster():
    """Every variant once, every class from arrays and from frames, with weights and without."""
    seen: dict[str, int] = {}
    cases = []
    for family in FAMILIES:
        if family.kind == "ratings":  # read in one piece
            continue
        name = type(family.make()).__name__
        alone = sum(type(other.make()).__name__ == name for other in FAMILIES) == 1
        for _ in range(2 if alone else 1):
            turn = seen[name] = seen.get(name, -1) + 1
            cases.append((family, ("dask array", "dask frame")[turn % 2], bool(turn % 2) and family.weighted))
    return cases


CASES = on_the_cluster()


@pytest.mark.parametrize(
    ("family", "container", "weighted"),
    CASES,
    ids=[f"{container}-{family.name}{', weighted' * weighted}" for family, container, weighted in CASES],
)
def test_same_bits_on_the_cluster(client, family, container, weighted, tmp_path):
    check_on_the_cluster(family, container, weighted, tmp_path, {"max_iter": 3, "n_init": 1})


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", ["dask array", "dask frame"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_same_bits_on_the_cluster_at_length(client, family, container, weighted, tmp_path):
    if family.kind == "ratings":
        pytest.skip("ratings are read in one piece")
    if weighted and not family.weighted:
        pytest.skip("rows have no weights")
    check_on_the_cluster(replace(family, thorough=True), container, weighted, tmp_path, {"max_iter": 8})


def check_on_the_cluster(family, container, weighted, folder, options):
    from latentbits.engine.sweep import sweep_of
    from latentbits.engine.sweep_dask import DaskSweep

    table = family.table()
    options = {name: value for name, value in options.items() if family.takes(name)}
    blocks = {"block_rows": 25} if family.takes("block_rows") else {}
    weights = np.arange(len(table)) % 3 if weighted else None
    y = family.targets(table) if family.supervised else None
    straight = family.fit(table, weights, y, **blocks, **options)
    made = CONTAINERS[container](table, folder)
    estimator = family.fit(made, weights, y, **blocks, **options)
    assert_same_bits(straight, estimator)
    if hasattr(estimator, "_open"):
        assert isinstance(sweep_of(estimator._open(made, reset=False)), DaskSweep)
        assert estimator.block_rows == 25
    answer = "predict_proba" if family.supervised else "transform"
    if not hasattr(estimator, "get_support"):  # which answers by columns of the table that it is given
        wanted, found = getattr(straight, answer)(table), np.asarray(getattr(estimator, answer)(made))
        # Partitions are answered as they are cut, which products of matrices show in their last digits.
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-14)


def test_sparse_chunks(client, tmp_path):
    import dask.array as da
    import scipy.sparse as sp

    family = FAMILIES[0]
    table = (np.random.default_rng(0).random((90, 30)) < 0.08).astype(float)
    made = da.from_array(table, chunks=(40, 30)).map_blocks(sp.csr_array, dtype=float)
    assert_same_bits(family.fit(table, block_rows=32, max_iter=8), family.fit(made, block_rows=32, max_iter=8))


def test_a_killed_worker_does_not_change_the_result(client, tmp_path):
    family = FAMILIES[0]
    table = family.table(n_rows=200)
    straight = family.fit(table, block_rows=50, n_init=1, max_iter=10, tol=1e-10)
    killed = []

    def kill_one(event):
        if event.step.state.iteration == 4 and not killed:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    made = CONTAINERS["dask array"](table, tmp_path)
    estimator = family.fit(made, block_rows=50, n_init=1, max_iter=10, tol=1e-10, callbacks=[kill_one])
    assert killed and estimator.n_iter_ > 6
    assert_same_bits(straight, estimator)
    client.wait_for_workers(2, timeout=30)


def test_row_state_stays_on_the_workers_and_survives_a_loss(client):
    """A family with row unknowns: states are futures, and the chain of their recipes outlives a worker."""
    import dask.array as da
    from distributed import Future

    from latentbits.data.source import open_source
    from latentbits.engine.em import EMOptions, Point, State, em
    from latentbits.engine.sweep import sweep_of

    table = (np.random.default_rng(3).random((60, 6)) < 0.5).astype(float)
    levels = EffortParams(np.full(6, 0.5))
    ends = []
    for X, loss in (
        (table, False),
        (da.from_array(table, chunks=(25, 6)), False),
        (da.from_array(table, chunks=(25, 6)), True),
    ):
        sweep = sweep_of(open_source(X, block_rows=20))
        point = Point(levels, sweep.place_rows([np.ones(20)] * 3))
        for step in em(Effort(), sweep, State(point), EMOptions(tol=1e-12, max_iter=12)):
            if X is not table:
                assert all(isinstance(state, Future) for state in step.state.point.rows)
            if loss and step.state.iteration == 7:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        ends.append((step.point.params.level.tobytes(), [r.tobytes() for r in sweep.fetch_rows(step.point.rows)]))
    assert ends[0] == ends[1] == ends[2]
    client.wait_for_workers(2, timeout=30)


def test_chains_on_the_workers(client):
    """Chains of a table in memory as Dask tasks, through joblib."""
    import warnings

    from joblib import parallel_config

    from latentbits import DPBernoulliMixture
    from latentbits.datasets import make_mixture

    X = make_mixture(80, 8, 2, unknown=0.1, random_state=0).data
    model = DPBernoulliMixture(n_chains=3, n_warmup=5, n_draws=5, n_jobs=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = model.fit(X).draws_
        with parallel_config(backend="dask"):
            there = model.fit(X).draws_
    assert here.labels.tobytes() == there.labels.tobytes() and here.log_joint.tobytes() == there.log_joint.tobytes()


def test_tables_are_filled_where_they_are(client, tmp_path):
    """The recipe is computed on the workers, with the draws of the whole table."""
    family = FAMILIES[0]
    table, estimator = family.table(), family.fitted()
    wanted = estimator.impute(table, how="sample", random_state=1)
    for name in ("dask array", "dask frame"):
        found = estimator.impute(CONTAINERS[name](table, tmp_path), how="sample", random_state=1)
        np.testing.assert_array_equal(np.asarray(found.compute()), wanted)


def test_bad_cells_are_named_from_the_cluster(client):
    import dask.array as da

    table = np.zeros((60, 4))
    table[45, 2] = 7
    with pytest.raises(CellError, match=r"row 45, column 2\) is 7"):
        FAMILIES[0].fit(da.from_array(table, chunks=(25, 4)), block_rows=20)


LOSES_ITS_SCHEDULER = """
import os, subprocess, sys, time, warnings
import dask, dask.array as da
from distributed import Client
from latentbits import BernoulliMixture, DPBernoulliMixture
from latentbits.datasets import make_mixture
from latentbits.errors import ClusterError

dask.config.set({"distributed.comm.timeouts.connect": "1s"})
folder, X = sys.argv[1], make_mixture(300, 8, 2, random_state=0).data
wide = da.from_array(X, chunks=(100, 8))

def started(part, *options):
    command = [sys.executable, "-m", f"distributed.cli.dask_{part}", "--no-dashboard", "--scheduler-file", file, *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

for number, model in enumerate((
    BernoulliMixture(2, n_init=1, tol=1e-12, random_state=0, block_rows=100),
    DPBernoulliMixture(n_chains=1, n_warmup=30, n_draws=30, random_state=0),
)):
    file, kept = f"{folder}/scheduler{number}.json", f"{folder}/kept{number}"
    scheduler = started("scheduler", "--port", "0", "--host", "127.0.0.1")
    while not os.path.exists(file):
        time.sleep(0.05)
    worker = started("worker", "--no-nanny", "--nthreads", "1", "--death-timeout", "5")
    steps = []

    def kill(event):
        steps.append(event)
        if len(steps) == 3:
            scheduler.kill()
            scheduler.wait()

    try:
        with Client(scheduler_file=file, timeout=3) as client:
            client.wait_for_workers(1)
            os.environ["LATENTBITS_CHECKPOINT_SECONDS"] = "0"
            model.set_params(callbacks=[kill], checkpoint=kept)
            try:
                model.fit(wide)
                raise SystemExit("it went on without a scheduler")
            except ClusterError as error:
                assert "checkpoint" in str(error), error
            try:
                BernoulliMixture(2).fit(wide)
                raise SystemExit("it began without a scheduler")
            except ClusterError:
                pass
    finally:
        worker.kill()
        worker.wait()
        if scheduler.poll() is None:
            scheduler.kill()
    warnings.simplefilter("ignore")
    resumed = model.set_params(callbacks=None).fit(X)
    straight = type(model)(**{**model.get_params(), "checkpoint": None}).fit(X)
    assert resumed.components_.tobytes() == straight.components_.tobytes()
"""


def test_what_counts_as_the_loss_of_a_cluster():
    from concurrent.futures import CancelledError
    from types import SimpleNamespace

    from latentbits.data.dask import on_cluster
    from latentbits.errors import ClusterError

    for status, error in (("running", CancelledError()), ("closed", RuntimeError("closed"))):
        client = SimpleNamespace(status="running")
        with pytest.raises(ClusterError, match="checkpoint"), on_cluster(client):
            client.status = status
            raise error
    for status, error in (
        ("running", RuntimeError("a fault")),
        ("closed", CellError("a cell")),
        ("closed", KeyboardInterrupt()),
    ):
        client = SimpleNamespace(status="running")
        with pytest.raises(type(error)), on_cluster(client):
            client.status = status
            raise error
    with (
        pytest.raises(ClusterError, match="the client is connecting"),
        on_cluster(SimpleNamespace(status="connecting")),
    ):
        raise AssertionError("it was asked")
    with pytest.raises(ClusterError), on_cluster():
        raise CancelledError


@pytest.mark.slow
def test_a_lost_scheduler_is_told_and_the_fit_goes_on_from_its_checkpoint(tmp_path):
    import subprocess
    import sys

    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOSES_ITS_SCHEDULER, tmp_path],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_a_comparison_on_the_cluster_is_the_one_here(client, monkeypatch):
    from latentbits import compare
    from latentbits.datasets import make_mixture

    X = make_mixture(300, 10, 3, spread=3.0, random_state=0).data
    told: list[tuple[float, float, str]] = []
    options = {"n_components": [1, 2, 3], "folds": 1, "budget": 20.0}
    there = compare(X, ["mixture", "trait"], progress=lambda *event: told.append(event), client=client, **options)
    monkeypatch.setattr("latentbits.evaluation.compare_families.active_client", lambda: None)
    monkeypatch.setattr("latentbits.base.fitting.active_client", lambda: None)
    here = compare(X, ["mixture", "trait"], **options)
    plain = [{k: v for k, v in row.items() if k != "seconds"} for row in here.table]
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in there.table] == plain
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told) and len(told) > 6


def test_calls_that_workers_lost_are_begun_again(client):
    """What only a lost worker had been sent makes Dask cancel the calls that need it."""
    from latentbits.engine.together import InHand

    with InHand(client=client) as hand:
        for number in range(3):
            hand.start(f"call {number}", slow_sum, 10, (number,))
        client.cancel(list(hand.waiting)[:2])
        found = dict(hand.finish() for _ in range(3))
    assert found == {"call 0": 10, "call 1": 11, "call 2": 12} and not hand.waiting


def slow_sum(shared, number):
    """A call."""
    import time

    time.sleep(0.3)
    return shared + number


def test_a_worker_killed_during_a_comparison_costs_one_fit(client, tmp_path):
    import threading
    import time

    from latentbits import BernoulliMixture, compare
    from latentbits.datasets import make_mixture

    class Logged(BernoulliMixture):
        """Writes down when it is fitted."""

        def fit(self, X, y=None, sample_weight=None):
            with open(tmp_path / "fits", "a") as file:
                file.write(f"{os.getpid()}\n")
            time.sleep(0.4)
            return super().fit(X, y, sample_weight)

    X = make_mixture(200, 8, 2, spread=3.0, random_state=0).data

    def run():
        model = ("logged", Logged(2, n_init=1, max_iter=20))
        return compare(X, [model], n_components={"logged": range(1, 9)}, folds=1, budget=20.0, client=client)

    def kill_one():
        while not (tmp_path / "fits").exists():
            time.sleep(0.01)
        time.sleep(0.6)
        killed.append(int((tmp_path / "fits").read_text().split()[-1]))
        os.kill(killed[0], signal.SIGKILL)

    straight = run()
    n_fits = len((tmp_path / "fits").read_text().split())
    (tmp_path / "fits").unlink()
    killed: list[int] = []
    killer = threading.Thread(target=kill_one)
    killer.start()
    found = run()
    killer.join()
    pids = (tmp_path / "fits").read_text().split()
    assert killed and str(killed[0]) in pids
    assert len(pids) <= n_fits + 1
    assert found.row("logged")["log_loss"] == straight.row("logged")["log_loss"]
    client.wait_for_workers(2, timeout=30)


def test_starts_on_the_workers_end_as_here(client):
    """Tables in memory: starts are sent to the workers of the active client."""
    import warnings

    from latentbits import AspectBernoulli, BernoulliMixture
    from latentbits.datasets import make_mixture
    from latentbits.engine import together

    X = make_mixture(200, 12, 3, unknown=0.1, random_state=0).data
    for model in (
        BernoulliMixture(3, n_init=4, random_state=0),
        AspectBernoulli(2, n_init=3, max_iter=20, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert together.active_client() is not None
            there = model.fit(X)
            ends = there.components_.tobytes(), there.history_, there.restarts_
            here = model.set_params(callbacks=[lambda event: None]).fit(X)  # callbacks keep starts here
        assert ends == (here.components_.tobytes(), here.history_, here.restarts_)


def test_a_fit_inside_a_task_stays_there(client):
    """A task that waited for tasks of its own would hold the worker that they need."""
    from latentbits import BernoulliMixture
    from latentbits.datasets import make_mixture

    X = make_mixture(100, 8, 2, random_state=0).data

    def fitted():
        return BernoulliMixture(2, n_init=3, random_state=0).fit(X).components_

    found = client.gather([client.submit(fitted, pure=False) for _ in range(4)])
    assert all(np.array_equal(part, found[0]) for part in found)


def test_starts_on_a_file_stay_here(client, tmp_path, monkeypatch):
    """Workers on other machines may not see the file."""
    from latentbits import BernoulliMixture
    from latentbits.engine.together import InHand

    path = tmp_path / "table.npy"
    np.save(path, (np.random.default_rng(0).random((300, 8)) < 0.4).astype(np.uint8))

    def refuse(self, function, shared, call):
        raise AssertionError("starts were sent to the workers")

    monkeypatch.setattr(InHand, "_on_workers", refuse)
    BernoulliMixture(2, n_init=3, random_state=0).fit(np.load(path, mmap_mode="r"))
    with pytest.raises(AssertionError, match="sent to the workers"):
        BernoulliMixture(2, n_init=3, random_state=0).fit(np.load(path))
