"""Answers about Dask tables are Dask tables: nothing is computed until the user asks for it."""

from __future__ import annotations

import numpy as np
import pytest

from latentbits.errors import InputError
from latentbits.testing import CONTAINERS

from .families import FAMILIES

dask = pytest.importorskip("dask")
ANSWERS = ("transform", "score_samples", "predict", "predict_proba", "fold_in_scores", "predict_sources", "novelty")
# Supervised models read their table whole, ratings are no table of cells.
ASKED = [f for f in FAMILIES if f.kind != "ratings" and hasattr(f.make(), "transform")]


def refuse(*args, **options):
    raise AssertionError("something was computed")


@pytest.mark.parametrize("container", ["dask array", "dask frame"])
@pytest.mark.parametrize("family", ASKED, ids=lambda family: family.name)
def test_answers_about_rows_wait_until_they_are_asked_for(family, container, tmp_path):
    table, estimator = family.table(), family.fitted()
    lazy = CONTAINERS[container](table, tmp_path)
    for name in ANSWERS:
        if not hasattr(estimator, name):
            continue
        try:
            wanted = getattr(estimator, name)(table)
        except InputError:  # this answer needs another option
            continue
        with dask.config.set(scheduler=refuse):
            found = getattr(estimator, name)(lazy)
        if name == "transform" and family.name.endswith("Selector"):  # columns of the table itself
            assert type(found) is type(lazy)
            np.testing.assert_array_equal(np.asarray(found.compute()), np.asarray(wanted))
            continue
        assert type(found).__module__.startswith("dask.array"), name
        if container == "dask array":
            assert found.chunks[0] == lazy.chunks[0]
        assert found.dtype == wanted.dtype and found.ndim == wanted.ndim, name
        np.testing.assert_allclose(found.compute(), wanted, rtol=1e-12, atol=1e-300, err_msg=name)


def test_a_table_of_the_wrong_width_is_refused_at_once():
    import dask.array as da

    family = FAMILIES[0]
    n_columns = family.table().shape[1]
    with pytest.raises(InputError, match="features as input"):
        family.fitted().transform(da.zeros((20, n_columns + 1), chunks=10))


def test_chunks_of_unknown_length_are_fitted_and_answered(tmp_path):
    import dask.array as da

    family = FAMILIES[0]
    table = family.table()
    whole = da.from_array(table, chunks=(37, table.shape[1]))
    lazy = whole[da.ones(len(table), chunks=37) > 0]  # as many rows, which Dask does not know
    assert np.isnan(lazy.chunks[0][0])
    model = family.make().set_params(random_state=0).fit(lazy)
    assert np.array_equal(model.components_, family.make().set_params(random_state=0).fit(table).components_)
    found = model.transform(lazy)
    assert np.isnan(found.shape[0])
    np.testing.assert_allclose(found.compute(), model.transform(table), rtol=1e-12)


def test_empty_partitions_are_answered():
    import dask.array as da

    family = FAMILIES[0]
    table = family.table()
    lazy = da.concatenate([da.from_array(table[:0], chunks=-1), da.from_array(table, chunks=(50, table.shape[1]))])
    np.testing.assert_allclose(family.fitted().transform(lazy).compute(), family.fitted().transform(table), rtol=1e-12)
