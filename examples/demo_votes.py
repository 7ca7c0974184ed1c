"""The demo: hidden voting blocs in the U.S. House of 1984, and what the abstainers would have voted.

Chooses the number of classes by cells that are hidden from the model, shows the classes, fills the abstentions, and
writes the tables and a picture to ``out/votes``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import latentbits
from latentbits.cli.output import show_components, write_rows
from latentbits.errors import TableWarning

OUT = Path("out/votes")


def choose(X):
    """The number of classes that best predicts hidden votes."""
    estimator = latentbits.BernoulliMixture(random_state=0)
    return latentbits.select(estimator, X, range(1, 9), "cells", folds=3)


def cross_table(model, X, party) -> None:
    """Classes against parties, which the model never saw."""
    classes = model.predict(X)
    names = sorted(set(party))
    print("\nclasses against parties (not used in the fit)")
    print("class " + " ".join(f"{name:>12}" for name in names))
    for k in range(model.n_components):
        print(f"{k:>5} " + " ".join(f"{int(((classes == k) & (party == name)).sum()):>12}" for name in names))


def show_filled(model, X, names, rows=(0, 1, 10)) -> None:
    """The abstentions of a few members, filled."""
    filled = model.reconstruct(X)
    print("\nabstentions of three members, with the probability of a yea")
    for i in rows:
        blanks = np.flatnonzero(np.isnan(X[i]))
        text = ", ".join(f"{names[j]} {filled[i, j]:.2f}" for j in blanks)
        print(f"  member {i}: {text}")


def main() -> None:
    """Run the demo."""
    import warnings

    warnings.simplefilter("ignore", TableWarning)  # one member abstained throughout
    votes = latentbits.datasets.load_votes()
    X = votes.frame
    print(f"{X.shape[0]} members x {X.shape[1]} votes, {int(np.isnan(votes.data).sum())} abstentions")
    chosen = choose(X)
    for row in chosen.table:
        print(f"  K={row['n_components']}: log-loss of hidden votes {row['cells']:.4f}")
    print(f"best: {chosen.best_}; the simplest within one standard error: {chosen.simplest_}, which is taken\n")
    model = latentbits.BernoulliMixture(chosen.simplest_, random_state=0).fit(X)
    show_components(model, top=5)
    print(model.summary())
    cross_table(model, X, votes.target)
    show_filled(model, votes.data, votes.feature_names)

    OUT.mkdir(parents=True, exist_ok=True)
    filled = model.impute(X)
    rows = [dict(zip(filled.columns, values)) for values in filled.to_numpy().tolist()]
    write_rows(rows, list(filled.columns), str(OUT / "filled.csv"))
    table = model.components_table(16)
    write_rows(table, list(table[0]), str(OUT / "classes.csv"))
    model.save(OUT / "votes.latentbits")
    figure = latentbits.plots.profile(model, X).figure
    figure.savefig(OUT / "profiles.png", dpi=120)
    print(f"\nwrote {OUT}/classes.csv, {OUT}/filled.csv, {OUT}/profiles.png and {OUT}/votes.latentbits")


if __name__ == "__main__":
    main()
