"""Pictures of predicted ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputTypeError
from .axes import axes_of, needs


def rating_distributions(estimator: Any, user: Any, items: Any, *, ax: Any = None) -> Any:
    """How a user would rate some items: the probability of every step of the scale, and the mean.

    Parameters
    ----------
    estimator : BernoulliGaussRecommender
        Fitted, with a scale.
    user
        A user who was fitted.
    items : array-like
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np
    >>> from latentbits import BernoulliGaussRecommender, plots
    >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
    >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
    >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
    >>> axes = plots.rating_distributions(model, 0, [0, 1])
    """
    if not hasattr(estimator, "predict_distribution"):
        raise InputTypeError(
            f"plots.rating_distributions: a {type(estimator).__name__} has no distributions of ratings."
        )
    needs(estimator, "rating_distributions", "a fitted BernoulliGaussRecommender", "scale_")
    items = np.atleast_1d(np.asarray(items))
    chances = estimator.predict_distribution(np.repeat(user, len(items)), items)
    ax = axes_of(ax, (6.4, 1.2 + 0.4 * len(items)))
    image = ax.imshow(chances, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    steps = estimator.scale_
    ax.plot(
        np.interp(chances @ steps, steps, np.arange(len(steps))),
        np.arange(len(items)),
        "k|",
        markersize=14,
        label="mean",
    )
    for i, j in np.ndindex(*chances.shape):
        ax.text(
            j, i, f"{chances[i, j]:.2f}", ha="center", va="center", color="white" if chances[i, j] > 0.6 else "black"
        )
    ax.set_xticks(range(len(steps)), [f"{step:g}" for step in steps])
    ax.set_yticks(range(len(items)), [str(item) for item in items])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_xlabel("rating")
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), frameon=False)
    ax.figure.colorbar(image, ax=ax, label="probability")
    return ax
