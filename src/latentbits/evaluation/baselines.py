"""Independent columns: what every family has to beat, beside the tree of Chow and Liu (:class:`latentbits.ChowLiuTree`).

They are counted with Laplace smoothing, score rows in nats and fill cells; unknown cells drop out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from ..data.block import Block, Float
from ..data.reading import Reading
from ..data.source import Source, open_source
from ..engine.ask import Asked
from ..engine.protocols import Causes, CellAnswers, Places
from ..engine.sweep import sweep_of
from ..errors import InputError


class Baseline:
    """A model and its parameters that keep the contract for answers, asked like every family."""

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
        """Log-likelihood of the known cells of every row.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of nats

        Examples
        --------
        >>> from latentbits.evaluation import IndependentColumns
        >>> IndependentColumns().fit([[1, 0], [1, None], [0, 0]]).score_samples([[1, 0], [0, 0]]).shape
        (2,)
        """
        return self._ask(X).by_rows("log_prob")

    def score(self, X: Any) -> float:
        """Mean log-likelihood per row.

        Parameters
        ----------
        X : table

        Returns
        -------
        float

        Examples
        --------
        >>> from latentbits.evaluation import IndependentColumns
        >>> IndependentColumns().fit([[1, 0], [1, None], [0, 0]]).score([[1, 0]]) < 0
        True
        """
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
        """Count.

        Parameters
        ----------
        X : table
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        IndependentColumns

        Examples
        --------
        >>> IndependentColumns().fit([[1, 0], [1, None], [0, 0]]).probs_.shape
        (2,)
        """
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


def _check_smoothing(smoothing: float) -> None:
    """Without smoothing an unseen value would have probability zero."""
    if not smoothing > 0:
        raise InputError(f"smoothing must be above 0; got {smoothing!r}.")
