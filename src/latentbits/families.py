"""The one table of families: what every estimator is called, where it lives, what it says and answers, and what it costs.

Public names, loading, the command line, comparisons, the report, the contract tests and the tables of the documentation all
read it.  Nothing is imported from here but what a family needs: the classes come when they are first asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# What a family says about a row; families with the same story differ in how they are fitted.
STORIES: Mapping[str, str] = {
    "class": "every row belongs to one hidden class",
    "paired classes": "every row belongs to one hidden class, and within a class columns go in pairs",
    "shares": "every row is a blend of several causes, each cell owing to one of them",
    "causes": "every row has several causes, any of which can switch a cell on",
    "scores": "every row has a place on a few continuous scales",
    "map": "every row has a place on a two-dimensional map",
    "switches": "every row is a pattern of hidden switches",
    "none": "columns have nothing to do with each other",
    "pairs": "columns depend on each other in pairs, along a tree",
    "local causes": "every column has a local hidden cause, and causes hang together as a tree",
    "other": "a model that was brought along",
    "outside": "no hidden structure is claimed: every column is predicted from the others",
    "topics": "every row has topics, each with words of its own",
    "ratings": "every user is a blend of tastes, each with ratings of its own",
    "keywords": "columns that set the topics of rows apart are worth keeping",
}
# Stories with several causes per row, those that are easier to read before the others.
SEVERAL_CAUSES = ("shares", "causes", "switches")
# How a story is read: what a component is to a row decides its words, pictures, order of rows and label tables.
#   classes    a row belongs to one (of a map: to a region)
#   shares     a row is a blend of all, the shares sum to one
#   causes     each is on in a row or not, whatever the others are
#   scales     a row has a number on each, low or high; nothing belongs to a scale
#   map        a row has a place in the plane
#   tree       there are no components, only columns that go in pairs
KINDS: Mapping[str, str] = {
    "class": "classes",
    "paired classes": "classes",
    "local causes": "classes",
    "shares": "shares",
    "causes": "causes",
    "switches": "causes",
    "scores": "scales",
    "map": "map",
    "pairs": "tree",
}


# What a fit costs beside its passes, in passes; columns whose pairs are looked at, and from which one column is predicted.
FIXED_PASSES, MOST_PAIRED, MOST_PREDICTORS = 3.0, 2000, 128


class TableSize(NamedTuple):
    """The size of a table to be fitted."""

    n_rows: int
    n_columns: int
    n_marked: int  # ones and unknown cells

    @property
    def n_cells(self) -> int:
        """All cells."""
        return self.n_rows * self.n_columns

    def part(self, n_rows: int, hidden: float = 0.0) -> TableSize:
        """So many rows of the table, of which a share of the cells is hidden.

        Examples
        --------
        >>> TableSize(100, 10, 200).part(50, hidden=0.1)
        TableSize(n_rows=50, n_columns=10, n_marked=150)
        """
        share = n_rows / max(1, self.n_rows)
        return TableSize(n_rows, self.n_columns, int(share * (self.n_marked + hidden * self.n_cells)))


@dataclass(frozen=True)
class Cost:
    """Nominal seconds of a pass, as ``benchmarks/costs.py`` measures them; those called ``per`` are times the components."""

    per_pass: float = 1e-3
    rows: float = 0.0
    marks: float = 0.0  # ones and unknown cells
    cells: float = 0.0
    pairs: float = 0.0  # of columns, as far as pairs are looked at
    per_row: float = 0.0
    per_mark: float = 0.0
    per_cell: float = 0.0
    per_pair: float = 0.0
    per_square: float = 0.0  # of columns, times the square of the components
    columns: float = 0.0
    crossed: float = 0.0  # cells times the columns that each is predicted from
    partners: float = 0.0  # of a fit to more columns than all pairs are looked at of, by the square of the columns

    def seconds(self, table: TableSize, size: float, n_passes: float) -> float:
        """Of a fit with so many passes."""
        n_rows, n_marked, n_cells = table.n_rows, table.n_marked, table.n_cells
        n_pairs = min(table.n_columns, MOST_PAIRED) ** 2
        alone = self.rows * n_rows + self.marks * n_marked + self.cells * n_cells + self.pairs * n_pairs
        by_size = self.per_row * n_rows + self.per_mark * n_marked + self.per_cell * n_cells + self.per_pair * n_pairs
        squares = self.per_square * table.n_columns * size**2
        alone += self.columns * table.n_columns + self.crossed * n_cells * min(table.n_columns, MOST_PREDICTORS)
        search = self.partners * table.n_columns**2 if table.n_columns > MOST_PAIRED else 0.0
        return search + (n_passes + FIXED_PASSES) * (self.per_pass + alone + size * by_size + squares)


class Tuning(NamedTuple):
    """An option that is searched: its values in order of strength, and the place of the one to begin with."""

    option: str
    values: tuple[Any, ...]
    start: int


@dataclass(frozen=True, kw_only=True)
class Search:
    """How a family takes part in comparisons.

    Attributes
    ----------
    first : int, tuple or None
        The smallest size; larger ones are tried as long as they predict better.  None: there is no size.
    tuned : tuple of Tuning
        Options that are searched at the best size.
    averaged : dict
        Options with which several starts answer together; empty if they cannot.
    cost : Cost
        What fits cost.
    trial, full : dict
        Options for fits of the search, and for those of the comparison.
    options : function
        From a size to options of the constructor.
    sized : bool
        Whether its size is a number of components.
    limit : bool
        Whether its size is only the most components that it may use.
    within_columns : bool
        Whether more components than columns say nothing that fewer do not: log odds of rank D have no more scales than D.
    """

    first: Any = None
    tuned: tuple[Tuning, ...] = ()
    averaged: Mapping[str, Any] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    trial: Mapping[str, Any] = field(default_factory=dict)
    full: Mapping[str, Any] = field(default_factory=dict)
    options: Callable[[Any], Mapping[str, Any]] = field(default=lambda size: {})
    sized: bool = True
    limit: bool = False
    within_columns: bool = False


@dataclass(frozen=True)
class Family:
    """An estimator of the package.

    Attributes
    ----------
    cls, home : str
        The class, and the package that it comes from.
    name : str or None
        On the command line and in comparisons.
    title : str
        For people.
    structure : str
        Key of :data:`STORIES`.
    noun : str
        What a component is called.
    citation : str
        Whom to cite.
    answers : tuple of str
        Methods that only some families have.
    reading : int
        Rank among families that predict equally well: the easiest to read first.
    search : Search or None
        How it takes part in comparisons; None: it does not.

    Examples
    --------
    >>> BY_NAME["aspect"].title, BY_NAME["aspect"].noun, BY_NAME["aspect"].kind
    ('Aspect Bernoulli', 'cause', 'shares')
    """

    cls: str
    home: str
    name: str | None
    title: str
    structure: str
    noun: str
    citation: str
    answers: tuple[str, ...]
    reading: int = 99
    search: Search | None = None

    @property
    def story(self) -> str:
        """What the family says about a row, in words.

        Examples
        --------
        >>> BY_NAME["noisy-or"].story
        'every row has several causes, any of which can switch a cell on'
        """
        return STORIES[self.structure]

    @property
    def kind(self) -> str:
        """How its components are read (:data:`KINDS`); empty for families that the report does not show.

        Examples
        --------
        >>> BY_NAME["mixture"].kind, BY_NAME["trait"].kind
        ('classes', 'scales')
        """
        return KINDS.get(self.structure, "")

    def counted(self, n: int) -> str:
        """So many components, in words.

        Parameters
        ----------
        n : int

        Examples
        --------
        >>> BY_NAME["mixture"].counted(3), BY_NAME["noisy-or"].counted(1)
        ('3 classes', '1 source')
        """
        return f"{n} {self.noun if n == 1 else self.nouns}"

    @property
    def nouns(self) -> str:
        """The noun for several.

        Examples
        --------
        >>> BY_NAME["boltzmann"].nouns
        'switches'
        """
        return self.noun + ("es" if self.noun.endswith(("s", "ch")) else "s")

    def load(self) -> Any:
        """The class.

        Examples
        --------
        >>> BY_NAME["mixture"].load().__name__
        'BernoulliMixture'
        """
        return getattr(importlib.import_module(self.home), self.cls)

    def estimator(self, size: Any = None, **options: Any) -> Any:
        """An unfitted estimator of a size, with the options that comparisons give it.

        Parameters
        ----------
        size : int or tuple, optional
            Of the estimator.
        **options
            Of the constructor.

        Returns
        -------
        an unfitted estimator

        Examples
        --------
        >>> BY_NAME["mixture"].estimator(4).n_components
        4
        """
        given = {} if self.search is None else dict(self.search.options(size))
        cls = self.load()
        return cls(**{**given, **sized(cls, size), **options})


def sized(estimator: Any, size: Any) -> dict[str, Any]:
    """The option that gives an estimator its size: the sides of a map, or the number of components; none for None."""
    if size is None:
        return {}
    return {"latent_shape" if isinstance(size, tuple) else estimator.size_option: size}


_CELLS = ("reconstruct", "impute", "explain", "sample")
_FITTED = (*_CELLS, "bic", "aic")
_CLASSES = ("predict", "predict_proba")
_ONCE = {"n_init": 1, "max_iter": 60}
_LONG = {"n_init": 2, "max_iter": 300, "screen_starts": False}
_SHORT_CHAIN = {"n_chains": 1, "n_warmup": 30, "n_draws": 30}
_CHAINS = {"n_chains": 2, "n_warmup": 60, "n_draws": 60}
_CELLS_LEARNED = Tuning("learn_cells", (None, "feature"), 1)
_VAN_DER_MAATEN = "L. van der Maaten, Bayesian Mixtures of Bernoulli Distributions"
_SHASHUA = "A. Shashua, G. Pragier, The Latent Bernoulli-Gauss Model for Data Analysis (2010)."
_HOFMANN = "T. Hofmann, Unsupervised Learning by Probabilistic Latent Semantic Analysis, Machine Learning 42 (2001)."


MOST_SIZES = 1000  # that a user may want tried

FAMILIES: tuple[Family, ...] = (
    Family(
        cls="BernoulliMixture",
        home="latentbits.mixture",
        name="mixture",
        title="Bernoulli mixture",
        structure="class",
        noun="class",
        citation="G. McLachlan, D. Peel, Finite Mixture Models, Wiley 2000.",
        answers=(*_FITTED, *_CLASSES, "partial_fit"),
        reading=0,
        search=Search(
            first=2,
            tuned=(Tuning("smoothing", (0.1, 1.0, 3.0, 10.0, 30.0, 100.0), 1),),
            averaged={"average_restarts": True, "n_init": 5},
            cost=Cost(3e-4, rows=1e-7, marks=5e-9, per_mark=7e-10),
            trial={"n_init": 1, "max_iter": 100},
            full=_LONG,
            options=lambda size: {"init": "k-means++"},
        ),
    ),
    Family(
        cls="VariationalBernoulliMixture",
        home="latentbits.mixture",
        name="variational",
        title="Bernoulli mixture (variational Bayes)",
        structure="class",
        noun="class",
        citation="C. M. Bishop, Pattern Recognition and Machine Learning, Springer 2006, chapter 10.",
        answers=(*_FITTED, *_CLASSES, "partial_fit"),
        reading=2,
        search=Search(
            first=4,
            cost=Cost(3e-4, marks=7.5e-9, per_mark=1.2e-9),
            trial=_ONCE,
            full=_LONG,
            limit=True,
        ),
    ),
    Family(
        cls="BayesianBernoulliMixture",
        home="latentbits.mixture",
        name="bayesian",
        title="Bayesian Bernoulli mixture (Gibbs)",
        structure="class",
        noun="class",
        citation=f"{_VAN_DER_MAATEN}.",
        answers=(*_CELLS, *_CLASSES),
        reading=1,
        search=Search(
            first=4,
            tuned=(_CELLS_LEARNED,),
            cost=Cost(2e-4, rows=4e-6, cells=3.6e-8, per_cell=2.4e-10),
            trial=_SHORT_CHAIN,
            full=_CHAINS,
            options=lambda size: {"learn_weight_concentration": True},
            limit=True,
        ),
    ),
    Family(
        cls="DPBernoulliMixture",
        home="latentbits.mixture",
        name="dp",
        title="Dirichlet-process Bernoulli mixture",
        structure="class",
        noun="class",
        citation=f"{_VAN_DER_MAATEN}; R. M. Neal, Markov Chain Sampling Methods for Dirichlet Process Mixture Models, JCGS 9 "
        "(2000).",
        answers=(*_CELLS, *_CLASSES),
        reading=7,
        search=Search(
            tuned=(_CELLS_LEARNED,),
            cost=Cost(2e-4, rows=3.2e-6, cells=9.7e-9, per_row=2e-8, per_cell=2.9e-9),
            trial=_SHORT_CHAIN,
            full=_CHAINS,
            options=lambda size: {"learn_weight_concentration": True},
            sized=False,
        ),
    ),
    Family(
        cls="AspectBernoulli",
        home="latentbits.aspect",
        name="aspect",
        title="Aspect Bernoulli",
        structure="shares",
        noun="cause",
        citation="A. Kabán, E. Bingham, T. Hirsimäki, Learning to Read Between the Lines: The Aspect Bernoulli Model, "
        "SDM 2004.",
        answers=(*_FITTED, "partial_fit"),
        reading=4,
        search=Search(
            first=2,
            tuned=(Tuning("smoothing", (0.1, 1.0, 3.0, 10.0, 30.0), 1),),
            cost=Cost(4e-4, rows=4.6e-7, marks=5.3e-8, per_mark=8.5e-10),
            trial=_ONCE,
            full={"n_init": 1, "max_iter": 200},
            options=lambda size: {"fill_in": "posterior"},
        ),
    ),
    Family(
        cls="NoisyOrComponentAnalysis",
        home="latentbits.noisy_or",
        name="noisy-or",
        title="noisy-or component analysis",
        structure="causes",
        noun="source",
        citation="T. Šingliar, M. Hauskrecht, Noisy-OR Component Analysis and its Application to Link Analysis, JMLR 7 "
        "(2006).",
        answers=(*_FITTED, "partial_fit"),
        reading=3,
        search=Search(
            first=2,
            tuned=(Tuning("link_threshold", (0.0, 1.5, 3.0), 1),),
            cost=Cost(2.4e-3, rows=3e-6, marks=2.9e-8, per_row=1.5e-6, per_mark=4.3e-9),
            trial={"n_init": 1, "max_iter": 30},
            full={"n_init": 1, "max_iter": 150},
        ),
    ),
    Family(
        cls="LogisticPCA",
        home="latentbits.logistic",
        name="logistic",
        title="logistic PCA",
        structure="scores",
        noun="scale",
        citation="A. Schein, L. Saul, L. Ungar, A Generalized Linear Model for Principal Component Analysis of Binary Data, "
        "AISTATS 2003.",
        answers=_FITTED,
        reading=8,
        search=Search(
            first=1,
            within_columns=True,
            tuned=(Tuning("ridge", (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), 2),),
            cost=Cost(2e-4, rows=1.7e-6, marks=4.7e-8, cells=2.3e-8, per_row=6.4e-7, per_mark=4.2e-8),
            trial={"n_init": 1, "max_iter": 30},
            full={"n_init": 1, "max_iter": 100},
            options=lambda size: {"fill_in": "posterior"},
        ),
    ),
    Family(
        cls="LatentTrait",
        home="latentbits.logistic",
        name="trait",
        title="latent trait model",
        structure="scores",
        noun="scale",
        citation="M. E. Tipping, Probabilistic Visualisation of High-dimensional Binary Data, NIPS 11 (1999).",
        answers=_FITTED,
        reading=5,
        search=Search(
            first=1,
            within_columns=True,
            tuned=(Tuning("ridge", (0.001, 0.1, 0.3, 1.0, 3.0), 2),),
            cost=Cost(9e-4, per_row=3e-7, per_cell=4e-8),
            trial={"n_init": 1, "max_iter": 25},
            full={"n_init": 1, "max_iter": 150},
        ),
    ),
    Family(
        cls="BinaryGTM",
        home="latentbits.gtm",
        name="gtm",
        title="binary GTM",
        structure="map",
        noun="region",
        citation="M. Girolami, A Generative Model for Sparse Discrete Binary Data with Non-Uniform Categorical Priors, ESANN "
        "2002.",
        answers=(*_FITTED, *_CLASSES, "partial_fit"),
        reading=6,
        search=Search(
            first=(5, 5),
            tuned=(Tuning("ridge", (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), 2),),
            cost=Cost(8e-4, marks=1.9e-8, per_mark=1.5e-9),
            trial=_ONCE,
            full={"n_init": 1, "max_iter": 150},
            sized=False,
        ),
    ),
    Family(
        cls="RestrictedBoltzmann",
        home="latentbits.rbm",
        name="boltzmann",
        title="restricted Boltzmann machine",
        structure="switches",
        noun="switch",
        citation="G. E. Hinton, Training Products of Experts by Minimizing Contrastive Divergence, Neural Computation 14 "
        "(2002).",
        answers=_FITTED,
        reading=9,
        search=Search(
            first=8,
            tuned=(Tuning("weight_decay", (5e-5, 2e-4, 5e-4, 1e-3), 1),),
            cost=Cost(1e-3, cells=3.2e-8, per_cell=2.5e-10),
            trial={"n_epochs": 20, "n_sweeps": 20},
            full={"n_epochs": 60, "n_sweeps": 50},
            options=lambda size: {"fill_in": "gibbs"},
        ),
    ),
    Family(
        cls="TreeMixture",
        home="latentbits.trees",
        name="trees",
        title="mixture of trees",
        structure="paired classes",
        noun="class",
        citation="M. Meilă, M. I. Jordan, Learning with Mixtures of Trees, JMLR 1 (2000).",
        answers=(*_FITTED, *_CLASSES),
        reading=2,
        search=Search(
            first=1,
            tuned=(Tuning("smoothing", (1.0, 3.0, 10.0, 30.0, 100.0), 2),),
            averaged={"average_restarts": True, "n_init": 4},
            cost=Cost(5e-3, per_mark=1.2e-7, per_pair=1.3e-8, partners=2e-8),
            trial={"n_init": 1, "max_iter": 25},
            full={"n_init": 1, "max_iter": 50, "tol": 1e-5},
        ),
    ),
    Family(
        cls="HiddenTree",
        home="latentbits.trees",
        name="hidden-tree",
        title="hidden tree",
        structure="local causes",
        noun="state",
        citation="A. Liu, G. Van den Broeck, Tractable Regularization of Probabilistic Circuits, NeurIPS 2021.",
        answers=(*_FITTED, *_CLASSES, "partial_fit"),
        reading=9,
        search=Search(
            first=2,
            tuned=(Tuning("smoothing", (0.1, 0.5, 2.0, 8.0), 1),),
            averaged={"average_restarts": True, "n_init": 3},
            cost=Cost(8e-3, rows=4e-6, cells=1.6e-7, per_cell=1.2e-8, per_square=4e-7, partners=2e-8),
            trial={"n_init": 1, "max_iter": 20},
            full={"n_init": 1, "max_iter": 60, "tol": 1e-6},
        ),
    ),
    Family(
        cls="ChowLiuTree",
        home="latentbits.trees",
        name="tree",
        title="Chow-Liu tree",
        structure="pairs",
        noun="tree",
        citation="C. K. Chow, C. N. Liu, Approximating Discrete Probability Distributions with Dependence Trees, "
        "IEEE Transactions on Information Theory 14 (1968).",
        answers=_FITTED,
    ),
    Family(
        cls="BernoulliGaussMixture",
        home="latentbits.bernoulli_gauss",
        name="bernoulli-gauss",
        title="Bernoulli-Gauss mixture",
        structure="topics",
        noun="topic",
        citation=_SHASHUA,
        answers=("sample", "bic", "aic", *_CLASSES),
    ),
    Family(
        cls="BernoulliGaussClassifier",
        home="latentbits.bernoulli_gauss",
        name=None,
        title="Bernoulli-Gauss classifier",
        structure="topics",
        noun="topic",
        citation=_SHASHUA,
        answers=_CLASSES,
    ),
    Family(
        cls="BernoulliGaussSelector",
        home="latentbits.bernoulli_gauss",
        name=None,
        title="Bernoulli-Gauss feature selection",
        structure="keywords",
        noun="feature",
        citation=_SHASHUA,
        answers=(),
    ),
    Family(
        cls="BernoulliGaussRecommender",
        home="latentbits.bernoulli_gauss",
        name=None,
        title="Bernoulli-Gauss recommender",
        structure="ratings",
        noun="taste",
        citation=_SHASHUA,
        answers=(),
    ),
    Family(
        cls="MixtureOfUnigrams",
        home="latentbits.multinomial",
        name="unigrams",
        title="mixture of unigrams",
        structure="topics",
        noun="topic",
        citation="K. Nigam, A. McCallum, S. Thrun, T. Mitchell, Text Classification from Labeled and Unlabeled Documents "
        "using EM, Machine Learning 39 (2000).",
        answers=("sample", "bic", "aic", *_CLASSES),
    ),
    Family(
        cls="PLSA",
        home="latentbits.multinomial",
        name="plsa",
        title="probabilistic latent semantic analysis",
        structure="topics",
        noun="topic",
        citation=_HOFMANN,
        answers=("sample",),
    ),
    Family(
        cls="GaussianPLSA",
        home="latentbits.multinomial",
        name=None,
        title="Gaussian probabilistic latent semantic analysis",
        structure="ratings",
        noun="taste",
        citation="T. Hofmann, Collaborative Filtering via Gaussian Probabilistic Latent Semantic Analysis, SIGIR 2003.",
        answers=(),
    ),
)

# Other classes that can be saved, and where they live.
COMPOSITES: Mapping[str, str] = {"StackedFill": "latentbits.evaluation"}

BY_CLASS: Mapping[str, Family] = {family.cls: family for family in FAMILIES}
BY_NAME: Mapping[str, Family] = {family.name: family for family in FAMILIES if family.name is not None}


def family_of(cls: type) -> Family:
    """The family of an estimator class, or of a class derived from one.

    Examples
    --------
    >>> from latentbits import BinaryGTM
    >>> family_of(BinaryGTM).title
    'binary GTM'
    """
    for base in cls.__mro__:
        if base.__name__ in BY_CLASS:
            return BY_CLASS[base.__name__]
    raise KeyError(f"{cls.__name__} is not in the table of families (latentbits/families.py)")


def saved_class(name: str) -> Any:
    """The class that a file of a model names, or None if there is none.

    Examples
    --------
    >>> saved_class("BinaryGTM").__name__, saved_class("StackedFill").__name__, saved_class("os")
    ('BinaryGTM', 'StackedFill', None)
    """
    if name in BY_CLASS:
        return BY_CLASS[name].load()
    return getattr(importlib.import_module(COMPOSITES[name]), name) if name in COMPOSITES else None
