"""Kept draws of a sampler as an ensemble of mixtures.

Given a partition, one more row joins block k with probability w_k ∝ old(N_k) and none of them with w_new ∝ new(K₊); its cells
are ones with the posterior means (β_d + c_kd) / (β_d + γ_d + n_kd), in a new block β_d / (β_d + γ_d).  (Van der
Maaten, section 5, with the weights of eq 26 and 28 corrected: they are *proportional* to p(x_q | k), not divided by it.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Block, Float
from ..maths.members import owners_misfit
from ..maths.profiles import EDGE
from .ensemble import EnsembleModel, Members
from .gibbs import Draw
from .hyper import BlockCounts, counts_misfit
from .model import MixtureParams
from .partition_priors import PartitionPrior

# Eq 27 takes shares of ones as they are; kept this far from 0 and 1, or one zero count rules a block out.
PLUGIN_EDGE = 1e-3
TINY = 1e-300


class PosteriorParams(NamedTuple):
    """The point partition's mixture, and the blocks of all draws one after the other.

    Every draw ends with a block of size 0, "none of them".
    """

    point: MixtureParams
    point_counts: BlockCounts
    point_beta: Annotated[Float, of.positives("1|D")]  # of the draw that the point is
    point_gamma: Annotated[Float, of.positives("1|D")]
    weights: Annotated[Float, of.shares("B")]
    sizes: Annotated[Any, of.counts("B")]
    ones: Annotated[Any, of.counts("B", "D")]
    zeros: Annotated[Any, of.counts("B", "D")]
    owner: Annotated[Any, of.places("B", below="B")]  # which draw
    alpha: Annotated[Float, of.positives("S")]
    beta: Annotated[Float, of.positives("S", "1|D")]
    gamma: Annotated[Float, of.positives("S", "1|D")]

    def contradiction(self) -> str | None:
        """What is wrong with the draws as a whole."""
        wrong = owners_misfit(self.owner) or counts_misfit(self.sizes, self.ones, self.zeros)
        if wrong is None and self.owner[-1] != len(self.alpha) - 1:
            return f"must hold the blocks of {len(self.alpha)} draws; it holds those of {self.owner[-1] + 1}"
        if wrong is None and (np.bincount(self.owner, self.sizes) != self.point_counts.sizes.sum()).any():
            return "must hold equally many rows in every draw"
        return wrong


@dataclass(frozen=True)
class PosteriorModel(EnsembleModel):
    """Answers from draws; ``rule`` is "mean" (posterior means) or "plugin" (shares of ones, eq 27)."""

    rule: str = "mean"
    include_new: bool = True

    params_type = PosteriorParams

    def members(self, params: PosteriorParams) -> Members:
        """All blocks as components."""
        keep = slice(None) if self.include_new else params.sizes > 0
        owner, ones, zeros = params.owner[keep], params.ones[keep], params.zeros[keep]
        weights = np.maximum(params.weights[keep], TINY)  # with all K blocks in use there is no new one
        weights = weights / np.bincount(owner, weights)[owner]
        beta, gamma = params.beta[owner], params.gamma[owner]
        if self.rule == "plugin":
            # Eq 28 weighs blocks by their sizes; "none of them" keeps its share.
            rows = np.bincount(owner, params.sizes[keep])[owner]
            old = np.bincount(owner, np.where(params.sizes[keep] > 0, weights, 0.0))[owner]
            weights = np.where(params.sizes[keep] > 0, old * params.sizes[keep] / rows, weights)
            seen = np.maximum(ones + zeros, 1)
            share = np.where(ones + zeros > 0, ones / seen, beta / (beta + gamma))
            return Members(weights, np.clip(share, PLUGIN_EDGE, 1 - PLUGIN_EDGE), owner)
        probs = (beta + ones) / (beta + gamma + ones + zeros)
        return Members(weights, np.clip(probs, EDGE**2, 1 - EDGE), owner)

    def novelty(self, block: Block, precomputed: Any) -> Float:
        """Probability (n,) that a row belongs to none of the blocks, by the rule of averaging."""
        last = np.append(precomputed.starts[1:], len(precomputed.flat.base)) - 1
        out = np.empty(block.n_rows)
        for rows, log_joint in self._flat(block, precomputed):
            out[rows] = self._shares(log_joint, precomputed)[:, last].sum(axis=1)
        return np.where(out > TINY / 1e-50, out, 0.0)


def posterior_params(
    draws: list[Draw],
    counted: Callable[[Any], BlockCounts],
    prior: PartitionPrior,
    point: tuple[BlockCounts, Float, Float],
) -> PosteriorParams:
    """Blocks of draws; ``counted(labels)`` gives the counts of a partition, ``point`` those of the one that stands
    for all.
    """
    parts: list[Any] = [[] for _ in range(5)]
    sizes, ones, zeros, weights, owner = parts
    for s, draw in enumerate(draws):
        counts = counted(draw.labels)
        old, new = prior.with_alpha(float(draw.alpha)).weights(counts.sizes)
        sizes += [counts.sizes, [0]]
        weights += [old, [new]]
        none = np.zeros((1, counts.ones.shape[1]), np.int32)
        ones += [counts.ones.astype(np.int32), none]
        zeros += [counts.zeros.astype(np.int32), none]
        owner.append(np.full(len(counts.sizes) + 1, s, np.int64))
    counts, beta, gamma = point
    means = (beta + counts.ones) / (beta + gamma + counts.ones + counts.zeros)
    return PosteriorParams(
        MixtureParams(counts.sizes / counts.sizes.sum(), np.clip(means, EDGE, 1 - EDGE)),
        BlockCounts(counts.sizes, counts.ones.astype(np.int32), counts.zeros.astype(np.int32)),
        beta,
        gamma,
        np.concatenate(weights).astype(np.float64),
        np.concatenate(sizes).astype(np.int64),
        np.concatenate(ones),
        np.concatenate(zeros),
        np.concatenate(owner),
        np.array([float(draw.alpha) for draw in draws]),
        np.array([draw.beta for draw in draws]),
        np.array([draw.gamma for draw in draws]),
    )


def drawn_mixture(
    counts: BlockCounts, prior: PartitionPrior, beta: Float, gamma: Float, rng: np.random.Generator
) -> MixtureParams:
    """Weights and probabilities drawn given a partition; those of "none of them", the last, are integrated out.

    For criteria: log p(row | weights, probabilities) sums over the row's own label, as leaving a row out leaves its
    label out.
    """
    probs = rng.beta(beta + counts.ones, gamma + counts.zeros)
    fresh = np.broadcast_to(beta / (beta + gamma), (1, probs.shape[1]))
    gammas = rng.standard_gamma(np.maximum(prior.concentrations(counts.sizes, rng), TINY))
    weights = np.maximum(gammas / gammas.sum(), TINY)
    return MixtureParams(weights, np.clip(np.concatenate((probs, fresh)), EDGE**2, 1 - EDGE))
