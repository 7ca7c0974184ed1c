"""``GaussianPLSA``: every rating with its own hidden cause.

Story: a rating of user u for item y has cause z with probability ``theta[u, z]`` and is then N(``means[z, y]``,
``variances[z, y]``); ratings are scaled per user.  E-step P(z | u, y, v) ∝ [theta_uz N(v; c_yz, s²_yz)]^b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, records
from ..base.options import Check, Number, OneOf, OptimiserOptions, Positive, option_fields
from ..base.recommending import RecommendingMixin
from ..data.block import Float
from ..data.ratings import Ratings
from ..data.rng import stream
from ..data.summary import ValueTotals
from ..engine.protocols import ExtraPass, Sweep
from ..engine.restarts import InitParams
from ..errors import InputError
from .shares import SharesModel

FOLD_IN_STEPS = 20
LOG_TWO_PI = float(np.log(2 * np.pi))


class GaussianParams(NamedTuple):
    """Means and variances of the (scaled) ratings of every item, and shares of the causes."""

    means: Annotated[Float, of.reals("K", "D")]
    variances: Annotated[Float, of.positives("K", "D")]
    weights: Annotated[Float, of.weights("K")]


class GaussianStats(NamedTuple):
    """Sums over ratings."""

    sums: Float  # (D, 3, K) shares, times the rating, times its square
    log_likelihood: float


class GaussianPlsaPrecomputed(NamedTuple):
    """Parameters in the form that blocks need."""

    tables: Float  # (D, 3, K) as of the Bernoulli-Gauss model
    params: GaussianParams


@dataclass(frozen=True)
class GaussianPlsaModel(SharesModel):
    """The maths; row state is theta (n, K).  Items are drawn by ``value_smoothing`` ratings of ``center`` and ``spread``."""

    params_type: ClassVar[Any] = GaussianParams
    value_smoothing: of.Amount = 5.0
    floor: of.Amount = 0.05
    center: float = 0.0
    spread: of.Amount = 1.0

    def init_params(self, sweep: Sweep, seed: int, restart: int) -> GaussianParams:
        """Means around that of all ratings."""
        shape = (self.n_components, sweep.source.shape[1])
        means = self.center + 0.1 * np.sqrt(self.spread) * stream(seed, "start", restart).standard_normal(shape)
        return GaussianParams(means, np.full(shape, self.spread), np.full(self.n_components, 1.0 / self.n_components))

    def precompute(self, params: GaussianParams) -> GaussianPlsaPrecomputed:
        """Logarithms, once per pass."""
        tables = np.empty((params.means.shape[1], 3, self.n_components))
        tables[:, 0] = -0.5 * (LOG_TWO_PI + np.log(params.variances)).T
        tables[:, 1] = params.means.T
        tables[:, 2] = (0.5 / params.variances).T
        return GaussianPlsaPrecomputed(tables, params)

    def e_step(self, block: Any, rows: Float, precomputed: GaussianPlsaPrecomputed) -> tuple[GaussianStats, Float]:
        """Sums of the ratings of the causes, and the new shares of the users."""
        from .kernels import rating_rows

        theta, logs, weights = rows.copy(), np.empty(block.n_rows), block.row_weights()
        sums = np.zeros(precomputed.tables.shape)
        rating_rows(
            block.indptr,
            block.indices,
            block.values,
            weights,
            precomputed.tables,
            self.temperature,
            1,
            theta,
            sums,
            logs,
        )
        return GaussianStats(sums, float(logs @ weights)), theta

    def objective(self, precomputed: GaussianPlsaPrecomputed, stats: GaussianStats) -> float:
        """Log-likelihood of all ratings plus the log prior of the items."""
        params = precomputed.params
        away = self.spread + (params.means - self.center) ** 2
        prior = np.log(params.variances) + away / params.variances
        return stats.log_likelihood - 0.5 * self.value_smoothing * float(prior.sum())

    def m_step(self, params: GaussianParams, stats: GaussianStats, extra_pass: ExtraPass | None) -> GaussianParams:
        """Weighted moments, drawn toward those of all ratings."""
        count, first, second = (np.ascontiguousarray(stats.sums[:, i].T) for i in range(3))
        total = np.maximum(count + self.value_smoothing, 1e-300)
        kappa, center = self.value_smoothing, self.center
        means = (first + kappa * center) / total
        second = second + kappa * (self.spread + center**2)
        variances = np.maximum(second / total - means**2, self.floor * self.spread)
        mass = count.sum(axis=1)
        return GaussianParams(means, variances, mass / max(float(mass.sum()), 1e-300))

    def sort_components(self, params: GaussianParams) -> GaussianParams:
        """Causes by decreasing share."""
        order = np.argsort(-params.weights, kind="stable")
        return GaussianParams(params.means[order], params.variances[order], params.weights[order])

    def folded(self, block: Any, precomputed: GaussianPlsaPrecomputed) -> tuple[Float, Float]:
        """Shares (n, K) of users at given items, and the log-likelihoods (n,) of their ratings."""
        from .kernels import rating_rows

        theta, logs = np.tile(precomputed.params.weights, (block.n_rows, 1)), np.empty(block.n_rows)
        lists = (block.indptr, block.indices, block.values, np.ones(block.n_rows), precomputed.tables)
        nothing = np.empty((0, 3, self.n_components))
        rating_rows(*lists, self.temperature, FOLD_IN_STEPS, theta, nothing, logs)
        rating_rows(*lists, 1.0, 1, theta.copy(), nothing, logs)
        return theta, logs

    def represent(self, block: Any, precomputed: GaussianPlsaPrecomputed) -> Float:
        """P(cause | user) (n, K)."""
        return self.folded(block, precomputed)[0]

    def log_prob(self, block: Any, precomputed: GaussianPlsaPrecomputed) -> Float:
        """Log-likelihood (n,) of the scaled ratings at the shares folded in."""
        return self.folded(block, precomputed)[1]

    def n_free(self, params: GaussianParams) -> int:
        """Free parameters of the items; every user brings K - 1 more."""
        return 2 * params.means.size


@option_fields
class GaussianPLSA(RecommendingMixin, OptimiserOptions, LatentBitsEstimator):  # type: ignore[misc]
    """Gaussian probabilistic latent semantic analysis of ratings (Hofmann 2003).

    Parameters
    ----------
    n_components : int
        Number of causes K.
    temperature : float
        b of the tempered E-step, above 0 and up to 1; 1 is EM.
    value_smoothing : float
        κ: ratings of mean 0 and variance 1 added to every item and cause.
    variance_floor : float
        Least variance of the scaled ratings.
    user_scale : {"zscore", "none"}
        Rate every user on a scale of their own, or as they are.
    duplicates : {"error", "last", "mean"}
        What to do with two ratings of one item by one user.
    unknown : {"error", "prior"}
        Users and items that were not fitted are refused, or answered by what holds for everybody.

    Attributes
    ----------
    users_, items_ : arrays
        What users and items are called.
    weights_ : (n_components,) array
        Shares of the causes, decreasing.
    means_, variances_ : (n_components, n_items) array
        Of the scaled ratings of every item.
    support_ : (n_items,) array
        Training ratings of every item.

    References
    ----------
    T. Hofmann, *Collaborative Filtering via Gaussian Probabilistic Latent Semantic Analysis*, SIGIR 2003.

    Examples
    --------
    >>> from latentbits import GaussianPLSA
    >>> users, items = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3], list("abcabcabbcd")
    >>> model = GaussianPLSA(2, random_state=0).fit((users, items, [5, 5, 1, 4, 5, 2, 1, 2, 1, 5, 5]))
    >>> model.predict([0, 3], ["d", "a"]).shape
    (2,)
    """

    record_types: ClassVar[dict[str, Any]] = records(GaussianPlsaModel, GaussianParams, ValueTotals)
    fitted_types: ClassVar[Mapping[str, Any]] = {"_params": GaussianParams, "_model": GaussianPlsaModel}
    score_kind = "estimate"
    scale = None
    accelerate = False
    warm_start = False
    work = 4
    keeps_rows = True
    option_checks: ClassVar[Mapping[str, Check]] = {
        "user_scale": OneOf(("zscore", "none")),
        "duplicates": OneOf(("error", "last", "mean")),
        "unknown": OneOf(("error", "prior")),
        "value_smoothing": Number(0.0),
        "variance_floor": Positive(),
        "temperature": Positive(most=1.0),
    }

    n_components: int = field(default=10, kw_only=False)
    temperature: float = 1.0
    value_smoothing: float = 5.0
    variance_floor: float = 0.05
    user_scale: str = "zscore"
    duplicates: str = "error"
    unknown: str = "error"
    n_init: int = 1
    max_iter: int = 100
    tol: float = 1e-05

    def _check_table(self, sums: Any) -> None:
        if sums.n_rows < self.n_components:
            raise InputError(f"{self._name}: {self.n_components} causes need as many users; there are {sums.n_rows}.")

    def _build_model(self, sums: Any) -> GaussianPlsaModel:
        strengths = (float(self.temperature), float(self.value_smoothing), float(self.variance_floor))
        prior = self._overall if self.user_scale == "none" else (0.0, 1.0)
        return GaussianPlsaModel(int(self.n_components), *strengths, *prior)

    def _initializer(self, model: GaussianPlsaModel) -> InitParams:
        return model.init_params

    def _set_fitted_attributes(self) -> None:
        self.means_, self.variances_, self.weights_ = self._params
        self.components_ = self.means_
        self._keep_ratings()

    def _gist_table(self, top: int) -> list[dict[str, Any]]:
        """The tastes for people: items that each rates higher than the others do."""
        everybody, called = self.weights_ @ self.means_, self.component_names_
        return [
            {
                "component": called[k],
                "weight": float(self.weights_[k]),
                "feature": self.items_[j],
                "loading": float(means[j] - everybody[j]),
            }
            for k, means in enumerate(self.means_)
            for j in np.argsort(everybody - means, kind="stable")[:top]
        ]

    def predict(self, users: Any, items: Any) -> Any:
        """Ratings of items by users, from the other ratings of these users.

        Parameters
        ----------
        users, items : array-like
            Equally many, or one of either.

        Returns
        -------
        (n,) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import GaussianPLSA
        >>> users, items = np.repeat(np.arange(30), 4), np.tile(np.arange(6), 20)
        >>> ratings = np.where(users % 2 == items % 2, 5.0, 2.0)
        >>> GaussianPLSA(2, random_state=0).fit((users, items, ratings)).predict([0, 0], [0, 1]).shape
        (2,)
        """
        self._check_fitted()
        return self._points(self._training(), *self._pairs(users, items))

    def _points(self, ratings: Ratings, rows: Any, columns: Any) -> Any:
        """Predictions of cells: the user's mean, and what the causes say of the item."""
        source, scaled = self._without_cells(ratings, rows, columns)
        precomputed = self._model.precompute(self._params)
        theta = np.concatenate([self._model.represent(source.block(b), precomputed) for b in range(source.n_blocks)])
        means = np.where((np.asarray(columns) < 0)[:, None], self._model.center, self.means_.T[np.maximum(columns, 0)])
        return scaled.means + scaled.spreads * (theta * means).sum(axis=1)
