"""Trees of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of, needs

# Columns whose names are written, and the strength of an edge that is drawn with the full width.
MOST_NAMED, FULL = 80, 0.3


def tree(estimator: Any, *, component: Any = 0, least: float = 0.0, ax: Any = None) -> Any:
    """The tree of columns of one class: the wider an edge, the more the two columns tell about each other.

    Blue edges join columns that go together, red ones columns of which one stands instead of the other; the larger a
    node, the more frequent its ones.

    Parameters
    ----------
    estimator : ChowLiuTree or TreeMixture
        Fitted.
    component : int or str
        Which class: its place in ``components_``, from 0, or its name.
    least : float
        Edges with less mutual information, in nats, are left out, and columns without any edge with them.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    needs(estimator, "tree", "a fitted ChowLiuTree or TreeMixture", "edges_table", "parents_", "components_")
    from ..trees import edge_strengths

    k = estimator._component_index(component)
    parents, on_given, chances = estimator.parents_[k], estimator.on_given_[k], estimator.components_[k]
    strength = edge_strengths(parents, on_given, chances)
    drawn = [d for d in range(len(parents)) if parents[d] != d and strength[d] >= least]
    shown = sorted({*drawn, *(int(parents[d]) for d in drawn)}) or list(range(len(parents)))
    places = _places(parents, set(drawn), shown)
    ax = axes_of(ax, (9.0, 9.0))
    for d in drawn:
        (x, y), (x_up, y_up) = places[d], places[int(parents[d])]
        colour = "#4878a8" if on_given[d, 1] > on_given[d, 0] else "#b04a4a"
        ax.plot([x, x_up], [y, y_up], color=colour, linewidth=0.6 + 4.0 * min(1.0, strength[d] / FULL), zorder=1)
    spots = np.array([places[d] for d in shown])
    ax.scatter(spots[:, 0], spots[:, 1], s=20 + 160 * chances[shown], color="#e8e8e8", edgecolor="black", zorder=2)
    names = estimator._feature_names()
    for d in shown if len(shown) <= MOST_NAMED else []:
        ax.annotate(
            names[d], places[d], xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8, parse_math=False
        )
    ax.set_title(f"{estimator._described_names()[k]}: columns that depend on each other", parse_math=False)
    ax.set_axis_off()
    return ax


def _places(parents: Any, drawn: set[int], shown: list[int]) -> dict[int, tuple[float, float]]:
    """Columns around the roots of their trees: the angle by the leaves below, the radius by the depth; trees side by side."""
    below: dict[int, list[int]] = {d: [] for d in shown}
    for d in sorted(drawn):
        below[int(parents[d])].append(d)
    out: dict[int, tuple[float, float]] = {}
    shift = 0.0
    for root in (d for d in shown if d not in drawn):
        order, depth = [root], {root: 0}
        for d in order:
            for child in below[d]:
                depth[child] = depth[d] + 1
                order.append(child)
        leaves = {d: 1 for d in order if not below[d]}
        for d in reversed(order):
            leaves[d] = leaves.get(d, 0) or sum(leaves[child] for child in below[d])
        begin = {root: 0.0}
        radius = max(depth.values())
        for d in order:
            at = begin[d]
            for child in below[d]:
                begin[child] = at
                at += leaves[child]
            angle = 2 * np.pi * (begin[d] + 0.5 * leaves[d]) / leaves[root]
            out[d] = shift + radius + depth[d] * float(np.cos(angle)), depth[d] * float(np.sin(angle))
        shift += 2.0 * radius + 1.0
    return out
