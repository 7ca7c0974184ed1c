"""Choosing the number of components by BIC, hidden cells or held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import frame_of, quiet
from ..base.options import Whole
from ..base.sklearn_api import clone, has_fit_parameter
from ..data.checks import check_weights
from ..data.holdout import HiddenSource, held_out_rows
from ..data.source import Source, open_source
from ..errors import InputError, LatentBitsWarning
from .candidates import several_sizes
from .hidden_cells import hidden_losses
from .plan import MOST_FOLDS

CRITERIA = ("bic", "aic", "cells", "rows")
# Hiding a tenth of a huge sparse table would hide mostly zeros, and very many; this many cells are plenty.
MOST_CELLS = 5_000_000


@dataclass(frozen=True)
class Selection:
    """The outcome of :func:`select`.

    Attributes
    ----------
    criterion : str
        What was compared; for all criteria smaller is better.
    table : list of dict
        One row per number of components: value, standard error of the difference to the best, objective, passes.
    best_ : int
        The number of components with the smallest value.
    simplest_ : int
        The smallest number within one standard error of the best (the same as ``best_`` for BIC and AIC).
    estimator_ : estimator
        Fitted to the whole table with ``best_`` components.

    Examples
    --------
    >>> from latentbits import BernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
    >>> from latentbits import select
    >>> chosen = select(model, X, range(1, 4), "bic")
    >>> chosen.best_, len(chosen.table)
    (3, 3)
    """

    criterion: str
    table: list[dict[str, Any]]
    best_: int
    simplest_: int
    estimator_: Any

    def to_frame(self) -> Any:
        """The table as a pandas frame.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> from latentbits import select
        >>> len(select(model, X, range(1, 4), "bic").to_frame())
        3
        """
        return frame_of(self.table)

    def plot(self, ax: Any = None) -> Any:
        """The curve over the numbers of components; returns the Axes.

        Parameters
        ----------
        ax : Axes, optional

        Returns
        -------
        Axes

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> from latentbits import select
        >>> ax = select(model, X, range(1, 4), "bic").plot()
        """
        from importlib import import_module

        return import_module("latentbits.plots").selection(self, ax=ax)


def select(
    estimator: Any,
    X: Any,
    n_components: Iterable[int] = range(1, 9),
    criterion: str | None = None,
    *,
    cells: float = 0.1,
    rows: float = 0.1,
    folds: int = 3,
    random_state: int = 0,
    sample_weight: Any = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Selection:
    """Choose the number of components.

    Parameters
    ----------
    estimator : estimator
        Its options are used for every fit; it is not changed.
    X : table
        The data.
    n_components : iterable of int
        The numbers to try.
    criterion : {"bic", "aic", "cells", "rows"}, optional
        BIC or AIC on the whole table; log-loss of hidden cells; negative log-likelihood of held-out rows.  Default: BIC
        where the theory behind it holds, else hidden cells (families whose rows each have parameters of their own).
    cells, rows : float
        Share of cells, or of rows, to hold out in each fold; one of them counts, by the criterion.
    folds : int
        Independent draws of the held-out part.
    random_state : int
        Which cells or rows are held out; the same for every number of components.
    sample_weight : (n_rows,) array-like, optional
        Row weights; with "cells" they must be absent.
    progress : function, optional
        Called with (done, total, note).

    Returns
    -------
    Selection

    Examples
    --------
    >>> import latentbits
    >>> from latentbits.datasets import make_mixture
    >>> X = make_mixture(n_rows=600, n_columns=12, n_components=3, spread=3.0, random_state=1).data
    >>> latentbits.select(latentbits.BernoulliMixture(random_state=0), X, range(1, 6)).best_
    3
    """
    if getattr(estimator, "size_option", "n_components") not in estimator.get_params(deep=False):
        raise InputError(
            f"select: {type(estimator).__name__} has no number of components to choose; "
            + (
                "choose latent_shape, basis_shape and ridge by GridSearchCV on its score."
                if hasattr(estimator, "latent_shape")
                else "it finds the number itself (fit it, and look at its summary)."
            )
        )
    if isinstance(n_components, int):
        raise InputError("select: n_components must be several numbers to try, e.g. range(1, 9); got one.")
    numbers = sorted(set(several_sizes(n_components, "select")))
    criterion = estimator.criterion if criterion is None else criterion
    if criterion not in CRITERIA:
        raise InputError(f"select: criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}.")
    if criterion == "cells" and not hasattr(estimator, "impute"):
        raise InputError(f"select: {type(estimator).__name__} has no unknown cells to be filled. Use criterion='rows'.")
    if criterion in ("bic", "aic") and not hasattr(estimator, criterion):
        raise InputError(
            f"select: {type(estimator).__name__} has no {criterion.upper()} (it counts the parameters of one fitted model). "
            f"Use criterion='{'cells' if hasattr(estimator, 'impute') else 'rows'}'."
        )
    if criterion == "rows" and not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(
            f"select: rows are held out by a weight of zero, and {type(estimator).__name__} has no row weights. Use "
            "criterion='cells'."
        )
    for name, share in (("cells", cells), ("rows", rows)):
        if not 0 < share < 1:
            raise InputError(f"select: {name} must lie between 0 and 1; got {share!r}.")
    complaint = Whole(1, most=MOST_FOLDS)(folds)
    if complaint is not None:
        raise InputError(f"select: folds {complaint}")
    complaint = Whole(0)(random_state)
    if complaint is not None:
        raise InputError(f"select: random_state {complaint}")
    if criterion == "cells" and sample_weight is not None:
        raise InputError("select: hidden cells are not weighted; leave sample_weight out or use another criterion.")
    losses_by = {"bic": _by_criterion, "aic": _by_criterion, "cells": _by_cells, "rows": _by_rows}[criterion]
    source = open_source(
        X,
        owner="select",
        binarize=estimator.binarize,
        block_rows=estimator.block_rows,
        sample_weight=sample_weight if criterion in ("bic", "aic") else None,
        merge=criterion in ("bic", "aic"),
        work=estimator.work,
    )
    clone(estimator).set_params(**{estimator.size_option: numbers[-1]})._check_size(source)
    tell = progress or (lambda done, total, note: None)
    context = _Context(
        estimator,
        X,
        source,
        criterion,
        rows if criterion == "rows" else cells,
        folds,
        int(random_state),
        sample_weight,
        tell,
    )
    with quiet(LatentBitsWarning):
        losses, weights = losses_by(context, numbers)
    return _chosen(context, numbers, losses, weights)


@dataclass(frozen=True)
class _Context:
    """What all criteria share."""

    estimator: Any
    X: Any
    source: Source
    criterion: str
    share: float
    folds: int
    seed: int
    weights: Any
    tell: Callable[[int, int, str], None]

    def fresh(self, k: int) -> Any:
        """An unfitted estimator with ``k`` components; a checkpoint could belong to one of the fits only."""
        return clone(self.estimator).set_params(**{self.estimator.size_option: k}, checkpoint=None)


def _chosen(context: _Context, numbers: list[int], losses: list[Any], weights: Any) -> Selection:
    """Compare the losses, pair by pair with the best, and refit."""
    means = [float(np.average(loss, weights=weights)) for loss in losses]
    best = int(np.argmin(means))
    table = []
    for k, loss, mean in zip(numbers, losses, means):
        error = _standard_error(np.asarray(loss) - np.asarray(losses[best]), weights)
        table.append({"n_components": k, context.criterion: mean, "above_best": mean - means[best], "se": error})
    near = [k for k, row in zip(numbers, table) if row["above_best"] <= row["se"]]
    estimator = context.fresh(numbers[best])
    estimator.fit(context.X, **({} if context.weights is None else {"sample_weight": context.weights}))
    return Selection(context.criterion, table, numbers[best], min(near), estimator)


def _standard_error(differences: Any, weights: Any) -> float:
    """Standard error of a weighted mean of paired differences."""
    if len(differences) < 2:
        return 0.0
    shares = weights / weights.sum()
    spread = ((differences - (shares * differences).sum()) ** 2 * shares**2).sum()
    return float(np.sqrt(spread * len(differences) / (len(differences) - 1)))


def _by_criterion(context: _Context, numbers: list[int]) -> tuple[list[Any], Any]:
    """BIC or AIC of every number of components."""
    out = []
    for done, k in enumerate(numbers):
        context.tell(done, len(numbers), f"K={k}")
        fitted = context.fresh(k).fit(context.source)
        total = fitted._training_log_likelihood(context.source)
        price = np.log(fitted.weight_seen_) if context.criterion == "bic" else 2.0
        out.append([-2 * total + fitted.n_free_ * price])
    return out, np.ones(1)


def _by_cells(context: _Context, numbers: list[int]) -> tuple[list[Any], Any]:
    """Log-loss of every hidden cell, for every number of components."""
    n_cells = context.source.shape[0] * context.source.shape[1]
    share = min(context.share, MOST_CELLS / n_cells)
    losses: list[list[Any]] = [[] for _ in numbers]
    for fold in range(context.folds):
        hidden = HiddenSource(context.source, share, context.seed, fold)
        for i, k in enumerate(numbers):
            context.tell(fold * len(numbers) + i, context.folds * len(numbers), f"fold {fold + 1}, K={k}")
            losses[i].append(hidden_losses(context.fresh(k).fit(hidden), hidden, context.estimator.n_jobs))
    joined = [np.concatenate(loss) for loss in losses]
    return joined, np.ones(len(joined[0]))


def _by_rows(context: _Context, numbers: list[int]) -> tuple[list[Any], Any]:
    """Negative log-likelihood of every held-out row; held-out rows have weight zero in the fit."""
    n_rows = context.source.shape[0]
    given = check_weights(context.weights, n_rows, "select")
    given = np.ones(n_rows) if given is None else given
    losses: list[list[Any]] = [[] for _ in numbers]
    weights = []
    for fold in range(context.folds):
        held = held_out_rows(n_rows, context.share, context.seed, fold) & (given > 0)
        if held.sum() == (given > 0).sum() or not held.any():
            raise InputError(f"select: with {n_rows} rows a share of {context.share} holds out all rows or none.")
        for i, k in enumerate(numbers):
            context.tell(fold * len(numbers) + i, context.folds * len(numbers), f"fold {fold + 1}, K={k}")
            fitted = context.fresh(k).fit(context.X, sample_weight=np.where(held, 0.0, given))
            losses[i].append(-fitted.score_samples(context.source)[held])
        weights.append(given[held])
    return [np.concatenate(loss) for loss in losses], np.concatenate(weights)
