"""What the report shows, as plain data: numbers short, tables packed."""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np

from ..data.block import ONE, UNKNOWN
from ..data.holdout import RowsSource, some_rows
from ..evaluation import Comparison
from ..families import KINDS
from .analysis import widest
from .exploration import Exploration
from .labels import Label
from .leftovers import Leftovers
from .methods import citations, methods_text
from .packing import MOST_ROWS, bits_of_rows, floats_of, shorts_of
from .page_readings import MOST_NUMBERS, cells_of, reading_of

MOST_COLUMNS = 600
MOST_CELLS = 2_500_000  # on the page, of all rows and columns that it has
LIST = 60  # cells and blanks listed
N_ROW_NAME = 80


def content_of(found: Exploration) -> dict[str, Any]:
    """The content of a report on an exploration."""
    columns = widest(found.facts.marginals, MOST_COLUMNS)
    rows = some_rows(found.rows.source, min(MOST_ROWS, max(200, MOST_CELLS // len(columns))), 0)
    part = RowsSource(found.rows.source, rows)
    codes = np.concatenate([part.block(b).codes() for b in range(part.n_blocks)])
    readings: list[dict[str, Any]] = []
    for reading in found.readings:
        left = MOST_NUMBERS - sum(one["row_model_numbers"] for one in readings)
        readings.append(reading_of(reading, found, rows, columns, left))
    if readings[0]["row_model"] is None:
        readings[0]["cells"] = cells_of(found, part, codes, columns)
    blank = np.bincount(found.blanks.column, minlength=found.facts.n_columns) / found.facts.n_rows
    return clean(
        {
            "name": found.name,
            "facts": found.facts.lines(),
            "shape": [found.facts.n_rows, found.facts.n_columns],
            "overview": found.overview,
            "verdict": "" if found.comparison is None else str(found.comparison.verdict),
            "finding": None if found.comparison is None else found.comparison.finding_,
            "comparison": None if found.comparison is None else _comparison(found.comparison),
            "readings": readings,
            "columns": [str(found.facts.names[j]) for j in columns],
            "column_numbers": columns.tolist(),
            "n_columns_left_out": found.facts.n_columns - len(columns),
            "marginals": [round(float(found.facts.marginals[j]), 4) for j in columns],
            "blank_shares": [round(float(blank[j]), 4) for j in columns],
            "labels": [_label(label, rows) for label in found.labels],
            "rows": {
                "number": rows.tolist(),
                "ids": None if found.rows.ids is None else [str(found.rows.ids[i])[:N_ROW_NAME] for i in rows],
                "ones": bits_of_rows(codes[:, columns] == ONE),
                "unknown": bits_of_rows(codes[:, columns] == UNKNOWN) if (codes == UNKNOWN).any() else None,
            },
            "map": _map(found, part),
            "look": _look(found),
            "blanks": _blanks(found),
            "leftovers": _leftovers(found.leftovers, found.facts.names),
            "notes": list(dict.fromkeys(found.notes)),
            "methods": methods_text(found),
            "citations": citations(found),
            "versions": found.settings["versions"],
            "settings": found.settings["explore"],
            "command": _command(found.settings, found.comparison is not None),
        }
    )


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


def _label(label: Label, rows: Any) -> dict[str, Any]:
    """A label column, for the rows of the page: numbers, or codes of its words (65,535: not known)."""
    return {
        "name": label.name,
        "is_number": label.is_number,
        "is_telling": bool(label.is_telling),
        "values": [word[:N_ROW_NAME] for word in label.words],
        "n_values": label.n_words,
        "codes": None if label.is_number else shorts_of(label.codes[rows]),
        "numbers": floats_of(label.numbers[rows]) if label.is_number else None,
    }


def _map(found: Exploration, part: Any) -> dict[str, Any] | None:
    """Places of rows on the map, what stands out in its regions, and which reading it is, if one."""
    if found.map is None:
        return None
    where = np.asarray(found.map.transform(part))[:, :2]
    regions: dict[str, dict[str, Any]] = {}
    for row in found.map.regions_table(top=3):
        mine = regions.setdefault(row["component"], {"x": row["x"], "y": row.get("y", 0.0), "words": []})
        mine["words"].append(str(row["feature"]))
    own = [i for i, one in enumerate(found.readings) if one.fitted.model is found.map]
    return {
        "places": floats_of(where),
        "n_axes": where.shape[1],
        "regions": list(regions.values()),
        "reading": own[0] if own else None,
    }


def _leftovers(found: Leftovers, names: Any) -> dict[str, Any]:
    """Pairs of columns that the leading model leaves unexplained, and the groups that they form."""
    pairs = [{**pair, "first": str(names[pair["first"]]), "second": str(names[pair["second"]])} for pair in found.pairs]
    return {
        "pairs": pairs,
        "groups": [[str(names[j]) for j in group] for group in found.groups],
        "n_sure": found.n_sure,
        "n_looked_at": found.n_looked_at,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    """The table of families, their calibration and how sizes were chosen."""
    rows = [dict(row) for row in found.table]
    baseline = {one.name for one in found.candidates if not one.is_family}
    for row in rows:
        row["baseline"] = row["model"] in baseline
        row["kind"] = KINDS.get(row["structure"], "")
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


def _command(settings: dict[str, Any], is_compared: bool) -> str:
    """The command that repeats the run."""
    path = settings["table"].get("path")
    if not is_compared:
        return f"latentbits report MODEL {shlex.quote(path)}" if path else "model.report(X, ...)"
    if path == "-":
        return "latentbits explore -  # with the same table on standard input; run.toml has the options"
    return "latentbits explore --config run.toml" if path else "latentbits.explore(X, ...)"
