"""Columns by name: which columns of a table are the cells, and in which order a fitted model wants them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import InputError, TableWarning
from .block import ONE, UNKNOWN, Codes, Lists
from .checks import BadCells, Labels
from .convert import lists_of_csr, values_of_csr
from .encoding import ColumnEncoding, Encoding, Indicator, levels_of, values_in
from .numbers import same
from .rules import Rule
from .values import ValueLists

# Types of numbers that are codes already where they are 0 and 1.
BYTES = (np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.bool_))

MOST_LEVELS = 1000  # indicators of one column
MOST_NAMED = 5

WordsOf = Callable[[int], Iterable[str]]


class Plan(NamedTuple):
    """The cells of a table: what they are called, which columns they are read from, and how."""

    names: list[str]
    places: list[int]
    encodings: list[ColumnEncoding]
    encoding: Encoding  # with the columns of its rules, and the values of indicators, in full

    @property
    def reals(self) -> bool:
        """Whether numbers stay numbers."""
        return bool(self.encodings) and self.encodings[0].reals


def plan_of(
    names: Sequence[str],
    encoding: Encoding,
    words: WordsOf,
    aside: Sequence[str] = (),
    wanted: Sequence[str] | None = None,
    place: str = "",
) -> Plan:
    """How the columns of a table become cells.

    Parameters
    ----------
    names : sequence of str
        Columns of the table.
    encoding : Encoding
        How their values are read.
    words : function of a place
        Values of a column as words, for indicators.
    aside : sequence of str
        Columns that are not cells.
    wanted : sequence of str, optional
        Columns of a fitted model: the cells come in this order, others are left out.
    place : str
        Where the table is, for messages.
    """
    _refuse_twice(names)
    apart = set(aside)
    cells = [name for name in names if name not in apart]
    if wanted is None:
        encoding = encoding.resolved(cells)
    else:  # of what the model knows, that which is there; what is not is told below
        encoding = replace(encoding, rules=tuple(rule.among(cells) for rule in encoding.rules)).resolved(cells)
    position = {name: j for j, name in enumerate(names)}
    made: dict[str, tuple[int, ColumnEncoding]] = {}
    complete: list[Rule] = [rule for rule in encoding.rules if not rule.indicators]
    for name, how in zip(cells, encoding.columns(cells)):
        if isinstance(how, ColumnEncoding):
            made[name] = (position[name], how)
            continue
        rule = how if how.levels is not None else _with_levels(how, levels_of(words(position[name]), encoding.own, how))
        complete.append(rule)
        for level in rule.levels or ():
            called = f"{name}={level}"
            if called in position or called in made:
                raise InputError(f"the indicator {called!r} is called like another column of the table; rename that.")
            made[called] = (position[name], Indicator(encoding.own, rule, level))
    order = list(made) if wanted is None else match(list(made), wanted, place)
    chosen = [made[name] for name in order]
    full = replace(encoding, rules=tuple(complete))
    return Plan(order, [place for place, _ in chosen], [how for _, how in chosen], full)


def _refuse_twice(names: Sequence[str]) -> None:
    """Refuse columns of the same name."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(f"the column name {twice[0]!r} occurs more than once; rename one.")


def heard(plan: Plan, fitted: bool, place: str = "") -> Encoding:
    """The encoding with the values that its rules met, once the table has been read.

    Warns of words that the user named and no cell holds or, where a model is ``fitted``, of values that its table did not
    have.
    """
    words = {id(how): how for how in plan.encodings}.values()
    rules, told = [], []
    for rule in plan.encoding.rules:
        met = {word.strip() for how in words if _is_of(how, rule) for word in how.known if how.code(word) != UNKNOWN}
        met.discard("")
        if fitted:
            told += _unseen(rule, met)
            rules.append(rule)
            continue
        keys = {key for how in words if _is_of(how, rule) for word in met for key in how.keys(word)}
        told += [f"the word {word!r} does not occur in any cell" for word in rule.ones or () if same(word) not in keys]
        few = rule.ones is not None and len(met) <= MOST_LEVELS
        rules.append(replace(rule, levels=tuple(sorted(met))) if few else rule)
    if not fitted:
        keys = {key for how in words for word in how.known for key in how.keys(word.strip())}
        own = (*plan.encoding.one, *plan.encoding.zero, *plan.encoding.blank)
        told += [f"the word {word!r} does not occur in any cell" for word in own if same(word) not in keys]
    for text in told[:MOST_NAMED]:
        warnings.warn(f"{place}{': ' * bool(place)}{text}.", TableWarning, stacklevel=2)
    return replace(plan.encoding, rules=tuple(rules))


def _is_of(how: ColumnEncoding, rule: Rule) -> bool:
    """Whether a column is read by a rule."""
    return how.rule is not None and how.rule.columns == rule.columns


def _unseen(rule: Rule, met: set[str]) -> list[str]:
    """What to say of values that the table of the fit did not have."""
    if rule.levels is None:
        return []
    known = {same(level) for level in rule.levels}
    parts = {part for word in met for part in (values_in(word, {}, rule) or ())} if rule.indicators else met
    new = sorted(part for part in parts if same(part) not in known)
    where = f"column {rule.columns[0]!r}" if len(rule.columns) == 1 else f"columns {rule.columns[0]!r}, ..."
    return [f"{where}: {new[0]!r} was not there when the model was fitted, and is read as 0"] if new else []


def _with_levels(rule: Rule, levels: tuple[str, ...]) -> Rule:
    """An indicator rule with its values."""
    if not levels or len(levels) > MOST_LEVELS:
        what = "no value" if not levels else f"{len(levels)} different values"
        raise InputError(
            f"the column {rule.columns[0]!r} holds {what}, which makes no indicators (1 to {MOST_LEVELS} do). Leave it out, "
            "or set it aside with --id or --label."
        )
    return replace(rule, levels=levels)


def match(there: Sequence[str], wanted: Sequence[str], place: str = "") -> list[str]:
    """The wanted columns, if they are all there; others are left out with a warning.

    The first words are those that scikit-learn's users search for.
    """
    here, known = set(there), set(wanted)
    missing = sorted(name for name in wanted if name not in here)
    further = sorted(name for name in there if name not in known)
    if missing:
        parts = [f"{place}{': ' * bool(place)}The feature names should match those that were passed during fit."]
        parts += _listed("Feature names unseen at fit time:", further)
        parts += _listed("Feature names seen at fit time, yet now missing:", missing)
        raise InputError("\n".join(parts) + "\n")
    if further:
        shown = ", ".join(map(repr, further[:3])) + (", ..." if len(further) > 3 else "")
        n = len(further)
        told = f"{place}{': ' * bool(place)}{n} column{'s' * (n > 1)} that the model does not know left out ({shown})."
        warnings.warn(told, TableWarning, stacklevel=2)
    return list(wanted)


def _listed(title: str, names: list[str]) -> list[str]:
    """Some names under a title."""
    if not names:
        return []
    return [title, *(f"- {name}" for name in names[:MOST_NAMED]), *(["- ..."] if len(names) > MOST_NAMED else [])]


def codes_of_plan(
    plan: Plan, column: Callable[[int], tuple[NDArray[Any], Any]], n_rows: int, start: int, bad: BadCells
) -> Codes:
    """Codes of rows given column by column as values and where they are null; they lie in memory as they come."""
    codes = np.empty((n_rows, len(plan.names)), np.float64 if plan.reals else np.uint8, order="F")
    bad.reals = bad.reals or plan.reals
    looked_at = []  # columns of small numbers, which are taken as they are and looked at together
    for j, (place, encoding) in enumerate(zip(plan.places, plan.encodings)):
        values, null = column(place)
        if null is None and encoding.is_identity and values.dtype in BYTES:
            codes[:, j] = values.view(np.uint8)
            looked_at.append(j)
        else:
            _put_codes(codes, j, encoding, values, null, start, bad)
    if looked_at and (codes.max() if len(looked_at) == len(plan.names) else codes[:, looked_at].max()) > ONE:
        for j in looked_at:
            _put_codes(codes, j, plan.encodings[j], *column(plan.places[j]), start, bad)
    return codes


def _put_codes(codes: Any, j: int, encoding: Any, values: Any, null: Any, start: int, bad: BadCells) -> None:
    """Fill column ``j`` of ``codes``; cells that cannot be read are noted in ``bad``."""
    here = BadCells()
    codes[:, j] = encoding.codes(values, null if null is not None and null.any() else None, start, here)
    if here.count:
        bad.note(np.array([here.row]), np.array([j]), [here.value])
        bad.count += here.count - 1


def reordered(X: Any, wanted: Sequence[str] | None) -> Any:
    """A frame with the wanted columns, in their order; other tables as they are."""
    lazy = type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "collect")
    columns = None if lazy else getattr(X, "columns", None)  # asking a lazy frame would warn
    if wanted is None or columns is None or not all(isinstance(name, str) for name in columns):
        return X
    return X if list(columns) == list(wanted) else X[match(list(columns), wanted)]


def in_order(reader: Any, wanted: Sequence[str] | None) -> Any:
    """A reader with the wanted columns, in their order, if its columns have names."""
    names = reader.labels.columns
    if wanted is None or names is None or [str(name) for name in names] == list(wanted):
        return reader
    return PickedReader(reader, wanted)


class PickedReader:
    """Some columns of a table that is open already, in another order."""

    def __init__(self, reader: Any, wanted: Sequence[str]) -> None:
        theirs = [str(name) for name in reader.labels.columns]
        names = match(theirs, wanted)
        place = {name: j for j, name in enumerate(theirs)}
        self.reader, self.lazy, self.reading = reader, reader.lazy, getattr(reader, "reading", None)
        self.order = np.array([place[name] for name in names], np.int64)
        self.shape = (reader.shape[0], len(names))
        self.labels = Labels(names, reader.labels.rows)

    def read(self, low: int, high: int, bad: BadCells) -> Any:
        """The rows; what is wrong in other columns does not matter."""
        here = BadCells()
        rows = self.reader.read(low, high, here)
        bad.reals = here.reals
        if here.count and here.columns & set(self.order.tolist()):
            here.raise_if_any("the table", self.reader.labels)
        if isinstance(rows, ValueLists):
            return values_of_csr(self._moved(rows.indptr, rows.indices, rows.values), 0, high - low)
        if isinstance(rows, Lists):
            ones = self._moved(rows.indptr, rows.indices, np.ones(len(rows.indices)))
            unknown = self._moved(rows.unknown_indptr, rows.unknown_indices, np.full(len(rows.unknown_indices), np.nan))
            return lists_of_csr(sp.csr_array(ones + unknown), 0, high - low)
        return np.ascontiguousarray(rows[:, self.order])

    def _moved(self, indptr: Any, indices: Any, values: Any) -> Any:
        """Lists with their columns in the new order."""
        table = sp.csr_array((values, indices, indptr), shape=(len(indptr) - 1, self.reader.shape[1]))[:, self.order]
        table.sort_indices()
        return table
