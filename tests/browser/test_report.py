"""The report of `explore` in a real browser, whole: quiet, alone, text as text, counted right, printed."""

from __future__ import annotations

import warnings

import pytest

import latentbits
from latentbits.errors import LatentBitsWarning

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

EVIL = "<script>alert(1)</script>"
LONG = "\"quoted\", 'both' ways, ünïcödé 汉字 עברית, </script><img src=x onerror=alert(2)> " + "x" * 220
SECTIONS = ["overview", "components", "map", "matrix", "try", "cells", "families", "checks", "methods"]


@pytest.fixture(scope="module")
def table():
    """Cells with blanks, and columns with evil names."""
    pd = pytest.importorskip("pandas")
    made = latentbits.datasets.make_mixture(160, 8, 3, spread=3.0, unknown=0.08, random_state=2)
    return pd.DataFrame(made.data, columns=[EVIL, LONG, *[f"feature {j}" for j in range(2, 8)]]), made.causes


@pytest.fixture(scope="module")
def report(table, tmp_path_factory):
    """A report on that table, with labels and ids."""
    frame, causes = table
    labels = {EVIL: [f"<b>class {c}</b>" for c in causes], "site": ["a", "b"] * 80}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        found = latentbits.explore(
            frame, tmp_path_factory.mktemp("report"), name=EVIL, ids=[f"<i>{i}</i>" for i in range(160)],
            labels=labels, models=["mixture", "aspect"], n_components=[2, 3], folds=1,
        )  # fmt: skip
    return found.report


@pytest.fixture
def page(open_page, report):
    return open_page(report)


def test_it_is_quiet_and_alone(page, report):
    assert page.told == [] and page.asked == [report.as_uri()]
    assert page.locator("main > section").evaluate_all("nodes => nodes.map(n => n.id)") == SECTIONS


def test_names_are_text(page):
    assert page.locator("h1").inner_text() == EVIL
    scripts = "Array.from(document.scripts).filter(s => s.textContent.includes('alert(1)') && !s.id).length"
    assert page.evaluate(scripts) == 0 and page.evaluate("document.querySelectorAll('img').length") == 0
    names = page.locator("#reading .name").evaluate_all("nodes => nodes.map(n => n.textContent)")
    assert {EVIL, LONG} <= set(names)
    assert "<b>class" in page.locator("#components").inner_text()  # labels, too, as they are written
    assert page.told == []


def test_the_profile_of_a_group_is_counted_right(page, table):
    """Shares of ones among the known cells of the selected rows, as counted from the table."""
    page.select_option("#colour-by", label="site")
    page.select_option("#group", label="b")
    told = page.locator("#selection").text_content()
    assert "80 of 160 rows selected" in told and "<i>1</i>" in told and "<i>2</i>" not in told
    names, shares = (page.locator(f"#selection .bars {what}").all_text_contents() for what in (".name", ".num"))
    truth, shown = table[0][1::2].mean(), dict(zip(names, shares))
    assert len(shown) == 8
    for name, text in shown.items():
        assert abs(float(text.rstrip("%")) - 100 * truth[name]) <= (0.051 if truth[name] < 0.1 else 0.51)


@pytest.mark.parametrize(("width", "scheme"), [(1600, "light"), (1280, "light"), (360, "light"), (360, "dark")])
def test_it_fits_the_window(open_page, report, width, scheme):
    opened = open_page(report, width=width, color_scheme=scheme)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    dark = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(20, 24, 29)") == (scheme == "dark") and opened.told == []


def test_dark_pages_are_printed_light_and_in_full(open_page, report):
    opened = open_page(report, color_scheme="dark")
    picture = "document.getElementById('matrix-canvas').toDataURL()"
    before, n_open = opened.evaluate(picture), opened.locator("details[open]").count()
    opened.emulate_media(media="print", color_scheme="dark")
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.evaluate(picture) != before and opened.locator("details:not([open])").count() == 0
    assert not opened.locator("#colour-by").is_visible() and len(opened.pdf(format="A4")) > 20_000
    opened.emulate_media(media="screen", color_scheme="dark")
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.evaluate(picture) == before and opened.locator("details[open]").count() == n_open


def test_without_a_script_it_says_where_to_look(browser, report):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(report.as_uri())
    assert "summary.md" in opened.locator("main").inner_text()
    context.close()
