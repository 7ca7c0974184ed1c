"""Fill-in by several models together, with weights that were found on cells that none of them saw."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import quiet
from ..base.common import seed_of
from ..base.filling import FillingMixin
from ..base.options import BitOptions, Check, Flag, Positive, Whole, option_fields
from ..base.saving import SavesMixin
from ..base.sklearn_api import BaseEstimator
from ..data.block import Block, Float
from ..data.holdout import RowsSource, some_rows
from ..data.source import Source
from ..engine.protocols import Places
from ..errors import FitError, InputError, LatentBitsError, LatentBitsWarning
from .compare_families import compare, too_small
from .comparison import Comparison

# Of a time limit, for the comparison; what is left is for fits to the whole table.
COMPARING = 0.7


@dataclass(frozen=True)
class StackModel:
    """Probabilities of several models, weighted; the part of the contract for answers that is about cells."""

    models: tuple[Any, ...]
    weights: tuple[float, ...]

    def precompute(self, params: tuple[Any, ...]) -> tuple[Any, ...]:
        """What every model needs."""
        return tuple(model.precompute(its) for model, its in zip(self.models, params))

    def predict_cells(self, block: Block, precomputed: tuple[Any, ...]) -> Float:
        """P(cell = 1) (n, D)."""
        return self._weighted(lambda model, its: model.predict_cells(block, its), precomputed)

    def predict_cells_at(self, block: Block, precomputed: tuple[Any, ...], rows: Places, columns: Places) -> Float:
        """The same for single cells (m,)."""
        return self._weighted(lambda model, its: model.predict_cells_at(block, its, rows, columns), precomputed)

    def _weighted(self, answer: Callable[[Any, Any], Float], precomputed: tuple[Any, ...]) -> Float:
        """The mean of the answers of all models."""
        parts = [w * answer(model, its) for w, model, its in zip(self.weights, self.models, precomputed)]
        total: Float = np.sum(parts, axis=0)
        return total

    def sample_cells(
        self, block: Block, precomputed: tuple[Any, ...], rows: Places, columns: Places, by_row: Any, by_cell: Any
    ) -> Any:
        """A draw of single cells: all of a row from one model, which is drawn with its weight."""
        ends = np.cumsum(self.weights)
        ends[-1] = 1.0
        chosen = np.searchsorted(ends, by_row, side="right")
        within = (by_row - (ends - self.weights)[chosen]) / np.asarray(self.weights)[chosen]
        out = np.zeros(len(rows), bool)
        for number, (model, its) in enumerate(zip(self.models, precomputed)):
            mine = chosen[rows] == number
            if mine.any():
                drawn = model.sample_cells(block, its, rows, columns, np.clip(within, 0.0, 1.0 - 1e-12), by_cell)
                out[mine] = drawn[mine]
        return out


@option_fields
class StackedFill(FillingMixin, BitOptions, BaseEstimator):
    """Several families that fill unknown cells together.

    The families are compared on hidden cells (:func:`latentbits.compare`), convex weights are found with which they predict
    these best together, and those that count are fitted to the whole table.  Blanks are filled with the weighted mean of
    their probabilities, which predicts at least about as well as the best of them.

    Parameters
    ----------
    models : "all" or list
        As in :func:`latentbits.compare`.
    outside : bool
        Whether models that claim no hidden structure take part, too: logistic regression and gradient boosting of every
        column.  They cannot be saved.
    time_limit : float
        About how many seconds a fit may take, beside compiling kernels at their first use on a machine.  How much is tried
        in that time depends on the machine.
    random_state : int, RandomState or None
        Which cells are hidden, and the seeds of the fits.
    n_jobs : int or None
        Fits at a time.
    block_rows : int or None
        Rows per block; None chooses by the shape of the table.

    Attributes
    ----------
    members_ : list of estimators
        The models, fitted to the whole table.
    member_names_ : list of str
    weights_ : (n_members,) array
        Their weights, the largest first.
    log_loss_ : float
        Of the cells that were hidden, each predicted with weights that were found on other rows; NaN if the table is too
        small to hide any.
    comparison_ : Comparison or None
        How they were found; not saved.

    Examples
    --------
    >>> from latentbits.datasets import make_mixture
    >>> X = make_mixture(200, 8, 3, spread=3.0, unknown=0.1, random_state=0).data
    >>> model = StackedFill(["mixture", "trait"], time_limit=2.0, random_state=0).fit(X)
    >>> filled = model.impute(X)
    >>> bool(np.isnan(filled).any()), sorted(model.member_names_)[0] in ("mixture", "trait", "tree")
    (False, True)
    """

    option_checks: ClassVar[Mapping[str, Check]] = {
        "outside": Flag(),
        "time_limit": Positive(),
        "block_rows": Whole(1, others=(None,)),
    }
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "members_": list[SavesMixin],
        "member_names_": list[str],
        "weights_": Annotated[Any, of.weights("M")],
        "log_loss_": of.AnyNumber,
    }

    models: Any = field(default="all", kw_only=False)
    outside: bool = False
    time_limit: float = 60.0
    random_state: Any = None
    n_jobs: int | None = None
    block_rows: int | None = None

    def fit(self, X: Any, y: Any = None) -> StackedFill:
        """Compare the families, find their weights, and fit those that count.

        Parameters
        ----------
        X : table
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from latentbits import StackedFill, datasets
        >>> X = datasets.load_zoo().frame
        >>> StackedFill(["mixture"], time_limit=0.1, random_state=0).fit(X).log_loss_ < 0.5
        True
        """
        self._check_options()
        began = time.perf_counter()
        source = self._open(X, reset=True)
        seed = seed_of(self.random_state)
        if too_small(source) is not None:
            return self._keep(_alone(source), ["mixture"], np.ones(1), float("nan"), None)
        found = compare(
            source,
            "all" if self.models is None else self.models,
            rows=0.0,
            folds=1,
            budget=COMPARING * self.time_limit,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        left = began + self.time_limit - time.perf_counter()  # less where kernels had to be compiled first
        return self.adopt(found, source, max(left, (1 - COMPARING) * self.time_limit))

    def adopt(
        self,
        found: Comparison,
        X: Any,
        seconds: float,
        known: Mapping[str, Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> StackedFill:
        """Fit the members of a comparison's stack to its table; those with small weights only if there is time.

        Parameters
        ----------
        found : Comparison
        X : table
            That was compared on.
        seconds : float
            About how long it may take; the first member is fitted, however long that takes.
        known : dict, optional
            Models that are fitted already, by name.
        names : sequence of str, optional
            The models that take part, whatever time that takes, instead of all that count.

        Returns
        -------
        self

        Examples
        --------
        >>> import latentbits
        >>> X = latentbits.datasets.load_zoo().frame
        >>> found = latentbits.compare(X, ["mixture"], folds=1, budget=0.05, random_state=0)
        >>> stack = latentbits.StackedFill(random_state=0).adopt(found, X, 1.0)
        >>> round(float(sum(stack.weights_)), 6)
        1.0
        """
        source, fitted = self._open(X, reset=True), dict(known or {})
        chosen = list(found.stack(self.outside).weights) if names is None else list(names)
        if names is None:
            chosen = members_within(found, chosen, seconds, source.shape[0], fitted)
        while True:  # members that fail, or have no weight beside those that are left, are left out
            weights = found.stack_of(chosen).weights
            fitted.update(self._fitted(found, [name for name in weights if name not in fitted], source, seconds))
            left = [name for name in weights if name in fitted]
            if left == chosen:
                break
            if not left:
                raise FitError("StackedFill: none of the models that count could be fitted to the whole table.")
            chosen = left
        stack = found.stack_of(chosen)
        members = [fitted[name] for name in stack.weights]
        return self._keep(members, list(stack.weights), np.array(list(stack.weights.values())), stack.log_loss, found)

    def _fitted(self, found: Comparison, names: list[str], source: Source, seconds: float) -> dict[str, Any]:
        """Models by name, fitted to a table, or to some of its rows where a fit would take too long; not those that fail."""
        seed, out = seed_of(self.random_state), {}
        for name in names:
            n_rows, wanted = source.shape[0], seconds_of_fit(found, name, source.shape[0])
            few = max(found.plan.n_rows + found.plan.n_held, int(n_rows * seconds / max(wanted, 1e-9)))
            rows = source if few >= n_rows else RowsSource(source, some_rows(source, few, seed))
            try:
                out[name] = fitted_member(found, name, rows, seed, self.n_jobs)
            except (LatentBitsError, ArithmeticError, np.linalg.LinAlgError, MemoryError):
                continue
        return out

    def __getstate__(self) -> Any:
        """All but how the members were found, as in :meth:`save`."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        return {**state, "comparison_": None}

    def _keep(
        self, members: list[Any], names: list[str], weights: Any, log_loss: float, found: Comparison | None
    ) -> StackedFill:
        """The fitted attributes."""
        self.members_, self.member_names_, self.weights_ = members, names, weights / weights.sum()
        self.log_loss_, self.comparison_ = log_loss, found
        self._answer_from_members()
        return self

    def _answer_from_members(self) -> None:
        """The model that answers."""
        self._model = StackModel(tuple(one._model for one in self.members_), tuple(self.weights_.tolist()))
        self._params = tuple(one._params for one in self.members_)

    def save(self, path: Any) -> None:
        """Write the fitted stack to one file; :func:`latentbits.load` reads it.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from latentbits import StackedFill, datasets
        >>> X = datasets.load_zoo().frame
        >>> stack = StackedFill(["mixture"], time_limit=0.1, random_state=0).fit(X)
        >>> stack.save(Path(tempfile.mkdtemp()) / "stack.latentbits")
        """
        self._check_fitted()
        outside = [name for name, one in zip(self.member_names_, self.members_) if not isinstance(one, SavesMixin)]
        if outside:
            raise InputError(
                f"StackedFill: {outside[0]!r} is no model of latentbits and cannot be saved; fit with outside=False."
            )
        super().save(path)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not len(self.members_) == len(self.member_names_) == len(self.weights_) > 0:
            raise of.MisfitError("members_, member_names_ and weights_ must be of one length")
        for one in self.members_:
            if not hasattr(getattr(one, "_model", None), "predict_cells_at"):
                raise of.MisfitError(f"members_ holds a {type(one).__name__}, which fills no cells")
            if one.n_features_in_ != self.n_features_in_:
                raise of.MisfitError("members_ were fitted to other columns")
        self._answer_from_members()


def _alone(source: Source) -> list[Any]:
    """For tables on which nothing can be compared: columns on their own."""
    from ..mixture import BernoulliMixture

    with quiet(LatentBitsWarning):
        return [BernoulliMixture(1, n_init=1, random_state=0).fit(source)]


def seconds_of_fit(found: Comparison, name: str, n_rows: int) -> float:
    """About what a fit to so many rows takes, by those of the comparison."""
    return found.fit_seconds(name) * n_rows / max(1, found.plan.n_rows)


def members_within(
    found: Comparison, names: list[str], seconds: float, n_rows: int, known: Mapping[str, Any] | None = None
) -> list[str]:
    """The models that can be fitted in so many seconds, by what they took; always the first, and known ones."""
    kept: list[str] = []
    spent = 0.0
    for name in names:
        wanted = 0.0 if known and name in known else seconds_of_fit(found, name, n_rows)
        if not kept or spent + wanted <= seconds:
            kept.append(name)
            spent += wanted
    return kept


def fitted_member(found: Comparison, name: str, source: Any, seed: int, n_jobs: int | None) -> Any:
    """A model of a comparison, fitted to a table."""
    with quiet(LatentBitsWarning):
        return found.estimator(name, seed, n_jobs).fit(source)
