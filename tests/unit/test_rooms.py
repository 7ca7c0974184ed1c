"""The house: what kernels know, who knows the families, and that families are what the table says of them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import latentbits
from latentbits.families import FAMILIES

SOURCE = Path(latentbits.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
KERNELS = [path for path in MODULES if path.name.endswith("kernels.py")]
HOMES = sorted({family.home.partition(".")[2] for family in FAMILIES})
# Rooms above the families, which may know them.
UPPER = ("evaluation", "plots", "testing", "report", "exploring", "cli")
# A generator of tables that follow the map's own equations.
KNOWN = {("datasets/generators.py", "latentbits.gtm.grid")}
# Files at the door: public names and the table, which names families in strings.
DOOR = ("__init__.py", "families.py")


def name_of(path):
    """The module in a file, with dots."""
    parts = ("latentbits", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(path):
    """Whole names of all modules, or names in modules, that a file imports, wherever in it."""
    return list(_imports_of(path))


def _imports_of(path):
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def path_of(path):
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", KERNELS, ids=path_of)
def test_kernels_know_arrays_only(path):
    for name in imports_of(path):
        root = name.partition(".")[0]
        mine = name.startswith("latentbits.jit") or any(
            part.endswith("kernels") for part in name.split(".") if root == "latentbits"
        )
        assert root in ("__future__", "math", "numpy", "numba", "typing") or mine, name


@pytest.mark.parametrize("home", HOMES)
def test_only_upper_rooms_know_a_family(home):
    for path in MODULES:
        room = path.relative_to(SOURCE).parts[0]
        if room == home or room in UPPER or room in DOOR:
            continue
        for name in imports_of(path):
            strange = (name + ".").startswith(f"latentbits.{home}.") and (
                path_of(path),
                name.rpartition(".")[0],
            ) not in KNOWN
            assert not strange, f"{path_of(path)} imports {name}"


def test_one_place_numbers_components():
    """Nobody but ``numbered`` puts the noun of a component before a number."""
    nouns = {"component", "community", "node", *(family.noun for family in FAMILIES)} - {"feature"}
    for path in MODULES:
        if path_of(path) == "testing/contracts.py":  # which checks it
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.JoinedStr):
                continue
            for text, value in zip(node.values, node.values[1:]):
                words = text.value.split(" ") if isinstance(text, ast.Constant) else []
                named = isinstance(value, ast.FormattedValue) and value.conversion == -1  # !r is what a user wrote
                assert not (named and len(words) > 1 and words[-1] == "" and words[-2].lower() in nouns), (
                    f"{path_of(path)}:{node.lineno}"
                )


def test_the_table_names_families_by_strings():
    for path in (SOURCE / "families.py", SOURCE / "__init__.py"):
        for name in imports_of(path):
            assert name.split(".")[1:2] not in [[home] for home in HOMES], f"{path.name} imports {name}"


def test_the_import_rules_know_every_family():
    rules = (
        (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8").partition("layers = [")[2].partition("]")[0]
    )
    layer = next(line for line in rules.splitlines() if "latentbits.mixture" in line)
    assert {name.strip(' ",').rpartition(".")[2] for name in layer.split("|")} == set(HOMES)


def test_there_is_a_house():
    """The checks above look at something."""
    assert len(KERNELS) >= 15 and len(HOMES) >= 8 and all((SOURCE / home / "__init__.py").exists() for home in HOMES)
    rooms = {path.relative_to(SOURCE).parts[0] for path in MODULES}
    assert set(UPPER) <= rooms
    assert "numpy" in set(imports_of(KERNELS[0])) and any(
        name.startswith("latentbits.") for name in imports_of(MODULES[5])
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_answers_are_those_of_the_table(family):
    """A default instance has exactly the methods that the table says only some families have."""
    cls = family.load()
    assert cls.__name__ == family.cls and getattr(latentbits, family.cls) is cls
    assert name_of(SOURCE / Path(*family.home.split(".")[1:]) / "__init__.py") == family.home
    estimator = cls()
    asked = {"predict", "predict_proba", "reconstruct", "impute", "explain", "sample", "bic", "aic", "partial_fit"}
    assert set(family.answers) <= asked
    if family.structure == "ratings":
        asked -= {"predict"}  # it asks for ratings of items there
        assert hasattr(estimator, "predict")
    for method in asked:
        assert hasattr(estimator, method) == (method in family.answers), method
