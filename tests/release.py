"""Build what is released, install each file in an environment of its own and use it: ``python tests/release.py``.

Needs the packages build and twine.  Nothing of the checkout is importable there: the installed package is what is tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Parts of the package that are no Python and that nothing would miss before a user does.
PARTS = (
    "latentbits/py.typed",
    "latentbits/__init__.pyi",
    "latentbits/report/files/js/main.js",
    "latentbits/report/files/page.css",
    "latentbits/datasets/files/house_votes_84.csv",
)
# Run by the installed package: the examples of all docstrings.
EXAMPLES = """
import doctest, importlib, pkgutil, sys, warnings
import matplotlib
matplotlib.use("Agg")
import latentbits
warnings.simplefilter("ignore")
assert "site-packages" in latentbits.__file__, latentbits.__file__
run = failed = 0
for module in pkgutil.walk_packages(latentbits.__path__, "latentbits."):
    if module.name.startswith("latentbits.testing") or module.name.endswith("__main__"):
        continue
    result = doctest.testmod(importlib.import_module(module.name), optionflags=doctest.NORMALIZE_WHITESPACE)
    run, failed = run + result.attempted, failed + result.failed
print(f"{run} lines of examples, {failed} failed")
sys.exit(failed > 0 or run < 300)
"""


def run(*command: object, **options: object) -> None:
    """Run a command and stop where it fails."""
    print("$", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


def environment(folder: Path, *packages: str) -> Path:
    """A fresh environment with packages; its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", *packages)
    return programs


def explored(programs: Path, folder: Path) -> None:
    """The main job on the embedded votes, and what it writes."""
    out = folder / "votes"
    run(programs / "latentbits", "explore", "votes", "--budget", "5", "--out", out, cwd=folder)
    for name in ("report.html", "summary.md", "components.csv", "filled.csv", "model.latentbits", "run.toml"):
        assert (out / name).stat().st_size > 0, f"{name} was not written"
    assert "data-ready" in (out / "report.html").read_text(encoding="utf-8"), "the page has no script"
    run(programs / "latentbits", "--version", cwd=folder)


def main() -> None:
    """All of it."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", dist, ROOT)
    run(sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir())
    wheel, source = next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [part for part in PARTS if part not in names]
    assert not missing, f"the wheel lacks {missing}"
    assert not any(name.startswith(("tests/", "docs/")) for name in names), "the wheel has more than the package"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print("--- the wheel without extras")
        explored(environment(folder / "plain", str(wheel)), folder)
        print("--- the wheel with extras: examples of all docstrings")
        programs = environment(folder / "full", f"{wheel}[pandas,pyarrow,plot,links,bayes,dask]", "polars")
        run(programs / "python", "-c", EXAMPLES, cwd=folder)
        print("--- the source distribution")
        programs = environment(folder / "source", str(source))
        run(
            programs / "python",
            "-c",
            "import latentbits; print(latentbits.BernoulliMixture(2).fit([[0, 1], [1, 0]]).summary())",
            cwd=folder,
        )
    print("release check passed:", wheel.name, source.name)


if __name__ == "__main__":
    main()
