"""Commands about data, and about the installation."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

import typer

from ..errors import LatentBitsError
from .options import TableFile, reads_table

app = typer.Typer(help="Data sets and tables.", no_args_is_help=True, rich_markup_mode=None)
PACKAGES = {
    "core": ("numpy", "scipy", "scikit-learn", "numba", "safetensors", "rich", "typer"),
    "pandas": ("pandas",),
    "pyarrow": ("pyarrow",),
    "plot": ("matplotlib",),
    "bayes": ("arviz",),
    "dask": ("dask", "distributed"),
    "anndata": ("anndata",),
}


@app.command("list")
def list_sets() -> None:
    """List the data sets that latentbits knows."""
    from ..datasets import PREPARED, find
    from ..datasets.embedded import FILES

    print("embedded:")
    for name, file in FILES.items():
        print(f"  {name:<12} {file.description}")
    print("prepared (found through LATENTBITS_DATA):")
    for name, prepared in PREPARED.items():
        print(f"  {name:<16} {'here   ' if find(name) else 'not here'} {prepared.about}")


@app.command("fetch")
def fetch_set(name: str) -> None:
    """Print the checked path of a data set."""
    from ..datasets import fetch
    from ..datasets.embedded import FILES, path_of

    print(path_of(name) if name in FILES else fetch(name))


@app.command("describe")
@reads_table
def describe(
    table: TableFile,
) -> None:
    """Describe a table: shape, ones, blanks, constant columns, equal rows."""
    import numpy as np

    from ..data import open_source
    from ..data.summary import ones_and_blanks, totals
    from ..engine.stats import add

    opened = table.open()
    source = open_source(opened.reader, owner="describe", merge=True)
    sums: Any = None
    n_distinct = 0
    for b in range(source.n_blocks):
        block = source.block(b)
        sums = add(sums, totals(block))
        n_distinct += block.n_rows
    cells = source.shape[0] * source.shape[1]
    names = opened.columns or [str(j) for j in range(source.shape[1])]
    constant = np.flatnonzero((sums.ones == 0) | (sums.ones == sums.observed))
    print(f"{source.shape[0]} rows x {source.shape[1]} columns")
    print(f"ones: {sums.n_ones} ({sums.n_ones / cells:.2%} of all cells)")
    print(f"unknown: {sums.n_unknown} ({sums.n_unknown / cells:.2%})")
    print(f"rows without any known cell: {sums.n_blank_rows}")
    shown = ", ".join(names[j] for j in constant[:10]) + (", ..." if len(constant) > 10 else "")
    print(f"columns that never vary: {len(constant)}{': ' + shown if len(constant) else ''}")
    ticked = [names[j] for j in ones_and_blanks(sums)]
    if ticked:
        shown = ", ".join(ticked[:10]) + (", ..." if len(ticked) > 10 else "")
        print(
            f"columns of ones and blanks only: {len(ticked)}: {shown}; if nothing means no there, read them with --ticked"
        )
    if n_distinct < source.shape[0]:
        print(f"equal rows are merged: {n_distinct} stored")
    if opened.ids is not None:
        print(f"row names: {opened.ids[0]} ... {opened.ids[-1]}")
    for name, values in opened.labels.items():
        print(f"label {name}: {len(set(values))} values")


def doctor() -> None:
    """Check the installation: versions, extras, kernels, data folder."""
    from .. import __version__

    print(f"latentbits {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for extra, packages in PACKAGES.items():
        for package in packages:
            try:
                print(f"  {package:<18} {importlib.metadata.version(package)}")
            except importlib.metadata.PackageNotFoundError:
                print(f"  {package:<18} not installed: pip install 'latentbits[{extra}]'")
    folder = os.environ.get("LATENTBITS_DATA")
    print(f"LATENTBITS_DATA: {folder or 'not set'}{'' if not folder or os.path.isdir(folder) else ' (no such folder)'}")
    print(f"cores: {os.cpu_count()}")
    problem = _try_fit()
    print("kernels: compile and run" if problem is None else f"kernels: {problem}")
    if problem is not None:
        raise LatentBitsError("the installation does not work; see the lines above.")
    sys.stdout.flush()


def _try_fit() -> str | None:
    """Fit a tiny table; the problem, if there is one."""
    import numpy as np

    from ..mixture import BernoulliMixture

    table = np.tile([[1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 1]], (8, 1))
    found = BernoulliMixture(2, n_init=2, random_state=0).fit(table).predict(table)
    return None if len(set(found[::2])) == 1 and found[0] != found[1] else "a tiny table was not solved"
