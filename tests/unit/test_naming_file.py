"""Files of names, as the report's page writes them: on the command line and in Python."""

from __future__ import annotations

import copy
import json

import pytest

import latentbits
from latentbits import AspectBernoulli, BernoulliMixture, BinaryGTM
from latentbits.datasets import make_mixture
from latentbits.errors import FileError, InputError
from tests.unit.test_cli import rows_of, run

X = make_mixture(150, 8, 3, spread=3.0, random_state=0).data


@pytest.fixture(scope="module")
def fitted():
    return BernoulliMixture(3, n_init=1, random_state=0).fit(X)


@pytest.fixture
def model(fitted, tmp_path):
    """A file of a model, beside its table."""
    lines = [",".join(str(int(cell)) for cell in row) for row in X]
    (tmp_path / "t.csv").write_text("\n".join([",".join("abcdefgh"), *lines]) + "\n")
    path = tmp_path / "m.latentbits"
    fitted.save(path)
    return path


def written(folder, names):
    """A file of names."""
    path = folder / "names.json"
    path.write_text(names if isinstance(names, str) else json.dumps(names), encoding="utf-8")
    return path


def content_of(page):
    """The data in a report."""
    return json.loads(page.read_text(encoding="utf-8").split('id="content">', 1)[1].split("</script>", 1)[0])


BY_FAMILY = {"mixture": {"class 3": "pop voters", "class 1": "Früh"}, "aspect": {"cause 1": "other"}}
FLAT = {"class 3": "pop voters", "1": "Früh"}


@pytest.mark.parametrize("names", [BY_FAMILY, FLAT, {"BernoulliMixture": FLAT}], ids=["page", "flat", "class"])
def test_a_model_takes_the_names(capsys, model, tmp_path, names):
    _, err = run(capsys, "name", model, "--names", written(tmp_path, names))
    assert f"class 1 is now called Früh in {model}" in err and "class 3 is now called pop voters" in err
    assert latentbits.load(model).component_names_ == ["Früh", "class 2", "pop voters"]
    # The same file again, and one that was downloaded later from the same page.
    assert "called so already" in run(capsys, "name", model, "--names", tmp_path / "names.json")[1]
    out, _ = run(
        capsys, "name", model, "--names", written(tmp_path, {"mixture": {"class 3": "swing voters"}}), "--json"
    )
    assert [row["component"] for row in json.loads(out)] == ["Früh", "class 2", "swing voters"]


@pytest.mark.parametrize("names", [BY_FAMILY, FLAT], ids=["page", "flat"])
def test_a_report_takes_the_names(capsys, model, tmp_path, names):
    page, before = tmp_path / "page.html", model.read_bytes()
    run(capsys, "report", model, tmp_path / "t.csv", "--names", written(tmp_path, names), "-o", page)
    parts = content_of(page)["readings"][0]["parts"]
    assert [part["name"] for part in parts] == ["Früh", "class 2", "pop voters"]
    assert content_of(page)["command"] == f"latentbits report MODEL {tmp_path / 't.csv'}"
    assert model.read_bytes() == before


def test_names_are_used_from_then_on(capsys, model, tmp_path):
    run(capsys, "name", model, "--names", written(tmp_path, BY_FAMILY))
    assert list(rows_of(run(capsys, "transform", model, tmp_path / "t.csv")[0])[0]) == ["Früh", "class 2", "pop voters"]
    run(capsys, "name", model, "pop voters", "swing voters")
    assert [row["component"] for row in rows_of(run(capsys, "name", model)[0])] == ["Früh", "class 2", "swing voters"]


WRONG = {
    "unknown component": ({"class 9": "x"}, "there is no component 'class 9'; they are numbered 1 to 3"),
    "unknown number": ({"4": "x"}, "there is no component '4'; they are numbered 1 to 3"),
    "unknown in its family": ({"mixture": {"cause 1": "x"}}, "there is no component 'cause 1'"),
    "other family": (
        {"aspect": {"cause 1": "x"}, "gtm": {"region 1": "y"}},
        "has names for 'aspect' and 'gtm', but this model is of the family 'mixture'",
    ),
    "no JSON": ("{'class 1': 'x'}", "is no JSON file"),
    "nothing": ("", "is no JSON file"),
    "deep": ("[" * 100_000, "is no JSON file"),
    "a list": (["pop voters"], "holds no names but a 'list'"),
    "mixed": ({"mixture": {"class 1": "x"}, "class 2": "y"}, "holds a family, 'mixture', and a single name, 'class 2'"),
    "no name": ({"class 1": ""}, "the name of a component is one line of text"),
    "no text": ({"class 1": 3}, "the name of a component is one line of text"),
    "many lines": ({"mixture": {"class 1": "a\nb"}}, "the name of a component is one line of text"),
    "same name": ({"class 1": "x", "class 2": "x"}, "two components would be called 'x'"),
    "twice": ('{"class 1": "x", "class 1": "y"}', "'class 1' stands twice"),
    "two keys": ({"class 1": "x", "1": "y"}, "'class 1' is given two names"),
}


@pytest.mark.parametrize("names, words", WRONG.values(), ids=WRONG)
def test_wrong_files_are_refused(capsys, model, tmp_path, names, words):
    before, file = model.read_bytes(), written(tmp_path, names)
    page = tmp_path / "page.html"
    for command in (("name", model), ("report", model, tmp_path / "t.csv", "-o", page)):
        err = run(capsys, *command, "--names", file, code=2)[1]
        assert words in err and len(err) < 1000
    assert model.read_bytes() == before and not page.exists()


def test_other_mistakes_are_told(capsys, model, tmp_path):
    assert "there is no file" in run(capsys, "name", model, "--names", tmp_path / "no.json", code=2)[1]
    assert "cannot be read" in run(capsys, "name", model, "--names", tmp_path, code=2)[1]
    (tmp_path / "latin.json").write_bytes('{"class 1": "Früh"}'.encode("latin-1"))
    assert "is no JSON file" in run(capsys, "name", model, "--names", tmp_path / "latin.json", code=2)[1]
    file = written(tmp_path, FLAT)
    assert "given with --names" in run(capsys, "name", model, file, code=2)[1]
    assert "leave out '1'" in run(capsys, "name", model, 1, "x", "--names", file, code=2)[1]
    assert "called so already" in run(capsys, "name", model, "--names", written(tmp_path, {}))[1]


def test_names_in_python(fitted, tmp_path):
    named = copy.copy(fitted)
    file = written(tmp_path, BY_FAMILY)
    for given in (file, str(file), BY_FAMILY, {1: "Früh", 3: "pop voters"}):
        assert copy.copy(fitted).name_components(given).component_names_ == ["Früh", "class 2", "pop voters"]
    # Names exchange, and what a component is called comes before what it was called at first.
    named.name_components({"class 1": "class 2", "class 2": "class 1"})
    assert named.component_names_ == ["class 2", "class 1", "class 3"]
    assert named.name_components({"class 1": "x"}).component_names_ == ["class 2", "x", "class 3"]
    with pytest.raises(FileError, match="there is no file"):
        named.name_components("late risers")
    with pytest.raises(InputError, match="the dict of names has names for 'aspect'"):
        named.name_components({"aspect": {}})
    with_bom = tmp_path / "bom.json"
    with_bom.write_text(json.dumps(FLAT), encoding="utf-8-sig")
    assert copy.copy(fitted).name_components(with_bom).component_names_[0] == "Früh"


def test_what_a_report_says_its_parts_are_called_the_model_knows(tmp_path):
    """The page writes names under the families and the parts of its content; so they must fit."""
    for model in (
        AspectBernoulli(2, n_init=1, max_iter=20, random_state=0),
        BinaryGTM(latent_shape=(4, 4), max_iter=20, random_state=0),
    ):
        with pytest.warns(latentbits.errors.NotConvergedWarning):
            model.fit(X)
        (reading,) = content_of(model.report(X, tmp_path / "page.html"))["readings"]
        new = {reading["family"]: {part["name"]: f"our {part['name']}" for part in reading["parts"]}}
        assert model.name_components(new).component_names_ == [f"our {part['name']}" for part in reading["parts"]]
