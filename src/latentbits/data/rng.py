"""Random numbers with an address.

A number is named by a seed, a purpose and a position, never by how many were drawn before it.  The same cell
gets the same number for every block size, thread count and backend (Philox counters, Salmon et al. 2011).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PURPOSES = {
    "start": 1,
    "cells": 2,
    "rows": 3,
    "sample": 4,
    "fill": 5,
    "sweep": 6,
    "bootstrap": 7,
    "seeds": 8,
    "split": 9,
    "hyper": 10,
    "weigh": 11,
    "atoms": 12,
}


def stream(seed: int, purpose: str, *address: int) -> np.random.Generator:
    """A generator for one purpose and address.

    Examples
    --------
    >>> bool(stream(0, "start", 1).random() == stream(0, "start", 1).random())
    True
    """
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, PURPOSES[purpose], *address])))


def row_uniforms(
    seed: int, purpose: str, start: int, n_rows: int, width: int = 1, *address: int
) -> NDArray[np.float64]:
    """Uniforms (n_rows, width) of rows ``start`` onward; row i has the same numbers in every call.

    Examples
    --------
    >>> whole = row_uniforms(3, "rows", 0, 10, 5)
    >>> bool((row_uniforms(3, "rows", 4, 6, 5) == whole[4:]).all())
    True
    """
    per_row = -(-width // 4)  # a Philox counter gives four numbers
    bits = np.random.Philox(np.random.SeedSequence([seed, PURPOSES[purpose], *address]))
    bits.advance(start * per_row)
    return np.random.Generator(bits).random((n_rows, 4 * per_row))[:, :width]


def cell_uniforms(seed: int, purpose: str, start: int, counts: NDArray[np.int64], *address: int) -> NDArray[np.float64]:
    """Uniforms for ``counts[i]`` cells of every row, row after row; independent of how rows are cut into blocks.

    Examples
    --------
    >>> whole = cell_uniforms(3, "fill", 0, np.array([2, 7, 1]))
    >>> bool((cell_uniforms(3, "fill", 1, np.array([7, 1])) == whole[2:]).all())
    True
    """
    n_rows = len(counts)
    ends = np.cumsum(counts)
    out = np.empty(int(ends[-1]) if n_rows else 0)
    first, width, turn = 0, 4, 1
    while n_rows and first < counts.max():  # turns double in width, so few are needed
        alive = np.flatnonzero(counts > first)
        runs = [(0, n_rows)] if 8 * len(alive) > n_rows else [(int(i), 1) for i in alive]
        for low, length in runs:
            numbers = row_uniforms(seed, purpose, start + low, length, width, *address, turn)
            take = np.clip(counts[low : low + length] - first, 0, width)
            within = np.arange(take.sum()) - np.repeat(np.cumsum(take) - take, take)
            begin = (ends - counts)[low : low + length] + first
            out[np.repeat(begin, take) + within] = numbers[np.repeat(np.arange(length), take), within]
        first, width, turn = first + width, 2 * width, turn + 1
    return out


def content_uniforms(
    keys: NDArray[np.uint64], width: int, seed: int, purpose: str, *address: int
) -> NDArray[np.float64]:
    """Uniforms (n, width) addressed by what a row holds (see :func:`~latentbits.data.block.row_hashes`).

    Equal rows get equal numbers wherever they stand and however often they occur, so a start of row unknowns drawn
    from them does not depend on the order of rows, and a weight of two is the same as the row twice.  Each number is
    the SplitMix64 finaliser (Steele, Lea & Flood 2014) of the key, a salt and the place.

    Examples
    --------
    >>> twice = content_uniforms(np.array([7, 9, 7], np.uint64), 2, 0, "start")
    >>> bool((twice[0] == twice[2]).all() and (twice[0] != twice[1]).all())
    True
    """
    salt = np.random.SeedSequence([seed, PURPOSES[purpose], *address]).generate_state(1, np.uint64)
    steps = np.arange(1, width + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (keys ^ salt)[:, None] + steps
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    uniforms: NDArray[np.float64] = (x >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return uniforms
