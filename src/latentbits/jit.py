"""How kernels are compiled: the one place for Numba's settings.  Only files of kernels import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import config, njit

# LLVM's straight-line vectoriser, which Numba leaves off: sums that kernels keep in four or eight named variables go
# through vector registers.  It changes speed, never a result.
config.SLP_VECTORIZE = 1  # type: ignore[attr-defined]
# Division by zero gives infinity, as in NumPy: a check in every division would keep loops out of vector registers.
SETTINGS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
UNCOUNTED: dict[str, Any] = {**SETTINGS, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over arrays at its first call, once per machine, to run beside other threads."""
    compiled: Callable[..., Any] = njit(**SETTINGS)(function)
    return compiled


def inner_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for loops that are called by other kernels, over and over, and make no arrays of their own.

    They are compiled without counts of references: to count those of the arrays that a call hands over takes longer, some
    ten nanoseconds each, than many of these loops.
    """
    compiled: Callable[..., Any] = njit(**UNCOUNTED)(function)
    return compiled
