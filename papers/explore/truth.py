"""Tables drawn from every family: does the comparison find the family that they were drawn from?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import latentbits
from latentbits.data.rng import stream
from latentbits.datasets import make_aspect, make_boltzmann, make_map, make_mixture, make_noisy_or, make_trait
from papers.common import Outcome

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


def judged(X: Any, structure: str, seed: int) -> dict[str, Any]:
    """Compare all families on a table; how far the best of the true structure is from the best of all."""
    found = latentbits.compare(X, folds=1, random_state=seed)
    mine = min((row for row in found.table if row["structure"] == structure), key=lambda row: row["log_loss"])
    return {
        "first": found.best_,
        "finding": found.finding_,
        "true": mine["model"],
        "size": mine["size"],
        "above_best": mine["above_best"],
        "se": mine["se"],
        "found": bool(mine["above_best"] <= mine["se"]),
        "losses": {row["model"]: row["log_loss"] for row in found.table if "log_loss" in row},
    }


def drawn(name: str, seed: int) -> dict[str, Any]:
    """One draw of one truth, judged."""
    structure, make = TRUTHS[name]
    return judged(make(seed), structure, seed)


def nothing(seed: int) -> str:
    """What is found in independent columns."""
    return latentbits.compare(independent(seed), folds=1, random_state=seed).finding_


def truth(full: bool, folder: Path) -> Outcome:
    """Tables drawn from every family, and from none."""
    outcome = Outcome("explore-truth", "synthetic truth", "ten draws of each family (reduced: two), one draw of cells")
    n_draws, least = (N_DRAWS, 8) if full else (2, 1)
    draws = [(name, seed) for name in TRUTHS for seed in range(n_draws)]
    judgements = Parallel(n_jobs=2)(delayed(drawn)(*draw) for draw in draws)
    for name in TRUTHS:
        results = [found for draw, found in zip(draws, judgements) if draw[0] == name]
        hits = sum(result["found"] for result in results)
        outcome.numbers[name] = results
        outcome.claim(
            f"tables of {name}: the true structure is first, or within one standard error of the first",
            f"at least {least} of {n_draws}",
            f"{hits} of {n_draws}",
            hits >= least,
        )
    findings = Parallel(n_jobs=2)(delayed(nothing)(seed) for seed in range(n_draws))
    outcome.numbers["independent columns"] = findings
    n_nothing = sum(finding == "nothing" for finding in findings)
    outcome.claim(
        "independent columns: there is nothing to find",
        f"{n_draws} of {n_draws}",
        f"{n_nothing} of {n_draws}",
        n_nothing == n_draws,
    )
    return outcome
