"""``latentbits links``: communities behind documents and what they cite, baskets, or any list of edges."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import CellError, InputError, need
from .models import Setting, Starts, _estimator, _row_names, loaded
from .options import Jobs, Json, Seed, TableFile, reads_table, writes_csv
from .output import check_target, matrix_rows, write_json, write_rows
from .output import told as _told
from .progress import listeners
from .typed import again

GRAPHS = (".graphml", ".gexf")


@writes_csv
@reads_table
def links(
    table: TableFile,
    fitted: Annotated[
        str | None, typer.Option("--fitted", help="A model file of the noisy-or family; without it one is fitted.")
    ] = None,
    n_components: Annotated[
        int | None, typer.Option("--communities", "-k", help="Communities to look for; default 5.")
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Members to name per community.")] = 7,
    least: Annotated[float, typer.Option("--least", help="Weakest link that makes a member.")] = 0.1,
    members: Annotated[str | None, typer.Option("--members", help="Write all members to this file.")] = None,
    documents: Annotated[
        str | None, typer.Option("--documents", help="Write the posterior of every row and community to this file.")
    ] = None,
    overlap: Annotated[
        str | None, typer.Option("--overlap", help="Write how communities overlap to this file.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", help="Write a graph (.graphml or .gexf; needs networkx).")
    ] = None,
    graph_rows: Annotated[bool, typer.Option("--graph-rows", help="Put the rows into the graph too.")] = False,
    save: Annotated[str | None, typer.Option("--save", help="Save the model to this file.")] = None,
    n_init: Starts = None,
    setting: Setting = None,
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Find overlapping communities among the columns of TABLE: who is cited, bought or named together."""
    for out in (members, documents, overlap):
        check_target(out)
    _check_graph(graph)
    if top < 1:
        raise InputError(f"--top must be 1 or more; got {top}.")
    if not 0 < least < 1:
        raise InputError(f"--least must be between 0 and 1; got {least:g}.")
    if fitted is not None and n_components is not None:
        raise InputError("--communities is for fitting; leave it out with --fitted.")
    if fitted is not None and (setting or n_init is not None):
        raise InputError("--set and --starts are for fitting; leave them out with --fitted.")
    if graph_rows and graph is None:
        raise InputError("--graph-rows says what goes into a graph; name its file with --graph.")
    with _told():
        estimator, opened = _model(table, fitted, n_components, n_init, setting, seed, jobs)
        if save is not None:
            estimator.set_params(callbacks=None).save(save)
            print(f"wrote the model to {save}", file=sys.stderr)
        names = _row_names(opened, opened.shape[0])
        posteriors = estimator.transform(opened.reader)
        sizes = posteriors.sum(axis=0)
        found = _communities(estimator, opened, names, sizes, top, least)
        if as_json:
            write_json({"communities": found, "summary": estimator.summary()})
        else:
            _show(found, opened.shape[0])
            print(estimator.summary())
        if fitted is None:
            _advise(estimator, opened)
        if members is not None:
            rows = estimator.communities_table(None, least)
            expected = dict(zip(estimator.component_names_, sizes.tolist()))
            for row in rows:
                row["rows"] = expected[row["component"]]
            columns = ["component", "rows", "rank", "member", "strength", "lift", "explained", "also_in"]
            write_rows(rows, columns, members)
        if documents is not None:
            write_rows(*matrix_rows(posteriors, estimator.component_names_, opened), documents)
        if overlap is not None:
            write_rows(
                estimator.overlap_table(opened.reader, least),
                ["first", "second", "rows", "ratio", "common", "jaccard"],
                overlap,
            )
        if graph is not None:
            made = estimator.to_graph(opened.reader if graph_rows else None, least, names)
            _write_graph(made, graph)


def _model(
    table: TableFile,
    fitted: str | None,
    n_components: int | None,
    n_init: int | None,
    setting: list[str] | None,
    seed: int,
    jobs: int,
) -> tuple[Any, Any]:
    """The model, fitted now or before, and the table."""
    if fitted is not None:
        estimator = loaded(fitted, table)
        if not hasattr(estimator, "communities_table"):
            raise InputError(f"{fitted} holds a {type(estimator).__name__}; links needs a NoisyOrComponentAnalysis.")
        return estimator, table.open(estimator)
    estimator = _estimator(
        "noisy-or",
        setting,
        n_components=5 if n_components is None else n_components,
        n_init=n_init,
        random_state=seed,
        n_jobs=jobs,
        binarize=table.binarize,
        callbacks=listeners(),
    )
    try:
        opened = table.open()
        return estimator.fit(opened.reader), opened
    except CellError:  # the columns are told of
        raise
    except InputError as error:
        raise InputError(f"{error}{_hint(table, str(error))}") from None


def _hint(table: TableFile, message: str) -> str:
    """What else a text file may be whose cells make no sense."""
    told = table.how["format"] is not None or not table.path.lower().endswith((".csv", ".tsv", ".txt", ".gz"))
    if told or "For example:" in message or not any(words in message for words in ("cell (", "fields", "columns")):
        return ""
    return (
        " If the file is a list of edges (document,author), say --format triples; if it has one basket per line, --format "
        "transactions."
    )


def _communities(
    estimator: Any, opened: Any, names: list[str], sizes: Any, top: int, least: float
) -> list[dict[str, Any]]:
    """Every community: status, size, members with their strengths, typical rows."""
    rows = estimator.communities_table(top, least)
    typical = estimator.documents_table(opened.reader, min(top, 3))
    return [
        {
            "component": name,
            "described": described,
            "rows": float(size),
            "members": [row for row in rows if row["component"] == name],
            "typical": [{**row, "row": names[row["row"]]} for row in typical if row["component"] == name],
        }
        for name, described, size in zip(estimator.component_names_, estimator._described_names(), sizes)
    ]


def _show(communities: list[dict[str, Any]], n_rows: int) -> None:
    """Communities as text."""
    for found in communities:
        print(f"{found['described']}: about {found['rows']:.0f} of {n_rows} rows")
        if not found["members"]:
            print("  no members")
        for row in found["members"]:
            also = f"  also in {row['also_in']}" if row["also_in"] else ""
            print(f"  {row['strength']:.2f}  {row['member']}{also}")
        if found["typical"]:
            told = (f"{row['row']} ({row['posterior']:.2f})" for row in found["typical"])
            print(f"  for instance: {', '.join(told)}")


def _advise(estimator: Any, opened: Any) -> None:
    """Say on standard error when empty rows seem to have been left out."""
    from ..data.source import TableSource

    source = TableSource(opened.reader, "links")
    some_empty = any((source.block(b).ones.row_counts() == 0).any() for b in range(source.n_blocks))
    expected = estimator.zero_probability()
    if not some_empty and not estimator.zero_truncated and expected * opened.shape[0] > 10:
        print(
            f"no row is empty, but the model expects {expected:.0%} of them to be: if empty rows were left out, run "
            f"{again('--set', 'zero_truncated=true')}",
            file=sys.stderr,
        )


def _check_graph(graph: str | None) -> None:
    """Refuse a graph that could not be written, before the work is done."""
    if graph is None:
        return
    if not graph.endswith(GRAPHS):
        raise InputError(f"{graph}: a graph must be one of {', '.join(GRAPHS)}.")
    if Path(graph).is_dir():
        raise InputError(f"{graph} is a folder; name a file.")
    try:
        import networkx  # noqa: F401
    except ImportError:
        raise need("networkx", "links", "A graph") from None


def _write_graph(made: Any, graph: str) -> None:
    """Write a graph whole or not at all."""
    import networkx as nx

    from ..data.replacing import write_atomically

    buffer = io.BytesIO()
    (nx.write_graphml if graph.endswith(".graphml") else nx.write_gexf)(made, buffer)
    write_atomically(Path(graph), buffer.getvalue())
    print(f"wrote {made.number_of_nodes()} nodes and {made.number_of_edges()} edges to {graph}", file=sys.stderr)
