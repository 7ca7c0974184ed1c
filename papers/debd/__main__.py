"""Mean test log-likelihood of Bernoulli mixtures on the twenty density-estimation benchmarks.

For every set the number of classes and the smoothing are chosen on the validation rows, never on the test rows.  Results
go to ``papers/debd/results``: one JSON per set (every fit), and a table.

    python -m papers.debd            all sets
    python -m papers.debd nltcs ad   some of them
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
import warnings
from pathlib import Path

from latentbits import BernoulliMixture, ChowLiuTree
from latentbits.datasets import load_debd
from latentbits.errors import LatentBitsWarning
from latentbits.evaluation import IndependentColumns

HERE = Path(__file__).parent
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text())
NUMBERS = (10, 20, 40, 80, 150)
SMOOTHINGS = (0.1, 0.3, 1.0, 3.0, 10.0)


def one_set(name: str) -> dict:
    """All fits on one set, and the one that the validation rows choose."""
    splits = load_debd(name)
    train, valid, test = splits["train"], splits["valid"], splits["test"]
    fits = []
    for n_components in NUMBERS:
        for smoothing in SMOOTHINGS:
            began = time.perf_counter()
            model = BernoulliMixture(
                n_components,
                smoothing=smoothing,
                init="k-means++",
                n_init=2,
                tol=1e-6,
                max_iter=300,
                random_state=0,
                n_jobs=2,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentBitsWarning)
                model.fit(train)
            fits.append(
                {
                    "n_components": n_components,
                    "smoothing": smoothing,
                    "train": model.score(train),
                    "valid": model.score(valid),
                    "test": model.score(test),
                    "n_iter": model.n_iter_,
                    "converged": model.converged_,
                    "seconds": round(time.perf_counter() - began, 2),
                }
            )
    chosen = max(fits, key=lambda fit: fit["valid"])
    return {
        "set": name,
        "chosen": chosen,
        "independent": IndependentColumns(1.0).fit(train).score(test),
        "chow_liu": ChowLiuTree(1.0).fit(train).score(test),
        "fits": fits,
    }


def verdict(result: dict) -> str:
    """Whether the chosen fit is within the tolerance of the expected value."""
    goal = EXPECTED["mixture"][result["set"]]
    good = result["chosen"]["test"] >= goal + EXPECTED["tolerance"] * goal
    return "met" if good else "NOT met"


def table(results: list[dict]) -> str:
    """The results as Markdown."""
    lines = [
        "# Density estimation: mean test log-likelihood per row (nats)",
        "",
        "K and smoothing chosen on the validation rows. Written by `python -m papers.debd`.",
        "",
        "| set | K | smoothing | ours | prototype | difference | verdict | independent | Chow-Liu |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        goal, best = EXPECTED["mixture"][result["set"]], result["chosen"]
        lines.append(
            f"| {result['set']} | {best['n_components']} | {best['smoothing']:g} | {best['test']:.3f} | {goal:.3f} | "
            f"{100 * (best['test'] - goal) / abs(goal):+.2f} % | {verdict(result)} | {result['independent']:.3f} | "
            f"{result['chow_liu']:.3f} |"
        )
    met = sum(verdict(result) == "met" for result in results)
    lines += ["", f"{met} of {len(results)} within 0.5 % of the prototype or above it.", ""]
    lines += _smoothing_wins(results)
    return "\n".join(lines)


def _smoothing_wins(results: list[dict]) -> list[str]:
    """How often each smoothing is best on the test rows, over all sets, at the best K for it."""
    lines = ["| smoothing | sets on which its best K beats smoothing 0.1 (validation rows) |", "|---|---|"]
    for smoothing in SMOOTHINGS[1:]:
        wins = 0
        for result in results:
            best = {s: max(fit["valid"] for fit in result["fits"] if fit["smoothing"] == s) for s in SMOOTHINGS}
            wins += best[smoothing] > best[SMOOTHINGS[0]]
        lines.append(f"| {smoothing:g} | {wins} of {len(results)} |")
    return [*lines, ""]


def main(names: list[str]) -> int:
    """Run the sets and write the results."""
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    for name in names or list(EXPECTED["mixture"]):
        began = time.perf_counter()
        result = one_set(name)
        (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
        print(
            f"{name}: test {result['chosen']['test']:.3f} (prototype {EXPECTED['mixture'][name]}), K="
            f"{result['chosen']['n_components']}, smoothing {result['chosen']['smoothing']:g}, {verdict(result)}, "
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )
    done = [
        json.loads((folder / f"{n}.json").read_text()) for n in EXPECTED["mixture"] if (folder / f"{n}.json").exists()
    ]
    (folder / "table.md").write_text(table(done))
    missed = [result["set"] for result in done if verdict(result) != "met"]
    print(f"{len(done) - len(missed)} of {len(done)} met" + (f"; not met: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
