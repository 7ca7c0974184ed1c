"""Tables written as text: CSV and its relatives, transaction lists, long triples.

Standard library only, so that the command line works without pandas.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import FileError, InputError, brief
from .checks import BadCells, Labels
from .encoding import BAD, CODE_OF_WORD, NO_REAL
from .matching import Plan, heard, plan_of
from .numbers import number_of
from .readers import CodesReader, SparseReader, Wanted
from .reading import Reading
from .rules import instead
from .store import PackedRows, packed_room, rows_of_piece

UTF8 = "utf-8-sig"

DELIMITERS = ",\t;|"


@contextmanager
def opened(path: Path | str, encoding: str) -> Iterator[io.TextIOBase]:
    """Open a text file, gzipped or not, or standard input ("-"); trouble with it becomes a FileError."""
    try:
        codecs.lookup(encoding)
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # it refuses codecs that are not for text
    except (LookupError, ValueError):
        raise FileError(f"no text encoding is called {encoding!r}.") from None
    try:
        if str(path) == "-":
            raw: Any = io.BytesIO(sys.stdin.buffer.read())
        elif str(path).endswith(".gz"):
            raw = gzip.open(path, "rb")
        else:
            raw = open(path, "rb")
        with raw, io.TextIOWrapper(raw, encoding=encoding, newline="") as text:
            yield text
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not {encoding.removesuffix('-sig')} text (byte {error.object[error.start]:#04x} at offset "
            f"{error.start} of a piece). Name its encoding, e.g. --encoding latin-1 (encoding='latin-1')."
        ) from None
    except UnicodeError as error:
        raise FileError(
            f"{path} is not {encoding.removesuffix('-sig')} text ({error}). Name its encoding, e.g. --encoding latin-1 "
            "(encoding='latin-1')."
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"{path} is not a whole gzip file ({error}).") from None
    except csv.Error as error:
        raise FileError(f"{path} cannot be read as delimited text ({error}).") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


@dataclass(frozen=True)
class TextTable:
    """A text table: cells, and the columns that were set aside."""

    reader: Any
    ids: list[str] | None
    labels: dict[str, list[str]]


def check_delimiter(delimiter: str | None) -> str | None:
    """The delimiter, if it can be one."""
    if delimiter and (len(delimiter) > 1 or delimiter in '\r\n"\0'):
        raise InputError(f"a delimiter is one character, not a quote or the end of a line; got {brief(delimiter)}.")
    return delimiter


def delimiter_of(line: str) -> str:
    """The delimiter that occurs most often in the first line."""
    counts = Counter(c for c in line if c in DELIMITERS)
    return max(DELIMITERS, key=lambda c: counts[c]) if counts else ","


def looks_like_header(row: list[str]) -> bool:
    """Whether some word of the line is neither a number nor one that a cell may hold."""
    for word in row:
        if word.strip().lower() not in CODE_OF_WORD and number_of(word) is None:
            return True
    return False


def read_delimited(path: Path | str, reading: Reading, wanted: Wanted = None) -> TextTable:
    """Read CSV, TSV or other delimited text; with ``wanted`` the columns of a fitted model."""
    how = reading.file
    with opened(path, how.get("encoding", UTF8)) as text:
        names, lines, has_header = table_lines(path, text, how.get("delimiter"), how.get("header"))
        return _collect(path, lines, names, has_header, reading, wanted)


def table_lines(
    path: Path | str, text: Iterable[str], delimiter: str | None, header: bool | None
) -> tuple[list[str], Iterator[list[str]], bool]:
    """Names of the columns, the lines below them, and whether the file names the columns."""
    text = iter(text)
    first = next((line for line in text if line.strip()), "")
    if not first:
        raise FileError(f"{path} is empty; a table needs at least one line.")
    lines = csv.reader(
        itertools.chain([first], text), delimiter=check_delimiter(delimiter) or delimiter_of(first), strict=True
    )
    head = next(lines)
    has_header = looks_like_header(head) if header is None else header
    names = [name.strip() for name in head] if has_header else [str(j) for j in range(len(head))]
    _check_names(path, names)
    return names, lines if has_header else itertools.chain([head], lines), has_header


def _check_names(path: Path | str, names: list[str]) -> None:
    """Refuse columns of the same name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise FileError(f"{path}: the column name {twice[0]!r} occurs more than once in the first line; rename one.")


def set_aside(path: Path | str, names: Sequence[str], reading: Reading, wanted: Wanted = None) -> Reading:
    """The reading, if the columns that it sets aside are there; of a fitted model they need not be."""
    missing = [name for name in reading.aside if name not in names]
    if missing and wanted is None:
        raise InputError(f"{path} has no column {missing[0]!r}{instead(missing[0], names)}")
    labels = tuple(name for name in reading.label_columns if name in names)
    return replace(reading, id_column=None if reading.id_column in missing else reading.id_column, label_columns=labels)


def _collect(
    path: Path | str,
    lines: Iterable[list[str]],
    names: list[str],
    has_header: bool,
    reading: Reading,
    wanted: Wanted,
) -> TextTable:
    """Turn the lines into codes, ids and labels."""
    reading = set_aside(path, names, reading, wanted)
    lines = _whole(path, lines, names, has_header)
    if any(rule.indicators and rule.levels is None for rule in reading.encoding.rules):
        lines = list(lines)  # what the columns are depends on all values

    def words(j: int) -> set[str]:
        return {row[j] for row in lines}

    aside = reading.aside
    plan = plan_of(names, reading.encoding, words, aside, wanted, str(path))
    at = [names.index(name) for name in aside]
    kept: list[list[str]] = [[] for _ in at]
    rows = _Rows(plan)
    bad = BadCells(reals=plan.reals)
    unfit = NO_REAL if plan.reals else BAD
    codes_of = _line_encoder(plan, len(names))
    for n, row in enumerate(lines):
        for values, j in zip(kept, at):
            values.append(row[j])
        codes = np.array(codes_of(row), rows.dtype)
        wrong = np.flatnonzero(codes == unfit)
        if len(wrong):
            bad.note(np.full(len(wrong), n), wrong, [row[plan.places[j]] for j in wrong])
        rows.append(codes)
    if not rows:
        raise FileError(f"{path} has a header but no rows.")
    ids = kept[0] if reading.id_column is not None else None
    how = replace(reading, encoding=heard(plan, wanted is not None, str(path)))
    reader = rows.reader(Labels(plan.names, ids), bad, how)
    return TextTable(reader, ids, dict(zip(aside, kept)) if ids is None else dict(zip(aside[1:], kept[1:])))


class _Rows:
    """Rows as they come: codes, and packed from where on they would take more than their share of the memory."""

    def __init__(self, plan: Plan) -> None:
        self.width, self.dtype = len(plan.names), np.dtype(np.float64 if plan.reals else np.uint8)
        self.packed: PackedRows | None = None
        self.last = bytearray()
        self.pieces: list[NDArray[Any]] = []
        self.most_cells = np.inf if plan.reals else packed_room()  # numbers are not packed
        self.n_bytes = rows_of_piece(self.width, packed_room()) * self.width * self.dtype.itemsize  # of a piece

    def __bool__(self) -> bool:
        return bool(self.last or self.pieces or self.packed is not None)

    def append(self, codes: NDArray[Any]) -> None:
        """One row more."""
        self.last += codes.tobytes()
        if len(self.last) >= self.n_bytes:
            self._piece()

    def _piece(self) -> None:
        """The last rows as an array; everything packed when it gets too much."""
        rows: Any = np.frombuffer(self.last, self.dtype).reshape(-1, self.width)
        self.last = bytearray()
        if self.packed is not None:
            self.packed.add(rows)
            return
        self.pieces.append(rows)
        if sum(piece.size for piece in self.pieces) > self.most_cells:
            self.packed, pieces = PackedRows(self.width), self.pieces
            self.pieces = []
            for piece in pieces:
                self.packed.add(piece)

    def reader(self, labels: Labels, bad: BadCells, reading: Reading) -> Any:
        """All rows as a reader."""
        if self.last:
            self._piece()
        if self.packed is None:
            codes = np.concatenate(self.pieces) if len(self.pieces) > 1 else self.pieces[0]
            return CodesReader(codes, labels, bad, reading)
        self.packed.labels, self.packed.found, self.packed.reading = labels, bad, reading
        return self.packed


def _line_encoder(plan: Plan, width: int) -> Callable[[list[str]], list[Any]]:
    """The function that gives the codes of a line."""
    places, known = plan.places, plan.encodings[0].known if plan.encodings else {}
    if any(how.known is not known for how in plan.encodings):
        cells = [(how.known, j) for how, j in zip(plan.encodings, places)]
        return lambda row: [known[row[j]] for known, j in cells]
    if places == list(range(width)):
        return lambda row: [known[word] for word in row]
    return lambda row: [known[row[j]] for j in places]


def _whole(path: Path | str, lines: Iterable[list[str]], names: Sequence[str], has_header: bool) -> Iterator[list[str]]:
    """The lines that are rows; refuses those that are too short or too long."""
    n = 0
    for row in lines:
        if not row:
            if len(names) > 1:
                continue  # an empty line between rows
            row = [""]  # the one cell of the line is unknown
        if len(row) != len(names):
            raise FileError(
                f"{path}: row {n} has {len(row)} fields where {len(names)} are expected "
                f"({'the header' if has_header else 'the first line'} has {len(names)}). "
                "Look for a missing or unquoted delimiter there."
            )
        n += 1
        yield row


def read_transactions(path: Path | str, reading: Reading) -> TextTable:
    """Read one basket per line; the items become columns in sorted order, an empty line is an empty basket.

    Items are separated by tabs, semicolons or commas if the file has any (in this order), else by blanks.
    """
    with opened(path, reading.file.get("encoding", UTF8)) as text:
        lines = text.read().splitlines()
    separator = reading.file.get("delimiter") or next((c for c in "\t;," if any(c in line for line in lines)), None)
    number: dict[str, int] = {}
    indptr, indices = [0], []
    for line in lines:
        items = [item.strip() for item in line.split(separator)]
        indices.extend(sorted({number.setdefault(item, len(number)) for item in items if item}))
        indptr.append(len(indices))
    if not number:
        raise FileError(f"{path} holds no items; a transaction list has one basket per line.")
    names = sorted(number, key=_in_order)
    order = np.empty(len(names), np.int32)
    order[[number[name] for name in names]] = np.arange(len(names))
    matrix = sp.csr_array(
        (np.ones(len(indices), np.int8), order[np.array(indices, np.int64)], np.array(indptr)),
        shape=(len(indptr) - 1, len(names)),
    )
    return TextTable(SparseReader(matrix, None, names, reading=reading), None, {})


def _in_order(item: str) -> tuple[bool, int, str, str]:
    """Sorts whole numbers, of however many digits, before other words."""
    if not (item.isascii() and item.isdecimal()):
        return True, 0, "", item
    digits = item.lstrip("0")
    return False, len(digits), digits, item
