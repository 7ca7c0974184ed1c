"""What the report shows, as plain data: numbers short, tables packed."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from ..data.block import ONE, UNKNOWN
from ..data.holdout import RowsSource, some_rows
from ..evaluation import Comparison
from ..families import STORIES
from .analysis import FittedFamily, cross_tables, widest
from .exploration import Exploration
from .methods import citations, methods_text

MOST_ROWS = 5000  # of the map
MOST_COLUMNS = 600
MATRIX_CELLS = 24_000
MATRIX_WORK = 60_000_000  # cells that are explained times cells of their rows: some families look at all of those
CARD_EDGES = 6  # of a tree, beside its columns
# Trees and modules on the page, and edges of a tree.
MOST_TREES, TREE_EDGES, MOST_MODULES = 6, 60, 40
MATRIX_COLUMNS = 150
MATRIX_ROWS = 150
LIST = 60  # cells and blanks listed
N_ROW_NAME = 80


def content_of(found: Exploration) -> dict[str, Any]:
    """The content of a report on an exploration."""
    rows = some_rows(found.rows.source, MOST_ROWS, 0)
    part = RowsSource(found.rows.source, rows)
    codes = np.concatenate([part.block(b).codes() for b in range(part.n_blocks)])
    columns = widest(found.facts.marginals, MOST_COLUMNS)
    everywhere = found.winner.main(found.memberships)
    shares, main = found.memberships[rows], everywhere[rows]
    names = found.winner.part_names()
    return clean(
        {
            "name": found.name,
            "facts": found.facts.lines(),
            "shape": [found.facts.n_rows, found.facts.n_columns],
            "headline": "" if found.comparison is None else found.comparison.headline,
            "verdict": _verdict(found),
            "finding": None if found.comparison is None else found.comparison.finding_,
            "comparison": None if found.comparison is None else _comparison(found.comparison),
            "models": [_model(r) for r in (found.winner, found.several) if r is not None],
            "columns": [str(found.facts.names[j]) for j in columns],
            "n_columns_left_out": found.facts.n_columns - len(columns),
            "marginals": [round(float(found.facts.marginals[j]), 4) for j in columns],
            "components": names,
            "rows": {
                "number": rows.tolist(),
                "ids": None if found.rows.ids is None else [str(found.rows.ids[i])[:N_ROW_NAME] for i in rows],
                "main": main.tolist(),
                "strength": _bytes(np.abs(shares[np.arange(len(main)), main])),
                "labels": {name: _levels(values, rows) for name, values in found.rows.labels.items()},
                "ones": _packed(codes[:, columns] == ONE),
                "unknown": _packed(codes[:, columns] == UNKNOWN) if (codes == UNKNOWN).any() else None,
                "map": None if found.map is None else _places(found.map, part),
            },
            "regions": None if found.map is None else _regions(found.map),
            "matrix": _matrix(found, part, codes, main, columns),
            "look": _look(found),
            "blanks": _blanks(found),
            "pairs": [
                {**p, "first": found.facts.names[p["first"]], "second": found.facts.names[p["second"]]}
                for p in found.pairs
            ],
            "cross": cross_tables(everywhere, len(names), found.rows.labels) if found.rows.labels else {},
            "sizes": np.bincount(everywhere, minlength=len(names)).tolist(),
            "notes": list(dict.fromkeys(found.notes)),
            "methods": methods_text(found),
            "citations": citations(found),
            "versions": found.settings["versions"],
            "settings": found.settings["explore"],
            "command": _command(found.settings),
        }
    )


def _verdict(found: Exploration) -> str:
    """The finding in words."""
    if found.comparison is not None:
        return str(found.comparison.verdict).removeprefix(found.comparison.headline).strip()
    return f"What {found.winner.title} says about the table: {STORIES[found.winner.candidate.structure]}."


def clean(value: Any) -> Any:
    """A value as JSON can hold it: NumPy's numbers as Python's, to five digits; what is no number as None."""
    if isinstance(value, dict):
        return {str(k): clean(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


def _bytes(shares: Any) -> str:
    """Numbers between 0 and 1 as one byte each, in base 64."""
    return base64.b64encode(np.round(np.clip(shares, 0, 1) * 255).astype(np.uint8).tobytes()).decode()


def _packed(bits: Any) -> str:
    """Rows of bits, eight to a byte, each row from a new byte, in base 64."""
    return base64.b64encode(np.packbits(np.ascontiguousarray(bits), axis=1, bitorder="little").tobytes()).decode()


def _levels(values: list[str], rows: Any) -> dict[str, Any]:
    """A label column: its values by decreasing frequency (of many the first eleven, then 'other'), and codes."""
    words, place, counts = np.unique(
        np.array(values, dtype=object).astype(str), return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(words), int)
    rank[order] = np.arange(len(words))
    kept = [str(words[i])[:N_ROW_NAME] for i in order]
    codes = rank[place]
    if len(kept) > 12:
        codes, kept = np.minimum(codes, 11), [*kept[:11], f"other ({len(kept) - 11} values)"]
    return {"values": kept, "codes": codes.tolist()}


def _places(chart: Any, part: Any) -> list[list[float]]:
    """Places of rows on the map."""
    where = chart.transform(part)[:, :2]
    return np.round(where, 3).tolist()


def _regions(chart: Any) -> list[dict[str, Any]]:
    """What stands out in the regions of the map, and where they lie."""
    out: dict[str, dict[str, Any]] = {}
    for row in chart.regions_table(top=3):
        mine = out.setdefault(row["component"], {"x": row["x"], "y": row.get("y", 0.0), "words": []})
        mine["words"].append(str(row["feature"]))
    return list(out.values())


def _comparison(found: Comparison) -> dict[str, Any]:
    """The table of families, their calibration and how sizes were chosen."""
    hidden = ("structure",)
    rows = [{k: v for k, v in row.items() if k not in hidden} for row in found.table]
    baseline = {one.name for one in found.candidates if not one.is_family}
    for row in rows:
        row["baseline"] = row["model"] in baseline
        row["size"] = row.pop("size_text").removeprefix("K=").replace("K≤", "≤ ") or None
    shown = [name for name in (found.chosen_, found.multi_cause_, "independent", "tree") if name is not None]
    plan = found.plan
    return {
        "rows": rows,
        "best": found.best_,
        "chosen": found.chosen_,
        "multi_cause": found.multi_cause_,
        "curves": {name: found.curves[name] for name in dict.fromkeys(shown) if name in found.curves},
        "plan": {"folds": plan.n_folds, "rows": plan.n_rows, "held": plan.n_held, "fits": len(found.searches)},
        "sizes": [
            {"model": name, "title": found.row(name)["title"], "points": found.capacity(name)}
            for name in (row["model"] for row in found.table)
            if len(found.capacity(name)) > 1
        ],
    }


def _model(fitted: FittedFamily) -> dict[str, Any]:
    """A fitted model: what its components are made of, and how the fit went."""
    model = fitted.model
    parts: dict[str, dict[str, Any]] = {}
    kinds = fitted.kinds()
    for row in fitted.components(12):
        value, name = "probability" if "probability" in row else "loading", row["component"]
        new = {"name": name, "kind": kinds.get(name, ""), "weight": row["weight"], "value": value, "features": []}
        mine = parts.setdefault(name, new)
        mine["features"].append([str(row["feature"]), row[value], row["marginal"]])
    for edge in fitted.edges(CARD_EDGES):
        if edge["component"] in parts:
            shown = [edge[name] for name in ("parent", "feature", "probability_if_one", "probability_if_zero")]
            parts[edge["component"]].setdefault("edges", []).append(shown)
    restarts = [{k: v for k, v in row.items() if k != "seconds"} for row in getattr(model, "restarts_", None) or []]
    return {
        "title": fitted.title,
        "noun": fitted.family.noun,
        "story": STORIES[fitted.candidate.structure],
        "pairs": fitted.pairs_told(8),
        "trees": fitted.trees(MOST_TREES, TREE_EDGES),
        "modules": [one for one in fitted.modules() if len(one["features"]) > 1][:MOST_MODULES],
        "components": list(parts.values()),
        "summary": model.summary(),
        "restarts": restarts,
        "diagnostics": list(getattr(model, "diagnostics_", None) or []),
    }


def _matrix(found: Exploration, part: Any, codes: Any, main: Any, columns: Any) -> dict[str, Any]:
    """Some rows and columns with the explanation of every cell."""
    spread = found.facts.marginals[columns] * (1 - found.facts.marginals[columns])
    shown = np.sort(np.argsort(-spread, kind="stable")[:MATRIX_COLUMNS])
    most = min(MATRIX_CELLS, MATRIX_WORK // found.facts.n_columns)
    n_rows = min(len(codes), MATRIX_ROWS, max(30, most // len(shown)))
    few = np.unique(np.linspace(0, len(codes) - 1, n_rows).round().astype(int))
    order = few[np.lexsort((few, main[few]))]
    cells_at = np.repeat(np.sort(few), len(shown)), np.tile(columns[shown], len(few))
    back = np.searchsorted(np.sort(few), order)
    told = found.winner.model.explain(part, cells=cells_at)

    def table(values: Any) -> Any:
        return values.reshape(len(few), len(shown))[back].ravel()

    top = np.argsort(-told.share, axis=1, kind="stable")[:, :2]
    top = np.pad(top, ((0, 0), (0, 2 - top.shape[1])), mode="edge")
    strengths = np.take_along_axis(told.share, top, axis=1)
    partners, partner = [], None
    if told.partner is not None:
        places, partner = np.unique(table(told.partner), return_inverse=True)
        partners = ["" if place < 0 else str(found.facts.names[int(place)]) for place in places]
    return {
        "rows": order.tolist(),
        "columns": shown.tolist(),
        "partners": partners,
        "partner": None if partner is None else base64.b64encode(partner.astype("<u2").tobytes()).decode(),
        "causes": found.winner.names(),
        "first": base64.b64encode(table(top[:, 0]).astype("<u2").tobytes()).decode(),
        "second": base64.b64encode(table(top[:, 1]).astype("<u2").tobytes()).decode(),
        "first_share": _bytes(table(strengths[:, 0])),
        "second_share": _bytes(table(strengths[:, 1])),
        "probability": _bytes(table(told.probability)),
        "missing": None if told.missing is None else _bytes(table(np.nan_to_num(told.missing))),
        "leak": None if told.leak is None else _bytes(table(told.leak)),
    }


def _look(found: Exploration) -> list[dict[str, Any]]:
    """The cells worth a look, the first of each kind."""
    counts: dict[str, int] = {}
    out = []
    for cell in found.look:
        counts[cell["kind"]] = counts.get(cell["kind"], 0) + 1
        if counts[cell["kind"]] <= LIST:
            out.append({**cell, "row": _row_name(found, cell["row"]), "column": str(found.facts.names[cell["column"]])})
    return out


def _row_name(found: Exploration, i: int) -> str:
    """A row by its id, else by its number."""
    return f"row {i}" if found.rows.ids is None else str(found.rows.ids[i])[:N_ROW_NAME]


def _blanks(found: Exploration) -> dict[str, Any]:
    """How blanks are filled: how sure, and the surest."""
    on = found.filled
    never = [name for name, share in found.facts.blanks if share == 1.0]  # about these nothing is known
    known = ~np.isin(found.blanks.column, [j for j, name in enumerate(found.facts.names) if name in never])
    order = np.argsort(np.where(known, -np.abs(on - 0.5), 1.0), kind="stable")[: min(LIST, int(known.sum()))]
    listed = [
        {
            "row": _row_name(found, int(found.blanks.row[i])),
            "column": str(found.facts.names[int(found.blanks.column[i])]),
            "probability": float(on[i]),
        }
        for i in order
    ]
    counts = np.histogram(on, bins=10, range=(0, 1))[0].tolist() if len(on) else []
    return {"n": len(on), "counts": counts, "listed": listed, "by": found.filled_by}


def _command(settings: dict[str, Any]) -> str:
    """The command that repeats the run."""
    path = settings["table"].get("path")
    if path == "-":
        return "latentbits explore -  # with the same table on standard input; run.toml has the options"
    return "latentbits explore --config run.toml" if path else "latentbits.explore(X, ...)"
