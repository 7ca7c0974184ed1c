"""All speed lines with their goals in one table.

    python -m benchmarks.table [PART ...]    prints, and writes benchmarks/results/table.md and results/history/COMMIT.json

Parts: peers, before, rivals, passes (all of them without an argument).  ``before`` runs whole fits
(:mod:`benchmarks.whole_fits`) with this source and with that of the commit BEFORE, side by side in processes of their own.
Lines of parts that are not run are kept.  The history is written in asv's format.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from benchmarks.whole_fits import FITS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# The last commit without passes in float32.
BEFORE = "664d7dc"
BEFORE_GOALS = {"noisy-or": 4.0, "Boltzmann": 5.0, "trait": 5.0, "logistic PCA": 5.0, "map": 2.0}
# Fits that take a minute or more are run once.
LONG = ("noisy-or", "logistic PCA")


class Line(NamedTuple):
    """What was measured, in seconds, and what was asked for; a ratio below is better if the goal is a limit."""

    name: str
    ours: float
    theirs: float
    ratio: float
    goal: float | None
    repeats: int
    quality: str = ""
    limit: bool = False

    @property
    def met(self) -> bool:
        """Whether the goal is reached; lines without one only tell."""
        if self.goal is None:
            return True
        return self.ratio <= self.goal if self.limit else self.ratio >= self.goal


def old_source(folder: str) -> str:
    """The source of the commit before, unpacked."""
    archive = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return str(Path(folder) / "src")


def run_fit(name: str, source: str) -> dict:
    """One whole fit in a process of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((source, str(ROOT)))}
    command = [sys.executable, "-m", "benchmarks.whole_fits", name]
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    return json.loads(told.splitlines()[-1])


def before() -> list[Line]:
    """Whole fits of this source and of the commit before."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        sources = {"theirs": old_source(folder), "ours": str(ROOT / "src")}
        for name in FITS:
            repeats = 1 if name.startswith(LONG) else 3
            runs = {side: [] for side in sources}
            for _ in range(repeats):
                for side, source in sources.items():
                    runs[side].append(run_fit(name, source))
            ours, theirs = (min(runs[side], key=lambda run: run["seconds"]) for side in ("ours", "theirs"))
            goal = next(goal for family, goal in BEFORE_GOALS.items() if name.startswith(family))
            quality = f"{ours['quality']:.9g} against {theirs['quality']:.9g}"
            if "reached" in ours:
                when = [None if side["reached"] is None else f"{side['reached']:.1f} s" for side in (ours, theirs)]
                quality += f"; at theirs after {when[0] or 'no time'} against {when[1]}"
            ratio = theirs["seconds"] / ours["seconds"]
            lines.append(Line(f"{name} / {BEFORE}", ours["seconds"], theirs["seconds"], ratio, goal, repeats, quality))
            print_line(lines[-1])
    return lines


def peers() -> list[Line]:
    """Fits and iterations beside packages of other authors."""
    from threadpoolctl import threadpool_limits

    from benchmarks import aspect, bernoulli_gauss, gibbs, gtm, mixture

    lines = []
    for name, k, goal in (("c20ng", 20, 20), ("kosarek", 20, 33), ("plants", 20, 16), ("c20ng", 60, 25)):
        seconds = mixture.step_mix(name, k, 5)
        ratio = seconds["StepMix"] / seconds["ours"]
        lines.append(Line(f"mixture / StepMix {name} K={k}", seconds["ours"], seconds["StepMix"], ratio, goal, 5))
        print_line(lines[-1])
    for (name, k), goal in aspect.PEER_GOALS.items():
        rounds = 1 if name == "c20ng" else 5
        X = aspect.digits() if name == "digits" else aspect.load_debd("c20ng")["train"].astype(float)
        told = aspect.peer(name, X, k, rounds, 60 if name == "c20ng" else 2000)
        ours, theirs = told["seconds"]["ours"], told["seconds"]["nbmf-mm"]
        values = told["log_likelihood"]
        quality = f"{values['ours']:.7g} against {values['nbmf-mm']:.7g}"
        lines.append(Line(f"Aspect / nbmf-mm {name} K={k}", ours, theirs, told["ratio"], goal, rounds, quality))
        print_line(lines[-1])
    told = gtm.ugtm_peer(rounds=5)
    ratio = told["ratios"]["newton"]
    lines.append(Line("map / ugtm, an iteration", told["seconds"]["newton"], told["seconds"]["ugtm"], ratio, 3.0, 5))
    print_line(lines[-1])
    with threadpool_limits(1):
        counts, weights = bernoulli_gauss.posts(19_997, 20_000)
        told = bernoulli_gauss.product(weights, rounds=7)
        ours, theirs = told["seconds"]["pass"], told["seconds"]["product"]
        lines.append(Line("Bernoulli-Gauss pass / bare product", ours, theirs, told["ratio"], 6.0, 7, limit=True))
        print_line(lines[-1])
        told = bernoulli_gauss.nmf_peer(counts, rounds=5)
        ours, theirs = told["seconds"]["PLSA"], told["seconds"]["NMF"]
        lines.append(Line("PLSA / NMF-KL, an iteration", ours, theirs, told["ratio"], 8.0, 5))
        print_line(lines[-1])
    told = gibbs.tomotopy_peer(rounds=5)
    ours, theirs = told["seconds"]["latentbits"], told["seconds"]["tomotopy"]
    lines.append(Line("Gibbs / tomotopy, a sweep", ours, theirs, told["ratio"], 5.0, 5))
    print_line(lines[-1])
    return lines


def rivals() -> list[Line]:
    """Whole fits with the defaults of both sides."""
    from benchmarks.rivals import RIVALS

    lines = []
    for name, run in RIVALS.items():
        ours, theirs = run().values()
        quality = f"{ours.quality:.4g} against {theirs.quality:.4g}"
        lines.append(Line(name, ours.seconds, theirs.seconds, theirs.seconds / ours.seconds, None, 1, quality))
        print_line(lines[-1])
    return lines


def passes() -> list[Line]:
    """How a pass of every family grows with ones, rows, columns and components, and how it stands to the least work."""
    from benchmarks.slopes import bounds, slopes

    lines = []
    for name, (ours, least) in bounds().items():
        lines.append(Line(f"{name}: a pass / the least work", ours, least, ours / least, None, 5, limit=True))
        print_line(lines[-1])
    for name, told in slopes().items():
        for what, (exponent, limit, seconds) in told.items():
            line = Line(f"{name}: exponent in {what}", seconds[-1], seconds[0], exponent, limit, 3, limit=True)
            lines.append(line)
            print_line(line)
    return lines


PARTS = {"peers": peers, "before": before, "rivals": rivals, "passes": passes}


def print_line(line: Line) -> None:
    """Tell of a line as soon as it is there."""
    sign = "<=" if line.limit else ">="
    goal = "" if line.goal is None else f" (goal {sign} {line.goal:g}) {'met' if line.met else 'NOT met'}"
    print(f"{line.name}: {line.ratio:.2f}{goal}", flush=True)


def commit() -> str:
    """The commit that is measured."""
    return subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def markdown(parts: dict[str, dict]) -> str:
    """The table."""
    text = ["# Speed, measured side by side in one run", ""]
    text += ["Seconds are the best of so many alternating repeats; `python -m benchmarks.table` writes this file.", ""]
    for part, told in parts.items():
        text += [f"## {part}", "", f"Commit {told['commit'][:7]}, Python {told['python']}, {told['cores']} cores.", ""]
        text += ["| line | ours | theirs | ratio | goal | | repeats | quality |", "|---|---|---|---|---|---|---|---|"]
        for row in told["lines"]:
            line = Line(*row)
            goal = "–" if line.goal is None else f"{'≤' if line.limit else '≥'} {line.goal:g}"
            verdict = "" if line.goal is None else "met" if line.met else "**not met**"
            cells = (line.name, f"{line.ours:.4g}", f"{line.theirs:.4g}", f"{line.ratio:.2f}", goal)
            text.append("| " + " | ".join((*cells, verdict, str(line.repeats), line.quality)) + " |")
        text.append("")
    return "\n".join(text)


def history(parts: dict[str, dict], now: str) -> dict:
    """The seconds of ours in asv's format, version 2."""
    results = {
        f"{part}.{Line(*row).name}": [[Line(*row).ours], [], part]
        for part, told in parts.items()
        if told["commit"] == now
        for row in told["lines"]
    }
    return {
        "commit_hash": now,
        "env_name": "venv",
        "date": int(1000 * time.time()),
        "params": {"cpu": platform.machine(), "num_cpu": str(os.cpu_count()), "python": platform.python_version()},
        "python": platform.python_version(),
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version"],
        "results": results,
        "durations": {},
        "version": 2,
    }


def write(parts: dict[str, dict], now: str) -> None:
    """The table, and the history of this commit; those of others stay as they were measured."""
    (RESULTS / "table.md").write_text(markdown(parts))
    (RESULTS / "history").mkdir(exist_ok=True)
    (RESULTS / "history" / f"{now[:8]}.json").write_text(json.dumps(history(parts, now), indent=1) + "\n")


def main(names: list[str]) -> int:
    """Run the parts that are named and write them down; 1 if a goal is missed."""
    warnings.simplefilter("ignore")
    store, now = RESULTS / "table.json", commit()
    parts = json.loads(store.read_text()) if store.exists() else {}
    for name in names or list(PARTS):
        lines = PARTS[name]()
        parts[name] = {"commit": now, "python": platform.python_version(), "cores": os.cpu_count(), "lines": lines}
        store.write_text(json.dumps(parts, indent=1) + "\n")
    parts = json.loads(store.read_text())
    write(parts, now)
    return int(not all(Line(*row).met for told in parts.values() for row in told["lines"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
