"""Parquet files and folders, row groups read on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError, need
from .block import Codes
from .checks import BadCells, Labels
from .convert import Binarize
from .readers import arrow_codes


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Trouble with a file becomes a FileError."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a readable Parquet file ({str(error).splitlines()[0]}).") from None


class ParquetReader:
    """A Parquet file, or a folder of them taken in the order of their names."""

    lazy = True

    def __init__(
        self,
        path: Path,
        binarize: Binarize = None,
        id_column: str | None = None,
        label_columns: Sequence[str] = (),
    ) -> None:
        try:
            import pyarrow
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise need("pyarrow", "pyarrow", "Reading Parquet") from None
        self.paths = _files(path)
        self.binarize = binarize
        self.groups: list[tuple[int, int]] = []  # (file, row group)
        counts: list[int] = []
        names: list[str] | None = None
        for f, file_path in enumerate(self.paths):
            file = self._open(f)
            if names is not None and list(file.schema_arrow.names) != names:
                raise FileError(f"{file_path} has other columns than {self.paths[0]}; a folder must hold one table.")
            names = list(file.schema_arrow.names)
            for g in range(file.num_row_groups):
                self.groups.append((f, g))
                counts.append(file.metadata.row_group(g).num_rows)
        assert names is not None
        aside = [name for name in (id_column, *label_columns) if name is not None]
        for name in aside:
            if name not in names:
                raise InputError(f"{path} has no column {name!r}; its columns are: {', '.join(names[:12])}.")
        self.columns = [name for name in names if name not in aside]
        self.bounds = np.concatenate(([0], np.cumsum(np.array(counts, np.int64)))).astype(np.int64)
        self.shape = (int(self.bounds[-1]), len(self.columns))
        self.ids = self._column(id_column) if id_column is not None else None
        self.label_values = {name: self._column(name) for name in label_columns}
        self.labels = Labels(self.columns, self.ids)

    def _open(self, f: int) -> Any:
        """The file number ``f``; opened anew, because readers may sit in several threads or processes."""
        import pyarrow.parquet as pq

        with _readable(self.paths[f]):
            return pq.ParquetFile(self.paths[f])

    def _column(self, name: str) -> list[str]:
        """All values of one column as text."""
        out: list[str] = []
        for f, path in enumerate(self.paths):
            with _readable(path):
                values = self._open(f).read(columns=[name]).column(0).to_pylist()
            out += ["" if value is None else str(value) for value in values]
        return out

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows; touches only the row groups they lie in."""
        first = int(np.searchsorted(self.bounds, low, side="right")) - 1
        last = int(np.searchsorted(self.bounds, high, side="left"))
        pieces = []
        for g in range(first, last):
            f, group = self.groups[g]
            with _readable(self.paths[f]):
                table = self._open(f).read_row_group(group, columns=self.columns)
            begin = max(low - int(self.bounds[g]), 0)
            end = min(high, int(self.bounds[g + 1])) - int(self.bounds[g])
            start = int(self.bounds[g]) + begin
            pieces.append(arrow_codes(table.slice(begin, end - begin), start, bad, self.binarize))
        return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]


def _files(path: Path) -> list[Path]:
    """The Parquet files at a path."""
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".pq"))
    if not found:
        raise FileError(f"the folder {path} holds no .parquet files.")
    return found
