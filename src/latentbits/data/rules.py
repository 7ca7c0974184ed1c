"""Rules: columns that are read in a way of their own, as users write them down."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ..errors import InputError, brief
from .numbers import float_of, is_real, number_of, word_of


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
        Of indicators: the values that have a column; by default all that occur.  Of ones: the values that were met.
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
    if dots and first.strip() in names and last.strip() in names:
        ends = [list(names).index(end.strip()) for end in (first, last)]
        return list(names[min(ends) : max(ends) + 1])
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found and dots:
        missing = first.strip() if first.strip() not in names else last.strip()
        raise InputError(f"no column is called {missing!r}, of the range {pattern!r}{instead(missing, names)}")
    if not found:
        raise InputError(f"no column is called {pattern!r}{instead(pattern, names)}")
    return found


def instead(name: str, names: Sequence[str]) -> str:
    """What a name that is not there may stand for; the end of a sentence."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        return "; name several by giving the option several times."
    near = {other.lower(): other for other in reversed(names)}
    found = difflib.get_close_matches(name.lower(), list(near), 1)
    if found:
        return f"; did you mean {near[found[0]]!r}?"
    return f"; the columns are: {', '.join(map(repr, names[:12]))}{', ...' if len(names) > 12 else '.'}"


def words_given(name: str, given: Any) -> tuple[str, ...]:
    """Words of an option, which must be a list of them; numbers are words, too."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(f"{name} must be a list of words; got {brief(given)}.")
    return tuple(word_of(word) for word in given)


def rules_of(given: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules as :func:`latentbits.data.encode` takes them.

    Examples
    --------
    >>> rules_of({"q1..q9": {"ones": [4, 5]}, "seen_*": "ticked"})[0].ones
    ('4', '5')
    """
    if not isinstance(given, Mapping):
        raise InputError(f"rules are a dict of columns and how they are read; got {brief(given)}.")
    return tuple(_rule(pattern, what) for pattern, what in given.items())


KINDS = "{'ones': [...]}, {'above': number}, 'ticked', 'indicators' or {'indicators': separator}"


def _rule(pattern: Any, what: Any) -> Rule:
    """One rule, checked."""
    told = {what: True} if isinstance(what, str) else what
    if not isinstance(pattern, str) or not isinstance(told, Mapping) or len(told) != 1:
        raise InputError(f"the rule {pattern!r}: {what!r:.60} is not understood; a rule is {KINDS}.")
    kind, value = next(iter(told.items()))
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if (
        kind == "ones"
        and isinstance(listed, (list, tuple, set, frozenset))
        and listed
        and not any(map(_is_list, listed))
    ):
        return Rule((pattern,), ones=tuple(word_of(word) for word in listed))
    if kind == "above" and is_real(value) and not isinstance(value, (bool, np.bool_)) and np.isfinite(float_of(value)):
        return Rule((pattern,), above=float(value))
    if kind == "ticked" and value is True:
        return Rule((pattern,), ticked=True)
    if kind == "indicators" and (value is True or (isinstance(value, str) and value)):
        return Rule((pattern,), indicators=True, separator=None if value is True else value)
    raise InputError(f"the rule {pattern!r}: {what!r:.60} is not understood; a rule is {KINDS}.")


def _is_list(value: Any) -> bool:
    """Whether a value holds others."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


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
