"""
Which kind of structure?
========================

A table drawn from a latent trait: every row has a place on two scales. Does the comparison find out, and how sure is it?
"""

import warnings

import latentbits
from latentbits import plots

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
X = latentbits.datasets.make_trait(500, 24, 2, random_state=0).data
found = latentbits.compare(X, ["mixture", "trait", "aspect", "gtm"], budget=15, n_jobs=2, random_state=0)
print(found.verdict)

# %%
# Loss of hidden cells (smaller is better), with standard errors of the differences to the best. Grey bars claim no hidden
# structure.

plots.comparison(found)

# %%
# Loss against size: does more of the same help, and had the search ended?

plots.capacity(found)

# %%
# Can the probabilities be taken at their word?

plots.calibration(found)

# %%
# All families together fill blanks at least as well as the best of them.

stack = found.stack()
print({name: round(weight, 2) for name, weight in stack.weights.items()}, round(stack.log_loss, 4))
