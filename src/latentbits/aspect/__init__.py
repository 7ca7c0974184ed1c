"""Aspect Bernoulli: several causes per row, one cause per cell."""

from __future__ import annotations

from .estimator import AspectBernoulli

__all__ = ["AspectBernoulli"]
