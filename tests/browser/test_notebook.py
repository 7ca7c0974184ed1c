"""Notebook views and reports on one model in a real browser: nothing runs, nothing is cut off, text stands out."""

from __future__ import annotations

import warnings

import pytest

import latentbits
from latentbits.errors import LatentBitsWarning

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]
pd = pytest.importorskip("pandas")

EVIL = "<script>alert(1)</script>"

MODELS = {
    "mixture": lambda: latentbits.BernoulliMixture(3, n_init=1, random_state=0),
    "aspect": lambda: latentbits.AspectBernoulli(3, n_phantom=1, n_init=1, max_iter=30, random_state=0),
    "noisy-or": lambda: latentbits.NoisyOrComponentAnalysis(2, n_init=1, max_iter=20, random_state=0),
    "trait": lambda: latentbits.LatentTrait(1, n_init=1, random_state=0),
    "gtm": lambda: latentbits.BinaryGTM(latent_shape=(4, 4), max_iter=30, random_state=0),
    "trees": lambda: latentbits.TreeMixture(2, n_init=1, max_iter=20, random_state=0),
    "tree": lambda: latentbits.ChowLiuTree(),
}
# Contrast of every text with what lies behind it (WCAG 2), opacity of all elements around it included.
CONTRASTS = """
() => {
  const parsed = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const back = parsed(getComputedStyle(document.body).backgroundColor).slice(0, 3), out = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.textContent.trim()) continue;
    let opacity = 1;
    for (let e = walker.currentNode.parentElement; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
    const colour = parsed(getComputedStyle(walker.currentNode.parentElement).color).slice(0, 3);
    const seen = colour.map((v, i) => opacity * v + (1 - opacity) * back[i]);
    const [low, high] = [light(seen), light(back)].sort((a, b) => a - b);
    out.push([(high + 0.05) / (low + 0.05), walker.currentNode.textContent]);
  }
  return out;
}
"""


@pytest.fixture(scope="module")
def fitted():
    """Models of every kind, fitted to one table with evil names."""
    made = latentbits.datasets.make_mixture(160, 8, 3, spread=3.0, unknown=0.05, random_state=2)
    X = pd.DataFrame(made.data, columns=[EVIL, "x" * 200, *[f"feature {j}" for j in range(2, 8)]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return X, {name: make().fit(X) for name, make in MODELS.items()}


@pytest.mark.parametrize("back, front", [("#ffffff", "#111111"), ("#111111", "#dddddd")], ids=["light", "dark"])
def test_notebook_views_stand_out_and_stay_inside(browser, fitted, back, front):
    X, models = fitted
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    told = []
    page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: told.append(message.text))
    views = [thing._repr_html_() for model in models.values() for thing in (model, model.explain(X))]
    body = f"<body style='background:{back};color:{front};font-family:sans-serif'>{'<hr>'.join(views)}</body>"
    page.set_content(f"<!doctype html>{body}")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 200
    assert [text for contrast, text in found if contrast < 4.5] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 360, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert told == [] and EVIL in page.locator("body").inner_text()
    page.close()


@pytest.mark.parametrize("name", MODELS)
def test_a_report_on_one_model_opens(open_page, fitted, tmp_path, name):
    X, models = fitted
    called = models[name].component_names_[0]
    names = {name: {called: "our <b>own</b> name"}}
    path = models[name].report(X, tmp_path / "page.html", name=EVIL, labels={"site": ["a", "b"] * 80}, names=names)
    page = open_page(path)
    assert page.told == [] and page.locator("h1").inner_text() == EVIL
    assert page.locator("#families").count() == 0  # there is no comparison
    if name != "tree":  # which has no components
        assert "our <b>own</b> name" in page.locator("main").inner_text()
