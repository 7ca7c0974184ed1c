"""The two models that every family has to beat: independent columns and the Chow-Liu tree.

Both count with Laplace smoothing and score rows in nats.  Independent columns leave unknown cells out; the tree needs
complete rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from ..data.block import Block
from ..data.source import Source, open_source
from ..engine.stats import TreeSum
from ..errors import InputError


class IndependentColumns:
    """Every column on its own.

    Parameters
    ----------
    smoothing : float
        Counts added to the ones and to the zeros of every column.

    Examples
    --------
    >>> model = IndependentColumns(smoothing=1.0).fit([[0, 1], [1, 1], [0, 1]])
    >>> model.probs_.round(2).tolist()
    [0.4, 0.8]
    """

    def __init__(self, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing

    def fit(self, X: Any, sample_weight: Any = None) -> IndependentColumns:
        """Count."""
        _check_smoothing(self.smoothing)
        source = open_source(X, owner="IndependentColumns", sample_weight=sample_weight)
        ones, seen = np.zeros(source.shape[1]), np.zeros(source.shape[1])
        for b in range(source.n_blocks):
            block = source.block(b)
            weights = block.row_weights()[:, None]
            ones += block.ones.t_dot(weights)[:, 0]
            seen += weights.sum()
            if block.unknown is not None:
                seen -= block.unknown.t_dot(weights)[:, 0]
        self.probs_ = (ones + self.smoothing) / (seen + 2 * self.smoothing)
        return self

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of every row."""
        source = _same_columns(open_source(X, owner="IndependentColumns"), len(self.probs_))
        log_on, log_off = np.log(self.probs_), np.log1p(-self.probs_)
        parts = []
        for b in range(source.n_blocks):
            block = source.block(b)
            scores = block.ones.dot((log_on - log_off)[:, None])[:, 0] + log_off.sum()
            if block.unknown is not None:
                scores -= block.unknown.dot(log_off[:, None])[:, 0]
            parts.append(scores)
        return np.concatenate(parts)

    def score(self, X: Any) -> float:
        """Mean log-likelihood per row."""
        return float(self.score_samples(X).mean())


class ChowLiuTree:
    """The tree of column pairs with the most mutual information (Chow & Liu 1968).

    Parameters
    ----------
    smoothing : float
        Counts added to each cell of a table of counts: of a column, of a pair, of a column given its parent.
    """

    def __init__(self, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing

    def fit(self, X: Any, sample_weight: Any = None) -> ChowLiuTree:
        """Count pairs, grow the tree."""
        _check_smoothing(self.smoothing)
        source = open_source(X, owner="ChowLiuTree", sample_weight=sample_weight)
        both, n = _pair_counts(source)
        ones = np.diag(both).copy()
        a = self.smoothing
        counts = _pair_tables(both, ones, n)
        information = _mutual_information((counts + a) / (n + 4 * a), (ones + 2 * a) / (n + 4 * a))
        # The spanning tree of least weight skips zeros, so information enters as a positive cost.
        cost = information.max() + 1.0 - information
        np.fill_diagonal(cost, 0.0)
        tree = minimum_spanning_tree(sp.csr_array(cost))
        order, parents = breadth_first_order(tree, 0, directed=False)
        self.parents_ = np.where(parents == -9999, -1, parents)
        self.order_ = order
        self.root_prob_ = float((ones[0] + a) / (n + 2 * a))
        on_given = np.empty((len(ones), 2))
        for j in order[1:]:
            up = self.parents_[j]
            table = counts[:, j, up] + a  # of (j, parent) = 00, 01, 10, 11
            on_given[j] = table[2] / (table[0] + table[2]), table[3] / (table[1] + table[3])
        on_given[0] = self.root_prob_
        self.on_given_ = on_given
        return self

    def score_samples(self, X: Any) -> Any:
        """Log-likelihood of every row; the rows must be complete."""
        source = _same_columns(open_source(X, owner="ChowLiuTree"), len(self.parents_))
        parents = np.where(self.parents_ < 0, 0, self.parents_)
        parts = []
        for b in range(source.n_blocks):
            block = source.block(b)
            if block.unknown is not None:
                raise InputError("ChowLiuTree: rows with unknown cells cannot be scored; pass complete rows.")
            cells = block.ones.dense()
            on = np.where(cells[:, parents] == 1, self.on_given_[:, 1], self.on_given_[:, 0])
            on[:, 0] = self.root_prob_
            parts.append(np.log(np.where(cells == 1, on, 1 - on)).sum(axis=1))
        return np.concatenate(parts)

    def score(self, X: Any) -> float:
        """Mean log-likelihood per row."""
        return float(self.score_samples(X).mean())


def _check_smoothing(smoothing: float) -> None:
    """Without smoothing an unseen value would have probability zero."""
    if not smoothing > 0:
        raise InputError(f"smoothing must be above 0; got {smoothing!r}.")


def _same_columns(source: Source, n_columns: int) -> Source:
    """The source, if it has as many columns as were fitted."""
    if source.shape[1] != n_columns:
        raise InputError(f"the table has {source.shape[1]} columns; the model was fitted to {n_columns}.")
    return source


def _pair_counts(source: Source) -> tuple[Any, float]:
    """Weight of the rows in which two columns are both 1 (D, D), and of all rows; complete tables only."""
    tree = TreeSum(source.n_blocks)
    for b in range(source.n_blocks):
        tree.put(b, _block_pairs(source.block(b)))
    counts, total = tree.total()
    return counts, total


def _block_pairs(block: Block) -> tuple[Any, float]:
    """Pair counts of a block."""
    if block.unknown is not None:
        raise InputError("ChowLiuTree: the table has unknown cells; pair counts need complete rows.")
    indptr, indices = block.ones.lists()
    ones = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(block.n_rows, block.n_columns))
    weights = block.row_weights()
    weighted = ones.multiply(weights[:, None]).tocsr()
    return (weighted.T @ ones).toarray(), float(weights.sum())


def _pair_tables(both: Any, ones: Any, n: float) -> Any:
    """Counts (4, D, D) of column pairs: 00, 01, 10, 11."""
    first, second = ones[:, None], ones[None, :]
    return np.stack([n - first - second + both, second - both, first - both, both])


def _mutual_information(tables: Any, single: Any) -> Any:
    """Mutual information (D, D) of column pairs."""
    on, off = single, 1 - single
    products = np.stack(
        [
            off[:, None] * off[None, :],
            off[:, None] * on[None, :],
            on[:, None] * off[None, :],
            on[:, None] * on[None, :],
        ]
    )
    return (tables * np.log(tables / products)).sum(axis=0)
