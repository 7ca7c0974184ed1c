"""Components that are loadings, read as tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import LatentBitsEstimator
from ..base.options import Whole


class LoadingsTable(LatentBitsEstimator):
    """Goes before :class:`~latentbits.base.LatentBitsEstimator` in families whose components are loadings."""

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The components as rows of a table: the ``top`` features of each with the largest loadings, of either sign.

        As in every family, with weight (its part in the squared loadings) and loading.

        Parameters
        ----------
        top : int
            Columns per scale.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> from latentbits import LatentTrait, datasets
        >>> X = datasets.load_zoo().frame
        >>> LatentTrait(1, n_init=1, random_state=0).fit(X).components_table(top=1)[0]["component"]
        'scale 1'
        """
        self._check_fitted()
        self._check("top", top, Whole(0))
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        sizes = (self.components_**2).sum(axis=1)
        called, out = self.component_names_, []
        for k, loadings in enumerate(self.components_):
            for rank, j in enumerate(np.argsort(-np.abs(loadings), kind="stable")[:top]):
                out.append(
                    {
                        "component": called[k],
                        "weight": float(sizes[k] / max(sizes.sum(), 1e-300)),
                        "rank": rank + 1,
                        "feature": names[j] if isinstance(names[j], str) else int(names[j]),
                        "loading": float(loadings[j]),
                        "marginal": float(self.marginals_[j]),
                    }
                )
        return out
