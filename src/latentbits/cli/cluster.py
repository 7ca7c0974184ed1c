"""Where the fits of a command run: here, on a Dask cluster that is there, or on one that is started for the command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from ..errors import ClusterError, InputError, need

Dask = Annotated[
    str | None,
    typer.Option("--dask", help="Address of a Dask scheduler, e.g. tcp://host:8786, whose workers do the fits."),
]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Start so many processes on this machine to do the fits, by Dask.")
]
CONNECT = "15 s"  # how long a scheduler may take to answer


@contextmanager
def workers_of(address: str | None, n_workers: int | None) -> Iterator[Any]:
    """A client of the cluster that was asked for, or None; what was started is stopped at the end."""
    if address is None and n_workers is None:
        yield None
        return
    if address is not None and n_workers is not None:
        raise InputError("--dask names a cluster that is there, --workers starts one; give one of them.")
    if n_workers is not None and n_workers < 1:
        raise InputError(f"--workers is a number of processes, 1 or more; got {n_workers}.")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise need("distributed", "dask", "--dask and --workers") from None
    if address is not None:
        try:
            client = Client(address, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no Dask scheduler answers at {address} ({error}). Start one with `dask scheduler`."
            ) from None
        with client:
            if not client.nthreads():
                raise ClusterError(
                    f"the Dask scheduler at {address} has no workers. Start some with `dask worker {address}`."
                )
            yield client
        return
    from ..engine.together import keeping_memory

    with (
        keeping_memory(),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        print(f"{n_workers} worker process{'es' * (n_workers != 1)} started", file=sys.stderr)
        yield client
