"""Trees of columns: columns that depend on each other in pairs, in all rows or within hidden classes."""

from __future__ import annotations

from .estimator import ChowLiuTree, TreeMixture
from .forest import edge_strengths
from .hidden import HiddenTree

__all__ = ["ChowLiuTree", "HiddenTree", "TreeMixture", "edge_strengths"]
