"""What records and fitted attributes hold: told by their annotations, checked when they come from a file.

A field says what it may hold where it is declared::

    class MixtureParams(NamedTuple):
        weights: Annotated[Float, of.weights("K")]
        probs: Annotated[Float, of.shares("K", "D")]

Letters are sizes, each the same number in all of a model: D columns, K components, and whatever else a family counts.  Loops
that are compiled check no places, so nothing may come to them that was not checked here.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

Sizes = dict[str, int]
# Whole numbers in files stay below it, so that every loop can hold them.
MOST = 2**62
# How far from 1 the sum of shares may be.
ROUNDING = 1e-6


class MisfitError(ValueError):
    """Something is not what was declared; the message says where, what was expected and what was found."""


class Maybe(NamedTuple):
    """An attribute that not every fitted estimator has."""

    kind: Any


@dataclass(frozen=True)
class Array:
    """An array of a shape and kind, with numbers from ``least`` to ``most``.

    Parameters
    ----------
    sides : tuple of str
        The shape: letters, numbers, "D+1", "1|D" (one or the other) or "*" (any).
    dtype : str
        Names or kinds of the types that it may have.
    inside : bool
        Whether the bounds themselves are out.
    below : str
        Size that whole numbers stay below.
    total : bool
        Whether the numbers sum to one.
    inf, nan : bool
        Whether there may be infinite or undefined ones.
    """

    sides: tuple[str, ...]
    dtype: str = "float64"
    least: float = -np.inf
    most: float = np.inf
    inside: bool = False
    below: str = ""
    total: bool = False
    inf: bool = False
    nan: bool = False

    def __call__(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong."""
        if not isinstance(value, np.ndarray):
            return f"must be an array; it is {_shown(value)}"
        if value.dtype.name not in self.dtype.split() and value.dtype.kind not in self.dtype.split():
            return f"must be an array of {self.dtype}; it has {value.dtype.name}"
        if len(value.shape) != len(self.sides) or not all(map(_side_fits, self.sides, value.shape, [sizes] * 9)):
            wanted = ", ".join(f"{side}={sizes[side]}" if side in sizes else side for side in self.sides)
            return f"must have the shape ({wanted}); it has {value.shape}"
        if value.dtype.kind == "O":
            return None if all(isinstance(item, str) for item in value.flat) else "must hold words only"
        return self._of_numbers(value, sizes) if value.dtype.kind in "fiu" and value.size else None

    def _of_numbers(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong with the numbers."""
        known = value[~np.isnan(value)] if self.nan else value
        if not known.size:
            return None
        low, high = known.min(), known.max()
        if np.isnan(low):
            return "holds NaN"
        if not self.inf and not (np.isfinite(low) and np.isfinite(high)):
            return "holds infinite numbers"
        if low < self.least or high > self.most or (self.inside and (low <= self.least or high >= self.most)):
            edge = ", without these," if self.inside else ""
            return f"must hold numbers from {self.least:g} to {self.most:g}{edge}; it holds {low:g} to {high:g}"
        if self.below and (low < 0 or high >= sizes.get(self.below, MOST)):
            return f"must hold numbers from 0 to {sizes.get(self.below, MOST) - 1}; it holds {low} to {high}"
        if self.total and abs(float(value.sum()) - 1.0) > ROUNDING:
            return f"must sum to 1; it sums to {value.sum():g}"
        return None


def _side_fits(side: str, length: int, sizes: Sizes) -> bool:
    """Whether an array is as long as its side says; a letter met for the first time takes the length."""
    for part in side.split("|"):
        letter, _, more = part.partition("+")
        if part == "*" or (part.isdigit() and int(part) == length):
            return True
        if not part.isdigit() and sizes.setdefault(letter, length - int(more or 0)) + int(more or 0) == length:
            return True
    return False


@dataclass(frozen=True)
class Number:
    """A number from ``least`` to ``most``."""

    least: float = -np.inf
    most: float = np.inf
    inside: bool = False
    inf: bool = False
    nan: bool = False

    def __call__(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong."""
        if isinstance(value, bool) or not isinstance(value, (int, float)) or (value != value and not self.nan):
            return f"must be a number; it is {_shown(value)}"
        if abs(value) > 1.7e308 and not (self.inf and isinstance(value, float)):
            return "must be a finite number"
        if value < self.least or value > self.most or (self.inside and value in (self.least, self.most)):
            return f"must be a number from {self.least:g} to {self.most:g}; it is {value:g}"
        return None


@dataclass(frozen=True)
class Whole:
    """A whole number from ``least`` to ``most``, below the size ``below``, or the size ``size`` itself."""

    least: int = 0
    most: int = MOST
    below: str = ""
    size: str = ""

    def __call__(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong."""
        if isinstance(value, bool) or not isinstance(value, int):
            return f"must be a whole number; it is {_shown(value)}"
        most = min(self.most, sizes.get(self.below, MOST + 1) - 1)
        if not self.least <= value <= most:
            return (
                f"must be a whole number from {self.least} to {most}; it is {value:.0f}"
                if abs(value) < MOST
                else "is too large"
            )
        if self.size and sizes.setdefault(self.size, value) != value:
            return f"must be {self.size}={sizes[self.size]}; it is {value}"
        return None


@dataclass(frozen=True)
class Word:
    """One of some words."""

    allowed: tuple[str, ...]

    def __call__(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong."""
        if isinstance(value, str) and value in self.allowed:
            return None
        return f"must be one of {', '.join(map(repr, self.allowed))}; it is {_shown(value)}"


class _Plain:
    """Words, numbers, lists and dicts of them with words as keys: what JSON can hold."""

    def __call__(self, value: Any, sizes: Sizes) -> str | None:
        """What is wrong."""
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                return "must have words as keys"
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            return next(filter(None, (self(item, sizes) for item in value)), None)
        if value is None or isinstance(value, (str, bool, int, float)):
            return None
        return f"must hold words, numbers, lists and dicts only; it holds {_shown(value)}"


def reals(*sides: str, inf: bool = False, nan: bool = False) -> Array:
    """Real numbers."""
    return Array(sides, inf=inf, nan=nan)


def amounts(*sides: str) -> Array:
    """Numbers, 0 or more."""
    return Array(sides, least=0.0)


def positives(*sides: str) -> Array:
    """Numbers above 0."""
    return Array(sides, least=0.0, inside=True)


def shares(*sides: str) -> Array:
    """Numbers from 0 to 1."""
    return Array(sides, least=0.0, most=1.0)


def chances(*sides: str) -> Array:
    """Numbers between 0 and 1, whose logarithms are taken."""
    return Array(sides, least=0.0, most=1.0, inside=True)


def logits(*sides: str) -> Array:
    """Logits of chances, as they are kept of many."""
    return Array(sides, "float32", least=-21.0, most=21.0)


def weights(*sides: str) -> Array:
    """Shares that sum to one."""
    return Array(sides, least=0.0, most=1.0, total=True)


def counts(*sides: str) -> Array:
    """Whole numbers, 0 or more."""
    return Array(sides, "int32 int64", least=0)


def places(*sides: str, below: str, dtype: str = "int64") -> Array:
    """Numbers of columns, components and so on."""
    return Array(sides, dtype, below=below)


def flags(*sides: str) -> Array:
    """Yes and no."""
    return Array(sides, "bool")


def names(*sides: str) -> Array:
    """What rows or columns are called: words or numbers."""
    return Array(sides, "O U b i u f")


def words(*allowed: str) -> Word:
    """One of some words."""
    return Word(allowed)


Amount = Annotated[float, Number(0.0)]
Share = Annotated[float, Number(0.0, 1.0)]
Positive = Annotated[float, Number(0.0, inside=True)]
AnyNumber = Annotated[float, Number(inf=True, nan=True)]
Count = Annotated[int, Whole()]
Size = Annotated[int, Whole(1, size="K")]
Component = Annotated[int, Whole(below="K")]
Plain = Annotated[Any, _Plain()]


def check(value: Any, kind: Any, sizes: Sizes, place: str) -> None:
    """Raise :class:`MisfitError` if a value is not of the kind that an annotation declares."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        for rule in inner[1:]:
            if isinstance(rule, type):
                check(value, rule, sizes, place)
            else:
                _refuse(place, rule(value, sizes))
    elif origin in (Union, types.UnionType):
        _check_one_of(value, inner, sizes, place)
    elif origin is np.ndarray:
        check(value, origin, sizes, place)
    elif origin is not None:
        _check_all(value, origin, inner, sizes, place)
    elif kind is None:
        _refuse(place, None if value is None else f"must be nothing; it is {_shown(value)}")
    elif kind is Any:
        if is_record(value):
            check(value, type(value), sizes, place)
        elif value is not None and not isinstance(value, (str, bool, int, float)):
            _refuse(place, f"must be a record, a number or a word; it is {_shown(value)}")
    elif kind in _SCALARS:
        _refuse(place, _SCALARS[kind](value, sizes))
    elif not isinstance(value, kind):
        _refuse(place, f"must be a {kind.__name__}; it is {_shown(value)}")
    elif is_record(value):
        _check_record(value, sizes, place)


def is_record(value: Any) -> bool:
    """Whether a value is a NamedTuple or a dataclass of those that models are made of; estimators are not."""
    if isinstance(value, tuple):
        return hasattr(value, "_fields")
    return dataclasses.is_dataclass(value) and not hasattr(value, "get_params")


def _check_record(record: Any, sizes: Sizes, place: str) -> None:
    """All fields, then what they must be to each other, if the record tells."""
    cls: Any = type(record)
    for name, kind in field_kinds(cls).items():
        check(getattr(record, name), kind, sizes, f"{place}.{name}")
    if hasattr(record, "contradiction"):
        _refuse(place, record.contradiction())


@lru_cache(maxsize=256)
def field_kinds(cls: type) -> dict[str, Any]:
    """What the fields of a record are declared to hold, in their order."""
    hints = get_type_hints(cls, include_extras=True)
    fields = getattr(cls, "_fields", None) or [field.name for field in dataclasses.fields(cls)]
    return {name: hints[name] for name in fields}


def record_in(kind: Any) -> Any:
    """The NamedTuple that a field holds if it holds anything, or None."""
    kinds = [part for part in (kind, *get_args(kind)) if isinstance(part, type) and hasattr(part, "_fields")]
    return kinds[0] if kinds else None


def _check_one_of(value: Any, kinds: tuple[Any, ...], sizes: Sizes, place: str) -> None:
    """One kind or another; a record by its own."""
    if value is None and type(None) in kinds:
        return
    others = [kind for kind in kinds if kind is not type(None)]
    mine = [kind for kind in others if isinstance(kind, type) and isinstance(value, kind)] or others
    for i, kind in enumerate(mine):
        try:
            tried = dict(sizes)
            check(value, kind, tried, place)
            sizes.update(tried)
            return
        except MisfitError:
            if i == len(mine) - 1:
                raise


def _check_all(value: Any, origin: Any, inner: tuple[Any, ...], sizes: Sizes, place: str) -> None:
    """Lists, tuples and dicts, item by item."""
    if type(value) is not origin:
        _refuse(place, f"must be a {origin.__name__}; it is {_shown(value)}")
    if origin is dict:
        for key, item in value.items():
            check(key, inner[0], sizes, f"{place}: the key {key!r:.40}")
            check(item, inner[1], sizes, f"{place}[{key!r:.40}]")
        return
    repeated = origin is list or inner[-1] is Ellipsis
    if not repeated and len(value) != len(inner):
        _refuse(place, f"must have {len(inner)} items; it has {len(value)}")
    for i, item in enumerate(value):
        check(item, inner[0] if repeated else inner[i], sizes, f"{place}[{i}]")


def _refuse(place: str, complaint: str | None) -> None:
    """Raise, if there is something to complain about."""
    if complaint is not None:
        raise MisfitError(f"{place} {complaint}")


def _shown(value: Any) -> str:
    """A value in a message."""
    if value is None or isinstance(value, (bool, float, str)):
        return repr(value)[:60]
    return repr(value) if isinstance(value, int) and abs(value) < MOST else f"a {type(value).__name__}"


def _flag(value: Any, sizes: Sizes) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false; it is {_shown(value)}"


def _text(value: Any, sizes: Sizes) -> str | None:
    return None if isinstance(value, str) else f"must be a text; it is {_shown(value)}"


_SCALARS: dict[Any, Callable[[Any, Sizes], str | None]] = {
    bool: _flag,
    str: _text,
    int: Whole(-MOST),
    float: Number(),
}
