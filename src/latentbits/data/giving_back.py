"""Answers of the shape of a table, as the kind of table that was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .readers import is_sparse_frame


def is_dask(X: Any) -> bool:
    """Whether a table is one of Dask's, whose answers wait until they are asked for."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def stays_sparse(X: Any) -> bool:
    """Whether most cells of a table are not stored: a sparse matrix, a frame of sparse columns, or Dask's tables of these."""
    kind = getattr(X, "_meta", X) if is_dask(X) else X
    frame = type(kind).__module__.partition(".")[0] == "pandas" and hasattr(kind, "columns")
    return sp.issparse(kind) or (frame and is_sparse_frame(kind))


def stacked(parts: list[Any]) -> Any:
    """Answers about consecutive rows as one matrix, sparse if they are."""
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def like(X: Any, cells: Any, names: Any = None) -> Any:
    """Cells as the kind of table that X is: a frame for a frame, else an array or a sparse matrix.

    Parameters
    ----------
    X : table
        What was asked about.
    cells : (n_rows, n_columns) array or sparse array
        The answer.
    names : sequence of str, optional
        What its columns are called.

    Returns
    -------
    table
        Of pandas frames the index is kept.  Tables that are neither frames nor sparse give arrays.

    Examples
    --------
    >>> like([[0, 1]], np.array([[0.2, 0.8]])).tolist()
    [[0.2, 0.8]]
    """
    module = type(X).__module__.partition(".")[0]
    if module == "pandas":
        return _pandas_frame(X, cells, names)
    if sp.issparse(cells):
        return sp.csr_matrix(cells) if isinstance(X, sp.spmatrix) else sp.csr_array(cells)
    if module == "polars":
        import polars as pl

        frame = pl.DataFrame(dict(zip(names, cells.T)))
        return frame.lazy() if isinstance(X, pl.LazyFrame) else frame
    if module == "pyarrow":
        import pyarrow as pa

        kind = pa.RecordBatch if isinstance(X, pa.RecordBatch) else pa.Table
        return kind.from_arrays([pa.array(column) for column in cells.T], names=list(names))
    if hasattr(X, "__arrow_c_stream__"):  # of a library that gives its tables away as Arrow data
        import pyarrow as pa

        return pa.Table.from_arrays([pa.array(column) for column in cells.T], names=list(names))
    return cells


def _pandas_frame(X: Any, cells: Any, names: Any) -> Any:
    """Cells as a pandas frame with the index of X; its columns are kept as they are unless others are named."""
    import pandas as pd

    columns = X.columns if names is None or [str(name) for name in X.columns] == list(names) else names
    if sp.issparse(cells):
        return pd.DataFrame.sparse.from_spmatrix(cells, index=X.index, columns=columns)
    return pd.DataFrame(cells, index=X.index, columns=columns)
