"""Few cases in which every pair of choices occurs, instead of all combinations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Pair = frozenset[tuple[str, int]]


def pairs_of(case: Mapping[str, int]) -> set[Pair]:
    """The pairs of choices that a case meets, by their places."""
    return {frozenset(pair) for pair in combinations(case.items(), 2)}


def cover(factors: Mapping[str, Sequence[Any]], given: Iterable[Mapping[str, int]] = ()) -> list[dict[str, int]]:
    """Cases, as places in the factors, such that every two choices of two factors meet in one of them.

    Greedy and the same every time: a case starts from the first pair that is left and takes of every other factor the choice
    that meets most pairs that are left, of equally good ones the one used least.

    Parameters
    ----------
    factors : mapping
        From the name of a factor to its choices.
    given : cases, optional
        Taken as they are, before others are added.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> len(cover({"a": "xyz", "b": "12", "c": "+-"}))
    6
    """
    cases = [dict(case) for case in given]
    left = {
        frozenset([(a, i), (b, j)]): None
        for a, b in combinations(factors, 2)
        for i, j in product(range(len(factors[a])), range(len(factors[b])))
    }
    used: Counter[tuple[str, int]] = Counter()
    for case in cases:
        used.update(case.items())
        for pair in pairs_of(case):
            left.pop(pair, None)
    while left:
        case = dict(next(iter(left)))
        for name, choices in factors.items():
            if name not in case:
                gains = [
                    (sum(frozenset([met, (name, i)]) in left for met in case.items()), -used[name, i], -i)
                    for i in range(len(choices))
                ]
                case[name] = -max(gains)[2]
        cases.append({name: case[name] for name in factors})
        used.update(cases[-1].items())
        for pair in pairs_of(case):
            left.pop(pair, None)
    return cases
