"""Tables with a known hidden structure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data.rng import stream


class Made(NamedTuple):
    """A generated table and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    causes: np.ndarray  # hidden cause(s) of every row
    weights: np.ndarray
    probs: np.ndarray


def make_mixture(
    n_rows: int = 500,
    n_columns: int = 20,
    n_components: int = 3,
    *,
    spread: float = 2.0,
    density: float = 0.5,
    unknown: float = 0.0,
    random_state: int = 0,
) -> Made:
    """Draw a table from a random Bernoulli mixture.

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Size.
    spread : float
        Standard deviation of the logits of the classes around the overall density; larger is easier.
    density : float
        About the share of ones.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    Made
        ``data, causes, weights, probs``.

    Examples
    --------
    >>> made = make_mixture(100, 8, 2, unknown=0.1, random_state=0)
    >>> made.data.shape, sorted(set(made.causes.tolist()))
    ((100, 8), [0, 1])
    """
    rng = stream(random_state, "sample", 1)
    weights = rng.dirichlet(np.full(n_components, 5.0))
    logits = np.log(density / (1 - density)) + spread * rng.standard_normal((n_components, n_columns))
    probs = 1 / (1 + np.exp(-logits))
    causes: Any = rng.choice(n_components, n_rows, p=weights)
    data = (rng.random((n_rows, n_columns)) < probs[causes]).astype(float)
    if unknown > 0:
        data[rng.random(data.shape) < unknown] = np.nan
    return Made(data, causes, weights, probs)
