"""The scripts of the report under node: their own tests, and that the script in a page can be read at all."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from latentbits.report.bundle import bundled

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "js").glob("*.test.mjs"))


def found_node():
    """The node that is named, the one that Playwright brings, or that of the system."""
    named = os.environ.get("LATENTBITS_NODE")
    if named:
        return named
    try:
        import playwright
    except ImportError:
        pass
    else:
        driver = Path(playwright.__file__).parent / "driver"
        for name in ("node", "node.exe"):
            if (driver / name).is_file():
                return str(driver / name)
    return shutil.which("node")


@pytest.fixture(scope="module")
def node():
    place = found_node()
    if place is None:
        pytest.skip("needs node (it comes with the package playwright; or name it in LATENTBITS_NODE)")
    return place


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, f"\n{done.stdout}\n{done.stderr}"


def test_the_tests_of_scripts_pass(node):
    assert FILES
    run(node, "--test", *map(str, FILES))  # by name: releases of node differ in what a folder means


def test_the_script_of_a_page_can_be_read(node, tmp_path):
    script = tmp_path / "page.cjs"
    script.write_text(bundled(resources.files("latentbits.report") / "files" / "js"), encoding="utf-8")
    run(node, "--check", str(script))
