"""A fit killed at any moment resumes to the bit-identical result."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import latentbits
from latentbits import BernoulliMixture
from latentbits.datasets import make_mixture
from tests.unit.test_cli import run

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from tests.contracts.test_killed import fit
fit(*sys.argv[1:])
"""


def fit(folder, out):
    """Fit the table of a folder, with a checkpoint, say every pass, and save the model."""
    folder = Path(folder)
    model = BernoulliMixture(8, n_init=3, tol=0.0, max_iter=60, random_state=5, block_rows=400)
    model.set_params(checkpoint=folder / "fit.checkpoint", callbacks=[lambda event: print("pass", flush=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.load(folder / "table.npy")).set_params(checkpoint=None, callbacks=None).save(out)


def killed(folder, wait):
    """Run the fit in a process of its own and kill it so many seconds after its first pass; whether that came in time."""
    environment = {**os.environ, "LATENTBITS_CHECKPOINT_SECONDS": "0"}
    command = [sys.executable, "-c", SCRIPT, folder, folder / "resumed"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=ROOT
    ) as process:
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL


def kill_and_resume(folder, n_kills, seed, latest):
    np.save(folder / "table.npy", make_mixture(2000, 40, 8, unknown=0.05, random_state=1).data)
    fit(folder, folder / "straight")
    (folder / "fit.checkpoint").unlink()
    rng = random.Random(seed)
    kills = sum(killed(folder, rng.uniform(0, latest)) for _ in range(n_kills))
    assert kills == n_kills, "the fit was over before all kills; make it longer"
    fit(folder, folder / "resumed")
    assert (folder / "straight").read_bytes() == (folder / "resumed").read_bytes()


def test_killed_a_few_times(tmp_path):
    kill_and_resume(tmp_path, 2, seed=0, latest=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_killed_at_random_moments(tmp_path, number):
    kill_and_resume(tmp_path, 1, seed=number + 1, latest=0.4)


def test_interrupted_on_the_command_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATENTBITS_CHECKPOINT_SECONDS", "0.05")
    table = make_mixture(3000, 40, 8, random_state=1).data.astype(int)
    np.savetxt(
        tmp_path / "t.csv", table, fmt="%d", delimiter=",", header=",".join(f"c{j}" for j in range(40)), comments=""
    )
    command = ["fit", "t.csv", "-k", "8", "--tol", "0", "--max-iter", "150", "--starts", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "latentbits", *command, "-o", "cut.latentbits"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    while not Path("cut.latentbits.checkpoint").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 1 and "--resume" in errors and "Traceback" not in errors
    assert Path("cut.latentbits.checkpoint").exists() and not Path("cut.latentbits").exists()
    run(capsys, *command, "-o", "cut.latentbits", "--resume")
    run(capsys, *command, "-o", "straight.latentbits")
    assert not Path("cut.latentbits.checkpoint").exists()
    assert Path("cut.latentbits").read_bytes() == Path("straight.latentbits").read_bytes()
    assert latentbits.load("cut.latentbits").n_components == 8
