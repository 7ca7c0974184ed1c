"""What the page shows of a fitted model: its parts, what they are made of, and what they are to the rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .exploration import Exploration
from .fitted import FittedFamily
from .gist import component_told, telling
from .labels import Association
from .packing import bytes_of, floats_of, shorts_of
from .readings import Reading
from .row_parameters import row_parameters

MOST_PARTS = 64  # on the page, those with most weight
FEATURES = 12  # of a component, on its card
CARD_EDGES = 6  # of a tree, beside its columns
# Trees and modules on the page, and edges of a tree.
MOST_TREES, TREE_EDGES, MOST_MODULES = 6, 60, 40
MOST_ASSOCIATIONS = 200
MOST_NUMBERS = 120_000  # of all models of a page that answer about new rows
CELLS, CELL_ROWS, CELL_COLUMNS = 24_000, 150, 150  # explained beforehand, where the page cannot
CELL_WORK = 60_000_000  # cells that are explained times cells of their rows: some families look at all of those


def reading_of(reading: Reading, found: Exploration, rows: Any, columns: Any, most: int) -> dict[str, Any]:
    """A reading as plain data.

    Parameters
    ----------
    reading : Reading
    found : Exploration
    rows, columns : arrays
        Those of the page.
    most : int
        Numbers that a model which answers about new rows may have.
    """
    fitted = reading.fitted
    model, names = fitted.model, fitted.part_names()
    kept = kept_parts(fitted)
    profiles, values = fitted.profiles(), reading.values
    main = fitted.main(values)
    whole = [str(name) for name in found.facts.names]
    is_scale = fitted.kind == "scales"
    place = np.full(len(names) + 1, -1)
    place[kept] = np.arange(len(kept))
    distances = distances_of(fitted, profiles[kept])
    row_model = row_parameters(model, most)
    return {
        "family": reading.name,
        "title": fitted.title,
        "noun": fitted.family.noun,
        "nouns": fitted.family.nouns,
        "kind": fitted.kind,
        "structure": fitted.family.structure,
        "story": fitted.family.story,
        "gist": reading.gist,
        "standing": reading.standing,
        "parts": [_part(reading, k, whole) for k in kept],
        "n_parts_left_out": len(names) - len(kept),
        "kept": kept.tolist(),
        "is_loading": is_scale,
        "profiles": floats_of(profiles[kept][:, columns]),
        "offset": floats_of(model.offset_[columns]) if is_scale else None,
        "values": (floats_of if is_scale else bytes_of)(values[rows][:, kept]),
        "main": shorts_of(place[main[rows]]) if main.max(initial=-1) >= 0 else None,
        "sizes": np.bincount(main, minlength=len(names))[kept].tolist() if main.max(initial=-1) >= 0 else None,
        "ranges": np.quantile(values[:, kept], [0.05, 0.5, 0.95], axis=0).T.tolist() if is_scale else None,
        "totals": [reading.totals[k] for k in kept] if reading.totals else None,
        "reliability": reliability(fitted, values),
        "distances": None if distances is None else distances.round(4).tolist(),
        "layout": None if distances is None else layout_of(distances).round(4).tolist(),
        "associations": [_association(one, place) for one in reading.associations[:MOST_ASSOCIATIONS]],
        "n_associations": len(reading.associations),
        "pairs": fitted.pairs_told(8),
        "trees": fitted.trees(MOST_TREES, TREE_EDGES),
        "modules": [one for one in fitted.modules() if len(one["features"]) > 1][:MOST_MODULES],
        "summary": model.summary(),
        "restarts": [
            {k: v for k, v in row.items() if k != "seconds"} for row in getattr(model, "restarts_", None) or []
        ],
        "diagnostics": list(getattr(model, "diagnostics_", None) or []),
        "row_model": row_model,
        "row_model_numbers": numbers_of(row_model),
        "cells": None,
    }


def kept_parts(fitted: FittedFamily) -> Any:
    """Places of the components that the page shows, in their order: all, or of very many those with most weight."""
    n = len(fitted.part_names())
    if n <= MOST_PARTS:
        return np.arange(n)
    weights = np.nan_to_num(fitted.weights())
    return np.sort(np.argsort(-weights, kind="stable")[:MOST_PARTS])


def _part(reading: Reading, k: int, names: list[str]) -> dict[str, Any]:
    """A component: its name and weight, what tells it apart, and its columns."""
    fitted = reading.fitted
    called, weight = fitted.part_names()[k], float(fitted.weights()[k])
    total = reading.totals[k] if reading.totals else 0.0
    more, less = telling(fitted, names, k)
    features = _features(fitted, k, names)
    edges = [
        [edge[name] for name in ("parent", "feature", "probability_if_one", "probability_if_zero")]
        for edge in fitted.edges(CARD_EDGES)
        if edge["component"] == called
    ]
    return {
        "name": called,
        "kind": "" if fitted.is_map else fitted.kinds().get(fitted.names()[k], ""),
        "weight": weight if np.isfinite(weight) else None,
        "told": component_told(fitted, names, k, total),
        "more": more,
        "less": less,
        "features": features,
        "edges": edges,
    }


def _features(fitted: FittedFamily, k: int, names: list[str]) -> list[list[Any]]:
    """The columns that tell most of a component: name, probability or loading, share of ones in all rows."""
    profile, marginals = fitted.profiles()[k], fitted.model.marginals_
    if fitted.kind == "scales":
        gain = np.abs(profile)
    else:
        p, m = (np.clip(values, 1e-9, 1 - 1e-9) for values in (profile, marginals))
        gain = p * np.log(p / m) + (1 - p) * np.log((1 - p) / (1 - m))
    return [[names[j], float(profile[j]), float(marginals[j])] for j in np.argsort(-gain, kind="stable")[:FEATURES]]


def _association(one: Association, place: Any) -> dict[str, Any]:
    """A label beside a component."""
    measured = one.measured
    return {
        "label": one.label,
        "part": int(place[one.place]) if one.place >= 0 else -1,
        "of": "map" if one.component == "map" else "all" if one.place < 0 else "part",
        "measure": measured.measure,
        "value": measured.value,
        "low": measured.low,
        "high": measured.high,
        "p": one.p,
        "n": measured.n,
        "stated": one.is_stated,
        "sentence": one.sentence,
        "details": dict(one.details),
    }


def numbers_of(row_model: dict[str, Any] | None) -> int:
    """How many numbers the arrays of a model have that answers about new rows."""
    arrays = [value for value in (row_model or {}).values() if isinstance(value, dict) and "shape" in value]
    return sum(math.prod(array["shape"]) for array in arrays)


def reliability(fitted: FittedFamily, values: Any) -> list[float] | None:
    """Of scales with a normal prior, the share of the variance of a score that rows tell (empirical reliability)."""
    if fitted.kind != "scales" or fitted.candidate.name != "trait":
        return None
    return np.clip(values.var(axis=0), 0.0, 1.0).tolist()


def distances_of(fitted: FittedFamily, profiles: Any) -> Any:
    """Between components (K, K): the root of the mean Jensen-Shannon divergence of columns, in bits; None for scales."""
    if fitted.kind in ("scales", "tree") or len(profiles) < 3:
        return None
    p = np.clip(profiles, 1e-9, 1 - 1e-9)

    def entropy(q: Any) -> Any:
        return -(q * np.log2(q) + (1 - q) * np.log2(1 - q))

    own, out = entropy(p).mean(axis=1), np.zeros((len(p), len(p)))
    for k in range(len(p)):
        out[k] = entropy((p[k] + p) / 2).mean(axis=1) - (own[k] + own) / 2
    return np.sqrt(np.maximum((out + out.T) / 2, 0.0))


def layout_of(distances: Any) -> Any:
    """Places in the plane with about these distances (classical scaling)."""
    n = len(distances)
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-centre @ distances**2 @ centre / 2)
    axes = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    return axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # the same at every run


def cells_of(found: Exploration, part: Any, codes: Any, columns: Any) -> dict[str, Any]:
    """Some rows and columns with the explanation of every cell, for models that the page cannot ask."""
    spread = found.facts.marginals[columns] * (1 - found.facts.marginals[columns])
    shown = np.sort(np.argsort(-spread, kind="stable")[:CELL_COLUMNS])
    most = min(CELLS, CELL_WORK // found.facts.n_columns)
    n_rows = min(len(codes), CELL_ROWS, max(30, most // len(shown)))
    few = np.unique(np.linspace(0, len(codes) - 1, n_rows).round().astype(int))
    told = found.winner.model.explain(part, cells=(np.repeat(few, len(shown)), np.tile(columns[shown], len(few))))
    top = np.argsort(-told.share, axis=1, kind="stable")[:, :2]
    top = np.pad(top, ((0, 0), (0, 2 - top.shape[1])), mode="edge")
    strengths = np.take_along_axis(told.share, top, axis=1)
    partners, partner = [], None
    if told.partner is not None:
        places, partner = np.unique(told.partner, return_inverse=True)
        partners = ["" if place < 0 else str(found.facts.names[int(place)]) for place in places]
    return {
        "rows": few.tolist(),
        "columns": shown.tolist(),
        "partners": partners,
        "partner": None if partner is None else shorts_of(partner),
        "causes": found.winner.names(),
        "first": shorts_of(top[:, 0]),
        "second": shorts_of(top[:, 1]),
        "first_share": bytes_of(strengths[:, 0]),
        "second_share": bytes_of(strengths[:, 1]),
        "probability": bytes_of(told.probability),
        "missing": None if told.missing is None else bytes_of(np.nan_to_num(told.missing)),
        "leak": None if told.leak is None else bytes_of(told.leak),
    }
