"""Sizes that make no sense: refused when the table is open, before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..errors import InputError

# Components that every table may be given: so many cost little, and warnings tell of those that hold no rows.
ALWAYS = 100
# Assumed where the system does not tell.
USUAL_MEMORY = 64 * 2**30
BYTES = 8  # of a number
COPIES = 4  # of the parameters: old and new ones, their logarithms, sums
PER_START = 32  # numbers that are kept of every start
GIGABYTE = 10**9
LARGEST_SHOWN = 10**15
# Options that a fit grows with.
SIZES = (
    "n_components",
    "n_states",
    "surplus",
    "latent_shape",
    "n_init",
    "n_epochs",
    "n_chains",
    "n_warmup",
    "n_draws",
    "thin",
)


def check_supported(owner: str, option: str, value: int, shape: tuple[int, int]) -> None:
    """Refuse more components than the table has rows: they could not be told apart."""
    if value > max(ALWAYS, shape[0]):
        raise InputError(
            f"{owner}: {option}={shown(value)} is more than the {shape[0]} rows of the table ({shape_text(shape)}); no more "
            f"than one per row can be told apart. Use a smaller {option}."
        )


def check_memory(owner: str, what: str, numbers: int) -> None:
    """Refuse what would have to keep more numbers than this machine has memory for."""
    has, needed = memory(), BYTES * numbers
    if needed > has:
        raise InputError(
            f"{owner}: {what} needs about {shown(-(-needed // GIGABYTE))} GB of memory, and this machine has "
            f"{-(-has // GIGABYTE)} GB. Use smaller numbers."
        )


def shape_text(shape: tuple[int, int]) -> str:
    """The size of a table in words.

    Examples
    --------
    >>> shape_text((400, 1))
    '400 rows × 1 column'
    """
    return f"{shown(shape[0])} row{'s' * (shape[0] != 1)} × {shape[1]} column{'s' * (shape[1] != 1)}"


def sizes_text(options: Mapping[str, Any]) -> str:
    """Those of an estimator's options that make it large, in words."""
    found = [(name, options[name]) for name in SIZES if name in options]
    large = [f"{name}={shown(value)}" for name, value in found if isinstance(value, int) and value > ALWAYS]
    large += [f"{name}={value}" for name, value in found if isinstance(value, tuple)]
    return f" with {', '.join(large)}" if large else ""


def shown(value: int) -> str:
    """A number that may be too long to be read."""
    return f"{value}" if value <= LARGEST_SHOWN else f"more than {LARGEST_SHOWN}"


def memory() -> int:
    """Bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return USUAL_MEMORY
