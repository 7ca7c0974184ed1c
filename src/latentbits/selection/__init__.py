"""How many components, and against what to compare."""

from __future__ import annotations

from .baselines import ChowLiuTree, IndependentColumns
from .bootstrap import BootstrapTest, bootstrap_lrt
from .choose import Selection, select

__all__ = ["BootstrapTest", "ChowLiuTree", "IndependentColumns", "Selection", "bootstrap_lrt", "select"]
