"""Where topics of rows of numbers begin: k-means on rows of unit length, or random shares that warm up slowly.

A model of topics has ``summed(block, shares)``, the sums of a block whose rows belong to the topics by given shares, and an
``m_step`` that needs nothing else; its parameters have a ``temperature`` and its ``warming`` per pass.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import declared as of
from ..data.block import Float
from ..data.rng import content_uniforms
from ..data.values import ValueBlock
from ..engine.protocols import StagedModel
from ..engine.restarts import InitParams
from ..errors import InputError
from .empirical_bayes import SPREAD, distinct

# Distinct rows that k-means sees at most.
KMEANS_ROWS = 20_000
# Temperatures at which random starts begin; they reach 1 in so many passes.
COLD = (0.05, 0.1, 0.2)
WARMING_PASSES = 25


@dataclass(frozen=True)
class TopicModel(StagedModel):
    """Rows of numbers with one topic each; subclasses define ``scores``, ``summed`` and ``m_step``."""

    n_components: of.Size

    @property
    def passes(self) -> int | None:  # type: ignore[override]
        """While the temperature rises every pass is a stage of its own: their objectives do not compare."""
        return 1

    def is_last_stage(self, params: Any) -> bool:
        """Whether the temperature has reached 1."""
        return bool(params.temperature >= 1.0)

    def next_stage(self) -> TopicModel:
        """The same."""
        return self

    def scores(self, block: Any, precomputed: Any) -> Float:
        """log p(row, topic) (n, K)."""
        raise NotImplementedError

    def memberships(self, block: Any, precomputed: Any) -> Float:
        """Topic probabilities (n, K)."""
        return tempered_shares(self.scores(block, precomputed))[0]

    def represent(self, block: Any, precomputed: Any) -> Float:
        """Rows as users see them: their memberships."""
        return self.memberships(block, precomputed)

    def log_prob(self, block: Any, precomputed: Any) -> Float:
        """log p(row) (n,)."""
        return tempered_shares(self.scores(block, precomputed))[1]


def tempered_shares(scores: Float, temperature: float = 1.0, weights: Float | None = None) -> tuple[Float, Float]:
    """Shares (n, K) of tempered scores, times the weights of the rows, and log sums (n,), in the memory of ``scores``."""
    from .topics_kernels import share_rows

    logs = np.empty(len(scores))
    share_rows(scores, temperature, np.ones(len(scores)) if weights is None else weights, logs)
    return scores, logs


class ValueSample(NamedTuple):
    """Distinct rows with the smallest keys, their total weights, and their entries."""

    keys: Any
    weights: Float
    rows: list[Any]  # (columns, values) of every row
    size: int

    def merge(self, other: ValueSample) -> ValueSample:
        """The smallest keys of both; equal rows of both add their weights."""
        keys, weights, first = distinct(
            np.concatenate((self.keys, other.keys)), np.concatenate((self.weights, other.weights))
        )
        rows = self.rows + other.rows
        n = self.size
        return ValueSample(keys[:n], weights[:n], [rows[i] for i in first[:n]], n)

    def unit_rows(self, n_columns: int) -> Any:
        """The rows, scaled to unit length, as a SciPy table."""
        indptr = np.concatenate(([0], np.cumsum([len(columns) for columns, _ in self.rows]))).astype(np.int32)
        columns = np.concatenate([columns for columns, _ in self.rows] or [np.empty(0, np.int32)])
        values = np.concatenate([values for _, values in self.rows] or [np.empty(0)])
        return unit(sp.csr_array((values, columns, indptr), shape=(len(self.rows), n_columns)))


def unit(table: Any) -> Any:
    """Rows of unit length; empty ones stay empty."""
    lengths = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    scaled = table.copy()
    scaled.data = scaled.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(table.indptr))
    return scaled


class _Take:
    """The sample of one block; empty rows and those of weight zero do not count."""

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[ValueSample, None]:
        weights = block.row_weights()
        counted = np.flatnonzero((weights > 0) & (block.row_counts() > 0))
        keys, total, first = distinct((block.keys() * SPREAD)[counted], weights[counted])
        taken = counted[first[:KMEANS_ROWS]]
        parts = [slice(block.indptr[i], block.indptr[i + 1]) for i in taken]
        listed = [(block.indices[part], block.values[part]) for part in parts]
        return ValueSample(keys[:KMEANS_ROWS], total[:KMEANS_ROWS], listed, KMEANS_ROWS), None


class _Nearest:
    """Sums of a block whose rows belong to the nearest of the centres."""

    def __init__(self, model: Any, centers: Float) -> None:
        self.model, self.centers = model, centers

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[Any, None]:
        near = unit(block.csr()) @ self.centers.T - 0.5 * (self.centers**2).sum(axis=1)
        shares = np.zeros(near.shape)
        shares[np.arange(len(near)), near.argmax(axis=1)] = block.row_weights()
        return self.model.summed(block, shares), None


class _Random:
    """Sums of a block whose rows have shares drawn uniformly from the simplex, by what they hold."""

    def __init__(self, model: Any, seed: int, restart: int) -> None:
        self.model, self.seed, self.restart = model, seed, restart

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[Any, None]:
        uniforms = content_uniforms(block.keys(), self.model.n_components, self.seed, "start", self.restart)
        shares = -np.log1p(-uniforms)
        shares *= (block.row_weights() / shares.sum(axis=1))[:, None]
        return self.model.summed(block, shares), None


class _Given:
    """Sums of a block whose rows have the shares that the user gave."""

    def __init__(self, model: Any, shares: Float) -> None:
        self.model, self.shares = model, shares

    def __call__(self, block: ValueBlock, rows: Any) -> tuple[Any, None]:
        mine = self.shares[block.start : block.start + block.n_rows] * block.row_weights()[:, None]
        return self.model.summed(block, mine), None


def _from_sums(model: Any, sweep: Any, question: Any) -> Any:
    """Parameters after an M-step on the sums of a pass."""
    stats = sweep.map(question, [None] * sweep.n_blocks, keep_rows=False)[0]
    return model.m_step(None, stats, None)


def kmeans_start(model: Any, sweep: Any, n_columns: int, seed: int, restart: int) -> Any:
    """k-means on rows of unit length; that fewer of them differ than there are topics is no doubt of its own."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    sample: ValueSample = sweep.map(_Take(), [None] * sweep.n_blocks, keep_rows=False)[0]
    table = sample.unit_rows(n_columns)
    if table.shape[0] < model.n_components:
        return random_start(model, sweep, seed, restart, COLD[0])
    means = KMeans(model.n_components, n_init=3, random_state=(seed + restart) % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        centers = means.fit(table, sample_weight=sample.weights).cluster_centers_
    return _from_sums(model, sweep, _Nearest(model, centers))


def random_start(model: Any, sweep: Any, seed: int, restart: int, cold: float = 1.0) -> Any:
    """Random shares; with ``cold`` below 1 the fit begins at that temperature and warms up."""
    params = _from_sums(model, sweep, _Random(model, seed, restart))
    return params._replace(temperature=cold, warming=cold ** (-1.0 / WARMING_PASSES))


def given_start(model: Any, sweep: Any, shares: Float) -> Any:
    """Shares (n, K) of the rows."""
    return _from_sums(model, sweep, _Given(model, shares))


N_PORTFOLIO = 1 + len(COLD)


def n_starts(kind: str, n_init: int) -> int:
    """How many starts ``n_init`` rounds of a kind of start are."""
    return n_init * {"portfolio": N_PORTFOLIO, "anneal": len(COLD)}.get(kind, 1)


def started(model: Any, kind: str, sweep: Any, seed: int, restart: int) -> Any:
    """Start number ``restart`` of a kind: "portfolio" (k-means, then annealed ones), "k-means", "anneal" or "random"."""
    if kind == "random":
        return random_start(model, sweep, seed, restart)
    number = restart % N_PORTFOLIO if kind == "portfolio" else restart % len(COLD) + 1
    if kind == "k-means" or number == 0:
        return kmeans_start(model, sweep, sweep.source.shape[1], seed, restart)
    return random_start(model, sweep, seed, restart, COLD[number - 1])


def topic_initializer(model: Any, init: Any, owner: str) -> InitParams:
    """Starts of a kind, or shares or labels of the rows that are given."""
    if isinstance(init, str):
        return partial(started, model, init)
    return partial(_given, model, init, owner)


def _given(model: Any, init: Any, owner: str, sweep: Any, seed: int, restart: int) -> Any:
    """The start that the user gave."""
    return given_start(model, sweep, given_shares(init, sweep, model.n_components, owner))


def given_shares(given: Any, sweep: Any, n_components: int, owner: str) -> Float:
    """Shares (n, K) from shares or labels of the rows."""
    n_rows = sum(sweep.collect(_count_rows))
    values = np.asarray(given)
    labels = values.shape == (n_rows,) and values.dtype.kind in "iu"
    if labels and values.min() >= 0 and values.max() < n_components:
        ones: Float = np.eye(n_components)[values]
        return ones
    good = values.shape == (n_rows, n_components) and values.dtype.kind in "iuf"
    if not good or not (np.isfinite(values).all() and (values >= 0).all() and (values.sum(axis=1) > 0).all()):
        raise InputError(
            f"{owner}: init must be shares of shape {(n_rows, n_components)}, or a label from 0 to {n_components - 1} for "
            f"each of the {n_rows} rows."
        )
    shares: Float = values / values.sum(axis=1, keepdims=True)
    return shares


def _count_rows(block: ValueBlock) -> int:
    """Rows of a block."""
    return block.n_rows
