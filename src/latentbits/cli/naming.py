"""``latentbits name``: what the components of a model are called."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ..errors import InputError
from .models import loaded
from .options import Json, ModelPath
from .output import write_json, write_rows


def name(
    model: ModelPath,
    component: Annotated[
        str | None, typer.Argument(metavar="COMPONENT", help="Its number, from 1, or the name that it has.")
    ] = None,
    called: Annotated[str | None, typer.Argument(metavar="NAME", help="Its new name.")] = None,
    as_json: Json = False,
) -> None:
    """Name a component of MODEL, in the file itself; without COMPONENT and NAME list what the components are called."""
    estimator = loaded(model)
    if not hasattr(estimator, "name_components"):
        raise InputError(f"{model} holds a {type(estimator).__name__}, which has no components of its own to name.")
    if component is None:
        rows = _listed(estimator)
        write_rows(rows, list(rows[0]), None, as_json)
        return
    if called is None:
        raise InputError(f"what shall {component!r} be called? Give the name behind it.")
    names = estimator.component_names_
    key: Any = int(component) if component not in names and component.isdecimal() else component
    before = names[estimator._named_place(key, names)]
    estimator.name_components({key: called}).save(model)
    print(f"{before} is now called {called.strip()} in {model}", file=sys.stderr)
    if as_json:
        write_json(_listed(estimator))


def _listed(estimator: Any) -> list[dict[str, Any]]:
    """The components by number."""
    kinds = estimator._component_kinds() if hasattr(estimator, "component_kinds_") else None
    return [
        {"number": k + 1, "component": name, **({} if kinds is None else {"kind": kinds[k]})}
        for k, name in enumerate(estimator.component_names_)
    ]
