"""The committed results of the experiments, for the pages of the papers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAPERS = Path(__file__).resolve().parents[1] / "papers"


def record(name: str) -> dict[str, Any]:
    """What an experiment wrote."""
    found: dict[str, Any] = json.loads(next(PAPERS.glob(f"*/results/{name}.json")).read_text(encoding="utf-8"))
    return found


def numbers(name: str) -> Any:
    """Its numbers."""
    return record(name)["numbers"]


def told(folder: str) -> str:
    """The acceptance lines of a paper, and whether they are met, as a Markdown table."""
    lines = ["| experiment | claim | paper | wanted | ours | |", "|---|---|---|---|---|---|"]
    for path in sorted((PAPERS / folder / "results").glob("*-*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        for claim in found["claims"]:
            cells = [claim[key] for key in ("claim", "paper", "wanted", "ours")]
            met = "met" if claim["met"] else "**not met**"
            row = [f"`{found['experiment']}`", *cells, met]
            lines.append("| " + " | ".join(str(cell).replace("|", r"\|") for cell in row) + " |")
    return "\n".join(lines)


def counted(folder: str) -> tuple[int, int]:
    """Acceptance lines that are met, and all."""
    claims = [
        claim
        for path in (PAPERS / folder / "results").glob("*-*.json")
        for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]
    ]
    return sum(claim["met"] for claim in claims), len(claims)
