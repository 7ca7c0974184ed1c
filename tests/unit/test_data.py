"""Blocks, readers, checks, random numbers and held-out cells against dense arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from latentbits.data.block import DENSE_FROM, ListMarks, TileMarks, block_of_codes, merged
from latentbits.data.holdout import HiddenSource, held_out_rows, hidden_places
from latentbits.data.rng import cell_uniforms, row_uniforms, stream
from latentbits.data.source import cut, default_block_rows, open_source
from latentbits.data.summary import totals
from latentbits.errors import CellError, InputError

tables = hnp.arrays(
    np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.sampled_from([0, 0, 0, 1, 1, 2])
)


@settings(deadline=None)
@given(tables, st.integers(1, 4), st.randoms())
def test_marks_are_a_matrix(codes, width, random):
    rng = np.random.default_rng(random.randrange(2**32))
    block = block_of_codes(5, codes)
    for marks, dense in ((block.ones, codes == 1), (block.unknown, codes == 2)):
        if marks is None:
            assert not dense.any()
            continue
        dense = dense.astype(float)
        right, left = rng.random((codes.shape[1], width)), rng.random((codes.shape[0], width))
        for layout in (marks, ListMarks(*marks.lists(), codes.shape[1]), TileMarks(marks.dense())):
            np.testing.assert_allclose(layout.dot(right), dense @ right, atol=1e-12)
            np.testing.assert_allclose(layout.t_dot(left), dense.T @ left, atol=1e-12)
            assert layout.n_marked == dense.sum()
            assert layout.row_counts().tolist() == dense.sum(axis=1).tolist()
            assert (layout.dense() == dense).all()
            rows = rng.integers(0, len(codes), 5)
            assert (layout.take(rows).dense() == dense[rows]).all()
    assert (block.codes() == codes).all()


@settings(deadline=None)
@given(tables)
def test_layout_follows_density_alone(codes):
    block = block_of_codes(0, codes)
    dense = (codes == 1).mean() > DENSE_FROM
    assert isinstance(block.ones, TileMarks if dense else ListMarks)
    values = np.where(codes == 2, np.nan, codes)
    rows, columns = np.nonzero(codes)
    sparse = sp.coo_array((values[rows, columns], (rows, columns)), shape=codes.shape)
    other = open_source(sparse).block(0)
    assert type(other.ones) is type(block.ones) and (other.codes() == codes).all()


@settings(deadline=None)
@given(tables, st.randoms())
def test_hide_and_at(codes, random):
    rng = np.random.default_rng(random.randrange(2**32))
    block = block_of_codes(0, codes)
    rows, columns = rng.integers(0, codes.shape[0], 6), rng.integers(0, codes.shape[1], 6)
    assert (block.at(rows, columns) == codes[rows, columns]).all()
    wanted = codes.copy()
    wanted[rows, columns] = 2
    assert (block.hide(rows, columns).codes() == wanted).all()


@settings(deadline=None)
@given(tables, st.booleans())
def test_merging_keeps_all_sums(codes, weighted):
    codes = np.tile(codes, (3, 1))
    weights = np.arange(1.0, len(codes) + 1) if weighted else None
    block = block_of_codes(0, codes, weights)
    small = merged(block)
    assert small.n_source_rows == len(codes)
    assert small.n_rows <= len(codes) // 3 or len(codes) < 6
    if small.origin is not None:
        assert (small.codes()[small.origin] == codes).all()
    for a, b in zip(totals(block), totals(small)):
        np.testing.assert_allclose(a, b)


def test_totals():
    source = open_source([[1, None, 0], [1, 1, 0], [None, None, None]], sample_weight=[2, 1, 0.5])
    sums = totals(source.block(0))
    assert sums.ones.tolist() == [3, 1, 0] and sums.observed.tolist() == [3, 1, 3]
    assert (sums.n_rows, sums.n_ones, sums.n_unknown, sums.n_blank_rows) == (3, 3, 4, 1)
    assert ((sums.marginals > 0) & (sums.marginals < 1)).all()


# --- cutting ----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**6), st.integers(1, 10**5))
def test_cut_covers_all_rows(n_rows, n_columns):
    starts = cut(n_rows, None, (n_rows, n_columns))
    sizes = np.diff(starts)
    assert starts[0] == 0 and starts[-1] == n_rows and (sizes > 0).all()
    assert sizes.max() - sizes.min() <= 1 and sizes.max() <= default_block_rows((n_rows, n_columns))
    assert np.diff(cut(n_rows, 7, (n_rows, 3)))[:-1].tolist() == [7] * ((n_rows - 1) // 7)


@pytest.mark.parametrize("bad", [0, -3, 2.5, True, "many"])
def test_bad_block_rows(bad):
    with pytest.raises(InputError, match="block_rows"):
        open_source([[0, 1]], block_rows=bad)


# --- checks -----------------------------------------------------------------------------------------------------------


def test_first_bad_cell_is_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"sex": [0, 1, 1], "age": [1, 37, 5], "name": ["0", "1", "x"]}, index=["ann", "bob", "eve"])
    with pytest.raises(CellError) as caught:
        open_source(frame, owner="Model")
    text = str(caught.value)
    assert text.startswith("Model: cell (row 'bob', column 'age') is 37") and "3 such cells in 2 columns" in text
    with pytest.raises(CellError, match=r"row 'bob', column 'age'\) is 37; .*2 such cells in 1 column"):
        open_source(frame[["sex", "age"]], owner="Model")


@pytest.mark.parametrize(
    ("value", "hint"),
    [(-1, "-1/1"), (2, "1/2"), (np.inf, "Infinite"), (0.5, "binarize"), ("yes", "--label"), (3, "binarize")],
)
def test_remedies_fit_the_value(value, hint):
    with pytest.raises(CellError, match=hint):
        open_source(np.array([[0, 1], [1, value]], dtype=object))


def test_bad_cells_in_lazy_and_sparse_tables_are_counted(tmp_path):
    table = np.zeros((100, 4))
    table[60:, 2] = 9
    np.save(tmp_path / "t.npy", table)
    source = open_source(tmp_path / "t.npy", block_rows=20)
    with pytest.raises(CellError, match=r"row 60, column 2\) is 9.0; .*40 such cells"):
        source.block(4)
    with pytest.raises(CellError, match=r"row 60, column 2\) is 9.0; .*40 such cells"):
        open_source(sp.coo_array(table), block_rows=20)


def test_binarize():
    values = np.array([[0.2, 3.0], [np.nan, -1.0]])
    assert open_source(values, binarize=0.5).block(0).codes().tolist() == [[0, 1], [2, 0]]
    with pytest.raises(CellError, match="Infinite"):
        open_source([[np.inf, 0.0]], binarize=0.5)
    with pytest.raises(InputError, match="absent cell"):
        open_source(sp.csr_array(np.eye(2)), binarize=-1.0)
    with pytest.raises(InputError, match="binarize must be a number"):
        open_source(values, binarize="half")


def test_sparse_duplicates_are_summed_and_zeros_dropped():
    doubled = sp.coo_array(([1, 1, 0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    with pytest.raises(CellError, match="is 2"):
        open_source(doubled)
    stored_zero = sp.csr_array((np.array([0.0, 1.0]), [0, 1], [0, 2, 2]), shape=(2, 2))
    assert open_source(stored_zero).block(0).codes().tolist() == [[0, 1], [0, 0]]
    assert stored_zero.nnz == 2
    twice = sp.coo_array(([True, True], ([0, 0], [1, 1])), shape=(1, 2))
    assert open_source(twice).block(0).codes().tolist() == [[0, 1]]


def test_pandas_sparse_frames_stay_sparse():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame.sparse.from_spmatrix(
        sp.csr_matrix(np.random.default_rng(0).random((30, 8)) < 0.1, dtype=float)
    )
    assert (open_source(frame).block(0).codes() == frame.to_numpy()).all()


# --- random numbers and held-out cells --------------------------------------------------------------------------------


@given(st.integers(0, 50), st.integers(1, 50), st.integers(1, 9), st.integers(0, 2**31))
def test_row_uniforms_have_addresses(start, n_rows, width, seed):
    whole = row_uniforms(seed, "rows", 0, 100, width, 3)
    assert (row_uniforms(seed, "rows", start, n_rows, width, 3) == whole[start : start + n_rows]).all()
    assert (row_uniforms(seed, "rows", 0, 5, width, 4) != whole[:5]).any()


@given(st.lists(st.integers(0, 40), min_size=1, max_size=20), st.integers(0, 20))
def test_cell_uniforms_have_addresses(counts, split):
    counts = np.array(counts)
    split = min(split, len(counts))
    whole = cell_uniforms(1, "fill", 0, counts)
    parts = [cell_uniforms(1, "fill", 0, counts[:split]), cell_uniforms(1, "fill", split, counts[split:])]
    assert (np.concatenate(parts) == whole).all() and len(np.unique(whole)) == len(whole)


def test_streams_differ():
    assert stream(0, "start", 1).random() != stream(0, "start", 2).random()
    assert stream(0, "start", 1).random() != stream(0, "sample", 1).random()


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 60), st.floats(0.02, 0.9), st.integers(1, 30))
def test_hidden_cells_do_not_depend_on_blocks(n_columns, share, block_rows):
    whole = set(zip(*[part.tolist() for part in hidden_places(0, 30, n_columns, share, 7)]))
    cut_up = set()
    for low in range(0, 30, block_rows):
        rows, columns = hidden_places(low, min(block_rows, 30 - low), n_columns, share, 7)
        cut_up |= set(zip((rows + low).tolist(), columns.tolist()))
    assert whole == cut_up


def test_hidden_share_is_right_and_uniform():
    rows, columns = hidden_places(0, 2000, 50, 0.1, 0)
    assert len(rows) / 100_000 == pytest.approx(0.1, abs=0.005)
    counts = np.bincount(columns, minlength=50)
    assert ((counts - 200) ** 2 / 200 / 0.9).sum() < 90  # chi-square, 50 degrees, p about 0.0005
    assert len(set(zip(rows.tolist(), columns.tolist()))) == len(rows)


def test_hidden_source_hides_known_cells_only():
    rng = np.random.default_rng(0)
    table = np.where(rng.random((200, 9)) < 0.2, np.nan, rng.random((200, 9)) < 0.3)
    source = open_source(table, block_rows=33)
    hidden = HiddenSource(source, 0.2, seed=1)
    for b in range(hidden.n_blocks):
        cells = hidden.hidden(b)
        rows = cells.rows + source.starts[b]
        assert (table[rows, cells.columns] == cells.values).all()
        codes = hidden.block(b).codes()
        assert (codes[cells.rows, cells.columns] == 2).all()
        before = np.isnan(table[source.starts[b] : source.starts[b + 1]]).sum()
        assert (codes == 2).sum() == before + len(cells.rows)


def test_held_out_rows():
    held = held_out_rows(5000, 0.3, seed=2)
    assert held.mean() == pytest.approx(0.3, abs=0.03)
    assert (held_out_rows(100, 0.3, seed=2) == held[:100]).all()
    assert (held_out_rows(100, 0.3, seed=2, fold=1) != held[:100]).any()
