"""Statistics of blocks: NamedTuples that add, summed by a tree whose shape depends on block numbers alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..declared import MisfitError, field_kinds, record_in


class Lowest(NamedTuple):
    """The lowest score met, with what came along; 'adding' keeps the lower one, ties the earlier row."""

    score: float
    row: int
    payload: Any

    def merge(self, other: Lowest) -> Lowest:
        """The lower of the two."""
        return self if (self.score, self.row) <= (other.score, other.row) else other


def add(a: Any, b: Any) -> Any:
    """Sum of two statistics: numbers and arrays add, NamedTuples add by field, others by their ``merge``."""
    if a is None or b is None:
        return a if b is None else b
    if hasattr(a, "merge"):
        return a.merge(b)
    if isinstance(a, tuple):
        summed = [add(x, y) for x, y in zip(a, b)]
        return type(a)(*summed) if hasattr(a, "_fields") else tuple(summed)
    return a + b


def scale(a: Any, factor: float) -> Any:
    """A statistic times a number, for running averages."""
    if a is None:
        return None
    if isinstance(a, tuple):
        scaled = [scale(x, factor) for x in a]
        return type(a)(*scaled) if hasattr(a, "_fields") else tuple(scaled)
    return a * factor


def widened(value: Any) -> Any:
    """The same in nested tuples with arrays of float32 in float64."""
    if isinstance(value, tuple):
        items = [widened(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    is_single = isinstance(value, np.ndarray) and value.dtype == np.float32
    return value.astype(np.float64) if is_single else value


class TreeSum:
    """Sums numbered items in a fixed binary tree, whatever the order in which they arrive.

    Neighbours are added as soon as both are there, so few partial sums are held at a time.

    Examples
    --------
    >>> tree = TreeSum(3)
    >>> for number in (2, 0, 1):
    ...     tree.put(number, 10.0 ** number)
    >>> tree.total()
    111.0
    """

    def __init__(self, n_items: int) -> None:
        self.sizes = [n_items]
        while self.sizes[-1] > 1:
            self.sizes.append((self.sizes[-1] + 1) // 2)
        self.waiting: dict[tuple[int, int], Any] = {}

    def put(self, number: int, item: Any) -> None:
        """Take in item ``number``."""
        level = 0
        while level < len(self.sizes) - 1:
            sibling = number ^ 1
            if sibling < self.sizes[level]:
                other = self.waiting.pop((level, sibling), self)
                if other is self:
                    break
                item = add(other, item) if sibling < number else add(item, other)
            level, number = level + 1, number // 2
        self.waiting[level, number] = item

    def total(self) -> Any:
        """The sum of all items."""
        return self.waiting[len(self.sizes) - 1, 0]


def flatten(value: Any, name: str = "") -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of nested tuples by dotted name; the inverse is :func:`unflatten`."""
    if value is None:
        return {}
    if isinstance(value, tuple):
        out: dict[str, np.ndarray[Any, Any]] = {}
        for i, item in enumerate(value):
            out.update(flatten(item, f"{name}.{i}"))
        return out
    return {name: np.asarray(value)}


def shape_of(value: Any) -> Any:
    """The nesting of a value, as JSON can hold it: None, list of nestings, or "a" (array) / "s" (scalar)."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return [shape_of(item) for item in value]
    return "a" if isinstance(value, np.ndarray) else "s"


def unflatten(shape: Any, arrays: dict[str, np.ndarray[Any, Any]], like: Any = None, name: str = "") -> Any:
    """Nested tuples of :func:`flatten`ed arrays; ``like`` is the NamedTuple type of the outermost tuple.

    NamedTuples that its fields declare come back as such.  What cannot be is refused with a
    :class:`~latentbits.declared.MisfitError`.
    """
    if shape is None:
        return None
    if isinstance(shape, list):
        kinds = [] if like is None else list(field_kinds(like).values())
        if like is not None and len(kinds) != len(shape):
            raise MisfitError(f"{name} must have the {len(kinds)} fields of {like.__name__}; it has {len(shape)}")
        inner = [record_in(kind) for kind in kinds] or [None] * len(shape)
        items = [unflatten(item, arrays, inner[i], f"{name}.{i}") for i, item in enumerate(shape)]
        return like(*items) if like is not None else tuple(items)
    if shape not in ("a", "s") or name not in arrays or (shape == "s" and arrays[name].size != 1):
        raise MisfitError(f"{name} has no array of its own in the file")
    return arrays[name] if shape == "a" else arrays[name].item()
