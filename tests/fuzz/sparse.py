"""Sparse tables of every format with damaged parts: refused, or read as a slow walk over the parts reads them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from latentbits.data.numbers import LARGEST
from latentbits.data.source import open_source
from latentbits.data.values import REALS
from latentbits.errors import LatentBitsError

from .families import CLASSES, FITTED, SUBJECTS, Subject, strict, warm

__all__ = ["check", "describe", "warm"]

FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")
PARTS = {
    "csr": ("indices", "indptr", "data"),
    "csc": ("indices", "indptr", "data"),
    "bsr": ("indices", "indptr", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
    "lil": ("rows", "data"),
    "dok": ("places",),
}
PLACES = (-1, -2, 5, 6, 12, 13, 10**6, 10**9, 2**31 - 1, -(2**31))
CELLS = (2, -1, 0.5, np.inf, -np.inf, np.nan, 1e300, 1, 0, 3)
KINDS = ("int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "bool", "complex64", "O", "U4")
METHODS = ("fit", "fit", "transform", "score", "impute", "predict_proba", "score_samples")
DAMAGES = ("none", "entry", "entry", "entry", "cut", "longer", "kind", "lost", "flat", "twice", "shape", "turned")


class BrokenError(Exception):
    """The parts do not make a table."""


class Draw:
    """A table, what was done to it, and what it is given to."""

    def __init__(self, number: int) -> None:
        self.rng = rng = np.random.default_rng([17, number])
        self.subject: Subject = SUBJECTS[number % len(SUBJECTS)]
        self.format = FORMATS[rng.integers(len(FORMATS))]
        self.old = bool(rng.random() < 0.5)
        self.method = str(rng.choice(METHODS))
        self.damages = [str(one) for one in rng.choice(DAMAGES, size=1 + (rng.random() < 0.2))]
        self.notes: list[str] = []
        table = self.subject.table if self.method == "fit" else self.subject.table[:6]
        if self.format == "dia" and rng.random() < 0.7:
            table = np.where(np.abs(np.subtract.outer(np.arange(len(table)), np.arange(table.shape[1]))) < 2, table, 0)
        kinds = ("float64", "float32", "int64", "uint8", *(("bool",) if self.subject.cells == "bits" else ()))
        table = table.astype(rng.choice(kinds))
        cls = getattr(sp, f"{self.format}_{'matrix' if self.old else 'array'}")
        made = sp.bsr_array(table, blocksize=(2, 1)) if self.format == "bsr" else table
        self.matrix = cls(made) if self.format != "bsr" else cls(made, blocksize=(2, 1))
        self.shape = self.matrix.shape
        for damage in self.damages:
            self._damage(damage)

    def __str__(self) -> str:
        kind = f"{self.format}_{'matrix' if self.old else 'array'}"
        return f"{self.subject.name}.{self.method}({kind}: {', '.join(self.notes) or 'as it is'})"

    def _damage(self, damage: str) -> None:
        """Do one thing to the parts of the table."""
        rng, X = self.rng, self.matrix
        if damage == "none":
            return
        if damage == "shape":
            n, d = self.shape
            shapes = [(n + 3, d), (n - 1, d), (n, d + 1), (n, d - 1), (n, 1), (d, n)]
            shapes += [(0, d), (n, 0), (-1, d), (n, d, 1), (n,)]
            X._shape = shapes[rng.integers(len(shapes))]
            self.notes.append(f"shape {X._shape}")
        elif self.format == "dok":
            self._damage_places(damage)
        elif self.format == "lil":
            self._damage_lists(damage)
        else:
            part = str(rng.choice(PARTS[self.format]))
            if getattr(X, part) is not None:  # lost before
                self._set_part(part, damage, np.array(getattr(X, part)))

    def _set_part(self, part: str, damage: str, values: np.ndarray) -> None:
        """Damage an array."""
        rng = self.rng
        if damage == "entry" and values.size:
            at = tuple(rng.integers(n) for n in values.shape)
            new = rng.choice(CELLS if part == "data" else PLACES)
            with np.errstate(all="ignore"):
                values[at] = np.asarray(new).astype(values.dtype)
            self.notes.append(f"{part}{list(map(int, at))} = {values[at]}")
        elif damage in ("cut", "longer"):
            many = int(rng.integers(1, 4))
            values = values[:-many] if damage == "cut" else np.concatenate([values, values[:many]])
            self.notes.append(f"{part} {damage} by {many}")
        elif damage == "kind":
            kind = str(rng.choice(KINDS))
            with np.errstate(all="ignore"):
                values = values.astype(kind)
            self.notes.append(f"{part} as {kind}")
        elif damage == "lost":
            values = None
            self.notes.append(f"{part} lost")
        elif damage == "flat":
            values = values.reshape(1, -1) if rng.random() < 0.5 else values.ravel()
            self.notes.append(f"{part} of shape {values.shape}")
        elif damage == "twice" and len(values) > 1:
            values[1] = values[0]
            self.notes.append(f"{part}[1] = {part}[0]")
        elif damage == "turned":
            values = values[::-1]
            self.notes.append(f"{part} turned round")
        if part in ("row", "col") and hasattr(self.matrix, "coords"):
            coords = list(self.matrix.coords)
            coords[part == "col"] = values
            self.matrix.coords = tuple(coords)
        else:
            setattr(self.matrix, part, values)

    def _damage_lists(self, damage: str) -> None:
        """Damage the lists of a LIL table."""
        rng, X = self.rng, self.matrix
        i = int(rng.integers(len(X.rows)))
        junk = ([-1], [10**9], [5], None, 3, "ab", [1.5], ["1"], [[0]], [2**70], [0, 0], [])
        part = X.rows if rng.random() < 0.6 else X.data
        part[i] = junk[rng.integers(len(junk))]
        if damage in ("twice", "entry") and isinstance(part[i], list):
            other = X.data if part is X.rows else X.rows
            other[i] = [1] * len(part[i]) if other is X.data else list(range(len(part[i])))
        self.notes.append(f"row {i}: {X.rows[i]!r} and {X.data[i]!r}")

    def _damage_places(self, damage: str) -> None:
        """Damage the places of a DOK table."""
        junk = ((-1, 0), (0, -1), (10**9, 0), (0, 5), (0, 10**9), (0,), (0, 0, 0), (0.0, 1.0), ("a", 0), 3, (2**70, 0))
        values = (1, 1, 2, "x", None, 1j, np.nan, [1])
        place, value = junk[self.rng.integers(len(junk))], values[self.rng.integers(len(values))]
        self.matrix._dict[place] = value
        self.notes.append(f"{place!r} to {value!r}")


# --- the slow walk ---------------------------------------------------------------------------------------------------


def entries_of(X) -> list[tuple[int, int, float]]:
    """Row, column and value of everything stored, by plain Python."""
    shape = X.shape
    if len(shape) != 2 or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape):
        raise BrokenError("shape")
    walk = {
        "csr": _lists,
        "csc": _lists,
        "bsr": _blocks,
        "coo": _pairs,
        "lil": _rows,
        "dok": _places,
        "dia": _diagonals,
    }
    found = []
    for i, j, value in walk[X.format](X):
        if not (0 <= i < shape[0] and 0 <= j < shape[1]):
            raise BrokenError("place")
        found.append((int(i), int(j), value))
    return found


def _array(part, ndim: int, kinds: str) -> list:
    """The values of an array."""
    if not isinstance(part, np.ndarray) or part.ndim != ndim or part.dtype.kind not in kinds:
        raise BrokenError("part")
    return part.tolist()


def _starts(X, n_lists: int, n_places: int, n_values: int):
    """Pairs of list and position of a compressed table."""
    indptr, indices = _array(X.indptr, 1, "iu"), _array(X.indices, 1, "iu")
    if len(indptr) != n_lists + 1 or indptr[0] != 0 or indptr != sorted(indptr) or len(indices) != n_values:
        raise BrokenError("lists")
    if indptr[-1] > len(indices):
        raise BrokenError("lists")
    for k in range(n_lists):
        for p in range(indptr[k], indptr[k + 1]):
            if not 0 <= indices[p] < n_places:
                raise BrokenError("place")
            yield k, indices[p], p


def _lists(X):
    data = _array(X.data, 1, "biuf")
    n, d = X.shape if X.format == "csr" else X.shape[::-1]
    for k, place, p in _starts(X, n, d, len(data)):
        yield (k, place, data[p]) if X.format == "csr" else (place, k, data[p])


def _blocks(X):
    data = _array(X.data, 3, "biuf")
    high, wide = X.data.shape[1:]
    if high < 1 or wide < 1 or X.shape[0] % high or X.shape[1] % wide:
        raise BrokenError("blocks")
    for k, place, p in _starts(X, X.shape[0] // high, X.shape[1] // wide, len(data)):
        for a in range(high):
            for b in range(wide):
                yield k * high + a, place * wide + b, data[p][a][b]


def _pairs(X):
    parts = [_array(X.row, 1, "iu"), _array(X.col, 1, "iu"), _array(X.data, 1, "biuf")]
    if len({len(part) for part in parts}) != 1:
        raise BrokenError("lengths")
    yield from zip(*parts)


def _number(value):
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) or (isinstance(plain, int) and abs(plain) < 2**63):
        return plain
    raise BrokenError("value")


def _place(value) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise BrokenError("place")


def _rows(X):
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        raise BrokenError("rows")
    for i, (places, values) in enumerate(zip(X.rows, X.data)):
        if not isinstance(places, list) or not isinstance(values, list) or len(places) != len(values):
            raise BrokenError("row")
        for place, value in zip(places, values):
            yield i, _place(place), _number(value)


def _places(X):
    for place, value in X._dict.items():
        if not isinstance(place, tuple) or len(place) != 2:
            raise BrokenError("place")
        yield _place(place[0]), _place(place[1]), _number(value)


def _diagonals(X):
    offsets, data = _array(X.offsets, 1, "iu"), _array(X.data, 2, "biuf")
    if len(offsets) != len(data) or len(set(offsets)) != len(offsets) or max(offsets, default=0) >= 2**63:
        raise BrokenError("diagonals")
    for offset, diagonal in zip(offsets, data):
        for j, value in enumerate(diagonal[: X.shape[1]]):
            if value != 0 and 0 <= j - offset < X.shape[0]:
                yield j - offset, j, value


def cells_of(X) -> np.ndarray:
    """The table that the entries make."""
    entries = entries_of(X)
    out = np.zeros(X.shape)
    bits = X.format not in ("lil", "dok") and np.asarray(X.data).dtype == np.bool_
    for i, j, value in entries:
        both = {out[i, j], value} == {np.inf, -np.inf}
        with np.errstate(all="ignore"):
            out[i, j] = np.inf if both else max(out[i, j], value) if bits else out[i, j] + value
    return out


def acceptable(cells: np.ndarray, kind: str) -> bool:
    """Whether the cells are ones that the estimator takes."""
    if not cells.size:
        return False
    if kind == "bits":
        return bool(np.isin(cells[~np.isnan(cells)], (0, 1)).all())
    return bool((cells >= 0).all() and (cells <= LARGEST).all())


def check(number: int) -> str | None:
    """What is wrong with a draw, or None."""
    strict()
    draw = Draw(number)
    subject, X = draw.subject, draw.matrix
    try:
        cells = cells_of(X)
        good = acceptable(cells, subject.cells)
    except BrokenError:
        cells, good = np.zeros((0, 0)), False
    if subject.cells != "ratings":
        try:
            source = open_source(X, binarize=REALS if subject.cells == "numbers" else None)
        except LatentBitsError:
            if good:
                return "refused, though nothing is wrong with it"
        else:
            if not good:
                return "accepted, though the parts do not make a table of such cells"
            block = source.block(0)
            read = block.csr().toarray() if subject.cells == "numbers" else block.codes().astype(float)
            read = read if subject.cells == "numbers" else np.where(read == 2, np.nan, read)
            if not np.array_equal(read, cells, equal_nan=True):
                return f"read as {read.tolist()} instead of {cells.tolist()}"
    return _ask(draw, cells, good)


def _ask(draw: Draw, cells: np.ndarray, good: bool) -> str | None:
    """Give the table to the estimator, and the plain cells, too: the answers are the same."""
    first = _answer(draw, draw.matrix)
    if first is None or isinstance(first, LatentBitsError):
        return None
    if draw.subject.cells == "ratings" and cells.size:
        return None  # stored zeros are ratings, too, so that plain cells say something else
    if not good:
        return "answered, though the parts do not make a table of such cells"
    second = _answer(draw, cells)
    if isinstance(second, LatentBitsError):
        return f"answered, though the plain cells are refused: {second}"
    same = np.allclose(first, second, rtol=1e-6, atol=1e-8, equal_nan=True)
    return None if same else "answered otherwise than for the plain cells"


def _answer(draw: Draw, X) -> object:
    """An answer as numbers, or the error."""
    subject = draw.subject
    try:
        if draw.method == "fit":
            classes = (CLASSES[: X.shape[0]],) if subject.name.endswith("Classifier") else ()
            model = subject.make().fit(X, *classes)
            found = getattr(model, "components_", getattr(model, "scores_", None))
        elif hasattr(FITTED[subject.name], draw.method) and not subject.name.endswith("Classifier"):
            found = getattr(FITTED[subject.name], draw.method)(X)
        else:
            return None
    except LatentBitsError as error:
        return error
    return np.asarray(found.toarray() if sp.issparse(found) else found, float)


def describe(number: int) -> str:
    """A draw in words."""
    return str(Draw(number))
