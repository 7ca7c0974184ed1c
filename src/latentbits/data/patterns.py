"""Row patterns: equal rows of a whole table are counted once, before the first pass, and the passes run over patterns.

A narrow table of very many rows has far fewer different ones.  They are counted in a table in memory; what it has no room for
goes to a folder on disk, cut by the hashes of the rows, and is put together part by part.  Patterns are in the order of their
hashes, whatever the order of the rows, the container, and the memory.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..errors import StoreWarning
from .block import Block, Float, Lists, TileMarks
from .checks import BadCells, Labels
from .source import Source, TableSource
from .store import FOLDER_VARIABLE, MEMORY_VARIABLE, memory_budget, spill_folder

# Columns up to which a table is narrow: equal rows of wider ones are merged within blocks.
MOST_COLUMNS = 128
# Rows from which on patterns are looked for.  How the table is cut does not matter: starts differ, being drawn by pattern.
LEAST_ROWS = 2**16
# Patterns pay where they are at most this share of the rows.
PAYS_BELOW = 0.5
# Rows after which, and again at every doubling, it is asked whether patterns will pay.
FIRST_LOOK = 2**16
# Parts into which patterns on disk are cut.
N_PARTS = 64

Words = NDArray[np.uint64]


class Patterns(NamedTuple):
    """Different rows: their words (m, 2 W), total weights (m,) and how many rows of the table each stands for (m,)."""

    words: Words
    weights: Float
    counts: NDArray[np.int64]


def n_words(n_columns: int) -> int:
    """Words of a row, of its ones as of its unknown cells."""
    return -(-n_columns // 64)


def words_of(block: Block) -> Words:
    """The stored rows of a block (n, 2 W), a bit per cell."""
    from .pattern_kernels import set_bits

    width = n_words(block.n_columns)
    words = np.zeros((block.n_rows, 2 * width), "<u8")
    for first, marks in ((0, block.ones), (width, block.unknown)):
        if isinstance(marks, TileMarks):
            bits = np.packbits(marks.cells, axis=1, bitorder="little")
            words.view(np.uint8)[:, 8 * first : 8 * first + bits.shape[1]] = bits
        elif marks is not None:
            set_bits(*marks.lists(), first, words)
    return words


def expected_patterns(n_seen: int, n_different: int, n_rows: int) -> float:
    """At least so many patterns among ``n_rows`` rows when ``n_seen`` of them had ``n_different``.

    As many as there would be if all patterns were equally frequent; if they are not, rare ones are still to come.

    Examples
    --------
    >>> round(expected_patterns(1000, 632, 10_000)), expected_patterns(1000, 1000, 5000)
    (999, 5000.0)
    """
    if n_different >= n_seen:
        return float(n_rows)
    low, high = float(n_different), float(n_seen) ** 2
    for _ in range(100):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if -middle * np.expm1(-n_seen / middle) < n_different else (low, middle)
    return float(-low * np.expm1(-n_rows / low))


class PatternTable:
    """Counts equal rows.

    Parameters
    ----------
    width : int
        Words of a row.
    memory : int
        Bytes that the table may take before patterns go to disk.
    """

    def __init__(self, width: int, memory: int | None = None) -> None:
        self.width = width
        self.room = memory_budget() // 4 if memory is None else memory
        self._folder: Path | None = None
        self._empty(2**12)

    def _empty(self, n_places: int) -> None:
        """A new table."""
        self.keys = np.zeros((n_places, self.width), np.uint64)
        self.totals, self.numbers = np.zeros(n_places), np.zeros(n_places, np.int64)
        self.used = 0

    @property
    def spilled(self) -> bool:
        """Whether patterns are on disk: how many different ones there are is then known in the end only."""
        return self._folder is not None

    def add(self, part: Patterns) -> None:
        """Count rows."""
        from .pattern_kernels import add_rows

        first = 0
        while first < len(part.words):
            first, self.used = add_rows(*part, first, self.keys, self.totals, self.numbers, self.used)
            if first < len(part.words):
                self._grow()

    def _grow(self) -> None:
        """Make room for more patterns: a table of twice the size, or, if that is too large, on disk."""
        held, n_places = self.held(), 2 * len(self.keys)
        if n_places * (8 * self.width + 16) <= max(self.room, 2**16):
            self._empty(n_places)
            self.add(held)
        else:
            self._spill(held)
            self._empty(len(self.keys))

    def held(self) -> Patterns:
        """What is in memory, in the order of the table."""
        full = self.numbers > 0
        return Patterns(self.keys[full], self.totals[full], self.numbers[full])

    def _spill(self, held: Patterns) -> None:
        """Put patterns on disk, those with the first hashes first."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="latentbits-", dir=spill_folder()))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        held, hashes = _sorted(held)
        bounds = np.searchsorted(hashes >> np.uint64(64 - N_PARTS.bit_length() + 1), np.arange(N_PARTS + 1))
        for p in range(N_PARTS):
            mine = slice(bounds[p], bounds[p + 1])
            with open(self._folder / f"{p}.part", "ab") as file:
                np.column_stack(
                    (held.words[mine], held.weights[mine].view(np.uint64), held.counts[mine].view(np.uint64))
                ).tofile(file)

    def result(self) -> Iterator[Patterns]:
        """All patterns by their hashes, in parts; the table is empty then."""
        if self._folder is None:
            yield _sorted(self.held())[0]
            self._empty(2)
            return
        self._spill(self.held())
        self._empty(2)
        for p in range(N_PARTS):
            rows = np.fromfile(self._folder / f"{p}.part", np.uint64).reshape(-1, self.width + 2)
            part = PatternTable(self.width, 2**62)
            columns = (np.ascontiguousarray(rows[:, column]) for column in (-2, -1))
            weights, counts = next(columns).view(np.float64), next(columns).view(np.int64)
            part.add(Patterns(np.ascontiguousarray(rows[:, : self.width]), weights, counts))
            yield _sorted(part.held())[0]


def _sorted(found: Patterns) -> tuple[Patterns, NDArray[np.uint64]]:
    """Patterns by their hashes, and the hashes; different ones with one hash by their words."""
    from .pattern_kernels import hash_words

    hashes = np.empty(len(found.words), np.uint64)
    hash_words(found.words, hashes)
    order = np.lexsort((*found.words.T[::-1], hashes)) if len(hashes) else np.empty(0, np.int64)
    return Patterns(found.words[order], found.weights[order], found.counts[order]), hashes[order]


class PatternReader:
    """Patterns as a table of their own; ``lazy`` if they are on disk."""

    def __init__(self, found: Patterns, n_columns: int, labels: Labels, lazy: bool) -> None:
        self.found, self.labels, self.lazy = found, labels, lazy
        self.shape = (len(found.words), n_columns)

    def read(self, low: int, high: int, bad: BadCells) -> Lists:
        """Index lists of some patterns."""
        from .pattern_kernels import listed

        words, out = np.asarray(self.found.words[low:high]), []
        for first in (0, n_words(self.shape[1])):
            counts = np.empty(len(words), np.int64)
            n_marked = int(np.bitwise_count(words[:, first : first + n_words(self.shape[1])]).sum())
            columns = np.empty(n_marked, np.int32)
            listed(words, first, self.shape[1], counts, columns)
            out += [np.concatenate(([0], np.cumsum(counts))), columns]
        return Lists(out[0], out[1], out[2], out[3], self.shape[1])


class PatternSource(TableSource):
    """Patterns cut into blocks; each stands for the rows that are equal to it."""

    def __init__(
        self, found: Patterns, like: Source, lazy: bool, owner: str, block_rows: int | None, work: int
    ) -> None:
        self.counts, self.n_table_rows = found.counts, like.shape[0]
        reader: Any = PatternReader(found, like.shape[1], like.labels, lazy)
        super().__init__(reader, owner, block_rows, found.weights, False, work)
        self.reading = getattr(like, "reading", None)

    def _build_block(self, b: int, bad: BadCells) -> Block:
        block = super()._build_block(b, bad)
        counts = np.asarray(self.counts[self.starts[b] : self.starts[b + 1]])
        return Block(block.start, block.ones, block.unknown, block.weights, None, counts)


class DaskPatternSource(PatternSource):
    """The same for the workers of a cluster."""

    def delayed(self, b: int) -> Any:
        """The recipe of block ``b``."""
        import dask

        return dask.delayed(self.block(b))


def _rows_of(source: Any) -> Iterable[Patterns]:
    """The rows of a source as patterns, block by block, in order."""
    if not hasattr(source, "delayed"):
        return (_of_block(source.block(b)) for b in range(source.n_blocks))
    return _rows_of_dask(source)


def _rows_of_dask(source: Any) -> Iterator[Patterns]:
    """The same, counted on the workers: what is different in every block comes here, some blocks at a time."""
    import dask

    from .dask import on_cluster

    count = dask.delayed(_counted, pure=False)
    for low in range(0, source.n_blocks, 32):
        recipes = [count(source.delayed(b)) for b in range(low, min(low + 32, source.n_blocks))]
        with on_cluster():
            yield from dask.compute(*recipes)


def _of_block(block: Block) -> Patterns:
    """The stored rows of a block as patterns, equal ones several times."""
    return Patterns(words_of(block), block.row_weights(), block.repeats)


def _counted(block: Block) -> Patterns:
    """The different rows of a block; runs on a worker."""
    table = PatternTable(2 * n_words(block.n_columns), 2**62)
    table.add(_of_block(block))
    return table.held()


def counted_patterns(source: Any) -> PatternTable | None:
    """The patterns of a source, or None if they do not pay."""
    n_rows, n_columns = source.shape
    table = PatternTable(2 * n_words(n_columns))
    n_seen, next_look = 0, FIRST_LOOK
    for part in _rows_of(source):
        table.add(part)
        n_seen += int(part.counts.sum())
        if n_seen >= next_look and not table.spilled:
            next_look = 2 * n_seen
            if expected_patterns(n_seen, table.used, n_rows) > PAYS_BELOW * n_rows:
                return None
    return None if not table.spilled and table.used > PAYS_BELOW * n_rows else table


_KNOWN: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # by source: its patterns, or None; they are counted once


def patterned(source: Any, owner: str = "latentbits", block_rows: int | None = None, work: int = 1) -> Source | None:
    """The patterns of a source as a source, or None where they would not pay.

    Parameters
    ----------
    source : Source
        A table of cells, opened without merging.
    owner, block_rows, work
        As in :func:`~latentbits.data.source.open_source`.

    Examples
    --------
    >>> from latentbits.data.source import open_source
    >>> source = open_source(np.tile([[0, 1], [1, 1]], (50_000, 1)))
    >>> found = patterned(source)
    >>> found.shape, found.block(0).weights.tolist()
    ((2, 2), [50000.0, 50000.0])
    """
    if source.shape[0] < LEAST_ROWS or source.shape[1] > MOST_COLUMNS:
        return None
    if source not in _KNOWN:
        _KNOWN[source] = _source_of_patterns(source, owner, block_rows, work)
    found: Source | None = _KNOWN[source]
    return found


def _source_of_patterns(source: Any, owner: str, block_rows: int | None, work: int) -> Source | None:
    """Count, and make a source of what was found."""
    try:
        table = counted_patterns(source)
        if table is None:
            return None
        lazy = table.spilled
        found = _on_disk(table) if lazy else next(table.result())
    except OSError as error:
        warnings.warn(
            f"{spill_folder() or tempfile.gettempdir()} does not take the patterns that memory has no room for "
            f"({error.strerror or error}); equal rows are merged within blocks only. Raise {MEMORY_VARIABLE}, or name "
            f"another folder by {FOLDER_VARIABLE}.",
            StoreWarning,
            stacklevel=2,
        )
        return None
    kind = DaskPatternSource if hasattr(source, "delayed") else PatternSource
    if len(found.words) > PAYS_BELOW * source.shape[0]:
        return None
    return kind(found, source, lazy, owner, block_rows, work)


def _on_disk(table: PatternTable) -> Patterns:
    """The patterns of a table as memory maps."""
    folder = Path(tempfile.mkdtemp(prefix="latentbits-", dir=spill_folder()))
    names = [folder / name for name in ("words", "weights", "counts")]
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(open(name, "wb")) for name in names]
            for part in table.result():
                for array, file in zip(part, files):
                    np.ascontiguousarray(array).tofile(file)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    words = np.memmap(names[0], np.uint64, "r").reshape(-1, table.width)
    weights, counts = np.memmap(names[1], np.float64, "r"), np.memmap(names[2], np.int64, "r")
    weakref.finalize(words.base, shutil.rmtree, folder, ignore_errors=True)
    return Patterns(words, weights, counts)
