"""Sphinx configuration."""

from __future__ import annotations

from typing import Any

import latentbits
from latentbits.families import FAMILIES

project = "latentbits"
author = "the latentbits developers"
copyright = "2026, the latentbits developers"
version = release = latentbits.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
numpydoc_show_class_members = False
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
exclude_patterns = ["_build", "stories"]
sphinx_gallery_conf = {
    "examples_dirs": "stories",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/story_",
    "download_all_examples": False,
}
suppress_warnings = ["config.cache"]


def list_estimators(app: Any, page: str, source: list[str]) -> None:
    """Put the estimators of the table of families where a page asks for them."""
    source[0] = source[0].replace("@@estimators@@", "\n   ".join(family.cls for family in FAMILIES))


def setup(app: Any) -> None:
    """Connect to Sphinx."""
    app.connect("source-read", list_estimators)
