"""All public estimators with little to do, and small tables that they take."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

import latentbits
from latentbits.errors import LatentBitsWarning

QUICK = {
    "random_state": 0,
    "n_init": 1,
    "max_iter": 3,
    "n_chains": 1,
    "n_warmup": 2,
    "n_draws": 3,
    "n_epochs": 2,
    "n_sweeps": 5,
    "n_components": 2,
}
N_ROWS, N_COLUMNS = 12, 5
BITS = (np.random.default_rng(1).random((N_ROWS, N_COLUMNS)) < 0.4).astype(float)
BITS[:5] = np.eye(5)  # no column is constant
COUNTS = np.random.default_rng(2).integers(0, 4, (N_ROWS, N_COLUMNS)).astype(float)
COUNTS[:, 0] += 1
RATINGS = np.random.default_rng(3).integers(1, 6, (N_ROWS, N_COLUMNS)).astype(float)
CLASSES = np.array(["a", "b"])[np.arange(N_ROWS) % 2]


class Subject(NamedTuple):
    """An estimator: its class, what its cells are ("bits", "numbers" or "ratings"), and a table that it takes."""

    name: str
    kind: type
    cells: str
    table: np.ndarray

    def make(self, **options):
        """A new estimator."""
        known = self.kind().get_params(deep=False)
        if self.name == "BernoulliGaussSelector":
            topics = latentbits.BernoulliGaussMixture(2, n_keywords=2, n_init=1, max_iter=3, random_state=0)
            return self.kind(**{"estimator": topics, "min_topic_rows": 1.0, "threshold": 0.0, **options})
        size = {"shape": (3, 3)} if "shape" in known else {}
        return self.kind(**{**{name: value for name, value in QUICK.items() if name in known}, **size, **options})

    def fitted(self):
        """An estimator that has seen its table."""
        classes = (CLASSES,) if self.name.endswith("Classifier") else ()
        return self.make().fit(self.table, *classes)


def _subjects() -> list[Subject]:
    """One for each public class."""
    found = []
    for name in latentbits.__all__:
        kind = getattr(latentbits, name)
        if not (isinstance(kind, type) and hasattr(kind, "fit")):
            continue
        if name in ("GaussianPLSA", "BernoulliGaussRecommender"):
            found.append(Subject(name, kind, "ratings", RATINGS))
        elif name == "Imputer" or "binarize" in kind().get_params():
            found.append(Subject(name, kind, "bits", BITS))
        else:
            found.append(Subject(name, kind, "numbers", COUNTS))
    return found


SUBJECTS = _subjects()
FITTED: dict[str, object] = {}


def warm() -> None:
    """Fit everything once, so that children find their kernels in memory, and fitted models to ask."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LatentBitsWarning)
        for subject in SUBJECTS:
            FITTED[subject.name] = subject.fitted()


def strict():
    """Warnings are errors but for ours, which are answers."""
    catching = warnings.catch_warnings()
    catching.__enter__()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", LatentBitsWarning)
