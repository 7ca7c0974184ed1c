"""Matplotlib pictures; every function takes and returns Axes."""

from __future__ import annotations

from .causes import cause_pictures, causes, expansion, tiles
from .chains import coclustering, fill_ins, traces
from .profiles import components, profile
from .progress import restarts, selection
from .sources import communities, loadings

__all__ = [
    "cause_pictures",
    "causes",
    "coclustering",
    "communities",
    "components",
    "expansion",
    "fill_ins",
    "loadings",
    "profile",
    "restarts",
    "selection",
    "tiles",
    "traces",
]
