"""The table of families.  A new family is one line here."""

from __future__ import annotations

from latentbits import BernoulliMixture
from latentbits.testing import Family


def options(**defaults):
    """Merge a family's test defaults with what a contract asks for."""
    return lambda cls: lambda **given: cls(**{**defaults, **given})


FAMILIES = [
    Family("BernoulliMixture", options(n_components=3, n_init=2, random_state=0)(BernoulliMixture)),
    Family(
        "BernoulliMixture, maximum likelihood",
        options(n_components=2, n_init=1, smoothing=0.0, accelerate=False, random_state=0)(BernoulliMixture),
    ),
    Family(
        "BernoulliMixture, k-means++",
        options(n_components=3, n_init=1, init="k-means++", max_iter=50, random_state=0)(BernoulliMixture),
        seeded_at_rows=True,
    ),
]
