"""The overview names a label that goes with the hidden structure, and none that does not.  Slow; ``make test-slow``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from latentbits.errors import LatentBitsWarning
from tests.planted_labels import KINDS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", KINDS)
def test_planted_labels_are_named_and_shuffled_ones_are_not(kind):
    """20 of 20 tables, the right component and direction; of labels shuffled at most 1 of 20."""
    wrong, named = [], []
    for seed in range(20):
        made = KINDS[kind](seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            model = made.model.fit(made.data)
        told, reading = made.said_of(made.label, model)
        if len(told) != 2 or not made.is_right(told[1], reading):
            wrong.append((seed, told))
        shuffled, _ = made.said_of(np.random.default_rng(seed).permutation(made.label), model)
        if len(shuffled) > 1:
            named.append((seed, shuffled))
    print(f"\n{kind}: {20 - len(wrong)} of 20 named, {len(named)} of 20 when shuffled")
    assert wrong == []
    assert len(named) <= 1, named
