"""Tables drawn from every family: the comparison finds the story they were drawn from.  Slow; ``make test-slow``.

The sizes of the tables stand in ``papers/explore/truth.py``, whose committed results are of the same draws.
"""

from __future__ import annotations

import pytest

from papers.explore.truth import N_DRAWS, NOTHING, TRUTHS, drawn

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", TRUTHS)
def test_the_true_story_is_first_or_near(name):
    results = [drawn(name, seed) for seed in range(N_DRAWS)]
    assert sum(result["found"] for result in results) >= 8, results


def test_independent_columns_hold_nothing():
    assert [drawn(NOTHING, seed)["finding"] for seed in range(N_DRAWS)] == ["nothing"] * N_DRAWS
