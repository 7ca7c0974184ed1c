"""``BernoulliGaussRecommender``: collaborative filtering with whole distributions of ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.special import ndtr

from .. import declared as of
from ..base import LatentBitsEstimator, frame_of, records
from ..base.options import Check, Flag, Number, OneOf, OptimiserOptions, Positive, Whole, option_fields
from ..base.recommending import RecommendingMixin
from ..data.block import Float
from ..data.ratings import Ratings
from ..data.summary import ValueTotals
from ..engine.restarts import InitParams
from ..errors import InputError
from ..maths.topics import n_starts, topic_initializer
from .model import LOG_TWO_PI, LbgModel, LbgParams, LbgPrecomputed, Words


@dataclass(frozen=True)
class RatingModel(LbgModel):
    """Every rating a keyword; which items are rated is modelled or left out."""

    modelled: bool = False

    def precompute(self, params: LbgParams) -> LbgPrecomputed:
        """Logarithms, once per pass."""
        if self.modelled:
            return super().precompute(params)
        log_variances, halves = np.log(params.variances), 0.5 / params.variances
        tables = np.empty((params.means.shape[1], 3, self.n_components))
        tables[:, 0] = -0.5 * (LOG_TWO_PI + log_variances).T
        tables[:, 1], tables[:, 2] = params.means.T, halves.T
        return LbgPrecomputed(
            np.log(params.weights), tables, params, self._penalty(params, None, None, log_variances, halves)
        )

    def log_prob(self, block: Any, precomputed: LbgPrecomputed) -> Float:
        """log p(ratings of the user, scaled) (n,)."""
        scores = self.scores(block, precomputed)
        top = scores.max(axis=1)
        return np.asarray(top + np.log(np.exp(scores - top[:, None]).sum(axis=1)))


@option_fields
class BernoulliGaussRecommender(RecommendingMixin, OptimiserOptions, LatentBitsEstimator):  # type: ignore[misc]
    """Predict ratings from those of users of the same kind, with their uncertainty.

    A user has one of K tastes; a taste says how every item is rated, as a Gaussian.

    Parameters
    ----------
    n_components : int
        Number of tastes K.
    missingness : {"ignored", "modelled"}
        Whether which items a user rates says something about the taste.  The paper models it, which swamps the ratings.
    user_scale : {"zscore", "none"}
        Rate every user on a scale of their own (shrunk by five ratings toward everybody's), or as they are (the paper).
    value_smoothing : float or "auto"
        κ: ratings' worth of the item's own Gaussian in every taste; "auto" is 20 for scaled ratings, 5 for raw ones.
    smoothing : float
        α: users' worth of the item's share of raters, if missingness is modelled.
    variance_floor : float
        Least variance, as a share of that of all ratings.
    scale : "auto", array or None
        The ratings that can be given; "auto" takes those that occur if they are few.  None: any number.
    duplicates : {"error", "last", "mean"}
        What to do with two ratings of one item by one user.
    unknown : {"error", "prior"}
        Users and items that were not fitted are refused, or answered by what holds for everybody.
    init : {"portfolio", "k-means", "anneal", "random"}
        As in :class:`BernoulliGaussMixture`.

    Attributes
    ----------
    users_, items_ : arrays
        What users and items are called.
    weights_ : (n_components,) array
        Shares of the tastes, decreasing.
    means_, variances_ : (n_components, n_items) array
        Of the (scaled) ratings of every item.
    support_ : (n_items,) array
        Training ratings of every item.
    scale_ : array or None

    References
    ----------
    A. Shashua, G. Pragier, *The Latent Bernoulli-Gauss Model for Data Analysis*, eq 10.

    Examples
    --------
    >>> from latentbits import BernoulliGaussRecommender
    >>> users = [u for u in range(20) for _ in "abcd"]
    >>> items = list("abcd") * 20
    >>> ratings = [5, 5, 1, 2, 1, 2, 5, 4] * 10  # one half likes a and b, the other c and d
    >>> model = BernoulliGaussRecommender(2, user_scale="none", random_state=0).fit((users, items, ratings))
    >>> model.recommend(ratings={"a": 5, "c": 1}, n=1)[0]["item"]
    'b'
    """

    record_types: ClassVar[dict[str, Any]] = records(RatingModel, LbgParams, Words, ValueTotals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": LbgParams,
        "_model": RatingModel,
        "pooled_": Annotated[Any, of.reals("2")],
    }
    accelerate = False
    warm_start = False
    work = 4
    option_checks: ClassVar[Mapping[str, Check]] = {
        "missingness": OneOf(("ignored", "modelled")),
        "user_scale": OneOf(("zscore", "none")),
        "duplicates": OneOf(("error", "last", "mean")),
        "unknown": OneOf(("error", "prior")),
        "init": OneOf(("portfolio", "k-means", "anneal", "random")),
        "smoothing": Number(0.0),
        "variance_floor": Positive(),
        "value_smoothing": Number(0.0, others=("auto",)),
    }

    n_components: int = field(default=8, kw_only=False)
    missingness: str = "ignored"
    user_scale: str = "zscore"
    value_smoothing: Any = "auto"
    smoothing: float = 1.0
    variance_floor: float = 0.05
    scale: Any = "auto"
    duplicates: str = "error"
    unknown: str = "error"
    init: str = "anneal"
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-06

    def _check_table(self, sums: Any) -> None:
        if sums.n_rows < self.n_components:
            raise InputError(f"{self._name}: {self.n_components} tastes need as many users; there are {sums.n_rows}.")

    def _table_sums(self, sweep: Any) -> tuple[Any, int]:
        """Sums, and what holds for every item before the tastes."""
        sums, digest = super()._table_sums(sweep)
        count, total, square = sums.ones, sums.sums, sums.squares
        n = max(float(count.sum()), 1e-300)
        mean = float(total.sum() / n)
        spread = max(float(square.sum() / n - mean**2), 1e-12)
        own = total / np.maximum(count, 1e-300)
        within = np.maximum(square - count * own**2, 0.0)
        floors = np.full(len(count), self.variance_floor * spread)
        centers, spreads = (total + mean) / (count + 1.0), np.maximum((within + spread) / (count + 1.0), floors)
        shares = (count + 0.5) / (sums.weight + 1.0)
        self._words = Words(shares, centers, spreads, floors, np.zeros(len(count)), np.ones(len(count)))
        self._pooled = (mean, spread)
        return sums, digest

    def _build_model(self, sums: Any) -> RatingModel:
        automatic = 20.0 if self.user_scale == "zscore" else 5.0
        modelled = self.missingness == "modelled"
        return RatingModel(
            n_components=int(self.n_components),
            words=self._words,
            n_keywords=1.0,
            by_share=True,
            smoothing=float(self.smoothing) if modelled else 0.0,
            value_smoothing=automatic if self.value_smoothing == "auto" else float(self.value_smoothing),
            total_weight=sums.weight,
            modelled=modelled,
        )

    def _n_starts(self) -> int:
        return n_starts(self.init, int(self.n_init))

    def _initializer(self, model: RatingModel) -> InitParams:
        return topic_initializer(model, self.init, self._name)

    def _set_fitted_attributes(self) -> None:
        params = self._params
        self.weights_, self.means_, self.variances_ = params.weights, params.means, params.variances
        self.components_, self.marginals_ = params.probs, self._model.words.shares
        self.pooled_ = np.array(self._pooled)
        self._keep_ratings()

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The tastes as rows of a table: the ``top`` items of each that it rates higher than everybody does.

        As in every family, with feature (the item), loading (scaled mean above everybody's) and marginal (that).

        Parameters
        ----------
        top : int
            Items per taste.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> model.components_table(top=1)[0]["component"]
        'taste 1'
        """
        self._check_fitted()
        self._check("top", top, Whole(0))
        everybody = self._model.words.centers
        called, out = self.component_names_, []
        for k, means in enumerate(self.means_):
            for r, j in enumerate(np.argsort(everybody - means, kind="stable")[:top]):
                item = self.items_[j]
                out.append(
                    {
                        "component": called[k],
                        "weight": float(self.weights_[k]),
                        "rank": r + 1,
                        "feature": item.item() if hasattr(item, "item") else item,
                        "loading": float(means[j] - everybody[j]),
                        "marginal": float(everybody[j]),
                    }
                )
        return out

    # Questions.

    def _tastes(self, ratings: Ratings, rows: Any, held: Any) -> tuple[Float, Float, Float]:
        """Taste posteriors (m, K) of users at rows, each without the rating of item ``held`` (m,); means and spreads (m,)."""
        source, scaled = self._without_cells(ratings, rows, held)
        precomputed = self._model.precompute(self._params)
        shares = np.concatenate([self._model.memberships(source.block(b), precomputed) for b in range(source.n_blocks)])
        return shares, scaled.means, scaled.spreads

    def _item_gaussians(self, columns: Any) -> tuple[Float, Float]:
        """Means and variances (m, K) of items; strangers have those of all ratings."""
        means, variances = self.means_.T[np.maximum(columns, 0)], self.variances_.T[np.maximum(columns, 0)]
        strange = (np.asarray(columns) < 0)[:, None]
        return np.where(strange, self.pooled_[0], means), np.where(strange, self.pooled_[1], variances)

    def _mixed(self, ratings: Ratings, rows: Any, columns: Any) -> tuple[Float, Float, Float]:
        """Taste shares (m, K), and means and variances (m, K) of the ratings, unscaled, of cells."""
        shares, centre, spread = self._tastes(ratings, rows, columns)
        if self.missingness == "modelled":
            shares = shares * np.where((columns < 0)[:, None], 1.0, self.components_.T[np.maximum(columns, 0)])
            shares /= shares.sum(axis=1, keepdims=True)
        means, variances = self._item_gaussians(columns)
        return shares, centre[:, None] + spread[:, None] * means, spread[:, None] ** 2 * variances

    def predict(self, users: Any, items: Any, point: str = "mean", kind: str = "normalised") -> Any:
        """Ratings of items by users, from the other ratings of these users.

        Parameters
        ----------
        users, items : array-like
            Equally many, or one of either.
        point : {"mean", "median", "mode"}
            Of the distribution: the mean errs least in squares, the median and the mode in absolute size.
        kind : {"normalised", "density", "cell"}
            How a Gaussian becomes probabilities of the steps of the scale (see :meth:`predict_distribution`).

        Returns
        -------
        (n,) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> model.predict([0, 0], [0, 1]).round(0).tolist()
        [3.0, 4.0]
        """
        self._check_fitted()
        rows, columns = self._pairs(users, items)
        return self._points(self._training(), rows, columns, point, kind)

    def _points(self, ratings: Ratings, rows: Any, columns: Any, point: str = "mean", kind: str = "normalised") -> Any:
        """Point predictions of cells."""
        self._check("point", point, OneOf(("mean", "median", "mode")))
        shares, means, variances = self._mixed(ratings, rows, columns)
        if self.scale_ is None:
            return (shares * means).sum(axis=1)
        chances = self._steps(shares, means, variances, kind)
        if point == "mean":
            return chances @ self.scale_
        best = chances.argmax(axis=1) if point == "mode" else (np.cumsum(chances, axis=1) < 0.5).sum(axis=1)
        return self.scale_[np.minimum(best, len(self.scale_) - 1)]

    def _steps(self, shares: Float, means: Float, variances: Float, kind: str) -> Float:
        """Probabilities (m, T) of the steps of the scale."""
        self._check("kind", kind, OneOf(("normalised", "density", "cell")))
        steps = self.scale_
        if kind == "cell":
            edges = np.concatenate(([-np.inf], 0.5 * (steps[1:] + steps[:-1]), [np.inf]))
            reached = ndtr((edges - means[:, :, None]) / np.sqrt(variances)[:, :, None])
            by_taste = np.diff(reached, axis=2)
        else:
            logs = -0.5 * ((steps - means[:, :, None]) ** 2 / variances[:, :, None] + np.log(variances)[:, :, None])
            top = logs.max(axis=2 if kind == "normalised" else (1, 2), keepdims=True)
            by_taste = np.exp(logs - top)
            if kind == "normalised":
                by_taste /= by_taste.sum(axis=2, keepdims=True)
        chances = np.einsum("mk,mkt->mt", shares, by_taste)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict_distribution(self, users: Any, items: Any, kind: str = "normalised") -> Any:
        """Probability of every step of the scale.

        Parameters
        ----------
        users, items : array-like
        kind : {"normalised", "density", "cell"}
            Gaussians at the steps, normalised per taste; mixed as they are, which favours sure tastes (the paper); or
            integrated between the steps.

        Returns
        -------
        (n, n_steps) array
            In the order of ``scale_``.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> float(model.predict_distribution([0], [1]).sum().round(6))
        1.0
        """
        self._check_fitted()
        if self.scale_ is None:
            raise InputError(f"{self._name}: the ratings have no scale; give scale= to have one.")
        return self._steps(*self._mixed(self._training(), *self._pairs(users, items)), kind)

    def fold_in(self, ratings: Any) -> Any:
        """Taste posterior of a new user.

        Parameters
        ----------
        ratings : dict of item to rating

        Returns
        -------
        (n_components,) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> model.fold_in({0: 5, 1: 2}).shape
        (2,)
        """
        self._check_fitted()
        return self._tastes(self._one_user(ratings), np.array([0]), np.array([-1]))[0][0]

    def recommend(  # type: ignore[override]  # of ratings, not of bits
        self,
        user: Any = None,
        n: int = 10,
        *,
        ratings: Any = None,
        exclude_seen: bool = True,
        by: str = "mean",
        min_ratings: int = 5,
    ) -> list[dict[str, Any]]:
        """The items that a user would rate highest.

        Parameters
        ----------
        user
            A user who was fitted; or give ``ratings``.
        n : int
            How many.
        ratings : dict of item to rating, optional
            Of a new user.
        exclude_seen : bool
            Leave out items that the user has rated.
        by : {"mean", "lower"}
            Order by the mean, or by the mean less a standard deviation.
        min_ratings : int
            Leave out items with fewer training ratings.

        Returns
        -------
        list of dict
            With rank, item, rating (the mean), sd and support.

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> model.recommend(0, n=1, exclude_seen=False)[0]["rank"]
        1
        """
        self._check_fitted()
        self._check("n", n, Whole(1))
        self._check("by", by, OneOf(("mean", "lower")))
        if (user is None) == (ratings is None):
            raise InputError(f"{self._name}: name a user who was fitted, or give the ratings of a new one.")
        held, row = (
            (self._training(), int(self._numbers([user], self.users_, "user")[0]))
            if ratings is None
            else (self._one_user(ratings), 0)
        )
        seen = held.indices[held.indptr[row] : held.indptr[row + 1]] if row >= 0 else np.empty(0, np.int64)
        self._check("min_ratings", min_ratings, Whole(0))
        self._check("exclude_seen", exclude_seen, Flag())
        columns = np.flatnonzero(self.support_ >= min_ratings)
        if exclude_seen:
            columns = np.setdiff1d(columns, seen)
        if not len(columns):
            return []
        shares, means, variances = self._mixed(held, np.full(len(columns), row), columns)
        if self.scale_ is None:
            mean = (shares * means).sum(axis=1)
            second = (shares * (means**2 + variances)).sum(axis=1)
        else:
            chances = self._steps(shares, means, variances, "normalised")
            mean, second = chances @ self.scale_, chances @ self.scale_**2
        sd = np.sqrt(np.maximum(second - mean**2, 0.0))
        order = np.argsort(-(mean if by == "mean" else mean - sd), kind="stable")[:n]
        return [
            {
                "rank": r + 1,
                "item": self.items_[columns[i]].item()
                if hasattr(self.items_[columns[i]], "item")
                else self.items_[columns[i]],
                "rating": float(mean[i]),
                "sd": float(sd[i]),
                "support": int(self.support_[columns[i]]),
            }
            for r, i in enumerate(order)
        ]

    def recommend_frame(self, user: Any = None, n: int = 10, **options: Any) -> Any:  # type: ignore[override]
        """:meth:`recommend` as a pandas frame.

        Parameters
        ----------
        user : object
            As in the ratings.
        n : int
            Recommendations.
        **options
            As in :meth:`recommend`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import BernoulliGaussRecommender
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> model = BernoulliGaussRecommender(2, random_state=0).fit((users, items, ratings))
        >>> len(model.recommend_frame(0, n=2, exclude_seen=False))
        2
        """
        return frame_of(self.recommend(user, n, **options))
