"""The map of rows in a real browser: zoom, cards, selecting by pointer and keys, colours by numbers, narrow and wide."""

from __future__ import annotations

import json
from urllib.parse import unquote

import numpy as np
import pytest

from latentbits.exploring.packing import bits_of_rows, bytes_of, floats_of, shorts_of
from latentbits.report.page import page_of

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

N = 240
NAMES = [f"column {j}" for j in range(6)]


def made():
    """Rows of two kinds, left and right on the map, ten of each on one spot; a word and a number go with places."""
    rng = np.random.default_rng(0)
    kind = np.arange(N) % 2
    places = np.c_[np.where(kind == 1, 0.8, -0.8) + 0.15 * rng.normal(size=N), rng.uniform(-1, 1, N)]
    places[:20] = np.c_[np.where(kind[:20] == 1, 0.8, -0.8), np.zeros(20)]
    cells = (
        rng.random((N, 6))
        < np.where(kind[:, None] == 1, [0.9, 0.8, 0.1, 0.5, 0.5, 0.5], [0.1, 0.2, 0.9, 0.5, 0.5, 0.5])
    ) * 1
    height = np.where(np.arange(N) % 12 == 0, np.nan, 400000 + 300000 * places[:, 1])
    return kind, places, cells, height


def a_reading(family, kind, parts, values, main, **more):
    noun, nouns = {
        "classes": ("class", "classes"),
        "scales": ("scale", "scales"),
        "causes": ("source", "sources"),
        "map": ("region", "regions"),
    }[kind]
    names = [f"{noun} {k + 1}" for k in range(parts)]
    cards = [
        {"name": n, "kind": "", "weight": None, "told": "", "more": [], "less": [], "features": [], "edges": []}
        for n in names
    ]
    is_loading = kind == "scales"
    empty = {
        "sizes": None,
        "ranges": None,
        "totals": None,
        "reliability": None,
        "distances": None,
        "layout": None,
        "associations": [],
        "n_associations": 0,
        "pairs": "",
        "trees": [],
        "modules": [],
        "summary": "",
        "restarts": [],
        "diagnostics": [],
        "row_model": None,
        "cells": None,
        "offset": None,
        "n_parts_left_out": 0,
        "kept": list(range(parts)),
        "structure": "",
        "story": "",
    }
    return (
        empty
        | {
            "family": family,
            "title": family,
            "noun": noun,
            "nouns": nouns,
            "kind": kind,
            "gist": "",
            "standing": "",
            "parts": cards,
            "is_loading": is_loading,
            "profiles": floats_of(np.full((parts, 6), 0.5)),
            "values": floats_of(values) if is_loading else bytes_of(values),
            "main": None if main is None else shorts_of(main),
        }
        | more
    )


def content_of(n_axes=2):
    kind, places, cells, height = made()
    direction = {
        "label": "height",
        "part": -1,
        "of": "map",
        "measure": "R",
        "value": 0.9,
        "low": None,
        "high": None,
        "p": 1e-9,
        "n": N,
        "stated": True,
        "sentence": "",
        "details": {"direction": [0.0, 1.0]},
    }
    scores = np.c_[2.0 * kind - 1, places[:, 1]]
    readings = [
        a_reading("mixture", "classes", 2, np.c_[1 - kind, kind], kind, sizes=[N // 2] * 2),
        a_reading(
            "trait",
            "scales",
            2,
            scores,
            None,
            ranges=[[-1.0, 0.0, 1.0]] * 2,
            totals=[0.3, 0.1],
            offset=floats_of(np.zeros(6)),
        ),
        a_reading(
            "gtm", "map", 2, np.c_[1 - kind, kind], kind, sizes=[N // 2] * 2, associations=[direction], n_associations=1
        ),
    ]
    return {
        "name": "rows of two kinds",
        "facts": [],
        "notes": [],
        "shape": [N, 6],
        "overview": [],
        "verdict": "",
        "finding": None,
        "comparison": None,
        "columns": NAMES,
        "column_numbers": list(range(6)),
        "n_columns_left_out": 0,
        "marginals": cells.mean(axis=0).tolist(),
        "blank_shares": [0.0] * 6,
        "labels": [
            {
                "name": "side",
                "is_number": False,
                "is_telling": True,
                "values": ["left", "right"],
                "n_values": 2,
                "codes": shorts_of(kind),
                "numbers": None,
            },
            {
                "name": "height",
                "is_number": True,
                "is_telling": True,
                "values": [],
                "n_values": 0,
                "codes": None,
                "numbers": floats_of(height),
            },
        ],
        "rows": {
            "number": list(range(N)),
            "ids": [f"<i>{i}</i>" for i in range(N)],
            "ones": bits_of_rows(cells == 1),
            "unknown": None,
        },
        "map": {
            "places": floats_of(places[:, :n_axes]),
            "n_axes": n_axes,
            "reading": 2,
            "regions": [
                {"x": -0.8, "y": 0.5, "words": ["column 2"]},
                {"x": 0.8, "y": 0.5, "words": ["column 0", "column 1"]},
            ],
        },
        "readings": readings,
        "look": [],
        "blanks": {"n": 0, "counts": [0] * 10, "listed": [], "by": ""},
        "leftovers": {"pairs": [], "groups": [], "n_sure": 0, "n_looked_at": 0},
        "methods": [],
        "citations": [],
        "versions": {},
        "settings": {},
        "command": "",
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    contents = {"plane": content_of(), "axis": content_of(1), "none": content_of() | {"map": None}}
    for name, content in contents.items():
        (folder / f"{name}.html").write_text(page_of(json.loads(json.dumps(content))), encoding="utf-8")
    return folder


@pytest.fixture
def opened(open_page, files):
    """Opens one of the pages; its scripts have complained of nothing when the test ends."""
    pages = []

    def the_page(name="plane", **options):
        page = open_page(files / f"{name}.html", **options)
        pages.append(page)
        page.locator("#map-body").scroll_into_view_if_needed()
        return page

    yield the_page
    assert [text for page in pages for text in page.told] == []


def box_of(page):
    page.locator("#map-canvas").scroll_into_view_if_needed()
    return page.locator("#map-canvas").bounding_box()


def picture(page):
    """The pixels of the map, when it has been drawn and nothing on it is pointed at."""
    page.mouse.move(2, 2)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("document.getElementById('map-canvas').toDataURL()")


def draw_around(page, corners):
    """A lasso through corners that are shares of the canvas."""
    box = box_of(page)
    points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=6)
    page.mouse.up()


LEFT = [(0.01, 0.01), (0.5, 0.01), (0.5, 0.99), (0.01, 0.99)]
RIGHT_TOP = [(0.52, 0.01), (0.99, 0.01), (0.99, 0.5), (0.52, 0.5)]


def n_selected(page):
    text = page.locator("#n-selected").inner_text()
    return 0 if text == "Nothing selected" else int(text.split(" of ")[0])


def a_spot(page):
    """A place in the window that lies on a spot, found as people find it, by hovering."""
    box = box_of(page)
    for step in range(5, 95):
        for down in (0.3, 0.5, 0.7):
            at = box["x"] + step / 100 * box["width"], box["y"] + down * box["height"]
            page.mouse.move(*at)
            if page.locator(".row-card").is_visible():
                return at
    raise AssertionError("no spot was found")


def test_a_lasso_selects_and_the_profile_says_what_is_common(opened):
    page = opened()
    assert n_selected(page) == 0
    before = picture(page)
    draw_around(page, LEFT)
    assert n_selected(page) == N // 2 and picture(page) != before
    told = page.locator("#selection").inner_text()
    assert "class 1" in told and "120 (100%)" in told and "left" in told and "median" in told and "right" not in told
    assert page.locator("#selection .bars").count() == 1
    draw_around(page, [*LEFT[:2], (0.5, 0.5), (0.01, 0.5)])
    half = n_selected(page)
    assert 0 < half < N // 2
    page.keyboard.down("Shift")
    draw_around(page, RIGHT_TOP)
    page.keyboard.up("Shift")
    more = n_selected(page)
    assert half < more < N
    page.get_by_role("button", name="Invert").click()
    assert n_selected(page) == N - more
    page.get_by_role("button", name="Clear selection").click()
    assert n_selected(page) == 0 and picture(page) == before


def test_a_box_by_pointer_and_a_box_by_keys(opened):
    page = opened()
    page.get_by_role("button", name="Box").click()
    draw_around(page, [(0.01, 0.01), (0.5, 0.99)])
    assert n_selected(page) == N // 2
    canvas = page.locator("#map-canvas")
    canvas.focus()
    page.keyboard.press("Escape")
    assert n_selected(page) == 0
    for _ in range(40):
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    for _ in range(8):
        page.keyboard.press("Shift+ArrowRight")
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert 0 < n_selected(page) < N // 2
    assert "polite" in page.locator("#n-selected").get_attribute("aria-live")


def test_zoom_by_buttons_wheel_keys_and_double_click_and_back(opened):
    page = opened()
    whole = picture(page)
    page.get_by_role("button", name="Zoom in").click()
    near = picture(page)
    assert near != whole
    page.get_by_role("button", name="Show the whole map").click()
    assert picture(page) == whole
    box = box_of(page)
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    scrolled = page.evaluate("scrollY")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    assert picture(page) != whole and page.evaluate("scrollY") == scrolled
    page.locator("#map-canvas").focus()
    page.keyboard.press("0")
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("-")
    page.keyboard.press("0")
    page.get_by_role("button", name="Lasso").focus()
    assert picture(page) == whole
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_timeout(400)
    assert picture(page) != whole and page.locator("#drawer").is_hidden()


def test_zoomed_in_the_map_moves_and_a_lasso_takes_fewer(opened):
    page = opened()
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    draw_around(page, [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99)])
    few = n_selected(page)
    assert few < N
    page.get_by_role("button", name="Clear selection").click()
    before = picture(page)
    page.get_by_role("button", name="Move", exact=True).click()
    draw_around(page, [(0.3, 0.5), (0.7, 0.5)])
    page.wait_for_timeout(400)
    assert n_selected(page) == 0 and picture(page) != before
    page.get_by_role("button", name="Lasso").click()
    before = picture(page)
    box = box_of(page)
    page.locator("#map-canvas").focus()
    page.keyboard.down("Space")
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 200, box["y"] + 200, steps=4)
    page.mouse.up()
    page.keyboard.up("Space")
    assert n_selected(page) == 0 and picture(page) != before


def test_two_fingers_zoom(opened):
    page = opened(width=400, has_touch=True)
    whole, box = picture(page), box_of(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hand = page.context.new_cdp_session(page)
    for kind, apart in [("touchStart", 20), ("touchMove", 40), ("touchMove", 80), ("touchEnd", None)]:
        fingers = [] if apart is None else [{"x": x + side * apart, "y": y, "id": n} for n, side in enumerate((-1, 1))]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    page.wait_for_timeout(400)
    assert picture(page) != whole and n_selected(page) == 0 and page.locator("#drawer").is_hidden()
    page.get_by_role("button", name="Show the whole map").click()
    assert picture(page) == whole


def test_hovering_shows_a_card_and_a_click_opens_the_row(opened):
    page = opened()
    at = a_spot(page)
    card = page.locator(".row-card")
    name = card.locator("strong").inner_text()
    assert name.startswith("<i>") and "class" in card.inner_text() and "side:" in card.inner_text()
    page.mouse.click(*at)
    page.locator("#drawer").wait_for(state="visible")
    assert name in page.locator("#drawer").inner_text() and n_selected(page) == 0


def test_the_card_can_be_reached_and_opens_the_row(opened):
    page = opened()
    a_spot(page)
    name = page.locator(".row-card strong").inner_text()
    page.locator(".row-card button").click()
    page.locator("#drawer").wait_for(state="visible")
    assert name in page.locator("#drawer").inner_text()


def test_the_cross_tells_the_row_under_it(opened):
    page = opened()
    page.locator("#map-canvas").focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
        told = page.locator("#map-live").inner_text()
        if told:
            break
    assert told.startswith("<i>") and "class" in told and "side: left" in told
    assert page.locator(".row-card").is_visible()
    page.keyboard.press("o")
    page.locator("#drawer").wait_for(state="visible")


def test_colours_follow_numbers_words_and_the_reading(opened):
    page = opened()
    assert page.locator("#colour-by").input_value() == "part"
    assert page.locator("#legend span").all_inner_texts() == ["class 1", "class 2"]
    by_class = picture(page)
    page.select_option("#colour-by", label="height")
    assert picture(page) != by_class
    ticks = [text for text in page.locator("#legend svg text").all_text_contents()]
    assert "200,000" in ticks and "400,000" in ticks and not any("e" in text for text in ticks)
    assert "not known" in page.locator("#legend").inner_text()
    page.select_option("#group", index=4)
    assert 50 <= n_selected(page) <= 60  # a quarter of the rows whose height is known
    page.select_option("#group", label="not known")
    assert n_selected(page) == N // 12
    page.select_option("#colour-by", label="side")
    page.select_option("#group", label="right")
    assert n_selected(page) == N // 2 and page.locator("#group").input_value() == "1"
    page.get_by_role("button", name="Clear selection").click()
    assert page.locator("#group").input_value() == ""
    page.select_option("#colour-by", label="class")
    if page.locator("#readings button").count() < 2:
        pytest.skip("the tabs of readings are not there yet")
    page.locator("#readings button").nth(1).click()
    assert page.locator("#colour-by").input_value() == "value:0" and "scale 1" in page.locator("#legend").inner_text()
    assert "class" not in page.locator("#colour-by").inner_text()


def test_selected_rows_are_listed_and_taken_along(opened):
    page = opened()
    draw_around(page, LEFT)
    page.locator("#selection summary").click()
    assert page.locator("#selection .members button").count() == N // 2
    link = page.get_by_role("link", name="Download these rows")
    link.focus()
    text = unquote(link.get_attribute("href").split(",", 1)[1]).lstrip("\ufeff")
    lines = text.split("\r\n")
    assert lines[0] == "row,name,side,height,class,class 1,class 2" and len(lines) == N // 2 + 2
    assert lines[1].startswith("0,<i>0</i>,left,,class 1,1,0")
    page.locator("#selection .members button").first.click()
    page.locator("#drawer").wait_for(state="visible")
    assert "<i>0</i>" in page.locator("#drawer").inner_text()


@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_wide_in_both_schemes(opened, width, scheme):
    page = opened(width=width, color_scheme=scheme, device_scale_factor=2)
    assert page.evaluate("document.getElementById('map').scrollWidth <= document.getElementById('map').clientWidth")
    draw_around(page, LEFT)
    page.wait_for_timeout(100)
    assert n_selected(page) == N // 2
    body = page.locator("#map").bounding_box()
    assert body["x"] >= 0 and body["x"] + body["width"] <= width
    assert page.evaluate("document.getElementById('map').scrollWidth <= document.getElementById('map').clientWidth")
    sharp = page.evaluate("(c => c.width / c.clientWidth)(document.getElementById('map-canvas'))")
    assert abs(sharp - 2) < 0.02
    beside = page.locator("#selection").bounding_box()["x"] > box_of(page)["x"] + 100
    assert beside == (width == 1600)


def test_colours_change_with_the_scheme_and_for_paper(opened):
    page = opened()
    light = picture(page)
    page.emulate_media(color_scheme="dark")
    assert picture(page) != light
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    paper = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()")
    assert paper == "#fff"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(color_scheme="light")
    assert picture(page) == light


def test_one_axis_is_a_strip_and_without_a_map_groups_are_selected(opened):
    page = opened("axis")
    box = box_of(page)
    assert box["height"] < 0.5 * box["width"]
    draw_around(page, LEFT)
    assert n_selected(page) == N // 2
    page = opened("none")
    assert page.locator("#map-canvas").count() == 0 and "no map" in page.locator("#map").inner_text()
    page.select_option("#group", label="class 2")
    assert n_selected(page) == N // 2 and "class 2" in page.locator("#selection").inner_text()
