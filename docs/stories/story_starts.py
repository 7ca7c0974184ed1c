"""
Did the fit find the best place?
================================

Likelihoods of hidden structure have many local maxima. Every start is kept, so that you can see whether the best value was
found more than once.
"""

import warnings

import latentbits
from latentbits import plots

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
plants = latentbits.datasets.load_plants().frame
model = latentbits.BernoulliMixture(8, n_init=12, screen_starts=False, random_state=0).fit(plants)
print(model.summary())

# %%
# The path of every start.

plots.restarts(model)

# %%
# Starts that are seeded at rows far from each other.

seeded = latentbits.BernoulliMixture(8, n_init=12, init="k-means++", screen_starts=False, random_state=0).fit(plants)
plots.restarts(seeded)

# %%
# Where both ended, best first.

model.restarts_frame().sort_values("objective", ascending=False).head(4)

# %%
# What the classes are: the regions that stand out in the first two, against their share in all genera.

plots.components(model, top=12, component=0)

# %%

plots.components(model, top=12, component=1)
