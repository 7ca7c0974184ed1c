"""The table of families.  A new family is one line here."""

from __future__ import annotations

from latentbits import (
    PLSA,
    AspectBernoulli,
    BayesianBernoulliMixture,
    BernoulliGaussClassifier,
    BernoulliGaussMixture,
    BernoulliGaussRecommender,
    BernoulliGaussSelector,
    BernoulliMixture,
    BinaryGTM,
    ChowLiuTree,
    DPBernoulliMixture,
    GaussianPLSA,
    HiddenTree,
    LatentTrait,
    LogisticPCA,
    MixtureOfUnigrams,
    NoisyOrComponentAnalysis,
    RestrictedBoltzmann,
    TreeMixture,
    VariationalBernoulliMixture,
)
from latentbits.testing import Family

# How far the order of columns is free (see latentbits.testing.Family).
ONE = "one"
DRAWN = "starts are drawn column by column, and one component has several ends, too"
EQUAL = "of pairs with the same information the first columns are taken"
TIES = "of equally large entries the first columns are keywords"


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


def selector(**given):
    """Keywords of topics found with the options asked for."""
    topics = BernoulliGaussMixture(**{"n_components": 2, "n_keywords": 3, "max_iter": 60, "random_state": 0, **given})
    return BernoulliGaussSelector(topics, quantile=0.5, min_topic_rows=1, min_rows=1)


FAMILIES = [
    Family("BernoulliMixture", options(n_components=3, n_init=2, random_state=0)(BernoulliMixture), columns=ONE),
    Family(
        "BernoulliMixture, maximum likelihood",
        options(n_components=2, n_init=1, smoothing=0.0, accelerate=False, random_state=0)(BernoulliMixture),
        columns=ONE,
    ),
    Family(
        "BernoulliMixture, k-means++",
        options(n_components=3, n_init=1, init="k-means++", max_iter=50, random_state=0)(BernoulliMixture),
        seeded_at_rows=True,
    ),
    Family(
        "AspectBernoulli", options(n_components=3, n_init=2, max_iter=60, random_state=0)(AspectBernoulli), columns=ONE
    ),
    Family(
        "AspectBernoulli, maximum likelihood with a phantom",
        options(n_components=3, n_init=1, n_phantom=1, smoothing=0.0, accelerate=False, max_iter=60, random_state=0)(
            AspectBernoulli
        ),
        columns=DRAWN,
    ),
    Family(
        "AspectBernoulli, filled by the mean",
        options(n_components=2, n_init=1, fill_in="posterior", max_iter=40, random_state=0)(AspectBernoulli),
        columns=ONE,
    ),
    Family(
        "LogisticPCA, filled by the mean",
        options(n_components=2, n_init=1, ridge=0.1, fill_in="posterior", random_state=0)(LogisticPCA),
        columns=DRAWN,
    ),
    Family("LogisticPCA", options(n_components=2, n_init=2, random_state=0)(LogisticPCA), columns=DRAWN),
    Family(
        "LogisticPCA, bound of the paper",
        options(n_components=2, n_init=1, ridge=0.1, solver="mm", max_iter=40, random_state=0)(LogisticPCA),
        columns=DRAWN,
    ),
    # Among the parameters are losses of hundreds of nats.
    Family(
        "NoisyOrComponentAnalysis",
        options(n_components=3, n_init=2, max_iter=60, random_state=0)(NoisyOrComponentAnalysis),
        1e-5,
        columns=DRAWN,
    ),
    Family(
        "NoisyOrComponentAnalysis, exact",
        options(n_components=2, n_init=1, solver="exact", max_iter=60, random_state=0)(NoisyOrComponentAnalysis),
        1e-5,
        columns=DRAWN,
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
        "VariationalBernoulliMixture",
        options(n_components=4, n_init=2, random_state=0)(VariationalBernoulliMixture),
        columns=ONE,
    ),
    Family(
        "VariationalBernoulliMixture, sticks averaged",
        options(
            n_components=4, n_init=2, weight_prior="sticks", average_restarts=True, average="joint", random_state=0
        )(VariationalBernoulliMixture),
        columns=ONE,
    ),
    Family("BayesianBernoulliMixture", chains(n_components=4)(BayesianBernoulliMixture), seeded_at_rows=True),
    Family(
        "DPBernoulliMixture, everything learnt",
        chains(learn_weight_concentration=True, learn_cells="feature", split_merge=2, init="mixed", average="joint")(
            DPBernoulliMixture
        ),
        seeded_at_rows=True,
        columns=DRAWN,
    ),
    Family(
        "DPBernoulliMixture, blocked",
        chains(solver="blocked", learn_cells="shared", n_warmup=2, answer_draws=4)(DPBernoulliMixture),
        seeded_at_rows=True,
        columns=DRAWN,
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
        columns=DRAWN,
    ),
    Family(
        "BinaryGTM, identity from ranks",
        options(latent_shape=(3, 3), basis="identity", init="pca-rank", max_iter=30, random_state=0)(BinaryGTM),
    ),
    Family("ChowLiuTree", options()(ChowLiuTree), columns=EQUAL),
    Family(
        "TreeMixture",
        options(n_components=2, n_init=2, init="random", max_iter=40, random_state=0)(TreeMixture),
        columns=EQUAL,
    ),
    Family(
        "TreeMixture, averaged",
        options(n_components=2, n_init=2, average_restarts=True, max_iter=30, random_state=0)(TreeMixture),
        seeded_at_rows=True,
        columns=EQUAL,
    ),
    Family(
        "TreeMixture, one tree",
        options(n_components=3, n_init=1, init="random", shared_tree=True, smoothing=1.0, max_iter=30, random_state=0)(
            TreeMixture
        ),
        columns=EQUAL,
    ),
    Family(
        "HiddenTree",
        options(n_states=3, n_init=2, init="random", max_iter=40, random_state=0)(HiddenTree),
        columns=DRAWN,
    ),
    Family(
        "HiddenTree, averaged",
        options(n_states=2, n_init=2, average_restarts=True, accelerate=False, max_iter=20, random_state=0)(HiddenTree),
        seeded_at_rows=True,
        columns=DRAWN,
    ),
    Family("LatentTrait", options(n_components=2, n_init=2, max_iter=40, random_state=0)(LatentTrait), columns=DRAWN),
    Family(
        "BernoulliGaussMixture",
        options(n_components=3, n_keywords=3, max_iter=60, random_state=0)(BernoulliGaussMixture),
        1e-8,
        kind="numbers",
        columns=TIES,
    ),
    Family(
        "BernoulliGaussMixture, soft",
        options(n_components=2, indicators="soft", init="anneal", max_iter=60, random_state=0)(BernoulliGaussMixture),
        1e-6,
        kind="numbers",
        columns=ONE,
    ),
    Family(
        "MixtureOfUnigrams",
        options(n_components=3, max_iter=60, random_state=0)(MixtureOfUnigrams),
        1e-8,
        kind="numbers",
        columns=ONE,
    ),
    Family(
        "PLSA", options(n_components=3, n_init=2, max_iter=40, random_state=0)(PLSA), 1e-8, kind="numbers", columns=ONE
    ),
    Family("RestrictedBoltzmann", epochs(), seeded_at_rows=True, columns=DRAWN),
    Family(
        "BernoulliGaussClassifier",
        options(n_components=2, max_iter=60, random_state=0)(BernoulliGaussClassifier),
        1e-8,
        kind="numbers",
        supervised=True,
        columns=ONE,
    ),
    Family("BernoulliGaussSelector", selector, 1e-8, kind="numbers", columns=TIES),
    # Starts are drawn by what users rated, on their own scale, which rounds differently in another order of the users.
    Family(
        "BernoulliGaussRecommender",
        options(n_components=2, max_iter=60, random_state=0)(BernoulliGaussRecommender),
        1e-8,
        seeded_at_rows=True,
        kind="ratings",
        columns=ONE,
    ),
    Family(
        "BernoulliGaussRecommender, missingness modelled",
        options(n_components=2, missingness="modelled", user_scale="none", init="k-means", max_iter=60, random_state=0)(
            BernoulliGaussRecommender
        ),
        1e-8,
        kind="ratings",
        columns=ONE,
    ),
    Family(
        "GaussianPLSA",
        options(n_components=2, max_iter=40, random_state=0)(GaussianPLSA),
        1e-8,
        seeded_at_rows=True,
        kind="ratings",
        columns=ONE,
    ),
    Family(
        "GaussianPLSA, ratings as they are",
        options(n_components=2, user_scale="none", max_iter=40, random_state=0)(GaussianPLSA),
        1e-8,
        kind="ratings",
        columns=ONE,
    ),
]
