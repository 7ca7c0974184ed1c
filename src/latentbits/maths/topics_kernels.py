# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops that models of topics share."""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel
from .kernels import exp_shares


@kernel
def share_rows(scores, temperature, weights, logs):
    """Turn ``scores`` (n, K) into shares of tempered scores times the weight of the row; ``logs`` (n,) get log sum exp."""
    n_rows, n_topics = scores.shape
    work, whole = np.empty(n_topics), np.empty(n_topics)
    work_bits, whole_bits = work.view(np.int64), whole.view(np.int64)
    for i in range(n_rows):
        top = scores[i, 0]
        for k in range(1, n_topics):
            top = max(top, scores[i, k])
        for k in range(n_topics):
            work[k] = scores[i, k] - top
        exp_shares(work, n_topics, whole, work_bits, whole_bits)
        total = 0.0
        for k in range(n_topics):
            total += work[k]
        logs[i] = top + math.log(total)
        if temperature != 1.0:
            for k in range(n_topics):
                work[k] = temperature * (scores[i, k] - top)
            exp_shares(work, n_topics, whole, work_bits, whole_bits)
            total = 0.0
            for k in range(n_topics):
                total += work[k]
        factor = weights[i] / total
        for k in range(n_topics):
            scores[i, k] = work[k] * factor
