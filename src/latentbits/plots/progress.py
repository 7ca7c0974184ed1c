"""How fits went and how many components to take."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of, needs


def selection(chosen: Any, *, ax: Any = None) -> Any:
    """The curve of a :class:`~latentbits.evaluation.Selection`, with the best number marked.

    Parameters
    ----------
    chosen : Selection
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import BernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
    >>> from latentbits import plots, select
    >>> ax = plots.selection(select(model, X, range(1, 4), "bic"))
    """
    needs(chosen, "selection", "a Selection, as latentbits.evaluation gives it", "table", "criterion", "best_")
    ax = axes_of(ax)
    numbers = [row["n_components"] for row in chosen.table]
    values = np.array([row[chosen.criterion] for row in chosen.table])
    ax.errorbar(numbers, values, yerr=[row["se"] for row in chosen.table], marker="o", capsize=3)
    ax.axvline(chosen.best_, linestyle=":", color="black", label=f"best: {chosen.best_}")
    labels = {"cells": "log-loss per hidden cell", "rows": "negative log-likelihood per held-out row"}
    ax.set(xlabel="number of components", ylabel=labels.get(chosen.criterion, chosen.criterion.upper()))
    ax.legend()
    return ax


def restarts(estimator: Any, *, ax: Any = None) -> Any:
    """The path of the objective of every start.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import BernoulliMixture, datasets, plots
    >>> X = datasets.load_zoo().frame
    >>> ax = plots.restarts(BernoulliMixture(3, n_init=3, random_state=0).fit(X))
    """
    needs(estimator, "restarts", "a fitted estimator", "history_")
    ax = axes_of(ax)
    told = [row for row in getattr(estimator, "restarts_", None) or [] if row.get("went_on", True)]
    for place, history in enumerate(estimator.history_):
        number = told[place].get("start", place) if place < len(told) else place  # not all may have gone on
        ax.plot(np.arange(1, len(history) + 1), history, label=f"start {number}", linewidth=1)
    reached = getattr(estimator, "n_reached_", None)  # chains and machines do not meet in one value
    title = "" if reached is None else f"best value in {reached} of the starts"
    ax.set(xlabel="accepted pass" if reached is not None else "step", ylabel="objective", title=title)
    ax.legend(fontsize=7)
    return ax
