"""What every family promises, one function per promise.

A contract takes a :class:`Family` and a scratch folder and raises AssertionError if the promise is broken.  A new family
joins by one line in the table of families in ``tests/contracts``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import has_fit_parameter

import latentbits

from ..errors import InputError


@dataclass(frozen=True)
class Family:
    """A row of the contract table: a name and how to make an estimator from options."""

    name: str
    make: Callable[..., Any]
    close: float = 1e-9  # how far answers may differ where only the order of sums differs
    seeded_at_rows: bool = False  # starts depend on the order and number of rows
    values: bool = False  # tables hold numbers, 0 or more, and no cell is unknown

    def table(self, n_rows: int = 120, n_columns: int = 11, unknown: float = 0.15, seed: int = 0) -> np.ndarray:
        """A table that the family can fit."""
        from ..datasets import make_mixture

        table = make_mixture(n_rows, n_columns, 3, unknown=0.0 if self.values else unknown, random_state=seed).data
        if not self.values:
            return table
        # Eighths, which every file format keeps exactly.
        return table * np.random.default_rng(seed).integers(1, 40, table.shape) / 8

    @property
    def weighted(self) -> bool:
        """Whether rows can have weights."""
        return has_fit_parameter(self.make(), "sample_weight")

    def fit(self, X: Any, sample_weight: Any = None, **options: Any) -> Any:
        """A fitted estimator; doubts are not the business of contracts."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            return self.make(**options).fit(X, **weights)


def parameters(estimator: Any) -> dict[str, np.ndarray]:
    """The fitted parameters as arrays."""
    from ..engine.stats import flatten

    return flatten(estimator._params)


def assert_same_bits(a: Any, b: Any) -> None:
    """Two fits have exactly the same parameters."""
    ours, theirs = parameters(a), parameters(b)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes(), f"parameter {name} differs"


def assert_close(a: Any, b: Any, tolerance: float) -> None:
    """Two fits agree up to the order of sums."""
    ours, theirs = parameters(a), parameters(b)
    for name, array in ours.items():
        np.testing.assert_allclose(array, theirs[name], rtol=0, atol=tolerance, err_msg=f"parameter {name}")


def container_does_not_matter(family: Family, folder: Path, container: Callable[..., Any], blocks: int = 50) -> None:
    """The same blocks from any container give the same bits."""
    table = family.table()
    straight = family.fit(table, block_rows=blocks)
    other = family.fit(container(table, folder), block_rows=blocks)
    assert_same_bits(straight, other)


def block_size_does_not_matter(family: Family, folder: Path) -> None:
    """Other block sizes agree to rounding."""
    table = family.table()
    straight = family.fit(table, block_rows=len(table), max_iter=40)
    for block_rows in (1, 7, 64):
        assert_close(straight, family.fit(table, block_rows=block_rows, max_iter=40), family.close)


def threads_do_not_matter(family: Family, folder: Path) -> None:
    """Any number of threads gives the same bits."""
    table = family.table()
    straight = family.fit(table, block_rows=13, n_jobs=1)
    for n_jobs in (2, 5):
        assert_same_bits(straight, family.fit(table, block_rows=13, n_jobs=n_jobs))


def rows_may_be_permuted(family: Family, folder: Path) -> None:
    """The order of rows does not matter, unless starts are seeded at rows."""
    if family.seeded_at_rows:
        return
    table = family.table()
    order = np.random.default_rng(0).permutation(len(table))
    first, second = family.fit(table, max_iter=40), family.fit(table[order], max_iter=40)
    assert_close(first, second, max(1e-7, family.close))
    close = max(1e-6, family.close)
    np.testing.assert_allclose(first.transform(table)[order], second.transform(table[order]), atol=close, rtol=close)


def weights_are_repeats(family: Family, folder: Path) -> None:
    """A whole weight is the row as often; a weight of zero is no row.  (Seeds at rows: in distribution only.)"""
    if family.seeded_at_rows:
        return
    table = family.table()
    weights = np.random.default_rng(1).integers(0, 4, len(table))
    weighted = family.fit(table, sample_weight=weights, max_iter=40)
    repeated = family.fit(np.repeat(table, weights, axis=0), max_iter=40)
    assert_close(weighted, repeated, max(1e-7, family.close))


def columns_may_be_permuted(family: Family, folder: Path) -> None:
    """Answers come in the caller's column order: a fitted model sees permuted frames as an error, not silently."""
    import pandas as pd

    frame = pd.DataFrame(family.table(), columns=[f"c{j}" for j in range(11)])
    estimator = family.fit(frame)
    try:
        estimator.transform(frame[frame.columns[::-1]])
    except ValueError:
        return
    raise AssertionError("columns in another order were accepted silently")


def unknown_cells_are_dropped(family: Family, folder: Path) -> None:
    """What stands under an unknown cell does not matter; families of numbers refuse such cells."""
    table = family.table()
    if family.values:
        table[3, 5] = np.nan
        try:
            family.fit(table)
        except InputError as error:
            assert "row 3" in str(error) and "column 5" in str(error)
            return
        raise AssertionError("an unknown cell was accepted")
    blank = np.isnan(table)
    fits = [
        family.fit(np.ma.MaskedArray(np.where(blank, filler, table), mask=blank), max_iter=30) for filler in (0, 1, 7)
    ]
    for other in fits[1:]:
        assert_same_bits(fits[0], other)


def caller_keeps_the_table(family: Family, folder: Path) -> None:
    """The table that was passed is not changed."""
    table = family.table()
    before = table.copy()
    estimator = family.fit(table)
    if hasattr(estimator, "impute"):
        estimator.impute(table)
    np.testing.assert_array_equal(table, before)
    sparse = sp.csc_matrix(np.nan_to_num(table))
    sparse.data[0] = 1
    data, indices = sparse.data.copy(), sparse.indices.copy()
    family.fit(sparse).transform(sparse)
    assert (sparse.data == data).all() and (sparse.indices == indices).all()


def saved_models_come_back(family: Family, folder: Path) -> None:
    """A loaded model gives the same answers, bit for bit, and can be saved to the same bytes."""
    table = family.table()
    estimator = family.fit(table)
    estimator.save(folder / "model.latentbits")
    loaded = latentbits.load(folder / "model.latentbits")
    assert type(loaded) is type(estimator)
    assert_same_bits(estimator, loaded)
    assert estimator.transform(table).tobytes() == loaded.transform(table).tobytes()
    assert estimator.score_samples(table).tobytes() == loaded.score_samples(table).tobytes()
    assert list(estimator.get_feature_names_out()) == list(loaded.get_feature_names_out())
    loaded.save(folder / "again.latentbits")
    assert (folder / "model.latentbits").read_bytes() == (folder / "again.latentbits").read_bytes()


def damaged_models_are_refused(family: Family, folder: Path) -> None:
    """Cut, edited and foreign files are refused with a reason."""
    path = folder / "model.latentbits"
    family.fit(family.table(), max_iter=5).save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    spots = [*rng.integers(8, len(whole), 30).tolist(), len(whole) - 1]
    damaged = [whole[:-1], whole[: len(whole) // 2], whole[:5], b"", b"PK\x03\x04" + whole, b"{}"]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in spots]
    for content in damaged:
        path.write_bytes(content)
        try:
            latentbits.load(path)
        except InputError as error:
            assert str(path) in str(error)
        else:
            raise AssertionError("a damaged file was accepted")


def resumed_is_straight(family: Family, folder: Path) -> None:
    """A fit stopped at any pass and resumed gives the same bits as one that ran through."""
    table = family.table()
    straight = family.fit(table, n_init=2, block_rows=50)
    total = _n_passes(straight)
    for stop_after in sorted({1, 2, 3, total // 2, total - 1}):
        path = folder / f"stop{stop_after}.checkpoint"
        passes = 0

        def interrupt(event: Any, limit: int = stop_after) -> None:
            nonlocal passes
            passes += 1
            if passes == limit:
                raise KeyboardInterrupt

        try:
            family.fit(table, n_init=2, block_rows=50, checkpoint=path, callbacks=[interrupt])
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("the fit was not interrupted")
        resumed = family.fit(table, n_init=2, block_rows=50, checkpoint=path)
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
    table, path = family.table(), folder / "fit.checkpoint"
    family.fit(table, checkpoint=path, random_state=0)
    other = table.copy()
    other[0] = other[0] + 1 if family.values else 1 - other[0]
    whole = path.read_bytes()
    for X, options in ((other, {}), (table, {"random_state": 1}), (table, {"tol": 1e-3})):
        _refused(family, X, path, {"random_state": 0, **options})
    for content in (whole[:-7], whole[:100], whole[:-1] + bytes([whole[-1] ^ 1]), b"nothing"):
        path.write_bytes(content)
        _refused(family, table, path, {"random_state": 0})


def _refused(family: Family, X: Any, path: Path, options: dict[str, Any]) -> None:
    before = path.read_bytes()
    try:
        family.fit(X, checkpoint=path, **options)
    except InputError as error:
        assert str(path) in str(error)
        assert path.read_bytes() == before
        return
    raise AssertionError("a foreign or damaged checkpoint was accepted")


def answers_have_their_shapes(family: Family, folder: Path) -> None:
    """One output row per input row; probabilities are probabilities; blanks are filled and nothing else is."""
    table = family.table()
    estimator = family.fit(table)
    n, d = table.shape
    represented = estimator.transform(table)
    assert len(represented) == n and np.isfinite(represented).all()
    assert estimator.score_samples(table).shape == (n,)
    np.testing.assert_allclose(estimator.score(table), estimator.score_samples(table).mean())
    assert estimator.sample(7, random_state=0).shape == (7, d)
    assert estimator.score_kind_ in ("exact", "lower bound", "estimate")
    if hasattr(estimator, "bic"):
        assert estimator.bic(table) > estimator.aic(table)
    assert len(estimator.components_frame(top=3)) <= 3 * len(estimator.components_)
    if not hasattr(estimator, "impute"):
        return
    filled = estimator.reconstruct(table)
    assert filled.shape == (n, d) and (filled > 0).all() and (filled < 1).all()
    cells = (np.array([5, 0, 5]), np.array([1, 2, 0]))
    np.testing.assert_allclose(estimator.reconstruct(table, cells), filled[cells], atol=1e-12)
    blank = np.isnan(table)
    for how in ("probability", "mode", "sample"):
        imputed = estimator.impute(table, how=how, random_state=0)
        np.testing.assert_array_equal(imputed[~blank], table[~blank])
        assert not np.isnan(imputed).any()
    np.testing.assert_allclose(estimator.impute(table)[blank], filled[blank], atol=1e-12)
    assert np.isin(estimator.sample(7, random_state=0), (0, 1)).all()


def draws_do_not_depend_on_blocks(family: Family, folder: Path) -> None:
    """Random fill-ins are the same for every block size."""
    table = family.table()
    estimator = family.fit(table)
    if not hasattr(estimator, "impute"):
        return
    draws = [estimator.set_params(block_rows=b).impute(table, how="sample", random_state=3) for b in (None, 1, 17)]
    for other in draws[1:]:
        np.testing.assert_array_equal(draws[0], other)


def explanations_add_up(family: Family, folder: Path) -> None:
    """Shares of a cell's causes sum to one, in the order asked for, for all three states."""
    table = family.table(n_rows=30)
    estimator = family.fit(table)
    if not hasattr(estimator, "impute"):
        assert not hasattr(estimator, "explain")
        return
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


def wrong_shapes_are_refused(family: Family, folder: Path) -> None:
    """A table with other columns is refused, and the transpose is named."""
    table = family.table()
    estimator = family.fit(table)
    for method in ("transform", "score_samples", "score", "reconstruct", "impute", "explain"):
        for X, word in ((table.T, "transpose"), (table[:, :-1], "features")):
            if not hasattr(estimator, method):
                continue
            try:
                getattr(estimator, method)(X)
            except ValueError as error:
                assert word in str(error), str(error)
            else:
                raise AssertionError(f"{method} accepted a table of another shape")


CONTRACTS: dict[str, Callable[[Family, Path], None]] = {
    contract.__name__: contract
    for contract in (
        block_size_does_not_matter,
        threads_do_not_matter,
        rows_may_be_permuted,
        weights_are_repeats,
        columns_may_be_permuted,
        unknown_cells_are_dropped,
        caller_keeps_the_table,
        saved_models_come_back,
        damaged_models_are_refused,
        resumed_is_straight,
        foreign_checkpoints_are_refused,
        answers_have_their_shapes,
        draws_do_not_depend_on_blocks,
        explanations_add_up,
        wrong_shapes_are_refused,
    )
}
