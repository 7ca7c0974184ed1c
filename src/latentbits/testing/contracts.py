"""What every family promises, one function per promise.

A contract takes a :class:`Family` and a scratch folder and raises AssertionError if the promise is broken, or
:class:`NotApplicable` with the reason if it says nothing about the family.  A new family joins by one line in the table of
families in ``tests/contracts``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import has_fit_parameter

import latentbits

from ..data.checks import Labels
from ..errors import InputError
from ..families import family_of
from .containers import CONTAINERS

# Methods that only some families have.
SOME_HAVE = ("predict", "predict_proba", "reconstruct", "impute", "explain", "sample", "bic", "aic", "partial_fit")


class NotApplicable(Exception):  # noqa: N818 - it is no error
    """A contract that says nothing about a family; the message is the reason."""


@dataclass(frozen=True)
class Family:
    """A row of the contract table: a name and how to make an estimator from options."""

    name: str
    make: Callable[..., Any]
    close: float = 1e-9  # how far answers may differ where only the order of sums differs
    seeded_at_rows: bool = False  # starts depend on the order and number of rows
    columns: str = "free"  # the order of columns: "free"; "one", free with one component; or why it is not free
    kind: str = "cells"  # "cells": 0, 1, unknown; "numbers": 0 or more, none unknown; "ratings": 1 to 5, many not given
    supervised: bool = False  # every row has a class to be learnt
    thorough: bool = False  # larger tables and longer fits

    def table(self, n_rows: int | None = None, n_columns: int = 11, unknown: float = 0.15, seed: int = 0) -> np.ndarray:
        """A table that the family can fit."""
        from ..datasets import make_mixture

        if n_rows is None:
            n_rows = 120 if self.thorough else 48
        if self.kind == "ratings":
            return _ratings(n_rows, n_columns, 0.5, seed)
        table = make_mixture(n_rows, n_columns, 3, unknown=unknown * (self.kind == "cells"), random_state=seed).data
        if self.kind == "cells":
            return table
        # Eighths, which every file format keeps exactly.
        return table * np.random.default_rng(seed).integers(1, 40, table.shape) / 8

    def sparse_table(self) -> np.ndarray:
        """A table sparse enough for index lists."""
        n_rows = 300 if self.thorough else 150
        if self.kind == "ratings":
            return _ratings(n_rows, 40, 0.1, 0)
        table = (np.random.default_rng(0).random((n_rows, 40)) < 0.05).astype(float)
        if self.kind == "cells":
            table[3, 5] = np.nan
            return table
        return table * np.random.default_rng(1).integers(1, 40, table.shape) / 8

    @property
    def short(self) -> dict[str, Any]:
        """Options of fits that need not end."""
        return {} if self.thorough else {"max_iter": 8}

    @property
    def weighted(self) -> bool:
        """Whether rows can have weights."""
        return has_fit_parameter(self.make(), "sample_weight")

    def takes(self, *options: str) -> bool:
        """Whether the estimator has these options."""
        try:
            self.make(**dict.fromkeys(options))
        except TypeError:
            return False
        return True

    def targets(self, table: np.ndarray) -> Any:
        """The class of every row."""
        return np.where(np.asarray(table)[:, 0] > 0, "b", "a")

    def fit(self, X: Any, sample_weight: Any = None, y: Any = None, **options: Any) -> Any:
        """A fitted estimator; doubts are not the business of contracts."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if self.supervised:
            dense = X.toarray() if y is None and sp.issparse(X) else X
            given["y"] = self.targets(dense) if y is None else y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
            return self.make(**options).fit(X, **given)

    def fitted(self, layout: str = "dense", weights: Any = None, **options: Any) -> Any:
        """A fit to the table of a layout that is made once and shared: ask it, do not change it."""
        key = (self, layout, None if weights is None else weights.tobytes(), tuple(sorted(options.items())))
        if key not in _FITTED:
            table = self.table() if layout == "dense" else self.sparse_table()
            _FITTED[key] = self.fit(table, weights, **{**self.short, **options})
        return _FITTED[key]


_FITTED: dict[Any, Any] = {}


def _ratings(n_users: int, n_items: int, share: float, seed: int) -> np.ndarray:
    """Users of two tastes rate a share of the items from 1 to 5; NaN elsewhere."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(1.5, 4.5, (2, n_items))[rng.integers(2, size=n_users)]
    table = np.clip(np.round(means + 0.6 * rng.standard_normal(means.shape)), 1, 5)
    known = rng.random(table.shape) < share
    known[np.arange(n_users), rng.integers(n_items, size=n_users)] = True
    known[np.arange(n_items) % n_users, np.arange(n_items)] = True
    return np.where(known, table, np.nan)


def parameters(estimator: Any) -> dict[str, np.ndarray]:
    """The fitted parameters as arrays."""
    from ..engine.stats import flatten

    if hasattr(estimator, "_params"):
        return flatten(estimator._params)
    parts = estimator.estimators_ if hasattr(estimator, "estimators_") else [estimator.estimator_]
    return {f"{i}.{name}": array for i, part in enumerate(parts) for name, array in parameters(part).items()}


def assert_same_bits(a: Any, b: Any) -> None:
    """Two fits have exactly the same parameters."""
    ours, theirs = parameters(a), parameters(b)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes(), f"parameter {name} differs"


def assert_close(a: Any, b: Any, tolerance: float) -> None:
    """Two fits agree up to the order of sums."""
    ours, theirs = parameters(a), parameters(b)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_allclose(array, theirs[name], rtol=0, atol=tolerance, err_msg=f"parameter {name}")


def _needs(condition: bool, reason: str) -> None:
    """Go on only if the contract says something about the family."""
    if not condition:
        raise NotApplicable(reason)


@contextmanager
def _refusal(*words: str, of: type[Exception] = ValueError) -> Iterator[None]:
    """Something must be refused, with a message that has these words."""
    try:
        yield
    except of as error:
        for word in words:
            assert word in str(error), str(error)
    else:
        raise AssertionError(f"not refused; expected a message with {words}")


def _represent(estimator: Any, X: Any) -> np.ndarray:
    """What the estimator says of rows: where they belong, or of which class they are."""
    return estimator.transform(X) if hasattr(estimator, "transform") else estimator.predict_proba(X)


def container_does_not_matter(
    family: Family,
    folder: Path,
    container: Callable[..., Any],
    layout: str = "dense",
    weighted: bool = False,
    **options: Any,
) -> None:
    """The same blocks from any container give the same bits."""
    table = family.table() if layout == "dense" else family.sparse_table()
    weights = np.arange(len(table)) % 3 if weighted else None
    y = family.targets(table) if family.supervised else None
    other = family.fit(container(table, folder), weights, y, **{**family.short, **options})
    assert_same_bits(family.fitted(layout, weights, **options), other)


def block_size_does_not_matter(family: Family, folder: Path) -> None:
    """Other block sizes agree to rounding."""
    _needs(family.takes("block_rows"), "it has no block_rows")
    table, most = family.table(), 40 if family.thorough else 10
    straight = family.fit(table, block_rows=len(table), max_iter=most)
    for block_rows in (1, 7, 64) if family.thorough else (1, 7, 20):
        assert_close(straight, family.fit(table, block_rows=block_rows, max_iter=most), family.close)


def threads_do_not_matter(family: Family, folder: Path) -> None:
    """Any number of threads gives the same bits."""
    blocks: dict[str, Any] = {"block_rows": 13} if family.takes("block_rows") else {}
    assert family.takes("n_jobs")
    straight = family.fitted(n_jobs=1, **blocks)
    for n_jobs in (2, 5):
        assert_same_bits(straight, family.fit(family.table(), n_jobs=n_jobs, **blocks, **family.short))


def rows_may_be_permuted(family: Family, folder: Path) -> None:
    """The order of rows does not matter, unless starts are seeded at rows."""
    _needs(not family.seeded_at_rows, "starts are drawn at rows: true in distribution only")
    table, most = family.table(), 40 if family.thorough else 8
    order = np.random.default_rng(0).permutation(len(table))
    first, second = family.fitted(max_iter=most), family.fit(table[order], max_iter=most)
    assert_close(first, second, max(1e-7, family.close))
    close = max(1e-6, family.close)
    np.testing.assert_allclose(
        _represent(first, table)[order], _represent(second, table[order]), atol=close, rtol=close
    )


def weights_are_repeats(family: Family, folder: Path) -> None:
    """A whole weight is the row as often; a weight of zero is no row.  (Seeds at rows: in distribution only.)"""
    _needs(family.weighted, "rows have no weights")
    table, most = family.table(), 40 if family.thorough else 8
    if family.seeded_at_rows:
        # Weights of one are the least that can be said to the bit.
        ones = family.fit(table, sample_weight=np.ones(len(table)), max_iter=most)
        return assert_same_bits(family.fitted(max_iter=most), ones)
    weights = np.random.default_rng(1).integers(0, 4, len(table))
    weighted = family.fit(table, sample_weight=weights, max_iter=most)
    repeated = family.fit(np.repeat(table, weights, axis=0), max_iter=most)
    return assert_close(weighted, repeated, max(1e-7, family.close))


def settled_fits_agree(family: Family, folder: Path) -> None:
    """Where a fit settles depends neither on the order of rows nor on blocks nor on weights in place of repeats.

    From the same start, that is: other starts may end in other optima, of which a fit keeps the best.
    """
    _needs(not family.seeded_at_rows, "starts are drawn at rows: true in distribution only")
    _needs(family.takes("tol", "block_rows"), "it does not settle")
    table, rng = family.table(), np.random.default_rng(2)
    asked = {"max_iter": 3000} if family.thorough else {"max_iter": 300, "n_init": 1}
    longest: dict[str, Any] = {name: value for name, value in asked.items() if family.takes(name)}
    straight = family.fitted(**longest)
    _needs(hasattr(straight, "objective_"), "it has no objective")
    turned = family.fit(table[rng.permutation(len(table))], block_rows=7, **longest)
    np.testing.assert_allclose(turned.objective_, straight.objective_, rtol=1e-8)
    if family.weighted:
        weights = rng.integers(0, 4, len(table))
        weighted = family.fit(table, sample_weight=weights, **longest)
        repeated = family.fit(np.repeat(table, weights, axis=0), **longest)
        np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)


def permuted_columns_give_the_same_model(family: Family, folder: Path) -> None:
    """A table with its columns in another order has the same model with its columns in that order.

    Where starts are drawn column by column, this is true of a single component, which has the same end from every start.
    """
    _needs(family.columns in ("free", "one"), family.columns)
    table, close = family.table(), max(1e-6, family.close)
    size = getattr(family.make(), "size_option", "n_components")
    options = family.short if family.columns == "free" else {size: 1, "max_iter": 60}
    order = np.random.default_rng(0).permutation(table.shape[1])
    y = family.targets(table) if family.supervised else None
    first, second = family.fitted(**options), family.fit(table[:, order], y=y, **options)
    np.testing.assert_allclose(_represent(first, table), _represent(second, table[:, order]), atol=close, rtol=close)
    if hasattr(first, "score_samples"):
        scores = first.score_samples(table), second.score_samples(table[:, order])
        np.testing.assert_allclose(*scores, atol=close, rtol=close)
    if hasattr(first, "components_"):
        np.testing.assert_allclose(first.components_[:, order], second.components_, atol=close, rtol=close)


def permuted_columns_are_put_right(family: Family, folder: Path) -> None:
    """A fitted model finds its columns, and items of ratings, by their names; those that are missing are refused."""
    import pandas as pd

    table = family.table()
    frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
    y = family.targets(table) if family.supervised else None
    estimator = family.fit(frame, y=y, **family.short)
    turned = frame[frame.columns[::-1]]
    np.testing.assert_allclose(_represent(estimator, turned), _represent(estimator, frame), rtol=1e-12)
    if family.kind == "ratings":
        return
    with _refusal():
        _represent(estimator, turned.drop(columns="c0"))


def unknown_cells_are_dropped(family: Family, folder: Path) -> None:
    """What stands under an unknown cell does not matter; families of numbers refuse such cells."""
    table = family.table()
    blank = np.isnan(table)
    if family.kind == "ratings":
        rows, columns = np.nonzero(~blank)
        triples = (rows, columns, table[rows, columns])
        return assert_same_bits(family.fitted(), family.fit(triples, **family.short))
    if family.kind == "numbers":
        table[3, 5] = np.nan
        with _refusal("row 3", "column 5", of=InputError):
            family.fit(table)
        return None
    fits = [
        family.fit(np.ma.MaskedArray(np.where(blank, filler, table), mask=blank), **{"max_iter": 30, **family.short})
        for filler in (0, 1, 7)
    ]
    for other in fits[1:]:
        assert_same_bits(fits[0], other)
    return None


def caller_keeps_the_table(family: Family, folder: Path) -> None:
    """The table that was passed is not changed."""
    table = family.table()
    before = table.copy()
    estimator = family.fit(table, **family.short)
    if hasattr(estimator, "impute"):
        estimator.impute(table)
    np.testing.assert_array_equal(table, before)
    sparse = sp.csc_matrix(np.nan_to_num(table))
    sparse.data[0] = 1
    data, indices = sparse.data.copy(), sparse.indices.copy()
    _represent(family.fit(sparse, **family.short), sparse)
    assert (sparse.data == data).all() and (sparse.indices == indices).all()


def saved_models_come_back(family: Family, folder: Path) -> None:
    """A loaded model gives the same answers, bit for bit, and can be saved to the same bytes."""
    table, estimator = family.table(), family.fitted()
    _needs(hasattr(estimator, "save"), "it cannot be saved")
    estimator.save(folder / "model.latentbits")
    loaded = latentbits.load(folder / "model.latentbits")
    assert type(loaded) is type(estimator)
    assert _fitted(loaded) == _fitted(estimator)  # all that a fit leaves behind is declared
    assert_same_bits(estimator, loaded)
    assert _represent(estimator, table).tobytes() == _represent(loaded, table).tobytes()
    for method in ("score_samples", "predict"):
        if hasattr(estimator, method) and (method, family.kind) != ("predict", "ratings"):
            assert getattr(estimator, method)(table).tobytes() == getattr(loaded, method)(table).tobytes()
    if family.kind == "ratings":
        assert estimator.predict(3, [1, 2]).tobytes() == loaded.predict(3, [1, 2]).tobytes()
    if hasattr(estimator, "get_feature_names_out"):
        assert list(estimator.get_feature_names_out()) == list(loaded.get_feature_names_out())
    loaded.save(folder / "again.latentbits")
    assert (folder / "model.latentbits").read_bytes() == (folder / "again.latentbits").read_bytes()


def _fitted(estimator: Any) -> set[str]:
    """Names of what a fit has left behind for users."""
    return {name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")}


def damaged_models_are_refused(family: Family, folder: Path) -> None:
    """Cut, edited and foreign files are refused with a reason."""
    path, estimator = folder / "model.latentbits", family.fitted()
    _needs(hasattr(estimator, "save"), "it cannot be saved")
    estimator.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    spots = [*rng.integers(8, len(whole), 30).tolist(), len(whole) - 1]
    damaged = [whole[:-1], whole[: len(whole) // 2], whole[:5], b"", b"PK\x03\x04" + whole, b"{}"]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in spots]
    for content in damaged:
        path.write_bytes(content)
        with _refusal(str(path), of=InputError):
            latentbits.load(path)


def resumed_is_straight(family: Family, folder: Path) -> None:
    """A fit stopped at any pass and resumed gives the same bits as one that ran through."""
    _needs(family.takes("checkpoint", "callbacks"), "it keeps no checkpoints")
    table = family.table()
    options = {"n_init": 2, "block_rows": 50 if family.thorough else 20}
    options |= {} if family.thorough else {"max_iter": 5}
    straight = family.fit(table, **options)
    _needs(hasattr(straight, "history_"), "what it fits is another estimator, which keeps this contract")
    total = _n_passes(straight)
    stops = {1, 2, 3, total // 2, total - 1} if family.thorough else {1, total // 2 + 1, total - 1}
    for stop_after in sorted(stops):
        path = folder / f"stop{stop_after}.checkpoint"
        passes = 0

        def interrupt(event: Any, limit: int = stop_after) -> None:
            nonlocal passes
            passes += 1
            if passes == limit:
                raise KeyboardInterrupt

        try:
            family.fit(table, **options, checkpoint=path, callbacks=[interrupt])
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("the fit was not interrupted")
        resumed = family.fit(table, **options, checkpoint=path)
        assert_same_bits(straight, resumed)
        assert resumed.history_ == straight.history_
        assert getattr(resumed, "restarts_", None) == getattr(straight, "restarts_", None)


def _n_passes(estimator: Any) -> int:
    """Passes of all starts, or steps of all chains."""
    if hasattr(estimator, "restarts_"):
        return sum(row["n_iter"] for row in estimator.restarts_)
    return sum(len(history) for history in estimator.history_)


def foreign_checkpoints_are_refused(family: Family, folder: Path) -> None:
    """A checkpoint of other data, options or seed, or a damaged one, is refused."""
    _needs(family.takes("checkpoint"), "it keeps no checkpoints")
    table, path = family.table(), folder / "fit.checkpoint"
    same = {"random_state": 0, **family.short}
    family.fit(table, checkpoint=path, **same)
    other = table.copy()
    other[0] = {"cells": 1 - other[0], "numbers": other[0] + 1, "ratings": 6 - other[0]}[family.kind]
    first = min(folder.glob("fit.checkpoint*"))  # a classifier has one for every class
    whole = first.read_bytes()
    for X, options in ((other, {}), (table, {"random_state": 1}), (table, {"tol": 1e-3})):
        _refused(family, X, path, {**same, **options})
    for content in (whole[:-7], whole[:100], whole[:-1] + bytes([whole[-1] ^ 1]), b"nothing"):
        first.write_bytes(content)
        _refused(family, table, path, same)


def _refused(family: Family, X: Any, path: Path, options: dict[str, Any]) -> None:
    before = [file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*"))]
    with _refusal(str(path), of=InputError):
        family.fit(X, checkpoint=path, **options)
    assert [file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*"))] == before


def answers_have_their_shapes(family: Family, folder: Path) -> None:
    """The methods are those of the table of families; one output row per input row; probabilities are probabilities; blanks
    are filled and nothing else is."""
    table, estimator = family.table(), family.fitted()
    n, d = table.shape
    promised = family_of(type(estimator)).answers
    found = {method for method in SOME_HAVE if hasattr(estimator, method)}
    if family.kind == "ratings":
        found.remove("predict")  # it asks for ratings of items there
    # Averages of several fits have no information criteria.
    assert found <= set(promised) and set(promised) - found <= {"bic", "aic"}, found ^ set(promised)
    represented = _represent(estimator, table)
    assert len(represented) == n and np.isfinite(represented).all()
    if "predict_proba" in promised:
        chances = estimator.predict_proba(table)
        assert (chances >= 0).all()
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        assert estimator.predict(table).shape == (n,)
    if family.supervised:
        assert set(estimator.predict(table)) <= set(estimator.classes_) and 0 <= estimator.score(
            table, family.targets(table)
        )
    elif hasattr(estimator, "get_support"):
        kept = estimator.get_support()
        np.testing.assert_array_equal(represented, table[:, kept])
        assert estimator.inverse_transform(represented).shape == (n, d) and not hasattr(estimator, "score_samples")
    else:
        assert estimator.score_samples(table).shape == (n,)
        np.testing.assert_allclose(estimator.score(table), estimator.score_samples(table).mean())
        assert estimator.score_kind_ in ("exact", "lower bound", "estimate")
        assert len(estimator.components_frame(top=3)) <= 3 * len(estimator.components_)
    if family.kind == "ratings":
        cells = np.arange(7), np.arange(7) % d
        assert estimator.predict(*cells).shape == (7,) and np.isfinite(estimator.predict(*cells)).all()
    if "sample" in promised:
        assert estimator.sample(7, random_state=0).shape == (7, d)
    if "bic" in found:
        assert estimator.bic(table) > estimator.aic(table)
    if "impute" in promised:
        _blanks_are_filled(estimator, table)


def _blanks_are_filled(estimator: Any, table: np.ndarray) -> None:
    """Probabilities for all cells; fill-ins for blanks and nothing else."""
    filled = estimator.reconstruct(table)
    assert filled.shape == table.shape and (filled > 0).all() and (filled < 1).all()
    cells = (np.array([5, 0, 5]), np.array([1, 2, 0]))
    np.testing.assert_allclose(estimator.reconstruct(table, cells), filled[cells], atol=1e-12)
    blank = np.isnan(table)
    for how in ("probability", "mode", "sample"):
        imputed = estimator.impute(table, how=how, random_state=0)
        np.testing.assert_array_equal(imputed[~blank], table[~blank])
        assert not np.isnan(imputed).any()
    np.testing.assert_allclose(estimator.impute(table)[blank], filled[blank], atol=1e-12)
    assert np.isin(estimator.sample(7, random_state=0), (0, 1)).all()


def answers_come_as_they_were_asked(family: Family, folder: Path) -> None:
    """A table is answered by a table of its kind: frames by frames, sparse by sparse, Dask's by a recipe."""
    table, estimator = family.table(), family.fitted()
    _needs(hasattr(estimator, "impute"), "it fills no blanks")
    asked: dict[str, Callable[..., Any]] = {
        "impute": lambda X: estimator.impute(X, how="sample", random_state=0),
        "reconstruct": estimator.reconstruct,
    }
    for question, ask in asked.items():
        wanted = ask(table)
        for name in ("pandas", "polars", "arrow", "sparse matrix csc", "sparse array csr", "dask array", "dask frame"):
            try:
                made = CONTAINERS[name](table, folder)
            except ImportError:  # the package is not installed
                continue
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="X has feature names")
                found = ask(made)
            _is_of_the_kind(found, made, question)
            np.testing.assert_allclose(_as_array(found), wanted, atol=1e-9, err_msg=f"{question} of {name}")


def _is_of_the_kind(found: Any, made: Any, question: str) -> None:
    """Whether a table is of the kind of another; what is known of every cell is not sparse."""
    if sp.issparse(made):
        right = sp.issparse(found) and isinstance(found, sp.spmatrix) == isinstance(made, sp.spmatrix)
        assert right if question == "impute" else isinstance(found, np.ndarray)
        return
    assert type(found) is type(made), f"{type(found)} for {type(made)}"
    if hasattr(made, "columns") and not hasattr(made, "column_names"):
        assert list(found.columns) == list(made.columns)
    if hasattr(made, "iloc"):
        assert found.index.dtype == made.index.dtype


def _as_array(found: Any) -> Any:
    """A table of any kind as an array."""
    found = found.compute() if hasattr(found, "compute") else found
    found = found.to_pandas() if hasattr(found, "to_pandas") else found
    return found.toarray() if sp.issparse(found) else np.asarray(found)


def draws_do_not_depend_on_blocks(family: Family, folder: Path) -> None:
    """Random fill-ins are the same for every block size."""
    estimator = copy.copy(family.fitted())
    _needs(hasattr(estimator, "impute"), "it fills no blanks")
    table = family.table()
    draws = [estimator.set_params(block_rows=b).impute(table, how="sample", random_state=3) for b in (None, 1, 17)]
    for other in draws[1:]:
        np.testing.assert_array_equal(draws[0], other)


def explanations_add_up(family: Family, folder: Path) -> None:
    """Shares of a cell's causes sum to one, in the order asked for, for all three states."""
    table, estimator = family.table(), family.fitted()
    _needs(hasattr(estimator, "explain"), "it explains no cells")
    whole = estimator.explain(table)
    assert whole.share.shape == (table.size, len(estimator.components_))
    outside = 0.0 if whole.leak is None else whole.leak
    np.testing.assert_allclose(whole.share.sum(axis=1) + outside, 1, atol=1e-9)
    assert (whole.share >= 0).all() and (whole.probability > 0).all() and (whole.probability < 1).all()
    assert set(np.unique(whole.value)) == {0, 1, 2}
    rows, columns = np.array([29, 3, 3, 0]), np.array([10, 4, 0, 10])
    some = estimator.explain(table, cells=(rows, columns))
    places = rows * table.shape[1] + columns
    np.testing.assert_allclose(some.share, whole.share[places])
    np.testing.assert_array_equal(some.value, whole.value[places])
    assert len(some.to_frame()) == 4


def components_have_one_name(family: Family, folder: Path) -> None:
    """Components are called by the family's noun and a number from 1, or as the user says, in all words about them."""
    table, estimator = family.table(), copy.copy(family.fitted())
    _needs(hasattr(estimator, "name_components"), "it has no components of its own")
    noun = family_of(type(estimator)).noun
    usual = [f"{noun} {k + 1}" for k in range(len(estimator.component_names_))]
    assert estimator.component_names_ == usual
    for wrong in (
        {0: "a"},
        {len(usual) + 1: "a"},
        {f"{noun} 0": "a"},
        {True: "a"},
        {1: " "},
        {1: 3},
        {1: "a\nb"},
        ["a"],
    ):
        with _refusal(type(estimator).__name__, of=InputError):
            estimator.name_components(wrong)
    if len(usual) > 1:
        with _refusal("two components would be called", of=InputError):
            estimator.name_components({1: "both", 2: "both"})
    assert estimator.component_names_ == usual
    called = [*usual[:-1], "ours $_"]
    assert estimator.name_components({len(usual): " ours $_ "}).component_names_ == called
    is_map = hasattr(estimator, "regions_table")
    listed = estimator.regions_table(top=2) if is_map else estimator.components_table(2)
    assert list(dict.fromkeys(row["component"] for row in listed)) == called
    assert "ours $_" in estimator.summary()
    assert list(estimator.get_feature_names_out()) == (
        list("xyz")[: len(estimator.latent_shape_)] if is_map else called
    )
    rows = [f"node {k + 1}" for k in range(len(estimator.components_))] if is_map else called
    if hasattr(estimator, "explain"):
        told = estimator.explain(table, cells=([0, 1], [1, 0]))
        assert told.component_names == rows and f"share_{rows[-1]}" in told.to_frame()
    for method in ("profile_table", "cause_table", "sources_table", "communities_table", "top_features"):
        if hasattr(estimator, method):
            assert {row["component"] for row in getattr(estimator, method)()} <= set(rows), method
    estimator.save(folder / "named.latentbits")
    assert latentbits.load(folder / "named.latentbits").component_names_ == called
    assert estimator.name_components({"ours $_": usual[-1]}).component_names_ == usual


def wrong_shapes_are_refused(family: Family, folder: Path) -> None:
    """A table with other columns is refused, and the transpose is named; strange items of ratings are named, too."""
    table, estimator = family.table(), family.fitted()
    methods = ("transform", "score_samples", "score", "reconstruct", "impute", "explain", "predict", "predict_proba")
    asked = 0
    for method in methods:
        if not hasattr(estimator, method) or (method, family.kind) == ("predict", "ratings"):
            continue
        y = (family.targets(table),) if family.supervised and method == "score" else ()
        cases = [(table.T, "transpose"), (table[:, :-1], "features")]
        if family.kind == "ratings":
            cases = [(table.T, "not among those that were fitted")]
        elif hasattr(estimator, "get_support"):  # scikit-learn's own message
            cases = [(table.T, "features"), (table[:, :-1], "features")]
        for X, word in cases:
            with _refusal(word):
                getattr(estimator, method)(X, *y)
            asked += 1
    assert asked


class _Untouched:
    """A table that is open but must not be looked at."""

    n_blocks = 1

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape, self.labels = shape, Labels()
        self.starts = np.array([0, shape[0]])

    def block(self, b: int) -> Any:
        """There is nothing to be had."""
        raise AssertionError("the table was looked at")


def absurd_sizes_are_refused(family: Family, folder: Path) -> None:
    """Sizes that no table of this shape supports, or no machine can hold, are refused before the table is looked at."""
    n_rows, n_columns = family.table().shape
    X = family.table() if family.kind == "ratings" else _Untouched((n_rows, n_columns))
    y = {"y": np.arange(n_rows) % 2} if family.supervised else {}
    by_rows = [name for name in ("n_components", "n_states", "surplus") if family.takes(name)]
    by_memory = [name for name in ("n_draws", "n_warmup", "n_epochs", "n_init") if family.takes(name)]
    for name in (*by_rows, *(() if family.supervised else by_memory)):
        estimator = family.make(**{name: 10**12})
        try:
            estimator._check_options()
        except InputError:  # too many for any table
            continue
        with _refusal(f"{n_rows} rows × {n_columns} columns"):
            estimator.fit(X, **y)
    estimator = family.fitted()
    if hasattr(estimator, "sample"):
        with _refusal(f"{10**12} rows × {n_columns} columns"):
            estimator.sample(10**12)


CONTRACTS: dict[str, Callable[[Family, Path], None]] = {
    contract.__name__: contract
    for contract in (
        block_size_does_not_matter,
        threads_do_not_matter,
        rows_may_be_permuted,
        weights_are_repeats,
        settled_fits_agree,
        permuted_columns_give_the_same_model,
        permuted_columns_are_put_right,
        unknown_cells_are_dropped,
        caller_keeps_the_table,
        saved_models_come_back,
        damaged_models_are_refused,
        resumed_is_straight,
        foreign_checkpoints_are_refused,
        answers_have_their_shapes,
        answers_come_as_they_were_asked,
        draws_do_not_depend_on_blocks,
        explanations_add_up,
        components_have_one_name,
        wrong_shapes_are_refused,
        absurd_sizes_are_refused,
    )
}
