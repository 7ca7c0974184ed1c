"""``run.toml``: what a run was asked to do, with which versions, so that it can be repeated."""

from __future__ import annotations

import json
import platform
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import FileError, InputError

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    """Versions of what results depend on."""
    return {
        "latentbits": __version__,
        "python": platform.python_version(),
        **{p: metadata.version(p) for p in PACKAGES},
    }


def _value(value: Any) -> str:
    """A TOML value; strings are written as JSON, which is TOML's basic string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A TOML key, quoted where it must be."""
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _value(name)


def to_toml(sections: dict[str, dict[str, Any]]) -> str:
    """Sections of settings; None is left out."""
    lines = []
    for section, values in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{_key(k)} = {_value(v)}" for k, v in values.items() if v is not None]
        lines.append("")
    return "\n".join(lines)


def read_settings(path: Any) -> dict[str, dict[str, Any]]:
    """The sections of a ``run.toml``."""
    place = Path(path)
    try:
        found = tomllib.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileError(f"there is no file {place}.") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{place} cannot be read as settings ({error}).") from None
    if "table" not in found or "explore" not in found:
        raise InputError(f"{place} is not the run.toml of an exploration: it has no sections [table] and [explore].")
    return found
