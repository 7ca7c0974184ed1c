"""Parquet files and folders, row groups read on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, need
from .block import ONE, UNKNOWN, Codes
from .checks import BadCells, Labels
from .encoding import words_of
from .matching import Plan, codes_of_plan, plan_of
from .readers import Wanted, arrow_column
from .reading import Reading
from .store import working_room
from .text import set_aside

# Rows that are decoded at a time, at least.
LEAST_ROWS = 1024


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Trouble with a file becomes a FileError."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a readable Parquet file ({str(error).splitlines()[0]}).") from None


class _Cursor:
    """How far a row group has been decoded, and what of it may still be asked for."""

    def __init__(self, group: int, batches: Iterator[Any]) -> None:
        self.group, self.batches = group, batches
        self.at = 0  # the first row that is held
        self.held: list[Any] = []

    def rows(self, begin: int, end: int) -> Any:
        """The rows from ``begin`` to ``end``, of which the first is not before ``at``."""
        import pyarrow as pa

        n_held = sum(batch.num_rows for batch in self.held)
        while self.at + n_held < end:
            while self.held and self.at + self.held[0].num_rows <= begin:  # nobody asks for these any more
                gone = self.held.pop(0).num_rows
                self.at, n_held = self.at + gone, n_held - gone
                pa.default_memory_pool().release_unused()
            self.held.append(next(self.batches))
            n_held += self.held[-1].num_rows
        return pa.Table.from_batches(self.held).slice(begin - self.at, end - begin)


class _Bits:
    """A row group as bits, which take an eighth of its cells."""

    def __init__(self, group: int, n_rows: int, n_columns: int, most_bytes: int) -> None:
        self.group, self.n_columns, self.most_bytes = group, n_columns, most_bytes
        self.shape = (n_rows, -(-n_columns // 8))
        self.fits = n_rows * self.shape[1] <= most_bytes
        self.ones = np.zeros(self.shape if self.fits else (0, 0), np.uint8)
        self.unknown: Codes | None = None

    def put(self, j: int, codes: Codes) -> bool:
        """Columns from ``j`` on, a multiple of eight; False where there are blanks and no room for them."""
        _put_bits(codes == ONE, j, self.ones)
        if codes.max(initial=0) == UNKNOWN:
            if self.unknown is None:
                self.fits = 2 * self.ones.nbytes <= self.most_bytes
                self.unknown = np.zeros(self.shape if self.fits else (0, 0), np.uint8)
            if self.fits:
                _put_bits(codes == UNKNOWN, j, self.unknown)
        return self.fits

    def codes(self, begin: int, end: int) -> Codes:
        """The codes of some rows."""
        codes = np.unpackbits(self.ones[begin:end], axis=1, count=self.n_columns)
        if self.unknown is not None:
            blank = np.unpackbits(self.unknown[begin:end], axis=1, count=self.n_columns)
            codes[blank.view(np.bool_)] = UNKNOWN
        return codes


def _put_bits(marks: Any, j: int, bits: Codes) -> None:
    """Set the bits of columns (n, m) from ``j`` on, a column at a time as they lie in memory; ``bits`` is filled."""
    for place in range(marks.shape[1]):
        byte, shift = divmod(j + place, 8)
        bits[:, byte] |= marks[:, place].view(np.uint8) << np.uint8(7 - shift)


class ParquetReader:
    """A Parquet file, or a folder of them taken in the order of their names."""

    lazy = True

    def __init__(self, path: Path, reading: Reading, wanted: Wanted = None) -> None:
        _need_pyarrow()
        self.paths = _files(path)
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
        self.all_names = names
        reading = set_aside(path, names, reading, wanted)
        self.aside = reading.aside
        self.bounds = np.concatenate(([0], np.cumsum(np.array(counts, np.int64)))).astype(np.int64)
        self.plan = plan_of(names, reading.encoding, self.words, self.aside, wanted, str(path))
        self.reading = replace(reading, encoding=self.plan.encoding)
        self.columns = [names[j] for j in sorted(set(self.plan.places))]
        self.shape = (int(self.bounds[-1]), len(self.plan.names))
        self.ids = None if reading.id_column is None else self._texts(reading.id_column)
        self.label_values = {name: self._texts(name) for name in reading.label_columns}
        self.labels = Labels(self.plan.names, self.ids)
        self._last = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _last=threading.local())

    def _open(self, f: int) -> Any:
        """The file number ``f``; opened anew, because readers may sit in several threads or processes."""
        import pyarrow.parquet as pq

        with _readable(self.paths[f]):
            return pq.ParquetFile(self.paths[f], pre_buffer=False)

    def _column(self, name: str) -> Any:
        """One column of the whole table."""
        import pyarrow as pa

        parts: list[Any] = []
        for f, path in enumerate(self.paths):
            with _readable(path):
                parts += self._open(f).read(columns=[name]).column(0).chunks
        if len({part.type for part in parts}) > 1:  # of files that hold other kinds
            parts = [pa.array(words_of(*arrow_column(part)), pa.string()) for part in parts]
        return pa.chunked_array(parts) if parts else pa.chunked_array([[]], pa.null())

    def _texts(self, name: str) -> list[str]:
        """All values of one column as text."""
        return ["" if value is None else str(value) for value in self._column(name).to_pylist()]

    def words(self, j: int) -> list[str]:
        """Values of a column as words, each once."""
        return words_of(*arrow_column(self._column(self.all_names[j]).unique()))

    def value_counts(self) -> list[tuple[str, dict[str, int]]]:
        """How often every word occurs in each column that is not set aside."""
        out = []
        for name in self.all_names:
            if name not in self.aside:
                counts = self._column(name).value_counts()
                words = words_of(*arrow_column(counts.field(0)))
                out.append((name, dict(zip(words, counts.field(1).to_pylist()))))
        return out

    def _rows(self, g: int, begin: int, end: int) -> Any:
        """Rows of row group number ``g``.

        A thread that goes on behind the rows that it asked for last goes on decoding there: no row group is held whole, and
        none is decoded twice by one that reads in order.
        """
        cursor = getattr(self._last, "cursor", None)
        if cursor is None or cursor.group != g or begin < cursor.at:
            f, group = self.groups[g]
            n_cells = int(self.bounds[g + 1] - self.bounds[g]) * max(1, len(self.columns))
            with _readable(self.paths[f]):
                file, batch = self._open(f), max(end - begin, LEAST_ROWS)
                if n_cells <= working_room() // 4:  # quicker as a whole
                    batches = iter(file.read_row_group(group, columns=self.columns).to_batches())
                else:
                    batches = file.iter_batches(batch_size=batch, row_groups=[group], columns=self.columns)
            cursor = self._last.cursor = _Cursor(g, batches)
        with _readable(self.paths[self.groups[g][0]]):
            return cursor.rows(begin, end)

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows; touches only the row groups they lie in."""
        first = int(np.searchsorted(self.bounds, low, side="right")) - 1
        last = int(np.searchsorted(self.bounds, high, side="left"))
        pieces = []
        for g in range(first, last):
            begin = max(low - int(self.bounds[g]), 0)
            end = min(high, int(self.bounds[g + 1])) - int(self.bounds[g])
            bits = self._bits(g)
            if bits is not None:
                pieces.append(bits.codes(begin, end))
                if end == bits.shape[0]:  # those who read in order have seen it all
                    self._last.bits = None
                continue
            piece = self._rows(g, begin, end)
            start = int(self.bounds[g]) + begin
            pieces.append(codes_of_plan(self.plan, self._getter(piece), end - begin, start, bad))
        return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]

    def _bits(self, g: int) -> _Bits | None:
        """Row group number ``g`` as bits, if it has room in this form only; None if cells cannot be read.

        It is decoded some columns at a time: batches of a few rows of many columns take several times as long.
        """
        held = getattr(self._last, "bits", None)
        if held is not None and held[0] == g:
            return held[1]  # type: ignore[no-any-return]
        self._last.bits = (g, None)  # while the next one is decoded, and if it cannot be
        n_rows, room = int(self.bounds[g + 1] - self.bounds[g]), working_room()
        plan, n_columns = self.plan, len(self.plan.names)
        if plan.reals or n_rows * n_columns <= room // 4 or len(set(plan.places)) < n_columns:
            return None
        bits = _Bits(g, n_rows, n_columns, room)
        if not bits.fits:
            return None
        (f, group), bad, step = self.groups[g], BadCells(), max(1, room // 64 // n_rows // 8) * 8
        file = self._open(f)
        for j in range(0, n_columns, step):
            part = Plan(
                plan.names[j : j + step], plan.places[j : j + step], plan.encodings[j : j + step], plan.encoding
            )
            names = [self.all_names[place] for place in part.places]
            with _readable(self.paths[f]):
                columns = file.read_row_group(group, columns=names, use_threads=False)
            codes = codes_of_plan(part, self._getter(columns), n_rows, int(self.bounds[g]), bad)
            if bad.count or not bits.put(j, codes):
                return None  # those who read in batches tell where
        self._last.bits = (g, bits)
        return bits

    def _getter(self, piece: Any) -> Callable[[int], Any]:
        """The function that gives a column of a piece by its place in the file."""
        return lambda j: arrow_column(piece.column(self.all_names[j]))


def whole_columns(path: Path) -> tuple[list[str], list[Any]]:
    """Names and values of all columns of a Parquet file or folder."""
    reader = ParquetReader(path, Reading())
    return reader.all_names, [arrow_column(reader._column(name)) for name in reader.all_names]


def _need_pyarrow() -> None:
    """Say which package is missing."""
    try:
        import pyarrow
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise need("pyarrow", "pyarrow", "Reading Parquet") from None


def _files(path: Path) -> list[Path]:
    """The Parquet files at a path."""
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.suffix in (".parquet", ".pq"))
    if not found:
        raise FileError(f"the folder {path} holds no .parquet files.")
    return found
