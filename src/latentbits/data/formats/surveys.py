"""Files of statistics packages: SPSS, Stata and SAS, by pyreadstat.

Codes that the file declares as missing are null, and a value that has a label is the text of its label.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError, need
from ..raw import RawTable, Values, checked, readable, values_of
from .apart import read_apart

XPORT_RECORD = 80  # bytes; transport files are a number of whole records


def read_sav(path: Path, *, encoding: str | None = None) -> RawTable:
    """SPSS files, ``.sav`` and ``.zsav``."""
    return _read(path, "read_sav", "SPSS", encoding=encoding)


def read_por(path: Path) -> RawTable:
    """SPSS portable files, ``.por``."""
    return _read(path, "read_por", "SPSS portable")


def read_dta(path: Path, *, encoding: str | None = None) -> RawTable:
    """Stata files, ``.dta``."""
    return _read(path, "read_dta", "Stata", encoding=encoding)


def read_sas(path: Path, *, encoding: str | None = None) -> RawTable:
    """SAS files, ``.sas7bdat``."""
    return _read(path, "read_sas7bdat", "SAS", encoding=encoding)


def read_xport(path: Path, *, encoding: str | None = None) -> RawTable:
    """SAS transport files, ``.xpt``."""
    return _read(path, "read_xport", "SAS transport", encoding=encoding)


def _read(path: Path, function: str, kind: str, **options: Any) -> RawTable:
    """The table that a function of pyreadstat reads, in a process of its own: damaged files can crash it."""
    if find_spec("pyreadstat") is None:
        raise need("pyreadstat", "spss", f"Reading {kind} files")
    columns: dict[str, Values] = read_apart(parse, path, function, kind, options)
    return checked(path, RawTable(list(columns), list(columns.values())))


def parse(path: Path, function: str, kind: str, options: dict[str, Any]) -> dict[str, Values]:
    """Columns as a function of pyreadstat reads them."""
    import pyreadstat

    with readable(path, kind):
        _check_end(path)
        columns, about = getattr(pyreadstat, function)(str(path), output_format="dict", **options)
    labels = about.variable_value_labels
    return {str(name): _column(_objects(cells), labels.get(name, {})) for name, cells in columns.items()}


def _check_end(path: Path) -> None:
    """Refuse files that are cut off, where the package would read what is left."""
    with open(path, "rb") as file:
        first = file.read(XPORT_RECORD)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - XPORT_RECORD))
        last = file.read()
    cut_stata = first.startswith(b"<stata_dta>") and not last.rstrip().endswith(b"</stata_dta>")
    if cut_stata or (first.startswith(b"HEADER RECORD*") and size % XPORT_RECORD):
        raise FileError(f"{path} is not a whole file; its end is missing.")


def _objects(cells: Any) -> list[Any]:
    """Cells as Python objects; releases before 1.3.1 give arrays."""
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def _column(cells: list[Any], labels: Mapping[Any, str]) -> Values:
    """Values of a column, the labelled ones as words."""
    words = {value: text.strip() for value, text in labels.items() if text.strip()}
    if not words:
        return values_of(cells)
    codes = {text: float(value) for value, text in words.items() if isinstance(value, (int, float))}
    return values_of([words.get(cell, cell) for cell in cells])._replace(codes=codes or None)
