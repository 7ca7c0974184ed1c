"""Fitted models beside rows and labels, as an exploration reads them, without its comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from latentbits.data.source import open_source
from latentbits.evaluation.candidates import candidate_of
from latentbits.exploring.analysis import share_of_ones
from latentbits.exploring.fitted import FittedFamily
from latentbits.exploring.gist import gist_of, overview
from latentbits.exploring.labels import associations, label_of, totals_of
from latentbits.exploring.readings import Reading
from latentbits.exploring.wording import column_told
from latentbits.families import family_of


def fitted_family(model: Any) -> FittedFamily:
    """A fitted model as explorations speak of it."""
    shape = getattr(model, "latent_shape", None)
    size = shape if shape is not None else getattr(model, model.size_option or "", None)
    return FittedFamily(candidate_of(family_of(type(model))), model, size)


def read(model: Any, X: Any, labels: dict[str, Any] | None = None, names: list[str] | None = None) -> Reading:
    """A fitted model beside the rows of a table and what is known of these."""
    return read_all([model], X, labels, names)[0]


def read_all(models: list[Any], X: Any, labels: Any = None, names: list[str] | None = None) -> list[Reading]:
    """The same of several models."""
    source = open_source(X, owner="test")
    names = [column_told(j) for j in range(source.shape[1])] if names is None else names
    fits = [fitted_family(model) for model in models]
    values = [fitted.memberships(source) for fitted in fits]
    places = [fitted.model.transform(source)[:, :2] if fitted.is_map else None for fitted in fits]
    ones = share_of_ones(source)
    totals = [totals_of(v, ones) if fitted.kind == "scales" else [] for fitted, v in zip(fits, values)]
    known = [label_of(name, [str(value) for value in column]) for name, column in (labels or {}).items()]
    said = associations(list(zip(fits, values, places)), known)
    gists = [gist_of(fitted, names, mine) for fitted, mine in zip(fits, totals)]
    return [Reading(*one) for one in zip(fits, values, places, gists, [""] * len(fits), said, totals)]


def told(model: Any, X: Any, labels: dict[str, Any]) -> list[str]:
    """The overview, without a comparison."""
    return overview([read(model, X, labels)], None)


def on_items(ability: Any, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Answers to questions of different difficulty: an exam with one ability."""
    on = 1 / (1 + np.exp(-(1.5 * ability[:, None] + rng.standard_normal(n_items))))
    return (rng.random(on.shape) < on).astype(float)
