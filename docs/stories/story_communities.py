"""
Who is cited together?
======================

Documents that cite authors: every community of authors is a hidden source, and a document may draw on several. The table
here is simulated, so that we know what there is to find.
"""

# sphinx_gallery_thumbnail_number = 3

# %%
# Four communities of six authors, two of whom belong to two; documents draw on each community with probability 0.15.
import numpy as np
import pandas as pd

from latentbits import NoisyOrComponentAnalysis, plots, select

rng = np.random.default_rng(0)
authors = [f"{field} {letter}" for field in ("parsing", "speech", "vision", "robots") for letter in "ABCDEF"]
links = np.kron(np.eye(4), np.linspace(0.7, 0.2, 6))
links[1, 0] = links[2, 23] = 0.4  # parsing A is cited for speech, robots F for vision
on = rng.random((1500, 4)) < 0.15
cited = rng.random((1500, 24)) > np.exp(np.log1p(-0.01) + on @ np.log1p(-links))
documents = pd.DataFrame(cited.astype(int), columns=authors)

# %%
# How many communities? BIC with the bound in place of the likelihood.
chosen = select(NoisyOrComponentAnalysis(n_init=2, random_state=0), documents, range(2, 7))
plots.selection(chosen)

# %%
# Sources × authors, scaled by how often a source is on. Authors of two communities show in two rows.
model = chosen.estimator_
plots.loadings(model)

# %%
# The members of every community; the heading says whether the data support the source.
plots.communities(model)

# %%
# Which pairs does the model miss? With the right number of communities none stands out (by more than four standard errors).
model.pair_frame(documents, top=5)

# %%
# Why does one document cite whom it cites? Shares of the sources and of the leak for every one.
row = int(np.flatnonzero(on.sum(axis=1) == 2)[0])
ones = np.flatnonzero(documents.iloc[row])
frame = model.explain(documents, cells=(np.full(len(ones), row), ones)).to_frame()
frame[["column", "probability", "leak", *[c for c in frame if c.startswith("share")]]].round(2)
