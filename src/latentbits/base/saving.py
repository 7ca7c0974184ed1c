"""Saving: every estimator is one sealed file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from .. import declared as of
from .. import persist
from ..data.reading import unreadable
from ..data.source import named
from .options import OptionsMixin
from .sklearn_api import check_is_fitted


class SavesMixin(OptionsMixin):
    """``save``; :func:`latentbits.load` reads what it wrote.

    ``record_types`` lists the NamedTuples and dataclasses that stand in the file; ``fitted_types`` what a fit leaves behind,
    by name, and what each of it may hold (see :mod:`latentbits.declared`).  Nothing else is written or read.
    """

    record_types: ClassVar[dict[str, Any]] = {}
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "n_features_in_": Annotated[int, of.Whole(1, size="D")],
        "feature_names_in_": of.Maybe(Annotated[Any, of.Array(("D",), "O")]),
        "given_names_": of.Maybe(dict[int, str]),
        "reading_": of.Maybe(dict[str, of.Plain]),
    }

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one file; :func:`latentbits.load` reads it.

        Options that only serve this machine, ``checkpoint`` and ``callbacks``, are left out.

        Parameters
        ----------
        path : path

        Examples
        --------
        >>> import tempfile, latentbits
        >>> from pathlib import Path
        >>> model = latentbits.BernoulliMixture(2, random_state=0).fit([[1, 0], [0, 1]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.latentbits")
        ...     latentbits.load(Path(folder) / "model.latentbits").n_components
        2
        """
        check_is_fitted(self)
        persist.check_path(path)
        with named(self._name):
            persist.save(self, path)

    @classmethod
    def _fitted_types(cls) -> dict[str, Any]:
        """What a fit leaves behind, by name; what is a property of the class is not kept."""
        kinds: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            kinds.update(vars(base).get("fitted_types", {}))
        return {name: kind for name, kind in kinds.items() if not hasattr(cls, name)}

    def _check_loaded(self) -> None:
        """Refuse what came from a file and is not what the class declares; families add what must agree beside."""
        sizes: of.Sizes = {}
        for name, kind in self._fitted_types().items():
            maybe = isinstance(kind, of.Maybe)
            if name in vars(self):
                of.check(vars(self)[name], kind.kind if maybe else kind, sizes, name)
            elif not maybe:
                raise of.MisfitError(f"{name} is missing")
        names = list(getattr(self, "feature_names_in_", ()))
        if len(set(names)) < len(names):
            raise of.MisfitError("feature_names_in_ holds a name twice")
        if (complaint := unreadable(getattr(self, "reading_", {}))) is not None:
            raise of.MisfitError(f"reading_ {complaint}")
