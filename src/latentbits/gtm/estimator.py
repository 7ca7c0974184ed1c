"""``BinaryGTM``: a map of binary rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from .. import declared as of
from ..base import LatentBitsEstimator, MembershipsMixin, records
from ..base.limits import COPIES, shape_text
from ..base.options import (
    AcceleratedOptions,
    BitOptions,
    Check,
    Flag,
    Number,
    OneOf,
    Positive,
    Whole,
    WordOr,
    is_whole,
    option_fields,
)
from ..data.block import Block, Float
from ..data.numbers import real_numbers
from ..data.source import Source
from ..data.summary import Totals
from ..engine.restarts import Given, InitParams
from ..engine.stepwise_em import StreamState
from ..errors import ImproperPriorWarning, InputError, TableWarning
from ..maths.latent_class import ClassPrecomputed, ClassStats
from .grid import Shape, suggested_shape
from .interpret import MapAnswers
from .m_steps import HESSIAN_BYTES, M_STEPS
from .model import GtmModel, GtmParams
from .projection import refined
from .starts import AxesStart, random_start, uniform_prior

MOST_NODES = 100_000
# Newton steps are taken up to this many functions, and while the Hessians of all features fit into memory at once.
NEWTON_UP_TO = 100


@option_fields
class BinaryGTM(MapAnswers, MembershipsMixin, AcceleratedOptions, BitOptions, LatentBitsEstimator):  # type: ignore[override]
    """Binary generative topographic mapping: a smooth map on which similar rows lie near each other.

    Every row sits at one node of a regular grid in one, two or three dimensions; neighbouring nodes have similar cell
    probabilities, because their log odds are sums of few smooth functions of the place.  Unknown cells drop out, sparse
    tables cost time in proportion to their ones.

    Parameters
    ----------
    latent_shape : tuple of int, int or "auto"
        Nodes per axis of the map; one number is a map of one dimension; "auto" makes a square of about 5 √rows nodes.
        More nodes are a finer grid, not more parameters.
    basis : {"rbf", "identity"}
        Gaussian bumps with a constant, or none: every node on its own, which is a plain mixture.
    basis_shape : tuple of int, int or "auto"
        Centres of the bumps per axis; by default half as many as nodes.  It sets how detailed the map can be.
    basis_width : float
        Standard deviation of a bump, in spacings of the centres.
    linear : bool
        Add the coordinates themselves to the basis.
    weight_prior : {"learned", "uniform"}
        Weights of the nodes: learned, which fits better, or all the same, which uses the whole map.
    weight_concentration : float
        Dirichlet(α, ..., α) prior on learned weights, α ≥ 1; 2 to 5 keeps more of the map filled.
    basis_prior : {"auto", "ridge", "beta", "girolami"}
        Prior of the basis weights: Gaussian, centred at the map that is the column marginals everywhere ("auto" with bumps);
        ``smoothing`` pseudo-rows of the marginals at every node ("auto" with the identity); or the skewed prior of the
        paper, which has no maximum: with it the fit climbs by gradient steps, stops when the likelihood falls, and warns.
    ridge, ridge_bias : float
        Precision of the Gaussian prior, of the bumps and of the constant.
    smoothing : float
        Rows' worth of the Beta prior.
    skew, basis_limit : float
        β of the paper's prior, and the largest size of a weight under it.
    solver : {"auto", "newton", "bound", "gradient"}
        Damped Newton steps ("auto" for up to 100 functions and a few thousand features), steps of fixed curvature ("auto"
        beyond), or the paper's gradient steps.
    n_inner : int or "auto"
        Steps per pass; none of them looks at the table.  "auto" is 2, 5 and 5.
    init : {"pca", "pca-rank", "random"} or (n_functions, n_features) array
        The plane of the principal axes; rows spread evenly along them; random weights; or given basis weights.
    n_init : int
        Starts if they are random; the others are the same every time.

    Attributes
    ----------
    latent_points_ : (n_nodes, n_dimensions) array
        Nodes in [-1, 1]; the last axis runs fastest.  ``latent_shape_`` has the nodes per axis.
    weights_ : (n_nodes,) array
        Weights of the nodes.
    components_, logits_ : (n_nodes, n_features) array
        P(cell = 1) at the nodes, and its log odds.
    basis_weights_ : (n_functions, n_features) array
        The constant comes last.  ``basis_centers_`` and ``basis_scale_`` are places and widths of the bumps.
    log_likelihood_, gradient_norm_ : float
        Of the training table; largest slope of the objective by a weight, per row (0 at a maximum).
    objective_, n_iter_, converged_, history_, restarts_, n_reached_, marginals_, unobserved_features_
        As in :class:`~latentbits.BernoulliMixture`.

    References
    ----------
    M. Girolami, *A Generative Model for Sparse Discrete Binary Data with Non-Uniform Categorical Priors* (ESANN 2002);
    C. Bishop, M. Svensén, C. Williams, *GTM: The Generative Topographic Mapping*, Neural Computation 10 (1998);
    I. Nabney, Y. Sun, P. Tiňo, A. Kabán, IEEE TKDE 17 (2005), magnification and hierarchies.

    Examples
    --------
    >>> from latentbits import BinaryGTM
    >>> from latentbits.datasets import load_zoo
    >>> zoo = load_zoo()
    >>> model = BinaryGTM(latent_shape=(6, 6)).fit(zoo.data)
    >>> model.transform(zoo.data).shape
    (101, 2)
    >>> bool(model.class_map(zoo.data, zoo.target).predict(zoo.data)[0] == zoo.target[0])
    True
    """

    record_types: ClassVar[dict[str, Any]] = records(GtmModel, GtmParams, ClassStats, StreamState, Totals)
    fitted_types: ClassVar[Mapping[str, Any]] = {
        "_params": GtmParams,
        "_model": GtmModel,
        "components_": Annotated[Any, of.shares("K", "D")],
        "weights_": Annotated[Any, of.weights("K")],
        "latent_shape_": tuple[Annotated[int, of.Whole(1)], ...],
        "latent_points_": Annotated[Any, of.reals("K", "L")],
        "basis_weights_": Annotated[Any, of.reals("M", "D")],
        "basis_centers_": of.Maybe(Annotated[Any, of.reals("*", "L")]),
        "basis_scale_": of.Maybe(Annotated[Any, of.positives("L")]),
        "logits_": Annotated[Any, of.reals("K", "D")],
        "log_likelihood_": of.AnyNumber,
        "gradient_norm_": of.AnyNumber,
    }
    work = 4
    option_checks: ClassVar[Mapping[str, Check]] = {
        "basis": OneOf(("rbf", "identity")),
        "basis_width": Positive(),
        "linear": Flag(),
        "weight_prior": OneOf(("learned", "uniform")),
        "weight_concentration": Number(1.0),
        "basis_prior": OneOf(("auto", "ridge", "beta", "girolami")),
        "ridge": Number(0.0),
        "ridge_bias": Number(0.0),
        "smoothing": Positive(),
        "skew": Positive(),
        "basis_limit": Positive(),
        "solver": OneOf(("auto", *M_STEPS)),
        "n_inner": Whole(1, others=("auto",)),
        "init": WordOr(("pca", "pca-rank", "random"), "an array of weights"),
    }

    latent_shape: Any = field(default=(15, 15), kw_only=False)
    basis: str = "rbf"
    basis_shape: Any = "auto"
    basis_width: float = 1.0
    linear: bool = False
    weight_prior: str = "learned"
    weight_concentration: float = 1.0
    basis_prior: str = "auto"
    ridge: float = 0.1
    ridge_bias: float = 0.001
    smoothing: float = 2.0
    skew: float = 1.0
    basis_limit: float = 30.0
    solver: str = "auto"
    n_inner: Any = "auto"
    init: Any = "pca"
    n_init: int = 1
    max_iter: int = 200
    tol: float = 2e-06
    accelerate: bool = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True  # for the check that Memberships speaks of
        return tags

    @property
    def _size(self) -> int:
        """Number of nodes."""
        return int(np.prod(self._automatic_shape if self._is_automatic else self._shape("latent_shape")))

    @property
    def _is_automatic(self) -> bool:
        """Whether the size of the map is told by the table."""
        return isinstance(self.latent_shape, str) and self.latent_shape == "auto"

    def _check_together(self) -> None:
        if not self._is_automatic:
            shape = self._shape("latent_shape")
            if not _too_large(shape):  # which is told when the table is open
                self._basis_shape(shape)
        if self.basis == "identity" and self.basis_prior not in ("auto", "beta"):
            raise InputError(
                f"{self._name}: basis='identity' has the Beta prior only; got basis_prior={self.basis_prior!r}. Use 'auto'."
            )
        if self.basis_prior == "girolami" and self.solver not in ("auto", "gradient"):
            raise InputError(
                f"{self._name}: basis_prior='girolami' has no maximum, so only solver='gradient' is offered with it; got "
                f"{self.solver!r}."
            )

    def _shape(self, name: str) -> Shape:
        """An option that is a shape, as a tuple of one to three numbers."""
        value = getattr(self, name)
        sides = [value] if is_whole(value) else value
        try:
            shape = tuple(sides)
        except TypeError:
            shape = ()
        good = all(is_whole(n) and n >= 1 for n in shape)
        if not good or not 1 <= len(shape) <= 3:
            raise InputError(
                f"{self._name}: {name} must be a whole number, up to three of them in a tuple, or 'auto'; got {value!r:.60}."
            )
        return tuple(int(n) for n in shape)

    def _basis_shape(self, latent_shape: Shape) -> Shape:
        """Centres per axis; empty for the identity."""
        if self.basis == "identity":
            return ()
        automatic = isinstance(self.basis_shape, str) and self.basis_shape == "auto"
        shape = tuple(max(2, -(-n // 2)) for n in latent_shape) if automatic else self._shape("basis_shape")
        if isinstance(self.basis_shape, (int, np.integer)):
            shape *= len(latent_shape)
        n_functions, n_nodes = int(np.prod(shape)) + len(shape) * bool(self.linear) + 1, int(np.prod(latent_shape))
        if automatic and n_functions > n_nodes:
            raise InputError(
                f"{self._name}: latent_shape {latent_shape} has too few nodes for a smooth map ({n_functions} functions at "
                "least). Use 3 nodes or more per axis (4 on a line), or basis='identity'."
            )
        if len(shape) != len(latent_shape):
            raise InputError(
                f"{self._name}: basis_shape {shape} has {len(shape)} axes, the map {latent_shape} has {len(latent_shape)}. "
                "Give one number per axis, or one for all."
            )
        if min(shape) < 2:
            raise InputError(f"{self._name}: every axis of basis_shape needs 2 centres or more; got {shape}.")
        if n_functions > n_nodes:
            raise InputError(
                f"{self._name}: basis_shape {shape} makes {n_functions} functions, more than the {n_nodes} nodes of "
                f"{latent_shape}. Use fewer centres or more nodes."
            )
        return shape

    def _check_table(self, sums: Totals) -> None:
        super()._check_table(sums)
        self._check_extent(sums)
        fixed = int(((sums.ones == 0) | (sums.ones == sums.observed))[sums.observed > 0].sum())
        if fixed:
            warnings.warn(
                f"{self._name}: {fixed} column{'s' * (fixed > 1)} with only one value; they say nothing about the map.",
                TableWarning,
                stacklevel=5,
            )

    def _check_size(self, source: Source, stream: bool = False) -> None:
        if not self._is_automatic and _too_large(shape := self._shape("latent_shape")):
            raise InputError(
                f"{self._name}: latent_shape {shape} has more than {MOST_NODES:,} nodes, for a table of "
                f"{shape_text(source.shape)}. Use a smaller latent_shape."
            )
        super()._check_size(source, stream)

    def _numbers_kept(self, n_rows: int, n_columns: int) -> int:
        kept = super()._numbers_kept(n_rows, n_columns)
        if self._is_automatic:
            return kept
        shape = self._shape("latent_shape")
        n_functions = self._size if self.basis == "identity" else int(np.prod(self._basis_shape(shape)))
        # Functions at the nodes are worked out from the distances along every axis, and their squares.
        return kept + self._size * (COPIES * n_columns + (2 * len(shape) + 1) * n_functions)

    def _check_extent(self, sums: Totals) -> None:
        """Refuse tables with fewer directions than the map."""
        n_axes = 2 if self._is_automatic else len(self._shape("latent_shape"))
        if sums.n_rows < n_axes + 1 or len(sums.ones) < n_axes:
            fewer = " Use a latent_shape with fewer axes." if n_axes > 1 else ""
            raise InputError(
                f"{self._name}: a map of {n_axes} dimension{'s' * (n_axes > 1)} needs at least {n_axes} "
                f"column{'s' * (n_axes > 1)} and {n_axes + 1} rows; the table has {sums.n_rows} sample(s) and "
                f"{len(sums.ones)} feature(s).{fewer}"
            )

    def _begin_stream(self, sweep: Any, sums: Totals) -> None:
        self._check_extent(sums)
        super()._begin_stream(sweep, sums)

    def _continue_stream(self, sums: Totals) -> None:
        self._keeps_shape = True
        try:
            super()._continue_stream(sums)
        finally:
            self._keeps_shape = False

    def _has(self, method: str) -> bool:
        """The paper's prior must be stopped, which a stream cannot be."""
        return super()._has(method) and not (method == "partial_fit" and self.basis_prior == "girolami")

    def _map_shape(self, sums: Totals) -> Shape:
        """Nodes per axis for this table; a fit that goes on keeps its map."""
        if not self._is_automatic:
            return self._shape("latent_shape")
        if getattr(self, "_params", None) is not None and (self.warm_start or self._keeps_shape):
            return tuple(self._model.latent_shape)
        return suggested_shape(max(1, round(sums.weight)))

    def _build_model(self, sums: Totals) -> GtmModel:
        shape = self._automatic_shape = self._map_shape(sums)
        basis_shape = self._basis_shape(shape)
        automatic = "beta" if self.basis == "identity" else "ridge"
        weight_prior = automatic if self.basis_prior == "auto" else self.basis_prior
        step = self.solver
        if step == "auto":
            n_functions = int(np.prod(basis_shape)) + len(shape) * bool(self.linear) + 1
            packed = 4 * n_functions * (n_functions + 1) * len(sums.ones)  # bytes of all Hessians
            small = n_functions <= NEWTON_UP_TO and packed <= HESSIAN_BYTES
            step = "gradient" if weight_prior == "girolami" else "newton" if small else "bound"
        return GtmModel(
            n_components=int(np.prod(shape)),
            latent_shape=shape,
            base=np.log(sums.marginals) - np.log1p(-sums.marginals),
            basis_shape=basis_shape,
            basis_width=float(self.basis_width),
            linear=bool(self.linear),
            learned_prior=self.weight_prior == "learned",
            concentration=float(self.weight_concentration),
            weight_prior=weight_prior,
            ridge=float(self.ridge),
            ridge_bias=float(self.ridge_bias),
            smoothing=float(self.smoothing),
            skew=float(self.skew),
            limit=float(self.basis_limit) if weight_prior == "girolami" else np.inf,
            step=step,
            n_inner=0 if self.n_inner == "auto" else int(self.n_inner),
            total_weight=sums.weight,
        )

    def _n_starts(self) -> int:
        return int(self.n_init) if isinstance(self.init, str) and self.init == "random" else 1

    def _initializer(self, model: GtmModel) -> InitParams:
        if model.weight_prior == "girolami" and not (self.warm_start and self.__sklearn_is_fitted__()):
            warnings.warn(
                f"{self._name}: basis_prior='girolami' cannot be normalised and pulls every weight to its limit; the fit is "
                "stopped when the likelihood falls. Use 'ridge' for anything but comparison with the paper.",
                ImproperPriorWarning,
                stacklevel=4,
            )
        if not isinstance(self.init, str):
            return Given(GtmParams(self._given_weights(model), uniform_prior(model)))
        return partial(random_start if self.init == "random" else AxesStart(self.init, self._name), model)

    def _warm_start_params(self, model: GtmModel, fresh: Callable[[], Any]) -> GtmParams:
        wanted, held = model.features.shape[1], self._params.weights.shape[1]
        if held != wanted:
            raise InputError(
                f"{self._name}: the fit cannot go on with another basis ({held} functions before, {wanted} now). Make a new "
                "estimator."
            )
        prior = self._params.prior if model.learned_prior else uniform_prior(model)
        return GtmParams(self._params.weights, prior)

    def _given_weights(self, model: GtmModel) -> Float:
        """Basis weights from the user."""
        wanted = (model.features.shape[1], len(model.base))
        try:
            weights = real_numbers(self.init)
        except (TypeError, ValueError):
            raise InputError(f"{self._name}: init cannot be read as weights.") from None
        if weights.shape != wanted or not np.isfinite(weights).all():
            raise InputError(
                f"{self._name}: init must be finite basis weights of shape {wanted}; got shape {weights.shape}."
            )
        return np.ascontiguousarray(weights.T)

    def _set_fitted_attributes(self) -> None:
        model, params = self._model, self._params
        self.latent_shape_ = tuple(int(n) for n in model.latent_shape)
        self.latent_points_ = model.points
        if not model.is_identity:
            self.basis_centers_, self.basis_scale_ = model.basis.centers, model.basis.scale
        self.basis_weights_ = params.weights.T
        self.weights_ = params.prior
        self.log_likelihood_, self.gradient_norm_ = float(params.log_likelihood), float(params.gradient)
        precomputed = model.precompute(params)
        self.logits_, self.components_ = precomputed.slope.T, precomputed.probs

    def _check_loaded(self) -> None:
        super()._check_loaded()
        model = self._model
        if (wrong := model.misfit(self._params)) is not None:
            raise of.MisfitError(f"_params {wrong}")
        if self.latent_shape_ != model.latent_shape:
            raise of.MisfitError(f"latent_shape_ must be {model.latent_shape}; it is {self.latent_shape_}")
        if not self._is_automatic and _too_large(self._shape("latent_shape")):
            raise of.MisfitError(f"latent_shape has more than {MOST_NODES:,} nodes")
        self._automatic_shape = model.latent_shape

    @property
    def _n_features_out(self) -> int:
        """Number of columns that ``transform`` returns."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("not fitted yet")
        return len(self._model.latent_shape)

    def transform(self, X: Any, kind: str = "mean") -> Any:
        """Places of the rows on the map.

        Parameters
        ----------
        X : table
        kind : {"mean", "mode", "refined"}
            Posterior mean; the most probable node; or the place, between the nodes too, at which the cells of the row are
            most likely.  The last spreads rows that share a node; it knows nothing of the prior, so that rows may lie where
            few others do, and it looks at every cell of the table.

        Returns
        -------
        (n_rows, n_dimensions) array
            Coordinates in [-1, 1].

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.transform(zoo.frame, kind="mode").shape
        (101, 2)
        """
        self._check_fitted()
        if kind not in ("mean", "mode", "refined"):
            raise InputError(f"{self._name}: kind must be 'mean', 'mode' or 'refined'; got {kind!r}.")
        if kind == "refined":
            self._needs_smooth("kind='refined'")
            return self._by_rows(X, _Refined)
        return self._by_rows(X, "represent" if kind == "mean" else "modes")

    def summary(self) -> str:
        """A few lines on the fit: map, value, starts, convergence, and how much of the map is used.

        Returns
        -------
        str

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> print(model.summary().splitlines()[0])
        BinaryGTM of 5 × 5 nodes and 10 functions on 15 features
        """
        self._check_fitted()
        used = float(np.exp(-(self.weights_ * np.log(self.weights_)).sum()))
        lines = super().summary().split("\n")
        sides = " × ".join(map(str, self.latent_shape_))
        n_functions = len(self.basis_weights_)
        lines[0] = f"{self._name} of {sides} nodes and {n_functions} functions on {self.n_features_in_} features"
        lines.append(f"the prior spreads over {used:.0f} of {len(self.weights_)} nodes")
        if used < 0.2 * len(self.weights_):
            lines[-1] += "; weight_concentration=2 would use more of the map"
        n = getattr(self, "_sums", None) is not None and self._sums.n_empty_rows
        if n:
            lines.append(f"{n} row{'s' * (n > 1)} without any one share{'s' * (n == 1)} one place")
        return "\n".join(lines)


def _too_large(shape: Shape) -> bool:
    """Whether a map has more nodes than are allowed."""
    return bool(np.prod(shape, dtype=float) > MOST_NODES)


class _Refined:
    """Refined places of a block's rows."""

    def __init__(self, model: GtmModel) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: ClassPrecomputed) -> Float:
        return refined(self.model, block, precomputed)
