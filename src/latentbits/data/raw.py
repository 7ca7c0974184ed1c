"""Tables as files hold them, before anything is said about zeros and ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError, LatentBitsError


class Values(NamedTuple):
    """Values of a column as a file holds them, and where it is null (None: nowhere)."""

    values: NDArray[Any]  # numbers, booleans, or an object array of str (words)
    null: NDArray[np.bool_] | None
    codes: Mapping[str, float] | None = None  # numbers that words are the labels of


@dataclass(frozen=True)
class RawTable:
    """A table as a file of some field holds it: named columns of values, or a matrix."""

    names: list[str]
    columns: list[Values] | None = None  # one per name, or
    matrix: Any = None  # rows x columns, SciPy sparse or two-dimensional array
    ids: list[str] | None = None
    id_name: str = "id"
    beside: Mapping[str, list[str]] = field(default_factory=dict)  # what else is known of the rows, as text

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.matrix is not None:
            return int(self.matrix.shape[0])
        return len(self.columns[0].values) if self.columns else 0


class Texts(Mapping[str, list[str]]):
    """Columns of text that are made when they are asked for."""

    def __init__(self, names: Sequence[str], make: Callable[[str], list[str]]) -> None:
        self.names, self.make = dict.fromkeys(names), make

    def __getitem__(self, name: str) -> list[str]:
        """The column ``name``."""
        if name not in self.names:
            raise KeyError(name)
        return self.make(name)

    def __iter__(self) -> Iterator[str]:
        """Names of the columns."""
        return iter(self.names)

    def __len__(self) -> int:
        """How many columns there are."""
        return len(self.names)


def values_of(cells: Sequence[Any]) -> Values:
    """Values of a column of Python objects: booleans or numbers, and words as soon as one cell is neither.

    None, NaN and empty text are null.
    """
    kinds = set(map(type, cells)) - {type(None)}
    if kinds <= {int, float}:
        numbers = np.array(cells, np.float64)
        return _with_null(numbers, np.isnan(numbers))
    if kinds <= {bool, int, float}:
        numbers = np.array([np.nan if cell is None else float(cell) for cell in cells])
        null = np.isnan(numbers)
        return _with_null(np.where(null, 0.0, numbers).astype(np.bool_) if kinds == {bool} else numbers, null)
    words = np.empty(len(cells), dtype=object)
    words[:] = [text_of(cell) for cell in cells]
    return _with_null(words, words == "")


def _with_null(values: NDArray[Any], null: NDArray[Any]) -> Values:
    """Values, and where they are null if they are anywhere."""
    return Values(values, null.astype(np.bool_) if null.any() else None)


def text_of(cell: Any) -> str:
    """A value as text: nothing is empty, whole numbers have no point, dates are those of ISO 8601."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Whatever another package raises about a file becomes one FileError."""
    try:
        yield
    except LatentBitsError:
        raise
    except MemoryError:
        raise FileError(f"{path} does not fit into memory.") from None
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise FileError(f"{path} is not a readable {kind} file ({said}).") from error


def checked(path: Path, table: RawTable) -> RawTable:
    """The table, if it has rows and columns and no two columns of the same name."""
    if not table.names:
        raise FileError(f"{path} holds no columns.")
    if not table.n_rows:
        raise FileError(f"{path} holds no rows.")
    name, times = Counter(table.names).most_common(1)[0]
    if times > 1:
        raise FileError(f"{path}: the column name {name!r} occurs more than once; rename one.")
    return table
