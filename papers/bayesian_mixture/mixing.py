"""Do chains mix?  On digits they do not, on planted blocks they do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

from latentbits import DPBernoulliMixture
from papers.bayesian_mixture.data import images
from papers.common import Outcome, quietly


def mixing(full: bool, folder: Path) -> Outcome:
    """R-hat on digits, and what the user is told."""
    n = 200 if full else 50
    out = Outcome(
        "bayesian-mixture-mixing",
        "Chains on digits",
        f"digits 1 and 2, infinite, alpha 50; 4 chains, {n} + {n} sweeps, 5 split-merge proposals a sweep",
    )
    told = {}
    for digit in (1, 2):
        train, _ = images(digit, 0)
        model = quietly(DPBernoulliMixture(50.0, n_warmup=n, n_draws=n, thin=1, random_state=digit), train)
        by_name = {row["quantity"]: row for row in model.diagnostics_}
        value = by_name["log_joint"]["rhat"]
        out.claim(f"digit {digit}: R-hat of the log joint (2.2 to 2.9 seen before)", "> 1.05", value, value > 1.05)
        said = "THEY HAVE NOT MIXED" in model.summary()
        out.claim(f"digit {digit}: the summary says so and what to do", "yes", "yes" if said else "no", said)
        counts = np.array(model.split_merge_counts_).sum(axis=0)
        told[f"digit {digit}"] = {
            "diagnostics": model.diagnostics_,
            "split-merge accepted": f"{counts[1] + counts[3]} of {counts[0] + counts[2]}",
            "disagreement": model.disagreement_,
            "summary": model.summary().splitlines(),
        }
    out.numbers = told
    _picture(model, folder / "bayesian-mixture-mixing.png")
    return out


def _picture(model: DPBernoulliMixture, path: Path) -> None:
    """Traces of the chains, and what they agree on."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from latentbits.plots import coclustering, traces

    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    traces(model, ax=axes[0])
    axes[0].set_ylim(np.quantile(model.trace_[:, :, 0], 0.03), None)
    traces(model, "n_blocks", ax=axes[1])
    coclustering(model, ax=axes[2])
    figure.savefig(path, dpi=100)
    plt.close(figure)


def planted(full: bool, folder: Path) -> Outcome:
    """A5: three planted blocks."""
    n_tables = 12 if full else 3
    out = Outcome(
        "bayesian-mixture-planted",
        "Planted blocks: chains mix and find them",
        f"{n_tables} tables of 300 x 30, three blocks with entries 0.85 / 0.15; alpha 1, four chains of mixed starts, "
        "200 + 400 sweeps, 5 split-merge proposals a sweep",
    )
    rhats, agreements = [], []
    for s in range(n_tables):
        rng = np.random.default_rng(s)
        profiles = np.where(rng.random((3, 30)) < 0.5, 0.85, 0.15)
        classes = rng.integers(0, 3, 300)
        X = (rng.random((300, 30)) < profiles[classes]).astype(np.uint8)
        model = DPBernoulliMixture(
            1.0, n_chains=4, n_warmup=200, n_draws=400, thin=1, split_merge=5, init="mixed", random_state=s
        )
        quietly(model, X)
        rhats.append(model.diagnostics_[0]["rhat"])
        agreements.append(adjusted_rand_score(classes, model.labels_))
    out.claim("A5: largest R-hat of the log joint", "<= 1.1", max(rhats), max(rhats) <= 1.1)
    out.claim(
        "A5: smallest adjusted Rand index of the Binder partition", ">= 0.95", min(agreements), min(agreements) >= 0.95
    )
    out.numbers = {"rhat": rhats, "adjusted rand index": agreements}
    return out
