"""
A survey whose answers exclude each other
=========================================

Eight questions with one of four answers each, every answer a column of its own. Columns of one question depend on each other
whatever kind of person answers, which a mixture of plain classes can only say with many classes.
"""

# sphinx_gallery_thumbnail_number = 2

import warnings

import pandas as pd

import latentbits
from latentbits.datasets import make_choices

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
made = make_choices(1000, n_questions=8, n_choices=4, n_components=3, unknown=0.05, random_state=0)
survey = pd.DataFrame(made.data, columns=[f"q{1 + j // 4}={'abcd'[j % 4]}" for j in range(32)])
survey.head(3)

# %%
# Plain classes, and classes in which columns go in pairs, asked for hidden cells.

plain = latentbits.select(latentbits.BernoulliMixture(n_init=2, random_state=0), survey, (1, 2, 3, 4, 6, 8), "cells")
pairs = latentbits.select(latentbits.TreeMixture(n_init=2, random_state=0), survey, (1, 2, 3, 4), "cells")
ax = latentbits.plots.selection(plain)
latentbits.plots.selection(pairs, ax=ax)

# %%
# Three kinds of people, each with a tree of columns. Edges join answers of one question.

model = latentbits.TreeMixture(3, n_init=3, tol=1e-5, random_state=0).fit(survey)
latentbits.plots.tree(model, component=0, least=0.05)

# %%
# Are the people found? The table says how many of each true kind are in each class.

pd.crosstab(pd.Series(made.causes, name="truth"), pd.Series(model.predict(survey), name="class") + 1)

# %%
# Why is a cell as it is? ``partner`` is the column that argues most for it.

why = model.explain(survey, cells=([0, 1, 2], ["q2=a", "q2=a", "q5=b"])).to_frame()
why[["row", "column", "value", "probability", "partner", "partner_evidence"]].round(2)
