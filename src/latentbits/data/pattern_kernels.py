# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops over rows packed into words, and the table in which equal ones are counted.

A row of D columns has 2 W words of 64 bits, W = ceil(D / 64): where it is one, then where it is unknown.
"""

from __future__ import annotations

import numpy as np

from ..jit import inner_kernel, kernel


@kernel
def set_bits(indptr, indices, first, words):
    """Set the bits of the marked columns of every row in ``words`` (n, 2 W), from word ``first`` on."""
    for i in range(indptr.shape[0] - 1):
        for p in range(indptr[i], indptr[i + 1]):
            column = np.uint64(indices[p])
            words[i, first + (column >> np.uint64(6))] |= np.uint64(1) << (column & np.uint64(63))


@inner_kernel
def mixed(words, i):
    """A hash of row ``i``: every bit of it depends on every bit of the words."""
    value = np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[1]):
        value ^= words[i, w]
        value = (value ^ (value >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        value = (value ^ (value >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        value ^= value >> np.uint64(32)
    return value


@kernel
def hash_words(words, out):
    """Fill ``out`` (n,) with the hashes of all rows."""
    for i in range(words.shape[0]):
        out[i] = mixed(words, i)


@kernel
def add_rows(words, weights, counts, first, keys, totals, numbers, used):
    """Add the rows from ``first`` on to a table with open addressing; stops when half of it is taken.

    ``keys`` (S, 2 W), ``totals`` and ``numbers`` (S,) are its places, S a power of two; empty ones have the number 0.
    Returns the row where it stopped, and how many places are ``used`` now.
    """
    n_places, n_words = keys.shape
    mask = np.uint64(n_places - 1)
    for i in range(first, words.shape[0]):
        at = mixed(words, i) & mask
        while numbers[at] > 0:
            same = True
            for w in range(n_words):
                if keys[at, w] != words[i, w]:
                    same = False
                    break
            if same:
                break
            at = (at + np.uint64(1)) & mask
        if numbers[at] == 0:
            if 2 * used >= n_places:
                return i, used
            used += 1
            for w in range(n_words):
                keys[at, w] = words[i, w]
        numbers[at] += counts[i]
        totals[at] += weights[i]
    return words.shape[0], used


@kernel
def listed(words, first, n_columns, counts, columns):
    """Columns whose bit is set, from word ``first`` on, row after row into ``columns``; how many in ``counts`` (n,)."""
    place = 0
    for i in range(words.shape[0]):
        before = place
        for w in range((n_columns + 63) // 64):
            left = words[i, first + w]
            column = 64 * w
            while left != 0:
                if left & np.uint64(1):
                    columns[place] = column
                    place += 1
                left >>= np.uint64(1)
                column += 1
        counts[i] = place - before
    return place
