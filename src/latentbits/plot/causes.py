"""Pictures of causes: tiles of images, who explains which cell, phantoms, expansions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from .axes import axes_of


def _grid(n_rows: int, n_columns: int) -> Any:
    """New Axes in a grid of small squares."""
    axes_of_one = axes_of(None, (1.0 * n_columns, 1.15 * n_rows))
    figure = axes_of_one.figure
    axes_of_one.remove()
    return figure.subplots(n_rows, n_columns, squeeze=False)


def _check_image(estimator: Any, image: tuple[int, int]) -> None:
    """Refuse an image shape that the features do not fill."""
    if image[0] * image[1] != estimator.n_features_in_:
        raise InputError(
            f"an image of {image[0]} × {image[1]} has {image[0] * image[1]} cells; the model has "
            f"{estimator.n_features_in_} features."
        )


def _show(ax: Any, cells: Any, image: tuple[int, int], title: str = "", **limits: Any) -> None:
    """One tile."""
    ax.imshow(np.asarray(cells, dtype=float).reshape(image), cmap="gray_r", **limits)
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=7)


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
    """
    _check_image(estimator, image)
    axes = _grid(1, estimator.n_components)[0] if axes is None else axes
    kinds = getattr(estimator, "kinds_", [""] * estimator.n_components)
    limits = {"vmin": 0, "vmax": 1} if (np.abs(estimator.components_ - 0.5) <= 0.5).all() else {}
    for k, ax in enumerate(np.ravel(axes)[: estimator.n_components]):
        _show(ax, estimator.components_[k], image, f"{k} {kinds[k]}".strip(), **limits)
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
    """
    _check_image(estimator, image)
    rows = np.unique(rows)
    axes = _grid(len(rows) + 1, estimator.n_components + 1) if axes is None else axes
    posterior = estimator.cause_posterior(X, rows)
    cells = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)[rows]
    axes[0, 0].axis("off")
    tiles(estimator, image, axes=axes[0, 1:])
    for line, i in enumerate(rows):
        _show(axes[line + 1, 0], cells[line], image, f"row {i}", vmin=0, vmax=1)
        for k in range(estimator.n_components):
            _show(axes[line + 1, k + 1], posterior[line, :, k], image, vmin=0, vmax=1)
    return axes


def _text_table(ax: Any, header: list[str], body: list[list[str]], widths: list[float]) -> Any:
    """A table of text that fills the Axes."""
    ax.axis("off")
    table = ax.table(body, colLabels=header, colWidths=widths, loc="center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    for (row, _), cell in table.get_celld().items():
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
    """
    rows = estimator.cause_table(top)
    ax = axes_of(ax, (9.0, 0.6 + 0.28 * len(rows)))
    header = ["cause", "kind", "share", "lift", "coexist", "most distinctive features"]
    body = [
        [
            str(row["component"]),
            row["kind"],
            f"{row['share']:.1%}",
            f"{row['lift']:.2f}",
            f"{row['coexist']:.2f}",
            row["distinctive"],
        ]
        for row in rows
    ]
    return _text_table(ax, header, body, [0.06, 0.1, 0.08, 0.07, 0.08, 0.61])


def expansion(estimator: Any, X: Any, rows: Any, *, top: int = 6, ax: Any = None) -> Any:
    """The expansion table: what each row has, and what it probably lost, with the probability u of the phantom.

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
    """
    from ..data.source import open_source

    rows = np.unique(rows)
    names = getattr(estimator, "feature_names_in_", np.arange(estimator.n_features_in_))
    source = open_source(X, binarize=estimator.binarize)
    bounds = np.searchsorted(source.starts, rows, side="right") - 1
    body = []
    found = estimator.expand(X, rows, top)
    value = "phantom" if estimator._model.phantoms else "probability"
    for i, b in zip(rows, bounds):
        codes = source.block(int(b)).take(np.array([i - source.starts[b]])).codes()[0]
        present = ", ".join(str(names[j]) for j in np.flatnonzero(codes == 1)[:top])
        absent = ", ".join(f"{r['feature']} {r[value]:.2f}" for r in found if r["row"] == i)
        body.append([str(i), present, absent])
    ax = axes_of(ax, (9.0, 0.6 + 0.28 * len(body)))
    return _text_table(ax, ["row", "has", f"probably lost ({value})"], body, [0.06, 0.44, 0.5])
