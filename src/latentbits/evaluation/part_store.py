"""Finished parts of a comparison, kept in a folder so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from ..base.passes import fingerprint, table_sums
from ..data.source import Source
from ..engine.checkpoint import read_sealed, write_sealed
from ..engine.sweep import sweep_of
from ..errors import FileError


def digest_of_table(source: Source) -> str:
    """A checksum of what a table holds and what its columns are called."""
    cells = fingerprint(table_sums(sweep_of(source, 1))[1])
    return hashlib.sha256(repr((source.shape, source.labels.columns, cells)).encode()).hexdigest()


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
        return (header["content"], arrays) if (header["run"], header["key"]) == (self.run, key) else None

    def put(self, key: str, content: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Keep a result."""
        if self.folder is not None:
            write_sealed(self._path(key), "comparison part", {"run": self.run, "key": key, "content": content}, arrays)
