"""Noisy-or component analysis."""

from __future__ import annotations

from .estimator import NoisyOrComponentAnalysis

__all__ = ["NoisyOrComponentAnalysis"]
