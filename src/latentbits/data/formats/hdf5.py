"""What all files in HDF5 have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import FileError
from ..raw import readable
from .apart import read_apart

PIECE = 2**24  # bytes read in one go
MOST_PACKED = 2000  # no compression that these files use makes real data smaller than this share


def check_whole(path: Path, *parts: str) -> None:
    """Refuse a file that the library of HDF5 breaks down or hangs on: the parts are read first in a process of their own."""
    read_apart(walk, path, *parts)


def walk(path: Path, *parts: str) -> None:
    """Read all arrays of the named parts, a piece at a time, and keep nothing."""
    import h5py

    with readable(path, "HDF5"), h5py.File(path, "r") as file:
        for name in parts:
            if name in file:
                check_sizes(path, file[name])
                for _, item in _arrays(file[name]):
                    _read_pieces(item)


def _read_pieces(item: Any) -> None:
    """Read an array and what is said about it."""
    dict(item.attrs)
    if not item.shape:
        item[()]
        return
    step = max(1, PIECE // max(1, item.dtype.itemsize * int(item.size) // max(1, item.shape[0])))
    for low in range(0, item.shape[0], step):
        item[low : low + step]


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
