"""Draws of damaged input: no process dies, nothing wrong is accepted, every error is ours."""

from __future__ import annotations

import sys

import pytest

from .server import run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="draws run in forked processes")


def told(failures):
    """Failures in lines, a few of them."""
    lines = [f"draw {one['draw']}: {one['what']}: {one['failure']}" for one in failures[:20]]
    return f"{len(failures)} failures\n" + "\n".join(lines)


@pytest.mark.parametrize(("module", "n_draws"), [("sparse", 300), ("estimators", 100), ("commands", 50)])
def test_some_draws(module, n_draws):
    failures = run(module, n_draws)
    assert not failures, told(failures)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "n_draws"), [("sparse", 5000), ("estimators", 7000), ("commands", 3000)])
def test_all_draws(module, n_draws):
    failures = run(module, n_draws, n_servers=2, first=1_000_000)
    assert not failures, told(failures)
