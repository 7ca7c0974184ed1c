"""Commands about data, and about the installation."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

import typer

from ..errors import LatentBitsError
from .options import Json, TableFile, reads_table
from .output import write_json

app = typer.Typer(help="Data sets and tables.", no_args_is_help=True, rich_markup_mode=None)
PACKAGES = {
    "core": ("numpy", "scipy", "scikit-learn", "numba", "safetensors", "rich", "typer"),
    "pandas": ("pandas",),
    "pyarrow": ("pyarrow",),
    "plot": ("matplotlib",),
    "bayes": ("arviz",),
    "dask": ("dask", "distributed"),
    "anndata": ("anndata",),
    "spss": ("pyreadstat",),
    "excel": ("python-calamine",),
    "biom": ("biom-format",),
    "links": ("networkx",),
}


@app.command("list")
def list_sets(as_json: Json = False) -> None:
    """List the data sets that latentbits knows; commands take their names instead of files."""
    from ..datasets import PREPARED, find
    from ..datasets.embedded import FILES

    if as_json:
        embedded = [
            {"name": name, "kind": "embedded", "here": True, "about": f.description} for name, f in FILES.items()
        ]
        others = [
            {"name": name, "kind": "prepared", "here": bool(find(name)), "about": prepared.about}
            for name, prepared in PREPARED.items()
        ]
        write_json([*embedded, *others])
        return
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
    as_json: Json = False,
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
    if as_json:
        counts = {"rows": source.shape[0], "columns": source.shape[1], "ones": sums.n_ones, "unknown": sums.n_unknown}
        told = {"blank_rows": sums.n_blank_rows, "constant_columns": [names[j] for j in constant]}
        labels = {name: len(set(values)) for name, values in opened.labels.items()}
        write_json({**counts, **told, "stored_rows": n_distinct, "ids": opened.ids is not None, "labels": labels})
        return
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


def doctor(as_json: Json = False) -> None:
    """Check the installation: versions, extras, kernels, data folder."""
    from .. import __version__

    packages = {package: (extra, _version(package)) for extra, names in PACKAGES.items() for package in names}
    folder = os.environ.get("LATENTBITS_DATA")
    problem = _try_fit()
    machine = {"python": platform.python_version(), "system": platform.system(), "machine": platform.machine()}
    if as_json:
        versions = {package: version for package, (_, version) in packages.items()}
        about = {"latentbits": __version__, **machine, "packages": versions, "data_folder": folder}
        write_json({**about, "cores": os.cpu_count(), "kernels": problem or "compile and run"})
    else:
        print(f"latentbits {__version__}, Python {' '.join(machine.values()).replace(' ', ', ', 1)}")
        for package, (extra, version) in packages.items():
            wanted = "latentbits" if extra == "core" else f"'latentbits[{extra}]'"
            print(f"  {package:<18} {version or f'not installed: pip install {wanted}'}")
        missing = "" if not folder or os.path.isdir(folder) else " (no such folder)"
        print(f"LATENTBITS_DATA: {folder or 'not set'}{missing}")
        print(f"cores: {os.cpu_count()}")
        print(f"kernels: {problem or 'compile and run'}")
    sys.stdout.flush()
    if problem is not None:
        raise LatentBitsError(f"the installation does not work: {problem}.")


def _version(package: str) -> str | None:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _try_fit() -> str | None:
    """Fit a tiny table; the problem, if there is one."""
    import numpy as np

    from ..mixture import BernoulliMixture

    table = np.tile([[1, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1, 1]], (8, 1))
    found = BernoulliMixture(2, n_init=2, random_state=0).fit(table).predict(table)
    return None if len(set(found[::2])) == 1 and found[0] != found[1] else "a tiny table was not solved"
