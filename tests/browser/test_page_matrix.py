"""Matrix, drawers and search of the report: orders, all rows and columns, names, reasons, and the way by keys."""

from __future__ import annotations

import base64
import json
import warnings

import numpy as np
import pytest

import latentbits
from latentbits.errors import LatentBitsWarning
from latentbits.report.page import page_of

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

N_ROWS, N_COLUMNS = 160, 9


def table():
    """Three planted classes with blanks."""
    return latentbits.datasets.make_mixture(N_ROWS, N_COLUMNS, 3, spread=3.0, unknown=0.06, random_state=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of three classes and, beside them, one scale."""
    pd = pytest.importorskip("pandas")
    made = table()
    frame = pd.DataFrame(made.data, columns=[f"item {j}" for j in range(N_COLUMNS)])
    place = tmp_path_factory.mktemp("matrix")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        latentbits.explore(
            frame, place, name="planted", labels={"kind": [("red", "grey", "blue")[c] for c in made.causes]},
            models=["mixture", "trait"], n_components=[3], folds=1,
        )  # fmt: skip
    return place


@pytest.fixture(scope="module")
def content(folder):
    text = (folder / "report.html").read_text(encoding="utf-8")
    return json.loads(text.split('id="content">', 1)[1].split("</script>", 1)[0])


@pytest.fixture
def shown(open_page, content, tmp_path):
    """Opens a page with changed content: ``shown(width=360, readings=[...])``."""

    def opened(width=1280, color_scheme="light", **changes):
        path = tmp_path / "page.html"
        path.write_text(page_of({**content, **changes}), encoding="utf-8")
        page = open_page(path, width, color_scheme=color_scheme)
        page.locator("#matrix-scroll").scroll_into_view_if_needed()
        return page

    return opened


@pytest.fixture
def page(shown):
    return shown()


def cell_of(page):
    """Row and column (places on the page) of the cell that is explained, the probability and the shares."""
    data = page.locator("#matrix-cell").evaluate("node => ({...node.dataset})")
    shares = json.loads(data["shares"]) if data["shares"] else None
    return int(data["row"]), int(data["column"]), float(data["probability"] or "nan"), shares


def names(page, side):
    return page.locator(f".mx-{side} button:not([hidden])").all_inner_texts()


def reading(content, family):
    return next(one for one in content["readings"] if one["family"] == family)


def wide(content, n, d):
    """Content of many rows and columns, with two classes."""
    rng = np.random.default_rng(0)
    probs = np.clip(rng.beta(0.4, 0.8, (2, d)), 0.02, 0.98)
    main = rng.integers(0, 2, n)
    ones = rng.random((n, d)) < probs[main]

    def text(array, kind=None):
        return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode()

    def packed(array):
        return {"shape": list(np.shape(array)), "data": text(array, "<f8")}

    first = reading(content, "mixture")
    row_model = {"kind": "classes", "n_parts": 2, "n_columns": d}
    row_model |= {"log_weights": packed(np.log([0.5, 0.5])), "probs": packed(probs)}
    rows = {"number": list(range(n)), "ids": None, "ones": text(np.packbits(ones, axis=1, bitorder="little"))}
    only = {
        **first, "row_model": row_model, "cells": None, "kept": [0, 1], "parts": first["parts"][:2],
        "profiles": text(probs, "<f4"), "values": text(255 * np.eye(2, dtype=np.uint8)[main]),
        "main": text(main, "<u2"), "sizes": np.bincount(main).tolist(),
        "associations": [], "distances": None, "layout": None,
    }  # fmt: skip
    return {
        "shape": [n, d], "columns": [f"a long name of column {j}" for j in range(d)], "column_numbers": list(range(d)),
        "marginals": ones.mean(0).tolist(), "blank_shares": [0.0] * d, "labels": [], "map": None, "readings": [only],
        "rows": {**rows, "unknown": None},
    }  # fmt: skip


def test_rows_are_in_the_order_that_is_chosen(page, content):
    page.select_option("#matrix-rows", "table")
    assert names(page, "side")[:3] == ["row 0", "row 1", "row 2"]
    page.select_option("#matrix-columns", "frequency")
    marginals = np.array(content["marginals"])
    assert names(page, "top") == [content["columns"][j] for j in np.argsort(-marginals, kind="stable")]
    page.select_option("#matrix-rows", "label:0")
    label = content["labels"][0]
    codes = np.frombuffer(base64.b64decode(label["codes"]), "<u2")
    first = [int(name.split()[1]) for name in names(page, "side")[:10]]
    assert (codes[first] == 0).all()
    page.select_option("#matrix-columns", "name")
    assert names(page, "top") == sorted(content["columns"])
    assert page.told == []


def model_of(folder, content, family):
    first = content["readings"][0]["family"]
    return latentbits.load(folder / ("model.latentbits" if first == family else f"{family}.latentbits"))


def test_rows_of_most_surprise_come_first(shown, content, folder):
    pd = pytest.importorskip("pandas")
    page, model = shown(readings=[reading(content, "mixture")], map=None), model_of(folder, content, "mixture")
    page.select_option("#matrix-rows", "surprise")
    page.wait_for_selector("#matrix-progress:empty", state="attached")
    page.wait_for_timeout(100)
    frame = pd.DataFrame(table().data, columns=[f"item {j}" for j in range(N_COLUMNS)])
    told = model.explain(frame, cells=tuple(np.indices(frame.shape).reshape(2, -1)))
    totals = np.nansum(told.surprise.reshape(frame.shape), axis=1)
    first = [int(name.split()[1]) for name in names(page, "side")[:8]]
    np.testing.assert_allclose(totals[first], np.sort(totals)[::-1][:8], atol=1e-4)


def test_reasons_are_those_of_the_library(shown, content, folder):
    pd = pytest.importorskip("pandas")
    mixture = reading(content, "mixture")
    page = shown(readings=[mixture], map=None)
    model = model_of(folder, content, "mixture")
    frame = pd.DataFrame(table().data, columns=[f"item {j}" for j in range(N_COLUMNS)])
    page.locator("#matrix-scroll").focus()
    for key in ["ArrowRight", "ArrowDown", "End", "PageDown", "ArrowLeft", "ArrowUp", "Control+End"]:
        page.keyboard.press(key)
        i, j, probability, shares = cell_of(page)
        told = model.explain(frame, cells=([i], [content["column_numbers"][j]]))
        np.testing.assert_allclose(probability, told.probability[0], atol=1e-6)
        np.testing.assert_allclose(shares, told.share[0], atol=1e-6)
        assert content["columns"][j] in page.locator("#matrix-cell").inner_text()
    assert page.locator("#matrix-cell").get_attribute("aria-live") == "polite"
    assert page.told == []


def test_along_one_scale_ones_and_zeros_make_a_gradient(shown, content):
    trait = reading(content, "trait")
    page = shown(readings=[trait], map=None)
    assert page.locator("#matrix-rows").input_value() == "part:0"
    page.select_option("#matrix-columns", "part")
    loadings = np.frombuffer(base64.b64decode(trait["profiles"]), "<f4").reshape(-1, N_COLUMNS)[0]
    assert names(page, "top") == [content["columns"][j] for j in np.argsort(-loadings, kind="stable")]
    scores = np.frombuffer(base64.b64decode(trait["values"]), "<f4").reshape(N_ROWS, -1)[:, 0]
    first = [int(name.split()[1]) for name in names(page, "side")[:8]]
    np.testing.assert_allclose(scores[first], np.sort(scores)[::-1][:8])
    text = page.locator("#matrix-cell").inner_text()
    assert "argues" in text and "wes to" not in text


def test_every_row_and_column_of_a_large_table_can_be_reached(shown, content):
    page = shown(1600, **wide(content, 5000, 500))
    page.select_option("#matrix-rows", "table")
    page.select_option("#matrix-columns", "table")
    top = names(page, "top")
    assert top[0] == "a long name of column 0" and len(top) < 200
    box = page.locator("#matrix-scroll")
    box.evaluate("node => { node.scrollTop = node.scrollHeight; node.scrollLeft = node.scrollWidth; }")
    page.wait_for_timeout(100)
    assert names(page, "side")[-1] == "row 4999" and names(page, "top")[-1] == "a long name of column 499"
    # Names stay where they are: above and beside the cells, within the box.
    frame = box.bounding_box()
    for side in ("top", "side"):
        place = page.locator(f".mx-{side} button:not([hidden])").last.bounding_box()
        assert frame["y"] - 1 <= place["y"] <= frame["y"] + frame["height"]
        assert frame["x"] - 1 <= place["x"] <= frame["x"] + frame["width"]
    page.locator("#matrix-scroll").focus()
    page.keyboard.press("Control+Home")
    assert cell_of(page)[:2] == (0, 0) and box.evaluate("node => node.scrollTop") == 0
    assert page.locator("#matrix-canvas").evaluate("node => node.height") < 1000  # drawn is what is on the screen
    assert page.told == []


def test_scrolling_keeps_up(shown, content):
    """Half of the frames come within 50 ms on a machine that has other things to do."""
    page = shown(1600, **wide(content, 5000, 500))
    times = page.evaluate(
        """async () => {
          const box = document.getElementById("matrix-scroll"), times = [];
          for (let n = 0, last = performance.now(); n < 40; n++) {
            box.scrollTop += 137; box.scrollLeft += 31;
            await new Promise(requestAnimationFrame);
            const now = performance.now(); times.push(now - last); last = now;
          }
          return times;
        }"""
    )
    assert np.median(times) < 50


def test_cells_can_be_smaller_and_larger(page):
    few = len(names(page, "side"))
    page.locator("#matrix-smaller").click()
    assert len(names(page, "side")) > few
    for _ in range(9):
        if page.locator("#matrix-smaller").is_enabled():
            page.locator("#matrix-smaller").click()
    assert page.locator("#matrix-smaller").is_disabled() and len(names(page, "top")) == N_COLUMNS
    page.locator("#matrix-larger").click()
    assert page.told == []


def test_a_sharp_screen_gets_sharp_cells(open_page, content, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page_of(content), encoding="utf-8")
    page = open_page(path, device_scale_factor=2)
    sizes = page.locator("#matrix-canvas").evaluate("node => [node.width, node.clientWidth]")
    assert abs(sizes[0] - 2 * sizes[1]) <= 2


def test_only_selected_rows(page):
    page.evaluate("document.getElementById('search-box').focus()")
    page.keyboard.type("kind: red")
    page.keyboard.press("Enter")
    count = page.evaluate("document.getElementById('matrix-hint').textContent")
    page.locator("#matrix-selected").check()
    told = page.locator("#matrix-hint").inner_text()
    assert "selected rows are shown" in told and told != count
    page.locator("#matrix-selected").uncheck()
    assert "selected rows are shown" not in page.locator("#matrix-hint").inner_text()


def test_a_click_on_a_name_opens_its_drawer_and_escape_closes_it(page):
    drawer, name = page.locator("#drawer"), page.locator(".mx-side button:not([hidden])").nth(2)
    text = name.inner_text()
    name.click()
    assert drawer.is_visible() and page.locator("#drawer-title").inner_text() == text
    assert page.evaluate("document.activeElement.id") == "drawer-title"
    assert drawer.get_attribute("aria-labelledby") == "drawer-title"
    for title in ("How typical it is", "Rows most like it"):
        assert drawer.get_by_role("heading", name=title).count() == 1
    page.keyboard.press("Escape")
    assert drawer.is_hidden() and page.evaluate("document.activeElement.textContent") == text
    assert page.told == []


def test_drawers_by_keys_lead_on_and_back(page):
    page.locator("#matrix-scroll").focus()
    page.keyboard.press("Enter")
    first = page.locator("#drawer-title").inner_text()
    assert first == page.locator(".mx-side .marked").first.inner_text()
    page.get_by_role("button", name="Next row").press("Enter")
    second = page.locator("#drawer-title").inner_text()
    assert second != first and second == names(page, "side")[1]
    page.locator("#drawer-back").press("Enter")
    assert page.locator("#drawer-title").inner_text() == first
    page.locator("#drawer-close").press("Enter")
    assert page.locator("#drawer").is_hidden() and page.evaluate("document.activeElement.id") == "matrix-scroll"
    page.keyboard.press("Shift+Enter")
    assert page.locator("#drawer-title").inner_text() == page.locator(".mx-top .marked").first.inner_text()


def test_the_rank_of_a_row_is_found(page):
    page.locator(".mx-side button:not([hidden])").first.click()
    text = page.locator("#drawer-body", has_text=f"of {N_ROWS} rows")
    text.wait_for(timeout=10_000)
    assert "nats in all" in text.inner_text()


def test_the_drawer_of_a_column(page, content):
    page.locator(".mx-top button", has_text="item 3").first.click()
    drawer = page.locator("#drawer-body")
    data = table().data
    ones = int(np.nansum(data[:, 3] == 1))
    assert f"Who has it: {ones} of {N_ROWS} rows" in drawer.inner_text()
    page.locator("#drawer-select").click()
    assert page.locator("#matrix-selected").is_enabled()
    # Related columns: phi of the table's cells.
    related = drawer.locator("section", has_text="Related columns")
    shown = dict(zip(related.locator(".name").all_inner_texts(), related.locator(".num").all_inner_texts()))
    for other in range(N_COLUMNS):
        known = ~np.isnan(data[:, 3]) & ~np.isnan(data[:, other])
        phi = np.corrcoef(data[known, 3], data[known, other])[0, 1]
        if other != 3 and abs(phi) > 0.06:
            assert abs(float(shown[f"item {other}"]) - phi) < 0.0051
    related.locator("button").first.click()
    assert page.locator("#drawer-title").inner_text() != "item 3" and page.told == []


def test_a_part_has_typical_rows(page, content):
    page.evaluate("document.getElementById('search-box').focus()")
    part = content["readings"][0]["parts"][0]["name"]
    page.keyboard.type(part)
    page.locator("#search-list [role=option]", has_text=part).first.click()
    assert page.locator("#drawer-title").inner_text() == part
    rows = page.locator("#drawer-body li button")
    assert rows.count() >= 10
    rows.first.click()
    assert page.locator("#drawer-title").inner_text().startswith("row ") and page.told == []


def test_search_finds_by_keys(page):
    page.keyboard.press("/")
    box = page.locator("#search-box")
    assert page.evaluate("document.activeElement.id") == "search-box" and box.input_value() == ""
    page.keyboard.type("ITEM 4")
    assert box.get_attribute("aria-expanded") == "true"
    assert page.locator("#search-list [role=group]").first.inner_text().startswith("Columns")
    active = page.locator("#" + box.get_attribute("aria-activedescendant"))
    assert active.inner_text() == "item 4" and active.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    assert page.locator("#drawer-title").inner_text() == "item 4"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "search-box"
    page.keyboard.type("row 15")
    page.keyboard.press("ArrowDown")
    second = page.locator("#search-list [aria-selected=true]").inner_text()
    page.keyboard.press("Enter")
    assert page.locator("#drawer-title").inner_text() == second.split("\n")[0] != "row 15"
    page.keyboard.press("Escape")
    page.keyboard.type("nothing like this")
    assert page.locator("#search-list [role=option]").count() == 0
    page.keyboard.press("Escape")
    assert page.locator("#search-list").is_hidden() and page.told == []


@pytest.mark.parametrize("width", [360, 1600])
def test_nothing_sticks_out(shown, width):
    page = shown(width)
    over = "document.documentElement.scrollWidth - window.innerWidth"
    assert page.evaluate(over) <= 0
    page.locator(".mx-side button:not([hidden])").first.click()
    assert page.evaluate(over) <= 0
    place = page.locator("#drawer").bounding_box()
    assert place["x"] >= 0 and place["x"] + place["width"] <= width + 1
    assert place["width"] >= min(width, 400) and (place["y"] > 0) == (width == 360)


def test_a_dark_screen_and_paper_have_their_own_colours(shown):
    pictures = []
    for scheme in ("light", "dark"):
        page = shown(color_scheme=scheme)
        pictures.append(page.evaluate("document.getElementById('matrix-canvas').toDataURL()"))
    assert pictures[0] != pictures[1]
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(100)
    assert page.evaluate("document.getElementById('matrix-canvas').toDataURL()") == pictures[0]


def test_a_row_can_be_put_into_try_a_row(page):
    page.locator(".mx-side button:not([hidden])").nth(1).click()
    name = page.locator("#drawer-title").inner_text()
    page.get_by_role("button", name="Put into Try a row").click()
    page.wait_for_timeout(300)
    assert name in page.locator("#try-body").inner_text() and page.told == []


def test_cells_explained_beforehand_stand_in_for_a_model(shown, content):
    mixture = reading(content, "mixture")
    few = {
        "rows": [0, 1], "columns": [0, 1], "partners": [], "partner": None, "causes": ["class 1", "class 2", "class 3"],
        "first": "AAAAAAAAAAA=", "second": "AQABAAEAAQA=", "first_share": "zMzMzA==", "second_share": "MzMzMw==",
        "probability": "Zpkz/w==", "missing": None, "leak": None,
    }  # fmt: skip
    page = shown(readings=[{**mixture, "row_model": None, "cells": few}, reading(content, "trait")], map=None)
    page.select_option("#matrix-rows", "table")
    page.select_option("#matrix-columns", "table")
    assert "in a sample of rows and columns" in page.locator("#matrix-hint").inner_text()
    page.locator("#matrix-scroll").focus()
    page.keyboard.press("Control+Home")
    assert cell_of(page)[2] == pytest.approx(0x66 / 255)
    page.keyboard.press("Control+End")
    assert "cannot ask this model" in page.locator("#matrix-cell").inner_text()
    page.locator(".mx-side button:not([hidden])").last.click()
    assert "cannot be worked out" in page.locator("#drawer-body").inner_text() and page.told == []
