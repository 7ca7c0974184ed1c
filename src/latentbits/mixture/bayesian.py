"""``BayesianBernoulliMixture`` and ``DPBernoulliMixture``: latent classes with all uncertainty, by sampling."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import LatentBitsEstimator, Sampling, frame_of
from ..base.sampling import kept_draws, spaced
from ..data.rng import stream
from ..data.summary import Totals
from ..engine.chains import Chain
from ..engine.draws import PredictiveFit, diagnose, loo, waic
from ..errors import BlocksWarning, InputError, UnmixedChainsWarning, need
from .gibbs import TRACE, CollapsedGibbs, row_lists
from .gibbs_starts import KINDS
from .hyper import BlockCounts, Learning, PriorNumbers
from .memberships import Memberships
from .model import MixtureParams
from .partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior
from .partitions import MOST_ROWS, PointPartition, disagreement, point_partition, together
from .posterior import PosteriorModel, PosteriorParams, log_likelihood_draws, posterior_params

# Rows whose co-clustering is compared between chains.
COMPARED = 300
# Chains that differ by more than this will hardly mix by running longer.
STUCK_ABOVE = 1.5
WORDS = {"largest": "largest block", "entropy": "entropy of the block sizes"}


class Draws(NamedTuple):
    """Kept draws: C chains × S draws."""

    labels: Any  # (C, S, N) block of every row
    log_joint: Any  # (C, S)
    n_blocks: Any
    largest: Any  # rows of the largest block
    entropy: Any  # of the block sizes, nats
    alpha: Any
    beta: Any  # (C, S, 1 or D)
    gamma: Any


class SampledMixture(Memberships, Sampling, LatentBitsEstimator):  # type: ignore[misc]
    """What the two estimators share."""

    record_types: ClassVar = {
        kind.__name__: kind for kind in (PosteriorParams, MixtureParams, BlockCounts, Draws, PointPartition, Totals)
    }
    criterion = "cells"
    draws_: Draws

    def _prior(self) -> PartitionPrior:
        """The prior over partitions."""
        raise NotImplementedError

    def _check_options(self) -> None:
        super()._check_options()
        self._positive("alpha")
        for name in ("alpha_prior", "cell_prior"):
            self._pair(name)
        self._whole("split_merge", 0)
        self._whole("hyper_every", 1)
        self._whole("answer_draws", 1)
        for name, allowed in (
            ("sampler", ("collapsed", "blocked")),
            ("learn_cells", (None, "shared", "feature")),
            ("point", ("binder", "vi", "best")),
            ("average", ("mean", "joint")),
            ("rule", ("mean", "plugin")),
        ):
            self._one_of(name, allowed)
        if isinstance(self.init, str) and self.init not in KINDS:
            raise InputError(
                f"{self._name}: init must be one of {', '.join(map(repr, KINDS))}, or the block number of every row; got "
                f"{self.init!r}."
            )

    def _pair(self, name: str) -> None:
        """Refuse an option that is not a pair of positive numbers."""
        try:
            shape, rate = (float(value) for value in getattr(self, name))
        except (TypeError, ValueError):
            shape = rate = np.nan
        if not (0 < shape < np.inf and 0 < rate < np.inf):
            raise InputError(
                f"{self._name}: {name} must be a pair (shape, rate) of positive numbers, of a Gamma prior; got "
                f"{getattr(self, name)!r:.60}."
            )

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
            return PriorNumbers(float(self.alpha), means * strength, (1 - means) * strength)
        width = max(len(beta), len(gamma))
        return PriorNumbers(
            float(self.alpha), np.broadcast_to(beta, (width,)).copy(), np.broadcast_to(gamma, (width,)).copy()
        )

    def _learning(self) -> Learning:
        """What is drawn along with the partition."""
        alpha = (float(self.alpha_prior[0]), float(self.alpha_prior[1])) if self.learn_alpha else None
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
        blocks = min(50, max(2, n_rows // 20)) if self.start_blocks is None else int(self.start_blocks)
        common = dict(
            prior=prior,
            numbers=self._numbers(len(sums.ones)),
            learning=self._learning(),
            init=self._start_of(n_rows, prior),
            start_blocks=blocks,
            seed=seed,
        )
        if self.sampler == "blocked":
            from .blocked import blocked_gibbs

            return blocked_gibbs(sweep, len(sums.ones), self._name, **common)
        return CollapsedGibbs(table=row_lists(sweep, sums), split_merge=int(self.split_merge), **common)

    def _take_chains(self, process: Any, chains: list[Chain], sums: Totals, sweep: Any) -> None:
        draws = kept_draws(chains, process)
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
        per_chain = -(-int(self.answer_draws) // len(draws))
        answering = [chain[s] for chain in draws for s in spaced(len(chain), per_chain)]
        counts = process.counts(self.point_partition_.labels)
        self._params = posterior_params(
            answering, process.counts, process.prior, (counts, standing.beta, standing.gamma)
        )
        self.labels_ = self.point_partition_.labels
        self.weights_, self.components_ = self._params.point.weights, self._params.point.probs
        self.split_merge_counts_ = [[int(n) for n in chain.state.tally] for chain in chains]
        self._judge()

    def _traces(self, chains: list[Chain], draws: list[list[Any]]) -> Any:
        """Traces (C, S, Q) at the kept draws."""
        plan, n = self._plan(), len(draws[0])
        places = plan.n_warmup - 1 + plan.thin * np.arange(1, n + 1)
        return np.array([chain.trace[np.minimum(places, chain.done - 1)] for chain in chains])

    def _judge(self) -> None:
        """Diagnostics, and warnings about what to doubt."""
        draws = self.draws_
        names = ["log_joint", "n_blocks", "largest", "entropy"] + (["alpha"] if self.learn_alpha else [])
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
                f"{_short(worst['rhat'])}; 1.05 or less is wanted). Take the draws as an ensemble of good solutions, not as "
                "draws from the posterior. More n_warmup, split_merge=20 or init='mixed' may help; predictions gain from "
                "more n_chains.",
                UnmixedChainsWarning,
                stacklevel=6,
            )
        self._warn_of_blocks()

    def _warn_of_blocks(self) -> None:
        """Say so if the number of blocks is at its limit, or one throughout."""
        n_blocks, n_rows = self.draws_.n_blocks, self.draws_.labels.shape[2]
        most = self._prior().most_blocks(n_rows)
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
        return PosteriorModel(len(self._params.point.weights), self.average, self.rule, bool(self.include_new))

    def summary(self) -> str:
        """A few lines on the draws: blocks, chains, and whether to trust them.

        Returns
        -------
        str
        """
        check_is_fitted(self, "_params")
        draws, (n_chains, n_draws, n_rows) = self.draws_, self.draws_.labels.shape
        low, middle, high = np.quantile(draws.n_blocks, (0.05, 0.5, 0.95), method="nearest")
        lines = [
            f"{self._name} on {n_rows} rows and {self.n_features_in_} features: {n_chains} chain{'s' * (n_chains > 1)}, "
            f"{n_draws} draw{'s' * (n_draws > 1)} kept of each after {self.n_warmup} sweeps of warm-up",
            f"blocks: {middle:g} (90 % of the draws: {low:g} to {high:g}); point partition ({self.point}): "
            f"{len(self.weights_)} blocks, the largest with {self.weights_[0]:.0%} of the rows",
        ]
        lines += self._told_of_chains()
        if n_chains > 1:
            lines.append(
                f"two chains differ by {self.disagreement_:.3f} on whether two rows belong together, on average over pairs"
            )
        return "\n".join(lines)

    def _told_of_chains(self) -> list[str]:
        """Whether the chains agree, in words."""
        by_name = {row["quantity"]: row for row in self.diagnostics_}
        told, blocks = by_name["log_joint"], by_name["n_blocks"]
        if told["state"] == "too few draws":
            return ["chains: too few draws of each to tell whether they agree"]
        if self.converged_:
            if told["state"] == "constant":
                return ["chains: they agree (and do not move: one partition has all the probability)"]
            found = f"R-hat of the log joint {told['rhat']:.3f}, effective draws {told['ess_bulk']:.0f}"
            return [f"chains: they agree ({found})"]
        worst = max((row for row in self.diagnostics_ if not np.isnan(row["rhat"])), key=lambda row: row["rhat"])
        values = f"R-hat of the log joint {_short(told['rhat'])}, of the number of blocks {_short(blocks['rhat'])}"
        if worst["quantity"] not in ("log_joint", "n_blocks"):
            values += f", of the {WORDS.get(worst['quantity'], worst['quantity'])} {_short(worst['rhat'])}"
        values += "; wanted: 1.05 or less"
        if worst["rhat"] <= STUCK_ABOVE:
            return [f"chains: not mixed yet ({values}). Raise n_warmup and n_draws, or split_merge."]
        ends = np.unique(self.draws_.n_blocks[:, -1])
        found = f"{ends[0]:g}" if len(ends) == 1 else f"{ends[0]:g} to {ends[-1]:g}"
        return [
            f"chains: THEY HAVE NOT MIXED ({values}).",
            f"  Each chain sits in a solution of its own (they end with {found} blocks). Read the draws as an ensemble of",
            "  good solutions: averaged predictions are fine, but shares of draws are not posterior probabilities.",
            "  What to do: for predictions more n_chains; to mix better split_merge=20, more n_warmup, init='mixed'.",
        ]

    def novelty(self, X: Any) -> Any:
        """Probability that a row belongs to none of the blocks found (the unrepresented class).

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array
        """
        check_is_fitted(self, "_params")
        if not self.include_new:
            raise InputError(f"{self._name}: novelty needs include_new=True.")
        return self._per_row(X, self._model.novelty)

    def coclustering(self, rows: Any = None, chain: int | None = None) -> Any:
        """How often two rows of the fitted table are in one block, over the kept draws.

        Parameters
        ----------
        rows : (m,) int, optional
            Rows to compare; without it all (of tables up to 5,000 rows).
        chain : int, optional
            Of one chain only; compare chains to see whether they agree.

        Returns
        -------
        (m, m) array
        """
        check_is_fitted(self, "_params")
        labels = self.draws_.labels if chain is None else self.draws_.labels[[chain]]
        if rows is None:
            if labels.shape[2] > MOST_ROWS:
                raise InputError(
                    f"{self._name}: the matrix of {labels.shape[2]} rows is too large; name at most {MOST_ROWS} rows."
                )
            rows = np.arange(labels.shape[2])
        return together(labels.reshape(-1, labels.shape[2])[:, np.asarray(rows)])

    def credible_intervals(self, level: float = 0.9) -> Any:
        """Intervals of the components' probabilities, given the point partition.

        Parameters
        ----------
        level : float
            Posterior probability inside.

        Returns
        -------
        (2, n_components, n_features) array
            Lower and upper ends.
        """
        from scipy.stats import beta as beta_law

        check_is_fitted(self, "_params")
        counts, beta, gamma = self._params.point_counts, self._params.point_beta, self._params.point_gamma
        tail = (1 - level) / 2
        return np.array([beta_law.ppf(q, beta + counts.ones, gamma + counts.zeros) for q in (tail, 1 - tail)])

    def log_likelihood_draws(self, X: Any, random_state: Any = None) -> Any:
        """log p(row | draw) (n_draws, n_rows), the labels of rows summed over, for the draws that answer.

        Class weights and probabilities are drawn given each kept partition.

        Parameters
        ----------
        X : table
        random_state : int, RandomState or None
            By default the estimator's own.
        """
        from ..base.common import seed_of

        sweep, _ = self._asked(X)
        seed = seed_of(self.random_state if random_state is None else random_state)
        concentrations = self._concentrations()
        parts = sweep.collect(_RowLikelihoods(self._params, concentrations, seed))
        return np.concatenate(parts, axis=1)

    def _concentrations(self) -> list[Any]:
        """Dirichlet parameters of the weights of every answering draw."""
        out = []
        for s, alpha in enumerate(self._params.alpha):
            prior, sizes = self._prior().with_alpha(float(alpha)), self._params.sizes[self._params.owner == s]
            n, t = int(sizes.sum()), len(sizes) - 1
            old, new = np.exp(prior.log_old(n)[sizes[:-1]]), float(np.exp(prior.log_new(t + 1, n + 1)[t]))
            out.append(np.append(old, new))
        return out

    def loo(self, X: Any) -> PredictiveFit:
        """Expected log density of new rows by leave-one-out (Pareto-smoothed importance sampling) over the fitted table.

        Parameters
        ----------
        X : table
            The table that was fitted.

        Returns
        -------
        PredictiveFit
            ``elpd`` and its standard error; ``pareto_k`` above 0.7 marks rows for which it cannot be trusted.
        """
        return loo(self.log_likelihood_draws(X))

    def waic(self, X: Any) -> PredictiveFit:
        """The widely applicable information criterion as expected log density; see :meth:`loo`."""
        return waic(self.log_likelihood_draws(X))

    def log_evidence(
        self, X: Any, method: str = "annealed", n_runs: int = 10, n_steps: int = 1000, random_state: Any = 0
    ) -> Any:
        """log p(table) under the prior, all partitions summed over, at the fixed ``alpha``, ``beta`` and ``gamma``.

        Parameters
        ----------
        X : table
        method : {"annealed", "sequential", "exact"}
            Annealed importance sampling; sequential importance sampling, for tens of rows; or the sum over all partitions,
            for up to nine rows.
        n_runs : int
            Independent runs.
        n_steps : int
            Temperatures of a run ("annealed").
        random_state : int, RandomState or None

        Returns
        -------
        Evidence
            ``value`` and ``standard_error`` in nats.
        """
        from ..base.common import seed_of
        from ..base.passes import TableSums
        from ..engine.sweep import sweep_of
        from .evidence import log_evidence

        self._check_options()
        fresh = type(self)(**self.get_params(deep=False))
        sweep = sweep_of(fresh._open(X, reset=True), 1)
        (sums, _), _ = sweep.map(TableSums(), [None] * sweep.n_blocks, keep_rows=False)
        process = fresh.set_params(sampler="collapsed")._process(sweep, sums, seed_of(random_state))
        return log_evidence(process, method, n_runs, n_steps, self._name)

    def trace_table(self) -> list[dict[str, Any]]:
        """Every sweep of every chain, as rows with chain, sweep, log_joint, n_blocks, largest, entropy, alpha, beta,
        gamma.
        """
        check_is_fitted(self, "_params")
        return [
            {"chain": c, "sweep": i + 1, **dict(zip(TRACE, map(float, values)))}
            for c, chain in enumerate(self.trace_)
            for i, values in enumerate(chain)
            if not np.isnan(values[0])
        ]

    def trace_frame(self) -> Any:
        """:meth:`trace_table` as a pandas frame."""
        return frame_of(self.trace_table())

    def to_arviz(self, X: Any = None) -> Any:
        """The draws for ArviZ: posterior, sample_stats, and log_likelihood if the table is given.

        Parameters
        ----------
        X : table, optional
            The fitted table, for the log-likelihood of its rows (for the draws that answer).

        Returns
        -------
        arviz.InferenceData, or xarray.DataTree with ArviZ 1.0 and later
        """
        check_is_fitted(self, "_params")
        try:
            import arviz
        except ImportError:
            raise need("arviz", "bayes", "Draws for ArviZ") from None
        draws = self.draws_
        groups = {
            "posterior": {
                name: getattr(draws, name)
                for name in ("n_blocks", "largest", "entropy", "alpha", "beta", "gamma", "labels")
            },
            "sample_stats": {"lp": draws.log_joint},
        }
        if X is not None:
            likelihood = self.log_likelihood_draws(X)
            groups["log_likelihood"] = {"rows": likelihood.reshape(draws.labels.shape[0], -1, likelihood.shape[1])}
        if int(arviz.__version__.partition(".")[0]) >= 1:
            return arviz.from_dict(groups)
        old: Any = arviz.from_dict
        return old(**groups)


class BayesianBernoulliMixture(SampledMixture):
    """Bayesian mixture of Bernoulli products with at most K classes, by Gibbs sampling over partitions.

    Class weights are Dirichlet(α/K, ..., α/K), cell probabilities Beta(β, γ); both are integrated out, and the classes of the
    rows are drawn.  Answers average over draws.  Unknown cells drop out of the likelihood.

    Parameters
    ----------
    n_components : int
        K, the largest number of classes.
    alpha : float
        Concentration of the class weights.
    beta, gamma : float or (n_features,) array
        Prior of a cell: Beta(beta, gamma); beta weighs ones, gamma zeros.
    learn_alpha : bool
        Draw ``alpha`` too, from a Gamma prior.
    alpha_prior : (shape, rate)
        That prior.
    learn_cells : {None, "shared", "feature"}
        Draw ``beta`` and ``gamma`` too: one pair, or a mean per column and one strength beta + gamma ("feature", for tables
        whose columns have very different shares of ones, such as words).
    cell_prior : (shape, rate)
        Gamma prior of beta and of gamma, or of the strength.
    hyper_every : int
        Sweeps between two draws of these numbers.
    n_chains : int
        Independent chains.
    n_warmup : int
        Sweeps of every chain before draws are kept.
    n_draws : int
        Draws kept of every chain.
    thin : int
        Sweeps between two kept draws.
    sampler : {"collapsed", "blocked"}
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
    random_state : int, RandomState or None
        Seed.
    n_jobs : int or None
        Chains that run side by side, in threads; inside ``joblib.parallel_config`` in processes or on Dask.  The draws do
        not depend on it.
    block_rows : int or None
        Rows per block; None chooses by the shape of the table.
    verbose : int
        1 logs every tenth leg, 2 every sweep (logger ``latentbits.fit``).
    binarize : float or None
        Cells above it are 1, others 0.  None accepts only 0, 1 and unknown.
    time_limit : float or None
        Seconds after which the chains stop where they are.
    checkpoint : path or None
        File to write the chains to; a fit that finds its own file there goes on from it, to the same draws.
    callbacks : list or None
        Functions of (restart, step) events, or :class:`latentbits.engine.events.Listener` objects; a true answer stops
        the fit.

    Attributes
    ----------
    draws_ : Draws
        Kept draws: ``labels`` (chains, draws, rows), ``log_joint``, ``n_blocks``, ``largest``, ``entropy``,
        ``alpha``, ``beta``, ``gamma``.
    trace_ : (n_chains, n_sweeps, 7) array
        The same numbers after every sweep, warm-up included (``trace_frame()``).
    diagnostics_ : list of dict
        R-hat and effective sample sizes (``diagnostics_frame()``); ``converged_`` says whether all are fine.
    disagreement_ : float
        By how much two chains differ on whether two rows belong together, on average.
    point_partition_ : PointPartition
        The partition that stands for all, its expected loss and the radius that holds 95 % of the draws.
    labels_, weights_, components_
        Blocks of the rows, by decreasing size; their shares of the rows; posterior means of their probabilities, given the
        point partition (``credible_intervals()``).
    split_merge_counts_ : list
        Per chain: splits proposed, accepted, merges proposed, accepted.

    References
    ----------
    L. van der Maaten, *Bayesian Mixtures of Bernoulli Distributions*, eq 1-21 and section 5;
    D. B. Dahl, *Sequentially-allocated merge-split sampler* (2005).

    Examples
    --------
    >>> from latentbits import BayesianBernoulliMixture
    >>> X = [[1, 1, 0, 0, 0], [1, 1, 0, 0, None], [0, 0, 1, 1, 1], [0, None, 1, 1, 1]] * 5
    >>> model = BayesianBernoulliMixture(4, n_chains=2, n_warmup=50, n_draws=50, random_state=0).fit(X)
    >>> model.predict(X)[:4].tolist()
    [0, 0, 1, 1]
    >>> model.impute(X, how="mode")[1].tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float = 1.0,
        beta: Any = 0.5,
        gamma: Any = 0.5,
        learn_alpha: bool = False,
        alpha_prior: Any = (1.0, 1.0),
        learn_cells: str | None = None,
        cell_prior: Any = (1.0, 1.0),
        hyper_every: int = 1,
        n_chains: int = 4,
        n_warmup: int = 200,
        n_draws: int = 100,
        thin: int = 2,
        sampler: str = "collapsed",
        split_merge: int = 5,
        init: Any = "random",
        start_blocks: int | None = None,
        point: str = "binder",
        average: str = "mean",
        rule: str = "mean",
        include_new: bool = True,
        answer_draws: int = 40,
        random_state: Any = None,
        n_jobs: int | None = None,
        block_rows: int | None = None,
        verbose: int = 0,
        binarize: float | None = None,
        time_limit: float | None = None,
        checkpoint: Any = None,
        callbacks: Any = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.learn_alpha = learn_alpha
        self.alpha_prior = alpha_prior
        self.learn_cells = learn_cells
        self.cell_prior = cell_prior
        self.hyper_every = hyper_every
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.sampler = sampler
        self.split_merge = split_merge
        self.init = init
        self.start_blocks = start_blocks
        self.point = point
        self.average = average
        self.rule = rule
        self.include_new = include_new
        self.answer_draws = answer_draws
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.block_rows = block_rows
        self.verbose = verbose
        self.binarize = binarize
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.callbacks = callbacks

    def _check_options(self) -> None:
        super()._check_options()
        self._whole("n_components", 1)

    def _prior(self) -> PartitionPrior:
        return FinitePrior(float(self.alpha), int(self.n_components))


class DPBernoulliMixture(SampledMixture):
    """Mixture of Bernoulli products with as many classes as the table asks for (Dirichlet process), by Gibbs sampling.

    Parameters
    ----------
    alpha : float
        Concentration; the larger, the more classes.
    prior : {"dirichlet", "pitman-yor", "finite-mixtures"}
        Prior over partitions: the Dirichlet process; Pitman-Yor, whose small classes are more numerous; or a mixture
        of finite mixtures, which does not add tiny classes as the table grows (``alpha`` is then the Dirichlet parameter of
        each class).
    discount : float
        Of Pitman-Yor, in [0, 1).
    rate : float
        Of the finite mixtures: the number of components is 1 + Poisson(rate).
    beta, gamma : float or (n_features,) array
        Prior of a cell: Beta(beta, gamma); beta weighs ones, gamma zeros.
    learn_alpha, alpha_prior, learn_cells, cell_prior, hyper_every
        What is drawn along with the partition, as in :class:`BayesianBernoulliMixture`.
    n_chains, n_warmup, n_draws, thin, sampler, split_merge, init, start_blocks
        The chains, as in :class:`BayesianBernoulliMixture`.
    point, average, rule, include_new, answer_draws
        How they answer, as in :class:`BayesianBernoulliMixture`.
    random_state, n_jobs, block_rows, verbose, binarize, time_limit, checkpoint, callbacks
        As in :class:`BayesianBernoulliMixture`.

    Attributes
    ----------
    draws_, trace_, diagnostics_, disagreement_, point_partition_, labels_, weights_, components_, split_merge_counts_
        As in :class:`BayesianBernoulliMixture`.

    References
    ----------
    L. van der Maaten, *Bayesian Mixtures of Bernoulli Distributions*, eq 22-25 and section 5;
    M. D. Escobar, M. West, *JASA* 90 (1995); J. W. Miller, M. T. Harrison, *JASA* 113 (2018).

    Examples
    --------
    >>> from latentbits import DPBernoulliMixture
    >>> X = [[1, 1, 0, 0, 0], [1, 1, 0, 0, None], [0, 0, 1, 1, 1], [0, None, 1, 1, 1]] * 5
    >>> model = DPBernoulliMixture(n_chains=2, n_warmup=50, n_draws=50, random_state=0).fit(X)
    >>> len(model.weights_), bool(model.coclustering()[0, 1] > model.coclustering()[0, 2])
    (2, True)
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        prior: str = "dirichlet",
        discount: float = 0.0,
        rate: float = 1.0,
        beta: Any = 0.5,
        gamma: Any = 0.5,
        learn_alpha: bool = False,
        alpha_prior: Any = (1.0, 1.0),
        learn_cells: str | None = None,
        cell_prior: Any = (1.0, 1.0),
        hyper_every: int = 1,
        n_chains: int = 4,
        n_warmup: int = 200,
        n_draws: int = 100,
        thin: int = 2,
        sampler: str = "collapsed",
        split_merge: int = 5,
        init: Any = "random",
        start_blocks: int | None = None,
        point: str = "binder",
        average: str = "mean",
        rule: str = "mean",
        include_new: bool = True,
        answer_draws: int = 40,
        random_state: Any = None,
        n_jobs: int | None = None,
        block_rows: int | None = None,
        verbose: int = 0,
        binarize: float | None = None,
        time_limit: float | None = None,
        checkpoint: Any = None,
        callbacks: Any = None,
    ) -> None:
        self.alpha = alpha
        self.prior = prior
        self.discount = discount
        self.rate = rate
        self.beta = beta
        self.gamma = gamma
        self.learn_alpha = learn_alpha
        self.alpha_prior = alpha_prior
        self.learn_cells = learn_cells
        self.cell_prior = cell_prior
        self.hyper_every = hyper_every
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.sampler = sampler
        self.split_merge = split_merge
        self.init = init
        self.start_blocks = start_blocks
        self.point = point
        self.average = average
        self.rule = rule
        self.include_new = include_new
        self.answer_draws = answer_draws
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.block_rows = block_rows
        self.verbose = verbose
        self.binarize = binarize
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.callbacks = callbacks

    def _check_options(self) -> None:
        super()._check_options()
        if self.prior not in ("dirichlet", "pitman-yor", "finite-mixtures"):
            raise InputError(
                f"{self._name}: prior must be 'dirichlet', 'pitman-yor' or 'finite-mixtures'; got {self.prior!r}."
            )
        self._number("discount", 0.0)
        if self.discount >= 1:
            raise InputError(f"{self._name}: discount must be below 1; got {self.discount!r}.")
        self._positive("rate")

    def _prior(self) -> PartitionPrior:
        alpha = float(self.alpha)
        if self.prior == "pitman-yor":
            return PitmanYorPrior(alpha, float(self.discount))
        return (
            FiniteMixturesPrior(alpha, float(self.rate)) if self.prior == "finite-mixtures" else PartitionPrior(alpha)
        )


class _RowLikelihoods:
    """log p(row | draw) of a block; the draws of weights and probabilities are the same for all blocks."""

    def __init__(self, params: PosteriorParams, concentrations: list[Any], seed: int) -> None:
        self.params, self.concentrations, self.seed = params, concentrations, seed

    def __call__(self, block: Any) -> Any:
        return log_likelihood_draws(block, self.params, self.concentrations, stream(self.seed, "weigh"))


def _short(rhat: float) -> str:
    """R-hat with the digits that matter: 1.051, 2.34, inf."""
    return "constant" if np.isnan(rhat) else f"{rhat:.3f}" if rhat < 2 else f"{rhat:.3g}"


def _stacked_traces(chains: list[Chain]) -> Any:
    """Traces (C, steps, Q), NaN where a chain was cut short."""
    longest = max(chain.done for chain in chains)
    out = np.full((len(chains), longest, len(TRACE)), np.nan)
    for c, chain in enumerate(chains):
        out[c, : chain.done] = chain.trace
    return out
