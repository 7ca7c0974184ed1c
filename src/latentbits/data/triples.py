"""Long form: lists of row, column and, perhaps, value, as edges, events and ratings are kept."""

from __future__ import annotations

import contextlib
import csv
import itertools
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, InputError
from .block import ONE, UNKNOWN
from .checks import BadCells, Labels
from .encoding import BAD, NO_REAL, ColumnEncoding, words_of
from .numbers import number_of
from .readers import SparseReader
from .reading import Reading
from .rules import instead
from .text import UTF8, TextTable, check_delimiter, delimiter_of, opened
from .values import REALS

# Those that rather stand for what is alike come first.
ROWS = (
    "user", "customer", "member", "patient", "person", "visitor", "row", "rows", "i", "doc", "document", "paper", "citing",
    "citing_paper", "source", "sample", "site", "strain", "cell", "from", "group", "basket", "session", "transaction",
    "order", "invoice", "invoiceno", "id",
)  # fmt: skip
COLUMNS = (
    "item", "product", "stockcode", "stock_code", "sku", "column", "col", "j", "feature", "word", "target", "gene", "species",
    "author", "authors", "cited", "cited_paper", "to", "tag", "movie", "song", "page", "event", "artist", "article", "code",
    "diagnosis", "drug", "term", "description",
)  # fmt: skip
VALUES = ("value", "x", "quantity", "qty", "count", "rating", "weight", "score", "n")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
EPOCH = 1e8  # seconds; no rating is as large
TIMES = ("timestamp", "time", "date", "datetime", "when", "day", "year", "ts", "invoicedate")


class Fields(NamedTuple):
    """Which fields of a line are its row, its column and its value; None: there is no value."""

    row: int
    column: int
    value: int | None


def read_triples(path: Path | str, reading: Reading, parquet: bool = False) -> TextTable:
    """Read long form: row, column and, optionally, value.  Cells that are not named are 0."""
    with contextlib.ExitStack() as files:
        header, lines = _parquet_lines(Path(path)) if parquet else _text_lines(path, reading, files)
        first = next(lines, None)
        width = len(header or ()) if first is None else len(first)
        if width < 2:
            raise FileError(
                f"{path}: long form has at least 2 fields per line (row, column); the first line has {width}."
            )
        fields = _fields(path, header, width, reading.file.get("fields"))
        lines = itertools.chain([] if first is None else [first], lines)
        return _pivot(path, lines, width, fields, header is not None, reading)


def _text_lines(
    path: Path | str, reading: Reading, files: contextlib.ExitStack
) -> tuple[list[str] | None, Iterator[list[str]]]:
    """Names of the fields, if the first line has them, and the other lines, as they are read."""
    how = reading.file
    text = files.enter_context(opened(path, how.get("encoding", UTF8)))
    first = next((line for line in text if line.strip()), "")
    if not first:
        raise FileError(f"{path} is empty; long form has lines 'row,column' or 'row,column,value'.")
    separator = check_delimiter(how.get("delimiter")) or delimiter_of(first)
    lines = (line for line in csv.reader(itertools.chain([first], text), delimiter=separator, strict=True) if line)
    head = next(lines)
    told, first_line = how.get("header"), [word.strip() for word in head]
    has_header = _is_header(first_line) or _named(how.get("fields"), first_line) if told is None else told
    return (first_line, lines) if has_header else (None, itertools.chain([head], lines))


def _named(fields: Sequence[str] | None, words: Sequence[str]) -> bool:
    """Whether fields were told by the words of a line."""
    return fields is not None and set(fields) <= set(words)


def _parquet_lines(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Names and lines of a Parquet file or folder."""
    from .parquet import whole_columns

    names, columns = whole_columns(path)
    words = [words_of(values, null) for values, null in columns]
    return names, (list(line) for line in zip(*words))


def _stem(word: str) -> str:
    """A name of a field without what marks it as an id."""
    plain = word.strip().lower().replace(" ", "_")
    return plain if plain == "id" else plain.removesuffix("id").rstrip("_") or plain


def _is_header(words: Sequence[str]) -> bool:
    """Whether a line names fields: most of it is words that fields are called by."""
    known = [_stem(word) in (*ROWS, *COLUMNS, *VALUES, *TIMES) for word in words]
    return sum(known) > len(words) / 2 or all(known[:2])


def is_time(name: str, word: str) -> bool:
    """Whether a field, by its name or by a word in it, holds times: dates, or seconds since 1970."""
    number = number_of(word)
    return _stem(name) in TIMES or (number > EPOCH if number is not None else bool(DATE.match(word.strip())))


def _first(names: Sequence[str], known: Sequence[str], but: int | None = None) -> int | None:
    """Place of the name that stands first among known ones."""
    stems = [_stem(name) for name in names]
    found = [(known.index(stem), j) for j, stem in enumerate(stems) if stem in known and j != but]
    return min(found)[1] if found else None


def event_fields(names: Sequence[str]) -> tuple[str, str] | None:
    """The fields that are row and column, if columns are called like those of long form."""
    row = _first(names, ROWS)
    column = None if row is None else _first(names, COLUMNS, row)
    return None if row is None or column is None else (names[row], names[column])


def _fields(path: Path | str, header: list[str] | None, width: int, told: Sequence[str] | None) -> Fields:
    """Which fields are used: those that were told, those that the names stand for, or the first ones."""
    if told is not None:
        if not 2 <= len(told) <= 3:
            raise InputError(f"fields are the names (or numbers) of row, column and, perhaps, value; got {list(told)}.")
        places = [_field(path, name, header, width) for name in told]
        return Fields(places[0], places[1], places[2] if len(places) > 2 else None)
    if header is None:
        if width > 3:
            raise FileError(
                f"{path}: long form has 2 or 3 fields per line (row, column, value); the first line has {width}. Name those "
                "that count with --fields 1,2 (fields=['1', '2']), or by their names if the first line has names."
            )
        return Fields(0, 1, 2 if width == 3 else None)
    stems = [_stem(name) for name in header]
    row = _first(header, ROWS)
    column = _first(header, COLUMNS, row)
    if row is None or column is None:
        row, column = [j for j, stem in enumerate(stems) if stem not in TIMES][:2] if width > 2 else (0, 1)
    rest = [j for j in range(width) if j not in (row, column)]
    value = next((j for j in rest if stems[j] in VALUES), None)
    if value is None and len(rest) == 1 and stems[rest[0]] not in TIMES:
        value = rest[0]
    return Fields(row, column, value)


def _field(path: Path | str, name: str, header: list[str] | None, width: int) -> int:
    """Place of a field given by its name or its number from 1."""
    if header is not None and name in header:
        return header.index(name)
    if name.isdecimal() and len(name) < 10 and 1 <= int(name) <= width:
        return int(name) - 1
    names = header or [str(j + 1) for j in range(width)]
    raise InputError(f"{path} has no field {name!r}{instead(name, names)}")


def _pivot(
    path: Path | str, lines: Iterable[list[str]], width: int, fields: Fields, named: bool, reading: Reading
) -> TextTable:
    """Sparse table of long-form lines."""
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    at_row, at_column, codes = array("i"), array("i"), array("d")
    encoding = ColumnEncoding(reading.encoding.binarize, reading.encoding.own)
    reals = encoding.reals
    bad, first = BadCells(reals=reals), ""
    for number, line in enumerate(lines):
        if len(line) != width:
            raise FileError(f"{path}: entry {number} has {len(line)} fields where {width} are expected.")
        row, column = line[fields.row], line[fields.column]
        if not row.strip() or not column.strip():
            raise FileError(f"{path}: entry {number} has no {'row' if not row.strip() else 'column'}.")
        i, j = rows.setdefault(row, len(rows)), columns.setdefault(column, len(columns))
        word = "" if fields.value is None else line[fields.value]
        code = ONE if fields.value is None else encoding.known[word]
        first = first or word
        if code == (NO_REAL if reals else BAD):
            bad.note(np.array([i]), np.array([j]), [word])
            continue
        at_row.append(i)
        at_column.append(j)
        codes.append(code)
    if not rows:
        raise FileError(f"{path} holds no entries.")
    if bad.count:
        _complain(path, bad, first, named, Labels(list(columns), list(rows)))
    keys = np.frombuffer(at_row, np.int32).astype(np.int64) * len(columns) + np.frombuffer(at_column, np.int32)
    values = np.frombuffer(codes, np.float64)
    keys, values = _each_once(path, keys, values, list(rows), list(columns))
    if not reals:
        values = np.where(values == UNKNOWN, np.nan, values).astype(np.float32)
    places = keys // len(columns), keys % len(columns)
    matrix = sp.coo_array((values, places), shape=(len(rows), len(columns)))
    reader = SparseReader(matrix, REALS if reals else None, list(columns), list(rows), reading)
    return TextTable(reader, list(rows), {})


def _each_once(path: Path | str, keys: Any, values: Any, rows: list[str], columns: list[str]) -> tuple[Any, Any]:
    """Cells by their numbers, those that are given several times once; refuses different values."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    again = np.flatnonzero(keys[1:] == keys[:-1]) + 1
    differs = again[values[again] != values[again - 1]]
    if len(differs):
        at = keys[differs[np.argmin(order[differs])]]  # the one that comes first in the file
        cell = f"row {rows[at // len(columns)]!r}, column {columns[at % len(columns)]!r}"
        raise FileError(f"{path}: the cell ({cell}) is given twice with different values.")
    first = np.ones(len(keys), np.bool_)
    first[again] = False
    return keys[first], values[first]


def _complain(path: Path | str, bad: BadCells, first: str, named: bool, labels: Labels) -> None:
    """Say what is wrong with the values, and what they may be instead."""
    what = "a number, 0 or more" if bad.reals else "0, 1 or unknown"
    if bad.count == 1 and bad.row == 0 and not named:  # very likely names, not a value
        raise FileError(
            f"{path}: the value {first!r} of the first entry is not {what}. If the first line has names, say "
            "so with --header (header=True)."
        )
    if not bad.reals and (number_of(str(bad.value)) is None or is_time("", str(bad.value))):
        raise FileError(
            f"{path}: the values, the first of them {first!r}, are not {what}. If they are times, or anything else than the "
            "value of a cell, name the fields that count, row and column, with --fields 1,2 (fields=['1', '2'])."
        )
    bad.raise_if_any(str(path), labels)
