"""Large truths: tables drawn from big models of every kind, five draws each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import latentbits
from latentbits.datasets import make_boltzmann, make_map, make_mixture, make_noisy_or, make_trait
from papers.common import Outcome, Runs, plain

from .truth import standing_of

N_ROWS, N_COLUMNS, N_DRAWS, LEAST = 5000, 100, 5, 22
LARGE = {
    "mixture of 60 classes": (
        "class",
        lambda n, seed: make_mixture(n, N_COLUMNS, 60, spread=1.5, random_state=seed).data,
    ),
    # Ten columns a source and four sources a row: with the generator's thirty and ten, nine of ten cells are on and
    # every column has a dozen causes, which no table of this length could tell apart.
    "40 sources": (
        "causes",
        lambda n, seed: make_noisy_or(n, N_COLUMNS, 40, size=0.1, prior=0.1, random_state=seed).data,
    ),
    # Couplings such that the log odds of a cell vary as with the small truth's six units (1.5 times the root of a
    # tenth): with 1.5 the rows of a machine of this size are a handful of frozen states.
    "60 Boltzmann units": (
        "switches",
        lambda n, seed: make_boltzmann(n, N_COLUMNS, 60, spread=0.47, random_state=seed).data,
    ),
    "8 traits": ("scores", lambda n, seed: make_trait(n, N_COLUMNS, 8, random_state=seed).data),
    "12 x 12 map": ("map", lambda n, seed: make_map(n, N_COLUMNS, latent_shape=(12, 12), random_state=seed).data),
}


def judged(name: str, seed: int, n_rows: int = N_ROWS, budget: float | None = None) -> dict[str, Any]:
    """One draw of one truth: where the true structure stands."""
    structure, make = LARGE[name]
    found = latentbits.compare(make(n_rows, seed), budget=budget, random_state=seed)
    return {
        "first": found.best_,
        **standing_of(found, structure),
        "losses": {
            row["model"]: [row["log_loss"], row["size_text"], row["ended"]] for row in found.table if "log_loss" in row
        },
        "verdict": found.verdict,
    }


def large_truth(full: bool, folder: Path) -> Outcome:
    """The right structure first or within one standard error, and never clearly worse."""
    outcome = Outcome(
        "explore-large-truth",
        "large truths",
        f"{N_ROWS:,} x {N_COLUMNS}, five draws each, default budget, one fit at a time (reduced: one, small)",
    )
    kept = Runs(folder / "runs" / "large-truth.json" if full else None)
    draws = [(name, seed) for seed in range(N_DRAWS if full else 1) for name in LARGE]
    for name, seed in draws:
        key = f"{name}, draw {seed}"
        if key not in kept:
            kept[key] = plain(judged(name, seed) if full else judged(name, seed, 300, 4.0))
            kept.write()
            print(
                key, {what: kept[key][what] for what in ("first", "true", "above_best", "se", "standing")}, flush=True
            )
    outcome.numbers = dict(kept)
    results = [kept[f"{name}, draw {seed}"] for name, seed in draws]
    hits = sum(bool(result["found"]) for result in results)
    wrong = sum(result["standing"] == "clearly worse" for result in results)
    least = LEAST if full else 0
    outcome.claim(
        "the true structure is first, or within one standard error of the first", f"at least {least} of {len(draws)}",
        f"{hits} of {len(draws)}", hits >= least,
    )  # fmt: skip
    outcome.claim("the true structure is called clearly worse", "never", f"{wrong} of {len(draws)}", wrong == 0)
    return outcome
