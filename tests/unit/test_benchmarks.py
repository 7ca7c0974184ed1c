"""The benchmarks run, so that they stay alive; what they measure is not judged here."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks import layout, mixture
from benchmarks.stream import stream
from benchmarks.timing import best_of, slope


def test_missed_goals_are_told():
    one = {"set": "s", "ratios": {"A": 4.0, "B": 9.0}, "goals": {"A": 5, "B": 5}}
    assert mixture.missed({"peers": [one], "memory": {"peak_megabytes_above_input": 10}}) == ["s against A"]
    assert mixture.missed({"peers": [], "memory": {"peak_megabytes_above_input": 500}}) == ["memory"]


def test_benchmarks_run():
    X = sp.csr_array((np.random.default_rng(0).random((300, 50)) < 0.05).astype(float))
    assert mixture.one_pass(X, 4)().probs.shape == (4, 50)
    grown = best_of({"a": mixture.one_pass(X, 4), "b": mixture.one_pass(X, 8)}, rounds=1)
    assert set(grown) == {"a", "b"} and all(seconds > 0 for seconds in grown.values())
    out = np.zeros(4)
    stream(X.indptr.astype(np.int64), X.indices.astype(np.int32), np.ones(50 * 4), 4, out)
    np.testing.assert_allclose(out, X.nnz, rtol=1e-6)
    assert slope([1, 2, 4], [3, 6, 12]) > 0.999
    assert 0 < layout.crossing(3, n_rows=64, n_columns=16) <= 1
