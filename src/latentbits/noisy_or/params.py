"""Parameters of the noisy-or model, what is summed and made ready of them, and the functions that all its rooms need.

Symbols are those of the module text of :mod:`.model`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block, Float

# Strengths stay below this: p = 1 - 9e-14.
CAP = 30.0
# The leak stays above this.
LEAST_LEAK = 1e-12
# The least strength of a link that is not zero.
LEAST_LINK = 1e-12
# Links that grow weaker are zero below this strength.
FADING = 1e-6
# Faded links have this part of the share of ones of their column, at most the second, when a stage begins.
FRESH = 0.05, 0.01
# Probabilities of sources stay this far from 0 and 1.
EDGE = 1e-9
# Gap to the best weights of a one, in nats; in the passes of a fit so much for every cell of the table.
CELL_TOL = 1e-9
# The same for posteriors that are tried beside those at hand: better ones have further passes to settle.
TRIAL_TOL = 1e-3
# The same before the last stage, where nothing has settled yet.
HASTY = 1e-2
# Rows on which the loss of a source is measured: on the way, and at the end.
ROWS_ON_THE_WAY, ROWS_AT_THE_END = 1000, 2000
# Deletion of one source changes rows in which its posterior is above this.
TOUCHED = 1e-3
# Enumeration of 2^K states stops at this many sources.
MOST_EXACT = 12
# Log odds of sources that only pad.
NEVER = -1e30
# Probabilities never leave this range in answers.
ANSWER_EDGE = 1e-9


class NoisyOrParams(NamedTuple):
    """Strengths of links and leak, priors of the sources; after a fit also the loss of each by deletion and
    the weight of the rows with a known cell.
    """

    theta: Annotated[Float, of.amounts("K", "D")]
    theta0: Annotated[Float, of.positives("D")]
    prior: Annotated[Float, of.chances("K")]
    loss: Annotated[Float, of.reals("K")] | None = None
    weight: of.Amount | None = None


class NoisyOrStats(NamedTuple):
    """Sums over rows."""

    on: Annotated[Float, of.reals("D", "K")]  # Σ m / (1 - exp(-θ0 - θ/q)) over ones
    leak: Annotated[Float, of.reals("D")]  # Σ q m (1 / (1 - exp(-θ0 - θ/q)) - 1 / (1 - exp(-θ0))) over ones
    ones: Annotated[Float, of.amounts("D")]  # weight of ones
    known: Annotated[Float, of.amounts("D")]  # weight of known cells
    mass: Annotated[Float, of.amounts("K")]  # Σ m
    unseen: Annotated[Float, of.amounts("D", "K")] | None  # Σ m over unknown cells
    value: float  # bound
    weight: of.Amount  # of rows with a known cell


class NoisyOrPrecomputed(NamedTuple):
    """Parameters in the form that blocks need; tables are (D * W,), W the padded number of sources."""

    params: NoisyOrParams
    bias: Float  # (W,) log odds of the sources in an empty row
    theta: Float
    prob: Float
    lift: Float  # d at q = 1
    slope: Float  # φ at q = 1
    theta0: Float  # (D,)
    e0: Float  # (D,) expm1(θ0)
    top: Float  # (D,) -f(θ0)
    rest: Float  # 1 / expm1(θ0 + θ)
    even: Float | None  # (D, K) d / K at q = 1 / K
    constant: float  # bound of an empty row without its sources
    chunk: int  # ones whose factors can be multiplied without overflow
    states: Float | None  # (2^K, K) all states of the sources, for exact inference
    sums: Float | None  # (2^K, D) u of every state

    def switched_off(self, source: int) -> NoisyOrPrecomputed:
        """The same with a source that nothing can switch on, as if it were not there."""
        bias = self.bias.copy()
        bias[source] = NEVER
        return self._replace(bias=bias)

    def tables(self) -> Any:
        """Links and leaks as kernels take them."""
        from .weight_kernels import Tables

        return Tables(
            self.bias, self.theta, self.prob, self.lift, self.slope, self.theta0, self.e0, self.top, self.rest
        )


def lists_of(block: Block) -> Any:
    """Ones and unknown cells of a block as kernels take them."""
    from .kernels import Lists

    return Lists(*block.ones.lists(), *block.unknown_lists())


def without(params: NoisyOrParams, keep: Any) -> NoisyOrParams:
    """Some of the sources, in the given order."""
    loss = None if params.loss is None else params.loss[keep]
    return NoisyOrParams(
        np.ascontiguousarray(params.theta[keep]), params.theta0, params.prior[keep], loss, params.weight
    )


def logit(p: Float) -> Float:
    """Log odds."""
    return np.log(p) - np.log1p(-p)


def angle_of(p: Float) -> Float:
    """arcsin √p: where the path of EM is smooth up to probabilities of 0 and 1."""
    return np.arcsin(np.sqrt(p))


def chance_of(angle: Float) -> Float:
    """The probability of an angle; angles beyond the quarter circle stand for 0 and 1."""
    return np.sin(np.clip(angle, 0.0, 0.5 * np.pi)) ** 2


def log_on(u: Float) -> Float:
    """log(1 - exp(-u))."""
    with np.errstate(divide="ignore"):
        return np.where(u < 0.69, np.log(-np.expm1(-np.minimum(u, 1.0))), np.log1p(-np.exp(-np.maximum(u, 0.5))))


def slope_of(t: Float, lift: Float, rest: Float, theta0: Float) -> Float:
    """φ(t): zero at 0, growing to -f(θ0); ``lift`` is d(t), ``rest`` 1 / expm1(θ0 + t)."""
    far = t * rest
    near = t * t * (0.5 - t / (3.0 * np.tanh(0.5 * theta0))) / (4.0 * np.sinh(0.5 * theta0) ** 2)
    return np.maximum(np.where(t < 1e-5 * np.minimum(theta0, 1.0), near, lift - far), 0.0)


def states_of(n_sources: int) -> Float:
    """All states of the sources (2^K, K)."""
    return ((np.arange(2**n_sources)[:, None] >> np.arange(n_sources)) & 1).astype(np.float64)


def expected_cells(shares: Float, params: NoisyOrParams) -> Float:
    """P(cell = 1) (n, D) if source k of row n is on with probability ``shares[n, k]``, whatever the others do."""
    kept = np.repeat(np.exp(-params.theta0)[None], len(shares), axis=0)
    for k, theta in enumerate(params.theta):
        linked, rows = np.flatnonzero(theta), np.flatnonzero(shares[:, k] > 1e-12)
        kept[np.ix_(rows, linked)] *= 1.0 + shares[rows, k][:, None] * np.expm1(-theta[linked])
    return np.clip(1.0 - kept, ANSWER_EDGE, 1 - ANSWER_EDGE)
