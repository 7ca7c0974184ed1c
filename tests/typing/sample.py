"""A program of a user, as type checkers see it: what the public names are and what calls give."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import latentbits
from latentbits import BernoulliMixture, BinaryGTM, Imputer, compare, load, select
from latentbits.answers import Explanation
from latentbits.evaluation import Comparison, Selection

X = np.array([[1, 1, 0, 0], [1, 1, 0, np.nan], [0, 0, 1, 1], [0, np.nan, 1, 1]])

model = BernoulliMixture(n_components=2, smoothing=0.5, random_state=0)
assert_type(model.fit(X), BernoulliMixture)
assert_type(model.score(X), float)
assert_type(model.summary(), str)
assert_type(model.explain(X), Explanation)
model.save("model.latentbits")
again = load("model.latentbits")

themap = BinaryGTM(latent_shape=(4, 4)).fit(X)
places = themap.transform(X)

filled = Imputer(time_limit=5.0).fit_transform(X)

chosen = select(model, X, range(1, 4), criterion="bic")
assert_type(chosen, Selection)
found = compare(X, models=["mixture", "tree"], budget=5.0)
assert_type(found, Comparison)
assert_type(found.headline, str)
assert_type(latentbits.__version__, str)
