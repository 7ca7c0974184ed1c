"""Questions about draws of partitions: whether to trust them, who is together, how well they predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import ChainsMixin, LatentBitsEstimator, frame_of
from ..base.common import seed_of
from ..base.options import MOST_DRAWS, Whole, is_number, is_whole
from ..base.passes import fingerprint, table_sums
from ..data.rng import stream
from ..engine.sweep import sweep_of
from ..errors import InputError, brief, need
from ..maths.mcmc_diagnostics import PredictiveFit, loo, waic
from .blocked import partition_counts
from .gibbs import TRACE
from .model import MixtureModel, MixtureParams
from .partitions import MOST_ROWS, together
from .posterior import drawn_mixture

# Chains that differ by more than this will hardly mix by running longer.
STUCK_ABOVE = 1.5
WORDS = {"largest": "largest block", "entropy": "entropy of the block sizes"}


class DrawAnswers(ChainsMixin, LatentBitsEstimator):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator` in estimators that keep draws."""

    draws_: Any
    trace_: Any
    diagnostics_: list[dict[str, Any]]
    disagreement_: float
    point_partition_: Any
    partition_prior_: Any
    solver: str
    split_merge: int
    init: Any
    include_new: bool
    weight_concentration: float
    learn_weight_concentration: bool
    learn_cells: str | None

    def summary(self) -> str:
        """A few lines on the draws: blocks, chains, and whether to trust them.

        Returns
        -------
        str

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> print(model.summary().splitlines()[0])
        DPBernoulliMixture on 101 rows and 15 features: 2 chains, 20 draws kept of each after 20 sweeps of warm-up
        """
        self._check_fitted()
        draws, (n_chains, n_draws, n_rows) = self.draws_, self.draws_.labels.shape
        low, middle, high = np.quantile(draws.n_blocks, (0.05, 0.5, 0.95), method="nearest")
        warmup = min(self.n_warmup, self.n_iter_ - 1)
        lines = [
            f"{self._name} on {n_rows} rows and {self.n_features_in_} features: {n_chains} chain{'s' * (n_chains > 1)}, "
            f"{n_draws} draw{'s' * (n_draws > 1)} kept of each after {warmup} sweeps of warm-up",
            f"blocks: {middle:g} (90 % of the draws: {low:g} to {high:g}); point partition ({self.point_partition_.kind}): "
            f"{len(self.weights_)} blocks, the largest with {self.weights_[0]:.0%} of the rows",
        ]
        lines += self._told_of_chains()
        if n_chains > 1:
            lines.append(
                f"two chains differ by {self.disagreement_:.3f} on whether two rows belong together, on average over pairs"
            )
        return "\n".join([*lines, *self._told_names()])

    def diagnostics_frame(self) -> Any:
        """R-hat and effective sample sizes, as a pandas frame.

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> "rhat" in model.diagnostics_frame().columns
        True
        """
        self._check_fitted()
        return frame_of(self.diagnostics_)

    def _doubts_of_end(self) -> list[str]:
        """What the summary says of chains that do not agree, or are too short to tell."""
        told = self._told_of_chains()
        return [] if told[0].startswith("chains: they agree") else [" ".join(part.strip() for part in told)]

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
        values = f"R-hat of the log joint {short(told['rhat'])}, of the number of blocks {short(blocks['rhat'])}"
        if worst["quantity"] not in ("log_joint", "n_blocks"):
            values += f", of the {WORDS.get(worst['quantity'], worst['quantity'])} {short(worst['rhat'])}"
        values += "; wanted: 1.05 or less"
        if worst["rhat"] <= STUCK_ABOVE:
            return [f"chains: not mixed yet ({values}). More n_draws, or {self._advice()}."]
        ends = np.unique(self.draws_.n_blocks[:, -1])
        found = f"{ends[0]:g}" if len(ends) == 1 else f"{ends[0]:g} to {ends[-1]:g}"
        return [
            f"chains: THEY HAVE NOT MIXED ({values}).",
            f"  Each chain sits in a solution of its own (they end with {found} blocks). Read the draws as an ensemble of",
            "  good solutions: averaged predictions are fine, but shares of draws are not posterior probabilities.",
            f"  What to do: for predictions more n_chains; to mix better {self._advice()}.",
        ]

    def _advice(self) -> str:
        """What may help chains to mix, as far as it has not been done."""
        if self.solver == "blocked":
            return "solver='collapsed', whose split-merge moves change whole blocks, or more n_warmup"
        steps = ["split_merge=20" if self.split_merge < 20 else f"split_merge={2 * self.split_merge}", "more n_warmup"]
        return ", ".join(steps + (["init='mixed'"] if self.init != "mixed" else []))

    def novelty(self, X: Any) -> Any:
        """Probability that a row belongs to none of the blocks found (the unrepresented class).

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of probabilities

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> bool((model.novelty(X) <= 1).all())
        True
        """
        self._check_fitted()
        if not self.include_new:
            raise InputError(f"{self._name}: novelty needs include_new=True.")
        return self._by_rows(X, "novelty")

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

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> model.coclustering(rows=[0, 1]).shape
        (2, 2)
        """
        self._check_fitted()
        n_chains, _, n_rows = self.draws_.labels.shape
        if chain is not None and not (is_whole(chain) and 0 <= chain < n_chains):
            raise InputError(f"{self._name}: chain must be a number from 0 to {n_chains - 1}; got {brief(chain)}.")
        labels = self.draws_.labels if chain is None else self.draws_.labels[[chain]]
        rows = np.arange(n_rows) if rows is None else np.atleast_1d(np.asarray(rows))
        if rows.dtype.kind not in "iu" or rows.ndim > 1 or (rows < 0).any() or (rows >= n_rows).any():
            raise InputError(f"{self._name}: rows must be row numbers from 0 to {n_rows - 1} of the fitted table.")
        if len(rows) > MOST_ROWS:
            raise InputError(
                f"{self._name}: the matrix of {len(rows)} rows is too large; name at most {MOST_ROWS} rows."
            )
        return together(labels.reshape(-1, n_rows)[:, rows])

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

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> low, high = model.credible_intervals()[:2]
        >>> bool((low <= high).all())
        True
        """
        from scipy.stats import beta as beta_law

        self._check_fitted()
        if not is_number(level) or not 0 < level < 1:
            raise InputError(f"{self._name}: level must be between 0 and 1, for instance 0.9; got {brief(level)}.")
        counts, beta, gamma = self._params.point_counts, self._params.point_beta, self._params.point_gamma
        tail = (1 - level) / 2
        return np.array([beta_law.ppf(q, beta + counts.ones, gamma + counts.zeros) for q in (tail, 1 - tail)])

    def log_likelihood_draws(self, X: Any, random_state: Any = None) -> Any:
        """log p(row | draw) (n_chains × n_draws, n_rows) of the fitted table, the labels of rows summed over.

        Class weights and probabilities are drawn given each kept partition.

        Parameters
        ----------
        X : table
            The table that was fitted.
        random_state : int, RandomState or None
            By default the estimator's own.

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> model.log_likelihood_draws(X).shape[-1]
        101
        """
        self._check_fitted()
        source = self._open(X, reset=False)
        labels = self.draws_.labels.reshape(-1, self.draws_.labels.shape[2])
        sweep = sweep_of(source, 1)
        _, digest = table_sums(sweep)
        if fingerprint(digest) != self.fingerprint_:
            raise InputError(
                f"{self._name}: X is not the table that was fitted, or its rows are in another order; the draws are "
                f"partitions of the {labels.shape[1]} rows of that table. Pass the table that was fitted."
            )
        rng = stream(seed_of(self.random_state if random_state is None else random_state), "weigh")
        numbers = [getattr(self.draws_, name) for name in ("alpha", "beta", "gamma")]
        flat = zip(labels, *[values.reshape(len(labels), -1) for values in numbers])
        out = np.empty((len(labels), labels.shape[1]))
        for s, (partition, alpha, beta, gamma) in enumerate(flat):
            counts = partition_counts(sweep, partition)
            mixture = drawn_mixture(counts, self.partition_prior_.with_alpha(float(alpha[0])), beta, gamma, rng)
            out[s] = np.concatenate(sweep.collect(_RowScores(mixture)))
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
            ``elpd`` and its standard error; ``pareto_k`` above min(0.7, 1 - 1 / log10 of the
            number of draws) marks rows for which it cannot be trusted.

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> model.loo(X).elpd < 0
        True
        """
        return loo(self.log_likelihood_draws(X))

    def waic(self, X: Any) -> PredictiveFit:
        """The widely applicable information criterion as expected log density; see :meth:`loo`.

        Parameters
        ----------
        X : table
            The fitted rows.

        Returns
        -------
        PredictiveFit

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> model.waic(X).elpd < 0
        True
        """
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

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> model.log_evidence(X, n_runs=2, n_steps=5, random_state=0).value < 0
        True
        """
        from .evidence import log_evidence

        self._check_options()
        if self.learn_weight_concentration or self.learn_cells is not None:
            raise InputError(
                f"{self._name}: log_evidence is for fixed weight_concentration, beta and gamma; set "
                "learn_weight_concentration=False and learn_cells=None, and give the values to compare."
            )
        self._check("n_runs", n_runs, Whole(1, most=MOST_DRAWS))
        self._check("n_steps", n_steps, Whole(1, most=MOST_DRAWS))
        fresh = type(self)(**self.get_params(deep=False))
        sweep = sweep_of(fresh._open(X, reset=True), 1)
        sums, _ = table_sums(sweep)
        fresh._check_table(sums)
        process = fresh.set_params(solver="collapsed")._process(sweep, sums, seed_of(random_state))
        return log_evidence(process, method, n_runs, n_steps, self._name)

    def trace_table(self) -> list[dict[str, Any]]:
        """Every sweep of every chain, as rows with chain, sweep, log_joint, n_blocks, largest, entropy, alpha, beta,
        gamma.

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> sorted(model.trace_table()[0])[:2]
        ['alpha', 'beta']
        """
        self._check_fitted()
        return [
            {"chain": c, "sweep": i + 1, **dict(zip(TRACE, map(float, values)))}
            for c, chain in enumerate(self.trace_)
            for i, values in enumerate(chain)
            if not np.isnan(values[0])
        ]

    def trace_frame(self) -> Any:
        """:meth:`trace_table` as a pandas frame.

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=20, n_draws=20, random_state=0).fit(X)
        >>> len(model.trace_frame())
        120
        """
        return frame_of(self.trace_table())

    def to_arviz(self, X: Any = None) -> Any:
        """The draws for ArviZ: posterior, sample_stats, and log_likelihood if the table is given.

        Parameters
        ----------
        X : table, optional
            The fitted table, for the log-likelihood of its rows.

        Returns
        -------
        arviz.InferenceData, or xarray.DataTree with ArviZ 1.0 and later

        Examples
        --------
        >>> from latentbits import DPBernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = DPBernoulliMixture(n_chains=2, n_warmup=10, n_draws=10, random_state=0).fit(X)
        >>> hasattr(model.to_arviz(), "posterior")
        True
        """
        self._check_fitted()
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
            groups["log_likelihood"] = {"rows": self.log_likelihood_draws(X).reshape(draws.labels.shape)}
        if int(arviz.__version__.partition(".")[0]) >= 1:
            return arviz.from_dict(groups)
        old: Any = arviz.from_dict
        return old(**groups)


class _RowScores:
    """log p(row) of a block under a mixture."""

    def __init__(self, params: MixtureParams) -> None:
        self.params = params

    def __call__(self, block: Any) -> Any:
        model = MixtureModel(len(self.params.weights))
        return model.log_prob(block, model.precompute(self.params))


def short(rhat: float) -> str:
    """R-hat with the digits that matter: 1.051, 2.34, inf."""
    return "constant" if np.isnan(rhat) else f"{rhat:.3f}" if rhat < 2 else f"{rhat:.3g}"
