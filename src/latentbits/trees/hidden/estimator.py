"""``HiddenTree``: a tree of local hidden causes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ... import declared as of
from ...base import LatentBitsEstimator, MembershipsMixin, records
from ...base.limits import COPIES, PER_START
from ...base.options import AcceleratedOptions, BitOptions, Check, Number, OneOf, Whole, option_fields
from ...data.block import Block
from ...data.summary import Totals
from ...engine.protocols import Sweep
from ...engine.restarts import InitParams
from ...engine.stepwise_em import StreamState
from ..estimator import TreesMixin
from ..forest import edge_strengths
from .averaging import AveragedHiddenTrees, AveragingHiddenMixin, HiddenMembers
from .messages import states_at
from .model import HiddenStats, HiddenTreeModel
from .modules import Module, modules_of
from .params import HiddenParams, implied_tree, main_root, profiles_of
from .starts import led_start


@option_fields
class HiddenTree(
    TreesMixin, MembershipsMixin, AveragingHiddenMixin, AcceleratedOptions, BitOptions, LatentBitsEstimator
):  # type: ignore[override, misc]
    """Tree of hidden states by EM: every column has a hidden cause of its own, close to those of its neighbours.

    Every column has a hidden state, and states follow the tree of column pairs with the most mutual information: a column
    shares most with its neighbours, and less and less with columns further off.  For tables with many local groups of
    columns, where no small number of classes describes a whole row.  Likelihood, filled cells and draws are exact also with
    unknown cells.  A pass costs ones times the depth of the tree times the square of the states, at most cells times that.

    Parameters
    ----------
    n_states : int
        Number of states M of every column.  One state: columns are independent.
    smoothing : float
        Strength c ≥ 0 of the priors in rows' worth of data: of P(1 | state) toward the column's marginal, and of the moves
        from every state toward all states alike.  0 is maximum likelihood (probabilities then stay within
        [1e-9, 1 - 1e-9]).
    init : {"k-means++", "random"}
        Classes with which states begin: seeded at rows far from each other, or drawn around the column marginals.  A
        mixture of as many classes is fitted, spread over the tree, and led by stepwise EM on at most 32,768 distinct rows;
        then follow passes over all rows.
    average_restarts : bool
        Keep all starts and average their predictions (likelihood, filled cells, samples); memberships and explanations come
        from the best.
    average : {"mean", "joint"}
        How they are averaged: every start with the same say, or weighted by how well it explains the row.

    Attributes
    ----------
    root_ : int
        The column at the root of the tree, a centre of it: the states that :meth:`transform` tells.
    weights_ : (n_states,) array
        Shares of the states of the root, decreasing.
    components_ : (n_states, n_features) array
        P(cell = 1 | state of the root).
    parents_ : (1, n_features) array of int
        The column on whose state that of each depends; roots are their own parents.
    on_given_ : (1, n_features, 2) array
        P(cell = 1 | cell of the parent is 0 or 1), hidden states summed out.
    moves_ : (n_features, n_states, n_states) array
        P(state | state of the parent); the same line for all at roots.
    state_probs_ : (n_features, n_states) array
        P(cell = 1 | state of the column), increasing but at the root.
    marginals_, objective_, n_iter_, converged_, history_, restarts_, n_reached_
        As in :class:`BernoulliMixture`.

    Notes
    -----
    Of up to 2,000 columns all pairs are looked at for the tree.  Of more, every column keeps the 24 partners with which it
    is correlated most.  :meth:`partial_fit` keeps the tree of the rows of its first call (or of the fit before it), so these
    should be some thousands; states and their tables follow all rows.

    References
    ----------
    A. Liu, G. Van den Broeck, *Tractable Regularization of Probabilistic Circuits*, NeurIPS 2021 (hidden Chow-Liu trees);
    C. K. Chow, C. N. Liu, *Approximating Discrete Probability Distributions with Dependence Trees* (1968).

    Examples
    --------
    >>> from latentbits import HiddenTree
    >>> from latentbits.datasets import make_trees
    >>> X = make_trees(300, 8, 2, unknown=0.05, random_state=0).data
    >>> model = HiddenTree(n_states=3, n_init=1, random_state=0).fit(X)
    >>> model.transform(X).shape, model.states(X, 2).shape
    ((300, 3), (300, 3))
    """

    record_types: ClassVar[dict[str, Any]] = records(
        AveragedHiddenTrees, HiddenMembers, HiddenTreeModel, HiddenParams, HiddenStats, StreamState, Totals
    )
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": HiddenParams,
        "_model": HiddenTreeModel | AveragedHiddenTrees,
        "root_": of.Count,
        "weights_": Annotated[Any, of.weights("K")],
        "parents_": Annotated[Any, of.places("1", "D", below="D", dtype="int32")],
        "on_given_": Annotated[Any, of.chances("1", "D", "2")],
        "moves_": Annotated[Any, of.shares("D", "K", "K")],
        "state_probs_": Annotated[Any, of.chances("D", "K")],
    }
    option_checks: ClassVar[Mapping[str, Check]] = {
        "smoothing": Number(0.0),
        "init": OneOf(("k-means++", "random")),
    }
    size_option: ClassVar[str] = "n_states"
    counted_by_rows: ClassVar[tuple[str, ...]] = ("n_states",)

    n_states: int = field(default=8, kw_only=False)
    smoothing: float = 0.5
    init: str = "k-means++"
    average_restarts: bool = False
    average: str = "mean"

    work: ClassVar[int] = 16

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        numbers = int(self.n_states) * n_columns * (int(self.n_states) + 1)
        starts = int(self.n_init) * (numbers if self.average_restarts else 1)
        return COPIES * numbers + PER_START * int(self.n_init) + starts

    def _build_model(self, sums: Totals) -> HiddenTreeModel:
        return HiddenTreeModel(
            int(self.n_states), sums.marginals, float(self.smoothing), sums.weight, bool(self.average_restarts)
        )

    def _initializer(self, model: HiddenTreeModel) -> InitParams:
        return partial(led_start, model, *self._pairs, self.init)

    def _init_stream_params(self, sweep: Sweep, sums: Totals, seed: int) -> HiddenParams:
        self._table_sums(sweep)  # the tree is that of the pairs in the first rows
        return super()._init_stream_params(sweep, sums, seed)  # type: ignore[no-any-return]

    def _n_starts(self) -> int:
        return 1 if int(self.n_states) == 1 else int(self.n_init)

    def _set_fitted_attributes(self) -> None:
        pairs = implied_tree(self._params)
        self.root_ = main_root(self._params.parents)
        self.weights_, self.components_ = self._params.moves[self.root_, 0], profiles_of(self._params)
        self.parents_, self.on_given_ = pairs.parents, pairs.on_given
        self.moves_, self.state_probs_ = self._params.moves, self._params.probs
        vars(self).pop("_pairs", None)

    def states(self, X: Any, column: Any) -> Any:
        """P(state of a column | row), the local cause behind its cells.

        Parameters
        ----------
        X : table
        column : int or str
            Its number, or its name if the table of the fit had names.

        Returns
        -------
        (n_rows, n_states) array, a lazy one of Dask for a table of Dask
            Of the best start, in the order of ``state_probs_``.

        Examples
        --------
        >>> from latentbits import HiddenTree, datasets
        >>> X = datasets.load_zoo().frame
        >>> HiddenTree(2, n_init=1, random_state=0).fit(X).states(X, "milk").shape
        (101, 2)
        """
        self._check_fitted()
        return self._by_rows(X, partial(_StatesOf, int(self._column_numbers(column)[0])))

    def modules_table(self, n_modules: int | None = None) -> list[dict[str, Any]]:
        """Groups of columns that share local causes: the tree, cut at its weakest edges.

        Parameters
        ----------
        n_modules : int, optional
            How many; by default the tree is cut where two columns tell no more about each other than chance would, and
            where they tell less than a quarter as much as the middle one of the other pairs.

        Returns
        -------
        list of dict
            The largest first, with module (its number from 1), features (their names, from the top of the module down),
            information (mean mutual information of its edges, in nats; 0 for a single column) and cut (that of the edge
            above it, 0 at a root).

        Examples
        --------
        >>> from latentbits import HiddenTree, datasets
        >>> X = datasets.load_zoo().frame
        >>> len(HiddenTree(2, n_init=1, random_state=0).fit(X).modules_table(3))
        3
        """
        self._check_fitted()
        names = self._feature_names()
        return [
            {
                "module": number,
                "features": [names[d] for d in one.columns],
                "information": one.information,
                "cut": one.cut,
            }
            for number, one in enumerate(self._modules(n_modules), 1)
        ]

    def _modules(self, n_modules: int | None = None) -> list[Module]:
        """The modules with the numbers of their columns."""
        self._check("n_modules", n_modules, Whole(1, others=(None,), most=self.n_features_in_))
        chances = self.weights_ @ self.components_
        strength = edge_strengths(self.parents_[0], self.on_given_[0], chances)
        return modules_of(self.parents_[0], strength, self._single_model.total_weight, n_modules)

    def _trees(self) -> Iterator[tuple[str, float, Any, Any, Any]]:
        yield "all", 1.0, self.parents_[0], self.on_given_[0], self.weights_ @ self.components_


class _StatesOf:
    """States of one column in every row of a block."""

    def __init__(self, column: int, model: Any) -> None:
        self.column = column

    def __call__(self, block: Block, precomputed: Any) -> Any:
        best = getattr(precomputed, "best", precomputed)
        return states_at(block, best, np.arange(block.n_rows), np.full(block.n_rows, self.column))
