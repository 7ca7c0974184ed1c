"""Trees of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of, needs

# Columns whose names are written, and the strength of an edge that is drawn with the full width.
MOST_NAMED, FULL = 80, 0.3
# Colours of modules, in turn.
COLOURS = ("#4878a8", "#c07a2c", "#5a9a68", "#b04a4a", "#7f68a8", "#8a7a5c", "#c77fb0", "#6f7f8f", "#a8a03c", "#4aa3a8")


def tree(estimator: Any, *, component: Any = 0, least: float = 0.0, ax: Any = None) -> Any:
    """The tree of columns of one class: the wider an edge, the more the two columns tell about each other.

    Blue edges join columns that go together, red ones columns of which one stands instead of the other; the larger a
    node, the more frequent its ones.

    Parameters
    ----------
    estimator : ChowLiuTree, TreeMixture or HiddenTree
        Fitted.
    component : int or str
        Which class of a mixture: its place in ``components_``, from 0, or its name.
    least : float
        Edges with less mutual information, in nats, are left out, and columns without any edge with them.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import ChowLiuTree, datasets, plots
    >>> ax = plots.tree(ChowLiuTree().fit(datasets.load_zoo().frame))
    """
    needs(
        estimator, "tree", "a fitted ChowLiuTree, TreeMixture or HiddenTree", "edges_table", "parents_", "components_"
    )
    k = estimator._component_index(component) if len(estimator.parents_) == len(estimator.components_) else 0
    _, _, parents, on_given, chances = list(estimator._trees())[k]
    colours = np.where(on_given[:, 1] > on_given[:, 0], COLOURS[0], COLOURS[3])
    ax = _drawn(estimator, parents, on_given, chances, colours, np.full(len(parents), "#e8e8e8"), least, ax)
    title = "columns that depend on each other"
    if len(estimator.parents_) > 1:
        title = f"{estimator._described_names()[k]}: {title}"
    ax.set_title(title, parse_math=False)
    return ax


def modules(estimator: Any, *, n_modules: int | None = None, ax: Any = None) -> Any:
    """The tree of a hidden tree with its modules: groups of columns that share local causes, each in a colour.

    Parameters
    ----------
    estimator : HiddenTree
        Fitted.
    n_modules : int, optional
        As in :meth:`HiddenTree.modules_table`.  Modules of one column are grey.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import HiddenTree, datasets, plots
    >>> X = datasets.load_zoo().frame
    >>> ax = plots.modules(HiddenTree(2, n_init=1, max_iter=10, random_state=0).fit(X), n_modules=3)
    """
    needs(estimator, "modules", "a fitted HiddenTree", "modules_table", "parents_", "components_")
    found = estimator._modules(n_modules)
    _, _, parents, on_given, chances = next(estimator._trees())
    fills = np.full(len(parents), "#e8e8e8")
    for number, one in enumerate(one for one in found if len(one.columns) > 1):
        fills[one.columns] = COLOURS[number % len(COLOURS)]
    ax = _drawn(estimator, parents, on_given, chances, np.full(len(parents), "#9a9a9a"), fills, 0.0, ax)
    several = sum(len(one.columns) > 1 for one in found)
    ax.set_title(f"{several} modules of columns that share local causes", parse_math=False)
    return ax


def _drawn(
    estimator: Any, parents: Any, on_given: Any, chances: Any, colours: Any, fills: Any, least: float, ax: Any
) -> Any:
    """A tree with edges and nodes of some colours."""
    from ..trees import edge_strengths
    from ..trees.layout import places_of, shown_columns, strongest_edges

    strength = edge_strengths(parents, on_given, chances)
    drawn = strongest_edges(parents, strength, least=least)
    shown = shown_columns(parents, drawn)
    places = places_of(parents, drawn, shown)
    ax = axes_of(ax, (9.0, 9.0))
    for d in drawn:
        (x, y), (x_up, y_up) = places[d], places[int(parents[d])]
        ax.plot([x, x_up], [y, y_up], color=colours[d], linewidth=0.6 + 4.0 * min(1.0, strength[d] / FULL), zorder=1)
    spots = np.array([places[d] for d in shown])
    ax.scatter(spots[:, 0], spots[:, 1], s=20 + 160 * chances[shown], color=fills[shown], edgecolor="black", zorder=2)
    names = estimator._feature_names()
    for d in shown if len(shown) <= MOST_NAMED else []:
        ax.annotate(
            names[d], places[d], xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8, parse_math=False
        )
    ax.set_axis_off()
    return ax
