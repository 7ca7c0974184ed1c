"""Five questions of people about the votes of the U.S. House, each answered on the page in at most three actions.

They stand in the guide (``docs/guide/reading_report.md``).
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import latentbits
from latentbits.datasets import load_votes
from latentbits.errors import LatentBitsWarning

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore::ResourceWarning")]

MOST_ACTIONS = 3


class Hand:
    """Does what a person does on a page, and counts it."""

    def __init__(self, page):
        self.page, self.actions = page, 0

    def click(self, place):
        self.actions += 1
        place.first.click()

    def choose(self, place, label):
        self.actions += 1
        self.page.select_option(place, label=label)

    def type(self, place, text):
        """Type, and press Enter: one thing to do."""
        self.actions += 1
        place.fill(text)
        place.press("Enter")

    def key(self, place, key):
        self.actions += 1
        place.press(key)


@pytest.fixture(scope="module")
def votes():
    pd = pytest.importorskip("pandas")
    found = load_votes()
    frame = pd.DataFrame(found.data, columns=found.feature_names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return frame, np.asarray(found.target), latentbits.BernoulliMixture(4, random_state=0).fit(frame)


@pytest.fixture(scope="module")
def path(votes, tmp_path_factory):
    frame, party, model = votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        return model.report(
            frame, tmp_path_factory.mktemp("votes") / "votes.html", labels={"party": party}, name="votes"
        )


@pytest.fixture
def hand(open_page, path):
    hand = Hand(open_page(path))
    yield hand
    assert hand.actions <= MOST_ACTIONS and hand.page.told == []


def test_which_members_do_not_fit_their_party(hand, votes):
    """A click on the Republicans in the class of Democrats selects them; their numbers stand among the members."""
    frame, party, model = votes
    classes = model.predict(frame)
    first = classes == 0  # the largest class
    minority = min(("democrat", "republican"), key=lambda p: int((party[first] == p).sum()))
    odd = np.flatnonzero(first & (party == minority))
    cell = hand.page.get_by_role("button", name=f"Select the rows of class 1 with {minority}: {len(odd)}")
    hand.click(cell)
    assert f"{len(odd)} of 435 rows selected" in hand.page.locator("#selection").inner_text()
    hand.click(hand.page.locator("#selection summary"))
    assert hand.page.locator("#selection .members button").all_text_contents() == [f"row {i}" for i in odd]


def test_which_vote_splits_a_class_from_the_nearest(hand, votes):
    """It stands on the card: nothing to do."""
    told = hand.page.locator("#part-1").inner_text()
    names, sentence = votes[0].columns, next(line for line in told.splitlines() if line.startswith("Closest is"))
    probs, other = votes[2].components_, int(sentence.split("class ")[1].split(";")[0]) - 1
    first = min((name for name in names if name in sentence), key=sentence.index)
    apart = np.abs(probs[1] - probs[other])
    assert apart[list(names).index(first)] > 0.5


def test_how_does_somebody_vote_who_voted_so(hand, votes):
    """Two votes set in "Try a row" fill in the others, with the library's numbers."""
    frame, _, model = votes
    names = list(frame.columns)
    for name in ("physician_fee_freeze", "mx_missile"):
        cell = hand.page.locator("#try").get_by_role("button", name=name)
        hand.click(cell)
    row = np.full((1, len(names)), np.nan)
    row[0, [names.index("physician_fee_freeze"), names.index("mx_missile")]] = 1.0
    pd = pytest.importorskip("pandas")
    wanted = model.reconstruct(pd.DataFrame(row, columns=names)).iloc[0]
    place = hand.page.locator("#try").inner_text()
    likely = wanted.drop(["physician_fee_freeze", "mx_missile"]).idxmax()
    assert likely in place.split("What the blanks would be")[1]


def test_what_is_surprising_about_a_member(hand, votes):
    """Typing the row's name and Enter opens the drawer of the row."""
    hand.type(hand.page.locator("#search-box"), "row 7")
    told = hand.page.locator("#drawer").inner_text()
    assert "row 7" in told and "class" in told and "urpris" in told


def test_who_voted_for_it_and_what_goes_with_it(hand, votes):
    """Typing the vote's name and Enter opens the drawer of the column."""
    frame = votes[0]
    hand.type(hand.page.locator("#search-box"), "mx_missile")
    told = hand.page.locator("#drawer").inner_text()
    assert f"Who has it: {int(frame['mx_missile'].sum())} of 435 rows" in told
    assert "anti_satellite_test_ban" in told or "aid_to_nicaraguan_contras" in told
