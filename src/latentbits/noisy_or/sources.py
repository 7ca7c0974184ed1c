"""What can be asked of sources: which are on, how rows are coded by them, how probable rows are, what each is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import LatentBitsEstimator, frame_of
from ..base.common import seed_of
from ..base.filling import FILLS
from ..base.options import MOST_DRAWS, OneOf, Whole
from ..base.sklearn_api import clone
from ..base.tables import keep_columns
from ..data.rng import row_uniforms, stream
from ..errors import InputError
from .params import expected_cells, without
from .scoring import Estimate, RowScores

METHODS = ("bound", "mean_field", "importance", "exact")


class Sources(LatentBitsEstimator):
    """Answers about sources; the other half of the shell supplies ``_model``, ``_params`` and the shared questions."""

    init: Any
    component_kinds_: list[str]
    source_prior_: Any

    def predict_sources(self, X: Any) -> Any:
        """Which sources are on: those with a posterior above one half.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, n_components) array of 0 and 1

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.predict_sources(X)[:2].shape
        (2, 2)
        """
        return (self._by_rows(X, "represent") > 0.5).astype(np.uint8)

    def encode(self, X: Any) -> Any:
        """Rows in K bits each: the sources that are on, packed into bytes.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, ceil(K / 8)) array of bytes

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.encode(X).shape
        (150, 1)
        """
        return np.packbits(self.predict_sources(X), axis=1)

    def decode(self, codes: Any, how: str = "probability", random_state: Any = None) -> Any:
        """Rows from their codes.

        Parameters
        ----------
        codes : (n_rows, ceil(K / 8)) array of bytes
            As :meth:`encode` gives them.
        how : {"probability", "mode", "sample"}
            P(cell = 1), the more probable value, or a draw (as in the paper).
        random_state : int, RandomState or None
            For ``how="sample"``.

        Returns
        -------
        (n_rows, n_features) array

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.decode(model.encode(X), how="mode").shape
        (150, 8)
        """
        self._check_fitted()
        try:
            codes = np.asarray(codes)
        except ValueError:
            codes = np.empty(0)
        width = -(-self.n_components // 8)
        if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != width:
            raise InputError(f"{self._name}: codes must be bytes of shape (rows, {width}), as encode gives them.")
        sources = np.unpackbits(codes, axis=1, count=self.n_components).astype(np.float64)
        return self._cells_of(sources, how, random_state)

    def _cells_of(self, shares: Any, how: str, random_state: Any = None) -> Any:
        """Cells of rows whose sources are on with these probabilities."""
        self._check("how", how, OneOf(FILLS))
        if how == "probability":
            return expected_cells(shares, self._params)
        if how == "mode":
            return (expected_cells(shares, self._params) > 0.5).astype(np.uint8)
        rng = stream(seed_of(self.random_state if random_state is None else random_state), "sample", 2)
        return self._model.draw_cells(self._params, shares, rng)

    def inverse_transform(self, posteriors: Any) -> Any:
        """P(cell = 1) of rows whose sources are on with given probabilities.

        Parameters
        ----------
        posteriors : (n_rows, n_components) array

        Returns
        -------
        (n_rows, n_features) array

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.inverse_transform([[1, 0]]).shape
        (1, 8)
        """
        shares = self._given_unknowns(posteriors)
        if not ((shares >= 0) & (shares <= 1)).all():
            raise InputError(
                f"{self._name}: {self.n_components} probabilities are needed for every row; got shape {shares.shape} with "
                f"values from {shares.min(initial=np.inf):g} to {shares.max(initial=-np.inf):g}."
            )
        return expected_cells(shares, self._params)

    def reconstruction_error(self, X: Any, how: str = "probability", random_state: Any = None) -> float:
        """Share of the known cells that differ from what the sources of their row give back (Figure 9 of the paper).

        Parameters
        ----------
        X : table
        how : {"probability", "mode", "sample"}
            Cells from the posteriors of the sources; from rounded posteriors; or drawn from rounded posteriors (the
            paper's).
        random_state : int, RandomState or None
            For ``how="sample"``.

        Returns
        -------
        float

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> 0 <= model.reconstruction_error(X) < 0.5
        True
        """
        self._check("how", how, OneOf(FILLS))
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        seed = seed_of(self.random_state if random_state is None else random_state)
        differ, known = sweep.map(
            _Differing(self._model, how, seed), [None] * sweep.n_blocks, precomputed, keep_rows=False
        )[0]
        if known == 0:
            raise InputError(f"{self._name}: every cell of the table is unknown; there is nothing to compare with.")
        return float(differ / known)

    # How probable rows are.

    def score_samples(self, X: Any, method: str = "bound", n_draws: int = 200, random_state: Any = 0) -> Any:
        """Log-likelihood of every row in nats, or a bound of it.

        Parameters
        ----------
        X : table
        method : {"bound", "mean_field", "importance", "exact"}
            The bound of the fit (the default; the likelihood itself if ``solver="exact"``), the tighter bound of the best
            factorised posterior, an estimate from draws of the sources (see :meth:`importance_scores`), or the exact value:
            through all states up to 12 sources, else by inclusion and exclusion over the ones of the row.
        n_draws : int
            For ``method="importance"``.
        random_state : int, RandomState or None
            For ``method="importance"``.

        Returns
        -------
        (n_rows,) array

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> exact = model.score_samples(X, method="exact")
        >>> bool((model.score_samples(X) <= exact + 1e-9).all())  # the bound is below
        True
        """
        self._check("method", method, OneOf(METHODS))
        self._check_fitted()
        if method == "bound":
            return self._by_rows(X, "log_prob")
        if method == "importance":
            return self.importance_scores(X, n_draws, random_state).value
        return self._by_rows(X, lambda model: getattr(RowScores(model), method))

    def importance_scores(self, X: Any, n_draws: int = 200, random_state: Any = 0) -> Estimate:
        """Log-likelihood of every row from draws of its sources, with standard errors: what compares with other families.

        Draws come from the posterior of the row, kept away from 0 and 1, and one in ten from the prior.  The estimate is
        right for the likelihood, so that its logarithm is a little low on average.

        Parameters
        ----------
        X : table
        n_draws : int
            Draws per row.
        random_state : int, RandomState or None

        Returns
        -------
        Estimate
            With arrays ``value``, ``standard_error`` and ``effective_draws``.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> bool((model.importance_scores(X, random_state=0).standard_error < 1).all())
        True
        """
        self._check_fitted()
        self._check("n_draws", n_draws, Whole(1, most=MOST_DRAWS))
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        parts = sweep.collect(RowScores(self._model, seed_of(random_state), int(n_draws)).importance, precomputed)
        return Estimate(*[np.concatenate(field) for field in zip(*parts)])

    def gibbs_posteriors(self, X: Any, n_sweeps: int = 500, n_burn: int = 50, random_state: Any = 0) -> Any:
        """Posteriors of the sources by Gibbs sampling: slower than ``transform``, and right in the limit.

        Parameters
        ----------
        X : table
        n_sweeps, n_burn : int
            Sweeps that count, and sweeps before them.
        random_state : int, RandomState or None

        Returns
        -------
        (n_rows, n_components) array

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.gibbs_posteriors(X[:5], n_sweeps=20, n_burn=5, random_state=0).shape
        (5, 2)
        """
        self._check_fitted()
        self._check("n_sweeps", n_sweeps, Whole(1, most=MOST_DRAWS))
        self._check("n_burn", n_burn, Whole(0, most=MOST_DRAWS))
        return self._by_rows(X, lambda model: RowScores(model, seed_of(random_state), int(n_sweeps), int(n_burn)).gibbs)

    def _standing(self, probabilities: Any) -> Any:
        """Links are ranked as they are: a weak one says nothing against its column."""
        return probabilities

    def bic(self, X: Any, method: str = "bound") -> float:
        """Bayesian information criterion, smaller is better: -2 log L + p log n with p = K D + K + D.

        Parameters
        ----------
        X : table
        method : {"bound", "mean_field", "importance", "exact"}
            What stands for log L; see :meth:`score_samples`.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.bic(X) > 0
        True
        """
        scores = self.score_samples(X, method)
        sweep = self._ask(X).sweep
        n_known = sweep.map(_KnownRows(), [None] * sweep.n_blocks, keep_rows=False)[0]
        return float(-2 * scores.sum() + self.n_free_ * np.log(max(n_known, 1)))

    # What each source is worth.

    def sources_table(self, top: int = 7) -> list[dict[str, Any]]:
        """The sources as rows of a table.

        Parameters
        ----------
        top : int
            Strongest links to name.

        Returns
        -------
        list of dict
            With component (its name), status, prior, expected rows, links above 0.1, loss by deletion (nats), and the
            strongest links.

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> [row["status"] for row in model.sources_table()]
        ['supported', 'supported']
        """
        self._check("top", top, Whole(0))
        self._check_fitted()
        names = self._feature_names()
        loss = getattr(self, "deletion_loss_", np.full(self.n_components, np.nan))
        rows = self._expected_rows()
        called, out = self.component_names_, []
        for k, links in enumerate(self.components_):
            strongest = np.argsort(-links, kind="stable")[:top]
            out.append(
                {
                    "component": called[k],
                    "status": self._component_kinds()[k] or self.component_kinds_[k],
                    "prior": float(self.source_prior_[k]),
                    "rows": float(rows[k]),
                    "links": int((links > 0.1).sum()),
                    "deletion_loss": float(loss[k]),
                    "strongest": "; ".join(f"{names[j]} {links[j]:.2f}" for j in strongest if links[j] > 0.01),
                }
            )
        return out

    def _component_kinds(self) -> list[str]:
        """What is special about every source; duplicates with the name of the first of their kind."""
        out, names = super()._component_kinds(), self.component_names_
        for first, k in getattr(self, "duplicate_components_", ()):
            out[k] = f"duplicate of {names[first]}"
        return out

    def _expected_rows(self) -> Any:
        """Rows of the training table in which every source is expected to be on."""
        weight = self._params.weight
        return self._model.seen_prior(self._params) * (self.weight_seen_ if weight is None else weight)

    def sources_frame(self, top: int = 7) -> Any:
        """:meth:`sources_table` as a pandas frame.

        Parameters
        ----------
        top : int
            Features to name.

        Returns
        -------
        pandas.DataFrame with a row per source, as :meth:`sources_table`

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.sources_frame(top=2)["component"].tolist()
        ['source 1', 'source 2']
        """
        return frame_of(self.sources_table(top))

    def prune(self, X: Any, sample_weight: Any = None) -> Any:
        """A new estimator without the sources that are not supported, fitted to X from where this one stands.

        Sources that are always on go into the leak; of duplicates the first stays.

        Parameters
        ----------
        X : table
            The training table.
        sample_weight : (n_rows,) array-like, optional

        Returns
        -------
        NoisyOrComponentAnalysis

        Examples
        --------
        >>> from latentbits import NoisyOrComponentAnalysis, datasets
        >>> X = datasets.make_noisy_or(150, 8, 2, random_state=0).data
        >>> model = NoisyOrComponentAnalysis(2, n_init=1, random_state=0).fit(X)
        >>> model.prune(X).n_components <= 2
        True
        """
        self._check_fitted()
        if self._params.loss is None:
            raise InputError(
                f"{self._name}: a stream does not tell what its sources are worth; fit the whole table first."
            )
        doubled = {first for first, _ in self.duplicate_components_}
        keep = [k for k, status in enumerate(self.component_kinds_) if status == "supported" or k in doubled]
        always = [k for k, status in enumerate(self.component_kinds_) if status == "always on"]
        if not keep:
            raise InputError(f"{self._name}: no source is supported; nothing would be left. Fit with n_components=1.")
        params = without(self._params, np.array(keep, np.int64))._replace(loss=None, weight=None)
        params = params._replace(theta0=params.theta0 + self._params.theta[always].sum(axis=0))
        given = self.init if isinstance(self.init, str) else "cooccurrence"
        pruned = clone(self).set_params(n_components=len(keep), init="random", warm_start=True, checkpoint=None)
        keep_columns(self, pruned)
        pruned._params, pruned.marginals_ = params, self.marginals_
        pruned._model = pruned._stream_model(pruned._build_model(self._model.sums))
        pruned.fit(X, sample_weight=sample_weight)
        return pruned.set_params(init=given, warm_start=self.warm_start, checkpoint=self.checkpoint)


class _Differing:
    """Known cells of a block that differ from what their sources give back, and known cells, weighted."""

    def __init__(self, model: Any, how: str, seed: int) -> None:
        self.model, self.how, self.seed = model, how, seed

    def __call__(self, block: Any, rows: Any, precomputed: Any) -> tuple[tuple[float, float], None]:
        shares = self.model.represent(block, precomputed)
        codes, weights = block.codes(), block.row_weights()[:, None]
        shares = shares if self.how == "probability" else (shares > 0.5).astype(np.float64)
        if self.how == "sample":
            off = np.exp(-(precomputed.params.theta0 + shares @ precomputed.params.theta))
            back = row_uniforms(self.seed, "sample", block.start, block.n_rows, block.n_columns, 3) >= off
        else:
            back = expected_cells(shares, precomputed.params) > 0.5
        known = codes != 2
        return (float((weights * (known & (codes != back))).sum()), float((weights * known).sum())), None


class _KnownRows:
    """Number of rows of a block with a known cell."""

    def __call__(self, block: Any, rows: Any) -> tuple[int, None]:
        blank = 0 if block.unknown is None else int((block.unknown.row_counts() == block.n_columns).sum())
        return block.n_rows - blank, None
