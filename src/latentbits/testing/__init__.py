"""Contracts that every family must keep, ready for a table of families."""

from __future__ import annotations

from .containers import CONTAINERS, Container
from .contracts import CONTRACTS, Family

__all__ = ["CONTAINERS", "CONTRACTS", "Container", "Family"]
