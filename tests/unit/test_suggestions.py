"""Commands that messages suggest run as they are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import latentbits
from latentbits.cli.main import app, main
from latentbits.data.readers import CodesReader
from latentbits.datasets import make_mixture
from latentbits.datasets.embedded import path_of

from .test_cli import run

SOURCE = Path(latentbits.__file__).parent
WAYS = {"one": ["ja"], "zero": ["nein"], "id_column": "Name", "label_columns": ["Alter jetzt"]}
QUICK = ("--models", "mixture", "--sizes", "2", "--folds", "2", "--budget", "5")


def suggested(text):
    """The one command in a text, word by word; it ends with its line."""
    found = re.findall(r"(?<![\w.])latentbits (?:--debug )?[a-z]+ .*", text)
    assert len(found) == 1, text
    return shlex.split(found[0])[1:]


def runs(capsys, text):
    """Run the command that a text suggests, as it is printed."""
    return run(capsys, *suggested(text))


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A table that needs options, in a folder with a space in its name, and two models of its zeros and ones."""
    folder = tmp_path_factory.mktemp("tables") / "my tables"
    folder.mkdir()
    cells = make_mixture(60, 5, 2, spread=3.0, random_state=0).data.astype(int)
    lines = ["Name,Alter jetzt," + ",".join(f"Frage {j}" for j in range(5))]
    for i, row in enumerate(cells):
        lines.append(f"P{i:02d},{20 + i % 25}," + ",".join("ja" if cell else "nein" for cell in row))
    table = folder / "survey 1.csv"
    table.write_text("\n".join(lines) + "\n")
    plain = latentbits.data.read_table(table, **WAYS).reader
    reader = CodesReader(plain.codes, plain.labels, plain.found)  # which remembers nothing
    model, blend = folder / "model 1.latentbits", folder / "blend.latentbits"
    latentbits.BernoulliMixture(2, n_init=1, random_state=0).fit(reader).save(model)
    latentbits.AspectBernoulli(2, n_init=1, tol=1e-3, random_state=0, n_phantom=1).fit(reader).save(blend)
    return table, model, blend


COMMANDS = {
    "explore": ("explore", "TABLE", *QUICK, "-o", "found it"),
    "compare": ("compare", *QUICK, "TABLE", "--seed=3"),
    "fit": ("fit", "TABLE", "-k", "2", "--starts", "1", "-o", "a model.latentbits"),
    "transform": ("transform", "MODEL", "TABLE"),
    "predict": ("predict", "--json", "MODEL", "TABLE"),
    "impute": ("impute", "MODEL", "TABLE", "--how", "mode"),
    "explain": ("explain", "MODEL", "TABLE", "--cell", "P03:Frage 2"),
    "report": ("report", "MODEL", "TABLE", "-o", "my report.html"),
    "select": ("select", "TABLE", "--max", "2", "--starts", "1"),
    "expand": ("expand", "TABLE", "--fitted", "BLEND", "--row", "P03"),
    "links": ("links", "TABLE", "-k", "1", "--starts", "1"),
    "recommend": ("recommend", "TABLE", "-m", "mixture", "--user", "P03"),
    "recommend from a model": ("recommend", "TABLE", "--fitted", "MODEL", "--row", "P03"),
    "data describe": ("data", "describe", "TABLE"),
    "behind --": ("data", "describe", "--", "TABLE"),
}


def typed(survey, words):
    places = dict(zip(("TABLE", "MODEL", "BLEND"), map(str, survey)))
    return [places.get(word, word) for word in words]


@pytest.mark.parametrize("name", COMMANDS)
def test_options_for_columns(capsys, survey, tmp_path, monkeypatch, name):
    """A table that needs options is told of with the whole command: subcommand, model, and all that was typed."""
    monkeypatch.chdir(tmp_path)
    words = typed(survey, COMMANDS[name])
    _, err = run(capsys, *words, code=2)
    again = suggested(err)
    assert [word for word in again if word in words] == words and "ja" in again and "Name" in again
    runs(capsys, err)


@pytest.mark.parametrize("name", ["transform", "predict", "impute", "explain", "report", "expand"])
def test_model_and_table_exchanged(capsys, survey, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    ways = ["--one", "ja", "--zero", "nein", "--id", "Name", "--label", "Alter jetzt"]
    words = [*typed(survey, COMMANDS[name]), *ways]
    table, model, blend = map(str, survey)
    model = blend if name == "expand" else model
    swapped = [{table: model, model: table}.get(word, word) for word in words]
    _, err = run(capsys, *swapped, code=2)
    assert "the wrong way round" in err and suggested(err) == words
    runs(capsys, err)
    assert "is a table, not a model" in run(capsys, "transform", table, table, *ways, code=2)[1]


def test_table_where_a_model_is_expected(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = make_mixture(60, 5, 2, spread=3.0, random_state=0).data.astype(int)
    for name in ("my survey.csv", "survey2.csv"):
        np.savetxt(tmp_path / name, cells, "%d", ",", header="a,b,c,d,e", comments="")
    for words in (("predict", "my survey.csv", "survey2.csv"), ("name", "my survey.csv"), ("sample", "my survey.csv")):
        _, err = run(capsys, *words, code=2)
        assert "my survey.csv is a table, not a model; fit one first: latentbits fit 'my survey.csv'" in err
    runs(capsys, err)
    assert len(run(capsys, "predict", "my survey.latentbits", "survey2.csv")[0].splitlines()) == 61


def test_predict_of_blends(capsys, survey):
    table, _, blend = survey
    ways = ("--one", "ja", "--zero", "nein", "--id", "Name", "--label", "Alter jetzt")
    _, err = run(capsys, "predict", blend, table, *ways, code=2)
    assert "an Aspect Bernoulli every row is a blend" in err
    out, _ = runs(capsys, err)
    assert len(out.splitlines()) == 61


def test_interrupted_fit(capsys, tmp_path, monkeypatch):
    """Ctrl-C leaves a checkpoint and the command that goes on from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATENTBITS_CHECKPOINT_SECONDS", "0")
    step = latentbits.engine.events.ProgressLines.step

    def stop(self, event):
        if event.restart == 1:
            raise KeyboardInterrupt
        return step(self, event)

    with monkeypatch.context() as patched:
        patched.setattr("latentbits.engine.events.ProgressLines.step", stop)
        _, err = run(capsys, "fit", "zoo", "-k", 2, "-o", "my zoo.latentbits", code=1)
    assert "interrupted" in err and "--resume" in suggested(err)
    runs(capsys, err)
    assert [path.name for path in tmp_path.iterdir()] == ["my zoo.latentbits"]


def test_explore_interrupted_and_finished(capsys, tmp_path, monkeypatch):
    """What goes on with a run, what fills other rows, and what the page says repeats it."""
    monkeypatch.chdir(tmp_path)
    told = []

    def stop(self, done, total, note):
        told.append(note)
        if len(told) == 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("latentbits.cli.progress.Lines.__call__", stop)
        _, err = run(capsys, "explore", "votes", *QUICK, "-o", "my votes", code=1)
    out, _ = run(capsys, *suggested(err.replace("` goes on.", "")))
    out, _ = runs(capsys, out)
    assert len(out.splitlines()) == 436
    page = (tmp_path / "my votes" / "report.html").read_text(encoding="utf-8")
    assert "latentbits explore --config run.toml" in page
    monkeypatch.chdir(tmp_path / "my votes")
    run(capsys, "explore", "--config", "run.toml")


def test_links_without_empty_rows(capsys, tmp_path):
    rng = np.random.default_rng(0)
    rows = [row for row in (rng.random((300, 6)) < 0.15).astype(int) if row.any()]
    path = tmp_path / "no empty.csv"
    path.write_text("a,b,c,d,e,f\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    _, err = run(capsys, "links", path, "-k", 1, "--starts", 1)
    assert "zero_truncated=true" in err
    runs(capsys, err)


def test_ratings_given_twice(capsys, tmp_path):
    path = tmp_path / "my ratings.csv"
    lines = [f"u{u},f{i},{1 + (u + i) % 5}\n" for u in range(8) for i in range(5)]
    path.write_text("".join([*lines, "u3,f2,4\n"]))
    for asked in (("--user", "u3", "--min-ratings", 1), ("--evaluate",)):
        _, err = run(capsys, "recommend", path, *asked, "-k", 1, code=2)
        assert "'u3' rates item 'f2' twice" in err and suggested(err)[-2:] == ["--set", "duplicates=last"]
        runs(capsys, err)


def test_other_suggestions(capsys, monkeypatch, survey):
    assert "latentbits data list" in run(capsys, "data", "fetch", "nothing", code=2)[1]
    run(capsys, "data", "list")

    def broken(path):
        raise RuntimeError("the unexpected")

    with monkeypatch.context() as patched:
        patched.setattr(latentbits, "load", broken)
        _, err = run(capsys, "sample", survey[1], code=1)
        with pytest.raises(RuntimeError):
            main(suggested(err.strip().removesuffix(")")))


def test_words_are_not_for_numbers(capsys, tmp_path):
    """They are refused by their own names, not by that of an option that was not given."""
    path = tmp_path / "n.csv"
    path.write_text("a,b,c\n1,2,x\n3,4,y\n")
    for words in (("classify", path, "--label", "c"), ("fit", path, "--label", "c", "-m", "plsa")):
        _, err = run(capsys, *words, "--one", "ja", "--zero", "nein", code=2)
        assert "leave out --one and --zero" in err and "--binarize" not in err
        assert "leave out --binarize" in run(capsys, *words, "--binarize", 1, code=2)[1]


def test_no_other_suggestions():
    """Whoever adds a command to a message adds it to this file."""
    commands = ["data", *(command.callback.__name__ for command in app.registered_commands)]
    pattern = rf"latentbits (?:{'|'.join(commands)}) "
    found = set()
    for path in SOURCE.rglob("*.py"):
        text = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
        calls = re.findall(r"\b(?:again|exchanged|with_command|advice)\(", text)
        if re.search(pattern, text) or (calls and path.name != "typed.py"):
            found.add(path.relative_to(SOURCE).as_posix())
    cli = {f"cli/{name}.py" for name in ("explore", "links", "models", "options", "weights")}
    assert found == cli | {"datasets/prepared.py", "exploring/page_content.py", "data/triage.py"}


def test_data_sets_by_name(capsys, tmp_path, monkeypatch):
    """Every command takes the name of a data set, as `data list` says."""
    monkeypatch.chdir(tmp_path)
    run(capsys, "fit", "votes", "-k", 2, "--starts", 1)
    by_name = run(capsys, "transform", "votes.latentbits", "votes")[0]
    assert by_name == run(capsys, "transform", "votes.latentbits", path_of("votes"), "--label", "party")[0]
    assert "435 rows x 16 columns" in run(capsys, "data", "describe", "votes")[0]
