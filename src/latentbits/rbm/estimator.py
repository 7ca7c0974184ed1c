"""``RestrictedBoltzmann``: hidden units that switch cells on and off together."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import ChainsMixin, LatentBitsEstimator, records
from ..base.options import MOST_DRAWS, BitOptions, Check, Flag, Number, OneOf, Positive, Whole, is_whole, option_fields
from ..base.sklearn_api import available_if
from ..data.summary import Totals
from ..engine.chains import Chain, Plan
from ..errors import InputError, NotConvergedWarning
from ..families import family_of
from ..maths.index_lists import whole_lists
from .model import FILLS, MOST_EXACT, BoltzmannModel, BoltzmannParams
from .training import Contrastive

# Hidden units are drawn, so that what a machine explains of its rows goes up and down by this part of it.
NOISE = 0.01


def _small(estimator: Any) -> bool:
    """Whether likelihoods can be had: all hidden states are summed over."""
    fitted = getattr(estimator, "_params", None)
    return int(estimator.n_components if fitted is None else fitted.weights.shape[1]) <= MOST_EXACT


@dataclass(frozen=True)
class StepPair:
    """Steps of contrastive divergence in the first and in the last epoch."""

    def __call__(self, value: Any) -> str | None:
        """What is wrong."""
        if isinstance(value, (tuple, list)) and len(value) == 2 and all(is_whole(k) and k >= 1 for k in value):
            return None
        return f"must be a pair of whole numbers (first epoch, last epoch), 1 or more; got {value!r:.60}."


@option_fields
class RestrictedBoltzmann(ChainsMixin, BitOptions, LatentBitsEstimator):  # type: ignore[misc]
    """Restricted Boltzmann machine by contrastive divergence, with unbiased filling of unknown cells.

    Likelihoods (``score``, ``score_samples``, ``bic``, ``aic``) exist for machines of up to twelve hidden units,
    whose states are summed over.

    Parameters
    ----------
    n_components : int
        Hidden units H.
    n_epochs : int
        Passes over the table.
    n_steps : (int, int)
        Gibbs steps of contrastive divergence in the first and in the last epoch; in between they grow evenly.
    learning_rate : float
        Step size.
    weight_decay : float
        Pull of the weights toward 0. The option to search where a machine learns its rows by heart (0.0001 to 0.003).
    rate_decay : float
        Share of the epochs, at the end, over which steps shrink evenly to 0; with 0 they stay as long as they are.
    averaging : float
        Share of the epochs, at the end, whose parameters are averaged after every step; with 0 the last ones are the answer.
    centered : bool
        Learn from cells and hidden units less their means. The machines are the same; dense tables are learnt much faster.
    batch_size : int or None
        Rows per step of the parameters; None is a twentieth of the table, 10 to 100.
    fill_in : {"gibbs", "exact", "mean-field", "factorised"}
        How unknown cells are filled: by clamped Gibbs sweeps (unbiased); by summing over hidden states (up to
        twelve); by mean field; or by the report's formula, which takes every other unknown cell to be off.
    n_sweeps : int
        Sweeps (or rounds) of "gibbs" and "mean-field".
    n_init : int
        Machines that are trained; the one that explains its own rows best is kept.
    n_jobs : int or None
        Machines trained side by side.
    block_rows, verbose, binarize, time_limit, checkpoint, callbacks
        As in :class:`BernoulliMixture`.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        P(cell = 1 | this hidden unit alone is on).
    couplings_, visible_bias_, hidden_bias_
        W (n_features, n_components), b and c.
    history_ : list
        Per machine and epoch: log probability of the table given hidden units drawn from it.

    References
    ----------
    G. E. Hinton, *Neural Computation* 14 (2002); R. Salakhutdinov, A. Mnih, G. Hinton, ICML 2007 (the factorised rule);
    J. Melchior, A. Fischer, L. Wiskott, *JMLR* 17 (2016) (centring); B. Polyak, A. Juditsky, *SIAM J. Control Optim.* 30
    (1992) (averaging); L. van der Maaten, *Bayesian Mixtures of Bernoulli Distributions*, section 6.

    Examples
    --------
    >>> from latentbits import RestrictedBoltzmann
    >>> X = [[1, 1, 0, 0], [1, 1, 0, None], [0, 0, 1, 1], [0, None, 1, 1]] * 10
    >>> machine = RestrictedBoltzmann(2, n_epochs=200, batch_size=10, learning_rate=0.1, random_state=0).fit(X)
    >>> machine.impute(X, how="mode")[1].tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    record_types: ClassVar[dict[str, Any]] = records(BoltzmannParams, Totals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": BoltzmannParams,
        "couplings_": Annotated[Any, of.reals("D", "K")],
        "visible_bias_": Annotated[Any, of.reals("D")],
        "hidden_bias_": Annotated[Any, of.reals("K")],
    }
    criterion = "cells"
    words = ("machine", "epoch")
    option_checks: ClassVar[Mapping[str, Check]] = {
        "n_epochs": Whole(1),
        "batch_size": Whole(1, others=(None,)),
        "n_sweeps": Whole(5, most=MOST_DRAWS),
        "learning_rate": Positive(),
        "weight_decay": Number(0.0),
        "rate_decay": Number(0.0, below=1.0),
        "averaging": Number(0.0, below=1.0),
        "centered": Flag(),
        "fill_in": OneOf(FILLS),
        "n_steps": StepPair(),
    }

    n_components: int = field(default=10, kw_only=False)
    n_epochs: int = 60
    n_steps: Any = (1, 3)
    learning_rate: float = 0.3
    weight_decay: float = 0.0002
    rate_decay: float = 0.5
    averaging: float = 0.25
    centered: bool = True
    batch_size: int | None = None
    fill_in: str = "gibbs"
    n_sweeps: int = 50
    n_init: int = 1

    def _check_together(self) -> None:
        if self.fill_in == "exact" and int(self.n_components) > MOST_EXACT:
            raise InputError(self._too_many(int(self.n_components)))

    def _too_many(self, n_hidden: int) -> str:
        """Why unknown cells cannot be filled exactly."""
        return (
            f"{self._name}: fill_in='exact' sums over all states of up to {MOST_EXACT} hidden units; there are {n_hidden}. "
            "Use 'gibbs'."
        )

    def _check_filling(self) -> None:
        """Refuse ways to fill cells that the fitted machine does not have; they may be set after the fit."""
        self._check_some("n_sweeps", "fill_in")
        if self.fill_in == "exact" and not _small(self):
            raise InputError(self._too_many(self._params.weights.shape[1]))

    def _plan(self) -> Plan:
        return Plan(int(self.n_epochs))

    def _n_chains(self) -> int:
        return int(self.n_init)

    def _process(self, sweep: Any, sums: Totals, seed: int) -> Contrastive:
        return Contrastive(
            rows=whole_lists(sweep, len(sums.ones)),
            marginals=sums.marginals,
            n_components=int(self.n_components),
            n_epochs=int(self.n_epochs),
            steps=(int(self.n_steps[0]), int(self.n_steps[1])),
            rate=float(self.learning_rate),
            decay=float(self.weight_decay),
            batch=min(100, max(10, sums.n_rows // 20)) if self.batch_size is None else int(self.batch_size),
            seed=seed,
            rate_decay=float(self.rate_decay),
            averaging=float(self.averaging),
            centered=bool(self.centered),
        )

    def _store_chains(self, process: Any, chains: list[Chain], sums: Totals, sweep: Any) -> None:
        best = max(chains, key=lambda chain: chain.trace[-1, 0])
        self.objective_ = float(best.trace[-1, 0])
        self._params = best.state.params
        first, last = best.trace[0, 0], best.trace[-1, 0]
        gained = best.done < 2 or last >= first - NOISE * abs(first)
        self.converged_ = bool(gained and all(chain.done == self.n_epochs for chain in chains))
        if not gained:
            warnings.warn(
                f"{self._name}: the machine explains its own rows worse after {best.done} epochs than after the first. Lower "
                "learning_rate.",
                NotConvergedWarning,
                stacklevel=5,
            )
        self.couplings_, self.visible_bias_, self.hidden_bias_ = self._params
        self.components_ = 1.0 / (1.0 + np.exp(-(self.couplings_.T + self.visible_bias_)))

    @property
    def _model(self) -> BoltzmannModel:
        """The answers, by the present options."""
        self._check_filling()
        return BoltzmannModel(self._params.weights.shape[1], self.fill_in, int(self.n_sweeps))

    def free_energy(self, X: Any) -> Any:
        """Free energy of complete rows, -log Σ_h exp(-E): a score without its constant, for machines of any size.

        Parameters
        ----------
        X : table without unknown cells

        Returns
        -------
        (n_rows,) array

        Examples
        --------
        >>> from latentbits import RestrictedBoltzmann, datasets
        >>> X = datasets.load_zoo().frame
        >>> RestrictedBoltzmann(4, n_epochs=5, random_state=0).fit(X).free_energy(X).shape
        (101,)
        """
        source = self._open(X, reset=False)
        if any(source.block(b).unknown is not None for b in range(source.n_blocks)):
            raise InputError(f"{self._name}: free_energy needs complete rows; fill unknown cells first (impute).")
        return self._ask(source).by_rows("free_energy")

    def _doubts_of_end(self) -> list[str]:
        told = "Stopped early, or the rows are explained worse than after the first epoch. Lower learning_rate."
        return [] if self.converged_ else [told]

    def summary(self) -> str:
        """A few lines on the machine.

        Examples
        --------
        >>> from latentbits import RestrictedBoltzmann, datasets
        >>> X = datasets.load_zoo().frame
        >>> print(RestrictedBoltzmann(4, n_epochs=5, random_state=0).fit(X).summary().splitlines()[0])
        RestrictedBoltzmann with 4 switches (hidden units) on 15 features
        """
        self._check_fitted()
        lines = [
            f"{self._name} with {family_of(type(self)).counted(self.n_components)} (hidden units) on {self.n_features_in_} "
            "features",
            f"{self.n_iter_} epochs; log probability of the table given hidden units drawn from it: {self.objective_:.1f}",
            *self._told_names(),
        ]
        return "\n".join(lines)

    score_samples = available_if(_small)(LatentBitsEstimator.score_samples)
    score = available_if(_small)(LatentBitsEstimator.score)

    def _has(self, method: str) -> bool:
        """Likelihoods, which BIC and AIC need, are for small machines."""
        return super()._has(method) and (method not in ("bic", "aic") or _small(self))
