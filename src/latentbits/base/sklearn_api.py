"""A typed window on scikit-learn, which has no types of its own: what the shell derives from and calls."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    Method = TypeVar("Method")

    class BaseEstimator:
        """scikit-learn's base of all estimators."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Options by name."""

        def set_params(self, **params: Any) -> Self:
            """Change options."""

        def __sklearn_tags__(self) -> Any:
            """What the estimator can take."""

        @property
        def _repr_html_(self) -> Callable[[], str]:
            """The diagram of notebooks; absent where text is to be shown."""

    class TransformerMixin(BaseEstimator):
        """scikit-learn's ``fit_transform`` and ``set_output``."""

        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            """Fit, then represent."""

        def set_output(self, *, transform: str | None = None) -> Self:
            """Kind of table that ``transform`` returns."""

    class ClassNamePrefixFeaturesOutMixin(BaseEstimator):
        """Names of the columns of ``transform``."""

        def get_feature_names_out(self, input_features: Any = None) -> Any:
            """The names."""

    class CallbackSupportMixin(BaseEstimator):
        """scikit-learn's callbacks."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Name the callbacks."""

    def callback_management_context(estimator: Any) -> AbstractContextManager[Any]:
        """Set callbacks up, and take them down."""

    class NotFittedError(ValueError, AttributeError):
        """Raised where there is nothing to answer from."""

    def check_is_fitted(estimator: Any, attributes: str | None = None) -> None:
        """Raise scikit-learn's NotFittedError."""

    def check_random_state(seed: Any) -> Any:
        """A RandomState."""

    def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
        """Methods that only some estimators have."""

    def has_fit_parameter(estimator: Any, parameter: str) -> bool:
        """Whether ``fit`` takes it."""

    def effective_n_jobs(n_jobs: int | None) -> int:
        """Number of workers."""

    def clone(estimator: Any) -> Any:
        """An unfitted copy."""

else:
    from joblib import effective_n_jobs
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, has_fit_parameter

    try:  # scikit-learn 1.9 and later
        from sklearn.callback import CallbackSupportMixin
        from sklearn.callback._callback_support import callback_management_context
    except ImportError:

        class CallbackSupportMixin:
            """Older scikit-learn has no callbacks."""

        def callback_management_context(estimator):
            """Older scikit-learn has no callbacks."""
            return nullcontext()


__all__ = [
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassNamePrefixFeaturesOutMixin",
    "NotFittedError",
    "TransformerMixin",
    "available_if",
    "callback_management_context",
    "check_is_fitted",
    "check_random_state",
    "clone",
    "effective_n_jobs",
    "has_fit_parameter",
]
