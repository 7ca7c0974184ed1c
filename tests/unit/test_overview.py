"""What is said of a table in few words: a line for every reading, and at most three sentences for all of it."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import latentbits
from latentbits.datasets import make_mixture
from latentbits.errors import LatentBitsWarning
from latentbits.exploring.gist import (
    component_told,
    overview,
    standing_of,
    strongest,
    sureness,
    telling,
    way_of,
    ways_as_good,
)
from latentbits.exploring.readings import MOST_READINGS, families_to_read
from latentbits.families import BY_NAME
from tests.planted_labels import KINDS
from tests.unit.explored_tools import on_items, read, read_all
from tests.unit.test_verdict import told as compared

STRUCTURES = {name: family.structure for name, family in BY_NAME.items() if name != "tree"}
NAMES = [f"item {'abcdefghijklmnop'[j]}" for j in range(16)]


def comparison(losses, **options):
    """A comparison of families of this package in which models have these mean losses."""
    return compared({"independent": 0.6, "tree": 0.5, **losses}, structures=STRUCTURES, **options)


def standing(found, name, size=None):
    """What is said of a family that is read with a size, by default the one that was compared."""
    size = found.row(name)["size"] if size is None else size
    return standing_of(found, SimpleNamespace(candidate=found.candidate(name), size=size))


def is_plain(sentence):
    """Whether a sentence ends once, has no doubled marks, no gap, and no number that nobody would write."""
    told = re.sub(r"\(.*?\)", "", sentence)
    return (
        sentence.endswith(".")
        and not re.search(r",\s*,|\.\.|;\s*;|::|  |,\s*[.;:]|:\s*[.;,]|nan|None|inf\b|\be[+-]\d", sentence)
        and (sentence[0].isupper() or sentence[0].isdigit())
        and told.count(":") <= 1
        and sentence.count("(") == sentence.count(")")
    )


@pytest.fixture(scope="module")
def fitted():
    """A reading of every kind, by the name of the family."""
    made = make_mixture(300, 16, 3, spread=2.0, random_state=0)
    models = [
        latentbits.BernoulliMixture(3, random_state=0),
        latentbits.AspectBernoulli(3, random_state=0),
        latentbits.NoisyOrComponentAnalysis(3, random_state=0),
        latentbits.LatentTrait(2, random_state=0),
        latentbits.LogisticPCA(2, random_state=0),
        latentbits.BinaryGTM((5, 5), random_state=0),
        latentbits.RestrictedBoltzmann(4, random_state=0),
        latentbits.TreeMixture(1, random_state=0),
        latentbits.HiddenTree(2, random_state=0),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        models = [model.fit(made.data) for model in models]
    label = {"kind": np.array(["x", "y", "z"])[made.causes]}
    return {one.name: one for one in read_all(models, made.data, label, NAMES)}


# What a component is made of.


def test_columns_are_told_by_what_sets_them_apart():
    """A column that nearly all rows have says nothing of a class, however frequent it is there."""
    rng = np.random.default_rng(0)
    causes = rng.random(600) < 0.5
    X = (rng.random((600, 8)) < 0.1).astype(float)
    X[:, 0] = rng.random(600) < 0.97  # everywhere
    X[:, 1] = rng.random(600) < np.where(causes, 0.6, 0.05)
    X[:, 2] = rng.random(600) < np.where(causes, 0.5, 0.02)
    X[:, 3] = rng.random(600) < np.where(causes, 0.05, 0.8)
    reading = read(latentbits.BernoulliMixture(2, random_state=0).fit(X), X, names=NAMES[:8])
    own = int(reading.values[causes].mean(axis=0).argmax())
    assert reading.fitted.profiles()[own].argmax() == 0  # the most frequent
    more, less = telling(reading.fitted, NAMES[:8], own)
    assert sorted(more) == ["item b", "item c"] and less == ["item d"]
    more, less = telling(reading.fitted, NAMES[:8], 1 - own)
    assert more == ["item d"] and sorted(less) == ["item b", "item c"]
    assert component_told(reading.fitted, NAMES[:8], own) in (
        "item b and item c, hardly item d",
        "item c and item b, hardly item d",
    )
    assert "item a" not in reading.gist


def test_the_order_of_telling_columns_is_that_of_the_divergence(fitted):
    one = fitted["mixture"].fitted
    for k in range(3):
        p, m = one.profiles()[k], one.model.marginals_
        gain = [stats.entropy([a, 1 - a], [b, 1 - b]) for a, b in zip(p, m)]
        order = [j for j in np.argsort(gain)[::-1] if gain[j] >= 0.02]
        more, less = telling(one, NAMES, k)
        assert more == [NAMES[j] for j in order if p[j] > m[j]][:3]
        assert less == [NAMES[j] for j in order[:12] if p[j] < m[j]][:3]


def test_a_class_without_ones_is_told_by_what_it_lacks():
    rng = np.random.default_rng(0)
    causes = rng.random(500) < 0.5
    X = (rng.random((500, 10)) < np.where(causes, 0.6, 0.02)[:, None]).astype(float)
    reading = read(latentbits.BernoulliMixture(2, random_state=0).fit(X), X, names=NAMES[:10])
    empty = int(reading.fitted.profiles().mean(axis=1).argmin())
    assert component_told(reading.fitted, NAMES, empty).startswith("little of item ")
    assert "with little of item " in reading.gist and is_plain(reading.gist)


# A reading in a line.


@pytest.mark.parametrize(
    ("name", "opening"),
    [
        ("mixture", "The rows fall into 3 classes: class 1 ("),
        ("aspect", "Every row is a blend of 3 causes: cause "),
        ("noisy-or", "Rows have any of 3 sources: source "),
        ("trait", "2 scales order the rows: scale 1 "),
        ("logistic", "2 scales order the rows: scale 1 "),
        ("gtm", "Rows have places on a map with "),
        ("boltzmann", "Rows have any of 4 switches: switch "),
        ("trees", "Columns go in pairs: column "),
        ("hidden-tree", "The rows fall into 2 states: state "),
    ],
)
def test_gist_of_every_kind(fitted, name, opening):
    gist = fitted[name].gist
    assert gist.startswith(opening) and is_plain(gist), gist
    assert ("on in " in gist) == (name == "noisy-or")
    if name in ("gtm", "boltzmann"):
        assert re.search(r"; and \d more\.$", gist)
    if name in ("mixture", "aspect", "trait", "noisy-or", "hidden-tree"):
        assert " more." not in gist


def test_gist_names_the_largest_components_first(fitted):
    shares = [int(share) for share in re.findall(r"\((?:on in )?(\d+)%", fitted["mixture"].gist)]
    assert len(shares) == 3 and shares == sorted(shares, reverse=True)
    assert shares == [round(100 * weight) for weight in sorted(fitted["mixture"].fitted.weights())[::-1]]


def test_one_ability_is_the_row_total():
    rng = np.random.default_rng(0)
    X = on_items(rng.standard_normal(400), 15, rng)
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X, names=NAMES[:15])
    rho = abs(reading.totals[0])
    end = "high" if reading.totals[0] > 0 else "low"
    assert (
        reading.gist
        == f"One scale orders the rows: the row total (ρ = {rho:.2f}), more ones of every kind at its {end} end."
    )


def test_a_row_total_with_reversed_columns_names_them():
    rng = np.random.default_rng(1)
    place, way = rng.standard_normal(600), np.where(np.arange(16) < 13, 1.6, -1.6)
    X = (rng.random((600, 16)) < 1 / (1 + np.exp(-place[:, None] * way))).astype(float)
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X, names=NAMES)
    assert abs(reading.totals[0]) >= 0.9 and "of every kind" not in reading.gist
    assert re.search(
        r"nearly the row total \(ρ = 0\.9\d\), .* but more of item [nop], item [nop] and item [nop] at its",
        reading.gist,
    )


def test_a_scale_without_loadings_sets_nothing_apart():
    rng = np.random.default_rng(0)
    X = on_items(rng.standard_normal(300), 8, rng)
    model = latentbits.LatentTrait(2, random_state=0).fit(X)
    model.components_[1] = 1e-4 * np.arange(8)
    assert component_told(read(model, X, names=NAMES[:8]).fitted, NAMES[:8], 1, 0.95) == "nothing that sets rows apart"


def test_scales_have_two_ends_or_one():
    rng = np.random.default_rng(0)
    place = rng.standard_normal(500)
    both = np.where(np.arange(12) < 6, 1.5, -1.5)
    X = (rng.random((500, 12)) < 1 / (1 + np.exp(-place[:, None] * both))).astype(float)
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X, names=NAMES[:12])
    low, high = re.fullmatch(
        r"One scale orders the rows: (.*) at its low end, (.*) at its high end\.", reading.gist
    ).groups()
    ends = [set(re.findall(r"item (\w)", end)) for end in (low, high)]
    first, second = set("abcdef"), set("ghijkl")
    assert (ends[0] <= first and ends[1] <= second) or (ends[0] <= second and ends[1] <= first)
    assert reading.fitted.profiles()[0, NAMES.index(f"item {min(ends[1])}")] > 0
    X[:, 3:] = rng.random((500, 9)) < 0.5  # only some columns are on the scale, all upward
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X, names=NAMES[:12])
    assert abs(reading.totals[0]) < 0.9
    assert re.fullmatch(
        r"One scale orders the rows: more of (item [abc](, | and )?){3} at its (high|low) end\.", reading.gist
    )


def test_one_of_a_kind():
    """Grammar where there is one component."""
    X = make_mixture(200, 10, 2, random_state=0).data
    alike = [latentbits.BernoulliMixture(1, random_state=0), latentbits.AspectBernoulli(1, random_state=0)]
    for model in alike:
        assert read(model.fit(X), X, names=NAMES[:10]).gist == "All rows are alike."
    one = read(latentbits.NoisyOrComponentAnalysis(1, random_state=0).fit(X), X, names=NAMES[:10]).gist
    assert one.startswith("Rows have one source or not: source 1 (on in ") and is_plain(one)


def test_columns_without_names_are_called_by_their_number():
    X = make_mixture(200, 8, 2, spread=3.0, random_state=0).data
    assert re.search(r"with column \d", read(latentbits.BernoulliMixture(2, random_state=0).fit(X), X).gist)
    tree = read(latentbits.TreeMixture(1, random_state=0).fit(X), X)
    assert re.match(r"Columns go in pairs: column \d with column \d, column", tree.gist)


# How sure it is.


def test_a_clear_winner(fitted):
    found = comparison({"mixture": 0.3, "trait": 0.45})
    assert overview([fitted["mixture"]], found)[-1] == (
        "Hidden cells are predicted 50% better than by each column alone (4,000 hidden cells in 3 draws, 900 rows), "
        "better than by any other kind of structure that was tried."
    )
    late = comparison({"mixture": 0.3, "trait": 0.45}, sizes=(2, 3), ended={"trait": "time"}, n_draws=1)
    assert sureness(late, [fitted["mixture"]]).endswith(
        "(4,000 hidden cells in one draw, 900 rows), better than by any other kind of structure as far as was tried."
    )


def test_one_family_alone_beats_nobody(fitted):
    """Nothing is claimed about kinds of structure that nobody tried."""
    for losses in ({"mixture": 0.3}, {"mixture": 0.3, "bayesian": 0.35}):
        found = sureness(comparison(losses), [fitted["mixture"]])
        assert found.endswith("and better than by pairs of columns; no other kind of structure was tried.")


def test_kinds_that_predict_as_well(fitted):
    found = comparison({"mixture": 0.3, "aspect": 0.3, "trait": 0.3001, "noisy-or": 0.4})
    readings = [fitted[name] for name in families_to_read(found)]
    assert [one.name for one in readings] == ["mixture", "aspect", "trait"]
    assert ways_as_good(found, readings[0]) in (["shares", "scales"], ["scales", "shares"])
    told = sureness(found, readings)
    assert re.search(
        r"; read as (blends or scales|scales or blends), the table is predicted as well, and the data do not", told
    )
    assert "not shown" not in told and is_plain(told)


def test_switches_are_not_causes(fitted):
    """A Boltzmann machine that predicts as well makes no case for the noisy-or causes that are shown, which predict worse."""
    found = comparison({"mixture": 0.3, "boltzmann": 0.3, "noisy-or": 0.4})
    names = families_to_read(found)
    assert names == ["mixture", "noisy-or"]
    readings = [fitted[name] for name in names]
    assert ways_as_good(found, readings[0]) == ["switches"]
    told = overview(readings, found)[-1]
    assert "read as hidden switches (not shown), the table is predicted as well" in told and "causes" not in told
    assert re.match(r"predicts worse \((0\.10|0\.099)", standing(found, "noisy-or"))
    both = comparison({"mixture": 0.3, "boltzmann": 0.3, "noisy-or": 0.3})
    told = sureness(both, [fitted[name] for name in families_to_read(both)])
    assert "overlapping causes" in told and "hidden switches (not shown)" in told


def test_switches_that_lead_are_read_with_causes_beside(fitted):
    found = comparison({"mixture": 0.45, "boltzmann": 0.3, "noisy-or": 0.4})
    assert families_to_read(found) == ["boltzmann", "noisy-or"]
    readings = [fitted[name] for name in families_to_read(found)]
    assert way_of(readings[0].fitted) == "switches" and ways_as_good(found, readings[0]) == []
    assert sureness(found, readings).endswith("better than by any other kind of structure that was tried.")


def test_families_of_the_same_kind_are_one_reading(fitted):
    found = comparison({"mixture": 0.3, "bayesian": 0.3, "dp": 0.3})
    assert families_to_read(found) == ["mixture"] and ways_as_good(found, fitted["mixture"]) == []


def test_no_more_than_four_readings_and_the_best_with_several_causes_is_one():
    names = ["mixture", "aspect", "noisy-or", "trait", "gtm"]
    found = comparison(dict.fromkeys(names, 0.3))
    read_ = families_to_read(found)
    assert len(read_) == MOST_READINGS and len(set(read_)) == 4 and read_[0] == found.chosen_ == "mixture"
    assert found.multi_cause_ in read_
    behind = comparison({**dict.fromkeys(["mixture", "trait", "gtm"], 0.3), "aspect": 0.45, "noisy-or": 0.44})
    assert families_to_read(behind) == ["mixture", "trait", "gtm", "noisy-or"]


def test_what_is_not_shown_is_said_not_to_be(fitted):
    found = comparison(dict.fromkeys(["mixture", "aspect", "noisy-or", "trait", "gtm"], 0.3))
    told = sureness(found, [fitted[name] for name in families_to_read(found)])
    left = {"aspect": "blends", "noisy-or": "overlapping causes", "trait": "scales", "gtm": "a map"}
    for name, words in left.items():
        assert (f"{words} (not shown)" in told) == (name not in families_to_read(found)) and words in told


def test_pairs_of_columns(fitted):
    """A tree that does as well is a way to read the table; one that does better is said to."""
    near = comparison({"tree": 0.3005, "mixture": 0.3, "aspect": 0.45}, noise=0.05)
    told = sureness(near, [fitted["mixture"]])
    assert "read as pairs of columns (not shown), the table is predicted as well" in told
    better = comparison({"tree": 0.2, "mixture": 0.4})
    sentences = overview([fitted["mixture"]], better)
    assert sentences[0].startswith(
        "Columns depend on each other in pairs, and hidden causes predict no better; read as classes, the rows fall into 3 "
    )
    assert sentences[-1].endswith("; a tree of pairs of columns predicts better still.")
    assert standing(better, "mixture") == "predicts hidden cells best of the families"
    assert overview([fitted["trees"]], comparison({"tree": 0.2, "trees": 0.4}))[0] == fitted["trees"].gist


def test_a_family_that_does_no_better_than_columns_alone_is_not_said_to(fitted):
    found = comparison({"tree": 0.2, "mixture": 0.6})
    assert found.finding_ == "pairs"
    assert "Hidden cells are predicted hardly better than by each column alone" in sureness(found, [fitted["mixture"]])


def test_a_rival_without_a_story(fitted):
    found = comparison({"mixture": 0.3, "aspect": 0.45, "regressions": 0.25})
    assert found.rival_ == "regressions"
    told = sureness(found, [fitted["mixture"]])
    assert (
        told.endswith("; the regressions, which claims no hidden structure, predicts better still.")
        and "50% better" in told
    )
    assert standing(found, "mixture") == "predicts hidden cells best of the families"
    assert standing(comparison({"mixture": 0.3, "aspect": 0.45}), "mixture") == "predicts hidden cells best"


def test_a_size_that_was_not_compared_is_said():
    found = comparison({"mixture": 0.3, "aspect": 0.45})
    assert found.row("mixture")["size"] == 3
    assert standing(found, "mixture", 2) == "predicts hidden cells best (with K=3; shown with K=2)"


def test_few_draws_do_not_speak_for_the_data(fitted):
    """As the verdict: fits of a single draw do not tell how much fits differ."""
    losses = {"mixture": 0.3, "aspect": 0.3}
    for n_draws, who in ((1, "these fits do"), (3, "the data do")):
        found = comparison(losses, n_draws=n_draws)
        assert f"{who} not tell which is right" in sureness(found, [fitted[found.best_]])
    alone = {n: sureness(comparison({"mixture": 0.3, "aspect": 0.45}, n_draws=n), [fitted["mixture"]]) for n in (1, 3)}
    assert "as far as was tried" in alone[1] and "that was tried" in alone[3]


def test_nothing_is_one_sentence(fitted):
    """Where nothing is found nothing is told, whatever labels go with it."""
    found = comparison({"tree": 0.61, "mixture": 0.6001})
    assert any(one.is_stated for one in fitted["mixture"].associations)
    assert overview([fitted["mixture"]], found) == [found.headline] and "Nothing to find" in found.headline
    assert standing(found, "mixture") == "predicts hidden cells no better than each column alone"


def test_standing():
    found = comparison({"mixture": 0.3, "aspect": 0.3, "trait": 0.45})
    other = next(name for name in ("mixture", "aspect") if name != found.best_)
    assert re.fullmatch(
        r"predicts as well as the best \(−?0\.000\d ± 0\.000\d nats per cell behind the best\)",
        standing(found, other),
    )
    assert re.fullmatch(
        r"predicts worse \(0\.1\d+ ± 0\.00\d+ nats per cell behind the best\)", standing(found, "trait")
    )


# All together.


@pytest.mark.parametrize("names", [["mixture", "trait"], ["trait", "aspect"], ["gtm", "mixture"], ["noisy-or"]])
def test_at_most_three_plain_sentences(fitted, names):
    found = comparison({name: 0.3 + 0.15 * (i > 0) for i, name in enumerate(names)})
    sentences = overview([fitted[name] for name in names], found)
    assert 2 <= len(sentences) <= 3
    assert all(is_plain(sentence) for sentence in sentences), sentences
    assert "kind" in sentences[1]


def test_labels_of_other_readings_are_told_with_their_reading(fitted):
    """A label that goes with a scale, and not with the classes that lead."""
    rng = np.random.default_rng(0)
    ability = rng.standard_normal(500)
    X = on_items(ability, 16, rng)
    noise = (rng.random((500, 16)) < 0.5).astype(float)
    models = [
        latentbits.BernoulliMixture(2, random_state=0).fit(noise),
        latentbits.LatentTrait(1, random_state=0).fit(X),
    ]
    readings = read_all(models, X, {"age": np.round(ability, 3), "coin": rng.integers(0, 2, 500)})
    alone = [replace(readings[0], associations=[]), readings[1]]
    ((i, one),) = strongest(alone)
    assert i == 1 and one.label == "age"
    assert re.fullmatch(r"Read as scales, scale 1 (rises|falls) with age \(ρ = −?0\.\d\d\)\.", overview(alone, None)[1])
    assert strongest([alone[1], alone[0]])[0][0] == 0


def test_three_labels_at_most_and_the_strongest():
    rng = np.random.default_rng(0)
    ability = rng.standard_normal(500)
    X = on_items(ability, 16, rng)
    labels = {f"age{k}": np.round(ability + k * rng.standard_normal(500), 3) for k in (3, 1, 2, 0)}
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X, labels)
    told = overview([reading], None)
    assert len(told) == 2 and [one.label for _, one in strongest([reading])] == ["age0", "age1", "age2"]
    assert told[1].count("scale 1") + told[1].count("Scale 1") == 3 and told[1].startswith("Scale 1 ")


def test_names_of_labels_are_left_as_they_are():
    """A label called pH is not called PH at the beginning of a sentence."""
    made = make_mixture(300, 16, 2, spread=3.0, random_state=0)
    model = latentbits.BernoulliMixture(2, random_state=0).fit(made.data)
    number = np.round(made.causes + 0.1 * np.random.default_rng(0).standard_normal(300), 3)
    for label in (number, np.array(["x", "y"])[made.causes]):
        told = overview([read(model, made.data, {"pH": label})], None)[1]
        assert re.match(r"In class \d pH is ", told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_planted_labels(kind, seed):
    """The slow suite tries twenty tables of every kind."""
    made = KINDS[kind](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = made.model.fit(made.data)
    told, reading = made.said_of(made.label, model)
    assert len(told) == 2 and made.is_right(told[1], reading) and all(map(is_plain, told)), told
    if seed == 0:
        assert len(made.said_of(np.random.default_rng(0).permutation(made.label), model)[0]) == 1
