"""The main job: what is written, that it can be repeated and resumed, and what is said when it cannot be done."""

from __future__ import annotations

import base64
import csv
import errno
import json
import os
import platform
import signal
import subprocess
import sys
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import latentbits
from latentbits.cli.main import main
from latentbits.data import read_table
from latentbits.data.source import open_source
from latentbits.data.triage import advice, columns_of
from latentbits.datasets import make_aspect, make_mixture
from latentbits.engine.locks import held
from latentbits.errors import FileError, InputError, LatentBitsWarning
from latentbits.evaluation import Adapted
from latentbits.exploring import explore, facts_of
from latentbits.exploring.job import report_on
from latentbits.exploring.settings import read_settings, to_toml
from latentbits.report.page import embedded
from tests.unit.test_cli import run

QUICK = {"models": ["mixture", "aspect"], "n_components": [2, 3], "folds": 1}


def content_of(folder):
    """The data in a report."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    return json.loads(text.split('id="content">', 1)[1].split("</script>", 1)[0])


def decoded(text, dtype):
    """Numbers that a report holds as text."""
    return np.frombuffer(base64.b64decode(text), dtype)


def rows_of(path):
    """The rows of a CSV file."""
    with open(path, encoding="utf-8") as text:
        return list(csv.DictReader(text))


def quietly(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return explore(*arguments, **options)


@pytest.fixture(scope="module")
def table():
    return make_mixture(150, 8, 3, spread=3.0, unknown=0.06, random_state=1)


@pytest.fixture(scope="module")
def found(table, tmp_path_factory):
    labels = {"truth": [f"c{c}" for c in table.causes]}
    return quietly(table.data, tmp_path_factory.mktemp("explore"), name="made", labels=labels, **QUICK)


# The table.


def test_facts():
    rng = np.random.default_rng(0)
    X = (rng.random((50, 6)) < 0.5).astype(float)
    X[:, 1], X[:, 2], X[:, 3] = X[:, 0], 1 - X[:, 0], 1.0
    X[4] = np.nan
    X[7] = X[8]
    X[:40, 5] = np.nan
    for container in (X, sp.csr_array(X)):
        facts = facts_of(open_source(container, owner="test", block_rows=7))
        assert (facts.n_rows, facts.n_columns, facts.n_blank_rows) == (50, 6, 1)
        assert facts.constant == ["3"] and facts.duplicates == [["0", "1"]]
        assert facts.opposites in ([["0", "2"]], [["1", "2"]]) or facts.opposites == [["0", "2"], ["1", "2"]]
        assert facts.n_unknown == int(np.isnan(X).sum()) and facts.n_ones == int((X == 1).sum())
        assert facts.blanks[0] == ("5", pytest.approx(40 / 50)) and facts.n_repeated_rows >= 2
        told = "\n".join(facts.lines())
        for words in ("never vary", "same cells throughout: 0, 1", "opposites", "mostly blank: 5"):
            assert words in told
    assert "right way round" in "\n".join(facts_of(open_source(np.ones((30, 3)), owner="test")).lines())


def written(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def examine(path, **how):
    """What the columns of a file are."""
    return columns_of(read_table(path, **how).reader, path)


def told_of(path, *given, **how):
    """What is said of a file to somebody who explores it."""
    return advice(path, examine(path, **how), ["latentbits", "explore", str(path), *given])


def test_columns_of_other_kinds_are_told_of(tmp_path):
    rows = [
        f"P{i:03d};{'N' if i % 2 else 'S'}ord;{18 + i};{'ja' if i % 3 else 'nein'};{'nein' if i % 4 else 'ja'};1"
        for i in range(40)
    ]
    path = written(tmp_path, "a.csv", "Name;Ort;Alter;Rad;Bahn;Auto\n" + "\n".join(rows) + "\n")
    columns = examine(path)
    kinds = {column.name: column.kind for column in columns}
    assert kinds == {"Name": "names", "Ort": "pair", "Alter": "names", "Rad": "pair", "Bahn": "pair", "Auto": "cells"}
    two = written(
        tmp_path,
        "b.csv",
        "q1,q2,q3,age\n" + "\n".join(f"{1 + i % 2},{2 - i % 2},{1 + i % 3 // 2},{20 + i / 2}" for i in range(50)),
    )
    told = told_of(two)
    assert "3 columns) hold '2' and '1'" in told and "--one 1 --zero 2" in told and "50 numbers from 20 to 44.5" in told
    assert told.splitlines()[-1].endswith("--one 1 --zero 2 --label age")
    refused = written(tmp_path, "e.csv", "q1,q2,q3\n" + "\n".join(["1,2,1", "2,9,2", "9,1,1", "1,1,2"] * 10))
    told = told_of(refused)
    assert "--blank 9" in told and told.endswith("--blank 9 --one 1 --zero 2")
    told = told_of(refused, "--one", "1", "--zero", "2", one=["1"], zero=["2"])
    assert told.endswith("--one 1 --zero 2 --blank 9")
    kept = written(tmp_path, "f.csv", "q1,q2\n" + "\n".join(["yes,no", "Don't know,yes", "no,no"] * 10))
    assert told_of(kept).endswith("""--blank 'Don'"'"'t know'""")
    numbers = written(tmp_path, "g.csv", "a,b\n" + "\n".join(f"{i},{i * 1.5 + 2}" for i in range(60)) + "\ninf,3\n")
    assert "none of its 2 columns" in told_of(numbers)
    foreign = written(tmp_path, "c.csv", "a,b,c\nja,nein,ja\nnein,ja,\n")
    assert "--one ja --zero nein" in told_of(foreign, "--encoding", "latin-1")
    fine = written(tmp_path, "d.csv", "a,b\n1,no\n,yes\n")
    assert told_of(fine) is None


def test_words_for_one_and_zero(tmp_path):
    path = written(tmp_path, "a.csv", "a,b\n1,2\n2, 1\n,2\n")
    reader = latentbits.data.read_table(path, one=["1"], zero=["2"]).reader
    codes = open_source(reader, owner="test").block(0).codes()
    assert codes.tolist() == [[1, 0], [0, 1], [2, 0]]
    reader = latentbits.data.read_table(path, one=["1"], blank=["2"]).reader
    assert open_source(reader, owner="test").block(0).codes().tolist() == [[1, 2], [2, 1], [2, 2]]
    with pytest.warns(latentbits.errors.TableWarning, match="'x' does not occur"):
        latentbits.data.read_table(path, one=["1"], zero=["2", "x"])
    for options, message in (
        ({"one": ["x"], "zero": ["x"]}, "two of one, zero and blank"),
        ({"one": ["x"], "binarize": 1.0}, "exclude each other"),
    ):
        with pytest.raises(InputError, match=message):
            latentbits.data.read_table(path, **options)
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match="tables of named columns"):
        latentbits.data.read_table(tmp_path / "a.npy", one=["x"])


def test_arrays_beside_a_table(tmp_path):
    X = (np.random.default_rng(0).random((12, 5)) < 0.5).astype(np.uint8)
    np.savez(
        tmp_path / "a.npz",
        X=X,
        names=np.array([f"r{i}" for i in range(12)]),
        kind=np.arange(12) % 2,
        other=np.arange(3),
    )
    table = latentbits.data.read_table(tmp_path / "a.npz", id_column="names", label_columns=["kind"])
    assert table.ids[3] == "r3" and table.labels["kind"][:3] == ["0", "1", "0"]
    with pytest.raises(InputError, match="those it has: names, kind"):
        latentbits.data.read_table(tmp_path / "a.npz", label_columns=["other"])
    np.savez(tmp_path / "b.npz", n_vars=5, train=np.packbits(X[:8], axis=1), test=np.packbits(X[8:], axis=1))
    codes = open_source(tmp_path / "b.npz", owner="test").block(0).codes()
    assert (codes == X).all()


# What is written.


def test_everything_is_written(found, table):
    files = sorted(path.name for path in found.folder.iterdir())
    expected = [
        "blanks.csv",
        "cells.csv",
        "comparison.csv",
        "components.csv",
        "filled.csv",
        "labels.csv",
        "model.latentbits",
        "report.html",
    ]
    expected += ["rows.csv", "run.toml", "stack.latentbits", "summary.md"]
    others = [reading.name for reading in found.readings[1:]]
    assert others == [found.comparison.multi_cause_] == ["aspect"]
    assert files == sorted([*expected, "reading-2.latentbits", *(["pairs.csv"] * bool(found.leftovers.pairs))])
    rows = rows_of(found.folder / "rows.csv")
    assert len(rows) == 150 and rows[0]["truth"] == f"c{table.causes[0]}" and rows[0]["component"].startswith("class ")
    model = latentbits.load(found.folder / "model.latentbits")
    assert float(rows[5]["log_likelihood"]) == pytest.approx(model.score_samples(table.data)[5])
    blanks = rows_of(found.folder / "blanks.csv")
    filled, alone = found.stack.impute(table.data), model.impute(table.data)  # all models together, and the one to read
    assert len(blanks) == int(np.isnan(table.data).sum())
    for cell in blanks[:20]:
        place = int(cell["row"]), int(cell["column"])
        assert float(cell["probability"]) == pytest.approx(filled[place], abs=1e-9)
        assert float(cell[f"by_{found.winner.candidate.name}"]) == pytest.approx(alone[place], abs=1e-9)
    stack = latentbits.load(found.folder / "stack.latentbits")  # for other rows
    assert np.nanmax(np.abs(stack.impute(table.data) - filled)) < 1e-12
    assert "blanks are filled by" in (found.folder / "summary.md").read_text()
    whole = rows_of(found.folder / "filled.csv")
    assert [float(whole[3][str(j)]) for j in range(8)] == pytest.approx(filled[3], abs=1e-9)
    cells = rows_of(found.folder / "cells.csv")
    odd = model.explain(table.data, cells=([int(c["row"]) for c in cells], [int(c["column"]) for c in cells]))
    assert [float(c["surprise"]) for c in cells] == pytest.approx(odd.surprise, abs=1e-6)
    kinds = [c["kind"] for c in cells]
    surprises = [float(c["surprise"]) for c in cells if c["kind"] == "surprising one"]
    assert kinds[0].startswith("surprising") and surprises == sorted(surprises, reverse=True)
    summary = (found.folder / "summary.md").read_text(encoding="utf-8")
    assert found.comparison.verdict in summary and summary.startswith("# made\n\n" + found.overview[0])
    assert all(f"## {reading.fitted.title}" in summary for reading in found.readings)
    assert repr(found).startswith(found.overview[0]) and repr(found).endswith("report.html")


def test_the_parts_of_all_readings_are_written(found, table):
    """Rows with the parts of every model, components with their model, and models that give the same again."""
    rows, components = rows_of(found.folder / "rows.csv"), rows_of(found.folder / "components.csv")
    assert list(components[0])[:3] == ["model", "component", "weight"] and "family" not in components[0]
    for i, (reading, file) in enumerate(zip(found.readings, ["model", "reading-2"])):
        model = latentbits.load(found.folder / f"{file}.latentbits")
        values, names = model.transform(table.data), reading.fitted.part_names()
        columns = names if i == 0 else [f"{reading.name}: {name}" for name in names]
        for n in (0, 77):
            assert [float(rows[n][column]) for column in columns] == pytest.approx(values[n], abs=1e-9)
        mine = [row for row in components if row["model"] == reading.name]
        assert list(dict.fromkeys(row["component"] for row in mine)) == names and len(mine) == 8 * len(names)
        own = [
            float(row["probability"])
            for row in sorted(mine, key=lambda row: int(row["feature"]))
            if row["component"] == names[0]
        ]
        assert own == pytest.approx(model.components_[0], abs=1e-9)
    first = found.readings[0].values
    assert [row["component"] for row in rows] == [f"class {k + 1}" for k in first.argmax(axis=1)]
    assert [float(row["strength"]) for row in rows] == pytest.approx(first.max(axis=1), abs=1e-9)


def test_models_of_the_user_keep_their_files_and_names_are_no_paths(table, tmp_path):
    """A folder that is explored again loses what the first run wrote, and nothing else."""
    mine = tmp_path / "out" / "aspect.latentbits"
    options = {"folds": 1, "budget": 5, "n_components": {"mixture": [2]}}
    quietly(table.data, tmp_path / "out", models=["mixture", "aspect"], **options)
    latentbits.BernoulliMixture(2, random_state=0).fit(table.data[:, :4]).save(mine)
    named = latentbits.AspectBernoulli(2, n_init=1, max_iter=20)
    found = quietly(table.data, tmp_path / "out", models=["mixture", ("../model", named)], **options)
    assert mine.exists() and not list(tmp_path.glob("*.latentbits"))
    assert type(latentbits.load(tmp_path / "out" / "model.latentbits")) is type(found.winner.model)
    assert len(list((tmp_path / "out").glob("reading-*.latentbits"))) == len(found.readings) - 1


def test_labels_are_written(found):
    """What goes with labels, of every reading."""
    rows = rows_of(found.folder / "labels.csv")
    told = [(reading.name, one) for reading in found.readings for one in reading.associations]
    assert [(row["model"], row["label"], row["component"]) for row in rows] == [
        (name, one.label, one.component or "all") for name, one in told
    ]
    assert {row["model"] for row in rows} == {"mixture", "aspect"} and {row["label"] for row in rows} == {"truth"}
    for row, (_, one) in zip(rows, told):
        assert float(row["value"]) == pytest.approx(one.measured.value) and row["sentence"] == one.sentence
        assert (row["stated"].lower() in ("true", "1")) == one.is_stated and float(row["p"]) == pytest.approx(
            one.p, abs=1e-9
        )
    assert rows[0]["measure"] == "V" and "truth is “c" in rows[0]["sentence"] and rows[0]["stated"] == "True"
    assert found.overview == [
        found.comparison.headline
    ]  # eight columns are too few to predict hidden cells from others


def test_scales_belong_to_nobody(tmp_path):
    """A winner with scales: rows have numbers and belong to no component."""
    made = latentbits.datasets.make_trait(200, 12, 1, random_state=0)
    labels = {"grade": [f"{value:.2f}" for value in made.scores[:, 0]]}
    quietly(
        made.data,
        tmp_path,
        labels=labels,
        models=["trait", "mixture"],
        n_components={"trait": [1], "mixture": [2]},
        folds=1,
    )
    rows = rows_of(tmp_path / "rows.csv")
    assert list(rows[0])[:6] == ["row", "grade", "log_likelihood", "map_x", "map_y", "scale 1"]
    assert not {"component", "strength"} & set(rows[0]) and "loading" in rows_of(tmp_path / "components.csv")[0]
    model = latentbits.load(tmp_path / "model.latentbits")
    assert [float(row["scale 1"]) for row in rows] == pytest.approx(model.transform(made.data)[:, 0], abs=1e-9)
    content = content_of(tmp_path)
    first = content["readings"][0]
    assert first["kind"] == "scales" and first["main"] is None and first["sizes"] is None
    assert "argues" in rows_of(tmp_path / "cells.csv")[0]
    assert {cell["argues"] for cell in content["look"]} <= {"for", "against"}
    assert "scale 1 " in content["overview"][1].lower() and "with grade (ρ = " in content["overview"][1]
    assert all(told in (tmp_path / "summary.md").read_text(encoding="utf-8") for told in content["overview"])


def test_the_most_surprising_cells_are_found(found, table):
    """All cells to which the others of their row give less than one in ten, and no others."""
    every = found.winner.model.explain(table.data)
    assert ((every.value <= 1) & (every.surprise > np.log(10))).any()
    for kind, code in (("surprising one", 1), ("surprising zero", 0)):
        truth = np.flatnonzero((every.value == code) & (every.surprise > np.log(10)))
        assert {(int(every.row[i]), int(every.column[i])) for i in truth} == {
            (c["row"], c["column"]) for c in found.look if c["kind"] == kind
        }


def test_labels_are_not_fitted(found, table, tmp_path):
    other = quietly(table.data, tmp_path / "other", name="made", labels={"truth": ["x"] * 150}, **QUICK)
    assert (other.winner.model.components_ == found.winner.model.components_).all()
    (label,) = content_of(found.folder)["labels"]
    assert label["name"] == "truth" and sorted(label["values"]) == ["c0", "c1", "c2"] and label["is_telling"]
    assert other.comparison.table == found.comparison.table
    (same,) = content_of(other.folder)["labels"]
    assert not same["is_telling"] and not any(reading.associations for reading in other.readings)
    assert not (other.folder / "labels.csv").exists() and "truth" not in " ".join(other.overview)


def test_report_content(found, table):
    content = content_of(found.folder)
    assert content["shape"] == [150, 8] and content["blanks"]["n"] == int(np.isnan(table.data).sum())
    assert sum(content["blanks"]["counts"]) == content["blanks"]["n"]
    names = [reading["family"] for reading in content["readings"]]
    assert names == [reading.name for reading in found.readings] == ["mixture", "aspect"]
    crossed = content["readings"][0]["associations"][0]
    assert crossed["label"] == "truth" and np.array(crossed["details"]["counts"]).sum() == 150
    assert np.array(crossed["details"]["counts"]).sum(axis=1).tolist() == content["readings"][0]["sizes"]
    assert len(content["readings"][1]["associations"]) == len(
        content["readings"][1]["parts"]
    )  # the second model's, too
    assert any("Aspect Bernoulli Model" in text for text in content["citations"])
    assert content["overview"] == found.overview and content["verdict"] == found.comparison.verdict
    assert content["versions"]["latentbits"] == latentbits.__version__ and "seed" in content["settings"]
    assert len(decoded(content["map"]["places"], "<f4")) == 2 * 150 and content["rows"]["number"] == list(range(150))
    for one, reading in zip(content["readings"], found.readings):
        values = decoded(one["values"], np.uint8).reshape(150, -1) / 255
        assert np.abs(values - reading.values).max() <= 0.5 / 255 + 1e-9
        assert np.abs(decoded(one["profiles"], "<f4").reshape(-1, 8) - reading.fitted.profiles()).max() < 1e-6
    packed = decoded(content["rows"]["ones"], np.uint8).reshape(150, -1)
    assert (np.unpackbits(packed, axis=1, bitorder="little")[:, :8] == (table.data == 1)).all()


def test_pairs_left_unexplained_are_written(tmp_path):
    """Two columns tied to each other beyond their classes: in the table, the report and the summary, with counts."""
    rng = np.random.default_rng(0)
    X = make_mixture(600, 16, 2, spread=3.0, random_state=3).data
    coin = rng.random(600) < 0.5
    X[:, 4], X[:, 9] = coin, np.where(rng.random(600) < 0.9, coin, ~coin)
    found = quietly(X, tmp_path, models=["mixture"], n_components=[2], folds=1)
    (row,), (pair,) = rows_of(tmp_path / "pairs.csv"), found.leftovers.pairs
    assert (row["first"], row["second"]) == ("4", "9") and (pair["first"], pair["second"]) == (4, 9)
    both = int((X[:, [4, 9]] == 1).all(axis=1).sum())
    assert (
        int(row["together"]) == both
        and row["n"] == "600"
        and float(row["q3"]) == pytest.approx(pair["q3"])
        and pair["q3"] > 0.3
    )
    left = content_of(tmp_path)["leftovers"]
    assert left["groups"] == [["4", "9"]] and left["pairs"][0]["together"] == both and left["n_sure"] == 1
    told = f"4 and 9 are both one in {both} of 600 rows, where Bernoulli mixture (K=2) expects {pair['expected']:.0f}"
    assert told in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_nothing_ends_the_script_early():
    text = embedded({"name": "</script><!--<script>\u2028&amp;", "values": [1.5, None]})
    assert "<" not in text and ">" not in text and "&" not in text and "\u2028" not in text
    assert json.loads(text)["name"] == "</script><!--<script>\u2028&amp;"


@pytest.mark.slow
def test_report_size(tmp_path):
    made = make_mixture(5000, 200, 6, unknown=0.02, random_state=0)
    labels = {"truth": made.causes.tolist()}
    found = quietly(
        made.data, tmp_path / "big", labels=labels, ids=range(5000), models=["mixture"], n_components=[6], folds=1
    )
    assert found.report.stat().st_size < 5e6


def test_sparse_input_gives_the_same_report(tmp_path):
    X = np.nan_to_num(make_aspect(120, 8, 2, random_state=0).data)
    reports = [
        content_of(quietly(data, tmp_path / name, name="same", **QUICK).folder)
        for name, data in (("dense", X), ("sparse", sp.csr_array(X)))
    ]
    assert reports[0] == reports[1]


# Once more, and going on.


def test_settings_survive_writing(tmp_path):
    sections = {
        "table": {"path": 'C:\\a "b"\n', "label_columns": ["ü", "#x"], "binarize": 0.5, "header": True, "one": None},
        "explore": {"seed": 3, "odd key": "v"},
    }
    path = written(tmp_path, "run.toml", to_toml(sections))
    back = read_settings(path)
    assert back["table"] == {k: v for k, v in sections["table"].items() if v is not None}
    assert back["explore"] == sections["explore"]
    with pytest.raises(InputError, match="no sections"):
        read_settings(written(tmp_path, "other.toml", "a = 1\n"))
    for text in ("not = = toml", None):
        with pytest.raises(FileError):
            read_settings(tmp_path / "none.toml" if text is None else written(tmp_path, "bad.toml", text))


class Interrupt:
    """Stops a run at the n-th word of progress."""

    def __init__(self, n):
        self.left = n

    def __call__(self, done, total, note):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [3, 8, 10])
def test_interrupted_and_resumed(found, table, tmp_path, after):
    labels = {"truth": [f"c{c}" for c in table.causes]}
    options = {"name": "made", "labels": labels, **QUICK}
    with pytest.raises(KeyboardInterrupt):
        quietly(table.data, tmp_path, progress=Interrupt(after), **options)
    assert not (tmp_path / "report.html").exists() and (tmp_path / ".parts").is_dir()
    quietly(table.data, tmp_path, resume=True, **options)
    assert content_of(tmp_path) == content_of(found.folder) and not (tmp_path / ".parts").exists()
    with pytest.raises(InputError, match="no interrupted run"):
        quietly(table.data, tmp_path, resume=True, **options)


@pytest.fixture(scope="module")
def not_killed(tmp_path_factory):
    """A file, the command that explores it, and what that gives when nothing happens."""
    folder = tmp_path_factory.mktemp("not_killed")
    rows = make_mixture(120, 6, 2, spread=3.0, random_state=4).data.astype(int)
    path = written(folder, "t.csv", "a,b,c,d,e,f\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    command = ["explore", str(path), "--models", "mixture,dp,trait", "--sizes", "2,3", "--folds", "2"]
    with pytest.raises(SystemExit) as done:
        main([*command, "-o", str(folder / "straight")])
    assert not done.value.code
    return command, content_of(folder / "straight")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_killed_and_resumed(capsys, not_killed, tmp_path, sign):
    """From the shell, on a file, with signals that come when they come."""
    command, straight = not_killed
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    killed = subprocess.Popen([sys.executable, "-m", "latentbits", *command, "-o", str(tmp_path / "killed")], **pipes)
    parts = tmp_path / "killed" / ".parts"
    while killed.poll() is None and (not parts.is_dir() or len(list(parts.iterdir())) < 3):
        time.sleep(0.01)  # until some of the work is done
    killed.send_signal(sign)
    _, err = killed.communicate(timeout=60)
    assert killed.returncode in (1, -sign) and not (tmp_path / "killed" / "report.html").exists()
    if sign == signal.SIGINT:
        assert "--resume" in err and "Traceback" not in err
    run(capsys, "explore", "--resume", "--out", tmp_path / "killed")  # the folder knows the rest
    assert content_of(tmp_path / "killed") == straight


def test_parts_that_are_not_ours_are_kept(table, tmp_path):
    options = {"models": ["mixture"], "n_components": [2], "folds": 1}
    theirs = tmp_path / ".parts" / "thesis.txt"
    theirs.parent.mkdir()
    theirs.write_text("mine")
    for resume in (False, True):
        with pytest.raises(InputError, match=r"thesis\.txt is there, but not from an exploration; it is not removed"):
            quietly(table.data, tmp_path, resume=resume, **options)
    assert theirs.read_text() == "mine" and [file.name for file in tmp_path.iterdir()] == [".parts"]
    theirs.rename(theirs.with_name("0123456789abcdef.part"))  # a name like ours, in a folder that is not
    with pytest.raises(InputError, match=r"0123456789abcdef\.part is there"):
        quietly(table.data, tmp_path, **options)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".parts").symlink_to(tmp_path / ".parts")
    with pytest.raises(InputError, match=r"linked/\.parts is there"):
        quietly(table.data, tmp_path / "linked", **options)

    class Drops:
        """Puts a file among the parts of a running exploration."""

        def __call__(self, done, total, note):
            (tmp_path / "ours" / ".parts" / "notes.txt").write_text("mine")

    quietly(table.data, tmp_path / "ours", progress=Drops(), **options)
    assert [file.name for file in (tmp_path / "ours" / ".parts").iterdir()] == ["notes.txt"]


def test_one_run_in_a_folder_at_a_time(table, tmp_path):
    options = {"models": ["mixture"], "n_components": [2], "folds": 1}
    lock, refusals = tmp_path / ".latentbits-lock", []

    def second(done, total, note):
        if not refusals:
            with pytest.raises(InputError, match=f"another run .process {os.getpid()} on ") as refused:
                quietly(table.data, tmp_path, **options)
            refusals.append(refused)

    quietly(table.data, tmp_path, progress=second, **options)
    assert refusals and not lock.exists() and (tmp_path / "report.html").exists()
    with pytest.raises(KeyboardInterrupt):
        quietly(table.data, tmp_path, progress=Interrupt(2), **options)
    assert not lock.exists()
    lock.write_text("my own notes")
    with pytest.raises(InputError, match="is no lock of latentbits"):
        quietly(table.data, tmp_path, **options)
    assert lock.read_text() == "my own notes"


def test_locks_of_processes(tmp_path):
    """A lock that another process holds is refused; that of one that was killed is taken over."""
    code = (
        "import sys, time; from pathlib import Path; from latentbits.engine.locks import held\n"
        "with held(Path(sys.argv[1]), 'it'): print('held', flush=True); time.sleep(60)"
    )
    lock = tmp_path / "lock"
    other = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    with pytest.raises(FileError, match=rf"it is being written by another run \(process {other.pid} on "):
        with held(lock, "it"):
            raise AssertionError("it was not refused")
    other.kill()
    other.communicate()
    assert lock.exists()
    with held(lock, "it"):
        assert json.loads(lock.read_text())["pid"] == os.getpid()
    assert not lock.exists()


def test_file_systems_without_locks(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def unsupported(*arguments):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    lock, owner = tmp_path / "lock", {"kind": "latentbits lock", "host": platform.node(), "started": "now"}
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    lock.write_text(json.dumps({**owner, "pid": gone.pid}))
    with held(lock, "it"):
        pass
    for theirs in ({"pid": os.getppid()}, {"pid": gone.pid, "host": "elsewhere"}):
        lock.write_text(json.dumps({**owner, **theirs}))
        with pytest.raises(FileError, match=f"process {theirs['pid']} on"), held(lock, "it"):
            pass


def test_repeated_from_its_settings(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("explore", "votes", "--models", "mixture,trait", "--sizes", "2-3", "--folds", 1, "--seed", 5)
    out, _ = run(capsys, *arguments)
    assert "report: out/votes/report.html" in out and "physician_fee_freeze" in out and "blanks are filled" in out
    first = content_of(tmp_path / "out" / "votes")
    assert [label["name"] for label in first["labels"]] == ["party"] and "where party is “" in out
    assert all(" ".join(told.split()) in " ".join(out.split()) for told in first["overview"])
    settings = tomllib.loads((tmp_path / "out" / "votes" / "run.toml").read_text(encoding="utf-8"))
    assert settings["explore"]["seed"] == 5 and settings["table"]["label_columns"] == ["party"]
    assert settings["plan"]["steps"]["mixture"] >= 2 and settings["plan"]["stack"]
    run(capsys, "explore", "--config", "out/votes/run.toml", "--out", "again")
    assert content_of(tmp_path / "again") == first
    for name in ("filled.csv", "blanks.csv", "comparison.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / "votes" / name).read_bytes()
    run(capsys, "explore", "--config", "out/votes/run.toml", "--out", "other", "--seed", 6, "--models", "mixture")
    other = content_of(tmp_path / "other")
    assert other["settings"]["seed"] == 6 and other["settings"]["models"] == ["mixture"]


def test_a_plan_repeats_all_of_a_run(table, tmp_path):
    """Sizes on more rows, the stack and the budget, too, on a table that is compared on a part of its rows."""
    data = latentbits.datasets.make_mixture(1600, 60, 6, spread=2.0, unknown=0.02, random_state=0).data
    first = quietly(data, tmp_path / "first", models=["mixture", "aspect"], budget=1.5, folds=1)
    plan = first.comparison.plan
    assert plan.n_rows < 1400 and plan.grown and plan.budget == 1.5
    again = quietly(data, tmp_path / "again", models=["mixture", "aspect"], folds=1, plan=plan)
    assert again.comparison.table == first.comparison.table and again.comparison.plan == plan
    for name in ("rows.csv", "filled.csv", "components.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "first" / name).read_bytes()


# Trouble.


def test_folders_that_cannot_be_written(table, tmp_path, monkeypatch):
    options = {"models": ["mixture"], "n_components": [2], "folds": 1}
    with pytest.raises(InputError, match="is a file"):
        quietly(table.data, written(tmp_path, "file", "x"), **options)
    with pytest.raises(FileError, match="cannot be written"):
        quietly(table.data, tmp_path / "file" / "under", **options)
    (tmp_path / "theirs").mkdir()
    written(tmp_path / "theirs", "report.html", "mine")
    with pytest.raises(InputError, match="not written over"):
        quietly(table.data, tmp_path / "theirs", **options)
    written(tmp_path / "theirs", "run.toml", "[tool]\n")  # of somebody else
    with pytest.raises(InputError, match="not written over"):
        quietly(table.data, tmp_path / "theirs", **options)
    mine = written(tmp_path, "rows.csv", "a,b\n1,0\n")
    with pytest.raises(InputError, match="is the table itself"):
        quietly(table.data, tmp_path, about={"path": str(mine)}, **options)
    assert (tmp_path / "theirs" / "report.html").read_text() == "mine"
    write = Path.write_bytes

    def full(path, data):
        """A disk that fills up halfway through the page."""
        if b"<!DOCTYPE" not in bytes(data[:20]):
            return write(path, data)
        write(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FileError, match="No space left"):
        quietly(table.data, tmp_path / "full", **options)
    left = [path.name for path in (tmp_path / "full").iterdir()]
    assert "report.html" not in left and not [name for name in left if name.startswith(".report")]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are set the POSIX way")
def test_a_file_that_does_not_fit(tmp_path):
    """A real limit on the size of files, set for the process: a message, exit code 2, and no half report."""
    path = written(tmp_path, "t.csv", "a,b,c\n" + "\n".join(f"{i % 2},{i % 2},{i % 3 // 2}" for i in range(60)) + "\n")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        "from latentbits.cli.main import main;"
        f"main(['explore', {str(path)!r}, '-o', {str(tmp_path / 'out')!r}, '--models', 'mixture', '--folds', '1'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "cannot be written" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "report.html").exists()
    assert not [name for name in os.listdir(tmp_path / "out") if name.startswith(".report")]


def test_bad_calls(table, tmp_path):
    for options, message in (
        ({"tables": "xlsx"}, "csv"),
        ({"ids": ["a"]}, "ids has 1 entries for 150 rows"),
        ({"labels": {"x": [1, 2]}}, "x has 2 entries"),
    ):
        with pytest.raises(InputError, match=message):
            explore(table.data, tmp_path / "x", **options)
    assert not (tmp_path / "x").exists()


def test_names_that_clash(tmp_path):
    made = make_mixture(60, 3, 2, spread=3.0, random_state=0).data
    made[0, 0] = np.nan
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(made, columns=["row", "component", "c"])
    labels = {"row": [f"l{i}" for i in range(60)], "component": ["x"] * 59 + [pd.NA]}
    quietly(
        frame, tmp_path, ids=[f"i{i}" for i in range(60)], labels=labels, models=["mixture"], n_components=2, folds=1
    )
    rows, filled = rows_of(tmp_path / "rows.csv"), rows_of(tmp_path / "filled.csv")
    assert list(rows[0])[:4] == ["id", "row", "component", "component_"] and rows[3]["row"] == "l3"
    assert (
        list(filled[0]) == ["id", "row", "component", "row_", "component_", "c"] and float(filled[1]["c"]) == made[1, 2]
    )


def test_what_an_earlier_run_left_is_removed(table, tmp_path):
    options = {"models": ["mixture", "aspect"], "n_components": [2], "folds": 1}
    quietly(table.data, tmp_path, **options)
    assert (tmp_path / "blanks.csv").exists()
    quietly(np.nan_to_num(table.data), tmp_path, tables="parquet", **options)
    left = {path.name for path in tmp_path.iterdir()}
    assert not {"blanks.csv", "filled.csv", "rows.csv"} & left and "rows.parquet" in left


def test_thresholds_stay_with_the_model(tmp_path):
    X = make_mixture(60, 4, 2, spread=3.0, random_state=0).data + 1
    found = quietly(X, tmp_path, binarize=1.5, models=["mixture"], n_components=[2], folds=1)
    assert latentbits.load(tmp_path / "model.latentbits").transform(X).shape == (60, 2)
    assert found.facts.n_ones == int((X > 1.5).sum())


def test_doubts_survive_a_break(table, tmp_path, monkeypatch):
    """What was doubted in a fit is told of after a break, too."""
    options = {"models": ["noisy-or"], "n_components": [3], "folds": 1, "budget": 1}
    few = table.data[:60]
    straight = quietly(few, tmp_path / "a", **options)
    from latentbits.exploring import job

    charted = job._Job.charted
    monkeypatch.setattr(job._Job, "charted", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        quietly(few, tmp_path / "b", **options)
    monkeypatch.setattr(job._Job, "charted", charted)
    assert quietly(few, tmp_path / "b", resume=True, **options).notes == straight.notes != []


def test_labels_in_the_overview(tmp_path):
    """Words and numbers beside classes: no bins, no exponents; medians in words, and all quantiles for the page."""
    made = make_mixture(400, 20, 3, spread=2.5, random_state=0)
    ages = np.where(made.causes == 0, 20, 1_144_940) + np.arange(400) % 50
    labels = {"age": ages.tolist(), "truth": [f"c{c}" for c in made.causes]}
    found = quietly(made.data, tmp_path, labels=labels, models=["mixture"], n_components=[3], folds=1)
    content = content_of(tmp_path)
    label, words = content["labels"]
    assert label["is_number"] and label["codes"] is None and label["values"] == []
    assert decoded(label["numbers"], "<f4").tolist() == ages.tolist() and not words["is_number"]
    one = next(one for one in content["readings"][0]["associations"] if one["label"] == "age")
    assert one["measure"] == "epsilon2" and one["stated"] and len(one["details"]["quantiles"]) == 3
    first, second, third = found.overview
    assert first.startswith("The rows fall into 3 classes: class 1 (") and "column " in first
    assert "n class " in second and "truth is “c" in second and "(median 1,144,9" in second and "e+06" not in second
    assert third.startswith("Hidden cells are predicted ") and third.endswith("no other kind of structure was tried.")


def test_other_models_are_refused(table, tmp_path):
    from sklearn.decomposition import NMF

    with pytest.raises(InputError, match="only families"):
        explore(table.data, tmp_path / "x", models=[Adapted(NMF(2))])
    quietly(table.data, tmp_path / "y", models=["gtm"], n_components={"gtm": [(6,)]}, folds=1)  # a map of one dimension


def test_parquet_tables(table, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    quietly(table.data, tmp_path, tables="parquet", models=["mixture"], n_components=[2], folds=1)
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 150


# Commands.


def test_compare_command(capsys, tmp_path):
    out, err = run(capsys, "compare", "zoo", "--models", "mixture,trait", "--sizes", "2,4", "--folds", 1)
    rows = list(csv.DictReader(out.splitlines()))
    outside = {"independent", "tree", "regressions", "boosting"}
    assert {row["model"] for row in rows} == {"mixture", "trait"} | outside and "predicts hidden cells best" in err
    run(capsys, "compare", "zoo", "--models", "mixture", "--sizes", "2", "--folds", 1, "-o", tmp_path / "c.csv")
    assert (tmp_path / "c.csv").exists()


def test_report_command(capsys, tmp_path):
    model = latentbits.BernoulliMixture(2, random_state=0)
    votes = latentbits.data.read_table(latentbits.datasets.embedded.path_of("votes"), label_columns=["party"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model.fit(votes.reader).save(tmp_path / "m.latentbits")
    path = latentbits.datasets.embedded.path_of("votes")
    run(capsys, "report", tmp_path / "m.latentbits", path, "--label", "party", "-o", tmp_path / "report.html")
    content = content_of(tmp_path)
    assert content["comparison"] is None and content["verdict"] == "" and len(content["overview"]) == 2
    assert content["labels"][0]["values"] == ["democrat", "republican"]
    assert np.array(content["readings"][0]["associations"][0]["details"]["counts"]).sum() == 435
    run(capsys, "report", tmp_path / "m.latentbits", path, "--label", "party", "-o", tmp_path / "r.pdf", code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explore",), "name a TABLE"),
        (("explore", "votes", "--config", "x.toml"), "leave TABLE out"),
        (("explore", "votes", "--budget", "soon"), "not a time"),
        (("explore", "votes", "--sizes", "many"), "2-8"),
        (("explore", "votes", "--models", "mixtures"), "no family 'mixtures'"),
        (("explore", "nowhere.csv"), "no file nowhere.csv"),
        (("explore", "--config", "nowhere.toml"), "no file nowhere.toml"),
    ],
)
def test_messages(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    _, err = run(capsys, *arguments, code=2)
    assert message in err and not (tmp_path / "out" / "votes" / "report.html").exists()


def test_a_foreign_table_from_the_shell(capsys, tmp_path, monkeypatch):
    """Semicolons, Latin-1, an id and a label column, words of another language: two messages, then a report."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["Kürzel;Bezirk;Fahrrad;Auto;zu Fuß;Bahn"]
    for i in range(90):
        words = ["ja" if rng.random() < (0.9 if (i + j) % 2 else 0.1) else "nein" for j in range(4)]
        words[i % 4] = "" if i % 5 == 0 else words[i % 4]
        lines.append(f"Ö{i:02d};{'Süd' if i % 2 else 'Nord'};" + ";".join(words))
    written(tmp_path, "umfrage.csv", "\n".join(lines) + "\n", "latin-1")
    _, err = run(capsys, "explore", "umfrage.csv", code=2)
    assert "--encoding latin-1" in err
    _, err = run(capsys, "explore", "umfrage.csv", "--encoding", "latin-1", code=2)
    example = next(line for line in err.splitlines() if line.startswith("For example: "))
    assert "--encoding latin-1" in example and "--one ja --zero nein" in example and "--id 'Kürzel'" in example
    import shlex

    command = shlex.split(example.removeprefix("For example: "))[1:]
    out, _ = run(capsys, *command, "--models", "mixture", "--sizes", "2", "--folds", 1)
    assert "report: out/umfrage/report.html" in out
    rows = rows_of("out/umfrage/filled.csv")
    assert (
        rows[0]["Kürzel"] == "Ö00"
        and rows[0]["Bezirk"] == "Nord"
        and all(rows[5][name] != "" for name in ("Auto", "Bahn"))
    )


def test_a_report_on_a_model_matches_columns_by_name():
    pd = pytest.importorskip("pandas")
    made = make_mixture(60, 6, 2, unknown=0.1, random_state=0).data
    frame = pd.DataFrame(made, columns=[f"q{j}" for j in range(6)])
    model = latentbits.BernoulliMixture(2, n_init=1, random_state=0).fit(frame)
    turned = frame[list(frame.columns[::-1])]
    assert report_on(model, turned) == report_on(model, frame)
    with pytest.raises(InputError, match="feature names should match"):
        report_on(model, frame.rename(columns={"q0": "other"}))
    with pytest.raises(NotFittedError):
        report_on(latentbits.BernoulliMixture(2), frame)


def test_a_last_fit_beyond_the_budget_is_to_a_stated_part_of_the_rows(tmp_path, monkeypatch):
    X = make_mixture(600, 8, 2, spread=3.0, random_state=0).data
    monkeypatch.setattr("latentbits.exploring.job.LAST_FIT", 1e-9)
    found = quietly(X, tmp_path / "out", **QUICK)
    assert found.winner.n_rows == found.comparison.plan.n_rows < 600
    told = f"fitted to {found.winner.n_rows:,} of 600 rows, drawn at random, to keep to the budget"
    assert any(told in note for note in found.notes)
    assert len(rows_of(tmp_path / "out" / "rows.csv")) == 600
    methods = " ".join(content_of(tmp_path / "out")["methods"])
    assert f"{found.winner.n_rows:,} of the 600 rows, drawn at random" in methods


def test_trees_win_where_columns_come_in_tied_groups(tmp_path):
    """A survey of one-of-k answers: the verdict says so, and names columns that answer for each other."""
    import pandas as pd

    from latentbits.datasets import make_choices

    made = make_choices(600, 5, 3, 2, unknown=0.03, random_state=0)
    frame = pd.DataFrame(made.data, columns=[f"q{1 + j // 3}={'abc'[j % 3]}" for j in range(15)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        found = explore(frame, tmp_path, models=["mixture", "trees"], n_components=[2, 4], folds=1)
    assert found.comparison.best_ == "trees" and found.comparison.finding_ == "structure"
    summary = (tmp_path / "summary.md").read_text()
    assert "within a class columns go in pairs" in summary and "(one instead of the other)" in summary
    told = found.winner.pairs_told()
    pairs = [part.split(" (")[0].split(" and ") for part in told.partition(": ")[2].split(", ")]
    assert all(first[:2] == second[:2] for first, second in pairs)  # answers to one question
    assert (tmp_path / "edges.csv").read_text().startswith("component,feature,parent,information")
    assert "partner" in (tmp_path / "cells.csv").read_text().splitlines()[0]
    assert all(reading.fitted.pairs_told() == "" for reading in found.readings[1:])


def test_hidden_trees_win_where_causes_are_local(tmp_path):
    """Groups of columns with a cause of their own each: the verdict says so, and the groups are named."""
    import pandas as pd

    rng = np.random.default_rng(0)
    causes = rng.random((700, 4)) < 0.5
    X = (np.repeat(causes, 5, axis=1) ^ (rng.random((700, 20)) < 0.1)).astype(float)
    X[rng.random(X.shape) < 0.02] = np.nan
    frame = pd.DataFrame(X, columns=[f"{'abcd'[j // 5]}{j % 5}" for j in range(20)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        found = explore(frame, tmp_path, models=["mixture", "hidden-tree"], n_components=[2, 4], folds=1)
    assert found.comparison.best_ == "hidden-tree"
    summary = (tmp_path / "summary.md").read_text()
    assert "every column has a local hidden cause, and causes hang together as a tree." in summary.lower()
    assert "Columns share local causes in 4 groups" in summary and "the column at the top of the tree" in summary
    groups: dict = {}
    for row in rows_of(tmp_path / "modules.csv"):
        groups.setdefault(row["module"], set()).add(row["feature"][0])
    assert sorted(map(sorted, groups.values())) == [["a"], ["b"], ["c"], ["d"]]
    page = content_of(tmp_path)["readings"][0]
    assert len(page["modules"]) == 4 and len(page["trees"][0]["nodes"]) == 20 and len(page["trees"][0]["edges"]) == 19
