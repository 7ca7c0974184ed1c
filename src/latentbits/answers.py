"""What estimators answer with when an array is not enough; the same for every family."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .data.block import UNKNOWN, Codes, Float
from .errors import need
from .html import COLOURS, Html, bar, box, legend, opposed_bar, stacked_bar, table

MOST_SHOWN = 10  # cells in a notebook
NOT_BY_CELL = ("feature_names", "component_names", "kind")


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
    kind : str
        How components are read (:data:`latentbits.families.KINDS`): of scales the evidence is what they add to the log odds
        of a one, and the share its part in the size of all of that.

    Examples
    --------
    >>> from latentbits import BernoulliMixture, datasets
    >>> X = datasets.load_zoo().frame
    >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
    >>> explanation = model.explain(X, cells=([0, 1], ["milk", "fins"]))
    >>> explanation.probability.round(2), explanation.share.shape
    (array([0.99, 0.1 ]), (2, 3))
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
    kind: str = ""

    @property
    def surprise(self) -> Float:
        """Negative log probability of the observed value given the rest of the row, NaN for unknown cells.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.explain(X, cells=([0], ["milk"])).surprise.round(3)
        array([0.014])
        """
        observed = np.where(self.value == 1, self.probability, 1.0 - self.probability)
        with np.errstate(divide="ignore"):
            return np.where(self.value == UNKNOWN, np.nan, -np.log(observed))

    def take(self, which: np.ndarray) -> Explanation:
        """The explanation of some of the cells.

        Parameters
        ----------
        which : array of int or bool
            Which entries to keep.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> len(model.explain(X[:2]).take([0, 1, 2]).row)
        3
        """
        by_cell = [field.name for field in fields(self) if field.name not in NOT_BY_CELL]
        return replace(
            self, **{name: getattr(self, name)[which] for name in by_cell if getattr(self, name) is not None}
        )

    def called(self, column: int) -> Any:
        """What a column is called; None for none.

        Parameters
        ----------
        column : int
            Its number.

        Returns
        -------
        str

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.explain(X, cells=([0], ["milk"])).called(3)
        'milk'
        """
        if column < 0:
            return None
        return column if self.feature_names is None else str(self.feature_names[column])

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per cell.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.explain(X, cells=([0], ["milk"])).to_records()[0]["column"]
        'milk'
        """
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
        """A pandas frame with one row per cell.

        Examples
        --------
        >>> from latentbits import BernoulliMixture, datasets
        >>> X = datasets.load_zoo().frame
        >>> model = BernoulliMixture(3, n_init=1, random_state=0).fit(X)
        >>> model.explain(X, cells=([0], ["milk"])).to_frame()[["row", "column", "value"]]
           row column  value
        0    0   milk      1
        """
        try:
            import pandas as pd
        except ImportError:
            raise need("pandas", "pandas", "An explanation as a frame") from None
        return pd.DataFrame(self.to_records())

    def _repr_html_(self) -> str:
        """The most surprising cells with their causes, for notebooks; unknown ones only where there are no others."""
        known, n_all = int((self.value != UNKNOWN).sum()), len(self.row)
        surprise = np.where(self.value == UNKNOWN, -1.0, self.surprise)
        n_shown = min(MOST_SHOWN, n_all if n_all <= MOST_SHOWN or not known else known)
        some = self.take(np.argsort(-surprise, kind="stable")[:n_shown])
        told = f"{n_all:,} cell{'s' * (n_all != 1)} explained"
        if n_shown < n_all:
            told += f"; the {n_shown} most surprising" if known else f"; the first {n_shown}"
        coloured = np.argsort(-some.share.sum(axis=0), kind="stable")[: len(COLOURS)]
        parts = [some._cell_drawn(i, coloured) for i in range(n_shown)]
        head = list(parts[0]) if parts else []
        return box(told, table(head, [list(part.values()) for part in parts], right=[0, 2, 3]), self._legend(coloured))

    def _cell_drawn(self, i: int, coloured: np.ndarray) -> dict[str, str | Html]:
        """A cell as a row of a table, by the names of its columns."""
        probability = float(self.probability[i])
        out: dict[str, str | Html] = {
            "row": f"{int(self.row[i])}",
            "column": str(self.called(int(self.column[i]))),
            "value": "blank" if self.value[i] == UNKNOWN else str(int(self.value[i])),
            "P(1)": f"{probability:.3f}",
            "": bar(probability),
        }
        if self.missing is not None:
            out["lost"] = "" if np.isnan(self.missing[i]) else f"{self.missing[i]:.2f}"
        if self.partner is not None:
            out["argues most"] = str(self.called(int(self.partner[i])) or "")
        if self.kind == "scales":
            out["causes, for 0 ← → for 1"] = self._sides_drawn(i, coloured)
        elif self._has_causes:
            out["causes"] = self._shares_drawn(i, coloured)
        return out

    @property
    def _has_causes(self) -> bool:
        """Whether there is more than one thing that a cell can owe to."""
        return self.share.shape[1] > 1 or self.leak is not None

    def _shares_drawn(self, i: int, coloured: np.ndarray) -> Html:
        """The shares of a cell's causes; those of causes that have no colour come last."""
        shares = self.share[i, coloured].tolist()
        rest = [0.0] * (len(COLOURS) - len(shares)) + [float(self.share[i].sum()) - sum(shares)]
        leak = 0.0 if self.leak is None else float(self.leak[i])
        rest[-1] += leak
        told = [*zip((self.component_names[k] for k in coloured), shares), ("leak", leak)]
        return stacked_bar([*shares, *rest], ", ".join(f"{name} {share:.0%}" for name, share in told if share > 0.005))

    def _sides_drawn(self, i: int, coloured: np.ndarray) -> Html:
        """What the scales of a row argue for, in shares of all that they say."""
        shares, is_one = self.share[i, coloured].tolist(), (self.evidence[i, coloured] > 0).tolist()
        parts = [*zip((self.component_names[k] for k in coloured), shares, is_one)]
        told = ", ".join(f"{name} for {int(one)} {share:.0%}" for name, share, one in parts)
        zeros, ones = ([share * (one == side) for _, share, one in parts] for side in (False, True))
        return opposed_bar(zeros, ones, told)

    def _legend(self, coloured: np.ndarray) -> Html:
        """What the colours of causes mean."""
        if not self._has_causes and self.kind != "scales":
            return Html("")
        left_out = self.share.shape[1] > len(coloured) and self.kind != "scales"
        others = [name for name, there in (("others", left_out), ("leak", self.leak is not None)) if there]
        return legend([self.component_names[k] for k in coloured], " and ".join(others))
