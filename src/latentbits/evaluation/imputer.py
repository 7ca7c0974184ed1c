"""A transformer that fills the blanks of yes/no tables, with the interface of scikit-learn's ``SimpleImputer``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..base import quiet
from ..base.common import seed_of
from ..base.options import Check, Flag, Positive, Whole
from ..base.sklearn_api import BaseEstimator, TransformerMixin, check_is_fitted
from ..data.giving_back import like
from ..data.holdout import RowsSource
from ..data.rng import stream
from ..data.source import Source
from ..errors import InputError, LatentBitsWarning
from .stacked_fill import StackedFill, StackModel, fitted_member, seconds_of_fit

# Of a time limit, if several completed tables are asked for: for the stack; the rest is for fits to rows drawn anew.
STACKING = 0.6


class Imputer(TransformerMixin, BaseEstimator):
    """Fill the blanks of tables of zeros, ones and blanks with several models together.

    Parameters
    ----------
    models : "auto", "all" or list
        "auto": all families of this package, and logistic regression and gradient boosting of every column; "all": the
        families alone; or names and models as in :func:`latentbits.compare`.
    time_limit : float
        About how many seconds a fit may take, beside compiling kernels at their first use on a machine.  How much is tried
        in that time depends on the machine.
    n_imputations : int
        Completed tables that :meth:`transform_multiple` draws.
    add_indicator : bool
        Append a column for every column with blanks: 1 where the cell was blank.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int or None
        Fits at a time.

    Attributes
    ----------
    stack_ : StackedFill
        The models and their weights.
    features_with_blanks_ : array of int
        Columns with blanks in the fitted table.
    n_features_in_, feature_names_in_
        The columns.

    Notes
    -----
    Blanks become the more probable value; :meth:`transform_proba` gives the probabilities instead, which say more to whatever
    comes after.  For inference with multiple imputation set ``n_imputations`` to five or more, analyse every table of
    :meth:`transform_multiple` and pool the results by Rubin's rules: each table is drawn from a model that was fitted to rows
    drawn anew with replacement (the bootstrap), so that the tables differ as much as what is known about the model does.

    All of it takes cells to be missing at random: given the known cells of a row, whether a cell is blank must not depend on
    its value.

    Examples
    --------
    >>> from latentbits.datasets import make_mixture
    >>> X = make_mixture(200, 8, 3, spread=3.0, unknown=0.1, random_state=0).data
    >>> imputer = Imputer(["mixture", "trait"], time_limit=2.0, random_state=0).fit(X)
    >>> filled = imputer.transform(X)
    >>> sorted(set(filled.ravel().tolist()))
    [0.0, 1.0]
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        "time_limit": Positive(),
        "n_imputations": Whole(1, most=1000),
        "add_indicator": Flag(),
    }

    def __init__(
        self,
        models: Any = "auto",
        *,
        time_limit: float = 60.0,
        n_imputations: int = 1,
        add_indicator: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.models, self.time_limit, self.n_imputations = models, time_limit, n_imputations
        self.add_indicator, self.random_state, self.n_jobs = add_indicator, random_state, n_jobs

    def fit(self, X: Any, y: Any = None) -> Imputer:
        """Compare models on hidden cells of a table, weigh them, and fit them.

        Parameters
        ----------
        X : table
            Of 0, 1 and blanks.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from latentbits import Imputer, datasets
        >>> X = datasets.load_votes().frame.iloc[:100]
        >>> Imputer(["mixture"], time_limit=0.1, random_state=0).fit(X).features_with_blanks_[:2].tolist()
        [0, 1]
        """
        for name, check in self._checks.items():
            if (complaint := check(getattr(self, name))) is not None:
                raise InputError(f"Imputer: {name} {complaint}")
        seed, several = seed_of(self.random_state), self.n_imputations > 1
        auto = isinstance(self.models, str) and self.models == "auto"
        self.stack_ = StackedFill(
            "all" if auto else self.models,
            outside=auto,
            time_limit=self.time_limit * (STACKING if several else 1.0),
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(X)
        self.n_features_in_ = self.stack_.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(self.stack_, "feature_names_in_"):
            self.feature_names_in_ = self.stack_.feature_names_in_
        source = self._opened(X)
        self.features_with_blanks_ = np.unique(_blanks(source).indices).astype(np.int64)
        self._draws = self._drawn_models(source, seed) if several else []
        return self

    def _drawn_models(self, source: Source, seed: int) -> list[Any]:
        """For every completed table a model that was drawn with its weight, fitted to rows drawn with replacement."""
        found, stack = self.stack_.comparison_, self.stack_
        if found is None:
            return [stack.members_[0]] * self.n_imputations
        weights = dict(zip(stack.member_names_, stack.weights_))
        cost = {name: seconds_of_fit(found, name, source.shape[0]) for name in weights}
        affordable = [name for name in weights if cost[name] <= self.time_limit * (1 - STACKING) / self.n_imputations]
        names = affordable or [min(weights, key=lambda name: cost[name])]
        shares = np.array([weights[name] for name in names])
        rng, out = stream(seed, "bootstrap"), []
        for _ in range(self.n_imputations):
            rows = np.sort(rng.integers(source.shape[0], size=source.shape[0]))
            name = names[int(rng.choice(len(names), p=shares / shares.sum()))]
            drawn = int(rng.integers(2**31))
            with quiet(LatentBitsWarning):
                out.append(fitted_member(found, name, RowsSource(source, rows), drawn, self.n_jobs))
        return out

    def transform(self, X: Any) -> Any:
        """The table with every blank filled by its more probable value.

        Parameters
        ----------
        X : table

        Returns
        -------
        table of the kind of X, with indicator columns if asked for

        Examples
        --------
        >>> from latentbits import Imputer, datasets
        >>> X = datasets.load_votes().frame.iloc[:100]
        >>> int(Imputer(["mixture"], time_limit=0.1, random_state=0).fit(X).transform(X).isna().sum().sum())
        0
        """
        return self._completed(X, "mode")

    def transform_proba(self, X: Any) -> Any:
        """The table with every blank filled by the probability that it is a one.

        Parameters
        ----------
        X : table

        Returns
        -------
        table of the kind of X, with indicator columns if asked for

        Examples
        --------
        >>> from latentbits import Imputer, datasets
        >>> X = datasets.load_votes().frame.iloc[:100]
        >>> imputer = Imputer(["mixture"], time_limit=0.1, random_state=0).fit(X)
        >>> bool(imputer.transform_proba(X).stack().between(0, 1).all())
        True
        """
        return self._completed(X, "probability")

    def transform_multiple(self, X: Any) -> list[Any]:
        """``n_imputations`` completed tables, drawn: for multiple imputation.

        Parameters
        ----------
        X : table

        Returns
        -------
        list of tables of the kind of X, with indicator columns if asked for

        Examples
        --------
        >>> from latentbits import Imputer, datasets
        >>> X = datasets.load_votes().frame.iloc[:100]
        >>> imputer = Imputer(["mixture"], time_limit=0.1, n_imputations=2, random_state=0).fit(X)
        >>> len(imputer.transform_multiple(X))
        2
        """
        check_is_fitted(self, "stack_")
        seed = seed_of(self.random_state)
        if not self._draws:
            return [self._completed(X, "sample", seed)]
        out = []
        for number, model in enumerate(self._draws):
            alone = copy.copy(self.stack_)
            alone._model, alone._params = StackModel((model._model,), (1.0,)), (model._params,)
            out.append(self._with_indicator(X, alone.impute(X, "sample", seed + number)))
        return out

    def _completed(self, X: Any, how: str, seed: Any = None) -> Any:
        """The filled table, with the indicator if asked for."""
        check_is_fitted(self, "stack_")
        return self._with_indicator(X, self.stack_.impute(X, how, seed))

    def _with_indicator(self, X: Any, filled: Any) -> Any:
        """Append what tells where blanks were."""
        if not self.add_indicator:
            return filled
        blank = _blanks(self._opened(X)).tocsc()[:, self.features_with_blanks_]
        if sp.issparse(filled):
            return type(filled)(sp.hstack([filled, blank], format="csr"))
        cells = np.column_stack([_dense(filled), blank.toarray()])
        return like(X, cells, self.get_feature_names_out().tolist())

    def inverse_transform(self, X: Any) -> Any:
        """The table with its blanks as they were; needs ``add_indicator=True``.

        Parameters
        ----------
        X : (n_rows, n_features + n_indicators) array-like
            As :meth:`transform` gave it.

        Returns
        -------
        (n_rows, n_features) array

        Examples
        --------
        >>> import numpy as np
        >>> from latentbits import Imputer, datasets
        >>> X = datasets.load_votes().data[:100]
        >>> imputer = Imputer(["mixture"], time_limit=0.1, add_indicator=True, random_state=0).fit(X)
        >>> np.array_equal(imputer.inverse_transform(imputer.transform(X)), X, equal_nan=True)
        True
        """
        check_is_fitted(self, "stack_")
        if not self.add_indicator:
            raise InputError("Imputer: only add_indicator=True keeps where blanks were; fit and transform with it.")
        cells = _dense(X)
        n_columns = self.n_features_in_
        if cells.shape[1] != n_columns + len(self.features_with_blanks_):
            raise InputError(
                f"Imputer: a table with {n_columns + len(self.features_with_blanks_)} columns is needed, as transform "
                f"gives it; got {cells.shape[1]}."
            )
        out = cells[:, :n_columns].copy()
        rows, places = np.nonzero(cells[:, n_columns:] > 0.5)
        out[rows, self.features_with_blanks_[places]] = np.nan
        return out

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of ``transform``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns, if the fitted table had none.

        Returns
        -------
        array of str

        Examples
        --------
        >>> from latentbits import Imputer, datasets
        >>> X = datasets.load_votes().frame.iloc[:100, :3]
        >>> Imputer(["mixture"], time_limit=0.1, random_state=0).fit(X).get_feature_names_out().tolist()
        ['handicapped_infants', 'water_project_cost_sharing', 'adoption_of_the_budget_resolution']
        """
        check_is_fitted(self, "stack_")
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = [str(name) for name in input_features]
            if len(given) != self.n_features_in_ or (known is not None and given != [str(name) for name in known]):
                raise InputError("Imputer: input_features must be the names of the columns that were fitted.")
            known = given
        names = [f"x{j}" for j in range(self.n_features_in_)] if known is None else [str(name) for name in known]
        more = [f"missingindicator_{names[j]}" for j in self.features_with_blanks_] if self.add_indicator else []
        return np.array([*names, *more], dtype=object)

    def _opened(self, X: Any) -> Source:
        """A table, with the columns that were fitted."""
        return self.stack_._open(X, reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "stack_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _blanks(source: Source) -> Any:
    """Where a table is unknown: 1 there, sparse (n, D)."""
    parts = []
    for block in map(source.block, range(source.n_blocks)):
        indptr, indices = block.unknown_lists()
        parts.append(sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(block.n_rows, block.n_columns)))
    return sp.vstack(parts, format="csr")


def _dense(X: Any) -> Any:
    """A filled table as an array."""
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
