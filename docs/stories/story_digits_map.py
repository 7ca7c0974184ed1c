"""
Handwritten digits on a map
===========================

1,797 digits of 8 × 8 pixels, ink or paper. Every node of the map has an image of its own, and neighbours are alike; which
digit is which is not shown to the model.
"""

import warnings

from sklearn.datasets import load_digits

import latentbits
from latentbits import plots

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
digits = load_digits()
X = (digits.data > 7).astype(float)
model = latentbits.BinaryGTM((14, 14), weight_concentration=2.0, max_iter=80, random_state=0).fit(X)
print(model.summary())

# %%
# What the nodes look like.

plots.node_images(model, (8, 8))

# %%
# Where the digits are.

plots.latent_map(model, X, digits.target)

# %%
# The map as a classifier: the digit of a new image is that of its place.

held = latentbits.BinaryGTM((14, 14), weight_concentration=2.0, max_iter=80, random_state=0).fit(X[:1400])
labels = held.class_map(X[:1400], digits.target[:1400])
print(
    "digits that were not fitted, told by their place:",
    round((labels.predict(X[1400:]) == digits.target[1400:]).mean(), 3),
)
