"""``model.report``: the page of one fitted model, without a comparison."""

from __future__ import annotations

import json
import warnings

import pytest
from sklearn.exceptions import NotFittedError

import latentbits
from latentbits import BernoulliMixture, ChowLiuTree
from latentbits.data import read_table
from latentbits.datasets import make_mixture
from latentbits.errors import InputError, LatentBitsWarning
from latentbits.families import FAMILIES
from tests.contracts import families as contracts

TESTED: dict = {}
for row in contracts.FAMILIES:
    TESTED.setdefault(type(row.make()).__name__, row)
EXPLAINING = [family for family in FAMILIES if "explain" in family.answers]
OTHERS = [family for family in FAMILIES if "explain" not in family.answers]


def content_of(page):
    """The data in a report."""
    return json.loads(page.read_text(encoding="utf-8").split('id="content">', 1)[1].split("</script>", 1)[0])


@pytest.fixture(scope="module")
def table():
    return make_mixture(120, 8, 2, spread=3.0, unknown=0.05, random_state=0)


@pytest.fixture(scope="module")
def model(table):
    return BernoulliMixture(2, n_init=2, random_state=0).fit(table.data)


@pytest.mark.parametrize("family", EXPLAINING, ids=lambda family: family.cls)
def test_every_family_that_explains_cells_has_a_page(family, tmp_path):
    one = TESTED[family.cls]
    X, fitted = one.table(), one.fitted()
    page = fitted.report(X, tmp_path / "deep" / "page.html")
    assert page == tmp_path / "deep" / "page.html"
    content = content_of(page)
    (reading,) = content["readings"]
    assert reading["family"] == family.name and content["comparison"] is None and content["name"] == "page"
    assert content["shape"] == list(X.shape) and content["notes"] == fitted._doubts_told()
    assert content["command"] == "model.report(X, ...)"


@pytest.mark.parametrize("family", OTHERS, ids=lambda family: family.cls)
def test_families_that_do_not_explain_cells_have_none(family):
    assert not hasattr(TESTED[family.cls].make(), "report") and not hasattr(TESTED[family.cls].fitted(), "report")


def test_names_labels_and_ids_are_on_the_page(model, table, tmp_path):
    labels = {"kind": [f"k{cause}" for cause in table.causes], "none": [None] * 120}
    ids = [f"<i>{i}</i>" for i in range(120)]
    given = {"mixture": {"class 1": "early risers"}, "aspect": {"cause 1": "other"}}
    page = model.report(table.data, str(tmp_path / "p.HTML"), name="habits", labels=labels, ids=ids, names=given)
    content = content_of(page)
    assert content["name"] == "habits" and content["rows"]["ids"][:2] == ids[:2]
    assert [label["name"] for label in content["labels"]] == ["kind", "none"]
    assert content["labels"][0]["values"] == ["k0", "k1"] or content["labels"][0]["values"] == ["k1", "k0"]
    assert [part["name"] for part in content["readings"][0]["parts"]] == ["early risers", "class 2"]
    assert "early risers" in content["overview"][0] and any("kind" in told for told in content["overview"])
    assert model.component_names_ == ["class 1", "class 2"]  # the model's own


def test_labels_and_ids_of_a_table_that_was_read_are_shown(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(
        "id,a,b,c,side\n" + "\n".join(f"r{i},{i % 2},{i % 2},1,x" for i in range(30)) + "\n"
    )
    read = read_table(tmp_path / "t.csv", id_column="id", label_columns=["side"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        tree = ChowLiuTree().fit(read.reader)
        content = content_of(tree.report(read, tmp_path / "page.htm"))
    assert content["rows"]["ids"][:2] == ["r0", "r1"] and content["labels"][0]["name"] == "side"
    assert content["readings"][0]["kind"] == "tree"


def test_what_cannot_be_reported_is_refused(model, table, tmp_path):
    for wrong, words in (
        ({"labels": {"kind": ["a"]}}, "report: kind has 1 entries for 120 rows"),
        ({"ids": ["a", "b"]}, "report: ids has 2 entries for 120 rows"),
        ({"names": {"class 9": "x"}}, "there is no component 'class 9'"),
        ({"names": {"aspect": {"cause 1": "x"}}}, "has names for 'aspect'"),
    ):
        with pytest.raises(InputError, match=words):
            model.report(table.data, tmp_path / "page.html", **wrong)
    with pytest.raises(InputError, match=r"page\.pdf: the report is an \.html file"):
        model.report(table.data, tmp_path / "page.pdf")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        model.report(table.data, tmp_path / "folder.html")
    with pytest.raises(InputError, match="transpose"):
        model.report(table.data.T, tmp_path / "page.html")
    with pytest.raises(NotFittedError):
        BernoulliMixture(2).report(table.data, tmp_path / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_the_same_page_is_written_twice(model, table, tmp_path):
    first, second = (model.report(table.data, tmp_path / f"{i}.html", name="t").read_bytes() for i in range(2))
    assert first == second and latentbits.__version__.encode() in first


def test_frames_from_transform_do_not_matter(table, tmp_path):
    """Whatever scikit-learn is told to give out, the page is the same."""
    import sklearn

    pytest.importorskip("pandas")
    labels = {"kind": [f"k{c}" for c in table.causes]}
    pages = []
    for output in ("default", "pandas"):
        for make in (lambda: BernoulliMixture(2, random_state=0), lambda: latentbits.BinaryGTM((3, 3), tol=1e-3)):
            with sklearn.config_context(transform_output=output):
                made = make().fit(table.data)
                pages.append(content_of(made.report(table.data, tmp_path / "page.html", labels=labels)))
    assert pages[0]["readings"] == pages[2]["readings"] and pages[1]["map"] == pages[3]["map"]
