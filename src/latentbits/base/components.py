"""Components and the fit in words and frames.

What a component is called is settled here, for tables, columns, pictures, reports and messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..families import family_of
from .common import frame_of
from .naming import names_given
from .notebook import NotebookMixin, shape_told
from .options import Whole, is_whole
from .shell import Shell

if TYPE_CHECKING:
    from typing import Self

# Kinds of components of which nothing needs to be said.
ORDINARY = ("content", "active", "supported")


def numbered(noun: str, n: int) -> list[str]:
    """Names of ``n`` things that were given none: the noun and a number from 1.

    Examples
    --------
    >>> numbered("class", 3)
    ['class 1', 'class 2', 'class 3']
    """
    return [f"{noun} {k + 1}" for k in range(n)]


class ComponentsMixin(NotebookMixin, Shell):
    """The part of the shell that shows what was found."""

    objective_: float
    n_reached_: int
    given_names_: dict[int, str]

    @property
    def component_names_(self) -> list[str]:
        """What the components are called: the family's noun and a number from 1, or what :meth:`name_components` was told.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.component_names_
        ['class 1', 'class 2', 'class 3']
        """
        self._check_fitted()
        given = getattr(self, "given_names_", {})
        return [given.get(k + 1, name) for k, name in enumerate(numbered(self._noun, self._n_named()))]

    @property
    def _noun(self) -> str:
        """What the family calls a component."""
        return family_of(type(self)).noun

    def _n_named(self) -> int:
        """How many components have names."""
        return int(self._model.n_components)

    def _component_names(self) -> list[str]:
        """What the rows of ``components_`` are called."""
        return self.component_names_

    def _component_kinds(self) -> list[str]:
        """What is special about every component, in words; empty for most."""
        kinds = getattr(self, "component_kinds_", [""] * len(self._component_names()))
        return ["" if kind in ORDINARY else kind for kind in kinds]

    def _described_names(self) -> list[str]:
        """Names of the rows of ``components_``, with what is special about them: "cause 3 (phantom)"."""
        pairs = zip(self._component_names(), self._component_kinds())
        return [f"{name} ({kind})" if kind else name for name, kind in pairs]

    def _component_index(self, component: Any) -> int:
        """Place of a component in ``components_``, given by that place (from 0) or by its name."""
        names = self._component_names()
        if isinstance(component, str) and component in names:
            return names.index(component)
        if is_whole(component) and 0 <= component < len(names):
            return int(component)
        raise InputError(
            f"{self._name}: component must be a number from 0 to {len(names) - 1}, its place in components_, or a name "
            f"({names[0]!r}, ...); got {component!r}."
        )

    def name_components(self, names: Any) -> Self:
        """Give components names of your own; tables, columns, pictures and reports use them, and model files keep them.

        A new fit forgets the names, because it finds other components.

        Parameters
        ----------
        names : dict or path
            From a component, by its number from 1 or by the name that it has, to its new name; or a JSON file of such a
            dict, also the one that the report writes (``{"mixture": {"class 1": "late risers"}, ...}``), from which the names
            for the family of the model are taken.

        Returns
        -------
        self

        Examples
        --------
        >>> from latentbits import BernoulliMixture
        >>> model = BernoulliMixture(2, random_state=0).fit([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
        >>> model.name_components({2: "late risers"}).component_names_
        ['class 1', 'late risers']
        """
        now = self.component_names_
        usual, new = numbered(self._noun, len(now)), list(now)
        given: Mapping[Any, Any] = names_given(names, family_of(type(self)), self._name)
        places = [self._named_place(key, now) for key in given]
        for place, name in zip(places, given.values()):
            if places.count(place) > 1:
                raise InputError(f"{self._name}: {now[place]!r} is given two names; give it one.")
            new[place] = self._checked_name(name)
        twice = [name for name in new if new.count(name) > 1]
        if twice:
            raise InputError(f"{self._name}: two components would be called {twice[0]!r}; give each a name of its own.")
        self.given_names_ = {k + 1: name for k, name in enumerate(new) if name != usual[k]}
        return self

    def _named_place(self, key: Any, names: list[str]) -> int:
        """Place in the list of names of a component given by its number from 1, or by its name.

        Files hold numbers as text, and those that were written before a component was named hold the usual name.
        """
        if isinstance(key, str) and key in names:
            return names.index(key)
        usual = numbered(self._noun, len(names))
        if isinstance(key, str) and key in usual:
            return usual.index(key)
        number = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 10 else key
        if is_whole(number) and 1 <= number <= len(names):
            return int(number) - 1
        raise InputError(
            f"{self._name}: there is no component {key!r}; they are numbered 1 to {len(names)} and called "
            f"{', '.join(map(repr, names[:3]))}{', ...' * (len(names) > 3)}."
        )

    def _checked_name(self, name: Any) -> str:
        """A name without blanks around it, if it is one."""
        if not isinstance(name, str) or not name.strip() or not name.strip().isprintable():
            raise InputError(
                f"{self._name}: the name of a component is one line of text that is not empty; got {name!r:.60}."
            )
        return name.strip()

    def _forget_names(self) -> None:
        """Drop names that were given to the components of an earlier fit."""
        self.__dict__.pop("given_names_", None)

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The components as rows of a table: the ``top`` features of each that stand out most from the marginals.

        Parameters
        ----------
        top : int
            Features per component.

        Returns
        -------
        list of dict
            With component (its name), weight, rank, feature, probability, marginal and lift.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> row = model.components_table(top=1)[0]
        >>> row["component"], row["feature"]
        ('class 1', 'milk')
        """
        self._check_fitted()
        self._check("top", top, Whole(0))
        names = getattr(self, "feature_names_in_", None)
        names = np.arange(self.n_features_in_) if names is None else names
        called, out = self._component_names(), []
        for k, probabilities in enumerate(self.components_):
            for rank, j in enumerate(np.argsort(-self._standing(probabilities), kind="stable")[:top]):
                out.append(
                    {
                        "component": called[k],
                        "weight": float(self.weights_[k]) if hasattr(self, "weights_") else np.nan,
                        "rank": rank + 1,
                        "feature": names[j] if isinstance(names[j], str) else int(names[j]),
                        "probability": float(probabilities[j]),
                        "marginal": float(self.marginals_[j]),
                        "lift": float(probabilities[j] / self.marginals_[j]),
                    }
                )
        return out

    def _standing(self, probabilities: Any) -> Any:
        """How much every feature of a component stands out from the marginals."""
        return probabilities * np.log(np.maximum(probabilities, 1e-300) / self.marginals_)

    def components_frame(self, top: int = 10) -> Any:
        """The components as readable feature lists with probabilities, as a pandas frame.

        Parameters
        ----------
        top : int
            Features per component.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.components_frame(top=1)[["component", "feature", "probability"]].round(2)
          component   feature  probability
        0   class 1      milk         0.99
        1   class 2  airborne         0.68
        2   class 3   aquatic         0.83
        """
        return frame_of(self.components_table(top))

    def restarts_frame(self) -> Any:
        """How every start ended, as a pandas frame.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> BernoulliMixture(3, n_init=2, random_state=0).fit(X).restarts_frame().shape[0]
        2
        """
        self._check_fitted()
        return frame_of(getattr(self, "restarts_", []))

    def summary(self) -> str:
        """A few lines on the fit: value, starts, convergence.

        Returns
        -------
        str

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> print(model.summary().splitlines()[0])
        BernoulliMixture with 3 classes on 15 features
        """
        self._check_fitted()
        lines = [f"{self._name} with {family_of(type(self)).counted(self._size)} on {self.n_features_in_} features"]
        if getattr(self, "restarts_", None):
            n = sum(row.get("went_on", True) for row in self.restarts_)
            lines.append(f"objective {self.objective_:.4f}, best value reached in {self.n_reached_} of {n} starts")
            if n < len(self.restarts_):
                lines.append(f"(the better ones of {len(self.restarts_)} starts, which were compared before their end)")
        state = "settled" if self.converged_ else "not settled"
        lines.append(f"{state} after {self.n_iter_} passes; {self.n_free_} free parameters")
        return "\n".join([*lines, *self._told_names()])

    def _told_names(self) -> list[str]:
        """The names that were given, as a line of a summary."""
        given = getattr(self, "given_names_", {})
        usual = numbered(self._noun, self._n_named())
        return ["; ".join(f"{usual[number - 1]}: {name}" for number, name in given.items())] if given else []

    def _facts(self) -> list[str]:
        """Size, table and fit, as notebooks show them: the summary with the rows, without its first line and its doubts."""
        sums = getattr(self, "_sums", None)
        doubts = " ".join(self._doubts_told())
        told = [told for told in self.summary().split("\n")[1:] if told.strip() not in doubts]
        counted = family_of(type(self)).counted(len(self.component_names_))
        return [counted, shape_told(None if sums is None else sums.n_rows, self.n_features_in_), *told]

    def _gist_table(self, top: int) -> list[dict[str, Any]]:
        """The components for people."""
        return self.components_table(top)

    def _kinds_by_name(self) -> dict[str, str]:
        """What is special about components."""
        return {name: kind for name, kind in zip(self._component_names(), self._component_kinds()) if kind}

    @property
    def n_free_(self) -> int:
        """Number of free parameters.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.n_free_  # three weights that sum to one, and a probability for every class and column
        47
        """
        self._check_fitted()
        return int(self._model.n_free(self._params))
