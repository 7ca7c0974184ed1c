"""What a visitor finds: stories, guide pages in one layout, workflows that call what there is, one version everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import latentbits
from latentbits import plots
from latentbits.families import FAMILIES

ROOT = Path(__file__).parents[2]
STORIES = sorted((ROOT / "docs" / "stories").glob("story_*.py"))
pytestmark = pytest.mark.skipif(not STORIES, reason="the repository is not around these tests")
# A page per family, and what each of them has to say.
PAGES = ("mixture", "bayesian", "aspect", "noisy_or", "gtm", "logistic", "trees", "boltzmann")
SECTIONS = (
    "The model",
    "A worked example",
    "How to read the result",
    "Missing cells",
    "Large tables",
    "Pitfalls",
    "Other tools",
    "References",
)


def text_of(*parts):
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def test_there_are_stories_and_every_picture_is_in_one():
    told = "".join(path.read_text(encoding="utf-8") for path in STORIES)
    assert len(STORIES) >= 15
    for name in set(plots.__all__) - {"selection", "comparison", "capacity"}:  # which objects draw themselves, too
        assert f"plots.{name}(" in told, name


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_families_have_one_layout(page):
    text = text_of("docs", "guide", f"{page}.md")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    places = [headings.index(section) for section in SECTIONS]
    assert places == sorted(places)
    assert "| use it | rather not |" in text and "```{run}" in text and ("$$" in text)


def test_every_family_is_named_in_the_guide():
    told = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "guide").glob("*.md"))
    assert not [family.cls for family in FAMILIES if family.cls not in told]


def test_one_version_everywhere():
    assert f"version: {latentbits.__version__}\n" in text_of("CITATION.cff")
    assert f"## {latentbits.__version__} (" in text_of("CHANGELOG.md")


def test_workflows_call_sessions_that_there_are():
    sessions = set(re.findall(r"^def (\w+)\(session", text_of("noxfile.py"), re.MULTILINE))
    called = set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        called |= set(re.findall(r"nox -s (\w+)", text)) | set(re.findall(r"session: (\w+)", text))
        called |= set(re.findall(r"session: \[(\w+)\]", text))
    assert called <= sessions and {"tests", "lint", "docs", "oldest", "core", "release_check", "slow"} <= called


def test_make_and_nox_lint_alike():
    """Both run the same programs."""
    tools = re.findall(
        r"^\t\$\(BIN\)/([\w-]+)", text_of("Makefile").partition("\nlint:")[2].partition("\n\n")[0], re.MULTILINE
    )
    session = text_of("noxfile.py").partition("def lint(")[2].partition("@nox")[0]
    assert tools and set(tools) == set(re.findall(r'session\.run\("([\w-]+)"', session))


def test_links_that_lead_nowhere_are_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    from links import broken

    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a><a href="#here">up</a></p>')
    (tmp_path / "b.html").write_text('<p id="there"><a href="https://example.org/x">out</a></p>')
    assert broken(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="c.html">c</a><a href="a.html#gone">a</a>')
    assert len(broken(tmp_path)) == 3
