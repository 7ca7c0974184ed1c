"""``latentbits name``: what the components of a model are called."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..errors import InputError
from .models import loaded
from .options import Json, ModelPath
from .output import write_json, write_rows

Names = Annotated[
    str | None,
    typer.Option("--names", help="JSON file of names: {component: name}, or the one that the report downloads."),
]


def name(
    model: ModelPath,
    component: Annotated[
        str | None, typer.Argument(metavar="COMPONENT", help="Its number, from 1, or the name that it has.")
    ] = None,
    called: Annotated[str | None, typer.Argument(metavar="NAME", help="Its new name.")] = None,
    names: Names = None,
    as_json: Json = False,
) -> None:
    """Name a component of MODEL, or with --names several, in the file itself; without either list what they are called."""
    estimator = loaded(model)
    given: Any = names
    if component is not None:
        if names is not None:
            raise InputError(f"--names {names} names components by itself; leave out {component!r}, or --names.")
        if called is None:
            file = " A file of names is given with --names." if component.lower().endswith(".json") else ""
            raise InputError(f"what shall {component!r} be called? Give the name behind it.{file}")
        given = {component: called}
    if given is None:
        _check_nameable(estimator, model)
        rows = _listed(estimator)
        write_rows(rows, list(rows[0]), None, as_json)
        return
    changed = named(estimator, model, given)
    if changed:
        estimator.save(model)
    for before, now in changed:
        print(f"{before} is now called {now} in {model}", file=sys.stderr)
    if not changed:
        print(f"the components of {model} are called so already", file=sys.stderr)
    if as_json:
        write_json(_listed(estimator))


def named(estimator: Any, model: str, names: Any) -> list[tuple[str, str]]:
    """Give the components of a loaded model names; what those that changed were called, and are."""
    _check_nameable(estimator, model)
    before = estimator.component_names_
    now = estimator.name_components(names).component_names_
    return [pair for pair in zip(before, now) if pair[0] != pair[1]]


def _check_nameable(estimator: Any, model: str) -> None:
    """Refuse models without components of their own."""
    if not hasattr(estimator, "name_components"):
        raise InputError(f"{model} holds a {type(estimator).__name__}, which has no components of its own to name.")


def _listed(estimator: Any) -> list[dict[str, Any]]:
    """The components by number."""
    kinds = estimator._component_kinds() if hasattr(estimator, "component_kinds_") else None
    return [
        {"number": k + 1, "component": name, **({} if kinds is None else {"kind": kinds[k]})}
        for k, name in enumerate(estimator.component_names_)
    ]
