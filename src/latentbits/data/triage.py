"""What the columns of a text table are, for tables that are not all yes, no and blank."""

from __future__ import annotations

import csv
import itertools
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .text import CODE_OF_WORD, WORDS_UNKNOWN, _delimiter, _looks_like_header, opened

# Words for yes in tables from elsewhere, so that examples are the right way round.
YES = {
    "ja",
    "j",
    "oui",
    "o",
    "si",
    "sí",
    "sì",
    "s",
    "sim",
    "tak",
    "ano",
    "да",
    "evet",
    "on",
    "positive",
    "pos",
    "+",
    "x",
    "high",
}
# Codes of "no answer" beside those of yes and no.
NO_ANSWER = {
    "9",
    "99",
    "999",
    "8",
    "88",
    "98",
    "-1",
    "-7",
    "-8",
    "-9",
    "-99",
    "dk",
    "don't know",
    "dont know",
    "do not know",
}
NO_ANSWER |= {
    "unknown",
    "refused",
    "refusal",
    "no answer",
    "n.a.",
    "k.a.",
    "keine angabe",
    "weiß nicht",
    "nsp",
    "ns/nc",
    "-",
}
MOST_LINES = 10
MOST_VALUES = 10_000  # distinct values remembered per column


class Column(NamedTuple):
    """A column: its name, what it seems to be, and the values that say so.

    ``kind`` is "cells" (0, 1, yes, no, blank), "pair" (two other values), "names" (all differ), "numbers" or "words".
    ``no_answer`` are values that seem to stand for a blank; the kind is that of the others.
    """

    name: str
    kind: str
    values: list[str]
    n_values: int
    no_answer: tuple[str, ...] = ()


def examine(
    path: Path | str,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8-sig",
    aside: Iterable[str] = (),
    own: Iterable[str] = (),
) -> list[Column]:
    """Look at every column of a delimited text file but those set aside; ``own`` words are cells already."""
    own = set(own)
    with opened(path, encoding) as text:
        first = next((line for line in text if line.strip()), "")
        lines = csv.reader(itertools.chain([first], text), delimiter=delimiter or _delimiter(first), strict=True)
        head = next(lines)
        has_header = _looks_like_header(head) if header is None else header
        names = [word.strip() for word in head] if has_header else [str(j) for j in range(len(head))]
        values: list[dict[str, int]] = [{} for _ in names]
        n_rows = 0
        for row in lines if has_header else itertools.chain([head], lines):
            if len(row) != len(names):
                continue
            n_rows += 1
            for seen, word in zip(values, row):
                word = word.strip()
                if word not in own and word.lower() not in WORDS_UNKNOWN and (word in seen or len(seen) < MOST_VALUES):
                    seen[word] = seen.get(word, 0) + 1
    left = set(names) - set(aside)
    return [_column(name, seen, n_rows) for name, seen in zip(names, values) if name in left]


def _column(name: str, seen: dict[str, int], n_rows: int) -> Column:
    """What the values of a column make of it."""
    silent = tuple(sorted(word for word in seen if word.lower() in NO_ANSWER))
    rest = {word: n for word, n in seen.items() if word not in silent}
    if silent and (not rest or (len(seen) > 2 and len(rest) in (1, 2))):  # codes of yes and no, and of no answer
        return _column(name, rest, n_rows)._replace(no_answer=silent)
    shown = sorted(seen, key=lambda word: (-seen[word], word))
    numbers = [number for number in map(_number, seen) if number is not None]
    all_numbers = len(numbers) == len(seen)
    if all(word.lower() in CODE_OF_WORD or _number(word) in (0.0, 1.0) for word in seen):
        kind = "cells"
    elif len(seen) == 2:
        kind = "pair"
    elif len(seen) > 20 and len(seen) >= min(n_rows, MOST_VALUES):
        whole = all_numbers and all(number == int(number) for number in numbers)
        kind = "names" if whole or not all_numbers else "numbers"
    else:
        kind = "numbers" if all_numbers else "words"
    if kind == "numbers":
        shown = [f"{min(numbers):g}", f"{max(numbers):g}"]
    return Column(name, kind, shown, len(seen))


def _number(word: str) -> float | None:
    """The number that a word stands for."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def advice(path: Path | str, columns: Sequence[Column], command: str, given: Sequence[str] = ()) -> str | None:
    """What to do about the columns that are not yes, no and blank, with the options that do it; None if there are none."""
    odd = [column for column in columns if column.kind != "cells" or column.no_answer]
    if not odd:
        return None
    lines, options = [], list(given)
    silent = sorted({word for column in odd for word in column.no_answer})
    if silent:
        words = ", ".join(map(repr, silent))
        n = sum(bool(column.no_answer) for column in odd)
        lines.append(
            f"{n} columns hold {words} beside two other values: if that is no answer, --blank {shlex.quote(silent[0])}"
        )
        options += [part for word in silent for part in ("--blank", word)]
    pairs = Counter(tuple(sorted(column.values)) for column in odd if column.kind == "pair")
    pair, n_coded = pairs.most_common(1)[0] if pairs else ((), 0)
    coded = [column for column in odd if column.kind == "pair" and tuple(sorted(column.values)) == pair]
    if n_coded > 1 or n_coded == len(columns):  # the code of the table, not a label
        # Of 1 and 2, surveys mean yes by 1.
        low, high = sorted(
            pair, key=lambda word: (word.lower() in YES, -float(word) if pair == ("1", "2") else 0, word)
        )
        names = ", ".join(repr(column.name) for column in coded[:3]) + (", ..." if len(coded) > 3 else "")
        one, zero = shlex.quote(high), shlex.quote(low)
        lines.append(
            f"{names} ({len(coded)} columns) hold {low!r} and {high!r}: say which of them is yes: --one {one} --zero {zero}, "
            "or the other way round"
        )
        options += ["--one", high, "--zero", low]
    else:
        coded = []
    has_id = False
    for column in odd:
        if column in coded or column.kind == "cells":
            continue
        if column.kind == "names" and not has_id:
            has_id = True
            options += ["--id", column.name]
            lines.append(f"{column.name!r} ({column.n_values} different values): row names; set aside with --id")
            continue
        options += ["--label", column.name]
        lines.append(f"{column.name!r} ({_described(column)}): carry it along, not to be fitted, with --label")
    if not coded and not any(column.kind == "cells" for column in columns):
        return (
            f"{path}: none of its {len(columns)} columns is 0/1, yes/no or of another two values, e.g. {columns[0].name!r} "
            f"({_described(columns[0])}). Such tables are made of answers to yes/no questions; numbers can be cut with "
            "--binarize, and words for cells be named with --one, --zero and --blank."
        )
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more, as in the example"]
    bullets = "\n".join(f"  - {line}" for line in lines)
    again = shlex.join(["latentbits", command, str(path), *options])
    what = f"{len(odd)} of its {len(columns)} columns are not 0, 1, yes, no or blank"
    return f"{path}: {what}.\n{bullets}\nFor example: {again}"


def _described(column: Column) -> str:
    """A column in words."""
    if column.kind == "numbers":
        return f"{column.n_values} numbers from {column.values[0]} to {column.values[1]}"
    if column.kind == "pair":
        return f"{column.values[0]!r} and {column.values[1]!r}"
    shown = ", ".join(repr(word[:20]) for word in column.values[:3])
    return f"{column.n_values} values: {shown}{', ...' if column.n_values > 3 else ''}"
