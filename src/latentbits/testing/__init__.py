"""Contracts that every family must keep, ready for a table of families."""

from __future__ import annotations

from .containers import CONTAINERS, KINDS, Container
from .contracts import CONTRACTS, Family, NotApplicable
from .covering import cover

__all__ = ["CONTAINERS", "CONTRACTS", "KINDS", "Container", "Family", "NotApplicable", "cover"]
