"""A browser, and pages opened in it, for the tests of the report."""

from __future__ import annotations

import glob
import os
import shutil

import pytest


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
    """One browser per file of tests: Playwright allows no two of them at a time."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    place = chromium()
    if place is None:
        pytest.skip("needs Chromium (Debian: apt-get install chromium; or name it in LATENTBITS_CHROMIUM)")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=place, args=[*flags, "--disable-sync", "--no-first-run"])
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser):
    """Opens a file: ``open_page(path, width=1280, color_scheme="dark", ...)``; what it complains of is in ``page.told``."""
    contexts = []

    def opened(path, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.told, page.asked = [], []
        page.on("console", lambda message: page.told.append(message.text))
        page.on("pageerror", lambda error: page.told.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", timeout=20_000)
        return page

    yield opened
    for context in contexts:
        context.close()
