"""Commands that recommend and classify: 0/1 tables, ratings, tables of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer

from ..errors import InputError
from ..families import BY_NAME, family_of
from .models import Setting, _estimator, _row_names, _row_number, _setting, check_numbers, loaded
from .options import Jobs, Json, Out, Seed, TableFile, reads_table
from .output import check_target, on_terminal, write_json, write_rows
from .output import told as _told
from .progress import listeners
from .typed import again

FAMILY_OF_BITS = "mixture"  # for recommendations, unless another is asked for


def _options(cls: Any, setting: list[str] | None, own: tuple[str, ...]) -> dict[str, Any]:
    """Further options of a class from NAME=VALUE; those with an option of their own, and unknown ones, are refused."""
    options = dict(_setting(text) for text in setting or ())
    known = cls().get_params(deep=False)
    for name in options:
        if name in own:
            raise InputError(f"--set {name}=...: use the command's own option for it.")
        if name not in known:
            raise InputError(f"{cls.__name__} has no option {name!r}; it has: {', '.join(sorted(known))}.")
    return options


def _kind_of(table: TableFile) -> str | None:
    """What a table holds: "ratings", "triples" or None; standard input can be read once, so it is told or holds ratings."""
    from ..data.rating_files import ratings_or_triples
    from ..data.text import UTF8

    if table.how["format"] is not None or table.path == "-":
        return str(table.how["format"] or "ratings")
    return ratings_or_triples(table.path, table.how["delimiter"], table.how["encoding"] or UTF8)


@reads_table
def recommend(
    table: TableFile,
    row: Annotated[
        list[str] | None,
        typer.Option("--row", "--user", help="Row (user) by its id, or by number without ids. May be repeated."),
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", help="Recommendations per row.")] = 10,
    n_components: Annotated[
        int | None,
        typer.Option(
            "--components", "-k", help="Components to fit; default 20, at most one per 50 rows; for ratings 8."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help=f"Of 0/1 tables: the family; default {FAMILY_OF_BITS}.")
    ] = None,
    fitted: Annotated[
        str | None, typer.Option("--fitted", help="Of 0/1 tables: a model file; without it one is fitted.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="Of ratings: mean (default), or lower (less a standard deviation).")
    ] = None,
    min_ratings: Annotated[
        int | None, typer.Option("--min-ratings", help="Of ratings: leave out items with fewer; default 5.")
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Of ratings, instead: errors for hidden ratings of new users.")
    ] = False,
    setting: Setting = None,
    out: Out = None,
    as_json: Json = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Recommend what rows of TABLE lack: the zeros of a 0/1 table that are most probably ones, or items to users.

    TABLE is a 0/1 table, baskets or triples of any format, or a text file of user, item and rating (--format ratings).
    """
    check_target(out, as_json)
    kind = _kind_of(table)
    of_bits, of_ratings = (model, fitted), (by, min_ratings, evaluate or None)
    if kind == "ratings":
        if any(value is not None for value in of_bits):
            raise InputError(f"{table.path} holds ratings; --model and --fitted are for 0/1 tables.")
        ratings = RatingsAsked(row or [], number, by or "mean", 5 if min_ratings is None else min_ratings)
        _recommend_items(table, ratings, n_components, evaluate, setting, out, as_json, seed, jobs)
        return
    if any(value is not None for value in of_ratings):
        raise InputError(
            f"{table.path} is a 0/1 table; --by, --min-ratings and --evaluate are for ratings (--format ratings)."
        )
    if kind == "triples":
        table.how["format"] = "triples"
    if not row and out is None and not as_json and on_terminal():
        raise InputError("name a row with --row, or write the recommendations of all rows with --out or --json.")
    with _told():
        opened, estimator = _model_of_bits(table, fitted, model, n_components, setting, seed, jobs)
        numbers = [_row_number(name, opened) for name in row] if row else None
        rows = estimator.recommend(opened.reader, numbers, number)
    names = _row_names(opened, opened.shape[0])
    rows = [{**found, "row": names[found["row"]]} for found in rows]
    write_rows(rows, ["row", "rank", "feature", "value", "probability", "marginal", "because", "share"], out, as_json)


def _model_of_bits(
    table: TableFile,
    fitted: str | None,
    model: str | None,
    n_components: int | None,
    setting: list[str] | None,
    seed: int,
    jobs: int,
) -> tuple[Any, Any]:
    """The table, and a model that fills its cells, fitted before or now."""
    if fitted is not None:
        if model is not None or n_components is not None or setting:
            raise InputError("--model, --components and --set are for fitting; leave them out with --fitted.")
        estimator = loaded(fitted, table)
        _check_fills(type(estimator), fitted)
        return table.open(estimator), estimator
    opened, family = table.open(), FAMILY_OF_BITS if model is None else model
    size = max(1, min(20, opened.shape[0] // 50)) if n_components is None and _is_sized(family) else n_components
    options = {"n_components": size, "random_state": seed, "n_jobs": jobs, "binarize": table.binarize}
    estimator = _estimator(family, setting, **options, callbacks=listeners())
    _check_fills(type(estimator), f"--model {family}")
    return opened, estimator.fit(opened.reader)


def _is_sized(family: str) -> bool:
    """Whether a family has a number of components."""
    return family in BY_NAME and (cls := BY_NAME[family].load()).size_option in cls().get_params(deep=False)


def _check_fills(cls: type, what: str) -> None:
    """Refuse families that do not fill cells of 0/1 tables."""
    if "impute" not in family_of(cls).answers:
        filling = [name for name, family in BY_NAME.items() if "impute" in family.answers]
        raise InputError(
            f"{what} is a {cls.__name__}, which fills no cells of a 0/1 table; families that do: {', '.join(filling)}."
        )


class RatingsAsked(NamedTuple):
    """What is asked about ratings."""

    users: list[str]
    number: int
    by: str
    min_ratings: int


@contextmanager
def _duplicates_explained() -> Iterator[None]:
    """Where an item is rated twice, the message also gives the command that takes the last rating."""
    try:
        yield
    except InputError as error:
        if "Set duplicates=" not in str(error):
            raise
        raise InputError(f"{error} Here: {again('--set', 'duplicates=last')}") from None


def _recommend_items(
    table: TableFile,
    asked: RatingsAsked,
    n_components: int | None,
    evaluate: bool,
    setting: list[str] | None,
    out: str | None,
    as_json: bool,
    seed: int,
    jobs: int,
) -> None:
    """Items that users would rate highest."""
    from ..bernoulli_gauss import BernoulliGaussRecommender
    from ..data.rating_files import WHOLE, read_rating_file
    from ..data.text import UTF8

    if not asked.users and not evaluate:
        raise InputError("name a user with --user, or ask for --evaluate.")
    triples = read_rating_file(table.path, table.how["delimiter"], table.how["encoding"] or UTF8)
    options = _options(BernoulliGaussRecommender, setting, ("n_components", "random_state", "n_jobs"))
    size = 8 if n_components is None else n_components
    model = BernoulliGaussRecommender(size, random_state=seed, n_jobs=jobs, callbacks=listeners(), **options)
    with _told(), _duplicates_explained():
        if evaluate:
            errors = model.evaluate_all_but_one(triples)
            told = {"mae": errors.mae, "mae_se": errors.mae_se, "rmse": errors.rmse, "rmse_se": errors.rmse_se}
            write_json({**told, "ratings": len(errors.errors)}) if as_json else print(errors)
            return
        model.fit(triples)
        numbers = isinstance(triples[0][0], int)
        rows = []
        for name in asked.users:
            called: Any = int(name) if numbers and WHOLE.fullmatch(name) else name
            found = model.recommend(called, asked.number, by=asked.by, min_ratings=asked.min_ratings)
            rows += [{"user": called, **row} for row in found]
    write_rows(rows, ["user", "rank", "item", "rating", "sd", "support"], out, as_json)


@reads_table
def classify(
    table: TableFile,
    new: Annotated[str, typer.Option("--new", help="Table of the rows to classify; by default TABLE itself.")] = "",
    n_components: Annotated[int, typer.Option("--components", "-k", help="Topics per class.")] = 5,
    setting: Setting = None,
    out: Out = None,
    as_json: Json = False,
    seed: Seed = 0,
) -> None:
    """Classify rows of numbers by one model per class of TABLE; --label names the column with the classes."""
    import numpy as np

    from ..bernoulli_gauss import BernoulliGaussClassifier

    check_target(out, as_json)
    check_numbers(table)
    opened = table.open(values=True)
    if len(opened.labels) != 1:
        raise InputError("name the column with the classes with --label, and no other.")
    label, classes = next(iter(opened.labels.items()))
    options = _options(BernoulliGaussClassifier, setting, ("n_components", "random_state"))
    model = BernoulliGaussClassifier(n_components, random_state=seed, callbacks=listeners(), **options)
    with _told():
        model.fit(opened.reader, np.array(classes))
        asked = table.like(new, label).open(values=True) if new else opened
        chances = model.predict_proba(asked.reader)
        found = model.predict(asked.reader)
    names = asked.ids if asked.ids is not None else [str(i) for i in range(len(found))]
    rows = [
        {"row": name, "class": str(which), **{f"p_{c}": float(p) for c, p in zip(model.classes_, line)}}
        for name, which, line in zip(names, found, chances)
    ]
    write_rows(rows, list(rows[0]), out, as_json)
