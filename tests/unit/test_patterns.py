"""Row patterns: counted once for the whole table, without loss, within memory, and with the same fits."""

from __future__ import annotations

import errno
import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latentbits import AspectBernoulli, BernoulliMixture
from latentbits.data import open_source, patterns
from latentbits.data.block import block_of_codes
from latentbits.data.checks import BadCells, Labels
from latentbits.data.summary import totals
from latentbits.errors import StoreWarning
from latentbits.families import FAMILIES

# Fits of a few passes do not settle.
pytestmark = pytest.mark.filterwarnings("ignore::latentbits.errors.NotConvergedWarning")
FITTED = [
    family for family in FAMILIES if family.search is not None and family.name not in ("bayesian", "dp", "boltzmann")
]


@pytest.fixture(autouse=True)
def of_any_length(monkeypatch):
    """Patterns of short tables, too."""
    monkeypatch.setattr(patterns, "LEAST_ROWS", 0)


def cells(n_rows, n_columns, seed=0, unknown=0.05):
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([0, 1, 2], np.uint8), (n_rows, n_columns), p=[0.7 - unknown, 0.3, unknown])


def repeated(n_rows, n_columns, n_patterns, seed=0, unknown=0.05):
    """Rows drawn from a few patterns, most of them frequent, as numbers with NaN."""
    rng = np.random.default_rng(seed)
    few = cells(n_patterns, n_columns, seed, unknown)
    codes = few[rng.integers(0, n_patterns, n_rows)]
    return np.where(codes == 2, np.nan, codes.astype(float))


def counted(codes):
    """Distinct rows with their numbers, by the plain definition."""
    rows, numbers = np.unique(codes, axis=0, return_counts=True)
    return {row.tobytes(): int(n) for row, n in zip(rows, numbers)}


def told(source):
    """The same from a source of patterns."""
    out = {}
    for b in range(source.n_blocks):
        block = source.block(b)
        out |= {row.tobytes(): int(n) for row, n in zip(block.codes(), block.repeats)}
    return out


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.sampled_from([1, 7, 63, 64, 65, 128]), st.sampled_from([0.0, 0.3]), st.integers(0, 99))
def test_words_hold_every_cell(n_rows, n_columns, unknown, seed):
    codes = cells(n_rows, n_columns, seed, unknown)
    words = patterns.words_of(block_of_codes(0, codes))
    found = patterns.Patterns(words, np.ones(n_rows), np.ones(n_rows, np.int64))
    reader = patterns.PatternReader(found, n_columns, Labels(None), False)
    lists = reader.read(0, n_rows, BadCells())
    back = np.zeros_like(codes)
    back[np.repeat(np.arange(n_rows), np.diff(lists.indptr)), lists.indices] = 1
    back[np.repeat(np.arange(n_rows), np.diff(lists.unknown_indptr)), lists.unknown_indices] = 2
    assert np.array_equal(back, codes)


@pytest.mark.parametrize("n_columns", [3, 12, 70])
def test_patterns_and_their_numbers_are_those_of_the_table(n_columns):
    X = repeated(3000, n_columns, 200, seed=1)
    source = open_source(X, block_rows=400)
    found = patterns.patterned(source)
    codes = np.where(np.isnan(X), 2, X).astype(np.uint8)
    assert told(found) == counted(codes)
    assert found.n_table_rows == 3000 and found.shape[0] == len(counted(codes))


def test_patterns_that_memory_has_no_room_for_come_out_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("LATENTBITS_SPILL", str(tmp_path))
    X = repeated(40_000, 13, 9000, seed=2)
    source = open_source(X, block_rows=1000)
    here = patterns.counted_patterns(source)
    assert not here.spilled
    whole = next(here.result())
    monkeypatch.setattr(patterns, "memory_budget", lambda: 4 * 2**17)
    there = patterns.counted_patterns(source)
    assert there.spilled and any(tmp_path.iterdir())
    assert there.keys.nbytes + there.totals.nbytes + there.numbers.nbytes <= 2**17
    found = patterns._on_disk(there)
    for a, b in zip(whole, found):
        assert np.array_equal(a, b)
    del there, found, a, b
    gc.collect()
    assert not any(tmp_path.iterdir())


def test_a_fit_to_spilled_patterns_has_the_same_bits(tmp_path, monkeypatch):
    X = repeated(20_000, 13, 5000, seed=2)
    model = BernoulliMixture(3, n_init=1, max_iter=5, random_state=0, block_rows=1000)
    first = model.fit(X).components_.copy()
    monkeypatch.setenv("LATENTBITS_SPILL", str(tmp_path))
    monkeypatch.setattr(patterns, "memory_budget", lambda: 4 * 2**17)
    assert np.array_equal(model.fit(X).components_, first)
    gc.collect()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("when", ["_spill", "result"])
def test_a_full_disk_costs_the_patterns_and_is_told(monkeypatch, tmp_path, when):
    monkeypatch.setenv("LATENTBITS_SPILL", str(tmp_path))
    X = repeated(20_000, 13, 5000, seed=2)
    model = BernoulliMixture(3, n_init=1, max_iter=3, random_state=0, block_rows=1000)

    def full(self, *held):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(patterns, "memory_budget", lambda: 4 * 2**17)
    monkeypatch.setattr(patterns.PatternTable, when, full)
    with pytest.warns(StoreWarning, match="No space left on device"):
        model.fit(X)
    gc.collect()
    assert not any(tmp_path.iterdir())


def test_a_table_without_equal_rows_is_given_up_early(monkeypatch):
    monkeypatch.setattr(patterns, "FIRST_LOOK", 1000)
    rng = np.random.default_rng(0)
    source = open_source((rng.random((20_000, 60)) < 0.5).astype(float), block_rows=500)
    asked = []
    read = source.block
    source.block = lambda b: asked.append(b) or read(b)
    assert patterns.counted_patterns(source) is None
    assert len(asked) == 2


def test_patterns_that_repeat_late_are_not_given_up(monkeypatch):
    """Few rows of a long table repeat each other; all of them do."""
    monkeypatch.setattr(patterns, "FIRST_LOOK", 1000)
    rng = np.random.default_rng(0)
    X = (rng.random((40_000, 13)) < 0.5).astype(float)  # 8,192 patterns: 94 % of the first thousand rows are new
    assert patterns.counted_patterns(open_source(X, block_rows=500)) is not None


@settings(max_examples=30, deadline=None)
@given(st.integers(10, 10**6), st.integers(1, 10**6), st.integers(2, 10**4))
def test_the_expected_number_of_patterns_inverts_what_equal_chances_give(n_seen, n_patterns, times):
    seen = -n_patterns * np.expm1(-n_seen / n_patterns)
    if seen < 2 or n_seen - seen < 1 or n_patterns - seen < 1e-6 * n_patterns:
        return
    expected = -n_patterns * np.expm1(-n_seen * times / n_patterns)
    assert patterns.expected_patterns(n_seen, seen, n_seen * times) == pytest.approx(expected, rel=1e-3)


def test_sums_of_the_table_do_not_change():
    X = repeated(2000, 9, 60, seed=3)
    X[::7] = np.nan
    X[1::7] = 0
    weights = np.random.default_rng(0).random(2000)
    source = open_source(X, block_rows=300, sample_weight=weights)
    found = patterns.patterned(source)
    plain, merged = ([totals(s.block(b)) for b in range(s.n_blocks)] for s in (source, found))
    for name in plain[0]._fields:
        a, b = (np.sum([getattr(part, name) for part in parts], axis=0) for parts in (plain, merged))
        assert np.allclose(a, b, rtol=1e-12), name


@pytest.mark.parametrize("family", FITTED, ids=lambda family: family.name)
def test_a_fit_is_that_of_the_patterns_with_their_numbers_as_weights(family):
    X = repeated(1200, 10, 40, seed=4)
    source = patterns.patterned(open_source(X, block_rows=300))
    rows = np.concatenate([source.block(b).codes() for b in range(source.n_blocks)])
    weights = np.concatenate([source.block(b).weights for b in range(source.n_blocks)])
    distinct = np.where(rows == 2, np.nan, rows.astype(float))
    few = {"max_iter": 4} if "max_iter" in family.estimator().get_params() else {"n_epochs": 3}
    size = (3, 3) if family.name == "gtm" else 2
    fits = []
    for table, given_weights in ((X, None), (distinct, weights)):
        model = family.estimator(size, random_state=0, block_rows=300, **few)
        fits.append(model.fit(table, sample_weight=given_weights))
    assert np.array_equal(fits[0].components_, fits[1].components_)
    assert fits[0].history_ == fits[1].history_


def test_a_fit_from_a_given_start_is_that_without_patterns(monkeypatch):
    X = repeated(3000, 10, 150, seed=5)
    start = np.random.default_rng(0).uniform(0.2, 0.8, (3, 10))
    model = BernoulliMixture(3, init=start, n_init=1, max_iter=30, tol=0.0, random_state=0, block_rows=500)
    counted_once = model.fit(X).components_.copy(), model.objective_
    monkeypatch.setattr(patterns, "MOST_COLUMNS", 0)
    model.fit(X)
    assert np.allclose(model.components_, counted_once[0], rtol=0, atol=1e-11)
    assert model.objective_ == pytest.approx(counted_once[1], rel=1e-12)


def test_memberships_that_are_given_keep_their_rows():
    X = repeated(600, 8, 20, seed=6, unknown=0.0)
    shares = np.random.default_rng(0).dirichlet(np.ones(2), 600)
    probs = np.random.default_rng(1).uniform(0.2, 0.8, (2, 8))
    model = AspectBernoulli(2, init=(shares, probs), max_iter=2, block_rows=200).fit(X)
    assert model._sums.n_rows == 600


def test_dask_counts_the_same_patterns():
    da = pytest.importorskip("dask.array")
    X = repeated(2000, 9, 60, seed=7)
    model = BernoulliMixture(3, n_init=1, max_iter=4, random_state=0, block_rows=300)
    here = model.fit(X).components_.copy()
    there = model.fit(da.from_array(X, chunks=(450, 9))).components_
    assert np.array_equal(here, there)


def test_answers_about_equal_rows_are_worked_out_once(monkeypatch):
    from latentbits.engine import ask

    X = repeated(1500, 9, 30, seed=8)
    model = AspectBernoulli(2, n_init=1, max_iter=10, random_state=0).fit(X)
    plain = model.transform(X), model.score_samples(X), model.fold_in_scores(X)
    monkeypatch.setattr(ask, "MANY_ROWS", 100)
    asked = []
    represent = type(model._model).represent

    def counting(self, block, precomputed):
        asked.append(block.n_rows)
        return represent(self, block, precomputed)

    monkeypatch.setattr(type(model._model), "represent", counting)
    again = model.transform(X), model.score_samples(X), model.fold_in_scores(X)
    assert asked == [len(counted(np.where(np.isnan(X), 2, X).astype(np.uint8)))]
    for a, b in zip(plain, again):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_several_starts_of_a_long_table_with_few_patterns():
    """So few that there is no sample on which starts could be compared: all of them run."""
    X = np.random.default_rng(0).integers(0, 2, (70_000, 8)).astype(np.uint8)
    model = BernoulliMixture(2, n_init=2, tol=1e-3, random_state=0).fit(X)
    assert len(model.restarts_) == 2 and all(row["n_iter"] > 0 for row in model.restarts_)
