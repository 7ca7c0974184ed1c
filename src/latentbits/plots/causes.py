"""Pictures of causes: tiles of images, who explains which cell, phantoms, expansions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.options import is_whole
from ..data.block import UNKNOWN
from ..errors import InputError
from .axes import axes_of, grouped_bars, needs, shaded_probabilities
from .profiles import _names

ASPECTS = "an AspectBernoulli that is fitted"
MOST_FEATURES = 30  # of a picture of all
MOST_PRESENT = 6  # ones of a row that are named


def grid_of(n_rows: int, n_columns: int) -> Any:
    """New Axes in a grid of small squares."""
    axes_of_one = axes_of(None, (1.0 * n_columns, 1.15 * n_rows))
    figure = axes_of_one.figure
    axes_of_one.remove()
    return figure.subplots(n_rows, n_columns, squeeze=False)


def check_image(estimator: Any, image: Any) -> None:
    """Refuse an image shape that the features do not fill."""
    if not isinstance(image, (tuple, list)) or len(image) != 2:
        raise InputError(f"image must be a pair (rows, columns); got {image!r}.")
    if not all(is_whole(side) and side > 0 for side in image):
        raise InputError(f"image must be two whole numbers above 0; got {image!r}.")
    if image[0] * image[1] != estimator.n_features_in_:
        raise InputError(
            f"an image of {image[0]} × {image[1]} has {image[0] * image[1]} cells; the model has "
            f"{estimator.n_features_in_} features."
        )


def show_image(ax: Any, cells: Any, image: tuple[int, int], title: str = "", **limits: Any) -> None:
    """One tile."""
    ax.imshow(np.asarray(cells, dtype=float).reshape(image), cmap="gray_r", **limits)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=7, parse_math=False)


def cells_of(source: Any, rows: Any) -> Any:
    """Cells (len(rows), n_features) of some rows of an open table; those that are unknown are NaN."""
    cells = np.empty((len(rows), source.shape[1]))
    places = np.searchsorted(source.starts, rows, side="right") - 1
    for b in np.unique(places):
        mine = places == b
        codes = source.block(int(b)).take(rows[mine] - source.starts[b]).codes()
        cells[mine] = np.where(codes == UNKNOWN, np.nan, codes)
    return cells


def tiles(estimator: Any, image: tuple[int, int], *, axes: Any = None) -> Any:
    """The components as images, for tables whose features are the pixels of one.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    image : (int, int)
        Rows and columns of the image.
    axes : array of Axes, optional
        One per component.

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis, datasets
    >>> X = datasets.make_images(100, random_state=0).data
    >>> model = NoisyOrComponentAnalysis(8, n_init=1, max_iter=20, random_state=0).fit(X)
    >>> from latentbits import plots
    >>> axes = plots.tiles(model, (8, 8))
    """
    needs(estimator, "tiles", "a fitted estimator with components", "components_", "n_features_in_")
    check_image(estimator, image)
    if axes is None:
        across = min(12, len(estimator.components_))
        axes = grid_of(-(-len(estimator.components_) // across), across)
        for ax in np.ravel(axes)[len(estimator.components_) :]:
            ax.axis("off")
        axes = np.ravel(axes)[: len(estimator.components_)]
    names = estimator._described_names()
    limits = {"vmin": 0, "vmax": 1} if (np.abs(estimator.components_ - 0.5) <= 0.5).all() else {}
    for k, ax in enumerate(np.ravel(axes)[: len(estimator.components_)]):
        show_image(ax, estimator.components_[k], image, names[k], **limits)
    return axes


def cause_pictures(estimator: Any, X: Any, rows: Any, image: tuple[int, int], *, axes: Any = None) -> Any:
    """Which cause explains each pixel (Figure 2 of the Aspect Bernoulli paper).

    The first line shows the causes; then every line an image and, for each cause, its posterior over the pixels.

    Parameters
    ----------
    estimator : AspectBernoulli
        Fitted.
    X : table
    rows : array of int
        The images, by row number.
    image : (int, int)
        Rows and columns of the image.
    axes : (len(rows) + 1, n_components + 1) array of Axes, optional

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis, datasets
    >>> X = datasets.make_images(100, random_state=0).data
    >>> model = NoisyOrComponentAnalysis(8, n_init=1, max_iter=20, random_state=0).fit(X)
    >>> from latentbits import AspectBernoulli, plots
    >>> aspect = AspectBernoulli(3, n_init=1, max_iter=20, random_state=0).fit(X)
    >>> axes = plots.cause_pictures(aspect, X, [0, 1], (8, 8))
    """
    needs(estimator, "cause_pictures", ASPECTS, "cause_posterior", "components_")
    check_image(estimator, image)
    rows = np.unique(rows)
    axes = grid_of(len(rows) + 1, len(estimator.components_) + 1) if axes is None else axes
    source = estimator._open(X, reset=False)
    posterior = estimator.cause_posterior(source, rows)
    cells = cells_of(source, rows)
    axes[0, 0].axis("off")
    tiles(estimator, image, axes=axes[0, 1:])
    for line, i in enumerate(rows):
        show_image(axes[line + 1, 0], cells[line], image, f"row {i}", vmin=0, vmax=1)
        for k in range(len(estimator.components_)):
            show_image(axes[line + 1, k + 1], posterior[line, :, k], image, vmin=0, vmax=1)
    return axes


def causes(estimator: Any, *, top: int = 6, ax: Any = None) -> Any:
    """The causes side by side: probability of every feature, and over it kind, share and lift of the cause.

    Of many features those are shown that tell each cause from all others.  ``cause_frame`` has the same as a table.

    Parameters
    ----------
    estimator : AspectBernoulli
        Fitted.
    top : int
        Features to show of every cause, where there are more than 30.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import AspectBernoulli, datasets, plots
    >>> X = datasets.load_zoo().frame
    >>> axes = plots.causes(AspectBernoulli(3, n_init=1, max_iter=20, random_state=0).fit(X))
    """
    needs(estimator, "causes", ASPECTS, "cause_table", "components_")
    rows, probs = estimator.cause_table(top), estimator.components_
    names = _names(estimator)
    shown = list(range(len(names)))
    if len(names) > MOST_FEATURES:
        apart = [probs[k] - np.delete(probs, k, axis=0).max(axis=0, initial=0.0) for k in range(len(probs))]
        shown = list(dict.fromkeys(int(j) for gap in apart for j in np.argsort(-gap, kind="stable")[:top]))
    ax = axes_of(ax, (2.8 + 1.0 * len(rows), 1.8 + 0.27 * len(shown)))
    values = probs[:, shown].T
    heads = [f"{row['component']}\n{row['kind']}\n{row['share']:.0%}, lift {row['lift']:.2f}" for row in rows]
    shaded_probabilities(ax, values, [f"{value:.2f}" for value in values.ravel()], [names[j] for j in shown], heads)
    ax.set_title("Causes: probability of a one; share of all cells")
    return ax


def expansion(estimator: Any, X: Any, rows: Any, *, top: int = 6, ax: Any = None) -> Any:
    """What the causes of each row would add to it, with the probability that it was lost, and what the row has.

    Parameters
    ----------
    estimator : AspectBernoulli
        Fitted.
    X : table
    rows : array of int
        Row numbers.
    top : int
        Features per row.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import AspectBernoulli, datasets
    >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
    >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
    >>> from latentbits import plots
    >>> axes = plots.expansion(model, X, [0, 1])
    """
    needs(estimator, "expansion", ASPECTS, "expand", "components_")
    rows = np.unique(rows)
    names = _names(estimator)
    source = estimator._open(X, reset=False)
    found = estimator.expand(source, rows, top)
    value, told = "lost", "probability that it was lost"
    if not estimator._model.phantoms:
        value, told = "probability", "probability of a one"
    groups = []
    for i, cells in zip(rows, cells_of(source, rows)):
        present = ", ".join(names[j] for j in np.flatnonzero(cells == 1)[:MOST_PRESENT])
        more = ", ..." if (cells == 1).sum() > MOST_PRESENT else ""
        bars = [(str(r["feature"]), float(r[value])) for r in found if r["row"] == i]
        groups.append((f"row {i} has {present or 'nothing: list of the whole table'}{more}", bars))
    return grouped_bars(ax, groups, xlabel=told, title="Absent, and to be expected")
