"""
Which symptoms were not written down?
=====================================

Fourteen yes/no symptoms of 520 patients. Some records are more complete than others. Aspect Bernoulli gives every
cell a cause of its own; a cause that is never on takes up the zeros that the other symptoms of the patient do not explain.
"""

import warnings

import latentbits

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
symptoms = latentbits.datasets.load_diabetes_symptoms()
X = symptoms.frame

# %%
# Three causes with content, and a phantom.

model = latentbits.AspectBernoulli(4, n_phantom=1, n_init=3, random_state=0).fit(X)
latentbits.plots.causes(model)

# %%
# For four patients: what they have, and what may be missing from the record.

latentbits.plots.expansion(model, X, [1, 3, 155, 260], top=4)

# %%
# How much of each record the phantom takes up.

model.row_frame(X).sort_values("loss", ascending=False).head()
