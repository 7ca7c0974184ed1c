"""
One ability behind twenty tasks
===============================

400 people, twenty tasks, each solved or not. Is there one ability, or are there kinds of people? The table is simulated, so
that we know the answer.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import latentbits

made = latentbits.datasets.make_trait(400, 20, 1, random_state=1)
solved = np.where(made.loadings[0] < 0, 1 - made.data, made.data)
tasks = pd.DataFrame(solved, columns=[f"task {j + 1}" for j in range(20)])

# %%
# How many scales? A tenth of the cells is hidden, and predicted from the others.

chosen = latentbits.select(latentbits.LatentTrait(random_state=0), tasks, range(1, 4), "cells")
latentbits.plots.selection(chosen)

# %%
# The tasks that go most with the scale. A task with a small loading says little about the ability.

model = latentbits.LatentTrait(1, random_state=0).fit(tasks)
latentbits.plots.components(model, top=12)

# %%
# How probable every task is along the scale: steep curves tell people apart, and where a curve crosses one half a task is
# neither easy nor hard.

places = np.linspace(-3, 3, 61)[:, None]
curves = model.inverse_transform(places)
order = np.argsort(-np.abs(model.components_[0]))
fig, ax = plt.subplots()
for j in order[:6]:
    ax.plot(places[:, 0], curves[:, j], label=tasks.columns[j])
ax.plot(places[:, 0], curves[:, order[-1]], "--", color="0.6", label=f"{tasks.columns[order[-1]]} (flattest)")
ax.set(xlabel="ability (scale 1)", ylabel="probability that it is solved", title="Tasks along the scale")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# The scores of people beside the truth, and beside the number of tasks that they solved.

scores = model.transform(tasks)[:, 0]
truth = pd.Series(made.scores[:, 0])
pd.DataFrame({"score": scores, "tasks solved": tasks.sum(axis=1)}).corrwith(truth).round(3).to_frame(
    "with the true ability"
)
