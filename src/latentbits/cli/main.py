"""``latentbits``: the entry point, exit codes and messages.

Exit codes: 0 done, 1 the run failed, 2 the input or the options are wrong.  Messages go to standard error without a
traceback; ``--debug`` shows it.
"""

from __future__ import annotations

import functools
import os
import shlex
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import __version__
from ..errors import InputError, LatentBitsError
from . import data as data_commands
from . import explore as exploring
from . import links as link_analysis
from . import models, naming, typed, weights
from . import reproduce as experiments
from .options import has_output, writes_csv

app = typer.Typer(
    name="latentbits",
    help="Hidden causes in tables of zeros, ones and blanks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command with Ctrl-C told of in one line, and closed pipes let pass; Typer would leave without a word."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise typer.Exit(_explain(error)) from None

    return run


for _command in (
    exploring.explore,
    exploring.compare,
    exploring.report,
    models.fit,
    models.transform,
    models.predict,
    models.impute,
    models.explain,
    models.select,
    models.sample,
    naming.name,
    models.expand,
    link_analysis.links,
    weights.recommend,
    weights.classify,
    experiments.reproduce,
    data_commands.doctor,
):
    app.command()(_interruptible(writes_csv(_command) if has_output(_command) else _command))
app.add_typer(data_commands.app, name="data")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"latentbits {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Hidden causes in tables of zeros, ones and blanks."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    typed.remember(arguments)
    try:
        app(arguments, standalone_mode=True)
    except SystemExit:
        raise
    except BaseException as error:
        if "--debug" in arguments:
            raise
        sys.exit(_explain(error))


def _explain(error: BaseException) -> int:
    """Write what went wrong and return the exit code."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has left; that is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    said = str(error).strip()
    if isinstance(error, InputError):
        print(f"latentbits: {said}", file=sys.stderr)
        return 2
    if isinstance(error, KeyboardInterrupt):
        note = "".join(f" {text}" for text in getattr(error, "__notes__", ()))
        print(f"latentbits: interrupted.{note}", file=sys.stderr)
        return 1
    if isinstance(error, LatentBitsError):
        print(f"latentbits: {said}", file=sys.stderr)
        return 1
    if isinstance(error, MemoryError):
        print("latentbits: the machine has not enough memory for this; try fewer components.", file=sys.stderr)
        return 1
    details = shlex.join(["latentbits", "--debug", *typed.words()[1:]])
    print(f"latentbits: {type(error).__name__}: {said} (details: {details})", file=sys.stderr)
    return 1
