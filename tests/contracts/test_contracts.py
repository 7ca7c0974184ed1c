"""Every family keeps every contract; families and containers meet pairwise, and in all combinations where it is slow."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import latentbits
from latentbits.data.block import ListMarks, TileMarks
from latentbits.data.source import open_source
from latentbits.errors import InputError
from latentbits.families import BY_CLASS
from latentbits.testing import CONTAINERS, CONTRACTS, KINDS, NotApplicable, cover
from latentbits.testing.contracts import container_does_not_matter

from .families import FAMILIES

THOROUGH = [replace(family, thorough=True) for family in FAMILIES]


def named(family):
    return family.name


def applied(contract, *arguments, **options):
    """Run a contract; one that says nothing about the family is a skip with its reason."""
    try:
        contract(*arguments, **options)
    except NotApplicable as reason:
        pytest.skip(str(reason))


def test_every_public_estimator_is_in_the_table():
    made = {type(family.make()).__name__ for family in FAMILIES}
    assert made == set(BY_CLASS) and made <= set(latentbits.__all__)
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


# Contracts of one family stand together, so that its fits are shared.
@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS.keys())
@pytest.mark.parametrize("family", FAMILIES, ids=named)
def test_contract(family, contract, tmp_path):
    applied(contract, family, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS.keys())
@pytest.mark.parametrize("family", THOROUGH, ids=named)
def test_contract_at_length(family, contract, tmp_path):
    """On larger tables, until the fits end, stopped at more places."""
    applied(contract, family, tmp_path)


# Ratings are read from what lies in memory; files go through the commands.
UNREAD_RATINGS = {*KINDS["text files"], *KINDS["binary files"]}
OPTIONS = {"default blocks": {}, "blocks": {"block_rows": 50}, "weights": {"block_rows": 50, "weighted": True}}


def is_sparse(name):
    return name.startswith("sparse")


def in_container(family, name):
    """How a table of the family gets into the container; the test is skipped where a package is not installed."""

    def make(table, folder):
        if family.kind == "ratings" and is_sparse(name):
            table = np.nan_to_num(table)  # what is not stored is not rated
        try:
            return CONTAINERS[name](table, folder)
        except ImportError as missing:
            pytest.skip(str(missing))

    return make


def check_container(family, name, layout, option, folder):
    options = dict(OPTIONS[option])
    if not family.weighted:
        options.pop("weighted", None)
    if not family.takes("block_rows"):
        options.pop("block_rows", None)
    make = in_container(family, name)
    if family.kind == "ratings" and name in UNREAD_RATINGS:
        with pytest.raises(InputError, match="ratings are three columns"):
            family.fit(make(family.table(), folder))
    else:
        container_does_not_matter(family, folder, make, layout, **options)


FACTORS = {"family": FAMILIES, "kind": list(KINDS), "layout": ["dense", "sparse"], "option": list(OPTIONS)}


def pairwise():
    """Every two of family, kind of container, layout and option meet; containers of a kind take turns."""
    turns = {}
    for case in cover(FACTORS):
        family, kind, layout, option = (FACTORS[name][place] for name, place in case.items())
        names = KINDS[kind]
        turn = turns[kind, layout] = turns.get((kind, layout), layout == "sparse") + 1
        yield family, names[turn % len(names)], layout, option


CASES = sorted(pairwise(), key=lambda case: FAMILIES.index(case[0]))


@pytest.mark.parametrize(
    ("family", "name", "layout", "option"), CASES, ids=["-".join([f.name, *rest]) for f, *rest in CASES]
)
def test_container(family, name, layout, option, tmp_path):
    check_container(family, name, layout, option, tmp_path)


def test_the_cases_meet_what_they_should():
    """Pairs of families and kinds, of containers and layouts and options; every container several families."""
    kind_of = {name: kind for kind, names in KINDS.items() for name in names}
    assert set(kind_of) == set(CONTAINERS)
    assert {(f.name, kind_of[name]) for f, name, _, _ in CASES} == {(f.name, k) for f in FAMILIES for k in KINDS}
    assert {(f.name, layout) for f, _, layout, _ in CASES} == {(f.name, x) for f in FAMILIES for x in FACTORS["layout"]}
    assert {(f.name, option) for f, _, _, option in CASES} == {(f.name, option) for f in FAMILIES for option in OPTIONS}
    assert {(name, layout) for _, name, layout, _ in CASES} == set(product(CONTAINERS, FACTORS["layout"]))
    for name in CONTAINERS:
        mine = [case for case in CASES if case[1] == name]
        assert len({case[0].name for case in mine}) >= 4, name
        assert {case[3] for case in mine} >= {"blocks", "weights"} or len({case[3] for case in mine}) >= 2, name
    for family in FAMILIES:
        assert len({case[1] for case in CASES if case[0] is family}) >= len(KINDS)


def test_the_layouts_are_what_they_are_called():
    for family in FAMILIES:
        if family.kind == "cells":
            dense, sparse = (open_source(t).block(0) for t in (family.table(), family.sparse_table()))
            assert isinstance(dense.ones, TileMarks) and isinstance(sparse.ones, ListMarks), family.name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", THOROUGH, ids=named)
def test_every_container(family, kind, tmp_path):
    """All combinations, on larger tables."""
    for name, layout in product(KINDS[kind], FACTORS["layout"]):
        folder = tmp_path / f"{name} {layout}"
        folder.mkdir()
        check_container(family, name, layout, "blocks" if layout == "dense" else "default blocks", folder)
