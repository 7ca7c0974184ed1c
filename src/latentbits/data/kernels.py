"""Loops over index lists.  Imported only when a table with index lists is first multiplied.

``indptr`` (n + 1,) and ``indices`` give, row by row, the columns that are marked.  The matrices have their
components contiguous (D, K), so the inner loop runs over K and vectorises without reordering any sum.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def add_dot(indptr, indices, matrix, out):
    """Add to ``out`` (n, K) for every row the rows of ``matrix`` (D, K) at its marked columns."""
    n_components = matrix.shape[1]
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for k in range(n_components):
                out[i, k] += matrix[j, k]


@njit(cache=True, nogil=True)
def add_t_dot(indptr, indices, matrix, out):
    """Add to ``out`` (D, K) at every marked column the row of ``matrix`` (n, K)."""
    n_components = matrix.shape[1]
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for k in range(n_components):
                out[j, k] += matrix[i, k]
