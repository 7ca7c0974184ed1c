"""What all experiments share: claims with a verdict, and results written to a folder."""

from __future__ import annotations

import importlib
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from latentbits.errors import LatentBitsWarning
from papers import EXPERIMENTS


@dataclass(frozen=True)
class Claim:
    """One acceptance line: what is claimed, the paper's number, what is wanted, what came out."""

    claim: str
    paper: str
    wanted: str
    ours: str
    met: bool

    @property
    def verdict(self) -> str:
        """In words."""
        return "met" if self.met else "NOT met"


@dataclass
class Outcome:
    """What an experiment found."""

    name: str
    title: str
    protocol: str
    claims: list[Claim] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def claim(self, claim: str, wanted: str, ours: Any, met: Any, paper: str = "") -> None:
        """Add an acceptance line."""
        text = ours if isinstance(ours, str) else f"{ours:.4g}"
        self.claims.append(Claim(claim, paper, wanted, text, bool(met)))


def quietly(estimator: Any, X: Any) -> Any:
    """Fit without doubts on the screen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return estimator.fit(X)


def plain(value: Any) -> Any:
    """A value as JSON can hold it, numbers to six digits."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else float(f"{value:.6g}")
    return value


class Runs(dict[str, Any]):
    """Finished runs of a long experiment by name, kept in a file: an interrupted experiment goes on."""

    def __init__(self, path: Path | None) -> None:
        super().__init__(json.loads(path.read_text()) if path is not None and path.exists() else {})
        self.path = path

    def write(self) -> None:
        """Keep them."""
        if self.path is not None:
            self.path.parent.mkdir(exist_ok=True, parents=True)
            self.path.write_text(json.dumps(self, indent=1) + "\n")


def run(experiment: Callable[[bool, Path], Outcome], folder: Path, full: bool) -> Outcome:
    """Run an experiment, write its numbers and verdicts, and print them."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    outcome = experiment(full, folder)
    record = {
        "experiment": outcome.name,
        "title": outcome.title,
        "protocol": outcome.protocol,
        "full": full,
        "seconds": round(time.perf_counter() - began, 1),
        "claims": [{**asdict(claim), "verdict": claim.verdict} for claim in outcome.claims],
        "numbers": outcome.numbers,
    }
    (folder / f"{outcome.name}.json").write_text(json.dumps(plain(record), indent=1) + "\n")
    print(f"{outcome.name}: {outcome.title} ({record['seconds']:.0f} s)")
    for claim in outcome.claims:
        print(f"  {claim.verdict:8s} {claim.claim}: {claim.ours} (wanted {claim.wanted})")
    return outcome


def table(folder: Path) -> str:
    """All verdicts of a folder of results as Markdown."""
    lines = ["| experiment | claim | paper | wanted | ours | verdict |", "|---|---|---|---|---|---|"]
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        for claim in record["claims"]:
            cells = (record["experiment"], *(claim[key] for key in ("claim", "paper", "wanted", "ours", "verdict")))
            lines.append("| " + " | ".join(str(cell).replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main(family: str, here: Path, arguments: list[str]) -> int:
    """Run the named experiments of a family (``python -m papers.FAMILY [--full] [NAME ...]``), or all; write the verdicts."""
    names = [name for name in arguments if not name.startswith("-")]
    missed = 0
    for name, place in EXPERIMENTS.items():
        if name.startswith(f"{family}-") and (not names or name in names):
            module, function = place.split(":")
            outcome = run(getattr(importlib.import_module(module), function), here / "results", "--full" in arguments)
            missed += sum(not claim.met for claim in outcome.claims)
    (here / "results" / "table.md").write_text(table(here / "results"))
    print(f"{missed} acceptance lines not met" if missed else "all acceptance lines met")
    return 1 if missed else 0
