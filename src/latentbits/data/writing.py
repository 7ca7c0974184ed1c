"""Tables written to files, which appear whole or not at all."""

from __future__ import annotations

import csv
import gzip
import io
import math
from pathlib import Path
from typing import Any

from ..errors import need

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


def table_bytes(rows: list[dict[str, Any]], columns: list[str], name: str) -> bytes:
    """Rows in the format that the name of a file stands for."""
    if name.endswith(".parquet"):
        return _parquet(rows, columns)
    text = delimited(rows, columns, "\t" if ".tsv" in Path(name).name else ",").encode()
    return gzip.compress(text, mtime=0) if name.endswith(".gz") else text


def delimited(rows: list[dict[str, Any]], columns: list[str], delimiter: str) -> str:
    """Rows as delimited text."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(row.get(column)) for column in columns])
    return buffer.getvalue()


def _text(value: Any) -> str:
    """A value as text: unknown is empty, whole numbers have no point."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return str(int(value)) if value in (0.0, 1.0) else repr(round(value, 10))
    return str(value)


def _parquet(rows: list[dict[str, Any]], columns: list[str]) -> bytes:
    """Rows as a Parquet file."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise need("pyarrow", "pyarrow", "Writing Parquet") from None
    table = pa.table({column: [row.get(column) for row in rows] for column in columns})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
