# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, check-untyped-defs=False
"""Loops that models of topics share."""

from __future__ import annotations

import math

import numpy as np

from ..jit import kernel
from .kernels import exp_shares, exp_shares_single


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


@kernel
def share_rows_single(scores, temperature, weights, logs):
    """The same in float32; topics that only pad have scores of minus infinity."""
    n_rows, n_topics = scores.shape
    work, whole = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    work_bits, whole_bits = work.view(np.int32), whole.view(np.int32)
    for i in range(n_rows):
        row = scores[i]
        top = row[0]
        for k in range(1, n_topics):
            top = row[k] if row[k] > top else top
        for k in range(n_topics):
            work[k] = row[k] - top
        exp_shares_single(work, n_topics, whole, work_bits, whole_bits)
        total = np.float32(0.0)
        for k in range(n_topics):
            total += work[k]
        logs[i] = top + math.log(total)
        if temperature != 1.0:
            for k in range(n_topics):
                work[k] = np.float32(temperature) * (row[k] - top)
            exp_shares_single(work, n_topics, whole, work_bits, whole_bits)
            total = np.float32(0.0)
            for k in range(n_topics):
                total += work[k]
        factor = np.float32(weights[i] / total)
        for k in range(n_topics):
            row[k] = work[k] * factor
