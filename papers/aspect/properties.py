"""E7: properties that hold for any data, measured on random tables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from latentbits import AspectBernoulli, BernoulliMixture
from latentbits.aspect.model import AspectModel, AspectParams
from latentbits.data.source import open_source
from latentbits.engine.sweep import LocalSweep
from papers.common import Outcome, quietly
from tests.reference import aspect as twin

try:
    from nbmf_mm._solver import nbmf_mm_update_beta_dir
except ImportError:  # of the extra `bench`, which has it for some versions of Python only
    nbmf_mm_update_beta_dir = None


def step(X, shares, probs, block_rows=None):
    """One EM step by the engine's way."""
    d = X.shape[1]
    nothing, half = np.zeros(d), np.full(d, 0.5)
    model = AspectModel(
        len(probs), nothing, nothing, np.ones(d, bool), half, half, half, total_weight=float(X.shape[0])
    )
    source = open_source(X, block_rows=block_rows)
    precomputed = model.precompute(AspectParams(probs))
    rows = [(shares[a:b], None) for a, b in zip(source.starts[:-1], source.starts[1:])]
    stats, new = LocalSweep(source).map(model.e_step, rows, precomputed)
    stats = model.finalize_stats(precomputed, stats)
    return np.concatenate([r[0] for r in new]), model.m_step(AspectParams(probs), stats, None).probs


def problem(seed: int, unknown: float = 0.1):
    """A random table with memberships and probabilities that have nothing to do with it."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(20, 60)), int(rng.integers(5, 30)), int(rng.integers(2, 6))
    X = (rng.random((n, d)) < rng.uniform(0.1, 0.9, d)).astype(float)
    X[rng.random((n, d)) < unknown] = np.nan
    X[0], X[1] = 0.0, 1.0  # no column is constant, where the peer would divide zero by zero
    return X, rng.dirichlet(np.ones(k), n), rng.uniform(0.02, 0.98, (k, d)), rng


def worst(*pairs) -> float:
    """Largest absolute difference."""
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def properties(full: bool, folder: Path) -> Outcome:
    """E7 on 50 (reduced: 10) random problems."""
    n = 50 if full else 10
    forms, blocks, flips, masks, gaps, theorem, peers, falls = [], [], [], [], [], [], [], []
    for seed in range(n):
        X, shares, probs, rng = problem(seed)
        explicit = twin.em_step(X, shares, probs)
        dense, sparse = step(X, shares, probs), step(sp.csr_array(X), shares, probs)
        forms.append(max(worst(*zip(explicit, dense)), worst(*zip(explicit, sparse))))
        blocks.append(worst(*zip(dense, step(X, shares, probs, 7))))
        j = int(rng.integers(X.shape[1]))
        flipped, other = X.copy(), probs.copy()
        flipped[:, j], other[:, j] = 1 - X[:, j], 1 - probs[:, j]
        flips.append(worst((step(flipped, shares, other)[0], dense[0])))
        filled = np.ma.MaskedArray(np.where(np.isnan(X), 1.0, X), mask=np.isnan(X))
        masks.append(worst(*zip(dense, step(filled, shares, probs))))
        if nbmf_mm_update_beta_dir is not None:
            peers.append(_peer(X, shares, probs))
        falls.append(_largest_fall(X, seed))
        gaps.append(_gap(X, seed))
        theorem.append(_theorem(np.nan_to_num(X), seed))
    out = Outcome("aspect-properties", "E7: properties on random tables", f"{n} random problems with unknown cells")
    out.claim("explicit posterior = matrix = CSR form", "<= 1e-10", f"{max(forms):.1e}", max(forms) <= 1e-10)
    out.claim("sums of blocks = one block", "<= 1e-10", f"{max(blocks):.1e}", max(blocks) <= 1e-10)
    out.claim("complement of a column", "<= 1e-10", f"{max(flips):.1e}", max(flips) <= 1e-10)
    out.claim("what stands under the mask", "0", f"{max(masks):.1e}", max(masks) == 0)
    if peers:
        out.claim(
            "alternating step = nbmf-mm's, with and without mask", "<= 1e-12", f"{max(peers):.1e}", max(peers) <= 1e-12
        )
    else:
        print(
            "nbmf-mm (extra `bench`) is not installed: our alternating step is not compared with its", file=sys.stderr
        )
    out.claim("largest fall of the objective, relative", "<= 1e-9", f"{max(falls):.1e}", max(falls) <= 1e-9)
    excess = max(true - bound for true, bound in gaps)
    out.claim("true gap of the fold-in above its certificate", "<= 1e-8", f"{excess:.1e}", excess <= 1e-8)
    least = min(theorem)
    out.claim("AB from a mixture, log-likelihood above the mixture's", ">= 0", f"{least:.3g}", least >= -1e-6)
    out.numbers = {
        "forms": max(forms), "blocks": max(blocks), "peer": max(peers, default=np.nan), "fall": max(falls),
        "gap_excess": excess, "theorem_least_gain": least,
    }  # fmt: skip
    return out


def _peer(X, shares, probs) -> float:
    """Distance of our alternating step from that of the package nbmf-mm, with the mask and without unknown cells."""
    distance = 0.0
    for table, mask in ((X, (~np.isnan(X)).astype(float)), (np.nan_to_num(X), None)):
        theirs = nbmf_mm_update_beta_dir(np.nan_to_num(table), shares.T, probs, mask, 1.0, 1.0, eps=0.0)
        ours = step(table, shares, probs)[1]
        distance = max(distance, worst((theirs[1], ours), (theirs[0].T, step(table, shares, ours)[0])))
    return distance


def _largest_fall(X, seed: int) -> float:
    """Largest relative fall of the objective between two passes, with priors."""
    model = quietly(AspectBernoulli(3, n_init=1, max_iter=60, weight_concentration=1.2, random_state=seed), X)
    history = np.array(model.history_[0])
    return float(np.max((history[:-1] - history[1:]) / np.abs(history[1:]), initial=0.0))


def _gap(X, seed: int) -> tuple[float, float]:
    """True gap of a row's fold-in, stopped early, and its certificate."""
    model = quietly(AspectBernoulli(4, n_init=1, max_iter=40, random_state=seed, fold_tol=0.3), X)
    row = model.row_table(X[:1])[0]
    varying = model._model.active
    best = twin.fold_in(np.where(varying, X[0], np.nan), model.components_)[1]
    return best - row["log_likelihood"], row["gap"]


def _theorem(X, seed: int) -> float:
    """Log-likelihood of AB started at a mixture's classes, less the mixture's."""
    mixture = quietly(BernoulliMixture(3, smoothing=0.0, n_init=1, random_state=seed), X)
    shares = np.eye(3)[(mixture.predict_proba(X) / mixture.weights_).argmax(axis=1)]
    model = quietly(
        AspectBernoulli(3, smoothing=0.0, n_init=1, init=(shares, mixture.components_), max_iter=30, random_state=0), X
    )
    varying = model._model.active
    columns = X[:, ~varying]
    fixed = np.clip(model.components_[0, ~varying], 1e-12, 1 - 1e-12)
    constant = float((columns * np.log(fixed) + (1 - columns) * np.log1p(-fixed)).sum())
    return model.conditional_log_likelihood_ + constant - float(mixture.score_samples(X).sum())
