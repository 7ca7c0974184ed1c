"""The same table in every container."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Container = Callable[[np.ndarray, Path], Any]  # (float table with NaN, scratch folder) -> container


def _names(table: np.ndarray) -> list[str]:
    return [f"c{j}" for j in range(table.shape[1])]


def _is_binary(table: np.ndarray) -> bool:
    """Whether the cells are 0, 1 and unknown."""
    return bool(np.isin(table[~np.isnan(table)], (0, 1)).all())


def _plain(value: float) -> Any:
    """A cell as a whole number if it is one."""
    return int(value) if value == int(value) else float(value)


def _integers(table: np.ndarray) -> np.ma.MaskedArray:
    blank = np.isnan(table)
    cells = np.where(blank, 0, table)
    return np.ma.MaskedArray(cells.astype(np.int8) if _is_binary(table) else cells, mask=blank)


def _sparse(form: str, array: bool) -> Container:
    """A sparse container: stored ones and stored NaN, nothing else."""

    def make(table: np.ndarray, folder: Path) -> Any:
        rows, columns = np.nonzero(np.isnan(table) | (table != 0))
        kind = sp.coo_array if array else sp.coo_matrix
        made = kind((table[rows, columns], (rows, columns)), shape=table.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # DIA with many diagonals, on purpose
            return made.asformat(form)

    return make


def _pandas(table: np.ndarray, folder: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(table, columns=_names(table))


def _pandas_nullable(table: np.ndarray, folder: Path) -> Any:
    frame = _pandas(table, folder).astype("Float64")
    return frame.astype("boolean") if _is_binary(table) else frame


def _polars(table: np.ndarray, folder: Path) -> Any:
    import polars as pl

    kind = bool if _is_binary(table) else float
    return pl.DataFrame(
        {name: [None if v != v else kind(v) for v in column] for name, column in zip(_names(table), table.T)}
    )


def _arrow(table: np.ndarray, folder: Path) -> Any:
    return _polars(table, folder).to_arrow()


def _memmap(table: np.ndarray, folder: Path) -> Any:
    path = folder / "table.npy"
    np.save(path, table)
    return np.load(path, mmap_mode="r")


def _csv(table: np.ndarray, folder: Path) -> Any:
    path = folder / "table.csv"
    lines = [",".join("" if v != v else repr(_plain(v)) for v in row) for row in table]
    path.write_text("\n".join([",".join(_names(table)), *lines]) + "\n")
    return path


def _tsv_gz(table: np.ndarray, folder: Path) -> Any:
    import gzip

    path = folder / "table.tsv.gz"
    binary = _is_binary(table)
    words = [["?" if v != v else "ny"[int(v)] if binary else repr(_plain(v)) for v in row] for row in table]
    lines = ["\t".join(row) for row in words]
    path.write_bytes(gzip.compress("\n".join(["\t".join(_names(table)), *lines]).encode()))
    return path


def _parquet(table: np.ndarray, folder: Path) -> Any:
    import pyarrow.parquet as pq

    path = folder / "table.parquet"
    pq.write_table(_arrow(table, folder), path, row_group_size=23)
    return path


def _parquet_folder(table: np.ndarray, folder: Path) -> Any:
    import pyarrow.parquet as pq

    path = folder / "parts"
    path.mkdir(exist_ok=True)
    whole = _arrow(table, folder)
    for part, low in enumerate(range(0, len(table), 50)):
        pq.write_table(whole.slice(low, 50), path / f"part{part}.parquet", row_group_size=17)
    return path


def _npz_dense(table: np.ndarray, folder: Path) -> Any:
    path = folder / "dense.npz"
    np.savez(path, X=table)
    return path


def _npz_sparse(table: np.ndarray, folder: Path) -> Any:
    path = folder / "sparse.npz"
    sp.save_npz(path, _sparse("csr", False)(table, folder))
    return path


def _npz_parts(table: np.ndarray, folder: Path) -> Any:
    path = folder / "parts.npz"
    csr = _sparse("csr", False)(table, folder)
    np.savez(path, data=csr.data, indices=csr.indices, indptr=csr.indptr, shape=csr.shape)
    return path


def _mtx(table: np.ndarray, folder: Path) -> Any:
    from scipy.io import mmwrite

    path = folder / "table.mtx"
    mmwrite(path, _sparse("coo", False)(table, folder))
    return path


def _triples(table: np.ndarray, folder: Path) -> Any:
    path = folder / "table.triples"
    # Every row and column is named once in order, so that both keep their places.
    places = [(i, j) for i, j in np.ndindex(*table.shape) if i == 0 or j == 0 or table[i, j] != 0]
    lines = [f"r{i},c{j},{'' if table[i, j] != table[i, j] else repr(_plain(float(table[i, j])))}" for i, j in places]
    path.write_text("row,column,value\n" + "\n".join(lines) + "\n")
    return path


def _dask_array(table: np.ndarray, folder: Path) -> Any:
    import dask.array as da

    return da.from_array(table, chunks=(37, 5))


def _dask_frame(table: np.ndarray, folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(_pandas(table, folder), npartitions=3)


CONTAINERS: dict[str, Container] = {
    "numpy float": lambda table, folder: table,
    "numpy fortran": lambda table, folder: np.asfortranarray(table),
    "list": lambda table, folder: [[None if v != v else _plain(v) for v in row] for row in table],
    "object array": lambda table, folder: np.array([[None if v != v else v for v in row] for row in table], object),
    "masked integers": lambda table, folder: _integers(table),
    **{f"sparse matrix {form}": _sparse(form, False) for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
    **{f"sparse array {form}": _sparse(form, True) for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")},
    "pandas": _pandas,
    "pandas nullable": _pandas_nullable,
    "polars": _polars,
    "arrow": _arrow,
    "memmap": _memmap,
    "csv": _csv,
    "tsv.gz": _tsv_gz,
    "parquet": _parquet,
    "parquet folder": _parquet_folder,
    "npz dense": _npz_dense,
    "npz sparse": _npz_sparse,
    "npz parts": _npz_parts,
    "mtx": _mtx,
    "triples": _triples,
    "dask array": _dask_array,
    "dask frame": _dask_frame,
}

# Containers of a kind are read by much the same code.
KINDS: dict[str, tuple[str, ...]] = {
    "arrays": ("numpy float", "numpy fortran", "list", "object array", "masked integers", "memmap"),
    "sparse matrices": tuple(name for name in CONTAINERS if name.startswith("sparse matrix")),
    "sparse arrays": tuple(name for name in CONTAINERS if name.startswith("sparse array")),
    "frames": ("pandas", "pandas nullable", "polars", "arrow"),
    "text files": ("csv", "tsv.gz", "triples", "mtx"),
    "binary files": ("parquet", "parquet folder", "npz dense", "npz sparse", "npz parts"),
    "dask": ("dask array", "dask frame"),
}
