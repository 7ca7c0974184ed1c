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
    all_of_them: Annotated[bool, typer.Option("--all", help="Run every experiment and print one table.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The whole protocol, not the reduced one.")] = False,
    out: Annotated[str, typer.Option("--out", "-o", help="Folder for numbers and figures.")] = "out/reproduce",
) -> None:
    """Run an experiment of a paper: numbers, a figure and a verdict for every claim."""
    experiments = _papers().EXPERIMENTS
    if all_of_them:
        if experiment is not None:
            raise InputError("--all runs every experiment; leave the name out.")
        if not _run_all(list(experiments), Path(out), full):
            raise typer.Exit(1)
        return
    if experiment is None:
        for name, place in experiments.items():
            module, function = place.split(":")
            print(f"{name:22s} {getattr(importlib.import_module(module), function).__doc__}")
        return
    if experiment not in experiments:
        raise InputError(f"there is no experiment {experiment!r}; there are: {', '.join(experiments)}.")
    outcome = _outcome(experiment, Path(out), full)
    print(f"written to {out}")
    if not all(claim.met for claim in outcome.claims):
        raise typer.Exit(1)


def _outcome(experiment: str, out: Path, full: bool) -> Any:
    """Run one experiment."""
    module, function = _papers().EXPERIMENTS[experiment].split(":")
    run = importlib.import_module("papers.common").run
    return run(getattr(importlib.import_module(module), function), out, full)


def _run_all(names: list[str], out: Path, full: bool) -> bool:
    """Run all experiments that have their data, print and write one table; whether every line was met."""
    from ..data.replacing import write_atomically
    from ..errors import FileError, MissingExtraError

    lines = ["| experiment | claim | paper | ours | wanted | verdict |", "|---|---|---|---|---|---|"]
    missed, left_out = 0, 0
    for number, name in enumerate(names):
        print(f"[{number + 1} of {len(names)}] {name}", file=sys.stderr, flush=True)
        try:
            claims = _outcome(name, out, full).claims
        except (FileError, MissingExtraError) as error:  # what it needs is not here
            left_out += 1
            lines.append(f"| {name} | | | | | not run: {error} |")
            continue
        missed += sum(not claim.met for claim in claims)
        for claim in claims:
            lines.append(
                f"| {name} | {claim.claim} | {claim.paper} | {claim.ours} | {claim.wanted} | {claim.verdict} |"
            )
    table = "\n".join(lines)
    write_atomically(out / "table.md", (table + "\n").encode())
    print(f"\n{table}\n\n{missed} lines not met, {left_out} experiments not run; written to {out}/table.md")
    return missed == 0
