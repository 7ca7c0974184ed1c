"""Commands for tables of numbers: ratings and classes."""

from __future__ import annotations

import csv
import re
from typing import Annotated, Any

import typer

from ..errors import FileError, InputError
from .models import Setting, _setting, _told
from .options import Jobs, Out, Seed, TableFile, reads_table
from .output import check_target, write_rows

RatingsPath = Annotated[
    str, typer.Argument(metavar="RATINGS", help="Lines of user, item and rating, with or without names above them.")
]


_WHOLE = re.compile("0|[1-9][0-9]{0,17}")


def read_triples(path: str, delimiter: str | None, encoding: str) -> tuple[list[Any], list[Any], list[float]]:
    """Users, items and ratings of a text file."""
    from ..data.numbers import number_of_word
    from ..data.text import opened

    with opened(path, encoding) as text:
        first = text.readline()
        separator = delimiter or next((c for c in "\t;,|" if c in first), ",")
        lines = [line for line in csv.reader([first, *text], delimiter=separator) if line]
    if not lines:
        raise FileError(f"{path} is empty; it should hold lines of user, item and rating.")
    try:
        number_of_word(lines[0][2] if len(lines[0]) > 2 else "")
    except ValueError:
        lines = lines[1:]
    users, items, ratings = [], [], []
    for number, line in enumerate(lines):
        try:
            users.append(line[0].strip())
            items.append(line[1].strip())
            ratings.append(number_of_word(line[2]))
        except (IndexError, ValueError):
            raise FileError(f"{path}: entry {number} ({', '.join(line)!r:.60}) is not user, item and rating.") from None
    return _alike(users), _alike(items), ratings


def _alike(names: list[str]) -> list[Any]:
    """Names as whole numbers if all of them are, and are written as such."""
    return [int(name) for name in names] if all(_WHOLE.fullmatch(name) for name in names) else names


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


def recommend(
    ratings: RatingsPath,
    user: Annotated[list[str] | None, typer.Option("--user", help="User to recommend to. May be repeated.")] = None,
    number: Annotated[int, typer.Option("--number", "-n", help="Recommendations per user.")] = 10,
    n_components: Annotated[int, typer.Option("--components", "-k", help="Number of tastes.")] = 8,
    by: Annotated[str, typer.Option("--by", help="mean, or lower (the mean less a standard deviation).")] = "mean",
    min_ratings: Annotated[int, typer.Option("--min-ratings", help="Leave out items with fewer ratings.")] = 5,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Instead: errors for hidden ratings of new users.")
    ] = False,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Field separator; by default found out.")] = None,
    encoding: Annotated[str, typer.Option("--encoding", help="Text encoding.")] = "utf-8-sig",
    setting: Setting = None,
    out: Out = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Recommend items to users from RATINGS."""
    from ..bernoulli_gauss import BernoulliGaussRecommender

    check_target(out)
    if not user and not evaluate:
        raise InputError("name a user with --user, or ask for --evaluate.")
    triples = read_triples(ratings, delimiter, encoding)
    options = _options(BernoulliGaussRecommender, setting, ("n_components", "random_state", "n_jobs"))
    model = BernoulliGaussRecommender(n_components, random_state=seed, n_jobs=jobs, **options)
    with _told():
        if evaluate:
            print(model.evaluate_all_but_one(triples))
            return
        model.fit(triples)
        numbers = isinstance(triples[0][0], int)
        rows = []
        for name in user or ():
            called: Any = int(name) if numbers and _WHOLE.fullmatch(name) else name
            rows += [{"user": called, **row} for row in model.recommend(called, number, by=by, min_ratings=min_ratings)]
    write_rows(rows, ["user", "rank", "item", "rating", "sd", "support"], out)


@reads_table
def classify(
    table: TableFile,
    new: Annotated[str, typer.Option("--new", help="Table of the rows to classify; by default TABLE itself.")] = "",
    n_components: Annotated[int, typer.Option("--components", "-k", help="Topics per class.")] = 5,
    setting: Setting = None,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Classify rows of numbers by one model per class of TABLE; --label names the column with the classes."""
    import numpy as np

    from ..bernoulli_gauss import BernoulliGaussClassifier

    check_target(out)
    opened = table.open(values=True)
    if len(opened.labels) != 1:
        raise InputError("name the column with the classes with --label, and no other.")
    label, classes = next(iter(opened.labels.items()))
    options = _options(BernoulliGaussClassifier, setting, ("n_components", "random_state"))
    model = BernoulliGaussClassifier(n_components, random_state=seed, **options)
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
    write_rows(rows, list(rows[0]), out)
