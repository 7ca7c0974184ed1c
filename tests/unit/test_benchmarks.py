"""The benchmarks run, so that they stay alive; what they measure is not judged here."""

from __future__ import annotations

import json
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks import layout, mixture
from benchmarks.stream import stream
from benchmarks.timing import best_of, slope


def test_missed_goals_are_told():
    one = {"set": "s", "ratios": {"A": 4.0, "B": 9.0}, "goals": {"A": 5, "B": 5}}
    assert mixture.missed({"peers": [one], "memory": {"peak_megabytes_above_input": 10}}) == ["s against A"]
    assert mixture.missed({"peers": [], "memory": {"peak_megabytes_above_input": 500}}) == ["memory"]


def test_benchmarks_run():
    X = sp.csr_array((np.random.default_rng(0).random((300, 50)) < 0.05).astype(float))
    assert mixture.one_pass(X, 4)().probs.shape == (4, 50)
    grown = best_of({"a": mixture.one_pass(X, 4), "b": mixture.one_pass(X, 8)}, rounds=1)
    assert set(grown) == {"a", "b"} and all(seconds > 0 for seconds in grown.values())
    out = np.zeros(4)
    stream(X.indptr.astype(np.int64), X.indices.astype(np.int32), np.ones(50 * 4), 4, out)
    np.testing.assert_allclose(out, X.nnz, rtol=1e-6)
    assert slope([1, 2, 4], [3, 6, 12]) > 0.999
    assert 0 < layout.crossing(3, n_rows=64, n_columns=16) <= 1


def test_aspect_benchmarks_run():
    from benchmarks import aspect

    table = aspect.synthetic(400, 60, 4.0)
    assert set(np.unique(table.data)) == {1.0}
    params, rows = aspect.OnePass(table, 3, settle=1)()
    assert params.probs.shape == (3, 60) and len(rows) >= 1
    X = (np.random.default_rng(0).random((60, 12)) < 0.5).astype(float)
    fitted = aspect.AspectBernoulli(3, n_init=1, tol=1e-4, random_state=0, fold_tol=1e-3).fit(X)
    np.testing.assert_allclose(aspect.em_fold_in(fitted, X, 1e-9), fitted.transform(X), atol=0.05)
    good = {
        "peers": [{"set": "digits", "k": 10, "ratio": 20.0}],
        "dense": [{"set": "s", "k": 2, "ratio": 2.0}],
        "sparse": {"ratio": 10.0},
        "memory": {"peak_megabytes_above_input": 10},
        "transform": {"ratio": 30.0},
    }
    assert aspect.missed(good) == []
    slow = {"set": "digits", "k": 10, "ratio": 17.0}
    assert aspect.missed({**good, "peers": [slow]}) == ["digits K=10 against nbmf-mm"]
    assert aspect.missed({**good, "sparse": {"ratio": 16.0}, "transform": {"ratio": 3.0}}) == ["sparse", "transform"]


def test_noisy_or_benchmarks_run(tmp_path):
    from benchmarks import noisy_or
    from latentbits.datasets import make_noisy_or

    made = make_noisy_or(120, 10, 3, random_state=0)
    links = np.random.default_rng(0).uniform(0.05, 0.9, (3, 10))
    other = noisy_or.PaperFit(made.data, links, np.full(10, 0.1), np.full(3, 0.3))
    bounds = []
    for _ in range(6):
        other.e_step()
        bounds.append(other.bound())
        other.m_step(probes=30)
    assert np.isfinite(bounds).all() and bounds[-1] > bounds[0]
    params = noisy_or.OnePass(sp.csr_array(made.data), 3, warm_up=12)()
    assert params.theta.shape == (3, 10)
    path = tmp_path / "table.parquet"
    noisy_or.write_million(path, 400, 20, k=3, chunk=200)
    import pyarrow.parquet as pq

    assert pq.read_table(path).shape == (400, 20)
    good = {
        "paper": {"ratio": 150.0, "reached": True},
        "corex": [{"set": "s", "ratio": 6.0}],
        "growth": [{"set": "g", "exponent_in_ones": 1.0, "exponent_in_sources": 1.1}],
        "memory": [
            {
                "set": "g",
                "peak_megabytes_above_input": 90.0,
                "row_state_megabytes": 5.0,
                "k_times_columns_megabytes": 5.0,
            }
        ],
        "million": {"out of core": {"megabytes": 500.0}, "same_bits": True},
    }
    assert noisy_or.missed(good) == []
    bad = {
        **good,
        "corex": [{"set": "s", "ratio": 1.0}],
        "million": {"out of core": {"megabytes": 5000.0}, "same_bits": False},
    }
    assert noisy_or.missed(bad) == ["corex on s", "million: memory", "million: bits"]
    steep = {"set": "g", "exponent_in_ones": 1.0, "exponent_in_sources": 1.4}
    fat = {**good["memory"][0], "peak_megabytes_above_input": 300.0}
    assert noisy_or.missed({**good, "growth": [steep], "memory": [fat]}) == ["g: not linear in sources", "g: memory"]


def test_gibbs_benchmarks_run():
    from benchmarks import gibbs

    table = gibbs.made(200, 30, 0.2, 4)
    chain = gibbs.chain_of(table, gibbs.FinitePrior(4.0, 4), 4, 2)
    before = chain.labels.copy()
    gibbs.Steps(chain, 2)()
    X = table.toarray()
    other = gibbs.NumpyGibbs(X, before, 4, 4.0, 0.5, 0.5)
    # The conditional of the NumPy sampler is that of the kernels: ratios of joints.
    n = 7
    other.sizes[other.labels[n]] -= 1
    other.ones[other.labels[n]] -= X[n]
    logs = other.conditional(X[n])
    joints = []
    for k in range(4):
        labels = before.copy()
        labels[n] = k
        joints.append(gibbs.CollapsedChain(chain.process, 0, chain.state()._replace(labels=labels)).log_joint())
    assert len(set(np.delete(before, n))) == 4  # no block is opened
    np.testing.assert_allclose(logs - logs.max(), np.array(joints) - max(joints), atol=1e-8)
    other.sweep()
    assert gibbs.missed(
        {
            "numpy": {"ratio": 250},
            "tomotopy": {"ratio": 2.9},
            "growth": {"exponent_in_ones": 1.0, "exponent_in_blocks": 1.3},
            "memory": {"megabytes_above_input": 400},
        }
    ) == ["tomotopy", "not linear in blocks", "memory"]


def test_gtm_benchmarks_run():
    from benchmarks import gtm

    table = gtm.made(200, 30, 0.2, 4)
    passes = gtm.Passes(table, 3, latent_shape=(4, 4))
    first = gtm.Passes(table, 1, latent_shape=(4, 4))()
    assert passes() > first
    passes.e_step()
    good = {
        "ugtm": {"ratios": {"bound": 3.5, "newton": 1.0}},
        "growth": {"debtags": {"exponent": 1.0}},
        "memory": {"megabytes_above_input": 200.0, "n_iter": 50},
    }
    assert gtm.missed(good) == []
    bad = {
        "ugtm": {"ratios": {"bound": 2.5}},
        "growth": {"debtags": {"exponent": 1.0}, "retail": {"exponent": 1.3}},
        "memory": {"megabytes_above_input": 200.0, "n_iter": 20},
    }
    assert gtm.missed(bad) == ["ugtm", "retail not linear", "memory"]


def test_bernoulli_gauss_benchmarks_run():
    import scipy.sparse as sp

    from benchmarks import bernoulli_gauss as bench

    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((60, 30)) * (rng.random((60, 30)) < 0.3))
    told = bench.product(X, 3, 1)
    assert told["ratio"] > 0 and told["keywords"] <= 180
    counts = X.copy()
    counts.data = np.ceil(10 * counts.data)
    assert bench.nmf_peer(counts, 2, 1)["seconds"]["PLSA"] > 0
    assert bench.gaussian_peer(X, 1)["ratio"] > 0
    good = {"product": {"ratio": 3.0}, "gaussian mixture": {"ratio": 50.0}, "nmf": {"ratio": 9.0}}
    assert bench.missed(good) == []
    assert bench.missed({"product": {"ratio": 7.0}, "gaussian mixture": {"ratio": 5.0}, "nmf": {"ratio": 1.0}}) == [
        "product", "gaussian mixture", "nmf",
    ]  # fmt: skip


def test_explore_benchmark_runs():
    from benchmarks import explore as bench

    told = bench.measure(bench.tables(small=True)["toy"], ["mixture", "noisy-or"], budget=3, folds=1, n_components=[2])
    assert told["seconds"] > 0 and told["rows"] <= 200 and told["best"] in ("mixture", "noisy-or")


def test_the_table_of_goals():
    from benchmarks import table
    from benchmarks.whole_fits import FITS

    good = table.Line("a / b", 1.0, 5.0, 5.0, 4.0, 3, "-1 against -1")
    steep = table.Line("c: exponent in ones", 2.0, 1.0, 1.3, 1.15, 3, limit=True)
    assert good.met and not good._replace(ratio=3.9).met
    assert not steep.met and steep._replace(ratio=1.1).met
    part = {"commit": "0123456789", "python": "3", "cores": 2, "lines": [list(good), list(steep)]}
    text = table.markdown({"before": part})
    assert "| a / b | 1 | 5 | 5.00 | ≥ 4 | met | 3 | -1 against -1 |" in text and "≤ 1.15 | **not met**" in text
    told = table.history({"before": part, "old": {**part, "commit": "other"}}, "0123456789")
    assert told["version"] == 2 and told["results"] == {
        "before.a / b": [[1.0], [], "before"],
        "before.c: exponent in ones": [[2.0], [], "before"],
    }
    assert all(any(name.startswith(family) for family in table.BEFORE_GOALS) for name in FITS)


def test_the_history_of_a_commit_outlives_later_runs(tmp_path, monkeypatch):
    """What was measured at a commit stays when a part is run again at a later one."""
    from benchmarks import table

    monkeypatch.setattr(table, "RESULTS", tmp_path)
    part = {"commit": "a" * 40, "python": "3", "cores": 2, "lines": [["a / b", 1.0, 5.0, 5.0, 4.0, 3, "", False]]}
    table.write({"before": part, "peers": part}, "a" * 40)
    first = (tmp_path / "history" / "aaaaaaaa.json").read_text()
    table.write({"before": {**part, "commit": "b" * 40}, "peers": part}, "b" * 40)
    assert (tmp_path / "history" / "aaaaaaaa.json").read_text() == first
    later = json.loads((tmp_path / "history" / "bbbbbbbb.json").read_text())
    assert list(later["results"]) == ["before.a / b"]


def test_slopes_and_precision_run(monkeypatch):
    from benchmarks import aspect, precision, slopes
    from latentbits.base import fitting

    table = aspect.synthetic(300, 30, 4.0)
    for make in slopes.FAMILIES.values():
        passes = slopes.Passes(make(2), table, settle=2)
        passes()
        assert passes.state.iteration == 2
    monkeypatch.setattr(fitting, "MIXED_FROM", 0)
    told = precision.compare(precision.FAMILIES["mixture"], table.toarray(), 0)
    assert abs(told["difference"]) < 0.1 and not told["lost"] and set(told["seconds"]) == {"double", "mixed"}


def test_the_least_work_and_lines_without_a_goal():
    from benchmarks.slopes import least_work
    from benchmarks.table import Line, markdown

    X = sp.csr_array((np.random.default_rng(0).random((30, 12)) < 0.2).astype(float))
    assert len(least_work(X, 4, dense=False)()) == 2
    assert least_work(X, 3, dense=True)()[1].shape == (12, 3)
    lines = [Line("a", 1.0, 2.0, 2.0, None, 1, "3 against 4"), Line("b", 1.0, 2.0, 2.0, 4.0, 1)]
    assert lines[0].met and not lines[1].met
    told = markdown({"rivals": {"commit": "0" * 40, "python": "3", "cores": 2, "lines": lines}})
    assert "| a | 1 | 2 | 2.00 | – |  | 1 | 3 against 4 |" in told and "**not met**" in told


def test_scale_benchmark_runs(tmp_path, monkeypatch):
    from benchmarks import scale

    monkeypatch.setattr(scale, "SHAPE", (600, 20))
    monkeypatch.setattr(scale, "PASSES", 4)
    table = sp.csr_array((np.random.default_rng(0).random((600, 20)) < 0.1).astype(np.int8))
    monkeypatch.setattr(scale, "drawn", lambda low, high, n_columns=20: table[low:high])
    scale.write_parquet(tmp_path / "t.parquet", (600, 20))
    told = {kind: scale.fit(kind, str(tmp_path / "t.parquet")) for kind in ("memory", "file", "decode")}
    assert told["file"]["objective"] == told["memory"]["objective"] and told["decode"]["seconds"] > 0


def test_passes_like_another_table_are_at_its_parameters():
    from benchmarks import slopes

    make = slopes.FAMILIES["noisy-or"]
    first = slopes.Passes(make(2), slopes.synthetic(300, 40, 4.0), settle=3)
    other = slopes.Passes(make(2), slopes.synthetic(600, 40, 4.0), like=first)
    assert other.state.point.params is first.state.point.params
    other()


def test_trees_benchmark_runs():
    from benchmarks import trees
    from latentbits.datasets import make_mixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trees.passes(make_mixture(120, 9, 2, random_state=0).data, 2, 10)
        hidden = trees.hidden_passes(make_mixture(120, 9, 2, random_state=0).data, 2, 32)
    assert set(found) == {"mixture", "trees", "pair_products"} and min(found.values()) > 0
    assert set(hidden) == {"hidden", "bare_products"} and min(hidden.values()) > 0


def test_imputers_benchmark_runs(tmp_path):
    """What is installed plays; what is not is told, and nobody is asked again what was answered."""
    from benchmarks import imputers

    found = imputers.main(["--small"], tmp_path)
    assert set(found) == {f"toy / {hiding}" for hiding in imputers.HIDINGS}
    for match in found.values():
        for name, told in match["imputers"].items():
            assert "failed" not in told, (name, told)
            assert ("missing" in told) or (0 < told["log_loss"] < 2 and told["seconds"] >= 0)
        ranked = imputers.ranking(match)
        assert {"marginals", "mixture", "neighbours"} <= {place.name for place in ranked}
        assert ranked[0].behind == 0 and ranked[0].near and all(place.behind >= 0 for place in ranked)
    text = (tmp_path / "imputers.md").read_text()
    assert "## toy / blocks" in text and "| marginals |" in text and "first or near" in text
    kept = json.loads((tmp_path / "imputers.json").read_text())
    assert imputers.main(["--small", "--only", "marginals"], tmp_path) == kept


def test_imputers_are_asked_for_known_cells_only():
    from benchmarks import imputers

    X = imputers.table_of("votes")
    for hiding in imputers.HIDINGS:
        asked = imputers.question("votes", hiding)
        assert np.isnan(asked.seen[asked.rows, asked.columns]).all() and not np.isnan(asked.values).any()
        np.testing.assert_array_equal(X[asked.rows, asked.columns], asked.values)
        share = len(asked.rows) / np.isfinite(X).sum()
        assert abs(share - (0.3 if hiding == "30 %" else 0.1)) < 0.03
        assert asked.about() == imputers.question("votes", hiding).about()
    ones = imputers.question("votes", "ones")
    assert ones.values.mean() > 1.3 * np.nanmean(X)
    asked = imputers.question("toy", "10 %")
    told = imputers.judged(asked, np.full(asked.seen.shape, 0.25))
    wrong = {**told, "log_loss": 9.0}
    match = {
        **asked.about(),
        "imputers": {"latentbits": {**told, "seconds": 1.0}, "marginals": {**wrong, "seconds": 1.0}},
    }
    assert [place.name for place in imputers.ranking(match)] == ["latentbits", "marginals"]
    assert "on 1 of 1 tables, and first on 1" in imputers.summary({"toy / 10 %": match})
    assert "not been run" in imputers.summary({})
