"""Saving: every estimator is one sealed file."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import persist
from ..data.source import named
from .options import OptionsMixin
from .sklearn_api import check_is_fitted


class SavesMixin(OptionsMixin):
    """``save``; :func:`latentbits.load` reads what it wrote.

    ``record_types`` lists the NamedTuples and dataclasses that stand in the file.
    """

    record_types: ClassVar[dict[str, Any]] = {}

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file; :func:`latentbits.load` reads it.

        Parameters
        ----------
        path : path
        """
        check_is_fitted(self)
        persist.check_path(path)
        with named(self._name):
            persist.save(self, path)
