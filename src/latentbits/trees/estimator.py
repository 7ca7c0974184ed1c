"""``TreeMixture`` and ``ChowLiuTree``: columns that hang together in pairs, within classes or in all rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, MembershipsMixin, records
from ..base.common import frame_of
from ..base.notebook import TOP, pair_told, pairs_drawn
from ..base.options import BitOptions, Check, Flag, Number, OneOf, OptimiserOptions, Whole, option_fields
from ..data.summary import Totals
from ..engine.protocols import Sweep
from ..engine.restarts import InitParams
from ..html import Html
from ..maths.profiles import STARVED
from .averaging import AveragedTrees, AveragingTreesMixin, TreeMembers
from .forest import edge_strengths, marginals_of
from .model import TreeModel
from .pairs import pair_space, pooled_pairs
from .params import TreeParams
from .starts import kmeanspp_start, one_tree_start, random_start

# Passes with independent columns before trees grow.
FIRST_PASSES = 8
# Largest difference of profiles and tables at which two classes are the same.
SAME = 1e-3


class TreesMixin:
    """What both have: edges, and a table of pairs that is counted before the fit."""

    _params: Any
    _model: Any
    marginals_: Any
    components_: Any
    parents_: Any
    on_given_: Any

    def _table_sums(self: Any, sweep: Sweep) -> tuple[Any, int]:
        sums, digest = super()._table_sums(sweep)  # type: ignore[misc]
        space = pair_space(sweep, sums)
        self._pairs = space, pooled_pairs(space, sweep, sums)  # until the model is built
        return sums, digest

    def edges_table(self: Any, top: int | None = None) -> list[dict[str, Any]]:
        """The edges of every class, the strongest first.

        Parameters
        ----------
        top : int, optional
            Edges per class; all by default.

        Returns
        -------
        list of dict
            With component (its name), feature, parent, information (mutual information in nats), probability_if_one and
            probability_if_zero (of the feature given its parent).

        Examples
        --------
        >>> from latentbits import ChowLiuTree, datasets
        >>> X = datasets.load_zoo().frame
        >>> len(ChowLiuTree().fit(X).edges_table())
        14
        """
        self._check_fitted()
        self._check("top", top, Whole(0, others=(None,)))
        names, out = self._feature_names(), []
        for called, _, parents, on_given, chances in self._trees():
            strength = edge_strengths(parents, on_given, chances)
            below = np.flatnonzero(parents != np.arange(len(parents)))
            for d in below[np.argsort(-strength[below], kind="stable")][:top]:
                out.append(
                    {
                        "component": called,
                        "feature": names[d],
                        "parent": names[parents[d]],
                        "information": float(strength[d]),
                        "probability_if_one": float(on_given[d, 1]),
                        "probability_if_zero": float(on_given[d, 0]),
                    }
                )
        return out

    def pairs_table(self: Any, top: int | None = 10) -> list[dict[str, Any]]:
        """The pairs of columns that tell most about each other within classes, over all classes.

        Parameters
        ----------
        top : int, optional
            Pairs; None: all.

        Returns
        -------
        list of dict
            With first, second (columns), information (mean mutual information within classes, in nats) and together:
            whether they go together; else one stands instead of the other.

        Examples
        --------
        >>> from latentbits import ChowLiuTree, datasets
        >>> X = datasets.load_zoo().frame
        >>> len(ChowLiuTree().fit(X).pairs_table(2))
        2
        """
        self._check_fitted()
        self._check("top", top, Whole(0, others=(None,)))
        names = self._feature_names()
        found: dict[tuple[int, int], tuple[float, float]] = {}
        for _, weight, parents, on_given, chances in self._trees():
            strength = edge_strengths(parents, on_given, chances)
            for d in np.flatnonzero(parents != np.arange(len(parents))).tolist():
                pair = min(d, int(parents[d])), max(d, int(parents[d]))
                value = float(weight * strength[d])
                total, signed = found.get(pair, (0.0, 0.0))
                found[pair] = total + value, signed + value * (1 if on_given[d, 1] > on_given[d, 0] else -1)
        best = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))[:top]
        return [
            {"first": names[a], "second": names[b], "information": total, "together": signed > 0}
            for (a, b), (total, signed) in best
        ]

    def _drawn_components(self: Any) -> Html:
        """The components, then the pairs that tell most about each other."""
        return Html(super()._drawn_components() + pairs_drawn(self.pairs_table(TOP)))  # type: ignore[misc]

    def _trees(self: Any) -> Iterator[tuple[str, float, Any, Any, Any]]:
        """Every tree: what it is called, its weight, parents, tables and the chances of its columns."""
        return zip(self._component_names(), self.weights_, self.parents_, self.on_given_, self.components_)

    def edges_frame(self, top: int | None = None) -> Any:
        """:meth:`edges_table` as a pandas frame.

        Parameters
        ----------
        top : int, optional
            Edges per component; all by default.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import ChowLiuTree, datasets
        >>> X = datasets.load_zoo().frame
        >>> ChowLiuTree().fit(X).edges_frame(top=1)[["feature", "parent"]]
          feature parent
        0    eggs   milk
        """
        return frame_of(self.edges_table(top))

    def _keep_trees(self: Any) -> None:
        """Set the attributes that tell of trees."""
        trees = zip(self._params.parents, self._params.on_given)
        self.weights_, self.components_ = self._params.weights, np.array([marginals_of(*tree) for tree in trees])
        self.parents_, self.on_given_ = self._params.parents, self._params.on_given
        vars(self).pop("_pairs", None)


_FITTED: dict[str, Any] = {
    "_params": TreeParams,
    "weights_": Annotated[Any, of.weights("K")],
    "parents_": Annotated[Any, of.places("K", "D", below="D", dtype="int32")],
    "on_given_": Annotated[Any, of.chances("K", "D", "2")],
}


@option_fields
class TreeMixture(TreesMixin, MembershipsMixin, AveragingTreesMixin, OptimiserOptions, BitOptions, LatentBitsEstimator):  # type: ignore[override, misc]
    """Mixture of trees by EM: rows belong to hidden classes, and within a class columns go in pairs.

    Every row has one hidden class; given the class, every column depends on one other column, its parent in the tree of the
    class.  For tables whose columns come in tied groups (one-of-k answers, near-copies, sequences), where classes with
    independent columns would need hundreds of classes.  Likelihood, filled cells and draws are exact also with unknown cells.

    Parameters
    ----------
    n_components : int
        Number of classes K.
    smoothing : float
        Pseudo-rows that every class is given, with the pairs of the whole table.  With one class: the strength of the
        Beta prior of :class:`ChowLiuTree`.  0 is maximum likelihood (probabilities then stay within [1e-9, 1 - 1e-9]).
    shared_tree : bool
        One tree for all classes, with tables of their own.
    init : {"k-means++", "random"}
        Starting profiles of the classes: seeded at rows far from each other, or drawn around the column marginals.
        Trees grow after eight passes with independent columns.
    average_restarts : bool
        Keep all starts and average their predictions (likelihood, filled cells, samples); memberships, trees and explanations
        come from the best.  Worth 1 to 5 nats per row on wide tables.
    average : {"mean", "joint"}
        How they are averaged: every start with the same say, or weighted by how well it explains the row.

    Attributes
    ----------
    weights_ : (n_components,) array
        Class weights, decreasing.
    components_ : (n_components, n_features) array
        P(cell = 1 | class).
    parents_ : (n_components, n_features) array of int
        The column on which each depends; roots are their own parents.
    on_given_ : (n_components, n_features, 2) array
        P(cell = 1 | class, parent is 0 or 1).
    marginals_, objective_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`BernoulliMixture`.

    Notes
    -----
    Of up to 2,000 columns all pairs are looked at.  Of more, every column keeps the 24 partners with which it is
    correlated most, and trees are made of these.

    References
    ----------
    M. Meilă, M. I. Jordan, *Learning with Mixtures of Trees*, JMLR 1 (2000);
    C. K. Chow, C. N. Liu, *Approximating Discrete Probability Distributions with Dependence Trees* (1968).

    Examples
    --------
    >>> from latentbits import TreeMixture
    >>> from latentbits.datasets import make_trees
    >>> X = make_trees(400, 8, 2, unknown=0.05, random_state=0).data
    >>> model = TreeMixture(n_components=2, n_init=3, random_state=0).fit(X)
    >>> model.parents_.shape, model.predict_proba(X).shape
    ((2, 8), (400, 2))
    >>> sorted(model.edges_table(1)[0])
    ['component', 'feature', 'information', 'parent', 'probability_if_one', 'probability_if_zero']
    """

    record_types: ClassVar[dict[str, Any]] = records(AveragedTrees, TreeMembers, TreeModel, TreeParams, Totals)
    fitted_types: ClassVar[Mapping[str, Any]] = {**_FITTED, "_model": TreeModel | AveragedTrees}
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "shared_tree": Flag(),
        "init": OneOf(("k-means++", "random")),
    }

    n_components: int = field(default=2, kw_only=False)
    smoothing: float = 10.0
    shared_tree: bool = False
    init: str = "k-means++"
    average_restarts: bool = False
    average: str = "mean"

    accelerate = False  # trees change on the way
    work: ClassVar[int] = 4

    def _build_model(self, sums: Totals) -> TreeModel:
        space, pooled = self._pairs
        grows = int(self.n_components) == 1 or self._is_warm
        return TreeModel(
            n_components=int(self.n_components),
            target=sums.marginals,
            smoothing=float(self.smoothing),
            shared_tree=bool(self.shared_tree),
            total_weight=sums.weight,
            keep_all=bool(self.average_restarts),
            space=space,
            pooled=None if int(self.n_components) == 1 else pooled,
            grows=grows,
            passes=None if grows else FIRST_PASSES,
        )

    def _initializer(self, model: TreeModel) -> InitParams:
        if model.n_components == 1:
            return partial(one_tree_start, self._pairs[1], model)
        return partial(kmeanspp_start if self.init == "k-means++" else random_start, model)

    def _n_starts(self) -> int:
        return 1 if int(self.n_components) == 1 else int(self.n_init)

    def _set_fitted_attributes(self) -> None:
        self._keep_trees()
        empty = [int(k) for k in np.flatnonzero(self.weights_ < STARVED / self.n_components)]
        self._warn_components(empty, _twins(self.parents_, self.on_given_, skip=set(empty)))


def _twins(parents: Any, on_given: Any, skip: set[int]) -> list[tuple[int, int]]:
    """Pairs of classes with the same trees and tables, to three digits."""
    kept = [k for k in range(len(parents)) if k not in skip]
    return [
        (a, b)
        for place, a in enumerate(kept)
        for b in kept[place + 1 :]
        if np.array_equal(parents[a], parents[b]) and np.abs(on_given[a] - on_given[b]).max() < SAME
    ]


@option_fields
class ChowLiuTree(TreesMixin, OptimiserOptions, BitOptions, LatentBitsEstimator):  # type: ignore[override, misc]
    """The tree of column pairs with the most mutual information (Chow & Liu): no hidden classes, columns go in pairs.

    Every column depends on one other column, its parent.  A table without unknown cells takes one pass; with unknown
    cells the tree is improved by EM from the one of the pairs that are known.  Likelihood, filled cells and draws are exact.

    Parameters
    ----------
    smoothing : float
        Strength c ≥ 0 of the Beta prior that draws every probability, given the value of the parent, toward its column's
        marginal, in rows' worth of data.  0 is maximum likelihood (probabilities then stay within [1e-9, 1 - 1e-9]).

    Attributes
    ----------
    components_ : (1, n_features) array
        P(cell = 1).
    parents_ : (1, n_features) array of int
        The column on which each depends; the root, a centre of the tree, is its own parent.
    on_given_ : (1, n_features, 2) array
        P(cell = 1 | parent is 0 or 1).
    marginals_, objective_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`BernoulliMixture`.

    Notes
    -----
    Of up to 2,000 columns all pairs are looked at, of more each with the 24 partners that it is correlated with
    most.

    References
    ----------
    C. K. Chow, C. N. Liu, *Approximating Discrete Probability Distributions with Dependence Trees*, IEEE Transactions on
    Information Theory 14 (1968).

    Examples
    --------
    >>> from latentbits import ChowLiuTree
    >>> tree = ChowLiuTree().fit([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 1, 1]])
    >>> tree.parents_.tolist()
    [[0, 0, 0]]
    >>> tree.impute([[1, None, 0]], how="mode").tolist()
    [[1.0, 1.0, 0.0]]
    """

    record_types: ClassVar[dict[str, Any]] = records(TreeModel, TreeParams, Totals)
    fitted_types: ClassVar[Mapping[str, Any]] = {**_FITTED, "_model": TreeModel}
    option_checks: ClassVar[Mapping[str, Check]] = {"smoothing": Number(0.0)}
    counted_by_rows: ClassVar[tuple[str, ...]] = ()

    smoothing: float = field(default=3.0, kw_only=False)
    n_init: int = 1

    accelerate = False
    work: ClassVar[int] = 4

    @property
    def _size(self) -> int:
        return 1

    def _n_starts(self) -> int:
        return 1

    def _build_model(self, sums: Totals) -> TreeModel:
        return TreeModel(1, sums.marginals, float(self.smoothing), total_weight=sums.weight, space=self._pairs[0])

    def _gist(self) -> str:
        told = "; ".join(pair_told(pair) for pair in self.pairs_table(3))
        return f"Columns go in pairs: {told}" if told else "No column tells anything about another"

    def _drawn_components(self) -> Html:
        return pairs_drawn(self.pairs_table(TOP))

    def _initializer(self, model: TreeModel) -> InitParams:
        return partial(one_tree_start, self._pairs[1], model)

    def _set_fitted_attributes(self) -> None:
        self._keep_trees()
