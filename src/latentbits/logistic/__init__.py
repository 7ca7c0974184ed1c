"""Models that are linear on the logit scale."""

from __future__ import annotations

from .estimator import LogisticPCA
from .trait import LatentTrait

__all__ = ["LatentTrait", "LogisticPCA"]
