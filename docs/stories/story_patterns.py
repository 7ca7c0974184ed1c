"""
Patterns that overlap in images
===============================

Images of 8 × 8 pixels made of eight patterns, any of which may be on. Noisy-or components find the patterns; a cell with
several causes is split between them.
"""

import warnings

import latentbits
from latentbits import plots

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
made = latentbits.datasets.make_images(400, random_state=0)

# %%
# The sources that were found, as images.

model = latentbits.NoisyOrComponentAnalysis(8, n_init=2, random_state=0).fit(made.data)
plots.tiles(model, (8, 8))

# %%
# Each beside the pattern that it is most like: one dark square in every row and column.

plots.recovery(model.components_, made.links)

# %%
# Aspect Bernoulli gives every pixel a cause of its own. Here are four images, and how much of each pixel every cause takes.

aspect = latentbits.AspectBernoulli(8, n_init=2, random_state=0).fit(made.data)
plots.cause_pictures(aspect, made.data, [0, 1, 2, 3], (8, 8))
