"""Encoding: how the values of a table become ones, zeros and blanks, column by column.

Text is read by words ("yes", "no", "?"), to which the user may add; numbers by 0 and 1 or a threshold.  A :class:`Rule` says
it for some columns otherwise.  Files and frames use the same words, so a frame is read as the file would be.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .block import ONE, UNKNOWN, ZERO
from .checks import BadCells
from .convert import Binarize, codes_of_array, refuse_object
from .numbers import LARGEST, is_unknown, number_of_word
from .values import Reals

WORDS_ON = ("1", "yes", "y", "true", "t", "present")
WORDS_OFF = ("0", "no", "n", "false", "f", "absent")
WORDS_UNKNOWN = ("", "?", "na", "n/a", "nan", "null", "none", "<na>", ".")
CODE_OF_WORD = {
    **dict.fromkeys(WORDS_ON, ONE),
    **dict.fromkeys(WORDS_OFF, ZERO),
    **dict.fromkeys(WORDS_UNKNOWN, UNKNOWN),
}
BAD = 3  # stands for a word that is no cell
NO_REAL = -1.0  # stands for a word that is no number, 0 or more


def number_of(word: str) -> float | None:
    """The number that a word is, if it is one."""
    try:
        return number_of_word(word)
    except ValueError:
        return None


def word_of(value: Any) -> str:
    """A value as a text file has it: whole numbers without a point.

    Examples
    --------
    >>> word_of(4.0), word_of(np.int8(4)), word_of(" 4 "), word_of(True)
    ('4', '4', '4', '1')
    """
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if np.isfinite(value) and value == int(value) else repr(float(value))
    return str(value).strip()


def _same(word: str) -> str | float:
    """What a word is compared by: its number if it is one."""
    number = number_of(word)
    return word.strip() if number is None else number


@dataclass(frozen=True)
class Rule:
    """How some columns are read.

    Parameters
    ----------
    columns : tuple of str
        Names, patterns (``q*``) or ranges (``q1..q9``, by place).
    ones : tuple of str, optional
        Values that are 1; all others are 0, blanks stay unknown.
    above : float, optional
        Numbers above it are 1, others 0.
    ticked : bool
        Anything is 1 and nothing is 0, as in the exports of questions with several answers.
    indicators : bool
        One column per value, named ``column=value``.
    separator : str, optional
        Of indicators: what stands between the values of one cell.
    levels : tuple of str, optional
        Of indicators: the values that have a column; by default all that occur.
    """

    columns: tuple[str, ...]
    ones: tuple[str, ...] | None = None
    above: float | None = None
    ticked: bool = False
    indicators: bool = False
    separator: str | None = None
    levels: tuple[str, ...] | None = None

    def resolved(self, names: Sequence[str]) -> Rule:
        """The rule with the names of its columns in full."""
        found = [name for pattern in self.columns for name in columns_like(pattern, names)]
        return replace(self, columns=tuple(dict.fromkeys(found)))

    def single(self) -> list[Rule]:
        """Rules that may keep values of their columns: those of indicators have one column each."""
        return [replace(self, columns=(name,)) for name in self.columns] if self.indicators else [self]

    def among(self, names: Sequence[str]) -> Rule:
        """The rule for those of its columns that are there."""
        there = set(names)
        return replace(self, columns=tuple(name for name in self.columns if name in there))

    def record(self) -> dict[str, Any]:
        """The rule as plain data."""
        told = {name: getattr(self, name) for name in RULE_FIELDS}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}
        return {
            "columns": list(self.columns),
            **{name: value for name, value in plain.items() if value not in (None, False)},
        }


RULE_FIELDS = ("ones", "above", "ticked", "indicators", "separator", "levels")


def columns_like(pattern: str, names: Sequence[str]) -> list[str]:
    """Columns that a name, a pattern or a range stands for.

    Examples
    --------
    >>> columns_like("q1..q3", ["id", "q1", "q2", "q3"]), columns_like("q*", ["id", "q1", "q2"])
    (['q1', 'q2', 'q3'], ['q1', 'q2'])
    """
    if pattern in names:
        return [pattern]
    first, dots, last = pattern.partition("..")
    if dots:
        ends = [_place(end.strip(), names, pattern) for end in (first, last)]
        return list(names[min(ends) : max(ends) + 1])
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"no column is called {pattern!r}{instead(pattern, names)}.")
    return found


def _place(name: str, names: Sequence[str], pattern: str) -> int:
    """Where a column stands that a range begins or ends with."""
    if name not in names:
        raise InputError(f"no column is called {name!r}, of the range {pattern!r}{instead(name, names)}.")
    return list(names).index(name)


def instead(name: str, names: Sequence[str]) -> str:
    """What a name that is not there may stand for."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return "; name several by giving the option several times"
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; the columns are: {', '.join(map(repr, names[:12]))}{', ...' if len(names) > 12 else ''}"


class ColumnEncoding:
    """How one column is read; ``codes`` for values of any kind, ``code`` for a word."""

    def __init__(self, binarize: Binarize, own: Mapping[str, int], rule: Rule | None = None) -> None:
        self.binarize, self.own, self.rule = binarize, own, rule
        self.ones = None if rule is None or rule.ones is None else {_same(word) for word in rule.ones}
        self.reals = isinstance(binarize, Reals)
        self.plain = rule is None and not own
        self.known = Words(self)

    def code(self, word: str) -> Any:
        """Code of a word, or its number where real numbers are wanted."""
        plain = word.strip()
        own = self.own.get(plain)
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

    def _ruled(self, word: str, rule: Rule) -> int:
        """Code of a word that is not blank, by a rule."""
        if rule.ticked:
            return ONE
        if self.ones is not None:
            return ONE if _same(word) in self.ones else ZERO
        if rule.above is None:
            return code_of_word(word, self.binarize)
        number = number_of(word)
        return BAD if number is None or not np.isfinite(number) else int(number > rule.above)

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

    def __init__(self, own: Mapping[str, int], rule: Rule, level: str) -> None:
        self.level = level
        super().__init__(None, own, rule)

    def code(self, word: str) -> int:
        """Code of a word."""
        parts = values_in(word, self.own, self.rule)
        return UNKNOWN if parts is None else int(self.level in parts)


def values_in(word: str, own: Mapping[str, int], rule: Rule | None) -> list[str] | None:
    """Values that a cell of an indicator column holds, None if it is blank."""
    plain = word.strip()
    if own.get(plain) == UNKNOWN or plain.lower() in WORDS_UNKNOWN:
        return None
    parts = plain.split(rule.separator) if rule is not None and rule.separator else [plain]
    return [part.strip() for part in parts if part.strip()]


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
    if isinstance(value, (bytes, bool, int, float, np.bool_, np.integer, np.floating)):
        return word_of(value)
    refuse_object(value)
    return ""


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
        twice = [word for word, n in Counter([*set(self.one), *set(self.zero), *set(self.blank)]).items() if n > 1]
        if twice:
            raise InputError(f"{twice[0]!r} is named as two of one, zero and blank.")

    @property
    def own(self) -> dict[str, int]:
        """Codes of the user's words."""
        groups = ((self.one, ONE), (self.zero, ZERO), (self.blank, UNKNOWN))
        return {form: code for words, code in groups for word in words for form in _forms(word)}

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


def _forms(word: str) -> list[str]:
    """A word as it may stand in cells: numbers in memory have no zeros behind the point."""
    number = number_of(word)
    return list(dict.fromkeys([word.strip(), *([] if number is None else [word_of(number)])]))


def rules_of(given: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules as :func:`latentbits.data.encode` takes them.

    Examples
    --------
    >>> rules_of({"q1..q9": {"ones": [4, 5]}, "seen_*": "ticked"})[0].ones
    ('4', '5')
    """
    return tuple(_rule(pattern, what) for pattern, what in given.items())


KINDS = "{'ones': [...]}, {'above': number}, 'ticked', 'indicators' or {'indicators': separator}"


def _rule(pattern: Any, what: Any) -> Rule:
    """One rule, checked."""
    told = {what: True} if isinstance(what, str) else what
    if not isinstance(pattern, str) or not isinstance(told, Mapping) or len(told) != 1:
        raise InputError(f"the rule {pattern!r}: {what!r:.60} is not understood; a rule is {KINDS}.")
    kind, value = next(iter(told.items()))
    if kind == "ones" and isinstance(value, (list, tuple, set, frozenset, np.ndarray)) and len(value):
        return Rule((pattern,), ones=tuple(word_of(word) for word in value))
    if kind == "above" and isinstance(value, (int, float, np.number)) and np.isfinite(value) and value is not True:
        return Rule((pattern,), above=float(value))
    if kind == "ticked" and value is True:
        return Rule((pattern,), ticked=True)
    if kind == "indicators" and (value is True or (isinstance(value, str) and value)):
        return Rule((pattern,), indicators=True, separator=None if value is True else value)
    raise InputError(f"the rule {pattern!r}: {what!r:.60} is not understood; a rule is {KINDS}.")


def rule_of_text(kind: str, text: str) -> Rule:
    """A rule as it is typed: ``q1..q9=4,5`` for ones, ``q*=3`` for above, columns alone for the others.

    Examples
    --------
    >>> rule_of_text("ones", "q1..q9=4,5").ones, rule_of_text("indicators", "media=;").separator
    (('4', '5'), ';')
    """
    columns, sign, value = text.rpartition("=")
    option = f"--{kind} {text!r}"
    if kind == "ticked":
        return _rule(text, kind)
    if kind == "indicators":
        separated = sign and columns and value and not any(c.isalnum() for c in value)
        return _rule(columns, {kind: value}) if separated else _rule(text, kind)
    if not columns or not value:
        raise InputError(f"{option} is not of the form COLUMNS={'VALUE,VALUE' if kind == 'ones' else 'NUMBER'}.")
    if kind == "ones":
        return _rule(columns, {kind: [word.strip() for word in value.split(",")]})
    number = number_of(value)
    if number is None:
        raise InputError(f"{option}: {value!r} is no number.")
    return _rule(columns, {kind: number})


@dataclass(frozen=True)
class Reading:
    """How a table was read, which a model remembers: the encoding, and what is not cells.

    Parameters
    ----------
    encoding : Encoding
    id_column, label_columns : str, tuple of str
        Columns set aside.
    file : dict
        How the file is written, as far as the user said it: format, delimiter, header, encoding.
    """

    encoding: Encoding = field(default_factory=Encoding)
    id_column: str | None = None
    label_columns: tuple[str, ...] = ()
    file: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The reading as plain data; empty if there is nothing to remember."""
        told: dict[str, Any] = self.encoding.record()
        told.update(id_column=self.id_column, label_columns=list(self.label_columns), file=dict(self.file))
        return {name: value for name, value in told.items() if value not in (None, [], {})}

    @staticmethod
    def of_record(record: Mapping[str, Any]) -> Reading:
        """The inverse of :meth:`record`."""
        return Reading(
            Encoding.of_record(record),
            record.get("id_column"),
            tuple(record.get("label_columns", ())),
            dict(record.get("file", {})),
        )


def unreadable(record: Mapping[str, Any]) -> str | None:
    """What is wrong with the record of a reading, or None."""
    known: dict[str, type] = {
        "one": list,
        "zero": list,
        "blank": list,
        "rules": list,
        "binarize": float,
        "id_column": str,
    }
    known |= {"label_columns": list, "file": dict}
    for name, value in record.items():
        if name not in known or not isinstance(value, known[name]):
            return f"says {name}={value!r:.60}, which is no part of how a table is read"
        if name in ("one", "zero", "blank", "label_columns") and not _are_words(value):
            return f"must hold words for {name}"
    file = record.get("file", {})
    texts = {name: file.get(name, "") for name in ("format", "delimiter", "encoding", "suffix", "sheet", "layer")}
    if set(file) - {*texts, "header", "fields"} or not all(isinstance(text, str) for text in texts.values()):
        return "does not say how a file is written"
    if not isinstance(file.get("header", True), bool) or not _are_words(file.get("fields", [])):
        return "does not say how a file is written"
    return next((told for rule in record.get("rules", ()) if (told := _misruled(rule)) is not None), None)


def _misruled(rule: Any) -> str | None:
    """What is wrong with the record of a rule, or None."""
    kinds: dict[str, type] = {"columns": list, "ones": list, "above": float, "ticked": bool, "indicators": bool}
    kinds |= {"separator": str, "levels": list}
    fits = isinstance(rule, dict) and all(name in kinds and isinstance(v, kinds[name]) for name, v in rule.items())
    if not fits or not all(_are_words(rule.get(name, [])) for name in ("columns", "ones", "levels")):
        return f"holds {rule!r:.60}, which is no rule"
    return None if "columns" in rule and np.isfinite(rule.get("above", 0.0)) else "holds a rule without columns"


def _are_words(value: Any) -> bool:
    """Whether a value is a list of words."""
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def words_of(values: NDArray[Any], null: NDArray[np.bool_] | None = None) -> list[str]:
    """Values of a column as words, blanks as the empty one."""
    words = [_word(value) for value in values.tolist()]
    return words if null is None else ["" if blank else word for word, blank in zip(words, null)]


def levels_of(words: Iterable[str], own: Mapping[str, int], rule: Rule) -> tuple[str, ...]:
    """Values that occur in the cells of an indicator column, in order."""
    return tuple(sorted({part for word in set(words) for part in values_in(word, own, rule) or ()}))
