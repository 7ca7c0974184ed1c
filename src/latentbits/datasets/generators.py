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


class MadeAspect(NamedTuple):
    """A table drawn from an Aspect Bernoulli model, with losses, and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    memberships: np.ndarray  # (n, K)
    probs: np.ndarray  # (K, D)
    levels: np.ndarray  # (n,) probability with which a one of the row was lost
    lost: np.ndarray  # (n, D) bool: ones that were lost


def make_aspect(
    n_rows: int = 500,
    n_columns: int = 20,
    n_components: int = 3,
    *,
    concentration: float = 0.3,
    density: float = 0.5,
    loss: float = 0.0,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeAspect:
    """Draw a table from a random Aspect Bernoulli model, and lose some of its ones.

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Size.
    concentration : float
        Of the Dirichlet distribution of memberships; small numbers make rows with one cause.
    density : float
        About the share of ones before losses.
    loss : float
        Every row loses its ones with a probability drawn uniformly between 0 and this.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeAspect
        ``data, memberships, probs, levels, lost``.

    Examples
    --------
    >>> made = make_aspect(100, 8, 2, loss=0.5, random_state=0)
    >>> made.data.shape, bool((made.data[made.lost] == 0).all())
    ((100, 8), True)
    """
    rng = stream(random_state, "sample", 2)
    probs = rng.beta(0.5 * density / 0.5, 0.5 * (1 - density) / 0.5, (n_components, n_columns))
    memberships = rng.dirichlet(np.full(n_components, concentration), n_rows)
    whole = rng.random((n_rows, n_columns)) < memberships @ probs
    levels = loss * rng.random(n_rows)
    lost = whole & (rng.random(whole.shape) < levels[:, None])
    data = (whole & ~lost).astype(float)
    if unknown > 0:
        data[rng.random(data.shape) < unknown] = np.nan
    return MadeAspect(data, memberships, probs, levels, lost & ~np.isnan(data))
