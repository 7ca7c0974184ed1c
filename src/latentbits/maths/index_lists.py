"""A whole table as index lists in this process, for what has to reach any row at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.block import Block, Index, Lists, Pointer
from ..engine.protocols import Sweep

Parts = tuple[Any, Any, Any, Any]  # marks per row and their columns, of ones and of others


def plain_lists(block: Block) -> Parts:
    """Ones and unknown cells of a block."""
    ones, unknown = block.ones.lists(), block.unknown_lists()
    return np.diff(ones[0]), ones[1], np.diff(unknown[0]), unknown[1]


def gather_lists(sweep: Sweep, lists: Callable[[Block], Parts] = plain_lists) -> tuple[Pointer, Index, Pointer, Index]:
    """Index lists of all rows, two per row, as ``lists(block)`` makes them of a block."""
    parts = sweep.collect(lists)
    out: list[Any] = []
    for i in (0, 2):
        counts = np.concatenate([part[i] for part in parts])
        out.append(np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
        out.append(np.concatenate([part[i + 1] for part in parts]).astype(np.int32, copy=False))
    return out[0], out[1], out[2], out[3]


def whole_lists(sweep: Sweep, n_columns: int) -> Lists:
    """Ones and unknown cells of all rows."""
    return Lists(*gather_lists(sweep), n_columns)
