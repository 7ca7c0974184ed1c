"""Everything an exploration leaves behind: tables, summary, model, report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..data.replacing import write_atomically
from ..data.writing import free_names, table_bytes
from ..families import STORIES
from ..report import page_of
from .exploration import OUTPUTS, Exploration
from .page_content import content_of
from .readings import Reading
from .wording import listed, signed_told

MOST_FILLED = 2_000_000  # cells of a table that is written out filled
MOST_COMPONENT_CELLS = 200_000
MOST_EDGES = 2_000  # of every tree
MOST_STATED = 12  # associations with labels in the summary
MOST_PAIRS_TOLD, MOST_GROUPS, MOST_IN_GROUP = 8, 3, 12  # left unexplained, in the summary
MOST_BLANKS = 1_000_000  # written one by one


def write_all(found: Exploration) -> None:
    """Write the files; each appears whole or not at all, the report last."""
    written = {"run.toml", "model.latentbits", "summary.md", "report.html"}
    for name, (rows, columns) in _tables(found).items():
        file = f"{name}.{found.tables}"
        written.add(file)
        write_atomically(found.folder / file, table_bytes(rows, columns, file, found.safe_csv))
    found.winner.model.save(found.folder / "model.latentbits")
    for i, other in enumerate(found.readings[1:], 2):
        written.add(f"reading-{i}.latentbits")
        other.fitted.model.save(found.folder / f"reading-{i}.latentbits")
    if found.stack is not None:
        written.add("stack.latentbits")
        found.stack.save(found.folder / "stack.latentbits")
    write_atomically(found.folder / "summary.md", summary_of(found).encode())
    write_atomically(found.folder / "report.html", page_of(content_of(found)).encode())
    for file in set(OUTPUTS) - written:  # of an earlier run; they would contradict this one
        (found.folder / file).unlink(missing_ok=True)


def _tables(found: Exploration) -> dict[str, tuple[Iterable[dict[str, Any]], list[str]]]:
    """The tidy tables."""
    out: dict[str, tuple[Iterable[dict[str, Any]], list[str]]] = {
        "comparison": _comparison_rows(found),
        "components": _component_rows(found),
        "rows": _row_rows(found),
        "cells": _cell_rows(found),
    }
    if any(reading.associations for reading in found.readings):
        out["labels"] = _label_rows(found)
    if found.leftovers.pairs:
        out["pairs"] = _pair_rows(found)
    if edges := found.winner.edges(MOST_EDGES):
        out["edges"] = edges, list(edges[0])
    if modules := found.winner.modules():
        shown = ("module", "feature", "information", "cut")
        rows = [{**one, "feature": feature} for one in modules for feature in one["features"]]
        out["modules"] = [{name: row[name] for name in shown} for row in rows], list(shown)
    if len(found.blanks.row):
        out["blanks"] = _blank_rows(found)
        if found.facts.n_cells <= MOST_FILLED:
            out["filled"] = _filled_rows(found)
    return out


def _comparison_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """The comparison without what only the report needs."""
    assert found.comparison is not None
    columns = [
        "model",
        "title",
        "structure",
        "size",
        "options_text",
        "log_loss",
        "above_best",
        "se",
        "auc",
        "brier",
        "calibration_error",
        "row_log_likelihood",
        "row_kind",
        "row_below_best",
        "row_se",
        "n_draws",
        "ended",
        "at_edge",
        "standing",
        "note",
    ]
    rows = [{**row, "size": None if row["size"] is None else str(row["size"])} for row in found.comparison.table]
    return rows, columns


def _component_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """Components of the fitted models, all features unless that would be very many."""
    out = []
    for reading in found.readings:
        fitted = reading.fitted
        n_features = found.facts.n_columns
        if n_features * len(fitted.model.components_) > MOST_COMPONENT_CELLS:
            n_features = 50
        for row in fitted.components(n_features):
            out.append({"model": reading.name, **row})
    columns = ["model", "component", "weight", "rank", "feature"]
    columns += [c for c in ("probability", "loading", "marginal", "lift") if any(c in row for row in out)]
    return out, columns


def _row_rows(found: Exploration) -> tuple[Iterable[dict[str, Any]], list[str]]:
    """One line per row: how typical it is, where it lies on the map, and how much of every component it has, by model.

    A row belongs to a component where rows do; on scales it has numbers, and belongs to nothing.
    """
    winner, shares = found.winner, found.readings[0].values
    scores = winner.model.score_samples(found.rows.source) if hasattr(winner.model, "score_samples") else None
    places = None if found.map is None else np.asarray(found.map.transform(found.rows.source))
    main, names = winner.main(shares), winner.part_names()
    axes = [] if places is None else ["map_x", "map_y"][: places.shape[1]]
    ours = [*(["component", "strength"] if main.max() >= 0 else []), *([] if scores is None else ["log_likelihood"])]
    parts = [name for i, one in enumerate(found.readings) for name in _called(one, i)]
    columns = free_names([found.rows.id_name, *found.rows.labels, *ours, *axes, *parts])

    def row(i: int) -> dict[str, Any]:
        values = [found.row_name(i), *(v[i] for v in found.rows.labels.values())]
        values += [names[main[i]], float(shares[i, main[i]])] if "component" in ours else []
        values += [] if scores is None else [float(scores[i])]
        values += [] if places is None else places[i, : len(axes)].tolist()
        for one in found.readings:
            values += one.values[i].tolist()
        return dict(zip(columns, values))

    return map(row, range(found.facts.n_rows)), columns  # one at a time: there may be a million


def _called(reading: Reading, i: int) -> list[str]:
    """The components of a model as columns; those of the models after the first with their family."""
    return [name if i == 0 else f"{reading.name}: {name}" for name in reading.fitted.part_names()]


def _label_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """What goes with labels: every label beside every component of every model."""
    columns = ["label", "model", "component", "measure", "value", "low", "high", "p", "n", "stated", "sentence"]
    rows = [
        {
            "label": one.label,
            "model": reading.name,
            "component": one.component or "all",
            "p": one.p,
            "stated": one.is_stated,
            "sentence": one.sentence,
            **{name: getattr(one.measured, name) for name in ("measure", "value", "low", "high", "n")},
        }
        for reading in found.readings
        for one in reading.associations
    ]
    return rows, columns


def _pair_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """Pairs of columns that the leading model leaves unexplained."""
    names = found.facts.names
    rows = [{**pair, "first": names[pair["first"]], "second": names[pair["second"]]} for pair in found.leftovers.pairs]
    return rows, list(rows[0])


def _cell_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """Cells worth a look."""
    rows = [{**c, "row": found.row_name(c["row"]), "column": found.facts.names[c["column"]]} for c in found.look]
    columns = ["kind", "row", "column", "value", "probability", "surprise", "missing", "cause", "cause_share"]
    columns += ["argues"] if found.winner.kind == "scales" else []
    return rows, [*columns, "partner"] if found.winner.edges(1) else columns


def _blank_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """The blanks with the probability of a one: by all models together, and by the one that is read."""
    most, alone = slice(0, MOST_BLANKS), f"by_{found.winner.candidate.name.replace('-', '_')}"
    cells = zip(*(values[most].tolist() for values in (*found.blanks, found.filled)))
    rows = [
        {"row": found.row_name(i), "column": found.facts.names[j], "probability": p, alone: own}
        for i, j, own, p in cells
    ]
    return rows, ["row", "column", "probability", *([] if found.stacked is None else [alone])]


def _filled_rows(found: Exploration) -> tuple[list[dict[str, Any]], list[str]]:
    """The whole table with its blanks filled by probabilities, those of all models together where there are several."""
    cells = np.concatenate([found.rows.source.block(b).codes() for b in range(found.rows.source.n_blocks)]).astype(
        float
    )
    cells[found.blanks.row, found.blanks.column] = found.filled
    names = free_names([found.rows.id_name, *found.rows.labels, *found.facts.names])
    rows = [
        dict(zip(names, [found.row_name(i), *(values[i] for values in found.rows.labels.values()), *line]))
        for i, line in enumerate(cells.tolist())
    ]
    return rows, names


def summary_of(found: Exploration) -> str:
    """The findings as a short text."""
    assert found.comparison is not None
    lines = [f"# {_plain(found.name)}", "", *(_plain(told, 2000) for told in found.overview), "", "## The table", ""]
    lines += [f"- {line}" for line in found.facts.lines()]
    lines += ["", "## The families", "", _plain(found.comparison.verdict, 5000), ""]
    lines += ["| family | size | log-loss | above best | AUC | calibration error |", "|---|---|---|---|---|---|"]
    for row in found.comparison.table:
        if "log_loss" not in row:
            lines.append(f"| {row['title']} | | not fitted: {row['note']} | | | |")
            continue
        size = "" if row["size"] is None else str(row["size"])
        apart = f"{row['above_best']:.4f} ± {row['se']:.4f}"
        scores = f"{row['log_loss']:.4f} | {apart} | {row['auc']:.3f} | {row['calibration_error']:.3f}"
        lines.append(f"| {row['title']} | {size} | {scores} |")
    for reading in found.readings:
        fitted = reading.fitted
        stated = [one.sentence for one in reading.associations if one.is_stated and one.sentence]
        lines += ["", f"## {fitted.title}", "", f"In this model {STORIES[fitted.candidate.structure]}."]
        lines += [f"It {reading.standing}."] if reading.standing else []
        lines += [""]
        lines += [*(f"- {_plain(told, 400)}" for told in stated[:MOST_STATED]), ""] if stated else []
        lines += [_plain(told, 1000), ""] if (told := fitted.pairs_told()) else []
        lines += [f"- **{_plain(name)}**: {_plain(text, 400)}" for name, text in fitted.lines()]
        lines += ["", "```", fitted.model.summary(), "```"]
    if found.leftovers.pairs:
        lines += ["", "## Left unexplained", "", *(f"- {_plain(told, 400)}" for told in _leftovers_told(found))]
    if len(found.blanks.row):
        lines += ["", "## The blanks", "", f"{len(found.blanks.row):,} blanks are filled by {found.filled_by}."]
        if found.stacked is not None and found.stack is not None:
            lines += [
                f"Together they predict hidden cells with a log-loss of {found.stack.log_loss_:.4f} nats per cell; "
                f"`blanks.{found.tables}` has what {found.winner.title} says alone beside."
            ]
    if found.notes:
        lines += ["", "## To be doubted", "", *[f"- {note}" for note in dict.fromkeys(found.notes)]]
    lines += ["", "Open `report.html` for the map, the cells and the checks; `run.toml` repeats the run.", ""]
    return "\n".join(lines)


def _leftovers_told(found: Exploration) -> list[str]:
    """Pairs of columns that the leading model leaves unexplained, in words."""
    names, left = [str(name) for name in found.facts.names], found.leftovers
    told = [
        f"{names[pair['first']]} and {names[pair['second']]} are both one in {pair['together']:,} of {pair['n']:,} rows, "
        f"where {found.winner.title} expects {pair['expected']:,.0f} (Q3 {signed_told(pair['q3'])})"
        for pair in left.pairs[:MOST_PAIRS_TOLD]
    ]
    more = [f"and {left.n_sure - len(told):,} more pairs"] if left.n_sure > len(told) else []
    large = [[names[j] for j in group] for group in left.groups if len(group) > 2]
    groups = [f"columns that go together in a group: {listed(group[:MOST_IN_GROUP])}" for group in large[:MOST_GROUPS]]
    return [*told, *more, *groups]


def _plain(text: str, most: int = 80) -> str:
    """A text without what Markdown would take for markup."""
    return "".join("\\" + c if c in "\\`*_[]<>|" else c for c in text.replace("\n", " ")[:most])
