"""Cells in order: every family that fills cells ranks them by the probability given the other cells of the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import latentbits
from latentbits.base import ranking
from latentbits.datasets import make_noisy_or
from latentbits.errors import InputError

from .families import FAMILIES

FILLING = [family for family in FAMILIES if hasattr(family.make(), "impute")]


@pytest.fixture(params=FILLING, ids=lambda family: family.name)
def family(request):
    return request.param


def test_recommendations_are_what_rows_lack(family):
    """Zeros and unknown cells, best first, by what explain says of them; never what is there."""
    table, estimator = family.table(), family.fitted()
    rows, n_columns = [7, 2, 2], table.shape[1]
    found = estimator.recommend(table, rows, n=n_columns)
    assert [row for i, row in enumerate(rows) if i != 1] == list(dict.fromkeys(record["row"] for record in found))
    names = estimator._feature_names()
    for row in (7, 2):
        mine = [record for record in found if record["row"] == row][: int((table[row] != 1).sum())]
        columns = [names.index(str(record["feature"])) for record in mine]
        assert sorted(columns) == np.flatnonzero(table[row] != 1).tolist()
        chances = np.array([record["probability"] for record in mine])
        asked = estimator.explain(table, cells=(np.full(len(columns), row), np.array(columns)))
        np.testing.assert_allclose(chances, asked.probability)
        assert (np.diff(chances) <= 0).all() and [record["rank"] for record in mine] == list(range(1, len(mine) + 1))
        unknown = np.isnan(table[row, columns])
        assert [record["value"] is None for record in mine] == unknown.tolist()
        assert all(0 <= record["share"] <= 1 + 1e-9 for record in mine)
    assert estimator.recommend(table, [], 3) == []
    assert {record["row"] for record in estimator.recommend(table[:5], n=1)} <= set(range(5))


def test_the_most_surprising_cells(family, monkeypatch):
    """The same ones, in the same order, whether all cells are explained or the candidates of block after block."""
    table, estimator = family.table(), family.fitted()
    everything = estimator.explain(table)
    wanted = np.sort(everything.surprise[~np.isnan(everything.surprise)])[::-1][:4]
    at_once = estimator.surprising(table, 4)
    np.testing.assert_allclose(at_once.surprise, wanted)
    monkeypatch.setattr(ranking, "TILE", 3 * table.shape[1])
    np.testing.assert_allclose(estimator.surprising(table, 4).surprise, wanted)
    for name in ("MOST_REFITTED", "MOST_WALKED"):
        monkeypatch.setattr(ranking, name, 0)
    np.testing.assert_allclose(estimator.surprising(table, 4).surprise, wanted)
    assert len(estimator.surprising(table[:1], 1000).row) == int((~np.isnan(table[0])).sum())


def test_few_candidates_hold_the_most_surprising_cells(monkeypatch):
    table = latentbits.datasets.make_mixture(400, 20, 3, spread=2.0, unknown=0.1, random_state=0).data
    model = latentbits.BernoulliMixture(3, n_init=1, random_state=0, block_rows=70).fit(table)
    wanted = model.surprising(table, 5)
    assert wanted.row.tolist() == model.surprising(sp.csr_array(table), 5).row.tolist()
    for name in ("MOST_WALKED", "LEAST_EXPLAINED"):
        monkeypatch.setattr(ranking, name, 0)
    found = model.surprising(table, 5)
    assert len(found.row) == 5 and (found.row[0], found.column[0]) == (wanted.row[0], wanted.column[0])
    assert (found.surprise <= wanted.surprise).all() and found.surprise[4] > 0.9 * wanted.surprise[4]


def test_hidden_items_of_baskets_rank_high():
    """One item is taken out of every basket: it comes back, with the source that bought it as the reason."""
    made = make_noisy_or(600, 12, 3, random_state=0)
    rng = np.random.default_rng(1)
    full = [i for i in range(600) if made.data[i].sum() >= 4]
    taken = np.array([rng.choice(np.flatnonzero(made.data[i] == 1)) for i in full])
    baskets = made.data.copy()
    baskets[full, taken] = 0
    model = latentbits.NoisyOrComponentAnalysis(3, n_init=2, random_state=0).fit(baskets)
    ranks = {(record["row"], record["feature"]): record["rank"] for record in model.recommend(baskets, full, n=12)}
    lacking = (baskets[full] != 1).sum(axis=1)
    placed = np.mean([(ranks[i, str(j)] - 1) / max(n - 1, 1) for i, j, n in zip(full, taken, lacking)])
    assert placed < 0.3  # 0.5 by chance
    record = max(model.recommend(baskets, full, n=1), key=lambda record: record["probability"])
    names = list(model.get_feature_names_out())
    links = model.components_[:, int(record["feature"])]
    assert record["because"] == names[int(np.argmax(links * model.transform(baskets)[record["row"]]))]


def test_candidates_of_wide_tables(monkeypatch):
    """A few candidates are enough, and the answer does not depend on how rows are taken together, or on the container."""
    table = latentbits.datasets.make_mixture(80, 60, 4, spread=2.0, random_state=0).data
    model = latentbits.BernoulliMixture(4, n_init=1, random_state=0).fit(table)
    every = model.recommend(table, n=3)
    for name, value in (("MOST_WALKED", 0), ("CANDIDATES", 5), ("LEAST_CANDIDATES", 1), ("TILE", 500)):
        monkeypatch.setattr(ranking, name, value)
    few = model.recommend(sp.csr_array(table), n=3)
    assert [(r["row"], r["feature"]) for r in few] == [(r["row"], r["feature"]) for r in every]
    frame = model.recommend_frame(table, [4], n=2)
    assert list(frame["rank"]) == [1, 2] and list(frame.columns[:3]) == ["row", "rank", "feature"]


def test_rows_that_are_not_there():
    model, table = FILLING[0].fitted(), FILLING[0].table()
    for rows, words in (([len(table)], "numbered 0 to"), ([-1], "numbered 0 to"), (["ann"], "row numbers")):
        with pytest.raises(InputError, match=words):
            model.recommend(table, rows)
    with pytest.raises(InputError, match="n must be"):
        model.recommend(table, n=0)
    assert not hasattr(latentbits.PLSA(), "recommend") and not hasattr(latentbits.GaussianPLSA(), "recommend")
