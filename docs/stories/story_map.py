"""
A map of animals
================

:class:`~latentbits.BinaryGTM` puts rows that are alike near each other.  The zoo table has 101 animals and 15 yes/no traits;
the type of the animal is not shown to the model and only colours the picture.
"""

# %%
# Fit a small map.  ``latent_shape="auto"`` would choose the size by the number of rows.
import matplotlib.pyplot as plt

from latentbits import BinaryGTM, datasets, plots

zoo = datasets.load_zoo()
model = BinaryGTM(latent_shape=(8, 8), weight_concentration=2.0).fit(zoo.frame)
print(model.summary())

# %%
# Where the animals are.  The shading is the distance of neighbouring nodes, so dark lines are borders; the words stand out
# most in their part of the map.
plots.latent_map(model, zoo.frame, zoo.target, words=7)
plt.show()

# %%
# One trait at a time: where is it likely?
plots.component_planes(model, ["milk", "feathers", "aquatic", "airborne", "eggs", "toothed", "domestic", "venomous"])
plt.show()

# %%
# How sure is a place?  ``n_modes`` above one marks animals that could be in two places.
places = model.posterior_summary(zoo.frame)
doubtful = [f"{i} ({zoo.target[i]})" for i in (-places.entropy).argsort()[:5]]
print("least sure of their place: rows", ", ".join(doubtful))

# %%
# The types of the nodes make a classifier, and a place between the nodes has probabilities of its own.
types = model.class_map(zoo.frame, zoo.target)
print("types told by their nodes:", (types.predict(zoo.frame) == zoo.target).mean())
print(dict(zip(zoo.frame.columns, model.inverse_transform([[0.0, 0.0]])[0].round(2))))
