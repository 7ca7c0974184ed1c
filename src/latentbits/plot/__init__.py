"""Matplotlib pictures; every function takes and returns Axes."""

from __future__ import annotations

from .causes import cause_pictures, causes, expansion, tiles
from .profiles import components, profile
from .progress import restarts, selection
from .sources import communities, loadings

__all__ = [
    "cause_pictures",
    "causes",
    "communities",
    "components",
    "expansion",
    "loadings",
    "profile",
    "restarts",
    "selection",
    "tiles",
]
