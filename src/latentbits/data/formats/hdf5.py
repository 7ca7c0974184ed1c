"""What all files in HDF5 have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import FileError

MOST_PACKED = 2000  # no compression that these files use makes real data smaller than this share


def check_sizes(path: Path, *parts: Any) -> None:
    """Refuse arrays that claim to be larger than the file can hold, before memory is asked for them."""
    limit = MOST_PACKED * path.stat().st_size
    for part in parts:
        for name, item in _arrays(part):
            if item.dtype.itemsize * item.size > limit:
                raise FileError(f"{path} is damaged: {name} claims {item.size} entries.")


def _arrays(part: Any) -> list[tuple[str, Any]]:
    """The array itself, or all arrays of a group, with their names in the file."""
    if not hasattr(part, "visititems"):
        return [(part.name, part)]
    found: list[tuple[str, Any]] = []
    part.visititems(lambda name, item: found.append((item.name, item)) if hasattr(item, "dtype") else None)
    return found
