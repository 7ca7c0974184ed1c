"""Declarations of what files hold: what they let through and what they say otherwise."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

from latentbits import declared as of
from latentbits.families import FAMILIES


class Pair(NamedTuple):
    """Two arrays that belong together."""

    first: Annotated[Any, of.reals("K")]
    second: Annotated[Any, of.shares("K", "D+1")] | None

    def contradiction(self):
        """The first is never 7."""
        return "must not be 7" if 7 in self.first else None


NAN, INF = float("nan"), float("inf")
GOOD = [
    (3, int),
    (3, float),
    (True, bool),
    (None, int | None),
    ((1, 2.5), tuple[int, float]),
    ({"a": [1, None, {"b": "c"}]}, of.Plain),
    ([[1.0, NAN], []], list[list[of.AnyNumber]]),
    (np.array(["a", "b"]), Annotated[Any, of.names("*")]),
    (Pair(np.zeros(2), np.ones((2, 6))), Pair),
    (Pair(np.zeros(2), None), Any),
    (np.zeros((3, 1)), Annotated[Any, of.amounts("*", "1|D")]),
    (np.zeros((3, 5)), Annotated[Any, of.amounts("*", "1|D")]),
    (np.array([NAN]), Annotated[Any, of.reals("*", nan=True)]),
    (np.array([0.25, 0.75]), Annotated[Any, of.weights("*")]),
    (1.5, Annotated[Any, of.reals("K")] | float),
]
BAD = [
    (True, int, "whole number"),
    (True, float, "must be a number"),
    (1, bool, "true or false"),
    (10**400, int, "too large"),
    (10**400, float, "finite"),
    (NAN, float, "must be a number"),
    (INF, of.Amount, "finite"),
    (-1, of.Count, "from 0"),
    (0.0, of.Positive, "from 0"),
    ("a", Annotated[str, of.words("b", "c")], "'b', 'c'"),
    ([1], tuple[int, ...], "must be a tuple"),
    ((1, 2, 3), tuple[int, int], "2 items"),
    ({1: 2}, of.Plain, "words as keys"),
    ([object()], of.Plain, "a object"),
    (np.zeros(3), Any, "record"),
    (np.zeros((5, 3)), Annotated[Any, of.reals("*", "D")], r"\(\*, D=5\); it has \(5, 3\)"),
    (np.zeros(3, np.float32), Annotated[Any, of.reals("*")], "float32"),
    (np.array([1.0, INF]), Annotated[Any, of.reals("*")], "infinite"),
    (np.array([1.0, NAN]), Annotated[Any, of.amounts("*")], "NaN"),
    (np.array([0.5, 1.0]), Annotated[Any, of.chances("*")], "without these"),
    (np.array([0.5, 0.6]), Annotated[Any, of.weights("*")], "sum to 1"),
    (np.array([0, 5]), Annotated[Any, of.places("*", below="D")], "from 0 to 4"),
    (np.array(["a", 1], object), Annotated[Any, of.names("*")], "words only"),
    (Pair(np.zeros(2), np.ones((3, 6))), Pair, r"it\.second must have the shape"),
    (Pair(np.full(2, 7.0), None), Pair, "must not be 7"),
    ((1, 2), Pair, "must be a Pair"),
    (3, None, "nothing"),
]


@pytest.mark.parametrize("value, kind", GOOD, ids=range(len(GOOD)))
def test_what_was_declared_is_let_through(value, kind):
    of.check(value, kind, {"D": 5}, "it")


@pytest.mark.parametrize("value, kind, reason", BAD, ids=range(len(BAD)))
def test_what_was_not_declared_is_refused(value, kind, reason):
    with pytest.raises(of.MisfitError, match=reason) as caught:
        of.check(value, kind, {"D": 5}, "it")
    assert str(caught.value).startswith("it")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_every_array_of_a_file_is_declared(family):
    """A plain array type would let any shape through to compiled loops."""

    def bare(kind):
        return "ndarray" in str(kind) and not any(isinstance(rule, of.Array) for rule in rules(kind))

    def rules(kind):
        yield from getattr(kind, "__metadata__", ())
        for inner in getattr(kind, "__args__", ()):
            yield from rules(inner)

    cls = family.load()
    for record in cls.record_types.values():
        assert not [name for name, kind in of.field_kinds(record).items() if bare(kind)], record
    assert cls._fitted_types() and not [name for name in cls._fitted_types() if hasattr(cls, name)]
