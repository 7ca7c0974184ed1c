"""Five real tables, from the file to the report without a hand held."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from latentbits.cli.main import app
from latentbits.datasets import fetch
from papers.common import Outcome

# Prepared set, and the options that a user would give: what rows are called, and what is known of them besides.
TABLES = {
    "debd/plants": [],
    "debd/nltcs": [],
    "newsgroups_w100": ["--label", "y"],
    "debtags": ["--id", "package", "--label", "section"],
    "citations": ["--id", "doc_id"],
}
MOST_ERROR = 0.02


def explored(name: str, options: list[str], out: Path) -> dict[str, Any]:
    """Run the command on a prepared set, and read what it found in its report."""
    begin = time.perf_counter()
    app(["explore", str(fetch(name)), "--out", str(out), "--jobs", "2", *options], standalone_mode=False)
    seconds = time.perf_counter() - begin
    page = (out / "report.html").read_text(encoding="utf-8")
    content = json.loads(page.split('id="content">', 1)[1].split("</script>", 1)[0])
    chosen = content["comparison"]["chosen"]
    best = next(row for row in content["comparison"]["rows"] if row["model"] == chosen)
    return {
        "shape": content["shape"],
        "best": content["comparison"]["best"],
        "chosen": chosen,
        "size": best["size"],
        "log_loss": best["log_loss"],
        "calibration_error": best["calibration_error"],
        "wide_calibration_error": best["wide_calibration_error"],
        "overview": content["overview"],
        "verdict": content["verdict"],
        "plan": content["comparison"]["plan"],
        "losses": {row["model"]: row.get("log_loss") for row in content["comparison"]["rows"]},
        "report_megabytes": round(len(page.encode()) / 1e6, 2),
        "seconds": round(seconds),
    }


def tables(full: bool, folder: Path) -> Outcome:
    """Plants, disabilities, newsgroups, package tags and citations."""
    outcome = Outcome(
        "explore-tables", "five real tables", "`latentbits explore` with its defaults (reduced: one table)"
    )
    for name, options in list(TABLES.items())[: None if full else 2]:
        with tempfile.TemporaryDirectory() as place:
            result = explored(name, options, Path(place) / "out")
        outcome.numbers[name] = result
        print(f"{name}: {result['seconds']} s. {result['verdict']}", flush=True)
        worst = max(result["calibration_error"], result["wide_calibration_error"])
        outcome.claim(
            f"{name}: hidden cells are calibrated ({result['chosen']} {result['size'] or ''})".replace(" )", ")"),
            f"error below {MOST_ERROR}",
            worst,
            worst < MOST_ERROR,
        )
        outcome.claim(
            f"{name}: the report is small", "below 5 MB", result["report_megabytes"], result["report_megabytes"] < 5
        )
    lines = ["# What `latentbits explore` finds in five real tables", ""]
    for name, result in outcome.numbers.items():
        rows, columns = result["shape"]
        lines += [f"## {name} ({rows:,} × {columns})", "", "The page begins:", ""]
        lines += [f"> {sentence}" for sentence in result["overview"]]
        lines += ["", f"The comparison: {result['verdict']}", ""]
        lines += [
            f"{result['seconds']} seconds on two shared cores; calibration error {result['calibration_error']:.4f}.",
            "",
        ]
    (folder / "verdicts.md").write_text("\n".join(lines))
    return outcome
