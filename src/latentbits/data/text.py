"""Tables written as text: CSV and its relatives, transaction lists, long triples.

Standard library only, so that the command line works without pandas.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import itertools
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import FileError, InputError, TableWarning
from .block import ONE, UNKNOWN, ZERO, Codes
from .checks import BadCells, Labels
from .convert import Binarize
from .readers import SparseReader
from .values import REALS, Reals

WORDS_ON = ("1", "y", "yes", "true", "t", "present")
WORDS_OFF = ("0", "n", "no", "false", "f", "absent")
WORDS_UNKNOWN = ("", "?", "na", "n/a", "nan", "null", "none", "<na>", ".")
CODE_OF_WORD = {
    **dict.fromkeys(WORDS_ON, ONE),
    **dict.fromkeys(WORDS_OFF, ZERO),
    **dict.fromkeys(WORDS_UNKNOWN, UNKNOWN),
}
BAD = 3
NO_REAL = -1.0  # stands for a word that is no number, 0 or more
DELIMITERS = ",\t;|"
TRIPLE_HEADERS = {
    "row", "rows", "i", "id", "user", "doc", "document", "source", "sample", "site", "basket", "transaction",
    "column", "col", "j", "item", "feature", "word", "target", "gene", "species", "value", "x", "author", "authors", "paper",
    "cited", "citing", "from", "to", "product", "quantity", "count", "member", "group", "tag", "customer", "order", "patient",
}  # fmt: skip


@contextmanager
def opened(path: Path | str, encoding: str) -> Iterator[io.TextIOBase]:
    """Open a text file, gzipped or not, or standard input ("-"); trouble with it becomes a FileError."""
    try:
        codecs.lookup(encoding)
    except LookupError:
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
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"{path} is not a whole gzip file ({error}).") from None
    except csv.Error as error:
        raise FileError(f"{path} cannot be read as delimited text ({error}).") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from None


class CodesReader:
    """A table of codes in memory."""

    lazy = False

    def __init__(self, codes: Codes, labels: Labels, found: BadCells) -> None:
        self.codes, self.labels, self.found = codes, labels, found
        self.shape = (codes.shape[0], codes.shape[1])

    def read(self, low: int, high: int, bad: BadCells) -> Codes:
        """Codes of the rows."""
        bad.reals = self.found.reals
        if low == 0 and self.found.count:
            bad.note(np.array([self.found.row]), np.array([self.found.column]), [self.found.value])
            bad.count, bad.columns = self.found.count, self.found.columns
        return self.codes[low:high]


@dataclass(frozen=True)
class TextTable:
    """A text table: cells, and the columns that were set aside."""

    reader: Any
    ids: list[str] | None
    labels: dict[str, list[str]]


def _delimiter(line: str) -> str:
    """The delimiter that occurs most often in the first line."""
    counts = Counter(c for c in line if c in DELIMITERS)
    return max(DELIMITERS, key=lambda c: counts[c]) if counts else ","


def own_words(one: Iterable[str], zero: Iterable[str], blank: Iterable[str], binarize: Binarize) -> dict[str, Any]:
    """Codes of the words that the user says are ones, zeros and blanks; they come before all others."""
    one, zero, blank = list(one), list(zero), list(blank)
    if (one or zero) and binarize is not None:
        raise InputError("words for ones and zeros (--one, --zero) and a threshold (--binarize) exclude each other.")
    twice = [word for word, n in Counter([*set(one), *set(zero), *set(blank)]).items() if n > 1]
    if twice:
        raise InputError(f"{twice[0]!r} is named as two of one, zero and blank.")
    return {**dict.fromkeys(one, ONE), **dict.fromkeys(zero, ZERO), **dict.fromkeys(blank, UNKNOWN)}


def _codes_of_tokens(row: list[str], own: dict[str, Any], binarize: Binarize, known: dict[str, Any]) -> list[Any]:
    """Codes of the words of one line; the user's own come first, ``known`` remembers words already met (filled here)."""
    try:
        return [known[word] for word in row]
    except KeyError:
        for word in row:
            if word not in known:
                plain = word.strip()
                known[word] = own[plain] if plain in own else _code_of_word(word, binarize)
        return [known[word] for word in row]


def _real_of_word(word: str) -> float:
    """Number of one word, negative if it is none that is finite and not negative."""
    try:
        number = float(word)
    except ValueError:
        return NO_REAL
    return number if 0 <= number < np.inf else NO_REAL


def _code_of_word(word: str, binarize: Binarize) -> Any:
    """Code of one word, or its number where real numbers are wanted."""
    if isinstance(binarize, Reals):
        return _real_of_word(word)
    plain = word.strip().lower()
    if plain in WORDS_UNKNOWN:
        return UNKNOWN
    try:
        number = float(plain)
    except ValueError:
        return CODE_OF_WORD.get(plain, BAD)
    if binarize is not None and np.isfinite(number):
        return int(number > binarize)
    return {0.0: ZERO, 1.0: ONE}.get(number, BAD)


def _looks_like_header(row: list[str]) -> bool:
    """Whether some word of the line is neither a number nor one that a cell may hold."""
    for word in row:
        plain = word.strip().lower()
        if plain in CODE_OF_WORD:
            continue
        try:
            float(plain)
        except ValueError:
            return True
    return False


def read_delimited(
    path: Path | str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8-sig",
    id_column: str | None = None,
    label_columns: Sequence[str] = (),
    binarize: Binarize = None,
    one: Sequence[str] = (),
    zero: Sequence[str] = (),
    blank: Sequence[str] = (),
) -> TextTable:
    """Read CSV, TSV or other delimited text."""
    words = own_words(one, zero, blank, binarize)
    with opened(path, encoding) as text:
        first = text.readline()
        if not first.strip():
            first = next((line for line in text if line.strip()), "")
        if not first:
            raise FileError(f"{path} is empty; a table needs at least one line.")
        separator = delimiter or _delimiter(first)
        lines = csv.reader(itertools.chain([first], text), delimiter=separator, strict=True)
        head = next(lines)
        has_header = _looks_like_header(head) if header is None else header
        names = [name.strip() for name in head] if has_header else [str(j) for j in range(len(head))]
        _check_names(path, names)
        body = lines if has_header else itertools.chain([head], lines)
        return _collect(path, body, names, has_header, id_column, label_columns, binarize, words)


def _check_names(path: Path | str, names: list[str]) -> None:
    """Refuse columns of the same name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise FileError(f"{path}: the column name {twice[0]!r} occurs more than once in the first line; rename one.")


def _instead(name: str, names: list[str]) -> str:
    """What a name that is not there may stand for."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return "; name several by giving the option several times"
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; its columns are: {', '.join(map(repr, names[:12]))}{', ...' if len(names) > 12 else ''}"


def _set_aside(
    path: Path | str, names: list[str], id_column: str | None, label_columns: Sequence[str]
) -> tuple[int | None, list[int], list[int]]:
    """Positions of the id column, the label columns and the cells."""
    for name in ([id_column] if id_column is not None else []) + list(label_columns):
        if name not in names:
            raise InputError(f"{path} has no column {name!r}{_instead(name, names)}.")
    id_at = names.index(id_column) if id_column is not None else None
    label_at = [names.index(name) for name in label_columns]
    kept = [j for j in range(len(names)) if j != id_at and j not in label_at]
    return id_at, label_at, kept


def _collect(
    path: Path | str,
    lines: Iterable[list[str]],
    names: list[str],
    has_header: bool,
    id_column: str | None,
    label_columns: Sequence[str],
    binarize: Binarize,
    own: dict[str, Any],
) -> TextTable:
    """Turn the lines into codes, ids and labels; ``own`` are the user's words."""
    id_at, label_at, kept = _set_aside(path, names, id_column, label_columns)
    aside = id_at is not None or bool(label_at)
    known: dict[str, Any] = {}
    reals = isinstance(binarize, Reals)
    rows: list[NDArray[Any]] = []
    ids: list[str] = []
    labels: list[list[str]] = [[] for _ in label_at]
    bad = BadCells(reals=reals)
    for row in lines:
        if not row:
            if len(names) > 1:
                continue  # an empty line between rows
            row = [""]  # the one cell of the line is unknown
        if len(row) != len(names):
            raise FileError(
                f"{path}: row {len(rows)} has {len(row)} fields where {len(names)} are expected "
                f"({'the header' if has_header else 'the first line'} has {len(names)}). "
                "Look for a missing or unquoted delimiter there."
            )
        if aside:
            if id_at is not None:
                ids.append(row[id_at])
            for values, j in zip(labels, label_at):
                values.append(row[j])
            row = [row[j] for j in kept]
        codes = np.array(_codes_of_tokens(row, own, binarize, known), np.float64 if reals else np.uint8)
        wrong = np.flatnonzero((codes == NO_REAL) if reals else (codes == BAD))
        if len(wrong):
            bad.note(np.full(len(wrong), len(rows)), wrong, [row[j] for j in wrong])
        rows.append(codes)
    if not rows:
        raise FileError(f"{path} has a header but no rows.")
    unused = sorted(set(own) - {word.strip() for word in known})
    if unused:
        warnings.warn(f"{path}: the word {unused[0]!r} does not occur in any cell.", TableWarning, stacklevel=4)
    columns = [names[j] for j in kept]
    cells = np.array(rows).reshape(len(rows), len(columns))
    reader = CodesReader(cells, Labels(columns, ids or None), bad)
    return TextTable(reader, ids or None, dict(zip(label_columns, labels)))


def read_transactions(path: Path | str, *, delimiter: str | None = None, encoding: str = "utf-8-sig") -> TextTable:
    """Read one basket per line; the items become columns in sorted order, an empty line is an empty basket.

    Items are separated by tabs, semicolons or commas if the file has any (in this order), else by blanks.
    """
    with opened(path, encoding) as text:
        lines = text.read().splitlines()
    separator = delimiter or next((c for c in "\t;," if any(c in line for line in lines)), None)
    number: dict[str, int] = {}
    indptr, indices = [0], []
    for line in lines:
        items = [item.strip() for item in line.split(separator)]
        indices.extend(sorted({number.setdefault(item, len(number)) for item in items if item}))
        indptr.append(len(indices))
    if not number:
        raise FileError(f"{path} holds no items; a transaction list has one basket per line.")
    names = sorted(number, key=lambda item: (not item.isdecimal(), int(item) if item.isdecimal() else 0, item))
    order = np.empty(len(names), np.int32)
    order[[number[name] for name in names]] = np.arange(len(names))
    matrix = sp.csr_array(
        (np.ones(len(indices), np.int8), order[np.array(indices, np.int64)], np.array(indptr)),
        shape=(len(indptr) - 1, len(names)),
    )
    return TextTable(SparseReader(matrix, None, names), None, {})


def read_triples(
    path: Path | str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8-sig",
    binarize: Binarize = None,
) -> TextTable:
    """Read long form: row, column and, optionally, value.  Cells that are not named are 0."""
    with opened(path, encoding) as text:
        first = next((line for line in text if line.strip()), "")
        if not first:
            raise FileError(f"{path} is empty; long form has lines 'row,column' or 'row,column,value'.")
        separator = delimiter or _delimiter(first)
        lines = list(csv.reader(itertools.chain([first], text), delimiter=separator, strict=True))
    width = len(lines[0])
    if width not in (2, 3):
        raise FileError(
            f"{path}: long form has 2 or 3 fields per line (row, column, value); the first line has {width}."
        )
    is_header = {word.strip().lower() for word in lines[0]} <= TRIPLE_HEADERS if header is None else header
    return _pivot(path, [line for line in lines[is_header:] if line], width, binarize)


def _pivot(path: Path | str, lines: list[list[str]], width: int, binarize: Binarize) -> TextTable:
    """Sparse table of long-form lines."""
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    cells: dict[tuple[int, int], Any] = {}
    reals = isinstance(binarize, Reals)
    bad = BadCells(reals=reals)
    for number, line in enumerate(lines):
        if len(line) != width:
            raise FileError(f"{path}: entry {number} has {len(line)} fields where {width} are expected.")
        place = rows.setdefault(line[0], len(rows)), columns.setdefault(line[1], len(columns))
        code = _code_of_word(line[2], binarize) if width == 3 else ONE
        if code == (NO_REAL if reals else BAD):
            bad.note(np.array([place[0]]), np.array([place[1]]), [line[2]])
        elif cells.setdefault(place, code) != code:
            raise FileError(
                f"{path}: the cell (row {line[0]!r}, column {line[1]!r}) is given twice with different values."
            )
    if bad.count == 1 and bad.row == 0 and rows:  # very likely names, not a value
        what = "a number, 0 or more" if reals else "0, 1 or unknown"
        raise FileError(
            f"{path}: the value {lines[0][2]!r} of the first entry is not {what}. If the first line has names, say "
            "so with --header (header=True)."
        )
    bad.raise_if_any(str(path), Labels(list(columns), list(rows)))
    if not rows:
        raise FileError(f"{path} holds no entries.")
    at = np.array(list(cells), np.int64).reshape(-1, 2)
    codes = np.fromiter(cells.values(), np.float64 if reals else np.float32, len(cells))
    if not reals:
        codes[codes == UNKNOWN] = np.nan
    matrix = sp.coo_array((codes, (at[:, 0], at[:, 1])), shape=(len(rows), len(columns)))
    reader = SparseReader(matrix, REALS if reals else None, list(columns), list(rows))
    return TextTable(reader, list(rows), {})
