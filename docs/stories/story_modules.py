"""
Many small causes at once
=========================

Twenty columns in four groups, each with an on/off cause of its own. As classes of rows that would be sixteen; a hidden tree
finds four groups of columns.
"""

import numpy as np
import pandas as pd

import latentbits

rng = np.random.default_rng(0)
causes = rng.random((1500, 4)) < 0.5
cells = np.repeat(causes, 5, axis=1) ^ (rng.random((1500, 20)) < 0.1)
names = [f"{group} {j + 1}" for group in ("sleep", "food", "work", "sport") for j in range(5)]
order = rng.permutation(20)  # nobody says which columns belong together
table = pd.DataFrame(cells[:, order].astype(float), columns=[names[j] for j in order])

# %%
# The tree of the columns, cut at its weakest edges.

model = latentbits.HiddenTree(2, n_init=1, random_state=0).fit(table)
latentbits.plots.modules(model, n_modules=4)

# %%
# The local cause of one column, for all rows, beside the truth.

state = model.states(table, "work 2").argmax(axis=1)
pd.crosstab(pd.Series(causes[:, 2], name="the cause of work"), pd.Series(state, name="state of 'work 2'"))

# %%
# A mixture needs many classes for it: loss of hidden cells by the number of classes, and of the hidden tree.

found = latentbits.compare(table, ["mixture", "hidden-tree"], folds=1, budget=8, rows=0)
latentbits.plots.capacity(found)
