"""A family's fitted model and how to speak of it, in the same words for every family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..evaluation import Candidate
from ..evaluation.candidates import size_text
from ..families import Family, family_of
from .wording import share_told

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
            if "loading" in mine[0]:
                told = [f"{row['feature']} " + f"{row['loading']:+.2f}".replace("-", "−") for row in mine]
            else:
                name += "" if weight != weight else f" {share_told(weight)}"
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
        rows = "of the same class " if self.family.structure == "paired classes" and self.kind != "tree" else ""
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
            return np.asarray(self.model.transform(X))  # whatever the user's scikit-learn gives
        nodes = self.model.predict_proba(X)
        labels = self._regions()
        return np.stack([nodes[:, labels == region].sum(axis=1) for region in range(labels.max() + 1)], axis=1)

    @property
    def kind(self) -> str:
        """How it is read (:data:`~latentbits.families.KINDS`); one class of trees has nothing but its tree."""
        if self.family.structure == "paired classes" and len(self.model.components_) == 1:
            return "tree"
        return self.family.kind

    def profiles(self) -> Any:
        """Of every component, or region of a map, the probability of a one in every column, or its loading (K, D)."""
        components: Any = self.model.components_
        if not self.is_map:
            return components
        labels, weights = self._regions(), self.model.weights_
        shares = np.stack([np.where(labels == region, weights, 0.0) for region in range(labels.max() + 1)])
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300) @ components

    def weights(self) -> Any:
        """The part of the rows that belongs to every component, or in which it is on; NaN where there is no such."""
        if self.is_map:
            labels = self._regions()
            return np.bincount(labels, weights=self.model.weights_, minlength=labels.max() + 1)
        if self.kind == "scales" or not hasattr(self.model, "weights_"):
            return np.full(len(self.model.components_), np.nan)
        return np.asarray(self.model.weights_)

    def main(self, values: Any) -> Any:
        """The component to which every row belongs, or which has the largest share of it; -1 where rows belong to none."""
        if self.kind in ("classes", "map", "shares"):
            return values.argmax(axis=1)
        return np.full(len(values), -1)
