"""What notebooks show: every fitted estimator and result as HTML that is whole, safe and readable on any background."""

from __future__ import annotations

import copy
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import latentbits
from latentbits import (
    AspectBernoulli,
    BayesianBernoulliMixture,
    BernoulliGaussClassifier,
    BernoulliMixture,
    ChowLiuTree,
    LatentTrait,
    NoisyOrComponentAnalysis,
    TreeMixture,
)
from latentbits.base.notebook import MOST_SHOWN, NAME_IN_GIST
from latentbits.datasets import make_mixture
from latentbits.errors import LatentBitsWarning
from latentbits.families import FAMILIES
from latentbits.html import COLOURS, Html, box, dot, opposed_bar, stacked_bar, table, tag, text
from tests.contracts import families as contracts

pd = pytest.importorskip("pandas")

EVIL = "<script>alert(1)</script>\"' onmouseover=alert(2) </span></div>"
TESTED: dict = {}
for row in contracts.FAMILIES:
    TESTED.setdefault(type(row.make()).__name__, row)
# Colours that text, bars and lines may have: those of the page, and some that stand out from light and dark.
ALLOWED = {"inherit", "none", "currentColor", "#8883", "#e08a1e", *COLOURS}


class Seen(HTMLParser):
    """Text, tags and styles of a piece of HTML, in which every tag must be closed where it should be."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.said, self.styles, self.titles = [], set(), [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        assert name in {"div", "span", "b", "code", "table", "tr", "th", "td"}, name
        assert {key for key, _ in attributes} <= {"style", "title"}, attributes
        self.open.append(name)
        self.tags.add(name)
        given = dict(attributes)
        self.styles.append(given.get("style", ""))
        self.titles.append(given.get("title", ""))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.said.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    @property
    def text(self):
        return " ".join("".join(self.said).split())


def seen(thing):
    """What a notebook shows of something."""
    found = Seen(thing if isinstance(thing, str) else thing._repr_html_())
    for style in found.styles:
        for name, value in re.findall(r"(color|background|border[\w-]*):([^;]*)", style):
            colours = set(re.findall(r"#\w+|\b(?:inherit|none|currentColor|black|white|rgb\w*)\b", value))
            assert colours <= ALLOWED, (name, value)
    return found


def quiet(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return make()


def votes():
    """The votes of all who voted at all."""
    table = latentbits.datasets.load_votes()
    frame = pd.DataFrame(table.data, columns=table.feature_names)
    return frame[frame.notna().any(axis=1)].reset_index(drop=True)


def frame_of_family(one):
    """The table of a family's contracts, with evil names of columns."""
    made = one.table()
    if one.kind == "ratings":
        return made
    return pd.DataFrame(made, columns=[f"{EVIL} {j}" for j in range(made.shape[1])])


# Estimators.


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_every_family_shows_what_it_found(family, tmp_path):
    one = TESTED[family.cls]
    X = frame_of_family(one)
    model = one.fit(X)
    found = seen(model)
    assert found.text.lower().startswith(f"{family.title.lower()}: {family.story.lower()}")
    assert f"{X.shape[1]:,} columns" in found.text and f"{family.cls}(" in found.text
    assert "bars: " in found.text and found.text.count("NaN") == 0
    if one.kind != "ratings":
        assert "<script>alert(1)</script>" in found.text  # as text
    if hasattr(model, "components_table") and family.cls != "ChowLiuTree":
        regions = hasattr(model, "regions_table")
        rows = model.regions_table(top=1) if regions else model.components_table(1)
        names = list(dict.fromkeys(row["component"] for row in rows))
        assert sum(name in found.text for name in names) >= min(len(names), MOST_SHOWN)
    for doubt in model._doubts_told():
        assert f"⚠ {doubt}"[:60] in found.text
    model.save(tmp_path / "model")
    before, after = (
        shown._repr_html_().partition("<code")[0] for shown in (model, latentbits.load(tmp_path / "model"))
    )
    assert before == after
    assert len(model._repr_html_()) < 60_000


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.cls)
def test_what_is_not_fitted_keeps_the_diagram(family):
    estimator = TESTED[family.cls].make()
    assert "sk-top-container" in estimator._repr_html_()
    assert set(estimator._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_a_fitted_estimator_and_its_clone():
    model = BernoulliMixture(2, n_init=1, random_state=0).fit(votes())
    shown = model._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/html"] == model._repr_html_() and shown["text/plain"] == repr(model)
    assert "sk-top-container" in clone(model)._repr_html_()
    assert "sk-top-container" in make_pipeline(model)._repr_html_()


def test_where_text_is_to_be_shown_there_is_no_html():
    model = BernoulliMixture(2, n_init=1, random_state=0).fit(votes())
    with sklearn.config_context(display="text"):
        for estimator in (model, BernoulliMixture(2)):
            assert not hasattr(estimator, "_repr_html_")
            assert estimator._repr_mimebundle_() == {"text/plain": repr(estimator)}


def test_features_are_told_as_the_tables_tell_them():
    model = BernoulliMixture(3, random_state=0).fit(votes())
    model.name_components({1: "<i>pop</i> voters"})
    found, rows = seen(model), model.components_table(6)
    for row in rows:
        assert row["feature"] in found.text and f"{row['probability']:.2f}" in found.text
    assert "434 rows × 16 columns" in found.text and "of 5 starts" in found.text
    assert "<i>pop</i> voters" in found.text and "i" not in found.tags
    best = rows[0]
    assert f"{best['probability']:.3g}; in all rows {best['marginal']:.3g}" in found.titles


def test_long_names_are_cut():
    X = make_mixture(60, 6, 2, spread=3.0, random_state=0).data
    model = BernoulliMixture(2, n_init=1, random_state=0).fit(
        pd.DataFrame(X, columns=[f"{j}" + "x" * 300 for j in range(6)])
    )
    assert max(map(len, re.findall(r"\dx+…?", seen(model).text))) <= 60
    assert all(len(word) <= NAME_IN_GIST for word in re.findall(r"\dx+…", model._gist()))


def test_many_components_are_cut():
    X = make_mixture(300, 12, 3, spread=3.0, random_state=0).data
    model = quiet(lambda: BernoulliMixture(12, n_init=1, max_iter=3, random_state=0).fit(X))
    text = seen(model).text
    assert "; 4 more not shown" in text and "and 8 more" in text


# Doubts.


def test_a_fit_that_was_stopped_is_doubted():
    model = quiet(lambda: BernoulliMixture(3, max_iter=1, n_init=1, random_state=0).fit(votes()))
    assert "⚠ Stopped before it settled, after 1 pass. Raise max_iter or tol." in seen(model).text
    assert "⚠" not in seen(BernoulliMixture(2, random_state=0).fit(votes())).text


def test_empty_components_are_doubted():
    X = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]] * 20, float)
    model = quiet(lambda: BernoulliMixture(5, n_init=1, random_state=0).fit(X))
    model.name_components({3: EVIL})
    text = seen(model).text
    assert f"⚠ {EVIL}, class 4, class 5 are next to empty. Use fewer components." in text


def test_other_doubts_are_told():
    X = make_mixture(60, 6, 2, random_state=0).data
    X[:, 2] = np.nan
    model = quiet(lambda: BernoulliMixture(3, n_init=2, random_state=0).fit(X))
    model.duplicate_components_ = [[0, 2]]
    model.restarts_ = [*model.restarts_, {"error": "no luck"}]
    text = seen(model).text
    assert "⚠ class 1 and class 3 are alike. Use fewer components." in text
    assert "⚠ 1 of 3 starts failed and were left out." in text
    assert "⚠ 1 column without any known cell; the prior alone speaks there." in text


def test_chains_that_do_not_agree_are_doubted():
    model = quiet(lambda: BayesianBernoulliMixture(3, n_chains=2, n_warmup=1, n_draws=4, random_state=0).fit(votes()))
    told = model._doubts_told()
    assert told and told[0].startswith("chains: ") and f"⚠ {told[0]}" in seen(model).text
    assert seen(model).text.count("chains: ") == 1  # not among the facts, too


def test_a_stream_is_not_said_to_have_been_stopped():
    model = BernoulliMixture(2, random_state=0)
    for part in np.array_split(make_mixture(200, 8, 2, random_state=0).data, 4):
        model.partial_fit(part)
    assert "Stopped" not in seen(model).text and "8 columns" in seen(model).text


# Families with something of their own.


def test_trees_show_their_pairs():
    X = votes()
    tree = ChowLiuTree().fit(X)
    first = tree.pairs_table(1)[0]
    text = seen(tree).text
    joined = "{} and {}" if first["together"] else "either {} or {}"
    assert f"Columns go in pairs: {joined.format(first['first'], first['second'])};" in text
    assert f"{first['information']:.3f}" in text and "mutual information" in text
    mixed = seen(quiet(lambda: TreeMixture(2, n_init=1, max_iter=10, random_state=0).fit(X))).text
    assert "class 2" in mixed and "Columns that tell most about each other" in mixed
    alone = quiet(lambda: ChowLiuTree().fit([[0], [1], [1]]))
    assert "No column tells anything about another" in seen(alone).text


def test_a_classifier_shows_its_classes():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 6)).astype(float)
    X[:30, :2] += 5
    y = np.array([EVIL] * 30 + ["plain"] * 30)
    model = quiet(lambda: BernoulliGaussClassifier(n_components=1, random_state=0, max_iter=30).fit(X, y))
    text = seen(model).text
    assert "2 classes · 60 rows × 6 columns" in text and f"{EVIL}: 1 topic" in text and "plain 50%" in text


# Explanations.


def explained(model, X, cells=None):
    return quiet(lambda: model.fit(X)).explain(X, cells=cells)


def test_the_most_surprising_cells_are_shown():
    X = pd.DataFrame(votes().to_numpy(), columns=[f"{EVIL} {j}" for j in range(16)])
    told = explained(BernoulliMixture(2, n_init=1, random_state=0), X)
    found, records = seen(told), told.to_frame().sort_values("surprise", ascending=False)
    assert "6,944 cells explained; the 10 most surprising" in found.text
    for _, row in records.head(10).iterrows():
        assert f"{row['column']}"[:59] in found.text and f"{row['probability']:.3f}" in found.text
    assert "blank" not in found.text and "class 1" in found.text and "class 2" in found.text


def test_unknown_cells_are_shown_where_there_are_no_others():
    X = votes()
    rows, columns = np.nonzero(np.isnan(X))
    model = BernoulliMixture(2, n_init=1, random_state=0).fit(X)
    assert f"{len(rows)} cells explained; the first 10" in seen(model.explain(X, cells=(rows, columns))).text
    few = seen(model.explain(X, cells=(rows[:2], columns[:2])))
    assert "2 cells explained" in few.text and few.text.count("blank") == 2
    assert "0 cells explained" in seen(model.explain(X, cells=([], []))).text


def test_each_kind_of_cause_is_shown_as_it_is():
    X = votes()
    leaky = seen(explained(NoisyOrComponentAnalysis(2, n_init=1, max_iter=10, random_state=0), X))
    assert leaky.text.endswith("leak") and any("leak" in title for title in leaky.titles)
    phantom = AspectBernoulli(3, n_phantom=1, n_init=1, max_iter=20, random_state=0)
    assert "lost" in seen(explained(phantom, X)).text
    many = seen(explained(BernoulliMixture(10, n_init=1, max_iter=5, random_state=0), X[:60]))
    assert many.text.endswith("others")
    tree = seen(explained(ChowLiuTree(), X))
    assert "argues most" in tree.text and "tree 1" not in tree.text


def test_scales_argue_for_both_values():
    X = votes()
    told = explained(LatentTrait(2, n_init=1, max_iter=10, random_state=0), X)
    found = seen(told)
    i = int(np.nanargmax(told.surprise))
    sides = [f"scale {k + 1} for {int(told.evidence[i, k] > 0)} {told.share[i, k]:.0%}" for k in range(2)]
    assert any(all(side in title for side in sides) for title in found.titles)
    assert "for 0 ← → for 1" in found.text and told.take(np.arange(3)).kind == "scales"


# Results.


@pytest.fixture(scope="module")
def compared():
    X = make_mixture(200, 10, 3, spread=3.0, random_state=0).data
    return quiet(lambda: latentbits.compare(X, ["mixture", "aspect"], n_components=[2, 3], folds=1))


def test_a_comparison_shows_its_table(compared):
    found = seen(compared)
    assert found.text.startswith(compared.headline)
    for row in compared.table:
        assert row["title"] in found.text and f"{row['log_loss']:.4f}" in found.text and row["standing"] in found.text
    left_out = {**compared.table[-1], "title": EVIL, "note": "too <b>dear</b>", "standing": "left out"}
    del left_out["log_loss"]
    assert "left out too <b>dear</b>" in seen(replace(compared, table=[*compared.table, left_out])).text


def test_an_exploration_shows_what_it_found(tmp_path):
    X = make_mixture(200, 8, 2, spread=3.0, random_state=0).data
    names = [f"{EVIL} {j}" for j in range(8)]
    found = quiet(
        lambda: latentbits.explore(
            pd.DataFrame(X, columns=names), tmp_path / "out", name=EVIL, models=["mixture"], n_components=[2], folds=1
        )
    )
    text = seen(found).text
    assert text.startswith(EVIL) and "class 1" in text and "report.html" in text and "rows.csv" in text
    for sentence in found.overview:
        assert " ".join(sentence.split()) in text


# Pieces.


def test_only_html_is_not_escaped():
    assert text("a<b") == "a&lt;b" and text(text("a<b")) == "a&lt;b" and isinstance(text(1), Html)
    assert text("a\u202eb\nc") == "a b c"
    assert tag("b", "&", title='"') == '<b title="&quot;">&amp;</b>'
    assert seen(box("<t>", table(["<h>"], [["<c>"]]))).text == "<t><h><c>"


def test_bars_stay_on_their_tracks():
    pieces = [stacked_bar([0.5, 0.6, -1.0, float("nan")]), opposed_bar([0.9, 0.9], [0.0, 0.0]), dot(9.0, 1.0, 0.0, 1.0)]
    pieces += [dot(0.5, 3.0, 0.0, 1.0), dot(0.0, 0.0, 0.0, 0.0)]
    for piece in pieces:
        shares = [float(share) for share in re.findall(r"(?:left|width):([\d.e-]+)%", piece)]
        assert shares and all(0 <= share <= 100 for share in shares)
    assert "›" in pieces[2] and "›" not in pieces[3]


def test_a_copy_is_shown_by_its_own_names():
    model = BernoulliMixture(2, n_init=1, random_state=0).fit(votes())
    named = copy.copy(model).name_components({1: "ours"})
    assert "ours" in seen(named).text and "ours" not in seen(model).text
