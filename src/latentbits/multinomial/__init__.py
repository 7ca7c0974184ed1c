"""Topics of rows of counts."""

from __future__ import annotations

from .plsa import PLSA
from .unigrams import MixtureOfUnigrams

__all__ = ["PLSA", "MixtureOfUnigrams"]
