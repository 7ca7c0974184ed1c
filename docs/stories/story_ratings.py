"""
Ratings with their uncertainty
==============================

People rate films from one to five stars. Two may have the same expected rating, and one of them be a safe bet and the other a
film that people love or hate. The table is simulated: two tastes, and some films that divide.
"""

import numpy as np

import latentbits
from latentbits import plots

rng = np.random.default_rng(0)
n_users, n_films = 300, 24
taste = rng.integers(0, 2, n_users)
means = np.where(
    np.arange(n_films) % 3 == 0, 3.6, np.where((np.arange(n_films) % 3 == 1)[None] == taste[:, None], 4.3, 2.2)
)
spread = np.where(np.arange(n_films) % 6 == 0, 1.4, 0.5)  # films that divide
rated = rng.random((n_users, n_films)) < 0.4
users, films = np.nonzero(rated)
stars = np.clip(np.round(means[users, films] + spread[films] * rng.standard_normal(len(users))), 1, 5)
print(f"{len(stars):,} ratings")

# %%
# One user, and what the model expects of six films: not a number, a distribution.

model = latentbits.BernoulliGaussRecommender(4, random_state=0).fit((users, films, stars))
plots.rating_distributions(model, 0, [0, 1, 2, 3, 4, 6])

# %%
# Recommendations by the expected rating, and by its lower end: the second leaves out films that divide.

model.recommend_frame(0, n=4, by="mean").round(2)

# %%

model.recommend_frame(0, n=4, by="lower").round(2)

# %%
# How good is it for people who were not fitted? One rating of each is hidden.

print(model.evaluate_all_but_one((users, films, stars)))
