"""What was found and what the rows are made of, in a real browser: every kind of structure in its own words."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import latentbits
from latentbits.errors import LatentBitsWarning
from latentbits.exploring.job import report_on

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

N_ROWS = 240


def frame_of(data, name):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(data, columns=[f"{name} {j + 1}" for j in range(np.shape(data)[1])])


def explored(folder, data, name, labels, models, n_components):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        found = latentbits.explore(
            frame_of(data, name), folder, name=name, labels=labels, models=models, n_components=n_components, folds=1
        )
    return found.report


def planted():
    """Classes with a word, a number, noise, and a label whose values do not come again."""
    made = latentbits.datasets.make_mixture(N_ROWS, 14, 3, spread=3.0, random_state=2)
    draws, causes = np.random.default_rng(0), np.asarray(made.causes)
    labels = {
        "site": [("north", "south", "west")[c] for c in causes],
        "income": 1e6 + 250_000.0 * causes + draws.normal(size=N_ROWS) * 60_000,
        "coin": [("heads", "tails")[k] for k in draws.integers(0, 2, N_ROWS)],
        "key": [f"id {i}" for i in range(N_ROWS)],
    }
    return made.data, labels


@pytest.fixture(scope="module")
def blends(tmp_path_factory):
    """Two readings: classes and shares."""
    data, labels = planted()
    return explored(tmp_path_factory.mktemp("blends"), data, "feature", labels, ["mixture", "aspect"], [3])


@pytest.fixture(scope="module")
def scales(tmp_path_factory):
    """Two scales; a number falls with one, a word is told by the other."""
    draws = np.random.default_rng(1)
    scores, loadings = draws.normal(size=(N_ROWS, 2)), np.zeros((2, 24))
    loadings[0, :12], loadings[1, 12:] = draws.choice([-2.5, 2.5], 12), draws.choice([-2.5, 2.5], 12)
    data = (draws.random((N_ROWS, 24)) < 1 / (1 + np.exp(-scores @ loadings))).astype(int)
    labels = {
        "elevation": 1200 - 400 * scores[:, 0] + 60 * draws.normal(size=N_ROWS),
        "forest": np.where(scores[:, 1] + 0.3 * draws.normal(size=N_ROWS) > 0, "yes", "no").tolist(),
    }
    return explored(tmp_path_factory.mktemp("scales"), data, "item", labels, ["trait"], [2])


def page_on(tmp_path_factory, model, data, name):
    """A report on one fitted model, without a comparison."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        frame = frame_of(data, name)
        text = report_on(model.fit(frame), frame, name=name)
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(text, encoding="utf-8")
    return path


def section(page):
    return page.locator("#components")


def first_card(page):
    return page.locator("#reading article").first


def test_the_overview_says_at_most_three_things_and_the_first_is_the_largest(open_page, blends):
    page = open_page(blends)
    told = page.locator("#found p").all_inner_texts()
    assert 1 < len(told) <= 3 and "classes" in told[0]
    sizes = page.locator("#found p").evaluate_all("ps => ps.map(p => parseFloat(getComputedStyle(p).fontSize))")
    assert sizes[0] == max(sizes) and sizes[0] > sizes[1] > 16
    assert "240 rows" in page.locator("#facts").inner_text()
    assert page.locator("#facts details").count() == 0 or not page.locator("#facts details").get_attribute("open")
    links = page.locator("#nav a").all_inner_texts()
    assert links[:2] == ["Overview", "What rows are made of"] and {"Try a row", "Families", "Checks"} <= set(links)
    assert page.locator("#nav a").evaluate_all("as => as.every(a => document.querySelector(a.getAttribute('href')))")
    assert page.told == []


def test_a_report_without_a_comparison_has_no_families(open_page, tmp_path_factory):
    data, _ = planted()
    page = open_page(page_on(tmp_path_factory, latentbits.ChowLiuTree(), data, "col"))
    assert "Families" not in page.locator("#nav").inner_text() and page.locator("#families").count() == 0


def test_tabs_are_equal_and_go_by_mouse_and_keys(open_page, blends):
    page = open_page(blends)
    tabs = page.get_by_role("tab")
    assert tabs.count() == 2
    assert "The rows fall into 3 classes" in tabs.nth(0).inner_text() and "blend" in tabs.nth(1).inner_text()
    assert "predicts" in tabs.nth(0).inner_text() and "predicts" in tabs.nth(1).inner_text()
    assert tabs.nth(0).get_attribute("aria-selected") == "true"
    assert "Every row belongs to one class" in page.locator("#reading").inner_text()
    tabs.nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "reading-1"
    assert page.locator("#reading").get_attribute("aria-labelledby") == "reading-1"
    assert "Every row is a blend" in page.locator("#reading").inner_text()
    page.keyboard.press("Home")
    assert tabs.nth(0).get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowLeft")  # round the end
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    assert tabs.evaluate_all("ts => ts.map(t => t.tabIndex)") == [-1, 0]
    tabs.nth(0).click()
    assert "Every row belongs to one class" in page.locator("#reading").inner_text() and page.told == []


def test_the_slider_goes_from_frequent_to_typical(open_page, blends):
    page = open_page(blends)
    slider, said = page.locator("#relevance"), page.locator(".relevance output")
    assert "λ = 0.40" in said.inner_text() and said.get_attribute("aria-live") == "polite"

    def columns():
        return first_card(page).locator(".bars").first.locator(".name").all_inner_texts()

    def ranked(lam):
        return page.evaluate(
            """lam => { const c = JSON.parse(document.getElementById('content').textContent), r = c.readings[0];
            const raw = Uint8Array.from(atob(r.profiles), x => x.charCodeAt(0)), p = new Float32Array(raw.buffer);
            const score = j => { const a = Math.max(p[j], 1e-4), m = Math.max(c.marginals[j], 1e-4);
              return lam * Math.log(a) + (1 - lam) * Math.log(a / m); };
            return c.columns.map((_, j) => j).sort((a, b) => score(b) - score(a)).map(j => c.columns[j]); }""",
            lam,
        )

    before = columns()
    assert before == ranked(0.4)[: len(before)]
    slider.focus()
    page.keyboard.press("Home")
    frequent = columns()
    assert "λ = 1.00" in said.inner_text() and "frequent" in slider.get_attribute("aria-valuetext")
    assert frequent == ranked(1.0)[: len(frequent)]
    page.keyboard.press("End")
    typical = columns()
    assert "λ = 0.00" in said.inner_text() and typical[0] == ranked(0.0)[0] and typical != frequent
    page.get_by_role("tab").nth(1).click()  # the place is kept
    assert "λ = 0.00" in page.locator(".relevance output").inner_text() and page.told == []


def test_more_columns_are_shown_when_asked_for(open_page, blends):
    page = open_page(blends)
    names = first_card(page).locator(".bars").first.locator(".name")
    assert names.count() <= 12
    first_card(page).get_by_role("button", name="Show more").click()
    assert names.count() == 14
    assert "Show fewer" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    assert names.count() <= 12 and page.told == []


def test_parts_are_renamed_in_place_and_everything_follows(open_page, blends):
    page = open_page(blends)
    first_card(page).get_by_role("button", name="Rename class 1").click()
    page.keyboard.type("early birds")
    page.keyboard.press("Escape")
    assert first_card(page).locator("h4").inner_text() == "class 1"
    page.keyboard.press("Enter")  # the button has the focus again
    page.keyboard.type("early birds")
    page.keyboard.press("Enter")
    assert first_card(page).locator("h4").inner_text() == "early birds"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Rename early birds"
    assert "class 1" in first_card(page).locator(".first").inner_text()  # what it was called
    assert "early birds" in page.locator("#found p").first.inner_text()
    assert "early birds" in page.get_by_role("tab").first.inner_text()
    assert "early birds" in page.locator("table.cross").first.inner_text()
    assert "class 1" not in page.locator("#reading .stated").inner_text()
    first_card(page).get_by_role("button", name="Rename early birds").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.press("Enter")  # an empty one brings the first name back
    assert first_card(page).locator("h4").inner_text() == "class 1"
    assert "early birds" not in page.locator("main").inner_text() and page.told == []


def test_names_are_downloaded_and_loaded(open_page, blends, tmp_path):
    page = open_page(blends)
    family = page.evaluate("JSON.parse(document.getElementById('content').textContent).readings[0].family")
    first_card(page).get_by_role("button", name="Rename class 1").click()
    page.keyboard.type("ünïcödé & <b>")
    page.keyboard.press("Enter")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the names").click()
    kept = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(kept)
    assert kept.name == "names.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == {family: {"class 1": "ünïcödé & <b>"}}
    other = open_page(blends)
    other.locator("#names-file").set_input_files(kept)
    other.locator("#names [role=status]", has_text="1 name taken").wait_for()
    assert first_card(other).locator("h4").inner_text() == "ünïcödé & <b>"
    wrong = tmp_path / "wrong.json"
    wrong.write_text("[1, 2", encoding="utf-8")
    other.locator("#names-file").set_input_files(wrong)
    other.locator("#names [role=status]", has_text="no names").wait_for()
    wrong.write_text(json.dumps({family: {"class 2": "x", "class 77": "y"}}), encoding="utf-8")
    other.locator("#names-file").set_input_files(wrong)
    other.locator("#names [role=status]", has_text="1 belong").wait_for()
    assert "names.json" in section(other).locator("code").inner_text() and page.told == [] and other.told == []


def test_circles_lead_to_cards(open_page, blends):
    page = open_page(blends)
    assert "Most alike:" in page.locator(".distances").inner_text()
    page.locator(".distances a").nth(0).click()
    assert page.evaluate("document.activeElement.tagName") == "ARTICLE"
    page.locator(".distances a").nth(1).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id").startswith("part-") and page.told == []


def test_labels_of_classes(open_page, blends):
    page = open_page(blends)
    said = page.locator("#reading .stated").inner_text()
    assert "site" in said and "ncome" in said and "coin" not in said
    cross = page.locator("table.cross").first
    content = json.loads(page.locator("#content").text_content())
    reading = content["readings"][0]
    site = next(one for one in reading["associations"] if one["label"] == "site")
    words = next(label for label in content["labels"] if label["name"] == "site")["values"]
    assert cross.locator("thead th").all_inner_texts() == ["class", *words]
    for k, place in enumerate(reading["kept"]):  # counts of the class in this line
        line = cross.locator("tbody tr").nth(k)
        counts = line.locator("td span:first-child").all_inner_texts()
        assert [int(text) for text in counts] == site["details"]["counts"][place]
        top = int(np.argmax(site["details"]["counts"][place]))
        assert "more" in line.locator("td").nth(top).get_attribute("class")
    assert "Cramér's V" in page.locator(".card.whole .measure").first.inner_text()
    axis = page.locator(".strips").first.locator(".axis span").all_inner_texts()
    assert len(axis) > 1 and all("e" not in text and text.endswith("0,000") for text in axis)
    assert page.locator(".strips").first.locator(".strip").count() == 3
    fold = page.locator(".labels-shown details")
    assert fold.get_attribute("open") is None and "Not sure, or weak (1)" in fold.inner_text()
    assert "“key” do not come again" in page.locator(".labels-shown").inner_text()
    page.get_by_role("tab").nth(1).click()
    assert "The share of cause" in page.locator("#reading .stated").inner_text()
    assert "grows with income" in page.locator(".labels-shown").inner_text() or "shrinks with income" in (
        page.locator(".labels-shown").inner_text()
    )
    assert page.told == []


def test_scales_have_ends_and_curves_and_nothing_belongs_to_them(open_page, scales):
    page = open_page(scales)
    text = page.locator("#reading").inner_text()
    assert "nothing belongs to a scale" in text and "strongest in" not in text and "class" not in text
    assert page.locator("#relevance").count() == 0
    card = first_card(page)
    assert "low: more of item" in card.inner_text() and "high: more of item" in card.inner_text()
    bars = card.locator(".bar.signed").evaluate_all(
        """bs => bs.map(b => { const i = b.firstElementChild; return [i.className, parseFloat(i.style.left),
        parseFloat(i.style.left) + parseFloat(i.style.width)]; })"""
    )
    assert all(end <= 50.1 if way == "down" else start == 50 for way, start, end in bars)
    assert {way for way, _, _ in bars} == {"up", "down"}
    assert card.locator("polyline").count() == 6 and card.locator("rect").count() >= 20
    assert "Reliability" in card.inner_text() and "row total" not in card.inner_text()
    assert "(ρ = " in page.locator(".stated").inner_text() and "elevation" in page.locator(".stated").inner_text()
    assert "(AUC " in page.locator(".stated").inner_text()
    shown = page.locator(".card.label").first
    assert "95% interval" in shown.inner_text() and page.told == []


def test_a_scale_that_is_the_row_total_is_called_so(open_page, tmp_path_factory):
    draws = np.random.default_rng(4)
    ability, ease = draws.normal(size=(N_ROWS, 1)), draws.normal(size=(1, 20))
    data = (draws.random((N_ROWS, 20)) < 1 / (1 + np.exp(-2 * ability - ease))).astype(int)
    page = open_page(page_on(tmp_path_factory, latentbits.LatentTrait(n_components=1, random_state=0), data, "item"))
    assert "This is the row total (ρ = " in first_card(page).inner_text()
    assert page.locator(".distances").count() == 0 and page.told == []


def test_sources_overlap(open_page, tmp_path_factory):
    draws = np.random.default_rng(5)
    first, other, third = draws.random((3, 400)) < 0.4
    second = np.where(draws.random(400) < 0.5, first, other)
    on = np.stack([first, second, third], axis=1)
    link = np.kron(np.eye(3), np.full((1, 8), 0.85))
    data = (draws.random((400, 24)) < 1 - np.prod(1 - on[:, :, None] * link[None], axis=1)).astype(int)
    model = latentbits.NoisyOrComponentAnalysis(n_components=3, random_state=0, n_init=3)
    page = open_page(page_on(tmp_path_factory, model, data, "word"))
    text = page.locator("#reading").inner_text()
    assert "can have several sources or none" in text and "on in " in first_card(page).inner_text()
    assert "strongest in" not in text
    assert "Which sources overlap" in text and "On more often with source" in text and page.told == []


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            lambda: latentbits.RestrictedBoltzmann(n_components=3, random_state=0, n_epochs=10),
            ["pattern of hidden switches"],
        ),
        (
            lambda: latentbits.BinaryGTM(latent_shape=(4, 4), random_state=0),
            ["has a place on the map", "Go to the map"],
        ),
        (lambda: latentbits.ChowLiuTree(), ["columns depend on each other in pairs", "The wider a line"]),
        (lambda: latentbits.TreeMixture(n_components=2, random_state=0), ["within it columns go in pairs", "by class"]),
        (
            lambda: latentbits.HiddenTree(n_states=2, random_state=0),
            ["hang together as a tree", "share local causes"],
        ),
    ],
)
def test_every_kind_has_its_own_words(open_page, tmp_path_factory, model, words):
    data, _ = planted()
    page = open_page(page_on(tmp_path_factory, model(), data, "col"))
    text = page.locator("#reading").inner_text()
    assert all(word in text for word in words) and "could not be drawn" not in section(page).inner_text()
    assert page.told == []


def test_evil_and_long_names_are_text_and_stay_within(open_page, tmp_path_factory):
    data, _ = planted()
    pd = pytest.importorskip("pandas")
    names = ["<script>alert(1)</script>", "x" * 240, *[f"col {j}" for j in range(12)]]
    frame = pd.DataFrame(data, columns=names)
    path = tmp_path_factory.mktemp("page") / "report.html"
    model = latentbits.BernoulliMixture(n_components=3, random_state=0, n_init=2).fit(frame)
    path.write_text(report_on(model, frame, name="<b>evil</b>"), encoding="utf-8")
    page = open_page(path, width=360)
    shown = page.locator("#reading .name").evaluate_all("nodes => nodes.map(n => n.textContent)")
    assert set(names[:2]) <= set(shown)
    first_card(page).get_by_role("button", name="Rename class 1").click()
    page.keyboard.type("<img src=x onerror=alert(2)>" + "y" * 60)
    page.keyboard.press("Enter")
    assert first_card(page).locator("h4").inner_text().startswith("<img src=x")
    assert page.locator("main img").count() == 0
    assert section(page).evaluate("s => s.scrollWidth - s.clientWidth") <= 0 and page.told == []


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_page(open_page, blends, scales, width, scheme):
    for path in (blends, scales):
        page = open_page(path, width=width, color_scheme=scheme)
        for number in range(page.get_by_role("tab").count()):
            page.get_by_role("tab").nth(number).click()
            assert section(page).evaluate("s => s.scrollWidth - s.clientWidth") <= 0
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0 and page.told == []
