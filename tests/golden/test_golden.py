"""Small fits as JSON.

``python -m tests.golden.test_golden`` writes them; a change comes with its reason in the changelog.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import latentbits
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
    datasets,
)
from latentbits.errors import LatentBitsWarning

FOLDER = Path(__file__).parent
FITS = {
    "zoo_k4": lambda: (datasets.load_zoo().data, {"n_components": 4, "random_state": 0}),
    "votes_k3": lambda: (datasets.load_votes().data, {"n_components": 3, "random_state": 0}),
    "votes_ml_k2": lambda: (datasets.load_votes().data, {"n_components": 2, "smoothing": 0.0, "random_state": 1}),
    "diabetes_seeded_k3": lambda: (
        datasets.load_diabetes_symptoms().data,
        {"n_components": 3, "init": "k-means++", "random_state": 2},
    ),
    "aspect_votes_k3": lambda: (datasets.load_votes().data, {"n_components": 3, "n_init": 2, "random_state": 0}),
    "aspect_zoo_phantom_k4": lambda: (
        datasets.load_zoo().data,
        {"n_components": 4, "n_phantom": 1, "n_init": 1, "random_state": 0},
    ),
    "logistic_zoo_k2": lambda: (
        datasets.load_zoo().data,
        {"n_components": 2, "ridge": 1.0, "tol": 1e-9, "n_init": 1, "random_state": 0},
    ),
    "noisyor_votes_k3": lambda: (
        datasets.load_votes().data,
        {"n_components": 3, "tol": 1e-9, "n_init": 1, "random_state": 0},
    ),
    "noisyor_diabetes_exact_k3": lambda: (
        datasets.load_diabetes_symptoms().data,
        {"n_components": 3, "solver": "exact", "tol": 1e-9, "n_init": 1, "random_state": 0},
    ),
}


def _counts():
    rng = np.random.default_rng(0)
    return np.round(rng.gamma(0.4, 3.0, (60, 12)))


FITS |= {
    "gauss_counts_k2": lambda: (_counts(), {"n_components": 2, "n_keywords": 3, "random_state": 0}),
    "gauss_soft_k2": lambda: (_counts(), {"n_components": 2, "indicators": "soft", "random_state": 0}),
    "unigrams_k2": lambda: (_counts(), {"n_components": 2, "random_state": 0}),
    "plsa_k2": lambda: (_counts(), {"n_components": 2, "n_init": 1, "tol": 1e-9, "max_iter": 2000, "random_state": 0}),
    "gtm_zoo": lambda: (datasets.load_zoo().data, {"latent_shape": (5, 4), "max_iter": 40}),
    "gtm_votes_bound": lambda: (
        datasets.load_votes().data,
        {"latent_shape": 12, "solver": "bound", "basis_prior": "beta", "init": "pca-rank", "max_iter": 30},
    ),
    "trait_votes_k2": lambda: (datasets.load_votes().data, {"n_components": 2, "n_init": 1, "random_state": 0}),
    "trait_paper_votes_k2": lambda: (
        datasets.load_votes().data,
        {"n_components": 2, "n_init": 1, "random_state": 0, "bound": "jaakkola", "n_inner": 2},
    ),
    "variational_votes_k4": lambda: (datasets.load_votes().data, {"n_components": 4, "tol": 1e-9, "random_state": 0}),
    "bayesian_votes_k4": lambda: (
        datasets.load_votes().data,
        {
            "n_components": 4,
            "n_chains": 2,
            "n_warmup": 20,
            "n_draws": 10,
            "learn_weight_concentration": True,
            "random_state": 0,
        },
    ),
    "dp_zoo": lambda: (datasets.load_zoo().data, {"n_chains": 2, "n_warmup": 20, "n_draws": 10, "random_state": 0}),
    "rbm_zoo_h3": lambda: (
        datasets.load_zoo().data,
        {"n_components": 3, "n_epochs": 20, "n_sweeps": 20, "random_state": 0},
    ),
}
CLASSES = {
    "gauss": BernoulliGaussMixture,
    "unigrams": MixtureOfUnigrams,
    "plsa": PLSA,
    "gtm": BinaryGTM,
    "trait": LatentTrait,
    "aspect": AspectBernoulli,
    "logistic": LogisticPCA,
    "noisyor": NoisyOrComponentAnalysis,
    "variational": VariationalBernoulliMixture,
    "bayesian": BayesianBernoulliMixture,
    "dp": DPBernoulliMixture,
    "rbm": RestrictedBoltzmann,
}


def outcome(name):
    """What is written down of a fit."""
    X, options = FITS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        model = CLASSES.get(name.partition("_")[0], BernoulliMixture)(**options).fit(X)
    return {
        "objective": getattr(model, "objective_", None) or model.draws_.log_joint.tolist(),
        "restarts": [path[-1] for path in model.history_],
        **({"weights": model.weights_.tolist()} if hasattr(model, "weights_") else {}),
        "components": model.components_.tolist(),
        **({"bic": model.bic(X)} if hasattr(model, "bic") else {}),
        "first_rows": model.transform(X[:5]).tolist(),
    }


@pytest.mark.parametrize("name", FITS)
def test_golden(name):
    wanted = json.loads((FOLDER / f"{name}.json").read_text())
    found = outcome(name)
    assert found.keys() == wanted.keys()
    # Other processors may round otherwise; EM contracts such differences, so six digits are safe.  Families with row
    # unknowns have flat directions, along which parameters are told less exactly than values.
    close = 1e-6 if name.partition("_")[0] not in CLASSES else 1e-3
    for key, value in wanted.items():
        limit = 1e-6 if key in ("objective", "restarts") else close
        np.testing.assert_allclose(found[key], value, rtol=limit, atol=limit, err_msg=key)


def test_saved_models_of_each_release_load():
    X = datasets.load_zoo().data
    found = sorted(FOLDER.glob("model_*.latentbits"))
    assert found
    for path in found:
        model = latentbits.load(path)
        wanted = json.loads((FOLDER / "zoo_k4.json").read_text())
        np.testing.assert_allclose(model.transform(X[:5]), wanted["first_rows"], atol=1e-6)


def write():
    """Write all fits, and the saved model of this release."""
    for name in FITS:
        (FOLDER / f"{name}.json").write_text(json.dumps(outcome(name), indent=1) + "\n")
    X, options = FITS["zoo_k4"]()
    if not (FOLDER / f"model_{latentbits.__version__}.latentbits").exists():
        BernoulliMixture(**options).fit(X).save(FOLDER / f"model_{latentbits.__version__}.latentbits")


if __name__ == "__main__":
    write()
