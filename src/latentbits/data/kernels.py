# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops over cells and index lists.  Imported only when a table is first read or multiplied.

``indptr`` (n + 1,) and ``indices`` give, row by row, the columns that are marked.  The matrices have their
components contiguous (D, K), so the inner loop runs over K and vectorises without reordering any sum.  Matrices
come flattened and places are unsigned: that spares the compiler its checks for negative indices, a third of the time.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel


@kernel
def add_dot(indptr, indices, matrix, n_components, out):
    """Add to ``out`` (n * K,) for every row the rows of ``matrix`` (D * K,) at its marked columns."""
    width = np.uint64(n_components)
    for i in range(indptr.shape[0] - 1):
        target = np.uint64(i) * width
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            origin = np.uint64(indices[p]) * width
            for k in range(width):
                out[target + k] += matrix[origin + k]


@kernel
def add_t_dot(indptr, indices, matrix, n_components, out):
    """Add to ``out`` (D * K,) at every marked column the row of ``matrix`` (n * K,)."""
    width = np.uint64(n_components)
    for i in range(indptr.shape[0] - 1):
        origin = np.uint64(i) * width
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            target = np.uint64(indices[p]) * width
            for k in range(width):
                out[target + k] += matrix[origin + k]


@kernel
def list_marks(cells, code, indptr):
    """Columns of every row of ``cells`` (n, D) that equal ``code``, as index lists; ``indptr`` (n + 1,) is filled."""
    n_rows, n_columns = cells.shape
    indptr[0] = 0
    for i in range(n_rows):
        count = 0
        for j in range(n_columns):
            count += cells[i, j] == code
        indptr[i + 1] = indptr[i] + count
    indices = np.empty(indptr[n_rows], np.int32)
    place = 0
    for i in range(n_rows):
        if indptr[i + 1] == indptr[i]:
            continue
        for j in range(n_columns):
            if cells[i, j] == code:
                indices[place] = j
                place += 1
    return indices


@kernel
def put_marks(indptr, indices, code, cells):
    """Put ``code`` into ``cells`` (n, D) at the marked columns of every row."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            cells[i, indices[p]] = code


@kernel
def count_marks(cells, code, counts):
    """Add to ``counts`` (n,) how many ``cells`` (D, n), given column by column, of every row equal ``code``."""
    for j in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            counts[i] += cells[j, i] == code


@kernel
def fill_marks(cells, code, places, indices):
    """Put the columns of every row of ``cells`` (D, n) that equal ``code`` into ``indices``, from ``places`` (n,) on.

    ``places`` are moved to the ends of the rows.
    """
    for j in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            if cells[j, i] == code:
                indices[places[i]] = j
                places[i] += 1


@kernel
def codes_of_floats(numbers, codes):
    """Codes of a float table: 0, 1, NaN as 2; returns how many cells are none of these.  ``codes`` is filled."""
    n_bad = 0
    n_rows, n_columns = numbers.shape
    for i in range(n_rows):
        for j in range(n_columns):
            x = numbers[i, j]
            one = x == 1.0
            blank = x != x
            codes[i, j] = one + 2 * blank
            n_bad += not (one | blank | (x == 0.0))
    return n_bad


@kernel
def hash_lists(indptr, indices, salt, hashes):
    """Mix the marked columns of every row into ``hashes`` (n,) uint64; equal rows get equal numbers."""
    prime = np.uint64(0x9E3779B97F4A7C15)
    for i in range(indptr.shape[0] - 1):
        h = (hashes[i] + np.uint64(salt)) * np.uint64(0xD6E8FEB86659FD93)
        for p in range(indptr[i], indptr[i + 1]):
            h = (h ^ (np.uint64(indices[p]) + np.uint64(1))) * prime
            h ^= h >> np.uint64(29)
        hashes[i] = h


@kernel
def same_lists(indptr, indices, other):
    """Whether every row i is marked exactly like row ``other[i]``."""
    for i in range(indptr.shape[0] - 1):
        a, b = indptr[i], indptr[other[i]]
        n = indptr[i + 1] - a
        if indptr[other[i] + 1] - b != n:
            return False
        for p in range(n):
            if indices[a + p] != indices[b + p]:
                return False
    return True


@kernel
def hash_values(indptr, indices, bits, hashes):
    """Mix columns and values (as ``bits``) of every row into ``hashes`` (n,) uint64; equal rows get equal numbers."""
    prime = np.uint64(0x9E3779B97F4A7C15)
    for i in range(indptr.shape[0] - 1):
        h = (hashes[i] + np.uint64(3)) * np.uint64(0xD6E8FEB86659FD93)
        for p in range(indptr[i], indptr[i + 1]):
            h = (h ^ (np.uint64(indices[p]) + np.uint64(1))) * prime
            h ^= h >> np.uint64(29)
            h = (h ^ bits[p]) * prime
            h ^= h >> np.uint64(31)
        hashes[i] = h
