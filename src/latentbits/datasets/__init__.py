"""Data: small embedded sets, generators, and prepared sets found through ``LATENTBITS_DATA``."""

from __future__ import annotations

from .embedded import (
    Dataset,
    load,
    load_diabetes_symptoms,
    load_plants,
    load_spect_heart,
    load_votes,
    load_zoo,
)
from .generators import (
    make_aspect,
    make_boltzmann,
    make_choices,
    make_images,
    make_map,
    make_mixture,
    make_noisy_or,
    make_trait,
    make_trees,
)
from .prepared import PREPARED, fetch, find, load_debd

__all__ = [
    "PREPARED",
    "Dataset",
    "fetch",
    "find",
    "load",
    "load_debd",
    "load_diabetes_symptoms",
    "load_plants",
    "load_spect_heart",
    "load_votes",
    "load_zoo",
    "make_aspect",
    "make_boltzmann",
    "make_choices",
    "make_images",
    "make_map",
    "make_mixture",
    "make_noisy_or",
    "make_trait",
    "make_trees",
]
