"""The reference pages: every public name stands there, and every function, class and method there has an example."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import latentbits
from latentbits import datasets, errors, metrics, plots
from latentbits.families import FAMILIES

API = Path(__file__).parents[2] / "docs" / "api"
pytestmark = pytest.mark.skipif(not API.exists(), reason="the documentation is not beside these tests")
# Methods without an example of their own, and why.
EXCUSED = {
    "begin": "what a listener hears stands at Listener",
    "step": "what a listener hears stands at Listener",
    "end": "what a listener hears stands at Listener",
    "of": "compare builds the result",
    "row_name": "in the example of Exploration",
}
# Public, but for tests, readers of files and the like.
NOT_LISTED = {"PREPARED", "find"}


def listed():
    """Names on the pages, with their module."""
    found = set()
    for page in API.glob("*.md"):
        inside = None
        for line in page.read_text(encoding="utf-8").splitlines():
            inside = line.partition(":: ")[2] if line.startswith(".. currentmodule::") else inside
            if inside and re.fullmatch(r"   [A-Za-z_][\w.]*", line):
                found.add(f"{inside}.{line.strip()}")
    return found | {f"latentbits.{family.cls}" for family in FAMILIES}


@cache
def thing(name):
    """What a name stands for: as autosummary finds it, an attribute before a module."""
    place, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(place), last)
    except ImportError:
        return getattr(thing(place), last)


def function_of(cls, name):
    """The function behind a method; None for what is no method of ours."""
    member = inspect.getattr_static(cls, name)
    if isinstance(member, property):
        return None  # values, which the example of the class shows
    member = getattr(member, "fn", None) or getattr(member, "__func__", None) or member
    ours = getattr(member, "__module__", "") or ""
    return member if inspect.isfunction(member) and ours.startswith("latentbits") else None


def callables():
    """Functions and classes of the pages, and public methods of the classes."""
    found = {}
    for name in sorted(listed()):
        value = thing(name)
        found[name] = value
        if inspect.isclass(value) and not issubclass(value, BaseException):
            for method in dir(value):
                function = None if method.startswith("_") else function_of(value, method)
                if function is not None and method not in EXCUSED and function.__name__ != "<lambda>":
                    found[f"{name}.{method}"] = function
    return found


def test_every_callable_has_an_example():
    found = callables()
    missing = [
        name
        for name, value in found.items()
        if ">>> " not in (inspect.getdoc(value) or "")
        and not (inspect.isclass(value) and issubclass(value, BaseException))
    ]
    assert not missing and len(found) > 250, missing


def test_every_parameter_of_functions_and_methods_is_told():
    """Sections of numpydoc name what a function takes."""
    for name, function in callables().items():
        if not inspect.isfunction(function) or function.__name__ == "set_params":
            continue
        told = inspect.getdoc(function) or ""
        for parameter in inspect.signature(function).parameters.values():
            if parameter.name not in ("self", "cls"):
                assert re.search(rf"\b{re.escape(parameter.name)}\b", told), (name, parameter.name)


def test_every_public_name_is_listed():
    names = listed()
    for public in latentbits.__all__:
        value = getattr(latentbits, public)
        if not inspect.ismodule(value) and public != "__version__":
            assert f"latentbits.{public}" in names, public
    for module in (plots, datasets):
        for public in set(module.__all__) - NOT_LISTED:
            assert f"{module.__name__}.{public}" in names, public
    for module in (metrics, errors):
        for public, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__ and not public.startswith("_"):
                if inspect.isclass(value) or module is metrics:
                    assert f"{module.__name__}.{public}" in names, public
