"""How tables become row blocks."""

from __future__ import annotations

from .block import ONE, UNKNOWN, ZERO, Block
from .checks import Labels
from .files import Table, encode, read_table
from .source import Source, open_source
from .store import memory_limit

__all__ = [
    "ONE",
    "UNKNOWN",
    "ZERO",
    "Block",
    "Labels",
    "Source",
    "Table",
    "encode",
    "memory_limit",
    "open_source",
    "read_table",
]
