"""Trees of columns: columns that depend on each other in pairs, in all rows or within hidden classes."""

from __future__ import annotations

from .estimator import ChowLiuTree, TreeMixture
from .forest import edge_strengths

__all__ = ["ChowLiuTree", "TreeMixture", "edge_strengths"]
