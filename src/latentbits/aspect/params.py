"""What an Aspect Bernoulli fit carries: parameters, sums over rows, and answers about cells."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..maths.empirical_bayes import LatentSample
from .series import Moments, RowSums, Split

# Exact zeros never come back from a multiplicative update; starts and jumps stay this far from them.
FLOOR = 1e-10


class Tally(NamedTuple):
    """What the causes of a fit did, summed over all cells: the numbers behind shares and phantoms."""

    on: Annotated[Float, of.amounts("K")]  # expected ones
    off: Annotated[Float, of.amounts("K")]  # expected zeros
    mass: Annotated[Float, of.amounts("K")]  # sum of memberships
    pure: Annotated[Float, of.amounts("K")]  # the part of it from rows that belong to the cause by more than 0.9
    log_likelihood: float  # of the columns that vary, at the fitted memberships; 0 after a stream, which has none


class AspectParams(NamedTuple):
    """P(cell = 1 | cause); after a fit also its tally and the remembered memberships."""

    probs: Annotated[Float, of.shares("K", "D")]
    tally: Tally | None = None
    latent: LatentSample | None = None


class AspectStats(NamedTuple):
    """Sums over rows.  From blocks: sums of s/p at ones and s/(1-p) at zeros; gathered: expected counts."""

    on: Annotated[Float, of.amounts("D", "K")]
    off: Annotated[Float, of.amounts("D", "K")]
    log_likelihood: float
    log_prior: float  # of the memberships
    weight: of.Amount
    rows: RowSums


class AspectPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    probs: Float  # (K, D)
    split: Split
    moments: Moments
    hot: Float  # (K, H) probabilities of the hot columns
    padded: Float  # (D * W,) probabilities of all columns, W causes a column
    coefficients: Float  # (D * 8,) polynomials, see kernels.cold_marks
    params: AspectParams


class LossChances(NamedTuple):
    """For zero cells: explained by a phantom (u), on if nothing were lost (c), a one that was lost (u c)."""

    phantom: Float
    content: Float
    lost: Float


def floored(shares: Float) -> Float:
    """Memberships at least ``FLOOR``, each row scaled to sum one."""
    out: Float = np.maximum(shares, FLOOR)
    out /= out.sum(axis=1, keepdims=True)
    return out
