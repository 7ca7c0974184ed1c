"""Encoding: how the values of a table become ones, zeros and blanks, column by column.

Text is read by words ("yes", "no", "?"), to which the user may add; numbers by 0 and 1 or a threshold.  A :class:`Rule` says
it for some columns otherwise.  Files and frames use the same words, so a frame is read as the file would be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .block import ONE, UNKNOWN, ZERO
from .checks import BadCells
from .convert import Binarize, codes_of_array, refuse_object
from .numbers import LARGEST, is_unknown, number_of, plain_word, same, word_of
from .rules import Rule
from .values import Reals

WORDS_ON = ("1", "yes", "y", "true", "t", "present")
WORDS_OFF = ("0", "no", "n", "false", "f", "absent")
WORDS_UNKNOWN = ("", "?", "na", "n/a", "nan", "null", "none", "<na>", ".")
CODE_OF_WORD = {
    **dict.fromkeys(WORDS_ON, ONE),
    **dict.fromkeys(WORDS_OFF, ZERO),
    **dict.fromkeys(WORDS_UNKNOWN, UNKNOWN),
}
Own = Mapping[str | float, int]  # codes of the user's words
BAD = 3  # stands for a word that is no cell
KINDS_OF_WORDS = (bytes, bool, int, float, Decimal, date, time, np.bool_, np.integer, np.floating, np.datetime64)
NO_REAL = -1.0  # stands for a word that is no number, 0 or more


class ColumnEncoding:
    """How one column is read; ``codes`` for values of any kind, ``code`` for a word."""

    def __init__(
        self, binarize: Binarize, own: Own, rule: Rule | None = None, aliases: Mapping[str, float] | None = None
    ) -> None:
        self.binarize, self.own, self.rule, self.aliases = binarize, own, rule, aliases or {}
        self.ones = None if rule is None or rule.ones is None else {same(word) for word in rule.ones}
        self.reals = isinstance(binarize, Reals)
        self.plain = rule is None and not own
        self.known = Words(self)

    def code(self, word: str) -> Any:
        """Code of a word, or its number where real numbers are wanted."""
        plain = word.strip()
        own = next((self.own[key] for key in self.keys(plain) if key in self.own), None)
        rule = self.rule
        if rule is not None and not self.reals:
            if own == UNKNOWN or (own is None and plain.lower() in WORDS_UNKNOWN):
                return ZERO if rule.ticked and own is None else UNKNOWN
            return self._ruled(plain, rule)
        if own is not None:
            return own
        if self.reals:
            number = number_of(plain)
            return NO_REAL if number is None or not 0 <= number <= LARGEST else number
        return code_of_word(plain, self.binarize)

    def keys(self, word: str) -> list[str | float]:
        """What a word is compared by: itself and, if it is the label of a number, that."""
        return [same(word), *([self.aliases[word]] if word in self.aliases else [])]

    def _ruled(self, word: str, rule: Rule) -> int:
        """Code of a word that is not blank, by a rule."""
        if rule.ticked:
            return ONE
        if self.ones is not None:
            return ONE if any(key in self.ones for key in self.keys(word)) else ZERO
        if rule.above is None:
            return code_of_word(word, self.binarize)
        number = next((key for key in reversed(self.keys(word)) if isinstance(key, float)), None)
        return BAD if number is None or not np.isfinite(number) else int(number > rule.above)

    @property
    def is_identity(self) -> bool:
        """Whether numbers 0 and 1 are their own codes, and others none."""
        return self.plain and self.binarize is None and not self.reals

    def codes(self, values: NDArray[Any], null: NDArray[np.bool_] | None, start: int, bad: BadCells) -> NDArray[Any]:
        """Codes of a column of values whose first is of row ``start``; what is no cell is noted in ``bad``, in column 0."""
        kind = values.dtype.kind
        if self.reals or (self.plain and kind in "biuf") or kind == "c":
            mask = None if null is None else null[:, None]
            return codes_of_array(values[:, None], start, bad, self.binarize, mask)[:, 0]
        words = self.known
        if kind in "biuf":
            found, place = np.unique(values, return_inverse=True)
            codes = np.array([words[_word(value)] for value in found.tolist()], np.uint8)[place]
        else:
            codes = np.fromiter((words[_word(value)] for value in values), np.uint8, len(values))
        if null is not None:
            codes[null] = words[""]
        wrong = np.flatnonzero(codes == BAD)
        bad.note(wrong + start, np.zeros(len(wrong), np.int64), [_shown(values[i]) for i in wrong])
        return codes


class Words(dict[str, Any]):
    """Codes of the words met so far."""

    def __init__(self, encoding: ColumnEncoding) -> None:
        super().__init__()
        self.encoding = encoding

    def __missing__(self, word: str) -> Any:
        code = self[word] = self.encoding.code(word)
        return code


class Indicator(ColumnEncoding):
    """Whether a value is among those of a cell."""

    def __init__(self, own: Own, rule: Rule, level: str) -> None:
        self.level = level
        super().__init__(None, own, rule)

    def code(self, word: str) -> int:
        """Code of a word."""
        parts = values_in(word, self.own, self.rule)
        return UNKNOWN if parts is None else int(self.level in parts)


def values_in(word: str, own: Own, rule: Rule | None) -> list[str] | None:
    """Values that a cell of an indicator column holds, None if it is blank."""
    plain = word.strip()
    if own.get(same(plain)) == UNKNOWN or plain.lower() in WORDS_UNKNOWN:
        return None
    parts = plain.split(rule.separator) if rule is not None and rule.separator else [plain]
    return [plain_word(part) for part in parts if part.strip()]


def code_of_word(word: str, binarize: Binarize) -> int:
    """Code of a word by the usual words and numbers."""
    plain = word.strip().lower()
    if plain in WORDS_UNKNOWN:
        return UNKNOWN
    number = number_of(plain)
    if number is None:
        return CODE_OF_WORD.get(plain, BAD)
    if binarize is not None and np.isfinite(number):
        return int(number > binarize)  # type: ignore[operator]
    return {0.0: ZERO, 1.0: ONE}.get(number, BAD)


def _word(value: Any) -> str:
    """A value in memory as a word, blanks as the empty one."""
    if isinstance(value, str):
        return value
    if is_unknown(value):
        return ""
    if isinstance(value, KINDS_OF_WORDS):
        return word_of(value)
    refuse_object(value)


def _shown(value: Any) -> Any:
    """A value as messages show it."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Encoding:
    """How the values of a table become cells.

    Parameters
    ----------
    binarize : float or REALS, optional
        Numbers above it are 1, others 0; with ``REALS`` numbers stay numbers.
    one, zero, blank : tuple of str
        Further words for 1, 0 and unknown; they come before the usual ones.
    rules : tuple of Rule
        Columns that are read otherwise.
    """

    binarize: Binarize = None
    one: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        if (self.one or self.zero) and isinstance(self.binarize, (int, float)):
            raise InputError(
                "words for ones and zeros (--one, --zero) and a threshold (--binarize) exclude each other."
            )
        groups = [{same(word) for word in words} for words in (self.one, self.zero, self.blank)]
        twice = [word for word, n in Counter(word for group in groups for word in group).items() if n > 1]
        if twice:
            raise InputError(f"{word_of(twice[0])!r} is named as two of one, zero and blank.")

    @property
    def own(self) -> dict[str | float, int]:
        """Codes of the user's words, by what words are compared by."""
        groups = ((self.one, ONE), (self.zero, ZERO), (self.blank, UNKNOWN))
        return {same(word): code for words, code in groups for word in words}

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but the usual words."""
        return not (self.one or self.zero or self.blank or self.rules)

    def resolved(self, names: Sequence[str]) -> Encoding:
        """The encoding with the columns of its rules in full; a column may have one rule."""
        rules = tuple(part for rule in self.rules for part in rule.resolved(names).single())
        twice = [name for name, n in Counter(name for rule in rules for name in rule.columns).items() if n > 1]
        if twice:
            raise InputError(f"two rules say how the column {twice[0]!r} is read; leave one out.")
        return replace(self, rules=rules)

    def columns(self, names: Sequence[str]) -> list[ColumnEncoding | Rule]:
        """How each column is read; of indicators whose values are not known yet, the rule.  The rules are resolved."""
        own = self.own
        usual = ColumnEncoding(self.binarize, own)
        ruled = {name: rule for rule in self.rules for name in rule.columns}
        of_rule = {id(rule): ColumnEncoding(self.binarize, own, rule) for rule in self.rules}
        out: list[ColumnEncoding | Rule] = []
        for name in names:
            rule = ruled.get(name)
            out.append(usual if rule is None else rule if rule.indicators else of_rule[id(rule)])
        return out

    def record(self) -> dict[str, Any]:
        """The encoding as plain data."""
        told: dict[str, Any] = {name: list(getattr(self, name)) for name in ("one", "zero", "blank")}
        told["rules"] = [rule.record() for rule in self.rules]
        if isinstance(self.binarize, (int, float)):
            told["binarize"] = float(self.binarize)
        return {name: value for name, value in told.items() if value != []}

    @staticmethod
    def of_record(record: Mapping[str, Any]) -> Encoding:
        """The inverse of :meth:`record`."""
        rules: list[dict[str, Any]] = [
            {key: tuple(v) if isinstance(v, list) else v for key, v in rule.items()} for rule in record.get("rules", ())
        ]
        words = {name: tuple(record.get(name, ())) for name in ("one", "zero", "blank")}
        return Encoding(record.get("binarize"), rules=tuple(Rule(**rule) for rule in rules), **words)


def words_of(values: NDArray[Any], null: NDArray[np.bool_] | None = None) -> list[str]:
    """Values of a column as words, blanks as the empty one."""
    words = [_word(value) for value in (values if values.dtype.kind in "mM" else values.tolist())]
    return words if null is None else ["" if blank else word for word, blank in zip(words, null)]


def levels_of(words: Iterable[str], own: Own, rule: Rule) -> tuple[str, ...]:
    """Values that occur in the cells of an indicator column, in order."""
    return tuple(sorted({part for word in set(words) for part in values_in(word, own, rule) or ()}))
