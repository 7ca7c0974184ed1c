"""The main job: from a table to the hidden structure in it, with tables, a model and a report."""

from __future__ import annotations

from .exploration import Exploration
from .facts import Facts, facts_of
from .job import explore

__all__ = ["Exploration", "Facts", "explore", "facts_of"]
