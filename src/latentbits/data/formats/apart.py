"""Calls in a process of their own: parsers that a damaged file can crash take nothing else with them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import FileError, LatentBitsError

CHILD = "from latentbits.data.formats.apart import answer; answer()"


def read_apart(read: Callable[..., Any], path: Path, *arguments: Any) -> Any:
    """What ``read(path, *arguments)`` returns or raises in another process; a FileError if that process dies or hangs.

    ``read`` is a function of a module, and its answer and its errors can be pickled.
    """
    if not sys.executable:  # Python inside another program
        return read(path, *arguments)
    places = os.pathsep.join(place for place in sys.path if place)
    try:
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            input=pickle.dumps((read, path, arguments)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": places},
            timeout=_patience(path),
        )
    except subprocess.TimeoutExpired as error:
        raise FileError(f"{path} is damaged: the program that reads it did not end in {error.timeout:.0f} s.") from None
    if child.returncode:
        raise FileError(f"{path} is damaged: the program that reads it broke down (exit code {child.returncode}).")
    answered = pickle.loads(child.stdout)
    if isinstance(answered, LatentBitsError):
        raise answered
    return answered


def _patience(path: Path) -> float:
    """Seconds after which a file that is still not read is given up: a minute, and one more for every 10 MB."""
    return 60.0 * (1.0 + (path.stat().st_size / 1e7 if path.exists() else 0.0))


def answer() -> None:
    """Make the call that standard input asks for, and write what comes of it to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a parser prints must not get into the answer
    read, path, arguments = pickle.load(sys.stdin.buffer)
    try:
        answered = read(path, *arguments)
    except LatentBitsError as error:
        answered = error
    with out:
        pickle.dump(answered, out, protocol=5)
