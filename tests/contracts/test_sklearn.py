"""scikit-learn's own checks on instances with ``binarize`` set: tuned ones that pass them all, and defaults."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data, parametrize_with_checks

import latentbits
from latentbits import (
    PLSA,
    AspectBernoulli,
    BayesianBernoulliMixture,
    BernoulliGaussClassifier,
    BernoulliGaussMixture,
    BernoulliGaussSelector,
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
from latentbits.datasets import make_mixture
from latentbits.families import BY_CLASS

pytestmark = pytest.mark.filterwarnings(
    "ignore::latentbits.errors.LatentBitsWarning",
    # The checks fit without column names on purpose, and skip what the environment lacks.
    "ignore::sklearn.exceptions.SkipTestWarning",
)


# What is checked is how they behave, not where they end: few passes will do.
@parametrize_with_checks(
    [
        BernoulliMixture(binarize=0.0, n_init=2, max_iter=20, random_state=0),
        AspectBernoulli(binarize=0.0, n_init=2, max_iter=20, random_state=0),
        NoisyOrComponentAnalysis(binarize=0.0, n_init=1, max_iter=10, random_state=0),
        # A check asks for two columns of predict_proba, so these end with two classes on its tables.
        VariationalBernoulliMixture(
            2, binarize=0.5, weight_prior="sticks", average_restarts=True, n_init=2, random_state=0
        ),
        BayesianBernoulliMixture(
            2, weight_concentration=5.0, binarize=0.0, n_chains=2, n_warmup=5, n_draws=5, random_state=0
        ),
        DPBernoulliMixture(
            0.3, binarize=0.5, n_chains=2, n_warmup=5, n_draws=5, learn_weight_concentration=True, random_state=4
        ),
        # The same check asks for four of families with more than two classes.
        BinaryGTM(4, basis_shape=2, ridge=1.0, binarize=0.5, random_state=0),
        LatentTrait(binarize=0.0, n_init=1, max_iter=15, random_state=0),
        BernoulliGaussMixture(n_keywords=2, init="k-means", max_iter=20, random_state=0),
        BernoulliGaussClassifier(1, init="k-means", max_iter=20, random_state=0),
        MixtureOfUnigrams(max_iter=20, random_state=0),
        PLSA(n_init=1, temperature=0.9, random_state=0),
        BernoulliGaussSelector(
            BernoulliGaussMixture(2, n_keywords=20, init="k-means", max_iter=20, random_state=0),
            threshold=0.0,
            min_topic_rows=1,
            min_rows=1,
        ),
        RestrictedBoltzmann(3, binarize=0.5, n_epochs=5, n_sweeps=20, random_state=0),
        LogisticPCA(binarize=0.0, ridge=0.1, n_init=2, max_iter=20, random_state=0),
    ],
    # This check draws negative values also for estimators that say that they take none.
    expected_failed_checks=lambda estimator: (
        {"check_decision_proba_consistency": "negative values"}
        if isinstance(estimator, BernoulliGaussClassifier)
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        BernoulliMixture(binarize=0.5, smoothing=0.5, accelerate=False, n_init=1, max_iter=20, random_state=0),
        AspectBernoulli(
            binarize=0.5, weight_concentration=1.1, accelerate=False, n_init=1, max_iter=20, random_state=0
        ),
        NoisyOrComponentAnalysis(binarize=0.5, solver="exact", n_init=1, max_iter=10, random_state=0),
        LogisticPCA(binarize=0.5, ridge=1.0, solver="mm", n_init=1, max_iter=20, random_state=0),
    ]
)
def test_scikit_learn_of_variants(estimator, check):
    check(estimator)


# Why a check fails on an instance with default options.  A change of these tables is a change of what users get.
CLASSES = "it asks for 2 or 4 columns of predict_proba, and this family has as many classes as it is told or finds"
RATINGS = "predict answers for users and items, and takes no table"
ITEMS = "items are found by name or number: a table with fewer of them is no error"
WORDS = "what is not a number is refused, in other words than the check's"
NO_RATINGS = "a table without items is told to have no ratings"
NEGATIVE = "it draws negative values also for estimators that say that they take none"
OF_CLASSES = {"check_estimator_sparse_array": CLASSES, "check_estimator_sparse_matrix": CLASSES}
OF_RATINGS = {
    "check_complex_data": WORDS,
    "check_dict_unchanged": RATINGS,
    "check_dtype_object": RATINGS,
    "check_estimator_sparse_array": RATINGS,
    "check_estimator_sparse_matrix": RATINGS,
    "check_estimators_dtypes": RATINGS,
    "check_estimators_empty_data_messages": NO_RATINGS,
    "check_estimators_pickle": RATINGS,
    "check_estimators_unfitted": RATINGS,
    "check_f_contiguous_array_estimator": RATINGS,
    "check_fit2d_predict1d": RATINGS,
    "check_fit_idempotent": RATINGS,
    "check_methods_sample_order_invariance": RATINGS,
    "check_methods_subset_invariance": RATINGS,
    "check_n_features_in_after_fitting": RATINGS,
    "check_sample_weight_equivalence_on_dense_data": RATINGS,
    "check_sample_weight_equivalence_on_sparse_data": RATINGS,
    "check_transformer_general": ITEMS,
}
UNMET = {
    "BayesianBernoulliMixture": OF_CLASSES,
    "BernoulliGaussClassifier": {"check_decision_proba_consistency": NEGATIVE},
    "BernoulliGaussRecommender": OF_RATINGS,
    "BinaryGTM": OF_CLASSES,
    "DPBernoulliMixture": OF_CLASSES,
    "GaussianPLSA": OF_RATINGS,
    "VariationalBernoulliMixture": OF_CLASSES,
}
# Families whose defaults are quick enough for every run; of the others the slow tests run all checks.
QUICK = {"BernoulliMixture", "LatentTrait", "PLSA"}


def default(name):
    """An instance with default options; no check draws zeros and ones, so values are cut at 0.5."""
    cls = getattr(latentbits, name)
    return cls(**({"binarize": 0.5} if "binarize" in cls().get_params() else {}))


def unmet(estimator):
    """The checks that a default instance cannot pass, with the reasons."""
    return UNMET.get(type(estimator).__name__, {})


@parametrize_with_checks([default(name) for name in BY_CLASS if name in QUICK], expected_failed_checks=unmet)
def test_defaults(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([default(name) for name in BY_CLASS if name not in QUICK], expected_failed_checks=unmet)
def test_slow_defaults(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["AspectBernoulli", "LogisticPCA", "MixtureOfUnigrams", "NoisyOrComponentAnalysis"])
def test_weights_are_repeats_by_default(name):
    check_sample_weight_equivalence_on_dense_data(name, default(name))


def test_pipeline_grid_and_html():
    X = make_mixture(300, 12, 2, spread=3.0, random_state=1).data
    search = GridSearchCV(
        make_pipeline(Binarizer(threshold=0.5), BernoulliMixture(random_state=0)),
        {"bernoullimixture__n_components": [1, 2, 3]},
        cv=3,
    ).fit(X)
    assert search.best_params_["bernoullimixture__n_components"] in (2, 3)
    assert "BernoulliMixture" in search.best_estimator_._repr_html_()


def test_set_output_and_names():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(make_mixture(60, 5, 2, random_state=0).data, columns=list("abcde"), index=range(10, 70))
    model = BernoulliMixture(random_state=0).set_output(transform="pandas")
    out = model.fit_transform(X)
    assert list(out.columns) == ["class 1", "class 2"]
    assert list(out.index) == list(range(10, 70))
    assert list(model.feature_names_in_) == list("abcde")
    again = model.transform(X)
    assert list(again.columns) == list(out.columns) and list(again.index) == list(out.index)


def test_clone_and_params():
    model = BernoulliMixture(4, smoothing=2.0, random_state=3)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert "n_components=4" in repr(model)


def test_scikit_learn_callbacks():
    callback = pytest.importorskip("sklearn.callback", reason="callbacks came with scikit-learn 1.9")
    seen: list[tuple[str, ...]] = []

    class Watch:
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            seen.append((context.task_name,))
            return context.task_name == "iteration" and len(seen) > 4

    assert isinstance(Watch(), callback.FitCallback)
    X = make_mixture(60, 5, 2, random_state=0).data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BernoulliMixture(n_init=2, tol=0.0, random_state=0).set_callbacks(Watch()).fit(X)
    names = [name for (name,) in seen]
    assert names.count("fit") == 1 and names.count("start") == 1 and names.count("iteration") == 5
    assert len(model.restarts_) == 1 and np.isfinite(model.objective_)
