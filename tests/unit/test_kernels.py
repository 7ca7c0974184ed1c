"""Kernels against twins written from the equations, compiled and as Python, one signature per dtype."""

from __future__ import annotations

import numpy as np
import pytest

from latentbits.data import kernels as data_kernels
from latentbits.data.source import open_source
from latentbits.engine import kernels as engine_kernels


@pytest.mark.parametrize("compiled", [True, False])
def test_products(compiled):
    rng = np.random.default_rng(0)
    dense = rng.random((30, 17)) < 0.2
    indptr, indices = open_source(dense.astype(float)).block(0).ones.lists()
    right, left = rng.random((17, 5)), rng.random((30, 5))
    for kernel, argument, shape, wanted in (
        (data_kernels.add_dot, right, (30, 5), dense @ right),
        (data_kernels.add_t_dot, left, (17, 5), dense.T @ left),
    ):
        out = np.zeros(shape)
        (kernel if compiled else kernel.py_func)(indptr, indices, argument, out)
        np.testing.assert_allclose(out, wanted, atol=1e-13)


@pytest.mark.parametrize("compiled", [True, False])
def test_softmax(compiled):
    from scipy.special import logsumexp, softmax

    log_joint = np.random.default_rng(0).normal(0, 30, (40, 6))
    log_joint[0] = [-1e5, -1e5 - 1, -2e5, -1e6, -1e5, -np.inf]
    shares, sums = log_joint.copy(), np.empty(40)
    kernel = engine_kernels.softmax_rows
    (kernel if compiled else kernel.py_func)(shares, sums)
    np.testing.assert_allclose(shares, softmax(log_joint, axis=1), atol=1e-15)
    np.testing.assert_allclose(sums, logsumexp(log_joint, axis=1), rtol=1e-14)


def test_one_signature_per_kernel(tmp_path):
    from latentbits import BernoulliMixture
    from latentbits.testing import CONTAINERS

    table = (np.random.default_rng(0).random((60, 30)) < 0.1).astype(float)
    table[0, 0] = np.nan
    for name in ("numpy float", "sparse matrix csc", "csv", "memmap"):
        BernoulliMixture(2, n_init=1, random_state=0).fit(CONTAINERS[name](table, tmp_path))
    for module in (data_kernels, engine_kernels):
        for kernel in vars(module).values():
            if hasattr(kernel, "signatures"):
                assert len(kernel.signatures) <= 1, (kernel, kernel.signatures)
