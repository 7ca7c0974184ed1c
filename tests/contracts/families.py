"""The table of families.  A new family is one line here."""

from __future__ import annotations

from latentbits import (
    PLSA,
    AspectBernoulli,
    BayesianBernoulliMixture,
    BernoulliGaussMixture,
    BernoulliMixture,
    BinaryGTM,
    DPBernoulliMixture,
    LatentTrait,
    LogisticPCA,
    MixtureOfUnigrams,
    NoisyOrComponentAnalysis,
    RestrictedBoltzmann,
    VariationalBernoulliMixture,
)
from latentbits.testing import Family


def options(**defaults):
    """Merge a family's test defaults with what a contract asks for."""
    return lambda cls: lambda **given: cls(**{**defaults, **given})


def chains(**defaults):
    """The same for samplers, whose chains and draws stand where others have starts and passes."""

    def with_class(cls):
        def make(**given):
            for name, ours in (("n_init", "n_chains"), ("max_iter", "n_draws")):
                if name in given:
                    given[ours] = given.pop(name)
            if "tol" in given:  # any other option does
                given["thin"] = 3
                del given["tol"]
            return cls(
                **{"n_chains": 2, "n_warmup": 10, "n_draws": 20, "thin": 1, "random_state": 0, **defaults, **given}
            )

        return make

    return with_class


def epochs(**defaults):
    """The same for machines, which have epochs."""

    def make(**given):
        if "max_iter" in given:
            given["n_epochs"] = given.pop("max_iter")
        if "tol" in given:
            given["weight_decay"] = given.pop("tol")
        return RestrictedBoltzmann(
            **{"n_components": 3, "n_epochs": 10, "n_sweeps": 20, "random_state": 0, **defaults, **given}
        )

    return make


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
    Family(
        "AspectBernoulli, filled by the mean",
        options(n_components=2, n_init=1, fill_in="posterior", max_iter=40, random_state=0)(AspectBernoulli),
    ),
    Family(
        "LogisticPCA, filled by the mean",
        options(n_components=2, n_init=1, ridge=0.1, fill_in="posterior", max_iter=40, random_state=0)(LogisticPCA),
        1e-4,
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
        options(n_components=2, n_init=1, solver="exact", max_iter=60, random_state=0)(NoisyOrComponentAnalysis),
        1e-5,
    ),
    Family(
        "NoisyOrComponentAnalysis, cold start at rows",
        options(n_components=2, n_init=1, init="rows", row_init="cold", accelerate=False, max_iter=40, random_state=0)(
            NoisyOrComponentAnalysis
        ),
        1e-5,
        seeded_at_rows=True,
    ),
    Family(
        "VariationalBernoulliMixture", options(n_components=4, n_init=2, random_state=0)(VariationalBernoulliMixture)
    ),
    Family(
        "VariationalBernoulliMixture, sticks averaged",
        options(
            n_components=4, n_init=2, weight_prior="sticks", average_restarts=True, average="joint", random_state=0
        )(VariationalBernoulliMixture),
    ),
    Family("BayesianBernoulliMixture", chains(n_components=4)(BayesianBernoulliMixture), seeded_at_rows=True),
    Family(
        "DPBernoulliMixture, everything learnt",
        chains(learn_weight_concentration=True, learn_cells="feature", split_merge=2, init="mixed", average="joint")(
            DPBernoulliMixture
        ),
        seeded_at_rows=True,
    ),
    Family(
        "DPBernoulliMixture, blocked",
        chains(solver="blocked", learn_cells="shared", n_warmup=2, answer_draws=4)(DPBernoulliMixture),
        seeded_at_rows=True,
    ),
    Family("BinaryGTM", options(latent_shape=(5, 4), max_iter=30, random_state=0)(BinaryGTM)),
    Family(
        "BinaryGTM, random starts and bound",
        options(
            latent_shape=9,
            init="random",
            solver="bound",
            weight_concentration=2.0,
            n_init=2,
            max_iter=30,
            random_state=0,
        )(BinaryGTM),
    ),
    Family(
        "BinaryGTM, identity from ranks",
        options(latent_shape=(3, 3), basis="identity", init="pca-rank", max_iter=30, random_state=0)(BinaryGTM),
    ),
    Family("LatentTrait", options(n_components=2, n_init=2, max_iter=40, random_state=0)(LatentTrait)),
    Family(
        "BernoulliGaussMixture",
        options(n_components=3, n_keywords=3, max_iter=60, random_state=0)(BernoulliGaussMixture),
        1e-8,
        values=True,
    ),
    Family(
        "BernoulliGaussMixture, soft",
        options(n_components=2, indicators="soft", init="anneal", max_iter=60, random_state=0)(BernoulliGaussMixture),
        1e-6,
        values=True,
    ),
    Family(
        "MixtureOfUnigrams", options(n_components=3, max_iter=60, random_state=0)(MixtureOfUnigrams), 1e-8, values=True
    ),
    Family("PLSA", options(n_components=3, n_init=2, max_iter=40, random_state=0)(PLSA), 1e-8, values=True),
    Family("RestrictedBoltzmann", epochs(), seeded_at_rows=True),
]
