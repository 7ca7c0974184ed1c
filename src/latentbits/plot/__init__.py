"""Matplotlib pictures; every function takes and returns Axes."""

from __future__ import annotations

from .profiles import components, profile
from .progress import restarts, selection

__all__ = ["components", "profile", "restarts", "selection"]
