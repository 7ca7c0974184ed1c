"""``LatentTrait``: Gaussian scores and logistic cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, records
from ..base.options import BitOptions, Check, OneOf, OptimiserOptions, Positive, Whole, option_fields
from ..data.summary import Totals
from ..engine.restarts import InitParams
from .linear import sigmoid
from .loadings import LoadingsTable
from .trait_answers import TraitParams
from .trait_gaussian import GaussianTraitModel
from .trait_model import TraitModel


@option_fields
class LatentTrait(LoadingsTable, OptimiserOptions, BitOptions, LatentBitsEstimator):
    """Latent trait model (binary factor analysis): Gaussian scores, logistic cells, by variational EM.

    Parameters
    ----------
    n_components : int
        Number of traits K.
    bound : {"gaussian", "jaakkola"}
        The lower bound that the fit raises: of the best Gaussian posterior of every row, the means taken by quadrature; or
        the paper's, quicker, which puts a parabola under every cell and loses traits about which single rows tell little.
    n_inner : int
        Updates of every row's posterior per pass.
    ridge : float
        Precision of a weak Gaussian prior on loadings and offsets.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        Loadings, orthogonal, by decreasing size; the sign makes the largest loading of each positive.
    offset_ : (n_features,) array
        Log odds of a row with scores zero.
    objective_ : float
        Lower bound on the log-likelihood of the table (less the ridge).
    n_iter_, converged_, history_, restarts_, n_reached_, marginals_, unobserved_features_
        As in :class:`~latentbits.BernoulliMixture`.

    Notes
    -----
    ``score_samples`` integrates over the traits with points laid out around the posterior of every row: Gauss-Hermite for up
    to three traits, a Sobol sequence of 512 points for more.  :meth:`bound_samples` is the bound that the fit maximises; it
    lies below.  A pass looks at every cell, also of sparse tables, and keeps K + K² numbers per row.

    References
    ----------
    M. Tipping, *Probabilistic Visualisation of High-dimensional Binary Data*, NIPS 11 (1999).

    E. Challis, D. Barber, *Gaussian Kullback-Leibler Approximate Inference*, JMLR 14 (2013).

    Examples
    --------
    >>> from latentbits import LatentTrait
    >>> X = [[1, 1, 0, 0], [1, 1, 0, None], [0, 0, 1, 1], [0, None, 1, 1], [1, 0, 0, 0], [0, 0, 1, 0]]
    >>> model = LatentTrait(n_components=1, random_state=0).fit(X)
    >>> model.impute(X, how="mode")[3].tolist()
    [0.0, 0.0, 1.0, 1.0]
    """

    record_types: ClassVar[dict[str, Any]] = records(TraitModel, GaussianTraitModel, TraitParams, Totals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": TraitParams,
        "_model": TraitModel | GaussianTraitModel,
        "offset_": Annotated[Any, of.reals("D")],
    }
    score_kind = "estimate"
    work = 1
    needs_variation = True
    accelerate = False  # row state is not extrapolated
    option_checks: ClassVar[Mapping[str, Check]] = {
        "bound": OneOf(("gaussian", "jaakkola")),
        "n_inner": Whole(1),
        "ridge": Positive(),
    }

    n_components: int = field(default=2, kw_only=False)
    max_iter: int = 500
    tol: float = 1e-06
    n_init: int = 2
    bound: str = "gaussian"
    n_inner: int = 1
    ridge: float = 1e-06

    def _pass_work(self, sums: Totals) -> float:
        return sums.n_cells * self._size

    def _build_model(self, sums: Totals) -> TraitModel | GaussianTraitModel:
        kind = TraitModel if self.bound == "jaakkola" else GaussianTraitModel
        return kind(
            n_components=int(self.n_components),
            active=(sums.ones > 0) & (sums.ones < sums.observed),
            base=np.log(sums.marginals) - np.log1p(-sums.marginals),
            ridge=float(self.ridge),
            n_rounds=int(self.n_inner),
        )

    def _initializer(self, model: TraitModel | GaussianTraitModel) -> InitParams:
        return model.init_params

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        # Every row has a covariance of its scores, every column a system of equations.
        return super()._numbers_kept(n_rows, n_columns) + (n_rows + n_columns) * int(self.n_components) ** 2

    def _set_fitted_attributes(self) -> None:
        self.components_, self.offset_ = self._params.loadings, self._params.offset

    def bound_samples(self, X: Any) -> Any:
        """Lower bound on the log-likelihood of every row in nats, which the fit maximises.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of lower bounds

        Examples
        --------
        >>> from latentbits import LatentTrait, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = LatentTrait(1, n_init=1, random_state=0).fit(X)
        >>> bool((model.bound_samples(X) <= model.score_samples(X) + 1e-6).all())
        True
        """
        self._check_fitted()
        return self._by_rows(X, "bound")

    def inverse_transform(self, scores: Any) -> Any:
        """P(cell = 1) of rows with given scores.

        Parameters
        ----------
        scores : (n_rows, n_components) array
            Places on the scales, as ``transform`` gives them.

        Returns
        -------
        (n_rows, n_features) array of P(cell = 1)

        Examples
        --------
        >>> from latentbits import LatentTrait, datasets
        >>> X = datasets.load_zoo().frame
        >>> LatentTrait(1, n_init=1, random_state=0).fit(X).inverse_transform([[-1.0], [1.0]]).shape
        (2, 15)
        """
        return sigmoid(self._given_unknowns(scores) @ self.components_ + self.offset_)
