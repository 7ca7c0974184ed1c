"""Compile every kernel once, before tests run side by side: two processes that need the same kernel would both compile it.

``python -m tests.warm`` splits the families over two processes and ends when both have fitted and asked all of theirs.
"""

from __future__ import annotations

import subprocess
import sys
import warnings

# Families whose kernels have nothing in common, in two parts that take about equally long.
PARTS = (
    ("NoisyOrComponentAnalysis", "BernoulliMixture", "VariationalBernoulliMixture", "BinaryGTM", "RestrictedBoltzmann"),
    (),  # all others
)


def fit_and_ask(family):
    """Whatever compiles something: both layouts, weights, all answers."""
    import numpy as np

    for layout in ("dense", "sparse"):
        table = family.table() if layout == "dense" else family.sparse_table()
        weights = np.ones(len(table)) if family.weighted else None
        for model in (family.fit(table, max_iter=3), family.fit(table, weights, max_iter=3)):
            for method in ("transform", "predict_proba", "score_samples", "reconstruct", "impute", "explain"):
                if hasattr(model, method):
                    getattr(model, method)(table)
    if hasattr(model, "impute"):
        model.impute(table, how="sample", random_state=0)
    if hasattr(model, "sample"):
        model.sample(3, random_state=0)
    if hasattr(model, "importance_scores"):
        model.importance_scores(table[:5], 5)
        model.score_samples(table[:5], "mean_field")
        model.quickscore(table[:5])
        model.gibbs_posteriors(table[:5], 2, 1)
    if hasattr(model, "coclustering"):
        model.coclustering()


def warm(part):
    """One part of the families."""
    from tests.contracts.families import FAMILIES

    warnings.simplefilter("ignore")
    named = {name for names in PARTS for name in names}
    for family in FAMILIES:
        name = type(family.make()).__name__
        if name in PARTS[part] or (not PARTS[part] and name not in named):
            fit_and_ask(family)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        warm(int(sys.argv[1]))
    else:
        running = [subprocess.Popen([sys.executable, "-m", "tests.warm", str(part)]) for part in range(len(PARTS))]
        sys.exit(max(process.wait() for process in running))
