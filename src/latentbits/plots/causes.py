"""Pictures of causes: tiles of images, who explains which cell, phantoms, expansions."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from ..base.options import is_whole
from ..data.block import UNKNOWN
from ..errors import InputError
from .axes import axes_of, needs

ASPECTS = "an AspectBernoulli that is fitted"


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


def _text_table(ax: Any, header: list[str], body: list[list[str]], widths: list[float]) -> Any:
    """A table of text that fills the Axes."""
    ax.axis("off")
    body = [[textwrap.fill(text, max(8, int(150 * width))) for text, width in zip(row, widths)] for row in body]
    n_lines = [1] + [max(text.count("\n") + 1 for text in row) for row in body]
    table = ax.table(body, colLabels=header, colWidths=widths, loc="center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    for (row, _), cell in table.get_celld().items():
        cell.set_height((n_lines[row] + 0.6) / (sum(n_lines) + 0.6 * len(n_lines)))
        cell.PAD = 0.01
        cell.set_edgecolor("0.8")
        cell.get_text().set_weight("bold" if row == 0 else "normal")
        cell.get_text().set_parse_math(False)
    return ax


def causes(estimator: Any, *, top: int = 6, ax: Any = None) -> Any:
    """The phantom table: kind, share, lift and life beside others of every cause, with its features.

    Parameters
    ----------
    estimator : AspectBernoulli
        Fitted.
    top : int
        Features to name.
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
    rows = estimator.cause_table(top)
    ax = axes_of(ax, (9.0, 0.6 + 0.34 * len(rows)))
    header = ["cause", "kind", "share", "lift", "coexist", "most distinctive features"]
    body = [
        [
            row["component"],
            row["kind"],
            f"{row['share']:.1%}",
            f"{row['lift']:.2f}",
            f"{row['coexist']:.2f}",
            row["distinctive"],
        ]
        for row in rows
    ]
    return _text_table(ax, header, body, [0.12, 0.1, 0.08, 0.07, 0.08, 0.55])


def expansion(estimator: Any, X: Any, rows: Any, *, top: int = 6, ax: Any = None) -> Any:
    """The expansion table: what each row has, and what its causes would add, with the probability that it was lost.

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
    names = getattr(estimator, "feature_names_in_", np.arange(estimator.n_features_in_))
    source = estimator._open(X, reset=False)
    body = []
    found = estimator.expand(source, rows, top)
    value, head = ("lost", "absent, to be expected (probability that it was lost)")
    if not estimator._model.phantoms:
        value, head = ("probability", "absent, to be expected (probability of a one)")
    for i, cells in zip(rows, cells_of(source, rows)):
        present = ", ".join(str(names[j]) for j in np.flatnonzero(cells == 1)[:top])
        absent = ", ".join(f"{r['feature']} {r[value]:.2f}" for r in found if r["row"] == i)
        body.append([str(i), present or "nothing: list of the whole table", absent])
    ax = axes_of(ax, (9.0, 0.6 + 0.34 * len(body)))
    return _text_table(ax, ["row", "has", head], body, [0.06, 0.44, 0.5])
