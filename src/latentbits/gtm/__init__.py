"""Maps of binary rows."""

from __future__ import annotations

from .estimator import BinaryGTM
from .grid import suggested_shape

__all__ = ["BinaryGTM", "suggested_shape"]
