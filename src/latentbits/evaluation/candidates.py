"""Who takes part: every family that fills unknown cells, two baselines, outside rivals, and models that the user brings."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..base import LatentBitsEstimator
from ..base.options import is_whole
from ..base.sklearn_api import BaseEstimator, clone
from ..data.source import Source
from ..errors import InputError
from ..families import BY_NAME, FAMILIES, MOST_SIZES, Cost, Family, Search, TableSize, Tuning, family_of, sized
from .adapter import Adapted
from .baselines import IndependentColumns
from .rivals import ColumnBoosting, ColumnLightGBM, ColumnRegressions

# Of models that were brought along.
UNKNOWN_COST = Cost(1e-2, per_cell=1e-8)


@dataclass(frozen=True, kw_only=True)
class Candidate(Search):
    """A model in a comparison: how it is searched (:class:`~latentbits.families.Search`), and what it is called.

    Attributes
    ----------
    name, title : str
        For programs and for people.
    structure : str
        Key of :data:`~latentbits.families.STORIES`.
    make : function
        From a size to an estimator.
    is_baseline, is_rival : bool
        Whether it claims no hidden structure: what families have to beat, and what others would take instead of them.
    named : tuple
        Sizes that the user named, all of which are tried then, and no others.
    asked : bool
        Whether the user named the model, which is fitted then, however dear it is.
    """

    name: str
    title: str
    structure: str
    make: Callable[[Any], Any]
    is_baseline: bool = False
    is_rival: bool = False
    named: tuple[Any, ...] = ()
    asked: bool = True

    @property
    def is_family(self) -> bool:
        """Whether it is one of those that are compared."""
        return not (self.is_baseline or self.is_rival)

    @property
    def has_choice(self) -> bool:
        """Whether there is anything to search."""
        return self.first is not None or len(self.named) > 1 or bool(self.tuned or self.averaged)

    def estimator(self, size: Any, options: Mapping[str, Any], seed: int, n_jobs: int | None) -> Any:
        """An unfitted model."""
        model = self.make(size)
        if not isinstance(model, BaseEstimator):
            return model
        known = model.get_params(deep=False)
        given = {**options, "random_state": seed, "n_jobs": n_jobs}
        return model.set_params(**{name: value for name, value in given.items() if name in known})

    def passes(self, options: Mapping[str, Any]) -> float:
        """Passes over the table that options ask for, at most."""
        if "n_draws" in options:
            return float(options["n_chains"] * (options["n_warmup"] + options["n_draws"]))
        return float(options.get("n_init", 1) * options.get("max_iter", options.get("n_epochs", 1)))

    def seconds(self, size: Any, options: Mapping[str, Any], table: TableSize) -> float:
        """Nominal seconds of a fit."""
        return self.cost.seconds(table, measure(size), self.passes(options))


def measure(size: Any) -> float:
    """Components that a size stands for: a map has the product of its sides, no size counts as eight."""
    if size is None:
        return 8.0
    if isinstance(size, tuple):
        out = 1.0
        for side in size:
            out *= side
        return out
    return float(size)


def size_text(size: Any, limit: bool = False) -> str:
    """A size in words.

    Examples
    --------
    >>> size_text(5), size_text(5, limit=True), size_text((9, 9)), size_text(None)
    ('K=5', 'K≤5', '9×9', '')
    """
    if size is None:
        return ""
    if isinstance(size, (tuple, list)):
        return "×".join(str(side) for side in size)
    return f"K≤{size}" if limit else f"K={size}"


def candidate_of(family: Family) -> Candidate:
    """A family of the package as it takes part in comparisons."""
    search = family.search or Search()  # of those that are not compared, there is nothing to search
    assert family.name is not None
    return Candidate(
        name=family.name, title=family.title, structure=family.structure, make=family.estimator, **vars(search)
    )


def _baselines() -> list[Candidate]:
    """What every family has to beat."""
    return [
        Candidate(
            name="independent",
            title="independent columns",
            structure="none",
            make=lambda size: IndependentColumns(pooled=True),
            cost=Cost(4e-4, marks=3e-9),
            is_baseline=True,
        ),
        Candidate(
            name="tree",
            title=BY_NAME["tree"].title,
            structure="pairs",
            make=BY_NAME["tree"].estimator,
            tuned=(Tuning("smoothing", (1.0, 3.0, 10.0), 1),),
            cost=Cost(3e-3, pairs=6e-8, marks=5e-7, partners=2e-8),
            trial={"max_iter": 10, "tol": 1e-5},
            full={"max_iter": 10, "tol": 1e-5},
            is_baseline=True,
        ),
    ]


def _rivals() -> list[Candidate]:
    """What people take who look for no hidden structure."""
    shared: dict[str, Any] = {"structure": "outside", "is_rival": True, "asked": False}
    tuned = (Tuning("strength", (0.01, 0.03, 0.1, 0.3, 1.0), 2),)
    cost = Cost(1e-3, columns=1e-3, cells=5e-7, crossed=4e-9)
    regressions = Candidate(
        name="regressions",
        title="logistic regression of every column",
        make=lambda size: ColumnRegressions(),
        tuned=tuned,
        cost=cost,
        **shared,
    )
    boosting = Candidate(
        name="boosting",
        title="gradient boosting of every column",
        make=lambda size: ColumnBoosting(),
        cost=Cost(1e-2, columns=2.5e-3, crossed=7e-8),
        **shared,
    )
    lightgbm = Candidate(
        name="lightgbm",
        title="LightGBM's boosting of every column",
        make=lambda size: ColumnLightGBM(),
        cost=Cost(1e-2, columns=2.5e-3, crossed=2e-8),
        **shared,
    )
    return [regressions, boosting, *([] if importlib.util.find_spec("lightgbm") is None else [lightgbm])]


def candidates_for(models: Any = "all", n_components: Any = None) -> list[Candidate]:
    """The candidates that a user asks for, baselines and rivals first.

    Parameters
    ----------
    models : "all" or iterable
        Names of families, estimators of this package, :class:`Adapted` models, or (name, model) pairs.
    n_components : iterable of int or dict, optional
        Sizes to choose from; a dict has them by name.

    Examples
    --------
    >>> [one.name for one in candidates_for(["aspect", "mixture"])]
    ['independent', 'tree', 'regressions', 'boosting', 'aspect', 'mixture']
    """
    families = {one.name: one for one in map(candidate_of, (f for f in FAMILIES if f.search is not None))}
    if isinstance(models, str):
        if models == "all":
            families = {name: replace(one, asked=False) for name, one in families.items()}
        models = list(families) if models == "all" else [models]
    chosen = [_candidate(model, families) for model in models]
    if not chosen:
        raise InputError(f"compare: no model is left to compare; there are: {', '.join(families)}.")
    names = [one.name for one in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"compare: two models are called {twice[0]!r}; give (name, model) pairs.")
    if n_components is not None:
        n_components = n_components if isinstance(n_components, dict) else several_sizes(n_components, "compare")
        chosen = [_with_sizes(one, n_components) for one in chosen]
        missing = [name for name in n_components if name not in names] if isinstance(n_components, dict) else []
        if missing:
            raise InputError(f"compare: n_components names {missing[0]!r}, which does not take part.")
    return [*_baselines(), *_rivals(), *chosen]


def _candidate(model: Any, families: dict[str, Candidate]) -> Candidate:
    """A candidate from a name, a model, or a (name, model) pair."""
    if isinstance(model, str):
        if model not in families:
            raise InputError(f"compare: there is no family {model!r}; there are: {', '.join(families)}.")
        return families[model]
    name = None
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[0], str):
        name, model = model
    if isinstance(model, Adapted):
        title = name or type(model.estimator).__name__
        sized = model.size_name is not None
        return Candidate(
            name=title, title=title, structure="other", make=model.with_size, cost=UNKNOWN_COST, sized=sized
        )
    if not isinstance(model, LatentBitsEstimator) or not hasattr(model, "impute"):
        raise InputError(
            f"compare: {type(model).__name__} fills no unknown cells; wrap models of scikit-learn as "
            "latentbits.evaluation.Adapted(model)."
        )
    like = families.get(family_of(type(model)).name or "")
    title = name or type(model).__name__
    return Candidate(
        name=title,
        title=title if like is None or name is not None else like.title,
        structure="other" if like is None else like.structure,
        make=_copies(model),
        cost=UNKNOWN_COST if like is None else like.cost,
    )


def _copies(model: Any) -> Callable[[Any], Any]:
    """Makes unfitted copies of a model, with another size if one is given."""

    def make(size: Any) -> Any:
        copy = clone(model)
        if "checkpoint" in copy.get_params(deep=False):
            copy.set_params(checkpoint=None)
        return copy.set_params(**sized(copy, size))

    return make


def several_sizes(sizes: Any, owner: str) -> list[Any]:
    """Sizes that a user wants tried: whole numbers, or tuples of them for maps, and not too many."""
    if is_whole(sizes):
        return [int(sizes)]
    try:
        out = list(islice(sizes, MOST_SIZES + 1))
    except TypeError:
        raise InputError(
            f"{owner}: n_components must be numbers to try, e.g. range(1, 9); got {sizes!r:.60}."
        ) from None
    if len(out) > MOST_SIZES:
        raise InputError(f"{owner}: more than {MOST_SIZES:,} sizes in n_components are too many to try; name fewer.")
    sizes = [tuple(size) if isinstance(size, (tuple, list)) else size for size in out]
    bad = [size for size in sizes if not all(is_whole(n) and n >= 1 for n in _sides(size)) or not _sides(size)]
    if bad or not sizes:
        raise InputError(f"{owner}: n_components must be whole numbers, 1 or more; got {bad[0] if bad else out!r:.60}.")
    return [size if isinstance(size, tuple) else int(size) for size in sizes]


def _sides(size: Any) -> tuple[Any, ...]:
    """Nodes along every axis of a map, or the number of components."""
    return size if isinstance(size, tuple) else (size,)


def check_sizes(candidates: Iterable[Candidate], source: Source) -> None:
    """Refuse sizes that the user named and the table cannot support, before anything is fitted."""
    for one in candidates:
        model = one.make(one.named[-1]) if one.named else None
        if isinstance(model, LatentBitsEstimator):
            model._check_size(source)


def _with_sizes(one: Candidate, n_components: Any) -> Candidate:
    """A candidate with the sizes that the user wants tried; maps and the Dirichlet process keep their own."""
    wanted: Iterable[Any] = n_components
    if isinstance(n_components, dict):
        if one.name not in n_components:
            return one
        wanted = n_components[one.name]
    elif not one.sized:
        return one
    sizes = sorted(set(several_sizes(wanted, f"compare: {one.name}")), key=measure)
    return replace(one, named=tuple(sizes))
