"""Files of ratings, and which files hold ratings rather than pairs of row and column."""

from __future__ import annotations

import csv
import itertools
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from .encoding import CODE_OF_WORD
from .files import format_of
from .numbers import number_of, number_of_word
from .text import check_delimiter, opened
from .triples import is_time

WHOLE = re.compile("0|[1-9][0-9]{0,17}")


def read_rating_file(path: str, delimiter: str | None, encoding: str) -> tuple[list[Any], list[Any], list[float]]:
    """Users, items and ratings of a text file, or of the arrays of an npz file that are called so."""
    arrays = _rating_arrays(path)
    if arrays is not None:
        return arrays
    with opened(path, encoding) as text:
        lines = list(_fields(text, delimiter))
    if not lines:
        raise FileError(f"{path} is empty; it should hold lines of user, item and rating.")
    if number_of(lines[0][2] if len(lines[0]) > 2 else "") is None:
        lines = lines[1:]
    users, items, ratings = [], [], []
    for number, line in enumerate(lines):
        try:
            users.append(line[0].strip())
            items.append(line[1].strip())
            ratings.append(number_of_word(line[2]))
        except (IndexError, ValueError):
            raise FileError(f"{path}: entry {number} ({', '.join(line)!r:.60}) is not user, item and rating.") from None
    return _alike(users), _alike(items), ratings


def _rating_arrays(path: str) -> tuple[list[Any], list[Any], list[float]] | None:
    """The arrays user, item and rating of an npz file; None: there are none."""
    if not path.endswith(".npz"):
        return None
    try:
        with np.load(path) as parts:
            if not {"user", "item", "rating"} <= set(parts.files):
                return None
            users, items, ratings = (parts[name].tolist() for name in ("user", "item", "rating"))
    except (OSError, ValueError, zipfile.BadZipFile):
        return None  # opening it as a table says what is wrong
    return users, items, [float(rating) for rating in ratings]


def _alike(names: list[str]) -> list[Any]:
    """Names as whole numbers if all of them are, and are written as such."""
    return [int(name) for name in names] if all(WHOLE.fullmatch(name) for name in names) else names


def ratings_or_triples(path: str, delimiter: str | None, encoding: str) -> str | None:
    """What a file of users and items is: "ratings" of user, item and rating, or "triples" of row, column and 0 or 1.

    None: a table of another kind.  In text files of both the first column repeats and the second is not made of cells; npz
    files have arrays called user, item and rating.
    """
    if not os.path.isfile(path):
        return None
    if _rating_arrays(path) is not None:
        return "ratings"
    if not _may_be_text(path):
        return None
    try:
        return _kind_of_text(path, delimiter, encoding)
    except FileError:
        return None  # opening it as a table says what is wrong


def _kind_of_text(path: str, delimiter: str | None, encoding: str) -> str | None:
    """The same of a text file."""
    with opened(path, encoding) as text:
        lines = _fields(text, delimiter)
        head = next(lines, [])
        if not 2 <= len(head) <= 4:
            return None
        if len(head) > 2 and is_time(head[2], head[2]):
            return "triples"
        return _kind_of(
            itertools.chain([head] if number_of(head[-1 if len(head) < 3 else 2]) is not None else [], lines), len(head)
        )


def _may_be_text(path: str) -> bool:
    """Whether a file is delimited text by its name, or its name does not tell the format."""
    try:
        return format_of(Path(path)) in ("csv", "tsv")
    except InputError:
        return True


def _fields(text: Any, delimiter: str | None) -> Iterator[list[str]]:
    """Fields of the lines of a text file that are not empty."""
    first = text.readline()
    separator = check_delimiter(delimiter) or next((c for c in "\t;,|" if c in first), ",")
    return (line for line in csv.reader(itertools.chain([first], text), delimiter=separator) if line)


def _kind_of(lines: Iterator[list[str]], width: int) -> str | None:
    """What the lines below the first are, by as many of them as are needed to know."""
    users: set[str] = set()
    repeated = named = rated = False
    for line in lines:
        if len(line) < 2:
            continue
        repeated = repeated or line[0] in users
        named = named or line[1].strip().lower() not in CODE_OF_WORD
        rated = rated or (width > 2 and len(line) > 2 and line[2].strip().lower() not in CODE_OF_WORD)
        if rated and repeated and named:
            return "triples" if is_time("", line[2] if len(line) > 2 else "") else "ratings"
        if width == 2 and repeated and named:
            return "triples"
        if not repeated:
            users.add(line[0])
    return "triples" if repeated and named and width == 3 else None
