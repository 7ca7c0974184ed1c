"""Does the verdict hold with more time, other seeds, other budgets?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import latentbits
from latentbits.datasets import load_spect_heart, make_choices
from latentbits.evaluation.plan import default_budget
from latentbits.families import STORIES
from papers.common import Outcome, Runs, plain

from .losses import table_of

N_ROWS, MORE, BUDGETS, APART = 4000, 5.0, (30.0, 100.0, 300.0), 2.0


def tables() -> dict[str, Any]:
    """The six tables."""
    small = {"spect_heart": load_spect_heart().data, "one of k": make_choices(1200, 8, 4, random_state=0).data}
    return small | {name: table_of(name, N_ROWS) for name in ("citations", "plants", "nltcs", "newsgroups_w100")}


def run(X: Any, budget: float, seed: int) -> dict[str, Any]:
    """A comparison, by structures: the best member of each."""
    found = latentbits.compare(X, budget=budget, random_state=seed)
    best: dict[str, dict[str, Any]] = {}
    for row in found.table:  # best first
        if "log_loss" in row and row["structure"] in STORIES and found.candidate(row["model"]).is_family:
            kept = ("model", "size_text", "log_loss", "above_best", "se", "standing", "ended")
            best.setdefault(row["structure"], {name: row[name] for name in kept})
    return {
        "budget": budget,
        "seed": seed,
        "winner": found.row(found.best_)["structure"],
        "best": best,
        "headline": found.headline,
        "verdict": found.verdict,
        "draws": found.plan.n_folds,
        "seconds": sum(fit["seconds"] for fit in found.searches) + sum(found.seconds.values()),
    }


def holds(short: dict[str, Any], long: dict[str, Any]) -> bool:
    """Whether the winner of a short run is that of a long one, or within two standard errors of it there."""
    mine = long["best"].get(short["winner"])
    return mine is not None and mine["above_best"] <= APART * max(mine["se"], 1e-12)


def contradict(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether one run calls the winner of another clearly worse."""
    return any(
        b["best"].get(a["winner"], {}).get("standing") == "clearly worse" for a, b in ((first, second), (second, first))
    )


def agreement(full: bool, folder: Path) -> Outcome:
    """Six tables: the default run, five times its budget, another seed, and three budgets."""
    outcome = Outcome(
        "explore-agreement",
        "verdicts that hold",
        f"{N_ROWS:,} rows of four tables, and two small ones, one fit at a time (reduced: one table)",
    )
    kept = Runs(folder / "runs" / "agreement.json" if full else None)
    agree, by_seed, by_budget = [], [], []
    chosen = tables() if full else {"spect_heart": load_spect_heart().data}
    for name, X in chosen.items():
        budget = default_budget(X.shape[0] * X.shape[1]) if full else 5.0
        asked = {"default": (budget, 0), "long": (MORE * budget, 0), "seed": (budget, 1)}
        asked |= {f"budget {b:.0f}": (b if full else b / 20, 0) for b in BUDGETS}
        for what, (seconds, seed) in asked.items():
            if f"{name}: {what}" not in kept:
                kept[f"{name}: {what}"] = plain(run(X, seconds, seed))
                kept.write()
                print(name, what, kept[f"{name}: {what}"]["headline"], flush=True)
        runs = {what: kept[f"{name}: {what}"] for what in asked}
        agree.append(holds(runs["default"], runs["long"]))
        by_seed.append(contradict(runs["default"], runs["seed"]))
        budgets = [runs[f"budget {b:.0f}"] for b in BUDGETS]
        by_budget.append(any(contradict(a, b) for i, a in enumerate(budgets) for b in budgets[i + 1 :]))
    outcome.numbers = dict(kept)
    n = len(chosen)
    wanted = f"{n} of {n}"
    outcome.claim(
        "the default run's structure is that of five times its budget, or within two standard errors of it",
        wanted, f"{sum(agree)} of {n}", all(agree),
    )  # fmt: skip
    outcome.claim(
        "seeds that contradict each other with 'clearly'", f"0 of {n}", f"{sum(by_seed)} of {n}", not any(by_seed)
    )
    outcome.claim(
        "budgets 30, 100, 300 that contradict each other with 'clearly'", f"0 of {n}", f"{sum(by_budget)} of {n}",
        not any(by_budget),
    )  # fmt: skip
    return outcome
