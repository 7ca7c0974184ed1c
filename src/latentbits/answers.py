"""What estimators answer with when an array is not enough; the same for every family."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .data.block import UNKNOWN, Codes, Float
from .errors import need


@dataclass(frozen=True)
class Explanation:
    """Which component explains each cell.

    Attributes
    ----------
    row, column : (m,) int
        The cells.
    value : (m,) uint8
        0, 1, or 2 for unknown.
    feature_names, component_names : sequence of str or None
        What columns and components are called.
    share : (m, K)
        Probability that component k produced the cell.
    evidence : (m, K)
        What the cell adds to the log odds of component k for its row.
    probability : (m,)
        P(cell = 1 | the other cells of the row).
    missing : (m,) or None
        For families that have the notion, the probability that a zero is a one that was lost; NaN for other cells.
    leak : (m,) or None
        For families with causes outside the components, their share; with it the shares of a cell sum to one.
    partner : (m,) int or None
        For families in which columns depend on each other, the column that argues most for the value that the cell has
        (for an unknown cell: for the more probable one); -1 where none does.
    partner_evidence : (m,) or None
        How much it does: log P(value | that column, class of the row) - log P(value | class).
    """

    row: np.ndarray
    column: np.ndarray
    value: Codes
    feature_names: Any
    component_names: list[str]
    share: Float
    evidence: Float
    probability: Float
    missing: Float | None = None
    leak: Float | None = None
    partner: np.ndarray | None = None
    partner_evidence: Float | None = None

    @property
    def surprise(self) -> Float:
        """Negative log probability of the observed value given the rest of the row, NaN for unknown cells."""
        observed = np.where(self.value == 1, self.probability, 1.0 - self.probability)
        with np.errstate(divide="ignore"):
            return np.where(self.value == UNKNOWN, np.nan, -np.log(observed))

    def take(self, which: np.ndarray) -> Explanation:
        """The explanation of some of the cells."""
        by_cell = [field.name for field in fields(self) if field.name not in ("feature_names", "component_names")]
        return replace(
            self, **{name: getattr(self, name)[which] for name in by_cell if getattr(self, name) is not None}
        )

    def called(self, column: int) -> Any:
        """What a column is called; None for none."""
        if column < 0:
            return None
        return column if self.feature_names is None else str(self.feature_names[column])

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per cell."""
        surprise = self.surprise
        out = []
        for i in range(len(self.row)):
            record: dict[str, Any] = {
                "row": int(self.row[i]),
                "column": self.called(int(self.column[i])),
                "value": None if self.value[i] == UNKNOWN else int(self.value[i]),
                "probability": float(self.probability[i]),
                "surprise": float(surprise[i]),
            }
            if self.missing is not None:
                record["missing"] = float(self.missing[i])
            if self.leak is not None:
                record["leak"] = float(self.leak[i])
            if self.partner is not None and self.partner_evidence is not None:
                record["partner"] = self.called(int(self.partner[i]))
                record["partner_evidence"] = float(self.partner_evidence[i])
            for k, name in enumerate(self.component_names):
                record[f"share_{name}"] = float(self.share[i, k])
            for k, name in enumerate(self.component_names):
                record[f"evidence_{name}"] = float(self.evidence[i, k])
            out.append(record)
        return out

    def to_frame(self) -> Any:
        """A pandas frame with one row per cell."""
        try:
            import pandas as pd
        except ImportError:
            raise need("pandas", "pandas", "An explanation as a frame") from None
        return pd.DataFrame(self.to_records())
