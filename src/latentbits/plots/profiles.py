"""What the components look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import axes_of, needs, shaded_probabilities


def _names(estimator: Any) -> list[str]:
    """Feature names."""
    names = getattr(estimator, "feature_names_in_", None)
    return [str(j) for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def profile(estimator: Any, X: Any = None, *, counts: bool = True, ax: Any = None) -> Any:
    """Class profiles: features down, classes across, shaded by probability, with the expected counts behind it.

    Parameters
    ----------
    estimator : BernoulliMixture
        Fitted.
    X : table, optional
        The rows to count; by default the counts expected for the rows of the fit.
    counts : bool
        Write the expected ones and known cells under every probability.
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
    >>> ax = plots.profile(model, X)
    """
    needs(estimator, "profile", "a fitted mixture", "profile_table", "components_", "weights_")
    names, n_classes = _names(estimator), len(estimator.components_)
    ax = axes_of(ax, (2.6 + 1.0 * n_classes, 1.4 + 0.36 * len(names)))
    texts = [
        f"{row['probability']:.2f}" + (f"\n{row['ones']:.0f}/{row['rows']:.0f}" if counts else "")
        for row in estimator.profile_table(X)
    ]
    heads = [f"{name}\n{share:.0%}" for name, share in zip(estimator._component_names(), estimator.weights_)]
    shaded_probabilities(ax, estimator.components_.T, texts, names, heads)
    ax.set_title("Class profiles: probability of a one" + (", ones / known cells" if counts else ""))
    return ax


def components(estimator: Any, *, top: int = 10, component: Any = 0, ax: Any = None) -> Any:
    """The features that stand out in one component: probability as a bar, the marginal as a tick.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    top : int
        Features to show.
    component : int or str
        Which one: its place in ``components_``, from 0, or its name.
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
    >>> ax = plots.components(model, component=1)
    """
    needs(estimator, "components", "a fitted estimator with components", "components_table", "components_")
    place = estimator._component_index(component)
    name = estimator._component_names()[place]
    rows = [row for row in estimator.components_table(top) if row["component"] == name]
    ax = axes_of(ax, (5.0, 1.0 + 0.28 * len(rows)))
    height = np.arange(len(rows))
    value = "probability" if "probability" in rows[0] else "loading"
    ax.barh(height, [row[value] for row in rows], color="#4878a8", label=f"in {name}")
    ax.set_yticks(height, [str(row["feature"]) for row in rows])
    ax.invert_yaxis()
    ax.set_title(estimator._described_names()[place], parse_math=False)
    if value == "loading":
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_xlabel("loading (change of the log odds)")
        return ax
    ax.plot([row["marginal"] for row in rows], height, "|k", markersize=12, label="overall")
    ax.set(xlim=(0, 1), xlabel="probability of a one")
    ax.legend(fontsize=7)
    return ax
