"""Commands that fit models and ask them questions."""

from __future__ import annotations

import ast
import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..families import BY_NAME, MOST_SIZES
from .options import Jobs, ModelPath, Out, Seed, TableFile, reads_table
from .output import check_target, matrix_rows, show_components, write_rows
from .output import told as _told
from .progress import progress_shown

# Estimator options that the command line has options of its own for.
OWN_OPTIONS = {
    "n_components": "-k",
    "n_init": "--starts",
    "max_iter": "--max-iter",
    "tol": "--tol",
    "smoothing": "--smoothing",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "binarize": "--binarize",
    "time_limit": "--time-limit",
    "n_chains": "--chains",
    "n_warmup": "--warmup",
    "n_draws": "--draws",
}

FamilyName = Annotated[str, typer.Option("--model", "-m", help=f"Family: {', '.join(BY_NAME)}.")]
Starts = Annotated[int | None, typer.Option("--starts", help="Random starts; default: the family's.")]
Smoothing = Annotated[
    float | None, typer.Option("--smoothing", help="Pull toward column marginals, in rows; default: the family's.")
]
Setting = Annotated[
    list[str] | None, typer.Option("--set", help="Further option of the family, NAME=VALUE. May be repeated.")
]


def _estimator(family: str, settings: list[str] | None = None, **options: Any) -> Any:
    """An estimator of the named family; options that are None are left at the family's default."""

    if family not in BY_NAME:
        raise InputError(f"there is no model {family!r}; there are: {', '.join(BY_NAME)}.")
    cls = BY_NAME[family].load()
    options = {name: value for name, value in options.items() if value is not None}
    further = dict(_setting(text) for text in settings or ())
    twice = [name for name in further if name in OWN_OPTIONS]
    if twice:
        raise InputError(f"--set {twice[0]}=...: use {OWN_OPTIONS[twice[0]]} for it.")
    options.update(further)
    known = cls().get_params(deep=False)
    odd = [name for name in options if name not in known]
    if odd and odd[0] in OWN_OPTIONS:
        itself = ""
        if odd[0] == "n_components":
            is_map = "latent_shape" in known
            itself = (
                "; its size is --set latent_shape=15,15" if is_map else "; it finds the number of components itself"
            )
        raise InputError(
            f"{BY_NAME[family].cls} has no option {odd[0]!r}, so {OWN_OPTIONS[odd[0]]} is not for --model {family}{itself}. "
            "`--set NAME=VALUE` sets its own options."
        )
    if odd:
        raise InputError(f"{BY_NAME[family].cls} has no option {odd[0]!r}; it has: {', '.join(sorted(known))}.")
    return cls(**options)


def _takes_values(family: str) -> bool:
    """Whether tables of a family hold numbers, not bits."""

    from ..data.values import Reals

    cls = BY_NAME[family].load() if family in BY_NAME else None
    return isinstance(getattr(cls, "binarize", None), Reals)


def _setting(text: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE; values are read as JSON or Python where they can be, 1,2 as a pair."""
    name, separator, value = text.partition("=")
    if not separator:
        raise InputError(f"--set {text!r} is not of the form NAME=VALUE.")
    for read in (json.loads, ast.literal_eval):
        try:
            return name, read(value)
        except (ValueError, SyntaxError):
            continue
    return name, value


def _listeners() -> list[Any]:
    """A bar on a terminal, log lines elsewhere."""
    from ..engine.events import LogLines, ProgressBar

    if sys.stderr.isatty():
        from rich.console import Console

        return [ProgressBar(Console(stderr=True))]
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    return [LogLines(every=50)]


def _loaded(model: str) -> Any:
    """A saved model."""
    import latentbits

    return latentbits.load(model)


def _row_names(table: Any, n_rows: int) -> list[str]:
    """What rows are called in output."""
    return table.ids if table.ids is not None else [str(i) for i in range(n_rows)]


@reads_table
def fit(
    table: TableFile,
    model: FamilyName = "mixture",
    n_components: Annotated[
        int | None, typer.Option("--components", "-k", help="Number of components; default: the family's.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Model file; default: TABLE's name + .latentbits")
    ] = None,
    n_init: Starts = None,
    max_iter: Annotated[int | None, typer.Option("--max-iter", help="Passes per start; default: the family's.")] = None,
    tol: Annotated[
        float | None, typer.Option("--tol", help="Settled below this gain, nats per cell; default: the family's.")
    ] = None,
    smoothing: Smoothing = None,
    n_chains: Annotated[int | None, typer.Option("--chains", help="Chains of a sampler.")] = None,
    n_warmup: Annotated[int | None, typer.Option("--warmup", help="Sweeps of a chain before draws are kept.")] = None,
    n_draws: Annotated[int | None, typer.Option("--draws", help="Draws kept of every chain.")] = None,
    setting: Setting = None,
    time_limit: Annotated[float | None, typer.Option("--time-limit", help="Seconds.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted run.")] = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Fit a model to TABLE, save it, and show its components."""
    from ..engine.checkpoint import followed
    from ..engine.locks import held

    target = (
        Path(out)
        if out
        else Path(f"{'stdin' if table.path == '-' else Path(table.path).name.split('.')[0]}.latentbits")
    )
    _check_model_target(target)
    checkpoint = target.with_name(target.name + ".checkpoint")
    if resume and not checkpoint.exists():
        raise InputError(f"there is no checkpoint {checkpoint} to resume from; run without --resume.")
    estimator = _estimator(
        model,
        setting,
        n_components=n_components,
        n_init=n_init,
        max_iter=max_iter,
        tol=tol,
        smoothing=smoothing,
        n_chains=n_chains,
        n_warmup=n_warmup,
        n_draws=n_draws,
        random_state=seed,
        n_jobs=jobs,
        time_limit=time_limit,
        binarize=table.binarize,
        checkpoint=str(checkpoint),
        callbacks=_listeners(),
    )
    estimator._check_options()
    place = followed(target)
    with _told(), held(place.with_name(f".{place.name}.lock"), target):
        opened = table.open(values=_takes_values(model))
        if not resume and checkpoint.exists():
            _discard(checkpoint)
        try:
            estimator.fit(opened.reader)
        except KeyboardInterrupt as error:
            if checkpoint.exists():
                error.add_note(f"The state is in {checkpoint}; the same command with --resume goes on from there.")
            raise
        estimator.set_params(checkpoint=None, callbacks=None).save(target)
        checkpoint.unlink(missing_ok=True)
    show_components(estimator)
    print(estimator.summary())
    print(f"model: {target}")


def _check_model_target(target: Path) -> None:
    """Refuse to write over anything that is not a model."""
    from ..engine.checkpoint import followed, read_sealed

    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file with --out.")
    followed(target)
    if target.exists():
        try:
            read_sealed(target, "model")
        except InputError:
            raise InputError(
                f"{target} exists and is not a model; it is not overwritten. Name another --out."
            ) from None


def _discard(checkpoint: Path) -> None:
    """Remove an old checkpoint, but no file of another kind."""
    from ..engine.checkpoint import read_sealed

    read_sealed(checkpoint, "checkpoint")
    checkpoint.unlink()


@reads_table
def transform(
    model: ModelPath,
    table: TableFile,
    out: Out = None,
) -> None:
    """Represent every row of TABLE by the components of MODEL."""
    check_target(out)
    estimator = _loaded(model)
    with _told():
        opened = table.open(estimator)
        values = estimator.transform(opened.reader)
    _tell_kinds(estimator)
    write_rows(*matrix_rows(values, list(estimator.get_feature_names_out()), opened), out)


def _tell_kinds(estimator: Any) -> None:
    """Say on standard error what is special about components."""
    if hasattr(estimator, "component_kinds_"):
        for name, kind in zip(estimator.component_names_, estimator._component_kinds()):
            if kind:
                print(f"{name}: {kind}", file=sys.stderr)


@reads_table
def impute(
    model: ModelPath,
    table: TableFile,
    how: Annotated[str, typer.Option("--how", help="probability, mode or sample.")] = "probability",
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Fill the blanks of TABLE."""
    check_target(out)
    estimator = _loaded(model)
    with _told():
        opened = table.open(estimator)
        values = estimator.impute(opened.reader, how=how, random_state=seed)
    names = opened.columns or [str(j) for j in range(opened.shape[1])]
    write_rows(*matrix_rows(values, names, opened), out)


@reads_table
def explain(
    model: ModelPath,
    table: TableFile,
    cell: Annotated[
        list[str] | None,
        typer.Option("--cell", help="ROW:COLUMN; rows by id, or by number if there are none. May be repeated."),
    ] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Explain all blanks.")] = False,
    surprising: Annotated[int, typer.Option("--surprising", help="The N most surprising known cells.")] = 0,
    out: Out = None,
) -> None:
    """Say which component explains each cell of TABLE."""
    check_target(out)
    if bool(cell) + unknown + (surprising != 0) > 1:
        raise InputError("--cell, --unknown and --surprising exclude each other; give one of them.")
    if surprising < 0:
        raise InputError(f"--surprising must be 1 or more; got {surprising}.")
    estimator = _loaded(model)
    with _told():
        opened = table.open(estimator)
        explanation = _explanation(estimator, opened, cell, unknown, surprising)
    rows = explanation.to_records()
    names = _row_names(opened, opened.shape[0])
    for row in rows:
        row["row"] = names[row["row"]]
    front = ["row", "column", "value", "probability", "surprise"]
    columns = list(rows[0]) if rows else front
    write_rows(rows, columns, out)


def _explanation(estimator: Any, table: Any, cell: list[str] | None, unknown: bool, surprising: int) -> Any:
    """The explanation of the cells that were asked for."""
    import numpy as np

    from ..data.source import TableSource

    if cell:
        places = [_place(text, table) for text in cell]
        return estimator.explain(table.reader, cells=tuple(np.array(part) for part in zip(*places)))
    if unknown:
        source = TableSource(table.reader, "explain")
        parts = []
        for b in range(source.n_blocks):
            block = source.block(b)
            if block.unknown is not None:
                indptr, indices = block.unknown.lists()
                parts.append((np.repeat(np.arange(block.n_rows), np.diff(indptr)) + block.start, indices))
        if not parts:
            raise InputError("the table has no unknown cells to explain.")
        return estimator.explain(table.reader, cells=tuple(np.concatenate(part) for part in zip(*parts)))
    explanation = estimator.explain(table.reader)
    if surprising <= 0:
        return explanation
    order = np.argsort(-np.nan_to_num(explanation.surprise, nan=-1.0), kind="stable")[:surprising]
    return explanation.take(order)


def _place(text: str, table: Any) -> tuple[int, int]:
    """Row and column number of ROW:COLUMN; rows that have names are called by them."""
    row, separator, column = text.rpartition(":")
    if not separator:
        raise InputError(f"--cell {text!r} is not of the form ROW:COLUMN.")
    i = _row_number(row, table)
    names = table.columns or []
    j = names.index(column) if column in names else int(column) if column.isdecimal() and len(column) < 19 else -1
    if not 0 <= j < table.shape[1]:
        raise InputError(f"--cell {text!r}: there is no column {column!r}.")
    return i, j


@reads_table
def select(
    table: TableFile,
    model: FamilyName = "mixture",
    smallest: Annotated[int, typer.Option("--min", help="Smallest number of components.")] = 1,
    largest: Annotated[int, typer.Option("--max", help="Largest number of components.")] = 8,
    criterion: Annotated[
        str | None, typer.Option("--criterion", "-c", help="bic, aic, cells or rows; default: the family's.")
    ] = None,
    folds: Annotated[int, typer.Option("--folds", help="Draws of held-out cells or rows.")] = 3,
    n_init: Starts = None,
    smoothing: Smoothing = None,
    setting: Setting = None,
    out: Out = None,
    save: Annotated[str | None, typer.Option("--save", help="Save the best model to this file.")] = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Choose the number of components for TABLE."""
    from ..evaluation import select as choose

    check_target(out)
    if not 1 <= smallest <= largest:
        raise InputError(f"--min {smallest} and --max {largest} do not make a range of components.")
    if largest - smallest >= MOST_SIZES:
        raise InputError(f"--min {smallest} and --max {largest}: at most {MOST_SIZES:,} sizes can be tried.")
    estimator = _estimator(model, setting, n_init=n_init, smoothing=smoothing, random_state=seed, n_jobs=jobs)
    estimator._check_options()
    opened = table.open()
    with _told(), progress_shown("select") as progress:
        chosen = choose(
            estimator,
            opened.reader,
            range(smallest, largest + 1),
            criterion,
            folds=folds,
            random_state=seed,
            progress=progress,
        )
    if save is not None:
        chosen.estimator_.save(save)
    write_rows(chosen.table, list(chosen.table[0]), out)
    if chosen.best_ == 1 and largest > 1 and hasattr(chosen.estimator_, "predict_proba"):  # one class: no structure
        print(
            "nothing beats independent columns; stronger --smoothing or --criterion rows may show more", file=sys.stderr
        )
    simple = "" if chosen.simplest_ == chosen.best_ else f"; within one standard error: {chosen.simplest_}"
    print(f"best number of components by {chosen.criterion}: {chosen.best_}{simple}", file=sys.stderr)


def sample(
    model: ModelPath,
    n: Annotated[int, typer.Option("--rows", "-n", help="Rows to draw.")] = 10,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Draw new rows from MODEL."""
    check_target(out)
    estimator = _loaded(model)
    cells = estimator.sample(n, random_state=seed)
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    write_rows(*matrix_rows(cells, [str(name) for name in names], None), out)


@reads_table
def expand(
    table: TableFile,
    fitted: Annotated[
        str | None, typer.Option("--fitted", help="A model file of Aspect Bernoulli; without it one is fitted.")
    ] = None,
    n_components: Annotated[
        int | None, typer.Option("--components", "-k", help="Causes to fit, the phantom included; default 5.")
    ] = None,
    row: Annotated[
        list[str] | None,
        typer.Option("--row", help="Row by its id, or by number if there are no ids. May be repeated."),
    ] = None,
    top: Annotated[int, typer.Option("--top", help="Features per row.")] = 10,
    by: Annotated[str | None, typer.Option("--by", help="Rank by phantom, content, lost or probability.")] = None,
    n_init: Starts = None,
    out: Out = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """List for each row of TABLE the absent features that its causes would put there; `lost` is how probably it lost them."""
    check_target(out)
    if by is not None and by not in ("phantom", "content", "lost", "probability"):
        raise InputError(f"--by must be phantom, content, lost or probability; got {by!r}.")
    if top < 1:
        raise InputError(f"--top must be 1 or more; got {top}.")
    if fitted is not None and n_components is not None:
        raise InputError("--components is for fitting; leave it out with --fitted.")
    opened = table.open()
    numbers = None if row is None else [_row_number(name, opened) for name in row]
    with _told():
        if fitted is None:
            estimator = _estimator(
                "aspect",
                n_components=5 if n_components is None else n_components,
                n_phantom=1,
                n_init=n_init,
                random_state=seed,
                n_jobs=jobs,
                callbacks=_listeners(),
            ).fit(opened.reader)
        else:
            estimator = _loaded(fitted)
            if not hasattr(estimator, "expand"):
                raise InputError(f"{fitted} holds a {type(estimator).__name__}; expand needs an AspectBernoulli.")
            opened = table.open(estimator)
        rows = estimator.expand(opened.reader, numbers, top, by)
    names = _row_names(opened, opened.shape[0])
    for record in rows:
        record["row"] = names[record["row"]]
    columns = ["row", "rank", "feature", "phantom", "content", "lost", "probability", "note"]
    write_rows(rows, columns, out)


def _row_number(name: str, table: Any) -> int:
    """Number of the row called so; rows that have names are called by them."""
    ids = table.ids
    if ids is not None and name in ids:
        if ids.count(name) > 1:
            raise InputError(f"{ids.count(name)} rows are called {name!r}; rows are asked for by an id of their own.")
        return int(ids.index(name))
    i = int(name) if ids is None and name.isdecimal() and len(name) < 19 else -1
    if not 0 <= i < table.shape[0]:
        known = f"rows are numbered 0 to {table.shape[0] - 1}; name their column with --id to call them by name"
        if ids is not None:
            known = f"rows are called {', '.join(ids[:3])}, ..."
        raise InputError(f"there is no row {name!r}; {known}.")
    return i
