"""Which family predicts best, and whether its probabilities can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.numbers import real_numbers
from ..data.source import named
from ..errors import InputError, InputTypeError
from .axes import axes_of, needs

COMPARISON = "a Comparison, as latentbits.compare gives it"
MARKS = "osD^vP*X"


def comparison(found: Any, *, ax: Any = None) -> Any:
    """Log-loss of every model of a :class:`~latentbits.evaluation.Comparison`, best at the top.

    The bars are two standard errors of the difference to the best family; models without hidden structure are squares.

    Parameters
    ----------
    found : Comparison
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
    >>> ax = latentbits.plots.comparison(found)
    """
    needs(found, "comparison", COMPARISON, "table", "candidates", "best_", "curves")
    rows = [row for row in found.table if "log_loss" in row]
    ax = axes_of(ax, (6.8, 1.2 + 0.32 * len(rows)))
    baselines = {one.name for one in found.candidates if not one.is_family}
    for place, row in enumerate(rows):
        is_base = row["model"] in baselines
        colour = "#c9a227" if is_base else "#d1495b" if row["model"] == found.best_ else "#0b5cad"
        ax.errorbar(
            row["log_loss"],
            place,
            xerr=2 * row["se"],
            fmt="s" if is_base else "o",
            color=colour,
            ecolor="0.4",
            capsize=3,
        )
    ax.set_yticks(np.arange(len(rows)), [_named(row) for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("log-loss of hidden cells (nats per cell)")
    ax.grid(axis="x", alpha=0.3)
    return ax


def capacity(found: Any, models: Any = None, *, ax: Any = None) -> Any:
    """Capacity curves of a :class:`~latentbits.evaluation.Comparison`: log-loss of every family against its size.

    The losses are those of the cells by which the search chose; of every size the best settings.  An open mark ends curves
    that were still falling when the time was over.

    Parameters
    ----------
    found : Comparison
    models : list of str, optional
        By default all families with several sizes.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
    >>> ax = latentbits.plots.capacity(found)
    """
    needs(found, "capacity", COMPARISON, "table", "candidates", "searches", "capacity")
    names = [row["model"] for row in found.table] if models is None else list(models)
    known = {row["model"] for row in found.table}
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(f"capacity: there is no model {missing[0]!r}; there are: {', '.join(sorted(known))}.")
    ax = axes_of(ax, (6.4, 4.4))
    curves = [(name, points) for name in names if len(points := found.capacity(name)) > 1]
    for place, (name, points) in enumerate(curves):
        row, mark = found.row(name), MARKS[place % len(MARKS)]
        sizes, losses = [p["size"] for p in points], [p["log_loss"] for p in points]
        (line,) = ax.plot(sizes, losses, marker=mark, markersize=4, label=str(row["title"]))
        if row["at_edge"]:
            ax.plot(sizes[-1:], losses[-1:], mark, markersize=9, mfc="none", color=line.get_color())
    if curves:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.legend(fontsize=7)
    ax.set(xlabel="components (nodes of maps)", ylabel="log-loss of hidden cells (nats per cell)")
    ax.grid(alpha=0.3)
    return ax


def _named(row: dict[str, Any]) -> str:
    """A model with its size."""
    size = row["size"]
    if size is None:
        return str(row["title"])
    return f"{row['title']} ({'×'.join(map(str, size)) if isinstance(size, tuple) else size})"


def calibration(found: Any, models: Any = None, *, ax: Any = None) -> Any:
    """Predicted probability of hidden cells against the share of ones, in bins with equally many cells.

    Parameters
    ----------
    found : Comparison
    models : list of str, optional
        By default the best family and the baselines.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import latentbits
    >>> X = latentbits.datasets.load_zoo().frame
    >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
    >>> ax = latentbits.plots.calibration(found)
    """
    needs(found, "calibration", COMPARISON, "table", "candidates", "best_", "curves")
    names = [found.best_, "tree", "independent"] if models is None else list(models)
    missing = [name for name in names if name not in found.curves]
    if missing:
        raise InputError(f"calibration: there is no curve of {missing[0]!r}; there are: {', '.join(found.curves)}.")
    ax = axes_of(ax, (4.8, 4.6))
    ax.plot([0, 1], [0, 1], "--", color="0.6", linewidth=1)
    for name, mark in zip(names, MARKS):
        curve = found.curves[name]
        error = found.row(name)["calibration_error"]
        predicted, observed = [b["predicted"] for b in curve], [b["observed"] for b in curve]
        ax.plot(predicted, observed, marker=mark, markersize=4, label=f"{found.row(name)['title']}: error {error:.3f}")
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability", ylabel="share of ones", aspect="equal")
    ax.legend(fontsize=7)
    return ax


def recovery(components: Any, truth: Any, *, ax: Any = None) -> Any:
    """How found components match true ones: cosines, both matched one to one and in the order of the truth, numbered from 1.

    Parameters
    ----------
    components : (K, D) array
        What was found, e.g. ``components_``.
    truth : (G, D) array
        What the data were drawn from.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import BernoulliMixture, datasets, plots
    >>> made = datasets.make_mixture(200, 8, 2, spread=3.0, random_state=0)
    >>> model = BernoulliMixture(2, n_init=1, random_state=0).fit(made.data)
    >>> ax = plots.recovery(model.components_, made.probs)
    """
    from scipy.optimize import linear_sum_assignment

    with named("plots.recovery"):
        found, truth = real_numbers(components), real_numbers(truth)
    if found.ndim != 2 or truth.ndim != 2 or found.shape[1] != truth.shape[1]:
        raise InputError(
            f"plots.recovery: two matrices with equal columns are needed; got {found.shape} and {truth.shape}."
        )
    lengths = np.outer(np.linalg.norm(truth, axis=1), np.linalg.norm(found, axis=1))
    cosine = truth @ found.T / np.where(lengths > 0, lengths, 1.0)
    rows, columns = linear_sum_assignment(-cosine)
    order = [*columns[np.argsort(rows)], *[k for k in range(len(found)) if k not in columns]]
    ax = axes_of(ax, (1.8 + 0.5 * len(found), 1.4 + 0.45 * len(truth)))
    ax.imshow(cosine[:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i in range(len(truth)):
        for place, k in enumerate(order):
            colour = "white" if cosine[i, k] > 0.6 else "black"
            ax.text(place, i, f"{cosine[i, k]:.2f}", ha="center", va="center", fontsize=7, color=colour)
    ax.set_xticks(np.arange(len(order)), [str(k + 1) for k in order])
    ax.set_yticks(np.arange(len(truth)), [f"true {i + 1}" for i in range(len(truth))])
    ax.set(xlabel="component found", title="Cosine with the truth")
    return ax


def explanation(estimator: Any, X: Any, *, rows: Any = None, columns: Any = None, ax: Any = None) -> Any:
    """Cells coloured by the component that explains them: dark where they are 1, pale where 0, hatched where unknown.

    A cross marks cells that the rest of their row makes improbable (below one in ten).

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : table
    rows, columns : array-like of int, optional
        Which cells; by default the first 40 rows and 40 columns.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import BernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
    >>> from latentbits import plots
    >>> ax = plots.explanation(model, X, rows=[0, 1, 2])
    """
    from matplotlib.colors import to_rgb

    if not hasattr(estimator, "explain"):
        raise InputTypeError(f"plots.explanation: a {type(estimator).__name__} does not explain cells.")
    needs(estimator, "explanation", "a fitted estimator", "n_features_in_")
    source = estimator._open(X, reset=False)
    rows = np.arange(min(40, source.shape[0])) if rows is None else np.asarray(rows)
    columns = np.arange(min(40, source.shape[1])) if columns is None else np.asarray(columns)
    told = estimator.explain(source, cells=(np.repeat(rows, len(columns)), np.tile(columns, len(rows))))
    ax = axes_of(ax, (2.0 + 0.22 * len(columns), 1.6 + 0.16 * len(rows)))
    palette = np.array([to_rgb(f"C{k % 10}") for k in range(told.share.shape[1])])
    colour = palette[told.share.argmax(axis=1)]
    strength = np.where(told.value == 1, 0.95, 0.25)[:, None]
    picture = (strength * colour + (1 - strength)).reshape(len(rows), len(columns), 3)
    ax.imshow(picture, aspect="auto", interpolation="nearest")
    odd = np.where(told.value == 1, told.probability, 1 - told.probability) < 0.1
    for mark, which in (("x", odd & (told.value <= 1)), ("$/$", told.value > 1)):
        at = np.flatnonzero(which)
        ax.plot(at % len(columns), at // len(columns), linestyle="", marker=mark, color="black", markersize=4)
    names = estimator._feature_names()
    ax.set_xticks(np.arange(len(columns)), [names[j][:24] for j in columns], rotation=90, fontsize=7)
    ax.set(ylabel="row", title="What explains each cell")
    return ax
