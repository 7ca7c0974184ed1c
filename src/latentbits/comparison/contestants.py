"""Who takes part: every family that fills unknown cells, the two baselines, and models that the user brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, clone

from ..base import LatentBitsEstimator
from ..errors import InputError
from ..selection import ChowLiuTree, IndependentColumns
from .adapter import Adapted

# What a family says about a row; families with the same story differ in how they are fitted.
STRUCTURES = {
    "class": "every row belongs to one hidden class",
    "shares": "every row is a blend of several causes, each cell owing to one of them",
    "causes": "every row has several causes, any of which can switch a cell on",
    "scores": "every row has a place on a few continuous scales",
    "map": "every row has a place on a two-dimensional map",
    "switches": "every row is a pattern of hidden switches",
    "none": "columns have nothing to do with each other",
    "pairs": "columns depend on each other in pairs, along a tree",
    "other": "a model that was brought along",
}
SEVERAL_CAUSES = ("shares", "causes", "switches")


class Table(NamedTuple):
    """The size of a table to be fitted."""

    n_rows: int
    n_columns: int
    n_marked: int  # ones and unknown cells

    @property
    def n_cells(self) -> int:
        """All cells."""
        return self.n_rows * self.n_columns


@dataclass(frozen=True)
class Cost:
    """Nominal seconds of a pass, measured on tables of several kinds; all but the first are times the components."""

    per_pass: float = 1e-3
    per_mark: float = 0.0  # ones and unknown cells
    per_cell: float = 0.0
    per_crowd: float = 0.0  # marks times their share of the cells: marks that meet others in their row
    fixed_passes: float = 3.0  # what a fit costs beside its passes, in passes

    def seconds(self, table: Table, size: float, n_passes: float) -> float:
        """Of a fit with so many passes."""
        crowd = table.n_marked**2 / max(1, table.n_cells)
        by_size = self.per_mark * table.n_marked + self.per_cell * table.n_cells + self.per_crowd * crowd
        return (n_passes + self.fixed_passes) * (self.per_pass + size * by_size)


@dataclass(frozen=True)
class Contestant:
    """A family in a comparison.

    Attributes
    ----------
    name, title : str
        For programs and for people.
    structure : str
        Key of :data:`STRUCTURES`.
    make : function
        From a size to an estimator.
    sizes : tuple
        The sizes to choose from, smallest first; (None,) if there is nothing to choose.
    cost : Cost
        What fits cost.
    light, full : dict
        Options for the choice of the size, and for the comparison.
    is_baseline : bool
    more : pair of dict
        What ``light`` and ``full`` become if there is time.
    sized : bool
        Whether its size is a number of components.
    limit : bool
        Whether its size is only the most components that it may use.
    named : bool
        Whether the user named the sizes, all of which are tried then.
    """

    name: str
    title: str
    structure: str
    make: Callable[[Any], Any]
    sizes: tuple[Any, ...]
    cost: Cost
    light: Mapping[str, Any]
    full: Mapping[str, Any]
    is_baseline: bool = False
    more: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    sized: bool = True
    limit: bool = False
    named: bool = False

    def estimator(self, size: Any, options: Mapping[str, Any], seed: int, n_jobs: int | None) -> Any:
        """An unfitted model."""
        model = self.make(size)
        if not isinstance(model, BaseEstimator):
            return model
        known = model.get_params(deep=False)
        given = {**options, "random_state": seed, "n_jobs": n_jobs}
        return model.set_params(**{name: value for name, value in given.items() if name in known})

    def thorough(self) -> Contestant:
        """The same with more starts, or longer ones."""
        return replace(self, light={**self.light, **self.more[0]}, full={**self.full, **self.more[1]})

    def passes(self, options: Mapping[str, Any]) -> float:
        """Passes over the table that options ask for, at most."""
        if "n_draws" in options:
            return float(options["n_chains"] * (options["n_warmup"] + options["n_draws"]))
        return float(options.get("n_init", 1) * options.get("max_iter", options.get("n_epochs", 1)))

    def seconds(self, size: Any, options: Mapping[str, Any], table: Table) -> float:
        """Nominal seconds of a fit."""
        return self.cost.seconds(table, measure(size), self.passes(options))

    def fitting(self, table: Table) -> Contestant:
        """The same with sizes that a table of this size can bear."""
        if self.named:
            return self
        most = max(2.0, min(table.n_rows / 5, table.n_columns))
        sizes = tuple(size for size in self.sizes if isinstance(size, tuple) or measure(size) <= most)
        return replace(self, sizes=sizes or self.sizes[:1])


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


_SINGLE = {"n_init": 1, "max_iter": 40}
_TWICE = {"n_init": 2, "max_iter": 200}


def _of_class(name: str, **options: Any) -> Callable[[Any], Any]:
    """Makes estimators of a family of this package."""

    def make(size: Any) -> Any:
        import latentbits

        cls = getattr(latentbits, name)
        sized = {} if size is None else {"latent_shape" if isinstance(size, tuple) else "n_components": size}
        return cls(**options, **sized)

    return make


def _machine(size: Any) -> Any:
    """A Boltzmann machine; small ones fill in exactly."""
    import latentbits

    exact = size <= 8
    return latentbits.RestrictedBoltzmann(size, fill_in="exact" if exact else "gibbs", n_sweeps=60)


def _all_families() -> list[Contestant]:
    """Every family of bits."""
    chains = {"n_chains": 1, "n_warmup": 30, "n_draws": 30}, {"n_chains": 2, "n_warmup": 100, "n_draws": 100}
    return [
        Contestant(
            "mixture",
            "Bernoulli mixture",
            "class",
            _of_class("BernoulliMixture"),
            (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30),
            Cost(6e-4, per_mark=2e-9),
            _SINGLE,
            {"n_init": 2, "max_iter": 300},
            more=({"n_init": 3}, {"n_init": 6}),
        ),
        Contestant(
            "variational",
            "Bernoulli mixture (variational Bayes)",
            "class",
            _of_class("VariationalBernoulliMixture"),
            (5, 10, 20, 30),
            Cost(6e-4, per_mark=3e-9),
            _SINGLE,
            {"n_init": 2, "max_iter": 300},
            more=({"n_init": 3}, {"n_init": 6}),
            limit=True,
        ),
        Contestant(
            "bayesian",
            "Bayesian Bernoulli mixture (Gibbs)",
            "class",
            _of_class("BayesianBernoulliMixture"),
            (5, 10, 20, 30),
            Cost(2e-3, per_mark=3e-8),
            *chains,
            limit=True,
        ),
        Contestant(
            "dp",
            "Dirichlet-process Bernoulli mixture",
            "class",
            _of_class("DPBernoulliMixture"),
            (None,),
            Cost(2e-3, per_mark=3e-8),
            *chains,
            sized=False,
        ),
        Contestant(
            "aspect",
            "Aspect Bernoulli",
            "shares",
            _of_class("AspectBernoulli", fill_in="posterior"),
            (2, 3, 4, 5, 6, 8, 10, 12, 16, 20),
            Cost(6e-4, per_mark=1.5e-8),
            _SINGLE,
            _TWICE,
            more=({"n_init": 3}, {"n_init": 6}),
        ),
        Contestant(
            "noisy-or",
            "noisy-or component analysis",
            "causes",
            _of_class("NoisyOrComponentAnalysis"),
            (2, 3, 4, 5, 6, 8, 10, 12, 16, 20),
            Cost(8e-3, per_crowd=1e-6, fixed_passes=20.0),
            {"n_init": 1, "max_iter": 20, "surplus": 0, "e_step": "warm"},
            {"n_init": 1, "max_iter": 150},
            more=({}, {"n_init": 2}),
        ),
        Contestant(
            "logistic",
            "logistic PCA",
            "scores",
            _of_class("LogisticPCA", fill_in="posterior", ridge=0.3),
            (1, 2, 3, 4, 5, 6, 8),
            Cost(4e-3, per_cell=5e-8),
            {"n_init": 1, "max_iter": 25},
            {"n_init": 1, "max_iter": 100},
        ),
        Contestant(
            "trait",
            "latent trait model",
            "scores",
            _of_class("LatentTrait"),
            (1, 2, 3, 4, 5, 6),
            Cost(2e-3, per_cell=3.5e-8, fixed_passes=20.0),
            _SINGLE,
            {"n_init": 1, "max_iter": 150},
        ),
        Contestant(
            "gtm",
            "binary GTM",
            "map",
            _of_class("BinaryGTM"),
            ((5, 5), (8, 8), (11, 11), (15, 15)),
            Cost(1e-3, per_mark=3e-9),
            _SINGLE,
            {"n_init": 1, "max_iter": 150},
            sized=False,
        ),
        Contestant(
            "boltzmann",
            "restricted Boltzmann machine",
            "switches",
            _machine,
            (2, 3, 4, 5, 6, 8),
            Cost(6e-3, per_cell=3e-8),
            {"n_epochs": 40, "learning_rate": 0.05},
            {"n_epochs": 100, "learning_rate": 0.05},
            more=({"n_epochs": 100}, {"n_epochs": 400}),
        ),
    ]


def _baselines() -> list[Contestant]:
    """What every family has to beat."""
    return [
        Contestant(
            "independent",
            "independent columns",
            "none",
            lambda size: IndependentColumns(pooled=True),
            (None,),
            Cost(1e-3),
            {},
            {},
            True,
        ),
        Contestant(
            "tree",
            "Chow-Liu tree",
            "pairs",
            lambda size: ChowLiuTree(pooled=True),
            (None,),
            Cost(1e-2, per_cell=4e-9),
            {},
            {},
            True,
        ),
    ]


def contestants(models: Any = "all", n_components: Any = None) -> list[Contestant]:
    """The contestants that a user asks for, baselines first.

    Parameters
    ----------
    models : "all" or iterable
        Names of families, estimators of this package, :class:`Adapted` models, or (name, model) pairs.
    n_components : iterable of int or dict, optional
        Sizes to choose from; a dict has them by name.

    Examples
    --------
    >>> [one.name for one in contestants(["aspect", "mixture"])]
    ['independent', 'tree', 'aspect', 'mixture']
    """
    families = {one.name: one for one in _all_families()}
    if isinstance(models, str):
        models = list(families) if models == "all" else [models]
    chosen = [_contestant(model, families) for model in models]
    if not chosen:
        raise InputError(f"compare: no model is left to compare; there are: {', '.join(families)}.")
    names = [one.name for one in chosen]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"compare: two models are called {twice[0]!r}; give (name, model) pairs.")
    if n_components is not None:
        chosen = [_with_sizes(one, n_components) for one in chosen]
        missing = [name for name in n_components if name not in names] if isinstance(n_components, dict) else []
        if missing:
            raise InputError(f"compare: n_components names {missing[0]!r}, which does not take part.")
    return [*_baselines(), *chosen]


def _contestant(model: Any, families: dict[str, Contestant]) -> Contestant:
    """A contestant from a name, a model, or a (name, model) pair."""
    if isinstance(model, str):
        if model not in families:
            raise InputError(f"compare: there is no family {model!r}; there are: {', '.join(families)}.")
        return families[model]
    name = None
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[0], str):
        name, model = model
    if isinstance(model, Adapted):
        title = name or type(model.estimator).__name__
        return Contestant(
            title,
            title,
            "other",
            model.with_size,
            (None,),
            Cost(1e-2, per_cell=1e-8),
            {},
            {},
            sized=model.size_name is not None,
        )
    if not isinstance(model, LatentBitsEstimator) or not getattr(model, "fills", False):
        raise InputError(
            f"compare: {type(model).__name__} fills no unknown cells; wrap models of scikit-learn as "
            "latentbits.comparison.Adapted(model)."
        )
    known = {type(one.make(one.sizes[0])): one for one in families.values()}
    like = known.get(type(model))
    title = name or type(model).__name__
    return Contestant(
        title,
        title if like is None or name is not None else like.title,
        "other" if like is None else like.structure,
        _copies(model),
        (None,),
        Cost(1e-2, per_cell=1e-8) if like is None else like.cost,
        {},
        {},
    )


def _copies(model: Any) -> Callable[[Any], Any]:
    """Makes unfitted copies of a model, with another size if one is given."""

    def make(size: Any) -> Any:
        copy = clone(model)
        if "checkpoint" in copy.get_params(deep=False):
            copy.set_params(checkpoint=None)
        if size is not None:
            copy.set_params(**{"latent_shape" if isinstance(size, tuple) else "n_components": size})
        return copy

    return make


def _with_sizes(one: Contestant, n_components: Any) -> Contestant:
    """A contestant with the sizes that the user wants tried; maps and the Dirichlet process keep their own."""
    wanted: Iterable[Any] = n_components
    if isinstance(n_components, dict):
        if one.name not in n_components:
            return one
        wanted = n_components[one.name]
    elif not one.sized:
        return one
    wanted = [wanted] if isinstance(wanted, int) else list(wanted)
    sizes = tuple(sorted({tuple(k) if isinstance(k, (tuple, list)) else int(k) for k in wanted}, key=measure))
    if not sizes or measure(sizes[0]) < 1:
        raise InputError(f"compare: the sizes of {one.name} must be whole numbers, 1 or more; got {wanted!r}.")
    return replace(one, sizes=sizes, named=True)
