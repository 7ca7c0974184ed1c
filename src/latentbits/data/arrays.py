"""Files of arrays: ``.npy``, ``.npz`` and ``.mtx``."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, InputError
from .checks import Labels
from .market import check_market
from .raw import readable
from .readers import ArrayReader, Reader, SparseReader
from .reading import Reading


def read_arrays(path: Path, kind: str, how: Reading) -> Reader:
    """Reader of an array file."""
    with readable(path, f".{kind}"):
        if kind == "npy":
            with open(path, "rb") as file:
                if file.read(6) != b"\x93NUMPY":
                    raise FileError(f"{path} is not a .npy file.")
            return _two_dimensional(path, np.load(path, mmap_mode="r", allow_pickle=False), how)
        return _read_market(path, how) if kind == "mtx" else _read_npz(path, how)


def _read_market(path: Path, how: Reading) -> Reader:
    """Reader of a Matrix Market file."""
    from scipy.io import mmread

    check_market(path)
    # Newer releases of SciPy want to know which class; older ones have no choice.
    options = {"spmatrix": False} if "spmatrix" in signature(mmread).parameters else {}
    matrix = mmread(path, **options)
    return (SparseReader if sp.issparse(matrix) else ArrayReader)(matrix, how.encoding.binarize, reading=how)


def _two_dimensional(path: Path, values: Any, how: Reading, names: Any = None) -> ArrayReader:
    """Reader of a dense array from a file."""
    if values.ndim != 2:
        raise FileError(f"{path} holds an array of {values.ndim} dimensions; a table has 2.")
    return ArrayReader(values, how.encoding.binarize, names, how)


def _read_npz(path: Path, how: Reading) -> Reader:
    """Reader of an ``.npz``: a sparse table in its usual parts, or one dense array."""
    if not zipfile.is_zipfile(path):
        raise FileError(f"{path} is not an .npz archive.")
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as parts:
        names = set(parts.files)
        if "format" in names or {"data", "indices", "indptr", "shape"} <= names:
            matrix = sp.load_npz(path) if "format" in names else _rows_of_parts(path, parts)
            if len(matrix.shape) != 2:
                raise FileError(f"{path} holds an array of {len(matrix.shape)} dimensions; a table has 2.")
            beside = _names_beside(parts, matrix.shape) if "indptr" in names else (None, None)
            return SparseReader(matrix, how.encoding.binarize, *beside, how)
        if {"n_vars", "train"} <= names:
            return ArrayReader(_unpacked(path, parts), how.encoding.binarize, reading=how)
        tables = [name for name in parts.files if parts[name].ndim == 2]
        chosen = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
        if chosen is None:
            raise FileError(
                f"{path} holds the arrays {', '.join(sorted(names)) or '(none)'}; expected a sparse table "
                "(data, indices, indptr, shape), an array X, or one two-dimensional array."
            )
        values = parts[chosen]
        reader = _two_dimensional(path, values, how)
        reader.labels = Labels(*_names_beside(parts, values.shape))
        return reader


def _rows_of_parts(path: Path, parts: Any) -> Any:
    """A sparse table that was written part by part, without the word for its format."""
    shape = parts["shape"]
    if shape.shape != (2,):
        raise FileError(
            f"{path}: shape must hold two numbers, those of rows and columns; it has the shape {shape.shape}."
        )
    return sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=(int(shape[0]), int(shape[1])))


def _unpacked(path: Path, parts: Any) -> Any:
    """Cells of the splits of a benchmark, one after the other, from eight cells to a byte."""
    packed = np.concatenate([parts[split] for split in ("train", "valid", "test") if split in parts.files])
    n_vars = parts["n_vars"]
    if packed.ndim != 2 or packed.dtype != np.uint8 or n_vars.size != 1 or n_vars.dtype.kind not in "iu":
        raise FileError(f"{path}: n_vars must be a whole number, and train two-dimensional, bytes of eight cells each.")
    held = 8 * packed.shape[1]
    if not 0 < n_vars.item() <= held:
        raise FileError(f"{path}: n_vars is {n_vars.item()}, and a row of train holds {held} cells.")
    return np.unpackbits(packed, axis=1, count=n_vars.item())


def _names_beside(parts: Any, shape: tuple[int, int]) -> tuple[list[str] | None, list[str] | None]:
    """Names of columns and of rows stored beside the table: arrays of words, each once, of the right number.

    Of a square table nobody knows which of the two they are; names that say so are taken first.
    """
    usual = ("feature_names", "columns", "words", "author_names")
    found: list[list[str] | None] = [None, None]
    taken: set[str] = set()
    for side, n in ((0, shape[1]), (1, shape[0])):
        for key in sorted(set(parts.files) - taken, key=lambda key: (key not in usual, parts.files.index(key))):
            values = parts[key]
            if values.shape == (n,) and values.dtype.kind == "U" and len(set(values.tolist())) == n and n > 0:
                found[side] = values.tolist()
                taken.add(key)
                break
    return found[0], found[1]


def arrays_beside(path: Path, n_rows: int, names: Sequence[str]) -> dict[str, list[str]]:
    """Arrays of an ``.npz`` with one entry per row, as text."""
    with readable(path, ".npz"), np.load(path, allow_pickle=False) as parts:
        fitting = [name for name in parts.files if parts[name].shape == (n_rows,)]
        for name in names:
            if name not in fitting:
                shown = ", ".join(fitting) or "none"
                raise InputError(f"{path} has no array {name!r} with one entry per row; those it has: {shown}.")
        return {name: [str(value) for value in parts[name].tolist()] for name in names}
