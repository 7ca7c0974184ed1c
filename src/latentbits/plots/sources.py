"""Pictures of sources: loadings as a heatmap, communities as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of, grouped_bars, needs
from .profiles import _names

# Features that a heatmap can show by name.
MOST_COLUMNS = 60


def _check(estimator: Any, picture: str) -> None:
    """Refuse estimators without sources."""
    needs(estimator, picture, "a NoisyOrComponentAnalysis that is fitted", "communities_table", "source_prior_")


def loadings(estimator: Any, *, scaled: bool = True, ax: Any = None) -> Any:
    """Sources × features, shaded by link probability (Figure 12 of the noisy-or paper).

    Parameters
    ----------
    estimator : NoisyOrComponentAnalysis
        Fitted.
    scaled : bool
        Multiply the links of a source by its prior, so that sources that are never on stay dark.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis, datasets
    >>> X = datasets.make_images(100, random_state=0).data
    >>> model = NoisyOrComponentAnalysis(8, n_init=1, max_iter=20, random_state=0).fit(X)
    >>> from latentbits import plots
    >>> ax = plots.loadings(model)
    """
    _check(estimator, "loadings")
    names, links = _names(estimator), estimator.components_
    values = links * estimator.source_prior_[:, None] if scaled else links
    title = "Links" + (", scaled by the prior of the source" if scaled else "")
    if len(names) > MOST_COLUMNS:
        strongest = np.argsort(-values.max(axis=0), kind="stable")[:MOST_COLUMNS]
        shown = strongest[np.argsort(values[:, strongest].argmax(axis=0), kind="stable")]
        title += f" (the {MOST_COLUMNS} strongest of {len(names)} features)"
        names, values = [names[j] for j in shown], values[:, shown]
    ax = axes_of(ax, (1.6 + 0.2 * len(names), 1.4 + 0.3 * len(links)))
    # The square root of the shade, or all but the largest source would be black.
    top = max(values.max(), 1e-12) if scaled else 1.0
    called = zip(estimator.component_names_, estimator.source_prior_)
    image = ax.imshow(np.sqrt(values / top), cmap="gray", aspect="auto", vmin=0, vmax=1)
    ax.set_yticks(np.arange(len(links)), [f"{name}  (on {p:.1%})" for name, p in called])
    ax.set_xticks(np.arange(len(names)), names, rotation=90, fontsize=7)
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        label.set_parse_math(False)
    ax.set(title=title)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.03, pad=0.01, ticks=np.sqrt([0.0, 0.1, 0.5, 1.0]))
    bar.ax.set_yticklabels([f"{top * share:.2f}" for share in (0.0, 0.1, 0.5, 1.0)])
    return ax


def communities(estimator: Any, *, top: int = 7, least: float = 0.1, ax: Any = None) -> Any:
    """The communities: size and status, and their members as bars of the strength of their links.

    Parameters
    ----------
    estimator : NoisyOrComponentAnalysis
        Fitted.
    top : int
        Members per community.
    least : float
        Links below this make no member.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis, datasets
    >>> X = datasets.make_images(100, random_state=0).data
    >>> model = NoisyOrComponentAnalysis(8, n_init=1, max_iter=20, random_state=0).fit(X)
    >>> from latentbits import plots
    >>> ax = plots.communities(model, top=5)
    """
    _check(estimator, "communities")
    members = estimator.communities_table(top, least)
    groups = []
    for source in estimator.sources_table():
        name = source["component"]
        mine = [(str(row["member"]), float(row["strength"])) for row in members if row["component"] == name]
        told = "" if mine else f": no link of {least:g} or more"
        groups.append((f"{name}, {source['status']}, on in {source['prior']:.1%} of the rows{told}", mine))
    return grouped_bars(ax, groups, xlabel="probability of the link", title="Members of the communities")
