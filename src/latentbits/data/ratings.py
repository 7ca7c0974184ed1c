"""Ratings of users for items, whichever way they are written; a stored zero is a rating."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import InputError
from .block import Float
from .checks import Labels
from .numbers import LARGEST, is_unknown, real_numbers
from .source import cut, named
from .sparse import checked_coo
from .values import ValueBlock

# Pseudo-ratings that draw a user's mean and spread toward those of everybody.
PSEUDO = 5.0


FORMS = "ratings are three columns (user, item, rating), three equally long lists, or a table of users × items"


class Ratings(NamedTuple):
    """Users × items: lists of item numbers and ratings, and what users and items are called."""

    indptr: Any
    indices: Any
    values: Float
    users: Any
    items: Any

    @property
    def n_users(self) -> int:
        """Users."""
        return len(self.indptr) - 1

    def take(self, rows: Any) -> Ratings:
        """Some users."""
        counts = np.diff(self.indptr)[rows]
        indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        places = np.repeat(self.indptr[:-1][rows] - indptr[:-1], counts) + np.arange(indptr[-1])
        return Ratings(indptr, self.indices[places], self.values[places], self.users[rows], self.items)

    def without(self, places: Any) -> Ratings:
        """Without the ratings at some places."""
        keep = np.ones(len(self.values), bool)
        keep[places] = False
        rows = np.repeat(np.arange(self.n_users), np.diff(self.indptr))[keep]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=self.n_users)))).astype(np.int64)
        return Ratings(indptr, self.indices[keep], self.values[keep], self.users, self.items)


def read_ratings(X: Any, owner: str, duplicates: str = "error", items: Any = None) -> Ratings:
    """Ratings from triples (a frame of three columns, three sequences) or a table of users × items.

    Of sparse tables stored entries are ratings, zeros among them; of dense ones all but NaN.  With ``items`` those are the
    columns, and others are refused.
    """
    if isinstance(X, Ratings):
        return X
    if sp.issparse(X):
        with named(owner):
            coo = checked_coo(X)
        rows, columns = (np.asarray(part, np.int64) for part in (coo.row, coo.col))
        users, things = (np.arange(n) for n in coo.shape)
        return _lists(rows, columns, coo.data, users, things, owner, duplicates, items)
    if hasattr(type(X), "collect") and type(X).__module__.startswith("polars"):
        X = X.collect()
    users, things, values = _triples(X, owner)
    if users is None:
        try:
            table = real_numbers(X)
        except InputError as error:
            raise type(error)(f"{owner}: {FORMS}: {error}") from None
        if table.ndim != 2:
            raise InputError(f"{owner}: {FORMS}; got {table.ndim} dimensions.")
        names = np.arange(table.shape[1]) if (found := _names(X)) is None else np.asarray(found)
        ids = np.asarray(X.index) if hasattr(X, "index") and hasattr(X, "columns") else np.arange(len(table))
        rows, columns = np.nonzero(~np.isnan(table))
        return _lists(rows, columns, table[rows, columns], ids, names, owner, duplicates, items)
    try:
        user_ids, rows = np.unique(users, return_inverse=True)
        item_ids, columns = np.unique(things, return_inverse=True)
    except TypeError:
        raise InputError(
            f"{owner}: ids of users, and those of items, must be of one kind, all numbers or all text."
        ) from None
    return _lists(rows, columns, values, user_ids, item_ids, owner, duplicates, items)


def _triples(X: Any, owner: str) -> tuple[Any, Any, Any]:
    """Users, items and ratings if X is triples, else None three times."""
    names = _names(X)
    if names is not None and len(names) == 3:
        parts = [X.iloc[:, j] if hasattr(X, "iloc") else X[names[j]] for j in range(3)]
    elif isinstance(X, (tuple, list)) and len(X) == 3 and all(map(_is_list, X)):
        parts = list(X)
    else:
        return None, None, None
    if len({len(part) for part in parts}) != 1:
        raise InputError(
            f"{owner}: users, items and ratings must be equally long; got {[len(part) for part in parts]}."
        )
    users, things = _ids(parts[0]), _ids(parts[1])
    for what, ids in (("user", users), ("item", things)):
        nameless = [i for i, name in enumerate(ids.tolist()) if is_unknown(name)]
        if nameless:
            raise InputError(f"{owner}: the {what} of rating {nameless[0]} is unknown ({len(nameless)} such ratings).")
    try:
        return users, things, real_numbers(parts[2])
    except InputError as error:
        raise type(error)(f"{owner}: the third column of triples must hold numbers, the ratings: {error}") from None


def _names(X: Any) -> Any:
    """Names of the columns of a frame, or None."""
    return getattr(X, "column_names", getattr(X, "columns", None)) if not isinstance(X, np.ndarray) else None


def _is_list(part: Any) -> bool:
    """Whether something is a sequence of single values."""
    try:
        return np.ndim(part) == 1
    except ValueError:
        return False


def _lists(
    rows: Any, columns: Any, values: Any, users: Any, names: Any, owner: str, duplicates: str, items: Any
) -> Ratings:
    """Ratings in order, checked."""
    values = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if len(bad):
        i = int(bad[0])
        raise InputError(
            f"{owner}: the rating of user {_plain(users[rows[i]])!r} for item {_plain(names[columns[i]])!r} is {values[i]} "
            f"({len(bad)} such ratings). Leave ratings out that are not known."
        )
    if items is not None:
        place = {item: j for j, item in enumerate(items.tolist())}
        to = np.array([place.get(name, -1) for name in np.asarray(names).tolist()], np.int64)
        strange = np.flatnonzero(to[columns] < 0) if len(columns) else columns
        if len(strange):
            raise InputError(
                f"{owner}: item {_plain(names[columns[strange[0]]])!r} is not among those that were fitted."
            )
        columns, names = to[columns], items
    order = np.lexsort((np.arange(len(rows)), columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    same = np.flatnonzero((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])) if len(rows) else np.empty(0, int)
    if len(same):
        if duplicates == "error":
            i = int(same[0])
            raise InputError(
                f"{owner}: user {_plain(users[rows[i]])!r} rates item {_plain(names[columns[i]])!r} twice ({values[i]:g} and "
                f"{values[i + 1]:g}). Set duplicates='last' or 'mean'. (Three columns "
                "or lists are read as user, item, rating.)"
            )
        key = rows * len(names) + columns
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        taken = first + counts - 1
        values = values[taken] if duplicates == "last" else np.add.reduceat(values, first) / counts
        rows, columns = rows[taken], columns[taken]
    if not len(values):
        raise InputError(f"{owner}: there are no ratings.")
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(users))))).astype(np.int64)
    return Ratings(indptr, columns.astype(np.int32), values, _ids(users), _ids(names))


def _ids(names: Any) -> Any:
    """Names as an array of numbers or of objects, which can be saved."""
    ids = np.asarray(names)
    return ids if ids.dtype.kind in "biuf" else ids.astype(object)


def _plain(name: Any) -> Any:
    """A name as Python writes it."""
    return name.item() if isinstance(name, np.generic) else name


class UserScale(NamedTuple):
    """Mean and spread of every user's ratings (n,)."""

    means: Float
    spreads: Float


def user_scale(ratings: Ratings, kind: str, overall: tuple[float, float]) -> UserScale:
    """How users rate: their mean and standard deviation, drawn toward everybody's; or nothing."""
    n = ratings.n_users
    if kind == "none":
        return UserScale(np.zeros(n), np.ones(n))
    rows = np.repeat(np.arange(n), np.diff(ratings.indptr))
    count = np.bincount(rows, minlength=n)
    mean, variance = overall
    means = (np.bincount(rows, weights=ratings.values, minlength=n) + PSEUDO * mean) / (count + PSEUDO)
    away = np.bincount(rows, weights=(ratings.values - means[rows]) ** 2, minlength=n)
    return UserScale(means, np.sqrt((away + PSEUDO * variance) / (count + PSEUDO)))


class RatingSource:
    """Scaled ratings as blocks of users."""

    def __init__(
        self, ratings: Ratings, scale: UserScale, block_rows: int | None, weights: Float | None = None
    ) -> None:
        self.shape = (ratings.n_users, len(ratings.items))
        self.labels = Labels()
        self.starts = cut(self.shape[0], block_rows, self.shape, 4)
        self.ratings, self.scale, self.weights = ratings, scale, weights

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    def block(self, b: int) -> ValueBlock:
        """Block number ``b``."""
        low, high = int(self.starts[b]), int(self.starts[b + 1])
        part = self.ratings.take(np.arange(low, high))
        rows = np.repeat(np.arange(low, high), np.diff(part.indptr))
        values = (part.values - self.scale.means[rows]) / self.scale.spreads[rows]
        weights = None if self.weights is None else self.weights[low:high]
        return ValueBlock(low, part.indptr, part.indices, values, self.shape[1], weights)
