"""The report in a real browser: it asks for nothing, shows text as text, and its views are linked."""

from __future__ import annotations

import glob
import os
import shutil

import numpy as np
import pytest

import latentbits
from latentbits.errors import LatentBitsWarning

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

EVIL = "<script>alert(1)</script>"
LONG = "\"quoted\", 'both' ways, ünïcödé 汉字 עברית, </script><img src=x onerror=alert(2)> " + "x" * 220


def chromium():
    """A Chromium of the system, or one that Playwright installed."""
    named = os.environ.get("LATENTBITS_CHROMIUM")
    own = glob.glob(os.path.expanduser("~/.cache/ms-playwright/chromium-*/chrome-linux*/chrome"))
    for name in (named, "chromium", "chromium-browser", "google-chrome"):
        if name and shutil.which(name):
            return shutil.which(name)
    return own[0] if own else None


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    place = chromium()
    if place is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium; or name it in LATENTBITS_CHROMIUM)")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=place, args=[*flags, "--disable-sync", "--no-first-run"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report on a table with evil names, blanks and labels."""
    import warnings

    made = latentbits.datasets.make_mixture(160, 8, 3, spread=3.0, unknown=0.08, random_state=2)
    names = [EVIL, LONG, *[f"feature {j}" for j in range(2, 8)]]
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(made.data, columns=names)
    labels = {EVIL: [f"<b>class {c}</b>" for c in made.causes], "site": ["a", "b"] * 80}
    ids = [f"<i>{i}</i>" for i in range(160)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        found = latentbits.explore(
            frame, tmp_path_factory.mktemp("report"), name=EVIL, ids=ids, labels=labels, models=["mixture", "aspect"],
            n_components=[2, 3], folds=1,
        )  # fmt: skip
    return found.report


@pytest.fixture
def page(browser, report):
    """The report, opened; whatever it complains of or asks for is remembered."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.told, opened.asked = [], []
    opened.on("console", lambda message: opened.told.append(message.text))
    opened.on("pageerror", lambda error: opened.told.append(str(error)))
    opened.on("dialog", lambda dialog: (opened.told.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(report.as_uri())
    opened.wait_for_selector("html[data-ready]", timeout=10_000)
    yield opened
    context.close()


def test_it_is_quiet_and_alone(page, report):
    assert page.told == [] and page.asked == [report.as_uri()]
    sections = page.locator("main > section").evaluate_all("nodes => nodes.map(n => n.id)")
    assert sections == ["overview", "families", "components", "map", "matrix", "cells", "checks", "methods"]


def test_names_are_text(page):
    assert page.locator("h1").inner_text() == EVIL
    assert (
        page.evaluate("Array.from(document.scripts).filter(s => s.textContent.includes('alert(1)') && !s.id).length")
        == 0
    )
    names = page.locator("#model .name").evaluate_all("nodes => nodes.map(n => n.textContent)")
    assert EVIL in names and LONG in names
    assert "<b>class" in page.locator("#model").inner_text()  # labels, too, as they are written
    assert page.evaluate("document.querySelectorAll('img').length") == 0 and page.told == []


def test_brushing_the_map_changes_the_linked_views(page):
    canvas = page.locator("#map-canvas")
    canvas.scroll_into_view_if_needed()
    assert "Nothing selected" in page.locator("#selection").inner_text()
    before = page.evaluate("document.getElementById('matrix-canvas').toDataURL()")
    place = canvas.bounding_box()
    page.mouse.move(place["x"] + 2, place["y"] + 2)
    page.mouse.down()
    page.mouse.move(place["x"] + 0.5 * place["width"], place["y"] + place["height"] - 2, steps=4)
    page.mouse.up()
    told = page.locator("#selection").inner_text()
    chosen = int(told.split(" of ")[0])
    assert 0 < chosen < 160 and "What stands out" in told and "site:" in told
    page.locator("#selection summary").click()
    assert page.locator("#selection details p").inner_text().count("<i>") == chosen  # the members, by their names
    assert page.evaluate("document.getElementById('matrix-canvas').toDataURL()") != before
    page.get_by_role("button", name="Clear selection").click()
    assert "Nothing selected" in page.locator("#selection").inner_text()
    assert page.evaluate("document.getElementById('matrix-canvas').toDataURL()") == before
    page.select_option("#group", index=1)  # the same without a pointer
    assert "rows selected" in page.locator("#selection").inner_text() and page.told == []


def test_the_profile_of_a_selection_is_right(page, report):
    """Shares of ones among the known cells of the selected rows, as counted from the table."""
    pd = pytest.importorskip("pandas")
    page.select_option("#colour-by", label="site")
    page.select_option("#group", label="b")
    shown = dict(
        zip(
            page.locator("#selection .name").evaluate_all("nodes => nodes.map(n => n.textContent)"),
            page.locator("#selection .num").evaluate_all("nodes => nodes.map(n => n.textContent)"),
        )
    )
    made = latentbits.datasets.make_mixture(160, 8, 3, spread=3.0, unknown=0.08, random_state=2).data
    frame = pd.DataFrame(made, columns=[EVIL, LONG, *[f"feature {j}" for j in range(2, 8)]])
    truth = frame[1::2].mean()
    assert len(shown) == 8
    for name, text in shown.items():
        assert abs(float(text.rstrip("%")) - 100 * truth[name]) <= (0.051 if truth[name] < 0.1 else 0.51)


def test_hovering_and_keys_explain_cells(page):
    canvas = page.locator("#matrix-canvas")
    canvas.scroll_into_view_if_needed()
    first = page.locator("#cell").inner_text()
    place = canvas.bounding_box()
    page.mouse.move(place["x"] + 10 + 22 * 3.5, place["y"] + 130 + 40)
    second = page.locator("#cell").inner_text()
    assert (
        second != first
        and "feature 3" in second
        and "probability" in second
        and ("Owes to:" in second or "Would owe to:" in second)
    )
    canvas.focus()
    page.keyboard.press("ArrowRight")
    assert "feature 4" in page.locator("#cell").inner_text() and page.told == []


def test_the_map_can_be_used_by_keys(page):
    canvas = page.locator("#map-canvas")
    canvas.focus()
    for key in ["Shift+ArrowLeft"] * 8 + ["Shift+ArrowUp"] * 7 + ["Enter"] + ["Shift+ArrowRight"] * 16:
        page.keyboard.press(key)
    for key in ["Shift+ArrowDown"] * 14 + ["Enter"]:
        page.keyboard.press(key)
    assert "160 of 160 rows selected" in page.locator("#selection").inner_text()
    page.keyboard.press("Escape")
    assert "Nothing selected" in page.locator("#selection").inner_text()
    page.keyboard.press("Enter")  # a corner, then something else
    page.select_option("#group", index=1)
    canvas.focus()
    page.keyboard.press("Enter")
    assert page.told == []


def test_explanations_are_those_of_the_model(page, report):
    """What the page says of its first cell is what the saved model says."""
    import json

    content = json.loads(page.locator("#content").text_content())
    model = latentbits.load(report.parent / "model.latentbits")
    made = latentbits.datasets.make_mixture(160, 8, 3, spread=3.0, unknown=0.08, random_state=2).data
    frame = latentbits.data.open_source(made)
    row, column = content["rows"]["number"][content["matrix"]["rows"][0]], content["matrix"]["columns"][0]
    told = model.explain(frame, cells=([row], [column]))
    text = page.locator("#cell").inner_text()
    byte = round(float(told.probability[0]) * 255)  # as it travels
    shown = f"{100 * byte / 255:.{1 if byte < 25.5 else 0}f}%"
    assert f"probability {'below 0.2%' if byte == 0 else 'above 99.8%' if byte == 255 else shown}" in text
    assert content["matrix"]["causes"][int(np.argmax(told.share[0]))] in text


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "light"), (400, "dark")])
def test_it_fits_the_window(browser, report, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(report.as_uri())
    opened.wait_for_selector("html[data-ready]", timeout=10_000)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    dark = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(20, 24, 29)") == (scheme == "dark")
    context.close()


def test_dark_pages_are_printed_light(browser, report):
    context = browser.new_context(color_scheme="dark")
    opened = context.new_page()
    opened.goto(report.as_uri())
    opened.wait_for_selector("html[data-ready]", timeout=10_000)
    picture = "document.getElementById('matrix-canvas').toDataURL()"
    before = opened.evaluate(picture)
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.evaluate(picture) != before and opened.locator("details:not([open])").count() == 0
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.evaluate(picture) == before and opened.locator("details[open]").count() == 0
    context.close()


def test_it_prints(page):
    page.emulate_media(media="print")
    assert not page.locator("#map-controls").is_visible() and page.locator("#verdict").is_visible()
    assert len(page.pdf(format="A4")) > 20_000


def test_without_a_script_it_says_where_to_look(browser, report):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(report.as_uri())
    assert "summary.md" in opened.locator("main").inner_text()
    context.close()
