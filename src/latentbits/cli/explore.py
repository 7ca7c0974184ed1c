"""The main job and its parts: ``explore``, ``compare`` and ``report``."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..families import FAMILIES, MOST_SIZES
from .cluster import Dask, Workers, workers_of
from .models import loaded
from .naming import Names, named
from .options import Fits, Json, ModelPath, Out, SafeCsv, Seed, TableFile, reads_table
from .output import check_target, write_rows
from .progress import progress_shown

Models = Annotated[str | None, typer.Option("--models", help="Families to compare, separated by commas; default: all.")]
Budget = Annotated[
    str | None,
    typer.Option("--budget", help="About how long it may take: 30, 90s, 5m. By default 1 to 10 min, by size."),
]
Sizes = Annotated[
    str | None,
    typer.Option("--sizes", help="Numbers of components to choose from, e.g. 2,3,5 or 2-8; default: by family."),
]
Folds = Annotated[int | None, typer.Option("--folds", help="Draws of hidden cells; by default as the budget allows.")]


def seconds_of(text: str | None) -> float | None:
    """Seconds of 30, 90s, 5m or 1h."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(s|m|min|h)?\s*", text)
    if found is None or float(found[1]) <= 0:
        raise InputError(f"--budget {text!r} is not a time; write seconds, or 90s, 5m, 1h.")
    return float(found[1]) * {"m": 60, "min": 60, "h": 3600}.get(found[2] or "s", 1)


def sizes_of(text: str | None) -> list[int] | None:
    """Numbers of 2,3,5 or 2-8."""
    if text is None:
        return None
    out: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})(?:\s*-\s*(\d{1,9}))?\s*", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last:
            raise InputError(f"--sizes {text!r:.60}: write numbers from 1 like 2,3,5 or a range like 2-8.")
        if last - first >= MOST_SIZES:
            raise InputError(f"--sizes {text!r:.60}: at most {MOST_SIZES:,} sizes can be tried; name fewer.")
        out += range(first, last + 1)
    return out


def models_of(text: str | None) -> Any:
    """Names of families that can be compared, or "all"."""
    if text is None or text.strip() == "all":
        return "all"
    there = [family.name for family in FAMILIES if family.search is not None]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name not in there:
            raise InputError(f"--models: there is no family {name!r}; there are: {', '.join(map(str, there))}.")
    return names


def _opened(table: TableFile) -> Any:
    """The table, with every cell checked."""
    from ..data import open_source

    opened = table.open()
    source = open_source(opened.reader, owner=table.path)
    for b in range(source.n_blocks if opened.reader.lazy else 0):
        source.block(b)  # complains of the first bad cell, before the work is done
    return opened


@reads_table
def explore(
    table: TableFile | None = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Folder for the results; default: out/NAME.")] = None,
    models: Models = None,
    sizes: Sizes = None,
    budget: Budget = None,
    folds: Folds = None,
    tables: Annotated[
        str | None, typer.Option("--tables", help="Format of the tables: csv (default) or parquet.")
    ] = None,
    safe_csv: SafeCsv = False,
    config: Annotated[str | None, typer.Option("--config", help="Repeat the run of this run.toml.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run; `--resume --out FOLDER` is enough.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed; default 0.")] = None,
    jobs: Fits = 1,
    dask: Dask = None,
    workers: Workers = None,
) -> None:
    """Find what is hidden in TABLE: compare families, choose, refit, write tables and report.html.

    TABLE may also be the name of an embedded or prepared data set (see `latentbits data list`).
    """
    given = {
        "models": None if models is None else models_of(models),
        "n_components": sizes_of(sizes),
        "budget": seconds_of(budget),
        "folds": folds,
        "tables": tables,
        "safe_csv": safe_csv or None,
        "random_state": seed,
    }
    from ..exploring import explore as run

    options: dict[str, Any] = {"models": "all", "tables": "csv", "random_state": 0}
    if config is None and table is None and resume and out is not None:
        config = str(Path(out) / "run.toml")
    if config is not None:
        if table is not None:
            raise InputError("--config names the table itself; leave TABLE out.")
        table, options, name = _of_config(config)
        if any(given[key] is not None for key in ("models", "n_components", "budget", "folds", "random_state")):
            options["plan"] = None  # something else is asked for
        folder = Path(out) if out is not None else Path(config).parent
    elif table is None:
        raise InputError("name a TABLE to explore, or --config run.toml to repeat a run.")
    else:
        name = table.name
        folder = Path(out) if out is not None else Path("out") / name
    options.update({key: value for key, value in given.items() if value is not None})
    opened = _opened(table)
    print(f"{name}: {opened.shape[0]:,} rows x {opened.shape[1]:,} columns", file=sys.stderr)
    try:
        with workers_of(dask, workers) as client, progress_shown("explore") as tell:
            found = run(
                opened,
                folder,
                name=name,
                n_jobs=jobs,
                resume=resume,
                progress=tell,
                about=table.settings(),
                client=client,
                **options,
            )
    except KeyboardInterrupt as error:
        if (folder / ".parts").is_dir():
            error.add_note(
                f"Finished parts are kept; `latentbits explore --resume --out {shlex.quote(str(folder))}` goes on."
            )
        raise
    _show(found, table)


def _of_config(config: str) -> tuple[TableFile, dict[str, Any], str]:
    """Table, options and name of a ``run.toml``."""
    from ..evaluation import Plan
    from ..exploring.settings import read_settings

    found = read_settings(config)
    about, asked = found["table"], found["explore"]
    if "path" not in about:
        raise InputError(
            f"{config} does not say where the table is (it came from Python); call latentbits.explore there."
        )
    options = {
        "models": asked.get("models", "all"),
        "n_components": asked.get("sizes"),
        "budget": asked.get("budget"),
        "folds": asked.get("folds"),
        "tables": asked.get("tables", "csv"),
        "safe_csv": asked.get("safe_csv", False),
        "random_state": asked.get("seed", 0),
        "plan": Plan.of_sections(found["plan"]) if "plan" in found else None,
    }
    return TableFile.of_settings(about), options, str(asked.get("name", "table"))


def _show(found: Any, table: TableFile) -> None:
    """The short answer."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 100)
    for line in found.facts.lines():
        console.print(Text(f"- {line}"), soft_wrap=not sys.stdout.isatty())
    console.print()
    for sentence in found.overview:
        console.print(Text(sentence))
    console.print()
    for i, reading in enumerate(found.readings):
        fitted = reading.fitted
        console.print(Text(f"{fitted.title}: {reading.standing}"))
        for name, text in fitted.lines(5, most=12 if i == 0 else 6):
            console.print(Text(f"  {name}: {text}"))
        if told := fitted.pairs_told():
            console.print(Text(f"  {told}"))
        console.print()
    for note in dict.fromkeys(found.notes):
        print(f"warning: {note}", file=sys.stderr)
    if len(found.blanks.row):
        model = "model" if found.stack is None else "stack"
        command = ["latentbits", "impute", str(found.folder / f"{model}.latentbits"), table.path, *table.given()]
        print(f"{len(found.blanks.row):,} blanks are filled in {found.folder}/blanks.{found.tables}; for other rows:")
        print(f"  {shlex.join(command)}")
    print(f"report: {found.report}")


@reads_table
def compare(
    table: TableFile,
    models: Models = None,
    sizes: Sizes = None,
    budget: Budget = None,
    folds: Folds = None,
    out: Out = None,
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Fits = 1,
    dask: Dask = None,
    workers: Workers = None,
) -> None:
    """Hide the same cells of TABLE from every family and see which predicts them best."""
    check_target(out, as_json)
    wanted = {"models": models_of(models), "n_components": sizes_of(sizes), "budget": seconds_of(budget)}
    from ..evaluation import compare as run

    opened = _opened(table)
    with workers_of(dask, workers) as client, progress_shown("compare") as tell:
        found = run(opened.reader, folds=folds, random_state=seed, n_jobs=jobs, progress=tell, client=client, **wanted)
    if out is None and sys.stdout.isatty() and not as_json:
        _show_table(found)
        return
    columns = ["model", "size", "options_text", "log_loss", "above_best", "se", "auc", "brier", "calibration_error"]
    columns += ["row_log_likelihood", "row_kind", "row_below_best", "row_se", "note"]
    rows = [{**row, "size": None if row["size"] is None else str(row["size"])} for row in found.table]
    write_rows(rows, columns, out, as_json, {"best": found.best_, "verdict": found.verdict})
    if not as_json:
        print(found.verdict, file=sys.stderr)


def _show_table(found: Any) -> None:
    """The comparison for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name, where in (("family", "left"), ("size", "right"), ("log-loss", "right"), ("above best", "right")):
        table.add_column(name, justify=where)  # type: ignore[arg-type]
    for name in ("AUC", "calibration error", "held-out rows"):
        table.add_column(name, justify="right")
    for row in found.table:
        if "log_loss" not in row:
            table.add_row(Text(row["title"]), "", Text(row["note"]))
            continue
        rows = row["row_log_likelihood"]
        table.add_row(
            Text(row["title"]),
            row["size_text"],
            f"{row['log_loss']:.4f}",
            f"{row['above_best']:.4f} ± {row['se']:.4f}",
            f"{row['auc']:.3f}",
            f"{row['calibration_error']:.3f}",
            "" if rows is None else f"{rows:.3f} ({row['row_kind']})",
        )
    console = Console()
    console.print(table)
    console.print(Text(found.verdict))


@reads_table
def report(
    model: ModelPath,
    table: TableFile,
    out: Annotated[str, typer.Option("--out", "-o", help="The report.")] = "report.html",
    names: Names = None,
    seed: Seed = 0,
) -> None:
    """Write a report on what a saved MODEL says about TABLE, without a comparison of families."""
    from ..exploring.job import check_page, write_report

    check_page(Path(out))
    estimator = loaded(model, table)
    if names is not None:
        named(estimator, model, names)
    opened = table.open(estimator)
    write_report(estimator, opened, out, name=table.name, random_state=seed, about=table.settings())
    print(f"report: {out}")
