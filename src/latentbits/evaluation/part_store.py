"""Finished parts of a comparison, kept in a folder so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from ..base.passes import fingerprint, table_sums
from ..data.replacing import write_atomically
from ..data.source import Source
from ..engine.checkpoint import read_sealed, write_sealed
from ..engine.sweep import sweep_of
from ..errors import FileError


def digest_of_table(source: Source) -> str:
    """A checksum of what a table holds and what its columns are called."""
    cells = fingerprint(table_sums(sweep_of(source, 1))[1])
    return hashlib.sha256(repr((source.shape, source.labels.columns, cells)).encode()).hexdigest()


MARK = "latentbits-parts"
# Files that runs write into a folder of parts, and what is left of them if a run is killed while it writes.
OURS = re.compile(rf"({MARK}|[0-9a-f]{{16}}\.part|read-[0-9a-f]{{12}}\.(latentbits|json))")
ASIDE = re.compile(rf"\.{OURS.pattern}\.[^.]+")


def mark_parts(folder: Path) -> None:
    """Make a folder for finished parts, marked as ours."""
    write_atomically(folder / MARK, b"Finished parts of a run of latentbits; they are removed at its end.\n")


def check_parts(folder: Path) -> None:
    """Refuse a folder that holds anything but finished parts of a run."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        strange: Path | None = folder
    else:
        files = sorted(folder.iterdir()) if folder.exists() else []
        marked = any(file.name == MARK for file in files)
        strange = next((file for file in files if not marked or not _is_ours(file)), None)
    if strange is not None:
        raise FileError(
            f"{strange} is there, but not from an exploration; it is not removed. Move {folder} away, or name another --out."
        )


def remove_parts(folder: Path) -> None:
    """Remove finished parts, and nothing else that may lie beside them."""
    for file in folder.iterdir():
        if _is_ours(file):
            file.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()


def _is_ours(file: Path) -> bool:
    """Whether a file of a marked folder was written by a run."""
    named = OURS.fullmatch(file.name) or ASIDE.fullmatch(file.name)
    return bool(named) and file.is_file() and not file.is_symlink()


class Store:
    """Files of one run, each told apart by a key; those of another run, and damaged ones, are not used."""

    def __init__(self, folder: Any, run: str) -> None:
        self.folder = None if folder is None else Path(folder)
        self.run = run

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.part"

    def get(self, key: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """What was put under a key by the same run."""
        if self.folder is None or not self._path(key).exists():
            return None
        try:
            header, arrays = read_sealed(self._path(key), "comparison part")
        except FileError:
            return None
        mine = (header.get("run"), header.get("key")) == (self.run, key) and isinstance(header.get("content"), dict)
        return (header["content"], arrays) if mine else None

    def put(self, key: str, content: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Keep a result."""
        if self.folder is not None:
            write_sealed(self._path(key), "comparison part", {"run": self.run, "key": key, "content": content}, arrays)
