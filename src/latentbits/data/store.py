"""The block store: what a lazy reader yields is decoded once and kept packed, in memory up to a budget, then on disk.

Rows are kept in *pieces*, each as index lists with the narrowest numbers that can name the columns, or as bits where that is
shorter.  Pieces are decoded in order, one thread ahead of those who read, so that a row group of a file is read once.  The
folder for pieces that memory has no room for is made when the first of them comes, and goes with the store.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import warnings
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, InputError, StoreWarning
from .block import ONE, UNKNOWN, Codes, Index, Lists, Pointer
from .checks import BadCells

# Cells of a piece, at most, and however little memory there is: what is held of a table while it is decoded.
PIECE_CELLS, LEAST_CELLS = 2**24, 2**18
# How much is kept in all, and where: environment variables.
MEMORY_VARIABLE, FOLDER_VARIABLE = "LATENTBITS_MEMORY", "LATENTBITS_SPILL"
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def bytes_of(text: str | float) -> int:
    """A number of bytes given as a number or in words.

    Examples
    --------
    >>> bytes_of("2 GB"), bytes_of("512MiB"), bytes_of(1000)
    (2000000000, 536870912, 1000)
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", str(text).lower())
    if found is None or found[2] not in UNITS:
        raise InputError(f"an amount of memory is a number of bytes such as '2 GB' or '512 MiB'; got {text!r}.")
    return int(float(found[1]) * UNITS[found[2]])


def memory_budget() -> int:
    """Bytes that a table read from a file may take: ``LATENTBITS_MEMORY``, else a quarter of the machine's memory."""
    given = os.environ.get(MEMORY_VARIABLE, "").strip()
    if given:
        try:
            return bytes_of(given)
        except InputError as error:
            raise InputError(f"{MEMORY_VARIABLE}: {error}") from None
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    except (AttributeError, OSError, ValueError):  # where nobody tells
        return 2 * 10**9


def packed_room() -> int:
    """Bytes for packed rows: an eighth of the budget.  Another is for blocks that are ready.

    The rest is for what is being decoded and worked on, and for freed memory that allocators keep, which was measured to be
    about as much as all of these together.
    """
    return memory_budget() // 8


def working_room() -> int:
    """Bytes for what is being decoded: a third of the budget."""
    return memory_budget() // 3


@contextmanager
def memory_limit(amount: str | float | None) -> Iterator[None]:
    """Inside, what tables may take in memory is this amount, in this process and in those that it starts; None: as before.

    Examples
    --------
    >>> with memory_limit("2 GB"):
    ...     memory_budget()
    2000000000
    """
    before = os.environ.get(MEMORY_VARIABLE)
    if amount is not None:
        os.environ[MEMORY_VARIABLE] = str(bytes_of(amount))
    try:
        yield
    finally:
        if amount is not None and before is None:
            del os.environ[MEMORY_VARIABLE]
        elif amount is not None and before is not None:
            os.environ[MEMORY_VARIABLE] = before


def spill_folder() -> str | None:
    """Where folders for what memory has no room for are made: ``LATENTBITS_SPILL``, else where temporary files go."""
    return os.environ.get(FOLDER_VARIABLE) or None


class Packed(NamedTuple):
    """Where the cells of some rows are of one kind: index lists (``indptr``, ``columns``), or ``bits``."""

    indptr: NDArray[Any] | None  # (n + 1,) uint32 or int64
    columns: NDArray[Any] | None  # uint8, uint16 or int32
    bits: NDArray[np.uint8] | None  # (n, D / 8)

    @property
    def n_bytes(self) -> int:
        """Size."""
        return sum(part.nbytes for part in self if part is not None)

    def lists(self, low: int, high: int, n_columns: int) -> tuple[Pointer, Index]:
        """Index lists of the rows from ``low`` to ``high``."""
        if self.bits is not None:
            from .kernels import list_marks

            cells = np.unpackbits(np.asarray(self.bits[low:high]), axis=1, count=n_columns)
            indptr = np.empty(high - low + 1, np.int64)
            return indptr, list_marks(cells, ONE, indptr)
        assert self.indptr is not None and self.columns is not None
        indptr = self.indptr[low : high + 1].astype(np.int64)
        columns = self.columns[indptr[0] : indptr[-1]].astype(np.int32)
        return indptr - indptr[0], columns


class Piece(NamedTuple):
    """Rows in the store; None where no cell is of the kind."""

    ones: Packed | None
    unknown: Packed | None

    @property
    def n_bytes(self) -> int:
        """Size."""
        return sum(part.n_bytes for part in self if part is not None)


def packed(codes: Codes, code: int) -> Packed | None:
    """The cells (n, D) that equal ``code``, in the shorter form; None if there are none."""
    from .kernels import count_marks, fill_marks

    n_rows, n_columns = codes.shape
    counts = np.zeros(n_rows, np.int64)
    by_column = codes.T if codes.flags.f_contiguous else np.ascontiguousarray(codes.T)
    count_marks(by_column, code, counts)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    if indptr[-1] == 0:
        return None
    width = 1 if n_columns <= 2**8 else 2 if n_columns <= 2**16 else 4
    if indptr[-1] * width + 4 * n_rows > n_rows * -(-n_columns // 8):
        return Packed(None, None, np.packbits(np.ascontiguousarray(codes == code), axis=1))
    columns = np.empty(indptr[-1], np.int32)
    fill_marks(by_column, code, indptr[:-1].copy(), columns)
    narrow = columns.astype({1: np.uint8, 2: np.uint16, 4: np.int32}[width])
    return Packed(indptr.astype(np.uint32 if indptr[-1] < 2**32 else np.int64), narrow, None)


class PieceStore:
    """Pieces of a table, in memory as long as there is room, then on disk.

    Parameters
    ----------
    memory : int
        Bytes of packed pieces that are kept in memory.
    folder : path, optional
        Where a folder for the others is made when the first of them comes; it goes with the store.
    """

    def __init__(self, memory: int, folder: str | os.PathLike[str] | None) -> None:
        self.memory, self.folder = memory, folder
        self.pieces: dict[int, Piece] = {}
        self.in_memory = self.on_disk = 0  # bytes
        self._spill: Path | None = None

    def put(self, p: int, piece: Piece) -> None:
        """Keep a piece; an OSError says that the disk does not take it."""
        if self.in_memory + piece.n_bytes <= self.memory:
            self.in_memory += piece.n_bytes
            self.pieces[p] = piece
            return
        if self._spill is None:
            self._spill = Path(tempfile.mkdtemp(prefix="latentbits-", dir=self.folder))
            weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
        try:
            self.pieces[p] = Piece(*[part and _mapped(part, f"{self._spill}/{p}.{i}") for i, part in enumerate(piece)])
        except OSError:
            for path in self._spill.glob(f"{p}.*"):
                path.unlink(missing_ok=True)
            raise
        self.on_disk += piece.n_bytes

    def refusal(self, error: OSError) -> str:
        """What the disk said, and where."""
        where = self._spill or self.folder or tempfile.gettempdir()
        return f"{where} does not take what memory has no room for ({error.strerror or error})"


def _of_pieces(pieces: list[Piece], bounds: list[tuple[int, int]], n_columns: int) -> Lists:
    """Index lists of some rows of every piece, one after the other."""
    parts: list[list[tuple[Pointer, Index]]] = [[], []]
    for piece, (begin, end) in zip(pieces, bounds):
        for kind, marks in enumerate(piece):
            nothing = np.zeros(end - begin + 1, np.int64), np.empty(0, np.int32)
            parts[kind].append(nothing if marks is None else marks.lists(begin, end, n_columns))
    return Lists(*_joined(parts[0]), *_joined(parts[1]), n_columns)


def _places(low: int, high: int, piece_rows: int) -> list[tuple[int, int, int]]:
    """Pieces in which the rows from ``low`` to ``high`` are, and which of their rows."""
    return [
        (p, max(low - p * piece_rows, 0), min(high - p * piece_rows, piece_rows))
        for p in range(low // piece_rows, -(-high // piece_rows))
    ]


def rows_of_piece(n_columns: int, memory: int) -> int:
    """Rows that are packed at a time: while that is done they take several bytes a cell."""
    return max(1, min(PIECE_CELLS, max(LEAST_CELLS, memory // 4)) // max(1, n_columns))


class StoredReader:
    """A reader of cells whose rows are decoded once.

    Parameters
    ----------
    reader : Reader
        The lazy reader of a file or memory map.
    memory : int, optional
        Bytes of packed pieces that are kept in memory; the others go to disk.  Default: an eighth of :func:`memory_budget`.
    folder : path, optional
        Where a folder for them is made; default: that of the environment variable ``LATENTBITS_SPILL``, or the machine's
        folder for temporary files.
    """

    lazy = True

    def __init__(self, reader: Any, memory: int | None = None, folder: str | os.PathLike[str] | None = None) -> None:
        self.reader, self.shape, self.labels = reader, reader.shape, reader.labels
        self.memory = packed_room() if memory is None else memory
        self.folder = spill_folder() if folder is None else folder
        self.piece_rows = rows_of_piece(self.shape[1], self.memory)
        self._forget()

    def _forget(self) -> None:
        """Begin with nothing decoded."""
        self.n_pieces = -(-self.shape[0] // self.piece_rows)
        self.store = PieceStore(self.memory, self.folder)
        self._lock = threading.Lock()
        self._decoder: ThreadPoolExecutor | None = None
        self._asked: dict[int, Future[Piece | None]] = {}
        self._keeps = True
        self._untold = ""  # why no more pieces are kept, until somebody has been told

    def __getattr__(self, name: str) -> Any:
        """What else is known of the file."""
        if name.startswith("_") or name in ("reader", "store"):
            raise AttributeError(name)
        return getattr(self.reader, name)

    def __getstate__(self) -> dict[str, Any]:
        names = ("reader", "shape", "labels", "memory", "folder", "piece_rows")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def read(self, low: int, high: int, bad: BadCells) -> Any:
        """Index lists of the rows; where cells cannot be read, what the reader itself says of them."""
        pieces, bounds = [], []
        for p, begin, end in _places(low, high, self.piece_rows):
            piece = self._piece(p)
            if piece is None:
                return self.reader.read(low, high, bad)
            pieces.append(piece)
            bounds.append((begin, end))
        return _of_pieces(pieces, bounds, self.shape[1])

    def _piece(self, p: int) -> Piece | None:
        """A piece, decoded if it has not been; None if it is not kept."""
        piece = self.store.pieces.get(p)
        if piece is None and self._keeps:
            asked = self._ask(p)
            if p + 1 < self.n_pieces and p + 1 not in self.store.pieces:
                self._ask(p + 1)  # while this one is worked on
            piece = asked.result()
            with self._lock:
                self._asked.pop(p, None)
        if self._untold:
            text, self._untold = self._untold, ""
            warnings.warn(text, StoreWarning, stacklevel=2)
        return piece

    def _ask(self, p: int) -> Future[Piece | None]:
        """Have a piece decoded: all of them by the same thread, which goes through the file once."""
        with self._lock:
            if self._decoder is None:
                self._decoder = ThreadPoolExecutor(1, "latentbits-reader")
            if p not in self._asked:
                self._asked[p] = self._decoder.submit(self._decode, p)
            return self._asked[p]

    def _decode(self, p: int) -> Piece | None:
        """Decode a piece and keep it."""
        if p in self.store.pieces or not self._keeps:
            return self.store.pieces.get(p)
        low, here = p * self.piece_rows, BadCells()
        codes = self.reader.read(low, min(low + self.piece_rows, self.shape[0]), here)
        if not isinstance(codes, np.ndarray) or codes.dtype != np.uint8:
            self._keeps = False  # numbers are read as they come
        if here.count or not self._keeps:
            return None
        try:
            self.store.put(p, piece_of(codes))
        except OSError as error:
            self._keeps = False
            self._untold = (
                f"{self.store.refusal(error)}; the rest of the table is decoded again at every pass. Raise "
                f"{MEMORY_VARIABLE}, or name another folder by {FOLDER_VARIABLE}."
            )
            return None
        return self.store.pieces[p]


class PackedRows:
    """Rows that come one after the other, of a file that is read once: kept packed, and a reader when all have come.

    Parameters
    ----------
    n_columns : int
    memory : int, optional
        As in :class:`StoredReader`.
    """

    lazy = True

    def __init__(self, n_columns: int, memory: int | None = None) -> None:
        self.store = PieceStore(packed_room() if memory is None else memory, spill_folder())
        self.piece_rows = rows_of_piece(n_columns, self.store.memory)
        self.shape = (0, n_columns)
        self.labels: Any = None
        self.reading: Any = None
        self.found = BadCells()

    def add(self, codes: Codes) -> None:
        """The next rows: as many as a piece has, and fewer only at the end."""
        if self.shape[0] % self.piece_rows:
            raise ValueError("rows came after the last piece")
        try:
            self.store.put(self.shape[0] // self.piece_rows, piece_of(codes))
        except OSError as error:
            raise FileError(
                f"{self.store.refusal(error)}. Raise {MEMORY_VARIABLE} (--memory), or name another folder by "
                f"{FOLDER_VARIABLE}."
            ) from None
        self.shape = (self.shape[0] + len(codes), self.shape[1])

    def read(self, low: int, high: int, bad: BadCells) -> Lists:
        """Index lists of the rows."""
        if low == 0 and self.found.count:
            bad.note(np.array([self.found.row]), np.array([self.found.column]), [self.found.value])
            bad.count, bad.columns = self.found.count, self.found.columns
        places = _places(low, high, self.piece_rows)
        pieces = [self.store.pieces[p] for p, _, _ in places]
        return _of_pieces(pieces, [(begin, end) for _, begin, end in places], self.shape[1])


def piece_of(codes: Codes) -> Piece:
    """Rows (n, D) packed."""
    return Piece(packed(codes, ONE), packed(codes, UNKNOWN))


def _mapped(part: Packed, name: str) -> Packed:
    """The same on disk, in files whose names begin so."""
    out: list[Any] = []
    for number, array in enumerate(part):
        if array is None:
            out.append(None)
            continue
        path = f"{name}.{number}.npy"
        np.save(path, array)
        out.append(np.load(path, mmap_mode="r") if array.size else array)
    return Packed(*out)


def _joined(parts: list[tuple[Pointer, Index]]) -> tuple[Pointer, Index]:
    """Index lists one after the other."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0, *[len(columns) for _, columns in parts]])
    pointers = [indptr[1:] + offset for (indptr, _), offset in zip(parts, offsets)]
    return np.concatenate([[0], *pointers]).astype(np.int64), np.concatenate([columns for _, columns in parts])


def stored(reader: Any) -> Any:
    """A lazy reader behind a store, others as they are."""
    if (
        not reader.lazy
        or isinstance(reader, (StoredReader, PackedRows))
        or isinstance(getattr(reader, "reader", None), (StoredReader, PackedRows))
    ):
        return reader
    return StoredReader(reader)
