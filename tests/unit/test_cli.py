"""The commands as a user types them."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import latentbits
from latentbits.cli.main import main
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
    rows = rows_of(run(capsys, "explain", model, VOTES, "--label", "party", "--surprising", 5)[0])
    surprises = [float(row["surprise"]) for row in rows]
    assert len(rows) == 5 and surprises == sorted(surprises, reverse=True) and surprises[-1] > 2


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
    assert "not written by latentbits" in run(capsys, "transform", VOTES, VOTES, code=2)[1]
    assert run(capsys, "fit", code=2)[1]
    assert os.listdir(tmp_path) == []


def test_unwritable_output(capsys, model, tmp_path):
    (tmp_path / "file").write_text("x")
    out, err = run(capsys, "sample", model, "-o", tmp_path / "file" / "out.csv", code=2)
    assert "cannot be written" in err and out == ""


def test_unexpected_errors_are_one_line(capsys, monkeypatch, model):
    def broken(path):
        raise RuntimeError("the unexpected")

    monkeypatch.setattr("latentbits.persist.load", broken)
    monkeypatch.setattr(latentbits, "load", broken)
    assert "--debug" in run(capsys, "sample", model, code=1)[1]
    with pytest.raises(RuntimeError):
        main(["--debug", "sample", str(model)])


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


def test_fit_samplers(capsys, caplog, tmp_path, monkeypatch):
    """Chains from the command line: no -k for the process, doubts in words, answers from the saved model."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO", "latentbits.fit")
    out, _ = run(
        capsys, "fit", VOTES, "--label", "party", "-m", "dp", "--chains", 2, "--warmup", 10, "--draws", 8, "--set",
        "learn_weight_concentration=true", "-o", "dp.latentbits",
    )  # fmt: skip
    assert "DPBernoulliMixture on 435 rows and 16 features: 2 chains, 8 draws kept of each" in out
    assert "chain 2, sweep 26: objective" in caplog.text and ", done" in caplog.text and "settled" not in caplog.text
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
