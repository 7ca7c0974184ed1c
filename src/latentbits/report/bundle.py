"""One script from small modules, for a page that is one file.

Browsers load no modules from a page that was opened from disk, so each module in `files/js` becomes a function that is
called once and gives back what it exports, those that are imported first.  Names of different modules do not meet.  That is
right as long as modules keep to what is checked here: named imports from ``./name.js``, and names exported where they are
declared, with values that stay.  So nothing but Python is needed to write a page, and its script reads like the modules.

A line that begins with ``import`` or ``export`` is taken for a statement, wherever it stands.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources.abc import Traversable
from typing import NamedTuple

STATEMENT = re.compile(r"^[ \t]*(?:import|export)\b.*$|\bimport[ \t]*\(.*$|\bimport\.meta\b", re.MULTILINE)
IMPORT = re.compile(r"""^import\s*\{([^}]*)\}\s*from\s*["']\./([\w-]+\.js)["'];[ \t]*\n?""", re.MULTILINE)
DECLARED = r"(?:async[ \t]+)?(?:function\b[ \t]*\*?|const\b|class\b)[ \t]*([\w$]+)"
EXPORT = re.compile(rf"^export[ \t]+(?={DECLARED})", re.MULTILINE)
NAME = re.compile(r"[\w$]+")
# What would end the script element, or make a browser read on past its end.
UNSAFE = ("</script", "<!--")


class Module(NamedTuple):
    """A module: names it takes, by file, names it offers, and its text without the statements."""

    imports: dict[str, list[str]]
    exports: list[str]
    text: str


@cache
def bundled(folder: Traversable, entry: str = "main.js") -> str:
    """The modules that the entry needs, as one script.

    Files are read once per process.

    Parameters
    ----------
    folder : Traversable
        Where the modules are, all in one folder.
    entry : str
        The module that builds the page.

    Returns
    -------
    str
        A strict function, called at once.

    Raises
    ------
    ValueError
        Where the modules cannot be put together; the message names the module.
    """
    modules: dict[str, Module] = {}
    order: list[str] = []
    _visit(folder, entry, (), modules, order)
    _check_names(modules)
    parts = [_scoped(name, modules[name], is_entry=name == entry) for name in order]
    script = "\n".join(['(function () {\n"use strict";\n', *parts, "})();"])
    for unsafe in UNSAFE:
        if unsafe in script.lower():
            raise ValueError(f"{entry}: a script in a page cannot contain {unsafe!r}; write it in two parts")
    return script


def _visit(folder: Traversable, name: str, path: tuple[str, ...], modules: dict[str, Module], order: list[str]) -> None:
    """Adds a module to `modules` and `order`, after all that it imports; `path` leads from the entry to it."""
    if name in path:
        raise ValueError(f"modules import each other in a circle: {' → '.join([*path[path.index(name) :], name])}")
    if name in modules:
        return
    file = folder.joinpath(name)
    if not file.is_file():
        raise ValueError(f"{path[-1] if path else 'bundle'}: there is no module {name}")
    module = modules[name] = parsed(name, file.read_text(encoding="utf-8"))
    for other in module.imports:
        _visit(folder, other, (*path, name), modules, order)
    order.append(name)


def parsed(name: str, text: str) -> Module:
    """A module from its text; every statement of import and export in it is one of those that are understood."""
    imports: dict[str, list[str]] = {}
    for names, other in IMPORT.findall(text):
        imports.setdefault(other, []).extend(_imported(name, names))
    rest = IMPORT.sub("", text)
    exports = [found[1] for found in EXPORT.finditer(rest)]
    rest = EXPORT.sub("", rest)
    left = STATEMENT.search(rest)
    if left:
        raise ValueError(
            f"{name}: cannot put {left[0].strip()!r} into one script; "
            'write import { name } from "./module.js"; or export before a declaration'
        )
    return Module(imports, exports, rest)


def _scoped(name: str, module: Module, is_entry: bool) -> str:
    """A module as a function of its own; the entry needs none."""
    taken = [f"const {{ {', '.join(names)} }} = {_identifier(other)};" for other, names in module.imports.items()]
    lines = [f"// {name}", *taken, module.text.strip()]
    if is_entry:
        return "\n".join(lines) + "\n"
    given = f"return {{ {', '.join(module.exports)} }};"
    return "\n".join([lines[0], f"const {_identifier(name)} = (function () {{", *lines[1:], given, "})();"]) + "\n"


def _identifier(name: str) -> str:
    """What a module is called in the script."""
    return "from_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _imported(name: str, names: str) -> list[str]:
    """The names between the braces of an import."""
    found = [one.strip() for one in names.split(",") if one.strip()]
    for one in found:
        if not NAME.fullmatch(one):
            raise ValueError(f"{name}: cannot import {one!r}; names stay what they are, without 'as' and comments")
    return found


def _check_names(modules: dict[str, Module]) -> None:
    """Everything imported is exported."""
    for name, module in modules.items():
        for other, names in module.imports.items():
            for one in names:
                if one not in modules[other].exports:
                    raise ValueError(f"{name} imports {one} from {other}, which does not export it")
