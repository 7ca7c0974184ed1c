"""Which kind of hidden structure a table has: every family predicts the same hidden cells."""

from __future__ import annotations

from .adapter import Adapted
from .compare import compare
from .contestants import STRUCTURES, Contestant, contestants
from .result import Comparison

__all__ = ["STRUCTURES", "Adapted", "Comparison", "Contestant", "compare", "contestants"]
