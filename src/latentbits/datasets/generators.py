"""Tables with a known hidden structure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..data.rng import stream
from ..errors import InputError

# Of Boltzmann machines: hidden units whose states are all weighed; sweeps of a chain while couplings grow, and after.
MOST_WEIGHED = 16
COOLING, SWEEPS = 200, 300


class Made(NamedTuple):
    """A generated table and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    causes: np.ndarray  # hidden cause(s) of every row
    weights: np.ndarray
    probs: np.ndarray


def _make_blanks(unknown: float, rng: np.random.Generator, data: np.ndarray) -> None:
    """Makes a share of the cells of ``data`` unknown (changed here)."""
    if unknown > 0:
        data[rng.random(data.shape) < unknown] = np.nan


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
    _make_blanks(unknown, rng, data)
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
    _make_blanks(unknown, rng, data)
    return MadeAspect(data, memberships, probs, levels, lost & ~np.isnan(data))


class MadeNoisyOr(NamedTuple):
    """A table drawn from a noisy-or model and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    sources: np.ndarray  # (n, K) 0 or 1: sources that are on
    links: np.ndarray  # (K, D) link probabilities
    leak: np.ndarray  # (D,)
    prior: np.ndarray  # (K,)


def make_noisy_or(
    n_rows: int = 500,
    n_columns: int = 20,
    n_components: int = 3,
    *,
    size: float = 0.3,
    strength: float = 0.8,
    prior: float = 0.25,
    leak: float = 0.02,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeNoisyOr:
    """Draw a table from a random noisy-or model.

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Size.
    size : float
        Share of the columns that each source is linked to.
    strength, prior, leak : float
        Probability of every link, of every source, and of the leak.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeNoisyOr
        ``data, sources, links, leak, prior``.

    Examples
    --------
    >>> made = make_noisy_or(100, 8, 2, random_state=0)
    >>> made.data.shape, made.sources.shape
    ((100, 8), (100, 2))
    """
    rng = stream(random_state, "sample", 3)
    n_linked = max(1, round(size * n_columns))
    links = np.zeros((n_components, n_columns))
    for row in links:
        row[rng.choice(n_columns, n_linked, replace=False)] = strength
    return _draw_noisy_or(links, np.full(n_columns, leak), np.full(n_components, prior), n_rows, unknown, rng)


def _draw_noisy_or(links: Any, leak: Any, prior: Any, n_rows: int, unknown: float, rng: Any) -> MadeNoisyOr:
    """Rows of a noisy-or model."""
    sources = rng.random((n_rows, len(prior))) < prior
    off = np.exp(np.log1p(-leak) + sources @ np.log1p(-links))
    data = (rng.random(off.shape) >= off).astype(float)
    _make_blanks(unknown, rng, data)
    return MadeNoisyOr(data, sources.astype(np.uint8), links, leak, prior)


def make_images(
    n_rows: int = 1000,
    *,
    strength: float = 0.8,
    prior: float = 0.25,
    leak: float = 0.02,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeNoisyOr:
    """Draw 8 × 8 images in which eight patterns overlap, as in the experiments of the noisy-or paper.

    The paper draws its patterns but does not print them; these are a corner block, an L, two horizontal bars, a right
    column, a hollow square, the diagonals, a centre column and a lower bar, over a leak with two brighter patches.

    Parameters
    ----------
    n_rows : int
        Images.
    strength, prior, leak : float
        Probability of every link, of every source, and of the leak.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeNoisyOr
        ``data, sources, links, leak, prior``.

    Examples
    --------
    >>> made = make_images(100, random_state=0)
    >>> made.data.shape, made.links.shape
    ((100, 64), (8, 64))
    """
    shapes = np.zeros((8, 8, 8), bool)
    shapes[0, :3, :3] = True  # corner block
    shapes[1, 2:, 0] = shapes[1, 7, :5] = True  # L
    shapes[2, 1, :] = shapes[2, 4, :] = True  # two bars
    shapes[3, :, 6:] = True  # right column
    shapes[4, 2:6, 2:6] = True  # hollow square
    shapes[4, 3:5, 3:5] = False
    shapes[5][np.arange(8), np.arange(8)] = shapes[5][np.arange(8), 7 - np.arange(8)] = True  # diagonals
    shapes[6, :, 3:5] = True  # centre column
    shapes[7, 6:, :] = True  # lower bar
    background = np.full((8, 8), leak)
    background[0:2, 4:6] = background[4:6, 0:2] = max(leak, 0.15)
    rng = stream(random_state, "sample", 4)
    links = strength * shapes.reshape(8, 64)
    return _draw_noisy_or(links, background.ravel(), np.full(8, prior), n_rows, unknown, rng)


class MadeMap(NamedTuple):
    """A table drawn from a map and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    nodes: np.ndarray  # (n,) node of every row
    places: np.ndarray  # (n, L) its place
    probs: np.ndarray  # (K, D) at the nodes


def make_map(
    n_rows: int = 1000,
    n_columns: int = 100,
    *,
    latent_shape: tuple[int, ...] = (15, 15),
    basis_shape: tuple[int, ...] = (4, 4),
    spread: float = 2.0,
    constant: float = -2.0,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeMap:
    """Draw rows from random nodes of a random smooth map.

    Parameters
    ----------
    n_rows, n_columns : int
        Size.
    latent_shape, basis_shape : tuple of int
        Nodes and centres of the bumps per axis.
    spread, constant : float
        Standard deviation of the weights of the bumps, and the weight of the constant.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeMap
        ``data, nodes, places, probs``.

    Examples
    --------
    >>> made = make_map(50, 20, random_state=0)
    >>> made.data.shape, made.places.shape, made.probs.shape
    ((50, 20), (50, 2), (225, 20))
    """
    from ..gtm.grid import Basis, grid_points

    rng = stream(random_state, "sample", 5)
    points, basis = grid_points(latent_shape), Basis(basis_shape)
    weights = spread * rng.standard_normal((basis.n_functions, n_columns))
    weights[-1] = constant
    probs = 1.0 / (1.0 + np.exp(-basis.features(points) @ weights))
    nodes = rng.integers(len(points), size=n_rows)
    data = (rng.random((n_rows, n_columns)) < probs[nodes]).astype(float)
    _make_blanks(unknown, rng, data)
    return MadeMap(data, nodes, points[nodes], probs)


class MadeTrait(NamedTuple):
    """A table drawn from a latent trait model and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    scores: np.ndarray  # (n, K)
    loadings: np.ndarray  # (K, D)
    constants: np.ndarray  # (D,) logits at score 0


def make_trait(
    n_rows: int = 500,
    n_columns: int = 20,
    n_components: int = 2,
    *,
    spread: float = 1.5,
    density: float = 0.5,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeTrait:
    """Draw a table from a random latent trait model: logits are linear in Gaussian scores (also the story of logistic PCA).

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Size.
    spread : float
        Standard deviation of the loadings.
    density : float
        About the share of ones at score 0; the constants of the columns scatter around it by one.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeTrait
        ``data, scores, loadings, constants``.

    Examples
    --------
    >>> made = make_trait(100, 8, 2, random_state=0)
    >>> made.data.shape, made.scores.shape, made.loadings.shape
    ((100, 8), (100, 2), (2, 8))
    """
    rng = stream(random_state, "sample", 6)
    loadings = spread * rng.standard_normal((n_components, n_columns))
    constants = np.log(density / (1 - density)) + rng.standard_normal(n_columns)
    scores = rng.standard_normal((n_rows, n_components))
    on = 1.0 / (1.0 + np.exp(-(constants + scores @ loadings)))
    data = (rng.random(on.shape) < on).astype(float)
    _make_blanks(unknown, rng, data)
    return MadeTrait(data, scores, loadings, constants)


class MadeBoltzmann(NamedTuple):
    """A table drawn from a restricted Boltzmann machine and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    hidden: np.ndarray  # (n, H) 0 or 1
    couplings: np.ndarray  # (D, H)
    visible: np.ndarray  # (D,)
    hidden_bias: np.ndarray  # (H,)


def make_boltzmann(
    n_rows: int = 500,
    n_columns: int = 20,
    n_components: int = 4,
    *,
    spread: float = 1.5,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeBoltzmann:
    """Draw a table from a random restricted Boltzmann machine.

    Up to 16 hidden units the draws are exact: all 2^H hidden states are weighed.  Beyond, every row is a Gibbs chain of its
    own, from independent columns to the couplings by small steps, and then 300 sweeps on.

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Size.
    spread : float
        Standard deviation of the couplings.  The biases are such that every coupling is centred.  Rows of a large machine
        with strong couplings are a handful of frozen states; the log odds of a cell vary alike in machines of all sizes if
        the spread falls with the root of ``n_components``.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeBoltzmann
        ``data, hidden, couplings, visible, hidden_bias``.

    Examples
    --------
    >>> made = make_boltzmann(100, 8, 3, random_state=0)
    >>> made.data.shape, made.hidden.shape
    ((100, 8), (100, 3))
    """
    if n_components < 1:
        raise InputError(f"make_boltzmann: n_components must be 1 or more; got {n_components!r}.")
    rng = stream(random_state, "sample", 7)
    couplings = spread * rng.standard_normal((n_columns, n_components))
    visible, hidden_bias = -0.5 * couplings.sum(axis=1), -0.5 * couplings.sum(axis=0)
    draw_hidden = _weighed_hidden if n_components <= MOST_WEIGHED else _cooled_hidden
    hidden = draw_hidden(n_rows, couplings, visible, hidden_bias, rng)
    on = expit(visible + hidden @ couplings.T)
    data = (rng.random(on.shape) < on).astype(float)
    _make_blanks(unknown, rng, data)
    return MadeBoltzmann(data, hidden.astype(np.uint8), couplings, visible, hidden_bias)


def _weighed_hidden(n_rows: int, couplings: Any, visible: Any, hidden_bias: Any, rng: np.random.Generator) -> Any:
    """Exact draws of hidden states, all of which are weighed (n, H)."""
    n_hidden = couplings.shape[1]
    states = (np.arange(2**n_hidden)[:, None] >> np.arange(n_hidden)) & 1
    weights = states @ hidden_bias + np.logaddexp(0.0, visible + states @ couplings.T).sum(axis=1)
    chances = np.exp(weights - weights.max())
    return states[rng.choice(len(states), n_rows, p=chances / chances.sum())]


def _cooled_hidden(n_rows: int, couplings: Any, visible: Any, hidden_bias: Any, rng: np.random.Generator) -> Any:
    """Draws of hidden states by a Gibbs chain for every row (n, H).

    Couplings grow over the first sweeps, with biases that keep them centred, so that no chain is caught where it began.
    """
    hidden = rng.integers(0, 2, (n_rows, couplings.shape[1]))
    for share in [*np.linspace(0.0, 1.0, COOLING, endpoint=False), *np.ones(SWEEPS)]:
        on = expit(share * (visible + hidden @ couplings.T))
        cells = rng.random(on.shape) < on
        up = expit(share * (hidden_bias + cells @ couplings))
        hidden = (rng.random(up.shape) < up).astype(np.int64)
    return hidden


class MadeTrees(NamedTuple):
    """A table drawn from a mixture of trees, and the truth behind it."""

    data: np.ndarray  # (n, D) float, NaN where unknown
    causes: np.ndarray  # (n,) class of every row
    weights: np.ndarray  # (K,)
    parents: np.ndarray  # (K, D) roots are their own parents
    on_given: np.ndarray  # (K, D, 2) P(1 | parent is 0, 1)


def make_trees(
    n_rows: int = 500,
    n_columns: int = 20,
    n_components: int = 3,
    *,
    strength: float = 0.8,
    unknown: float = 0.0,
    random_state: int = 0,
) -> MadeTrees:
    """Draw a table from a random mixture of trees: within a class every column depends on one other column.

    Parameters
    ----------
    n_rows, n_columns, n_components : int
        Size.
    strength : float
        By how much a one of the parent raises, or lowers, the probability of a one.
    unknown : float
        Share of cells made unknown at random.
    random_state : int
        Seed.

    Returns
    -------
    MadeTrees
        ``data, causes, weights, parents, on_given``.

    Examples
    --------
    >>> made = make_trees(100, 8, 2, random_state=0)
    >>> made.data.shape, made.parents.shape
    ((100, 8), (2, 8))
    """
    rng = stream(random_state, "sample", 9)
    weights = rng.dirichlet(np.full(n_components, 10.0))
    parents = np.empty((n_components, n_columns), np.int64)
    on_given = np.empty((n_components, n_columns, 2))
    data, causes = np.empty((n_rows, n_columns)), rng.choice(n_components, n_rows, p=weights)
    for k in range(n_components):
        order = rng.permutation(n_columns)
        parents[k, order[0]] = order[0]
        for place in range(1, n_columns):
            parents[k, order[place]] = order[rng.integers(place)]
        low, raised = rng.uniform(0.05, 0.95 - strength, n_columns), rng.integers(0, 2, n_columns)
        on_given[k] = np.where(
            raised[:, None] == 1, np.stack((low, low + strength), 1), np.stack((low + strength, low), 1)
        )
        on_given[k, order[0]] = 0.5
        mine = np.flatnonzero(causes == k)
        drawn = np.zeros((len(mine), n_columns))
        for d in order:
            chance = on_given[k, d][drawn[:, parents[k, d]].astype(np.int64)]
            drawn[:, d] = rng.random(len(mine)) < chance
        data[mine] = drawn
    _make_blanks(unknown, rng, data)
    return MadeTrees(data, causes, weights, parents, on_given)


def make_choices(
    n_rows: int = 500,
    n_questions: int = 5,
    n_choices: int = 4,
    n_components: int = 2,
    *,
    unknown: float = 0.0,
    random_state: int = 0,
) -> Made:
    """Draw a survey of questions with one answer out of several each, every possible answer a column.

    Rows belong to hidden classes with answers of their own; of the columns of a question exactly one is 1.

    Parameters
    ----------
    n_rows, n_questions, n_choices, n_components : int
        Size; there are ``n_questions * n_choices`` columns.
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
    >>> made = make_choices(100, 3, 4, random_state=0)
    >>> made.data.shape, set(made.data[:, :4].sum(axis=1).tolist())
    ((100, 12), {1.0})
    """
    rng = stream(random_state, "sample", 10)
    weights = rng.dirichlet(np.full(n_components, 10.0))
    chances = rng.dirichlet(np.full(n_choices, 1.0), (n_components, n_questions))
    causes: Any = rng.choice(n_components, n_rows, p=weights)
    reached = np.cumsum(chances, axis=2)[causes]
    answers = np.minimum((rng.random((n_rows, n_questions, 1)) >= reached).sum(axis=2), n_choices - 1)
    data = (answers[:, :, None] == np.arange(n_choices)).reshape(n_rows, -1).astype(float)
    _make_blanks(unknown, rng, data)
    return Made(data, causes, weights, chances.reshape(n_components, -1))
