"""
Fill blanks before a classifier, and say how sure the result is
================================================================

Heart scans with 22 yes/no findings, a third of which we lose. The blanks are filled by all families together, inside a
scikit-learn pipeline; and several completed tables tell how much the blanks cost.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import latentbits

warnings.simplefilter("ignore", latentbits.errors.LatentBitsWarning)
scans = latentbits.datasets.load_spect_heart()
X, y = scans.data.astype(float), scans.target
rng = np.random.default_rng(0)
X[rng.random(X.shape) < 0.3] = np.nan

# %%
# A classifier behind each of two imputers.

ours = latentbits.Imputer(["mixture", "trait"], time_limit=1, random_state=0)
for name, imputer in {"most frequent": SimpleImputer(strategy="most_frequent"), "latentbits": ours}.items():
    pipeline = make_pipeline(imputer, LogisticRegression(max_iter=500))
    print(f"{name:15s} AUC {cross_val_score(pipeline, X, y, cv=4, scoring='roc_auc').mean():.3f}")

# %%
# Five completed tables, a coefficient from each, pooled by Rubin's rules: the bars hold what the blanks cost.

several = latentbits.Imputer(["mixture", "trait"], time_limit=2, n_imputations=5, random_state=0).fit(X)
coefficients = np.array(
    [LogisticRegression(max_iter=500).fit(table, y).coef_[0] for table in several.transform_multiple(X)]
)
mean, between = coefficients.mean(axis=0), coefficients.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 5)
order = np.argsort(-np.abs(mean))[:12]
fig, ax = plt.subplots()
ax.errorbar(mean[order], range(12), xerr=2 * between[order], fmt="o")
ax.axvline(0, color="0.7", lw=1)
ax.set_yticks(range(12), [scans.feature_names[j] for j in order])
ax.invert_yaxis()
ax.set(xlabel="coefficient, with the uncertainty of the blanks", title="Findings that speak for a heart disease")
