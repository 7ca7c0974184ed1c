"""What a comparison says: words that go as far as the evidence."""

from __future__ import annotations

import numpy as np
import pytest

from latentbits.evaluation import candidates_for
from latentbits.evaluation.candidates import Candidate
from latentbits.evaluation.comparison import Comparison, Fitted
from latentbits.evaluation.plan import Plan
from latentbits.evaluation.scores import (
    Answers,
    Questions,
)
from latentbits.evaluation.search import Point


def told(
    losses, n=4000, noise=0.02, structures=None, n_draws=3, is_whole=True, sizes=(2, 3, 4), shaken=None, ended=None
):
    """A comparison in which models have these mean losses; those of ``shaken`` differ by so much from draw to draw."""
    rng = np.random.default_rng(0)
    structures, ended = structures or {}, ended or {}
    values = (rng.random(n) < 0.5).astype(np.uint8)
    draws = np.arange(n) * n_draws // n
    asked = Questions(np.repeat(np.arange(n // 4), 4), np.zeros(n, int), values, draws)
    said, candidates = {}, []
    for name, loss in losses.items():
        moved = (draws - (n_draws - 1) / 2) * (shaken or {}).get(name, 0.0)
        on = np.exp(-(loss + moved + noise * rng.standard_normal(n)))
        said[name] = Answers(np.where(values == 1, on, 1 - on), None, "")
        known = {"independent": "none", "tree": "pairs", "regressions": "outside"}
        structure = structures.get(name, known.get(name, "class"))
        candidates.append(
            Candidate(
                name=name,
                title=f"the {name}",
                structure=structure,
                make=lambda size: None,
                is_baseline=structure in ("none", "pairs"),
                is_rival=structure == "outside",
            )
        )
    about = {name: [Fitted(Point(3), 1.0, 5, True, "")] * n_draws for name in losses}
    searches = [
        {"model": name, "step": i, "size": size, "options": {}, "log_loss": 0.3, "behind": 0.0, "se": 0.0}
        for name in losses
        for i, size in enumerate(sizes)
    ]
    plan = Plan(n_draws, 900, 0, ended={name: ended.get(name, "settled") for name in losses})
    return Comparison.of(candidates, asked, said, np.arange(0), about, searches, plan, is_whole)


def test_a_part_of_the_rows_makes_nothing_clear():
    """With more rows larger models may win: on 900 rows of plants a machine of switches lost that wins on 3,600."""
    losses = {"independent": 0.6, "tree": 0.5, "mixture": 0.3, "trait": 0.45}
    whole, part = told(losses), told(losses, is_whole=False)
    assert "Clearly worse: the trait" in whole.verdict and "Worse in these fits: the trait" in part.verdict
    assert part.row("trait")["standing"] == "worse"


def test_verdicts():
    clear = told({"independent": 0.6, "tree": 0.5, "mixture": 0.3, "aspect": 0.3001, "trait": 0.45})
    assert clear.finding_ == "structure" and clear.best_ == "mixture" and clear.verdict.startswith("Every row belongs")
    assert "The aspect (K=3) is indistinguishable" in clear.verdict
    assert "Clearly worse: the trait (K=3)" in clear.verdict and "50% below independent columns" in clear.verdict
    pairs = told({"independent": 0.6, "tree": 0.3, "mixture": 0.4})
    assert pairs.finding_ == "pairs" and "predicts them better still" in pairs.verdict
    assert pairs.headline.startswith("Columns depend on each other in pairs: no family with hidden causes")
    nothing = told({"independent": 0.6, "tree": 0.61, "mixture": 0.6001})
    assert nothing.finding_ == "nothing" and "Nothing to find" in nothing.verdict
    easier = told(
        {"independent": 0.6, "tree": 0.5, "boltzmann": 0.2998, "mixture": 0.3}, structures={"boltzmann": "switches"}
    )
    assert easier.chosen_ == "mixture" and (
        easier.best_ == "mixture" or "the mixture (K=3) is the easiest" in easier.verdict
    )
    both = told({"independent": 0.6, "tree": 0.5, "mixture": 0.3, "aspect": 0.3}, structures={"aspect": "shares"})
    assert "the data cannot tell which" in both.verdict and both.multi_cause_ == "aspect"


def test_verdicts_say_no_more_than_was_tried():
    """Few draws, sizes at the end of the search, fits that differ, a single family: words are weaker."""
    losses = {"independent": 0.6, "tree": 0.5, "mixture": 0.3, "aspect": 0.3, "trait": 0.45}
    few = told(losses, n_draws=2, structures={"aspect": "shares"})
    assert "learly" not in few.verdict and "Worse in these fits: the trait (K=3)." in few.verdict
    assert "these fits cannot tell which" in few.headline
    edge = told(losses, sizes=(2, 3), ended=dict.fromkeys(losses, "time"))
    assert "The mixture (K=3) predicts hidden cells best" in edge.verdict and edge.row("mixture")["at_edge"]
    assert "It was still improving at K=3, the largest size that was tried." in edge.verdict
    assert "Worse so far, but still improving at the largest size that was tried: the trait (K=3)." in edge.verdict
    assert "Clearly worse" not in edge.verdict
    both = {"sizes": (2, 3), "structures": {"aspect": "shares"}, "ended": {"aspect": "time"}}
    assert "these fits cannot tell" in told(losses, **both).headline
    once = told(losses, sizes=(3,), ended={"trait": "time"})
    assert "Worse in the one fit that there was time for: the trait (K=3)." in once.verdict
    assert once.row("trait")["standing"] == "hardly searched" and "learly worse" not in once.verdict
    apart = {**losses, "aspect": 0.4}
    assert told(apart, structures={"aspect": "shares"}).headline == "Every row belongs to one hidden class."
    other = told(apart, structures={"aspect": "shares"}, sizes=(2, 3), ended={"aspect": "time"})
    assert other.headline == "As far as was tried, every row belongs to one hidden class."
    behind = told(losses, ended={"trait": "behind"})
    assert "Stopped, too far behind to catch up: the trait (K=3), 0.150 behind." in behind.verdict
    outside = told({**losses, "regressions": 0.25})
    assert outside.rival_ == "regressions" and outside.headline.startswith("The regressions, which claims no hidden")
    assert "predicts better by 0.0" in outside.verdict and outside.best_ in ("mixture", "aspect")
    assert "which claims no hidden structure, predicts as well" in told({**losses, "regressions": 0.3}).verdict
    nothing = told({"independent": 0.6, "tree": 0.2, "mixture": 0.6})
    assert nothing.finding_ == "pairs" and "columns depend on each other in pairs" in nothing.headline.lower()
    rival = told({"independent": 0.6, "tree": 0.6, "mixture": 0.6, "regressions": 0.3})
    assert "chance" not in rival.verdict and rival.headline.startswith("No family predicts hidden cells better than")
    two = told({**losses, "regressions": 0.27, "boosting": 0.25}, structures={"boosting": "outside"})
    assert two.rival_ == "boosting"
    losses["trait"] = 0.4
    assert "Clearly worse: the trait" in told(losses).verdict
    moving = told(losses, shaken={"trait": 0.2})
    assert "and the trait (K=3) are indistinguishable" in moving.verdict
    pairs = told({"independent": 0.6, "tree": 0.3005, "mixture": 0.3, "aspect": 0.45}, noise=0.05)
    assert "columns depend on each other in pairs" in pairs.headline and "cannot tell which" in pairs.headline
    alone = told({"independent": 0.6, "tree": 0.5, "mixture": 0.3})
    assert alone.headline == "One family was tried, the mixture: every row belongs to one hidden class."


def test_kinds_of_row_scores_are_ranked_apart():
    values = np.array([0, 1] * 50)
    on = np.where(values == 1, 0.7, 0.3)
    said = {
        "independent": Answers(np.full(100, 0.5), np.full(20, -9.0), "exact"),
        "tree": Answers(on, np.full(20, -8.0), "exact"),
        "mixture": Answers(on, np.full(20, -5.0), "estimate"),
    }
    taking_part = [one for one in candidates_for(["mixture"]) if not one.is_rival]
    about = {name: [Fitted(Point(None), 1.0, 5, True, "")] for name in said}
    asked = Questions(np.arange(100), np.zeros(100, int), values)
    found = Comparison.of(taking_part, asked, said, np.arange(20), about, [], Plan(1, 100, 20))
    assert found.row("tree")["row_below_best"] == found.row("mixture")["row_below_best"] == 0.0
    assert found.row("independent")["row_below_best"] == pytest.approx(1.0)  # to the tree, not to the estimate


def test_bounds_are_not_ranked():
    values = np.array([0, 1] * 50)
    asked = Questions(np.arange(100), np.zeros(100, int), values)
    on = np.where(values == 1, 0.7, 0.3)
    said = {
        "independent": Answers(np.full(100, 0.5), np.full(20, -9.0), "exact"),
        "tree": Answers(on, np.full(20, -8.0), "exact"),
        "bounded": Answers(on, np.full(20, -5.0), "lower bound"),
    }
    taking_part = [
        *candidates_for(["mixture"])[:2],
        Candidate(name="bounded", title="bounded", structure="causes", make=lambda size: None),
    ]
    about = {name: [Fitted(Point(None), 1.0, 1, True, "")] for name in said}
    found = Comparison.of(taking_part, asked, said, np.arange(20), about, [], Plan(1, 100, 20))
    assert "row_below_best" not in found.row("bounded") and found.row("bounded")["row_kind"] == "lower bound"
    assert found.row("independent")["row_below_best"] == pytest.approx(1.0)  # to the tree, not to the bound
