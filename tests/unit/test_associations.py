"""Labels beside components: the measures against independent references, and what is said of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import latentbits
from latentbits.datasets import make_aspect, make_map, make_mixture, make_noisy_or, make_trait
from latentbits.exploring.labels import (
    MOST_WORDS,
    QUANTILES,
    label_of,
    totals_of,
)
from latentbits.exploring.statistics import (
    NOTHING,
    adjusted_residuals,
    area_under,
    between_groups,
    contingency,
    corrected,
    cross_table,
    on_plane,
    rank_correlation,
)
from latentbits.exploring.wording import listed, number_told, share_told, signed_told
from tests.unit.explored_tools import on_items, read, read_all

# Measures.


@pytest.mark.parametrize("seed", range(4))
def test_rank_correlation_is_spearmans(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal(40), rng.integers(0, 6, 40)  # with ties
    first = np.round(first + 0.5 * second, seed)
    found, known = rank_correlation(first, second), stats.spearmanr(first, second)
    assert (found.measure, found.n) == ("rho", 40)
    assert found.value == pytest.approx(known.statistic, abs=1e-9) and found.p == pytest.approx(known.pvalue, rel=1e-6)
    half = 1.959964 * math.sqrt((1 + found.value**2 / 2) / 37)
    assert math.atanh(found.high) - math.atanh(found.low) == pytest.approx(2 * half, rel=1e-6)
    assert rank_correlation(-first, second).value == pytest.approx(-found.value)
    assert rank_correlation(np.exp(first), second).value == pytest.approx(found.value)


def test_perfect_order():
    """The p-value of a perfect order is that of two permutations of all, and 0 where these cannot be counted."""
    x = np.arange(6.0)
    for other, rho in ((x**3, 1.0), (-x, -1.0)):
        found = rank_correlation(x, other)
        assert found[1:4] == (rho, rho, rho) and found.p == pytest.approx(2 / math.factorial(6))
    assert rank_correlation(np.arange(5000), np.arange(5000)).p == 0.0


def test_perfect_order_of_few_values():
    """Equal values can be arranged in fewer ways: 15 equal ones of 20 leave 20! / 15!."""
    x = np.minimum(np.arange(20), 5)
    found = rank_correlation(x, 2 * x)
    assert found.value == 1.0 and found.p == pytest.approx(2 * math.factorial(15) / math.factorial(20))


@pytest.mark.parametrize("seed", range(4))
def test_area_is_that_of_mann_and_whitney(seed):
    rng = np.random.default_rng(seed)
    on, values = rng.random(50) < 0.3, np.round(rng.standard_normal(50), seed % 2)
    values[on] += 0.7
    found = area_under(on, values)
    pairs = [(a > b) + 0.5 * (a == b) for a in values[on] for b in values[~on]]
    known = stats.mannwhitneyu(values[on], values[~on], use_continuity=False, method="asymptotic")
    assert found.value == pytest.approx(np.mean(pairs)) == pytest.approx(known.statistic / len(pairs))
    assert found.p == pytest.approx(known.pvalue, rel=1e-6) and found.low < found.value < found.high
    turned = area_under(~on, values)
    assert turned.value == pytest.approx(1 - found.value) and turned.low == pytest.approx(1 - found.high, abs=1e-6)
    assert found.strength == pytest.approx(abs(2 * found.value - 1)) == pytest.approx(turned.strength)


def test_area_at_its_ends_keeps_an_interval():
    """Six rows in perfect order are no proof of a perfect order."""
    found = area_under(np.array([0, 0, 0, 1, 1, 1]), np.arange(6.0))
    assert found.value == found.high == 1.0 and 0.3 < found.low < 0.8
    turned = area_under(np.array([1, 1, 1, 0, 0, 0]), np.arange(6.0))
    assert turned.value == turned.low == 0.0 and turned.high == pytest.approx(1 - found.low, abs=1e-6)
    assert area_under(np.arange(600) >= 300, np.arange(600)).low > 0.98


@pytest.mark.parametrize("n_groups", [2, 5])
def test_groups_are_those_of_kruskal_and_wallis(n_groups):
    rng = np.random.default_rng(n_groups)
    groups = np.concatenate((np.arange(n_groups), rng.integers(0, n_groups, 60)))
    values = np.round(groups * 0.4 + rng.standard_normal(len(groups)), 1)
    found = between_groups(groups, values)
    known = stats.kruskal(*(values[groups == g] for g in range(n_groups)))
    assert found.p == pytest.approx(known.pvalue, rel=1e-6)
    assert found.value == pytest.approx(known.statistic / (len(values) - 1))  # epsilon squared
    assert found.strength == pytest.approx(math.sqrt(found.value))
    assert between_groups(groups * 7 - 3, values).value == pytest.approx(found.value)  # whatever groups are called


def test_place_on_a_plane_is_a_regression_of_ranks():
    rng = np.random.default_rng(0)
    places = rng.standard_normal((80, 2))
    values = np.exp(places[:, 0] - places[:, 1] + rng.standard_normal(80))
    found, direction = on_plane(places, values)
    ranks, design = stats.rankdata(values), np.column_stack((np.ones(80), places))
    beta = np.linalg.solve(design.T @ design, design.T @ ranks)
    left, whole = ((ranks - design @ beta) ** 2).sum(), ((ranks - ranks.mean()) ** 2).sum()
    assert found.value == pytest.approx(math.sqrt(1 - left / whole))
    assert found.p == pytest.approx(stats.f.sf((whole - left) / 2 / (left / 77), 2, 77), rel=1e-6)
    np.testing.assert_allclose(direction, beta[1:] / np.linalg.norm(beta[1:]))
    assert direction[0] > 0.5 and direction[1] < -0.5
    perfect, _ = on_plane(places, places[:, 0] * 2)
    assert perfect.value > 0.95 and perfect.p < 1e-30


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_contingency_is_cramers(shape):
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 20, shape)
    found = contingency(counts)
    chi = stats.chi2_contingency(counts, correction=False)
    assert found.value == pytest.approx(math.sqrt(chi.statistic / (counts.sum() * (min(shape) - 1))))
    assert found.value == pytest.approx(stats.contingency.association(counts, method="cramer"))
    assert found.n == counts.sum()
    padded = np.pad(counts, ((0, 1), (1, 0)))  # classes and words that do not occur
    assert contingency(padded) == found and contingency(counts, 1).value == found.value


@pytest.mark.parametrize("counts", [[[6, 3], [2, 5]], [[3, 1, 2], [0, 4, 1], [1, 1, 4]], [[30, 25], [22, 33]]])
def test_permutation_p_against_brute_force(counts):
    """Against every table with the same margins, each with its exact chance."""
    counts = np.array(counts)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    expected = np.outer(rows, columns) / counts.sum()

    def far(table):
        return ((table - expected) ** 2 / expected).sum()

    law, exact = stats.random_table(rows, columns), 0.0
    free = [range(min(r, c) + 1) for r in rows[:-1] for c in columns[:-1]]
    for cells in itertools.product(*free):
        table = np.zeros(counts.shape, int)
        table[:-1, :-1] = np.reshape(cells, (len(rows) - 1, len(columns) - 1))
        table[:-1, -1] = rows[:-1] - table[:-1].sum(axis=1)
        table[-1] = columns - table[:-1].sum(axis=0)
        if (table >= 0).all() and far(table) >= far(counts) - 1e-9:
            exact += law.pmf(table)
    for seed in range(3):
        assert contingency(counts, seed).p == pytest.approx(exact, abs=4 * math.sqrt(exact / 999) + 0.002)


def test_permutation_p_of_what_is_never_drawn_is_small_and_no_smaller_than_known():
    """Beyond the tables that are drawn the tail of a gamma law stands in: by orders of magnitude that of chi squared."""
    for counts in ([[40, 10], [12, 38]], [[60, 20, 20], [20, 60, 20], [20, 20, 60]]):
        known = stats.chi2_contingency(counts, correction=False).pvalue
        assert 0.5 * math.log(known) > math.log(contingency(np.array(counts)).p) > 2 * math.log(known)
    assert contingency(np.diag([500, 500])).p < 1e-50


def test_permutation_p_values_are_honest():
    """Of independent words and classes, about 5 % have p below 0.05, and hardly any are stated."""
    p = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        counts = cross_table(rng.integers(0, 3, 60), rng.choice(5, 60, p=[0.5, 0.3, 0.1, 0.05, 0.05]), 3, 5)
        p.append(contingency(counts, seed).p)
    assert 2 <= np.sum(np.array(p) < 0.05) <= 20 and np.sum(np.array(p) < 0.001) <= 2


def test_small_p_values_of_sparse_tables_are_honest():
    """Skewed groups and words with many small expected counts: a smooth tail would say 0.001 five times too often."""
    rng, small = np.random.default_rng(0), 0
    shares = 0.6 ** np.arange(10)
    shares /= shares.sum()
    for seed in range(400):
        first, second = (rng.choice(10, 300, p=shares) for _ in range(2))
        small += contingency(cross_table(first, second, 10, 10), seed).p <= 0.001
    assert small <= 3  # expected 0.4; a gamma law of every tail gives 2.0 on average, up to 1e-14


def test_adjusted_residuals_by_their_formula():
    counts = np.random.default_rng(0).integers(0, 15, (3, 4))
    found, n = adjusted_residuals(counts), counts.sum()
    for i, j in itertools.product(range(3), range(4)):
        row, column = counts[i].sum(), counts[:, j].sum()
        expected = row * column / n
        assert found[i, j] == pytest.approx(
            (counts[i, j] - expected) / math.sqrt(expected * (1 - row / n) * (1 - column / n))
        )
    two = np.array([[12, 5], [3, 14]])
    assert found.shape == (3, 4)
    assert adjusted_residuals(two)[0, 0] ** 2 == pytest.approx(stats.chi2_contingency(two, correction=False).statistic)
    assert (adjusted_residuals(np.array([[5, 0], [7, 0]])) == 0).all() and (
        adjusted_residuals(np.zeros((2, 2))) == 0
    ).all()


def test_holm():
    p = [0.04, 0.01, 0.03, 0.005]
    assert corrected(p) == pytest.approx([0.06, 0.03, 0.06, 0.02])  # Holm 1979: 4 × .005, 3 × .01, 2 × .03, and as much
    assert corrected([]) == [] and corrected([0.9, 0.8]) == [1.0, 1.0]
    order = np.random.default_rng(0).random(30) ** 3
    slow = []
    for one in order:
        slow.append(min(1.0, max((30 - (order < other).sum()) * other for other in order if other <= one)))
    assert corrected(order.tolist()) == pytest.approx(slow)


def test_nothing_is_measured_of_what_does_not_vary():
    same, values = np.zeros(20), np.arange(20.0)
    for found in (
        rank_correlation(same, values),
        rank_correlation(values[:3], values[:3]),
        area_under(np.arange(20) < 1, values),
        area_under(np.arange(20) < 5, same),
        between_groups(same, values),
        between_groups(values, values),
        between_groups(np.arange(20) % 2, same),
        on_plane(np.zeros((20, 2)), same)[0],
        contingency(np.array([[3, 4], [0, 0]])),
        contingency(np.array([[1, 0], [0, 1]])),
    ):
        assert found == NOTHING and found.p == 1.0 and found.measure == ""


@pytest.mark.parametrize(("n", "r"), [(15, 0.8), (60, -0.4)])
def test_intervals_of_rank_correlations_cover(n, r):
    """95 % of 400 intervals: between 92 and 98.5 %."""
    truth, hits = 6 / math.pi * math.asin(r / 2), 0  # Spearman's rho of two normal numbers
    for seed in range(400):
        rng = np.random.default_rng(seed)
        first = rng.standard_normal(n)
        found = rank_correlation(first, r * first + math.sqrt(1 - r**2) * rng.standard_normal(n))
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 400 <= 0.985, hits


@pytest.mark.parametrize(("n", "share", "shift"), [(30, 0.3, 1.0), (30, 0.2, 2.5), (200, 0.5, 0.5)])
def test_intervals_of_areas_cover(n, share, shift):
    """The same, near 1 with few rows, too."""
    truth, hits = stats.norm.cdf(shift / math.sqrt(2)), 0
    on = np.arange(n) < share * n
    for seed in range(400):
        found = area_under(on, np.random.default_rng(seed).standard_normal(n) + shift * on)
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 400 <= 0.985, hits


# Labels.


def test_words():
    label = label_of("party", ["b", "a", "", "b", "c", "a", "b"])
    assert not label.is_number and label.words == ["b", "a", "c"] and label.codes.tolist() == [0, 1, -1, 0, 2, 1, 0]
    assert label.known.tolist() == [True, True, False, True, True, True, True] and label.n_words == 3
    assert label.is_telling and label.n_told == 3


def test_words_that_say_nothing_are_not_known():
    found = label_of("region", ["north", "NA", "south", "NA", "north", "?", "none"])
    assert found.words == ["north", "none", "south"] and found.codes.tolist() == [0, -1, 2, -1, 0, -1, 1]


def test_long_words_cost_what_they_hold():
    import tracemalloc

    tracemalloc.start()
    label_of("comment", ["x" * 50_000, *["y"] * 5000])
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_numbers():
    label = label_of("age", ["20", "31.5", "", "-4", "1e3", "7", "8", "nan", "inf", "?", "NA"])
    assert label.is_number and label.words == [] and (label.codes == -1).all() and label.is_telling
    assert label.numbers[[0, 1, 3, 4]].tolist() == [20, 31.5, -4, 1000]
    assert label.known.tolist() == [True, True, False, True, True, True, True, False, False, False, False]


def test_numbers_with_few_values_are_words():
    """Codes and grades are counted."""
    label = label_of("grade", [str(1 + i % 5) for i in range(40)])
    assert not label.is_number and sorted(label.words) == list("12345") and label.is_telling
    assert label_of("grade", [str(1 + i % 6) for i in range(40)]).is_number
    mixed = label_of("age", [str(i) for i in range(30)] + ["old"] * 30)
    assert not mixed.is_number and mixed.words[0] == "old"


def test_names_of_rows_tell_nothing():
    label = label_of("name", [f"row {i}" for i in range(40)])
    assert not label.is_telling and label.n_words == 40
    assert not label_of("name", [f"row {i}" for i in range(30)] + [""] * 10).is_telling
    assert label_of("pair", [f"row {i // 2}" for i in range(40)]).is_telling


def test_what_does_not_vary_tells_nothing():
    assert not label_of("same", ["x"] * 20).is_telling and not label_of("blank", [""] * 20).is_telling
    assert label_of("blank", [""] * 3).words == [] and (label_of("blank", [""] * 3).codes == -1).all()
    assert not label_of("number", ["5"] * 20).is_telling


def test_more_than_a_dozen_words():
    values = [f"w{i:02d}" for i in range(20) for _ in range(30 - i)] + [""]
    label = label_of("section", values)
    assert label.n_words == 20 and len(label.words) == MOST_WORDS == 12 and label.is_telling
    assert label.words[:11] == [f"w{i:02d}" for i in range(11)] and label.words[11] == "other (9 values)"
    assert label.n_told == 11 and (label.codes[:-1] >= 0).all() and label.codes[-1] == -1
    assert (label.codes == 11).sum() == sum(30 - i for i in range(11, 20))
    whole = label_of("section", [f"w{i % 12}" for i in range(60)])
    assert len(whole.words) == whole.n_told == 12 and not any(word.startswith("other") for word in whole.words)


def test_yes_and_no():
    label = label_of("smokes", [str(value) for value in [True, False, False]])
    assert label.words == ["False", "True"] and label.codes.tolist() == [1, 0, 0]
    assert label_of("smokes", ["1", "0", "0", "1"]).words == ["0", "1"] or label_of("smokes", ["1", "0"]).words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (37.0, "37"),
        (-2.5, "−2.5"),
        (1144940.0, "1,144,940"),
        (1234.567, "1,235"),
        (0.5, "0.5"),
        (1e15, "1e+15"),
    ],
)
def test_numbers_as_people_write_them(value, words):
    assert number_told(value) == words


def test_shares_never_round_to_none_or_all():
    told = {
        0.0: "0%",
        1e-5: "under 0.1%",
        0.004: "0.4%",
        0.5: "50%",
        0.996: "99.6%",
        0.99999: "over 99.9%",
        1.0: "100%",
    }
    assert {share: share_told(share) for share in told} == told
    assert signed_told(-0.9) == "−0.90" and signed_told(-0.004) == "0.00" and signed_told(0.1234, 3) == "0.123"


def test_lists():
    assert listed(["a"]) == "a" and listed(["a", "b"]) == "a and b" and listed(["a", "b", "c"], "or") == "a, b or c"


# Labels beside models.


def of(reading, label, component=None):
    """The associations of a label in a reading."""
    found = [one for one in reading.associations if one.label == label]
    return found if component is None else next(one for one in found if one.component == component)


@pytest.fixture(scope="module")
def classes():
    """Three classes, and what goes with them."""
    made, rng = make_mixture(400, 16, 3, spread=2.5, random_state=0), np.random.default_rng(0)
    labels = {
        "kind": np.array(["x", "y", "z"])[made.causes],
        "age": np.round(30 + 10 * made.causes + 5 * rng.standard_normal(400), 1),
        "kids": rng.poisson(0.1 + 0.9 * (made.causes == 1)),
        "coin": rng.integers(0, 2, 400),
        "blank": np.where(rng.random(400) < 0.5, "", np.array(["x", "y", "z"])[made.causes]),
        "name": [f"r{i}" for i in range(400)],
    }
    return made, read(latentbits.BernoulliMixture(3, random_state=0).fit(made.data), made.data, labels), labels


def test_words_beside_classes(classes):
    _, reading, labels = classes
    (found,) = of(reading, "kind")
    groups = reading.values.argmax(axis=1)
    words = [
        label for label, _ in sorted(zip(*np.unique(labels["kind"], return_counts=True)), key=lambda pair: -pair[1])
    ]
    counts = np.array([[((groups == k) & (labels["kind"] == w)).sum() for w in words] for k in range(3)])
    assert found.details["counts"] == counts.tolist() and found.place == -1 and found.component == ""
    np.testing.assert_allclose(found.details["residuals"], adjusted_residuals(counts))
    assert found.measured.measure == "V" and found.measured.value > 0.9 and found.is_stated
    k, w = np.unravel_index(adjusted_residuals(counts).argmax(), counts.shape)
    here, all_rows = counts[k, w] / counts[k].sum(), counts[:, w].sum() / 400
    assert found.sentence == (
        f"in class {k + 1} kind is “{words[w]}” for {share_told(here)} of the rows, against {share_told(all_rows)} of all"
    )
    assert not of(reading, "coin")[0].is_stated and of(reading, "name") == []
    assert of(reading, "blank")[0].measured.n == (labels["blank"] != "").sum() and of(reading, "blank")[0].is_stated


def test_numbers_beside_classes(classes):
    _, reading, labels = classes
    (found,) = of(reading, "age")
    groups = reading.values.argmax(axis=1)
    medians = [np.median(labels["age"][groups == k]) for k in range(3)]
    assert [row[2] for row in found.details["quantiles"]] == pytest.approx(medians)
    assert [row[-1] for row in found.details["quantiles"]] == np.bincount(groups).tolist()
    assert found.details["quantiles"][0][:5] == pytest.approx(np.quantile(labels["age"][groups == 0], QUANTILES))
    top, bottom = int(np.argmax(medians)) + 1, int(np.argmin(medians)) + 1
    assert found.sentence == (
        f"in class {top} age is highest (median {number_told(max(medians))}), "
        f"in class {bottom} lowest ({number_told(min(medians))})"
    )
    assert found.measured.measure == "epsilon2" and found.is_stated


def test_equal_medians_are_said_to_be():
    """Counts that are mostly 0: a class has more of them, and its median is that of the others."""
    rng = np.random.default_rng(0)
    made = make_mixture(900, 16, 2, spread=3.0, random_state=0)
    label = np.where(rng.random(900) < np.where(made.causes == 1, 0.4, 0.02), rng.integers(1, 9, 900), 0)
    found = of(
        read(latentbits.BernoulliMixture(2, random_state=0).fit(made.data), made.data, {"falls": label}), "falls"
    )[0]
    assert (
        found.is_stated
        and found.sentence.endswith("though both medians are 0")
        and "falls is higher than in" in found.sentence
    )
    means = [label[made.causes == k].mean() for k in (0, 1)]
    assert means[1] > means[0]


@pytest.fixture(scope="module")
def shares():
    made, rng = make_aspect(500, 24, 3, random_state=0), np.random.default_rng(0)
    main = made.memberships.argmax(axis=1)
    labels = {
        "time": np.round(100 * made.memberships[:, 0] + 15 * rng.standard_normal(500), 1),
        "kind": np.array(["x", "y", "z"])[main],
        "first": np.where(main == 0, "yes", "no"),
    }
    return made, read(latentbits.AspectBernoulli(3, random_state=0).fit(made.data), made.data, labels), labels


def test_numbers_beside_shares(shares):
    made, reading, labels = shares
    found = of(reading, "time")
    assert len(found) == 3 and found[0].measured.value == max(one.measured.value for one in found) > 0.5
    own = int(np.argmax([np.corrcoef(made.memberships[:, 0], column)[0, 1] for column in reading.values.T]))
    best = of(reading, "time", f"cause {own + 1}")
    known = stats.spearmanr(reading.values[:, own], labels["time"]).statistic
    assert best.measured.value == pytest.approx(known) and best.place == own
    assert best.sentence == f"cause {own + 1} grows with time (ρ = {signed_told(known)})"
    fallen = [one for one in found if one.measured.value < 0]
    assert fallen and all("shrinks with time (ρ = −" in one.sentence for one in fallen)


def test_words_beside_shares(shares):
    made, reading, labels = shares
    own = int(np.argmax([np.corrcoef(made.memberships[:, 0], column)[0, 1] for column in reading.values.T]))
    found = of(reading, "kind", f"cause {own + 1}")
    assert found.measured.measure == "epsilon2" and found.is_stated
    assert found.sentence.startswith(
        f"the share of cause {own + 1} is highest where kind is “x” and lowest where it is “"
    )
    two = of(reading, "first", f"cause {own + 1}")
    assert two.measured.measure == "AUC" and two.details == {"word": "yes"}
    assert two.sentence == f"the share of cause {own + 1} is higher where first is “yes” (AUC {two.measured.value:.2f})"
    assert two.measured.value == pytest.approx(
        stats.mannwhitneyu(*(reading.values[labels["first"] == w, own] for w in ("yes", "no"))).statistic
        / np.prod(np.unique(labels["first"], return_counts=True)[1])
    )
    assert all(one.measured.value >= 0.5 for one in of(reading, "first"))  # for the word where it is higher


def test_labels_beside_causes():
    made, rng = make_noisy_or(600, 24, 3, random_state=0), np.random.default_rng(0)
    sources = made.sources.astype(int)
    labels = {
        "smokes": np.array(["no", "yes"])[sources[:, 0]],
        "dose": np.round(sources[:, 0] + 0.5 * rng.standard_normal(600), 2),
        "less": np.round(0.5 - sources[:, 0] + 0.5 * rng.standard_normal(600), 2),
        "where": np.array(["x", "y", "z"])[sources[:, 0] * (1 + sources[:, 1])],
    }
    reading = read(latentbits.NoisyOrComponentAnalysis(3, random_state=0).fit(made.data), made.data, labels)
    own = int(np.argmax([np.corrcoef(sources[:, 0], column)[0, 1] for column in reading.values.T]))
    name = f"source {own + 1}"
    assert of(reading, "smokes", name).sentence.startswith(f"{name} is on more often where smokes is “yes” (AUC ")
    assert of(reading, "dose", name).sentence.startswith(f"{name} is on more often where dose is high (ρ = ")
    assert of(reading, "less", name).sentence.startswith(f"{name} is on more often where less is low (ρ = −")
    told = of(reading, "where", name).sentence
    assert told.startswith(f"{name} is on most often where where is “") and told.split("and ")[1].startswith(
        "least often where it is “x”"
    )
    assert all(of(reading, label, name).is_stated for label in labels)


def test_labels_beside_scales():
    made, rng = make_trait(500, 24, 2, random_state=0), np.random.default_rng(0)
    labels = {
        "elevation": np.round(1500 - 300 * made.scores[:, 0] + 60 * rng.standard_normal(500)),
        "wood": np.where(made.scores[:, 1] > 0.5, "yes", "no"),
        "noise": np.round(rng.standard_normal(500), 3),
        "zone": np.array(["a", "b", "c"])[np.digitize(made.scores[:, 0], [-0.5, 0.5])],
    }
    reading = read(latentbits.LatentTrait(2, random_state=0).fit(made.data), made.data, labels)
    for label in ("elevation", "wood", "zone"):
        assert of(reading, label)[0].is_stated, label
    best = of(reading, "elevation")[0]
    scores, rho = reading.values[:, best.place], best.measured.value
    assert rho == pytest.approx(stats.spearmanr(scores, labels["elevation"]).statistic) and abs(rho) > 0.7
    verb = "falls" if rho < 0 else "rises"
    assert best.sentence == f"{best.component} {verb} with elevation (ρ = {signed_told(rho)})"
    assert best.measured.low < rho < best.measured.high
    assert not any(one.is_stated for one in of(reading, "noise"))
    wood = of(reading, "wood")[0]
    mean = {word: reading.values[labels["wood"] == word, wood.place].mean() for word in ("yes", "no")}
    assert (
        wood.details["word"] == max(mean, key=mean.get)
        and f"is higher where wood is “{wood.details['word']}”" in wood.sentence
    )
    zone = of(reading, "zone")[0]
    means = {word: reading.values[labels["zone"] == word, zone.place].mean() for word in "abc"}
    top, bottom = max(means, key=means.get), min(means, key=means.get)
    assert f"is highest where zone is “{top}” and lowest where it is “{bottom}” (ε² = " in zone.sentence


def test_labels_beside_a_map():
    made, rng = make_map(500, 60, random_state=0), np.random.default_rng(0)
    labels = {
        "elevation": np.round(500 + 300 * made.places[:, 0] + 60 * rng.standard_normal(500)),
        "side": np.where(made.places[:, 1] > 0, "north", "south"),
    }
    reading = read(latentbits.BinaryGTM((8, 8), random_state=0).fit(made.data), made.data, labels)
    place = next(one for one in of(reading, "elevation") if one.component == "map")
    assert place.is_stated and place.measured.value > 0.7
    slope = np.array(place.details["direction"])
    assert (
        np.linalg.norm(slope) == pytest.approx(1)
        and np.corrcoef(reading.places @ slope, labels["elevation"])[0, 1] > 0.7
    )
    words = {"right": (1, 0), "left": (-1, 0), "top": (0, 1), "bottom": (0, -1)}
    told = place.sentence.split("toward the ")[1].split(" (R")[0]
    assert np.sum([words[word] for word in told.split()], axis=0) @ slope > 0.9
    (regions,) = [one for one in of(reading, "elevation") if one.component == ""]
    assert "in region " in regions.sentence and len(regions.details["quantiles"]) == reading.values.shape[1]
    (side,) = of(reading, "side")
    assert side.is_stated and side.sentence.startswith("in region ") and side.measured.measure == "V"


def test_rare_words_and_what_is_cut_are_not_named():
    """A word of two rows is not where a scale is highest, nor are all the words that were cut."""
    rng = np.random.default_rng(0)
    ability = rng.standard_normal(600)
    X = on_items(ability, 20, rng)
    words = np.array([f"w{i:02d}" for i in np.clip(np.digitize(ability, np.linspace(-1.5, 1.5, 13)), 0, 13)])
    words[np.argmax(ability)] = "rare"
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X, {"word": words})
    (found,) = of(reading, "word")
    assert found.is_stated and "rare" not in found.sentence and "other" not in found.sentence


def test_of_long_tables_a_sample_is_measured(classes, monkeypatch):
    """The same rows of the label and of the reading."""
    made, reading, labels = classes
    monkeypatch.setattr("latentbits.exploring.labels.MOST_MEASURED", 200)
    (few,) = of(read(reading.fitted.model, made.data, labels), "kind")
    (all_rows,) = of(reading, "kind")
    assert few.measured.n == 200 < all_rows.measured.n == 400 and few.is_stated
    assert few.measured.value == pytest.approx(all_rows.measured.value, abs=0.05)


def test_a_group_of_one_row_does_not_speak():
    """A single row has a word of its own for all of its rows."""
    from latentbits.exploring.labels import _most_telling

    label = label_of("region", ["a"] + ["b", "c"] * 60)
    counts = np.array([[0, 0, 1], [40, 20, 0], [20, 40, 0]])
    told = _most_telling(label, ["class 1", "class 2", "class 3"], counts, adjusted_residuals(counts))
    assert adjusted_residuals(counts).argmax() == 2 and "class 1" not in told and "class 2" in told
    assert _most_telling(label, ["class 1"], counts[:1], adjusted_residuals(counts[:1])) == ""


def test_all_readings_share_one_correction(classes):
    made, reading, labels = classes
    models = [reading.fitted.model, latentbits.LatentTrait(2, random_state=0).fit(made.data)]
    both = read_all(models, made.data, {"kind": labels["kind"], "coin": labels["coin"], "age": labels["age"]})
    every = [one for mine in both for one in mine.associations]
    assert len(every) == 3 + 2 * 3
    assert [one.p for one in every] == pytest.approx(corrected([one.measured.p for one in every]))
    for mine in both:
        order = [(one.is_stated, one.measured.strength) for one in mine.associations]
        assert order == sorted(order, reverse=True)


def test_weak_and_unsure_associations_are_not_stated():
    rng = np.random.default_rng(0)
    ability = rng.standard_normal(3000)
    X = on_items(ability, 20, rng)
    reading = read(
        latentbits.LatentTrait(1, random_state=0).fit(X),
        X,
        {"age": np.round(ability * 0.12 + rng.standard_normal(3000), 3)},
    )
    (weak,) = of(reading, "age")
    assert weak.p < 0.001 and weak.measured.strength < 0.2 and not weak.is_stated


def test_totals():
    rng = np.random.default_rng(0)
    ability = rng.standard_normal(300)
    X = on_items(ability, 20, rng)
    reading = read(latentbits.LatentTrait(1, random_state=0).fit(X), X)
    assert abs(reading.totals[0]) > 0.95
    assert reading.totals[0] == pytest.approx(stats.spearmanr(reading.values[:, 0], X.mean(axis=1)).statistic)
    assert totals_of(np.column_stack((X.sum(axis=1), -X.sum(axis=1))), X.mean(axis=1)) == [1.0, -1.0]
