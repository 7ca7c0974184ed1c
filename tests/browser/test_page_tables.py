"""Tables, families, checks, cells worth a look, a typed row, and paper: the page says what the library says."""

from __future__ import annotations

import copy
import csv
import io
import json
import warnings

import numpy as np
import pytest

import latentbits
from latentbits import AspectBernoulli, BernoulliMixture, BinaryGTM, LatentTrait, NoisyOrComponentAnalysis
from latentbits.errors import LatentBitsWarning
from latentbits.report.page import page_of
from tests.browser.test_inference import CLOSE, causes, classes, fitted, framed

PARTS = "all => all.map(n => [Number(n.dataset.part), Number(n.dataset.value)])"
FILLS = "all => all.map(n => [Number(n.dataset.fill), Number(n.dataset.value)])"

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

FAMILIES = {
    "mixture": (BernoulliMixture(3), classes),
    "aspects": (AspectBernoulli(3), classes),
    "noisy-or": (NoisyOrComponentAnalysis(3), causes),
    "trait": (LatentTrait(2), classes),
    "map": (BinaryGTM((4, 4)), classes),
}


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """What a report on a table with blanks and a comparison says."""
    made = latentbits.datasets.make_mixture(160, 8, 3, spread=3.0, unknown=0.08, random_state=2)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(made.data, columns=[*[f"feature {j}" for j in range(7)], 'quoted, "feature"'])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        models = ["mixture", "aspect", "trait"]
        found = latentbits.explore(
            frame, tmp_path_factory.mktemp("report"), name="small", models=models, n_components=[2, 3], folds=1
        )
    text = found.report.read_text(encoding="utf-8")
    return json.loads(text.split('id="content">', 1)[1].split("</script>", 1)[0])


@pytest.fixture
def write(tmp_path, content):
    """A page of the content, with changes."""

    def written(**changes):
        path = tmp_path / "page.html"
        path.write_text(page_of({**copy.deepcopy(content), **changes}), encoding="utf-8")
        return path

    return written


def rows_of(table):
    """The cells of a table, as they are shown."""
    return table.evaluate("t => Array.from(t.tBodies[0].rows, r => Array.from(r.cells, c => c.innerText.trim()))")


def downloaded(page, link):
    """The records of a CSV that a click brings."""
    with page.expect_download() as waiting:
        link.click()
    with open(waiting.value.path(), encoding="utf-8-sig", newline="") as file:
        return waiting.value.suggested_filename, list(csv.DictReader(io.StringIO(file.read())))


def test_tables_are_sorted_by_their_heads(open_page, write, content):
    page = open_page(write())
    table = page.locator("#family-table")
    before = rows_of(table)
    titles = {row["title"] for row in content["comparison"]["rows"]}
    assert len(before) == len(titles) and all(any(one[0].startswith(t) for t in titles) for one in before)
    head = table.locator("th", has_text="AUC")
    assert head.get_attribute("aria-sort") == "none"
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    numbers = [float(row[5]) for row in rows_of(table) if row[5]]
    assert numbers == sorted(numbers, reverse=True) and head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")  # the focus stays on the head
    assert [float(row[5]) for row in rows_of(table) if row[5]] == sorted(numbers)
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert rows_of(table) == before and head.get_attribute("aria-sort") == "none"
    table.get_by_role("button", name="family", exact=True).click()
    names = [row[0].lower() for row in rows_of(table)]
    assert names == sorted(names) and page.told == []


def test_tables_are_downloaded_in_full(open_page, write, content):
    page = open_page(write())
    name, records = downloaded(page, page.get_by_role("link", name="Download families as CSV"))
    rows = content["comparison"]["rows"]
    assert name == "families.csv" and [one["family"] for one in records] == [row["title"] for row in rows]
    wanted = [row["log_loss"] for row in rows if row.get("log_loss") is not None]
    assert [float(one["log-loss"]) for one in records if one["log-loss"]] == wanted
    assert len(page.asked) == 1 and page.told == []


def test_long_tables_show_their_first_rows_and_sort_all(open_page, write, content):
    names = content["columns"]
    cells = [
        {"kind": "surprising one", "row": f"row {i}", "column": names[-1], "value": 1, "probability": (i * 37 % 100) / 1e3,
         "surprise": 1.0, "missing": None, "cause": content["readings"][0]["parts"][0]["name"], "cause_share": 0.5,
         "argues": "", "partner": None}
        for i in range(100)
    ]  # fmt: skip
    page = open_page(write(look=cells))
    table = page.locator("#look table")
    assert table.locator("tbody tr").count() == 20
    table.get_by_role("button", name="probability of a one").click()
    shown = [float(row[2].rstrip("%")) for row in rows_of(table)]
    assert shown == sorted((round(c["probability"] * 100, 1) for c in cells), reverse=True)[:20]
    _, records = downloaded(page, table.get_by_role("link"))
    assert len(records) == 100 and {one["column"] for one in records} == {'quoted, "feature"'}
    table.get_by_role("button", name="Show all 100 rows").click()
    assert table.locator("tbody tr").count() == 100 and page.told == []


def test_families_are_drawn_and_what_it_rests_on_stands_beside(open_page, write, content):
    page = open_page(write())
    rows, plan = content["comparison"]["rows"], content["comparison"]["plan"]
    scored = [row for row in rows if row.get("log_loss") is not None]
    assert page.locator("#family-plot > svg").first.locator("title").count() == len(scored)
    told = page.locator("#families .beside").inner_text()
    assert f"{plan['rows']} rows to fit to" in told and "1 draw of hidden cells" in told
    assert f"{scored[0]['n_cells']:,} hidden cells" in told
    words = page.locator("#families details")
    assert not page.locator("#verdict").is_visible()
    words.locator("summary").first.click()
    assert page.locator("#verdict").inner_text() == content["verdict"] and page.told == []
    ticks = page.locator("#family-plot svg .dim").evaluate_all("nodes => nodes.map(n => n.textContent)")
    assert "0" in ticks and all(len(tick) <= 7 for tick in ticks)


@pytest.mark.parametrize("width", [360, 1280, 1600])
def test_no_column_of_the_families_is_cut(open_page, write, width):
    page = open_page(write(), width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width >= 1280:
        box, frame = page.locator("#family-table").bounding_box(), page.locator("#families").bounding_box()
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1


def test_leftovers_say_what_to_do(open_page, write, content):
    a, b, c = content["columns"][:3]
    pair = {"first": a, "second": b, "q3": 0.4, "p": 0.00001, "n": 150, "together": 61, "expected": 48.25}
    left = {"pairs": [pair, {**pair, "second": c, "q3": 0.3}], "groups": [[a, b, c]], "n_sure": 2, "n_looked_at": 28}
    page = open_page(write(leftovers=left))
    told = page.locator("#checks").inner_text()
    assert "These columns go together more than the model says" in told and "try more components" in told
    assert "28 pairs of columns looked at" in told
    assert rows_of(page.locator("#pairs"))[0] == [a, b, "0.40", "below 0.0001", "61", "48", "150"]
    none = {"pairs": [], "groups": [], "n_sure": 0, "n_looked_at": 28}
    told = open_page(write(leftovers=none)).locator("#no-pairs").inner_text()
    assert told == "No pair of columns is left unexplained beyond chance (28 pairs of columns looked at)."


def test_calibration_of_small_probabilities_can_be_read(open_page, write, content):
    page = open_page(write())
    assert page.locator("#calibration").get_attribute("data-axis") == "plain"
    small = [{"predicted": p, "observed": p, "n": 50} for p in (0.001, 0.004, 0.01, 0.03, 0.2)]
    comparison = {**content["comparison"], "curves": {content["comparison"]["best"]: small}}
    page = open_page(write(comparison=comparison))
    assert page.locator("#calibration").get_attribute("data-axis") == "root"
    assert "Most predictions are below 0.1" in page.locator("#checks").inner_text() and page.told == []


def settled(page):
    """Waits until the model has said all of the row."""
    page.wait_for_timeout(80)
    page.wait_for_selector("#try-body:not([data-busy])", timeout=20_000)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_typed_row_is_answered_as_by_the_model(open_page, tmp_path, name):
    model, X = fitted(*FAMILIES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        page = open_page(model.report(framed(model, X), tmp_path / "row.html"))
    page.locator("#try-like").fill("row 7")
    page.locator("#try-like").press("Enter")
    page.locator(".try-cell").nth(1).focus()
    for key in ["1", "ArrowRight", "0", "ArrowRight", "Delete", "ArrowLeft", "ArrowLeft", "ArrowLeft", "1", " "]:
        page.keyboard.press(key)
    page.locator(".try-cell").nth(5).click()  # from blank to 1 to 0 to blank
    settled(page)
    row = X[7].copy()
    row[:4] = [np.nan, 1, 0, np.nan]
    row[5] = {True: 1.0}.get(bool(np.isnan(row[5])), 0.0 if row[5] == 1 else np.nan)
    rows = framed(model, row[None])
    explained, filled = model.explain(rows), np.asarray(model.reconstruct(rows), float)[0]
    shown = page.locator(".try-cell").evaluate_all("nodes => nodes.map(n => Number(n.dataset.value))")
    np.testing.assert_allclose(shown, np.where(np.isnan(row), filled, explained.probability), atol=CLOSE)
    if name == "map":
        place = page.locator(".try-place").evaluate("n => [Number(n.dataset.axis0), Number(n.dataset.axis1)]")
        np.testing.assert_allclose(place, np.asarray(model.transform(rows))[0], atol=CLOSE)
    else:
        parts = page.locator(".try-part").evaluate_all(PARTS)
        wanted = np.asarray(model.transform(rows))[0]
        assert [k for k, _ in parts] == list(range(len(wanted)))
        np.testing.assert_allclose([value for _, value in parts], wanted, atol=CLOSE)
    fills = page.locator("#try-fills .num").evaluate_all(FILLS)
    blank = np.flatnonzero(np.isnan(row))
    assert {j for j, _ in fills} == set(blank) and [v for _, v in fills] == sorted((v for _, v in fills), reverse=True)
    odd = page.locator("#try-odd li").evaluate_all("all => all.map(n => Number(n.dataset.odd))")
    surprising = set(np.flatnonzero(np.nan_to_num(explained.surprise) > -np.log(0.1)))
    assert len(odd) == min(8, len(surprising)) and set(odd) <= surprising
    assert page.locator("#try-summary").inner_text() and page.told == []


def test_a_row_is_emptied_and_its_columns_are_found(open_page, write, content):
    page = open_page(write())
    page.locator("#try-like").fill("row 3")
    settled(page)
    assert "of 8 cells set, like row 3" in page.locator("#try-count").inner_text()
    page.get_by_role("button", name="All blank").click()
    settled(page)
    assert page.locator("#try-count").inner_text() == "0 of 8 cells set"
    assert "Nothing is set" in page.locator("#try-summary").inner_text()
    first = page.locator(".try-cell").first
    first.click()
    settled(page)
    assert first.get_attribute("aria-label").startswith(content["columns"][0] + ": 1")
    assert page.locator(".try-cell[tabindex='0']").count() == 1 and page.told == []


def test_readings_without_a_model_say_why(open_page, write, content):
    readings = copy.deepcopy(content["readings"])
    readings[0]["row_model"] = None
    page = open_page(write(readings=readings))
    told = page.locator("#try").inner_text()
    assert "In Python" in told and readings[0]["title"] in told
    if len(readings) > 1:
        page.locator("#try").get_by_role("button", name=readings[1]["title"]).click()
        assert page.locator(".try-cell").count() == 8


def test_columns_that_are_not_on_the_page_are_said_to_stay_blank(open_page, write, content):
    page = open_page(write(n_columns_left_out=3, shape=[160, 11], readings=[
        {**one, "row_model": one["row_model"] and {**one["row_model"], "n_columns": 8}} for one in content["readings"]
    ]))  # fmt: skip
    assert "3 more columns than the page" in page.locator("#try").inner_text()


def test_it_prints_in_full_and_without_controls(open_page, write):
    page = open_page(write(), color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("#try").is_visible() and not page.locator(".csv").first.is_visible()
    assert page.locator("#verdict").is_visible() and page.locator("details:not([open])").count() == 0
    ink = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
    assert ink == "#000"
    assert len(page.pdf(format="A4")) > 20_000
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.locator("#try").is_visible() and not page.locator("#verdict").is_visible()


def test_dark_pages_are_dark(open_page, write):
    page = open_page(write(), color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    fill = page.locator("#family-plot text:not(.dim)").first.evaluate("n => getComputedStyle(n).fill")
    assert fill == "rgb(230, 233, 237)" and page.told == []
