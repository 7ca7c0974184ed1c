"""AnnData files, ``.h5ad``: cells and genes, by anndata."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import FileError, InputError, need
from ..raw import RawTable, Texts, checked, readable, text_of
from ..replacing import replacing
from .hdf5 import check_sizes, check_whole

KIND = "AnnData"


def read_h5ad(path: Path, *, layer: str | None = None) -> RawTable:
    """X, or a layer, with the names of its rows and columns; no other part of the file is read.

    A name of a column that occurs again gets a number, as ``var_names_make_unique`` of anndata gives it.
    """
    h5py, io = _packages("Reading")
    check_whole(path, "X" if layer is None else f"layers/{layer}", "obs", "var")
    with readable(path, KIND), h5py.File(path, "r") as file:
        _check_parts(path, file)
        cells = _cells(path, file, layer)
        check_sizes(path, cells, file["obs"], file["var"])
        obs, var = io.read_elem(file["obs"]), io.read_elem(file["var"])
        _check_frames(path, obs, var)
        matrix = io.read_elem(cells)
        if not (sp.issparse(matrix) or isinstance(matrix, np.ndarray)) or matrix.shape != (len(obs), len(var)):
            raise FileError(f"{path}: {layer or 'X'} is not a table of {len(obs)} rows and {len(var)} columns.")
    names = _unique([str(name) for name in var.index])
    beside = Texts([str(name) for name in obs.columns], lambda name: _texts(obs[name]))
    ids = [str(name) for name in obs.index]
    return checked(path, RawTable(names, matrix=matrix, ids=ids, id_name=str(obs.index.name or "id"), beside=beside))


def _packages(purpose: str) -> tuple[Any, Any]:
    """h5py, and the part of anndata that reads and writes."""
    try:
        import anndata.io
        import h5py
    except ImportError:
        raise need("anndata", "anndata", f"{purpose} .h5ad files") from None
    return h5py, anndata.io


def _check_parts(path: Path, file: Any) -> None:
    """Refuse HDF5 files that anndata has not written."""
    missing = [part for part in ("obs", "var") if part not in file]
    if missing:
        raise FileError(f"{path} is an HDF5 file without {' and '.join(missing)}; .h5ad files of anndata have both.")


def _check_frames(path: Path, *frames: Any) -> None:
    """Refuse the layout of releases before 0.7."""
    if not all(hasattr(frame, "columns") for frame in frames):
        raise FileError(
            f"{path} has the layout of anndata before 0.7; write it anew: anndata.read_h5ad(path).write_h5ad(path)."
        )


def _cells(path: Path, file: Any, layer: str | None) -> Any:
    """Where X, or the layer, is in the file."""
    layers = sorted(file.get("layers", ()))
    known = f"its layers are: {', '.join(layers)}" if layers else "it has no layers"
    if layer is not None:
        if layer not in layers:
            raise InputError(f"{path} has no layer {layer!r}; {known}.")
        return file["layers"][layer]
    if "X" not in file or file["X"].attrs.get("encoding-type") == "null":
        raise FileError(f"{path} has no X; {known}{' (choose one with layer=...)' if layers else ''}.")
    return file["X"]


def _unique(names: list[str]) -> list[str]:
    """The names, with a number behind those that occur again."""
    taken = set(names)
    seen: dict[str, int] = {}
    out = []
    for name in names:
        new = name
        if name in seen:
            while new in taken:
                seen[name] += 1
                new = f"{name}-{seen[name]}"
            taken.add(new)
        else:
            seen[name] = 0
        out.append(new)
    return out


def _texts(column: Any) -> list[str]:
    """A column of a frame as text, empty where it is null."""
    return ["" if null else text_of(value) for value, null in zip(column.tolist(), column.isna().tolist())]


def write_obsm(path: str | Path, out: str | Path, key: str, values: Any, names: Sequence[str]) -> None:
    """Write values per row into ``obsm[key]`` of a copy of the file, or of the file itself if ``out`` is its path.

    The names of their columns go into ``uns``, under the key without its ``X_``: ``uns["latentbits"]["names"]`` for
    ``X_latentbits``.  ``out`` appears whole or not at all.
    """
    _packages("Writing")
    path, out = Path(path), Path(out)
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise InputError(f"values of shape {table.shape} do not fit {len(names)} names of columns.")
    if not path.is_file():
        raise FileError(f"there is no file {path}.")
    with replacing(out) as copy:
        shutil.copyfile(path, copy)
        _write_obsm(path, copy, key, table, names)


def _write_obsm(path: Path, copy: Path, key: str, table: Any, names: Sequence[str]) -> None:
    """Write values into a copy of the file at ``path``."""
    h5py, io = _packages("Writing")
    with readable(path, KIND), h5py.File(copy, "r+") as file:
        _check_parts(path, file)
        obs = io.read_elem(file["obs"])
        _check_frames(path, obs)
        if len(obs) != len(table):
            raise InputError(f"{path} has {len(obs)} rows, but values for {len(table)} are to be written.")
        for part in ("obsm", "uns"):
            if part not in file:
                io.write_elem(file, part, {})
        io.write_elem(file["obsm"], key, table)
        io.write_elem(file["uns"], key.removeprefix("X_"), {"names": np.array(list(names), dtype=object)})
