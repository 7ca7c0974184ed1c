"""What the columns of a table are, for tables that are not all yes, no and blank."""

from __future__ import annotations

import itertools
import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .block import ONE
from .encoding import BAD, CODE_OF_WORD, WORDS_UNKNOWN, Own, code_of_word
from .numbers import number_of, same
from .readers import CodesReader
from .reading import Reading
from .store import PackedRows
from .text import UTF8, opened, table_lines
from .triples import event_fields

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
MOST_FIELDS = 4  # of a line of long form
MAYBE_EVENTS = (
    " If every line is an event or an edge (who, what), say --format triples; if it is a basket, --format transactions."
)
MOST_STEPS = 10  # of a scale
MOST_OPENED = 30  # values of a column that may be opened into indicators
MOST_VALUES = 10_000  # distinct values remembered per column


class Column(NamedTuple):
    """A column: its name, what it seems to be, and the values that say so.

    ``kind`` is "cells" (0, 1, yes, no, blank), "ticked" (one value or nothing), "pair" (two other values), "scale" (a few
    whole numbers), "names" (all differ), "numbers" or "words".  ``no_answer`` are values that seem to stand for a blank; the
    kind is that of the others.
    """

    name: str
    kind: str
    values: list[str]
    n_values: int
    no_answer: tuple[str, ...] = ()


def columns_of(reader: Any, path: Path | str | None = None) -> list[Column] | None:
    """What the columns of a table are that are not set aside; None if nobody can look at them again.

    Of text, the file at ``path`` is read once more.
    """
    reading = reader.reading
    if hasattr(reader, "value_counts"):
        counts, n_rows = reader.value_counts(), reader.shape[0]
    elif isinstance(reader, (CodesReader, PackedRows)) and path is not None and reading is not None:
        counts, n_rows = _text_counts(path, reading)
    else:
        return None
    own: Own = {} if reading is None else reading.encoding.own
    ruled = set() if reading is None else {name for rule in reading.encoding.rules for name in rule.columns}
    known = [(name, _told(words, own), n_rows) for name, words in counts if name not in ruled]
    return [_column(name, told, n, sum(told.values()) < n) for name, told, n in known]


def _told(words: Mapping[str, int], own: Own) -> dict[str, int]:
    """How often words occur that are not blank or the user's own."""
    out: Counter[str] = Counter()
    for word, n in words.items():
        plain = word.strip()
        if same(plain) not in own and plain.lower() not in WORDS_UNKNOWN:
            out[plain] += n
    return dict(out)


def _text_counts(path: Path | str, reading: Reading) -> tuple[list[tuple[str, dict[str, int]]], int]:
    """How often every word occurs in each column of a delimited text file, and the number of rows."""
    how, aside = reading.file, {reading.id_column, *reading.label_columns}
    with opened(path, how.get("encoding", UTF8)) as text:
        names, lines, _ = table_lines(path, text, how.get("delimiter"), how.get("header"))
        counts: list[dict[str, int]] = [{} for _ in names]
        n_rows = 0
        for row in lines:
            if len(row) != len(names):
                continue
            n_rows += 1
            for seen, word in zip(counts, row):
                if word in seen or len(seen) < MOST_VALUES:
                    seen[word] = seen.get(word, 0) + 1
    return [(name, seen) for name, seen in zip(names, counts) if name not in aside], n_rows


def _column(name: str, seen: dict[str, int], n_rows: int, has_blanks: bool) -> Column:
    """What the values of a column make of it."""
    silent = tuple(sorted(word for word in seen if word.lower() in NO_ANSWER))
    rest = {word: n for word, n in seen.items() if word not in silent}
    if silent and (not rest or (len(seen) > 2 and len(rest) in (1, 2))):  # codes of yes and no, and of no answer
        return _column(name, rest, n_rows, False)._replace(no_answer=silent)
    shown = sorted(seen, key=lambda word: (-seen[word], word))
    numbers = [number for number in map(_number, seen) if number is not None]
    all_whole = len(numbers) == len(seen) and all(number == int(number) for number in numbers)
    if all(word.lower() in CODE_OF_WORD or _number(word) in (0.0, 1.0) for word in seen):
        only_ones = has_blanks and len(seen) == 1 and n_rows > 1 and code_of_word(shown[0], None) == ONE
        kind = "ticked" if only_ones else "cells"
    elif len(seen) == 1 and has_blanks:
        kind = "ticked"
    elif len(seen) == 2:
        kind = "pair"
    elif len(seen) > 20 and len(seen) >= min(n_rows, MOST_VALUES):
        kind = "names" if all_whole or len(numbers) < len(seen) else "numbers"
    elif all_whole and 2 < len(seen) and max(numbers) - min(numbers) <= MOST_STEPS:
        kind = "scale"
    else:
        kind = "numbers" if len(numbers) == len(seen) else "words"
    if kind in ("numbers", "scale"):
        shown = [f"{min(numbers):g}", f"{max(numbers):g}"]
    return Column(name, kind, shown, len(seen))


def _number(word: str) -> float | None:
    """The finite number that a word stands for."""
    number = number_of(word)
    return None if number is None or not math.isfinite(number) else number


class Advice:
    """What is wrong with the columns of a table, line by line, and the options that mend it."""

    def __init__(self, columns: Sequence[Column], command: Sequence[str]) -> None:
        self.names = [column.name for column in columns]
        self.lines: list[str] = []
        self.options: list[str] = []
        self.has_id = any(word == "--id" or word.startswith("--id=") for word in command)

    def blanks(self, odd: Sequence[Column]) -> None:
        """Codes of no answer."""
        silent = sorted({word for column in odd for word in column.no_answer})
        if not silent:
            return
        n = sum(bool(column.no_answer) for column in odd)
        words = ", ".join(map(repr, silent))
        self.lines.append(
            f"{n} column{'s hold' if n > 1 else ' holds'} {words} beside two other values: if that is no answer, --blank "
            f"{shlex.quote(silent[0])}"
        )
        self.options += [part for word in silent for part in ("--blank", word)]

    def pairs(self, odd: Sequence[Column], n_columns: int) -> list[Column]:
        """The columns that hold the two values of the table's code, which is not that of a label."""
        pairs = Counter(tuple(sorted(column.values)) for column in odd if column.kind == "pair")
        pair, n_coded = pairs.most_common(1)[0] if pairs else ((), 0)
        if n_coded < 2 and n_coded != n_columns and not {word.lower() for word in pair} & YES:
            return []
        coded = [column for column in odd if column.kind == "pair" and tuple(sorted(column.values)) == pair]
        # Of 1 and 2, surveys mean yes by 1.
        low, high = sorted(
            pair, key=lambda word: (word.lower() in YES, -float(word) if pair == ("1", "2") else 0, word)
        )
        self.lines.append(
            f"{_some(coded)} hold {low!r} and {high!r}: say which of them is yes: --one {shlex.quote(high)} --zero "
            f"{shlex.quote(low)}, or the other way round"
        )
        self.options += ["--one", high, "--zero", low]
        return coded

    def ticked(self, odd: Sequence[Column]) -> None:
        """Columns of one text or nothing."""
        found = [column for column in odd if column.kind == "ticked"]
        if found:
            option = self._ranged("--ticked", found)
            value = f"{found[0].values[0][:30]!r}" if len({column.values[0] for column in found}) == 1 else "one text"
            self.lines.append(
                f"{_some(found)} hold {value} or nothing, as questions with several answers are exported: if nothing "
                f"means no, {shlex.join(option[:2])}"
            )
            self.options += option

    def scales(self, odd: Sequence[Column]) -> None:
        """Columns of a few whole numbers, those of one scale together."""
        groups: dict[tuple[str, ...], list[Column]] = {}
        for column in odd:
            if column.kind == "scale":
                groups.setdefault(tuple(column.values), []).append(column)
        for (low, high), found in groups.items():
            middle = (int(low) + int(high)) // 2
            option = self._ranged("--above", found, f"={middle}")
            ones = ",".join(str(number) for number in range(middle + 1, int(high) + 1))
            single = self._ranged("--ones", found, f"={ones}")
            self.lines.append(
                f"{_some(found)} hold whole numbers from {low} to {high}: say which of them are yes, e.g. "
                f"{shlex.join(option[:2])} or {shlex.join(single[:2])}"
            )
            self.options += option

    def worded(self, odd: Sequence[Column]) -> list[Column]:
        """Columns that hold the same few words, as the steps of a scale; those of one scale together."""
        groups: dict[tuple[str, ...], list[Column]] = {}
        for column in odd:
            if column.kind == "words" and column.n_values <= MOST_STEPS:
                groups.setdefault(tuple(sorted(column.values)), []).append(column)
        taken: list[Column] = []
        for values, found in groups.items():
            if len(found) > 1:
                option = self._ranged("--ones", found, f"={values[-1]}")
                shown = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
                self.lines.append(
                    f"{_some(found)} hold the same words ({shown}): say which of them are yes, several with commas between "
                    f"them, e.g. {shlex.join(option[:2])}"
                )
                self.options += option
                taken += found
        return taken

    def others(self, odd: Sequence[Column]) -> None:
        """Row names and columns to carry along."""
        for column in odd:
            if column.kind == "names" and not self.has_id:
                self.has_id = True
                self.options += ["--id", column.name]
                self.lines.append(
                    f"{column.name!r} ({column.n_values} different values): row names; set aside with --id"
                )
            elif column.kind in ("names", "numbers", "words", "pair"):
                self.options += ["--label", column.name]
                mark = _separator(column)
                name = shlex.quote(f"{column.name}={mark}" if mark else column.name)
                opened = f", or open it into one column per value with --indicators {name}"
                few = column.kind == "words" and (column.n_values <= MOST_OPENED or mark)
                self.lines.append(
                    f"{column.name!r} ({_described(column)}): carry it along, not to be fitted, with --label"
                    + (opened if few else "")
                )

    def _ranged(self, option: str, columns: Sequence[Column], value: str = "") -> list[str]:
        """The option for some columns, neighbours as ranges."""
        places = [self.names.index(column.name) for column in columns]
        out: list[str] = []
        for _, run in itertools.groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
            ends = [self.names[j] for _, j in run]
            out += [option, (ends[0] if len(ends) == 1 else f"{ends[0]}..{ends[-1]}") + value]
        return out


def _separator(column: Column) -> str | None:
    """What stands between the values of a cell, if most cells of many hold several."""
    for mark in (";", "|", ", "):
        if sum(mark in word for word in column.values) * 2 > len(column.values):
            return mark.strip()
    return None


def _some(columns: Sequence[Column]) -> str:
    """The first of some columns, and how many there are."""
    names = ", ".join(repr(column.name) for column in columns[:3]) + (", ..." if len(columns) > 3 else "")
    return f"{names} ({len(columns)} column{'s' * (len(columns) > 1)})"


def advice(path: Path | str, columns: Sequence[Column], command: Sequence[str]) -> str | None:
    """What to do about the columns that are not yes, no and blank, with the options that do it; None if there are none.

    ``command`` is the command line that came to them, word by word.
    """
    odd = [column for column in columns if column.kind not in ("cells", "ticked") or column.no_answer]
    odd += [column for column in columns if column.kind == "ticked" and code_of_word(column.values[0], None) == BAD]
    if not odd:
        return None
    fields = event_fields([column.name for column in columns])
    if all(column.kind != "cells" for column in columns) and fields is not None:
        again = _again(command, ["--format", "triples", "--fields", ",".join(fields)])
        what = (
            f"{path} looks like a list of events or edges, one per line: read it with --format triples; --fields names the "
            f"fields that are row and column, here {fields[0]!r} and {fields[1]!r}."
        )
        return f"{what}\nFor example: {again}"
    found = Advice(columns, command)
    found.blanks(odd)
    coded = found.pairs(odd, len(columns))
    found.ticked(columns)
    found.scales(odd)
    coded += found.worded(odd)
    if not found.lines and not any(column.kind == "cells" for column in columns):
        return (
            f"{path}: none of its {len(columns)} columns is 0/1, yes/no or of another two values, e.g. {columns[0].name!r} "
            f"({_described(columns[0])}). Such tables are made of answers to yes/no questions; numbers can be cut with "
            "--binarize, and words for cells be named with --one, --zero and --blank."
            + (MAYBE_EVENTS if len(columns) <= MOST_FIELDS else "")
        )
    found.others([column for column in odd if column not in coded])
    lines = found.lines
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"and {len(lines) - MOST_LINES} more, as in the example"]
    bullets = "\n".join(f"  - {line}" for line in lines)
    what = f"{len(odd)} of its {len(columns)} columns are not 0, 1, yes, no or blank"
    return f"{path}: {what}.\n{bullets}\nFor example: {_again(command, found.options)}"


def _again(command: Sequence[str], options: Sequence[str]) -> str:
    """The command line with further options."""
    end = list(command).index("--") if "--" in command else len(command)  # behind it there are no options
    return shlex.join([*command[:end], *options, *command[end:]])


def only_ticks(columns: Sequence[Column], command: Sequence[str]) -> str | None:
    """What to say of columns that could be read, but hold ones and blanks only; None if there are none."""
    ticked = [column for column in columns if column.kind == "ticked"]
    if not ticked:
        return None
    found = Advice(columns, command)
    found.ticked(columns)
    return f"{found.lines[0]}."


def _described(column: Column) -> str:
    """A column in words."""
    if column.kind in ("numbers", "scale"):
        return f"{column.n_values} numbers from {column.values[0]} to {column.values[1]}"
    if column.kind == "pair":
        return f"{column.values[0]!r} and {column.values[1]!r}"
    shown = ", ".join(repr(word[:20]) for word in column.values[:3])
    return f"{column.n_values} values: {shown}{', ...' if column.n_values > 3 else ''}"
