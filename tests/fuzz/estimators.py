"""Estimators given wrong tables, weights, classes, cells and options: errors are ours, what is known to be wrong raises."""

from __future__ import annotations

import datetime
import decimal
import fractions
import inspect
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning, NotFittedError

from latentbits.errors import LatentBitsError, brief

from .families import CLASSES, FITTED, N_COLUMNS, N_ROWS, SUBJECTS, Subject, strict, warm

__all__ = ["check", "describe", "warm"]

FRAMES = ("pandas", "nullable", "polars", "lazy", "arrow")
# Values for a cell: which kinds of cells they are wrong for.
BOTH, ALL, FEW = {"bits", "numbers"}, {"bits", "numbers", "ratings"}, {"bits"}
CELLS = [
    (2, FEW), (-1, BOTH), (0.5, FEW), (37, FEW), (1e300, ALL), (1.0000001, FEW),
    (np.inf, ALL), (-np.inf, ALL), (np.nan, {"numbers"}), (None, {"numbers"}), (10**400, ALL), (-(10**400), ALL),
    ("x", ALL), ("1", ALL), ("", ALL), (b"1", ALL), ("0_1", ALL), (1j, ALL), (np.complex64(1), ALL),
    (datetime.date(2020, 1, 1), ALL), (np.datetime64("2020-01-01"), ALL), (np.timedelta64(1, "D"), ALL),
    (object(), ALL), ((), ALL), ([1], ALL), ({"a": 1}, ALL), (len, ALL), (decimal.Decimal(3), ALL),
    (fractions.Fraction(1, 3), ALL),
    (1, set()), (0, set()), (True, set()), (np.float16(1), set()), (np.int8(0), set()),
]  # fmt: skip
CONTAINERS = (
    "array", "fortran", "objects", "list", "tuple", "masked", "csr", "coo", "lil", "dok", "bsr", "dia", "csc",
    "pandas", "nullable", "sparse frame", "polars", "lazy", "arrow", "float32", "int64", "big-endian", "view", "memmap",
)  # fmt: skip
# Things that are no table at all.
NO_TABLES = [
    None, 5, 1.5, "no/such/file.csv", b"01", {"a": [0, 1]}, {0, 1}, len, object(), [], [[]], [[], []], [0, 1],
    [[0, 1], [1]],
    [[[0]]], np.zeros(4), np.zeros((2, 2, 2)), np.zeros((0, 5)), np.zeros((5, 0)), np.float64(1), np.matrix([[0, 1]]),
    np.zeros(3, dtype=[("a", int)]), np.array(None), np.array([["a", "b"]]), np.array([[b"a"]]), iter([[0, 1]]),
    (x for x in ()),
    np.array([["2020-01-01"]], "M8[D]"), sp.coo_array(np.ones(4)), sp.csr_array((0, 5)), float, Exception("x"),
    True, 1j,
]  # fmt: skip
WEIGHTS = [
    ([1.0] * N_ROWS, False), (np.arange(N_ROWS) + 1, False), (2.0, False), (None, False),
    (np.ones(N_ROWS, bool), False),
    ([-1.0] * N_ROWS, True), ([np.nan] * N_ROWS, True), ([np.inf] * N_ROWS, True), (np.zeros(N_ROWS), True),
    (np.ones(N_ROWS + 1), True), (np.ones((N_ROWS, 1)), True), (["1"] * N_ROWS, True), ([None] * N_ROWS, True),
    ("x", True),
    ([1j] * N_ROWS, True), (np.ones(N_ROWS, "M8[D]"), True), ({}, True), (object(), True),
    ([[1], [1, 2]], True), (-1.0, True),
    ([10**400] * N_ROWS, True), (np.ma.masked_all(N_ROWS), True), ([], True), (np.array("x"), True),
    (sp.eye_array(3), True),
]  # fmt: skip
JUNK = [
    -1, 0, 1, 2, 1.5, -0.5, "x", "", None, np.nan, np.inf, True, False, [], [0], [0, 1], [[0, 1]], (0, 0), {},
    {"a": 1}, object(),
    1j, b"x", np.zeros(2), np.zeros((2, 5)), np.full((2, 5), 0.5), np.full((2, 5), np.nan), np.array("x"), len,
    10**400, "auto",
    [1, 2, 3], ["a"], [None], [np.nan], [10**9], [-1], np.array([1j]), datetime.date(2020, 1, 1), "probability",
    "mean", -(10**9),
    [[0, 1], [0, 1]], ([0], [0]), ([0, 1], [0]), ([99], [99]), (["a"], ["b"]), float, set(), np.ma.masked,
    [[["x"]]], range(3),
]  # fmt: skip
# Methods that save, or that scikit-learn wrote.
LEFT_OUT = ("save",)


def in_container(table: np.ndarray, container: str):
    """The table (of objects) in a container; ValueError if it cannot hold its values."""
    rows = [list(row) for row in table]
    if container in ("objects", "list", "tuple"):
        return {"objects": lambda: table, "list": lambda: rows, "tuple": lambda: tuple(map(tuple, rows))}[container]()
    if container in ("pandas", "nullable", "sparse frame", "polars", "lazy", "arrow"):
        return _frame(rows, container)
    plain = np.array([[np.nan if value is None else value for value in row] for row in rows])
    if plain.dtype.kind == "O" or plain.shape != table.shape:
        raise ValueError("not of one kind")
    if container in ("csr", "coo", "lil", "dok", "bsr", "dia", "csc"):
        return sp.coo_array(plain).asformat(container)
    made = {
        "array": lambda: plain,
        "fortran": lambda: np.asfortranarray(plain),
        "masked": lambda: np.ma.MaskedArray(plain, np.zeros(plain.shape, bool)),
        "float32": lambda: plain.astype(np.float32),
        "int64": lambda: plain.astype(np.int64),
        "big-endian": lambda: plain.astype(plain.dtype.newbyteorder(">")),
        "view": lambda: np.repeat(plain, 2, axis=1)[:, ::2],
        "memmap": lambda: plain,
    }[container]()
    if container in ("float32", "int64") and (plain.dtype.kind == "c" or not np.array_equal(made, plain)):
        raise ValueError("other values")
    return made


def _frame(rows: list[list[object]], container: str):
    """A frame of columns."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    changed: tuple[type, ...] = (
        (complex, np.complexfloating, decimal.Decimal) if container in ("polars", "lazy", "arrow") else ()
    )
    if container == "sparse frame":
        changed = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)
        changed += (decimal.Decimal, fractions.Fraction)
    if any(isinstance(value, changed) for row in rows for value in row):
        raise ValueError("the package would make other values of them")
    columns = {f"c{j}": [row[j] for row in rows] for j in range(len(rows[0]))}
    if container == "arrow":
        return pa.table(columns)
    if container in ("polars", "lazy"):
        frame = pl.DataFrame(columns, strict=True)
        return frame.lazy() if container == "lazy" else frame
    frame = pd.DataFrame(columns)
    if container == "nullable":
        return frame.convert_dtypes()
    return frame.astype(pd.SparseDtype(float, 0.0)) if container == "sparse frame" else frame


class Draw:
    """An estimator, a method of it, and what it is given; ``wrong`` says that it must raise."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng([18, number])
        self.subject: Subject = SUBJECTS[self.rng.integers(len(SUBJECTS))]
        self.options: dict[str, object] = {}
        self.wrong, self.note = False, "good table"
        self.fits = self.rng.random() < 0.45
        self.X = self._table()
        self.given: dict[str, object] = {}
        if self.fits:
            self.method = str(self.rng.choice(["fit", "fit", "fit_transform", "partial_fit", "fit_predict"]))
            self._draw_options()
        else:
            self.method = str(self.rng.choice(methods_of(self.subject.name)))

    def pick(self, pool):
        """One of some."""
        return pool[self.rng.integers(len(pool))]

    def _table(self):
        """A table, often wrong."""
        kind, n_rows = self.subject.cells, N_ROWS if self.fits else int(self.rng.integers(1, 6))
        table = self.subject.table[:n_rows].astype(object)
        what = self.rng.random()
        if what < 0.25:
            self.wrong, self.note = True, "no table"
            X = self.pick(NO_TABLES)
            self.note += f" {type(X).__name__} {str(X)[:40]!r}"
            self.wrong = kind != "ratings" or not isinstance(X, np.matrix)
            return X
        if what < 0.75:
            value, wrong_for = self.pick(CELLS)
            table[int(self.rng.integers(len(table))), int(self.rng.integers(N_COLUMNS))] = value
            self.wrong, self.note = kind in wrong_for, f"cell {value!r:.30}"
        elif what < 0.8 and not self.fits and kind != "ratings":
            table, self.note, self.wrong = table[:, :-1], "a column less", True
        container = str(self.pick(CONTAINERS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = in_container(table, container)
            except Exception:  # packages refuse in their own ways to hold a value
                made, container = in_container(table, "objects"), "objects"
        if container in ("sparse frame",) or sp.issparse(made):
            # Cells are kept where they are; other packages may round what they store.
            self.note += " (sparse)"
        if self.note.endswith("a column less") and container in FRAMES:
            self.wrong = False  # columns have names there
        if kind == "bits" and container in FRAMES and self.note in ("cell '1'", "cell ''"):
            self.wrong = False  # text in frames is read as in files
        if container in ("polars", "lazy", "arrow") and self.note.startswith("cell Fraction"):
            self.wrong = False  # it is a number there
        if kind == "ratings" and (sp.issparse(made) or container == "sparse frame"):
            self.wrong = self.wrong and not self.note.startswith("cell nan")
        self.note += f" in {container}"
        return made

    def _draw_options(self) -> None:
        """One option of the constructor, sometimes."""
        if self.rng.random() < 0.35:
            names = sorted(self.subject.kind().get_params(deep=False))
            name = str(self.pick(names))
            value = self.pick(JUNK)
            if not _large(name, value):
                self.options[name] = value

    def arguments(self, model) -> dict[str, object]:
        """What the method is given, by name."""
        given = {}
        for name, one in inspect.signature(getattr(model, self.method)).parameters.items():
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            needed = one.default is one.empty
            if name == "X":
                given[name] = self.X
            elif name == "y" and self.subject.name.endswith("Classifier"):
                given[name] = CLASSES if self.rng.random() < 0.7 else self.pick(JUNK)
            elif name == "sample_weight":
                if self.rng.random() < 0.3:
                    given[name], bad = self.pick(WEIGHTS)
                    self.wrong = self.wrong or (bad and self.fits)
            elif needed or self.rng.random() < 0.35:
                value = self.pick(JUNK)
                if not _large(name, value):
                    given[name] = value
                elif needed:
                    given[name] = 2
        return given

    def __str__(self) -> str:
        given = {name: brief(value) for name, value in self.given.items() if name != "X"}
        options = {name: brief(value) for name, value in self.options.items()}
        return f"{self.subject.name}({options}).{self.method}({self.note}; {given}), wrong: {self.wrong}"


def _large(name: str, value) -> bool:
    """Whether a value asks for more work than a test has time for."""
    return isinstance(value, (int, float)) and abs(value) > 100 and value == value and name not in ("tol", "binarize")


def methods_of(name: str) -> list[str]:
    """Public methods of a fitted estimator that are ours."""
    model, found = FITTED.get(name), []
    kind = next(subject.kind for subject in SUBJECTS if subject.name == name)
    for method in sorted(dir(kind)):
        if method.startswith(("_", "fit", "partial_fit")) or method in LEFT_OUT:
            continue
        if model is not None and not hasattr(model, method):
            continue
        entry = getattr(model if model is not None else kind, method, None)
        if callable(entry) and getattr(entry, "__module__", "").startswith("latentbits"):
            found.append(method)
    return found


def check(number: int) -> str | None:
    """What is wrong with a draw, or None."""
    draw = Draw(number)
    strict()
    warnings.simplefilter("ignore", DataConversionWarning)  # scikit-learn's word about classes in a column
    warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
    model = draw.subject.make(**draw.options) if draw.fits else FITTED[draw.subject.name]
    if not hasattr(model, draw.method):
        return None
    draw.given = draw.arguments(model)
    takes_table = "X" in draw.given
    try:
        getattr(model, draw.method)(**draw.given)
    except (LatentBitsError, NotFittedError) as error:
        text = str(error)
        return None if text and len(text) < 1500 else f"{draw}: a message of {len(text)} characters"
    except RecursionError:
        raise
    except Exception as error:
        import traceback
        from pathlib import Path

        last = traceback.extract_tb(error.__traceback__)[-5:]
        place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))
        return f"{type(error).__name__}: {str(error)[:200]} at {place} in {draw}"
    optional = inspect.signature(getattr(model, draw.method)).parameters
    if takes_table and draw.given["X"] is None and optional["X"].default is None:
        return None
    if draw.wrong and takes_table:
        return f"accepted: {draw}"
    return None


def describe(number: int) -> str:
    """A draw in words, without running it."""
    return f"draw {number}"
