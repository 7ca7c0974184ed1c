"""Sphinx configuration."""

from __future__ import annotations

from pathlib import Path

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
myst_heading_anchors = 3  # links lead to headings of other pages
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


def estimators_page() -> str:
    """The estimators, from the table of families."""
    rows = [f"| [{f.cls}](generated/latentbits.{f.cls}) | {f.story} | {f.citation} |" for f in FAMILIES]
    table = "\n".join(["| estimator | story | source |", "|---|---|---|", *rows])
    names = "\n   ".join([*(f.cls for f in FAMILIES), "load"])
    listed = f".. currentmodule:: latentbits\n\n.. autosummary::\n   :toctree: generated\n\n   {names}\n"
    told = (
        "Notebooks show what a fitted estimator found; those that explain cells write it as a page, too: "
        "[`report`](../guide/exploring.md#a-model-of-your-own)."
    )
    return f"# Estimators\n\n{table}\n\n{told}\n\n```{{eval-rst}}\n{listed}```\n"


# Written before Sphinx looks for pages; not kept in the repository.
(Path(__file__).parent / "api" / "estimators.md").write_text(estimators_page(), encoding="utf-8")
