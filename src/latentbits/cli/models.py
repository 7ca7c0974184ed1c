"""Commands that fit models and ask them questions."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import FileError, InputError
from ..families import BY_NAME, COMPOSITES, MOST_SIZES, family_of
from .options import WORDS, Jobs, Json, ModelPath, Out, Seed, TableFile, reads_table
from .output import check_target, components_of, matrix_rows, show_components, write_json, write_rows
from .output import told as _told
from .progress import SeveralFits, listeners, progress_shown
from .typed import again, exchanged, with_command

# Estimator options that the command line has options of its own for.
OWN_OPTIONS = {
    "n_components": "-k",
    "n_states": "-k",
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

# Stories of families whose components are on or off in a row.
ON_AND_OFF = ("causes", "switches")

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
    if "n_components" in options:
        options[cls.size_option] = options.pop("n_components")
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


def check_numbers(table: TableFile) -> None:
    """Refuse options that make bits of a table whose numbers are read as they are."""
    used = [f"--{name}" for name in WORDS if table.how[name]]
    used += ["--binarize"] if table.binarize is not None else []
    if used:
        raise InputError(f"{table.path}: its numbers are taken as they are; leave out {' and '.join(used)}.")


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


def loaded(model: str, table: TableFile | None = None, answer: str = "") -> Any:
    """A saved model, of a family that has the answer; a table in its place, or one exchanged with it, is told of."""
    import latentbits

    try:
        estimator = latentbits.load(model)
    except InputError:
        if table is not None and _is_model(table.path):
            raise InputError(
                f"{table.path} is a model and {model} is none: they stand the wrong way round. Type "
                f"{exchanged(model, table.path)}"
            ) from None
        if _is_called_table(model):
            raise InputError(
                f"{model} is a table, not a model; fit one first: {shlex.join(['latentbits', 'fit', model])}"
            ) from None
        raise
    if answer and not hasattr(estimator, answer):
        raise InputError(f"{model} holds a {type(estimator).__name__}, which has no {answer}.")
    return estimator


def _is_model(path: str) -> bool:
    """Whether a file is a whole model."""
    from ..engine.checkpoint import read_sealed

    try:
        read_sealed(Path(path), "model")
    except FileError:
        return False
    return True


def _is_called_table(path: str) -> bool:
    """Whether a file has the name of a table."""
    from ..data.files import format_of

    try:
        return Path(path).is_file() and bool(format_of(Path(path)))
    except InputError:
        return False


def _opened_for(estimator: Any, table: TableFile) -> Any:
    """The table as a model wants it; classifiers and selectors take numbers and have no threshold."""
    return table.open(estimator) if hasattr(estimator, "binarize") else table.open(values=True)


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
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Fit a model to TABLE, save it, and show its components."""
    from ..data.replacing import followed
    from ..engine.locks import held

    target = Path(out) if out else Path(f"{table.name}.latentbits")
    _check_model_target(target)
    checkpoint = target.with_name(target.name + ".checkpoint")
    if resume and not checkpoint.exists():
        raise InputError(f"there is no checkpoint {checkpoint} to resume from; run without --resume.")
    values = _takes_values(model)
    if values:
        check_numbers(table)
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
        callbacks=listeners(),
    )
    estimator._check_options()
    place = followed(target)
    with _told(), held(place.with_name(f".{place.name}.lock"), target):
        opened = table.open(values=values)
        if not resume and checkpoint.exists():
            _discard(checkpoint)
        try:
            estimator.fit(opened.reader)
        except KeyboardInterrupt as error:
            if checkpoint.exists():
                further = () if resume else ("--resume",)
                error.add_note(f"The state is in {checkpoint}; this goes on from there: {again(*further)}")
            raise
        estimator.set_params(checkpoint=None, callbacks=None).save(target)
        checkpoint.unlink(missing_ok=True)
    if as_json:
        found = {"model": str(target), "family": type(estimator).__name__, "summary": estimator.summary()}
        write_json({**found, "converged": estimator.converged_, "components": components_of(estimator)})
        return
    show_components(estimator)
    print(estimator.summary())
    print(f"model: {target}")


def _check_model_target(target: Path) -> None:
    """Refuse to write over anything that is not a model."""
    from ..data.replacing import followed
    from ..engine.checkpoint import read_sealed

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
    as_json: Json = False,
) -> None:
    """Represent every row of TABLE by the components of MODEL; of an h5ad file also in obsm of a copy, OUT."""
    back = out if out is not None and out.endswith(".h5ad") else None
    if back is not None and not table.path.endswith(".h5ad"):
        raise InputError(f"{back}: memberships can be written into a copy of an .h5ad file, and {table.path} is none.")
    check_target(None if back else out, as_json)
    estimator = loaded(model, table, "transform")
    with _told():
        opened = _opened_for(estimator, table)
        values = estimator.transform(opened.reader)
    _tell_kinds(estimator)
    if back is not None:
        from ..data.formats.h5ad import write_obsm

        write_obsm(Path(table.path), Path(back), "X_latentbits", values, list(estimator.get_feature_names_out()))
        print(f"wrote obsm['X_latentbits'] of {len(values)} rows to {back}", file=sys.stderr)
        return
    write_rows(*matrix_rows(values, list(estimator.get_feature_names_out()), opened), out, as_json)


def _tell_kinds(estimator: Any) -> None:
    """Say on standard error what is special about components."""
    if hasattr(estimator, "component_kinds_"):
        for name, kind in zip(estimator.component_names_, estimator._component_kinds()):
            if kind:
                print(f"{name}: {kind}", file=sys.stderr)


@reads_table
def predict(
    model: ModelPath,
    table: TableFile,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Say where every row of TABLE belongs: the class it is most probably in, or the sources that are probably on."""
    check_target(out, as_json)
    estimator = loaded(model, table)
    _check_predicts(estimator, model)
    with _told():
        opened = _opened_for(estimator, table)
        values, names = _predicted(estimator, opened)
    write_rows(*matrix_rows(values, names, opened), out, as_json)


def _check_predicts(estimator: Any, model: str) -> None:
    """Refuse models whose rows neither belong to one component nor have components on and off."""
    if type(estimator).__name__ in COMPOSITES:
        raise InputError(
            f"{model} holds several families that fill blanks together; use impute: {with_command('impute')}"
        )
    family = family_of(type(estimator))
    if family.structure == "ratings":
        raise InputError(f"{model}: the {family.title} predicts ratings; use the command recommend.")
    if "predict_proba" not in family.answers and family.structure not in ON_AND_OFF:
        raise InputError(
            f"{model}: in {_article(family.title)} {family.story}, so that there is no one {family.noun} to name. "
            f"For the whole representation: {with_command('transform')}"
        )


def _article(title: str) -> str:
    """A title with its article."""
    return f"{'an' if title[0].lower() in 'aeiou' else 'a'} {title}"


def _predicted(estimator: Any, table: Any) -> tuple[Any, list[str]]:
    """The component of every row and its probability; or which components are on."""
    import numpy as np

    family = family_of(type(estimator))
    if "predict_proba" not in family.answers:
        return (estimator.transform(table.reader) >= 0.5).astype(int), list(estimator.get_feature_names_out())
    chances = estimator.predict_proba(table.reader)
    best = chances.argmax(axis=1)
    called = getattr(estimator, "classes_", None)
    noun = "class" if called is not None else "node" if family.structure == "map" else family.noun
    names = np.array(estimator._component_names() if called is None else [str(name) for name in called], dtype=object)
    found = np.empty((len(best), 2), dtype=object)
    found[:, 0], found[:, 1] = names[best], chances[np.arange(len(best)), best]
    return found, [noun, "probability"]


@reads_table
def impute(
    model: ModelPath,
    table: TableFile,
    how: Annotated[str, typer.Option("--how", help="probability, mode or sample.")] = "probability",
    out: Out = None,
    as_json: Json = False,
    seed: Seed = 0,
) -> None:
    """Fill the blanks of TABLE."""
    check_target(out, as_json)
    estimator = loaded(model, table, "impute")
    with _told():
        opened = table.open(estimator)
        values = estimator.impute(opened.reader, how=how, random_state=seed)
    names = opened.columns or [str(j) for j in range(opened.shape[1])]
    write_rows(*matrix_rows(values, names, opened), out, as_json)


@reads_table
def explain(
    model: ModelPath,
    table: TableFile,
    cell: Annotated[
        list[str] | None,
        typer.Option("--cell", help="ROW:COLUMN; rows by id, or by number if there are none. May be repeated."),
    ] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Explain all blanks.")] = False,
    surprising: Annotated[
        int | None, typer.Option("--surprising", help="The N most surprising known cells; default 20.")
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Say which component explains cells of TABLE: by default the most surprising ones."""
    check_target(out, as_json)
    if bool(cell) + unknown + (surprising is not None) > 1:
        raise InputError("--cell, --unknown and --surprising exclude each other; give one of them.")
    if surprising is not None and surprising < 1:
        raise InputError(f"--surprising must be 1 or more; got {surprising}.")
    estimator = loaded(model, table, "explain")
    with _told():
        opened = table.open(estimator)
        explanation = _explanation(estimator, opened, cell, unknown, 20 if surprising is None else surprising)
    rows = explanation.to_records()
    names = _row_names(opened, opened.shape[0])
    for row in rows:
        row["row"] = names[row["row"]]
    front = ["row", "column", "value", "probability", "surprise"]
    columns = list(rows[0]) if rows else front
    write_rows(rows, columns, out, as_json)
    if not cell and not unknown and surprising is None:
        print("the most surprising known cells; --cell ROW:COLUMN explains others, --unknown blanks", file=sys.stderr)


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
    return estimator.surprising(table.reader, surprising)


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
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Choose the number of components for TABLE."""
    from ..evaluation import select as choose

    check_target(out, as_json)
    if not 1 <= smallest <= largest:
        raise InputError(f"--min {smallest} and --max {largest} do not make a range of components.")
    if largest - smallest >= MOST_SIZES:
        raise InputError(f"--min {smallest} and --max {largest}: at most {MOST_SIZES:,} sizes can be tried.")
    estimator = _estimator(model, setting, n_init=n_init, smoothing=smoothing, random_state=seed, n_jobs=jobs)
    estimator._check_options()
    opened = table.open()
    with _told(), progress_shown("select") as shown:
        progress = SeveralFits(shown)
        chosen = choose(
            estimator.set_params(callbacks=progress.listeners()),
            opened.reader,
            range(smallest, largest + 1),
            criterion,
            folds=folds,
            random_state=seed,
            progress=progress,
        )
    if save is not None:
        chosen.estimator_.set_params(callbacks=None).save(save)
    about = {"criterion": chosen.criterion, "best": chosen.best_, "simplest": chosen.simplest_}
    write_rows(chosen.table, list(chosen.table[0]), out, as_json, about)
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
    as_json: Json = False,
    seed: Seed = 0,
) -> None:
    """Draw new rows from MODEL."""
    check_target(out, as_json)
    estimator = loaded(model, answer="sample")
    cells = estimator.sample(n, random_state=seed)
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    write_rows(*matrix_rows(cells, [str(name) for name in names], None), out, as_json)


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
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """List for each row of TABLE the absent features that its causes would put there; `lost` is how probably it lost them."""
    check_target(out, as_json)
    if by is not None and by not in ("phantom", "content", "lost", "probability"):
        raise InputError(f"--by must be phantom, content, lost or probability; got {by!r}.")
    if top < 1:
        raise InputError(f"--top must be 1 or more; got {top}.")
    if fitted is not None and n_components is not None:
        raise InputError("--components is for fitting; leave it out with --fitted.")
    with _told():
        if fitted is None:
            opened = table.open()
            numbers = None if row is None else [_row_number(name, opened) for name in row]
            estimator = _estimator(
                "aspect",
                n_components=5 if n_components is None else n_components,
                n_phantom=1,
                n_init=n_init,
                random_state=seed,
                n_jobs=jobs,
                callbacks=listeners(),
            ).fit(opened.reader)
        else:
            estimator = loaded(fitted, table)
            if not hasattr(estimator, "expand"):
                raise InputError(f"{fitted} holds a {type(estimator).__name__}; expand needs an AspectBernoulli.")
            opened = table.open(estimator)
            numbers = None if row is None else [_row_number(name, opened) for name in row]
        rows = estimator.expand(opened.reader, numbers, top, by)
    names = _row_names(opened, opened.shape[0])
    for record in rows:
        record["row"] = names[record["row"]]
    columns = ["row", "rank", "feature", "phantom", "content", "lost", "probability", "note"]
    write_rows(rows, columns, out, as_json)


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
