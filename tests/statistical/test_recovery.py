"""Simulate and recover, with bands from repeated simulation.  Slow; ``make test-slow``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import latentbits
from latentbits import BernoulliMixture
from latentbits.datasets import make_mixture
from latentbits.errors import LatentBitsWarning

pytestmark = pytest.mark.slow


def matched(found, truth):
    """Order of the found classes that fits the true ones best."""
    cost = np.abs(found[:, None] - truth[None]).mean(axis=2)
    rows, columns = linear_sum_assignment(cost)
    return rows[np.argsort(columns)]


@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_parameters_are_recovered(unknown):
    """Error of the probabilities within twice the binomial standard error, in 20 simulations."""
    ratios = []
    for seed in range(20):
        made = make_mixture(3000, 20, 4, spread=2.5, unknown=unknown, random_state=seed)
        # Seeds at rows: with blanks, five random starts all miss the best value in one of the twenty tables.
        model = BernoulliMixture(4, smoothing=0.5, init="k-means++", random_state=0).fit(made.data)
        order = matched(model.components_, made.probs)
        rows = made.weights[:, None] * 3000 * (1 - unknown)
        error = model.components_[order] - made.probs
        ratios.append(np.sqrt(np.mean(error**2 / (made.probs * (1 - made.probs) / rows + 1e-5))))
    assert np.mean(ratios) < 1.3 and np.max(ratios) < 2.0, ratios


def test_filled_cells_are_calibrated():
    """Among hidden cells given probability p, about p are ones."""
    made = make_mixture(20000, 15, 3, spread=2.0, unknown=0.2, random_state=0)
    rng = np.random.default_rng(0)
    whole = (rng.random((20000, 15)) < made.probs[made.causes]).astype(float)
    hidden = rng.random(whole.shape) < 0.2
    model = BernoulliMixture(3, random_state=0).fit(np.where(hidden, np.nan, whole))
    predicted = model.reconstruct(np.where(hidden, np.nan, whole))[hidden]
    truth = whole[hidden]
    edges = np.quantile(predicted, np.linspace(0, 1, 11))
    bins = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, 9)
    gaps = [abs(predicted[bins == b].mean() - truth[bins == b].mean()) for b in range(10)]
    assert max(gaps) < 0.02, gaps


def test_bic_finds_the_number_of_classes():
    hits = 0
    for seed in range(10):
        made = make_mixture(1500, 16, 3, spread=2.0, random_state=seed)
        hits += latentbits.select(BernoulliMixture(random_state=0), made.data, range(1, 6)).best_ == 3
    assert hits >= 9


def test_bootstrap_test_keeps_its_level():
    """Under the null the p-values are about uniform: few below 0.1 in 30 tables."""
    low = 0
    for seed in range(30):
        made = make_mixture(200, 8, 1, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            test = latentbits.bootstrap_lrt(BernoulliMixture(random_state=0), made.data, 2, n_bootstrap=19)
        low += test.p_value <= 0.1
    assert low <= 8  # binomial(30, 0.1): more than 8 has probability 0.2 %


def test_aspect_probabilities_and_losses_are_recovered():
    """Cause probabilities near the truth, cell probabilities nearer than a mixture's, loss levels told; ten simulations."""
    errors, cells, levels = [], [], []
    for seed in range(10):
        made = latentbits.datasets.make_aspect(1500, 40, 3, concentration=0.2, loss=0.0, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LatentBitsWarning)
            model = latentbits.AspectBernoulli(3, n_init=5, tol=1e-6, random_state=0).fit(made.data)
            mixture = BernoulliMixture(3, init="k-means++", random_state=0).fit(made.data)
            lossy = latentbits.datasets.make_aspect(1500, 40, 3, concentration=0.2, loss=0.6, random_state=seed)
            phantom = latentbits.AspectBernoulli(4, n_phantom=1, n_init=3, tol=1e-6, random_state=0).fit(lossy.data)
        order = matched(model.components_, made.probs)
        errors.append(np.abs(model.components_[order] - made.probs).mean())
        true = made.memberships @ made.probs
        ours, theirs = (np.sqrt(((m.reconstruct(made.data) - true) ** 2).mean()) for m in (model, mixture))
        cells.append(ours / theirs)
        levels.append(np.corrcoef(phantom.loss_level(lossy.data), lossy.levels)[0, 1])
    assert np.mean(errors) < 0.05 and np.max(errors) < 0.08, errors
    assert np.mean(cells) < 0.95 and np.max(cells) < 1.05, cells
    assert np.mean(levels) > 0.75 and np.min(levels) > 0.6, levels


def test_noisy_or_patterns_from_few_images():
    """Eight patterns of the images from 200 rows with a tenth of the cells unknown, in at least nine of ten tables."""
    from latentbits import NoisyOrComponentAnalysis
    from latentbits.datasets import make_images
    from latentbits.metrics import weighted_cosine_matching

    whole = 0
    for seed in range(10):
        made = make_images(200, unknown=0.1, random_state=seed)
        model = NoisyOrComponentAnalysis(8, random_state=seed).fit(made.data)
        pairs = weighted_cosine_matching(model.components_, made.links)["pairs"]
        whole += all(cosine >= 0.9 for _, _, cosine in pairs)
    assert whole >= 9


def test_noisy_or_streams_find_the_patterns():
    """One pass over 5000 images in batches of 250 finds at least seven of the eight patterns (seen: 8 8 8 8 7 8)."""
    from latentbits import NoisyOrComponentAnalysis
    from latentbits.datasets import make_images
    from latentbits.metrics import weighted_cosine_matching

    found = []
    for seed in range(4):
        made = make_images(5000, random_state=seed)
        model = NoisyOrComponentAnalysis(8, random_state=seed)
        for part in np.array_split(made.data, 20):
            model.partial_fit(part)
        pairs = weighted_cosine_matching(model.components_, made.links)["pairs"]
        found.append(sum(cosine >= 0.9 for _, _, cosine in pairs))
    assert min(found) >= 7 and np.mean(found) >= 7.5, found


def test_noisy_or_fills_hidden_cells():
    """A fifth of the cells hidden: log-loss near that of the true model, far below column means."""
    from latentbits import NoisyOrComponentAnalysis
    from latentbits.datasets import make_images
    from latentbits.metrics import cell_log_loss

    made = make_images(2000, random_state=0)
    hidden = np.random.default_rng(0).random(made.data.shape) < 0.2
    X = np.where(hidden, np.nan, made.data)
    model = NoisyOrComponentAnalysis(8, random_state=0).fit(X)
    loss = cell_log_loss(made.data[hidden], model.reconstruct(X)[hidden])
    mean = cell_log_loss(made.data[hidden], np.broadcast_to(np.nanmean(X, axis=0), X.shape)[hidden])
    assert loss < 0.30 and mean > 0.55
