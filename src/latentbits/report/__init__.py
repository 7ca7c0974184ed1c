"""The report: one HTML file that opens from disk, without a network."""

from __future__ import annotations

from .page import page_of

__all__ = ["page_of"]
