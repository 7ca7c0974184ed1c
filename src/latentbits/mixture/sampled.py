"""What the estimators that sample partitions share: options, chains, and what is kept of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..base import ChainsMixin, LatentBitsEstimator, MembershipsMixin, records
from ..base.chains import kept_draws, spaced
from ..base.options import (
    BitOptions,
    ChainOptions,
    Check,
    Flag,
    GammaPair,
    OneOf,
    Positive,
    Whole,
    WordOr,
    option_fields,
)
from ..data.summary import Totals
from ..engine.chains import Chain
from ..errors import BlocksWarning, InputError, UnmixedChainsWarning
from ..maths.mcmc_diagnostics import diagnose
from .draw_answers import DrawAnswers, short
from .gibbs import TRACE, CollapsedGibbs, row_lists
from .gibbs_starts import KINDS
from .hyper import BlockCounts, Learning, PriorNumbers
from .model import MixtureParams
from .partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior
from .partitions import PointPartition, disagreement, point_partition
from .posterior import PosteriorModel, PosteriorParams, posterior_params

# Blocks × features that all answering draws together may have.
MOST_CELLS = 2e7
# Rows whose co-clustering is compared between chains.
COMPARED = 300


class Draws(NamedTuple):
    """Kept draws: C chains × T draws.

    Parameters
    ----------
    labels : (n_chains, n_draws, n_rows) array
        The block of every row in every draw.
    log_joint, n_blocks, largest, entropy : (n_chains, n_draws) array
        Numbers of every draw that do not depend on how blocks are called.
    alpha : (n_chains, n_draws) array
        The weight concentration.
    beta, gamma : (n_chains, n_draws, 1 or n_features) array
        The prior of the cells.

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
    >>> model.draws_.n_blocks.shape
    (2, 20)
    """

    labels: Annotated[Any, of.places("C", "T", "N", below="N", dtype="i u")]  # block of every row
    log_joint: Annotated[Any, of.reals("C", "T")]
    n_blocks: Annotated[Any, of.positives("C", "T")]
    largest: Annotated[Any, of.positives("C", "T")]  # rows of the largest block
    entropy: Annotated[Any, of.amounts("C", "T")]  # of the block sizes, nats
    alpha: Annotated[Any, of.positives("C", "T")]
    beta: Annotated[Any, of.positives("C", "T", "1|D")]
    gamma: Annotated[Any, of.positives("C", "T", "1|D")]


@option_fields
class SampledMixture(DrawAnswers, MembershipsMixin, ChainsMixin, ChainOptions, BitOptions, LatentBitsEstimator):  # type: ignore[misc]
    """What the two estimators share.

    Parameters
    ----------
    beta, gamma : float or (n_features,) array
        Prior of a cell: Beta(beta, gamma); beta weighs ones, gamma zeros.
    learn_weight_concentration : bool
        Draw ``weight_concentration`` too, from a Gamma prior.
    weight_concentration_prior : (shape, rate)
        That prior.
    learn_cells : {None, "shared", "feature"}
        Draw ``beta`` and ``gamma`` too: one pair, or a mean per column and one strength beta + gamma ("feature", for tables
        whose columns have very different shares of ones, such as words).
    cell_prior : (shape, rate)
        Gamma prior of beta and of gamma, or of the strength.
    hyper_every : int
        Sweeps between two draws of these numbers.
    solver : {"collapsed", "blocked"}
        Row by row with everything integrated out; or all rows at a time given drawn probabilities, exact too, slower to
        mix, for tables larger than memory and Dask.
    split_merge : int
        Proposals to split or merge whole blocks after every sweep ("collapsed").
    init : {"random", "kmeans", "sequential", "one", "singletons", "annealed", "mixed"} or (n_rows,) array of int
        First partition: random blocks, k-modes, every row drawn given the ones before it, one block, a block per row, random
        and slowly cooled, or another kind for every chain in turn ("mixed", to check whether chains agree).
    start_blocks : int or None
        Blocks of the "random", "kmeans" and "annealed" starts; None is a twentieth of the rows, 2 to 50.
    point : {"binder", "vi", "best"}
        Which draw stands for all in ``predict``, ``components_`` and ``explain``: nearest to the others by Binder's loss or
        the variation of information, or of highest log joint.
    average : {"mean", "joint"}
        How draws are averaged when cells are filled: every draw with the same say, or weighted by how well it explains the
        row (the exact posterior rule, if the chains have mixed).
    rule : {"mean", "plugin"}
        Probabilities of a block: posterior means, or shares of ones clipped at 0.001.
    include_new : bool
        Let rows belong to none of the blocks (the unrepresented class) in predictions.
    answer_draws : int
        Draws, evenly spaced over all chains, that answer; each costs its blocks × features in memory.
    """

    record_types: ClassVar[dict[str, Any]] = records(
        *(PosteriorParams, MixtureParams, BlockCounts, Draws, PointPartition, Totals),
        *(PartitionPrior, FinitePrior, PitmanYorPrior, FiniteMixturesPrior),
    )
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": PosteriorParams,
        "weights_": Annotated[Any, of.weights("K")],
        "draws_": Draws,
        "trace_": Annotated[Any, of.reals("*", "*", str(len(TRACE)), nan=True)],
        "point_partition_": PointPartition,
        "labels_": Annotated[Any, of.places("N", below="K")],
        "partition_prior_": PartitionPrior,
        "split_merge_counts_": list[list[of.Count]],
        "diagnostics_": list[dict[str, of.Plain]],
        "disagreement_": of.AnyNumber,
    }
    criterion = "cells"
    score_kind = "estimate"  # the mean over draws
    option_checks: ClassVar[Mapping[str, Check]] = {
        "weight_concentration": Positive(),
        "learn_weight_concentration": Flag(),
        "include_new": Flag(),
        "weight_concentration_prior": GammaPair(),
        "cell_prior": GammaPair(),
        "split_merge": Whole(0),
        "hyper_every": Whole(1),
        "answer_draws": Whole(1),
        "start_blocks": Whole(1, others=(None,)),
        "solver": OneOf(("collapsed", "blocked")),
        "learn_cells": OneOf((None, "shared", "feature")),
        "point": OneOf(("binder", "vi", "best")),
        "average": OneOf(("mean", "joint")),
        "rule": OneOf(("mean", "plugin")),
        "init": WordOr(KINDS, "the block number of every row"),
    }

    beta: Any = 0.5
    gamma: Any = 0.5
    learn_weight_concentration: bool = False
    weight_concentration_prior: Any = (1.0, 1.0)
    learn_cells: str | None = None
    cell_prior: Any = (1.0, 1.0)
    hyper_every: int = 1
    solver: str = "collapsed"
    split_merge: int = 5
    init: Any = "random"
    start_blocks: int | None = None
    point: str = "binder"
    average: str = "mean"
    rule: str = "mean"
    include_new: bool = True
    answer_draws: int = 40

    def fit_predict(self, X: Any, y: Any = None, **fit_options: Any) -> Any:
        """Fit, then ``labels_``: the block of every row in the point partition.

        ``predict`` says where the rows would go if they came anew, which may differ for a few.

        Parameters
        ----------
        X : table
        y : ignored
        **fit_options
            Passed to ``fit``.

        Returns
        -------
        (n_rows,) array of the blocks of the point partition

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> DPBernoulliMixture(n_chains=1, n_warmup=10, n_draws=10, random_state=0).fit_predict(X).shape
        (101,)
        """
        return self.fit(X, y, **fit_options).labels_

    def _prior(self) -> PartitionPrior:
        """The prior over partitions."""
        raise NotImplementedError

    def _cell_numbers(self, name: str, n_columns: int) -> Any:
        """β or γ as an array (1,) or (D,)."""
        try:
            values = np.atleast_1d(np.asarray(getattr(self, name), np.float64))
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if values.shape not in ((1,), (n_columns,)) or not (np.isfinite(values) & (values > 0)).all():
            raise InputError(
                f"{self._name}: {name} must be a number above 0, or one per column ({n_columns}); got "
                f"{getattr(self, name)!r:.60}."
            )
        return values

    def _numbers(self, n_columns: int) -> PriorNumbers:
        """α, β and γ to begin with."""
        beta, gamma = self._cell_numbers("beta", n_columns), self._cell_numbers("gamma", n_columns)
        if self.learn_cells == "shared" and max(len(beta), len(gamma)) > 1:
            raise InputError(
                f"{self._name}: learn_cells='shared' draws one pair beta, gamma for all columns, but they were given per "
                "column. Give numbers, or use learn_cells='feature'."
            )
        if self.learn_cells == "feature":
            strength = float(np.mean(beta) + np.mean(gamma))
            means = np.broadcast_to(beta / (beta + gamma), (n_columns,))
            return PriorNumbers(float(self.weight_concentration), means * strength, (1 - means) * strength)
        width = max(len(beta), len(gamma))
        return PriorNumbers(
            float(self.weight_concentration),
            np.broadcast_to(beta, (width,)).copy(),
            np.broadcast_to(gamma, (width,)).copy(),
        )

    def _learning(self) -> Learning:
        """What is drawn along with the partition."""
        alpha = (
            (float(self.weight_concentration_prior[0]), float(self.weight_concentration_prior[1]))
            if self.learn_weight_concentration
            else None
        )
        cells = (float(self.cell_prior[0]), float(self.cell_prior[1]))
        return Learning(alpha, self.learn_cells, cells, int(self.hyper_every))

    def _start_of(self, n_rows: int, prior: PartitionPrior) -> Any:
        """The kind of start, or labels given by the user, checked."""
        if isinstance(self.init, str):
            return self.init
        try:
            labels = np.asarray(self.init)
            good = labels.shape == (n_rows,) and labels.dtype.kind in "iu" and (labels >= 0).all()
        except (TypeError, ValueError):
            good = False
        if not good:
            raise InputError(
                f"{self._name}: init must be a kind of start or one block number (0, 1, ...) per row ({n_rows} rows); got "
                f"{self.init!r:.60}."
            )
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
        if labels.max() + 1 > prior.most_blocks(n_rows):
            raise InputError(
                f"{self._name}: init has {labels.max() + 1} blocks, but there can be {prior.most_blocks(n_rows)}."
            )
        return labels

    def _process(self, sweep: Any, sums: Totals, seed: int) -> Any:
        prior, n_rows = self._prior(), sums.n_rows
        blocks = min(50, max(2, n_rows // 20)) if self.start_blocks is None else min(int(self.start_blocks), n_rows)
        common = dict(
            prior=prior,
            numbers=self._numbers(len(sums.ones)),
            learning=self._learning(),
            init=self._start_of(n_rows, prior),
            start_blocks=blocks,
            seed=seed,
        )
        if self.solver == "blocked":
            from .blocked import blocked_gibbs

            return blocked_gibbs(sweep, len(sums.ones), self._name, **common)
        return CollapsedGibbs(table=row_lists(sweep, sums), split_merge=int(self.split_merge), **common)

    def _store_chains(self, process: Any, chains: list[Chain], sums: Totals, sweep: Any) -> None:
        chains, draws = kept_draws(chains, process)
        traces = self._traces(chains, draws)
        self.trace_ = _stacked_traces(chains)
        self.draws_ = Draws(  # type: ignore[call-arg]
            np.array([[draw.labels for draw in chain] for chain in draws]),
            *np.moveaxis(traces, 2, 0)[:5],
            np.array([[draw.beta for draw in chain] for chain in draws]),
            np.array([[draw.gamma for draw in chain] for chain in draws]),
        )
        flat = [draw for chain in draws for draw in chain]
        self.point_partition_ = point_partition(
            np.array([draw.labels for draw in flat]), self.draws_.log_joint.ravel(), self.point
        )
        standing = flat[self.point_partition_.draw]
        self.partition_prior_ = process.prior
        # Each answering draw costs its blocks × features in memory.
        cells = max(1.0, float(self.draws_.n_blocks.mean()) + 1) * self.n_features_in_
        per_chain = max(1, -(-min(int(self.answer_draws), int(MOST_CELLS / cells)) // len(draws)))
        answering = [chain[s] for chain in draws for s in spaced(len(chain), per_chain)]
        counts = process.counts(self.point_partition_.labels)
        self._params = posterior_params(
            answering, process.counts, process.prior, (counts, standing.beta, standing.gamma)
        )
        self.labels_ = self.point_partition_.labels
        self.weights_, self.components_ = self._params.point.weights, self._params.point.probs
        self.split_merge_counts_ = [[int(n) for n in chain.state.tally] for chain in chains]
        self._diagnose_chains()

    def _traces(self, chains: list[Chain], draws: list[list[Any]]) -> Any:
        """Traces (C, S, Q) at the kept draws."""
        plan, n = self._plan(), len(draws[0])
        places = plan.n_warmup - 1 + plan.thin * np.arange(1, n + 1)
        return np.array([chain.trace[places] if chain.draws else chain.trace[[-1]] for chain in chains])

    def _diagnose_chains(self) -> None:
        """Diagnostics, and warnings about what to doubt."""
        draws = self.draws_
        names = ["log_joint", "n_blocks", "largest", "entropy"] + (["alpha"] if self.learn_weight_concentration else [])
        self.diagnostics_ = [diagnose(name, getattr(draws, name)) for name in names]
        if self.learn_cells is not None:
            self.diagnostics_ += [diagnose(name, getattr(draws, name).mean(axis=2)) for name in ("beta", "gamma")]
        some = np.unique(np.linspace(0, draws.labels.shape[2] - 1, COMPARED).round().astype(np.int64))
        self.disagreement_ = disagreement(draws.labels[:, :, some])
        states = {row["state"] for row in self.diagnostics_}
        self.converged_ = states <= {"mixed", "constant"}
        if "unmixed" in states:
            worst = max(self.diagnostics_, key=lambda row: np.nan_to_num(row["rhat"], nan=0.0, posinf=np.inf))
            warnings.warn(
                f"{self._name}: the chains have not found the same thing (R-hat of {worst['quantity']} is "
                f"{short(worst['rhat'])}; 1.05 or less is wanted). Take the draws as an ensemble of good solutions, not as "
                f"draws from the posterior. To mix better: {self._advice()}; predictions gain from more n_chains.",
                UnmixedChainsWarning,
                stacklevel=6,
            )
        self._warn_of_blocks()

    def _warn_of_blocks(self) -> None:
        """Say so if the number of blocks is at its limit, or one throughout."""
        n_blocks, n_rows = self.draws_.n_blocks, self.draws_.labels.shape[2]
        most = self.partition_prior_.most_blocks(n_rows)
        if most < n_rows and np.mean(n_blocks == most) > 0.5 and most > 1:
            warnings.warn(
                f"{self._name}: all {most} components are in use in most draws. Raise n_components, or use "
                "DPBernoulliMixture, which has no limit.",
                BlocksWarning,
                stacklevel=7,
            )
        if most > 1 and n_rows > 1 and (n_blocks == 1).all():
            warnings.warn(
                f"{self._name}: all rows are in one block in every draw: by this prior the table has no classes. In sparse "
                "tables beta = gamma = 0.5 expects every second cell to be 1; try learn_cells='feature'.",
                BlocksWarning,
                stacklevel=7,
            )

    @property
    def _model(self) -> PosteriorModel:
        """The answers, by the present options."""
        self._check_some("average", "rule")
        return PosteriorModel(len(self._params.point.weights), self.average, self.rule, bool(self.include_new))


def _stacked_traces(chains: list[Chain]) -> Any:
    """Traces (C, steps, Q), NaN where a chain was cut short."""
    longest = max(chain.done for chain in chains)
    out = np.full((len(chains), longest, len(TRACE)), np.nan)
    for c, chain in enumerate(chains):
        out[c, : chain.done] = chain.trace
    return out
