"""A table is answered by a table of its kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits.datasets import make_mixture
from latentbits.errors import CellError, InputError, TableWarning

TABLE = make_mixture(60, 5, 2, unknown=0.2, random_state=0).data
NAMES = list("abcde")


@pytest.fixture(scope="module")
def model():
    pd = pytest.importorskip("pandas")
    return latentbits.BernoulliMixture(2, n_init=1, random_state=0).fit(pd.DataFrame(TABLE, columns=NAMES))


def test_pandas_keeps_index_and_columns(model):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(TABLE, columns=pd.Index(NAMES, name="item"), index=[f"r{i}" for i in range(60)])
    for found in (model.impute(X), model.reconstruct(X)):
        assert list(found.index) == list(X.index) and found.columns.name == "item" and list(found.columns) == NAMES
    numbers = pd.DataFrame(TABLE)
    bare = latentbits.BernoulliMixture(2, n_init=1, random_state=0).fit(numbers)
    assert list(bare.impute(numbers).columns) == [0, 1, 2, 3, 4]


def test_sparse_frames_stay_sparse(model):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame.sparse.from_spmatrix(sp.csr_array(TABLE), columns=NAMES)
    found = model.impute(X)
    assert all(isinstance(kind, pd.SparseDtype) for kind in found.dtypes)
    np.testing.assert_allclose(found.to_numpy(), model.impute(pd.DataFrame(TABLE, columns=NAMES)).to_numpy())


def test_frames_of_polars_and_tables_of_duckdb(model):
    pl, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    cells = pa.table({name: pa.array(column, from_pandas=True) for name, column in zip(NAMES, TABLE.T)})
    expected = model.impute(TABLE)
    for given, kind in (
        (pl.from_arrow(cells), pl.DataFrame),
        (pl.from_arrow(cells).lazy(), pl.LazyFrame),
        (duckdb.sql("select * from cells"), pa.Table),
    ):
        found = model.impute(given)
        assert isinstance(found, kind)
        np.testing.assert_allclose(
            np.array(pl.from_arrow(found) if kind is pa.Table else found.lazy().collect()), expected
        )


def test_record_batches(model):
    pa = pytest.importorskip("pyarrow")
    batch = pa.RecordBatch.from_arrays([pa.array(column, from_pandas=True) for column in TABLE.T], names=NAMES)
    found = model.impute(batch, how="mode")
    assert isinstance(found, pa.RecordBatch) and found.schema.names == NAMES
    assert {str(kind) for kind in found.schema.types} == {"double"}


def counted(table, calls):
    """A Dask array of two chunks that notes when they are made."""
    da = pytest.importorskip("dask.array")

    def made(block):
        calls.append(len(block))
        return block

    return da.from_array(table, chunks=(35, 5)).map_blocks(made, dtype=float, meta=np.empty((0, 0)))


@pytest.mark.parametrize("how", ["probability", "sample"])
def test_dask_waits(model, how):
    """Nothing is computed before it is asked for, and then only what was asked for."""
    calls: list[int] = []
    wanted = model.set_params(block_rows=11).impute(TABLE, how=how, random_state=3)
    found = model.impute(counted(TABLE, calls), how=how, random_state=3)
    assert found.shape == (60, 5) and found.chunks[0] == (35, 25) and not calls
    np.testing.assert_allclose(found[:4].compute(), wanted[:4], atol=1e-12)
    assert calls == [35]
    np.testing.assert_allclose(found.compute(), wanted, atol=1e-12)
    calls.clear()
    assert model.reconstruct(counted(TABLE, calls)).shape == (60, 5) and not calls


def some_rows(frame):
    """A frame without the rows of its second quarter, and a few more."""
    return frame[(frame.index < 115) | (frame.index > 131)]


def test_dask_frames_of_unknown_length(model):
    """Rows have their place in the whole table, empty partitions are nothing special, and divisions are kept."""
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    frame = pd.DataFrame(TABLE, columns=NAMES, index=range(100, 160))
    made = dd.from_pandas(frame, npartitions=4)
    made = made.map_partitions(some_rows, meta=made._meta)
    kept = some_rows(frame)
    found = model.impute(made, how="sample", random_state=3)
    assert found.npartitions == 4 and found.divisions == made.divisions
    pd.testing.assert_frame_equal(found.compute(), model.impute(kept, how="sample", random_state=3))


def test_dask_arrays_of_unknown_length_and_sparse_chunks(model):
    da = pytest.importorskip("dask.array")
    made = da.from_array(TABLE, chunks=(35, 2))
    made = made[da.from_array(np.arange(60) != 7, chunks=35)]
    wanted = model.impute(np.delete(TABLE, 7, axis=0), how="sample", random_state=3)
    np.testing.assert_array_equal(model.impute(made, how="sample", random_state=3).compute(), wanted)
    chunks = da.from_array(TABLE, chunks=(35, 5)).map_blocks(sp.csr_array, dtype=float, meta=sp.csr_array((0, 0)))
    found = model.impute(chunks)
    assert sp.issparse(found.blocks[1].compute())
    cells = sp.vstack(
        [found.blocks[b].compute() for b in range(2)]
    ).toarray()  # early releases do not put them together
    np.testing.assert_allclose(cells, model.impute(TABLE), atol=1e-12)


def test_dask_tables_that_do_not_fit(model):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    import pandas as pd

    with pytest.raises(InputError, match="transpose"):
        model.impute(da.from_array(TABLE.T, chunks=(5, 60)))
    with pytest.raises(InputError, match="Expected 2D"):
        model.impute(da.ones(4))
    with pytest.raises(InputError, match="yet now missing:\n- e"):
        model.impute(dd.from_pandas(pd.DataFrame(np.zeros((4, 4)), columns=NAMES[:4]), npartitions=1))
    with pytest.warns(TableWarning, match="'f'"):
        found = model.impute(dd.from_pandas(pd.DataFrame(np.zeros((4, 6)), columns=["f", *NAMES[::-1]]), npartitions=1))
    assert list(found.compute().columns) == NAMES
    bad = TABLE.copy()
    bad[45, 2] = 7
    recipe = model.impute(da.from_array(bad, chunks=(25, 5)))
    with pytest.raises(CellError, match=r"row 45, column 'c'.* is 7"):
        recipe.compute()
