"""The commands as a user types them."""

from __future__ import annotations

import csv
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import latentbits
from latentbits.cli.data import PACKAGES
from latentbits.cli.main import main
from latentbits.cli.progress import Lines
from latentbits.data.writing import delimited
from latentbits.datasets.embedded import path_of
from latentbits.engine.locks import held

VOTES = str(path_of("votes"))


def run(capsys, *arguments, code=0):
    """Run a command in this process; returns what it printed."""
    try:
        main([str(argument) for argument in arguments])
        found = 0
    except SystemExit as stop:
        found = stop.code or 0
    out, err = capsys.readouterr()
    assert found == code, f"exit code {found}, expected {code}: {out}{err}"
    assert "Traceback" not in err
    return out, err


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "votes.latentbits"
    table = latentbits.data.read_table(VOTES, label_columns=["party"]).reader
    with pytest.warns(latentbits.errors.TableWarning):
        latentbits.BernoulliMixture(3, random_state=0).fit(table).save(path)
    return path


def test_fit(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, err = run(capsys, "fit", VOTES, "--label", "party", "-k", 3)
    assert "physician_fee_freeze" in out and "of 5 starts" in out and "model: house_votes_84.latentbits" in out
    assert "warning: BernoulliMixture: 1 row without any known cell" in err
    assert os.listdir(tmp_path) == ["house_votes_84.latentbits"]
    assert latentbits.load("house_votes_84.latentbits").n_components == 3


def test_transform(capsys, model):
    rows = rows_of(run(capsys, "transform", model, VOTES, "--label", "party")[0])
    assert len(rows) == 435 and list(rows[0]) == ["party", "class 1", "class 2", "class 3"]
    assert sum(float(rows[0][f"class {k}"]) for k in (1, 2, 3)) == pytest.approx(1)


def test_name(capsys, model, tmp_path):
    own = tmp_path / "named.latentbits"
    own.write_bytes(model.read_bytes())
    run(capsys, "name", own, 3, "pop voters")
    assert latentbits.load(own).component_names_ == ["class 1", "class 2", "pop voters"]
    rows = rows_of(run(capsys, "name", own)[0])
    assert [(row["number"], row["component"]) for row in rows] == [
        ("1", "class 1"),
        ("2", "class 2"),
        ("3", "pop voters"),
    ]
    rows = rows_of(run(capsys, "transform", own, VOTES, "--label", "party")[0])
    assert list(rows[0]) == ["party", "class 1", "class 2", "pop voters"]
    rows = rows_of(run(capsys, "explain", own, VOTES, "--label", "party", "--cell", "0:immigration")[0])
    assert "share_pop voters" in rows[0] and "evidence_pop voters" in rows[0]
    run(capsys, "report", own, VOTES, "--label", "party", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "pop voters" in page and "class 3" not in page.replace("class 3: pop voters", "")
    run(capsys, "name", own, "pop voters", "swing voters")
    before = own.read_bytes()
    for wrong, words in (((9, "x"), "numbered 1 to 3"), (("nobody", "x"), "there is no component 'nobody'")):
        assert words in run(capsys, "name", own, *wrong, code=2)[1]
    assert "two components" in run(capsys, "name", own, 1, "class 2", code=2)[1]
    assert "Give the name" in run(capsys, "name", own, 1, code=2)[1]
    assert own.read_bytes() == before


@pytest.mark.parametrize("how", ["probability", "mode", "sample"])
def test_impute(capsys, model, how):
    rows = rows_of(run(capsys, "impute", model, VOTES, "--label", "party", "--how", how)[0])
    assert len(rows) == 435 and all(value != "" for row in rows for value in row.values())
    assert rows[0]["handicapped_infants"] == "0" and rows[0]["party"] == "republican"
    if how != "probability":
        assert {row["immigration"] for row in rows} == {"0", "1"}


def test_explain(capsys, model):
    cells = ["--cell", "0:immigration", "--cell", "10:1"]
    rows = rows_of(run(capsys, "explain", model, VOTES, "--label", "party", *cells)[0])
    assert [(row["row"], row["column"]) for row in rows] == [("0", "immigration"), ("10", "water_project_cost_sharing")]
    assert sum(float(rows[0][f"share_class {k}"]) for k in (1, 2, 3)) == pytest.approx(1)
    rows = rows_of(run(capsys, "explain", model, VOTES, "--label", "party", "--unknown")[0])
    assert len(rows) == 392 and all(row["value"] == "" for row in rows)
    rows = rows_of(run(capsys, "explain", model, VOTES, "--label", "party")[0])  # without cells the most surprising
    assert len(rows) == 20
    first, rows = rows[:5], rows_of(run(capsys, "explain", model, VOTES, "--label", "party", "--surprising", 5)[0])
    assert first == rows
    surprises = [float(row["surprise"]) for row in rows]
    assert len(rows) == 5 and surprises == sorted(surprises, reverse=True) and surprises[-1] > 2


def saved_by(estimator, path, *table):
    """Fit, whatever doubts there are, and save."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
        estimator.fit(*table).save(path)


def test_predict(capsys, model, tmp_path, monkeypatch):
    """A class with its probability where rows have one; sources on and off; elsewhere what to use instead."""
    monkeypatch.chdir(tmp_path)
    rows = rows_of(run(capsys, "predict", model, "votes")[0])
    saved = latentbits.load(model)
    names = list(saved.get_feature_names_out())
    chances = saved.predict_proba(latentbits.datasets.load_votes().data)
    assert list(rows[0]) == ["party", "class", "probability"] and len(rows) == 435
    assert [row["class"] for row in rows] == [names[k] for k in chances.argmax(axis=1)]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], chances.max(axis=1))
    table = latentbits.datasets.load_votes().data
    for estimator in (
        latentbits.NoisyOrComponentAnalysis(2, n_init=1, max_iter=5, random_state=0),
        latentbits.RestrictedBoltzmann(2, n_epochs=3, random_state=0),
    ):
        saved_by(estimator, "several.latentbits", table)
        rows = rows_of(run(capsys, "predict", "several.latentbits", "votes")[0])
        names = list(estimator.get_feature_names_out())
        assert list(rows[0]) == ["party", *names]
        on = np.array([[int(row[name]) for name in names] for row in rows])
        np.testing.assert_array_equal(on, estimator.transform(table) >= 0.5)
    saved_by(latentbits.LatentTrait(1, n_init=1, max_iter=5, random_state=0), "scale.latentbits", table)
    _, err = run(capsys, "predict", "scale.latentbits", "votes", code=2)
    assert "every row has a place on a few continuous scales, so that there is no one scale to name" in err
    numbers = np.array([[3, 0], [1, 2], [0, 5], [4, 1]] * 5)
    kinds = np.array(["ham", "spam"] * 10)
    saved_by(latentbits.BernoulliGaussClassifier(1, random_state=0), "mail.latentbits", numbers, kinds)
    np.savetxt("mail.csv", numbers, fmt="%d", delimiter=",")
    rows = rows_of(run(capsys, "predict", "mail.latentbits", "mail.csv")[0])
    assert {row["class"] for row in rows} <= {"ham", "spam"} and float(rows[0]["probability"]) >= 0.5
    users, items, ratings = zip(*((u, i, 1 + (u + i) % 5) for u in range(8) for i in range(5)))
    saved_by(latentbits.BernoulliGaussRecommender(1, random_state=0), "stars.latentbits", (users, items, ratings))
    assert "use the command recommend" in run(capsys, "predict", "stars.latentbits", "mail.csv", code=2)[1]


def test_json(capsys, model, tmp_path, monkeypatch):
    """Every command that prints a table prints JSON instead, and nothing else on standard output."""
    monkeypatch.chdir(tmp_path)
    made = {"n_init": 1, "max_iter": 5, "tol": 1e-3, "random_state": 0}
    aspect = latentbits.AspectBernoulli(2, n_phantom=1, **made)
    (tmp_path / "stars.csv").write_text("".join(f"u{u},f{i},{1 + (u + i) % 5}\n" for u in range(8) for i in range(5)))
    (tmp_path / "mail.csv").write_text("a,b,kind\n" + "3,0,ham\n1,4,spam\n2,1,ham\n0,5,spam\n" * 5)
    quick = ("--models", "mixture", "--sizes", 2, "--folds", 2, "--budget", 5)

    def told(*words):
        return json.loads(run(capsys, *words, "--json")[0])

    found = told("fit", "zoo", "-k", 2, "--starts", 1)
    assert found["model"] == "zoo.latentbits" and found["family"] == "BernoulliMixture" and found["components"]
    assert found["components"][0]["feature"] == "eggs" and "BernoulliMixture with 2" in found["summary"]
    saved_by(aspect, "zoo.latentbits", latentbits.datasets.load_zoo().frame)
    assert [list(row) for row in told("transform", model, "votes")[:1]] == [["party", *names_of(model)]]
    assert told("predict", model, "votes")[0]["probability"] <= 1
    assert told("impute", model, "votes")[0]["immigration"] in (0, 1)
    cells = told("explain", model, "votes", "--cell", "0:immigration", "--cell", "1:1")
    assert cells[0]["value"] == 1 and len(cells) == 2
    assert told("explain", model, "votes", "--unknown")[0]["surprise"] is None
    found = told("compare", "votes", *quick)
    assert found["verdict"] and found["best"] and {row["model"] for row in found["table"]} >= {"mixture"}
    found = told("select", "votes", "--max", 2, "--starts", 1)
    assert found["criterion"] == "bic" and [row["n_components"] for row in found["table"]] == [1, 2]
    assert len(told("sample", model, "-n", 3)) == 3
    (tmp_path / "named").write_bytes(model.read_bytes())
    assert told("name", "named")[2] == {"number": 3, "component": "class 3"}
    assert told("name", "named", 3, "swing voters")[2] == told("name", "named")[2]
    assert told("name", "named")[2] == {"number": 3, "component": "swing voters"}
    assert told("expand", "zoo", "--fitted", "zoo.latentbits", "--row", 3, "--top", 1)[0]["rank"] == 1
    found = told("links", "zoo", "-k", 1, "--starts", 1)
    assert found["communities"][0]["members"][0]["strength"] <= 1 and found["summary"]
    assert told("recommend", "zoo", "-k", 2, "-n", 1)[4]["row"] == "4"
    assert told("recommend", "stars.csv", "--user", "u3", "-k", 1, "--min-ratings", 1) == []
    assert told("recommend", "stars.csv", "--evaluate", "-k", 1)["ratings"] == 24
    assert set(told("classify", "mail.csv", "--label", "kind", "-k", 1)[0]) == {"row", "class", "p_ham", "p_spam"}
    assert {"name": "votes", "kind": "embedded", "here": True}.items() <= told("data", "list")[0].items()
    found = told("data", "describe", "votes")
    assert (found["rows"], found["columns"], found["unknown"], found["labels"]) == (435, 16, 392, {"party": 2})
    assert told("doctor")["kernels"] == "compile and run"
    assert "leave out --out x.csv" in run(capsys, "sample", model, "--json", "-o", "x.csv", code=2)[1]


def names_of(model):
    return list(latentbits.load(model).get_feature_names_out())


def test_tables_on_a_terminal(capsys, model, monkeypatch):
    """A table of what fits, which says what it leaves out; in a pipe the whole as CSV."""
    monkeypatch.setattr("latentbits.cli.output.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    out, _ = run(capsys, "impute", model, "votes")
    lines = out.splitlines()
    assert "party" in lines[1] and "handicapped_infants" in lines[1] and all(len(line) <= 60 for line in lines[:-1])
    assert lines[-1] == "and 395 more rows and 15 more columns; > table.csv or --json gives all"
    assert len(lines) == 40 + 5 and "republican" in lines[3] and "0.5" not in lines[3]
    out, _ = run(capsys, "sample", model, "-n", 2)
    assert "more columns" in out and "more row" not in out
    assert json.loads(run(capsys, "sample", model, "-n", 2, "--json")[0])


def test_labels_leave_room_for_the_answer(capsys, tmp_path, monkeypatch):
    """Where not all columns fit the labels are left out, not the answer; the id stays in front."""
    monkeypatch.chdir(tmp_path)
    labels = [f"{name} of the answer" for name in ("age", "town", "trade", "school", "income")]
    lines = [",".join(["who", *labels, "q1", "q2", "q3"])]
    lines += [
        ",".join([f"P{i}", *(f"{label} {i}" for label in labels), *("110" if i % 2 else "001")]) for i in range(9)
    ]
    (tmp_path / "s.csv").write_text("\n".join(lines) + "\n")
    how = ["--id", "who", *(word for label in labels for word in ("--label", label))]
    run(capsys, "fit", "s.csv", *how, "-k", 2, "--starts", 1, "-o", "m")
    monkeypatch.setattr("latentbits.cli.output.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    answers = {"predict": ["class", "probability"], "transform": ["class 1", "class 2"], "impute": ["q1", "q2", "q3"]}
    for command, names in answers.items():
        lines = run(capsys, command, "m", "s.csv", *how)[0].splitlines()
        shown = [word.strip() for word in lines[1].strip("┃").split("┃")]
        n_labels = len(shown) - 1 - len(names)
        assert shown == ["who", *labels[:n_labels], *names] and 0 < n_labels < 5
        assert lines[-1].startswith(f"and {5 - n_labels} more column") and all(len(line) <= 80 for line in lines)


def test_progress_of_every_fit(capsys, tmp_path, monkeypatch):
    """Commands that fit tell how it goes once they last over two seconds, here by a fast clock."""
    monkeypatch.chdir(tmp_path)
    for name in ("FIRST", "EVERY"):
        monkeypatch.setattr(f"latentbits.cli.progress.{name}", 0.0)
    monkeypatch.setattr("latentbits.cli.progress.Lines.__init__.__defaults__", (0.0, 0.0, time.monotonic))
    (tmp_path / "stars.csv").write_text("".join(f"u{u},f{i},{1 + (u + i) % 5}\n" for u in range(8) for i in range(5)))
    (tmp_path / "mail.csv").write_text("a,b,kind\n" + "3,0,ham\n1,4,spam\n2,1,ham\n0,5,spam\n" * 5)
    for words, told in (
        (("fit", "zoo", "-k", 2), "BernoulliMixture (K=2): start 5 of 5, pass 2, objective -"),
        (("expand", "zoo", "-k", 2, "--starts", 1), "AspectBernoulli (K=2): start 1 of 1, pass 2, objective -"),
        (("links", "zoo", "-k", 1, "--starts", 1), "NoisyOrComponentAnalysis (K=1): start 1 of 1, pass 2, objective -"),
        (("recommend", "zoo", "-k", 2, "--row", 1), "BernoulliMixture (K=2): start 5 of 5, pass 2, objective -"),
        (("recommend", "stars.csv", "--user", "u1", "-k", 1), "BernoulliGaussRecommender (K=1): start 1"),
        (("recommend", "stars.csv", "--evaluate", "-k", 1), "BernoulliGaussRecommender (K=1): start 1"),
        (("classify", "mail.csv", "--label", "kind", "-k", 1), "BernoulliGaussMixture (K=1): start 1"),
        (("select", "zoo", "--max", 2, "--starts", 1), " 50%, about 0.0 s left: K=2, start 1, pass 3"),
        (("compare", "votes", "--models", "mixture", "--sizes", 2, "--folds", 2, "--budget", 3), "%"),
    ):
        _, err = run(capsys, *words)
        assert told in err, (words, err)


class Moment:
    """A clock that stands still until it is set."""

    now = 0.0

    def __call__(self):
        return self.now


def test_lines_of_progress(capsys):
    clock = Moment()
    lines = Lines(5.0, 2.0, clock)
    for clock.now, done in ((1.0, 0.1), (2.5, 0.25), (4.0, 0.4), (13.0, 0.65)):
        lines(done, 1.0, "a note")
    assert capsys.readouterr().err == " 25%, about 8 s left: a note\n 65%, about 7 s left: a note\n"
    for clock.now in (15.0, 18.0, 26.0):  # nothing is told meanwhile: the line goes on with the clock
        lines.refresh()
    assert capsys.readouterr().err == " 90%, about 2.0 s left: a note\n 99%, about 0.3 s left: a note\n"


def test_lines_do_not_wait_to_be_told(capsys, monkeypatch):
    from latentbits.cli import progress

    monkeypatch.setattr(progress, "TICK", 0.01)
    monkeypatch.setattr(progress.Lines.__init__, "__defaults__", (0.0, 0.0, time.monotonic))
    with progress.progress_shown("explore") as tell:
        tell(0.5, 1.0, "a long fit")
        time.sleep(0.3)
    assert capsys.readouterr().err.count("a long fit") > 3


def test_select_and_sample(capsys, model, tmp_path):
    best = tmp_path / "best.latentbits"
    out, err = run(capsys, "select", VOTES, "--label", "party", "--max", 3, "--save", best)
    assert [row["n_components"] for row in rows_of(out)] == ["1", "2", "3"] and "by bic: 3" in err
    assert latentbits.load(best).n_components == 3
    rows = rows_of(run(capsys, "sample", model, "-n", 4)[0])
    assert len(rows) == 4 and {value for row in rows for value in row.values()} <= {"0", "1"}


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
def test_output_files(capsys, model, tmp_path, name):
    target = tmp_path / "new" / name
    run(capsys, "impute", model, VOTES, "--label", "party", "--how", "mode", "-o", target)
    table = latentbits.data.read_table(target, label_columns=["party"])
    assert table.shape == (435, 16) and table.labels["party"][0] == "republican"
    assert os.listdir(target.parent) == [name]


def test_ids_delimiters_and_words(capsys, tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("who;smokes;runs;ill\nann;yes;no;NA\nbob;NO;Yes;true\neve;;present;absent\n")
    out, _ = run(capsys, "data", "describe", path, "--id", "who")
    assert "3 rows x 3 columns" in out and "unknown: 2" in out and "row names: ann ... eve" in out
    out, _ = run(capsys, "fit", path, "--id", "who", "-k", 1, "-o", tmp_path / "m")
    rows = rows_of(run(capsys, "transform", tmp_path / "m", path, "--id", "who")[0])
    assert [row["who"] for row in rows] == ["ann", "bob", "eve"]


def test_standard_input(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,0\n0,1\n1,1\n")))
    out, _ = run(capsys, "data", "describe", "-")
    assert "3 rows x 2 columns" in out


def test_baskets_and_triples(capsys, tmp_path):
    (tmp_path / "shop.dat").write_text("bread milk\n\nmilk eggs milk\n")
    assert "3 rows x 3 columns\nones: 4" in run(capsys, "data", "describe", tmp_path / "shop.dat")[0]
    (tmp_path / "long.csv").write_text("doc,word,value\nd1,cat,1\nd1,dog,0\nd2,dog,?\n")
    out, _ = run(capsys, "data", "describe", tmp_path / "long.csv", "--format", "triples")
    assert "2 rows x 2 columns" in out and "unknown: 1" in out


def test_data_commands(capsys, monkeypatch, tmp_path):
    out, _ = run(capsys, "data", "list")
    assert "votes" in out and "debd/nltcs" in out
    assert run(capsys, "data", "fetch", "votes")[0].strip() == VOTES
    monkeypatch.delenv("LATENTBITS_DATA", raising=False)
    assert "LATENTBITS_DATA" in run(capsys, "data", "fetch", "retail", code=2)[1]
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "carcinoma.csv").write_text("not it")
    monkeypatch.setenv("LATENTBITS_DATA", str(tmp_path))
    assert "SHA-256" in run(capsys, "data", "fetch", "carcinoma", code=2)[1]


def test_doctor_and_version(capsys):
    assert "kernels: compile and run" in run(capsys, "doctor")[0]
    extras = set(importlib.metadata.metadata("latentbits").get_all("Provides-Extra"))
    for_work = {"demo", "test", "bench", "bench-soft", "docs", "release", "peers"}  # on latentbits itself
    assert extras - for_work <= set(PACKAGES)
    assert run(capsys, "--version")[0].startswith("latentbits ")


def test_messages_and_codes(capsys, model, tmp_path):
    assert "no file" in run(capsys, "fit", tmp_path / "nothing.csv", code=2)[1]
    assert "'party'" in run(capsys, "fit", VOTES, "-o", tmp_path / "m", code=2)[1]
    assert (
        "no model 'magic'"
        in run(capsys, "fit", VOTES, "--label", "party", "-m", "magic", "-o", tmp_path / "m", code=2)[1]
    )
    assert "n_components" in run(capsys, "fit", VOTES, "--label", "party", "-k", 0, "-o", tmp_path / "m", code=2)[1]
    assert "no checkpoint" in run(capsys, "fit", VOTES, "--label", "party", "--resume", "-o", tmp_path / "m", code=2)[1]
    assert "no column 'age'" in run(capsys, "fit", VOTES, "--label", "age", code=2)[1]
    assert (
        "one of .csv" in run(capsys, "impute", model, VOTES, "--label", "party", "-o", tmp_path / "x.xlsx", code=2)[1]
    )
    assert "how must be" in run(capsys, "impute", model, VOTES, "--label", "party", "--how", "magic", code=2)[1]
    assert "no column 'zip'" in run(capsys, "explain", model, VOTES, "--label", "party", "--cell", "0:zip", code=2)[1]
    assert "no row 'me'" in run(capsys, "explain", model, VOTES, "--label", "party", "--cell", "me:0", code=2)[1]
    assert "ROW:COLUMN" in run(capsys, "explain", model, VOTES, "--label", "party", "--cell", "x", code=2)[1]
    (tmp_path / "other.latentbits").write_text("no model")
    assert "other.latentbits is damaged" in run(capsys, "sample", tmp_path / "other.latentbits", code=2)[1]
    (tmp_path / "other.latentbits").unlink()
    assert "no file" in run(capsys, "sample", tmp_path / "nothing.csv", code=2)[1]
    assert run(capsys, "fit", code=2)[1]
    assert os.listdir(tmp_path) == []


def test_unwritable_output(capsys, model, tmp_path):
    (tmp_path / "file").write_text("x")
    out, err = run(capsys, "sample", model, "-o", tmp_path / "file" / "out.csv", code=2)
    assert "cannot be written" in err and out == ""


def test_unexpected_errors_are_one_line(capsys, monkeypatch, model):
    def broken(path):
        raise RuntimeError("the unexpected")

    monkeypatch.setattr(latentbits, "load", broken)
    assert "--debug" in run(capsys, "sample", model, code=1)[1]
    with pytest.raises(RuntimeError):
        main(["--debug", "sample", str(model)])


@pytest.mark.parametrize(("kind", "code"), [("InputError", 2), ("LatentBitsError", 1), ("RuntimeError", 1)])
def test_messages_end_without_an_empty_line(capsys, monkeypatch, model, kind, code):
    def broken(path):
        raise getattr(latentbits.errors, kind, RuntimeError)("what is wrong\n")

    monkeypatch.setattr(latentbits, "load", broken)
    err = run(capsys, "sample", model, code=code)[1]
    assert "what is wrong" in err and err.count("\n") == 1


def test_data_text_is_never_markup(capsys, tmp_path):
    path = tmp_path / "t.csv"
    np.savetxt(path, np.eye(4, dtype=int), fmt="%d", delimiter=",", header="[red]a,[/b],c,d", comments="")
    out, _ = run(capsys, "fit", path, "-k", 1, "-o", tmp_path / "m")
    assert "[red]a" in out and "[/b]" in out


def test_help_is_quick_and_numba_waits():
    code = (
        "import sys, latentbits.cli.main; "
        "heavy = {'numba', 'sklearn', 'pandas', 'scipy', 'numpy', 'dask', 'matplotlib'} & set(sys.modules); "
        "assert not heavy, heavy; import latentbits; latentbits.BernoulliMixture; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fit_other_families(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, _ = run(
        capsys, "fit", VOTES, "--label", "party", "-m", "aspect", "-k", 3, "--starts", 1, "--tol", 1e-5,
        "--set", "n_phantom=1", "-o", "a.latentbits",
    )  # fmt: skip
    assert "cause 3" in out and "(phantom)" in out and "K = 2 content + 1 phantom" in out
    assert latentbits.load("a.latentbits").n_phantom == 1
    out, _ = run(
        capsys, "fit", VOTES, "--label", "party", "-m", "logistic", "-k", 2, "--starts", 1, "--tol", 1e-4, "--set",
        "ridge=1", "-o", "l.latentbits",
    )  # fmt: skip
    assert "loading" in out
    rows = rows_of(run(capsys, "transform", "l.latentbits", VOTES, "--label", "party")[0])
    assert list(rows[0]) == ["party", "scale 1", "scale 2"]
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "logistic", "--smoothing", 2, code=2)
    assert "LogisticPCA has no option 'smoothing'" in err
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "aspect", "--set", "n_phantom", code=2)
    assert "is not of the form NAME=VALUE" in err
    _, err = run(capsys, "fit", VOTES, "--label", "party", "--set", "n_components=4", code=2)
    assert "use -k for it" in err
    rows = rows_of(run(capsys, "explain", "a.latentbits", VOTES, "--label", "party", "--cell", "0:crime")[0])
    assert "missing" in rows[0]


def test_fit_samplers(capsys, tmp_path, monkeypatch):
    """Chains from the command line: no -k for the process, doubts in words, answers from the saved model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("latentbits.cli.progress.FIRST", 0.0)
    monkeypatch.setattr("latentbits.cli.progress.EVERY", 0.0)
    out, err = run(
        capsys, "fit", VOTES, "--label", "party", "-m", "dp", "--chains", 2, "--warmup", 10, "--draws", 8, "--set",
        "learn_weight_concentration=true", "-o", "dp.latentbits",
    )  # fmt: skip
    assert "DPBernoulliMixture on 435 rows and 16 features: 2 chains, 8 draws kept of each" in out
    assert "DPBernoulliMixture: chain 2 of 2, sweep 26, objective -" in err and "done" not in err
    saved = latentbits.load("dp.latentbits")
    assert saved.draws_.labels.shape == (2, 8, 435) and saved.learn_weight_concentration is True
    rows = rows_of(run(capsys, "impute", "dp.latentbits", VOTES, "--label", "party", "--how", "mode")[0])
    assert len(rows) == 435 and set(rows[0]["crime"]) <= set("01.")
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "dp", "-k", 3, code=2)
    assert "so -k is not for --model dp; it finds the number of components itself" in err
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "bayesian", "--set", "n_chains=3", code=2)
    assert "use --chains for it" in err
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "bayesian", "--starts", 3, code=2)
    assert "BayesianBernoulliMixture has no option 'n_init'" in err
    for family, words in (("variational", "lower bound on log p(table)"), ("boltzmann", "10 switches")):
        assert words in run(capsys, "fit", VOTES, "--label", "party", "-m", family, "-o", "m.latentbits")[0]


def test_maps(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("-m", "gtm", "--set", "latent_shape=5,5", "--tol", 1e-4)
    out, _ = run(capsys, "fit", VOTES, "--label", "party", *options, "-o", "map.latentbits")
    assert "8 regions of the map" in out and "BinaryGTM of 5 × 5 nodes and 10 functions on 16 features" in out
    assert latentbits.load("map.latentbits").latent_shape == (5, 5)
    rows = rows_of(run(capsys, "transform", "map.latentbits", VOTES, "--label", "party")[0])
    assert len(rows) == 435 and -1 <= float(rows[0]["y"]) <= 1
    rows = rows_of(run(capsys, "explain", "map.latentbits", VOTES, "--label", "party", "--surprising", 3)[0])
    assert len(rows) == 3 and any("node 24" in name for name in rows[0])
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "gtm", "-k", 3, code=2)
    assert "so -k is not for --model gtm; its size is --set latent_shape=15,15" in err
    _, err = run(capsys, "fit", VOTES, "--label", "party", "-m", "gtm", "--set", "latent_shape=15x15", code=2)
    assert "latent_shape must be a whole number" in err
    out, _ = run(capsys, "fit", VOTES, "--label", "party", "-m", "trait", "-k", 1, "-o", "trait.latentbits")
    assert "LatentTrait with 1 scale on 16 features" in out


def test_tables_of_numbers(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=60)
    words = (rng.random((60, 8)) < np.where(labels[:, None] == (np.arange(8) < 4), 0.8, 0.1)) * rng.integers(
        1, 9, (60, 8)
    )
    words[:, 0] += 1
    lines = ["doc," + ",".join(f"w{j}" for j in range(8)) + ",class"]
    lines += [f"d{i}," + ",".join(map(str, row)) + f",{'ab'[labels[i]]}" for i, row in enumerate(words)]
    (tmp_path / "words.csv").write_text("\n".join(lines) + "\n")
    how = ("--id", "doc", "--label", "class")
    for family in ("bernoulli-gauss", "unigrams", "plsa"):
        out, _ = run(capsys, "fit", "words.csv", *how, "-m", family, "-k", 2, "--tol", 1e-4, "-o", "m.latentbits")
        assert "with 2 topics on 8 features" in out
        rows = rows_of(run(capsys, "transform", "m.latentbits", "words.csv", *how)[0])
        assert len(rows) == 60 and rows[3]["doc"] == "d3"
    rows = rows_of(run(capsys, "classify", "words.csv", *how, "-k", 1)[0])
    assert np.mean([row["class"] == "ab"[s] for row, s in zip(rows, labels)]) > 0.9
    (tmp_path / "new.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines[:6]) + "\n")
    rows = rows_of(run(capsys, "classify", "words.csv", *how, "--new", "new.csv", "-k", 1)[0])
    assert [row["row"] for row in rows] == [f"d{i}" for i in range(5)]
    assert float(rows[0]["p_a"]) + float(rows[0]["p_b"]) == pytest.approx(1.0)
    _, err = run(capsys, "classify", "words.csv", "--id", "doc", code=2)
    assert "column 'class'" in err or "--label" in err
    (tmp_path / "bad.csv").write_text("a,b\n1,-2\n3,4\n")
    _, err = run(capsys, "fit", "bad.csv", "-m", "plsa", code=2)
    assert "column 'b'" in err and "Negative" in err


def test_recommend(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = ["user,item,rating"]
    for u in range(30):
        for i in rng.permutation(8)[:5]:
            lines.append(f"u{u},film{i},{int(np.clip(round(3 + 1.5 * (-1) ** (u + i) + rng.normal()), 1, 5))}")
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    out, _ = run(capsys, "recommend", "ratings.csv", "--user", "u3", "--user", "u4", "-n", 2, "-k", 2)
    rows = rows_of(out)
    assert [row["user"] for row in rows] == ["u3", "u3", "u4", "u4"] and 1 <= float(rows[0]["rating"]) <= 5
    assert "MAE" in run(capsys, "recommend", "ratings.csv", "--evaluate", "-k", 2)[0]
    for arguments, words in (
        (("--user", "nobody"), "user 'nobody' was not fitted"), ((), "name a user"),
        (("--user", "u3", "--set", "k=3"), "no option 'k'"),
    ):  # fmt: skip
        assert words in run(capsys, "recommend", "ratings.csv", *arguments, code=2)[1]
    (tmp_path / "odd.csv").write_text("u,f,3\nu,g\n")
    assert (
        "entry 1 ('u, g') is not user, item and rating" in run(capsys, "recommend", "odd.csv", "--user", "u", code=2)[1]
    )


def test_recommend_of_bits(capsys, tmp_path, monkeypatch, model):
    """Tables, baskets and pairs: what rows lack, with its chance and the reason; told from ratings by what they hold."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    baskets = {}
    for u in range(60):
        goods = ["bread", "milk", "eggs", "jam"] if u % 2 else ["nails", "glue", "paint", "saw"]
        baskets[f"u{u}"] = [goods[i] for i in sorted(rng.permutation(4)[:3])]
    items = sorted({item for basket in baskets.values() for item in basket})
    pairs = [(user, item) for user, basket in baskets.items() for item in basket]
    (tmp_path / "pairs.csv").write_text("".join(f"{u},{i}\n" for u, i in pairs))
    (tmp_path / "marks.txt").write_text("".join(f"{u};{i};1\n" for u, i in pairs))
    (tmp_path / "baskets.dat").write_text("".join(" ".join(basket) + "\n" for basket in baskets.values()))
    lines = [f"{u}," + ",".join(str(int(item in basket)) for item in items) for u, basket in baskets.items()]
    (tmp_path / "wide.csv").write_text(f"who,{','.join(items)}\n" + "\n".join(lines) + "\n")
    (tmp_path / "log.csv").write_text("user,item,when\n" + "".join(f"{u},{i},2024-01-02\n" for u, i in pairs))
    lacked = ({"bread", "milk", "eggs", "jam"} - set(baskets["u7"])).pop()
    for words in (
        ("log.csv", "--user", "u7"),
        ("pairs.csv", "--user", "u7"),
        ("marks.txt", "--row", "u7"),
        ("baskets.dat", "--row", 7),
        ("wide.csv", "--id", "who", "--row", "u7"),
    ):
        rows = rows_of(run(capsys, "recommend", *words, "-n", 2, "-k", 2)[0])
        assert [row["rank"] for row in rows] == ["1", "2"] and rows[0]["feature"] == lacked, words
        assert not {row["feature"] for row in rows} & set(baskets["u7"]) and {row["value"] for row in rows} == {"0"}
        assert float(rows[0]["probability"]) > 0.5 > float(rows[1]["probability"])
        assert rows[0]["because"].startswith("class ") and float(rows[0]["share"]) > 0.9
    run(capsys, "recommend", "pairs.csv", "-k", 2, "-n", 1, "-m", "noisy-or", "-o", "all.csv")
    rows = rows_of((tmp_path / "all.csv").read_text())
    assert [row["row"] for row in rows] == list(baskets) and {row["because"] for row in rows} <= {
        "source 1", "source 2", "leak",
    }  # fmt: skip
    piped = ("recommend", "pairs.csv", "-k", 2, "-n", 1)
    assert [row["row"] for row in rows_of(run(capsys, *piped)[0])] == list(baskets)
    with monkeypatch.context() as patched:
        patched.setattr("latentbits.cli.weights.on_terminal", lambda: True)
        assert "name a row with --row, or write" in run(capsys, *piped, code=2)[1]
    rows = rows_of(run(capsys, "recommend", "votes", "--fitted", model, "--row", 3, "-n", 16)[0])
    blank = [row for row in rows if row["value"] == ""]
    assert blank and {row["row"] for row in rows} == {"3"}  # a blank may be a one
    for words, told in (
        (("pairs.csv", "--user", "nobody"), "there is no row 'nobody'"),
        (("pairs.csv", "--user", "u7", "--by", "lower"), "are for ratings (--format ratings)"),
        (
            ("wide.csv", "--id", "who", "--row", "u7", "-m", "plsa"),
            "fills no cells of a 0/1 table; families that do: mix",
        ),
        (("votes", "--fitted", model, "-k", 3, "--row", 3), "leave them out with --fitted"),
    ):
        assert told in run(capsys, "recommend", *words, code=2)[1]
    np.savez("stars.npz", user=[1, 1, 2, 2], item=[1, 2, 1, 2], rating=[1, 5, 3, 4])
    assert "user 9 was not fitted" in run(capsys, "recommend", "stars.npz", "--user", 9, "-k", 1, code=2)[1]
    assert "is a model, not a table" in run(capsys, "recommend", model, "--row", 1, code=2)[1]
    (tmp_path / "r.csv").write_text("".join(f"{u},{i},{1 + len(i)}\n" for u, i in pairs))
    assert "are for 0/1 tables" in run(capsys, "recommend", "r.csv", "--user", "u7", "-m", "mixture", code=2)[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "pairs.csv").read_bytes())))
    rows = rows_of(run(capsys, "recommend", "-", "--format", "triples", "--user", "u7", "-n", 1, "-k", 2)[0])
    assert rows[0]["feature"] == lacked


def test_expand(capsys, tmp_path, model):
    table = tmp_path / "words.csv"
    lines = ["id,space,orbit,moon,god,faith"]
    for i in range(40):
        row = [1, 1, 1, 0, 0] if i % 2 else [0, 0, 0, 1, 1]
        row[i % 5] = 0
        lines.append(f"post{i}," + ",".join(map(str, row)))
    table.write_text("\n".join(lines) + "\n")
    out, _ = run(capsys, "expand", table, "--id", "id", "-k", 3, "--row", "post1", "--top", 2, "--starts", 2)
    rows = rows_of(out)
    assert [row["row"] for row in rows] == ["post1", "post1"] and rows[0]["feature"] == "orbit"
    assert 0 <= float(rows[0]["lost"]) <= 1
    _, err = run(capsys, "expand", table, "--id", "id", "--row", "nobody", "-k", 3, "--starts", 1, code=2)
    assert "there is no row 'nobody'; rows are called post0, post1, post2, ..." in err
    for options, message in (
        (("--by", "loss"), "--by must be"),
        (("--top", 0), "--top must be"),
        (("--fitted", model, "-k", 3), "leave it out with --fitted"),
    ):
        assert message in run(capsys, "expand", table, "--id", "id", *options, code=2)[1]
    _, err = run(capsys, "expand", VOTES, "--label", "party", "--fitted", model, code=2)
    assert "expand needs an AspectBernoulli" in err


def test_reproduce(capsys, tmp_path):
    out, _ = run(capsys, "reproduce")
    assert "aspect-phantoms" in out.split()
    _, err = run(capsys, "reproduce", "nothing", code=2)
    assert "there is no experiment 'nothing'" in err
    out, _ = run(capsys, "reproduce", "aspect-properties", "-o", tmp_path)
    assert "NOT met" not in out and (tmp_path / "aspect-properties.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explore", "t.csv", "--sizes", "8-2"), "--sizes '8-2'"),
        (("explore", "t.csv", "--sizes", "0,2"), "--sizes '0,2'"),
        (("compare", "t.csv", "--sizes", ""), "--sizes ''"),
        (("compare", "t.csv", "--sizes", "2;3"), "--sizes '2;3'"),
        (("compare", "t.csv", "--sizes", "1-999999999"), "at most 1,000 sizes"),
        (("compare", "t.csv", "--models", "mixtures"), "no family 'mixtures'"),
        (("compare", "t.csv", "--models", ","), "no family ','"),
        (("select", "t.csv", "--max", 10**12), "at most 1,000 sizes"),
        (("select", "t.csv", "--min", 5, "--max", 2), "--min 5 and --max 2"),
        (("select", "t.csv", "-m", "gmm"), "no model 'gmm'"),
        (("fit", "t.csv", "-k", 0), "n_components must be a whole number, 1 or more"),
    ],
)
def test_bad_sizes_are_refused_before_the_table_is_read(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n1,0\n")

    def read(*arguments, **options):
        raise AssertionError("the table was read")

    monkeypatch.setattr("latentbits.data.read_table", read)
    _, err = run(capsys, *arguments, code=2)
    assert message in err and [file.name for file in tmp_path.iterdir()] == ["t.csv"]


def test_absurd_sizes_are_refused(capsys, tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    for arguments in (("fit", VOTES, "-k", 5000), ("select", VOTES, "--min", 4999, "--max", 5000)):
        _, err = run(capsys, *arguments, "--label", "party", code=2)
        assert "n_components=5000 is more than the 435 rows of the table (435 rows × 16 columns)" in err
    _, err = run(capsys, "explore", "votes", "--sizes", "2,5000", code=2)
    assert "n_components=5000 is more than" in err and not list(tmp_path.iterdir())
    _, err = run(capsys, "sample", model, "-n", 10**12, code=2)
    assert "drawing 1000000000000 rows × 16 columns needs about 128000 GB" in err


def test_repeated_ids_are_told_at_once(capsys, tmp_path, monkeypatch, model):
    text = "name,a,b\n" + "".join(f"{name},{i % 2},{(i + 1) % 2}\n" for i, name in enumerate("xyxzyq" * 5))
    (tmp_path / "t.csv").write_text(text)
    told = "warning: column 'name': 4 ids occur more than once (first: 'x'); these rows are kept"
    monkeypatch.chdir(tmp_path)
    _, err = run(capsys, "fit", "t.csv", "--id", "name", "-k", 5000, "-o", "m", code=2)
    assert err.startswith(told) and err.count("occur more than once") == 1  # it comes before all that follows
    run(capsys, "fit", "t.csv", "--id", "name", "-k", 1, "-o", "m")
    out, err = run(capsys, "transform", "m", "t.csv", "--id", "name")
    assert told in err and [row["name"] for row in rows_of(out)] == list("xyxzyq" * 5)
    _, err = run(capsys, "explain", "m", "t.csv", "--id", "name", "--cell", "y:a", code=2)
    assert "10 rows are called 'y'" in err
    _, err = run(capsys, "expand", "t.csv", "--id", "name", "--row", "y", code=2)
    assert "10 rows are called 'y'" in err
    with pytest.warns(latentbits.errors.TableWarning, match="column 'ids': 1 id occurs"), pytest.raises(ValueError):
        latentbits.explore(np.eye(3), tmp_path / "out", ids=["a", "b", "a"])


def test_two_fits_of_one_model_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint = tmp_path / "m.latentbits.checkpoint"
    (tmp_path / "link.latentbits").symlink_to("m.latentbits")
    with held(tmp_path / ".m.latentbits.lock", "m.latentbits"):
        checkpoint.write_text("of the other fit")
        for target in ("m.latentbits", "link.latentbits"):
            _, err = run(capsys, "fit", VOTES, "--label", "party", "-o", target, code=2)
            assert f"{target} is being written by another run (process {os.getpid()} on " in err
        assert checkpoint.read_text() == "of the other fit"
    checkpoint.unlink()
    run(capsys, "fit", VOTES, "--label", "party", "--starts", 1, "-o", "link.latentbits")
    assert sorted(os.listdir(tmp_path)) == ["link.latentbits", "m.latentbits"]
    assert (tmp_path / "link.latentbits").is_symlink()


def test_output_through_links(capsys, tmp_path, model):
    (tmp_path / "data").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to("data/rows.csv")
    run(capsys, "sample", model, "-n", 3, "-o", link)
    assert link.is_symlink() and len(rows_of((tmp_path / "data" / "rows.csv").read_text())) == 3
    link.unlink()
    link.symlink_to("nowhere/rows.csv")
    _, err = run(capsys, "sample", model, "-n", 3, "-o", link, code=2)
    assert "is a link to nowhere/rows.csv, where no file can be" in err


FORMULAS = ["=1+1", "+x", "-x", "@SUM(a)", "\t=1", "-5", "plain", "a=b"]
GUARDED = ["'=1+1", "'+x", "'-x", "'@SUM(a)", "'\t=1", "-5", "plain", "a=b"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_safe_csv(capsys, tmp_path, ending):
    """Names that look like formulas go out as they are, and with --safe-csv with an apostrophe before them."""
    table = tmp_path / "t.csv"
    cells = "".join(f'"{name}",{i % 2},{1 - i % 2}\n' for i, name in enumerate(FORMULAS))
    table.write_text(f"id,=cmd|calc,b\n{cells}")
    fitted, out = tmp_path / "m", tmp_path / f"o.{ending}"
    run(capsys, "fit", table, "--id", "id", "-k", 1, "-o", fitted)
    found = {}
    for safe in ((), ("--safe-csv",)):
        run(capsys, "impute", fitted, table, "--id", "id", "-o", out, *safe)
        read = pd.read_parquet if ending == "parquet" else pd.read_table if ending == "tsv" else pd.read_csv
        found[safe] = read(out).astype({"id": str})
    plain, guarded = found.values()
    assert plain["id"].tolist() == FORMULAS and plain.columns[1] == "=cmd|calc"
    changed = ending != "parquet"  # Parquet has no formulas
    assert guarded["id"].tolist() == (GUARDED if changed else FORMULAS)
    assert guarded.columns[1] == "'" * changed + "=cmd|calc"


def test_safe_csv_is_where_tables_are_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in (
        "transform",
        "impute",
        "explain",
        "select",
        "sample",
        "expand",
        "compare",
        "recommend",
        "classify",
        "links",
    ):
        assert "--safe-csv" in run(capsys, command, "--help")[0], command
    rows = "".join(f"-r{i},{i % 2},{i % 2},{(i + 1) % 2}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"id,@a,=b,c\n{rows}")
    run(
        capsys,
        "explore",
        "t.csv",
        "--id",
        "id",
        "--models",
        "mixture",
        "--sizes",
        2,
        "--folds",
        1,
        "--safe-csv",
        "-o",
        "o",
    )
    assert (tmp_path / "o" / "rows.csv").read_text().splitlines()[1].startswith("'-r0,")
    assert "'@a" in (tmp_path / "o" / "components.csv").read_text()
    run(capsys, "explore", "--config", "o/run.toml", "-o", "again")
    for name in ("rows.csv", "components.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "o" / name).read_bytes()
    assert delimited([{"x": -0.5, "y": -np.inf}], ["x", "y"], ",", safe=True) == "x,y\n-0.5,-inf\n"
