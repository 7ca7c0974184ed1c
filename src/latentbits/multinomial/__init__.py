"""Topics of rows of counts."""

from __future__ import annotations

from .gaussian_plsa import GaussianPLSA
from .plsa import PLSA
from .unigrams import MixtureOfUnigrams

__all__ = ["PLSA", "GaussianPLSA", "MixtureOfUnigrams"]
