"""
Where do plants live together?
==============================

1,814 genera of plants and the 70 regions of North America in which they grow. Which kind of hidden structure is there: floras
(classes), mixtures of floras, overlapping ranges, or a smooth map? Let the cells decide.
"""

import warnings

import latentbits

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
plants = latentbits.datasets.load_plants()
X = plants.frame

# %%
# A tenth of the cells is hidden from every family; the one that predicts them best has the right idea of a row.  (All ten
# families are compared by default; four are enough for a story.)

found = latentbits.compare(X, ["mixture", "aspect", "noisy-or", "gtm"], folds=1, budget=20)
print(found.verdict)
found.plot()

# %%
# Can its probabilities be taken at their word?

latentbits.plots.calibration(found)

# %%
# The map of genera: neighbours grow in the same places; the words are the regions that stand out.

chart = latentbits.BinaryGTM((10, 10), max_iter=60, random_state=0).fit(X)
latentbits.plots.latent_map(chart, X)

# %%
# Two regions on the same map: where on it do genera of Alaska lie, where those of Florida?

latentbits.plots.component_planes(chart, ["ak", "fl"] if "ak" in X.columns else list(X.columns[:2]))
