"""Sphinx configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import latentbits
from latentbits.families import BY_CLASS, FAMILIES

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import results  # noqa: E402

project = "latentbits"
author = "the latentbits developers"
copyright = "2026, the latentbits developers"
version = release = latentbits.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "running",
]
root_doc = "index"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["custom.css"]
exclude_patterns = ["_build", "stories", "drawn"]
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "dollarmath", "substitution"]
myst_heading_anchors = 3  # links lead to headings of other pages
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # they stand in the docstrings
autodoc_class_signature = "mixed"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of classes lists them
numpydoc_validation_checks = set()

html_theme = "pydata_sphinx_theme"
html_title = "latentbits"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": [], "guide/start": []}
html_show_sourcelink = False


def styled(gallery_conf: dict, name: str) -> None:
    """One look for the figures of all stories."""
    import matplotlib.pyplot as plt

    plt.style.use(["default", str(HERE / "figures.mplstyle")])


sphinx_gallery_conf = {
    "examples_dirs": "stories",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/story_",
    "download_all_examples": False,
    "reset_modules": (styled,),
    "backreferences_dir": "api/used",
    "doc_module": ("latentbits",),
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (480, 320),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib\..*",
    "remove_config_comments": True,
    "show_signature": False,
}

# Answers that only some families have, as readers ask for them.
QUESTIONS = {
    "predict": "`predict`",
    "reconstruct": "`impute`",
    "explain": "`explain`",
    "sample": "`sample`",
    "bic": "`bic`",
    "partial_fit": "`partial_fit`",
}
GUIDES = {
    "mixture": "mixture", "aspect": "aspect", "noisy_or": "noisy_or", "gtm": "gtm", "logistic": "logistic", "trees": "trees",
    "rbm": "boltzmann", "bernoulli_gauss": "weights", "multinomial": "weights",
}  # fmt: skip
BAYESIAN = ("VariationalBernoulliMixture", "BayesianBernoulliMixture", "DPBernoulliMixture")


def guide_of(family: object) -> str:
    """The guide page of a family."""
    return "bayesian" if family.cls in BAYESIAN else GUIDES[family.home.rpartition(".")[2]]


def told_stories() -> str:
    """Every story, and the families that tell it."""
    stories: dict[str, list] = {}
    for family in FAMILIES:
        stories.setdefault(family.story, []).append(family)
    lines = ["| if ... | then | on the command line |", "|---|---|---|"]
    for story, families in stories.items():
        told = ", ".join(f"[{f.cls}]({guide_of(f)}.md)" for f in families)
        names = ", ".join(f"`{f.name}`" for f in families if f.name)
        lines.append(f"| {story} | {told} | {names} |")
    return "\n".join(lines)


def told_answers() -> str:
    """Which family answers which question."""
    lines = ["| | " + " | ".join(QUESTIONS.values()) + " |", "|---|" + "---|" * len(QUESTIONS)]
    for family in FAMILIES:
        marks = ["✓" if question in family.answers else "" for question in QUESTIONS]
        lines.append(f"| [{family.cls}]({guide_of(family)}.md) | " + " | ".join(marks) + " |")
    return "\n".join(lines)


PAPERS = {
    "aspect": "Aspect Bernoulli", "gtm": "binary GTM", "bernoulli_gauss": "latent Bernoulli-Gauss",
    "bayesian_mixture": "Bayesian mixtures", "noisy_or": "noisy-or component analysis",
    "explore": "the comparison of families",
}  # fmt: skip


def told_papers() -> str:
    """How many acceptance lines of every paper are met."""
    lines = ["| page | acceptance lines met |", "|---|---|"]
    for folder, title in PAPERS.items():
        page = "comparison" if folder == "explore" else folder
        lines.append("| [{}]({}.md) | {} of {} |".format(title, page, *results.counted(folder)))
    return "\n".join([*lines, "| [density estimation](density.md) | |"])


myst_substitutions = {
    "stories": told_stories(),
    "answers": told_answers(),
    "papers": told_papers(),
    **{f"{folder}_claims": results.told(folder) for folder in PAPERS},
}


def estimators_page() -> str:
    """The estimators, from the table of families."""
    rows = [f"| [{f.cls}](generated/latentbits.{f.cls}) | {f.story} | {f.citation} |" for f in FAMILIES]
    table = "\n".join(["| estimator | story | source |", "|---|---|---|", *rows])
    names = "\n   ".join(f.cls for f in FAMILIES)
    listed = f".. currentmodule:: latentbits\n\n.. autosummary::\n   :toctree: generated\n\n   {names}\n"
    told = (
        "Every page has the options, the fitted attributes and all methods with an example each, and names the "
        "stories of the gallery that use the class. What all of them answer: [the questions](../guide/quickstart.md), and "
        "[who answers which](../guide/families.md#what-every-family-answers)."
    )
    return f"# Estimators\n\n{told}\n\n{table}\n\n```{{eval-rst}}\n{listed}```\n"


# Written before Sphinx looks for pages; not kept in the repository.
(HERE / "api" / "estimators.md").write_text(estimators_page(), encoding="utf-8")


def not_ours(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out what scikit-learn and tuples bring along: members of other packages, and fields, which the class tells of."""
    if what != "class":
        return None
    behind = getattr(obj, "fget", None) or getattr(obj, "fn", None) or obj
    module = getattr(behind, "__module__", None)
    return None if module is not None and module.startswith("latentbits") else True


def with_answers(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Below the description of every estimator: its story, its guide page, and which answers of the registry it gives."""
    family = BY_CLASS.get(name.rpartition(".")[2]) if what == "class" else None
    if family is None:
        return
    given = ", ".join(f":meth:`~latentbits.{family.cls}.{method}`" for method in family.answers)
    lines += [
        "",
        ".. rubric:: In the registry of families",
        "",
        f"*{family.story[0].upper()}{family.story[1:]}.* A component is called {family.noun}"
        + (f"; on the command line the family is ``{family.name}``." if family.name else "."),
        f"Guide: :doc:`/guide/{guide_of(family)}`.",
        f"Of the answers that only some families have, it gives {given}."
        if given
        else "It predicts, and fills no cells.",
        "",
    ]


def setup(app: object) -> None:
    """Hear of members and of classes."""
    app.connect("autodoc-skip-member", not_ours)
    app.connect("autodoc-process-docstring", with_answers)
