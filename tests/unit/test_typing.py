"""What type checkers see: a program of a user, checked by mypy and pyright, and the stub of public names."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import latentbits

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "typing" / "sample.py"


def checked(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy():
    done = checked(sys.executable, "-m", "mypy", "--strict", str(SAMPLE))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright():
    done = checked(sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(SAMPLE))
    if "error" not in done.stdout and done.returncode != 0:  # it loads its own scripts when it is first run
        pytest.skip(f"pyright cannot start here: {(done.stderr or done.stdout)[-300:]}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_program_is_refused(tmp_path):
    """The checks above can fail."""
    if shutil.which("mypy") is None and importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import latentbits\nname: int = latentbits.BernoulliMixture(2).fit([[0, 1]]).summary()\n")
    assert "assignment" in checked(sys.executable, "-m", "mypy", "--strict", str(wrong)).stdout


def test_the_stub_has_all_public_names():
    stub = ast.parse(Path(latentbits.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported == set(latentbits.__all__) - {"__version__"}
    assert Path(latentbits.__file__).with_name("py.typed").exists()
