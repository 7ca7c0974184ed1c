"""
Voting blocs in the U.S. House, 1984
====================================

Sixteen votes of 435 members, with real abstentions. Which blocs are there, and how would the abstainers have voted?
"""

# sphinx_gallery_thumbnail_number = 2

import warnings

import latentbits

warnings.simplefilter("ignore", latentbits.errors.TableWarning)  # one member abstained throughout
votes = latentbits.datasets.load_votes()
X = votes.frame

# %%
# Choose the number of classes by votes hidden from the model.

chosen = latentbits.select(latentbits.BernoulliMixture(random_state=0), X, range(1, 7), "cells", folds=2)
chosen.plot()

# %%
# Three classes are easy to read. The numbers beside the points are expected counts.

model = latentbits.BernoulliMixture(3, random_state=0).fit(X)
latentbits.plots.profile(model, X)

# %%
# The votes that surprise most, given the rest of the member's record.

explanation = model.explain(X)
explanation.to_frame().sort_values("surprise", ascending=False).head(8)

# %%
# Why, cell by cell: the first twelve members; what argues for each of their votes, and what was surprising.

latentbits.plots.explanation(model, X, rows=list(range(12)))
