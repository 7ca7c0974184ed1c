"""What a page needs to answer about a new row as a fitted model does, as plain data.

The page works out memberships, filled cells and reasons from these numbers alone (``report/files/js/inference.js``), by the
same steps as the library: where an answer is found by iteration, starts, tolerances and numbers of rounds go along.

=============  ==========================================================================  ================================
``kind``       families                                                                    ``parts`` of an answer
=============  ==========================================================================  ================================
``classes``    mixtures by EM, variational and sampled                                     class memberships
``map``        binary GTM                                                                  nodes, and the place on the map
``trees``      mixtures of trees, the tree of Chow and Liu                                 class memberships
``shares``     Aspect Bernoulli                                                            memberships
``causes``     noisy-or component analysis                                                 posteriors of the sources
``scores``     logistic PCA                                                                scores
``traits``     latent trait                                                                posterior means of the scores
=============  ==========================================================================  ================================

Restricted Boltzmann machines and hidden trees are left out, and so are families of values instead of bits.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Plain = dict[str, Any]


def row_parameters(model: Any, most: int = 120_000) -> Plain | None:
    """All that is needed to answer about a new row with a fitted model.

    Parameters
    ----------
    model : estimator
        Fitted.
    most : int
        Numbers that the arrays may have in all.

    Returns
    -------
    dict or None
        JSON-able: ``kind``, ``n_columns``, ``n_parts`` and what the kind needs; arrays are ``{"shape": [...], "data": ...}``
        with the data in base64 of little-endian float64.  None if the family is not supported or takes more numbers.

    Examples
    --------
    >>> from latentbits import BernoulliMixture
    >>> X = [[1, 1, 0, 0], [1, 1, 0, None], [0, 0, 1, 1], [0, None, 1, 1], [1, 1, 0, 0]]
    >>> found = row_parameters(BernoulliMixture(2, random_state=0).fit(X))
    >>> found["kind"], found["probs"]["shape"]
    ('classes', [2, 4])
    """
    make = next((MAKERS[base.__name__] for base in type(model).__mro__ if base.__name__ in MAKERS), None)
    if make is None:
        return None
    model._check_fitted()
    found = make(model._model, model._params)
    arrays = [value for value in found.values() if isinstance(value, np.ndarray)]
    if sum(array.size for array in arrays) > most:
        return None
    plain = {name: packed(value) if isinstance(value, np.ndarray) else value for name, value in found.items()}
    return {**plain, "n_columns": int(model.n_features_in_)}


def packed(array: Any) -> Plain:
    """An array as plain data, in full precision."""
    data = np.ascontiguousarray(array, "<f8").tobytes()
    return {"shape": [int(n) for n in np.shape(array)], "data": base64.b64encode(data).decode("ascii")}


def _classes(model: Any, params: Any) -> Plain:
    """One class per row; with several mixtures that answer together (``member_...``) these fill cells."""
    precomputed = model.precompute(params)
    point = getattr(precomputed, "point", precomputed)
    out = {"kind": "classes", "n_parts": len(point.log_weights), "log_weights": point.log_weights, "probs": point.probs}
    if hasattr(precomputed, "flat"):
        flat = precomputed.flat
        out |= {"member_log_weights": flat.log_weights, "member_probs": flat.probs}
        out |= {"member_starts": precomputed.starts, "average": model.average}
    return out


def _map(model: Any, params: Any) -> Plain:
    """The nodes of a map; their log odds (K, D), or what they are products of where that is shorter."""
    out = {"kind": "map", "n_parts": len(params.prior), "log_weights": np.log(params.prior), "points": model.points}
    features, weights = model.features, params.weights
    if model.is_identity or features.size + weights.size >= len(features) * len(weights):
        return {**out, "odds": model.odds(weights).T}
    return {**out, "features": features, "basis_weights": weights}


def _trees(model: Any, params: Any) -> Plain:
    """A tree per class; with several starts that answer together (``member_...``) these fill cells."""
    out = {"kind": "trees", "n_parts": len(params.weights), **_forest(params)}
    if not hasattr(model, "held"):
        return out
    precomputed = model.precompute(params)
    members = {f"member_{name}": value for name, value in _forest(precomputed.flat.params).items()}
    return {**out, **members, "member_starts": precomputed.starts, "average": model.average}


def _forest(params: Any) -> Plain:
    """Trees as arrays."""
    return {"log_weights": np.log(params.weights), "parents": params.parents, "on_given": params.on_given}


def _shares(model: Any, params: Any) -> Plain:
    """Aspect Bernoulli: probabilities, which columns are summed by polynomials, and how memberships are looked for.

    ``fill_in`` is "best" or "posterior", for which the remembered rows (``sample_...``) go along.
    """
    precomputed = model._answering(model.precompute(params))
    split = precomputed.split
    cold = np.flatnonzero(split.place == -1)
    return {
        "kind": "shares",
        "n_parts": model.n_components,
        "probs": precomputed.probs,
        "hot": split.hot,
        "cold": cold,
        "cold_inverse": split.inverse[cold],
        "cold_logarithm": split.logarithm[cold],
        "prior": model.concentration - 1.0,
        "fold_tol": model.fold_tol,
        "phantoms": [int(k) for k in model.phantoms],
        **_remembered(model, params),
    }


def _causes(model: Any, params: Any) -> Plain:
    """Noisy-or: strengths of links and leaks, priors of the sources, and how posteriors are looked for."""
    from ..noisy_or.params import CELL_TOL

    return {
        "kind": "causes",
        "n_parts": len(params.prior),
        "theta": params.theta,
        "theta0": params.theta0,
        "prior": params.prior,
        "exact": bool(model.exact),
        "rounds": model.answer_rounds,
        "tol": model.answer_tol,
        "cell_tol": CELL_TOL,
    }


def _scores(model: Any, params: Any) -> Plain:
    """Logistic PCA: loadings and offset, and how scores are looked for; ``fill_in`` as in :func:`_shares`."""
    from ..logistic.model import AT_BEST, MOST_STEPS

    return {
        "kind": "scores",
        "n_parts": model.n_components,
        **_linear(model, params),
        "ridge": model.ridge,
        "tol": AT_BEST,
        "most_steps": MOST_STEPS,
        **_remembered(model, params),
    }


def _traits(model: Any, params: Any) -> Plain:
    """Latent trait: the same, with the bound and the points by which means are taken."""
    from ..logistic import trait_answers, trait_gaussian
    from ..logistic.trait_gaussian import GaussianTraitModel

    mean_points, mean_weights = np.polynomial.hermite_e.hermegauss(trait_answers.MEAN_POINTS)
    points, weights = trait_gaussian.NODES
    return {
        "kind": "traits",
        "n_parts": model.n_components,
        **_linear(model, params),
        "bound": "gaussian" if isinstance(model, GaussianTraitModel) else "jaakkola",
        "rounds": trait_answers.MOST_ROUNDS,
        "tol": trait_answers.SETTLED,
        "points": points,
        "point_weights": weights,
        "mean_points": mean_points,
        "mean_weights": mean_weights / mean_weights.sum(),
    }


def _linear(model: Any, params: Any) -> Plain:
    """Loadings (K, D), zero at columns that do not vary, offset (D,), and the columns that do."""
    loadings = np.where(model.active, params.loadings, 0.0)
    return {"loadings": loadings, "offset": params.offset, "varying": np.flatnonzero(model.active)}


def _remembered(model: Any, params: Any) -> Plain:
    """The remembered training rows if cells are filled by a mean over them; keys as pairs of 32 bits, the higher first."""
    if not model.posterior:
        return {"fill_in": "best"}
    sample = params.latent
    keys = np.stack((sample.keys >> np.uint64(32), sample.keys & np.uint64(2**32 - 1)), axis=1).astype(np.float64)
    return {
        "fill_in": "posterior",
        "clip": model.clip,
        "sample_keys": keys,
        "sample_weights": sample.weights,
        "sample_values": sample.values,
    }


MAKERS: Mapping[str, Callable[[Any, Any], Plain]] = {
    "BernoulliMixture": _classes,
    "VariationalBernoulliMixture": _classes,
    "BayesianBernoulliMixture": _classes,
    "DPBernoulliMixture": _classes,
    "BinaryGTM": _map,
    "TreeMixture": _trees,
    "ChowLiuTree": _trees,
    "AspectBernoulli": _shares,
    "NoisyOrComponentAnalysis": _causes,
    "LogisticPCA": _scores,
    "LatentTrait": _traits,
}
