"""How good a model is on cells and rows that it has not seen: baselines, sizes, families."""

from __future__ import annotations

from .adapter import Adapted
from .baselines import IndependentColumns
from .bootstrap import BootstrapTest, bootstrap_lrt
from .candidates import Candidate, candidates_for
from .compare_families import compare
from .comparison import Comparison
from .imputer import Imputer
from .plan import Plan
from .select_size import Selection, select
from .stacked_fill import StackedFill
from .stacking import Stack

__all__ = [
    "Adapted",
    "BootstrapTest",
    "Candidate",
    "Comparison",
    "Imputer",
    "IndependentColumns",
    "Plan",
    "Selection",
    "Stack",
    "StackedFill",
    "bootstrap_lrt",
    "candidates_for",
    "compare",
    "select",
]
