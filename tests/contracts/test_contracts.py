"""Every family keeps every contract, from every container."""

from __future__ import annotations

import pytest

from latentbits.testing import CONTAINERS, CONTRACTS
from latentbits.testing.contracts import container_does_not_matter

from .families import FAMILIES


def present(container):
    """The container, skipping the test where its package is not installed."""

    def make(table, folder):
        try:
            return container(table, folder)
        except ImportError as missing:
            pytest.skip(str(missing))

    return make


families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


@families
@pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS.keys())
def test_contract(family, contract, tmp_path):
    contract(family, tmp_path)


# Containers are read alike for all variants of a family: for these some of every kind are enough.
SOME = ("list", "masked integers", "sparse array csr", "pandas nullable", "csv", "parquet")
PAIRS = [(family, name) for family in FAMILIES for name in CONTAINERS if "," not in family.name or name in SOME]


@pytest.mark.parametrize(("family", "name"), PAIRS, ids=[f"{family.name}-{name}" for family, name in PAIRS])
def test_container(family, name, tmp_path):
    container_does_not_matter(family, tmp_path, present(CONTAINERS[name]))


@families
@pytest.mark.parametrize("name", ["sparse array csc", "csv", "parquet", "dask array", "memmap"])
def test_container_sparse_tables(family, name, tmp_path):
    """A table sparse enough for index lists, with the default blocks."""
    import numpy as np

    from latentbits.testing.contracts import assert_same_bits

    table = (np.random.default_rng(0).random((300, 40)) < 0.05).astype(float)
    if not family.values:
        table[3, 5] = np.nan
    straight = family.fit(table)
    assert_same_bits(straight, family.fit(present(CONTAINERS[name])(table, tmp_path)))
