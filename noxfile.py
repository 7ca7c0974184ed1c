#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = ["nox>=2024.10"]
# ///
"""The commands of the Makefile in environments of their own, on every system: ``nox -s tests``, ``nox -l`` lists them."""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"
DATA = Path(__file__).resolve().parent.parent / "shared" / "data"
TREES = ["src", "tests", "papers", "benchmarks", "examples", "docs", "noxfile.py"]
OLDEST = Path("tests/oldest.txt")


def with_data(session: nox.Session) -> None:
    """Tell the tests of the prepared data sets, if they lie beside the checkout."""
    if DATA.exists():
        session.env.setdefault("LATENTBITS_DATA", str(DATA))


@nox.session(reuse_venv=True, default=True)
def lint(session: nox.Session) -> None:
    """Style, types, import rules, spelling, scripts of the report."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", *TREES)
    session.run("ruff", "format", "--check", *TREES)
    session.run("mypy")
    session.run("lint-imports")
    session.run("codespell", *TREES, *map(str, Path().glob("*.md")))
    session.run("rumdl", "check", *map(str, Path().glob("*.md")), "docs", "papers", "benchmarks")
    session.run("oxlint", "--deny-warnings", "src/latentbits/report/files/js", "tests/js")


@nox.session(reuse_venv=True, default=True)
def tests(session: nox.Session) -> None:
    """The fast tests; arguments go to pytest."""
    session.install("-e", ".[test]")
    with_data(session)
    session.run("python", "-m", "tests.warm")
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def core(session: nox.Session) -> None:
    """The tests that need nothing but the core, without any extra."""
    session.install("-e", ".", "pytest", "pytest-xdist", "hypothesis")
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def oldest(session: nox.Session) -> None:
    """The fast tests with the oldest releases that pyproject.toml allows."""
    session.install("-e", ".", "-r", str(OLDEST))
    with_data(session)
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def slow(session: nox.Session) -> None:
    """Statistical and long tests."""
    session.install("-e", ".[test]")
    with_data(session)
    session.run("pytest", "-m", "slow", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def peers(session: nox.Session) -> None:
    """Our answers beside those of other packages."""
    session.install("-e", ".[test,peers]")
    session.install("--no-deps", "bertopic")
    session.run("pytest", "-m", "peers", *session.posargs)


@nox.session(reuse_venv=True, default=False)
def docs(session: nox.Session) -> None:
    """The documentation, warnings as errors."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html")
    session.run("python", "docs/links.py", "docs/_build/html")


@nox.session(default=False)
def release_check(session: nox.Session) -> None:
    """Build what is released, and install and try it in environments of its own."""
    session.install("build", "twine")
    session.run("python", "tests/release.py")


if __name__ == "__main__":
    nox.main()
