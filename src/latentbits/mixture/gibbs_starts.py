"""Partitions that chains start from.

What a chain finds within a hundred sweeps depends more on its start than on anything else: from too few blocks plain
Gibbs sweeps hardly ever open the missing ones, from too many they are slow to merge them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..data.rng import stream
from ..errors import InputError

if TYPE_CHECKING:
    from .gibbs import ChainState, CollapsedGibbs

KINDS = ("random", "kmeans", "sequential", "one", "singletons", "annealed", "mixed")
# What the chains of a mixed start begin with, in turn.
MIXED = ("random", "kmeans", "sequential", "one")
# Rounds of the k-modes start, and of the annealed one with its first temperature.
ROUNDS, COOLING, HOT = 10, 50, 0.05


def start_labels(process: CollapsedGibbs, chain: int, state: ChainState) -> Any:
    """Labels (N,) int32 of a chain at its start."""
    if not isinstance(process.init, str):
        return np.asarray(process.init, np.int32)
    kind = MIXED[chain % len(MIXED)] if process.init == "mixed" else process.init
    n_rows, rng = process.table.n_rows, stream(process.seed, "start", chain)
    n_blocks = min(process.start_blocks, process.prior.most_blocks(n_rows))
    if kind == "one":
        return np.zeros(n_rows, np.int32)
    if kind == "singletons":
        if process.prior.most_blocks(n_rows) < n_rows:
            raise InputError(
                f"init='singletons' needs as many blocks as rows ({n_rows}), but the prior allows "
                f"{process.prior.most_blocks(n_rows)}. Use init='random'."
            )
        return np.arange(n_rows, dtype=np.int32)
    if kind == "kmeans":
        return _modes(process, n_blocks, rng)
    if kind == "sequential":
        chain_at_work = process.open(chain, state)
        chain_at_work.sweep(rng.random(n_rows), order=rng.permutation(n_rows))
        return chain_at_work.labels
    labels = rng.integers(0, n_blocks, n_rows).astype(np.int32)
    if kind == "annealed":
        chain_at_work = process.open(chain, state._replace(labels=labels))
        for temperature in np.linspace(HOT, 1.0, COOLING):
            chain_at_work.sweep(rng.random(n_rows), float(temperature))
        return chain_at_work.labels
    return labels


def _modes(process: CollapsedGibbs, n_blocks: int, rng: np.random.Generator) -> Any:
    """k-modes: rows far from each other as first modes, then nearest modes and majorities in turn; unknown cells do not
    count."""
    table = process.table
    shape = (table.n_rows, table.n_columns)
    ones = _matrix(table.indptr, table.indices, shape)
    others = _matrix(table.other_indptr, table.other_indices, shape)
    modes = np.empty((n_blocks, table.n_columns))
    nearest = np.full(table.n_rows, np.inf)
    for k in range(n_blocks):
        weights = nearest if np.isfinite(nearest).all() and nearest.sum() > 0 else np.ones(table.n_rows)
        row = int(rng.choice(table.n_rows, p=weights / weights.sum()))
        modes[k] = ones[[row]].toarray()[0]
        nearest = np.minimum(nearest, _distances(ones, others, modes[k : k + 1], table.zeros_listed)[:, 0])
    labels = np.zeros(table.n_rows, np.int32)
    for _ in range(ROUNDS):
        labels = _distances(ones, others, modes, table.zeros_listed).argmin(axis=1).astype(np.int32)
        counts = sp.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_blocks, len(labels)))
        on, other = (counts @ ones).toarray(), (counts @ others).toarray()
        seen = on + other if table.zeros_listed else np.bincount(labels, minlength=n_blocks)[:, None] - other
        modes = np.where(seen > 0, on > 0.5 * seen, modes).astype(np.float64)
    return labels


def _matrix(indptr: Any, indices: Any, shape: tuple[int, int]) -> Any:
    """Index lists as a sparse matrix of ones."""
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def _distances(ones: Any, others: Any, modes: Any, zeros_listed: bool) -> Any:
    """Known cells (n, K) in which rows and modes differ."""
    differ_at_ones = ones @ (1.0 - modes).T
    if zeros_listed:
        return differ_at_ones + others @ modes.T
    return differ_at_ones + modes.sum(axis=1) - ones @ modes.T - others @ modes.T
