"""The shell of every estimator: scikit-learn's manners around a family's answers.

A family supplies a model (maths), starts, and a class that lists its options.  Opening data, running the driver, telling
of restarts, all shared methods, saving and loading are here, once: ``fitting.py`` and ``asking.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..data.values import Reals
from .asking import Asking
from .callbacks import CallbackSupportMixin
from .common import frame_of, quiet
from .fitting import Fitting
from .memberships import Memberships
from .row_unknowns import RowUnknowns
from .sampling import Sampling


class LatentBitsEstimator(
    Fitting, Asking, ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator
):
    """Shared parameters and methods of all families.

    Subclasses define ``__init__``, ``_build``, ``_start`` and the attributes that scikit-learn's users expect in
    ``_adopt``.
    """

    record_types: ClassVar[dict[str, type]] = {}

    def transform(self, X: Any) -> Any:
        """Represent every row by the components.

        Defined here, not with the other answers, because scikit-learn wraps it for ``set_output`` in this class only.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array
        """
        check_is_fitted(self, "_params")
        return self._per_row(X, self._model.represent)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.input_tags.sparse = True
        numbers = isinstance(getattr(self, "binarize", None), Reals)
        tags.input_tags.allow_nan = not numbers
        tags.input_tags.positive_only = numbers
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "_params", None) is not None


__all__ = ["LatentBitsEstimator", "Memberships", "RowUnknowns", "Sampling", "frame_of", "quiet"]
