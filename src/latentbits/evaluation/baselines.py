"""The two models that every family has to beat: independent columns and the Chow-Liu tree.

Both count with Laplace smoothing, score rows in nats and fill cells; unknown cells drop out.  The tree counts a pair of
columns over the rows in which both are known, and its answers sum over the unknown cells exactly (messages along the tree).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.special import betaln

from ..data.block import ONE, UNKNOWN, Block, Float
from ..data.reading import Reading
from ..data.rng import content_uniforms
from ..data.source import Source, open_source
from ..engine.ask import Asked
from ..engine.protocols import Causes, CellAnswers, Places
from ..engine.sweep import sweep_of
from ..errors import InputError
from ..families import MOST_PAIRED


class Baseline:
    """What the two share: a model and its parameters that keep the contract for answers, asked like every family."""

    _model: CellAnswers
    _params: Any
    _columns: list[str] | None = None
    _reading: Reading | None = None

    def _learn_from(self, X: Any, sample_weight: Any) -> Source:
        """Open a table to fit; the names of its columns, and how it was read, are kept."""
        source = open_source(X, owner=type(self).__name__, sample_weight=sample_weight)
        names, reading = source.labels.columns, getattr(source, "reading", None)
        self._columns = None if names is None else [str(name) for name in names]
        self._reading = reading if reading is not None and reading.record() else None
        return source

    def _ask(self, X: Any) -> Asked:
        """The fitted model and a table, for any question."""
        source = open_source(X, owner=type(self).__name__, reading=self._reading, columns=self._columns)
        if source.shape[1] != self._n_columns():
            raise InputError(f"the table has {source.shape[1]} columns; the model was fitted to {self._n_columns()}.")
        return Asked(self._model, self._params, sweep_of(source, 1))

    def _n_columns(self) -> int:
        """Columns that were fitted."""
        return len(self._params[0])

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of the known cells of every row."""
        return self._ask(X).by_rows("log_prob")

    def score(self, X: Any) -> float:
        """Mean log-likelihood per row."""
        return float(self.score_samples(X).mean())


class IndependentParams(NamedTuple):
    """Shares of ones (D,)."""

    probs: Float


class IndependentPrecomputed(NamedTuple):
    """Log odds of a one and log probability of a zero, each (D, 1)."""

    probs: Float
    slope: Float
    log_off: Float


@dataclass(frozen=True)
class IndependentModel:
    """Every column on its own; there are no components."""

    n_components: int = 0

    def precompute(self, params: IndependentParams) -> IndependentPrecomputed:
        """Logarithms."""
        log_off = np.log1p(-params.probs)
        return IndependentPrecomputed(params.probs, (np.log(params.probs) - log_off)[:, None], log_off[:, None])

    def log_prob(self, block: Block, precomputed: IndependentPrecomputed) -> Float:
        """log p(row) (n,)."""
        scores: Float = block.ones.dot(precomputed.slope)[:, 0] + precomputed.log_off.sum()
        if block.unknown is not None:
            scores -= block.unknown.dot(precomputed.log_off)[:, 0]
        return scores

    def represent(self, block: Block, precomputed: IndependentPrecomputed) -> Float:
        """Nothing is said about rows (n, 0)."""
        return np.empty((block.n_rows, 0))

    def predict_cells(self, block: Block, precomputed: IndependentPrecomputed) -> Float:
        """P(cell = 1) (n, D)."""
        return np.tile(precomputed.probs, (block.n_rows, 1))

    def predict_cells_at(
        self, block: Block, precomputed: IndependentPrecomputed, rows: Places, columns: Places
    ) -> Float:
        """The same for single cells (m,)."""
        return precomputed.probs[columns]

    def sample_cells(
        self, block: Block, precomputed: Any, rows: Places, columns: Places, by_row: Float, by_cell: Float
    ) -> NDArray[np.bool_]:
        """A draw of single cells."""
        drawn: NDArray[np.bool_] = by_cell < precomputed.probs[columns]
        return drawn

    def causes(self, block: Block, precomputed: IndependentPrecomputed, rows: Places, columns: Places) -> Causes:
        """No component explains anything."""
        nothing = np.empty((len(rows), 0))
        return Causes(nothing, nothing, precomputed.probs[columns])

    def sample_rows(self, params: IndependentParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """New rows (n, D), without causes."""
        return (rng.random((n, len(params.probs))) < params.probs).astype(np.uint8), np.empty((n, 0))

    def n_free(self, params: IndependentParams) -> int:
        """One number per column."""
        return len(params.probs)


class IndependentColumns(Baseline):
    """Every column on its own.

    Parameters
    ----------
    smoothing : float
        Counts added to the ones and to the zeros of every column.
    pooled : bool
        Draw every column toward the share of ones of the whole table instead, as strongly as the columns are alike
        (empirical Bayes, beta-binomial): the baseline to beat where ones are rare.

    Examples
    --------
    >>> model = IndependentColumns(smoothing=1.0).fit([[0, 1], [1, 1], [0, 1]])
    >>> model.probs_.round(2).tolist()
    [0.4, 0.8]
    """

    def __init__(self, smoothing: float = 1.0, pooled: bool = False) -> None:
        self.smoothing, self.pooled = smoothing, pooled

    def __repr__(self) -> str:
        return f"IndependentColumns({self.smoothing}, pooled={self.pooled})"

    def fit(self, X: Any, sample_weight: Any = None) -> IndependentColumns:
        """Count."""
        _check_smoothing(self.smoothing)
        source = self._learn_from(X, sample_weight)
        ones, seen = sweep_of(source, 1).map(_ColumnCounts(), [None] * source.n_blocks, keep_rows=False)[0]
        self.probs_ = (ones + self.smoothing) / (seen + 2 * self.smoothing)
        if self.pooled:
            self.probs_ = pooled_shares(ones, seen)
        self._model, self._params = IndependentModel(), IndependentParams(self.probs_)
        return self


class _ColumnCounts:
    """Weight of ones and of known cells (D,) of a block."""

    def __call__(self, block: Block, rows: None) -> tuple[tuple[Float, Float], None]:
        weights = block.row_weights()[:, None]
        seen = np.full(block.n_columns, float(weights.sum()))
        if block.unknown is not None:
            seen -= block.unknown.t_dot(weights)[:, 0]
        return (block.ones.t_dot(weights)[:, 0], seen), None


def pooled_shares(ones: Any, seen: Any) -> Any:
    """Shares of ones (D,), drawn toward that of all columns with the strength that makes the counts most probable.

    Examples
    --------
    >>> pooled_shares(np.array([0.0, 1.0, 0.0, 1.0]), np.full(4, 100.0)).round(3).tolist()
    [0.006, 0.006, 0.006, 0.006]
    """
    mean = (ones.sum() + 0.5) / (seen.sum() + 1.0)
    strengths = np.logspace(-1, 4, 41)[:, None]
    on, off = strengths * mean, strengths * (1 - mean)
    fits = (betaln(ones + on, seen - ones + off) - betaln(on, off)).sum(axis=1)
    best = float(strengths[fits.argmax(), 0])
    return (ones + best * mean) / (seen + best)


class TreeParams(NamedTuple):
    """A tree of columns."""

    parents: Any  # (D,) -1 for roots
    on_given: Float  # (D, 2) P(1 | parent = 0, 1); of roots twice the same
    order: Any  # (D,) parents before children


@dataclass(frozen=True)
class TreeModel:
    """Exact answers by messages along the tree; there are no components."""

    n_components: int = 0

    def precompute(self, params: TreeParams) -> TreeParams:
        """The parameters themselves."""
        return params

    def log_prob(self, block: Block, precomputed: TreeParams) -> Float:
        """log p(known cells of the row) (n,)."""
        return np.concatenate([self._messages(codes, precomputed)[2] for codes in _pieces(block)])

    def represent(self, block: Block, precomputed: TreeParams) -> Float:
        """Nothing is said about rows (n, 0)."""
        return np.empty((block.n_rows, 0))

    def predict_cells(self, block: Block, precomputed: TreeParams) -> Float:
        """P(cell = 1 | known cells of its row) (n, D)."""
        return np.concatenate([self._beliefs(codes, precomputed) for codes in _pieces(block)])

    def predict_cells_at(self, block: Block, precomputed: TreeParams, rows: Places, columns: Places) -> Float:
        """The same for single cells (m,)."""
        out, at = np.empty(len(rows)), 0
        for codes in _pieces(block):
            mine = (rows >= at) & (rows < at + len(codes))
            out[mine] = self._beliefs(codes, precomputed)[rows[mine] - at, columns[mine]]
            at += len(codes)
        return out

    def sample_cells(
        self, block: Block, precomputed: Any, rows: Places, columns: Places, by_row: Float, by_cell: Float
    ) -> NDArray[np.bool_]:
        """A joint draw of single cells, from the roots to the leaves; other unknown cells of the rows are drawn along."""
        uniforms = content_uniforms((by_row * 2.0**53).astype(np.uint64), block.n_columns, 0, "fill")
        uniforms[rows, columns] = by_cell
        drawn, at = np.empty((block.n_rows, block.n_columns), np.bool_), 0
        for codes in _pieces(block):
            drawn[at : at + len(codes)] = self._drawn(codes, uniforms[at : at + len(codes)], precomputed)
            at += len(codes)
        return drawn[rows, columns]

    def _drawn(self, codes: Any, uniforms: Any, params: TreeParams) -> Any:
        """Rows (n, D) drawn given their known cells."""
        below = self._messages(codes, params)[0]
        out = np.empty(codes.shape, np.bool_)
        for j in params.order:
            up = params.parents[j]
            on = params.on_given[j, 0] if up < 0 else params.on_given[j][out[:, up].astype(np.int64)]
            both = below[1, j] * on
            out[:, j] = uniforms[:, j] * (both + below[0, j] * (1 - on)) < both
        return out

    def causes(self, block: Block, precomputed: TreeParams, rows: Places, columns: Places) -> Causes:
        """No component explains anything; probabilities leave the cell itself out."""
        nothing, on = np.empty((len(rows), 0)), np.empty(len(rows))
        step = max(1, 2**19 // max(1, block.n_columns))
        for low in range(0, len(rows), step):
            part = slice(low, low + step)
            codes = block.take(rows[part]).codes().copy()
            places = np.arange(len(codes)), columns[part]
            codes[places] = UNKNOWN
            on[part] = self._beliefs(codes, precomputed)[places]
        return Causes(nothing, nothing, on)

    def sample_rows(self, params: TreeParams, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """New rows (n, D), without causes."""
        unknown = np.full((n, len(params.parents)), UNKNOWN, np.uint8)
        return self._drawn(unknown, rng.random(unknown.shape), params).astype(np.uint8), np.empty((n, 0))

    def n_free(self, params: TreeParams) -> int:
        """One number for a root, two for every other column."""
        return int(2 * len(params.parents) - (params.parents < 0).sum())

    def _messages(self, codes: Any, params: TreeParams) -> tuple[Any, Any, Any]:
        """Collect toward the roots.

        Returns what the cells below and at every column say about its value, ``below`` (2, D, n), scaled to a largest value
        of one, what it says about that of its parent, ``upward`` (2, D, n), and the log-likelihood (n,).
        """
        cells = np.ascontiguousarray(codes.T)
        below = np.stack([cells != ONE, cells != 0]).astype(np.float64)  # an unknown cell allows both values
        upward = np.ones_like(below)
        logs = np.zeros(len(codes))
        for j in params.order[::-1]:
            if params.parents[j] < 0:
                logs += np.log(below[0, j] * (1 - params.on_given[j, 0]) + below[1, j] * params.on_given[j, 0])
                continue
            for value in (0, 1):
                on = params.on_given[j, value]
                upward[value, j] = below[0, j] * (1 - on) + below[1, j] * on
            up = params.parents[j]
            below[:, up] *= upward[:, j]
            scale = below[:, up].max(axis=0)  # many children would otherwise multiply it away
            below[:, up] /= scale
            logs += np.log(scale)
        return below, upward, logs

    def _beliefs(self, codes: Any, params: TreeParams) -> Any:
        """P(cell = 1 given the known cells of its row) (n, D), by messages away from the roots."""
        below, upward, _ = self._messages(codes, params)
        on = np.empty(codes.T.shape)
        above = np.empty_like(below)  # probability of every value, given all that is not below it
        for j in params.order:
            up = params.parents[j]
            if up < 0:
                above[1, j] = params.on_given[j, 0]
            else:
                rest = above[:, up] * below[:, up] / upward[:, j]
                rest /= rest.sum(axis=0)
                above[1, j] = rest[0] * params.on_given[j, 0] + rest[1] * params.on_given[j, 1]
            above[0, j] = 1 - above[1, j]
            both = above[:, j] * below[:, j]
            on[j] = both[1] / both.sum(axis=0)
        return on.T


class ChowLiuTree(Baseline):
    """The tree of column pairs with the most mutual information (Chow & Liu 1968).

    Parameters
    ----------
    smoothing : float
        Counts added to each cell of a table of counts: of a column, of a pair, of a column given its parent.
    pooled : bool
        Draw columns toward the table (see :class:`IndependentColumns`), and a column given its parent toward itself, by
        ``smoothing`` counts.
    most_columns : int
        Of more columns those that vary most are in the tree, the others independent: pairs need memory by their square.

    Examples
    --------
    >>> tree = ChowLiuTree().fit([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]])
    >>> tree.parents_.tolist()
    [-1, 0, 0]
    """

    def __init__(self, smoothing: float = 1.0, pooled: bool = False, most_columns: int = MOST_PAIRED) -> None:
        self.smoothing, self.pooled, self.most_columns = smoothing, pooled, most_columns

    def __repr__(self) -> str:
        return f"ChowLiuTree({self.smoothing}, pooled={self.pooled}, most_columns={self.most_columns})"

    def fit(self, X: Any, sample_weight: Any = None) -> ChowLiuTree:
        """Count pairs, grow the tree."""
        _check_smoothing(self.smoothing)
        source = self._learn_from(X, sample_weight)
        a = self.smoothing
        alone = IndependentColumns(a, self.pooled).fit(source).probs_
        members = np.arange(len(alone))
        if len(alone) > self.most_columns:
            members = np.sort(np.argsort(-alone * (1 - alone), kind="stable")[: self.most_columns])
        counts = _pair_tables(_pair_counts(source, members))
        # The spanning tree of least weight skips zeros, so information enters as a positive cost.
        information = _mutual_information((counts + a) / (counts.sum(axis=0) + 4 * a))
        cost = information.max() + 1.0 - information
        np.fill_diagonal(cost, 0.0)
        order, parents = breadth_first_order(minimum_spanning_tree(sp.csr_array(cost)), 0, directed=False)
        self.parents_ = np.full(len(alone), -1)
        self.on_given_ = np.repeat(alone[:, None], 2, axis=1)
        for j in order[1:]:
            table = counts[:, j, parents[j]]  # of (j, parent) = 00, 01, 10, 11
            toward = 2 * a * alone[members[j]] if self.pooled else a
            self.parents_[members[j]] = members[parents[j]]
            off, on = table[0] + table[2] + 2 * a, table[1] + table[3] + 2 * a
            self.on_given_[members[j]] = (table[2] + toward) / off, (table[3] + toward) / on
        others = np.setdiff1d(np.arange(len(alone)), members)
        self.order_ = np.concatenate((members[order], others))  # parents before children; several have none
        self._model, self._params = TreeModel(), TreeParams(self.parents_, self.on_given_, self.order_)
        return self


def _pieces(block: Block) -> Any:
    """Codes of a block, some rows at a time, so that messages do not fill the memory."""
    step = max(1, 2**19 // max(1, block.n_columns))
    for low in range(0, block.n_rows, step):
        yield block.codes(low, min(low + step, block.n_rows))


def _check_smoothing(smoothing: float) -> None:
    """Without smoothing an unseen value would have probability zero."""
    if not smoothing > 0:
        raise InputError(f"smoothing must be above 0; got {smoothing!r}.")


class _PairCounts(NamedTuple):
    """Weight of rows, for every pair of columns (D, D), in which ..."""

    both: Any  # both are 1
    first: Any  # the first is 1 and the second known
    known: Any  # both are known


def _pair_counts(source: Source, columns: Any) -> _PairCounts:
    """Counts of all pairs of some columns."""
    total: _PairCounts = sweep_of(source, 1).map(_BlockPairs(columns), [None] * source.n_blocks, keep_rows=False)[0]
    return total


class _BlockPairs:
    """Pair counts of a block, from its marks alone."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __call__(self, block: Block, rows: None) -> tuple[_PairCounts, None]:
        return _block_pairs(block, self.columns), None


def _block_pairs(block: Block, columns: Any) -> _PairCounts:
    """Pair counts of a block, from its marks alone."""
    shape = (block.n_rows, len(columns))
    weights = block.row_weights()[:, None]
    ones = _matrix(*block.ones.lists(), block.n_columns)[:, columns]
    heavy = ones.multiply(weights).tocsr()
    both = (heavy.T @ ones).toarray()
    first = np.repeat(np.diag(both)[:, None], shape[1], axis=1)
    known = np.full((shape[1], shape[1]), float(weights.sum()))
    if block.unknown is not None:
        unknown = _matrix(*block.unknown.lists(), block.n_columns)[:, columns]
        hidden = (unknown.multiply(weights).tocsr().T @ unknown).toarray()
        blank = np.diag(hidden)
        first = first - (heavy.T @ unknown).toarray()
        known = known - blank[:, None] - blank[None, :] + hidden
    return _PairCounts(both, first, known)


def _matrix(indptr: Any, indices: Any, n_columns: int) -> Any:
    """Marks as a sparse matrix."""
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, n_columns))


def _pair_tables(counts: _PairCounts) -> Any:
    """Counts (4, D, D) of column pairs: 00, 01, 10, 11."""
    both, first, known = counts
    return np.maximum(np.stack([known - first - first.T + both, first.T - both, first - both, both]), 0.0)


def _mutual_information(tables: Any) -> Any:
    """Mutual information (D, D) of column pairs, each with the shares (4, D, D) of its own rows."""
    first, second = tables[2] + tables[3], tables[1] + tables[3]
    products = np.stack([(1 - first) * (1 - second), (1 - first) * second, first * (1 - second), first * second])
    return (tables * np.log(tables / products)).sum(axis=0)
