"""``BayesianBernoulliMixture`` and ``DPBernoulliMixture``: latent classes with all uncertainty, by sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

from ..base.options import Check, Number, OneOf, Positive, option_fields
from .partition_priors import FiniteMixturesPrior, FinitePrior, PartitionPrior, PitmanYorPrior
from .sampled import SampledMixture


@option_fields
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

    Attributes
    ----------
    draws_ : Draws
        Kept draws: ``labels`` (chains, draws, rows), ``log_joint``, ``n_blocks``, ``largest``, ``entropy``,
        ``alpha`` (the concentration), ``beta``, ``gamma``.
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

    n_components: int = field(default=10, kw_only=False)
    weight_concentration: float = 1.0

    def _prior(self) -> PartitionPrior:
        return FinitePrior(float(self.weight_concentration), int(self.n_components))


@option_fields
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

    weight_concentration: float = field(default=1.0, kw_only=False)
    weight_prior: str = "dirichlet"
    discount: float = 0.25
    rate: float = 1.0

    def _prior(self) -> PartitionPrior:
        alpha = float(self.weight_concentration)
        if self.weight_prior == "pitman-yor":
            return PitmanYorPrior(alpha, float(self.discount))
        return (
            FiniteMixturesPrior(alpha, float(self.rate))
            if self.weight_prior == "finite-mixtures"
            else PartitionPrior(alpha)
        )
