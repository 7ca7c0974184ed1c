"""Pictures of maps (:class:`~latentbits.BinaryGTM`)."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

import numpy as np

from ..data.numbers import is_unknown
from ..errors import InputError, InputTypeError
from .axes import axes_of
from .causes import check_image

LANDSCAPES = ("u-matrix", "prior", "magnification")
# Okabe and Ito's colours, which readers of any colour vision tell apart, then more of other lightness; shapes beside them.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#A89400", "#7A3E00", "#6A3D9A")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")


def _flat_map(estimator: Any, what: str) -> tuple[int, int]:
    """Nodes along x and y; refuses what is not a map of two dimensions."""
    shape = getattr(estimator, "latent_shape_", None)
    if shape is None:
        raise InputTypeError(
            f"plots.{what}: a {type(estimator).__name__} is not a fitted map; pass a fitted BinaryGTM."
        )
    if len(shape) != 2:
        raise InputError(f"{what}: the map has {len(shape)} dimension(s); pictures are drawn of maps with two.")
    return int(shape[0]), int(shape[1])


def _show_grid(ax: Any, values: Any, shape: tuple[int, int], **options: Any) -> Any:
    """Values of the nodes as coloured cells around them; x is the first latent axis."""
    half = [1.0 / (n - 1) for n in shape]
    extent = (-1 - half[0], 1 + half[0], -1 - half[1], 1 + half[1])
    return ax.imshow(np.asarray(values).T, origin="lower", extent=extent, aspect="auto", **options)


def _bare(ax: Any) -> None:
    """No ticks: the coordinates mean nothing by themselves."""
    ax.set_xticks([])
    ax.set_yticks([])


def latent_map(
    estimator: Any,
    X: Any = None,
    color: Any = None,
    *,
    kind: str | None = None,
    landscape: str | None = "u-matrix",
    words: int = 0,
    ax: Any = None,
) -> Any:
    """Rows on the map, over a landscape of its borders.

    Parameters
    ----------
    estimator : BinaryGTM
        Fitted, with two dimensions.
    X : table, optional
        Rows to show; without it the landscape alone.
    color : (n_rows,) array-like, optional
        Class of every row: colour and shape of its mark; rows with None or NaN are grey.  More than ten different numbers are
        a scale of colours.
    kind : {"refined", "mean", "mode"}, optional
        Which place of a row; by default refined, without a smooth basis the mean.
    landscape : {"u-matrix", "prior", "magnification"} or None
        What is shaded: darker is a border, but for the prior, where darker is more of the rows.
    words : int
        If above 0, the features that stand out most are written where the map has its ``words`` regions.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import BinaryGTM, datasets, plots
    >>> zoo = datasets.load_zoo()
    >>> ax = plots.latent_map(BinaryGTM((4, 4), max_iter=10, random_state=0).fit(zoo.frame), zoo.frame, zoo.target)
    """
    shape = _flat_map(estimator, "latent_map")
    if landscape is not None and landscape not in LANDSCAPES:
        raise InputError(f"latent_map: landscape must be one of {', '.join(LANDSCAPES)} or None; got {landscape!r}.")
    ax = axes_of(ax, (7.2, 6.0))
    if landscape is not None:
        values = {
            "u-matrix": lambda: estimator.u_matrix(),
            "prior": lambda: np.log10(np.maximum(estimator.prior_landscape(), 1e-6)),
            "magnification": lambda: estimator.magnification(log=True),
        }[landscape]()
        image = _show_grid(ax, values, shape, cmap="Greys", alpha=0.7, zorder=0)
        names = {
            "u-matrix": "distance to neighbours",
            "prior": "log10 prior",
            "magnification": "log magnification",
        }
        ax.figure.colorbar(image, ax=ax, label=names[landscape], shrink=0.7)
    if X is not None:
        kind = kind or ("refined" if hasattr(estimator, "basis_centers_") else "mean")
        _show_rows(ax, estimator.transform(X, kind=kind), color)
    if words:
        _write_words(ax, estimator, words)
    _bare(ax)
    return ax


def _show_rows(ax: Any, places: Any, color: Any) -> None:
    """Marks of rows; rows at the same place make one larger mark."""
    if color is None:
        where, counts = np.unique(np.round(places, 6), axis=0, return_counts=True)
        ax.scatter(*where.T, s=10.0 * counts, color=COLOURS[0], linewidths=0, alpha=0.7, zorder=2)
        return
    values = np.asarray(color)
    if values.shape != (len(places),):
        raise InputError(f"latent_map: color must hold one class per row ({len(places)}); got shape {values.shape}.")
    if values.dtype.kind in "iuf" and len(np.unique(values)) > len(COLOURS):
        marks = ax.scatter(*places.T, s=16, c=values, cmap="viridis", linewidths=0.3, edgecolors="white", zorder=2)
        ax.figure.colorbar(marks, ax=ax, shrink=0.7)
        return
    known = np.array([not is_unknown(value) for value in values.tolist()], dtype=bool)
    if not known.all():
        ax.scatter(*places[~known].T, s=10, color="0.6", linewidths=0, zorder=1)
    classes = values.astype(str)
    for i, name in enumerate(sorted(set(classes[known]))):
        mine = known & (classes == name)
        where, counts = np.unique(np.round(places[mine], 6), axis=0, return_counts=True)
        ax.scatter(
            *where.T,
            s=16.0 * counts,
            color=COLOURS[i % len(COLOURS)],
            marker=SHAPES[(i + i // len(COLOURS)) % len(SHAPES)],
            linewidths=0.3,
            edgecolors="white",
            alpha=0.85,
            label=name,
            zorder=2,
        )
    legend = ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.02), ncols=4, fontsize=8, frameon=False)
    for text, handle in zip(legend.get_texts(), legend.legend_handles):
        text.set_parse_math(False)
        handle.set_sizes([24.0])


def _write_words(ax: Any, estimator: Any, n_regions: int) -> None:
    """The features of every region in the middle of its rows; regions without rows stay empty."""
    import matplotlib.patheffects as effects

    for _, group in groupby(estimator.regions_table(n_regions, 3), key=lambda row: row["component"]):
        rows = list(group)
        if rows[0]["weight"] < 1e-9:
            continue
        text = ax.text(
            rows[0]["x"],
            rows[0]["y"],
            "\n".join(str(row["feature"]) for row in rows if row["lift"] > 1),
            ha="center",
            va="center",
            fontsize=8,
            weight="bold",
            zorder=3,
            parse_math=False,
        )
        text.set_path_effects([effects.withStroke(linewidth=2.5, foreground="white")])


def component_planes(estimator: Any, features: Any, *, axes: Any = None) -> Any:
    """P(cell = 1) of some features over the map, one picture each, all on one scale.

    Parameters
    ----------
    estimator : BinaryGTM
        Fitted, with two dimensions.
    features : names or numbers of columns
    axes : array of Axes, optional

    Returns
    -------
    array of Axes

    Examples
    --------
    >>> from latentbits import BinaryGTM, datasets, plots
    >>> model = BinaryGTM((4, 4), max_iter=10, random_state=0).fit(datasets.load_zoo().frame)
    >>> axes = plots.component_planes(model, ["milk", "fins"])
    """
    shape = _flat_map(estimator, "component_planes")
    columns = estimator._column_numbers(features)
    planes, names = estimator.component_planes(columns), estimator._feature_names()
    if axes is None:
        import matplotlib.pyplot as plt

        wide = min(4, len(columns))
        high = math.ceil(len(columns) / wide)
        axes = plt.subplots(high, wide, figsize=(2.6 * wide, 2.5 * high), squeeze=False, layout="constrained")[1]
    axes = np.atleast_1d(axes)
    for ax in axes.ravel()[len(columns) :]:
        ax.axis("off")
    image = None
    for ax, j, plane in zip(axes.ravel(), columns, planes):
        image = _show_grid(ax, plane, shape, cmap="viridis", vmin=0, vmax=1)
        ax.set_title(names[j], fontsize=9, parse_math=False)
        _bare(ax)
    axes.ravel()[0].figure.colorbar(image, ax=axes, shrink=0.6, label="probability")
    return axes


def node_images(estimator: Any, image: tuple[int, int], *, ax: Any = None) -> Any:
    """The nodes as pictures, each where it is on the map; for tables whose columns are pixels.

    Parameters
    ----------
    estimator : BinaryGTM
        Fitted, with two dimensions.
    image : (height, width)
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import BinaryGTM, datasets, plots
    >>> X = datasets.make_images(100, random_state=0).data
    >>> ax = plots.node_images(BinaryGTM((4, 4), max_iter=10, random_state=0).fit(X), (8, 8))
    """
    across, up = _flat_map(estimator, "node_images")
    check_image(estimator, image)
    ax = axes_of(ax, (9.0, 9.0 * image[0] / image[1] * up / across))
    gap = 1
    high, wide = image[0] + gap, image[1] + gap
    canvas = np.zeros((up * high - gap, across * wide - gap))
    for k, chances in enumerate(estimator.components_):
        column, line = divmod(k, up)
        top = (up - 1 - line) * high
        canvas[top : top + image[0], column * wide : column * wide + image[1]] = chances.reshape(image)
    ax.imshow(canvas, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
    _bare(ax)
    return ax
