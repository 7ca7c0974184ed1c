"""
The other half of a digit
=========================

The lower half of handwritten digits is hidden. Models that were fitted to other digits fill it in, with probabilities.
"""

# sphinx_gallery_thumbnail_number = 1

import warnings

import numpy as np
from sklearn.datasets import load_digits

import latentbits
from latentbits import metrics

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
digits = (load_digits().data > 7).astype(float)
train, test = digits[:1500], digits[1500:]
halves = test.copy()
halves[:, 32:] = np.nan

# %%
# One mixture, the mean of fifteen of its starts, and a Boltzmann machine.

models = {
    "mixture": latentbits.BernoulliMixture(60, n_init=1, random_state=0).fit(train),
    "15 starts averaged": latentbits.BernoulliMixture(
        60, n_init=15, average_restarts=True, screen_starts=False, random_state=0
    ).fit(train),
    "Boltzmann machine": latentbits.RestrictedBoltzmann(100, random_state=0).fit(train),
}
latentbits.plots.fill_ins(models, halves[:10], (8, 8), truth=test[:10])

# %%
# How good are they? Nats per hidden pixel (smaller is better), and the chance that ink is ranked above paper.

for name, model in models.items():
    chance = model.reconstruct(halves)[:, 32:]
    loss, auc = metrics.cell_log_loss(test[:, 32:], chance), metrics.fill_in_auc(test[:, 32:], chance)
    print(f"{name:20s} {loss:.3f} nats, AUC {auc:.3f}")
