"""The least that an E-step over index lists must do: read K numbers per one, multiply, add."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def stream(indptr, indices, matrix, n_components, out):
    """Add to ``out`` (K,) the rows of ``matrix`` (D * K,) at all ones, times a weight."""
    width = np.uint64(n_components)
    for i in range(indptr.shape[0] - 1):
        weight = 1.0 + 1e-9 * i
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            origin = np.uint64(indices[p]) * width
            for k in range(width):
                out[k] += weight * matrix[origin + k]
