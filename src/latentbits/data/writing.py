"""Tables written to files, which appear whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import need

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


# What spreadsheets take for the beginning of a formula; also in the wide forms of East Asian scripts.
FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def free_names(names: list[str]) -> list[str]:
    """Names of columns; those that were met before have underscores behind them.

    Examples
    --------
    >>> free_names(["row", "class 1", "row"])
    ['row', 'class 1', 'row_']
    """
    out: list[str] = []
    for name in names:
        while name in out:
            name += "_"
        out.append(name)
    return out


def table_bytes(rows: Iterable[dict[str, Any]], columns: list[str], name: str, safe: bool = False) -> bytes:
    """Rows in the format that the name of a file stands for; ``safe`` is for delimited text, see :func:`guarded`."""
    if name.endswith(".parquet"):
        return _parquet(rows, columns)
    text = delimited(rows, columns, "\t" if ".tsv" in Path(name).name else ",", safe).encode()
    return gzip.compress(text, mtime=0) if name.endswith(".gz") else text


def delimited(rows: Iterable[dict[str, Any]], columns: list[str], delimiter: str, safe: bool = False) -> str:
    """Rows as delimited text, with all text that might be a formula :func:`guarded` if it is to be ``safe``."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow([guarded(column) if safe else column for column in columns])
    for row in rows:
        values = [row.get(column) for column in columns]
        writer.writerow([guarded(value) if safe and isinstance(value, str) else _text(value) for value in values])
    return buffer.getvalue()


def guarded(text: str) -> str:
    """Text with an apostrophe before it if a spreadsheet would take it for a formula; numbers stay as they are.

    Examples
    --------
    >>> [guarded(text) for text in ("=1+1", "-0.5", "-x", "a=b")]
    ["'=1+1", '-0.5', "'-x", 'a=b']
    """
    first = text.lstrip()[:1]
    return f"'{text}" if first and first in FORMULA and not NUMBER.fullmatch(text) else text


def _text(value: Any) -> str:
    """A value as text: unknown is empty, whole numbers have no point."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return str(int(value)) if value in (0.0, 1.0) else repr(round(value, 10))
    return str(value)


def _parquet(rows: Iterable[dict[str, Any]], columns: list[str]) -> bytes:
    """Rows as a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise need("pyarrow", "pyarrow", "Writing Parquet") from None
    values: dict[str, list[Any]] = {column: [] for column in columns}
    for row in rows:
        for column in columns:
            values[column].append(row.get(column))
    table = pa.table(values)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
