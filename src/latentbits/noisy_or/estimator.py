"""``NoisyOrComponentAnalysis``: hidden binary sources, any of which can switch a cell on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, records
from ..base.options import (
    AcceleratedOptions,
    BetaPair,
    BitOptions,
    Check,
    Number,
    OneOf,
    Whole,
    WordOr,
    beta_pair,
    option_fields,
)
from ..data.numbers import real_numbers
from ..data.source import FirstBlock
from ..data.summary import Totals
from ..engine.em import EMOptions, State, em
from ..engine.restarts import Given, InitParams, Starts
from ..engine.stepwise_em import StreamState
from ..engine.sweep import LocalSweep
from ..errors import DuplicateComponentWarning, EmptyComponentWarning, InputError, TableWarning
from .communities import Communities
from .exact import ClosedForms
from .model import NoisyOrModel
from .params import CAP, EDGE, LEAST_LEAK, MOST_EXACT, NoisyOrParams, NoisyOrStats
from .starts import (
    better_start,
    cooccurrence_start,
    first_rows,
    led_start,
    pairs_start,
    random_start,
    rows_start,
    start_params,
)

# Passes with equal weights, then with all surplus sources (and before links of chance are left out, in which links of deleted
# sources come back at others), then after every deletion.  More than one with equal weights costs much where a row has many
# sources: each gets 1 / K of the credit for a one, and those that overlap are merged.
FIRST, SECOND, BETWEEN = 1, 12, 3
# Surplus sources of a start: with fewer many starts end in a worse place (of 60 small tables 43, 56, 59 found the true
# sources with 2, 4, 6).
LEAST_SURPLUS = 4
# Deletions are bundled so that there are no more of these steps.
MOST_DELETIONS = 8
# Passes over the first rows of a stream.
STREAM_START = 100
# A source is active with a link above the first and so many expected rows; always on above the last.
LINKED, FEWEST_ROWS, ALWAYS = 0.1, 5.0, 0.99
# Cosine of link probabilities above which sources are the same.
SAME = 0.95


@option_fields
class NoisyOrComponentAnalysis(Communities, ClosedForms, AcceleratedOptions, BitOptions, LatentBitsEstimator):
    """Noisy-or component analysis (NOCA) by variational EM.

    Every row has K hidden binary sources, any number of which may be on.  A source that is on switches each of its
    cells on with a probability of its own; a cell is 1 if any source, or the leak, does.  Sources are therefore communities
    that may overlap: topics of a document, causes of symptoms, occasions behind a basket.  Unknown cells drop out of the
    likelihood.  Sparse tables cost time in proportion to their ones.

    Parameters
    ----------
    n_components : int
        Number of sources K.
    init : {"cooccurrence", "rows", "random"} or (n_components, n_features) array
        Where the sources start: at columns and what goes with them, at rows far from each other, drawn, or at given link
        probabilities.
    surplus : int or None
        Sources that a start has in addition; those that explain least are left out one by one.  None: half as many as
        ``n_components``, at least 4, for the first two kinds of start, else 0.
    solver : {"mm", "newton", "bisection", "exact"}
        One closed-form step per pass (default), or the best strengths for the posteriors of the pass by bracketed Newton
        steps or by the bisection of the paper, which need many passes.  :meth:`partial_fit` always uses the first.  These
        maximise the bound of the paper; "exact" goes through all 2^K states of the sources (K up to 12) once surplus sources
        are gone.
    row_init : {"best", "warm", "cold"}
        Posteriors of a row start from a greedy search ("cold"), from those of the pass before ("warm"), or the better of
        both is kept.  With "cold" the objective may fall a little between passes.
    n_inner : int
        Rounds of weights and posteriors per pass.
    link_prior, leak_prior, source_prior : (float, float)
        Beta(a, b) priors on link probabilities, leaks, and the probabilities of the sources; a and b at least 1.  The default
        holds leaks away from 0, where posteriors would freeze.  Near maximum likelihood: ``link_prior=(1, 1)``,
        ``leak_prior=(1.01, 2)``.
    link_threshold : float
        Links below so many standard errors of a share of ones, as chance alone would make them, are set to zero once the
        surplus sources are gone (0: none).  On tables drawn from forty overlapping sources 1.5 is worth 0.013 nats a hidden
        cell; on four real tables 1.5 and 3 changed it by -0.005 to 0.003.  :meth:`partial_fit` keeps all links.
    zero_truncated : bool
        The table has no empty rows because they were left out, not by chance: the likelihood of a row is divided by the
        probability that it is not empty.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        Link probabilities: that the source alone switches the cell on.  Sources by decreasing ``source_prior_``.
    leak_ : (n_features,) array
        Probability that a cell is on without any source.
    source_prior_ : (n_components,) array
        Probability that the source is on.  They need not sum to one.
    active_ : (n_components,) array of bool
        Sources with a link above 0.1 that are on in at least five rows.
    supported_ : (n_components,) array of bool
        Sources whose deletion costs more than they are worth in BIC, ½ (D + 1) log n.
    deletion_loss_ : (n_components,) array
        What the bound of the table loses without the source, in nats, from a sample of rows.
    component_kinds_ : list of str
        "supported", "weak", "disconnected", "always on" or "duplicate of k"; after :meth:`partial_fit`, which measures no
        losses, "active" instead of the first two.
    constant_features_ : array of int
        Columns with only one value.
    bic_bound_ : float
        BIC of the training table with the bound at the posteriors of the fit in place of the likelihood (``bic`` finds the
        posteriors anew, and may come out a little lower or higher).
    objective_, n_iter_, converged_, history_, restarts_, n_reached_, marginals_, unobserved_features_
        As in :class:`~latentbits.BernoulliMixture`.

    Notes
    -----
    ``score_samples`` is a lower bound of the log-likelihood, which is no basis for comparing families; use
    ``method="importance"`` (or ``"exact"`` for few sources or few ones) for that.

    References
    ----------
    T. Šingliar, M. Hauskrecht, *Noisy-OR Component Analysis and its Application to Link Analysis*, JMLR 7, 2006.

    Examples
    --------
    >>> from latentbits import NoisyOrComponentAnalysis
    >>> from latentbits.datasets import make_noisy_or
    >>> made = make_noisy_or(300, 12, 2, random_state=0)
    >>> model = NoisyOrComponentAnalysis(n_components=2, random_state=0).fit(made.data)
    >>> bool((model.predict_sources(made.data).sum(axis=1) == made.sources.sum(axis=1)).mean() > 0.8)
    True
    """

    record_types: ClassVar[dict[str, Any]] = records(NoisyOrModel, NoisyOrParams, NoisyOrStats, StreamState, Totals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": NoisyOrParams,
        "_model": NoisyOrModel,
        "components_": Annotated[Any, of.shares("K", "D")],
        "weights_": Annotated[Any, of.shares("K")],
        "source_prior_": Annotated[Any, of.shares("K")],
        "leak_": Annotated[Any, of.shares("D")],
        "component_kinds_": list[str],
        "active_": Annotated[Any, of.flags("K")],
        "supported_": of.Maybe(Annotated[Any, of.flags("K")]),
        "deletion_loss_": of.Maybe(Annotated[Any, of.reals("K")]),
        "constant_features_": of.Maybe(Annotated[Any, of.places("*", below="D")]),
        "bic_bound_": of.Maybe(of.AnyNumber),
    }
    score_kind = "lower bound"
    work = 16
    keeps_rows = True
    counted_by_rows = ("n_components", "surplus")
    option_checks: ClassVar[Mapping[str, Check]] = {
        "n_inner": Whole(1),
        "surplus": Whole(0, others=(None,)),
        "solver": OneOf(("mm", "newton", "bisection", "exact")),
        "row_init": OneOf(("best", "warm", "cold")),
        "link_prior": BetaPair(),
        "leak_prior": BetaPair(),
        "source_prior": BetaPair(),
        "link_threshold": Number(0.0),
        "init": WordOr(("cooccurrence", "rows", "random"), "link probabilities"),
    }

    n_components: int = field(default=2, kw_only=False)
    n_init: int = 3
    init: Any = "cooccurrence"
    surplus: int | None = None
    solver: str = "mm"
    row_init: str = "best"
    n_inner: int = 4
    link_prior: Any = (1.0, 2.0)
    leak_prior: Any = (1.5, 2.0)
    source_prior: Any = (1.0, 1.0)
    link_threshold: float = 0.0
    zero_truncated: bool = False

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        sources = max(stage[0] for stage in self._plan())
        return super()._numbers_kept(n_rows, n_columns) * sources // int(self.n_components)

    def _check_together(self) -> None:
        if self.solver == "exact" and self.n_components > MOST_EXACT:
            raise InputError(
                f"{self._name}: solver='exact' goes through all 2^K states of the sources and stops at K = {MOST_EXACT}; "
                f"got {self.n_components}. Use solver='mm'."
            )
        if self.link_threshold and beta_pair(self.link_prior)[0] > 1:
            raise InputError(
                f"{self._name}: link_threshold={self.link_threshold:g} sets links to zero, which "
                f"link_prior={self.link_prior!r} rules out. Use link_prior=(1, b), or link_threshold=0."
            )

    def _given_init(self) -> bool:
        """Whether the fit goes on from strengths that are there already."""
        return self._is_warm or not isinstance(self.init, str)

    def _plan(self) -> tuple[tuple[int, int, bool], ...]:
        """Stages of a fit: number of sources, passes, equal weights."""
        k, settling = int(self.n_components), ((int(self.n_components), SECOND, False),) if self.link_threshold else ()
        if self._given_init():
            return (*settling, (k, 0, False))
        surplus = self.surplus
        if surplus is None:
            surplus = max(LEAST_SURPLUS, -(-k // 2)) if self.init != "random" else 0
        many = k + int(surplus)
        plan = [(many, FIRST, True)]
        if surplus:
            plan.append((many, SECOND, False))
            at_a_time = -(-int(surplus) // MOST_DELETIONS)
            plan += [(left, BETWEEN, False) for left in range(many - at_a_time, k, -at_a_time)]
        return (*plan, *settling, (k, 0, False))

    def _build_model(self, sums: Totals) -> NoisyOrModel:
        exact, plan = self.solver == "exact", self._plan()
        sampled = plan[0][2] and sums.n_rows > first_rows(plan[0][0])
        return NoisyOrModel(
            n_components=int(self.n_components),
            sums=sums,
            link_prior=beta_pair(self.link_prior),
            leak_prior=beta_pair(self.leak_prior),
            source_prior=beta_pair(self.source_prior),
            m_step_kind="mm" if exact else str(self.solver),
            inference="exact" if exact else "variational",
            e_step_start=str(self.row_init),
            rounds=int(self.n_inner),
            link_threshold=float(self.link_threshold),
            truncated=bool(self.zero_truncated),
            plan=plan,
            stage=1 if sampled else 0,
        )

    def _initializer(self, model: NoisyOrModel) -> InitParams:
        sums, n_sources = model.sums, model.plan[0][0]
        if not isinstance(self.init, str):
            return Given(self._given_links(sums.marginals))
        if self.init == "cooccurrence":
            trial = replace(
                model,
                plan=((n_sources, FIRST, True), (n_sources, SECOND + 1, False), (n_sources, 0, False)),
                stage=0,
                m_step_kind="mm",
                inference="variational",
                truncated=False,  # empty rows are refused with their places in the table, not in a sample
            )
            starts = [partial(kind, n_sources, sums) for kind in (cooccurrence_start, pairs_start)]
            init: InitParams = partial(better_start, trial, starts)
        else:
            init = partial(rows_start if self.init == "rows" else random_start, n_sources, sums.marginals)
        return partial(led_start, replace(model, stage=0, truncated=False), init) if model.stage else init

    def _given_links(self, marginals: Any) -> NoisyOrParams:
        """The start that the user gave."""
        try:
            links = real_numbers(self.init)
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: init cannot be read as probabilities.") from None
        wanted = (int(self.n_components), len(marginals))
        if links.shape != wanted or not ((links >= 0) & (links <= 1)).all():
            raise InputError(
                f"{self._name}: init must hold probabilities of shape {wanted}; got shape {links.shape} with values from "
                f"{links.min(initial=np.inf):g} to {links.max(initial=-np.inf):g}."
            )
        return start_params(links, marginals, wanted[0])

    def _warm_start_params(self, model: NoisyOrModel, fresh: Callable[[], Any]) -> NoisyOrParams:
        """Links of zero would never come back."""
        theta0 = np.clip(self._params.theta0, LEAST_LEAK, CAP)
        prior = np.clip(self._params.prior, EDGE, 1 - EDGE)
        return model.freshened(NoisyOrParams(self._params.theta, theta0, prior))

    def _stream_model(self, model: NoisyOrModel) -> NoisyOrModel:
        """A stream has one stage, and no second look for other M-steps."""
        return replace(model, plan=((model.n_components, 0, False),), stage=0, m_step_kind="mm")

    def _init_stream_params(self, sweep: Any, sums: Totals, seed: int) -> NoisyOrParams:
        """A fit of the first rows through all its stages: a stream cannot leave out surplus sources later."""
        model, first = self._build_model(sums), LocalSweep(FirstBlock(sweep.source))
        point = Starts(model, first, self._initializer(model), seed)(0)
        options = EMOptions(
            min(int(self.max_iter), STREAM_START), float(self.tol), max(1.0, sums.n_cells), accelerate=False
        )
        for step in em(model, first, State(point), options):
            point = step.state.point
        # Links that the first rows do not show may come later.
        return model.freshened(model.answer_model().begin_stage(point, first).params)

    def _n_starts(self) -> int:
        return int(self.n_init) if isinstance(self.init, str) else 1

    def _check_table(self, sums: Totals) -> None:
        super()._check_table(sums)
        for what, count in (("rows", sums.n_rows), ("columns", len(sums.ones))):
            if self.n_components > count or (what == "columns" and self.n_components == count > 1):
                warnings.warn(
                    f"{self._name}: {self.n_components} sources for {count} {what}; some will explain nothing. Use fewer "
                    "components.",
                    TableWarning,
                    stacklevel=5,
                )

    def _store_result(self, model: Any, sweep: Any, result: Any, sums: Totals) -> None:
        super()._store_result(model, sweep, result, sums)
        bound = self.objective_ - self._model.log_prior(self._params)
        self.bic_bound_ = -2 * bound + self.n_free_ * float(np.log(max(self._params.weight, 1.0)))
        self.constant_features_ = np.flatnonzero((sums.ones == 0) | (sums.ones == sums.observed))

    def _set_fitted_attributes(self) -> None:
        params = self._params
        self.components_, self.leak_ = -np.expm1(-params.theta), -np.expm1(-params.theta0)
        self.source_prior_ = params.prior
        self.weights_ = params.prior
        if self.solver == "exact":
            self.score_kind_ = "exact"
        rows = self._expected_rows()
        self.active_ = (self.components_.max(axis=1) >= LINKED) & (rows >= FEWEST_ROWS)
        for name in ("supported_", "deletion_loss_"):
            self.__dict__.pop(name, None)
        if params.loss is not None:
            price = 0.5 * (len(params.theta0) + 1) * np.log(max(params.weight, 2.0))
            self.deletion_loss_, self.supported_ = params.loss, (rows >= FEWEST_ROWS) & (params.loss > price)
        self.component_kinds_, self.duplicate_components_ = self._statuses()
        self._doubts()

    def _statuses(self) -> tuple[list[str], list[list[int]]]:
        """What to make of every source, and which are alike."""
        links, worth = self.components_, getattr(self, "supported_", None)
        length = np.maximum(np.sqrt((links**2).sum(axis=1)), 1e-100)
        cosine = (links @ links.T) / np.outer(length, length)
        out: list[str] = []
        twins: list[list[int]] = []
        for k in range(len(links)):
            twin = np.flatnonzero(cosine[k, :k] > SAME)
            if not self.active_[k] and (worth is None or not worth[k]):
                out.append("disconnected")
            elif self.source_prior_[k] > ALWAYS:
                out.append("always on")
            elif len(twin):
                out.append("duplicate")
                twins.append([int(twin[0]), k])
            else:
                out.append("active" if worth is None else "supported" if worth[k] else "weak")
        return out, twins

    def _doubts(self) -> None:
        """Warn of sources that are none."""
        names = self.component_names_
        cut_off = [name for name, kind in zip(names, self.component_kinds_) if kind == "disconnected"]
        if cut_off:
            warnings.warn(
                f"{self._name}: {', '.join(cut_off)} explain{'s' * (len(cut_off) == 1)} next to nothing. Use fewer "
                "components, or prune().",
                EmptyComponentWarning,
                stacklevel=6,
            )
        if self.duplicate_components_:
            shown = ", ".join(f"{names[a]} and {names[b]}" for a, b in self.duplicate_components_[:5])
            warnings.warn(
                f"{self._name}: some sources are alike ({shown}). Use fewer components, or prune().",
                DuplicateComponentWarning,
                stacklevel=6,
            )
