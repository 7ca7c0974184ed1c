"""What the components look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of


def _names(estimator: Any) -> list[str]:
    """Feature names."""
    names = getattr(estimator, "feature_names_in_", None)
    return [str(j) for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def profile(estimator: Any, X: Any = None, *, counts: bool = True, ax: Any = None) -> Any:
    """Class profiles: features down, a line per class, expected counts beside the probabilities.

    Parameters
    ----------
    estimator : BernoulliMixture
        Fitted.
    X : table, optional
        The rows to count; by default the counts expected for the rows of the fit.
    counts : bool
        Write the expected number of ones beside every point (for up to 40 features).
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    names = _names(estimator)
    ax = axes_of(ax, (7.0, 1.2 + 0.28 * len(names)))
    rows = estimator.profile_table(X)
    height = np.arange(len(names))
    markers = "osD^vP*X<>"
    for k in range(estimator.n_components):
        mine = [row for row in rows if row["component"] == k]
        x = [row["probability"] for row in mine]
        ax.plot(x, height, marker=markers[k % 10], label=f"class {k} ({estimator.weights_[k]:.0%})", linewidth=1.2)
        if counts and len(names) <= 40:
            for row, y in zip(mine, height):
                ax.annotate(
                    f"{row['ones']:.0f}/{row['rows']:.0f}",
                    (row["probability"], y),
                    textcoords="offset points",
                    xytext=(0, 4),
                    ha="center",
                    fontsize=6,
                    alpha=0.8,
                )
    ax.set_yticks(height, names)
    ax.invert_yaxis()
    ax.set(xlim=(-0.03, 1.03), xlabel="probability of a one (ones / known cells beside it)", title="Class profiles")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08 - 0.6 / len(names)), ncols=min(4, estimator.n_components))
    ax.grid(axis="x", alpha=0.3)
    return ax


def components(estimator: Any, *, top: int = 10, component: int = 0, ax: Any = None) -> Any:
    """The features that stand out in one component: probability as a bar, the marginal as a tick.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    top : int
        Features to show.
    component : int
        Which one.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    rows = [row for row in estimator.components_table(top) if row["component"] == component]
    ax = axes_of(ax, (5.0, 1.0 + 0.28 * len(rows)))
    height = np.arange(len(rows))
    ax.barh(height, [row["probability"] for row in rows], color="#4878a8", label="in the component")
    ax.plot([row["marginal"] for row in rows], height, "|k", markersize=12, label="overall")
    ax.set_yticks(height, [str(row["feature"]) for row in rows])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="probability of a one", title=f"Component {component}")
    ax.legend(fontsize=7)
    return ax
