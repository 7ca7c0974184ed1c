"""What estimators share that predict ratings of users for items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..data.block import Float
from ..data.checks import check_weights
from ..data.numbers import real_numbers
from ..data.ratings import Ratings, RatingSource, read_ratings, user_scale
from ..data.rng import stream
from ..declared import MisfitError
from ..errors import InputError, InputTypeError, brief
from .answers import AnswersMixin
from .common import seed_of
from .fitting import FittingMixin
from .options import Whole
from .sklearn_api import clone

# Scales with more different ratings than this are taken as continuous.
MOST_STEPS = 30


class Errors(NamedTuple):
    """Errors of predictions of hidden ratings: of every rating, and their means.

    Parameters
    ----------
    errors : (n,) array
        What was told less what was given, of every hidden rating.
    mae, rmse : float
        Mean absolute error, root of the mean squared error.
    mae_se, rmse_se : float
        Their standard errors.

    Examples
    --------
    >>> from latentbits.base.recommending import Errors
    >>> Errors._fields[:3]
    ('errors', 'mae', 'rmse')
    """

    errors: Float
    mae: float
    rmse: float
    mae_se: float
    rmse_se: float

    def __repr__(self) -> str:
        mae, rmse = f"MAE {self.mae:.4f} ± {self.mae_se:.4f}", f"RMSE {self.rmse:.4f} ± {self.rmse_se:.4f}"
        return f"{mae}, {rmse} ({len(self.errors)} ratings)"


class RecommendingMixin(FittingMixin, AnswersMixin):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`; families define ``_points(ratings, rows, columns)``."""

    fitted_types: ClassVar[Mapping[str, Any]] = {
        "weights_": Annotated[Any, of.weights("K")],
        "means_": Annotated[Any, of.reals("K", "D")],
        "variances_": Annotated[Any, of.positives("K", "D")],
        "users_": Annotated[Any, of.names("N")],
        "items_": Annotated[Any, of.names("D")],
        "scale_": Annotated[Any, of.reals("*")] | None,
        "support_": Annotated[Any, of.counts("D")],
        "overall_": Annotated[Any, of.reals("2")],
        "rating_indptr_": Annotated[Any, of.Array(("N+1",), "int64", least=0)],
        "rating_indices_": Annotated[Any, of.places("R", below="D", dtype="int32")],
        "rating_values_": Annotated[Any, of.reals("R")],
    }

    scale: Any
    user_scale: str
    duplicates: str
    unknown: str
    items_: Any
    overall_: Any

    def _open(
        self, X: Any, *, reset: bool, sample_weight: Any = None, merge: bool = False, patterns: bool = False
    ) -> Any:
        """Ratings as blocks of users."""
        ratings = read_ratings(X, self._name, self.duplicates, self.items_ if not reset or self._is_warm else None)
        weights = check_weights(sample_weight, ratings.n_users, self._name)
        if reset:
            self._ratings, self.n_features_in_ = ratings, len(ratings.items)
            self._counted = np.repeat(np.ones(ratings.n_users) if weights is None else weights, np.diff(ratings.indptr))
            values, share = ratings.values, self._counted / max(float(self._counted.sum()), 1e-300)
            self._steps_now = self._scale(values[self._counted > 0])
            mean = float(share @ values)
            self._overall = (mean, max(float(share @ (values - mean) ** 2), 1e-12))
            self._users = user_scale(ratings, self.user_scale, self._overall)
        scaled = self._users if reset else user_scale(ratings, self.user_scale, tuple(self.overall_))
        return RatingSource(ratings, scaled, self.block_rows, weights)

    def _scale(self, values: Float) -> Any:
        """The ratings that can be given, ascending, or None."""
        if self.scale is None:
            return None
        steps = np.unique(values)
        if isinstance(self.scale, str) and self.scale == "auto":
            return steps if len(steps) <= MOST_STEPS else None
        try:
            given = np.unique(real_numbers(self.scale))
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: scale must be 'auto', None or numbers; got {self.scale!r:.60}.") from None
        outside = steps[~np.isin(steps, given)]
        if len(outside):
            raise InputError(f"{self._name}: a rating is {outside[0]:g}, which is not on the scale that was given.")
        return given

    def _bars_are(self) -> str:
        return "ratings above the mean of all users, scaled"

    def _keep_ratings(self) -> None:
        """Set the attributes that tell of the ratings that were fitted."""
        held = self._ratings
        self.users_, self.items_, self.scale_ = held.users, held.items, self._steps_now
        self.support_ = np.bincount(held.indices[self._counted > 0], minlength=len(self.items_))
        self.overall_ = np.array(self._overall)
        self.rating_indptr_, self.rating_indices_, self.rating_values_ = held.indptr, held.indices, held.values

    def _check_loaded(self) -> None:
        super()._check_loaded()
        starts, steps = self.rating_indptr_, self.scale_
        if starts[0] != 0 or starts[-1] != len(self.rating_values_) or (np.diff(starts) < 0).any():
            raise MisfitError("rating_indptr_ must rise from 0 to the number of ratings")
        if (self.support_ > np.bincount(self.rating_indices_, minlength=len(self.items_))).any():
            raise MisfitError("support_ must not count more ratings than there are")
        # Ratings of users without weight are not counted, and need not be on the scale.
        on_scale = len(self.rating_values_) if steps is None else np.isin(self.rating_values_, steps).sum()
        if on_scale < self.support_.sum() or (steps is not None and (np.diff(steps) <= 0).any()):
            raise MisfitError("scale_ must hold all ratings, each above the one before")
        for name in ("users_", "items_"):
            if len(np.unique(getattr(self, name))) != len(getattr(self, name)):
                raise MisfitError(f"{name} must be different from each other")
        if self.overall_[1] <= 0:
            raise MisfitError("overall_ must be a mean and a variance above 0")

    def _training(self) -> Ratings:
        """The ratings that were fitted."""
        return Ratings(self.rating_indptr_, self.rating_indices_, self.rating_values_, self.users_, self.items_)

    def _numbers(self, names: Any, known: Any, what: str) -> Any:
        """Numbers of users or items by what they are called; -1 for strangers, if they are let in."""
        place = {name: i for i, name in enumerate(known.tolist())}
        try:
            out = np.array([place.get(name, -1) for name in np.asarray(names).tolist()], np.int64)
        except (TypeError, ValueError):
            raise InputTypeError(f"{self._name}: a {what} is called by one name each; got {brief(names)}.") from None
        strangers = np.flatnonzero(out < 0)
        if len(strangers) and self.unknown == "error":
            raise InputError(
                f"{self._name}: {what} {np.asarray(names).tolist()[strangers[0]]!r} was not fitted. Set unknown='prior' to "
                "answer by what holds for everybody."
            )
        return out

    def _pairs(self, users: Any, items: Any) -> tuple[Any, Any]:
        """Numbers of users and items, equally many."""
        try:
            users, items = np.atleast_1d(np.asarray(users)), np.atleast_1d(np.asarray(items))
        except ValueError:
            raise InputTypeError(f"{self._name}: users and items must be lists of names.") from None
        try:
            users, items = np.broadcast_arrays(users, items)
        except ValueError:
            raise InputError(
                f"{self._name}: users and items must be equally many; got {len(users)} and {len(items)}."
            ) from None
        return self._numbers(users, self.users_, "user"), self._numbers(items, self.items_, "item")

    def _without_cells(self, ratings: Ratings, rows: Any, columns: Any) -> tuple[RatingSource, Any]:
        """Users at ``rows`` (m,), each without the rating of item ``columns`` (m,), as blocks; and their scales.

        Users of number -1 have no ratings.
        """
        picked = ratings.take(np.maximum(rows, 0))
        owner = np.repeat(np.arange(len(rows)), np.diff(picked.indptr))
        strange = (np.asarray(rows) < 0)[owner]
        picked = picked.without(np.flatnonzero((picked.indices == np.asarray(columns)[owner]) | strange))
        scaled = user_scale(picked, self.user_scale, (float(self.overall_[0]), float(self.overall_[1])))
        return RatingSource(picked, scaled, None), scaled

    def _one_user(self, ratings: Any) -> Ratings:
        """Ratings of a user who was not fitted."""
        if not isinstance(ratings, dict):
            raise InputError(
                f"{self._name}: the ratings of a user are a dict of item to rating; got {type(ratings).__name__!r}."
            )
        columns = self._numbers(list(ratings), self.items_, "item") if ratings else np.empty(0, np.int64)
        try:
            values = np.array([float(value) for value in ratings.values()])
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: ratings are numbers; got {list(ratings.values())!r:.60}.") from None
        if not np.isfinite(values).all() or (self.scale_ is not None and not np.isin(values, self.scale_).all()):
            raise InputError(
                f"{self._name}: ratings must be on the scale of the fitted ones; got {values.tolist()!r:.60}."
            )
        kept = np.flatnonzero(columns >= 0)
        indptr = np.array([0, len(kept)], np.int64)
        return Ratings(indptr, columns[kept].astype(np.int32), values[kept], np.array([0]), self.items_)

    def evaluate_all_but_one(
        self, ratings: Any, folds: int = 10, repeats: int = 3, random_state: Any = 0, **how: Any
    ) -> Errors:
        """Errors for ratings of users who were not fitted, one hidden of each at a time.

        Parameters
        ----------
        ratings
            As for ``fit``.
        folds : int
            Parts into which the users are split; each is predicted by a model of the others.
        repeats : int
            Ratings hidden of every user, one after the other.
        random_state : int
            Seed of folds and hidden ratings: the same for every model that is to be compared.
        **how
            Options of ``predict``.

        Returns
        -------
        Errors
            ``errors`` of all predictions in a fixed order, ``mae``, ``rmse`` and their standard errors.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> found = model.evaluate_all_but_one((users, items, ratings), folds=2)
        >>> len(found.errors), found.mae <= found.rmse
        (90, True)
        """
        self._check("folds", folds, Whole(2))
        self._check("repeats", repeats, Whole(1))
        table = read_ratings(ratings, self._name, self.duplicates)
        parts = []
        for train, test, hidden in all_but_one(table, folds, repeats, seed_of(random_state)):
            model = clone(self).set_params(unknown="prior").fit(table.take(train))
            mine = table.take(test)
            for places in hidden:
                rows = np.searchsorted(mine.indptr, places, side="right") - 1
                told = model._points(mine.without(places), rows, mine.indices[places], **how)
                parts.append(told - mine.values[places])
        return errors_of(np.concatenate(parts))


def all_but_one(table: Ratings, folds: int, repeats: int, seed: int) -> Any:
    """Training users, test users, and for every repeat the places of the hidden ratings among those of the test users.

    Users with a single rating are never tested.
    """
    rng = stream(seed, "split")
    order = rng.permutation(table.n_users)
    for fold in range(folds):
        test = np.sort(order[fold::folds])
        test = test[np.diff(table.indptr)[test] > 1]
        train = np.setdiff1d(np.arange(table.n_users), order[fold::folds])
        counts = np.diff(table.indptr)[test]
        starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
        yield train, test, [starts + (rng.random(len(test)) * counts).astype(np.int64) for _ in range(repeats)]


def errors_of(errors: Float) -> Errors:
    """Mean absolute and root mean squared error, with standard errors."""
    size, n = np.abs(errors), len(errors)
    mae, rmse = float(size.mean()), float(np.sqrt((errors**2).mean()))
    mae_se = float(size.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    rmse_se = float((errors**2).std(ddof=1) / np.sqrt(n) / (2 * max(rmse, 1e-300))) if n > 1 else np.nan
    return Errors(errors, mae, rmse, mae_se, rmse_se)
