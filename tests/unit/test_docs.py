"""Code in docstrings, the README and the guide runs: one test per module and per page."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import latentbits
from latentbits.errors import LatentBitsWarning
from latentbits.families import BY_CLASS

ROOT = Path(__file__).parents[2]
FLAGS = doctest.NORMALIZE_WHITESPACE


# Docstrings.


def with_examples():
    """Names of modules whose text has examples, found without importing them."""
    found = ["latentbits"] if ">>> " in Path(latentbits.__file__).read_text(encoding="utf-8") else []
    for module in pkgutil.walk_packages(latentbits.__path__, "latentbits."):
        path = Path(module.module_finder.path) / module.name.rpartition(".")[2]
        path = path / "__init__.py" if module.ispkg else path.with_suffix(".py")
        if ">>> " in path.read_text(encoding="utf-8"):
            found.append(module.name)
    return found


MODULES = with_examples()


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    for package in ("pandas", "matplotlib", "networkx"):
        pytest.importorskip(package)
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)  # examples are short
        result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    plt.close("all")
    assert result.attempted and not result.failed


def test_there_are_examples():
    homes = {inspect.getmodule(family.load()).__name__ for family in BY_CLASS.values()}
    assert homes <= set(MODULES) and len(MODULES) > 15  # every estimator has one


# Pages.


class Code(NamedTuple):
    """A block of Python in a page, and why it is not run, if it is not."""

    line: int
    text: str
    skip: str | None


BLOCK = re.compile(
    r"^(?:<!-- skip: (?P<skip>[^>]*?) -->\s*)?^```(?:python|\{run\})\n(?::[a-z]+:[^\n]*\n)*(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)


def blocks_of(page):
    """The blocks of Python of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Code(text.count("\n", 0, found.start("text")) + 1, found["text"], found["skip"])
        for found in BLOCK.finditer(text)
    ]


PLACES = (
    ROOT / "README.md",
    *(page for room in ("guide", "papers") for page in sorted((ROOT / "docs" / room).glob("*.md"))),
)
PAGES = [page for page in PLACES if page.exists()]
PAGES = [page for page in PAGES if blocks_of(page)]


def tree_of(block):
    """The block as Python reads it, without prompts and outputs."""
    text = block.text
    if ">>> " in text:
        text = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    return ast.parse(text)


def theirs(page, folder):
    """The files and names that a page takes for the reader's own."""
    rng = np.random.default_rng(0)
    if page == "large":
        pd = pytest.importorskip("pandas")
        pytest.importorskip("dask.dataframe")
        cells = (rng.random((200, 6)) < rng.choice([0.2, 0.7], (200, 1))).astype(np.int8)
        pd.DataFrame(cells, columns=list("abcdef")).to_parquet(folder / "events.parquet")
    if page == "tables":
        cells = rng.choice(["yes", "no", ""], (40, 4), p=[0.45, 0.45, 0.1])
        lines = [",".join([f"r{i}", "Süd" if i % 2 else "Nord", *row]) for i, row in enumerate(cells)]
        text = "\n".join(["respondent,region,a,b,c,d", *lines]) + "\n"
        (folder / "survey.csv").write_text(text, encoding="latin-1")
    return {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages(page, tmp_path, monkeypatch):
    """The blocks of a page run one after the other, in one namespace, in a folder of their own."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "docs")  # pages of papers read the results by a module there
    space = {"__name__": "page", **theirs(page.stem, tmp_path)}
    ran = 0
    for block in blocks_of(page):
        if block.skip is not None:
            continue
        ran += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            if ">>> " in block.text:
                test = doctest.DocTestParser().get_doctest(block.text, space, page.name, str(page), block.line)
                test.globs = space
                assert not doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed
            else:
                lines = "\n" * (block.line - 1) + block.text  # so that errors name the line of the page
                exec(compile(lines, str(page), "exec"), space)
    plt.close("all")
    if not ran:
        pytest.skip("; ".join(block.skip for block in blocks_of(page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_in_pages(page):
    """Options of estimators that pages name exist, also in blocks that are not run."""
    for block in blocks_of(page):
        for call in ast.walk(tree_of(block)):
            if isinstance(call, ast.Call):
                name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
                if name in BY_CLASS:
                    known = inspect.signature(BY_CLASS[name].load()).parameters
                    for option in call.keywords:
                        assert option.arg is None or option.arg in known, (name, option.arg, block.line)


TEXT_CALL = re.compile(rf"\b({'|'.join(sorted(BY_CLASS))})\(([^()]*)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_in_sentences(page):
    """The same for calls in running text."""
    for name, arguments in TEXT_CALL.findall(page.read_text(encoding="utf-8")):
        known = inspect.signature(BY_CLASS[name].load()).parameters
        for option in re.findall(r"(\w+)=", arguments):
            assert option in known, (name, option)


def test_reasons_are_given():
    for page in PAGES:
        for block in blocks_of(page):
            assert block.skip is None or len(block.skip) > 10, (page.name, block.line)
