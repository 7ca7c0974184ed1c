"""A fit killed at any moment resumes to the bit-identical result."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import latentbits
from latentbits.datasets import make_mixture

SCRIPT = """
import sys
import numpy as np
from latentbits import BernoulliMixture
table, checkpoint, out = sys.argv[1:]
X = np.load(table)
BernoulliMixture(8, n_init=3, tol=0.0, max_iter=60, random_state=5, block_rows=400,
                 checkpoint=checkpoint, callbacks=[lambda event: print("pass", flush=True)]).fit(X).set_params(
    checkpoint=None, callbacks=None).save(out)
"""


def run(folder, out, wait=None):
    """Run the fit; with ``wait`` kill it that many seconds after its first pass.  Returns whether it was killed."""
    environment = {**os.environ, "LATENTBITS_CHECKPOINT_SECONDS": "0", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", SCRIPT, folder / "table.npy", folder / "fit.checkpoint", out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        if wait is None:
            _, errors = process.communicate()
            assert process.returncode == 0, errors.decode()
            return False
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL


def kill_and_resume(folder, n_kills, seed, latest):
    np.save(folder / "table.npy", make_mixture(2000, 40, 8, unknown=0.05, random_state=1).data)
    run(folder, folder / "straight")
    (folder / "fit.checkpoint").unlink()
    rng = random.Random(seed)
    kills = sum(run(folder, folder / "resumed", rng.uniform(0, latest)) for _ in range(n_kills))
    assert kills == n_kills, "the fit was over before all kills; make it longer"
    run(folder, folder / "resumed")
    assert (folder / "straight").read_bytes() == (folder / "resumed").read_bytes()


def test_killed_a_few_times(tmp_path):
    kill_and_resume(tmp_path, 2, seed=0, latest=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_killed_at_random_moments(tmp_path, number):
    kill_and_resume(tmp_path, 1, seed=number + 1, latest=0.4)


def test_interrupted_on_the_command_line(tmp_path):
    table = make_mixture(3000, 40, 8, random_state=1).data.astype(int)
    np.savetxt(
        tmp_path / "t.csv", table, fmt="%d", delimiter=",", header=",".join(f"c{j}" for j in range(40)), comments=""
    )
    command = [
        sys.executable,
        "-m",
        "latentbits",
        "fit",
        "t.csv",
        "-k",
        "8",
        "--tol",
        "0",
        "--max-iter",
        "150",
        "--starts",
        "2",
    ]

    def launch(*more):
        return subprocess.Popen(
            [*command, *more], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )

    process = launch("-o", "cut.latentbits")
    for line in process.stderr:
        if "pass 50" in line:
            process.send_signal(signal.SIGINT)
            break
    _, errors = process.communicate()
    assert process.returncode == 1 and "--resume" in errors and "Traceback" not in errors
    assert (tmp_path / "cut.latentbits.checkpoint").exists() and not (tmp_path / "cut.latentbits").exists()
    for more in (["-o", "cut.latentbits", "--resume"], ["-o", "straight.latentbits"]):
        process = launch(*more)
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    assert not (tmp_path / "cut.latentbits.checkpoint").exists()
    assert (tmp_path / "cut.latentbits").read_bytes() == (tmp_path / "straight.latentbits").read_bytes()
    assert latentbits.load(tmp_path / "cut.latentbits").n_components == 8
