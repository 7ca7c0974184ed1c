"""Tables drawn from every family: does the comparison find the family that they were drawn from?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import latentbits
from latentbits.data.rng import stream
from latentbits.datasets import make_aspect, make_boltzmann, make_map, make_mixture, make_noisy_or, make_trait
from papers.common import Outcome, Runs, plain

N_DRAWS = 10


def independent(seed: int) -> Any:
    """Columns that have nothing to do with each other."""
    rng = stream(seed, "sample", 8)
    return (rng.random((600, 24)) < rng.beta(1.5, 1.5, 24)).astype(float)


def stick_breaking(seed: int) -> Any:
    """A Dirichlet-process mixture: as many classes as the rows make."""
    rng = stream(seed, "sample", 9)
    labels, sizes = [], []
    for i in range(600):
        chances = np.append(sizes, 1.5) / (i + 1.5)
        label = int(rng.choice(len(chances), p=chances))
        sizes = [*sizes, 0] if label == len(sizes) else sizes
        sizes[label] += 1
        labels.append(label)
    probs = rng.beta(0.5, 0.5, (len(sizes), 24))
    return (rng.random((600, 24)) < probs[labels]).astype(float)


# What the tables are drawn from: the families that tell this story of a row, and a draw.
TRUTHS = {
    "finite mixture": ("class", lambda seed: make_mixture(600, 24, 4, spread=1.5, random_state=seed).data),
    "Dirichlet-process mixture": ("class", stick_breaking),
    "Aspect Bernoulli": ("shares", lambda seed: make_aspect(1000, 60, 4, concentration=0.3, random_state=seed).data),
    "noisy-or": ("causes", lambda seed: make_noisy_or(600, 40, 5, random_state=seed).data),
    "latent trait, logistic PCA": ("scores", lambda seed: make_trait(600, 30, 3, random_state=seed).data),
    "binary GTM": ("map", lambda seed: make_map(800, 60, random_state=seed).data),
    "Boltzmann machine": ("switches", lambda seed: make_boltzmann(1000, 24, 6, random_state=seed).data),
}

NOTHING = "independent columns"


def standing_of(found: Any, structure: str) -> dict[str, Any]:
    """The best family of a structure in a comparison, and whether it is first or within one standard error of the first."""
    rows = [row for row in found.table if row["structure"] == structure and "log_loss" in row]
    mine = [row for row in rows if found.candidate(row["model"]).is_family]
    if not mine:  # all were left out
        return {"true": None, "found": False, "standing": "left out", "above_best": None, "se": None}
    told = {name: mine[0][name] for name in ("size_text", "above_best", "se", "standing")}  # the best comes first
    return {"true": mine[0]["model"], "found": bool(told["above_best"] <= told["se"]), **told}


def judged(X: Any, structure: str, seed: int) -> dict[str, Any]:
    """Compare all families on a table; how far the best of the true structure is from the best of all."""
    found = latentbits.compare(X, folds=1, random_state=seed)
    return {
        "first": found.best_,
        "finding": found.finding_,
        **standing_of(found, structure),
        "losses": {row["model"]: row["log_loss"] for row in found.table if "log_loss" in row},
        "headline": found.headline,
    }


def drawn(name: str, seed: int) -> dict[str, Any]:
    """One draw of one truth, or of none, judged."""
    if name == NOTHING:
        found = latentbits.compare(independent(seed), folds=1, random_state=seed)
        return {"first": found.best_, "finding": found.finding_, "headline": found.headline}
    structure, make = TRUTHS[name]
    return judged(make(seed), structure, seed)


def truth(full: bool, folder: Path) -> Outcome:
    """Tables drawn from every family, and from none."""
    outcome = Outcome("explore-truth", "synthetic truth", "ten draws of each family (reduced: two), one draw of cells")
    n_draws, least = (N_DRAWS, 8) if full else (2, 1)
    kept = Runs(folder / "runs" / "truth.json" if full else None)
    draws = [(name, seed) for name in (*TRUTHS, NOTHING) for seed in range(n_draws)]
    missing = [draw for draw in draws if f"{draw[0]}, draw {draw[1]}" not in kept]
    found = Parallel(n_jobs=2, return_as="generator")(delayed(drawn)(*draw) for draw in missing)
    for (name, seed), result in zip(missing, found):
        kept[f"{name}, draw {seed}"] = plain(result)
        kept.write()
        print(f"{name}, draw {seed}:", result["first"], result["finding"], result.get("found"), flush=True)
    for name in TRUTHS:
        results = [kept[f"{name}, draw {seed}"] for seed in range(n_draws)]
        hits = sum(result["found"] for result in results)
        outcome.numbers[name] = results
        outcome.claim(
            f"tables of {name}: the true structure is first, or within one standard error of the first",
            f"at least {least} of {n_draws}",
            f"{hits} of {n_draws}",
            hits >= least,
        )
    findings = [kept[f"{NOTHING}, draw {seed}"]["finding"] for seed in range(n_draws)]
    outcome.numbers[NOTHING] = findings
    n_nothing = sum(finding == "nothing" for finding in findings)
    outcome.claim(
        "independent columns: there is nothing to find",
        f"{n_draws} of {n_draws}",
        f"{n_nothing} of {n_draws}",
        n_nothing == n_draws,
    )
    return outcome
