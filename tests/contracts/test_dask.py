"""On a cluster of two worker processes: the same bits, also when a worker is killed."""

from __future__ import annotations

import os
import signal

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
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


# Frames differ in how blocks are put together only: one variant of every family is enough.
ON_THE_CLUSTER = [("dask array", family) for family in FAMILIES]
ON_THE_CLUSTER += [("dask frame", family) for family in FAMILIES if "," not in family.name]


@pytest.mark.parametrize(
    ("container", "family"), ON_THE_CLUSTER, ids=[f"{container}-{family.name}" for container, family in ON_THE_CLUSTER]
)
def test_same_bits_on_the_cluster(client, family, container, tmp_path):
    from latentbits.engine.sweep import sweep_of
    from latentbits.engine.sweep_dask import DaskSweep

    table = family.table()
    short = {"block_rows": 25, "max_iter": 8}
    straight = family.fit(table, **short)
    made = CONTAINERS[container](table, tmp_path)
    estimator = family.fit(made, **short)
    assert isinstance(sweep_of(estimator._open(made, reset=False)), DaskSweep)
    assert_same_bits(straight, estimator)
    assert straight.set_params(block_rows=25).transform(table).tobytes() == estimator.transform(made).tobytes()
    if not family.weighted:
        return
    weights = np.arange(len(table)) % 3
    assert_same_bits(
        family.fit(table, sample_weight=weights, **short), family.fit(made, sample_weight=weights, **short)
    )


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
    straight = family.fit(table, block_rows=50, n_init=1, max_iter=15, tol=1e-10)
    killed = []

    def kill_one(event):
        if event.step.state.iteration == 4 and not killed:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    made = CONTAINERS["dask array"](table, tmp_path)
    estimator = family.fit(made, block_rows=50, n_init=1, max_iter=15, tol=1e-10, callbacks=[kill_one])
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
        for step in em(Effort(), sweep, State(point), EMOptions(tol=1e-12, max_iter=50)):
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


def test_bad_cells_are_named_from_the_cluster(client):
    import dask.array as da

    table = np.zeros((60, 4))
    table[45, 2] = 7
    with pytest.raises(CellError, match=r"row 45, column 2\) is 7"):
        FAMILIES[0].fit(da.from_array(table, chunks=(25, 4)), block_rows=20)
