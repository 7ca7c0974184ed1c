"""``BayesianBernoulliMixture`` and ``DPBernoulliMixture``: latent classes with all uncertainty, by sampling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..base.options import Check, Number, OneOf, Positive
from .partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior
from .sampled import SampledMixture


class BayesianBernoulliMixture(SampledMixture):
    """Bayesian mixture of Bernoulli products with at most K classes, by Gibbs sampling over partitions.

    Class weights are Dirichlet(α/K, ..., α/K), cell probabilities Beta(β, γ); both are integrated out, and the classes of the
    rows are drawn.  Answers average over draws.  Unknown cells drop out of the likelihood.

    Parameters
    ----------
    n_components : int
        K, the largest number of classes.
    weight_concentration : float
        Concentration of the class weights.
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
    n_chains : int
        Independent chains.
    n_warmup : int
        Sweeps of every chain before draws are kept.
    n_draws : int
        Draws kept of every chain.
    thin : int
        Sweeps between two kept draws.
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
        ``weight_concentration``, ``beta``, ``gamma``.
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
        weight_concentration: float = 1.0,
        beta: Any = 0.5,
        gamma: Any = 0.5,
        learn_weight_concentration: bool = False,
        weight_concentration_prior: Any = (1.0, 1.0),
        learn_cells: str | None = None,
        cell_prior: Any = (1.0, 1.0),
        hyper_every: int = 1,
        n_chains: int = 4,
        n_warmup: int = 200,
        n_draws: int = 100,
        thin: int = 2,
        solver: str = "collapsed",
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
        self.weight_concentration = weight_concentration
        self.beta = beta
        self.gamma = gamma
        self.learn_weight_concentration = learn_weight_concentration
        self.weight_concentration_prior = weight_concentration_prior
        self.learn_cells = learn_cells
        self.cell_prior = cell_prior
        self.hyper_every = hyper_every
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.solver = solver
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

    def _prior(self) -> PartitionPrior:
        return FinitePrior(float(self.weight_concentration), int(self.n_components))


class DPBernoulliMixture(SampledMixture):
    """Mixture of Bernoulli products with as many classes as the table asks for (Dirichlet process), by Gibbs sampling.

    Parameters
    ----------
    weight_concentration : float
        Concentration; the larger, the more classes.
    weight_prior : {"dirichlet", "pitman-yor", "finite-mixtures"}
        Prior over partitions: the Dirichlet process; Pitman-Yor, whose small classes are more numerous; or a mixture
        of finite mixtures, which does not add tiny classes as the table grows (``weight_concentration`` is then the
        Dirichlet parameter of each class).
    discount : float
        Of Pitman-Yor, in [0, 1); 0 is the Dirichlet process.  Other priors have none.
    rate : float
        Of the finite mixtures: the number of components is 1 + Poisson(rate).
    beta, gamma : float or (n_features,) array
        Prior of a cell: Beta(beta, gamma); beta weighs ones, gamma zeros.
    learn_weight_concentration, weight_concentration_prior, learn_cells, cell_prior, hyper_every
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

    option_checks: ClassVar[Mapping[str, Check]] = {
        "weight_prior": OneOf(("dirichlet", "pitman-yor", "finite-mixtures")),
        "discount": Number(0.0, below=1.0),
        "rate": Positive(),
    }

    def __init__(
        self,
        weight_concentration: float = 1.0,
        *,
        weight_prior: str = "dirichlet",
        discount: float = 0.25,
        rate: float = 1.0,
        beta: Any = 0.5,
        gamma: Any = 0.5,
        learn_weight_concentration: bool = False,
        weight_concentration_prior: Any = (1.0, 1.0),
        learn_cells: str | None = None,
        cell_prior: Any = (1.0, 1.0),
        hyper_every: int = 1,
        n_chains: int = 4,
        n_warmup: int = 200,
        n_draws: int = 100,
        thin: int = 2,
        solver: str = "collapsed",
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
        self.weight_concentration = weight_concentration
        self.weight_prior = weight_prior
        self.discount = discount
        self.rate = rate
        self.beta = beta
        self.gamma = gamma
        self.learn_weight_concentration = learn_weight_concentration
        self.weight_concentration_prior = weight_concentration_prior
        self.learn_cells = learn_cells
        self.cell_prior = cell_prior
        self.hyper_every = hyper_every
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.solver = solver
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

    def _prior(self) -> PartitionPrior:
        alpha = float(self.weight_concentration)
        if self.weight_prior == "pitman-yor":
            return PitmanYorPrior(alpha, float(self.discount))
        return (
            FiniteMixturesPrior(alpha, float(self.rate))
            if self.weight_prior == "finite-mixtures"
            else PartitionPrior(alpha)
        )
