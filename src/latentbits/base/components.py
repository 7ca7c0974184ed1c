"""Components and the fit in words and frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import frame_of
from .shell import Shell


class ComponentsMixin(Shell):
    """The part of the shell that shows what was found."""

    objective_: float
    n_reached_: int

    def components_table(self, top: int = 10) -> list[dict[str, Any]]:
        """The components as rows of a table: the ``top`` features of each that stand out most from the marginals.

        Parameters
        ----------
        top : int
            Features per component.

        Returns
        -------
        list of dict
            With component, weight, rank, feature, probability, marginal and lift.
        """
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        names = np.arange(self.n_features_in_) if names is None else names
        out = []
        for k, probabilities in enumerate(self.components_):
            for rank, j in enumerate(np.argsort(-self._standing(probabilities), kind="stable")[:top]):
                out.append(
                    {
                        "component": k,
                        "weight": float(self.weights_[k]) if hasattr(self, "weights_") else np.nan,
                        "rank": rank + 1,
                        "feature": names[j] if isinstance(names[j], str) else int(names[j]),
                        "probability": float(probabilities[j]),
                        "marginal": float(self.marginals_[j]),
                        "lift": float(probabilities[j] / self.marginals_[j]),
                    }
                )
        return out

    def _standing(self, probabilities: Any) -> Any:
        """How much every feature of a component stands out from the marginals."""
        return probabilities * np.log(np.maximum(probabilities, 1e-300) / self.marginals_)

    def components_frame(self, top: int = 10) -> Any:
        """The components as readable feature lists with probabilities, as a pandas frame.

        Parameters
        ----------
        top : int
            Features per component.

        Returns
        -------
        pandas.DataFrame
        """
        return frame_of(self.components_table(top))

    def restarts_frame(self) -> Any:
        """How every start ended, as a pandas frame."""
        self._check_fitted()
        return frame_of(getattr(self, "restarts_", []))

    def summary(self) -> str:
        """A few lines on the fit: value, starts, convergence.

        Returns
        -------
        str
        """
        self._check_fitted()
        lines = [f"{self._name} with {self._size} components on {self.n_features_in_} features"]
        if getattr(self, "restarts_", None):
            n = len(self.restarts_)
            lines.append(f"objective {self.objective_:.4f}, best value reached in {self.n_reached_} of {n} starts")
        state = "settled" if self.converged_ else "not settled"
        lines.append(f"{state} after {self.n_iter_} passes; {self.n_free_} free parameters")
        return "\n".join(lines)

    @property
    def n_free_(self) -> int:
        """Number of free parameters."""
        self._check_fitted()
        return int(self._model.n_free(self._params))
