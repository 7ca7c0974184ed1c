"""Causes that explain zeros: which of them are phantoms.

From the sums of the last E-step alone.  The *lift* of a cause is its share of ones relative to the whole table; a phantom
has almost none.  A phantom lives beside other causes in most of its rows; a cause of the same look that has rows of its own
is a cluster of nearly empty rows, a *blank* profile.  The mirror image, a cause of false presences, is "on-phantom".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .params import Tally

LIFT = 0.25
LEAST_SHARE = 0.01
COEXIST = 0.5
DEAD_SHARE = 1e-8


def cause_numbers(tally: Tally) -> dict[str, Any]:
    """Per cause: share of cells, share of ones among them, lift of ones and of zeros, life beside other causes."""
    cells = tally.on + tally.off
    total = max(cells.sum(), np.finfo(float).tiny)
    density = min(max(tally.on.sum() / total, 1e-300), 1 - 1e-16)
    rate = tally.on / np.maximum(cells, np.finfo(float).tiny)
    return {
        "share": cells / total,
        "on_rate": rate,
        "lift": rate / density,
        "off_lift": (1.0 - rate) / (1.0 - density),
        "coexist": 1.0 - tally.pure / np.maximum(tally.mass, np.finfo(float).tiny),
    }


def kinds_of(tally: Tally) -> list[str]:
    """Kind of every cause: "content", "phantom", "blank", "on-phantom" or "dead"."""
    numbers = cause_numbers(tally)
    out = []
    for k in range(len(tally.on)):
        share, alone = numbers["share"][k], numbers["coexist"][k] < COEXIST
        if tally.mass[k] <= DEAD_SHARE * tally.mass.sum():
            kind = "dead"
        elif share <= LEAST_SHARE:
            kind = "content"
        elif numbers["lift"][k] < LIFT:
            kind = "blank" if alone else "phantom"
        elif numbers["off_lift"][k] < LIFT and not alone:
            kind = "on-phantom"
        else:
            kind = "content"
        out.append(kind)
    return out
