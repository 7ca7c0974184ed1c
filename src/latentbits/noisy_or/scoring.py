"""How probable a row is, beyond the bound: enumeration, inclusion and exclusion, importance sampling, mean field, Gibbs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..data.block import Block, Float, row_hashes
from ..errors import InputError
from .model import NoisyOrModel
from .params import MOST_EXACT, NoisyOrPrecomputed, lists_of

# Quickscore goes through 2^ones subsets; beyond this many ones it is refused.
MOST_ONES = 20
# Relative error from cancellation beyond which Quickscore is refused.
WORST_ERROR = 1e-6


class Estimate(NamedTuple):
    """log P(row) by importance sampling: value, standard error and effective number of draws, each (n,).

    Parameters
    ----------
    value : (n_rows,) array
        Log-likelihoods.
    standard_error : (n_rows,) array
        Of the values.
    effective_draws : (n_rows,) array
        How many independent draws they are worth.

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis, datasets
    >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
    >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
    >>> model.importance_scores(X, random_state=0).value.shape
    (150,)
    """

    value: Float
    standard_error: Float
    effective_draws: Float


class Quickscore(NamedTuple):
    """log P(row) by inclusion and exclusion (n,), relative error from cancellation (n,), posteriors of the sources (n, K).

    Parameters
    ----------
    value : (n_rows,) array
        Log-likelihoods.
    error : (n_rows,) array
        What cancellation may have cost.
    posterior : (n_rows, n_components) array
        P(source is on | row).

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis, datasets
    >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
    >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
    >>> model.quickscore(X).posterior.shape
    (150, 2)
    """

    value: Float
    error: Float
    posterior: Float


class RowScores:
    """A question about every row of a block; made once, asked of all blocks."""

    def __init__(self, model: NoisyOrModel, seed: int = 0, n_draws: int = 200, n_burn: int = 50) -> None:
        self.model, self.seed, self.n_draws, self.n_burn = model.answer_model(), seed, n_draws, n_burn

    def _keys(self, block: Block) -> Any:
        salt = np.random.SeedSequence([self.seed, 4]).generate_state(1, np.uint64)
        return row_hashes(block) ^ salt

    def importance(self, block: Block, precomputed: NoisyOrPrecomputed) -> Estimate:
        """log P(row) from draws of the sources."""
        from .sampling_kernels import importance_rows

        n = block.n_rows
        out = Estimate(np.empty(n), np.empty(n), np.empty(n))
        shares = np.ascontiguousarray(self.model.represent(block, precomputed))
        importance_rows(
            lists_of(block),
            precomputed.tables(),
            precomputed.params.prior,
            shares,
            self._keys(block),
            self.n_draws,
            *out,
        )
        rest = replace(self.model, inference="variational").rest_of_bound(block, precomputed)
        return out._replace(value=self.model.given_seen(block, precomputed.params, out.value + rest))

    def gibbs(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """Posteriors of the sources (n, K) by Gibbs sweeps."""
        from .sampling_kernels import gibbs_rows

        shares = self.model.represent(block, precomputed)
        on, means = (shares > 0.5).astype(np.uint8), np.zeros(shares.shape)
        gibbs_rows(
            lists_of(block),
            precomputed.tables(),
            self._keys(block),
            self.n_draws,
            self.n_burn,
            on,
            means,
        )
        return means

    def mean_field(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """The bound of the best factorised posterior (n,), which is above that of the fit."""
        from .sampling_kernels import mean_field_rows

        shares, values = self.model.represent(block, precomputed).copy(), np.empty(block.n_rows)
        mean_field_rows(lists_of(block), precomputed.tables(), 100, 1e-6, shares, values)
        rest = replace(self.model, inference="variational").rest_of_bound(block, precomputed)
        return self.model.given_seen(block, precomputed.params, values + rest)

    def quickscore(self, block: Block, precomputed: NoisyOrPrecomputed) -> Quickscore:
        """log P(row) and posteriors by inclusion and exclusion; NaN where there are too many ones."""
        from .sampling_kernels import quickscore_rows

        params, n = precomputed.params, block.n_rows
        values, errors = np.empty(n), np.empty(n)
        shares = np.full((n, len(params.prior)), np.nan)
        quickscore_rows(
            lists_of(block),
            precomputed.tables(),
            params.theta.sum(axis=1),
            params.prior,
            MOST_ONES,
            values,
            errors,
            shares,
        )
        zeros = params.theta0.sum() - block.ones.dot(params.theta0[:, None])[:, 0]
        if block.unknown is not None:
            zeros -= block.unknown.dot(params.theta0[:, None])[:, 0]
        return Quickscore(self.model.given_seen(block, precomputed.params, values - zeros), errors, shares)

    def exact(self, block: Block, precomputed: NoisyOrPrecomputed) -> Float:
        """log P(row) (n,): through all states of the sources; if they are too many, by inclusion and exclusion."""
        k = len(precomputed.params.prior)
        if k > MOST_EXACT:
            scored = self.quickscore(block, precomputed)
            bad = np.flatnonzero(~(scored.error <= WORST_ERROR))
            if len(bad):
                raise InputError(refusal(block, bad, scored.error, k))
            return scored.value
        exact = replace(self.model, inference="exact")
        enumerated = exact.log_prob(block, exact.precompute(precomputed.params))
        return enumerated


def refusal(block: Block, bad: Any, errors: Float, n_sources: int) -> str:
    """Why rows have no exact likelihood, and what to do instead."""
    first = int(bad[0])
    count = int(block.ones.row_counts()[first])
    why = (
        f"{count} ones (at most {MOST_ONES})"
        if count > MOST_ONES
        else f"a relative error of {errors[first]:.1g} from cancellation"
    )
    return (
        f"NoisyOrComponentAnalysis: the exact likelihood of {len(bad)} row{'s' * (len(bad) > 1)} is refused with {n_sources} "
        f"sources (first: row {block.start + first}, {why}). Use method='importance'."
    )
