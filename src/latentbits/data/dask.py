"""Dask arrays and frames as sources.

Blocks are cut on the same grid as for every other container and put together on the workers, from whatever
partitions they overlap.  Without a ``distributed`` client the blocks are computed here, one at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from operator import add
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from ..errors import ClusterError, InputError, LatentBitsError, TableWarning, need
from .block import Block, Float
from .checks import BadCells, Labels, check_shape, check_weights
from .convert import Binarize
from .giving_back import like, stays_sparse
from .matching import plan_of
from .readers import reader_of
from .reading import Reading
from .source import block_of_rows, cut, named
from .sparse import checked_csr


def assemble(
    pieces: list[Any],
    slices: list[tuple[int, int]],
    start: int,
    weights: Float | None,
    binarize: Binarize,
    merge: bool,
    owner: str,
    columns: list[str] | None,
    reading: Reading | None = None,
    wanted: list[str] | None = None,
) -> Block:
    """Build a block from slices of partitions; runs on a worker."""
    weights = None if weights is None else np.require(weights, requirements="A")  # the network does not care
    bad = BadCells()
    with named(owner), warnings.catch_warnings():  # columns too many are told of once, where the table is opened
        warnings.simplefilter("ignore", TableWarning)
        parts = [_rows(piece, low, high) for piece, (low, high) in zip(pieces, slices)]
        reader = reader_of(_joined(parts), binarize, reading, wanted)
        rows = reader.read(0, reader.shape[0], bad)
    if bad.count:
        bad.row += start
        bad.raise_if_any(owner, Labels(columns))
    block: Block = block_of_rows(start, rows, weights, merge)
    return block


def _rows(piece: Any, low: int, high: int) -> Any:
    """Rows of a partition."""
    if sp.issparse(piece):
        piece = checked_csr(piece)
    return piece.iloc[low:high] if hasattr(piece, "iloc") else piece[low:high]


def _joined(parts: list[Any]) -> Any:
    """Partitions of one kind under each other."""
    if len(parts) == 1:
        return parts[0]
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)
    return np.concatenate(parts)


LOST = ("CommClosedError", "KilledWorker", "ClosedClientError")


@contextmanager
def on_cluster(client: Any = None) -> Iterator[None]:
    """What is asked of a cluster inside: the loss of its scheduler, or of all workers, is told as such."""
    if _is_gone(client):  # what is asked of it now would wait for ever
        raise _lost(f"the client is {client.status}")
    try:
        yield
    except LatentBitsError:
        raise
    except Exception as error:
        if not (_is_gone(client) or isinstance(error, CancelledError) or type(error).__name__ in LOST):
            raise
        raise _lost(f"{type(error).__name__}: {str(error)[:200]}") from error


def _is_gone(client: Any) -> bool:
    """Whether a client has lost its scheduler."""
    return client is not None and client.status != "running"


def _lost(what: str) -> ClusterError:
    """The error that tells of the loss."""
    return ClusterError(
        f"the Dask cluster was lost ({what}). Start it anew and connect a new Client: a fit or a comparison with "
        "checkpoint=<path> then goes on from there when it is called again, and so does an exploration with --resume."
    )


class DaskSource:
    """Blocks of a Dask collection; ``delayed(b)`` is the recipe of a block, ``block(b)`` the block itself."""

    def __init__(
        self,
        partitions: list[Any],
        lengths: list[int],
        n_columns: int,
        columns: list[str] | None,
        owner: str,
        binarize: Binarize,
        block_rows: int | None,
        weights: Float | None,
        merge: bool,
        work: int,
        reading: Reading | None,
        wanted: list[str] | None,
    ) -> None:
        self.reading, self._wanted = reading, wanted
        self.shape = (int(sum(lengths)), n_columns)
        self.labels = Labels(columns)
        self.starts = cut(self.shape[0], block_rows, self.shape, work)
        self._partitions = partitions
        self._bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self._weights, self._binarize, self._merge, self._owner = weights, binarize, merge, owner

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    def merging(self) -> DaskSource:
        """Merge equal rows of every block into weights where that pays."""
        self._merge = True
        return self

    def delayed(self, b: int) -> Any:
        """The recipe of block ``b``."""
        import dask

        low, high = int(self.starts[b]), int(self.starts[b + 1])
        pieces, slices = [], []
        first = int(np.searchsorted(self._bounds, low, side="right")) - 1
        last = int(np.searchsorted(self._bounds, high, side="left"))
        for p in range(first, last):
            begin, end = int(self._bounds[p]), int(self._bounds[p + 1])
            if begin < high and end > low:  # not an empty partition
                pieces.append(self._partitions[p])
                slices.append((max(low - begin, 0), min(high, end) - begin))
        weights = None if self._weights is None else self._weights[low:high]
        columns = None if self.labels.columns is None else list(self.labels.columns)
        build = dask.delayed(assemble, pure=False)
        return build(
            pieces, slices, low, weights, self._binarize, self._merge, self._owner, columns, self.reading, self._wanted
        )

    def block(self, b: int) -> Block:
        """Block ``b``, computed now."""
        with on_cluster():
            out: Block = self.delayed(b).compute()
        return out


def dask_source(
    X: Any,
    owner: str,
    binarize: Binarize,
    block_rows: int | None,
    sample_weight: Any,
    merge: bool,
    work: int,
    reading: Reading | None = None,
    wanted: Sequence[str] | None = None,
) -> DaskSource:
    """Source of a Dask array or frame."""
    try:
        import dask
    except ImportError:
        raise need("dask", "dask", "A Dask table") from None
    columns: list[str] | None
    if _is_frame(X):
        partitions = list(X.to_delayed())
        with on_cluster():
            lengths = list(dask.compute(*[dask.delayed(len)(p) for p in partitions]))
        columns = _cells_of(X, reading, wanted)
        n_columns = len(columns)
    elif hasattr(X, "chunks") and getattr(X, "ndim", 0) == 2:
        X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
        partitions = list(X.to_delayed()[:, 0])
        columns, wanted = None, None
        lengths = list(X.chunks[0])
        if any(length != length for length in lengths):
            with on_cluster():
                lengths = list(dask.compute(*[dask.delayed(np.shape)(p) for p in partitions]))
            lengths = [shape[0] for shape in lengths]
        n_columns = X.shape[1]
    else:
        raise InputError("Expected 2D array or frame of Dask, got something else; stack it into two dimensions.")
    shape = (int(sum(lengths)), int(n_columns))
    check_shape(shape, owner)
    weights = check_weights(sample_weight, shape[0], owner)
    return DaskSource(
        partitions,
        [int(n) for n in lengths],
        shape[1],
        columns,
        owner,
        binarize,
        block_rows,
        weights,
        merge,
        work,
        reading,
        None if wanted is None else list(wanted),
    )


def _cells_of(X: Any, reading: Reading | None, wanted: Sequence[str] | None) -> list[str]:
    """Columns of a Dask frame that are cells, as a fitted model wants them."""
    how = Reading() if reading is None else reading
    return plan_of([str(name) for name in X.columns], how.encoding, _no_words, how.aside, wanted).names


def _no_words(j: int) -> NoReturn:
    """Refuse indicators whose values would have to be looked for on the workers."""
    raise InputError("indicators of a Dask frame need their values to be known; make them in the frame first.")


class Outline(NamedTuple):
    """What is known of a Dask table before any of it is computed; rows that were not counted are -1."""

    shape: tuple[int, int]
    labels: Labels


def outline(X: Any, reading: Reading | None = None, wanted: Sequence[str] | None = None) -> Outline:
    """Columns, and where they are known rows, of a Dask array or frame."""
    if _is_frame(X):
        names = _cells_of(X, reading, wanted)
        return Outline((-1, len(names)), Labels(names))
    if getattr(X, "ndim", 0) != 2:
        raise InputError("Expected 2D array or frame of Dask, got something else; stack it into two dimensions.")
    n_rows = X.shape[0]
    return Outline((int(n_rows) if n_rows == n_rows else -1, int(X.shape[1])), Labels(None))


def _is_frame(X: Any) -> bool:
    """Whether a Dask collection is a frame."""
    return hasattr(X, "to_delayed") and hasattr(X, "columns")


def by_partition(X: Any, answer: Callable[[Any, int], Any], names: Any) -> Any:
    """The Dask table whose partitions are ``answer(partition, its first row)``; nothing is computed yet.

    Rows are counted only when a partition is computed, as far as Dask does not know their number.
    """
    parts, known = _recipes(X, answer)
    return _frame_of(X, parts, names) if _is_frame(X) else _array_of(X, parts, known)


def by_partition_rows(X: Any, answer: Callable[[Any, int], Any], example: Any) -> Any:
    """The Dask array of ``answer(partition, its first row)``, one entry per row as in ``example``; nothing is computed."""
    import dask.array as da

    parts, known = _recipes(X, answer)
    shape, meta = example.shape[1:], np.empty((0,) * example.ndim, example.dtype)
    pieces = [da.from_delayed(part, shape=(n, *shape), dtype=meta.dtype, meta=meta) for part, n in zip(parts, known)]
    return da.concatenate(pieces, axis=0, allow_unknown_chunksizes=True)


def _recipes(X: Any, answer: Callable[[Any, int], Any]) -> tuple[list[Any], list[Any]]:
    """Recipes of the answers about the partitions, and the numbers of their rows, NaN where they are not known."""
    import dask

    frame = _is_frame(X)
    X = X if frame or len(X.chunks[1]) == 1 else X.rechunk({1: -1})
    pieces = list(X.to_delayed()) if frame else list(X.to_delayed()[:, 0])
    known = [np.nan] * len(pieces) if frame else list(X.chunks[0])
    held, run, count = dask.delayed(answer), dask.delayed(_answered), dask.delayed(_n_rows)
    parts: list[Any] = []
    start: Any = 0
    for piece, n in zip(pieces, known):
        parts.append(run(held, piece, start))
        start = start + int(n) if n == n and isinstance(start, int) else dask.delayed(add)(start, count(piece))
    return parts, known


def _answered(answer: Callable[[Any, int], Any], piece: Any, start: int) -> Any:
    """The answer about a partition; runs on a worker."""
    return answer(piece, start)


def _n_rows(piece: Any) -> int:
    """Rows of a partition."""
    return int(piece.shape[0])


def _frame_of(X: Any, parts: list[Any], names: Any) -> Any:
    """Partitions as a Dask frame that is divided as X is."""
    import dask.dataframe as dd

    shape = (0, len(X.columns) if names is None else len(names))
    empty = like(X._meta, sp.csr_array(shape) if stays_sparse(X) else np.empty(shape), names)
    divisions = X.divisions if X.known_divisions else None
    return dd.from_delayed(parts, meta=empty, divisions=divisions, verify_meta=False)


def _array_of(X: Any, parts: list[Any], lengths: list[Any]) -> Any:
    """Partitions as a Dask array that is cut as X is."""
    import dask.array as da

    # Early releases put matrices under each other, but not sparse arrays; only here, where nothing is computed.
    meta = sp.csr_matrix((0, 0)) if stays_sparse(X) else np.empty((0, 0))
    pieces = [
        da.from_delayed(part, shape=(n, X.shape[1]), dtype=np.float64, meta=meta) for part, n in zip(parts, lengths)
    ]
    return da.concatenate(pieces, axis=0, allow_unknown_chunksizes=True)
