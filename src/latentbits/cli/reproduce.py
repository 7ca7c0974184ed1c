"""The experiments of the papers, which live beside the package in the source tree."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError


def _papers() -> Any:
    """The package of experiments: of the source tree that this is, or of the working directory."""
    for root in (Path(__file__).resolve().parents[3], Path.cwd()):
        if (root / "papers" / "__init__.py").is_file():
            if str(root) not in sys.path:
                sys.path.insert(0, str(root))
            return importlib.import_module("papers")
    raise InputError(
        "the experiments are part of the source tree, not of the installed package; run this in a checkout."
    )


def reproduce(
    experiment: Annotated[
        str | None, typer.Argument(metavar="[EXPERIMENT]", help="Which; without it they are listed.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The whole protocol, not the reduced one.")] = False,
    out: Annotated[str, typer.Option("--out", "-o", help="Folder for numbers and figures.")] = "out/reproduce",
) -> None:
    """Run an experiment of a paper: numbers, a figure and a verdict for every claim."""
    experiments = _papers().EXPERIMENTS
    if experiment is None:
        for name, place in experiments.items():
            module, function = place.split(":")
            print(f"{name:22s} {getattr(importlib.import_module(module), function).__doc__}")
        return
    if experiment not in experiments:
        raise InputError(f"there is no experiment {experiment!r}; there are: {', '.join(experiments)}.")
    module, function = experiments[experiment].split(":")
    run = importlib.import_module("papers.common").run
    outcome = run(getattr(importlib.import_module(module), function), Path(out), full)
    print(f"written to {out}")
    if not all(claim.met for claim in outcome.claims):
        raise typer.Exit(1)
