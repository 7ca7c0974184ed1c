"""Link analysis: communities, their graph and scores, lists of edges, the ``links`` command."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import latentbits
from latentbits import NoisyOrComponentAnalysis
from latentbits.datasets import make_noisy_or
from latentbits.errors import (
    InputError,
)


@pytest.fixture(scope="module")
def made():
    return make_noisy_or(300, 12, 3, unknown=0.1, random_state=3)


@pytest.fixture(scope="module")
def fitted(made):
    return NoisyOrComponentAnalysis(3, n_init=2, random_state=0).fit(made.data)


def test_communities(made, fitted):
    members = fitted.communities_table(top=None)
    assert {row["component"] for row in members} == {"source 1", "source 2", "source 3"} and all(
        row["strength"] >= 0.1 for row in members
    )
    assert all(0 <= row["explained"] <= 1 for row in members)
    assert len(fitted.communities_frame(top=2)) == 6
    documents = fitted.documents_table(made.data, top=4)
    posteriors, place = fitted.transform(made.data), fitted.component_names_.index
    assert all(abs(posteriors[row["row"], place(row["component"])] - row["posterior"]) < 1e-12 for row in documents)
    overlap = fitted.overlap_table(made.data)
    both = posteriors.T @ posteriors
    assert (overlap[0]["first"], overlap[0]["second"]) == ("source 1", "source 2")
    assert len(overlap) == 3 and abs(overlap[0]["rows"] - both[0, 1]) < 1e-9
    assert len(fitted.overlap_frame(made.data)) == 3
    assert len(fitted.sources_frame()) == 3
    named = copy.copy(fitted).name_components({3: "poets"})
    for table in (named.communities_table(1), named.documents_table(made.data, 1), named.sources_table()):
        assert [row["component"] for row in table] == ["source 1", "source 2", "poets"]
    assert named.overlap_table(made.data)[-1]["second"] == "poets"


def test_graph(made, fitted):
    nx = pytest.importorskip("networkx", reason="graphs need the package networkx")
    posteriors = fitted.transform(made.data)
    graph = fitted.to_graph(made.data, row_names=[f"doc{i}" for i in range(300)])
    kinds = nx.get_node_attributes(graph, "kind")
    assert sum(kind == "community" for kind in kinds.values()) == 3
    assert sum(kind == "row" for kind in kinds.values()) == int((posteriors > 0.5).any(axis=1).sum())
    assert fitted.to_graph().number_of_edges() == len(fitted.communities_table(top=None))


def test_importing_needs_no_networkx(fitted, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="latentbits\\[links\\]"):
        fitted.to_graph()


def test_metrics():
    metrics = latentbits.metrics
    gold = np.eye(3)
    found = metrics.weighted_cosine_matching(np.array([[0, 1, 0], [1, 0, 0.0], [1, 1, 1]]), gold, [0.2, 0.5, 0.3], 2)
    assert found["pairs"] == [(0, 1, 1.0), (1, 0, 1.0)] and abs(found["value"] - 0.7) < 1e-12
    assert abs(found["renormalised"] - 1) < 1e-12
    # The assignment is the best of all, by brute force.
    from itertools import permutations

    rng = np.random.default_rng(0)
    parts, truth, weights = rng.random((5, 6)), rng.random((3, 6)), rng.random(5)
    cosine = (parts / np.linalg.norm(parts, axis=1)[:, None]) @ (truth / np.linalg.norm(truth, axis=1)[:, None]).T
    for n in (1, 2, 3):
        best = max(
            sum(weights[i] * cosine[i, g] for i, g in zip(chosen, goal)) / weights.sum()
            for chosen in permutations(range(5), n)
            for goal in permutations(range(3), n)
        )
        assert abs(metrics.weighted_cosine_matching(parts, truth, weights, n)["value"] - best) < 1e-12
    judged = metrics.community_recovery([[0.9, 0.8, 0.1, 0.2], [0.1, 0.7, 0.9, 0.0]], [0, 0, 1, 1])
    assert judged["points"] == {0: 1.0, 1: 0.5} and judged["component"] == {0: 0, 1: 1}
    assert metrics.community_recovery([[0.9, 0.8, 0.1, 0.2]], [0, 0, 1, 1])["component"][1] is None
    scores = metrics.document_cross_entropy(np.log([0.5, 0.125]))
    assert abs(scores["bits"] - 2) < 1e-12 and abs(scores["perplexity"] - 4) < 1e-12 and scores["se"] > 0
    for call in (
        lambda: metrics.weighted_cosine_matching([[1, 2]], [[1, 2, 3]]),
        lambda: metrics.weighted_cosine_matching(gold, gold, [1, -1, 1]),
        lambda: metrics.weighted_cosine_matching(gold, gold, None, 4),
        lambda: metrics.community_recovery(gold, [1]),
        lambda: metrics.document_cross_entropy([]),
    ):
        with pytest.raises(InputError):
            call()


@pytest.fixture
def edges(tmp_path):
    """A list of documents and their authors."""
    made = make_noisy_or(300, 12, 2, random_state=0)
    path = tmp_path / "edges.triples"
    lines = [f"doc{i},author{j}" for i, j in zip(*np.nonzero(made.data))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_links_command_writes_graphs(edges, tmp_path):
    pytest.importorskip("networkx", reason="graphs need the package networkx")
    from typer.testing import CliRunner

    from latentbits.cli.main import app

    run = CliRunner().invoke
    files = {name: str(tmp_path / name) for name in ("g.graphml", "g.gexf", "model.latentbits")}
    asked = ["--graph", files["g.graphml"], "--graph-rows", "--save", files["model.latentbits"]]
    done = run(app, ["links", str(edges), "-k", "2", "--starts", "1", *asked])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "g.graphml").stat().st_size > 1000
    again = run(app, ["links", str(edges), "--fitted", files["model.latentbits"], "--graph", files["g.gexf"]])
    assert again.exit_code == 0 and b"<gexf" in (tmp_path / "g.gexf").read_bytes()


def test_links_command(edges, tmp_path):
    from typer.testing import CliRunner

    from latentbits.cli.main import app

    run = CliRunner().invoke
    files = {name: tmp_path / name for name in ("m.csv", "d.csv", "o.csv", "model.latentbits")}
    asked = ["links", str(edges), "-k", "2", "--members", files["m.csv"], "--documents", files["d.csv"]]
    asked += ["--overlap", files["o.csv"], "--save", files["model.latentbits"]]
    done = run(app, list(map(str, asked)))
    assert done.exit_code == 0, done.output
    assert "source 1: about" in done.stdout and "author" in done.stdout and "for instance: doc" in done.stdout
    assert files["m.csv"].read_text().startswith("component,rows,rank,member,strength")
    assert "source 1,source 2" in files["d.csv"].read_text().splitlines()[0]
    # Another list of edges, with other documents, authors that are missing and one that is new.
    other = tmp_path / "new.edges"
    other.write_text("document,author\nnew1,author0\nnew1,author5\nnew2,author5\nnew2,somebody\n")
    fresh = run(app, ["links", str(other), "--fitted", str(files["model.latentbits"])])
    assert fresh.exit_code == 0 and "of 2 rows" in fresh.stdout
    assert "1 column that the model does not know left out (first: 'somebody')" in fresh.stderr
    moved = run(app, ["transform", str(files["model.latentbits"]), str(other)])
    assert moved.exit_code == 0 and moved.stdout.splitlines()[1].startswith("new1,")
    plain = tmp_path / "edges.csv"
    plain.write_text(edges.read_text())
    hinted = run(app, ["links", str(plain)])
    assert hinted.exit_code != 0 and "--format triples" in str(hinted.exception)
    pair = run(app, ["links", str(edges), "-k", "2", "--set", "link_prior=1,1", "--starts", "1"])
    assert pair.exit_code == 0, pair.output
    fit = ["fit", str(edges), "-m", "noisy-or", "-k", "2", "-o", str(tmp_path / "again.latentbits"), "--starts", "1"]
    shown = run(app, fit)
    assert shown.exit_code == 0 and "2 sources" in shown.stdout
    for wrong, message in (
        (["--graph", "x.png"], "graphml"),
        (["--top", "0"], "--top"),
        (["--least", "2"], "--least"),
        (["--fitted", "m.latentbits", "-k", "3"], "leave it out"),
        (["--fitted", "m.latentbits", "--starts", "3"], "leave them out"),
        (["--graph-rows"], "--graph"),
    ):
        refused = run(app, ["links", str(edges), *wrong])
        assert refused.exit_code != 0 and message in str(refused.exception)


def test_typical_rows_are_the_clearest(made, fitted):
    odds = fitted._ask(made.data).by_rows(fitted._model.log_odds)
    for row in fitted.documents_table(made.data, top=3):
        k = fitted.component_names_.index(row["component"])
        assert (odds[:, k] > odds[row["row"], k]).sum() < row["rank"]
    assert len(fitted.documents_frame(made.data, 2)) == 6 and len(fitted.marginal_frame(made.data)) == 12


def test_lists_take_the_columns_of_a_model(tmp_path):
    path = tmp_path / "more.basket"
    path.write_text("a;c\nb\n")
    table = latentbits.data.read_table(path, columns=["c", "z", "a", "b"])
    assert table.columns == ["c", "z", "a", "b"]
    block = latentbits.data.open_source(table.reader).block(0)
    assert block.codes().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]
    with pytest.raises(InputError, match="none of its columns"):
        latentbits.data.read_table(path, columns=["x"])
    named = tmp_path / "named.triples"
    named.write_text("thing,stuff,amount\nr,c,1\n")
    with pytest.raises(InputError, match="--header"):
        latentbits.data.read_table(named)
    assert latentbits.data.read_table(named, header=True).shape == (1, 1)
    assert latentbits.data.read_table(path, format="baskets").shape == (2, 3)
