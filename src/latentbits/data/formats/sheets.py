"""Sheets of workbooks: Excel and OpenDocument by python-calamine, ``.xlsx`` also by openpyxl."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import FileError, InputError, need
from ..raw import RawTable, checked, readable, text_of, values_of

Rows = list[list[Any]]
BY_OPENPYXL = (".xlsx", ".xlsm")


def read_sheet(path: Path, *, sheet: str | None = None) -> RawTable:
    """The table of one sheet, by default the first; its names are in the first row that is not empty.

    Formulas are what they gave when the workbook was saved; empty cells and errors such as ``#N/A`` are null.
    """
    sheet, rows, others = _reader(path)(path, sheet)
    rows = [row for row in rows if any(cell is not None for cell in row)]
    if not rows:
        hint = f" Name another sheet (sheet=...): {', '.join(others)}." if others else ""
        raise FileError(f"{path}: the sheet {sheet!r} is empty.{hint}")
    kept = [j for j in range(max(map(len, rows))) if any(j < len(row) and row[j] is not None for row in rows)]
    table = [[row[j] if j < len(row) else None for j in kept] for row in rows]
    names = [_name(cell) or f"column {_letters(j)}" for cell, j in zip(table[0], kept)]
    columns = [values_of([row[k] for row in table[1:]]) for k in range(len(kept))]
    return checked(path, RawTable(names, columns))


def _reader(path: Path) -> Callable[[Path, str | None], tuple[str, Rows, list[str]]]:
    """The function that reads a sheet, by the package that is there."""
    try:
        import python_calamine  # noqa: F401

        return _by_calamine
    except ImportError:
        pass
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise need("python-calamine", "excel", "Reading Excel and OpenDocument files") from None
    if path.suffix.lower() not in BY_OPENPYXL:
        raise need("python-calamine", "excel", f"Reading {path.suffix} files")
    return _by_openpyxl


def _by_calamine(path: Path, sheet: str | None) -> tuple[str, Rows, list[str]]:
    """Name and cells of a sheet, and the names of the others."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    with readable(path, path.suffix):
        book = CalamineWorkbook.from_path(str(path))
        names = [about.name for about in book.sheets_metadata if about.typ == SheetTypeEnum.WorkSheet]
        chosen = _chosen(path, sheet, names)
        rows = book.get_sheet_by_name(chosen).to_python(skip_empty_area=False)
        return chosen, [[_cell(cell) for cell in row] for row in rows], _without(names, chosen)


def _by_openpyxl(path: Path, sheet: str | None) -> tuple[str, Rows, list[str]]:
    """Name and cells of a sheet, and the names of the others."""
    import openpyxl

    with readable(path, path.suffix), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="openpyxl")  # it tells of styles and filters that it leaves out
        with open(path, "rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            names = [each.title for each in book.worksheets]
            chosen = _chosen(path, sheet, names)
            cells = book[chosen].iter_rows()
            rows = [[None if cell.data_type == "e" else _cell(cell.value) for cell in row] for row in cells]
            book.close()
    return chosen, rows, _without(names, chosen)


def _chosen(path: Path, sheet: str | None, names: list[str]) -> str:
    """Name of the sheet to read."""
    if not names:
        raise FileError(f"{path} holds no sheet of cells.")
    if sheet is not None and sheet not in names:
        raise InputError(f"{path} has no sheet {sheet!r}; its sheets are: {', '.join(names)}.")
    return names[0] if sheet is None else sheet


def _without(names: list[str], chosen: str) -> list[str]:
    """The other sheets."""
    return [name for name in names if name != chosen]


def _cell(cell: Any) -> Any:
    """A cell, None if it holds nothing but blanks."""
    return None if isinstance(cell, str) and not cell.strip() else cell


def _name(cell: Any) -> str:
    """The name in a cell of the first row, on one line."""
    return " ".join(text_of(cell).split())


def _letters(j: int) -> str:
    """What spreadsheets call column ``j``: A to Z, then AA and so on."""
    return (_letters(j // 26 - 1) if j >= 26 else "") + chr(ord("A") + j % 26)
