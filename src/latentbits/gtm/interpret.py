"""Reading a map: planes, borders, classes, words, and how sure a place is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import label, maximum_filter

from ..base import LatentBitsEstimator, frame_of
from ..base.components import numbered
from ..base.options import OneOf, Whole
from ..base.sklearn_api import clone
from ..data.block import Block, Float
from ..data.checks import check_weights
from ..data.numbers import is_unknown, real_numbers
from ..errors import InputError
from .grid import neighbours, spacings

# A row may be in two places if two separate nodes hold more than this.
SECOND_PLACE = 0.1
# What two nodes that are certain of opposite answers have in common of a column, for a distance that is finite.
LEAST_SHARED = 1e-16
# Regions into which a map is cut where nobody asks for another number; these have names.
N_REGIONS = 8


class Places(NamedTuple):
    """Where rows are on the map, and how sure that is.

    Parameters
    ----------
    mean, mode : (n_rows, L) array
        The posterior mean and the most probable node.
    covariance : (n_rows, L, L) array
        Of the place.
    entropy, largest : (n_rows,) array
        Of the responsibilities, and the largest of them.
    n_modes : (n_rows,) array
        In how many separate places the row could be.

    Examples
    --------
    >>> from latentbits import BinaryGTM, datasets
    >>> zoo = datasets.load_zoo()
    >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
    >>> int(model.posterior_summary(zoo.frame).n_modes.min())
    1
    """

    mean: Float  # (n, L)
    mode: Float  # (n, L) the most probable node
    covariance: Float  # (n, L, L)
    entropy: Float  # (n,) of the responsibilities, in nats
    largest: Float  # (n,) responsibility of the most probable node
    n_modes: Any  # (n,) separate nodes that hold more than a tenth; above 1 the mean may lie where the row is not

    def to_frame(self) -> Any:
        """One row per row, as a pandas frame.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.posterior_summary(zoo.frame).to_frame().shape[0]
        101
        """
        axes = "xyz"[: self.mean.shape[1]]
        parts = {axis: self.mean[:, i] for i, axis in enumerate(axes)}
        parts |= {f"mode_{axis}": self.mode[:, i] for i, axis in enumerate(axes)}
        parts |= {f"sd_{axis}": np.sqrt(np.maximum(self.covariance[:, i, i], 0.0)) for i, axis in enumerate(axes)}
        parts |= {"entropy": self.entropy, "largest": self.largest, "n_modes": self.n_modes}
        return frame_of([dict(zip(parts, row)) for row in zip(*parts.values())])


class ClassMap(NamedTuple):
    """Which classes live where: ``mass`` (K, C) expected rows, ``share`` (K, C) of a node's own, or of those around.

    Parameters
    ----------
    classes : (n_classes,) array
        The labels.
    mass : (n_nodes, n_classes) array
        Rows of each class at each node.
    share : (n_nodes, n_classes) array
        The same as shares of the node.
    model : BinaryGTM
        The map.

    Examples
    --------
    >>> from latentbits import BinaryGTM, datasets
    >>> zoo = datasets.load_zoo()
    >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
    >>> model.class_map(zoo.frame, zoo.target).mass.shape
    (25, 7)
    """

    classes: Any
    mass: Float
    share: Float
    model: Any

    @property
    def labels(self) -> Any:
        """The class of every node, on the grid.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> len(model.class_map(zoo.frame, zoo.target).labels)
        5
        """
        return self.classes[self.share.argmax(axis=1)].reshape(self.model.latent_shape_)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of rows: those of their nodes.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows, C) array

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.class_map(zoo.frame, zoo.target).predict_proba(zoo.frame[:3]).shape
        (3, 7)
        """
        return self.model.predict_proba(X) @ self.share

    def predict(self, X: Any) -> Any:
        """The most probable class of every row.

        Parameters
        ----------
        X : table

        Returns
        -------
        (n_rows,) array of labels

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> types = model.class_map(zoo.frame, zoo.target)
        >>> len(types.predict(zoo.frame[:3]))
        3
        """
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def __repr__(self) -> str:
        return f"ClassMap({len(self.classes)} classes on {len(self.mass)} nodes)"


class _Summed:
    """Responsibilities of a block, summed by class."""

    def __init__(self, model: Any, codes: Any, n_classes: int) -> None:
        self.model, self.codes, self.n_classes = model, codes, n_classes

    def __call__(self, block: Block, precomputed: Any) -> Float:
        codes = self.codes[block.start : block.start + block.n_rows]
        known = np.flatnonzero(codes >= 0)
        belongs = np.zeros((block.n_rows, self.n_classes))
        belongs[known, codes[known]] = 1.0
        out: Float = self.model.memberships(block, precomputed).T @ belongs
        return out


class _PartOf:
    """What some nodes have of the rows of a block."""

    def __init__(self, model: Any, nodes: Any) -> None:
        self.model, self.nodes = model, nodes

    def __call__(self, block: Block, precomputed: Any) -> Float:
        out: Float = self.model.memberships(block, precomputed)[:, self.nodes].sum(axis=1)
        return out


class _Described:
    """Places of a block's rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> Places:
        shares, points = self.model.memberships(block, precomputed), self.model.points
        mean = shares @ points
        second = np.einsum("nk,kl,km->nlm", shares, points, points)
        logs = np.log(np.maximum(shares, np.finfo(float).tiny))
        shape = tuple(self.model.latent_shape)
        grid = shares.reshape(-1, *shape)
        highest = maximum_filter(grid, size=(1, *([3] * len(shape))), mode="nearest")
        peak = (grid >= (1 - 1e-9) * highest) & (grid > SECOND_PLACE)
        together = np.zeros((3,) * (1 + len(shape)), bool)
        together[1] = True  # neighbours on the grid, never of another row
        numbers = label(peak, together)[0].reshape(len(shares), -1)
        first = np.where(numbers > 0, numbers, numbers.max() + 1).min(axis=1)
        return Places(
            mean,
            points[shares.argmax(axis=1)],
            second - mean[:, :, None] * mean[:, None, :],
            -(shares * logs).sum(axis=1),
            shares.max(axis=1),
            np.maximum(numbers.max(axis=1) - first + 1, 1),
        )


class MapAnswers(LatentBitsEstimator):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`: what users of maps ask."""

    latent_shape_: tuple[int, ...]
    latent_points_: Float
    _automatic_shape: tuple[int, ...] = (1,)
    _keeps_shape: bool = False

    def _n_named(self) -> int:
        """Maps have many nodes; the regions that hold them have names."""
        return min(N_REGIONS, int(self._model.n_components))

    def _region_names(self, n_regions: int) -> list[str]:
        """What regions are called; names that were given are those of the usual number of regions."""
        return self.component_names_ if n_regions == self._n_named() else numbered(self._noun, n_regions)

    def _component_names(self) -> list[str]:
        """What the nodes are called."""
        return numbered("node", self._model.n_components)

    def _names_out(self) -> list[str]:
        """What the axes of the map are called."""
        return list("xyz"[: len(self._model.latent_shape)])

    def component_planes(self, features: Any = None) -> Float:
        """P(cell = 1) over the map, for some features or all.

        Parameters
        ----------
        features : name, number, or list of them, optional

        Returns
        -------
        (n_features, latent_shape) array

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.component_planes(["milk"]).shape
        (1, 5, 5)
        """
        self._check_fitted()
        columns = range(self.n_features_in_) if features is None else self._column_numbers(features)
        return self.components_.T[list(columns)].reshape(-1, *self.latent_shape_)

    def magnification(self, log: bool = False) -> Float:
        """How fast the rows' distribution changes over the map: √det of the Fisher metric at every node.

        Parameters
        ----------
        log : bool
            Natural logarithms.

        Returns
        -------
        (latent_shape) array
            Large at borders between groups.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.magnification().shape
        (5, 5)
        """
        self._needs_smooth("magnification")
        values = np.empty(len(self.latent_points_))
        for low in range(0, len(values), 32):
            metric = self._model.metric(self._params, self.latent_points_[low : low + 32])
            values[low : low + 32] = np.sqrt(np.maximum(np.linalg.det(metric), 0.0))
        if log:
            values = np.log(np.maximum(values, np.finfo(float).tiny))
        return values.reshape(self.latent_shape_)

    def u_matrix(self) -> Float:
        """Mean Bhattacharyya distance of every node to its neighbours on the grid.

        Returns
        -------
        (latent_shape) array

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.u_matrix().shape
        (5, 5)
        """
        self._check_fitted()
        chances = self.components_
        total, count = np.zeros(len(chances)), np.zeros(len(chances))
        for a, b in neighbours(self.latent_shape_):
            p, q = chances[a], chances[b]
            shared = np.sqrt(p * q) + np.sqrt((1 - p) * (1 - q))
            apart = -np.log(np.maximum(shared, LEAST_SHARED)).sum()
            for node in (a, b):
                total[node] += apart
                count[node] += 1
        return (total / np.maximum(count, 1)).reshape(self.latent_shape_)

    def prior_landscape(self) -> Float:
        """Prior of the nodes on the grid; low along borders between groups.

        Returns
        -------
        (latent_shape) array

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.prior_landscape().shape
        (5, 5)
        """
        self._check_fitted()
        return self.weights_.reshape(self.latent_shape_)

    def class_map(self, X: Any, y: Any) -> ClassMap:
        """Which classes live where on the map.

        Parameters
        ----------
        X : table
        y : (n_rows,) array-like
            Class of every row; rows with None or NaN are left out.

        Returns
        -------
        ClassMap
            ``classes``, ``mass`` and ``share`` (K, C), ``labels`` on the grid; it also classifies rows (``predict``).

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> round(float((model.class_map(zoo.frame, zoo.target).predict(zoo.frame) == zoo.target).mean()), 1)
        0.9
        """
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        values = np.asarray(y, dtype=object)
        n_rows = sum(sweep.collect(_count_rows))
        if values.shape != (n_rows,):
            raise InputError(f"{self._name}: y must hold one class per row ({n_rows}); got shape {values.shape}.")
        known = np.array([not is_unknown(value) for value in values], dtype=bool)
        if not known.any():
            raise InputError(f"{self._name}: every class in y is None or NaN.")
        classes, inverse = np.unique(np.array(list(values[known])), return_inverse=True)
        codes = np.full(n_rows, -1)
        codes[known] = inverse
        mass = sum(sweep.collect(_Summed(self._model, codes, len(classes)), precomputed))
        # Nodes that hold nothing take after their neighbours.
        away = (self.latent_points_[:, None, :] - self.latent_points_) / spacings(self.latent_shape_)
        share = mass + 1e-3 * np.exp(-0.5 * (away**2).sum(axis=2)) @ mass + 1e-300
        return ClassMap(classes, mass, share / share.sum(axis=1, keepdims=True), self)

    def posterior_summary(self, X: Any) -> Places:
        """Where rows are on the map, and how sure that is.

        Parameters
        ----------
        X : table

        Returns
        -------
        Places
            Arrays ``mean``, ``mode``, ``covariance``, ``entropy``, ``largest`` and ``n_modes``.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.posterior_summary(zoo.frame).mean.shape
        (101, 2)
        """
        self._check_fitted()
        asked = self._ask(X)
        sweep, precomputed = asked.sweep, asked.precomputed
        parts = sweep.collect(_Described(self._model), precomputed)
        return Places(*[np.concatenate(field) for field in zip(*parts)])

    def top_features(self, nodes: Any = None, top: int = 5, rank: str = "lift") -> list[dict[str, Any]]:
        """What stands out at nodes of the map.

        Parameters
        ----------
        nodes : numbers of nodes, optional
            By default all.
        top : int
            Features per node at most; by lift only those that are more probable than over the whole map.
        rank : {"lift", "probability"}
            By p log(p / mean of p over the map), or by p itself, as in the paper (frequent features then crowd in).

        Returns
        -------
        list of dict
            With component (the name of the node), x, y, z (its place), weight (its prior), rank, feature, probability,
            marginal (over the map) and lift.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.top_features([0], top=1)[0]["rank"]
        1
        """
        self._check_fitted()
        self._check("rank", rank, OneOf(("lift", "probability")))
        self._check("top", top, Whole(1))
        chosen = np.arange(len(self.components_)) if nodes is None else self._nodes(nodes)
        called, out = self._component_names(), []
        for k in chosen:
            out += self._standing_out(
                called[k], self.latent_points_[k], self.weights_[k], self.components_[k], top, rank
            )
        return out

    def _standing_out(
        self, name: str, place: Float, weight: float, chances: Float, top: int, rank: str
    ) -> list[dict[str, Any]]:
        """What stands out at one place of the map, as rows of a table."""
        overall = self.weights_ @ self.components_
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        chances, overall = np.maximum(chances, 1e-300), np.maximum(overall, 1e-300)
        standing = chances * np.log(chances / overall) if rank == "lift" else chances
        order = np.argsort(-standing, kind="stable")[:top]
        if rank == "lift":  # what is rarer here than elsewhere does not stand out
            order = order[: max(1, int((standing[order] > 0).sum()))]
        return [
            {
                "component": name,
                **dict(zip("xyz", map(float, place))),
                "weight": float(weight),
                "rank": r + 1,
                "feature": names[j] if isinstance(names[j], str) else int(names[j]),
                "probability": float(chances[j]),
                "marginal": float(overall[j]),
                "lift": float(chances[j] / overall[j]),
            }
            for r, j in enumerate(order)
        ]

    def regions_table(self, n_regions: int = N_REGIONS, top: int = 5) -> list[dict[str, Any]]:
        """The map in few words: its regions as rows of a table, with what stands out in each.

        Parameters
        ----------
        n_regions : int
            How many (see :meth:`regions`).
        top : int
            Features per region.

        Returns
        -------
        list of dict
            As :meth:`top_features`, the component being the name of the region; its place is the node nearest
            to the middle of its rows.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> [row["rank"] for row in model.regions_table(2, top=1)]
        [1, 1]
        """
        self._check_fitted()
        self._check("n_regions", n_regions, Whole(1))
        self._check("top", top, Whole(1))
        labels = self.regions(min(n_regions, len(self.components_))).ravel()
        called, out = self._region_names(int(labels.max()) + 1), []
        for region in range(labels.max() + 1):
            weights = np.where(labels == region, self.weights_, 0.0)
            own = weights / weights.sum()
            away = np.abs(self.latent_points_ - own @ self.latent_points_).sum(axis=1)
            node = np.where(labels == region, away, np.inf).argmin()
            place, chances = self.latent_points_[node], own @ self.components_
            out += self._standing_out(called[region], place, weights.sum(), chances, top, "lift")
        return out

    def regions_frame(self, n_regions: int = N_REGIONS, top: int = 5) -> Any:
        """:meth:`regions_table` as a pandas frame.

        Parameters
        ----------
        n_regions : int
            How many.
        top : int
            Features per region.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.regions_frame(2, top=1)["component"].tolist()
        ['region 1', 'region 2']
        """
        return frame_of(self.regions_table(n_regions, top))

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The nodes as rows of a table: the ``top`` features of each that stand out most (:meth:`top_features`).

        Parameters
        ----------
        top : int
            Features per region.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.components_table(top=1)[0]["component"]
        'node 1'
        """
        return self.top_features(top=top)

    def _gist_table(self, top: int) -> list[dict[str, Any]]:
        """The map for people: its regions, not its many nodes."""
        return self.regions_table(top=top)

    def top_features_frame(self, nodes: Any = None, top: int = 5, rank: str = "lift") -> Any:
        """:meth:`top_features` as a pandas frame.

        Parameters
        ----------
        nodes : sequence of int
            Numbers of nodes.
        top : int
            Features.
        rank : str
            What they are ranked by, as in :meth:`top_features`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> len(model.top_features_frame([0], top=3))
        3
        """
        return frame_of(self.top_features(nodes, top, rank))

    def _nodes(self, nodes: Any) -> Any:
        """Numbers of nodes given as numbers or as a mask of the grid."""
        chosen = np.asarray(nodes)
        n_nodes = len(self.components_)
        if chosen.dtype == np.bool_ and chosen.size == n_nodes:
            chosen = np.flatnonzero(chosen.ravel())
        chosen = np.atleast_1d(chosen)
        good = chosen.dtype.kind in "iu" and chosen.ndim == 1
        if not good or len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= n_nodes:
            raise InputError(
                f"{self._name}: nodes must be numbers from 0 to {n_nodes - 1}, or a mask of shape {self.latent_shape_} "
                "with one of them or more."
            )
        return np.unique(chosen)

    def regions(self, n_regions: int) -> Any:
        """Connected groups of nodes that are alike (Ward's method on square-rooted probabilities).

        Parameters
        ----------
        n_regions : int

        Returns
        -------
        (latent_shape) array of int
            Region of every node; region 0 has most of the rows.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> len(set(model.regions(3).ravel().tolist()))
        3
        """
        from sklearn.cluster import AgglomerativeClustering
        from sklearn.feature_extraction.image import grid_to_graph

        self._check_fitted()
        self._check("n_regions", n_regions, Whole(1))
        if n_regions > len(self.components_):
            raise InputError(f"{self._name}: there are only {len(self.components_)} nodes; got n_regions={n_regions}.")
        if n_regions == 1:
            return np.zeros(self.latent_shape_, np.int64)
        profiles = np.hstack((np.sqrt(self.components_), np.sqrt(1 - self.components_)))
        graph = grid_to_graph(*self.latent_shape_, *([1] * (2 - len(self.latent_shape_))))
        groups = AgglomerativeClustering(n_regions, connectivity=graph).fit_predict(profiles)
        order = np.argsort(-np.bincount(groups, weights=self.weights_), kind="stable")
        return np.argsort(order)[groups].reshape(self.latent_shape_)

    def child(self, X: Any, nodes: Any, sample_weight: Any = None, **options: Any) -> Any:
        """A map of its own for one part of this one: rows weigh what that part has of them.

        Parameters
        ----------
        X : table
        nodes : numbers of nodes, or a mask of the grid (``regions(5) == 2``)
        sample_weight : (n_rows,) array-like, optional
            Weights that the rows have anyway.
        **options
            Options of the child that differ.

        Returns
        -------
        BinaryGTM
            Fitted; ``weight_seen_`` is the expected number of rows in it.

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> part = model.child(zoo.frame, model.regions(2) == 0, latent_shape=(3, 3), random_state=0)
        >>> part.latent_shape_
        (3, 3)
        """
        self._check_fitted()
        chosen = self._nodes(nodes)
        weights = self._ask(X).by_rows(_PartOf(self._model, chosen))
        own = check_weights(sample_weight, len(weights), self._name)
        weights = weights if own is None else weights * own
        if weights.sum() < 1:
            raise InputError(f"{self._name}: these nodes hold less than one row ({weights.sum():.2g} expected).")
        return clone(self).set_params(**{"checkpoint": None, **options}).fit(X, sample_weight=weights)

    def inverse_transform(self, points: Any) -> Float:
        """P(cell = 1) at any places of the map.

        Parameters
        ----------
        points : (n, n_dimensions) array-like
            Coordinates in [-1, 1].

        Returns
        -------
        (n, n_features) array

        Examples
        --------
        >>> from latentbits import BinaryGTM, datasets
        >>> zoo = datasets.load_zoo()
        >>> model = BinaryGTM((5, 5), random_state=0).fit(zoo.frame)
        >>> model.inverse_transform([[0.0, 0.0]]).shape
        (1, 15)
        """
        self._needs_smooth("inverse_transform")
        n_axes = self.latent_points_.shape[1]
        try:
            places = real_numbers(points)
        except InputError:
            raise InputError(f"{self._name}: places on the map are rows of {n_axes} finite coordinates.") from None
        if places.ndim != 2 or places.shape[1] != n_axes:
            raise InputError(
                f"{self._name}: places on the map are rows of {n_axes} finite coordinates; got shape {places.shape}."
            )
        if not (np.abs(places) <= 1 + 1e-9).all():
            raise InputError(f"{self._name}: coordinates of places on the map are finite, from -1 to 1.")
        return self._model.at_points(self._params, places)

    def _needs_smooth(self, what: str) -> None:
        """Refuse what needs a map between the nodes."""
        self._check_fitted()
        if self._model.is_identity:
            raise InputError(
                f"{self._name}: {what} needs a map between the nodes, which basis='identity' does not have. Use basis='rbf'."
            )


def _count_rows(block: Block) -> int:
    """Rows of a block."""
    return block.n_source_rows
