"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="csv, tsv (also gz), parquet file or folder, npz, npy, mtx, baskets; - is stdin."
    ),
]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="A model written by `latentbits fit`.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, parquet, npz, npy, mtx, transactions or triples; by default told by the name."
    ),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with row names.")]
LabelColumns = Annotated[
    list[str] | None, typer.Option("--label", help="Column to carry along, not to fit. May be repeated.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Field separator; by default found out.")]
Header = Annotated[bool | None, typer.Option("--header/--no-header", help="Whether the first line has names.")]
Encoding = Annotated[str, typer.Option("--encoding", help="Text encoding.")]
Binarize = Annotated[float | None, typer.Option("--binarize", help="Cells above this are 1, others 0.")]
Out = Annotated[str | None, typer.Option("--out", "-o", help="Output file (.csv, .csv.gz, .parquet); default: stdout.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Threads; the result does not depend on it.")]


def read(
    path: str,
    format: str | None,
    id_column: str | None,
    label_columns: list[str] | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str,
    binarize: float | None,
) -> Any:
    """Open the table that the options describe."""
    from ..data import read_table

    return read_table(
        path,
        format=format,
        id_column=id_column,
        label_columns=label_columns or (),
        delimiter=delimiter,
        header=header,
        encoding="utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding,
        binarize=binarize,
    )
