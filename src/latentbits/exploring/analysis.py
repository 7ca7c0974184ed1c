"""What a fitted model says about a table, in the same words for every family: components, rows, cells worth a look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.block import ONE, UNKNOWN, ZERO, Block
from ..data.holdout import RowsSource, some_rows
from ..data.source import Source
from ..engine.ask import joined
from ..engine.protocols import PredictsCells
from ..evaluation import Candidate
from ..evaluation.candidates import size_text
from ..families import Family, family_of

MOST_CELLS = 20_000_000  # cells looked through for surprises
ALL_CELLS = 300_000  # cells times components up to which every cell is explained
CANDIDATES = 600  # cells of each kind that are explained
KEPT = 100  # cells of each kind that are listed
PROBABLY = 0.5
SURPRISING = 0.1  # cells whose row gives their value less than this are worth a look
WIDEST = 600  # columns whose pairs are looked at
MAP_ROWS = 5000
RESIDUAL_ROWS = 5000
MODULE_NAMES = 8  # columns of a module that are named in a sentence


@dataclass(frozen=True)
class FittedFamily:
    """A family's fitted model and how to speak of it."""

    candidate: Candidate
    model: Any
    size: Any
    n_rows: int | None = None  # to which it was fitted; None: to those of the table

    @property
    def title(self) -> str:
        """The family and its size."""
        size, n = size_text(self.size), len(self.model.components_)
        if self.candidate.limit or self.size is None:
            size = self.family.counted(n)
        return f"{self.candidate.title} ({size})"

    @property
    def is_map(self) -> bool:
        """Whether components are nodes of a map, too many to list."""
        return hasattr(self.model, "regions_table")

    @property
    def family(self) -> Family:
        """Its entry in the table of families."""
        return family_of(type(self.model))

    def names(self) -> list[str]:
        """Names of the components; nodes of maps."""
        names: list[str] = self.model._component_names()
        return names

    def part_names(self) -> list[str]:
        """Names of the columns of :meth:`memberships`: components, or regions of a map."""
        names: list[str] = self.model.component_names_
        return names

    def kinds(self) -> dict[str, str]:
        """What is special about components, by name."""
        return {name: kind for name, kind in zip(self.names(), self.model._component_kinds()) if kind}

    def _regions(self) -> Any:
        """The region of every node of a map."""
        return self.model.regions(len(self.part_names())).ravel()

    def components(self, top: int) -> list[dict[str, Any]]:
        """The components as rows of a table; regions of a map."""
        rows: list[dict[str, Any]] = (
            self.model.regions_table(top=top) if self.is_map else self.model.components_table(top)
        )
        return rows

    def lines(self, top: int = 6, most: int | None = None) -> list[tuple[str, str]]:
        """The components in words: name with its share, and what stands out; ``most`` of them, then how many are left."""
        rows = self.components(top)
        names, kinds = list(dict.fromkeys(row["component"] for row in rows)), self.kinds()
        out = []
        for called in names[:most]:
            mine = [row for row in rows if row["component"] == called]
            weight = mine[0]["weight"]
            name = called + (f" ({kinds[called]})" if called in kinds else "")
            name += "" if weight != weight else f" {weight:.0%}"
            if "loading" in mine[0]:
                told = [f"{row['feature']} {row['loading']:+.2f}" for row in mine]
            else:
                told = [f"{row['feature']} {row['probability']:.2f}" for row in mine if row["lift"] > 1.05]
            out.append((name, ", ".join(told) or "nothing is more frequent here than elsewhere"))
        if most is not None and len(names) > most:
            out.append((f"and {len(names) - most} more", "see the table of components"))
        return out

    def pairs_told(self, most: int = 5) -> str:
        """Of trees: which columns answer for each other, as a sentence; empty for other families."""
        pairs = self.model.pairs_table(most) if hasattr(self.model, "pairs_table") else []
        told = [
            f"{pair['first']} and {pair['second']} ({'go together' if pair['together'] else 'one instead of the other'})"
            for pair in pairs
        ]
        if not told:
            return ""
        rows = "of the same class " if self.family.structure == "paired classes" else ""
        return f"In rows {rows}these columns tell most about each other: {', '.join(told)}.{self._modules_told(most)}"

    def _modules_told(self, most: int) -> str:
        """Of hidden trees: which columns share local causes, and whose states the components are."""
        several = [one["features"] for one in self.modules() if len(one["features"]) > 1]
        if not several:
            return ""
        told = [", ".join(names[:MODULE_NAMES]) + (" ..." if len(names) > MODULE_NAMES else "") for names in several]
        more = f"; and {len(several) - most} more" if len(several) > most else ""
        top = self.model._feature_names()[self.model.root_]
        groups = "one group" if len(several) == 1 else f"{len(several)} groups"
        return (
            f" Columns share local causes in {groups}: {'; '.join(told[:most])}{more}. "
            f"The states are those of {top}, the column at the top of the tree."
        )

    def edges(self, top: int | None = None) -> list[dict[str, Any]]:
        """Of trees: their edges as rows of a table; nothing for other families."""
        rows: list[dict[str, Any]] = self.model.edges_table(top) if hasattr(self.model, "edges_table") else []
        return rows

    def trees(self, most: int, most_edges: int) -> list[dict[str, Any]]:
        """Of trees: where the columns at the ends of their strongest edges are drawn; nothing for other families."""
        if not hasattr(self.model, "edges_table"):
            return []
        from ..trees import edge_strengths
        from ..trees.layout import places_of, shown_columns, strongest_edges

        names, out = self.model._feature_names(), []
        for called, _, parents, on_given, chances in list(self.model._trees())[:most]:
            strength = edge_strengths(parents, on_given, chances)
            n_edges = int((parents != np.arange(len(parents))).sum())
            drawn = strongest_edges(parents, strength, most_edges)
            shown = shown_columns(parents, drawn) if drawn else []
            places, number = places_of(parents, drawn, shown), {d: i for i, d in enumerate(shown)}
            edges = [
                [number[d], number[int(parents[d])], float(strength[d]), bool(on_given[d, 1] > on_given[d, 0])]
                for d in drawn
            ]
            nodes = [[names[d], *places[d], float(chances[d])] for d in shown]
            out.append({"name": called, "nodes": nodes, "edges": edges, "n_edges": n_edges})
        return [one for one in out if one["edges"]]

    def modules(self) -> list[dict[str, Any]]:
        """Of hidden trees: groups of columns with local causes; nothing for other families."""
        rows: list[dict[str, Any]] = self.model.modules_table() if hasattr(self.model, "modules_table") else []
        return rows

    def memberships(self, X: Any) -> Any:
        """How much of every component is in every row (n, K); places on a map give the regions of their nodes."""
        if not self.is_map:
            return self.model.transform(X)
        nodes = self.model.predict_proba(X)
        labels = self._regions()
        return np.stack([nodes[:, labels == region].sum(axis=1) for region in range(labels.max() + 1)], axis=1)

    def main(self, memberships: Any) -> Any:
        """The component that is strongest in every row."""
        strength = np.abs(memberships) if self.candidate.structure == "scores" else memberships
        return strength.argmax(axis=1)


def widest(marginals: Any, most: int) -> Any:
    """All columns, or of very many those that vary most, in the order of the table."""
    if len(marginals) <= most:
        return np.arange(len(marginals))
    return np.sort(np.argsort(-marginals * (1 - marginals), kind="stable")[:most])


def in_ranges(values: list[str]) -> list[str]:
    """Labels; numbers of many kinds become four ranges with about equally many rows.

    Examples
    --------
    >>> sorted(set(in_ranges([str(age) for age in range(20, 60)])))
    ['20 to 29', '30 to 39', '40 to 49', '50 to 59']
    """
    try:
        numbers = np.array([float(value) if value != "" else np.nan for value in values])
    except ValueError:
        return values
    seen = numbers[np.isfinite(numbers)]
    if len(np.unique(seen)) <= 12:
        return values
    place = np.searchsorted(np.quantile(seen, [0.25, 0.5, 0.75]), numbers, side="right")
    names = []
    for quarter in range(4):
        mine = numbers[(place == quarter) & np.isfinite(numbers)]
        names.append(f"{mine.min():g} to {mine.max():g}" if len(mine) else "")
    return [names[quarter] if np.isfinite(number) else "" for number, quarter in zip(numbers, place)]


def worth_a_look(fitted: FittedFamily, source: Source, seed: int) -> list[dict[str, Any]]:
    """Surprising ones and zeros, and zeros that were probably lost, the most surprising of each first.

    Every cell is explained from the other cells of its row; of larger tables those that their rows, the cell included, expect
    least (of very large ones in a sample of rows).
    """
    n_rows = max(1, min(source.shape[0], MOST_CELLS // source.shape[1]))
    chosen = some_rows(source, n_rows, seed)
    part = source if len(chosen) == source.shape[0] else RowsSource(source, chosen)
    if part.shape[0] * part.shape[1] * len(fitted.model.components_) <= ALL_CELLS:
        rows, columns = (places.ravel() for places in np.indices(part.shape))
    else:
        rows, columns = _least_expected(fitted.model, part)
    if not len(rows):
        return []
    explained = fitted.model.explain(part, cells=(rows, columns))
    names = fitted.names()
    out = []
    for kind, code in (("surprising one", ONE), ("surprising zero", ZERO)):
        which = np.flatnonzero((explained.value == code) & (explained.surprise > -np.log(SURPRISING)))
        for i in which[np.argsort(-explained.surprise[which], kind="stable")][:KEPT]:
            lost = explained.missing is not None and code == ZERO and explained.missing[i] >= PROBABLY
            best = int(explained.share[i].argmax())
            out.append(
                {
                    "kind": "probably missing" if lost else kind,
                    "row": int(chosen[rows[i]]),
                    "column": int(columns[i]),
                    "value": int(code == ONE),
                    "probability": float(explained.probability[i]),
                    "surprise": float(explained.surprise[i]),
                    "missing": None if explained.missing is None else float(explained.missing[i]),
                    "cause": names[best],
                    "cause_share": float(explained.share[i, best]),
                    "partner": None if explained.partner is None else explained.called(int(explained.partner[i])),
                }
            )
    return out


class _Odd(NamedTuple):
    """Cells of one kind that their rows make least probable: how improbable, and where (m, 2)."""

    score: Any
    places: Any

    def merge(self, other: _Odd) -> _Odd:
        """The oddest of both, equals by their places."""
        score = np.concatenate((self.score, other.score))
        places = np.concatenate((self.places, other.places))
        order = np.lexsort((places[:, 1], places[:, 0], -score))[:CANDIDATES]
        return _Odd(score[order], places[order])


class _LeastExpected:
    """The oddest ones and the oddest zeros of a block."""

    def __init__(self, model: PredictsCells) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> tuple[_Odd, _Odd]:
        none = _Odd(np.empty(0), np.empty((0, 2), np.int64))
        best = {ONE: none, ZERO: none}
        step = max(1, 2**20 // block.n_columns)
        for low in range(0, block.n_rows, step):
            part = block.take(np.arange(low, min(low + step, block.n_rows)))
            codes, on = part.codes(), self.model.predict_cells(part, precomputed)
            for code in (ONE, ZERO):
                odd = on if code == ZERO else 1.0 - on
                at = np.flatnonzero((codes == code) & (odd > 0.02))
                score = odd.ravel()[at]
                if len(at) > CANDIDATES:
                    keep = np.argpartition(-score, CANDIDATES - 1)[:CANDIDATES]
                    at, score = at[keep], score[keep]
                places = np.column_stack((at // block.n_columns + low + block.start, at % block.n_columns))
                best[code] = best[code].merge(_Odd(score, places))
        return best[ONE], best[ZERO]


def _least_expected(model: Any, source: Source) -> tuple[Any, Any]:
    """Places of the ones and zeros that their rows make least probable."""
    asked = model._ask(source)
    places = np.concatenate([odd.places for odd in asked.total(_LeastExpected(asked.model))])
    return places[:, 0], places[:, 1]


class Blanks(NamedTuple):
    """The unknown cells of a table: row, column and probability of a one."""

    row: Any
    column: Any
    probability: Any


class _FilledBlanks:
    """The unknown cells of a block."""

    def __init__(self, model: PredictsCells) -> None:
        self.model = model

    def __call__(self, block: Block, precomputed: Any) -> Blanks:
        indptr, indices = block.unknown_lists()
        rows, columns = np.repeat(np.arange(block.n_rows), np.diff(indptr)), indices.astype(np.int64)
        on = self.model.predict_cells_at(block, precomputed, rows, columns) if len(rows) else np.empty(0)
        return Blanks(rows + block.start, columns, on)


def filled_blanks(model: Any, source: Source) -> Blanks:
    """Row, column and probability of every unknown cell."""
    asked = model._ask(source)
    blanks: Blanks = joined(asked.by_block(_FilledBlanks(asked.model)))
    return blanks


class _Residuals:
    """Sums over the rows of a block: products and squares of residuals, and how often both columns are known (d, d)."""

    def __init__(self, model: PredictsCells, columns: Any) -> None:
        self.model, self.columns = model, columns

    def __call__(self, block: Block, precomputed: Any) -> tuple[Any, Any, Any]:
        codes = block.codes()[:, self.columns]
        seen = (codes != UNKNOWN).astype(np.float64)
        expected = self.model.predict_cells(block, precomputed)[:, self.columns]
        left = np.where(seen > 0, (codes == ONE) - expected, 0.0)
        return left.T @ left, (left**2).T @ seen, seen.T @ seen


def residual_pairs(model: Any, source: Source, seed: int, top: int = 15) -> list[dict[str, Any]]:
    """Pairs of columns that go together more, or less, than the model says: correlations of residuals (Yen's Q3, 1984)."""
    asked = model._ask(RowsSource(source, some_rows(source, RESIDUAL_ROWS, seed)))
    columns = widest(model.marginals_, WIDEST)
    products, squares, known = asked.total(_Residuals(asked.model, columns))
    scale = np.sqrt(squares * squares.T)
    q3 = np.where(scale > 0, products / np.where(scale > 0, scale, 1.0), 0.0)
    first, second = np.triu_indices(len(columns), 1)
    strong = np.argsort(-np.abs(q3[first, second]), kind="stable")[:top]
    return [
        {"first": int(columns[j]), "second": int(columns[k]), "q3": float(q3[j, k]), "n": int(known[j, k])}
        for j, k in zip(first[strong], second[strong])
    ]


def cross_tables(main: Any, n_components: int, labels: dict[str, list[str]]) -> dict[str, Any]:
    """Rows of every label in every component; labels with many values are cut to the most frequent."""
    out = {}
    for name, values in labels.items():
        words, place = np.unique(np.array([str(v) for v in in_ranges(values)]), return_inverse=True)
        counts = np.zeros((n_components, len(words)), int)
        np.add.at(counts, (main, place), 1)
        order = np.argsort(-counts.sum(axis=0), kind="stable")[:12]
        out[name] = {
            "values": [str(words[i]) for i in order],
            "counts": counts[:, order].tolist(),
            "n_values": len(words),
        }
    return out
