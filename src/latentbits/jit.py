"""How kernels are compiled: the one place for Numba's settings.  Only files of kernels import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import config, njit

# LLVM's straight-line vectoriser, which Numba leaves off: sums that kernels keep in four or eight named variables go
# through vector registers.  It changes speed, never a result.
config.SLP_VECTORIZE = 1  # type: ignore[attr-defined]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over arrays at its first call, once per machine, to run beside other threads."""
    compiled: Callable[..., Any] = njit(cache=True, nogil=True)(function)
    return compiled
