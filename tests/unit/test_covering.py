"""Every pair of choices occurs, in few cases, the same ones every time."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latentbits.testing import cover


def all_pairs(factors):
    return {
        ((a, i), (b, j))
        for a, b in combinations(factors, 2)
        for i, j in product(range(len(factors[a])), range(len(factors[b])))
    }


def met(factors, cases):
    return {((a, case[a]), (b, case[b])) for case in cases for a, b in combinations(factors, 2)}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=2, max_size=5))
def test_every_pair_is_covered(sizes):
    factors = {f"f{i}": range(size) for i, size in enumerate(sizes)}
    cases = cover(factors)
    assert met(factors, cases) == all_pairs(factors)
    largest, second = sorted(sizes)[:-3:-1]
    # Never fewer than the two largest factors need, seldom many more, never as many as all combinations.
    assert largest * second <= len(cases) <= largest * second + 4 * len(sizes) * second
    assert cases == cover(factors)


def test_far_fewer_than_all_combinations():
    factors = {"family": range(30), "kind": range(7), "layout": range(2), "option": range(3)}
    cases = cover(factors)
    assert met(factors, cases) == all_pairs(factors) and 210 <= len(cases) < 240 < 30 * 7 * 2 * 3


def test_given_cases_are_kept():
    factors = {"a": "xyz", "b": "12", "c": "+-"}
    cases = cover(factors, [{"a": 2, "b": 1, "c": 0}])
    assert cases[0] == {"a": 2, "b": 1, "c": 0} and met(factors, cases) == all_pairs(factors)


@pytest.mark.parametrize("factors", [{}, {"a": "xyz"}])
def test_nothing_to_pair(factors):
    assert cover(factors) == []
