"""Reading a map: planes, borders, classes, words, and how sure a place is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import maximum_filter
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from ..base import frame_of
from ..data.block import Block, Float
from ..errors import InputError
from .grid import neighbours

# A row may be in two places if two separate nodes hold more than this.
SECOND_PLACE = 0.1


class Places(NamedTuple):
    """Where rows are on the map, and how sure that is."""

    mean: Float  # (n, L)
    mode: Float  # (n, L) the most probable node
    covariance: Float  # (n, L, L)
    entropy: Float  # (n,) of the responsibilities, in nats
    largest: Float  # (n,) responsibility of the most probable node
    n_modes: Any  # (n,) separate nodes that hold more than a tenth; above 1 the mean may lie where the row is not


class ClassMap(NamedTuple):
    """Which classes live where: ``mass`` (K, C) expected rows, ``share`` (K, C) of the node's own."""

    classes: Any
    mass: Float
    share: Float
    model: Any

    @property
    def labels(self) -> Any:
        """The class of every node, on the grid."""
        return self.classes[self.share.argmax(axis=1)].reshape(self.model.latent_shape_)

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of rows: those of their nodes."""
        return self.model.predict_proba(X) @ self.share

    def predict(self, X: Any) -> Any:
        """The most probable class of every row."""
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def __repr__(self) -> str:
        return f"ClassMap({len(self.classes)} classes on {len(self.mass)} nodes)"


class _Summed:
    """Responsibilities of a block, summed by class."""

    def __init__(self, model: Any, codes: Any, n_classes: int) -> None:
        self.model, self.codes, self.n_classes = model, codes, n_classes

    def __call__(self, block: Block, ready: Any) -> Float:
        codes = self.codes[block.start : block.start + block.n_rows]
        known = np.flatnonzero(codes >= 0)
        belongs = np.zeros((block.n_rows, self.n_classes))
        belongs[known, codes[known]] = 1.0
        out: Float = self.model.memberships(block, ready).T @ belongs
        return out


class _PartOf:
    """What some nodes have of the rows of a block."""

    def __init__(self, model: Any, nodes: Any) -> None:
        self.model, self.nodes = model, nodes

    def __call__(self, block: Block, ready: Any) -> Float:
        out: Float = self.model.memberships(block, ready)[:, self.nodes].sum(axis=1)
        return out


class _Described:
    """Places of a block's rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, block: Block, ready: Any) -> Places:
        shares, points = self.model.memberships(block, ready), self.model.points
        mean = shares @ points
        second = np.einsum("nk,kl,km->nlm", shares, points, points)
        logs = np.log(np.maximum(shares, np.finfo(float).tiny))
        shape = tuple(self.model.latent_shape)
        grid = shares.reshape(-1, *shape)
        peak = (grid == maximum_filter(grid, size=(1, *([3] * len(shape))), mode="nearest")) & (grid > SECOND_PLACE)
        return Places(
            mean,
            points[shares.argmax(axis=1)],
            second - mean[:, :, None] * mean[:, None, :],
            -(shares * logs).sum(axis=1),
            shares.max(axis=1),
            np.maximum(peak.reshape(len(shares), -1).sum(axis=1), 1),
        )


class MapReading(BaseEstimator):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator`: what users of maps ask."""

    def component_planes(self, features: Any = None) -> Float:
        """P(cell = 1) over the map, for some features or all.

        Parameters
        ----------
        features : name, number, or list of them, optional

        Returns
        -------
        (n_features, *latent_shape) array
        """
        check_is_fitted(self, "_params")
        columns = range(self.n_features_in_) if features is None else self._columns(features)
        return self.components_.T[list(columns)].reshape(-1, *self.latent_shape_)

    def _columns(self, features: Any) -> list[int]:
        """Numbers of columns given by name or number, one or several."""
        single = isinstance(features, (str, int, np.integer)) or not isinstance(features, Iterable)
        place = {name: j for j, name in enumerate(getattr(self, "feature_names_in_", ()))}
        out = []
        for feature in [features] if single else features:
            j = place.get(feature, feature)
            if isinstance(j, bool) or not isinstance(j, (int, np.integer)) or not 0 <= j < self.n_features_in_:
                raise InputError(f"{self._name}: there is no column {feature!r}.")
            out.append(int(j))
        return out

    def magnification(self, log: bool = False) -> Float:
        """How fast the rows' distribution changes over the map: √det of the Fisher metric at every node.

        Parameters
        ----------
        log : bool
            Natural logarithms.

        Returns
        -------
        (*latent_shape) array
            Large at borders between groups.
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
        (*latent_shape) array
        """
        check_is_fitted(self, "_params")
        chances = self.components_
        total, count = np.zeros(len(chances)), np.zeros(len(chances))
        for a, b in neighbours(self.latent_shape_):
            p, q = chances[a], chances[b]
            apart = -np.log(np.sqrt(p * q) + np.sqrt((1 - p) * (1 - q))).sum()
            for node in (a, b):
                total[node] += apart
                count[node] += 1
        return (total / np.maximum(count, 1)).reshape(self.latent_shape_)

    def prior_landscape(self) -> Float:
        """Prior of the nodes on the grid; low along borders between groups.

        Returns
        -------
        (*latent_shape) array
        """
        check_is_fitted(self, "_params")
        return self.prior_.reshape(self.latent_shape_)

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
        """
        sweep, ready = self._asked(X)
        values = np.asarray(y, dtype=object)
        n_rows = sum(sweep.collect(_count_rows))
        if values.shape != (n_rows,):
            raise InputError(f"{self._name}: y must hold one class per row ({n_rows}); got shape {values.shape}.")
        known = np.array([value is not None and value == value for value in values])
        if not known.any():
            raise InputError(f"{self._name}: every class in y is None or NaN.")
        classes, inverse = np.unique(np.array(list(values[known])), return_inverse=True)
        codes = np.full(n_rows, -1)
        codes[known] = inverse
        mass = sum(sweep.collect(_Summed(self._model, codes, len(classes)), ready))
        total = mass.sum(axis=1, keepdims=True)
        whole = mass.sum(axis=0) / mass.sum()  # of nodes that hold nothing
        share = np.where(total > 1e-12, mass / np.maximum(total, 1e-300), whole)
        return ClassMap(classes, mass, share, self)

    def posterior_summary(self, X: Any) -> Places:
        """Where rows are on the map, and how sure that is.

        Parameters
        ----------
        X : table

        Returns
        -------
        Places
            Arrays ``mean``, ``mode``, ``covariance``, ``entropy``, ``largest`` and ``n_modes``.
        """
        check_is_fitted(self, "_params")
        sweep, ready = self._asked(X)
        parts = sweep.collect(_Described(self._model), ready)
        return Places(*[np.concatenate(field) for field in zip(*parts)])

    def top_features(self, nodes: Any = None, top: int = 5, rank: str = "lift") -> list[dict[str, Any]]:
        """What stands out at nodes of the map.

        Parameters
        ----------
        nodes : numbers of nodes, optional
            By default all.
        top : int
            Features per node.
        rank : {"lift", "probability"}
            By p log(p / mean of p over the map), or by p itself, as in the paper (frequent features then crowd in).

        Returns
        -------
        list of dict
            With component (the node), x, y, z (its place), weight (its prior), rank, feature, probability, marginal
            (over the map) and lift.
        """
        check_is_fitted(self, "_params")
        if rank not in ("lift", "probability"):
            raise InputError(f"{self._name}: rank must be 'lift' or 'probability'; got {rank!r}.")
        self._check_whole("top", top, 1)
        chosen = np.arange(len(self.components_)) if nodes is None else self._nodes(nodes)
        out = []
        for k in chosen:
            out += self._standing_out(int(k), self.latent_points_[k], self.prior_[k], self.components_[k], top, rank)
        return out

    def _standing_out(
        self, number: int, place: Float, weight: float, chances: Float, top: int, rank: str
    ) -> list[dict[str, Any]]:
        """What stands out at one place of the map, as rows of a table."""
        overall = self.prior_ @ self.components_
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        standing = chances * np.log(chances / overall) if rank == "lift" else chances
        return [
            {
                "component": number,
                **dict(zip("xyz", map(float, place))),
                "weight": float(weight),
                "rank": r + 1,
                "feature": names[j] if isinstance(names[j], str) else int(names[j]),
                "probability": float(chances[j]),
                "marginal": float(overall[j]),
                "lift": float(chances[j] / overall[j]),
            }
            for r, j in enumerate(np.argsort(-standing, kind="stable")[:top])
        ]

    def regions_table(self, n_regions: int = 8, top: int = 5) -> list[dict[str, Any]]:
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
            As :meth:`top_features`, the component being the region, by decreasing weight; its place is the node nearest
            to the middle of its rows.
        """
        labels = self.regions(min(n_regions, len(self.components_))).ravel()
        weights = np.where(labels == np.unique(labels)[:, None], self.prior_, 0.0)  # (R, K)
        out = []
        for number, region in enumerate(np.argsort(-weights.sum(axis=1), kind="stable")):
            own = weights[region] / weights[region].sum()
            away = np.abs(self.latent_points_ - own @ self.latent_points_).sum(axis=1)
            node = np.where(labels == region, away, np.inf).argmin()
            chances, weight = own @ self.components_, weights[region].sum()
            out += self._standing_out(number, self.latent_points_[node], weight, chances, top, "lift")
        return out

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The nodes as rows of a table: the ``top`` features of each that stand out most from the whole map.

        Parameters
        ----------
        top : int
            Features per node.

        Returns
        -------
        list of dict
            As :meth:`top_features`.
        """
        return self.top_features(top=top)

    def top_features_frame(self, nodes: Any = None, top: int = 5, rank: str = "lift") -> Any:
        """:meth:`top_features` as a pandas frame."""
        return frame_of(self.top_features(nodes, top, rank))

    def _nodes(self, nodes: Any) -> Any:
        """Numbers of nodes given as numbers or as a mask of the grid."""
        chosen = np.asarray(nodes)
        n_nodes = len(self.components_)
        if chosen.dtype == np.bool_ and chosen.size == n_nodes:
            return np.flatnonzero(chosen.ravel())
        chosen = np.atleast_1d(chosen)
        good = chosen.dtype.kind in "iu" and chosen.ndim == 1
        if not good or len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= n_nodes:
            raise InputError(
                f"{self._name}: nodes must be numbers from 0 to {n_nodes - 1}, or a mask of shape {self.latent_shape_}."
            )
        return chosen

    def regions(self, n_regions: int) -> Any:
        """Connected groups of nodes that are alike (Ward's method on square-rooted probabilities).

        Parameters
        ----------
        n_regions : int

        Returns
        -------
        (*latent_shape) array of int
            Region of every node.
        """
        from sklearn.cluster import AgglomerativeClustering
        from sklearn.feature_extraction.image import grid_to_graph

        check_is_fitted(self, "_params")
        self._check_whole("n_regions", n_regions, 1)
        if n_regions > len(self.components_):
            raise InputError(f"{self._name}: there are only {len(self.components_)} nodes; got n_regions={n_regions}.")
        profiles = np.hstack((np.sqrt(self.components_), np.sqrt(1 - self.components_)))
        graph = grid_to_graph(*self.latent_shape_, *([1] * (2 - len(self.latent_shape_))))
        groups = AgglomerativeClustering(n_regions, connectivity=graph).fit_predict(profiles)
        return groups.reshape(self.latent_shape_)

    def child(self, X: Any, nodes: Any, **options: Any) -> Any:
        """A map of its own for one part of this one: rows weigh what that part has of them.

        Parameters
        ----------
        X : table
        nodes : numbers of nodes, or a mask of the grid (``regions(5) == 2``)
        **options
            Options of the child that differ.

        Returns
        -------
        BinaryGTM
            Fitted; ``weight_seen_`` is the expected number of rows in it.
        """
        check_is_fitted(self, "_params")
        chosen = self._nodes(nodes)
        weights = self._per_row(X, _PartOf(self._model, chosen))
        if not weights.sum() > 0:
            raise InputError(f"{self._name}: these nodes hold none of the rows.")
        return clone(self).set_params(**options).fit(X, sample_weight=weights)

    def inverse_transform(self, points: Any) -> Float:
        """P(cell = 1) at any places of the map.

        Parameters
        ----------
        points : (n, n_dimensions) array-like
            Coordinates in [-1, 1].

        Returns
        -------
        (n, n_features) array
        """
        self._needs_smooth("inverse_transform")
        places = np.asarray(points, dtype=np.float64)
        n_axes = self.latent_points_.shape[1]
        if places.ndim != 2 or places.shape[1] != n_axes or not np.isfinite(places).all():
            raise InputError(
                f"{self._name}: places on the map are rows of {n_axes} finite coordinates; got shape {places.shape}."
            )
        return self._model.at_points(self._params, places)

    def _needs_smooth(self, what: str) -> None:
        """Refuse what needs a map between the nodes."""
        check_is_fitted(self, "_params")
        if self._model.is_identity:
            raise InputError(
                f"{self._name}: {what} needs a map between the nodes, which basis='identity' does not have. Use basis='rbf'."
            )


def _count_rows(block: Block) -> int:
    """Rows of a block."""
    return block.n_source_rows
