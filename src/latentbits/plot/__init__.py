"""Matplotlib pictures; every function takes and returns Axes."""

from __future__ import annotations

from .causes import cause_pictures, causes, expansion, tiles
from .profiles import components, profile
from .progress import restarts, selection

__all__ = ["cause_pictures", "causes", "components", "expansion", "profile", "restarts", "selection", "tiles"]
