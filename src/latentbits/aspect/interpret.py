"""Reading between the lines: what zeros mean, cell by cell, and what a row would hold if nothing had been lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import LatentBitsEstimator, frame_of
from ..base.options import Share, Whole
from ..data.block import ONE, UNKNOWN, ZERO, Block
from ..data.writing import free_names
from ..errors import InputError, NoPhantomWarning
from .phantoms import cause_numbers

# Cells of a table whose reading is laid out at once.
MOST_CELLS = 20_000_000


@dataclass(frozen=True)
class Zeros:
    """The zeros of a table, one entry per zero cell.

    Attributes
    ----------
    row, column : (m,) int
        The cells.
    feature_names : sequence of str or None
        What columns are called.
    phantom : (m,)
        u: probability that a phantom produced the zero (the paper's quantity).  Ranks cells within a row.
    content : (m,)
        c: chance of a one if nothing had been lost.  Ranks cells over rows.
    lost : (m,)
        m = u c: probability that the zero is a one that was lost.
    label : (m,) str
        "missing" where ``lost`` reaches the threshold, else "off".

    Examples
    --------
    >>> from latentbits import AspectBernoulli, datasets
    >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
    >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
    >>> zeros = model.missing_vs_off(X, rows=[0])
    >>> len(zeros.row), set(zeros.label) <= {"missing", "off"}
    (7, True)
    """

    row: Any
    column: Any
    feature_names: Any
    phantom: Any
    content: Any
    lost: Any
    label: Any

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per zero cell.

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.missing_vs_off(X, rows=[0]).to_records()[0]["row"]
        0
        """
        names = self.feature_names
        return [
            {
                "row": int(i),
                "column": int(j) if names is None else str(names[j]),
                "phantom": float(u),
                "content": float(c),
                "lost": float(m),
                "label": str(label),
            }
            for i, j, u, c, m, label in zip(self.row, self.column, self.phantom, self.content, self.lost, self.label)
        ]

    def to_frame(self) -> Any:
        """A pandas frame with one row per zero cell.

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.missing_vs_off(X, rows=[0]).to_frame().columns.tolist()
        ['row', 'column', 'phantom', 'content', 'lost', 'label']
        """
        return frame_of(self.to_records())


class CauseAnswers(LatentBitsEstimator):
    """Methods of ``AspectBernoulli`` about causes, zeros and losses."""

    component_kinds_: list[str]
    phantoms_: Any

    def _rows_of(self, X: Any, rows: Any) -> Iterator[tuple[Any, Block, Any]]:
        """Blocks with the asked rows only: their numbers, the block, their memberships."""
        self._check_fitted()
        source = self._open(X, reset=False)
        n_rows = source.shape[0]
        if rows is not None:
            try:
                rows = np.atleast_1d(np.asarray(rows))
            except ValueError:  # ragged
                rows = np.array(["?"])
            if (
                rows.ndim != 1
                or rows.dtype.kind not in "iu"
                or (len(rows) and (rows.min() < 0 or rows.max() >= n_rows))
            ):
                raise InputError(f"{self._name}: rows must be whole numbers from 0 to {n_rows - 1}.")
        precomputed = self._model._answering(self._model.precompute(self._params))
        for b in range(source.n_blocks):
            low, high = int(source.starts[b]), int(source.starts[b + 1])
            wanted = np.arange(low, high) if rows is None else np.unique(rows[(rows >= low) & (rows < high)])
            if len(wanted):
                block = source.block(b)
                block = block if len(wanted) == block.n_rows else block.take(wanted - low)
                yield wanted, block, self._model.folded(block, precomputed)

    def cause_table(self, top: int = 10) -> list[dict[str, Any]]:
        """One row per cause: its kind and numbers, and its features.

        Parameters
        ----------
        top : int
            Features to name.

        Returns
        -------
        list of dict
            With component (its name), kind, share (of all cells), on_rate, lift, off_lift, coexist (how much of it lives
            beside other causes), largest (its largest probability), stability, features (by probability) and distinctive
            (by distance above all other causes).

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> [row["kind"] for row in model.cause_table(top=1)]
        ['content', 'content', 'phantom']
        """
        self._check("top", top, Whole(0))
        self._check_fitted()
        numbers = cause_numbers(self._params.tally)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        stability = getattr(self, "stability_", np.full(self.n_components, np.nan))
        called, out = self.component_names_, []
        for k, probs in enumerate(self.components_):
            others = np.delete(self.components_, k, axis=0)
            ahead = probs - (others.max(axis=0) if len(others) else 0.0)
            row: dict[str, Any] = {"component": called[k], "kind": self.component_kinds_[k]}
            row.update({name: float(values[k]) for name, values in numbers.items()})
            row["largest"], row["stability"] = float(probs.max()), float(stability[k])
            for name, order in (("features", probs), ("distinctive", ahead)):
                best = np.argsort(-order, kind="stable")[:top]
                row[name] = ", ".join(f"{names[j]} {probs[j]:.2f}" for j in best)
            out.append(row)
        return out

    def cause_frame(self, top: int = 10) -> Any:
        """:meth:`cause_table` as a pandas frame.

        Parameters
        ----------
        top : int
            Features to name.

        Returns
        -------
        pandas.DataFrame with a row per cause, as :meth:`cause_table`

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.cause_frame(top=1)[["component", "kind", "lift"]].round(2)
          component     kind  lift
        0   cause 1  content  1.27
        1   cause 2  content  1.45
        2   cause 3  phantom  0.00
        """
        return frame_of(self.cause_table(top))

    def row_table(self, X: Any) -> list[dict[str, Any]]:
        """One row per row of the table: memberships, loss level, fold-in log-likelihood and its certificate.

        Parameters
        ----------
        X : table

        Returns
        -------
        list of dict
            With row, one membership per component, loss (membership of all phantoms), log_likelihood of the columns
            that vary, and gap (it is proved to be within so many nats of the best memberships).

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> sorted(model.row_table(X)[0])[-3:]
        ['log_likelihood', 'loss', 'row']
        """
        own = ("row", "loss", "log_likelihood", "gap")
        names = free_names([*own, *self.component_names_])[len(own) :]
        out = []
        for numbers, _, (shares, logs, gaps) in self._rows_of(X, None):
            loss = shares[:, self._zero_causes()].sum(axis=1)
            for i, n in enumerate(numbers):
                row: dict[str, Any] = {"row": int(n), **dict(zip(names, shares[i].tolist()))}
                row.update({"loss": float(loss[i]), "log_likelihood": float(logs[i]), "gap": float(gaps[i])})
                out.append(row)
        return out

    def row_frame(self, X: Any) -> Any:
        """:meth:`row_table` as a pandas frame.

        Parameters
        ----------
        X : table

        Returns
        -------
        pandas.DataFrame with a row per row of the table, as :meth:`row_table`

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.row_frame(X)[["cause 1", "loss"]].head(2).round(2)
           cause 1  loss
        0     0.02  0.34
        1     0.24  0.58
        """
        return frame_of(self.row_table(X))

    def loss_level(self, X: Any) -> Any:
        """Membership (n_rows,) of every row in the phantoms: how much of it was lost.

        Parameters
        ----------
        X : table

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.loss_level(X)[:3].round(2)
        array([0.34, 0.58, 0.23])
        """
        self._need_phantom("loss_level")
        lost = self._zero_causes()
        return np.concatenate([shares[:, lost].sum(axis=1) for _, _, (shares, _, _) in self._rows_of(X, None)])

    def _zero_causes(self) -> list[int]:
        """Causes that stand for losses: phantoms, or without any the blank profiles, which differ by degree."""
        return self.phantoms_ or [k for k, kind in enumerate(self.component_kinds_) if kind == "blank"]

    def _need_phantom(self, question: str) -> bool:
        """Whether some cause stands for losses; warn if it is not a phantom."""
        self._check_fitted()
        if self.phantoms_:
            return True
        blank = self._zero_causes()
        instead = "zeros are ranked by P(cell = 1), and no loss is told."
        if blank:
            instead = f"{self.component_names_[blank[0]]}, a profile of nearly empty rows, is used instead."
        kinds = ", ".join(self.component_kinds_)
        warnings.warn(
            f"{self._name}: {question} needs a phantom cause, and none was found (kinds: {kinds}); "
            f"{instead} Set n_phantom=1, or raise n_components; rows must differ in how much they lost.",
            NoPhantomWarning,
            stacklevel=3,
        )
        return bool(blank)

    def cause_posterior(self, X: Any, rows: Any = None) -> Any:
        """Probability of every cause for every cell of some rows (eq 2.2 of the paper).

        Parameters
        ----------
        X : table
        rows : array of int, optional
            Row numbers, ascending in the answer; by default all (for small tables).

        Returns
        -------
        (n, n_features, n_components) array

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.cause_posterior(X, rows=[0]).shape
        (1, 14, 3)
        """
        parts, size = [], 0
        for numbers, block, (shares, _, _) in self._rows_of(X, rows):
            size += len(numbers) * self.n_features_in_ * self.n_components
            self._enough_room(size, "cause_posterior")
            parts.append(self._posterior(block, shares))
        if not parts:
            return np.empty((0, self.n_features_in_, self.n_components))
        return np.concatenate(parts)

    def _enough_room(self, n_cells: int, question: str) -> None:
        """Refuse answers too large to be laid out."""
        if n_cells > MOST_CELLS:
            raise InputError(f"{self._name}: {question} of so many cells at once is too much; name fewer rows.")

    def _posterior(self, block: Block, shares: Any) -> Any:
        """Cause posterior (n, D, K) of a block; unknown cells have the memberships of their row."""
        codes = block.codes()[:, :, None]
        on = self.components_.T[None]
        cell = np.where(codes == ONE, on, np.where(codes == UNKNOWN, 1.0, 1.0 - on))
        joint = shares[:, None, :] * np.maximum(cell, 1e-300)
        return joint / joint.sum(axis=2, keepdims=True)

    def attribution(self, X: Any, mask: Any) -> Any:
        """Share (n_components,) of every cause in a group of cells: the mean cause posterior over them (Figure 4).

        Parameters
        ----------
        X : table
        mask : (n_rows, n_features) array of bool
            The cells.

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> lost = (X == 0).to_numpy()  # here all zeros; known losses in an experiment
        >>> [round(float(share), 1) for share in model.attribution(X, lost)]
        [0.3, 0.2, 0.5]
        """
        self._check_fitted()
        mask = np.asarray(mask, dtype=bool)
        total = np.zeros(self.n_components)
        shape = self._open(X, reset=False).shape
        if mask.shape != shape:
            raise InputError(f"{self._name}: mask must be of the shape of the table, {shape}; got {mask.shape}.")
        for numbers, block, (shares, _, _) in self._rows_of(X, None):
            rows, columns = np.nonzero(mask[numbers])
            codes, on = block.at(rows, columns), self.components_.T[columns]
            cell = np.where((codes == ONE)[:, None], on, np.where((codes == UNKNOWN)[:, None], 1.0, 1.0 - on))
            joint = shares[rows] * np.maximum(cell, 1e-300)
            total += (joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
        return total / total.sum() if total.sum() > 0 else np.full(self.n_components, np.nan)

    def missing_vs_off(self, X: Any, rows: Any = None, threshold: float = 0.5) -> Zeros:
        """For every zero cell: was a one lost there, or is it off by content?

        Within a row the rankings by u, c and P(cell = 1) are much the same.  u above 1/2 alone does not mean *missing*: a
        row that lost much has it everywhere.  Over rows rank by c or by m.

        Parameters
        ----------
        X : table
        rows : array of int, optional
            Row numbers; by default all.
        threshold : float
            Zeros whose probability of a loss reaches it are labelled "missing".

        Returns
        -------
        Zeros

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> zeros = model.missing_vs_off(X, threshold=0.9)
        >>> sorted(map(str, set(zeros.label)))
        ['missing', 'off']
        """
        self._check("threshold", threshold, Share())
        self._need_phantom("missing_vs_off")
        parts = []
        n_cells = 0
        for numbers, block, (shares, _, _) in self._rows_of(X, rows):
            n_cells += block.n_rows * block.n_columns
            self._enough_room(n_cells, "missing_vs_off")
            where, columns = np.nonzero(block.codes() == ZERO)
            chances = self._model.loss_chances(shares[where], self.components_.T[columns])
            parts.append((numbers[where], columns, *chances))
        if not parts:
            parts = [tuple(np.empty(0, kind) for kind in (np.int64, np.int64, float, float, float))]
        row, column, phantom, content, lost = (np.concatenate(part) for part in zip(*parts))
        label = np.where(lost >= threshold, "missing", "off")
        return Zeros(row, column, getattr(self, "feature_names_in_", None), phantom, content, lost, label)

    def suspicious(self, X: Any, rows: Any = None, top: int = 20) -> list[dict[str, Any]]:
        """The cells most probably wrong: zeros that were ones and were lost, ones that should not be there.

        A one is suspicious if an on-phantom produced it and the content of the row would have it off; that needs an
        on-phantom (found, or held by ``n_on_phantom``), as zeros need a phantom.

        Parameters
        ----------
        X : table
        rows : array of int, optional
            Row numbers; by default all.
        top : int
            Cells to list.

        Returns
        -------
        list of dict
            With row, feature, value and wrong (the probability that the value is wrong), the worst first.

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> [cell["value"] for cell in model.suspicious(X, top=2)]
        [0, 0]
        """
        self._check("top", top, Whole(0))
        self._check_fitted()
        on_phantoms = [k for k, kind in enumerate(self.component_kinds_) if kind == "on-phantom"]
        names = getattr(self, "feature_names_in_", None)
        found: list[tuple[float, int, int, int]] = []
        for numbers, block, (shares, _, _) in self._rows_of(X, rows):
            codes = block.codes()
            for value, causes in ((ZERO, self._zero_causes()), (ONE, on_phantoms)):
                where, columns = np.nonzero(codes == value)
                if causes and len(where):
                    on = self.components_.T[columns]
                    chances = self._model.loss_chances(shares[where], on if value == ZERO else 1.0 - on, causes)
                    worst = np.argsort(-chances.lost, kind="stable")[:top]
                    found += [(float(chances.lost[i]), int(numbers[where[i]]), int(columns[i]), value) for i in worst]
        found.sort(key=lambda cell: (-cell[0], cell[1], cell[2]))
        return [
            {"row": row, "feature": column if names is None else str(names[column]), "value": value, "wrong": wrong}
            for wrong, row, column, value in found[:top]
        ]

    def expand(self, X: Any, rows: Any = None, top: int = 10, by: str | None = None) -> list[dict[str, Any]]:
        """Features that a row does not have but probably would have, had nothing been lost (Table 2 of the paper).

        Parameters
        ----------
        X : table
        rows : array of int, optional
            Row numbers; by default all.
        top : int
            Features per row.
        by : {"phantom", "content", "lost", "probability"}, optional
            What to rank by: u, c, m or P(cell = 1).  Default: u if the model has a phantom, else P.

        Returns
        -------
        list of dict
            With row, rank, feature, phantom (u), content (c), lost (m), probability (P) and note: rows without any
            one get the list of the whole table and say so.

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.expand(X, rows=[4], top=1)[0]["feature"]
        'genital_thrush'
        """
        self._check("top", top, Whole(1))
        fields = ("phantom", "content", "lost", "probability")
        if by is not None and by not in fields:
            raise InputError(f"{self._name}: by must be one of {', '.join(fields)}; got {by!r}.")
        told = self._need_phantom("expand")
        if not told:
            by = "content" if by == "content" else "probability"
        by = by or "phantom"
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        names = [name if isinstance(name, str) else int(name) for name in names]
        out: list[dict[str, Any]] = []
        for numbers, block, (shares, _, _) in self._rows_of(X, rows):
            for low in range(0, block.n_rows, 256):
                part = np.arange(low, min(low + 256, block.n_rows))
                codes = block.take(part).codes()
                for i, n in enumerate(numbers[part]):
                    out += self._expanded_row(int(n), codes[i], shares[part[i]], names, int(top), by)
        if not told:
            for record in out:
                record["note"] = "; ".join(filter(None, (record["note"], f"no phantom: ranked by {by}")))
        return out

    def _expanded_row(
        self, n: int, codes: Any, shares: Any, names: list[Any], top: int, by: str
    ) -> list[dict[str, Any]]:
        """The expansion of one row."""
        empty = not (codes == ONE).any()
        columns = np.flatnonzero(codes == ZERO)
        if empty:
            shares = self._params.tally.mass / self._params.tally.mass.sum()
        on = self.components_.T[columns]
        chances = self._model.loss_chances(np.broadcast_to(shares, on.shape), on)
        values = {**chances._asdict(), "probability": on @ shares}
        order = np.argsort(-values[by], kind="stable")[:top]
        note = "row without ones: list of the whole table" if empty else ""
        return [
            {
                "row": n,
                "rank": rank + 1,
                "feature": names[columns[j]],
                **{name: float(value[j]) for name, value in values.items()},
                "note": note,
            }
            for rank, j in enumerate(order)
        ]

    def expand_frame(self, X: Any, rows: Any = None, top: int = 10, by: str | None = None) -> Any:
        """:meth:`expand` as a pandas frame.

        Parameters
        ----------
        X : table
        rows : sequence of int, optional
            By default all.
        top : int
            Features per row.
        by : str
            What they are ranked by, as in :meth:`expand`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from latentbits import AspectBernoulli, datasets
        >>> X = datasets.load_diabetes_symptoms().frame.iloc[:200]
        >>> model = AspectBernoulli(3, n_phantom=1, n_init=1, random_state=0).fit(X)
        >>> model.expand_frame(X, rows=[4], top=2)[["row", "rank", "feature"]]
           row  rank         feature
        0    4     1  genital_thrush
        """
        return frame_of(self.expand(X, rows, top, by))
