"""A process with a single thread that forks a child for every draw, so that a draw costs milliseconds and may die.

``python -m tests.fuzz.server MODULE FIRST STEP END`` runs the draws FIRST, FIRST + STEP, ... below END of tests.fuzz.MODULE
and writes a line of JSON for every failure, and one with the number of draws at the end.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
MEMORY = 6 << 30  # bytes that a child may ask for
SECONDS = 60  # that a draw may take


def run(module: str, n_draws: int, n_servers: int = 1, first: int = 0) -> list[dict[str, object]]:
    """Failures of the draws from ``first`` on, run by several servers side by side."""
    quiet = {f"{name}_NUM_THREADS": "1" for name in THREADS} | {"POLARS_MAX_THREADS": "1", "MPLBACKEND": "agg"}
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        servers = []
        for k in range(n_servers):
            command = [sys.executable, "-m", "tests.fuzz.server", module]
            command += [str(first + k), str(n_servers), str(first + n_draws)]
            out = open(Path(folder) / str(k), "w+")
            servers.append(
                (subprocess.Popen(command, cwd=root, env={**os.environ, **quiet}, stdout=out, stderr=out), out)
            )
        told: list[dict[str, object]] = []
        for server, out in servers:
            server.wait()
            out.seek(0)
            text = out.read()
            out.close()
            lines = [json.loads(line) for line in text.splitlines() if line.startswith('{"draw"')]
            assert server.returncode == 0 and lines, text[-3000:]
            told += lines
    n_run = sum(line["n"] for line in told if line["draw"] is None)
    assert n_run == n_draws, f"{n_run} of {n_draws} draws were run"
    return [line for line in told if line["draw"] is not None]


def serve(name: str, first: int, step: int, end: int) -> None:
    """Run draws one after the other and tell of failures."""
    module = importlib.import_module(f"tests.fuzz.{name}")
    module.warm()
    numbers = range(first, end, step)
    for number in numbers:
        began = time.time()
        failure = _in_child(module.check, number)
        if failure is not None:
            line = {"draw": number, "what": module.describe(number), "failure": failure, "seconds": time.time() - began}
            print(json.dumps(line), flush=True)
    print(json.dumps({"draw": None, "n": len(numbers)}), flush=True)


def _in_child(check, number: int) -> str | None:
    """What is wrong with a draw, which runs in a child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_child(check, number, writing)
    os.close(writing)
    parts, deadline = [], time.time() + SECONDS
    while select.select([reading], [], [], max(0.0, deadline - time.time()))[0]:
        part = os.read(reading, 65536)
        if not part:
            break
        parts.append(part)
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    told = b"".join(parts).decode()
    if os.WIFSIGNALED(status):
        late = time.time() >= deadline
        return f"took more than {SECONDS} s" if late else f"the process died of signal {os.WTERMSIG(status)}"
    if not told:
        return f"the process ended with {os.WEXITSTATUS(status)} and without a word"
    answer: str | None = json.loads(told)
    return answer


def _be_child(check, number: int, writing: int) -> None:
    """Run one draw, write the outcome and leave without any tidying."""
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        failure = check(number)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-4:]
        place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))
        failure = f"{type(error).__name__}: {str(error)[:300]} at {place}"
    try:
        os.write(writing, json.dumps(failure).encode())
    finally:
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], *map(int, sys.argv[2:5]))
