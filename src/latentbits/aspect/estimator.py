"""``AspectBernoulli``: several causes per row, explanations of zeros as well as ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from .. import declared as of
from ..base import LatentBitsEstimator, RowStateMixin, records
from ..base.common import digest_of
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
from ..data.block import Block
from ..data.numbers import real_numbers
from ..data.source import named
from ..data.summary import Totals
from ..engine.restarts import Given, InitParams
from ..engine.stepwise_em import StreamState
from ..errors import DuplicateComponentWarning, EmptyComponentWarning, InputError, TableWarning
from ..maths.empirical_bayes import MOST_ROWS, LatentSample
from .interpret import CauseAnswers
from .model import AspectModel
from .params import FLOOR, AspectParams, AspectStats, Tally, floored
from .phantoms import cause_numbers, kinds_of
from .series import RowSums

# Share of the tolerance that polynomials may take up on the way.
SERIES_SHARE = 0.1
# Clip of the empirical-Bayes score in maximum-likelihood mode, where an unseen one would have probability zero.
ML_CLIP = 1e-3


@option_fields
class AspectBernoulli(CauseAnswers, RowStateMixin, AcceleratedOptions, BitOptions, LatentBitsEstimator):
    """Aspect Bernoulli model by EM: every cell has a cause of its own, drawn by the memberships of its row.

    A row can have several causes, and zeros are explained as well as ones.  If rows lost ones at different rates, a
    *phantom* cause takes up the zeros that no content explains: see :meth:`missing_vs_off` and :meth:`expand`.  Unknown
    cells drop out of the likelihood (unknown means *not recorded*; the phantom explains *recorded* zeros).  Sparse tables
    cost time in proportion to their ones.

    Parameters
    ----------
    n_components : int
        Number of causes K, phantoms included.
    init : "random", (n_components, n_features) array, (memberships, probabilities) pair, or fitted mixture
        Where EM starts: drawn, given, or from a fitted estimator with ``components_`` and ``predict_proba`` of as many
        components, each row belonging by nine tenths to the class under which it is likeliest.
    smoothing : float
        Strength c ≥ 0 of the Beta(1 + c m, 1 + c (1 - m)) prior on every probability, m being its column's share of
        ones.  0 is maximum likelihood.
    beta_prior : (float, float) or None
        Beta(b1, b0) prior on every probability instead of ``smoothing``, both at least 1.
    weight_concentration : float
        Dirichlet(α, ..., α) prior on the memberships, α ≥ 1; 1 is none.
    n_phantom, n_on_phantom : int
        Causes held at "never on" (and at "always on"): the last ones of the K.  Without them phantoms are looked for
        among the free causes.
    series : bool
        Sum the zeros of rare columns by polynomials while the fit is under way (error below a tenth of ``tol``); what
        is reported is exact in any case.
    fold_tol : float
        Rows are folded in until their log-likelihood is proved to be within this many nats of its best.
    score_clip : float or None
        Cell probabilities in ``score`` stay this far from 0 and 1; None is 1e-3 for maximum likelihood, else 0.
    fill_in : {"best", "posterior"}
        How cells are predicted: at the memberships that fit the row best, or by the mean over them, distributed as in the
        other training rows, given the known cells of the row.  The second predicts better where rows have few known cells,
        the first is quicker.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        P(cell = 1 | cause); content causes by decreasing share, then phantoms.
    weights_ : (n_components,) array
        Share of all cells that each cause explains.
    component_kinds_ : list of str
        "content", "phantom", "blank" (a cluster of nearly empty rows), "on-phantom" or "dead".
    phantoms_ : list of int
        The causes that explain zeros beside the content of their rows.
    stability_ : (n_components,) array
        Mean distance of each cause from its match in the other starts (mean absolute difference of probabilities); NaN
        with one start.
    conditional_log_likelihood_ : float
        Log-likelihood of the whole table at the fitted memberships (optimistic: it grows with K).
    latent_sample_ : (m, n_components) array
        Memberships of at most 2000 training rows, which ``score`` and ``sample`` use.
    empty_components_ : list of int
        Causes that explain nothing.
    objective_, n_iter_, converged_, history_, restarts_, n_reached_, marginals_, unobserved_features_
        As in :class:`~latentbits.BernoulliMixture`.

    Notes
    -----
    Three likelihoods are kept apart: ``conditional_log_likelihood_`` at the fitted memberships; :meth:`fold_in_scores` of
    new rows at memberships fitted to them; :meth:`score_samples`, the empirical-Bayes likelihood, which alone is a
    predictive score.

    References
    ----------
    A. Kabán, E. Bingham, T. Hirsimäki, *Learning to Read Between the Lines: The Aspect Bernoulli Model*, SDM 2004.

    Examples
    --------
    >>> from latentbits import AspectBernoulli
    >>> X = [[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 1], [0, 0, 0, 1, None, 1]]
    >>> model = AspectBernoulli(n_components=2, random_state=0).fit(X)
    >>> bool(model.transform(X).sum(axis=1).round(9).tolist() == [1.0] * 5)
    True
    >>> model.impute(X, how="mode")[4].tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    """

    record_types: ClassVar[dict[str, Any]] = records(
        AspectModel, AspectParams, AspectStats, RowSums, Tally, LatentSample, StreamState, Totals
    )
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": AspectParams,
        "_model": AspectModel,
        "weights_": Annotated[Any, of.shares("K")],
        "component_kinds_": list[str],
        "phantoms_": list[of.Component],
        "latent_sample_": Annotated[Any, of.shares("R", "K")],
        "conditional_log_likelihood_": of.Maybe(of.AnyNumber),
        "stability_": of.Maybe(Annotated[Any, of.reals("K", nan=True)]),
    }
    score_kind = "estimate"
    work = 16
    needs_variation = True
    criterion = "cells"  # every row brings parameters of its own, for which BIC and AIC have no theory
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "fill_in": OneOf(("best", "posterior")),
        "weight_concentration": Number(1.0),
        "fold_tol": Number(0.0),
        "n_phantom": Whole(0),
        "n_on_phantom": Whole(0),
        "score_clip": Number(0.0, below=0.5, others=(None,)),
        "beta_prior": BetaPair(others=(None,)),
        "init": WordOr(("random",), "probabilities, a (memberships, probabilities) pair, or a fitted mixture"),
    }

    n_components: int = field(default=2, kw_only=False)
    init: Any = "random"
    smoothing: float = 1.0
    beta_prior: Any = None
    weight_concentration: float = 1.0
    n_phantom: int = 0
    n_on_phantom: int = 0
    series: bool = True
    fold_tol: float = 1e-06
    score_clip: float | None = None
    fill_in: str = "best"

    def _check_together(self) -> None:
        if self.n_phantom + self.n_on_phantom >= self.n_components and self.n_phantom + self.n_on_phantom > 0:
            raise InputError(
                f"{self._name}: {self.n_phantom + self.n_on_phantom} of {self.n_components} causes would be phantoms; "
                "at least one must be left for the content. Raise the number of components or lower n_phantom."
            )
        if hasattr(self.init, "predict_proba") and not hasattr(self.init, "components_"):
            raise InputError(
                f"{self._name}: init is a {type(self.init).__name__} that is not fitted. Fit it first; where estimators are "
                "cloned (grid search, select) wrap it in sklearn.frozen.FrozenEstimator."
            )

    def _build_model(self, sums: Totals) -> AspectModel:
        marginals = sums.marginals
        if self.beta_prior is None:
            prior_on, prior_off = self.smoothing * marginals, self.smoothing * (1.0 - marginals)
        else:
            prior_on, prior_off = (np.full(len(marginals), b - 1.0) for b in beta_pair(self.beta_prior))
        total = sums.observed + prior_on + prior_off
        known = sums.observed > 0
        constant = np.where(known, (sums.ones + prior_on) / np.where(known, total, 1.0), marginals)
        active = (sums.ones > 0) & (sums.ones < sums.observed)
        ml = not (prior_on.any() or prior_off.any())
        clip = self.score_clip if self.score_clip is not None else ML_CLIP if ml else 0.0
        return AspectModel(
            n_components=int(self.n_components),
            prior_on=prior_on,
            prior_off=prior_off,
            active=active,
            constant=np.clip(constant, 0.0, 1.0),
            rate=(sums.ones + sums.weight - sums.observed) / max(sums.weight, 1e-300),
            known=sums.observed / max(sums.weight, 1e-300),
            concentration=float(self.weight_concentration),
            n_pinned=int(self.n_phantom + self.n_on_phantom),
            n_pinned_on=int(self.n_on_phantom),
            total_weight=sums.weight,
            row_error=SERIES_SHARE * float(self.tol) * float(active.sum()) if self.series else 0.0,
            fold_tol=float(self.fold_tol),
            clip=float(clip),
            posterior=self.fill_in == "posterior",
        )

    # Starts.

    def _initializer(self, model: AspectModel) -> InitParams:
        given = self._given_probs(model)
        return model.init_params if given is None else Given(model.held(given))

    def _given_probs(self, model: AspectModel) -> Any:
        """Starting probabilities from the user, or None."""
        given = self.init
        if given is None or isinstance(given, str):
            return None
        if hasattr(given, "components_"):
            given = given.components_
        elif isinstance(given, tuple):
            given = given[1]
        try:
            probs = real_numbers(given)
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: init cannot be read as probabilities.") from None
        wanted = (model.n_components, len(model.active))
        if probs.shape != wanted or not ((probs >= 0) & (probs <= 1)).all():
            raise InputError(
                f"{self._name}: init must hold probabilities of shape {wanted}; got shape {probs.shape} with values "
                f"from {probs.min(initial=np.inf):g} to {probs.max(initial=-np.inf):g}."
            )
        return probs

    def _given_rows(self, model: AspectModel, sweep: Any, X: Any) -> Any:
        if not (isinstance(self.init, tuple) or hasattr(self.init, "predict_proba")):
            return None
        return sweep.map(_GivenRows(self._given_shares(model, X)), [None] * sweep.n_blocks)[1]

    def _given_shares(self, model: AspectModel, X: Any) -> Any:
        """Starting memberships from the user or from a mixture."""
        if hasattr(self.init, "predict_proba"):
            # The class under which the row is likeliest, whatever its weight: then the start is at least as likely as
            # the mixture (before it is softened).
            best = (self.init.predict_proba(X) / getattr(self.init, "weights_", 1.0)).argmax(axis=1)
            return 0.9 * np.eye(model.n_components)[best] + 0.1 / model.n_components
        with named(self._name):
            shares = real_numbers(self.init[0])
        if shares.ndim != 2 or shares.shape[1] != model.n_components:
            raise InputError(
                f"{self._name}: the memberships in init must have {model.n_components} columns; got shape {shares.shape}."
            )
        if not (shares >= 0).all() or np.abs(shares.sum(axis=1) - 1).max(initial=0.0) > 1e-6:
            raise InputError(f"{self._name}: the memberships in init must be 0 or more and sum to one in every row.")
        return shares

    def _warm_start_params(self, model: AspectModel, fresh: Callable[[], AspectParams]) -> AspectParams:
        """Exact zeros would never come back; columns that vary only now, and held causes, start anew."""
        probs = np.where(model.active, np.clip(self._params.probs, FLOOR, 1.0 - FLOOR), model.constant)
        new_start = fresh()
        if new_start is not self._params:
            new = model.active & (np.ptp(self._params.probs, axis=0) < 1e-9)
            probs = np.where(new, new_start.probs, probs)
            free = model.n_components - model.n_pinned
            probs[free:] = np.where(model.active, new_start.probs, probs)[free:]
        return self._params._replace(probs=probs)

    def _n_starts(self) -> int:
        return 1 if isinstance(self.init, tuple) or hasattr(self.init, "predict_proba") else int(self.n_init)

    def _start_digest(self) -> str:
        if hasattr(self.init, "components_"):
            return digest_of((self.init.components_, getattr(self.init, "weights_", None)))
        return digest_of(tuple(map(np.asarray, self.init))) if isinstance(self.init, tuple) else ""

    def _stream_model(self, model: AspectModel) -> AspectModel:
        """Columns that do not vary yet may do so later: all take part."""
        return replace(model, active=np.ones(len(model.active), np.bool_), phantoms=())

    def _forgets_rows(self) -> bool:
        return not isinstance(self.init, tuple)  # memberships that are given belong to rows

    def _check_warm_start(self, n_columns: int, what: str) -> None:
        super()._check_warm_start(n_columns, what)
        if what == "partial_fit" and self._model.n_pinned != self.n_phantom + self.n_on_phantom:
            raise InputError(f"{self._name}: partial_fit cannot go on with another n_phantom. Make a new estimator.")

    def _fit_sweep(self, sweep: Any, X: Any = None) -> None:
        if (
            not self._is_warm
            and isinstance(self.init, tuple)
            and len(np.asarray(self.init[0])) != sweep.source.shape[0]
        ):
            raise InputError(
                f"{self._name}: init has memberships for {len(np.asarray(self.init[0]))} rows, the table has "
                f"{sweep.source.shape[0]}."
            )
        super()._fit_sweep(sweep, X)

    # What came out.

    def _set_fitted_attributes(self) -> None:
        if self._params.tally is None:
            self._params = self._params._replace(tally=self._tally_of_stream())
        tally, self.components_ = self._params.tally, self._params.probs
        numbers = cause_numbers(tally)
        self.component_kinds_ = kinds_of(tally)
        pinned = self._model.n_pinned - self._model.n_pinned_on
        for k in range(self.n_components - self._model.n_pinned, self.n_components):
            self.component_kinds_[k] = (
                "phantom" if k < self.n_components - self._model.n_pinned + pinned else "on-phantom"
            )
        varies = tally.on.sum() + tally.off.sum() > 0
        self.weights_ = numbers["share"] if varies else tally.mass / tally.mass.sum()
        self.phantoms_ = [k for k, kind in enumerate(self.component_kinds_) if kind == "phantom"]
        self.empty_components_ = [k for k, kind in enumerate(self.component_kinds_) if kind == "dead"]
        self.latent_sample_ = self._params.latent.values
        self._model = replace(self._model, phantoms=tuple(self._zero_causes()))
        self._doubts()

    def _tally_of_stream(self) -> Tally:
        """What the causes did, from the running averages of a stream."""
        assert self._stream is not None
        stats, sample = self._stream.averages, self._params.latent
        pure = sample.weights @ np.where(sample.values > 0.9, sample.values, 0.0)
        pure *= stats.rows.first.sum() / max(sample.weights.sum(), 1e-300)
        return Tally(stats.on.sum(axis=0), stats.off.sum(axis=0), stats.rows.first, pure, 0.0)

    def _doubts(self) -> None:
        """Warn of causes that explain nothing, and of memberships that the data cannot tell."""
        if self.empty_components_:
            empty = [self.component_names_[k] for k in self.empty_components_]
            warnings.warn(
                f"{self._name}: {', '.join(empty)} explain{'s' * (len(empty) == 1)} nothing. Use fewer components or more "
                "starts.",
                EmptyComponentWarning,
                stacklevel=6,
            )
        n_kinds = len(self._params.latent.keys)
        if n_kinds < min(self.n_components, MOST_ROWS):
            warnings.warn(
                f"{self._name}: {self.n_components} causes for {n_kinds} distinct row{'s' * (n_kinds > 1)}. Use fewer "
                "components.",
                TableWarning,
                stacklevel=6,
            )
        varying = self.components_[:, self._model.active]
        if len(varying) > 1 and varying.shape[1]:
            apart = varying[1:] - varying[:1]
            lengths = np.linalg.eigvalsh(apart @ apart.T)
            if lengths[0] <= 1e-12 * max(lengths[-1], 1e-300):
                warnings.warn(
                    f"{self._name}: some causes are mixtures of others, so memberships are not determined by the data "
                    "(cell probabilities are). Use fewer components.",
                    DuplicateComponentWarning,
                    stacklevel=6,
                )

    def _store_result(self, model: Any, sweep: Any, result: Any, sums: Totals) -> None:
        super()._store_result(model, sweep, result, sums)
        self.conditional_log_likelihood_ = self._params.tally.log_likelihood + model.left_out(sums.ones, sums.observed)
        self.stability_ = _stability(self.components_, result.summaries, result.best.number, model.active)

    def sample(
        self, n: int = 1, random_state: Any = None, return_causes: bool = False, memberships: str = "training"
    ) -> Any:
        """Draw new rows from the fitted model, as in every family.

        Parameters
        ----------
        n, random_state, return_causes
            How many; by default the estimator's own seed; also return the hidden cause of every cell.
        memberships : {"training", "prior"}
            Memberships as those of the training rows, or drawn from the Dirichlet prior (the paper's; usually unlike
            the data).

        Returns
        -------
        (n, n_features) array of 0 and 1, and the causes (n, n_features) if asked for

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.sample(3, random_state=0).shape
        (3, 14)
        """
        if memberships not in ("training", "prior"):
            raise InputError(f"{self._name}: memberships must be 'training' or 'prior'; got {memberships!r}.")
        if memberships == "training":
            return super().sample(n, random_state, return_causes)
        rng = self._drawing(n, random_state)
        shares = rng.dirichlet(np.full(self.n_components, self._model.concentration), size=int(n))
        cells, causes = self._model.draw_cells(self._params, shares, rng)
        return (cells, causes) if return_causes else cells

    def inverse_transform(self, shares: Any) -> Any:
        """P(cell = 1) of rows with given memberships: ``shares @ components_``.

        Parameters
        ----------
        shares : (n_rows, n_components) array
            Memberships, as ``transform`` gives them.

        Returns
        -------
        (n_rows, n_features) array of P(cell = 1)

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.inverse_transform([[1, 0, 0]]).shape
        (1, 14)
        """
        shares = self._given_unknowns(shares)
        if (shares < -1e-9).any() or (np.abs(shares.sum(axis=1) - 1) > 1e-6).any():
            raise InputError(f"{self._name}: memberships are shares of a row: not negative, and one in sum.")
        return shares @ self.components_

    def summary(self) -> str:
        """A few lines on the fit: value, starts, convergence, kinds of causes.

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> print(model.summary().splitlines()[-1])
        K = 2 content + 1 phantom
        """
        counts = {kind: self.component_kinds_.count(kind) for kind in dict.fromkeys(self.component_kinds_)}
        kinds = " + ".join(f"{count} {kind}" for kind, count in counts.items())
        return f"{super().summary()}\nK = {kinds}"


class _GivenRows:
    """Row state from memberships of all rows."""

    def __init__(self, shares: Any) -> None:
        self.shares = shares

    def __call__(self, block: Block, rows: Any) -> tuple[None, Any]:
        mine = self.shares[block.start : block.start + block.n_source_rows]
        if block.origin is not None:
            mine = mine[np.unique(block.origin, return_index=True)[1]]
        return None, (floored(mine), block.weights)


def _stability(components: Any, kept: list[Any], best: int, active: Any) -> Any:
    """Mean distance (K,) of every cause from its match in the other starts; matched by mean absolute difference."""
    others = [probs for number, probs in enumerate(kept) if number != best and probs is not None]
    if not others or not active.any():
        return np.full(len(components), np.nan)
    distances = []
    for probs in others:
        cost = np.array([np.abs(row[active] - probs[:, active]).mean(axis=1) for row in components])
        rows, columns = linear_sum_assignment(cost)
        distances.append(cost[rows, columns])
    return np.mean(distances, axis=0)
