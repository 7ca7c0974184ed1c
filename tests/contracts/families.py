"""The table of families.  A new family is one line here."""

from __future__ import annotations

from latentbits import AspectBernoulli, BernoulliMixture, LogisticPCA, NoisyOrComponentAnalysis
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
    Family("AspectBernoulli", options(n_components=3, n_init=2, max_iter=60, random_state=0)(AspectBernoulli)),
    Family(
        "AspectBernoulli, maximum likelihood with a phantom",
        options(n_components=3, n_init=1, n_phantom=1, smoothing=0.0, accelerate=False, max_iter=60, random_state=0)(
            AspectBernoulli
        ),
    ),
    # Quasi-Newton steps blow rounding up along directions in which the objective is flat.
    Family("LogisticPCA", options(n_components=2, n_init=2, ridge=0.1, max_iter=40, random_state=0)(LogisticPCA), 1e-4),
    Family(
        "LogisticPCA, bound of the paper",
        options(n_components=2, n_init=1, ridge=0.1, solver="mm", max_iter=40, random_state=0)(LogisticPCA),
        1e-6,
    ),
    # Among the parameters are losses of hundreds of nats.
    Family(
        "NoisyOrComponentAnalysis",
        options(n_components=3, n_init=2, max_iter=60, random_state=0)(NoisyOrComponentAnalysis),
        1e-5,
    ),
    Family(
        "NoisyOrComponentAnalysis, exact",
        options(n_components=2, n_init=1, inference="exact", max_iter=60, random_state=0)(NoisyOrComponentAnalysis),
        1e-5,
    ),
    Family(
        "NoisyOrComponentAnalysis, cold start at rows",
        options(n_components=2, n_init=1, init="rows", e_step="cold", accelerate=False, max_iter=40, random_state=0)(
            NoisyOrComponentAnalysis
        ),
        1e-5,
        seeded_at_rows=True,
    ),
]
