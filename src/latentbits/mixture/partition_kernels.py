# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Distances between partitions."""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel


@kernel
def pair_losses(first, second, n_blocks, binder, information):
    """Fill the (A, B) distances between partitions ``first`` (A, N) and ``second`` (B, N), whose labels are below
    ``n_blocks``.

    Binder: pairs of rows that are together in one and apart in the other.  Information: the variation of information,
    2 H(u, v) - H(u) - H(v), in nats.
    """
    n_rows = first.shape[1]
    both, left, right = (
        np.zeros(n_blocks * n_blocks, np.int64),
        np.zeros(n_blocks, np.int64),
        np.zeros(n_blocks, np.int64),
    )
    logs = np.zeros(n_rows + 1)
    for m in range(1, n_rows + 1):
        logs[m] = m * math.log(m)
    for a in range(first.shape[0]):
        for b in range(second.shape[0]):
            left[:] = 0
            right[:] = 0
            for i in range(n_rows):
                both[first[a, i] * n_blocks + second[b, i]] += 1
                left[first[a, i]] += 1
                right[second[b, i]] += 1
            pairs, value = 0, 0.0
            for k in range(n_blocks):
                pairs += (left[k] * (left[k] - 1) + right[k] * (right[k] - 1)) // 2
                value += logs[left[k]] + logs[right[k]]
            for i in range(n_rows):  # only cells that were touched, each once
                at = first[a, i] * n_blocks + second[b, i]
                if both[at] > 0:
                    pairs -= both[at] * (both[at] - 1)
                    value -= 2.0 * logs[both[at]]
                    both[at] = 0
            binder[a, b], information[a, b] = pairs, max(value / n_rows, 0.0)


@kernel
def add_together(labels, together):
    """Add to ``together`` (n, n) how many of the partitions ``labels`` (S, n) have two rows in one block."""
    n_rows = labels.shape[1]
    for s in range(labels.shape[0]):
        for i in range(n_rows):
            for j in range(n_rows):
                together[i, j] += labels[s, i] == labels[s, j]
