"""A tree of hidden states: every column has a local cause, close to those of its neighbours."""

from __future__ import annotations

from .estimator import HiddenTree

__all__ = ["HiddenTree"]
