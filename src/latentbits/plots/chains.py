"""Chains of a sampler: their traces, what they agree on, and what they fill in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.matching import match, reordered
from ..data.numbers import real_numbers
from ..data.source import named
from ..errors import InputError
from .axes import axes_of, needs
from .causes import cells_of, check_image, grid_of, show_image

CHAINS = "a fitted BayesianBernoulliMixture or DPBernoulliMixture (any other has no chains)"


def traces(estimator: Any, quantity: str = "log_joint", *, ax: Any = None) -> Any:
    """The path of a number in every chain, warm-up shaded.

    Parameters
    ----------
    estimator : BayesianBernoulliMixture or DPBernoulliMixture
        Fitted.
    quantity : str
        "log_joint", "n_blocks", "largest", "entropy", "alpha", "beta" or "gamma".
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture, datasets, plots
    >>> X = datasets.load_zoo().frame
    >>> ax = plots.traces(DPBernoulliMixture(n_chains=2, n_warmup=10, n_draws=10, random_state=0).fit(X))
    """
    needs(estimator, "traces", CHAINS, "trace_table", "diagnostics_")
    rows = estimator.trace_table()
    if quantity not in rows[0] or quantity in ("chain", "sweep"):
        names = [name for name in rows[0] if name not in ("chain", "sweep")]
        raise InputError(f"traces: quantity must be one of {', '.join(map(repr, names))}; got {quantity!r}.")
    ax = axes_of(ax)
    for chain in sorted({row["chain"] for row in rows}):
        mine = [row for row in rows if row["chain"] == chain]
        ax.plot([row["sweep"] for row in mine], [row[quantity] for row in mine], label=f"chain {chain}", linewidth=0.9)
    if estimator.n_warmup:
        ax.axvspan(0, estimator.n_warmup, color="0.9", zorder=0, label="warm-up")
    told = {row["quantity"]: row["rhat"] for row in estimator.diagnostics_}
    title = f"R-hat of this number: {told[quantity]:.3g}" if quantity in told and not np.isnan(told[quantity]) else ""
    ax.set(xlabel="sweep", ylabel=quantity.replace("_", " "), title=title)
    ax.legend(fontsize=7)
    return ax


def coclustering(estimator: Any, rows: Any = None, *, ax: Any = None) -> Any:
    """How often two rows are in one block, rows ordered by the point partition.

    Parameters
    ----------
    estimator : BayesianBernoulliMixture or DPBernoulliMixture
        Fitted.
    rows : array of int, optional
        Rows to show; without it all, or 1,000 evenly spaced ones of a larger table.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture, datasets, plots
    >>> X = datasets.load_zoo().frame
    >>> ax = plots.coclustering(DPBernoulliMixture(n_chains=1, n_warmup=10, n_draws=10, random_state=0).fit(X))
    """
    needs(estimator, "coclustering", CHAINS, "coclustering", "labels_", "draws_")
    n_rows = len(estimator.labels_)
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_rows, 1000)).round().astype(int)) if rows is None else rows
    rows = np.asarray(rows)
    rows = rows[np.argsort(estimator.labels_[rows], kind="stable")]
    ax = axes_of(ax, (5.6, 4.8))
    image = ax.imshow(estimator.coclustering(rows), cmap="viridis", vmin=0, vmax=1, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="share of draws in one block")
    for edge in np.flatnonzero(np.diff(estimator.labels_[rows])):
        ax.axhline(edge + 0.5, color="white", linewidth=0.4)
        ax.axvline(edge + 0.5, color="white", linewidth=0.4)
    title = f"chains differ by {estimator.disagreement_:.3f}" if estimator.draws_.labels.shape[0] > 1 else ""
    ax.set(xlabel="rows, by block of the point partition", ylabel="", title=title)
    return ax


def fill_ins(models: Any, X: Any, image: tuple[int, int], *, truth: Any = None, axes: Any = None) -> Any:
    """Images with unknown pixels, as several models fill them (Figure 2 of van der Maaten's report).

    Parameters
    ----------
    models : dict of str to estimator, or estimator
        Fitted, by the name to show.
    X : table (n_images, n_pixels)
        Unknown pixels are shown grey; pixels are in the order of the columns of the first model.
    image : (int, int)
        Rows and columns of an image.
    truth : table (n_images, n_pixels), optional
        The whole images, for a line of their own.
    axes : (lines, n_images) array of Axes, optional

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import BernoulliMixture, datasets, plots
    >>> images = datasets.make_images(100, random_state=0).data
    >>> model = BernoulliMixture(8, n_init=1, random_state=0).fit(images)
    >>> halves = images[:2].copy()
    >>> halves[:, 32:] = np.nan
    >>> axes = plots.fill_ins({"mixture": model}, halves, (8, 8), truth=images[:2])
    """
    models = models if isinstance(models, dict) else {type(models).__name__: models}
    for estimator in models.values():
        needs(estimator, "fill_ins", "fitted estimators that fill in cells", "impute", "n_features_in_")
        check_image(estimator, image)
    first = next(iter(models.values()))
    source = first._open(X, reset=False)
    n_images = source.shape[0]
    shown = {"seen": np.nan_to_num(cells_of(source, np.arange(n_images)), nan=0.5)}
    if truth is not None:
        with named("plots.fill_ins"):
            shown["truth"] = real_numbers(reordered(truth, first._known_columns()))
    for name, estimator in models.items():
        shown[name] = _in_order_of(first, estimator, estimator.impute(estimator._open(X, reset=False)))
    axes = grid_of(len(shown), n_images) if axes is None else np.reshape(axes, (len(shown), n_images))
    for line, (name, cells) in zip(axes, shown.items()):
        for ax, row in zip(line, np.asarray(cells, dtype=float)):
            show_image(ax, row, image, vmin=0, vmax=1)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8)
    return axes


def _in_order_of(first: Any, estimator: Any, cells: Any) -> Any:
    """Answers of an estimator with the columns as another has them, if both have names."""
    wanted, theirs = first._known_columns(), estimator._known_columns()
    if wanted is None or theirs is None or wanted == theirs:
        return cells
    match(theirs, wanted)
    return cells[:, [theirs.index(name) for name in wanted]]
