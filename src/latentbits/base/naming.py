"""Names that people give to components: a dict, one by families, or a file that holds either."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import FileError, InputError
from ..families import Family

EXPECTED = 'expected {"a component": "its new name", ...}, or such a dict for every family, as the report writes it'


def names_given(names: Any, family: Family, owner: str) -> Mapping[Any, Any]:
    """From components to names: what a dict or a JSON file says of a family.

    Parameters
    ----------
    names : dict or path
        From components to names, or from families (their names on the command line) to such dicts; or a JSON file.
    family : Family
        Whose components are named.
    owner : str
        Who asks, for messages.

    Examples
    --------
    >>> from latentbits.families import BY_NAME
    >>> names_given({"mixture": {"class 1": "pop voters"}, "aspect": {}}, BY_NAME["mixture"], "doc")
    {'class 1': 'pop voters'}
    """
    where = "the dict of names"
    if isinstance(names, (str, os.PathLike)):
        where, names = str(names), _of_file(Path(names))
    if not isinstance(names, Mapping):
        raise InputError(f"{owner}: {where} holds no names but a {type(names).__name__!r}; {EXPECTED}.")
    families = [key for key, mine in names.items() if isinstance(mine, Mapping)]
    if not families:
        return names
    if len(families) < len(names):
        other = next(key for key in names if key not in families)
        raise InputError(f"{owner}: {where} holds a family, {families[0]!r}, and a single name, {other!r}; {EXPECTED}.")
    for own in (family.name, family.cls):
        if own in names:
            mine: Mapping[Any, Any] = names[own]
            return mine
    raise InputError(
        f"{owner}: {where} has names for {' and '.join(map(repr, families))}, but this model is of the family "
        f"{family.name or family.cls!r}; take the file of a report that shows it."
    )


def _of_file(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_once)
    except FileNotFoundError:
        raise FileError(f"there is no file {path}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror}).") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileError(f"{path} is no JSON file ({error}); {EXPECTED}.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a JSON file, in which nothing may stand twice."""
    out = dict(pairs)
    if len(out) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise FileError(f"{twice!r} stands twice in the file of names; give it one name.")
    return out
