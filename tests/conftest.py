"""Shared by all tests: strict monotonicity, checkpoints at every pass, data sets found or skipped."""

from __future__ import annotations

import os
import signal

import pytest

os.environ["LATENTBITS_STRICT"] = "1"
os.environ.setdefault("LATENTBITS_CHECKPOINT_SECONDS", "0")

# A shell may start what runs in the background deaf to interrupts; programs that the tests start and interrupt inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def prepared():
    """The path of a prepared data set, or a skip that says what is missing."""
    from latentbits.datasets import PREPARED, find

    def path(name: str):
        found = find(name)
        if found is None:
            pytest.skip(f"needs {PREPARED[name].file} in the folder named by LATENTBITS_DATA")
        return found

    return path
