"""Pictures of reports for the guide: ``python docs/pictures.py [NAME ...]`` explores five tables and photographs their pages;
``doors`` draws those of the landing page.

Needs Chromium and the package playwright.  The pictures are looked at before they are committed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

import latentbits
from latentbits.datasets import load_votes, make_map, make_mixture, make_noisy_or, make_trait
from latentbits.errors import LatentBitsWarning

HERE = Path(__file__).parent / "guide" / "pictures"
BUDGET, TALL = 60, 1500
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]


def votes() -> tuple[Any, dict[str, Any]]:
    """Votes of the U.S. House with abstentions; parties as labels."""
    found = load_votes()
    return pd.DataFrame(found.data, columns=found.feature_names), {"party": found.target}


def exam() -> tuple[Any, dict[str, Any]]:
    """Twenty tasks, one ability, a grade that follows it."""
    made = make_trait(400, 20, 1, random_state=1)
    rng = np.random.default_rng(1)
    X = np.where(made.loadings[0] < 0, 1 - made.data, made.data)  # every task is solved or not
    ability = made.scores[:, 0]
    grade = np.clip(np.round(3.5 - ability + 0.5 * rng.standard_normal(400)), 1, 6)
    return pd.DataFrame(X, columns=[f"task {j + 1}" for j in range(20)]), {"grade": grade}


def habits() -> tuple[Any, dict[str, Any]]:
    """Three kinds of people with ages and homes."""
    made, rng = make_mixture(500, 16, 3, spread=2.0, unknown=0.03, random_state=4), np.random.default_rng(4)
    age = np.round(25 + 14 * made.causes + 8 * rng.standard_normal(500))
    homes = np.array(["city", "suburb", "village"])
    home = homes[np.where(rng.random(500) < 0.3, rng.integers(0, 3, 500), made.causes)]
    return pd.DataFrame(made.data, columns=[f"habit {j + 1}" for j in range(16)]), {"age": age, "home": home}


def symptoms() -> tuple[Any, dict[str, Any]]:
    """Symptoms of four causes that overlap; smoking switches the first on."""
    made, rng = make_noisy_or(600, 24, 4, random_state=3), np.random.default_rng(3)
    smokes = made.sources[:, 0].astype(bool) ^ (rng.random(600) < 0.1)
    labels = {"smokes": np.where(smokes, "yes", "no")}
    return pd.DataFrame(made.data, columns=[f"symptom {j + 1}" for j in range(24)]), labels


def sites() -> tuple[Any, dict[str, Any]]:
    """Species at sites along two gradients, the elevation of the sites known."""
    made, rng = make_map(600, 60, random_state=5), np.random.default_rng(5)
    elevation = np.round(900 + 500 * made.places[:, 0] + 80 * rng.standard_normal(600))
    return pd.DataFrame(made.data, columns=[f"species {j + 1}" for j in range(60)]), {"elevation": elevation}


# Table, and what is photographed: a section, or the top of the page.
PICTURES: dict[str, tuple[Any, str]] = {
    "votes": (votes, ""),
    "exam": (exam, "#components"),
    "habits": (habits, ".labels-shown"),
    "symptoms": (symptoms, "#components"),
    "sites": (sites, "#map"),
}


def photograph(names: list[str]) -> None:
    """Explore the tables and write their pictures."""
    HERE.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name in names:
            make, what = PICTURES[name]
            frame, labels = make()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LatentBitsWarning)
                found = latentbits.explore(frame, Path(place) / name, name=name, labels=labels, budget=BUDGET)
            print(name, *found.overview, sep="\n  ")
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            page.goto(found.report.as_uri())
            page.wait_for_selector("html[data-ready]")
            if name == "votes":
                numbered(found.report)
            if name == "sites":
                page.select_option("#colour-by", label="elevation")
            file = HERE / f"{name}.png"
            (page.locator(what) if what else page).screenshot(path=file)
            whole = Image.open(file).convert("RGB")
            whole.crop((0, 0, whole.width, min(whole.height, TALL))).quantize(128).save(file, optimize=True)
        browser.close()


# Pictures with numbers: the sections that they show, and the places that the guide speaks of, in its order.
NUMBERED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "read_head": (
        ("#overview", "#components"),
        (
            "#found > :nth-child(1)",
            "#found > :nth-child(2)",
            "#found > :nth-child(3)",
            "#doubts",
            "#readings",
            "#part-0",
            "#part-0 svg",
            "#part-0 button",
            ".labels-shown",
        ),
    ),
    "read_map": (
        ("#map", "#matrix"),
        ("#colour-by", "#map-canvas", "#map-side", "#matrix-rows", "#matrix-canvas", "#matrix-cell"),
    ),
}
BADGES = """places => places.forEach((place, number) => {
  const found = document.querySelector(place);
  if (!found) throw new Error("not on the page: " + place);
  const box = found.getBoundingClientRect(), badge = document.createElement("div");
  badge.textContent = number + 1;
  const left = Math.max(4, box.left + scrollX - 36), top = box.top + scrollY - 4;
  badge.style.cssText = `position:absolute;left:${left}px;top:${top}px;width:30px;height:30px;border-radius:15px;
    background:#c2410c;color:#fff;font:bold 16px/30px sans-serif;text-align:center;z-index:99;box-shadow:0 0 0 3px #fff`;
  document.body.append(badge);
})"""


def numbered(report: Path) -> None:
    """Photograph parts of a report with numbers on what the guide speaks of."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, (sections, places) in NUMBERED.items():
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            page.goto(report.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.evaluate(BADGES, list(places))
            boxes = [page.locator(section).bounding_box() for section in sections]
            top, bottom = boxes[0]["y"] - 12, boxes[-1]["y"] + boxes[-1]["height"]
            clip = {"x": 0, "y": top, "width": 1280, "height": bottom - top}
            file = HERE / f"{name}.png"
            page.screenshot(path=file, full_page=True, clip=clip)
            Image.open(file).convert("RGB").quantize(128).save(file, optimize=True)
            page.close()
        browser.close()


def doors() -> None:
    """Pictures of the four doors of the landing page, of one size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use([str(HERE.parents[1] / "figures.mplstyle"), {"savefig.bbox": "standard"}])
    size, shape = (6.4, 4.0), (640, 400)

    def write(name: str) -> None:
        plt.gcf().set_size_inches(*size)
        plt.savefig(HERE / f"door_{name}.png", dpi=100)
        plt.close("all")

    top = Image.open(HERE / "votes.png").convert("RGB")
    top.crop((0, 0, top.width, int(top.width * 0.625))).resize(shape).save(HERE / "door_report.png", optimize=True)
    frame = load_votes().frame.dropna(how="all").iloc[:, :8]
    frame.columns = [name.replace("_", " ")[:28] for name in frame.columns]
    latentbits.plots.profile(latentbits.BernoulliMixture(3, random_state=0).fit(frame), frame, counts=False).set_title(
        ""
    )
    write("guide")
    zoo = latentbits.datasets.load_zoo()
    chart = latentbits.BinaryGTM((8, 8), weight_concentration=2.0).fit(zoo.frame)
    latentbits.plots.latent_map(chart, zoo.frame, zoo.target, words=5)
    write("gallery")
    lines = (
        ">>> model = BernoulliMixture(3).fit(X)",
        ">>> model.predict(X)[:5]",
        "array([0, 0, 2, 1, 0])",
        ">>> model.impute(X)",
        ">>> model.explain(X).to_frame()",
        ">>> model.surprising(X, 20)",
        ">>> model.report(X, 'page.html')",
    )
    axes = plt.figure(facecolor="#f4f5f7", layout="none").add_axes((0, 0, 1, 1))
    axes.axis("off")
    for place, line in enumerate(lines):
        colour = "#1d4f80" if line.startswith(">>>") else "#4a4f57"
        axes.text(0.06, 0.84 - 0.12 * place, line, family="monospace", fontsize=15, color=colour)
    write("reference")


if __name__ == "__main__":
    asked = sys.argv[1:] or [*PICTURES, "doors"]
    photograph([name for name in asked if name != "doors"])
    if "doors" in asked:
        doors()
