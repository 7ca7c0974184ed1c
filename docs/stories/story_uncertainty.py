"""
How many blocs, and who is sure to belong where?
================================================

A Dirichlet process mixture of the U.S. House votes of 1984: the number of voting blocs is part of the answer, and so is
the doubt.
"""

import warnings

import numpy as np
from sklearn.datasets import load_digits

import latentbits

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
votes = latentbits.datasets.load_votes()
model = latentbits.DPBernoulliMixture(n_chains=4, n_warmup=500, n_draws=400, thin=2, split_merge=10, random_state=0)
print(model.fit(votes.frame).summary())

# %%
# Four chains, and whether they tell the same.

latentbits.plots.traces(model)

# %%
# How often two representatives are in one bloc, over all draws. Sharp squares are blocs that every draw agrees on.

latentbits.plots.coclustering(model)

# %%
# What a bloc votes for, with 90 % intervals.

lower, upper = model.credible_intervals(0.9)
frame = model.profile_frame().query("component == 'class 1'")
frame.assign(low=lower[0], high=upper[0])[["feature", "probability", "low", "high"]]

# %%
# Handwritten digits whose lower half is hidden, filled by one EM run, by fifteen averaged ones, and by twelve averaged
# chains. Averaging is most of the gain; on digits the chains do not mix, and the summary says so.

digits = load_digits()
threes = (digits.data[digits.target == 3] > 7).astype(float)
train, test = threes[:-6], threes[-6:]
half = test.copy()
half[:, 32:] = np.nan
shown = {
    "EM": latentbits.BernoulliMixture(20, n_init=1, init="k-means++", random_state=0),
    "15 EM": latentbits.BernoulliMixture(20, n_init=15, init="k-means++", average_restarts=True, random_state=0),
    "12 chains": latentbits.BayesianBernoulliMixture(
        20, weight_concentration=20, n_chains=12, n_warmup=100, n_draws=1, random_state=0
    ),
}
latentbits.plots.fill_ins({name: estimator.fit(train) for name, estimator in shown.items()}, half, (8, 8), truth=test)
