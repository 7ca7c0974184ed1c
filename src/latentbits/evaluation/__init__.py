"""How good a model is on cells and rows that it has not seen: baselines, sizes, families."""

from __future__ import annotations

from .adapter import Adapted
from .baselines import IndependentColumns
from .bootstrap import BootstrapTest, bootstrap_lrt
from .candidates import Candidate, candidates_for
from .compare_families import compare
from .comparison import Comparison
from .select_size import Selection, select

__all__ = [
    "Adapted",
    "BootstrapTest",
    "Candidate",
    "Comparison",
    "IndependentColumns",
    "Selection",
    "bootstrap_lrt",
    "candidates_for",
    "compare",
    "select",
]
