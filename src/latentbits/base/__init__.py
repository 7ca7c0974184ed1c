"""The shell of every estimator: scikit-learn's manners around a family's answers.

A family supplies a model (maths), starts, and a class that lists its options.  What all of them share is here, once:
``fitting.py``, ``streaming.py``, ``answers.py``, ``ranking.py``, ``components.py``; ``options.py`` checks, ``doubts.py``
warns.
"""

from __future__ import annotations

from typing import Any

from ..data.values import Reals
from .chains import ChainsMixin
from .common import frame_of, quiet, records
from .memberships import MembershipsMixin
from .ranking import RankingMixin
from .row_state import RowStateMixin
from .sklearn_api import BaseEstimator, CallbackSupportMixin, TransformerMixin
from .streaming import StreamingMixin


class LatentBitsEstimator(StreamingMixin, RankingMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):
    """Shared parameters and methods of all families.

    Subclasses define ``__init__``, ``_build_model``, ``_initializer`` and the attributes that scikit-learn's users expect in
    ``_set_fitted_attributes``.
    """

    def transform(self, X: Any) -> Any:
        """Represent every row by the components.

        Defined here, not with the other answers, because scikit-learn wraps it for ``set_output`` in this class only.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array, a lazy one of Dask for a table of Dask

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.transform(X).shape
        (101, 3)
        """
        return self._by_rows(X, "represent")

    @property
    def _n_features_out(self) -> int:
        """Number of columns that ``transform`` returns; scikit-learn names them by it."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("not fitted yet")
        return int(self._model.n_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.input_tags.sparse = True
        numbers = isinstance(getattr(self, "binarize", None), Reals)
        tags.input_tags.allow_nan = not numbers
        tags.input_tags.positive_only = numbers
        return tags


__all__ = ["ChainsMixin", "LatentBitsEstimator", "MembershipsMixin", "RowStateMixin", "frame_of", "quiet", "records"]
