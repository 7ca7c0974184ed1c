"""Run the experiments on Aspect Bernoulli: ``python -m papers.aspect [--full] [NAME ...]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from papers import EXPERIMENTS
from papers.common import run, table

HERE = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Run the named experiments, or all, and write the table of verdicts."""
    names = [name for name in arguments if not name.startswith("-")]
    missed = 0
    for name, place in EXPERIMENTS.items():
        if name.startswith("aspect-") and (not names or name in names):
            module, function = place.split(":")
            outcome = run(getattr(importlib.import_module(module), function), HERE / "results", "--full" in arguments)
            missed += sum(not claim.met for claim in outcome.claims)
    (HERE / "results" / "table.md").write_text(table(HERE / "results"))
    print(f"{missed} acceptance lines not met" if missed else "all acceptance lines met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
